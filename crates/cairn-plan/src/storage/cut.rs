//! The least live bytes before a given task: a minimum cut, by Dinic's algorithm. Knows no orders.
//!
//! A set X of executed tasks that is closed under parents, holds all ancestors of v and not v itself, is a cut: tasks in
//! X on the side of the source. An arc from a task to its parent that no cut can pass keeps X closed; an arc from a
//! task to its file, as wide as the file, and on to its consumers, costs the file where it is made and still wanted.

use super::section::Section;
use cairn_dag::TaskId;
use cairn_kernel::{NONE, Rows, Stopped, Work, long, narrow, wide};

/// Wider than every cut that is least.
// All bytes are below 2⁶⁰, so no cut of this width is ever least, and adding flow to it does not overflow.
const TOO_WIDE: i64 = 1 << 61;

/// On which side of a cut a node must be: its pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pinned {
    /// Executed.
    In,
    /// Not executed.
    Out,
    /// As it pleases.
    Free,
}

/// The least L(X), with the smallest and the largest X that has it, by task.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) live: i64,
    pub(crate) smallest: Vec<bool>,
    pub(crate) largest: Vec<bool>,
}

/// The network of a section, to be asked about many tasks.
#[derive(Clone, Debug)]
pub(crate) struct Cuts<'p> {
    section: &'p Section,
    /// By node, the arcs that leave it. Arcs come in pairs: the one back has the number of the other with its last bit
    /// turned.
    leaving: Rows,
    to: Vec<u32>,
    width: Vec<i64>,
    /// By arc: what it can still carry.
    room: Vec<i64>,
    /// By node.
    side: Vec<Pinned>,
    /// By node: arcs to the nearest node that must be out; `NONE` where there is none.
    distance: Vec<u32>,
    cursor: Vec<u32>,
    queue: Vec<u32>,
    path: Vec<u32>,
    source: u32,
    target: u32,
}

