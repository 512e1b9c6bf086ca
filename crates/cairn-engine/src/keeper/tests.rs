//! The rule against its definition, along random runs and in every reachable state of small dags.

use super::*;
use crate::KindId;
use cairn_dag::Dag;
use cairn_oracle::{Random, random_dag};
use cairn_theory::storage::Stored;
use std::collections::HashSet;

fn random_storage(random: &mut Random, most: usize) -> (Dag, Storage) {
    let dag = random_dag(
        1 + random.below(most),
        random.below(5),
        random.below(1 << 40) as u64,
    );
    let mut files = Vec::new();
    for task in dag.tasks() {
        for _ in 0..1 + random.below(2) {
            let consumers = dag.children(task).iter().filter(|_| random.below(5) < 3);
            let consumers = consumers.copied().collect();
            files.push(Stored {
                producer: Some(task),
                bytes: 1 + random.below(20) as u64,
                is_kept: random.below(8) == 0,
                consumers,
            });
        }
    }
    if random.below(3) == 0 {
        files.push(Stored {
            producer: None,
            bytes: random.below(20) as u64,
            is_kept: false,
            consumers: dag.tasks().filter(|_| random.below(3) == 0).collect(),
        });
    }
    let scratch = dag
        .tasks()
        .map(|_| random.below(40).saturating_sub(32) as u64)
        .collect();
    let (storage, _) = Storage::new(dag.len(), files, scratch).unwrap();
    (dag, storage)
}

fn random_order(dag: &Dag, random: &mut Random) -> Vec<TaskId> {
    let mut order: Vec<TaskId> = Vec::new();
    while order.len() < dag.len() {
        let open =
            |t: &TaskId| !order.contains(t) && dag.parents(*t).iter().all(|p| order.contains(p));
        let eligible: Vec<TaskId> = dag.tasks().filter(open).collect();
        order.push(eligible[random.below(eligible.len())]);
    }
    order
}

/// From the definitions: bytes in use, and the largest need along an order of the waiting tasks once all that runs has
/// ended.
fn obvious(
    storage: &Storage,
    standing: &[Standing],
    order: &[TaskId],
    leftovers: Leftovers,
) -> (u64, u64) {
    let made = |f: FileId, standing: &[Standing]| {
        let of = storage
            .producer(f)
            .map_or(Standing::Executed, |t| standing[t.index()]);
        (of == Standing::Leased || of == Standing::Executed, of)
    };
    let pinned = |f: FileId| {
        storage.is_kept(f)
            || leftovers == Leftovers::Stay
                && storage
                    .consumers(f)
                    .any(|c| standing[c.index()].is_given_up())
    };
    let used = |standing: &[Standing]| -> u64 {
        let there = storage.files().filter(|&f| {
            let (is_made, producer) = made(f, standing);
            let is_open = (storage.consumers(f)).any(|c| !standing[c.index()].is_settled());
            is_made && (producer == Standing::Leased || pinned(f) || is_open)
        });
        let running = (0..standing.len()).filter(|&t| standing[t] == Standing::Leased);
        there.map(|f| storage.bytes(f)).sum::<u64>()
            + running
                .map(|t| storage.scratch(TaskId::new(t)))
                .sum::<u64>()
    };
    let mut alone: Vec<Standing> = standing.to_vec();
    for standing in &mut alone {
        if *standing == Standing::Leased {
            *standing = Standing::Executed;
        }
    }
    let mut most = 0;
    for &task in order {
        alone[task.index()] = Standing::Leased;
        most = most.max(used(&alone));
        alone[task.index()] = Standing::Executed;
    }
    (used(standing), most)
}

fn eligible(dag: &Dag, standing: &[Standing]) -> Vec<TaskId> {
    let open = |t: &TaskId| {
        standing[t.index()].is_unbegun()
            && dag
                .parents(*t)
                .iter()
                .all(|p| standing[p.index()] == Standing::Executed)
    };
    dag.tasks().filter(open).collect()
}

