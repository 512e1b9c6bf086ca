//! Where the papers err: each correction with its smallest counterexample, decided by brute force.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{Shape, has_priority, ic_optimal_order, shortcuts, sum};
use cairn_theory::linearize::{Obstacle, Theorem, linearize};
use cairn_theory::merge::sum_admits;
use cairn_theory::priority::by_table;
use cairn_theory::recognise::Kind;
use cairn_theory::survey::SurveyEffort;
use cairn_theory::{Work, catalogue, profile};

fn admits(shapes: &[Shape]) -> bool {
    ic_optimal_order(&sum(shapes)).is_some()
}

fn holds(first: &Kind, second: &Kind) -> bool {
    let (e, f) = (
        catalogue::profile(first).unwrap(),
        catalogue::profile(second).unwrap(),
    );
    let holds = has_priority(&e, &f);
    assert_eq!(by_table(first, second), Some(holds));
    holds
}

/// [MRY06] Theorem 3.2a lists N_s ▷ N_s' only for s' ≤ s; it holds always, as Table 1 has it.
#[test]
fn theorem_3_all_n_dags_have_mutual_priority() {
    assert!(holds(&Kind::N { sources: 1 }, &Kind::N { sources: 2 }));
    assert!(holds(&Kind::N { sources: 2 }, &Kind::N { sources: 1 }));
}

/// [MRY06] Lemma 2.3 and Table 1: "Q_s + M_{s',d} admits no IC-optimal schedule if s > s'". The truth: iff s > d.
#[test]
fn lemma_2_3_cliques_and_m_dags() {
    // s = 2 > s' = 1, yet d = 2: there is a schedule, and Q ▷ M.
    assert!(admits(&[Shape::k(2, 2), Shape::m(1, 2)]));
    assert!(holds(
        &Kind::Q { sources: 2 },
        &Kind::M {
            sinks: 1,
            degree: 2
        }
    ));
    // s = 3 = s', yet d = 2: there is none, though Table 1 does not say so.
    assert!(!admits(&[Shape::k(3, 3), Shape::m(3, 2)]));
    assert!(!holds(
        &Kind::Q { sources: 3 },
        &Kind::M {
            sinks: 3,
            degree: 2
        }
    ));
    // M never has priority over Q, not even over a clique of no more sources than M has sinks.
    assert!(!holds(
        &Kind::M {
            sinks: 2,
            degree: 2
        },
        &Kind::Q { sources: 2 }
    ));
}

/// [MRY06] Table 1 leaves C_s and Q_s of equal size open: there is a schedule only for s = 2, where they are equal.
#[test]
fn table_1_cycles_and_cliques() {
    let (c, q) = (|s| Kind::C { sources: s }, |s| Kind::Q { sources: s });
    assert!(holds(&c(2), &q(2)) && holds(&q(2), &c(2)));
    assert!(admits(&[Shape::c(2), Shape::k(2, 2)]));
    assert!(!holds(&c(3), &q(3)) && !holds(&q(3), &c(3)));
    assert!(!admits(&[Shape::c(3), Shape::k(3, 3)]));
}

/// The rest of Lemma 2 is right: cycles and cliques of different size, and N with either, admit nothing together.
#[test]
fn lemma_2_what_remains_true() {
    assert!(!admits(&[Shape::c(2), Shape::c(3)]));
    assert!(!admits(&[Shape::k(2, 2), Shape::k(3, 3)]));
    assert!(!admits(&[Shape::c(3), Shape::k(2, 2)]));
    for s in 1..4 {
        assert!(!admits(&[Shape::n(s), Shape::c(2)]));
        assert!(!admits(&[Shape::n(s), Shape::k(3, 3)]));
    }
    // And Table 1: W_{s,d} with a clique of more than d sources.
    assert!(!admits(&[Shape::w(1, 2), Shape::k(3, 3)]));
    assert!(admits(&[Shape::w(1, 3), Shape::k(3, 3)]));
}

