//! Quick orders of a component by simple rules, the best of them kept. Knows no bound.
//!
//! Inside a large component of one hull edge nothing is known but the chord. Which rule does well there differs
//! from dag to dag, so all are tried: they cost no more than reading the component a few times.

use super::component::{Component, NONE};
use super::knowledge::{Finding, Knowledge, Method, area};
use cairn_kernel::{Rows, Work};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
        if !work.spend(24 * shape.size() as u64) {
            return Finding::default();
        }
        let orders = [
            shape.highest_first(),
            shape.cheapest_last(),
            shape.nearest_first(),
        ];
        let reached = |order: &Vec<u32>| area(&component.profile(order).expect("within gates"));
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

/// A component with the ways back: from nodes to the rewards that need them, from rewards to the nodes behind them.
struct Shape<'a> {
    component: &'a Component,
    by_node: Rows,
    behind: Vec<Vec<u32>>,
}

impl<'a> Shape<'a> {
    fn new(component: &'a Component) -> Shape<'a> {
        let mut behind = vec![Vec::new(); component.rewards()];
        for v in 0..component.nodes() as u32 {
            if component.gate(v) != NONE {
                behind[component.gate(v) as usize].push(v);
            }
        }
        Shape {
            component,
            by_node: component.rewards_by_node(),
            behind,
        }
    }

    fn size(&self) -> usize {
        self.component.nodes() + self.component.rewards() + self.by_node.items().len()
    }

    fn rewards_of(&self, v: u32) -> &[u32] {
        self.by_node.row(v as usize)
    }

    fn needs_count(&self) -> Vec<u32> {
        (0..self.component.rewards() as u32)
            .map(|r| self.component.needs(r).len() as u32)
            .collect()
    }

    /// Executes always the open node of largest key; keys may grow when `grow` says so after each execution.
    fn follow<K: Ord + Copy>(
        &self,
        mut key: Vec<K>,
        mut grow: impl FnMut(u32, &[u32], &mut Vec<K>, &mut Vec<u32>),
    ) -> Vec<u32> {
        let nodes = self.component.nodes();
        let mut waiting = self.needs_count();
        let mut is_open = vec![false; nodes];
        let mut executed = vec![false; nodes];
        let mut heap = BinaryHeap::with_capacity(nodes);
        for v in 0..nodes as u32 {
            if self.component.gate(v) == NONE {
                is_open[v as usize] = true;
                heap.push((key[v as usize], Reverse(v)));
            }
        }
        let mut order = Vec::with_capacity(nodes);
        let mut grown = Vec::new();
        while let Some((_, Reverse(v))) = heap.pop() {
            // Keys only grow, and each growth pushed a newer entry: the first one popped is the newest.
            if std::mem::replace(&mut executed[v as usize], true) {
                continue;
            }
            order.push(v);
            for &r in self.rewards_of(v) {
                waiting[r as usize] -= 1;
                if waiting[r as usize] == 0 {
                    for &u in &self.behind[r as usize] {
                        is_open[u as usize] = true;
                        heap.push((key[u as usize], Reverse(u)));
                    }
                }
            }
            grow(v, &waiting, &mut key, &mut grown);
            for u in grown.drain(..) {
                if is_open[u as usize] && !executed[u as usize] {
                    heap.push((key[u as usize], Reverse(u)));
                }
            }
        }
        order
    }

    /// The longest way of gates to the end first.
    fn highest_first(&self) -> Vec<u32> {
        let order = super::macro_states::gate_order(self.component);
        let mut height = vec![0u32; self.component.nodes()];
        for &v in order.iter().rev() {
            let next = (self.rewards_of(v).iter())
                .flat_map(|&r| &self.behind[r as usize])
                .map(|&u| height[u as usize] + 1);
            height[v as usize] = next.max().unwrap_or(0);
        }
        let key: Vec<(u32, usize)> = (0..self.component.nodes() as u32)
            .map(|v| (height[v as usize], self.rewards_of(v).len()))
            .collect();
        self.follow(key, |_, _, _, _| {})
    }

    /// What gains most now, then what comes nearest to gaining.
    fn nearest_first(&self) -> Vec<u32> {
        /// Rewards that still need more nodes than this do not count as near.
        const NEAR: u32 = 4;
        let worth = |r: u32, waiting: u32| match waiting {
            0 => (0, 0),
            1 => (self.component.weight(r), 1000),
            w if w <= NEAR => (0, 1000 / w),
            _ => (0, 0),
        };
        let count = self.needs_count();
        let key: Vec<(u32, u32)> = (0..self.component.nodes() as u32)
            .map(|v| {
                let each = (self.rewards_of(v).iter()).map(|&r| worth(r, count[r as usize]));
                each.fold((0, 0), |sum, w| (sum.0 + w.0, sum.1 + w.1))
            })
            .collect();
        self.follow(key, |v, waiting, key, grown| {
            for &r in self.rewards_of(v) {
                let left = waiting[r as usize];
                if left == 0 || left > NEAR {
                    continue;
                }
                let (before, now) = (worth(r, left + 1), worth(r, left));
                for &u in self.component.needs(r) {
                    let k = &mut key[u as usize];
                    *k = (k.0 + now.0 - before.0, k.1 + now.1 - before.1);
                    grown.push(u);
                }
            }
        })
    }

    /// From the end: takes back always the node that loses least, last the one that would lose most.
    fn cheapest_last(&self) -> Vec<u32> {
        let nodes = self.component.nodes();
        let weight = |r: u32| i64::from(self.component.weight(r));
        let mut loss: Vec<i64> = (0..nodes as u32)
            .map(|v| self.rewards_of(v).iter().map(|&r| weight(r)).sum())
            .collect();
        // Nodes behind a reward hold it: what it needs cannot be taken back before them.
        let mut held: Vec<u32> = (0..nodes as u32)
            .map(|v| {
                let behind = self
                    .rewards_of(v)
                    .iter()
                    .map(|&r| self.behind[r as usize].len());
                behind.sum::<usize>() as u32
            })
            .collect();
        let mut is_lost = vec![false; self.component.rewards()];
        let mut is_back = vec![false; nodes];
        // Among equals the one taken back lately lies next to what is lost already: larger ids last.
        let mut heap: BinaryHeap<(Reverse<i64>, u32)> = (0..nodes as u32)
            .filter(|&v| held[v as usize] == 0)
            .map(|v| (Reverse(loss[v as usize]), v))
            .collect();
        let mut order = Vec::with_capacity(nodes);
        while let Some((_, v)) = heap.pop() {
            if std::mem::replace(&mut is_back[v as usize], true) {
                continue;
            }
            order.push(v);
            for &r in self.rewards_of(v) {
                if std::mem::replace(&mut is_lost[r as usize], true) {
                    continue;
                }
                for &u in self.component.needs(r) {
                    loss[u as usize] -= weight(r);
                    if held[u as usize] == 0 && !is_back[u as usize] {
                        heap.push((Reverse(loss[u as usize]), u));
                    }
                }
            }
            let gate = self.component.gate(v);
            if gate != NONE {
                for &u in self.component.needs(gate) {
                    held[u as usize] -= 1;
                    if held[u as usize] == 0 {
                        heap.push((Reverse(loss[u as usize]), u));
                    }
                }
            }
        }
        order.reverse();
        order
    }
}
