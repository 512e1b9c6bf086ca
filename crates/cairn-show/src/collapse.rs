//! Makes a large dag small enough to look at: tasks become super-nodes. Knows nothing of drawing.

use crate::layout::{depths, levels};
use crate::text;
use cairn_dag::{Dag, TaskId};

/// What a node of the drawing stands for, from fine to coarse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// One task.
    Tasks,
    /// Tasks of one group with the same parents and the same children.
    Twins,
    /// One group, or a level of a group where groups wait for each other in a circle.
    Groups,
    /// The tasks of one group that lie on one level.
    GroupLevels,
    /// Groups (or tasks, when there are no groups) of one kind, on one level, with like surroundings.
    Alike,
    /// One level.
    Levels,
    /// Several successive levels.
    Bands,
}

/// The tasks of the whole dag, ready to be collapsed.
pub(crate) struct Whole<'a> {
    pub(crate) dag: &'a Dag,
    /// Group of each task, dense.
    pub(crate) group: Vec<u32>,
    /// Number of groups; 0 when the caller gave none.
    pub(crate) groups: usize,
    /// Kind of each group: equal kinds look alike and may be merged.
    pub(crate) kind: Vec<u32>,
}

/// How much one drawing may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) nodes: usize,
    /// Nodes on one level.
    pub(crate) row: usize,
    /// Tasks on one level, when every node is one task.
    pub(crate) task_row: usize,
    /// Nodes that are whole levels or bands of levels: they stand in one long column.
    pub(crate) column: usize,
}

/// The collapsed dag.
pub(crate) struct Collapsed {
    pub(crate) detail: Detail,
    /// One node for each part.
    pub(crate) dag: Dag,
    /// The level of each node in the drawing.
    pub(crate) level: Vec<u32>,
    /// The tasks of each node, sorted.
    pub(crate) members: Vec<Vec<TaskId>>,
}

/// A partition of the tasks: a part for each task, and the number of parts.
type Parts = (Vec<u32>, usize);

/// The finest collapse that fits the limits.
///
/// Every candidate's quotient is acyclic: twins lie on one level; groups that wait for each other in a circle are cut
/// by levels first; the others only merge what lies on one level, or on successive ones. Time
/// O((tasks + arcs) · candidates), of which there are about a dozen.
pub(crate) fn collapse(whole: &Whole<'_>, limits: Limits) -> Collapsed {
    let tasks = whole.dag.len();
    let fits = |c: &Collapsed| c.dag.len() <= limits.nodes && widest(&c.level) <= limits.row;
    let identity: Parts = ((0..tasks as u32).collect(), tasks);
    let small = tasks <= limits.nodes;
    if small && widest(&levels(whole.dag)) <= limits.task_row {
        return quotient(whole.dag, Detail::Tasks, identity);
    }
    let twins = twins(whole);
    if twins.1 <= limits.nodes && twins.1 < tasks {
        let collapsed = quotient(whole.dag, Detail::Twins, twins);
        if fits(&collapsed) {
            return collapsed;
        }
    }
    let depth = depths(whole.dag);
    let mut coarse = Vec::new();
    let units = if whole.groups > 0 {
        acyclic_groups(whole, &depth)
    } else {
        identity.clone()
    };
    if whole.groups > 0 && units.1 <= limits.nodes {
        coarse.push((Detail::Groups, units.clone()));
        // A handful of huge groups says little: show their levels.
        if units.1 < 4 {
            let by_level =
                renumber((0..tasks).map(|t| (u64::from(units.0[t]) << 32) | u64::from(depth[t])));
            coarse.insert(0, (Detail::GroupLevels, by_level));
        }
    }
    coarse.extend(alike(whole, &units, limits).map(|parts| (Detail::Alike, parts)));
    let level_count = depth.iter().max().map_or(0, |&d| d as usize + 1);
    let column = limits.column.min(limits.nodes).max(1);
    if level_count <= column {
        coarse.push((Detail::Levels, (depth.clone(), level_count)));
    }
    for (detail, parts) in coarse {
        // Fewer than four nodes are no picture of a dag that would fit as a whole.
        if parts.1 <= limits.nodes && !(small && parts.1 < 4) {
            let collapsed = quotient(whole.dag, detail, parts);
            if fits(&collapsed) {
                return collapsed;
            }
        }
    }
    if small {
        return quotient(whole.dag, Detail::Tasks, identity);
    }
    let per_band = level_count.div_ceil(column).max(1) as u32;
    let bands = renumber(depth.iter().map(|d| u64::from(d / per_band)));
    quotient(whole.dag, Detail::Bands, bands)
}

