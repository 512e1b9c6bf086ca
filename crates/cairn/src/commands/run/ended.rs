//! How a run ended, for whoever called the program. Tells nothing of its tasks.

use crate::failure::{Failure, INTERRUPTED_CODE};
use cairn_serve::run::{RunError, Summary};

/// What the program returns after a run.
pub(super) fn verdict(summary: &Summary) -> Result<(), Failure> {
    match (summary.is_complete, summary.halted) {
        (true, _) => Ok(()),
        (_, Some(exit)) => Err(Failure::Code(u8::try_from(exit).unwrap_or(1))),
        // After the exit that a task asked for: DAGMan's ABORT-DAG-ON decides what its user sees.
        _ if summary.was_stopped => Err(Failure::Code(INTERRUPTED_CODE)),
        _ => Err(Failure::No),
    }
}

/// What to do where a family's state is of another command.
pub(crate) const OTHER_COMMAND: &str = "go on with that command (what it starts may change), or begin again with another --state: executed tasks of a family are not known one by one, and none could be executed again";

pub(super) fn refused(error: RunError) -> Failure {
    let help: &str = match &error {
        RunError::Store(_) | RunError::System(_) => "",
        RunError::Other { .. } => "give it a folder of its own with --state",
        RunError::OtherCommand { .. } => OTHER_COMMAND,
        RunError::Stopped(_) => "mend that; the same command goes on from there",
        RunError::NoInput { .. } => {
            "make it, or leave declared files out of it with --ignore-files"
        }
        RunError::Cap(unkept) => &unkept.cure,
        RunError::NotOpen { .. } => "name that one too, or use --until",
    };
    Failure::of(&error, help)
}
