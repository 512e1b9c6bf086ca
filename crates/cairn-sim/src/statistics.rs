//! Means, medians and intervals of runs, single or paired. Knows no simulation.

use std::cmp::Ordering;

/// A range that holds the true value with about 95 % confidence.
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
    /// Where the true mean lies; `None` after a single run and where all runs are equal: neither tells how much
    /// chance there is.
    pub interval: Option<Interval>,
    /// Whether there are several runs and all gave the same.
    pub all_equal: bool,
}

/// What many paired runs say about the ratio of one measure between two policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Mean of the first over mean of the second. Unlike the mean of ratios it cannot favour whichever policy is
    /// named first.
    pub mean: f64,
    /// Median of the ratios of single runs; `None` where the second is zero in some run.
    pub median: Option<f64>,
    /// Where the true ratio of means lies; `None` after a single run and where the ratio is the same in all runs.
    pub interval: Option<Interval>,
    /// Whether there are several runs and the ratio is the same in all.
    pub all_equal: bool,
}

impl Summary {
    /// The interval, or the value itself where all runs gave it; `None` after a single run.
    pub fn ends(&self) -> Option<Interval> {
        ends(self.mean, self.interval, self.all_equal)
    }
}

impl Ratio {
    /// The interval, or the ratio itself where all runs have it; `None` after a single run.
    pub fn ends(&self) -> Option<Interval> {
        ends(self.mean, self.interval, self.all_equal)
    }

