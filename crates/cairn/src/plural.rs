//! Numbers with the words they count: `1 task`, `2 tasks`, `a, b, c and 4 more`. Knows nothing else.

/// A number and its noun, which takes an s unless there is exactly one.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
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
