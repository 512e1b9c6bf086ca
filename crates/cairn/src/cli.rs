//! The command line as people type it: flags and their help, raw; `commands.rs` makes settings of them. Knows nothing of what
//! commands do.

mod parts;

pub(crate) use self::parts::{
    Choices, Contender, Contest, Disk, Executed, Expected, Input, LimitFlags, Policy, Runs,
    TieRule, Times, Wanted, World, WorldName,
};
use crate::spread::{self, Durations};
use cairn_dag::Family;
use cairn_formats::{Format, span};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Begin with:
  cairn plan workflow.dag  a good order, how good it is, and the usual orders beside it
  cairn prio workflow.dag --in-place  the same order, written into the file as priorities
  cairn simulate workflow.dag  what the order saves on workers that come and go
  cairn show workflow.dag -o x.html  pictures of all that

`cairn COMMAND --help` tells more. A file named '-' is standard input; .gz and .zst are read directly.

Exit codes: 0 done, 1 the answer is \"no\", 2 bad usage or input, 3 not all of it is proved (verify), 130 interrupted.";

const SIMULATE_EXAMPLES: &str = "\
Worlds:
  batches    requests come in batches (--gap, --size); those not served leave: the published study
  pool       workers that come and go (--workers, --up, --down, --join, --stay, --speed, --lease …)
  throttled  a cluster queue: --slots N, or --workers with at most --submitted tasks in the queue at once
  trace      workers as recorded in a CSV file of rows worker,start,end (--trace, --repeat)

Many worlds: --grid plays batches of all given gaps and sizes, --pools three pools of volatile workers; both take several
workflows and write tables, JSON and heat maps into a folder. `cairn study` is the same with the published study's policies.

A SPREAD is const:V, uniform:LOW:HIGH, normal:MEAN:DEVIATION, exp:MEAN, weibull:SHAPE:SCALE or
lognormal:MEDIAN:SIGMA. A bare number is exp:MEAN for times, const:V for speeds and links. Times are
seconds, or as in 90s, 5m, 1h30m, 2d.

All policies meet the same workers and the same durations in each run; the same seed gives the same
numbers on every machine. Ratios are of means, first policy over each other, below 1 where the first is faster.

Examples:
  cairn simulate workflow.dag
  cairn simulate workflow.json --slots 64
  cairn simulate workflow.json --slots 64 --walltime 4h --noise 0.3 --deadline 2d
  cairn simulate workflow.json --slots 64 --up 3h --down 5m --price 0.03 --steady-price 0.10
  cairn simulate workflow.dag --world batches --gap 1 --size 16 --policies ic,fifo --runs 200 --seed 1 --json
  cairn simulate workflow.json --world pool --workers 40 --up weibull:0.5:600 --down 60 -o result.html
  cairn simulate workflow.json --world pool --speed lognormal:1:0.7 --bandwidth 1e7 --policies ic,heft,peft
  cairn simulate workflow.dag --world trace --trace machines.csv --repeat --precision 0.01
  cairn simulate *.dag --grid --gaps 0.1,1,10 --sizes 4,16,64 --policies auto,critical-path,fifo -o grid";

const STUDY_EXAMPLES: &str = "\
The grid's world is that of Malewicz, Foster, Rosenberg and Wilde (2006): batches of requests with exponential gaps
and sizes, durations of the file, else Normal(1, 0.1). It is `cairn simulate --grid` with the policies ic, fifo and
critical-path. With --pools three pools of volatile workers are played instead, sized by the
width of the dag: scarce (width/8 workers, half of the time up), balanced (width/2), plentiful (2·width).
Writes study.json, study.md and, for the grid, one heat map for each dag and rival.

