//! `--policy auto`: the policy that is fastest in simulations of the workers at hand, and by how much. Knows no bounds.

use super::contender::name;
use super::estimates::{less_or_more, ratio_json};
use super::orders::{Orders, policy_of};
use super::world::{self, Scene};
use crate::cli::{self, Policy, Wanted};
use crate::failure::Failure;
use crate::limits::Clock;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::{Flow, TaskId};
use cairn_plan::policy::Rule;
use cairn_plan::{Plan, Work};
use cairn_sim::{Options, Picked, Plays, Ratio, World, joint_ratio, machine, usual_worlds};
use serde_json::{Map, Value, json};

/// Where policies are played against each other, and how often, checked.
pub(crate) struct Contest {
    /// None where nothing is said of the workers.
    world: Option<world::Settings>,
    /// What is said of durations, and nothing else.
    flags: cli::World,
    options: Options<'static>,
    /// Runs that were asked for: then all policies are played as often.
    runs: Option<usize>,
}

impl Contest {
    /// The contest that chooses a policy; none where one is given, and then flags of a simulation would be forgotten in
    /// silence.
    pub(crate) fn new(
        policy: Wanted,
        flags: &cli::ContestFlags,
    ) -> Result<Option<Contest>, Failure> {
        let world = flags.whole_world();
        // Durations and noise are checked here even where no world is stated: the usual worlds take them too.
        if policy == Wanted::Auto {
            let is_stated = world::is_stated(&world);
            world::check_durations(world.durations)?;
            world::check_noise(&world)?;
            return Ok(Some(Contest {
                options: world::options(&flags.runs)?,
                runs: flags.runs.runs,
                flags: world.clone(),
                world: is_stated.then(|| world::Settings::new(world)).transpose()?,
            }));
        }
        match world::first_flag(&world, &flags.runs) {
            Some(flag) => Err(Failure::usage(
                format!("{flag} means nothing without --policy auto"),
                "leave it out, or add --policy auto",
            )),
            None => Ok(None),
        }
    }

    /// Where it is held for this flow, which may not be fit for it: asked before the plan, which may take a minute.
    pub(crate) fn arena(&self, flow: &Flow, out: &Output) -> Result<Arena, Failure> {
        match &self.world {
            Some(settings) => {
                let scene = settings.scene(flow)?;
                settings.tell(&scene, out);
                Ok(Arena::of(&scene))
            }
            None => Arena::usual(flow, &self.flags),
        }
    }
}

/// The worlds in which policies are played, with what tasks take in them.
pub(crate) struct Arena {
    worlds: Vec<World>,
    work: cairn_sim::Workload,
    /// What a scheduler knows of durations.
    seconds: Option<Vec<f64>>,
    words: String,
    durations: String,
}

impl Arena {
    /// The one world that is stated.
    pub(crate) fn of(scene: &Scene) -> Arena {
        Arena {
            worlds: vec![scene.world.clone()],
            work: scene.work.clone(),
            seconds: scene.seconds.clone(),
            words: scene.words.clone(),
            durations: scene.durations.clone(),
        }
    }

    /// This machine, with so many tasks at once.
    pub(crate) fn machine(flow: &Flow, cpus: u32) -> Result<Arena, Failure> {
        let taken = world::durations(None, flow)?;
        let cores = flow.dag().tasks().map(|t| flow.cpus(t).unwrap_or(1));
        let (world, work) = machine(cpus, taken.work, cores).map_err(world::refused)?;
        Ok(Arena {
            worlds: vec![world],
            work,
            seconds: taken.seconds,
            words: format!("{} of this machine", counted(cpus as usize, "slot")),
            durations: taken.words,
        })
    }

    /// The contest of orders of a flow, here.
    fn contest<'a>(&'a self, flow: &'a Flow, options: &'a Options<'a>) -> cairn_sim::Contest<'a> {
        cairn_sim::Contest {
            dag: flow.dag(),
            work: &self.work,
            worlds: &self.worlds,
            options,
        }
    }

    /// What a contest here may cost.
    pub(crate) fn effort(&self, flow: &Flow) -> Plays {
        Plays::for_dag(flow.dag().len(), Rule::ALL.len(), self.worlds.len())
    }

    /// Nothing is known of the workers.
    pub(crate) fn usual(flow: &Flow, flags: &cli::World) -> Result<Arena, Failure> {
        let taken = world::noisy(world::durations(flags.durations, flow)?, flags)?;
        let worlds = usual_worlds(taken.mean).map_err(world::refused)?;
        Ok(Arena {
            worlds: worlds.into(),
            work: taken.work,
            seconds: taken.seconds,
            words: "two usual worlds: batches of 16 every 0.3 and of 64 every 3 mean task times"
                .to_owned(),
            durations: taken.words,
        })
    }
}

