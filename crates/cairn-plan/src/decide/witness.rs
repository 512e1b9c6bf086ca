//! Real sets of tasks that gain much at some step: what a bound must not fall below. Knows no bound.

use crate::counts::opened;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, long, narrow};

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
        self.raise(t, gain, || Set::Nowhere);
    }

    fn raise(&mut self, t: usize, gain: u32, set: impl FnOnce() -> Set) {
        if gain > self.gain[t] {
            self.gain[t] = gain;
            self.set[t] = set();
        }
    }

    /// Notes the gains of all prefixes of an order.
    pub(super) fn note_order(&mut self, gains: &[u32], order: &[TaskId]) {
        let number = self.orders.len();
        self.orders.push(order.to_vec());
        for (t, &gain) in gains.iter().enumerate() {
            self.raise(t, gain, || Set::Prefix(number));
        }
    }

    /// One more task never loses a reward: gains never fall along the steps.
    pub(super) fn settle(&mut self) {
        for t in 1..self.gain.len() {
            self.note(t, self.gain[t - 1]);
        }
    }
}

/// Walks greedily forward from each vertex of the chain, past the next one, and backward from each: sets that
/// leave the chain. `chain` lists the tasks of each interval. O(tasks²) for each; stops with the budget.
pub(super) fn greedy(dag: &Dag, chain: &[Vec<TaskId>], found: &mut Witnesses, work: &mut Work<'_>) {
    // Ends with the budget.
    let _ = (0..chain.len()).all(|start| forward(dag, chain, start, found, work).is_some())
        && (1..=chain.len()).all(|end| backward(dag, chain, end, found, work).is_some());
}

/// A set of executed nonsinks, and what it gains.
// Not a `Game`: it begins with any vertex of the chain at once, grows or shrinks from there, and is asked how many parents a
// child lacks, which no rule of the game depends on.
struct Executed<'a> {
    dag: &'a Dag,
    is: Vec<bool>,
    /// By task: parents that are not executed.
    missing: Vec<u32>,
    gain: u32,
    count: usize,
}

impl<'a> Executed<'a> {
    fn new(dag: &'a Dag, tasks: impl Iterator<Item = &'a TaskId>) -> Executed<'a> {
        let mut is = vec![false; dag.len()];
        let mut count = 0;
        for task in tasks {
            is[task.index()] = true;
            count += 1;
        }
        let missing = |t| dag.parents(t).iter().filter(|p| !is[p.index()]).count();
        let missing: Vec<u32> = dag.tasks().map(|t| narrow(missing(t))).collect();
        let gained = |&t: &TaskId| !dag.is_source(t) && missing[t.index()] == 0;
        Executed {
            gain: narrow(dag.tasks().filter(gained).count()),
            dag,
            is,
            missing,
            count,
        }
    }

    fn has(&self, task: TaskId) -> bool {
        self.is[task.index()]
    }

    /// Whether nothing lacks that this task waits for.
    fn is_free(&self, task: TaskId) -> bool {
        self.missing[task.index()] == 0
    }

    fn note(&self, found: &mut Witnesses) {
        let tasks = || self.dag.tasks().filter(|&t| self.has(t)).collect();
        found.raise(self.count, self.gain, || Set::Here(tasks()));
    }

    /// The set is written down only where it is the best so far: that is a pass over all tasks.
    fn note_within(&self, found: &mut Witnesses, work: &mut Work<'_>) -> Option<()> {
        if self.gain > found.gain(self.count) {
            work.take(long(self.dag.len()))?;
        }
        self.note(found);
        Some(())
    }
}

