//! One process has a folder, and no other: a lock that ends with its holder. Knows no store.

use super::StoreError;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const LOCK: &str = "lock";

/// So long a lock whose holder is dead may be held by a process that it was just starting.
// Microseconds, mostly; on a machine that swaps, a second or two. Too short, and a runner that was killed cannot be started again at
// once.
const INHERITED: Duration = Duration::from_secs(5);

/// It is tried so often meanwhile.
// Long beside one try, short beside the start of a run.
const AGAIN: Duration = Duration::from_millis(2);

/// A folder that is this process's alone, until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Said, not left to the closing of the file: a process that is just being started has the file as well until it becomes
        // another program. What cannot be unlocked is unlocked when that is so.
        let _ = self.0.unlock();
    }
}

/// Takes the folder for this process alone.
pub(super) fn lock(folder: &Path) -> Result<Lock, StoreError> {
    let path = folder.join(LOCK);
    let failed = |e: std::io::Error| StoreError::io(&path, &e);
    let mut options = File::options();
    // Not truncated: until the lock is ours, another process stands in it.
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed)?;
    let begin = Instant::now();
    let mut lock = loop {
        match file.try_lock() {
            Ok(()) => break Lock(file),
            Err(std::fs::TryLockError::Error(e)) => return Err(failed(e)),
            Err(std::fs::TryLockError::WouldBlock) => (),
        }
        let mut who = String::new();
        // A holder that has not yet written its number is still a holder.
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut who));
        let pid: Option<u32> = who.trim().parse().ok();
        // A process that its holder was just starting has the lock until it becomes another program.
        let is_dead = pid.is_some_and(|pid| !is_alive(pid));
        if !is_dead || begin.elapsed() > INHERITED {
            return Err(StoreError::InUse {
                folder: folder.to_owned(),
                pid,
            });
        }
        std::thread::sleep(AGAIN);
    };
    // Only for people, and for the look above: what counts is the lock itself, which ends with its holder whatever stands here. A
    // number that was given to somebody else since makes one try fail that could have waited, no more.
    (lock.0.set_len(0))
        .and_then(|()| lock.0.rewind())
        .and_then(|()| writeln!(lock.0, "{}", std::process::id()))
        .map_err(failed)?;
    Ok(lock)
}

/// Whether the process is there and not merely waiting to be buried.
fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| {
        let state = status.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_some_and(|state| !state.starts_with(['Z', 'X']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_given_back_is_free_whoever_else_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        // As a child has it between its fork and its exec.
        let inherited = held.0.try_clone().unwrap();
        assert!(lock(folder.path()).is_err());
        drop(held);
        lock(folder.path()).unwrap();
        drop(inherited);
    }
}