/// The time for a plan: half of it is for the contest, where there is one.
pub(crate) fn planning_time(contest: Option<&Contest>, clock: &Clock) -> Clock {
    match contest {
        // The plan is what policies are made of: without it there is nothing to choose from.
        Some(_) => clock.half(),
        None => *clock,
    }
}

/// A policy and its order.
pub(crate) struct Wish {
    pub(crate) policy: Policy,
    pub(crate) order: Vec<TaskId>,
    /// Why this one, where it was chosen.
    pub(crate) choice: Option<Choice>,
}

/// The order that is wanted: of the policy that wins the contest, else of the one that is given.
pub(crate) fn wanted(
    flow: &Flow,
    plan: &Plan<'_>,
    given: Wanted,
    contest: Option<(&Contest, &Arena)>,
    clock: &Clock,
    out: &Output,
) -> Result<Wish, Failure> {
    if let Some((contest, arena)) = contest {
        let rules = Rule::ALL.len();
        let asked = |runs| Plays {
            policies: rules,
            runs,
        };
        let effort = (contest.runs).map_or_else(|| arena.effort(flow), asked);
        let (stop, stop_after) = (clock.half().stop(), clock.stop());
        let bout = Bout {
            effort,
            seed: contest.options.seed,
            precision: contest.options.precision,
            threads: None,
            work: Work::until(&stop),
            after: Work::until(&stop_after),
        };
        let _progress = out.progress("choosing a policy");
        let (picked, choice) = weighed(flow, plan, arena, &bout)?;
        return Ok(Wish {
            policy: choice.policy,
            order: picked.order,
            choice: Some(choice),
        });
    }
    // Without time for a contest, the policy that rarely loses.
    let policy = match given {
        Wanted::Given(policy) => policy,
        Wanted::Auto => Policy::PathPlus,
    };
    let seconds = flow.imputed_seconds();
    Ok(Wish {
        policy,
        order: Orders::new(flow.dag(), seconds.as_deref(), Some(plan)).of(policy),
        choice: None,
    })
}

/// What `auto` would choose where nothing is said of the workers, and gain, at little cost; none where the dag is large or
/// time is short.
pub(crate) fn glance(
    flow: &Flow,
    plan: &Plan<'_>,
    clock: &Clock,
    out: &Output,
) -> Result<Option<Choice>, Failure> {
    let tasks = flow.dag().len();
    // A plan that has used its time up has none left for a side remark.
    if !Plays::is_worth_a_glance(tasks) || clock.stop()() {
        return Ok(None);
    }
    // Durations that cannot be simulated are the contest's to refuse, not the plan's.
    let Ok(arena) = Arena::usual(flow, &cli::World::default()) else {
        return Ok(None);
    };
    let half = clock.half();
    let (stop, stop_after) = (half.half().stop(), half.stop());
    let bout = Bout {
        // A quarter of what is left for choosing and as much for telling: the plan itself is what was asked for.
        effort: Plays::glance(tasks, Rule::ALL.len(), arena.worlds.len()),
        seed: Options::default().seed,
        precision: None,
        threads: None,
        work: Work::until(&stop),
        after: Work::until(&stop_after),
    };
    let _progress = out.progress("choosing a policy");
    let (_, choice) = weighed(flow, plan, &arena, &bout)?;
    Ok((choice.runs > 0).then_some(choice))
}

/// How rules are played against each other.
pub(crate) struct Bout<'a> {
    pub(crate) effort: Plays,
    pub(crate) seed: u64,
    /// When to stop telling what it gains, where that is asked for.
    pub(crate) precision: Option<f64>,
    /// All there are, where none are given.
    pub(crate) threads: Option<usize>,
    /// What choosing may cost.
    pub(crate) work: Work<'a>,
    /// What telling what it gains may cost.
    pub(crate) after: Work<'a>,
}

/// Plays the rules against each other: the fastest, unless it hardly gains on path+. The same for any number of threads.
fn pick(flow: &Flow, plan: &Plan<'_>, arena: &Arena, bout: &Bout<'_>) -> Result<Picked, Failure> {
    let orders = Orders::new(flow.dag(), arena.seconds.as_deref(), Some(plan));
    let options = Options {
        runs: bout.effort.runs,
        seed: bout.seed,
        threads: bout.threads,
        work: bout.work.clone(),
        ..Options::default()
    };
    let contest = arena.contest(flow, &options);
    world::done(
        contest.choose_of(orders.rules(), bout.effort.policies),
        flow,
    )
}

/// [`pick`] with as much effort as the size of the dag allows.
pub(crate) fn pick_within_budget(
    flow: &Flow,
    plan: &Plan<'_>,
    arena: &Arena,
    seed: u64,
    clock: &Clock,
) -> Result<Picked, Failure> {
    let stop = clock.stop();
    let bout = Bout {
        effort: arena.effort(flow),
        seed,
        precision: None,
        threads: None,
        work: Work::until(&stop),
        after: Work::until(&stop),
    };
    pick(flow, plan, arena, &bout)
}

