//! Whether a bipartite tree has an IC-optimal order: exact rules, within a limit on the work. Knows the profile from
//! the tree program.

use super::name::{Name, Names};
use super::part::{Part, Stage, parts};
use super::program::{best_at_price, profile};
use crate::Bipartite;
use crate::budgets::tree::{MOST_CELLS, MOST_UNSPLIT};
use crate::eager::eager_order;
use crate::strand::Strand;
use cairn_kernel::{Price, Stopped, Work, convolve, corners, long, narrow, places, wide};
use std::collections::{HashMap, HashSet};

/// An IC-optimal order of a tree or forest, in its own numbering; none where none exists.
type Decided = Result<Option<Vec<u32>>, Stopped>;

pub(super) struct Solver<'a, 'w> {
    work: &'a mut Work<'w>,
    /// Whether to try strands, hull vertices and the eager order. Tests also do without.
    shortcuts: bool,
    names: Names,
    /// Decided shapes; orders as places in the shape's own list of sources.
    known: HashMap<Name, Option<Vec<u32>>>,
}

impl<'a, 'w> Solver<'a, 'w> {
    pub(super) fn new(work: &'a mut Work<'w>) -> Solver<'a, 'w> {
        Solver {
            work,
            shortcuts: true,
            names: Names::default(),
            known: HashMap::new(),
        }
    }

    /// Decides a connected tree with this profile.
    pub(super) fn decide_tree(&mut self, tree: &Bipartite, profile: &[u32]) -> Decided {
        if tree.sources() == 1 {
            return Ok(Some(vec![0]));
        }
        if let Some(strand) = Strand::recognise(tree).filter(|_| self.shortcuts) {
            return Ok(Some(strand.schedule()));
        }
        // Regular trees fall into the same few shapes again and again: each is decided once.
        let shape = self.names.shape(tree);
        if let Some(known) = self.known.get(&shape.name) {
            return Ok(renamed(known.clone(), |place| shape.sources[wide(place)]));
        }
        // Only now: the hull of a known shape would be found for nothing.
        let vertices = corners(profile);
        // With two corners, the ends, the hull says nothing.
        let decision = if vertices.len() > 2 && self.shortcuts {
            self.decide_intervals(tree, profile, &vertices)?
        } else {
            self.decide_by_first_reward(tree, profile)?
        };
        let place = places(&shape.sources);
        let canonical = renamed(decision.clone(), |source| place[wide(source)]);
        self.known.insert(shape.name, canonical);
        Ok(decision)
    }

    /// Every IC-optimal order passes through the unique optima at the vertices of the hull.
    fn decide_intervals(
        &mut self,
        tree: &Bipartite,
        profile: &[u32],
        vertices: &[usize],
    ) -> Decided {
        let mut stage = vec![Stage::Later; tree.sources()];
        let mut order = Vec::new();
        let mut undecided = None;
        for (i, pair) in vertices.windows(2).enumerate() {
            let [from, to] = [pair[0], pair[1]];
            let inner = match vertices.get(i + 2) {
                Some(&next) => unique_optimum(tree, profile, from, to, next),
                None => vec![true; tree.sources()],
            };
            for (slot, _) in stage.iter_mut().zip(&inner).filter(|(_, x)| **x) {
                if *slot == Stage::Later {
                    *slot = Stage::Now;
                }
            }
            let wanted = from_first(&profile[from..=to]);
            // One interval without an order settles it, even if another is too much work.
            match self.decide_forest(parts(tree, &stage), &wanted) {
                Ok(Some(next)) => order.extend(next),
                Ok(None) => return Ok(None),
                Err(out) => undecided = Some(out),
            }
            for slot in stage.iter_mut().filter(|s| **s == Stage::Now) {
                *slot = Stage::Executed;
            }
        }
        undecided.map_or(Ok(Some(order)), Err)
    }

