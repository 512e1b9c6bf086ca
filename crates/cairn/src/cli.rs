//! The command line as people type it: flags and their help, raw; `commands.rs` makes settings of them. Knows nothing of what
//! commands do.

mod parts;
mod planning;
mod running;
mod worlds;

pub(crate) use self::parts::{
    Choices, Contender, ContestFlags, DiskFlags, Executed, Expected, Input, LimitFlags, Policy,
    Runs, TieRule, Times, Wanted, World, WorldName,
};
use self::planning::families_help;
pub(crate) use self::planning::{Batch, Convert, Drawing, Explain, Gen, Plan, Prio, Show, Verify};
pub(crate) use self::running::{
    Confine, DispatchRule, Engine, Run, Serve, Server, Status, Submit, Sync, Tasks, Work, Workflow,
    joined,
};
use self::running::{RUN_EXAMPLES, SERVE_EXAMPLES, SUBMIT_EXAMPLES, WORK_EXAMPLES};
use self::worlds::{SIMULATE_EXAMPLES, STUDY_EXAMPLES, TIMES_EXAMPLES};
pub(crate) use self::worlds::{Simulate, Study, TimesOf, Volunteers};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Begin with:
  cairn plan workflow.dag  a good order, how good it is, and the usual orders beside it
  cairn prio workflow.dag --in-place  the same order, written into the file as priorities
  cairn simulate workflow.dag  what the order saves on workers that come and go
  cairn show workflow.dag -o x.html  pictures of all that

`cairn COMMAND --help` tells more. A file named '-' is standard input; .gz and .zst are read directly.

Exit codes: 0 done, 1 the answer is \"no\", 2 bad usage or input, 3 not all of it is proved (verify), 130 interrupted.";

/// Schedule dags so that as many tasks as possible stay ready, and prove how good the order is.
#[derive(Debug, Parser)]
// The usage is by hand: it says that a command comes first.
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
    // In a box: it has the most flags by far, and with them in place every command would be as large.
    Simulate(Box<Simulate>),
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
