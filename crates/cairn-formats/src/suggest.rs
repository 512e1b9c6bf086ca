//! "Did you mean …?" Knows nothing of what the words are for.

/// The candidate most like `word`, if one is like it: few letters changed, added, dropped or swapped.
///
/// Time O(|word| · |candidate|) each, and nothing at all for words of more than 40 letters.
pub(crate) fn closest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let lower = word.to_ascii_lowercase();
    if lower.chars().count() > 40 {
        return None;
    }
    let best = candidates
        .into_iter()
        .min_by_key(|candidate| distance(&lower, candidate))?;
    let most = best.len().div_ceil(3).min(3);
    (distance(&lower, best) <= most).then_some(best)
}

/// Letters to change, add, drop or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
