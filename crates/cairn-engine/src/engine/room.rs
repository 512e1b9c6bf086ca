//! Room on the disks of workers whose tasks have folders of their own. Knows no files.
//!
//! A worker that says how much disk it has gets a task only if what the task reads and writes, and its scratch, fit beside those that
//! it has. One that lacks room now holds its place in the order, as tasks that lack processors do; one that the worker could
//! never hold is left to others.

use super::Engine;
use crate::budgets::request::PASSED;
use crate::{ClassId, Needs, PoolId, Position, Task, WorkerId};
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// By task: bytes that it takes in a folder of its own.
    pub fn set_weights(&mut self, bytes: Vec<u64>) {
        self.weights = bytes;
    }

    /// Bytes that a task takes in a folder of its own, as far as they are known.
    pub fn weight(&self, task: Task) -> u64 {
        let index = usize::try_from(task.0).ok();
        index
            .and_then(|i| self.weights.get(i))
            .copied()
            .unwrap_or(0)
    }

    /// Whether the worker's disk could hold the task if it had nothing else.
    pub(super) fn could_hold(&self, worker: WorkerId, task: Task) -> bool {
        let disk = self.workers[worker.index()].offer.disk;
        disk.is_none_or(|disk| self.weight(task) <= disk)
    }

    /// Whether it has room for it now.
    pub(super) fn has_space(&self, worker: WorkerId, task: Task) -> bool {
        let worker = &self.workers[worker.index()];
        worker.offer.disk.is_none_or(|disk| {
            let held = worker.holds.iter().map(|&(task, _)| self.weight(task));
            // What goes on there after a loss has its folder still.
            let lingers = worker.lingers.iter().map(|l| self.weight(l.attempt.0));
            let all = held
                .chain(lingers)
                .fold(self.weight(task), u64::saturating_add);
            all <= disk
        })
    }

    /// Whether the worker would have room for the task, of these needs, if it had not the other one that it has.
    pub(super) fn has_room_instead(
        &self,
        worker: WorkerId,
        (task, needs): (Task, &Needs),
        stopped: Task,
    ) -> bool {
        let Some(lease) = self.leases.of(stopped).find(|l| l.worker == worker) else {
            return false;
        };
        let (freed, known) = (self.queue.needs(lease.class), &self.workers[worker.index()]);
        let free = |&(pool, amount): &(PoolId, u32)| {
            let given = freed.pools.iter().filter(|&&(other, _)| other == pool);
            let given: u32 = given.map(|&(_, amount)| amount).sum();
            let place = pool.0 as usize;
            (self.pools_busy[place] - given).saturating_add(amount) <= self.rules.pools[place]
        };
        let held = known.holds.iter().filter(|&&(held, _)| held != stopped);
        let held = held.map(|&(held, _)| self.weight(held));
        let lingers = known.lingers.iter().map(|l| self.weight(l.attempt.0));
        let held = held.chain(lingers);
        known.has_room_instead(needs, freed)
            && needs.pools.iter().all(free)
            && (known.offer.disk)
                .is_none_or(|disk| held.fold(self.weight(task), u64::saturating_add) <= disk)
    }

    /// Takes tasks out of the queue that this worker could never hold, as far as they stand before others: to be put back.
    pub(super) fn pass_over(&mut self, worker: WorkerId) -> Vec<(ClassId, Task)> {
        let mut passed = Vec::new();
        if self.workers[worker.index()].offer.disk.is_none() {
            return passed;
        }
        for class in self.queue.classes() {
            for _ in 0..PASSED {
                let Some((_, task)) = self.queue.first(class) else {
                    break;
                };
                let waits = self.position.standing(task) == Ok(Standing::Eligible);
                if waits && self.could_hold(worker, task) {
                    break;
                }
                // One that does not wait any more went by another way, and goes for good.
                self.queue.pop(class);
                if waits {
                    passed.push((class, task));
                }
            }
        }
        passed
    }
}
