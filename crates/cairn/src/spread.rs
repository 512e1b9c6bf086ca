//! Distributions and durations as people type them. Knows no world.

use cairn_formats::span;
use cairn_sim::Spread;

/// Where the durations of tasks come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Durations {
    /// What the input says.
    File,
    /// One second each.
    Unit,
    /// Normal(1, 0.1), as in the published study.
    Study,
    /// All from one distribution.
    Drawn(Spread),
}

/// Reads `file`, `unit`, `study` or a distribution; a bare number is a constant.
pub(crate) fn durations(text: &str) -> Result<Durations, String> {
    match text {
        "file" => Ok(Durations::File),
        "unit" => Ok(Durations::Unit),
        "study" => Ok(Durations::Study),
        other => of_delay(other)
            .map(Durations::Drawn)
            .map_err(|why| format!("{why}, or file, unit, study")),
    }
}

/// Reads a distribution of times; a bare number is the mean of an exponential one.
pub(crate) fn of_time(text: &str) -> Result<Spread, String> {
    parse(text, span::parse, |mean| Spread::Exponential { mean })
}

/// Reads a distribution of times; a bare number is a constant.
pub(crate) fn of_delay(text: &str) -> Result<Spread, String> {
    parse(text, span::parse, Spread::Constant)
}

/// Reads a distribution of speeds and the like; a bare number is a constant.
pub(crate) fn of_rate(text: &str) -> Result<Spread, String> {
    parse(text, plain, Spread::Constant)
}

fn plain(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Ranges are the simulator's to check: here only the form. `value` reads what is of the kind that is spread; shapes and
/// the like are plain numbers.
fn parse(
    text: &str,
    value: fn(&str) -> Option<f64>,
    bare: fn(f64) -> Spread,
) -> Result<Spread, String> {
    const FORMS: &str = "give a number, const:V, uniform:LOW:HIGH, normal:MEAN:DEVIATION, exp:MEAN, \
                         weibull:SHAPE:SCALE or lognormal:MEDIAN:SIGMA; times may have units, as in exp:5m";
    // Colons, since commas part the values of flags that take several.
    let parts: Vec<&str> = text.split(':').collect();
    let spread = || {
        Some(match parts[..] {
            [number] => bare(value(number)?),
            ["const", v] => Spread::Constant(value(v)?),
            ["uniform", low, high] => Spread::Uniform {
                low: value(low)?,
                high: value(high)?,
            },
            ["normal", mean, deviation] => Spread::Normal {
                mean: value(mean)?,
                deviation: value(deviation)?,
            },
            ["exp", mean] => Spread::Exponential { mean: value(mean)? },
            ["weibull", shape, scale] => Spread::Weibull {
                shape: plain(shape)?,
                scale: value(scale)?,
            },
            ["lognormal", median, sigma] => Spread::LogNormal {
                median: value(median)?,
                sigma: plain(sigma)?,
            },
            _ => return None,
        })
    };
    spread().ok_or_else(|| FORMS.to_owned())
}

/// The distribution in words.
pub(crate) fn words(spread: Spread) -> String {
    match spread {
        Spread::Constant(value) => format!("{value}"),
        Spread::Uniform { low, high } => format!("uniform from {low} to {high}"),
        Spread::Normal { mean, deviation } => format!("Normal({mean}, {deviation})"),
        Spread::Exponential { mean } => format!("exponential of mean {mean}"),
        Spread::Weibull { shape, scale } => format!("Weibull({shape}, {scale})"),
        Spread::LogNormal { median, sigma } => format!("log-normal({median}, {sigma})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_others_are_refused() {
        assert_eq!(of_time("3"), Ok(Spread::Exponential { mean: 3.0 }));
        assert_eq!(of_rate("3"), Ok(Spread::Constant(3.0)));
        assert_eq!(of_time("const:3"), Ok(Spread::Constant(3.0)));
        let weibull = Spread::Weibull {
            shape: 0.5,
            scale: 20.0,
        };
        assert_eq!(of_rate("weibull:0.5:20"), Ok(weibull));
        assert_eq!(durations("unit"), Ok(Durations::Unit));
        assert_eq!(
            durations("uniform:1:2"),
            Ok(Durations::Drawn(Spread::Uniform {
                low: 1.0,
                high: 2.0
            }))
        );
        assert_eq!(of_time("5m"), Ok(Spread::Exponential { mean: 300.0 }));
        assert_eq!(of_delay("5m"), Ok(Spread::Constant(300.0)));
        assert_eq!(
            durations("90s"),
            Ok(Durations::Drawn(Spread::Constant(90.0)))
        );
        let weibull = Spread::Weibull {
            shape: 0.5,
            scale: 5400.0,
        };
        assert_eq!(of_time("weibull:0.5:1h30m"), Ok(weibull));
        assert!(of_rate("5m").is_err());
        assert!(of_time("weibull:5m:1").is_err());
        assert!(of_time("lognormal:1:5m").is_err());
        for bad in [
            "",
            "3:4",
            "exp",
            "exp:1:2",
            "exp:x",
            "gauss:1:2",
            "normal:1",
        ] {
            assert!(of_time(bad).is_err(), "{bad}");
        }
    }
}
