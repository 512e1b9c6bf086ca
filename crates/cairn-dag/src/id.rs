//! The dense number of a task. Knows nothing of names: those belong to [`crate::Flow`].

use cairn_kernel::wide;
use std::fmt;

/// A task of one dag: a dense index, `0..tasks`, in the order in which the input declared them.
///
/// Stored as `u32`, so that the arcs of a million-task dag stay small. An id means nothing outside its dag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The id as an index into a `Vec` with one entry a task.
    #[inline]
    pub fn index(self) -> usize {
        wide(self.0)
    }

    /// The id of the task at `index`.
    ///
    /// # Panics
    /// If `index` does not fit in 32 bits; a [`crate::Dag`] never holds that many tasks.
    #[inline]
    pub fn new(index: usize) -> TaskId {
        TaskId(u32::try_from(index).expect("a dag holds fewer than 2^32 tasks"))
    }
}

impl cairn_kernel::Id for TaskId {
    #[inline]
    fn new(index: usize) -> TaskId {
        TaskId::new(index)
    }

    #[inline]
    fn index(self) -> usize {
        TaskId::index(self)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
