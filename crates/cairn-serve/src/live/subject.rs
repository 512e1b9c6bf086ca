//! What a run is of, as a page knows it: a flow, or a family that is never written down. Knows no state.

use cairn_dag::{Dag, Flow};
use cairn_engine::{Frozen, Position, Task};
use cairn_theory::game::Standing;

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

/// What an order gives: eligible tasks after 0, 1, 2… executed ones.
pub fn profile(subject: &dyn Subject, order: impl Iterator<Item = Task>) -> Vec<u32> {
    let mut position = subject.position();
    let eligible = |p: &dyn Position| p.count(Standing::Eligible).unwrap_or(0) as u32;
    let mut all = vec![eligible(&*position)];
    let mut opened = Vec::new();
    for task in order {
        if position.execute(task, &mut opened).is_err() {
            break;
        }
        opened.clear();
        all.push(eligible(&*position));
    }
    all
}
