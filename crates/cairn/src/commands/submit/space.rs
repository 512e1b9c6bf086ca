//! `submit --disk`: the files of a workflow for a submission that is followed. Decides nothing.

use super::super::caps::{Bytes, Disk};
use super::super::run::disk;
use crate::cli;
use crate::failure::Failure;
use crate::output::Output;
use cairn_dag::{Flow, TaskId};
use cairn_engine::Keeper;
use cairn_formats::Jobs;
use cairn_plan::storage::FileId;
use cairn_serve::{Layout, bytes_at};
use cairn_submit::Handover;
use cairn_submit::slurm::{Files, NoRoom, Space};
use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest that an order within the cap is looked for.
// As a run has for it.
const PLANNING: Duration = Duration::from_secs(60);

/// What a cap is held against.
pub(super) struct Wanted<'f> {
    pub(super) flow: &'f Flow,
    pub(super) jobs: &'f Jobs,
    /// By place.
    pub(super) tasks: Vec<TaskId>,
    /// Whether declared files are meant to be here.
    pub(super) is_here: bool,
    pub(super) home: &'f Path,
    /// By file: where it is.
    pub(super) places: OnceCell<Vec<Option<PathBuf>>>,
}

impl<'f> Wanted<'f> {
    /// By file: where it is, once somebody asked for the space.
    pub(super) fn paths(&self) -> Vec<Option<PathBuf>> {
        self.places.get().cloned().unwrap_or_default()
    }

    /// The files under their cap; what is asked for is said on the way.
    pub(super) fn space(
        &self,
        caps: &'f Disk,
        flags: &cli::Submit,
        handover: &Handover,
        out: &Output,
    ) -> Result<Space<'f>, Failure> {
        let flow = self.flow;
        let part = disk::Part {
            flow,
            wanted: None,
            safety: flags.safety,
        };
        // Any order to begin with: one within the cap is looked for when it is known what lies there.
        let quick = || cairn_plan::policy::outdegree(flow.dag());
        let said = |text: &str| out.remark(text);
        let layout = disk::layout(Some(caps), &part, self.is_here, &quick, &said)?;
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
            let folder = self.jobs.job(task).directory;
            let folder = folder.map_or_else(|| self.home.to_owned(), |f| self.home.join(f));
            Some(folder.join(path))
        };
        let places: Vec<Option<PathBuf>> = storage.files().map(place).collect();
        let there = places.iter().flatten().filter_map(|path| bytes_at(path));
        let most = match caps.cap {
            Bytes::Given(bytes) => bytes,
            share @ Bytes::OfFree(_) => {
                let free = share.in_folder(self.home)?;
                let of = free.of_free.map_or(1.0, |(share, _)| share);
                // What lies there already is ours to write over: it counts as free.
                (there.sum::<u64>() as f64 * of) as u64 + free.bytes
            }
        };
        let mut keeper = cap.keeper;
        keeper.set_cap(most);
        let shelf = Shelf {
            places: places.clone(),
        };
        let _ = self.places.set(places);
        let planner = move |keeper: &mut Keeper| {
            let planned = part.plan(Some(caps), keeper, PLANNING);
            planned.map_err(|unkept| NoRoom {
                message: unkept.message,
                cure: unkept.cure,
            })
        };
        let tasks = self.tasks.clone();
        Ok(Space::new(
            keeper,
            tasks,
            handover,
            Box::new(shelf),
            Box::new(planner),
        ))
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
