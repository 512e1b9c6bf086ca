//! Processes on this machine: started, watched, ended, their output kept. Knows no tasks, and no store.
//!
//! Every command has a process group of its own, so that all it started can be ended with it; its output goes through one
//! pipe and into a file only if there is some. The end of the pipe is only a hint that the process may have ended: one may close
//! its output and go on, and grandchildren may hold it open. So a process that lasts is watched by a descriptor of its own.
//! Nothing here forks: `posix_spawn` costs the same however much memory is in use.

mod memory;
mod orphans;
mod output;
mod program;
mod start;

pub(crate) use memory::group_memory;
pub use memory::step_back;
pub use orphans::end_survivors;
pub use output::{Log, tail};
pub use program::{Line, Program};
pub use start::hear_no_ends;

use output::Capture;
use rustix::event::{Timespec, epoll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use start::{NewProcess, Starter};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long a group that was asked to end has until it is killed.
// A judgement, and promised in the docs: programs that write down where they stand when asked to end need a second or two; whoever
// pressed Ctrl-C twice does not wait for longer. Scripts for other engines give as much (`timeout -k 5`).
const GRACE: Duration = Duration::from_secs(5);

/// A process that runs for so long is listened to and watched while it runs. Of a shorter one the end of its pipe tells, and
/// what it wrote is read then: that saves a wakeup and a descriptor a process (9 µs to open one, 6 µs to close it).
const SHORT: Duration = Duration::from_millis(4);

/// So often somebody whose pipe has ended is asked whether it has ended too, before it is watched: between the two there are
/// a few microseconds.
// The kernel closes a process's files before it says that it has ended, and another processor does that meanwhile. Without asking
// again most short ones would cost the descriptor that this saves; more often would hold up all others for one that goes on in
// silence.
const ASKED: usize = 4;

/// The end of a process is told once: a descriptor that somebody else holds for a moment must not tell it again and again.
const ONCE: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::ONESHOT);

/// Only the end of a pipe is told, which needs no asking for, and once.
const END_OF_PIPE: epoll::EventFlags = epoll::EventFlags::ONESHOT;

/// So many events are taken at once; what is beyond is told the next time.
// More than mostly end together, on a stack that is cheap to set up. With one a time, every end would cost a call of its own.
const AT_ONCE: usize = 64;

/// Marks what is watched but is no process.
// All bits set: no sign is, since the count of processes never fills its part.
const ELSEWHERE: u64 = u64::MAX;

/// So much is read at once.
// As much as a pipe holds, unless somebody made it larger: what a short process wrote is there with one call.
const PIPE: usize = 1 << 16;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A process that is no more.
#[derive(Debug)]
pub(crate) struct Exited {
    /// What it was started as.
    pub key: u64,
    /// How.
    pub exit: Exit,
    /// What it wrote.
    pub log: Log,
}

#[derive(Debug)]
struct Running {
    key: u64,
    /// What events tell of it by. A process between start and program holds our descriptors for a moment, and with them
    /// events of one that is gone, whose place may be another's by now.
    sign: Seat,
    /// Its number, and that of its group.
    pid: Pid,
    /// Its readiness tells of the end. Short processes have none.
    pidfd: Option<OwnedFd>,
    capture: Capture,
    started: Instant,
    /// When it is killed, once it was asked to end.
    kill_at: Option<Instant>,
}

/// What an event tells of: a place, and the how-manieth process in all that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seat {
    place: u32,
    count: u32,
}

impl Seat {
    fn data(self, is_output: bool) -> epoll::EventData {
        let [place, count] = [self.place, self.count].map(u64::from);
        // An event carries one number, so all of it is in there: from above 31 bits of count, 32 of place, one for which of the
        // two descriptors it is.
        epoll::EventData::new_u64(count << 33 | place << 1 | u64::from(is_output))
    }

    fn of(data: u64) -> (Seat, bool) {
        let place = (data >> 1) as u32;
        let count = (data >> 33) as u32;
        (Seat { place, count }, data & 1 == 1)
    }
}

/// Does `work`, which starts processes, on a thread of its own that has done nothing yet. Linux keeps an estimate of how much of a
/// processor a thread uses (`util_est`), which does not fall as long as the thread has to wait for a processor at all. A thread
/// that read and planned a large flow counts as busy for ever after: each process that it starts is put behind another one, on
/// the other processor, while its own has nothing to do. Four in ten tasks of a millisecond behind a flow of a million began half
/// a millisecond late; they ran at 0.4 to 1 of their speed.
///
/// # Panics
/// If `work` does.
pub(crate) fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    apart_by(Builder::new(), work)
}

