//! Processes that outlived whoever started them, found by a mark in their environment. Knows no tasks.

use rustix::process::{Pid, PidfdFlags, Signal};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Processes that are still there so long after they were killed are not waited for any more.
// What waits for a disk goes only when that answers. Nothing may begin beside them, since they may still write: so it is said, and
// whoever starts again later may find them gone.
const UNKILLABLE: Duration = Duration::from_secs(10);

/// They are looked for so often.
// A look takes some milliseconds itself (every process's environment is read), and mostly they are gone after one.
const AGAIN: Duration = Duration::from_millis(2);

/// Ends every process whose environment has the variable with this value, but this process and those it descends from.
/// They are asked first, and killed after the grace. Returns how many there were.
///
/// # Errors
/// If some are still there long after they were killed.
pub fn end_survivors(variable: &str, value: &str, grace: Duration) -> io::Result<usize> {
    let mark = format!("{variable}={value}").into_bytes();
    // One of them may have started us, and then we have its mark, too.
    let spared = ancestors();
    let begin = Instant::now();
    let mut asked = Vec::new();
    loop {
        let found = marked(&mark, &spared);
        let waited = begin.elapsed();
        // Looked for anew each time: those that were asked may have started others.
        if found.is_empty() {
            return Ok(asked.len());
        }
        if waited > grace + UNKILLABLE {
            let pids: Vec<String> = found.iter().map(|(pid, _)| pid.to_string()).collect();
            let pids = pids.join(", ");
            return Err(io::Error::other(format!(
                "processes of an earlier run cannot be ended: {pids}"
            )));
        }
        for (pid, process) in found {
            let is_new = !asked.contains(&pid);
            if is_new {
                asked.push(pid);
            }
            let signal = match waited < grace {
                true if is_new => Signal::TERM,
                true => continue,
                false => Signal::KILL,
            };
            // Each by itself, not its group: a child may have made a group of its own, and has the mark all the same.
            let _ = rustix::process::pidfd_send_signal(&process, signal);
        }
        std::thread::sleep(AGAIN);
    }
}

/// Processes with the mark, each with a descriptor, so that no other can take its number meanwhile.
fn marked(mark: &[u8], spared: &[u32]) -> Vec<(u32, OwnedFd)> {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let with_mark = |pid: u32| -> Option<(u32, OwnedFd)> {
        let carries = || {
            // Those of others cannot be read: they are not ours to end. Nor has one that is ending any environment.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
            let mut variables = environment.split(|&byte| byte == 0);
            variables.any(|variable| variable == mark).then_some(())
        };
        carries()?;
        let number = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let process = rustix::process::pidfd_open(number, PidfdFlags::empty()).ok()?;
        carries()?; // still the same one
        Some((pid, process))
    };
    (numbers.filter(|pid| !spared.contains(pid)))
        .filter_map(with_mark)
        .collect()
}

/// This process and those it descends from.
fn ancestors() -> Vec<u32> {
    let mut line = vec![std::process::id()];
    while let Some(parent) = parent(line[line.len() - 1]).filter(|p| *p > 0 && !line.contains(p)) {
        line.push(parent);
    }
    line
}

fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let (_, rest) = status.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
