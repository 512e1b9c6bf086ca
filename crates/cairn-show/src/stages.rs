//! Groups that follow each other one to one become stages of one node. Knows not how tasks were grouped.

use crate::collapse::{Collapsed, Group, Stage};
use crate::kinds::{KindId, Kinds};
use crate::layout::levels;
use crate::partition::Parts;
use cairn_dag::{Dag, TaskId, wide};
use std::collections::BTreeMap;

/// Which parts follow each other one to one.
struct Followed {
    /// By part: how many items it has.
    items: Vec<usize>,
    /// By part: the first of those that it follows.
    leader: Vec<TaskId>,
    /// By leader: itself and those that follow, in turn; nothing for others.
    stages: Vec<Vec<TaskId>>,
}

fn followed(dag: &Dag, small: &Dag, parts: &Parts) -> Followed {
    let mut items = vec![0usize; parts.count];
    // Whether each item of the part has exactly one parent, one child.
    let (mut one_in, mut one_out) = (vec![true; parts.count], vec![true; parts.count]);
    for task in dag.tasks() {
        let part = wide(parts.of[task.index()]);
        items[part] += 1;
        one_in[part] &= dag.parents(task).len() == 1;
        one_out[part] &= dag.children(task).len() == 1;
    }
    let mut leader: Vec<TaskId> = small.tasks().collect();
    let mut stages: Vec<Vec<TaskId>> = small.tasks().map(|p| vec![p]).collect();
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
            stages[first.index()].push(part);
        }
    }
    Followed {
        items,
        leader,
        stages,
    }
}

/// Kinds of one part: how many tasks, and the sum of their depths.
type Counts = BTreeMap<KindId, (usize, u64)>;

/// A stage: its kinds, the telling ones first, and in the order in which they come along the dag.
fn stage(of_part: &Counts, kinds: &Kinds, loose: &[bool], items: usize, inside: usize) -> Stage {
    let mut by_count: Vec<(KindId, usize)> = of_part.iter().map(|(&k, &(c, _))| (k, c)).collect();
    let mean = |kind: &KindId| of_part[kind].1 as f64 / of_part[kind].0 as f64;
    let mut line: Vec<KindId> = of_part.keys().copied().collect();
    line.sort_by(|a, b| mean(a).total_cmp(&mean(b)).then(a.cmp(b)));
    let general = |kind: KindId| kinds.name(kind).contains('…');
    // Kinds that say little, and those whose names were generalised, come last however many tasks they have.
    by_count.sort_by_key(|&(kind, count)| {
        (
            loose[kind.index()],
            general(kind),
            std::cmp::Reverse(count),
            kind,
        )
    });
    Stage {
        tasks: by_count.iter().map(|(_, count)| count).sum(),
        telling: by_count
            .iter()
            .filter(|(kind, _)| !loose[kind.index()])
            .count(),
        kinds: by_count,
        line,
        items,
        inside,
    }
}

/// Joins parts that follow each other one to one.
pub(crate) fn staged(
    whole: &Dag,
    kinds: &Kinds,
    units: &Parts,
    parts: &Parts,
    loose: &[bool],
) -> Collapsed {
    let dag = units
        .quotient(whole)
        .expect("units wait for each other in no circle");
    let small = parts
        .quotient(&dag)
        .expect("parts wait for each other in no circle");
    let Followed {
        items,
        leader,
        stages,
    } = followed(&dag, &small, parts);
    let joined = Parts::by_key(leader.iter());
    let part_of_task: Vec<u32> = units.of.iter().map(|&u| parts.of[wide(u)]).collect();
    let mut counts: Vec<Counts> = vec![Counts::new(); parts.count];
    let depth = whole.levels();
    let mut inside = vec![0usize; parts.count];
    let mut members = vec![Vec::new(); joined.count];
    for task in whole.tasks() {
        let part = wide(part_of_task[task.index()]);
        let (count, sum) = counts[part].entry(kinds.of[task.index()]).or_default();
        *count += 1;
        *sum += u64::from(depth.of(task));
        members[wide(joined.of[part])].push(task);
    }
    for (u, v) in dag.arcs() {
        let part = parts.of[u.index()];
        inside[wide(part)] += usize::from(part == parts.of[v.index()]);
    }
    let stage = |part: TaskId| {
        let part = part.index();
        stage(&counts[part], kinds, loose, items[part], inside[part])
    };
    let group = |members| Group {
        members,
        stages: Vec::new(),
    };
    let mut groups: Vec<Group> = members.into_iter().map(group).collect();
    let leaders = stages.iter().enumerate();
    for (first, parts) in leaders.filter(|(_, parts)| !parts.is_empty()) {
        groups[wide(joined.of[first])].stages = parts.iter().map(|&p| stage(p)).collect();
    }
    let node_of_task: Vec<u32> = part_of_task.iter().map(|&p| joined.of[wide(p)]).collect();
    let nodes = Parts {
        of: node_of_task,
        count: joined.count,
    };
    let between = nodes.arcs_between(whole);
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
