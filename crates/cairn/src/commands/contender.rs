//! Policies by name, as the simulator plays them. Knows no world.

use super::orders::{self, Orders};
use crate::cli::{Contender, Policy, Wanted};
use crate::failure::Failure;
use cairn_dag::TaskId;
use clap::ValueEnum;
use std::sync::Arc;

/// Whether a contender builds on a plan.
pub(crate) fn needs_plan(contender: Contender) -> bool {
    match contender {
        Contender::Listed(Wanted::Given(policy)) => orders::needs_plan(policy),
        Contender::Listed(Wanted::Auto) | Contender::Batch | Contender::Aware => true,
        Contender::Random | Contender::Heft | Contender::Peft => false,
    }
}

/// Refuses a policy that is named twice: results are told by name. The simulator would refuse it too, but after the plan.
pub(crate) fn check_names(contenders: &[Contender]) -> Result<(), Failure> {
    let mut twice = (0..contenders.len()).filter(|&i| contenders[..i].contains(&contenders[i]));
    match twice.next() {
        None => Ok(()),
        Some(i) => {
            let name = name(&contenders[i]);
            let error = cairn_sim::SimulateError::DuplicatePolicy { name };
            Err(Failure::usage(
                error.to_string(),
                "name each of --policies once",
            ))
        }
    }
}

/// A policy for the simulator; `auto` is the order that was chosen.
pub(crate) fn simulated(
    contender: Contender,
    orders: &Orders<'_>,
    auto: &[TaskId],
) -> cairn_sim::Policy {
    use cairn_sim::Policy as Rule;
    match contender {
        Contender::Listed(Wanted::Auto) => Rule::order("auto", auto),
        // Not as lists: who becomes eligible first is known only in a run.
        Contender::Listed(Wanted::Given(Policy::Fifo)) => Rule::fifo(),
        Contender::Listed(Wanted::Given(Policy::Lifo)) => Rule::lifo(),
        // The list that `plan` prints and `prio` writes, not a number asked anew at every moment: a task that the list
        // has later, because it was not eligible then, may have more children.
        Contender::Listed(Wanted::Given(listed)) => Rule::order(&name(&listed), &orders.of(listed)),
        Contender::Batch => {
            let ic = orders.of(Policy::Ic);
            Rule::batched("batch", &ic, Arc::new(cairn_sim::BestBatches::new(&ic)))
        }
        Contender::Random => Rule::random(),
        Contender::Heft => Rule::heft(),
        Contender::Peft => Rule::peft(),
        Contender::Aware => {
            Rule::aware("aware", &orders.of(Policy::Ic), cairn_sim::Knows::default())
        }
    }
}

/// The name on the command line.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("no policy is hidden");
    value.get_name().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_plan::policy::Rule;

    #[test]
    fn rules_and_policies_have_the_same_names() {
        for rule in Rule::ALL {
            assert_eq!(name(&orders::policy_of(rule)), rule.name());
        }
    }
}