    /// Tries every set of sources that can have been executed when the first sink becomes eligible.
    fn decide_by_first_reward(&mut self, tree: &Bipartite, profile: &[u32]) -> Decided {
        let order = eager_order(tree);
        if self.shortcuts && tree.profile(&order) == profile {
            return Ok(Some(order));
        }
        if tree.sources() > MOST_UNSPLIT {
            return Err(Stopped);
        }
        let mut tried: HashSet<Vec<Name>> = HashSet::new();
        let mut undecided = None;
        for first in first_rewards(tree, profile) {
            let mut stage = vec![Stage::Now; tree.sources()];
            for &u in &first {
                stage[wide(u)] = Stage::Executed;
            }
            let rest = parts(tree, &stage);
            let mut shapes: Vec<Name> = rest
                .iter()
                .map(|p| self.names.shape(&p.block).name)
                .collect();
            shapes.sort_unstable();
            // What remains looks the same as after an earlier try, so it has the same answer.
            if !tried.insert(shapes) {
                continue;
            }
            let done = first.len();
            let wanted = from_first(&profile[done..]);
            match self.decide_forest(rest, &wanted) {
                Ok(Some(next)) => {
                    return Ok(Some([first, next].concat()));
                }
                Ok(None) => {}
                Err(out) => undecided = Some(out),
            }
        }
        undecided.map_or(Ok(None), Err)
    }

    /// An order of all sources of `forest` (in the numbering its names are in) that attains `wanted`.
    fn decide_forest(&mut self, forest: Vec<Part>, wanted: &[u32]) -> Decided {
        let mut profiles = Vec::with_capacity(forest.len());
        for part in &forest {
            let size = part.block.sources() + 1;
            // Paid before, whole: what a tree costs is then the same wherever the program finds it easy.
            self.work.pay(long(size * size))?;
            profiles.push(profile(&part.block, self.work)?);
        }
        let mut all = vec![0];
        for next in &profiles {
            all = convolved(&all, next, self.work)?;
        }
        // The best that is left cannot keep up with the whole tree's profile: this way is a dead end.
        if all != wanted {
            return Ok(None);
        }
        let mut undecided = None;
        let mut orders = Vec::new();
        for (part, profile) in forest.iter().zip(profiles) {
            match self.decide_tree(&part.block, &profile) {
                Ok(Some(order)) => {
                    let order = order.iter().map(|&u| part.names[wide(u)]).collect();
                    orders.push((profile, order));
                }
                Ok(None) => return Ok(None),
                Err(out) => undecided = Some(out),
            }
        }
        if let Some(out) = undecided {
            return Err(out);
        }
        // Any two components of a sum with an IC-optimal order have one together: merge in any sequence.
        let mut merged: Attained = (vec![0], Vec::new());
        for (profile, order) in orders {
            if merged.0.len() * profile.len() > MOST_CELLS {
                return Err(Stopped);
            }
            let Some(both) = merge(&merged, &(profile, order), self.work)? else {
                return Ok(None);
            };
            merged = both;
        }
        Ok(Some(merged.1))
    }
}

fn renamed(decision: Option<Vec<u32>>, name: impl Fn(u32) -> u32) -> Option<Vec<u32>> {
    decision.map(|order| order.into_iter().map(name).collect())
}

/// What a stretch of a profile gains over its first entry.
fn from_first(profile: &[u32]) -> Vec<u32> {
    profile.iter().map(|e| e - profile[0]).collect()
}

fn rise(profile: &[u32], from: usize, to: usize) -> i64 {
    i64::from(profile[to]) - i64::from(profile[from])
}

/// The one optimal set of `here` sources, a vertex of the hull between `before` and `after`.
fn unique_optimum(
    tree: &Bipartite,
    profile: &[u32],
    before: usize,
    here: usize,
    after: usize,
) -> Vec<bool> {
    // A price strictly between the slopes of the two edges: their mediant.
    let reward = (after - before) as i64;
    let cost = rise(profile, before, after);
    // Nothing lost by ties: at this price the optimum is unique.
    let best = best_at_price(tree, reward, cost);
    debug_assert_eq!(best.iter().filter(|x| **x).count(), here);
    best
}

/// The sets of sources that can have been executed when the first sinks become eligible in an optimal order.
fn first_rewards(tree: &Bipartite, profile: &[u32]) -> Vec<Vec<u32>> {
    let fewest = (0..narrow(tree.sinks())).map(|v| tree.parents(v).len());
    match fewest.min() {
        // Without sinks there is nothing to gain.
        None => vec![(0..narrow(tree.sources())).collect()],
        Some(1) => {
            let alone = |u: u32| {
                let children = tree.children(u).iter();
                narrow(children.filter(|&&v| tree.parents(v).len() == 1).count())
            };
            (0..narrow(tree.sources()))
                .filter(|&u| alone(u) == profile[1])
                .map(|u| vec![u])
                .collect()
        }
        Some(fewest) => (0..narrow(tree.sinks()))
            .map(|v| tree.parents(v).to_vec())
            .filter(|parents| parents.len() == fewest)
            .collect(),
    }
}

