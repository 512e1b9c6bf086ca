//! The split graph of a dag: its blocks and how they hang together. Knows nothing of what a block is worth.

use crate::Bipartite;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{NONE, Rows, completed, ids, narrow, wide};

ids! {
    /// A block of one decomposition: a dense index, `0..blocks`.
    pub BlockId,
}

/// The blocks of a dag and its super-dag.
///
/// Give every task that has children a copy *out* ("it is executed"), every task that has parents a copy *in* ("all
/// its parents are executed"), and join out(u) with in(v) for each arc u → v. The connected components of this
/// *split graph* are the **blocks**: connected bipartite dags whose arcs partition those of the dag. The
/// **super-dag** has an arc from the block of in(v) to the block of out(v) for every task v that has both.
///
/// For every set X of executed tasks that is closed under parents, composite or not,
/// `eligible(X) = sources − |X| + Σ e_i(X)`, where `e_i(X)` counts the sinks of block `i` whose parents all lie in
/// X. Everything that this crate proves of whole dags rests on this line.
///
/// A dag is *composite* (\[MRY06\], §4) iff its super-dag is acyclic, and then \[MRY06\]'s Theorem 6 holds: the blocks
/// are those it was composed of, whatever the order of composition. That paper's definition of a "constituent",
/// taken literally, is not used: it loses arcs (see the tests `literal_constituents_lose_an_arc` and
/// `literal_constituents_accept_a_dag_that_is_not_composite`).
///
/// Time and space are linear in tasks plus arcs. Everything lies in flat arrays, 24 bytes a task and 12 a block, so
/// that millions of blocks are no burden.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_theory::split::Decomposition;
/// // A diamond: one source fans out to two tasks, which a last one joins.
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let parts = Decomposition::new(&diamond);
/// assert_eq!(parts.len(), 2);
/// assert!(parts.is_composite());
/// // With a shortcut arc the two blocks hang together and feed themselves.
/// let shortcut = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]).unwrap();
/// assert!(!Decomposition::new(&shortcut).is_composite());
/// ```
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// By task: the block of its out-copy and of its in-copy, if it has them.
    out_block: Vec<Option<BlockId>>,
    in_block: Vec<Option<BlockId>>,
    /// By task: the place of its in-copy among the sinks of the block.
    in_place: Vec<u32>,
    sources: Rows<TaskId>,
    sinks: Rows<TaskId>,
    /// The blocks in topological order of the super-dag, as far as it has one.
    topological: Vec<BlockId>,
}

impl Decomposition {
    /// Splits `dag` into its blocks.
    pub fn new(dag: &Dag) -> Decomposition {
        let (out_block, in_block, blocks) = label(dag);
        let sinks = by_block(blocks, &in_block);
        // Rows of sinks are in id order, so places ascend with ids: cut out, the children of a source stay sorted.
        let mut in_place = vec![NONE; dag.len()];
        for row in sinks.iter() {
            for (task, place) in row.iter().zip(0..) {
                in_place[task.index()] = place;
            }
        }
        let mut parts = Decomposition {
            sources: by_block(blocks, &out_block),
            sinks,
            out_block,
            in_block,
            in_place,
            topological: Vec::new(),
        };
        parts.topological = parts.sort_super_dag();
        parts
    }

    /// Number of blocks. A dag without arcs has none.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is no block, the dag having no arc.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the super-dag is acyclic. Then the dag has no shortcut arc either.
    pub fn is_composite(&self) -> bool {
        self.topological.len() == self.len()
    }

