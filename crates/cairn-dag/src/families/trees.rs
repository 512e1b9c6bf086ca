//! Out-trees and reduction-trees: complete ones, and those of a full prefix-closed set of words. Knows no other family.

use super::FamilyError;
use super::draft::{Draft, at_least};
use crate::Dag;

/// The complete out-tree: `height` generations below one root, `arity` children each. Numbered generation by
/// generation.
pub(super) fn out_tree(height: u32, arity: u32) -> Result<Dag, FamilyError> {
    complete(height, arity)?.finish()
}

/// The complete reduction-tree: the dual (\[RY05\] §2.1.2).
pub(super) fn reduction_tree(height: u32, arity: u32) -> Result<Dag, FamilyError> {
    complete(height, arity)?.finish_upside_down()
}

fn complete(height: u32, arity: u32) -> Result<Draft, FamilyError> {
    at_least("arity", 1, arity)?;
    let tasks = if arity == 1 {
        u128::from(height) + 1
    } else {
        let mut tasks = 1u128;
        for _ in 0..height {
            tasks = tasks * u128::from(arity) + 1;
            // Refused below, whatever the exact number; going on would overflow at some height.
            if tasks > u128::from(u32::MAX) {
                break;
            }
        }
        tasks
    };
    let mut draft = Draft::new(tasks, tasks - 1)?;
    for child in 1..tasks as u32 {
        // As in a heap: generation by generation, the children of v are arity·v + 1 and the next.
        draft.arc((child - 1) / arity, child);
    }
    Ok(draft)
}

/// 0–9 and a–z: what Rust, and everybody, takes for digits of the largest base.
const LETTERS: u32 = 36;

/// The reduction-tree of the smallest prefix-closed set that has all of `words` (\[RY05\] §2.1.2): an arc from each word
/// to the word without its last letter. Letters are the first `arity` of 0–9, a–z. Longer words come first.
///
/// # Errors
/// The set must be full: a word that has one continuation by a letter has all.
pub(super) fn prefix_tree(words: &[String], arity: u32) -> Result<Dag, FamilyError> {
    at_least("arity", 1, arity)?;
    if arity > LETTERS {
        return Err(FamilyError::TooManyLetters(arity));
    }
    let mut trie = Trie::new(arity);
    for word in words {
        trie.insert(word)?;
    }
    // Breadth first, so that a parent's number is known when its children get theirs.
    let mut order = vec![Trie::ROOT];
    let mut arcs = Vec::new();
    let mut next = 0;
    while next < order.len() {
        // `next` is the number that the word gets, its place in breadth-first order.
        let node = order[next];
        let children = trie.children(node);
        if children.iter().any(|&child| child != Trie::ABSENT) {
            for (digit, &child) in children.iter().enumerate() {
                if child == Trie::ABSENT {
                    let word = trie.word(node);
                    let missing = format!("{word}{}", letter(digit as u32));
                    return Err(FamilyError::NotFull { word, missing });
                }
                arcs.push((next as u32, order.len() as u32));
                order.push(child);
            }
        }
        next += 1;
    }
    Draft::of(order.len() as u128, arcs)?.finish_upside_down()
}

fn letter(digit: u32) -> char {
    char::from_digit(digit, LETTERS).expect("a letter of the arity")
}

/// A prefix-closed set of words: each word a node, numbered as it comes.
struct Trie {
    arity: usize,
    /// `arity` entries a node.
    child: Vec<usize>,
    /// The word without its last letter, and that letter.
    parent: Vec<(usize, u32)>,
}

impl Trie {
    const ROOT: usize = 0;
    /// The root is nobody's child.
    const ABSENT: usize = 0;

    fn new(arity: u32) -> Trie {
        let arity = arity as usize;
        Trie {
            arity,
            child: vec![Trie::ABSENT; arity],
            parent: vec![(Trie::ROOT, 0)],
        }
    }

    /// Adds a word and all its prefixes.
    fn insert(&mut self, word: &str) -> Result<(), FamilyError> {
        let mut at = Trie::ROOT;
        for letter in word.chars() {
            let digit = letter
                .to_digit(LETTERS)
                .filter(|&d| (d as usize) < self.arity);
            let digit = digit.ok_or_else(|| FamilyError::BadLetter {
                word: word.to_owned(),
                letter,
                arity: self.arity as u32,
            })?;
            let slot = at * self.arity + digit as usize;
            if self.child[slot] == Trie::ABSENT {
                self.child[slot] = self.parent.len();
                self.parent.push((at, digit));
                self.child
                    .resize(self.child.len() + self.arity, Trie::ABSENT);
            }
            at = self.child[slot];
        }
        Ok(())
    }

    fn children(&self, node: usize) -> &[usize] {
        &self.child[node * self.arity..(node + 1) * self.arity]
    }

    fn word(&self, mut node: usize) -> String {
        let mut letters = Vec::new();
        while node != Trie::ROOT {
            let (parent, digit) = self.parent[node];
            letters.push(letter(digit));
            node = parent;
        }
        letters.iter().rev().collect()
    }
}
