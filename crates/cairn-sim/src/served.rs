//! The engine of `cairn serve`, told of what happens in a pool: it says who gets what, what a return is worth, and what is late.
//! Decides nothing itself.

use crate::nature::Claim;
use crate::pool::Crew;
use crate::pool_run::Needs;
use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use crate::worker::WorkerId;
use cairn_dag::{Dag, TaskId, narrow};
use cairn_engine::{
    ClassId, ClientId, Copies, Digest, Dispatch, Distrust, Engine, Event, Expected, Frozen, KindId,
    Memory, Moment, Offer, Order, Outbox, Outcome, Placing, Receipt, Release, Returned, Rules,
    Span, Task, Token,
};
use cairn_kernel::long;

/// What a server that learns knows beforehand ([`crate::Policy::aware`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Knows {
    /// Whether every worker shows by a short benchmark how fast it is when it comes. Benchmarks are off by some 30 %.
    pub handshake: bool,
    /// Durations that it expects are off by this much: the standard deviation of their logarithms. 0: expected durations
    /// are those of [`crate::Workload`].
    pub mistakes: f64,
    /// By task: its kind; durations of a kind may be off together. Empty: all are of one kind.
    pub kinds: Vec<KindId>,
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

/// How a server deals with its workers ([`crate::Policy::served`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Serving {
    /// A worker that says nothing for so long is lost.
    pub silence: f64,
    /// What results count for where nobody vouches for the workers; `None`: all are trusted.
    pub volunteers: Option<Terms>,
}

/// When results of volunteers count, as `cairn serve --volunteers` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// More than half of so many results must be equal.
    pub quorum: u32,
    /// Whether nobody's result ever counts alone.
    pub replicate_all: bool,
    /// A copy has at least so long until it must be back.
    pub deadline: f64,
    /// By task: its kind, by which trust is earned. Empty: all are of one kind.
    pub kinds: Vec<KindId>,
}

/// How far off a benchmark is: the standard deviation of its logarithm.
// As the engine takes it to be (`HANDSHAKE` of its book).
const BENCHMARK: f64 = 0.3;

fn span(seconds: f64) -> Span {
    Span((1e6 * seconds).round() as u64)
}

/// A moment of virtual time.
fn moment(now: f64) -> Moment {
    Moment(0) + span(now)
}

/// An attempt at a task, by number.
pub(crate) type Attempt = (TaskId, u32);

/// What follows from what the engine was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It no longer counts on an attempt, since it is late or for another reason.
    Released { attempt: Attempt, is_late: bool },
    /// A task is executed as this attempt has it.
    Executed(Attempt),
    /// A task is given up.
    GivenUp(TaskId),
    /// Whoever has this attempt is to end it.
    Stop(Attempt),
}

/// The engine of `cairn serve` in one run.
pub(crate) struct Served<'d> {
    engine: Engine<Frozen<'d>>,
    out: Outbox,
    handshake: bool,
    ids: (u64, u64),
    /// After how long without a word a worker is missed; `None`: when a lease of it ends.
    pub(crate) silence: Option<f64>,
    /// How long a copy has at the least, where the workers are volunteers.
    pub(crate) deadline: Option<f64>,
    /// By worker of the pool: as whom the engine knows it, unless it knows that it is gone.
    number: Vec<Option<cairn_engine::WorkerId>>,
}

