//! One run in a pool: workers come and go, tasks are leased, lost, given out again. Knows no statistics.
//!
//! At one instant, first results are delivered, then workers go, leases end and workers come; then the tasks that
//! became eligible are queued, and then workers are served.

use crate::clock::Time;
use crate::earliest_finish::Forecast;
use crate::heft::OptimisticCosts;
use crate::leases::{LeaseId, Leases};
use crate::measures::{Event, Measures, Results, Stuck, What, Why, share};
use crate::play::Play;
use crate::pool::{Attendance, Pool};
use crate::pool_engine::Back;
use crate::random::{Purpose, Stream};
use crate::served::Served;
use crate::spread::{Sampler, Spread};
use crate::worker::{Worker, WorkerId};
use crate::workload::{BytesByChild, Workload};
use cairn_dag::{TaskId, narrow};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What a pool needs to know of the tasks besides their order.
#[derive(Debug)]
pub(crate) struct Needs<'a> {
    pub(crate) work: &'a Workload,
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
    /// The engine of `cairn serve`; it is taken into the run.
    Engine(Option<Box<Served<'d>>>),
}

/// Buffers of a run, used again by the next.
#[derive(Debug, Default)]
pub(crate) struct PoolBuffers {
    events: BinaryHeap<Reverse<(Time, Kind)>>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) leases: Leases,
    /// By task: leases the server counts on.
    pub(crate) outstanding: Vec<u32>,
    /// By task: copies that workers are at.
    pub(crate) alive: Vec<u32>,
    /// By executed task: who delivered it, in which spell.
    pub(crate) made_by: Vec<(WorkerId, u32)>,
    /// By task: whether its result is wrong.
    pub(crate) wrong: Vec<bool>,
    /// Workers that want work, longest waiting first, with their tickets; stale if the ticket differs.
    pub(crate) waiting: VecDeque<(WorkerId, u64)>,
    /// Workers that asked at this instant.
    pub(crate) asking: Vec<WorkerId>,
    pub(crate) forecast: Forecast,
}

/// What happens, in the order in which events of one instant take place. A lease with its generation, a worker that is missed
/// with the spell that was its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    // First, so that a result counts that comes at the very moment its worker goes or its lease ends.
    Finish(LeaseId, u32),
    Down(WorkerId),
    Expire(LeaseId, u32),
    Miss(WorkerId, u32),
    Up(WorkerId),
    Join,
}

/// One run under way.
pub(crate) struct PoolRun<'a, L> {
    pub(crate) pool: &'a Pool,
    pub(crate) needs: &'a Needs<'a>,
    pub(crate) play: Play<'a>,
    pub(crate) buffers: &'a mut PoolBuffers,
    pub(crate) seed: u64,
    pub(crate) run: u64,
    joins: Option<(Sampler, Stream)>,
    /// The engine, where it decides.
    pub(crate) served: Option<Box<Served<'a>>>,
    /// Results that came back to it, of tasks that are not settled.
    pub(crate) pending: BTreeMap<TaskId, Vec<Back>>,
    /// When those who got nothing ask it again, if nothing else happens.
    pub(crate) asks_again: Option<f64>,
    /// When something last happened, or was given to somebody.
    pub(crate) changed_at: f64,
    /// When a task was last settled, and what workers' time had come to by then.
    pub(crate) settled_at: f64,
    pub(crate) settled: (f64, f64),
    /// Since when those who are there wait for another to be settled.
    pub(crate) waits_since: f64,
    /// What the longest task is expected to take.
    pub(crate) longest: f64,
    log: L,
    pub(crate) now: f64,
    last_ticket: u64,
    pub(crate) up_cores: f64,
    pub(crate) busy_cores: f64,
    pub(crate) up_time: f64,
    pub(crate) idle: f64,
    pub(crate) useful: f64,
    pub(crate) wasted: f64,
    pub(crate) begun: u64,
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
        // Whatever the run before left, also one that was broken off in the middle.
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
            served: match dispatch {
                Dispatch::Engine(served) => served.take(),
                _ => None,
            },
            pending: BTreeMap::new(),
            asks_again: None,
            changed_at: 0.0,
            settled_at: 0.0,
            settled: (0.0, 0.0),
            waits_since: 0.0,
            longest: needs.estimates.iter().copied().fold(0.0, f64::max),
            log,
            now: 0.0,
            last_ticket: 0,
            up_cores: 0.0,
            busy_cores: 0.0,
            up_time: 0.0,
            idle: 0.0,
            useful: 0.0,
            wasted: 0.0,
            begun: 0,
            requests: 0,
            stalls: 0,
        };
        let is_endless = match state.play(dispatch) {
            Err(Stuck(Why::OutOfWorkers | Why::InVain, _)) if state.may_have_no_end() => true,
            ended => ended.map(|()| false)?,
        };
        Ok(state.measures(is_endless))
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
        self.made_by.resize(tasks, (WorkerId::default(), 0));
        self.wrong.clear();
        self.wrong.resize(tasks, false);
        self.waiting.clear();
        self.asking.clear();
    }
}

