//! The flow that proves one piece of the hull: a plain maximum flow. Knows nothing of the rest of the chain.

use cairn_dag::{Dag, TaskId};

const NONE: u32 = u32::MAX;
/// More than any flow: amounts sum up to cost·reward < 2^62.
const UNLIMITED: u64 = u64::MAX / 4;

/// Finds the flows of pieces, one after the other, in the same memory.
pub(crate) struct PieceFlow<'a> {
    dag: &'a Dag,
    /// By task: the node of its out copy and of its in copy in the current piece.
    out_node: Vec<u32>,
    in_node: Vec<u32>,
}

impl<'a> PieceFlow<'a> {
    pub(crate) fn new(dag: &'a Dag) -> PieceFlow<'a> {
        PieceFlow {
            dag,
            out_node: vec![NONE; dag.len()],
            in_node: vec![NONE; dag.len()],
        }
    }

    /// For a piece in which these tasks are executed and become eligible: (parent, child, amount), what in(child)
    /// hands to out(parent) when every in-node brings in `executed.len()` units and every out-node takes out
    /// `eligible.len()`. All of it finds its way if the piece is one of the hull.
    ///
    /// Blocking flows ([Dinic 1970]): O(nodes²·arcs) at worst, near linear on pieces met so far.
    pub(crate) fn find(
        &mut self,
        executed: &[TaskId],
        eligible: &[TaskId],
    ) -> Vec<(TaskId, TaskId, u64)> {
        let (cost, reward) = (executed.len() as u64, eligible.len() as u64);
        let mut network = Network::new(executed.len() + eligible.len() + 2);
        let (from, to) = (network.nodes() - 2, network.nodes() - 1);
        for (i, task) in executed.iter().enumerate() {
            self.out_node[task.index()] = i as u32;
            network.arc(i as u32, to, reward);
        }
        for (i, task) in eligible.iter().enumerate() {
            let node = (executed.len() + i) as u32;
            self.in_node[task.index()] = node;
            network.arc(from, node, cost);
        }
        let mut arcs = Vec::new();
        for &child in eligible {
            let node = self.in_node[child.index()];
            for &parent in self.dag.parents(child) {
                let out = self.out_node[parent.index()];
                if out != NONE {
                    arcs.push((parent, child, network.arc(node, out, UNLIMITED)));
                }
            }
            let own = self.out_node[child.index()];
            if own != NONE {
                network.arc(own, node, UNLIMITED);
            }
        }
        let amount = network.saturate(from, to);
        debug_assert_eq!(amount, cost * reward, "a piece of the hull balances");
        executed
            .iter()
            .for_each(|t| self.out_node[t.index()] = NONE);
        eligible.iter().for_each(|t| self.in_node[t.index()] = NONE);
        (arcs.into_iter())
            .map(|(parent, child, arc)| (parent, child, network.flow(arc)))
            .filter(|&(_, _, amount)| amount > 0)
            .collect()
    }
}

/// Arcs in pairs: number `a ^ 1` is `a` backwards, and its room is the flow on `a`.
struct Network {
    first: Vec<u32>,
    next: Vec<u32>,
    head: Vec<u32>,
    room: Vec<u64>,
}

impl Network {
    fn new(nodes: usize) -> Network {
        Network {
            first: vec![NONE; nodes],
            next: Vec::new(),
            head: Vec::new(),
            room: Vec::new(),
        }
    }

    fn nodes(&self) -> u32 {
        self.first.len() as u32
    }

    fn arc(&mut self, from: u32, to: u32, room: u64) -> u32 {
        let number = self.head.len() as u32;
        for (at, head, room) in [(from, to, room), (to, from, 0)] {
            self.next.push(self.first[at as usize]);
            self.first[at as usize] = self.head.len() as u32;
            self.head.push(head);
            self.room.push(room);
        }
        number
    }

    fn flow(&self, arc: u32) -> u64 {
        self.room[arc as usize ^ 1]
    }

    /// Maximum flow, by blocking flows along shortest paths.
    fn saturate(&mut self, from: u32, to: u32) -> u64 {
        let mut total = 0;
        loop {
            let mut level = self.levels(from);
            if level[to as usize] == NONE {
                return total;
            }
            let mut current = self.first.clone();
            let mut path: Vec<u32> = Vec::new();
            loop {
                let at = path.last().map_or(from, |&a| self.head[a as usize]);
                if at == to {
                    total += self.push(&mut path);
                    continue;
                }
                let arc = current[at as usize];
                if arc == NONE {
                    level[at as usize] = NONE;
                    match path.pop() {
                        Some(_) => continue,
                        None => break,
                    }
                }
                let head = self.head[arc as usize] as usize;
                let leads_on = level[head] != NONE && level[head] == level[at as usize] + 1;
                if self.room[arc as usize] > 0 && leads_on {
                    path.push(arc);
                } else {
                    current[at as usize] = self.next[arc as usize];
                }
            }
        }
    }

    /// Pushes what fits along the path and cuts the path back to where it is full now.
    fn push(&mut self, path: &mut Vec<u32>) -> u64 {
        let rooms = path.iter().map(|&a| self.room[a as usize]);
        let amount = rooms.min().unwrap_or(0);
        for &arc in path.iter() {
            self.room[arc as usize] -= amount;
            self.room[arc as usize ^ 1] += amount;
        }
        let full = path.iter().position(|&a| self.room[a as usize] == 0);
        path.truncate(full.unwrap_or(0));
        amount
    }

    fn levels(&self, from: u32) -> Vec<u32> {
        let mut level = vec![NONE; self.first.len()];
        level[from as usize] = 0;
        let mut queue = vec![from];
        let mut done = 0;
        while let Some(&at) = queue.get(done) {
            done += 1;
            let mut arc = self.first[at as usize];
            while arc != NONE {
                let head = self.head[arc as usize];
                if self.room[arc as usize] > 0 && level[head as usize] == NONE {
                    level[head as usize] = level[at as usize] + 1;
                    queue.push(head);
                }
                arc = self.next[arc as usize];
            }
        }
        level
    }
}
