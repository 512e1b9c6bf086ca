//! Laws that hold in every world and for every policy, checked event by event from the log of a run.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::any_dag;
use cairn_sim::{
    Breaks, Crew, Event, Lease, Link, Measures, Natures, Policy, PoolSettings, Spread, Tail, Trace,
    What, Workload, World, replay,
};
use proptest::prelude::*;

/// A world with what the log must be checked against.
#[derive(Clone, Debug)]
struct Setting {
    world: World,
    crew: Crew,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Batches,
    Throttled { submitted: usize, workers: usize },
    Pool,
}

fn pool(settings: PoolSettings) -> Setting {
    Setting {
        crew: settings.crew.clone(),
        world: World::pool(settings).unwrap(),
        kind: Kind::Pool,
    }
}

fn any_crew() -> impl Strategy<Value = Crew> {
    let speed = prop_oneof![
        Just(Spread::Constant(1.0)),
        (0.1f64..1.0).prop_map(|sigma| Spread::LogNormal { median: 1.0, sigma }),
    ];
    let link = Link {
        bandwidth: Spread::LogNormal {
            median: 3.0,
            sigma: 0.5,
        },
        latency: Spread::Constant(0.1),
    };
    let cores = prop_oneof![Just(1), Just(4)];
    let lease = (0.2f64..4.0).prop_map(|factor| Lease {
        factor,
        at_least: 0.5,
    });
    let tail =
        prop::option::of((1u32..6, 2u32..4).prop_map(|(tasks, copies)| Tail { tasks, copies }));
    (speed, prop::option::of(Just(link)), cores, lease, tail).prop_map(
        |(speed, link, cores, lease, tail)| Crew {
            speed,
            cores,
            link,
            lease: Some(lease),
            tail,
            natures: Natures::default(),
        },
    )
}

fn any_setting() -> impl Strategy<Value = Setting> {
    let batches = (0.1f64..3.0, 0.5f64..6.0).prop_map(|(gap, size)| Setting {
        world: World::batches(gap, size).unwrap(),
        crew: Crew::default(),
        kind: Kind::Batches,
    });
    let throttled = (1u32..6, 1u32..6).prop_map(|(submitted, workers)| Setting {
        world: World::throttled(submitted, workers).unwrap(),
        crew: Crew::default(),
        kind: Kind::Throttled {
            submitted: submitted as usize,
            workers: workers as usize,
        },
    });
    let fixed = (1u32..5, any_crew(), any::<bool>()).prop_map(|(workers, crew, plain)| {
        let crew = if plain {
            Crew {
                lease: None,
                tail: None,
                ..crew
            }
        } else {
            crew
        };
        pool(PoolSettings {
            workers,
            crew,
            ..PoolSettings::default()
        })
    });
    let volatile = (
        1u32..5,
        any_crew(),
        1.0f64..6.0,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(workers, crew, up, breaks, stay)| {
            let breaks = breaks.then_some(Breaks {
                up: Spread::Weibull {
                    shape: 0.7,
                    scale: up,
                },
                down: Spread::Exponential { mean: 1.0 },
            });
            let stay = stay.then_some(Spread::Exponential { mean: 2.0 * up });
            pool(PoolSettings {
                workers,
                joins: Some(2.0),
                stay,
                breaks,
                crew,
            })
        });
    let trace = (any_crew(), 3u32..9).prop_map(|(crew, length)| {
        // Worker b is up for ten seconds or more on end: every task must fit in there.
        let crew = Crew {
            speed: Spread::Uniform {
                low: 0.5,
                high: 2.0,
            },
            link: crew.link.map(|l| Link {
                bandwidth: Spread::Constant(10.0),
                ..l
            }),
            ..crew
        };
        let text = format!(
            "a,0,{length}\nb,1,{}\nb,{},20\nc,2,2.5\n",
            length + 1,
            length + 2
        );
        Setting {
            world: World::trace(Trace::parse(&text).unwrap(), true, crew.clone()).unwrap(),
            crew,
            kind: Kind::Pool,
        }
    });
    prop_oneof![batches, throttled, fixed, volatile, trace]
}

