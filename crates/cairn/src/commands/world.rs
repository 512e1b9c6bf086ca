//! From flags to a simulated world with its durations, and the simulation itself with a bar. Knows no policy.

mod kinds;

pub(crate) use self::kinds::refused;
use self::kinds::{
    BATCH, HELP, Named, WORKERS, batches, is_volatile, pool, recorded, throttled, trace,
};
use super::contender::name;
use crate::cli::{self, WorldName};
use crate::failure::Failure;
use crate::limits::{Clock, is_interrupted};
use crate::logs;
use crate::output::Output;
use crate::plural::counted;
use crate::spread::{self, Durations};
use cairn_dag::Flow;
use cairn_plan::Work;
use cairn_sim::{
    ArcBytes, Options, Policy, SimulateError, Spread, Study, Trace, Workload, World, mean_time,
};

/// The durations of the published study.
pub(crate) const STUDY_WORDS: &str = "Normal(1, 0.1)";

/// A world as the flags give it, checked.
pub(crate) struct Settings {
    flags: cli::World,
    name: WorldName,
    /// The record that a trace plays, with the name of its file.
    trace: Option<(String, Trace)>,
    /// The flags that logs came to, in words.
    fitted: Option<String>,
}

impl Settings {
    pub(crate) fn new(flags: cli::World) -> Result<Settings, Failure> {
        // Each step in the words of the next: speeds, then what logs say, then slots.
        let (flags, fitted) = from_logs(unequal(flags)?)?;
        let flags = slotted(flags)?;
        let name = flags.world.unwrap_or(WorldName::Batches);
        refuse_strangers(&flags, name)?;
        let trace = match name {
            WorldName::Trace => Some(recorded(&flags)?),
            _ => None,
        };
        let settings = Settings {
            flags,
            name,
            trace,
            fitted,
        };
        // Whatever is wrong with the numbers shows when the world is made, whatever tasks take in it.
        settings.world(1.0)?;
        check_durations(settings.flags.durations)?;
        check_noise(&settings.flags)?;
        Ok(settings)
    }

    /// Where the workers of this world never go away; none where they never do anyway, or where they are not a pool.
    pub(crate) fn steady(&self) -> Option<Settings> {
        let flags = cli::World {
            up: None,
            down: None,
            walltime: None,
            join: None,
            stay: None,
            ..self.flags.clone()
        };
        let comes_and_goes = self.name == WorldName::Pool && is_volatile(&self.flags);
        comes_and_goes.then_some(Settings {
            flags,
            name: self.name,
            trace: None,
            fitted: None,
        })
    }

    /// The flags that logs came to, in words.
    pub(crate) fn fitted(&self) -> Option<&str> {
        self.fitted.as_deref()
    }

    /// Says how the workers were found, where logs tell that, and what is taken for nothing.
    pub(crate) fn tell(&self, scene: &Scene, out: &Output) {
        let remarks = [self.fitted.clone(), scene.doubt()];
        remarks.iter().flatten().for_each(|words| out.remark(words));
    }

    /// How many workers there are at all, where that is known.
    pub(crate) fn all_workers(&self) -> Option<u32> {
        match (self.name, &self.trace) {
            (WorldName::Trace, Some((_, trace))) => u32::try_from(trace.workers()).ok(),
            (WorldName::Pool, _) if self.flags.join.is_none() => {
                Some(self.flags.workers.unwrap_or(WORKERS))
            }
            _ => None,
        }
    }

    /// Whether the workers are those of a record.
    pub(crate) fn is_recorded(&self) -> bool {
        self.trace.is_some()
    }

    /// The workers in a few words.
    fn place(&self) -> String {
        let flags = &self.flags;
        let workers = flags.workers.unwrap_or(WORKERS) as usize;
        let kind = if flags.was_slots { "slot" } else { "worker" };
        match (self.name, &self.trace) {
            (WorldName::Batches, _) => {
                let size = flags.size.unwrap_or(BATCH);
                format!("workers that come in batches of {size}")
            }
            (WorldName::Throttled, _) => counted(workers, "slot"),
            (WorldName::Trace, Some((file, _))) => format!("the workers of {file}"),
            (WorldName::Pool | WorldName::Trace, _) => match is_volatile(flags) {
                true => format!("{} that come and go", counted(workers, kind)),
                false if flags.nobody_vouches => counted(workers, "volunteer"),
                false => counted(workers, kind),
            },
        }
    }

