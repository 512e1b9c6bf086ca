//! The flags of commands that read, write, plan and draw one workflow. Knows nothing of what they do.

use super::parts::{
    Choices, ContestFlags, DiskFlags, Executed, Input, LimitFlags, Policy, Times, Wanted,
};
use cairn_dag::Family;
use cairn_formats::Format;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
    pub(crate) disk: DiskFlags,
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
    pub(crate) contest: ContestFlags,
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
    pub(crate) contest: ContestFlags,
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
    // Whatever is about reading and planning a workflow would be forgotten in silence: there is none.
    #[arg(long, value_name = "URL", requires = "token_file", conflicts_with_all = ["format", "executed", "no_rescue", "time_limit", "quick", "thorough", "threads"])]
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
    pub(crate) disk: DiskFlags,
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
// From the library's own list, so that a family that is added is in the help.
pub(super) fn families_help() -> String {
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
