//! What `sacct -P` prints: columns with bars between them, named in the first line.

use super::dates::{date, elapsed};
use super::{AttemptEnd, Job, Wrong, good, rows};
use std::borrow::Cow;

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
pub(super) fn read(text: &str) -> Result<Vec<Job>, Wrong> {
    let mut lines = rows(text);
    let columns = Columns::new(lines.next().map_or("", |(_, line)| line));
    let columns = columns.map_err(|what| Wrong(1, what.into(), CURE))?;
    let mut jobs = Vec::new();
    for (number, line) in lines {
        let job = columns.cells(line).and_then(|cells| columns.job(&cells));
        jobs.extend(job.map_err(|what| Wrong(number, what.into(), CURE))?);
    }
    Ok(jobs)
}

/// Where in a line things stand.
struct Columns {
    names: Vec<String>,
    /// `sacct -p` ends every line with a bar.
    ends_with_bar: bool,
    id: usize,
    name: usize,
    length: Option<usize>,
    raw: Option<usize>,
    begin: Option<usize>,
    finish: Option<usize>,
    state: Option<usize>,
    nodes: Option<usize>,
}

impl Columns {
    /// The columns of the first line, or what is missing.
    fn new(header: &str) -> Result<Columns, &'static str> {
        let names = header.trim_end_matches('|').split('|');
        let names: Vec<String> = names.map(|c| c.trim().to_ascii_lowercase()).collect();
        let column = |name: &str| names.iter().position(|n| n == name);
        let (Some(id), Some(name)) = (column("jobid"), column("jobname")) else {
            return Err("there is no column JobName");
        };
        let columns = Columns {
            ends_with_bar: header.trim_end().ends_with('|'),
            id,
            name,
            length: column("elapsed"),
            raw: column("elapsedraw"),
            begin: column("start"),
            finish: column("end"),
            state: column("state"),
            nodes: column("nodelist"),
            names,
        };
        let has_length = columns.length.is_some() || columns.raw.is_some();
        match has_length || (columns.begin.is_some() && columns.finish.is_some()) {
            true => Ok(columns),
            false => Err("there is no column Elapsed, nor ElapsedRaw, nor Start and End"),
        }
    }

    /// The cells of a line, as many as there are columns or more; or what is wrong with it.
    fn cells<'l>(&self, line: &'l str) -> Result<Vec<Cow<'l, str>>, String> {
        let line = match self.ends_with_bar {
            true => line.trim_end().strip_suffix('|').unwrap_or(line),
            false => line,
        };
        let mut cells: Vec<Cow<'_, str>> = line.split('|').map(Cow::from).collect();
        let (found, wanted) = (cells.len(), self.names.len());
        // Names are free text, and sacct escapes nothing.
        let more = found.saturating_sub(wanted);
        if more > 0 && self.names.iter().any(|n| FREE.contains(&n.as_str())) {
            return Err(format!(
                "this line has {found} columns, not {wanted}: one of them has a bar in it, and it is not clear which"
            ));
        }
        // A bar in a name looks like one between columns.
        if more > 0 {
            let whole = cells[self.name..=self.name + more].join("|");
            cells.splice(self.name..=self.name + more, [whole.into()]);
        }
        match found < wanted {
            true => Err(format!("this line has {found} of {wanted} columns")),
            false => Ok(cells),
        }
    }

    /// The job of a line, if it is one that ended; or what is wrong with it.
    fn job(&self, cells: &[Cow<'_, str>]) -> Result<Option<Job>, String> {
        let cell = |at: Option<usize>| at.and_then(|at| cells.get(at)).map_or("", |c| c.trim());
        // A step: with its job counted as well, the time would count twice.
        if cell(Some(self.id)).contains('.') {
            return Ok(None);
        }
        // Behind the word may stand by whom: `CANCELLED by 1000`.
        let state = cell(self.state).split_whitespace().next();
        let end = match state.unwrap_or("COMPLETED") {
            "" | "COMPLETED" => AttemptEnd::Executed,
            // Ended by the cluster, not by the job: these tell how long workers stay.
            "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL" | "REVOKED" | "REQUEUED" => AttemptEnd::Lost,
            "PENDING" | "RUNNING" | "SUSPENDED" | "CONFIGURING" | "COMPLETING" => return Ok(None),
            _ => AttemptEnd::Failed,
        };
        let start = date(cell(self.begin));
        let between = || Some(date(cell(self.finish))? - start?);
        let seconds = match (self.raw, self.length) {
            // Whole seconds, without a form to be misread.
            (Some(_), _) => cell(self.raw).parse::<f64>().ok(),
            (None, Some(_)) => elapsed(cell(self.length)),
            (None, None) => between(),
        };
        let Some(seconds) = seconds.and_then(good) else {
            return match (end, self.raw.or(self.length)) {
                (AttemptEnd::Executed, Some(at)) => {
                    Err(format!("'{}' is no length of time", cell(Some(at))))
                }
                (AttemptEnd::Executed, None) => {
                    Err("there is no length of time between Start and End".to_owned())
                }
                // Cancelled before it began.
                _ => Ok(None),
            };
        };
        let host = Some(cell(self.nodes)).filter(|n| !n.is_empty() && *n != "None assigned");
        Ok(Some(Job {
            start,
            host: host.map(str::to_owned),
            end,
            ..Job::done(cell(Some(self.name)), seconds)
        }))
    }
}
