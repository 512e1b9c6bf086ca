//! Certificates of the planner, before the checker that does not trust it: true ones are accepted, others are not.

use cairn_dag::{Dag, Family, FamilyOptions, Flow};
use cairn_oracle::{any_composite, any_dag, best_profile, ic_optimal_order};
use cairn_plan::{Basis, CertificateError, PlanEffort, Work, certificate, foresee, plan};
use cairn_verify::{Accepted, Certificate, Refusal, Verdict, parse, verify};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

fn certify(flow: &Flow) -> Certificate {
    let plan = plan(flow.dag(), &PlanEffort::default(), &mut Work::unlimited());
    certificate(flow, &plan, &mut Work::unlimited()).unwrap()
}

/// The certificate of a plan and what is proved of it: no less than was foreseen.
fn accept(flow: &Flow) -> (Certificate, Accepted) {
    let plan = plan(flow.dag(), &PlanEffort::default(), &mut Work::unlimited());
    let certificate = certificate(flow, &plan, &mut Work::unlimited()).unwrap();
    let accepted = verify(flow, &certificate).unwrap_or_else(|e| panic!("{e}\n{certificate:?}"));
    let foreseen = foresee(flow, &plan);
    let is_about_verdict = |claim: &String| claim.contains("IC-optimal");
    let is_verdict_proved =
        certificate.verdict != Verdict::Open && !accepted.asserted.iter().any(is_about_verdict);
    assert!(is_verdict_proved || !foreseen.verdict, "{accepted:?}");
    let proved = accepted.proved.iter().find_map(|claim| {
        let steps = claim.strip_prefix("the bound at ")?;
        steps.split(' ').next()?.parse::<usize>().ok()
    });
    let steps = foreseen.steps.iter().filter(|&&is| is).count();
    assert_eq!(foreseen.steps.len(), certificate.bound.len());
    assert!(steps <= proved.unwrap(), "{steps}: {accepted:?}");
    if accepted.asserted.is_empty() && flow.dag().len() < 1000 {
        // Where everything is proved in little time, that is foreseen.
        assert!(foreseen.verdict || certificate.verdict == Verdict::Open);
        assert_eq!(steps, certificate.bound.len());
    }
    (certificate, accepted)
}

fn family(name: &str, args: &[&str]) -> Flow {
    let family = Family::parse(name, args, &FamilyOptions::default()).unwrap();
    Flow::numbered(&family.build(1).unwrap())
}

