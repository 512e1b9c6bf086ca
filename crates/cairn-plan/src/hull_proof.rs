//! A proof of the hull that can be checked without this crate. Knows the hull, not how it was found.

use crate::closure::{
    ClosureGraph, GraphNodeId, LinkFlow, LinkGraph, LinkId, PieceNodeId, Scratch, Tuning, link_flow,
};
use crate::{Hull, HullError, Weights};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Rows, Work};
use rayon::prelude::*;

/// One piece of the proof that [`certify`] gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PieceProof {
    /// The tasks whose out copies lie here: they are executed in this piece.
    pub(crate) executed: Vec<TaskId>,
    /// The tasks whose in copies lie here: they become eligible in this piece.
    pub(crate) eligible: Vec<TaskId>,
    /// The sum of the rewards of `eligible`.
    pub(crate) reward: u64,
    /// The sum of the costs of `executed`.
    pub(crate) cost: u64,
    /// How many units of flow make one unit of reward.
    pub(crate) scale: u64,
    /// Flow from in copies to out copies of parents. Zero flows are left out.
    pub(crate) to_parent: Vec<ParentFlow>,
    /// Flow from out copies to in copies of the same task. Zero flows are left out.
    pub(crate) to_self: Vec<SelfFlow>,
}

/// Flow from in(child) to out(parent).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParentFlow {
    /// The task that needs its parent.
    pub(crate) child: TaskId,
    /// The parent.
    pub(crate) parent: TaskId,
    /// How much, in units of 1/scale of a reward.
    pub(crate) amount: u128,
}

/// Flow from out(task) to in(task).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SelfFlow {
    /// The task.
    pub(crate) task: TaskId,
    /// How much, in units of 1/scale of a reward.
    pub(crate) amount: u128,
}

/// Proves that no ideal lies above a hull that [`hull`](crate::hull()) found for the same dag and weights: its pieces, in
/// the order of the chain.
///
/// The *split graph* of a dag has a node out(v), "v is executed", for every task v that has children, and a node
/// in(v), "v is eligible or executed", for every task v that has parents. in(v) needs out(p) for each parent p;
/// out(v) needs in(v). in(v) earns v's reward, out(v) costs v's cost. An ideal without sinks is a set X of nodes
/// with all their needs.
///
/// The proof parts the nodes into pieces and gives every piece a flow along needs inside it, in units of
/// 1/`scale` of a reward. The *load* of a node is its reward (times `scale`) plus what flows in minus what flows
/// out. Because flow can enter X but never leave it, the reward of X inside a piece is at most the load of X
/// there. So the reward of an ideal of cost t is at most what the steepest loads per cost add up to, over all
/// pieces, until their cost is t. For a complete hull all loads of a piece are in proportion to costs, and this
/// bound *is* the hull.
///
/// To check it: (1) every node lies in exactly one piece, (2) every flow runs along a need inside one piece and
/// is not negative, (3) add up loads, sort by load per cost, add up again. Nothing else has to be believed.
///
/// Every piece is solved once more, by itself and at its own price, so that the proof does not depend on how the
/// pieces were found. Time is about that of one of the maximum flows that finding the hull took; threads share
/// the pieces. When it is time to stop the rest of the proof is weaker: still valid, but its bound lies above
/// the hull. The same holds for the pieces of a hull that is not complete.
///
/// # Errors
/// [`HullError`], when the hull or the weights are for another number of tasks.
pub(crate) fn certify(
    dag: &Dag,
    weights: &Weights,
    hull: &Hull,
    work: &Work<'_>,
) -> Result<Vec<PieceProof>, HullError> {
    tuned_certify(dag, weights, hull, &Tuning::default(), work)
}

fn tuned_certify(
    dag: &Dag,
    weights: &Weights,
    hull: &Hull,
    tuning: &Tuning,
    work: &Work<'_>,
) -> Result<Vec<PieceProof>, HullError> {
    if hull.tasks() != dag.len() {
        return Err(HullError::OtherHull {
            given: hull.tasks(),
            tasks: dag.len(),
        });
    }
    let graph = ClosureGraph::new(dag, weights)?;
    let links = Links::new(&graph, hull, dag);
    let prove = |(scratch, work): &mut (Scratch, Work<'_>), link: LinkId| {
        let members = links.members(link);
        let inner = links.graph(&graph, members);
        let flow = link_flow(inner, !hull.is_settled(link), scratch, tuning, work);
        links.proof(dag, weights, &graph, members, &flow)
    };
    // What the chain calls a link is a piece of the hull.
    let pieces = (0..hull.pieces()).into_par_iter().map(LinkId::new);
    // Most pieces are a few nodes: handing them out one by one would cost more than solving them.
    Ok((pieces.with_min_len(64))
        .map_init(|| (Scratch::default(), work.unmetered()), prove)
        .collect())
}

