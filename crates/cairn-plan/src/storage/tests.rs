//! Planner and bounds against the least peak by brute force.

use super::bounds::Bounds;
use super::cut::Cuts;
use super::section::Section;
use super::*;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_oracle::{Random, random_dag};

/// A random dag with random files: some read by few, some kept, some read by nobody, some there from the beginning.
pub(crate) fn random_storage(
    random: &mut Random,
    most: usize,
    with_initial: bool,
) -> (Dag, Storage) {
    let dag = random_dag(
        1 + random.below(most),
        random.below(5),
        random.below(1 << 40) as u64,
    );
    let mut files = Vec::new();
    let keepers = random.below(2) == 0;
    for task in dag.tasks() {
        for _ in 0..1 + random.below(2) {
            let consumers = dag.children(task).iter().filter(|_| random.below(5) < 3);
            let consumers: Vec<TaskId> = consumers.copied().collect();
            let odds = if consumers.is_empty() { 2 } else { 10 };
            files.push(Stored {
                producer: Some(task),
                bytes: 1 + random.below(20) as u64,
                is_kept: keepers && random.below(odds) == 0,
                consumers,
            });
        }
    }
    if with_initial {
        files.push(Stored {
            producer: None,
            bytes: random.below(20) as u64,
            is_kept: false,
            consumers: dag.tasks().filter(|_| random.below(3) == 0).collect(),
        });
    }
    let scratch = dag
        .tasks()
        .map(|_| random.below(40).saturating_sub(32) as u64);
    let scratch = scratch.collect();
    let (storage, _) = Storage::new(dag.len(), files, scratch).unwrap();
    (dag, storage)
}

/// L(X) by its definition.
fn live(storage: &Storage, ideal: u32) -> u64 {
    let has = |t: TaskId| ideal >> t.0 & 1 == 1;
    (storage.files())
        .filter(|&f| storage.producer(f).is_none_or(has))
        .filter(|&f| storage.is_kept(f) || storage.consumers(f).any(|c| !has(c)))
        .map(|f| storage.bytes(f))
        .sum()
}

/// The least peak, over all orders.
fn least_peak(dag: &Dag, storage: &Storage) -> u64 {
    let mut best = std::collections::HashMap::from([(0u32, 0u64)]);
    for layer in cairn_oracle::ideals(dag) {
        for ideal in layer {
            let peak = best[&ideal];
            for task in cairn_oracle::eligible(dag, ideal) {
                let need = live(storage, ideal) + storage.reserved(task);
                let next = best.entry(ideal | 1 << task.0).or_insert(u64::MAX);
                *next = (*next).min(peak.max(need));
            }
        }
    }
    best[&((1u32 << dag.len()) - 1)]
}

/// The least need of a task, over all orders.
fn least_need(dag: &Dag, storage: &Storage, task: TaskId) -> u64 {
    (cairn_oracle::ideals(dag).into_iter().flatten())
        .filter(|&ideal| cairn_oracle::eligible(dag, ideal).contains(&task))
        .map(|ideal| live(storage, ideal) + storage.reserved(task))
        .min()
        .expect("a task is eligible at some moment")
}

#[test]
fn cuts_are_least_and_their_sets_have_them() {
    let mut random = Random::new(3);
    for _ in 0..1500 {
        let (dag, storage) = random_storage(&mut random, 9, true);
        let section = Section::whole(&dag, &storage);
        let mut cuts = Cuts::new(&section);
        for task in dag.tasks() {
            let cut = cuts.before(task, &[], &[], &mut Work::unlimited()).unwrap();
            let need = cut.live as u64 + storage.reserved(task);
            assert_eq!(
                need,
                least_need(&dag, &storage, task),
                "{dag:?} {storage:?} {task:?}"
            );
            for set in [&cut.smallest, &cut.largest] {
                let ideal = dag
                    .tasks()
                    .filter(|t| set[t.index()])
                    .map(|t| 1 << t.0)
                    .sum();
                assert!(cairn_oracle::eligible(&dag, ideal).contains(&task));
                assert_eq!(live(&storage, ideal), cut.live as u64);
            }
        }
    }
}

#[test]
fn live_bytes_are_submodular() {
    let mut random = Random::new(4);
    for _ in 0..300 {
        let (dag, storage) = random_storage(&mut random, 7, true);
        let ideals: Vec<u32> = cairn_oracle::ideals(&dag).into_iter().flatten().collect();
        for &x in &ideals {
            for &y in &ideals {
                let apart = live(&storage, x) + live(&storage, y);
                assert!(live(&storage, x | y) + live(&storage, x & y) <= apart);
            }
        }
    }
}

#[test]
fn bounds_never_pass_the_least_peak_and_the_planner_mostly_has_it() {
    let mut random = Random::new(5);
    let (mut least, mut proved, mut rounds) = (0, 0, 0);
    for round in 0..2000 {
        let (dag, storage) = random_storage(&mut random, 12, round % 3 == 0);
        let true_least = least_peak(&dag, &storage);
        let lean = lean_order(
            &dag,
            &storage,
            dag.topological_order(),
            &mut Work::unlimited(),
        );
        cairn_oracle::profile(&dag, &lean.order); // panics unless topological
        assert_eq!(lean.peak, storage.peak(&lean.order));
        assert!(lean.peak >= true_least);
        assert!(
            lean.bound.bytes <= true_least,
            "{dag:?} {storage:?} {:?}",
            lean.bound
        );
        let section = Section::whole(&dag, &storage);
        let mut single = Bounds::new(&section);
        single
            .single(&lean.order, None, &mut Work::unlimited())
            .unwrap();
        let one = single.best;
        let work = &mut Work::unlimited();
        single.antichains(&lean.order, i64::MAX, work).unwrap();
        assert!(one <= single.best && single.best as u64 <= true_least);
        // What an order shows to be needless is needless: another order, which shows less, leads to the same.
        let mut other = Bounds::new(&section);
        let order = dag.topological_order();
        other.single(order, None, work).unwrap();
        other.antichains(order, i64::MAX, work).unwrap();
        assert_eq!(other.best, single.best);
        // A cap is refused at once just where single tasks alone show that no order keeps it.
        for cap in [one.saturating_sub(1).max(0) as u64, one as u64, true_least] {
            let more = more_than(&dag, &storage, cap, work);
            assert_eq!(more.is_some(), (one as u64) > cap, "{dag:?} {storage:?}");
            assert!(more.is_none_or(|bound| bound.bytes <= true_least));
        }
        rounds += 1;
        least += usize::from(lean.peak == true_least);
        proved += usize::from(lean.is_least());
        assert!(
            lean.peak as f64 <= 1.3 * true_least as f64,
            "{} {true_least}",
            lean.peak
        );
    }
    assert!(least * 100 >= rounds * 99, "{least} of {rounds}");
    assert!(proved * 100 >= rounds * 90, "{proved} of {rounds}");
}
