//! A server that learns who is fast and gives tasks accordingly: the engine of `cairn serve`, told of what happens in a pool.
//! Decides nothing itself.

use crate::pool::Crew;
use crate::pool_run::Needs;
use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Copies, Dispatch, Engine, Event, Expected, Frozen, Memory, Moment, Offer, Order, Outbox,
    Outcome, Placing, Receipt, Rules, Span, Task, Token, WorkerId,
};

/// What a server that learns knows beforehand ([`crate::Policy::aware`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Knows {
    /// Whether every worker shows by a short benchmark how fast it is when it comes. Benchmarks are off by some 30 %.
    pub handshake: bool,
    /// Durations that it expects are off by this much: the standard deviation of their logarithms. 0: expected durations
    /// are those of [`crate::Work`].
    pub mistakes: f64,
    /// By task: its kind; durations of a kind may be off together. Empty: all are of one kind.
    pub kinds: Vec<u32>,
    /// Whether it expects a duration of each task at all; else it learns those of kinds.
    pub durations: bool,
    /// Whether it gives copies of running tasks to idle workers.
    pub copies: bool,
    /// Whether it goes by speeds only where workers are seen to differ, as a server does that nobody told how.
    pub only_where_uneven: bool,
}

impl Default for Knows {
    /// A handshake, durations, and copies.
    fn default() -> Knows {
        Knows {
            handshake: true,
            mistakes: 0.0,
            kinds: Vec::new(),
            durations: true,
            copies: true,
            only_where_uneven: false,
        }
    }
}

/// How far off a benchmark is: the standard deviation of its logarithm.
const BENCHMARK: f64 = 0.3;
/// Memory is counted in so many parts of the unit of the tasks'.
const PARTS: f64 = 1024.0;

/// A moment of virtual time.
fn moment(now: f64) -> Moment {
    // The engine counts in microseconds.
    Moment((1e6 * now).round() as u64)
}

/// An attempt at a task, by number.
pub(crate) type Attempt = (TaskId, u32);

/// The engine of `cairn serve` in one run.
pub(crate) struct Aware<'d> {
    engine: Engine<Frozen<'d>>,
    out: Outbox,
    handshake: bool,
    ids: (u64, u64),
    /// By worker of the pool: as whom the engine knows it, unless it knows that it is gone.
    number: Vec<Option<WorkerId>>,
}

