//! How fast the simulator completes tasks. Knows no theory: the order is the topological one.

use crate::measure::timed;
use cairn_dag::Dag;
use cairn_sim::{
    Breaks, Crew, Lease, Measure, Options, Policy, PoolSettings, Spread, World, simulate,
};

/// Layers of `width` tasks, each with up to three parents in the layer before.
fn layered(layers: u32, width: u32) -> Dag {
    let mut arcs = Vec::new();
    for task in width..layers * width {
        let before = (task / width - 1) * width;
        for k in 1..4u32 {
            arcs.push((
                before + task.wrapping_mul(2_654_435_761).rotate_left(9 * k) % width,
                task,
            ));
        }
    }
    Dag::from_arcs((layers * width) as usize, arcs).expect("arcs go down")
}

/// Processor time of this process so far, all threads, in steps of 10 ms; on a busy machine it says more than the
/// clock on the wall. `None` where /proc does not tell.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name in parentheses, user and system time are the 12th and 13th fields, in hundredths.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// Prints completions a second on one core, by world and policy.
pub fn run() {
    let dag = layered(100, 1000);
    let list = Policy::order("list", dag.topological_order());
    println!("{} tasks, {} arcs, one thread", dag.len(), dag.arc_count());
    for (name, world) in [
        ("batches, 100 in flight", World::batches(0.1, 10.0)),
        ("batches, 1000 in flight", World::batches(1.0, 1000.0)),
        ("batches, one at a time", World::batches(0.001, 0.001)),
        ("throttled, 100 workers", World::throttled(200, 100)),
        ("1000 volatile workers", World::pool(pool(1000, true))),
    ] {
        let world = world.expect("the settings are in range");
        for policy in [list.clone(), Policy::fifo()] {
            measure(&dag, name, &world, policy, 20);
        }
    }
    let dag = layered(100, 100);
    println!("{} tasks, {} arcs, one thread", dag.len(), dag.arc_count());
    for (name, settings) in [
        ("100 fixed workers", pool(100, false)),
        ("100 volatile workers", pool(100, true)),
    ] {
        let world = World::pool(settings).expect("the settings are in range");
        for policy in [Policy::fifo(), Policy::heft(), Policy::peft()] {
            measure(&dag, name, &world, policy, 3);
        }
    }
}

fn pool(workers: u32, volatile: bool) -> PoolSettings {
    PoolSettings {
        workers,
        breaks: volatile.then_some(Breaks {
            up: Spread::Weibull {
                shape: 0.7,
                scale: 20.0,
            },
            down: Spread::Exponential { mean: 5.0 },
        }),
        crew: Crew {
            speed: Spread::LogNormal {
                median: 1.0,
                sigma: 0.5,
            },
            lease: volatile.then_some(Lease {
                factor: 10.0,
                at_least: 10.0,
            }),
            ..Crew::default()
        },
        ..PoolSettings::default()
    }
}

fn measure(dag: &Dag, name: &str, world: &World, policy: Policy, runs: usize) {
    let options = Options {
        runs,
        threads: Some(1),
        ..Options::default()
    };
    let policies = [policy];
    let before = processor_seconds();
    let (study, seconds) =
        timed(|| simulate(dag, &World::study_work(), world, &policies, &options));
    let used = before.and_then(|b| Some(processor_seconds()? - b));
    let study = study.expect("every run ends");
    let rate = |seconds: f64| (runs * dag.len()) as f64 / seconds / 1e6;
    println!(
        "{name:24} {:5} {:6.2} million completions a second of processor time, {:.2} of wall time; makespan {:.1}",
        policies[0].name(),
        rate(used.unwrap_or(seconds)),
        rate(seconds),
        study.summary(0, Measure::Makespan).mean,
    );
}
