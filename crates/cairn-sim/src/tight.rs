//! Lists of priorities under a cap on storage, played against each other: the fastest wins. Knows not how orders are found.

use crate::budgets::{contest, curve};
use crate::error::SimulateError;
use crate::gate::Admission;
use crate::measures::Measure;
use crate::policy::Policy;
use crate::spread::Spread;
use crate::study::{Options, Study, simulate};
use crate::workload::Workload;
use crate::world::World;
use cairn_dag::{Dag, TaskId};
use cairn_engine::{Keeper, caps_between};
use cairn_kernel::Work;
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

/// By how much another list than the first must be faster.
// A judgement: within 1 % six runs tell nothing.
const GAIN: f64 = 0.99;

/// The lists that are played then, that by which tasks run already first.
const WHILE_RUNNING: [ListKind; 7] = [
    ListKind::ShrinkFirst,
    ListKind::ShrinkFirstCriticalPath,
    ListKind::ShrinkFirstIc,
    ListKind::Lean,
    ListKind::CriticalPath,
    ListKind::Ic,
    ListKind::PathPlus,
];

/// A list of priorities that is faster under a keeper, with so many workers, than "what frees more than it takes first", by which
/// tasks run already. `None` where there is none, or where there was no time to find out.
pub fn faster_list(
    dag: &Dag,
    orders: &ListOrders<'_>,
    seconds: &[f64],
    keeper: &Keeper,
    workers: u32,
    work: &Work<'_>,
) -> Option<Vec<TaskId>> {
    let mut lists = orders.lists(&WHILE_RUNNING);
    // Nothing takes no time: a world of zeros could not tell lists apart.
    let known: Vec<Option<f64>> = seconds.iter().map(|s| Some(s.max(0.001))).collect();
    // Give or take a third, a judgement: with exact durations a list would win by coincidences that never come about.
    let noise = Spread::LogNormal {
        median: 1.0,
        sigma: 0.3,
    };
    let load = Workload::known(&known).ok()?.times(noise).ok()?;
    let world = World::throttled(workers, workers).ok()?;
    let admission = Arc::new(Admission::Kept(Box::new(keeper.clone())));
    let options = Options {
        runs: contest::WHILE_TASKS_RUN,
        work: work.clone(),
        ..Options::default()
    };
    let study = play_lists(dag, (&load, &world), &lists, &admission, &options).ok()?;
    let best = *fastest_first(&study).first()?;
    let is_worth_it = mean_time(&study, best) < GAIN * mean_time(&study, 0);
    is_worth_it.then(|| lists.swap_remove(best).1)
}

/// The knee is the smallest cap that takes no longer than this, compared with none.
// 5 %, a judgement; the words of the answer and the guide say it too.
const KNEE: f64 = 1.05;

/// Time against the cap.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeByCap {
    /// Without a cap: the mean time, no number where there was no time to find out, and the most bytes on the mean.
    pub free: (f64, f64),
    /// Caps that grow, each with the least mean time that is known to be possible under it and the list that reached it.
    pub points: Vec<(u64, f64, ListKind)>,
    /// The smallest cap that costs hardly any time, compared with none.
    pub knee: Option<u64>,
}

impl TimeByCap {
    /// Adds what a cap that is larger than all before came to: a larger cap allows whatever a smaller one does.
    fn push(&mut self, cap: u64, time: f64, by: ListKind) {
        let (time, by) = match self.points.last() {
            Some(&(_, less, before)) if less < time => (less, before),
            _ => (time, by),
        };
        self.points.push((cap, time, by));
        if self.knee.is_none() && time <= KNEE * self.free.0 {
            self.knee = Some(cap);
        }
    }
}

