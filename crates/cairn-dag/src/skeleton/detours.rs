//! Decides one arc by a search from both ends that stops when the work is not worth it.

use super::labels::Labels;
use super::ranked::Ranked;
use crate::wide;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Looks for detours. Keeps its memory between searches.
pub(super) struct Detours<'a> {
    ranked: &'a Ranked,
    labels: &'a Labels,
    /// By rank: which side has met it.
    met: Vec<Side>,
    touched: Vec<u32>,
    /// Met from the tail, not yet expanded: smallest rank first.
    down: BinaryHeap<Reverse<u32>>,
    /// Met from the head, not yet expanded: largest rank first.
    up: BinaryHeap<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    None,
    Down,
    Up,
}

impl<'a> Detours<'a> {
    pub(super) fn new(ranked: &'a Ranked, labels: &'a Labels) -> Detours<'a> {
        Detours {
            ranked,
            labels,
            met: vec![Side::None; ranked.len()],
            touched: Vec::new(),
            down: BinaryHeap::new(),
            up: BinaryHeap::new(),
        }
    }

    /// Whether a path of two or more arcs leads from `u` to `v`, or `None` if that would take looking at more than
    /// `budget` arcs from one end. Beside it, the number of arcs looked at.
    ///
    /// Grows the set below `u` in the order of ranks and the set above `v` against it, always the side with
    /// less work. A path makes them meet. When all that is left below lies behind all that is left above, or
    /// nothing is left on one side, there is none: the arcs in the middle have been seen from one side or the
    /// other. So both sides go only half the way.
    pub(super) fn detour(&mut self, u: u32, v: u32, budget: usize) -> (Option<bool>, usize) {
        let result = self.run(u, v, budget);
        // Only what was met is wiped: a short search must not cost as much as the dag is large.
        for at in self.touched.drain(..) {
            self.met[wide(at)] = Side::None;
        }
        self.down.clear();
        self.up.clear();
        result
    }

    fn run(&mut self, u: u32, v: u32, budget: usize) -> (Option<bool>, usize) {
        self.down.push(Reverse(u));
        self.up.push(v);
        // Two plain counters and no `Work`: they tell which side goes on, and the budget holds for each.
        let (mut work_down, mut work_up) = (0, 0);
        loop {
            let work = work_down + work_up;
            let (Some(&Reverse(first)), Some(&last)) = (self.down.peek(), self.up.peek()) else {
                return (Some(false), work);
            };
            // Ranks only grow along a path: what is left below starts behind all that is left above.
            if first > last {
                return (Some(false), work);
            }
            let down = work_down + 1 + self.ranked.children(first).len();
            let up = work_up + 1 + self.ranked.parents(last).len();
            // The side with less work is the one that would go on; if even that passes the budget, so does the search.
            if down.min(up) > budget {
                return (None, work);
            }
            let meet = if down <= up {
                work_down = down;
                self.down.pop();
                self.expand_down(first, u, v)
            } else {
                work_up = up;
                self.up.pop();
                self.expand_up(last, u, v)
            };
            if meet {
                return (Some(true), work_down + work_up);
            }
        }
    }

    /// Meets the children of `at` that may still lead to `v`; whether one was met from above.
    fn expand_down(&mut self, at: u32, u: u32, v: u32) -> bool {
        let limit = self.ranked.level_start(v);
        // Whoever leads to `v` is farther from the sinks than `v`.
        let height = self.ranked.height(v);
        for &child in self.ranked.children(at) {
            if child >= limit {
                // Rows ascend. Only `v` itself matters on its level, and not straight from `u`.
                return at != u && self.ranked.children(at).binary_search(&v).is_ok();
            }
            match self.met[wide(child)] {
                Side::Up => return true,
                Side::None
                    if self.labels.may_reach(child, v) && self.ranked.height(child) > height =>
                {
                    self.met[wide(child)] = Side::Down;
                    self.touched.push(child);
                    self.down.push(Reverse(child));
                }
                _ => {}
            }
        }
        false
    }

    /// Meets the parents of `at` that `u` may still lead to; whether one was met from below.
    fn expand_up(&mut self, at: u32, u: u32, v: u32) -> bool {
        let limit = self.ranked.level_end(u);
        let height = self.ranked.height(u);
        for &parent in self.ranked.parents(at).iter().rev() {
            // The mirror image: of the first level's tasks only `u` itself matters, and not straight from `v`.
            if parent < limit {
                return at != v && self.ranked.parents(at).binary_search(&u).is_ok();
            }
            match self.met[wide(parent)] {
                Side::Down => return true,
                Side::None
                    if self.labels.may_reach(u, parent) && self.ranked.height(parent) < height =>
                {
                    self.met[wide(parent)] = Side::Up;
                    self.touched.push(parent);
                    self.up.push(parent);
                }
                _ => {}
            }
        }
        false
    }
}
