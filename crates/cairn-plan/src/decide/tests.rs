//! Decisions against brute force: verdicts, bounds, and the literal truth of every refusal.

use super::improve::gains;
use super::*;
use crate::budgets::decide::USUAL;
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Work, places};
use cairn_oracle::{
    Among, any_dag, best_profile, ic_optimal_order, ideals, is_independent, mask, most_between,
    only_best,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// The strict vertices of the hull by looking at every set of nonsinks that can have been executed.
fn obvious_chain(dag: &Dag) -> StrictChain {
    let nonsinks: u32 = (dag.tasks())
        .filter(|&t| !dag.is_sink(t))
        .map(|t| 1u32 << t.0)
        .sum();
    let gain = |set: u32| i64::from(cairn_oracle::gain(dag, set));
    let count = nonsinks.count_ones() as usize;
    let mut best: Vec<(i64, u32)> = vec![(-1, 0); count + 1];
    for set in ideals(dag)
        .into_iter()
        .flatten()
        .filter(|s| s & !nonsinks == 0)
    {
        let t = set.count_ones() as usize;
        if gain(set) > best[t].0 {
            best[t] = (gain(set), set);
        }
    }
    // Upper concave hull; a point on an edge is no strict vertex.
    let mut vertices: Vec<usize> = Vec::new();
    for t in 0..=count {
        while let [.., a, b] = vertices[..] {
            let (ta, tb, tt) = (a as i64, b as i64, t as i64);
            if (best[b].0 - best[a].0) * (tt - tb) <= (best[t].0 - best[b].0) * (tb - ta) {
                vertices.pop();
            } else {
                break;
            }
        }
        vertices.push(t);
    }
    let mut interval = vec![None; dag.len()];
    let mut upper = vec![0];
    for (j, pair) in vertices.windows(2).enumerate() {
        let (a, b) = (pair[0], pair[1]);
        let new = best[b].1 & !best[a].1;
        (0..dag.len())
            .filter(|i| new >> i & 1 == 1)
            .for_each(|i| interval[i] = Some(IntervalId::new(j)));
        for t in 1..=b - a {
            let rise = (best[b].0 - best[a].0) * t as i64 / (b - a) as i64;
            upper.push((best[a].0 + rise) as u32);
        }
    }
    StrictChain {
        interval,
        is_edge: vec![true; vertices.len() - 1],
        upper,
        ranks: vec![places(dag.topological_order())],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn verdicts_agree_with_brute_force_and_are_never_open(dag in any_dag(13)) {
        let decision = check(&dag, &USUAL)?;
        prop_assert!(decision.gains == decision.upper || decision.refusal.is_some(), "open");
    }

    /// With a beam of one and no enumeration even small dags reach the later methods.
    #[test]
    fn the_later_methods_are_never_wrong(dag in any_dag(13), steps in 100u64..2_000_000) {
        let component = ComponentEffort { beam: 1, steps, enumerate: false };
        let effort = DecideEffort { component, forest: steps, across: steps, improve: steps, ..USUAL };
        check(&dag, &effort)?;
    }

    /// Whenever it is stopped, what it says holds.
    #[test]
    fn stopping_at_any_moment_is_never_wrong(dag in any_dag(12), asked in 0u32..40) {
        let chain = obvious_chain(&dag);
        let count = AtomicU32::new(0);
        let stop = || count.fetch_add(1, Ordering::Relaxed) >= asked;
        let decision = decide(&dag, &chain, &USUAL, &mut Work::until(&stop));
        compare(&dag, &decision, false)?;
    }
}

/// Every kind of reason on thousands of dags, most of which admit no IC-optimal order.
#[test]
fn every_kind_of_reason_is_literally_true() {
    let mut seen: HashMap<&str, u32> = HashMap::new();
    for seed in 0..6000 {
        let mut random = cairn_oracle::Random::new(seed);
        let most = 9 + random.below(6);
        let dag = cairn_oracle::random_tangle(most, seed);
        let component = match random.below(2) {
            0 => USUAL.component,
            // Small components are beyond it: then sets are met that cross the vertices.
            _ => ComponentEffort {
                enumerate: false,
                beam: 1,
                steps: 2_000,
            },
        };
        let effort = DecideEffort { component, ..USUAL };
        let Some(refusal) = check(&dag, &effort).unwrap().refusal else {
            continue;
        };
        let kind = match refusal {
            Refusal::Component {
                conflict: Conflict::Pair(_),
                ..
            } => "pair of a component",
            Refusal::Component { .. } => "component",
            Refusal::Sum {
                conflict: Conflict::Pair(_),
                ..
            } => "pair of a sum",
            Refusal::Sum { .. } => "sum",
            Refusal::Crossing(Crossing { after: None, .. }) => "vertex before",
            Refusal::Crossing(Crossing { before: None, .. }) => "vertex after",
            Refusal::Crossing(_) => "two vertices",
        };
        *seen.entry(kind).or_default() += 1;
    }
    assert!(
        seen.len() == 7 && seen.values().all(|&count| count >= 10),
        "{seen:?}"
    );
    assert!(seen.values().sum::<u32>() > 1500, "{seen:?}");
}

/// What a round proved stays proved when a later round is stopped before it proves it again.
#[test]
fn a_proof_is_not_lost_by_stopping_later() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1);
    let one_thread = one_thread.build().unwrap();
    let mut proofs = 0;
    for seed in 0..300 {
        let mut random = cairn_oracle::Random::new(seed);
        let pairs = (5..14u32).flat_map(|v| (0..v).map(move |u| (u, v)));
        let arcs = pairs.filter(|_| random.below(100) < 22).collect();
        let dag = Dag::from_arcs(14, arcs).unwrap();
        let chain = obvious_chain(&dag);
        let mut was_proved = false;
        for asked in 1..200 {
            let count = AtomicU32::new(0);
            let stop = || count.fetch_add(1, Ordering::Relaxed) >= asked;
            // On one thread, so that the questions come in the same order each time.
            let decision =
                one_thread.install(|| decide(&dag, &chain, &USUAL, &mut Work::until(&stop)));
            let is_proved = decision.refusal.is_some();
            assert!(is_proved || !was_proved, "seed {seed}, asked {asked} times");
            was_proved = is_proved;
            proofs += u32::from(is_proved);
        }
    }
    assert!(proofs > 100, "{proofs}");
}

