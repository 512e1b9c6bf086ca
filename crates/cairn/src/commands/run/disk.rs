//! `--disk` where tasks really run: the files of a flow for whoever runs it, orders within the cap, and why there is none. Deletes
//! nothing.

use super::super::caps::{Bytes, Disk};
use super::super::disk::{Model, no_room, reason_words, refused, would_do};
use crate::cli;
use crate::failure::Failure;
use crate::limits::Clock;
use crate::plural::counted;
use crate::screen;
use cairn_dag::{Flow, TaskId, plain};
use cairn_engine::{Keeper, Shortfall, Sizes, Taken, numbered};
use cairn_formats::size;
use cairn_plan::Work;
use cairn_plan::storage::FileId;
use cairn_serve::{Cap, Layout, Most, PLANNING_WITHIN_CAP, Unkept, Usage};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest factor that is no mistake.
// A judgement: whoever means bytes and not a factor is told.
const MOST_SAFETY: f64 = 1000.0;

/// The flags, checked.
pub(crate) fn checked(
    flags: &cli::DiskFlags,
    safety: f64,
    ignores_files: bool,
) -> Result<Option<Disk>, Failure> {
    let disk = Disk::new(flags)?;
    if !(1.0..=MOST_SAFETY).contains(&safety) {
        return Err(Failure::usage(
            format!("--safety {safety} is no factor"),
            "give 1 or more, such as --safety 1.3",
        ));
    }
    match &disk {
        Some(_) if ignores_files => Err(Failure::usage(
            "--disk counts declared files, and --ignore-files leaves them out",
            "leave one of them away",
        )),
        _ => Ok(disk),
    }
}

/// Others fill the disk.
pub(crate) fn held_back(missing: u64, usage: &Usage) -> String {
    format!(
        "held back: others fill the disk, {} are free, and the next task lacks {}; it goes on by itself when there is room",
        size::words(usage.free.into()),
        size::words(missing.into())
    )
}

/// They do so no more.
pub(crate) const GOES_ON: &str = "there is room again: it goes on";

pub(crate) fn not_deleted(path: &Path, why: &str) -> String {
    format!(
        "warning: {} is temporary and could not be deleted: {}",
        screen::path(path),
        plain(why)
    )
}

/// Nothing more can be done under the cap.
pub(crate) fn stuck(missing: u64) -> String {
    format!(
        "nothing more fits: {} are missing under the cap, give --disk more",
        size::words(missing.into())
    )
}

/// A cap that no order keeps, or none that was found.
pub(crate) fn no_order(unkept: &Unkept) -> Failure {
    Failure::of(unkept, plain(&unkept.cure))
}

/// The part of a flow that is to be executed.
pub(crate) struct Part<'f> {
    pub(crate) flow: &'f Flow,
    /// By task; all where nobody says.
    pub(crate) wanted: Option<&'f [bool]>,
    pub(crate) safety: f64,
}

/// The files of a flow: under a cap, or where the flow marks some as temporary.
pub(crate) fn layout(
    caps: Option<&Disk>,
    part: &Part<'_>,
    minds_files: bool,
    quick: &dyn Fn() -> Vec<TaskId>,
    tell: &dyn Fn(&str),
) -> Result<Option<Layout>, Failure> {
    let flow = part.flow;
    let Some(caps) = caps else {
        let mut outputs = flow.dag().tasks().flat_map(|t| flow.outputs(t));
        if !minds_files || !outputs.any(|f| f.temp) {
            return Ok(None);
        }
        // Without a cap it runs all the same.
        return match Model::marked(flow, None) {
            Ok(model) => Ok(Some(laid_out(flow, &model, None))),
            Err(error) => {
                tell(&format!(
                    "warning: temporary files are not deleted: {error}"
                ));
                Ok(None)
            }
        };
    };
    if !minds_files {
        return Err(Failure::usage(
            "--disk counts files on this disk, and those of this format are names of files elsewhere",
            "convert it to a flow file (cairn convert), where declared files are meant to be here",
        ));
    }
    let mut model = Model::marked(flow, Some(caps)).map_err(|error| refused(flow, &error))?;
    let unknown = model.files.unknown.len();
    if unknown > 0 {
        tell(&format!(
            "the size of {} is not known: each kind of task begins with one, until it is measured; --size-of and \
             --default-size give sizes",
            counted(unknown, "file")
        ));
    }
    let sizes = Sizes::new(
        &model.files.storage,
        numbered(flow.dag().tasks().map(|t| flow.kind(t))),
        &model.files.unknown,
        part.safety,
    );
    // Any order will do to begin with: the keeper looks for one within the cap before the first task starts.
    let order = quick();
    let keeper = (sizes.apply(&mut model.files.storage).ok())
        .and_then(|()| Keeper::new(model.files.storage.clone(), &order, Keeper::NO_CAP).ok());
    let mut keeper = keeper.ok_or_else(|| {
        Failure::usage(
            format!(
                "all sizes together, {} times for safety, are more than 2^60 bytes",
                part.safety
            ),
            "mend the sizes",
        )
    })?;
    keeper.learn(sizes);
    let cap = Cap {
        most: match caps.cap {
            Bytes::Given(bytes) => Most::Bytes(bytes),
            Bytes::OfFree(share) => Most::OfFree(share),
        },
        keeper,
        folder: PathBuf::from("."),
    };
    Ok(Some(laid_out(flow, &model, Some(cap))))
}

