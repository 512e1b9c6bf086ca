//! `cairn simulate`: what the order is worth on workers that come and go.

mod report;
mod tight;
mod volunteers;

use self::report::{Report, Steady};
use self::tight::Tight;
use self::volunteers::Vouched;
use super::auto::{self, Arena};
use super::caps;
use super::contender::{check_names, name, needs_plan, simulated};
use super::disk::Room;
use super::orders::{self, Orders, policy_of};
use super::pictures::{self, Kind};
use super::world::{self, Scene};
use crate::cli::{self, Contender, Wanted};
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::limits::{Clock, Limits};
use crate::logs;
use crate::output::Output;
use crate::screen;
use crate::spare;
use cairn_dag::TaskId;
use cairn_plan::{Plan, Work};
use cairn_sim::{Options, Picked};

const KINDS: [Kind; 4] = [Kind::Svg, Kind::Png, Kind::Html, Kind::Json];

/// Who plays where, how often, and what is written, checked.
pub(crate) struct Settings {
    flags: cli::Simulate,
    world: world::Settings,
    options: Options<'static>,
    kinds: Vec<Kind>,
    disk: Option<caps::Disk>,
    /// What steady workers cost an hour, and their world.
    steady: Option<(f64, world::Settings)>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(mut flags: cli::Simulate) -> Result<Settings, Failure> {
        if flags.dispatch == Some(cli::DispatchRule::Aware)
            && !flags.policies.contains(&Contender::Aware)
        {
            // First, so that all ratios are of it.
            flags.policies.insert(0, Contender::Aware);
        }
        let world = cli::World {
            durations: flags.durations,
            ..flags.world.clone()
        };
        check_names(&flags.policies)?;
        check_questions(&flags)?;
        check_files(&flags)?;
        let world = world::Settings::new(volunteers::place(&flags.volunteers, world))?;
        volunteers::check(&flags, &world)?;
        let steady = |price| Ok((price, steady_world(&world)?));
        Ok(Settings {
            steady: flags.questions.steady_price.map(steady).transpose()?,
            limits: Limits::new(&flags.limits)?,
            options: world::options(&flags.runs)?,
            kinds: pictures::kinds(&flags.out, &KINDS)?,
            disk: caps::Disk::new(&flags.disk)?,
            world,
            flags,
        })
    }

    /// The plan, where some policy goes by it; half of the time is for the runs.
    fn planned<'f>(
        &self,
        read: &'f Read,
        clock: &Clock,
        out: &Output,
    ) -> Result<Option<Plan<'f>>, Failure> {
        if !self.flags.policies.iter().any(|&c| needs_plan(c)) {
            return Ok(None);
        }
        let _progress = out.progress("planning");
        let plan = orders::make(&read.flow, self.flags.choices, &self.limits, &clock.half());
        world::go_on()?;
        Ok(Some(plan))
    }

    /// What `auto` stands for where the disk has no cap.
    fn chosen(
        &self,
        read: &Read,
        plan: &Plan<'_>,
        scene: &Scene,
        clock: &Clock,
        out: &Output,
    ) -> Result<Picked, Failure> {
        let _progress = out.progress("choosing a policy");
        // Not the runs that are shown: they would flatter the choice.
        let seed = self.options.seed.wrapping_add(1);
        auto::pick_within_budget(&read.flow, plan, &Arena::of(scene), seed, &clock.half())
    }

    /// The world for this flow; what is to be said of it is said.
    fn scene(&self, read: &Read, out: &Output) -> Result<Scene, Failure> {
        let mut scene = self.world.scene(&read.flow)?;
        if read.timed.is_some() {
            scene.durations = (scene.durations).replacen("from the file", "from the logs", 1);
        }
        self.world.tell(&scene, out);
        Ok(scene)
    }
}

/// The same world with workers that stay.
fn steady_world(world: &world::Settings) -> Result<world::Settings, Failure> {
    world.steady().ok_or_else(|| {
        Failure::usage(
            "--steady-price compares with workers that stay, and these stay anyway",
            "leave it out, or say how workers come and go: --up and --down, --stay or --walltime",
        )
    })
}

/// One workflow is read, and nothing that is read is written over.
fn check_files(flags: &cli::Simulate) -> Result<(), Failure> {
    if let Some(second) = flags.more.first() {
        return Err(Failure::usage(
            format!(
                "{} is one workflow more than is played",
                screen::path(second)
            ),
            "give one, or play all of them with --grid or --pools",
        ));
    }
    let read = Named::new(&flags.input, &flags.executed).logs(&flags.times);
    let read = read.world(&flags.world).checked()?;
    let cure = "name another file for what is written";
    (flags.out.iter()).try_for_each(|path| {
        spare::none_of(&read.paths(), path, cure)?;
        spare::has_folder(path)
    })
}

