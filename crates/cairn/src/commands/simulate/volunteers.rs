//! `simulate --volunteers`: workers that nobody vouches for, and those that lie, vanish or dawdle. From flags to policies that
//! the engine plays, and what is told of them. Plays nothing.

use crate::cli::{self, Contender, Wanted, WorldName};
use crate::commands::contender;
use crate::commands::orders::Orders;
use crate::commands::world::{self, Scene};
use crate::failure::Failure;
use cairn_dag::{Flow, TaskId};
use cairn_engine::{Distrust, Rules, Span, numbered};
use cairn_sim::{Measure, Natures, Policy, Serving, Study, Terms};
use serde_json::{Value, json};

/// So many liars say the same where nobody says otherwise.
// The least that defeats a quorum of two: one liar alone never does.
const COLLUDING: u32 = 2;
/// Where durations are in task times, one stands for a minute.
// A judgement: deadlines and silence of the engine are in seconds, and volunteers' tasks take minutes.
const TASK_TIME: f64 = 60.0;

/// The flags of the world, with what is said of its workers here. A pool, where nobody says otherwise.
pub(super) fn place(flags: &cli::Volunteers, mut world: cli::World) -> cli::World {
    world.natures = Natures {
        liars: flags.liars.unwrap_or(0.0),
        colluding: flags.colluding.unwrap_or(COLLUDING),
        vanishing: flags.vanishing.unwrap_or(0.0),
        slow: flags.slow.unwrap_or(0.0),
        ..Natures::default()
    };
    world.nobody_vouches = flags.volunteers;
    let says_where = world.world.is_some() || world.slots.is_some() || !world.world_from.is_empty();
    // Batches have no workers that could lie.
    if is_told(flags) && !says_where {
        world.world = Some(WorldName::Pool);
    }
    world
}

/// Whether it matters what becomes of results.
pub(super) fn is_told(flags: &cli::Volunteers) -> bool {
    flags.volunteers || [flags.liars, flags.vanishing, flags.slow] != [None; 3]
}

/// The numbers as the engine has them, where nobody says otherwise.
fn distrust(flags: &cli::Volunteers) -> Distrust {
    match flags.quorum {
        Some(quorum) => Distrust::of_quorum(quorum),
        None => Distrust::default(),
    }
}

/// Refuses what volunteers cannot have.
pub(super) fn check(flags: &cli::Simulate, world: &world::Settings) -> Result<(), Failure> {
    if !flags.volunteers.volunteers {
        return Ok(());
    }
    // The engine serves volunteers by a list, and by nothing that chooses among workers.
    let listed = |contender: &&Contender| !matches!(contender, Contender::Listed(_));
    if let Some(other) = flags.policies.iter().find(listed) {
        return Err(Failure::usage(
            format!(
                "--volunteers: tasks go to volunteers by a list, and {} is none",
                contender::name(other)
            ),
            "give --policies such as auto,ic,critical-path,fifo",
        ));
    }
    let deadline = flags.volunteers.volunteer_deadline;
    if let Some(deadline) = deadline.filter(|d| !(d.is_finite() && *d > 0.0)) {
        return Err(Failure::usage(
            format!("--volunteer-deadline {deadline} is no time above zero"),
            "give a time such as --volunteer-deadline 10m",
        ));
    }
    let distrust = distrust(&flags.volunteers);
    let (quorum, agree) = (distrust.quorum, distrust.agree());
    match world.all_workers().filter(|&workers| workers < agree) {
        Some(workers) => Err(Failure::usage(
            format!(
                "--quorum {quorum} needs {agree} equal results of different volunteers, and there are {workers}: none would ever count"
            ),
            match world.is_recorded() {
                true => format!("give a trace of {agree} workers or more, or a smaller --quorum"),
                false => format!("give --workers {agree} or more, or a smaller --quorum"),
            },
        )),
        None => Ok(()),
    }
}

