//! The world of the published study: requests come in batches, and those not served leave. Knows no worker by name.

use crate::clock::Time;
use crate::error::{SettingError, positive};
use crate::measures::{Event, Measures, Results, Stuck, What, share};
use crate::play::Play;
use crate::random::Stream;
use crate::running::Running;
use crate::spread::{Sampler, Spread};

/// Batches of requests arrive with exponential gaps; their sizes are exponential, rounded, and at least one.
///
/// The model of Malewicz, Foster, Rosenberg and Wilde, "A tool for prioritizing DAGMan jobs and its evaluation" (2006).
/// A batch of r requests takes the first r eligible tasks, or those that [`crate::Policy::batched`] chooses, or all if
/// there are fewer; the requests left over go away.
/// Every task given out starts at once and is never lost. The first batch comes one gap after the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batches {
    gap: f64,
    size: f64,
}

impl Batches {
    pub(crate) fn new(gap: f64, size: f64) -> Result<Batches, SettingError> {
        positive("the mean gap between batches", gap)?;
        positive("the mean size of a batch", size)?;
        Ok(Batches { gap, size })
    }

    /// Plays one run. O((tasks + arcs + batches) · log(tasks running at once)).
    pub(crate) fn run(
        &self,
        mut play: Play<'_>,
        mut arrivals: Arrivals,
        running: &mut Running,
        mut log: impl FnMut(Event),
    ) -> Result<Measures, Stuck> {
        let tasks = play.dag.len();
        running.clear();
        play.welcome_fresh();
        let mut batch = Vec::new();
        let mut begun = 0;
        // Since when nothing runs; meaningful while nothing does.
        let mut quiet_since = 0.0;
        let (mut batches, mut stalls, mut requests, mut idle) = (0u64, 0u64, 0u64, 0.0);
        while play.unbegun() > 0 {
            let (now, size) = arrivals.next();
            // All that ends by now first: a batch finds the children of what ended at its own instant eligible.
            quiet_since = complete_until(&mut play, running, Time::new(now), quiet_since, &mut log);
            play.note_event()?;
            batches += 1;
            stalls += u64::from(play.eligible.is_empty());
            // Sizes have no upper limit: a batch may ask for more than can be counted.
            requests = requests.saturating_add(size);
            if running.is_empty() {
                // Up to this batch: should it start nothing, the next one counts on from here.
                idle += now - quiet_since;
                quiet_since = now;
            }
            let served = size.min(play.eligible.len() as u64);
            play.take_batch(served as usize, &mut batch);
            // Only then can nothing ever change: what runs may still free room on the disk.
            if running.is_empty() && batch.is_empty() {
                play.go_on()?;
            }
            for &task in &batch {
                // Every served request is a worker of its own: the study knows no worker that comes twice.
                let worker = begun;
                begun += 1;
                log(Event {
                    time: now,
                    worker,
                    what: What::Started(task),
                });
                let end = Time::new(now + play.durations[task.index()]);
                running.push(end, task, worker);
            }
        }
        // All are given out; what is left is to wait. Requests that come meanwhile are no part of any measure.
        let end = Time::new(f64::INFINITY);
        let makespan = complete_until(&mut play, running, end, quiet_since, &mut log);
        Ok(Measures {
            makespan,
            stall: share(stalls as f64, batches as f64, 0.0),
            utilisation: share(tasks as f64, requests as f64, 1.0),
            idle,
            peak_open: play.peak_open(),
            peak_disk: play.peak_disk(),
            wasted: 0.0,
            worker_time: play.durations.iter().sum(),
            results: Results::default(),
        })
    }
}

/// Completes all that ends by `until`. Returns the time of the last completion, or `last` if there was none.
#[inline]
fn complete_until(
    play: &mut Play<'_>,
    running: &mut Running,
    until: Time,
    mut last: f64,
    log: &mut impl FnMut(Event),
) -> f64 {
    while let Some(instant) = running.next_end().filter(|&end| end <= until) {
        last = instant.seconds();
        while let Some((task, worker)) = running.take_by(instant) {
            play.execute(task);
            log(Event {
                time: last,
                worker,
                what: What::Finished(task),
            });
        }
        play.welcome_fresh();
    }
    last
}

/// The batches of one run, one after the other.
pub(crate) struct Arrivals {
    stream: Stream,
    gap: Sampler,
    size: Sampler,
    now: f64,
}

impl Arrivals {
    pub(crate) fn new(world: &Batches, stream: Stream) -> Arrivals {
        let sampler = |mean| Sampler::new(Spread::Exponential { mean });
        Arrivals {
            stream,
            gap: sampler(world.gap),
            size: sampler(world.size),
            now: 0.0,
        }
    }

    /// The next batch: when it comes, and how many requests it brings.
    #[inline]
    pub(crate) fn next(&mut self) -> (f64, u64) {
        // One stream for both, drawn in turn: the k-th batch of a run comes at the same time with the same size
        // whatever a policy did with those before it.
        self.now += self.gap.sample(&mut self.stream);
        // The cast saturates, so a size beyond all counting stays a large number.
        let size = self.size.sample(&mut self.stream).round().max(1.0);
        (self.now, size as u64)
    }
}
