//! Means with their intervals, for people, machines and pictures. Knows not what was measured.

use cairn_show::Estimate;
use cairn_sim::{Interval, Ratio};
use serde_json::{Value, json};

/// A mean with its ends, as `{"mean","lo","hi","all_equal"}`; ends are null after one run, and the mean where all runs
/// are equal: then there is no interval.
pub(crate) fn estimate_json(mean: f64, ends: Option<Interval>, all_equal: bool) -> Value {
    let (low, high) = (ends.map(|i| i.low), ends.map(|i| i.high));
    json!({ "mean": mean, "lo": low, "hi": high, "all_equal": all_equal })
}

pub(crate) fn ratio_json(ratio: &Ratio) -> Value {
    estimate_json(ratio.mean, ratio.ends(), ratio.all_equal)
}

/// A mean with its interval, as `0.842 [0.831, 0.853]`, or `1.000 (all runs equal)`.
pub(crate) fn interval_text(
    mean: f64,
    interval: Option<Interval>,
    all_equal: bool,
    digits: usize,
) -> String {
    match interval {
        Some(i) => format!("{mean:.digits$} [{:.digits$}, {:.digits$}]", i.low, i.high),
        None if all_equal => format!("{mean:.digits$} (all runs equal)"),
        None => format!("{mean:.digits$}"),
    }
}

/// An estimate to draw; without an interval, a point.
pub(crate) fn estimate(value: f64, interval: Option<Interval>) -> Estimate {
    Estimate {
        value,
        low: interval.map_or(value, |i| i.low),
        high: interval.map_or(value, |i| i.high),
    }
}
