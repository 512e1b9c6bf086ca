//! How much the checker may still do. Knows not for what.

/// How many elementary steps the checker may still spend on re-checking.
#[derive(Debug)]
pub(crate) struct Effort(pub(crate) u64);

impl Effort {
    /// Takes the steps, if there are so many left.
    pub(crate) fn spend(&mut self, steps: u64) -> bool {
        let enough = self.0 >= steps;
        self.0 -= if enough { steps } else { 0 };
        enough
    }

    /// [`Effort::spend`] for use with `?`.
    pub(crate) fn take(&mut self, steps: u64) -> Option<()> {
        self.spend(steps).then_some(())
    }

    /// Takes the steps, or all that are left.
    pub(crate) fn wear(&mut self, steps: u64) {
        self.0 = self.0.saturating_sub(steps);
    }

    /// Spends at most so many steps of it on one look.
    pub(crate) fn lend<T>(&mut self, most: u64, look: impl FnOnce(&mut Effort) -> T) -> T {
        let lent = self.0.min(most);
        let mut own = Effort(lent);
        let seen = look(&mut own);
        self.0 -= lent - own.0;
        seen
    }
}
