//! What a plan may cost; time limits and Ctrl-C as one question: stop now? The only clock of the planner.

use crate::cli;
use crate::failure::Failure;
use cairn_dag::Dag;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// Whether Ctrl-C was pressed.
pub(crate) fn is_interrupted() -> bool {
    interrupts() > 0
}

/// How often Ctrl-C was pressed.
pub(crate) fn interrupts() -> u32 {
    // Nothing hangs on the order of this and other memory: it is asked again and again.
    INTERRUPTS.load(Ordering::Relaxed)
}

/// Ctrl-C was pressed: the work is to stop and give the best so far. Says whether it was pressed before.
pub(crate) fn interrupt() -> bool {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed) > 0
}

/// What a plan may cost, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    time: Duration,
    threads: Option<usize>,
    quick: bool,
    pub(crate) thorough: bool,
}

impl Limits {
    pub(crate) fn new(flags: &cli::LimitFlags) -> Result<Limits, Failure> {
        let seconds = flags.time_limit;
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(Failure::usage(
                format!("--time-limit {seconds} is no number of seconds"),
                "give a number from 0 on, such as --time-limit 10",
            ));
        }
        if flags.threads == Some(0) {
            return Err(Failure::usage(
                "--threads 0 leaves nobody to do the work",
                "give 1 or more",
            ));
        }
        Ok(Limits {
            // Thirty years: a moment too far ahead cannot be told, and the sum would panic.
            time: Duration::from_secs_f64(seconds.min(1e9)),
            // Not refused: scripts ask for as many as their largest machine has.
            threads: flags.threads.map(most_threads),
            quick: flags.quick,
            thorough: flags.thorough,
        })
    }

    /// How hard a plan may try.
    pub(crate) fn effort(&self) -> cairn_plan::PlanEffort {
        match (self.quick, self.thorough) {
            (true, _) => cairn_plan::PlanEffort::quick(),
            (_, true) => cairn_plan::PlanEffort::thorough(),
            _ => cairn_plan::PlanEffort::default(),
        }
    }

    /// From now on as many threads work as were asked for.
    pub(crate) fn set_threads(&self) {
        if let Some(threads) = self.threads {
            // Only the first pool counts, and this is it.
            let _ = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global();
        }
    }

    /// The time begins to run.
    pub(crate) fn clock(&self) -> Clock {
        Clock::lasting(self.time)
    }
}

/// When the time is up.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    limit: Duration,
}

impl Clock {
    /// From now on for so long.
    pub(crate) fn lasting(time: Duration) -> Clock {
        Clock {
            start: Instant::now(),
            limit: time,
        }
    }

    /// A question that answers yes once the time is up or Ctrl-C was pressed.
    pub(crate) fn stop(&self) -> impl Fn() -> bool + Sync + use<> {
        self.stop_before(Duration::ZERO)
    }

    /// The same for planning: early enough that the plan is finished when the time is up, if half of it is enough.
    pub(crate) fn stop_planning(&self, dag: &Dag) -> impl Fn() -> bool + Sync + use<> {
        let to_finish = Duration::from_nanos(cairn_plan::nanoseconds_to_finish(dag));
        // Half at the least is for planning: with a short limit an unfinished plan is better than none.
        self.stop_before(to_finish.min(self.limit / 2))
    }

    /// Half of the time that is left, for work with as much still to come.
    pub(crate) fn half(&self) -> Clock {
        Clock::lasting(self.limit.saturating_sub(self.start.elapsed()) / 2)
    }

    fn stop_before(&self, end: Duration) -> impl Fn() -> bool + Sync + use<> {
        let end = self.start + self.limit - end;
        move || is_interrupted() || Instant::now() >= end
    }
}

/// As many threads as are asked for, and no more than there are processors: starting 2000 takes seconds.
fn most_threads(asked: usize) -> usize {
    let processors = std::thread::available_parallelism();
    asked.min(processors.map_or(1, std::num::NonZero::get))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_than_processors() {
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!(most_threads(2000), processors.min(2000));
        assert_eq!(most_threads(1), 1);
    }

    #[test]
    fn half_of_the_time_that_is_left() {
        let limit = Duration::from_secs(1000);
        let clock = Clock::lasting(limit);
        let half = clock.half();
        assert!(half.limit <= limit / 2 && half.limit > limit / 3);
        let over = Clock::lasting(Duration::ZERO);
        assert!(over.half().stop()());
    }
}
