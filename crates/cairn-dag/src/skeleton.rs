//! The skeleton of a dag: the same order of tasks with the fewest arcs. Knows nothing of schedules.

mod detours;
mod fates;
mod hubs;
mod labels;
mod ranked;
mod sweep;

use crate::budgets::skeleton::USUAL;
use crate::{Dag, narrow};
use cairn_kernel::{Stopped, Work};
use detours::Detours;
use fates::{Fate, Fates};
use labels::Labels;
use ranked::Ranked;
pub(crate) use sweep::HEADS;

/// A dag without its shortcut arcs. Made by [`Dag::skeleton`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// The same tasks; an arc is left exactly when no longer path joins its ends.
    pub dag: Dag,
    /// How many shortcut arcs were removed.
    pub removed: usize,
}

impl Dag {
    /// The transitive skeleton (transitive reduction): drops every *shortcut*, an arc u→v beside which another path
    /// leads from u to v. Shortcuts change nothing about when a task is eligible, but can hide that a dag is
    /// composite (\[MRY06\] §5.1). The skeleton of a dag is unique.
    ///
    /// Cheap proofs first, each for what the ones before left open:
    /// 1. an arc between neighbouring longest-path levels, counted from the sources or from the sinks, is none;
    /// 2. an arc whose tail reaches a *hub* that reaches its head is one: 64 hubs a linear sweep, repeated for as
    ///    long as that decides many arcs;
    /// 3. a search from both ends that meets half way, pruned by levels and by 128-bit digests of what each task
    ///    reaches, within a budget;
    /// 4. reachability in bits, 512 heads at a time, over what is left of the dag.
    ///
    /// Time is near-linear on the usual sparse dags and on dense ones that are mostly shortcuts, and never more
    /// than O(tasks · arcs of the skeleton / 512) beyond linear: the budget of the searches is a fraction of what
    /// step 4 would cost. Space O(tasks + arcs): about 110 bytes a task and 21 an arc at the peak.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// let dag = Dag::from_arcs(3, vec![(0, 1), (1, 2), (0, 2)]).unwrap();
    /// let skeleton = dag.skeleton();
    /// assert_eq!(skeleton.removed, 1);
    /// assert_eq!(skeleton.dag.children(TaskId(0)), [TaskId(1)]);
    /// ```
    pub fn skeleton(&self) -> Skeleton {
        let found = self.skeleton_within(&mut Work::unlimited());
        found.expect("nobody says stop")
    }

    /// [`Dag::skeleton`] within `work`: an arc looked at is a step where it is not known before how many there will be; the
    /// linear sweeps between only ask.
    ///
    /// # Errors
    /// If the steps do not suffice, or it is time to stop.
    pub fn skeleton_within(&self, work: &mut Work<'_>) -> Result<Skeleton, Stopped> {
        skeleton(self, &USUAL, work)
    }
}

/// How much to try before the next step. The answer does not depend on it.
pub(crate) struct Tuning {
    /// Hubs a round, at most 64.
    pub(crate) hubs: usize,
    /// Rounds of hubs go on while each round decides one arc in this many.
    pub(crate) worth: usize,
    /// The searches for one head may look at this many arcs for every 4,096 that its block would walk.
    pub(crate) rate: u64,
    /// Searches with a smaller budget are not begun.
    pub(crate) least: usize,
    /// Heads a block.
    pub(crate) block: usize,
}

fn skeleton(dag: &Dag, tuning: &Tuning, work: &mut Work<'_>) -> Result<Skeleton, Stopped> {
    work.go_on()?;
    let ranked = Ranked::new(dag);
    let mut fates = Fates::by_levels(&ranked);
    if fates.open == 0 {
        return Ok(Skeleton {
            dag: dag.clone(),
            removed: 0,
        });
    }
    // From cheap to dear: each step sees only what the ones before left open.
    hubs::mark_through_hubs(&ranked, &mut fates, tuning, work)?;
    search_open(&ranked, &mut fates, tuning, work)?;
    let mut arcs = sweep::sweep(&ranked, &fates, tuning.block, work)?;
    for (parent, child) in &mut arcs {
        *parent = ranked.task(*parent).0;
        *child = ranked.task(*child).0;
    }
    drop(ranked);
    let removed = dag.arc_count() - arcs.len();
    let dag = Dag::from_arcs(dag.len(), arcs).expect("fewer arcs make no cycle");
    Ok(Skeleton { dag, removed })
}

