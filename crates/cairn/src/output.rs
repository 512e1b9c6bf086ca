//! What commands print, for people, for machines or not at all. Knows nothing of algorithms.

use crate::cli::{Color, Common};
use crate::failure::Failure;
use crate::layout;
use crate::plural::counted;
use crate::screen;
use cairn_dag::plain;
use cairn_formats::{Cure, Problem, Report, Severity, write_packed};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Where output goes and in which form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    color: bool,
}

impl Output {
    pub(crate) fn new(common: &Common) -> Output {
        let color = match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                std::io::stderr().is_terminal()
                    // An empty one is none: https://no-color.org.
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        };
        Output {
            json: common.json,
            quiet: common.quiet,
            verbose: common.verbose,
            color,
        }
    }

    /// Prints the answer: `value` with `--json`, else the text. Always to standard output.
    pub(crate) fn answer(&self, value: &Value, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let printed = match self.json {
            true => screen::write_json(&mut out, value).and_then(|()| out.write_all(b"\n")),
            false => out.write_all(screen::text(text).as_bytes()),
        };
        printed.and_then(|()| out.flush()).map_err(not_printed)
    }

    /// Prints a text in the place of the last one of so many lines, on a standard output that is a terminal.
    pub(crate) fn redraw(lines: usize, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        // Up to where the last one began, and away with it.
        let back = match lines {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        };
        (out.write_all(back.as_bytes()))
            .and_then(|()| out.write_all(screen::text(text).as_bytes()))
            .and_then(|()| out.flush())
            .map_err(not_printed)
    }

    /// An answer for machines on standard error, where standard output holds what was made.
    pub(crate) fn aside(&self, value: &Value) -> Result<(), Failure> {
        let mut out = std::io::stderr().lock();
        (screen::write_json(&mut out, value).and_then(|()| out.write_all(b"\n")))
            .map_err(|e| Failure::writing("standard error", &e))
    }

    /// As [`Output::answer`] where the work itself, or the exit code, is what was asked for: no text with `--quiet`.
    pub(crate) fn done(&self, value: &Value, text: &str) -> Result<(), Failure> {
        match self.quiet && !self.json {
            true => Ok(()),
            false => self.answer(value, text),
        }
    }

    /// What went wrong although there is an answer, on standard error, also with `--quiet`; nothing with `--json`, whose
    /// answer has it.
    pub(crate) fn complain(&self, text: &str) {
        if !self.json {
            Output::say(&folded(text));
        }
    }

    /// A remark for people, on standard error; nothing with `--quiet` or `--json`.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet && !self.json {
            Output::say(&folded(text));
        }
    }

    /// A sign of life on standard error when it is a terminal and the work lasts over a second; gone when dropped.
    pub(crate) fn progress(&self, what: &'static str) -> Progress {
        let show = !self.quiet && !self.json && std::io::stderr().is_terminal();
        Progress::start(what, show)
    }

    /// A bar on standard error when it is a terminal and the work lasts over a second; gone when dropped.
    pub(crate) fn bar(&self, what: &'static str, total: usize) -> Bar {
        let show = !self.quiet && !self.json && std::io::stderr().is_terminal();
        Bar::new(what, total, show)
    }

    /// Prints the warnings of a usable input.
    pub(crate) fn warnings(&self, report: &Report) {
        if !self.quiet && !self.json {
            Output::say(&self.problems_text(report));
        }
    }

    /// Prints the warnings that came since others were printed.
    pub(crate) fn new_warnings(&self, report: &Report, printed: &Report) {
        let mut new = Report::default();
        for problem in report.problems() {
            if !printed.problems().contains(problem) {
                let (message, help) = (problem.message.clone(), problem.help.clone());
                new.warning(problem.place.clone(), message, help);
            }
        }
        self.warnings(&new);
    }

    /// Prints why a command failed.
    pub(crate) fn failure(&self, failure: &Failure) {
        let (value, text) = match failure {
            Failure::No | Failure::Unproved | Failure::Code(_) | Failure::BrokenPipe => return,
            Failure::Input(report) => (
                json!({ "error": "the input cannot be used", "problems": problems_json(report) }),
                self.problems_text(report),
            ),
            Failure::Interrupted(what) => {
                let text = format!("interrupted: {what}");
                (json!({ "error": text, "interrupted": true }), text)
            }
            Failure::Usage { message, help } => {
                let mut text = self.labelled("31;1", "error:", message);
                if !help.is_empty() {
                    text += &self.labelled("36", "  help:", help);
                }
                (json!({ "error": message, "help": help }), text)
            }
        };
        match self.json {
            // Nothing is left to tell whoever closed the pipe.
            true => drop(self.answer(&value, "")),
            false => Output::say(&text),
        }
    }

    /// Every problem as people read it: what, where, the offending text, the cure.
    pub(crate) fn problems_text(&self, report: &Report) -> String {
        let mut text = String::new();
        // Errors only with `--quiet`.
        let told = |problem: &&Problem| !self.quiet || problem.severity == Severity::Error;
        let mut kept = 0;
        for problem in report.problems().iter().filter(told) {
            text += &self.problem_text(problem);
            kept += 1;
        }
        let warnings = if self.quiet { 0 } else { report.warnings() };
        let more = (report.errors() + warnings).saturating_sub(kept);
        if more > 0 {
            text += &format!("… and {} more\n", counted(more, "problem"));
        }
        text
    }

    fn problem_text(&self, problem: &Problem) -> String {
        let mut text = match problem.severity {
            Severity::Error => self.labelled("31;1", "error:", &problem.message),
            Severity::Warning => self.labelled("33;1", "warning:", &problem.message),
        };
        // What is quoted is not broken: a place may be copied, and a line of the file is one.
        let mut quote = |mark: &str, words: &str| {
            text += &format!("  {} {words}\n", self.paint("36", mark));
        };
        quote("-->", &plain(&problem.place.to_string()));
        if !problem.place.text.is_empty() {
            let line = plain(&problem.place.text);
            let room = layout::known_width().unwrap_or(usize::MAX) - "   | ".len();
            quote(" |", &layout::short(&line, room));
        }
        let help = help(problem);
        if !help.is_empty() {
            text += &self.labelled("36", "  help:", &help);
        }
        text
    }

    /// A coloured label and what it says, folded where a terminal asks for it.
    fn labelled(&self, code: &str, label: &str, words: &str) -> String {
        let word = label.trim_start();
        let blanks = " ".repeat(label.len() - word.len());
        let lead = format!("{blanks}{} ", self.paint(code, word));
        let width = layout::known_width();
        layout::remark(&lead, blanks.len() + 2, &plain(words), width)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.color {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// A line on standard error, whatever was asked.
    pub(crate) fn say(text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            // A closed standard error leaves nobody to tell.
            let _ = writeln!(std::io::stderr().lock(), "{}", screen::text(text));
        }
    }
}

