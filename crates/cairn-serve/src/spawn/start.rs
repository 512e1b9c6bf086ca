//! How a program becomes a process: its files, its variables, a group of its own. Waits for nobody.

use super::program::{Line, Program};
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use rustix::process::Pid;
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A process that runs, and where its output comes from.
pub(super) struct NewProcess {
    pub(super) pid: Pid,
    pub(super) reader: Option<io::PipeReader>,
}

/// Starts processes; keeps what is the same for all.
pub(super) struct Starter {
    /// What a process reads if nobody says.
    nothing: File,
    /// Variables of this process, as `NAME=VALUE`, with the lengths of their names. Made once: the standard library's
    /// `Command` copies and sorts them for every process, which was a tenth of the runner's processor time.
    inherited: Vec<(usize, CString)>,
    attributes: PosixSpawnAttr,
}

impl Starter {
    pub(super) fn new() -> io::Result<Starter> {
        let inherited = std::env::vars_os().filter_map(|(name, value)| {
            let length = name.len();
            let mut text = name.into_vec();
            text.push(b'=');
            text.extend(value.into_vec());
            // The system has no variables with a zero in them.
            Some((length, CString::new(text).ok()?))
        });
        let mut attributes = PosixSpawnAttr::init()?;
        // Before the program begins, not by us afterwards: it could start others, or be signalled, in between.
        attributes.set_pgroup(nix::unistd::Pid::from_raw(0))?;
        attributes.set_sigmask(&SigSet::empty())?;
        // This process ignores it, as every Rust program does.
        attributes.set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF,
        )?;
        Ok(Starter {
            nothing: File::open("/dev/null")?,
            inherited: inherited.collect(),
            attributes,
        })
    }

    /// Starts one.
    pub(super) fn start(&self, program: &Program) -> io::Result<NewProcess> {
        // Dropped with this function: as long as we hold the writing end, the pipe would never end.
        let streams = Streams::open(program)?;
        let fds = streams.fds(&self.nothing);
        let mut started = self.spawn(program, fds);
        // As shells do: a file that is no program is a script.
        if let Err(e) = &started
            && e.raw_os_error() == Some(Errno::ENOEXEC as i32)
            && let Some(script) = program.as_script()
        {
            started = self.spawn(&script, fds);
        }
        Ok(NewProcess {
            pid: started?,
            reader: streams.reader,
        })
    }

    fn spawn(&self, program: &Program, fds: [BorrowedFd<'_>; 3]) -> io::Result<Pid> {
        match &program.directory {
            None => self.spawn_here(program, fds),
            Some(directory) => spawn_there(program, directory, fds),
        }
    }

    /// In the folder of this process.
    fn spawn_here(&self, program: &Program, fds: [BorrowedFd<'_>; 3]) -> io::Result<Pid> {
        let mut actions = PosixSpawnFileActions::init()?;
        for (fd, place) in fds.into_iter().zip(0..) {
            actions.add_dup2(fd.as_raw_fd(), place)?;
        }
        let (file, words) = command_line(program)?;
        let words = words.into_iter().map(CString::new);
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let variables = self.variables(program)?;
        let file = CString::new(file.as_os_str().as_bytes())?;
        let pid = posix_spawnp(&file, &actions, &self.attributes, &words, &variables)?;
        Pid::from_raw(pid.as_raw()).ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// All variables of a process: those of this one, but for what the program says.
    fn variables(&self, program: &Program) -> io::Result<Vec<Cow<'_, CStr>>> {
        let mut all = Vec::with_capacity(self.inherited.len() + program.environment.len());
        if !program.is_bare {
            let is_silent = |(length, text): &&(usize, CString)| {
                program.variable(&text.as_bytes()[..*length]).is_none()
            };
            let inherited = self.inherited.iter().filter(is_silent);
            all.extend(inherited.map(|(_, text)| Cow::Borrowed(text.as_c_str())));
        }
        for (i, (name, value)) in program.environment.iter().enumerate() {
            // Of two of one name programs see the first or the last, as their libraries like: only one may go.
            let is_last = !program.environment[i + 1..].iter().any(|(n, _)| n == name);
            if let Some(value) = value.as_ref().filter(|_| is_last) {
                all.push(Cow::Owned(CString::new(format!("{name}={value}"))?));
            }
        }
        Ok(all)
    }
}

/// No thread that begins from here on is woken when a process ends: that is told by pipes and descriptors. While a process is
/// started all signals of the thread that starts it are blocked; then the kernel tells some other thread of the end of another
/// process, which wakes up for nothing on a processor where a task could run.
pub fn hear_no_ends() {
    // Where that fails, threads wake up.
    let _ = ends().thread_block();
}

fn ends() -> SigSet {
    SigSet::from_iter([Signal::SIGCHLD])
}

/// In another folder, which `posix_spawn` as POSIX has it cannot change to; the standard library knows how.
fn spawn_there(program: &Program, directory: &Path, fds: [BorrowedFd<'_>; 3]) -> io::Result<Pid> {
    let (file, words) = command_line(program)?;
    let mut command = Command::new(file);
    command.arg0(words[0]).args(&words[1..]);
    if program.is_bare {
        command.env_clear();
    }
    for (name, value) in &program.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let [stdin, stdout, stderr] = fds.map(|fd| fd.try_clone_to_owned());
    command.stdin(stdin?).stdout(stdout?).stderr(stderr?);
    command.current_dir(directory).process_group(0);
    // It leaves a process the signal mask of this thread.
    let mask = ends().thread_swap_mask(SigmaskHow::SIG_UNBLOCK)?;
    let child = command.spawn();
    // Put back before the answer is looked at: also where nothing was started.
    mask.thread_set_mask()?;
    Ok(Pid::from_child(&child?))
}

/// The file to start, and what it gets: its name and its arguments.
fn command_line(program: &Program) -> io::Result<(PathBuf, Vec<&str>)> {
    match &program.line {
        Line::Shell(line) => Ok(("/bin/sh".into(), vec!["/bin/sh", "-c", line])),
        Line::Words(words) => {
            let name = words.first().ok_or(io::ErrorKind::InvalidInput)?;
            let file = program.file(name).ok_or(io::ErrorKind::NotFound)?;
            Ok((file, words.iter().map(String::as_str).collect()))
        }
    }
}

/// What a process reads and writes.
struct Streams {
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
    /// What does not go to a file.
    pipe: Option<io::PipeWriter>,
    reader: Option<io::PipeReader>,
}

impl Streams {
    fn open(program: &Program) -> io::Result<Streams> {
        let of = |path: &PathBuf| match &program.directory {
            Some(directory) => directory.join(path),
            None => path.clone(),
        };
        let Program {
            stdin,
            stdout,
            stderr,
            ..
        } = program;
        let create = |path: &PathBuf| File::create(of(path));
        // First: where there is nothing to read, nothing is emptied.
        let stdin = stdin
            .as_ref()
            .map(|path| File::open(of(path)))
            .transpose()?;
        let (reader, pipe) = match stdout.is_none() || stderr.is_none() {
            true => io::pipe().map(|(from, into)| (Some(from), Some(into)))?,
            false => (None, None),
        };
        let out = stdout.as_ref().map(create).transpose()?;
        // One file for both has one place to write at: opened twice, each would write over the other.
        let err = match (&out, stderr) {
            (Some(out), _) if stdout == stderr => Some(out.try_clone()?),
            _ => stderr.as_ref().map(create).transpose()?,
        };
        Ok(Streams {
            stdin,
            stdout: out,
            stderr: err,
            pipe,
            reader,
        })
    }

    /// The descriptors of input, output and errors.
    fn fds<'a>(&'a self, nothing: &'a File) -> [BorrowedFd<'a>; 3] {
        let into = |file: &'a Option<File>| match (file, &self.pipe) {
            (Some(file), _) => file.as_fd(),
            (None, Some(pipe)) => pipe.as_fd(),
            (None, None) => nothing.as_fd(),
        };
        let stdin = self.stdin.as_ref().unwrap_or(nothing).as_fd();
        [stdin, into(&self.stdout), into(&self.stderr)]
    }
}
