//! Processes on this machine: started, watched, ended, their output kept. Knows no tasks, and no store.
//!
//! Every command has a process group of its own, so that all it started can be ended with it; its output goes through one
//! pipe and into a file only if there is some; its end is seen by a descriptor of the process, never by the end of the pipe,
//! which grandchildren may hold open. Nothing here forks: `posix_spawn` costs the same however much memory is in use.

mod memory;
mod orphans;
mod output;

pub(crate) use memory::group_memory;
pub use memory::step_back;
pub use orphans::end_survivors;
pub use output::{Log, tail};

use output::Capture;
use rustix::event::{Timespec, epoll};
use rustix::process::{Pid, PidfdFlags, Signal};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long a group that was asked to end has until it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// A process that runs for so long is listened to while it runs; what a shorter one wrote is read when it ends. Saves a wakeup a
/// process, since a pipe closes before its process ends.
const SHORT: Duration = Duration::from_millis(4);

/// The end of a process is told once: a descriptor that somebody else holds for a moment must not tell it again and again.
const ONCE: epoll::EventFlags = epoll::EventFlags::IN.union(epoll::EventFlags::ONESHOT);

/// Marks what is watched but is no process.
const ELSEWHERE: u64 = u64::MAX;

/// A program and its arguments, or a line for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Started as it is. Never empty.
    Words(Vec<String>),
    /// Started by `/bin/sh -c`.
    Shell(String),
}

/// What to start, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The command.
    pub line: Line,
    /// Variables beside those of this process; `None` removes one.
    pub environment: Vec<(String, Option<String>)>,
    /// Whether variables of this process are left out.
    pub is_bare: bool,
    /// Where it is started; here if nobody says.
    pub directory: Option<PathBuf>,
    /// Where its input comes from; it has none if nobody says.
    pub stdin: Option<PathBuf>,
    /// Where its output goes; if nobody says, into the log.
    pub stdout: Option<PathBuf>,
    /// Where its errors go; if nobody says, into the log.
    pub stderr: Option<PathBuf>,
    /// The file that keeps its output, made if there is some.
    pub log: PathBuf,
}

impl Program {
    /// A command, with its output in the log.
    pub fn new(line: Line, log: PathBuf) -> Program {
        Program {
            line,
            environment: Vec::new(),
            is_bare: false,
            directory: None,
            stdin: None,
            stdout: None,
            stderr: None,
            log,
        }
    }

    /// What is to be started, and where its output comes from; `nothing` is what it reads if nobody says.
    fn command(&self, nothing: &File) -> io::Result<(Command, Option<io::PipeReader>)> {
        let mut command = match &self.line {
            Line::Shell(line) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(line);
                command
            }
            Line::Words(words) => {
                let (program, arguments) =
                    words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
                let mut command = Command::new(self.found(program));
                command.arg0(program).args(arguments);
                command
            }
        };
        if self.is_bare {
            command.env_clear();
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let of = |path: &PathBuf| {
            self.directory
                .as_ref()
                .map_or(path.clone(), |d| d.join(path))
        };
        match &self.stdin {
            Some(path) => command.stdin(File::open(of(path))?),
            None => command.stdin(nothing.try_clone()?),
        };
        let mut reader = None;
        if self.stdout.is_none() || self.stderr.is_none() {
            let (from, into) = io::pipe()?;
            reader = Some(from);
            match (&self.stdout, &self.stderr) {
                (None, None) => command.stdout(into.try_clone()?).stderr(into),
                (None, _) => command.stdout(into),
                _ => command.stderr(into),
            };
        }
        match (&self.stdout, &self.stderr) {
            (Some(out), Some(err)) if out == err => {
                let file = File::create(of(out))?;
                command.stdout(file.try_clone()?).stderr(file);
            }
            (out, err) => {
                if let Some(out) = out {
                    command.stdout(File::create(of(out))?);
                }
                if let Some(err) = err {
                    command.stderr(File::create(of(err))?);
                }
            }
        }
        command.process_group(0);
        Ok((command, reader))
    }

    /// The same for the shell to read, where the file turns out to be no program: as shells do.
    fn as_script(&self) -> Option<Program> {
        let Line::Words(words) = &self.line else {
            return None;
        };
        let (program, arguments) = words.split_first()?;
        let mut file = self.found(program);
        if !program.contains('/') && file == *program {
            let path = std::env::var_os("PATH")?;
            let mut places = std::env::split_paths(&path).map(|place| place.join(program));
            file = places.find(|file| file.is_file())?;
        }
        let file = file.into_os_string().into_string().ok()?;
        let words = ["/bin/sh".to_owned(), file].into_iter();
        Some(Program {
            line: Line::Words(words.chain(arguments.iter().cloned()).collect()),
            ..self.clone()
        })
    }

