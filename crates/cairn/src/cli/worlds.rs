//! The flags of commands that play policies on simulated workers, and of those that learn from logs. Knows nothing of what they
//! do.

use super::parts::{
    Choices, Contender, DiskFlags, Executed, Input, LimitFlags, Runs, Times, World,
};
use super::running::DispatchRule;
use crate::spread::{self, Durations};
use cairn_formats::span;
use clap::Args;
use std::path::PathBuf;

pub(super) const SIMULATE_EXAMPLES: &str = "\
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
  cairn simulate workflow.json --workers 20 --volunteers --quorum 4 --liars 0.3 --vanishing 0.2 --slow 0.1
  cairn simulate *.dag --grid --gaps 0.1,1,10 --sizes 4,16,64 --policies auto,critical-path,fifo -o grid";

pub(super) const STUDY_EXAMPLES: &str = "\
The grid's world is that of Malewicz, Foster, Rosenberg and Wilde (2006): batches of requests with exponential gaps
and sizes, durations of the file, else Normal(1, 0.1). It is `cairn simulate --grid` with the policies ic, fifo and
critical-path. With --pools three pools of volatile workers are played instead, sized by the
width of the dag: scarce (width/8 workers, half of the time up), balanced (width/2), plentiful (2·width).
Writes study.json, study.md and, for the grid, one heat map for each dag and rival.

Examples:
  cairn study -o study
  cairn study inspiral.dax montage.dax --gaps 0.1,1,10 --sizes 1,4,16,64 --runs 50 -o study
  cairn study --pools corpus/*.json --runs 30 -o pools";

pub(super) const TIMES_EXAMPLES: &str = "\
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
// By their ids, as clap knows them, and one by one: of a group it would name all members in its complaint.
const ONE_WORLD: [&str; 33] = [
    "dispatch",
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
    "speeds",
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
    "volunteers",
    "liars",
    "vanishing",
    "slow",
];

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
    #[command(flatten)]
    pub(crate) volunteers: Volunteers,
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
    pub(crate) disk: DiskFlags,
    /// Durations of tasks: file, unit (1 each), study (Normal(1, 0.1)) or a SPREAD [default: file, else study]
    #[arg(long, value_name = "WHENCE", value_parser = spread::durations, help_heading = "World")]
    pub(crate) durations: Option<Durations>,
    #[command(flatten)]
    pub(crate) questions: Questions,
    #[command(flatten)]
    pub(crate) runs: Runs,
    #[command(flatten)]
    pub(crate) executed: Executed,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

/// What else is asked of the runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Questions")]
pub(crate) struct Questions {
    /// Say how likely it is to end within this time
    #[arg(long, value_name = "TIME", value_parser = span::seconds, allow_negative_numbers = true)]
    pub(crate) deadline: Option<f64>,
    /// Say what it costs at this price of a worker for an hour, busy or not
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    pub(crate) price: Option<f64>,
    /// The price of an hour on workers that stay: says what as many of them would cost and take
    #[arg(
        long,
        value_name = "PRICE",
        allow_negative_numbers = true,
        requires = "price"
    )]
    pub(crate) steady_price: Option<f64>,
}

/// Workers that nobody vouches for, and what they are like.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Volunteers")]
pub(crate) struct Volunteers {
    /// pool, trace: nobody vouches for the workers, and results count as with `cairn serve --volunteers`. Says how often tasks are
    /// executed, and what the first policy comes to where all are trusted
    #[arg(long, conflicts_with = "disk")]
    pub(crate) volunteers: bool,
    /// More than half of Q results must be equal, as with serve [default: 2]
    #[arg(long, value_name = "Q", requires = "volunteers", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) quorum: Option<u32>,
    /// Ask for equal results always, also of those whose last ten were right
    #[arg(long, requires = "volunteers")]
    pub(crate) replicate_all: bool,
    /// A volunteer has at least so long for a task: serve --deadline [default: 10m, or 10 task times]
    #[arg(long, value_name = "TIME", value_parser = span::seconds, allow_negative_numbers = true, requires = "volunteers")]
    pub(crate) volunteer_deadline: Option<f64>,
    /// pool, trace: this share of the workers lies, with four of five results, in a fourth of the time
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) liars: Option<f64>,
    /// So many of the liars always tell the same lie [default: 2]
    #[arg(long, value_name = "N", requires = "liars")]
    pub(crate) colluding: Option<u32>,
    /// pool, trace: this share vanishes for good within ten mean durations: half fall silent, half say that they live
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) vanishing: Option<f64>,
    /// pool, trace: this share is four times as slow
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) slow: Option<f64>,
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
