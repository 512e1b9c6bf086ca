//! Tables with one job a row (CSV, Nextflow's trace), and times summed up by kind of job.

use super::{AttemptEnd, Job, Log, Wrong, good, rows, wrong};
use crate::span;
use hashbrown::HashMap;

// Words of the tools that people export from; of several in one header the first of the list counts.
const NAMES: [&str; 4] = ["name", "task", "job", "id"];
const SECONDS: [&str; 6] = ["seconds", "duration", "runtime", "time", "s", "elapsed"];
const KINDS: [&str; 4] = ["kind", "type", "category", "rule"];

/// What stands between the cells of a table, by its first row: a comma, a tab or a semicolon.
fn separator(line: &str) -> Option<char> {
    [',', '\t', ';'].into_iter().find(|&c| line.contains(c))
}

/// Cells of a row with the separator between them; a cell may stand in quotes.
fn cells(line: &str, by: Option<char>) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.trim_end_matches('\r').chars() {
        match c {
            '"' => quoted = !quoted,
            c if Some(c) == by && !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("one at the least").push(c),
        }
    }
    cells.iter().map(|c| c.trim().to_owned()).collect()
}

/// Whether it can be the first row of names and seconds: a header, or a name with a number.
pub(super) fn is_csv(line: &str) -> bool {
    let row = cells(line, separator(line));
    let is = |cell: &String, words: &[&str]| words.contains(&cell.to_ascii_lowercase().as_str());
    let header = row.iter().any(|c| is(c, &NAMES)) && row.iter().any(|c| is(c, &SECONDS));
    header || (row.len() == 2 && !row[0].is_empty() && span::parse(&row[1]).is_some())
}

/// Rows of name, seconds and perhaps kind, by a header or in this order.
pub(super) fn csv(text: &str) -> Result<Vec<Job>, Wrong> {
    let mut rows = rows(text).filter(|(_, line)| !line.trim_start().starts_with('#'));
    let Some((first, line)) = rows.next() else {
        return Ok(Vec::new());
    };
    let by = separator(line);
    let header = cells(line, by);
    let header: Vec<String> = header.iter().map(|c| c.to_ascii_lowercase()).collect();
    let find = |words: &[&str]| (words.iter()).find_map(|w| header.iter().position(|c| c == w));
    let (mut name, mut seconds, kind) = (find(&NAMES), find(&SECONDS), find(&KINDS));
    let mut jobs = Vec::new();
    let mut all: Vec<(u32, &str)> = rows.collect();
    // No header: then the first row is a job, too.
    if name.is_none() || seconds.is_none() {
        // Both or neither: with one column known and the other guessed, half of the rows would be misread in silence.
        (name, seconds) = (Some(0), Some(1));
        all.insert(0, (first, line));
    }
    for (number, line) in all {
        let row = cells(line, by);
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at)).filter(|c| !c.is_empty());
        let time = cell(seconds).and_then(|c| span::parse(c)).and_then(good);
        let (Some(name), Some(time)) = (cell(name), time) else {
            let what = "this row gives no name with a number of seconds";
            return wrong(number, what, "write rows as in: align-7,41.5");
        };
        let mut job = Job::done(name, time);
        if let Some(kind) = cell(kind) {
            job.kind = kind.clone();
        }
        jobs.push(job);
    }
    Ok(jobs)
}