/// Refuses prices and deadlines that nothing can have.
fn check_questions(flags: &cli::Simulate) -> Result<(), Failure> {
    for (name, value) in [
        ("--price", flags.questions.price),
        ("--steady-price", flags.questions.steady_price),
    ] {
        if let Some(price) = value.filter(|p| !(p.is_finite() && *p >= 0.0)) {
            return Err(Failure::usage(
                format!("{name} {price} is no price"),
                "give what a worker costs an hour, such as --price 0.05",
            ));
        }
    }
    match flags
        .questions
        .deadline
        .filter(|d| !(d.is_finite() && *d > 0.0))
    {
        Some(deadline) => Err(Failure::usage(
            format!("--deadline {deadline} is no time above zero"),
            "give a time such as --deadline 8h",
        )),
        None => Ok(()),
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let Settings { flags, options, .. } = settings;
    let clock = settings.limits.clock();
    let read = input::read_rest(&flags.input, &flags.executed, out)?;
    let read = logs::apply(read, &flags.times, &flags.input, out)?;
    let scene = settings.scene(&read, out)?;
    let (dag, flow) = (read.flow.dag(), &read.flow);
    cairn_sim::check(dag, &scene.work, &scene.world, options.seed)
        .map_err(|e| world::failed(&e, flow))?;
    let folder = input::folder(&flags.input);
    let room = Room::new(
        settings.disk.as_ref(),
        &read,
        folder,
        &Work::until(&clock.stop()),
        out,
    )?;
    let plan = settings.planned(&read, &clock, out)?;
    let is_auto = flags.policies.contains(&Contender::Listed(Wanted::Auto));
    let chosen = match &plan {
        Some(plan) if is_auto && settings.disk.is_none() => {
            Some(settings.chosen(&read, plan, &scene, &clock, out)?)
        }
        _ => None,
    };
    let orders = Orders::new(read.flow.dag(), scene.seconds.as_deref(), plan.as_ref());
    // After the choice without a cap, which it replaces: under one, lists are chosen by what the disk allows.
    let tight = room.map(|room| {
        let (has_plan, effort) = (plan.is_some(), (options, &clock));
        Tight::new((&read, room), &orders, has_plan, &scene, effort, out)
    });
    let tight = tight.transpose()?;
    let auto: &[TaskId] = match (&tight, &chosen) {
        (Some(tight), _) => tight.chosen().1,
        (None, Some(chosen)) => &chosen.order,
        (None, None) => &[],
    };
    let vouched = Vouched::new(flags, &read.flow, &scene);
    let free: Vec<_> = match &vouched {
        Some(vouched) => vouched.policies(&flags.policies, &orders, auto),
        None => {
            let contenders = flags.policies.iter();
            contenders.map(|&c| simulated(c, &orders, auto)).collect()
        }
    };
    // The free ones stay: what starting whatever fits would do is told beside them.
    let policies: Vec<_> = match &tight {
        Some(tight) => free.iter().map(|p| tight.within(p.clone())).collect(),
        None => free.clone(),
    };
    let study = world::simulate(&scene, &read.flow, &policies, options, &clock, out)?;
    let told = (tight.as_ref())
        .map(|tight| tight.tell(&free, &read, &scene, (options, &clock), out))
        .transpose()?;
    let steady = settings.steady.as_ref().map(|(price, world)| {
        let scene = world.scene(&read.flow)?;
        let study = world::simulate(&scene, &read.flow, &policies[..1], options, &clock, out)?;
        let price = *price;
        Ok(Steady { price, study })
    });
    let report = Report {
        deadline: flags.questions.deadline,
        price: flags.questions.price,
        tells_results: volunteers::is_told(&flags.volunteers),
        fitted: settings.world.fitted(),
        steady: steady.transpose()?,
        read: &read,
        scene: &scene,
        study: &study,
        asked: options.runs,
        policies: free.iter().map(|p| p.name().to_owned()).collect(),
        vouched: vouched.as_ref(),
        chosen: match &tight {
            Some(tight) => is_auto.then(|| tight.chosen().0.to_owned()),
            None => chosen.map(|c| name(&policy_of(c.rule))),
        },
        told,
    };
    let value = report.json();
    for (path, &kind) in flags.out.iter().zip(&settings.kinds) {
        report.write(path, kind, &value)?;
        out.remark(&format!("wrote {}", screen::path(path)));
    }
    out.answer(&value, &report.text())
}
