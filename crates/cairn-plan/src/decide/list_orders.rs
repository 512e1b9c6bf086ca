//! Quick orders of a component by simple rules, the best of them kept. Knows no bound.
//!
//! Inside a large component of one hull edge nothing is known but the chord. Which rule does well there differs
//! from dag to dag, so all are tried: they cost no more than reading the component a few times.

use super::component::Component;
use super::ids::{NodeId, RewardId};
use super::knowledge::{Finding, Knowledge, Method};
use cairn_kernel::{Growing, NEAR, Rows, Work, greedy, long, narrow, nearness_of};
use cairn_theory::profile::area;
use std::cmp::Reverse;

/// The best of three orders: the greediest first, the longest way to the end first, and backwards from the end
/// what loses least. O((nodes + needs)·log nodes).
#[derive(Clone, Copy, Debug)]
pub(super) struct ListOrders;

impl Method for ListOrders {
    fn name(&self) -> &'static str {
        "list orders"
    }

    fn examine(&self, component: &Component, _: &Knowledge, work: &mut Work<'_>) -> Finding {
        let shape = Shape::new(component);
        // Three orders, each walked, compacted and measured.
        if !work.spend(24 * long(shape.size())) {
            return Finding::default();
        }
        let orders = [
            shape.highest_first(),
            shape.cheapest_last(),
            shape.nearest_first(),
        ];
        let reached = |order: &Vec<NodeId>| area(&component.profile(order).expect("within gates"));
        // Compacted before they are compared: what a rule does too early is not held against it.
        let best = (orders.iter())
            .map(|order| component.compacted(order).expect("rules respect gates"))
            .max_by_key(reached);
        Finding {
            order: best,
            states: 3,
            ..Finding::default()
        }
    }
}

/// A component with the way back from rewards to the nodes behind them.
struct Shape<'a> {
    component: &'a Component,
    behind: Rows<NodeId>,
}

impl<'a> Shape<'a> {
    fn new(component: &'a Component) -> Shape<'a> {
        Shape {
            component,
            behind: component.behind(),
        }
    }

    fn size(&self) -> usize {
        self.component.nodes() + self.component.rewards() + self.component.arcs()
    }

    fn rewards_of(&self, v: NodeId) -> &[RewardId] {
        self.component.rewards_of(v)
    }

    /// The longest way of gates to the end first.
    fn highest_first(&self) -> Vec<NodeId> {
        let order = super::component::gate_order(self.component);
        let mut height = vec![0u32; self.component.nodes()];
        for &v in order.iter().rev() {
            let next = (self.rewards_of(v).iter())
                .flat_map(|&r| self.behind.row(r.index()))
                .map(|&u| height[u.index()] + 1);
            height[v.index()] = next.max().unwrap_or(0);
        }
        // Of equal heights the one that more rewards need.
        let stage = |v: NodeId| (height[v.index()], self.rewards_of(v).len());
        greedy(self.component, stage, |_, _| (0, 0))
    }

    /// What gains most now, then what comes nearest to gaining.
    fn nearest_first(&self) -> Vec<NodeId> {
        // Its weight counts for the first number alone: near to gaining much is not nearer.
        let worth = |r: RewardId, lacking: u32| match lacking {
            1 => (self.component.weight(r), nearness_of(1, 1)),
            2..=NEAR => (0, nearness_of(1, lacking)),
            _ => (0, 0),
        };
        greedy(self.component, |_| (), worth)
    }

    /// From the end: takes back always the node that loses least, last the one that would lose most.
    fn cheapest_last(&self) -> Vec<NodeId> {
        let nodes = self.component.nodes();
        let weight = |r: RewardId| i64::from(self.component.weight(r));
        let mut loss: Vec<i64> = (self.component.all_nodes())
            .map(|v| self.rewards_of(v).iter().map(|&r| weight(r)).sum())
            .collect();
        // Nodes behind a reward hold it: what it needs cannot be taken back before them.
        let mut held: Vec<u32> = (self.component.all_nodes())
            .map(|v| {
                let behind = self
                    .rewards_of(v)
                    .iter()
                    .map(|&r| self.behind.row(r.index()).len());
                narrow(behind.sum::<usize>())
            })
            .collect();
        let mut is_lost = vec![false; self.component.rewards()];
        // Among equals the one taken back lately lies next to what is lost already: larger ids last.
        let key = |loss: &[i64], v: NodeId| (Reverse(loss[v.index()]), v);
        let last = (self.component.all_nodes())
            .filter(|&v| held[v.index()] == 0)
            .map(|v| (key(&loss, v), v));
        let mut free = Growing::of(nodes, last);
        let mut order = Vec::with_capacity(nodes);
        while let Some(v) = free.pop() {
            order.push(v);
            for &r in self.rewards_of(v) {
                if std::mem::replace(&mut is_lost[r.index()], true) {
                    continue;
                }
                for &u in self.component.needs(r) {
                    loss[u.index()] -= weight(r);
                    if held[u.index()] == 0 && !free.is_popped(u) {
                        free.push(key(&loss, u), u);
                    }
                }
            }
            let gate = self.component.gate(v).into_iter();
            for &u in gate.flat_map(|gate| self.component.needs(gate)) {
                held[u.index()] -= 1;
                if held[u.index()] == 0 {
                    free.push(key(&loss, u), u);
                }
            }
        }
        order.reverse();
        order
    }
}
