//! Copies of tasks in workers' hands. Knows no events and no policy.

use crate::worker::WorkerId;
use cairn_dag::TaskId;
use cairn_kernel::ids;

ids! {
    /// A copy of a task in a worker's hands, by number: once it is over, the number is given again.
    pub(crate) LeaseId,
}

/// One copy of a task, given to one worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseState {
    pub(crate) task: TaskId,
    pub(crate) worker: WorkerId,
    pub(crate) start: f64,
    /// When the server expects it back.
    pub(crate) expected_end: f64,
    /// As which attempt the engine knows it, where it decides; else how many were given out before. Of a task, the later the larger.
    pub(crate) attempt: u32,
    /// The worker is still at it.
    pub(crate) alive: bool,
    /// The server still counts on it: neither delivered nor expired.
    pub(crate) outstanding: bool,
    /// Told apart from earlier leases under the same number.
    generation: u32,
    in_use: bool,
}

/// All leases of a run. Numbers are used again; an event that remembers (number, generation) can tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases {
    slots: Vec<LeaseState>,
    free: Vec<LeaseId>,
}

impl Leases {
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }

    /// A new lease: its number and generation.
    pub(crate) fn grant(
        &mut self,
        task: TaskId,
        worker: WorkerId,
        start: f64,
        expected_end: f64,
    ) -> (LeaseId, u32) {
        let mut state = LeaseState {
            task,
            worker,
            start,
            expected_end,
            attempt: 0,
            alive: true,
            outstanding: true,
            generation: 0,
            in_use: true,
        };
        match self.free.pop() {
            Some(number) => {
                let slot = &mut self.slots[number.index()];
                // `release` raised it: events of the lease that had this number before do not find the new one.
                state.generation = slot.generation;
                *slot = state;
                (number, state.generation)
            }
            None => {
                self.slots.push(state);
                (LeaseId::new(self.slots.len() - 1), 0)
            }
        }
    }

    /// The lease, unless it was released since.
    #[inline]
    pub(crate) fn find(&self, number: LeaseId, generation: u32) -> Option<&LeaseState> {
        let slot = &self.slots[number.index()];
        (slot.in_use && slot.generation == generation).then_some(slot)
    }

    #[inline]
    pub(crate) fn get(&self, number: LeaseId) -> &LeaseState {
        &self.slots[number.index()]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: LeaseId) -> &mut LeaseState {
        &mut self.slots[number.index()]
    }

    /// Forgets a lease.
    pub(crate) fn release(&mut self, number: LeaseId) {
        let slot = &mut self.slots[number.index()];
        debug_assert!(slot.in_use);
        slot.in_use = false;
        // Whoever still holds the number sees that it is another lease's now.
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(number);
    }

    /// Leases that workers are at, with their numbers.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (LeaseId, &LeaseState)> {
        let numbered = self
            .slots
            .iter()
            .enumerate()
            .map(|(i, l)| (LeaseId::new(i), l));
        numbered.filter(|(_, l)| l.in_use && l.alive)
    }

    /// The lease that is this attempt at a task.
    pub(crate) fn of_attempt(&self, task: TaskId, attempt: u32) -> Option<LeaseId> {
        // Numbers are used again, so there are hardly more slots than workers: they can be looked through.
        let is_it = |l: &LeaseState| l.in_use && l.task == task && l.attempt == attempt;
        self.slots.iter().position(is_it).map(LeaseId::new)
    }

    /// Forgets the leases of a task whose workers are gone.
    pub(crate) fn forget_gone(&mut self, task: TaskId) {
        for number in 0..self.slots.len() {
            let lease = &self.slots[number];
            if lease.in_use && !lease.alive && lease.task == task {
                self.release(LeaseId::new(number));
            }
        }
    }

    /// Leases that the server counts on.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &LeaseState> {
        self.slots.iter().filter(|l| l.in_use && l.outstanding)
    }
}
