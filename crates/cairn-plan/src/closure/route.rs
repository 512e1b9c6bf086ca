//! The exact maximum flow, from any start, in rounds that move surplus or deficits. Knows one network at a time.

use super::amount::Amount;
use super::ids::PieceNodeId;
use super::network::Network;
use super::scratch::Scratch;
use super::sides::Side;
use super::solve::Tuning;
use super::trees::Trees;
use cairn_kernel::{NONE, Stopped, Work};

/// The label of an active node that no search has reached yet; others have `NONE`.
const UNREACHED_ACTIVE: u32 = NONE - 1;

/// The label of a node whose side is decided.
const CLOSED: u32 = NONE - 2;

/// Routes all surplus that can reach a deficit, from whatever flow the network holds, and sets the sides.
///
/// Rounds of Hochbaum's pseudoflow ([`Trees`]), each with exact labels at its start. A round either pushes surplus
/// towards deficits, or pulls deficits towards surplus, which is the same with all directions reversed. What can no
/// longer change sides leaves the game.
pub(crate) fn route<N: Amount>(
    network: &mut Network<N>,
    scratch: &mut Scratch,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    scratch.sides.clear();
    scratch.sides.resize(network.len(), Side::Open);
    scratch.live.clear();
    scratch.live.extend(network.ids());
    for number in 1.. {
        work.stride()?;
        let (surpluses, deficits) = count_active(network, &scratch.live);
        if surpluses == 0 || deficits == 0 {
            let rest = if surpluses > 0 {
                Side::First
            } else {
                Side::Last
            };
            // What is left has no partner: surplus that reaches no deficit is worth its price, hence first; all else
            // is last.
            decide_live(scratch, |_| rest);
            return Ok(());
        }
        // More each round: labels that are made exact too often cost more than they save.
        let looks = number * tuning.looks_a_node * scratch.live.len();
        let finished = if deficits < tuning.pull_below * surpluses {
            round::<N, true>(network, scratch, deficits, looks, work)
        } else {
            round::<N, false>(network, scratch, surpluses, looks, work)
        };
        if finished? {
            return Ok(());
        }
    }
    unreachable!("the loop ends by returning")
}

fn count_active<N: Amount>(network: &Network<N>, live: &[PieceNodeId]) -> (usize, usize) {
    let (mut surpluses, mut deficits) = (0, 0);
    for &u in live {
        let balance = network.nodes[u.index()].balance;
        surpluses += usize::from(balance > N::ZERO);
        deficits += usize::from(balance < N::ZERO);
    }
    (surpluses, deficits)
}

fn decide_live(scratch: &mut Scratch, side: impl Fn(PieceNodeId) -> Side) {
    for &u in &scratch.live {
        scratch.sides[u.index()] = side(u);
    }
    scratch.live.clear();
}

/// One round: exact labels, then trees until nothing is active or enough was looked at. Returns whether everything
/// is decided.
fn round<N: Amount, const PULL: bool>(
    network: &mut Network<N>,
    scratch: &mut Scratch,
    active: usize,
    looks: usize,
    work: &mut Work<'_>,
) -> Result<bool, Stopped> {
    let (reached_all, found) = label::<N, PULL>(network, scratch, active);
    // Unreached nodes cannot reach a deficit (push) or be reached from a surplus (pull), ever again.
    let (unreached, reached) = if PULL {
        (Side::Last, Side::First)
    } else {
        (Side::First, Side::Last)
    };
    let is_unreached = |u: PieceNodeId| network.labels[u.index()] >= UNREACHED_ACTIVE;
    // No surplus reaches a deficit any more: the flow is maximal, and the labels tell the cut.
    if reached_all && found == 0 {
        decide_live(
            scratch,
            |u| if is_unreached(u) { unreached } else { reached },
        );
        return Ok(true);
    }
    if reached_all && scratch.queue.len() < scratch.live.len() {
        let sides = &mut scratch.sides;
        // The dead leave, so that later rounds look at fewer nodes and labels of the rest stay exact.
        scratch.live.retain(|&u| {
            let label = &mut network.labels[u.index()];
            let stays = *label < UNREACHED_ACTIVE;
            if !stays {
                sides[u.index()] = unreached;
                *label = CLOSED;
            }
            stays
        });
    }
    Trees::<N, PULL>::new(network, scratch).run(looks, work)?;
    Ok(false)
}

/// The balance as the active side sees it: positive where there is something to move.
#[inline(always)]
pub(crate) fn active_amount<N: Amount, const PULL: bool>(balance: N) -> N {
    if PULL { -balance } else { balance }
}

/// Labels live nodes with their distance to the nearest deficit (or, when pulling, from the nearest surplus).
/// Stops once all `active` nodes have been met. Returns whether all reachable nodes were, and how many active
/// ones.
fn label<N: Amount, const PULL: bool>(
    network: &mut Network<N>,
    scratch: &mut Scratch,
    active: usize,
) -> (bool, usize) {
    let queue = &mut scratch.queue;
    queue.clear();
    for &u in &scratch.live {
        let node = &mut network.nodes[u.index()];
        // New labels: every slot may lead down again.
        node.cursor = 0;
        let amount = active_amount::<N, PULL>(node.balance);
        network.labels[u.index()] = if amount > N::ZERO {
            UNREACHED_ACTIVE
        } else {
            NONE
        };
        if amount < N::ZERO {
            network.labels[u.index()] = 0;
            queue.push(u);
        }
    }
    let mut found = 0;
    let mut next = 0;
    while next < queue.len() {
        let w = queue[next];
        next += 1;
        let label = network.labels[w.index()] + 1;
        let (unlimited, limited) = if PULL {
            (network.needs(w), network.dependants(w))
        } else {
            (network.dependants(w), network.needs(w))
        };
        let mut reach = |network: &mut Network<N>, slot: usize| {
            let u = network.slots[slot].to;
            let known = network.labels[u.index()];
            if known >= UNREACHED_ACTIVE {
                network.labels[u.index()] = label;
                queue.push(u);
                found += usize::from(known == UNREACHED_ACTIVE);
            }
        };
        for slot in unlimited {
            reach(network, slot);
        }
        for slot in limited {
            if network.slots[slot].flow > N::ZERO {
                reach(network, slot);
            }
        }
        // Farther nodes need no label in this round.
        if found == active {
            return (next == queue.len(), found);
        }
    }
    (true, found)
}
