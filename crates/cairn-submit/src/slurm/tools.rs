//! Slurm's own programs: how they are called, and what their answers mean. Decides nothing.

use super::cluster::{Cluster, Exit, Listed, Sbatch, Submitted};
use super::place::Place;
use super::window::is_limit_on_number;
use crate::script::{KILLING, text};
use crate::{Handover, Task};
use cairn_dag::wide;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Why Slurm cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolsError {
    /// A program is not there.
    #[error("there is no Slurm here: the program '{0}' is not found")]
    Missing(&'static str),
    /// It does not answer.
    #[error("Slurm does not answer: {0}")]
    Silent(String),
}

/// Slurm, for one run.
#[derive(Debug)]
pub struct Tools<'a> {
    handover: &'a Handover,
    place: Place,
    /// Kept open by every call of `sbatch`, so that one that outlives us is noticed.
    lock: File,
}

impl<'a> Tools<'a> {
    /// Slurm for the run at `place`.
    pub fn new(handover: &'a Handover, place: Place, lock: File) -> Tools<'a> {
        Tools {
            handover,
            place,
            lock,
        }
    }

    /// The longest array that this Slurm takes; asks whether it is there at all.
    ///
    /// # Errors
    /// [`ToolsError`].
    pub fn longest_array() -> Result<usize, ToolsError> {
        for program in ["sbatch", "squeue", "scancel"] {
            let found = tool(program).arg("--version").output();
            if found.is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
                return Err(ToolsError::Missing(program));
            }
        }
        let asked = tool("scontrol").args(["show", "config"]).output();
        let told = asked.map_err(|_| ToolsError::Missing("scontrol"))?;
        if !told.status.success() {
            return Err(ToolsError::Silent(printed(&told)));
        }
        let text = String::from_utf8_lossy(&told.stdout);
        let line = text.lines().find(|line| line.starts_with("MaxArraySize"));
        // A Slurm that does not say takes no array: tasks go one by one.
        let size = line.and_then(|line| line.rsplit('=').next()?.trim().parse().ok());
        Ok(size.unwrap_or(1))
    }

    fn key(&self, serial: u64) -> String {
        key(self.place.run(), serial)
    }
}

pub(super) fn key(run: &str, serial: u64) -> String {
    format!("cairn:{run}:{serial}")
}

/// What a program said on standard error, in one line.
fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    lines.join("; ")
}

/// So much of a task's name is the name of its job.
// `squeue` shows far less; a name of thousands of letters, as generated ones may be, is of no use to anybody.
const LONGEST_NAME: usize = 60;

/// So many jobs are ended by one call.
// A command line has an end (128 KiB a word, some megabytes in all): a thousand numbers are far from it.
const CANCELLED_AT_ONCE: usize = 1000;

/// Seconds that a job has beyond all attempts: it may wait a minute for its parents' words, and for a machine that is slow.
// A judgement beyond the minute that job.sh waits: too little would kill tasks that do nothing wrong.
const SLACK: f64 = 120.0;

/// Variables by which `sbatch` would make another job of it, or answer otherwise, and those of a job inside of which we are
/// called: `sbatch` hands them on, and a job that is no array would take itself for an element of one.
const OWNED: [&str; 8] = [
    "SBATCH_ARRAY_INX",
    "SBATCH_WAIT",
    "SBATCH_JOB_NAME",
    "SBATCH_OUTPUT",
    "SBATCH_OPEN_MODE",
    "SLURM_EXIT_ERROR",
    "SLURM_RESTART_COUNT",
    "SLURM_CPUS_PER_TASK",
];

/// Variables that begin so hide jobs from `squeue`, or have `scancel` ask or look away.
const HIDING: [&str; 3] = ["SQUEUE_", "SCANCEL_", "SLURM_ARRAY_"];

/// Whether one of Slurm's programs must not see a variable.
fn is_hidden(variable: &OsStr) -> bool {
    let Some(name) = variable.to_str() else {
        return false;
    };
    OWNED.contains(&name) || HIDING.iter().any(|start| name.starts_with(start))
}

/// The same as a line for a shell.
pub(super) fn unset() -> String {
    format!(
        "unset {}\nfor name in $(env | sed -n 's/^\\(\\({}\\)[A-Z_]*\\)=.*/\\1/p'); do unset \"$name\"; done\n",
        OWNED.join(" "),
        HIDING.join("\\|"),
    )
}

