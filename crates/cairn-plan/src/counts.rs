//! Small counts that many files ask for. Knows no order. Casts between the widths of numbers are the kernel's (`id.rs`); floats and
//! 128-bit numbers are cast where they are reckoned with, as what may be lost there is another thing each time.

use cairn_dag::{Dag, TaskId};
use cairn_kernel::{completed, narrow, wide};

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

/// The children that waited for nothing but this task, now that it is executed. Counts down as it goes, so it must be
/// gone through to its end.
#[inline]
pub(crate) fn opened<'a>(
    dag: &'a Dag,
    task: TaskId,
    waiting: &'a mut [u32],
) -> impl Iterator<Item = TaskId> + 'a {
    completed(dag.children(task).iter().copied(), waiting)
}

/// The first child that is not executed: where one is left, that which closes its parent's result. Asked once for each parent, when
/// its last child but one goes: O(arcs) in all.
pub(crate) fn child_left(
    dag: &Dag,
    parent: TaskId,
    is_executed: impl Fn(TaskId) -> bool,
) -> Option<TaskId> {
    let mut children = dag.children(parent).iter().copied();
    children.find(|&child| !is_executed(child))
}

/// The members of a bit set given word by word, rising.
pub(crate) fn members(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(w, mut bits)| {
        std::iter::from_fn(move || {
            let next = (bits != 0).then(|| w * 64 + wide(bits.trailing_zeros()));
            // Clears the lowest bit; of 0 it stays 0.
            bits &= bits.wrapping_sub(1);
            next
        })
    })
}
