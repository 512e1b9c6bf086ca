//! What a cap on storage costs an order: caps from the smallest that can be kept to where none is felt, and what is left of the
//! order under each. Knows not how long tasks take.

use super::Keeper;
use crate::budgets::storage::POINTS;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Work;
use cairn_theory::profile::{area, profile};
use std::ops::RangeInclusive;

/// The knee is the smallest cap at which so much of the area is left.
// A judgement: what people take for as good as all.
const KNEE: f64 = 0.95;

/// Caps with the area under the eligible tasks that an order keeps under each.
#[derive(Clone, Debug, PartialEq)]
pub struct AreaByCap {
    /// Cap and area, both rising.
    pub points: Vec<(u64, u64)>,
    /// From this cap on hardly anything is lost.
    pub knee: u64,
}

/// What following `order` is worth under caps from the smallest peak to that of the order itself, until `work` is stopped; the
/// first cap is looked at at any rate. `keeper` makes one for a cap.
///
/// # Panics
/// If `keeper` makes one that has begun, or that of another dag ([`Keeper::follow`]).
pub fn area_by_cap(
    dag: &Dag,
    order: &[TaskId],
    keeper: impl Fn(u64) -> Keeper,
    caps: RangeInclusive<u64>,
    work: &mut Work<'_>,
) -> AreaByCap {
    let (least, most) = caps.into_inner();
    let mut points: Vec<(u64, u64)> = Vec::new();
    for cap in caps_between(least, most, POINTS) {
        if !points.is_empty() && work.is_stopped() {
            break;
        }
        let profile = profile(dag, &keeper(cap).follow(dag, order));
        let area = area(&profile.expect("a topological order"));
        // A larger cap allows whatever a smaller one does.
        let before = points.last().map_or(0, |&(_, area)| area);
        points.push((cap, area.max(before)));
    }
    let all = points.last().map_or(0, |&(_, area)| area) as f64;
    let knee = points.iter().find(|&&(_, area)| area as f64 >= KNEE * all);
    AreaByCap {
        knee: knee.map_or(most, |&(cap, _)| cap),
        points,
    }
}

/// So many caps between two at the most, each larger than the one before by the same factor.
pub fn caps_between(from: u64, to: u64, count: usize) -> Vec<u64> {
    let factor = to.max(1) as f64 / from.max(1) as f64;
    let step = |i: usize| from as f64 * factor.powf(i as f64 / (count - 1) as f64);
    let mut caps: Vec<u64> = (1..count - 1).map(|i| step(i) as u64).collect();
    caps.retain(|cap| (from..to).contains(cap));
    caps.extend([from, to]);
    caps.sort_unstable();
    caps.dedup();
    caps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_rise_from_the_peak_to_where_there_is_no_cap() {
        let all = caps_between(100, 1_000, 12);
        assert_eq!((all[0], all[all.len() - 1], all.len()), (100, 1_000, 12));
        assert!(all.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(caps_between(7, 7, 12), [7]);
        assert_eq!(caps_between(0, 0, 12), [0]);
    }
}