/// One of Slurm's programs, with the environment that it is meant to have.
fn tool(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_hidden(name)) {
        command.env_remove(name);
    }
    command
}

/// Calls `sbatch`. Whoever outlives us keeps `lock` open.
pub(super) fn call(arguments: &[String], lock: &File) -> Submitted {
    let lock = match lock.try_clone() {
        Ok(lock) => lock,
        Err(error) => return Submitted::Refused(error.to_string()),
    };
    // As its input, which it does not read: the one descriptor that a child gets without asking. A script that it would read from
    // there is named in the arguments.
    match tool("sbatch").args(arguments).stdin(lock).output() {
        Ok(output) => submitted(&output),
        // Never started: certainly no job.
        Err(error) => Submitted::Refused(format!("sbatch cannot be started: {error}")),
    }
}

/// All jobs of the user that Slurm remembers; those of `run` with their serials.
pub(super) fn queue(run: &str) -> Result<Vec<Listed>, String> {
    let called = tool("squeue")
        // Every element by itself, in all states: a job that has ended is seen as such as long as Slurm remembers it. What people
        // write themselves, comment and command, comes last, since it may have a bar in it.
        .args(["-h", "-r", "--me", "-t", "all", "-o", "%i|%T|%r|%k|%o"])
        .stdin(Stdio::null())
        .output();
    match called {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().filter_map(|line| listed(line, run)).collect())
        }
        Ok(output) => Err(printed(&output)),
        Err(error) => Err(format!("squeue cannot be started: {error}")),
    }
}

/// The arguments of `sbatch` that say what a task is, all but those of the call at hand.
pub(super) fn shared_arguments(
    sbatch: &Sbatch,
    task: &Task,
    handover: &Handover,
    folder: &Path,
    run: &str,
) -> Vec<String> {
    let shown = |path: &Path| text(path).unwrap_or_default().to_owned();
    let name: String = task
        .name
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let name: String = name.chars().take(LONGEST_NAME).collect();
    let first = sbatch.first.unwrap_or(0);
    let log = match sbatch.len {
        1 => format!("{first}.log"),
        _ => format!("{first}+%a.log"),
    };
    // Slurm reads % in names of files.
    let logs = shown(&folder.join("logs")).replace('%', "%%");
    let mut arguments = vec![
        format!("--comment={}", key(run, sbatch.serial)),
        format!("--job-name={}", name.trim()),
        format!("--chdir={}", shown(&handover.home)),
        format!("--output={logs}/{log}"),
        "--kill-on-invalid-dep=yes".to_owned(),
    ];
    arguments.extend(asks(task));
    arguments
}

/// What a task asks for, as `sbatch` is told. Tasks go as one array only where this is the same.
pub(super) fn asks(task: &Task) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(cpus) = task.cpus {
        arguments.push(format!("--cpus-per-task={cpus}"));
    }
    if let Some(memory) = task.memory {
        arguments.push(format!("--mem={}K", memory.div_ceil(1024).max(1)));
    }
    // The limit is an attempt's, which the script itself keeps; this one is for all of them, and comes too late for each.
    let attempts = f64::from(task.retries) + 1.0;
    let limit = task
        .time_limit
        .map(|s| (s + f64::from(KILLING)) * attempts + SLACK);
    if let Some(seconds) = limit.filter(|s| s.is_finite() && *s > 0.0) {
        let seconds = seconds.ceil() as u64;
        arguments.push(format!("--time={}:{:02}", seconds / 60, seconds % 60));
    }
    arguments.extend(constraint(task).map(|all| format!("--constraint={all}")));
    arguments
}

/// Features that a node must have: a task's tags. Nothing where there are none, or one has a character that Slurm reads.
pub(crate) fn constraint(task: &Task) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    let is_feature = |tag: &String| !tag.is_empty() && tag.bytes().all(plain);
    (!task.tags.is_empty() && task.tags.iter().all(is_feature)).then(|| task.tags.join("&"))
}

/// The argument that has a job wait for others.
pub(super) fn after(jobs: &[String]) -> String {
    let each: Vec<String> = jobs.iter().map(|job| format!("afterok:{job}")).collect();
    format!("--dependency={}", each.join(","))
}