/// What the keeper knows is so, by the definitions.
fn check(keeper: &Keeper) {
    let order = keeper.waiting();
    let (used, most) = obvious(&keeper.storage, &keeper.standing, &order, keeper.leftovers);
    assert_eq!(keeper.used(), used);
    assert_eq!(
        u64::try_from(keeper.peaks.max()).unwrap_or(0),
        most,
        "{keeper:?}"
    );
    assert_eq!(keeper.is_safe(), used <= keeper.cap && most <= keeper.cap);
    if keeper.running == 0 {
        let first = order
            .first()
            .map(|t| obvious(&keeper.storage, &keeper.standing, &[*t], keeper.leftovers).1);
        assert_eq!(
            keeper.missing(),
            first.unwrap_or(0).saturating_sub(keeper.cap)
        );
    }
}

/// Which eligible tasks may start, each compared with the definition.
fn allowed(dag: &Dag, keeper: &mut Keeper) -> Vec<TaskId> {
    let order = keeper.waiting();
    let mut allowed = Vec::new();
    for task in eligible(dag, &keeper.standing) {
        let mut standing = keeper.standing.clone();
        standing[task.index()] = Standing::Leased;
        let place = order.iter().position(|&t| t == task).unwrap();
        let before: Vec<TaskId> = order[..place].to_vec();
        let (used, most) = obvious(&keeper.storage, &standing, &before, keeper.leftovers);
        let may = keeper.may(task);
        assert_eq!(
            may,
            used <= keeper.cap && most <= keeper.cap,
            "{task:?} {keeper:?}"
        );
        allowed.extend(Some(task).filter(|_| may));
    }
    allowed
}

#[test]
fn random_runs_with_retries_are_never_over_and_never_stuck() {
    let mut random = Random::new(11);
    for _ in 0..2000 {
        let (dag, storage) = random_storage(&mut random, 24);
        let order = random_order(&dag, &mut random);
        let peak = storage.peak(&order);
        let cap = peak + random.below(1 + peak as usize / 2) as u64;
        let mut keeper = Keeper::new(storage, &order, cap).unwrap();
        let mut running: Vec<TaskId> = Vec::new();
        let mut tries = 3 * dag.len();
        let eager = 1 + random.below(9);
        loop {
            check(&keeper);
            assert!(keeper.is_safe());
            let may = allowed(&dag, &mut keeper);
            if running.is_empty() && may.is_empty() {
                assert!(keeper.waiting().is_empty(), "stuck");
                break;
            }
            if running.is_empty() || (!may.is_empty() && random.below(10) < eager) {
                let task = may[random.below(may.len())];
                keeper.start(task);
                running.push(task);
                continue;
            }
            let task = running.swap_remove(random.below(running.len()));
            if tries > 0 && random.below(3) == 0 {
                tries -= 1;
                keeper.release(task);
            } else {
                keeper.finish(task);
            }
        }
        assert_eq!(
            keeper.used(),
            obvious(&keeper.storage, &keeper.standing, &[], Leftovers::Stay).0
        );
    }
}

#[test]
fn every_reachable_state_of_small_dags_is_within_the_cap_and_goes_on() {
    let mut random = Random::new(12);
    let mut states = 0u64;
    for _ in 0..400 {
        let (dag, storage) = random_storage(&mut random, 7);
        let order = random_order(&dag, &mut random);
        let peak = storage.peak(&order);
        let cap = peak + random.below(1 + peak as usize / 3) as u64;
        let first = Keeper::new(storage, &order, cap).unwrap();
        let mut seen = HashSet::new();
        let mut todo = vec![first];
        while let Some(mut keeper) = todo.pop() {
            // A retry changes the order too: at most one for each state, so that there is an end.
            let key: Vec<u8> = keeper.standing.iter().map(|&s| s as u8).collect();
            if !seen.insert((key, keeper.waiting())) {
                continue;
            }
            states += 1;
            check(&keeper);
            assert!(keeper.is_safe());
            let may = allowed(&dag, &mut keeper);
            let running: Vec<TaskId> = dag
                .tasks()
                .filter(|t| keeper.standing[t.index()] == Standing::Leased)
                .collect();
            assert!(!may.is_empty() || !running.is_empty() || keeper.waiting().is_empty());
            for task in may {
                let mut next = keeper.clone();
                next.start(task);
                todo.push(next);
            }
            for task in running {
                let mut next = keeper.clone();
                next.finish(task);
                todo.push(next);
                if seen.len() < 150 {
                    let mut next = keeper.clone();
                    next.release(task);
                    todo.push(next);
                }
            }
        }
    }
    assert!(states > 20_000, "{states}");
}

