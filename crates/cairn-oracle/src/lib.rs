//! Slow and obvious answers for small dags, for tests alone. Knows none of the clever algorithms.
//!
//! An *ideal* is a set of tasks closed under parents: what can have been executed at some moment. It is held as
//! a bit mask, task `i` in bit `i`, so dags here have at most 24 tasks.

mod composite;
mod priority;
mod reach;
mod reasons;

pub use composite::{Shape, any_composite, any_sum, compose, sum};
pub use priority::has_priority;
pub use reach::{reach, shortcuts};
pub use reasons::{Among, gain, is_independent, mask, most_between, only_best};

use cairn_dag::{Dag, TaskId};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most tasks a dag may have here: 2²⁴ sets, which is what a test can go through in a second.
pub const MOST: usize = 24;

/// For each size `t = 0..=n`, all ideals of that size.
///
/// # Panics
/// If the dag has more than [`MOST`] tasks.
pub fn ideals(dag: &Dag) -> Vec<Vec<u32>> {
    assert!(dag.len() <= MOST, "brute force is for small dags");
    let mut layers = vec![vec![0u32]];
    for _ in 0..dag.len() {
        let last = &layers[layers.len() - 1];
        let mut next = BTreeSet::new();
        for &ideal in last {
            for task in eligible(dag, ideal) {
                next.insert(ideal | 1 << task.0);
            }
        }
        layers.push(next.into_iter().collect());
    }
    layers
}

/// The tasks that are not in `ideal` but whose parents all are.
pub fn eligible(dag: &Dag, ideal: u32) -> Vec<TaskId> {
    let executed = |t: TaskId| ideal >> t.0 & 1 == 1;
    (dag.tasks())
        .filter(|&t| !executed(t) && dag.parents(t).iter().all(|&p| executed(p)))
        .collect()
}

/// The most tasks that can be eligible after `t = 0..=n` executed tasks: the best over all ideals of size `t`.
pub fn best_profile(dag: &Dag) -> Vec<u32> {
    (ideals(dag).iter())
        .map(|layer| {
            let counts = layer.iter().map(|&i| eligible(dag, i).len() as u32);
            counts.max().expect("every size has an ideal")
        })
        .collect()
}

/// An IC-optimal order: one that attains [`best_profile`] at every step. `None` proves that there is none.
pub fn ic_optimal_order(dag: &Dag) -> Option<Vec<TaskId>> {
    let best = best_profile(dag);
    // Ideals reachable through optimal ideals alone, each with the order that led to it.
    let mut front: Vec<(u32, Vec<TaskId>)> = vec![(0, Vec::new())];
    for &goal in &best[1..] {
        let mut seen = BTreeSet::new();
        let mut next = Vec::new();
        for (ideal, order) in &front {
            for task in eligible(dag, *ideal) {
                let grown = ideal | 1 << task.0;
                if eligible(dag, grown).len() as u32 == goal && seen.insert(grown) {
                    let mut order = order.clone();
                    order.push(task);
                    next.push((grown, order));
                }
            }
        }
        front = next;
    }
    front.into_iter().next().map(|(_, order)| order)
}

/// How many tasks are eligible after each prefix of `order`.
///
/// # Panics
/// If `order` is no topological order of all tasks.
pub fn profile(dag: &Dag, order: &[TaskId]) -> Vec<u32> {
    assert_eq!(order.len(), dag.len(), "an order names every task once");
    let mut ideal = 0u32;
    let mut out = vec![eligible(dag, 0).len() as u32];
    for &task in order {
        assert!(
            eligible(dag, ideal).contains(&task),
            "{task:?} is not eligible"
        );
        ideal |= 1 << task.0;
        out.push(eligible(dag, ideal).len() as u32);
    }
    out
}

/// The folder of other people's dags: `$CAIRN_CORPUS`, or `../shared/corpus` beside the workspace. Where there is
/// none, says aloud that `test` is skipped: past the test harness's capture, so that the summary can count it.
pub fn corpus(test: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("CAIRN_CORPUS").map_or_else(beside, PathBuf::from);
    if folder.join("manifest.csv").is_file() {
        return Some(folder);
    }
    let line = format!("SKIPPED: {test}: no corpus of dags (set CAIRN_CORPUS to its folder)\n");
    // Nobody reads standard error: then nobody needs to be told.
    let _ = std::io::stderr().write_all(line.as_bytes());
    None
}