/// The number of nodes on the fullest level.
fn widest(level: &[u32]) -> usize {
    let mut counts = vec![0usize; level.iter().max().map_or(0, |&l| l as usize + 1)];
    for &l in level {
        counts[l as usize] += 1;
    }
    counts.into_iter().max().unwrap_or(0)
}

/// One node for each part, an arc wherever tasks of two parts have one.
fn quotient(dag: &Dag, detail: Detail, (part, count): Parts) -> Collapsed {
    let mut members = vec![Vec::new(); count];
    for task in dag.tasks() {
        members[part[task.index()] as usize].push(task);
    }
    let arcs = (dag.arcs())
        .map(|(u, v)| (part[u.index()], part[v.index()]))
        .filter(|(a, b)| a != b)
        .collect();
    let dag =
        Dag::from_arcs(count, arcs).expect("the parts do not wait for each other in a circle");
    let level = levels(&dag);
    Collapsed {
        detail,
        dag,
        level,
        members,
    }
}

/// Numbers equal keys alike, in order of first appearance.
fn renumber(keys: impl ExactSizeIterator<Item = u64>) -> Parts {
    let mut sorted: Vec<(u64, u32)> = keys.enumerate().map(|(i, key)| (key, i as u32)).collect();
    let tasks = sorted.len();
    sorted.sort_unstable();
    // First the least index among equal keys for each index, then dense numbers.
    let mut first = vec![0u32; tasks];
    let mut leader = 0;
    for (i, &(key, index)) in sorted.iter().enumerate() {
        if i == 0 || sorted[i - 1].0 != key {
            leader = index;
        }
        first[index as usize] = leader;
    }
    let mut part = vec![0u32; tasks];
    let mut count = 0;
    for i in 0..tasks {
        part[i] = if first[i] as usize == i {
            count
        } else {
            part[first[i] as usize]
        };
        count += u32::from(first[i] as usize == i);
    }
    (part, count as usize)
}

/// A well-mixed 64-bit number (the finaliser of SplitMix64).
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Tasks of one group with equal parents and children. Equality is checked, not only hashed.
fn twins(whole: &Whole<'_>) -> Parts {
    let dag = whole.dag;
    let hash =
        |tasks: &[TaskId], seed: u64| tasks.iter().fold(seed, |h, t| mix(h ^ u64::from(t.0)));
    let same = |a: TaskId, b: TaskId| {
        whole.group[a.index()] == whole.group[b.index()]
            && dag.parents(a) == dag.parents(b)
            && dag.children(a) == dag.children(b)
    };
    let signature = |t: TaskId| {
        let seed = mix(u64::from(whole.group[t.index()]));
        hash(dag.children(t), mix(hash(dag.parents(t), seed)))
    };
    let (mut part, count) = renumber(dag.tasks().map(signature));
    let mut leader = vec![None; count];
    let mut total = count;
    for t in dag.tasks() {
        let first = *leader[part[t.index()] as usize].get_or_insert(t);
        if !same(first, t) {
            part[t.index()] = total as u32;
            total += 1;
        }
    }
    (part, total)
}

