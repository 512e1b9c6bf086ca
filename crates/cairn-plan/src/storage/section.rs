//! A part of a dag with its files, between two sets of tasks: what lies before is done, what lies after is out of reach.
//! Knows no order's quality.
//!
//! Files from before are there from the beginning; files that somebody reads later are kept. So a section is a small dag
//! with storage of its own, and whatever is true of a whole dag is true of it.

use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Rows, long, narrow, places, wide};
use cairn_theory::storage::{FileId, Storage, Stored};

/// Tasks numbered from 0, with their arcs and files.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    parents: Rows,
    children: Rows,
    pub(crate) storage: Storage,
    reserved: Vec<i64>,
    lasting: Vec<i64>,
}

/// A number of bytes that may be subtracted from: all of a flow's fit.
#[inline]
pub(crate) fn signed(bytes: u64) -> i64 {
    debug_assert!(bytes < 1 << 62);
    bytes as i64
}

impl Section {
    /// All tasks of a dag.
    pub(crate) fn whole(dag: &Dag, storage: &Storage) -> Section {
        assert_eq!(dag.len(), storage.tasks(), "files of another dag");
        let arcs: Vec<(u32, u32)> = dag.arcs().map(|(p, c)| (p.0, c.0)).collect();
        Section::new(&arcs, storage.clone())
    }

    fn new(arcs: &[(u32, u32)], storage: Storage) -> Section {
        let count = storage.tasks();
        let tasks = || (0..count).map(TaskId::new);
        Section {
            parents: Rows::by_row(count, arcs.iter().map(|&(p, c)| (c, p))),
            children: Rows::by_row(count, arcs.iter().copied()),
            reserved: tasks().map(|t| signed(storage.reserved(t))).collect(),
            lasting: tasks().map(|t| signed(storage.lasting(t))).collect(),
            storage,
        }
    }

    /// The tasks `order[from..to]`, numbered in that order, when all before them are executed. `live` is L of those.
    pub(crate) fn part(&self, order: &[TaskId], from: usize, to: usize, live: i64) -> Section {
        let place = places(order);
        let inside = |t: TaskId| (from..to).contains(&wide(place[t.index()]));
        let local = |t: TaskId| TaskId(place[t.index()] - narrow(from));
        let mut arcs = Vec::new();
        let mut files = Vec::new();
        let mut scratch = Vec::new();
        let mut fixed = live;
        // A file that several tasks of the part read is listed by the first of them.
        let mut seen = hashbrown::HashSet::new();
        for &task in &order[from..to] {
            let children = self.children(task).filter(|&c| inside(c));
            arcs.extend(children.map(|c| (local(task).0, local(c).0)));
            scratch.push(self.storage.scratch(task));
            for file in self.storage.outputs(task) {
                let consumers = self.storage.consumers(file);
                // A consumer of a file made here cannot lie before: outside means later.
                let later = consumers.clone().any(|c| !inside(c));
                files.push(Stored {
                    producer: Some(local(task)),
                    bytes: self.storage.bytes(file),
                    is_kept: later || self.storage.is_kept(file),
                    consumers: consumers.filter(|&c| inside(c)).map(local).collect(),
                });
            }
            for file in self.storage.inputs(task) {
                // A file made inside is listed with its producer; one that stays here is part of what is fixed.
                let consumers = self.storage.consumers(file);
                let is_here = self.storage.producer(file).is_some_and(inside);
                let stays = self.storage.is_kept(file)
                    || consumers.clone().any(|c| wide(place[c.index()]) >= to);
                if is_here || stays || !seen.insert(file) {
                    continue;
                }
                let bytes = self.storage.bytes(file);
                fixed -= signed(bytes);
                files.push(Stored {
                    producer: None,
                    bytes,
                    is_kept: false,
                    consumers: consumers.filter(|&c| inside(c)).map(local).collect(),
                });
            }
        }
        files.push(Stored {
            producer: None,
            // All that is live before and freed by nobody here, as one file that is kept.
            bytes: u64::try_from(fixed).expect("what is there counts as live"),
            is_kept: true,
            consumers: Vec::new(),
        });
        let (storage, _) =
            Storage::new(to - from, files, scratch).expect("part of what was counted");
        Section::new(&arcs, storage)
    }

    /// Number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.storage.tasks()
    }

    /// All tasks.
    pub(crate) fn tasks(&self) -> impl ExactSizeIterator<Item = TaskId> + use<> {
        (0..narrow(self.len())).map(TaskId)
    }

    /// By task: how many parents it has, to be counted down.
    pub(crate) fn parents_left(&self) -> Vec<u32> {
        self.parents.lengths().collect()
    }

    #[inline]
    pub(crate) fn parents(&self, task: TaskId) -> impl ExactSizeIterator<Item = TaskId> + '_ {
        self.parents.row(task.index()).iter().map(|&t| TaskId(t))
    }

    #[inline]
    pub(crate) fn children(
        &self,
        task: TaskId,
    ) -> impl ExactSizeIterator<Item = TaskId> + DoubleEndedIterator + '_ {
        self.children.row(task.index()).iter().map(|&t| TaskId(t))
    }

    /// What a task writes, and its scratch.
    #[inline]
    pub(crate) fn reserved(&self, task: TaskId) -> i64 {
        self.reserved[task.index()]
    }

    /// What stays of a task's files when it has finished.
    #[inline]
    pub(crate) fn lasting(&self, task: TaskId) -> i64 {
        self.lasting[task.index()]
    }

    #[inline]
    pub(crate) fn bytes(&self, file: FileId) -> i64 {
        signed(self.storage.bytes(file))
    }

    /// What a task reads, all its inputs together.
    pub(crate) fn read(&self, task: TaskId) -> i64 {
        self.storage.inputs(task).map(|f| self.bytes(f)).sum()
    }

    /// About how many steps it takes to look at everything once.
    pub(crate) fn steps(&self) -> u64 {
        let size = self.len() + self.children.items().len() + self.storage.all_consumers().len();
        long(size) + 1
    }

    /// need(X, v) along an order.
    pub(crate) fn needs(&self, order: &[TaskId]) -> Vec<i64> {
        (self.storage.needs(order).into_iter())
            .map(signed)
            .collect()
    }
}
