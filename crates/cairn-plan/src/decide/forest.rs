//! A bound across intervals: components that may start only after enough of another one is done.
//! Knows profiles and ancestors, not how profiles were found.

use super::ids::{IntervalId, PartId, RowId};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{NEVER, Price, Work, convolve, long, wide};

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
    pub(super) interval: IntervalId,
}

/// Each part waits for at most one other, its *controller*: not one task of it can be executed before `after`
/// tasks of the controller are. So the parts form a forest.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    controller: Vec<Option<(PartId, usize)>>,
    /// By part: those it controls, by rising threshold.
    controlled: Vec<Vec<PartId>>,
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
                controlled[c.index()].push(PartId::new(d));
            }
        }
        for list in &mut controlled {
            list.sort_by_key(|d| controller[d.index()].map_or(0, |c| c.1));
        }
        let mut forest = Forest {
            controller,
            controlled,
            best: vec![Vec::new(); parts.len()],
        };
        let mut order: Vec<PartId> = (0..parts.len()).map(PartId::new).collect();
        // A controller lies in no later interval than what it controls: from the end, all below a part is solved before it.
        order.sort_by_key(|c| std::cmp::Reverse(parts[c.index()].interval));
        for c in order {
            forest.best[c.index()] = forest.solve(c, parts[c.index()].upper, work)?;
        }
        Some(forest)
    }

    /// The most that any `t` tasks gain, t = 0..=n.
    pub(super) fn bound(&self, work: &mut Work<'_>) -> Option<Vec<i32>> {
        let mut sum = vec![0];
        for root in self.roots() {
            sum = convolve(&sum, &self.best[root.index()], None, Price::Time, work)?;
        }
        // Some numbers of tasks cannot be met exactly; the bound is for at most so many.
        for t in 1..sum.len() {
            sum[t] = sum[t].max(sum[t - 1]);
        }
        Some(sum)
    }

    fn roots(&self) -> Vec<PartId> {
        let free = |d: &PartId| self.controller[d.index()].is_none();
        let all = (0..self.controller.len()).map(PartId::new);
        all.filter(free).collect()
    }

    /// The parts controlled by `c` that may start once `done` of its tasks are executed.
    fn open_below(&self, c: PartId, done: usize) -> &[PartId] {
        let list = &self.controlled[c.index()];
        let is_open = |d: &PartId| self.controller[d.index()].is_some_and(|c| c.1 <= done);
        let count = list.partition_point(is_open);
        &list[..count]
    }

    fn solve(&self, c: PartId, upper: &[i32], work: &mut Work<'_>) -> Option<Vec<i32>> {
        let below: usize = self.controlled[c.index()]
            .iter()
            .map(|d| self.best[d.index()].len() - 1)
            .sum();
        let mut best = vec![NEVER; upper.len() + below];
        // What the parts that are open by now gain together; convolved once each, not once for every `done`.
        let mut open = vec![0];
        let mut opened = 0;
        for (done, &own) in upper.iter().enumerate() {
            // Thresholds rise, so each part below is added once, when it opens.
            for d in &self.open_below(c, done)[opened..] {
                open = convolve(&open, &self.best[d.index()], None, Price::Time, work)?;
            }
            opened = self.open_below(c, done).len();
            // Eight entries at once, as in a convolution.
            work.take(long(open.len()) / 8)?;
            for (slot, &more) in best[done..].iter_mut().zip(&open) {
                // With NEVER added this stays far below zero, which counts as unreachable wherever it is used.
                *slot = (*slot).max(own + more);
            }
        }
        Some(best)
    }

    /// To share any number of tasks among the parts, `None` when the budget runs out.
    pub(super) fn sharing(&self, work: &mut Work<'_>) -> Option<Sharing<'_>> {
        let roots = self.roots();
        Some(Sharing {
            sums: self.sums(&roots, work)?,
            roots,
            below: vec![Vec::new(); self.best.len()],
            forest: self,
        })
    }

    /// The best sums of no part, of the first, of the first two, and so on.
    fn sums(&self, parts: &[PartId], work: &mut Work<'_>) -> Option<Vec<Vec<i32>>> {
        let mut sums = vec![vec![0]];
        for d in parts {
            let last = &sums[sums.len() - 1];
            sums.push(convolve(
                last,
                &self.best[d.index()],
                None,
                Price::Time,
                work,
            )?);
        }
        Some(sums)
    }
}

