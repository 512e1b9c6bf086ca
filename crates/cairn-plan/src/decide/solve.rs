//! Which method is tried when on one component. Knows nothing of the rest of the dag.

use super::block_bound::BlockBound;
use super::component::Component;
use super::frontier::Frontier;
use super::knowledge::{Finding, Knowledge, Method};
use super::list_orders::ListOrders;
use super::macro_states::{ChainSearch, MacroStates};
use super::tree_program::TreeProgram;
use crate::budgets::decide::{LARGE_COMPONENT, MOST_SET, NARROWED, WIDER, share};
use cairn_kernel::Work;

/// One node, or rewards that all need every node: nothing to decide.
struct Trivial;

impl Method for Trivial {
    fn name(&self) -> &'static str {
        "closed form"
    }

    fn examine(&self, component: &Component, known: &Knowledge, _: &mut Work<'_>) -> Finding {
        if !component.is_complete() {
            return Finding::default();
        }
        let nodes = component.nodes();
        let mut profile = vec![0; nodes + 1];
        profile[nodes] = component.total();
        Finding {
            upper: Some(profile),
            order: Some(known.order.clone()),
            states: 1,
            ..Finding::default()
        }
    }
}

/// How hard to try on each component.
#[derive(Clone, Copy, Debug)]
pub struct ComponentEffort {
    /// Width of the first beam search; large components get a seventh of it.
    pub beam: usize,
    /// Steps for each component, shared among the methods.
    pub steps: u64,
    /// Whether to enumerate all macro states where the programs over trees and frontiers fail. Tests switch it off,
    /// or small components would never reach what comes after.
    pub enumerate: bool,
}

