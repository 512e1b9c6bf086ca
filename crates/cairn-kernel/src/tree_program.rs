//! The best so many tasks of a puzzle that is a tree or nearly one, by a (max,+) program. Knows nothing of orders.
//!
//! Tasks and prizes, joined by needs and gates, are the vertices of a graph; a vertex is *on* when the task is chosen or the
//! prize gained. Where the graph is a forest, a program over subtrees gives the best gain for every number of chosen
//! tasks: that of Malewicz and Rosenberg, "On batch-scheduling dags for Internet-based computing", §5, without its inner
//! loop over sink choices. Where a few vertices spoil that, both states of each of them are tried (cutset conditioning).

use crate::convolution::{Price, convolve, convolve_into};
use crate::{Id, Puzzle, Rows, Work, long, narrow, places};
use std::ops::Range;

/// Steps for a table beside those for its entries: it is cleared, and cut. A judgement.
const TABLE: u64 = 2;

/// The best gain for 0..=min(tasks, most) chosen tasks of a puzzle that is a forest. O(tasks·most), by cutting tables
/// at subtree sizes and at `most`. `None` when the work is over.
///
/// ```
/// use cairn_kernel::{Puzzle, Rows, Work, tree_program};
/// let mut shared = Rows::default();
/// shared.push([0, 1]);
/// let puzzle = Puzzle::new(vec![0, 0, 1], &shared);
/// assert_eq!(tree_program::profile(&puzzle, 3, &mut Work::unlimited()), Some(vec![0, 1, 1, 2]));
/// ```
pub fn profile<T: Id, P: Id>(
    puzzle: &Puzzle<T, P>,
    most: usize,
    work: &mut Work<'_>,
) -> Option<Vec<u32>> {
    let program = Program::new(puzzle, &[], most);
    Some(program.best(&[], work)?.best)
}

/// Work for [`profile`], as a number of steps; several entries of a table are filled at once.
pub fn cost(puzzle: &Puzzle, most: usize) -> u64 {
    // Eight for a task, whatever its tables (a judgement), and eight entries a step, as convolutions are charged.
    long(puzzle.len()) * (8 + long(puzzle.len().min(most)) / 8)
}

/// The best gain for every number of tasks, where at most `most_cut` vertices meet all cycles, and how many states of
/// those were tried; `None` where it takes more vertices, or the work is over. O(2^cut·tasks²).
///
/// ```
/// use cairn_kernel::{Puzzle, Rows, Work, tree_program};
/// let mut shared = Rows::default();
/// [[0, 1], [1, 2], [0, 2]].map(|needs| shared.push(needs).len());
/// let ring = Puzzle::new(vec![0; 3], &shared);
/// let found = tree_program::profile_by_cutset(&ring, 1, &mut Work::unlimited());
/// assert_eq!(found.map(|(profile, _)| profile), Some(vec![0, 0, 1, 3]));
/// assert_eq!(tree_program::profile_by_cutset(&ring, 0, &mut Work::unlimited()), None);
/// ```
pub fn profile_by_cutset<T: Id, P: Id>(
    puzzle: &Puzzle<T, P>,
    most_cut: usize,
    work: &mut Work<'_>,
) -> Option<(Vec<u32>, u64)> {
    let cut = Graph::new(puzzle).cutset(most_cut)?;
    let program = Program::new(puzzle, &cut, puzzle.len());
    let mut best = vec![0; puzzle.len() + 1];
    let mut tried = 0;
    // At most 2^`most_cut` states, of which callers allow 14; a contradiction among them costs a step, no program.
    for mask in 0u64..1 << cut.len() {
        work.take(1)?;
        let is_on = |i: usize| mask >> i & 1 == 1;
        let Some(forced) = program.graph.forced(&cut, is_on) else {
            continue;
        };
        tried += 1;
        let inside = program.best(&forced, work)?;
        let (mut chosen, mut gained) = (0, 0);
        for (_, &v) in cut.iter().enumerate().filter(|&(i, _)| is_on(i)) {
            let (count, gain) = program.graph.worth(v);
            chosen += count;
            gained += gain;
        }
        // Every state's table is for at most so many tasks, so the maximum over states never falls, either.
        for (t, slot) in best.iter_mut().enumerate().skip(chosen) {
            if let Some(gain) = inside.view().at(t - chosen) {
                *slot = (*slot).max(gain + gained);
            }
        }
    }
    Some((best, tried))
}

