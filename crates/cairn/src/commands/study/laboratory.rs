//! What both kinds of study share: dags, policies, and ratios in tables. Knows no world.

use crate::cli::{Contender, Wanted};
use crate::commands::contender::{name, simulated};
use crate::commands::estimates;
use crate::commands::orders::{Orders, policy_of};
use crate::commands::pictures::write_bytes;
use crate::commands::world::{self, Taken};
use crate::failure::Failure;
use crate::limits::{Limits, is_interrupted};
use crate::output::Output;
use cairn_dag::{Flow, TaskId};
use cairn_plan::Work;
use cairn_plan::policy::Rule;
use cairn_sim::{Contest, Measure, Options, Plays, Ratio, Study, World};
use serde_json::Value;
use std::path::Path;

/// A dag to be studied.
pub(super) struct Subject {
    /// Also the beginning of its pictures' names.
    pub(super) name: String,
    /// Where it was read.
    pub(super) file: String,
    pub(super) flow: Flow,
    pub(super) taken: Taken,
}

/// What could not be studied, and why.
pub(super) type Failed = Vec<(String, String)>;

/// Tells at once what is wrong with one file; the others are studied all the same.
pub(super) fn note(failed: &mut Failed, file: &str, failure: &Failure, out: &Output) {
    let why = failure.words();
    if !out.json {
        out.failure(failure);
    }
    failed.push((file.to_owned(), why));
}

/// The durations of all dags in words.
pub(super) fn durations_words(subjects: &[Subject]) -> String {
    let first = &subjects[0].taken.words;
    match subjects.iter().all(|s| s.taken.words == *first) {
        true => first.clone(),
        false => format!(
            "from the file where it has any, else {}",
            world::STUDY_WORDS
        ),
    }
}

/// What all parts of a study share.
pub(super) struct Laboratory<'a> {
    pub(super) folder: &'a Path,
    pub(super) policies: &'a [Contender],
    /// What they are called.
    pub(super) names: Vec<String>,
    pub(super) options: Options<'static>,
    pub(super) limits: Limits,
    pub(super) out: &'a Output,
}

/// The policies on one dag; what `auto` stands for is chosen in each world anew.
pub(super) struct Prepared<'s> {
    subject: &'s Subject,
    /// By place; none where it is chosen.
    policies: Vec<Option<cairn_sim::Policy>>,
    /// Among these.
    field: Vec<(Rule, Vec<TaskId>)>,
}

/// What came of one world.
pub(super) struct Played {
    pub(super) study: Study,
    /// What `auto` was, if it played.
    pub(super) chosen: Option<String>,
}

impl Laboratory<'_> {
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_bytes(&self.folder.join(name), bytes)
    }

    /// The policy that the others are compared with.
    pub(super) fn first(&self) -> &str {
        &self.names[0]
    }

    pub(super) fn rivals(&self) -> &[String] {
        &self.names[1..]
    }

    /// Orders for one dag; the time limit is for each dag's plan.
    pub(super) fn prepare<'s>(&self, subject: &'s Subject) -> Result<Prepared<'s>, Failure> {
        let flow = &subject.flow;
        let limits = &self.limits;
        let _progress = self.out.progress("planning");
        let plan = cairn_plan::plan(
            flow.dag(),
            &limits.effort(),
            &mut Work::until(&limits.clock().stop_planning(flow.dag())),
        );
        world::go_on()?;
        let orders = Orders::new(flow.dag(), subject.taken.seconds.as_deref(), Some(&plan));
        let is_auto = |c: &Contender| *c == Contender::Listed(Wanted::Auto);
        let effort = self.effort(subject);
        let field = match self.policies.iter().any(is_auto) {
            true => orders
                .rules()
                .candidates(effort.policies, &mut Work::until(&is_interrupted)),
            false => Vec::new(),
        };
        let rule = |c: &Contender| (!is_auto(c)).then(|| simulated(*c, &orders, &[]));
        Ok(Prepared {
            subject,
            policies: self.policies.iter().map(rule).collect(),
            field,
        })
    }

    /// What a choice may cost.
    fn effort(&self, subject: &Subject) -> Plays {
        Plays::for_dag(subject.flow.dag().len(), Rule::ALL.len(), 1)
    }

    /// All policies in one world.
    pub(super) fn play(&self, prepared: &Prepared<'_>, world: &World) -> Result<Played, Failure> {
        let subject = prepared.subject;
        let (flow, work) = (&subject.flow, &subject.taken.work);
        let mut chosen = None;
        let mut policies = Vec::with_capacity(prepared.policies.len());
        for policy in &prepared.policies {
            policies.push(match policy {
                Some(policy) => policy.clone(),
                None => {
                    // Not the runs that are shown: they would flatter the choice.
                    let options = Options {
                        runs: self.effort(subject).runs,
                        seed: self.options.seed.wrapping_add(1),
                        ..self.options.clone()
                    };
                    let contest = Contest {
                        dag: flow.dag(),
                        work,
                        worlds: std::slice::from_ref(world),
                        options: &options,
                    };
                    let picked = world::done(contest.choose_rule(&prepared.field), flow)?;
                    chosen = Some(name(&policy_of(picked.rule)));
                    cairn_sim::Policy::order("auto", &picked.order)
                }
            });
        }
        let study = cairn_sim::simulate(flow.dag(), work, world, &policies, &self.options);
        let study = world::done(study, flow)?;
        Ok(Played { study, chosen })
    }

    /// The first over each rival.
    pub(super) fn ratios(&self, played: &Played) -> Vec<Option<Ratio>> {
        let ratio = |rival| played.study.ratio(0, rival, Measure::Makespan);
        (1..self.names.len()).map(ratio).collect()
    }
}

pub(super) fn ratio_json(ratio: Option<Ratio>) -> Value {
    ratio.as_ref().map_or(Value::Null, estimates::ratio_json)
}

/// Two or three decimals, bold where the first is surely faster, italic where surely slower.
pub(super) fn cell_text(ratio: Option<&Ratio>) -> String {
    let Some(ratio) = ratio else {
        return "–".to_owned();
    };
    let number = format!("{:.3}", ratio.mean);
    match ratio.side() {
        std::cmp::Ordering::Less => format!("**{number}**"),
        std::cmp::Ordering::Greater => format!("*{number}*"),
        std::cmp::Ordering::Equal => number,
    }
}

/// How many ratios lie surely below 1, are ties, lie surely above.
pub(super) fn tally<'r>(ratios: impl Iterator<Item = &'r Ratio>) -> [usize; 3] {
    let mut count = [0; 3];
    for ratio in ratios {
        // Less, equal, greater are −1, 0 and 1.
        count[(ratio.side() as i8 + 1) as usize] += 1;
    }
    count
}