/// When results of volunteers count in this scene.
pub(super) struct Vouched {
    terms: Terms,
    silence: f64,
    /// Seconds in the scene's unit of time.
    unit: f64,
    /// As which policy the first one is played with trusted workers.
    trusted: String,
}

impl Vouched {
    pub(super) fn new(flags: &cli::Simulate, flow: &Flow, scene: &Scene) -> Option<Vouched> {
        let asked = Some(&flags.volunteers).filter(|asked| asked.volunteers)?;
        let unit = match scene.seconds {
            Some(_) => 1.0,
            None => TASK_TIME,
        };
        let distrust = distrust(asked);
        let seconds = |span: Span| span.0 as f64 / 1e6 / unit;
        Some(Vouched {
            terms: Terms {
                quorum: distrust.quorum,
                replicate_all: asked.replicate_all,
                deadline: (asked.volunteer_deadline).unwrap_or(seconds(distrust.deadline)),
                kinds: numbered(flow.dag().tasks().map(|t| flow.kind(t))),
            },
            silence: seconds(Rules::default().silence),
            unit,
            trusted: format!("{} trusted", contender::name(&flags.policies[0])),
        })
    }

    /// The policies as the engine plays them with volunteers, and the first with workers that are trusted.
    pub(super) fn policies(
        &self,
        contenders: &[Contender],
        orders: &Orders<'_>,
        auto: &[TaskId],
    ) -> Vec<Policy> {
        let order = |contender: &Contender| match contender {
            Contender::Listed(Wanted::Given(policy)) => orders.of(*policy),
            _ => auto.to_vec(),
        };
        let serving = |volunteers| Serving {
            silence: self.silence,
            volunteers,
        };
        let volunteers = contenders.iter().map(|contender| {
            let name = contender::name(contender);
            Policy::served(&name, &order(contender), serving(Some(self.terms.clone())))
        });
        let first = contenders.first();
        let trusted =
            first.map(|first| Policy::served(&self.trusted, &order(first), serving(None)));
        volunteers.chain(trusted).collect()
    }

    /// The name of the policy whose workers are trusted.
    pub(super) fn trusted(&self) -> &str {
        &self.trusted
    }

    pub(super) fn json(&self) -> Value {
        let agree = Distrust::of_quorum(self.terms.quorum).agree();
        json!({
            "quorum": self.terms.quorum, "agree": agree, "replicate_all": self.terms.replicate_all,
            "deadline": self.terms.deadline, "silence": self.silence, "seconds_a_unit": self.unit,
            "trusted": self.trusted,
        })
    }

    /// Under which terms, in words.
    pub(super) fn words(&self) -> String {
        let agree = Distrust::of_quorum(self.terms.quorum).agree();
        let always = match self.terms.replicate_all {
            true => "always",
            false => "unless trust is earned",
        };
        format!("volunteers, of whom {agree} must return the same, {always}")
    }
}

/// What became of the tasks under a policy, in a sentence.
pub(super) fn outcome(study: &Study, policy: usize) -> String {
    let mean = |measure| study.summary(policy, measure).mean;
    let (wrong, undone) = (mean(Measure::Wrong), mean(Measure::Undone));
    let mut words = format!("{:.2} executions a task", mean(Measure::Executions));
    words += &match wrong > 0.0 {
        true => format!(", {} wrong results a run", few(wrong)),
        false => ", no wrong result".to_owned(),
    };
    words += &match undone > 0.0 {
        true => format!(", {} tasks a run undone", few(undone)),
        false => ", no task undone".to_owned(),
    };
    let endless = study.outcomes[policy].column(Measure::Endless);
    let endless = endless.iter().filter(|&&e| e > 0.0).count();
    if endless > 0 {
        words += &format!(", {endless} of {} runs without an end", study.runs());
    }
    words
}

/// A mean of counts, with few digits.
pub(super) fn few(mean: f64) -> String {
    match mean {
        m if m == 0.0 || m >= 100.0 => format!("{m:.0}"),
        m if m >= 0.1 => format!("{m:.1}"),
        m => format!("{m:.3}"),
    }
}
