//! Bounds and witnesses across intervals: neighbouring intervals are thrown together where a gap is left.
//! Knows solved components and the forest, not how verdicts are reached.

use super::component::{Component, components, gate_order};
use super::forest::{Forest, Part};
use super::frontier::Frontier;
use super::ids::{ComponentId, IntervalId};
use super::intervals::StrictChain;
use super::knowledge::{Knowledge, Method};
use super::macro_states::MacroStates;
use super::solved::Solved;
use super::tree_program::TreeProgram;
use super::witness::{Witnesses, note_prefixes};
use crate::budgets::decide::{ALLOCATIONS, window};
use crate::counts::gained;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Price, Work, convolve, long, signed};
use hashbrown::{HashMap, HashSet};

/// Everything a window needs to know of the chain.
pub(super) struct Windows<'a> {
    dag: &'a Dag,
    chain: &'a StrictChain,
    solved: &'a Solved,
    /// By interval: nonsinks executed before it; one more at the end.
    start: &'a [usize],
    /// By class: its bound.
    upper: Vec<Vec<i32>>,
}

/// A component of a window: its tasks, where it may start, and its exact profile.
struct WindowPart {
    profile: Vec<i32>,
    tasks: Vec<TaskId>,
    entries: Vec<TaskId>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(
        dag: &'a Dag,
        chain: &'a StrictChain,
        solved: &'a Solved,
        start: &'a [usize],
    ) -> Windows<'a> {
        Windows {
            upper: solved.classes().map(|(_, k)| signed(&k.upper)).collect(),
            dag,
            chain,
            solved,
            start,
        }
    }

    /// The forest of all components, with `upper` lowered to its bound as far as the budget allows.
    pub(super) fn lower(&self, upper: &mut [u32], work: &mut Work<'_>) -> Option<Forest> {
        let forest = Forest::new(self.dag, &self.parts_outside(None), work)?;
        if let Some(bound) = forest.bound(work) {
            lower_to(upper, &bound);
        }
        Some(forest)
    }

    /// Lowers `upper` and raises `found` until they meet, nothing helps, or the budget is gone. `forest` is that of
    /// [`lower`](Windows::lower).
    pub(super) fn tighten(
        &self,
        forest: &Forest,
        upper: &mut [u32],
        found: &mut Witnesses,
        work: &mut Work<'_>,
    ) {
        let parts = self.parts_outside(None);
        work.lend(ALLOCATIONS, |part| {
            self.note_allocations(forest, &parts, upper, found, part);
        });
        found.settle();
        let intervals = self.start.len() - 1;
        let mut tried = HashSet::new();
        let mut memo = HashMap::new();
        // Small windows first, for they are cheap. Radius 0 and 1 are the pairs to either side.
        for radius in 0..2 * intervals {
            // Asked anew for every radius: what was closed meanwhile needs no window.
            for window in self.gaps(upper, found, radius) {
                let is_one = window[0] == window[1];
                // One interval alone was solved before; a window without a gap has nothing to give.
                if is_one || !tried.insert(window) || !self.is_open(window, upper, found) {
                    continue;
                }
                let looked = self.look_into(window, upper, found, &mut memo, work);
                // A window that was only too hard does not end the others.
                if looked.is_none() && work.is_over() {
                    return;
                }
            }
            found.settle();
            if upper.iter().zip(found.gains()).all(|(u, w)| u == w) {
                return;
            }
        }
    }

    /// A bound on what `t` nonsinks gain that are all of those before interval `a` and none of those after `b`: first
    /// from the components as they are, and if that is not below `goal`, from the intervals thrown together.
    pub(super) fn most(
        &self,
        [a, b]: [IntervalId; 2],
        t: usize,
        goal: u32,
        work: &mut Work<'_>,
    ) -> Option<u32> {
        let left = t - self.start[a.index()];
        let base = self.gained_before(a);
        let is_here = |c: &ComponentId| (a..=b).contains(&self.solved.placed(*c).interval);
        let here = self.solved.components().filter(is_here);
        let apart = sum_at(here.map(|c| self.upper(c)), left, work);
        if let Some(gain) = apart.filter(|&gain| base + gain < goal) {
            return Some(base + gain);
        }
        let together = self.window_parts([a, b], &mut HashMap::new(), work)?;
        let gain = sum_at(together.iter().map(|part| &part.profile), left, work)?;
        Some(base + gain)
    }

    /// The last interval.
    pub(super) fn last(&self) -> IntervalId {
        IntervalId::new(self.start.len() - 2)
    }

    /// Windows of the given radius around each step with a gap.
    fn gaps(&self, upper: &[u32], found: &Witnesses, radius: usize) -> Vec<[IntervalId; 2]> {
        let last = self.last().index();
        let mut windows: Vec<[IntervalId; 2]> = (0..upper.len())
            .filter(|&t| upper[t] > found.gain(t))
            .map(|t| {
                // Nothing is gained after no step, and everybody knows it: t is at least 1, and the first interval starts at 0.
                let j = self.start.partition_point(|&s| s < t) - 1;
                // Wider by one neighbour each time, before and behind in turn.
                let ends = match radius {
                    0 => [j.saturating_sub(1), j],
                    1 => [j, (j + 1).min(last)],
                    r => [j.saturating_sub(r / 2 + 1), (j + r / 2 + r % 2).min(last)],
                };
                ends.map(IntervalId::new)
            })
            .collect();
        windows.dedup();
        windows
    }

    fn is_open(&self, [a, b]: [IntervalId; 2], upper: &[u32], found: &Witnesses) -> bool {
        (self.start[a.index()]..=self.start[b.index() + 1]).any(|t| upper[t] > found.gain(t))
    }

    /// The components of all intervals but those of a window, as parts of the forest.
    fn parts_outside(&self, window: Option<[IntervalId; 2]>) -> Vec<Part<'_>> {
        let is_outside =
            |interval| window.is_none_or(|[a, b]: [IntervalId; 2]| !(a..=b).contains(&interval));
        (self.solved.components())
            .map(|c| (c, self.solved.placed(c)))
            .filter(|(_, placed)| is_outside(placed.interval))
            .map(|(c, placed)| Part {
                upper: self.upper(c),
                tasks: &placed.tasks,
                entries: placed.entries(),
                interval: placed.interval,
            })
            .collect()
    }

    /// The bound of a component.
    fn upper(&self, component: ComponentId) -> &Vec<i32> {
        &self.upper[self.solved.class(component).index()]
    }

    /// Solves the window as one interval; `None` when a part of it is too hard or the budget is gone.
    fn look_into(
        &self,
        window: [IntervalId; 2],
        upper: &mut [u32],
        found: &mut Witnesses,
        memo: &mut HashMap<Component, Option<Vec<i32>>>,
        work: &mut Work<'_>,
    ) -> Option<()> {
        let inside = self.window_parts(window, memo, work)?;
        let mut sum = vec![0];
        for part in &inside {
            sum = convolve(&sum, &part.profile, None, Price::Time, work)?;
        }
        let [first, _] = window;
        let base = self.gained_before(first);
        for (t, &gain) in sum.iter().enumerate() {
            found.note(self.start[first.index()] + t, base + gained(gain));
        }
        let mut parts = self.parts_outside(Some(window));
        parts.extend(inside.iter().map(|part| Part {
            upper: &part.profile,
            tasks: &part.tasks,
            entries: part.entries.clone(),
            // Its parts stand at the window's beginning, so that what they wait for lies no later, and what waits for
            // them no earlier.
            interval: first,
        }));
        let forest = Forest::new(self.dag, &parts, work)?;
        lower_to(upper, &forest.bound(work)?);
        Some(())
    }

    fn window_parts(
        &self,
        [a, b]: [IntervalId; 2],
        memo: &mut HashMap<Component, Option<Vec<i32>>>,
        work: &mut Work<'_>,
    ) -> Option<Vec<WindowPart>> {
        work.take(long(self.dag.len() + self.dag.arc_count()))?;
        // Before, inside, and never.
        let [before, inside] = [0, 1].map(IntervalId::new);
        let thrown_together: Vec<Option<IntervalId>> = (self.chain.interval.iter())
            .map(|&interval| match interval? {
                i if i < a => Some(before),
                i if i <= b => Some(inside),
                // Never executed, so that its rewards count for nobody.
                _ => None,
            })
            .collect();
        (components(self.dag, &thrown_together, Some(inside)).into_iter())
            .map(|placed| {
                let known = memo.get(&placed.component).cloned();
                let profile = known.unwrap_or_else(|| {
                    let profile = exact_profile(&placed.component, work);
                    memo.insert(placed.component.clone(), profile.clone());
                    profile
                })?;
                Some(WindowPart {
                    entries: placed.entries(),
                    tasks: placed.tasks,
                    profile,
                })
            })
            .collect()
    }

    fn gained_before(&self, interval: IntervalId) -> u32 {
        let placed = self.solved.components().map(|c| self.solved.placed(c));
        let before = placed.filter(|p| p.interval < interval);
        before.map(|p| p.component.total()).sum()
    }

    /// Real sets near the forest's own optimum, from prefixes of the components' orders.
    fn note_allocations(
        &self,
        forest: &Forest,
        parts: &[Part<'_>],
        upper: &[u32],
        found: &mut Witnesses,
        work: &mut Work<'_>,
    ) {
        let components = self.solved.components();
        let orders: Vec<Vec<TaskId>> = components.map(|c| self.solved.order(c)).collect();
        let Some(mut sharing) = forest.sharing(work) else {
            return;
        };
        for t in 0..upper.len() {
            if upper[t] == found.gain(t) {
                continue;
            }
            let Some(allocation) = sharing.allocation(parts, t, work) else {
                return;
            };
            let prefixes: Vec<&[TaskId]> = (orders.iter().zip(&allocation))
                .map(|(o, &k)| &o[..k])
                .collect();
            // An allocation may fall short where so many cannot be met exactly; then it shows nothing at `t`.
            if prefixes.iter().map(|p| p.len()).sum::<usize>() == t
                && work.spend(long(self.dag.arc_count()))
            {
                note_prefixes(self.dag, &prefixes, found);
            }
        }
    }
}

