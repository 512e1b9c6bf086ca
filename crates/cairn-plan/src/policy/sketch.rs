//! The work of every task's descendants, estimated for dags of any size. Knows no schedule.
//!
//! Cohen (1997), "Size-estimation framework with applications to transitive closure and reachability": draw for every
//! task an exponential variable with its work as the rate. The least among a task's descendants is exponential with their
//! total work as the rate, and is found by one sweep. Some such variables together give the rate.

use cairn_dag::{Dag, TaskId};
use rayon::prelude::*;

/// Variables for each task: the standard error is one over the root of this less two, 12.7 %.
const DRAWS: usize = 64;
/// Variables in one sweep: a cache line a task.
const LANES: usize = 8;
/// Bits of the fraction that the table of logarithms tells apart.
const FRACTION: u32 = 12;

/// The work of every task and all its descendants, within some 13 %: the same numbers on every machine and for any
/// number of threads. A task's is never below that of a child. O(64·(tasks + arcs)) time, 64 bytes a task and thread.
pub(super) fn sketched(dag: &Dag, work: impl Fn(TaskId) -> f64 + Sync) -> Vec<f64> {
    let table = minus_logarithms();
    let sweeps: Vec<Vec<f64>> = (0..DRAWS / LANES)
        .into_par_iter()
        .map(|sweep| sums_of_least(dag, &work, sweep as u64, &table))
        .collect();
    let all_draws = |task: TaskId| sweeps.iter().map(|sums| sums[task.index()]).sum::<f64>();
    (dag.tasks())
        // One less than draws over their sum: the estimate of the rate without bias.
        .map(|task| (DRAWS - 1) as f64 / all_draws(task))
        .collect()
}

/// By task, the sum over the sweep's variables of the least among the task and its descendants.
fn sums_of_least(dag: &Dag, work: &impl Fn(TaskId) -> f64, sweep: u64, table: &[f64]) -> Vec<f64> {
    let mut least = vec![[f64::INFINITY; LANES]; dag.len()];
    for &task in dag.topological_order().iter().rev() {
        let rate = work(task);
        let mut own = std::array::from_fn(|lane| {
            // Each variable has a number of its own, so that sweeps may run in any order and on any thread.
            let number = (u64::from(task.0) * (DRAWS / LANES) as u64 + sweep) * LANES as u64;
            exponential(mixed(number + lane as u64), table) / rate
        });
        for child in dag.children(task) {
            for (own, below) in own.iter_mut().zip(&least[child.index()]) {
                *own = f64::min(*own, *below);
            }
        }
        least[task.index()] = own;
    }
    least.iter().map(|own| own.iter().sum()).collect()
}

/// Bits that look random, other ones for every number: SplitMix64 (Steele, Lea, Flood 2014).
fn mixed(number: u64) -> u64 {
    let mut z = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A standard exponential variable: −ln u, where u's leading zeros and next bits are those of `bits`.
#[inline]
fn exponential(bits: u64, table: &[f64]) -> f64 {
    // Of all-zero bits there is no fraction to shift to: such a draw has a chance of 2⁻⁵¹.
    let zeros = bits.leading_zeros().min(63 - FRACTION);
    let fraction = (bits << (zeros + 1)) >> (64 - FRACTION);
    f64::from(zeros) * std::f64::consts::LN_2 + table[fraction as usize]
}

/// −ln of (1 + f)/2 for the middle of each of the fractions, by sums and products alone: those are the same everywhere.
fn minus_logarithms() -> Vec<f64> {
    let one = |i: u32| {
        let u = (1.0 + (f64::from(i) + 0.5) / f64::from(1 << FRACTION)) / 2.0;
        // −ln u = 2·artanh((1 − u)/(1 + u)), and the quotient is at most a third.
        let q = (1.0 - u) / (1.0 + u);
        // From the smallest, by Horner; the twentieth power of 1/9 is below the last bit.
        let terms = (0..20u32).rev();
        2.0 * q * terms.fold(0.0, |sum, k| sum * q * q + 1.0 / f64::from(2 * k + 1))
    };
    (0..1 << FRACTION).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_are_exponential() {
        let table = minus_logarithms();
        for (i, &entry) in table.iter().enumerate() {
            let u = (1.0 + (i as f64 + 0.5) / 4096.0) / 2.0;
            assert!((entry + u.ln()).abs() < 1e-14, "{i}: {entry}");
        }
        const MANY: u32 = 400_000;
        let all: Vec<f64> = (0..MANY)
            .map(|i| exponential(mixed(i.into()), &table))
            .collect();
        let moment = |power| all.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(MANY);
        assert!((moment(1) - 1.0).abs() < 0.01, "{}", moment(1));
        assert!((moment(2) - 2.0).abs() < 0.04, "{}", moment(2));
        for t in [0.1, 0.5, 1.0, 3.0f64] {
            let beyond = all.iter().filter(|x| **x > t).count() as f64 / f64::from(MANY);
            assert!((beyond - (-t).exp()).abs() < 0.004, "beyond {t}: {beyond}");
        }
        assert!(exponential(0, &table).is_finite() && exponential(u64::MAX, &table) > 0.0);
    }
}
