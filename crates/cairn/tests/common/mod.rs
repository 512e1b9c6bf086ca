//! Runs the real binary as a person would.
#![allow(dead_code, reason = "each test file uses what it needs")]

pub(crate) mod samples;
pub(crate) mod served;
pub(crate) mod source;
pub(crate) mod stub;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How a run ended and what it printed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            code: output.status.code().expect("not ended by a signal"),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

/// Runs `cairn` with these arguments, from the root of the workspace, with nothing on standard input.
pub(crate) fn cairn(args: &[&str]) -> Run {
    command(args).stdin(Stdio::null()).output().unwrap().into()
}

/// Runs `cairn` with `input` on standard input.
pub(crate) fn cairn_with_input(args: &[&str], input: &[u8]) -> Run {
    fed(command(args), input)
}

/// Runs `cairn` with `input` on standard input, as in a terminal of so many columns.
pub(crate) fn cairn_in(columns: usize, args: &[&str], input: &[u8]) -> Run {
    let mut command = command(args);
    command.env("COLUMNS", columns.to_string());
    fed(command, input)
}

/// Runs `cairn` in a folder of its own, with `input` on standard input, as in a terminal of so many columns.
pub(crate) fn cairn_at(folder: &Path, columns: usize, args: &[&str], input: &[u8]) -> Run {
    let mut command = command(args);
    command
        .current_dir(folder)
        .env("COLUMNS", columns.to_string());
    fed(command, input)
}

fn fed(mut command: Command, input: &[u8]) -> Run {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The program may stop reading early: that is its right.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .args(args)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The number after `name` in human output such as `  tasks       12`.
pub(crate) fn row(text: &str, name: &str) -> String {
    let line = text.lines().find(|l| l.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no row {name} in:\n{text}"));
    line.split_whitespace().nth(1).unwrap().to_owned()
}

/// A browser; without one it says that the test is skipped, which opens a page of `of`.
pub(crate) fn browser(of: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .flat_map(|folder| ["chromium", "chromium-browser"].map(|name| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        let why = format!("SKIPPED: no chromium to open the page of `{of}` in\n");
        std::io::stderr().write_all(why.as_bytes()).unwrap();
    }
    found
}