/// Blocks that admit nothing together are told by their tasks, not by numbers that nobody else knows.
#[test]
fn asserted_reasons_name_tasks() {
    let arcs = [
        (0, 2),
        (1, 2),
        (0, 3),
        (1, 3),
        (0, 4),
        (1, 4),
        (5, 6),
        (5, 7),
    ];
    let flow = Flow::numbered(&Dag::from_arcs(8, arcs.to_vec()).unwrap());
    let plan = plan(flow.dag(), &PlanEffort::quick(), &mut Work::unlimited());
    assert_eq!(plan.basis, Basis::Blocks);
    let certificate = certificate(&flow, &plan, &mut Work::unlimited()).unwrap();
    let Some(Refusal::Asserted { reason }) = &certificate.refusal else {
        panic!("{:?}", certificate.refusal);
    };
    assert!(
        reason.contains("their sum admits no IC-optimal"),
        "{reason}"
    );
    assert!(reason.contains("K(2,3) (t0, t1 → t2, t3, t4)"), "{reason}");
    assert!(reason.contains("W(1,2) (t5 → t6, t7)"), "{reason}");
    assert!(verify(&flow, &certificate).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Small dags are proved down to the last claim.
    #[test]
    fn small_certificates_are_proved(dag in any_dag(14)) {
        let (_, accepted) = accept(&Flow::numbered(&dag));
        prop_assert!(accepted.asserted.is_empty(), "{:?}", accepted.asserted);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn composites_are_accepted((dag, _) in any_composite(60)) {
        accept(&Flow::numbered(&dag));
    }

    /// A plan that was stopped at once still gets a certificate that holds.
    #[test]
    fn stopped_plans_are_accepted(dag in any_dag(14)) {
        let flow = Flow::numbered(&dag);
        let plan = plan(flow.dag(), &PlanEffort::default(), &mut Work::until(&|| true));
        let certificate = certificate(&flow, &plan, &mut Work::unlimited()).unwrap();
        let accepted = verify(&flow, &certificate);
        prop_assert!(accepted.is_ok(), "{:?}", accepted);
    }
}

/// Whenever it is stopped, a certificate is whole or there is none.
#[test]
fn no_certificate_is_half() {
    let flow = family("layered", &["12", "30", "3"]);
    let whole = certify(&flow);
    let plans = [false, true].map(|s| {
        let stop = move || s;
        plan(flow.dag(), &PlanEffort::default(), &mut Work::until(&stop))
    });
    let (mut stopped, mut done) = (0, 0);
    let mut accepted: Vec<Certificate> = Vec::new();
    for plan in &plans {
        for patience in (0..12).map(|i| 1u32 << i) {
            let left = AtomicU32::new(patience);
            let tired = || {
                let spend = |left: u32| left.checked_sub(1);
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend)
                    .is_err()
            };
            match certificate(&flow, plan, &mut Work::until(&tired)) {
                Ok(certificate) => {
                    done += 1;
                    if !accepted.contains(&certificate) {
                        assert!(verify(&flow, &certificate).is_ok());
                        accepted.push(certificate.clone());
                    }
                    assert!(
                        certificate
                            .bound
                            .iter()
                            .zip(&whole.bound)
                            .all(|(a, b)| a >= b)
                    );
                }
                Err(error) => {
                    stopped += 1;
                    assert_eq!(error, CertificateError::Stopped);
                }
            }
        }
    }
    assert!(stopped > 1 && done > 1, "{stopped} {done}");
}

#[test]
fn families_are_accepted() {
    for (name, args) in FAMILIES {
        let (certificate, accepted) = accept(&family(name, args));
        assert_eq!(certificate.verdict, Verdict::Optimal, "{name}");
        assert!(
            accepted.asserted.is_empty(),
            "{name}: {:?}",
            accepted.asserted
        );
    }
}

/// The hero of the README: its long components are proved too.
#[test]
fn airsn_is_proved_throughout() {
    for width in ["1", "30", "250"] {
        let (certificate, accepted) = accept(&family("airsn", &[width]));
        assert_eq!(certificate.verdict, Verdict::Optimal);
        assert!(accepted.asserted.is_empty(), "{:?}", accepted.asserted);
    }
}

/// A tangle is beyond the checker: accepted, and what is not proved is said.
/// A bound that is lower by one than the true one, at a step where nothing that is seen lies above it.
#[test]
fn what_is_only_asserted_is_said() {
    let flow = family("layered", &["12", "30", "3"]);
    let (certificate, accepted) = accept(&flow);
    assert_ne!(certificate.verdict, Verdict::Optimal);
    assert!(accepted.asserted.is_empty(), "{accepted:?}");
    let room = |&t: &usize| certificate.bound[t] - certificate.profile[t];
    let mut steps: Vec<usize> = (0..certificate.bound.len()).collect();
    steps.sort_by_key(|t| std::cmp::Reverse(room(t)));
    let lowered = steps.into_iter().take(20).find_map(|t| {
        let mut lie = certificate.clone();
        lie.bound[t] -= 1;
        let bounds = &mut lie.evidence.search.as_mut()?.bounds;
        match bounds.binary_search_by_key(&(t as u64), |b| b.0) {
            Ok(at) => bounds[at].1 -= 1,
            Err(at) => bounds.insert(at, (t as u64, lie.bound[t])),
        }
        Some((t, verify(&flow, &lie).ok()?.asserted))
    });
    let (t, asserted) = lowered.expect("some lie cannot be told from the truth");
    assert_eq!(asserted.len(), 1, "{asserted:?}");
    let words = format!("the bound at 1 steps, the first of them {t}, from ");
    assert!(asserted[0].starts_with(&words), "{asserted:?}");
}

const FAMILIES: [(&str, &[&str]); 11] = [
    ("w", &["20", "3"]),
    ("m", &["20", "3"]),
    ("n", &["30"]),
    ("c", &["90"]),
    ("q", &["30"]),
    ("k", &["30", "20"]),
    ("mesh", &["12"]),
    ("rmesh", &["12"]),
    ("tree", &["6"]),
    ("outtree", &["6"]),
    ("fft", &["5"]),
];

/// Every place of a value: the path to each number and each text, and to each list.
fn places(value: &Value, path: &mut Vec<String>, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                path.push(key.clone());
                places(inner, path, out);
                path.pop();
            }
        }
        Value::Array(list) => {
            out.push(format!("/{}", path.join("/")));
            for (i, inner) in list.iter().enumerate() {
                path.push(i.to_string());
                places(inner, path, out);
                path.pop();
            }
        }
        _ => out.push(format!("/{}", path.join("/"))),
    }
}

