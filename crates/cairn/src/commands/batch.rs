//! `cairn batch`: the best r eligible tasks now.

use crate::called;
use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::limits;
use crate::output::Output;
use cairn_dag::{Flow, TaskId};
use cairn_plan::batch::{BatchState, Batcher, Effort, Quality, StateError, look_ahead};
use serde_json::json;

pub(crate) fn run(settings: &cli::Batch, out: &Output) -> Result<(), Failure> {
    let clock = limits::clock(&settings.limits)?;
    let read = input::read(&settings.input)?;
    out.warnings(&read.report);
    let flow = &read.flow;
    let executed = executed(&settings.executed, flow)?;
    let state =
        BatchState::with_executed(flow.dag(), &executed).map_err(|e| not_closed(&e, flow))?;
    let plan = cairn_plan::plan(
        flow.dag(),
        &limits::effort(&settings.limits),
        &clock.stop_planning(flow.dag()),
    );
    let effort = match (settings.fast, settings.thorough) {
        (true, _) => Effort::fast(),
        (_, true) => Effort::thorough(),
        _ => Effort::default(),
    };
    let mut batcher = Batcher::new(state, &plan.order);
    let names = |tasks: &[TaskId]| -> Vec<&str> { tasks.iter().map(|&t| flow.name(t)).collect() };
    let before = batcher.state().eligible().len();
    if let [requests] = settings.requests[..] {
        let batch = batcher.choose(requests, &effort);
        let after = before - batch.chosen.len() + batch.gain;
        let bound = before - batch.chosen.len() + batch.bound;
        let quality = match batch.quality {
            Quality::Exact => "exact",
            Quality::Gap => "gap",
            Quality::Factor => "factor",
        };
        let mut value = json!({
            "chosen": names(&batch.chosen), "eligible_before": before, "eligible_after": after,
            "bound": bound, "quality": quality,
        });
        if let Some(labels) = called::labels(flow, &batch.chosen) {
            value["labels"] = labels;
        }
        let words = match batch.quality {
            Quality::Exact => "no other choice does better".to_owned(),
            Quality::Gap => format!("no choice leaves more than {bound}"),
            Quality::Factor => {
                format!("at least half of the best gain; no choice leaves more than {bound}")
            }
        };
        let line = |&t: &TaskId| format!("{}\n", flow.shown(t));
        let text: String = batch.chosen.iter().map(line).collect();
        out.remark(&format!(
            "{before} eligible before, {after} after ({words})"
        ));
        return out.answer(&value, &text);
    }
    let ahead = look_ahead(&batcher, &settings.requests, &effort);
    let batches: Vec<_> = ahead.batches.iter().map(|b| names(b)).collect();
    let mut value = json!({
        "batches": batches, "eligible_before": before, "eligible_after": ahead.eligible, "quality": "heuristic",
    });
    if let Some(labels) = called::labels(flow, &ahead.batches.concat()) {
        value["labels"] = labels;
    }
    let mut text = String::new();
    for (i, (batch, after)) in ahead.batches.iter().zip(&ahead.eligible).enumerate() {
        let shown = called::list(flow, batch, batch.len());
        text += &format!("{}: {shown} ({after} eligible after)\n", i + 1);
    }
    out.answer(&value, &text)
}

/// The executed tasks: names with commas, or @FILE with one a line.
fn executed(list: &str, flow: &Flow) -> Result<Vec<TaskId>, Failure> {
    let names: Vec<String> = match list.strip_prefix('@') {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| {
                Failure::usage(
                    format!("cannot read {path}: {e}"),
                    "give --executed @FILE with one task a line",
                )
            })?;
            text.lines().map(str::to_owned).collect()
        }
        None => list.split(',').map(str::to_owned).collect(),
    };
    let names = names.iter().map(|n| n.trim()).filter(|n| !n.is_empty());
    names
        .map(|name| {
            called::meant(flow, "--executed", name)?.ok_or_else(|| {
                Failure::usage(
                    format!("--executed names '{name}', which is no task of the input"),
                    "give names or labels, which are case-sensitive; one with a comma in it goes into a file: --executed @FILE",
                )
            })
        })
        .collect()
}

fn not_closed(error: &StateError, flow: &Flow) -> Failure {
    match error {
        StateError::NotClosed { task, parent } => Failure::usage(
            format!(
                "'{}' is said to be executed, but its parent '{}' is not",
                flow.shown(*task),
                flow.shown(*parent)
            ),
            "list every executed task: a set of executed tasks contains all parents of its tasks",
        ),
        StateError::Standing { .. } => Failure::usage(error.to_string(), ""),
    }
}
