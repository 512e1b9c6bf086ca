//! Groups of flags that several commands take. Knows nothing of what commands do.

use crate::spread::{self, Durations};
use cairn_formats::Format;
use cairn_formats::span;
use cairn_sim::Spread;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The file to read.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// The workflow to read; '-' is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Its format, when detection by content and extension fails
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    // As text, checked by clap: the library that has formats knows no clap.
    pub(crate) format: Option<String>,
}

/// What was executed before.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Half-run workflows")]
pub(crate) struct Executed {
    /// Tasks executed so far, besides those that the input calls done: names with commas between them, or @FILE with
    /// one name a line, or @FILE with a DAGMan rescue file
    #[arg(
        long,
        value_name = "LIST",
        default_value = "",
        hide_default_value = true
    )]
    // A text and not a list: `@FILE` is one word, and a comma in a file's name must not part it.
    pub(crate) executed: String,
    /// Do not look for the rescue file beside a DAGMan file
    #[arg(long)]
    pub(crate) no_rescue: bool,
}

/// Bytes on the disk, and what is known of files.
#[derive(Clone, Debug, Args)]
pub(crate) struct DiskFlags {
    /// Most bytes on the disk, as in 500GB, 2TiB or 90%free: files from the start of the task that writes them until the last
    /// that reads them has ended, and scratch space
    #[arg(long, value_name = "CAP")]
    pub(crate) disk: Option<String>,
    /// The size of files whose paths match, with * and ?, whatever the input says; may be given again
    #[arg(long, value_name = "PATTERN=BYTES", requires = "disk")]
    pub(crate) size_of: Vec<String>,
    /// The size of files that have none
    #[arg(long, value_name = "BYTES", requires = "disk")]
    pub(crate) default_size: Option<String>,
    /// Files that are temporary though the input does not say so, with * and ?; may be given again
    #[arg(long, value_name = "PATTERN", requires = "disk")]
    pub(crate) temp: Vec<String>,
}

/// How long tasks took before.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Durations")]
pub(crate) struct Times {
    /// A log that tells how long tasks take; may be repeated (`cairn times --help` lists the kinds of logs)
    #[arg(long, value_name = "LOG")]
    pub(crate) times: Vec<PathBuf>,
    /// Do not use the times of earlier runs by `cairn run` where nobody gives any
    #[arg(long)]
    pub(crate) no_learnt_times: bool,
}

/// Who is expected to work: that decides which policy `auto` takes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Expected {
    /// Choose the order for so many slots [default: for two usual kinds of workers]
    #[arg(long, value_name = "N", help_heading = "Workers")]
    pub(crate) slots: Option<u32>,
    /// Choose the order for workers as a log shows them (`cairn times` prints what it would be)
    #[arg(long, value_name = "LOG", help_heading = "Workers")]
    pub(crate) world_from: Vec<PathBuf>,
}

/// How a plan chooses where it has a choice.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Choices {
    /// Which of equally good tasks goes first; the number of eligible tasks is the same at every step either way
    /// [default: critical-path where the input has durations, else none]
    #[arg(long, value_name = "RULE")]
    pub(crate) ties: Option<TieRule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TieRule {
    /// What leaves fewer results open
    Memory,
    /// What the longer path hangs on, in seconds where the input has durations
    CriticalPath,
    /// As they are found
    None,
}

/// What a plan may cost.
#[derive(Debug, Args)]
#[command(next_help_heading = "Effort")]
pub(crate) struct LimitFlags {
    /// Time after which the best so far is given: seconds, or as in 90s, 5m, 1h30m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = span::seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: f64,
    /// Order and certified bound at once: no search for a verdict. On 10⁶ tasks the bound itself takes most of the time
    #[arg(long)]
    pub(crate) quick: bool,
    /// Try harder for verdicts and better orders: some ten seconds instead of one or two
    #[arg(long, conflicts_with = "quick")]
    pub(crate) thorough: bool,
    /// Threads to use, at most one for each processor [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// A policy that is a fixed order. The one list of their names: others add to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// As many eligible tasks as possible at every step
    Ic,
    /// The same, of equally good tasks the longest path to the end first
    IcCriticalPath,
    /// Longest path to the end, leaning to tasks with much work below: good on most workers
    #[value(name = "path+")]
    PathPlus,
    /// Longest path to the end first
    CriticalPath,
    /// The same, of equally long paths as in ic
    CriticalPathIc,
    /// As ic, but a task made eligible counts by its path to the end
    PathHull,
    /// Most work below first
    Descendants,
    /// Three quarters critical-path, one quarter ic
    Blend,
    /// Most work below first, shared with the other parents
    Share,
    /// First eligible, first executed, as DAGMan does
    Fifo,
    /// Last eligible, first executed; among those the last in the file
    Lifo,
    /// Most children first
    Outdegree,
    /// Fewest open results first
    Memory,
}