    /// The world for tasks that take so long on the mean.
    fn world(&self, mean: f64) -> Result<Named, Failure> {
        match (self.name, &self.trace) {
            (WorldName::Batches, _) => batches(&self.flags, mean),
            (WorldName::Throttled, _) => throttled(&self.flags),
            (WorldName::Trace, Some((file, record))) => trace(&self.flags, file, record, mean),
            (WorldName::Pool | WorldName::Trace, _) => pool(&self.flags, mean),
        }
    }

    /// The scene in which a flow is played.
    pub(crate) fn scene(&self, flow: &Flow) -> Result<Scene, Failure> {
        let flags = &self.flags;
        let Taken {
            mut work,
            seconds,
            words: durations,
            mean,
        } = noisy(durations(flags.durations, flow)?, flags)?;
        let (world, words) = self.world(mean)?;
        if flags.cores.is_some() {
            let cores = flow.dag().tasks().map(|t| flow.cpus(t).unwrap_or(1));
            work = work.with_cores(cores.collect()).map_err(refused)?;
        }
        let mut unknown_sizes = None;
        if flags.bandwidth.is_some() || flags.latency.is_some() {
            let ArcBytes { bytes, unknown } = bytes(flow)?;
            work = work.with_bytes(bytes).map_err(refused)?;
            unknown_sizes = Some(unknown);
        }
        Ok(Scene {
            world,
            work,
            seconds,
            place: self.place(),
            words,
            durations,
            unknown_sizes,
        })
    }
}

/// Refuses durations that nothing can have.
pub(crate) fn check_durations(wanted: Option<Durations>) -> Result<(), Failure> {
    match wanted {
        Some(Durations::Drawn(spread)) => Workload::drawn(spread).map(|_| ()).map_err(refused),
        _ => Ok(()),
    }
}

/// Refuses noise that is none, or on durations that are drawn anyway.
pub(crate) fn check_noise(flags: &cli::World) -> Result<(), Failure> {
    let Some(sigma) = flags.noise else {
        return Ok(());
    };
    // e¹⁰: a factor of twenty thousand either way is no noise any more.
    if !(0.0..=10.0).contains(&sigma) {
        return Err(Failure::usage(
            format!("--noise {sigma} is no sigma of a log-normal factor"),
            "give a number from 0 to 10; 0.3 is give or take some 30 %",
        ));
    }
    match flags.durations {
        // They differ from run to run already.
        Some(Durations::Drawn(_) | Durations::Study) => Err(Failure::usage(
            "--noise means nothing where durations are drawn from a distribution",
            "leave out one of the two",
        )),
        _ => Ok(()),
    }
}

/// The durations, known only as estimates where noise is asked for.
pub(crate) fn noisy(taken: Taken, flags: &cli::World) -> Result<Taken, Failure> {
    let Some(sigma) = flags.noise else {
        return Ok(taken);
    };
    let factor = Spread::LogNormal { median: 1.0, sigma };
    // Where nothing is known of durations, the noise is all there is.
    let (work, known) = match taken.seconds {
        Some(_) => (taken.work, taken.words),
        None => (Workload::unit(), "1 each".to_owned()),
    };
    Ok(Taken {
        work: work.times(factor).map_err(refused)?,
        words: format!("{known} times {}", spread::words(factor)),
        ..taken
    })
}

