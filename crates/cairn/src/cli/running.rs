//! The flags of commands that run a workflow, hand it out or hand it on: `run`, `submit`, `serve`, `work` and what is asked of a
//! server. Knows nothing of what they do.

use super::parts::{self, DiskFlags, Expected, Input, Times, Wanted};
use cairn_formats::span;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

pub(super) const SERVE_EXAMPLES: &str = "\
Tasks go to workers (`cairn work`) in the plan's order. The same command again resumes, with all leases. Beyond this machine
(--listen 0.0.0.0:4100) tokens must not go in clear: --tls, or a certificate of your own.

Tokens are in DIR/tokens: the file worker for `cairn work`, observer for `cairn status`, admin for all.

Exit codes: 0 all executed, 1 a task failed, 2 bad input or a state that cannot be used, 130 interrupted (resumable).

Examples:
  cairn serve flow.toml --state state
  cairn serve flow.toml --state state --listen 0.0.0.0:4100 --tls
  cairn serve tree.jsonl --state state --run './simulate --seed {name}'
  cairn serve --family mesh:100000 --state state --run './cell {level} {index}'";

pub(super) const WORK_EXAMPLES: &str = "\
Where tasks run: on the server's machine in the server's folder; with --shared DIR in that folder, which both must see; else,
or with --dir alone, each in a folder of its own: declared inputs are fetched, declared outputs sent back.

The first Ctrl-C or SIGTERM asks for no more and lets tasks finish (--grace), the second ends them; they are given back.
While the server is away the worker goes on, and returns later.

Exit codes: 0 all is done, 2 refused (wrong token, certificate or address), 130 interrupted.

Examples:
  cairn work http://127.0.0.1:4100 --token-file state/tokens/worker -j 4
  cairn work https://host:4100 --fingerprint sha256:… --token-file worker -j 16 --label gpu --lifetime 2h";

pub(super) const RUN_EXAMPLES: &str = "\
The same command again resumes: executed tasks do not run again, unless their command or a file that they read changed,
or a file that they made is gone; then so do the tasks after them. What failed or was interrupted is tried again.

Without -k nothing more is started after the first failure. The first Ctrl-C starts nothing more and waits for what runs,
the second ends it, the third kills it.

Exit codes: 0 all executed, 1 a task failed, 2 bad input (before anything starts) or a state that cannot be written,
130 interrupted.

Examples:
  cairn run flow.toml
  cairn run flow.toml -n  what would run, in which order
  cairn run flow.toml -j 8 -k --retries 2
  cairn run flow.toml --until report
  cairn run flow.toml --pool licence=4 --memory 16GB
  cairn run flow.toml --disk 500GB --temp '*.bam' --size-of '*.bam=2GB'
  cairn run tree.jsonl --run './simulate --seed {name}' --json";

pub(super) const SUBMIT_EXAMPLES: &str = "\
Engines:
  slurm       a job a task, submitted here; the same command again takes it up where it stopped, and submits nothing twice
  hyperqueue  a job file and a Python program, handed to the server
  htcondor    a .dag with priorities, a submit file and scripts, for condor_submit_dag
  dask        a Python program that runs them
  pegasus     a workflow with priorities (only with --dry-run)
  airflow     a file for its folder of dags (only with --dry-run)

Slurm: tasks that failed are tried again by the same command. Folders must be seen by all machines. Ctrl-C ends this program, and
not what is in the queue.

Exit codes: 0 submitted, or all executed with --watch; 1 a task failed; 2 bad input, no such engine here, or refused;
130 interrupted.

Examples:
  cairn submit flow.toml --engine slurm --sbatch=--partition=short
  cairn submit flow.toml --engine slurm --max-queued 200 --watch
  cairn submit flow.toml --engine slurm --cancel
  cairn submit flow.toml --engine slurm --crew 64 --sbatch=--time=2:00:00
  cairn submit tree.jsonl --engine hyperqueue --run './simulate --seed {name}' --dry-run -o files";

