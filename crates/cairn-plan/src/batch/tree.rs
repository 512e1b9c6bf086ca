//! The best r tasks of a tree-shaped piece: the program of \[MR05\], §5, without its inner loop over sink choices.
//! Knows nothing of other pieces.

use super::piece::Piece;

/// Gains below zero stand for "impossible".
const NEVER: i32 = i32::MIN / 4;

/// The tree rooted at task 0, in an order in which parents come first.
struct Rooted {
    order: Vec<u32>,
    /// By task: the prize above it.
    above: Vec<u32>,
}

fn root(piece: &Piece) -> Rooted {
    let mut rooted = Rooted {
        order: vec![0],
        above: vec![u32::MAX; piece.len()],
    };
    let mut next = 0;
    while next < rooted.order.len() {
        let u = rooted.order[next];
        next += 1;
        for &p in &piece.prizes[u as usize] {
            if p == rooted.above[u as usize] {
                continue;
            }
            for &v in piece.needs[p as usize].iter().filter(|&&v| v != u) {
                rooted.above[v as usize] = p;
                rooted.order.push(v);
            }
        }
    }
    rooted
}

/// By task: the best gain in its subtree when it is left out or chosen, by number of chosen tasks. The prize above
/// the task is not counted.
struct Tables {
    out: Vec<Vec<i32>>,
    chosen: Vec<Vec<i32>>,
}

/// The best gain for 0..=min(tasks, most) chosen tasks. O(tasks·most), by cutting arrays at subtree sizes and at
/// `most`.
pub(super) fn profile(piece: &Piece, most: usize) -> Vec<u32> {
    let tables = fill(piece, &root(piece), most, false);
    let best = larger(&tables.out[0], &tables.chosen[0]);
    best.into_iter().map(|x| x as u32).collect()
}

/// Work for [`profile`], as a number of steps.
pub(super) fn cost(piece: &Piece, most: usize) -> u64 {
    piece.len() as u64 * piece.len().min(most) as u64
}

fn fill(piece: &Piece, rooted: &Rooted, most: usize, keep: bool) -> Tables {
    let mut tables = Tables {
        out: vec![Vec::new(); piece.len()],
        chosen: vec![Vec::new(); piece.len()],
    };
    for &u in rooted.order.iter().rev() {
        let mut out = vec![0];
        let mut chosen = vec![0];
        for &p in below(piece, rooted, u) {
            let (left_out, taken) = subtrees(piece, &tables, u, p, most);
            out = convolve(&out, &left_out, most);
            chosen = convolve(&chosen, &taken, most);
            if !keep {
                for &v in piece.needs[p as usize].iter().filter(|&&v| v != u) {
                    tables.out[v as usize] = Vec::new();
                    tables.chosen[v as usize] = Vec::new();
                }
            }
        }
        // Both arrays run over 0..=subtree size, cut at `most`.
        out.push(NEVER);
        chosen.insert(0, NEVER);
        out.truncate(most + 1);
        chosen.truncate(most + 1);
        tables.out[u as usize] = out;
        tables.chosen[u as usize] = chosen;
    }
    tables
}

fn below<'a>(piece: &'a Piece, rooted: &'a Rooted, u: u32) -> impl Iterator<Item = &'a u32> {
    let above = rooted.above[u as usize];
    piece.prizes[u as usize]
        .iter()
        .filter(move |&&p| p != above)
}

/// The subtrees under prize `p` of task `u`: when `u` is left out, and when it is chosen, with the prize's weight.
fn subtrees(piece: &Piece, tables: &Tables, u: u32, p: u32, most: usize) -> (Vec<i32>, Vec<i32>) {
    let mut any = vec![0];
    let mut all = vec![0];
    for &v in piece.needs[p as usize].iter().filter(|&&v| v != u) {
        let (out, chosen) = (&tables.out[v as usize], &tables.chosen[v as usize]);
        any = convolve(&any, &larger(out, chosen), most);
        all = convolve(&all, chosen, most);
    }
    let weight = piece.weight[p as usize] as i32;
    all.iter_mut()
        .filter(|x| **x >= 0)
        .for_each(|x| *x += weight);
    let taken = larger(&any, &all);
    (any, taken)
}

