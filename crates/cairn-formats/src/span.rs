//! Spans of time as people write them: `90`, `90s`, `5m`, `1h30m`. Knows nothing of clocks.

/// Units with their seconds. A bare number counts seconds.
const UNITS: [(&str, f64); 9] = [
    ("ms", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
];

/// What is accepted, for messages.
pub(crate) const FORMS: &str = "seconds such as 90 or 0.5, or a time such as 90s, 5m, 1h30m, 2d";

/// The seconds that a text means: a plain number, or numbers with units, larger units first. Ranges are the caller's to
/// check: a plain number may be negative, and `inf` and `nan` are numbers here.
pub fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    // First, so that `1e3` is a number and no unit is looked for in it.
    if let Ok(seconds) = text.parse::<f64>() {
        return Some(seconds);
    }
    let (mut rest, mut sum, mut last) = (text, 0.0, f64::INFINITY);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        // `30m1h` and `5m5m` are slips more likely than times.
        if seconds >= last {
            return None;
        }
        sum += number.parse::<f64>().ok()? * seconds;
        last = seconds;
        rest = after.trim_start();
    }
    (last < f64::INFINITY).then_some(sum)
}

/// For the command line: seconds, or what would be.
pub fn seconds(text: &str) -> Result<f64, String> {
    parse(text).ok_or_else(|| format!("give {FORMS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit() {
        for (text, seconds) in [
            ("90", 90.0),
            ("0.5", 0.5),
            ("1e3", 1000.0),
            ("-1", -1.0),
            ("90s", 90.0),
            ("5m", 300.0),
            ("5min", 300.0),
            ("1h30m", 5400.0),
            ("1h 30m 5s", 5405.0),
            ("1.5h", 5400.0),
            ("2d", 172_800.0),
            ("250ms", 0.25),
            ("1m250ms", 60.25),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        for text in [
            "", "m", "5x", "5m1h", "5m5m", "1h30", "-5m", "5 5m", "1..5m", "5M",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
