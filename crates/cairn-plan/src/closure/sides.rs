//! On which side of a cut each node lies. Knows nothing of how the cut was found.

/// The side of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Not decided yet.
    Open,
    /// In the closure that is worth most at the price: surplus stays here.
    First,
    /// In the rest: surplus is missing here.
    Last,
}
