//! Layered layout: in which order the nodes of a level stand, and where. Knows positions across the levels only, not
//! what a node is or which way the levels run.
//!
//! The method is Sugiyama's: long arcs are cut at every level they pass ("bends"), the levels are reordered by
//! barycentre sweeps until crossings no longer fall, and then every level is placed as close as it can be to the mean
//! of its neighbours, in the least-squares sense (K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding
//! of hierarchical system structures", 1981).

use cairn_dag::{Dag, TaskId};

/// Rounds of sweeps, each once down and once up.
const ORDER_ROUNDS: usize = 16;
/// Stop reordering after so many rounds without gain.
const PATIENCE: usize = 4;
/// Rounds of placing.
const PLACE_ROUNDS: usize = 24;
/// Neighbours are exchanged one by one only in graphs with at most so many segments.
const EXCHANGE_LIMIT: usize = 4000;
/// How stiff a piece of an arc is that has 0, 1 or 2 bends as ends: long arcs are to run straight.
const STIFF: [f64; 3] = [1.0, 2.0, 8.0];

const NONE: u32 = u32::MAX;

/// A level for each node: below all its parents, and no further up than its children allow when that shortens arcs.
///
/// First every node gets its longest path from a source; then, bottom up, nodes with more children than parents move
/// down to just above their highest child. Time O(nodes + arcs).
pub(crate) fn levels(dag: &Dag) -> Vec<u32> {
    let mut level = depths(dag);
    for &node in dag.topological_order().iter().rev() {
        if dag.children(node).len() > dag.parents(node).len() {
            let highest = dag.children(node).iter().map(|c| level[c.index()]).min();
            level[node.index()] = highest.expect("it has children") - 1;
        }
    }
    level
}

/// Length of the longest path from a source to each node.
pub(crate) fn depths(dag: &Dag) -> Vec<u32> {
    let mut depth = vec![0u32; dag.len()];
    for &node in dag.topological_order() {
        let parents = dag.parents(node).iter();
        depth[node.index()] = parents.map(|p| depth[p.index()] + 1).max().unwrap_or(0);
    }
    depth
}