/// A set of exactly `count` tasks that gains what [`profile`] says for `count`, of a forest without gates.
/// O(tasks·count). `None` when the work is over.
///
/// ```
/// use cairn_kernel::{Puzzle, Rows, Work, tree_program};
/// let mut shared = Rows::default();
/// shared.push([0, 2]);
/// let puzzle = Puzzle::new(vec![0, 0, 0], &shared);
/// let mut set = tree_program::choose(&puzzle, 2, &mut Work::unlimited()).unwrap();
/// set.sort();
/// assert_eq!(set, [0, 2]);
/// ```
pub fn choose<T: Id, P: Id>(
    puzzle: &Puzzle<T, P>,
    count: usize,
    work: &mut Work<'_>,
) -> Option<Vec<T>> {
    let program = Program::new(puzzle, &[], count);
    let tables = program.fill(&[], true, work)?;
    let place = places(&program.order);
    let mut picked = Vec::with_capacity(count);
    let roots = program.roots.iter().map(|&root| (root, None)).collect();
    // (vertex, whether it is on, how many may be chosen of it and all below)
    // Tables were kept for every vertex, not only for the roots: the way down reads them again.
    let mut todo = tables.shared_among(roots, count, work)?;
    // From the roots down: the state and the share of a vertex decide those of what hangs from it.
    while let Some((v, is_on, count)) = todo.pop() {
        let mut left = count;
        if is_on && v.index() < puzzle.len() {
            picked.push(T::new(v.index()));
            left -= 1;
        }
        let below = program.below.row(place[v.index()].index()).iter();
        // One join lets a vertex follow the one above when that is on, the other when it is off.
        let below = below.map(|&(u, is_implied)| (u, (is_on == is_implied).then_some(is_on)));
        todo.extend(tables.shared_among(below.collect(), left, work)?);
    }
    // Tables say "at most", so fewer may have been picked; without gates any others may fill up.
    Some(fill_up(picked, count, puzzle.len()))
}

/// The set with the first other tasks, so that it has `count`.
pub fn fill_up<T: Id>(mut set: Vec<T>, count: usize, tasks: usize) -> Vec<T> {
    let mut has = vec![false; tasks];
    set.iter().for_each(|v| has[v.index()] = true);
    let others = (0..tasks).filter(|&v| !has[v]).map(T::new);
    set.extend(others.take(count - set.len()));
    set
}

/// Tasks are vertices `0..tasks`, prizes follow.
struct Graph<'a, T, P> {
    puzzle: &'a Puzzle<T, P>,
    /// By prize: the tasks that wait for it; nothing at all without gates.
    behind: Rows<T>,
}

