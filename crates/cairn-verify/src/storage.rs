//! The section on storage: the peak of an order, an order within a cap, and what no order can do without. Everything is
//! counted anew. Knows no planner.
//!
//! - *One task*: at least so many bytes lie there before it, whatever was executed, and it needs its own on top.
//! - *First*, *last*: of several tasks one goes before all others, or after all: whichever it is needs so much then.

use crate::accepted::{Accepted, Outcome};
use crate::cut::{Shown, at_least};
use crate::files::Files;
use crate::format::{Keeping, Reason, Storage};
use crate::order;
use crate::rejected::Rejected;
use crate::width::long;
use crate::work::Work;
use cairn_dag::{Flow, TaskId};

/// Steps for all flows together: some seconds.
const STEPS: u64 = 2_000_000_000;

/// Checks the section, and says what is proved of it.
pub(crate) fn check(
    flow: &Flow,
    storage: &Storage,
    accepted: &mut Accepted,
) -> Result<(), Rejected> {
    check_within(flow, storage, Work(STEPS), accepted)
}

pub(crate) fn check_within(
    flow: &Flow,
    storage: &Storage,
    mut work: Work,
    accepted: &mut Accepted,
) -> Result<(), Rejected> {
    let files = Files::new(flow, &storage.assumed)?;
    let has_readers_behind = check_readers(flow, &files, &mut work)?;
    let found = peak_of(flow, &files, &storage.order)?;
    if found != storage.peak {
        return Err(Rejected::OtherPeak(found, storage.peak));
    }
    // Refuted by the order at hand: no flow need be asked.
    if storage.lower_bound > storage.peak {
        return Err(Rejected::LowerBoundAbovePeak(
            storage.lower_bound,
            storage.peak,
        ));
    }
    accepted.add(Outcome::new(
        has_readers_behind,
        format!(
            "storage: an order needs {} bytes at the most, where {}",
            storage.peak,
            words(storage)
        ),
    ));
    if let Some(under) = &storage.under_cap {
        let found = peak_of(flow, &files, &under.order)?;
        if found != under.peak {
            return Err(Rejected::OtherPeak(found, under.peak));
        }
        if found > under.cap {
            return Err(Rejected::OverCap(found, under.cap));
        }
        accepted.add(Outcome::new(
            has_readers_behind,
            format!(
                "storage: the order under the cap of {} bytes needs {found} at the most",
                under.cap
            ),
        ));
    }
    let is_proved = bound_holds(flow, &files, storage, &mut work)? && has_readers_behind;
    let least = match storage.lower_bound == storage.peak {
        true => ", so that none is better",
        false => "",
    };
    accepted.add(Outcome::new(
        is_proved,
        format!(
            "storage: no order needs less than {} bytes{least}",
            storage.lower_bound
        ),
    ));
    Ok(())
}

/// What is assumed of files, in words.
fn words(storage: &Storage) -> String {
    let assumed = &storage.assumed;
    let mut words = match assumed.keeping {
        Keeping::Marked => "only files marked temporary are freed",
        Keeping::FinalsOutside => {
            "files are freed after their last reader and final results do not count"
        }
        Keeping::FinalsCounted => "files are freed after their last reader and final results count",
    }
    .to_owned();
    for pattern in &assumed.temp {
        words += &format!(", '{pattern}' is temporary");
    }
    for (pattern, bytes) in &assumed.size_of {
        words += &format!(", '{pattern}' has {bytes} bytes");
    }
    match assumed.default_size {
        Some(bytes) => words += &format!(", files without a size have {bytes} bytes"),
        None => words += ", files without a size have none",
    }
    words
}

fn peak_of(flow: &Flow, files: &Files, names: &[String]) -> Result<u64, Rejected> {
    let order = order::tasks_of(flow, names)?;
    order::profile_of(flow.dag(), &order)?; // no task before its parents
    Ok(files.peak(&order))
}

