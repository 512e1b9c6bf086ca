//! `cairn run --family`: a mesh, a tree or an FFT dag of any size, never written down.

use super::report::{print_line, span, words};
use super::{Settings, open_store, refused};
use crate::cli;
use crate::failure::{Failure, INTERRUPTED_CODE};
use crate::limits;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::plain;
use cairn_engine::{Rules, Shape, Token};
use cairn_formats::{Job, Run, Template};
use cairn_serve::run::{Counts, FamilyNews, FamilySetup, run_family};
use cairn_serve::spawn::{Line, Program, tail};
use cairn_theory::families::{
    EvolvingMesh, FamilyError, Fft, OutTree, ReductionMesh, ReductionTree,
};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often it is said how far the run is.
const SELDOM: Duration = Duration::from_secs(10);

/// So much of a log is shown.
const TAIL: usize = 10;

/// A family that somebody asked for, checked.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Its name in full: what a state is of.
    name: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Mesh(EvolvingMesh),
    ReductionMesh(ReductionMesh),
    Tree(ReductionTree),
    OutTree(OutTree),
    Fft(Fft),
}

impl Wanted {
    pub(super) fn new(flags: &cli::Run) -> Result<Option<Wanted>, Failure> {
        let Some(text) = &flags.family else {
            return Ok(None);
        };
        let wrong = |why: &str| {
            Failure::usage(
                format!("--family {}: {why}", plain(text)),
                "such as --family mesh:1000, mesh --until-level 1000, rmesh:100, tree:20, outtree:20:3 or fft:10",
            )
        };
        let mut parts = text.split(':');
        let word = parts.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = parts.map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong("behind the colon a number is wanted"))?;
        let kind = match (word, &numbers[..], flags.until_level) {
            ("mesh", [], Some(levels)) | ("mesh", &[levels], None) if levels > 0 => {
                EvolvingMesh::with_levels(levels).map(Kind::Mesh)
            }
            ("mesh", [], None) => {
                return Err(wrong("a mesh without end needs --until-level"));
            }
            (_, _, Some(_)) => {
                return Err(wrong("only a mesh without end takes --until-level"));
            }
            ("rmesh", [levels], None) if *levels > 0 => {
                ReductionMesh::with_levels(*levels).map(Kind::ReductionMesh)
            }
            ("tree", [height], None) => ReductionTree::new(2, *height).map(Kind::Tree),
            ("tree", [height, arity], None) => ReductionTree::new(*arity, *height).map(Kind::Tree),
            ("outtree", [height], None) => OutTree::new(2, *height).map(Kind::OutTree),
            ("outtree", [height, arity], None) => OutTree::new(*arity, *height).map(Kind::OutTree),
            ("fft", [dimension], None) => Fft::new(*dimension).map(Kind::Fft),
            _ => return Err(wrong("no such family, or not with such numbers")),
        };
        let kind = kind.map_err(|e: FamilyError| wrong(&e.to_string()))?;
        let name = match flags.until_level {
            Some(levels) => format!("mesh:{levels}"),
            None => text.clone(),
        };
        Ok(Some(Wanted { name, kind }))
    }

    fn shape(&self) -> Box<dyn Shape> {
        match self.kind {
            Kind::Mesh(family) => Box::new(family),
            Kind::ReductionMesh(family) => Box::new(family),
            Kind::Tree(family) => Box::new(family),
            Kind::OutTree(family) => Box::new(family),
            Kind::Fft(family) => Box::new(family),
        }
    }
}

fn program(template: &Template, level: u64, index: u64, log: PathBuf) -> Program {
    let value = |key: &str| match key {
        "level" => Some(level.to_string()),
        "index" => Some(index.to_string()),
        "name" => Some(format!("{level}-{index}")),
        _ => None,
    };
    let line = match Job::of_line(template.filled(value)).run {
        Run::Words(words) => Line::Words(words.into_iter().map(|w| w.into_owned()).collect()),
        Run::Shell(line) => Line::Shell(line.into_owned()),
        Run::Nothing => Line::Words(vec!["true".to_owned()]),
    };
    Program::new(line, log)
}