/// A workflow in a file, or a family that is never written down.
#[derive(Debug, Default, Args)]
pub(crate) struct Workflow {
    /// The workflow to read; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present = "family")]
    pub(crate) file: Option<PathBuf>,
    /// Its format, when detection by content and extension fails
    #[arg(long, value_name = "FORMAT", value_parser = parts::format_names())]
    pub(crate) format: Option<String>,
    /// A family that is never written down instead of a FILE: mesh:LEVELS, mesh (without end), rmesh:LEVELS, tree:HEIGHT,
    /// outtree:HEIGHT (with an arity: tree:HEIGHT:3), fft:DIMENSION; needs --run 'COMMAND {level} {index}'
    #[arg(long, value_name = "FAMILY", conflicts_with_all = ["file", "format", "no_rescue", "pool", "disk", "policy", "times", "ignore_files"], requires = "run")]
    pub(crate) family: Option<String>,
    /// Where a mesh without end ends: tasks of fewer levels than this are executed
    #[arg(long, value_name = "LEVEL", requires = "family")]
    pub(crate) until_level: Option<u64>,
}

impl Workflow {
    /// The file to read; none is named where there is a family.
    pub(crate) fn input(&self) -> Input {
        Input {
            file: self.file.clone().unwrap_or_default(),
            format: self.format.clone(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) workflow: Workflow,
    /// How many processors tasks may take at once [default: all]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    // Signed, so that `-j -1` is refused in words and not taken for a flag.
    pub(crate) jobs: Option<i64>,
    /// Tell what would be run, in which order, and run nothing
    #[arg(short = 'n', long, conflicts_with = "family")]
    pub(crate) dry_run: bool,
    /// Go on after failures: to the end, or until N tasks are given up
    // With `=` alone: `-k flow.toml` must not take the file for a number. [`joined`] mends `-k 3`.
    #[arg(short, long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    // 0 is "to the end", as in `serve --max-failures`.
    pub(crate) keep_going: Option<u64>,
    /// How often to try a task again after a failure, where the workflow does not say
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// Run nothing; count tasks whose declared outputs are there as executed
    #[arg(long, conflicts_with_all = ["dry_run", "family"])]
    pub(crate) touch: bool,
    /// The command of tasks that have none; {name} stands for the task's name
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// How to order the tasks
    #[arg(long, value_name = "POLICY", default_value = "auto")]
    pub(crate) policy: Wanted,
    /// Do not look at declared inputs and outputs
    #[arg(long)]
    pub(crate) ignore_files: bool,
    /// Write what happened as one HTML file when the run ends, however it ends
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub(crate) report: Option<PathBuf>,
    /// Run only these tasks and all before them
    #[arg(
        long,
        value_name = "TASK",
        help_heading = "Parts",
        conflicts_with = "family"
    )]
    pub(crate) until: Vec<String>,
    /// Run only these tasks; all before them must be executed
    #[arg(long, value_name = "TASK", help_heading = "Parts", conflicts_with_all = ["until", "family"])]
    pub(crate) only: Vec<String>,
    /// Run only what failed the last time, and what waits for it
    #[arg(long, help_heading = "Parts", conflicts_with_all = ["until", "only", "family"])]
    pub(crate) rerun_failed: bool,
    /// Do not look for the rescue file beside a DAGMan file
    #[arg(long, help_heading = "Parts")]
    pub(crate) no_rescue: bool,
    /// How much there is of a named resource
    #[arg(long, value_name = "NAME=N", help_heading = "Resources")]
    pub(crate) pool: Vec<String>,
    /// A word that tasks ask for among their tags, and that holds for this machine, such as gpu
    #[arg(
        long,
        value_name = "WORD",
        help_heading = "Resources",
        conflicts_with = "family"
    )]
    pub(crate) label: Vec<String>,
    /// Memory that tasks may take at once, such as 16GB [default: all]
    #[arg(
        long,
        value_name = "BYTES",
        help_heading = "Resources",
        conflicts_with = "family"
    )]
    pub(crate) memory: Option<String>,
    #[command(flatten, next_help_heading = "Disk")]
    pub(crate) disk: DiskFlags,
    /// How much larger than expected a file may well be: reserved until sizes of its kind were measured
    #[arg(long, value_name = "FACTOR", default_value_t = cairn_engine::SAFETY, requires = "disk", help_heading = "Disk")]
    pub(crate) safety: f64,
    /// Folder for the state of the run and for logs [default: .cairn/ and the name of FILE]
    #[arg(long, value_name = "DIR", help_heading = "State")]
    pub(crate) state: Option<PathBuf>,
    /// Whether what was executed survives a power cut, or only the end of this program
    #[arg(
        long,
        value_name = "HOW",
        default_value = "full",
        help_heading = "State"
    )]
    pub(crate) sync: Sync,
    #[command(flatten)]
    pub(crate) times: Times,
}

