//! HEFT and PEFT: ranks and static schedules for workers of known speed. Knows no volatile worker and no clock.

use crate::eligible::Eligible;
use crate::policy::Ranking;
use crate::worker::WorkerId;
use crate::workload::BytesByChild;
use cairn_dag::{Dag, TaskId};
use cairn_theory::game::Game;

/// What a scheduler believes about its workers.
pub(crate) trait Platform {
    /// How many workers there are.
    fn workers(&self) -> usize;
    /// Expected seconds of a task on a worker.
    fn time(&self, task: TaskId, worker: WorkerId) -> f64;
    /// The mean of [`Platform::time`] over the workers.
    fn mean_time(&self, task: TaskId) -> f64;
    /// Seconds to bring bytes to a worker from elsewhere.
    fn transfer(&self, bytes: f64, worker: WorkerId) -> f64;
    /// The mean of [`Platform::transfer`] over the workers.
    fn mean_transfer(&self, bytes: f64) -> f64;
}

/// By task: the longest path to a sink, both ends included, over mean times and mean transfers. O(tasks + arcs).
///
/// The *upward rank* of Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for
/// heterogeneous computing" (2002).
pub(crate) fn upward_ranks(dag: &Dag, bytes: &BytesByChild, platform: &impl Platform) -> Vec<f64> {
    let mut rank = vec![0.0; dag.len()];
    for &task in dag.topological_order().iter().rev() {
        // Until now it has the longest way below it alone, told by its children, which all come before it in this
        // direction.
        rank[task.index()] += platform.mean_time(task);
        let below = rank[task.index()];
        for (k, &parent) in dag.parents(task).iter().enumerate() {
            let through = below + platform.mean_transfer(bytes.get(task.index(), k));
            let best: &mut f64 = &mut rank[parent.index()];
            *best = best.max(through);
        }
    }
    rank
}

/// By task and worker: the least time that must follow a task's end if it runs on that worker.
///
/// The *optimistic cost table* of Arabnejad, Barbosa, "List scheduling algorithm for heterogeneous systems by an
/// optimistic cost table" (2014).
#[derive(Clone, Debug, Default)]
pub(crate) struct OptimisticCosts {
    workers: usize,
    costs: Vec<f64>,
}

impl OptimisticCosts {
    /// O(workers · (tasks + arcs)): whether the next task stays or moves to its best place is one comparison, for the
    /// mean transfer is the same between any two workers.
    pub(crate) fn new(
        dag: &Dag,
        bytes: &BytesByChild,
        platform: &impl Platform,
    ) -> OptimisticCosts {
        let workers = platform.workers();
        let mut costs = vec![0.0; dag.len() * workers];
        let mut stay = vec![0.0; workers];
        for &task in dag.topological_order().iter().rev() {
            let row = task.index() * workers;
            for (w, stay) in stay.iter_mut().enumerate() {
                *stay = costs[row + w] + platform.time(task, WorkerId::new(w));
            }
            // The papers look at every pair of workers; as moving costs the same between any two, the best place to
            // move to is the same for all.
            let best = stay.iter().copied().fold(f64::INFINITY, f64::min);
            for (k, &parent) in dag.parents(task).iter().enumerate() {
                let moved = best + platform.mean_transfer(bytes.get(task.index(), k));
                let row = parent.index() * workers;
                for (w, &stay) in stay.iter().enumerate() {
                    let cost: &mut f64 = &mut costs[row + w];
                    // The most over children, since all must end; for each the least over where it could go.
                    *cost = cost.max(stay.min(moved));
                }
            }
        }
        OptimisticCosts { workers, costs }
    }

    /// The cost of a task on a worker; on one that joined later, the mean.
    pub(crate) fn get(&self, task: TaskId, worker: WorkerId) -> f64 {
        if worker.index() < self.workers {
            self.costs[task.index() * self.workers + worker.index()]
        } else {
            self.mean(task)
        }
    }

    /// By task: its rank, the mean over the workers.
    pub(crate) fn ranks(&self, dag: &Dag) -> Vec<f64> {
        dag.tasks().map(|t| self.mean(t)).collect()
    }

