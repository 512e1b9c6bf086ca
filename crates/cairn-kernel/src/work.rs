//! How much work an answer may cost. Knows no clock: whoever has one passes a question "stop now?".

/// A budget of abstract steps, and a question asked now and then whether to stop early.
///
/// Steps, not seconds, so that answers are the same on every machine for as long as nobody says stop. The question may
/// be asked from several threads, each with a [`part`](Work::part) of its own; once answered with yes, it must be so
/// for ever.
///
/// ```
/// use cairn_kernel::Work;
/// use std::time::{Duration, Instant};
/// let start = Instant::now();
/// let late = move || start.elapsed() > Duration::from_secs(60);
/// let mut work = Work::new(10, &late);
/// assert!(work.afford(8) && !work.afford(8) && work.afford(2));
/// assert!(!work.is_stopped() && !Work::unlimited().is_stopped());
/// ```
#[derive(Clone)]
pub struct Work<'a> {
    left: u64,
    until_asked: u32,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: bool,
}

/// The work allowed was over before the answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Steps between two questions.
// At some nanoseconds a step, some tens of microseconds: soon enough for Ctrl-C, seldom enough not to be felt.
const ASK_EVERY: u32 = 4096;

impl Work<'static> {
    /// Any number of steps, and nobody says stop.
    pub fn unlimited() -> Work<'static> {
        Work::steps(u64::MAX)
    }

    /// At most so many steps, and nobody says stop.
    pub fn steps(steps: u64) -> Work<'static> {
        Work::new(steps, &|| false)
    }
}

impl<'a> Work<'a> {
    /// At most `steps`, and never past the moment when `stop` answers yes.
    pub fn new(steps: u64, stop: &'a (dyn Fn() -> bool + Sync)) -> Work<'a> {
        Work {
            left: steps,
            // So the first step asks: work that was stopped before it began does nothing.
            until_asked: 0,
            stop,
            stopped: false,
        }
    }

    /// Any number of steps until `stop` answers yes.
    pub fn until(stop: &'a (dyn Fn() -> bool + Sync)) -> Work<'a> {
        Work::new(u64::MAX, stop)
    }

    /// Uses up `steps`; `false` once the budget is gone or it is time to stop. Who asks for more than is left gets
    /// nothing any more: the work is over.
    #[inline]
    #[must_use]
    pub fn spend(&mut self, steps: u64) -> bool {
        let is_paid = self.afford(steps);
        if !is_paid {
            self.left = 0;
        }
        is_paid
    }

    /// Uses up `steps` if so many are left, and says whether; else something cheaper can still be tried.
    #[inline]
    #[must_use]
    pub fn afford(&mut self, steps: u64) -> bool {
        // The question may be dear, a look at a clock; so it is asked once in so many steps.
        let asked = steps.min(u64::from(u32::MAX)) as u32;
        match self.until_asked.checked_sub(asked) {
            Some(rest) => self.until_asked = rest,
            None => {
                self.until_asked = ASK_EVERY;
                self.is_stopped();
            }
        }
        match self.left.checked_sub(steps) {
            Some(rest) if !self.stopped => {
                self.left = rest;
                true
            }
            _ => false,
        }
    }

    /// [`Work::afford`] for use with `?`.
    ///
    /// # Errors
    /// If fewer steps are left, or it is time to stop.
    #[inline]
    pub fn pay(&mut self, steps: u64) -> Result<(), Stopped> {
        self.afford(steps).then_some(()).ok_or(Stopped)
    }

    /// [`Work::spend`] for use with `?`.
    #[inline]
    pub fn take(&mut self, steps: u64) -> Option<()> {
        self.spend(steps).then_some(())
    }

    /// How many steps are left.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Whether so many steps are left.
    pub fn can_afford(&self, steps: u64) -> bool {
        steps <= self.left && !self.stopped
    }

    /// Whether the budget is gone or it was time to stop.
    pub fn is_over(&self) -> bool {
        self.left == 0 || self.stopped
    }

    /// Whether the answer was stop when it was last asked for.
    pub fn was_stopped(&self) -> bool {
        self.stopped
    }

    /// Asks whether to stop, whatever was spent since the last question.
    pub fn is_stopped(&mut self) -> bool {
        self.stopped = self.stopped || (self.stop)();
        self.stopped
    }

    /// [`Work::is_stopped`] for use with `?`.
    ///
    /// # Errors
    /// If it is time to stop.
    pub fn go_on(&mut self) -> Result<(), Stopped> {
        (!self.is_stopped()).then_some(()).ok_or(Stopped)
    }

    /// One step that takes long: the question is asked before each.
    ///
    /// # Errors
    /// If no step is left, or it is time to stop.
    pub fn stride(&mut self) -> Result<(), Stopped> {
        self.go_on()?;
        self.left = self.left.checked_sub(1).ok_or(Stopped)?;
        Ok(())
    }

    /// Does something with at most `steps` of this budget.
    pub fn lend<T>(&mut self, steps: u64, act: impl FnOnce(&mut Work<'a>) -> T) -> T {
        let lent = steps.min(self.left);
        let mut part = self.part(lent);
        let result = act(&mut part);
        // A part may have been refilled inside; that gives nothing back.
        self.left -= lent - part.left.min(lent);
        self.stopped |= part.stopped;
        result
    }

    /// A budget of its own with at most `steps`, under the same question.
    pub fn part(&self, steps: u64) -> Work<'a> {
        let steps = if self.stopped { 0 } else { steps };
        Work::new(steps, self.stop)
    }

    /// Only the question: any number of steps, which are not taken from this budget.
    pub fn unmetered(&self) -> Work<'a> {
        self.part(u64::MAX)
    }

    /// Has so many steps again, for work that has come forward.
    pub fn refill(&mut self, steps: u64) {
        self.left = steps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn what_is_lent_and_spent_is_gone() {
        let mut work = Work::steps(10);
        assert!(work.lend(6, |part| part.spend(4)));
        assert!(work.can_afford(6) && !work.can_afford(7));
        assert!(!work.lend(9, |part| part.spend(7)));
        assert!(work.is_over());
    }

    #[test]
    fn what_cannot_be_afforded_is_left_but_spending_it_ends_the_work() {
        let mut work = Work::steps(10);
        assert!(!work.afford(11) && work.pay(11) == Err(Stopped));
        assert!(work.pay(4) == Ok(()) && work.left() == 6);
        assert!(!work.spend(7) && work.is_over() && !work.was_stopped());
        work.refill(3);
        assert!(work.spend(3) && !work.spend(1));
    }

    #[test]
    fn ends_by_budget_or_by_the_answer_stop() {
        let mut work = Work::steps(10);
        assert!(work.spend(10));
        assert!(!work.spend(1));
        let asked = AtomicU32::new(0);
        let third = || asked.fetch_add(1, Ordering::Relaxed) >= 2;
        let mut work = Work::until(&third);
        let mut steps = 0;
        while work.spend(1) {
            steps += 1;
        }
        assert!((ASK_EVERY..3 * ASK_EVERY).contains(&steps), "{steps}");
        assert!(work.is_over() && work.was_stopped() && work.go_on() == Err(Stopped));
        assert!(!work.part(5).spend(1), "no part of stopped work");
        assert!(!work.unmetered().spend(1) && work.stride() == Err(Stopped));
        let mut work = Work::steps(2);
        assert!(
            work.stride() == Ok(()) && work.stride() == Ok(()) && work.stride() == Err(Stopped)
        );
        assert!(!work.was_stopped() && work.unmetered().spend(9));
    }
}
