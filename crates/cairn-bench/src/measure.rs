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

/// Runs `work` once and returns its result, the seconds it took, and the seconds all threads of this process were on processors
/// meanwhile, to a hundredth: zero where /proc does not tell.
pub fn timed_on_cpus<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let before = ticks_on_cpus().unwrap_or(0);
    let (result, wall) = timed(work);
    let spent = ticks_on_cpus().unwrap_or(0).saturating_sub(before);
    (result, wall, spent as f64 / 100.0)
}

/// Hundredths of a second in this program and for it in the kernel, of all threads.
fn ticks_on_cpus() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may have blanks in it; utime and stime are the 12th and 13th from there.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks = |n: usize| rest.split_whitespace().nth(n)?.parse::<u64>().ok();
    Some(ticks(11)? + ticks(12)?)
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
