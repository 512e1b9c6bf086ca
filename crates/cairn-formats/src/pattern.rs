//! Patterns of paths as people write them. Looks at no files.

/// Whether a path matches a pattern: `*` stands for any text, `?` for one character.
pub fn is_match(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), path.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Only the last star is gone back to: no pattern takes more than pattern times path, as recursion would.
    let mut star = None;
    while t < path.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == path[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_of_any_text_or_one_character() {
        for (pattern, path, hit) in [
            ("*.bam", "out/a.bam", true),
            ("*.bam", "a.bam.bai", false),
            ("a?c*", "abcd", true),
            ("a?c", "ac", false),
            ("**x*", "x", true),
            ("", "", true),
            ("", "a", false),
            ("a*b*c", "a-b-b-c", true),
        ] {
            assert_eq!(is_match(pattern, path), hit, "{pattern} {path}");
        }
    }
}
