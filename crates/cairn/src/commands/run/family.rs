//! `cairn run --family`: a mesh, a tree or an FFT dag of any size, never written down.

use super::programs::{line, shown};
use super::report::{Reporter, Told};
use super::{Settings, open_store, refused, verdict};
use crate::cli;
use crate::failure::Failure;
use crate::limits;
use crate::output::Output;
use cairn_dag::plain;
use cairn_engine::{Rules, Shape, Task};
use cairn_formats::{Job, Run, Template};
use cairn_serve::run::{FamilySetup, Work, run_family};
use cairn_serve::spawn::Program;
use cairn_theory::families::{
    EvolvingMesh, FamilyError, Fft, OutTree, ReductionMesh, ReductionTree,
};
use std::borrow::Cow;
use std::path::PathBuf;

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

/// What the tasks of a family run.
struct Cells<'a> {
    shape: Box<dyn Shape>,
    template: &'a Template,
}

impl Cells<'_> {
    fn run(&self, task: Task) -> Run<'static> {
        let (level, index) = self.shape.place(task.0);
        let value = |key: &str| match key {
            "level" => Some(level.to_string()),
            "index" => Some(index.to_string()),
            "name" => Some(format!("{level}-{index}")),
            _ => None,
        };
        Job::of_line(self.template.filled(value)).run
    }
}

impl Work for Cells<'_> {
    fn program(&self, task: Task, _: u32, log: PathBuf) -> Option<Program> {
        Some(Program::new(line(self.run(task))?, log))
    }

    fn name(&self, task: Task) -> Cow<'_, str> {
        let (level, index) = self.shape.place(task.0);
        format!("{level}-{index}").into()
    }
}

impl Told for Cells<'_> {
    fn shown(&self, task: Task) -> Cow<'_, str> {
        self.name(task)
    }

    fn command(&self, task: Task) -> String {
        shown(self.run(task))
    }
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
    let cells = Cells {
        shape: wanted.shape(),
        template,
    };
    let setup = FamilySetup {
        name: wanted.name.clone(),
        shape: wanted.shape(),
        work: &cells,
        rules: Rules {
            retries: settings.flags.retries,
            failures: settings.flags.keep_going.unwrap_or(1),
            silence: cairn_engine::Span(u64::MAX / 4),
            ..Rules::default()
        },
        slots: settings.cpus,
    };
    let len = cells.shape.tasks().unwrap_or(u64::MAX);
    let mut reporter = Reporter::new(&cells, len, false, out);
    let ran = run_family(
        store,
        setup,
        &limits::interrupts,
        &mut |at, news, counts| reporter.hear(at, news, counts),
    );
    reporter.close();
    let summary = ran.map_err(refused)?;
    reporter.finish(&summary)?;
    verdict(&summary)
}
