//! Which engines there are, and which files each of them is given. Knows no engine's syntax.

use crate::{Handover, Task, airflow, dask, htcondor, hyperqueue, pegasus, slurm};
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
    let (cpus, memory) = match engine {
        Engine::Slurm | Engine::HtCondor | Engine::Pegasus => (true, true),
        Engine::HyperQueue => (true, false),
        Engine::Dask | Engine::Airflow => (false, false),
    };
    let many = |asks: fn(&Task) -> bool| handover.tasks.iter().filter(|t| asks(t)).count();
    // One processor is what every engine gives.
    let all = [
        ("cpus", cpus, many(|t| t.cpus.is_some_and(|n| n > 1))),
        ("memory", memory, many(|t| t.memory.is_some())),
    ];
    let unsaid = all
        .into_iter()
        .filter(|(_, is_said, many)| !is_said && *many > 0);
    unsaid.map(|(what, _, many)| (what, many)).collect()
}

/// The files that hand `handover` to an engine, for the folder at `folder`, which is absolute: some of them name others by
/// their whole paths.
pub fn files(engine: Engine, handover: &Handover, folder: &Path) -> Vec<Made> {
    match engine {
        Engine::Slurm => slurm::files(handover, folder),
        Engine::HyperQueue => hyperqueue::files(handover),
        Engine::HtCondor => htcondor::files(handover, folder),
        Engine::Pegasus => pegasus::files(handover, folder),
        Engine::Dask => dask::files(handover),
        Engine::Airflow => airflow::files(handover),
    }
}
