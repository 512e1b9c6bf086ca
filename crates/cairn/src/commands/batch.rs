//! `cairn batch`: the best r eligible tasks now.

use crate::called;
use crate::cli;
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::limits::Limits;
use crate::output::Output;
use cairn_dag::{Flow, TaskId};
use cairn_plan::Work;
use cairn_plan::batch::{BatchEffort, BatchState, Batcher, Quality, look_ahead};
use serde_json::{Value, json};

/// How many tasks are asked for, of what, checked.
pub(crate) struct Settings {
    flags: cli::Batch,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Batch) -> Result<Settings, Failure> {
        Named::new(&flags.input, &flags.executed).checked()?;
        let limits = Limits::new(&flags.limits)?;
        Ok(Settings { flags, limits })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let Settings { flags, limits } = settings;
    let clock = limits.clock();
    let mut read = input::read_rest(&flags.input, &flags.executed, out)?;
    // Before the plan: an order with these in it would keep places for tasks that nobody asks for.
    let apart = leave_out(&mut read, out)?;
    let flow = &read.flow;
    // Half of the time at the most: the plan only breaks ties, and the batch must not be left without any.
    let plan = cairn_plan::plan(
        flow.dag(),
        &limits.effort(),
        &mut Work::until(&clock.half().stop_planning(flow.dag())),
    );
    let stop = clock.stop();
    let work = &mut Work::until(&stop);
    let effort = match (flags.fast, limits.thorough) {
        (true, _) => BatchEffort::fast(),
        (_, true) => BatchEffort::thorough(),
        _ => BatchEffort::default(),
    };
    let mut batcher = Batcher::new(BatchState::new(flow.dag()), &plan.order);
    let (mut value, text) = match flags.requests[..] {
        [requests] => one(&mut batcher, requests, &effort, work, flow, out),
        _ => several(&batcher, &flags.requests, &effort, work, flow),
    };
    read.done.tell(&mut value);
    if !apart.is_empty() {
        value["left_out"] = json!(apart);
    }
    out.answer(&value, &text)
}

fn names<'f>(flow: &'f Flow, tasks: &[TaskId]) -> Vec<&'f str> {
    tasks.iter().map(|&t| flow.name(t)).collect()
}

/// One batch, with what is known of its quality.
fn one(
    batcher: &mut Batcher<'_>,
    requests: usize,
    effort: &BatchEffort,
    work: &mut Work<'_>,
    flow: &Flow,
    out: &Output,
) -> (Value, String) {
    let before = batcher.state().eligible().len();
    let batch = batcher.choose_until(requests, effort, work);
    let after = before - batch.chosen.len() + batch.gain;
    // Both count what is eligible after the batch: the chosen are gone, and what they open has come.
    let bound = before - batch.chosen.len() + batch.bound;
    let (quality, words) = match batch.quality {
        Quality::Exact => ("exact", "no other choice does better".to_owned()),
        Quality::Gap => ("gap", format!("no choice leaves more than {bound}")),
        Quality::Factor => (
            "factor",
            format!("at least half of the best gain; no choice leaves more than {bound}"),
        ),
    };
    let mut value = json!({
        "chosen": names(flow, &batch.chosen), "eligible_before": before, "eligible_after": after,
        "bound": bound, "quality": quality,
    });
    if let Some(labels) = called::labels(flow, &batch.chosen) {
        value["labels"] = labels;
    }
    out.remark(&format!(
        "{before} eligible before, {after} after ({words})"
    ));
    let line = |&t: &TaskId| format!("{}\n", flow.shown(t));
    (value, batch.chosen.iter().map(line).collect())
}

/// Several batches one after the other.
fn several(
    batcher: &Batcher<'_>,
    requests: &[usize],
    effort: &BatchEffort,
    work: &mut Work<'_>,
    flow: &Flow,
) -> (Value, String) {
    let before = batcher.state().eligible().len();
    let ahead = look_ahead(batcher, requests, effort, work);
    let batches: Vec<_> = ahead.batches.iter().map(|b| names(flow, b)).collect();
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
    (value, text)
}

/// Takes out what the engine starts by itself, such as DAGMan's FINAL node: it is not for workers that ask. Gives the
/// names.
fn leave_out(read: &mut Read, out: &Output) -> Result<Vec<String>, Failure> {
    let flow = &read.flow;
    let is_apart: Vec<bool> = flow.dag().tasks().map(|t| flow.is_apart(t)).collect();
    let apart: Vec<TaskId> = flow.dag().tasks().filter(|&t| flow.is_apart(t)).collect();
    if apart.is_empty() {
        return Ok(Vec::new());
    }
    out.remark(&format!(
        "left out, as DAGMan starts FINAL, PROVISIONER and SERVICE nodes by itself: {}",
        called::list(flow, &apart, apart.len())
    ));
    let names = apart.iter().map(|&t| flow.name(t).to_owned()).collect();
    read.flow = (flow.rest(&is_apart)).map_err(|e| Failure::usage(e.to_string(), ""))?;
    Ok(names)
}
