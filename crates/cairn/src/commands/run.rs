//! `cairn run`: the whole workflow here, now; again goes on where it stopped.

pub(super) mod disk;
mod family;
mod programs;
mod report;
mod saved;
pub(super) mod tight;

use self::programs::Programs;
pub(super) use self::programs::fingerprint;
use self::report::Reporter;
use super::caps;
use super::contender::name;
use super::family::Wanted;
use super::lookout::{Lookout, Workers};
use crate::called;
use crate::cli;
use crate::failure::{Failure, INTERRUPTED_CODE};
use crate::input;
use crate::limits;
use crate::logs;
use crate::output::Output;
use crate::screen;
use crate::states;
use cairn_dag::{Flow, TaskId, plain};
use cairn_engine::{Keeper, Offer, Rules, Task};
use cairn_formats::{Format, Jobs, Source, Template, closest, size};
use cairn_serve::run::{
    DiskSetup, Orders, RulesError, RunError, Setup, Summary, Wishes, machine_memory, rules,
};
use cairn_serve::store::{Store, Sync};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to run, and how, checked.
pub(crate) struct Settings {
    flags: cli::Run,
    cpus: u32,
    pools: Vec<(String, u32)>,
    memory: Option<u64>,
    disk: Option<caps::Disk>,
    template: Option<Template>,
    state: PathBuf,
    input: cli::Input,
    family: Option<Wanted>,
}

impl Settings {
    pub(crate) fn new(flags: cli::Run) -> Result<Settings, Failure> {
        let cpus = match flags.jobs {
            None => std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            Some(jobs) => (u32::try_from(jobs).ok().filter(|&n| n > 0)).ok_or_else(|| {
                Failure::usage(
                    format!("-j {jobs} leaves nobody to do the work"),
                    "give 1 or more",
                )
            })?,
        };
        let pools: Result<_, Failure> = flags.pool.iter().map(|text| pool(text)).collect();
        let memory = match &flags.memory {
            None => None,
            Some(text) => Some(size::parse(text).ok_or_else(|| {
                Failure::usage(
                    format!("--memory {} is no size", plain(text)),
                    "give bytes with a unit, such as --memory 16GB",
                )
            })?),
        };
        let input = cli::Input {
            file: flags.file.clone().unwrap_or_default(),
            format: flags.format.clone(),
        };
        let template = template(flags.run.as_deref())?;
        let family = flags.family.as_deref();
        Ok(Settings {
            cpus,
            pools: pools?,
            memory,
            disk: disk::checked(&flags.disk, flags.safety, flags.ignore_files)?,
            family: Wanted::new(family, flags.until_level, template.as_ref())?,
            template,
            state: match (&flags.state, &flags.family) {
                (Some(state), _) => state.clone(),
                (None, Some(family)) => states::of_family(family),
                (None, None) => states::of_file(&input.file)?,
            },
            input,
            flags,
        })
    }
}

/// The command of tasks that have none.
pub(super) fn template(line: Option<&str>) -> Result<Option<Template>, Failure> {
    let template = line.map(|line| {
        let cure = "such as --run './simulate --seed {name}'";
        Template::new(line)
            .map_err(|e| Failure::usage(format!("--run: {}", plain(&e.to_string())), cure))
    });
    template.transpose()
}

