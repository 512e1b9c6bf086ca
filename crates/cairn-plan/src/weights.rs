//! What executing a task costs and what its eligibility is worth, in integers. Knows no dag but the number of tasks.

use cairn_dag::TaskId;

/// The most that all costs, or all rewards, may add up to: so that products of two totals fit in 128 bits.
const LARGEST_TOTAL: u64 = 1 << 59;

/// The largest single cost that durations are scaled to.
// Finer than any clock: of an hour, some nanoseconds. And half a million such tasks still stay below the total.
const LARGEST_SCALED: f64 = (1u64 << 40) as f64;

/// Costs of executing tasks and rewards for making them eligible: ones, unless told otherwise.
///
/// With ones, the hull counts tasks: executed ones across, eligible ones upwards. With durations as costs it says
/// how many tasks can be eligible after so much work; with work as rewards, how much work can be waiting.
///
/// ```
/// use cairn_plan::Weights;
/// let weights = Weights::new(3, Some(vec![5, 0, 2]), None)?;
/// assert_eq!(weights.tasks(), 3);
/// # Ok::<(), cairn_plan::WeightError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    tasks: usize,
    cost: Option<Vec<u64>>,
    reward: Option<Vec<u64>>,
}

/// Why numbers cannot be used as weights.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WeightError {
    /// There must be one weight a task.
    #[error("there are {given} {what} for {tasks} tasks; give one for each")]
    Count {
        /// "costs" or "rewards".
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many there should be.
        tasks: usize,
    },
    /// All weights of one kind together must stay below 2⁵⁹.
    #[error("the {what} add up to more than 2^59; divide all of them by a common number")]
    TooLarge {
        /// "costs" or "rewards".
        what: &'static str,
    },
    /// A duration that is negative, infinite or not a number.
    #[error(
        "task number {} has the duration {seconds}; it must be a finite number of seconds, not below zero",
        task.0
    )]
    BadSeconds {
        /// The task.
        task: TaskId,
        /// Its duration.
        seconds: f64,
    },
}

impl Weights {
    /// Every cost and every reward 1.
    pub fn unit(tasks: usize) -> Weights {
        Weights {
            tasks,
            cost: None,
            reward: None,
        }
    }

    /// The given costs and rewards, one for each task; ones where `None`.
    ///
    /// # Errors
    /// [`WeightError::Count`], [`WeightError::TooLarge`].
    pub fn new(
        tasks: usize,
        cost: Option<Vec<u64>>,
        reward: Option<Vec<u64>>,
    ) -> Result<Weights, WeightError> {
        for (what, given) in [("costs", &cost), ("rewards", &reward)] {
            let Some(given) = given else { continue };
            if given.len() != tasks {
                let given = given.len();
                return Err(WeightError::Count { what, given, tasks });
            }
            // In 128 bits: the numbers may come from a file, and their sum must not wrap before it is refused.
            let total: u128 = given.iter().map(|&w| u128::from(w)).sum();
            if total > u128::from(LARGEST_TOTAL) {
                return Err(WeightError::TooLarge { what });
            }
        }
        Ok(Weights {
            tasks,
            cost,
            reward,
        })
    }

    /// Durations as costs, rewards 1. Returns the weights and how many units of cost make a second.
    ///
    /// Durations are rounded to the nearest unit; a unit is a power of two of a second and less than 2⁻³⁸ of the
    /// longest duration (more only if all durations together would pass the limit on totals).
    ///
    /// # Errors
    /// [`WeightError::Count`], [`WeightError::BadSeconds`].
    pub fn from_seconds(tasks: usize, seconds: &[f64]) -> Result<(Weights, f64), WeightError> {
        if let Some(task) = seconds.iter().position(|s| !s.is_finite() || *s < 0.0) {
            let (task, seconds) = (TaskId::new(task), seconds[task]);
            return Err(WeightError::BadSeconds { task, seconds });
        }
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        let total: f64 = seconds.iter().sum();
        // Half of the limit leaves room for rounding every duration up.
        let room = (LARGEST_TOTAL / 2) as f64;
        let scale = if longest > 0.0 {
            let scale = (LARGEST_SCALED / longest).min(room / total);
            // A power of two scales without rounding; beyond ±1022 it would be no normal float any more.
            2f64.powi(scale.log2().floor().clamp(-1022.0, 1022.0) as i32)
        } else {
            1.0
        };
        let cost = seconds.iter().map(|s| (s * scale).round() as u64).collect();
        Ok((Weights::new(tasks, Some(cost), None)?, scale))
    }

    /// How many tasks these are weights for.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Whether every cost and every reward is 1 because none was given.
    pub(crate) fn is_unit(&self) -> bool {
        self.cost.is_none() && self.reward.is_none()
    }

    /// What executing the task costs.
    #[inline]
    pub(crate) fn cost(&self, task: TaskId) -> u64 {
        self.cost.as_ref().map_or(1, |cost| cost[task.index()])
    }

    /// What the eligibility of the task is worth.
    #[inline]
    pub(crate) fn reward(&self, task: TaskId) -> u64 {
        self.reward
            .as_ref()
            .map_or(1, |reward| reward[task.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_their_proportions() {
        let (weights, scale) = Weights::from_seconds(4, &[0.0, 0.001, 1.5, 3000.0]).unwrap();
        for (task, seconds) in [0.0, 0.001, 1.5, 3000.0].into_iter().enumerate() {
            let back = weights.cost(TaskId::new(task)) as f64 / scale;
            assert!((back - seconds).abs() < 3000.0 / (1u64 << 38) as f64);
        }
        let (weights, scale) = Weights::from_seconds(2, &[0.0, 0.0]).unwrap();
        assert_eq!((weights.cost(TaskId(1)), scale), (0, 1.0));
    }

    #[test]
    fn extreme_durations_never_pass_the_limits() {
        for seconds in [f64::MAX, 1e300, 1e-300, f64::MIN_POSITIVE] {
            assert!(Weights::from_seconds(2, &[seconds, seconds / 2.0]).is_ok());
        }
        let many = vec![1e9; 1 << 20];
        assert!(Weights::from_seconds(1 << 20, &many).is_ok());
    }

    #[test]
    fn bad_weights_are_named() {
        let error = Weights::new(2, Some(vec![1]), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there are 1 costs for 2 tasks; give one for each"
        );
        let error = Weights::new(2, None, Some(vec![u64::MAX, u64::MAX])).unwrap_err();
        assert_eq!(error, WeightError::TooLarge { what: "rewards" });
        for seconds in [-1.0, f64::NAN, f64::INFINITY] {
            let error = Weights::from_seconds(1, &[seconds]).unwrap_err();
            assert!(matches!(
                error,
                WeightError::BadSeconds {
                    task: TaskId(0),
                    ..
                }
            ));
        }
    }
}
