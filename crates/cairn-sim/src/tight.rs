//! Lists of priorities under a cap on storage, played against each other: the fastest wins. Knows not how orders are found.

use crate::error::SimulateError;
use crate::gate::Admission;
use crate::measures::Measure;
use crate::policy::Policy;
use crate::study::{Options, Study, simulate};
use crate::workload::Workload;
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use cairn_plan::storage::shrink_first;
use cairn_theory::storage::Storage;
use std::sync::Arc;

/// Which list of priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// The order of small peak, what frees more than it takes first.
    ShrinkFirst,
    /// The order of small peak.
    Lean,
    /// The longest path first.
    CriticalPath,
    /// The same, what frees more than it takes first.
    ShrinkFirstCriticalPath,
    /// The plan.
    Ic,
    /// The longest path, leaning to tasks with much work below.
    PathPlus,
    /// The plan, what frees more than it takes first.
    ShrinkFirstIc,
}

impl ListKind {
    /// Its name for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            ListKind::ShrinkFirst => "shrink-first",
            ListKind::Lean => "lean",
            ListKind::CriticalPath => "critical-path",
            ListKind::ShrinkFirstCriticalPath => "shrink-first-critical-path",
            ListKind::Ic => "ic",
            ListKind::PathPlus => "path+",
            ListKind::ShrinkFirstIc => "shrink-first-ic",
        }
    }
}

/// Orders of all tasks, of which lists are made.
#[derive(Clone, Debug)]
pub struct ListOrders<'a> {
    /// The files.
    pub storage: &'a Storage,
    /// The order of small peak.
    pub lean: &'a [TaskId],
    /// The longest path first.
    pub critical_path: Vec<TaskId>,
    /// The plan and the order `path+`, where there is time for them.
    pub planned: Option<(Vec<TaskId>, Vec<TaskId>)>,
}

impl ListOrders<'_> {
    /// A list; `None` if it needs a plan and there is none.
    pub(crate) fn list(&self, kind: ListKind) -> Option<Vec<TaskId>> {
        let shrink = |order: &[TaskId]| shrink_first(self.storage, order);
        let planned = self.planned.as_ref();
        match kind {
            ListKind::ShrinkFirst => Some(shrink(self.lean)),
            ListKind::Lean => Some(self.lean.to_vec()),
            ListKind::CriticalPath => Some(self.critical_path.clone()),
            ListKind::ShrinkFirstCriticalPath => Some(shrink(&self.critical_path)),
            ListKind::Ic => planned.map(|(ic, _)| ic.clone()),
            ListKind::PathPlus => planned.map(|(_, more)| more.clone()),
            ListKind::ShrinkFirstIc => planned.map(|(ic, _)| shrink(ic)),
        }
    }

    /// These lists, as far as there are any, in this order: of equally fast ones the first wins.
    pub fn lists(&self, kinds: &[ListKind]) -> Vec<(ListKind, Vec<TaskId>)> {
        let list = |&kind: &ListKind| Some((kind, self.list(kind)?));
        kinds.iter().filter_map(list).collect()
    }
}

/// Plays lists under an admission.
///
/// # Errors
/// As [`simulate`].
pub fn play_lists(
    dag: &Dag,
    (work, world): (&Workload, &World),
    lists: &[(ListKind, Vec<TaskId>)],
    admission: &Arc<Admission>,
    options: &Options<'_>,
) -> Result<Study, SimulateError> {
    let policy = |(kind, order): &(ListKind, Vec<TaskId>)| {
        Policy::order(kind.name(), order).within(admission.clone())
    };
    let policies: Vec<Policy> = lists.iter().map(policy).collect();
    simulate(dag, work, world, &policies, options)
}

/// The mean makespan of a policy of a study.
pub fn mean_time(study: &Study, policy: usize) -> f64 {
    study.summary(policy, Measure::Makespan).mean
}

/// The places of a study's policies, the fastest on the mean first; of equally fast ones that which was given first.
pub fn fastest_first(study: &Study) -> Vec<usize> {
    let mut places: Vec<usize> = (0..study.outcomes.len()).collect();
    // Stable, so that equals keep the order they were given in.
    places.sort_by(|&a, &b| mean_time(study, a).total_cmp(&mean_time(study, b)));
    places
}
