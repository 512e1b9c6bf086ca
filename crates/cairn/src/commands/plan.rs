//! `cairn plan`: the order, its profile, the verdict, the usual orders beside it.

use super::auto::{self, Choice};
use super::durations::{OverTime, Weighted};
use super::memory::Sizes;
use super::world;
use super::worth::{self, Beside};
use crate::called;
use crate::cli::{self, Policy, TieRule, Wanted};
use crate::failure::Failure;
use crate::input::{self, Read};
use crate::layout;
use crate::limits::{self, Clock};
use crate::output::{Output, write_file};
use crate::plural::counted;
use crate::screen;
use cairn_dag::{Dag, Flow, TaskId, is_plain, plain};
use cairn_plan::cap::{self, Capped};
use cairn_plan::{
    CertificateError, Conflict, Corner, Crossing, Evidence, Plan, Refusal, Search, Ties, Verdict,
    Weights, break_ties, foresee, policy,
};
use cairn_theory::profile::{area, profile};
use cairn_theory::split::Decomposition;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

/// An order that a policy gives, and what it reaches.
struct Reached {
    order: Vec<TaskId>,
    profile: Vec<u32>,
}

pub(crate) fn run(settings: &cli::Plan, out: &Output) -> Result<(), Failure> {
    if settings.certificate.is_some() && settings.policy != Wanted::Given(Policy::Ic) {
        return Err(Failure::usage(
            "a certificate is about the plan's own order, not that of another policy",
            "leave out --policy, or --certificate",
        ));
    }
    if settings.certificate.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage(
            "the certificate cannot go to standard output, where the plan goes",
            "name a file, such as --certificate proof.json",
        ));
    }
    if settings.durations && settings.policy != Wanted::Given(Policy::Ic) {
        return Err(Failure::usage(
            "--durations makes an order of its own, not that of another policy",
            "leave out --policy, or --durations; for simulated durations use --world-durations",
        ));
    }
    let clock = limits::clock(&settings.limits)?;
    check_simulation(settings.policy, &settings.contest)?;
    let started = Instant::now();
    let read = input::read_rest(&settings.input, &settings.executed, out)?;
    let read_ms = started.elapsed().as_secs_f64() * 1e3;
    let started = Instant::now();
    let dag = read.flow.dag();
    let progress = out.progress("planning");
    let weighted = match settings.durations {
        true => Some(Weighted::new(
            &read.flow,
            settings.choices,
            &clock.stop_planning(dag),
        )?),
        false => None,
    };
    let planning = planning_time(settings.policy, &clock);
    let mut plan = make(&read.flow, settings.choices, &settings.limits, &planning);
    drop(progress);
    let proof = match &settings.certificate {
        Some(path) => Some(write_certificate(path, &read.flow, &plan, settings, out)?),
        None => None,
    };
    let sizes = Sizes::new(&read.flow, settings.memory_cap.as_deref())?;
    if let Some(doubt) = sizes.doubt(&read.flow) {
        out.remark(&format!("warning: {doubt}"));
    }
    if let (Some(_), needed @ 1..) = (sizes.cap, read.done.needed()) {
        out.remark(&format!(
            "warning: the cap is on results made from now on; those of {} are still needed and come on top",
            counted(needed, "executed task")
        ));
    }
    let (policy, choice) = match settings.policy {
        Wanted::Given(policy) => (policy, None),
        Wanted::Auto if limits::is_interrupted() => (Policy::Ic, None),
        Wanted::Auto => {
            let choice = auto::choose(&read.flow, &plan.order, &settings.contest, &clock, out)?;
            (choice.policy, Some(choice))
        }
    };
    let mut reached = match (&choice, &weighted, policy) {
        (Some(choice), ..) => reach(dag, choice.order.clone()),
        (None, Some(weighted), _) => reach(dag, weighted.order().to_vec()),
        (None, None, Policy::Ic) => Reached {
            order: plan.order.clone(),
            profile: plan.profile.clone(),
        },
        (None, None, other) => reach(dag, order_of(other, &read.flow)),
    };
    let mut curve = Vec::new();
    let free = sizes.peak(dag, &reached.order);
    if let Some(most) = sizes.cap {
        curve = cap::trade_off(dag, &reached.order, &sizes.by_task);
        reached = reach(dag, sizes.under_cap(dag, &reached.order, most)?.order);
    }
    let peak = sizes.peak(dag, &reached.order);
    let plan_ms = started.elapsed().as_secs_f64() * 1e3;
    if settings.order {
        check_lines(&read.flow)?;
        write_file(Path::new("-"), |out| {
            (reached.order.iter()).try_for_each(|&t| writeln!(out, "{}", read.flow.name(t)))
        })?;
        return said(&proof, out);
    }
    if !clock.stop()() {
        plan.checked = foresee(&read.flow, &plan);
    }
    let report = Report {
        read: &read,
        plan: &plan,
        reached: &reached,
        policy,
        choice: choice.as_ref(),
        over_time: weighted.map(|w| w.judge(dag, &reached.order)),
        sizes: &sizes,
        peak,
        free,
        curve: &curve,
        baselines: match clock.stop()() {
            true => Vec::new(),
            false => baselines(&read.flow, &sizes),
        },
        is_file: settings.input.file != Path::new("-"),
    };
    let mut value = report.json(out.json && !settings.no_arrays);
    if let Some(labels) = called::labels_for(out, &read.flow) {
        value["labels"] = labels;
    }
    value["elapsed_ms"] = json!({ "read": round(read_ms), "plan": round(plan_ms) });
    if limits::is_interrupted() {
        value["interrupted"] = json!(true);
        out.remark("interrupted: this is the best so far");
    }
    if let Some(proof) = &proof {
        value["certificate"] = proof.json();
    }
    let mut text = report.text(out);
    if out.verbose {
        text += &format!("  time      {read_ms:.1} ms to read, {plan_ms:.1} ms to plan\n");
    }
    out.answer(&value, &text)?;
    said(&proof, out)
}

