//! The work of every task's descendants, estimated for dags of any size. Knows no schedule.
//!
//! Cohen (1997), "Size-estimation framework with applications to transitive closure and reachability": draw for every
//! task an exponential variable with its work as the rate. The least among a task's descendants is exponential with their
//! total work as the rate, and is found by one sweep. Some such variables together give the rate.

use crate::budgets::policy::DRAWS;
use crate::chance::Chance;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{long, wide};
use rayon::prelude::*;

/// Variables in one sweep: a cache line a task.
// Single precision: the estimate is off by 13 %, a variable by a part in 10⁷, and twice as many fit a line.
const LANES: usize = 16;
/// Bits of a variable's fraction that the table tells apart, for each number of leading zeros.
// A step of the table is a 256th, far below the 13 % of the estimate; the table, 33 KB, stays in the cache.
const FRACTION: u32 = 8;

/// The work of every task and all its descendants, within some 13 %: the same numbers on every machine and for any
/// number of threads. A task's is never below that of a child. O(64·(tasks + arcs)) time, 64 bytes a task and thread.
pub(super) fn sketched(dag: &Dag, work: impl Fn(TaskId) -> f64 + Sync) -> Vec<f64> {
    // As shares of the largest, so that single precision holds whatever the unit is.
    let largest = dag.tasks().map(&work).fold(0.0, f64::max);
    let slowness = |task| (largest / work(task)) as f32;
    let table = exponentials();
    let sweeps: Vec<Vec<f32>> = (0..DRAWS / LANES)
        .into_par_iter()
        .map(|sweep| sums_of_least(dag, &slowness, long(sweep), &table))
        .collect();
    let all_draws = |task: TaskId| -> f64 {
        let draws = sweeps.iter().map(|sums| f64::from(sums[task.index()]));
        draws.sum()
    };
    (dag.tasks())
        // One less than draws over their sum: the estimate of the rate without bias.
        .map(|task| (DRAWS - 1) as f64 / all_draws(task) * largest)
        .collect()
}

/// By task, the sum over the sweep's variables of the least among the task and its descendants.
fn sums_of_least(
    dag: &Dag,
    slowness: &impl Fn(TaskId) -> f32,
    sweep: u64,
    table: &[f32],
) -> Vec<f32> {
    let mut least = vec![[f32::INFINITY; LANES]; dag.len()];
    for &task in dag.topological_order().iter().rev() {
        // One over the rate. What takes no time, or next to none beside the largest, is never the least.
        let slowness = slowness(task);
        let mut own = [f32::INFINITY; LANES];
        if slowness.is_finite() {
            // Each pair of variables has a number of its own, so that sweeps may run in any order and on any thread.
            let number = (u64::from(task.0) * long(DRAWS / LANES) + sweep) * long(LANES / 2);
            let mut chance = Chance::from(number);
            for pair in own.chunks_exact_mut(2) {
                let bits = chance.next();
                pair[0] = exponential(bits as u32, table) * slowness;
                pair[1] = exponential((bits >> 32) as u32, table) * slowness;
            }
        }
        for child in dag.children(task) {
            for (own, below) in own.iter_mut().zip(&least[child.index()]) {
                *own = if *below < *own { *below } else { *own };
            }
        }
        least[task.index()] = own;
    }
    least.into_iter().map(sum).collect()
}

