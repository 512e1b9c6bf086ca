//! `cairn completions` and `cairn man`: made from the command line's own description.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::{Output, write_file};
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
    let mut command = Cli::command();
    command.build();
    let mut pages = 0;
    let mut page = |command: clap::Command| -> Result<(), Failure> {
        let man = clap_mangen::Man::new(command);
        let path = folder.join(man.get_filename());
        pages += 1;
        write_file(&path, |mut out| man.render(&mut out))
    };
    page(command.clone())?;
    for sub in command.get_subcommands().filter(|s| s.get_name() != "help") {
        let name = format!("cairn-{}", sub.get_name());
        page(sub.clone().name(name).flatten_help(false))?;
    }
    out.remark(&format!("wrote {pages} pages into {}", folder.display()));
    Ok(())
}
