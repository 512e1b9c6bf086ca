//! The game on families that are never written down, against the same family as a stored dag; and what it costs.

use cairn_dag::Dag;
use cairn_engine::{
    Engine, Frozen, Implicit, Moment, Offer, Order, Outbox, Outcome, Position, Rules, Shape, Task,
};
use cairn_oracle::Random;
use cairn_theory::families::{EvolvingMesh, Fft, OutTree, ReductionMesh, ReductionTree};
use cairn_theory::game::Standing;

type Make = Box<dyn Fn() -> Box<dyn Shape>>;

fn families(size: u64) -> Vec<Make> {
    fn make<S: Shape + Clone + 'static>(shape: S) -> Make {
        Box::new(move || Box::new(shape.clone()))
    }
    vec![
        make(EvolvingMesh::with_levels(size).unwrap()),
        make(ReductionMesh::with_levels(size).unwrap()),
        make(Fft::new(size.min(4)).unwrap()),
        make(OutTree::new(2 + size % 2, size.min(4)).unwrap()),
        make(ReductionTree::new(2 + size % 2, size.min(4)).unwrap()),
    ]
}

/// The same family as a stored dag, numbered by steps.
fn stored(shape: &dyn Shape) -> Dag {
    let tasks = shape.tasks().unwrap();
    let mut arcs = Vec::new();
    for step in 0..tasks {
        let mut children = Vec::new();
        shape.children(step, &mut children);
        arcs.extend(
            children
                .into_iter()
                .map(|child| (step as u32, child as u32)),
        );
    }
    Dag::from_arcs(tasks as usize, arcs).unwrap()
}

/// Random moves, legal and not, on both: the same answers, the same standings; packing changes nothing.
#[test]
fn a_family_that_is_not_written_down_plays_as_the_stored_one() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        for make in families(1 + random.below(6) as u64) {
            let dag = stored(&*make());
            let (mut stored, mut told) = (Frozen::new(&dag), Implicit::new(make()));
            for _ in 0..4 * dag.len() {
                let task = Task(random.below(dag.len() + 1) as u64);
                let (mut a, mut b) = (Vec::new(), Vec::new());
                let mut aborted = Vec::new();
                let both = match random.below(12) {
                    0..3 => (stored.lease(task), told.lease(task)),
                    3 => (stored.release(task), told.release(task)),
                    4 => (
                        stored.fail(task, &mut aborted),
                        told.fail(task, &mut Vec::new()),
                    ),
                    5 => match stored.standing(task) {
                        // Who is aborted there just waits here.
                        Ok(Standing::Aborted) => continue,
                        _ => (
                            stored.cancel(task, &mut aborted),
                            told.cancel(task, &mut Vec::new()),
                        ),
                    },
                    6 | 7 => {
                        let given_up = stored.standing(task);
                        let both = (stored.revive(task, &mut a), told.revive(task, &mut b));
                        assert_eq!(a, b, "{given_up:?}");
                        both
                    }
                    8 if told.next_source().is_some() => {
                        told.take_source();
                        continue;
                    }
                    9 => {
                        let packed = told.packed();
                        told = Implicit::new(make());
                        told.unpack(&packed).unwrap();
                        assert_eq!(told.packed(), packed);
                        continue;
                    }
                    _ => (stored.execute(task, &mut a), told.execute(task, &mut b)),
                };
                assert_eq!(both.0.is_ok(), both.1.is_ok(), "{task:?}");
                a.sort_unstable();
                b.sort_unstable();
                assert_eq!(a, b);
                for task in (0..dag.len() as u64).map(Task) {
                    let expected = match stored.standing(task).unwrap() {
                        Standing::Aborted => Standing::Waiting,
                        standing => standing,
                    };
                    assert_eq!(told.standing(task), Ok(expected));
                }
                for standing in [
                    Standing::Eligible,
                    Standing::Leased,
                    Standing::Executed,
                    Standing::Failed,
                ] {
                    assert_eq!(told.count(standing), stored.count(standing));
                }
                assert_eq!(told.is_settled(), stored.is_settled());
            }
        }
    }
}

/// Workers that take their time: both engines give out the same tasks, and the tasks go out in the order of the family.
#[test]
fn engines_give_out_the_same_tasks() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        for make in families(2 + random.below(5) as u64) {
            let dag = stored(&*make());
            let (mut out, now) = (Outbox::default(), Moment(0));
            let mut stored = Engine::new(Frozen::new(&dag), Rules::default(), Order::AsNumbered);
            let mut told = Engine::new(Implicit::new(make()), Rules::default(), Order::AsNumbered);
            stored.open(now, &mut out);
            told.open(now, &mut out);
            let slots = 1 + random.below(5) as u32;
            let worker = stored.join(now, "w", Offer::cpus(slots), &mut out);
            told.join(now, "w", Offer::cpus(slots), &mut out);
            let mut started = Vec::new();
            while !stored.is_over() {
                assert!(!told.is_over());
                let want = 1 + random.below(3);
                let granted = stored.ask(now, worker, want, &mut out);
                assert_eq!(told.ask(now, worker, want, &mut out), granted);
                started.extend(granted.into_iter().flatten().map(|g| g.task));
                let held = stored.workers()[0].holds.clone();
                if let Some(&(task, token)) = held.get(random.below(held.len().max(1))) {
                    stored.give_back(now, task, token, Outcome::Executed, &mut out);
                    told.give_back(now, task, token, Outcome::Executed, &mut out);
                }
            }
            assert!(told.is_over());
            if slots == 1 {
                let order: Vec<Task> = (0..dag.len() as u64).map(Task).collect();
                assert_eq!(started, order);
            }
        }
    }
}

/// A million tasks of the mesh without end, out of order now and then: what is kept is no larger than the frontier.
#[test]
fn the_mesh_without_end_keeps_hardly_anything() {
    let mesh = Implicit::new(Box::new(EvolvingMesh::infinite()));
    let mut engine = Engine::new(mesh, Rules::default(), Order::AsNumbered);
    let (mut out, now) = (Outbox::default(), Moment(0));
    engine.open(now, &mut out);
    let worker = engine.join(now, "w", Offer::cpus(8), &mut out);
    let mut random = Random::new(1);
    let mut executed = 0;
    while executed < 1_000_000 {
        engine.ask(now, worker, 8, &mut out).ok();
        let held = &engine.workers()[0].holds;
        let (task, token) = held[random.below(held.len())];
        engine.give_back(now, task, token, Outcome::Executed, &mut out);
        executed += 1;
        out.entries.clear();
    }
    assert_eq!(engine.position().count(Standing::Executed), Some(1_000_000));
    assert_eq!(engine.position().count(Standing::Waiting), None);
    // Some 1,414 tasks are eligible at the most.
    assert!(engine.position().packed().len() < 64 * 1024);
}
