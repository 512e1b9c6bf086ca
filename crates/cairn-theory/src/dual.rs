//! Duality: what a schedule of a bipartite dag says of the dag with all arcs reversed. Knows one block at a time; only tests ask it.
//!
//! \[CMR07\], §5 states all this of W- and M-strands. It holds for *all* bipartite dags. Executing the sources X of G
//! renders exactly the sinks eligible that no source outside X feeds. So if X renders Y, then in the dual the sinks
//! of G outside Y, executed as sources, render at least all sources of G outside X: best sets of G and of its dual
//! are complements of each other, and nested ones on one side give nested ones on the other. An empty packet does no
//! harm.

use crate::Bipartite;
use cairn_kernel::Rows;
use cairn_oracle::has_priority;

/// The packets of a schedule: which sinks become eligible at which step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packets(Rows);

impl Packets {
    /// The packets of an order of the sources. Linear.
    ///
    /// # Panics
    /// If `order` is no permutation of the sources.
    fn new(block: &Bipartite, order: &[u32]) -> Packets {
        let mut step = vec![0u32; block.sources()];
        for (t, &u) in order.iter().enumerate() {
            step[u as usize] = t as u32 + 1;
        }
        // Steps count from 1, so 0 is a source that the order leaves out; with the length that also catches one named
        // twice.
        let named = step.iter().filter(|&&t| t > 0).count();
        assert!(
            named == block.sources() && order.len() == named,
            "an order names every source once"
        );
        let ready = |v: u32| {
            (block.parents(v).iter())
                .map(|&u| step[u as usize])
                .max()
                .unwrap_or(0)
        };
        let sinks = (0..block.sinks() as u32).map(|v| (ready(v), v));
        Packets(Rows::by_row(block.sources() + 1, sinks))
    }

    /// The sinks that step `t` renders eligible, steps being numbered from 1; `t = 0` are the sinks without parents.
    fn at(&self, t: usize) -> &[u32] {
        self.0.row(t)
    }

    /// How many steps there are.
    fn steps(&self) -> usize {
        self.0.len() - 1
    }

    /// The dual schedule: packets in reverse order, here in increasing order inside each (\[CMR07\], (5.3)). If the
    /// schedule is IC-optimal for the block, this is for the dual (Theorems 5.1 and 5.2, for every bipartite dag).
    fn reversed(&self) -> Vec<u32> {
        (0..=self.steps())
            .rev()
            .flat_map(|t| self.at(t).iter().copied())
            .collect()
    }
}

/// For e = 0..=s, the fewest sources of the dual that render e of its sinks eligible: X̃(e) = S − E(s − e), where E
/// is the optimal profile of a block with s sources and S sinks (\[CMR07\], proof of Theorem 5.3). Linear.
fn fewest_sources(profile: &[u32], sinks: u32) -> Vec<u32> {
    profile.iter().rev().map(|&e| sinks - e).collect()
}

/// The optimal profile of the dual of a block with this optimal profile and this many sinks. Linear.
fn dual_profile(profile: &[u32], sinks: u32) -> Vec<u32> {
    let fewest = fewest_sources(profile, sinks);
    let mut rendered = 0;
    (0..=sinks)
        .map(|t| {
            // `fewest` never falls, so one walk inverts it.
            while rendered + 1 < fewest.len() && fewest[rendered + 1] <= t {
                rendered += 1;
            }
            rendered as u32
        })
        .collect()
}