/// A forest with what its parts gain together, so that this is added up once for all numbers of tasks.
pub(super) struct Sharing<'f> {
    forest: &'f Forest,
    roots: Vec<PartId>,
    /// Those of the roots.
    sums: Vec<Vec<i32>>,
    /// By part: those of the parts that it controls; nothing until they are asked for.
    below: Vec<Vec<Vec<i32>>>,
}

impl Sharing<'_> {
    /// How many tasks of each part to execute so that `total` tasks reach the bound: a place to look for a real
    /// set, which it need not be. `None` when the budget runs out.
    pub(super) fn allocation(
        &mut self,
        parts: &[Part<'_>],
        total: usize,
        work: &mut Work<'_>,
    ) -> Option<Vec<usize>> {
        let mut allocation = vec![0; parts.len()];
        let mut todo = Vec::new();
        self.share(&self.roots, &self.sums, total, &mut todo);
        while let Some((c, tasks)) = todo.pop() {
            // Eight entries at once, as in a convolution.
            work.take(1 + long(tasks) / 8)?;
            let controlled = &self.forest.controlled[c.index()];
            if self.below[c.index()].is_empty() {
                self.below[c.index()] = self.forest.sums(controlled, work)?;
            }
            let (sums, goal) = (&self.below[c.index()], self.forest.best[c.index()][tasks]);
            let own = parts[c.index()].upper.iter().enumerate().take(tasks + 1);
            let best = own.map(|(done, own)| (done, own, self.forest.open_below(c, done)));
            let reaches = |(done, own, open): &(usize, &i32, &[PartId])| {
                let more = sums[open.len()].get(tasks - done);
                more.is_some_and(|more| *own + more == goal)
            };
            if let Some((done, _, open)) = best.into_iter().find(reaches) {
                allocation[c.index()] = done;
                self.share(open, sums, tasks - done, &mut todo);
            }
        }
        Some(allocation)
    }

    /// Shares `total` tasks among parts so that the sum of their bests is largest, given their sums.
    fn share(
        &self,
        parts: &[PartId],
        sums: &[Vec<i32>],
        total: usize,
        shares: &mut Vec<(PartId, usize)>,
    ) {
        let mut left = total.min(sums[parts.len()].len() - 1);
        for (i, &d) in parts.iter().enumerate().rev() {
            let (goal, best) = (sums[i + 1][left], &self.forest.best[d.index()]);
            let fits = |take: &usize| {
                let rest = left.checked_sub(*take).and_then(|r| sums[i].get(r));
                rest.is_some_and(|&r| r != NEVER && r + best[*take] == goal)
            };
            // Where so many cannot be met exactly no share fits: nothing is taken, for an allocation is only a hint.
            let take = (0..best.len()).find(fits).unwrap_or(0);
            shares.push((d, take));
            left -= take;
        }
    }
}

