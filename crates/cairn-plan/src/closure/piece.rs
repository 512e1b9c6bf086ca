//! A piece of the chain that is not settled yet: the nodes between two ideals, their flow, their price. Knows
//! neither where it came from nor how it is solved.

use super::amount::Amount;
use super::gain::Gain;
use super::ids::{GraphNodeId, PieceNodeId};
use super::network::{Arc, Network};

/// Where a stretch of the chain lies, between two ideals A ⊂ B, and the range of its slopes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Reward and cost of A.
    pub(crate) base: Gain,
    /// Reward and cost of B∖A.
    pub(crate) total: Gain,
    /// No edge of the hull inside is steeper.
    pub(crate) steepest: Gain,
    /// No edge of the hull inside is flatter.
    pub(crate) flattest: Gain,
}

impl Place {
    /// The same stretch, once it is known to be an edge.
    pub(crate) fn as_edge(self) -> Place {
        Place {
            steepest: self.total,
            flattest: self.total,
            ..self
        }
    }
}

/// The nodes of B∖A for two ideals A ⊂ B of the chain.
///
/// The price of the piece is the slope of its chord, r/c for its whole reward r and cost c. In units of r and c
/// divided by their common divisor everything is an integer: `balance = reward·c − cost·r + inflow − outflow`.
/// The balances add up to zero, and if a flow makes all of them zero, no ideal between A and B lies above the
/// chord.
#[derive(Clone, Debug)]
pub(crate) struct Piece<N> {
    pub(crate) network: Network<N>,
    /// By node: one of the closure nodes that it stands for.
    pub(crate) id: Vec<GraphNodeId>,
    /// By node.
    pub(crate) reward: Vec<u64>,
    /// By node.
    pub(crate) cost: Vec<u64>,
    pub(crate) place: Place,
    /// Whether the flow was routed, here or in a piece that this one was cut from, and not by a cold start alone.
    pub(crate) is_routed: bool,
    /// Of how many nodes the smallest ancestor was that a cold start could not solve, if there is any.
    pub(crate) cold_failure: Option<usize>,
}

/// Whether a piece of this reward and cost can be solved in these integers.
pub(crate) fn fits<N: Amount>(total: Gain) -> bool {
    // No flow is larger than all rewards in units of the whole cost: this product, before both are reduced.
    u128::from(total.reward) * u128::from(total.cost) < N::LARGEST_PRODUCT
}

impl<N: Amount> Piece<N> {
    /// A piece that stands alone, its nodes numbered as given, without any flow. `needs` is sorted by its first.
    pub(crate) fn new(
        reward: Vec<u64>,
        cost: Vec<u64>,
        needs: impl Iterator<Item = (PieceNodeId, PieceNodeId)>,
        total: Gain,
    ) -> Piece<N> {
        let arcs: Vec<Arc<N>> = needs
            .map(|(from, to)| Arc {
                from,
                to,
                flow: N::ZERO,
            })
            .collect();
        let mut piece = Piece {
            network: Network::new(reward.len(), &arcs),
            id: (0..reward.len()).map(GraphNodeId::new).collect(),
            reward,
            cost,
            place: Place {
                base: Gain::ZERO,
                total,
                steepest: Gain::INFINITE_SLOPE,
                flattest: Gain::ZERO_SLOPE,
            },
            is_routed: false,
            cold_failure: None,
        };
        piece.reset_flow();
        piece
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.id.len()
    }

    /// Reward and cost of a node.
    #[inline]
    pub(crate) fn gain(&self, u: PieceNodeId) -> Gain {
        Gain {
            reward: self.reward[u.index()],
            cost: self.cost[u.index()],
        }
    }

    /// Whether every balance is zero: then the flow proves that no ideal lies above the chord.
    pub(crate) fn is_balanced(&self) -> bool {
        (self.network.nodes.iter()).all(|node| node.balance == N::ZERO)
    }

    /// The flow in every slot, to be given back to [`Piece::set_flow`].
    pub(crate) fn flow(&self) -> Vec<N> {
        self.network.slots.iter().map(|slot| slot.flow).collect()
    }

    /// Puts a flow back that [`Piece::flow`] kept.
    pub(crate) fn set_flow(&mut self, flow: &[N]) {
        for (slot, &flow) in self.network.slots.iter_mut().zip(flow) {
            slot.flow = flow;
        }
        self.set_balances();
    }

    /// Takes all flow off the arcs and sets the balances accordingly.
    pub(crate) fn reset_flow(&mut self) {
        for slot in &mut self.network.slots {
            slot.flow = N::ZERO;
        }
        let unit = self.place.total.reduced();
        for u in self.network.ids() {
            self.network.nodes[u.index()].balance = self.own_balance(u, unit);
        }
    }

    /// Sets the balances that belong to the flow on the arcs.
    pub(crate) fn set_balances(&mut self) {
        let unit = self.place.total.reduced();
        for u in self.network.ids() {
            let mut balance = self.own_balance(u, unit);
            for slot in self.network.needs(u) {
                balance -= self.network.slots[slot].flow;
            }
            for slot in self.network.dependants(u) {
                balance += self.network.slots[slot].flow;
            }
            self.network.nodes[u.index()].balance = balance;
        }
    }

    #[inline]
    fn own_balance(&self, u: PieceNodeId, unit: Gain) -> N {
        let Gain { reward, cost } = self.gain(u);
        N::product(reward, unit.cost) - N::product(cost, unit.reward)
    }

    /// Sets the balances that belong to the flow on the arcs, once nodes without cost pass on what they get.
    ///
    /// Any flow is a valid start; but the nodes without cost are many, and a flow that came here through rounding
    /// would leave a small balance on each.
    pub(crate) fn settle_flow(&mut self) {
        let unit = self.place.total.reduced();
        // Needs come before their dependants, so from the end all inflow is known.
        for u in self.network.ids().rev() {
            let Gain { reward, cost } = self.gain(u);
            if cost == 0 {
                self.pass_on(u, N::product(reward, unit.cost));
            }
        }
        self.set_balances();
    }

    /// Spreads `own` and all inflow of `u` over its needs in proportion to the flow that they get now.
    fn pass_on(&mut self, u: PieceNodeId, own: N) {
        let network = &mut self.network;
        let inflow = network.dependants(u).map(|slot| network.slots[slot].flow);
        let mut left = inflow.fold(own, |sum, flow| sum + flow);
        let outflow = network.needs(u).map(|slot| network.slots[slot].flow);
        // Floats choose the shares; what rounding leaves over goes along the last arc, so that nothing is lost.
        // Without any outflow so far there is no proportion: nothing is spread, and the balance stays here.
        let share = left.to_float() / outflow.fold(N::ZERO, |sum, flow| sum + flow).to_float();
        let mut last = None;
        for slot in network.needs(u) {
            let flow = network.slots[slot].flow;
            if flow > N::ZERO {
                // Rounding may ask for more than there is.
                let amount = N::from_float(flow.to_float() * share).min(left);
                network.set_flow(slot, amount);
                left -= amount;
                last = Some(slot);
            }
        }
        if let Some(last) = last {
            network.add_flow(last, left);
        }
    }
}
