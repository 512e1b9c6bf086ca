//! What is said while a workflow runs: a status line on a terminal, plain lines elsewhere, JSON lines for machines. Runs nothing.

use super::disk;
use crate::failure::Failure;
use crate::layout;
use crate::output::Output;
use crate::plural::{counted, span};
use crate::screen;
use cairn_dag::plain;
use cairn_engine::{Cause, Moment, Task, Token};
use cairn_formats::size;
use cairn_serve::Usage;
use cairn_serve::run::{Counts, Failed, HalfMade, News, Summary, TaskPrograms};
use cairn_serve::spawn::tail;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Without a terminal a line says how far the run is, so often.
// A judgement: a day's run has 8,640 such lines in its log.
const SELDOM: Duration = Duration::from_secs(10);

/// So much of a log is shown.
// Chosen by eye, as the next: the end of a stack trace, and the message above it stays on the screen.
const TAIL: usize = 10;

/// So many tasks that run again are named.
// A screen has room for these and for what stands above them; how many more there are is said.
const FEW: usize = 10;

/// Tasks that people are told of.
pub(super) trait Told: TaskPrograms {
    /// What people call the task.
    fn shown(&self, task: Task) -> Cow<'_, str>;

    /// Its command for people; empty if there is none.
    fn command(&self, task: Task) -> String;
}

