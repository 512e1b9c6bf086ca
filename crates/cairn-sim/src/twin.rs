//! Slow and obvious twins of the worlds of batches and of the throttled queue, for tests: at every step they look at
//! all tasks again. They share the random draws with the real ones, and nothing else.

use crate::batches::Arrivals;
use crate::random::{Purpose, Stream};
use crate::{
    Measures, Options, Policy, Results, SimulateError, Spread, Workload, World, replay, simulate,
};
use cairn_dag::{Dag, TaskId};
use cairn_oracle::any_dag;
use proptest::prelude::*;

/// How the twin chooses: the position of each task in a list, or by when it became eligible.
#[derive(Clone, Debug)]
enum Choice {
    List(Vec<u32>),
    /// Lower keys first, ties by id.
    Key(Vec<u32>),
    Fifo,
    Lifo,
}

/// One task's life so far, and questions about all of them.
#[derive(Clone)]
struct Lives<'a> {
    dag: &'a Dag,
    /// By task: start and end of execution, once started.
    start: Vec<f64>,
    end: Vec<Option<f64>>,
    /// By task: given out (perhaps only queued).
    given: Vec<bool>,
}

impl<'a> Lives<'a> {
    fn new(dag: &'a Dag) -> Lives<'a> {
        Lives {
            dag,
            start: vec![0.0; dag.len()],
            end: vec![None; dag.len()],
            given: vec![false; dag.len()],
        }
    }

    fn executed(&self, task: TaskId, now: f64) -> bool {
        self.end[task.index()].is_some_and(|end| end <= now)
    }

    /// When the task became eligible, if it has by now.
    fn eligible_since(&self, task: TaskId, now: f64) -> Option<f64> {
        let parents = self.dag.parents(task);
        let all = parents.iter().all(|&p| self.executed(p, now));
        let last = |worst: f64, p: &TaskId| worst.max(self.end[p.index()].unwrap_or(0.0));
        all.then(|| parents.iter().fold(0.0, last))
    }

    fn candidates(&self, now: f64) -> Vec<TaskId> {
        let free = |t: &TaskId| !self.given[t.index()] && self.eligible_since(*t, now).is_some();
        self.dag.tasks().filter(free).collect()
    }

    fn choose(&self, choice: &Choice, now: f64) -> Option<TaskId> {
        let since = |t: &TaskId| self.eligible_since(*t, now).unwrap();
        let by_time = |a: &TaskId, b: &TaskId| since(a).total_cmp(&since(b)).then(a.cmp(b));
        let candidates = self.candidates(now).into_iter();
        match choice {
            Choice::List(position) => candidates.min_by_key(|t| position[t.index()]),
            Choice::Key(key) => candidates.min_by_key(|t| (key[t.index()], *t)),
            Choice::Fifo => candidates.min_by(by_time),
            Choice::Lifo => candidates.max_by(by_time),
        }
    }

    fn left(&self) -> bool {
        self.given.iter().any(|g| !g)
    }

    fn ends(&self) -> Vec<f64> {
        let mut ends: Vec<f64> = self.end.iter().flatten().copied().collect();
        ends.sort_by(f64::total_cmp);
        ends
    }

    /// The most executed tasks with an unexecuted child, when tasks of one instant end by id, one after the other.
    fn peak_open(&self) -> f64 {
        let mut order: Vec<TaskId> = self.dag.tasks().collect();
        order.sort_by(|a, b| {
            self.end[a.index()]
                .unwrap()
                .total_cmp(&self.end[b.index()].unwrap())
                .then(a.cmp(b))
        });
        let mut done = vec![false; self.dag.len()];
        let mut peak = 0;
        for task in order {
            done[task.index()] = true;
            let open = self.dag.tasks().filter(|t| done[t.index()]);
            let open = open.filter(|&t| self.dag.children(t).iter().any(|c| !done[c.index()]));
            peak = peak.max(open.count());
        }
        peak as f64
    }
}

fn batches_twin(dag: &Dag, durations: &[f64], choice: &Choice, mut arrivals: Arrivals) -> Measures {
    let mut lives = Lives::new(dag);
    let mut batch_times = Vec::new();
    let (mut stalls, mut requests) = (0, 0);
    while lives.left() {
        let (now, size) = arrivals.next();
        batch_times.push(now);
        requests += size;
        stalls += u32::from(lives.candidates(now).is_empty());
        for _ in 0..size.min(dag.len() as u64) {
            if let Some(task) = lives.choose(choice, now) {
                lives.given[task.index()] = true;
                lives.start[task.index()] = now;
                lives.end[task.index()] = Some(now + durations[task.index()]);
            }
        }
    }
    // If no task spans a batch, nothing has run since the last end before it, or since the batch before.
    let mut idle = 0.0;
    let mut before = 0.0;
    for &now in &batch_times {
        let earlier = || dag.tasks().filter(|t| lives.start[t.index()] < now);
        let ends = || earlier().map(|t| lives.end[t.index()].unwrap());
        if ends().all(|end| end <= now) {
            idle += now - ends().fold(before, f64::max);
        }
        before = now;
    }
    Measures {
        makespan: lives.ends().last().copied().unwrap_or(0.0),
        stall: if batch_times.is_empty() {
            0.0
        } else {
            f64::from(stalls) / batch_times.len() as f64
        },
        utilisation: if requests == 0 {
            1.0
        } else {
            dag.len() as f64 / requests as f64
        },
        idle,
        peak_disk: 0.0,
        peak_open: lives.peak_open(),
        wasted: 0.0,
        worker_time: durations.iter().sum(),
        results: Results::default(),
    }
}

fn throttled_twin(
    dag: &Dag,
    durations: &[f64],
    choice: &Choice,
    submitted: usize,
    workers: usize,
) -> Measures {
    let workers = workers.min(submitted);
    let mut lives = Lives::new(dag);
    // Queued and running tasks in the order of submission.
    let mut queue: Vec<TaskId> = Vec::new();
    let mut now = 0.0;
    let (mut asking, mut requests, mut stalls, mut idle) = (workers, 0, 0, 0.0);
    loop {
        queue.retain(|&t| !lives.executed(t, now));
        while queue.len() < submitted {
            let Some(task) = lives.choose(choice, now) else {
                break;
            };
            lives.given[task.index()] = true;
            queue.push(task);
        }
        let running = |lives: &Lives<'_>| {
            queue
                .iter()
                .filter(|t| lives.end[t.index()].is_some())
                .count()
        };
        while running(&lives) < workers {
            let Some(task) = queue.iter().find(|t| lives.end[t.index()].is_none()) else {
                break;
            };
            lives.end[task.index()] = Some(now + durations[task.index()]);
        }
        let free = workers - running(&lives);
        let unserved = asking.min(free);
        requests += asking - unserved;
        if lives.left() {
            requests += unserved;
            stalls += unserved;
        }
        let next = queue
            .iter()
            .filter_map(|t| lives.end[t.index()])
            .fold(f64::INFINITY, f64::min);
        if next.is_infinite() {
            break;
        }
        if lives.left() {
            idle += free as f64 * (next - now);
        }
        now = next;
        asking = queue
            .iter()
            .filter(|t| lives.end[t.index()] == Some(now))
            .count();
    }
    let busy: f64 = durations.iter().sum();
    Measures {
        makespan: now,
        stall: if requests == 0 {
            0.0
        } else {
            stalls as f64 / requests as f64
        },
        utilisation: if now > 0.0 {
            busy / (now * workers as f64)
        } else {
            1.0
        },
        idle,
        peak_disk: 0.0,
        peak_open: lives.peak_open(),
        wasted: 0.0,
        worker_time: now * workers as f64,
        results: Results::default(),
    }
}

