//! Orders of small peak: starts, and division at minimum cuts. Knows no flags and no formats.
//!
//! The task v at the peak of an order has a least need of its own: that of the minimum cut X before it. If that is the
//! peak, no order is better. Else what lies in X goes before v and the rest after it, and both sides are planned by
//! themselves: since L is submodular and least at X, going through X costs v nothing.

use super::bounds::{Bounds, LowerBound};
use super::cut::{Cut, Cuts};
use super::section::{Section, signed};
use super::starts::{self, Goals, Uphill};
use crate::budgets::storage as budget;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Stopped, Work, long, places};
use cairn_theory::storage::Storage;

/// An order of small peak, and what no order can do without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lean {
    /// The order.
    pub order: Vec<TaskId>,
    /// The largest need along it.
    pub peak: u64,
    /// No order has a smaller peak than this.
    pub bound: LowerBound,
}

impl Lean {
    /// Whether no order has a smaller peak.
    pub fn is_least(&self) -> bool {
        self.peak == self.bound.bytes
    }
}

/// Plans for a small peak. `order`, a topological order, breaks ties and is one of the candidates.
///
/// The smallest peak is NP-hard to find (Sethi 1975, for registers). On trees Liu's keys find it (1987): they are one of the starts here;
/// orders are made better by minimum cuts at their peak, and bounds are minimum cuts as well. Each of these has a number of steps that
/// grows with tasks and arcs; `work` may allow fewer.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_plan::Work;
/// use cairn_plan::storage::{Storage, Stored, lean_order};
/// // Two chains of two: each first task writes ten bytes for the second.
/// let dag = Dag::from_arcs(4, vec![(0, 2), (1, 3)])?;
/// let file = |from, to| Stored { producer: Some(from), bytes: 10, is_kept: false, consumers: vec![to] };
/// let files = vec![file(TaskId(0), TaskId(2)), file(TaskId(1), TaskId(3))];
/// let (storage, _) = Storage::new(4, files, vec![])?;
/// let order: Vec<TaskId> = dag.tasks().collect();
/// let lean = lean_order(&dag, &storage, &order, &mut Work::unlimited());
/// assert_eq!((storage.peak(&order), lean.peak, lean.is_least()), (20, 10, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The same on every machine, for as long as `work` is not stopped; whatever is returned then still holds.
///
/// # Panics
/// If `order` is no schedule of the dag, or `storage` is of another.
pub fn lean_order(dag: &Dag, storage: &Storage, order: &[TaskId], work: &mut Work<'_>) -> Lean {
    assert_eq!(order.len(), dag.len(), "an order names every task once");
    let section = Section::whole(dag, storage);
    let mut search = PeakSearch::new(&section, order.to_vec());
    // Whoever runs out of work keeps what is known by then.
    let _ = search.run(work);
    let PeakSearch { best, bounds, .. } = search;
    Lean {
        peak: storage.peak(&best.order),
        order: best.order,
        bound: bounds.lower_bound(),
    }
}

/// What every order needs, where it is soon seen that this is more than `cap`. `None` proves nothing: [`lean_order`] looks longer.
pub fn more_than(
    dag: &Dag,
    storage: &Storage,
    cap: u64,
    work: &mut Work<'_>,
) -> Option<LowerBound> {
    let section = Section::whole(dag, storage);
    let mut bounds = Bounds::new(&section);
    let share = budget::share(long(section.len()), section.steps());
    // A tenth of what it is worth later: most caps can be kept, and then this is in vain. A judgement.
    let _ = work.lend(share / 10, |work| {
        bounds.single(dag.topological_order(), Some(cap), work)
    });
    Some(bounds.lower_bound()).filter(|bound| bound.bytes > cap)
}

/// Why a cap cannot be kept, where it is soon seen that no order keeps it ([`more_than`]): an order that takes little, and the larger
/// of both bounds.
pub fn refusal_of(dag: &Dag, storage: &Storage, cap: u64, work: &mut Work<'_>) -> Option<Lean> {
    let bound = more_than(dag, storage, cap, &mut work.unmetered())?;
    // Any order to begin with: none is within the cap.
    let order = dag.topological_order();
    let mut lean = lean_order(dag, storage, order, &mut work.unmetered());
    if lean.bound.bytes < bound.bytes {
        lean.bound = bound;
    }
    Some(lean)
}

/// An order with its peak, how often it is reached, and where first.
#[derive(Clone, Debug)]
struct Candidate {
    order: Vec<TaskId>,
    peak: i64,
    times: usize,
    place: usize,
}

