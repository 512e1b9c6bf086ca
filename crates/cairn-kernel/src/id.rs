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

/// By number: its place in an order that names each once.
///
/// ```
/// assert_eq!(cairn_kernel::places(&[2u32, 0, 1]), [1, 2, 0]);
/// ```
pub fn places<T: Id>(order: &[T]) -> Vec<u32> {
    let mut place = vec![0; order.len()];
    for (one, i) in order.iter().zip(0..) {
        place[one.index()] = i;
    }
    place
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
