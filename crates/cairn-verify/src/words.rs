//! Every way to reject a certificate, reached by a lie and told in just these words.

use crate::format::{Blocks, Certificate, Refusal, SearchRecord};
use crate::testing::Known;
use crate::tests::{bounds, by_blocks, some_dag, some_order};
use crate::verify;
use cairn_dag::{Dag, TaskId};
use cairn_oracle::{Random, random_tangle};
use std::collections::BTreeSet;

/// What is said of a lie about two blocks: task 0 makes 2 and 3 eligible, 1 makes 4, and both 1 and 4 are asked for by 5.
type Lie<'a> = (&'a str, &'a dyn Fn(&mut Certificate));

fn each_is_rejected(lies: &[Lie<'_>]) {
    let arcs = [(0, 2), (0, 3), (1, 4), (1, 5), (4, 5)];
    let known = Known::new(&Dag::from_arcs(6, arcs.to_vec()).unwrap());
    let order = [0, 1, 4, 2, 3, 5].map(TaskId);
    let truth = known.certificate(&order, known.best.clone(), None);
    assert!(verify(&known.flow, &truth).unwrap().asserted.is_empty());
    for (text, lie) in lies {
        let mut certificate = truth.clone();
        lie(&mut certificate);
        let answer = verify(&known.flow, &certificate);
        assert_eq!(answer.map_err(|e| e.to_string()), Err((*text).to_owned()));
    }
}

#[test]
fn a_wrong_order_is_rejected_in_these_words() {
    each_is_rejected(&[
        ("version 7 is not 1, the only one known here", &|c| {
            c.version = 7;
        }),
        (
            "it is about another dag: tasks, arcs or hash differ",
            &|c| {
                c.dag.arcs += 1;
            },
        ),
        ("the order names 'x', which is no task", &|c| {
            c.order[0] = "x".into();
        }),
        ("the order names 't0' twice", &|c| {
            c.order[1] = "t0".into();
        }),
        ("the order leaves out 't5'", &|c| c.order.truncate(5)),
        (
            "the order executes a task before one of its parents, at step 2",
            &|c| c.order.swap(1, 2),
        ),
        ("the profile is not that of the order", &|c| {
            c.profile[1] += 1;
        }),
    ]);
}

#[test]
fn a_wrong_hull_is_rejected_in_these_words() {
    each_is_rejected(&[
        (
            "hull piece 0: cost and reward are not the numbers of its tasks",
            &|c| c.evidence.hull[0].cost += 1,
        ),
        ("hull piece 0 executes nothing", &|c| {
            c.evidence.hull[0].cost = 0;
            c.evidence.hull[0].executed.clear();
        }),
        (
            "hull piece 0 lists 9: no such task, or in another piece, or it cannot be there",
            &|c| c.evidence.hull[0].executed[0] = 9,
        ),
        ("a task is in no piece of the hull", &|c| {
            c.evidence.hull.truncate(1);
        }),
        ("the pieces of the hull are no nested ideals", &|c| {
            let [first, second] = &mut c.evidence.hull[..] else {
                panic!("there are two pieces");
            };
            std::mem::swap(&mut first.executed, &mut second.executed);
            std::mem::swap(&mut first.cost, &mut second.cost);
        }),
        ("hull piece 0: a flow names no task", &|c| {
            c.evidence.hull[0].flows[0].0 = 9;
        }),
        (
            "hull piece 0: the flow (0, 3, 0) is not along an arc of the piece",
            &|c| c.evidence.hull[0].flows[0].2 = 0,
        ),
        ("hull piece 0: a task receives too little flow", &|c| {
            c.evidence.hull[0].flows.clear();
        }),
        ("hull piece 0: flow leaves the piece", &|c| {
            c.evidence.hull[0].flows[0].2 += 1;
        }),
        ("hull piece 1: flow is lost or made at a task", &|c| {
            let flows = &mut c.evidence.hull[1].flows;
            flows.iter_mut().find(|f| f.0 == 2).unwrap().2 += 1;
        }),
        ("the price rises after hull piece 0", &|c| {
            c.evidence.hull.swap(0, 1);
        }),
    ]);
}

#[test]
fn a_wrong_bound_or_verdict_is_rejected_in_these_words() {
    let search = |bounds: &[(u64, u64)]| {
        Some(SearchRecord {
            bounds: bounds.to_vec(),
            components: 1,
            methods: Vec::new(),
        })
    };
    let blocks = |count: u64, left_out: &[(u32, u32)]| {
        Some(Blocks {
            count,
            left_out: left_out.to_vec(),
        })
    };
    each_is_rejected(&[
        (
            "the search's bound at step 9 is out of place or no lower",
            &|c| c.evidence.search = search(&[(9, 0)]),
        ),
        (
            "the search's bound at step 1 is out of place or no lower",
            &|c| c.evidence.search = search(&[(1, 3)]),
        ),
        ("the bound at step 1 is not what the evidence gives", &|c| {
            c.bound[1] = 4;
        }),
        ("the bound at step 6 is not what the evidence gives", &|c| {
            c.bound.push(0);
        }),
        (
            "the bound at step 1 contradicts the order or the hull",
            &|c| {
                c.bound[1] = 2;
                c.evidence.search = search(&[(1, 2)]);
            },
        ),
        ("(0, 1) is left out and is no arc", &|c| {
            c.evidence.blocks = blocks(2, &[(0, 1)]);
        }),
        ("an arc is left out twice", &|c| {
            c.evidence.blocks = blocks(2, &[(1, 5), (1, 5)]);
        }),
        (
            "with the arcs left out, a task loses all its parents or children",
            &|c| c.evidence.blocks = blocks(2, &[(1, 2)]),
        ),
        ("there are 2 blocks, not 9", &|c| {
            c.evidence.blocks = blocks(9, &[]);
        }),
        (
            "the verdict 'open' does not fit bound, profile and refusal",
            &|c| c.verdict = "open".to_owned().into(),
        ),
        (
            "the verdict 'best' does not fit bound, profile and refusal",
            &|c| c.verdict = "best".to_owned().into(),
        ),
        (
            "the verdict 'optimal' does not fit bound, profile and refusal",
            &|c| {
                c.refusal = Some(Refusal::Asserted {
                    reason: "so I say".to_owned(),
                });
            },
        ),
    ]);
}

/// The rejections of many certificates, without their numbers.
#[derive(Default)]
struct Heard(BTreeSet<String>);

impl Heard {
    fn hear(&mut self, known: &Known, certificate: &Certificate) {
        let mut shape = String::new();
        let Err(rejected) = verify(&known.flow, certificate) else {
            return;
        };
        for letter in rejected.to_string().chars() {
            match (letter.is_ascii_digit(), shape.ends_with('#')) {
                (true, true) => {}
                (true, false) => shape.push('#'),
                (false, _) => shape.push(letter),
            }
        }
        self.0.insert(shape);
    }

    fn all(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// Bounds lowered anywhere, and orders called optimal by their blocks.
#[test]
fn worse_orders_are_rejected_in_these_words() {
    let mut heard = Heard::default();
    for seed in 0..400 {
        let dag = some_dag(seed);
        let known = Known::new(&dag);
        let mut random = Random::new(seed);
        let order = some_order(&dag, &mut random);
        for certificate in bounds(&known, &order, &mut random) {
            heard.hear(&known, &certificate);
        }
        heard.hear(&known, &by_blocks(&known, &order));
    }
    assert_eq!(
        heard.all(),
        [
            "a block of # tasks is not executed optimally",
            "the bound at step # is too low: #, and some order has #",
            "the bound at step # is too low: some order has more",
            "the dag does admit an IC-optimal order",
            "the order falls short of its blocks at step #",
        ]
    );
}

/// The same reason with other sets and corners.
fn spoilt(reason: &Refusal) -> Vec<Refusal> {
    let ways: [fn(&mut Vec<String>); 3] = [
        |set| set.push("x".to_owned()),
        |set| set.extend(set.first().cloned()),
        |set| drop(set.pop()),
    ];
    let mut all = Vec::new();
    for way in ways {
        let mut other = reason.clone();
        match &mut other {
            Refusal::Crossing {
                witness: Some(witness),
                ..
            } => way(&mut witness.set),
            Refusal::Crossing { vertex_set, .. } => way(vertex_set),
            Refusal::Component { tasks, .. } => way(tasks),
            _ => {}
        }
        all.push(other);
    }
    let mut other = reason.clone();
    if let Refusal::Crossing { vertex, .. } = &mut other {
        *vertex = 99;
    }
    all.push(other);
    all
}

/// Reasons of every kind about every corner, step and part; and each of them spoilt.
#[test]
fn wrong_reasons_are_rejected_in_these_words() {
    let mut heard = Heard::default();
    for seed in 0..60 {
        let dag = random_tangle(9, seed);
        let known = Known::new(&dag);
        let truth = known.certificate(dag.topological_order(), known.best.clone(), None);
        if truth.bound == truth.profile {
            continue;
        }
        for reason in known.reasons() {
            for refusal in spoilt(&reason).into_iter().chain([reason]) {
                let certificate = Certificate {
                    verdict: "none-exists".to_owned().into(),
                    refusal: Some(refusal),
                    ..truth.clone()
                };
                heard.hear(&known, &certificate);
            }
        }
    }
    assert_eq!(
        heard.all(),
        [
            "# and # are no neighbouring corners of the hull",
            "'t#' is named twice in a set",
            "a set of # tasks between the only best ones of # and # gains as much as the witness: \
             the reason names the wrong corner, plan again",
            "a set of # tasks that contains the only best one of # gains as much as the witness: \
             the reason names the wrong corner, plan again",
            "a set of # tasks that lies in the only best one of # gains as much as the witness: \
             the reason names the wrong corner, plan again",
            "the # independent parts between steps # and # do admit an IC-optimal order",
            "the component does admit an IC-optimal order",
            "the corner at step # is not in the way of step #",
            "the dag does admit an IC-optimal order",
            "the hull has no corner at step #",
            "the set given is not the one at the hull's corner #",
            "the tasks of the component are no independent part of the interval",
            "the witness has another size or gain than claimed",
            "the witness is itself a set between the only best ones of # and #: \
             the reason names the wrong corner, plan again",
            "the witness is itself a set that contains the only best one of #: \
             the reason names the wrong corner, plan again",
            "the witness is itself a set that lies in the only best one of #: \
             the reason names the wrong corner, plan again",
            "the witness is no set that can be executed",
            "there is no task 'x'",
        ]
    );
}
