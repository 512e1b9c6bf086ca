//! When to stop early. Knows no clock: the caller does.

/// Asked now and then, from several threads, whether to stop.
///
/// Any `Fn() -> bool + Sync` is a budget: `true` means "stop now". Once spent, a budget must stay spent.
///
/// ```
/// use cairn_plan::{Budget, Unlimited};
/// use std::time::{Duration, Instant};
/// let start = Instant::now();
/// let second = move || start.elapsed() > Duration::from_secs(1);
/// assert!(!second.is_spent() && !Unlimited.is_spent());
/// ```
pub trait Budget: Sync {
    /// Whether to stop now.
    fn is_spent(&self) -> bool;
}

impl<F: Fn() -> bool + Sync> Budget for F {
    fn is_spent(&self) -> bool {
        self()
    }
}

/// Never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Budget for Unlimited {
    fn is_spent(&self) -> bool {
        false
    }
}

/// The budget was spent before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stopped;

/// `Err` once the budget is spent: for use with `?`.
pub(crate) fn check(budget: &dyn Budget) -> Result<(), Stopped> {
    if budget.is_spent() {
        Err(Stopped)
    } else {
        Ok(())
    }
}