fn any_policy(dag: &Dag, which: u8) -> (Policy, Option<Vec<u32>>) {
    match which {
        0 => {
            let ranks: Vec<u32> = dag
                .tasks()
                .map(|t| t.0.wrapping_mul(2_654_435_761) >> 8)
                .collect();
            let mut order: Vec<TaskId> = dag.tasks().collect();
            order.sort_by_key(|t| (ranks[t.index()], *t));
            (Policy::order("list", &order), Some(ranks))
        }
        1 => (Policy::fifo(), None),
        2 => (Policy::lifo(), None),
        3 => (Policy::random(), None),
        4 => (Policy::heft(), None),
        _ => (Policy::peft(), None),
    }
}

/// Known durations, and where the crew has room for them also cores and bytes.
struct Tasks {
    seconds: Vec<f64>,
    cores: Vec<u32>,
    work: Workload,
}

fn tasks(dag: &Dag, crew: &Crew) -> Tasks {
    let n = dag.len();
    let seconds: Vec<f64> = (0..n).map(|i| 0.5 + (i * 37 % 11) as f64 / 7.0).collect();
    let cores: Vec<u32> = match crew.cores {
        1 => vec![1; n],
        _ => (0..n).map(|i| 1 + (i * 5 % 4) as u32).collect(),
    };
    let known: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
    let bytes = (0..dag.arc_count()).map(|i| (i % 3) as f64).collect();
    let work = Workload::known(&known).unwrap();
    let work = work.with_cores(cores.clone()).unwrap();
    Tasks {
        seconds,
        cores,
        work: work.with_bytes(bytes).unwrap(),
    }
}

#[derive(Default)]
struct WorkerLog {
    is_up: bool,
    /// Running copies: task and start.
    running: Vec<(TaskId, f64)>,
}

/// Everything the log tells, rebuilt event by event and held against the laws.
struct Checker<'a> {
    dag: &'a Dag,
    tasks: &'a Tasks,
    setting: &'a Setting,
    ranks: Option<Vec<u32>>,
    workers: Vec<WorkerLog>,
    finished: Vec<bool>,
    /// By task: leases started and neither expired nor over with the task's completion.
    outstanding: Vec<u32>,
    now: f64,
    up_time: f64,
    idle: f64,
    useful: f64,
    wasted: f64,
    peak_open: usize,
    /// Of this instant: who asked, who got.
    asked: Vec<u32>,
    got: Vec<u32>,
    requests: u32,
    stalls: u32,
}

impl<'a> Checker<'a> {
    fn new(dag: &'a Dag, tasks: &'a Tasks, setting: &'a Setting, ranks: Option<Vec<u32>>) -> Self {
        Checker {
            dag,
            tasks,
            setting,
            ranks,
            workers: Vec::new(),
            finished: vec![false; dag.len()],
            outstanding: vec![0; dag.len()],
            now: 0.0,
            up_time: 0.0,
            idle: 0.0,
            useful: 0.0,
            wasted: 0.0,
            peak_open: 0,
            asked: Vec::new(),
            got: Vec::new(),
            requests: 0,
            stalls: 0,
        }
    }

    fn eligible(&self, task: TaskId) -> bool {
        !self.finished[task.index()]
            && self
                .dag
                .parents(task)
                .iter()
                .all(|p| self.finished[p.index()])
    }

    fn unassigned(&self, task: TaskId) -> bool {
        !self.finished[task.index()] && self.outstanding[task.index()] == 0
    }

    fn work_is_left(&self) -> bool {
        self.dag.tasks().any(|t| self.unassigned(t))
    }

    fn cores_in_use(&self, worker: &WorkerLog) -> u32 {
        worker
            .running
            .iter()
            .map(|(t, _)| self.tasks.cores[t.index()])
            .sum()
    }

    /// The end of an instant: what must hold once all workers were served.
    fn close_instant(&mut self) {
        let left = self.work_is_left();
        // A worker asks once an instant, however many of its copies ended.
        self.asked.sort_unstable();
        self.asked.dedup();
        for worker in std::mem::take(&mut self.asked) {
            let got = self.got.contains(&worker);
            let stalled = !got && left && self.workers[worker as usize].is_up;
            self.requests += u32::from(got || stalled);
            self.stalls += u32::from(stalled);
        }
        self.got.clear();
        // Nobody idles beside an eligible task it could take, unless the policy may hold tasks back.
        if self.ranks.is_some() && self.setting.kind == Kind::Pool {
            for worker in self.workers.iter().filter(|w| w.is_up) {
                for task in self
                    .dag
                    .tasks()
                    .filter(|&t| self.eligible(t) && self.unassigned(t))
                {
                    let crew = &self.setting.crew;
                    let cores = self.cores_in_use(worker) + self.tasks.cores[task.index()];
                    let fits = cores <= crew.cores;
                    assert!(!fits, "an idle worker beside {task:?}");
                }
            }
        }
    }