/// Other values to put in this one's place.
fn mutations(value: &Value, tasks: usize) -> Vec<Value> {
    match value {
        Value::Number(number) => {
            let x = number.as_u64().unwrap();
            let all = [
                x.saturating_add(1),
                x.saturating_sub(1),
                0,
                x ^ 3,
                u64::MAX,
                u64::from(u32::MAX),
            ];
            all.into_iter()
                .filter(|&y| y != x)
                .map(|y| json!(y))
                .collect()
        }
        Value::String(text) => {
            let words = [
                "optimal",
                "none-exists",
                "open",
                "",
                "sum",
                "asserted",
                "crossing",
            ];
            let words = words.iter().map(|w| (*w).to_owned());
            let names = [0, tasks / 2, tasks - 1].map(|i| format!("t{i}"));
            let all = words.chain(names).chain([format!("{text}x")]);
            all.filter(|w| w != text).map(Value::String).collect()
        }
        Value::Array(list) => {
            let mut all = Vec::new();
            if let Some((last, rest)) = list.split_last() {
                all.push(Value::Array(rest.to_vec()));
                all.push(Value::Array(list.iter().chain([last]).cloned().collect()));
            }
            all
        }
        _ => Vec::new(),
    }
}

/// What is printed for information alone: documented as not checked.
const NOT_CHECKED: [&str; 5] = [
    "/evidence/search/components",
    "/evidence/search/methods",
    "/refusal/method",
    "/refusal/states",
    "/refusal/reason",
];

/// Where another value can be as true as the first: another witness of the same gain, other arcs left out, other
/// methods of refusal. What is accepted there is held against brute force.
const ANOTHER_TRUTH: [&str; 4] = [
    "/refusal/witness/set",
    "/refusal/kind",
    "/refusal/step",
    "/evidence/blocks/left_out",
];

/// Puts every other value in every place, one at a time. Returns how many were tried, and how many were as true.
fn mutate_all(flow: &Flow) -> (usize, usize) {
    let whole = serde_json::to_value(certify(flow)).unwrap();
    let mut all = Vec::new();
    places(&whole, &mut Vec::new(), &mut all);
    let (mut tried, mut as_true) = (0, 0);
    for place in all {
        if NOT_CHECKED.iter().any(|p| place.starts_with(p)) {
            continue;
        }
        let old = whole.pointer(&place).unwrap().clone();
        for new in mutations(&old, flow.dag().len()) {
            let mut mutant = whole.clone();
            *mutant.pointer_mut(&place).unwrap() = new.clone();
            tried += 1;
            let text = serde_json::to_vec(&mutant).unwrap();
            let Ok(certificate) = parse(&text) else {
                continue;
            };
            if verify(flow, &certificate).is_err() {
                continue;
            }
            let excused = ANOTHER_TRUTH.iter().any(|p| place.starts_with(p));
            assert!(
                excused,
                "{place}: {old} became {new} and was accepted\n{whole}"
            );
            if flow.dag().len() <= 14 {
                assert!(
                    is_true(flow.dag(), &certificate),
                    "{place}: {old} became {new}\n{whole}"
                );
            }
            as_true += 1;
        }
    }
    (tried, as_true)
}

