//! `cairn plan --durations`: an order by executed seconds, and how good it is. Knows no game by steps.

use super::orders::tied;
use super::worth;
use crate::cli;
use crate::failure::Failure;
use crate::plural::first_few;
use cairn_dag::{Dag, Flow, TaskId};
use cairn_plan::{Hull, OverWork, Verdict, WeightError, Weights, Work, weighted_order};
use cairn_theory::split::Decomposition;
use serde_json::{Value, json};

/// An order by executed seconds, and what it takes to judge it.
pub(crate) struct Weighted {
    order: Vec<TaskId>,
    weights: Weights,
    /// Units of the weights that make a second.
    scale: f64,
    hull: Hull,
}

impl Weighted {
    pub(crate) fn new(flow: &Flow, work: &mut Work<'_>) -> Result<Weighted, Failure> {
        let dag = flow.dag();
        let seconds = all_seconds(flow)?;
        let (weights, scale) =
            Weights::from_seconds(dag.len(), &seconds).map_err(|e| refused(&e, flow))?;
        let (order, hull) =
            weighted_order(dag, &weights, work).map_err(|e| Failure::usage(e.to_string(), ""))?;
        Ok(Weighted {
            order,
            weights,
            scale,
            hull,
        })
    }

    /// The order, with ties broken as asked.
    pub(crate) fn order(
        &self,
        flow: &Flow,
        choices: cli::Choices,
        blocks: &Decomposition,
    ) -> Vec<TaskId> {
        // Ties after the order: what is equally good by seconds is not by steps.
        tied(flow, self.order.clone(), choices, &self.weights, blocks)
    }

    /// How good an order is, this one or another.
    pub(crate) fn judge(&self, dag: &Dag, order: &[TaskId]) -> OverTime {
        OverTime {
            over: OverWork::new(dag, order, &self.weights, &self.hull),
            scale: self.scale,
        }
    }
}

/// The duration of every task, or which tasks have none.
fn all_seconds(flow: &Flow) -> Result<Vec<f64>, Failure> {
    let without: Vec<TaskId> = (flow.dag().tasks())
        .filter(|&t| flow.seconds(t).is_none())
        .collect();
    if without.is_empty() {
        return Ok(flow.dag().tasks().filter_map(|t| flow.seconds(t)).collect());
    }
    let named = (without.iter()).map(|&task| format!("'{}'", flow.shown(task)));
    let (tasks, many) = (flow.dag().len(), without.len());
    let named = first_few(named, many);
    Err(Failure::usage(
        format!(
            "--durations needs a duration for every task, but {many} of {tasks} have none: {named}"
        ),
        "give each of them one (seconds = … in a native flow file), or leave out --durations",
    ))
}

fn refused(error: &WeightError, flow: &Flow) -> Failure {
    let message = match error {
        WeightError::BadSeconds { task, seconds } => {
            let name = flow.shown(*task);
            format!("task '{name}' has the duration {seconds}")
        }
        other => other.to_string(),
    };
    Failure::usage(message, "give a finite number of seconds, not below zero")
}

/// What an order reaches over executed seconds.
pub(crate) struct OverTime {
    over: OverWork,
    scale: f64,
}

impl OverTime {
    fn seconds(&self, work: u128) -> f64 {
        work as f64 / self.scale
    }

    fn ratio(&self) -> f64 {
        worth::share(self.over.area(), self.over.area_bound())
    }

    fn verdict(&self) -> Verdict {
        match self.over.is_optimal() {
            true => Verdict::Optimal,
            false => Verdict::Open,
        }
    }

    pub(crate) fn json(&self, arrays: bool) -> Value {
        let (gap, moment) = self.over.largest_gap();
        let mut value = json!({
            "verdict": self.verdict().name(), "seconds": self.seconds(self.over.total.into()),
            "area": self.seconds(self.over.area()), "area_bound": self.seconds(self.over.area_bound()),
            "area_ratio": self.ratio(),
            "largest_gap": { "seconds": self.seconds(moment.into()), "gap": gap },
        });
        if arrays {
            value["made_eligible"] = self.steps(&self.over.reached);
            value["bound"] = self.steps(&self.over.bound);
        }
        value
    }

    /// Pairs [executed seconds, tasks made eligible by then], one for each moment at which there are more.
    fn steps(&self, moments: &[u64]) -> Value {
        let pair = |(moment, made): (u64, u64)| json!([self.seconds(moment.into()), made]);
        self.over.steps(moments).into_iter().map(pair).collect()
    }

    pub(crate) fn text(&self) -> String {
        let (gap, moment) = self.over.largest_gap();
        let seconds = |work: u128| round(self.seconds(work));
        match self.verdict() {
            Verdict::Optimal => {
                "optimal, by the hull over seconds: no order has made more tasks eligible after any number of executed seconds".to_owned()
            }
            _ => format!(
                "open: area {} of at most {} task-seconds ({:.2} %), largest gap {gap} after {} s",
                seconds(self.over.area()),
                seconds(self.over.area_bound()),
                100.0 * self.ratio(),
                seconds(moment.into())
            ),
        }
    }
}

/// Four digits after the point tell enough.
fn round(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}