/// The arguments of `sbatch` for a script that is found again by a key, which it gets.
pub(super) fn marked(arguments: &[String], script: &str, key: String) -> Vec<String> {
    let mut words = vec!["--parsable".to_owned()];
    words.extend_from_slice(arguments);
    words.extend([format!("--comment={key}"), script.to_owned(), key]);
    words
}

/// What starts so many of a program inside of a job.
pub(super) fn srun(count: u32) -> String {
    format!("srun --ntasks={count}")
}

impl Tools<'_> {
    /// Those that people gave come first: of two that are alike, Slurm takes the last. An option of theirs that lacks its value
    /// would take the word behind it, which therefore is one that nobody misses.
    fn arguments(&self, sbatch: &Sbatch) -> Vec<String> {
        let mut arguments = vec!["--parsable".to_owned()];
        arguments.extend_from_slice(&self.handover.options);
        arguments.push("--open-mode=append".to_owned());
        let (folder, key) = (self.place.folder(), self.key(sbatch.serial));
        let script = format!("{}/job.sh", text(folder).unwrap_or_default());
        let Some(first) = sbatch.first else {
            arguments.push(format!("--comment={key}"));
            let gate = ["--hold", "--job-name=cairn-gate", "--output=/dev/null"];
            arguments.extend(gate.map(str::to_owned));
            arguments.extend([script, sbatch.serial.to_string(), "gate".to_owned(), key]);
            return arguments;
        };
        let task = &self.handover.tasks[wide(first)];
        let run = self.place.run();
        arguments.extend(shared_arguments(sbatch, task, self.handover, folder, run));
        if !sbatch.after.is_empty() {
            arguments.push(after(&sbatch.after));
        }
        if sbatch.len > 1 {
            arguments.push(format!("--array=0-{}", sbatch.len - 1));
        }
        if let Some(nice) = sbatch.nice {
            arguments.push(format!("--nice={nice}"));
        }
        arguments.extend([script, sbatch.serial.to_string(), first.to_string(), key]);
        arguments
    }
}

fn is_number(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())
}

/// What a call of `sbatch` came to.
fn submitted(output: &Output) -> Submitted {
    let out = String::from_utf8_lossy(&output.stdout);
    // With several clusters the name of one comes behind it.
    let id = out.trim().split(';').next().unwrap_or("");
    if output.status.success() && is_number(id) {
        return Submitted::Job(id.to_owned());
    }
    let printed = match printed(output) {
        printed if printed.is_empty() => format!("sbatch ended with {}", output.status),
        printed => printed,
    };
    // Parts of Slurm's own messages, where it may have heard us all the same.
    let no_answer = [
        "Unable to contact",
        "timed out",
        "Zero Bytes",
        "onnection",
        "Transport endpoint",
        "standby",
        "Unexpected message",
        "Protocol authentication",
        "missing socket",
        "Message send failure",
        "Message receive failure",
    ];
    let on_policy = printed.contains("violates accounting/QOS policy");
    match () {
        () if no_answer.iter().any(|words| printed.contains(words)) => Submitted::Unknown(printed),
        // Waited out: the policy of a site mostly counts jobs, and `window` gives up where none of ours is there.
        () if is_limit_on_number(&printed) || on_policy => Submitted::Quota(printed),
        () if printed.contains("Job dependency problem") => Submitted::Dependency(printed),
        () if output.status.code() == Some(1) => Submitted::Refused(printed),
        // Ended by a signal, or an answer that nobody expects.
        () => Submitted::Unknown(printed),
    }
}

/// States after which a job does nothing more; every other one may.
const ENDED: [&str; 10] = [
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
    "REVOKED",
];

/// The number of the call in a comment or a command, whichever has kept the key.
fn serial(text: &str, run: &str) -> Option<u64> {
    // By the text of the key up to its number, wherever a site has put it.
    let start = key(run, 0);
    let start = start.trim_end_matches('0');
    let keys = text.match_indices(start).map(|(at, found)| {
        let word = text[at + found.len()..].split(|c: char| c == '|' || c.is_whitespace());
        word.into_iter().next().unwrap_or("").parse().ok()
    });
    keys.flatten().next()
}