    /// All blocks, in the order of their ids: that of their first sources in the dag's topological order.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockId> + use<> {
        (0..self.len()).map(BlockId::new)
    }

    /// The blocks, each after all blocks that feed it. Unless the dag is composite, it stops short: these are the
    /// blocks that can be detached one after the other before the rest is stuck.
    pub(crate) fn topological_order(&self) -> &[BlockId] {
        &self.topological
    }

    /// The tasks whose out-copies are the sources of a block, in id order.
    #[inline]
    pub fn sources(&self, block: BlockId) -> &[TaskId] {
        self.sources.row(block.index())
    }

    /// The tasks whose in-copies are the sinks of a block, in id order.
    #[inline]
    pub fn sinks(&self, block: BlockId) -> &[TaskId] {
        self.sinks.row(block.index())
    }

    /// The block that `task` is a source of; `None` for a sink of the dag.
    #[inline]
    pub fn block_below(&self, task: TaskId) -> Option<BlockId> {
        self.out_block[task.index()]
    }

    /// The block that `task` is a sink of; `None` for a source of the dag.
    #[inline]
    pub fn block_above(&self, task: TaskId) -> Option<BlockId> {
        self.in_block[task.index()]
    }

    /// The arcs of the super-dag out of `block`: where each leads, and by which task. Several tasks may lead to the
    /// same block.
    pub fn super_arcs(&self, block: BlockId) -> impl Iterator<Item = (BlockId, TaskId)> + '_ {
        (self.sinks(block).iter()).filter_map(|&task| Some((self.block_below(task)?, task)))
    }

    /// How many arcs the super-dag has.
    pub fn super_arc_count(&self) -> usize {
        self.blocks().map(|b| self.super_arcs(b).count()).sum()
    }

    /// A cycle of the super-dag, as the tasks that lead from each block to the next and from the last to the first;
    /// `None` if the dag is composite. Linear.
    pub(crate) fn cycle(&self) -> Option<Vec<TaskId>> {
        let mut sorted = vec![false; self.len()];
        for block in &self.topological {
            sorted[block.index()] = true;
        }
        let mut at = self.blocks().find(|b| !sorted[b.index()])?;
        // Every block left unsorted is fed by one left unsorted: walking against the arcs must come round.
        let mut met = vec![NONE; self.len()];
        let mut walked: Vec<TaskId> = Vec::new();
        while met[at.index()] == NONE {
            met[at.index()] = narrow(walked.len());
            let feeder = (self.sources(at).iter()).find_map(|&task| {
                let above = self.block_above(task)?;
                (!sorted[above.index()]).then_some((above, task))
            });
            let (above, task) = feeder.expect("an unsorted block is fed by an unsorted block");
            walked.push(task);
            at = above;
        }
        // The walk's first steps may lie before the cycle.
        let mut cycle = walked.split_off(wide(met[at.index()]));
        cycle.reverse();
        Some(cycle)
    }

    /// Cuts a block out, its sources and sinks numbered as in [`Decomposition::sources`] and
    /// [`Decomposition::sinks`].
    pub fn cut(&self, dag: &Dag, block: BlockId) -> Bipartite {
        let mut out = Bipartite::empty();
        self.cut_into(dag, block, &mut out);
        out
    }

    /// [`Decomposition::cut`] without a new allocation each time.
    pub(crate) fn cut_into(&self, dag: &Dag, block: BlockId, out: &mut Bipartite) {
        let sources = self.sources(block);
        let arcs = sources.iter().enumerate().flat_map(|(u, &task)| {
            let children = dag.children(task).iter();
            children.map(move |v| (narrow(u), self.in_place[v.index()]))
        });
        out.refill(sources.len(), self.sinks(block).len(), arcs);
    }

    /// Kahn's algorithm on the super-dag, whose arcs are read off the sinks of each block.
    fn sort_super_dag(&self) -> Vec<BlockId> {
        let fed = |&&task: &&TaskId| self.block_above(task).is_some();
        let mut waiting: Vec<u32> = (self.blocks())
            // Parallel arcs are counted each, here and when they are taken away below.
            .map(|b| narrow(self.sources(b).iter().filter(fed).count()))
            .collect();
        let mut order: Vec<BlockId> = Vec::with_capacity(self.len());
        order.extend(self.blocks().filter(|b| waiting[b.index()] == 0));
        let mut next = 0;
        while next < order.len() {
            let block = order[next];
            next += 1;
            let fed = self.super_arcs(block).map(|(to, _)| to);
            order.extend(completed(fed, &mut waiting));
        }
        order
    }
}

/// The block of each out-copy and of each in-copy, and how many blocks there are.
fn label(dag: &Dag) -> (Vec<Option<BlockId>>, Vec<Option<BlockId>>, usize) {
    let mut out_block = vec![None; dag.len()];
    let mut in_block = vec![None; dag.len()];
    let mut blocks = 0;
    // One stack for all blocks, of which there may be nearly as many as tasks.
    let mut open = Vec::new();
    // In topological order, which numbers the blocks as `blocks` says.
    for &root in dag.topological_order() {
        if dag.is_sink(root) || out_block[root.index()].is_some() {
            continue;
        }
        let block = Some(BlockId::new(blocks));
        out_block[root.index()] = block;
        open.push(root);
        while let Some(task) = open.pop() {
            for &child in dag.children(task) {
                if in_block[child.index()].is_some() {
                    continue;
                }
                in_block[child.index()] = block;
                for &parent in dag.parents(child) {
                    if out_block[parent.index()].is_none() {
                        out_block[parent.index()] = block;
                        open.push(parent);
                    }
                }
            }
        }
        blocks += 1;
    }
    (out_block, in_block, blocks)
}