/// Says what happens.
pub(super) struct Reporter<'a> {
    tasks: &'a dyn Told,
    /// How many there are.
    len: u64,
    is_dry: bool,
    out: &'a Output,
    begin: Instant,
    /// The first moment that was told of.
    epoch: Option<Moment>,
    /// On a terminal.
    line: Option<indicatif::ProgressBar>,
    last_line: Instant,
    /// How many were executed when the run began.
    executed_before: Option<usize>,
    again: usize,
    would_run: usize,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(
        tasks: &'a dyn Told,
        len: u64,
        is_dry: bool,
        out: &'a Output,
    ) -> Reporter<'a> {
        // Never in a dry run: its lines are the answer.
        let show = !out.quiet && !out.json && !is_dry && std::io::stderr().is_terminal();
        let line = show.then(|| {
            let line = indicatif::ProgressBar::new_spinner();
            let style = indicatif::ProgressStyle::with_template("{msg}");
            // A template that does not parse would be our mistake, and no reason to end a run.
            line.set_style(style.unwrap_or_else(|_| indicatif::ProgressStyle::default_spinner()));
            line
        });
        Reporter {
            tasks,
            len,
            is_dry,
            out,
            begin: Instant::now(),
            epoch: None,
            line,
            last_line: Instant::now(),
            executed_before: None,
            again: 0,
            would_run: 0,
        }
    }

    /// Something happened.
    pub(super) fn hear(&mut self, at: Moment, news: &News<'_>, counts: &Counts) {
        // Times for machines count from the first news: the engine's own clock begins at some moment of its own.
        self.epoch.get_or_insert(at);
        self.executed_before.get_or_insert(counts.executed);
        if self.out.json {
            self.print_json(at, news);
        } else {
            self.say(news, counts);
        }
        let is_due = self.last_line.elapsed() >= SELDOM;
        match &self.line {
            Some(line) if matches!(news, News::Pulse) => line.set_message(self.status(counts)),
            // Where a terminal has its line, that is enough.
            None if is_due && !self.is_dry => {
                self.last_line = Instant::now();
                self.out.remark(&self.status(counts));
            }
            _ => (),
        }
    }

    fn status(&self, counts: &Counts) -> String {
        let mut text = format!(
            "[{}/{}] {} running",
            counts.executed, counts.total, counts.running
        );
        if counts.failed > 0 {
            text += &format!(", {} failed", counts.failed);
        }
        // What earlier runs executed says nothing of how fast this one is.
        let done = (counts.executed).saturating_sub(self.executed_before.unwrap_or(0));
        let left = (counts.total).saturating_sub(counts.executed + counts.failed + counts.aborted);
        if done > 0 && left > 0 {
            let seconds = self.begin.elapsed().as_secs_f64() * left as f64 / done as f64;
            text += &format!(", ETA {}", span(seconds));
        }
        text
    }

    fn say(&mut self, news: &News<'_>, counts: &Counts) {
        let shown = |task: Task| self.tasks.shown(task);
        match news {
            News::Survivors(many) => self.remark(&format!(
                "ended {} that an earlier run had left",
                counted(*many, "process")
            )),
            News::HalfMade(HalfMade::Removed(path)) => {
                self.remark(&format!(
                    "removed {}, which was half-made",
                    screen::path(path)
                ));
            }
            News::HalfMade(HalfMade::Moved(from, to)) => self.remark(&format!(
                "moved {} to {}: an attempt that failed had changed it",
                screen::path(from),
                screen::path(to)
            )),
            News::HalfMade(HalfMade::Left(path, why)) => self.complain(&format!(
                "warning: {} is half-made and could not be removed: {}",
                screen::path(path),
                plain(why)
            )),
            News::Again(task, why) => {
                self.again += 1;
                if self.again <= FEW || self.out.verbose {
                    self.remark(&format!("{} runs again: {}", shown(*task), why.words()));
                } else if self.again == FEW + 1 {
                    self.remark("…");
                }
            }
            News::Started { task, token } if self.out.verbose => {
                let text = format!(
                    "[{}/{}] {}{}: {}",
                    counts.executed,
                    counts.total,
                    shown(*task),
                    attempt(*token),
                    plain(&self.tasks.command(*task))
                );
                self.remark(&text);
            }
            News::Failed(failed) => self.complain(&self.failure(failed)),
            News::WouldRun(task) => {
                self.would_run += 1;
                let command = self.tasks.command(*task);
                let line = match command.is_empty() {
                    true => format!("{}\n", shown(*task)),
                    false => format!("{}: {}\n", shown(*task), plain(&command)),
                };
                // Whoever closed the pipe has read enough.
                let _ = std::io::stdout().write_all(screen::text(&line).as_bytes());
            }
            News::Deleted(path, bytes) if self.out.verbose => self.remark(&format!(
                "deleted {}, {}: all that read it are executed",
                screen::path(path),
                size::words((*bytes).into())
            )),
            News::NotDeleted(path, why) => self.complain(&disk::not_deleted(path, why)),
            News::HeldBack { missing, usage } => self.remark(&disk::held_back(*missing, usage)),
            News::GoesOn => self.remark(disk::GOES_ON),
            News::Ordered(about)
                if self.out.verbose || (about.settled && !about.why.is_empty()) =>
            {
                self.remark(&format!("order: {}", plain(&about.words())));
            }
            _ => (),
        }
    }

    fn failure(&self, failed: &Failed<'_>) -> String {
        let Failed {
            task,
            token,
            for_good,
            ..
        } = *failed;
        let shown = self.tasks.shown(task);
        let fate = match for_good {
            true => "failed",
            false => "failed, and is tried again",
        };
        let what = words(failed.exit, failed.cause, failed.detail);
        let mut text = format!("{shown}{} {fate}: {}\n", attempt(token), plain(&what));
        if !for_good && !self.out.verbose {
            return text;
        }
        let command = self.tasks.command(task);
        if !command.is_empty() {
            text += &format!("  command: {}\n", plain(&command));
        }
        let Some(log) = failed.log else { return text };
        text += &format!("  log: {}\n", screen::path(log));
        for line in tail(log, TAIL).unwrap_or_default().lines() {
            let width = layout::known_width().unwrap_or(usize::MAX);
            text += &format!(
                "  | {}\n",
                layout::short(&plain(line), width - "  | ".len())
            );
        }
        text
    }

    /// Above the status line, where there is one.
    fn above(&self, print: impl FnOnce()) {
        match &self.line {
            Some(line) => line.suspend(print),
            None => print(),
        }
    }

    fn remark(&self, text: &str) {
        self.above(|| self.out.remark(text));
    }

    fn complain(&self, text: &str) {
        self.above(|| self.out.complain(text));
    }

    fn print_json(&mut self, at: Moment, news: &News<'_>) {
        let name = |task: &Task| self.tasks.name(*task);
        let t = at.since(self.epoch.unwrap_or(at)).0 as f64 / 1e6;
        let state = |task: &Task, state: &str, token: Option<&Token>, exit: Option<i32>| {
            json!({
                "task": name(task), "state": state, "t": t, "worker": token.map(|_| "here"),
                "exit": exit, "attempt": token.map(|token| token.attempt),
            })
        };
        let value = match news {
            News::Started { task, token } => state(task, "leased", Some(token), None),
            News::Executed { task, token } => state(task, "executed", Some(token), Some(0)),
            News::GivenBack { task, token } => state(task, "eligible", Some(token), None),
            News::Aborted(task) => state(task, "aborted", None, None),
            News::Failed(failed) => {
                let fate = if failed.for_good {
                    "failed"
                } else {
                    "eligible"
                };
                let mut value = state(&failed.task, fate, Some(&failed.token), Some(failed.exit));
                value["cause"] = json!(failed.cause.name());
                if !failed.detail.is_empty() {
                    value["detail"] = json!(failed.detail);
                }
                value["log"] = json!(failed.log.map(|log| log.display().to_string()));
                value
            }
            News::Again(task, why) => {
                let mut value = state(task, "waiting", None, None);
                value["why"] = json!(why.words());
                value
            }
            News::WouldRun(task) => {
                self.would_run += 1;
                let mut value = state(task, "would-run", None, None);
                value["command"] = json!(self.tasks.command(*task));
                value
            }
            News::Survivors(many) => json!({ "survivors_ended": many, "t": t }),
            News::HalfMade(HalfMade::Removed(path)) => {
                json!({ "half_made": path.display().to_string(), "fate": "removed", "t": t })
            }
            News::HalfMade(HalfMade::Moved(path, to)) => json!({
                "half_made": path.display().to_string(), "fate": "moved",
                "to": to.display().to_string(), "t": t,
            }),
            News::HalfMade(HalfMade::Left(path, why)) => json!({
                "half_made": path.display().to_string(), "fate": "left", "why": why, "t": t,
            }),
            News::Deleted(path, bytes) => {
                json!({ "deleted": path.display().to_string(), "bytes": bytes, "t": t })
            }
            News::NotDeleted(path, why) => json!({
                "not_deleted": path.display().to_string(), "why": why, "t": t,
            }),
            News::HeldBack { missing, usage } => {
                json!({ "held_back": true, "missing": missing, "storage": storage(usage), "t": t })
            }
            News::GoesOn => json!({ "held_back": false, "t": t }),
            // It stands in the summary.
            News::Ordered(_) | News::Pulse => return,
        };
        print_line(&value);
    }

    /// No more news.
    pub(super) fn close(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }

    /// How it ended.
    pub(super) fn finish(&self, summary: &Summary) -> Result<(), Failure> {
        self.close();
        let counts = &summary.counts;
        let seconds = self.begin.elapsed().as_secs_f64();
        let mut value = json!({
            "done": true,
            "tasks": self.len,
            "executed": counts.executed,
            "failed": counts.failed,
            "aborted": counts.aborted,
            "executed_now": summary.executed_now,
            "attempts": summary.started,
            "complete": summary.is_complete,
            "interrupted": summary.was_stopped,
            "seconds": (seconds * 1e3).round() / 1e3,
        });
        if let Some(about) = &summary.about {
            value["order"] = json!(about);
        }
        if let Some(usage) = &summary.usage {
            value["storage"] = storage(usage);
        }
        if let Some(missing) = summary.stuck {
            value["missing_bytes"] = json!(missing);
        }
        if self.is_dry {
            value["dry_run"] = json!(true);
            value["would_run"] = json!(self.would_run);
        }
        self.out.done(&value, &self.words(summary, seconds))
    }

    fn words(&self, summary: &Summary, seconds: f64) -> String {
        let counts = &summary.counts;
        if self.is_dry {
            return match self.would_run {
                0 => "nothing to do\n".to_owned(),
                many => format!("{} would run\n", counted(many, "task")),
            };
        }
        if summary.is_complete && summary.started == 0 {
            let many = counted(counts.total, "task");
            return format!("nothing to do: {many} executed before\n");
        }
        let mut text = format!(
            "{} executed in {}",
            counted(summary.executed_now, "task"),
            span(seconds)
        );
        let mut and = |many: usize, what: &str| {
            if many > 0 {
                text += &format!(", {many} {what}");
            }
        };
        and(counts.failed, "failed");
        and(counts.aborted, "not tried since one before them failed");
        let left = (counts.total).saturating_sub(counts.executed + counts.failed + counts.aborted);
        and(left, "left");
        if let Some(missing) = summary.stuck {
            text += &format!("; {}", disk::stuck(missing));
        } else if !summary.is_complete {
            text += "; the same command goes on from here";
        }
        text + "\n"
    }
}

