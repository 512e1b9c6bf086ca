//! Push–relabel in both directions: the exact maximum flow, from any start. Knows one network at a time.

use super::amount::Amount;
use super::budget::{Budget, Stopped, check};
use super::network::{NONE, Network};
use super::scratch::Scratch;
use super::sides::Side;

/// The label of an active node that no search has reached yet; others have `NONE`.
const UNREACHED_ACTIVE: u32 = NONE - 1;

/// The label of a node whose side is decided.
const CLOSED: u32 = NONE - 2;

/// Units of work a live node that a round may take before the labels are made exact again.
const WORK_A_NODE: usize = 12;

/// Units of work after which to ask whether to stop: some milliseconds.
const WORK_A_CHECK: usize = 1 << 18;

/// Routes all surplus that can reach a deficit, from whatever flow the network holds, and sets the sides.
///
/// Goldberg and Tarjan's push–relabel (1988), highest label first, with gap detection and exact labels at the
/// start of every round. A round either pushes surplus towards deficits, or pulls deficits towards surplus, which
/// is the same with all directions reversed. What can no longer change sides leaves the game.
pub(crate) fn route<N: Amount>(
    network: &mut Network<N>,
    scratch: &mut Scratch,
    budget: &dyn Budget,
) -> Result<(), Stopped> {
    scratch.sides.clear();
    scratch.sides.resize(network.len(), Side::Open);
    scratch.live.clear();
    scratch.live.extend(0..network.len() as u32);
    loop {
        check(budget)?;
        let (surpluses, deficits) = count_active(network, &scratch.live);
        if surpluses == 0 || deficits == 0 {
            let rest = if surpluses > 0 {
                Side::First
            } else {
                Side::Last
            };
            decide_live(scratch, |_| rest);
            return Ok(());
        }
        // The fewer move.
        let finished = if deficits < surpluses {
            round::<N, true>(network, scratch, deficits, budget)
        } else {
            round::<N, false>(network, scratch, surpluses, budget)
        };
        if finished? {
            return Ok(());
        }
    }
}

fn count_active<N: Amount>(network: &Network<N>, live: &[u32]) -> (usize, usize) {
    let (mut surpluses, mut deficits) = (0, 0);
    for &u in live {
        let balance = network.nodes[u as usize].balance;
        surpluses += usize::from(balance > N::ZERO);
        deficits += usize::from(balance < N::ZERO);
    }
    (surpluses, deficits)
}

fn decide_live(scratch: &mut Scratch, side: impl Fn(u32) -> Side) {
    for &u in &scratch.live {
        scratch.sides[u as usize] = side(u);
    }
    scratch.live.clear();
}

/// One round: exact labels, then discharging until nothing is active or the work is used up. Returns whether
/// everything is decided.
fn round<N: Amount, const PULL: bool>(
    network: &mut Network<N>,
    scratch: &mut Scratch,
    active: usize,
    budget: &dyn Budget,
) -> Result<bool, Stopped> {
    let (reached_all, found) = label::<N, PULL>(network, scratch, active);
    // Unreached nodes cannot reach a deficit (push) or be reached from a surplus (pull), ever again.
    let (unreached, reached) = if PULL {
        (Side::Last, Side::First)
    } else {
        (Side::First, Side::Last)
    };
    let is_unreached = |u: u32| network.labels[u as usize] >= UNREACHED_ACTIVE;
    if reached_all && found == 0 {
        decide_live(
            scratch,
            |u| if is_unreached(u) { unreached } else { reached },
        );
        return Ok(true);
    }
    if reached_all && scratch.queue.len() < scratch.live.len() {
        let sides = &mut scratch.sides;
        scratch.live.retain(|&u| {
            let label = &mut network.labels[u as usize];
            let stays = *label < UNREACHED_ACTIVE;
            if !stays {
                sides[u as usize] = unreached;
                *label = CLOSED;
            }
            stays
        });
    }
    let work = WORK_A_NODE * scratch.live.len();
    Round::<N, PULL>::new(network, scratch).run(work, budget)?;
    Ok(false)
}

/// The balance as the active side sees it: positive where there is something to move.
#[inline(always)]
fn active_amount<N: Amount, const PULL: bool>(balance: N) -> N {
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
        let node = &mut network.nodes[u as usize];
        node.cursor = 0;
        let amount = active_amount::<N, PULL>(node.balance);
        network.labels[u as usize] = if amount > N::ZERO {
            UNREACHED_ACTIVE
        } else {
            NONE
        };
        if amount < N::ZERO {
            network.labels[u as usize] = 0;
            queue.push(u);
        }
    }
    let mut found = 0;
    let mut next = 0;
    while next < queue.len() {
        let w = queue[next] as usize;
        next += 1;
        let label = network.labels[w] + 1;
        let (unlimited, limited) = if PULL {
            (network.needs(w), network.dependants(w))
        } else {
            (network.dependants(w), network.needs(w))
        };
        let mut reach = |network: &mut Network<N>, slot: usize| {
            let u = network.slots[slot].to;
            let known = network.labels[u as usize];
            if known >= UNREACHED_ACTIVE {
                network.labels[u as usize] = label;
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
        if found == active {
            return (next == queue.len(), found);
        }
    }
    (true, found)
}

struct Round<'a, N, const PULL: bool> {
    network: &'a mut Network<N>,
    heads: &'a mut Vec<u32>,
    counts: &'a mut Vec<u32>,
    /// No active node has a higher label.
    highest: usize,
    /// Nodes above a label that nobody has are cut off until the next round.
    gap: u32,
    work: usize,
}

