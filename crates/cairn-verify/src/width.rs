//! Numbers in the width that a list or a sum wants: the casts of this crate, in one place. Knows only numbers.

/// A 32-bit number as a place in a list.
#[inline]
pub(crate) fn wide(number: u32) -> usize {
    number as usize
}

/// A place in a list as a 32-bit number. A dag has fewer than 2³² tasks and arcs, so whatever is counted of it fits.
#[inline]
pub(crate) fn narrow(place: usize) -> u32 {
    debug_assert!(u32::try_from(place).is_ok());
    place as u32
}

/// A count for sums and products that may pass 32 bits.
#[inline]
pub(crate) fn long(count: usize) -> u64 {
    count as u64
}

/// A number of executed tasks as a place in a list. Whoever asks has compared it with the corners of the hull, which are
/// sizes of sets that were counted.
#[inline]
pub(crate) fn place_of(step: u64) -> usize {
    step as usize
}