/// The time for a plan: half of it is for the simulations, where there are any.
pub(crate) fn planning_time(policy: Wanted, clock: &Clock) -> Clock {
    match policy {
        Wanted::Auto => clock.half(),
        Wanted::Given(_) => *clock,
    }
}

/// The plan of a flow, with ties broken as asked.
pub(crate) fn make<'f>(
    flow: &'f Flow,
    choices: cli::Choices,
    limits: &cli::Limits,
    clock: &Clock,
) -> Plan<'f> {
    let dag = flow.dag();
    let mut plan = cairn_plan::plan(dag, &limits::effort(limits), &clock.stop_planning(dag));
    let order = std::mem::take(&mut plan.order);
    let blocks = Some(plan.survey().blocks());
    plan.order = tied(flow, order, choices, &Weights::unit(dag.len()), blocks);
    plan
}

/// The order with ties broken as asked, as good at every step.
pub(crate) fn tied(
    flow: &Flow,
    order: Vec<TaskId>,
    choices: cli::Choices,
    weights: &Weights,
    blocks: Option<&Decomposition>,
) -> Vec<TaskId> {
    let seconds = seconds(flow);
    let ties = match choices.ties {
        None => return order,
        Some(TieRule::Memory) => Ties::Memory,
        Some(TieRule::CriticalPath) => Ties::CriticalPath(seconds.as_deref()),
    };
    let found;
    let blocks = match blocks {
        Some(blocks) => blocks,
        None => {
            found = Decomposition::new(flow.dag());
            &found
        }
    };
    break_ties(flow.dag(), blocks, &order, ties, weights)
}

/// What became of the certificate that was asked for.
struct Proof<'a> {
    path: &'a Path,
    is_written: bool,
}

impl Proof<'_> {
    fn json(&self) -> Value {
        json!({ "file": self.path.display().to_string(), "written": self.is_written })
    }
}