/// The levels with their nodes and bends in drawing order.
pub(crate) struct Ordered {
    /// Nodes, then bends; every arc joins neighbouring levels.
    graph: Dag,
    nodes: usize,
    level: Vec<u32>,
    component: Vec<u32>,
    rows: Vec<Vec<TaskId>>,
    position: Vec<u32>,
    /// For each arc, in the order of [`Dag::arcs`]: its first bend, or `NONE`. The others follow.
    first_bend: Vec<u32>,
}

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
    /// Orders the levels of `dag` for few crossings. `level` must grow along every arc.
    ///
    /// Time O(rounds · segments · log nodes); at most `4 · nodes + 20000` bends, beyond which long arcs are left
    /// straight.
    pub(crate) fn new(dag: &Dag, level: &[u32]) -> Ordered {
        let (graph, level, first_bend) = cut_long_arcs(dag, level);
        let mut ordered = Ordered {
            nodes: dag.len(),
            component: vec![NONE; graph.len()],
            rows: vec![Vec::new(); level.iter().max().map_or(0, |&l| l as usize + 1)],
            position: vec![0; graph.len()],
            graph,
            level,
            first_bend,
        };
        ordered.order_by_search();
        let found = ordered.rows.clone();
        // The order of the input often means something: it is kept unless a search through the dag does better.
        ordered.order_by_number();
        let by_number = ordered.reduce_crossings();
        if by_number > 0 {
            let kept = std::mem::replace(&mut ordered.rows, found);
            ordered.renumber();
            if ordered.reduce_crossings() >= by_number {
                ordered.rows = kept;
                ordered.renumber();
            }
        }
        ordered
    }

    /// Number of levels.
    pub(crate) fn level_count(&self) -> usize {
        self.rows.len()
    }

    /// The level of a node.
    pub(crate) fn level(&self, node: TaskId) -> usize {
        self.level[node.index()] as usize
    }

    /// The nodes of a level, without bends, in drawing order.
    #[cfg(test)]
    fn row(&self, level: usize) -> impl Iterator<Item = TaskId> + '_ {
        self.rows[level]
            .iter()
            .copied()
            .filter(|v| v.index() < self.nodes)
    }

    /// The bends of the `arc`-th arc, whose ends lie `span` levels apart. Empty if the arc is short or left straight.
    pub(crate) fn bends(&self, arc: usize, span: usize) -> impl Iterator<Item = TaskId> + use<> {
        let first = self.first_bend[arc];
        let count = if first == NONE { 0 } else { span - 1 };
        (0..count as u32).map(move |i| TaskId(first + i))
    }

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
        let level = self.level[vertex] as usize;
        let (row, offsets) = (&self.rows[level], &offsets[level]);
        let i = self.position[vertex] as usize;
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

    fn breadth(&self, vertex: TaskId, breadth: &[f64]) -> f64 {
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
            (centre[v.index()], 0.1)
        }
    }

    /// First order: depth first through each connected part, so that parts stay together.
    fn order_by_search(&mut self) {
        let mut component = 0;
        for &start in self.graph.topological_order() {
            if self.component[start.index()] != NONE {
                continue;
            }
            let mut stack = vec![start];
            while let Some(v) = stack.pop() {
                if self.component[v.index()] != NONE {
                    continue;
                }
                self.component[v.index()] = component;
                self.rows[self.level[v.index()] as usize].push(v);
                let (children, parents) = (self.graph.children(v), self.graph.parents(v));
                let unseen = |u: &&TaskId| self.component[u.index()] == NONE;
                stack.extend(parents.iter().rev().filter(unseen));
                stack.extend(children.iter().rev().filter(unseen));
            }
            component += 1;
        }
        self.renumber();
    }

    fn renumber(&mut self) {
        for l in 0..self.rows.len() {
            self.renumber_row(l);
        }
    }

    fn renumber_row(&mut self, level: usize) {
        for (i, v) in self.rows[level].iter().enumerate() {
            self.position[v.index()] = i as u32;
        }
    }

    /// Lowers the crossings and gives what is left of them.
    fn reduce_crossings(&mut self) -> u64 {
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
    fn order_by_number(&mut self) {
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
        while gained && passes < 8 {
            gained = false;
            passes += 1;
            for l in 0..self.rows.len() {
                for i in 1..self.rows[l].len() {
                    let (a, b) = (self.rows[l][i - 1], self.rows[l][i]);
                    if self.component[a.index()] == self.component[b.index()]
                        && self.crossings_between(b, a) < self.crossings_between(a, b)
                    {
                        self.rows[l].swap(i - 1, i);
                        self.position[a.index()] = i as u32;
                        self.position[b.index()] = i as u32 - 1;
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
    fn crossings(&self) -> u64 {
        let mut total = 0;
        for l in 1..self.rows.len() {
            let mut tree = vec![0u32; self.rows[l].len() + 1];
            let mut seen = 0u64;
            for v in &self.rows[l - 1] {
                let places = || {
                    self.graph
                        .children(*v)
                        .iter()
                        .map(|c| self.position[c.index()] as usize)
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

/// Puts bends into arcs that pass levels. Arcs with a common end share their bends, at the end that has more of them:
/// a hundred tasks that all feed one late task become one trunk.
fn cut_long_arcs(dag: &Dag, level: &[u32]) -> (Dag, Vec<u32>, Vec<u32>) {
    let of = |v: TaskId| level[v.index()];
    let is_long = |u: TaskId, v: TaskId| of(v) - of(u) > 1;
    let (mut long_out, mut long_in) = (vec![0u32; dag.len()], vec![0u32; dag.len()]);
    for (u, v) in dag.arcs().filter(|&(u, v)| is_long(u, v)) {
        long_out[u.index()] += 1;
        long_in[v.index()] += 1;
    }
    let by_head = |u: TaskId, v: TaskId| long_in[v.index()] > long_out[u.index()];
    // Trunk of each tail: levels tail + 1 .. end; of each head: start .. head − 1.
    let mut tail_end: Vec<u32> = level.iter().map(|l| l + 1).collect();
    let mut head_start: Vec<u32> = level.to_vec();
    for (u, v) in dag.arcs().filter(|&(u, v)| is_long(u, v)) {
        if by_head(u, v) {
            head_start[v.index()] = head_start[v.index()].min(of(u) + 1);
        } else {
            tail_end[u.index()] = tail_end[u.index()].max(of(v));
        }
    }
    let bends: u64 = (0..dag.len())
        .map(|v| u64::from(tail_end[v] - level[v] - 1) + u64::from(level[v] - head_start[v]))
        .sum();
    if bends > 4 * dag.len() as u64 + 20_000 {
        let short: Vec<(u32, u32)> = dag
            .arcs()
            .filter(|&(u, v)| !is_long(u, v))
            .map(|(u, v)| (u.0, v.0))
            .collect();
        let graph = Dag::from_arcs(dag.len(), short).expect("a part of a dag");
        return (graph, level.to_vec(), vec![NONE; dag.arc_count()]);
    }
    let mut all_levels = level.to_vec();
    let mut segments: Vec<(u32, u32)> = Vec::new();
    let (mut tail_trunk, mut head_trunk) = (vec![NONE; dag.len()], vec![NONE; dag.len()]);
    for v in dag.tasks() {
        let i = v.index();
        let mut trunk = |levels: std::ops::Range<u32>| {
            let (first, count) = (all_levels.len() as u32, levels.len() as u32);
            segments.extend((1..count).map(|k| (first + k - 1, first + k)));
            all_levels.extend(levels);
            (first, first + count - 1)
        };
        let (mut below, mut above) = (None, None);
        if tail_end[i] > level[i] + 1 {
            let (first, _) = trunk(level[i] + 1..tail_end[i]);
            tail_trunk[i] = first;
            below = Some((v.0, first));
        }
        if head_start[i] < level[i] {
            let (first, last) = trunk(head_start[i]..level[i]);
            head_trunk[i] = first;
            above = Some((last, v.0));
        }
        segments.extend(below.into_iter().chain(above));
    }
    let mut first_bend = Vec::with_capacity(dag.arc_count());
    for (u, v) in dag.arcs() {
        let first = if !is_long(u, v) {
            segments.push((u.0, v.0));
            NONE
        } else if by_head(u, v) {
            let first = head_trunk[v.index()] + (of(u) + 1 - head_start[v.index()]);
            segments.push((u.0, first));
            first
        } else {
            let first = tail_trunk[u.index()];
            segments.push((first + (of(v) - of(u) - 2), v.0));
            first
        };
        first_bend.push(first);
    }
    let graph =
        Dag::from_arcs(all_levels.len(), segments).expect("levels grow along every segment");
    (graph, all_levels, first_bend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GAPS: Gaps = Gaps {
        nodes: 10.0,
        bends: 4.0,
        components: 6.0,
    };

    fn dag_of(n: usize, raw: &[(u32, u32)]) -> Dag {
        let arcs = raw
            .iter()
            .map(|&(a, b)| (a % n as u32, b % n as u32))
            .filter(|(a, b)| a != b);
        Dag::from_arcs(n, arcs.map(|(a, b)| (a.min(b), a.max(b))).collect()).unwrap()
    }

    /// The obvious twin of [`Ordered::crossings`].
    fn crossings_by_pairs(ordered: &Ordered) -> u64 {
        let place = |v: TaskId| ordered.position[v.index()];
        let arcs: Vec<_> = ordered.graph.arcs().collect();
        let mut total = 0;
        for (i, &(a, b)) in arcs.iter().enumerate() {
            for &(c, d) in &arcs[..i] {
                let same = ordered.level[a.index()] == ordered.level[c.index()];
                let crossed = (place(a) < place(c) && place(b) > place(d))
                    || (place(a) > place(c) && place(b) < place(d));
                total += u64::from(same && crossed);
            }
        }
        total
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn every_arc_goes_down_level_by_level(n in 1usize..30, raw in prop::collection::vec((0u32..99, 0u32..99), 0..80)) {
            let dag = dag_of(n, &raw);
            let (level, depth) = (levels(&dag), depths(&dag));
            let length = |of: &[u32]| dag.arcs().map(|(u, v)| of[v.index()] - of[u.index()]).sum::<u32>();
            prop_assert!(dag.arcs().all(|(u, v)| level[u.index()] < level[v.index()]));
            prop_assert!(length(&level) <= length(&depth));
            let ordered = Ordered::new(&dag, &level);
            for (i, (u, v)) in dag.arcs().enumerate() {
                let span = (level[v.index()] - level[u.index()]) as usize;
                let mut path = vec![u];
                path.extend(ordered.bends(i, span));
                path.push(v);
                prop_assert_eq!(path.len(), span + 1);
                for pair in path.windows(2) {
                    prop_assert!(ordered.graph.has_arc(pair[0], pair[1]));
                    prop_assert_eq!(ordered.level[pair[0].index()] + 1, ordered.level[pair[1].index()]);
                }
            }
            for l in 0..ordered.level_count() {
                let mut nodes: Vec<_> = ordered.row(l).collect();
                nodes.sort_unstable();
                let expected: Vec<_> = dag.tasks().filter(|v| level[v.index()] == l as u32).collect();
                prop_assert_eq!(nodes, expected);
            }
        }

        #[test]
        fn crossings_are_counted_rightly_and_never_raised(n in 1usize..20, raw in prop::collection::vec((0u32..99, 0u32..99), 0..60)) {
            let dag = dag_of(n, &raw);
            let ordered = Ordered::new(&dag, &levels(&dag));
            prop_assert_eq!(ordered.crossings(), crossings_by_pairs(&ordered));
            let mut first = Ordered::new(&dag, &levels(&dag));
            first.order_by_number();
            prop_assert!(ordered.crossings() <= first.crossings());
            first.component.fill(NONE);
            first.rows.iter_mut().for_each(Vec::clear);
            first.order_by_search();
            prop_assert!(ordered.crossings() <= first.crossings());
        }

        #[test]
        fn neighbours_keep_their_distance(
            n in 1usize..30,
            raw in prop::collection::vec((0u32..99, 0u32..99), 0..80),
            sizes in prop::collection::vec(5.0f64..90.0, 30),
        ) {
            let dag = dag_of(n, &raw);
            let ordered = Ordered::new(&dag, &levels(&dag));
            let (centre, extent) = ordered.place(&sizes[..n], GAPS);
            prop_assert!(extent + 1e-6 >= ordered.least_extent(&sizes[..n], GAPS));
            for row in &ordered.rows {
                for pair in row.windows(2) {
                    let [a, b] = [pair[0], pair[1]].map(|v| (centre[v.index()], ordered.breadth(v, &sizes[..n]) / 2.0));
                    prop_assert!(a.0 + a.1 + GAPS.bends <= b.0 - b.1 + 1e-6);
                }
                for &v in row {
                    let half = ordered.breadth(v, &sizes[..n]) / 2.0;
                    prop_assert!(centre[v.index()] - half >= -1e-6 && centre[v.index()] + half <= extent + 1e-6);
                }
            }
        }
    }

    #[test]
    fn trees_and_chains_are_drawn_without_crossings_and_straight() {
        let tree = Dag::from_arcs(15, (1..15).map(|v| ((v - 1) / 2, v)).collect()).unwrap();
        assert_eq!(Ordered::new(&tree, &levels(&tree)).crossings(), 0);
        let chain = Dag::from_arcs(5, (1..5).map(|v| (v - 1, v)).collect()).unwrap();
        let (centre, extent) = Ordered::new(&chain, &levels(&chain)).place(&[20.0; 5], GAPS);
        assert_eq!((centre, extent), (vec![10.0; 5], 20.0));
    }

    #[test]
    fn late_collectors_get_one_trunk() {
        // 50 tasks feed both a chain of 5 and the task after it.
        let mut arcs: Vec<(u32, u32)> = (0..50).flat_map(|v| [(v, 50), (v, 55)]).collect();
        arcs.extend((50..55).map(|v| (v, v + 1)));
        let dag = Dag::from_arcs(56, arcs).unwrap();
        let ordered = Ordered::new(&dag, &levels(&dag));
        assert_eq!(ordered.graph.len() - dag.len(), 5);
    }
}
