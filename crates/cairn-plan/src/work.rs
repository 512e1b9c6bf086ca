//! How much work an answer may cost. Knows no clock: whoever has one passes a question "stop now?".

/// A budget of abstract steps, and a question asked now and then whether to stop early.
///
/// Steps, not seconds, so that answers are the same on every machine for as long as nobody says stop.
pub struct Work<'a> {
    left: u64,
    until_asked: u32,
    stop: &'a (dyn Fn() -> bool + Sync),
    stopped: bool,
}

/// Steps between two questions.
const ASK_EVERY: u32 = 4096;

impl<'a> Work<'a> {
    /// At most `steps`, and never past the moment when `stop` answers yes.
    pub fn new(steps: u64, stop: &'a (dyn Fn() -> bool + Sync)) -> Work<'a> {
        Work {
            left: steps,
            until_asked: 0,
            stop,
            stopped: false,
        }
    }

    /// Uses up `steps`; `false` once the budget is gone or it is time to stop.
    #[must_use]
    pub fn spend(&mut self, steps: u64) -> bool {
        let asked = steps.min(u64::from(u32::MAX)) as u32;
        match self.until_asked.checked_sub(asked) {
            Some(rest) => self.until_asked = rest,
            None => {
                self.until_asked = ASK_EVERY;
                self.stopped = self.stopped || (self.stop)();
            }
        }
        match self.left.checked_sub(steps) {
            Some(rest) if !self.stopped => {
                self.left = rest;
                true
            }
            _ => {
                self.left = 0;
                false
            }
        }
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

    /// Asks whether to stop, whatever was spent since the last question.
    pub fn is_stopped(&mut self) -> bool {
        self.stopped = self.stopped || (self.stop)();
        self.stopped
    }

    /// Does something with at most `steps` of this budget.
    pub fn lend<T>(&mut self, steps: u64, act: impl FnOnce(&mut Work<'a>) -> T) -> T {
        let lent = steps.min(self.left);
        let mut part = self.part(lent);
        let result = act(&mut part);
        self.left -= lent - part.left.min(lent);
        self.stopped |= part.stopped;
        result
    }

    /// A budget of its own with at most `steps`, under the same question.
    pub fn part(&self, steps: u64) -> Work<'a> {
        let steps = if self.stopped { 0 } else { steps };
        Work::new(steps, self.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn what_is_lent_and_spent_is_gone() {
        let never = || false;
        let mut work = Work::new(10, &never);
        assert!(work.lend(6, |part| part.spend(4)));
        assert!(work.can_afford(6) && !work.can_afford(7));
        assert!(!work.lend(9, |part| part.spend(7)));
        assert!(work.is_over());
    }

    #[test]
    fn ends_by_budget_or_by_the_answer_stop() {
        let never = || false;
        let mut work = Work::new(10, &never);
        assert!(work.spend(10));
        assert!(!work.spend(1));
        let asked = AtomicU32::new(0);
        let third = || asked.fetch_add(1, Ordering::Relaxed) >= 2;
        let mut work = Work::new(u64::MAX, &third);
        let mut steps = 0;
        while work.spend(1) {
            steps += 1;
        }
        assert!((ASK_EVERY..3 * ASK_EVERY).contains(&steps), "{steps}");
        assert!(work.is_over());
    }
}