pub(super) fn run(
    settings: &Settings,
    wanted: &Wanted,
    template: &Template,
    out: &Output,
) -> Result<(), Failure> {
    let known = ["level", "index", "name"];
    if let Some(key) = template.keys().find(|key| !known.contains(key)) {
        return Err(Failure::usage(
            format!("--run: nobody knows {{{}}} here", plain(key)),
            "a family has {level}, {index} and {name}; {{ is a brace",
        ));
    }
    let (_, store) = open_store(settings)?;
    let begin = Instant::now();
    let mut last_line = Instant::now();
    let mut before = None;
    let setup = FamilySetup {
        name: wanted.name.clone(),
        shape: wanted.shape(),
        program: &|level, index, log| program(template, level, index, log),
        rules: Rules {
            retries: settings.flags.retries,
            failures: settings.flags.keep_going.unwrap_or(1),
            silence: cairn_engine::Span(u64::MAX / 4),
            ..Rules::default()
        },
        slots: settings.cpus,
    };
    let mut epoch = None;
    let ran = run_family(
        store,
        setup,
        &limits::interrupts,
        &mut |at, news, counts| {
            let began = *epoch.get_or_insert(at);
            before.get_or_insert(counts.executed);
            if out.json {
                tell_json(at.since(began).0 as f64 / 1e6, news);
            } else {
                tell(news, out);
            }
            if last_line.elapsed() >= SELDOM {
                last_line = Instant::now();
                out.remark(&status(counts));
            }
        },
    );
    let (counts, was_stopped) = ran.map_err(refused)?;
    let executed_now = counts.executed - before.unwrap_or(counts.executed);
    let seconds = begin.elapsed().as_secs_f64();
    let is_complete = counts.executed == counts.total;
    let value = json!({
        "done": true, "tasks": counts.total, "executed": counts.executed, "failed": counts.failed,
        "executed_now": executed_now, "complete": is_complete, "interrupted": was_stopped,
        "seconds": (seconds * 1e3).round() / 1e3,
    });
    let mut text = format!(
        "{} executed in {}",
        counted(executed_now, "task"),
        span(seconds)
    );
    if counts.failed > 0 {
        text += &format!(", {} failed", counts.failed);
    }
    if !is_complete {
        let left = counts.total - counts.executed - counts.failed;
        text += &format!(", {left} left; the same command goes on from here");
    }
    out.done(&value, &(text + "\n"))?;
    match is_complete {
        true => Ok(()),
        false if was_stopped => Err(Failure::Code(INTERRUPTED_CODE)),
        false => Err(Failure::No),
    }
}

fn status(counts: &Counts) -> String {
    let Counts {
        executed,
        total,
        running,
        ..
    } = counts;
    format!("[{executed}/{total}] {running} running")
}

fn tell(news: &FamilyNews<'_>, out: &Output) {
    match news {
        FamilyNews::Survivors(many) => {
            let many = counted(*many, "process");
            out.remark(&format!("{many} of an earlier run ended"));
        }
        FamilyNews::Started((level, index), _) if out.verbose => {
            out.remark(&format!("{level}-{index}"));
        }
        FamilyNews::Failed {
            place: (level, index),
            exit,
            cause,
            for_good,
            log,
            ..
        } => {
            let fate = match for_good {
                true => "failed",
                false => "failed, and is tried again",
            };
            let what = words(*exit, *cause, "");
            let mut text = format!("{level}-{index} {fate}: {}\n", plain(&what));
            if let Some(log) = log {
                text += &format!("  log: {}\n", crate::screen::path(log));
                for line in tail(log, TAIL).unwrap_or_default().lines() {
                    text += &format!("  | {}\n", plain(line));
                }
            }
            out.complain(&text);
        }
        _ => (),
    }
}

fn tell_json(t: f64, news: &FamilyNews<'_>) {
    let state = |(level, index): (u64, u64), state: &str, token: &Token, exit: Option<i32>| {
        print_line(&json!({
            "task": format!("{level}-{index}"), "state": state, "t": t, "worker": "here",
            "exit": exit, "attempt": token.attempt,
        }));
    };
    match news {
        FamilyNews::Started(place, token) => state(*place, "leased", token, None),
        FamilyNews::Executed(place, token) => state(*place, "executed", token, Some(0)),
        FamilyNews::GivenBack(place, token) => state(*place, "eligible", token, None),
        FamilyNews::Failed {
            place,
            token,
            exit,
            for_good,
            ..
        } => {
            let fate = if *for_good { "failed" } else { "eligible" };
            state(*place, fate, token, Some(*exit));
        }
        FamilyNews::Survivors(_) | FamilyNews::Pulse => (),
    }
}
