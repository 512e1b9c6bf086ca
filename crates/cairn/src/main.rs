//! The `cairn` command: hands the command line to [`cli`] and turns the result into an exit code.

mod called;
mod cli;
mod commands;
mod failure;
mod input;
mod limits;
mod output;
mod screen;
mod plural;
mod size;
mod span;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::try_parse().unwrap_or_else(|error| {
        // What is quoted from the command line must not reach the terminal raw, and clap quotes it so.
        let args = std::env::args().map(|arg| cairn_dag::plain(&arg).into_owned());
        cli::Cli::try_parse_from(args).err().unwrap_or(error).exit()
    });
    let out = output::Output::new(&cli.common);
    match commands::run(cli.command, &out) {
        // Some commands answer with the best so far.
        Ok(()) if limits::is_interrupted() => ExitCode::from(limits::INTERRUPTED_CODE),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
