//! The run that volunteers must not spoil: of twenty, six lie (two of them tell the same lie), four vanish, two are slow. With the
//! devices on every result is right, in every run; with them off the same runs end wrong, or never.
//!
//! `cargo test -p cairn-engine --test liars -- --nocapture` prints what that costs; `CAIRN_SEEDS=10000` plays more runs.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Cause, ClientId, Digest, Distrust, Engine, Event, Frozen, Moment, Offer, Order, Outbox,
    Outcome, Returned, Rules, Span, Task, Token, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

const SECOND: u64 = 1_000_000;
const VOLUNTEERS: u32 = 20;
/// A run that takes longer has not ended.
const END: Moment = Moment(12 * 3600 * SECOND);

/// What a volunteer is like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Nature {
    Honest,
    /// Four times as slow.
    Slow,
    /// Lies in its own way, most of the time.
    Liar,
    /// Tells the same lie as the other one.
    Colluder,
    /// Is not heard of any more after a while.
    Silent,
    /// Says that it lives, and returns nothing any more after a while.
    Stuck,
}

impl Nature {
    /// Of every ten, three lie, two vanish and one is slow.
    fn of(volunteer: u32) -> Nature {
        match volunteer {
            0 | 1 => Nature::Colluder,
            2..6 => Nature::Liar,
            6 | 7 => Nature::Silent,
            8 | 9 => Nature::Stuck,
            10 | 11 => Nature::Slow,
            _ => Nature::Honest,
        }
    }
}

/// What a task makes of what its parents made: a wrong parent makes wrong children.
fn right(task: Task, parents: impl Iterator<Item = Digest>) -> Digest {
    let mix =
        |sum: u64, d: Digest| sum.wrapping_mul(0x100_0000_01b3) ^ d.0[0] ^ d.0[1].rotate_left(7);
    Digest([parents.fold(task.0 + 1, mix), task.0])
}

/// How much of it is on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Devices {
    Off,
    /// A quorum, and whether trust is earned.
    On(u32, bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Beat(u32),
    Look(u32),
    Ends(u32, Task, Token),
    Wake,
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
struct Outcomes {
    tasks: usize,
    /// Results that are not what they should be; tasks that were given up or never done.
    wrong: usize,
    missing: usize,
    /// Attempts, and when the run ended; `None`: it did not.
    attempts: usize,
    ended: Option<Moment>,
}

struct World<'d> {
    dag: &'d Dag,
    engine: Engine<Frozen<'d>>,
    devices: Devices,
    random: Random,
    now: Moment,
    agenda: BinaryHeap<Reverse<(Moment, u64, Happening)>>,
    next: u64,
    workers: Vec<WorkerId>,
    /// When those who vanish do.
    gone: Vec<Moment>,
    made: BTreeMap<Task, Digest>,
    pending: BTreeMap<(Task, Token), Digest>,
    seconds: Vec<u64>,
    attempts: usize,
}

