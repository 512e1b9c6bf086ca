//! Makes a good order better: exact search inside short windows of it. Knows nothing of bounds.

use crate::work::Work;
use cairn_dag::{Dag, TaskId};

/// Items in a window: 2^WINDOW sets are looked at.
const WINDOW: usize = 13;

/// Reorders the nonsinks in `order` (a topological order of all of them) for a larger area, never a smaller one.
///
/// The order is cut into items, each ending where something becomes eligible; a window of items is rearranged
/// optimally by a program over subsets; coarser items are tried when fine ones help no more. Anytime: stops when
/// the budget does, with the best so far. O(n·2^13) a round.
pub fn improve(dag: &Dag, order: &mut Vec<TaskId>, work: &mut Work<'_>) {
    let mut best = area(dag, order);
    let mut coarseness = 0;
    let mut stale = 0;
    while stale < 3 && !work.is_over() {
        let mut items = cut_into_items(dag, order, coarseness);
        let mut place = vec![u32::MAX; dag.len()];
        for (i, item) in items.iter().enumerate() {
            item.iter().for_each(|t| place[t.index()] = i as u32);
        }
        let mut begin = 0;
        while begin + 1 < items.len() {
            let end = (begin + WINDOW).min(items.len());
            if !work.spend(1 << (end - begin)) {
                break;
            }
            rearrange(dag, &mut items[..], begin, end, &mut place);
            begin += WINDOW / 2;
        }
        let candidate: Vec<TaskId> = items.concat();
        let reached = area(dag, &candidate);
        if reached > best {
            (best, *order) = (reached, candidate);
            stale = 0;
        } else {
            stale += 1;
            coarseness = (coarseness + 1) % 3;
        }
    }
}

/// What each prefix of the nonsinks gains.
pub(crate) fn gains(dag: &Dag, order: &[TaskId]) -> Vec<u32> {
    let mut waiting: Vec<u32> = (dag.tasks()).map(|t| dag.parents(t).len() as u32).collect();
    let mut gained = 0;
    let mut out = Vec::with_capacity(order.len() + 1);
    out.push(0);
    for &task in order {
        debug_assert_eq!(waiting[task.index()], 0, "a topological order");
        for &child in dag.children(task) {
            waiting[child.index()] -= 1;
            gained += u32::from(waiting[child.index()] == 0);
        }
        out.push(gained);
    }
    out
}

fn area(dag: &Dag, order: &[TaskId]) -> u64 {
    gains(dag, order).iter().map(|&x| u64::from(x)).sum()
}

/// Coarseness 0: an item ends where something is gained. 1 joins an item to the one it depends on when it gains
/// more a task; 2 joins whenever it does.
fn cut_into_items(dag: &Dag, order: &[TaskId], coarseness: u32) -> Vec<Vec<TaskId>> {
    const LONGEST: usize = 400;
    let gains = gains(dag, order);
    let mut items: Vec<(Vec<TaskId>, u64)> = Vec::new();
    let mut current = Vec::new();
    for (i, &task) in order.iter().enumerate() {
        current.push(task);
        let gained = gains[i + 1] - gains[i];
        if gained == 0 && i + 1 < order.len() {
            continue;
        }
        items.push((std::mem::take(&mut current), u64::from(gained)));
        while coarseness > 0 && items.len() >= 2 {
            let [(a, gain_a), (b, gain_b)] = &items[items.len() - 2..] else {
                unreachable!("two items");
            };
            let depends = || (b.iter()).any(|&t| dag.parents(t).iter().any(|p| a.contains(p)));
            let denser = gain_b * a.len() as u64 >= gain_a * b.len() as u64;
            if !denser || a.len() + b.len() >= LONGEST || (coarseness == 1 && !depends()) {
                break;
            }
            let (b, gain_b) = items.pop().expect("two items");
            let last = items.len() - 1;
            items[last].0.extend(b);
            items[last].1 += gain_b;
        }
    }
    items.into_iter().map(|(item, _)| item).collect()
}

/// Puts `items[begin..end]` into the order of largest area.
fn rearrange(dag: &Dag, items: &mut [Vec<TaskId>], begin: usize, end: usize, place: &mut [u32]) {
    let count = end - begin;
    let inside = |t: TaskId| {
        let at = place[t.index()] as usize;
        (begin..end).contains(&at).then(|| at - begin)
    };
    let mut needs = vec![0usize; count];
    // gain[set]: first the rewards whose parents in the window are just this set, then of all subsets.
    let mut gain = vec![0u32; 1 << count];
    for i in 0..count {
        for &task in &items[begin + i] {
            for &p in dag.parents(task) {
                if let Some(j) = inside(p).filter(|&j| j != i) {
                    needs[i] |= 1 << j;
                }
            }
            for &child in dag.children(task) {
                if first_parent_inside(dag, child, &inside) != Some(task) {
                    continue;
                }
                if let Some(set) = parents_inside(dag, child, &inside, place, end) {
                    gain[set] += 1;
                }
            }
        }
    }
    for bit in 0..count {
        for set in 0..1usize << count {
            if set >> bit & 1 == 1 {
                gain[set] += gain[set ^ (1 << bit)];
            }
        }
    }
    let length = |i: usize| items[begin + i].len() as u64;
    let step = |set: usize, i: usize| {
        u64::from(gain[set]) * (length(i) - 1) + u64::from(gain[set | 1 << i])
    };
    let full = (1usize << count) - 1;
    let mut best = vec![None::<u64>; 1 << count];
    let mut last = vec![0u8; 1 << count];
    best[0] = Some(0);
    for set in 0..full {
        let Some(area) = best[set] else { continue };
        for i in 0..count {
            if set >> i & 1 == 0 && needs[i] & !set == 0 {
                let grown = set | 1 << i;
                let reached = area + step(set, i);
                if best[grown].is_none_or(|b| reached > b) {
                    best[grown] = Some(reached);
                    last[grown] = i as u8;
                }
            }
        }
    }
    let as_it_was: u64 = (0..count).map(|i| step((1 << i) - 1, i)).sum();
    if best[full] <= Some(as_it_was) {
        return;
    }
    let mut order = Vec::with_capacity(count);
    let mut set = full;
    while set != 0 {
        order.push(last[set] as usize);
        set ^= 1 << last[set];
    }
    order.reverse();
    let old: Vec<Vec<TaskId>> = (begin..end)
        .map(|i| std::mem::take(&mut items[i]))
        .collect();
    for (i, from) in order.into_iter().enumerate() {
        items[begin + i].clone_from(&old[from]);
        items[begin + i]
            .iter()
            .for_each(|t| place[t.index()] = (begin + i) as u32);
    }
}

fn first_parent_inside(
    dag: &Dag,
    child: TaskId,
    inside: &impl Fn(TaskId) -> Option<usize>,
) -> Option<TaskId> {
    dag.parents(child)
        .iter()
        .copied()
        .find(|&p| inside(p).is_some())
}

/// The set of the window's items that `child` needs; `None` when it needs something after the window.
fn parents_inside(
    dag: &Dag,
    child: TaskId,
    inside: &impl Fn(TaskId) -> Option<usize>,
    place: &[u32],
    end: usize,
) -> Option<usize> {
    let mut set = 0;
    for &p in dag.parents(child) {
        match inside(p) {
            Some(i) => set |= 1 << i,
            None if place[p.index()] as usize >= end => return None,
            None => {}
        }
    }
    Some(set)
}