/// Always in the same order, so that rounding never puts a child above its parent; in halves, which processors do at once.
fn sum(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// A standard exponential variable: −ln(1 − v), where v's leading zeros and next bits are those of `bits`.
// By the leading zeros of v, not of 1 − v: of millions of tasks the least is some millionth, and must still be told apart.
#[inline]
fn exponential(bits: u32, table: &[f32]) -> f32 {
    // A one behind the last bit, so that there is a first one to shift out.
    let bits = u64::from(bits) << 32 | 1 << 31;
    let zeros = bits.leading_zeros();
    let fraction = (bits << (zeros + 1)) >> (64 - FRACTION);
    table[wide(zeros << FRACTION | fraction as u32)]
}

/// −ln(1 − v) for the middle of each fraction behind each number of zeros, by sums and products alone: those are the same
/// everywhere.
fn exponentials() -> Vec<f32> {
    let one = |zeros: u32, i: u32| {
        let v =
            (1.0 + (f64::from(i) + 0.5) / f64::from(1 << FRACTION)) / 2f64.powi(zeros as i32 + 1);
        // 1 − v as u·2⁻ᵏ with u above a half; exactly v where that is below a half, however small.
        let (mut u, mut k) = (1.0 - v, 0.0);
        while u < 0.5 {
            (u, k) = (2.0 * u, k + 1.0);
        }
        let missing = if k == 0.0 { v } else { 1.0 - u };
        // −ln u = 2·artanh((1 − u)/(1 + u)), and the quotient is at most a third.
        let q = missing / (2.0 - missing);
        // From the smallest, by Horner; the twentieth power of 1/9 is below the last bit.
        let terms = (0..20u32).rev();
        let rest = 2.0 * q * terms.fold(0.0, |sum, k| sum * q * q + 1.0 / f64::from(2 * k + 1));
        (k * std::f64::consts::LN_2 + rest) as f32
    };
    (0..=32u32)
        .flat_map(|zeros| (0..1 << FRACTION).map(move |i| (zeros, i)))
        .map(|(zeros, i)| one(zeros, i))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_are_exponential() {
        let table = exponentials();
        let mut last = 0.0;
        // From the smallest on: by falling numbers of zeros.
        for zeros in (0..=32usize).rev() {
            for i in 0..256usize {
                let v = (1.0 + (i as f64 + 0.5) / 256.0) * 0.5f64.powi(zeros as i32 + 1);
                let entry = table[zeros * 256 + i];
                let exact = -(-v).ln_1p();
                assert!(
                    (f64::from(entry) / exact - 1.0).abs() < 1e-7,
                    "{zeros} {i}: {entry}"
                );
                assert!(entry > last, "{zeros} {i}");
                last = entry;
            }
        }
        const MANY: u32 = 400_000;
        let all: Vec<f64> = (0..MANY / 2)
            .map(|i| Chance::from(i.into()).next())
            .flat_map(|bits| [bits as u32, (bits >> 32) as u32])
            .map(|bits| f64::from(exponential(bits, &table)))
            .collect();
        let moment = |power| all.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(MANY);
        assert!((moment(1) - 1.0).abs() < 0.01, "{}", moment(1));
        assert!((moment(2) - 2.0).abs() < 0.05, "{}", moment(2));
        for t in [0.001, 0.01, 0.1, 0.5, 1.0, 3.0f64] {
            let beyond = all.iter().filter(|x| **x > t).count() as f64 / f64::from(MANY);
            assert!((beyond - (-t).exp()).abs() < 0.004, "beyond {t}: {beyond}");
        }
        assert!(exponential(0, &table) > 0.0 && exponential(u32::MAX, &table).is_finite());
    }

    /// The least of very many is very small: whoever rounds it to a grid takes all large dags for equally large.
    #[test]
    fn a_million_descendants_are_told_from_a_hundred_thousand() {
        const TASKS: u32 = 1_000_000;
        let chain =
            Dag::from_arcs(TASKS as usize, (1..TASKS).map(|t| (t - 1, t)).collect()).unwrap();
        let near = sketched(&chain, |_| 3.0);
        for below in [10, 100, 1_000, 10_000, 100_000, 300_000, TASKS] {
            let ratio = near[(TASKS - below) as usize] / (3.0 * f64::from(below));
            // Four standard errors.
            assert!((0.5..1.5).contains(&ratio), "{below}: {ratio}");
        }
    }

    /// Durations of any unit, and such as differ by more than single precision can hold.
    #[test]
    fn units_do_not_matter() {
        let chain = Dag::from_arcs(40, (1..40).map(|t| (t - 1, t)).collect()).unwrap();
        let plain = sketched(&chain, |t| f64::from(t.0 % 5));
        for unit in [1e-300, 1e-30, 1e30, 1e300] {
            let other = sketched(&chain, |t| unit * f64::from(t.0 % 5));
            for (plain, other) in plain.iter().zip(other) {
                assert!((other / unit - plain).abs() <= 1e-5 * plain, "{unit}");
            }
        }
        let wide = sketched(&chain, |t| 10f64.powi(t.0 as i32 * 10 - 300));
        assert!(wide.iter().all(|w| w.is_finite()) && wide.windows(2).all(|w| w[0] >= w[1]));
    }
}