/// Bound and verdict, by brute force.
fn is_true(dag: &Dag, certificate: &Certificate) -> bool {
    let best = best_profile(dag);
    let admits = ic_optimal_order(dag).is_some();
    best.iter()
        .zip(&certificate.bound)
        .all(|(&b, &c)| u64::from(b) <= c)
        && match certificate.verdict {
            Verdict::Optimal => best
                .iter()
                .zip(&certificate.profile)
                .all(|(&b, &p)| u64::from(b) == p),
            Verdict::NoneExists => !admits,
            _ => true,
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_number_or_name_can_be_changed(dag in any_dag(12).prop_filter("not empty", |d| !d.is_empty())) {
        mutate_all(&Flow::numbered(&dag));
    }
}

#[test]
fn no_number_or_name_of_families_can_be_changed() {
    let mut total = 0;
    for (name, args) in [
        ("w", &["3", "2"][..]),
        ("m", &["3", "3"]),
        ("c", &["5"]),
        ("k", &["3", "4"]),
        ("mesh", &["4"]),
        ("tree", &["3"]),
        ("fft", &["2"]),
    ] {
        let (tried, as_true) = mutate_all(&family(name, args));
        assert_eq!(as_true, 0, "{name}");
        total += tried;
    }
    assert!(total > 1000, "{total}");
}

/// Small dags of every kind of refusal, so that each is mutated too.
#[test]
fn refusals_cannot_be_changed() {
    let mut seen = std::collections::BTreeMap::new();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = any_dag(13);
    for _ in 0..4000 {
        let dag = strategy.new_tree(&mut runner).unwrap().current();
        let flow = Flow::numbered(&dag);
        let written = serde_json::to_value(certify(&flow)).unwrap();
        let Some(kind) = written.pointer("/refusal/kind").and_then(Value::as_str) else {
            continue;
        };
        let count: &mut usize = seen.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count <= 12 {
            mutate_all(&flow);
        }
    }
    assert!(
        seen.contains_key("crossing") && seen.contains_key("component"),
        "{seen:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever several random changes at once make of a certificate: if it is accepted, it is true.
    #[test]
    fn accepted_is_true(dag in any_dag(9), changes in prop::collection::vec((any::<u32>(), any::<u32>()), 1..5)) {
        prop_assume!(!dag.is_empty());
        let flow = Flow::numbered(&dag);
        let mut value = serde_json::to_value(certify(&flow)).unwrap();
        for (where_, what) in changes {
            let mut all = Vec::new();
            places(&value, &mut Vec::new(), &mut all);
            let place = &all[where_ as usize % all.len()];
            let new = mutations(value.pointer(place).unwrap(), dag.len());
            if !new.is_empty() {
                *value.pointer_mut(place).unwrap() = new[what as usize % new.len()].clone();
            }
        }
        if let Ok(certificate) = parse(&serde_json::to_vec(&value).unwrap())
            && verify(&flow, &certificate).is_ok()
        {
            prop_assert!(is_true(&dag, &certificate), "{}", value);
        }
    }

    /// A certificate for one dag, held against another: never accepted unless they are the same, never a panic.
    #[test]
    fn a_certificate_is_for_one_dag(one in any_dag(8), other in any_dag(8)) {
        let certificate = certify(&Flow::numbered(&one));
        let mut forged = certificate.clone();
        let other = Flow::numbered(&other);
        forged.dag = cairn_verify::fingerprint(&other);
        if certificate.dag != forged.dag {
            prop_assert!(verify(&other, &certificate).is_err());
        }
        if verify(&other, &forged).is_ok() {
            prop_assert!(is_true(other.dag(), &forged));
        }
    }
}