/// The workers of logs as flags; those that are given beside them come first.
fn from_logs(mut flags: cli::World) -> Result<(cli::World, Option<String>), Failure> {
    if flags.world_from.is_empty() {
        return Ok((flags, None));
    }
    if let Some(world @ (WorldName::Batches | WorldName::Trace)) = flags.world {
        return Err(Failure::usage(
            format!("--world-from makes no world '{}'", name(&world)),
            "leave out --world, or choose --world pool or throttled",
        ));
    }
    let fitted = logs::fit(&flags.world_from)?;
    let words = format!("workers as in the log: {}", logs::typed(&fitted));
    let seen = logs::world(&fitted);
    // Slots that are given are a queue, or a pool with what else is known of it.
    if flags.slots.is_none() {
        flags.world = flags.world.or(seen.world);
        flags.slots = seen.slots.filter(|_| flags.workers.is_none());
        flags.workers = flags.workers.or(seen.workers);
    }
    flags.cores = flags.cores.or(seen.cores);
    flags.join = flags.join.or(seen.join);
    flags.stay = flags.stay.or(seen.stay);
    flags.up = flags.up.or(seen.up.filter(|_| flags.walltime.is_none()));
    flags.down = flags.down.or(seen.down);
    flags.speed = flags.speed.or(seen.speed);
    Ok((flags, Some(words)))
}

/// `--speeds` in the words of `--speed`.
fn unequal(mut flags: cli::World) -> Result<cli::World, Failure> {
    if let Some(sigma) = flags.speeds.take() {
        // e⁵: machines that differ by a factor of 150 are not one pool.
        if !(0.0..=5.0).contains(&sigma) {
            return Err(Failure::usage(
                format!("--speeds {sigma} is no spread of speeds"),
                "give 0 for equal workers, 0.3 for machines of one make, 0.7 to 1 for a mixed lot",
            ));
        }
        flags.speed = Some(match sigma > 0.0 {
            true => Spread::LogNormal { median: 1.0, sigma },
            false => Spread::Constant(1.0),
        });
    }
    Ok(flags)
}

/// `--slots` in the words of the worlds: a queue, or a pool where anything is said that only pools know.
fn slotted(mut flags: cli::World) -> Result<cli::World, Failure> {
    let Some(slots) = flags.slots.take() else {
        return Ok(flags);
    };
    if let Some(world @ (WorldName::Batches | WorldName::Trace)) = flags.world {
        return Err(Failure::usage(
            format!("--slots means nothing in the world '{}'", name(&world)),
            "leave out --world, or choose --world throttled or pool",
        ));
    }
    let mut given = given(&flags).into_iter();
    let only_pools = given.any(|(_, worlds)| !worlds.contains(&WorldName::Throttled));
    flags.world = flags.world.or(Some(match only_pools {
        true => WorldName::Pool,
        false => WorldName::Throttled,
    }));
    flags.workers = Some(slots);
    flags.was_slots = true;
    Ok(flags)
}

/// A world, what tasks take in it, and both in words.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) work: Workload,
    /// What a scheduler knows of durations; none if they are alike.
    pub(crate) seconds: Option<Vec<f64>>,
    /// The workers in a few words, after "on".
    pub(crate) place: String,
    pub(crate) words: String,
    pub(crate) durations: String,
    /// Files that pass from task to task without a size; none where nothing travels.
    pub(crate) unknown_sizes: Option<usize>,
}

impl Scene {
    /// What the input does not say and the simulation takes for nothing, if anything.
    pub(crate) fn doubt(&self) -> Option<String> {
        let unknown = self.unknown_sizes.filter(|&files| files > 0)?;
        Some(format!(
            "warning: the input gives no size of {} from task to task: what is missing counts as 0 bytes, and travels \
             in no time but the latency's",
            match unknown {
                1 => "1 file that passes".to_owned(),
                files => format!("{files} files that pass"),
            }
        ))
    }
}

/// Plays all policies in the scene: all runs, or as many as can be made in time.
pub(crate) fn simulate(
    scene: &Scene,
    flow: &Flow,
    policies: &[Policy],
    options: &Options<'static>,
    clock: &Clock,
    out: &Output,
) -> Result<Study, Failure> {
    let bar = out.bar("runs", options.runs);
    let tick = |done: usize| bar.at(done);
    let stop = clock.stop();
    let options = Options {
        progress: Some(&tick),
        work: Work::until(&stop),
        ..options.clone()
    };
    let study = cairn_sim::simulate(flow.dag(), &scene.work, &scene.world, policies, &options);
    done(study, flow)
}