pub(super) fn pool(text: &str) -> Result<(String, u32), Failure> {
    let wrong = || {
        Failure::usage(
            format!("--pool {} is no name and number", plain(text)),
            "such as --pool licence=4",
        )
    };
    let (name, many) = text.rsplit_once('=').ok_or_else(wrong)?;
    let many = many.trim().parse().map_err(|_| wrong())?;
    match name.trim() {
        "" => Err(wrong()),
        name => Ok((name.to_owned(), many)),
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    saved::check(settings)?;
    if let Some(family) = &settings.family {
        return family::run(settings, family, out);
    }
    let flags = &settings.flags;
    let executed = cli::Executed {
        executed: String::new(),
        no_rescue: flags.no_rescue,
    };
    let whole = input::open_whole(&settings.input, &executed, out)?;
    let mut report = whole.report.clone();
    let flow = Arc::new(logs::timed(whole.flow, &flags.times, out)?);
    let template = settings.template.clone();
    let jobs = Jobs::of(
        &whole.source,
        whole.format,
        Arc::clone(&flow),
        template,
        &mut report,
    );
    let Some(jobs) = jobs else {
        return Err(Failure::Input(report));
    };
    out.new_warnings(&report, &whole.report);
    let programs = Programs::new(jobs);
    let wanted = wanted(&flow, flags)?;
    let memory = settings.memory.or_else(machine_memory);
    let rules = make_rules(settings, &flow, memory, &programs, whole.format)?;
    let minds_files = !flags.ignore_files && names_real_files(whole.format);
    let lookout = Lookout {
        flow: Arc::clone(&flow),
        policy: flags.policy,
        workers: Workers::Here(settings.cpus),
        earlier: (!flags.times.no_learnt_times).then(|| settings.state.clone()),
    };
    let quick = || lookout.quick();
    let part = disk::Part {
        flow: &flow,
        wanted: wanted.as_deref(),
        safety: flags.safety,
    };
    let layout = disk::layout(
        settings.disk.as_ref(),
        &part,
        minds_files,
        &quick,
        &|said| {
            out.remark(said);
        },
    )?;
    let planner = |keeper: &mut Keeper, time| part.plan(settings.disk.as_ref(), keeper, time);
    let reported = flags.report.as_ref().map(|_| rules.clone());
    let (_scrap, store) = open_store(settings)?;
    let finished = Arc::new(AtomicBool::new(false));
    let priorities = |keeper: &Keeper| tight::look(&flow, keeper, settings.cpus, &finished);
    let mut better = || lookout.begin(&finished);
    let orders = Orders {
        policy: name(&flags.policy),
        quick: &quick,
        better: &mut better,
        patience: lookout.patience(),
    };
    let setup = Setup {
        flow: &flow,
        work: &programs,
        done: &whole.is_executed,
        wanted: wanted.clone(),
        only_failed: flags.rerun_failed,
        rules,
        offer: Offer {
            memory,
            tags: flags.label.clone(),
            ..Offer::cpus(settings.cpus)
        },
        // A record of an earlier run says what was taken, not what may be.
        limits_memory: whole.format != Format::WfFormat,
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
        &mut |at, news, counts| {
            reporter.hear(at, news, counts);
        },
    );
    finished.store(true, Ordering::Relaxed);
    reporter.close();
    let summary = ran.map_err(refused)?;
    if whole.format == Format::Dagman && !flags.dry_run {
        write_rescue(&whole.source, &flow, &summary, out);
    }
    if let Some(rules) = &reported {
        let name = whole.source.name();
        saved::write_flow(settings, &flow, rules, name, &summary, out);
    }
    reporter.finish(&summary)?;
    match flags.dry_run {
        true => Ok(()),
        false => verdict(&summary),
    }
}

/// What the program returns after a run.
fn verdict(summary: &Summary) -> Result<(), Failure> {
    match (summary.is_complete, summary.halted) {
        (true, _) => Ok(()),
        (_, Some(exit)) => Err(Failure::Code(u8::try_from(exit).unwrap_or(1))),
        _ if summary.was_stopped => Err(Failure::Code(INTERRUPTED_CODE)),
        _ => Err(Failure::No),
    }
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

/// What to do where a family's state is of another command.
pub(super) const OTHER_COMMAND: &str = "go on with that command (what it starts may change), or begin again with another --state: executed tasks of a family are not known one by one, and none could be executed again";

fn refused(error: RunError) -> Failure {
    let help: &str = match &error {
        RunError::Store(_) | RunError::System(_) => "",
        RunError::Other { .. } => "give it a folder of its own with --state",
        RunError::OtherCommand { .. } => OTHER_COMMAND,
        RunError::Stopped(_) => "mend that; the same command goes on from there",
        RunError::NoInput { .. } => {
            "make it, or leave declared files out of it with --ignore-files"
        }
        RunError::Cap(unkept) => &unkept.cure,
        RunError::NotOpen { .. } => "name that one too, or use --until",
    };
    Failure::usage(plain(&error.to_string()).into_owned(), help.to_owned())
}

/// The store; for a dry run without one, an empty one that nobody sees.
fn open_store(settings: &Settings) -> Result<(Option<tempfile::TempDir>, Store), Failure> {
    let sync = match settings.flags.sync {
        cli::Sync::Full => Sync::Full,
        cli::Sync::Normal => Sync::Normal,
    };
    let mut scrap = None;
    let mut folder = settings.state.as_path();
    if settings.flags.dry_run && !folder.join(cairn_serve::store::FILE).exists() {
        let made = tempfile::tempdir();
        let made = made.map_err(|e| Failure::writing("a temporary folder", &e))?;
        folder = scrap.insert(made).path();
    }
    let store = Store::create_or_open(folder, sync)
        .map_err(|e| Failure::usage(plain(&e.to_string()).into_owned(), ""))?;
    Ok((scrap, store))
}

/// By task whether it is to be executed now; `None` where all are.
fn wanted(flow: &Flow, flags: &cli::Run) -> Result<Option<Vec<bool>>, Failure> {
    let dag = flow.dag();
    let (flag, words) = match (flags.until.is_empty(), flags.only.is_empty()) {
        (true, true) => return Ok(None),
        (false, _) => ("--until", &flags.until),
        _ => ("--only", &flags.only),
    };
    let mut wanted = vec![false; dag.len()];
    for word in words {
        let task = called::meant(flow, flag, word)?.ok_or_else(|| {
            let names = dag.tasks().map(|t| flow.name(t));
            let help = match closest(word, names) {
                Some(near) => format!("did you mean '{}'?", plain(near)),
                None => "names are case-sensitive".to_owned(),
            };
            let message = format!(
                "{flag} names '{}', which is no task of the input",
                plain(word)
            );
            Failure::usage(message, help)
        })?;
        wanted[task.index()] = true;
    }
    if flag == "--until" {
        for &task in dag.topological_order().iter().rev() {
            let mut children = dag.children(task).iter();
            wanted[task.index()] |= children.any(|c| wanted[c.index()]);
        }
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
        failures: flags.keep_going.unwrap_or(1),
        labels: Some(flags.label.clone()),
    };
    rules_for(flow, &wishes, programs.jobs(), format)
}

/// The rules for a run, or what can never be fulfilled.
pub(super) fn rules_for(
    flow: &Flow,
    wishes: &Wishes,
    jobs: &Jobs,
    format: Format,
) -> Result<Rules, Failure> {
    let mut rules = rules(flow, wishes).map_err(|error| {
        let help = match &error {
            RulesError::UnknownPool { pool, amount, .. } => {
                format!("say how much there is, such as --pool {pool}={amount}")
            }
            RulesError::PoolTooSmall { pool, amount, .. } => {
                format!("give more, such as --pool {pool}={amount}")
            }
            RulesError::UnusedPool(_) => "leave it out, or mend its name".to_owned(),
            RulesError::Tag { tag, .. } => {
                format!("if this machine has it, say so: --label '{tag}'; else serve the workflow to workers that do")
            }
            RulesError::Memory { .. } => "correct what the workflow says, or --memory".to_owned(),
        };
        Failure::usage(
            plain(&error.to_string()).into_owned(),
            plain(&help).into_owned(),
        )
    })?;
    if format == Format::Dagman {
        for task in flow.dag().tasks() {
            let job = jobs.job(task);
            if let Some(exit) = job.never_retry_on {
                rules.never_retry_on.insert(Task::from(task), exit);
            }
            if let Some(abort) = job.abort_on {
                rules
                    .halt_on
                    .insert(Task::from(task), (abort.exit, abort.returned));
            }
        }
    }
    Ok(rules)
}

/// Whether files that tasks declare are meant to be here. Those of records of runs and of Pegasus are names of things that
/// were, or are, elsewhere.
pub(super) fn names_real_files(format: Format) -> bool {
    matches!(
        format,
        Format::FlowToml | Format::FlowJson | Format::FlowJsonLines | Format::Makeflow
    )
}
