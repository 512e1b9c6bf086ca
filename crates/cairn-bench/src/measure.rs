//! Clocks and memory for the benches. Knows nothing of what is measured.
#![allow(dead_code, reason = "each topic uses what it needs")]

use std::time::Instant;

/// Runs `work` once and returns its result and the seconds it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Runs `work` once and returns its result and the seconds this thread was on a processor meanwhile: what a shared
/// machine cannot stretch. Wall-clock seconds where /proc does not tell.
pub fn timed_on_cpu<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = nanoseconds_on_cpu();
    let (result, wall) = timed(work);
    let spent = before
        .zip(nanoseconds_on_cpu())
        .map(|(b, a)| (a - b) as f64 / 1e9);
    (result, spent.unwrap_or(wall))
}

fn nanoseconds_on_cpu() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok()
}

/// The fastest of `runs` runs, in seconds, and the last result: machines are noisy, the minimum least so.
pub fn fastest<T>(runs: usize, mut work: impl FnMut() -> T) -> (T, f64) {
    let (mut result, mut best) = timed(&mut work);
    for _ in 1..runs {
        let (again, seconds) = timed(&mut work);
        (result, best) = (again, best.min(seconds));
    }
    (result, best)
}

/// The most memory this process has held so far, in bytes; `None` where /proc does not tell.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
