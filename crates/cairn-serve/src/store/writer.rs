//! One thread that commits behind a run: groups of what was sent within a window. Decides nothing.

use super::{Group, Store, StoreError};
use crate::mutex::lock;
use crate::spawn::beside;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// More events than this do not wait to be written: whoever sends more waits for the disk.
// A disk that cannot follow must not fill the memory: some megabytes of events. Far fewer, and a run would wait for every slow sync.
const BEHIND: usize = 1 << 16;

/// Writes behind: what is sent is committed within the window, in order, in one transaction with all that came meanwhile.
/// After the first failure nothing more is written: a log with a hole would not be closed under parents.
#[derive(Debug)]
pub(crate) struct Writer {
    hatch: Arc<Hatch>,
    thread: Option<JoinHandle<Store>>,
}

/// Where sender and thread meet.
#[derive(Debug, Default)]
struct Hatch {
    tray: Mutex<Tray>,
    /// Told when there is something to write, or no time to wait.
    filled: Condvar,
    /// Told when all is written.
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct Tray {
    group: Group,
    /// Whether a group is being written.
    is_writing: bool,
    /// Whether somebody waits for all to be written.
    is_urgent: bool,
    is_closed: bool,
    failure: Option<StoreError>,
    /// How many groups were sent, and how many of these are committed.
    sent: u64,
    written: u64,
}

impl Hatch {
    fn tray(&self) -> MutexGuard<'_, Tray> {
        lock(&self.tray)
    }
}

impl Writer {
    /// Takes the store to a thread of its own.
    ///
    /// # Errors
    /// If there is no thread to be had: nobody else would write while tasks run.
    pub(crate) fn new(store: Store, window: Duration) -> std::io::Result<Writer> {
        let hatch = Arc::new(Hatch::default());
        let shared = Arc::clone(&hatch);
        let thread = beside(move || keep(store, window, &shared))?;
        Ok(Writer {
            hatch,
            thread: Some(thread),
        })
    }

    /// Hands over what is to be written. Waits only where the disk is far behind.
    ///
    /// # Errors
    /// If something sent earlier could not be written.
    pub(crate) fn send(&self, group: &mut Group) -> Result<(), StoreError> {
        let mut tray = self.hatch.tray();
        while tray.failure.is_none() && tray.group.entries.len() >= BEHIND {
            // The window is for those who come later, and nobody can.
            tray.is_urgent = true;
            self.hatch.filled.notify_one();
            let woken = self.hatch.emptied.wait(tray);
            tray = woken.unwrap_or_else(PoisonError::into_inner);
            tray.is_urgent = false;
        }
        if let Some(failure) = &tray.failure {
            return Err(failure.clone());
        }
        if !group.is_empty() {
            let was_empty = tray.group.is_empty();
            tray.group.take(group);
            tray.sent += 1;
            // Else the thread would wake up only to wait for this.
            drop(tray);
            // Where there was something before, it has been told.
            if was_empty {
                self.hatch.filled.notify_one();
            }
        }
        Ok(())
    }

    /// How many groups were sent, and how many of these are committed.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let tray = self.hatch.tray();
        (tray.sent, tray.written)
    }

    /// Whether all could be written so far.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn is_well(&self) -> Result<(), StoreError> {
        self.hatch.tray().failure.clone().map_or(Ok(()), Err)
    }

    /// Waits until all that was sent is committed.
    ///
    /// # Errors
    /// If it could not be written.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let mut tray = self.hatch.tray();
        tray.is_urgent = true;
        self.hatch.filled.notify_one();
        while tray.failure.is_none() && (tray.is_writing || !tray.group.is_empty()) {
            let woken = self.hatch.emptied.wait(tray);
            tray = woken.unwrap_or_else(PoisonError::into_inner);
        }
        tray.is_urgent = false;
        tray.failure.clone().map_or(Ok(()), Err)
    }

    /// Commits all that was sent, and gives the store back.
    ///
    /// # Errors
    /// If not all could be written.
    pub(crate) fn close(mut self) -> Result<Store, StoreError> {
        let store = self.end().expect("closed once");
        self.is_well().map(|()| store)
    }

    fn end(&mut self) -> Option<Store> {
        let thread = self.thread.take()?;
        self.hatch.tray().is_closed = true;
        self.hatch.filled.notify_one();
        thread.join().ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The thread: from the first that is sent on it waits for a window, then commits what there is.
fn keep(mut store: Store, window: Duration, hatch: &Hatch) -> Store {
    let mut tray = hatch.tray();
    loop {
        while tray.group.is_empty() {
            if tray.is_closed {
                return store;
            }
            tray = hatch
                .filled
                .wait(tray)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let may_wait = |tray: &mut Tray| !tray.is_urgent && !tray.is_closed;
        // From the first that was sent, so that nothing waits for longer than a window, however much follows.
        let waited = hatch.filled.wait_timeout_while(tray, window, may_wait);
        tray = waited.unwrap_or_else(PoisonError::into_inner).0;
        let group = std::mem::take(&mut tray.group);
        // What this group has and no more: others may be sent while it is written.
        let sent = tray.sent;
        if tray.failure.is_none() {
            tray.is_writing = true;
            // Whoever sends must not wait for the disk.
            drop(tray);
            let written = store.append_group(&group);
            tray = hatch.tray();
            tray.is_writing = false;
            match written {
                Ok(()) => tray.written = sent,
                Err(error) => tray.failure = Some(error),
            }
        }
        hatch.emptied.notify_all();
    }
}
