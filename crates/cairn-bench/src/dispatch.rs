//! What learning who is fast is worth: makespans against HEFT that knows everything, and what one request costs.
//! `CAIRN_RUNS` sets the runs (50), `CAIRN_SIGMA` names one spread of speeds.

use crate::measure::timed;
use crate::storage::corpus;
use cairn_dag::{Dag, Flow, TaskId};
use cairn_engine::{
    Copies, Dispatch, Engine, Expected, Frozen, KindId, Memory, Moment, Offer, Order, Outbox,
    Outcome, Placing, Rules, Span, Task, WorkerId, numbered,
};
use cairn_plan::{PlanEffort, Work, plan};
use cairn_sim::{
    Breaks, Crew, Knows, Lease, Measure, Options, Policy, PoolSettings, Ratio, Spread, What,
    Workload, World, replay, simulate,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

// Enough for speeds to spread, few enough for dags to be short of workers. A judgement.
const WORKERS: u32 = 32;

/// Real workflows with recorded durations.
const REAL: [&str; 16] = [
    "wf15-1000genome-",
    "wf15-atacseq-",
    "wf15-bacass-",
    "wf15-blast-",
    "wf15-bwa-",
    "wf15-cycles-",
    "wf15-epigenomics-",
    "wf15-fetchngs-",
    "wf15-mag-",
    "wf15-montage-",
    "wf15-rnaseq-",
    "wf15-seismology-",
    "wf15-soykb-",
    "wf15-srasearch-",
    "dax-CyberShake",
    "dax-Inspiral",
];

/// Prints the cost of a request, then the tables.
pub fn run() {
    request(100_000, 2_000);
    let Some(flows) = corpus() else {
        println!("SKIPPED: no corpus of dags (set CAIRN_CORPUS)");
        return;
    };
    let subjects: Vec<Subject> = (flows.iter())
        .filter_map(|(name, flow)| {
            let start = REAL.iter().find(|start| name.starts_with(**start))?;
            let short = start
                .trim_start_matches("wf15-")
                .trim_start_matches("dax-")
                .trim_end_matches('-');
            Subject::new(short, flow)
        })
        .collect();
    for volatile in [false, true] {
        let one = std::env::var("CAIRN_SIGMA").ok();
        let one = one.and_then(|sigma| sigma.parse::<f64>().ok());
        for sigma in [0.0, 0.3, 0.7, 1.0] {
            if one.is_some_and(|one| one != sigma) {
                continue;
            }
            table(&subjects, sigma, volatile);
        }
    }
}

struct Subject {
    name: String,
    dag: Dag,
    seconds: Vec<f64>,
    kinds: Vec<KindId>,
    order: Vec<TaskId>,
}

impl Subject {
    fn new(name: &str, flow: &Flow) -> Option<Subject> {
        let seconds = flow.imputed_seconds()?;
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let dag = flow.dag().clone();
        let order = plan(&dag, &PlanEffort::default(), &mut Work::unlimited())
            .order
            .clone();
        Some(Subject {
            name: name.to_owned(),
            // Tasks of no time at all are about as long as it takes to start them.
            seconds: seconds.iter().map(|s| s.max(1e-4 * mean)).collect(),
            kinds: numbered(dag.tasks().map(|t| flow.kind(t))),
            order,
            dag,
        })
    }

    /// Workers of unequal speeds, which vanish for a while if `volatile`.
    fn world(&self, sigma: f64, volatile: bool) -> World {
        let mean = self.seconds.iter().sum::<f64>() / self.seconds.len() as f64;
        let share = self.seconds.iter().sum::<f64>() / f64::from(WORKERS);
        let longest = self.seconds.iter().copied().fold(0.0, f64::max);
        let up = share.max(2.0 * longest);
        let speed = match sigma > 0.0 {
            true => Spread::LogNormal { median: 1.0, sigma },
            false => Spread::Constant(1.0),
        };
        World::pool(PoolSettings {
            workers: WORKERS,
            breaks: volatile.then_some(Breaks {
                up: Spread::Exponential { mean: up },
                down: Spread::Exponential { mean: up / 4.0 },
            }),
            crew: Crew {
                speed,
                lease: volatile.then_some(Lease {
                    factor: 3.0,
                    at_least: mean,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        })
        .expect("the settings are in range")
    }

    fn policies(&self) -> Vec<Policy> {
        let knows = Knows {
            kinds: self.kinds.clone(),
            ..Knows::default()
        };
        let aware = |name: &str, knows: Knows| Policy::aware(name, &self.order, knows);
        vec![
            Policy::heft(),
            Policy::peft(),
            Policy::order("plain", &self.order),
            aware("handshake", knows.clone()),
            aware(
                "wrong by 0.5",
                Knows {
                    mistakes: 0.5,
                    ..knows.clone()
                },
            ),
            aware(
                "no handshake",
                Knows {
                    handshake: false,
                    ..knows.clone()
                },
            ),
            aware(
                "no copies",
                Knows {
                    copies: false,
                    ..knows.clone()
                },
            ),
            aware(
                "if uneven",
                Knows {
                    only_where_uneven: true,
                    ..knows.clone()
                },
            ),
            aware(
                "by kind",
                Knows {
                    durations: false,
                    ..knows
                },
            ),
        ]
    }
}

fn table(subjects: &[Subject], sigma: f64, volatile: bool) {
    let runs = (std::env::var("CAIRN_RUNS").ok()).and_then(|r| r.parse().ok());
    let options = Options {
        runs: runs.unwrap_or(50),
        seed: 11,
        ..Options::default()
    };
    let vanish = if volatile { ", workers vanish" } else { "" };
    println!(
        "\n{WORKERS} workers, σ {sigma}{vanish}: makespan over HEFT's, {} runs, 95 % intervals; inversions: share of tasks that \
         a later one overtakes, plain → handshake",
        options.runs
    );
    println!(
        "| dag | tasks | peft | plain | handshake | wrong by 0.5 | no handshake | no copies | if uneven | by kind | handshake / plain | inversions | wasted |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut logs: Vec<Vec<f64>> = Vec::new();
    for subject in subjects {
        let world = subject.world(sigma, volatile);
        let known: Vec<Option<f64>> = subject.seconds.iter().map(|&s| Some(s)).collect();
        let work = Workload::known(&known).expect("durations are in range");
        let policies = subject.policies();
        let study = match simulate(&subject.dag, &work, &world, &policies, &options) {
            Ok(study) => study,
            Err(error) => {
                println!("| {} | {} | {error} |", subject.name, subject.dag.len());
                continue;
            }
        };
        let ratio = |a: usize, b: usize| {
            study
                .ratio(a, b, Measure::Makespan)
                .expect("makespans are above zero")
        };
        let ratios: Vec<Ratio> = (1..policies.len()).map(|p| ratio(p, 0)).collect();
        let cells: Vec<String> = ratios.iter().map(cell).collect();
        let inverted = [2, 3].map(|p| {
            let runs = (0..options.runs.min(5) as u64).map(|run| {
                let replay = replay(&subject.dag, &work, &world, &policies[p], options.seed, run);
                overtaken(&replay.expect("it ended before").events, subject.dag.len())
            });
            runs.sum::<f64>() / options.runs.min(5) as f64
        });
        let busy = study.summary(3, Measure::Wasted).mean;
        let all = study.summary(3, Measure::WorkerTime).mean;
        println!(
            "| {} | {} | {} | {} | {:.0} → {:.0} % | {:.1} % |",
            subject.name,
            subject.dag.len(),
            cells.join(" | "),
            cell(&ratio(3, 2)),
            100.0 * inverted[0],
            100.0 * inverted[1],
            100.0 * busy / all,
        );
        let mut row: Vec<f64> = ratios.iter().map(|r| r.mean.ln()).collect();
        row.push(ratio(3, 2).mean.ln());
        row.push(ratio(5, 2).mean.ln());
        row.push(ratio(7, 2).mean.ln());
        logs.push(row);
    }
    let Some(columns) = logs.first().map(Vec::len) else {
        return;
    };
    let names = [
        "peft",
        "plain",
        "handshake",
        "wrong by 0.5",
        "no handshake",
        "no copies",
        "if uneven",
        "by kind",
        "handshake / plain",
        "no handshake / plain",
        "if uneven / plain",
    ];
    for column in 0..columns {
        let mean = logs.iter().map(|row| row[column]).sum::<f64>() / logs.len() as f64;
        let worst = logs.iter().map(|row| row[column]).fold(f64::MIN, f64::max);
        println!(
            "σ {sigma}{vanish}, {}: geometric mean {:.3}, worst {:.3} of {} dags",
            names[column],
            mean.exp(),
            worst.exp(),
            logs.len()
        );
    }
}

fn cell(ratio: &Ratio) -> String {
    match ratio.interval {
        Some(i) => format!("{:.2} [{:.2}–{:.2}]", ratio.mean, i.low, i.high),
        None => format!("{:.2}", ratio.mean),
    }
}

/// The share of tasks that were first given out before another one that came back sooner.
fn overtaken(events: &[cairn_sim::Event], tasks: usize) -> f64 {
    let mut given = vec![None; tasks];
    let mut next = 0;
    let mut came = Vec::new();
    for event in events {
        match event.what {
            What::Started(task) if given[task.index()].is_none() => {
                given[task.index()] = Some(next);
                next += 1;
            }
            What::Finished(task) => came.extend(given[task.index()]),
            _ => (),
        }
    }
    // Going back in time: who was given out before somebody that came sooner.
    let mut latest = 0;
    let mut count = 0usize;
    for &place in &came {
        count += usize::from(place < latest);
        latest = latest.max(place);
    }
    count as f64 / tasks as f64
}

/// Time of a request and of a return to the engine, with so many eligible tasks and workers.
fn request(eligible: usize, workers: u32) {
    let tasks = eligible + 60_000;
    let dag = Dag::from_arcs(tasks, Vec::new()).expect("no arcs");
    let mut state = 1u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let expected = Expected {
        seconds: (0..tasks).map(|_| Some(60.0 * (0.2 + uniform()))).collect(),
        kind: (0..tasks).map(|t| KindId::new(t % 20)).collect(),
        kinds: (0..20).map(|k| k.to_string()).collect(),
    };
    let speeds: Vec<f64> = (0..workers)
        .map(|_| (1.4 * (uniform() + uniform() + uniform() - 1.5)).exp())
        .collect();
    let rules = Rules {
        silence: Span::EVER,
        copies: Copies::All,
        ..Rules::default()
    };
    let mut engine = Engine::new(Frozen::new(&dag), rules, Order::AsNumbered);
    engine.watch(Memory::default(), Placing::BySpeed, |memory| {
        Dispatch::new(&dag, &expected, memory, std::iter::empty())
    });
    let mut out = Outbox::default();
    engine.open(Moment(0), &mut out);
    for (w, &speed) in speeds.iter().enumerate() {
        let offer = Offer {
            benchmark: Some((1e3 * speed) as u32),
            ..Offer::cpus(1)
        };
        engine.join(Moment(0), &w.to_string(), offer, &mut out);
    }
    let micros = |task: Task, worker: u32| {
        let seconds = expected.seconds[task.0 as usize].unwrap_or(1.0) / speeds[worker as usize];
        (1e6 * seconds) as u64
    };
    let mut ends = BinaryHeap::new();
    let mut stopped = HashSet::new();
    for worker in 0..workers {
        let given = engine.ask(Moment(0), WorkerId(worker), 1, &mut out);
        for g in given.into_iter().flatten() {
            ends.push((Reverse(micros(g.task, worker)), g.task, g.token, worker));
        }
    }
    let (mut asked, mut told) = (Vec::new(), Vec::new());
    while asked.len() < 50_000
        && let Some((Reverse(at), task, token, worker)) = ends.pop()
    {
        if stopped.remove(&(task, token)) {
            continue;
        }
        let now = Moment(at);
        let (_, back) = timed(|| engine.give_back(now, task, token, Outcome::Executed, &mut out));
        told.push(back);
        let mut idle = vec![worker];
        idle.extend(out.kills.drain(..).map(|(worker, task, token)| {
            stopped.insert((task, token));
            worker.0
        }));
        for worker in idle {
            let (given, time) = timed(|| engine.ask(now, WorkerId(worker), 1, &mut out));
            asked.push(time);
            for g in given.into_iter().flatten() {
                let end = at + micros(g.task, worker);
                ends.push((Reverse(end), g.task, g.token, worker));
            }
        }
        out.entries.clear();
    }
    for (what, mut times) in [("a request", asked), ("a return", told)] {
        times.sort_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        println!(
            "{what} with {eligible} eligible tasks or more and {workers} workers: mean {:.1} µs, median {:.1}, 99 % {:.1}, {} times",
            1e6 * mean,
            1e6 * times[times.len() / 2],
            1e6 * times[times.len() * 99 / 100],
            times.len()
        );
    }
}
