//! Makes a large dag small enough to look at: tasks of one kind become groups. Knows nothing of drawing.

use crate::absorb::absorb;
use crate::fewer::{Enough, fewer};
use crate::inside;
use crate::kinds::Kinds;
use crate::knots::untangle;
use crate::layout::{depths, levels};
use crate::partition::Parts;
use crate::phases::phases;
use crate::ties::ties;
use cairn_dag::{Dag, TaskId};
use std::collections::BTreeMap;

/// A kind cut into more phases than this says little about where a task stands.
const LOOSE: usize = 4;
/// Circles of kinds are cut into waves where there are at least so many tasks for each kind.
const PER_KIND: usize = 20;
/// How much more a task weighs than one of a kind that says little, when groups are merged.
const SOLID: usize = 8;
/// So many groups are merged one by one; more are cut down by kinds and levels first.
const MERGEABLE: usize = 1200;
/// Dags up to this size are drawn in full, whatever their groups.
const TINY: usize = 24;

/// How much one drawing may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Groups.
    pub(crate) groups: usize,
    /// Tasks, where each is a box of its own.
    pub(crate) tasks: usize,
}

/// The collapsed dag.
pub(crate) struct Collapsed {
    /// Whether each node is a task.
    pub(crate) in_full: bool,
    /// One node for each group.
    pub(crate) dag: Dag,
    /// The level of each node in the drawing.
    pub(crate) level: Vec<u32>,
    /// What each node stands for.
    pub(crate) groups: Vec<Group>,
    /// For each arc of `dag`, in its order, the arcs of the whole dag between the two groups.
    pub(crate) arcs: Vec<usize>,
    /// Kinds as the groups are named by.
    pub(crate) kinds: Kinds,
}

/// The tasks that one node stands for.
pub(crate) struct Group {
    /// Sorted.
    pub(crate) members: Vec<TaskId>,
    /// Stages that follow each other one to one, such as 500 times align and then sort; mostly there is just one.
    pub(crate) stages: Vec<Stage>,
}

/// One stage of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Kinds with their numbers of tasks, the most telling first.
    pub(crate) kinds: Vec<(u32, usize)>,
    /// How many of the kinds, the first ones, say much.
    pub(crate) telling: usize,
    /// The same kinds, those of tasks on upper levels first.
    pub(crate) line: Vec<u32>,
    /// Items: a chain of tasks of one kind counts once.
    pub(crate) items: usize,
    /// All tasks.
    pub(crate) tasks: usize,
    /// Arcs inside the items' stage, those within chains left out.
    pub(crate) inside: usize,
}

/// The whole dag where it is small, else groups of tasks of one kind.
///
/// Groups wait for each other in no circle (`phases`). Where a kind hides most of the dag it is opened up (`inside`).
/// Where there are too many groups, tasks that always come together are tied (`ties`) and circles of kinds are cut into
/// waves (`knots`); or else tasks that only pass things on go to their neighbours (`absorb`). Then the least groups are
/// merged (`fewer`). At last groups that follow each other one to one become stages of one node.
pub(crate) fn collapse(dag: &Dag, kinds: &Kinds, limits: Limits) -> Collapsed {
    if dag.len() <= limits.tasks.min(TINY) {
        return in_full(dag, kinds);
    }
    let general = kinds.fewer(limits.groups);
    let (units, parts, loose) = grouped(dag, &general, limits.groups);
    let collapsed = staged(dag, &general, &units, &parts, &loose);
    // Where groups are hardly fewer than tasks, the tasks themselves tell more.
    if dag.len() <= limits.tasks && 3 * collapsed.dag.len() > dag.len() {
        return in_full(dag, kinds);
    }
    collapsed
}

/// Each task by itself.
pub(crate) fn in_full(dag: &Dag, kinds: &Kinds) -> Collapsed {
    let group = |task: TaskId| Group {
        members: vec![task],
        stages: vec![Stage {
            kinds: vec![(kinds.of[task.index()], 1)],
            telling: 1,
            line: vec![kinds.of[task.index()]],
            items: 1,
            tasks: 1,
            inside: 0,
        }],
    };
    Collapsed {
        in_full: true,
        dag: dag.clone(),
        level: levels(dag),
        groups: dag.tasks().map(group).collect(),
        arcs: vec![1; dag.arc_count()],
        kinds: kinds.clone(),
    }
}

