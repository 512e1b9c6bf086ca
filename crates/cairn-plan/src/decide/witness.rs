//! Real sets of tasks that gain much at some step: what a bound must not fall below. Knows no bound.

use crate::counts::{narrow, wide};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;

/// For each number of executed nonsinks, the largest gain of a real set met so far, and where it matters the set.
#[derive(Clone, Debug)]
pub(super) struct Witnesses {
    gain: Vec<u32>,
    set: Vec<Set>,
    /// Orders whose prefixes are such sets.
    orders: Vec<Vec<TaskId>>,
}

/// Where the set behind a gain is written down.
#[derive(Clone, Debug)]
enum Set {
    Nowhere,
    Here(Vec<TaskId>),
    /// The first tasks of the order of this number. Each by itself would be quadratic: of a million tasks, terabytes.
    Prefix(usize),
}

impl Witnesses {
    /// Starts with the gains of an order's prefixes.
    pub(super) fn new(gains: &[u32]) -> Witnesses {
        Witnesses {
            gain: gains.to_vec(),
            set: vec![Set::Nowhere; gains.len()],
            orders: Vec::new(),
        }
    }

    /// The largest gain at step `t` so far.
    pub(super) fn gain(&self, t: usize) -> u32 {
        self.gain[t]
    }

    /// All of them.
    pub(super) fn gains(&self) -> &[u32] {
        &self.gain
    }

    /// The set behind the gain at step `t`, when it was found as a set and no order has since done better.
    pub(super) fn set(&self, t: usize) -> Option<&[TaskId]> {
        match &self.set[t] {
            Set::Nowhere => None,
            Set::Here(set) => Some(set),
            Set::Prefix(order) => Some(&self.orders[*order][..t]),
        }
    }

    /// Notes a gain that some real set of `t` tasks is known to have.
    pub(super) fn note(&mut self, t: usize, gain: u32) {
        if gain > self.gain[t] {
            self.gain[t] = gain;
            self.set[t] = Set::Nowhere;
        }
    }

    /// Notes a gain together with its set.
    pub(super) fn note_set(&mut self, gain: u32, set: impl FnOnce() -> Vec<TaskId>, t: usize) {
        if gain > self.gain[t] {
            self.gain[t] = gain;
            self.set[t] = Set::Here(set());
        }
    }

    /// Notes the gains of all prefixes of an order.
    pub(super) fn note_order(&mut self, gains: &[u32], order: &[TaskId]) {
        let number = self.orders.len();
        self.orders.push(order.to_vec());
        for (t, &gain) in gains.iter().enumerate() {
            if gain > self.gain[t] {
                self.gain[t] = gain;
                self.set[t] = Set::Prefix(number);
            }
        }
    }

    /// One more task never loses a reward: gains never fall along the steps.
    pub(super) fn settle(&mut self) {
        for t in 1..self.gain.len() {
            if self.gain[t] < self.gain[t - 1] {
                self.gain[t] = self.gain[t - 1];
                self.set[t] = Set::Nowhere;
            }
        }
    }
}

/// Walks greedily forward from each vertex of the chain, past the next one, and backward from each: sets that
/// leave the chain. `chain` lists the tasks of each interval. O(tasks²) for each; stops with the budget.
pub(super) fn greedy(dag: &Dag, chain: &[Vec<TaskId>], found: &mut Witnesses, work: &mut Work<'_>) {
    // Marks, missing parents and the gain are counted anew for each vertex.
    let begin = 2 * wide(dag.len() + dag.arc_count());
    for start in 0..chain.len() {
        let steps: usize = chain[start..].iter().take(2).map(Vec::len).sum();
        if !work.spend(begin) || forward(dag, chain, start, steps, found, work).is_none() {
            return;
        }
    }
    for end in 1..=chain.len() {
        let steps: usize = chain[..end].iter().rev().take(2).map(Vec::len).sum();
        if !work.spend(begin) || backward(dag, chain, end, steps, found, work).is_none() {
            return;
        }
    }
}

fn executed_after(dag: &Dag, chain: &[Vec<TaskId>], intervals: usize) -> Vec<bool> {
    let mut executed = vec![false; dag.len()];
    for task in chain[..intervals].iter().flatten() {
        executed[task.index()] = true;
    }
    executed
}

fn collect(executed: &[bool]) -> Vec<TaskId> {
    let marked = executed.iter().enumerate().filter(|e| *e.1);
    marked.map(|(i, _)| TaskId::new(i)).collect()
}

fn missing_parents(dag: &Dag, executed: &[bool]) -> Vec<u32> {
    (dag.tasks())
        .map(|t| {
            let missing = dag.parents(t).iter().filter(|p| !executed[p.index()]);
            narrow(missing.count())
        })
        .collect()
}

fn total_gain(dag: &Dag, missing: &[u32]) -> u32 {
    let gained = dag
        .tasks()
        .filter(|&t| !dag.is_source(t) && missing[t.index()] == 0);
    narrow(gained.count())
}

