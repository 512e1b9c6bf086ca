//! A run and its disk: what begins is committed first under a cap, temporary files go behind commits, and what to do when nothing
//! may start for want of space. Measures and deletes nothing itself.

use super::drive::Drive;
use super::{HalfMade, News};
use crate::disk::{Disk, Swept};
use crate::spawn::Processes;
use crate::store::{StoreError, Writer};
use cairn_engine::{Granted, Outbox, Outcome, Position, Refusal, Task};
use std::time::Instant;

/// What there is to do when nothing runs and nothing was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenIdle {
    /// Others may make room: wait.
    Wait,
    /// It is over, or stuck.
    End,
}

impl<P: Position> Drive<'_, P> {
    pub(super) fn is_capped(&self) -> bool {
        self.disk.as_ref().is_some_and(Disk::is_capped)
    }

    /// Deletes what may be deleted, and looks at the free space.
    pub(super) fn tend_disk(&mut self, committed: impl FnOnce() -> u64) {
        let Some(disk) = &mut self.disk else { return };
        let swept = match disk.has_due() {
            true => disk.sweep(&mut self.engine, committed()),
            false => Vec::new(),
        };
        disk.watch(&mut self.engine, 0);
        if let Some(planner) = self.planner {
            disk.replan(&mut self.engine, planner);
        }
        self.tell_swept(swept);
    }

    pub(super) fn tell_swept(&mut self, swept: Vec<Swept>) {
        for swept in &swept {
            let Swept { path, bytes, left } = swept;
            self.tell(&match left {
                None => News::Deleted(path, *bytes),
                Some(why) => News::NotDeleted(path, why),
            });
        }
    }

    /// Starts what may be started under a cap. A start is committed before it happens, so that whoever goes on after a crash
    /// knows whose half-made files lie there. Returns whether there may be more.
    pub(super) fn start_committed(
        &mut self,
        processes: &mut Processes,
        writer: &Writer,
        broken: &mut Option<StoreError>,
        out: &mut Outbox,
    ) -> bool {
        loop {
            let granted = self.granted(out);
            // What waits for a commit to be deleted may be the room that the next task needs.
            let has_due = self.disk.as_ref().is_some_and(Disk::has_due);
            if granted.is_empty() && !has_due {
                return false;
            }
            // All grants of one turn by one commit: a sync for each would be what a task of milliseconds waits for.
            self.hand_over(writer, broken, out);
            if let Err(error) = writer.flush() {
                broken.get_or_insert(error);
                // Not one of them was started, and none will be: what runs is waited for.
                for Granted { task, token, .. } in granted {
                    self.give_back(task, token, Outcome::GivenBack, out);
                }
                return false;
            }
            let mut ended_at_once = false;
            for granted in granted {
                ended_at_once |= self.start(processes, granted, out);
            }
            self.tend_disk(|| writer.progress().1);
            if ended_at_once {
                return true;
            }
        }
    }

    /// All that the engine gives.
    fn granted(&mut self, out: &mut Outbox) -> Vec<Granted> {
        let mut all = Vec::new();
        loop {
            match self.engine.ask(self.clock.now(), self.here, 1, out) {
                Ok(granted) => all.extend(granted),
                Err(refusal) => {
                    self.refused = Some(refusal);
                    return all;
                }
            }
        }
    }

    /// Nothing runs, and nothing was started.
    pub(super) fn idle(&mut self) -> WhenIdle {
        let Some(Refusal::Storage { missing }) = self.refused.filter(|_| self.is_capped()) else {
            return WhenIdle::End;
        };
        let Some(disk) = &mut self.disk else {
            return WhenIdle::End;
        };
        // Others may delete something; we alone cannot.
        if disk.is_squeezed(&self.engine) {
            if self.waits_since.is_none() {
                self.waits_since = Some(Instant::now());
                if let Some(usage) = disk.usage(&self.engine) {
                    self.tell(&News::HeldBack { missing, usage });
                }
            }
            return WhenIdle::Wait;
        }
        // Where no byte is missing, something else than space holds back what is left.
        self.stuck = Some(missing).filter(|missing| *missing > 0);
        WhenIdle::End
    }

    /// Something was started: nobody waits for room any more.
    pub(super) fn goes_on(&mut self) {
        if self.waits_since.take().is_some() {
            self.tell(&News::GoesOn);
        }
    }

    /// A task ended well: its files are measured before it is said to be executed.
    pub(super) fn measure(&mut self, task: Task) {
        if let Some((disk, task)) = self.disk.as_ref().zip(task.frozen()) {
            disk.measure(&mut self.engine, task);
        }
    }

    /// A task is executed: some files may go when that is committed.
    pub(super) fn free(&mut self, task: Task) {
        if let Some((disk, task)) = self.disk.as_mut().zip(task.frozen()) {
            disk.executed(&mut self.engine, task);
        }
    }

    /// What a failed attempt changed and was moved aside takes its space.
    pub(super) fn count_half_made(&mut self, half: &HalfMade) {
        if let (HalfMade::Moved(_, path), Some(disk)) = (half, &mut self.disk) {
            disk.lies(&mut self.engine, path);
        }
    }

    /// So does what is in the place of its outputs, until somebody writes over it.
    pub(super) fn count_left(&mut self, task: Task) {
        if let Some((disk, task)) = self.disk.as_ref().zip(task.frozen()) {
            disk.left_behind(&mut self.engine, task);
        }
    }
}