/// Always executes the eligible nonsink that gains most now, or else brings most children nearest.
fn forward(
    dag: &Dag,
    chain: &[Vec<TaskId>],
    start: usize,
    found: &mut Witnesses,
    work: &mut Work<'_>,
) -> Option<()> {
    let steps: usize = chain[start..].iter().take(2).map(Vec::len).sum();
    work.take(begin(dag))?;
    let mut executed = Executed::new(dag, chain[..start].iter().flatten());
    let mut eligible: Vec<TaskId> = (dag.tasks())
        .filter(|&v| !executed.has(v) && executed.is_free(v) && !dag.is_sink(v))
        .collect();
    for _ in 0..steps {
        work.take(look(dag, &eligible))?;
        let worth = |v: TaskId| {
            let missing = |c: &TaskId| executed.missing[c.index()];
            let children = dag.children(v).iter();
            let now = children.clone().filter(|c| missing(c) == 1).count();
            // As `nearness`, in a finer scale: 100,000 for a child that lacks one.
            // No division by zero: of a child that it is to open, at least the task itself is missing.
            let near: u64 = children.map(|c| 100_000 / u64::from(missing(c))).sum();
            (now, near, std::cmp::Reverse(v))
        };
        // Where `swap_remove` leaves the others does not matter: the id is the last key.
        let (at, &task) = eligible.iter().enumerate().max_by_key(|e| worth(*e.1))?;
        eligible.swap_remove(at);
        executed.is[task.index()] = true;
        for child in opened(dag, task, &mut executed.missing) {
            executed.gain += 1;
            if !dag.is_sink(child) {
                eligible.push(child);
            }
        }
        executed.count += 1;
        executed.note_within(found, work)?;
    }
    Some(())
}

/// Always takes back the executed task, with no executed child, that loses least.
fn backward(
    dag: &Dag,
    chain: &[Vec<TaskId>],
    end: usize,
    found: &mut Witnesses,
    work: &mut Work<'_>,
) -> Option<()> {
    let steps: usize = chain[..end].iter().rev().take(2).map(Vec::len).sum();
    work.take(begin(dag))?;
    let mut executed = Executed::new(dag, chain[..end].iter().flatten());
    let children = |v: TaskId| dag.children(v).iter().filter(|c| executed.has(**c));
    let mut executed_children: Vec<u32> =
        (dag.tasks()).map(|v| narrow(children(v).count())).collect();
    let mut last: Vec<TaskId> = (dag.tasks())
        .filter(|&v| executed.has(v) && executed_children[v.index()] == 0)
        .collect();
    for _ in 0..steps {
        work.take(look(dag, &last))?;
        // A child whose parents are all executed counts as gained, as long as it is: it is lost with the first of them.
        let lost = |v: TaskId| dag.children(v).iter().filter(|c| executed.is_free(**c));
        let loss = |v: TaskId| lost(v).count();
        let (at, &task) = last.iter().enumerate().min_by_key(|e| (loss(*e.1), *e.1))?;
        executed.gain -= narrow(loss(task));
        last.swap_remove(at);
        executed.is[task.index()] = false;
        for &child in dag.children(task) {
            executed.missing[child.index()] += 1;
        }
        for &parent in dag.parents(task) {
            executed_children[parent.index()] -= 1;
            if executed_children[parent.index()] == 0 {
                last.push(parent);
            }
        }
        executed.count -= 1;
        executed.note_within(found, work)?;
    }
    Some(())
}

/// Steps for the beginning of a walk: marks, missing parents and the gain are counted anew for each vertex.
fn begin(dag: &Dag) -> u64 {
    2 * long(dag.len() + dag.arc_count())
}

/// Steps for one look at the children of some tasks.
fn look(dag: &Dag, tasks: &[TaskId]) -> u64 {
    let children: usize = tasks.iter().map(|&v| dag.children(v).len()).sum();
    1 + long(children)
}

/// Notes the union of these tasks, if it is a set that can have been executed.
pub(super) fn note_prefixes(dag: &Dag, prefixes: &[&[TaskId]], found: &mut Witnesses) {
    let executed = Executed::new(dag, prefixes.iter().copied().flatten());
    if dag.tasks().all(|t| !executed.has(t) || executed.is_free(t)) {
        executed.note(found);
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
        found.raise(2, 3, || Set::Here(tasks(&[1, 2])));
        found.settle();
        assert_eq!(found.gains(), [0, 2, 3, 3]);
        assert_eq!(found.set(2), Some(&tasks(&[1, 2])[..]));
    }
}