fn laid_out(flow: &Flow, model: &Model<'_>, cap: Option<Cap>) -> Layout {
    let paths = model.files.paths.iter();
    Layout {
        storage: model.files.storage.clone(),
        paths: paths.map(|path| path.map(str::to_owned)).collect(),
        kinds: cairn_serve::http::kinds(flow).1,
        cap,
    }
}

impl Part<'_> {
    /// Refuses a cap that no order keeps, where that is soon seen: so that nothing is begun in vain.
    pub(crate) fn refuse(&self, caps: Option<&Disk>, keeper: &Keeper) -> Result<(), Failure> {
        let stop = Clock::lasting(PLANNING_WITHIN_CAP).stop();
        let work = Work::until(&stop);
        match keeper.is_hopeless(self.flow.dag(), &mut work.unmetered()) {
            true => Err(no_order(&self.unkept(caps, keeper, &work))),
            false => Ok(()),
        }
    }

    /// The same for a run that begins now, under a cap in bytes. A share of what is free is the run's own to tell: it counts what
    /// earlier attempts left aside.
    pub(crate) fn refuse_new(
        &self,
        caps: Option<&Disk>,
        layout: &Layout,
        is_executed: &[bool],
        directory: &dyn Fn(TaskId) -> Option<PathBuf>,
        known: &Taken,
    ) -> Result<(), Failure> {
        let cap = layout.cap.as_ref();
        if !cap.is_some_and(|cap| matches!(cap.most, Most::Bytes(_))) {
            return Ok(());
        }
        match layout.foreseen((is_executed, self.wanted), directory, known) {
            Ok(Some(keeper)) => self.refuse(caps, &keeper),
            _ => Ok(()),
        }
    }

    /// An order of the waiting tasks within the cap, for the keeper; and in which order they are tried then: what frees more
    /// than it takes first.
    pub(crate) fn plan(
        &self,
        caps: Option<&Disk>,
        keeper: &mut Keeper,
        time: Duration,
    ) -> Result<Vec<TaskId>, Unkept> {
        let stop = Clock::lasting(time).stop();
        let work = Work::until(&stop);
        let order = keeper.order_within(self.flow.dag(), &mut work.unmetered());
        order.ok_or_else(|| self.unkept(caps, keeper, &work))
    }

    /// Why there is no order within the cap, or none was found.
    fn unkept(&self, caps: Option<&Disk>, keeper: &Keeper, work: &Work<'_>) -> Unkept {
        let short = keeper.shortfall(self.flow.dag(), &mut work.unmetered());
        let (lean, is_whole) = (&short.lean, short.is_whole);
        // At the beginning files have paths, which are named in the proof; of what is left later only sizes are known.
        let proof = match (is_whole, Model::marked(self.flow, caps)) {
            (true, Ok(mut model)) => {
                model.files.storage.clone_from(&short.storage);
                model.proof(self.flow, lean)
            }
            _ => self.proof_of_rest(&short),
        };
        let (of, measured) = match is_whole {
            true => ("", ""),
            false => (" of what is left", " that are not measured"),
        };
        let safety = match self.safety > 1.0 {
            // Said whenever it may be why: people forget that a default multiplies their sizes.
            true => format!(" (sizes{measured} count {} times: --safety)", self.safety),
            false => String::new(),
        };
        let is_least = lean.is_least() && self.wanted.is_none();
        Unkept {
            message: no_room(lean, keeper.cap(), of, &proof) + &safety,
            cure: would_do(lean, "--disk", is_least),
        }
    }

    fn proof_of_rest(&self, short: &Shortfall) -> String {
        let storage = &short.storage;
        let name = |task: TaskId| self.flow.shown(short.tasks[task.index()]).into_owned();
        let cut = |files: &[FileId]| {
            let there: u64 = files.iter().map(|&f| storage.bytes(f)).sum();
            (there > 0).then(|| format!("{} in files", size::words(there.into())))
        };
        reason_words(&short.lean.bound, storage, &name, &cut)
    }
}
