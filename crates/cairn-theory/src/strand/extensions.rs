//! How far two places of a text read alike, exactly and in constant time. Knows nothing of strands.
//!
//! Suffix array by induced sorting (Nong, Zhang, Chan 2009), longest common prefixes of neighbours in it (Kasai and
//! others 2001), range minima over blocks. O(n) time and space after compressing the alphabet in O(n log n). No
//! hashing: what rests on these comparisons may be called proved.

use cairn_kernel::{NONE, narrow, places, wide};

/// Symbols compared one by one before the index is asked: most comparisons end here.
// A cache line of symbols, while the index touches three lines far apart.
const DIRECT: usize = 16;

/// Prefixes of rows per block of the range-minimum table.
// The table has a 32nd of the entries, times their logarithm: less than the text itself up to 2³² symbols.
const BLOCK: usize = 32;

/// The text and, if it is longer than [`DIRECT`], the index of its suffixes.
pub(super) struct Extensions<'a> {
    text: &'a [u32],
    /// The place of each suffix in the suffix array; empty for short texts.
    rank: Vec<u32>,
    /// `common[i]`: common prefix of the suffixes of ranks i − 1 and i.
    common: Vec<u32>,
    /// `minima[k][b]`: the least of `common` in the blocks `b .. b + 2^k`.
    minima: Vec<Vec<u32>>,
}