/// The groups, those on or between circles of groups cut by levels.
fn acyclic_groups(whole: &Whole<'_>, depth: &[u32]) -> Parts {
    let mut arcs: Vec<(u32, u32)> = (whole.dag.arcs())
        .map(|(u, v)| (whole.group[u.index()], whole.group[v.index()]))
        .filter(|(a, b)| a != b)
        .collect();
    arcs.sort_unstable();
    arcs.dedup();
    let mut alive = vec![true; whole.groups];
    peel(&arcs, &mut alive);
    for arc in &mut arcs {
        *arc = (arc.1, arc.0);
    }
    arcs.sort_unstable();
    peel(&arcs, &mut alive);
    renumber((0..whole.dag.len()).map(|t| {
        let group = whole.group[t];
        let level = if alive[group as usize] {
            depth[t] + 1
        } else {
            0
        };
        (u64::from(group) << 32) | u64::from(level)
    }))
}

/// Takes away, again and again, whatever nothing alive points to. `arcs` are sorted.
fn peel(arcs: &[(u32, u32)], alive: &mut [bool]) {
    let mut waiting = vec![0u32; alive.len()];
    for &(a, b) in arcs {
        waiting[b as usize] += u32::from(alive[a as usize] && alive[b as usize]);
    }
    let mut free: Vec<u32> = (0..alive.len() as u32)
        .filter(|&g| alive[g as usize] && waiting[g as usize] == 0)
        .collect();
    while let Some(group) = free.pop() {
        alive[group as usize] = false;
        let from = arcs.partition_point(|arc| arc.0 < group);
        for &(_, b) in arcs[from..].iter().take_while(|arc| arc.0 == group) {
            if alive[b as usize] {
                waiting[b as usize] -= 1;
                if waiting[b as usize] == 0 {
                    free.push(b);
                }
            }
        }
    }
}

/// Merges units of one kind on one level, told apart by their surroundings as far as the limits allow.
///
/// Colour refinement: start with (level, kind); in each round split by the colours of parents and children; keep the
/// last round that fits. `None` if even the first does not.
fn alike(whole: &Whole<'_>, units: &Parts, limits: Limits) -> Option<Parts> {
    let unit = quotient(whole.dag, Detail::Groups, units.clone());
    let level = depths(&unit.dag);
    let kind = |u: usize| match unit.members[u].first() {
        Some(first) if whole.groups > 0 => whole.kind[whole.group[first.index()] as usize],
        _ => 0,
    };
    let fits = |colour: &Parts| {
        let mut seen = vec![false; colour.1];
        let mut of_level: Vec<u32> = Vec::new();
        for (u, &c) in colour.0.iter().enumerate() {
            if !std::mem::replace(&mut seen[c as usize], true) {
                of_level.push(level[u]);
            }
        }
        colour.1 <= limits.nodes && widest(&of_level) <= limits.row
    };
    let mut colour =
        renumber((0..unit.dag.len()).map(|u| (u64::from(level[u]) << 32) | u64::from(kind(u))));
    if !fits(&colour) {
        return None;
    }
    for _ in 0..12 {
        let sum = |tasks: &[TaskId], salt: u64| {
            let mixed = tasks
                .iter()
                .map(|t| mix(u64::from(colour.0[t.index()]) ^ salt));
            mixed.fold(0u64, u64::wrapping_add)
        };
        let signature = |t: TaskId| {
            let (up, down) = (
                sum(unit.dag.parents(t), 1 << 40),
                sum(unit.dag.children(t), 1 << 41),
            );
            mix(up ^ mix(down ^ mix(u64::from(colour.0[t.index()]))))
        };
        let finer = renumber(unit.dag.tasks().map(signature));
        if finer.1 == colour.1 || !fits(&finer) {
            break;
        }
        colour = finer;
    }
    let part = (0..whole.dag.len())
        .map(|t| colour.0[units.0[t] as usize])
        .collect();
    Some((part, colour.1))
}

