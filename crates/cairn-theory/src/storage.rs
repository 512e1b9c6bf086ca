//! What files take on a disk while tasks are executed: who writes them, who reads them, how many bytes. Knows no cap and
//! no file system.
//!
//! A file is reserved when its producer starts, and freed when its last consumer has finished. A file that is *kept* is
//! never freed; one that nobody reads and nobody keeps is freed when its own task finishes. A task may need scratch
//! space while it runs. For a set X of started tasks that is closed under parents,
//!
//! - L(X) is the sum of the files made in X that are kept or have a consumer outside X;
//! - need(X, v) = L(X) + all that v writes + its scratch: what is in use while v alone runs after X;
//! - the peak of an order is the largest need along it.
//!
//! L is submodular: L(X ∪ Y) + L(X ∩ Y) ≤ L(X) + L(Y). Every rule and bound on storage rests on that.

use cairn_dag::{TaskId, narrow, wide};
use cairn_kernel::{Rows, places};
use std::ops::Range;

/// All bytes of a flow together must stay below this, so that sums and differences fit in 64 bits.
// An exbibyte: sums of a few such sums, and their differences as signed numbers, still fit.
pub const MOST_BYTES: u64 = 1 << 60;

/// A file, by number: those of the first task first, then those of the second, and so on; then those without a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// As an index into a `Vec` with one entry a file.
    #[inline]
    pub fn index(self) -> usize {
        wide(self.0)
    }
}

/// One file to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The task that writes it; `None` where it lies there from the beginning, and counts.
    pub producer: Option<TaskId>,
    /// Its size.
    pub bytes: u64,
    /// Whether it is never freed.
    pub is_kept: bool,
    /// Tasks that read it, in any order.
    pub consumers: Vec<TaskId>,
}

/// Why files cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// A task that is not there.
    #[error("there is no task number {}", .0.0)]
    NoTask(TaskId),
    /// Too much in all, at this file (by its place in what was given) or later.
    #[error("all sizes together are more than 2^60 bytes")]
    TooLarge {
        /// Where the sum first passes the limit; `None` in the scratch space.
        file: Option<usize>,
    },
}

/// Files with bytes, producers, consumers and marks, and the scratch space of tasks.
///
/// ```
/// use cairn_dag::TaskId;
/// use cairn_theory::storage::{Storage, Stored};
/// // a writes 5 bytes for b, which writes 2 that are kept.
/// let [a, b] = [TaskId(0), TaskId(1)];
/// let first = Stored { producer: Some(a), bytes: 5, is_kept: false, consumers: vec![b] };
/// let last = Stored { producer: Some(b), bytes: 2, is_kept: true, consumers: vec![] };
/// let (storage, _) = Storage::new(2, vec![first, last], vec![]).unwrap();
/// assert_eq!(storage.needs(&[a, b]), [5, 7]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// By task, where its files begin; and the end, where those without a producer begin.
    first: Vec<u32>,
    bytes: Vec<u64>,
    is_kept: Vec<bool>,
    consumers: Rows,
    inputs: Rows,
    /// By task; nothing at all where no task needs any.
    scratch: Vec<u64>,
    total: u64,
}

impl Storage {
    /// Numbers the files by their producers; says for each, in the order given, its number. A task that reads what it
    /// writes itself is no consumer, and one that is named twice is one.
    ///
    /// `scratch` has one number a task, or none.
    ///
    /// # Errors
    /// If a task is not there, or all together is too much.
    ///
    /// # Panics
    /// If `scratch` has another length.
    pub fn new(
        tasks: usize,
        files: Vec<Stored>,
        scratch: Vec<u64>,
    ) -> Result<(Storage, Vec<FileId>), StorageError> {
        assert!(
            scratch.is_empty() || scratch.len() == tasks,
            "one number a task"
        );
        let mut total = 0u64;
        for (number, file) in files.iter().enumerate() {
            let all = file.producer.iter().chain(&file.consumers);
            if let Some(&task) = all.into_iter().find(|t| t.index() >= tasks) {
                return Err(StorageError::NoTask(task));
            }
            let sum = total.checked_add(file.bytes).filter(|s| *s < MOST_BYTES);
            let file = Some(number);
            total = sum.ok_or(StorageError::TooLarge { file })?;
        }
        for &bytes in &scratch {
            let sum = total.checked_add(bytes).filter(|s| *s < MOST_BYTES);
            total = sum.ok_or(StorageError::TooLarge { file: None })?;
        }
        // Files without a producer form a last row, behind those of all tasks.
        let row = |file: &Stored| file.producer.map_or(tasks, TaskId::index);
        // Stable, so that the files of a task keep the order of the input.
        let numbered = files.iter().map(|file| narrow(row(file))).zip(0u32..);
        let by_producer = Rows::by_row(tasks + 1, numbered);
        let given = by_producer.items();
        let readers = (given.iter().zip(0u32..)).flat_map(|(&i, number)| {
            let file = &files[wide(i)];
            // That a task reads what it wrote is no reason to keep it after the task.
            let others = file.consumers.iter().filter(|c| Some(**c) != file.producer);
            others.map(move |c| (number, c.0))
        });
        let mut consumers = Rows::by_row(files.len(), readers);
        consumers.sort_and_merge();
        let pairs = (consumers.iter().zip(0u32..))
            .flat_map(|(row, file)| row.iter().map(move |&t| (t, file)));
        let inputs = Rows::by_row(tasks, pairs);
        // Few workflows say anything of it: then no memory is spent.
        let is_some = scratch.iter().any(|&s| s > 0);
        let storage = Storage {
            first: (0..=tasks)
                .map(|row| narrow(by_producer.range(row).start))
                .collect(),
            bytes: given.iter().map(|&i| files[wide(i)].bytes).collect(),
            is_kept: given.iter().map(|&i| files[wide(i)].is_kept).collect(),
            consumers,
            inputs,
            scratch: if is_some { scratch } else { Vec::new() },
            total,
        };
        Ok((storage, places(given).into_iter().map(FileId).collect()))
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.first.len() - 1
    }

