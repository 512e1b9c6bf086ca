//! The order of the nodes within each level, for few crossings. Knows no positions.

use super::Ordered;
use crate::budgets::layout::{EXCHANGE_LIMIT, EXCHANGE_PASSES, ORDER_ROUNDS, PATIENCE};
use cairn_dag::{TaskId, narrow, wide};

impl Ordered {
    /// First order: depth first through each connected part, so that parts stay together.
    pub(super) fn order_by_search(&mut self) {
        let mut component = 0;
        let mut seen = vec![false; self.graph.len()];
        for &start in self.graph.topological_order() {
            if seen[start.index()] {
                continue;
            }
            let mut stack = vec![start];
            while let Some(v) = stack.pop() {
                if std::mem::replace(&mut seen[v.index()], true) {
                    continue;
                }
                self.component[v.index()] = component;
                self.rows[wide(self.level[v.index()])].push(v);
                let (children, parents) = (self.graph.children(v), self.graph.parents(v));
                let unseen = |u: &&TaskId| !seen[u.index()];
                // Children on top of the stack: a chain is followed to its end before its other parents are looked at.
                stack.extend(parents.iter().rev().filter(unseen));
                stack.extend(children.iter().rev().filter(unseen));
            }
            component += 1;
        }
        self.renumber();
    }

    pub(super) fn renumber(&mut self) {
        for l in 0..self.rows.len() {
            self.renumber_row(l);
        }
    }

    fn renumber_row(&mut self, level: usize) {
        for (i, v) in self.rows[level].iter().enumerate() {
            self.position[v.index()] = narrow(i);
        }
    }

    /// Lowers the crossings and gives what is left of them.
    pub(super) fn reduce_crossings(&mut self) -> u64 {
        let mut best = (self.crossings(), self.rows.clone());
        let mut since = 0;
        for _ in 0..ORDER_ROUNDS {
            if best.0 == 0 || since >= PATIENCE {
                break;
            }
            for l in 1..self.rows.len() {
                self.sort_row(l, true);
            }
            for l in (0..self.rows.len() - 1).rev() {
                self.sort_row(l, false);
            }
            if self.graph.arc_count() <= EXCHANGE_LIMIT {
                self.exchange_neighbours();
            }
            let crossings = self.crossings();
            since += 1;
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
                since = 0;
            }
        }
        self.rows = best.1;
        self.renumber();
        best.0
    }

    /// Nodes by their number, bends last; parts stay together.
    pub(super) fn order_by_number(&mut self) {
        for row in &mut self.rows {
            row.sort_by_key(|v| (self.component[v.index()], *v));
        }
        self.renumber();
    }

    /// Sorts a row by the mean position of its neighbours in the row above or below; parts stay together.
    fn sort_row(&mut self, level: usize, by_parents: bool) {
        let mut key = 0.0;
        let mut keyed: Vec<(u32, f64, TaskId)> = Vec::with_capacity(self.rows[level].len());
        for &v in &self.rows[level] {
            let near = if by_parents {
                self.graph.parents(v)
            } else {
                self.graph.children(v)
            };
            // A vertex without neighbours keeps to its left neighbour.
            if !near.is_empty() {
                let sum: f64 = near
                    .iter()
                    .map(|u| f64::from(self.position[u.index()]))
                    .sum();
                key = sum / near.len() as f64;
            }
            keyed.push((self.component[v.index()], key, v));
        }
        keyed.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.rows[level] = keyed.into_iter().map(|(_, _, v)| v).collect();
        self.renumber_row(level);
    }

    /// Exchanges neighbours in a row while that lowers the crossings.
    fn exchange_neighbours(&mut self) {
        let mut gained = true;
        let mut passes = 0;
        while gained && passes < EXCHANGE_PASSES {
            gained = false;
            passes += 1;
            for l in 0..self.rows.len() {
                for i in 1..self.rows[l].len() {
                    let (a, b) = (self.rows[l][i - 1], self.rows[l][i]);
                    if self.component[a.index()] == self.component[b.index()]
                        && self.crossings_between(b, a) < self.crossings_between(a, b)
                    {
                        self.rows[l].swap(i - 1, i);
                        self.position[a.index()] = narrow(i);
                        self.position[b.index()] = narrow(i) - 1;
                        gained = true;
                    }
                }
            }
        }
    }

    /// Crossings among the arcs of two vertices of a row if `left` stands left of `right`.
    fn crossings_between(&self, left: TaskId, right: TaskId) -> usize {
        let sides = [
            (self.graph.parents(left), self.graph.parents(right)),
            (self.graph.children(left), self.graph.children(right)),
        ];
        let place = |v: &TaskId| self.position[v.index()];
        (sides.iter())
            .map(|(of_left, of_right)| {
                (of_left.iter().map(place))
                    .map(|l| of_right.iter().filter(|r| place(r) < l).count())
                    .sum::<usize>()
            })
            .sum()
    }

    /// Crossings between all neighbouring levels: inversions, counted with a Fenwick tree.
    pub(super) fn crossings(&self) -> u64 {
        let mut total = 0;
        for l in 1..self.rows.len() {
            let mut tree = vec![0u32; self.rows[l].len() + 1];
            let mut seen = 0u64;
            for v in &self.rows[l - 1] {
                let places = || {
                    self.graph
                        .children(*v)
                        .iter()
                        .map(|c| wide(self.position[c.index()]))
                };
                for place in places() {
                    // Arcs seen so far that end at or before `place` do not cross this one.
                    let mut i = place + 1;
                    let mut before = 0u64;
                    while i > 0 {
                        before += u64::from(tree[i]);
                        i &= i - 1;
                    }
                    total += seen - before;
                }
                for place in places() {
                    let mut i = place + 1;
                    while i < tree.len() {
                        tree[i] += 1;
                        i += i & i.wrapping_neg();
                    }
                    seen += 1;
                }
            }
        }
        total
    }
}