/// What the names have in common, for a node of several tasks: "align_…", or the first name and an ellipsis.
pub(crate) fn common_name<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = names.next() else {
        return String::new();
    };
    let mut common: Vec<char> = first.chars().take(40).collect();
    let mut alone = true;
    for name in names {
        alone = false;
        let same = common
            .iter()
            .zip(name.chars())
            .take_while(|(a, b)| **a == *b)
            .count();
        common.truncate(same);
    }
    if alone {
        return text::clean(first);
    }
    // A number cut in the middle would read like another number.
    while common.last().is_some_and(char::is_ascii_digit) {
        common.pop();
    }
    let kept: String = common.into_iter().collect();
    let kept = text::clean(if kept.chars().count() < 2 {
        first
    } else {
        &kept
    });
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(dag: &Dag, group: Vec<u32>, groups: usize) -> Whole<'_> {
        Whole {
            dag,
            group,
            groups,
            kind: (0..groups as u32).map(|g| g % 2).collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        /// Whatever the groups, even circular ones: every task is in one node, limits hold, arcs go down.
        #[test]
        fn every_task_lands_in_one_node(
            n in 1usize..40,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..90),
            groups in 0usize..9,
            picks in prop::collection::vec(0u32..99, 40),
            nodes in 1usize..20,
            row in 1usize..8,
        ) {
            let arcs = raw.iter().map(|&(a, b)| (a % n as u32, b % n as u32)).filter(|(a, b)| a != b);
            let dag = Dag::from_arcs(n, arcs.map(|(a, b)| (a.min(b), a.max(b))).collect()).unwrap();
            let group = picks[..n].iter().map(|p| p % groups.max(1) as u32).collect();
            let limits = Limits { nodes, row, task_row: row + 2, column: nodes };
            let collapsed = collapse(&whole(&dag, group, groups), limits);
            let mut all: Vec<TaskId> = collapsed.members.concat();
            all.sort_unstable();
            prop_assert_eq!(all, dag.tasks().collect::<Vec<_>>());
            prop_assert!(collapsed.members.iter().all(|m| !m.is_empty()));
            prop_assert!(collapsed.dag.len() <= nodes);
            let level = &collapsed.level;
            prop_assert!(collapsed.dag.arcs().all(|(u, v)| level[u.index()] < level[v.index()]));
            // An arc of the dag joins two nodes of the drawing, or lies inside one.
            let mut part = vec![0u32; n];
            for (i, members) in collapsed.members.iter().enumerate() {
                members.iter().for_each(|t| part[t.index()] = i as u32);
            }
            for (u, v) in dag.arcs() {
                let (a, b) = (TaskId(part[u.index()]), TaskId(part[v.index()]));
                prop_assert!(a == b || collapsed.dag.has_arc(a, b));
            }
        }
    }

    #[test]
    fn parallel_pipelines_of_one_kind_merge() {
        // A fork, 300 pipelines of three tasks each, a join.
        let mut arcs = Vec::new();
        for i in 0..300u32 {
            let a = 2 + 3 * i;
            arcs.extend([(0, a), (a, a + 1), (a + 1, a + 2), (a + 2, 1)]);
        }
        let dag = Dag::from_arcs(902, arcs).unwrap();
        let limits = Limits {
            nodes: 200,
            row: 40,
            task_row: 60,
            column: 50,
        };
        let collapsed = collapse(&whole(&dag, vec![0; 902], 0), limits);
        assert_eq!(collapsed.detail, Detail::Alike);
        let mut sizes: Vec<usize> = collapsed.members.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 1, 300, 300, 300]);
    }

    #[test]
    fn long_chains_become_bands() {
        let dag = Dag::from_arcs(10_000, (1..10_000).map(|v| (v - 1, v)).collect()).unwrap();
        let limits = Limits {
            nodes: 200,
            row: 40,
            task_row: 60,
            column: 50,
        };
        let collapsed = collapse(&whole(&dag, vec![0; 10_000], 0), limits);
        assert_eq!((collapsed.detail, collapsed.dag.len()), (Detail::Bands, 50));
    }

    #[test]
    fn names_share_their_head() {
        let common = |names: &[&str]| common_name(names.iter().copied());
        assert_eq!(common(&["align_10", "align_11"]), "align_…");
        assert_eq!(common(&["a", "b"]), "a…");
        assert_eq!(common(&["one"]), "one");
        assert_eq!(common(&[]), "");
    }
}
