//! Batches for a known sequence of requests: not only the best now, but good for what follows. A heuristic.

use super::{Batch, BatchEffort, Batcher};
use cairn_dag::TaskId;
use cairn_kernel::Work;

/// A way through a sequence of requests.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    /// The batch for each request.
    pub batches: Vec<Vec<TaskId>>,
    /// Eligible tasks after each batch is executed.
    pub eligible: Vec<usize>,
}

impl Ahead {
    /// One batch more, executed.
    fn serve(&mut self, batcher: &mut Batcher<'_>, chosen: Vec<TaskId>) {
        for &task in &chosen {
            (batcher.state_mut().execute(task)).expect("a chosen task is eligible");
        }
        self.eligible.push(batcher.state().eligible().len());
        self.batches.push(chosen);
    }

    fn total(&self) -> usize {
        self.eligible.iter().sum()
    }
}

/// Serves `requests` one after the other, each batch executed before the next is chosen. For each request two
/// batches are tried, the best one now and the plan's own next tasks, each followed by best batches to the end; the
/// one with the larger sum of eligible tasks over all steps is kept. A heuristic: no optimality is claimed.
/// Costs O(k²) batches for k requests; once `work` is told to stop, the rest goes by the best batches now, each in haste.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_plan::Work;
/// use cairn_plan::batch::{BatchEffort, BatchState, Batcher, look_ahead};
/// let dag = Dag::from_arcs(4, vec![(0, 2), (1, 3)]).unwrap();
/// let batcher = Batcher::new(BatchState::new(&dag), dag.topological_order());
/// let ahead = look_ahead(&batcher, &[1, 2], &BatchEffort::default(), &mut Work::unlimited());
/// assert_eq!(ahead.eligible, [2, 1]);
/// ```
pub fn look_ahead(
    batcher: &Batcher<'_>,
    requests: &[usize],
    effort: &BatchEffort,
    work: &mut Work<'_>,
) -> Ahead {
    let mut now = batcher.clone();
    let mut way = Ahead::default();
    for (i, &count) in requests.iter().enumerate() {
        let best = now.choose_until(count, effort, work);
        // The plan knows what comes after many batches, the best batch only the next step: either may be the better
        // start.
        let planned = now.first_by_rank(best.chosen.len());
        let is_worth_a_look = planned != best.chosen && !work.is_stopped();
        // The first batch as given, then the best one for each request.
        let mut follow = |first: &[TaskId]| {
            let (mut now, mut way) = (now.clone(), Ahead::default());
            way.serve(&mut now, first.to_vec());
            for &count in &requests[i + 1..] {
                let Batch { chosen, .. } = now.choose_until(count, effort, work);
                way.serve(&mut now, chosen);
            }
            way.total()
        };
        let chosen = if is_worth_a_look && follow(&planned) > follow(&best.chosen) {
            planned
        } else {
            best.chosen
        };
        way.serve(&mut now, chosen);
    }
    way
}
