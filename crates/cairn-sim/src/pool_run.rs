//! One run in a pool: workers come and go, tasks are leased, lost, given out again. Knows no statistics.
//!
//! At one instant, first results are delivered, then workers go, leases end and workers come; then the tasks that
//! became eligible are queued, and then workers are served.

use crate::aware::Aware;
use crate::clock::Time;
use crate::earliest_finish::Forecast;
use crate::heft::OptimisticCosts;
use crate::leases::Leases;
use crate::measures::{Event, Measures, Stuck, What, share};
use crate::play::Play;
use crate::pool::{Attendance, Pool};
use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use crate::work::{BytesByChild, Work};
use crate::worker::Worker;
use cairn_dag::TaskId;
use cairn_kernel::NONE;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a pool needs to know of the tasks besides their order.
#[derive(Debug)]
pub(crate) struct Needs<'a> {
    pub(crate) work: &'a Work,
    /// By task: expected seconds at speed 1.
    pub(crate) estimates: Vec<f64>,
    pub(crate) bytes: BytesByChild,
    /// The fewest cores any task needs.
    pub(crate) least_cores: u32,
}

/// How free workers and eligible tasks are brought together.
pub(crate) enum Dispatch<'d> {
    /// Whoever asked first takes the first eligible task that fits.
    List,
    /// Each worker runs its own list in order.
    Plan(Vec<VecDeque<TaskId>>),
    /// Tasks, by rank, choose the worker with the earliest expected finish, plus optimistic costs if any.
    EarliestFinish(Option<OptimisticCosts>),
    /// The engine of `cairn serve`, which learns; it is taken into the run.
    Aware(Option<Box<Aware<'d>>>),
}

/// Buffers of a run, used again by the next.
#[derive(Debug, Default)]
pub(crate) struct PoolBuffers {
    events: BinaryHeap<Reverse<(Time, Kind, u32, u32)>>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) leases: Leases,
    /// By task: leases the server counts on.
    pub(crate) outstanding: Vec<u32>,
    /// By task: copies that workers are at.
    alive: Vec<u32>,
    /// By task: who delivered it, in which spell.
    pub(crate) made_by: Vec<(u32, u32)>,
    /// Workers that want work, longest waiting first, with their tickets; stale if the ticket differs.
    pub(crate) waiting: VecDeque<(u32, u64)>,
    /// Workers that asked at this instant.
    pub(crate) asking: Vec<u32>,
    pub(crate) forecast: Forecast,
}

/// In the order in which events of one instant take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    // First, so that a result counts that comes at the very moment its worker goes or its lease ends.
    Finish,
    Down,
    Expire,
    Up,
    Join,
}

/// One run under way.
pub(crate) struct PoolRun<'a, L> {
    pub(crate) pool: &'a Pool,
    pub(crate) needs: &'a Needs<'a>,
    pub(crate) play: Play<'a>,
    pub(crate) buffers: &'a mut PoolBuffers,
    seed: u64,
    run: u64,
    joins: Option<(Sampler, Stream)>,
    /// The engine, where it decides.
    pub(crate) aware: Option<Box<Aware<'a>>>,
    log: L,
    pub(crate) now: f64,
    last_ticket: u64,
    /// Tasks neither executed nor counted on from any worker.
    pub(crate) unassigned: usize,
    up_cores: f64,
    busy_cores: f64,
    up_time: f64,
    idle: f64,
    useful: f64,
    wasted: f64,
    pub(crate) requests: u64,
    pub(crate) stalls: u64,
}

impl Pool {
    /// Plays one run. O(log) an event, plus whatever the dispatch takes.
    pub(crate) fn run<'a>(
        &self,
        needs: &Needs<'_>,
        play: Play<'a>,
        dispatch: &mut Dispatch<'a>,
        buffers: &mut PoolBuffers,
        (seed, run): (u64, u64),
        log: impl FnMut(Event),
    ) -> Result<Measures, Stuck> {
        let tasks = play.dag.len();
        buffers.reset(tasks);
        let joins = match self.attendance {
            Attendance::Chance {
                joins: Some(mean), ..
            } => Some((
                Sampler::new(Spread::Exponential { mean }),
                Stream::new(seed, run, Purpose::Joins, 0),
            )),
            _ => None,
        };
        let mut state = PoolRun {
            pool: self,
            needs,
            play,
            buffers,
            seed,
            run,
            joins,
            aware: match dispatch {
                Dispatch::Aware(aware) => aware.take(),
                _ => None,
            },
            log,
            now: 0.0,
            last_ticket: 0,
            unassigned: tasks,
            up_cores: 0.0,
            busy_cores: 0.0,
            up_time: 0.0,
            idle: 0.0,
            useful: 0.0,
            wasted: 0.0,
            requests: 0,
            stalls: 0,
        };
        state.play(dispatch)?;
        Ok(Measures {
            makespan: state.now,
            stall: share(state.stalls as f64, state.requests as f64, 0.0),
            utilisation: share(state.useful, state.up_time, 1.0),
            idle: state.idle,
            peak_open: state.play.peak_open(),
            peak_disk: state.play.peak_disk(),
            wasted: state.wasted,
            worker_time: state.up_time,
        })
    }
}