fn apart_by<T: Send>(thread: Builder, work: impl FnOnce() -> T + Send) -> T {
    // Lent to the thread, not given: what no thread took is still here to be done.
    let mut work = Some(work);
    let done = std::thread::scope(|scope| {
        let begun = thread.spawn_scoped(scope, || work.take().map(|work| work()));
        // Where there is no thread to be had, this one does it: tasks may begin half a millisecond late then, and that is all.
        let done = begun.ok()?.join();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    // One of the two has it: whoever took it has returned.
    done.unwrap_or_else(|| work.take().expect("nobody began it")())
}

/// Does `work` on a thread of its own, which goes on when this returns.
///
/// # Errors
/// If there is no thread to be had, with the cure.
pub(crate) fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    beside_by(Builder::new(), work)
}

fn beside_by<T: Send + 'static>(
    thread: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread.spawn(work).map_err(|error| {
        let what = format!(
            "no thread is to be had ({error}): end something else here, or raise the limit on processes (ulimit -u)"
        );
        io::Error::new(error.kind(), what)
    })
}

/// All processes started here.
pub(crate) struct Processes {
    epoll: OwnedFd,
    starter: Starter,
    /// How many were started; never so many that a sign is [`ELSEWHERE`].
    started: u32,
    /// For what was printed.
    buffer: Vec<u8>,
    /// By place; a place is used again.
    running: Vec<Option<Running>>,
    free: Vec<usize>,
    /// By key: the place.
    places: BTreeMap<u64, usize>,
    /// Those not yet listened to, the oldest first; some may have ended.
    unheard: VecDeque<Seat>,
    /// Those for which there was no descriptor: they are asked again and again.
    unseen: Vec<Seat>,
}

