//! The intervals of a chain one after the other: components merged into an order, their bounds added up, the smallest
//! refusal. Knows solved components, not how they were solved.

use super::ids::{ClassId, ComponentId, IntervalId};
use super::knowledge::Knowledge;
use super::refusal::{Conflict, Corner, Crossing, Refusal};
use super::solved::Solved;
use super::witness::{self, Witnesses};
use crate::budgets::decide::SUMS;
use crate::counts::gained;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Price, Work, convolve, narrow, signed, wide};
use cairn_theory::merge::largest_merge;
use hashbrown::HashMap;

/// A chain of sets of nonsinks through which every IC-optimal order passes, and a bound on all gains.
#[derive(Clone, Debug)]
pub(crate) struct StrictChain {
    /// By task: the interval in which it is executed; none for sinks.
    pub(crate) interval: Vec<Option<IntervalId>>,
    /// By interval: whether it is an edge of the hull, so that its chord bounds what lies inside.
    pub(crate) is_edge: Vec<bool>,
    /// The most that any `t` nonsinks gain, t = 0..=nonsinks.
    pub(crate) upper: Vec<u32>,
    /// Topological orders, as the rank of each task: the best of them is followed where nothing better is found.
    /// At least one.
    pub(crate) ranks: Vec<Vec<u32>>,
}

/// The intervals one after the other: order, bounds inside them, and the smallest reason to refuse.
pub(super) struct Intervals {
    /// By interval: the nonsinks executed before it; one more at the end.
    pub(super) start: Vec<usize>,
    /// By interval: its tasks.
    tasks: Vec<Vec<TaskId>>,
    /// By interval: its components.
    parts: Vec<Vec<ComponentId>>,
    /// By interval: what is gained before it.
    base: Vec<u32>,
    /// The most that `t` nonsinks gain on the way through the vertices.
    inside: Vec<u32>,
    pub(super) order: Vec<TaskId>,
    pub(super) refusal: Option<Refusal>,
}

impl Intervals {
    pub(super) fn new(chain: &StrictChain, solved: &Solved, work: &Work<'_>) -> Intervals {
        let count = chain.is_edge.len();
        let mut parts: Vec<Vec<ComponentId>> = vec![Vec::new(); count];
        let mut tasks: Vec<Vec<TaskId>> = vec![Vec::new(); count];
        for component in solved.components() {
            let placed = solved.placed(component);
            parts[placed.interval.index()].push(component);
            tasks[placed.interval.index()].extend(&placed.tasks);
        }
        let mut intervals = Intervals {
            start: vec![0],
            tasks,
            parts,
            base: vec![0],
            inside: vec![0],
            order: Vec::new(),
            refusal: None,
        };
        let mut work = work.part(SUMS);
        for interval in (0..count).map(IntervalId::new) {
            intervals.append(interval, solved, chain, &mut work);
        }
        intervals
    }

    /// Merges the components of an interval, bounds their sum, and notes why it refuses, if that is the smallest reason.
    fn append(
        &mut self,
        interval: IntervalId,
        solved: &Solved,
        chain: &StrictChain,
        work: &mut Work<'_>,
    ) {
        let j = interval.index();
        let (from, base) = (self.start[j], self.base[j]);
        let parts = &self.parts[j];
        self.start.push(from + self.tasks[j].len());
        let knowns: Vec<&Knowledge> = parts.iter().map(|&c| solved.known(c)).collect();
        // By profiles alone: whichever component is taken next, the others stay as good as they were.
        let merged = merge(parts, &knowns, solved);
        let mut taken = vec![0usize; parts.len()];
        let mut gain = 0;
        let mut reached = vec![0];
        for &unit in &merged {
            let (placed, known) = (solved.placed(parts[wide(unit)]), knowns[wide(unit)]);
            let k = &mut taken[wide(unit)];
            self.order.push(placed.tasks[known.order[*k].index()]);
            gain += known.profile[*k + 1] - known.profile[*k];
            *k += 1;
            reached.push(gain);
        }
        let sum = sum_of(parts, solved, |known| &known.upper, work);
        // Without the sum, what bounds everything bounds the inside too.
        let inside = |t: usize| {
            let all = chain.upper[from + t];
            sum.as_ref().map_or(all, |s| all.min(base + gained(s[t])))
        };
        self.inside.extend((1..reached.len()).map(inside));
        let refusing = (parts.iter().copied())
            .filter(|&c| solved.known(c).admits == Some(false))
            // The smallest is understood soonest, and cheapest to check.
            .min_by_key(|&c| solved.placed(c).tasks.len());
        let refusal = refusing.map(|c| solved.refusal_of(c, &self.start));
        let refusal = refusal.or_else(|| {
            // Then each profile is its component's best, and the largest merge attains the sum's best or nothing does.
            let all_admit = knowns.iter().all(|k| k.admits == Some(true));
            let sum = sum.as_ref().filter(|_| all_admit)?;
            let step = (0..reached.len()).find(|&t| reached[t] != gained(sum[t]))?;
            Some(Refusal::Sum {
                interval,
                from,
                to: self.start[j + 1],
                step: from + step,
                conflict: Conflict::Unknown,
            })
        });
        self.refusal = (self.refusal.take().into_iter().chain(refusal)).min_by_key(Refusal::size);
        self.base.push(base + gain);
    }

