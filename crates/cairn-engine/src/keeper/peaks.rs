//! Numbers in a row: adding to a range, the largest of a range. Knows not what they mean.

use cairn_dag::{narrow, wide};

/// What a place has that is gone: far below all others.
// What is added to a whole range reaches them, too; it is kept below half of this, so that none comes back or overflows.
pub(super) const GONE: i64 = -(1 << 62);

/// Places that are looked at one by one; above them is a tree.
// Eight cache lines, read in a row; and the tree is small enough to stay in the cache.
const BLOCK: usize = 64;

/// A segment tree over blocks of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Peaks {
    /// By place, without what the tree adds to the whole block.
    values: Vec<i64>,
    /// By node of the tree, from 1: the largest below it, with what it adds itself; the blocks are the last half.
    most: Vec<i64>,
    /// By node: what is added to all below.
    added: Vec<i64>,
}

impl Peaks {
    pub(super) fn new(values: Vec<i64>) -> Peaks {
        // A power of two, so that parents are halves of numbers; blocks beyond the end are gone for ever.
        let blocks = values.len().div_ceil(BLOCK).next_power_of_two();
        let mut peaks = Peaks {
            most: vec![GONE; 2 * blocks],
            added: vec![0; 2 * blocks],
            values,
        };
        for (block, values) in peaks.values.chunks(BLOCK).enumerate() {
            peaks.most[blocks + block] = values.iter().copied().max().unwrap_or(GONE);
        }
        for node in (1..blocks).rev() {
            peaks.most[node] = peaks.most[2 * node].max(peaks.most[2 * node + 1]);
        }
        peaks
    }

    pub(super) fn heap_bytes(&self) -> usize {
        8 * (self.values.capacity() + self.most.capacity() + self.added.capacity())
    }

    fn blocks(&self) -> usize {
        self.most.len() / 2
    }

    fn values_of(&self, block: usize) -> &[i64] {
        let end = (BLOCK * (block + 1)).min(self.values.len());
        &self.values[BLOCK * block..end]
    }

    /// The block's largest and that of all above it, after its values have changed.
    fn refresh(&mut self, block: usize) {
        let largest = self.values_of(block).iter().copied().max().unwrap_or(GONE);
        let leaf = self.blocks() + block;
        self.most[leaf] = largest + self.added[leaf];
        self.pull(leaf);
    }

    fn pull(&mut self, leaf: usize) {
        let mut node = leaf / 2;
        while node >= 1 {
            let below = self.most[2 * node].max(self.most[2 * node + 1]);
            self.most[node] = below + self.added[node];
            node /= 2;
        }
    }

    /// Adds to the places from..to.
    pub(super) fn add(&mut self, from: u32, to: u32, amount: i64) {
        let (from, to) = (wide(from), wide(to));
        if from >= to || amount == 0 {
            return;
        }
        let (first, last) = (from / BLOCK, (to - 1) / BLOCK);
        if first == last {
            self.values[from..to].iter_mut().for_each(|v| *v += amount);
            return self.refresh(first);
        }
        let whole_first = from.div_ceil(BLOCK);
        let whole_end = to / BLOCK;
        if !from.is_multiple_of(BLOCK) {
            let part = &mut self.values[from..whole_first * BLOCK];
            part.iter_mut().for_each(|v| *v += amount);
            self.refresh(first);
        }
        if !to.is_multiple_of(BLOCK) {
            let part = &mut self.values[whole_end * BLOCK..to];
            part.iter_mut().for_each(|v| *v += amount);
            self.refresh(last);
        }
        if whole_first < whole_end {
            self.add_blocks(whole_first, whole_end, amount);
        }
    }

    fn add_blocks(&mut self, from: usize, to: usize, amount: i64) {
        // What is added stays at its node, and is never handed down: a question adds up what is above, and changes nothing.
        let (mut low, mut high) = (from + self.blocks(), to + self.blocks());
        let ends = [low, high - 1];
        while low < high {
            if low & 1 == 1 {
                self.most[low] += amount;
                self.added[low] += amount;
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                self.most[high] += amount;
                self.added[high] += amount;
            }
            low /= 2;
            high /= 2;
        }
        ends.into_iter().for_each(|leaf| self.pull(leaf));
    }

    /// What is added to a block from above, and by itself.
    fn above(&self, block: usize) -> i64 {
        let mut node = self.blocks() + block;
        let mut sum = 0;
        while node >= 1 {
            sum += self.added[node];
            node /= 2;
        }
        sum
    }

