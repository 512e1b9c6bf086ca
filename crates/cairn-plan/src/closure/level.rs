//! Levelling sweeps: move flow about until neighbours bear nearly equal loads. Solves nothing, gives good bounds.

use super::amount::Amount;
use super::ids::PieceNodeId;
use super::network::Network;
use cairn_kernel::{Stopped, Work};

/// Levels the loads of a network: `sweeps` passes over all nodes, up and down in turn.
///
/// The *load* of a node is its balance, divided by its cost. In the flow of least Σ load²·cost every piece of the
/// chain is level within itself. Each step here equalises one node with what it needs (Gauss–Seidel), so that
/// short-range differences vanish quickly. Floats choose the amounts, integers move: the result is a valid flow
/// whatever the rounding. O(sweeps·arcs).
pub(crate) fn level<N: Amount>(
    network: &mut Network<N>,
    cost: &[u64],
    sweeps: usize,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    let mut sweep = Sweep {
        network,
        cost,
        shares: Vec::new(),
    };
    for pass in 0..sweeps {
        let nodes = sweep.network.ids();
        // From the last dependants towards the first needs, all flow can go the whole way: so that is the first pass.
        if pass % 2 == 0 {
            nodes.rev().for_each(|u| sweep.level_node(u));
        } else {
            nodes.for_each(|u| sweep.level_node(u));
        }
        work.go_on()?;
    }
    Ok(())
}

struct Sweep<'a, N> {
    network: &'a mut Network<N>,
    cost: &'a [u64],
    shares: Vec<Share>,
}

/// What a node without cost may give to one of its needs.
#[derive(Clone, Copy)]
struct Share {
    slot: usize,
    /// Balance and cost of the need, without this share.
    balance: f64,
    cost: f64,
}

impl Share {
    fn load(&self) -> f64 {
        self.balance / self.cost
    }
}

impl<N: Amount> Sweep<'_, N> {
    fn level_node(&mut self, u: PieceNodeId) {
        if self.cost[u.index()] == 0 {
            self.pour_out(u);
            return;
        }
        for slot in self.network.needs(u) {
            let need = self.network.slots[slot].to;
            if self.cost[need.index()] > 0 {
                self.level_pair(u, slot, need);
            } else {
                self.level_through(u, slot, need);
            }
        }
    }

    fn load(&self, u: PieceNodeId) -> f64 {
        // A node without cost keeps nothing, so its load does not matter; 1 spares a division by zero.
        self.network.nodes[u.index()].balance.to_float() / self.cost[u.index()].max(1) as f64
    }

    /// How much to move from `u` to `w` to make their loads equal.
    fn difference(&self, u: PieceNodeId, w: PieceNodeId) -> f64 {
        let (cost_u, cost_w) = (
            self.cost[u.index()] as f64,
            self.cost[w.index()].max(1) as f64,
        );
        (self.load(u) - self.load(w)) * cost_u * cost_w / (cost_u + cost_w)
    }

    fn level_pair(&mut self, u: PieceNodeId, slot: usize, need: PieceNodeId) {
        // Towards the need any amount may go; rounding is towards zero, so that it never overshoots.
        let amount = N::from_float(self.difference(u, need));
        // Back along the arc, no more than flows there.
        let amount = amount.max(-self.network.slots[slot].flow);
        if amount != N::ZERO {
            self.network.carry(u, slot, amount);
        }
    }

    /// Levels `u` with the least or the most loaded need of `middle`, a need of `u` that has no cost of its own.
    fn level_through(&mut self, u: PieceNodeId, slot: usize, middle: PieceNodeId) {
        let (mut least, mut most) = (None, None);
        let (mut least_load, mut most_load) = (f64::INFINITY, f64::NEG_INFINITY);
        for beyond in self.network.needs(middle) {
            let load = self.load(self.network.slots[beyond].to);
            if load < least_load {
                (least, least_load) = (Some(beyond), load);
            }
            if load > most_load && self.network.slots[beyond].flow > N::ZERO {
                (most, most_load) = (Some(beyond), load);
            }
        }
        let load = self.load(u);
        if let Some(beyond) = least.filter(|_| load > least_load) {
            let far = self.network.slots[beyond].to;
            let amount = N::from_float(self.difference(u, far));
            self.network.carry(u, slot, amount);
            self.network.carry(middle, beyond, amount);
        } else if let Some(beyond) = most.filter(|_| load < most_load) {
            let far = self.network.slots[beyond].to;
            let amount = N::from_float(-self.difference(u, far))
                .min(self.network.slots[slot].flow)
                .min(self.network.slots[beyond].flow);
            self.network.carry(u, slot, -amount);
            self.network.carry(middle, beyond, -amount);
        }
    }

    /// Distributes all that `u`, a node without cost, has and gets among its needs, the least loaded first, as
    /// water fills vessels.
    fn pour_out(&mut self, u: PieceNodeId) {
        let needs = self.network.needs(u);
        if needs.is_empty() {
            return;
        }
        let mut whole = self.network.nodes[u.index()].balance;
        self.shares.clear();
        for slot in needs {
            let towards = self.network.slots[slot];
            whole += towards.flow;
            let need = towards.to.index();
            self.shares.push(Share {
                slot,
                balance: (self.network.nodes[need].balance - towards.flow).to_float(),
                cost: self.cost[need].max(1) as f64,
            });
        }
        // Equal loads may come in any order: the surface is the same.
        (self.shares).sort_unstable_by(|a, b| a.load().total_cmp(&b.load()));
        let surface = surface(whole.to_float(), &self.shares);
        let mut left = whole;
        for i in 0..self.shares.len() {
            let share = self.shares[i];
            let wanted = N::from_float(share.cost * surface - share.balance);
            let amount = wanted.max(N::ZERO).min(left);
            left -= amount;
            let change = amount - self.network.slots[share.slot].flow;
            if change != N::ZERO {
                self.network.carry(u, share.slot, change);
            }
        }
        // What rounding left over; a node without cost keeps nothing.
        if left != N::ZERO {
            self.network.carry(u, self.shares[0].slot, left);
        }
    }
}

/// The common load at which `whole` just fills the shares, which are sorted by load.
fn surface(whole: f64, shares: &[Share]) -> f64 {
    let (mut balance, mut cost) = (whole, 0.0);
    let mut surface = 0.0;
    for (i, share) in shares.iter().enumerate() {
        balance += share.balance;
        cost += share.cost;
        surface = balance / cost;
        if shares
            .get(i + 1)
            // The next vessel starts above the surface: it and all behind it stay dry.
            .is_some_and(|higher| surface <= higher.load())
        {
            break;
        }
    }
    surface
}