/// How long lists take under caps from the smallest that can be kept, as far as there is time; those that were fastest under
/// the cap asked for come first. `keeper` makes one for a cap.
///
/// # Errors
/// As [`simulate`], but for a lack of time.
pub fn time_by_cap(
    dag: &Dag,
    scene: (&Workload, &World),
    lists: &[(ListKind, Vec<TaskId>)],
    keeper: impl Fn(u64) -> Keeper,
    least: u64,
    options: &Options<'_>,
) -> Result<TimeByCap, SimulateError> {
    let options = Options {
        runs: options.runs.min(curve::RUNS),
        ..options.clone()
    };
    // The best of some lists under an admission: its place, the mean time and the study.
    let best = |lists: &[(ListKind, Vec<TaskId>)], admission: Admission| match play_lists(
        dag,
        scene,
        lists,
        &Arc::new(admission),
        &options,
    ) {
        Ok(study) => {
            let place = fastest_first(&study).first().copied().unwrap_or(0);
            Ok(Some((place, mean_time(&study, place), study)))
        }
        Err(SimulateError::OutOfTime { .. }) => Ok(None),
        Err(error) => Err(error),
    };
    let storage = keeper(Keeper::NO_CAP).storage().clone();
    let total = storage.total() as f64;
    let endless = Admission::FitsNow {
        storage,
        cap: Keeper::NO_CAP,
    };
    let free = best(lists, endless)?;
    let mut by_cap = TimeByCap {
        free: free.map_or((f64::NAN, total), |(place, time, study)| {
            (time, study.summary(place, Measure::PeakDisk).mean)
        }),
        points: Vec::new(),
        knee: None,
    };
    let few = &lists[..lists.len().min(curve::LISTS)];
    for cap in caps_between(least, (by_cap.free.1 as u64).max(least), curve::POINTS) {
        if options.work.clone().is_stopped() {
            break;
        }
        if let Some((place, time, _)) = best(few, Admission::Kept(Box::new(keeper(cap))))? {
            by_cap.push(cap, time, few[place].0);
        }
    }
    Ok(by_cap)
}

/// The mean makespan of a policy of a study.
fn mean_time(study: &Study, policy: usize) -> f64 {
    study.summary(policy, Measure::Makespan).mean
}

/// The places of a study's policies, the fastest on the mean first; of equally fast ones that which was given first.
pub fn fastest_first(study: &Study) -> Vec<usize> {
    let mut places: Vec<usize> = (0..study.outcomes.len()).collect();
    // Stable, so that equals keep the order they were given in.
    places.sort_by(|&a, &b| mean_time(study, a).total_cmp(&mean_time(study, b)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_cap_is_never_slower_and_the_knee_is_the_first_that_is_hardly() {
        let curve = |free: f64| {
            let mut curve = TimeByCap {
                free: (free, 0.0),
                points: Vec::new(),
                knee: None,
            };
            curve.push(10, 30.0, ListKind::Lean);
            curve.push(20, 10.4, ListKind::Ic);
            curve.push(40, 10.9, ListKind::Lean);
            curve
        };
        assert_eq!(curve(10.0).points[2], (40, 10.4, ListKind::Ic));
        assert_eq!(curve(10.0).knee, Some(20));
        assert_eq!(curve(9.0).knee, None);
        assert_eq!(curve(f64::NAN).knee, None);
    }

    use cairn_plan::policy::critical_path;
    use cairn_theory::storage::Stored;

    /// One long chain beside many short ones: with room for both, the long one must not wait until the short ones are gone.
    #[test]
    fn the_long_path_goes_first_where_the_cap_leaves_room_for_it() {
        // 0..40: a long chain; behind it pairs.
        let reader = |i: u32| match i {
            39 => None,
            i if i < 39 || i % 2 == 0 => Some(i + 1),
            _ => None,
        };
        let files = (0..200).map(|i| Stored {
            producer: Some(TaskId(i)),
            bytes: 10,
            is_kept: false,
            consumers: reader(i).into_iter().map(TaskId).collect(),
        });
        let (storage, _) = Storage::new(200, files.collect(), Vec::new()).unwrap();
        let arcs = (0..200).filter_map(|i| Some((i, reader(i)?)));
        let dag = Dag::from_arcs(200, arcs.collect()).unwrap();
        let seconds: Vec<f64> = (0..200).map(|i| if i < 40 { 10.0 } else { 1.0 }).collect();
        let lean: Vec<TaskId> = (40..200).chain(0..40).map(TaskId).collect();
        let keeper = Keeper::new(storage.clone(), &lean, 45).unwrap();
        let orders = ListOrders {
            storage: &storage,
            lean: &lean,
            critical_path: critical_path(&dag, Some(&seconds)),
            planned: None,
        };
        let order = faster_list(&dag, &orders, &seconds, &keeper, 2, &Work::unlimited()).unwrap();
        let place = |t: u32| order.iter().position(|&o| o == TaskId(t)).unwrap();
        // Of the tasks that take more than they free, the head of the chain is the first.
        let others = (40..200).step_by(2).map(place);
        assert!(others.min() > Some(place(0)), "{}", place(0));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..200).map(TaskId).collect::<Vec<_>>());
        // Who is stopped keeps what there is, and so do those whose list is the best already.
        assert_eq!(
            faster_list(&dag, &orders, &seconds, &keeper, 2, &Work::until(&|| true)),
            None
        );
        let alone = faster_list(&dag, &orders, &seconds, &keeper, 1, &Work::unlimited());
        assert_eq!(alone, None, "one worker is as fast in any order");
    }
}
