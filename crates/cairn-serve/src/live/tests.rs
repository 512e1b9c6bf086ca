//! The fold against the engine that wrote the journal, on random runs.

use super::*;
use cairn_dag::{Flow, TaskId};
use cairn_engine::{Cause, Engine, Frozen, Implicit, Offer, Order, Outbox, Outcome};
use cairn_oracle::{Random, random_dag};

/// A random run: its journal, and how the engine stands at its end.
fn check(seed: u64) {
    let mut random = Random::new(seed);
    let tasks = 1 + random.below(14);
    let dag = random_dag(tasks, random.below(4), seed);
    let flow = Flow::numbered(&dag);
    let rules = Rules {
        retries: 1,
        losses: 1,
        gone: random.below(3),
        ..Rules::default()
    };
    let order: Vec<TaskId> = flow.dag().topological_order().to_vec();
    let box_of: Vec<u32> = (0..tasks).map(|_| random.below(3) as u32).collect();
    let mut engine = Engine::new(Frozen::new(flow.dag()), rules.clone(), Order::of(&order));
    let mut live = Live::new(&flow, &rules, &box_of);
    let mut out = Outbox::default();
    let mut now = Moment(1_000_000_000_000_000);
    let begin = now;
    engine.open(now, &mut out);
    let mut workers = vec![engine.join(now, "a", Offer::cpus(2), &mut out)];
    let mut seq = 0;
    let (mut capacity, mut pieces) = (0.0, Vec::new());
    // Somebody who comes later: the whole then, and changes from there.
    let mut later: Option<Update> = None;
    // Whatever was ever leased may come back, also what was given up for lost; by task how long what counted took.
    let mut leased: Vec<(Task, Token, Moment)> = Vec::new();
    let mut took: Vec<(f64, u64)> = Vec::new();
    for _ in 0..80 {
        let step = random.below(5) as u64 * 1_000_000;
        let here = engine.workers().iter().filter(|w| w.is_here);
        let cpus: u32 = here.map(|w| w.offer.cpus).sum();
        if !engine.position().is_settled() {
            capacity += f64::from(cpus) * step as f64 / 1e6;
        }
        now = Moment(now.0 + step);
        let worker = workers[random.below(workers.len())];
        let held: Vec<_> = engine.held().collect();
        let task = Task(random.below(tasks) as u64);
        match random.below(13) {
            0 => workers.push(engine.join(now, "b", Offer::cpus(1), &mut out)),
            1 => drop(engine.leave(now, worker, &mut out)),
            2..6 => drop(engine.ask(now, worker, 1 + random.below(2), &mut out)),
            6..10 if !held.is_empty() => {
                let (_, task, token) = held[random.below(held.len())];
                let outcome = match random.below(4) {
                    0 => Outcome::Failed {
                        exit: 1,
                        cause: Cause::Exit,
                    },
                    1 => Outcome::GivenBack,
                    _ => Outcome::Executed,
                };
                engine.give_back(now, task, token, outcome, &mut out);
            }
            10 => drop(engine.cancel(now, task, &mut out)),
            11 => drop(engine.revive(now, task, &mut out)),
            12 if !leased.is_empty() => {
                let (task, token, _) = leased[random.below(leased.len())];
                engine.give_back(now, task, token, Outcome::Executed, &mut out);
            }
            _ => (),
        }
        for entry in out.entries.drain(..) {
            match entry.event {
                Event::Leased { task, token, .. } => leased.push((task, token, entry.at)),
                Event::Executed { task, token, .. } => {
                    let mut begun = leased.iter().filter(|l| (l.0, l.1) == (task, token));
                    let (_, _, begin) = begun.next().expect("it was leased");
                    took.push((entry.at.since(*begin).0 as f64 / 1e6, task.0));
                }
                _ => (),
            }
            seq += 1;
            live.hear(seq, &entry).unwrap();
        }
        if random.below(4) == 0 {
            let piece = live.changes(now);
            if let Some(later) = &mut later {
                later.spans.extend(&piece.spans);
                later.curve.extend(&piece.curve);
            }
            pieces.push(piece);
            if random.below(4) == 0 {
                later.get_or_insert_with(|| live.whole(now));
            }
        }
        // Counts by state and by box are those of the game, task by task.
        let whole = live.whole(now);
        let mut boxes = vec![[0; 7]; live.boxes.len()];
        let mut counts = [0; 7];
        for task in flow.dag().tasks() {
            let standing = engine.position().standing(task.into()).unwrap() as usize;
            boxes[box_of[task.index()] as usize][standing] += 1;
            counts[standing] += 1;
        }
        assert_eq!(whole.counts, counts.map(Some));
        for (b, expected) in boxes.iter().enumerate() {
            assert_eq!(whole.boxes[b][1..], expected[..]);
        }
        assert_eq!(whole.running.len(), engine.held().count());
        for (told, worker) in live.workers.iter().zip(engine.workers()) {
            let seen = (told.executed, told.failed, told.lost, told.leased as usize);
            let is = (
                worker.executed,
                worker.failed,
                worker.lost,
                worker.holds.len(),
            );
            assert_eq!(seen, is, "{}", worker.name);
            assert_eq!(told.state == "here", worker.is_here);
        }
        // Every second of every processor that was there is accounted for.
        let idle = whole.idle;
        let sum = idle.busy + idle.nothing_eligible + idle.resources + idle.server + idle.paused;
        assert!((sum - capacity).abs() < 1e-3, "{sum} of {capacity}");
        let took = |s: &Span| s.3 - s.2;
        let ended: f64 = whole.spans.iter().map(took).sum();
        let open: f64 = whole.running.iter().map(|r| seconds(now) - r.2).sum();
        if !engine.position().is_settled() {
            assert!(
                (idle.busy - ended - open).abs() < 1e-3,
                "tasks of one processor"
            );
        }
    }
    let piece = live.changes(now);
    if let Some(mut later) = later {
        later.spans.extend(&piece.spans);
        assert_eq!(later.spans, live.whole(now).spans, "nothing is told twice");
        later.curve.extend(&piece.curve);
        assert!(later.curve.windows(2).all(|w| w[0].1 <= w[1].1));
    }
    pieces.push(piece);
    // Pieces come to the whole.
    let whole = live.whole(now);
    let spans: Vec<Span> = pieces.iter().flat_map(|p| p.spans.clone()).collect();
    assert_eq!(spans, whole.spans);
    let mut boxes: Vec<[u32; 8]> = vec![[0; 8]; whole.boxes.len()];
    for row in pieces.iter().flat_map(|p| &p.boxes) {
        boxes[row[0] as usize] = *row;
    }
    assert_eq!(boxes, whole.boxes);
    for task in flow.dag().tasks() {
        let attempts = live.attempts(task.into());
        assert!(attempts.windows(2).all(|w| w[0].begin <= w[1].begin));
        assert!(attempts.iter().all(|a| a.begin >= seconds(begin)));
    }
    // How long each took that counted, late ones too.
    took.sort_by(|a, b| b.0.total_cmp(&a.0));
    took.truncate(SLOWEST);
    let told = live.slowest.iter().map(|slow| slow.0);
    assert!(told.eq(took.iter().map(|slow| slow.0)));
    assert!(live.lapsed.len() <= leased.len());
    // The path goes from parent to child without a gap, and ends with the last.
    let path = whole.path.unwrap();
    for pair in path.windows(2) {
        let [a, b] = [&pair[0], &pair[1]].map(|s| TaskId(s.id as u32));
        assert!(flow.dag().has_arc(a, b));
    }
}