/// Picks, and plays the winner afresh against what users know. Whoever runs a flow asks this, in the background.
pub(crate) fn weighed(
    flow: &Flow,
    plan: &Plan<'_>,
    arena: &Arena,
    bout: &Bout<'_>,
) -> Result<(Picked, Choice), Failure> {
    let picked = pick(flow, plan, arena, bout)?;
    let orders = Orders::new(flow.dag(), arena.seconds.as_deref(), Some(plan));
    let mut policies = vec![cairn_sim::Policy::order("auto", &picked.order)];
    for policy in BESIDE {
        policies.push(cairn_sim::Policy::order(&name(&policy), &orders.of(policy)));
    }
    let fresh = Options {
        runs: bout.effort.runs,
        seed: bout.seed,
        precision: bout.precision,
        threads: bout.threads,
        work: bout.after.clone(),
        ..Options::default()
    };
    let studies = world::done(arena.contest(flow, &fresh).play_afresh(&policies), flow)?;
    let policy = policy_of(picked.rule);
    let choice = Choice {
        policy,
        beside: std::array::from_fn(|p| joint_ratio(&studies, 0, p + 1)),
        of_ic: match policy {
            // Against critical path, the strongest of the usual ones: ic against itself would say nothing.
            Policy::Ic => joint_ratio(&studies, 0, 2),
            _ => joint_ratio(&studies, 1, 0),
        },
        runs: picked.runs,
        // The least of all worlds: what is said of the choice must hold in each.
        fresh: studies.iter().map(|s| s.runs()).min().unwrap_or(0),
        world: arena.words.clone(),
        durations: arena.durations.clone(),
    };
    Ok((picked, choice))
}

/// What the winner is compared with: the plan, and what other engines do.
// In the order of `studies` in [`weighed`], where `auto` itself comes first.
const BESIDE: [Policy; 3] = [Policy::Ic, Policy::CriticalPath, Policy::Fifo];

/// The policy chosen, and why.
pub(crate) struct Choice {
    policy: Policy,
    /// Its time over that of each of [`BESIDE`] in fresh runs; none where nothing takes time, or there was none.
    beside: [Option<Ratio>; BESIDE.len()],
    /// Time of ic over that of its rival, likewise.
    of_ic: Option<Ratio>,
    /// How many chose it.
    runs: usize,
    /// How many fresh ones it was compared in, in each world.
    fresh: usize,
    world: String,
    durations: String,
}

impl Choice {
    /// What ic is compared with: the winner, or critical path where ic wins.
    fn rival(&self) -> Policy {
        match self.policy {
            Policy::Ic => Policy::CriticalPath,
            other => other,
        }
    }

    /// Whether it is open who is faster, ic or its rival.
    fn is_tie(&self) -> bool {
        self.of_ic.is_none_or(|ratio| ratio.side().is_eq())
    }

    pub(crate) fn json(&self) -> Value {
        let mut ratios: Map<String, Value> = (BESIDE.iter().zip(&self.beside))
            .map(|(other, ratio)| {
                let value = json!({ "makespan": ratio.as_ref().map(ratio_json) });
                (format!("auto/{}", name(other)), value)
            })
            .collect();
        let rival = name(&self.rival());
        let of_ic = json!({ "makespan": self.of_ic.as_ref().map(ratio_json) });
        ratios.insert(format!("ic/{rival}"), of_ic);
        json!({
            "policy": name(&self.policy), "tie": self.is_tie(), "rival": rival, "ratios": ratios,
            "runs": self.runs, "fresh_runs": self.fresh, "world": self.world, "durations": self.durations,
        })
    }

    /// Its time beside that of the others, in words.
    fn gains(&self) -> String {
        let pairs = BESIDE.iter().zip(&self.beside);
        let others = pairs.filter(|(other, _)| **other != self.policy);
        let others = others.filter_map(|(other, ratio)| Some((name(other), (*ratio)?)));
        less_or_more(&others.collect::<Vec<_>>())
    }

    /// What was chosen, and why.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", name(&self.policy), self.why())
    }

    /// Why it was chosen.
    pub(crate) fn why(&self) -> String {
        let gains = match self.gains() {
            gains if self.fresh == 0 || gains.is_empty() => "no time to compare".to_owned(),
            gains => format!("its time is {gains}"),
        };
        let runs = counted(self.fresh, "run");
        format!(
            "{gains} ({runs}; {}; durations {})",
            self.world, self.durations
        )
    }

    /// What would be chosen instead of the plan's order, in one line.
    pub(crate) fn would(&self) -> String {
        let gains = self.gains();
        match self.policy {
            Policy::Ic => format!("would take this order too; its time is {gains}"),
            other => format!(
                "would take {} for a short run; its time is {gains} (--policy auto; say what workers you have with --slots or --world)",
                name(&other)
            ),
        }
    }
}
