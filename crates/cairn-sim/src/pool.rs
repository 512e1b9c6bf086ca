//! Settings of a pool of workers that come and go, by chance or by a trace. Knows not how a run is played.

use crate::budgets::MOST_WORKERS;
use crate::error::{SettingError, check, not_negative, positive};
use crate::nature::Natures;
use crate::spread::Spread;
use crate::trace::Trace;
use cairn_dag::wide;

/// A pool whose workers come and go by chance.
///
/// A worker that is up and has room asks for work; those who asked first are served first, whatever their speed. With
/// [`crate::Policy::heft`] and [`crate::Policy::peft`] it is the tasks that choose.
///
/// ```
/// use cairn_sim::{Breaks, Crew, Lease, PoolSettings, Spread, World};
/// let volunteers = World::pool(PoolSettings {
///     workers: 50,
///     breaks: Some(Breaks {
///         up: Spread::Weibull { shape: 0.5, scale: 20.0 },
///         down: Spread::Exponential { mean: 5.0 },
///     }),
///     crew: Crew {
///         speed: Spread::LogNormal { median: 1.0, sigma: 0.5 },
///         lease: Some(Lease { factor: 10.0, at_least: 10.0 }),
///         ..Crew::default()
///     },
///     ..PoolSettings::default()
/// })?;
/// # Ok::<(), cairn_sim::SettingError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PoolSettings {
    /// Workers at the start, each at the beginning of a spell of being up. From 1 to a million; 1 by default.
    pub workers: u32,
    /// Mean time (exponential) between further workers that join; none join by default.
    pub joins: Option<f64>,
    /// How long a worker belongs to the pool before it leaves for good; for ever by default.
    pub stay: Option<Spread>,
    /// How long workers are up and down in turn; always up by default.
    pub breaks: Option<Breaks>,
    /// What the workers are like.
    pub crew: Crew,
}

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        PoolSettings {
            workers: 1,
            joins: None,
            stay: None,
            breaks: None,
            crew: Crew::default(),
        }
    }
}

/// How long a worker is up and down in turn. A worker that goes down loses its tasks and the results it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breaks {
    /// Length of a spell of being up.
    pub up: Spread,
    /// Length of a break.
    pub down: Spread,
}

/// What the workers of a pool are like, and under which terms they get tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Crew {
    /// Work a worker does in a second, drawn for each worker; 1 by default.
    pub speed: Spread,
    /// Cores of every worker; 1 by default. It runs as many tasks at once as their cores allow.
    pub cores: u32,
    /// How long inputs travel; no time by default.
    pub link: Option<Link>,
    /// When a task that was not delivered is given out again; never by default. Needed if workers go away.
    pub lease: Option<Lease>,
    /// Whether idle workers get second copies of the last tasks; by default they do not.
    pub tail: Option<Tail>,
    /// How many lie, vanish or dawdle; none by default.
    pub natures: Natures,
}

impl Default for Crew {
    fn default() -> Crew {
        Crew {
            speed: Spread::Constant(1.0),
            cores: 1,
            link: None,
            lease: None,
            tail: None,
            natures: Natures::default(),
        }
    }
}

/// A worker's connection. Before a task starts, each input that was made elsewhere (or by this worker before its last
/// break) costs the latency plus its bytes over the bandwidth; the worker is occupied meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second, drawn for each worker.
    pub bandwidth: Spread,
    /// Seconds for each input, drawn for each worker; `Spread::Constant(0.0)` for none.
    pub latency: Spread,
}

/// How long a worker may keep a task: `factor` times its expected duration, and no less than `at_least` seconds.
///
/// The server does not see a worker go: only when the lease ends is the task given out again. The result of a slow
/// worker still counts if it comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lease {
    /// Times the expected duration at speed 1.
    pub factor: f64,
    /// The shortest lease, in seconds.
    pub at_least: f64,
}

/// When at most `tasks` are unexecuted and nothing is eligible, an idle worker gets a copy of the running task that has
/// fewest copies, of these the one given out first, up to `copies` at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// How many unexecuted tasks make the tail.
    pub tasks: u32,
    /// The most copies of one task; at least 2.
    pub copies: u32,
}

/// A pool whose settings have been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    pub(crate) attendance: Attendance,
    pub(crate) crew: Crew,
}

/// When workers are there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attendance {
    Chance {
        workers: u32,
        joins: Option<f64>,
        stay: Option<Spread>,
        breaks: Option<Breaks>,
    },
    Trace {
        trace: Trace,
        repeat: bool,
    },
}

impl Pool {
    pub(crate) fn new(settings: PoolSettings) -> Result<Pool, SettingError> {
        let PoolSettings {
            workers,
            joins,
            stay,
            breaks,
            crew,
        } = settings;
        let good = (1..=MOST_WORKERS).contains(&workers);
        check(
            good,
            "the number of workers",
            f64::from(workers),
            "from 1 to a million",
        )?;
        if let Some(gap) = joins {
            positive("the mean time between workers that join", gap)?;
        }
        if let Some(stay) = stay {
            stay.check("the time workers stay")?;
            // All would be gone some day, and a run with tasks left would never end.
            if joins.is_none() {
                return Err(SettingError::NobodyJoins);
            }
        }
        if let Some(breaks) = breaks {
            breaks.up.check("the time workers are up")?;
            breaks.down.check("the time workers are down")?;
        }
        crew.check()?;
        // The server does not see anybody go: without a lease the task of one that left would never be given out
        // again.
        let go_away = stay.is_some() || breaks.is_some() || crew.natures.vanishing > 0.0;
        if go_away && crew.lease.is_none() {
            return Err(SettingError::NoLease);
        }
        Ok(Pool {
            attendance: Attendance::Chance {
                workers,
                joins,
                stay,
                breaks,
            },
            crew,
        })
    }