/// The convolution, an entry a step. Where it is too dear, something cheaper can still be tried.
fn convolved(a: &[u32], b: &[u32], work: &mut Work<'_>) -> Result<Vec<u32>, Stopped> {
    let cells = long(a.len()) * long(b.len());
    let sum = (work.can_afford(cells)).then(|| convolve(a, b, None, Price::Entries, work));
    sum.flatten().ok_or(Stopped)
}

/// A profile, and an order that attains it.
type Attained = (Vec<u32>, Vec<u32>);

/// A merge of two orders that attains the convolution of their profiles at every step; `None` if there is none.
/// O(|a|·|b|).
fn merge(a: &Attained, b: &Attained, work: &mut Work<'_>) -> Result<Option<Attained>, Stopped> {
    // Pays for the table below as well, which has as many cells.
    let best = convolved(&a.0, &b.0, work)?;
    let (width, height) = (a.0.len(), b.0.len());
    // Cell (x, y): x sources of the first and y of the second, reached through cells that attain the convolution.
    let mut reached = vec![false; width * height];
    for x in 0..width {
        for y in 0..height {
            let from = x == 0 && y == 0
                || x > 0 && reached[(x - 1) * height + y]
                || y > 0 && reached[x * height + y - 1];
            reached[x * height + y] = from && a.0[x] + b.0[y] == best[x + y];
        }
    }
    let (mut x, mut y) = (width - 1, height - 1);
    if !reached[x * height + y] {
        return Ok(None);
    }
    let mut order = Vec::with_capacity(x + y);
    while x + y > 0 {
        if x > 0 && reached[(x - 1) * height + y] {
            x -= 1;
            order.push(a.1[x]);
        } else {
            y -= 1;
            order.push(b.1[y]);
        }
    }
    order.reverse();
    Ok(Some((best, order)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A random tree graph with a sink on every edge, and one or two private sinks at some sources: often without an
    /// IC-optimal order.
    fn subdivided_tree() -> impl Strategy<Value = Bipartite> {
        prop::collection::vec((any::<u32>(), 0u32..3, 0u32..4), 2..11).prop_map(|nodes| {
            let mut arcs = Vec::new();
            let mut sink = 0;
            for (&(above, private, wide), u) in nodes.iter().zip(0u32..) {
                if u > 0 {
                    let near = u - 1 - above % u.min(if wide == 0 { u } else { 2 });
                    arcs.extend([(near, sink), (u, sink)]);
                    sink += 1;
                }
                for _ in 0..private / 2 {
                    arcs.push((u, sink));
                    sink += 1;
                }
            }
            Bipartite::from_arcs(nodes.len(), sink as usize, arcs)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The shortcuts change neither verdict.
        #[test]
        fn shortcuts_do_not_matter(tree in subdivided_tree()) {
            let best = profile(&tree, &Work::unlimited()).unwrap();
            let decided = |shortcuts| {
                let mut work = Work::unlimited();
                let mut solver = Solver::new(&mut work);
                solver.shortcuts = shortcuts;
                match solver.decide_tree(&tree, &best).expect("small trees are decided") {
                    Some(order) => {
                        assert_eq!(tree.profile(&order), best);
                        true
                    }
                    None => false,
                }
            };
            prop_assert_eq!(decided(true), decided(false));
        }
    }

    #[test]
    fn no_work_no_verdict() {
        // Source 0 in the middle of three others, all with two private sinks but the last with one.
        let arcs = vec![
            (0, 0),
            (1, 0),
            (0, 1),
            (2, 1),
            (0, 2),
            (3, 2),
            (1, 3),
            (2, 4),
            (3, 5),
            (1, 6),
        ];
        let tree = Bipartite::from_arcs(4, 7, arcs);
        let best = profile(&tree, &Work::unlimited()).unwrap();
        let mut work = Work::steps(0);
        let mut solver = Solver::new(&mut work);
        solver.shortcuts = false;
        assert!(solver.decide_tree(&tree, &best).is_err());
    }
}