#[derive(Debug, Args)]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Who is to run it
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Engine,
    /// Submit nothing; write what would be submitted
    #[arg(short = 'n', long, requires = "output", conflicts_with_all = ["watch", "max_queued"])]
    pub(crate) dry_run: bool,
    /// The folder for that
    #[arg(short, long, value_name = "DIR", requires = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// The command of tasks that have none; {name} stands for the task's name
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// How to order the tasks
    #[arg(long, value_name = "POLICY", default_value = "auto")]
    pub(crate) policy: Wanted,
    #[command(flatten)]
    pub(crate) expected: Expected,
    /// Folder for the state of the submission, scripts and logs [default: .cairn/ and the names of FILE and engine]
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub(crate) state: Option<PathBuf>,
    /// Do not look for the rescue file beside a DAGMan file
    #[arg(long)]
    pub(crate) no_rescue: bool,
    #[command(flatten)]
    pub(crate) disk: DiskFlags,
    /// Sizes that are not measured count so many times
    #[arg(long, value_name = "FACTOR", default_value_t = cairn_engine::SAFETY, requires = "disk")]
    pub(crate) safety: f64,
    #[command(flatten)]
    pub(crate) slurm: Slurm,
    #[command(flatten)]
    pub(crate) times: Times,
}

/// How Slurm is asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Slurm")]
pub(crate) struct Slurm {
    /// Have at most N jobs in the queue; the rest follows as they end, while this program runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_queued: Option<u32>,
    /// Have later tasks yield by --nice too, and not by the time of submission alone
    #[arg(long)]
    pub(crate) nice: bool,
    /// An option for sbatch, as in --sbatch=--partition=short; may be given again
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) sbatch: Vec<String>,
    /// Stay until all is executed or has failed
    #[arg(long)]
    pub(crate) watch: bool,
    /// End all jobs of this submission
    #[arg(long, conflicts_with_all = ["watch", "dry_run"])]
    pub(crate) cancel: bool,
    /// How often to look at the queue [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = span::seconds)]
    pub(crate) poll: Option<f64>,
    /// One job with N workers of our own inside, for many short tasks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["watch", "cancel", "nice", "max_queued"])]
    pub(crate) crew: Option<u32>,
}

