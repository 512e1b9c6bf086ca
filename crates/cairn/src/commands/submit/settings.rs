//! What `cairn submit` is asked, from its flags, checked. Reads no workflow.

use crate::cli;
use crate::commands::caps;
use crate::commands::contender;
use crate::commands::lookout::Workers;
use crate::commands::run::disk;
use crate::commands::runnable::template;
use crate::failure::Failure;
use crate::input::Named;
use crate::spare;
use crate::states;
use cairn_dag::plain;
use cairn_formats::Template;
use cairn_submit::slurm::{Instead, check};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Seconds between two looks at the queue that people may ask for.
// No controller is asked more than twenty times a second, whatever somebody types; and with more than an hour between two looks a task
// that could start waits longer than most take.
const POLLS: RangeInclusive<f64> = 0.05..=3600.0;

/// What to submit, and how, checked.
pub(crate) struct Settings {
    pub(super) flags: cli::Submit,
    pub(super) template: Option<Template>,
    pub(super) workers: Workers,
    pub(super) disk: Option<caps::Disk>,
    /// Where the state of the submission is kept, or what would be submitted is written.
    pub(super) folder: PathBuf,
}

impl Settings {
    pub(crate) fn new(flags: cli::Submit) -> Result<Settings, Failure> {
        let read = Named::of("the workflow", [&flags.input.file]).logs(&flags.times);
        read.and("a log", &flags.expected.world_from).checked()?;
        let template = template(flags.run.as_deref())?;
        if let Some(poll) = flags.slurm.poll.filter(|poll| !POLLS.contains(poll)) {
            return Err(Failure::usage(
                format!("--poll {poll} is not between 50ms and 1h"),
                "give a time such as --poll 10s",
            ));
        }
        let folder = match (&flags.output, &flags.state) {
            (Some(folder), _) | (None, Some(folder)) => folder.clone(),
            (None, None) => {
                let mut folder = states::of_file(&flags.input.file)?.into_os_string();
                // One an engine: a workflow may be handed to two of them.
                folder.push(format!("-{}", name(flags.engine)));
                folder.into()
            }
        };
        spare::can_be_folder(&folder)?;
        if flags.engine != cli::Engine::Slurm {
            let slurm_only = [
                ("--max-queued", flags.slurm.max_queued.is_some()),
                ("--nice", flags.slurm.nice),
                ("--sbatch", !flags.slurm.sbatch.is_empty()),
                ("--watch", flags.slurm.watch),
                ("--cancel", flags.slurm.cancel),
                ("--crew", flags.slurm.crew.is_some()),
                ("--poll", flags.slurm.poll.is_some()),
                ("--disk", flags.disk.disk.is_some()),
            ];
            if let Some((flag, _)) = slurm_only.iter().find(|(_, is_given)| *is_given) {
                return Err(Failure::usage(
                    format!("{flag} is for Slurm, not for {}", name(flags.engine)),
                    "leave it out, or give --engine slurm",
                ));
            }
        }
        let takes_files = matches!(flags.engine, cli::Engine::Pegasus | cli::Engine::Airflow);
        if takes_files && !flags.dry_run {
            return Err(Failure::usage(
                format!("{} takes files, not calls", name(flags.engine)),
                "write them with --dry-run -o FOLDER",
            ));
        }
        if flags.engine == cli::Engine::Slurm {
            checked(&flags.slurm.sbatch, flags.slurm.nice)?;
        }
        if flags.slurm.crew.is_some() && flags.input.file == Path::new("-") {
            return Err(Failure::usage(
                "the server of --crew reads the workflow by itself, and standard input is gone by then",
                "write it into a file, and name that",
            ));
        }
        let disk = disk::checked(&flags.disk, flags.safety, false)?;
        let why = match disk {
            Some(_) if flags.dry_run => Some(
                "--dry-run writes a script that nobody follows, and --disk needs somebody who does",
            ),
            Some(_) if flags.slurm.crew.is_some() => {
                Some("--crew has a server of its own, and --disk is not handed on to it")
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(Failure::usage(why, "leave one of them away"));
        }
        Ok(Settings {
            workers: Workers::expected(&flags.expected, flags.policy)?,
            flags,
            template,
            disk,
            folder,
        })
    }
}

pub(super) fn name(engine: cli::Engine) -> String {
    contender::name(&engine)
}

/// Checks what is handed to `sbatch`, and what it would take from the environment.
fn checked(options: &[String], is_nice: bool) -> Result<(), Failure> {
    if std::env::var_os("SBATCH_CLUSTERS").is_some() {
        return Err(Failure::usage(
            "the variable SBATCH_CLUSTERS sends jobs to a cluster whose queue is not looked at",
            "name the cluster in SLURM_CLUSTERS, which all of Slurm's programs read",
        ));
    }
    check(options, is_nice).map_err(|e| {
        let cure = match e.instead {
            Instead::Leave => "leave it out",
            Instead::Do(words) => words,
            Instead::LogsInState => "logs are beneath the folder of --state",
            Instead::Watch => "give --watch to cairn instead",
            Instead::DryRun => "give --dry-run -o FOLDER to cairn instead",
            Instead::OneWord => {
                "give an option and its value as one word, such as --sbatch=--partition=short"
            }
        };
        Failure::usage(format!("--sbatch={}", plain(&e.to_string())), cure)
    })
}