fn not_printed(error: std::io::Error) -> Failure {
    Failure::writing("standard output", &error)
}

/// The lines of a remark, each folded where a terminal asks for it.
fn folded(text: &str) -> String {
    let fold = |line: &str| {
        let words = line.trim_start();
        let (blanks, _) = line.split_at(line.len() - words.len());
        layout::remark(blanks, blanks.len() + 2, words, layout::known_width())
    };
    text.lines().map(fold).collect()
}

/// A spinner that appears after a second.
pub(crate) struct Progress {
    done: std::sync::mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Progress {
    fn start(what: &'static str, show: bool) -> Progress {
        let (done, over) = std::sync::mpsc::channel();
        let spin = move || {
            // Most commands are done by then, and nothing flickers.
            let second = Duration::from_secs(1);
            if over.recv_timeout(second) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = indicatif::ProgressBar::new_spinner().with_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
            let _ = over.recv();
            bar.finish_and_clear();
        };
        Progress {
            done,
            thread: show.then(|| std::thread::spawn(spin)),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = self.done.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A bar that appears after a second and counts up to a total.
pub(crate) struct Bar {
    bar: indicatif::ProgressBar,
    started: std::time::Instant,
    show: bool,
}

impl Bar {
    fn new(what: &'static str, total: usize, show: bool) -> Bar {
        let bar = indicatif::ProgressBar::new(total as u64).with_message(what);
        let style =
            indicatif::ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Bar {
            bar,
            started: std::time::Instant::now(),
            show,
        }
    }

    /// So much is done. May be called from any thread.
    pub(crate) fn at(&self, done: usize) {
        // As late as a sign of life: a bar that is gone at once only makes people ask what it was.
        if self.show && self.started.elapsed().as_secs() >= 1 {
            self.bar.set_position(done as u64);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.show {
            self.bar.finish_and_clear();
        }
    }
}

/// What to do about a problem, with the flag that asks for it.
fn help(problem: &Problem) -> String {
    let flag = match problem.cure {
        Some(Cure::NameFormat) => " (--format)",
        Some(Cure::LeaveOutRescue) => " (--no-rescue)",
        Some(Cure::GiveCommand) => " (--run 'command {name}')",
        None => "",
    };
    format!("{}{flag}", problem.help)
}

/// Problems for machines.
pub(crate) fn problems_json(report: &Report) -> Value {
    let one = |p: &Problem| {
        let severity = match p.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        json!({
            "severity": severity, "file": p.place.file, "line": p.place.line, "column": p.place.column,
            "text": p.place.text, "message": p.message, "help": help(p),
        })
    };
    report.problems().iter().map(one).collect()
}

/// Prints what is wrong with the command line, as clap says it, as JSON.
pub(crate) fn print_usage_error(usage: &str) {
    let usage = usage.trim();
    let (message, help) = usage.split_once("\n\n").unwrap_or((usage, ""));
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = line(message);
    let message = match message.strip_prefix("error: ") {
        Some(message) => message.to_owned(),
        None => "no command is given".to_owned(), // clap gives the whole help then
    };
    let help = help.split("\n\n").map(line).filter(|l| !l.is_empty());
    let value = json!({ "error": message, "help": help.collect::<Vec<_>>().join("; ") });
    let _ = writeln!(std::io::stdout().lock(), "{value}");
}

/// Writes a whole file or none: into a temporary file beside it, renamed when complete. `-` is standard output, and other names of
/// what is open already are written to as they are. What is called `.gz` or `.zst` is packed.
pub(crate) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let stream = stream(path);
    if path == Path::new("-") || stream == Some(1) {
        // Standard output is flushed at every line otherwise: a flow has one a task.
        let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        let written = write(&mut out).and_then(|()| out.flush());
        return written.map_err(not_printed);
    }
    let shown = path.display().to_string();
    let replace = || -> std::io::Result<()> {
        match stream {
            Some(2) => return write(&mut std::io::stderr().lock()),
            // Whoever opened it has written there, and goes on: nothing of that is ours to replace.
            Some(_) => return write(&mut std::fs::File::options().append(true).open(path)?),
            None => (),
        }
        // A device such as /dev/null cannot be renamed over.
        if path.exists() && !path.metadata()?.is_file() {
            let mut out = std::fs::File::create(path)?;
            return write(&mut out);
        }
        let target = real(path);
        // Packed by the name that was asked for, also where that is a link to another.
        let staged = stage(&target, |out| write_packed(path, out, write))?;
        staged.persist(&target).map_err(|e| e.error)?;
        Ok(())
    };
    replace().map_err(|e| Failure::writing(&shown, &e))
}

/// Replaces several files, each whole: all are written into temporary files before the first is renamed, so a full disk
/// or a missing right leaves every one as it was. With `backup` the old ones are kept under that suffix, which must not
/// be taken.
pub(crate) fn replace_files(
    files: &[(PathBuf, Vec<u8>)],
    backup: Option<&str>,
) -> Result<(), Failure> {
    let kept = |path: &Path| {
        backup.map(|suffix| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        })
    };
    for old in files.iter().filter_map(|(path, _)| kept(path)) {
        if old.symlink_metadata().is_ok() {
            let old = old.display();
            return Err(Failure::usage(
                format!("{old} exists and would be overwritten by the backup"),
                "move it away, or choose another suffix with --backup",
            ));
        }
    }
    let failed = |path: &Path, e: &std::io::Error| Failure::writing(&path.display().to_string(), e);
    // All are written before the first takes its place, so that a full disk changes none of them.
    let mut staged = Vec::new();
    for (path, bytes) in files {
        let target = real(path);
        let new = stage(&target, |out| out.write_all(bytes))
            // The old text may go only when the new one is on the disk.
            .and_then(|new| new.as_file().sync_all().map(|()| new))
            .map_err(|e| failed(path, &e))?;
        staged.push((new, target));
    }
    let mut copies = Vec::new();
    for (path, _) in files {
        if let Some(old) = kept(path) {
            let copy = std::fs::read(path)
                .and_then(|bytes| stage(path, |out| out.write_all(&bytes)))
                .map_err(|e| failed(&old, &e))?;
            copies.push((copy, old));
        }
    }
    for (copy, old) in copies {
        // Somebody may have made such a file since it was looked for.
        let done = copy.persist_noclobber(&old);
        done.map_err(|e| failed(&old, &e.error))?;
    }
    for (new, target) in staged {
        let done = new.persist(&target);
        done.map_err(|e| failed(&target, &e.error))?;
    }
    Ok(())
}

/// The number of what is open already in this process, where the path is a name of that.
fn stream(path: &Path) -> Option<u32> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        other => {
            let number = other.strip_prefix("/dev/fd/");
            let number = number.or_else(|| other.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    }
}

/// The file itself where the path is a link to it: links stay links.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Writes a temporary file beside `path`, ready to be renamed, with the rights of `path`.
fn stage(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<tempfile::NamedTempFile> {
    // Beside it, since a rename is whole or not at all only on one file system.
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let mut temporary = tempfile::Builder::new()
        .prefix(".cairn-")
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(without_path)?;
    let mut out = std::io::BufWriter::with_capacity(1 << 16, temporary.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    give_usual_rights(temporary.as_file(), path)?;
    Ok(temporary)
}

/// The error without the name of the temporary file, which tells nobody anything.
fn without_path(error: std::io::Error) -> std::io::Error {
    match error.to_string().split_once(" at path ") {
        Some((why, _)) => std::io::Error::new(error.kind(), why),
        None => error,
    }
}

/// A temporary file is private; the file it becomes keeps the old one's rights, or gets the usual ones.
#[cfg(unix)]
fn give_usual_rights(file: &std::fs::File, target: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let rights = match target.metadata() {
        Ok(old) => old.permissions(),
        Err(_) => std::fs::Permissions::from_mode(0o644),
    };
    file.set_permissions(rights)
}

#[cfg(not(unix))]
fn give_usual_rights(_: &std::fs::File, _: &Path) -> std::io::Result<()> {
    Ok(())
}
