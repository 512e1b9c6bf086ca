//! Statements of the papers that are right, each as a test against brute force, where no module tests it already.

use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Price, Work, convolve};
use cairn_oracle::{Random, Shape, any_composite, any_dag, best_profile, has_priority, sum};
use cairn_theory::linearize::{Theorem, linearize};
use cairn_theory::merge::largest_merge;
use cairn_theory::profile::profile;
use cairn_theory::strand::{Strand, schedule_sum};
use cairn_theory::survey::SurveyEffort;
use proptest::prelude::*;

/// A random schedule.
fn any_order(dag: &Dag, random: &mut Random) -> Vec<TaskId> {
    let mut ideal = 0;
    let mut order = Vec::new();
    while order.len() < dag.len() {
        let eligible = cairn_oracle::eligible(dag, ideal);
        let task = eligible[random.below(eligible.len())];
        ideal |= 1 << task.0;
        order.push(task);
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// [MRY06] Lemma 1, [CMR07] Lemma 2.1: executing all nonsinks first loses nothing at any step.
    #[test]
    fn mry06_lemma_1_sinks_last(dag in any_dag(16), seed in any::<u64>()) {
        let order = any_order(&dag, &mut Random::new(seed));
        let (sinks, others): (Vec<_>, Vec<_>) = order.iter().partition(|&&t| dag.is_sink(t));
        let later = [others, sinks].concat();
        let (before, after) = (profile(&dag, &order).unwrap(), profile(&dag, &later).unwrap());
        prop_assert!(after.iter().zip(&before).all(|(after, before)| after >= before));
    }

    /// [MRY06] Theorem 5: a schedule is worth the same on a dag and on its skeleton.
    #[test]
    fn mry06_theorem_5_skeleton(dag in any_dag(16), seed in any::<u64>()) {
        let skeleton = dag.skeleton().dag;
        let order = any_order(&dag, &mut Random::new(seed));
        prop_assert_eq!(profile(&dag, &order), profile(&skeleton, &order));
        prop_assert_eq!(best_profile(&dag).len(), dag.len() + 1);
    }

    /// [MRY06] Lemma 3, [MR05] Lemma 2.1, [CMR07] Lemma 2.3: [[G1 ⇑ G2] ⇑ G3] is [G1 ⇑ [G2 ⇑ G3]]. The same three
    /// dags with the same tasks identified, in either order of composing.
    #[test]
    fn mry06_lemma_3_composition_is_associative(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let [g1, g2, g3] = [0, 1, 2].map(|_| Shape::random(&mut random, 3, 3).dag());
        // Tasks of G_i are (i, task); `merged` maps a source to the sink it becomes one with.
        let pairs = |upper: &Dag, lower: &Dag, random: &mut Random| -> Vec<(TaskId, TaskId)> {
            let (sinks, sources): (Vec<_>, Vec<_>) = (upper.sinks().collect(), lower.sources().collect());
            sinks.into_iter().zip(sources).filter(|_| random.below(2) == 0).collect()
        };
        let (top, bottom) = (pairs(&g1, &g2, &mut random), pairs(&g2, &g3, &mut random));
        let left = compose(&compose(&g1, &g2, &top), &g3, &shift(&bottom, g1.len(), &top));
        let right_inner = compose(&g2, &g3, &bottom);
        let right = compose(&g1, &right_inner, &top);
        prop_assert_eq!(left.len(), right.len());
        prop_assert_eq!(left.arc_count(), right.arc_count());
        prop_assert_eq!(best_profile(&left), best_profile(&right));
        let degrees = |dag: &Dag| {
            let mut all: Vec<_> = dag.tasks().map(|t| (dag.parents(t).len(), dag.children(t).len())).collect();
            all.sort_unstable();
            all
        };
        prop_assert_eq!(degrees(&left), degrees(&right));
    }

    /// [MRY06] Theorem 4, [CMR07] Theorem 2.1, on composites built in ▷ order: blocks one after the other, sinks last.
    #[test]
    fn mry06_theorem_4_linear_compositions(given in any_composite(16)) {
        let (dag, _) = given;
        if let Ok(found) = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited())
            && found.proof.theorem() == Theorem::Linear
        {
            let blocks = found.proof.blocks.items().iter().flat_map(|&b| found.proof.survey.order(b).to_vec());
            let expected: Vec<TaskId> = blocks.chain(dag.sinks()).collect();
            prop_assert_eq!(&found.order, &expected);
            prop_assert_eq!(profile(&dag, &expected).unwrap(), best_profile(&dag));
        }
    }

    /// [CMR07] §6: every sum of W-strands has priority over every sum of M-strands.
    #[test]
    fn cmr07_w_sums_before_m_sums(
        w in prop::collection::vec(prop::collection::vec(2u32..5, 1..4), 1..4),
        m in prop::collection::vec(prop::collection::vec(2u32..5, 1..4), 1..4),
    ) {
        let w: Vec<Strand> = w.iter().map(|d| Strand::from_degrees(&w_degrees(d)).unwrap()).collect();
        let m: Vec<Strand> = m.iter().map(|d| Strand::from_degrees(&m_degrees(d)).unwrap()).collect();
        prop_assert!(has_priority(&sum_profile(&w), &sum_profile(&m)));
    }

    /// [CMR07] Corollary 5.1: if M1 ▷ M2, then the dual of M2, a W-strand, has priority over that of M1.
    #[test]
    fn cmr07_corollary_5_1_duals_of_m_strands(
        first in prop::collection::vec(2u32..5, 1..4),
        second in prop::collection::vec(2u32..5, 1..4),
    ) {
        let shapes = [first, second].map(|d| Shape::strand(&m_degrees(&d)));
        prop_assert!(shapes.iter().all(is_m_strand));
        let best = |shape: &Shape| -> Vec<u32> {
            let all = best_profile(&shape.dag());
            (0..=shape.sources).map(|t| all[t] - (shape.sources - t) as u32).collect()
        };
        let [m1, m2] = [best(&shapes[0]), best(&shapes[1])];
        let [w1, w2] = [best(&shapes[0].dual()), best(&shapes[1].dual())];
        if has_priority(&m1, &m2) {
            prop_assert!(has_priority(&w2, &w1));
        }
    }

    /// [MR05] Lemma 4.1, Procedure BBDP: convolving one after the other finds the best way to share r among any number
    /// of functions.
    #[test]
    fn mr05_lemma_4_1_the_best_way_to_share(functions in prop::collection::vec(prop::collection::vec(0u32..9, 1..5), 1..5)) {
        let found = functions.iter().skip(1).fold(functions[0].clone(), |all, f| {
            convolve(&all, f, None, Price::Time, &mut Work::unlimited()).unwrap()
        });
        let mut best = vec![None; found.len()];
        let mut given = vec![0usize; functions.len()];
        loop {
            let value: u32 = functions.iter().zip(&given).map(|(f, &r)| f[r]).sum();
            let slot = &mut best[given.iter().sum::<usize>()];
            *slot = (*slot).max(Some(value));
            // The next way, like the next number.
            let Some(i) = (0..given.len()).find(|&i| given[i] + 1 < functions[i].len()) else { break };
            given[..i].fill(0);
            given[i] += 1;
        }
        prop_assert_eq!(found.into_iter().map(Some).collect::<Vec<_>>(), best);
    }

    /// [CMR07] Theorems 4.1 and 4.2: the greedy order of a sum of strands and the largest merge of their own orders
    /// are worth the same at every step, also where brute force cannot follow.
    #[test]
    fn cmr07_greedy_equals_largest_merge(
        degrees in prop::collection::vec((1u32..4, prop::collection::vec(2u32..5, 0..12)), 1..6),
    ) {
        let strands: Vec<Strand> = degrees.into_iter().map(|(first, rest)| {
            let degrees: Vec<u32> = [first].into_iter().chain(rest).collect();
            Strand::from_degrees(&degrees).unwrap()
        }).collect();
        let greedy = sum_profile(&strands);
        let profiles: Vec<Vec<u32>> = strands.iter().map(|s| s.to_bipartite().profile(&s.schedule())).collect();
        let rows: Vec<&[u32]> = profiles.iter().map(Vec::as_slice).collect();
        let units: Vec<u32> = (0..rows.len() as u32).collect();
        let mut taken = vec![0; rows.len()];
        let mut value = 0;
        for (t, unit) in largest_merge(&rows, &units).into_iter().enumerate() {
            let unit = unit as usize;
            value += rows[unit][taken[unit] + 1] - rows[unit][taken[unit]];
            taken[unit] += 1;
            prop_assert_eq!(value, greedy[t + 1]);
        }
    }

    /// [CMR07] Lemma 5.1: an IC-optimal schedule of an M-strand renders at most one sink eligible a step, and works
    /// sink by sink.
    #[test]
    fn cmr07_lemma_5_1_m_strands_go_sink_by_sink(degrees in prop::collection::vec(2u32..5, 1..6)) {
        let strand = Strand::from_degrees(&m_degrees(&degrees)).unwrap();
        let block = strand.to_bipartite();
        let order = strand.schedule();
        let rendered = block.profile(&order);
        prop_assert!(rendered.windows(2).all(|w| w[1] <= w[0] + 1));
        let mut next = order.iter().copied().peekable();
        let mut executed = vec![false; block.sources()];
        while next.peek().is_some() {
            // All that is executed until the next sink is rendered are parents of that sink.
            let mut stage = Vec::new();
            let complete = |executed: &[bool], v: u32| block.parents(v).iter().all(|&u| executed[u as usize]);
            let before: Vec<u32> = (0..block.sinks() as u32).filter(|&v| complete(&executed, v)).collect();
            let sink = loop {
                let u = next.next().expect("a stage ends with a sink");
                executed[u as usize] = true;
                stage.push(u);
                let fresh = (0..block.sinks() as u32).find(|&v| complete(&executed, v) && !before.contains(&v));
                if let Some(sink) = fresh {
                    break sink;
                }
            };
            prop_assert!(stage.iter().all(|u| block.parents(sink).contains(u)));
        }
    }
}

