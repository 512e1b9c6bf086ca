//! Dates and lengths of time as logs write them, in seconds. Knows no clock and no time zone: only differences count.

/// Seconds of `2024-01-31T12:00:00`, also with a blank between, with fractions, and without a year (`01/31 12:00:00`).
pub(super) fn date(text: &str) -> Option<f64> {
    // No zone is looked at: all times of one log are of one clock.
    let (day, time) = text.trim().split_once([' ', 'T'])?;
    let parts: Vec<&str> = day.split(['-', '/']).collect();
    let number = |t: &str| t.parse::<i64>().ok();
    let (year, month, day) = match parts[..] {
        [y, m, d] => (number(y)?, number(m)?, number(d)?),
        // Any leap year will do, so that the end of February is a day.
        [m, d] => (2024, number(m)?, number(d)?),
        _ => return None,
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    Some((days(year, month, day) * 86_400) as f64 + clock(time)?)
}

/// Days since 1970 (Hinnant's algorithm).
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last; five months from there have 153 days.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    // 146,097 days are 400 years; 719,468 lie between the first of March of year 0 and 1970.
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `12:30:05`, `12:30:05.25`.
fn clock(text: &str) -> Option<f64> {
    let text = text.trim_end_matches('Z');
    let parts: Vec<&str> = text.split(':').collect();
    let [h, m, s] = parts[..] else { return None };
    let (h, m, s): (u32, u32, f64) = (h.parse().ok()?, m.parse().ok()?, s.parse().ok()?);
    // A leap second is the 60th; some write midnight as 24:00:00.
    let good = h < 25 && m < 60 && (0.0..61.0).contains(&s);
    good.then(|| f64::from(h) * 3600.0 + f64::from(m) * 60.0 + s)
}

/// Slurm's lengths of time: `[days-]hours:minutes:seconds`, `minutes:seconds`, with fractions.
pub(super) fn elapsed(text: &str) -> Option<f64> {
    let text = text.trim();
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<u32>().ok()?, rest),
        None => (0, text),
    };
    let parts: Vec<&str> = rest.split(':').collect();
    let number = |t: &str| t.parse::<f64>().ok().filter(|n| *n >= 0.0);
    let seconds = match parts[..] {
        [h, m, s] => number(h)? * 3600.0 + number(m)? * 60.0 + number(s)?,
        [m, s] => number(m)? * 60.0 + number(s)?,
        _ => return None,
    };
    Some(f64::from(days) * 86_400.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_lengths() {
        assert_eq!(date("1970-01-02T00:00:01"), Some(86_401.0));
        assert_eq!(date("2024-03-01 00:00:00"), Some(1_709_251_200.0));
        let leap = date("03/01 00:00:00").unwrap() - date("02/29 00:00:00").unwrap();
        assert_eq!(leap, 86_400.0);
        assert_eq!(date("2024-01-01 00:00:00.5").map(|s| s.fract()), Some(0.5));
        for bad in [
            "",
            "2024-01-01",
            "2024-13-01 00:00:00",
            "yesterday 12:00:00",
            "01/01 1:2",
        ] {
            assert_eq!(date(bad), None, "{bad}");
        }
        assert_eq!(elapsed("1-02:03:04"), Some(93_784.0));
        assert_eq!(elapsed("02:03"), Some(123.0));
        assert_eq!(elapsed("00:00:01.250"), Some(1.25));
        for bad in ["", "5", "x:1:2", "1-", "1:2:3:4", "-1:00"] {
            assert_eq!(elapsed(bad), None, "{bad}");
        }
    }

    #[test]
    fn days_follow_each_other() {
        let lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut day = days(2023, 12, 31);
        for (month, length) in lengths.into_iter().enumerate() {
            for of_month in 1..=length {
                day += 1;
                assert_eq!(days(2024, month as i64 + 1, of_month), day);
            }
        }
    }
}