    fn mean(&self, task: TaskId) -> f64 {
        let row = task.index() * self.workers;
        self.costs[row..row + self.workers].iter().sum::<f64>() / self.workers as f64
    }
}

/// A task's place in a static schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slot {
    pub(crate) task: TaskId,
    pub(crate) start: f64,
    pub(crate) finish: f64,
}

/// The static schedule of HEFT, or with `costs` of PEFT: by worker, its tasks in order.
///
/// Ready tasks by rank, each put where it finishes earliest (plus optimistic cost), into a gap if it fits. Where the
/// transfers and times agree with the papers' this is their algorithm. O(tasks · workers · (gaps + parents)).
pub(crate) fn static_schedule(
    dag: &Dag,
    bytes: &BytesByChild,
    platform: &impl Platform,
    ranking: &Ranking,
    costs: Option<&OptimisticCosts>,
) -> Vec<Vec<Slot>> {
    let mut lists: Vec<Vec<Slot>> = vec![Vec::new(); platform.workers()];
    let mut place = vec![(WorkerId::default(), 0.0f64); dag.len()];
    let mut game = Game::new(dag);
    let mut eligible = Eligible::default();
    eligible.reset_by_rank(ranking);
    dag.sources().for_each(|t| eligible.insert(t));
    while let Some(task) = eligible.pop() {
        let mut best: Option<(f64, WorkerId, Slot)> = None;
        for (worker, list) in (0..).map(WorkerId::new).zip(&lists) {
            let mut ready = 0.0f64;
            for (k, &parent) in dag.parents(task).iter().enumerate() {
                let (where_made, finish) = place[parent.index()];
                let bytes = bytes.get(task.index(), k);
                let moved = if where_made == worker {
                    0.0
                } else {
                    platform.transfer(bytes, worker)
                };
                ready = ready.max(finish + moved);
            }
            let time = platform.time(task, worker);
            let start = earliest_gap(list, ready, time);
            let slot = Slot {
                task,
                start,
                finish: start + time,
            };
            let score = slot.finish + costs.map_or(0.0, |c| c.get(task, worker));
            // Strictly less: of equal workers the first, on every machine.
            if best.is_none_or(|(least, ..)| score < least) {
                best = Some((score, worker, slot));
            }
        }
        let (_, worker, slot) = best.expect("there is at least one worker");
        // By start and by end: a task that takes no time goes before one that starts with it.
        let list = &mut lists[worker.index()];
        let at = list.partition_point(|s| (s.start, s.finish) <= (slot.start, slot.finish));
        list.insert(at, slot);
        place[task.index()] = (worker, slot.finish);
        (game.execute(task, |t| eligible.insert(t))).expect("what was taken was eligible");
    }
    lists
}

