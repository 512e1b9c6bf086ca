//! Lines up the tasks of a piece so that few of them matter at a time: an approximate path decomposition. Knows nothing
//! of gains.

use crate::budgets::LINES;
use crate::budgets::batch::{HEAT, LINE_SHARE, MOST_MOVES, STATES_A_MOVE};
use cairn_kernel::{GOLDEN, Puzzle, Work, long, narrow, wide};

/// A task *matters* at a place when it stands before and shares a prize with one behind. What is returned makes the sum
/// over all places of 2^(tasks that matter) small: a bound on the states of a program that runs along the line.
///
/// From the best of some greedy lines, single tasks are moved at random, worse lines accepted at first and ever less
/// (annealing; the same each time). Takes at most its share of the work left. Time O(arcs) a move.
pub(super) fn line_up(piece: &Puzzle, work: &mut Work<'_>) -> Vec<u32> {
    let mut starts: Vec<u32> = (0..narrow(piece.len())).collect();
    starts.sort_by_key(|&v| (piece.prizes(v).len(), v));
    starts.truncate(LINES);
    let mut measure = Measure::new(piece);
    let greedy = starts.into_iter().map(|start| greedy_from(piece, start));
    let rated = greedy.map(|order| (measure.cost(piece, &order), order));
    let (cost, order) = rated
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("a piece has a task");
    let cost_of_move = long(piece.len() + 2 * piece.arcs());
    let moves = (work.left() / LINE_SHARE / cost_of_move)
        .min(MOST_MOVES)
        // A cast of a float to an integer saturates: a line of very many states is as good as infinite.
        .min(cost as u64 / STATES_A_MOVE);
    // Never refused but when it is time to stop: the product is within its share of what is left.
    if !work.afford(moves * cost_of_move) {
        return order;
    }
    anneal(piece, measure, (cost, order), moves)
}

fn anneal(piece: &Puzzle, mut measure: Measure, start: (f64, Vec<u32>), moves: u64) -> Vec<u32> {
    let (mut cost, mut order) = start;
    let mut best = (cost, order.clone());
    // A fixed seed, so that a server gives the same batch for the same state; a linear congruence of 64 bits (Knuth's MMIX) is random
    // enough.
    let mut state = GOLDEN;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for step in 0..moves {
        let tasks = long(order.len());
        let (from, to) = ((draw() % tasks) as usize, (draw() % tasks) as usize);
        shift(&mut order, from, to);
        let moved = measure.cost(piece, &order);
        // Nothing but products: the same on every machine.
        let heat = HEAT * (1.0 - step as f64 / moves as f64);
        let luck = draw() as f64 / (1u64 << 31) as f64;
        if moved <= cost * (1.0 + heat * luck) {
            cost = moved;
            if cost < best.0 {
                best = (cost, order.clone());
            }
        } else {
            // The move undone.
            shift(&mut order, to, from);
        }
    }
    best.1
}

/// Moves the task at one place to another.
fn shift(order: &mut [u32], from: usize, to: usize) {
    if from < to {
        order[from..=to].rotate_left(1);
    } else {
        order[to..=from].rotate_right(1);
    }
}

/// What a line costs.
struct Measure {
    place: Vec<u32>,
    /// By place: the last one that shares a prize with it.
    last: Vec<u32>,
    change: Vec<i32>,
}

impl Measure {
    fn new(piece: &Puzzle) -> Measure {
        Measure {
            place: vec![0; piece.len()],
            last: vec![0; piece.len()],
            change: vec![0; piece.len() + 1],
        }
    }

    fn cost(&mut self, piece: &Puzzle, order: &[u32]) -> f64 {
        for (i, &v) in order.iter().enumerate() {
            self.place[wide(v)] = narrow(i);
        }
        self.last.fill(0);
        for p in 0..narrow(piece.shared()) {
            let places = piece.needs(p).iter().map(|&v| self.place[wide(v)]);
            let behind = places.clone().max().unwrap_or(0);
            for i in places {
                let last = &mut self.last[wide(i)];
                *last = behind.max(*last);
            }
        }
        self.change.fill(0);
        for (i, &last) in self.last.iter().enumerate() {
            if wide(last) > i {
                self.change[i] += 1;
                self.change[wide(last)] -= 1;
            }
        }
        let mut matter = 0;
        let states = self.change.iter().map(|change| {
            matter += change;
            // As a float, since places with more than 64 tasks that matter occur, and only comparisons follow.
            2f64.powi(matter)
        });
        states.sum()
    }
}

/// From `start` on, always to the task that leaves fewest prizes open.
fn greedy_from(piece: &Puzzle, start: u32) -> Vec<u32> {
    let mut left = piece.needs_left();
    let mut placed = vec![false; piece.len()];
    let mut order = Vec::with_capacity(piece.len());
    let mut next = Some(start);
    while let Some(v) = next {
        placed[wide(v)] = true;
        order.push(v);
        (piece.prizes(v).iter()).for_each(|&p| left[wide(p)] -= 1);
        let change = |v: u32| -> i64 {
            let prizes = piece.prizes(v).iter().map(|&p| {
                let is_new = wide(left[wide(p)]) == piece.needs(p).len();
                i64::from(is_new) - i64::from(left[wide(p)] == 1)
            });
            prizes.sum()
        };
        let free = (0..narrow(piece.len())).filter(|&v| !placed[wide(v)]);
        next = free.min_by_key(|&v| (change(v), v));
    }
    order
}