/// Always executes the eligible nonsink that gains most now, or else brings most children nearest.
fn forward(
    dag: &Dag,
    chain: &[Vec<TaskId>],
    start: usize,
    steps: usize,
    found: &mut Witnesses,
    work: &mut Work<'_>,
) -> Option<()> {
    let mut executed = executed_after(dag, chain, start);
    let mut missing = missing_parents(dag, &executed);
    let mut gain = total_gain(dag, &missing);
    let mut t: usize = chain[..start].iter().map(Vec::len).sum();
    let mut eligible: Vec<TaskId> = (dag.tasks())
        .filter(|&v| !executed[v.index()] && missing[v.index()] == 0 && !dag.is_sink(v))
        .collect();
    for _ in 0..steps {
        let look: usize = eligible.iter().map(|&v| dag.children(v).len()).sum();
        if !work.spend(1 + wide(look)) {
            return None;
        }
        let worth = |v: TaskId| {
            let children = dag.children(v).iter();
            let now = children.clone().filter(|c| missing[c.index()] == 1).count();
            // A child that lacks one counts 100,000, one that lacks two half of it, and so on: integers, the same
            // everywhere.
            // No division by zero: of a child that it is to open, at least the task itself is missing.
            let near: u64 = children
                .map(|c| 100_000 / u64::from(missing[c.index()]))
                .sum();
            (now, near, std::cmp::Reverse(v))
        };
        let (at, &task) = eligible.iter().enumerate().max_by_key(|e| worth(*e.1))?;
        eligible.swap_remove(at);
        executed[task.index()] = true;
        for &child in dag.children(task) {
            missing[child.index()] -= 1;
            if missing[child.index()] == 0 {
                gain += 1;
                if !dag.is_sink(child) {
                    eligible.push(child);
                }
            }
        }
        t += 1;
        // The set is written down only where it is the best so far: that is a pass over all tasks.
        if gain > found.gain(t) && !work.spend(wide(dag.len())) {
            return None;
        }
        found.note_set(gain, || collect(&executed), t);
    }
    Some(())
}

/// Always takes back the executed task, with no executed child, that loses least.
fn backward(
    dag: &Dag,
    chain: &[Vec<TaskId>],
    end: usize,
    steps: usize,
    found: &mut Witnesses,
    work: &mut Work<'_>,
) -> Option<()> {
    let mut executed = executed_after(dag, chain, end);
    let mut missing = missing_parents(dag, &executed);
    let mut gain = total_gain(dag, &missing);
    let mut t: usize = chain[..end].iter().map(Vec::len).sum();
    let mut executed_children: Vec<u32> = (dag.tasks())
        .map(|v| {
            narrow(
                dag.children(v)
                    .iter()
                    .filter(|c| executed[c.index()])
                    .count(),
            )
        })
        .collect();
    let mut last: Vec<TaskId> = (dag.tasks())
        .filter(|&v| executed[v.index()] && executed_children[v.index()] == 0)
        .collect();
    for _ in 0..steps {
        let look: usize = last.iter().map(|&v| dag.children(v).len()).sum();
        if !work.spend(1 + wide(look)) {
            return None;
        }
        let loss = |v: TaskId| {
            dag.children(v)
                .iter()
                .filter(|c| missing[c.index()] == 0)
                .count()
        };
        let (at, &task) = last.iter().enumerate().min_by_key(|e| (loss(*e.1), *e.1))?;
        gain -= narrow(loss(task));
        last.swap_remove(at);
        executed[task.index()] = false;
        for &child in dag.children(task) {
            missing[child.index()] += 1;
        }
        for &parent in dag.parents(task) {
            executed_children[parent.index()] -= 1;
            if executed_children[parent.index()] == 0 {
                last.push(parent);
            }
        }
        t -= 1;
        if gain > found.gain(t) && !work.spend(wide(dag.len())) {
            return None;
        }
        found.note_set(gain, || collect(&executed), t);
    }
    Some(())
}

/// Notes the union of the first `count` tasks of each order, if it is a set that can have been executed.
pub(super) fn note_prefixes(dag: &Dag, prefixes: &[&[TaskId]], found: &mut Witnesses) {
    let mut executed = vec![false; dag.len()];
    prefixes
        .iter()
        .copied()
        .flatten()
        .for_each(|t| executed[t.index()] = true);
    let missing = missing_parents(dag, &executed);
    if dag
        .tasks()
        .all(|t| !executed[t.index()] || missing[t.index()] == 0)
    {
        let t = prefixes.iter().map(|p| p.len()).sum();
        found.note_set(total_gain(dag, &missing), || collect(&executed), t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_written_down_once() {
        let tasks = |ids: &[u32]| ids.iter().map(|&i| TaskId(i)).collect::<Vec<_>>();
        let mut found = Witnesses::new(&[0, 1, 1, 2]);
        assert_eq!(found.set(2), None);
        found.note_order(&[0, 1, 2, 2], &tasks(&[4, 7, 5]));
        found.note_order(&[0, 2, 2, 2], &tasks(&[9, 4, 7]));
        assert_eq!(found.gains(), [0, 2, 2, 2]);
        // The first order that has a gain shows it; none where the gain was known before.
        assert_eq!(found.set(1), Some(&tasks(&[9])[..]));
        assert_eq!(found.set(2), Some(&tasks(&[4, 7])[..]));
        assert_eq!((found.set(0), found.set(3)), (None, None));
        found.note_set(3, || tasks(&[1, 2]), 2);
        found.settle();
        assert_eq!(found.gains(), [0, 2, 3, 3]);
        assert_eq!(found.set(2), Some(&tasks(&[1, 2])[..]));
    }
}