impl<'d> Served<'d> {
    /// A server that goes by what it learns of its workers' speeds.
    pub(crate) fn aware(
        dag: &'d Dag,
        needs: &Needs<'_>,
        order: &[TaskId],
        knows: &Knows,
        (seed, run): (u64, u64),
    ) -> Served<'d> {
        let wrong = Sampler::new(Spread::LogNormal {
            median: 1.0,
            // Without mistakes nothing is drawn: any spread will do.
            sigma: knows.mistakes.max(1e-12),
        });
        // By task in order, one number each, and drawn only where mistakes are asked for: a server without them meets
        // the same run.
        let mut stream = Stream::new(seed, run, Purpose::Mistakes, 0);
        let seconds = needs.estimates.iter().map(|&seconds| {
            let factor = match knows.mistakes > 0.0 {
                true => wrong.sample(&mut stream),
                false => 1.0,
            };
            knows.durations.then_some(seconds * factor)
        });
        let expected = expected(seconds.collect(), &knows.kinds);
        let rules = Rules {
            // Nobody is given up because somebody is gone.
            losses: Rules::ANY_LOSSES,
            copies: match knows.copies {
                true => Copies::All,
                false => Copies::Never,
            },
            ..rules(dag, needs)
        };
        let placing = match knows.only_where_uneven {
            true => Placing::WhereUneven,
            false => Placing::BySpeed,
        };
        Served {
            handshake: knows.handshake,
            ..Served::new(dag, order, rules, (placing, &expected), (seed, run))
        }
    }

    /// A server that goes by the order alone, for workers that are trusted or volunteers. `clients`: how many there are at all.
    pub(crate) fn by_order(
        dag: &'d Dag,
        needs: &Needs<'_>,
        order: &[TaskId],
        serving: &Serving,
        clients: Option<u32>,
        (seed, run): (u64, u64),
    ) -> Served<'d> {
        let mut rules = rules(dag, needs);
        let seconds = needs.estimates.iter().map(|&seconds| Some(seconds));
        let kinds: &[KindId] = serving
            .volunteers
            .as_ref()
            .map_or(&[], |terms| &terms.kinds);
        let expected = expected(seconds.collect(), kinds);
        if let Some(terms) = &serving.volunteers {
            rules.distrust = Distrust {
                deadline: span(terms.deadline),
                // Which trusted results are checked must not be known to liars, nor hang on what the policy did.
                seed: Stream::new(seed, run, Purpose::Checks, 0).number(),
                clients,
                ..Distrust::of_quorum(terms.quorum)
            };
            if terms.replicate_all {
                rules.distrust.earned = None;
            }
            rules.kind_of = terms.kinds.clone();
            rules.kinds = expected.kinds.clone();
        }
        Served {
            silence: Some(serving.silence),
            deadline: serving.volunteers.as_ref().map(|terms| terms.deadline),
            ..Served::new(
                dag,
                order,
                rules,
                (Placing::ByOrder, &expected),
                (seed, run),
            )
        }
    }

    fn new(
        dag: &'d Dag,
        order: &[TaskId],
        rules: Rules,
        (placing, expected): (Placing, &Expected),
        ids: (u64, u64),
    ) -> Served<'d> {
        let mut engine = Engine::new(Frozen::new(dag), rules, Order::of(order));
        engine.watch(Memory::default(), placing, |memory| {
            Dispatch::new(dag, expected, memory, order.iter().copied())
        });
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        Served {
            engine,
            out,
            handshake: false,
            ids,
            silence: None,
            deadline: None,
            number: Vec::new(),
        }
    }

    fn number(&self, id: WorkerId) -> cairn_engine::WorkerId {
        self.number[id.index()].expect("it came before")
    }

    /// Whether all is executed or given up.
    pub(crate) fn is_over(&self) -> bool {
        self.engine.is_over()
    }

    /// When it has something to do though nothing happens.
    pub(crate) fn next_wake(&self) -> Option<f64> {
        let at = self.engine.next_wake().filter(|at| at.0 < Span::EVER.0);
        at.map(|at| at.0 as f64 / 1e6)
    }

    /// Time has passed.
    pub(crate) fn wake(&mut self, now: f64) {
        self.engine.wake(moment(now), &mut self.out);
    }

    /// A worker is there (again): what it had before its break is lost.
    pub(crate) fn up(&mut self, now: f64, id: WorkerId, crew: &Crew, speed: f64) {
        let told = self.handshake.then(|| {
            let (seed, run) = self.ids;
            // Anew each time it comes, and the same each time: a benchmark is of the machine, not of the moment.
            let mut stream = Stream::new(seed, run, Purpose::Handshake, long(id.index()));
            let off = Sampler::new(Spread::LogNormal {
                median: 1.0,
                sigma: BENCHMARK,
            });
            1e3 * speed * off.sample(&mut stream)
        });
        let offer = Offer {
            benchmark: told.map(|told| told.round().max(1.0) as u32),
            // From 1, as clients are numbered; it keeps its number however often it comes, for trust is the client's.
            client: self.deadline.map(|_| ClientId(narrow(id.index()) + 1)),
            ..Offer::cpus(crew.cores)
        };
        let name = id.index().to_string();
        let worker = (self.engine).join(moment(now), &name, offer, &mut self.out);
        let at = id.index();
        if self.number.len() <= at {
            self.number.resize(at + 1, None);
        }
        // The engine has numbered it anew: attempts of its earlier life were lost with that, since the name is the
        // same.
        self.number[at] = Some(worker);
    }

    /// A worker went, and by now the server knows.
    pub(crate) fn lose(&mut self, now: f64, id: WorkerId) {
        if let Some(worker) = self.number[id.index()].take() {
            let lost = (self.engine).lose(moment(now), worker, &mut self.out);
            debug_assert_eq!(lost, Ok(()));
        }
    }

    /// An attempt of this worker came back: what it says was made.
    pub(crate) fn finish(
        &mut self,
        now: f64,
        id: WorkerId,
        (task, attempt): Attempt,
        claim: Claim,
    ) {
        let token = Token { epoch: 1, attempt };
        let (task, outcome) = (Task::from(task), Outcome::Executed);
        if self.deadline.is_none() {
            let out = &mut self.out;
            let receipt = (self.engine).give_back(moment(now), task, token, outcome, out);
            // Nobody is given up for lost while it is up, and what it had when it went down never comes back: no
            // return is late.
            debug_assert_eq!(receipt, Receipt::Accepted);
            return;
        }
        let made = match claim {
            Claim::Honest => 0,
            Claim::Lie(whose) => 1 + long(whose.index()),
            Claim::CommonLie => u64::MAX,
        };
        let back = Returned {
            task,
            token,
            outcome,
            digest: Some(Digest([made, task.0])),
        };
        let from = self.number(id);
        (self.engine).take_back(moment(now), from, &back, &mut self.out);
    }

    /// These workers ask, each for so many tasks: what they get.
    pub(crate) fn ask(
        &mut self,
        now: f64,
        asking: &[(WorkerId, usize)],
    ) -> Vec<(Attempt, WorkerId)> {
        let asked = asking.iter().map(|&(id, want)| (self.number(id), want));
        let asked: Vec<(cairn_engine::WorkerId, usize)> = asked.collect();
        let answers = (self.engine).ask_together(moment(now), &asked, &mut self.out);
        let mut given = Vec::new();
        for (answer, &(id, _)) in answers.into_iter().zip(asking) {
            for granted in answer.into_iter().flatten() {
                given.push(((frozen(granted.task), granted.token.attempt), id));
            }
        }
        given
    }

    /// What follows from all that it was told since it was last asked for that, in the order in which it happened.
    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for entry in self.out.entries.drain(..) {
            match entry.event {
                Event::Executed { task, token, .. } => {
                    effects.push(Effect::Executed((frozen(task), token.attempt)));
                }
                Event::Released {
                    task,
                    token,
                    why,
                    for_good,
                } => {
                    effects.push(Effect::Released {
                        attempt: (frozen(task), token.attempt),
                        is_late: why == Release::Overdue,
                    });
                    effects.extend(for_good.then_some(Effect::GivenUp(frozen(task))));
                }
                Event::Disputed { task } => effects.push(Effect::GivenUp(frozen(task))),
                _ => (),
            }
        }
        let aborted = self.out.aborted.drain(..);
        effects.extend(aborted.map(|task| Effect::GivenUp(frozen(task))));
        // Last: a copy that is stopped is forgotten, and a release of it among the events would find nothing to count
        // back.
        let kills = self.out.kills.drain(..);
        effects.extend(kills.map(|(_, task, token)| Effect::Stop((frozen(task), token.attempt))));
        effects
    }
}

