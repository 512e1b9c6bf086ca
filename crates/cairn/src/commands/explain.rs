//! `cairn explain`: blocks, super-dag, ranks, and which theorem applied or failed.

use super::reasons::{how, proof_json, verdict_words};
use super::remote;
use super::worth;
use crate::called;
use crate::cli;
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::layout;
use crate::limits::{self, Limits};
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::Flow;
use cairn_plan::{Plan, Work};
use cairn_serve::client::Caller;
use cairn_theory::linearize::Proof;
use cairn_theory::profile::area;
use cairn_theory::ranks::Rank;
use cairn_theory::recognise::Kind;
use cairn_theory::split::BlockId;
use cairn_theory::survey::Survey;
use serde_json::{Value, json};

/// How many blocks of a list are shown to people.
// Chosen by eye: a screen holds both lists and the verdict.
const SHOWN: usize = 12;

/// What to explain, checked.
pub(crate) struct Settings {
    flags: cli::Explain,
    /// The server that is asked why a task waits, where it is asked.
    server: Option<Caller>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Explain) -> Result<Settings, Failure> {
        Named::new(&flags.input, &flags.executed).checked()?;
        let server = flags.live.as_ref().zip(flags.token_file.as_ref());
        let server = server.map(|(url, token_file)| {
            remote::caller(&cli::Server {
                url: url.clone(),
                token_file: token_file.clone(),
                fingerprint: flags.fingerprint.clone(),
                ca: flags.ca.clone(),
            })
        });
        Ok(Settings {
            server: server.transpose()?,
            limits: Limits::new(&flags.limits)?,
            flags,
        })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let Settings {
        flags,
        server,
        limits,
    } = settings;
    if let Some(server) = server {
        let task = flags.input.file.to_string_lossy();
        return remote::why(server, &task, out);
    }
    let clock = limits.clock();
    let read = input::read_rest(&flags.input, &flags.executed, out)?;
    let (flow, dag) = (&read.flow, read.flow.dag());
    let progress = out.progress("explaining");
    // Every block is looked at, also where linearization cannot succeed any more.
    let effort = cairn_plan::PlanEffort {
        theory: Default::default(),
        ..limits.effort()
    };
    let mut plan = cairn_plan::plan(dag, &effort, &mut Work::until(&clock.stop_planning(dag)));
    // What the checker would prove costs time of its own: without it the verdict stands as searched.
    if !clock.stop()() {
        plan.foresee(flow);
    }
    drop(progress);
    let report = Report {
        kinds: plan.survey().census(),
        read: &read,
        plan: &plan,
    };
    let mut value = report.json();
    if let Some(labels) = called::labels_for(out, flow) {
        value["labels"] = labels;
    }
    if limits::is_interrupted() {
        value["interrupted"] = json!(true);
        out.remark("interrupted: this is what was found so far");
    }
    out.answer(&value, &report.text())
}

/// Everything that is printed about the reasons.
struct Report<'a> {
    read: &'a Read,
    plan: &'a Plan<'a>,
    /// Kinds of blocks with how many there are and one of them, most first.
    kinds: Vec<(&'a Kind, usize, BlockId)>,
}

impl Report<'_> {
    fn json(&self) -> Value {
        let (plan, flow) = (self.plan, &self.read.flow);
        let (dag, survey) = (flow.dag(), plan.survey());
        let kind = |(kind, count, _): &(&Kind, usize, BlockId)| json!({ "kind": kind.to_string(), "count": count });
        let mut value = json!({
            "file": self.read.name, "format": self.read.format.name(), "tasks": dag.len(), "arcs": dag.arc_count(),
            "skeleton_removed": survey.removed(), "composite": survey.blocks().is_composite(),
            "blocks": survey.blocks().len(), "kinds": self.kinds.iter().map(kind).collect::<Vec<_>>(),
            "super_dag": { "blocks": survey.blocks().len(), "arcs": survey.blocks().super_arc_count() },
            "ranks": plan.theory.as_ref().ok().map(ranks_json),
            "obstacle": plan.obstacle_words(|tasks| called::few(flow, tasks)),
            "search": search_json(plan),
            "verdict": plan.verdict.name(), "proof": proof_json(plan, flow),
        });
        self.read.done.tell(&mut value);
        value
    }

    fn text(&self) -> String {
        let (plan, flow) = (self.plan, &self.read.flow);
        let (dag, verdict) = (flow.dag(), plan.verdict);
        let width = layout::width();
        let (tasks, arcs) = (counted(dag.len(), "task"), counted(dag.arc_count(), "arc"));
        let mut text = layout::heading(&self.read.name, &format!("{tasks}, {arcs}"), width);
        let share = worth::share(area(&plan.profile), area(&plan.bound));
        let short = worth::verdict(verdict, &how(verdict, plan), share);
        text += &layout::hanging("In short: ", &short, width);
        text += &self.read.done.row();
        text += &blocks_text(plan.survey(), &self.kinds, flow);
        if let Ok(proof) = &plan.theory {
            text += &ranks_text(proof);
        }
        if let Some(words) = plan.obstacle_words(|tasks| called::few_unbroken(flow, tasks)) {
            text += "Linearization (Theorem 7): fails\n";
            text += &layout::hanging("  ", &words, width);
        }
        text += &search_text(plan);
        text + &layout::hanging("Verdict: ", &verdict_words(verdict, plan, flow), width)
    }
}