/// What `plan` may be asked for: a policy, or the one that wins in a given world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Given(Policy),
    Auto,
}

impl ValueEnum for Wanted {
    fn value_variants<'a>() -> &'a [Wanted] {
        // clap asks for a slice that lives for ever: the list is made once, of the one that others add to.
        static ALL: LazyLock<Vec<Wanted>> = LazyLock::new(|| {
            let given = Policy::value_variants().iter();
            (given.map(|&p| Wanted::Given(p)).chain([Wanted::Auto])).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Wanted::Given(policy) => policy.to_possible_value(),
            Wanted::Auto => Some(PossibleValue::new("auto").help(
                "Whichever of them is fastest in simulations of your workers, or of two usual worlds",
            )),
        }
    }
}

/// A policy that can be simulated: one that is a fixed order, or one that only exists at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    Listed(Wanted),
    Batch,
    Random,
    Heft,
    Peft,
    Aware,
}

impl ValueEnum for Contender {
    fn value_variants<'a>() -> &'a [Contender] {
        static ALL: LazyLock<Vec<Contender>> = LazyLock::new(|| {
            use Contender::{Aware, Batch, Heft, Listed, Peft, Random};
            let listed = Wanted::value_variants().iter();
            (listed
                .map(|&w| Listed(w))
                .chain([Batch, Random, Heft, Peft, Aware]))
            .collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let value = |name, help| Some(PossibleValue::new(name).help(help));
        match self {
            Contender::Listed(wanted) => wanted.to_possible_value(),
            Contender::Batch => value(
                "batch",
                "The best tasks for each whole batch; as ic where workers ask one by one",
            ),
            Contender::Random => value("random", "A random order, drawn anew for each run"),
            Contender::Heft => value("heft", "Earliest finish time; knows speeds and transfers"),
            Contender::Peft => value("peft", "As heft, with a look ahead"),
            Contender::Aware => value(
                "aware",
                "As serve --dispatch aware: learns how fast workers are, and keeps tasks for faster ones",
            ),
        }
    }
}

/// Where simulated workers come from, and how long tasks take. Nothing has a default here: commands ask what was given.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "World")]
pub(crate) struct World {
    /// Where workers come from [default: batches]
    #[arg(long, value_name = "WORLD")]
    pub(crate) world: Option<WorldName>,
    /// batches: mean time between two batches [default: the mean duration of a task]
    #[arg(long, value_name = "TIME", value_parser = span::seconds, allow_negative_numbers = true)]
    pub(crate) gap: Option<f64>,
    /// batches: mean number of requests in a batch [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) size: Option<f64>,
    /// Workers as a log shows them: sacct -P, an event log of HTCondor, the state of a run; may be repeated, other flags come
    /// first
    #[arg(long, value_name = "LOG")]
    pub(crate) world_from: Vec<PathBuf>,
    /// A cluster queue with so many slots: --world throttled --workers N, or pool where they come and go
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        conflicts_with = "workers"
    )]
    pub(crate) slots: Option<u32>,
    /// pool, throttled: how many workers [default: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) workers: Option<u32>,
    /// throttled: how many tasks may be queued or running at once [default: as many as workers]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) submitted: Option<u32>,
    /// pool: how long a worker is up at a time [default: always]
    #[arg(long, value_name = "SPREAD", value_parser = spread::of_time, allow_hyphen_values = true)]
    pub(crate) up: Option<Spread>,
    /// pool: how long a worker is down in between
    #[arg(long, value_name = "SPREAD", value_parser = spread::of_time, allow_hyphen_values = true)]
    pub(crate) down: Option<Spread>,
    /// pool: every worker ends after this time, with what it runs, and starts anew
    #[arg(long, value_name = "TIME", value_parser = span::seconds, allow_negative_numbers = true, conflicts_with = "up")]
    pub(crate) walltime: Option<f64>,
    /// pool: mean time between further workers that join [default: none do]
    #[arg(long, value_name = "TIME", value_parser = span::seconds, allow_negative_numbers = true)]
    pub(crate) join: Option<f64>,
    /// pool: how long a worker belongs to the pool before it leaves for good [default: for ever]
    #[arg(long, value_name = "SPREAD", value_parser = spread::of_time, allow_hyphen_values = true)]
    pub(crate) stay: Option<Spread>,
    /// trace: CSV file with rows worker,start,end
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// trace: start over when the record ends
    #[arg(long)]
    pub(crate) repeat: bool,
    /// pool, trace: work a worker does in a second [default: 1]
    #[arg(long, value_name = "SPREAD", value_parser = spread::of_rate, allow_hyphen_values = true)]
    pub(crate) speed: Option<Spread>,
    /// pool, trace: speeds of workers differ so much: the standard deviation of their logarithms, such as 0.7; short for
    /// --speed lognormal:1:SIGMA
    #[arg(
        long,
        value_name = "SIGMA",
        conflicts_with = "speed",
        allow_negative_numbers = true
    )]
    pub(crate) speeds: Option<f64>,
    /// pool, trace: cores of a worker; tasks then take the cores the input gives
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) cores: Option<u32>,
    /// pool, trace: bytes a second of a worker's link; inputs made elsewhere must travel
    #[arg(long, value_name = "SPREAD", value_parser = spread::of_rate, allow_hyphen_values = true)]
    pub(crate) bandwidth: Option<Spread>,
    /// pool, trace: time for each input that must travel
    #[arg(long, value_name = "SPREAD", value_parser = spread::of_delay, allow_hyphen_values = true)]
    pub(crate) latency: Option<Spread>,
    /// pool, trace: a task not delivered after so many times its expected duration is given out again [default: 3]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    pub(crate) lease: Option<f64>,
    /// pool, trace: idle workers get second copies of the last N tasks
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) tail: Option<u32>,
    /// Durations are only estimates: the true ones are these times a log-normal factor of this sigma, such as 0.3
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub(crate) noise: Option<f64>,
    /// How long tasks take; commands have flags of their own for it.
    #[arg(skip)]
    pub(crate) durations: Option<Durations>,
    /// Whether the workers were given as slots.
    #[arg(skip)]
    pub(crate) was_slots: bool,
    /// How many workers lie, vanish or dawdle, and whether anybody vouches for them; `simulate` has flags for it.
    #[arg(skip)]
    pub(crate) natures: cairn_sim::Natures,
    #[arg(skip)]
    pub(crate) nobody_vouches: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorldName {
    /// Requests in batches; those not served leave
    Batches,
    /// Workers that come and go by chance
    Pool,
    /// A cluster queue: so many slots, and a limit on submitted tasks
    Throttled,
    /// Workers as recorded
    Trace,
}

/// How often to simulate.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Runs")]
pub(crate) struct Runs {
    /// The most runs of each policy [default: 200]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) runs: Option<usize>,
    /// Number that fixes every random choice [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Stop early, when all ratios of times are known to within this share, such as 0.01
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) precision: Option<f64>,
}

/// Where `--policy auto` plays policies against each other.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ContestFlags {
    #[command(flatten)]
    pub(crate) world: World,
    /// Durations of simulated tasks: file, unit (1 each), study (Normal(1, 0.1)) or a SPREAD [default: file, else study]
    #[arg(long, value_name = "WHENCE", value_parser = spread::durations, help_heading = "World")]
    pub(crate) world_durations: Option<Durations>,
    #[command(flatten)]
    pub(crate) runs: Runs,
}

impl ContestFlags {
    /// The simulated world, with its durations.
    pub(crate) fn whole_world(&self) -> World {
        World {
            durations: self.world_durations,
            ..self.world.clone()
        }
    }
}

pub(super) fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
}