impl<'a> Extensions<'a> {
    pub(super) fn new(text: &'a [u32]) -> Extensions<'a> {
        if text.len() <= DIRECT {
            return Extensions {
                text,
                rank: Vec::new(),
                common: Vec::new(),
                minima: Vec::new(),
            };
        }
        let (symbols, alphabet) = compress(text);
        let array = suffix_array(&symbols, alphabet);
        let rank = places(&array);
        let common = common_prefixes(text, &array, &rank);
        let minima = block_minima(&common);
        Extensions {
            text,
            rank,
            common,
            minima,
        }
    }

    /// How many symbols the suffixes at `i` and `j` have in common, but at most `most`; both must have that many.
    #[inline]
    pub(super) fn common(&self, i: usize, j: usize, most: usize) -> usize {
        let direct = most.min(DIRECT);
        let (a, b) = (&self.text[i..i + direct], &self.text[j..j + direct]);
        match a.iter().zip(b).position(|(x, y)| x != y) {
            Some(length) => length,
            None if direct == most || i == j => most,
            None => most.min(self.indexed(i, j)),
        }
    }

    fn indexed(&self, i: usize, j: usize) -> usize {
        let (a, b) = (wide(self.rank[i]), wide(self.rank[j]));
        wide(self.least(a.min(b) + 1, a.max(b) + 1))
    }

    /// The least of `common[from..to]`, not empty.
    fn least(&self, from: usize, to: usize) -> u32 {
        let scan = |range: std::ops::Range<usize>| {
            let least = self.common[range].iter().copied().min();
            least.unwrap_or(u32::MAX)
        };
        let (first, last) = (from.div_ceil(BLOCK), to / BLOCK);
        if first >= last {
            return scan(from..to);
        }
        let level = wide((last - first).ilog2());
        let row = &self.minima[level];
        // Two stretches that overlap: a minimum may count an entry twice.
        let inner = row[first].min(row[last - (1 << level)]);
        inner
            .min(scan(from..first * BLOCK))
            .min(scan(last * BLOCK..to))
    }
}

/// The symbols renamed to 0, 1, … in their order, and how many different ones there are.
fn compress(text: &[u32]) -> (Vec<u32>, usize) {
    let mut names = text.to_vec();
    names.sort_unstable();
    names.dedup();
    let name = |symbol| narrow(names.binary_search(&symbol).expect("taken from the text"));
    (text.iter().map(|&s| name(s)).collect(), names.len())
}

/// Kasai's algorithm: entry i is the common prefix of the suffixes of ranks i − 1 and i.
fn common_prefixes(text: &[u32], array: &[u32], rank: &[u32]) -> Vec<u32> {
    let mut common = vec![0; text.len()];
    let mut length = 0;
    for (i, &place) in rank.iter().enumerate() {
        if place == 0 {
            length = 0;
            continue;
        }
        let j = wide(array[wide(place) - 1]);
        let rest = text[i + length..].iter().zip(&text[j + length..]);
        length += rest.take_while(|(a, b)| a == b).count();
        common[wide(place)] = narrow(length);
        // The next suffix lacks one symbol in front, so it shares at least one less with its own neighbour: O(n) in
        // all.
        length = length.saturating_sub(1);
    }
    common
}

/// Row k has the least of every 2^k blocks in a row: a sparse table, so that the least over any stretch of blocks is that of two
/// entries, which may overlap. O(b log b) for b blocks; over blocks, not places, so that it is O(n) for n places.
fn block_minima(common: &[u32]) -> Vec<Vec<u32>> {
    let least = |block: &[u32]| block.iter().copied().min().expect("blocks are not empty");
    let mut rows = vec![common.chunks(BLOCK).map(least).collect::<Vec<_>>()];
    let mut width = 1;
    while 2 * width <= rows[0].len() {
        let last = &rows[rows.len() - 1];
        let row = (0..=rows[0].len() - 2 * width).map(|b| last[b].min(last[b + width]));
        let row = row.collect();
        rows.push(row);
        width *= 2;
    }
    rows
}

/// The suffixes of `text` (symbols `0..alphabet`) in increasing order; the end of the text is smaller than any symbol.
fn suffix_array(text: &[u32], alphabet: usize) -> Vec<u32> {
    let n = text.len();
    if n <= 1 {
        return (0..narrow(n)).collect();
    }
    let sorter = Induce::new(text, alphabet);
    // Leftmost places of falling-to-rising runs: all other suffixes are sorted from these.
    let pits: Vec<u32> = (1..narrow(n)).filter(|&i| sorter.is_pit(wide(i))).collect();
    let mut array = sorter.sort(&pits);
    if pits.len() > 1 {
        let in_order = pits_in_order(&sorter, &pits, &array);
        array = sorter.sort(&in_order);
    }
    array
}

/// The pits sorted by their whole suffixes, from `array` where they are sorted by the text up to the next pit.
fn pits_in_order(sorter: &Induce, pits: &[u32], array: &[u32]) -> Vec<u32> {
    let text = sorter.text;
    let mut number = vec![NONE; text.len()];
    for (i, &pit) in pits.iter().enumerate() {
        number[wide(pit)] = narrow(i);
    }
    // The word of a pit reaches to the next pit inclusive; the last one's to the end of the text.
    let word = |pit: u32| {
        let next = pits.get(wide(number[wide(pit)]) + 1);
        &text[wide(pit)..next.map_or(text.len(), |&p| wide(p) + 1)]
    };
    let is_last = |pit: u32| pit == pits[pits.len() - 1];
    let mut names = vec![0; pits.len()];
    let mut name = 0;
    let mut previous: Option<u32> = None;
    for &pit in array.iter().filter(|&&i| number[wide(i)] != NONE) {
        if let Some(previous) = previous {
            // The last word ends with the text, which no other word does.
            // Words are compared whole, but overlap by a symbol only: O(n) over all neighbours.
            let same = word(previous) == word(pit) && !is_last(previous) && !is_last(pit);
            name += u32::from(!same);
        }
        names[wide(number[wide(pit)])] = name;
        previous = Some(pit);
    }
    // At most half as many as the text has symbols, since pits are never neighbours: O(n) in all.
    let order = suffix_array(&names, wide(name) + 1);
    order.into_iter().map(|i| pits[wide(i)]).collect()
}

/// Sorts all suffixes, given some of them in order.
struct Induce<'a> {
    text: &'a [u32],
    /// Whether the suffix is smaller than the one after it.
    rises: Vec<bool>,
    /// Where each symbol's suffixes start in the array, and after the last symbol the end.
    start: Vec<u32>,
    /// Where each symbol's rising suffixes start: after its falling ones.
    start_rising: Vec<u32>,
}

