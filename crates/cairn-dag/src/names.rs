//! Interned names: one text arena and a table from text to dense number. Knows nothing of tasks or arcs.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Strings by dense number, and back. All text lies in one arena; an entry costs about 18 bytes beside its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) text: Texts,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.text.spans.len()
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        self.text.get(index)
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        let is_it = |&i: &u32| self.text.get(i as usize) == name;
        self.table.find(hash, is_it).copied()
    }

    /// The number of `name`, new or old. `None` when the arena is full.
    pub(crate) fn intern(&mut self, name: &str) -> Option<u32> {
        if let Some(found) = self.find(name) {
            return Some(found);
        }
        let index = u32::try_from(self.len())
            .ok()
            .filter(|&i| i < u32::MAX - 1)?;
        self.text.push(name).then_some(())?;
        let hash = self.hasher.hash_one(name);
        let (text, hasher) = (&self.text, &self.hasher);
        self.table
            .insert_unique(hash, index, |&i| hasher.hash_one(text.get(i as usize)));
        Some(index)
    }

    /// Moves entry `i` to `to[i]`.
    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.text.spans = permuted(&self.text.spans, to);
        for index in self.table.iter_mut() {
            *index = to[*index as usize];
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.heap_bytes() + self.table.allocation_size()
    }
}

/// Strings by dense number in one arena. An entry may be set in any order; an unset one is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    arena: String,
    pub(crate) spans: Vec<(u32, u32)>,
}

impl Texts {
    pub(crate) fn get(&self, index: usize) -> &str {
        let Some(&(start, length)) = self.spans.get(index) else {
            return "";
        };
        &self.arena[start as usize..(start + length) as usize]
    }

    /// Appends an entry; `false` when the arena would pass 4 GiB.
    #[must_use]
    pub(crate) fn push(&mut self, text: &str) -> bool {
        self.set(self.spans.len(), text)
    }

    /// Sets entry `index`, growing the list as needed; `false` when the arena would pass 4 GiB.
    #[must_use]
    pub(crate) fn set(&mut self, index: usize, text: &str) -> bool {
        let Some(end) = self.arena.len().checked_add(text.len()) else {
            return false;
        };
        if end > u32::MAX as usize {
            return false;
        }
        if index >= self.spans.len() {
            self.spans.resize(index + 1, (0, 0));
        }
        self.spans[index] = (self.arena.len() as u32, text.len() as u32);
        self.arena.push_str(text);
        true
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.arena.capacity() + 8 * self.spans.capacity()
    }
}

/// `items` with entry `i` moved to `to[i]`; shorter lists are filled up with defaults first.
pub(crate) fn permuted<T: Copy + Default>(items: &[T], to: &[u32]) -> Vec<T> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut out = vec![T::default(); to.len()];
    for (&target, &item) in to.iter().zip(items) {
        out[target as usize] = item;
    }
    out
}
