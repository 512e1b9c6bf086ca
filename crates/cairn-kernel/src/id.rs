//! Numbers of things, counted from 0, as types of their own, and the widths they are stored in. Knows not what is counted.

/// A 32-bit number as an index.
#[inline]
pub const fn wide(number: u32) -> usize {
    // Never loses anything: nothing of ours runs where `usize` has fewer than 32 bits.
    number as usize
}

/// An index as a 32-bit number. Whatever is numbered is fewer than 2³²: a dag of more tasks or arcs is refused when it is
/// built.
#[inline]
pub const fn narrow(index: usize) -> u32 {
    debug_assert!(index <= u32::MAX as usize);
    index as u32
}

/// A count for sums and products that may pass 32 bits.
#[inline]
pub const fn long(count: usize) -> u64 {
    count as u64
}

/// No number: nothing of ours is counted so far. For plain numbers in large tables that are looked up all the time, of which an
/// `Option` would take twice the room; one of a type that [`ids!`](crate::ids) makes takes no more, and is preferred.
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
        narrow(index)
    }

    #[inline]
    fn index(self) -> usize {
        wide(self)
    }
}

/// Makes types of numbers that must not be mixed up, each an [`Id`], and as visible as said.
///
/// ```
/// cairn_kernel::ids! {
///     /// A room of a house.
///     pub RoomId,
/// }
/// assert_eq!(RoomId::new(3).index(), 3);
/// assert_eq!(format!("{:?}", RoomId::new(3)), "RoomId(3)");
/// assert_eq!(size_of::<Option<RoomId>>(), 4);
/// ```
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $see:vis $name:ident,)*) => {$(
        $(#[$doc])*
        // One more than the index, so that `Option` takes no more room: "none" has no number of its own.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $see struct $name(::std::num::NonZeroU32);

        impl $name {
            /// The one with this index.
            #[inline]
            $see fn new(index: usize) -> $name {
                $name(::std::num::NonZeroU32::MIN.saturating_add($crate::narrow(index)))
            }

            /// Its index, counted from 0.
            #[inline]
            $see fn index(self) -> usize {
                $crate::wide(self.0.get()) - 1
            }
        }

        impl ::std::default::Default for $name {
            fn default() -> $name {
                $name(::std::num::NonZeroU32::MIN)
            }
        }

        impl $crate::Id for $name {
            #[inline]
            fn new(index: usize) -> $name {
                $name::new(index)
            }

            #[inline]
            fn index(self) -> usize {
                $name::index(self)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self.index())
            }
        }
    )*};
}
