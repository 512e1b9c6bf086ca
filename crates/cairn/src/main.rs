//! The `cairn` command: hands the command line to [`cli`] and turns the result into an exit code.

mod cli;
mod commands;
mod failure;
mod input;
mod limits;
mod output;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
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
