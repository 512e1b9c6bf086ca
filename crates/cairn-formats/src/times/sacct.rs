//! What `sacct -P` prints: columns with bars between them, named in the first line.

use super::dates::{date, elapsed};
use super::{Ended, Job, good};
use crate::{Report, Source};
use cairn_dag::kind_of_word;

const CURE: &str =
    "ask Slurm for it: sacct -P -X -o JobID,JobName,State,Elapsed,Start,End,NodeList";

/// Columns besides the name in which people or sites may have put a bar.
const FREE: [&str; 15] = [
    "admincomment",
    "comment",
    "constraints",
    "container",
    "extra",
    "licenses",
    "mcslabel",
    "reservation",
    "stderr",
    "stdin",
    "stdout",
    "submitline",
    "systemcomment",
    "wckey",
    "workdir",
];

/// Jobs that ended; steps of jobs (`12.batch`) are left out, for the job has their time.
pub(super) fn read(source: &Source, report: &mut Report) -> Vec<Job> {
    let mut lines = source.text().lines().enumerate();
    let header = lines.by_ref().find(|(_, l)| !l.trim().is_empty());
    // `sacct -p` ends every line with a bar.
    let ends_with_bar = header.is_some_and(|(_, line)| line.trim_end().ends_with('|'));
    let names: Vec<String> = header.map_or(Vec::new(), |(_, line)| {
        let names = line.trim_end_matches('|').split('|');
        names.map(|c| c.trim().to_ascii_lowercase()).collect()
    });
    let column = |name: &str| names.iter().position(|n| n == name);
    let (id, name) = (column("jobid"), column("jobname"));
    let (length, raw) = (column("elapsed"), column("elapsedraw"));
    let (begin, finish, state, nodes) = (
        column("start"),
        column("end"),
        column("state"),
        column("nodelist"),
    );
    let (Some(id), Some(name)) = (id, name) else {
        report.error(source.place_of_line(1), "there is no column JobName", CURE);
        return Vec::new();
    };
    if length.is_none() && raw.is_none() && (begin.is_none() || finish.is_none()) {
        let what = "there is no column Elapsed, nor ElapsedRaw, nor Start and End";
        report.error(source.place_of_line(1), what, CURE);
        return Vec::new();
    }
    let mut jobs = Vec::new();
    for (i, line) in lines {
        if line.trim().is_empty() {
            continue;
        }
        let line = match ends_with_bar {
            true => line.trim_end().strip_suffix('|').unwrap_or(line),
            false => line,
        };
        let cells: Vec<&str> = line.split('|').collect();
        let more = cells.len().saturating_sub(names.len());
        if more > 0 && names.iter().any(|n| FREE.contains(&n.as_str())) {
            let what = format!(
                "this line has {} columns, not {}: one of them has a bar in it, and it is not clear which",
                cells.len(),
                names.len()
            );
            report.error(source.place_of_line(i as u32 + 1), what, CURE);
            return Vec::new();
        }
        // A bar in a name looks like one between columns.
        let whole = cells.get(name..=name + more).map(|parts| parts.join("|"));
        let cells: Vec<&str> = match &whole {
            Some(whole) if more > 0 => {
                let (before, after) = (&cells[..name], &cells[name + more + 1..]);
                [before, &[whole.as_str()], after].concat()
            }
            _ => cells,
        };
        if cells.len() < names.len() {
            let what = format!("this line has {} of {} columns", cells.len(), names.len());
            report.error(source.place_of_line(i as u32 + 1), what, CURE);
            return Vec::new();
        }
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).map_or("", |c| c.trim());
        if cell(Some(id)).contains('.') {
            continue;
        }
        let end = match cell(state).split_whitespace().next().unwrap_or("COMPLETED") {
            "" | "COMPLETED" => Ended::Done,
            "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL" | "REVOKED" | "REQUEUED" => Ended::Lost,
            "PENDING" | "RUNNING" | "SUSPENDED" | "CONFIGURING" | "COMPLETING" => continue,
            _ => Ended::Failed,
        };
        let start = date(cell(begin));
        let between = || Some(date(cell(finish))? - start?);
        let seconds = match (raw, length) {
            (Some(_), _) => cell(raw).parse::<f64>().ok(),
            (None, Some(_)) => elapsed(cell(length)),
            (None, None) => between(),
        };
        let Some(seconds) = seconds.and_then(good) else {
            // Cancelled before it began.
            if end != Ended::Done {
                continue;
            }
            let what = match raw.or(length) {
                Some(at) => format!("'{}' is no length of time", cell(Some(at))),
                None => "there is no length of time between Start and End".to_owned(),
            };
            report.error(source.place_of_line(i as u32 + 1), what, CURE);
            return Vec::new();
        };
        let host = Some(cell(nodes)).filter(|n| !n.is_empty() && *n != "None assigned");
        jobs.push(Job {
            kind: kind_of_word(cell(Some(name))).to_owned(),
            name: cell(Some(name)).to_owned(),
            seconds,
            start,
            host: host.map(str::to_owned),
            end,
        });
    }
    jobs
}