/// Rows of tasks by block, in id order within each row.
fn by_block(blocks: usize, block_of: &[Option<BlockId>]) -> Rows<TaskId> {
    let tasks = block_of.iter().zip(0..);
    Rows::by_row(
        blocks,
        tasks.filter_map(|(&block, task)| Some((block?, TaskId(task)))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{any_dag, eligible, ideals};
    use proptest::prelude::*;

    /// The split graph's components by repeated merging of labels, as partitions of the arcs.
    fn blocks_by_merging(dag: &Dag) -> Vec<Vec<(u32, u32)>> {
        let arcs: Vec<(u32, u32)> = dag.arcs().map(|(a, b)| (a.0, b.0)).collect();
        let mut label: Vec<usize> = (0..arcs.len()).collect();
        loop {
            let before = label.clone();
            for i in 0..arcs.len() {
                for j in 0..arcs.len() {
                    if arcs[i].0 == arcs[j].0 || arcs[i].1 == arcs[j].1 {
                        label[i] = label[i].min(label[j]);
                    }
                }
            }
            if label == before {
                break;
            }
        }
        let mut groups = vec![Vec::new(); arcs.len()];
        for (arc, label) in arcs.iter().zip(label) {
            groups[label].push(*arc);
        }
        groups.retain(|g| !g.is_empty());
        groups.sort();
        groups
    }

    proptest! {
        #[test]
        fn blocks_are_the_components_of_the_split_graph(dag in any_dag(14)) {
            let parts = Decomposition::new(&dag);
            let mut groups = Vec::new();
            for b in parts.blocks() {
                let block = parts.cut(&dag, b);
                let (sources, sinks) = (parts.sources(b), parts.sinks(b));
                prop_assert_eq!((block.sources(), block.sinks()), (sources.len(), sinks.len()));
                let arcs = block.arcs().map(|(u, v)| (sources[u as usize].0, sinks[v as usize].0));
                groups.push(arcs.collect::<Vec<_>>());
            }
            groups.sort();
            prop_assert_eq!(groups, blocks_by_merging(&dag));
            for task in dag.tasks() {
                prop_assert_eq!(parts.block_below(task).is_some(), !dag.is_sink(task));
                prop_assert_eq!(parts.block_above(task).is_some(), !dag.is_source(task));
            }
        }

        /// The super-dag is sorted or a true cycle of it is shown, never both.
        #[test]
        fn sorted_or_cyclic(dag in any_dag(14)) {
            let parts = Decomposition::new(&dag);
            prop_assert_eq!(parts.is_composite(), parts.cycle().is_none());
            let mut seen = vec![false; parts.len()];
            for &block in parts.topological_order() {
                for task in parts.sources(block) {
                    prop_assert!(parts.block_above(*task).is_none_or(|above| seen[above.index()]));
                }
                seen[block.index()] = true;
            }
            if let Some(cycle) = parts.cycle() {
                for (i, &task) in cycle.iter().enumerate() {
                    let next = cycle[(i + 1) % cycle.len()];
                    prop_assert!(parts.block_below(task).is_some());
                    prop_assert_eq!(parts.block_below(task), parts.block_above(next));
                }
            }
        }

        /// The line that everything rests on, for every ideal of every dag.
        #[test]
        fn eligible_tasks_are_counted_by_blocks(dag in any_dag(10)) {
            let parts = Decomposition::new(&dag);
            let sources = dag.sources().count() as i64;
            for ideal in ideals(&dag).into_iter().flatten() {
                let executed = |t: TaskId| ideal >> t.0 & 1 == 1;
                let mut rendered = 0;
                for b in parts.blocks() {
                    let ready = |v: &&TaskId| dag.parents(**v).iter().all(|&p| executed(p));
                    rendered += parts.sinks(b).iter().filter(ready).count() as i64;
                }
                let formula = sources - i64::from(ideal.count_ones()) + rendered;
                prop_assert_eq!(eligible(&dag, ideal).len() as i64, formula);
            }
        }

        /// A shortcut arc makes any dag non-composite ([MRY06], Lemma 4).
        #[test]
        fn composite_dags_have_no_shortcut(dag in any_dag(12), a in 0usize..12, b in 0usize..12) {
            let reach = |from: TaskId| {
                let mut seen = vec![from];
                let mut next = 0;
                while next < seen.len() {
                    for &c in dag.children(seen[next]) {
                        if !seen.contains(&c) { seen.push(c); }
                    }
                    next += 1;
                }
                seen
            };
            if a.max(b) >= dag.len() || a == b { return Ok(()); }
            let (a, b) = (TaskId(a as u32), TaskId(b as u32));
            if dag.has_arc(a, b) || !reach(a).contains(&b) { return Ok(()); }
            let mut arcs: Vec<(u32, u32)> = dag.arcs().map(|(x, y)| (x.0, y.0)).collect();
            arcs.push((a.0, b.0));
            let more = Dag::from_arcs(dag.len(), arcs).unwrap();
            prop_assert!(!Decomposition::new(&more).is_composite());
        }
    }
}