/// Identifies tasks of `upper` with tasks of `lower`; tasks of `upper` keep their ids.
fn compose(upper: &Dag, lower: &Dag, pairs: &[(TaskId, TaskId)]) -> Dag {
    let mut id: Vec<Option<u32>> = vec![None; lower.len()];
    for &(sink, source) in pairs {
        id[source.index()] = Some(sink.0);
    }
    let mut next = upper.len() as u32;
    let id: Vec<u32> = id
        .into_iter()
        .map(|known| {
            known.unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        })
        .collect();
    let upper_arcs = upper.arcs().map(|(a, b)| (a.0, b.0));
    let lower_arcs = lower.arcs().map(|(a, b)| (id[a.index()], id[b.index()]));
    Dag::from_arcs(next as usize, upper_arcs.chain(lower_arcs).collect()).unwrap()
}

/// Pairs (sink of G2, source of G3) in the numbering of G1 ⇑ G2.
fn shift(
    pairs: &[(TaskId, TaskId)],
    upper: usize,
    top: &[(TaskId, TaskId)],
) -> Vec<(TaskId, TaskId)> {
    let merged = |t: TaskId| top.iter().find(|p| p.1 == t).map(|p| p.0);
    (pairs.iter())
        .map(|&(sink, source)| {
            let fresh = (0..sink.0).filter(|&t| merged(TaskId(t)).is_none()).count() as u32;
            (merged(sink).unwrap_or(TaskId(upper as u32 + fresh)), source)
        })
        .collect()
}