fn larger(a: &[i32], b: &[i32]) -> Vec<i32> {
    a.iter().zip(b).map(|(x, y)| *x.max(y)).collect()
}

fn convolve(a: &[i32], b: &[i32], most: usize) -> Vec<i32> {
    if a.len() == 1 && a[0] == 0 {
        return b.to_vec();
    }
    let mut out = vec![NEVER; (a.len() + b.len() - 1).min(most + 1)];
    for (i, &x) in a.iter().enumerate().filter(|e| *e.1 >= 0) {
        if i >= out.len() {
            break;
        }
        for (slot, &y) in out[i..].iter_mut().zip(b) {
            *slot = (*slot).max(x + y);
        }
    }
    // A sum with NEVER may lie a little above it: level it, so that it stays impossible.
    out.iter_mut().filter(|x| **x < 0).for_each(|x| *x = NEVER);
    out
}

/// A set of exactly `count` tasks that gains what [`profile`] says for `count`. O(tasks·count).
pub(super) fn choose(piece: &Piece, count: usize) -> Vec<u32> {
    let rooted = root(piece);
    let tables = fill(piece, &rooted, count, true);
    let mut picked = Vec::with_capacity(count);
    let is_chosen = tables.chosen[0].get(count) >= tables.out[0].get(count);
    // (task, whether it is chosen, how many in its subtree)
    let mut todo = vec![(0u32, is_chosen, count)];
    while let Some((u, is_chosen, count)) = todo.pop() {
        if is_chosen {
            picked.push(u);
        }
        let left = count - usize::from(is_chosen);
        let prizes: Vec<u32> = below(piece, &rooted, u).copied().collect();
        let offers: Vec<(Vec<i32>, Vec<i32>)> = (prizes.iter())
            .map(|&p| subtrees(piece, &tables, u, p, left))
            .collect();
        let arrays: Vec<&[i32]> = (offers.iter())
            .map(|(out, taken)| if is_chosen { &taken[..] } else { &out[..] })
            .collect();
        for (i, share) in split(&arrays, left).into_iter().enumerate() {
            let p = prizes[i];
            let under: Vec<u32> = (piece.needs[p as usize].iter().copied())
                .filter(|&v| v != u)
                .collect();
            // The prize is gained when its weight makes the difference and all below it are chosen.
            let gained = is_chosen && offers[i].1[share] > offers[i].0[share];
            let tables_of = |v: u32| {
                if gained {
                    tables.chosen[v as usize].clone()
                } else {
                    larger(&tables.out[v as usize], &tables.chosen[v as usize])
                }
            };
            let arrays: Vec<Vec<i32>> = under.iter().map(|&v| tables_of(v)).collect();
            let arrays: Vec<&[i32]> = arrays.iter().map(Vec::as_slice).collect();
            for (v, share) in under.into_iter().zip(split(&arrays, share)) {
                let (out, chosen) = (&tables.out[v as usize], &tables.chosen[v as usize]);
                let is_chosen = gained || chosen[share] > out[share];
                todo.push((v, is_chosen, share));
            }
        }
    }
    picked
}

/// Shares `count` among the arrays so that the sum is largest.
fn split(arrays: &[&[i32]], count: usize) -> Vec<usize> {
    let mut sums = vec![vec![0]];
    for array in arrays {
        sums.push(convolve(&sums[sums.len() - 1], array, count));
    }
    let mut left = count;
    let mut shares = vec![0; arrays.len()];
    for i in (0..arrays.len()).rev() {
        let goal = sums[i + 1][left];
        let fits = |&take: &usize| {
            let rest = left.checked_sub(take).and_then(|l| sums[i].get(l)).copied();
            rest.is_some_and(|r| r >= 0 && arrays[i][take] >= 0 && r + arrays[i][take] == goal)
        };
        shares[i] = (0..arrays[i].len())
            .find(fits)
            .expect("the sum has its parts");
        left -= shares[i];
    }
    shares
}
