//! Policies by name, as the simulator plays them. Knows no world.

use super::batched::Batches;
use super::orders::order_of;
use crate::cli::{Contender, Policy};
use cairn_dag::{Dag, TaskId};
use clap::ValueEnum;
use std::sync::Arc;

/// A policy for the simulator. `ic` is the order of the plan; `seconds` are the durations a scheduler would know.
pub(crate) fn simulated(
    contender: Contender,
    dag: &Dag,
    seconds: Option<&[f64]>,
    ic: &[TaskId],
) -> cairn_sim::Policy {
    use cairn_sim::Policy as Rule;
    match contender {
        Contender::Listed(Policy::Ic) => Rule::order("ic", ic),
        Contender::Listed(Policy::Fifo) => Rule::fifo(),
        Contender::Listed(Policy::Lifo) => Rule::lifo(),
        // The list that `plan` prints and `prio` writes, not a number asked anew at every moment: a task that the list
        // has later, because it was not eligible then, may have more children.
        Contender::Listed(listed) => Rule::order(&name(&listed), &order_of(listed, dag, seconds)),
        Contender::Batch => Rule::batched("batch", ic, Arc::new(Batches::new(ic))),
        Contender::Random => Rule::random(),
        Contender::Heft => Rule::heft(),
        Contender::Peft => Rule::peft(),
    }
}

/// The name on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no policy is hidden");
    value.get_name().to_owned()
}
