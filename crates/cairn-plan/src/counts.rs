//! Counts in the width that an array or a sum wants: the casts of this crate, in one place. Knows only numbers.

use cairn_dag::Dag;

/// A count of tasks, arcs or what a dag has of them: less than 2³², as ids have 32 bits.
#[inline]
pub(crate) fn narrow(count: usize) -> u32 {
    debug_assert!(u32::try_from(count).is_ok(), "{count} things in a dag");
    count as u32
}

/// A count for sums that may pass 32 bits.
#[inline]
pub(crate) fn wide(count: usize) -> u64 {
    count as u64
}

/// A number of 32 bits as an index.
#[inline]
pub(crate) fn at(number: u32) -> usize {
    number as usize
}

/// A gain out of a (max,+) program, where it can be reached.
#[inline]
pub(crate) fn gained(value: i32) -> u32 {
    debug_assert!(value >= 0, "{value} is no gain");
    value as u32
}

/// By task: how many parents it has, to be counted down.
pub(crate) fn parents_left(dag: &Dag) -> Vec<u32> {
    dag.tasks().map(|t| narrow(dag.parents(t).len())).collect()
}

/// By task: how many children it has, to be counted down.
pub(crate) fn children_left(dag: &Dag) -> Vec<u32> {
    dag.tasks().map(|t| narrow(dag.children(t).len())).collect()
}