impl Processes {
    /// Nobody yet.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub(crate) fn new() -> io::Result<Processes> {
        Ok(Processes {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            starter: Starter::new()?,
            started: 0,
            buffer: vec![0; PIPE],
            running: Vec::new(),
            free: Vec::new(),
            places: BTreeMap::new(),
            unheard: VecDeque::new(),
            unseen: Vec::new(),
        })
    }

    /// How many are running.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none is running.
    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// From now on [`Processes::wait`] also ends as long as there is something to be read here.
    ///
    /// # Errors
    /// If the system cannot watch it.
    pub(crate) fn also_watch(&mut self, reader: &io::PipeReader) -> io::Result<()> {
        let data = epoll::EventData::new_u64(ELSEWHERE);
        Ok(epoll::add(
            &self.epoll,
            reader,
            data,
            epoll::EventFlags::IN,
        )?)
    }

    /// Starts one, known by a key that no other running one has.
    ///
    /// # Errors
    /// If it cannot be started: no such program, no such folder, no right, no room.
    pub(crate) fn start(&mut self, key: u64, program: &Program) -> io::Result<()> {
        let NewProcess { pid, reader } = self.starter.start(program)?;
        let watched = self.watch(key, pid, reader, program);
        watched
            .inspect_err(|_| {
                // Without eyes on it, it must not run.
                strike(pid, Signal::KILL);
                let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
            })
            .map(|(sign, pidfd, capture)| {
                let place = sign.place as usize;
                self.places.insert(key, place);
                if pidfd.is_none() {
                    self.unheard.push_back(sign);
                }
                self.running[place] = Some(Running {
                    key,
                    sign,
                    pid,
                    pidfd,
                    capture,
                    started: Instant::now(),
                    kill_at: None,
                });
            })
    }

    fn watch(
        &mut self,
        key: u64,
        pid: Pid,
        reader: Option<io::PipeReader>,
        program: &Program,
    ) -> io::Result<(Seat, Option<OwnedFd>, Capture)> {
        debug_assert!(!self.places.contains_key(&key));
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.running.push(None);
                self.running.len() - 1
            }
        };
        // One bit less than there is room for: no sign is `ELSEWHERE`. It begins again after 2³⁰ processes; an event that old would
        // have to be about the same place, too.
        self.started = (self.started + 1) & (u32::MAX >> 2);
        let sign = Seat {
            place: place as u32,
            count: self.started,
        };
        // Whose output goes to files has no pipe whose end could tell of its own: it is watched from the start.
        let watched = match &reader {
            Some(reader) => epoll::add(&self.epoll, reader, sign.data(true), END_OF_PIPE)
                .map(|()| None)
                .map_err(io::Error::from),
            None => watch_end(&self.epoll, pid, sign).map(Some),
        };
        match watched {
            Ok(pidfd) => Ok((sign, pidfd, Capture::new(reader, program.log.clone()))),
            Err(e) => {
                self.free.push(place);
                Err(e)
            }
        }
    }

    /// Waits until a process ends, or so long; appends those that ended.
    ///
    /// # Errors
    /// If the system cannot tell.
    pub(crate) fn wait(&mut self, most: Duration, ended: &mut Vec<Exited>) -> io::Result<()> {
        let now = Instant::now();
        let most = self.listen(now)?.map_or(most, |next| most.min(next));
        let most = match self.unseen.is_empty() {
            true => most,
            false => most.min(SHORT),
        };
        let kills = self.running.iter().flatten().filter_map(|r| r.kill_at);
        let most = (kills.min()).map_or(most, |at| most.min(at.saturating_duration_since(now)));
        let most = Timespec {
            tv_sec: most.as_secs() as i64,
            tv_nsec: most.subsec_nanos().into(),
        };
        let mut events = [MaybeUninit::uninit(); AT_ONCE];
        let events = match epoll::wait(&self.epoll, &mut events, Some(&most)) {
            Ok((events, _)) => events,
            // A signal: whoever set up a handler for it looks at what it left when this returns.
            Err(rustix::io::Errno::INTR) => &mut [],
            Err(e) => return Err(e.into()),
        };
        for event in events {
            let data = event.data.u64();
            if data == ELSEWHERE {
                continue; // whoever gave it to us reads it
            }
            let (sign, is_output) = Seat::of(data);
            let place = sign.place as usize;
            let running = self.running.get_mut(place).and_then(Option::as_mut);
            let Some(running) = running.filter(|r| r.sign == sign) else {
                continue; // it ended before
            };
            let flags = event.flags;
            let is_end = flags.contains(epoll::EventFlags::HUP);
            match (is_output, is_end) {
                (true, false) => running.capture.read_some(&mut self.buffer),
                (true, true) => {
                    // All that it wrote is in the pipe by now, and nobody adds to it: reading to the end waits for nobody.
                    running.capture.read_rest(&mut self.buffer);
                    self.reap_silent(place, ended)?;
                }
                (false, _) => drop(self.reap(place, ended)?),
            }
        }
        for sign in std::mem::take(&mut self.unseen) {
            let place = sign.place as usize;
            let running = self.running[place].as_ref();
            if running.is_some_and(|r| r.sign == sign) && !self.reap(place, ended)? {
                self.unseen.push(sign);
            }
        }
        self.kill_due();
        Ok(())
    }

    /// Listens to those that have run for a while, and watches for their end. Returns when to do so again.
    fn listen(&mut self, now: Instant) -> io::Result<Option<Duration>> {
        // In the order of their starts: behind the first one that is too young, all are.
        while let Some(&sign) = self.unheard.front() {
            let place = sign.place as usize;
            let running = self.running[place].as_ref();
            if let Some(running) = running.filter(|r| r.sign == sign) {
                let age = now.saturating_duration_since(running.started);
                if age < SHORT {
                    return Ok(Some(SHORT - age));
                }
                if let Some(reader) = running.capture.reader() {
                    let data = running.sign.data(true);
                    epoll::modify(&self.epoll, reader, data, epoll::EventFlags::IN)?;
                }
                self.see(place);
            }
            self.unheard.pop_front();
        }
        Ok(None)
    }

    /// Watches for the end of a process by a descriptor of its own.
    fn see(&mut self, place: usize) {
        let Some(running) = &mut self.running[place] else {
            return;
        };
        if running.pidfd.is_none() {
            match watch_end(&self.epoll, running.pid, running.sign) {
                Ok(pidfd) => running.pidfd = Some(pidfd),
                // It runs: that there are no more descriptors must not end it, nor all others.
                Err(_) => self.unseen.push(running.sign),
            }
        }
    }

    /// Its pipe has ended: either it has as well, or is about to, or goes on in silence.
    fn reap_silent(&mut self, place: usize, ended: &mut Vec<Exited>) -> io::Result<()> {
        for _ in 0..ASKED {
            if self.reap(place, ended)? {
                return Ok(());
            }
            std::thread::yield_now();
        }
        self.see(place);
        Ok(())
    }

    /// Takes leave of a process, if it has ended. Returns whether it has.
    fn reap(&mut self, place: usize, ended: &mut Vec<Exited>) -> io::Result<bool> {
        // Several events may tell of one end.
        let Some(running) = self.running[place].take() else {
            return Ok(true);
        };
        let was_asked = running.kill_at.is_some();
        // Of a group that was asked to end nobody stays. As long as its first is not waited for, its number is its own.
        let may_take_leave = !was_asked || has_ended(running.pid);
        if was_asked && may_take_leave {
            strike(running.pid, Signal::KILL);
        }
        let status = match may_take_leave {
            true => rustix::process::waitpid(Some(running.pid), WaitOptions::NOHANG)?,
            false => None,
        };
        let Some((_, status)) = status else {
            // It was told, and is told once.
            if let Some(pidfd) = &running.pidfd {
                epoll::modify(&self.epoll, pidfd, running.sign.data(false), ONCE)?;
            }
            self.running[place] = Some(running);
            return Ok(false);
        };
        self.places.remove(&running.key);
        self.free.push(place);
        ended.push(Exited {
            key: running.key,
            exit: match status.exit_status() {
                Some(code) => Exit::Code(code),
                None => Exit::Signal(status.terminating_signal().unwrap_or(0)),
            },
            log: running.capture.finish(&mut self.buffer),
        });
        Ok(true)
    }

    fn kill_due(&mut self) {
        let now = Instant::now();
        for running in self.running.iter_mut().flatten() {
            if running.kill_at.is_some_and(|at| at <= now) {
                strike(running.pid, Signal::KILL);
                // And once more later, should it still be there: one that was just leaving its session is missed as a group.
                running.kill_at = Some(now + GRACE);
            }
        }
    }

    /// Asks a process and all it started to end; after a grace they are killed.
    pub(crate) fn end(&mut self, key: u64) {
        self.signal(key, Signal::TERM, GRACE);
    }

    /// Kills a process and all it started.
    pub(crate) fn kill(&mut self, key: u64) {
        self.signal(key, Signal::KILL, GRACE);
    }

    fn signal(&mut self, key: u64, signal: Signal, grace: Duration) {
        let place = self.places.get(&key).copied();
        if let Some(running) = place.and_then(|place| self.running[place].as_mut()) {
            strike(running.pid, signal);
            // What was stopped cannot end. Behind the signal, which waits for it: the other way round it could run on for a moment.
            strike(running.pid, Signal::CONT);
            // Who is asked twice has no more time than who is asked once.
            running.kill_at.get_or_insert(Instant::now() + grace);
        }
    }

    /// Asks all to end; after a grace they are killed.
    pub(crate) fn end_all(&mut self) {
        let keys: Vec<u64> = self.places.keys().copied().collect();
        keys.into_iter().for_each(|key| self.end(key));
    }

    /// The process group of a running one.
    pub(crate) fn group(&self, key: u64) -> Option<u32> {
        let running = self.running[*self.places.get(&key)?].as_ref()?;
        Some(running.pid.as_raw_pid() as u32)
    }

    /// Kills all.
    pub(crate) fn kill_all(&mut self) {
        let keys: Vec<u64> = self.places.keys().copied().collect();
        keys.into_iter().for_each(|key| self.kill(key));
    }
}

impl Drop for Processes {
    /// Nothing that was started here runs on unseen.
    fn drop(&mut self) {
        for running in self.running.iter_mut().flatten() {
            strike(running.pid, Signal::KILL);
            // Waited for, so that it is gone when this returns: whoever goes on may read or remove its files.
            let _ = rustix::process::waitpid(Some(running.pid), WaitOptions::empty());
        }
    }
}

/// From now on its end is told, once.
fn watch_end(epoll: &OwnedFd, pid: Pid, sign: Seat) -> io::Result<OwnedFd> {
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    epoll::add(epoll, &pidfd, sign.data(false), ONCE)?;
    Ok(pidfd)
}

/// Whether it has, without taking leave of it.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = rustix::process::waitid(WaitId::Pid(pid), options);
    status.is_ok_and(|status| status.is_some())
}

/// Signals a process and all it started. One that is about to leave its session has no group for a moment. Whoever has ended
/// already need not be told.
fn strike(pid: Pid, signal: Signal) {
    // Never a number that was given again: only of processes that were not waited for yet.
    if rustix::process::kill_process_group(pid, signal).is_err() {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

#[cfg(test)]
mod tests;
