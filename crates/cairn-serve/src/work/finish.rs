//! How a worker ends with a task: what became of it, and its results on their way to the server.

use super::carry::Trouble;
use super::place::Spooled;
use super::talk::{deliver_beside, held, key_of, to_return};
use super::{Fate, InHand, Note, Worker};
use crate::http::types::{Attempt, Made};
use crate::spawn::{Exit, Exited};
use cairn_engine::{Cause, Outcome};
use std::path::Path;
use std::time::{Duration, Instant};

/// A server counts a task's time from the lease, its worker from the start: what it is told to end so shortly before its time is
/// up has run out of it.
// Between the two are the answer's way and the fetching of inputs. Too short, and an attempt that ran out of its time is dropped
// without a word: the server counts it as such only after two heartbeats that do not name it. So it is where inputs take longer to
// come. Too long, and one that is stopped for another reason says that it was too slow, which nobody asked.
const EARLIER: Duration = Duration::from_secs(2);

impl Worker<'_> {
    pub(super) fn end_late(&mut self) {
        let now = Instant::now();
        for (&key, job) in &mut self.jobs {
            if job.fate == Fate::Own && job.deadline.is_some_and(|at| at <= now) {
                job.fate = Fate::Late;
                job.deadline = None;
                self.processes.end(key);
            }
        }
    }

    /// The server says that these no longer count.
    pub(super) fn stop(&mut self, attempts: &[Attempt]) {
        let soon = Instant::now() + EARLIER;
        let is_late = |job: &InHand| {
            let is_due = job.deadline.is_some_and(|at| at <= soon);
            job.fate == Fate::Late || job.lease.limit_seconds.is_some() && is_due
        };
        let mut stale = Vec::new();
        for attempt in attempts {
            let key = self.keys.get(attempt).copied();
            if let Some((key, job)) = key.and_then(|key| Some((key, self.jobs.get_mut(&key)?))) {
                job.fate = match is_late(job) {
                    true => Fate::Late,
                    false => Fate::Stopped,
                };
                job.deadline = None;
                self.processes.end(key);
                if job.fate == Fate::Late {
                    continue; // it is returned, with the reason
                }
            }
            if self.results.remove(attempt).is_some() {
                // On its way to the server: that ends for want of its files.
                self.talk.unwatch_log(*attempt);
                self.talk.place.forget(*attempt);
            }
            stale.push(held(*attempt));
        }
        self.talk.client().stop(&stale);
    }

    pub(super) fn give_all_back(&mut self, at_once: bool) {
        for (&key, job) in &mut self.jobs {
            if job.fate == Fate::Own {
                job.fate = Fate::Returned;
                self.processes.end(key);
            }
            if at_once {
                self.processes.kill(key);
            }
        }
    }

    pub(super) fn drop_job(&mut self, key: u64) {
        if let Some(job) = self.jobs.remove(&key) {
            let attempt = key_of(&job.lease);
            self.keys.remove(&attempt);
            self.talk.unwatch_log(attempt);
            match job.fate {
                // Its folder goes with the receipt, as that of every result.
                Fate::Returned => {
                    self.summary.given_back += 1;
                    self.talk.finished(attempt, Outcome::GivenBack, Vec::new());
                }
                _ => self.talk.place.forget(attempt),
            }
        }
    }

    pub(super) fn ended(&mut self, end: Exited) {
        let Some(job) = self.jobs.get(&end.key) else {
            return;
        };
        let limited = job.lease.memory.is_some();
        let outcome = match (job.fate, end.exit) {
            (Fate::Stopped | Fate::Returned, _) => return self.drop_job(end.key),
            (Fate::TooLarge, exit) => Outcome::Failed {
                exit: number(exit),
                cause: Cause::Output,
            },
            (Fate::Late, exit) => Outcome::Failed {
                exit: number(exit),
                cause: Cause::Time,
            },
            (Fate::Greedy, exit) => Outcome::Failed {
                exit: number(exit),
                cause: Cause::Memory,
            },
            (Fate::Own, Exit::Code(0)) => match missing_output(job) {
                None => Outcome::Executed,
                Some(path) => {
                    self.note(
                        &job.lease,
                        format!("it ended well, but did not make '{path}'"),
                    );
                    Outcome::Failed {
                        exit: 0,
                        cause: Cause::Output,
                    }
                }
            },
            // The kernel ends what takes too much memory; a program that gets no more aborts, or says so as a shell does.
            (Fate::Own, Exit::Signal(9)) => Outcome::Failed {
                exit: 9,
                cause: Cause::Memory,
            },
            // SIGABRT, SIGBUS, SIGSEGV; and 128 + SIGABRT, SIGKILL, SIGSEGV of a shell that started it. Without a limit they
            // are the program's own faults.
            (Fate::Own, Exit::Signal(6 | 7 | 11) | Exit::Code(134 | 137 | 139)) if limited => {
                Outcome::Failed {
                    exit: number(end.exit),
                    cause: Cause::Memory,
                }
            }
            (Fate::Own, Exit::Signal(signal)) => Outcome::Failed {
                exit: signal,
                cause: Cause::Signal,
            },
            (Fate::Own, Exit::Code(exit)) => Outcome::Failed {
                exit,
                cause: Cause::Exit,
            },
        };
        // What fails where there is no room is not to blame for it.
        // Asked at its end, not of what it said: programs tell of a full disk in a hundred ways, or not at all.
        let is_failure = matches!(outcome, Outcome::Failed { .. });
        if is_failure && job.is_own && is_full(&job.folder) {
            let Some(job) = self.jobs.remove(&end.key) else {
                return;
            };
            let attempt = key_of(&job.lease);
            self.keys.remove(&attempt);
            self.talk.unwatch_log(attempt);
            self.talk.place.forget(attempt);
            return self.has_no_room(job.lease, std::io::ErrorKind::StorageFull.into());
        }
        self.settle(end.key, outcome);
    }

    /// A task has its outcome: it is kept here until the server has it.
    pub(super) fn settle(&mut self, key: u64, outcome: Outcome) {
        let Some(job) = self.jobs.remove(&key) else {
            return;
        };
        let attempt = key_of(&job.lease);
        self.keys.remove(&attempt);
        match outcome {
            Outcome::Executed => self.summary.executed += 1,
            Outcome::Failed { exit, cause } => {
                self.summary.failed += 1;
                self.note(&job.lease, format!("failed ({} {exit})", cause.name()));
            }
            Outcome::GivenBack => (),
        }
        let (log, sent) = self.talk.unwatch_log(attempt).unwrap_or((job.log, 0));
        let has_log = std::fs::metadata(&log).is_ok_and(|meta| meta.len() > 0);
        let is_carried =
            job.is_own && outcome == Outcome::Executed && !job.lease.outputs.is_empty();
        if job.is_own
            && outcome == Outcome::Executed
            && job.lease.outputs.is_empty()
            && leaves_files(&job.folder)
        {
            self.note(
                &job.lease,
                "it made files that it does not declare as outputs: they go with its folder",
            );
        }
        let spooled = Spooled {
            run: self.talk.place.run().to_owned(),
            back: to_return(attempt, outcome, Vec::new()),
            folder: is_carried.then_some(job.folder),
            outputs: if is_carried {
                job.lease.outputs
            } else {
                Vec::new()
            },
            log: has_log.then_some(log),
        };
        // Before it is on its way: whoever works here next returns it, if this worker ends meanwhile.
        if let Err(e) = self.talk.place.keep(&spooled) {
            // The result still goes to the server; only a crash right now would lose it.
            (self.tell)(Note::Remark(format!(
                "cannot keep results in the worker's folder: {e}"
            )));
        }
        match is_carried || has_log {
            true => {
                self.results.insert(attempt, (outcome, spooled.clone()));
                self.deliver(spooled, sent);
            }
            false => self.talk.finished(attempt, outcome, Vec::new()),
        }
    }

    /// What belongs to a result goes to the server, beside all else: to wait for it here would leave every other task alone.
    fn deliver(&mut self, spooled: Spooled, sent: u64) {
        let attempt = spooled.attempt();
        if deliver_beside(&self.talk, spooled, sent).is_err() {
            self.undelivered.push((attempt, sent));
        }
    }

    /// Threads may be had again, since the tasks that took them end.
    pub(super) fn deliver_again(&mut self) {
        for (attempt, sent) in std::mem::take(&mut self.undelivered) {
            // Gone where the server wants it no more.
            if let Some((_, spooled)) = self.results.get(&attempt) {
                self.deliver(spooled.clone(), sent);
            }
        }
    }

    pub(super) fn delivered(&mut self, attempt: Attempt, delivered: Result<Vec<Made>, Trouble>) {
        let Some((outcome, spooled)) = self.results.remove(&attempt) else {
            return;
        };
        match delivered {
            Ok(made) => self.talk.finished(attempt, outcome, made),
            // Its log is lost, its result is not.
            Err(trouble) if spooled.stands_without(&trouble) => {
                (self.tell)(Note::Remark(format!("a log was not sent: {trouble}")));
                self.talk.finished(attempt, outcome, Vec::new());
            }
            Err(Trouble::Call(error)) if error.is_passing() => (), // it stays in the folder
            Err(trouble) => {
                (self.tell)(Note::Remark(format!("outputs were not taken: {trouble}")));
                let outcome = Outcome::Failed {
                    exit: 0,
                    cause: Cause::Output,
                };
                self.talk.finished(attempt, outcome, Vec::new());
            }
        }
    }
}

fn number(exit: Exit) -> i32 {
    match exit {
        Exit::Code(number) | Exit::Signal(number) => number,
    }
}

/// A declared output that is not there.
fn missing_output(job: &InHand) -> Option<&String> {
    // A link that leads nowhere is there: whoever uploads it says what is wrong with it.
    let is_there = |path: &String| job.folder.join(path).symlink_metadata().is_ok();
    job.lease.outputs.iter().find(|path| !is_there(path))
}

fn leaves_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut all| all.next().is_some())
}

/// Whether there is no room for anything on the disk of this folder.
fn is_full(folder: &Path) -> bool {
    // File systems refuse to write before the last block is taken. Few programs fail for want of less than this, and a disk with
    // so little left fails the next one.
    const ANYTHING: u64 = 64 << 10;
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < ANYTHING)
}
