//! At least so many bytes lie there before a task, whatever was executed: shown by a flow as large. Knows no order.
//!
//! A set X of executed tasks that is closed under parents is a cut of a network: X on the source's side. Whoever is in X
//! draws its parents along, by arcs that carry anything; a file hangs between its writer and its readers by an arc as wide
//! as the file, which X cuts where the file is written and still wanted. What flows from the source to the sink is no more
//! than any cut, and so no more than the bytes of any X that fits.

use crate::files::Files;
use crate::width::long;
use crate::work::Work;
use cairn_dag::Dag;

/// Wider than every cut that is least.
// Above all bytes (below 2⁶⁰), and far enough from the end of 64 bits that what flows back can be added.
const TOO_WIDE: u64 = u64::MAX / 4;

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// There is such a flow.
    Yes,
    /// There is none: some set has fewer bytes.
    No,
    /// What must be in and what must be out contradict each other.
    Impossible,
    /// The steps were too few to tell.
    Unknown,
}

/// A network for one question.
struct Network {
    to: Vec<usize>,
    room: Vec<u64>,
    /// By node: its arcs. That back has the number of the other with its last bit turned.
    arcs: Vec<Vec<usize>>,
}

impl Network {
    fn join(&mut self, from: usize, to: usize, there: u64, back: u64) {
        self.arcs[from].push(self.to.len());
        self.arcs[to].push(self.to.len() + 1);
        self.to.extend([to, from]);
        self.room.extend([there, back]);
    }
}

/// Whether at least `goal` bytes lie there whenever the tasks `within` and all before them are executed, and those `out` and
/// all after them are not.
pub(crate) fn at_least(
    dag: &Dag,
    files: &Files,
    within: &[usize],
    out: &[usize],
    goal: u64,
    work: &mut Work,
) -> Shown {
    let side = match sides(dag, within, out) {
        Some(side) => side,
        None => return Shown::Impossible,
    };
    let tasks = dag.len();
    let (source, sink) = (tasks + files.all.len(), tasks + files.all.len() + 1);
    // Built anew for every question, without a trick: what is checked here must be easy to read.
    let mut network = Network {
        to: Vec::new(),
        room: Vec::new(),
        arcs: vec![Vec::new(); sink + 1],
    };
    for (parent, child) in dag.arcs() {
        // A child in X with its parent outside would cut this arc, which no least cut does: so X is closed.
        network.join(child.index(), parent.index(), TOO_WIDE, 0);
    }
    for (number, file) in files.all.iter().enumerate() {
        let writer = file.writer.unwrap_or(source);
        if file.is_kept {
            network.join(writer, sink, file.bytes, 0);
            continue;
        }
        network.join(writer, tasks + number, file.bytes, 0);
        for &reader in &file.readers {
            network.join(tasks + number, reader, TOO_WIDE, 0);
        }
    }
    for (task, side) in side.into_iter().enumerate() {
        match side {
            Some(true) => network.join(source, task, TOO_WIDE, 0),
            Some(false) => network.join(task, sink, TOO_WIDE, 0),
            None => (),
        }
    }
    flow(&mut network, source, sink, goal, work)
}

/// By task: whether it must be in, or out; nothing where the two meet.
fn sides(dag: &Dag, within: &[usize], out: &[usize]) -> Option<Vec<Option<bool>>> {
    let mut side = vec![None; dag.len()];
    for (ends, is_in) in [(within, true), (out, false)] {
        let mut todo = ends.to_vec();
        while let Some(task) = todo.pop() {
            match side[task] {
                Some(known) if known == is_in => continue,
                Some(_) => return None,
                None => side[task] = Some(is_in),
            }
            let id = cairn_dag::TaskId::new(task);
            let next = if is_in {
                dag.parents(id)
            } else {
                dag.children(id)
            };
            todo.extend(next.iter().map(|t| t.index()));
        }
    }
    Some(side)
}

/// Pushes flow from source to sink, level by level (Dinic 1970), until it is as large as the goal.
fn flow(network: &mut Network, source: usize, sink: usize, goal: u64, work: &mut Work) -> Shown {
    let mut total = 0u64;
    while total < goal {
        let mut level = vec![None; network.arcs.len()];
        level[source] = Some(0u32);
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for &arc in &network.arcs[node] {
                let next = network.to[arc];
                if network.room[arc] > 0 && level[next].is_none() {
                    level[next] = level[node].map(|l| l + 1);
                    queue.push_back(next);
                }
            }
        }
        // No way is left: the flow is largest, hence as large as some cut, and that is below the goal.
        if level[sink].is_none() {
            return Shown::No;
        }
        if !work.afford(long(network.to.len())) {
            return Shown::Unknown;
        }
        let mut cursor = vec![0; network.arcs.len()];
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        // One path after the other, each as wide as its narrowest arc.
        loop {
            if !work.afford(1) {
                return Shown::Unknown;
            }
            if node == sink {
                let width = path.iter().map(|&a| network.room[a]).min().unwrap_or(0);
                for &arc in &path {
                    network.room[arc] -= width;
                    network.room[arc ^ 1] += width;
                }
                work.wear(long(path.len()));
                total = total.saturating_add(width);
                // Back to the first arc that is full: beyond it the path is dead.
                let full = path.iter().position(|&a| network.room[a] == 0).unwrap_or(0);
                node = network.to[path[full] ^ 1];
                path.truncate(full);
                if total >= goal {
                    break;
                }
                continue;
            }
            let arcs = &network.arcs[node];
            let below = level[node].map(|l| l + 1);
            let goes = |&&arc: &&usize| network.room[arc] > 0 && level[network.to[arc]] == below;
            let found = arcs[cursor[node]..].iter().position(|arc| goes(&arc));
            match (found, path.pop()) {
                (Some(skip), last) => {
                    path.extend(last);
                    cursor[node] += skip;
                    let arc = arcs[cursor[node]];
                    path.push(arc);
                    node = network.to[arc];
                }
                (None, Some(arc)) => {
                    node = network.to[arc ^ 1];
                    cursor[node] += 1;
                }
                (None, None) => break,
            }
        }
    }
    Shown::Yes
}
