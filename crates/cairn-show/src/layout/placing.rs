//! Where the nodes of each level stand: near their neighbours, and long arcs straight. Knows not how the order within a
//! level was found.

use super::Ordered;
use crate::budgets::layout::PLACE_ROUNDS;
use cairn_dag::{TaskId, wide};

/// How stiff a piece of an arc is that has 0, 1 or 2 bends as ends: long arcs are to run straight.
// The weights of Graphviz's dot (Gansner, Koutsofios, North, Vo, 1993).
const STIFF: [f64; 3] = [1.0, 2.0, 8.0];

/// The widths, across the levels, of the gaps between neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaps {
    /// Between two nodes.
    pub(crate) nodes: f64,
    /// Between two bends; half-way between this and the former for a node and a bend.
    pub(crate) bends: f64,
    /// Added between parts that are not connected.
    pub(crate) components: f64,
}

impl Ordered {
    /// The least extent of the widest level.
    pub(crate) fn least_extent(&self, breadth: &[f64], gaps: Gaps) -> f64 {
        let row_extent = |row: &Vec<TaskId>| match (row.first(), row.last()) {
            (Some(&first), Some(&last)) => {
                self.offsets(row, breadth, gaps)
                    .last()
                    .copied()
                    .unwrap_or(0.0)
                    + (self.breadth(first, breadth) + self.breadth(last, breadth)) / 2.0
            }
            _ => 0.0,
        };
        self.rows.iter().map(row_extent).fold(0.0, f64::max)
    }

    /// The centre of every node and bend across the levels, from 0, and the whole extent.
    ///
    /// `breadth` is that of each node. Neighbours in a level keep their order and `gaps` apart.
    pub(crate) fn place(&self, breadth: &[f64], gaps: Gaps) -> (Vec<f64>, f64) {
        let offsets: Vec<Vec<f64>> = self
            .rows
            .iter()
            .map(|row| self.offsets(row, breadth, gaps))
            .collect();
        let mut centre = vec![0.0; self.graph.len()];
        for (row, offsets) in self.rows.iter().zip(&offsets) {
            let middle = offsets.last().map_or(0.0, |last| last / 2.0);
            for (v, offset) in row.iter().zip(offsets) {
                centre[v.index()] = offset - middle;
            }
        }
        let levels = self.rows.len();
        for round in 0..PLACE_ROUNDS {
            // The last rounds look both ways, so that neither parents nor children dominate.
            let both = round + 4 >= PLACE_ROUNDS;
            for l in 1..levels {
                self.place_row(l, &offsets[l], true, both, &mut centre);
            }
            for l in (0..levels.saturating_sub(1)).rev() {
                self.place_row(l, &offsets[l], both, true, &mut centre);
            }
        }
        for (row, offsets) in self.rows.iter().zip(&offsets) {
            self.gather_loose(row, offsets, &mut centre);
        }
        self.straighten(&offsets, &mut centre);
        self.shift_to_zero(centre, breadth)
    }

    /// Lets each run of bends go straight as far as its neighbours leave room.
    ///
    /// Greedy: a stretch is as long as the free intervals of its bends have a point in common, which gives the fewest
    /// stretches.
    fn straighten(&self, offsets: &[Vec<f64>], centre: &mut [f64]) {
        let mut bend = self.nodes;
        while bend < self.graph.len() {
            let mut common = self.free_interval(bend, offsets, centre);
            let (mut end, mut sum) = (bend + 1, centre[bend]);
            while end < self.graph.len()
                && self.graph.has_arc(TaskId::new(end - 1), TaskId::new(end))
            {
                let next = self.free_interval(end, offsets, centre);
                let both = (common.0.max(next.0), common.1.min(next.1));
                if both.0 > both.1 {
                    break;
                }
                common = both;
                sum += centre[end];
                end += 1;
            }
            let mean = sum / (end - bend) as f64;
            centre[bend..end].fill(mean.max(common.0).min(common.1));
            bend = end;
        }
    }

    /// How far a vertex could move between its neighbours in the row.
    fn free_interval(&self, vertex: usize, offsets: &[Vec<f64>], centre: &[f64]) -> (f64, f64) {
        let level = wide(self.level[vertex]);
        let (row, offsets) = (&self.rows[level], &offsets[level]);
        let i = wide(self.position[vertex]);
        let low = match i.checked_sub(1) {
            Some(left) => centre[row[left].index()] + (offsets[i] - offsets[left]),
            None => f64::NEG_INFINITY,
        };
        let high = match row.get(i + 1) {
            Some(right) => centre[right.index()] - (offsets[i + 1] - offsets[i]),
            None => f64::INFINITY,
        };
        (low, high.max(low))
    }

