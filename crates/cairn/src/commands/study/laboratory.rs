//! What both kinds of study share: dags, policies, and ratios in tables. Knows no world.

use crate::cli::{self, Contender, Policy, Wanted};
use crate::commands::contender::simulated;
use crate::commands::estimates;
use crate::commands::orders::Orders;
use crate::commands::pictures::write_bytes;
use crate::commands::world::{self, Taken};
use crate::failure::Failure;
use crate::limits::Limits;
use crate::output::Output;
use cairn_dag::Flow;
use cairn_formats::Severity;
use cairn_sim::{Options, Ratio};
use serde_json::Value;
use std::path::PathBuf;

/// The first against each other.
const POLICIES: [Policy; 3] = [Policy::Ic, Policy::Fifo, Policy::CriticalPath];
pub(super) const RIVALS: [&str; 2] = ["fifo", "critical-path"];

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
    let why = match failure {
        Failure::Input(report) => (report.problems().iter())
            .find(|p| p.severity == Severity::Error)
            .map_or("the input cannot be used".to_owned(), |p| p.message.clone()),
        Failure::Usage { message, .. } => message.clone(),
        other => format!("{other:?}"),
    };
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
    pub(super) flags: &'a cli::Study,
    pub(super) options: Options<'static>,
    pub(super) limits: Limits,
    pub(super) out: &'a Output,
}

impl Laboratory<'_> {
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_bytes(&self.flags.out.join(PathBuf::from(name)), bytes)
    }

    /// The policies on one dag; the time limit is for each dag's plan.
    pub(super) fn policies(&self, subject: &Subject) -> Result<Vec<cairn_sim::Policy>, Failure> {
        let flow = &subject.flow;
        let limits = &self.limits;
        let _progress = self.out.progress("planning");
        let plan = cairn_plan::plan(
            flow.dag(),
            &limits.effort(),
            &limits.clock().stop_planning(flow.dag()),
        );
        world::go_on()?;
        let orders = Orders::new(flow.dag(), subject.taken.seconds.as_deref(), Some(&plan));
        let rule = |&p: &Policy| simulated(Contender::Listed(Wanted::Given(p)), &orders, &[]);
        Ok(POLICIES.iter().map(rule).collect())
    }
}

pub(super) fn ratio_json(ratio: Option<Ratio>) -> Value {
    ratio.as_ref().map_or(Value::Null, estimates::ratio_json)
}

/// Whether the interval leaves no doubt: below 1, above 1, or neither.
fn side(ratio: &Ratio) -> std::cmp::Ordering {
    match ratio.ends() {
        Some(i) if i.high < 1.0 => std::cmp::Ordering::Less,
        Some(i) if i.low > 1.0 => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    }
}

/// Two or three decimals, bold where ic is surely faster, italic where surely slower.
pub(super) fn cell_text(ratio: Option<&Ratio>) -> String {
    let Some(ratio) = ratio else {
        return "–".to_owned();
    };
    let number = format!("{:.3}", ratio.mean);
    match side(ratio) {
        std::cmp::Ordering::Less => format!("**{number}**"),
        std::cmp::Ordering::Greater => format!("*{number}*"),
        std::cmp::Ordering::Equal => number,
    }
}

/// How many ratios lie surely below 1, are ties, lie surely above.
pub(super) fn tally<'r>(ratios: impl Iterator<Item = &'r Ratio>) -> [usize; 3] {
    let mut count = [0; 3];
    for ratio in ratios {
        count[(side(ratio) as i8 + 1) as usize] += 1;
    }
    count
}