    fn pass_time(&mut self, time: f64) {
        assert!(time >= self.now, "time runs backwards");
        if time > self.now {
            self.close_instant();
            let passed = time - self.now;
            let up = self.workers.iter().filter(|w| w.is_up).count() as f64;
            let cores = up * f64::from(self.setting.crew.cores);
            let busy: u32 = self.workers.iter().map(|w| self.cores_in_use(w)).sum();
            self.up_time += cores * passed;
            if self.work_is_left() {
                self.idle += (cores - f64::from(busy)) * passed;
            }
            self.now = time;
        }
    }

    /// Takes a running copy from a worker: how long it ran, times cores.
    fn take(&mut self, worker: u32, task: TaskId) -> f64 {
        let running = &mut self.workers[worker as usize].running;
        let at = running
            .iter()
            .position(|(t, _)| *t == task)
            .expect("the worker has this copy");
        let (_, start) = running.remove(at);
        (self.now - start) * f64::from(self.tasks.cores[task.index()])
    }

    fn see(&mut self, event: &Event) {
        self.pass_time(event.time);
        let id = event.worker;
        while self.workers.len() <= id as usize {
            let is_up = self.setting.kind != Kind::Pool;
            self.workers.push(WorkerLog {
                is_up,
                running: Vec::new(),
            });
        }
        match event.what {
            What::Up => {
                let worker = &mut self.workers[id as usize];
                assert!(!std::mem::replace(&mut worker.is_up, true));
                assert!(worker.running.is_empty());
                self.asked.push(id);
            }
            What::Down => {
                let worker = &mut self.workers[id as usize];
                assert!(std::mem::replace(&mut worker.is_up, false));
                assert!(
                    worker.running.is_empty(),
                    "a worker goes with a copy that was not lost"
                );
            }
            What::Started(task) => self.see_start(id, task),
            What::Returned(_) => unreachable!("nobody is a volunteer here"),
            What::Finished(task) => {
                let start = self.workers[id as usize]
                    .running
                    .iter()
                    .find(|(t, _)| *t == task)
                    .unwrap()
                    .1;
                if self.setting.crew.speed == Spread::Constant(1.0)
                    && self.setting.crew.link.is_none()
                {
                    let took = self.now - start;
                    assert!((took - self.tasks.seconds[task.index()]).abs() < 1e-9);
                }
                self.useful += self.take(id, task);
                assert!(
                    !std::mem::replace(&mut self.finished[task.index()], true),
                    "{task:?} twice"
                );
                self.asked.push(id);
                let open = self.dag.tasks().filter(|t| self.finished[t.index()]);
                let open = open.filter(|&t| {
                    self.dag
                        .children(t)
                        .iter()
                        .any(|c| !self.finished[c.index()])
                });
                self.peak_open = self.peak_open.max(open.count());
            }
            What::Lost(task) => {
                assert!(self.workers[id as usize].is_up);
                self.wasted += self.take(id, task);
            }
            What::Stopped(task) => {
                assert!(self.finished[task.index()]);
                self.wasted += self.take(id, task);
                self.asked.push(id);
            }
            What::Expired(task) => {
                assert!(!self.finished[task.index()]);
                self.outstanding[task.index()] -= 1;
            }
        }
    }

    fn see_start(&mut self, id: u32, task: TaskId) {
        assert!(
            self.eligible(task),
            "{task:?} starts before its parents end, or after its own end"
        );
        let is_copy = self.outstanding[task.index()] > 0;
        match self.setting.crew.tail {
            Some(tail) if is_copy => {
                assert!(self.outstanding[task.index()] < tail.copies);
                let left = self.finished.iter().filter(|f| !**f).count();
                assert!(left <= tail.tasks as usize);
            }
            _ => assert!(!is_copy, "{task:?} is given out twice"),
        }
        // Batches and pools of one core choose strictly by rank.
        let strict = self.setting.crew.cores == 1;
        if let (Some(ranks), true, false) = (&self.ranks, strict, is_copy) {
            for other in self
                .dag
                .tasks()
                .filter(|&t| self.eligible(t) && self.unassigned(t))
            {
                let key = |t: TaskId| (ranks[t.index()], t);
                // A throttled task was chosen when it was submitted, among those eligible then.
                if !matches!(self.setting.kind, Kind::Throttled { .. }) {
                    assert!(key(task) <= key(other), "{task:?} before {other:?}");
                }
            }
        }
        self.outstanding[task.index()] += 1;
        self.got.push(id);
        self.workers[id as usize].running.push((task, self.now));
        let worker = &self.workers[id as usize];
        assert!(worker.is_up);
        assert!(self.cores_in_use(worker) <= self.setting.crew.cores);
        if let Kind::Throttled { submitted, workers } = self.setting.kind {
            let running: usize = self.workers.iter().map(|w| w.running.len()).sum();
            assert!(running <= submitted.min(workers));
        }
    }