impl<'d> Aware<'d> {
    pub(crate) fn new(
        dag: &'d Dag,
        needs: &Needs<'_>,
        order: &[TaskId],
        knows: &Knows,
        (seed, run): (u64, u64),
    ) -> Aware<'d> {
        let wrong = Sampler::new(Spread::LogNormal {
            median: 1.0,
            sigma: knows.mistakes.max(1e-12),
        });
        let mut stream = Stream::new(seed, run, Purpose::Mistakes, 0);
        let seconds = needs.estimates.iter().map(|&seconds| {
            let factor = match knows.mistakes > 0.0 {
                true => wrong.sample(&mut stream),
                false => 1.0,
            };
            knows.durations.then_some(seconds * factor)
        });
        let kinds = knows.kinds.iter().max().map_or(1, |&k| k + 1);
        let expected = Expected {
            seconds: seconds.collect(),
            kind: knows.kinds.clone(),
            kinds: (0..kinds).map(|k| k.to_string()).collect(),
        };
        let rules = rules(dag, needs, knows.copies);
        let mut engine = Engine::new(Frozen::new(dag), rules, Order::of(order));
        let placing = match knows.only_where_uneven {
            true => Placing::WhereUneven,
            false => Placing::BySpeed,
        };
        engine.watch(Memory::default(), placing, |memory| {
            Dispatch::new(dag, &expected, memory, order.iter().copied())
        });
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        Aware {
            engine,
            out,
            handshake: knows.handshake,
            ids: (seed, run),
            number: Vec::new(),
        }
    }

    fn number(&self, id: u32) -> WorkerId {
        self.number[id as usize].expect("it came before")
    }

    /// A worker is there (again): what it had before its break is lost.
    pub(crate) fn up(&mut self, now: f64, id: u32, crew: &Crew, speed: f64) {
        let told = self.handshake.then(|| {
            let (seed, run) = self.ids;
            let mut stream = Stream::new(seed, run, Purpose::Handshake, u64::from(id));
            let off = Sampler::new(Spread::LogNormal {
                median: 1.0,
                sigma: BENCHMARK,
            });
            // In thousandths, as workers tell it.
            1e3 * speed * off.sample(&mut stream)
        });
        let offer = Offer {
            memory: crew
                .memory
                .is_finite()
                .then_some((PARTS * crew.memory) as u64),
            benchmark: told.map(|told| told.round().max(1.0) as u32),
            ..Offer::cpus(crew.cores)
        };
        let name = id.to_string();
        let worker = (self.engine).join(moment(now), &name, offer, &mut self.out);
        let at = id as usize;
        if self.number.len() <= at {
            self.number.resize(at + 1, None);
        }
        self.number[at] = Some(worker);
    }

    /// A worker went, and by now the server knows.
    pub(crate) fn lose(&mut self, now: f64, id: u32) {
        if let Some(worker) = self.number[id as usize].take() {
            let lost = (self.engine).lose(moment(now), worker, &mut self.out);
            debug_assert_eq!(lost, Ok(()));
        }
    }

    /// An attempt came back well.
    pub(crate) fn finish(&mut self, now: f64, task: TaskId, attempt: u32) {
        let (token, done) = (Token { epoch: 1, attempt }, Outcome::Executed);
        let receipt = (self.engine).give_back(moment(now), task.into(), token, done, &mut self.out);
        debug_assert_eq!(receipt, Receipt::Accepted);
    }

    /// These workers ask, each for so many tasks: what they get.
    pub(crate) fn ask(&mut self, now: f64, asking: &[(u32, usize)]) -> Vec<(Attempt, u32)> {
        let asked = asking.iter().map(|&(id, want)| (self.number(id), want));
        let asked: Vec<(WorkerId, usize)> = asked.collect();
        let answers = (self.engine).ask_together(moment(now), &asked, &mut self.out);
        let mut given = Vec::new();
        for (answer, &(id, _)) in answers.into_iter().zip(asking) {
            for granted in answer.into_iter().flatten() {
                let task = granted.task.frozen().expect("a task of the dag");
                given.push(((task, granted.token.attempt), id));
            }
        }
        given
    }

    /// Attempts that the engine no longer counts on, and those to be stopped, since it was last asked for them.
    pub(crate) fn effects(&mut self) -> (Vec<Attempt>, Vec<Attempt>) {
        let task = |task: Task| task.frozen().expect("a task of the dag");
        let released = self
            .out
            .entries
            .drain(..)
            .filter_map(|entry| match entry.event {
                Event::Released {
                    task: of, token, ..
                } => Some((task(of), token.attempt)),
                _ => None,
            });
        let released = released.collect();
        let kills = self.out.kills.drain(..);
        let kills = kills.map(|(_, of, token)| (task(of), token.attempt));
        (released, kills.collect())
    }
}

/// What tasks need, as the engine has it.
fn rules(dag: &Dag, needs: &Needs<'_>, copies: bool) -> Rules {
    let mut rules = Rules {
        // Who is gone is told; nobody is given up because of it.
        // A quarter, so that now and silence together still fit.
        silence: Span(u64::MAX / 4),
        losses: u32::MAX,
        copies: if copies { Copies::All } else { Copies::Never },
        ..Rules::default()
    };
    if !needs.work.is_light() {
        let need = |task: TaskId| {
            let memory = (PARTS * needs.work.memory(task.index())).ceil() as u64;
            (needs.work.cores(task.index()), memory)
        };
        let mut classes: Vec<(u32, u64)> = dag.tasks().map(need).collect();
        classes.sort_unstable();
        classes.dedup();
        let class = |task| classes.binary_search(&need(task)).unwrap_or(0) as u32;
        rules.class_of = dag.tasks().map(class).collect();
        let of = |&(cpus, memory): &(u32, u64)| cairn_engine::Needs {
            cpus,
            memory,
            ..cairn_engine::Needs::default()
        };
        rules.classes = classes.iter().map(of).collect();
    }
    rules
}
