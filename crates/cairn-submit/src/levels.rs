//! Many places pressed into few levels, for engines to which every other priority costs a round. Knows no engine.
//!
//! HyperQueue 0.27 looks for work once a level, so that tasks *per level* decide how many it starts a second. Levels are runs of
//! the order, as even as can be and none shorter than [`LEVEL`] where there are so many tasks: a task of an earlier level
//! is never behind one of a later. Whoever also took the smaller id of equals would follow the plan exactly; HyperQueue
//! does not, so that within a level the order is its own.

use cairn_dag::narrow;

/// The least number of tasks in a level, where there are so many.
pub const LEVEL: usize = 256;

/// By place its level, larger first: runs of the order, the last one at 1.
pub fn levels(tasks: usize, least: usize) -> Vec<u32> {
    let many = (tasks / least.max(1)).max(1);
    let begin = |run: usize| run * tasks / many;
    (0..many)
        .flat_map(|run| std::iter::repeat_n(narrow(many - run), begin(run + 1) - begin(run)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn levels_are_even_runs_of_the_order() {
        for tasks in (0..40).chain([255, 256, 511, 512, 3000]) {
            for least in [1, 2, 3, 7, 256] {
                let levels = levels(tasks, least);
                assert_eq!(levels.len(), tasks);
                assert!(levels.is_sorted_by(|a, b| a >= b));
                let sizes: Vec<usize> = levels.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
                let (low, high) = (sizes.iter().min(), sizes.iter().max());
                let (low, high) = (low.copied().unwrap_or(0), high.copied().unwrap_or(0));
                assert!(high - low <= 1, "{tasks} {least}: {sizes:?}");
                assert!(
                    low >= least.min(tasks) && high < 2 * least.max(1) + 1,
                    "{sizes:?}"
                );
                assert_eq!(levels.last().copied().unwrap_or(1), 1);
            }
        }
    }

    /// The twin: one worker or many that end in any order, and at every start a look at all that is eligible.
    #[test]
    fn whoever_takes_the_highest_level_takes_the_order() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(7);
        for _ in 0..3000 {
            let tasks = random.random_range(1..30usize);
            let parents: Vec<Vec<usize>> = (0..tasks)
                .map(|t| (0..t).filter(|_| random.random_bool(0.12)).collect())
                .collect();
            let levels = levels(tasks, random.random_range(1..9));
            let workers = random.random_range(1..5);
            let (mut started, mut done) = (vec![false; tasks], vec![false; tasks]);
            let mut running: Vec<usize> = Vec::new();
            while done.iter().any(|d| !d) {
                let eligible: Vec<usize> = (0..tasks)
                    .filter(|&t| !started[t] && parents[t].iter().all(|&p| done[p]))
                    .collect();
                let by_level = eligible
                    .iter()
                    .copied()
                    .max_by_key(|&t| (levels[t], tasks - t));
                // By the order itself: the first that is eligible.
                assert_eq!(by_level, eligible.first().copied());
                match by_level {
                    Some(task) if running.len() < workers => {
                        started[task] = true;
                        running.push(task);
                    }
                    _ => {
                        let ends = running.swap_remove(random.random_range(0..running.len()));
                        done[ends] = true;
                    }
                }
            }
        }
    }
}
