//! Times from logs for the tasks of a flow: by name, by kind of job, by the mean. Knows no format.

use super::table::median;
use super::{AttemptEnd, Log};
use cairn_dag::{Flow, TaskId, kind_of_word};
use hashbrown::HashMap;

/// A time for every task, and where each comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Assigned {
    /// By task. None only where no log has a job that gave a result.
    pub seconds: Vec<Option<f64>>,
    /// Tasks that a log names, or a file that they make.
    pub by_name: usize,
    /// Tasks that keep the duration that the workflow gives.
    pub own: usize,
    /// Tasks with the median of their kind.
    pub by_kind: usize,
    /// Tasks with the mean of all others.
    pub by_mean: usize,
}

/// Gives every task a time. First come jobs of its very name (or its label's, or of a file that it makes; the median, if
/// several), then what the workflow itself says, then the median of its kind of job, then the mean of all these.
///
/// ```
/// use cairn_formats::{Report, Source, read, times};
/// let mut report = Report::default();
/// let flow = Source::from_text("f.csv", "align-1,join\nalign-2,join\n");
/// let (_, flow) = read(&flow, None, &mut report).unwrap();
/// let log = times::read_source(&Source::from_text("t.csv", "align-1,40\n"), &mut report).unwrap();
/// let times = times::assign(&flow, &[log]);
/// assert_eq!((times.by_name, times.by_kind, times.by_mean), (1, 1, 1));
/// assert_eq!(times.seconds, [Some(40.0); 3]);
/// ```
pub fn assign(flow: &Flow, logs: &[Log]) -> Assigned {
    let mut names: HashMap<&str, Vec<f64>> = HashMap::new();
    let mut kinds: HashMap<&str, Vec<f64>> = HashMap::new();
    for job in logs.iter().flat_map(|log| &log.jobs) {
        // What failed or was lost ran for as long as it happened to: no measure of the task.
        if job.end == AttemptEnd::Executed {
            names.entry(&job.name).or_default().push(job.seconds);
            kinds.entry(&job.kind).or_default().push(job.seconds);
        }
    }
    let [names, kinds] = [names, kinds].map(|table| -> HashMap<&str, f64> {
        // Medians: one attempt that hung for hours must not speak for its kind.
        let medians = table.into_iter().map(|(key, times)| (key, median(times)));
        medians.collect()
    });
    let mut found = Assigned {
        seconds: Vec::with_capacity(flow.dag().len()),
        by_name: 0,
        own: 0,
        by_kind: 0,
        by_mean: 0,
    };
    for task in flow.dag().tasks() {
        let seconds = named(flow, task, &names)
            .inspect(|_| found.by_name += 1)
            .or_else(|| flow.seconds(task).inspect(|_| found.own += 1))
            .or_else(|| alike(flow, task, &kinds).inspect(|_| found.by_kind += 1));
        found.seconds.push(seconds);
    }
    let known: Vec<f64> = found.seconds.iter().copied().flatten().collect();
    // Where nothing fits, the jobs of the logs are the best guess there is.
    let mut all = match known.is_empty() {
        true => names.into_values().collect(),
        false => known,
    };
    // Sums depend on the order in their last bits, and a table of names has none.
    all.sort_unstable_by(f64::total_cmp);
    if !all.is_empty() {
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        for seconds in found.seconds.iter_mut().filter(|s| s.is_none()) {
            *seconds = Some(mean);
            found.by_mean += 1;
        }
    }
    found
}

/// The time of the job with the task's name, its label, or a file that it makes.
fn named(flow: &Flow, task: TaskId, names: &HashMap<&str, f64>) -> Option<f64> {
    let get = |word: &str| names.get(word).copied();
    get(flow.name(task))
        .or_else(|| get(flow.label(task)?))
        .or_else(|| flow.outputs(task).find_map(|file| get(file.path)))
}

/// The median time of the task's kind.
fn alike(flow: &Flow, task: TaskId, kinds: &HashMap<&str, f64>) -> Option<f64> {
    let get = |word: &str| kinds.get(word).copied();
    get(flow.kind(task))
        .or_else(|| get(kind_of_word(flow.name(task))))
        .or_else(|| get(kind_of_word(flow.label(task)?)))
        .or_else(|| (flow.outputs(task)).find_map(|file| get(kind_of_word(file.path))))
}
