//! Shares a batch among pieces: how many tasks of each. Knows offers, not how they were made.
//!
//! Procedure BBDP of \[MR05\] (Lemma 4.1), without its table over all pieces. Whole steps of the concave envelopes are
//! bought, steepest first, until one does not fit; at that slope no sharing gains more than the line says (Lagrange).
//! Where the rest cannot be filled to that bound, a program runs over the few offers that could still matter: a share
//! that falls further below the line than the gap that is left is in no better sharing.

use super::stock::{LotId, Step, Stock, View};
use cairn_kernel::{Work, long, narrow, wide};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

/// What is bought, and what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Bought {
    /// By lot: how many of its pieces give how many tasks; none of them 0. At most as many tasks as asked for.
    pub(super) shares: HashMap<LotId, BTreeMap<u32, u32>>,
    pub(super) value: u64,
    /// No sharing of these offers has a larger value.
    pub(super) bound: u64,
}

impl Bought {
    /// Whether no other sharing of these offers is better.
    pub(super) fn is_best(&self) -> bool {
        self.value == self.bound
    }
}

/// Buys at most `count` tasks. `table` bounds the entries that the exact program may compute, a step each. Costs
/// O(count·log count) and, unless the envelopes fit, a look at every lot.
pub(super) fn share(stock: &Stock, view: View, count: usize, table: &mut Work<'_>) -> Bought {
    let count = count.min(stock.tasks());
    let mut steep = Cart::new(stock, view);
    let mut left = long(count);
    let mut steps = stock.steps(view).copied().peekable();
    while let Some(&first) = steps.peek() {
        let mut level = Vec::new();
        while let Some(step) = steps.next_if(|s| s.cmp_slope(&first).is_eq()) {
            level.push(step);
        }
        let pieces = |s: &Step| long(stock.lot(s.lot).members.len());
        // All pieces of all lots that have a step of this slope: either all of them fit, or here is the price.
        let wanted: u64 = level.iter().map(|s| pieces(s) * u64::from(s.run)).sum();
        // Flat steps gain nothing: what is left over is filled up by the plan.
        if first.rise == 0 || left == 0 {
            break;
        }
        if wanted <= left {
            left -= wanted;
            for step in &level {
                steep.give(step.lot, step.from, step.run, pieces(step) as u32);
            }
            continue;
        }
        return fill(&steep, &level, left, count, table);
    }
    let value = steep.value;
    steep.bought(value)
}

/// Buys the `left` tasks that a whole level of steps is too many for.
fn fill(steep: &Cart<'_>, level: &[Step], left: u64, count: usize, table: &mut Work<'_>) -> Bought {
    let price = Price {
        rise: u64::from(level[0].rise),
        run: u64::from(level[0].run),
        left,
        full: steep.value * u64::from(level[0].run) + left * u64::from(level[0].rise),
    };
    // Lagrange: no sharing lies above the line through the corners bought, with the slope of the next step.
    // Rounded down, as gains are whole numbers.
    let bound = price.full / price.run;
    let mut best = steep.clone();
    let rest = best.take_level(level, left);
    best.jump(rest);
    if best.value == bound {
        return best.bought(bound);
    }
    let closed = close_gap(steep, &price, best.value, count, table);
    if let Some(closed) = closed.cart
        && closed.value > best.value
    {
        best = closed;
    }
    if closed.is_complete {
        let bound = best.value;
        return best.bought(bound);
    }
    // At least half of the best where all pieces are expansive, which the steps of envelopes do not promise.
    let mut greedy = Cart::new(steep.stock, steep.view);
    greedy.one_by_one(long(count));
    if greedy.value > best.value {
        best = greedy;
    }
    best.bought(bound)
}

/// The slope of the steps that do not all fit, how many tasks are left for them, and the Lagrangian bound, times run.
struct Price {
    rise: u64,
    run: u64,
    left: u64,
    full: u64,
}

/// A sharing in the making.
#[derive(Clone, Debug)]
struct Cart<'s> {
    stock: &'s Stock,
    view: View,
    /// By lot: pieces by number of tasks they give. A lot that is not named gives nothing.
    shares: HashMap<LotId, BTreeMap<u32, u32>>,
    value: u64,
}