/// The most sinks that each number of sources renders.
fn best_rendered(shape: &Shape) -> Vec<u32> {
    let best = cairn_oracle::best_profile(&shape.dag());
    (0..=shape.sources)
        .map(|t| best[t] - (shape.sources - t) as u32)
        .collect()
}

/// ▷ is not reflexive: two copies of T[2,3] are incomparable, as are two of W[4,2], the smallest W-strand of the
/// kind. Their sums admit schedules all the same, so merging is needed where [MRY06], Theorem 7, gives up. No block
/// of fewer than five tasks is like this.
#[test]
fn priority_is_not_reflexive() {
    for (shape, rendered) in [
        (Shape::strand(&[2, 3]), vec![0, 1, 1, 2]),
        (Shape::strand(&[4, 2, 2]), vec![0, 3, 5]),
    ] {
        assert_eq!(best_rendered(&shape), rendered);
        assert!(!has_priority(&rendered, &rendered));
        assert!(sum_admits(&rendered, &rendered));
        let two = sum(&[shape.clone(), shape]);
        let found = linearize(&two, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
        assert_eq!(found.proof.theorem(), Theorem::Strands);
        let eligible = profile::profile(&two, &found.order).unwrap();
        assert_eq!(eligible, cairn_oracle::best_profile(&two));
    }
    for (s, k) in [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1)] {
        for set in 1..1u32 << (s * k) {
            let arcs = (0..s * k)
                .filter(|i| set >> i & 1 == 1)
                .map(|i| (i / k, i % k))
                .collect();
            let shape = Shape {
                sources: s as usize,
                sinks: k as usize,
                arcs,
            };
            if is_connected(&shape) {
                let rendered = best_rendered(&shape);
                assert!(has_priority(&rendered, &rendered), "{shape:?}");
            }
        }
    }
}

fn is_connected(shape: &Shape) -> bool {
    let dag = shape.dag();
    let arcs: Vec<(u32, u32)> = dag.arcs().map(|(a, b)| (a.0, b.0)).collect();
    is_block(&arcs, (1 << dag.len()) - 1)
}

type Arcs = Vec<(u32, u32)>;

/// Blocks found by [MRY06] §5.2 taken literally: the maximal connected bipartite induced subdags all of whose sources
/// are sources of what is left are detached one after the other. Returns the arcs of each, and the arcs in none.
fn literal_constituents(dag: &Dag) -> Option<(Vec<Arcs>, usize)> {
    let mut arcs: Arcs = dag.arcs().map(|(a, b)| (a.0, b.0)).collect();
    let total = arcs.len();
    let mut found: Vec<Arcs> = Vec::new();
    while !arcs.is_empty() {
        let candidates: Vec<u32> = (0..1u32 << dag.len())
            .filter(|&set| is_block(&arcs, set))
            .collect();
        let maximal = |set: u32| !candidates.iter().any(|&c| c != set && c & set == set);
        let is_source = |v: u32| arcs.iter().all(|a| a.1 != v);
        let sources = |set: u32| -> Vec<u32> { inside(&arcs, set).map(|a| a.0).collect() };
        let chosen = candidates
            .iter()
            .copied()
            .find(|&set| maximal(set) && sources(set).iter().all(|&v| is_source(v)))?;
        found.push(inside(&arcs, chosen).collect());
        let gone = sources(chosen);
        arcs.retain(|a| !gone.contains(&a.0));
    }
    let covered: usize = found.iter().map(Vec::len).sum();
    Some((found, total - covered))
}

fn inside(arcs: &[(u32, u32)], set: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
    arcs.iter()
        .copied()
        .filter(move |a| set >> a.0 & 1 == 1 && set >> a.1 & 1 == 1)
}

