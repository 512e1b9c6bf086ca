//! Means, medians and bootstrap intervals of runs, single or paired. Knows no simulation.

use crate::random::{Purpose, Stream};
use rayon::prelude::*;

/// How many resamples a bootstrap interval is made from.
const RESAMPLES: u64 = 2000;

/// A range that holds the true value with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What many runs of one policy say about one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The median: the lower and upper middle averaged if the number of runs is even.
    pub median: f64,
    /// Where the true mean lies; `None` after a single run, which tells nothing of it.
    pub interval: Option<Interval>,
}

/// What many paired runs say about the ratio of one measure between two policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Mean of the first over mean of the second. Unlike the mean of ratios it cannot favour whichever policy is
    /// named first.
    pub mean: f64,
    /// Median of the ratios of single runs; `None` where the second is zero in some run.
    pub median: Option<f64>,
    /// Where the true ratio of means lies; `None` after a single run. The upper end may be infinite where the second
    /// policy's measure is zero in most runs.
    pub interval: Option<Interval>,
}

impl Ratio {
    /// Half the interval's width as a share of the ratio; `None` without an interval.
    pub fn relative_half_width(&self) -> Option<f64> {
        self.interval.map(|i| (i.high - i.low) / 2.0 / self.mean)
    }
}

/// Mean, median and interval of `samples`, which must not be empty.
///
/// The interval is the percentile bootstrap (Efron 1979): the middle 95 % of the means of 2000 resamples with
/// replacement, each from its own stream of `seed`. O(2000 · samples), in parallel, the same for any number of threads.
pub(crate) fn summarise(samples: &[f64], seed: u64) -> Summary {
    let mean = sum(samples) / samples.len() as f64;
    let means = resample(samples.len(), seed, |stream| {
        let total: f64 = (samples.iter())
            .map(|_| samples[stream.below(samples.len())])
            .sum();
        total / samples.len() as f64
    });
    Summary {
        mean,
        median: median(samples.to_vec()),
        interval: middle(means),
    }
}

/// The ratio of two measures whose samples are paired run by run; `None` if the second is zero in every run.
///
/// Every resample draws whole runs, so that what both policies owe to the same luck cancels. Resamples in which both
/// are zero say nothing and are left out.
pub(crate) fn ratio(first: &[f64], second: &[f64], seed: u64) -> Option<Ratio> {
    let runs = first.len();
    let below = sum(second);
    if below == 0.0 {
        return None;
    }
    let ratios = resample(runs, seed, |stream| {
        let (mut above, mut below) = (0.0, 0.0);
        for _ in 0..runs {
            let run = stream.below(runs);
            above += first[run];
            below += second[run];
        }
        above / below
    });
    let single: Vec<f64> = first.iter().zip(second).map(|(a, b)| a / b).collect();
    let all_defined = second.iter().all(|&b| b != 0.0);
    Some(Ratio {
        mean: sum(first) / below,
        median: all_defined.then(|| median(single)),
        interval: middle(ratios),
    })
}

/// One statistic a resample, each drawn from its own stream; none if there is a single run.
fn resample(runs: usize, seed: u64, statistic: impl Fn(&mut Stream) -> f64 + Sync) -> Vec<f64> {
    if runs < 2 {
        return Vec::new();
    }
    (0..RESAMPLES)
        .into_par_iter()
        .map(|resample| statistic(&mut Stream::new(seed, resample, Purpose::Bootstrap, 0)))
        .collect()
}

/// The middle 95 % of what is defined.
fn middle(mut values: Vec<f64>) -> Option<Interval> {
    values.retain(|v| !v.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| values[(share * last as f64).round() as usize];
    Some(Interval {
        low: at(0.025),
        high: at(0.975),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 {
        values[half]
    } else {
        values[half - 1] / 2.0 + values[half] / 2.0
    }
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;

    fn draws(spread: Spread, count: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, Purpose::Durations, 0);
        (0..count)
            .map(|_| spread.quantile(stream.uniform()))
            .collect()
    }

    #[test]
    fn by_hand() {
        let summary = summarise(&[1.0, 2.0, 6.0, 3.0], 1);
        assert_eq!((summary.mean, summary.median), (3.0, 2.5));
        let interval = summary.interval.unwrap();
        assert!(
            1.0 <= interval.low
                && interval.low < 3.0
                && 3.0 < interval.high
                && interval.high <= 6.0
        );
        assert_eq!(
            summarise(&[5.0], 1),
            Summary {
                mean: 5.0,
                median: 5.0,
                interval: None
            }
        );
        let same = summarise(&[2.0, 2.0], 1).interval.unwrap();
        assert_eq!((same.low, same.high), (2.0, 2.0));
    }

    #[test]
    fn a_policy_against_itself_is_one_exactly() {
        let samples = draws(Spread::Exponential { mean: 3.3 }, 101, 5);
        let one = ratio(&samples, &samples, 9).unwrap();
        assert_eq!((one.mean, one.median), (1.0, Some(1.0)));
        assert_eq!(
            one.interval,
            Some(Interval {
                low: 1.0,
                high: 1.0
            })
        );
        assert_eq!(one.relative_half_width(), Some(0.0));
    }

    #[test]
    fn zeros_below_the_line() {
        assert_eq!(ratio(&[1.0, 2.0], &[0.0, 0.0], 1), None);
        let some = ratio(&[1.0, 2.0], &[0.0, 1.0], 1).unwrap();
        assert_eq!((some.mean, some.median), (3.0, None));
        assert_eq!(some.interval.unwrap().high, f64::INFINITY);
        // Resamples of nothing but zeros are left out.
        let zeros = ratio(&[0.0, 1.0], &[0.0, 1.0], 1).unwrap();
        assert_eq!(
            zeros.interval,
            Some(Interval {
                low: 1.0,
                high: 1.0
            })
        );
    }

    /// 95 % intervals of a known mean must miss it about one time in twenty.
    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        let spread = Spread::Normal {
            mean: 1.0,
            deviation: 0.2,
        };
        let (mut held, mut ratios_held) = (0, 0);
        for trial in 0..200 {
            let (a, b) = (
                draws(spread, 60, 2 * trial),
                draws(spread, 60, 2 * trial + 1),
            );
            let interval = summarise(&a, trial).interval.unwrap();
            held += u32::from(interval.low <= 1.0 && 1.0 <= interval.high);
            let paired = ratio(&a, &b, trial).unwrap().interval.unwrap();
            ratios_held += u32::from(paired.low <= 1.0 && 1.0 <= paired.high);
        }
        assert!((176..=199).contains(&held), "{held}");
        assert!((176..=199).contains(&ratios_held), "{ratios_held}");
    }
}
