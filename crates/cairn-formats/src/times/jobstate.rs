//! `jobstate.log` of DAGMan and Pegasus: `SECONDS JOB STATE CONDOR-ID SITE …` a line.

use super::{AttemptEnd, Job, Wrong, good, rows, wrong};
use hashbrown::HashMap;

/// Whether it is a line of such a log.
pub(super) fn is_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    // Seconds since 1970 have nine digits from 1973 on: smaller numbers are rows of some table.
    let is_time = |w: &str| w.len() >= 9 && w.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_state =
        |w: &str| w.contains('*') || w.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    words.len() >= 3 && is_time(words[0]) && (words[1] == "INTERNAL" || is_state(words[2]))
}

/// Every attempt that ended.
pub(super) fn read(text: &str) -> Result<Vec<Job>, Wrong> {
    let mut jobs = Vec::new();
    let mut started: HashMap<&str, f64> = HashMap::new();
    // What ran from when to when, until its exit code is told.
    let mut ran: HashMap<&str, (f64, f64)> = HashMap::new();
    for (number, line) in rows(text) {
        if !is_line(line) {
            return wrong(
                number,
                "this is no line of a jobstate log: seconds, job, state",
                "give the jobstate.log as DAGMan or Pegasus wrote it",
            );
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Ok(time) = words[0].parse::<f64>() else {
            continue;
        };
        let (name, state) = (words[1], words[2]);
        let mut push = |start: f64, end: f64, how: AttemptEnd| {
            // A length below zero comes of clocks that differ: that attempt is left out.
            jobs.extend(good(end - start).map(|seconds| Job {
                start: Some(start),
                end: how,
                ..Job::done(name, seconds)
            }));
        };
        match state {
            // Lines of the engine about itself.
            _ if name == "INTERNAL" => {}
            "EXECUTE" => {
                started.insert(name, time);
            }
            "JOB_TERMINATED" => {
                if let Some(start) = started.remove(name) {
                    ran.insert(name, (start, time));
                }
            }
            "JOB_SUCCESS" | "JOB_FAILURE" => {
                let how = match state {
                    "JOB_SUCCESS" => AttemptEnd::Executed,
                    _ => AttemptEnd::Failed,
                };
                // Where no termination was told, this line is the end.
                let span = ran.remove(name);
                if let Some((start, end)) = span.or_else(|| Some((started.remove(name)?, time))) {
                    push(start, end, how);
                }
            }
            // Not JOB_DISCONNECTED: what reconnects goes on where it was.
            "JOB_EVICTED" | "JOB_RECONNECT_FAILED" | "SHADOW_EXCEPTION" => {
                if let Some(start) = started.remove(name) {
                    push(start, time, AttemptEnd::Lost);
                }
            }
            _ => {}
        }
    }
    Ok(jobs)
}
