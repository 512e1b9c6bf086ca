//! One task after the other under a cap: an order of priorities, followed as far as a keeper lets it. Knows no workers.

use super::Keeper;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::places;
use cairn_theory::game::{Game, Standing};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Keeper {
    /// The order in which tasks go when one runs at a time: the first eligible one of `order` that may start, of the first
    /// few; else the first that the keeper's own order has. Its peak is within the cap.
    ///
    /// # Panics
    /// If anything was started, or `order` and the dag are not of the keeper's tasks.
    pub fn follow(mut self, dag: &Dag, order: &[TaskId]) -> Vec<TaskId> {
        let rank = places(order);
        let entry = |t: TaskId| Reverse((rank[t.index()], t));
        let mut eligible: BinaryHeap<_> = dag.sources().map(entry).collect();
        let mut game = Game::new(dag);
        let mut followed = Vec::with_capacity(dag.len());
        let mut refused = Vec::new();
        while !game.is_finished() {
            let mut chosen = None;
            while refused.len() < Keeper::ASKED
                && let Some(Reverse((_, task))) = eligible.pop()
            {
                match game.standing(task) {
                    Standing::Executed => (), // It went by the keeper's own order.
                    _ if self.may(task) => {
                        chosen = Some(task);
                        break;
                    }
                    _ => refused.push(task),
                }
            }
            eligible.extend(refused.drain(..).map(entry));
            let by_order = || {
                let mut next = self.next_by_order();
                next.find(|&t| game.standing(t) == Standing::Eligible)
                    .expect("the first one is eligible")
            };
            let task = chosen.unwrap_or_else(by_order);
            self.start(task);
            // One at a time: nothing runs when the next one is chosen, so that the keeper's own first may always
            // start.
            self.finish(task);
            followed.push(task);
            (game.execute(task, |child| eligible.push(entry(child))))
                .expect("whatever is chosen is eligible");
        }
        followed
    }
}
