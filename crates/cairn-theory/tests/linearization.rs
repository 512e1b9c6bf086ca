//! Linearization against brute force, on families with known optima, and under laws that need no oracle.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{
    Random, Shape, any_composite, any_dag, any_sum, best_profile, has_priority, ic_optimal_order,
};
use cairn_theory::Work;
use cairn_theory::game::Game;
use cairn_theory::linearize::{Linearization, Obstacle, Theorem, linearize};
use cairn_theory::merge::sum_admits;
use cairn_theory::profile::profile;
use cairn_theory::ranks::Rank;
use cairn_theory::split::BlockId;
use cairn_theory::survey::{Survey, SurveyEffort};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// The optimal profile of one block by brute force, and whether an order attains it.
fn truth(survey: &Survey<'_>, block: BlockId) -> (Vec<u32>, bool) {
    let cut = survey.blocks().cut(survey.dag(), block);
    let s = cut.sources();
    let arcs = cut.arcs().map(|(u, v)| (u, v + s as u32)).collect();
    let dag = Dag::from_arcs(s + cut.sinks(), arcs).unwrap();
    let best = best_profile(&dag);
    let rendered = (0..=s).map(|t| best[t] - (s - t) as u32).collect();
    (rendered, ic_optimal_order(&dag).is_some())
}

/// What `linearize` says of a dag is true, be it a schedule or an obstacle. Returns the theorem or the obstacle's name.
fn check(dag: &Dag) -> String {
    match linearize(dag, &SurveyEffort::default(), &mut Work::unlimited()) {
        Ok(Linearization { order, proof }) => {
            assert_eq!(profile(dag, &order).unwrap(), best_profile(dag), "{dag:?}");
            check_proof(&proof);
            format!("{:?}", proof.theorem())
        }
        Err(failure) => {
            let survey = &failure.survey;
            let name = match failure.obstacle {
                Obstacle::NotComposite { .. } => {
                    assert!(!survey.blocks().is_composite());
                    "not composite"
                }
                Obstacle::NoOrder { block } => {
                    assert!(!truth(survey, block).1);
                    "no order"
                }
                Obstacle::Incomparable { first, second } => {
                    assert_ne!(first, second);
                    let (e, f) = (truth(survey, first).0, truth(survey, second).0);
                    assert!(!sum_admits(&e, &f) && !has_priority(&e, &f) && !has_priority(&f, &e));
                    "incomparable"
                }
                Obstacle::AgainstRank { from, to, by } => {
                    // The chain puts `to` before `from`, but the reverse may hold only within a merged rank.
                    assert_eq!(survey.blocks().block_above(by), Some(from));
                    assert_eq!(survey.blocks().block_below(by), Some(to));
                    let (e, f) = (truth(survey, from).0, truth(survey, to).0);
                    assert!(has_priority(&f, &e) && !has_priority(&e, &f));
                    "against rank"
                }
                Obstacle::AgainstMerge { from, to, by } => {
                    assert_eq!(survey.blocks().block_above(by), Some(from));
                    assert_eq!(survey.blocks().block_below(by), Some(to));
                    "against merge"
                }
                Obstacle::TooHard { .. } | Obstacle::TestTooLarge { .. } => {
                    panic!("this dag is small")
                }
            };
            if failure.proves_none() {
                assert_eq!(ic_optimal_order(dag), None);
            }
            name.to_owned()
        }
    }
}

/// The proof names every block once, blocks of earlier ranks have priority, and no arc leads back.
fn check_proof(proof: &cairn_theory::linearize::Proof<'_>) {
    let survey = &proof.survey;
    let mut seen = vec![usize::MAX; survey.blocks().len()];
    for rank in 0..proof.ranks.len() {
        for block in proof.blocks_of(rank) {
            assert_eq!(
                std::mem::replace(&mut seen[block.index()], rank),
                usize::MAX
            );
        }
    }
    for a in survey.blocks().blocks() {
        for (b, _) in survey.blocks().super_arcs(a) {
            assert!(seen[a.index()] <= seen[b.index()]);
        }
        for b in survey.blocks().blocks().filter(|b| *b != a) {
            let level = matches!(proof.ranks[seen[a.index()]], Rank::Level(_));
            if seen[a.index()] < seen[b.index()] || level && seen[a.index()] == seen[b.index()] {
                let (e, f) = (survey.profile(a).unwrap(), survey.profile(b).unwrap());
                assert!(has_priority(e, f));
            }
        }
    }
}

