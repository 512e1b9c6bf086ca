//! What a run is told of its files beforehand, and how it begins with them. Knows not whether tasks run here or elsewhere.

use super::{Disk, Layout, Planner, Priorities, Swept, Unkept};
use crate::found::Found;
use crate::run::place;
use cairn_dag::TaskId;
use cairn_engine::{Engine, Position, Taken};
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// How long an order within the cap may be looked for before anything starts.
// Nothing runs meanwhile, and people wait for it; but a tight cap costs hours: a minute is not felt there, and without such an order
// the run is refused. The planner needs 38 s for the slowest dag of the docs (50,000 tasks), and less than 5 s for 2,000.
const PLANNING: Duration = Duration::from_secs(60);

/// The files of a flow as something that takes space.
pub struct DiskSetup<'f> {
    /// Who writes and reads what, and the cap, where there is one.
    pub layout: Layout,
    /// Finds orders within the cap.
    pub planner: &'f Planner<'f>,
    /// Finds faster priorities where the cap is tight.
    pub priorities: &'f Priorities<'f>,
}

/// An order for a tight cap, and where faster priorities may come from.
pub(crate) type Tight = (Vec<TaskId>, Receiver<Found>);

impl Disk {
    /// Counts what lies on the disk, and keeps it under the cap. What was swept meanwhile comes with it.
    ///
    /// # Errors
    /// If the free space is wanted and cannot be told.
    pub(crate) fn begin<P: Position>(
        layout: Layout,
        engine: &mut Engine<P>,
        directory: &dyn Fn(TaskId) -> Option<PathBuf>,
        known: &Taken,
        may_delete: bool,
    ) -> io::Result<(Disk, Vec<Swept>)> {
        let at = |task, path: &str| place(directory(task), path);
        let (mut disk, cap) = Disk::new(layout, &at);
        let swept = disk.settle(engine, cap, known, may_delete)?;
        Ok((disk, swept))
    }
}

/// In which order the waiting tasks go, where the cap is tight.
///
/// # Errors
/// If no order keeps the cap, or none was found.
pub(crate) fn tight<P: Position>(
    engine: &mut Engine<P>,
    planner: &Planner<'_>,
    priorities: &Priorities<'_>,
) -> Result<Option<Tight>, Unkept> {
    let keeper = engine.keeper_mut();
    match keeper.filter(|k| !k.is_safe() && !k.waiting().is_empty()) {
        Some(keeper) => {
            let order = planner(keeper, PLANNING)?;
            Ok(Some((order, priorities(keeper))))
        }
        None => Ok(None),
    }
}