/// Two forks, one of them a pair that gains twice as much together: parts that admit an order, their sum does not.
#[test]
fn the_pair_of_a_sum() {
    let arcs = vec![
        (0, 3),
        (0, 4),
        (1, 5),
        (2, 5),
        (1, 6),
        (2, 6),
        (1, 7),
        (2, 7),
        (1, 8),
        (2, 8),
    ];
    let dag = Dag::from_arcs(9, arcs).unwrap();
    let decision = decide(&dag, &obvious_chain(&dag), &USUAL, &mut Work::unlimited());
    let Some(Refusal::Sum {
        conflict: Conflict::Pair(pair),
        ..
    }) = decision.refusal
    else {
        panic!("{:?}", decision.refusal);
    };
    assert_eq!((pair.steps, pair.gains), ([1, 2], [2, 4]));
    assert_eq!(pair.smaller, [TaskId(0)]);
    assert_eq!(pair.larger, Some(vec![TaskId(1), TaskId(2)]));
    let quick = decide(
        &dag,
        &obvious_chain(&dag),
        &DecideEffort { pair: 0, ..USUAL },
        &mut Work::unlimited(),
    );
    let Some(Refusal::Sum { conflict, .. }) = quick.refusal else {
        panic!("{:?}", quick.refusal);
    };
    assert_eq!(conflict, Conflict::Unknown);
}

fn check(dag: &Dag, effort: &DecideEffort) -> Result<Decision, TestCaseError> {
    let decision = decide(dag, &obvious_chain(dag), effort, &mut Work::unlimited());
    compare(dag, &decision, effort.component.enumerate)?;
    Ok(decision)
}

fn compare(dag: &Dag, decision: &Decision, is_all: bool) -> Result<(), TestCaseError> {
    let best = best_profile(dag);
    let sources = dag.sources().count();
    prop_assert_eq!(&decision.gains, &gains(dag, &decision.order));
    for t in 0..decision.upper.len() {
        let eligible = |gain: u32| (sources + gain as usize - t) as u32;
        prop_assert!(eligible(decision.upper[t]) >= best[t], "bound at {}", t);
        prop_assert!(eligible(decision.witness[t]) <= best[t], "witness at {}", t);
        prop_assert!(decision.gains[t] <= decision.witness[t]);
    }
    let admits = ic_optimal_order(dag).is_some();
    match &decision.refusal {
        _ if decision.gains == decision.upper => {
            prop_assert!(admits);
            prop_assert_eq!(&decision.refusal, &None);
        }
        Some(refusal) => {
            prop_assert!(!admits);
            check_refusal(dag, &decision.order, refusal, is_all)?;
        }
        None => {}
    }
    Ok(())
}

/// What a refusal says is literally true, by looking at every set that can have been executed. `order` passes
/// through the vertices. With `is_all`, a pair is shown whenever there is one.
fn check_refusal(
    dag: &Dag,
    order: &[TaskId],
    refusal: &Refusal,
    is_all: bool,
) -> Result<(), TestCaseError> {
    match refusal {
        Refusal::Crossing(crossing) => check_crossing(dag, crossing, is_all),
        Refusal::Component {
            from,
            to,
            tasks,
            conflict,
            ..
        } => {
            let (before, inside) = check_vertices(dag, order, *from, *to)?;
            let tasks = mask(tasks);
            prop_assert_eq!(tasks & !inside, 0);
            prop_assert!(is_independent(dag, before, tasks, inside & !tasks));
            let among = Among::new(dag, before, tasks);
            prop_assert!(among.nest_through() < among.0.len() - 1);
            check_conflict(&among, conflict, is_all)
        }
        Refusal::Sum {
            from,
            to,
            step,
            conflict,
            ..
        } => {
            let (before, inside) = check_vertices(dag, order, *from, *to)?;
            let among = Among::new(dag, before, inside);
            // They pull apart at this step: up to there best sets nest, and no further.
            prop_assert_eq!(from + among.nest_through() + 1, *step);
            check_conflict(&among, conflict, is_all)
        }
    }
}