/// Thousands of random composites of at most 18 tasks: whenever a schedule is returned it is optimal at every step,
/// and whenever none is, the reason is true. All verdicts occur.
#[test]
fn random_composites() {
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(4000));
    let counted = std::cell::RefCell::new(&mut verdicts);
    runner
        .run(&any_composite(18), |(dag, shapes)| {
            // [MRY06] Theorem 6: the blocks it was composed of, and none other, are found.
            let survey = Survey::new(&dag, &SurveyEffort::default(), &mut Work::unlimited());
            prop_assert!(survey.blocks().is_composite() && survey.removed() == 0);
            let mut sizes: Vec<_> = shapes
                .iter()
                .map(|s| (s.sources, s.sinks, s.arcs.len()))
                .collect();
            let mut found: Vec<_> = (survey.blocks().blocks())
                .map(|b| survey.blocks().cut(&dag, b))
                .map(|b| (b.sources(), b.sinks(), b.arc_count()))
                .collect();
            sizes.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(sizes, found);
            *counted.borrow_mut().entry(check(&dag)).or_default() += 1;
            Ok(())
        })
        .unwrap();
    for name in [
        "Linear",
        "Strands",
        "Merge",
        "against rank",
        "incomparable",
        "no order",
        "against merge",
    ] {
        assert!(
            verdicts.contains_key(name),
            "{name} never occurred: {verdicts:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Dags of all sorts, composite or not, with shortcut arcs.
    #[test]
    fn random_dags(dag in any_dag(13)) {
        check(&dag);
    }

    /// Sums of blocks are decided completely: a schedule is found iff there is one.
    #[test]
    fn sums_are_decided(dag in any_sum(18)) {
        match linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()) {
            Ok(found) => prop_assert_eq!(profile(&dag, &found.order).unwrap(), best_profile(&dag)),
            Err(failure) => {
                prop_assert!(failure.proves_none());
                prop_assert_eq!(ic_optimal_order(&dag), None);
            }
        }
    }

    /// Told to stop after so many questions: what is claimed then still holds, and without a question left nothing is
    /// given up.
    #[test]
    fn stopped_early_it_claims_less_but_nothing_wrong(dag in any_sum(18), patience in 0u32..6) {
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= patience;
        let whole = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited());
        match linearize(&dag, &SurveyEffort::default(), &mut Work::until(&stop)) {
            // Not always the same order: strands that nobody could compare are merged.
            Ok(found) => {
                prop_assert!(whole.is_ok());
                prop_assert_eq!(profile(&dag, &found.order).unwrap(), best_profile(&dag));
            }
            Err(failure) if failure.proves_none() => prop_assert!(whole.is_err()),
            Err(failure) => {
                prop_assert!(asked.load(Ordering::Relaxed) > patience, "nobody said stop: {}", failure.obstacle);
                let is_for_time = matches!(failure.obstacle, Obstacle::TooHard { .. } | Obstacle::TestTooLarge { .. });
                prop_assert!(is_for_time, "{}", failure.obstacle);
            }
        }
    }

    /// Law: the verdict does not depend on numbering, and isolated tasks change nothing.
    #[test]
    fn renumbering(given in any_composite(60), seed in any::<u64>(), isolated in 0usize..3) {
        let dag = given.0;
        let n = dag.len() + isolated;
        let mut label: Vec<u32> = (0..n as u32).collect();
        Random::new(seed).shuffle(&mut label);
        let arcs = dag.arcs().map(|(a, b)| (label[a.index()], label[b.index()])).collect();
        let other = Dag::from_arcs(n, arcs).unwrap();
        let (first, second) = (linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()), linearize(&other, &SurveyEffort::default(), &mut Work::unlimited()));
        // Ties inside a merge are broken by number, so a merge may fit the arcs by luck alone.
        let lucky = |r: &Result<Linearization<'_>, _>| matches!(r, Ok(l) if l.proof.theorem() == Theorem::Merge);
        if let (Ok(first), Ok(second)) = (&first, &second) {
            let (e, f) = (profile(&dag, &first.order).unwrap(), profile(&other, &second.order).unwrap());
            let shifted: Vec<u32> = e.iter().map(|x| x + isolated as u32).collect();
            prop_assert_eq!(&f[..e.len()], &shifted[..]);
        } else if !lucky(&first) && !lucky(&second) {
            prop_assert_eq!(first.is_ok(), second.is_ok());
        }
    }

    /// Law: shortcut arcs change nothing ([MRY06], Theorem 5).
    #[test]
    fn shortcuts(given in any_composite(40), extra in 1usize..4, seed in any::<u64>()) {
        let dag = given.0;
        let reach = cairn_oracle::reach(&dag);
        let mut longer: Vec<(u32, u32)> = (0..dag.len()).flat_map(|a| (0..dag.len()).map(move |b| (a, b)))
            .filter(|&(a, b)| reach[a][b] && !dag.has_arc(TaskId(a as u32), TaskId(b as u32)))
            .map(|(a, b)| (a as u32, b as u32)).collect();
        Random::new(seed).shuffle(&mut longer);
        longer.truncate(extra);
        let added = longer.len();
        let arcs = dag.arcs().map(|(a, b)| (a.0, b.0)).chain(longer).collect();
        let more = Dag::from_arcs(dag.len(), arcs).unwrap();
        match (linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()), linearize(&more, &SurveyEffort::default(), &mut Work::unlimited())) {
            (Ok(first), Ok(second)) => {
                prop_assert_eq!(second.proof.survey.removed(), added);
                prop_assert_eq!(first.order, second.order);
            }
            (Err(first), Err(second)) => prop_assert_eq!(first.obstacle, second.obstacle),
            _ => prop_assert!(false, "only one of them was linearized"),
        }
    }

    /// Law: reversing all arcs turns ▷ round ([CMR07], Theorem 5.3), so a dag is a ▷-linear composition iff its dual
    /// is.
    #[test]
    fn duality(given in any_composite(40)) {
        let dag = given.0;
        let reversed = Dag::from_arcs(dag.len(), dag.arcs().map(|(a, b)| (b.0, a.0)).collect()).unwrap();
        let theorem = |dag: &Dag| linearize(dag, &SurveyEffort::default(), &mut Work::unlimited()).ok().map(|l| l.proof.theorem());
        let (first, second) = (theorem(&dag), theorem(&reversed));
        prop_assert_eq!(first == Some(Theorem::Linear), second == Some(Theorem::Linear));
    }
}

