//! `.ninja_log`: tab-separated start, end (milliseconds since the build began), time stamp, output, hash of the command.

use super::{Job, Wrong, good, rows, wrong};
use hashbrown::HashMap;

/// The newest entry of each output. Entries of an earlier build stand before those of a later one.
pub(super) fn read(text: &str) -> Result<Vec<Job>, Wrong> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut by_output: HashMap<&str, usize> = HashMap::new();
    // The first line, which tells the version, is a comment by its sign.
    for (number, line) in rows(text).filter(|(_, line)| !line.starts_with('#')) {
        let Some((output, job)) = entry(line) else {
            return wrong(
                number,
                "this is no line of a ninja log: start, end, time stamp, output and hash with tabs between",
                "let ninja write the log anew (ninja -t recompact), or leave the line out",
            );
        };
        match by_output.get(output) {
            // In the place of the older one, so that the order is that of the first build.
            Some(&at) => jobs[at] = job,
            None => {
                by_output.insert(output, jobs.len());
                jobs.push(job);
            }
        }
    }
    Ok(jobs)
}

/// What a line says was made, and how.
fn entry(line: &str) -> Option<(&str, Job)> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [start, end, _, output, _] = columns[..] else {
        return None;
    };
    let (start, end): (f64, f64) = (start.parse().ok()?, end.parse().ok()?);
    let job = Job::done(output, good((end - start) / 1000.0)?);
    let start = Some(start / 1000.0);
    Some((output, Job { start, ..job }))
}