/// The nodes of the closure graph sorted by piece.
struct Links {
    /// By node: the piece.
    link_of: Vec<Option<LinkId>>,
    /// By node: its place among the nodes of its piece.
    place: Vec<PieceNodeId>,
    /// By node: the task whose out copy it is, or, if it is none, whose in copy.
    task: Vec<TaskId>,
    /// By node: what it needs.
    needs: Rows<GraphNodeId>,
    /// Nodes by piece.
    nodes: Rows<GraphNodeId>,
}

impl Links {
    fn new(graph: &ClosureGraph, hull: &Hull, dag: &Dag) -> Links {
        let mut link_of = vec![None; graph.len()];
        let mut task = vec![TaskId(0); graph.len()];
        for t in dag.tasks() {
            if let Some(copy) = graph.in_copy[t.index()] {
                link_of[copy.index()] = hull.eligible_in(t);
                task[copy.index()] = t;
            }
        }
        for t in dag.tasks() {
            // After the in copies: a node that is both goes by its out copy's name.
            if let Some(copy) = graph.out_copy[t.index()] {
                link_of[copy.index()] = hull.executed_in(t);
                task[copy.index()] = t;
            }
        }
        let link = |link: &Option<LinkId>| link.expect("every node lies in a piece");
        let all = (0..graph.len()).map(GraphNodeId::new);
        let nodes = Rows::by_row(hull.pieces(), link_of.iter().map(link).zip(all));
        let mut place = vec![PieceNodeId::default(); graph.len()];
        for members in nodes.iter() {
            for (i, &node) in members.iter().enumerate() {
                place[node.index()] = PieceNodeId::new(i);
            }
        }
        Links {
            needs: Rows::by_row(graph.len(), graph.needs.iter().copied()),
            link_of,
            place,
            task,
            nodes,
        }
    }

    fn members(&self, link: LinkId) -> &[GraphNodeId] {
        self.nodes.row(link.index())
    }

    /// The needs of a node inside its own piece.
    fn needs(&self, node: GraphNodeId) -> impl Iterator<Item = GraphNodeId> + '_ {
        let needs = self.needs.row(node.index()).iter().copied();
        needs.filter(move |&to| self.are_together(node, to))
    }

    fn are_together(&self, a: GraphNodeId, b: GraphNodeId) -> bool {
        self.link_of[a.index()] == self.link_of[b.index()]
    }

    fn graph(&self, graph: &ClosureGraph, members: &[GraphNodeId]) -> LinkGraph {
        let mut link = LinkGraph::default();
        for &node in members {
            link.reward.push(graph.reward[node.index()]);
            link.cost.push(graph.cost[node.index()]);
            let from = self.place[node.index()];
            let needs = self.needs(node);
            (link.needs).extend(needs.map(|to| (from, self.place[to.index()])));
        }
        link
    }

    /// The flow of a piece in terms of tasks. A node may be an out copy and several in copies at once, those of
    /// children with no other parent: these pass on all that they get.
    fn proof(
        &self,
        dag: &Dag,
        weights: &Weights,
        graph: &ClosureGraph,
        members: &[GraphNodeId],
        flow: &LinkFlow,
    ) -> PieceProof {
        let mut proof = PieceProof {
            scale: flow.scale,
            ..PieceProof::default()
        };
        let mut amounts = flow.amounts.iter().map(|&amount| amount.unsigned_abs());
        // By member: what its task's own out copy gives to its in copy.
        let mut from_self = vec![0; members.len()];
        for (i, &node) in members.iter().enumerate() {
            let task = self.task[node.index()];
            let is_out = graph.out_copy[task.index()] == Some(node);
            for to in self.needs(node) {
                // In the order in which `graph` listed the needs.
                let amount = amounts.next().unwrap_or(0);
                if is_out {
                    from_self[i] = amount;
                    proof.to_self.push(SelfFlow { task, amount });
                } else {
                    let (child, parent) = (task, self.task[to.index()]);
                    proof.to_parent.push(ParentFlow {
                        child,
                        parent,
                        amount,
                    });
                }
            }
        }
        for &node in members {
            let task = self.task[node.index()];
            if graph.out_copy[task.index()] != Some(node) {
                proof.eligible.push(task);
                proof.reward += weights.reward(task);
                continue;
            }
            proof.executed.push(task);
            proof.cost += weights.cost(task);
            for &child in dag.children(task) {
                if graph.in_copy[child.index()] != Some(node) {
                    continue;
                }
                proof.eligible.push(child);
                let reward = weights.reward(child);
                proof.reward += reward;
                let out = graph.out_copy[child.index()].filter(|&out| self.are_together(out, node));
                let given = out.map_or(0, |out| from_self[self.place[out.index()].index()]);
                let own = u128::from(reward) * u128::from(flow.scale);
                let (parent, amount) = (task, own + given);
                proof.to_parent.push(ParentFlow {
                    child,
                    parent,
                    amount,
                });
            }
        }
        proof.to_parent.retain(|flow| flow.amount > 0);
        proof.to_self.retain(|flow| flow.amount > 0);
        proof
    }
}

#[cfg(test)]
mod tests;
