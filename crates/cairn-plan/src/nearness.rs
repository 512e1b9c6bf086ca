//! How near something is that lacks some tasks yet: the second key of every greedy of this crate. Knows no order.
//!
//! All of them choose what gains most now, and of equals what brings most the nearest. They differ on purpose in what they count
//! and when they look again: `order.rs` by unit of cost, and a child tells nobody but its last parent; `batch/greedy.rs` in stages,
//! with prizes of any worth; `decide/list_orders.rs` rewards, whose worth counts for the first key alone; `decide/witness.rs` looks
//! at everything anew at every step, so that it needs no heap, and in a finer scale, since there even the far ones tell.

/// What something counts that lacks one task. One that lacks two counts half, and so on, in integers, so that equal tasks are
/// equal everywhere.
// Thousandths: a tie-break, so what rounding loses does not matter.
pub(crate) const WHOLE: u32 = 1000;

/// Something that lacks more tasks than this is not told when it lacks one less.
// So it tells those it needs at most four times, however many they are: telling each of them each time would cost the square.
pub(crate) const NEAR: u32 = 4;

/// What something that lacks so many tasks counts for each of them.
#[inline]
pub(crate) fn nearness(lacking: u32) -> u32 {
    WHOLE / lacking
}

/// As `nearness`, of something worth so much, rounded once.
#[inline]
pub(crate) fn nearness_of(worth: u32, lacking: u32) -> u64 {
    u64::from(worth) * u64::from(WHOLE) / u64::from(lacking)
}