impl<'s> Cart<'s> {
    fn new(stock: &'s Stock, view: View) -> Cart<'s> {
        Cart {
            stock,
            view,
            shares: HashMap::new(),
            value: 0,
        }
    }

    /// Lets `pieces` pieces of a lot that give `from` tasks give `more`.
    fn give(&mut self, lot: LotId, from: u32, more: u32, pieces: u32) {
        let offer = self.stock.lot(lot);
        let curve = offer.curve(self.view);
        let rise = u64::from(curve[wide(from + more)] - curve[wide(from)]);
        self.value += rise * u64::from(pieces);
        self.shift(lot, from, from + more, pieces, offer.members.len());
    }

    fn shift(&mut self, lot: LotId, from: u32, to: u32, pieces: u32, members: usize) {
        let all = || BTreeMap::from([(0, narrow(members))]);
        let runs = self.shares.entry(lot).or_insert_with(all);
        let slot = runs.get_mut(&from).expect("pieces that give so many");
        *slot -= pieces;
        if *slot == 0 {
            runs.remove(&from);
        }
        *runs.entry(to).or_insert(0) += pieces;
    }

    /// Steps of one slope while they fit, pieces of lower rank first. Returns how many tasks are left.
    fn take_level(&mut self, level: &[Step], mut left: u64) -> u64 {
        let mut members: Vec<_> = (level.iter())
            .map(|s| self.stock.lot(s.lot).members.keys())
            .collect();
        let mut heap: BinaryHeap<(Reverse<u32>, usize)> = BinaryHeap::new();
        for (i, ranks) in members.iter_mut().enumerate() {
            heap.extend(ranks.next().map(|&rank| (Reverse(rank), i)));
        }
        let mut taken = vec![0; level.len()];
        while let Some((_, i)) = heap.pop() {
            // A step that does not fit now never will.
            let run = u64::from(level[i].run);
            if run <= left {
                left -= run;
                taken[i] += 1;
                heap.extend(members[i].next().map(|&rank| (Reverse(rank), i)));
            }
        }
        for (step, &pieces) in level.iter().zip(&taken).filter(|t| *t.1 > 0) {
            self.give(step.lot, step.from, step.run, pieces);
        }
        left
    }

    /// Any number of tasks of one piece that fits, where they gain most a task; again and again.
    fn jump(&mut self, left: u64) {
        let (stock, view) = (self.stock, self.view);
        self.buy(left, |lot, from, left| {
            let curve = &stock.lot(lot).curve(view)[wide(from)..];
            let steps = (curve.iter().enumerate().skip(1)).map(|(run, height)| Step {
                rise: height - curve[0],
                run: narrow(run),
                lot,
                from,
            });
            let fitting = steps.take(left.min(u64::from(u32::MAX)) as usize);
            // Steeper compares as less. Of equal slopes the shorter run: it leaves more room.
            let best = fitting.min_by(|a, b| a.cmp_slope(b).then(a.run.cmp(&b.run)));
            let best = best.filter(|step| step.rise > 0);
            best.map(|step| (Reverse(step), step.run))
        });
    }

    /// One task at a time, where the next one gains most.
    fn one_by_one(&mut self, left: u64) {
        let (stock, view) = (self.stock, self.view);
        self.buy(left, |lot, share, _| {
            let offer = stock.lot(lot);
            let curve = offer.curve(view);
            let next = curve.get(wide(share) + 1)?;
            let gain = next - curve[wide(share)];
            Some(((gain, Reverse(offer.rank())), 1))
        });
    }

    /// Buys what is best, again and again, until nothing is left. Of pieces of a lot that give so many tasks, `next` tells
    /// what one of them could give beside when so many are left: how good that is, and how many tasks.
    fn buy<K: Ord + Copy>(
        &mut self,
        mut left: u64,
        next: impl Fn(LotId, u32, u64) -> Option<(K, u32)>,
    ) {
        if left == 0 {
            return;
        }
        let entry = |lot: LotId, from: u32, left: u64| {
            next(lot, from, left).map(|(key, run)| (key, lot, from, run))
        };
        let mut heap = BinaryHeap::new();
        for (lot, _) in self.stock.lots() {
            match self.shares.get(&lot) {
                Some(runs) => heap.extend(runs.keys().filter_map(|&s| entry(lot, s, left))),
                None => heap.extend(entry(lot, 0, left)),
            }
        }
        while left > 0
            && let Some(top) = heap.pop()
        {
            let (_, lot, from, run) = top;
            if u64::from(run) > left {
                // The room has shrunk since the entry was made: look again with what is left.
                heap.extend(entry(lot, from, left));
                continue;
            }
            // Pieces of a lot that give equally many have one entry in the heap together.
            let is_new = self.pieces_at(lot, from + run) == 0;
            self.give(lot, from, run, 1);
            left -= u64::from(run);
            if self.pieces_at(lot, from) > 0 {
                heap.push(top);
            }
            if is_new {
                heap.extend(entry(lot, from + run, left));
            }
        }
    }

    /// How many pieces of a lot give so many tasks.
    fn pieces_at(&self, lot: LotId, share: u32) -> u32 {
        match self.shares.get(&lot) {
            Some(runs) => runs.get(&share).copied().unwrap_or(0),
            None if share == 0 => narrow(self.stock.lot(lot).members.len()),
            None => 0,
        }
    }

    fn bought(mut self, bound: u64) -> Bought {
        for runs in self.shares.values_mut() {
            runs.remove(&0);
        }
        Bought {
            shares: self.shares,
            value: self.value,
            bound,
        }
    }
}

/// What [`close_gap`] found: a sharing better than the one known, and whether no other is better still.
struct Closed<'s> {
    cart: Option<Cart<'s>>,
    is_complete: bool,
}