/// Where tasks stand when one fails for good: all that come after it are given up.
fn after_failure(dag: &Dag, standing: &[Standing], task: TaskId) -> Vec<Standing> {
    let mut standing = standing.to_vec();
    standing[task.index()] = Standing::Failed;
    for &t in dag.topological_order() {
        let dead = |p: &TaskId| standing[p.index()] == Standing::Failed;
        if dag.parents(t).iter().any(dead) {
            standing[t.index()] = Standing::Failed;
        }
    }
    standing
}

/// As above, and in every state a running task may also fail for good, or end with outputs of another size: smaller or
/// failed with its inputs gone is always safe; what is larger, or stays behind, is safe or is named when all stands still.
#[test]
fn every_reachable_state_with_failures_and_other_sizes_is_safe_or_says_what_is_missing() {
    let mut random = Random::new(16);
    let (mut states, mut stuck, mut broken) = (0u64, 0u64, 0u64);
    for round in 0..300 {
        let (dag, storage) = random_storage(&mut random, 6);
        let order = random_order(&dag, &mut random);
        let peak = storage.peak(&order);
        let cap = peak + random.below(1 + peak as usize / 3) as u64;
        let leftovers = [Leftovers::Go, Leftovers::Stay][round % 2];
        let grows = round % 3 == 0;
        let mut first = Keeper::new(storage, &order, cap).unwrap();
        first.set_leftovers(leftovers);
        let is_promised = leftovers == Leftovers::Go && !grows;
        let mut seen = HashSet::new();
        let mut todo = vec![first];
        while let Some(mut keeper) = todo.pop() {
            let standings: Vec<u8> = keeper.standing.iter().map(|&s| s as u8).collect();
            let bytes: Vec<u64> = (keeper.storage.files())
                .map(|f| keeper.storage.bytes(f))
                .collect();
            if seen.len() > 1_500 || !seen.insert((standings, bytes, keeper.waiting())) {
                continue;
            }
            states += 1;
            check(&keeper);
            assert!(keeper.is_safe() || !is_promised);
            broken += u64::from(!keeper.is_safe());
            let may = allowed(&dag, &mut keeper);
            let runs = |t: &TaskId| keeper.standing[t.index()] == Standing::Leased;
            let running: Vec<TaskId> = dag.tasks().filter(runs).collect();
            if may.is_empty() && running.is_empty() && !keeper.waiting().is_empty() {
                assert!(!is_promised && keeper.missing() > 0, "stuck without a word");
                stuck += 1;
            }
            for task in may {
                let mut next = keeper.clone();
                next.start(task);
                todo.push(next);
            }
            for task in running {
                let mut next = keeper.clone();
                next.finish(task);
                todo.push(next);
                let mut other = keeper.clone();
                for file in other.storage.outputs(task) {
                    let bytes = other.storage.bytes(file);
                    let bytes = if grows { bytes + 3 } else { bytes / 2 };
                    other.resize(file, bytes).unwrap();
                }
                other.finish(task);
                todo.push(other);
                let mut failed = keeper.clone();
                let standing = after_failure(&dag, &failed.standing, task);
                failed.sync(|t| standing[t.index()]);
                todo.push(failed);
            }
        }
    }
    assert!(
        states > 50_000 && stuck > 10 && broken > 100,
        "{states} {stuck} {broken}"
    );
}

