//! The best gain of one part by eliminating its tasks and rewards one after the other: exact for trees, rings and all
//! that comes near to them, whatever their size. Knows nothing of the rest of the dag.
//!
//! Tasks and rewards are yes-or-no questions: is it executed, is it gained? A reward asks for its tasks; a task that waits
//! asks for the reward of being eligible itself. A question leaves the game like this: for each way to answer its
//! neighbours, note for each number of executed tasks the most that it and all that left before through it can gain.
//! Its neighbours become neighbours of each other. With few of them at each time (a tree has one) that is cheap.

use crate::parts::Part;
use crate::width::{long, wide};
use crate::work::Work;
use std::collections::{BTreeMap, BTreeSet};

// Two of them, with any gains added, do not overflow.
const NEVER: i64 = i64::MIN / 4;

/// No question may have more neighbours than this when it leaves.
// 2¹⁴ tables for one question: more would not end within any look.
const NEIGHBOURS: usize = 14;

/// The questions of a part, equal ones put together. Rewards that ask for the same tasks are one with a weight. Tasks
/// asked for by the same rewards that wait for the same are one with a cost: to execute only some gains nothing.
struct Questions {
    cost: Vec<usize>,
    weight: Vec<i64>,
    /// By question: those to which yes is needed for a yes to it.
    asks: Vec<Vec<usize>>,
    /// By question: those that ask for it.
    asked_by: Vec<Vec<usize>>,
}

fn questions(part: &Part) -> Questions {
    let mut weights: BTreeMap<&Vec<u32>, i64> = BTreeMap::new();
    for reward in &part.rewards {
        *weights.entry(reward).or_default() += 1;
    }
    // Sorted maps throughout: numbers, and the steps spent, are the same in every run.
    let number: BTreeMap<&Vec<u32>, usize> = weights.keys().copied().zip(0..).collect();
    let mut asked_by = vec![Vec::new(); part.before.len()];
    for (reward, &r) in &number {
        reward.iter().for_each(|&v| asked_by[wide(v)].push(r));
    }
    let mut costs: BTreeMap<(Vec<usize>, Option<usize>), usize> = BTreeMap::new();
    for (asked_by, before) in asked_by.into_iter().zip(&part.before) {
        // A task that waits is itself a reward, which asks for the same.
        *costs
            .entry((asked_by, number.get(before).copied()))
            .or_default() += 1;
    }
    let rewards = weights.len();
    let mut asks = vec![Vec::new(); rewards + costs.len()];
    let mut asked_by = asks.clone();
    let mut ask = |a: usize, b: usize| {
        asks[a].push(b);
        asked_by[b].push(a);
    };
    for (v, (rewards_of_it, waits_for)) in costs.keys().enumerate() {
        rewards_of_it.iter().for_each(|&r| ask(r, rewards + v));
        waits_for.iter().for_each(|&r| ask(rewards + v, r));
    }
    let mut cost = vec![0; rewards];
    cost.extend(costs.values());
    let mut weight: Vec<i64> = weights.into_values().collect();
    weight.resize(cost.len(), 0);
    Questions {
        cost,
        weight,
        asks,
        asked_by,
    }
}

/// What left the game, as far as its neighbours matter: by their answers (bit i for the i-th of them), for each number
/// of executed tasks the most that is gained; empty where these answers contradict.
struct Message {
    neighbours: Vec<usize>,
    table: Vec<Vec<i64>>,
}

/// In which order questions leave, each with the neighbours that it has then: always one with the fewest. `None` if one
/// would have too many, or if it is too much to find out: then nothing was noted for any.
fn leaving(game: &Questions, work: &mut Work) -> Option<Vec<(usize, Vec<usize>)>> {
    let count = game.cost.len();
    let joined = |v: usize| game.asks[v].iter().chain(&game.asked_by[v]).copied();
    let mut adjacent: Vec<BTreeSet<usize>> = (0..count).map(|v| joined(v).collect()).collect();
    let mut queue: BTreeSet<(usize, usize)> = (0..count).map(|v| (adjacent[v].len(), v)).collect();
    let mut leaving = Vec::with_capacity(count);
    while let Some((degree, v)) = queue.pop_first() {
        // Ten for the books of one that leaves, beside a look at every two of its neighbours. A judgement.
        if degree > NEIGHBOURS || !work.afford(long(10 + degree * degree)) {
            return None;
        }
        let neighbours: Vec<usize> = std::mem::take(&mut adjacent[v]).into_iter().collect();
        for &u in &neighbours {
            // Taken out under its old degree and put in under the new one.
            queue.remove(&(adjacent[u].len(), u));
            adjacent[u].remove(&v);
            adjacent[u].extend(neighbours.iter().filter(|&&w| w != u));
            queue.insert((adjacent[u].len(), u));
        }
        leaving.push((v, neighbours));
    }
    Some(leaving)
}

