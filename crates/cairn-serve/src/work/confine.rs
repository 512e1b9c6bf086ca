//! A process limits itself before it becomes another program: memory, and what it may read and write. Knows no tasks.
//!
//! Done by a process of its own between worker and command, since a worker must never fork: [`confine`] is its whole life.

use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    path_beneath_rules,
};
use rustix::process::{Resource, Rlimit};
use std::ffi::{OsStr, OsString};
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// What every program may read and execute.
const SYSTEM: [&str; 14] = [
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
    "/run",
    "/sbin",
    "/sys",
    "/usr",
];
/// Devices that every program may write.
const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/shm",
    "/dev/tty",
    "/dev/zero",
];

/// The newest rules that we know; older kernels keep those they know.
const RULES: ABI = ABI::V5;

/// What a process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of data; `None`: as much as there is.
    pub memory: Option<u64>,
    /// Whether files elsewhere are out of reach.
    pub sandbox: bool,
    /// Folders that may be read and written.
    pub write: Vec<PathBuf>,
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

fn restrict(limits: &Limits) -> Result<Sandbox> {
    let rules = || -> std::result::Result<RulesetStatus, landlock::RulesetError> {
        let write = DEVICES
            .iter()
            .map(PathBuf::from)
            .chain(limits.write.iter().cloned());
        let status = Ruleset::default()
            .handle_access(AccessFs::from_all(RULES))?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, AccessFs::from_read(RULES)))?
            .add_rules(path_beneath_rules(write, AccessFs::from_all(RULES)))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    Ok(match rules().map_err(|e| Error::other(e.to_string()))? {
        RulesetStatus::FullyEnforced => Sandbox::Whole,
        RulesetStatus::PartiallyEnforced => Sandbox::Partial,
        RulesetStatus::NotEnforced => Sandbox::Missing,
    })
}

/// What the kernel would give: tried by a thread that ends with it.
pub fn probe() -> Sandbox {
    let tried = std::thread::spawn(|| restrict(&Limits::default()));
    let tried = tried.join().ok().and_then(Result::ok);
    tried.unwrap_or(Sandbox::Missing)
}

/// Becomes another program, within limits. Returns only if that cannot be.
pub fn confine(limits: &Limits, program: &OsStr, arguments: &[OsString]) -> Error {
    if let Some(bytes) = limits.memory {
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        if let Err(e) = rustix::process::setrlimit(Resource::Data, limit) {
            return e.into();
        }
    }
    if limits.sandbox
        && let Err(e) = restrict(limits)
    {
        return e;
    }
    Command::new(program).args(arguments).exec()
}
