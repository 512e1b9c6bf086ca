//! Bounds and witnesses across intervals: neighbouring intervals are thrown together where a gap is left.
//! Knows solved components and the forest, not how verdicts are reached.

use super::component::{Component, NONE, components};
use super::cutset::Cutset;
use super::forest::{Forest, Part};
use super::frontier::Frontier;
use super::intervals::Chain;
use super::knowledge::{Knowledge, Method};
use super::macro_states::{MacroStates, gate_order};
use super::solved::Solved;
use super::witness::{Witnesses, note_prefixes};
use crate::budgets::decide::{ALLOCATIONS, window};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, convolve_within, signed};
use std::collections::{HashMap, HashSet};

/// Everything a window needs to know of the chain.
pub(super) struct Windows<'a> {
    dag: &'a Dag,
    chain: &'a Chain,
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
        chain: &'a Chain,
        solved: &'a Solved,
        start: &'a [usize],
    ) -> Windows<'a> {
        Windows {
            upper: solved.known.iter().map(|k| signed(&k.upper)).collect(),
            dag,
            chain,
            solved,
            start,
        }
    }

    /// The forest of all components, with `upper` lowered to its bound as far as the budget allows.
    pub(super) fn lower(&self, upper: &mut [u32], work: &mut Work<'_>) -> Option<Forest> {
        let forest = Forest::new(self.dag, &self.parts_outside(NONE, NONE), work)?;
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
        let parts = self.parts_outside(NONE, NONE);
        work.lend(ALLOCATIONS, |part| {
            self.note_allocations(forest, &parts, upper, found, part);
        });
        found.settle();
        let intervals = self.start.len() - 1;
        let mut tried = HashSet::new();
        let mut memo = HashMap::new();
        for radius in 0..2 * intervals {
            for (a, b) in self.gaps(upper, found, radius) {
                if a == b || !tried.insert((a, b)) || !self.is_open(a, b, upper, found) {
                    continue;
                }
                if self
                    .look_into(a, b, upper, found, &mut memo, work)
                    .is_none()
                    && work.is_over()
                {
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
        a: usize,
        b: usize,
        t: usize,
        goal: u32,
        work: &mut Work<'_>,
    ) -> Option<u32> {
        let left = t - self.start[a];
        let base = self.gained_before(a as u32);
        let here = (self.solved.placed.iter().zip(&self.solved.class))
            .filter(|(p, _)| (a..=b).contains(&(p.interval as usize)));
        let apart = sum_at(here.map(|(_, &class)| &self.upper[class]), left, work);
        if let Some(gain) = apart.filter(|&gain| base + gain < goal) {
            return Some(base + gain);
        }
        let together = self.window_parts(a as u32, b as u32, &mut HashMap::new(), work)?;
        let gain = sum_at(together.iter().map(|part| &part.profile), left, work)?;
        Some(base + gain)
    }

    /// Windows of the given radius around each step with a gap.
    fn gaps(&self, upper: &[u32], found: &Witnesses, radius: usize) -> Vec<(usize, usize)> {
        let last = self.start.len() - 2;
        let mut windows: Vec<(usize, usize)> = (0..upper.len())
            .filter(|&t| upper[t] > found.gain(t))
            .map(|t| {
                let j = self.start.partition_point(|&s| s < t) - 1;
                match radius {
                    0 => (j.saturating_sub(1), j),
                    1 => (j, (j + 1).min(last)),
                    r => (j.saturating_sub(r / 2 + 1), (j + r / 2 + r % 2).min(last)),
                }
            })
            .collect();
        windows.dedup();
        windows
    }

    fn is_open(&self, a: usize, b: usize, upper: &[u32], found: &Witnesses) -> bool {
        (self.start[a]..=self.start[b + 1]).any(|t| upper[t] > found.gain(t))
    }

    /// The components of all intervals but `a..=b`, as parts of the forest.
    fn parts_outside(&self, a: u32, b: u32) -> Vec<Part<'_>> {
        (self.solved.placed.iter().zip(&self.solved.class))
            .filter(|(p, _)| a == NONE || p.interval < a || p.interval > b)
            .map(|(placed, &class)| Part {
                upper: &self.upper[class],
                tasks: &placed.tasks,
                entries: placed.entries(),
                interval: placed.interval,
            })
            .collect()
    }

    /// Solves the window as one interval; `None` when a part of it is too hard or the budget is gone.
    fn look_into(
        &self,
        a: usize,
        b: usize,
        upper: &mut [u32],
        found: &mut Witnesses,
        memo: &mut HashMap<Component, Option<Vec<i32>>>,
        work: &mut Work<'_>,
    ) -> Option<()> {
        let inside = self.window_parts(a as u32, b as u32, memo, work)?;
        let mut sum = vec![0];
        for part in &inside {
            sum = convolve_within(&sum, &part.profile, usize::MAX, work)?;
        }
        let base = self.gained_before(a as u32);
        for (t, &gain) in sum.iter().enumerate() {
            found.note(self.start[a] + t, base + gain as u32);
        }
        let mut parts = self.parts_outside(a as u32, b as u32);
        parts.extend(inside.iter().map(|part| Part {
            upper: &part.profile,
            tasks: &part.tasks,
            entries: part.entries.clone(),
            interval: a as u32,
        }));
        let forest = Forest::new(self.dag, &parts, work)?;
        lower_to(upper, &forest.bound(work)?);
        Some(())
    }

    fn window_parts(
        &self,
        a: u32,
        b: u32,
        memo: &mut HashMap<Component, Option<Vec<i32>>>,
        work: &mut Work<'_>,
    ) -> Option<Vec<WindowPart>> {
        if !work.spend((self.dag.len() + self.dag.arc_count()) as u64) {
            return None;
        }
        // Before, inside, and never.
        let thrown_together: Vec<u32> = (self.chain.interval.iter())
            .map(|&i| match i {
                i if i < a => 0,
                i if i <= b => 1,
                _ => NONE,
            })
            .collect();
        (components(self.dag, &thrown_together, Some(1)).into_iter())
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

    fn gained_before(&self, interval: u32) -> u32 {
        let before = self.solved.placed.iter().filter(|p| p.interval < interval);
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
        let orders: Vec<Vec<TaskId>> = (self.solved.placed.iter().zip(&self.solved.class))
            .map(|(placed, &class)| {
                let order = self.solved.known[class].order.iter();
                order.map(|&v| placed.tasks[v as usize]).collect()
            })
            .collect();
        for t in 0..upper.len() {
            if upper[t] == found.gain(t) {
                continue;
            }
            let Some(allocation) = forest.allocation(parts, t, work) else {
                return;
            };
            let prefixes: Vec<&[TaskId]> = (orders.iter().zip(&allocation))
                .map(|(o, &k)| &o[..k])
                .collect();
            if prefixes.iter().map(|p| p.len()).sum::<usize>() == t
                && work.spend(self.dag.arc_count() as u64)
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
        if !work.spend(1) {
            return None;
        }
        sum = convolve_within(&sum, profile, t, work)?;
    }
    sum.get(t).map(|&gain| gain as u32)
}

fn exact_profile(component: &Component, work: &mut Work<'_>) -> Option<Vec<i32>> {
    let start = vec![component.total(); component.nodes() + 1];
    let mut known = Knowledge::new(component, start, gate_order(component));
    let methods: [(&dyn Method, u64); 3] = [
        (&MacroStates { beam: None }, window::STATES),
        (&Cutset { most: 12 }, window::TREES),
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
        *have = (*have).min(new as u32);
    }
}
