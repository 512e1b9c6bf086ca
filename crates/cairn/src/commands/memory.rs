//! `cairn plan --memory-cap N`: how many results are open, and orders under a cap on them. Knows no bytes and no verdict.

use crate::failure::Failure;
use crate::plural::counted;
use cairn_dag::{Dag, TaskId};
use cairn_plan::cap::{self, Capped};
use cairn_theory::memory::memory_cost;

/// An amount in words: `40 open results`.
pub(crate) fn words(open: u64) -> String {
    counted(usize::try_from(open).unwrap_or(usize::MAX), "open result")
}

/// The most results that are open at any step of an order.
pub(crate) fn peak(dag: &Dag, order: &[TaskId]) -> u64 {
    memory_cost(dag, order) as u64
}

/// Refuses a cap that no order can keep to, as some task alone needs more.
pub(crate) fn check(dag: &Dag, cap: u64) -> Result<(), Failure> {
    let least = cap::least_possible(dag);
    if cap >= least {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "no order stays under a cap of {}: some task alone needs {} open",
            results(cap),
            results(least)
        ),
        format!("give at least --memory-cap {least}"),
    ))
}

/// An order of the largest area found that stays under the cap, or why none is.
pub(crate) fn under_cap(dag: &Dag, order: &[TaskId], cap: u64) -> Result<Capped, Failure> {
    cap::under_cap(dag, order, cap).ok_or_else(|| {
        // Under a cap of nothing it takes what costs least at every step.
        let leanest = cap::follow(dag, order, Some(0)).peak;
        Failure::usage(
            format!(
                "found no order under a cap of {} (not a proof that there is none)",
                results(cap)
            ),
            format!("the leanest order found needs --memory-cap {leanest}"),
        )
    })
}

fn results(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "result")
}