/// Sums in another order may differ in the last bits; everything else must be equal.
fn assert_same(ours: &Measures, twin: &Measures) {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
    assert_eq!(ours.makespan, twin.makespan, "{ours:?} {twin:?}");
    assert_eq!(ours.stall, twin.stall, "{ours:?} {twin:?}");
    assert!(
        near(ours.utilisation, twin.utilisation),
        "{ours:?} {twin:?}"
    );
    assert!(near(ours.idle, twin.idle), "{ours:?} {twin:?}");
    assert_eq!(ours.peak_open, twin.peak_open, "{ours:?} {twin:?}");
    assert_eq!(ours.wasted, 0.0);
    assert!(
        near(ours.worker_time, twin.worker_time),
        "{ours:?} {twin:?}"
    );
}

/// A list by a number of each task: lower goes first, ties by id.
fn by_key(name: &str, keys: &[u32]) -> Policy {
    let mut order: Vec<TaskId> = (0..keys.len()).map(TaskId::new).collect();
    order.sort_by_key(|t| (keys[t.index()], *t));
    Policy::order(name, &order)
}

fn policies(dag: &Dag, seed: u64) -> Vec<(Policy, Choice)> {
    let mut order: Vec<TaskId> = dag.tasks().collect();
    Stream::new(seed, 0, Purpose::RandomPolicy, 9).shuffle(&mut order);
    let mut position = vec![0; dag.len()];
    for (i, t) in order.iter().enumerate() {
        position[t.index()] = i as u32;
    }
    let children: Vec<u32> = (dag.tasks())
        .map(|t| dag.children(t).len() as u32)
        .collect();
    vec![
        (Policy::order("list", &order), Choice::List(position)),
        (by_key("fewest children", &children), Choice::Key(children)),
        (Policy::fifo(), Choice::Fifo),
        (Policy::lifo(), Choice::Lifo),
    ]
}