/// The answer is "no" when a certificate was asked for and there is none. What is missing is said after the plan.
fn said(proof: &Option<Proof<'_>>, out: &Output) -> Result<(), Failure> {
    match proof {
        Some(proof) if !proof.is_written => {
            let path = screen::path(proof.path);
            if limits::is_interrupted() {
                out.complain(&format!("interrupted: {path} was not written"));
                return Ok(());
            }
            out.complain(&format!(
                "no certificate: time ran out before the proof was complete, and {path} was not written\n  \
                 help: give more time, such as --time-limit 600"
            ));
            Err(Failure::No)
        }
        _ => Ok(()),
    }
}

/// Writes the certificate, whole or not at all. It has as much time as the plan had.
fn write_certificate<'a>(
    path: &'a Path,
    flow: &Flow,
    plan: &Plan,
    settings: &cli::Plan,
    out: &Output,
) -> Result<Proof<'a>, Failure> {
    let stop = limits::clock(&settings.limits)?.stop();
    let progress = out.progress("writing the certificate");
    let certificate = match cairn_plan::certificate(flow, plan, &stop) {
        Ok(certificate) => certificate,
        Err(CertificateError::Stopped) => {
            let is_written = false;
            return Ok(Proof { path, is_written });
        }
        Err(error) => return Err(Failure::usage(format!("no certificate: {error}"), "")),
    };
    drop(progress);
    write_file(path, |file| {
        serde_json::to_writer(&mut *file, &certificate).map_err(std::io::Error::from)?;
        writeln!(file)
    })?;
    let is_written = true;
    Ok(Proof { path, is_written })
}

/// Flags of simulated worlds only matter where a policy is to be chosen; bad numbers are told before the work begins.
pub(crate) fn check_simulation(policy: Wanted, contest: &cli::Contest) -> Result<(), Failure> {
    let flag = world::first_flag(&contest.whole_world(), &contest.runs);
    match (policy, flag) {
        (Wanted::Given(_), Some(flag)) => Err(Failure::usage(
            format!("{flag} means nothing without --policy auto"),
            "leave it out, or add --policy auto",
        )),
        _ => world::check(&contest.runs),
    }
}

/// A list of one task a line is for machines, so it has names and no labels; a name that would make two lines of one
/// cannot be in it.
fn check_lines(flow: &Flow) -> Result<(), Failure> {
    let is_odd = |&t: &TaskId| !flow.name(t).chars().all(is_plain);
    match flow.dag().tasks().find(is_odd) {
        None => Ok(()),
        Some(task) => Err(Failure::usage(
            format!(
                "the name of task '{}' has characters that do not fit on a line",
                plain(flow.name(task))
            ),
            "--json gives the order with every name as it is",
        )),
    }
}

fn round(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

fn reach(dag: &Dag, order: Vec<TaskId>) -> Reached {
    let profile = profile(dag, &order).expect("policies give topological orders");
    Reached { order, profile }
}

/// The order of one of the usual policies.
pub(crate) fn order_of(policy: Policy, flow: &Flow) -> Vec<TaskId> {
    let dag = flow.dag();
    match policy {
        Policy::Ic => unreachable!("the plan itself"),
        Policy::Fifo => policy::fifo(dag),
        Policy::Lifo => policy::lifo(dag),
        Policy::CriticalPath => policy::critical_path(dag, seconds(flow).as_deref()),
        Policy::Outdegree => policy::outdegree(dag),
        Policy::Memory => policy::memory(dag),
    }
}

/// Durations where the input has any; tasks without one count as the mean of the others.
pub(crate) fn seconds(flow: &Flow) -> Option<Vec<f64>> {
    let known: Vec<f64> = flow.dag().tasks().filter_map(|t| flow.seconds(t)).collect();
    if known.is_empty() {
        return None;
    }
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    Some(
        (flow.dag().tasks())
            .map(|t| flow.seconds(t).unwrap_or(mean))
            .collect(),
    )
}

/// Everything that is printed about a plan.
struct Report<'a> {
    read: &'a Read,
    plan: &'a Plan<'a>,
    reached: &'a Reached,
    policy: Policy,
    choice: Option<&'a Choice>,
    over_time: Option<OverTime>,
    sizes: &'a Sizes,
    peak: u64,
    /// The peak of the same policy's order without a cap.
    free: u64,
    curve: &'a [Capped],
    /// Other policies; empty when there was no time for them.
    baselines: Vec<Beside>,
    /// Whether the input has a name that other commands can read.
    is_file: bool,
}