/// An engine that takes a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    Slurm,
    Hyperqueue,
    Htcondor,
    Pegasus,
    Dask,
    Airflow,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) workflow: Workflow,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Folder for the state of the run, tokens, logs and uploads
    #[arg(long, value_name = "DIR")]
    pub(crate) state: PathBuf,
    /// Go on when all is done, until somebody ends it
    #[arg(long)]
    pub(crate) stay: bool,
    /// The command of tasks that have none; {name} stands for the task's name
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// How to order the tasks
    #[arg(long, value_name = "POLICY", default_value = "auto")]
    pub(crate) policy: Wanted,
    #[command(flatten)]
    pub(crate) expected: Expected,
    /// Who gets which task: plain, whoever asks gets the next one of the order; aware, the worker that will end it first, by
    /// what is learnt of speeds, also if that one is busy now [default: aware where the workflow says how long tasks take and
    /// workers are seen to differ, else plain]
    #[arg(long, value_name = "RULE", conflicts_with = "family")]
    pub(crate) dispatch: Option<DispatchRule>,
    /// What earlier runs taught of workers and kinds of tasks: read at the beginning, written as it is learnt [default:
    /// book.json in the folder of --state]
    #[arg(long, value_name = "FILE", conflicts_with = "family")]
    pub(crate) book: Option<PathBuf>,
    /// Do not look at declared inputs and outputs
    #[arg(long)]
    pub(crate) ignore_files: bool,
    /// How often to try a task again after a failure, where the workflow does not say
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// How many workers may be lost over one task before it is given up, since it may be what kills them
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) losses: u32,
    /// Hand out nothing more after N tasks are given up; 0: go on to the end
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) max_failures: u64,
    /// A worker that says nothing for so long is lost, such as 15s
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = span::seconds)]
    pub(crate) silence: f64,
    /// How much there is of a named resource
    #[arg(long, value_name = "NAME=N")]
    pub(crate) pool: Vec<String>,
    /// Do not look for the rescue file beside a DAGMan file
    #[arg(long)]
    pub(crate) no_rescue: bool,
    #[command(flatten, next_help_heading = "Disk")]
    pub(crate) disk: DiskFlags,
    /// How much larger than expected a file may well be: reserved until sizes of its kind were measured
    #[arg(long, value_name = "FACTOR", default_value_t = cairn_engine::SAFETY, requires = "disk", help_heading = "Disk")]
    pub(crate) safety: f64,
    /// Take results from N workers that nobody vouches for, each with a token of its own (tokens/volunteer-1 and so on): a result
    /// counts when enough of them return the same, and tasks that depend on it wait until then
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Volunteers", conflicts_with = "disk", value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub(crate) volunteers: u32,
    /// More than half of Q results must be equal: 2 and 3 need two equal ones, 4 and 5 three; as many who agree on a lie are believed.
    /// 2 if nobody says; the state keeps it, and a later start may ask for more, not for less
    #[arg(long, value_name = "Q", requires = "volunteers", help_heading = "Volunteers", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) quorum: Option<u32>,
    /// Ask for equal results always, also of those whose last ten were right; the state keeps it
    #[arg(long, requires = "volunteers", help_heading = "Volunteers")]
    pub(crate) replicate_all: bool,
    /// A volunteer has at least so long for a task, or ten times what such tasks take; late results are taken all the same. 10m if
    /// nobody says; the state keeps it
    #[arg(long, value_name = "TIME", value_parser = span::seconds, requires = "volunteers", help_heading = "Volunteers")]
    pub(crate) deadline: Option<f64>,
    /// The folder with the tokens of volunteers, instead of the state's own: whoever has one from an earlier run is the same
    /// volunteer in this one, with the trust that --book remembers; missing ones are made. The state keeps it
    #[arg(
        long,
        value_name = "DIR",
        requires = "volunteers",
        help_heading = "Volunteers"
    )]
    pub(crate) volunteer_tokens: Option<PathBuf>,
    /// Bytes that one volunteer may have on this disk before they are validated: uploads, results that wait, what its tasks
    /// print
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "16GB",
        help_heading = "Volunteers"
    )]
    pub(crate) volunteer_uploads: String,
    /// The same for all volunteers together [default: half of what is free when the server starts]
    #[arg(long, value_name = "SIZE", help_heading = "Volunteers")]
    pub(crate) all_uploads: Option<String>,
    #[command(flatten)]
    pub(crate) security: Security,
    #[command(flatten)]
    pub(crate) times: Times,
}

/// Who is let in, and how the server is known.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security")]
pub(crate) struct Security {
    /// Speak TLS with a certificate made here; workers know it by the fingerprint that is printed
    #[arg(long)]
    pub(crate) tls: bool,
    /// Speak TLS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "tls")]
    pub(crate) cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Make new tokens; the old ones are worth nothing any more
    #[arg(long)]
    pub(crate) rotate_tokens: bool,
    /// How long new tokens are good for, such as 30d [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = span::seconds)]
    pub(crate) token_lifetime: Option<f64>,
    /// The largest file that workers may send, such as 100GB
    #[arg(long, value_name = "BYTES", default_value = "64GB")]
    pub(crate) largest_file: String,
}

