//! Makes a large dag small enough to look at: tasks of one kind become groups. Knows nothing of drawing.

use crate::grouping::grouped;
use crate::kinds::{KindId, Kinds};
use crate::layout::levels;
use crate::stages::staged;
use cairn_dag::{Dag, TaskId};

/// Dags up to this size are drawn in full, whatever their groups.
// Chosen by eye: so many boxes are taken in at a glance, and names of tasks tell more than names of kinds.
const TINY: usize = 24;

/// How much one drawing may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
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
    pub(crate) kinds: Vec<(KindId, usize)>,
    /// How many of the kinds, the first ones, say much.
    pub(crate) telling: usize,
    /// The same kinds, those of tasks on upper levels first.
    pub(crate) line: Vec<KindId>,
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
pub(crate) fn collapse(dag: &Dag, kinds: &Kinds, room: Room) -> Collapsed {
    if dag.len() <= room.tasks.min(TINY) {
        return in_full(dag, kinds);
    }
    // First by words, which cost nothing of what a box means; by the dag only where words do not help any more.
    let general = kinds.fewer(room.groups);
    let (units, parts, loose) = grouped(dag, &general, room.groups);
    let collapsed = staged(dag, &general, &units, &parts, &loose);
    // Where groups are hardly fewer than tasks, the tasks themselves tell more.
    if dag.len() <= room.tasks && 3 * collapsed.dag.len() > dag.len() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::dag_of;
    use proptest::prelude::*;

    fn room(groups: usize) -> Room {
        Room {
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
            let dag = dag_of(n, &raw);
            let words = ["a", "b", "c", "x/d", "x/e", "y:f:g", "y:f:h", "y:i", "z", "0x1f", "", "x/k"];
            let given: Vec<&str> = picks[..n].iter().map(|p| words[p % kinds]).collect();
            let collapsed = collapse(&dag, &kinds_of(&given), room(most));
            check(&dag, &collapsed, most);
        }
    }

    fn labels(collapsed: &Collapsed) -> Vec<(String, usize)> {
        let name = |stage: &Stage| collapsed.kinds.name(stage.kinds[0].0).to_owned();
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
        let collapsed = collapse(&dag, &kinds_of(&words), room(48));
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
        let collapsed = collapse(&dag, &Kinds::new(173, &[]), room(48));
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
        let collapsed = collapse(&dag, &Kinds::new(902, &[]), room(48));
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
        let collapsed = collapse(&dag, &kinds_of(&words), room(48));
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
        let collapsed = collapse(&dag, &kinds_of(&words), room(12));
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
        assert!(!collapse(&star, &kinds_of(&["a"; 80]), room(48)).in_full);
        let mixed = Dag::from_arcs(80, (1..80).map(|v| (v / 2, v)).collect()).unwrap();
        assert!(collapse(&mixed, &kinds_of(&names), room(48)).in_full);
        assert!(!collapse(&chain, &kinds_of(&["a"; 80]), room(48)).in_full);
    }
}
