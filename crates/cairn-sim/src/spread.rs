//! Distributions of durations, speeds and up-times, each sampled by its quantile function. Knows no streams' purpose.
//!
//! One uniform number gives one sample, so that streams stay aligned between policies. Logarithms and powers come
//! from a portable library and not from the platform, so that the same seed gives the same bits on every machine.

use crate::error::{SettingError, check, not_negative, positive};
use crate::random::Stream;

/// A distribution of numbers above zero.
///
/// ```
/// use cairn_sim::Spread;
/// assert_eq!(Spread::Constant(2.0).mean(), 2.0);
/// assert_eq!(Spread::Exponential { mean: 3.0 }.mean(), 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Always the same.
    Constant(f64),
    /// Anything between the two, equally likely.
    Uniform {
        /// The least, not below zero.
        low: f64,
        /// The most.
        high: f64,
    },
    /// The bell curve, cut off at zero: only its part above zero, scaled up to a whole.
    Normal {
        /// Centre of the uncut curve, above zero.
        mean: f64,
        /// Standard deviation of the uncut curve.
        deviation: f64,
    },
    /// Memoryless.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Memoryless for shape 1; below 1 old age is safe, as measured up-times of volunteers' machines are.
    Weibull {
        /// The shape.
        shape: f64,
        /// The scale: about 63 % of samples are smaller.
        scale: f64,
    },
    /// e to the power of a bell curve: speeds of machines.
    LogNormal {
        /// Half of the samples are smaller.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Spread {
    /// Refuses parameters outside their range; `what` names the setting in the error.
    pub(crate) fn check(&self, what: &'static str) -> Result<(), SettingError> {
        match *self {
            Spread::Constant(value) => positive(what, value),
            Spread::Uniform { low, high } => {
                not_negative(what, low)?;
                positive(what, high)?;
                check(low <= high, what, high, "at least its lower end")
            }
            Spread::Normal { mean, deviation } => {
                positive(what, mean)?;
                not_negative(what, deviation)
            }
            Spread::Exponential { mean } => positive(what, mean),
            Spread::Weibull { shape, scale } => {
                // The mean overflows below about 1/170.
                check(
                    shape.is_finite() && shape >= 0.05,
                    what,
                    shape,
                    "a Weibull shape of at least 0.05",
                )?;
                positive(what, scale)
            }
            Spread::LogNormal { median, sigma } => {
                positive(what, median)?;
                // The mean is e⁵⁰ medians by then, which nobody meets in any number of runs: a larger one is a mistake.
                check(
                    (0.0..=10.0).contains(&sigma),
                    what,
                    sigma,
                    "a log-normal sigma from 0 to 10",
                )
            }
        }
    }

    /// The mean of the samples.
    pub fn mean(&self) -> f64 {
        match *self {
            Spread::Constant(value) => value,
            Spread::Uniform { low, high } => low + (high - low) / 2.0,
            Spread::Normal { mean, deviation } if deviation > 0.0 => {
                let centre = mean / deviation;
                let density =
                    libm::exp(-centre * centre / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
                mean + deviation * density / (1.0 - below_zero(mean, deviation))
            }
            Spread::Normal { mean, .. } => mean,
            Spread::Exponential { mean } => mean,
            Spread::Weibull { shape, scale } => scale * libm::tgamma(1.0 + 1.0 / shape),
            Spread::LogNormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
        }
    }

    /// The number that a share `u` of all samples stays below, for `u` strictly between 0 and 1. Always above zero.
    pub(crate) fn quantile(&self, u: f64) -> f64 {
        Sampler::new(*self).quantile(u)
    }
}

/// A spread with what every sample needs computed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    spread: Spread,
    /// For the cut bell curve: the share cut off.
    cut: f64,
}

impl Sampler {
    pub(crate) fn new(spread: Spread) -> Sampler {
        // The bell curve is cut at zero, not clamped: a heap of durations of no time would be another distribution.
        let cut = match spread {
            Spread::Normal { mean, deviation } => below_zero(mean, deviation),
            _ => 0.0,
        };
        Sampler { spread, cut }
    }

    #[inline]
    pub(crate) fn sample(&self, stream: &mut Stream) -> f64 {
        self.quantile(stream.uniform())
    }

    #[inline]
    fn quantile(&self, u: f64) -> f64 {
        let value = match self.spread {
            Spread::Constant(value) => value,
            Spread::Uniform { low, high } => low + (high - low) * u,
            Spread::Normal { mean, deviation } => {
                mean + deviation * normal_quantile(self.cut + u * (1.0 - self.cut))
            }
            // log1p, or small numbers would lose their digits.
            Spread::Exponential { mean } => -mean * libm::log1p(-u),
            Spread::Weibull { shape, scale } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Spread::LogNormal { median, sigma } => median * libm::exp(sigma * normal_quantile(u)),
        };
        // Rounding may reach zero or, far out in a tail, infinity.
        value.clamp(f64::MIN_POSITIVE, f64::MAX)
    }
}