fn any_work(tasks: usize, kind: u8) -> Workload {
    match kind {
        0 => Workload::unit(),
        1 => World::study_work(),
        2 => Workload::drawn(Spread::Exponential { mean: 2.0 }).unwrap(),
        // Whole numbers: many events at one instant.
        _ => Workload::known(
            &(0..tasks)
                .map(|i| Some((1 + i * 7 % 4) as f64))
                .collect::<Vec<_>>(),
        )
        .unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn batches_agree_with_their_twin(
        dag in any_dag(14), kind in 0u8..4, gap in 0.05f64..4.0, size in 0.3f64..9.0, seed in any::<u64>(),
    ) {
        let work = any_work(dag.len(), kind);
        let world = World::batches(gap, size).unwrap();
        let World::Batches(settings) = &world else { unreachable!() };
        let mut durations = Vec::new();
        for run in 0..2 {
            work.draw(seed, run, dag.len(), &mut durations);
            for (policy, choice) in policies(&dag, seed) {
                let arrivals = Arrivals::new(settings, Stream::new(seed, run, Purpose::Batches, 0));
                let twin = batches_twin(&dag, &durations, &choice, arrivals);
                let ours = replay(&dag, &work, &world, &policy, seed, run).unwrap();
                assert_same(&ours.measures, &twin);
            }
        }
    }

    #[test]
    fn the_throttled_queue_agrees_with_its_twin(
        dag in any_dag(14), kind in 0u8..4, submitted in 1u32..8, workers in 1u32..8, seed in any::<u64>(),
    ) {
        let work = any_work(dag.len(), kind);
        let world = World::throttled(submitted, workers).unwrap();
        let mut durations = Vec::new();
        work.draw(seed, 0, dag.len(), &mut durations);
        for (policy, choice) in policies(&dag, seed) {
            let twin = throttled_twin(&dag, &durations, &choice, submitted as usize, workers as usize);
            let ours = replay(&dag, &work, &world, &policy, seed, 0).unwrap();
            assert_same(&ours.measures, &twin);
        }
    }
}

#[test]
fn a_run_of_the_study_is_the_run_replayed() -> Result<(), SimulateError> {
    let dag = cairn_oracle::random_dag(14, 2, 5);
    let (work, world) = (World::study_work(), World::batches(0.5, 2.0).unwrap());
    let options = Options {
        runs: 7,
        seed: 3,
        ..Options::default()
    };
    let study = simulate(
        &dag,
        &work,
        &world,
        &[Policy::fifo(), Policy::random()],
        &options,
    )?;
    for run in 0..7 {
        let again = replay(&dag, &work, &world, &Policy::random(), 3, run as u64)?;
        assert_eq!(again.measures, study.outcomes[1].runs[run]);
    }
    Ok(())
}

/// Why the number of children, asked anew at every moment, is not the list made from it beforehand: while workers run
/// side by side a task may be eligible before one that the list, made step by step, has earlier. It is rare, and both
/// are played as their twins play them.
#[test]
fn a_rule_and_the_list_made_from_it_differ_now_and_then() {
    let (mut runs, mut differ) = (0, 0);
    for seed in 0..600 {
        let dag = cairn_oracle::random_dag(14, 2, seed);
        let fewer: Vec<u32> = (dag.tasks())
            .map(|t| 100 - dag.children(t).len() as u32)
            .collect();
        // Always the eligible task with most children, one after the other.
        let mut lives = Lives::new(&dag);
        let rule = Choice::Key(fewer.clone());
        let mut position = vec![0; dag.len()];
        let mut order = Vec::new();
        while let Some(task) = lives.choose(&rule, order.len() as f64) {
            lives.given[task.index()] = true;
            lives.end[task.index()] = Some(order.len() as f64);
            position[task.index()] = order.len() as u32;
            order.push(task);
        }
        assert_eq!(order.len(), dag.len());
        let list = Choice::List(position);
        let work = World::study_work();
        let mut durations = Vec::new();
        for run in 0..4 {
            work.draw(seed, run, dag.len(), &mut durations);
            let world = World::throttled(3, 3).unwrap();
            let time = |policy: &Policy, choice: &Choice| {
                let ours = replay(&dag, &work, &world, policy, seed, run).unwrap();
                let twin = throttled_twin(&dag, &durations, choice, 3, 3);
                assert_same(&ours.measures, &twin);
                ours.measures.makespan
            };
            runs += 1;
            let by_rule = time(&by_key("rule", &fewer), &rule);
            differ += u32::from(by_rule != time(&Policy::order("list", &order), &list));
        }
    }
    assert!(0 < differ && differ < runs / 20, "{differ} of {runs}");
}