    pub(crate) fn traced(trace: Trace, repeat: bool, crew: Crew) -> Result<Pool, SettingError> {
        crew.check()?;
        if crew.lease.is_none() {
            return Err(SettingError::NoLease);
        }
        Ok(Pool {
            attendance: Attendance::Trace { trace, repeat },
            crew,
        })
    }

    /// Whether the same workers are there from the start to the end, and no copy is ever given out twice.
    pub(crate) fn is_fixed(&self) -> bool {
        let fixed = matches!(
            self.attendance,
            Attendance::Chance {
                joins: None,
                stay: None,
                breaks: None,
                ..
            }
        );
        // A lease may end before its task, and a tail gives copies: either breaks a schedule that was made
        // beforehand.
        fixed && self.crew.lease.is_none() && self.crew.tail.is_none()
    }

    /// How many workers there are at all, where no others join.
    pub(crate) fn all_workers(&self) -> Option<u32> {
        match &self.attendance {
            Attendance::Chance { joins: Some(_), .. } => None,
            _ => u32::try_from(self.first_workers()).ok(),
        }
    }

    /// How many workers the pool has at its start, present or not.
    pub(crate) fn first_workers(&self) -> usize {
        match &self.attendance {
            Attendance::Chance { workers, .. } => wide(*workers),
            Attendance::Trace { trace, .. } => trace.workers(),
        }
    }
}

impl Crew {
    fn check(&self) -> Result<(), SettingError> {
        self.speed.check("the speed of workers")?;
        check(
            self.cores > 0,
            "the cores of a worker",
            f64::from(self.cores),
            "at least 1",
        )?;
        if let Some(link) = self.link {
            link.bandwidth.check("the bandwidth of workers")?;
            if link.latency != Spread::Constant(0.0) {
                link.latency.check("the latency of workers")?;
            }
        }
        if let Some(lease) = self.lease {
            not_negative("the lease's factor", lease.factor)?;
            positive("the shortest lease", lease.at_least)?;
        }
        if let Some(tail) = self.tail {
            check(
                tail.copies >= 2,
                "the copies of a task in the tail",
                f64::from(tail.copies),
                "at least 2",
            )?;
        }
        self.natures.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut PoolSettings)) -> SettingError {
        let mut settings = PoolSettings::default();
        change(&mut settings);
        Pool::new(settings).unwrap_err()
    }

    #[test]
    fn bad_settings_are_refused() {
        let up = Spread::Exponential { mean: 1.0 };
        let bad = Spread::Exponential { mean: -1.0 };
        let lease = Some(Lease {
            factor: 2.0,
            at_least: 1.0,
        });
        assert!(matches!(
            refused(|p| p.workers = 0),
            SettingError::BadValue { value: 0.0, .. }
        ));
        refused(|p| p.workers = u32::MAX);
        refused(|p| p.joins = Some(0.0));
        assert_eq!(refused(|p| p.stay = Some(up)), SettingError::NobodyJoins);
        assert_eq!(
            refused(|p| (p.stay, p.joins) = (Some(up), Some(1.0))),
            SettingError::NoLease
        );
        assert_eq!(
            refused(|p| p.breaks = Some(Breaks { up, down: up })),
            SettingError::NoLease
        );
        refused(|p| (p.breaks, p.crew.lease) = (Some(Breaks { up: bad, down: up }), lease));
        refused(|p| (p.breaks, p.crew.lease) = (Some(Breaks { up, down: bad }), lease));
        refused(|p| p.crew.speed = Spread::Constant(0.0));
        refused(|p| p.crew.cores = 0);
        refused(|p| {
            p.crew.link = Some(Link {
                bandwidth: bad,
                latency: up,
            })
        });
        refused(|p| {
            p.crew.link = Some(Link {
                bandwidth: up,
                latency: bad,
            })
        });
        refused(|p| {
            p.crew.lease = Some(Lease {
                factor: f64::NAN,
                at_least: 1.0,
            })
        });
        refused(|p| {
            p.crew.lease = Some(Lease {
                factor: 1.0,
                at_least: 0.0,
            })
        });
        refused(|p| {
            p.crew.tail = Some(Tail {
                tasks: 3,
                copies: 1,
            })
        });
        let natures = Natures {
            vanishing: 0.5,
            vanish_within: 1.0,
            ..Natures::default()
        };
        assert_eq!(refused(|p| p.crew.natures = natures), SettingError::NoLease);
        refused(|p| p.crew.natures.liars = 1.5);
        let trace = Trace::parse("a,0,1").unwrap();
        assert_eq!(
            Pool::traced(trace, false, Crew::default()),
            Err(SettingError::NoLease)
        );
    }
}