/// What each of the other policies reaches.
fn baselines(flow: &Flow, sizes: &Sizes) -> Vec<Beside> {
    let all = [
        Policy::Fifo,
        Policy::CriticalPath,
        Policy::Lifo,
        Policy::Outdegree,
        Policy::Memory,
    ];
    let of = |p| {
        let reached = reach(flow.dag(), order_of(p, flow));
        Beside {
            name: super::contender::name(&p),
            area: area(&reached.profile),
            peak: sizes.peak(flow.dag(), &reached.order),
        }
    };
    all.into_par_iter().map(of).collect()
}

impl Report<'_> {
    /// The verdict on the order printed, which may not be the plan's own.
    fn verdict(&self) -> Verdict {
        self.plan.judge(&self.reached.profile)
    }

    /// Whether the cap changed the order.
    fn is_narrowed(&self) -> bool {
        self.sizes.cap.is_some_and(|cap| cap < self.free)
    }

    fn ratio(&self, reached: u64) -> f64 {
        let most = area(&self.plan.bound);
        if most == 0 {
            1.0
        } else {
            reached as f64 / most as f64
        }
    }

    fn largest_gap(&self) -> (usize, u32) {
        let gaps = self
            .plan
            .bound
            .iter()
            .zip(&self.reached.profile)
            .map(|(b, p)| b - p);
        let largest = gaps
            .enumerate()
            .max_by_key(|&(t, gap)| (gap, std::cmp::Reverse(t)));
        largest.unwrap_or((0, 0))
    }

    fn json(&self, arrays: bool) -> Value {
        let (flow, plan) = (&self.read.flow, self.plan);
        let dag = flow.dag();
        let reached = area(&self.reached.profile);
        let (step, gap) = self.largest_gap();
        let baselines: Map<String, Value> = (self.baselines.iter())
            .map(|b| {
                let value = json!({
                    "area": b.area, "area_ratio": self.ratio(b.area), "memory_peak": b.peak,
                });
                (b.name.clone(), value)
            })
            .collect();
        let mut value = json!({
            "file": self.read.name, "format": self.read.format.name(),
            "tasks": dag.len(), "arcs": dag.arc_count(),
            "sources": dag.sources().count(), "sinks": dag.sinks().count(),
            "area": reached, "area_bound": area(&plan.bound), "area_ratio": self.ratio(reached),
            "verdict": self.verdict().name(), "proof": proof_json(plan, flow),
            "bound_checked": { "proved": steps_proved(plan), "steps": plan.bound.len() },
            "largest_gap": { "step": step, "gap": gap },
            "memory": { "peak": self.peak, "unit": self.sizes.unit },
            "composite": plan.survey().blocks().is_composite(), "blocks": plan.survey().blocks().len(),
            "skeleton_removed": plan.survey().removed(),
            "baselines": baselines, "policy": super::contender::name(&self.policy),
        });
        self.read.done.tell(&mut value);
        value["memory"]["executed_needed"] = json!(self.read.done.needed());
        if let Some(choice) = self.choice {
            value["auto"] = choice.json();
        }
        if let Some(over_time) = &self.over_time {
            value["durations"] = over_time.json(arrays);
        }
        if let Some(most) = self.sizes.cap {
            let point = |c: &Capped| json!({ "peak": c.peak, "area": c.area });
            value["memory"]["cap"] = json!(most);
            value["memory"]["unknown_sizes"] = json!(self.sizes.unknown.len());
            value["memory"]["trade_off"] = self.curve.iter().map(point).collect();
        }
        if arrays {
            let tasks = self.reached.order.len();
            let order: Vec<&str> = self.reached.order.iter().map(|&t| flow.name(t)).collect();
            let priority: Map<String, Value> = (order.iter().enumerate())
                .map(|(i, name)| ((*name).to_owned(), json!(tasks - i)))
                .collect();
            value["order"] = json!(order);
            value["priority"] = Value::Object(priority);
            value["profile"] = json!(self.reached.profile);
            value["bound"] = json!(plan.bound);
        }
        value
    }

    /// The verdict in plain words, with the reason where it is one of the flags.
    fn plain(&self) -> String {
        let share = self.ratio(area(&self.reached.profile));
        let words = worth::verdict(self.verdict(), &how(self.verdict(), self.plan), share);
        match self.verdict() {
            Verdict::Suboptimal if self.is_narrowed() => format!(
                "as good as found under the cap: it has {} of the ready tasks of an order without --memory-cap",
                worth::percent(share)
            ),
            Verdict::Suboptimal if self.over_time.is_some() => {
                format!("counting steps, {words} (leave out --durations)")
            }
            Verdict::Suboptimal => format!("{words} (--policy ic)"),
            _ => words,
        }
    }

    fn text(&self, out: &Output) -> String {
        let (flow, plan) = (&self.read.flow, self.plan);
        let dag = flow.dag();
        let width = layout::width();
        let line = |name: &str, words: &str| layout::hanging(&format!("  {name:10}"), words, width);
        let counts = [
            counted(dag.len(), "task"),
            counted(dag.arc_count(), "arc"),
            counted(dag.sources().count(), "source"),
            counted(dag.sinks().count(), "sink"),
        ];
        let mut text = layout::heading(&self.read.name, &counts.join(", "), width);
        text += &self.read.done.row();
        text += &line("quality", &self.plain());
        if let Some(over_time) = &self.over_time {
            text += &line("seconds", &over_time.text());
        }
        text += &line(
            "memory",
            &format!(
                "{} at the most{}",
                self.sizes.words(self.peak.into()),
                match self.read.done.needed() {
                    0 => String::new(),
                    needed => format!(", besides those of {}", counted(needed, "executed task")),
                }
            ),
        );
        if let Some(choice) = self.choice {
            text += &line("policy", &choice.text());
        }
        if out.verbose {
            let words = verdict_words(self.verdict(), plan, flow);
            text += &line("verdict", &words);
            text += &line("area", &self.area_words());
        }
        text += &format!("\n{}\n", self.table(out, width));
        const SHOWN: usize = 12;
        let first: Vec<String> = (self.reached.order.iter().take(SHOWN))
            .map(|&task| layout::whole(&layout::short(&flow.shown(task), width - 13)))
            .collect();
        let more = match dag.len() > SHOWN {
            true => format!(", … (--order prints all {})", dag.len()),
            false => String::new(),
        };
        text += &line("order", &format!("{}{more}", first.join(", ")));
        if !out.quiet {
            let next = layout::pairs(&self.next(), 12, width);
            text += &next.replacen("            ", "  next      ", 1);
        }
        text
    }

    /// The area of the order and its largest distance from the bound.
    fn area_words(&self) -> String {
        let reached = area(&self.reached.profile);
        let (step, gap) = self.largest_gap();
        let gap = match gap {
            0 => "the bound is met at every step".to_owned(),
            _ => format!("largest gap {gap} at step {step}"),
        };
        let mut words = format!(
            "{reached} of at most {} ({:.2} %), {gap}",
            area(&self.plan.bound),
            100.0 * self.ratio(reached)
        );
        let searched = self.plan.checked.steps.len() - steps_proved(self.plan);
        if searched > 0 && self.verdict() != Verdict::Optimal {
            let steps = self.plan.bound.len();
            words += &format!(
                "; at {searched} of {steps} steps the bound rests on a search that `verify` does not repeat"
            );
        }
        words
    }

    /// This order beside the usual ones: what DAGMan does and the longest path first, with `-v` all of them.
    fn table(&self, out: &Output, width: usize) -> String {
        let dag = self.read.flow.dag();
        let mut rows = vec![Beside {
            name: match self.policy {
                Policy::Ic => "this order".to_owned(),
                other => format!("this order ({})", super::contender::name(&other)),
            },
            area: area(&self.reached.profile),
            peak: self.peak,
        }];
        if self.reached.order != self.plan.order {
            rows.push(Beside {
                name: "ic".to_owned(),
                area: area(&self.plan.profile),
                peak: self.sizes.peak(dag, &self.plan.order),
            });
        }
        let shown = if out.verbose { usize::MAX } else { 2 };
        let own = super::contender::name(&self.policy);
        let others = self.baselines.iter().take(shown);
        let others = others.filter(|b| b.name != own).map(|b| Beside {
            name: b.name.clone(),
            ..*b
        });
        rows.extend(others);
        let mut text = worth::table(
            &rows,
            (dag.len(), area(&self.plan.bound)),
            self.sizes,
            width,
        );
        if self.baselines.is_empty() {
            text += "  No other order beside it: the time is up.\n";
        }
        text
    }

    /// What to do with the plan, as commands.
    fn next(&self) -> Vec<(String, String)> {
        let file = match self.read.name.as_str() {
            name if self.is_file => shell_word(name),
            _ => "FILE".to_owned(),
        };
        let mut next = Vec::new();
        let mut add = |command: String, about: &str| next.push((command, about.to_owned()));
        let is_free = self.sizes.cap.is_none() && self.over_time.is_none();
        if is_free && self.read.format.holds_priorities() {
            let policy = match self.policy {
                Policy::Ic => String::new(),
                other => format!(" --policy {}", super::contender::name(&other)),
            };
            add(
                format!("cairn prio {file} --in-place{policy}"),
                "write the order into the file",
            );
        }
        add(
            format!("cairn simulate {file}"),
            "what it saves on workers that come and go",
        );
        add(format!("cairn show {file} -o plan.html"), "see it");
        add(
            format!("cairn explain {file}"),
            "why, in the words of the theory",
        );
        next
    }
}

