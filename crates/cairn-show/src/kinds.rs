//! Kinds of job as the caller names them, and fewer, more general ones. Knows words, not dags.

use crate::text;
use cairn_kernel::ids;
use std::collections::HashMap;

ids! {
    /// A kind of job.
    pub(crate) KindId,
}

/// A kind for each task.
#[derive(Clone, Debug)]
pub(crate) struct Kinds {
    pub(crate) of: Vec<KindId>,
    pub(crate) names: Vec<String>,
}

impl Kinds {
    /// The caller's kinds; without any, all tasks are of one kind.
    ///
    /// A first word that all kinds of the form `A:B` share says nothing and is left out.
    pub(crate) fn new(tasks: usize, given: &[&str]) -> Kinds {
        if given.is_empty() {
            return Kinds::numbered(&vec!["task"; tasks]);
        }
        let heads = || (given.iter()).filter_map(|kind| Some(kind.split_once(':')?.0));
        let shared = heads()
            .next()
            .filter(|head| heads().all(|other| other == *head));
        let short = |kind: &&str| match (shared, kind.split_once(':')) {
            _ if is_address(kind) => "unnamed".to_owned(),
            (Some(_), Some((_, rest))) if !rest.is_empty() => text::clean(rest),
            _ => text::clean(kind),
        };
        Kinds::numbered(&given.iter().map(short).collect::<Vec<_>>())
    }

    fn numbered<S: AsRef<str>>(kinds: &[S]) -> Kinds {
        let mut numbers: HashMap<&str, KindId> = HashMap::new();
        let mut names = Vec::new();
        let mut of = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let next = KindId::new(numbers.len());
            let found = *numbers.entry(kind.as_ref()).or_insert(next);
            if found == next {
                names.push(kind.as_ref().to_owned());
            }
            of.push(found);
        }
        Kinds { of, names }
    }

    /// What a kind is called.
    pub(crate) fn name(&self, kind: KindId) -> &str {
        &self.names[kind.index()]
    }

    /// How many tasks each kind has.
    pub(crate) fn counts(&self) -> Vec<usize> {
        self.counts_in(&self.of)
    }

    /// How often each kind stands in a list.
    pub(crate) fn counts_in(&self, list: &[KindId]) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        list.iter().for_each(|&kind| counts[kind.index()] += 1);
        counts
    }

    /// The same kinds, generalised as far as needed to be at most `most`, or as far as words allow.
    ///
    /// Kinds of the form `A:B:C` become `A:B`, the longest first. Then the rare ones that look like paths share what
    /// their ends or their beginnings have in common: `…/all`, `bin/…`. Where there are very many still, all rare ones
    /// are "other".
    pub(crate) fn fewer(&self, most: usize) -> Kinds {
        let mut kinds = self.clone();
        loop {
            let depth = |name: &String| name.matches(':').count();
            let deepest = kinds.names.iter().map(depth).max().unwrap_or(0);
            if kinds.names.len() <= most || deepest == 0 {
                break;
            }
            kinds = kinds.renamed(|_, name| match name.rsplit_once(':') {
                Some((head, _)) if depth(name) == deepest => head.to_owned(),
                _ => name.clone(),
            });
        }
        if kinds.names.len() > most {
            // A twentieth of a box's fair share of the tasks: whoever has less would be a crumb in the picture.
            let rare = (kinds.of.len() / (20 * most.max(1))).max(1);
            let counts = kinds.counts();
            let mut ends: HashMap<&str, usize> = HashMap::new();
            for (name, _) in kinds.names.iter().zip(&counts).filter(|(_, c)| **c <= rare) {
                if let Some((_, end)) = name.rsplit_once('/') {
                    *ends.entry(end).or_default() += 1;
                }
            }
            kinds = kinds.renamed(|kind, name| match name.rsplit_once('/') {
                Some((_, end)) if counts[kind] <= rare && ends[end] > 2 => format!("…/{end}"),
                Some((head, _)) if counts[kind] <= rare => {
                    format!(
                        "{}/…",
                        head.split('/').find(|h| !h.is_empty()).unwrap_or("")
                    )
                }
                _ => name.clone(),
            });
            // Up to twice too many are merged by the dag later, which tells more than "other".
            if kinds.names.len() > 2 * most {
                let counts = kinds.counts();
                kinds =
                    kinds.renamed(
                        |kind, name| match counts[kind] <= rare && !name.contains('…') {
                            true => "other".to_owned(),
                            false => name.clone(),
                        },
                    );
            }
        }
        kinds
    }

    /// Only the `most` kinds with the most tasks; all others are "other".
    pub(crate) fn commonest(&self, most: usize) -> Kinds {
        let counts = self.counts();
        let mut by_count: Vec<usize> = (0..counts.len()).collect();
        by_count.sort_by_key(|&kind| (std::cmp::Reverse(counts[kind]), kind));
        let kept: Vec<usize> = by_count.into_iter().take(most).collect();
        self.renamed(|kind, name| match kept.contains(&kind) {
            true => name.clone(),
            false => "other".to_owned(),
        })
    }

    fn renamed(&self, name: impl Fn(usize, &String) -> String) -> Kinds {
        let names: Vec<String> = self
            .names
            .iter()
            .enumerate()
            .map(|(k, n)| name(k, n))
            .collect();
        let general = Kinds::numbered(&names);
        Kinds {
            of: self.of.iter().map(|&k| general.of[k.index()]).collect(),
            names: general.names,
        }
    }
}

/// Whether the word is an address, which names nothing: ninja's nodes without a label have such names.
fn is_address(word: &str) -> bool {
    (word.strip_prefix("0x")).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kinds: &Kinds) -> Vec<&str> {
        kinds.of.iter().map(|&k| kinds.name(k)).collect()
    }

    #[test]
    fn a_shared_first_word_is_left_out_and_long_kinds_are_cut_first() {
        let kinds = Kinds::new(5, &["NF:A:B:C", "NF:A:B:D", "NF:A:E", "NF:F", "map"]);
        assert_eq!(named(&kinds), ["A:B:C", "A:B:D", "A:E", "F", "map"]);
        assert_eq!(named(&kinds.fewer(4)), ["A:B", "A:B", "A:E", "F", "map"]);
        assert_eq!(named(&kinds.fewer(3)), ["A", "A", "A", "F", "map"]);
        assert_eq!(named(&kinds.fewer(1)), ["A", "A", "A", "other", "other"]);
        assert_eq!(named(&Kinds::new(2, &["a:x", "b:y"])), ["a:x", "b:y"]);
    }

    #[test]
    fn rare_paths_share_their_ends_or_their_beginnings() {
        let given = [
            "lib/A/all",
            "lib/B/all",
            "x/all",
            "bin/a",
            "bin/b",
            ".o",
            ".o",
        ];
        let expected = ["…/all", "…/all", "…/all", "bin/…", "bin/…", ".o", ".o"];
        assert_eq!(named(&Kinds::new(7, &given).fewer(3)), expected);
        assert_eq!(
            named(&Kinds::new(7, &given).commonest(1))
                .iter()
                .filter(|k| **k == "other")
                .count(),
            5
        );
    }
}
