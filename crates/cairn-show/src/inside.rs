//! Opens up groups whose tasks wait for each other: by chains, by depth, by what surrounds them. Knows groups as parts.

use crate::budgets::groups::SURROUNDINGS;
use crate::partition::Parts;
use cairn_dag::{Dag, TaskId, narrow, wide};
use cairn_kernel::mix;

/// Parts that hold at least one of so many arcs of the dag inside are opened.
// A third of all arcs: a box that hides so much makes the picture say little. By eye, as the next.
const HIDDEN: usize = 3;
/// Degrees are told apart where the next larger is at least so many times as large.
// By eye: degrees within a factor of four look alike in a drawing; a hub stands out.
const GAP: usize = 4;

/// Which parts hide much: many of the dag's arcs lie inside.
pub(crate) fn hiding(dag: &Dag, parts: &Parts) -> Vec<bool> {
    let mut inside = vec![0usize; parts.count];
    for (u, v) in dag.arcs() {
        let part = parts.of[u.index()];
        inside[wide(part)] += usize::from(part == parts.of[v.index()]);
    }
    let hides = |&arcs: &usize| arcs > 0 && arcs * HIDDEN >= dag.arc_count();
    inside.iter().map(hides).collect()
}

/// Chains inside the chosen parts become one item each: arcs whose tail has no other child and whose head no other
/// parent.
pub(crate) fn chains(dag: &Dag, parts: &Parts, chosen: &[bool]) -> Parts {
    let mut leader: Vec<u32> = (0..narrow(dag.len())).collect();
    for &task in dag.topological_order() {
        if let [parent] = *dag.parents(task)
            && dag.children(parent).len() == 1
            && parts.of[task.index()] == parts.of[parent.index()]
            && chosen[wide(parts.of[task.index()])]
        {
            leader[task.index()] = leader[parent.index()];
        }
    }
    Parts::by_key(leader.into_iter())
}

/// Divides the chosen parts by the depth inside them, in bands if there are too many depths; then by what surrounds the
/// items, as long as there are at most `most` parts.
///
/// The quotient stays acyclic: depth grows along arcs inside a part, and items of one depth have no arc between them.
pub(crate) fn open(dag: &Dag, parts: &Parts, chosen: &[bool], most: usize) -> Parts {
    let mut depth = vec![0u32; dag.len()];
    let mut depths = vec![1u32; parts.count];
    for &task in dag.topological_order() {
        let part = parts.of[task.index()];
        if chosen[wide(part)] {
            let inside = dag.parents(task).iter().map(|p| p.index());
            let inside = inside.filter(|&p| parts.of[p] == part);
            depth[task.index()] = inside.map(|p| depth[p] + 1).max().unwrap_or(0);
            depths[wide(part)] = depths[wide(part)].max(depth[task.index()] + 1);
        }
    }
    // The room left goes to the chosen parts by their depths.
    let closed = chosen.iter().filter(|c| !**c).count();
    let room = most.saturating_sub(closed).max(1) as u64;
    let wanted: u64 = (depths.iter().zip(chosen))
        .filter(|(_, c)| **c)
        .map(|(d, _)| u64::from(*d))
        .sum();
    let bands = |part: u32| {
        let all = u64::from(depths[wide(part)]);
        if wanted <= room {
            all
        } else {
            (all * room / wanted).max(1)
        }
    };
    let band = |t: usize| {
        let part = parts.of[t];
        let per_band = u64::from(depths[wide(part)]).div_ceil(bands(part));
        u64::from(depth[t]) / per_band.max(1)
    };
    let mut finer = Parts::by_key((0..dag.len()).map(|t| (parts.of[t], band(t))));
    if wanted > room {
        return finer;
    }
    let open: Vec<bool> = parts.of.iter().map(|&part| chosen[wide(part)]).collect();
    for _ in 0..SURROUNDINGS {
        let next = by_surroundings(dag, &finer, &open);
        if next.count > most || next.count == finer.count {
            break;
        }
        finer = next;
    }
    finer
}

/// Splits parts by the sets of parts around their items, and where degrees have a wide gap.
fn by_surroundings(dag: &Dag, parts: &Parts, open: &[bool]) -> Parts {
    let classes = [
        degree_classes(parts, |t| dag.parents(t).len()),
        degree_classes(parts, |t| dag.children(t).len()),
    ];
    let set = |near: &[TaskId]| {
        let mut set: Vec<u32> = near.iter().map(|t| parts.of[t.index()]).collect();
        set.sort_unstable();
        set.dedup();
        set.iter()
            .fold(0, |hash, &part| mix(hash ^ u64::from(part)))
    };
    Parts::by_key(dag.tasks().map(|t| {
        let own = mix(u64::from(parts.of[t.index()]));
        if !open[t.index()] {
            return own;
        }
        let degrees = (u64::from(classes[0][t.index()]) << 32) | u64::from(classes[1][t.index()]);
        mix(own ^ mix(set(dag.parents(t)) ^ mix(set(dag.children(t)) ^ mix(degrees))))
    }))
}

/// For each item how many wide gaps lie below its degree among the degrees of its part.
fn degree_classes(parts: &Parts, degree: impl Fn(TaskId) -> usize) -> Vec<u32> {
    let mut class = vec![0u32; parts.of.len()];
    let mut sorted: Vec<(u32, usize, u32)> = (parts.of.iter().zip(0u32..))
        .map(|(&part, item)| (part, degree(TaskId(item)), item))
        .collect();
    sorted.sort_unstable();
    for i in 1..sorted.len() {
        let ((part, less, before), (same, more, item)) = (sorted[i - 1], sorted[i]);
        if part == same {
            let is_gap = more >= GAP * less.max(1) || (less == 0 && more > 0);
            class[wide(item)] = class[wide(before)] + u32::from(is_gap);
        }
    }
    class
}
