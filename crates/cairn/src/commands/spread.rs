//! Distributions and durations as people type them. Knows no world.

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
        other => of_rate(other)
            .map(Durations::Drawn)
            .map_err(|why| format!("{why}, or file, unit, study")),
    }
}

/// Reads a distribution of times; a bare number is the mean of an exponential one.
pub(crate) fn of_time(text: &str) -> Result<Spread, String> {
    parse(text, |mean| Spread::Exponential { mean })
}

/// Reads a distribution of speeds and the like; a bare number is a constant.
pub(crate) fn of_rate(text: &str) -> Result<Spread, String> {
    parse(text, Spread::Constant)
}

/// Ranges are the simulator's to check: here only the form.
fn parse(text: &str, bare: impl Fn(f64) -> Spread) -> Result<Spread, String> {
    const FORMS: &str = "give a number, const:V, uniform:LOW:HIGH, normal:MEAN:DEVIATION, exp:MEAN, \
                         weibull:SHAPE:SCALE or lognormal:MEDIAN:SIGMA";
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or("");
    if let Ok(number) = first.trim().parse::<f64>() {
        return match parts.next() {
            None => Ok(bare(number)),
            Some(_) => Err(FORMS.to_owned()),
        };
    }
    let numbers: Result<Vec<f64>, _> = parts.map(|p| p.trim().parse::<f64>()).collect();
    let numbers = numbers.map_err(|_| FORMS.to_owned())?;
    match (first, &numbers[..]) {
        ("const", &[value]) => Ok(Spread::Constant(value)),
        ("uniform", &[low, high]) => Ok(Spread::Uniform { low, high }),
        ("normal", &[mean, deviation]) => Ok(Spread::Normal { mean, deviation }),
        ("exp", &[mean]) => Ok(Spread::Exponential { mean }),
        ("weibull", &[shape, scale]) => Ok(Spread::Weibull { shape, scale }),
        ("lognormal", &[median, sigma]) => Ok(Spread::LogNormal { median, sigma }),
        _ => Err(FORMS.to_owned()),
    }
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