/// A line of words, folded where the width asks for it.
fn paragraph(words: &str) -> String {
    layout::hanging_at("", 4, words, layout::width())
}

fn blocks_text(survey: &Survey<'_>, kinds: &[(&Kind, usize, BlockId)], flow: &Flow) -> String {
    let blocks = survey.blocks();
    let mut text = match survey.removed() {
        0 => String::new(),
        n => paragraph(&format!(
            "Skeleton: {} left out, as longer paths say the same",
            counted(n, "shortcut arc")
        )),
    };
    let many = counted(kinds.len(), "kind");
    text += &format!("Blocks: {} of {many}\n", blocks.len());
    for (kind, count, example) in kinds.iter().take(SHOWN) {
        let from = called::few_unbroken(flow, survey.order(*example));
        let to = called::few_unbroken(flow, blocks.sinks(*example));
        let kind = kind.to_string();
        let lead = format!("  {count:>7} × {kind:14} such as ");
        // What is folded hangs under the kinds, with a little more: counts and their sign take twelve columns.
        text += &layout::hanging_at(&lead, 14, &format!("{from} → {to}"), layout::width());
    }
    if kinds.len() > SHOWN {
        let more = counted(kinds.len() - SHOWN, "more kind");
        text += &format!("  … and {more} (--json lists all)\n");
    }
    let cyclic = match blocks.is_composite() {
        true => "acyclic: the dag is composite",
        false => "cyclic: the dag is not composite",
    };
    let arcs = counted(blocks.super_arc_count(), "arc");
    let blocks = counted(blocks.len(), "block");
    text + &paragraph(&format!("Super-dag: {blocks}, {arcs}, {cyclic}"))
}

fn ranks_json(proof: &Proof<'_>) -> Value {
    (0..proof.ranks.len())
        .map(|r| {
            let blocks = proof.blocks_of(r);
            let merged = matches!(proof.ranks[r], Rank::Merged { .. });
            let kind = blocks.first().map(|&b| proof.survey.kind(b).to_string());
            json!({ "blocks": blocks.len(), "first_kind": kind, "merged": merged })
        })
        .collect()
}

fn ranks_text(proof: &Proof<'_>) -> String {
    let ranks = proof.ranks.len();
    let mut text = format!("Ranks under ▷: {ranks}, executed one after the other\n");
    for r in 0..ranks.min(SHOWN) {
        let blocks = proof.blocks_of(r);
        let how = match proof.ranks[r] {
            Rank::Merged { .. } => ", merged by largest increments",
            _ => "",
        };
        // A rank may have a million blocks, and three kinds of them are named.
        let kinds = blocks.iter().take(1000).map(|&b| proof.survey.kind(b));
        let mut kinds: Vec<String> = kinds.map(ToString::to_string).collect();
        kinds.sort();
        kinds.dedup();
        let more = if kinds.len() > 3 { ", …" } else { "" };
        kinds.truncate(3);
        let (many, kinds) = (counted(blocks.len(), "block"), kinds.join(", "));
        let words = format!("{many}: {kinds}{more}{how}");
        text += &layout::hanging(&format!("  {:>3}  ", r + 1), &words, layout::width());
    }
    if ranks > SHOWN {
        text += &format!("  … and {}\n", counted(ranks - SHOWN, "more rank"));
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
    let whole = match search.is_hull_complete {
        true => "",
        false => " (incomplete: time ran out)",
    };
    let methods = search.methods.iter();
    let methods: Vec<String> = methods
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let hull = match search.vertices {
        0 => format!("Hull: no strict vertex{whole}"),
        1 => format!("Hull: 1 strict vertex{whole}; every IC-optimal order passes through it"),
        n => format!(
            "Hull: {n} strict vertices{whole}; every IC-optimal order passes through each of them"
        ),
    };
    let ((all, different), methods) = (search.components, methods.join(", "));
    let components =
        format!("Components between vertices: {all}, {different} different; decided by: {methods}");
    paragraph(&hull) + &paragraph(&components)
}