/// At these steps the order's sets are the only best ones of their sizes. Returns the first of them and what comes
/// between.
fn check_vertices(
    dag: &Dag,
    order: &[TaskId],
    from: usize,
    to: usize,
) -> Result<(u32, u32), TestCaseError> {
    for step in [from, to] {
        prop_assert_eq!(only_best(dag, step), Some(mask(&order[..step])));
    }
    Ok((mask(&order[..from]), mask(&order[from..to])))
}

/// Two steps of these sets conflict as it is said, or none do.
fn check_conflict(among: &Among, conflict: &Conflict, is_all: bool) -> Result<(), TestCaseError> {
    if let Conflict::Pair(pair) = conflict {
        let [s, t] = pair.steps;
        prop_assert!(among.0[s].contains(&(mask(&pair.smaller), among.best(s))));
        prop_assert_eq!(pair.gains[0], among.best(s));
        prop_assert!(pair.gains[1] <= among.best(t));
        if let Some(larger) = &pair.larger {
            prop_assert!(among.0[t].contains(&(mask(larger), pair.gains[1])));
        }
        prop_assert!(!among.nest(pair.steps, pair.gains[1]));
    }
    match conflict {
        Conflict::Pair(pair) if is_all => {
            prop_assert_eq!(Some(pair.steps), among.first_conflict());
        }
        Conflict::NoPair => prop_assert_eq!(None, among.first_conflict()),
        Conflict::Unknown => prop_assert!(!is_all),
        Conflict::Pair(_) => {}
    }
    Ok(())
}

fn check_crossing(dag: &Dag, crossing: &Crossing, is_all: bool) -> Result<(), TestCaseError> {
    let Crossing {
        before,
        after,
        step,
        gain,
        set,
        inside,
        ..
    } = crossing;
    for corner in [before, after].into_iter().flatten() {
        prop_assert_eq!(corner.step, corner.set.len());
        prop_assert_eq!(only_best(dag, corner.step), Some(mask(&corner.set)));
    }
    prop_assert!(before.is_some() || after.is_some());
    prop_assert!(before.as_ref().is_none_or(|c| c.step < *step));
    prop_assert!(after.as_ref().is_none_or(|c| c.step > *step));
    let lower = before.as_ref().map_or(0, |c| mask(&c.set));
    let upper = after.as_ref().map_or(u32::MAX, |c| mask(&c.set));
    let most = |lower: u32, upper: u32| most_between(dag, *step, lower, upper);
    prop_assert!(most(lower, upper).is_none_or(|most| most <= *inside) && inside < gain);
    prop_assert!(most(0, u32::MAX) >= Some(*gain));
    if let Some(set) = set {
        prop_assert_eq!(set.len(), *step);
        prop_assert!(ideals(dag)[*step].contains(&mask(set)));
        prop_assert_eq!(cairn_oracle::gain(dag, mask(set)), *gain);
    }
    if lower != 0 && upper != u32::MAX && is_all {
        // Two are named only where it takes two.
        prop_assert!(most(lower, u32::MAX) >= Some(*gain));
        prop_assert!(most(0, upper) >= Some(*gain));
    }
    Ok(())
}

/// docs/deciding.md tells people what the budgets are.
#[test]
fn shares_and_rounds_are_told_as_they_are() {
    use crate::budgets::decide::share;
    let docs = include_str!("../../../../docs/deciding.md");
    let number = |text: &str| text.trim().replace(',', "").parse::<u64>().ok();
    let cells = |line: &'static str| line.split('|').skip(1).map(str::trim);
    let methods = docs.lines().filter(|l| l.starts_with('|')).map(cells);
    let methods = methods.filter(|row| row.clone().next().is_some_and(|n| number(n).is_some()));
    let shares: Vec<Option<u64>> = methods.map(|mut row| row.nth(2).and_then(number)).collect();
    let expected = [
        share::LIST_ORDERS,
        share::FIRST_BEAM,
        share::TREES,
        share::FRONTIER,
        share::CHAIN,
        share::ALL_STATES,
        share::BLOCKS,
        share::WIDE_BEAM,
        share::LAST_CHAIN,
    ];
    // The first method is a formula and costs nothing.
    assert_eq!(shares[0], None);
    assert_eq!(shares[1..], expected.map(Some));
    let rounds = docs
        .lines()
        .filter(|l| l.trim_start().starts_with("round "));
    let told = rounds.flat_map(|line| line.split_whitespace().filter_map(number));
    let mut expected = Vec::new();
    for round in 0..USUAL.rounds {
        let effort = USUAL.in_round(round);
        expected.extend([
            u64::from(round) + 1,
            effort.component.steps,
            effort.components,
            effort.across,
            effort.forest,
        ]);
    }
    expected.extend([USUAL.improve, USUAL.pair]);
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
