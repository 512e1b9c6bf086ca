//! The engine of `cairn serve` as the twin of the fast list simulation: driven by virtual workers in virtual time it starts,
//! counts, stops and gives up the same tasks at the same moments on the same workers.
//!
//! What leases and copies of the list simulation are, in words of the engine:
//!
//! - A worker that goes is missed by nobody until the lease of a task ends that it had. One that comes back is another worker.
//! - The end of a lease is a worker that, asked what it is at, names all but that attempt: it is released, and the task eligible
//!   with its old rank, unless others are at it.
//! - Who is at it still goes on, and its result counts if it is the first. Whoever else is at the task is told to stop.
//! - A copy in the tail is one that the driver finds worth it ([`Engine::copy`]); what becomes of copies is the engine's rule.

use crate::measures::What;
use crate::pool::{Breaks, Crew, Lease, Pool, PoolSettings, Tail};
use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use crate::study::replay;
use crate::worker::Worker;
use crate::{Knows, Policy, Workload, World};
use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Copies, Dispatch, Engine, Expected, Frozen, Granted, Memory, Moment, Offer, Order, Outbox,
    Outcome, Placing, Position, Rules, Span, Task, Token, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::Standing;

/// What happened when to which worker.
type Told = (f64, u32, What);

/// A task that a worker was given.
struct Attempt {
    /// By its number in the pool, and as whom the engine knew it then.
    worker: usize,
    known: WorkerId,
    task: Task,
    token: Token,
    /// When it would be done, if its worker stays so long: also of one that was stopped, since workers are asked again then, and
    /// what is late by then may get a copy.
    end: Option<f64>,
    /// When its time is up.
    deadline: Option<f64>,
    /// Whether the worker is at it, and whether the server counts on it.
    is_on: bool,
    is_counted: bool,
}

/// A pool whose workers ask the engine.
struct Driven<'a> {
    dag: &'a Dag,
    pool: &'a Pool,
    seconds: &'a [f64],
    seed: u64,
    engine: Engine<Frozen<'a>>,
    out: Outbox,
    now: f64,
    workers: Vec<(Worker, Option<WorkerId>)>,
    /// When who comes or goes next.
    changes: Vec<(f64, usize)>,
    joins: Option<(Sampler, Stream)>,
    next_join: Option<f64>,
    attempts: Vec<Attempt>,
    /// Who asked first is served first.
    waiting: Vec<usize>,
    told: Vec<Told>,
    late: usize,
}

impl<'a> Driven<'a> {
    fn new(
        dag: &'a Dag,
        pool: &'a Pool,
        (seconds, order): (&'a [f64], &[TaskId]),
        placing: Placing,
        seed: u64,
    ) -> Driven<'a> {
        let rules = Rules {
            // Nobody is lost by silence, however long a task takes, and no task is given up.
            silence: Span::EVER,
            losses: Rules::ANY_LOSSES,
            copies: Copies::All,
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(dag), rules, Order::of(order));
        engine.watch(Memory::default(), placing, |memory| {
            let expected = Expected {
                seconds: seconds.iter().map(|&s| Some(s)).collect(),
                kind: Vec::new(),
                kinds: vec!["0".to_owned()],
            };
            Dispatch::new(dag, &expected, memory, order.iter().copied())
        });
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        let joins = match pool.attendance {
            crate::pool::Attendance::Chance {
                joins: Some(mean), ..
            } => Some((
                Sampler::new(Spread::Exponential { mean }),
                Stream::new(seed, 0, Purpose::Joins, 0),
            )),
            _ => None,
        };
        let mut driven = Driven {
            dag,
            pool,
            seconds,
            seed,
            engine,
            out,
            now: 0.0,
            workers: Vec::new(),
            changes: Vec::new(),
            joins,
            next_join: None,
            attempts: Vec::new(),
            waiting: Vec::new(),
            told: Vec::new(),
            late: 0,
        };
        (0..pool.first_workers()).for_each(|_| driven.hire());
        driven.draw_join();
        driven
    }

    fn moment(&self) -> Moment {
        Moment((self.now * 1e6_f64).round() as u64)
    }

    fn hire(&mut self) {
        let number = self.workers.len();
        let mut worker = Worker::new(self.pool, number, self.now, self.seed, 0);
        let first = worker.first_arrival(self.pool, number);
        self.changes.extend(first.map(|first| (first, number)));
        self.workers.push((worker, None));
    }

    fn draw_join(&mut self) {
        if let Some((gap, stream)) = &mut self.joins {
            self.next_join = Some(self.now + gap.sample(stream));
        }
    }

    fn ask(&mut self, worker: usize) {
        if !self.waiting.contains(&worker) {
            self.waiting.push(worker);
        }
    }