/// Whoever reads a file comes after who writes it: else it is not there, and no cut means anything. Says whether that is
/// shown of all: not where the steps are too few.
fn check_readers(flow: &Flow, files: &Files, work: &mut Work) -> Result<bool, Rejected> {
    let dag = flow.dag();
    for writer in dag.tasks() {
        let readers = || {
            let written = files.written[writer.index()].iter();
            written.flat_map(|&file| files.all[file].readers.iter().copied())
        };
        if readers().all(|r| dag.has_arc(writer, TaskId::new(r))) {
            continue;
        }
        let mut is_after = vec![false; dag.len()];
        let mut todo = vec![writer];
        let mut looked = dag.len();
        while let Some(task) = todo.pop() {
            looked += dag.children(task).len();
            for &child in dag.children(task) {
                if !std::mem::replace(&mut is_after[child.index()], true) {
                    todo.push(child);
                }
            }
        }
        if let Some(reader) = readers().find(|&r| !is_after[r]) {
            let name = flow.name(TaskId::new(reader));
            return Err(Rejected::ReaderBeforeWriter(name.to_owned()));
        }
        // A walk for every such writer is quadratic in all: what it looked at is paid for.
        if !work.afford(long(looked)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the lower bound follows from its reason; nothing if the steps are too few.
fn bound_holds(
    flow: &Flow,
    files: &Files,
    storage: &Storage,
    work: &mut Work,
) -> Result<bool, Rejected> {
    let bound = storage.lower_bound;
    let too_high = || Rejected::LowerBoundTooHigh(bound);
    let (tasks, others_in) = match &storage.reason {
        Reason::Nothing => return (bound == 0).then_some(true).ok_or_else(too_high),
        Reason::Kept => return (bound <= files.kept()).then_some(true).ok_or_else(too_high),
        Reason::Task { task } => (std::slice::from_ref(task), false),
        Reason::First { tasks } => (&tasks[..], false),
        Reason::Last { tasks } => (&tasks[..], true),
    };
    let mut ids = Vec::new();
    let mut is_named = vec![false; flow.dag().len()];
    for name in tasks {
        let task = flow.find(name);
        let task = task.ok_or_else(|| Rejected::NoTask(name.clone()))?.index();
        if std::mem::replace(&mut is_named[task], true) {
            return Err(Rejected::NamedTwice(name.clone()));
        }
        ids.push(task);
    }
    if ids.is_empty() {
        return Err(too_high());
    }
    let mut is_proved = true;
    let question = price_of_question(flow, files);
    for &task in &ids {
        // Every question looks at everything once before a byte flows. What steps are left cannot pay for the rest.
        if !work.afford(question) {
            return Ok(false);
        }
        let others: Vec<usize> = ids.iter().copied().filter(|&t| t != task).collect();
        let parents = flow.dag().parents(TaskId::new(task)).iter();
        let mut within: Vec<usize> = parents.map(|p| p.index()).collect();
        let mut out = vec![task];
        match others_in {
            true => within.extend(&others),
            false => out.extend(&others),
        }
        // What must lie there before it, beside its own; nothing where its own alone is enough.
        let goal = bound.saturating_sub(files.own(task));
        match at_least(flow.dag(), files, &within, &out, goal, work) {
            Shown::Yes => (),
            Shown::No => return Err(too_high()),
            Shown::Impossible => {
                let name = flow.name(TaskId::new(task)).to_owned();
                return Err(Rejected::NotIndependent(name));
            }
            Shown::Unknown => is_proved = false,
        }
    }
    Ok(is_proved)
}

/// Steps for building one network: its tasks, arcs and files.
fn price_of_question(flow: &Flow, files: &Files) -> u64 {
    let readers: usize = files.all.iter().map(|file| 1 + file.readers.len()).sum();
    long(flow.dag().len() + flow.dag().arc_count() + readers)
}

#[cfg(test)]
mod tests;
