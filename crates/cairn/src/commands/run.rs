//! `cairn run`: the whole workflow here, now; again goes on where it stopped.

pub(super) mod disk;
mod ended;
mod family;
mod programs;
mod report;
mod saved;
mod settings;
pub(super) mod tight;

pub(super) use self::ended::OTHER_COMMAND;
use self::ended::{refused, verdict};
use self::programs::Programs;
pub(super) use self::programs::fingerprint;
use self::report::Reporter;
pub(crate) use self::settings::Settings;
use super::contender::name;
use super::lookout::{Lookout, Workers};
use super::runnable::{self, rules_for};
use crate::called;
use crate::cli;
use crate::failure::Failure;
use crate::limits;
use crate::output::Output;
use crate::screen;
use cairn_dag::{Flow, TaskId, plain};
use cairn_engine::{Keeper, Offer, Rules, Taken};
use cairn_formats::{Format, Source, closest};
use cairn_serve::DiskSetup;
use cairn_serve::run::{FlowPrograms, FlowSetup, Orders, Summary, Wishes, machine_memory};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    match &settings.family {
        Some(family) => family::run(settings, family, out),
        None => run_flow(settings, out),
    }
}

fn run_flow(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let (input, template) = (&settings.input, settings.template.as_ref());
    let whole = runnable::open(input, flags.no_rescue, &flags.times, template, out)?;
    out.new_warnings(&whole.problems, &whole.report);
    let flow = whole.flow;
    let programs = Programs::new(whole.jobs);
    let wanted = wanted(&flow, flags)?;
    let memory = settings.memory.or_else(machine_memory);
    let rules = make_rules(settings, &flow, memory, &programs, whole.format)?;
    // Of other formats a missing input says nothing: it was never meant to lie here.
    let minds_files = !flags.ignore_files && whole.format.names_files_here();
    let lookout = lookout(settings, &flow);
    let quick = || lookout.quick();
    let part = disk::Part {
        flow: &flow,
        wanted: wanted.as_deref(),
        safety: flags.safety,
    };
    let caps = settings.disk.as_ref();
    let say = |line: &str| out.remark(line);
    let layout = disk::layout(caps, &part, minds_files, &quick, &say)?;
    // What touches writes nothing, and what failed before only a state knows: no cap is in their way.
    let is_new = !settings.has_state() && !flags.touch && !flags.rerun_failed;
    if let Some(layout) = layout.as_ref().filter(|_| is_new) {
        let folder = |task| programs.directory(task);
        let known = Taken::default();
        part.refuse_new(caps, layout, &whole.is_executed, &folder, &known)?;
    }
    let planner = |keeper: &mut Keeper, time| part.plan(caps, keeper, time);
    let reported = flags.report.as_ref().map(|_| rules.clone());
    // After everything that can be refused: a folder for the state is made only for a run that begins.
    let (_scrap, store) = settings.open_store()?;
    let finished = Arc::new(AtomicBool::new(false));
    let priorities = |keeper: &Keeper| tight::look(&flow, keeper, settings.cpus, &finished);
    let mut better = || lookout.begin(&finished);
    let orders = Orders {
        policy: name(&flags.policy),
        quick: &quick,
        better: &mut better,
        patience: lookout.patience(),
    };
    let setup = FlowSetup {
        flow: &flow,
        programs: &programs,
        done: &whole.is_executed,
        wanted: wanted.clone(),
        only_failed: flags.rerun_failed,
        rules,
        offer: offer(settings, memory),
        // A record of an earlier run says what was taken, not what may be.
        limits_memory: !whole.format.is_record(),
        minds_files,
        disk: layout.map(|layout| DiskSetup {
            layout,
            planner: &planner,
            priorities: &priorities,
        }),
        is_touch: flags.touch,
        is_dry: flags.dry_run,
    };
    let mut reporter = Reporter::new(&programs, flow.dag().len() as u64, flags.dry_run, out);
    let ran = cairn_serve::run::run(
        store,
        setup,
        orders,
        &limits::interrupts,
        &mut |at, news, counts| reporter.hear(at, news, counts),
    );
    // Whoever looks for orders beside the run ends with it.
    finished.store(true, Ordering::Relaxed);
    reporter.close();
    let summary = ran.map_err(refused)?;
    if whole.format == Format::Dagman && !flags.dry_run {
        write_rescue(&whole.source, &flow, &summary, out);
    }
    if let Some(rules) = &reported {
        let (name, report) = (whole.source.name(), settings.report());
        saved::write_flow(report, &flow, rules, name, &summary, out);
    }
    reporter.finish(&summary)?;
    match flags.dry_run {
        true => Ok(()),
        false => verdict(&summary),
    }
}