/// The most that `t` tasks of the part can gain; `None` if it is too tangled or too large.
pub(crate) fn profile(part: &Part, work: &mut Work) -> Option<Vec<u64>> {
    let game = questions(part);
    // Each message waits at that of its neighbours that leaves first: at all of them until then.
    let mut messages: Vec<Option<Message>> = Vec::new();
    let mut waiting = vec![Vec::new(); game.cost.len()];
    let mut total = vec![0];
    for (v, neighbours) in leaving(&game, work)? {
        let about: Vec<Message> = std::mem::take(&mut waiting[v])
            .into_iter()
            // A message waits at every neighbour; the first of them to leave takes it, the others find it gone.
            .filter_map(|m: usize| messages[m].take())
            .collect();
        let table = leave(&game, v, &neighbours, &about, work)?;
        match neighbours.is_empty() {
            true => total = add(&total, &table[0], work)?,
            false => {
                (neighbours.iter()).for_each(|&u| waiting[u].push(messages.len()));
                messages.push(Some(Message { neighbours, table }));
            }
        }
    }
    let mut height = 0;
    let climb = total.into_iter().map(|gain| {
        // Some numbers of tasks cannot be met exactly; the profile is for at most so many.
        height = height.max(gain);
        height as u64
    });
    Some(climb.collect())
}

/// The table of `v` and all messages about it, by the answers of its neighbours.
fn leave(
    game: &Questions,
    v: usize,
    neighbours: &[usize],
    about: &[Message],
    work: &mut Work,
) -> Option<Vec<Vec<i64>>> {
    let bit = |u: usize| neighbours.iter().position(|&w| w == u);
    let mask = |list: &[usize]| {
        let bits = list.iter().filter_map(|&u| bit(u));
        bits.fold(0usize, |mask, i| mask | 1 << i)
    };
    // Those that have left are in the messages.
    let (asks, asked) = (mask(&game.asks[v]), mask(&game.asked_by[v]));
    // Where to find each neighbour's answer, by place in a message: none for v itself.
    let places: Vec<Vec<Option<usize>>> = (about.iter())
        .map(|m| m.neighbours.iter().map(|&u| bit(u)).collect())
        .collect();
    let mut table = Vec::with_capacity(1 << neighbours.len());
    for answers in 0..1usize << neighbours.len() {
        let mut best = Vec::new();
        for yes in [false, true] {
            // A yes needs a yes to all it asks for; a no forbids a yes to whoever asks for it.
            if yes && answers & asks != asks || !yes && answers & asked != 0 {
                continue;
            }
            let mut sum = vec![NEVER; game.cost[v] + 1];
            sum[if yes { game.cost[v] } else { 0 }] = if yes { game.weight[v] } else { 0 };
            for (message, places) in about.iter().zip(&places) {
                let its = places
                    .iter()
                    .enumerate()
                    .filter(|(_, place)| place.map_or(yes, |i| answers >> i & 1 == 1));
                let its = its.fold(0, |its, (i, _)| its | 1 << i);
                sum = add(&sum, &message.table[its], work)?;
            }
            best = match best.is_empty() {
                true => sum,
                false if sum.is_empty() => best,
                false => best.iter().zip(&sum).map(|(a, b)| *a.max(b)).collect(),
            };
        }
        table.push(best);
    }
    // Ten a table beside its entries, as for each question above. A judgement.
    work.afford(table.iter().map(|t| long(t.len()) + 10).sum())
        .then_some(table)
}

/// The best sum for each number of tasks; empty if one of them is.
fn add(a: &[i64], b: &[i64], work: &mut Work) -> Option<Vec<i64>> {
    if a.is_empty() || b.is_empty() {
        return Some(Vec::new());
    }
    work.take(long(a.len() * b.len()))?;
    let mut out = vec![NEVER; a.len() + b.len() - 1];
    for (i, &x) in a.iter().enumerate().filter(|e| *e.1 >= 0) {
        for (best, &y) in out[i..].iter_mut().zip(b) {
            *best = (*best).max(x + y);
        }
    }
    out.iter_mut()
        .for_each(|x| *x = if *x < 0 { NEVER } else { *x });
    Some(out)
}