/// A name as a shell takes it.
fn shell_word(name: &str) -> String {
    let is_bare = |c: char| c.is_alphanumeric() || "-_./+=:,@%".contains(c);
    match name.chars().all(is_bare) && !name.is_empty() {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// The proof for machines.
pub(crate) fn proof_json(plan: &Plan, flow: &Flow) -> Value {
    let names = |set: &[TaskId]| -> Vec<&str> { set.iter().map(|&t| flow.name(t)).collect() };
    let pair = |conflict: &Conflict| match conflict {
        Conflict::Pair(pair) => json!({
            "steps": pair.steps, "gains": pair.gains,
            "sets": [names(&pair.smaller), pair.larger.as_deref().map(names)],
        }),
        Conflict::NoPair | Conflict::Unknown => Value::Null,
    };
    let mut value = match &plan.evidence {
        Evidence::Linearization { ranks } => json!({ "by": "linearization", "ranks": ranks }),
        Evidence::Merge { ranks } => json!({ "by": "merge", "ranks": ranks }),
        Evidence::Bound => json!({ "by": "bound" }),
        Evidence::Blocks => {
            let words = plan.obstacle_words(|tasks| called::few(flow, tasks));
            json!({ "by": "merge", "obstacle": words })
        }
        Evidence::Nothing => Value::Null,
        Evidence::Refusal(Refusal::Component {
            from,
            to,
            tasks,
            method,
            states,
            conflict,
            ..
        }) => json!({
            "by": "exhaustive", "from": from, "to": to, "tasks": names(tasks), "method": method, "states": states,
            "pair": pair(conflict),
        }),
        Evidence::Refusal(Refusal::Sum {
            from,
            to,
            step,
            conflict,
            ..
        }) => {
            json!({ "by": "merge", "from": from, "to": to, "step": step, "pair": pair(conflict) })
        }
        Evidence::Refusal(Refusal::Crossing(Crossing {
            before,
            after,
            step,
            gain,
            set,
            inside,
        })) => {
            let corner = |c: &Corner| json!({ "step": c.step, "set": names(&c.set) });
            let first = before.as_ref().or(after.as_ref());
            let takes_both = before.is_some() && after.is_some();
            json!({
                "by": "bound", "steps": [first.map(|c| c.step), Some(*step)],
                "sets": [first.map(|c| names(&c.set)), set.as_deref().map(names)],
                "before": before.as_ref().map(corner), "after": after.as_ref().map(corner),
                "gain": gain, "gain_between": inside,
                "gain_through_first": (!takes_both).then_some(inside),
            })
        }
    };
    if !value.is_null() {
        let is_proved = plan.checked.verdict;
        value["checked"] = json!(if is_proved { "proved" } else { "search" });
    }
    value
}

/// At how many steps `verify` proves the bound.
fn steps_proved(plan: &Plan) -> usize {
    plan.checked.steps.iter().filter(|&&is| is).count()
}

/// Whether `verify` proves such a verdict on an order of this plan's dag.
pub(crate) fn is_proved(verdict: Verdict, plan: &Plan) -> bool {
    match verdict {
        Verdict::Optimal => steps_proved(plan) == plan.bound.len(),
        _ => plan.checked.verdict,
    }
}

/// How a verdict is known: proved, where `verify` proves it, else by what.
pub(crate) fn how(verdict: Verdict, plan: &Plan) -> String {
    let searched = plan.search.as_ref();
    let searched = searched.map_or("exhausted search".to_owned(), search_words);
    match (is_proved(verdict, plan), &plan.evidence) {
        (true, _) => "proved".to_owned(),
        (false, Evidence::Linearization { .. } | Evidence::Merge { .. }) => {
            "by theory, too large for `cairn verify`".to_owned()
        }
        // It says itself what was searched.
        (false, Evidence::Refusal(Refusal::Component { .. })) => "by exhausted search".to_owned(),
        (false, _) => format!("by {searched}"),
    }
}

/// What a search looked at.
fn search_words(search: &Search) -> String {
    let (parts, different) = search.components;
    let parts = counted(parts, "part");
    format!("exhausted search of {parts}, {different} of them different")
}

/// The verdict in words, with the proof, for [`layout::hanging`]: names are not to be broken.
pub(crate) fn verdict_words(verdict: Verdict, plan: &Plan, flow: &Flow) -> String {
    let list = |set: &[TaskId]| {
        const SHOWN: usize = 8;
        let names = called::unbroken(flow, set, SHOWN);
        let more = set.len().saturating_sub(SHOWN);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{{{names}{more}}}")
    };
    let how = how(verdict, plan);
    match (verdict, &plan.evidence) {
        (Verdict::Optimal, Evidence::Linearization { ranks }) => {
            format!(
                "IC-optimal, {how}: {} in {} under ▷ (Theorem 7)",
                counted(plan.survey().blocks().len(), "block"),
                counted(*ranks, "rank")
            )
        }
        (Verdict::Optimal, Evidence::Merge { ranks }) => {
            format!(
                "IC-optimal, {how}: {} merged into {}",
                counted(plan.survey().blocks().len(), "block"),
                counted(*ranks, "rank")
            )
        }
        (Verdict::Optimal, _) => {
            format!("IC-optimal, {how}: the order meets the certified bound at every step")
        }
        (Verdict::Suboptimal, _) => {
            "an IC-optimal order exists, and this is not one (--policy ic)".to_owned()
        }
        (Verdict::Open, _) => {
            "open: neither proved optimal nor proved that no IC-optimal order exists".to_owned()
        }
        (_, Evidence::Refusal(Refusal::Crossing(crossing))) => format!(
            "no IC-optimal order exists, {how}:\n{}",
            crossing_words(crossing, list)
        ),
        (
            _,
            Evidence::Refusal(Refusal::Component {
                from,
                to,
                tasks,
                states,
                conflict,
                ..
            }),
        ) => format!(
            "no IC-optimal order exists, {how}: between steps {from} and {to} the tasks {} admit none\n\
             (search over {states} states exhausted){}",
            list(tasks),
            conflict_words(conflict, "these tasks", list)
        ),
        (
            _,
            Evidence::Refusal(Refusal::Sum {
                from,
                to,
                step,
                conflict,
                ..
            }),
        ) => format!(
            "no IC-optimal order exists, {how}: between steps {from} and {to} independent parts pull apart at step {step}{}",
            conflict_words(conflict, "the tasks in between", list)
        ),
        (_, Evidence::Blocks) => {
            let why = plan.obstacle_words(|tasks| called::few_unbroken(flow, tasks));
            let why = why.unwrap_or_default();
            format!("no IC-optimal order exists, {how}: {why}")
        }
        (_, _) => format!("no IC-optimal order exists, {how}"),
    }
}

/// One or two sets that are in the way of another.
fn crossing_words(crossing: &Crossing, list: impl Fn(&[TaskId]) -> String) -> String {
    let Crossing {
        before,
        after,
        step,
        gain,
        set,
        inside,
    } = crossing;
    let witness = set.as_deref().unwrap_or_default();
    let corner = |c: &Corner| list(&apart(&c.set, witness));
    let (corners, which, seen) = match (before, after) {
        (Some(a), Some(b)) => (
            format!(
                "the only best sets of {} and {} are {} and {}",
                a.step,
                b.step,
                corner(a),
                corner(b)
            ),
            "between the two",
            &b.set,
        ),
        (Some(c), None) => (
            format!("the only best set of {} is {}", c.step, corner(c)),
            "that contain the first",
            &c.set,
        ),
        (None, Some(c)) => (
            format!("the only best set of {} is {}", c.step, corner(c)),
            "that lie in the first",
            &c.set,
        ),
        (None, None) => return String::new(),
    };
    let other = match set {
        Some(set) => format!("the set of {step} {}", list(&apart(set, seen))),
        None => format!("some set of {step}"),
    };
    format!("{corners};\n{other} makes {gain} eligible, those {which} at most {inside}")
}

/// Long lists are cut short: what the other set does not have comes first.
fn apart(set: &[TaskId], other: &[TaskId]) -> Vec<TaskId> {
    let other: HashSet<TaskId> = other.iter().copied().collect();
    let mut set = set.to_vec();
    set.sort_by_key(|task| other.contains(task));
    set
}

/// The two steps that conflict among `these` tasks; empty where it is not known whether two do.
fn conflict_words(conflict: &Conflict, these: &str, list: impl Fn(&[TaskId]) -> String) -> String {
    let apart = |set: &[TaskId], other: &[TaskId]| list(&apart(set, other));
    match conflict {
        Conflict::Pair(pair) => {
            let [s, t] = pair.steps;
            let [gain, more] = pair.gains;
            let other = pair.larger.as_deref().unwrap_or_default();
            let larger = match &pair.larger {
                Some(set) => format!(
                    "set of {t} as good as {} ({more})",
                    apart(set, &pair.smaller)
                ),
                None => format!("best set of {t} (at least {more})"),
            };
            format!(
                ";\nof {these} the best sets of {s}, such as {} ({gain} made eligible),\n\
                 lie in no {larger}",
                apart(&pair.smaller, other)
            )
        }
        Conflict::NoPair => {
            format!(";\nof {these} no two steps alone conflict: it takes more of them")
        }
        Conflict::Unknown => String::new(),
    }
}

#[cfg(test)]
mod tests;