/// Items (tasks, or a few tasks that belong together), the parts that the items are in, and the kinds that say little.
fn grouped(dag: &Dag, kinds: &Kinds, most: usize) -> (Parts, Parts, Vec<bool>) {
    let mut units = Parts::singles(dag.len());
    let mut now = dag.clone();
    let mut kind = kinds.of.clone();
    let mut parts = phases(&now, &kind, kinds.names.len());
    let mut loose = loose_kinds(&parts, &kind, kinds.names.len());
    if parts.count > most {
        units = ties(&now, &kind, kinds.names.len());
        now = units.quotient(dag).expect("ties close no circle");
        // The last task of a unit is what the others are for.
        let mut of_unit = vec![0u32; units.count];
        for &task in dag.topological_order() {
            of_unit[units.of[task.index()] as usize] = kind[task.index()];
        }
        kind = of_unit;
        parts = phases(&now, &kind, kinds.names.len());
        // A kind that was mostly tied away stays what it was.
        let now_loose = loose_kinds(&parts, &kind, kinds.names.len());
        let (tasks, left) = (kinds.counts(), kinds.counts_in(&kind));
        for k in (0..kinds.names.len()).filter(|&k| 2 * left[k] > tasks[k]) {
            loose[k] = now_loose[k];
        }
    }
    let mut enough = Enough {
        most,
        least: 0,
        few: most / 2,
    };
    // Where there are hardly more tasks than kinds, kinds are too telling to be taken apart.
    if parts.count > most && dag.len() >= PER_KIND * kinds.names.len() {
        let waves = untangle(&now, &kind, most);
        if 2 * largest_mixture(&waves, &kind) <= now.len() {
            loose.fill(false);
            parts = waves;
            // Many kinds in circles leave crumbs, which tell nothing.
            enough.least = SOLID * dag.len() / 400;
        }
    }
    if parts.count > most && loose.contains(&true) && loose.contains(&false) {
        let is_loose: Vec<bool> = kind.iter().map(|&k| loose[k as usize]).collect();
        let hosts = absorb(&now, &is_loose);
        // The kind of a unit is that of its one item that is not loose, if there is one.
        let mut of_unit = vec![None; hosts.count];
        for (item, &unit) in hosts.of.iter().enumerate() {
            let slot = &mut of_unit[unit as usize];
            if slot.is_none() || !is_loose[item] {
                *slot = Some(kind[item]);
            }
        }
        now = hosts
            .quotient(&now)
            .expect("only arcs that close no circle are contracted");
        units = units.then(&hosts);
        kind = of_unit
            .into_iter()
            .map(|k| k.expect("no item is empty"))
            .collect();
        parts = phases(&now, &kind, kinds.names.len());
    }
    let hiding = inside::hiding(&now, &parts);
    if parts.count < most && hiding.contains(&true) {
        let chains = inside::chains(&now, &parts, &hiding);
        parts = on_parts(&chains, &parts);
        now = chains.quotient(&now).expect("chains close no circle");
        units = units.then(&chains);
        parts = inside::open(&now, &parts, &hiding, most);
        kind = firsts(&chains, &kind);
    }
    if parts.count > MERGEABLE {
        let few = kinds.commonest(most / 2);
        let depth = depths(&now);
        let kind = firsts(&units, &few.of);
        let all = depth.iter().max().map_or(1, |&d| d as usize + 1);
        let per_band = all.div_ceil(2 * most) as u32;
        parts = Parts::by_key((0..now.len()).map(|u| {
            let band = depth[u] / per_band.max(1);
            // Within a band only tasks of one depth have no arcs between them.
            let kind = if per_band > 1 { 0 } else { kind[u] };
            (u64::from(band) << 32) | u64::from(kind)
        }));
    }
    if parts.count > most || enough.least > 0 {
        let small = parts
            .quotient(&now)
            .expect("parts wait for each other in no circle");
        let mut weight = vec![0usize; parts.count];
        for (&unit, &kind) in units.of.iter().zip(&kinds.of) {
            // Tasks of loose kinds are merged before others.
            weight[parts.of[unit as usize] as usize] +=
                if loose[kind as usize] { 1 } else { SOLID };
        }
        // Of one kind, or of several.
        let mut kind_of = vec![None; parts.count];
        let mut seen = vec![false; parts.count];
        for (&part, &kind) in parts.of.iter().zip(&kind) {
            let slot = &mut kind_of[part as usize];
            let is_first = !std::mem::replace(&mut seen[part as usize], true);
            *slot = (is_first || *slot == Some(kind)).then_some(kind);
        }
        let arcs = arcs_between(&now, &parts);
        let merged = fewer(&small, &weight, &kind_of, &arcs, enough);
        parts = parts.then(&merged);
    }
    (units, parts, loose)
}