    /// Whether the interval leaves no doubt: below 1, above 1, or neither.
    pub fn side(&self) -> Ordering {
        match self.ends() {
            Some(i) if i.high < 1.0 => Ordering::Less,
            Some(i) if i.low > 1.0 => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    /// Half the distance between the ends as a share of the ratio; `None` after a single run.
    pub fn relative_half_width(&self) -> Option<f64> {
        (self.ends()).map(|i| (i.high - i.low) / 2.0 / self.mean)
    }
}

fn ends(mean: f64, interval: Option<Interval>, all_equal: bool) -> Option<Interval> {
    let point = Interval {
        low: mean,
        high: mean,
    };
    interval.or(all_equal.then_some(point))
}

/// Mean, median and interval of `samples`, which must not be empty.
///
/// The interval is that of [`Error::arms`] around the mean.
pub(crate) fn summarise(samples: &[f64]) -> Summary {
    let mean = sum(samples) / samples.len() as f64;
    let error = standard_error(samples.iter().map(|x| x - mean), mean.abs());
    Summary {
        mean,
        median: median(samples.to_vec()),
        interval: error.arms().map(|(below, above)| Interval {
            low: mean - below,
            high: mean + above,
        }),
        all_equal: error.all_equal,
    }
}

/// The ratio of two measures whose samples are paired run by run; `None` if the second is zero in every run.
///
/// The interval is that of [`Error::arms`] around the logarithm of the ratio, with the standard error by the delta method: a
/// run counts by a/mean(a) − b/mean(b), so what both policies owe to the same luck cancels. A logarithm, because ratios
/// are skewed: the interval of a/b is that of b/a turned over.
pub(crate) fn ratio(first: &[f64], second: &[f64]) -> Option<Ratio> {
    let runs = first.len() as f64;
    let [above, below] = [first, second].map(|values| sum(values) / runs);
    // Measures are not negative: a mean of zero is zero in every run.
    if below == 0.0 {
        return None;
    }
    let mean = above / below;
    let single: Vec<f64> = first.iter().zip(second).map(|(a, b)| a / b).collect();
    // The ratio of means stands even where some single ratio does not.
    let all_defined = second.iter().all(|&b| b != 0.0);
    // Where the first is always zero, so is the ratio.
    let deviations = first.iter().zip(second).map(|(a, b)| match above {
        0.0 => 0.0,
        _ => a / above - b / below,
    });
    let error = standard_error(deviations, 1.0);
    Some(Ratio {
        mean,
        median: all_defined.then(|| median(single)),
        // Around the logarithm: a ratio and its inverse then have the same interval, turned over.
        interval: error.arms().map(|(below, above)| Interval {
            low: mean * libm::exp(-below),
            high: mean * libm::exp(above),
        }),
        all_equal: error.all_equal,
    })
}

/// How far the mean of some runs may be from the truth.
struct Error {
    /// The standard error of the mean; zero for a single run.
    standard: f64,
    /// The skewness of single runs; zero for fewer than three.
    skewness: f64,
    runs: usize,
    all_equal: bool,
}

impl Error {
    /// How far the 95 % interval reaches below and above the mean, if there is one: Student's t times the standard error, and
    /// on the side of the longer tail as much more as skewness shifts the distribution of t.
    ///
    /// Rare runs of the longer tail that were not met make mean and standard error too small together, so that Student's
    /// interval misses the truth on that side: where one policy gains much in few runs and nothing in the others, 9 times of
    /// 100 instead of 2.5. The shift is the first term of the Edgeworth expansion turned over (Johnson, "Modified t tests and
    /// confidence intervals for asymmetrical populations", 1978; Hall, "Inverting an Edgeworth expansion", 1983).
    fn arms(&self) -> Option<(f64, f64)> {
        if self.runs < 2 || self.all_equal {
            return None;
        }
        let t = student(self.runs - 1);
        let shift = self.skewness * (2.0 * BELL * BELL + 1.0) / (6.0 * (self.runs as f64).sqrt());
        // The other side is not made shorter, as the expansion has it: the skewness of a few runs is itself chance, and where
        // tails are long on both sides intervals would be too short on either.
        let [below, above] = [-shift, shift].map(|more| (t + more.max(0.0)) * self.standard);
        Some((below, above))
    }
}

/// From the distances of single runs to their mean; `scale` is the size of what was subtracted, to tell rounding from
/// difference.
fn standard_error(deviations: impl Iterator<Item = f64> + Clone, scale: f64) -> Error {
    let runs = deviations.clone().count();
    let squares: f64 = deviations.clone().map(|d| d * d).sum();
    let largest = deviations.clone().map(f64::abs).fold(0.0, f64::max);
    Error {
        // One less than the runs, as the mean was taken from the same runs.
        standard: (squares / (runs.max(2) - 1) as f64 / runs.max(1) as f64).sqrt(),
        skewness: skewness(deviations, squares, runs),
        runs,
        // Rounding leaves some 10⁻¹⁶ of the size of what was subtracted: 10⁻¹² is well above that, and far below any
        // difference worth telling.
        all_equal: runs > 1 && largest <= 1e-12 * scale,
    }
}

/// The skewness of what these few are drawn from: the third moment over the second to 3/2, and more than that, since a few
/// show too little of it (the adjusted coefficient of Fisher and Pearson).
fn skewness(deviations: impl Iterator<Item = f64>, squares: f64, runs: usize) -> f64 {
    if runs < 3 || squares == 0.0 {
        return 0.0;
    }
    let (n, deviation) = (runs as f64, (squares / runs as f64).sqrt());
    // Scaled first: cubes of large numbers would be infinite, of small ones zero.
    let scaled = deviations.map(|d| d / deviation);
    let cubes: f64 = scaled.map(|d| d * d * d).sum();
    cubes / n * (n * (n - 1.0)).sqrt() / (n - 2.0)
}

/// The number that the standard bell curve exceeds in size one time in twenty.
// To the last digit of a double, so that intervals are the same bits everywhere.
const BELL: f64 = 1.959_963_984_540_054;

/// The number that Student's t with so many degrees of freedom exceeds in size one time in twenty.
fn student(freedom: usize) -> f64 {
    // The 97.5 % quantiles of one to nine degrees, as every table has them: the expansion below is no good there.
    const FEW: [f64; 9] = [
        12.706_204_736_432_1,
        4.302_652_729_749_5,
        3.182_446_305_284_3,
        2.776_445_105_197_8,
        2.570_581_835_636_3,
        2.446_911_851_144_9,
        2.364_624_251_010_3,
        2.306_004_135_033_4,
        2.262_157_162_740_9,
    ];
    if let Some(&few) = FEW.get(freedom.max(1) - 1) {
        return few;
    }
    // The expansion around the bell curve (Abramowitz, Stegun 26.7.5), good to six digits from ten degrees on.
    let (z, v) = (BELL, freedom as f64);
    let odd = |coefficients: &[f64]| {
        let powers = coefficients.iter().rev();
        z * powers.fold(0.0, |sum, c| sum * z * z + c)
    };
    z + odd(&[1.0, 1.0]) / (4.0 * v)
        + odd(&[3.0, 16.0, 5.0]) / (96.0 * v.powi(2))
        + odd(&[-15.0, 17.0, 19.0, 3.0]) / (384.0 * v.powi(3))
        + odd(&[-945.0, -1920.0, 1482.0, 776.0, 79.0]) / (92_160.0 * v.powi(4))
}

/// A share of runs, and where its true value lies with 95 % (Wilson 1927): with a share near 0 or 1 the plain interval would
/// leave them. Of no runs it is not a number.
pub(crate) fn share(hits: usize, runs: usize) -> (f64, Interval) {
    let (n, z) = (runs as f64, BELL);
    let share = hits as f64 / n;
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let ends = Interval {
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
    };
    (share, ends)
}

/// The middle one, or the mean of the two in the middle.
///
/// ```
/// assert_eq!(cairn_sim::median(vec![4.0, 1.0, 2.0]), 2.0);
/// assert_eq!(cairn_sim::median(vec![4.0, 1.0]), 2.5);
/// ```
///
/// # Panics
/// If there are none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let (lower, upper) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    // Halved first: the sum of two large ones could be infinite.
    lower / 2.0 + upper / 2.0
}

/// The best and the worst of the ratios, as far as their intervals tell, each with its place: that whose high end is lowest, and
/// that whose low end is highest. `None` where no ratio has ends.
pub fn extremes(ratios: &[Option<Ratio>]) -> Option<((usize, Ratio), (usize, Ratio))> {
    let told = ratios.iter().enumerate().filter_map(|(place, ratio)| {
        let ratio = (*ratio)?;
        Some((ratio.ends()?, (place, ratio)))
    });
    let best = told.clone().min_by(|a, b| a.0.high.total_cmp(&b.0.high))?;
    let worst = told.max_by(|a, b| a.0.low.total_cmp(&b.0.low))?;
    Some((best.1, worst.1))
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;
    use crate::random::{Purpose, Stream};

    /// By the definition: the ends are those true shares from which the share seen is just as far as chance goes.
    #[test]
    fn intervals_of_shares_end_where_chance_ends() {
        for runs in [1usize, 2, 7, 50, 1000] {
            for hits in [0, 1, runs / 3, runs / 2, runs - 1, runs] {
                let (seen, ends) = share(hits, runs);
                assert!(0.0 <= ends.low && ends.low < ends.high && ends.high <= 1.0);
                for end in [ends.low, ends.high] {
                    let chance = BELL * (end * (1.0 - end) / runs as f64).sqrt();
                    // At 0 and 1 nothing is left to chance, but for rounding.
                    let apart = match (seen - end).abs() < 1e-12 {
                        true => end.min(1.0 - end),
                        false => ((seen - end).abs() - chance).abs(),
                    };
                    assert!(apart < 1e-9, "{hits} of {runs}: {ends:?}");
                }
            }
        }
    }

    #[test]
    fn the_best_and_the_worst_are_those_of_which_that_is_sure() {
        let told = |mean: f64, low: f64, high: f64| {
            Some(Ratio {
                mean,
                median: None,
                interval: Some(Interval { low, high }),
                all_equal: false,
            })
        };
        // The second has the lowest mean, and the fourth the highest, of which little is known.
        let all = [
            told(0.9, 0.8, 1.0),
            told(0.7, 0.1, 2.0),
            None,
            told(1.5, 0.5, 4.0),
            told(1.1, 1.0, 1.2),
        ];
        let (best, worst) = extremes(&all).unwrap();
        assert_eq!((best.0, worst.0), (0, 4));
        assert_eq!((Some(best.1), Some(worst.1)), (all[0], all[4]));
        assert_eq!(extremes(&[None]), None);
    }

    fn draws(spread: Spread, count: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, Purpose::Durations, 0);
        (0..count)
            .map(|_| spread.quantile(stream.uniform()))
            .collect()
    }

