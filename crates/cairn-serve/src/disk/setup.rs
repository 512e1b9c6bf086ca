//! What a run is told of its files beforehand, and how it begins with them. Knows not whether tasks run here or elsewhere.

use super::{Disk, Layout, Planner, Priorities, Swept, Unkept, bytes_at};
use crate::budgets::PLANNING_WITHIN_CAP;
use crate::found::Found;
use crate::free::free_bytes;
use crate::run::place;
use cairn_dag::TaskId;
use cairn_engine::{Engine, Keeper, Position, Taken};
use cairn_theory::game::Standing;
use cairn_theory::storage::FileId;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

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

impl Layout {
    /// Where each file is, by the folders of tasks: that of the task that writes it, or of one that reads it.
    pub fn places(&self, directory: &dyn Fn(TaskId) -> Option<PathBuf>) -> Vec<Option<PathBuf>> {
        let at = |file: FileId| {
            let producer = self.storage.producer(file);
            let task = producer.or_else(|| self.storage.consumers(file).next())?;
            Some(place(directory(task), self.path(file)?))
        };
        self.storage.files().map(at).collect()
    }

    /// Whoever would keep the cap of a run that began now, with these tasks executed and these wanted (by task; all where nobody
    /// says), and sizes as they are known or lie there. Of what is free it knows not what earlier attempts left aside. `None`
    /// where there is no cap.
    ///
    /// # Errors
    /// If the free space is wanted and cannot be told.
    pub fn foreseen(
        &self,
        (is_executed, wanted): (&[bool], Option<&[bool]>),
        directory: &dyn Fn(TaskId) -> Option<PathBuf>,
        known: &Taken,
    ) -> io::Result<Option<Keeper>> {
        let Some(cap) = &self.cap else {
            return Ok(None);
        };
        let standing = |task: TaskId| match wanted {
            _ if is_executed[task.index()] => Standing::Executed,
            // As the engine tells it to its keeper.
            Some(wanted) if !wanted[task.index()] => Standing::Cancelled,
            _ => Standing::Waiting,
        };
        let mut keeper = cap.keeper.clone();
        let _ = keeper.recall(&known.learnt(&self.kinds));
        keeper.sync(standing);
        let mut there = 0;
        for (file, place) in self.storage.files().zip(self.places(directory)) {
            let Some(bytes) = place.as_deref().and_then(bytes_at) else {
                continue;
            };
            there += bytes;
            let producer = self.storage.producer(file);
            // What nobody wants any more goes before anything begins: as in `Disk::take_stock`, nothing is learnt from it.
            let is_made = producer.is_none_or(|t| standing(t) == Standing::Executed);
            if is_made && !keeper.is_free(file) {
                // Sizes on a disk never add up to more than it can count.
                let _ = keeper.measured(file, bytes);
            }
        }
        keeper.set_cap(cap.most.bytes(|| free_bytes(&cap.folder), there)?);
        Ok(Some(keeper))
    }
}

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
        let (mut disk, cap) = Disk::new(layout, directory);
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
            let order = planner(keeper, PLANNING_WITHIN_CAP)?;
            Ok(Some((order, priorities(keeper))))
        }
        None => Ok(None),
    }
}