impl<'a> Induce<'a> {
    fn new(text: &'a [u32], alphabet: usize) -> Induce<'a> {
        let n = text.len();
        let mut rises = vec![false; n];
        // From the back: of two equal symbols the suffix behind decides. The last one falls, as the end is smaller than any symbol.
        for i in (0..n - 1).rev() {
            rises[i] = text[i] < text[i + 1] || text[i] == text[i + 1] && rises[i + 1];
        }
        let mut start = vec![0; alphabet + 1];
        let mut start_rising = vec![0; alphabet];
        for (i, &symbol) in text.iter().enumerate() {
            start[wide(symbol) + 1] += 1;
            start_rising[wide(symbol)] += u32::from(!rises[i]);
        }
        for symbol in 0..alphabet {
            start[symbol + 1] += start[symbol];
            start_rising[symbol] += start[symbol];
        }
        Induce {
            text,
            rises,
            start,
            start_rising,
        }
    }

    fn is_pit(&self, i: usize) -> bool {
        self.rises[i] && !self.rises[i - 1]
    }

    fn sort(&self, pits: &[u32]) -> Vec<u32> {
        let n = self.text.len();
        let mut array = vec![NONE; n];
        let mut next = self.start_rising.clone();
        let put = |array: &mut [u32], next: &mut [u32], suffix: usize| {
            let slot = &mut next[wide(self.text[suffix])];
            array[wide(*slot)] = narrow(suffix);
            *slot += 1;
        };
        for &pit in pits {
            put(&mut array, &mut next, wide(pit));
        }
        let mut next = self.start[..self.start.len() - 1].to_vec();
        // The last suffix comes from the end of the text, which is smaller than all and not in the array.
        put(&mut array, &mut next, n - 1);
        for i in 0..n {
            let suffix = array[i];
            if suffix != NONE && suffix > 0 && !self.rises[wide(suffix) - 1] {
                put(&mut array, &mut next, wide(suffix) - 1);
            }
        }
        // Rising suffixes from the back. Pits put in above may still stand there: each is overwritten before it is
        // read, as whatever leads to a slot lies behind it.
        let mut end = self.start[1..].to_vec();
        for i in (0..n).rev() {
            let suffix = array[i];
            if suffix != NONE && suffix > 0 && self.rises[wide(suffix) - 1] {
                let slot = &mut end[wide(self.text[wide(suffix) - 1])];
                *slot -= 1;
                array[wide(*slot)] = suffix - 1;
            }
        }
        array
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repetitive_text() -> impl Strategy<Value = Vec<u32>> {
        let word = prop::collection::vec(0u32..4, 1..6);
        let noise = prop::collection::vec((0usize..200, 0u32..5), 0..4);
        (word, 0usize..200, noise).prop_map(|(word, length, noise)| {
            let mut text: Vec<u32> = word.into_iter().cycle().take(length).collect();
            for (at, symbol) in noise {
                if let Some(slot) = text.get_mut(at) {
                    *slot = symbol * 1_000_000_007 % 4_000_000_000;
                }
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Suffix array and common extensions against comparing slices.
        #[test]
        fn agrees_with_comparing_slices(text in repetitive_text(), pairs in prop::collection::vec((0usize..200, 0usize..200), 20)) {
            let (symbols, alphabet) = compress(&text);
            let mut expected: Vec<u32> = (0..text.len() as u32).collect();
            expected.sort_by_key(|&i| &text[i as usize..]);
            prop_assert_eq!(suffix_array(&symbols, alphabet), expected);
            let extensions = Extensions::new(&text);
            for (i, j) in pairs {
                if i >= text.len() || j >= text.len() { continue }
                let most = text.len() - i.max(j);
                let expected = (0..most).take_while(|k| text[i + k] == text[j + k]).count();
                prop_assert_eq!(extensions.common(i, j, most), expected);
                prop_assert_eq!(extensions.common(i, j, most / 2), expected.min(most / 2));
            }
        }
    }

    #[test]
    fn fibonacci_text_of_some_length() {
        let (mut a, mut b) = (vec![0u32], vec![0, 1]);
        while b.len() < 3000 {
            let longer = [b.clone(), a].concat();
            (a, b) = (b, longer);
        }
        let mut expected: Vec<u32> = (0..b.len() as u32).collect();
        expected.sort_by_key(|&i| &b[i as usize..]);
        assert_eq!(suffix_array(&b, 2), expected);
    }
}
