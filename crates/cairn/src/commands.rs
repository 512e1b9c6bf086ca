//! One module a command: settings in, one library call, output. Knows no algorithm.
//!
//! [`prepare`] is the first of three steps: what was typed becomes settings, and whatever is wrong with it is told before a
//! file is opened. The second is the work, the third, in each command, what is printed of it.

mod auto;
mod batch;
mod caps;
mod check;
mod contender;
mod convert;
mod disk;
mod durations;
mod estimates;
mod explain;
mod family;
mod generate;
mod info;
mod lookout;
mod memory;
mod orders;
mod pictures;
mod plan;
mod prio;
mod reasons;
mod remote;
mod run;
mod runnable;
mod serve;
mod shell;
mod show;
mod sight;
mod simulate;
mod study;
mod submit;
mod times;
mod verify;
mod work;
mod world;
mod worth;

use crate::cli::Command;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::output::Output;

/// A command whose flags are all good: what is left is the work.
pub(crate) struct Ready {
    /// What it may cost; none for commands that plan nothing.
    pub(crate) limits: Option<Limits>,
    pub(crate) interrupts: Interrupts,
    /// Whether this process runs tasks.
    pub(crate) runs_tasks: bool,
    // In a box: `main` sets threads and signals between checking flags and doing the work, for all commands alike.
    pub(crate) work: Box<Action>,
}

/// What Ctrl-C means to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupts {
    /// It ends the program.
    End,
    /// The first one asks for the best so far, the second ends the program.
    BestSoFar,
    /// The command asks how often it was pressed.
    Counted,
}

/// What a command does, and prints.
type Action = dyn FnOnce(&Output) -> Result<(), Failure>;

/// Work that nobody has to limit.
fn ready(work: impl FnOnce(&Output) -> Result<(), Failure> + 'static) -> Ready {
    Ready {
        limits: None,
        interrupts: Interrupts::End,
        runs_tasks: false,
        work: Box::new(work),
    }
}

/// Work that keeps to a time limit and answers Ctrl-C.
fn within(limits: Limits, work: impl FnOnce(&Output) -> Result<(), Failure> + 'static) -> Ready {
    Ready {
        limits: Some(limits),
        interrupts: Interrupts::BestSoFar,
        ..ready(work)
    }
}

/// Work that asks by itself how often it was interrupted.
fn counted(work: impl FnOnce(&Output) -> Result<(), Failure> + 'static) -> Ready {
    Ready {
        interrupts: Interrupts::Counted,
        ..ready(work)
    }
}

/// The same where this process runs tasks.
fn running(work: impl FnOnce(&Output) -> Result<(), Failure> + 'static) -> Ready {
    Ready {
        runs_tasks: true,
        ..counted(work)
    }
}

/// From flags to settings, or what is wrong with the flags.
// One arm a command, and nothing else in it: to cut it in two would only hide half of the commands.
pub(crate) fn prepare(command: Command, out: &Output) -> Result<Ready, Failure> {
    Ok(match command {
        Command::Info(input) => ready(move |out| info::run(&input, out)),
        Command::Check(input) => ready(move |out| check::run(&input, out)),
        Command::Convert(flags) => {
            let settings = convert::Settings::new(flags)?;
            ready(move |out| convert::run(&settings, out))
        }
        Command::Gen(flags) => {
            let settings = generate::Settings::new(flags)?;
            ready(move |out| generate::run(&settings, out))
        }
        Command::Plan(flags) => {
            let settings = plan::Settings::new(flags)?;
            within(settings.limits, move |out| plan::run(&settings, out))
        }
        Command::Verify(flags) => {
            let settings = verify::Settings::new(flags)?;
            ready(move |out| verify::run(&settings, out))
        }
        Command::Prio(flags) => {
            let settings = prio::Settings::new(flags, out)?;
            within(settings.limits, move |out| prio::run(&settings, out))
        }
        Command::Explain(flags) => {
            let settings = explain::Settings::new(flags)?;
            within(settings.limits, move |out| explain::run(&settings, out))
        }
        Command::Batch(flags) => {
            let settings = batch::Settings::new(flags)?;
            within(settings.limits, move |out| batch::run(&settings, out))
        }
        // Before the plain one: with many worlds it is a study, and has other settings.
        Command::Simulate(flags) if flags.grid || flags.pools => {
            let settings = study::Settings::of_simulate(*flags)?;
            within(settings.limits, move |out| study::run(&settings, out))
        }
        Command::Simulate(flags) => {
            let settings = simulate::Settings::new(*flags)?;
            within(settings.limits, move |out| simulate::run(&settings, out))
        }
        Command::Study(flags) => {
            let settings = study::Settings::new(flags)?;
            within(settings.limits, move |out| study::run(&settings, out))
        }
        Command::Run(flags) => {
            let settings = run::Settings::new(flags)?;
            running(move |out| run::run(&settings, out))
        }
        Command::Submit(flags) => {
            let settings = submit::Settings::new(flags)?;
            counted(move |out| submit::run(&settings, out))
        }
        Command::Serve(flags) => {
            let settings = serve::Settings::new(flags)?;
            counted(move |out| serve::run(&settings, out))
        }
        Command::Work(flags) => {
            let settings = work::Settings::new(flags)?;
            running(move |out| work::run(settings, out))
        }
        Command::Confine(flags) => ready(move |_| work::confine(&flags)),
        Command::Status(flags) => {
            let caller = remote::caller(&flags.server)?;
            ready(move |out| remote::status(&caller, flags.once, out))
        }
        Command::Cancel(flags) => {
            let caller = remote::caller(&flags.server)?;
            ready(move |out| remote::change(&caller, flags.tasks, remote::Change::Cancel, out))
        }
        Command::Retry(flags) => {
            let caller = remote::caller(&flags.server)?;
            ready(move |out| remote::change(&caller, flags.tasks, remote::Change::Retry, out))
        }
        Command::Pause(flags) => {
            let caller = remote::caller(&flags)?;
            ready(move |out| remote::pause(&caller, true, out))
        }
        Command::Resume(flags) => {
            let caller = remote::caller(&flags)?;
            ready(move |out| remote::pause(&caller, false, out))
        }
        Command::Export(flags) => {
            let caller = remote::caller(&flags)?;
            ready(move |_| remote::export(&caller))
        }
        Command::Times(flags) => {
            let settings = times::Settings::new(flags)?;
            ready(move |out| times::run(&settings, out))
        }
        Command::Show(flags) => {
            let settings = show::Settings::new(flags)?;
            within(settings.limits, move |out| show::run(&settings, out))
        }
        Command::Completions { shell } => ready(move |out| shell::completions(shell, out)),
        Command::Man { folder } => {
            shell::check(&folder)?;
            ready(move |out| shell::manual(&folder, out))
        }
    })
}
