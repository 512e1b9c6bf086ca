//! Which engines there are, and which files each of them is given. Knows no engine's syntax.

use crate::script::text;
use crate::{Handover, HandoverError, Task, airflow, dask, htcondor, hyperqueue, pegasus, slurm};
use std::path::Path;

/// An engine that takes a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Slurm, by `sbatch`.
    Slurm,
    /// HyperQueue, by a job file or its Python API.
    HyperQueue,
    /// HTCondor's DAGMan.
    HtCondor,
    /// Pegasus.
    Pegasus,
    /// Dask, by a Python program.
    Dask,
    /// Airflow, by a Python file for its folder of dags.
    Airflow,
}

/// A file to be written: its path beneath the folder, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Beneath the folder.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl Made {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Made {
        let (path, text) = (path.into(), text.into());
        Made { path, text }
    }
}

/// What the tasks of `handover` ask for that this engine is not told: of how many tasks what. Time limits and retries are kept
/// by the tasks' scripts where an engine does not.
pub fn unsaid(engine: Engine, handover: &Handover) -> Vec<(&'static str, usize)> {
    let unsaid = ASKS.iter().map(|&(what, asks)| {
        let tasks = handover.tasks.iter();
        let many = tasks.filter(|t| asks(t) && !is_told(engine, what, t));
        (what, many.count())
    });
    unsaid.filter(|(_, many)| *many > 0).collect()
}

/// What a task may ask for, and whether it does.
type Asks = (&'static str, fn(&Task) -> bool);

const ASKS: [Asks; 6] = [
    // One processor is what every engine gives.
    ("cpus", |t| t.cpus.is_some_and(|n| n > 1)),
    ("memory", |t| t.memory.is_some()),
    ("pools", |t| t.pools.iter().any(|(_, n)| *n > 0)),
    ("tags", |t| !t.tags.is_empty()),
    ("scratch", |t| t.scratch.is_some_and(|n| n > 0)),
    ("abort_on", |t| t.abort_on.is_some()),
];

/// Whether an engine is told what a task asks for, in words that mean the same there.
fn is_told(engine: Engine, what: &str, task: &Task) -> bool {
    match (engine, what) {
        (Engine::Slurm | Engine::HtCondor | Engine::Pegasus, "cpus" | "memory")
        | (Engine::HyperQueue, "cpus")
        | (Engine::HtCondor, "abort_on") => true,
        (Engine::Slurm, "tags") => slurm::constraint(task).is_some(),
        (Engine::HtCondor, "pools") => htcondor::category(task).is_some(),
        _ => false,
    }
}

/// The files that hand `handover` to an engine, for the folder at `folder`, which is absolute: some of them name others by
/// their whole paths.
///
/// # Errors
/// A folder whose path cannot be written down for this engine.
pub fn files(
    engine: Engine,
    handover: &Handover,
    folder: &Path,
) -> Result<Vec<Made>, HandoverError> {
    // For all alike, though not all name it: below, what is no text is taken for empty.
    text(folder).map_err(HandoverError::Path)?;
    Ok(match engine {
        Engine::Slurm => slurm::files(handover, folder),
        Engine::HyperQueue => hyperqueue::files(handover),
        Engine::HtCondor => htcondor::files(handover, folder)?,
        Engine::Pegasus => pegasus::files(handover, folder),
        Engine::Dask => dask::files(handover),
        Engine::Airflow => airflow::files(handover),
    })
}