/// Who gets which task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DispatchRule {
    /// Whoever asks gets the next task of the order
    Plain,
    /// The worker that will end it first, as far as is known
    Aware,
}

/// A server, and by what right.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// Where the server is, such as http://127.0.0.1:4100
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The file with the token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
    /// The fingerprint of the server's certificate, as it printed it
    #[arg(long, value_name = "HEX")]
    pub(crate) fingerprint: Option<String>,
    /// Certificates of authorities to believe (PEM), instead of the public ones
    #[arg(long, value_name = "FILE", conflicts_with = "fingerprint")]
    pub(crate) ca: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Print it once, also in a terminal
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Tasks {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The names of the tasks
    #[arg(value_name = "TASK", required = true)]
    pub(crate) tasks: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Work {
    #[command(flatten)]
    pub(crate) server: Server,
    /// How many processors tasks may take at once [default: all]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) jobs: Option<u32>,
    /// What the worker calls itself [default: the machine's name and a number]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Words by which tasks find it
    #[arg(long, value_name = "WORD")]
    pub(crate) label: Vec<String>,
    /// Memory that tasks may take at once, such as 16GB [default: nobody counts]
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<String>,
    /// Bytes that the folders of its tasks may take together, such as 100GB or 50%free; a task whose files do not fit is not given to
    /// it, one whose files grow beyond is ended. For workers with folders of their own (--dir) [default: nobody counts]
    #[arg(long, value_name = "CAP")]
    pub(crate) disk: Option<String>,
    /// It leaves after this time, such as 2h; tasks that take longer are not given to it
    #[arg(long, value_name = "TIME", value_parser = span::seconds)]
    pub(crate) lifetime: Option<f64>,
    /// It leaves when it had nothing to do for so long, such as 5m
    #[arg(long, value_name = "TIME", value_parser = span::seconds)]
    pub(crate) idle_timeout: Option<f64>,
    /// How long tasks may finish when the worker is to end, such as 30s; then they are given back
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = span::seconds)]
    pub(crate) grace: f64,
    /// Folder for tasks, logs and results on their way; alone it has each task run in a folder of its own
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    pub(crate) dir: Option<PathBuf>,
    /// Run tasks in this folder, which the server sees too
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    pub(crate) shared: Option<PathBuf>,
    /// Run no other program than these; sh allows every line for the shell [default: all of the workflow]
    #[arg(long, value_name = "PROGRAM", help_heading = "Safety")]
    pub(crate) allow: Vec<String>,
    /// Keep tasks from all files but the system's and their own folder [default: unless the server is on this machine]
    #[arg(long, help_heading = "Safety", conflicts_with = "no_sandbox")]
    pub(crate) sandbox: bool,
    /// Let tasks read and write what you may
    #[arg(long, help_heading = "Safety")]
    pub(crate) no_sandbox: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Confine {
    #[arg(long)]
    pub(crate) memory: Option<u64>,
    #[arg(long)]
    pub(crate) sandbox: Vec<PathBuf>,
    #[arg(long)]
    pub(crate) environment: Option<PathBuf>,
    #[arg(long)]
    pub(crate) stdin: Option<PathBuf>,
    #[arg(long)]
    pub(crate) stdout: Option<PathBuf>,
    #[arg(long)]
    pub(crate) stderr: Option<PathBuf>,
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sync {
    /// Survives a power cut
    Full,
    /// Survives the end of the program
    Normal,
}

/// The arguments, with a number behind `-k` or `--keep-going` tied to it: both may stand alone before a file.
pub(crate) fn joined(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut is_over = false;
    for arg in args {
        // Only of this command: elsewhere a lone number may be a file's name.
        let is_run = joined.get(1).is_some_and(|command| command == "run");
        let is_flag = (joined.last()).is_some_and(|last| last == "-k" || last == "--keep-going");
        let digits = arg
            .to_str()
            .is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        match joined.last_mut() {
            Some(last) if is_run && is_flag && digits && !is_over => {
                last.push("=");
                last.push(arg);
            }
            _ => {
                // Behind it all words are names.
                is_over |= arg == "--";
                joined.push(arg);
            }
        }
    }
    joined
}
