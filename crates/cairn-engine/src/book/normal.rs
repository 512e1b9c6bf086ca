//! Means of log-normal times that are known to be longer than some. Knows no worker and no task.

/// The mean of a log-normal time of this median and this variance of its logarithm, given that it is longer than `elapsed`.
pub(super) fn mean_beyond(median: f64, variance: f64, elapsed: f64) -> f64 {
    // A deviation below one percent: as good as known, and the quotient below would be of two numbers near 0.
    if variance < 1e-4 {
        return median.max(elapsed);
    }
    let deviation = variance.sqrt();
    if elapsed < 0.2 * median {
        // A judgement, as the half below: with the usual deviations hardly anything ends so soon, so that nothing is learnt
        // from its being out. Where little is known, half a variance would be a wild guess.
        return median * libm::exp(variance.min(0.5) / 2.0);
    }
    let z = libm::log(median / elapsed) / deviation;
    // Five deviations late: `below` is less than a millionth, and the model is wrong rather than the task unlucky. A
    // fourth of a deviation more is a judgement, near what the quotient comes to there.
    if z < -5.0 {
        return elapsed * (1.0 + deviation / 4.0);
    }
    let mean = median * libm::exp(variance / 2.0) * below(z + deviation) / below(z);
    mean.max(elapsed)
}

/// The probability that a standard normal variable is below.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same mean by adding up slices of the distribution.
    fn by_slices(median: f64, variance: f64, elapsed: f64) -> f64 {
        let deviation = variance.sqrt();
        let (mut sum, mut mass) = (0.0, 0.0);
        let slices = 400_000;
        for i in 0..slices {
            let z = -9.0 + 18.0 * (f64::from(i) + 0.5) / f64::from(slices);
            let time = median * (deviation * z).exp();
            if time > elapsed {
                let weight = (-z * z / 2.0).exp();
                sum += weight * time;
                mass += weight;
            }
        }
        sum / mass
    }

    #[test]
    fn means_are_those_of_the_slices() {
        for variance in [0.01, 0.1, 0.5] {
            for elapsed in [0.0, 1.0, 4.0, 9.0, 11.0, 15.0] {
                let (fast, slow) = (
                    mean_beyond(10.0, variance, elapsed),
                    by_slices(10.0, variance, elapsed),
                );
                if elapsed > 10.0 * (4.0 * f64::sqrt(variance)).exp() {
                    continue;
                }
                assert!(
                    (fast / slow - 1.0).abs() < 0.012,
                    "{variance} {elapsed}: {fast} {slow}"
                );
            }
        }
    }

    #[test]
    fn what_has_run_longer_takes_longer() {
        for variance in [0.0, 0.0025, 0.05, 0.3, 1.0, 4.0] {
            let mut last = 0.0;
            for step in 0..4000 {
                let elapsed = f64::from(step) * 0.05;
                let mean = mean_beyond(10.0, variance, elapsed);
                assert!(mean >= elapsed);
                // Where the rule changes (very late, or soon under great doubt) it may step a little.
                assert!(mean >= last * 0.8, "{variance} {elapsed}: {mean} {last}");
                last = mean;
            }
        }
    }
}
