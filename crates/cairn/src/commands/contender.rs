//! Policies by name, as the simulator plays them. Knows no world.

use super::batched::Batches;
use crate::cli::{Contender, Policy};
use cairn_dag::{Flow, TaskId};
use cairn_plan::policy;
use clap::ValueEnum;
use std::sync::Arc;

/// A policy for the simulator. `ic` is the order of the plan; `seconds` are the durations a scheduler would know.
pub(crate) fn simulated(
    contender: Contender,
    flow: &Flow,
    seconds: Option<&[f64]>,
    ic: &[TaskId],
) -> cairn_sim::Policy {
    use cairn_sim::Policy as Rule;
    let dag = flow.dag();
    match contender {
        Contender::Listed(Policy::Ic) => Rule::order("ic", ic),
        Contender::Listed(Policy::Fifo) => Rule::fifo(),
        Contender::Listed(Policy::Lifo) => Rule::lifo(),
        Contender::Listed(Policy::CriticalPath) => {
            Rule::order("critical-path", &policy::critical_path(dag, seconds))
        }
        // The list that `plan` prints and `prio` writes, not the number of children asked anew at every moment: a task
        // that the list has later, because it was not eligible then, may have more children.
        Contender::Listed(Policy::Outdegree) => Rule::order("outdegree", &policy::outdegree(dag)),
        Contender::Listed(Policy::Memory) => Rule::order("memory", &policy::memory(dag)),
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