/// The size of the largest part of several kinds.
fn largest_mixture(parts: &Parts, kind: &[u32]) -> usize {
    let mut sizes: Vec<(usize, Option<u32>, bool)> = vec![(0, None, false); parts.count];
    for (&part, &kind) in parts.of.iter().zip(kind) {
        let (size, first, mixed) = &mut sizes[part as usize];
        *size += 1;
        *mixed |= *first.get_or_insert(kind) != kind;
    }
    let mixed = sizes.iter().filter(|(_, _, mixed)| *mixed);
    mixed.map(|&(size, _, _)| size).max().unwrap_or(0)
}

/// Kinds whose tasks are spread over many phases.
fn loose_kinds(parts: &Parts, kind: &[u32], kinds: usize) -> Vec<bool> {
    let mut seen = vec![false; parts.count];
    let mut phases = vec![0; kinds];
    for (&part, &kind) in parts.of.iter().zip(kind) {
        phases[kind as usize] += usize::from(!std::mem::replace(&mut seen[part as usize], true));
    }
    phases.iter().map(|&p| p > LOOSE).collect()
}

/// The parts of `units` when each of them lies in one part of `parts`.
fn on_parts(units: &Parts, parts: &Parts) -> Parts {
    Parts::by_key(firsts(units, &parts.of).iter().map(|&p| u64::from(p)))
}

/// What stands at the first item of each unit.
fn firsts(units: &Parts, of: &[u32]) -> Vec<u32> {
    let mut first = vec![None; units.count];
    for (&unit, &what) in units.of.iter().zip(of) {
        first[unit as usize].get_or_insert(what);
    }
    first
        .into_iter()
        .map(|what| what.expect("no unit is empty"))
        .collect()
}

/// Numbers of arcs between different parts.
fn arcs_between(dag: &Dag, parts: &Parts) -> BTreeMap<(u32, u32), usize> {
    let mut arcs = BTreeMap::new();
    for (u, v) in dag.arcs() {
        let ends = (parts.of[u.index()], parts.of[v.index()]);
        if ends.0 != ends.1 {
            *arcs.entry(ends).or_default() += 1;
        }
    }
    arcs
}

