//! The components of a dag and what is known of each kind, learnt in parallel. Knows no methods and no verdicts.

use super::component::{Component, Placed, components};
use super::intervals::Chain;
use super::knowledge::Knowledge;
use super::rounds::Limits;
use super::solve::solve;
use cairn_dag::Dag;
use cairn_kernel::Work;
use rayon::prelude::*;
use std::collections::HashMap;

/// The components of all intervals, and what is known of each class of equal ones.
pub(super) struct Solved {
    pub(super) placed: Vec<Placed>,
    /// By component: its class of equal ones.
    pub(super) class: Vec<usize>,
    /// By class: the first of its components.
    pub(super) first: Vec<usize>,
    /// By class.
    pub(super) known: Vec<Knowledge>,
}

impl Solved {
    /// Cuts the dag into components and groups equal ones; of each class only a first order and bound are known.
    pub(super) fn new(dag: &Dag, chain: &Chain) -> Solved {
        let placed = components(dag, &chain.interval, None);
        let mut classes: HashMap<(&Component, bool), usize> = HashMap::new();
        let mut first: Vec<usize> = Vec::new();
        let class = (placed.iter().enumerate())
            .map(|(i, p)| {
                let key = (&p.component, chain.is_edge[p.interval as usize]);
                *classes.entry(key).or_insert_with(|| {
                    first.push(i);
                    first.len() - 1
                })
            })
            .collect();
        let known = (first.par_iter())
            .map(|&i| {
                let p = &placed[i];
                let upper = if chain.is_edge[p.interval as usize] {
                    p.component.chord()
                } else {
                    super::block_bound::shared_weights(&p.component)
                };
                let by_rank = |rank: &Vec<u32>| {
                    let mut order: Vec<u32> = (0..p.tasks.len() as u32).collect();
                    order.sort_unstable_by_key(|&v| rank[p.tasks[v as usize].index()]);
                    order
                };
                let mut known = Knowledge::new(&p.component, upper, by_rank(&chain.ranks[0]));
                for rank in &chain.ranks[1..] {
                    known.take_order(&p.component, &by_rank(rank));
                }
                known
            })
            .collect();
        Solved {
            placed,
            class,
            first,
            known,
        }
    }

    /// Learns more of each class that is not decided, the classes in parallel: each has a budget of its own.
    pub(super) fn deepen(&mut self, limits: &Limits, work: &Work<'_>) {
        let placed = &self.placed;
        let size = |i: usize| placed[i].component.nodes() as u64;
        let open = (self.first.iter().zip(&self.known)).filter(|(_, known)| !known.is_decided());
        let all: u64 = open.map(|(&i, _)| size(i)).sum();
        (self.known.par_iter_mut().zip(&self.first))
            .filter(|(known, _)| !known.is_decided())
            .for_each(|(known, &i)| {
                let mut effort = limits.component;
                let share = (limits.components / all.max(1)).saturating_mul(size(i));
                effort.steps = effort.steps.min(share);
                let mut work = work.part(u64::MAX);
                solve(&placed[i].component, known, &effort, &mut work);
            });
    }

    /// How often each method had the last word, most often first.
    pub(super) fn methods(&self) -> Vec<(&'static str, usize)> {
        let mut count: Vec<(&'static str, usize)> = Vec::new();
        for &class in &self.class {
            let name = self.known[class].by.0;
            match count.iter_mut().find(|e| e.0 == name) {
                Some(entry) => entry.1 += 1,
                None => count.push((name, 1)),
            }
        }
        count.sort_by_key(|e| std::cmp::Reverse(e.1));
        count
    }
}
