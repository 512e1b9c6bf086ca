//! The command line as people type it: flags and their help. Knows nothing of what commands do.

use cairn_formats::Format;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cairn info workflow.dag            what is in it: tasks, arcs, depth, blocks
  cairn plan workflow.dag            an order, its verdict, and the usual orders beside it
  cairn explain workflow.dag         why
  cairn verify workflow.dag c.json   check a certificate of `plan --certificate c.json`
  cairn prio workflow.dag --in-place its priorities, written into the file itself
  cairn check workflow.json          every problem, with file, line and cure
  cairn convert in.dax out.dag       from one format to another
  cairn gen airsn 250 -o airsn.dag   a dag from the literature

A file named '-' is standard input; .gz and .zst are read directly.
Exit codes: 0 done, 1 the answer is \"no\", 2 bad usage or input, 130 interrupted.";

/// Schedule dags so that as many tasks as possible stay ready, and prove how good the order is.
#[derive(Debug, Parser)]
#[command(name = "cairn", version, after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
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
    /// Print no more than asked for: no warnings, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more
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

/// The file to read.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// The workflow to read; '-' is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Its format, when detection by content and extension fails
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    pub(crate) format: Option<String>,
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
        after_help = "Commands, durations and sizes are kept where both formats have them; what is lost is said.\n\nExamples:\n  cairn convert in.dax out.dag\n  cairn convert in.json - --to dot | dot -Tsvg > out.svg"
    )]
    Convert(Convert),
    /// Make a dag of a known family
    #[command(after_help = crate::commands::generate::families_help())]
    Gen(Gen),
    /// Find an order that keeps as many tasks eligible as possible, and prove how good it is
    #[command(
        after_help = "Verdicts: optimal (proved: no order is better at any step), none-exists (proved: every order falls short\nsomewhere), open (the gap to a certified bound is given). With another --policy also: suboptimal.\n\nExamples:\n  cairn plan workflow.dag\n  cairn plan workflow.json --json --no-arrays\n  cairn plan big.jsonl --time-limit 10 --order > order.txt\n  cairn plan workflow.toml --memory-cap 40"
    )]
    Plan(Plan),
    /// Accept or reject a certificate: a small checker that trusts no planner
    #[command(
        after_help = "Says what it proved itself and what it only did not disprove. Exit code 0 when accepted, 1 when rejected,\n2 when the workflow or the certificate cannot be read.\n\nExamples:\n  cairn plan workflow.dag --certificate proof.json\n  cairn verify workflow.dag proof.json\n  cairn verify workflow.dag proof.json --json"
    )]
    Verify(Verify),
    /// Write priorities into the workflow's own file, everything else byte for byte
    #[command(
        after_help = "Formats with a place for priorities: dagman, wfformat, dot, toml, json, jsonl. The task to execute first gets the\nnumber of tasks, the last one 1. Files are replaced whole or not at all; running it again changes nothing.\nA DAGMan workflow of several files (INCLUDE, SPLICE) is edited in all of them: with -o, name a folder.\n\nExamples:\n  cairn prio workflow.dag > with-priorities.dag\n  cairn prio workflow.dag --in-place --backup .orig\n  cairn prio workflow.json -o out.json --keep\n  zcat flow.toml.gz | cairn prio - -o flow.toml"
    )]
    Prio(Prio),
    /// Say why: blocks, super-dag, ranks, which theorem applied or failed, and where
    #[command(
        after_help = "Examples:\n  cairn explain workflow.dag\n  cairn explain --json workflow.dag"
    )]
    Explain(Explain),
    /// The best N eligible tasks now, given what is executed
    #[command(
        after_help = "Asking for more tasks than are eligible gives all that are; asking for none gives none.\n\nExamples:\n  cairn batch workflow.dag -r 8\n  cairn batch workflow.dag --executed fetch,index -r 8 --json\n  cairn batch workflow.dag --executed @done.txt -r 8,4,4"
    )]
    Batch(Batch),
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
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The file to write; '-' is standard output
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The format to write, when the extension of OUT does not say
    #[arg(long, value_name = "FORMAT", value_parser = writable_names())]
    pub(crate) to: Option<String>,
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
    pub(crate) policy: Policy,
    /// Most results that may be open at once: a count, or bytes as in 512MB or 2GiB where the input has sizes
    #[arg(long, value_name = "N|BYTES")]
    pub(crate) memory_cap: Option<String>,
    /// Also write a certificate that `cairn verify` checks
    #[arg(long, value_name = "FILE", conflicts_with = "memory_cap")]
    pub(crate) certificate: Option<PathBuf>,
    /// Leave order, priority, profile and bound out of the JSON
    #[arg(long)]
    pub(crate) no_arrays: bool,
    /// Print only the order, one task a line
    #[arg(long, conflicts_with = "json")]
    pub(crate) order: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The certificate to check
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,
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
    #[arg(long, value_name = "POLICY", default_value = "ic")]
    pub(crate) policy: Policy,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

/// What a plan may cost.
#[derive(Debug, Args)]
pub(crate) struct Limits {
    /// Seconds after which the best so far is given
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub(crate) time_limit: f64,
    /// Threads to use [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// As many eligible tasks as possible at every step
    Ic,
    /// First eligible, first executed, as DAGMan does
    Fifo,
    /// Last eligible, first executed
    Lifo,
    /// Longest path to the end first
    CriticalPath,
    /// Most children first
    Outdegree,
    /// Fewest open results first
    Memory,
}

#[derive(Debug, Args)]
pub(crate) struct Batch {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Tasks executed so far: names with commas between them, or @FILE with one name a line
    #[arg(long, value_name = "LIST", default_value = "")]
    pub(crate) executed: String,
    /// How many tasks are asked for; several numbers are served one after the other, with look-ahead
    #[arg(short, long, value_name = "N", value_delimiter = ',', required = true)]
    pub(crate) requests: Vec<usize>,
    /// Choose by current yield, without exact work
    #[arg(long)]
    pub(crate) fast: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
}

fn writable_names() -> PossibleValuesParser {
    let writable = Format::ALL.into_iter().filter(|f| f.can_write());
    PossibleValuesParser::new(writable.map(Format::name))
}
