//! A HyperQueue of one core, as its source has it, and all orders of a level.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};

type Parents = Vec<Vec<u32>>;

fn rows(parents: &Parents) -> Vec<&[u32]> {
    parents.iter().map(Vec::as_slice).collect()
}

/// Wide layers, chains, forks and joins, in any mixture; places are an order.
fn random_dag(random: &mut Pcg64Mcg, most: usize) -> Parents {
    let tasks = random.random_range(1..most);
    let kind = random.random_range(0..4);
    let width = random.random_range(1..60usize);
    let row = |task: usize, random: &mut Pcg64Mcg| -> Vec<u32> {
        let near = task.saturating_sub(width);
        let mut row: BTreeSet<usize> = BTreeSet::new();
        match kind {
            0 => row.extend((task >= width).then(|| task - width)),
            1 if task > 0 && random.random_bool(0.3) => {
                row.insert(random.random_range(0..task));
            }
            2 if task > 0 && random.random_bool(0.7) => {
                row.insert(random.random_range(near..task));
                row.insert(random.random_range(near..task));
            }
            3 if task > 0 && random.random_bool(0.1) => row.extend(near..task),
            3 if task > 0 => {
                row.insert(near / 7);
            }
            _ => {}
        }
        row.into_iter().map(narrow).collect()
    };
    (0..tasks).map(|task| row(task, random)).collect()
}

/// How many tasks are eligible after each step of an order.
fn profile(parents: &Parents, order: &[usize]) -> Vec<usize> {
    let mut done = vec![false; parents.len()];
    let eligible = |done: &[bool]| {
        let tasks = parents.iter().enumerate();
        tasks
            .filter(|(t, row)| !done[*t] && row.iter().all(|&p| done[wide(p)]))
            .count()
    };
    let steps = order.iter().map(|&task| {
        assert!(parents[task].iter().all(|&p| done[wide(p)]));
        done[task] = true;
        eligible(&done)
    });
    steps.collect()
}

/// Rounds give one task to the idle core and hand out more of the highest level beforehand; the worker takes those from the
/// end, before the server hears that a task has ended. `lag`: how often it begins with one that is being called back.
fn start_order(parents: &Parents, levels: &[u32], lag: &mut Pcg64Mcg) -> Vec<usize> {
    let tasks = parents.len();
    let mut left: Vec<usize> = parents.iter().map(Vec::len).collect();
    let mut children = vec![Vec::new(); tasks];
    for (task, row) in parents.iter().enumerate() {
        row.iter().for_each(|&p| children[wide(p)].push(task));
    }
    let mut queue: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for task in (0..tasks).filter(|&t| left[t] == 0) {
        queue.entry(levels[task]).or_default().insert(task);
    }
    let mut handed: Vec<usize> = Vec::new();
    let mut order = Vec::new();
    let mut running = None;
    while order.len() < tasks || running.is_some() {
        if running.is_none() {
            let mut top = queue.last_entry().expect("something is ready");
            running = top.get_mut().pop_first();
            order.extend(running);
            if top.get().is_empty() {
                top.remove();
            }
            if let Some(mut top) = queue.last_entry().filter(|_| handed.is_empty()) {
                let more = top.get().len().saturating_sub(RESERVE).min(40);
                handed.extend((0..more).filter_map(|_| top.get_mut().pop_first()));
            }
        }
        let ended = running.take().expect("something runs");
        if let Some(next) = handed.pop() {
            running = Some(next);
            order.push(next);
        }
        for &child in &children[ended] {
            left[child] -= 1;
            if left[child] > 0 {
                continue;
            }
            queue.entry(levels[child]).or_default().insert(child);
            let is_lower = handed.first().is_some_and(|&h| levels[h] < levels[child]);
            if is_lower && lag.random_bool(0.7) {
                for task in handed.drain(..) {
                    queue.entry(levels[task]).or_default().insert(task);
                }
            }
        }
    }
    order
}