/// A lot whose pieces might give another number of tasks than the corner they are at.
struct Item {
    lot: LotId,
    corner: u32,
    /// How many of its pieces can do so in one sharing.
    pieces: u32,
    /// (by how many tasks, what is lost against the line)
    options: Vec<(i64, u64)>,
}

/// Looks for a sharing that beats `known`: all shares that lose no more than that allows, one piece after the other.
fn close_gap<'s>(
    steep: &Cart<'s>,
    price: &Price,
    known: u64,
    count: usize,
    table: &mut Work<'_>,
) -> Closed<'s> {
    // What a better sharing may lose against the line, counted in parts of 1/run.
    // No underflow: `known` lies below the bound, which is full/run rounded down.
    let slack = price.full - price.run * (known + 1);
    // A loss that cannot be avoided: the bound is a whole number.
    let least = price.full % price.run;
    let mut items = items(steep, price, slack, count);
    // Fewer tasks than at the corner always lose something, so that few pieces give fewer.
    let all = || items.iter().flat_map(|item| &item.options);
    let falls = || all().filter(|option| option.0 < 0);
    let times = falls().map(|o| slack / o.1.max(1)).max().unwrap_or(0);
    let most = falls().map(|o| o.0.unsigned_abs()).max().unwrap_or(0);
    let below = (times.saturating_mul(most)).min(long(count) - price.left) as usize;
    let width = price.left as usize + 2 * below + 1;
    let goal = below + price.left as usize;
    for item in &mut items {
        let rises = item.options.iter().filter(|o| o.0 > 0);
        let rising = rises.map(|o| long(width).div_ceil(o.0 as u64)).max();
        let falling = item.options.iter().any(|o| o.0 < 0).then_some(times);
        let useful = rising.unwrap_or(0).saturating_add(falling.unwrap_or(0));
        item.pieces = item.pieces.min(useful.min(u64::from(u32::MAX)) as u32);
    }
    // From `below` fewer to `below` more than the goal, since a fall may come before the rise that uses its tasks.
    let mut best = vec![u64::MAX; width];
    best[below] = 0;
    // One row a piece, to find the sharing again. In 16 bits: a lot with more options ends the search.
    let mut choices: Vec<(usize, Vec<u16>)> = Vec::new();
    let mut is_complete = true;
    'items: for (number, item) in items.iter().enumerate() {
        for piece in 1..=item.pieces {
            if best[goal] <= least {
                break 'items;
            }
            // After the last piece nothing but the goal matters.
            let is_last = piece == item.pieces && number + 1 == items.len();
            let places = if is_last { goal..goal + 1 } else { 0..width };
            let cost = width + places.len() * item.options.len();
            if item.options.len() >= usize::from(u16::MAX) || !table.afford(long(cost)) {
                is_complete = false;
                break 'items;
            }
            let (next, choice) = extend(&best, &item.options, slack, places);
            // One more piece of this lot changes nothing, so neither does a third.
            if choice.iter().all(|&c| c == 0) {
                break;
            }
            best = next;
            choices.push((number, choice));
        }
    }
    let cart = (best[goal] <= slack).then(|| {
        let mut found = along(steep, &items, &choices, goal);
        found.value = (price.full - best[goal]) / price.run;
        found
    });
    Closed { cart, is_complete }
}

