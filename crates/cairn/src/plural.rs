//! Numbers with the words they count: `1 task`, `2 tasks`. Knows nothing else.

/// A number and its noun, which takes an s unless there is exactly one.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
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
}