    /// The file of a program that is looked for along a path of its own: the system's search would need a fork.
    fn found(&self, program: &str) -> PathBuf {
        let path = self
            .environment
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH");
        let Some((_, Some(path))) = path.filter(|_| !program.contains('/')) else {
            return program.into();
        };
        let places = std::env::split_paths(path).map(|place| place.join(program));
        let mut there = places.filter(|file| file.is_file());
        there.next().unwrap_or_else(|| program.into())
    }
}

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
pub(crate) struct Ended {
    /// What it was started as.
    pub key: u64,
    /// How.
    pub exit: Exit,
    /// Whether [`Processes::end`] was called for it.
    pub was_asked: bool,
    /// How long it lasted.
    pub lasted: Duration,
    /// What it wrote.
    pub log: Log,
}

#[derive(Debug)]
struct Running {
    key: u64,
    /// What events tell of it by. A process between start and program holds our descriptors for a moment, and with them
    /// events of one that is gone, whose place may be another's by now.
    sign: Sign,
    child: Child,
    /// Its readiness tells of the end.
    pidfd: OwnedFd,
    capture: Capture,
    started: Instant,
    /// Whether events tell of its output.
    is_heard: bool,
    /// When it is killed, once it was asked to end.
    kill_at: Option<Instant>,
}

/// What an event tells of: a place, and the how-manieth process in all that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    place: u32,
    count: u32,
}

impl Sign {
    fn data(self, is_output: bool) -> epoll::EventData {
        let [place, count] = [self.place, self.count].map(u64::from);
        epoll::EventData::new_u64(count << 33 | place << 1 | u64::from(is_output))
    }

    fn of(data: u64) -> (Sign, bool) {
        let place = (data >> 1) as u32;
        let count = (data >> 33) as u32;
        (Sign { place, count }, data & 1 == 1)
    }
}

/// All processes started here.
pub(crate) struct Processes {
    epoll: OwnedFd,
    /// What a process reads if nobody says.
    nothing: File,
    /// How many were started; never so many that a sign is [`ELSEWHERE`].
    started: u32,
    /// For what was printed.
    buffer: Vec<u8>,
    /// By place; a place is used again.
    running: Vec<Option<Running>>,
    free: Vec<usize>,
    /// By key: the place.
    places: BTreeMap<u64, usize>,
    /// Places and keys of those not yet listened to, the oldest first; some may have ended.
    unheard: VecDeque<(usize, u64)>,
    events: Vec<epoll::Event>,
}

impl Processes {
    /// Nobody yet.
    ///
    /// # Errors
    /// If the system gives no descriptor.
    pub(crate) fn new() -> io::Result<Processes> {
        Ok(Processes {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            nothing: File::open("/dev/null")?,
            started: 0,
            buffer: vec![0; 1 << 16],
            running: Vec::new(),
            free: Vec::new(),
            places: BTreeMap::new(),
            unheard: VecDeque::new(),
            events: Vec::with_capacity(64),
        })
    }

    /// How many are running.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none is running.
    pub fn is_empty(&self) -> bool {
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
        let (mut command, mut reader) = program.command(&self.nothing)?;
        let mut spawned = command.spawn();
        if let (Err(e), Some(script)) = (&spawned, program.as_script())
            && e.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
        {
            (command, reader) = script.command(&self.nothing)?;
            spawned = command.spawn();
        }
        let mut child = spawned?;
        drop(command); // and with it our ends of the pipe
        let watched = self.watch(key, &child, reader, program);
        watched
            .inspect_err(|_| {
                // Without eyes on it, it must not run.
                strike(&child, Signal::KILL);
                let _ = child.wait();
            })
            .map(|(sign, pidfd, capture)| {
                let place = sign.place as usize;
                self.places.insert(key, place);
                self.unheard.push_back((place, key));
                self.running[place] = Some(Running {
                    key,
                    sign,
                    child,
                    pidfd,
                    capture,
                    started: Instant::now(),
                    is_heard: false,
                    kill_at: None,
                });
            })
    }

