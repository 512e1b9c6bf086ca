//! What `cairn run` is asked, from its flags, checked. Reads no workflow.

use super::saved::Report;
use crate::cli;
use crate::commands::caps;
use crate::commands::family::Wanted;
use crate::commands::runnable::{pool, template};
use crate::failure::Failure;
use crate::input::Named;
use crate::spare;
use crate::states;
use cairn_formats::Template;
use cairn_serve::store::{FILE, Store, Sync};
use std::path::PathBuf;

/// What to run, and how, checked.
pub(crate) struct Settings {
    pub(super) flags: cli::Run,
    pub(super) cpus: u32,
    pub(super) pools: Vec<(String, u32)>,
    pub(super) memory: Option<u64>,
    pub(super) disk: Option<caps::Disk>,
    pub(super) template: Option<Template>,
    pub(super) state: PathBuf,
    pub(super) input: cli::Input,
    pub(super) family: Option<Wanted>,
}

impl Settings {
    pub(crate) fn new(flags: cli::Run) -> Result<Settings, Failure> {
        let cpus = match flags.jobs {
            // Processors that this process may use, which a container or a batch system may have narrowed.
            None => std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            Some(jobs) => (u32::try_from(jobs).ok().filter(|&n| n > 0)).ok_or_else(|| {
                Failure::usage(
                    format!("-j {jobs} leaves nobody to do the work"),
                    "give 1 or more",
                )
            })?,
        };
        let pools: Result<_, Failure> = flags.pool.iter().map(|text| pool(text)).collect();
        let memory = (flags.memory.as_deref()).map(|text| caps::size("--memory", text));
        let input = flags.workflow.input();
        let template = template(flags.run.as_deref())?;
        check_files(&flags, &input)?;
        Ok(Settings {
            cpus,
            pools: pools?,
            memory: memory.transpose()?,
            disk: super::disk::checked(&flags.disk, flags.safety, flags.ignore_files)?,
            family: Wanted::new(&flags.workflow, template.as_ref())?,
            template,
            state: match (&flags.state, &flags.workflow.family) {
                (Some(state), _) => state.clone(),
                (None, Some(family)) => states::of_family(family),
                (None, None) => states::of_file(&input.file)?,
            },
            input,
            flags,
        })
    }

    /// Whether an earlier run left its state.
    pub(super) fn has_state(&self) -> bool {
        self.state.join(FILE).exists()
    }

    /// The store; for a dry run without one, an empty one that nobody sees.
    pub(super) fn open_store(&self) -> Result<(Option<tempfile::TempDir>, Store), Failure> {
        // Two types of one meaning: the store knows no flags.
        let sync = match self.flags.sync {
            cli::Sync::Full => Sync::Full,
            cli::Sync::Normal => Sync::Normal,
        };
        let mut scrap = None;
        let mut folder = self.state.as_path();
        // A dry run leaves no trace, not even an empty state that a later run would resume.
        if self.flags.dry_run && !self.has_state() {
            let made = tempfile::tempdir();
            let made = made.map_err(|e| Failure::writing("a temporary folder", &e))?;
            folder = scrap.insert(made).path();
        }
        let store = Store::create_or_open(folder, sync).map_err(|e| Failure::of(&e, ""))?;
        Ok((scrap, store))
    }

    /// The report that is wanted after the run.
    pub(super) fn report(&self) -> Report<'_> {
        Report {
            path: self.flags.report.as_deref(),
            state: &self.state,
        }
    }
}

/// What is read can be, and none of it is written over.
fn check_files(flags: &cli::Run, input: &cli::Input) -> Result<(), Failure> {
    let cure = "give another name to --report";
    let read = Named::of("the workflow", [&input.file]);
    let read = read.logs(&flags.times).checked()?;
    match &flags.report {
        Some(path) => {
            spare::none_of(&read.paths(), path, cure)?;
            spare::can_be_file(path)
        }
        None => Ok(()),
    }
}