/// Nextflow's trace: `realtime` is the job's own time, `duration` also that in the queue.
pub(super) fn nextflow(text: &str) -> Result<Vec<Job>, Wrong> {
    const CURE: &str =
        "let Nextflow write it: nextflow run … -with-trace (fields name, status, realtime)";
    let mut rows = rows(text);
    let header = rows.next().map_or("", |(_, line)| line);
    let column = |name: &str| header.split('\t').position(|c| c.trim() == name);
    // The wait in the queue says nothing of the task.
    let time = column("realtime").or_else(|| column("duration"));
    let (Some(name), Some(time)) = (column("name"), time) else {
        return wrong(1, "there is no column realtime, nor duration", CURE);
    };
    let (status, host, start) = (column("status"), column("hostname"), column("start"));
    // A raw trace counts milliseconds; others write 1.2s, 3m 4s, 1h 2m, or a date.
    let time_of = |text: &str, otherwise: fn(&str) -> Option<f64>| match text.parse::<f64>() {
        Ok(milliseconds) => Some(milliseconds / 1000.0),
        Err(_) => otherwise(text),
    };
    let mut jobs = Vec::new();
    for (number, line) in rows {
        let row: Vec<&str> = line.split('\t').map(str::trim).collect();
        let cell = |at: Option<usize>| at.and_then(|at| row.get(at)).copied().unwrap_or("-");
        let end = match cell(status) {
            // What was cached has the time of the run that made it.
            "COMPLETED" | "CACHED" | "-" => AttemptEnd::Executed,
            "FAILED" => AttemptEnd::Failed,
            _ => continue,
        };
        let text = cell(Some(time));
        let Some(seconds) = time_of(text, span::parse).and_then(good) else {
            if text == "-" {
                continue; // It never ran.
            }
            return wrong(number, format!("'{text}' is no length of time"), CURE);
        };
        let name = cell(Some(name));
        // `WORKFLOW:PROCESS (tag)`: the process is what jobs have in common.
        let process = name.split(" (").next().unwrap_or(name);
        jobs.push(Job {
            kind: process.rsplit(':').next().unwrap_or(process).to_owned(),
            start: time_of(cell(start), super::dates::date),
            host: Some(cell(host)).filter(|h| *h != "-").map(str::to_owned),
            end,
            ..Job::done(name, seconds)
        });
    }
    Ok(jobs)
}

/// All times of one kind of job.
#[derive(Clone, Debug, PartialEq)]
pub struct KindTimes {
    /// The kind.
    pub kind: String,
    /// Attempts that gave a result; times are of these.
    pub done: usize,
    /// Attempts that failed, or whose worker went away.
    pub failed: usize,
    /// The median of seconds.
    pub median: f64,
    /// The mean of seconds.
    pub mean: f64,
    /// The longest.
    pub longest: f64,
    /// The standard deviation of the logarithm of seconds: 0.3 is give or take some 30 %.
    pub spread: f64,
}

/// What logs say of each kind of job, most time first. Kinds without a result are left out.
pub fn by_kind(logs: &[Log]) -> Vec<KindTimes> {
    let mut kinds: HashMap<&str, (Vec<f64>, usize)> = HashMap::new();
    for job in logs.iter().flat_map(|log| &log.jobs) {
        let entry = kinds.entry(&job.kind).or_default();
        match job.end {
            AttemptEnd::Executed => entry.0.push(job.seconds),
            AttemptEnd::Failed | AttemptEnd::Lost => entry.1 += 1,
        }
    }
    let mut rows: Vec<KindTimes> = (kinds.into_iter())
        .filter(|(_, (times, _))| !times.is_empty())
        .map(|(kind, (times, failed))| KindTimes {
            kind: kind.to_owned(),
            done: times.len(),
            failed,
            mean: times.iter().sum::<f64>() / times.len() as f64,
            longest: times.iter().copied().fold(0.0, f64::max),
            spread: spread(&times),
            median: median(times),
        })
        .collect();
    let total = |row: &KindTimes| row.mean * row.done as f64;
    // Kinds decide between equals, for the table they come from has no order.
    rows.sort_by(|a, b| (total(b).total_cmp(&total(a))).then_with(|| a.kind.cmp(&b.kind)));
    rows
}

/// The middle, or the mean of the two middle ones. Of none, zero.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}

/// The standard deviation of logarithms; zero for fewer than two values above zero.
pub(super) fn spread(values: &[f64]) -> f64 {
    // A job of no time has no logarithm.
    let positive = values.iter().filter(|v| **v > 0.0);
    let logs: Vec<f64> = positive.map(|v| v.ln()).collect();
    if logs.len() < 2 {
        return 0.0;
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|l| (l - mean).powi(2)).sum();
    (squares / (logs.len() - 1) as f64).sqrt()
}
