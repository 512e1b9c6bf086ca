//! What a run is of, as a page knows it: a flow, or a family that is never written down. Knows no state.

use cairn_dag::{Dag, Flow};
use cairn_engine::{Frozen, Position, Task};
use cairn_theory::game::Standing;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The tasks of a run.
pub trait Subject {
    /// What a task is called.
    fn name(&self, task: Task) -> String;

    /// The game before anything has happened.
    fn position(&self) -> Box<dyn Position + '_>;

    /// The dag, where it is written down. Else tasks are numbered by the steps of their order.
    fn dag(&self) -> Option<&Dag>;
}

impl Subject for Flow {
    fn name(&self, task: Task) -> String {
        let known = task.frozen().filter(|t| t.index() < self.dag().len());
        known.map_or_else(|| task.0.to_string(), |t| Flow::name(self, t).to_owned())
    }

    fn position(&self) -> Box<dyn Position + '_> {
        Box::new(Frozen::new(Flow::dag(self)))
    }

    fn dag(&self) -> Option<&Dag> {
        Some(Flow::dag(self))
    }
}

/// What an order gives one worker that goes by it: eligible tasks after 0, 1, 2… executed ones. A list of priorities need not
/// begin with parents: of the eligible tasks the first in it is executed. Time O(n log n + arcs).
pub fn profile(subject: &dyn Subject, order: impl Iterator<Item = Task>) -> Vec<u32> {
    let mut position = subject.position();
    let order: Vec<Task> = order.collect();
    let place: HashMap<Task, usize> = order.iter().enumerate().map(|(i, &t)| (t, i)).collect();
    let is_eligible = |t: &&Task| matches!(position.standing(**t), Ok(Standing::Eligible));
    let first = order.iter().filter(is_eligible);
    let mut ready: BinaryHeap<Reverse<usize>> = first.map(|t| Reverse(place[t])).collect();
    let eligible = |p: &dyn Position| p.count(Standing::Eligible).unwrap_or(0) as u32;
    let mut all = vec![eligible(&*position)];
    let mut opened = Vec::new();
    while let Some(Reverse(next)) = ready.pop() {
        // What is eligible can be executed once: an order that names a task twice is damaged, and its
        // beginning is all there is to show.
        if position.execute(order[next], &mut opened).is_err() {
            break;
        }
        ready.extend((opened.drain(..)).filter_map(|t| place.get(&t).copied().map(Reverse)));
        all.push(eligible(&*position));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By a list that names a child before its parent, a worker still executes all, and the same as by the order that results.
    #[test]
    fn a_list_of_priorities_has_a_profile() {
        let mut build = cairn_dag::FlowBuilder::new();
        let [a, b, c] = ["a", "b", "c"].map(|name| build.declare(name, 0).unwrap());
        build.arc(a, b).unwrap();
        build.arc(a, c).unwrap();
        let flow = build.finish().unwrap();
        let tasks = |list: [u64; 3]| list.map(Task).into_iter();
        assert_eq!(profile(&flow, tasks([0, 1, 2])), [1, 2, 1, 0]);
        assert_eq!(profile(&flow, tasks([2, 0, 1])), [1, 2, 1, 0]);
    }
}