/// ▷ between the duals: dual(G2) ▷ dual(G1), which holds iff G1 ▷ G2 (\[CMR07\], Theorem 5.3, for all bipartite dags in
/// which every source has a child and every sink a parent). The arguments are the optimal profiles of G1 and G2 and
/// their numbers of sinks.
fn dual_has_priority(first: (&[u32], u32), second: (&[u32], u32)) -> bool {
    let first = dual_profile(first.0, first.1);
    let second = dual_profile(second.0, second.1);
    has_priority(&second, &first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_bipartite, any_sum, brute_force};
    use proptest::prelude::*;

    /// ▷̃ of [CMR07], (5.5), on the fewest sources X(e) that render e sinks of the block itself.
    fn dual_priority_by_definition(first: &[u32], second: &[u32]) -> bool {
        let fewest = |profile: &[u32]| -> Vec<usize> {
            let all = profile[profile.len() - 1];
            (0..=all)
                .map(|e| {
                    profile
                        .iter()
                        .position(|&x| x >= e)
                        .expect("all are rendered")
                })
                .collect()
        };
        let (x1, x2) = (fewest(first), fewest(second));
        let s1 = x1.len() - 1;
        (0..x1.len()).all(|e| {
            (0..x2.len()).all(|f| {
                let moved = (e + f).min(s1);
                x1[e] + x2[f] >= x1[moved] + x2[e + f - moved]
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1500))]

        /// [CMR07] Theorems 5.1 and 5.2 for any bipartite dag, connected or not, with bare sources and sinks, and
        /// with any order inside a packet.
        #[test]
        fn dual_schedules_are_optimal(block in any_bipartite(6, 6), seed in any::<u64>()) {
            let (best, order) = brute_force(&block);
            let dual = block.dual();
            let (dual_best, dual_exists) = brute_force(&dual);
            prop_assert_eq!(order.is_some(), dual_exists.is_some());
            prop_assert_eq!(&dual_profile(&best, block.sinks() as u32), &dual_best);
            let Some(order) = order else { return Ok(()) };
            let packets = Packets::new(&block, &order);
            prop_assert_eq!(dual.profile(&packets.reversed()), &dual_best[..]);
            let shuffled: Vec<u32> = (0..=packets.steps()).rev().flat_map(|t| {
                let mut packet = packets.at(t).to_vec();
                packet.sort_by_key(|&v| (u64::from(v) + 1).wrapping_mul(seed | 1));
                packet
            }).collect();
            prop_assert_eq!(dual.profile(&shuffled), dual_best);
        }

        /// X̃(e) = S − E(s − e) against its definition.
        #[test]
        fn fewest_sources_by_definition(block in any_bipartite(6, 6)) {
            let (best, _) = brute_force(&block);
            let (dual_best, _) = brute_force(&block.dual());
            let fewest = fewest_sources(&best, block.sinks() as u32);
            for (e, &x) in fewest.iter().enumerate() {
                let reached = dual_best.iter().position(|&b| b as usize >= e);
                prop_assert_eq!(reached, Some(x as usize));
            }
        }

        /// [CMR07] Theorem 5.3: G1 ▷ G2 iff dual(G2) ▷ dual(G1); and Lemma 5.2: iff G1 ▷̃ G2.
        #[test]
        fn priority_reverses_in_the_dual(a in any_sum(5, 5), b in any_sum(5, 5)) {
            let (e, f) = (brute_force(&a).0, brute_force(&b).0);
            let (dual_e, dual_f) = (brute_force(&a.dual()).0, brute_force(&b.dual()).0);
            let direct = has_priority(&e, &f);
            prop_assert_eq!(direct, has_priority(&dual_f, &dual_e));
            let through = dual_has_priority((&e, a.sinks() as u32), (&f, b.sinks() as u32));
            prop_assert_eq!(direct, through);
            prop_assert_eq!(direct, dual_priority_by_definition(&e, &f));
        }

        /// Every sink lies in one packet, and the packets add up to the profile.
        #[test]
        fn packets_partition_the_sinks(block in any_bipartite(7, 7)) {
            let order: Vec<u32> = (0..block.sources() as u32).rev().collect();
            let packets = Packets::new(&block, &order);
            let profile = block.profile(&order);
            prop_assert_eq!(packets.steps(), block.sources());
            for t in 0..=packets.steps() {
                let before = if t == 0 { 0 } else { profile[t - 1] };
                prop_assert_eq!(packets.at(t).len() as u32, profile[t] - before);
            }
            let mut all = packets.reversed();
            all.sort_unstable();
            prop_assert_eq!(all, (0..block.sinks() as u32).collect::<Vec<_>>());
        }
    }
    /// [CMR07] states duality for W- and M-strands, by proofs that need nonempty packets. It holds for all bipartite
    /// dags, also when a step renders nothing eligible: here for the clique Q_2, whose first packet is empty.
    #[test]
    fn duality_survives_empty_packets() {
        let clique = Bipartite::from_arcs(2, 2, vec![(0, 0), (0, 1), (1, 0), (1, 1)]);
        let packets = Packets::new(&clique, &[0, 1]);
        assert!(packets.at(1).is_empty());
        assert_eq!(clique.dual().profile(&packets.reversed()), [0, 0, 2]);
    }
}
