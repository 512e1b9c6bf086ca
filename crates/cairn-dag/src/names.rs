//! Interned names: one text arena and a table from text to dense number. Knows nothing of tasks or arcs.

use crate::columns::Column;
use crate::dag::touch;
use crate::{narrow, wide};
use cairn_kernel::NONE;
use hashbrown::DefaultHashBuilder;
use std::hash::BuildHasher;

/// Strings by dense number, and back. All text lies in one arena; an entry costs about 40 bytes beside its text.
///
/// The table is open addressing with linear probing, and a slot holds all that a lookup needs but the text itself:
/// two cache misses, where a table of numbers alone would cost four. Reading millions of arcs is mostly this.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) text: Texts,
    /// A power of two, less than three quarters full; or nothing.
    slots: Vec<Slot>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// Or `NONE`. Not an `Option`: four slots fill a cache line, and reading is mostly looking names up.
    index: u32,
    start: u32,
    length: u32,
}

const FREE: Slot = Slot {
    hash: 0,
    index: NONE,
    start: 0,
    length: 0,
};

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.text.spans.0.len()
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        self.text.get(index)
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.probe(name, self.hash(name)).ok()
    }

    fn hash(&self, name: &str) -> u32 {
        // The high half of a hash is the better mixed one.
        (self.hasher.hash_one(name) >> 32) as u32
    }

    /// The number of `name`, or the slot where it belongs.
    fn probe(&self, name: &str, hash: u32) -> Result<u32, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        // Hash and length first: both are in the slot, the text is another cache miss.
        let is_it = |slot: &Slot| {
            slot.hash == hash
                && wide(slot.length) == name.len()
                && self.text.at(slot.start, slot.length) == name
        };
        let at = self.first(hash, is_it);
        match self.slots[at].index {
            NONE => Err(at),
            index => Ok(index),
        }
    }

    /// Where the first slot is that is free or wanted, of those where a name of this hash may be.
    #[inline]
    fn first(&self, hash: u32, is_wanted: impl Fn(&Slot) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = wide(hash) & mask;
        // A slot is always free, so this ends.
        while self.slots[at].index != NONE && !is_wanted(&self.slots[at]) {
            at = (at + 1) & mask;
        }
        at
    }

    /// The number of `name`, new or old. `None` when the arena is full.
    pub(crate) fn intern(&mut self, name: &str) -> Option<u32> {
        self.intern_hashed(name, self.hash(name))
    }

    fn intern_hashed(&mut self, name: &str, hash: u32) -> Option<u32> {
        let mut at = match self.probe(name, hash) {
            Ok(found) => return Some(found),
            Err(at) => at,
        };
        let index = u32::try_from(self.len())
            .ok()
            // u32::MAX is `NONE`; one more stays free, as in a dag.
            .filter(|&i| i < u32::MAX - 1)?;
        self.text.push(name).then_some(())?;
        if self.len() * 4 > self.slots.len() * 3 {
            // Half full at the most after growing, so that growing costs O(1) a name.
            self.grow((self.len() * 2).next_power_of_two());
            at = self.first(hash, |_| false);
        }
        let (start, length) = self.text.spans.get(wide(index));
        self.slots[at] = Slot {
            hash,
            index,
            start,
            length,
        };
        Some(index)
    }

    /// The numbers of several names, as [`Names::intern`] would give them one by one.
    pub(crate) fn intern_all<'n>(
        &mut self,
        names: impl Iterator<Item = &'n str> + Clone,
        mut take: impl FnMut(Option<u32>),
    ) {
        let mut found = Vec::new();
        self.find_all(names.clone(), |number| found.push(number));
        for (number, name) in found.into_iter().zip(names) {
            take(match number {
                Ok(number) => Some(number),
                // Probes once more: the same name may stand earlier in this batch.
                Err(hash) => self.intern_hashed(name, hash),
            });
        }
    }

    /// The numbers of several names, as [`Names::find`] would give them one by one; of an unknown one its hash.
    ///
    /// One by one, a lookup in a large table waits for memory twice: for the slot, then for the text. Here all slots
    /// are touched before the first is looked at, and then all texts; the touches do not depend on each other, so the
    /// processor has many of them under way at once.
    pub(crate) fn find_all<'n>(
        &self,
        names: impl Iterator<Item = &'n str> + Clone,
        mut take: impl FnMut(Result<u32, u32>),
    ) {
        let hashes: Vec<u32> = names.clone().map(|name| self.hash(name)).collect();
        // Without slots the mask is all ones, and `get` finds nothing.
        let mask = self.slots.len().wrapping_sub(1);
        touch(&hashes, |&hash| {
            let slot = self.slots.get(wide(hash) & mask);
            slot.map_or(0, |s| s.index)
        });
        let likely: Vec<Slot> = hashes.iter().map(|&h| self.first_of_hash(h)).collect();
        touch(&likely, |slot| self.text.byte(slot.start));
        for ((name, hash), slot) in names.zip(hashes).zip(likely) {
            take(match slot.index {
                NONE => Err(hash),
                index if self.text.at(slot.start, slot.length) == name => Ok(index),
                // Another name of equal hash came first: rare with 32 bits, so it may take the slow way.
                _ => self.probe(name, hash).map_err(|_| hash),
            });
        }
    }

    /// The first slot with this hash, or a free one. Looks at slots only, not at texts.
    #[inline]
    fn first_of_hash(&self, hash: u32) -> Slot {
        if self.slots.is_empty() {
            return FREE;
        }
        self.slots[self.first(hash, |slot| slot.hash == hash)]
    }

    /// Makes room for so many names in all.
    pub(crate) fn reserve(&mut self, names: usize) {
        // So many that `intern` does not grow before all are in.
        let slots = (names.saturating_mul(4) / 3 + 1).next_power_of_two();
        if slots > self.slots.len() {
            self.grow(slots);
        }
        let more = names.saturating_sub(self.len());
        self.text.spans.0.reserve(more);
    }

    fn grow(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![FREE; slots]);
        for slot in old {
            if slot.index != NONE {
                let at = self.first(slot.hash, |_| false);
                self.slots[at] = slot;
            }
        }
    }

    /// Moves entry `i` to `to[i]`.
    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.text.permute(to);
        for slot in &mut self.slots {
            if slot.index != NONE {
                slot.index = to[wide(slot.index)];
            }
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.heap_bytes() + size_of::<Slot>() * self.slots.capacity()
    }
}

