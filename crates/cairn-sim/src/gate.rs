//! Storage under a cap inside a run: which eligible tasks may start. Knows no worker, no time and no priorities.

use crate::budgets::run::LOOK;
use crate::eligible::Eligible;
use cairn_dag::{TaskId, narrow};
use cairn_engine::Keeper;
use cairn_theory::game::{Game, Standing};
use cairn_theory::storage::{FileId, Storage};

/// Who may start, as far as the disk goes; the same for every run.
#[derive(Clone, Debug)]
pub enum Admission {
    /// The banker's rule, by a keeper under which nothing was started: never over its cap, and no run stops for good.
    Kept(Box<Keeper>),
    /// Whatever fits at the moment: a run stops for good once what is left needs room that half-done work holds.
    FitsNow {
        /// The files.
        storage: Storage,
        /// The cap.
        cap: u64,
    },
}

/// One run under an [`Admission`].
pub(crate) struct Gate<'a> {
    rule: Admitting<'a>,
    peak: u64,
}

enum Admitting<'a> {
    Kept(Box<Keeper>),
    FitsNow(FitsNow<'a>),
}

struct FitsNow<'a> {
    storage: &'a Storage,
    cap: u64,
    used: u64,
    /// By file: readers that are not done.
    open: Vec<u32>,
}