#[test]
fn on_one_core_the_number_of_eligible_tasks_is_that_of_the_plan() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let (mut shared, mut all) = (0, 0);
    for case in 0..6000 {
        let parents = random_dag(&mut random, if case % 10 == 0 { 300 } else { 80 });
        let many = if case % 2 == 0 { 1 } else { 3 };
        let kinds: Vec<u32> = (parents.iter())
            .map(|_| random.random_range(0..many))
            .collect();
        let levels = levels(&rows(&parents), &kinds);
        assert_eq!(levels.len(), parents.len());
        assert!(levels.is_sorted_by(|a, b| a >= b));
        assert_eq!(levels.last(), Some(&1));
        let order = start_order(&parents, &levels, &mut random);
        let by_level: Vec<u32> = order.iter().map(|&t| levels[t]).collect();
        assert!(
            by_level.is_sorted_by(|a, b| a >= b),
            "case {case}: {parents:?}\n{levels:?}\n{order:?}"
        );
        let plan: Vec<usize> = (0..parents.len()).collect();
        assert_eq!(
            profile(&parents, &order),
            profile(&parents, &plan),
            "case {case}: {parents:?}\n{levels:?}\n{order:?}"
        );
        let kinds_of = |order: &[usize]| order.iter().map(|&t| kinds[t]).collect::<Vec<_>>();
        assert_eq!(kinds_of(&order), kinds_of(&plan), "case {case}");
        if many > 1 {
            continue;
        }
        all += parents.len();
        shared += parents.len() - wide(levels[0]);
    }
    assert!(shared * 4 > all, "{shared} of {all} tasks share a level");
}

#[test]
fn every_order_of_a_level_has_the_profile_of_the_plan_and_levels_are_seldom_too_short() {
    let mut random = Pcg64Mcg::seed_from_u64(11);
    let (mut met, mut short) = (0, 0);
    for _ in 0..2000 {
        let parents = random_dag(&mut random, 12);
        let (tasks, dag) = (parents.len(), rows(&parents));
        let levels = levels(&dag, &vec![0; tasks]);
        let plan: Vec<usize> = (0..tasks).collect();
        let right = profile(&parents, &plan);
        let mut begin = 0;
        for level in levels.chunk_by(|a, b| a == b) {
            let end = begin + level.len();
            assert!((begin..end).all(|t| parents[t].iter().all(|&p| wide(p) < begin)));
            assert_eq!(first_wrong(&parents, &right, begin, end), None);
            if end < tasks && parents[end].iter().all(|&p| wide(p) < begin) {
                met += 1;
                // Some sets of joins count by the number of their parents alone, which nobody looks for.
                short += usize::from(first_wrong(&parents, &right, begin, end + 1).is_none());
            }
            begin = end;
        }
    }
    assert!(met > 300 && short * 20 < met, "{short} of {met}");
}

/// An order of the plan's tasks from `begin` to `end` after which the numbers of eligible tasks are others.
fn first_wrong(parents: &Parents, right: &[usize], begin: usize, end: usize) -> Option<Vec<usize>> {
    // It is enough to look at all sets: what is eligible does not depend on how a set came about.
    let many = end - begin;
    (0u32..1 << many).find_map(|set| {
        let own = (0..many).filter(|i| set >> i & 1 == 1).map(|i| begin + i);
        let order: Vec<usize> = (0..begin).chain(own).collect();
        let counts = profile(parents, &order);
        (counts.last() != right.get(order.len().wrapping_sub(1))).then_some(order)
    })
}

#[test]
fn wide_layers_are_one_level_each_and_chains_none() {
    let layers: Parents = (0..3000u32)
        .map(|t| if t < 1000 { vec![] } else { vec![t - 1000] })
        .collect();
    assert_eq!(levels(&rows(&layers), &[0; 3000])[0], 3);
    assert_eq!(
        levels(&rows(&layers), &(0..3000).collect::<Vec<_>>())[0],
        3000
    );
    let chain = |tasks: u32| -> Parents {
        (0..tasks)
            .map(|t| t.checked_sub(1).into_iter().collect())
            .collect()
    };
    assert_eq!(levels(&rows(&chain(9)), &[0; 9])[0], 9);
    // A chain first, while a thousand others are ready: sixteen of them, and then all.
    let mut both = chain(9);
    both.extend((0..1000).map(|_| Vec::new()));
    // The last of the chain makes nothing eligible, and goes with the sixteen.
    assert_eq!(levels(&rows(&both), &[0; 1009])[0], 8 + 2);
}