    /// Moves vertices without any arc, which nothing has placed yet, next to their neighbours in the row.
    fn gather_loose(&self, row: &[TaskId], offsets: &[f64], centre: &mut [f64]) {
        let is_loose = |v: TaskId| self.graph.is_source(v) && self.graph.is_sink(v);
        let first_fixed = row.iter().position(|&v| !is_loose(v)).unwrap_or(0);
        for i in first_fixed + 1..row.len() {
            if is_loose(row[i]) {
                centre[row[i].index()] = centre[row[i - 1].index()] + offsets[i] - offsets[i - 1];
            }
        }
        for i in (0..first_fixed).rev() {
            centre[row[i].index()] = centre[row[i + 1].index()] - (offsets[i + 1] - offsets[i]);
        }
    }

    fn shift_to_zero(&self, mut centre: Vec<f64>, breadth: &[f64]) -> (Vec<f64>, f64) {
        let vertices = || {
            self.graph
                .tasks()
                .map(|v| (v, self.breadth(v, breadth) / 2.0))
        };
        let low = vertices()
            .map(|(v, half)| centre[v.index()] - half)
            .fold(f64::INFINITY, f64::min);
        let high = vertices()
            .map(|(v, half)| centre[v.index()] + half)
            .fold(f64::NEG_INFINITY, f64::max);
        for x in &mut centre {
            *x -= low;
        }
        let extent = if self.graph.is_empty() {
            0.0
        } else {
            high - low
        };
        (centre, extent)
    }

    pub(super) fn breadth(&self, vertex: TaskId, breadth: &[f64]) -> f64 {
        breadth.get(vertex.index()).copied().unwrap_or(0.0)
    }

    /// Least distances of the row's centres from the first one.
    fn offsets(&self, row: &[TaskId], breadth: &[f64], gaps: Gaps) -> Vec<f64> {
        let mut at = 0.0;
        let mut offsets = Vec::with_capacity(row.len());
        for (i, &v) in row.iter().enumerate() {
            if i > 0 {
                let before = row[i - 1];
                let bends = [before, v]
                    .iter()
                    .filter(|x| x.index() >= self.nodes)
                    .count();
                let gap = [gaps.nodes, (gaps.nodes + gaps.bends) / 2.0, gaps.bends][bends];
                let apart = self.component[before.index()] != self.component[v.index()];
                at += (self.breadth(before, breadth) + self.breadth(v, breadth)) / 2.0 + gap;
                at += if apart { gaps.components } else { 0.0 };
            }
            offsets.push(at);
        }
        offsets
    }

    /// Moves a row as near as its order allows to the mean of its neighbours.
    ///
    /// Minimises Σ weight·(x − wish)² under `x[i+1] − x[i]` ≥ the given distances: with the distances taken off this is
    /// isotonic regression, solved exactly in linear time by pooling adjacent violators.
    fn place_row(&self, level: usize, offsets: &[f64], up: bool, down: bool, centre: &mut [f64]) {
        let mut pools: Vec<(f64, f64, usize)> = Vec::new(); // mean, weight, members
        for (&v, offset) in self.rows[level].iter().zip(offsets) {
            let (wish, weight) = self.wish(v, up, down, centre);
            let mut pool = (wish - offset, weight, 1);
            while let Some(&(mean, weight, members)) = pools.last().filter(|last| last.0 > pool.0) {
                let sum = weight + pool.1;
                pool = (
                    (mean * weight + pool.0 * pool.1) / sum,
                    sum,
                    members + pool.2,
                );
                pools.pop();
            }
            pools.push(pool);
        }
        let means = pools
            .iter()
            .flat_map(|&(mean, _, members)| std::iter::repeat_n(mean, members));
        for ((&v, offset), mean) in self.rows[level].iter().zip(offsets).zip(means) {
            centre[v.index()] = mean + offset;
        }
    }

    /// Where a vertex would like to be, and how strongly.
    fn wish(&self, v: TaskId, up: bool, down: bool, centre: &[f64]) -> (f64, f64) {
        let parents = if up { self.graph.parents(v) } else { &[] };
        let children = if down { self.graph.children(v) } else { &[] };
        let is_bend = |x: TaskId| x.index() >= self.nodes;
        let (mut sum, mut weights) = (0.0, 0.0);
        for &u in parents.iter().chain(children) {
            let weight = STIFF[usize::from(is_bend(u)) + usize::from(is_bend(v))];
            sum += weight * centre[u.index()];
            weights += weight;
        }
        if weights > 0.0 {
            (sum / weights, weights)
        } else {
            // Nobody pulls at it: it stays, but gives way to whoever is pulled.
            (centre[v.index()], 0.1)
        }
    }
}
