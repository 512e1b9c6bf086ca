//! One module a command: settings in, one library call, output. Knows no algorithm.

mod auto;
mod batch;
mod batched;
mod check;
mod contender;
mod convert;
mod durations;
mod explain;
pub(crate) mod generate;
mod info;
mod memory;
mod pictures;
mod plan;
mod prio;
mod shell;
mod show;
mod simulate;
pub(crate) mod spread;
mod study;
mod verify;
mod world;
mod worth;

use crate::cli::Command;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(command: Command, out: &Output) -> Result<(), Failure> {
    match command {
        Command::Info(input) => info::run(&input, out),
        Command::Check(input) => check::run(&input, out),
        Command::Convert(settings) => convert::run(&settings, out),
        Command::Gen(settings) => generate::run(&settings, out),
        Command::Plan(settings) => plan::run(&settings, out),
        Command::Verify(settings) => verify::run(&settings, out),
        Command::Prio(settings) => prio::run(&settings, out),
        Command::Explain(settings) => explain::run(&settings, out),
        Command::Batch(settings) => batch::run(&settings, out),
        Command::Simulate(settings) => simulate::run(&settings, out),
        Command::Study(settings) => study::run(&settings, out),
        Command::Show(settings) => show::run(&settings, out),
        Command::Completions { shell } => shell::completions(shell, out),
        Command::Man { folder } => shell::manual(&folder, out),
    }
}
