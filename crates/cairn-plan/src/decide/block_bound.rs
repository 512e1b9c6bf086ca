//! An upper bound for a component from its blocks: gates ignored, each block as good as it can be alone.
//! Knows nothing of orders.

use super::component::{Component, gate_order};
use super::frontier::Frontier;
use super::ids::NodeId;
use super::knowledge::{Finding, Knowledge, Method};
use super::macro_states::MacroStates;
use super::tree_program::TreeProgram;
use crate::budgets::decide::{BLOCK, MOST_SET_IN_BLOCK};
use crate::counts::gained;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{
    DisjointSets, Price, Rows, Work, convolve, largest_shares, long, narrow, part, signed,
};
use hashbrown::HashMap;

/// (max,+) convolution of the profiles of the component's blocks, exact where a block can be solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockBound;

impl Method for BlockBound {
    fn name(&self) -> &'static str {
        "block convolution"
    }

    fn examine(&self, component: &Component, _: &Knowledge, work: &mut Work<'_>) -> Finding {
        let mut solved: HashMap<Component, Vec<i32>> = HashMap::new();
        let mut sum = vec![0];
        for block in blocks(component) {
            let profile =
                // Equal blocks are solved once: a component has often many of one shape.
                (solved.entry(block)).or_insert_with_key(|b| signed(&upper_profile(b, work)));
            match convolve(&sum, profile, None, Price::Time, work) {
                Some(both) => sum = both,
                None => return Finding::default(),
            }
        }
        Finding {
            upper: Some(sum.into_iter().map(gained).collect()),
            states: long(solved.len()),
            ..Finding::default()
        }
    }
}

/// The blocks: parts joined by needs alone, as components without gates.
fn blocks(component: &Component) -> Vec<Component> {
    let nodes = component.nodes();
    let mut sets = DisjointSets::new(nodes);
    for r in component.all_rewards() {
        // Neighbours in the list are enough: joining is transitive.
        for pair in component.needs(r).windows(2) {
            sets.join(narrow(pair[0].index()), narrow(pair[1].index()));
        }
    }
    let mut members: Vec<(u32, NodeId)> = (component.all_nodes())
        .map(|v| (sets.find(narrow(v.index())), v))
        .collect();
    members.sort_unstable();
    let mut local = vec![NodeId::default(); nodes];
    let mut block_of = vec![0; nodes];
    let mut sizes = Vec::new();
    for (b, group) in members.chunk_by(|x, y| x.0 == y.0).enumerate() {
        for (i, &(_, v)) in group.iter().enumerate() {
            local[v.index()] = NodeId::new(i);
            block_of[v.index()] = b;
        }
        sizes.push(group.len());
    }
    let mut rewards: Vec<(Rows<NodeId>, Vec<u32>)> = vec![Default::default(); sizes.len()];
    for r in component.all_rewards() {
        let needs = component.needs(r);
        // All that a reward needs is in one block, so that any of them tells which.
        let (lists, weights) = &mut rewards[block_of[needs[0].index()]];
        lists.push(needs.iter().map(|&v| local[v.index()]));
        weights.push(component.weight(r));
    }
    (rewards.into_iter().zip(sizes))
        .map(|((needs, weight), size)| Component::new(needs, weight, vec![None; size]))
        .collect()
}

/// The exact profile of a block where one of the methods finds it, else a valid bound.
fn upper_profile(block: &Component, work: &mut Work<'_>) -> Vec<u32> {
    let mut known = Knowledge::new(block, block.equal_shares(), gate_order(block));
    let methods: [&dyn Method; 3] = [
        &TreeProgram {
            most: MOST_SET_IN_BLOCK,
        },
        &MacroStates { beam: None },
        &Frontier,
    ];
    for method in methods {
        if known.is_exact() {
            break;
        }
        work.lend(BLOCK, |part| known.learn(method, block, part));
    }
    known.upper
}

/// A bound for all nonsinks of a dag: each task that becomes eligible is shared equally among its parents, as in
/// [`Puzzle::equal_shares`](cairn_kernel::Puzzle::equal_shares). O(arcs + tasks·log tasks).
pub(crate) fn shared_tasks(dag: &Dag) -> Vec<u32> {
    let of_child = |child: &TaskId| part(1, dag.parents(*child).len());
    let shares = (dag.tasks())
        .filter(|&t| !dag.is_sink(t))
        .map(|t| dag.children(t).iter().map(of_child).sum())
        .collect();
    let total = dag.tasks().filter(|&t| !dag.is_source(t)).count();
    largest_shares(shares, narrow(total))
}
