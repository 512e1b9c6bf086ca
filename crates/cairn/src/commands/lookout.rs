//! Looks for the order of tasks that run, or are about to: a quick one at once, then the plan's, then the one that wins in
//! simulations of the workers. Runs nothing, and keeps nobody waiting.

mod again;

use self::again::{SEED, again};
use super::auto::{self, Arena, Bout};
use super::contender::name;
use super::orders::{self, Orders, needs_plan, policy_of};
use super::world;
use super::worth;
use crate::budgets::PLANNING;
use crate::cli::{self, Policy, Wanted};
use crate::failure::Failure;
use crate::limits::{self, Clock};
use crate::logs;
use crate::output::Output;
use cairn_dag::{Flow, TaskId};
use cairn_plan::{Plan, Work};
use cairn_serve::http::Handle;
use cairn_serve::{About, Found};
use cairn_sim::{Glimpse, Plays, Sighting};
use cairn_theory::profile::area;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// So often it is looked who is there while a run goes on.
// A judgement: workers come and go in seconds at the fastest, and asking costs the server a message.
const LOOK: Duration = Duration::from_secs(1);

/// Who will work.
#[derive(Clone)]
pub(crate) enum Workers {
    /// This machine, with so many tasks at once.
    Here(u32),
    /// As somebody says they will be.
    Stated(Arc<world::Settings>),
    /// Nobody knows.
    Unknown,
}

impl Workers {
    /// What the flags say of them. They mean nothing where no contest asks.
    pub(crate) fn expected(flags: &cli::Expected, policy: Wanted) -> Result<Workers, Failure> {
        let world = cli::World {
            slots: flags.slots,
            world_from: flags.world_from.clone(),
            ..cli::World::default()
        };
        if !world::is_stated(&world) {
            return Ok(Workers::Unknown);
        }
        if policy != Wanted::Auto {
            return Err(Failure::usage(
                "--slots and --world-from mean nothing without --policy auto",
                "leave them out, or --policy",
            ));
        }
        Ok(Workers::Stated(Arc::new(world::Settings::new(world)?)))
    }

    fn arena(&self, flow: &Flow) -> Result<Arena, Failure> {
        match self {
            Workers::Here(cpus) => Arena::machine(flow, *cpus),
            Workers::Stated(settings) => settings.scene(flow).map(|scene| Arena::of(&scene)),
            Workers::Unknown => Arena::usual(flow, &cli::World::default()),
        }
    }
}

/// What is looked for, and for whom.
#[derive(Clone)]
pub(crate) struct Lookout {
    flow: Arc<Flow>,
    policy: Wanted,
    workers: Workers,
    /// The state of earlier runs, which may tell times that nobody gave.
    earlier: Option<PathBuf>,
}

impl Lookout {
    /// For these workers; `state` is that of earlier runs, if there may be any.
    pub(crate) fn new(
        flow: &Arc<Flow>,
        policy: Wanted,
        workers: Workers,
        times: &cli::Times,
        state: Option<PathBuf>,
    ) -> Lookout {
        Lookout {
            flow: Arc::clone(flow),
            policy,
            workers,
            earlier: state.filter(|_| !times.no_learnt_times),
        }
    }

    /// An order that takes no time to find.
    pub(crate) fn quick(&self) -> Vec<TaskId> {
        let policy = match self.policy {
            Wanted::Given(policy) if !needs_plan(policy) => policy,
            Wanted::Given(_) => Policy::Outdegree,
            // The nearest to path+ that needs no plan.
            Wanted::Auto => Policy::CriticalPath,
        };
        let seconds = self.flow.imputed_seconds();
        Orders::new(self.flow.dag(), seconds.as_deref(), None).of(policy)
    }

    /// What is to be told of that.
    pub(crate) fn about_quick(&self) -> About {
        About::quick(&name(&self.policy), !self.is_long())
    }

    /// Whether there is more to look for than the quick order.
    fn is_long(&self) -> bool {
        match self.policy {
            Wanted::Given(policy) => needs_plan(policy),
            Wanted::Auto => true,
        }
    }