#[test]
fn tiny_dags() {
    for n in 0..4 {
        let dag = Dag::from_arcs(n, vec![]).unwrap();
        let found = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
        assert_eq!(found.order.len(), n);
        assert_eq!(found.proof.theorem(), Theorem::Linear);
        assert!(found.proof.ranks.is_empty());
    }
    for dag in [
        Dag::from_arcs(2, vec![(1, 0)]).unwrap(),
        Dag::from_arcs(3, vec![(2, 0)]).unwrap(),
        Dag::from_arcs(4, vec![(2, 0), (3, 1)]).unwrap(),
        Dag::from_arcs(4, vec![(0, 1), (1, 2), (2, 3)]).unwrap(),
    ] {
        assert_eq!(check(&dag), "Linear");
    }
}

fn evolving_mesh(levels: u32) -> Dag {
    let id = |level: u32, x: u32| level * (level + 1) / 2 + x;
    let arcs = (0..levels - 1).flat_map(|l| {
        (0..=l).flat_map(move |x| [(id(l, x), id(l + 1, x)), (id(l, x), id(l + 1, x + 1))])
    });
    Dag::from_arcs((levels * (levels + 1) / 2) as usize, arcs.collect()).unwrap()
}

fn reversed(dag: &Dag) -> Dag {
    Dag::from_arcs(dag.len(), dag.arcs().map(|(a, b)| (b.0, a.0)).collect()).unwrap()
}

fn reduction_tree(height: u32) -> Dag {
    let n = (2u32 << height) - 1;
    Dag::from_arcs(n as usize, (1..n).map(|v| (v, (v - 1) / 2)).collect()).unwrap()
}

fn fft(d: u32) -> Dag {
    let width = 1u32 << d;
    let arcs = (0..d).flat_map(|l| {
        (0..width).flat_map(move |x| {
            let below = (l + 1) * width;
            [
                (l * width + x, below + x),
                (l * width + x, below + (x ^ 1 << l)),
            ]
        })
    });
    Dag::from_arcs((width * (d + 1)) as usize, arcs.collect()).unwrap()
}

/// The families of [MRY06], Fig. 3, small ones against brute force.
#[test]
fn small_families_are_optimal() {
    for dag in [
        evolving_mesh(5),
        reversed(&evolving_mesh(5)),
        reduction_tree(3),
        reversed(&reduction_tree(3)),
        fft(2),
    ] {
        assert_eq!(check(&dag), "Linear");
    }
}

