//! `.ninja_log`: tab-separated start, end (milliseconds since the build began), time stamp, output, hash of the command.

use super::{Job, good};
use crate::{Report, Source};
use hashbrown::HashMap;

/// The newest entry of each output. Entries of an earlier build stand before those of a later one.
pub(super) fn read(source: &Source, report: &mut Report) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut by_output: HashMap<&str, usize> = HashMap::new();
    for (i, line) in source.text().lines().enumerate().skip(1) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split('\t').collect();
        let times = match columns[..] {
            [start, end, _, output, _] => {
                let number = |t: &str| t.parse::<f64>().ok();
                number(start).zip(number(end)).map(|(s, e)| (s, e, output))
            }
            _ => None,
        };
        let job = times.and_then(|(start, end, output)| {
            let job = Job::done(output, good((end - start) / 1000.0)?);
            let start = Some(start / 1000.0);
            Some((output, Job { start, ..job }))
        });
        let Some((output, job)) = job else {
            report.error(
                source.place_of_line(i as u32 + 1),
                "this is no line of a ninja log: start, end, time stamp, output and hash with tabs between",
                "let ninja write the log anew (ninja -t recompact), or leave the line out",
            );
            return Vec::new();
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
    jobs
}
