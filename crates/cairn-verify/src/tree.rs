//! The best gain of a relaxed part that is a tree or a ring, whatever its size. Knows no order among tasks.

use crate::parts::{Effort, Part};
use std::collections::BTreeMap;

const NEVER: i64 = i64::MIN / 4;

/// A part with equal things put together. Rewards that ask for the same tasks are one with a weight. Tasks asked
/// for by the same rewards are one with a cost: to execute only some of them gains nothing by itself.
struct Compressed {
    cost: Vec<usize>,
    weight: Vec<i64>,
    /// By task: the rewards that ask for it.
    asks: Vec<Vec<usize>>,
    /// By reward: the tasks it asks for.
    needs: Vec<Vec<usize>>,
}

fn compress(part: &Part) -> Compressed {
    let mut weights: BTreeMap<&Vec<u32>, i64> = BTreeMap::new();
    part.rewards
        .iter()
        .for_each(|r| *weights.entry(r).or_default() += 1);
    let mut asked_by = vec![Vec::new(); part.before.len()];
    for (r, need) in weights.keys().enumerate() {
        need.iter().for_each(|&v| asked_by[v as usize].push(r));
    }
    let mut costs: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    asked_by
        .into_iter()
        .for_each(|rewards| *costs.entry(rewards).or_default() += 1);
    let mut needs = vec![Vec::new(); weights.len()];
    for (v, rewards) in costs.keys().enumerate() {
        rewards.iter().for_each(|&r| needs[r].push(v));
    }
    Compressed {
        weight: weights.into_values().collect(),
        cost: costs.values().copied().collect(),
        asks: costs.into_keys().collect(),
        needs,
    }
}

/// The most that `t` tasks of a connected relaxed part can gain; `None` if it is neither tree nor ring.
pub(crate) fn profile(part: &Part, effort: &mut Effort) -> Option<Vec<u64>> {
    let part = compress(part);
    let (tasks, rewards) = (part.cost.len(), part.weight.len());
    let arcs: usize = part.needs.iter().map(Vec::len).sum();
    let is_ring = part.needs.iter().all(|n| n.len() == 2)
        && part.asks.iter().all(|a| a.len() == 2)
        && part.cost.iter().all(|&c| c == 1)
        && part.weight.iter().all(|&w| w == 1);
    if is_ring {
        // t neighbours along the ring, and the last closes it.
        let all = tasks as u64;
        return Some(
            (0..=all)
                .map(|t| if t == all { t } else { t.saturating_sub(1) })
                .collect(),
        );
    }
    let size: u64 = part.cost.iter().map(|&c| c as u64).sum();
    if arcs + 1 != tasks + rewards || !effort.spend(size.saturating_mul(size)) {
        return None;
    }
    Some(over_tree(&part))
}

/// For each task v of the rooted tree two arrays over the number of executed tasks below and with it: the best
/// gain when v is not executed, and when it is.
fn over_tree(part: &Compressed) -> Vec<u64> {
    let tasks = part.cost.len();
    let mut parent_reward = vec![usize::MAX; tasks];
    let mut order = vec![0];
    for i in 0..tasks {
        let v = order[i];
        let above = parent_reward[v];
        for &r in part.asks[v].iter().filter(|&&r| r != above) {
            for &w in part.needs[r].iter().filter(|&&w| w != v) {
                parent_reward[w] = r;
                order.push(w);
            }
        }
    }
    let mut without: Vec<Vec<i64>> = vec![Vec::new(); tasks];
    let mut with: Vec<Vec<i64>> = vec![Vec::new(); tasks];
    for &v in order.iter().rev() {
        let (mut out, mut taken) = (vec![0], vec![0]);
        for &r in part.asks[v].iter().filter(|&&r| r != parent_reward[v]) {
            let (mut any, mut all) = (vec![0], vec![part.weight[r]]);
            for &w in part.needs[r].iter().filter(|&&w| w != v) {
                let below = larger(&without[w], &with[w]);
                any = add(&any, &below);
                all = add(&all, &with[w]);
                (without[w], with[w]) = (Vec::new(), Vec::new());
            }
            out = add(&out, &any);
            taken = add(&taken, &larger(&any, &all));
        }
        out.extend(vec![NEVER; part.cost[v]]);
        taken.splice(0..0, vec![NEVER; part.cost[v]]);
        (without[v], with[v]) = (out, taken);
    }
    let best = larger(&without[0], &with[0]);
    let mut height = 0;
    let climb = best.into_iter().map(|gain| {
        height = height.max(gain);
        height as u64
    });
    climb.collect()
}

fn larger(a: &[i64], b: &[i64]) -> Vec<i64> {
    a.iter().zip(b).map(|(&x, &y)| x.max(y)).collect()
}

fn add(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut out = vec![NEVER; a.len() + b.len() - 1];
    for (i, &x) in a.iter().enumerate().filter(|e| *e.1 > NEVER / 2) {
        for (best, &y) in out[i..].iter_mut().zip(b) {
            *best = (*best).max(x + y);
        }
    }
    out.iter_mut()
        .for_each(|x| *x = if *x < 0 { NEVER } else { *x });
    out
}
