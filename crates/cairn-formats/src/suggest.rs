//! "Did you mean …?" for a misspelt word. Knows nothing of what the words mean.

/// How many candidates are looked at: spelling help must stay cheap on a million names.
// A judgement between no help in a large workflow and a long wait for each slip.
const MOST_CANDIDATES: usize = 200_000;

/// The candidate that differs least from `word`, if one is close: at most a third of the letters off, case aside.
/// Time O(candidates × length).
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Cost is the square of the length: 64 letters are more than a keyword or a likely misspelling has.
    let letters: Vec<char> = word.chars().map(fold).take(64).collect();
    // More than three letters off is another word, however long.
    let allowed = (letters.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MOST_CANDIDATES) {
        let most = best.map_or(allowed + 1, |(distance, _)| distance);
        // One change is a character, which is four bytes at most: tells most words apart without taking them to letters.
        if candidate.len().abs_diff(word.len()) > 4 * most {
            continue;
        }
        let other: Vec<char> = candidate.chars().map(fold).take(64).collect();
        if other.len().abs_diff(letters.len()) >= most {
            continue;
        }
        let distance = edit_distance(&letters, &other);
        // Strictly, so that of equals the first stays.
        if distance < most {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn fold(c: char) -> char {
    match c.to_ascii_lowercase() {
        '-' => '_',
        c => c,
    }
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replace = above[j] + usize::from(a[i] != b[j]);
            let mut least = replace.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let keywords = ["PARENT", "PRIORITY", "JOB", "RETRY"];
        assert_eq!(closest("PARNET", keywords), Some("PARENT"));
        assert_eq!(closest("priorty", keywords), Some("PRIORITY"));
        assert_eq!(closest("jbo", keywords), Some("JOB"));
        assert_eq!(closest("EXECUTABLE", keywords), None);
        assert_eq!(closest("x", keywords), None);
        assert_eq!(closest("", keywords), None);
    }

    #[test]
    fn distances_by_hand() {
        let distance = |a: &str, b: &str| {
            edit_distance(
                &a.chars().collect::<Vec<_>>(),
                &b.chars().collect::<Vec<_>>(),
            )
        };
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("same", "same"), 0);
    }
}