/// Sizes are measured and learnt, and an unsafe order is planned anew: what is known stays true, no plan is worse than the
/// one before, and nobody is stuck without a word.
#[test]
fn whoever_learns_sizes_keeps_true_books_and_plans_anew() {
    let mut random = Random::new(17);
    let (mut replanned, mut saved, mut stuck, mut slow) = (0, 0, 0, 0);
    for _ in 0..1200 {
        let (dag, mut storage) = random_storage(&mut random, 18);
        let unknown: Vec<FileId> = storage.files().filter(|_| random.below(4) == 0).collect();
        let real: Vec<u64> = (storage.files())
            .map(|f| storage.bytes(f) * (50 + random.below(120) as u64) / 100)
            .collect();
        let kinds = dag.tasks().map(|_| KindId::new(random.below(3))).collect();
        let sizes = Sizes::new(&storage, kinds, &unknown, 1.3);
        sizes.apply(&mut storage).unwrap();
        let order = random_order(&dag, &mut random);
        let cap = storage.peak(&order) + random.below(9) as u64;
        let mut keeper = Keeper::new(storage, &order, cap).unwrap();
        keeper.learn(sizes);
        let mut running: Vec<TaskId> = Vec::new();
        while !(keeper.waiting().is_empty() && running.is_empty()) {
            let open = eligible(&dag, &keeper.standing);
            let may: Vec<TaskId> = open.iter().copied().filter(|&t| keeper.may(t)).collect();
            let is_slow = |t: &&TaskId| !keeper.sizes().unwrap().may(**t);
            slow += open.iter().filter(is_slow).count();
            if may.is_empty() && running.is_empty() {
                assert!(keeper.missing() > 0, "stuck without a word");
                stuck += 1;
                break;
            }
            if !may.is_empty() && (running.is_empty() || random.below(2) == 0) {
                let task = may[random.below(may.len())];
                keeper.start(task);
                running.push(task);
            } else {
                let task = running.swap_remove(random.below(running.len()));
                for file in keeper.storage.outputs(task) {
                    keeper.measured(file, real[file.index()]).unwrap();
                    assert_eq!(keeper.storage.bytes(file), real[file.index()]);
                }
                keeper.finish(task);
            }
            check(&keeper);
            if !keeper.is_safe() {
                replanned += 1;
                let before = keeper.peaks.max();
                let is_safe = keeper.replan(&dag, &mut cairn_plan::Work::unlimited());
                check(&keeper);
                assert!(keeper.peaks.max() <= before);
                assert_eq!(is_safe, keeper.is_safe());
                saved += usize::from(is_safe);
                let (tasks, rest) = keeper.rest();
                let local: Vec<TaskId> = (0..tasks.len()).map(TaskId::new).collect();
                if !tasks.is_empty() {
                    assert_eq!(rest.peak(&local), keeper.peaks.max() as u64);
                }
            }
        }
    }
    assert!(
        replanned > 300 && saved > 30 && stuck > 10 && slow > 300,
        "{replanned} {saved} {stuck} {slow}"
    );
}

