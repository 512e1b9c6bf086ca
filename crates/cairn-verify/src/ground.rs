//! What claims are held against: the dag, its hull, and the parts that both give. Knows no certificate.

use crate::exact::Solver;
use crate::forest;
use crate::hull::Hull;
use crate::parts::{Placed, parts, sum};
use crate::width::{long, wide};
use cairn_dag::Flow;

/// A dag with a hull that was proved.
pub(crate) struct Ground<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) hull: &'a Hull,
    /// The parts of the intervals between corners of the hull.
    pub(crate) inside: Vec<Placed>,
    /// The parts of the whole dag.
    pub(crate) whole: Vec<Placed>,
    sources: u64,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(flow: &'a Flow, hull: &'a Hull) -> Ground<'a> {
        let dag = flow.dag();
        Ground {
            flow,
            hull,
            inside: parts(dag, &hull.interval, true),
            whole: parts(dag, &vec![0; dag.len()], true),
            sources: long(dag.sources().count()),
        }
    }

    /// What is eligible after t steps, when t steps gain so much.
    pub(crate) fn eligible(&self, t: usize, gain: u64) -> u64 {
        (self.sources + gain).saturating_sub(long(t))
    }

    /// The most that can be eligible after each step, by the hull.
    pub(crate) fn by_hull(&self) -> Vec<u64> {
        (0..=self.flow.dag().len())
            .map(|t| self.eligible(t, self.hull.at(long(t))))
            .collect()
    }
}

/// The most that all these parts can gain together, for each number of tasks; `None` if that is too much to find out.
pub(crate) fn exact_sum(parts: &[Placed], solver: &mut Solver) -> Option<Vec<u64>> {
    let profile = |placed: &Placed| solver.profile(&placed.part);
    let profiles: Vec<Vec<u64>> = parts.iter().map(profile).collect::<Option<_>>()?;
    let lists: Vec<&[u64]> = profiles.iter().map(Vec::as_slice).collect();
    sum(&lists, &mut solver.work)
}

/// A bound on what these parts can gain together, each within one interval of the hull.
pub(crate) fn upper(hull: &Hull, parts: &[&Placed], solver: &mut Solver) -> Option<Vec<u64>> {
    let bound = |placed: &&Placed| {
        (solver.profile(&placed.part)).unwrap_or_else(|| under_hull(hull, placed))
    };
    let profiles: Vec<Vec<u64>> = parts.iter().map(bound).collect();
    let lists: Vec<&[u64]> = profiles.iter().map(Vec::as_slice).collect();
    sum(&lists, &mut solver.work)
}

/// The hull above the part's group as a bound for the part: together with all that comes before the group, tasks of the
/// part are an ideal.
fn under_hull(hull: &Hull, placed: &Placed) -> Vec<u64> {
    let from = hull.corners[wide(placed.group)];
    let all = long(placed.part.rewards.len());
    // No underflow: the hull never falls, and at the corner it is just that.
    let share = |x: u64| all.min(hull.at(from.0 + x) - from.1);
    (0..=long(placed.tasks.len())).map(share).collect()
}

/// A bound on what any tasks gain together, with the intervals from `first` to `last` taken as one; `None` if that is too
/// much to find out.
pub(crate) fn across(
    ground: &Ground<'_>,
    (first, last): (u32, u32),
    solver: &mut Solver,
) -> Option<Vec<u64>> {
    let dag = ground.flow.dag();
    solver.work.take(long(dag.len() + dag.arc_count()))?;
    // Numbers may be left out in between: only their order matters.
    let group = |&j: &u32| if j <= last { j.min(first) } else { j };
    let groups: Vec<u32> = ground.hull.interval.iter().map(group).collect();
    let placed = parts(dag, &groups, true);
    let bound = |placed: &Placed| {
        (solver.glance(&placed.part)).unwrap_or_else(|| under_hull(ground.hull, placed))
    };
    let profiles: Vec<Vec<u64>> = placed.iter().map(bound).collect();
    forest::bound(dag, &placed, &profiles, &mut solver.work)
}
