//! The `cairn` command: hands the command line to [`cli`] and turns the result into an exit code.

mod budgets;
mod called;
mod cli;
mod commands;
mod failure;
mod help;
mod input;
mod layout;
mod limits;
mod logs;
mod output;
mod plural;
mod screen;
mod spare;
mod spread;
mod states;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use commands::Interrupts;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match parse(&cli::joined(std::env::args_os())) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let out = output::Output::new(&cli.common);
    match run(cli.command, &out) {
        // Some commands answer with the best so far.
        Ok(()) if limits::is_interrupted() => ExitCode::from(failure::INTERRUPTED_CODE),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Flags to settings, all of them checked; then the work.
fn run(command: cli::Command, out: &output::Output) -> Result<(), failure::Failure> {
    let ready = commands::prepare(command, out)?;
    if ready.runs_tasks {
        // Before there is a second thread.
        cairn_serve::spawn::hear_no_ends();
    }
    if let Some(limits) = ready.limits {
        limits.set_threads();
    }
    match ready.interrupts {
        Interrupts::End => {}
        Interrupts::BestSoFar => catch_interrupt(true),
        Interrupts::Counted => catch_interrupt(false),
    }
    (ready.work)(out)
}

/// From now on the first Ctrl-C asks the work to stop and give the best so far; a second one may end the program.
fn catch_interrupt(second_ends: bool) {
    // Where a handler cannot be set, Ctrl-C keeps its usual meaning.
    let _ = ctrlc::set_handler(move || {
        if limits::interrupt() && second_ends {
            std::process::exit(failure::INTERRUPTED_CODE.into());
        }
    });
}

/// The command line, or the exit code after what is wrong with it, or the help asked for, was printed.
fn parse(args: &[OsString]) -> Result<cli::Cli, ExitCode> {
    let mut command = help::command();
    let parsed = (command.try_get_matches_from_mut(args))
        .and_then(|matches| cli::Cli::from_arg_matches(&matches))
        .map_err(|error| error.format(&mut command));
    parsed.map_err(|error| {
        // What is quoted from the command line must not reach the terminal raw, and clap quotes it so.
        let plain = (args.iter()).map(|arg| cairn_dag::plain(&arg.to_string_lossy()).into_owned());
        // Parsed again with plain words: so the message is clap's own, and nothing in it can move a cursor.
        let error = (command.try_get_matches_from_mut(plain).err()).unwrap_or(error);
        let asked = matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        );
        // By hand: clap has just failed to read them.
        let mut flags = args.iter().take_while(|arg| *arg != "--");
        if !asked && flags.any(|arg| arg == "--json") {
            output::print_usage_error(&error.render().to_string());
        } else {
            // Nothing is left to tell whoever closed the pipe.
            let _ = error.print();
        }
        ExitCode::from(if asked { 0 } else { 2 })
    })
}
