//! Parts: independent sub-problems of a dag, exact or relaxed, and how their best gains add up. Knows no flow.

use crate::exact::LONGEST_LOOK;
use crate::width::{long, narrow, wide};
use crate::work::Work;
use cairn_dag::{Dag, TaskId};

/// Tasks of which some can be executed, and what that gains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    /// By task of the part: those that must be executed before it. Empty lists throughout in a relaxed part.
    pub(crate) before: Vec<Vec<u32>>,
    /// Each reward is gained when all of these are executed. Never empty, ascending; sorted.
    pub(crate) rewards: Vec<Vec<u32>>,
}

/// A part and where it is.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) group: u32,
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) part: Part,
}

/// Cuts the tasks with children into parts that share no task and no reward.
///
/// `group[v]` is a number for every such task, never less than that of a parent. A task with parents is a reward
/// that asks only for those of its parents in the last group among them; and with `ordered`, a task waits for its
/// parents in its own group. To drop the other demands only makes more sets possible and gains larger. So for every
/// ideal X, gain(X) ≤ Σ (best gain of |X ∩ part| tasks of the part): a bound for any grouping. If X contains all
/// groups before g and nothing of the groups after, nothing is dropped: then the parts of g are the exact problem.
pub(crate) fn parts(dag: &Dag, group: &[u32], ordered: bool) -> Vec<Placed> {
    let last = |v: TaskId| dag.parents(v).iter().map(|p| group[p.index()]).max();
    let asked = |v: TaskId| {
        let last = last(v);
        let parents = dag.parents(v).iter().copied();
        parents.filter(move |p| Some(group[p.index()]) == last)
    };
    // If its last parents are of an earlier group, they are taken as executed.
    let waits = |v: TaskId| ordered && !dag.is_sink(v) && last(v) == Some(group[v.index()]);
    // Written out once more, as all here: the planner has one of its own.
    let mut sets = DisjointSets((0..narrow(dag.len())).collect());
    for v in dag.tasks() {
        let mut parents = asked(v);
        if let Some(first) = parents.next() {
            parents.for_each(|p| sets.join(first, p));
            if waits(v) {
                sets.join(first, v);
            }
        }
    }
    let mut part_of: Vec<Option<u32>> = vec![None; dag.len()];
    let mut number = vec![0; dag.len()];
    let mut placed: Vec<Placed> = Vec::new();
    // In this order tasks of a part are numbered after those they wait for, which `closures` relies on.
    for &v in dag.topological_order().iter().filter(|&&v| !dag.is_sink(v)) {
        let root = sets.find(v);
        let at = part_of[root.index()].unwrap_or_else(|| {
            placed.push(Placed {
                group: group[v.index()],
                tasks: Vec::new(),
                part: Part {
                    before: Vec::new(),
                    rewards: Vec::new(),
                },
            });
            narrow(placed.len()) - 1
        });
        part_of[root.index()] = Some(at);
        let Placed { tasks, part, .. } = &mut placed[wide(at)];
        part_of[v.index()] = Some(at);
        number[v.index()] = narrow(tasks.len());
        tasks.push(v);
        part.before.push(Vec::new());
    }
    for v in dag.tasks().filter(|&v| !dag.is_source(v)) {
        let mut list: Vec<u32> = asked(v).map(|p| number[p.index()]).collect();
        list.sort_unstable();
        let first = asked(v).next().expect("v has parents");
        let at = part_of[first.index()].expect("whoever has children is in a part");
        let part = &mut placed[wide(at)].part;
        if waits(v) {
            part.before[wide(number[v.index()])].clone_from(&list);
        }
        part.rewards.push(list);
    }
    placed
        .iter_mut()
        .for_each(|p| p.part.rewards.sort_unstable());
    placed
}

/// Union–find with path halving.
struct DisjointSets(Vec<u32>);

impl DisjointSets {
    fn find(&mut self, v: TaskId) -> TaskId {
        let mut at = v.index();
        while wide(self.0[at]) != at {
            let up = self.0[wide(self.0[at])];
            self.0[at] = up;
            at = wide(up);
        }
        TaskId::new(at)
    }

    fn join(&mut self, a: TaskId, b: TaskId) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.index()] = b.0;
    }
}

/// The best sum for each total number of tasks: the (max,+) convolution of the profiles. `None` when it costs too
/// much. Profiles with falling increments are merged by sorting these; the others are added one by one.
pub(crate) fn sum(profiles: &[&[u64]], work: &mut Work) -> Option<Vec<u64>> {
    let mut concave: Vec<u64> = Vec::new();
    let mut others: Vec<&[u64]> = Vec::new();
    for &profile in profiles {
        let steps: Vec<u64> = profile.windows(2).map(|w| w[1] - w[0]).collect();
        if steps.is_sorted_by(|a, b| a >= b) {
            concave.extend(steps);
        } else {
            others.push(profile);
        }
    }
    // The best t steps of several falling lists are the t largest of all, and each list's are taken from its front.
    concave.sort_unstable_by(|a, b| b.cmp(a));
    let mut total = vec![0];
    let mut height = 0;
    for step in concave {
        height += step;
        total.push(height);
    }
    // Short ones first keep the sum short for longest.
    others.sort_by_key(|p| p.len());
    work.lend(LONGEST_LOOK, |work| add_up(total, &others, work))
}

/// The sum of profiles one by one.
fn add_up(mut total: Vec<u64>, others: &[&[u64]], work: &mut Work) -> Option<Vec<u64>> {
    for profile in others {
        work.take(long(total.len()) * long(profile.len()))?;
        let mut next = vec![0; total.len() + profile.len() - 1];
        for (i, a) in total.iter().enumerate() {
            for (best, b) in next[i..].iter_mut().zip(*profile) {
                *best = (*best).max(a + b);
            }
        }
        total = next;
    }
    Some(total)
}
