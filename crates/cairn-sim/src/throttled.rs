//! A queue beyond our control, and a limit on how much of our work may be in it. Knows no volatile workers.

use crate::clock::Time;
use crate::error::{SettingError, check};
use crate::measures::{Event, Measures, Results, Stuck, What, share};
use crate::play::Play;
use crate::running::Running;
use cairn_dag::wide;
use std::collections::VecDeque;

/// At most `submitted` tasks are queued or running at once; the queue is first in, first out, before `workers` equal
/// and reliable workers.
///
/// The policy chooses what to submit next; what is submitted can no longer be reordered. Workers beyond `submitted`
/// can never be busy and are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    submitted: u32,
    workers: u32,
}

impl Throttled {
    pub(crate) fn new(submitted: u32, workers: u32) -> Result<Throttled, SettingError> {
        let least = |what, n: u32| check(n > 0, what, f64::from(n), "at least 1");
        least("the limit of submitted tasks", submitted)?;
        least("the number of workers", workers)?;
        Ok(Throttled { submitted, workers })
    }

    /// Plays one run. O((tasks + arcs) · log(workers)).
    pub(crate) fn run(
        &self,
        mut play: Play<'_>,
        running: &mut Running,
        mut log: impl FnMut(Event),
    ) -> Result<Measures, Stuck> {
        running.clear();
        // Who can never be busy would count as idle for ever.
        let slots = self.workers.min(self.submitted);
        let mut queue = VecDeque::new();
        let mut free = FreeWorkers::new(slots);
        let mut asking = slots;
        let (mut requests, mut stalls) = (0u64, 0u64);
        let (mut now, mut idle, mut busy) = (0.0, 0.0, 0.0);
        loop {
            play.note_event()?;
            // All ends of an instant are in before anything is submitted: a list sees every task that became eligible
            // then.
            play.welcome_fresh();
            while queue.len() + running.len() < wide(self.submitted) {
                let Some(task) = play.pop() else {
                    break;
                };
                queue.push_back(task);
            }
            while free.count > 0 {
                let Some(task) = queue.pop_front() else { break };
                let worker = free.pop();
                log(Event {
                    time: now,
                    worker,
                    what: What::Started(task),
                });
                let duration = play.durations[task.index()];
                busy += duration;
                running.push(Time::new(now + duration), task, worker);
            }
            // Who has waited longest is served first, so those without work are the ones who ask now.
            let unserved = asking.min(free.count);
            // After the last submission nobody could be served: such requests are no stalls and are not counted.
            requests += u64::from(asking - unserved);
            if play.unbegun() > 0 {
                requests += u64::from(unserved);
                stalls += u64::from(unserved);
            }
            let Some(instant) = running.next_end() else {
                // Nothing runs: either all is done, or what is left does not fit on the disk.
                play.go_on()?;
                break;
            };
            if play.unbegun() > 0 {
                idle += f64::from(free.count) * (instant.seconds() - now);
            }
            now = instant.seconds();
            asking = 0;
            while let Some((task, worker)) = running.take_by(instant) {
                play.execute(task);
                log(Event {
                    time: now,
                    worker,
                    what: What::Finished(task),
                });
                free.push(worker);
                asking += 1;
            }
        }
        Ok(Measures {
            makespan: now,
            stall: share(stalls as f64, requests as f64, 0.0),
            utilisation: share(busy, now * f64::from(slots), 1.0),
            idle,
            peak_open: play.peak_open(),
            peak_disk: play.peak_disk(),
            wasted: 0.0,
            worker_time: now * f64::from(slots),
            results: Results::default(),
        })
    }
}

/// Idle workers, the longest idle first. Those who never worked are only counted.
struct FreeWorkers {
    count: u32,
    // A range, for a queue may have millions of slots that are never used.
    newcomers: std::ops::Range<u32>,
    returned: VecDeque<u32>,
}

impl FreeWorkers {
    fn new(workers: u32) -> FreeWorkers {
        FreeWorkers {
            count: workers,
            newcomers: 0..workers,
            returned: VecDeque::new(),
        }
    }

    fn pop(&mut self) -> u32 {
        self.count -= 1;
        let worker = self.newcomers.next().or_else(|| self.returned.pop_front());
        worker.expect("the count tells how many there are")
    }

    fn push(&mut self, worker: u32) {
        self.count += 1;
        self.returned.push_back(worker);
    }
}