fn frozen(task: Task) -> TaskId {
    task.frozen().expect("a task of the dag")
}

/// How long tasks take, as a server expects it.
fn expected(seconds: Vec<Option<f64>>, kind: &[KindId]) -> Expected {
    let kinds = kind.iter().max().map_or(1, |k| k.index() + 1);
    Expected {
        seconds,
        kind: kind.to_vec(),
        kinds: (0..kinds).map(|k| k.to_string()).collect(),
    }
}

/// What tasks need, as the engine has it. Who is gone is told.
fn rules(dag: &Dag, needs: &Needs<'_>) -> Rules {
    let mut rules = Rules {
        silence: Span::EVER,
        ..Rules::default()
    };
    if !needs.work.is_light() {
        let need = |task: TaskId| needs.work.cores(task.index());
        let mut classes: Vec<u32> = dag.tasks().map(need).collect();
        classes.sort_unstable();
        classes.dedup();
        let class = |task| ClassId::new(classes.binary_search(&need(task)).unwrap_or(0));
        rules.class_of = dag.tasks().map(class).collect();
        let of = |&cpus: &u32| cairn_engine::Needs {
            cpus,
            ..cairn_engine::Needs::default()
        };
        rules.classes = classes.iter().map(of).collect();
    }
    rules
}