impl PoolBuffers {
    fn reset(&mut self, tasks: usize) {
        self.events.clear();
        self.workers.clear();
        self.leases.clear();
        self.outstanding.clear();
        self.outstanding.resize(tasks, 0);
        self.alive.clear();
        self.alive.resize(tasks, 0);
        self.made_by.clear();
        self.made_by.resize(tasks, (NONE, 0));
        self.waiting.clear();
        self.asking.clear();
    }
}

impl<L: FnMut(Event)> PoolRun<'_, L> {
    fn play(&mut self, dispatch: &mut Dispatch<'_>) -> Result<(), Stuck> {
        let tasks = self.play.dag.len();
        for _ in 0..self.pool.first_workers() {
            self.hire(0.0);
        }
        self.schedule_join();
        self.play.welcome_fresh();
        while self.play.game.executed_count() < tasks {
            let executed = self.play.game.executed_count();
            let Some(&Reverse((instant, ..))) = self.buffers.events.peek() else {
                return Err(Stuck::OutOfWorkers { executed });
            };
            self.pass_time(instant.seconds());
            while let Some(&Reverse((time, kind, id, generation))) = self.buffers.events.peek() {
                if time > instant {
                    break;
                }
                self.buffers.events.pop();
                self.play.note_event()?;
                match kind {
                    Kind::Finish => self.finish(id, generation),
                    Kind::Down => self.go_down(id),
                    Kind::Expire => self.expire(id, generation),
                    Kind::Up => self.come_up(id),
                    Kind::Join => {
                        self.hire(self.now);
                        self.schedule_join();
                    }
                }
            }
            self.play.welcome_fresh();
            self.serve(dispatch);
            self.play.go_on()?;
        }
        Ok(())
    }

    fn pass_time(&mut self, now: f64) {
        let passed = now - self.now;
        self.now = now;
        self.up_time += self.up_cores * passed;
        if self.unassigned > 0 {
            self.idle += (self.up_cores - self.busy_cores) * passed;
        }
    }

    fn log(&mut self, worker: u32, what: What) {
        (self.log)(Event {
            time: self.now,
            worker,
            what,
        });
    }

    fn schedule(&mut self, time: f64, kind: Kind, id: u32, generation: u32) {
        self.buffers
            .events
            .push(Reverse((Time::new(time), kind, id, generation)));
    }

    // ---- workers ----

    fn hire(&mut self, arrives: f64) {
        let number = self.buffers.workers.len();
        let mut worker = Worker::new(self.pool, number, arrives, self.seed, self.run);
        let first = worker.first_arrival(self.pool, number);
        self.buffers.workers.push(worker);
        if let Some(first) = first {
            self.schedule(first, Kind::Up, number as u32, 0);
        }
    }

    fn schedule_join(&mut self) {
        let Some((gap, stream)) = &mut self.joins else {
            return;
        };
        let next = self.now + gap.sample(stream);
        self.schedule(next, Kind::Join, 0, 0);
    }

    fn come_up(&mut self, id: u32) {
        self.log(id, What::Up);
        self.up_cores += f64::from(self.pool.crew.cores);
        let worker = &mut self.buffers.workers[id as usize];
        worker.is_up = true;
        let next = worker.next_change(self.pool, id as usize, self.now);
        worker.down_at = next.unwrap_or(f64::INFINITY);
        if let Some(aware) = &mut self.aware {
            aware.up(self.now, id, &self.pool.crew, worker.speed);
            self.follow();
        }
        if let Some(next) = next {
            // Comings and goings are never taken back, so they need no generation.
            self.schedule(next, Kind::Down, id, 0);
        }
        self.ask(id);
    }

    fn go_down(&mut self, id: u32) {
        let running = std::mem::take(&mut self.buffers.workers[id as usize].running);
        for &number in &running {
            let lease = self.buffers.leases.get_mut(number);
            lease.alive = false;
            let (task, start, outstanding) = (lease.task, lease.start, lease.outstanding);
            self.buffers.alive[task.index()] -= 1;
            self.count_out(task);
            self.wasted += self.core_time(task, start);
            self.log(id, What::Lost(task));
            // Otherwise its end is still to come: only then does the server know.
            if !outstanding {
                self.buffers.leases.release(number);
            }
        }
        self.log(id, What::Down);
        self.up_cores -= f64::from(self.pool.crew.cores);
        let worker = &mut self.buffers.workers[id as usize];
        // Given back for its memory: a worker goes down many times in a run.
        worker.running = running;
        worker.running.clear();
        worker.is_up = false;
        worker.down_at = f64::INFINITY;
        worker.spell += 1;
        worker.ticket = 0;
        worker.free_cores = self.pool.crew.cores;
        worker.free_memory = self.pool.crew.memory;
        if let Some(next) = worker.next_change(self.pool, id as usize, self.now) {
            self.schedule(next, Kind::Up, id, 0);
        }
    }

    /// The worker wants (more) work.
    fn ask(&mut self, id: u32) {
        let worker = &mut self.buffers.workers[id as usize];
        // Who waits already keeps the place it has.
        if worker.ticket == 0 {
            self.last_ticket += 1;
            worker.ticket = self.last_ticket;
            self.buffers.waiting.push_back((id, worker.ticket));
        }
        if !worker.asks {
            (worker.asks, worker.got) = (true, false);
            self.buffers.asking.push(id);
        }
    }

    // ---- copies of tasks ----

    fn core_time(&self, task: TaskId, start: f64) -> f64 {
        (self.now - start) * f64::from(self.needs.work.cores(task.index()))
    }

    fn count_in(&mut self, task: TaskId) {
        self.busy_cores += f64::from(self.needs.work.cores(task.index()));
    }

    fn count_out(&mut self, task: TaskId) {
        self.busy_cores -= f64::from(self.needs.work.cores(task.index()));
    }

    /// Seconds until a worker has all inputs of a task.
    pub(crate) fn transfer(&self, task: TaskId, id: u32) -> f64 {
        if self.needs.bytes.is_empty() {
            return 0.0;
        }
        let worker = &self.buffers.workers[id as usize];
        let parents = self.play.dag.parents(task).iter().enumerate();
        parents
            .filter(|(_, parent)| self.buffers.made_by[parent.index()] != (id, worker.spell))
            .map(|(k, _)| worker.transfer(self.needs.bytes.get(task.index(), k)))
            .sum()
    }

    pub(crate) fn fits(&self, task: TaskId, id: u32) -> bool {
        let worker = &self.buffers.workers[id as usize];
        let work = self.needs.work;
        work.cores(task.index()) <= worker.free_cores
            && work.memory(task.index()) <= worker.free_memory
    }

    /// Gives a copy of the task to a worker with room for it. Its lease.
    pub(crate) fn start(&mut self, task: TaskId, id: u32) -> u32 {
        let transfer = self.transfer(task, id);
        let worker = &self.buffers.workers[id as usize];
        let begun = self.now + transfer;
        let end = begun + self.play.durations[task.index()] / worker.speed;
        let expected = begun + self.needs.estimates[task.index()] / worker.speed;
        let down_at = worker.down_at;
        let (number, generation) = self.buffers.leases.grant(task, id, self.now, expected);
        // Who goes down first never delivers, and nobody is told: only the end of the lease tells.
        if end <= down_at {
            self.schedule(end, Kind::Finish, number, generation);
        }
        if let Some(lease) = self.pool.crew.lease {
            let estimate = self.needs.estimates[task.index()];
            let expires = self.now + (lease.factor * estimate).max(lease.at_least);
            // Where the result is sure to come in time, the end of the lease would change nothing: one event less a task.
            if end > down_at || end > expires {
                self.schedule(expires, Kind::Expire, number, generation);
            }
        }
        if self.buffers.outstanding[task.index()] == 0 {
            self.unassigned -= 1;
        }
        self.buffers.outstanding[task.index()] += 1;
        self.buffers.alive[task.index()] += 1;
        self.count_in(task);
        let worker = &mut self.buffers.workers[id as usize];
        worker.got = true;
        worker.running.push(number);
        self.tally(id);
        self.log(id, What::Started(task));
        number
    }

    /// Recounts a worker's free cores and memory from what it runs: sums and differences of floats would drift.
    fn tally(&mut self, id: u32) {
        let worker = &self.buffers.workers[id as usize];
        let (mut cores, mut memory) = (0, 0.0);
        for &number in &worker.running {
            let task = self.buffers.leases.get(number).task.index();
            cores += self.needs.work.cores(task);
            memory += self.needs.work.memory(task);
        }
        let worker = &mut self.buffers.workers[id as usize];
        worker.free_cores = self.pool.crew.cores - cores;
        worker.free_memory = self.pool.crew.memory - memory;
    }

    /// A worker lays a copy aside, delivered or not, and asks for more.
    fn lay_aside(&mut self, number: u32) {
        let (task, id) = (
            self.buffers.leases.get(number).task,
            self.buffers.leases.get(number).worker,
        );
        self.buffers.alive[task.index()] -= 1;
        self.count_out(task);
        self.buffers.leases.release(number);
        self.buffers.workers[id as usize]
            .running
            .retain(|&r| r != number);
        self.tally(id);
        self.ask(id);
    }

    fn finish(&mut self, number: u32, generation: u32) {
        let Some(&lease) = self.buffers.leases.find(number, generation) else {
            return;
        };
        let task = lease.task;
        self.useful += self.core_time(task, lease.start);
        self.log(lease.worker, What::Finished(task));
        if let Some(aware) = &mut self.aware {
            aware.finish(self.now, task, lease.attempt);
        }
        self.lay_aside(number);
        let spell = self.buffers.workers[lease.worker as usize].spell;
        self.buffers.made_by[task.index()] = (lease.worker, spell);
        if self.play.eligible.contains(task) {
            // Late: it was about to be given out again.
            self.play.eligible.remove(task);
            self.unassigned -= 1;
        }
        match self.aware {
            Some(_) => {
                self.follow();
            }
            // That looks through all leases, and most tasks have one copy.
            None if self.buffers.alive[task.index()] > 0 => self.stop_others(task),
            None => (),
        }
        self.play.execute(task);
    }

    fn stop_others(&mut self, task: TaskId) {
        let others: Vec<u32> = (self.buffers.leases.alive())
            .filter(|(_, l)| l.task == task)
            .map(|(number, _)| number)
            .collect();
        for number in others {
            self.stop(number);
        }
    }

    /// A copy is stopped, for another is back or will be sooner.
    fn stop(&mut self, number: u32) {
        let lease = *self.buffers.leases.get(number);
        self.wasted += self.core_time(lease.task, lease.start);
        self.log(lease.worker, What::Stopped(lease.task));
        self.lay_aside(number);
    }

    /// The engine hears that a worker is gone, if it is.
    fn miss(&mut self, id: u32) {
        let is_down = !self.buffers.workers[id as usize].is_up;
        if let Some(aware) = self.aware.as_mut().filter(|_| is_down) {
            aware.lose(self.now, id);
            self.follow();
        }
    }

    /// What follows from what the engine was told: leases that it no longer counts on, and copies to be stopped. Whether some
    /// worker has room for that.
    pub(crate) fn follow(&mut self) -> bool {
        let Some(aware) = &mut self.aware else {
            return false;
        };
        let (released, kills) = aware.effects();
        let mut has_stopped = false;
        for (task, attempt) in released {
            if let Some(number) = self.buffers.leases.of_attempt(task, attempt) {
                self.count_on_no_more(number);
            }
        }
        for (task, attempt) in kills {
            let found = self.buffers.leases.of_attempt(task, attempt);
            if let Some(number) = found.filter(|&n| self.buffers.leases.get(n).alive) {
                self.stop(number);
                has_stopped = true;
            }
        }
        has_stopped
    }

    /// The server no longer counts on a lease. One whose worker is gone is over with that.
    fn count_on_no_more(&mut self, number: u32) {
        let lease = self.buffers.leases.get_mut(number);
        lease.outstanding = false;
        let (task, worker, alive) = (lease.task, lease.worker, lease.alive);
        if !alive {
            self.buffers.leases.release(number);
            self.log(worker, What::Expired(task));
        }
        self.buffers.outstanding[task.index()] -= 1;
        if self.buffers.outstanding[task.index()] == 0 {
            self.unassigned += 1;
            if let Some(gate) = &mut self.play.gate {
                gate.release(task);
            }
            self.play.eligible.insert(task);
        }
    }

    fn expire(&mut self, number: u32, generation: u32) {
        let Some(&lease) = self.buffers.leases.find(number, generation) else {
            return;
        };
        if self.aware.is_some() {
            // A trusted worker has as long as it takes: late tasks get copies. One that is gone is missed by now.
            if !lease.alive {
                self.miss(lease.worker);
                if self.buffers.leases.find(number, generation).is_some() {
                    self.buffers.leases.release(number);
                }
            }
            return;
        }
        if self.buffers.made_by[lease.task.index()].0 == NONE {
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