/// A line of `squeue -o %i|%T|%r|%k|%o`.
fn listed(line: &str, run: &str) -> Option<Listed> {
    let mut parts = line.splitn(4, '|');
    let (id, state, reason) = (parts.next()?, parts.next()?, parts.next()?.trim());
    let rest = parts.next()?;
    let (job, index) = id.trim().split_once('_').unwrap_or((id.trim(), "0"));
    Some(Listed {
        serial: serial(rest, run),
        index: index.parse().ok()?,
        job: Some(job).filter(|job| is_number(job))?.to_owned(),
        is_active: !ENDED.contains(&state.trim()),
        // JobHeldUser, JobHeldAdmin, JobHoldMaxRequeue, launch failed requeued held, …
        held: (reason.to_lowercase().contains("held") || reason.contains("Hold"))
            .then(|| reason.to_owned()),
    })
}

impl Cluster for Tools<'_> {
    fn submit(&mut self, sbatch: &Sbatch) -> Submitted {
        call(&self.arguments(sbatch), &self.lock)
    }

    fn queue(&mut self) -> Result<Vec<Listed>, String> {
        queue(self.place.run())
    }

    fn exit(&mut self, place: u32) -> Option<Exit> {
        self.place.exit(place)
    }

    fn release(&mut self, job: &str) -> Result<(), String> {
        done(tool("scontrol").args(["release", job]))
    }

    fn cancel(&mut self, jobs: &[String]) -> Result<(), String> {
        for some in jobs.chunks(CANCELLED_AT_ONCE) {
            done(tool("scancel").args(some))?;
        }
        Ok(())
    }
}

