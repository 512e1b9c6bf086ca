//! Sizes in bytes as people write and read them. Knows nothing of what they measure.

/// Units by name, in lower case, with their bytes. Powers of 1000; those with an i are powers of 1024.
const UNITS: [(&str, u64); 18] = [
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("p", 1_000_000_000_000_000),
    ("pb", 1_000_000_000_000_000),
    ("eb", 1_000_000_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("pib", 1 << 50),
    ("eib", 1 << 60),
];

/// Units for people, smallest first, each a thousand of the one before.
const SHOWN: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

/// The bytes that a text such as `512MB`, `1.5 GiB` or `20B` means; `None` without a unit, or where 64 bits are too few.
pub fn parse(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    let (_, bytes) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    scaled(digits.trim(), bytes)
}

/// The bytes that another system's text such as `4096`, `4GB` or `512 K` means: a bare number counts `unit`, letters
/// stand for powers of 1024, whatever follows them. `None` for anything else, such as an expression.
pub(crate) fn parse_binary(text: &str, unit: u64) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => unit,
        "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        "p" | "pb" | "pib" => 1 << 50,
        _ => return None,
    };
    scaled(digits.trim(), scale)
}

fn scaled(digits: &str, scale: u64) -> Option<u64> {
    // Exact where it can be: what `exact` advises must be read back to the byte.
    if let Ok(whole) = digits.parse::<u64>() {
        // Beyond 64 bits it is no size: wrapped, it would be a small one.
        return whole.checked_mul(scale);
    }
    // A fraction, for which 53 bits will do; neither NaN nor what 64 bits cannot hold is in the range.
    let value = (digits.parse::<f64>().ok()? * scale as f64).round();
    (0.0..9e18).contains(&value).then_some(value as u64)
}

/// A size with three digits, for people: `1.23 MB`.
pub fn words(bytes: u128) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    // 999.5 would be shown as 1000.
    while value >= 999.5 && unit + 1 < SHOWN.len() {
        value /= 1000.0;
        unit += 1;
    }
    // 9.995 is the first that two decimals would show as 10.00: three digits in all.
    let digits = match value {
        _ if unit == 0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let number = format!("{value:.digits$}");
    let number = match digits {
        0 => &number,
        _ => number.trim_end_matches('0').trim_end_matches('.'),
    };
    format!("{number} {}", SHOWN[unit])
}

/// The very same number of bytes, as [`parse`] reads it: in the largest unit that needs at most three decimals, for with more it
/// is whole in a smaller one.
pub fn exact(bytes: u128) -> String {
    // None above: from 2⁵³ bytes on, nine thousand TB, there are no fractions, and whole TB are no longer than whole PB.
    const UPTO: [(&str, u128); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ];
    for (unit, size) in UPTO {
        // Fractions of larger numbers are more than a 64-bit float can hold.
        let thousandth = if bytes < 1 << 53 { size / 1000 } else { size };
        if bytes >= size && bytes.is_multiple_of(thousandth) {
            let number = format!("{}.{:03}", bytes / size, bytes % size * 1000 / size);
            let number = number.trim_end_matches('0').trim_end_matches('.');
            return format!("{number}{unit}");
        }
    }
    format!("{bytes}B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_unit() {
        for (text, bytes) in [
            ("0B", 0),
            ("20b", 20),
            ("1kB", 1000),
            ("1 K", 1000),
            ("1.5MB", 1_500_000),
            ("1.234567MB", 1_234_567),
            ("2GiB", 2 << 30),
            ("0.5KiB", 512),
            ("1e3MB", 1_000_000_000),
            ("1.5PB", 1_500_000_000_000_000),
            ("2EB", 2_000_000_000_000_000_000),
            ("18446744073709551615B", u64::MAX),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        let bad = "40,,B,-1kB,nanB,1QB,kB1,1 k B,18446744073709551616B,99999999999TB,infkB";
        for text in bad.split(',') {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_of_other_systems_count_in_powers_of_1024() {
        for (text, unit, bytes) in [
            ("4096", 1 << 20, Some(4 << 30)),
            ("1.5", 1 << 20, Some(3 << 19)),
            ("4 GB", 1, Some(4 << 30)),
            ("512k", 1, Some(512 << 10)),
            ("7B", 1 << 20, Some(7)),
            ("18446744073709551615", 2, None),
            ("-1", 1, None),
            ("2 * 512", 1, None),
            ("", 1, None),
            ("M", 1, None),
            ("nan", 1, None),
        ] {
            assert_eq!(parse_binary(text, unit), bytes, "{text}");
        }
    }

    #[test]
    fn what_is_advised_is_read_back_exactly() {
        let mut number = 1u64;
        for i in 0..5000u64 {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(i);
            for bytes in [number, number % 1_000_000, number % 10_000 * 1000, i] {
                assert_eq!(parse(&exact(bytes.into())), Some(bytes), "{bytes}");
            }
        }
        assert_eq!(exact(2000), "2kB");
        assert_eq!(exact(2_048), "2.048kB");
        assert_eq!(exact(1_234_567), "1234.567kB");
        assert_eq!(exact(999), "999B");
    }

    #[test]
    fn people_read_three_digits_and_a_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1 kB"),
            (1234, "1.23 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1 MB"),
            (73_400_320, "73.4 MB"),
            (u128::from(u64::MAX), "18.4 EB"),
            (2_500_000_000_000_000_000_000, "2500 EB"),
        ] {
            assert_eq!(words(bytes), text);
        }
    }
}
