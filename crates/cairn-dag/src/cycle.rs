//! Finds a short cycle to show to the person whose input has one. Knows nothing of names.

use crate::budgets::cycle::STEPS;
use crate::{Dag, TaskId, narrow};
use cairn_kernel::{Work, completed};
use std::collections::VecDeque;

/// A cycle of `graph`, each task a parent of the next and the last a parent of the first. Shortest of all
/// when the graph is small, else the shortest that breadth-first searches found within a fixed amount of work.
///
/// # Panics
/// If the graph is acyclic.
pub(crate) fn short_cycle(graph: &Dag) -> Vec<TaskId> {
    let on_cycle = candidates(graph);
    let mut best: Option<Vec<TaskId>> = None;
    let mut work = Work::steps(STEPS);
    let mut reached_from = vec![None; graph.len()];
    let mut touched = Vec::new();
    for start in graph.tasks().filter(|t| on_cycle[t.index()]) {
        if best.is_some() && work.is_over() {
            break;
        }
        // Only a shorter one is of use, so a later search goes no deeper than the best.
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        let mut queue = VecDeque::from([(start, 1)]);
        'search: while let Some((task, length)) = queue.pop_front() {
            // Breadth first: what follows in the queue is as far away or farther.
            if length >= limit {
                break;
            }
            // Spent whether or not it is there: the first cycle is found at any price.
            let _ = work.spend(graph.children(task).len() as u64);
            for &child in graph.children(task) {
                if child == start {
                    let mut cycle = vec![task];
                    while *cycle.last().expect("not empty") != start {
                        let last = cycle[cycle.len() - 1];
                        cycle.push(reached_from[last.index()].expect("the search came from there"));
                    }
                    cycle.reverse();
                    best = Some(cycle);
                    break 'search;
                }
                if on_cycle[child.index()] && reached_from[child.index()].is_none() {
                    reached_from[child.index()] = Some(task);
                    touched.push(child);
                    queue.push_back((child, length + 1));
                }
            }
        }
        for task in touched.drain(..) {
            reached_from[task.index()] = None;
        }
    }
    best.expect("a graph that cannot be sorted has a cycle")
}

/// The tasks left after peeling sources and sinks for as long as there are any: every cycle lies in them.
fn candidates(graph: &Dag) -> Vec<bool> {
    let mut left = vec![true; graph.len()];
    peel(graph, &mut left, Dag::parents, Dag::children);
    // What hangs behind a cycle without leading back into one goes as well. Tasks between two cycles stay.
    peel(graph, &mut left, Dag::children, Dag::parents);
    left
}

type Row = fn(&Dag, TaskId) -> &[TaskId];

fn peel(graph: &Dag, left: &mut [bool], before: Row, after: Row) {
    let alive = |t| before(graph, t).iter().filter(|p| left[p.index()]).count();
    let mut waiting: Vec<u32> = graph.tasks().map(|t| narrow(alive(t))).collect();
    let mut free: Vec<TaskId> = (graph.tasks())
        .filter(|t| left[t.index()] && waiting[t.index()] == 0)
        .collect();
    while let Some(task) = free.pop() {
        left[task.index()] = false;
        let others = after(graph, task).iter().copied();
        free.extend(completed(others.filter(|t| left[t.index()]), &mut waiting));
    }
}
