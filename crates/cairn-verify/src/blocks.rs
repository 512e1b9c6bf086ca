//! The bound by blocks: checks that an order is as good as its blocks allow. Knows nothing of hulls and searches.

use crate::accepted::Outcome;
use crate::exact::Solver;
use crate::format::Blocks;
use crate::parts::{Placed, parts, sum};
use crate::rejected::Rejected;
use crate::width::{long, wide};
use cairn_dag::{Dag, TaskId};

/// The blocks are what is left when some arcs are left out and no task waits for its parents: a reward asks for the
/// parents it has, no more. The order must execute each block as well as the block alone allows; and no sum of such
/// blocks may gain more, at any step, than the order does. Then the order is as good as any order of the relaxed problem,
/// and so as any order of the dag.
pub(crate) fn check(
    dag: &Dag,
    order: &[TaskId],
    blocks: &Blocks,
    profile: &[u64],
    solver: &mut Solver,
) -> Result<Outcome, Rejected> {
    let relaxed = without(dag, order, &blocks.left_out)?;
    // One group and nothing waits: blocks, joined by common children alone.
    let placed = parts(&relaxed, &vec![0; dag.len()], false);
    let count = placed.len();
    if long(count) != blocks.count {
        return Err(Rejected::BlocksMiscounted(count, blocks.count));
    }
    let mut place = vec![0; dag.len()];
    (order.iter().enumerate()).for_each(|(i, t)| place[t.index()] = i);
    let reached: Vec<Vec<u64>> = placed.iter().map(|b| reached_by(b, &place)).collect();
    let (mut unknown, mut largest) = (0, 0);
    for (block, own) in placed.iter().zip(&reached) {
        match solver.profile(&block.part) {
            Some(best) if best != *own => {
                return Err(Rejected::BlockNotOptimal(block.tasks.len()));
            }
            Some(_) => {}
            None => {
                unknown += 1;
                largest = largest.max(block.tasks.len());
            }
        }
    }
    // What the order reaches, not what the solver found: where a block is unknown this is what is asserted of it.
    let lists: Vec<&[u64]> = reached.iter().map(Vec::as_slice).collect();
    let Some(total) = sum(&lists, &mut solver.work) else {
        let tasks = dag.len();
        return Ok(Outcome::Asserted(format!(
            "no sum over the {count} blocks gains more ({tasks} tasks)"
        )));
    };
    let sources = long(dag.sources().count());
    // At every step up to all nonsinks, which is as far as `total` goes; behind it the profile is the number of tasks
    // left.
    let is_short = |&t: &usize| (sources + total[t]).saturating_sub(long(t)) != profile[t];
    if let Some(t) = (0..total.len()).find(is_short) {
        return Err(Rejected::BelowBlocks(t));
    }
    Ok(match unknown {
        0 => Outcome::Proved(format!(
            "the bound by {count} blocks, each of them re-checked"
        )),
        _ => Outcome::Asserted(format!(
            "{unknown} of {count} blocks are executed optimally, the largest of {largest} tasks (the others are proved)"
        )),
    })
}

/// The dag without some arcs. Less is asked for, so bounds for it are bounds for the dag.
fn without(dag: &Dag, order: &[TaskId], left_out: &[(u32, u32)]) -> Result<Dag, Rejected> {
    let mut gone = Vec::new();
    for &(parent, child) in left_out {
        let task = |number: u32| order.get(wide(number)).copied();
        match (task(parent), task(child)) {
            (Some(p), Some(c)) if dag.has_arc(p, c) => gone.push((p.0, c.0)),
            _ => return Err(Rejected::LeftOutNoArc(parent, child)),
        }
    }
    gone.sort_unstable();
    if gone.windows(2).any(|w| w[0] == w[1]) {
        return Err(Rejected::LeftOutTwice);
    }
    let arcs = dag.arcs().map(|(p, c)| (p.0, c.0));
    let kept: Vec<(u32, u32)> = arcs.filter(|a| gone.binary_search(a).is_err()).collect();
    let relaxed = Dag::from_arcs(dag.len(), kept).expect("fewer arcs make no cycle");
    // Else a task that is a reward or must be executed in the dag would be none in the blocks, and the counts would
    // differ.
    let is_same = |t: TaskId| {
        dag.is_source(t) == relaxed.is_source(t) && dag.is_sink(t) == relaxed.is_sink(t)
    };
    match dag.tasks().all(is_same) {
        true => Ok(relaxed),
        false => Err(Rejected::LeftOutTooMuch),
    }
}

/// What the order gains in one block after each of the block's tasks.
fn reached_by(block: &Placed, place: &[usize]) -> Vec<u64> {
    let done_at: Vec<usize> = block.tasks.iter().map(|t| place[t.index()]).collect();
    let mut steps = done_at.clone();
    steps.sort_unstable();
    let mut gains = vec![0u64; steps.len() + 1];
    for reward in &block.part.rewards {
        let last = reward.iter().map(|&v| done_at[wide(v)]).max();
        // Gained with the block's task that is executed last of those it asks for, counted within the block.
        gains[steps.partition_point(|&s| Some(s) <= last)] += 1;
    }
    for t in 1..gains.len() {
        gains[t] += gains[t - 1];
    }
    gains
}
