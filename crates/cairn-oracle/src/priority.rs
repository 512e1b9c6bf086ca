//! The priority relation ▷ between profiles, by its definition. Knows no dag.

/// ▷ by its definition: for all x and y, E1(x) + E2(y) ≤ E1(min(s1, x+y)) + E2(max(0, x+y−s1)). O(s1·s2).
///
/// ```
/// use cairn_oracle::has_priority;
/// assert!(has_priority(&[0, 3], &[0, 1, 3]));
/// assert!(!has_priority(&[0, 3, 5], &[0, 3, 5]));
/// ```
pub fn has_priority(first: &[u32], second: &[u32]) -> bool {
    let s1 = first.len() - 1;
    (0..first.len()).all(|x| {
        (0..second.len()).all(|y| {
            // As many of the x + y sources as the first block has are taken from it, the rest from the second.
            let moved = (x + y).min(s1);
            first[x] + second[y] <= first[moved] + second[x + y - moved]
        })
    })
}
