//! Which orders of meshes, trees and FFT dags are IC-optimal, as the theorems of [RY05] say, and how many tasks are eligible
//! along them. Knows families by parents and children alone.

use cairn_dag::{Dag, TaskId};
use cairn_theory::families::{EvolvingMesh, Family, Fft, OutTree, ReductionMesh, ReductionTree};
use std::collections::HashSet;

/// A family whose optimum is told by a formula.
pub(crate) trait Optimum: Family {
    /// How many tasks are eligible after `steps` steps of an IC-optimal order: the most possible. 0 beyond the end.
    fn best_eligible(&self, steps: u64) -> u64;
}

impl Optimum for EvolvingMesh {
    fn best_eligible(&self, steps: u64) -> u64 {
        // Level by level in the order of numbers: the task of number `steps` is the next one.
        let (level, x) = self.place(steps);
        match self.task_count().map(|tasks| self.level(tasks)) {
            Some(levels) if level >= levels => 0,
            Some(levels) if level + 1 == levels => levels - x,
            _ => level + 1,
        }
    }
}

impl Optimum for ReductionMesh {
    fn best_eligible(&self, steps: u64) -> u64 {
        match self.task_count().unwrap().checked_sub(steps) {
            None | Some(0) => 0,
            // The last unexecuted task in the numbering tells which level is under way, and how far.
            Some(left) => {
                let (level, x) = self.place(left - 1);
                level + u64::from(x == level)
            }
        }
    }
}

impl Optimum for OutTree {
    fn best_eligible(&self, steps: u64) -> u64 {
        let (nodes, arity) = (self.task_count().unwrap(), self.children(0).count() as u64);
        let inner = (nodes - 1).checked_div(arity).unwrap_or(0);
        if steps <= inner {
            // Each of the inner tasks takes itself away and brings its children.
            1 + arity * steps - steps
        } else {
            nodes.saturating_sub(steps)
        }
    }
}

impl Optimum for ReductionTree {
    fn best_eligible(&self, steps: u64) -> u64 {
        let groups = steps.checked_div(self.parents(0).count() as u64);
        match steps < self.task_count().unwrap() {
            true => self.source_count() + groups.unwrap_or(0) - steps,
            false => 0,
        }
    }
}

impl Optimum for Fft {
    fn best_eligible(&self, steps: u64) -> u64 {
        let (tasks, width) = (self.task_count().unwrap(), self.source_count());
        if steps <= tasks - width {
            // Two tasks that share their children are executed one after the other: the first of them frees nothing, the
            // second two.
            width - steps % 2
        } else {
            tasks.saturating_sub(steps)
        }
    }
}

/// The reduction-mesh: level by level from the sources, the executed tasks of a level always consecutive (Theorem 3.1,
/// exactly).
pub(crate) fn of_mesh(mesh: &ReductionMesh, order: impl IntoIterator<Item = u64>) -> bool {
    let tasks = mesh.task_count().unwrap();
    let levels = tasks.checked_sub(1).map_or(0, |last| mesh.level(last) + 1);
    let mut order = order.into_iter().map(|t| (mesh.level(t), mesh.index(t)));
    for level in (0..levels).rev() {
        // The executed tasks of this level: low..high.
        let (mut low, mut high) = (0, 0);
        for _ in 0..=level {
            let Some((at, x)) = order.next() else {
                return false;
            };
            if at != level {
                return false;
            }
            if low == high {
                (low, high) = (x, x + 1);
            } else if x == high {
                high += 1;
            } else if x + 1 == low {
                low -= 1;
            } else {
                return false;
            }
        }
    }
    order.next().is_none()
}

/// The butterfly partner in an FFT dag: the other task with the same children. `None` for sinks.
pub(crate) fn partner(fft: &Fft, task: u64) -> Option<u64> {
    let child = fft.children(task).next()?;
    fft.parents(child).find(|&other| other != task)
}

/// FFT dags: butterfly partners in consecutive steps, all sinks last (Theorem 5.1, corrected).
pub(crate) fn of_fft(fft: &Fft, order: impl IntoIterator<Item = u64>) -> bool {
    let tasks = fft.task_count().unwrap();
    let mut order = order.into_iter();
    let mut executed = HashSet::new();
    let mut execute = |task: u64| {
        task < tasks && fft.parents(task).all(|p| executed.contains(&p)) && executed.insert(task)
    };
    // Half as many pairs as there are nonsinks.
    for _ in 0..(tasks - fft.source_count()) / 2 {
        let Some(first) = order.next().filter(|&t| execute(t)) else {
            return false;
        };
        let Some(partner) = partner(fft, first) else {
            return false;
        };
        if order.next() != Some(partner) || !execute(partner) {
            return false;
        }
    }
    let sinks = fft.source_count();
    (0..sinks).all(|_| order.next().is_some_and(&mut execute)) && order.next().is_none()
}

/// Complete reduction-trees: siblings always in consecutive steps (Theorem 4.1, for any arity).
pub(crate) fn of_tree(tree: &impl Family, order: impl IntoIterator<Item = u64>) -> bool {
    let arity = tree.parents(0).count().max(1);
    siblings_together(
        tree.task_count().unwrap(),
        arity,
        order.into_iter(),
        |task| tree.children(task).next(),
        |task| tree.parents(task).next().is_none(),
    )
}

/// The arity of a stored reduction-tree: one sink, every other task with exactly one child, all tasks but the sources
/// with equally many parents. A single task counts as arity 1. `None` for any other dag.
pub(crate) fn arity(dag: &Dag) -> Option<usize> {
    let mut arity = None;
    let mut sinks = 0;
    for task in dag.tasks() {
        match dag.children(task).len() {
            0 => sinks += 1,
            1 => {}
            _ => return None,
        }
        let parents = dag.parents(task).len();
        if parents > 0 && *arity.get_or_insert(parents) != parents {
            return None;
        }
    }
    (sinks == 1).then(|| arity.unwrap_or(1))
}

/// Stored reduction-trees. `None` if the dag is none, see [`arity`].
pub(crate) fn of_stored_tree(dag: &Dag, order: &[TaskId]) -> Option<bool> {
    let task = |n: u64| TaskId(n as u32);
    Some(siblings_together(
        dag.len() as u64,
        arity(dag)?,
        order.iter().map(|t| u64::from(t.0)),
        |n| dag.children(task(n)).first().map(|c| u64::from(c.0)),
        |n| dag.is_source(task(n)),
    ))
}

/// Whether an order consists of whole groups of `arity` tasks with the same child, each eligible when its turn comes,
/// and the root.
fn siblings_together(
    tasks: u64,
    arity: usize,
    mut order: impl Iterator<Item = u64>,
    child: impl Fn(u64) -> Option<u64>,
    is_source: impl Fn(u64) -> bool,
) -> bool {
    let (mut seen, mut fed) = (HashSet::new(), HashSet::new());
    let mut execute = |task: u64, fed: &HashSet<u64>| {
        task < tasks && (is_source(task) || fed.contains(&task)) && seen.insert(task)
    };
    for _ in 0..(tasks - 1) / arity as u64 {
        let mut common = None;
        for _ in 0..arity {
            let Some(task) = order.next().filter(|&t| execute(t, &fed)) else {
                return false;
            };
            let child = child(task);
            // The root has no child and no siblings: it may come last only.
            if child.is_none() || *common.get_or_insert(child) != child {
                return false;
            }
        }
        // Its whole group at once, so that no parents need be counted.
        fed.extend(common.flatten());
    }
    let root = order.next().is_some_and(|t| execute(t, &fed));
    root && order.next().is_none()
}