    fn free(&self, worker: usize) -> usize {
        let own = self
            .attempts
            .iter()
            .filter(|a| a.is_on && a.worker == worker);
        self.pool.crew.cores as usize - own.count()
    }

    fn play(&mut self) {
        while !self.engine.is_over() {
            let ends = self.attempts.iter().filter_map(|a| a.end);
            let deadlines = self.attempts.iter().filter_map(|a| a.deadline);
            let changes = self.changes.iter().map(|c| c.0);
            let all = ends.chain(deadlines).chain(changes).chain(self.next_join);
            let next = all.fold(f64::INFINITY, f64::min);
            assert!(next < f64::INFINITY, "a run ends");
            self.now = next;
            let count = self.attempts.len();
            for a in 0..count {
                if self.attempts[a].end.take_if(|end| *end <= next).is_some() {
                    self.finish(a);
                }
            }
            self.change(true);
            for a in 0..count {
                let deadline = &mut self.attempts[a].deadline;
                if deadline.take_if(|deadline| *deadline <= next).is_some() {
                    self.expire(a);
                }
            }
            self.change(false);
            if self.next_join.is_some_and(|at| at <= next) {
                self.hire();
                self.draw_join();
                self.change(false);
            }
            self.serve();
        }
    }

    /// Those who go, or those who come.
    fn change(&mut self, goes: bool) {
        let is_due = |c: &(f64, usize)| c.0 <= self.now && self.workers[c.1].0.is_up == goes;
        let mut due: Vec<usize> =
            (self.changes.iter().filter(|c| is_due(c)).map(|c| c.1)).collect();
        due.sort_unstable();
        for number in due {
            self.changes.retain(|c| c.1 != number);
            let (worker, known) = &mut self.workers[number];
            worker.is_up = !goes;
            let next = worker.next_change(self.pool, number, self.now);
            worker.down_at = match goes {
                true => f64::INFINITY,
                false => next.unwrap_or(f64::INFINITY),
            };
            self.changes.extend(next.map(|next| (next, number)));
            if goes {
                worker.spell += 1;
                *known = None;
                self.waiting.retain(|&w| w != number);
                let own = self.attempts.iter_mut().filter(|a| a.worker == number);
                own.for_each(|a| a.is_on = false);
                continue;
            }
            let name = format!("{number} for the {}. time", worker.spell);
            let offer = Offer::cpus(self.pool.crew.cores);
            let at = Moment((self.now * 1e6_f64).round() as u64);
            *known = Some(self.engine.join(at, &name, offer, &mut self.out));
            self.ask(number);
        }
    }

    fn finish(&mut self, a: usize) {
        let Attempt {
            worker,
            task,
            token,
            is_on,
            is_counted,
            ..
        } = self.attempts[a];
        if !is_on {
            return;
        }
        self.attempts[a].is_on = false;
        self.ask(worker);
        let (at, out) = (self.moment(), &mut self.out);
        let receipt = (self.engine).give_back(at, task, token, Outcome::Executed, out);
        assert!(receipt.counts(), "the first counts: {receipt:?}");
        self.late += usize::from(!is_counted);
        self.tell(a, What::Finished);
        for other in self.attempts.iter_mut().filter(|o| o.task == task) {
            other.is_counted = false;
        }
        // Who is late is told as others are, by the order in which they began.
        let late = self.attempts.iter().filter(|a| a.is_on && !a.is_counted);
        let late: Vec<WorkerId> = late.map(|a| a.known).collect();
        let mut told = self.killed();
        for known in late {
            let (at, named) = (self.moment(), self.named(known));
            let stale = (self.engine).heartbeat(at, known, &named, &mut self.out);
            told.extend(stale.expect("it is here"));
        }
        told.sort_unstable_by_key(|&(_, token)| token);
        told.dedup();
        self.stop(&told);
    }

    fn tell(&mut self, a: usize, what: impl Fn(TaskId) -> What) {
        let Attempt { worker, task, .. } = self.attempts[a];
        let task = task.frozen().expect("a task of the dag");
        self.told.push((self.now, worker as u32, what(task)));
    }

    /// What a worker says that it is at.
    fn named(&self, known: WorkerId) -> Vec<(Task, Token)> {
        let own = self.attempts.iter().filter(|a| a.known == known);
        let named = own.filter(|a| a.is_on || a.is_counted);
        named.map(|a| (a.task, a.token)).collect()
    }

    fn killed(&mut self) -> Vec<(Task, Token)> {
        let kills = self.out.kills.drain(..);
        kills.map(|(_, task, token)| (task, token)).collect()
    }