impl<'a, T: Id, P: Id> Graph<'a, T, P> {
    fn new(puzzle: &'a Puzzle<T, P>) -> Graph<'a, T, P> {
        Graph {
            puzzle,
            behind: puzzle.behind(),
        }
    }

    fn len(&self) -> usize {
        self.puzzle.len() + self.puzzle.shared()
    }

    /// Each neighbour of a vertex, and whether it is on whenever the vertex is: else the vertex is on whenever it is.
    /// A prize implies the tasks that it needs, a task implies its gate.
    #[inline]
    fn each_neighbour(&self, vertex: u32, mut see: impl FnMut(u32, bool)) {
        let tasks = self.puzzle.len();
        let prize_vertex = |p: P| narrow(tasks + p.index());
        match vertex.index().checked_sub(tasks) {
            None => {
                let task = T::new(vertex.index());
                (self.puzzle.prizes(task).iter()).for_each(|&p| see(prize_vertex(p), false));
                if let Some(gate) = self.puzzle.gate(task) {
                    see(prize_vertex(gate), true);
                }
            }
            Some(prize) => {
                let needs = self.puzzle.needs(P::new(prize)).iter();
                needs.for_each(|t| see(narrow(t.index()), true));
                if !self.behind.is_empty() {
                    (self.behind.row(prize).iter()).for_each(|t| see(narrow(t.index()), false));
                }
            }
        }
    }

    /// How many tasks a vertex counts for when it is on, and what it gains.
    fn worth(&self, vertex: u32) -> (usize, u32) {
        let (tasks, vertex) = (self.puzzle.len(), vertex.index());
        match vertex.checked_sub(tasks) {
            None => (1, self.puzzle.own[vertex]),
            Some(prize) => (0, self.puzzle.weight[prize]),
        }
    }

    /// Vertices whose removal leaves a forest: repeatedly the one of highest degree in the 2-core.
    fn cutset(&self, most: usize) -> Option<Vec<u32>> {
        // Smallest cutsets are NP-hard to find; the greedy one is short on the graphs met here, and its length is only
        // time.
        let mut is_cut = vec![false; self.len()];
        let mut cut = Vec::new();
        while let Some(vertex) = self.busiest_in_core(&is_cut) {
            if cut.len() == most {
                return None;
            }
            is_cut[vertex.index()] = true;
            cut.push(vertex);
        }
        Some(cut)
    }

    /// The 2-core is what remains when leaves are taken away for as long as there are any.
    fn busiest_in_core(&self, is_cut: &[bool]) -> Option<u32> {
        let mut gone = is_cut.to_vec();
        let vertices = 0..narrow(self.len());
        let mut degree = vec![0u32; self.len()];
        for v in vertices.clone() {
            self.each_neighbour(v, |u, _| degree[v.index()] += u32::from(!is_cut[u.index()]));
        }
        let mut leaves: Vec<u32> = (vertices.clone())
            .filter(|v| !gone[v.index()] && degree[v.index()] <= 1)
            .collect();
        while let Some(v) = leaves.pop() {
            // It may have become a leaf twice: by its last and by its last but one neighbour.
            if std::mem::replace(&mut gone[v.index()], true) {
                continue;
            }
            self.each_neighbour(v, |u, _| {
                if !gone[u.index()] {
                    degree[u.index()] -= 1;
                    if degree[u.index()] <= 1 {
                        leaves.push(u);
                    }
                }
            });
        }
        // A vertex of many arcs breaks many cycles; of equals the last, which is a prize where there is one.
        let core = vertices.filter(|v| !gone[v.index()]);
        core.max_by_key(|&v| (degree[v.index()], v))
    }

    /// By vertex: what the states of the cut force it to; `None` when they contradict each other.
    fn forced(&self, cut: &[u32], is_on: impl Fn(usize) -> bool) -> Option<Vec<Option<bool>>> {
        let mut forced = vec![None; self.len()];
        for (i, v) in cut.iter().enumerate() {
            forced[v.index()] = Some(is_on(i));
        }
        let mut is_possible = true;
        for (i, &v) in cut.iter().enumerate() {
            // What is on forces on what it implies; what is off forces off what implies it.
            self.each_neighbour(v, |u, is_implied| {
                if is_implied == is_on(i) {
                    let state = forced[u.index()].get_or_insert(is_implied);
                    is_possible &= *state == is_implied;
                }
            });
        }
        is_possible.then_some(forced)
    }
}

/// The graph without the vertices of a cut, each tree hung from its first vertex.
struct Program<'a, T, P> {
    graph: Graph<'a, T, P>,
    /// Each vertex before all below it, those below one vertex side by side.
    order: Vec<u32>,
    /// By place in `order`: what hangs from the vertex, and whether it is on whenever the vertex is.
    below: Rows<(u32, bool)>,
    roots: Vec<u32>,
    /// The largest number of tasks of interest.
    most: usize,
}

