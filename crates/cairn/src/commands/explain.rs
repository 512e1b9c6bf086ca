//! `cairn explain`: blocks, super-dag, ranks, and which theorem applied or failed.

use super::plan::{how, proof_json, verdict_words};
use super::worth;
use crate::called;
use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::layout;
use crate::limits;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::{Flow, TaskId};
use cairn_plan::{Plan, Word, Work};
use cairn_theory::chain::Rank;
use cairn_theory::linearize::{Linearization, Obstacle, linearize};
use cairn_theory::profile::area;
use cairn_theory::split::BlockId;
use cairn_theory::survey::Survey;
use serde_json::{Value, json};
use std::collections::HashMap;

/// How many blocks of a list are shown to people.
const SHOWN: usize = 12;

pub(crate) fn run(settings: &cli::Explain, out: &Output) -> Result<(), Failure> {
    let clock = limits::clock(&settings.limits)?;
    let read = input::read_rest(&settings.input, &settings.executed, out)?;
    let (flow, dag) = (&read.flow, read.flow.dag());
    let progress = out.progress("explaining");
    // Every block is looked at, also where linearization cannot succeed any more.
    let plan_limits = cairn_plan::Limits {
        theory: Default::default(),
        ..limits::effort(&settings.limits)
    };
    let stop = clock.stop_planning(dag);
    let linearized = linearize(dag, &plan_limits.theory, &mut Work::until(&stop));
    let mut plan = cairn_plan::plan_after(dag, &linearized, &plan_limits, &stop);
    if !clock.stop()() {
        plan.checked = cairn_plan::foresee(flow, &plan);
    }
    drop(progress);
    let verdict = match plan.word {
        Word::Optimal => "optimal",
        Word::NoneExists => "none-exists",
        Word::Open => "open",
    };
    let (survey, proof) = match &linearized {
        Ok(found) => (&found.proof.survey, Some(found)),
        Err(failure) => (&failure.survey, None),
    };
    let kinds = kinds(survey);
    let super_arcs: usize = survey
        .blocks()
        .blocks()
        .map(|b| survey.blocks().super_arcs(b).count())
        .sum();
    let mut value = json!({
        "file": read.name, "format": read.format.name(), "tasks": dag.len(), "arcs": dag.arc_count(),
        "skeleton_removed": survey.removed(), "composite": survey.blocks().is_composite(),
        "blocks": survey.blocks().len(),
        "kinds": kinds.iter().map(|(kind, count, _)| json!({ "kind": kind, "count": count })).collect::<Vec<_>>(),
        "super_dag": { "blocks": survey.blocks().len(), "arcs": super_arcs },
        "ranks": proof.map(|p| ranks_json(p)),
        "obstacle": plan.obstacle.as_ref().map(|o| obstacle_words(o, survey, flow)),
        "search": search_json(&plan),
        "verdict": verdict, "proof": proof_json(&plan, flow),
    });
    if let Some(labels) = called::labels_for(out, flow) {
        value["labels"] = labels;
    }
    read.done.tell(&mut value);
    if limits::is_interrupted() {
        value["interrupted"] = json!(true);
        out.remark("interrupted: this is what was found so far");
    }
    let width = layout::width();
    let counts = format!(
        "{}, {}",
        counted(dag.len(), "task"),
        counted(dag.arc_count(), "arc")
    );
    let mut text = layout::heading(&read.name, &counts, width);
    let short = worth::verdict(verdict, &how(verdict, &plan), share(&plan));
    text += &layout::hanging("In short: ", &short, width);
    text += &read.done.row();
    text += &blocks_text(survey, &kinds, super_arcs, flow);
    if let Some(found) = proof {
        text += &ranks_text(found);
    }
    if let Some(obstacle) = &plan.obstacle {
        text += "Linearization (Theorem 7): fails\n";
        text += &layout::hanging("  ", &obstacle_words(obstacle, survey, flow), width);
    }
    text += &search_text(&plan);
    text += &layout::hanging("Verdict: ", &verdict_words(verdict, &plan, flow), width);
    out.answer(&value, &text)
}