impl<'a> Gate<'a> {
    pub(crate) fn new(admission: &'a Admission) -> Gate<'a> {
        let rule = match admission {
            // A copy of the keeper for every run: nothing was started under it, so all runs begin alike.
            Admission::Kept(keeper) => Admitting::Kept(keeper.clone()),
            Admission::FitsNow { storage, cap } => {
                let readers = |f: FileId| narrow(storage.consumer_slots(f).len());
                // What nobody reads and nobody keeps is as good as deleted.
                let there = storage.initial().filter(|&f| storage.outlives(f));
                Admitting::FitsNow(FitsNow {
                    used: there.map(|f| storage.bytes(f)).sum(),
                    open: storage.files().map(readers).collect(),
                    cap: *cap,
                    storage,
                })
            }
        };
        let mut gate = Gate { rule, peak: 0 };
        gate.peak = gate.used();
        gate
    }

    fn used(&self) -> u64 {
        match &self.rule {
            Admitting::Kept(keeper) => keeper.used(),
            Admitting::FitsNow(now) => now.used,
        }
    }

    /// The most bytes in use so far.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// Whether an eligible task may start.
    pub(crate) fn may(&mut self, task: TaskId) -> bool {
        match &mut self.rule {
            Admitting::Kept(keeper) => keeper.may(task),
            Admitting::FitsNow(now) => {
                now.used.saturating_add(now.storage.reserved(task)) <= now.cap
            }
        }
    }

    /// The first of the eligible tasks that may start and for which there is a place: of the first few in the policy's
    /// order, else of the first few in the keeper's own.
    pub(crate) fn choose(
        &mut self,
        game: &Game<'_>,
        eligible: &Eligible,
        fits: impl Fn(TaskId) -> bool,
    ) -> Option<TaskId> {
        let mut from = 0;
        for _ in 0..LOOK {
            let Some((task, next)) = eligible.next(from) else {
                break;
            };
            from = next;
            if fits(task) && self.may(task) {
                return Some(task);
            }
        }
        let Admitting::Kept(keeper) = &mut self.rule else {
            // Nobody has an order of its own: all are looked at.
            while let Some((task, next)) = eligible.next(from) {
                from = next;
                if fits(task) && self.may(task) {
                    return Some(task);
                }
            }
            return None;
        };
        // The order that the keeper proved safe can always go on while nothing runs: so a run under it never stops
        // for good, whatever the policy wants first.
        let next: Vec<TaskId> = keeper.next_by_order().collect();
        let open = |t: &TaskId| game.standing(*t) == Standing::Eligible && fits(*t);
        next.into_iter().filter(open).find(|&t| keeper.may(t))
    }

    /// Whether nothing runs and none of the eligible tasks may start: nothing will ever change.
    pub(crate) fn is_stuck(&mut self, game: &Game<'_>, eligible: &Eligible) -> bool {
        // While something runs its end may free room; only without that is a refusal for ever.
        game.count(Standing::Leased) == 0
            && !eligible.is_empty()
            && self.choose(game, eligible, |_| true).is_none()
    }

    /// A task starts.
    pub(crate) fn start(&mut self, task: TaskId) {
        match &mut self.rule {
            Admitting::Kept(keeper) => keeper.start(task),
            Admitting::FitsNow(now) => now.used += now.storage.reserved(task),
        }
        self.peak = self.peak.max(self.used());
    }

    /// A task that runs has ended well.
    pub(crate) fn finish(&mut self, task: TaskId) {
        match &mut self.rule {
            Admitting::Kept(keeper) => keeper.finish(task),
            Admitting::FitsNow(now) => now.finish(task),
        }
    }

    /// A task that runs is given up for lost, and what it wrote is gone.
    pub(crate) fn release(&mut self, task: TaskId) {
        match &mut self.rule {
            Admitting::Kept(keeper) => keeper.release(task),
            Admitting::FitsNow(now) => now.used -= now.storage.reserved(task),
        }
    }
}

impl FitsNow<'_> {
    fn finish(&mut self, task: TaskId) {
        let storage = self.storage;
        // What lasts of what it wrote stays; the rest of the reservation goes.
        self.used -= storage.reserved(task) - storage.lasting(task);
        for file in storage.inputs(task) {
            let open = &mut self.open[file.index()];
            *open -= 1;
            if *open == 0 && !storage.is_kept(file) {
                self.used -= storage.bytes(file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Crew, Options, Policy, PoolSettings, SimulateError, World, endings, simulate};
    use cairn_dag::Dag;
    use cairn_oracle::{Random, random_dag};
    use cairn_theory::storage::Stored;
    use std::sync::Arc;

    fn random_storage(random: &mut Random) -> (Dag, Storage) {
        let seed = random.below(1 << 40) as u64;
        let dag = random_dag(1 + random.below(30), random.below(5), seed);
        let file = |task: TaskId, random: &mut Random| Stored {
            producer: Some(task),
            bytes: 1 + random.below(20) as u64,
            is_kept: random.below(9) == 0,
            consumers: dag.children(task).to_vec(),
        };
        let files = dag.tasks().map(|t| file(t, random)).collect();
        let scratch = dag.tasks().map(|_| random.below(3) as u64).collect();
        let storage = Storage::new(dag.len(), files, scratch).unwrap().0;
        (dag, storage)
    }

    fn worlds() -> [World; 4] {
        let steady = PoolSettings {
            workers: 5,
            ..PoolSettings::default()
        };
        [
            World::batches(0.4, 4.0).unwrap(),
            World::throttled(9, 4).unwrap(),
            World::pool(steady).unwrap(),
            World::throttled(1, 1).unwrap(),
        ]
    }

    /// In every world and for every priority: within the cap, and to the end. Starting whatever fits is within the cap, too,
    /// but some runs stop for good.
    #[test]
    fn runs_under_a_keeper_end_and_never_pass_the_cap() {
        let mut random = Random::new(31);
        let (mut stuck, mut narrow) = (0, 0);
        for _ in 0..250 {
            let (dag, storage) = random_storage(&mut random);
            let order = dag.topological_order();
            let least = storage.peak(order);
            let cap = least + random.below(8) as u64;
            let keeper = Keeper::new(storage.clone(), order, cap).unwrap();
            let kept = Arc::new(Admission::Kept(Box::new(keeper)));
            let fits = Arc::new(Admission::FitsNow {
                storage: storage.clone(),
                cap,
            });
            let mut any: Vec<TaskId> = dag.tasks().collect();
            random.shuffle(&mut any);
            let policies = [Policy::order("any", &any), Policy::fifo(), Policy::heft()];
            let kept: Vec<Policy> = (policies.iter())
                .map(|p| p.clone().within(kept.clone()))
                .collect();
            let options = Options {
                runs: 3,
                ..Options::default()
            };
            let work = World::study_work();
            for world in worlds() {
                let study = simulate(&dag, &work, &world, &kept, &options).unwrap();
                for outcome in &study.outcomes {
                    for run in &outcome.runs {
                        assert!(run.peak_disk <= cap as f64, "{} {cap}", run.peak_disk);
                        narrow += usize::from(run.peak_disk > 0.9 * cap as f64);
                    }
                }
                let naive = policies[0].clone().within(fits.clone());
                let ends = endings(&dag, &work, &world, &naive, &options).unwrap();
                assert_eq!(ends.ended.len() + ends.stuck, 3);
                assert!(ends.ended.iter().all(|m| m.peak_disk <= cap as f64));
                stuck += ends.stuck;
                if ends.stuck > 0 {
                    let error = simulate(&dag, &work, &world, &[naive], &options).unwrap_err();
                    assert!(matches!(error, SimulateError::Full { .. }), "{error}");
                }
            }
        }
        assert!(stuck > 200 && narrow > 1_000, "{stuck} {narrow}");
    }

    /// Workers that come and go lose tasks; their space is given free, and everything still comes to its end.
    #[test]
    fn lost_tasks_give_their_space_back() {
        let mut random = Random::new(32);
        let mut wasted = 0;
        for _ in 0..60 {
            let (dag, storage) = random_storage(&mut random);
            let order = dag.topological_order();
            let cap = storage.peak(order) + random.below(8) as u64;
            let keeper = Keeper::new(storage, order, cap).unwrap();
            let kept = Arc::new(Admission::Kept(Box::new(keeper)));
            let world = lossy();
            let options = Options {
                runs: 4,
                ..Options::default()
            };
            let policy = [Policy::fifo().within(kept)];
            let study = simulate(&dag, &World::study_work(), &world, &policy, &options).unwrap();
            let runs = &study.outcomes[0].runs;
            wasted += runs.iter().filter(|m| m.wasted > 0.0).count();
        }
        assert!(wasted > 20, "{wasted}");
    }

    fn lossy() -> World {
        let exponential = |mean| crate::Spread::Exponential { mean };
        let settings = PoolSettings {
            workers: 4,
            breaks: Some(crate::Breaks {
                up: exponential(6.0),
                down: exponential(1.0),
            }),
            crew: Crew {
                lease: Some(crate::Lease {
                    factor: 3.0,
                    at_least: 0.1,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        };
        World::pool(settings).unwrap()
    }
}
