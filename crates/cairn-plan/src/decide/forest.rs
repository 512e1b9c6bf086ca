//! A bound across intervals: components that may start only after enough of another one is done.
//! Knows profiles and ancestors, not how profiles were found.

use super::component::NONE;
use super::convolution::{NEVER, convolve};
use crate::work::Work;
use cairn_dag::{Dag, TaskId};

/// A part of the dag in the forest: some tasks, and a bound on what they gain.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    /// `upper[k]`: the most that `k` executed tasks of this part gain.
    pub(super) upper: &'a [i32],
    /// Its tasks.
    pub(super) tasks: &'a [TaskId],
    /// Those of its tasks that wait for no reward of the part itself: one of them is always executed first.
    pub(super) entries: Vec<TaskId>,
    /// Its place along the chain: whatever it waits for lies in no later interval.
    pub(super) interval: u32,
}

/// Each part waits for at most one other, its *controller*: not one task of it can be executed before `after`
/// tasks of the controller are. So the parts form a forest.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    controller: Vec<Option<(usize, usize)>>,
    /// By part: those it controls, by rising threshold.
    controlled: Vec<Vec<usize>>,
    /// By part: the most that it and all below it gain with `t` tasks.
    best: Vec<Vec<i32>>,
}

impl Forest {
    /// Finds controllers and runs the program. O(n²) time and space over the tasks; `None` when the budget runs
    /// out.
    ///
    /// Valid for every partition of the nonsinks into parts whose rewards are disjoint and whose `upper` is a
    /// bound: a reward belongs to the last part in which a parent of it is executed.
    pub(super) fn new(dag: &Dag, parts: &[Part<'_>], work: &mut Work<'_>) -> Option<Forest> {
        let controller = controllers(dag, parts, work)?;
        let mut controlled = vec![Vec::new(); parts.len()];
        for (d, c) in controller.iter().enumerate() {
            if let Some((c, _)) = c {
                controlled[*c].push(d);
            }
        }
        for list in &mut controlled {
            list.sort_by_key(|&d| controller[d].map_or(0, |c| c.1));
        }
        let mut forest = Forest {
            controller,
            controlled,
            best: vec![Vec::new(); parts.len()],
        };
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(parts[i].interval));
        for c in order {
            forest.best[c] = forest.solve(c, parts[c].upper, work)?;
        }
        Some(forest)
    }

    /// The most that any `t` tasks gain, t = 0..=n.
    pub(super) fn bound(&self, work: &mut Work<'_>) -> Option<Vec<i32>> {
        let mut sum = vec![0];
        for root in self.roots() {
            if !work.spend((sum.len() * self.best[root].len()) as u64 / 8) {
                return None;
            }
            sum = convolve(&sum, &self.best[root]);
        }
        for t in 1..sum.len() {
            sum[t] = sum[t].max(sum[t - 1]);
        }
        Some(sum)
    }

    fn roots(&self) -> Vec<usize> {
        let free = |d: &usize| self.controller[*d].is_none();
        (0..self.controller.len()).filter(free).collect()
    }

    /// The parts controlled by `c` that may start once `done` of its tasks are executed.
    fn open_below(&self, c: usize, done: usize) -> &[usize] {
        let list = &self.controlled[c];
        let count =
            list.partition_point(|&d| self.controller[d].is_some_and(|(_, after)| after <= done));
        &list[..count]
    }

    fn solve(&self, c: usize, upper: &[i32], work: &mut Work<'_>) -> Option<Vec<i32>> {
        let below: usize = self.controlled[c]
            .iter()
            .map(|&d| self.best[d].len() - 1)
            .sum();
        let mut best = vec![NEVER; upper.len() + below];
        let mut open = vec![0];
        let mut opened = 0;
        for (done, &own) in upper.iter().enumerate() {
            for &d in &self.open_below(c, done)[opened..] {
                if !work.spend((open.len() * self.best[d].len()) as u64 / 8) {
                    return None;
                }
                open = convolve(&open, &self.best[d]);
            }
            opened = self.open_below(c, done).len();
            if !work.spend(open.len() as u64 / 8) {
                return None;
            }
            for (slot, &more) in best[done..].iter_mut().zip(&open) {
                *slot = (*slot).max(own + more);
            }
        }
        Some(best)
    }