/// Learns all it can of a component within so many steps: for each t the most that t nodes gain, and whether one order
/// attains that at every t.
///
/// `known` starts from a valid bound (the chord for a component of a hull interval) and an order that respects the
/// gates: what is kept when nothing better is found. Methods are tried from cheap to dear, each with a share of the
/// steps, until nothing is left to learn: first for the exact profile, then for the answer. Trees, near-trees (cutset
/// conditioning) and components of small path width are solved exactly in polynomial time; where there are few unions of
/// closures, they are enumerated. In general the profile alone is NP-hard (\[MR05\], Theorem 3.1).
///
/// O(2^c · nodes²) where c vertices meet all cycles, O(3^w · nodes²) where w rewards are open at a time; whatever comes, O(steps) of
/// `effort`, but for the closed form, which is linear.
///
/// For example, a node that gains one alone, two that gain three together, and one more for all three: the most is 0, 1,
/// 3, 5, and no order attains it, as the first node is in the best set of one and not in that of two.
pub(super) fn solve(
    component: &Component,
    known: &mut Knowledge,
    effort: &ComponentEffort,
    work: &mut Work<'_>,
) {
    let is_large = component.nodes() * component.rewards() > LARGE_COMPONENT;
    let width = match is_large {
        true => effort.beam / NARROWED,
        false => effort.beam,
    };
    let first = MacroStates {
        beam: Some(width.max(1)),
    };
    let wide = MacroStates {
        beam: Some(WIDER * effort.beam),
    };
    let all = MacroStates { beam: None };
    let of = |percent: u64| effort.steps / 100 * percent;
    if effort.steps == 0 {
        known.learn(&Trivial, component, work);
        return;
    }
    // The cheap methods first.
    let exact: [(&dyn Method, u64); 5] = [
        (&Trivial, u64::MAX),
        (&ListOrders, of(share::LIST_ORDERS)),
        (&first, of(share::FIRST_BEAM)),
        (&TreeProgram { most: MOST_SET }, of(share::TREES)),
        (&Frontier, of(share::FRONTIER)),
    ];
    for (method, steps) in exact {
        if !known.is_exact() && !work.is_stopped() {
            known.learn(method, component, &mut work.part(steps));
        }
    }
    let wide_beam = of(share::WIDE_BEAM);
    // With the exact profile, a search for a chain through it answers; without, all states do.
    let answers: [(&dyn Method, u64, bool); 5] = [
        (&ChainSearch, of(share::CHAIN), known.is_exact()),
        (&all, of(share::ALL_STATES), effort.enumerate),
        (&BlockBound, of(share::BLOCKS), true),
        (&wide, wide_beam, wide.fits(component, wide_beam)),
        (&ChainSearch, of(share::LAST_CHAIN), true),
    ];
    for (method, steps, wanted) in answers {
        if wanted && !known.is_decided() && !work.is_stopped() {
            known.learn(method, component, &mut work.part(steps));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::component::gate_order;
    use super::super::ids::NodeId;
    use super::*;
    use crate::budgets::decide::USUAL;
    use crate::testing::whole;
    use cairn_dag::Dag;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    fn is_in(set: u32, nodes: &[NodeId]) -> bool {
        nodes.iter().all(|v| set >> v.index() & 1 == 1)
    }

    /// Exact profile and the answer whether an IC-optimal order exists, over all sets of nodes.
    fn brute(component: &Component) -> (Vec<u32>, bool) {
        let n = component.nodes();
        let gain = |set: u32| -> u32 {
            (component.all_rewards())
                .filter(|&r| is_in(set, component.needs(r)))
                .map(|r| component.weight(r))
                .sum()
        };
        let ideal = |set: u32| {
            let executed = component.all_nodes().filter(|&v| is_in(set, &[v]));
            let mut gates = executed.filter_map(|v| component.gate(v));
            gates.all(|gate| is_in(set, component.needs(gate)))
        };
        let mut best = vec![0; n + 1];
        for set in (0..1u32 << n).filter(|&s| ideal(s)) {
            let t = set.count_ones() as usize;
            best[t] = best[t].max(gain(set));
        }
        let mut front = vec![0u32];
        for t in 1..=n {
            let mut next: Vec<u32> = (front.iter())
                .flat_map(|&s| (0..n).map(move |v| s | 1 << v))
                .filter(|&s| s.count_ones() as usize == t && ideal(s) && gain(s) == best[t])
                .collect();
            next.sort_unstable();
            next.dedup();
            front = next;
        }
        (best, !front.is_empty())
    }

    fn trivial_bound(component: &Component) -> Vec<u32> {
        vec![component.total(); component.nodes() + 1]
    }

    /// The one in the words above.
    #[test]
    fn the_example_has_no_order_that_attains_the_profile() {
        let alone = [(0, 3)];
        let together = (4..7).flat_map(|child| [(1, child), (2, child)]);
        let all = (0..3).map(|node| (node, 7));
        let arcs = alone.into_iter().chain(together).chain(all).collect();
        let components = whole(&Dag::from_arcs(8, arcs).unwrap());
        let [component] = components.as_slice() else {
            panic!("task 7 joins all")
        };
        let bound = trivial_bound(component);
        let mut known = Knowledge::new(component, bound, gate_order(component));
        let effort = &USUAL.component;
        solve(component, &mut known, effort, &mut Work::unlimited());
        assert_eq!((known.upper, known.admits), (vec![0, 1, 3, 5], Some(false)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// Each method alone, and all together: bounds hold, exact answers are right, verdicts are never wrong.
        #[test]
        fn every_method_agrees_with_brute_force(dag in any_dag(11)) {
            let never = || false;
            for component in whole(&dag) {
                let (best, admits) = brute(&component);
                let methods: [&dyn Method; 9] = [
                    &Trivial, &MacroStates { beam: None }, &MacroStates { beam: Some(1) }, &MacroStates { beam: Some(4) },
                    &TreeProgram { most: 14 }, &Frontier, &BlockBound, &ChainSearch, &ListOrders,
                ];
                for method in methods {
                    let mut known = Knowledge::new(&component, trivial_bound(&component), gate_order(&component));
                    known.learn(method, &component, &mut Work::new(1 << 40, &never));
                    check(&known, &best, admits, method.name())?;
                    if ["macro states", "tree program", "frontier program"].contains(&method.name()) {
                        prop_assert_eq!(&known.upper, &best, "{} is exact", method.name());
                    }
                    if method.name() == "macro states" {
                        prop_assert_eq!(known.admits, Some(admits));
                    }
                }
                // A chain search against the exact profile decides.
                let mut known = Knowledge::new(&component, best.clone(), gate_order(&component));
                known.lower = best.clone();
                known.learn(&ChainSearch, &component, &mut Work::new(1 << 40, &never));
                prop_assert_eq!(known.admits, Some(admits));
                // Together.
                let mut known = Knowledge::new(&component, trivial_bound(&component), gate_order(&component));
                solve(&component, &mut known, &USUAL.component, &mut Work::new(1 << 40, &never));
                check(&known, &best, admits, "together")?;
                prop_assert_eq!(known.admits, Some(admits));
                prop_assert_eq!(&known.upper, &best);
            }
        }

        /// Small budgets: any answer but a wrong one.
        #[test]
        fn running_out_of_budget_is_never_wrong(dag in any_dag(11), budget in 0u64..400) {
            let never = || false;
            for component in whole(&dag) {
                let (best, admits) = brute(&component);
                let methods: [&dyn Method; 6] = [
                    &MacroStates { beam: None }, &MacroStates { beam: Some(4) },
                    &TreeProgram { most: 2 }, &Frontier, &BlockBound, &ChainSearch,
                ];
                for method in methods {
                    let mut known = Knowledge::new(&component, trivial_bound(&component), gate_order(&component));
                    known.learn(method, &component, &mut Work::new(budget, &never));
                    check(&known, &best, admits, method.name())?;
                }
            }
        }
    }

    fn check(
        known: &Knowledge,
        best: &[u32],
        admits: bool,
        name: &str,
    ) -> Result<(), TestCaseError> {
        for t in 0..best.len() {
            prop_assert!(known.upper[t] >= best[t], "{name}: upper bound at {t}");
            prop_assert!(known.lower[t] <= best[t], "{name}: lower bound at {t}");
        }
        if let Some(said) = known.admits {
            prop_assert_eq!(said, admits, "{}", name);
        }
        if known.admits == Some(true) {
            prop_assert_eq!(&known.profile[..], best, "{}: the order is optimal", name);
        }
        Ok(())
    }
}