/// The earliest start, not before `ready`, at which `time` fits between the slots of a worker.
fn earliest_gap(list: &[Slot], ready: f64, time: f64) -> f64 {
    let mut start = ready;
    // What ends by then is no gap to look into. Slots are by start and do not overlap, so ends rise as well.
    for slot in &list[list.partition_point(|s| s.finish <= ready)..] {
        if start + time <= slot.start {
            break;
        }
        start = start.max(slot.finish);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    /// A platform told task by task, with transfers of one second a byte.
    struct Matrix<const P: usize>(Vec<[f64; P]>);

    impl<const P: usize> Platform for Matrix<P> {
        fn workers(&self) -> usize {
            P
        }
        fn time(&self, task: TaskId, worker: WorkerId) -> f64 {
            self.0[task.index()][worker.index()]
        }
        fn mean_time(&self, task: TaskId) -> f64 {
            self.0[task.index()].iter().sum::<f64>() / P as f64
        }
        fn transfer(&self, bytes: f64, _: WorkerId) -> f64 {
            bytes
        }
        fn mean_transfer(&self, bytes: f64) -> f64 {
            bytes
        }
    }

    /// Both papers' examples have one shape: ten tasks, fifteen arcs; `bytes` in the order of the sorted arcs.
    fn example(bytes: [f64; 15]) -> (Dag, BytesByChild) {
        let arcs = [
            (0, 1),
            (0, 2),
            (0, 3),
            (0, 4),
            (0, 5),
            (1, 7),
            (1, 8),
            (2, 6),
            (3, 7),
            (3, 8),
            (4, 8),
            (5, 7),
            (6, 9),
            (7, 9),
            (8, 9),
        ];
        let dag = Dag::from_arcs(10, arcs.to_vec()).unwrap();
        let work = Workload::unit().with_bytes(bytes.to_vec()).unwrap();
        let bytes = work.bytes_by_child(&dag);
        (dag, bytes)
    }

    fn makespan(lists: &[Vec<Slot>]) -> f64 {
        lists.iter().flatten().map(|s| s.finish).fold(0.0, f64::max)
    }

    /// Topcuoglu, Hariri, Wu 2002: ranks of table 3 and the schedule of length 80 in figure 3.
    #[test]
    fn the_published_example_of_heft() {
        let (dag, bytes) = example([
            18., 12., 9., 11., 14., 19., 16., 23., 27., 23., 13., 15., 17., 11., 13.,
        ]);
        let platform = Matrix(vec![
            [14., 16., 9.],
            [13., 19., 18.],
            [11., 13., 19.],
            [13., 8., 17.],
            [12., 13., 10.],
            [13., 16., 9.],
            [7., 15., 11.],
            [5., 11., 14.],
            [18., 12., 20.],
            [21., 7., 16.],
        ]);
        let ranks = upward_ranks(&dag, &bytes, &platform);
        let published = [
            108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667,
        ];
        for (ours, theirs) in ranks.iter().zip(published) {
            assert!((ours - theirs).abs() < 1e-3, "{ranks:?}");
        }
        let lists = static_schedule(&dag, &bytes, &platform, &Ranking::by_falling(&ranks), None);
        assert_eq!(makespan(&lists), 80.0);
    }

    /// Arabnejad, Barbosa 2014: the cost table, and the schedule of length 122 against HEFT's 133.
    #[test]
    fn the_published_example_of_peft() {
        let (dag, bytes) = example([
            17., 31., 29., 13., 7., 3., 30., 16., 11., 7., 57., 5., 9., 42., 7.,
        ]);
        let platform = Matrix(vec![
            [22., 21., 36.],
            [22., 18., 18.],
            [32., 27., 43.],
            [7., 10., 4.],
            [29., 27., 35.],
            [26., 17., 24.],
            [14., 25., 30.],
            [29., 23., 36.],
            [15., 21., 8.],
            [13., 16., 33.],
        ]);
        let costs = OptimisticCosts::new(&dag, &bytes, &platform);
        assert_eq!(
            costs.costs[..9],
            [64., 68., 86., 42., 39., 42., 27., 41., 43.]
        );
        assert_eq!(
            costs.costs[9..18],
            [42., 39., 50., 28., 37., 28., 42., 39., 44.]
        );
        assert_eq!(
            costs.costs[18..],
            [13., 16., 22., 13., 16., 33., 13., 16., 20., 0., 0., 0.]
        );
        let ranking = Ranking::by_falling(&costs.ranks(&dag));
        let peft = static_schedule(&dag, &bytes, &platform, &ranking, Some(&costs));
        assert_eq!(makespan(&peft), 122.0);
        let ranking = Ranking::by_falling(&upward_ranks(&dag, &bytes, &platform));
        let heft = static_schedule(&dag, &bytes, &platform, &ranking, None);
        assert_eq!(makespan(&heft), 133.0);
    }

    #[test]
    fn gaps_are_found_and_kept_apart() {
        let slot = |start, finish| Slot {
            task: TaskId(0),
            start,
            finish,
        };
        let list = [slot(2.0, 4.0), slot(5.0, 6.0)];
        assert_eq!(earliest_gap(&list, 0.0, 2.0), 0.0);
        assert_eq!(earliest_gap(&list, 0.0, 2.5), 6.0);
        assert_eq!(earliest_gap(&list, 1.0, 1.0), 1.0);
        assert_eq!(earliest_gap(&list, 3.0, 1.0), 4.0);
        assert_eq!(earliest_gap(&list, 4.5, 0.75), 6.0);
        assert_eq!(earliest_gap(&list, 9.0, 1.0), 9.0);
        assert_eq!(earliest_gap(&[], 3.0, 1.0), 3.0);
    }
}