/// The share of a bell curve that lies below zero.
fn below_zero(mean: f64, deviation: f64) -> f64 {
    0.5 * libm::erfc(mean / deviation * std::f64::consts::FRAC_1_SQRT_2)
}

/// The quantile of the standard bell curve, for 0 < `u` < 1, to about 1 part in 10¹⁶.
///
/// Wichura's algorithm AS 241 (Applied Statistics 37, 1988): three ratios of polynomials, of which the middle one,
/// used for 85 % of all `u`, needs no logarithm.
fn normal_quantile(u: f64) -> f64 {
    let q = u - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180625 - q * q, &MIDDLE);
    }
    // By symmetry the lower tail will do; its own small number has more digits than one minus it.
    let tail = if q < 0.0 { u } else { 1.0 - u };
    let r = (-libm::log(tail.max(f64::MIN_POSITIVE))).sqrt();
    let value = if r <= 5.0 {
        ratio(r - 1.6, &NEAR)
    } else {
        ratio(r - 5.0, &FAR)
    };
    if q < 0.0 { -value } else { value }
}

/// Numerators and denominators, lowest power first.
type Polynomials = [[f64; 8]; 2];

fn ratio(x: f64, polynomials: &Polynomials) -> f64 {
    let value = |p: &[f64; 8]| p.iter().rev().fold(0.0, |sum, c| sum * x + c);
    value(&polynomials[0]) / value(&polynomials[1])
}

const MIDDLE: Polynomials = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

const NEAR: Polynomials = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const FAR: Polynomials = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn the_bell_curve_inverts_its_own_area() {
        let area = |z: f64| 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2);
        assert_eq!(normal_quantile(0.5), 0.0);
        for i in 1..2000 {
            for u in [f64::from(i) / 2000.0, libm::pow(10.0, -f64::from(i) / 7.0)] {
                let back = area(normal_quantile(u));
                assert!((back - u).abs() <= 1e-12 * u, "{u}: {back}");
            }
        }
    }

    #[test]
    fn samples_have_the_mean_they_promise() {
        for (i, spread) in [
            Spread::Constant(2.5),
            Spread::Uniform {
                low: 1.0,
                high: 4.0,
            },
            Spread::Normal {
                mean: 1.0,
                deviation: 0.1,
            },
            Spread::Normal {
                mean: 1.0,
                deviation: 2.0,
            },
            Spread::Exponential { mean: 3.0 },
            Spread::Weibull {
                shape: 0.7,
                scale: 2.0,
            },
            Spread::Weibull {
                shape: 2.0,
                scale: 2.0,
            },
            Spread::LogNormal {
                median: 1.5,
                sigma: 0.5,
            },
        ]
        .into_iter()
        .enumerate()
        {
            spread.check("a test").unwrap();
            let mut stream = Stream::new(11, 0, Purpose::Durations, i as u64);
            let sampler = Sampler::new(spread);
            let samples: Vec<f64> = (0..40_000).map(|_| sampler.sample(&mut stream)).collect();
            assert!(samples.iter().all(|&s| s > 0.0));
            let mean = samples.iter().sum::<f64>() / samples.len() as f64;
            assert!(
                (mean / spread.mean() - 1.0).abs() < 0.03,
                "{spread:?}: {mean}"
            );
            let median = spread.quantile(0.5);
            let below = samples.iter().filter(|&&s| s < median).count();
            if !matches!(spread, Spread::Constant(_)) {
                assert!((19_000..21_000).contains(&below), "{spread:?}: {below}");
            }
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for bad in [
            Spread::Constant(0.0),
            Spread::Constant(f64::NAN),
            Spread::Uniform {
                low: 2.0,
                high: 1.0,
            },
            Spread::Uniform {
                low: -1.0,
                high: 1.0,
            },
            Spread::Normal {
                mean: 0.0,
                deviation: 1.0,
            },
            Spread::Normal {
                mean: 1.0,
                deviation: -1.0,
            },
            Spread::Exponential { mean: -1.0 },
            Spread::Exponential {
                mean: f64::INFINITY,
            },
            Spread::Weibull {
                shape: 0.0,
                scale: 1.0,
            },
            Spread::Weibull {
                shape: 1.0,
                scale: 0.0,
            },
            Spread::LogNormal {
                median: 1.0,
                sigma: f64::NAN,
            },
            Spread::LogNormal {
                median: 0.0,
                sigma: 1.0,
            },
        ] {
            assert!(bad.check("a test").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn extreme_quantiles_stay_finite_and_above_zero() {
        for spread in [
            Spread::Exponential { mean: 1.0 },
            Spread::Weibull {
                shape: 0.05,
                scale: 1e300,
            },
            Spread::LogNormal {
                median: 1e300,
                sigma: 10.0,
            },
            Spread::Normal {
                mean: 1e-3,
                deviation: 1e3,
            },
        ] {
            for u in [2f64.powi(-53), 0.5, 1.0 - 2f64.powi(-53)] {
                let value = spread.quantile(u);
                assert!(value > 0.0 && value.is_finite(), "{spread:?} {u} {value}");
            }
        }
    }
}