/// The same families, large, against the closed forms of their optima ([RY05]).
#[test]
fn large_families_are_optimal() {
    let optimum = |dag: &Dag| {
        let found = linearize(dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
        assert_eq!(found.proof.theorem(), Theorem::Linear);
        profile(dag, &found.order).unwrap()
    };
    let tree = reduction_tree(10);
    let leaves = 1 << 10;
    for (t, &e) in optimum(&tree).iter().enumerate() {
        let left = if t < tree.len() {
            leaves - t.div_ceil(2)
        } else {
            0
        };
        assert_eq!(e as usize, left);
    }
    let fft = fft(7);
    let (width, sinks) = (1usize << 7, 1usize << 7);
    for (t, &e) in optimum(&fft).iter().enumerate() {
        let last = (fft.len() - t).min(sinks);
        assert_eq!(
            e as usize,
            if t <= fft.len() - sinks {
                width - t % 2
            } else {
                last
            }
        );
    }
    // A mesh of l levels: after all of level k, k + 2 tasks are eligible; the first of a level adds none.
    let mesh = evolving_mesh(60);
    let best = optimum(&mesh);
    let mut t = 0;
    for level in 0..59 {
        for x in 0..=level {
            assert_eq!(best[t], level + 1, "level {level}, {x} executed");
            t += 1;
        }
    }
    // The reduction-mesh is its dual: level after level, of which the smallest is its sink.
    let best = optimum(&reversed(&mesh));
    assert_eq!(best[0], 60);
    assert_eq!(best.iter().map(|&e| u64::from(e)).sum::<u64>(), {
        // Executing x ≥ 1 of the k+1 tasks of a level leaves k + 1 − x there and x − 1 in the next.
        (1..=60u64).map(|w| w + (w - 1) * (w - 1)).sum::<u64>()
    });
}

/// ▷-linear compositions of about two thousand tasks, composed at random in ▷ order: always linearized, and no
/// schedule tried beats the one found at any step.
#[test]
fn large_linear_composites_are_not_beaten() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let dag = linear_composite(&mut random, 2_000);
        let found = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
        assert_eq!(found.proof.theorem(), Theorem::Linear);
        let best = profile(&dag, &found.order).unwrap();
        for greedy in [true, false] {
            let mut game = Game::new(&dag);
            for step in 1..=300 {
                let eligible: Vec<TaskId> = game.eligible().collect();
                let task = match greedy {
                    true => *(eligible.iter())
                        .max_by_key(|&&t| dag.children(t).len())
                        .unwrap(),
                    false => eligible[random.below(eligible.len())],
                };
                game.execute(task, |_| ()).unwrap();
                assert!(game.eligible_count() as u32 <= best[step]);
            }
        }
    }
}

/// W-dags by falling degree, then N-dags, then M-dags by rising degree, composed at random in this order.
fn linear_composite(random: &mut Random, most: usize) -> Dag {
    let mut shapes = Vec::new();
    for degree in (2..6).rev() {
        shapes.extend((1..40).map(|i| Shape::w(1 + i / 8, degree)));
    }
    shapes.extend((1..40).map(Shape::n));
    for degree in 2..6 {
        shapes.extend((1..40).rev().map(|i| Shape::m(1 + i / 8, degree)));
    }
    shapes.retain(|_| random.below(2) == 0);
    cairn_oracle::compose(&shapes, most, random).0
}

/// A dense dag whose shortcut arcs take a while: told to stop, it goes on with the dag as it is and claims no more.
#[test]
fn the_skeleton_can_be_stopped() {
    let dag = cairn_oracle::random_dag(600, 1, 7);
    let whole = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap_err();
    assert!(whole.survey.removed() > 0);
    let asked = AtomicU32::new(0);
    for last in 0..3 {
        asked.store(0, Ordering::Relaxed);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= last;
        let failure =
            linearize(&dag, &SurveyEffort::default(), &mut Work::until(&stop)).unwrap_err();
        assert_eq!((failure.survey.removed(), failure.survey.dag()), (0, &dag));
        assert!(matches!(failure.obstacle, Obstacle::NotComposite { .. }));
        assert!(!failure.proves_none());
    }
}

/// Two equal strands follow one another; where it is time to stop before they are compared, they are merged, which is as good.
#[test]
fn strands_that_nobody_compared_are_merged() {
    let half = [(0, 4), (0, 5), (1, 5), (2, 4), (3, 5)];
    let other = half.map(|(a, b)| (a + 6, b + 6));
    let dag = Dag::from_arcs(12, [half, other].concat()).unwrap();
    let order = |work: &mut Work<'_>| {
        linearize(&dag, &SurveyEffort::default(), work)
            .unwrap()
            .order
    };
    let (whole, stopped) = (
        order(&mut Work::unlimited()),
        order(&mut Work::until(&|| true)),
    );
    assert_ne!(whole, stopped);
    for order in [whole, stopped] {
        assert_eq!(profile(&dag, &order).unwrap(), best_profile(&dag));
    }
}
