//! `cairn plan`: the order, its profile, the verdict, the usual orders beside it.

mod report;

use self::report::{Found, Reached, Report};
use super::auto::{self, Contest};
use super::caps::{self, MemoryCap};
use super::contender::name;
use super::disk::{self, Planned, Room};
use super::durations::Weighted;
use super::memory;
use super::orders;
use super::worth::Beside;
use crate::called;
use crate::cli::{self, Policy, Wanted};
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::limits::{self, Clock, Limits};
use crate::logs;
use crate::output::{Output, write_file};
use crate::plural::counted;
use crate::screen;
use crate::spare;
use cairn_dag::{Flow, TaskId, is_plain, plain};
use cairn_plan::{CertificateError, Plan, Work, cap};
use cairn_theory::profile::area;
use rayon::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// Which order is wanted, and what is said and written of it, checked.
pub(crate) struct Settings {
    flags: cli::Plan,
    contest: Option<Contest>,
    /// Most results that may be open.
    cap: Option<u64>,
    disk: Option<caps::Disk>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Plan) -> Result<Settings, Failure> {
        let read = Named::new(&flags.input, &flags.executed).logs(&flags.times);
        let read = read.world(&flags.contest.world).checked()?;
        let is_ic = flags.policy == Wanted::Given(Policy::Ic);
        if flags.certificate.is_some() && !is_ic {
            return Err(Failure::usage(
                "a certificate is about the plan's own order, not that of another policy",
                "leave out --policy, or --certificate",
            ));
        }
        // Both would be mixed there, and neither could be read.
        if flags.certificate.as_deref() == Some(Path::new("-")) {
            return Err(Failure::usage(
                "the certificate cannot go to standard output, where the plan goes",
                "name a file, such as --certificate proof.json",
            ));
        }
        if let Some(path) = &flags.certificate {
            let cure = "name another file for the certificate";
            // At once, and not when the file is written: a minute's work would be lost.
            spare::none_of(&read.paths(), path, cure)?;
            spare::has_folder(path)?;
        }
        if flags.durations && !is_ic {
            return Err(Failure::usage(
                "--durations makes an order of its own, not that of another policy",
                "leave out --policy, or --durations; for simulated durations use --world-durations",
            ));
        }
        let (cap, disk) = caps_of(&flags)?;
        Ok(Settings {
            limits: Limits::new(&flags.limits)?,
            contest: Contest::new(flags.policy, &flags.contest)?,
            cap,
            disk,
            flags,
        })
    }
}

/// A number of results, or a cap on the disk, however it was given.
fn caps_of(flags: &cli::Plan) -> Result<(Option<u64>, Option<caps::Disk>), Failure> {
    let disk = caps::Disk::new(&flags.disk)?;
    let memory = flags.memory_cap.as_deref().map(MemoryCap::parse);
    match (memory.transpose()?, disk) {
        (Some(MemoryCap::Results(most)), disk) => Ok((Some(most), disk)),
        (Some(MemoryCap::Bytes(_)), Some(_)) => Err(Failure::usage(
            "--memory-cap in bytes is the same as --disk, and both are given",
            "leave out --memory-cap",
        )),
        (Some(MemoryCap::Bytes(bytes)), None) => Ok((None, Some(caps::Disk::of_memory(bytes)))),
        (None, disk) => Ok((None, disk)),
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let clock = settings.limits.clock();
    let started = Instant::now();
    let read = input::read_rest(&flags.input, &flags.executed, out)?;
    let read = logs::apply(read, &flags.times, &flags.input, out)?;
    let read_ms = started.elapsed().as_secs_f64() * 1e3;
    let started = Instant::now();
    check_cap(&read, settings.cap, out)?;
    if flags.order {
        check_names(&read.flow)?;
    }
    let (mut found, proof) = find(settings, &read, &clock, out)?;
    // Without the time of reading: that hangs on the disk and the format.
    let plan_ms = started.elapsed().as_secs_f64() * 1e3;
    if flags.order {
        print_order(&read.flow, &found.reached.order)?;
        return answer(&proof, out);
    }
    if !clock.stop()() {
        found.plan.foresee(&read.flow);
    }
    // Last, with the time that is left: the plan itself never waits for it.
    let would = match would_choose(settings, out) {
        true => auto::glance(&read.flow, &found.plan, &clock, out)?,
        false => None,
    };
    let report = Report {
        read: &read,
        found: &found,
        would,
        cap: settings.cap,
        baselines: match clock.stop()() {
            true => Vec::new(),
            false => baselines(&read.flow, &found),
        },
        is_file: flags.input.file != Path::new("-"),
    };
    let mut value = report.json(out.json && !flags.no_arrays);
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
    answer(&proof, out)
}

/// Whether to say what `auto` would choose: beside the plain plan, to whom hints are welcome.
fn would_choose(settings: &Settings, out: &Output) -> bool {
    let flags = &settings.flags;
    let is_plain = flags.policy == Wanted::Given(Policy::Ic) && !flags.durations;
    let is_free = settings.cap.is_none() && settings.disk.is_none();
    is_plain && is_free && !out.quiet && !limits::is_interrupted()
}

/// Refuses a number of results that no order can keep to, and says what it does not count.
fn check_cap(read: &Read, cap: Option<u64>, out: &Output) -> Result<(), Failure> {
    let Some(cap) = cap else {
        return Ok(());
    };
    if let needed @ 1.. = read.done.needed() {
        out.remark(&format!(
            "warning: the cap is on results made from now on; those of {} are still needed and come on top",
            counted(needed, "executed task")
        ));
    }
    memory::check(read.flow.dag(), cap)
}

/// The plan, its certificate where one is asked for, and the order that is wanted.
fn find<'a>(
    settings: &'a Settings,
    read: &'a Read,
    clock: &Clock,
    out: &Output,
) -> Result<(Found<'a>, Option<Certified<'a>>), Failure> {
    let (flags, limits) = (&settings.flags, &settings.limits);
    let (flow, dag) = (&read.flow, read.flow.dag());
    let folder = input::folder(&flags.input);
    let room = Room::new(
        settings.disk.as_ref(),
        read,
        folder,
        &Work::until(&clock.stop()),
        out,
    )?;
    let contest = settings.contest.as_ref();
    let arena = contest.map(|c| c.arena(flow, out)).transpose()?;
    let progress = out.progress("planning");
    let stop = clock.stop_planning(dag);
    let weighted = (flags.durations).then(|| Weighted::new(flow, &mut Work::until(&stop)));
    let weighted = weighted.transpose()?;
    let planning = auto::planning_time(contest, clock);
    let plan = orders::make(flow, flags.choices, limits, &planning);
    drop(progress);
    let contest = contest.zip(arena.as_ref());
    let contest = contest.filter(|_| !limits::is_interrupted());
    let wish = auto::wanted(flow, &plan, flags.policy, contest, clock, out)?;
    let mut reached = match &weighted {
        Some(weighted) => {
            let blocks = plan.survey().blocks();
            reach(&plan, weighted.order(flow, flags.choices, blocks))
        }
        None => reach(&plan, wish.order),
    };
    let mut curve = Vec::new();
    // Before caps narrow the order: the report compares with it.
    let free = memory::peak(dag, &reached.order);
    if let Some(most) = settings.cap {
        curve = cap::trade_off(dag, &reached.order);
        reached = reach(&plan, memory::under_cap(dag, &reached.order, most)?.order);
    }
    let mut disk: Option<Planned<'_>> = None;
    if let Some(room) = room {
        let found = disk::plan(room, &reached.order, &Work::until(&clock.stop()), out)?;
        reached = reach(&plan, found.order.clone());
        disk = Some(found);
    }
    let storage = (settings.disk.as_ref().zip(disk.as_ref())).map(|(c, d)| d.claim(c, flow));
    let proof = (flags.certificate.as_deref())
        .map(|path| write_certificate(path, flow, &plan, storage, limits, out));
    let proof = proof.transpose()?;
    let found = Found {
        disk,
        policy: wish.policy,
        choice: wish.choice,
        over_time: weighted.map(|w| w.judge(dag, &reached.order)),
        peak: memory::peak(dag, &reached.order),
        plan,
        reached,
        free,
        curve,
    };
    Ok((found, proof))
}

