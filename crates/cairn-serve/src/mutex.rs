//! Locks that are taken whatever happened to whoever had them before. Knows not what is in them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is in it. For what is whole at every moment: nobody leaves anything half done in it, not even by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
