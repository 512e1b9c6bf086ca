//! Where speeds differ and transfers are heavy, an order alone loses to schedulers that know the workers.

use cairn_dag::Dag;
use cairn_sim::{
    Breaks, Crew, Lease, Link, Measure, Options, Policy, PoolSettings, Spread, World, simulate,
};

/// Ten chains of eight tasks between a fork and a join.
fn chains() -> Dag {
    let mut arcs = Vec::new();
    for chain in 0..10u32 {
        let first = 1 + chain * 8;
        arcs.push((0, first));
        arcs.extend((first..first + 7).map(|i| (i, i + 1)));
        arcs.push((first + 7, 81));
    }
    Dag::from_arcs(82, arcs).unwrap()
}

fn makespan_ratio(settings: PoolSettings, bytes: f64, policy: Policy) -> f64 {
    let dag = chains();
    let work = World::study_work()
        .with_bytes(vec![bytes; dag.arc_count()])
        .unwrap();
    let world = World::pool(settings).unwrap();
    let policies = [policy, Policy::fifo()];
    let options = Options {
        runs: 100,
        ..Options::default()
    };
    let study = simulate(&dag, &work, &world, &policies, &options).unwrap();
    let ratio = study.ratio(0, 1, Measure::Makespan).unwrap();
    let width = ratio.relative_half_width().unwrap();
    assert!(width < 0.1, "{width}");
    ratio.mean
}

fn mixed_speeds() -> Crew {
    Crew {
        speed: Spread::LogNormal {
            median: 1.0,
            sigma: 0.8,
        },
        ..Crew::default()
    }
}

#[test]
fn heft_and_peft_win_where_speeds_differ() {
    let fixed = PoolSettings {
        workers: 5,
        crew: mixed_speeds(),
        ..PoolSettings::default()
    };
    let lease = Some(Lease {
        factor: 20.0,
        at_least: 20.0,
    });
    let breaks = Some(Breaks {
        up: Spread::Exponential { mean: 50.0 },
        down: Spread::Exponential { mean: 5.0 },
    });
    let volatile = PoolSettings {
        breaks,
        crew: Crew {
            lease,
            ..mixed_speeds()
        },
        ..fixed.clone()
    };
    for policy in [Policy::heft(), Policy::peft()] {
        let ratio = makespan_ratio(fixed.clone(), 0.0, policy.clone());
        assert!(ratio < 0.85, "fixed, {}: {ratio}", policy.name());
        let ratio = makespan_ratio(volatile.clone(), 0.0, policy.clone());
        assert!(ratio < 0.95, "volatile, {}: {ratio}", policy.name());
    }
}

#[test]
fn heft_and_peft_win_where_transfers_are_heavy() {
    let link = Some(Link {
        bandwidth: Spread::Constant(1.0),
        latency: Spread::Constant(0.1),
    });
    let fixed = PoolSettings {
        workers: 5,
        crew: Crew {
            link,
            ..Crew::default()
        },
        ..PoolSettings::default()
    };
    // The same, but with four cores a worker: no static schedule, the rule is applied afresh at every instant.
    let wide = PoolSettings {
        crew: Crew {
            link,
            cores: 4,
            ..Crew::default()
        },
        ..fixed.clone()
    };
    for policy in [Policy::heft(), Policy::peft()] {
        let ratio = makespan_ratio(fixed.clone(), 2.0, policy.clone());
        assert!(ratio < 0.8, "fixed, {}: {ratio}", policy.name());
        let ratio = makespan_ratio(wide.clone(), 2.0, policy.clone());
        assert!(ratio < 0.8, "wide, {}: {ratio}", policy.name());
    }
}

/// With one worker there is nothing to choose but the order.
#[test]
fn one_worker_makes_all_equal() {
    let one = PoolSettings {
        crew: mixed_speeds(),
        ..PoolSettings::default()
    };
    for policy in [Policy::heft(), Policy::peft(), Policy::lifo()] {
        let ratio = makespan_ratio(one.clone(), 0.0, policy);
        assert!((ratio - 1.0).abs() < 1e-12);
    }
}
