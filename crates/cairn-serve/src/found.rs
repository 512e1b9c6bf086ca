//! An order that was found for a run, and what is to be told of it. Knows not how it was found.

use crate::store::{Store, StoreError};
use cairn_dag::TaskId;
use cairn_theory::Verdict;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// The key under which a store has what is to be told of its order.
const ABOUT: &str = "order";

/// The policy of an order that a tight cap on the disk asks for.
pub(crate) const BY_DISK: &str = "disk";

/// An order for all tasks, and what it is.
#[derive(Clone, Debug)]
pub struct Found {
    /// From first to last; `None`: the one in force stays, only more is known of it.
    pub order: Option<Vec<TaskId>>,
    /// Whose it is, and why.
    pub about: About,
}

/// Whose an order is, why, and how many tasks it keeps eligible.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct About {
    /// The policy that was asked for.
    pub policy: String,
    /// The policy whose order it is: with `auto`, the one that was chosen.
    pub chosen: String,
    /// Whether it stays. Else a better one is looked for, and a resume looks again.
    pub settled: bool,
    /// Why this one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Sum of eligible tasks over all steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<u64>,
    /// The certified bound on that of any order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_bound: Option<u64>,
    /// The first over the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area_ratio: Option<f64>,
    /// The verdict on the order: optimal, suboptimal, none-exists or open.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "verdict_out",
        deserialize_with = "verdict_in"
    )]
    #[schema(value_type = Option<String>)]
    pub verdict: Option<Verdict>,
}

impl About {
    /// The order of a policy that takes no time to find.
    pub fn quick(policy: &str, settled: bool) -> About {
        About {
            policy: policy.to_owned(),
            chosen: match settled {
                true => policy.to_owned(),
                false => "quick".to_owned(),
            },
            settled,
            ..About::default()
        }
    }

    /// An order that a tight cap on the disk asks for.
    pub fn by_disk() -> About {
        About::quick(BY_DISK, true)
    }

    /// In a line for people.
    pub fn words(&self) -> String {
        let mut words = match self.policy == self.chosen {
            true => self.chosen.clone(),
            false => format!("{} ({})", self.policy, self.chosen),
        };
        if !self.why.is_empty() {
            words += &format!(": {}", self.why);
        }
        if let (Some(ratio), Some(verdict)) = (self.area_ratio, self.verdict) {
            // All of it only where it is all of it.
            let percent = match (ratio * 1000.0).round() {
                1000.0 if ratio < 1.0 => 99.9,
                tenths => tenths / 10.0,
            };
            let verdict = verdict.name();
            words += &format!("; {percent} % of the certified bound on eligible tasks, {verdict}");
        }
        words
    }

    /// As the store keeps it, under its name.
    pub(crate) fn row(&self) -> (&'static str, String) {
        let text = serde_json::to_string(self).expect("words and numbers are JSON");
        (ABOUT, text)
    }

    /// What the store has; `None` in states of earlier versions.
    pub(crate) fn stored(store: &Store) -> Result<Option<About>, StoreError> {
        // What cannot be read is of a later version: the order itself is whole without it.
        let text = store.meta(ABOUT)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

/// A verdict as its word.
// By reference to the option, as serde asks for it.
pub(crate) fn verdict_out<S: Serializer>(
    verdict: &Option<Verdict>,
    to: S,
) -> Result<S::Ok, S::Error> {
    verdict.map(Verdict::name).serialize(to)
}

/// A verdict from its word; none for a word that nobody knows.
fn verdict_in<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Verdict>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    Ok(name.and_then(|name| Verdict::named(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_told() {
        let mut about = About::quick("auto", false);
        assert_eq!(about.words(), "auto (quick)");
        about = About {
            policy: "auto".to_owned(),
            chosen: "path+".to_owned(),
            settled: true,
            why: "fast".to_owned(),
            area: Some(9999),
            area_bound: Some(10_000),
            area_ratio: Some(0.9999),
            verdict: Some(Verdict::NoneExists),
        };
        let words =
            "auto (path+): fast; 99.9 % of the certified bound on eligible tasks, none-exists";
        assert_eq!(about.words(), words);
        let row = about.row().1;
        assert!(row.ends_with(r#""verdict":"none-exists"}"#), "{row}");
        assert_eq!(serde_json::from_str::<About>(&row).unwrap(), about);
        // A word of a later version is no reason to forget the rest.
        let later = row.replace("none-exists", "near");
        about.verdict = None;
        assert_eq!(serde_json::from_str::<About>(&later).unwrap(), about);
        assert_eq!(About::quick("fifo", true).words(), "fifo");
    }
}
