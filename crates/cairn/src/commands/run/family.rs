//! `cairn run --family`: a mesh, a tree or an FFT dag of any size, never written down.

use super::ended::{refused, verdict};
use super::programs::{line, shown};
use super::report::{Reporter, Told};
use super::saved;
use super::settings::Settings;
use crate::commands::family::{Wanted, called};
use crate::failure::Failure;
use crate::limits;
use crate::output::Output;
use cairn_engine::{Rules, Shape, Task};
use cairn_formats::Run;
use cairn_serve::run::{FamilySetup, TaskPrograms, run_family};
use cairn_serve::spawn::Program;
use cairn_theory::families::ENDLESS;
use std::borrow::Cow;
use std::path::PathBuf;

/// What the tasks of a family run.
struct Cells<'a> {
    shape: Box<dyn Shape>,
    wanted: &'a Wanted,
}

impl Cells<'_> {
    fn run(&self, task: Task) -> Run<'static> {
        let (level, index) = self.shape.place(task.0);
        self.wanted.command(level, index)
    }
}

impl TaskPrograms for Cells<'_> {
    fn program(&self, task: Task, _: u32, log: PathBuf) -> Option<Program> {
        Some(Program::new(line(self.run(task))?, log))
    }

    fn name(&self, task: Task) -> Cow<'_, str> {
        let (level, index) = self.shape.place(task.0);
        called(level, index).into()
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

pub(super) fn run(settings: &Settings, wanted: &Wanted, out: &Output) -> Result<(), Failure> {
    let (_, store) = settings.open_store()?;
    let cells = Cells {
        shape: wanted.shape(),
        wanted,
    };
    let (name, shape, until) = wanted.without_end();
    let rules = Rules {
        retries: settings.flags.retries,
        failures: settings.flags.keep_going.unwrap_or(1),
        // Nobody is silent here: the slots are this process.
        silence: cairn_engine::Span::EVER,
        ..Rules::default()
    };
    let setup = FamilySetup {
        name,
        command: wanted.line(),
        shape,
        until,
        programs: &cells,
        rules: rules.clone(),
        slots: settings.cpus,
    };
    let len = cells.shape.tasks().unwrap_or(ENDLESS);
    let mut reporter = Reporter::new(&cells, len, false, out);
    let ran = run_family(
        store,
        setup,
        &limits::interrupts,
        &mut |at, news, counts| reporter.hear(at, news, counts),
    );
    reporter.close();
    let summary = ran.map_err(refused)?;
    saved::write_family(settings.report(), wanted, &rules, out);
    reporter.finish(&summary)?;
    verdict(&summary)
}