/// What the machine gives to tasks.
fn offer(settings: &Settings, memory: Option<u64>) -> Offer {
    Offer {
        memory,
        tags: settings.flags.label.clone(),
        ..Offer::cpus(settings.cpus)
    }
}

/// Who looks for orders beside the work.
fn lookout(settings: &Settings, flow: &Arc<Flow>) -> Lookout {
    let (flags, workers) = (&settings.flags, Workers::Here(settings.cpus));
    let state = Some(settings.state.clone());
    Lookout::new(flow, flags.policy, workers, &flags.times, state)
}

/// What DAGMan would leave after a run that did not end well, so that it could go on from here.
fn write_rescue(source: &Source, flow: &Flow, summary: &Summary, out: &Output) {
    let Some(path) = source.path().filter(|_| summary.counts.failed > 0) else {
        return;
    };
    let those = |is: &[bool]| -> Vec<TaskId> {
        let tasks = flow.dag().tasks();
        tasks.filter(|t| is[t.index()]).collect()
    };
    let (executed, failed) = (those(&summary.executed), those(&summary.failed));
    let text = cairn_formats::rescue_text(source, flow, &executed, &failed);
    match cairn_formats::write_rescue(path, &text) {
        Ok(file) => out.remark(&format!("wrote {}", screen::path(&file))),
        Err(e) => out.complain(&format!("warning: no rescue file was written: {e}")),
    }
}

/// By task whether it is to be executed now; `None` where all are.
fn wanted(flow: &Flow, flags: &cli::Run) -> Result<Option<Vec<bool>>, Failure> {
    let dag = flow.dag();
    let (flag, words) = match (flags.until.is_empty(), flags.only.is_empty()) {
        (true, true) => return Ok(None),
        (false, _) => ("--until", &flags.until),
        _ => ("--only", &flags.only),
    };
    let mut named = Vec::with_capacity(words.len());
    for word in words {
        let task = called::meant(flow, flag, word)?.ok_or_else(|| {
            let names = dag.tasks().map(|t| flow.name(t));
            let help = match closest(word, names) {
                Some(near) => format!("did you mean '{}'?", plain(near)),
                None => "names are case-sensitive".to_owned(),
            };
            let word = plain(word);
            let message = format!("{flag} names '{word}', which is no task of the input");
            Failure::usage(message, help)
        })?;
        named.push(task);
    }
    let before = match flag {
        "--until" => dag.ancestors(&named),
        _ => Vec::new(),
    };
    let mut wanted = vec![false; dag.len()];
    for task in named.into_iter().chain(before) {
        wanted[task.index()] = true;
    }
    Ok(Some(wanted))
}

fn make_rules(
    settings: &Settings,
    flow: &Flow,
    memory: Option<u64>,
    programs: &Programs,
    format: Format,
) -> Result<Rules, Failure> {
    let flags = &settings.flags;
    let wishes = Wishes {
        retries: flags.retries,
        pools: settings.pools.clone(),
        memory,
        // One: nothing more is started after the first failure.
        failures: flags.keep_going.unwrap_or(1),
        // Known here, unlike in `serve`: what nobody can fulfil is refused before anything runs.
        labels: Some(flags.label.clone()),
    };
    rules_for(flow, &wishes, programs.jobs(), format)
}
