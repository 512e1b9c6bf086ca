//! Means with their intervals, for people, machines and pictures. Knows not what was measured.

use cairn_show::Estimate;
use cairn_sim::{Interval, Ratio};
use serde_json::{Value, json};
use std::cmp::Ordering;

/// A mean with its ends, as `{"mean","lo","hi","all_equal"}`; ends are null after one run, and the mean where all runs
/// are equal: then there is no interval.
pub(crate) fn estimate_json(mean: f64, ends: Option<Interval>, all_equal: bool) -> Value {
    // Null and not left out: programs need not ask whether a field is there.
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

/// Times of one over those of others in words: how much less or more time than each it takes.
pub(crate) fn less_or_more(beside: &[(String, Ratio)]) -> String {
    let mut words = Vec::new();
    let (mut same, mut near): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (other, ratio) in beside {
        let percent = 100.0 * (ratio.mean - 1.0).abs();
        // Below 1 % one decimal would hide most of it; 0.995 is the first that two would show as 1.00.
        let digits = if percent < 0.995 { 2 } else { 1 };
        match ratio.side() {
            // What no digit shows is rounding.
            _ if percent < 0.005 && ratio.all_equal => same.push(other),
            _ if percent < 0.005 => near.push(other),
            Ordering::Less => words.push(format!("{percent:.digits$} % less than {other}")),
            Ordering::Greater => words.push(format!("{percent:.digits$} % more than {other}")),
            Ordering::Equal => near.push(other),
        }
    }
    for (what, others) in [("the same as", same), ("about the same as", near)] {
        if !others.is_empty() {
            words.push(format!("{what} {}", others.join(" and ")));
        }
    }
    words.join(", ")
}

/// An estimate to draw; without an interval, a point.
pub(crate) fn estimate(value: f64, interval: Option<Interval>) -> Estimate {
    Estimate {
        value,
        low: interval.map_or(value, |i| i.low),
        high: interval.map_or(value, |i| i.high),
    }
}