/// Resizes, given up tasks, lost outputs, other caps: what is known stays true, what is allowed stays as defined, and
/// whoever is stuck says how many bytes are missing.
#[test]
fn whatever_goes_wrong_the_books_are_true_and_nobody_is_stuck_without_a_word() {
    let mut random = Random::new(13);
    let (mut stuck, mut unsafe_states) = (0, 0);
    for _ in 0..1500 {
        let (dag, storage) = random_storage(&mut random, 16);
        let order = random_order(&dag, &mut random);
        let peak = storage.peak(&order);
        let cap = peak + random.below(1 + peak as usize / 2) as u64;
        let mut keeper = Keeper::new(storage, &order, cap).unwrap();
        if random.below(2) == 0 {
            keeper.set_leftovers(Leftovers::Go);
        }
        for _ in 0..6 * dag.len() {
            check(&keeper);
            unsafe_states += usize::from(!keeper.is_safe());
            let may = allowed(&dag, &mut keeper);
            let running: Vec<TaskId> = dag
                .tasks()
                .filter(|t| keeper.standing[t.index()] == Standing::Leased)
                .collect();
            if may.is_empty() && running.is_empty() && !keeper.waiting().is_empty() {
                assert!(keeper.missing() > 0, "stuck without a word");
                stuck += 1;
                break;
            }
            match random.below(12) {
                0 => {
                    let files = keeper.storage.files().len();
                    let file = FileId(random.below(files) as u32);
                    keeper.resize(file, random.below(30) as u64).unwrap();
                }
                1 if !running.is_empty() => {
                    // Fails for good: what comes after it is aborted.
                    let task = running[random.below(running.len())];
                    let standing = after_failure(&dag, &keeper.standing, task);
                    keeper.sync(|t| standing[t.index()]);
                }
                2 => {
                    // The outputs of a done task are lost: it and all done after it wait again.
                    let done: Vec<TaskId> = dag
                        .tasks()
                        .filter(|t| keeper.standing[t.index()] == Standing::Executed)
                        .collect();
                    let leaf = |t: &TaskId| {
                        dag.children(*t)
                            .iter()
                            .all(|c| keeper.standing[c.index()].is_unbegun())
                    };
                    if let Some(&task) = done.iter().find(|t| leaf(t)) {
                        let mut standing = keeper.standing.clone();
                        standing[task.index()] = Standing::Waiting;
                        keeper.sync(|t| standing[t.index()]);
                    }
                }
                3 if !running.is_empty() => keeper.release(running[random.below(running.len())]),
                4 => {
                    let next =
                        keeper.cap * 9 / 10 + random.below(1 + keeper.cap as usize / 4) as u64;
                    keeper.set_cap(next);
                }
                5 => {
                    // Another order: taken if it fits, else the old one stays.
                    let waiting = keeper.waiting();
                    let all = random_order(&dag, &mut random);
                    let rest: Vec<TaskId> =
                        all.into_iter().filter(|t| waiting.contains(t)).collect();
                    let most =
                        obvious(&keeper.storage, &keeper.standing, &rest, keeper.leftovers).1;
                    let taken = keeper.adopt(&rest);
                    assert_eq!(taken.is_ok(), most <= keeper.cap);
                    assert_eq!(keeper.waiting(), if taken.is_ok() { rest } else { waiting });
                }
                6..9 if !may.is_empty() => keeper.start(may[random.below(may.len())]),
                _ if !running.is_empty() => keeper.finish(running[random.below(running.len())]),
                _ => (),
            }
        }
    }
    assert!(stuck > 10 && unsafe_states > 100, "{stuck} {unsafe_states}");
}

/// What lies on a disk beside what is in use, kept by hand: files that wait to be deleted, and old outputs by task.
#[derive(Default)]
struct Disk {
    waits: Vec<u64>,
    old: std::collections::BTreeMap<TaskId, u64>,
}

impl Disk {
    fn bytes(&self) -> u64 {
        self.waits.iter().sum::<u64>() + self.old.values().sum::<u64>()
    }
}

