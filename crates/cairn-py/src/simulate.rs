//! What orders are worth in a world of workers. Knows no names of tasks.

use crate::dag::{Dag, checked_order, seconds};
use crate::refused;
use crate::work::{beside, limit};
use cairn_sim::{Crew, Interval, Measure, Options, Policy, PoolSettings, Study, World};
use pyo3::prelude::*;

/// A world by its name and two numbers.
fn world(name: &str, first: f64, second: f64) -> PyResult<World> {
    let count = |what: &str, number: f64| match (1.0..=1e6).contains(&number) {
        true => Ok(number as u32),
        false => Err(refused(format!("{what}={number}; give 1 to 1000000"))),
    };
    let made = match name {
        "batches" => World::batches(first, second),
        "pool" => World::pool(PoolSettings {
            workers: count("workers", first)?,
            crew: Crew::default(),
            ..PoolSettings::default()
        }),
        "throttled" => World::throttled(count("submitted", first)?, count("workers", second)?),
        other => {
            return Err(refused(format!(
                "there is no world {other:?}; give batches, pool or throttled"
            )));
        }
    };
    made.map_err(refused)
}

/// Mean, and the ends of its 95 % interval where there is one.
type Mean = (f64, Option<f64>, Option<f64>);

fn mean(mean: f64, ends: Option<Interval>) -> Mean {
    (mean, ends.map(|i| i.low), ends.map(|i| i.high))
}

/// By policy: its makespan, stall and utilisation; by pair with the first one: the ratio of makespans; and the runs made.
type Told = (Vec<[Mean; 3]>, Vec<Option<Mean>>, usize);

fn told(study: &Study, policies: usize) -> Told {
    let by_policy = |p: usize| {
        [Measure::Makespan, Measure::Stall, Measure::Utilisation].map(|measure| {
            let summary = study.summary(p, measure);
            mean(summary.mean, summary.ends())
        })
    };
    let beside = |p: usize| {
        let ratio = study.ratio(0, p, Measure::Makespan)?;
        Some(mean(ratio.mean, ratio.ends()))
    };
    (
        (0..policies).map(by_policy).collect(),
        (0..policies).map(beside).collect(),
        study.runs(),
    )
}

/// Plays orders in a world.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn simulate(
    py: Python<'_>,
    dag: &Dag,
    orders: Vec<(String, Vec<u32>)>,
    world_name: &str,
    numbers: (f64, f64),
    durations: Option<Vec<f64>>,
    runs: usize,
    seed: u64,
    time_limit: Option<f64>,
) -> PyResult<Told> {
    let world = world(world_name, numbers.0, numbers.1)?;
    let time = limit(time_limit)?;
    let takes = match seconds(&dag.dag, durations)? {
        Some(known) => {
            let known: Vec<Option<f64>> = known.into_iter().map(Some).collect();
            cairn_sim::Workload::known(&known).map_err(refused)?
        }
        None => World::study_work(),
    };
    let dag = dag.dag.clone();
    let mut policies = Vec::with_capacity(orders.len());
    for (name, order) in &orders {
        policies.push(Policy::order(name, &checked_order(&dag, order)?));
    }
    beside(py, time, move |work| {
        let options = Options {
            runs,
            seed,
            work: work.unmetered(),
            ..Options::default()
        };
        let study = cairn_sim::simulate(&dag, &takes, &world, &policies, &options);
        Ok(told(&study.map_err(refused)?, policies.len()))
    })
}
