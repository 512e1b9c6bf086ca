//! `submit --disk`: the files of a workflow for a submission that is followed. Decides nothing.

use super::super::caps::{Disk, no_free_space};
use super::super::run::disk;
use crate::failure::Failure;
use crate::output::Output;
use cairn_dag::TaskId;
use cairn_engine::{Keeper, Taken};
use cairn_formats::Jobs;
use cairn_plan::storage::FileId;
use cairn_serve::{PLANNING_WITHIN_CAP, bytes_at};
use cairn_submit::Handover;
use cairn_submit::slurm::{Files, NoRoom, Space};
use std::path::{Path, PathBuf};

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
    /// minute. Of a submission that is taken up again only the queue tells what is left, and whether that fits.
    pub(super) fn new(
        caps: &'f Disk,
        part: disk::Part<'f>,
        (jobs, is_here): (&Jobs, bool),
        (is_executed, is_new): (&[bool], bool),
        home: &Path,
        out: &Output,
    ) -> Result<Shelved<'f>, Failure> {
        let flow = part.flow;
        // Any order to begin with: one within the cap is looked for when it is known what lies there.
        let quick = || cairn_plan::policy::outdegree(flow.dag());
        let tell = |text: &str| out.remark(text);
        let layout = disk::layout(Some(caps), &part, is_here, &quick, &tell)?;
        let layout = layout.expect("there is a cap");
        let folder = |task| Some(home.join(jobs.job(task).directory.unwrap_or_default()));
        let places = layout.places(&folder);
        let tasks = (is_executed, part.wanted);
        let foreseen = layout.foreseen(tasks, &folder, &Taken::default());
        let foreseen = foreseen.map_err(|e| no_free_space(home, &e))?;
        let (Some(cap), Some(foreseen)) = (layout.cap, foreseen) else {
            unreachable!("there is a cap");
        };
        if is_new {
            part.refuse(Some(caps), &foreseen)?;
        }
        let mut keeper = cap.keeper;
        keeper.set_cap(foreseen.cap());
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
            let planned = part.plan(Some(caps), keeper, PLANNING_WITHIN_CAP);
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
        match &self.places[file.index()] {
            Some(path) => cairn_serve::delete(path),
            None => Ok(()),
        }
    }
}