/// Random dags of `0..=most` tasks in several styles: sparse, dense, layered, tree-like, with isolated tasks.
/// Ids are shuffled, so that they tell nothing about the order.
pub fn any_dag(most: usize) -> impl Strategy<Value = Dag> {
    (0..=most, 0usize..5, any::<u64>()).prop_map(|(n, style, seed)| random_dag(n, style, seed))
}

/// SplitMix64: enough for tests, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// A number in `0..k`; 0 if `k` is 0.
    pub fn below(&mut self, k: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % k.max(1) as u64) as usize
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// The dag of these arcs with its ids shuffled.
fn relabelled(n: usize, arcs: Vec<(usize, usize)>, random: &mut Random) -> Dag {
    let mut label: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut label);
    let arcs = arcs.into_iter().map(|(p, c)| (label[p], label[c]));
    Dag::from_arcs(n, arcs.collect()).expect("arcs go from smaller to larger before relabelling")
}

/// One dag of [`any_dag`]: `style` is 0 uniform sparse, 1 uniform dense, 2 layered, 3 windowed, 4 tree-like.
pub fn random_dag(n: usize, style: usize, seed: u64) -> Dag {
    let mut random = Random::new(seed);
    let mut below = |k: usize| random.below(k);
    let mut arcs = Vec::new();
    let width = 1 + below(n / 2 + 1);
    let window = 1 + below(n / 3 + 1);
    for v in 1..n {
        let parents = match style {
            0 => below(3),
            1 => below(v + 1),
            2 | 3 => 1 + below(3),
            _ => 1 + below(5) / 4 * below(3),
        };
        for _ in 0..parents {
            let parent = match style {
                2 if v < width => continue,
                2 => (v / width - 1) * width + below(width),
                3 => v.saturating_sub(1 + below(window)),
                _ => below(v),
            };
            arcs.push((parent, v));
        }
    }
    arcs.retain(|(p, c)| p != c);
    relabelled(n, arcs, &mut random)
}

/// A dag of at most `most` tasks that often admits no IC-optimal order: one to three tasks that have one to four
/// children in common, several times over, and a few arcs more from one such part to another.
pub fn random_tangle(most: usize, seed: u64) -> Dag {
    let mut random = Random::new(seed);
    let mut arcs = Vec::new();
    let mut n = 0;
    loop {
        let (parents, children) = (1 + random.below(3), 1 + random.below(4));
        if n + parents + children > most {
            break;
        }
        let both = (n..n + parents).flat_map(|p| (0..children).map(move |c| (p, n + parents + c)));
        arcs.extend(both);
        n += parents + children;
    }
    for _ in 0..random.below(5) {
        let (a, b) = (random.below(n), random.below(n));
        if a != b {
            arcs.push((a.min(b), a.max(b)));
        }
    }
    relabelled(n, arcs, &mut random)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One task with two children, and two that share three: the best set of one lies in no best set of two.
    pub(crate) fn a_task_and_a_pair() -> Dag {
        let mut arcs = vec![(0, 3), (0, 4)];
        arcs.extend((5..8).flat_map(|shared| [(1, shared), (2, shared)]));
        Dag::from_arcs(8, arcs).unwrap()
    }

    #[test]
    fn diamond_by_hand() {
        let dag = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
        assert_eq!(ideals(&dag).iter().map(Vec::len).sum::<usize>(), 6);
        assert_eq!(best_profile(&dag), [1, 2, 1, 1, 0]);
        let order = ic_optimal_order(&dag).unwrap();
        assert_eq!(profile(&dag, &order), [1, 2, 1, 1, 0]);
    }

    #[test]
    fn some_dag_admits_no_ic_optimal_order() {
        assert_eq!(ic_optimal_order(&a_task_and_a_pair()), None);
    }
}