    /// The largest of the places from..to; what is gone counts as far below.
    pub(super) fn max_between(&self, from: u32, to: u32) -> i64 {
        let (from, to) = (wide(from), wide(to));
        if from >= to {
            return GONE;
        }
        let (first, last) = (from / BLOCK, (to - 1) / BLOCK);
        let of = |from: usize, to: usize| {
            let largest = self.values[from..to].iter().copied().max();
            largest.map_or(GONE, |v| v + self.above(from / BLOCK))
        };
        if first == last {
            return of(from, to);
        }
        let left = of(from, (first + 1) * BLOCK);
        let right = of(last * BLOCK, to);
        left.max(right).max(self.max_of_blocks(first + 1, last))
    }

    fn max_of_blocks(&self, from: usize, to: usize) -> i64 {
        let (mut low, mut high) = (from + self.blocks(), to + self.blocks());
        let mut best = GONE;
        while low < high {
            if low & 1 == 1 {
                best = best.max(self.most[low] + self.over(low));
                low += 1;
            }
            if high & 1 == 1 {
                high -= 1;
                best = best.max(self.most[high] + self.over(high));
            }
            low /= 2;
            high /= 2;
        }
        best
    }

    /// What is added above a node.
    fn over(&self, mut node: usize) -> i64 {
        let mut sum = 0;
        while node > 1 {
            node /= 2;
            sum += self.added[node];
        }
        sum
    }

    /// The largest of all.
    pub(super) fn max(&self) -> i64 {
        self.most.get(1).copied().unwrap_or(GONE)
    }

    /// Gives a place another number.
    pub(super) fn set(&mut self, place: u32, value: i64) {
        let block = wide(place) / BLOCK;
        // Without what the tree adds from above, which a question will add again.
        self.values[wide(place)] = value - self.above(block);
        self.refresh(block);
    }

    /// The place is gone.
    pub(super) fn clear(&mut self, place: u32) {
        self.set(place, GONE);
    }

    /// The first place that is not gone. O(log places).
    pub(super) fn first_place(&self) -> Option<u32> {
        // In the middle: what was added to either never comes that far.
        const THERE: i64 = GONE / 2;
        if self.max() < THERE {
            return None;
        }
        let mut node = 1;
        let mut over = self.added[1];
        while node < self.blocks() {
            node *= 2;
            if self.most[node] + over < THERE {
                node += 1;
            }
            over += self.added[node];
        }
        let block = node - self.blocks();
        let there = |&v: &i64| v + over >= THERE;
        let within = self.values_of(block).iter().position(there)?;
        Some(narrow(block * BLOCK + within))
    }

    /// The number of the first place that is not gone.
    pub(super) fn first(&self) -> Option<i64> {
        let place = wide(self.first_place()?);
        Some(self.values[place] + self.above(place / BLOCK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;

    #[test]
    fn ranges_are_as_a_plain_row_of_numbers() {
        let mut random = Random::new(7);
        for _ in 0..200 {
            let count = 1 + random.below(700);
            let mut plain: Vec<i64> = (0..count).map(|_| random.below(50) as i64).collect();
            let mut peaks = Peaks::new(plain.clone());
            for _ in 0..200 {
                let (a, b) = (random.below(count + 1), random.below(count + 1));
                let (from, to) = (a.min(b), a.max(b));
                let amount = random.below(21) as i64 - 10;
                match random.below(6) {
                    0 if from < count => {
                        plain[from] = GONE;
                        peaks.clear(narrow(from));
                    }
                    1 if from < count => {
                        plain[from] = amount;
                        peaks.set(narrow(from), amount);
                    }
                    _ => {
                        plain[from..to].iter_mut().for_each(|v| *v += amount);
                        peaks.add(narrow(from), narrow(to), amount);
                    }
                }
                let most = |values: &[i64]| {
                    let there = values.iter().copied().filter(|&v| v > GONE / 2);
                    there.max()
                };
                let found = |value: i64| Some(value).filter(|&v| v > GONE / 2);
                let (c, d) = (random.below(count + 1), random.below(count + 1));
                let (low, high) = (c.min(d), c.max(d));
                assert_eq!(
                    found(peaks.max_between(narrow(low), narrow(high))),
                    most(&plain[low..high])
                );
                assert_eq!(found(peaks.max()), most(&plain));
                let first = plain.iter().position(|&v| v > GONE / 2);
                assert_eq!(peaks.first_place().map(wide), first);
                assert_eq!(peaks.first(), first.map(|p| plain[p]));
            }
        }
    }
}
