//! A server that learns who is fast and gives tasks accordingly: `cairn_engine`'s own rule, told of what happens in a pool.
//! Decides nothing itself.

use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use cairn_dag::{Dag, TaskId};
use cairn_engine::{Dispatch, Ending, Expected, Memory};

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
        }
    }
}

/// How far off a benchmark is: the standard deviation of its logarithm.
const BENCHMARK: f64 = 0.3;

/// The engine's rule in one run.
pub(crate) struct Aware {
    pub(crate) rule: Dispatch,
    handshake: bool,
    ids: (u64, u64),
    /// By worker of the pool: its number for the rule.
    number: Vec<Option<u32>>,
    joined: u32,
}

impl Aware {
    pub(crate) fn new(
        dag: &Dag,
        estimates: &[f64],
        order: &[TaskId],
        knows: &Knows,
        (seed, run): (u64, u64),
    ) -> Aware {
        let wrong = Sampler::new(Spread::LogNormal {
            median: 1.0,
            sigma: knows.mistakes.max(1e-12),
        });
        let mut stream = Stream::new(seed, run, Purpose::Mistakes, 0);
        let seconds = estimates.iter().map(|&seconds| {
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
        let mut rule = Dispatch::new(dag, &expected, Memory::default(), order.iter().copied());
        rule.allow_copies(knows.copies);
        Aware {
            rule,
            handshake: knows.handshake,
            ids: (seed, run),
            number: Vec::new(),
            joined: 0,
        }
    }

    /// The number of a worker that has come.
    pub(crate) fn number(&self, id: u32) -> u32 {
        self.number[id as usize].expect("it came before")
    }

    /// The worker of the pool that has this number.
    pub(crate) fn worker(&self, number: u32) -> u32 {
        let at = self.number.iter().position(|&n| n == Some(number));
        at.expect("a worker of the pool") as u32
    }

    /// How many numbers there are.
    pub(crate) fn joined(&self) -> u32 {
        self.joined
    }

    /// The worker of the pool that has this number, or had it: then anybody.
    pub(crate) fn worker_or(&self, number: u32) -> u32 {
        let at = self.number.iter().position(|&n| n == Some(number));
        at.unwrap_or(0) as u32
    }

    /// A worker is there (again): what it had before its break is lost.
    pub(crate) fn up(&mut self, now: f64, id: u32, cores: u32, speed: f64) {
        let at = id as usize;
        if self.number.len() <= at {
            self.number.resize(at + 1, None);
        }
        if let Some(before) = self.number[at] {
            self.rule.gone(now, before);
        }
        let told = self.handshake.then(|| {
            let (seed, run) = self.ids;
            let mut stream = Stream::new(seed, run, Purpose::Handshake, u64::from(id));
            let off = Sampler::new(Spread::LogNormal {
                median: 1.0,
                sigma: BENCHMARK,
            });
            speed * off.sample(&mut stream)
        });
        self.rule.joined(&id.to_string(), cores, told);
        self.number[at] = Some(self.joined);
        self.joined += 1;
    }

    pub(crate) fn ended(&mut self, now: f64, task: TaskId, id: u32, how: Ending) {
        let number = self.number(id);
        self.rule.ended(now, task.0, number, how);
    }
}