    /// All files.
    pub fn files(&self) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (0..narrow(self.bytes.len())).map(FileId)
    }

    /// The files that a task writes.
    #[inline]
    pub fn outputs(&self, task: TaskId) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (self.first[task.index()]..self.first[task.index() + 1]).map(FileId)
    }

    /// The files that lie there from the beginning.
    pub fn initial(&self) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (self.first[self.tasks()]..narrow(self.bytes.len())).map(FileId)
    }

    /// The bytes that are live before the first task.
    pub fn live_at_first(&self) -> u64 {
        let there = self.initial().filter(|&f| self.outlives(f));
        there.map(|f| self.bytes(f)).sum()
    }

    /// The files that a task reads and that count.
    #[inline]
    pub fn inputs(&self, task: TaskId) -> impl ExactSizeIterator<Item = FileId> + Clone + '_ {
        self.inputs.row(task.index()).iter().map(|&f| FileId(f))
    }

    /// The tasks that read a file, by number.
    #[inline]
    pub fn consumers(&self, file: FileId) -> impl ExactSizeIterator<Item = TaskId> + Clone + '_ {
        self.consumers.row(file.index()).iter().map(|&t| TaskId(t))
    }

    /// Where the consumers of a file are among the consumers of all.
    #[inline]
    pub fn consumer_slots(&self, file: FileId) -> Range<usize> {
        self.consumers.range(file.index())
    }

    /// The consumers of all files, one file after the other.
    pub fn all_consumers(&self) -> &[u32] {
        self.consumers.items()
    }

    /// The task that writes a file. O(log tasks).
    pub fn producer(&self, file: FileId) -> Option<TaskId> {
        // Tasks that write nothing begin where the next one does: of equals the last has the file.
        let after = self.first.partition_point(|&first| first <= file.0);
        (after <= self.tasks()).then(|| TaskId::new(after - 1))
    }

    /// The size of a file.
    #[inline]
    pub fn bytes(&self, file: FileId) -> u64 {
        self.bytes[file.index()]
    }

    /// Whether a file is never freed.
    #[inline]
    pub fn is_kept(&self, file: FileId) -> bool {
        self.is_kept[file.index()]
    }

    /// Whether a file stays when its own task has finished: it is kept, or somebody reads it.
    #[inline]
    pub fn outlives(&self, file: FileId) -> bool {
        self.is_kept(file) || !self.consumer_slots(file).is_empty()
    }

    /// What a task needs besides its files while it runs.
    #[inline]
    pub fn scratch(&self, task: TaskId) -> u64 {
        self.scratch.get(task.index()).copied().unwrap_or(0)
    }

    /// All that is reserved when a task starts: what it writes, and its scratch.
    #[inline]
    pub fn reserved(&self, task: TaskId) -> u64 {
        let written: u64 = self.outputs(task).map(|f| self.bytes(f)).sum();
        written + self.scratch(task)
    }

    /// What a task writes and what stays when it has finished.
    #[inline]
    pub fn lasting(&self, task: TaskId) -> u64 {
        let stays = self.outputs(task).filter(|&f| self.outlives(f));
        stays.map(|f| self.bytes(f)).sum()
    }

    /// All bytes together, scratch included.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The file turns out to have another size.
    ///
    /// # Errors
    /// If all together would be too much; nothing is changed then.
    pub fn resize(&mut self, file: FileId, bytes: u64) -> Result<(), StorageError> {
        // Its bytes are part of the total, so this cannot go below zero.
        let rest = self.total - self.bytes(file);
        let sum = rest.checked_add(bytes).filter(|s| *s < MOST_BYTES);
        self.total = sum.ok_or(StorageError::TooLarge {
            file: Some(file.index()),
        })?;
        self.bytes[file.index()] = bytes;
        Ok(())
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        4 * self.first.capacity()
            + 8 * (self.bytes.capacity() + self.scratch.capacity())
            + self.is_kept.capacity()
            + self.consumers.heap_bytes()
            + self.inputs.heap_bytes()
    }

    /// need(X, v) for each task v of an order and the tasks X before it. O(files + consumers).
    ///
    /// # Panics
    /// If `order` names a task twice.
    pub fn needs(&self, order: &[TaskId]) -> Vec<u64> {
        let count = |f: FileId| narrow(self.consumer_slots(f).len());
        let mut left: Vec<u32> = self.files().map(count).collect();
        let mut live = self.live_at_first();
        let step = |&task: &TaskId| {
            // Inputs still count while the task runs: they are freed only below.
            let need = live + self.reserved(task);
            live += self.lasting(task);
            for file in self.inputs(task) {
                let left = &mut left[file.index()];
                *left = left.checked_sub(1).expect("a task is executed once");
                if *left == 0 && !self.is_kept(file) {
                    live -= self.bytes(file);
                }
            }
            need
        };
        order.iter().map(step).collect()
    }

    /// The largest need along an order. O(files + consumers).
    pub fn peak(&self, order: &[TaskId]) -> u64 {
        self.needs(order).into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::{Random, random_dag};

    /// L(X) and need(X, v) from their definitions.
    fn obvious_need(storage: &Storage, done: &[TaskId], task: TaskId) -> u64 {
        let mut sum = storage.scratch(task);
        for file in storage.files() {
            let producer = storage.producer(file);
            let made = producer.is_none_or(|p| done.contains(&p));
            let wanted = storage.consumers(file).any(|c| !done.contains(&c));
            if (made && (storage.is_kept(file) || wanted)) || producer == Some(task) {
                sum += storage.bytes(file);
            }
        }
        sum
    }

    #[test]
    fn needs_are_as_defined_and_producers_are_found() {
        let mut random = Random::new(1);
        for round in 0..3000 {
            let dag = random_dag(random.below(12), round % 5, round as u64);
            let mut files = Vec::new();
            for task in dag.tasks().chain([TaskId(u32::MAX)]) {
                let producer = Some(task).filter(|t| t.index() < dag.len());
                let readers: Vec<TaskId> = match producer {
                    Some(t) => dag.children(t).to_vec(),
                    None => dag.tasks().collect(),
                };
                for _ in 0..random.below(3) {
                    let consumers = readers.iter().filter(|_| random.below(2) == 0).copied();
                    let consumers = consumers.collect();
                    let is_kept = random.below(4) == 0;
                    let bytes = random.below(9) as u64;
                    files.push(Stored {
                        producer,
                        bytes,
                        is_kept,
                        consumers,
                    });
                }
            }
            random.shuffle(&mut files);
            let scratch = dag.tasks().map(|_| random.below(3) as u64).collect();
            let (storage, numbers) = Storage::new(dag.len(), files.clone(), scratch).unwrap();
            for (file, &number) in files.iter().zip(&numbers) {
                assert_eq!(storage.producer(number), file.producer);
                assert_eq!(storage.bytes(number), file.bytes);
                assert!(storage.consumers(number).eq(file.consumers.iter().copied()));
                assert!(
                    file.producer
                        .is_none_or(|p| storage.outputs(p).any(|f| f == number))
                );
            }
            let order = dag.topological_order();
            for (i, need) in storage.needs(order).into_iter().enumerate() {
                assert_eq!(
                    need,
                    obvious_need(&storage, &order[..i], order[i]),
                    "{dag:?}"
                );
            }
        }
    }

    #[test]
    fn enormous_sizes_are_refused_and_never_wrap() {
        let file = |bytes| Stored {
            producer: Some(TaskId(0)),
            bytes,
            is_kept: false,
            consumers: vec![],
        };
        let new = |sizes: &[u64], scratch: &[u64]| {
            let files = sizes.iter().map(|&b| file(b)).collect();
            Storage::new(1, files, scratch.to_vec()).map(|(s, _)| s.total())
        };
        assert_eq!(new(&[MOST_BYTES - 1], &[0]), Ok(MOST_BYTES - 1));
        let too_large = |file| Err(StorageError::TooLarge { file });
        assert_eq!(new(&[1, MOST_BYTES - 1], &[0]), too_large(Some(1)));
        assert_eq!(new(&[u64::MAX, u64::MAX], &[0]), too_large(Some(0)));
        assert_eq!(new(&[1], &[u64::MAX]), too_large(None));
        let stranger = Stored {
            consumers: vec![TaskId(7)],
            ..file(1)
        };
        assert_eq!(
            Storage::new(1, vec![stranger], vec![]).map(|_| ()),
            Err(StorageError::NoTask(TaskId(7)))
        );
        let (mut one, numbers) = Storage::new(1, vec![file(1)], vec![]).unwrap();
        assert!(one.resize(numbers[0], u64::MAX).is_err() && one.total() == 1);
        assert!(one.resize(numbers[0], 5).is_ok() && one.total() == 5);
    }

    #[test]
    fn who_reads_its_own_file_or_reads_twice_is_counted_once() {
        let [a, b] = [TaskId(0), TaskId(1)];
        let file = Stored {
            producer: Some(a),
            bytes: 3,
            is_kept: false,
            consumers: vec![b, a, b],
        };
        let (storage, numbers) = Storage::new(2, vec![file], vec![]).unwrap();
        assert!(storage.consumers(numbers[0]).eq([b]));
        assert_eq!(storage.needs(&[a, b]), [3, 3]);
    }
}
