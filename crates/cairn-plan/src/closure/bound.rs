//! A bound on the hull from any flow at all. Knows one piece.

use super::amount::Amount;
use super::gain::Gain;
use super::level::level;
use super::piece::Piece;
use crate::budgets::hull::BOUND_SWEEPS;
use cairn_kernel::Work;
use std::cmp::Ordering;

/// Points, counted from the start of the piece, of a bound on the hull over the piece: valid for whatever flow
/// the piece holds, the closer the more level its loads are. Levels them a little first.
///
/// With loads `load(u) = reward·c + inflow − outflow` (in the units of the piece), no closure X earns more than
/// Σ load(u) over X, since flow enters X but never leaves it. So a closure of cost t earns at most what the
/// steepest load/cost add up to, taken greedily until their cost is t. Rewards are rounded up to whole numbers.
/// O(n log n).
pub(crate) fn load_bound<N: Amount>(piece: &mut Piece<N>) -> Vec<Gain> {
    if !piece.is_routed {
        piece.reset_flow();
    }
    let levelled = level(
        &mut piece.network,
        &piece.cost,
        BOUND_SWEEPS,
        &mut Work::unlimited(),
    );
    debug_assert!(levelled.is_ok(), "nobody says stop");
    let unit = piece.place.total.reduced();
    let loads = (0..piece.len()).map(|u| {
        let own = N::product(piece.cost[u], unit.reward);
        Load::new(
            (piece.network.nodes[u].balance + own).to_wide(),
            piece.cost[u],
        )
    });
    // Only at the very start may there be rewards that cost nothing.
    let at_start = piece.place.steepest == Gain::INFINITE_SLOPE;
    greedy_points(loads.collect(), unit.cost, piece.place.total, at_start)
}

#[derive(Clone, Copy)]
struct Load {
    load: i128,
    cost: u64,
    /// ⌊load/cost⌋, which decides most comparisons; greatest without cost.
    whole: i128,
}

impl Load {
    fn new(load: i128, cost: u64) -> Load {
        let whole = match cost {
            0 => i128::MAX,
            1 => load,
            _ => load.div_euclid(i128::from(cost)),
        };
        Load { load, cost, whole }
    }

    /// Compares load/cost exactly; without cost it is infinite. Whole part first: products stay in range.
    fn cmp_slope(&self, other: &Load) -> Ordering {
        self.whole.cmp(&other.whole).then_with(|| {
            if self.cost == 0 || self.cost == other.cost {
                return self.load.cmp(&other.load);
            }
            let rest = |l: &Load| l.load.rem_euclid(i128::from(l.cost));
            (rest(self) * i128::from(other.cost)).cmp(&(rest(other) * i128::from(self.cost)))
        })
    }
}

fn greedy_points(mut loads: Vec<Load>, scale: u64, total: Gain, at_start: bool) -> Vec<Gain> {
    loads.retain(|l| l.load > 0);
    loads.sort_unstable_by(|a, b| b.cmp_slope(a));
    let scale = i128::from(scale);
    let point = |load: i128, cost: u64| {
        // Rounded up: a bound may be too high, never too low.
        let reward = u64::try_from((load + scale - 1) / scale).unwrap_or(u64::MAX);
        Gain {
            reward: reward.min(total.reward),
            cost,
        }
    };
    let costless = loads.partition_point(|l| l.cost == 0);
    let mut load: i128 = loads[..costless].iter().map(|l| l.load).sum();
    let mut points = vec![if at_start { point(load, 0) } else { Gain::ZERO }];
    if let Some(first) = loads.get(costless).filter(|first| first.cost > 1) {
        let per_cost = first.load / i128::from(first.cost) + 1;
        // The line from the start to the first corner would lie too low where rewards without cost lie between: a
        // point at cost 1 lifts it.
        points.push(point(load + per_cost, 1));
    }
    let mut cost = 0;
    for l in &loads[costless..] {
        load += l.load;
        cost += l.cost;
        let next = point(load, cost);
        // From here on the bound is flat.
        if next.reward == total.reward {
            points.push(next);
            break;
        }
        points.push(next);
    }
    if points.last().is_some_and(|last| last.cost < total.cost) {
        points.push(total);
    }
    points
}