#[test]
fn what_is_told_is_what_the_engine_has() {
    (0..2000).for_each(check);
}

#[test]
fn who_waits_for_a_shared_resource_waits_for_no_server() {
    let dag = cairn_dag::Dag::from_arcs(2, vec![]).unwrap();
    let flow = Flow::numbered(&dag);
    let licensed = Needs {
        pools: vec![(cairn_engine::PoolId(0), 1)],
        ..Needs::default()
    };
    let rules = Rules {
        classes: vec![licensed],
        pools: vec![1],
        ..Rules::default()
    };
    let order = dag.topological_order().to_vec();
    let mut engine = Engine::new(Frozen::new(flow.dag()), rules.clone(), Order::of(&order));
    let mut live = Live::new(&flow, &rules, &[]);
    let (mut out, begin) = (Outbox::default(), Moment(1_000_000));
    engine.open(begin, &mut out);
    let worker = engine.join(begin, "a", Offer::cpus(2), &mut out);
    assert_eq!(engine.ask(begin, worker, 2, &mut out).unwrap().len(), 1);
    for (entry, seq) in out.entries.drain(..).zip(1..) {
        live.hear(seq, &entry).unwrap();
    }
    let idle = live.whole(Moment(11_000_000)).idle;
    assert_eq!((idle.busy, idle.resources, idle.server), (10.0, 10.0, 0.0));
}

