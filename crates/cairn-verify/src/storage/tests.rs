//! Honest claims on storage are proved, lies are rejected: against the least peak by brute force.

use super::*;
use crate::files::matches;
use crate::format::{Assumed, UnderCap};
use cairn_dag::FlowBuilder;
use cairn_oracle::{Random, random_dag};

/// A small flow with files of random sizes, some temporary, some unknown, some without a name.
fn random_flow(random: &mut Random) -> Flow {
    let dag = random_dag(
        1 + random.below(8),
        random.below(5),
        random.below(1 << 40) as u64,
    );
    let mut build = FlowBuilder::new();
    let tasks: Vec<_> = (dag.tasks())
        .map(|t| build.declare(&format!("t{}", t.0), 0).unwrap())
        .collect();
    for (parent, child) in dag.arcs() {
        build
            .arc(tasks[parent.index()], tasks[child.index()])
            .unwrap();
    }
    for task in dag.tasks() {
        for k in 0..random.below(3) {
            let path = format!("f{}-{k}", task.0);
            let bytes = (random.below(5) > 0).then(|| random.below(20) as u64);
            build.add_output(tasks[task.index()], &path, bytes);
            if random.below(2) == 0 {
                build.set_temp(&path);
            }
            for child in dag.children(task) {
                if random.below(3) > 0 {
                    build.add_input(tasks[child.index()], &path, None);
                }
            }
        }
    }
    build.finish().unwrap()
}

fn random_assumed(random: &mut Random) -> Assumed {
    Assumed {
        keeping: [
            Keeping::Marked,
            Keeping::FinalsOutside,
            Keeping::FinalsCounted,
        ][random.below(3)],
        size_of: match random.below(3) {
            0 => vec![("f1*".to_owned(), 7), ("*-1".to_owned(), 3)],
            _ => Vec::new(),
        },
        default_size: (random.below(2) == 0).then_some(4),
        temp: match random.below(3) {
            0 => vec!["f0-?".to_owned()],
            _ => Vec::new(),
        },
        rest: false,
    }
}

/// Every set of tasks that can have been executed, with the bytes that lie there then.
fn ideals(flow: &Flow, files: &Files) -> Vec<(u32, u64)> {
    let dag = flow.dag();
    let has = |set: u32, t: usize| set >> t & 1 == 1;
    let is_ideal = |set: &u32| {
        dag.arcs()
            .all(|(p, c)| !has(*set, c.index()) || has(*set, p.index()))
    };
    let live = |set: u32| -> u64 {
        let there = files.all.iter().filter(|f| {
            f.writer.is_none_or(|w| has(set, w))
                && (f.is_kept || f.readers.iter().any(|&r| !has(set, r)))
        });
        there.map(|f| f.bytes).sum()
    };
    (0..1u32 << dag.len())
        .filter(is_ideal)
        .map(|set| (set, live(set)))
        .collect()
}

/// The least peak of all orders.
fn least_peak(flow: &Flow, files: &Files) -> u64 {
    let all = ideals(flow, files);
    let mut best = vec![u64::MAX; 1 << flow.dag().len()];
    best[0] = 0;
    for &(set, live) in &all {
        for task in flow.dag().tasks() {
            let is_eligible = set >> task.0 & 1 == 0
                && (flow.dag().parents(task).iter()).all(|p| set >> p.0 & 1 == 1);
            if is_eligible && best[set as usize] < u64::MAX {
                let peak = best[set as usize].max(live + files.own(task.index()));
                let next = &mut best[(set | 1 << task.0) as usize];
                *next = (*next).min(peak);
            }
        }
    }
    *best.last().unwrap()
}

/// The least need of a task when these others are executed, or are not.
fn least_need(flow: &Flow, files: &Files, task: usize, others: &[usize], are_in: bool) -> u64 {
    let parents = flow.dag().parents(TaskId::new(task));
    let fits = |set: u32| {
        set >> task & 1 == 0
            && parents.iter().all(|p| set >> p.0 & 1 == 1)
            && others.iter().all(|&o| (set >> o & 1 == 1) == are_in)
    };
    let all = ideals(flow, files);
    let needs = all.iter().filter(|(set, _)| fits(*set));
    needs
        .map(|(_, live)| live + files.own(task))
        .min()
        .unwrap_or(u64::MAX)
}

fn names(flow: &Flow, order: &[TaskId]) -> Vec<String> {
    order.iter().map(|&t| flow.name(t).to_owned()).collect()
}

fn honest(flow: &Flow, files: &Files, assumed: Assumed) -> Storage {
    let order = flow.dag().topological_order();
    let peak = files.peak(order);
    Storage {
        assumed,
        order: names(flow, order),
        peak,
        lower_bound: 0,
        reason: Reason::Nothing,
        under_cap: Some(UnderCap {
            cap: peak + 1,
            order: names(flow, order),
            peak,
        }),
    }
}

