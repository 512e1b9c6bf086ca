//! One task after the other under a cap: an order of priorities, followed as far as a keeper lets it. Knows no workers.

use super::{Keeper, LOOK};
use cairn_dag::{Dag, TaskId, narrow};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Keeper {
    /// The order in which tasks go when one runs at a time: the first eligible one of `order` that may start, of the first
    /// few; else the first that the keeper's own order has. Its peak is within the cap.
    ///
    /// # Panics
    /// If anything was started, or `order` and the dag are not of the keeper's tasks.
    pub fn follow(mut self, dag: &Dag, order: &[TaskId]) -> Vec<TaskId> {
        let mut rank = vec![0u32; dag.len()];
        for (place, task) in order.iter().enumerate() {
            rank[task.index()] = narrow(place);
        }
        let mut left: Vec<u32> = dag.tasks().map(|t| narrow(dag.parents(t).len())).collect();
        let entry = |t: TaskId| Reverse((rank[t.index()], t));
        let mut eligible: BinaryHeap<_> = dag.sources().map(entry).collect();
        let mut done = vec![false; dag.len()];
        let mut followed = Vec::with_capacity(dag.len());
        let mut refused = Vec::new();
        while followed.len() < dag.len() {
            let mut chosen = None;
            while refused.len() < LOOK
                && let Some(Reverse((_, task))) = eligible.pop()
            {
                match done[task.index()] {
                    true => (), // It went by the keeper's own order.
                    false if self.may(task) => {
                        chosen = Some(task);
                        break;
                    }
                    false => refused.push(task),
                }
            }
            eligible.extend(refused.drain(..).map(entry));
            let by_order = || {
                let next: Vec<TaskId> = self.next_by_order().collect();
                let open = |t: &TaskId| left[t.index()] == 0;
                next.into_iter()
                    .find(open)
                    .expect("the first one is eligible")
            };
            let task = chosen.unwrap_or_else(by_order);
            self.start(task);
            // One at a time: nothing runs when the next one is chosen, so that the keeper's own first may always
            // start.
            self.finish(task);
            done[task.index()] = true;
            followed.push(task);
            for &child in dag.children(task) {
                left[child.index()] -= 1;
                if left[child.index()] == 0 {
                    eligible.push(entry(child));
                }
            }
        }
        followed
    }
}