/// The part of the ready tasks that no order can exceed.
fn share(plan: &Plan) -> f64 {
    match area(&plan.bound) {
        0 => 1.0,
        most => area(&plan.profile) as f64 / most as f64,
    }
}

/// Kinds of blocks with how many there are and one of them, most first.
fn kinds(survey: &Survey<'_>) -> Vec<(String, usize, BlockId)> {
    let mut count: HashMap<usize, (usize, BlockId)> = HashMap::new();
    for block in survey.blocks().blocks() {
        let entry = count.entry(survey.kind_index(block)).or_insert((0, block));
        entry.0 += 1;
    }
    let mut kinds: Vec<(String, usize, BlockId)> = (count.into_iter())
        .map(|(kind, (count, block))| (survey.kinds()[kind].to_string(), count, block))
        .collect();
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    kinds
}

/// The first of some tasks, not to be broken.
fn names(flow: &Flow, tasks: &[TaskId]) -> String {
    let more = if tasks.len() > 4 { ", …" } else { "" };
    format!("{}{more}", called::unbroken(flow, tasks, 4))
}

/// A line of words, folded where the width asks for it.
fn paragraph(words: &str) -> String {
    layout::hanging_at("", 4, words, layout::width())
}

fn blocks_text(
    survey: &Survey<'_>,
    kinds: &[(String, usize, BlockId)],
    super_arcs: usize,
    flow: &Flow,
) -> String {
    let blocks = survey.blocks();
    let mut text = match survey.removed() {
        0 => String::new(),
        n => paragraph(&format!(
            "Skeleton: {} left out, as longer paths say the same",
            counted(n, "shortcut arc")
        )),
    };
    text += &format!(
        "Blocks: {} of {}\n",
        blocks.len(),
        counted(kinds.len(), "kind")
    );
    for (kind, count, example) in kinds.iter().take(SHOWN) {
        let from = names(flow, survey.order(*example));
        let to = names(flow, blocks.sinks(*example));
        let lead = format!("  {count:>7} × {kind:14} such as ");
        text += &layout::hanging_at(&lead, 14, &format!("{from} → {to}"), layout::width());
    }
    if kinds.len() > SHOWN {
        text += &format!(
            "  … and {} (--json lists all)\n",
            counted(kinds.len() - SHOWN, "more kind")
        );
    }
    let cyclic = if blocks.is_composite() {
        "acyclic: the dag is composite"
    } else {
        "cyclic: the dag is not composite"
    };
    text += &paragraph(&format!(
        "Super-dag: {}, {}, {cyclic}",
        counted(blocks.len(), "block"),
        counted(super_arcs, "arc")
    ));
    text
}

fn ranks_json(found: &Linearization<'_>) -> Value {
    let proof = &found.proof;
    (0..proof.ranks.len())
        .map(|r| {
            let blocks = proof.blocks_of(r);
            let merged = matches!(proof.ranks[r], Rank::Merged { .. });
            let kind = blocks.first().map(|&b| proof.survey.kind(b).to_string());
            json!({ "blocks": blocks.len(), "first_kind": kind, "merged": merged })
        })
        .collect()
}

fn ranks_text(found: &Linearization<'_>) -> String {
    let proof = &found.proof;
    let mut text = format!(
        "Ranks under ▷: {}, executed one after the other\n",
        proof.ranks.len()
    );
    for r in 0..proof.ranks.len().min(SHOWN) {
        let blocks = proof.blocks_of(r);
        let how = if matches!(proof.ranks[r], Rank::Merged { .. }) {
            ", merged by largest increments"
        } else {
            ""
        };
        let mut kinds: Vec<String> = blocks
            .iter()
            .take(1000)
            .map(|&b| proof.survey.kind(b).to_string())
            .collect();
        kinds.sort();
        kinds.dedup();
        let more = if kinds.len() > 3 { ", …" } else { "" };
        kinds.truncate(3);
        let words = format!(
            "{}: {}{more}{how}",
            counted(blocks.len(), "block"),
            kinds.join(", ")
        );
        text += &layout::hanging(&format!("  {:>3}  ", r + 1), &words, layout::width());
    }
    if proof.ranks.len() > SHOWN {
        text += &format!(
            "  … and {}\n",
            counted(proof.ranks.len() - SHOWN, "more rank")
        );
    }
    text
}

