//! The components of a dag and what is known of each kind, learnt in parallel. Knows no methods and no verdicts.

use super::component::{Component, Placed, components};
use super::ids::{ClassId, ComponentId, IntervalId, NodeId};
use super::intervals::StrictChain;
use super::knowledge::Knowledge;
use super::rounds::DecideEffort;
use super::solve::solve;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, long};
use hashbrown::HashMap;
use rayon::prelude::*;

/// The components of all intervals, and what is known of each class of equal ones.
pub(super) struct Solved {
    placed: Vec<Placed>,
    /// By component: its class of equal ones.
    class: Vec<ClassId>,
    /// By class: the first of its components.
    first: Vec<ComponentId>,
    /// By class.
    known: Vec<Knowledge>,
}

impl Solved {
    /// Cuts the dag into components and groups equal ones; of each class only a first order and bound are known.
    pub(super) fn new(dag: &Dag, chain: &StrictChain) -> Solved {
        let placed = components(dag, &chain.interval, None);
        let is_edge = |interval: IntervalId| chain.is_edge[interval.index()];
        let mut classes: HashMap<(&Component, bool), ClassId> = HashMap::new();
        let mut first: Vec<ComponentId> = Vec::new();
        let class = (placed.iter().enumerate())
            .map(|(i, p)| {
                // Equal components with and without a chord start from other bounds, so they are two classes.
                let key = (&p.component, is_edge(p.interval));
                *classes.entry(key).or_insert_with(|| {
                    first.push(ComponentId::new(i));
                    ClassId::new(first.len() - 1)
                })
            })
            .collect();
        drop(classes);
        // Each class by itself, so that threads need share nothing.
        let known = (first.par_iter())
            .map(|&i| {
                let p = &placed[i.index()];
                let upper = if is_edge(p.interval) {
                    p.component.chord()
                } else {
                    p.component.equal_shares()
                };
                let by_rank = |rank: &Vec<u32>| {
                    let mut order: Vec<NodeId> = p.component.all_nodes().collect();
                    order.sort_unstable_by_key(|v| rank[p.tasks[v.index()].index()]);
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

    /// All components.
    pub(super) fn components(&self) -> impl Iterator<Item = ComponentId> + use<> {
        (0..self.placed.len()).map(ComponentId::new)
    }

    /// The first component of each class, with what is known of the class.
    pub(super) fn classes(&self) -> impl Iterator<Item = (ComponentId, &Knowledge)> {
        self.first.iter().copied().zip(&self.known)
    }

    /// A component in place.
    pub(super) fn placed(&self, component: ComponentId) -> &Placed {
        &self.placed[component.index()]
    }

    /// The class of a component.
    pub(super) fn class(&self, component: ComponentId) -> ClassId {
        self.class[component.index()]
    }

    /// What is known of a class.
    pub(super) fn of_class(&self, class: ClassId) -> &Knowledge {
        &self.known[class.index()]
    }

    /// What is known of a component.
    pub(super) fn known(&self, component: ComponentId) -> &Knowledge {
        self.of_class(self.class(component))
    }

    /// The best order known of a component, as tasks.
    pub(super) fn order(&self, component: ComponentId) -> Vec<TaskId> {
        let tasks = &self.placed(component).tasks;
        let order = self.known(component).order.iter();
        order.map(|v| tasks[v.index()]).collect()
    }

    /// Learns more of each class that is not decided, the classes in parallel: each has a budget of its own.
    pub(super) fn deepen(&mut self, effort: &DecideEffort, work: &Work<'_>) {
        let placed = &self.placed;
        let size = |c: ComponentId| long(placed[c.index()].component.nodes());
        let open = self.classes().filter(|(_, known)| !known.is_decided());
        let all: u64 = open.map(|(first, _)| size(first)).sum();
        (self.known.par_iter_mut().zip(&self.first))
            .filter(|(known, _)| !known.is_decided())
            .for_each(|(known, &first)| {
                let mut own = effort.component;
                // In proportion to nodes, and fixed before any is solved: so threads cannot change what another gets.
                let share = (effort.components / all.max(1)).saturating_mul(size(first));
                own.steps = own.steps.min(share);
                let mut work = work.unmetered();
                solve(&placed[first.index()].component, known, &own, &mut work);
            });
    }

    /// How often each method had the last word, most often first.
    pub(super) fn methods(&self) -> Vec<(&'static str, usize)> {
        let mut count: Vec<(&'static str, usize)> = Vec::new();
        // By component, not by class: a method that decides a thousand equal ones counts a thousand times.
        for &class in &self.class {
            let name = self.of_class(class).by.0;
            match count.iter_mut().find(|e| e.0 == name) {
                Some(entry) => entry.1 += 1,
                None => count.push((name, 1)),
            }
        }
        count.sort_by_key(|e| std::cmp::Reverse(e.1));
        count
    }
}
