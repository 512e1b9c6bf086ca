//! One thread that commits behind a run: groups of what was sent within a window. Decides nothing.

use super::{Group, Store, StoreError};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

enum Letter {
    Write(Group),
    /// Answered when all that was sent before is committed, or cannot be.
    Flush(Sender<()>),
}

/// Writes behind: what is sent is committed within the window, in order, in one transaction with all that came meanwhile.
/// After the first failure nothing more is written: a log with a hole would not be closed under parents.
#[derive(Debug)]
pub struct Writer {
    letters: Option<Sender<Letter>>,
    thread: Option<JoinHandle<Store>>,
    failure: Arc<OnceLock<StoreError>>,
}

impl Writer {
    /// Takes the store to a thread of its own.
    pub fn new(store: Store, window: Duration) -> Writer {
        let (letters, box_) = channel();
        let failure = Arc::new(OnceLock::new());
        let seen = Arc::clone(&failure);
        let thread = std::thread::spawn(move || keep(store, window, &box_, &seen));
        Writer {
            letters: Some(letters),
            thread: Some(thread),
            failure,
        }
    }

    /// Hands over what is to be written.
    ///
    /// # Errors
    /// If something sent earlier could not be written.
    pub fn send(&self, group: Group) -> Result<(), StoreError> {
        self.is_well()?;
        if let (false, Some(letters)) = (group.is_empty(), &self.letters) {
            // The thread ends only after this.
            let _ = letters.send(Letter::Write(group));
        }
        Ok(())
    }

    /// Whether all could be written so far.
    ///
    /// # Errors
    /// Why not.
    pub fn is_well(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            Some(failure) => Err(failure.clone()),
            None => Ok(()),
        }
    }

    /// Waits until all that was sent is committed.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (answer, answered) = channel();
        if let Some(letters) = &self.letters {
            let _ = letters.send(Letter::Flush(answer));
            let _ = answered.recv();
        }
        self.is_well()
    }

    /// Commits all that was sent, and gives the store back.
    ///
    /// # Errors
    /// If not all could be written.
    pub fn close(mut self) -> Result<Store, StoreError> {
        self.letters = None;
        let thread = self.thread.take().expect("closed once");
        let store = thread.join().expect("the writer does not panic");
        self.is_well().map(|()| store)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.letters = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: collects for a window from the first letter on, then commits.
fn keep(
    mut store: Store,
    window: Duration,
    letters: &Receiver<Letter>,
    failure: &OnceLock<StoreError>,
) -> Store {
    loop {
        let Ok(first) = letters.recv() else {
            return store;
        };
        let until = Instant::now() + window;
        let (mut group, mut asked) = (Group::default(), None);
        let mut next = Some(first);
        while let Some(letter) = next.take() {
            match letter {
                Letter::Write(mut more) => group.take(&mut more),
                Letter::Flush(answer) => {
                    asked = Some(answer);
                    break;
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            next = letters.recv_timeout(left).ok();
        }
        let is_due = failure.get().is_none() && !group.is_empty();
        if let Some(Err(error)) = is_due.then(|| store.append_group(&group)) {
            let _ = failure.set(error);
        }
        drop(asked);
    }
}