/// What became of the certificate that was asked for.
struct Certified<'a> {
    path: &'a Path,
    is_written: bool,
}

impl Certified<'_> {
    fn json(&self) -> Value {
        json!({ "file": self.path.display().to_string(), "written": self.is_written })
    }
}

/// The answer is "no" when a certificate was asked for and there is none. What is missing is said after the plan.
fn answer(proof: &Option<Certified<'_>>, out: &Output) -> Result<(), Failure> {
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
    storage: Option<cairn_verify::Storage>,
    limits: &Limits,
    out: &Output,
) -> Result<Certified<'a>, Failure> {
    let stop = limits.clock().stop();
    let progress = out.progress("writing the certificate");
    let mut certificate = match cairn_plan::certificate(flow, plan, &mut Work::until(&stop)) {
        Ok(certificate) => certificate,
        Err(CertificateError::Stopped) => {
            let is_written = false;
            return Ok(Certified { path, is_written });
        }
        Err(error) => return Err(Failure::usage(format!("no certificate: {error}"), "")),
    };
    certificate.storage = storage;
    drop(progress);
    write_file(path, |file| {
        // Straight into the file: a certificate names every task several times.
        serde_json::to_writer(&mut *file, &certificate).map_err(std::io::Error::from)?;
        writeln!(file)
    })?;
    let is_written = true;
    Ok(Certified { path, is_written })
}

/// Refuses a name that would make two lines of one, where each task is to have one.
fn check_names(flow: &Flow) -> Result<(), Failure> {
    let is_odd = |&t: &TaskId| !flow.name(t).chars().all(is_plain);
    match flow.dag().tasks().find(is_odd) {
        None => Ok(()),
        Some(task) => {
            let name = plain(flow.name(task));
            Err(Failure::usage(
                format!("the name of task '{name}' has characters that do not fit on a line"),
                "--json gives the order with every name as it is",
            ))
        }
    }
}

/// One task a line, for machines, so with names and no labels.
fn print_order(flow: &Flow, order: &[TaskId]) -> Result<(), Failure> {
    write_file(Path::new("-"), |out| {
        (order.iter()).try_for_each(|&t| writeln!(out, "{}", flow.name(t)))
    })
}

fn round(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

fn reach(plan: &Plan<'_>, order: Vec<TaskId>) -> Reached {
    let profile = plan.profile_of(&order);
    Reached { order, profile }
}

/// What each of the other policies reaches.
fn baselines(flow: &Flow, found: &Found<'_>) -> Vec<Beside> {
    let all = [
        Policy::Fifo,
        Policy::CriticalPath,
        Policy::Lifo,
        Policy::Outdegree,
        Policy::Memory,
    ];
    let seconds = flow.imputed_seconds();
    let orders = orders::Orders::new(flow.dag(), seconds.as_deref(), None);
    let of = |p| {
        let reached = reach(&found.plan, orders.of(p));
        Beside {
            name: name(&p),
            area: area(&reached.profile),
            peak: memory::peak(flow.dag(), &reached.order),
            disk: found.disk.as_ref().map(|d| d.peak_of(&reached.order)),
        }
    };
    // Side by side: there are five of them, and each goes through the whole dag.
    all.into_par_iter().map(of).collect()
}