    /// How many tasks of each part to execute so that `total` tasks reach the bound: a place to look for a real
    /// set, which it need not be. `None` when the budget runs out.
    pub(super) fn allocation(
        &self,
        parts: &[Part<'_>],
        total: usize,
        work: &mut Work<'_>,
    ) -> Option<Vec<usize>> {
        let mut allocation = vec![0; parts.len()];
        let roots = self.roots();
        let mut todo: Vec<(usize, usize)> = self.share(&roots, total, work)?;
        while let Some((c, tasks)) = todo.pop() {
            let goal = self.best[c][tasks];
            let mut open = vec![0];
            let mut opened = 0;
            for (done, &own) in parts[c].upper.iter().enumerate().take(tasks + 1) {
                let below = self.open_below(c, done);
                for &d in &below[opened..] {
                    if !work.spend((open.len() * self.best[d].len()) as u64 / 8) {
                        return None;
                    }
                    open = convolve(&open, &self.best[d]);
                }
                opened = below.len();
                if open
                    .get(tasks - done)
                    .is_some_and(|&more| own + more == goal)
                {
                    allocation[c] = done;
                    todo.extend(self.share(below, tasks - done, work)?);
                    break;
                }
            }
        }
        Some(allocation)
    }

    /// Shares `total` tasks among parts so that the sum of their bests is largest.
    fn share(
        &self,
        parts: &[usize],
        total: usize,
        work: &mut Work<'_>,
    ) -> Option<Vec<(usize, usize)>> {
        let mut sums = vec![vec![0]];
        for &d in parts {
            let last = &sums[sums.len() - 1];
            if !work.spend((last.len() * self.best[d].len()) as u64 / 8) {
                return None;
            }
            sums.push(convolve(last, &self.best[d]));
        }
        let mut left = total.min(sums[parts.len()].len() - 1);
        let mut shares = Vec::with_capacity(parts.len());
        for (i, &d) in parts.iter().enumerate().rev() {
            let goal = sums[i + 1][left];
            let fits = |take: &usize| {
                let rest = left.checked_sub(*take).and_then(|r| sums[i].get(r));
                rest.is_some_and(|&r| r != NEVER && r + self.best[d][*take] == goal)
            };
            let take = (0..self.best[d].len()).find(fits).unwrap_or(0);
            shares.push((d, take));
            left -= take;
        }
        Some(shares)
    }
}

/// For each part the other part, as late in the chain as possible, of which at least so many tasks are ancestors
/// of every entry.
fn controllers(
    dag: &Dag,
    parts: &[Part<'_>],
    work: &mut Work<'_>,
) -> Option<Vec<Option<(usize, usize)>>> {
    let mut part_of = vec![NONE; dag.len()];
    for (i, part) in parts.iter().enumerate() {
        part.tasks
            .iter()
            .for_each(|t| part_of[t.index()] = i as u32);
    }
    let mut seen = vec![0u32; dag.len()];
    let mut tick = 0;
    let mut found = Vec::with_capacity(parts.len());
    for (d, part) in parts.iter().enumerate() {
        // (part, how many of its tasks are ancestors of every entry so far), sorted by part.
        let mut common: Option<Vec<(u32, usize)>> = None;
        for &entry in &part.entries {
            tick += 1;
            let counts = ancestors_by_part(dag, entry, &part_of, &mut seen, tick, work)?;
            common = Some(match common {
                None => counts,
                Some(before) => in_both(&before, &counts),
            });
            if common.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        let others = common.unwrap_or_default().into_iter();
        let others = others.filter(|&(c, _)| c as usize != d && c != NONE);
        let best = others.max_by_key(|&(c, after)| (parts[c as usize].interval, after, c));
        found.push(best.map(|(c, after)| (c as usize, after)));
    }
    Some(found)
}

fn ancestors_by_part(
    dag: &Dag,
    task: TaskId,
    part_of: &[u32],
    seen: &mut [u32],
    tick: u32,
    work: &mut Work<'_>,
) -> Option<Vec<(u32, usize)>> {
    let mut stack = vec![task];
    let mut parts = Vec::new();
    while let Some(v) = stack.pop() {
        if !work.spend(1 + dag.parents(v).len() as u64) {
            return None;
        }
        for &p in dag.parents(v) {
            if std::mem::replace(&mut seen[p.index()], tick) != tick {
                parts.push(part_of[p.index()]);
                stack.push(p);
            }
        }
    }
    parts.sort_unstable();
    Some(
        parts
            .chunk_by(|a, b| a == b)
            .map(|run| (run[0], run.len()))
            .collect(),
    )
}

/// Parts in both lists with the smaller count.
fn in_both(a: &[(u32, usize)], b: &[(u32, usize)]) -> Vec<(u32, usize)> {
    let count_in_b = |part: u32| b.binary_search_by_key(&part, |e| e.0).ok().map(|i| b[i].1);
    (a.iter())
        .filter_map(|&(part, count)| Some((part, count.min(count_in_b(part)?))))
        .collect()
}
