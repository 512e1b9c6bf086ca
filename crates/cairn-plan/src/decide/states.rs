//! The states that a walk through a component met: sets of nodes as bits, each kept once. Knows no closures.

use super::ids::{NodeId, StateId};
use cairn_kernel::wide;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// The states met so far.
pub(super) struct States {
    words: usize,
    bits: Vec<u64>,
    pub(super) gain: Vec<u32>,
    /// Largest area on the way here: sum of gains over the steps up to this state's size.
    pub(super) area: Vec<u64>,
    /// The state before this one on that way.
    pub(super) before: Vec<Option<StateId>>,
    table: HashTable<StateId>,
    hasher: hashbrown::DefaultHashBuilder,
}

impl States {
    pub(super) fn new(words: usize) -> States {
        States {
            words,
            bits: Vec::new(),
            gain: Vec::new(),
            area: Vec::new(),
            before: Vec::new(),
            table: HashTable::new(),
            hasher: hashbrown::DefaultHashBuilder::default(),
        }
    }

    /// Each state's nodes, as a bit set, and what they gain.
    pub(super) fn all(&self) -> impl Iterator<Item = (&[u64], u32)> {
        let states = (0..).map(StateId::new);
        states.zip(&self.gain).map(|(s, &gain)| (self.get(s), gain))
    }

    pub(super) fn get(&self, state: StateId) -> &[u64] {
        &self.bits[state.index() * self.words..(state.index() + 1) * self.words]
    }

    /// The state of exactly these nodes.
    pub(super) fn find(&self, bits: &[u64]) -> Option<StateId> {
        self.hashed(self.hash(bits), bits)
    }

    fn hashed(&self, hash: u64, bits: &[u64]) -> Option<StateId> {
        let is_it = |&s: &StateId| self.get(s) == bits;
        self.table.find(hash, is_it).copied()
    }

    fn hash(&self, bits: &[u64]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        // Word by word: all states are equally long, so that no length need be hashed.
        bits.iter().for_each(|&word| hasher.write_u64(word));
        hasher.finish()
    }

    /// The number of the state, and whether it is new.
    pub(super) fn insert(&mut self, bits: &[u64]) -> (StateId, bool) {
        let hash = self.hash(bits);
        if let Some(old) = self.hashed(hash, bits) {
            return (old, false);
        }
        let words = self.words;
        let bits_of = |s: StateId| s.index() * words..(s.index() + 1) * words;
        let new = StateId::new(self.gain.len());
        self.bits.extend_from_slice(bits);
        self.gain.push(0);
        self.area.push(0);
        self.before.push(None);
        let (all, hasher) = (&self.bits, &self.hasher);
        // Hashed again from the bits when the table grows: 8 bytes a state spared.
        self.table.insert_unique(hash, new, |&s| {
            let mut h = hasher.build_hasher();
            all[bits_of(s)].iter().for_each(|&word| h.write_u64(word));
            h.finish()
        });
        (new, true)
    }
}

/// Whether a bit set has this node.
#[inline]
pub(super) fn has(bits: &[u64], v: NodeId) -> bool {
    bits[v.index() / 64] >> (v.index() % 64) & 1 == 1
}

/// How many nodes a bit set has.
pub(super) fn count(bits: &[u64]) -> usize {
    bits.iter().map(|w| wide(w.count_ones())).sum()
}