/// Joins parts that follow each other one to one.
fn staged(whole: &Dag, kinds: &Kinds, units: &Parts, parts: &Parts, loose: &[bool]) -> Collapsed {
    let dag = units
        .quotient(whole)
        .expect("units wait for each other in no circle");
    let small = parts
        .quotient(&dag)
        .expect("parts wait for each other in no circle");
    let mut items = vec![0usize; parts.count];
    // Whether each item of the part has exactly one parent, one child.
    let (mut one_in, mut one_out) = (vec![true; parts.count], vec![true; parts.count]);
    for task in dag.tasks() {
        let part = parts.of[task.index()] as usize;
        items[part] += 1;
        one_in[part] &= dag.parents(task).len() == 1;
        one_out[part] &= dag.children(task).len() == 1;
    }
    let mut leader: Vec<u32> = (0..small.len() as u32).collect();
    let mut stages: Vec<Vec<u32>> = (0..small.len() as u32).map(|p| vec![p]).collect();
    for &part in small.topological_order() {
        if let [above] = *small.parents(part)
            && small.children(above).len() == 1
            && items[above.index()] == items[part.index()]
            && one_out[above.index()]
            && one_in[part.index()]
        {
            let first = leader[above.index()];
            leader[part.index()] = first;
            stages[part.index()].clear();
            stages[first as usize].push(part.0);
        }
    }
    let joined = Parts::by_key(leader.iter().map(|&l| u64::from(l)));
    let part_of_task: Vec<u32> = units.of.iter().map(|&u| parts.of[u as usize]).collect();
    // Of each part the tasks of each kind, and the sum of their depths.
    let mut counts: Vec<BTreeMap<u32, (usize, u64)>> = vec![BTreeMap::new(); parts.count];
    let depth = depths(whole);
    let mut inside = vec![0usize; parts.count];
    let mut members = vec![Vec::new(); joined.count];
    for task in whole.tasks() {
        let part = part_of_task[task.index()] as usize;
        let (count, sum) = counts[part].entry(kinds.of[task.index()]).or_default();
        *count += 1;
        *sum += u64::from(depth[task.index()]);
        members[joined.of[part] as usize].push(task);
    }
    for (u, v) in dag.arcs() {
        let part = parts.of[u.index()];
        inside[part as usize] += usize::from(part == parts.of[v.index()]);
    }
    let stage = |part: u32| {
        let of_part = &counts[part as usize];
        let mut by_count: Vec<(u32, usize)> = of_part.iter().map(|(&k, &(c, _))| (k, c)).collect();
        let mean = |kind: &u32| of_part[kind].1 as f64 / of_part[kind].0 as f64;
        let mut line: Vec<u32> = of_part.keys().copied().collect();
        line.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
        let general = |kind: u32| kinds.names[kind as usize].contains('…');
        by_count.sort_by_key(|&(kind, count)| {
            (
                loose[kind as usize],
                general(kind),
                std::cmp::Reverse(count),
                kind,
            )
        });
        Stage {
            tasks: by_count.iter().map(|(_, count)| count).sum(),
            telling: by_count
                .iter()
                .filter(|(kind, _)| !loose[*kind as usize])
                .count(),
            kinds: by_count,
            line,
            items: items[part as usize],
            inside: inside[part as usize],
        }
    };
    let mut groups: Vec<Group> = members
        .into_iter()
        .map(|members| Group {
            members,
            stages: Vec::new(),
        })
        .collect();
    for (first, parts) in stages
        .iter()
        .enumerate()
        .filter(|(_, parts)| !parts.is_empty())
    {
        groups[joined.of[first] as usize].stages = parts.iter().map(|&p| stage(p)).collect();
    }
    let node_of_task: Vec<u32> = part_of_task
        .iter()
        .map(|&p| joined.of[p as usize])
        .collect();
    let nodes = Parts {
        of: node_of_task,
        count: joined.count,
    };
    let between = arcs_between(whole, &nodes);
    let dag = joined
        .quotient(&small)
        .expect("what follows one to one closes no circle");
    Collapsed {
        in_full: false,
        level: levels(&dag),
        groups,
        arcs: dag.arcs().map(|(u, v)| between[&(u.0, v.0)]).collect(),
        kinds: kinds.clone(),
        dag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(groups: usize) -> Limits {
        Limits {
            groups,
            tasks: 2 * groups,
        }
    }

    fn kinds_of(words: &[&str]) -> Kinds {
        Kinds::new(words.len(), words)
    }

    /// What every collapse must keep, seen from the tasks one by one.
    fn check(dag: &Dag, collapsed: &Collapsed, most: usize) {
        let mut all: Vec<TaskId> = collapsed
            .groups
            .iter()
            .flat_map(|g| g.members.clone())
            .collect();
        all.sort_unstable();
        assert_eq!(
            all,
            dag.tasks().collect::<Vec<_>>(),
            "each task is in one node"
        );
        assert!(collapsed.in_full || collapsed.dag.len() <= most.max(1));
        let mut node = vec![0u32; dag.len()];
        for (i, group) in collapsed.groups.iter().enumerate() {
            assert!(!group.members.is_empty());
            group
                .members
                .iter()
                .for_each(|t| node[t.index()] = i as u32);
            let tasks: usize = group.stages.iter().map(|s| s.tasks).sum();
            assert_eq!(
                tasks,
                group.members.len(),
                "stages hold all tasks of the node"
            );
            let by_kind = group
                .stages
                .iter()
                .flat_map(|s| &s.kinds)
                .map(|(_, count)| count);
            assert_eq!(by_kind.sum::<usize>(), group.members.len());
        }
        // Each arc lies inside a node or is counted on exactly one line, and lines go down.
        let mut counted = vec![0usize; collapsed.arcs.len()];
        for (u, v) in dag.arcs() {
            let ends = (TaskId(node[u.index()]), TaskId(node[v.index()]));
            if ends.0 != ends.1 {
                let line = collapsed.dag.arcs().position(|arc| arc == ends);
                counted[line.expect("there is a line")] += 1;
            }
        }
        assert_eq!(counted, collapsed.arcs);
        let level = &collapsed.level;
        assert!(
            collapsed
                .dag
                .arcs()
                .all(|(u, v)| level[u.index()] < level[v.index()])
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn every_task_and_every_arc_is_accounted_for(
            n in 1usize..60,
            raw in prop::collection::vec((0u32..999, 0u32..999), 0..120),
            picks in prop::collection::vec(0usize..12, 60),
            kinds in 1usize..12,
            most in 1usize..12,
        ) {
            let arcs = raw.iter().map(|&(a, b)| (a % n as u32, b % n as u32)).filter(|(a, b)| a < b);
            let dag = Dag::from_arcs(n, arcs.collect()).unwrap();
            let words = ["a", "b", "c", "x/d", "x/e", "y:f:g", "y:f:h", "y:i", "z", "0x1f", "", "x/k"];
            let given: Vec<&str> = picks[..n].iter().map(|p| words[p % kinds]).collect();
            let collapsed = collapse(&dag, &kinds_of(&given), limits(most));
            check(&dag, &collapsed, most);
        }
    }

    fn labels(collapsed: &Collapsed) -> Vec<(String, usize)> {
        let name = |stage: &Stage| collapsed.kinds.names[stage.kinds[0].0 as usize].clone();
        let mut all: Vec<(String, usize)> = (collapsed.groups.iter())
            .map(|g| {
                (
                    g.stages.iter().map(name).collect::<Vec<_>>().join(" → "),
                    g.stages[0].items,
                )
            })
            .collect();
        all.sort();
        all
    }

    /// Three bands of Montage: by kinds, although the bands are not connected until the end.
    #[test]
    fn equal_pipelines_are_one_row_of_kinds() {
        let (mut arcs, mut words) = (Vec::new(), Vec::new());
        for band in 0..3u32 {
            let first = band * 34;
            words.extend(
                [
                    &["project"; 10][..],
                    &["diff"; 20],
                    &["concat", "model"],
                    &["add"; 2],
                ]
                .concat(),
            );
            for i in 0..20 {
                arcs.extend([
                    (first + i % 10, first + 10 + i),
                    (first + (i + 1) % 10, first + 10 + i),
                ]);
                arcs.push((first + 10 + i, first + 30));
            }
            arcs.extend([
                (first + 30, first + 31),
                (first + 31, first + 32),
                (first + 31, first + 33),
            ]);
        }
        let dag = Dag::from_arcs(102, arcs).unwrap();
        let collapsed = collapse(&dag, &kinds_of(&words), limits(48));
        check(&dag, &collapsed, 48);
        let expected = [
            ("add", 6),
            ("concat → model", 3),
            ("diff", 60),
            ("project", 30),
        ];
        assert_eq!(
            labels(&collapsed),
            expected.map(|(name, count)| (name.to_owned(), count))
        );
    }

    /// AIRSN: a handle, a fringe, two forks and joins, and no kinds to tell them apart.
    #[test]
    fn without_kinds_tasks_in_like_places_are_together() {
        let width = 50u32;
        let (handle, join) = (20u32, 121u32);
        let mut arcs: Vec<(u32, u32)> = (0..handle).map(|v| (v, v + 1)).collect();
        for i in 0..width {
            let (fringe, fork, second) = (21 + i, 71 + i, 122 + i);
            arcs.extend([
                (handle, fork),
                (fringe, fork),
                (fork, join),
                (join, second),
                (second, 172),
            ]);
        }
        let dag = Dag::from_arcs(173, arcs).unwrap();
        let collapsed = collapse(&dag, &Kinds::new(173, &[]), limits(48));
        check(&dag, &collapsed, 48);
        let mut sizes: Vec<usize> = collapsed.groups.iter().map(|g| g.members.len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 1, 21, 50, 50, 50]);
    }

    #[test]
    fn parallel_chains_are_one_node() {
        // A fork, 300 chains of three tasks each, a join.
        let mut arcs = Vec::new();
        for i in 0..300u32 {
            let a = 2 + 3 * i;
            arcs.extend([(0, a), (a, a + 1), (a + 1, a + 2), (a + 2, 1)]);
        }
        let dag = Dag::from_arcs(902, arcs).unwrap();
        let collapsed = collapse(&dag, &Kinds::new(902, &[]), limits(48));
        check(&dag, &collapsed, 48);
        let mut shape: Vec<(usize, usize)> = collapsed
            .groups
            .iter()
            .map(|g| (g.stages[0].items, g.members.len()))
            .collect();
        shape.sort_unstable();
        assert_eq!(shape, [(1, 1), (1, 1), (300, 900)]);
    }

    /// A build in two waves: a tool is compiled first and writes headers for all other objects.
    #[test]
    fn a_build_is_drawn_in_waves() {
        let mut words = vec![".cpp"; 60];
        words.extend(vec![".o"; 60]);
        words.extend(["bin/tool", ".inc", "bin/all"]);
        let mut arcs: Vec<(u32, u32)> = (0..60).map(|i| (i, 60 + i)).collect();
        arcs.extend((60..70).map(|o| (o, 120)));
        arcs.push((120, 121));
        arcs.extend((70..120).flat_map(|o| [(121, o), (o, 122)]));
        let dag = Dag::from_arcs(123, arcs).unwrap();
        let collapsed = collapse(&dag, &kinds_of(&words), limits(48));
        check(&dag, &collapsed, 48);
        let objects: Vec<usize> = (labels(&collapsed).iter())
            .filter(|(name, _)| name == ".o")
            .map(|&(_, count)| count)
            .collect();
        assert_eq!(objects, [10, 50]);
    }

    /// Operators between processes, as in Nextflow's dags: the boxes go by the processes.
    #[test]
    fn plumbing_goes_to_what_it_serves() {
        let (mut words, mut arcs) = (Vec::new(), Vec::new());
        let process: Vec<String> = (0..40)
            .map(|i| format!("NF:PART{}:STEP{i}", i / 4))
            .collect();
        for i in 0..40u32 {
            words.extend(["map", &process[i as usize], "mix", "collect"]);
            arcs.extend([
                (4 * i, 4 * i + 1),
                (4 * i + 1, 4 * i + 2),
                (4 * i + 1, 4 * i + 3),
            ]);
            if i > 0 {
                arcs.push((4 * i - 2, 4 * i));
            }
        }
        let dag = Dag::from_arcs(160, arcs).unwrap();
        let collapsed = collapse(&dag, &kinds_of(&words), limits(12));
        check(&dag, &collapsed, 12);
        // What is collected goes nowhere, so it is no plumbing: a kind of its own.
        let others = labels(&collapsed)
            .into_iter()
            .filter(|(name, _)| !name.starts_with("PART"));
        assert_eq!(others.collect::<Vec<_>>(), [("collect".to_owned(), 40)]);
    }

    #[test]
    fn a_small_dag_is_drawn_in_full_unless_groups_are_much_fewer() {
        let chain = Dag::from_arcs(80, (1..80).map(|v| (v - 1, v)).collect()).unwrap();
        let names: Vec<String> = (0..80).map(|i| format!("tool{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let star = Dag::from_arcs(80, (1..80).map(|v| (0, v)).collect()).unwrap();
        assert!(!collapse(&star, &kinds_of(&["a"; 80]), limits(48)).in_full);
        let mixed = Dag::from_arcs(80, (1..80).map(|v| (v / 2, v)).collect()).unwrap();
        assert!(collapse(&mixed, &kinds_of(&names), limits(48)).in_full);
        assert!(!collapse(&chain, &kinds_of(&["a"; 80]), limits(48)).in_full);
    }
}