    #[test]
    fn by_hand() {
        let summary = summarise(&[1.0, 2.0, 6.0, 3.0]);
        assert_eq!((summary.mean, summary.median), (3.0, 2.5));
        // Squares 4 + 1 + 9 + 0; the standard error is the root of 14/3/4, and t of three degrees is 3.182.
        let (t, error) = (3.182_446_305, (14.0f64 / 12.0).sqrt());
        // Cubes -8 - 1 + 27 + 0 over four, over 3.5 to 3/2, times the root of twelve over two. The tail is above.
        let skewness = 18.0 / 4.0 / 3.5f64.powf(1.5) * 12.0f64.sqrt() / 2.0;
        let above = t + skewness * (2.0 * 1.959_963_984_54f64.powi(2) + 1.0) / 12.0;
        let interval = summary.interval.unwrap();
        assert!(
            (interval.low - (3.0 - t * error)).abs() < 1e-8,
            "{interval:?}"
        );
        assert!(
            (interval.high - (3.0 + above * error)).abs() < 1e-8,
            "{interval:?}"
        );
        // Deviations 2/2 - 1/1.5 and 2/2 - 2/1.5: a third up and down, standard error a third.
        let ratio = ratio(&[2.0, 2.0], &[1.0, 2.0]).unwrap();
        let width = 12.706_204_736 / 3.0;
        let interval = ratio.interval.unwrap();
        assert!((ratio.mean - 4.0 / 3.0).abs() < 1e-15);
        assert!((libm::log(interval.high / ratio.mean) - width).abs() < 1e-8);
        assert!((libm::log(ratio.mean / interval.low) - width).abs() < 1e-8);
    }

