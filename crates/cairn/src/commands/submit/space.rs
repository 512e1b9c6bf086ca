//! `submit --disk`: the files of a workflow for a submission that is followed. Decides nothing.

use super::super::caps::{Disk, no_free_space};
use super::super::run::disk;
use crate::failure::Failure;
use crate::output::Output;
use cairn_dag::TaskId;
use cairn_engine::Keeper;
use cairn_formats::Jobs;
use cairn_plan::storage::FileId;
use cairn_serve::{Layout, bytes_at, free_bytes};
use cairn_submit::Handover;
use cairn_submit::slurm::{Files, NoRoom, Space};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest that an order within the cap is looked for.
// As a run has for it.
const PLANNING: Duration = Duration::from_secs(60);

/// The files of a workflow under their cap, and where each of them is.
pub(super) struct Shelved<'f> {
    caps: &'f Disk,
    part: disk::Part<'f>,
    keeper: Keeper,
    /// By file.
    pub(super) places: Vec<Option<PathBuf>>,
}

impl<'f> Shelved<'f> {
    /// What a cap is held against; what is to be said of it is said. Nothing is written: asked before the plan, which may take a
    /// minute.
    pub(super) fn new(
        caps: &'f Disk,
        part: disk::Part<'f>,
        jobs: &Jobs,
        is_here: bool,
        home: &Path,
        out: &Output,
    ) -> Result<Shelved<'f>, Failure> {
        let flow = part.flow;
        // Any order to begin with: one within the cap is looked for when it is known what lies there.
        let quick = || cairn_plan::policy::outdegree(flow.dag());
        let tell = |text: &str| out.remark(text);
        let layout = disk::layout(Some(caps), &part, is_here, &quick, &tell)?;
        let Some(Layout {
            storage,
            paths,
            cap: Some(cap),
            ..
        }) = layout
        else {
            unreachable!("there is a cap");
        };
        let place = |file: FileId| {
            let path = paths.get(file.index())?.as_deref()?;
            let producer = storage.producer(file);
            let task = producer.or_else(|| storage.consumers(file).next())?;
            let folder = jobs.job(task).directory;
            let folder = folder.map_or_else(|| home.to_owned(), |f| home.join(f));
            Some(folder.join(path))
        };
        let places: Vec<Option<PathBuf>> = storage.files().map(place).collect();
        let there = places.iter().flatten().filter_map(|path| bytes_at(path));
        let most = cap.most.bytes(|| free_bytes(home), there.sum());
        let mut keeper = cap.keeper;
        keeper.set_cap(most.map_err(|e| no_free_space(home, &e))?);
        Ok(Shelved {
            caps,
            part,
            keeper,
            places,
        })
    }

    /// The same for a submission of these tasks, by place.
    pub(super) fn space(self, tasks: Vec<TaskId>, handover: &Handover) -> Space<'f> {
        let (caps, part) = (self.caps, self.part);
        let planner = move |keeper: &mut Keeper| {
            let planned = part.plan(Some(caps), keeper, PLANNING);
            planned.map_err(|unkept| NoRoom {
                message: unkept.message,
                cure: unkept.cure,
            })
        };
        let shelf = Shelf {
            places: self.places,
        };
        Space::new(
            self.keeper,
            tasks,
            handover,
            Box::new(shelf),
            Box::new(planner),
        )
    }
}

/// Files where they are.
struct Shelf {
    places: Vec<Option<PathBuf>>,
}

impl Files for Shelf {
    fn bytes(&mut self, file: FileId) -> Option<u64> {
        let path = self.places[file.index()].as_deref()?;
        Some(bytes_at(path).unwrap_or(0))
    }

    fn delete(&mut self, file: FileId) -> Result<(), String> {
        let Some(path) = self.places[file.index()].as_deref() else {
            return Ok(());
        };
        if path.is_dir() {
            return Err("it is a folder, and folders are not deleted".to_owned());
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}
