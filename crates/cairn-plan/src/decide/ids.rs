//! Numbers that must not be mixed up, each counted from 0: a type for each. Knows only numbers.

use crate::counts::{at, narrow};
use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $see:vis $name:ident,)*) => {$(
        $(#[$doc])*
        // One more than the index, so that `Option` takes no more room: "none" has no number of its own.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $see struct $name(NonZeroU32);

        impl $name {
            /// The one with this index.
            #[inline]
            pub(crate) fn new(index: usize) -> $name {
                $name(NonZeroU32::MIN.saturating_add(narrow(index)))
            }

            /// Its index, counted from 0.
            #[inline]
            $see fn index(self) -> usize {
                at(self.0.get()) - 1
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name(NonZeroU32::MIN)
            }
        }

        impl cairn_kernel::Id for $name {
            #[inline]
            fn new(index: usize) -> $name {
                $name::new(index)
            }

            #[inline]
            fn index(self) -> usize {
                $name::index(self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.index())
            }
        }
    )*};
}

ids! {
    /// What lies between two neighbouring strict vertices of the hull, counted along the chain.
    pub IntervalId,
    /// A component of an interval, counted over all of them.
    pub ComponentId,
    /// Components that are equal as values.
    pub(crate) ClassId,
    /// A node of one component: a task to execute.
    pub(crate) NodeId,
    /// A reward of one component: tasks that become eligible together.
    pub(crate) RewardId,
    /// A union of closures that a walk met.
    pub(crate) StateId,
    /// A task's row in a table of ancestors, and its column.
    pub(crate) RowId,
}
