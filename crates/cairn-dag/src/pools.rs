//! Named resources: which a task holds, how much of each, and how much there is. Knows nothing of who waits for them.

use crate::columns::{Column, Lists};
use crate::names::Names;
use crate::{narrow, wide};

/// For each task a list of pools with counts, and a limit for some pools. Takes no memory until one is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pools {
    names: Names,
    /// By pool.
    limits: Column<Option<u32>>,
    /// The pools whose limit was given, in that order.
    limited: Vec<u32>,
    /// By task: numbers of `uses`.
    lists: Lists,
    /// Each pair of a pool and a count once: a million tasks share a few.
    uses: Vec<(u32, u32)>,
    by_use: hashbrown::HashMap<(u32, u32), u32>,
}

impl Pools {
    /// Notes that the task holds so much of a pool. `false` when there is no room.
    #[must_use]
    pub(crate) fn add(&mut self, task: usize, pool: &str, count: u32) -> bool {
        let Some(pool) = self.names.intern(pool) else {
            return false;
        };
        // Pairs, not pools: how much a task holds is mostly the same, and one number a task is all there is to keep.
        let next = narrow(self.uses.len());
        let number = *self.by_use.entry((pool, count)).or_insert(next);
        if number == next {
            self.uses.push((pool, count));
        }
        let Pools { lists, uses, .. } = self;
        // A task holds a few pools: looking through its list is faster than a table.
        let named = |&&mut item: &&mut u32| uses[wide(item)].0 == pool;
        match lists.items_mut(task).iter_mut().find(named) {
            // Named again for the same task: the last one counts.
            Some(item) => *item = number,
            None => return lists.push(task, number),
        }
        true
    }

    /// Sets how much there is of a pool. `false` when there is no room.
    #[must_use]
    pub(crate) fn set_limit(&mut self, pool: &str, limit: u32) -> bool {
        let Some(pool) = self.names.intern(pool) else {
            return false;
        };
        if self.limits.slot(wide(pool)).replace(limit).is_none() {
            self.limited.push(pool);
        }
        true
    }

    pub(crate) fn of(&self, task: usize) -> impl Iterator<Item = (&str, u32)> {
        let uses = self.lists.items(task).iter().map(|&i| self.uses[wide(i)]);
        uses.map(|(pool, count)| (self.names.get(wide(pool)), count))
    }

    pub(crate) fn limits(&self) -> impl Iterator<Item = (&str, u32)> {
        self.limited.iter().filter_map(|&pool| {
            let limit = self.limits.get(wide(pool))?;
            Some((self.names.get(wide(pool)), limit))
        })
    }

    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.lists.permute(to);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.names.heap_bytes()
            + self.limits.heap_bytes()
            + 4 * self.limited.capacity()
            + self.lists.heap_bytes()
            + 8 * self.uses.capacity()
            + 16 * self.by_use.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_a_pool_counts_and_its_place_stays() {
        let mut pools = Pools::default();
        assert_eq!(pools.heap_bytes(), 0);
        for (task, pool, count) in [(3, "a", 1), (3, "b", 2), (0, "a", 1), (3, "a", 7)] {
            assert!(pools.add(task, pool, count));
        }
        for (pool, limit) in [("c", 5), ("a", 4), ("c", 0)] {
            assert!(pools.set_limit(pool, limit));
        }
        let of = |task| pools.of(task).collect::<Vec<_>>();
        assert_eq!(of(3), [("a", 7), ("b", 2)]);
        assert_eq!((of(0), of(1), of(9)), (vec![("a", 1)], vec![], vec![]));
        assert_eq!(pools.limits().collect::<Vec<_>>(), [("c", 0), ("a", 4)]);
    }
}