/// The sharing that the choices lead to, from the goal back to where they began.
fn along<'s>(
    steep: &Cart<'s>,
    items: &[Item],
    choices: &[(usize, Vec<u16>)],
    goal: usize,
) -> Cart<'s> {
    let mut found = steep.clone();
    let mut at = goal;
    for (number, choice) in choices.iter().rev() {
        let Item {
            lot,
            corner,
            options,
            ..
        } = &items[*number];
        if let Some(option) = usize::from(choice[at]).checked_sub(1) {
            let by = options[option].0;
            let to = (i64::from(*corner) + by) as u32;
            let members = steep.stock.lot(*lot).members.len();
            found.shift(*lot, *corner, to, 1, members);
            at = (at as i64 - by) as usize;
        }
    }
    found
}

/// The lots with shares, other than those they are at, that lose at most `slack` against the line.
fn items(steep: &Cart<'_>, price: &Price, slack: u64, count: usize) -> Vec<Item> {
    let mut items = Vec::new();
    for (number, lot) in steep.stock.lots() {
        let curve = lot.curve(steep.view);
        // Whole levels were bought: all pieces of a lot stand at one corner.
        let runs = steep.shares.get(&number);
        let corner = runs.map_or(0, |r| *r.keys().next().expect("a lot in stock has pieces"));
        let height = |k: usize| {
            let (gain, tasks) = (u64::from(curve[k]) * price.run, long(k) * price.rise);
            // Signed: either product may be the larger.
            i128::from(gain) - i128::from(tasks)
        };
        let top = height(wide(corner));
        let mut options = Vec::new();
        for k in 0..curve.len().min(count + 1) {
            let loss = top - height(k);
            if k != wide(corner) && loss <= i128::from(slack) {
                options.push((k as i64 - i64::from(corner), loss as u64));
            }
        }
        if !options.is_empty() {
            items.push(Item {
                lot: number,
                corner,
                pieces: narrow(lot.members.len()),
                options,
            });
        }
    }
    // What loses least first: it is most likely to fill the gap.
    let key = |i: &Item| i.options.iter().map(|o| (o.1, o.0.unsigned_abs())).min();
    items.sort_by_cached_key(|i| (key(i), i.lot));
    items
}

/// One more piece: the least loss for every number of tasks in `places`, and which option (from 1) leads there.
fn extend(
    best: &[u64],
    options: &[(i64, u64)],
    slack: u64,
    places: Range<usize>,
) -> (Vec<u64>, Vec<u16>) {
    let mut next = best.to_vec();
    let mut choice = vec![0u16; best.len()];
    for (number, &(by, loss)) in options.iter().enumerate() {
        // From `to − by` to `to`, both of them places of the table.
        let first = (places.start as i64).max(by);
        let last = (places.end as i64).min(best.len() as i64 + by);
        for to in first..last {
            let reached = best[(to - by) as usize].saturating_add(loss);
            let to = to as usize;
            // Beyond the slack no sharing can beat the known one: such places stay unreached, and most of the table
            // empty.
            if reached < next[to] && reached <= slack {
                next[to] = reached;
                choice[to] = number as u16 + 1;
            }
        }
    }
    (next, choice)
}