/// Searches for a detour beside each open arc, as long as that is cheaper than a share in a sweep.
fn search_open(
    ranked: &Ranked,
    fates: &mut Fates,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    if fates.open == 0 {
        return Ok(());
    }
    work.go_on()?;
    let labels = Labels::new(ranked);
    let mut detours = Detours::new(ranked, &labels);
    for head in 0..narrow(ranked.len()) {
        let slots = ranked.parent_slots(head);
        let is_open = |slot: &usize| fates.of[*slot] == Fate::Open;
        let Some(first) = slots.clone().find(is_open) else {
            continue;
        };
        let mut open = slots.clone().filter(is_open).count();
        let first_tail = ranked.tail(first);
        // The arcs that a sweep would walk for this head alone; 512 heads share one sweep, and a bit is cheaper than a
        // heap.
        let walked = ranked.child_slots(head).start - ranked.child_slots(first_tail).start;
        // Not a part of `work`, which would ask anew for every head: a look at the clock each.
        let mut budget = Work::steps(walked as u64 * tuning.rate / 4096);
        // From above: the nearest tails have the cheapest searches.
        for slot in slots.rev() {
            if fates.of[slot] != Fate::Open {
                continue;
            }
            let share = budget.left() as usize / open;
            if share < tuning.least {
                break;
            }
            let (found, seen) = detours.detour(ranked.tail(slot), head, share);
            work.pay(seen as u64)?;
            // A search may use its share from either end, so up to twice: the budget may be gone before the last one.
            let _ = budget.spend(seen as u64);
            open -= 1;
            match found {
                Some(true) => fates.decide(slot, Fate::Shortcut),
                Some(false) => fates.decide(slot, Fate::Kept),
                None => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Each leads arcs through other steps.
    const TUNINGS: [Tuning; 6] = [
        USUAL,
        tuning(64, 1 << 30, 0, 1),
        tuning(1, 3, 1 << 20, 512),
        tuning(0, 0, 1 << 20, 3),
        tuning(0, 0, 1 << 12, 2),
        tuning(2, 1, 0, 1),
    ];

    const fn tuning(hubs: usize, worth: usize, rate: u64, block: usize) -> Tuning {
        Tuning {
            hubs,
            worth,
            rate,
            least: 0,
            block,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn removes_exactly_the_shortcuts(n in 0usize..26, style in 0usize..5, seed in any::<u64>()) {
            let theirs = cairn_oracle::random_dag(n, style, seed);
            let gone = cairn_oracle::shortcuts(&theirs);
            let expected: Vec<(u32, u32)> = (theirs.arcs())
                .filter(|arc| !gone.contains(arc))
                .map(|(u, v)| (u.0, v.0))
                .collect();
            let dag = Dag::from_arcs(n, theirs.arcs().map(|(u, v)| (u.0, v.0)).collect()).unwrap();
            for tuning in &TUNINGS {
                let skeleton = skeleton(&dag, tuning, &mut Work::unlimited()).unwrap();
                let got: Vec<_> = skeleton.dag.arcs().map(|(u, v)| (u.0, v.0)).collect();
                prop_assert_eq!(&got, &expected);
                prop_assert_eq!(skeleton.removed, gone.len());
            }
        }
    }

    /// Told to stop at whatever question, it ends there; else it finds what it finds.
    #[test]
    fn stops_when_told_to() {
        let theirs = cairn_oracle::random_dag(600, 1, 7);
        let dag = Dag::from_arcs(600, theirs.arcs().map(|(u, v)| (u.0, v.0)).collect()).unwrap();
        let expected = dag.skeleton();
        for tuning in &TUNINGS {
            let asked = AtomicU32::new(0);
            let never = || {
                asked.fetch_add(1, Ordering::Relaxed);
                false
            };
            let found = skeleton(&dag, tuning, &mut Work::until(&never));
            assert_eq!(found.as_ref(), Ok(&expected));
            let questions = asked.into_inner();
            // Before the first sweep over the arcs, and in each step that follows.
            assert!(questions >= 3, "{questions}");
            for last in [0, 1, questions / 2, questions - 1] {
                let asked = AtomicU32::new(0);
                let stop = || asked.fetch_add(1, Ordering::Relaxed) >= last;
                let found = skeleton(&dag, tuning, &mut Work::until(&stop));
                assert_eq!((found, asked.into_inner()), (Err(Stopped), last + 1));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn the_tuning_changes_nothing(n in 26usize..200, style in 0usize..5, seed in any::<u64>()) {
            let theirs = cairn_oracle::random_dag(n, style, seed);
            let dag = Dag::from_arcs(n, theirs.arcs().map(|(u, v)| (u.0, v.0)).collect()).unwrap();
            let expected = dag.skeleton();
            for tuning in &TUNINGS {
                prop_assert_eq!(&skeleton(&dag, tuning, &mut Work::unlimited()).unwrap(), &expected);
            }
        }
    }
}