/// What simulations came to, unless somebody pressed Ctrl-C meanwhile.
pub(crate) fn done<T>(made: Result<T, SimulateError>, flow: &Flow) -> Result<T, Failure> {
    go_on()?;
    made.map_err(|error| failed(&error, flow))
}

/// The library's options, without progress; no simulation can have some numbers.
pub(crate) fn options(runs: &cli::Runs) -> Result<Options<'static>, Failure> {
    if runs.runs == Some(0) {
        return Err(Failure::usage(
            SimulateError::NoRuns.to_string(),
            "give at least --runs 1; intervals need 2 or more",
        ));
    }
    match runs.precision {
        Some(p) if !(p.is_finite() && p > 0.0) => Err(Failure::usage(
            format!("--precision {p} is no share above zero"),
            "give a share of the ratio such as --precision 0.01",
        )),
        precision => {
            let usual = Options::default();
            Ok(Options {
                runs: runs.runs.unwrap_or(usual.runs),
                seed: runs.seed.unwrap_or(usual.seed),
                precision,
                ..usual
            })
        }
    }
}

/// Ctrl-C ends a simulation without an answer.
pub(crate) fn go_on() -> Result<(), Failure> {
    match is_interrupted() {
        true => Err(Failure::Interrupted("the simulation is not done")),
        false => Ok(()),
    }
}

/// The error with names instead of numbers of tasks.
pub(crate) fn failed(error: &SimulateError, flow: &Flow) -> Failure {
    let message = match error {
        SimulateError::TaskTooLarge { task, cores, has } => {
            let task = flow.shown(*task);
            format!("task '{task}' needs {cores} cores, but a worker has {has}")
        }
        SimulateError::NeverFinishes(long) => long.words(&flow.shown(long.task)),
        other => other.to_string(),
    };
    let help = match error {
        SimulateError::NeverFinishes(_) => {
            "let workers be up longer (--up, --stay, or another trace), or faster (--speed)"
        }
        SimulateError::OutOfTime { .. } => {
            "give a longer --time-limit, or fewer --policies; --quick leaves more of it to the runs"
        }
        _ => HELP,
    };
    Failure::usage(message, help)
}

/// Every flag of a world that was given, with the worlds that know it.
fn given(flags: &cli::World) -> Vec<(&'static str, &'static [WorldName])> {
    use WorldName::{Batches, Pool, Throttled, Trace};
    let all: [(bool, &str, &[WorldName]); 23] = [
        (flags.gap.is_some(), "--gap", &[Batches]),
        (flags.size.is_some(), "--size", &[Batches]),
        (
            !flags.world_from.is_empty(),
            "--world-from",
            &[Pool, Throttled],
        ),
        (flags.slots.is_some(), "--slots", &[Pool, Throttled]),
        (flags.workers.is_some(), "--workers", &[Pool, Throttled]),
        (flags.walltime.is_some(), "--walltime", &[Pool]),
        (flags.submitted.is_some(), "--submitted", &[Throttled]),
        (flags.up.is_some(), "--up", &[Pool]),
        (flags.down.is_some(), "--down", &[Pool]),
        (flags.join.is_some(), "--join", &[Pool]),
        (flags.stay.is_some(), "--stay", &[Pool]),
        (flags.trace.is_some(), "--trace", &[Trace]),
        (flags.repeat, "--repeat", &[Trace]),
        (flags.speed.is_some(), "--speed", &[Pool, Trace]),
        (flags.cores.is_some(), "--cores", &[Pool, Trace]),
        (flags.bandwidth.is_some(), "--bandwidth", &[Pool, Trace]),
        (flags.latency.is_some(), "--latency", &[Pool, Trace]),
        (flags.lease.is_some(), "--lease", &[Pool, Trace]),
        (flags.tail.is_some(), "--tail", &[Pool, Trace]),
        (flags.nobody_vouches, "--volunteers", &[Pool, Trace]),
        (flags.natures.liars != 0.0, "--liars", &[Pool, Trace]),
        (
            flags.natures.vanishing != 0.0,
            "--vanishing",
            &[Pool, Trace],
        ),
        (flags.natures.slow != 0.0, "--slow", &[Pool, Trace]),
    ];
    let given = all.into_iter().filter(|(given, ..)| *given);
    given.map(|(_, flag, worlds)| (flag, worlds)).collect()
}

