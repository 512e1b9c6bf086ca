//! What the workers of a log were like: how many, how long they stayed, how they differed. Knows no simulator.

use super::crew::{Crew, crew};
use super::table::{median, spread};
use super::{AttemptEnd, Job, Log, Stay};
use hashbrown::HashMap;

/// Workers as logs show them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Slots: the most jobs at once for at least a twentieth of the time that any ran.
    pub slots: u32,
    /// Attempts looked at.
    pub attempts: usize,
    /// Those of them whose worker went away.
    pub lost: usize,
    /// The mean time that a worker stays, if any was lost: all time that jobs ran, over the losses.
    pub up: Option<f64>,
    /// The mean time until a worker that was lost has a job again, where the log tells.
    pub down: Option<f64>,
    /// Who came and went, where the logs tell that: then neither slots nor up and down say more.
    pub crew: Option<Crew>,
    /// How speeds of hosts differ: the standard deviation of their logarithm, where at least two can be compared.
    pub speed: Option<f64>,
}

/// Looks at all attempts that have a beginning. `None` where there are none.
///
/// ```
/// use cairn_formats::{Report, Source, times};
/// let text = "JobID|JobName|State|Elapsed|Start|NodeList\n\
///             1|a|COMPLETED|00:10:00|2024-01-01T00:00:00|n1\n\
///             2|b|NODE_FAIL|00:10:00|2024-01-01T00:00:00|n2\n";
/// let log = times::read_source(&Source::from_text("sacct", text), &mut Report::default()).unwrap();
/// let fitted = times::fit(&[log]).unwrap();
/// assert_eq!((fitted.slots, fitted.lost, fitted.up), (2, 1, Some(1200.0)));
/// ```
pub fn fit(logs: &[Log]) -> Option<Fitted> {
    let all = logs.iter().flat_map(|log| &log.jobs);
    let timed: Vec<&Job> = all.filter(|j| j.start.is_some()).collect();
    if timed.is_empty() {
        return None;
    }
    let stays: Vec<Stay> = (logs.iter()).flat_map(|log| log.stays.clone()).collect();
    // Failures are the job's own fault and tell nothing of workers.
    let lost = timed.iter().filter(|j| j.end == AttemptEnd::Lost).count();
    let ran: f64 = timed.iter().map(|j| j.seconds).sum();
    Some(Fitted {
        slots: slots(&timed),
        attempts: timed.len(),
        lost,
        up: (lost > 0 && ran > 0.0).then(|| ran / lost as f64),
        down: down(&timed),
        crew: crew(&stays, &timed),
        speed: speed(&timed),
    })
}

fn begin(job: &Job) -> f64 {
    job.start.expect("only jobs with a beginning are looked at")
}

/// How many ran at once, looked at over time.
fn slots(jobs: &[&Job]) -> u32 {
    let mut changes: Vec<(f64, i64)> = (jobs.iter())
        .flat_map(|j| [(begin(j), 1), (begin(j) + j.seconds, -1)])
        .collect();
    // Of equal moments the ends first.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut times: Vec<(i64, f64)> = Vec::new();
    // Signed: of a job without length the end comes before its beginning.
    let (mut running, mut since) = (0i64, changes[0].0);
    for (time, change) in changes {
        if running > 0 && time > since {
            times.push((running, time - since));
        }
        running += change;
        since = time;
    }
    times.sort_by_key(|t| std::cmp::Reverse(t.0));
    let total: f64 = times.iter().map(|t| t.1).sum();
    let mut above = 0.0;
    for (running, time) in times {
        above += time;
        // Not the very most: overlaps of moments, by clocks that differ, would count as slots.
        if above >= total / 20.0 {
            return u32::try_from(running).unwrap_or(u32::MAX);
        }
    }
    1
}

/// The mean time from a loss to the next beginning on the same host.
fn down(jobs: &[&Job]) -> Option<f64> {
    let mut by_host: HashMap<&str, Vec<f64>> = HashMap::new();
    for job in jobs {
        if let Some(host) = &job.host {
            by_host.entry(host).or_default().push(begin(job));
        }
    }
    let gap = |job: &&&Job| {
        let end = begin(job) + job.seconds;
        let starts = by_host.get(job.host.as_deref()?)?.iter();
        let next = starts
            .filter(|s| **s >= end)
            .copied()
            .fold(f64::INFINITY, f64::min);
        next.is_finite().then_some(next - end)
    };
    let lost = jobs.iter().filter(|j| j.end == AttemptEnd::Lost);
    let gaps: Vec<f64> = lost.filter_map(|job| gap(&job)).collect();
    // Of hosts that came back alone: of the others nobody knows whether they ever will.
    let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
    (mean > 0.0).then_some(mean)
}

/// Hosts by how long their jobs take beside others of their kind.
fn speed(jobs: &[&Job]) -> Option<f64> {
    /// So few jobs say nothing of a host.
    // A judgement: of three the median already leaves out one that went wrong.
    const FEWEST: usize = 3;
    let done = || {
        jobs.iter()
            .filter(|j| j.end == AttemptEnd::Executed && j.seconds > 0.0)
    };
    let mut by_kind: HashMap<&str, Vec<f64>> = HashMap::new();
    for job in done() {
        by_kind.entry(&job.kind).or_default().push(job.seconds);
    }
    let usual: HashMap<&str, f64> = (by_kind.into_iter())
        .map(|(kind, times)| (kind, median(times)))
        .collect();
    let mut by_host: HashMap<&str, Vec<f64>> = HashMap::new();
    for job in done() {
        if let Some(host) = &job.host {
            // There, as the same jobs were gone through above.
            let ratio = usual[job.kind.as_str()] / job.seconds;
            by_host.entry(host).or_default().push(ratio);
        }
    }
    let mut speeds: Vec<f64> = (by_host.into_values())
        .filter(|ratios| ratios.len() >= FEWEST)
        .map(median)
        .collect();
    // Sums depend on the order in their last bits, and a table of hosts has none.
    speeds.sort_unstable_by(f64::total_cmp);
    (speeds.len() >= 2).then(|| spread(&speeds))
}