    /// One run says nothing of chance, and neither do runs that are all equal.
    #[test]
    fn no_interval_after_one_run_or_where_all_runs_are_equal() {
        let one = summarise(&[5.0]);
        assert_eq!((one.mean, one.interval, one.all_equal), (5.0, None, false));
        assert_eq!(one.ends(), None);
        assert_eq!(ratio(&[5.0], &[4.0]).unwrap().ends(), None);
        let point = |x| Some(Interval { low: x, high: x });
        let same = summarise(&[2.1, 2.1, 2.1]);
        assert_eq!((same.interval, same.all_equal), (None, true));
        assert_eq!(same.ends(), point(same.mean));
        let samples = draws(Spread::Exponential { mean: 3.3 }, 101, 5);
        let one = ratio(&samples, &samples).unwrap();
        assert_eq!((one.mean, one.median), (1.0, Some(1.0)));
        assert_eq!((one.interval, one.all_equal), (None, true));
        assert_eq!(
            (one.ends(), one.relative_half_width()),
            (point(1.0), Some(0.0))
        );
        // Three times as long in every run, but for rounding.
        let thrice: Vec<f64> = samples.iter().map(|s| s * 3.3 / 1.1).collect();
        assert!(ratio(&thrice, &samples).unwrap().all_equal);
        let mut other = samples.clone();
        other[7] *= 1.0 + 1e-6;
        assert!(!ratio(&other, &samples).unwrap().all_equal);
    }

    #[test]
    fn zeros_below_the_line_and_above() {
        assert_eq!(ratio(&[1.0, 2.0], &[0.0, 0.0]), None);
        let some = ratio(&[1.0, 2.0], &[0.0, 1.0]).unwrap();
        assert_eq!((some.mean, some.median), (3.0, None));
        let interval = some.interval.unwrap();
        assert!(0.0 < interval.low && interval.high.is_finite(), "{some:?}");
        let none = ratio(&[0.0, 0.0], &[1.0, 2.0]).unwrap();
        assert_eq!((none.mean, none.all_equal), (0.0, true));
        assert!(ratio(&[0.0, 1.0], &[0.0, 1.0]).unwrap().all_equal);
    }

    /// Turning a ratio over turns its interval over.
    #[test]
    fn neither_policy_is_favoured() {
        let (a, b) = (
            draws(Spread::Exponential { mean: 2.0 }, 12, 1),
            draws(Spread::Exponential { mean: 3.0 }, 12, 2),
        );
        let [one, other] = [ratio(&a, &b), ratio(&b, &a)].map(|r| r.unwrap().interval.unwrap());
        assert!((one.low * other.high - 1.0).abs() < 1e-12);
        assert!((one.high * other.low - 1.0).abs() < 1e-12);
    }

    /// The finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4: the chance of staying within t.
    fn chance_within(t: f64, freedom: usize) -> f64 {
        let angle = libm::atan(t / (freedom as f64).sqrt());
        let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
        let mut term = if freedom % 2 == 1 { cosine } else { 1.0 };
        let mut total = if freedom == 1 { 0.0 } else { term };
        let mut k = if freedom % 2 == 1 { 3 } else { 2 };
        while k < freedom {
            term *= cosine * cosine * (k - 1) as f64 / k as f64;
            total += term;
            k += 2;
        }
        if freedom % 2 == 1 {
            2.0 / std::f64::consts::PI * (angle + sine * total)
        } else {
            sine * total
        }
    }

    #[test]
    fn students_t_leaves_out_one_in_twenty() {
        for freedom in 1..500 {
            let within = chance_within(student(freedom), freedom);
            assert!((within - 0.95).abs() < 1e-6, "{freedom}: {within}");
        }
    }
}