/// For each part the other part, as late in the chain as possible, of which at least so many tasks are ancestors
/// of every entry. O(arcs·tasks/64).
fn controllers(
    dag: &Dag,
    parts: &[Part<'_>],
    work: &mut Work<'_>,
) -> Option<Vec<Option<(PartId, usize)>>> {
    let ancestors = Ancestors::new(dag, parts, work)?;
    let mut found = Vec::with_capacity(parts.len());
    for (d, part) in parts.iter().enumerate() {
        // (part, how many of its tasks are ancestors of every entry so far), sorted by part.
        let mut common: Option<Vec<(PartId, usize)>> = None;
        for &entry in &part.entries {
            let counts = ancestors.by_part(entry, work)?;
            common = Some(match common {
                None => counts,
                Some(before) => in_both(&before, &counts),
            });
            // Nothing is an ancestor of all entries: no controller.
            if common.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        // That a part waits for itself bounds nothing.
        let others = common.unwrap_or_default().into_iter();
        let others = others.filter(|&(c, _)| c.index() != d);
        // The latest in the chain: it opens last, and so binds most.
        found.push(others.max_by_key(|&(c, after)| (parts[c.index()].interval, after, c)));
    }
    Some(found)
}

/// All ancestors of each task of the parts, as bits sorted by part.
struct Ancestors {
    /// By task: its bit, which is its row as well; none outside of the parts, where the sinks are.
    bit: Vec<Option<RowId>>,
    /// By row, `words` each.
    bits: Vec<u64>,
    words: usize,
    /// By part: where its bits end; the first starts at 0.
    ends: Vec<usize>,
}

impl Ancestors {
    fn new(dag: &Dag, parts: &[Part<'_>], work: &mut Work<'_>) -> Option<Ancestors> {
        let mut bit = vec![None; dag.len()];
        let mut ends = Vec::with_capacity(parts.len());
        let (mut next, mut arcs) = (0usize, 0usize);
        for part in parts {
            for &task in part.tasks {
                bit[task.index()] = Some(RowId::new(next));
                next += 1;
                arcs += dag.parents(task).len();
            }
            ends.push(next);
        }
        // n²/8 bytes in all: `most_for_across` keeps that within some 18 MB.
        let words = next.div_ceil(64);
        work.take(long(arcs * words) / 8)?;
        let mut bits = vec![0u64; next * words];
        for &task in dag.topological_order() {
            let Some(own) = bit[task.index()] else {
                continue;
            };
            if work.is_stopped() {
                return None;
            }
            let own = own.index() * words;
            for row in dag.parents(task).iter().filter_map(|p| bit[p.index()]) {
                let row = row.index();
                for word in 0..words {
                    bits[own + word] |= bits[row * words + word];
                }
                bits[own + row / 64] |= 1 << (row % 64);
            }
        }
        Some(Ancestors {
            bit,
            bits,
            words,
            ends,
        })
    }

    /// The parts that have ancestors of `task`, and how many, sorted by part. O(tasks/64 + parts).
    fn by_part(&self, task: TaskId, work: &mut Work<'_>) -> Option<Vec<(PartId, usize)>> {
        // Words in a row: eight are as quick as a step.
        work.take(long(self.words + self.ends.len()) / 8)?;
        let row = self.bit[task.index()].expect("a task of a part").index();
        let bits = &self.bits[row * self.words..][..self.words];
        // Bits of its word before the given one.
        // At a multiple of 64 this is no bit at all, and the word behind the end is not read.
        let below = |end: usize| (1u64 << (end % 64)) - 1;
        let mut counts = Vec::new();
        let (mut word, mut before, mut start) = (0, 0, 0);
        for (part, &end) in self.ends.iter().enumerate() {
            // Bits are sorted by part, so that one pass over the words counts for all parts.
            while word < end / 64 {
                before += wide(bits[word].count_ones());
                word += 1;
            }
            let rest = bits
                .get(word)
                .map_or(0, |bits| (bits & below(end)).count_ones());
            let count = before + wide(rest);
            if count > start {
                counts.push((PartId::new(part), count - start));
            }
            start = count;
        }
        Some(counts)
    }
}

/// Parts in both lists with the smaller count.
fn in_both(a: &[(PartId, usize)], b: &[(PartId, usize)]) -> Vec<(PartId, usize)> {
    let count_in_b = |part: PartId| b.binary_search_by_key(&part, |e| e.0).ok().map(|i| b[i].1);
    (a.iter())
        .filter_map(|&(part, count)| Some((part, count.min(count_in_b(part)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    fn ancestors_by_search(dag: &Dag, task: TaskId) -> Vec<bool> {
        let mut seen = vec![false; dag.len()];
        let mut stack = vec![task];
        while let Some(v) = stack.pop() {
            for &p in dag.parents(v) {
                if !std::mem::replace(&mut seen[p.index()], true) {
                    stack.push(p);
                }
            }
        }
        seen
    }

    proptest! {
        #[test]
        fn ancestors_are_those_of_a_search(dag in any_dag(150), size in 1usize..70) {
            let nonsinks: Vec<TaskId> = dag.tasks().filter(|&t| !dag.is_sink(t)).collect();
            let parts: Vec<Part<'_>> = (nonsinks.chunks(size))
                .map(|tasks| Part { upper: &[], tasks, entries: Vec::new(), interval: IntervalId::default() })
                .collect();
            let never = || false;
            let mut work = Work::new(u64::MAX, &never);
            let ancestors = Ancestors::new(&dag, &parts, &mut work).unwrap();
            // Sinks are no ancestors: they have no rows, however many there are.
            prop_assert_eq!(ancestors.bits.len(), nonsinks.len() * ancestors.words);
            for &task in &nonsinks {
                let seen = ancestors_by_search(&dag, task);
                let count = |p: &Part<'_>| p.tasks.iter().filter(|t| seen[t.index()]).count();
                let ids = (0..parts.len()).map(PartId::new);
                let counts = ids.zip(parts.iter().map(count)).filter(|c| c.1 > 0);
                prop_assert_eq!(ancestors.by_part(task, &mut work).unwrap(), counts.collect::<Vec<_>>());
            }
        }
    }
}
