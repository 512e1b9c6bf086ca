//! `cairn completions` and `cairn man`: made from the command line's own description.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::{Output, write_file};
use crate::screen;
use clap::CommandFactory;
use std::path::Path;

pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cairn", &mut script);
    write_file(Path::new("-"), |out| out.write_all(&script))
}

pub(crate) fn manual(folder: &Path, out: &Output) -> Result<(), Failure> {
    if !folder.is_dir() {
        return Err(Failure::usage(
            format!("{} is no folder", folder.display()),
            "create it first, for example with mkdir -p",
        ));
    }
    let shown = folder.display().to_string();
    clap_mangen::generate_to(Cli::command(), folder).map_err(|e| Failure::writing(&shown, &e))?;
    out.remark(&format!("wrote the pages into {}", screen::path(folder)));
    Ok(())
}