fn verdict(flow: &Flow, storage: &Storage) -> Result<Accepted, Rejected> {
    let mut said = Accepted::default();
    check(flow, storage, &mut said).map(|()| said)
}

#[test]
fn bounds_are_proved_exactly_as_far_as_they_are_true() {
    let mut random = Random::new(21);
    let (mut proved, mut refused, mut tangled) = (0, 0, 0);
    for _ in 0..1500 {
        let flow = random_flow(&mut random);
        let assumed = random_assumed(&mut random);
        let files = Files::new(&flow, &assumed).unwrap();
        let mut storage = honest(&flow, &files, assumed);
        assert!(verdict(&flow, &storage).unwrap().asserted.is_empty());
        let least = least_peak(&flow, &files);
        assert!(least <= storage.peak);
        for _ in 0..6 {
            let mut set: Vec<usize> = (0..flow.dag().len()).collect();
            random.shuffle(&mut set);
            set.truncate(1 + random.below(3));
            let ids: Vec<TaskId> = set.iter().map(|&t| TaskId::new(t)).collect();
            let are_in = random.below(2) == 0;
            let tasks = names(&flow, &ids);
            storage.reason = match (tasks.len(), are_in) {
                (1, _) => Reason::Task {
                    task: tasks[0].clone(),
                },
                (_, true) => Reason::Last { tasks },
                (_, false) => Reason::First { tasks },
            };
            let need = |&t: &usize| {
                let others: Vec<usize> = set.iter().copied().filter(|&o| o != t).collect();
                least_need(&flow, &files, t, &others, are_in)
            };
            let needs: Vec<u64> = set.iter().map(need).collect();
            let true_bound = *needs.iter().min().unwrap();
            for bound in [true_bound, true_bound.saturating_add(1), true_bound / 2] {
                storage.lower_bound = bound.min(storage.peak);
                match verdict(&flow, &storage) {
                    Ok(said) => {
                        assert!(said.asserted.is_empty());
                        assert!(storage.lower_bound <= true_bound);
                        assert!(storage.lower_bound <= least, "a false bound was proved");
                        proved += 1;
                    }
                    Err(Rejected::LowerBoundTooHigh(_)) => {
                        assert!(storage.lower_bound > true_bound);
                        refused += 1;
                    }
                    Err(Rejected::NotIndependent(_)) => {
                        assert!(needs.contains(&u64::MAX));
                        tangled += 1;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
        storage.reason = Reason::Kept;
        storage.lower_bound = files.kept();
        assert!(verdict(&flow, &storage).is_ok() && files.kept() <= least);
    }
    assert!(
        proved > 5_000 && refused > 500 && tangled > 1_000,
        "{proved} {refused} {tangled}"
    );
}

/// One lie after the other in an otherwise honest section.
#[test]
fn structured_lies_are_rejected() {
    let mut random = Random::new(22);
    let mut tried = 0;
    for _ in 0..800 {
        let flow = random_flow(&mut random);
        let assumed = random_assumed(&mut random);
        let files = Files::new(&flow, &assumed).unwrap();
        let truth = honest(&flow, &files, assumed);
        let mut lies: Vec<Storage> = Vec::new();
        let mut lie = |change: &dyn Fn(&mut Storage)| {
            let mut other = truth.clone();
            change(&mut other);
            lies.push(other);
        };
        lie(&|s| s.peak += 1);
        lie(&|s| s.lower_bound = s.peak + 1);
        lie(&|s| s.order.push("t0".to_owned()));
        lie(&|s| drop(s.order.pop()));
        lie(&|s| s.order[0] = "nobody".to_owned());
        lie(&|s| s.under_cap.as_mut().unwrap().peak += 1);
        lie(&|s| {
            s.lower_bound = s.peak;
            s.reason = Reason::First { tasks: Vec::new() };
        });
        lie(&|s| {
            let tasks = vec!["t0".to_owned(), "t0".to_owned()];
            s.reason = Reason::Last { tasks };
        });
        lie(&|s| {
            let task = "nobody".to_owned();
            s.reason = Reason::Task { task };
        });
        if truth.peak > 0 {
            lie(&|s| s.peak -= 1);
            lie(&|s| s.under_cap.as_mut().unwrap().cap = s.peak - 1);
            lie(&|s| s.lower_bound = 1); // for nothing
        }
        if files.kept() < truth.peak {
            lie(&|s| {
                s.reason = Reason::Kept;
                s.lower_bound = files.kept() + 1;
            });
        }
        if let Some((parent, child)) = flow.dag().arcs().next() {
            let names = [flow.name(parent), flow.name(child)].map(str::to_owned);
            lie(&|s| {
                let place = |n: &String| s.order.iter().position(|o| o == n).unwrap();
                let (a, b) = (place(&names[0]), place(&names[1]));
                s.order.swap(a, b);
            });
            lie(&|s| {
                s.reason = Reason::First {
                    tasks: names.to_vec(),
                }
            });
        }
        for lie in &lies {
            assert!(verdict(&flow, lie).is_err(), "{lie:?}");
            tried += 1;
        }
        // Other assumptions are other numbers, or the same by chance.
        let mut other = truth.clone();
        other.assumed.default_size = Some(1_000_000);
        let recounted = Files::new(&flow, &other.assumed).unwrap();
        let same = recounted.peak(flow.dag().topological_order()) == truth.peak;
        assert_eq!(verdict(&flow, &other).is_ok(), same);
    }
    assert!(tried > 8_000, "{tried}");
}

#[test]
fn files_that_cannot_be_counted_are_rejected_and_few_steps_prove_nothing() {
    let assumed = |temp: &str| Assumed {
        keeping: Keeping::Marked,
        size_of: Vec::new(),
        default_size: None,
        temp: vec![temp.to_owned()],
        rest: false,
    };
    let mut build = FlowBuilder::new();
    let [a, b] = ["a", "b"].map(|name| build.declare(name, 0).unwrap());
    build.arc(a, b).unwrap();
    build.add_output(a, "x", Some(u64::MAX / 2));
    build.add_input(b, "raw", None);
    let flow = build.finish().unwrap();
    let refused = |temp| Files::new(&flow, &assumed(temp)).unwrap_err();
    assert_eq!(refused("raw"), Rejected::TemporaryInput("raw".to_owned()));
    assert_eq!(refused("x"), Rejected::SizesTooLarge);

    let mut build = FlowBuilder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| build.declare(name, 0).unwrap());
    build.arc(a, b).unwrap();
    build.arc(a, c).unwrap();
    build.add_output(a, "x", Some(5));
    build.add_input(b, "x", None);
    build.add_input(c, "x", None);
    let flow = build.finish().unwrap();
    let files = Files::new(&flow, &assumed("x")).unwrap();
    let mut storage = honest(&flow, &files, assumed("x"));
    storage.lower_bound = 5;
    storage.reason = Reason::Task {
        task: "b".to_owned(),
    };
    let mut said = Accepted::default();
    check_within(&flow, &storage, Work(3), &mut said).unwrap();
    assert_eq!(said.asserted.len(), 1);
    assert!(verdict(&flow, &storage).unwrap().asserted.is_empty());
}

/// A chain whose every file is read two tasks later: to see that readers come behind writers takes a walk for each. That is
/// quadratic, so it is paid for, and where steps are too few nothing is called proved.
#[test]
fn what_is_looked_at_for_every_task_is_paid_for() {
    let tasks = 400;
    let mut build = FlowBuilder::new();
    let all: Vec<_> = (0..tasks)
        .map(|i| build.declare(&format!("t{i}"), 0).unwrap())
        .collect();
    for pair in all.windows(2) {
        build.arc(pair[0], pair[1]).unwrap();
    }
    for (i, &task) in all.iter().enumerate() {
        build.add_output(task, &format!("f{i}"), Some(1));
        if i >= 2 {
            build.add_input(task, &format!("f{}", i - 2), None);
        }
    }
    let flow = build.finish().unwrap();
    let assumed = Assumed {
        keeping: Keeping::FinalsCounted,
        size_of: Vec::new(),
        default_size: None,
        temp: Vec::new(),
        rest: false,
    };
    let files = Files::new(&flow, &assumed).unwrap();
    let storage = honest(&flow, &files, assumed);
    let walks = u64::try_from(tasks * tasks).unwrap();
    let said = |steps: u64| {
        let mut said = Accepted::default();
        check_within(&flow, &storage, Work(steps), &mut said).unwrap();
        (said.proved.len(), said.asserted.len())
    };
    assert_eq!(said(u64::MAX), (3, 0));
    assert_eq!(said(walks / 2), (0, 3));
    // A question costs its network, though here not a byte need flow.
    let mut storage = storage.clone();
    storage.lower_bound = 1;
    storage.reason = Reason::Task {
        task: "t1".to_owned(),
    };
    let network = price_of_question(&flow, &files);
    for (steps, proved) in [(network, true), (network - 1, false)] {
        let found = bound_holds(&flow, &files, &storage, &mut Work(steps));
        assert_eq!(found, Ok(proved));
    }
}

#[test]
fn patterns_are_of_any_text_or_one_character() {
    for (pattern, path, hit) in [
        ("*.bam", "out/a.bam", true),
        ("*.bam", "a.bam.bai", false),
        ("a?c*", "abcd", true),
        ("a?c", "ac", false),
        ("", "", true),
        ("", "a", false),
        ("a*b*c", "a-b-b-c", true),
    ] {
        let letters = |text: &str| text.chars().collect::<Vec<char>>();
        assert_eq!(matches(&letters(pattern), &letters(path)), hit, "{pattern}");
    }
}
