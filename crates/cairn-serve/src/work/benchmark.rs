//! How fast this machine is, by a tenth of a second of work when a worker comes. Knows no task.

use cairn_kernel::GOLDEN;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds a second of a machine whose speed counts as 1: an ordinary one of 2020. What counts is how workers compare.
// So any number would do as well; but books of earlier runs have speeds in this unit, and another one would make all known
// workers slower or faster at once.
const USUAL: f64 = 2_500.0;
/// How long one slice takes, and how many there are.
// A judgement: a slice has some sixty rounds, so that the last one hardly counts, and is longer than most turns that the system
// gives to somebody else, so that one of four goes undisturbed. All of it is a tenth of a second, which every worker waits once.
const SLICE: Duration = Duration::from_millis(25);
const SLICES: u32 = 4;
/// Words among which a round jumps, and how often it does.
// A quarter of a megabyte: more than the nearest cache of a processor, about what it has to itself beyond that. A power of two:
// the mask of `round` needs one.
const WORDS: usize = 1 << 15;
const STEPS: u64 = WORDS as u64;

/// The best of some slices: what else runs here makes a machine look slower than it is, never faster.
pub(super) fn speed() -> f64 {
    let mut memory = vec![1u64; WORDS];
    // The best: others may have had the processor for a while.
    let best = (0..SLICES).map(|_| slice(&mut memory)).fold(0.0, f64::max);
    best / USUAL
}

/// Rounds a second in one slice.
fn slice(memory: &mut [u64]) -> f64 {
    let begin = Instant::now();
    let mut rounds = 0u32;
    loop {
        round(memory);
        rounds += 1;
        let passed = begin.elapsed();
        if passed >= SLICE {
            return f64::from(rounds) / passed.as_secs_f64();
        }
    }
}

/// Some work of the kind that programs do: numbers, jumps and a quarter of a megabyte of memory.
fn round(memory: &mut [u64]) {
    let mask = memory.len() - 1;
    let mut at = memory[0] as usize & mask;
    let mut sum = 1.0f64;
    for step in 0..STEPS {
        let word = memory[at];
        let mixed = (word ^ step)
            // Odd and irregular: every bit of a word moves those above it.
            .wrapping_mul(GOLDEN)
            // So that the high bits, which all others moved, are among those of the next product.
            .rotate_left(23);
        memory[at] = mixed;
        // One in four, and nobody can foresee which: as branches are in programs.
        if mixed & 3 == 0 {
            sum = (sum + (mixed >> 40) as f64).sqrt();
        }
        // The fifteen highest bits: a jump to any of the words.
        at = (at + (mixed >> 49) as usize + 1) & mask;
    }
    // Used, or the compiler would leave the roots out.
    memory[0] = memory[0].wrapping_add(black_box(sum) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_is_short_and_says_something() {
        let begin = Instant::now();
        let speed = speed();
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "{:?}",
            begin.elapsed()
        );
        assert!((1e-3..1e3).contains(&speed), "{speed}");
    }
}
