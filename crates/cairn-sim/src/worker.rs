//! One worker of a pool: its speed, its link, what it runs, and when it comes and goes. Knows no tasks' order.

use crate::leases::LeaseId;
use crate::nature::Nature;
use crate::pool::{Attendance, Pool};
use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use cairn_kernel::ids;

ids! {
    /// A worker of a pool, by number, in the order in which they come.
    pub(crate) WorkerId,
}

/// A worker in one run. All that is random about it comes from a stream of its own.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) speed: f64,
    pub(crate) bandwidth: f64,
    pub(crate) latency: f64,
    pub(crate) is_up: bool,
    /// When it goes down next, if up: infinite if never.
    pub(crate) down_at: f64,
    /// Counts spells of being up: results made in an earlier one are gone.
    pub(crate) spell: u32,
    pub(crate) free_cores: u32,
    /// Leases it works on.
    pub(crate) running: Vec<LeaseId>,
    /// Its place in the queue of workers that want work; 0 if it does not stand there.
    pub(crate) ticket: u64,
    /// Asked for work at this instant.
    pub(crate) asks: bool,
    /// Got work since it asked last.
    pub(crate) got: bool,
    pub(crate) nature: Nature,
    /// When it goes for good, or falls into doing nothing, if it does.
    vanishes: f64,
    presence: Presence,
}

#[derive(Debug)]
enum Presence {
    Chance {
        stream: Stream,
        breaks: Option<(Sampler, Sampler)>,
        arrives: f64,
        leaves: f64,
    },
    /// How many changes of the trace have been told.
    Trace(usize),
}

impl Worker {
    /// The worker of this number, who arrives at `arrives` unless a trace says otherwise.
    pub(crate) fn new(pool: &Pool, number: usize, arrives: f64, seed: u64, run: u64) -> Worker {
        // Speed, link, stay and all spells from one stream, in this order: it is the worker's alone, so nobody can
        // shift it. What is not asked for draws nothing.
        let mut stream = Stream::new(seed, run, Purpose::Worker, number as u64);
        let mut draw = |spread: Spread| Sampler::new(spread).sample(&mut stream);
        let crew = &pool.crew;
        let (nature, after) = (crew.natures).of(number, pool.first_workers(), (seed, run));
        let speed = draw(crew.speed) * nature.speed();
        let (bandwidth, latency) = match crew.link {
            Some(link) => (draw(link.bandwidth), draw(link.latency)),
            None => (f64::INFINITY, 0.0),
        };
        let presence = match pool.attendance {
            Attendance::Chance { stay, breaks, .. } => {
                let leaves = arrives + stay.map_or(f64::INFINITY, draw);
                let breaks = breaks.map(|b| (Sampler::new(b.up), Sampler::new(b.down)));
                Presence::Chance {
                    stream,
                    breaks,
                    arrives,
                    leaves,
                }
            }
            Attendance::Trace { .. } => Presence::Trace(0),
        };
        Worker {
            speed,
            bandwidth,
            latency,
            is_up: false,
            down_at: f64::INFINITY,
            spell: 0,
            free_cores: crew.cores,
            running: Vec::new(),
            ticket: 0,
            asks: false,
            got: false,
            nature,
            vanishes: arrives + after,
            presence,
        }
    }

    /// When the worker comes for the first time.
    pub(crate) fn first_arrival(&mut self, pool: &Pool, number: usize) -> Option<f64> {
        let first = match &self.presence {
            Presence::Chance { arrives, .. } => Some(*arrives),
            Presence::Trace(_) => {
                let first = self.next_of_trace(pool, number);
                // Whoever is recorded comes when it is first there, and vanishes so long after that.
                self.vanishes += first.unwrap_or(0.0);
                first
            }
        };
        first.filter(|&first| first < self.silent_from())
    }

    /// From when on nothing is heard of it any more.
    fn silent_from(&self) -> f64 {
        match self.nature {
            Nature::Silent => self.vanishes,
            _ => f64::INFINITY,
        }
    }

    /// Until when it works on what it has: then it goes, or does nothing any more.
    pub(crate) fn works_until(&self) -> f64 {
        match self.nature {
            Nature::Stuck => self.vanishes.min(self.down_at),
            _ => self.down_at,
        }
    }

    /// Having come up or gone down at `now`: when it will change again, if ever.
    pub(crate) fn next_change(&mut self, pool: &Pool, number: usize, now: f64) -> Option<f64> {
        let planned = self.planned_change(pool, number, now);
        let silent = self.silent_from();
        match self.is_up {
            // It goes when it falls silent at the latest, and being down it does not come back after that.
            true if silent.is_finite() => Some(planned.map_or(silent, |next| next.min(silent))),
            true => planned,
            false => planned.filter(|&next| next < silent),
        }
    }

    fn planned_change(&mut self, pool: &Pool, number: usize, now: f64) -> Option<f64> {
        let is_up = self.is_up;
        match &mut self.presence {
            Presence::Chance {
                stream,
                breaks,
                leaves,
                ..
            } => {
                let spell = match breaks {
                    Some((up, down)) => now + if is_up { up } else { down }.sample(stream),
                    None => f64::INFINITY,
                };
                // Up, it goes down when it leaves at the latest; down, it does not come back after that.
                let next = if is_up { spell.min(*leaves) } else { spell };
                let comes = next.is_finite() && (is_up || next < *leaves);
                comes.then_some(next)
            }
            Presence::Trace(_) => self.next_of_trace(pool, number),
        }
    }

    fn next_of_trace(&mut self, pool: &Pool, number: usize) -> Option<f64> {
        match (&mut self.presence, &pool.attendance) {
            (Presence::Trace(told), Attendance::Trace { trace, repeat }) => {
                *told += 1;
                trace.change(number, *told - 1, *repeat)
            }
            _ => None,
        }
    }

    /// Seconds to bring bytes here from elsewhere.
    #[inline]
    pub(crate) fn transfer(&self, bytes: f64) -> f64 {
        if bytes > 0.0 {
            self.latency + bytes / self.bandwidth
        } else {
            0.0
        }
    }
}