/// The best sum of the profiles at `t`; `None` when the budget runs out.
fn sum_at<'p>(
    profiles: impl Iterator<Item = &'p Vec<i32>>,
    t: usize,
    work: &mut Work<'_>,
) -> Option<u32> {
    let mut sum = vec![0];
    for profile in profiles {
        work.take(1)?;
        sum = convolve(&sum, profile, Some(t), Price::Time, work)?;
    }
    sum.get(t).map(|&gain| gained(gain))
}

fn exact_profile(component: &Component, work: &mut Work<'_>) -> Option<Vec<i32>> {
    // A window is no edge of the hull, so there is no chord: all of the rewards is the bound to begin with.
    let start = vec![component.total(); component.nodes() + 1];
    let mut known = Knowledge::new(component, start, gate_order(component));
    let methods: [(&dyn Method, u64); 3] = [
        (&MacroStates { beam: None }, window::STATES),
        (
            &TreeProgram {
                most: window::MOST_SET,
            },
            window::TREES,
        ),
        (&Frontier, window::FRONTIER),
    ];
    for (method, steps) in methods {
        work.lend(steps, |part| known.learn(method, component, part));
        if known.is_exact() {
            return Some(signed(&known.upper));
        }
    }
    None
}

fn lower_to(upper: &mut [u32], bound: &[i32]) {
    for (have, &new) in upper.iter_mut().zip(bound) {
        *have = (*have).min(gained(new));
    }
}
