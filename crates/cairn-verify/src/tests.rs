//! Lies, thousands of them and each consistent in itself: rejected, or something stays asserted. Brute force tells what
//! is false.

use crate::check::verify_within;
use crate::exact::Solver;
use crate::format::{Blocks, Certificate, Refusal, Verdict};
use crate::parts::parts;
use crate::testing::Known;
use crate::{Accepted, Rejected};
use cairn_dag::{Dag, TaskId};
use cairn_oracle::{Random, ic_optimal_order, random_dag, random_tangle};
use std::collections::BTreeMap;

/// The answer of a checker that may do so many steps of its own.
fn answer(known: &Known, certificate: &Certificate, steps: u64) -> Result<Accepted, Rejected> {
    verify_within(&known.flow, certificate, Solver::with(steps, 0))
}

/// How lies and truths fared.
#[derive(Debug, Default)]
struct Tally {
    heard: usize,
    /// False: rejected even by a checker that may do nothing by itself.
    rejected_at_once: u32,
    /// False: rejected by a checker that may enumerate.
    rejected: u32,
    /// True, and proved throughout.
    proved: u32,
    /// True, and rejected all the same: it does not follow from the evidence.
    refused: u32,
}

impl Tally {
    /// Asks checkers of three strengths. A lie never passes as proved; the strongest rejects it, and each of them does
    /// where what is shown is enough.
    fn hear(&mut self, known: &Known, certificate: &Certificate) {
        let is_true = known.is_true(certificate);
        let shown = known.shown(certificate);
        let refutes_itself = shown.iter().zip(&certificate.bound).any(|(s, b)| s > b);
        // Enough for some of its arguments and not for others.
        let some = [500, 2_000, 8_000, 32_000][self.heard % 4];
        self.heard += 1;
        let weak = [0, some].map(|steps| answer(known, certificate, steps));
        let strong = answer(known, certificate, u64::MAX);
        let told = || format!("{:?}\n{certificate:?}\n{weak:?}\n{strong:?}", known.dag());
        if is_true {
            match &strong {
                Ok(accepted) => {
                    assert!(accepted.asserted.is_empty(), "{}", told());
                    // Who can do less says less, and nothing else.
                    assert!(weak.iter().all(Result::is_ok), "{}", told());
                    self.proved += 1;
                }
                Err(_) => self.refused += 1,
            }
            return;
        }
        for answer in &weak {
            let is_proved = answer.as_ref().is_ok_and(|a| a.asserted.is_empty());
            assert!(!is_proved, "{}", told());
            assert!(!(refutes_itself && answer.is_ok()), "{}", told());
        }
        assert!(strong.is_err(), "{}", told());
        match weak[0].is_err() {
            true => self.rejected_at_once += 1,
            false => self.rejected += 1,
        }
    }
}

/// Some order of all tasks, each after its parents.
pub(crate) fn some_order(dag: &Dag, random: &mut Random) -> Vec<TaskId> {
    let mut order = Vec::new();
    let mut set = 0;
    while order.len() < dag.len() {
        let can = cairn_oracle::eligible(dag, set);
        let task = can[random.below(can.len())];
        set |= 1 << task.0;
        order.push(task);
    }
    order
}

pub(crate) fn some_dag(seed: u64) -> Dag {
    let mut random = Random::new(seed);
    match random.below(3) {
        0 => random_dag(random.below(11), random.below(5), seed),
        _ => random_tangle(5 + random.below(7), seed),
    }
}

/// The word for the kind of a reason.
fn kind(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Crossing { other: None, .. } => "one corner",
        Refusal::Crossing { .. } => "two corners",
        Refusal::Component { .. } => "part",
        Refusal::Sum { .. } => "sum",
        Refusal::Asserted { .. } => "words",
    }
}

/// Reasons of every kind, about every corner, step and part: a false one is never proved.
#[test]
fn every_kind_of_reason_is_taken_word_for_word() {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for seed in 0..800 {
        let dag = random_tangle(8 + (seed % 6) as usize, seed);
        // Most reasons are tried where one of them must hold.
        if seed % 8 > 0 && ic_optimal_order(&dag).is_some() {
            continue;
        }
        let known = Known::new(&dag);
        let order = some_order(&dag, &mut Random::new(seed));
        let plain = known.certificate(&order, known.best.clone(), None);
        if plain.verdict == Verdict::Optimal {
            continue;
        }
        for refusal in known.reasons() {
            let tally = tallies.entry(kind(&refusal)).or_default();
            let certificate = Certificate {
                verdict: Verdict::NoneExists,
                refusal: Some(refusal),
                ..plain.clone()
            };
            tally.hear(&known, &certificate);
        }
    }
    for kind in ["one corner", "two corners", "part", "sum", "words"] {
        let tally = &tallies[kind];
        assert!(tally.proved >= 20, "{kind}: {tallies:?}");
        assert!(
            tally.rejected_at_once + tally.rejected >= 50,
            "{kind}: {tallies:?}"
        );
    }
    // A corner that is in the way is never refused.
    for kind in ["one corner", "two corners", "words"] {
        assert_eq!(tallies[kind].refused, 0, "{tallies:?}");
    }
}