impl<'a, T: Id, P: Id> Program<'a, T, P> {
    fn new(puzzle: &'a Puzzle<T, P>, cut: &[u32], most: usize) -> Program<'a, T, P> {
        let graph = Graph::new(puzzle);
        let vertices = graph.len();
        let mut seen = vec![false; vertices];
        cut.iter().for_each(|v| seen[v.index()] = true);
        let mut order = Vec::with_capacity(vertices);
        let mut below = Rows::default();
        let mut roots = Vec::new();
        let (mut todo, mut found) = (Vec::new(), Vec::new());
        for root in 0..narrow(vertices) {
            if std::mem::replace(&mut seen[root.index()], true) {
                continue;
            }
            // Any root gives the same profile: the first vertex left will do.
            roots.push(root);
            todo.push(root);
            while let Some(v) = todo.pop() {
                order.push(v);
                graph.each_neighbour(v, |u, is_implied| {
                    if !std::mem::replace(&mut seen[u.index()], true) {
                        found.push((u, is_implied));
                    }
                });
                // In reverse, so that the stack hands them out in their order and each subtree is one stretch of
                // `order`.
                todo.extend(found.iter().rev().map(|&(u, _)| u));
                below.push(found.drain(..));
            }
        }
        Program {
            graph,
            order,
            below,
            roots,
            most,
        }
    }

    /// The best gain in the whole forest; `None` when the work is over.
    fn best(&self, forced: &[Option<bool>], work: &mut Work<'_>) -> Option<Sum> {
        let tables = self.fill(forced, false, work)?;
        let (mut sum, mut either) = (Sum::nothing(), Sum::default());
        let mut spare = Vec::new();
        for &root in &self.roots {
            let (off, on) = tables.of(root);
            either.set_better(off, on, self.most);
            sum.add(either.view(), self.most, &mut spare, work)?;
        }
        Some(sum)
    }

    /// Fills the tables from below; without `keep` only those of the roots remain. `None` when the work is over.
    fn fill(&self, forced: &[Option<bool>], keep: bool, work: &mut Work<'_>) -> Option<Tables> {
        let mut tables = Tables {
            cells: Vec::new(),
            place: vec![Place::default(); self.graph.len()],
            most: self.most,
        };
        let (mut off, mut on, mut either) = (Sum::default(), Sum::default(), Sum::default());
        let mut spare = Vec::new();
        // From the end of the order, so that all below a vertex is filled before it.
        for (i, &v) in self.order.iter().enumerate().rev() {
            off.reset();
            on.reset();
            let mut lowest = tables.cells.len();
            for &(u, is_implied) in self.below.row(i) {
                lowest = lowest.min(tables.place[u.index()].off.start);
                let (u_off, u_on) = tables.of(u);
                either.set_better(u_off, u_on, self.most);
                let (when_off, when_on) = match is_implied {
                    true => (either.view(), u_on),
                    false => (u_off, either.view()),
                };
                // Subtrees one by one, each table no longer than the tasks below: in all O(tasks·most), not
                // O(tasks·most²).
                off.add(when_off, self.most, &mut spare, work)?;
                on.add(when_on, self.most, &mut spare, work)?;
            }
            let (count, gain) = self.graph.worth(v);
            on.raise(count, gain, self.most);
            match forced.get(v.index()).copied().flatten() {
                // An empty table is "impossible", and stays so through every sum above it.
                Some(true) => off.best.clear(),
                Some(false) => on.best.clear(),
                None => {}
            }
            if !keep {
                // What lies below one vertex was written last.
                tables.cells.truncate(lowest);
            }
            tables.push(v, &off, &on);
        }
        Some(tables)
    }
}

/// The best gain by number of tasks chosen at the most, from the least number possible on. It never falls, and past the
/// end it stays level. Empty where nothing is possible.
#[derive(Clone, Copy)]
struct Table<'a> {
    least: usize,
    best: &'a [u32],
}

impl Table<'_> {
    fn at(self, count: usize) -> Option<u32> {
        let last = self.best.len().checked_sub(1)?;
        let more = count.checked_sub(self.least)?;
        Some(self.best[more.min(last)])
    }

    /// One more than the last number of tasks that has an entry.
    fn end(self) -> usize {
        self.least + self.best.len()
    }
}

/// A table that is being added up.
#[derive(Default)]
struct Sum {
    least: usize,
    best: Vec<u32>,
}

impl Sum {
    fn nothing() -> Sum {
        let mut sum = Sum::default();
        sum.reset();
        sum
    }

    fn reset(&mut self) {
        self.least = 0;
        self.best.clear();
        self.best.push(0);
    }

    fn view(&self) -> Table<'_> {
        Table {
            least: self.least,
            best: &self.best,
        }
    }

    /// With one more table, cut after `most` tasks; `None` when the work is over.
    fn add(
        &mut self,
        more: Table<'_>,
        most: usize,
        spare: &mut Vec<u32>,
        work: &mut Work<'_>,
    ) -> Option<()> {
        work.take(TABLE)?;
        self.least += more.least;
        // Impossible with either, or more tasks than anybody asks for.
        if self.best.is_empty() || more.best.is_empty() || self.least > most {
            self.best.clear();
            return Some(());
        }
        let room = Some(most - self.least);
        convolve_into(&self.best, more.best, room, Price::Time, work, spare)?;
        std::mem::swap(&mut self.best, spare);
        Some(())
    }

    /// So many tasks more, and so much gain.
    fn raise(&mut self, count: usize, gain: u32, most: usize) {
        self.least += count;
        let room = (most + 1).saturating_sub(self.least);
        self.best.truncate(room);
        if gain > 0 {
            self.best.iter_mut().for_each(|x| *x += gain);
        }
    }

    /// Becomes the better of two tables, up to `most` tasks.
    fn set_better(&mut self, a: Table<'_>, b: Table<'_>, most: usize) {
        let (a, b) = match (a.best, b.best) {
            ([], _) => (b, a),
            (_, []) => (a, b),
            _ if b.least < a.least => (b, a),
            _ => (a, b),
        };
        self.least = a.least;
        self.best.clear();
        self.best.extend_from_slice(a.best);
        let (Some(&level), Some(&b_level)) = (a.best.last(), b.best.last()) else {
            return;
        };
        let end = a.end().max(b.end()).min(most + 1);
        self.best.resize(end - a.least, level);
        let from = (b.least - a.least).min(self.best.len());
        let (both, past) = {
            let tail = &mut self.best[from..];
            let both = tail.len().min(b.best.len());
            tail.split_at_mut(both)
        };
        for (slot, &x) in both.iter_mut().zip(b.best) {
            *slot = (*slot).max(x);
        }
        past.iter_mut()
            .for_each(|slot| *slot = (*slot).max(b_level));
    }
}