/// Strings by dense number in one arena. An entry may be set in any order; an unset one is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    arena: String,
    spans: Column<(u32, u32)>,
}

impl Texts {
    pub(crate) fn get(&self, index: usize) -> &str {
        let (start, length) = self.spans.get(index);
        self.at(start, length)
    }

    #[inline]
    fn at(&self, start: u32, length: u32) -> &str {
        &self.arena[wide(start)..wide(start) + wide(length)]
    }

    fn byte(&self, at: u32) -> u32 {
        u32::from(self.arena.as_bytes().get(wide(at)).copied().unwrap_or(0))
    }

    /// Appends an entry; `false` when the arena would pass 4 GiB.
    #[must_use]
    pub(crate) fn push(&mut self, text: &str) -> bool {
        self.set(self.spans.0.len(), text)
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
        *self.spans.slot(index) = (narrow(self.arena.len()), narrow(text.len()));
        self.arena.push_str(text);
        true
    }

    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.spans.permute(to);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.arena.capacity() + self.spans.heap_bytes()
    }
}

/// A text for each of some tasks, where many have the same: it is kept once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    texts: Names,
    /// By task: one more than the number of its text, or 0.
    of: Column<u32>,
}

impl Shared {
    pub(crate) fn get(&self, index: usize) -> Option<&str> {
        let text = self.of.get(index).checked_sub(1)?;
        Some(self.texts.get(wide(text)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.0.is_empty()
    }

    /// Sets entry `index`; `false` when the arena would pass 4 GiB.
    #[must_use]
    pub(crate) fn set(&mut self, index: usize, text: &str) -> bool {
        let Some(text) = self.texts.intern(text) else {
            return false;
        };
        *self.of.slot(index) = text + 1;
        true
    }

    pub(crate) fn permute(&mut self, to: &[u32]) {
        self.of.permute(to);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.texts.heap_bytes() + self.of.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn numbers_as_a_hash_map_would(
            words in proptest::collection::vec("[ab]{0,6}|.{0,3}", 0..400),
            room in 0usize..100,
        ) {
            let mut names = Names::default();
            names.reserve(room);
            let mut twin: HashMap<&str, u32> = HashMap::new();
            for word in &words {
                prop_assert_eq!(names.find(word), twin.get(&**word).copied());
                let next = twin.len() as u32;
                let number = *twin.entry(word).or_insert(next);
                prop_assert_eq!(names.intern(word), Some(number));
                prop_assert_eq!(names.get(number as usize), &**word);
            }
            prop_assert_eq!(names.len(), twin.len());
            let mut batched = Names::default();
            let mut numbers = Vec::new();
            for batch in words.chunks(7) {
                batched.intern_all(batch.iter().map(|w| &**w), |n| numbers.push(n));
            }
            let one_by_one: Vec<_> = words.iter().map(|w| names.find(w)).collect();
            prop_assert_eq!(&numbers, &one_by_one);
            let mut found = Vec::new();
            batched.find_all(words.iter().map(|w| &**w), |n| found.push(n.ok()));
            prop_assert_eq!(found, one_by_one);
            batched.find_all(["never met"].into_iter(), |n| assert!(n.is_err()));
            let to: Vec<u32> = (0..twin.len() as u32).rev().collect();
            names.permute(&to);
            for (word, number) in twin {
                prop_assert_eq!(names.find(word), Some(to[number as usize]));
            }
        }
    }
}
