//! The worlds to choose from. Knows their settings only.

use crate::batches::Batches;
use crate::error::SettingError;
use crate::pool::{Crew, Pool, PoolSettings};
use crate::throttled::Throttled;
use crate::trace::Trace;

/// Where workers come from, with settings that have been checked.
///
/// ```
/// use cairn_sim::World;
/// assert!(World::batches(1.0, 16.0).is_ok());
/// let error = World::batches(-1.0, 16.0).unwrap_err();
/// assert_eq!(error.to_string(), "the mean gap between batches is -1; it must be a finite number above zero");
/// assert!(World::throttled(100, 0).is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a study has one world")]
pub enum World {
    /// Requests in batches; those not served leave.
    Batches(Batches),
    /// Workers that come and go.
    Pool(Pool),
    /// A first-in-first-out queue in which only so many tasks may be at once.
    Throttled(Throttled),
}

impl World {
    /// The published study's world: batches with exponential gaps of mean `gap` and exponential sizes of mean `size`,
    /// rounded and at least one. Its durations are [`World::study_work`].
    ///
    /// # Errors
    /// [`SettingError::BadValue`] unless both are finite and above zero.
    pub fn batches(gap: f64, size: f64) -> Result<World, SettingError> {
        Ok(World::Batches(Batches::new(gap, size)?))
    }

    /// At most `submitted` tasks queued or running at once, in a queue beyond our control before `workers` workers.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] if either is zero.
    pub fn throttled(submitted: u32, workers: u32) -> Result<World, SettingError> {
        Ok(World::Throttled(Throttled::new(submitted, workers)?))
    }

    /// A pool of workers that come and go by chance.
    ///
    /// # Errors
    /// [`SettingError`] for numbers out of range, for workers that go away without a lease, or that leave for good
    /// while none join.
    pub fn pool(settings: PoolSettings) -> Result<World, SettingError> {
        Ok(World::Pool(Pool::new(settings)?))
    }

    /// A pool whose workers come and go as recorded; if `repeat`, the record starts over at its end.
    ///
    /// # Errors
    /// [`SettingError`] for numbers out of range or a missing lease.
    pub fn trace(trace: Trace, repeat: bool, crew: Crew) -> Result<World, SettingError> {
        Ok(World::Pool(Pool::traced(trace, repeat, crew)?))
    }

    /// The durations of the published study: Normal(1, 0.1), above zero.
    pub fn study_work() -> crate::Workload {
        let spread = crate::Spread::Normal {
            mean: 1.0,
            deviation: 0.1,
        };
        crate::Workload::drawn(spread).expect("the study's numbers are in range")
    }

    /// What tasks take whose durations are known, or else those of the published study; and the mean ([`mean_time`]).
    ///
    /// # Errors
    /// As [`crate::Workload::known`].
    pub fn work_of(seconds: Option<&[f64]>) -> Result<(crate::Workload, f64), SettingError> {
        let Some(seconds) = seconds else {
            return Ok((World::study_work(), 1.0));
        };
        let known: Vec<Option<f64>> = seconds.iter().copied().map(Some).collect();
        Ok((crate::Workload::known(&known)?, mean_time(seconds)))
    }
}

/// The mean, which is the unit of gaps and leases: 1 where all durations are zero or there are none.
pub fn mean_time(seconds: &[f64]) -> f64 {
    let mean = seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}
