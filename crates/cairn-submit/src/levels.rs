//! Many places pressed into few levels of priority, for HyperQueue. Knows no plan's quality but the number of eligible tasks.
//!
//! What HyperQueue 0.26 and 0.27 do with priorities (read in their source, and seen): the scheduler works in rounds, at the most one in
//! 20 ms, and gives a round's tasks to cores that are idle. Only where more than [`RESERVE`] tasks of the highest
//! level are ready does it hand more of them to a worker beforehand, and a worker takes those last come, first served. So levels of one task
//! are started in the exact order, a round each; hundreds in a level go ten times as fast, in an order of HyperQueue's own.
//!
//! Tasks share a level only where that does no harm on one core:
//!
//! - whoever asks says that they are of the same kind;
//! - they are neighbours in the plan, and all of them are eligible when the first one is;
//! - *in whatever order they go, the number of eligible tasks is that of the plan after every single one*: each makes as many tasks
//!   eligible by itself as any other, and what needs several of them needs all;
//! - no more than [`RESERVE`] of them are ready at a moment when something before them is still to become ready: a worker would
//!   begin with what it was handed beforehand.

use cairn_dag::{narrow, wide};

/// So many tasks of a level HyperQueue never hands out beforehand.
// Read in the source of 0.26 and 0.27, and seen: see above.
pub(crate) const RESERVE: usize = 16;

/// By place its level, larger first, the last one at 1. `parents` by place, each row rising; `kinds` by place: only tasks of
/// the same kind share a level.
pub(crate) fn levels(parents: &[&[u32]], kinds: &[u32]) -> Vec<u32> {
    let begins = Cuts::new(parents, kinds).begins();
    let many = begins.len();
    let ends = begins.iter().skip(1).copied().chain([parents.len()]);
    (begins.iter().zip(ends).enumerate())
        .flat_map(|(level, (&begin, end))| {
            std::iter::repeat_n(narrow(many - level), end.saturating_sub(begin))
        })
        .collect()
}

/// A moment at which something else than the next level may come first on a core: all before `end` is executed but one.
struct Leap {
    end: usize,
    /// The first task behind the next level that is ready then for sure.
    reaches: usize,
}

struct Cuts<'a> {
    parents: &'a [&'a [u32]],
    kinds: &'a [u32],
    /// By place: it is eligible once so many are executed, and this was enough for all but its last parent.
    since: Vec<usize>,
    but_one: Vec<usize>,
    /// By place: the tasks whose last parent it is.
    enables: Vec<Vec<usize>>,
    /// By place, sorted by `since`, for sweeping.
    by_since: Vec<usize>,
}

impl<'a> Cuts<'a> {
    fn new(parents: &'a [&'a [u32]], kinds: &'a [u32]) -> Cuts<'a> {
        let last = |row: &[u32], skip: usize| {
            // Rows rise, so that the last one comes last in the plan; it is executed once one more than its place is.
            let place = row.iter().rev().nth(skip);
            place.map_or(0, |&p| wide(p) + 1)
        };
        let since: Vec<usize> = parents.iter().map(|row| last(row, 0)).collect();
        let but_one = parents.iter().map(|row| last(row, 1)).collect();
        let mut enables = vec![Vec::new(); parents.len()];
        for (task, &since) in since.iter().enumerate().filter(|(_, since)| **since > 0) {
            enables[since - 1].push(task);
        }
        let mut by_since: Vec<usize> = (0..parents.len()).collect();
        // Swept once over all levels: levels begin at rising places.
        by_since.sort_by_key(|&task| since[task]);
        Cuts {
            parents,
            kinds,
            since,
            but_one,
            enables,
            by_since,
        }
    }

    /// Where levels begin.
    fn begins(&self) -> Vec<usize> {
        let tasks = self.parents.len();
        let mut begins = Vec::new();
        let mut leaps: Vec<Leap> = Vec::new();
        // Eligible before the level at hand but one began: the first of them that is behind the level at hand.
        let (mut ready, mut swept) = (std::collections::BTreeSet::new(), 0);
        let (mut before, mut begin) = (None, 0);
        while begin < tasks {
            begins.push(begin);
            // Once something that is surely ready lies before the level at hand, a core begins with that.
            leaps.retain(|leap| leap.reaches >= begin);
            let early = leaps.iter().map(|leap| leap.end).max();
            let end = self.end(begin, early);
            if let Some((from, to)) = before.replace((begin, end))
                && self.hangs_on_one(from, begin..end)
            {
                while swept < tasks && self.since[self.by_since[swept]] <= from {
                    ready.insert(self.by_since[swept]);
                    swept += 1;
                }
                ready = ready.split_off(&end);
                leaps.push(Leap {
                    end: to,
                    reaches: ready.first().copied().unwrap_or(tasks),
                });
            }
            begin = end;
        }
        begins
    }

    /// The end of the level that begins here. `early`: once so many are executed, few of it may be ready.
    fn end(&self, begin: usize, early: Option<usize>) -> usize {
        let by_itself = |task: usize| {
            let children = self.enables[task].iter();
            children.filter(|&&c| self.but_one[c] <= begin).count()
        };
        let is_early = |task: usize| early.is_some_and(|early| self.since[task] <= early);
        // A level grows by one task at a time, and ends before the first that would make the order within it matter.
        let yields = by_itself(begin);
        let mut ready = usize::from(is_early(begin));
        for task in begin + 1..self.parents.len() {
            ready += usize::from(is_early(task));
            let is_other = self.kinds[task] != self.kinds[begin];
            if is_other || self.since[task] > begin || by_itself(task) != yields || ready > RESERVE
            {
                return task;
            }
            let together = self.enables[task]
                .iter()
                .filter(|&&c| self.but_one[c] > begin);
            // A child of several of this level becomes eligible with the last of them, whichever that is, only if it needs all.
            let mut needs_all = false;
            for &child in together {
                let own = self.parents[child].iter().filter(|&&p| wide(p) >= begin);
                if own.count() != task + 1 - begin {
                    return task;
                }
                needs_all = true;
            }
            // One more would not be among those it needs.
            if needs_all {
                return task + 1;
            }
        }
        self.parents.len()
    }

    /// Whether one task of the level that begins at `from` is a parent of all of the next.
    fn hangs_on_one(&self, from: usize, next: std::ops::Range<usize>) -> bool {
        let own = |task: usize| {
            let row = self.parents[task];
            &row[row.partition_point(|&p| wide(p) < from)..]
        };
        let mut common = own(next.start).to_vec();
        for task in next {
            let row = own(task);
            common.retain(|p| row.binary_search(p).is_ok());
            if common.is_empty() {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