#[cfg(test)]
mod tests {
    use super::super::piece::{Grade, Offer, PieceId, Sets};
    use super::*;
    use cairn_kernel::{Price, convolve};
    use proptest::prelude::*;

    fn offer(longest: usize) -> impl Strategy<Value = Vec<u32>> {
        prop::collection::vec(0u32..4, 1..longest).prop_map(|steps| {
            let mut sum = 0;
            let rising = steps.into_iter().map(|s| {
                sum += s;
                sum
            });
            [0].into_iter().chain(rising).collect()
        })
    }

    fn stock(offers: &[Vec<u32>], copies: &[u32]) -> Stock {
        let mut stock = Stock::default();
        let mut rank = 0;
        for (gain, &copies) in offers.iter().zip(copies) {
            for _ in 0..copies {
                let offer = Offer {
                    gain: gain.clone(),
                    upper: gain.clone(),
                    grade: Grade::Exact,
                    sets: Sets::Tree,
                };
                stock.put(offer, PieceId::new(wide(rank)), rank);
                rank += 1;
            }
        }
        stock
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6000))]

        #[test]
        fn equals_every_way_of_sharing(
            offers in prop::collection::vec(offer(8), 1..6),
            copies in prop::collection::vec(1u32..4, 6),
            count in 0usize..30,
            table in prop_oneof![Just(usize::MAX), Just(0), 0usize..300],
        ) {
            let stock = stock(&offers, &copies);
            let mut best = vec![0];
            for (offer, &copies) in offers.iter().zip(&copies) {
                for _ in 0..copies {
                    let mut work = Work::unlimited();
                    best = convolve(&best, offer, None, Price::Time, &mut work).unwrap();
                }
            }
            let truth = u64::from(best[count.min(best.len() - 1)]);
            let bought = share(&stock, View::Gain, count, &mut Work::steps(long(table)));
            let (mut tasks, mut value) = (0, 0);
            for (&lot, runs) in &bought.shares {
                let pieces: u32 = runs.values().sum();
                prop_assert!(pieces as usize <= stock.lot(lot).members.len());
                for (&share, &pieces) in runs {
                    tasks += share * pieces;
                    value += u64::from(stock.lot(lot).curve(View::Gain)[share as usize] * pieces);
                }
            }
            prop_assert!(tasks as usize <= count);
            prop_assert_eq!(value, bought.value);
            prop_assert!(bought.value <= truth && truth <= bought.bound);
            if table == usize::MAX {
                prop_assert!(bought.is_best() && bought.value == truth);
            }
        }
    }

    /// Many pieces that come and go leave the stock as if they had never been there.
    #[test]
    fn pieces_come_and_go() {
        let offers = vec![vec![0, 2, 3], vec![0, 0, 5], vec![0, 1]];
        let mut stock = stock(&offers, &[3, 2, 4]);
        let before = share(&stock, View::Gain, 7, &mut Work::unlimited()).value;
        let extra = |gain: Vec<u32>| Offer {
            upper: gain.iter().map(|g| g + g.min(&1)).collect(),
            gain,
            grade: Grade::Bounded,
            sets: Sets::Tree,
        };
        let numbers: Vec<LotId> = (0..5)
            .map(|i| {
                stock.put(
                    extra(vec![0, 9, 9 + i]),
                    PieceId::new(wide(100 + i)),
                    100 + i,
                )
            })
            .collect();
        assert!(!stock.is_at_least(Grade::Half) && !stock.is_all(Grade::Exact));
        assert!(share(&stock, View::Gain, 7, &mut Work::unlimited()).value > before);
        assert!(
            share(&stock, View::Upper, 7, &mut Work::unlimited()).value
                > share(&stock, View::Gain, 7, &mut Work::unlimited()).value
        );
        for (i, &number) in numbers.iter().enumerate() {
            stock.take(number, 100 + i as u32);
        }
        assert!(stock.is_all(Grade::Exact));
        assert_eq!(stock.tasks(), 3 * 2 + 2 * 2 + 4);
        assert_eq!(
            share(&stock, View::Gain, 7, &mut Work::unlimited()).value,
            before
        );
        assert_eq!(stock.steps(View::Upper).count(), 4);
    }
}
