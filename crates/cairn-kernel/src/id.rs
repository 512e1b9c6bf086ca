//! Numbers of things, counted from 0, as types of their own. Knows not what is counted.

/// No number: nothing of ours is counted so far. In large tables that are looked up all the time, where an `Option` would take
/// twice the room.
pub const NONE: u32 = u32::MAX;

/// A number that names one of many.
pub trait Id: Copy + Ord + Default {
    /// The one with this index.
    fn new(index: usize) -> Self;

    /// Its index.
    fn index(self) -> usize;
}

impl Id for u32 {
    #[inline]
    fn new(index: usize) -> u32 {
        debug_assert!(
            u32::try_from(index).is_ok(),
            "{index} has more than 32 bits"
        );
        index as u32
    }

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}