/// Whether anything is said of the workers.
pub(crate) fn is_stated(flags: &cli::World) -> bool {
    flags.world.is_some() || !given(flags).is_empty()
}

/// A flag that only matters to a simulation, if any was given.
pub(crate) fn first_flag(world: &cli::World, runs: &cli::Runs) -> Option<&'static str> {
    let general = [
        (world.world.is_some(), "--world"),
        (world.durations.is_some(), "--world-durations"),
        (world.noise.is_some(), "--noise"),
        (runs.runs.is_some(), "--runs"),
        (runs.seed.is_some(), "--seed"),
        (runs.precision.is_some(), "--precision"),
    ];
    let general = general.into_iter().filter(|(given, _)| *given);
    let own = given(world).into_iter().map(|(flag, _)| flag);
    general.map(|(_, flag)| flag).chain(own).next()
}

/// A setting of another world would be forgotten in silence: say so instead.
fn refuse_strangers(flags: &cli::World, world: WorldName) -> Result<(), Failure> {
    for (flag, worlds) in given(flags) {
        if !worlds.contains(&world) {
            let names: Vec<String> = worlds.iter().map(name).collect();
            return Err(Failure::usage(
                format!("{flag} means nothing in the world '{}'", name(&world)),
                format!("leave it out, or choose --world {}", names.join(" or ")),
            ));
        }
    }
    Ok(())
}

/// How long tasks take.
pub(crate) struct Taken {
    pub(crate) work: Workload,
    /// What a scheduler knows of it; none if they are alike.
    pub(crate) seconds: Option<Vec<f64>>,
    pub(crate) words: String,
    /// The mean, which is the unit of gaps and leases.
    pub(crate) mean: f64,
}

/// Durations from where they are wanted: by default from the file where it has any, else as in the published study.
pub(crate) fn durations(wanted: Option<Durations>, flow: &Flow) -> Result<Taken, Failure> {
    let known = flow.imputed_seconds();
    let wanted = wanted.unwrap_or(match known {
        Some(_) => Durations::File,
        None => Durations::Study,
    });
    let taken = |(work, mean), seconds: Option<Vec<f64>>, words: &str| Taken {
        work,
        mean,
        seconds,
        words: words.to_owned(),
    };
    match wanted {
        Durations::File => {
            let Some(known) = known else {
                return Err(Failure::usage(
                    "the input gives no durations",
                    "ask for unit, study or a distribution such as exp:60 instead of file",
                ));
            };
            let work = World::work_of(Some(&known)).map_err(refused)?;
            Ok(taken(work, Some(known), "from the file"))
        }
        Durations::Unit => Ok(taken((Workload::unit(), 1.0), None, "1 each")),
        Durations::Study => {
            let work = World::work_of(None).map_err(refused)?;
            Ok(taken(work, None, STUDY_WORDS))
        }
        Durations::Drawn(spread) => {
            let work = Workload::drawn(spread).map_err(refused)?;
            // Alike in expectation: the mean alone sets the scale of gaps and leases.
            let seconds = vec![spread.mean(); flow.dag().len()];
            let work = (work, mean_time(&seconds));
            Ok(taken(work, Some(seconds), &spread::words(spread)))
        }
    }
}

/// Bytes along arcs; without any, links would make no difference, which nobody who sets them expects.
fn bytes(flow: &Flow) -> Result<ArcBytes, Failure> {
    let bytes = cairn_sim::arc_bytes(flow);
    if bytes.bytes.iter().all(|&b| b == 0.0) {
        return Err(Failure::usage(
            "--bandwidth and --latency: the input gives no sizes of files that pass from task to task",
            "leave them out, or give outputs with sizes and the inputs that read them",
        ));
    }
    Ok(bytes)
}