/// A family in a store that forgets: whoever comes late, or missed some events, has what the engine has.
#[test]
fn a_family_is_gone_on_with_from_a_snapshot() {
    let family = Cells(cairn_theory::families::EvolvingMesh::with_levels(30).unwrap());
    let rules = Rules::default();
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let mut engine = Engine::new(
            Implicit::new(Box::new(family.0)),
            rules.clone(),
            Order::AsNumbered,
        );
        let mut out = Outbox::default();
        let mut now = Moment(1_000_000_000);
        engine.open(now, &mut out);
        let worker = engine.join(now, "a", Offer::cpus(3), &mut out);
        let (mut live, mut late) = (
            Live::new(&family, &rules, &[]),
            Live::new(&family, &rules, &[]),
        );
        let mut seq = 0;
        for step in 0..60 {
            now = Moment(now.0 + 1_000_000);
            let held: Vec<_> = engine.held().collect();
            match held.get(random.below(4)) {
                Some(&(_, task, token)) => {
                    engine.give_back(now, task, token, Outcome::Executed, &mut out);
                }
                None => drop(engine.ask(now, worker, 2, &mut out)),
            }
            // Now and then a few events are missed, and then there is a snapshot.
            let is_missed = random.below(6) == 0;
            for entry in out.entries.drain(..) {
                seq += 1;
                if !is_missed {
                    live.hear(seq, &entry).unwrap();
                }
            }
            if is_missed {
                live.restore(seq, now, &engine.snapshot()).unwrap();
            }
            if step == 59 {
                late.restore(seq, now, &engine.snapshot()).unwrap();
            }
        }
        let count = |standing| engine.position().count(standing);
        for told in [live.whole(now), late.whole(now)] {
            assert_eq!(told.counts[1], count(Standing::Eligible));
            assert_eq!(told.counts[3], count(Standing::Executed));
            assert_eq!(told.running.len(), engine.held().count());
            let executed = told.workers.unwrap()[0].executed;
            assert_eq!(executed, engine.workers()[0].executed);
        }
        assert!(
            late.whole(now).began.is_none(),
            "nobody knows when it began"
        );
    }
}

struct Cells(cairn_theory::families::EvolvingMesh);

impl Subject for Cells {
    fn name(&self, task: Task) -> String {
        task.0.to_string()
    }

    fn position(&self) -> Box<dyn Position + '_> {
        Box::new(Implicit::new(Box::new(self.0)))
    }

    fn dag(&self) -> Option<&cairn_dag::Dag> {
        None
    }
}

#[test]
fn a_long_line_keeps_its_ends_and_its_peak() {
    for many in [1, 2, 999, 1000, 1001, 5000, 123_457] {
        let line: Vec<u32> = (0..many).map(|i| (i * 7919) % 1009).collect();
        let points = few(&line);
        assert!(points.len() <= 1003);
        assert_eq!(points[0], (0, line[0].into()));
        let last = line.len() - 1;
        assert_eq!(points[points.len() - 1], (last as u64, line[last].into()));
        let top = points.iter().map(|p| p.1).max();
        assert_eq!(top, line.iter().max().map(|&m| m.into()));
        assert!(points.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(
            points
                .iter()
                .all(|&(x, y)| u64::from(line[x as usize]) == y)
        );
    }
}