/// Files wait to be deleted, old outputs lie where tasks will write over them, attempts leave half of theirs behind: the keeper's
/// answers are those of the definition, a start never passes the cap on the real disk, and what stands still goes on once what
/// waits is deleted and nothing old lies there, or says how much is missing.
#[test]
fn what_is_held_counts_until_it_is_gone_and_never_against_who_writes_over_it() {
    let mut random = Random::new(18);
    let (mut refused, mut over_own, mut waited, mut stuck) = (0, 0, 0, 0);
    for _ in 0..3000 {
        let (dag, storage) = random_storage(&mut random, 14);
        let order = random_order(&dag, &mut random);
        let peak = storage.peak(&order);
        let cap = peak + random.below(1 + peak as usize / 2) as u64;
        let mut keeper = Keeper::new(storage, &order, cap).unwrap();
        let mut disk = Disk::default();
        for task in dag.tasks() {
            let bytes = random.below(72).saturating_sub(60) as u64;
            keeper.lies(task, bytes);
            disk.old.insert(task, bytes);
        }
        let mut left = 12 * dag.len();
        loop {
            assert_eq!(keeper.held(), disk.bytes());
            assert_eq!(keeper.there(), keeper.used() + disk.bytes());
            let order = keeper.waiting();
            let mut may = Vec::new();
            for task in eligible(&dag, &keeper.standing) {
                let mut standing = keeper.standing.clone();
                standing[task.index()] = Standing::Leased;
                let place = order.iter().position(|&t| t == task).unwrap();
                let (used, most) = obvious(
                    &keeper.storage,
                    &standing,
                    &order[..place],
                    keeper.leftovers,
                );
                let own = disk.old.get(&task).copied().unwrap_or(0);
                let there = used + disk.bytes() - own;
                let is_allowed = there <= cap && most <= cap;
                assert_eq!(keeper.may(task), is_allowed, "{task:?} {keeper:?}");
                refused += usize::from(!is_allowed && used <= cap && most <= cap);
                over_own += usize::from(is_allowed && used + disk.bytes() > cap);
                may.extend(is_allowed.then_some(task));
            }
            let runs = |t: &TaskId| keeper.standing[t.index()] == Standing::Leased;
            let running: Vec<TaskId> = dag.tasks().filter(runs).collect();
            if running.is_empty() && may.is_empty() {
                if order.is_empty() {
                    break;
                }
                let first = obvious(
                    &keeper.storage,
                    &keeper.standing,
                    &order[..1],
                    keeper.leftovers,
                )
                .1;
                let own = disk.old.get(&order[0]).copied().unwrap_or(0);
                let missing = (first + disk.bytes() - own).saturating_sub(cap);
                assert_eq!(keeper.missing(), missing);
                assert!(missing > 0, "stuck without a word");
                match disk.waits.pop() {
                    Some(bytes) => keeper.let_go(bytes),
                    None => {
                        // Only old outputs are in the way.
                        assert!(!disk.old.is_empty());
                        stuck += 1;
                        break;
                    }
                }
                waited += 1;
                continue;
            }
            left = left.saturating_sub(1);
            match random.below(8) {
                0 if left > 0 => {
                    let bytes = random.below(9) as u64;
                    keeper.hold(bytes);
                    disk.waits.push(bytes);
                }
                1 if !disk.waits.is_empty() => {
                    let bytes = disk.waits.swap_remove(random.below(disk.waits.len()));
                    keeper.let_go(bytes);
                }
                2 if left > 0 && !running.is_empty() => {
                    // It comes back, and half of what it wrote stays behind.
                    let task = running[random.below(running.len())];
                    let bytes = keeper.storage.reserved(task) / 2;
                    keeper.release(task);
                    keeper.lies(task, bytes);
                    disk.old.insert(task, bytes);
                }
                3 if left > 0 => {
                    // Somebody looks again what lies there.
                    let task = TaskId(random.below(dag.len()) as u32);
                    let bytes = random.below(6) as u64;
                    keeper.lies(task, bytes);
                    if keeper.standing[task.index()].is_unbegun() {
                        disk.old.insert(task, bytes);
                    }
                }
                4..7 if !may.is_empty() => {
                    let task = may[random.below(may.len())];
                    keeper.start(task);
                    disk.old.remove(&task);
                    assert!(keeper.used() + disk.bytes() <= cap, "over");
                }
                _ if !running.is_empty() => keeper.finish(running[random.below(running.len())]),
                _ => (),
            }
        }
    }
    assert!(
        refused > 1000 && over_own > 100 && waited > 100 && stuck > 10,
        "{refused} {over_own} {waited} {stuck}"
    );
}

#[test]
fn orders_over_the_cap_or_incomplete_are_refused() {
    let mut random = Random::new(14);
    let (dag, storage) = random_storage(&mut random, 10);
    let order = dag.topological_order();
    let peak = storage.peak(order);
    assert!(Keeper::new(storage.clone(), order, peak).is_ok());
    let over = Keeper::new(storage.clone(), order, peak - 1).map(|_| ());
    assert_eq!(over, Err(BadOrder::Over { missing: 1 }));
    let twice = vec![order[0]; order.len()];
    let refused = Keeper::new(storage, &twice, peak).map(|_| ());
    assert_eq!(refused, Err(BadOrder::Incomplete));
}