/// Where the tables of a vertex are.
#[derive(Clone, Default)]
struct Place {
    off: Range<usize>,
    on_end: usize,
    least: [usize; 2],
}

/// Tables of all vertices, one after the other.
struct Tables {
    cells: Vec<u32>,
    place: Vec<Place>,
    most: usize,
}

impl Tables {
    fn push(&mut self, vertex: u32, off: &Sum, on: &Sum) {
        let start = self.cells.len();
        self.cells.extend_from_slice(&off.best);
        let middle = self.cells.len();
        self.cells.extend_from_slice(&on.best);
        self.place[vertex.index()] = Place {
            off: start..middle,
            on_end: self.cells.len(),
            least: [off.least, on.least],
        };
    }

    /// Off, and on.
    fn of(&self, vertex: u32) -> (Table<'_>, Table<'_>) {
        let place = &self.place[vertex.index()];
        let [off, on] = place.least;
        let table = |least, cells: Range<usize>| Table {
            least,
            best: &self.cells[cells],
        };
        (
            table(off, place.off.clone()),
            table(on, place.off.end..place.on_end),
        )
    }

    /// Shares at most `count` tasks among vertices side by side, whose states may be given, so that they gain most: the
    /// state and the share of each; `None` when the work is over.
    fn shared_among(
        &self,
        vertices: Vec<(u32, Option<bool>)>,
        count: usize,
        work: &mut Work<'_>,
    ) -> Option<Vec<(u32, bool, usize)>> {
        let mut arrays = Vec::with_capacity(vertices.len());
        for &(v, state) in &vertices {
            let (off, on) = self.of(v);
            let mut sum = Sum::default();
            match state {
                None => sum.set_better(off, on, self.most),
                Some(true) => sum.set_better(on, on, self.most),
                Some(false) => sum.set_better(off, off, self.most),
            }
            arrays.push(sum);
        }
        // No underflow: `count` has an entry in the table of the vertex above, which was made of these.
        let forced: usize = arrays.iter().map(|a| a.least).sum();
        let shares = split(&arrays, count - forced, work)?;
        let shared = vertices.into_iter().zip(arrays).zip(shares);
        let decided = shared.map(|(((v, state), array), share)| {
            let share = share + array.least;
            let (off, on) = self.of(v);
            (v, state.unwrap_or(on.at(share) > off.at(share)), share)
        });
        Some(decided.collect())
    }
}

/// Shares at most `count` among the tables, beside what each takes at the least, so that the sum is largest; no share is
/// larger than it is worth. `None` when the work is over.
fn split(arrays: &[Sum], count: usize, work: &mut Work<'_>) -> Option<Vec<usize>> {
    let level = |table: &[u32], count: usize| table[count.min(table.len() - 1)];
    let mut sums = vec![vec![0]];
    for array in arrays {
        work.take(TABLE)?;
        let before = &sums[sums.len() - 1];
        sums.push(convolve(
            before,
            &array.best,
            Some(count),
            Price::Time,
            work,
        )?);
    }
    let mut left = count;
    let mut shares = vec![0; arrays.len()];
    // Back from the last: `sums[i]` is the best of those before i, so each share is found against what it leaves them.
    for (i, array) in arrays.iter().enumerate().rev() {
        let goal = level(&sums[i + 1], left);
        let fits = |&take: &usize| array.best[take] + level(&sums[i], left - take) == goal;
        shares[i] = (0..array.best.len().min(left + 1))
            .find(fits)
            .expect("the sum has its parts");
        left -= shares[i];
    }
    Some(shares)
}

#[cfg(test)]
mod tests;