fn search_json(plan: &Plan) -> Value {
    let Some(search) = &plan.search else {
        return Value::Null;
    };
    let methods: Vec<Value> = (search.methods.iter())
        .map(|(name, count)| json!({ "method": name, "components": count }))
        .collect();
    json!({
        "hull_vertices": search.vertices, "hull_complete": search.is_hull_complete,
        "components": search.components.0, "different_components": search.components.1, "methods": methods,
    })
}

fn search_text(plan: &Plan) -> String {
    let Some(search) = &plan.search else {
        return String::new();
    };
    let whole = if search.is_hull_complete {
        ""
    } else {
        " (incomplete: time ran out)"
    };
    let methods: Vec<String> = search
        .methods
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let hull = match search.vertices {
        0 => format!("Hull: no strict vertex{whole}"),
        1 => format!("Hull: 1 strict vertex{whole}; every IC-optimal order passes through it"),
        n => format!(
            "Hull: {n} strict vertices{whole}; every IC-optimal order passes through each of them"
        ),
    };
    let components = format!(
        "Components between vertices: {}, {} different; decided by: {}",
        search.components.0,
        search.components.1,
        methods.join(", ")
    );
    paragraph(&hull) + &paragraph(&components)
}

/// The same for a plan that keeps no survey: the dag is cut into its blocks once more.
pub(crate) fn blocks_in_the_way(obstacle: &Obstacle, flow: &Flow) -> String {
    let limits = cairn_plan::Limits::quick().theory;
    match linearize(flow.dag(), &limits, &mut Work::unlimited()) {
        Err(failure) => obstacle_words(obstacle, &failure.survey, flow),
        Ok(found) => obstacle_words(obstacle, &found.proof.survey, flow),
    }
}

/// The obstacle with the names of tasks and blocks.
fn obstacle_words(obstacle: &Obstacle, survey: &Survey<'_>, flow: &Flow) -> String {
    let block = |b: &BlockId| {
        let kind = survey.kind(*b);
        format!(
            "{kind} ({} → {})",
            names(flow, survey.order(*b)),
            names(flow, survey.blocks().sinks(*b))
        )
    };
    match obstacle {
        Obstacle::NotComposite { tasks } => {
            format!(
                "blocks feed each other in a cycle, by the tasks {}",
                names(flow, tasks)
            )
        }
        Obstacle::NoOrder { block: b } => format!(
            "the block {} admits no IC-optimal order of its own",
            block(b)
        ),
        Obstacle::TooHard {
            block: b,
            sources,
            sinks,
        } => {
            format!(
                "the block {} of {} and {} is too hard for exact search",
                block(b),
                counted(*sources, "source"),
                counted(*sinks, "sink")
            )
        }
        Obstacle::Incomparable { first, second } => {
            format!(
                "neither ▷ the other, and their sum admits no IC-optimal order: {} and {}",
                block(first),
                block(second)
            )
        }
        Obstacle::TestTooLarge { first, second } => {
            format!(
                "the ▷ test between {} and {} is too large",
                block(first),
                block(second)
            )
        }
        Obstacle::AgainstRank { from, to, by } => {
            format!(
                "{} must come before {} but has lower priority, by task {}",
                block(from),
                block(to),
                flow.shown(*by)
            )
        }
        Obstacle::AgainstMerge { from, to, by } => {
            format!(
                "{} and {} would have to be merged, but task {} leads from one to the other",
                block(from),
                block(to),
                flow.shown(*by)
            )
        }
    }
}
