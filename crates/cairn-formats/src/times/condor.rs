//! Job event logs of HTCondor, and the `.nodes.log` of DAGMan: an event is some lines that end with `...`.

use super::dates::date;
use super::{AttemptEnd, Job, Wrong, good, rows, wrong};
use hashbrown::HashMap;

/// Whether a line begins an event: `005 (123.000.000) 2024-01-31 12:00:00 Job terminated.`
pub(super) fn is_event(line: &str) -> bool {
    parse(line).is_some()
}

struct Event<'a> {
    number: u32,
    /// Cluster and process.
    job: &'a str,
    time: f64,
    text: &'a str,
}

fn parse(line: &str) -> Option<Event<'_>> {
    let (number, rest) = line.split_once(' ')?;
    if number.len() != 3 || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (job, rest) = rest.strip_prefix('(')?.split_once(") ")?;
    // A date, and a time of day.
    let mut blanks = rest.match_indices(' ').map(|(at, _)| at);
    let day = blanks.next()?;
    let end = blanks.next().unwrap_or(rest.len());
    if day >= end {
        return None;
    }
    Some(Event {
        number: number.parse().ok()?,
        job,
        time: date(&rest[..end])?,
        text: rest[end..].trim(),
    })
}

/// What is known of a job between its events.
#[derive(Default)]
struct Open {
    node: Option<String>,
    start: Option<f64>,
    host: Option<String>,
}

/// Every attempt that ended: by termination, or because the worker went away.
pub(super) fn read(text: &str) -> Result<Vec<Job>, Wrong> {
    let mut jobs = Vec::new();
    let mut open: HashMap<&str, Open> = HashMap::new();
    let mut lines = rows(text);
    while let Some((number, line)) = lines.next() {
        if line.trim() == "..." {
            continue;
        }
        let Some(event) = parse(line) else {
            return wrong(
                number,
                "this is no event of an HTCondor log: three digits, the job in brackets, date and time",
                "give the log as HTCondor writes it by default (not XML or JSON), from its beginning",
            );
        };
        let body = lines.by_ref().map(|(_, line)| line.trim());
        // An event that is cut off at the end of the file has the rest of it for a body: that job has not ended.
        let body: Vec<&str> = body.take_while(|line| *line != "...").collect();
        let node = body.iter().find_map(|l| l.strip_prefix("DAG Node: "));
        // Never taken out: a job that was evicted runs again, and its node was named when it was submitted.
        let job = open.entry(event.job).or_default();
        if let Some(node) = node {
            job.node = Some(node.trim().to_owned());
        }
        // 001 executes; 004 evicted, 007 shadow exception, 024 not reconnected: it is lost; 005 ended; 009 aborted, 012 held:
        // somebody's will, which says nothing of job or worker. After 022, disconnected, it may come back.
        let end = match event.number {
            1 => {
                job.start = Some(event.time);
                job.host = host(event.text, &body);
                continue;
            }
            4 | 7 | 24 => AttemptEnd::Lost,
            5 if body.iter().any(|l| l.contains("return value 0)")) => AttemptEnd::Executed,
            5 => AttemptEnd::Failed,
            9 | 12 => {
                job.start = None;
                continue;
            }
            _ => continue,
        };
        // An end without a beginning: the log begins in the middle, or the job was held before.
        let Some(start) = job.start.take() else {
            continue;
        };
        let Some(seconds) = good(event.time - start) else {
            return wrong(
                number,
                "this event comes before the job began",
                "give one log in its own order; logs of several runs must not be mixed",
            );
        };
        jobs.push(Job {
            start: Some(start),
            host: job.host.clone(),
            end,
            ..Job::done(job.node.as_deref().unwrap_or(event.job), seconds)
        });
    }
    Ok(jobs)
}

/// The worker of an execute event: the slot's name where it is told, else the address without its port.
fn host(text: &str, body: &[&str]) -> Option<String> {
    let slot = body.iter().find_map(|l| l.strip_prefix("SlotName:"));
    if let Some(slot) = slot {
        return Some(slot.trim().to_owned());
    }
    let (_, address) = text.split_once('<')?;
    let address = address.split(['>', '?']).next()?;
    // The last colon: addresses of IPv6 have colons of their own.
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    (!host.is_empty()).then(|| host.to_owned())
}