impl Candidate {
    fn new(section: &Section, order: Vec<TaskId>) -> Candidate {
        let needs = section.needs(&order);
        let peak = needs.iter().copied().max().unwrap_or(0);
        Candidate {
            peak,
            times: needs.iter().filter(|&&n| n == peak).count(),
            place: needs.iter().position(|&n| n == peak).unwrap_or(0),
            order,
        }
    }

    /// Takes the better of two.
    fn offer(&mut self, section: &Section, order: Vec<TaskId>) -> bool {
        let other = Candidate::new(section, order);
        // Fewer moments at the peak is progress, too: once the last is gone the peak falls.
        let is_better = (other.peak, other.times) < (self.peak, self.times);
        if is_better {
            *self = other;
        }
        is_better
    }
}

struct PeakSearch<'p> {
    section: &'p Section,
    given: Vec<TaskId>,
    best: Candidate,
    bounds: Bounds<'p>,
}

impl<'p> PeakSearch<'p> {
    fn new(section: &'p Section, given: Vec<TaskId>) -> PeakSearch<'p> {
        PeakSearch {
            best: Candidate::new(section, given.clone()),
            bounds: Bounds::new(section),
            section,
            given,
        }
    }

    fn run(&mut self, work: &mut Work<'_>) -> Result<(), Stopped> {
        let is_large = self.section.len() > budget::LARGE;
        let share = budget::share(long(self.section.len()), self.section.steps());
        let first = work.lend(share, |work| {
            improve(self.section, &mut self.best, budget::DEPTH, 0, true, work)
        });
        ended(first, work)?;
        let bound = work.lend(share, |work| {
            self.bounds.single(&self.best.order, None, work)
        });
        ended(bound, work)?;
        if self.is_least() {
            return Ok(());
        }
        if !is_large {
            let more = work.lend(share, |work| self.other_starts(work));
            ended(more, work)?;
        }
        if self.is_least() {
            return Ok(());
        }
        let Candidate {
            order,
            peak: enough,
            ..
        } = &self.best;
        let bound = work.lend(share, |work| self.bounds.antichains(order, *enough, work));
        ended(bound, work)
    }

    fn is_least(&self) -> bool {
        self.best.peak <= self.bounds.best
    }

    /// Polishes one start after the other, until one is least.
    fn other_starts(&mut self, work: &mut Work<'_>) -> Result<(), Stopped> {
        let section = self.section;
        for round in 0..budget::STARTS {
            let order = start(section, &self.given, round, work)?;
            let mut other = Candidate::new(section, order);
            let enough = self.bounds.best;
            let done = improve(section, &mut other, budget::DEPTH, enough, false, work);
            if (other.peak, other.times) < (self.best.peak, self.best.times) {
                self.best = other;
            }
            if self.is_least() {
                break;
            }
            done?;
        }
        Ok(())
    }
}

/// Running out of a share is no end; being stopped is.
fn ended(done: Result<(), Stopped>, work: &mut Work<'_>) -> Result<(), Stopped> {
    match done {
        Ok(()) => Ok(()),
        Err(Stopped) => work.go_on(),
    }
}

/// One start of many, by number.
fn start(
    section: &Section,
    given: &[TaskId],
    round: u64,
    work: &mut Work<'_>,
) -> Result<Vec<TaskId>, Stopped> {
    const UPHILL: [Uphill; 3] = [Uphill::LowestPeak, Uphill::LargestFall, Uphill::LeastGrowth];
    // Far apart for neighbouring rounds, and the same in every run.
    let seed = round.wrapping_mul(7919);
    let valley = |goals, uphill: u64, work: &mut Work<'_>| {
        let uphill = UPHILL[(uphill % 3) as usize];
        // After the first round of all: narrower, and by chance.
        let (width, seed) = match round {
            0..10 => (budget::VALLEY, None),
            _ => (budget::NOISY_VALLEY, Some(seed)),
        };
        starts::valley(section, given, goals, width, uphill, seed, work)
    };
    // Those without chance first; then those that noise changes in turn, a third of them lean, a third by Liu's keys, and a third
    // valleys, of either kind by turns. A judgement.
    match round {
        0 => starts::depth_first(section, work),
        1 => starts::lean(section, &places(given), work),
        2..=4 => valley(Goals::Begun, round - 2, work),
        5 => starts::liu(section, given, 0.0, 1, work),
        6 => Ok(given.to_vec()),
        7..=9 => valley(Goals::Sinks, round - 7, work),
        _ if round.is_multiple_of(3) => {
            starts::lean(section, &starts::shuffled(section.len(), seed), work)
        }
        _ if round % 3 == 1 => starts::liu(section, given, budget::LIU_NOISE, seed, work),
        _ if (round / 9).is_multiple_of(2) => valley(Goals::Begun, round / 3, work),
        _ => valley(Goals::Sinks, round / 3, work),
    }
}

