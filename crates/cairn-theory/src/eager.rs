//! A quick order of the sources of a bipartite dag: always the nearest reward. Optimal on regular trees, and no more
//! than a try on others: its profile must be compared. Knows nothing of optimality.

use crate::Bipartite;
use cairn_kernel::{narrow, wide};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Executes a source that makes most sinks eligible at once, of these one that leaves most sinks with a single parent
/// missing; if no source makes any eligible, the missing parents of a sink that misses fewest. O(arcs·log arcs).
pub(crate) fn eager_order(block: &Bipartite) -> Vec<u32> {
    let mut state = Eager::new(block);
    let mut order = Vec::with_capacity(block.sources());
    loop {
        if let Some(source) = state.best_source() {
            state.execute(source, &mut order);
        } else if let Some(sink) = state.nearest_sink() {
            let missing = block.parents(sink).to_vec();
            for source in missing {
                state.execute(source, &mut order);
            }
        } else {
            break;
        }
    }
    // Sources without children, which nothing above asks for.
    for source in 0..narrow(block.sources()) {
        state.execute(source, &mut order);
    }
    order
}

struct Eager<'a> {
    block: &'a Bipartite,
    executed: Vec<bool>,
    /// Parents each sink still misses. Counted here, since a sink is entered anew under each number.
    missing: Vec<u32>,
    /// For each source, how many sinks miss it alone, and how many it and one other.
    yields: Vec<(u32, u32)>,
    /// Entries may be outdated: checked when taken. Not the kernel's `Growing`, since the second number of a yield may fall.
    sources: BinaryHeap<((u32, u32), Reverse<u32>)>,
    sinks: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Eager<'_> {
    fn new(block: &Bipartite) -> Eager<'_> {
        let parents = |v: u32| narrow(block.parents(v).len());
        let mut state = Eager {
            block,
            executed: vec![false; block.sources()],
            missing: (0..narrow(block.sinks())).map(parents).collect(),
            yields: vec![(0, 0); block.sources()],
            sources: BinaryHeap::new(),
            sinks: BinaryHeap::new(),
        };
        for sink in 0..narrow(block.sinks()) {
            state.count(sink);
        }
        state
    }

    /// Enters a sink under the number of parents it misses now.
    fn count(&mut self, sink: u32) {
        let missing = self.missing[wide(sink)];
        // Only sinks that miss one or two parents move a source's yield: the others need not go through their parents.
        if missing > 2 {
            self.sinks.push(Reverse((missing, sink)));
            return;
        }
        for &source in self.block.parents(sink) {
            if self.executed[wide(source)] {
                continue;
            }
            let (alone, pairs) = &mut self.yields[wide(source)];
            match missing {
                1 => *alone += 1,
                _ => *pairs += 1,
            }
            self.sources
                .push((self.yields[wide(source)], Reverse(source)));
        }
        if missing == 2 {
            self.sinks.push(Reverse((missing, sink)));
        }
    }

    fn best_source(&mut self) -> Option<u32> {
        while let Some(&(yields, Reverse(source))) = self.sources.peek() {
            let current = self.yields[wide(source)] == yields;
            // The best entry makes nothing eligible, so none does; it stays for later.
            if yields.0 == 0 {
                return None;
            }
            self.sources.pop();
            if current && !self.executed[wide(source)] {
                return Some(source);
            }
        }
        None
    }

    fn nearest_sink(&mut self) -> Option<u32> {
        while let Some(Reverse((missing, sink))) = self.sinks.pop() {
            // Entered again each time it misses one less: older entries are skipped.
            if self.missing[wide(sink)] == missing {
                return Some(sink);
            }
        }
        None
    }

    fn execute(&mut self, source: u32, order: &mut Vec<u32>) {
        if std::mem::replace(&mut self.executed[wide(source)], true) {
            return;
        }
        order.push(source);
        for &sink in self.block.children(source) {
            // The remaining parent of a sink that missed two no longer shares it with this source.
            if self.missing[wide(sink)] == 2 {
                let parents = self.block.parents(sink).iter();
                for &other in parents.filter(|&&p| !self.executed[wide(p)]) {
                    // No entry in the heap has this lower yield, but `count` below raises the first number and enters
                    // it.
                    self.yields[wide(other)].1 -= 1;
                }
            }
            self.missing[wide(sink)] -= 1;
            self.count(sink);
        }
    }
}