impl<'p> Cuts<'p> {
    pub(crate) fn new(section: &'p Section) -> Cuts<'p> {
        let storage = &section.storage;
        // Tasks first, then what is always in, what is always out, and files with several consumers.
        let source = narrow(section.len());
        let target = source + 1;
        let mut nodes = target + 1;
        // (from, to, width, width back)
        let mut arcs: Vec<(u32, u32, i64, i64)> = Vec::new();
        let mut direct: Vec<(u32, i64)> = Vec::new();
        for maker in section.tasks().map(Some).chain([None]) {
            let files: Vec<_> = match maker {
                Some(task) => storage.outputs(task).collect(),
                None => storage.initial().collect(),
            };
            let from = maker.map_or(source, |task| task.0);
            direct.clear();
            if let Some(task) = maker {
                direct.extend(section.children(task).map(|c| (c.0, 0)));
            }
            let children = direct.len();
            for file in files {
                let bytes = section.bytes(file);
                if bytes == 0 || !storage.outlives(file) {
                    continue;
                }
                let mut consumers = storage.consumers(file);
                if storage.is_kept(file) {
                    direct.push((target, bytes));
                } else if consumers.len() == 1 {
                    let only = consumers.next().expect("one consumer").0;
                    // Children are few or sorted; a file of its own for each is the usual case.
                    // On the arc to the child that is there anyhow, which the way back keeps closed: no node and no
                    // arc of its own.
                    match direct[..children].iter_mut().find(|(c, _)| *c == only) {
                        Some((_, sum)) => *sum += bytes,
                        None => direct.push((only, bytes)),
                    }
                } else {
                    direct.push((nodes, bytes));
                    arcs.extend(consumers.map(|c| (nodes, c.0, TOO_WIDE, 0)));
                    nodes += 1;
                }
            }
            for (i, &(to, bytes)) in direct.iter().enumerate() {
                // The endless way back is what keeps X closed: a child in X with its parent outside would cut it.
                let back = if i < children { TOO_WIDE } else { 0 };
                arcs.push((from, to, bytes, back));
            }
        }
        let mut to = Vec::with_capacity(2 * arcs.len());
        let mut width = Vec::with_capacity(2 * arcs.len());
        for &(from, end, there, back) in &arcs {
            to.extend([end, from]);
            width.extend([there, back]);
        }
        let ends = arcs.iter().flat_map(|&(from, end, ..)| [from, end]);
        Cuts {
            section,
            leaving: Rows::by_row(wide(nodes), ends.zip(0u32..)),
            room: Vec::new(),
            side: Vec::new(),
            distance: vec![NONE; wide(nodes)],
            cursor: vec![0; wide(nodes)],
            queue: Vec::new(),
            path: Vec::new(),
            to,
            width,
            source,
            target,
        }
    }

    /// The least live bytes over all sets that hold what is needed for `task` but not the task itself, none of `out`
    /// and what comes after them, and all of `within` and what comes before them.
    ///
    /// # Errors
    /// If the work is over.
    pub(crate) fn before(
        &mut self,
        task: TaskId,
        within: &[TaskId],
        out: &[TaskId],
        work: &mut Work<'_>,
    ) -> Result<Cut, Stopped> {
        work.pay(self.section.steps())?;
        self.side.clear();
        self.side.resize(self.distance.len(), Pinned::Free);
        self.side[wide(self.source)] = Pinned::In;
        self.side[wide(self.target)] = Pinned::Out;
        self.force(&[task], Pinned::Out);
        self.force(out, Pinned::Out);
        self.force(within, Pinned::In);
        let parents: Vec<TaskId> = self.section.parents(task).collect();
        self.force(&parents, Pinned::In);
        self.room.clone_from(&self.width);
        let mut live = 0;
        while self.measure(work)? {
            live += self.augment(work)?;
        }
        let largest = (self.section.tasks())
            .map(|t| self.distance[t.index()] == NONE)
            .collect();
        Ok(Cut {
            live,
            smallest: self.reached(work)?,
            largest,
        })
    }

    /// Puts tasks and all that follow from them on a side.
    fn force(&mut self, tasks: &[TaskId], side: Pinned) {
        let mut todo = tasks.to_vec();
        while let Some(task) = todo.pop() {
            if self.side[task.index()] == side {
                continue;
            }
            debug_assert_eq!(self.side[task.index()], Pinned::Free, "on one side alone");
            self.side[task.index()] = side;
            match side {
                Pinned::In => todo.extend(self.section.parents(task)),
                _ => todo.extend(self.section.children(task)),
            }
        }
    }

    /// Distances to what must be out; whether anything that must be in reaches it.
    fn measure(&mut self, work: &mut Work<'_>) -> Result<bool, Stopped> {
        self.distance.fill(NONE);
        self.queue.clear();
        for node in 0..self.distance.len() {
            if self.side[node] == Pinned::Out {
                self.distance[node] = 0;
                self.queue.push(narrow(node));
            }
        }
        let mut reaches = false;
        let mut looked = 0;
        let mut next = 0;
        while next < self.queue.len() {
            let node = wide(self.queue[next]);
            next += 1;
            let arcs = self.leaving.row(node);
            looked += long(arcs.len()) + 1;
            for &arc in arcs {
                let from = wide(self.to[wide(arc)]);
                if self.distance[from] == NONE && self.room[wide(arc ^ 1)] > 0 {
                    self.distance[from] = self.distance[node] + 1;
                    // Nothing flows through what must be in.
                    match self.side[from] {
                        Pinned::In => reaches = true,
                        _ => self.queue.push(narrow(from)),
                    }
                }
            }
        }
        work.pay(looked)?;
        Ok(reaches)
    }

    /// As much as can be carried along shortest ways.
    fn augment(&mut self, work: &mut Work<'_>) -> Result<i64, Stopped> {
        self.cursor.fill(0);
        let mut total = 0;
        for start in 0..self.distance.len() {
            if self.side[start] == Pinned::In && self.distance[start] != NONE {
                total += self.augment_from(start, work)?;
            }
        }
        Ok(total)
    }

    fn augment_from(&mut self, start: usize, work: &mut Work<'_>) -> Result<i64, Stopped> {
        let mut total = 0;
        let mut node = start;
        let mut looked = 0;
        self.path.clear();
        loop {
            if self.side[node] == Pinned::Out {
                looked += long(self.path.len());
                let rooms = self.path.iter().map(|&arc| self.room[wide(arc)]);
                let amount = rooms.min().expect("the start is not out");
                total += amount;
                let mut full = 0;
                for (i, &arc) in self.path.iter().enumerate().rev() {
                    self.room[wide(arc)] -= amount;
                    self.room[wide(arc ^ 1)] += amount;
                    // The full arc nearest to the start: from its tail on another way is looked for.
                    if self.room[wide(arc)] == 0 {
                        full = i;
                    }
                }
                node = wide(self.to[wide(self.path[full] ^ 1)]);
                self.path.truncate(full);
                continue;
            }
            let arcs = self.leaving.row(node);
            let cursor = &mut self.cursor[node];
            let begun = *cursor;
            let mut found = None;
            while let Some(&arc) = arcs.get(wide(*cursor)) {
                let end = wide(self.to[wide(arc)]);
                // What must be in is no way through: its distance is that of a start.
                let is_next = self.distance[end] != NONE
                    && self.distance[end] + 1 == self.distance[node]
                    && self.side[end] != Pinned::In;
                if is_next && self.room[wide(arc)] > 0 {
                    found = Some((arc, end));
                    break;
                }
                *cursor += 1;
            }
            looked += u64::from(*cursor - begun) + 1;
            match found {
                Some((arc, end)) => {
                    self.path.push(arc);
                    node = end;
                }
                None if node == start => {
                    work.pay(looked)?;
                    return Ok(total);
                }
                None => {
                    let arc = self.path.pop().expect("not at the start");
                    node = wide(self.to[wide(arc ^ 1)]);
                    self.cursor[node] += 1;
                }
            }
        }
    }

    /// The tasks that can be reached from what must be in: the smallest set.
    fn reached(&mut self, work: &mut Work<'_>) -> Result<Vec<bool>, Stopped> {
        let mut is_reached = vec![false; self.distance.len()];
        self.queue.clear();
        for (node, is_reached) in is_reached.iter_mut().enumerate() {
            if self.side[node] == Pinned::In {
                *is_reached = true;
                self.queue.push(narrow(node));
            }
        }
        while let Some(node) = self.queue.pop() {
            for &arc in self.leaving.row(wide(node)) {
                let end = self.to[wide(arc)];
                if self.room[wide(arc)] > 0 && !is_reached[wide(end)] {
                    is_reached[wide(end)] = true;
                    self.queue.push(end);
                }
            }
        }
        work.pay(long(self.leaving.items().len()))?;
        // Tasks come first among the nodes; files and the two ends are cut off.
        is_reached.truncate(self.section.len());
        Ok(is_reached)
    }
}