/// Makes an order better by cuts at its peak, down to `enough`; with all starts beside it if asked for.
fn improve(
    section: &Section,
    best: &mut Candidate,
    depth: u32,
    enough: i64,
    with_starts: bool,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    if best.peak <= enough || section.len() < 2 {
        return Ok(());
    }
    if with_starts {
        try_starts(section, best, enough, work)?;
    }
    // With two tasks the starts have seen every order.
    if best.peak <= enough || section.len() < 3 {
        return Ok(());
    }
    let mut cuts = Cuts::new(section);
    let initial = signed(section.storage.live_at_first());
    for _ in 0..budget::ROUNDS {
        let task = best.order[best.place];
        let cut = cuts.before(task, &[], &[], work)?;
        if cut.live + section.reserved(task) >= best.peak || best.peak <= enough {
            return Ok(());
        }
        let mut divided = Vec::new();
        if rearrange(section, best, task, &cut, &mut divided, work)? {
            continue;
        }
        if depth == 0 {
            return Ok(());
        }
        let mut is_better = false;
        for (order, middle) in divided {
            // No order of the whole is below the task's least need, so that neither side need be.
            let enough = enough.max(cut.live + section.reserved(task));
            let parts = [(0, middle), (middle, section.len())];
            let mut joined = Vec::with_capacity(section.len());
            let mut done = Ok(());
            for (from, to) in parts {
                work.pay(2 * section.steps())?;
                let live = if from == 0 { initial } else { cut.live };
                let part = section.part(&order, from, to, live);
                let mut inner = Candidate::new(&part, part.tasks().collect());
                done = done.and(improve(&part, &mut inner, depth - 1, enough, true, work));
                joined.extend(inner.order.iter().map(|t| order[from + t.index()]));
            }
            // Before `done` is asked: what was found when the work ran out may be better all the same.
            is_better = best.offer(section, joined);
            done?;
            if is_better {
                break;
            }
        }
        if !is_better {
            return Ok(());
        }
    }
    Ok(())
}

/// Offers simple orders of the section, until one is good enough.
fn try_starts(
    section: &Section,
    best: &mut Candidate,
    enough: i64,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    let given = best.order.clone();
    let is_large = section.len() > budget::LARGE;
    let rounds = if is_large {
        budget::LARGE_RESTARTS
    } else {
        budget::RESTARTS
    };
    // By the numbers of `start`; 6 is the order at hand itself.
    let simple = [0, 1, 5].into_iter();
    let valleys = (2..5).chain(7..10);
    let valleys = valleys.filter(|_| section.len() <= budget::LARGE_VALLEY);
    // Of every three numbers the third is a valley, which costs most: not for each section.
    let noisy = (10..10 + 3 * rounds).filter(|round| round % 3 < 2);
    for round in simple.chain(valleys).chain(noisy) {
        // From the order that was given, not from the best so far: starts should differ.
        let order = start(section, &given, round, work)?;
        best.offer(section, order);
        if best.peak <= enough {
            break;
        }
    }
    Ok(())
}

/// Offers orders that do first what lies before a cut, and says whether one is better; `divided` gets those that it made, each
/// with the length of its first side.
fn rearrange(
    section: &Section,
    best: &mut Candidate,
    task: TaskId,
    cut: &Cut,
    divided: &mut Vec<(Vec<TaskId>, usize)>,
    work: &mut Work<'_>,
) -> Result<bool, Stopped> {
    // Least sets lie between the two; the ends differ most in what they leave to either side.
    let sides = [&cut.smallest, &cut.largest];
    let sides = if sides[0] == sides[1] {
        &sides[..1]
    } else {
        &sides[..]
    };
    for side in sides {
        let (before, after): (Vec<TaskId>, Vec<TaskId>) =
            (best.order.iter()).partition(|t| side[t.index()]);
        let mut plain = before.clone();
        plain.extend(&after);
        // The task that was at the peak right behind the cut, where it needs least.
        let mut at_once = before.clone();
        at_once.push(task);
        at_once.extend(after.iter().filter(|&&t| t != task));
        divided.push((plain.clone(), before.len()));
        work.pay(2 * section.steps())?;
        if best.offer(section, plain) || best.offer(section, at_once) {
            return Ok(true);
        }
    }
    Ok(false)
}