    /// Whoever is told to stop does so and asks again. Whether anybody was.
    fn stop(&mut self, told: &[(Task, Token)]) -> bool {
        let mut has_stopped = false;
        for &held in told {
            let is_it = |a: &Attempt| a.is_on && (a.task, a.token) == held;
            if let Some(a) = self.attempts.iter().position(is_it) {
                self.attempts[a].is_on = false;
                self.attempts[a].is_counted = false;
                self.tell(a, What::Stopped);
                self.ask(self.attempts[a].worker);
                has_stopped = true;
            }
        }
        has_stopped
    }

    /// The time of an attempt is up: its worker names it no more.
    fn expire(&mut self, a: usize) {
        let Attempt {
            known,
            task,
            token,
            is_counted,
            ..
        } = self.attempts[a];
        if !is_counted {
            return;
        }
        self.tell(a, What::Expired);
        self.attempts[a].is_counted = false;
        let mut named = self.named(known);
        named.retain(|&held| held != (task, token));
        for _ in 0..2 {
            let at = self.moment();
            let heard = self.engine.heartbeat(at, known, &named, &mut self.out);
            assert!(heard.is_ok());
        }
        assert!(self.engine.attempts(task).all(|(_, t, _)| t != token));
    }

    fn begin(&mut self, worker: usize, granted: Granted) {
        let task = granted.task.frozen().expect("a task of the dag");
        let (who, known) = &self.workers[worker];
        let seconds = self.seconds[task.index()];
        let end = self.now + seconds / who.speed;
        let deadline = |lease: Lease| self.now + (lease.factor * seconds).max(lease.at_least);
        self.attempts.push(Attempt {
            worker,
            known: known.expect("it asked"),
            task: granted.task,
            token: granted.token,
            end: Some(end).filter(|&end| end <= who.works_until()),
            deadline: self.pool.crew.lease.map(deadline),
            is_on: true,
            is_counted: true,
        });
        self.tell(self.attempts.len() - 1, What::Started);
    }

    fn serve(&mut self) {
        loop {
            let asking = self.waiting.clone();
            let known = |w: usize| self.workers[w].1.expect("who asks is here");
            let asked: Vec<(WorkerId, usize)> =
                asking.iter().map(|&w| (known(w), self.free(w))).collect();
            let at = self.moment();
            let answers = self.engine.ask_together(at, &asked, &mut self.out);
            for (&worker, answer) in asking.iter().zip(answers) {
                for granted in answer.into_iter().flatten() {
                    self.begin(worker, granted);
                }
            }
            self.leave_queue();
            let killed = self.killed();
            if !self.stop(&killed) {
                break;
            }
        }
        let left = self.dag.len() as u64 - self.count(Standing::Executed);
        let tail = (self.pool.crew.tail).filter(|tail| left <= u64::from(tail.tasks));
        if let Some(tail) = tail.filter(|_| self.count(Standing::Eligible) == 0) {
            for worker in self.waiting.clone() {
                while self.free(worker) > 0
                    && let Some(task) = self.worth_a_copy(worker, tail.copies as usize)
                {
                    let (at, known) = (self.moment(), self.workers[worker].1.unwrap());
                    let copy = self.engine.copy(at, known, task, &mut self.out);
                    self.begin(worker, copy.expect("it may have one"));
                }
            }
            self.leave_queue();
        }
    }

    fn leave_queue(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&w| self.free(w) > 0);
        self.waiting = waiting;
    }

    fn count(&self, standing: Standing) -> u64 {
        self.engine.position().count(standing).expect("all count")
    }

    /// Of what others have, that of which there are fewest, of these the one that was given out first.
    fn worth_a_copy(&self, worker: usize, copies: usize) -> Option<Task> {
        let own = |task: Task| {
            let mut own = self.attempts.iter().filter(|a| a.worker == worker);
            own.any(|a| a.is_on && a.task == task)
        };
        let held = self.dag.tasks().map(Task::from);
        let held = held.filter_map(|task| {
            let count = self.engine.attempts(task).count();
            let first = self
                .engine
                .attempts(task)
                .map(|(_, _, since)| since)
                .min()?;
            (count < copies && !own(task)).then_some((count, first, task))
        });
        held.min().map(|(_, _, task)| task)
    }
}

/// What tells runs apart that are worth comparing.
#[derive(Default)]
struct Seen {
    expired: usize,
    late: usize,
    stopped: usize,
    copies: usize,
}

