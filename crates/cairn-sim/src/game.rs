//! The pebble game on one dag: which tasks are executed, which become eligible, how many results are open. Knows no
//! time, worker or policy.

use cairn_dag::{Dag, TaskId};

/// One play of the game. Reset in one pass and without allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Game {
    /// By task: parents not yet executed.
    waiting: Vec<u32>,
    /// By task: children not yet executed.
    needed: Vec<u32>,
    executed: usize,
    open: usize,
    peak_open: usize,
    /// Tasks that became eligible since they were last taken.
    fresh: Vec<TaskId>,
}

impl Game {
    /// Starts again: nothing executed, the sources fresh.
    pub(crate) fn reset(&mut self, dag: &Dag) {
        self.waiting.clear();
        self.waiting
            .extend(dag.tasks().map(|t| dag.parents(t).len() as u32));
        self.needed.clear();
        self.needed
            .extend(dag.tasks().map(|t| dag.children(t).len() as u32));
        (self.executed, self.open, self.peak_open) = (0, 0, 0);
        self.fresh.clear();
        self.fresh.extend(dag.sources());
    }

    /// Executes an eligible task. O(degree).
    #[inline]
    pub(crate) fn execute(&mut self, dag: &Dag, task: TaskId) {
        debug_assert_eq!(self.waiting[task.index()], 0);
        self.executed += 1;
        let children = dag.children(task);
        self.open += usize::from(!children.is_empty());
        for &parent in dag.parents(task) {
            let needed = &mut self.needed[parent.index()];
            *needed -= 1;
            self.open -= usize::from(*needed == 0);
        }
        self.peak_open = self.peak_open.max(self.open);
        for &child in children {
            let waiting = &mut self.waiting[child.index()];
            *waiting -= 1;
            if *waiting == 0 {
                self.fresh.push(child);
            }
        }
    }

    /// Tasks that became eligible since the last call, sorted by id if `sorted`.
    #[inline]
    pub(crate) fn take_fresh(&mut self, sorted: bool) -> std::vec::Drain<'_, TaskId> {
        if sorted {
            self.fresh.sort_unstable();
        }
        self.fresh.drain(..)
    }

    /// How many tasks are executed.
    #[inline]
    pub(crate) fn executed(&self) -> usize {
        self.executed
    }

    /// The most executed tasks so far that had an unexecuted child.
    pub(crate) fn peak_open(&self) -> usize {
        self.peak_open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        /// Against the definitions, along a random order.
        #[test]
        fn agrees_with_the_definitions(dag in any_dag(10), seed in any::<u64>()) {
            let mut game = Game::default();
            game.reset(&dag);
            let mut eligible: Vec<TaskId> = game.take_fresh(true).collect();
            let (mut ideal, mut peak, mut seed) = (0u32, 0, seed);
            while !eligible.is_empty() {
                let mut expected = cairn_oracle::eligible(&dag, ideal);
                expected.sort_unstable();
                eligible.sort_unstable();
                prop_assert_eq!(&eligible, &expected);
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let task = eligible.swap_remove((seed >> 33) as usize % eligible.len());
                game.execute(&dag, task);
                ideal |= 1 << task.0;
                let done = |t: &TaskId| ideal >> t.0 & 1 == 1;
                let open = dag.tasks().filter(done)
                    .filter(|&t| dag.children(t).iter().any(|c| !done(c))).count();
                peak = peak.max(open);
                prop_assert_eq!(game.peak_open(), peak);
                eligible.extend(game.take_fresh(false));
            }
            prop_assert_eq!(game.executed(), dag.len());
        }
    }
}