    fn check_end(&self, measures: &Measures) {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        assert!(self.finished.iter().all(|f| *f), "a task was forgotten");
        assert!(
            self.workers.iter().all(|w| w.running.is_empty()),
            "a copy outlives the run"
        );
        assert_eq!(measures.makespan, self.now);
        assert_eq!(measures.peak_open, self.peak_open as f64);
        assert!(
            near(measures.wasted, self.wasted),
            "{measures:?} {}",
            self.wasted
        );
        assert!((0.0..=1.0).contains(&measures.stall));
        assert!(measures.utilisation > 0.0 && measures.utilisation <= 1.0 + 1e-9);
        if self.setting.kind == Kind::Pool {
            assert!(near(measures.idle, self.idle), "{measures:?} {}", self.idle);
            if self.up_time > 0.0 {
                assert!(
                    near(measures.utilisation, self.useful / self.up_time),
                    "{measures:?}"
                );
            }
            let stall = if self.requests > 0 {
                f64::from(self.stalls) / f64::from(self.requests)
            } else {
                0.0
            };
            assert!(
                near(measures.stall, stall),
                "{measures:?} {} {}",
                self.stalls,
                self.requests
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn every_task_is_done_once_after_its_parents(
        dag in any_dag(12), setting in any_setting(), which in 0u8..6, seed in any::<u64>(),
    ) {
        let tasks = tasks(&dag, &setting.crew);
        let (policy, ranks) = any_policy(&dag, which);
        let played = replay(&dag, &tasks.work, &setting.world, &policy, seed, 0).unwrap();
        let mut checker = Checker::new(&dag, &tasks, &setting, ranks);
        for event in &played.events {
            checker.see(event);
        }
        checker.check_end(&played.measures);
    }
}

/// The laws above must not hold for want of trouble: lost, late, stopped and repeated copies all occur.
#[test]
fn a_volatile_pool_has_all_kinds_of_trouble() {
    let dag = cairn_oracle::random_dag(24, 2, 3);
    let setting = pool(PoolSettings {
        workers: 4,
        joins: Some(3.0),
        stay: Some(Spread::Exponential { mean: 20.0 }),
        breaks: Some(Breaks {
            up: Spread::Weibull {
                shape: 0.7,
                scale: 3.0,
            },
            down: Spread::Exponential { mean: 1.0 },
        }),
        crew: Crew {
            speed: Spread::LogNormal {
                median: 1.0,
                sigma: 0.7,
            },
            lease: Some(Lease {
                factor: 1.5,
                at_least: 0.5,
            }),
            tail: Some(Tail {
                tasks: 6,
                copies: 3,
            }),
            ..Crew::default()
        },
    });
    let tasks = tasks(&dag, &setting.crew);
    for which in 0..6 {
        let (policy, _) = any_policy(&dag, which);
        let mut seen = [0; 7];
        for run in 0..20 {
            let played = replay(&dag, &tasks.work, &setting.world, &policy, 1, run).unwrap();
            for event in played.events {
                let kind = match event.what {
                    What::Up => 0,
                    What::Down => 1,
                    What::Started(_) => 2,
                    What::Finished(_) => 3,
                    What::Lost(_) => 4,
                    What::Stopped(_) => 5,
                    What::Expired(_) => 6,
                    What::Returned(_) => unreachable!("nobody is a volunteer here"),
                };
                seen[kind] += 1;
            }
        }
        assert_eq!(seen[3], 20 * dag.len(), "{}", policy.name());
        assert!(
            seen[2] > seen[3] && seen.iter().all(|&s| s > 20),
            "{}: {seen:?}",
            policy.name()
        );
    }
}
