//! Counts in the width that an array or a sum wants: the casts of this crate, in one place. Knows only numbers.

use cairn_dag::Dag;
pub(crate) use cairn_dag::narrow;

/// A count for sums that may pass 32 bits.
#[inline]
pub(crate) fn wide(count: usize) -> u64 {
    count as u64
}

/// A number of 32 bits as an index.
pub(crate) use cairn_dag::wide as at;

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
