//! `--policy auto` of `plan` and `prio`: the policy that wins in a simulated world, and by how much. Knows no bounds.

use super::contender::{name, simulated};
use super::estimates::{interval_text, ratio_json};
use super::orders::order_of;
use super::world;
use crate::cli::{self, Contender, Policy, Wanted};
use crate::failure::Failure;
use crate::limits::Clock;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::{Flow, TaskId};
use cairn_sim::{Measure, Options, Ratio};
use serde_json::{Value, json};

/// Where policies are played against each other, and how often, checked.
pub(crate) struct Contest {
    world: world::Settings,
    options: Options<'static>,
}

impl Contest {
    /// The contest that chooses a policy; none where one is given, and then flags of a simulation would be forgotten in
    /// silence.
    pub(crate) fn new(policy: Wanted, flags: &cli::Contest) -> Result<Option<Contest>, Failure> {
        let world = flags.whole_world();
        if policy == Wanted::Auto {
            return Ok(Some(Contest {
                options: world::options(&flags.runs)?,
                world: world::Settings::new(world)?,
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
}

/// The policy chosen, and why.
pub(crate) struct Choice {
    policy: Policy,
    /// The one with the least mean time in the first runs; ic's rival if ic itself has it.
    rival: Policy,
    /// Time of ic over time of the rival in fresh runs; none if nothing takes time.
    ratio: Option<Ratio>,
    runs: usize,
    world: String,
    durations: String,
}

const CANDIDATES: [Policy; 6] = [
    Policy::Ic,
    Policy::Fifo,
    Policy::Lifo,
    Policy::CriticalPath,
    Policy::Outdegree,
    Policy::Memory,
];

/// The time for a plan: half of it is for the contest, where there is one.
pub(crate) fn planning_time(contest: Option<&Contest>, clock: &Clock) -> Clock {
    match contest {
        Some(_) => clock.half(),
        None => *clock,
    }
}

/// The order that is wanted: of the policy that wins the contest, else of the one that is given.
pub(crate) fn wanted(
    flow: &Flow,
    ic: &[TaskId],
    given: Policy,
    contest: Option<&Contest>,
    clock: &Clock,
    out: &Output,
) -> Result<Wish, Failure> {
    if let Some(contest) = contest {
        let (choice, order) = choose(flow, ic, contest, clock, out)?;
        return Ok(Wish {
            policy: choice.policy,
            order,
            choice: Some(choice),
        });
    }
    let order = match given {
        Policy::Ic => ic.to_vec(),
        other => order_of(other, flow.dag(), flow.imputed_seconds().as_deref()),
    };
    Ok(Wish {
        policy: given,
        order,
        choice: None,
    })
}

/// A policy and its order.
pub(crate) struct Wish {
    pub(crate) policy: Policy,
    pub(crate) order: Vec<TaskId>,
    /// Why this one, where it was chosen.
    pub(crate) choice: Option<Choice>,
}

/// Plays all candidates, then ic against its strongest rival once more, with another seed: an interval from the runs
/// that chose the rival would flatter it. Unless the rival is faster beyond doubt, ic is taken.
fn choose(
    flow: &Flow,
    ic: &[TaskId],
    contest: &Contest,
    clock: &Clock,
    out: &Output,
) -> Result<(Choice, Vec<TaskId>), Failure> {
    let scene = contest.world.scene(flow)?;
    if let Some(doubt) = scene.doubt() {
        out.remark(&doubt);
    }
    let play = |policies: &[Policy], options: &Options<'static>, clock: &Clock| {
        let rules: Vec<_> = (policies.iter())
            .map(|&p| {
                simulated(
                    Contender::Listed(p),
                    flow.dag(),
                    scene.seconds.as_deref(),
                    ic,
                )
            })
            .collect();
        world::simulate(&scene, flow, &rules, options, clock, out)
    };
    let first = play(&CANDIDATES, &contest.options, &clock.half())?;
    let time = |p: usize| first.summary(p, Measure::Makespan).mean;
    let rival = (1..CANDIDATES.len()).min_by(|&a, &b| time(a).total_cmp(&time(b)));
    let rival = CANDIDATES[rival.expect("there are several candidates")];
    let fresh = Options {
        seed: contest.options.seed.wrapping_add(1),
        ..contest.options
    };
    let second = play(&[Policy::Ic, rival], &fresh, clock)?;
    let ratio = second.ratio(0, 1, Measure::Makespan);
    let rival_wins = ratio.and_then(|r| r.ends()).is_some_and(|i| i.low > 1.0);
    let policy = if rival_wins { rival } else { Policy::Ic };
    let order = match policy {
        Policy::Ic => ic.to_vec(),
        other => order_of(other, flow.dag(), scene.seconds.as_deref()),
    };
    let choice = Choice {
        policy,
        rival,
        ratio,
        runs: second.runs(),
        world: scene.words,
        durations: scene.durations,
    };
    Ok((choice, order))
}

impl Choice {
    /// Whether the interval leaves open who is faster.
    fn is_tie(&self) -> bool {
        let ends = self.ratio.and_then(|r| r.ends());
        ends.is_none_or(|i| i.low <= 1.0 && 1.0 <= i.high)
    }

    pub(crate) fn json(&self) -> Value {
        let rival = name(&self.rival);
        json!({
            "policy": name(&self.policy), "tie": self.is_tie(), "rival": rival,
            "ratios": { format!("ic/{rival}"): { "makespan": self.ratio.as_ref().map(ratio_json) } },
            "runs": self.runs, "world": self.world, "durations": self.durations,
        })
    }

    pub(crate) fn text(&self) -> String {
        let rival = name(&self.rival);
        let ratio = self.ratio.map_or("undefined".to_owned(), |r| {
            interval_text(r.mean, r.interval, r.all_equal, 3)
        });
        let verdict = if self.is_tie() {
            format!("ic, by a tie with {rival}")
        } else {
            format!("{} wins", name(&self.policy))
        };
        format!(
            "{verdict}: mean time of ic over {rival} is {ratio}\n            ({}; {}; durations {})",
            counted(self.runs, "run"),
            self.world,
            self.durations
        )
    }
}