Examples:
  cairn study -o study
  cairn study inspiral.dax montage.dax --gaps 0.1,1,10 --sizes 1,4,16,64 --runs 50 -o study
  cairn study --pools corpus/*.json --runs 30 -o pools";

const SERVE_EXAMPLES: &str = "\
Tasks go to workers (`cairn work`) in the plan's order. The same command again resumes, with all leases. Beyond this machine
(--listen 0.0.0.0:4100) tokens must not go in clear: --tls, or a certificate of your own.

Tokens are in DIR/tokens: the file worker for `cairn work`, observer for `cairn status`, admin for all.

Exit codes: 0 all executed, 1 a task failed, 2 bad input or a state that cannot be used, 130 interrupted (resumable).

Examples:
  cairn serve flow.toml --state state
  cairn serve flow.toml --state state --listen 0.0.0.0:4100 --tls
  cairn serve tree.jsonl --state state --run './simulate --seed {name}'
  cairn serve --family mesh:100000 --state state --run './cell {level} {index}'";

const WORK_EXAMPLES: &str = "\
Where tasks run: on the server's machine in the server's folder; with --shared DIR in that folder, which both must see; else,
or with --dir alone, each in a folder of its own: declared inputs are fetched, declared outputs sent back.

The first Ctrl-C or SIGTERM asks for no more and lets tasks finish (--grace), the second ends them; they are given back.
While the server is away the worker goes on, and returns later.

Exit codes: 0 all is done, 2 refused (wrong token, certificate or address), 130 interrupted.

Examples:
  cairn work http://127.0.0.1:4100 --token-file state/tokens/worker -j 4
  cairn work https://host:4100 --fingerprint sha256:… --token-file worker -j 16 --label gpu --lifetime 2h";

const RUN_EXAMPLES: &str = "\
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

const SUBMIT_EXAMPLES: &str = "\
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

const TIMES_EXAMPLES: &str = "\
Logs, told apart by what is in them:
  name,seconds           CSV, with or without a header; a column kind where there is one
  .ninja_log             of ninja: names are outputs
  trace.txt              of Nextflow: -with-trace
  benchmark files        of Snakemake, and the folder .snakemake/metadata: names are outputs, kinds are rules
  sacct -P               of Slurm: sacct -P -X -o JobID,JobName,State,Elapsed,Start,End,NodeList
  event logs             of HTCondor, and .nodes.log and jobstate.log of DAGMan and Pegasus
  workflows              with durations, such as WfFormat
  states of runs         the folder that `cairn run` or `cairn serve` keeps its state in: tasks, slots, workers

`plan`, `prio`, `simulate`, `run`, `serve` and `submit` take them with --times: a task has the time of the job of its name, or of a file that it
makes, else what the workflow says, else the median of its kind of job, else the mean.

Examples:
  cairn times .ninja_log
  cairn times trace-monday.txt trace-tuesday.txt --json
  cairn times .cairn/flow.toml
  cairn simulate workflow.dag --times workflow.dag.nodes.log --world-from workflow.dag.nodes.log";

/// The flags of one world and of questions about it, which mean nothing where many worlds are played.
const ONE_WORLD: [&str; 27] = [
    "world",
    "gap",
    "size",
    "world_from",
    "slots",
    "workers",
    "submitted",
    "up",
    "down",
    "walltime",
    "join",
    "stay",
    "trace",
    "repeat",
    "speed",
    "cores",
    "bandwidth",
    "latency",
    "lease",
    "tail",
    "noise",
    "disk",
    "deadline",
    "price",
    "executed",
    "times",
    "ties",
];

/// Schedule dags so that as many tasks as possible stay ready, and prove how good the order is.
#[derive(Debug, Parser)]
#[command(name = "cairn", version, after_help = EXAMPLES, override_usage = "cairn COMMAND [OPTIONS] …", subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options every command takes.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Common {
    /// Print one JSON object for machines instead of text for people
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print only what was asked for, and errors: no warnings, no progress, no hints
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more, in the words of the theory too
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// When to use colours (also: the NO_COLOR variable)
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Count and describe: tasks, arcs, levels, shortcuts, blocks
    #[command(
        after_help = "Examples:\n  cairn info workflow.dag\n  zcat big.json.gz | cairn info --json -"
    )]
    Info(Input),
    /// Is it a dag we can run? Every problem, with file, line and cure
    #[command(
        after_help = "Exit code 1 when there are errors, 0 when there are none (warnings may be printed).\n\nExamples:\n  cairn check workflow.dag\n  cairn check --json workflow.toml"
    )]
    Check(Input),
    /// Write a workflow in another format
    #[command(
        after_help = "Where both formats are the same the text stays as it is, unpacked (--rewrite: made anew).\nElse everything that OUT cannot hold is listed; a file that could not be read back is not written.\n\nExamples:\n  cairn convert in.dax out.dag\n  cairn convert in.json - --to dot | dot -Tsvg > out.svg\n  cairn convert top.dag flat.dag --rewrite"
    )]
    Convert(Convert),
    /// Make a dag of a known family
    #[command(after_help = families_help())]
    Gen(Gen),
    /// Find an order that keeps as many tasks ready as possible, and prove how good it is
    #[command(
        after_help = "Verdicts: optimal (no order is better at any step), none-exists (every order falls short somewhere), open (the gap to\na certified bound is given). \"proved\" is said where `cairn verify` proves it, else \"by exhausted search\". With another --policy also: suboptimal.\n\nExamples:\n  cairn plan workflow.dag\n  cairn plan workflow.json --json --no-arrays\n  cairn plan big.jsonl --time-limit 10 --order > order.txt\n  cairn plan workflow.toml --memory-cap 40\n  cairn plan workflow.json --disk 500GB --size-of '*.bam=2GB'\n  cairn plan workflow.toml --durations --ties critical-path\n  cairn plan workflow.dag --policy auto --world pool --workers 40 --up 30 --down 5"
    )]
    Plan(Plan),
    /// Accept or reject a certificate: a small checker that trusts no planner
    #[command(
        after_help = "Says what it proved itself and what is only asserted: not disproved, and too large to decide here. Exit code 0 when\nall of it is proved, 3 when something is only asserted (0 with --allow-asserted), 1 when it is rejected, 2 when the\nworkflow or the certificate cannot be read.\n\nExamples:\n  cairn plan workflow.dag --certificate proof.json\n  cairn verify workflow.dag proof.json\n  cairn verify workflow.dag proof.json --allow-asserted --json"
    )]
    Verify(Verify),
    /// Write priorities into the workflow's own file, everything else byte for byte
    #[command(
        after_help = "Formats with a place for priorities: dagman, wfformat, dax, pegasus-yaml, dot, toml, json, jsonl. The task to execute\nfirst gets the number of tasks, the last one 1. Files are replaced whole or not at all; running it again changes nothing.\nA DAGMan workflow of several files (INCLUDE, SPLICE) is edited in all of them: with -o, name a folder.\n\nExamples:\n  cairn prio workflow.dag > with-priorities.dag\n  cairn prio workflow.dag --in-place --backup .orig\n  cairn prio workflow.json -o out.json --keep\n  cairn prio workflow.dag --ties memory -o out.dag\n  cairn prio workflow.dag --policy auto --world pool --workers 40 -o out.dag\n  zcat flow.toml.gz | cairn prio - -o flow.toml"
    )]
    Prio(Prio),
    /// Say why: blocks, super-dag, ranks, which theorem applied or failed, and where
    #[command(
        after_help = "Examples:\n  cairn explain workflow.dag\n  cairn explain --json workflow.dag\n  cairn explain --live http://127.0.0.1:40733 --token-file state/tokens/observer align-7"
    )]
    Explain(Explain),
    /// The best N ready tasks now, given what is executed
    #[command(
        after_help = "Asking for more tasks than are eligible gives all that are; asking for none gives none.\n\nExamples:\n  cairn batch workflow.dag -r 8\n  cairn batch workflow.dag --executed fetch,index -r 8 --json\n  cairn batch workflow.dag --executed @done.txt -r 8,4,4"
    )]
    Batch(Batch),
    /// What is the order worth? Play policies against each other on simulated workers
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(Simulate),
    /// The published evaluation: ratios of mean times over a grid of batches, as tables and heat maps
    #[command(after_help = STUDY_EXAMPLES)]
    Study(Study),
    /// Run the workflow here, now; again goes on where it stopped
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),

    /// Hand a workflow to an engine you have, in the order of its plan
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(Submit),
    /// How long each kind of job took, and what the workers were like, from the logs people have
    #[command(after_help = TIMES_EXAMPLES)]
    Times(TimesOf),
    /// Hand out the tasks of a workflow to workers that come and go; again goes on where it stopped
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(Serve),
    /// Work for a server: take tasks, run them, return what came of them
    #[command(after_help = WORK_EXAMPLES)]
    Work(Work),
    /// Where the run of a server stands
    #[command(
        after_help = "Live in a terminal, until Ctrl-C or the end of the run; --json or --once: once.\n\nExamples:\n  cairn status http://127.0.0.1:4100 --token-file state/tokens/observer\n  cairn status https://host:4100 --fingerprint sha256:… --token-file observer --json"
    )]
    Status(Status),
    /// Tell a server that tasks shall not be executed; what waits for them is aborted
    #[command(
        after_help = "Example:\n  cairn cancel http://127.0.0.1:4100 align-7 --token-file state/tokens/admin"
    )]
    Cancel(Tasks),
    /// Tell a server to try failed or cancelled tasks again
    #[command(
        after_help = "Example:\n  cairn retry http://127.0.0.1:4100 align-7 --token-file state/tokens/admin"
    )]
    Retry(Tasks),
    /// Tell a server to hand out nothing for now; what runs goes on
    #[command(
        after_help = "Example:\n  cairn pause http://127.0.0.1:4100 --token-file state/tokens/admin"
    )]
    Pause(Server),
    /// Tell a server to hand out tasks again
    #[command(
        after_help = "Example:\n  cairn resume http://127.0.0.1:4100 --token-file state/tokens/admin"
    )]
    Resume(Server),
    /// Print the journal of a server: every event, one JSON object a line
    #[command(
        after_help = "Example:\n  cairn export http://127.0.0.1:4100 --token-file state/tokens/observer > journal.jsonl"
    )]
    Export(Server),
    /// Become another program within limits: what `work` starts tasks with
    #[command(hide = true)]
    Confine(Confine),
    /// Draw: ready tasks over the run, the dag, memory against ready tasks
    #[command(
        after_help = "SVG and PNG hold one figure, HTML any number with a table.\n\nExamples:\n  cairn show workflow.dag -o curves.svg\n  cairn show workflow.dag --what dag -o dag.png\n  cairn show workflow.dag -o page.html\n  cairn show workflow.dag -o few.svg --policies ic,fifo"
    )]
    Show(Show),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  cairn completions bash > /etc/bash_completion.d/cairn")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    #[command(after_help = "Example:\n  cairn man /usr/local/share/man/man1")]
    Man {
        /// The folder, which must exist
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The workflow to read; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present = "family")]
    pub(crate) file: Option<PathBuf>,
    /// Its format, when detection by content and extension fails
    #[arg(long, value_name = "FORMAT", value_parser = parts::format_names())]
    pub(crate) format: Option<String>,
    /// A family that is never written down instead of a FILE: mesh:LEVELS, mesh (without end), rmesh:LEVELS, tree:HEIGHT,
    /// outtree:HEIGHT (with an arity: tree:HEIGHT:3), fft:DIMENSION; needs --run 'COMMAND {level} {index}'
    #[arg(
        long,
        value_name = "FAMILY",
        conflicts_with_all = ["file", "format", "touch", "dry_run", "until", "only", "rerun_failed", "no_rescue", "pool", "memory", "label", "disk"],
        requires = "run"
    )]
    pub(crate) family: Option<String>,
    /// Where a mesh without end ends: tasks of fewer levels than this are executed
    #[arg(long, value_name = "LEVEL", requires = "family")]
    pub(crate) until_level: Option<u64>,
    /// How many processors tasks may take at once [default: all]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) jobs: Option<i64>,
    /// Tell what would be run, in which order, and run nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Go on after failures: to the end, or until N tasks are given up
    #[arg(short, long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(crate) keep_going: Option<u64>,
    /// How often to try a task again after a failure, where the workflow does not say
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) retries: u32,
    /// Run nothing; count tasks whose declared outputs are there as executed
    #[arg(long, conflicts_with = "dry_run")]
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
    #[arg(long, value_name = "TASK", help_heading = "Parts")]
    pub(crate) until: Vec<String>,
    /// Run only these tasks; all before them must be executed
    #[arg(
        long,
        value_name = "TASK",
        help_heading = "Parts",
        conflicts_with = "until"
    )]
    pub(crate) only: Vec<String>,
    /// Run only what failed the last time, and what waits for it
    #[arg(long, help_heading = "Parts", conflicts_with_all = ["until", "only"])]
    pub(crate) rerun_failed: bool,
    /// Do not look for the rescue file beside a DAGMan file
    #[arg(long, help_heading = "Parts")]
    pub(crate) no_rescue: bool,
    /// How much there is of a named resource
    #[arg(long, value_name = "NAME=N", help_heading = "Resources")]
    pub(crate) pool: Vec<String>,
    /// A word that tasks ask for among their tags, and that holds for this machine, such as gpu
    #[arg(long, value_name = "WORD", help_heading = "Resources")]
    pub(crate) label: Vec<String>,
    /// Memory that tasks may take at once, such as 16GB [default: all]
    #[arg(long, value_name = "BYTES", help_heading = "Resources")]
    pub(crate) memory: Option<String>,
    #[command(flatten, next_help_heading = "Disk")]
    pub(crate) disk: Disk,
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
    #[arg(short = 'n', long, requires = "output")]
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
    pub(crate) disk: Disk,
    /// Sizes that are not measured count so many times
    #[arg(long, value_name = "FACTOR", default_value_t = cairn_engine::SAFETY, requires = "disk")]
    pub(crate) safety: f64,
    /// Have at most N jobs in the queue; the rest follows as they end, while this program runs
    #[arg(long, value_name = "N", help_heading = "Slurm", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_queued: Option<u32>,
    /// Have later tasks yield by --nice too, and not by the time of submission alone
    #[arg(long, help_heading = "Slurm")]
    pub(crate) nice: bool,
    /// An option for sbatch, as in --sbatch=--partition=short; may be given again
    #[arg(
        long,
        value_name = "OPTION",
        help_heading = "Slurm",
        allow_hyphen_values = true
    )]
    pub(crate) sbatch: Vec<String>,
    /// Stay until all is executed or has failed
    #[arg(long, help_heading = "Slurm")]
    pub(crate) watch: bool,
    /// End all jobs of this submission
    #[arg(long, help_heading = "Slurm", conflicts_with_all = ["watch", "dry_run"])]
    pub(crate) cancel: bool,
    /// How often to look at the queue
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Slurm", value_parser = span::seconds)]
    pub(crate) poll: f64,
    /// One job with N workers of our own inside, for many short tasks
    #[arg(long, value_name = "N", help_heading = "Slurm", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["watch", "cancel", "nice", "max_queued"])]
    pub(crate) crew: Option<u32>,
    #[command(flatten)]
    pub(crate) times: Times,
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
    /// The workflow to read; '-' is standard input
    #[arg(value_name = "FILE", required_unless_present = "family")]
    pub(crate) file: Option<PathBuf>,
    /// Its format, when detection by content and extension fails
    #[arg(long, value_name = "FORMAT", value_parser = parts::format_names())]
    pub(crate) format: Option<String>,
    /// A family that is never written down instead of a FILE: mesh:LEVELS, mesh (without end), rmesh:LEVELS, tree:HEIGHT,
    /// outtree:HEIGHT (with an arity: tree:HEIGHT:3), fft:DIMENSION; needs --run 'COMMAND {level} {index}'
    #[arg(long, value_name = "FAMILY", conflicts_with_all = ["file", "format", "no_rescue", "pool", "disk"], requires = "run")]
    pub(crate) family: Option<String>,
    /// Where a mesh without end ends: tasks of fewer levels than this are executed
    #[arg(long, value_name = "LEVEL", requires = "family")]
    pub(crate) until_level: Option<u64>,
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
    pub(crate) disk: Disk,
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
    /// Speak TLS with a certificate made here; workers know it by the fingerprint that is printed
    #[arg(long, help_heading = "Security")]
    pub(crate) tls: bool,
    /// Speak TLS with this certificate (PEM)
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Security",
        requires = "key",
        conflicts_with = "tls"
    )]
    pub(crate) cert: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Security",
        requires = "cert"
    )]
    pub(crate) key: Option<PathBuf>,
    /// Make new tokens; the old ones are worth nothing any more
    #[arg(long, help_heading = "Security")]
    pub(crate) rotate_tokens: bool,
    /// How long new tokens are good for, such as 30d [default: for ever]
    #[arg(long, value_name = "TIME", help_heading = "Security", value_parser = span::seconds)]
    pub(crate) token_lifetime: Option<f64>,
    /// The largest file that workers may send, such as 100GB
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "64GB",
        help_heading = "Security"
    )]
    pub(crate) largest_file: String,
    #[command(flatten)]
    pub(crate) times: Times,
}

/// A server, and by what right.
/// Who gets which task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DispatchRule {
    /// Whoever asks gets the next task of the order
    Plain,
    /// The worker that will end it first, as far as is known
    Aware,
}

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
                is_over |= arg == "--";
                joined.push(arg);
            }
        }
    }
    joined
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The file to write; '-' is standard output
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The format to write, when the extension of OUT does not say
    #[arg(long, value_name = "FORMAT", value_parser = writable_names())]
    pub(crate) to: Option<String>,
    /// Write the tasks anew even where both formats are the same: one flat file, in the newest version of the format
    #[arg(long)]
    pub(crate) rewrite: bool,
    /// Let OUT replace a file that was read
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Gen {
    /// The family; see the list below
    #[arg(value_name = "FAMILY")]
    pub(crate) family: String,
    /// Its parameters
    #[arg(value_name = "ARGS", allow_negative_numbers = true)]
    pub(crate) args: Vec<String>,
    /// The file to write; '-' is standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub(crate) out: PathBuf,
    /// The format to write, when the extension of OUT does not say [default: jsonl]
    #[arg(long, value_name = "FORMAT", value_parser = writable_names())]
    pub(crate) to: Option<String>,
    /// Number that fixes every random choice
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Children of each inner node of a tree
    #[arg(long, value_name = "K")]
    pub(crate) arity: Option<u32>,
    /// Dimensions of a mesh
    #[arg(long, value_name = "D")]
    pub(crate) dim: Option<u32>,
    /// Levels that an arc of a layered dag may span
    #[arg(long, value_name = "N")]
    pub(crate) skip: Option<u32>,
    /// Most sources of a block in a composite
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<u32>,
    /// Parts of a sum or of a composite, where the family takes them
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<u32>,
    /// Reverse all arcs
    #[arg(long)]
    pub(crate) dual: bool,
    /// Shuffle the ids
    #[arg(long)]
    pub(crate) shuffle: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) input: Input,
    /// How to order the tasks
    #[arg(long, value_name = "POLICY", default_value = "ic")]
    pub(crate) policy: Wanted,
    /// Most results that may be open at once; with a unit, as in 512MB, the same as --disk
    #[arg(long, value_name = "N|BYTES")]
    pub(crate) memory_cap: Option<String>,
    #[command(flatten)]
    pub(crate) disk: Disk,
    /// Also write a certificate that `cairn verify` checks; it may take as long as the plan
    #[arg(long, value_name = "FILE", conflicts_with = "memory_cap")]
    pub(crate) certificate: Option<PathBuf>,
    /// Leave order, priority, profile and bound out of the JSON
    #[arg(long)]
    pub(crate) no_arrays: bool,
    /// Print only the order, one task a line, for machines: ids, not labels
    #[arg(long, conflicts_with = "json")]
    pub(crate) order: bool,
    /// Plan by the durations in the input: as many tasks made eligible as possible after every executed second
    #[arg(long, conflicts_with = "certificate")]
    pub(crate) durations: bool,
    #[command(flatten)]
    pub(crate) choices: Choices,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) contest: Contest,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The certificate to check
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,
    /// Exit code 0 instead of 3 when something is only asserted
    #[arg(long)]
    pub(crate) allow_asserted: bool,
    #[command(flatten)]
    pub(crate) executed: Executed,
}

#[derive(Debug, Args)]
pub(crate) struct Prio {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The file to write, or a folder for a workflow of several files [default: standard output]
    #[arg(short, long, value_name = "OUT", conflicts_with = "in_place")]
    pub(crate) out: Option<PathBuf>,
    /// Edit the file itself, and the files it includes and splices
    #[arg(short, long)]
    pub(crate) in_place: bool,
    /// Tasks that have a priority keep it; the others are numbered as usual
    #[arg(long)]
    pub(crate) keep: bool,
    /// Keep each old file under its name with this suffix
    #[arg(long, value_name = "SUFFIX", requires = "in_place")]
    pub(crate) backup: Option<String>,
    /// How to order the tasks
    #[arg(long, value_name = "POLICY", default_value = "auto")]
    pub(crate) policy: Wanted,
    #[command(flatten)]
    pub(crate) choices: Choices,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) contest: Contest,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Ask a server that runs why a task is not running, or why a worker is idle: its name stands in the place of FILE
    #[arg(long, value_name = "URL", requires = "token_file")]
    pub(crate) live: Option<String>,
    /// The file with the token, for --live
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) token_file: Option<PathBuf>,
    /// The fingerprint of the server's certificate, for --live
    #[arg(long, value_name = "HEX", requires = "live")]
    pub(crate) fingerprint: Option<String>,
    /// Certificates of authorities to believe (PEM), for --live
    #[arg(
        long,
        value_name = "FILE",
        requires = "live",
        conflicts_with = "fingerprint"
    )]
    pub(crate) ca: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Policies to compare; ratios are of the first over each other
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "auto,ic,critical-path,fifo"
    )]
    pub(crate) policies: Vec<Contender>,
    /// Compare with workers served as `cairn serve --dispatch` does: aware puts that policy first; plain is as if not given
    #[arg(long, value_name = "RULE")]
    pub(crate) dispatch: Option<DispatchRule>,
    /// Write the result too: .svg, .png, .html or .json; may be repeated. With --grid or --pools: the folder to write to
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) choices: Choices,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) world: World,
    /// More workflows, with --grid or --pools
    #[arg(value_name = "FILE", help_heading = "Many worlds")]
    pub(crate) more: Vec<PathBuf>,
    /// Play a whole grid of batches instead of one world, as the published study does: tables and heat maps
    #[arg(long, help_heading = "Many worlds", requires = "out", conflicts_with_all = ONE_WORLD)]
    pub(crate) grid: bool,
    /// Play three pools of volatile workers instead of one world, sized by the width of each workflow
    #[arg(long, help_heading = "Many worlds", requires = "out", conflicts_with_all = ONE_WORLD, conflicts_with = "grid")]
    pub(crate) pools: bool,
    /// --grid: mean times between batches, in mean durations of a task [default: 0.001 to 1000]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true,
        help_heading = "Many worlds",
        requires = "grid"
    )]
    pub(crate) gaps: Vec<f64>,
    /// --grid: mean numbers of requests in a batch [default: 1 to 4096]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true,
        help_heading = "Many worlds",
        requires = "grid"
    )]
    pub(crate) sizes: Vec<f64>,
    #[command(flatten)]
    pub(crate) disk: Disk,
    /// Durations of tasks: file, unit (1 each), study (Normal(1, 0.1)) or a SPREAD [default: file, else study]
    #[arg(long, value_name = "WHENCE", value_parser = spread::durations, help_heading = "World")]
    pub(crate) durations: Option<Durations>,
    /// Say how likely it is to end within this time
    #[arg(long, value_name = "TIME", value_parser = span::seconds, allow_negative_numbers = true, help_heading = "Questions")]
    pub(crate) deadline: Option<f64>,
    /// Say what it costs at this price of a worker for an hour, busy or not
    #[arg(
        long,
        value_name = "PRICE",
        allow_negative_numbers = true,
        help_heading = "Questions"
    )]
    pub(crate) price: Option<f64>,
    /// The price of an hour on workers that stay: says what as many of them would cost and take
    #[arg(
        long,
        value_name = "PRICE",
        allow_negative_numbers = true,
        requires = "price",
        help_heading = "Questions"
    )]
    pub(crate) steady_price: Option<f64>,
    #[command(flatten)]
    pub(crate) runs: Runs,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct TimesOf {
    /// The logs to read
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Study {
    /// The workflows to study [default: AIRSN of width 250, generated]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The folder to write to; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Mean times between batches, in mean durations of a task [default: 0.001 to 1000]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) gaps: Vec<f64>,
    /// Mean numbers of requests in a batch [default: 1 to 4096]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) sizes: Vec<f64>,
    /// Play three pools of volatile workers instead of the grid
    #[arg(long, conflicts_with_all = ["gaps", "sizes"])]
    pub(crate) pools: bool,
    /// Durations of tasks: file, unit (1 each), study (Normal(1, 0.1)) or a SPREAD [default: file, else study]
    #[arg(long, value_name = "WHENCE", value_parser = spread::durations)]
    pub(crate) durations: Option<Durations>,
    #[command(flatten)]
    pub(crate) runs: Runs,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The file to write: .svg, .png or .html; may be repeated
    #[arg(short, long, value_name = "OUT", required = true)]
    pub(crate) out: Vec<PathBuf>,
    /// What to draw [default: all for HTML, else curves]
    #[arg(long, value_name = "FIGURE")]
    pub(crate) what: Option<Drawing>,
    /// Policies whose curves are drawn; the first is in front, and its best steps are marked
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ic,fifo,lifo,critical-path,outdegree,memory"
    )]
    pub(crate) policies: Vec<Policy>,
    #[command(flatten)]
    pub(crate) disk: Disk,
    #[command(flatten)]
    pub(crate) choices: Choices,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Drawing {
    /// Eligible tasks after each executed task, under the certified bound
    Curves,
    /// The dag by levels: small ones task by task, large ones by kinds of job
    Dag,
    /// The same by the blocks of the theory
    Blocks,
    /// Area against peak memory
    Tradeoff,
    /// Bytes in use along orders, against the cap of --disk
    Disk,
    /// Area against caps on the disk
    DiskCurve,
    /// Everything; HTML only
    All,
}

#[derive(Debug, Args)]
pub(crate) struct Batch {
    #[command(flatten)]
    pub(crate) input: Input,
    /// How many tasks are asked for; several numbers are served one after the other, with look-ahead
    #[arg(short, long, value_name = "N", value_delimiter = ',', required = true)]
    pub(crate) requests: Vec<usize>,
    /// Choose by current yield, without exact work
    #[arg(long, conflicts_with = "thorough")]
    pub(crate) fast: bool,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

fn writable_names() -> PossibleValuesParser {
    let writable = Format::ALL.into_iter().filter(|f| f.can_write());
    PossibleValuesParser::new(writable.map(Format::name))
}

/// The families that `gen` makes.
fn families_help() -> String {
    let mut text = "Families:\n".to_owned();
    for entry in Family::catalogue() {
        let usage = format!("{} {}", entry.name, entry.arguments)
            .trim()
            .to_owned();
        let options: String = entry.options.iter().map(|o| format!(" [--{o}]")).collect();
        text += &format!("  {usage}  {}{options}\n", entry.about);
    }
    text + "\nExamples:\n  cairn gen mesh 100 -o mesh.dag\n  cairn gen layered 100 1000 3 --seed 7 -o random.jsonl\n  cairn gen fft 4 --to dot"
}