impl<L: FnMut(Event)> PoolRun<'_, L> {
    fn play(&mut self, dispatch: &mut Dispatch<'_>) -> Result<(), Stuck> {
        for _ in 0..self.pool.first_workers() {
            self.hire(0.0);
        }
        self.schedule_join();
        self.play.welcome_fresh();
        while !self.is_over() {
            let executed = self.play.game.executed_count();
            let Some(instant) = self.next_instant() else {
                return Err(Stuck(Why::OutOfWorkers, executed));
            };
            self.pass_time(instant.seconds());
            while let Some(&Reverse((time, kind))) = self.buffers.events.peek() {
                // All of one instant before anybody is served: who asks sees all that happened by then, in whichever
                // order events were queued.
                if time > instant {
                    break;
                }
                self.buffers.events.pop();
                // Also of a stale entry: a run that only ever pops those is in vain as well.
                self.play.note_event()?;
                self.changed_at = self.now;
                match kind {
                    Kind::Finish(lease, generation) => self.finish(lease, generation),
                    Kind::Down(id) => self.go_down(id),
                    Kind::Expire(lease, generation) => self.expire(lease, generation),
                    // Who came back within the silence is in another spell, and nobody misses it.
                    Kind::Miss(id, spell) if self.buffers.workers[id.index()].spell == spell => {
                        self.miss(id);
                    }
                    Kind::Miss(..) => (),
                    Kind::Up(id) => self.come_up(id),
                    Kind::Join => {
                        self.hire(self.now);
                        self.schedule_join();
                    }
                }
            }
            // After the events of the instant: a result that comes at the moment of its deadline is in time.
            self.wake()?;
            self.play.welcome_fresh();
            self.serve(dispatch);
            self.play.go_on()?;
        }
        Ok(())
    }

    /// What the run came to.
    fn measures(&self, is_endless: bool) -> Measures {
        let executed = self.play.game.executed_count();
        let (makespan, (up_time, idle)) = match is_endless {
            // A run without an end would be as long as we cared to wait: it counts until the last task that came to
            // anything.
            true => (self.settled_at, self.settled),
            false => (self.now, (self.up_time, self.idle)),
        };
        let wrong = self.buffers.wrong.iter().filter(|&&wrong| wrong).count();
        Measures {
            makespan,
            stall: share(self.stalls as f64, self.requests as f64, 0.0),
            utilisation: share(self.useful, up_time, 1.0),
            idle,
            peak_open: self.play.peak_open(),
            peak_disk: self.play.peak_disk(),
            wasted: self.wasted,
            worker_time: up_time,
            results: Results {
                executions: share(self.begun as f64, executed as f64, self.begun.max(1) as f64),
                wrong: wrong as f64,
                undone: (self.play.dag.len() - executed) as f64,
                endless: f64::from(u8::from(is_endless)),
            },
        }
    }

    /// Whether only so many ever come: by chance, and over and over, somebody always comes again, if never to any avail.
    fn is_recorded(&self) -> bool {
        matches!(
            self.pool.attendance,
            Attendance::Trace { repeat: false, .. }
        )
    }

    /// Whether somebody will come of whom that is known.
    pub(crate) fn expects_somebody(&self) -> bool {
        let comes = |event: &Reverse<(Time, Kind)>| matches!(event.0.1, Kind::Up(_));
        self.is_recorded() && self.buffers.events.iter().any(comes)
    }

    /// The next event, if there is any.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.buffers.events.peek().map(|&Reverse((at, _))| at)
    }

    fn pass_time(&mut self, now: f64) {
        let passed = now - self.now;
        self.now = now;
        self.up_time += self.up_cores * passed;
        // While nobody is there nobody waits.
        if self.up_cores == 0.0 {
            self.waits_since += passed;
        }
        if self.play.unbegun() > 0 {
            self.idle += (self.up_cores - self.busy_cores) * passed;
        }
    }

    pub(crate) fn log(&mut self, worker: WorkerId, what: What) {
        (self.log)(Event {
            time: self.now,
            worker: narrow(worker.index()),
            what,
        });
    }

    pub(crate) fn schedule(&mut self, time: f64, kind: Kind) {
        self.buffers.events.push(Reverse((Time::new(time), kind)));
    }

    fn hire(&mut self, arrives: f64) {
        let number = self.buffers.workers.len();
        // Its own stream, by number: whoever comes and goes meanwhile changes nothing of its luck.
        let mut worker = Worker::new(self.pool, number, arrives, self.seed, self.run);
        let first = worker.first_arrival(self.pool, number);
        self.buffers.workers.push(worker);
        if let Some(first) = first {
            self.schedule(first, Kind::Up(WorkerId::new(number)));
        }
    }

    fn schedule_join(&mut self) {
        let Some((gap, stream)) = &mut self.joins else {
            return;
        };
        // Gaps are drawn one after the other from a stream that nobody else touches: newcomers come at the same times
        // under every policy.
        let next = self.now + gap.sample(stream);
        self.schedule(next, Kind::Join);
    }

    fn come_up(&mut self, id: WorkerId) {
        self.log(id, What::Up);
        self.up_cores += f64::from(self.pool.crew.cores);
        if self.is_recorded() {
            self.waits_since = self.now;
        }
        let worker = &mut self.buffers.workers[id.index()];
        worker.is_up = true;
        let next = worker.next_change(self.pool, id.index(), self.now);
        worker.down_at = next.unwrap_or(f64::INFINITY);
        if let Some(served) = &mut self.served {
            served.up(self.now, id, &self.pool.crew, worker.speed);
            self.follow();
        }
        if let Some(next) = next {
            // Comings and goings are never taken back, so they need no generation.
            self.schedule(next, Kind::Down(id));
        }
        self.ask(id);
    }

    fn go_down(&mut self, id: WorkerId) {
        let running = std::mem::take(&mut self.buffers.workers[id.index()].running);
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
        let worker = &mut self.buffers.workers[id.index()];
        // Given back for its memory: a worker goes down many times in a run.
        worker.running = running;
        worker.running.clear();
        worker.is_up = false;
        worker.down_at = f64::INFINITY;
        // Results that it made before are no longer there to be read without a transfer, and timers set for the old
        // spell are stale.
        worker.spell += 1;
        // Its place in the line is stale from now on; the entry itself stays there and is passed over.
        worker.ticket = 0;
        worker.free_cores = self.pool.crew.cores;
        let spell = worker.spell;
        if let Some(next) = worker.next_change(self.pool, id.index(), self.now) {
            self.schedule(next, Kind::Up(id));
        }
        if let Some(silence) = self.served.as_ref().and_then(|served| served.silence) {
            self.schedule(self.now + silence, Kind::Miss(id, spell));
        }
    }

    /// The worker wants (more) work.
    pub(crate) fn ask(&mut self, id: WorkerId) {
        let worker = &mut self.buffers.workers[id.index()];
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
}
