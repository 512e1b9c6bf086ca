//! The workers of a pool as HEFT and PEFT see them before a run. Knows no run.

use crate::heft::Platform;
use crate::pool::Pool;
use crate::worker::{Worker, WorkerId};
use cairn_dag::TaskId;

/// Workers as HEFT and PEFT see them before the run.
pub(crate) struct Known<'a> {
    estimates: &'a [f64],
    workers: Vec<Worker>,
    mean_slowness: f64,
    mean_latency: f64,
    mean_per_byte: f64,
}

impl<'a> Known<'a> {
    /// The workers of one run; `estimates` are expected seconds by task at speed 1.
    pub(crate) fn new(pool: &Pool, estimates: &'a [f64], seed: u64, run: u64) -> Known<'a> {
        let workers: Vec<Worker> = (0..pool.first_workers())
            // From the same streams as the workers of the run itself: the plan is made for those who will really be
            // there.
            .map(|number| Worker::new(pool, number, 0.0, seed, run))
            .collect();
        let mean = |value: fn(&Worker) -> f64| {
            workers.iter().map(value).sum::<f64>() / workers.len() as f64
        };
        Known {
            estimates,
            // The mean of times, not the time at the mean speed: the papers average over processors what a task takes
            // there.
            mean_slowness: mean(|w| 1.0 / w.speed),
            mean_latency: mean(|w| w.latency),
            mean_per_byte: mean(|w| 1.0 / w.bandwidth),
            workers,
        }
    }
}

impl Platform for Known<'_> {
    fn workers(&self) -> usize {
        self.workers.len()
    }
    fn time(&self, task: TaskId, worker: WorkerId) -> f64 {
        self.estimates[task.index()] / self.workers[worker.index()].speed
    }
    fn mean_time(&self, task: TaskId) -> f64 {
        self.estimates[task.index()] * self.mean_slowness
    }
    fn transfer(&self, bytes: f64, worker: WorkerId) -> f64 {
        self.workers[worker.index()].transfer(bytes)
    }
    fn mean_transfer(&self, bytes: f64) -> f64 {
        if bytes > 0.0 {
            self.mean_latency + bytes * self.mean_per_byte
        } else {
            0.0
        }
    }
}
