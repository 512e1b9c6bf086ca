//! Bends: long arcs are cut at every level they pass. Knows no order within a level.

use crate::budgets::layout::most_bends;
use cairn_dag::{Dag, TaskId, narrow};

/// Puts bends into arcs that pass levels. Arcs with a common end share their bends, at the end that has more of them:
/// a hundred tasks that all feed one late task become one trunk. Gives the graph with its bends, the level of each node and
/// bend, and the first bend of each arc.
pub(super) fn cut_long_arcs(dag: &Dag, level: &[u32]) -> (Dag, Vec<u32>, Vec<Option<u32>>) {
    let of = |v: TaskId| level[v.index()];
    let is_long = |u: TaskId, v: TaskId| of(v) - of(u) > 1;
    let (mut long_out, mut long_in) = (vec![0u32; dag.len()], vec![0u32; dag.len()]);
    for (u, v) in dag.arcs().filter(|&(u, v)| is_long(u, v)) {
        long_out[u.index()] += 1;
        long_in[v.index()] += 1;
    }
    let by_head = |u: TaskId, v: TaskId| long_in[v.index()] > long_out[u.index()];
    // Trunk of each tail: levels tail + 1 .. end; of each head: start .. head − 1.
    let mut tail_end: Vec<u32> = level.iter().map(|l| l + 1).collect();
    let mut head_start: Vec<u32> = level.to_vec();
    for (u, v) in dag.arcs().filter(|&(u, v)| is_long(u, v)) {
        if by_head(u, v) {
            head_start[v.index()] = head_start[v.index()].min(of(u) + 1);
        } else {
            tail_end[u.index()] = tail_end[u.index()].max(of(v));
        }
    }
    let bends: u64 = (0..dag.len())
        .map(|v| u64::from(tail_end[v] - level[v] - 1) + u64::from(level[v] - head_start[v]))
        .sum();
    if bends > most_bends(dag.len() as u64) {
        let short: Vec<(u32, u32)> = dag
            .arcs()
            .filter(|&(u, v)| !is_long(u, v))
            .map(|(u, v)| (u.0, v.0))
            .collect();
        let graph = Dag::from_arcs(dag.len(), short).expect("a part of a dag");
        return (graph, level.to_vec(), vec![None; dag.arc_count()]);
    }
    let mut all_levels = level.to_vec();
    let mut segments: Vec<(u32, u32)> = Vec::new();
    let (mut tail_trunk, mut head_trunk) = (vec![0; dag.len()], vec![0; dag.len()]);
    for v in dag.tasks() {
        let i = v.index();
        let mut trunk = |levels: std::ops::Range<u32>| {
            let (first, count) = (narrow(all_levels.len()), narrow(levels.len()));
            segments.extend((1..count).map(|k| (first + k - 1, first + k)));
            all_levels.extend(levels);
            (first, first + count - 1)
        };
        let (mut below, mut above) = (None, None);
        if tail_end[i] > level[i] + 1 {
            let (first, _) = trunk(level[i] + 1..tail_end[i]);
            tail_trunk[i] = first;
            below = Some((v.0, first));
        }
        if head_start[i] < level[i] {
            let (first, last) = trunk(head_start[i]..level[i]);
            head_trunk[i] = first;
            above = Some((last, v.0));
        }
        segments.extend(below.into_iter().chain(above));
    }
    let mut first_bend = Vec::with_capacity(dag.arc_count());
    for (u, v) in dag.arcs() {
        let first = if !is_long(u, v) {
            segments.push((u.0, v.0));
            None
        } else if by_head(u, v) {
            let first = head_trunk[v.index()] + (of(u) + 1 - head_start[v.index()]);
            segments.push((u.0, first));
            Some(first)
        } else {
            let first = tail_trunk[u.index()];
            segments.push((first + (of(v) - of(u) - 2), v.0));
            Some(first)
        };
        first_bend.push(first);
    }
    let graph =
        Dag::from_arcs(all_levels.len(), segments).expect("levels grow along every segment");
    (graph, all_levels, first_bend)
}
