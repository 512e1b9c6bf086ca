//! A process limits itself before it becomes another program: memory, and what it may read and write. Knows no tasks.
//!
//! Done by a process of its own between worker and command, since a worker must never fork: [`confine`] is its whole life.
//! Whatever comes from a server (the task's environment, the files of its input and output) is touched after the limits hold.

use super::environment;
use crate::spawn::beside;
use landlock::{
    ABI, Access, AccessFs, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// What every program may read and execute. Of `/run` only what finds names of machines and, on some systems, programs.
const SYSTEM: [&str; 20] = [
    "/bin",
    "/dev/random",
    "/dev/urandom",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/opt",
    "/proc",
    "/run/NetworkManager/resolv.conf",
    "/run/connman/resolv.conf",
    "/run/current-system",
    "/run/nscd",
    "/run/opengl-driver",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/sbin",
    "/sys",
    "/usr",
];
/// Devices that every program may write. No terminal: a task has none.
const DEVICES: [&str; 4] = ["/dev/full", "/dev/null", "/dev/shm", "/dev/zero"];

/// The newest rules that we know; older kernels keep those they know.
// Best effort on purpose: a worker on an older kernel works, and says how much of a sandbox there is.
const RULES: ABI = ABI::V9;
/// What we call a whole sandbox: files, links, sizes, devices, signals, abstract sockets. Newer rules are a gift.
const WHOLE: ABI = ABI::V6;

/// What a process may do, and what it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confines {
    /// Bytes of data; `None`: as much as there is.
    pub memory: Option<u64>,
    /// Whether files elsewhere are out of reach.
    pub sandbox: bool,
    /// Folders that may be read and written.
    pub write: Vec<PathBuf>,
    /// The file with the variables of the program; it is removed. `None`: it gets those of this process.
    pub environment: Option<PathBuf>,
    /// Where its input comes from, where that is not what this process has.
    pub stdin: Option<PathBuf>,
    /// Where its output goes, where that is not what this process has.
    pub stdout: Option<PathBuf>,
    /// Where its errors go, where that is not what this process has.
    pub stderr: Option<PathBuf>,
}

/// How much of a sandbox the kernel gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// All that we ask for.
    Whole,
    /// Some of it: the kernel is older.
    Partial,
    /// None.
    Missing,
}

/// What may be done in a folder that is written: no device is made there, and none is steered.
fn writing(rules: ABI) -> BitFlags<AccessFs> {
    let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    AccessFs::from_all(rules) & !never
}

fn restrict(confines: &Confines, rules: ABI) -> Result<Sandbox> {
    let restricted = || -> std::result::Result<RulesetStatus, landlock::RulesetError> {
        let write = DEVICES
            .iter()
            .map(PathBuf::from)
            .chain(confines.write.iter().cloned());
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(rules))?
            .scope(Scope::from_all(rules))?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, AccessFs::from_read(rules)))?
            .add_rules(path_beneath_rules(write, writing(rules)))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    Ok(
        match restricted().map_err(|e| Error::other(e.to_string()))? {
            RulesetStatus::FullyEnforced => Sandbox::Whole,
            RulesetStatus::PartiallyEnforced => Sandbox::Partial,
            RulesetStatus::NotEnforced => Sandbox::Missing,
        },
    )
}

/// What the kernel would give: tried by a thread that ends with it.
pub(crate) fn probe() -> Sandbox {
    // Limits hold for the thread that takes them, and for ever: this one must not have them.
    let tried = beside(|| restrict(&Confines::default(), WHOLE)).ok();
    let tried = tried.and_then(|tried| tried.join().ok()?.ok());
    tried.unwrap_or(Sandbox::Missing)
}

/// Leaves the session of whoever started this, and with it the terminal. A process that leads its group must join another one
/// first. Where that cannot be, the sandbox keeps the terminal out of reach all the same.
fn leave_session() {
    let Some(parent) = rustix::process::getppid() else {
        return;
    };
    if let Ok(group) = rustix::process::getpgid(Some(parent))
        && rustix::process::setpgid(None, Some(group)).is_ok()
        && rustix::process::setsid().is_err()
    {
        // The group of its own is what it is ended by.
        let _ = rustix::process::setpgid(None, None);
    }
}

/// Becomes another program, within confines. Returns only if that cannot be.
pub fn confine(confines: &Confines, program: &OsStr, arguments: &[OsString]) -> Error {
    confined(confines, program, arguments).map_or_else(|error| error, |mut command| command.exec())
}

fn confined(confines: &Confines, program: &OsStr, arguments: &[OsString]) -> Result<Command> {
    // Before the limits hold: the file lies where the task must not reach.
    let variables = confines.environment.as_deref().map(environment::take);
    let variables = variables.transpose()?;
    if let Some(bytes) = confines.memory {
        let limit = Rlimit {
            current: Some(bytes),
            // A task could raise the other one.
            maximum: Some(bytes),
        };
        rustix::process::setrlimit(Resource::Data, limit)?;
    }
    if confines.sandbox {
        leave_session();
        restrict(confines, RULES)?;
    }
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(variables) = variables {
        // For the task alone: on this process LD_PRELOAD and the like would be obeyed before the limits hold.
        command.env_clear().envs(variables);
    }
    // Opened under the limits: a link in the task's folder leads nowhere that the task itself could not go.
    if let Some(path) = &confines.stdin {
        command.stdin(File::open(path)?);
    }
    if let Some(path) = &confines.stdout {
        let file = File::create(path)?;
        if confines.stderr == confines.stdout {
            // One description with one place in the file: two of them would write over each other.
            command.stderr(file.try_clone()?);
        }
        command.stdout(file);
    }
    if let Some(path) = confines
        .stderr
        .as_ref()
        .filter(|_| confines.stderr != confines.stdout)
    {
        command.stderr(File::create(path)?);
    }
    Ok(command)
}
