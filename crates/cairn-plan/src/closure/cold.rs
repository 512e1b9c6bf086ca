//! The cold start: blocking flows from zero, given up soon if they do not finish. Knows one network at a time.

use super::amount::Amount;
use super::ids::{PieceNodeId, SlotId};
use super::network::Network;
use super::scratch::Scratch;
use super::sides::Side;
use super::solve::Tuning;
use cairn_kernel::{NONE, Stopped, Work, narrow, wide};

/// Sources after which to ask whether to stop.
// A path may be as long as the dag is deep: at a thousand arcs each, some milliseconds.
const SOURCES_A_CHECK: usize = 1 << 12;

/// Whether a bounded attempt came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// All surplus that can reach a deficit has; the sides are set.
    Finished,
    /// Too slow; the flow is valid but not maximal.
    GaveUp,
}

/// Routes surplus to deficits by a few blocking flows along shortest paths.
///
/// Dinic's algorithm (1970), where a path takes the first arc that fits. On regular dags (meshes, FFTs, trees) a
/// few phases suffice, better than anything cleverer; on others it is given up as soon as a phase leaves too
/// much of the surplus. O(phases·arcs) and the total length of the paths.
pub(crate) fn attempt<N: Amount>(
    network: &mut Network<N>,
    scratch: &mut Scratch,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> Result<Attempt, Stopped> {
    let mut before: Option<f64> = None;
    for phase in 0.. {
        work.stride()?;
        let Scratch {
            queue,
            live: sources,
            path,
            ..
        } = &mut *scratch;
        // Labels come first each time: the last ones tell the sides, or that it was too slow.
        label_from_deficits(network, queue);
        sources.clear();
        let has_surplus = |&u: &PieceNodeId| network.nodes[u.index()].balance > N::ZERO;
        sources.extend(queue.iter().copied().filter(has_surplus));
        if sources.is_empty() {
            set_sides(network, scratch);
            return Ok(Attempt::Finished);
        }
        let surplus: f64 = (sources.iter())
            .map(|&u| network.nodes[u.index()].balance.to_float())
            .sum();
        // A phase that leaves most of the surplus would be followed by many like it.
        let is_slow = before.is_some_and(|before| tuning.cold_leaves * surplus > before);
        if is_slow || phase == tuning.cold_phases {
            return Ok(Attempt::GaveUp);
        }
        for some in sources.chunks(SOURCES_A_CHECK) {
            work.stride()?;
            for &source in some {
                drain(network, source, path);
            }
        }
        before = Some(surplus);
    }
    unreachable!("the loop ends by returning")
}

/// Labels every node with its distance to the nearest deficit; `queue` gets all nodes that reach one.
fn label_from_deficits<N: Amount>(network: &mut Network<N>, queue: &mut Vec<PieceNodeId>) {
    queue.clear();
    for u in network.ids() {
        let node = &mut network.nodes[u.index()];
        node.cursor = 0;
        if node.balance < N::ZERO {
            network.labels[u.index()] = 0;
            queue.push(u);
        } else {
            network.labels[u.index()] = NONE;
        }
    }
    let mut next = 0;
    while next < queue.len() {
        let w = queue[next];
        next += 1;
        let label = network.labels[w.index()] + 1;
        let mut reach = |network: &mut Network<N>, slot: usize| {
            let u = network.slots[slot].to;
            if network.labels[u.index()] == NONE {
                network.labels[u.index()] = label;
                queue.push(u);
            }
        };
        // From the deficit backwards: flow may come along any arc from a dependant, however much flows there; from a need only
        // back, as much as flows there.
        for slot in network.needs(w) {
            if network.slots[slot].flow > N::ZERO {
                reach(network, slot);
            }
        }
        for slot in network.dependants(w) {
            reach(network, slot);
        }
    }
}

/// Sends the surplus of `source` along shortest paths until it is gone or no path is left.
fn drain<N: Amount>(network: &mut Network<N>, source: PieceNodeId, path: &mut Vec<SlotId>) {
    while network.nodes[source.index()].balance > N::ZERO {
        let Some(end) = find_path(network, source, path) else {
            return;
        };
        let mut amount = network.nodes[source.index()].balance;
        amount = amount.min(-network.nodes[end.index()].balance);
        let mut u = source;
        for &slot in path.iter() {
            let slot = slot.index();
            // Along needs any amount may go: only arcs walked backwards limit it.
            if !network.needs(u).contains(&slot) {
                amount = amount.min(network.slots[slot].flow);
            }
            u = network.slots[slot].to;
        }
        u = source;
        for &slot in path.iter() {
            let slot = slot.index();
            let forward = network.needs(u).contains(&slot);
            network.add_flow(slot, if forward { amount } else { -amount });
            u = network.slots[slot].to;
        }
        network.nodes[source.index()].balance -= amount;
        network.nodes[end.index()].balance += amount;
    }
}

/// A shortest path from `source` to a deficit as slots, and its end; cursors never go back within a phase.
fn find_path<N: Amount>(
    network: &mut Network<N>,
    source: PieceNodeId,
    path: &mut Vec<SlotId>,
) -> Option<PieceNodeId> {
    path.clear();
    let mut u = source;
    loop {
        let node = network.nodes[u.index()];
        let label = network.labels[u.index()];
        if label == 0 && node.balance < N::ZERO {
            return Some(u);
        }
        let (first, middle) = (network.needs(u).start, network.needs(u).end);
        let end = network.dependants(u).end;
        let mut slot = first + wide(node.cursor);
        while slot < end {
            let towards = network.slots[slot];
            let below = network.labels[towards.to.index()];
            // Needs come first in a node's slots and take any amount; behind them, flow can only be taken back.
            let open = slot < middle || towards.flow > N::ZERO;
            if open && below.wrapping_add(1) == label {
                // A deficit that was filled in this phase still has label 0.
                let is_full = network.nodes[towards.to.index()].balance >= N::ZERO;
                if below > 0 || !is_full {
                    break;
                }
            }
            slot += 1;
        }
        network.nodes[u.index()].cursor = narrow(slot - first);
        if slot < end {
            path.push(SlotId::new(slot));
            u = network.slots[slot].to;
        } else {
            // A dead end: back one step, and past the slot that led here.
            let led = path.pop()?.index();
            let mate = network.slots[led].mate.index();
            u = network.slots[mate].to;
            // The slot is dead for this phase: labels do not change within it.
            network.nodes[u.index()].cursor += 1;
        }
    }
}

/// First: the nodes that the last labelling did not reach.
fn set_sides<N: Amount>(network: &Network<N>, scratch: &mut Scratch) {
    scratch.sides.clear();
    let side = |&label: &u32| match label {
        NONE => Side::First,
        _ => Side::Last,
    };
    scratch.sides.extend(network.labels.iter().map(side));
}
