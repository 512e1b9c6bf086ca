//! Who gets what in a pool at one instant: by turn, by plan, by earliest finish, and copies for the tail. Knows no events.

use crate::clock::Time;
use crate::heft::OptimisticCosts;
use crate::measures::Event;
use crate::pool_run::{Dispatch, PoolRun};
use crate::worker::WorkerId;
use cairn_dag::{TaskId, wide};
use cairn_theory::game::Standing;
use std::collections::VecDeque;

impl<L: FnMut(Event)> PoolRun<'_, L> {
    /// Serves everyone who can be served now, and counts requests and stalls.
    pub(crate) fn serve(&mut self, dispatch: &mut Dispatch<'_>) {
        match dispatch {
            Dispatch::List => self.serve_in_turn(),
            Dispatch::Plan(lists) => self.serve_by_plan(lists),
            Dispatch::EarliestFinish(costs) => self.serve_earliest_finish(costs.as_ref()),
            Dispatch::Engine(_) => self.serve_by_engine(),
        }
        // The engine gives copies by its own rule.
        if let Some(tail) = self.pool.crew.tail.filter(|_| self.served.is_none()) {
            let left = self.play.dag.len() - self.play.game.executed_count();
            // Under a cap no second copies: only one result of a task is reserved for.
            let may_copy = self.play.gate.is_none();
            if may_copy && left <= wide(tail.tasks) && self.play.eligible.is_empty() {
                self.serve_tail(tail.copies);
            }
        }
        for i in 0..self.buffers.asking.len() {
            let id = self.buffers.asking[i];
            let worker = &mut self.buffers.workers[id.index()];
            worker.asks = false;
            let (got, is_up) = (worker.got, worker.is_up);
            // Who went down at the same instant asked for nothing, and at the end of a run nobody could have got
            // anything.
            let stalled = is_up && !got && self.play.unbegun() > 0;
            self.requests += u64::from(got || stalled);
            self.stalls += u64::from(stalled);
        }
        self.buffers.asking.clear();
    }

    fn is_full(&self, id: WorkerId) -> bool {
        self.buffers.workers[id.index()].free_cores < self.needs.least_cores
    }

    /// Lets waiting workers come forward, longest waiting first, as long as `more` says so; `offer` may give the worker
    /// something. Those with room left keep their places.
    fn call_waiting(
        &mut self,
        more: impl Fn(&Self) -> bool,
        mut offer: impl FnMut(&mut Self, WorkerId),
    ) {
        let mut unserved = Vec::new();
        while more(self) {
            let Some((id, ticket)) = self.buffers.waiting.pop_front() else {
                break;
            };
            // Stale: it got its fill, or went down, since it stood there.
            if self.buffers.workers[id.index()].ticket != ticket {
                continue;
            }
            offer(self, id);
            if self.is_full(id) {
                self.buffers.workers[id.index()].ticket = 0;
            } else {
                unserved.push((id, ticket));
            }
        }
        // From the last to the first, so that they stand in front as before.
        for place in unserved.into_iter().rev() {
            self.buffers.waiting.push_front(place);
        }
    }

    fn serve_in_turn(&mut self) {
        if self.play.gate.is_some() {
            let offer = |run: &mut Self, id: WorkerId| {
                while !run.is_full(id) {
                    let Some(task) = run.let_in(id) else { break };
                    run.play.take(task);
                    run.start(task, id);
                }
            };
            return self.call_waiting(|run| !run.play.eligible.is_empty(), offer);
        }
        self.call_waiting(
            |run| !run.play.eligible.is_empty(),
            |run, id| {
                let mut from = 0;
                while let Some((task, next)) = run.play.eligible.next(from) {
                    from = next;
                    if run.fits(task, id) {
                        run.play.take(task);
                        run.start(task, id);
                        if run.is_full(id) {
                            break;
                        }
                    }
                }
            },
        );
    }

    /// What the gate lets a worker begin with.
    fn let_in(&mut self, id: WorkerId) -> Option<TaskId> {
        let mut gate = self.play.gate.take()?;
        let play = &self.play;
        let task = gate.choose(&play.game, play.eligible, |t| self.fits(t, id));
        self.play.gate = Some(gate);
        task
    }

    fn serve_by_plan(&mut self, lists: &mut [VecDeque<TaskId>]) {
        self.call_waiting(
            |run| !run.play.eligible.is_empty(),
            |run, id| {
                let list = &mut lists[id.index()];
                // Whoever waits for the first task of its list gets no other, ready or not: so a static schedule has it.
                if let Some(task) = list.pop_front_if(|task| run.play.is_eligible(*task)) {
                    run.play.take(task);
                    run.start(task, id);
                }
            },
        );
    }

    fn serve_tail(&mut self, copies: u32) {
        self.call_waiting(
            |_| true,
            |run, id| {
                while let Some(task) = run.worth_a_copy(id, copies) {
                    run.start(task, id);
                }
            },
        );
    }

    /// Of the running tasks that a worker has room for and is not at, the one that fewest are at, of these the one given out
    /// first.
    fn worth_a_copy(&self, id: WorkerId, copies: u32) -> Option<TaskId> {
        // What the server believes to be running, lost or not.
        let copies_of = |task: TaskId| self.buffers.outstanding[task.index()];
        let has_own = |task: TaskId| {
            let own = &self.buffers.workers[id.index()].running;
            (own.iter()).any(|&n| self.buffers.leases.get(n).task == task)
        };
        (self.buffers.leases.outstanding())
            // A lease of a task that another copy delivered lives until its own end; nobody needs a copy of that.
            .filter(|l| self.play.game.standing(l.task) == Standing::Leased)
            .filter(|l| copies_of(l.task) < copies)
            .filter(|l| self.fits(l.task, id) && !has_own(l.task))
            // The task last, so that leases that began together do not go by their numbers, which are used again.
            .min_by_key(|l| (copies_of(l.task), Time::new(l.start), l.task))
            .map(|l| l.task)
    }

    fn serve_earliest_finish(&mut self, costs: Option<&OptimisticCosts>) {
        let has_room =
            |run: &Self, id: WorkerId| run.buffers.workers[id.index()].is_up && !run.is_full(id);
        let all = 0..self.buffers.workers.len();
        let mut roomy = (all.map(WorkerId::new))
            .filter(|&id| has_room(self, id))
            .count();
        if roomy == 0 || self.play.eligible.is_empty() {
            return;
        }
        let mut forecast = std::mem::take(&mut self.buffers.forecast);
        let room = self.buffers.workers.iter().map(|worker| {
            let pieces = worker.running.iter().map(|&n| {
                let lease = self.buffers.leases.get(n);
                let task = lease.task.index();
                // Overdue: it may end at any moment.
                let end = lease.expected_end.max(self.now);
                (end, self.needs.work.cores(task))
            });
            (worker.is_up).then(|| std::iter::once((self.now, worker.free_cores)).chain(pieces))
        });
        forecast.reset(room);
        let mut from = 0;
        // Once nobody has room, the tasks that are left could only reserve.
        while roomy > 0 {
            let Some((task, next)) = self.play.eligible.next(from) else {
                break;
            };
            from = next;
            // What the disk does not let in reserves no worker: nobody knows when it may start.
            if (self.play.gate.as_mut()).is_some_and(|gate| !gate.may(task)) {
                continue;
            }
            let cores = self.needs.work.cores(task.index());
            let mut best: Option<(f64, WorkerId, f64, f64)> = None;
            for (id, worker) in (0..).map(WorkerId::new).zip(&self.buffers.workers) {
                if !worker.is_up {
                    continue;
                }
                let start = forecast.earliest(id, cores);
                let time =
                    self.transfer(task, id) + self.needs.estimates[task.index()] / worker.speed;
                let score = start + time + costs.map_or(0.0, |c| c.get(task, id));
                // Strictly less: of equal workers the first, on every machine.
                if best.is_none_or(|(least, ..)| score < least) {
                    best = Some((score, id, start, time));
                }
            }
            let Some((_, id, start, time)) = best else {
                break;
            };
            // Also where it cannot start yet: a task of lower rank must not take the worker that this one waits for.
            forecast.reserve(id, cores, start + time);
            // To the forecast an overdue task ends now; on the worker it still takes its cores.
            if start <= self.now && self.fits(task, id) {
                self.play.take(task);
                self.start(task, id);
                roomy -= usize::from(!has_room(self, id));
            }
        }
        self.buffers.forecast = forecast;
        self.forget_full();
    }

    /// Who waits, with the cores that are free.
    pub(crate) fn asking(&self) -> Vec<(WorkerId, usize)> {
        let waits =
            |&&(id, ticket): &&(WorkerId, u64)| self.buffers.workers[id.index()].ticket == ticket;
        let waiting = self.buffers.waiting.iter().filter(waits);
        let free = |id: WorkerId| wide(self.buffers.workers[id.index()].free_cores);
        waiting.map(|&(id, _)| (id, free(id))).collect()
    }

    /// Those who stay idle keep their places; the others will ask again.
    pub(crate) fn forget_full(&mut self) {
        self.buffers.waiting.retain(|&(id, ticket)| {
            let worker = &mut self.buffers.workers[id.index()];
            let keeps = worker.ticket == ticket && worker.free_cores >= self.needs.least_cores;
            if worker.ticket == ticket && !keeps {
                worker.ticket = 0;
            }
            keeps
        });
    }
}