/// Bounds lowered anywhere, orders swapped for worse ones with their true profile, every verdict, each by every
/// evidence that can be had for it.
#[test]
fn structured_lies_are_rejected_or_stay_asserted() {
    let mut tally = Tally::default();
    for seed in 0..1000 {
        let dag = some_dag(seed);
        let known = Known::new(&dag);
        let mut random = Random::new(seed);
        let mut orders = vec![some_order(&dag, &mut random), some_order(&dag, &mut random)];
        orders.extend(ic_optimal_order(&dag));
        for order in &orders {
            for certificate in bounds(&known, order, &mut random) {
                tally.hear(&known, &certificate);
            }
            tally.hear(&known, &by_blocks(&known, order));
        }
    }
    assert!(
        tally.rejected_at_once > 5_000 && tally.rejected > 500,
        "{tally:?}"
    );
    assert!(tally.proved > 2_000, "{tally:?}");
}

/// The truth; lower by one at one step, wherever the order leaves room; lower at some steps; and as low as the order
/// itself, which then is "optimal". Each also with "none exists", for no reason.
pub(crate) fn bounds(known: &Known, order: &[TaskId], random: &mut Random) -> Vec<Certificate> {
    let truth = known.certificate(order, known.best.clone(), None);
    let profile = truth.profile.clone();
    let mut all = vec![known.best.clone(), profile.clone()];
    for t in (0..profile.len()).filter(|&t| profile[t] < known.best[t]) {
        let mut bound = known.best.clone();
        bound[t] -= 1;
        all.push(bound);
    }
    for _ in 0..3 {
        let some = (known.best.iter().zip(&profile))
            .map(|(&best, &own)| best - random.below((best - own) as usize + 1) as u64);
        all.push(some.collect());
    }
    let reason = Refusal::Asserted {
        reason: "so I say".to_owned(),
    };
    let mut certificates = Vec::new();
    for bound in all {
        if bound != profile {
            certificates.push(known.certificate(order, bound.clone(), Some(reason.clone())));
        }
        certificates.push(known.certificate(order, bound, None));
    }
    certificates
}

/// "Optimal", by the theory of blocks.
pub(crate) fn by_blocks(known: &Known, order: &[TaskId]) -> Certificate {
    let dag = known.dag();
    let mut certificate = known.certificate(order, known.best.clone(), None);
    certificate.bound.clone_from(&certificate.profile);
    certificate.verdict = Verdict::Optimal;
    certificate.evidence.search = None;
    certificate.evidence.blocks = Some(Blocks {
        count: parts(dag, &vec![0; dag.len()], false).len() as u64,
        left_out: Vec::new(),
    });
    certificate
}

/// Each field replaced by that of another certificate for the same dag, as consistent as before: what is then accepted
/// is true.
#[test]
fn fields_of_two_certificates_do_not_mix() {
    let (mut rejected, mut accepted) = (0, 0);
    for seed in 0..600 {
        let dag = some_dag(seed);
        let known = Known::new(&dag);
        let mut random = Random::new(seed);
        let mut any = || {
            let order = some_order(&dag, &mut random);
            let mut all = bounds(&known, &order, &mut random);
            all.push(by_blocks(&known, &order));
            all.swap_remove(random.below(all.len()))
        };
        let (one, other) = (any(), any());
        let mixed: [fn(&mut Certificate, Certificate); 8] = [
            |c, o| c.verdict = o.verdict,
            |c, o| c.order = o.order,
            |c, o| c.profile = o.profile,
            |c, o| c.bound = o.bound,
            |c, o| c.refusal = o.refusal,
            |c, o| c.evidence.search = o.evidence.search,
            |c, o| c.evidence.blocks = o.evidence.blocks,
            |c, o| (c.bound, c.evidence.search) = (o.bound, o.evidence.search),
        ];
        for mix in mixed {
            let mut certificate = one.clone();
            mix(&mut certificate, other.clone());
            let tasks: Vec<TaskId> = (certificate.order.iter())
                .map(|n| known.flow.find(n).unwrap())
                .collect();
            let profile = cairn_oracle::profile(&dag, &tasks);
            let own = certificate
                .profile
                .iter()
                .copied()
                .eq(profile.into_iter().map(u64::from));
            let is_true = own && known.is_true(&certificate);
            for steps in [0, 2_000, u64::MAX] {
                let answer = answer(&known, &certificate, steps);
                let is_proved = answer.as_ref().is_ok_and(|a| a.asserted.is_empty());
                let told = || format!("{:?}\n{certificate:?}\n{answer:?}", known.dag());
                assert!(own || answer.is_err(), "{}", told());
                assert!(is_true || !is_proved, "{}", told());
                assert!(is_true || answer.is_err() || steps < u64::MAX, "{}", told());
                match answer {
                    Ok(_) => accepted += 1,
                    Err(_) => rejected += 1,
                }
            }
        }
    }
    assert!(rejected > 3_000 && accepted > 500, "{rejected} {accepted}");
}