fn compare(seed: u64, placing: Placing, settings: PoolSettings, seen: &mut Seen) {
    let mut random = Random::new(seed);
    let dag = random_dag(1 + random.below(40), seed as usize % 5, seed);
    let mut order: Vec<TaskId> = dag.tasks().collect();
    random.shuffle(&mut order);
    let seconds: Vec<f64> = (dag.tasks())
        .map(|_| 100.0 + random.below(1_000_000) as f64 / 7.0)
        .collect();
    let known: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
    let work = Workload::known(&known).unwrap();
    let pool = Pool::new(settings.clone()).unwrap();
    let world = World::pool(settings).unwrap();
    let policy = match placing {
        Placing::BySpeed => Policy::aware(
            "aware",
            &order,
            Knows {
                handshake: false,
                ..Knows::default()
            },
        ),
        _ => Policy::order("order", &order),
    };
    let played = replay(&dag, &work, &world, &policy, seed, 0).unwrap();
    let mut listed: Vec<Told> = (played.events.iter())
        .map(|event| (event.time, event.worker, event.what))
        .collect();
    listed.retain(|(_, _, what)| !matches!(what, What::Up | What::Down | What::Lost(_)));
    let mut driven = Driven::new(&dag, &pool, (&seconds, &order), placing, seed);
    driven.play();
    let mut asked = std::mem::take(&mut driven.told);
    // What happens at one moment happens in any order.
    for all in [&mut asked, &mut listed] {
        all.sort_by(|a, b| (a.0.total_cmp(&b.0)).then_with(|| word(a).cmp(&word(b))));
    }
    assert_eq!(asked, listed, "seed {seed}");
    let count = |is: fn(&What) -> bool| listed.iter().filter(|told| is(&told.2)).count();
    let started = count(|what| matches!(what, What::Started(_)));
    seen.expired += count(|what| matches!(what, What::Expired(_)));
    seen.stopped += count(|what| matches!(what, What::Stopped(_)));
    seen.copies += started - dag.len();
    seen.late += driven.late;
}

fn word(told: &Told) -> (u32, String) {
    (told.1, format!("{:?}", told.2))
}

fn crew(sigma: f64) -> Crew {
    Crew {
        speed: Spread::LogNormal { median: 1.0, sigma },
        ..Crew::default()
    }
}

fn fixed(seed: u64) -> PoolSettings {
    PoolSettings {
        workers: 1 + Random::new(seed).below(6) as u32,
        crew: crew(0.7),
        ..PoolSettings::default()
    }
}

/// Workers that come and go or do not, with leases that end too early or not, and a tail or none.
fn volatile(seed: u64) -> PoolSettings {
    let mut random = Random::new(seed ^ 0x5eed);
    let seconds = |from: f64, random: &mut Random| from + random.below(400_000) as f64 / 3.0;
    let breaks = (random.below(3) > 0).then(|| Breaks {
        up: Spread::Exponential {
            mean: seconds(150_000.0, &mut random),
        },
        down: Spread::Exponential {
            mean: seconds(5_000.0, &mut random),
        },
    });
    let joins = (random.below(3) == 0).then(|| seconds(50_000.0, &mut random));
    let stay = joins.filter(|_| random.below(2) == 0);
    let lease = Lease {
        factor: 0.5 + random.below(6) as f64 / 2.0,
        at_least: seconds(500.0, &mut random),
    };
    let goes = breaks.is_some() || stay.is_some();
    PoolSettings {
        workers: 1 + random.below(6) as u32,
        joins,
        stay: stay.map(|_| Spread::Exponential {
            mean: seconds(300_000.0, &mut random),
        }),
        breaks,
        crew: Crew {
            cores: 1 + random.below(3) as u32,
            lease: (goes || random.below(4) > 0).then_some(lease),
            tail: (random.below(2) == 0).then(|| Tail {
                tasks: random.below(40) as u32,
                copies: 2 + random.below(2) as u32,
            }),
            ..crew(0.7)
        },
    }
}

#[test]
fn the_list_simulation_is_the_engine_in_virtual_time() {
    let mut seen = Seen::default();
    (0..1500).for_each(|seed| compare(seed, Placing::ByOrder, fixed(seed), &mut seen));
    assert_eq!((seen.expired, seen.copies), (0, 0));
}

#[test]
fn leases_and_copies_of_the_list_simulation_are_the_engine_s() {
    let mut seen = Seen::default();
    (0..4000).for_each(|seed| compare(seed, Placing::ByOrder, volatile(seed), &mut seen));
    assert!(seen.expired > 10_000, "{} leases ended", seen.expired);
    assert!(seen.late > 1_000, "{} late results counted", seen.late);
    assert!(seen.stopped > 1_000, "{} were stopped", seen.stopped);
    assert!(seen.copies > 5_000, "{} were begun again", seen.copies);
}

#[test]
fn the_simulated_rule_is_the_engine_s() {
    let mut seen = Seen::default();
    (0..1500).for_each(|seed| compare(seed, Placing::BySpeed, fixed(seed), &mut seen));
    assert!(seen.copies > 500, "{} copies", seen.copies);
}