impl<'a, N: Amount, const PULL: bool> Round<'a, N, PULL> {
    /// Puts the labelled nodes into buckets.
    fn new(network: &'a mut Network<N>, scratch: &'a mut Scratch) -> Self {
        let farthest = (scratch.queue.last()).map_or(0, |&u| network.labels[u as usize]);
        // Nodes that climb above this wait for the next round.
        let labels = 2 * farthest as usize + 64;
        scratch.heads.clear();
        scratch.heads.resize(labels, NONE);
        scratch.counts.clear();
        scratch.counts.resize(labels, 0);
        let mut round = Round {
            network,
            heads: &mut scratch.heads,
            counts: &mut scratch.counts,
            highest: 0,
            gap: NONE,
            work: 0,
        };
        for &u in &scratch.queue {
            let node = round.network.nodes[u as usize];
            round.counts[round.network.labels[u as usize] as usize] += 1;
            if active_amount::<N, PULL>(node.balance) > N::ZERO {
                round.activate(u);
            }
        }
        round
    }

    fn run(&mut self, work: usize, budget: &dyn Budget) -> Result<(), Stopped> {
        let mut next_check = WORK_A_CHECK;
        while self.work <= work {
            if self.work > next_check {
                check(budget)?;
                next_check += WORK_A_CHECK;
            }
            while self.highest > 0 && self.heads[self.highest] == NONE {
                self.highest -= 1;
            }
            let u = self.heads[self.highest];
            if u == NONE {
                break;
            }
            self.heads[self.highest] = self.network.nodes[u as usize].next;
            if self.network.labels[u as usize] <= self.gap {
                self.discharge(u as usize);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn activate(&mut self, u: u32) {
        let label = self.network.labels[u as usize] as usize;
        let node = &mut self.network.nodes[u as usize];
        node.next = self.heads[label];
        self.heads[label] = u;
        self.highest = self.highest.max(label);
    }

    /// Moves what `u` has one label down; what cannot go there lifts `u` to a higher label.
    fn discharge(&mut self, u: usize) {
        let node = self.network.nodes[u];
        let label = self.network.labels[u];
        let (needs, dependants) = (self.network.needs(u), self.network.dependants(u));
        let (unlimited, limited) = if PULL {
            (dependants, needs)
        } else {
            (needs, dependants)
        };
        let mut left = active_amount::<N, PULL>(node.balance);
        let slots = unlimited.len() + limited.len();
        let mut cursor = node.cursor as usize;
        let start = cursor;
        while label > 0 && cursor < slots {
            if cursor < unlimited.len() {
                let slot = unlimited.start + cursor;
                if self.is_below(slot, label) {
                    self.deliver(slot, left);
                    self.network.add_flow(slot, left);
                    left = N::ZERO;
                    break;
                }
            } else {
                let slot = limited.start + cursor - unlimited.len();
                let flow = self.network.slots[slot].flow;
                if flow > N::ZERO && self.is_below(slot, label) {
                    let amount = flow.min(left);
                    self.deliver(slot, amount);
                    self.network.add_flow(slot, -amount);
                    left -= amount;
                    if left == N::ZERO {
                        break;
                    }
                }
            }
            cursor += 1;
        }
        self.work += cursor - start + 1;
        self.network.nodes[u].balance = active_amount::<N, PULL>(left);
        if left == N::ZERO {
            self.network.nodes[u].cursor = cursor as u32;
        } else {
            self.work += slots;
            self.relabel(u, unlimited, limited);
        }
    }

    #[inline(always)]
    fn is_below(&self, slot: usize, label: u32) -> bool {
        let to = self.network.slots[slot].to as usize;
        self.network.labels[to].wrapping_add(1) == label
    }

    /// Adds `amount` to the node at the other end of `slot`.
    #[inline(always)]
    fn deliver(&mut self, slot: usize, amount: N) {
        let to = self.network.slots[slot].to;
        let node = &mut self.network.nodes[to as usize];
        let before = active_amount::<N, PULL>(node.balance);
        node.balance += active_amount::<N, PULL>(amount);
        if before <= N::ZERO && before + amount > N::ZERO {
            let label = self.network.labels[to as usize] as usize;
            node.next = self.heads[label];
            self.heads[label] = to;
        }
    }

    fn relabel(
        &mut self,
        u: usize,
        unlimited: std::ops::Range<usize>,
        limited: std::ops::Range<usize>,
    ) {
        let mut lowest = NONE;
        for slot in unlimited {
            let to = self.network.slots[slot].to as usize;
            lowest = lowest.min(self.network.labels[to]);
        }
        for slot in limited {
            if self.network.slots[slot].flow > N::ZERO {
                let to = self.network.slots[slot].to as usize;
                lowest = lowest.min(self.network.labels[to]);
            }
        }
        let old = self.network.labels[u];
        self.counts[old as usize] -= 1;
        if self.counts[old as usize] == 0 {
            self.gap = self.gap.min(old);
        }
        let node = &mut self.network.nodes[u];
        node.cursor = 0;
        let label = lowest.saturating_add(1);
        if label > self.gap || label as usize >= self.heads.len() {
            self.network.labels[u] = NONE;
        } else {
            self.network.labels[u] = label;
            self.counts[label as usize] += 1;
            self.activate(u as u32);
        }
    }
}