    /// How long the first task may wait for a better one: half of the 50 ms and 50 µs a task within which it starts. Reading
    /// the file, a quick order and writing both down take from the other half.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(25) + Duration::from_micros(25) * self.flow.dag().len() as u32
    }

    /// Looks for better ones on a thread of its own, until the run is over. It works only where tasks leave something, once
    /// they run.
    pub(crate) fn begin(&self, finished: &Arc<AtomicBool>) -> Receiver<Found> {
        let (send, receive) = channel();
        if self.is_long() {
            let (lookout, finished) = (self.clone(), Arc::clone(finished));
            std::thread::spawn(move || {
                let is_impatient = Clock::lasting(lookout.patience()).stop();
                let is_late = Clock::lasting(PLANNING).stop();
                let has_told = AtomicBool::new(false);
                let stop = || {
                    // Tasks run, once they have an order or need not wait for it any more.
                    if is_impatient() || has_told.load(Ordering::Relaxed) {
                        make_room();
                    }
                    is_late() || finished.load(Ordering::Relaxed)
                };
                // Nobody listens when the run is over.
                let settle = || {
                    // From here on: a large flow may have been planned for longer than that.
                    // Policies are compared once tasks have run for longer than comparing takes: a run that is over by then has
                    // nothing to gain, and where all processors have tasks even a thread that steps back takes something from
                    // them (2,000 tasks of a millisecond: 5 %).
                    let settling = Plays::seconds(lookout.flow.dag().len());
                    let (since, settling) = (Instant::now(), Duration::from_secs_f64(settling));
                    while since.elapsed() < settling && !stop() {
                        // A judgement: this thread is to be gone soon after the run.
                        std::thread::sleep(Duration::from_millis(20));
                    }
                };
                // One thread: the others are for tasks.
                lookout.look(Some(1), &Work::until(&stop), &settle, &mut |found| {
                    has_told.store(true, Ordering::Relaxed);
                    drop(send.send(found));
                });
            });
        }
        receive
    }

    /// Chooses again while a run is served, whenever other workers are there than before and another order gains with them.
    /// Until the run is over.
    pub(crate) fn keep_looking(
        &self,
        handle: &Handle,
        finished: &AtomicBool,
        tell: &mut dyn FnMut(Found),
    ) {
        if self.policy != Wanted::Auto {
            return;
        }
        make_room();
        let begin = Instant::now();
        let is_over = || finished.load(Ordering::Relaxed) || limits::is_interrupted();
        let (mut seen, mut looked) = (Sighting::default(), None);
        while !is_over() {
            std::thread::sleep(LOOK);
            // A server that has ended, or learns nothing, has nothing to tell.
            let Some(observed) = handle.observe() else {
                return;
            };
            let glimpse = Glimpse {
                came: observed.came,
                went: observed.went,
                speeds: &observed.speeds,
                executed: observed.executed,
            };
            seen.hear(begin.elapsed().as_secs_f64(), &glimpse);
            if !observed.is_by_order || !seen.is_time(looked.as_ref()) {
                continue;
            }
            let Some(left) = handle.left() else {
                return;
            };
            let is_late = Clock::lasting(PLANNING).stop();
            let stop = || {
                make_room();
                is_over() || is_late()
            };
            // What cannot be simulated stays as it is: it is looked at again with other workers.
            if let Ok(Some(found)) = again(&self.flow, &seen, &left, &Work::until(&stop)) {
                tell(found);
            }
            looked = Some(seen.clone());
        }
    }

    /// The best order, for those who can wait, with all threads.
    pub(crate) fn now(&self, out: &Output) -> (Vec<TaskId>, About) {
        let _alive = out.progress("planning");
        let stop = Clock::lasting(PLANNING).stop();
        let mut best = None;
        if self.is_long() {
            self.look(None, &Work::until(&stop), &|| (), &mut |found: Found| {
                let order = found.order.or_else(|| best.take().map(|(order, _)| order));
                best = order.map(|order| (order, found.about));
            });
        }
        best.unwrap_or_else(|| (self.quick(), self.about_quick()))
    }

    /// Tells of each better order when it is found, the best last. Calls `settle` before policies are compared.
    fn look(
        &self,
        threads: Option<usize>,
        work: &Work<'_>,
        settle: &dyn Fn(),
        tell: &mut dyn FnMut(Found),
    ) {
        let learnt = (self.earlier.as_deref()).and_then(|state| logs::learnt(&self.flow, state));
        let flow = learnt.as_ref().map_or(&*self.flow, |learnt| &learnt.flow);
        let dag = flow.dag();
        let plan = orders::usual(flow, &mut work.unmetered());
        let seconds = flow.imputed_seconds();
        let orders = Orders::new(dag, seconds.as_deref(), Some(&plan));
        let asked = name(&self.policy);
        let note = learnt.as_ref().map_or("", |learnt| &learnt.words);
        let with_note = |why: String| match (why.is_empty(), note.is_empty()) {
            (_, true) => why,
            (true, false) => note.to_owned(),
            (false, false) => format!("{why}, {note}"),
        };
        let found = |policy: Policy, order: Vec<TaskId>, why: String, settled: bool| {
            let about = About {
                why: with_note(why),
                settled,
                ..judged(&plan, &order, &asked, policy)
            };
            Found {
                order: Some(order),
                about,
            }
        };
        // Asked for by name: there is nothing to compare, and this is the last that is told.
        if let Wanted::Given(policy) = self.policy {
            return tell(found(policy, orders.of(policy), String::new(), true));
        }
        // What rarely loses, until it is known what wins.
        let first = orders.of(Policy::PathPlus);
        let why = "until policies are compared".to_owned();
        tell(found(Policy::PathPlus, first.clone(), why, false));
        settle();
        // Nothing to compare: the sum of all durations is the time, whatever goes first.
        if matches!(self.workers, Workers::Here(1)) {
            if !limits::is_interrupted() {
                let why = "on one slot every order takes as long".to_owned();
                let same = found(Policy::PathPlus, first, why, true);
                tell(Found {
                    order: None,
                    ..same
                });
            }
            return;
        }
        let weighed = self.workers.arena(flow).and_then(|arena| {
            let bout = Bout {
                effort: arena.effort(flow),
                seed: SEED,
                precision: None,
                threads,
                work: work.clone(),
                after: work.clone(),
            };
            auto::weighed(flow, &plan, &arena, &bout)
        });
        let mut best = match weighed {
            Ok((picked, choice)) => found(policy_of(picked.rule), picked.order, choice.why(), true),
            Err(failure) => {
                let why = format!("not compared: {}", failure.words());
                found(Policy::PathPlus, first.clone(), why, true)
            }
        };
        // Whoever is interrupted looks again the next time.
        if !limits::is_interrupted() {
            // The same order again would only make the server sort once more.
            best.order = best.order.filter(|order| *order != first);
            tell(best);
        }
    }
}

/// What an order reaches beside what no order exceeds: shown whatever was chosen.
fn judged(plan: &Plan<'_>, order: &[TaskId], asked: &str, policy: Policy) -> About {
    let reached = plan.profile_of(order);
    let (ours, most) = (area(&reached), area(&plan.bound));
    About {
        policy: asked.to_owned(),
        chosen: name(&policy),
        area: Some(ours),
        area_bound: Some(most),
        area_ratio: Some(worth::share(ours, most)),
        verdict: Some(plan.judge(&reached)),
        ..About::default()
    }
}

/// Tasks run meanwhile: the thread that looks works only where they leave something. To be asked every few hundred microseconds.
pub(crate) fn make_room() {
    thread_local! {
        static IS_BACK: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_BACK.replace(true) {
        cairn_serve::spawn::step_back();
    }
    // A task may have been put on this processor. Kernels that preempt lazily let it in when this thread enters them, or else
    // at the next tick: 4 ms for a task that takes one, and whoever starts tasks waits for it.
    std::thread::yield_now();
}
