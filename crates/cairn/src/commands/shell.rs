//! `cairn completions` and `cairn man`: made from the command line's own description.

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::{Output, write_file};
use crate::plural::counted;
use crate::screen;
use clap::CommandFactory;
use serde_json::json;
use std::path::Path;

pub(crate) fn completions(shell: clap_complete::Shell, out: &Output) -> Result<(), Failure> {
    // Into memory first: clap panics where standard output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "cairn", &mut script);
    if out.json {
        let script = String::from_utf8_lossy(&script);
        return out.answer(&json!({ "shell": shell.to_string(), "script": script }), "");
    }
    write_file(Path::new("-"), |out| out.write_all(&script))
}

/// Where pages can be written to.
pub(crate) fn check(folder: &Path) -> Result<(), Failure> {
    match folder.is_dir() {
        true => Ok(()),
        false => Err(Failure::usage(
            format!("{} is no folder", folder.display()),
            "create it first, for example with mkdir -p",
        )),
    }
}

pub(crate) fn manual(folder: &Path, out: &Output) -> Result<(), Failure> {
    let shown = folder.display().to_string();
    clap_mangen::generate_to(Cli::command(), folder).map_err(|e| Failure::writing(&shown, &e))?;
    let command = Cli::command();
    let pages = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(|sub| format!("cairn-{}.1", sub.get_name()));
    let pages: Vec<String> = std::iter::once("cairn.1".to_owned()).chain(pages).collect();
    out.remark(&format!(
        "wrote {} into {}",
        counted(pages.len(), "page"),
        screen::path(folder)
    ));
    out.answer(&json!({ "folder": shown, "pages": pages }), "")
}