    fn watch(
        &mut self,
        key: u64,
        child: &Child,
        reader: Option<io::PipeReader>,
        program: &Program,
    ) -> io::Result<(Sign, OwnedFd, Capture)> {
        debug_assert!(!self.places.contains_key(&key));
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.running.push(None);
                self.running.len() - 1
            }
        };
        // One bit less than there is room for: no sign is `ELSEWHERE`.
        self.started = (self.started + 1) & (u32::MAX >> 2);
        let sign = Sign {
            place: place as u32,
            count: self.started,
        };
        let watch = || -> io::Result<OwnedFd> {
            let pidfd = rustix::process::pidfd_open(pid(child), PidfdFlags::empty())?;
            epoll::add(&self.epoll, &pidfd, sign.data(false), ONCE)?;
            Ok(pidfd)
        };
        match watch() {
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
    pub(crate) fn wait(&mut self, most: Duration, ended: &mut Vec<Ended>) -> io::Result<()> {
        let now = Instant::now();
        let most = self.listen(now)?.map_or(most, |next| most.min(next));
        let kills = self.running.iter().flatten().filter_map(|r| r.kill_at);
        let most = (kills.min()).map_or(most, |at| most.min(at.saturating_duration_since(now)));
        let most = Timespec {
            tv_sec: most.as_secs() as i64,
            tv_nsec: most.subsec_nanos().into(),
        };
        self.events.clear();
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            Some(&most),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        let events = std::mem::take(&mut self.events);
        for event in &events {
            let data = event.data.u64();
            if data == ELSEWHERE {
                continue; // whoever gave it to us reads it
            }
            let (sign, is_output) = Sign::of(data);
            let place = sign.place as usize;
            let running = self.running.get_mut(place).and_then(Option::as_mut);
            let Some(running) = running.filter(|r| r.sign == sign) else {
                continue; // it ended before
            };
            match is_output {
                true => running.capture.read_some(&mut self.buffer),
                false => self.reap(place, ended)?,
            }
        }
        self.events = events;
        self.kill_due();
        Ok(())
    }

    /// Listens to those that have run for a while. Returns when to do so again.
    fn listen(&mut self, now: Instant) -> io::Result<Option<Duration>> {
        while let Some(&(place, key)) = self.unheard.front() {
            let running = self.running[place].as_mut();
            if let Some(running) = running.filter(|r| r.key == key && !r.is_heard) {
                let age = now.saturating_duration_since(running.started);
                if age < SHORT {
                    return Ok(Some(SHORT - age));
                }
                running.is_heard = true;
                if let Some(reader) = running.capture.reader() {
                    let data = running.sign.data(true);
                    epoll::add(&self.epoll, reader, data, epoll::EventFlags::IN)?;
                }
            }
            self.unheard.pop_front();
        }
        Ok(None)
    }

    fn reap(&mut self, place: usize, ended: &mut Vec<Ended>) -> io::Result<()> {
        let Some(mut running) = self.running[place].take() else {
            return Ok(());
        };
        let was_asked = running.kill_at.is_some();
        if was_asked {
            // Not yet waited for: the number of the group is still its own.
            strike(&running.child, Signal::KILL);
        }
        let Some(status) = running.child.try_wait()? else {
            epoll::modify(&self.epoll, &running.pidfd, running.sign.data(false), ONCE)?;
            self.running[place] = Some(running);
            return Ok(());
        };
        self.places.remove(&running.key);
        self.free.push(place);
        ended.push(Ended {
            key: running.key,
            exit: match status.code() {
                Some(code) => Exit::Code(code),
                None => Exit::Signal(status.signal().unwrap_or(0)),
            },
            was_asked,
            lasted: running.started.elapsed(),
            log: running.capture.finish(&mut self.buffer),
        });
        Ok(())
    }

    fn kill_due(&mut self) {
        let now = Instant::now();
        for running in self.running.iter_mut().flatten() {
            if running.kill_at.is_some_and(|at| at <= now) {
                strike(&running.child, Signal::KILL);
                running.kill_at = Some(now + GRACE);
            }
        }
    }

    /// Asks a process and all it started to end; after a grace they are killed.
    pub fn end(&mut self, key: u64) {
        self.signal(key, Signal::TERM, GRACE);
    }

    /// Kills a process and all it started.
    pub(crate) fn kill(&mut self, key: u64) {
        self.signal(key, Signal::KILL, GRACE);
    }

    fn signal(&mut self, key: u64, signal: Signal, grace: Duration) {
        let place = self.places.get(&key).copied();
        if let Some(running) = place.and_then(|place| self.running[place].as_mut()) {
            strike(&running.child, signal);
            // What was stopped cannot end.
            strike(&running.child, Signal::CONT);
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
        Some(running.child.id())
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
            strike(&running.child, Signal::KILL);
            let _ = running.child.wait();
        }
    }
}

/// Signals a process and all it started. One that is about to leave its session has no group for a moment. Whoever has ended
/// already need not be told.
fn strike(child: &Child, signal: Signal) {
    if rustix::process::kill_process_group(pid(child), signal).is_err() {
        let _ = rustix::process::kill_process(pid(child), signal);
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[cfg(test)]
mod tests;