fn done(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(printed(&output)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn answer(code: i32, stdout: &str, stderr: &str) -> Submitted {
        submitted(&Output {
            status: std::process::ExitStatus::from_raw(code << 8),
            stdout: stdout.into(),
            stderr: stderr.into(),
        })
    }

    #[test]
    fn answers_of_sbatch_are_told_apart() {
        assert_eq!(answer(0, "17\n", ""), Submitted::Job("17".into()));
        assert_eq!(answer(0, "17;north\n", "note"), Submitted::Job("17".into()));
        let limit = "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates \
                     accounting/QOS policy (job submit limit, user's size and/or time limits)";
        assert!(matches!(answer(1, "", limit), Submitted::Quota(_)));
        let away = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)";
        assert!(matches!(answer(1, "", away), Submitted::Unknown(_)));
        let late =
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation";
        assert!(matches!(answer(1, "", late), Submitted::Unknown(_)));
        let cut_off = "sbatch: error: slurm_msg_sendto: address:port=127.0.0.1:42861 msg_type=4003: Unexpected missing socket error";
        assert!(matches!(answer(1, "", cut_off), Submitted::Unknown(_)));
        let forgotten = "sbatch: error: Batch job submission failed: Job dependency problem";
        assert!(matches!(answer(1, "", forgotten), Submitted::Dependency(_)));
        let wrong = "sbatch: error: invalid partition specified: nowhere";
        assert!(matches!(answer(1, "", wrong), Submitted::Refused(_)));
        assert!(matches!(answer(0, "", ""), Submitted::Unknown(_)));
    }

    #[test]
    fn only_jobs_of_this_run_are_seen() {
        let job = |index, is_active, held: Option<&str>| {
            let job = "12".to_owned();
            Some(Listed {
                serial: Some(3),
                index,
                job,
                is_active,
                held: held.map(str::to_owned),
            })
        };
        let pending = "12|PENDING|Resources|cairn:ab:3";
        assert_eq!(listed(pending, "ab"), job(0, true, None));
        let ending = "12_7|COMPLETING|None|cairn:ab:3";
        assert_eq!(listed(ending, "ab"), job(7, true, None));
        let late = "12_7|TIMEOUT|TimeLimit|cairn:ab:3";
        assert_eq!(listed(late, "ab"), job(7, false, None));
        for why in [
            "JobHeldUser",
            "launch failed requeued held",
            "JobHoldMaxRequeue",
        ] {
            let line = format!("12|PENDING|{why}|cairn:ab:3");
            assert_eq!(listed(&line, "ab"), job(0, true, Some(why)));
        }
        // A site that replaces comments leaves the command.
        let replaced = "12|PENDING|Resources|proj|42|/s t/state/job.sh 3 0 cairn:ab:3";
        assert_eq!(listed(replaced, "ab"), job(0, true, None));
        let gate = "12|PENDING|JobHeldUser|(null)|/s/job.sh 3 gate cairn:ab:3";
        assert_eq!(listed(gate, "ab"), job(0, true, Some("JobHeldUser")));
        for other in [
            "cairn:abc:3|/x",
            "(null)|(null)",
            "cairn:ab:x|y",
            "cairn:ab:|",
            "cairn:ab:3x|y",
        ] {
            let seen = listed(&format!("12|PENDING|None|{other}"), "ab").unwrap();
            assert_eq!(seen.serial, None, "{other}");
        }
        assert_eq!(listed("CLUSTER: north", "ab"), None);
    }

    #[test]
    fn what_people_give_comes_before_what_is_ours() {
        let folder = tempfile::tempdir().unwrap();
        let task = Task {
            name: "a".to_owned(),
            cpus: Some(2),
            time_limit: Some(45.0),
            retries: 2,
            tags: vec!["gpu".to_owned(), "fast-2".to_owned()],
            ..Task::default()
        };
        let handover = Handover {
            name: "w".to_owned(),
            home: "/".into(),
            tasks: vec![task],
            options: vec![
                "--partition=short".to_owned(),
                "--cpus-per-task=1".to_owned(),
            ],
            ..Handover::default()
        };
        let place = Place::open(folder.path(), &handover).unwrap();
        let run = place.run().to_owned();
        let lock = File::create(folder.path().join("lock")).unwrap();
        let tools = Tools::new(&handover, place, lock);
        for first in [None, Some(0)] {
            let sbatch = Sbatch {
                serial: 7,
                first,
                len: 1,
                after: Vec::new(),
                nice: None,
            };
            let arguments = tools.arguments(&sbatch);
            let at = |word: &str| arguments.iter().position(|a| a == word);
            let key = format!("cairn:{run}:7");
            let theirs = at("--cpus-per-task=1").unwrap();
            assert!(theirs < at(&format!("--comment={key}")).unwrap());
            assert_eq!(arguments.last(), Some(&key));
            if first.is_some() {
                assert!(theirs < at("--cpus-per-task=2").unwrap());
                // Three attempts, five seconds to kill each, and two minutes.
                assert!(at("--time=4:30").is_some(), "{arguments:?}");
                assert!(at("--constraint=gpu&fast-2").is_some(), "{arguments:?}");
            }
        }
    }

    #[test]
    fn a_tag_that_slurm_would_read_otherwise_is_not_told() {
        let of = |tags: &[&str]| {
            let tags = tags.iter().map(|&t| t.to_owned()).collect();
            constraint(&Task {
                tags,
                ..Task::default()
            })
        };
        assert_eq!(of(&["a", "b"]), Some("a&b".to_owned()));
        for tags in [&[][..], &["a|b"], &["a", "b*2"], &["[x]"], &[""], &["a b"]] {
            assert_eq!(of(tags), None, "{tags:?}");
        }
    }

    #[test]
    fn variables_that_would_change_or_hide_a_job_are_not_seen() {
        let hidden = [
            "SBATCH_ARRAY_INX",
            "SBATCH_WAIT",
            "SQUEUE_PARTITION",
            "SCANCEL_INTERACTIVE",
            "SLURM_ARRAY_TASK_ID",
            "SLURM_EXIT_ERROR",
        ];
        assert!(hidden.iter().all(|name| is_hidden(OsStr::new(name))));
        let seen = ["SBATCH_PARTITION", "SLURM_CONF", "SLURM_CLUSTERS", "PATH"];
        assert!(!seen.iter().any(|name| is_hidden(OsStr::new(name))));
        let script = format!("{}env", unset());
        let mut sh = Command::new("/bin/sh");
        let given = hidden.iter().chain(&seen[..3]).map(|name| (name, "1"));
        let out = sh.args(["-c", &script]).envs(given).output().unwrap();
        let left = String::from_utf8(out.stdout).unwrap();
        let is_left = |name: &str| left.lines().any(|l| l == format!("{name}=1"));
        assert!(!hidden.iter().any(|name| is_left(name)), "{left}");
        assert!(seen[..3].iter().all(|name| is_left(name)), "{left}");
    }
}
