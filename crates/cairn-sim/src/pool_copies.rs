//! Copies of tasks in a pool: begun, laid aside, delivered, stopped, given up for lost. Knows no worker's comings and goings.

use crate::leases::LeaseId;
use crate::measures::{Event, What};
use crate::nature::Claim;
use crate::pool_run::{Kind, PoolRun};
use crate::worker::WorkerId;
use cairn_dag::TaskId;
use cairn_theory::game::Standing;

impl<L: FnMut(Event)> PoolRun<'_, L> {
    pub(crate) fn core_time(&self, task: TaskId, start: f64) -> f64 {
        (self.now - start) * f64::from(self.needs.work.cores(task.index()))
    }

    fn count_in(&mut self, task: TaskId) {
        self.busy_cores += f64::from(self.needs.work.cores(task.index()));
    }

    pub(crate) fn count_out(&mut self, task: TaskId) {
        self.busy_cores -= f64::from(self.needs.work.cores(task.index()));
    }

    /// Seconds until a worker has all inputs of a task.
    pub(crate) fn transfer(&self, task: TaskId, id: WorkerId) -> f64 {
        if self.needs.bytes.is_empty() {
            return 0.0;
        }
        let worker = &self.buffers.workers[id.index()];
        let parents = self.play.dag.parents(task).iter().enumerate();
        parents
            // What it made itself since its last break is still on its disk.
            .filter(|(_, parent)| self.buffers.made_by[parent.index()] != (id, worker.spell))
            .map(|(k, _)| worker.transfer(self.needs.bytes.get(task.index(), k)))
            .sum()
    }

    pub(crate) fn fits(&self, task: TaskId, id: WorkerId) -> bool {
        self.needs.work.cores(task.index()) <= self.buffers.workers[id.index()].free_cores
    }

    /// Gives a copy of the task to a worker with room for it. Its lease.
    pub(crate) fn start(&mut self, task: TaskId, id: WorkerId) -> LeaseId {
        let transfer = self.transfer(task, id);
        let worker = &self.buffers.workers[id.index()];
        let begun = self.now + transfer;
        let end = begun + self.play.durations[task.index()] / worker.speed;
        // By the estimate, not the true duration: this is what a server could know, and forecasts of when workers are
        // free go by it.
        let expected = begun + self.needs.estimates[task.index()] / worker.speed;
        let until = worker.works_until();
        let (number, generation) = self.buffers.leases.grant(task, id, self.now, expected);
        self.buffers.leases.get_mut(number).attempt = self.begun as u32;
        // Who goes down first never delivers, and nobody is told: only the end of the lease tells.
        if end <= until {
            self.schedule(end, Kind::Finish(number, generation));
        }
        // Who goes by silence has no use for it.
        if let Some(lease) = self.pool.crew.lease.filter(|_| !self.may_have_no_end()) {
            let estimate = self.needs.estimates[task.index()];
            let expires = self.now + (lease.factor * estimate).max(lease.at_least);
            // Where the result is sure to come in time, the end of the lease would change nothing: one event less a task.
            if end > until || end > expires {
                self.schedule(expires, Kind::Expire(number, generation));
            }
        }
        self.buffers.outstanding[task.index()] += 1;
        self.buffers.alive[task.index()] += 1;
        self.count_in(task);
        self.begun += 1;
        let worker = &mut self.buffers.workers[id.index()];
        worker.got = true;
        worker.running.push(number);
        self.tally(id);
        self.log(id, What::Started(task));
        number
    }

    /// Recounts a worker's free cores from what it runs.
    fn tally(&mut self, id: WorkerId) {
        let worker = &self.buffers.workers[id.index()];
        let tasks = worker.running.iter().map(|&n| self.buffers.leases.get(n));
        let cores: u32 = tasks.map(|l| self.needs.work.cores(l.task.index())).sum();
        self.buffers.workers[id.index()].free_cores = self.pool.crew.cores - cores;
    }

    /// A worker lays a copy aside, delivered or not, and asks for more.
    pub(crate) fn lay_aside(&mut self, number: LeaseId) {
        let (task, id) = (
            self.buffers.leases.get(number).task,
            self.buffers.leases.get(number).worker,
        );
        self.buffers.alive[task.index()] -= 1;
        self.count_out(task);
        self.buffers.leases.release(number);
        self.buffers.workers[id.index()]
            .running
            .retain(|&r| r != number);
        self.tally(id);
        self.ask(id);
    }

    pub(crate) fn finish(&mut self, number: LeaseId, generation: u32) {
        let Some(&lease) = self.buffers.leases.find(number, generation) else {
            return;
        };
        if self.served.is_some() {
            // The engine says what a return is worth: nothing counts here before it does.
            return self.hand_back(number);
        }
        let task = lease.task;
        // Time of a copy that counts, also of a late one: which came first is all that tells them apart.
        self.useful += self.core_time(task, lease.start);
        self.log(lease.worker, What::Finished(task));
        self.lay_aside(number);
        let spell = self.buffers.workers[lease.worker.index()].spell;
        self.buffers.made_by[task.index()] = (lease.worker, spell);
        self.note_result(task, self.says(lease.worker, task));
        // That looks through all leases, and most tasks have one copy.
        if self.buffers.alive[task.index()] > 0 {
            self.stop_others(task);
        }
        self.play.execute_late(task);
        self.note_settled();
    }

    /// What a worker says that a task made.
    pub(crate) fn says(&self, id: WorkerId, task: TaskId) -> Claim {
        let nature = self.buffers.workers[id.index()].nature;
        nature.says(id, task, (self.seed, self.run))
    }

    /// What a task made counts from now on, and so does what was wrong with its inputs.
    pub(crate) fn note_result(&mut self, task: TaskId, claim: Claim) {
        if self.pool.crew.natures.liars > 0.0 {
            let wrong = &self.buffers.wrong;
            let mut parents = self.play.dag.parents(task).iter();
            let is_wrong = claim != Claim::Honest || parents.any(|p| wrong[p.index()]);
            self.buffers.wrong[task.index()] = is_wrong;
        }
    }

    /// A task is executed or given up.
    pub(crate) fn note_settled(&mut self) {
        (self.settled_at, self.waits_since) = (self.now, self.now);
        self.settled = (self.up_time, self.idle);
    }

    pub(crate) fn stop_others(&mut self, task: TaskId) {
        let mut others: Vec<(u32, LeaseId)> = (self.buffers.leases.alive())
            .filter(|(_, l)| l.task == task)
            .map(|(number, l)| (l.attempt, number))
            .collect();
        // As they were given out, which is how the engine tells them; numbers of leases are used again.
        others.sort_unstable();
        for (_, number) in others {
            self.stop(number);
        }
    }

    /// A copy is stopped, for another is back or will be sooner.
    pub(crate) fn stop(&mut self, number: LeaseId) {
        let lease = *self.buffers.leases.get(number);
        self.wasted += self.core_time(lease.task, lease.start);
        self.log(lease.worker, What::Stopped(lease.task));
        self.lay_aside(number);
    }

    /// The server no longer counts on a lease. One whose worker is gone is over with that.
    pub(crate) fn count_on_no_more(&mut self, number: LeaseId) {
        let lease = self.buffers.leases.get_mut(number);
        lease.outstanding = false;
        let (task, worker, alive) = (lease.task, lease.worker, lease.alive);
        if !alive {
            self.buffers.leases.release(number);
            self.log(worker, What::Expired(task));
        }
        self.count_back(task);
    }

    /// One copy of a task that is not settled less is counted on.
    pub(crate) fn count_back(&mut self, task: TaskId) {
        self.buffers.outstanding[task.index()] -= 1;
        if self.buffers.outstanding[task.index()] == 0 {
            self.play.give_back(task);
        }
    }

    pub(crate) fn expire(&mut self, number: LeaseId, generation: u32) {
        let Some(&lease) = self.buffers.leases.find(number, generation) else {
            return;
        };
        if self.served.is_some() {
            // A trusted worker has as long as it takes: late tasks get copies. One that is gone is missed by now.
            if !lease.alive {
                self.miss(lease.worker);
                if self.buffers.leases.find(number, generation).is_some() {
                    self.buffers.leases.release(number);
                }
            }
            return;
        }
        // Nobody delivered it yet. A worker that is still at it goes on, and counts if it comes first.
        if self.play.game.standing(lease.task) != Standing::Executed {
            if lease.alive {
                self.log(lease.worker, What::Expired(lease.task));
            }
            return self.count_on_no_more(number);
        }
        // Another copy was delivered meanwhile: the task is done and must not be given out again.
        match lease.alive {
            true => self.buffers.leases.get_mut(number).outstanding = false,
            false => self.buffers.leases.release(number),
        }
    }
}