impl<'d> World<'d> {
    fn new(dag: &'d Dag, devices: Devices, seed: u64) -> World<'d> {
        let mut random = Random::new(seed);
        let order: Vec<TaskId> = dag.topological_order().to_vec();
        let mut rules = Rules {
            retries: 100,
            losses: 100,
            ..Rules::default()
        };
        if let Devices::On(quorum, earns) = devices {
            rules.distrust = Distrust::of_quorum(quorum);
            rules.distrust.seed = seed ^ 0x5eed;
            if !earns {
                rules.distrust.earned = None;
            }
        }
        let mut engine = Engine::new(Frozen::new(dag), rules, Order::of(&order));
        let (mut out, now) = (Outbox::default(), Moment(0));
        engine.open(now, &mut out);
        let join = |v: u32| {
            let offer = Offer {
                client: (devices != Devices::Off).then_some(ClientId(v)),
                ..Offer::cpus(1)
            };
            engine.join(now, &format!("v{v}"), offer, &mut out)
        };
        let workers = (0..VOLUNTEERS).map(join).collect();
        let gone = (0..VOLUNTEERS)
            .map(|v| match Nature::of(v) {
                Nature::Silent | Nature::Stuck => Moment((30 + random.below(600) as u64) * SECOND),
                _ => END,
            })
            .collect();
        let seconds = (0..dag.len())
            .map(|_| 20 + random.below(100) as u64)
            .collect();
        let mut world = World {
            dag,
            engine,
            devices,
            random,
            now,
            agenda: BinaryHeap::new(),
            next: 0,
            workers,
            gone,
            made: BTreeMap::new(),
            pending: BTreeMap::new(),
            seconds,
            attempts: 0,
        };
        for v in 0..VOLUNTEERS {
            let late = world.random.below(5_000_000) as u64;
            world.after(late, Happening::Look(v));
            world.after(5 * SECOND, Happening::Beat(v));
        }
        world.after(SECOND, Happening::Wake);
        world
    }

    fn after(&mut self, micros: u64, what: Happening) {
        self.next += 1;
        let at = self.now + Span(micros);
        self.agenda.push(Reverse((at, self.next, what)));
    }

    fn run(mut self) -> Outcomes {
        let mut ended = None;
        while let Some(Reverse((at, _, what))) = self.agenda.pop() {
            if at > END {
                break;
            }
            self.now = at;
            self.happen(what);
            if self.engine.is_over() {
                ended = Some(at);
                break;
            }
        }
        let mut truth: BTreeMap<Task, Digest> = BTreeMap::new();
        for &task in self.dag.topological_order() {
            let parents = self.dag.parents(task).iter().map(|&p| truth[&p.into()]);
            let made = right(task.into(), parents);
            truth.insert(task.into(), made);
        }
        let differs = |(task, made): (&Task, &Digest)| truth[task] != *made;
        Outcomes {
            tasks: self.dag.len(),
            wrong: self.made.iter().filter(|&made| differs(made)).count(),
            missing: self.dag.len() - self.made.len(),
            attempts: self.attempts,
            ended,
        }
    }

    fn has_gone(&self, v: u32) -> bool {
        self.now >= self.gone[v as usize]
    }

    fn happen(&mut self, what: Happening) {
        let now = self.now;
        match what {
            Happening::Wake => {
                self.tell(|engine, out| engine.wake(now, out));
                self.after(SECOND, Happening::Wake);
            }
            Happening::Beat(v) => {
                if Nature::of(v) == Nature::Silent && self.has_gone(v) {
                    return;
                }
                let worker = self.workers[v as usize];
                let holding = self.engine.workers()[worker.0 as usize].holds.clone();
                let heard = self.tell(|engine, out| engine.heartbeat(now, worker, &holding, out));
                assert!(heard.is_ok(), "whoever is heard of is here");
                self.after(5 * SECOND, Happening::Beat(v));
            }
            Happening::Look(v) => self.look(v),
            Happening::Ends(v, task, token) => self.end(v, task, token),
        }
    }

    fn tell<T>(&mut self, what: impl FnOnce(&mut Engine<Frozen<'d>>, &mut Outbox) -> T) -> T {
        let mut out = Outbox::default();
        let answer = what(&mut self.engine, &mut out);
        for entry in out.entries {
            if let Event::Executed { task, token, .. } = entry.event {
                // Whatever took its place is what children read.
                let made = self.pending[&(task, token)];
                assert!(self.made.insert(task, made).is_none(), "executed once");
            }
        }
        answer
    }

    fn look(&mut self, v: u32) {
        let (now, worker) = (self.now, self.workers[v as usize]);
        let gone = self.has_gone(v);
        if gone && Nature::of(v) == Nature::Silent {
            return;
        }
        let is_idle = self.engine.workers()[worker.0 as usize].holds.is_empty();
        if is_idle {
            let given = self.tell(|engine, out| engine.ask(now, worker, 1, out));
            for granted in given.into_iter().flatten() {
                self.attempts += 1;
                let (task, token) = (granted.task, granted.token);
                let seconds = self.seconds[task.0 as usize];
                let takes = match Nature::of(v) {
                    Nature::Slow => 4 * seconds,
                    // Who lies has no work with it.
                    Nature::Liar | Nature::Colluder => seconds / 4,
                    Nature::Stuck if gone => continue,
                    _ => seconds,
                };
                self.after(takes * SECOND, Happening::Ends(v, task, token));
            }
        }
        self.after(SECOND, Happening::Look(v));
    }

    fn end(&mut self, v: u32, task: Task, token: Token) {
        let (now, worker) = (self.now, self.workers[v as usize]);
        let nature = Nature::of(v);
        if matches!(nature, Nature::Silent | Nature::Stuck) && self.has_gone(v) {
            return;
        }
        let id = task.frozen().unwrap();
        let parents = self.dag.parents(id).iter().map(|&p| self.made[&p.into()]);
        let honest = right(task, parents);
        let chance = self.random.below(10);
        let (digest, outcome) = match nature {
            Nature::Colluder => (Digest([666, task.0]), Outcome::Executed),
            Nature::Liar if chance == 0 => {
                let (exit, cause) = (1, Cause::Exit);
                (honest, Outcome::Failed { exit, cause })
            }
            Nature::Liar if chance < 8 => (Digest([v.into(), task.0 + 7]), Outcome::Executed),
            _ => (honest, Outcome::Executed),
        };
        self.pending.insert((task, token), digest);
        let back = Returned {
            task,
            token,
            outcome,
            digest: Some(digest),
        };
        match self.devices {
            Devices::Off => {
                self.tell(|engine, out| engine.give_back(now, task, token, outcome, out))
            }
            Devices::On(..) => self.tell(|engine, out| engine.take_back(now, worker, &back, out)),
        };
    }
}

fn dag(seed: u64) -> Dag {
    let mut random = Random::new(seed);
    random_dag(40 + random.below(60), 1 + random.below(3), seed)
}

#[derive(Debug, Default)]
struct Sums {
    runs: usize,
    tasks: usize,
    attempts: usize,
    wrong: usize,
    missing: usize,
    /// Runs with something wrong, runs that did not end, and those of which either is true.
    spoilt: usize,
    endless: usize,
    bad: usize,
    seconds: f64,
}

#[allow(clippy::print_stdout, reason = "what the devices cost is to be seen")]
fn play(devices: Devices, seeds: u64) -> Sums {
    let mut sums = Sums::default();
    for seed in 0..seeds {
        let dag = dag(seed);
        let came = World::new(&dag, devices, seed).run();
        sums.runs += 1;
        sums.tasks += came.tasks;
        sums.attempts += came.attempts;
        sums.wrong += came.wrong;
        sums.missing += came.missing;
        sums.spoilt += usize::from(came.wrong > 0);
        sums.endless += usize::from(came.ended.is_none());
        sums.bad += usize::from(came.wrong > 0 || came.ended.is_none());
        sums.seconds += came.ended.map_or(0.0, |at| at.0 as f64 / 1e6);
    }
    println!(
        "{devices:?}: {} runs of {} tasks; {} results wrong in {} runs, {} tasks undone, {} runs without end; {:.2} \
         executions a task; {:.0} s a run that ended",
        sums.runs,
        sums.tasks,
        sums.wrong,
        sums.spoilt,
        sums.missing,
        sums.endless,
        sums.attempts as f64 / (sums.tasks - sums.missing).max(1) as f64,
        sums.seconds / (sums.runs - sums.endless).max(1) as f64,
    );
    sums
}

#[test]
fn liars_vanishers_and_slow_ones_spoil_nothing_and_without_the_devices_everything() {
    let seeds = std::env::var("CAIRN_SEEDS").ok();
    let seeds = seeds.and_then(|n| n.parse().ok()).unwrap_or(100);
    // Three equal results count: two who tell one lie are too few, whatever they do.
    let sure = play(Devices::On(4, false), seeds);
    assert_eq!(
        (sure.wrong, sure.missing, sure.endless),
        (0, 0, 0),
        "{sure:?}"
    );
    // With earned trust it is as good as sure, since these liars lie from the beginning, and costs less.
    let earned = play(Devices::On(4, true), seeds);
    assert_eq!(
        (earned.wrong, earned.missing, earned.endless),
        (0, 0, 0),
        "{earned:?}"
    );
    assert!(earned.attempts * 10 < sure.attempts * 9);
    // Two equal results: the two who collude meet now and then, and then their lie counts. Everything else is right.
    let pairs = play(Devices::On(2, false), seeds);
    assert!(pairs.endless == 0 && pairs.spoilt > 0, "{pairs:?}");
    assert!(pairs.attempts < sure.attempts);
    // Without any of it.
    let off = play(Devices::Off, seeds);
    assert_eq!(off.bad as u64, seeds, "{off:?}");
}
