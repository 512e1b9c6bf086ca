//! How much the checker may still do: its own `Work`, without the question "stop?". Knows not for what.

/// How many elementary steps the checker may still spend on re-checking.
#[derive(Debug)]
pub(crate) struct Work(pub(crate) u64);

impl Work {
    /// Takes the steps, if there are so many left.
    pub(crate) fn afford(&mut self, steps: u64) -> bool {
        let enough = self.0 >= steps;
        self.0 -= if enough { steps } else { 0 };
        enough
    }

    /// [`Work::afford`] for use with `?`: steps that are refused stay, where the planner's `take` ends its work.
    pub(crate) fn take(&mut self, steps: u64) -> Option<()> {
        self.afford(steps).then_some(())
    }

    /// Takes the steps, or all that are left.
    pub(crate) fn wear(&mut self, steps: u64) {
        self.0 = self.0.saturating_sub(steps);
    }

    /// Spends at most so many steps of it on one look.
    pub(crate) fn lend<T>(&mut self, most: u64, look: impl FnOnce(&mut Work) -> T) -> T {
        let lent = self.0.min(most);
        let mut own = Work(lent);
        let seen = look(&mut own);
        self.0 -= lent - own.0;
        seen
    }
}