#[test]
fn memory_stays_within_64_bytes_a_task_and_16_a_reader() {
    // Chains of three, a file each, with scratch.
    let tasks = 30_000;
    let files: Vec<Stored> = (0..tasks)
        .map(|t| Stored {
            producer: Some(TaskId(t)),
            bytes: 1000,
            is_kept: t % 3 == 2,
            consumers: if t % 3 == 2 {
                vec![]
            } else {
                vec![TaskId(t + 1)]
            },
        })
        .collect();
    let readers: usize = files.iter().map(|f| f.consumers.len()).sum();
    let (storage, _) = Storage::new(tasks as usize, files, vec![5; tasks as usize]).unwrap();
    let order: Vec<TaskId> = (0..tasks).map(TaskId).collect();
    let keeper = Keeper::new(storage, &order, u64::MAX / 4).unwrap();
    let most = 64 * tasks as usize + 16 * readers;
    assert!(
        keeper.heap_bytes() <= most,
        "{} of {most}",
        keeper.heap_bytes()
    );
}

#[test]
fn an_order_that_is_followed_under_a_cap_keeps_it_and_is_the_same_where_there_is_room() {
    let mut random = Random::new(15);
    for _ in 0..1500 {
        let (dag, storage) = random_storage(&mut random, 20);
        let safe = random_order(&dag, &mut random);
        let wanted = random_order(&dag, &mut random);
        let cap = storage.peak(&safe) + random.below(20) as u64;
        let keeper = Keeper::new(storage.clone(), &safe, cap).unwrap();
        let followed = keeper.follow(&dag, &wanted);
        for (place, task) in followed.iter().enumerate() {
            assert!(
                dag.parents(*task)
                    .iter()
                    .all(|p| followed[..place].contains(p))
            );
        }
        assert_eq!(followed.len(), dag.len());
        assert!(storage.peak(&followed) <= cap);
        let room = Keeper::new(storage.clone(), &safe, 2 * storage.total()).unwrap();
        assert_eq!(room.follow(&dag, &wanted), wanted);
    }
}

/// One size that cannot be true does not keep the others from being believed, nor does anything of it stay.
#[test]
fn what_cannot_be_true_of_one_kind_is_not_believed_and_the_rest_is() {
    let file = |task: u32| Stored {
        producer: Some(TaskId(task)),
        bytes: 100,
        is_kept: true,
        consumers: vec![],
    };
    let (mut storage, _) = Storage::new(3, (0..3).map(file).collect(), vec![]).unwrap();
    let sizes = Sizes::new(&storage, [0, 1, 2].map(KindId).to_vec(), &[], 1.3);
    sizes.apply(&mut storage).unwrap();
    let order: Vec<TaskId> = (0..3).map(TaskId).collect();
    let mut keeper = Keeper::new(storage, &order, 10_000).unwrap();
    keeper.learn(sizes);
    let told = |kind: u32, most: f64| crate::Learnt {
        kind: KindId(kind),
        output: 0,
        is_unknown: false,
        seen: 16,
        most,
    };
    let refused = keeper.recall(&[told(0, 2.0), told(1, 1e17), told(2, 3.0)]);
    assert_eq!(refused, 1);
    let bytes = |f: u32| keeper.storage().bytes(FileId(f));
    assert_eq!(bytes(1), 130, "as if nothing had been said");
    assert!((200..230).contains(&bytes(0)) && (300..330).contains(&bytes(2)));
    check(&keeper);
    assert!(keeper.is_safe());
    let known: Vec<KindId> = (keeper.sizes().unwrap().learnt().iter())
        .map(|l| l.kind)
        .collect();
    assert_eq!(known, [0, 2].map(KindId));
}