/// How the disk stands, for machines.
fn storage(usage: &Usage) -> Value {
    json!({
        "cap": usage.asked, "cap_now": usage.cap, "used": usage.used, "reserved": usage.reserved,
        "peak": usage.peak, "free": usage.free, "safe": usage.is_safe,
    })
}

fn attempt(token: Token) -> String {
    match token.attempt {
        1 => String::new(),
        attempt => format!(" (attempt {attempt})"),
    }
}

/// What went wrong.
fn words(exit: i32, cause: Cause, detail: &str) -> String {
    let what = match cause {
        Cause::Exit => format!("exit code {exit}"),
        Cause::Signal => format!("signal {exit}"),
        Cause::Memory => "it wanted more memory than it may take".to_owned(),
        Cause::Time => "it took longer than its limit".to_owned(),
        Cause::Output => return format!("{detail} (--ignore-files: do not look)"),
        Cause::Start => return format!("it could not be started: {detail}"),
    };
    match detail.is_empty() {
        true => what,
        false => format!("{what}; {detail}"),
    }
}

/// A line for machines, at once. Whoever closed the pipe is told nothing more, and the run goes on.
fn print_line(value: &Value) {
    let mut line = Vec::new();
    if screen::write_json(&mut line, value).is_ok() {
        line.push(b'\n');
        let _ = std::io::stdout().lock().write_all(&line);
    }
}
