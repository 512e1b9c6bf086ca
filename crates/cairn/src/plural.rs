//! Numbers with the words they count: `1 task`, `2 tasks`, `a, b, c and 4 more`, `90 min`. Knows nothing else.

/// A number and its noun, which takes an s unless there is exactly one.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// A time with two digits or so, as people read it at a glance.
pub(crate) fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        // Up to a hundred of a unit: "95 s" and "90 min" need no decimals, "1.6 min" would.
        0..10 => format!("{seconds:.1} s"),
        10..100 => format!("{whole} s"),
        100..6000 => format!("{} min", (seconds / 60.0).round()),
        // Two days: "47.5 h" still tells when today or tomorrow.
        6000..172_800 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

/// The first few of so many.
pub(crate) fn first_few(items: impl Iterator<Item = String>, count: usize) -> String {
    // Chosen by eye: enough to recognise what is meant, and they fit on a line.
    const NAMED: usize = 3;
    let named: Vec<String> = items.take(NAMED).collect();
    match count.saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_plural() {
        assert_eq!(counted(0, "task"), "0 tasks");
        assert_eq!(counted(1, "task"), "1 task");
        assert_eq!(counted(2, "arc"), "2 arcs");
    }

    #[test]
    fn what_is_not_named_is_counted() {
        let few = |count: usize| first_few((0..count).map(|i| i.to_string()), count);
        assert_eq!(few(3), "0, 1, 2");
        assert_eq!(few(5), "0, 1, 2 and 2 more");
    }
}