    /// Real sets inside the intervals, and some that leave the chain.
    pub(super) fn look_for_witnesses(
        &self,
        dag: &Dag,
        solved: &Solved,
        found: &mut Witnesses,
        work: &mut Work<'_>,
    ) {
        for (j, parts) in self.parts.iter().enumerate() {
            if let Some(sum) = sum_of(parts, solved, |known| &known.lower, work) {
                for (t, &gain) in sum.iter().enumerate() {
                    found.note(self.start[j] + t, self.base[j] + gained(gain));
                }
            }
        }
        witness::greedy(dag, &self.tasks, found, work);
        found.settle();
    }

    /// A witness above what the vertices around it allow; of two vertices perhaps one is enough.
    pub(super) fn crossing(&self, found: &Witnesses) -> Option<Crossing> {
        let crosses = |t: &usize| found.gain(*t) > self.inside[*t];
        let all = (0..self.inside.len()).filter(crosses);
        // Prefer one whose set can be shown.
        let step = all.min_by_key(|&t| (found.set(t).is_none(), t))?;
        let interval = IntervalId::new(self.start.partition_point(|&s| s <= step) - 1);
        // The empty set and the full one are in nobody's way.
        let corner = |at: usize| {
            (0 < at && at + 1 < self.start.len()).then(|| Corner {
                step: self.start[at],
                set: self.tasks[..at].concat(),
            })
        };
        Some(Crossing {
            before: corner(interval.index()),
            after: corner(interval.index() + 1),
            step,
            interval,
            gain: found.gain(step),
            set: found.set(step).map(<[TaskId]>::to_vec),
            inside: self.inside[step],
        })
    }
}

fn merge(parts: &[ComponentId], knowns: &[&Knowledge], solved: &Solved) -> Vec<u32> {
    let mut profiles: Vec<&[u32]> = Vec::new();
    let mut number: HashMap<ClassId, u32> = HashMap::new();
    let units: Vec<u32> = (parts.iter().zip(knowns))
        .map(|(&component, known)| {
            *number.entry(solved.class(component)).or_insert_with(|| {
                profiles.push(&known.profile);
                narrow(profiles.len()) - 1
            })
        })
        .collect();
    largest_merge(&profiles, &units)
}

/// The (max,+) convolution over the components of one interval, equal ones by repeated doubling.
fn sum_of(
    parts: &[ComponentId],
    solved: &Solved,
    profile: impl Fn(&Knowledge) -> &Vec<u32>,
    work: &mut Work<'_>,
) -> Option<Vec<i32>> {
    let mut classes: Vec<ClassId> = parts.iter().map(|&c| solved.class(c)).collect();
    classes.sort_unstable();
    let mut sum = vec![0];
    for run in classes.chunk_by(|a, b| a == b) {
        let mut power = signed(profile(solved.of_class(run[0])));
        let mut left = run.len();
        while left > 0 {
            if left % 2 == 1 {
                sum = convolve(&sum, &power, None, Price::Time, work)?;
            }
            left /= 2;
            if left > 0 {
                power = convolve(&power, &power, None, Price::Time, work)?;
            }
        }
    }
    Some(sum)
}