/// Whether `set` induces a connected bipartite dag.
fn is_block(arcs: &[(u32, u32)], set: u32) -> bool {
    let tails = inside(arcs, set).fold(0, |m, a| m | 1u32 << a.0);
    let heads = inside(arcs, set).fold(0, |m, a| m | 1u32 << a.1);
    let mut reached = set & set.wrapping_neg();
    for _ in 0..set.count_ones() {
        for (a, b) in inside(arcs, set) {
            if reached >> a & 1 == 1 || reached >> b & 1 == 1 {
                reached |= 1 << a | 1 << b;
            }
        }
    }
    tails & heads == 0 && tails | heads == set && set != 0 && reached == set
}

/// [MRY06] §5.2: in this dag of five tasks the literal process ends, but an arc is in no constituent. The dag is not
/// composite. No smaller dag without shortcuts behaves so.
#[test]
fn literal_constituents_lose_an_arc() {
    let (a, b, u, w, v) = (0, 1, 2, 3, 4);
    let dag = Dag::from_arcs(5, vec![(a, u), (b, u), (a, w), (b, v), (w, v)]).unwrap();
    assert!(shortcuts(&dag).is_empty());
    let (_, lost) = literal_constituents(&dag).unwrap();
    assert_eq!(lost, 1);
    let failure = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap_err();
    assert_eq!(
        failure.obstacle,
        Obstacle::NotComposite {
            tasks: vec![TaskId(w)]
        }
    );
    for small in all_dags(4) {
        if shortcuts(&small).is_empty() {
            let composite = linearize(&small, &SurveyEffort::default(), &mut Work::unlimited())
                .map_or_else(|f| f.survey.blocks().is_composite(), |_| true);
            let literal = literal_constituents(&small);
            assert_eq!(
                literal.is_some_and(|(_, lost)| lost == 0),
                composite,
                "{small:?}"
            );
        }
    }
}

/// And in this one of six tasks it ends with every arc in a constituent, though the dag is not composite: two of the
/// constituents are parts of one block that feeds itself.
#[test]
fn literal_constituents_accept_a_dag_that_is_not_composite() {
    let dag = Dag::from_arcs(6, vec![(1, 2), (2, 3), (0, 4), (3, 4), (0, 5), (1, 5)]).unwrap();
    assert!(shortcuts(&dag).is_empty());
    let (found, lost) = literal_constituents(&dag).unwrap();
    assert_eq!(lost, 0);
    let failure = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap_err();
    assert!(matches!(failure.obstacle, Obstacle::NotComposite { .. }));
    assert!(found.len() > failure.survey.blocks().len());
}

/// All dags on `n` tasks whose arcs lead from smaller to larger ids.
fn all_dags(n: u32) -> impl Iterator<Item = Dag> {
    let pairs: Vec<(u32, u32)> = (0..n).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
    (0..1u32 << pairs.len()).map(move |set| {
        let arcs = pairs
            .iter()
            .enumerate()
            .filter(|(i, _)| set >> i & 1 == 1)
            .map(|(_, &a)| a);
        Dag::from_arcs(n as usize, arcs.collect()).unwrap()
    })
}

/// [MRY06] Theorem 7 is only sufficient. The smallest composite that violates its condition (6) is a join with one
/// more task behind it: M_{1,2} feeds N_1, although N_1 ▷ M_{1,2}; yet every schedule of it is IC-optimal.
#[test]
fn linearization_is_only_sufficient() {
    let dag = Dag::from_arcs(4, vec![(0, 2), (1, 2), (2, 3)]).unwrap();
    let failure = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap_err();
    assert!(matches!(
        failure.obstacle,
        Obstacle::AgainstRank { by: TaskId(2), .. }
    ));
    assert!(!failure.proves_none());
    assert!(ic_optimal_order(&dag).is_some());
    for small in all_dags(3) {
        assert!(
            linearize(&small, &SurveyEffort::default(), &mut Work::unlimited()).is_ok(),
            "{small:?}"
        );
    }
}