fn w_degrees(degrees: &[u32]) -> Vec<u32> {
    let rest = degrees[1..].iter().flat_map(|&d| [2, d]);
    [degrees[0]].into_iter().chain(rest).collect()
}

fn m_degrees(degrees: &[u32]) -> Vec<u32> {
    let mut all = w_degrees(degrees);
    all.insert(0, 1);
    all
}

/// In an M-strand no source has a third child, and every sink has two parents at least.
fn is_m_strand(shape: &Shape) -> bool {
    let children = |u: u32| shape.arcs.iter().filter(|a| a.0 == u).count();
    let parents = |v: u32| shape.arcs.iter().filter(|a| a.1 == v).count();
    (0..shape.sources as u32).all(|u| children(u) <= 2)
        && (0..shape.sinks as u32).all(|v| parents(v) >= 2)
}

fn sum_profile(strands: &[Strand]) -> Vec<u32> {
    let shapes: Vec<Shape> = (strands.iter())
        .map(|s| {
            let block = s.to_bipartite();
            Shape {
                sources: block.sources(),
                sinks: block.sinks(),
                arcs: block.arcs().collect(),
            }
        })
        .collect();
    let dag = sum(&shapes);
    let mut first = vec![0];
    for shape in &shapes {
        first.push(first[first.len() - 1] + shape.sources + shape.sinks);
    }
    let order: Vec<TaskId> = (schedule_sum(strands).into_iter())
        .map(|(strand, source)| TaskId(first[strand as usize] as u32 + source))
        .collect();
    let sources = order.len();
    let whole: Vec<TaskId> = order.iter().copied().chain(dag.sinks()).collect();
    let eligible = profile(&dag, &whole).unwrap();
    (0..=sources)
        .map(|t| eligible[t] - (sources - t) as u32)
        .collect()
}

/// [MRY06] Fig. 5: each of its three composites admits an IC-optimal schedule and is linearized.
#[test]
fn mry06_figure_5() {
    let types = [
        vec![Shape::w(1, 5), Shape::w(2, 4), Shape::c(3)],
        vec![
            Shape::w(3, 2),
            Shape::m(1, 2),
            Shape::m(2, 3),
            Shape::m(1, 3),
        ],
        vec![Shape::n(3), Shape::n(3), Shape::n(2)],
    ];
    for shapes in types {
        for seed in 0..20 {
            let (dag, used) = cairn_oracle::compose(&shapes, 22, &mut Random::new(seed));
            assert_eq!(used.len(), shapes.len());
            let found = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
            assert_eq!(found.proof.theorem(), Theorem::Linear);
            assert_eq!(profile(&dag, &found.order).unwrap(), best_profile(&dag));
        }
    }
}
