//! How large files will be: what the input says and what was measured, by kind of job, with room to spare. Knows no cap,
//! no order and no file system.
//!
//! Files are learnt by *class*: the kind of the task that writes them, which of its outputs they are, and whether the
//! input gives their sizes. Of a class with sizes the largest ratio of measured to expected bytes is kept, of one without
//! the largest number of bytes. What is reserved for the next file is that, times `1 + (safety - 1) / √(files seen)`: the
//! more were seen, the less the next one surprises. Before any was seen, a size from the input counts `safety` times, and
//! a file of unknown size as nothing; so a kind of job with unknown sizes *starts slowly*: one task runs until it is
//! measured, then two, and so on. Whenever none of its kind runs, a task may start: slowness alone never stops a run.

use crate::KindId;
use cairn_dag::TaskId;
use cairn_theory::storage::{FileId, Storage, StorageError};

/// How much larger than expected a file may well be, unless told otherwise.
// Against a spread of 10 % this never overflowed, and cost at most 13 % of the time.
pub const SAFETY: f64 = 1.3;

/// After so many files of a class its kind does not start slowly any more.
// A judgement: by then a fourth of the safety is left as room to spare.
const KNOWN: u32 = 16;

/// Outputs of a task from this one on are of one class.
// The eighth output of a task and its thousandth mostly come out of one loop.
const LAST_OUTPUT: u32 = 7;

/// What is reserved follows what was learnt when it is more by this factor, or less by the next.
// More follows sooner than less: too little breaks a promise, too much only waits. And every change counts places anew, which numbers
// closer to one would have happen with nearly every return. Judgements.
const MORE: f64 = 1.05;
const LESS: f64 = 0.9;

cairn_kernel::ids! {
    /// A class of files, by number.
    pub FileClassId,
}

/// Files of one sort.
#[derive(Clone, Debug, PartialEq)]
struct FileClass {
    kind: KindId,
    /// Which output of its task.
    output: u32,
    is_unknown: bool,
    seen: u32,
    /// The largest ratio, or number of bytes.
    most: f64,
    /// What expected bytes are multiplied by.
    factor: f64,
}

impl FileClass {
    /// What expected bytes are to be multiplied by, after what was seen.
    fn wanted(&self, safety: f64) -> f64 {
        let spare = (safety - 1.0) / f64::from(self.seen.max(1)).sqrt();
        self.most * (1.0 + spare)
    }
}

/// What was learnt of files of one sort: to be kept from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learnt {
    /// The kind of task.
    pub kind: KindId,
    /// Which output of its task.
    pub output: u32,
    /// Whether the input says nothing of their sizes.
    pub is_unknown: bool,
    /// How many were measured.
    pub seen: u32,
    /// The largest ratio of measured to expected bytes; where nothing was expected, the most bytes.
    pub most: f64,
}

/// Tasks of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KindUnderWay {
    running: u32,
    /// The fewest files seen of any class without sizes; `None` where all have.
    seen: Option<u32>,
}

/// What is expected of files, and what was learnt.
///
/// ```
/// use cairn_dag::TaskId;
/// use cairn_engine::{KindId, Sizes};
/// use cairn_theory::storage::{FileId, Storage, Stored};
/// // Two tasks of one kind write a file each; the input says 100 bytes.
/// let file = |task| Stored { producer: Some(TaskId(task)), bytes: 100, is_kept: true, consumers: vec![] };
/// let (storage, _) = Storage::new(2, vec![file(0), file(1)], vec![]).unwrap();
/// let mut sizes = Sizes::new(&storage, vec![KindId(0); 2], &[], 1.3);
/// assert_eq!(sizes.reserve(FileId(1)), 130);
/// sizes.measure(FileId(0), 200);
/// assert_eq!(sizes.reserve(FileId(1)), 260);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    safety: f64,
    /// By task.
    kind: Vec<KindId>,
    /// By file; none of those that are measured, or were there from the beginning.
    class: Vec<Option<FileClassId>>,
    /// By file: what the input says; 1 where it says nothing, so that factors are bytes.
    expected: Vec<f32>,
    classes: Vec<FileClass>,
    kinds: Vec<KindUnderWay>,
}

impl Sizes {
    /// What the input says: the sizes of `storage`, but those of `unknown` files. `kind` has that of each task, equal
    /// for tasks whose files are alike, counted from 0. A safety of less than 1 counts as 1.
    ///
    /// # Panics
    /// If `kind` has another length.
    pub fn new(storage: &Storage, kind: Vec<KindId>, unknown: &[FileId], safety: f64) -> Sizes {
        assert_eq!(kind.len(), storage.tasks(), "one kind a task");
        let safety = if safety >= 1.0 { safety } else { 1.0 };
        // A size of nothing is one that nobody gave.
        let mut is_unknown: Vec<bool> = storage.files().map(|f| storage.bytes(f) == 0).collect();
        unknown.iter().for_each(|f| is_unknown[f.index()] = true);
        let tasks = || (0..storage.tasks()).map(TaskId::new);
        let outputs = || {
            let of = |t: TaskId| storage.outputs(t).zip(0u32..).map(move |(f, i)| (t, f, i));
            tasks().flat_map(of)
        };
        let key = |t: TaskId, f: FileId, i: u32| {
            (kind[t.index()], i.min(LAST_OUTPUT), is_unknown[f.index()])
        };
        let mut keys: Vec<(KindId, u32, bool)> = outputs().map(|(t, f, i)| key(t, f, i)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut class = vec![None; storage.files().len()];
        for (t, f, i) in outputs() {
            let at = keys.binary_search(&key(t, f, i)).expect("it is there");
            class[f.index()] = Some(FileClassId::new(at));
        }
        let count = kind.iter().max().map_or(0, |k| k.index() + 1);
        let mut kinds = vec![KindUnderWay::default(); count];
        for &(kind, _, _) in keys.iter().filter(|(_, _, is_unknown)| *is_unknown) {
            kinds[kind.index()].seen = Some(0);
        }
        let classes = keys
            .into_iter()
            .map(|(kind, output, is_unknown)| FileClass {
                kind,
                output,
                is_unknown,
                seen: 0,
                most: 0.0,
                factor: if is_unknown { 0.0 } else { safety },
            });
        let given = |f: FileId| match is_unknown[f.index()] {
            true => 1.0,
            false => rounded_up(storage.bytes(f)),
        };
        Sizes {
            safety,
            expected: storage.files().map(given).collect(),
            classes: classes.collect(),
            kind,
            class,
            kinds,
        }
    }

    /// What to reserve for a file that is not measured yet.
    pub fn reserve(&self, file: FileId) -> u64 {
        let Some(class) = self.class[file.index()] else {
            return 0;
        };
        let factor = self.classes[class.index()].factor;
        // Saturates: whoever adds it up checks the sum.
        (f64::from(self.expected[file.index()]) * factor).ceil() as u64
    }

    /// Gives all files that are not measured yet the sizes to reserve: before an order is planned.
    ///
    /// # Errors
    /// If all together are too much.
    pub fn apply(&self, storage: &mut Storage) -> Result<(), StorageError> {
        for file in storage.files() {
            if self.class[file.index()].is_some() {
                storage.resize(file, self.reserve(file))?;
            }
        }
        Ok(())
    }

    /// A file turns out to have so many bytes. Says which class is to be reserved otherwise from now on, if any: ask
    /// `Sizes::files_of`. A file is measured once; what comes later is not learnt from.
    pub fn measure(&mut self, file: FileId, bytes: u64) -> Option<FileClassId> {
        let number = self.class[file.index()].take()?;
        let class = &mut self.classes[number.index()];
        let ratio = bytes as f64 / f64::from(self.expected[file.index()]);
        class.seen = class.seen.saturating_add(1);
        class.most = class.most.max(ratio);
        let wanted = class.wanted(self.safety);
        let is_unknown = class.is_unknown;
        let kind = class.kind;
        // One beyond the factor, by however little: another like it would break the promise.
        let is_other = class.most > class.factor
            || wanted > MORE * class.factor
            || wanted < LESS * class.factor;
        if is_other {
            class.factor = wanted;
        }
        if is_unknown {
            let of_kind = |c: &&FileClass| c.is_unknown && c.kind == kind;
            let fewest = match self.kinds[kind.index()].seen {
                // Known well enough: no need to look.
                Some(KNOWN..) => KNOWN,
                _ => {
                    let seen = self.classes.iter().filter(of_kind).map(|c| c.seen);
                    seen.min().unwrap_or(0)
                }
            };
            self.kinds[kind.index()].seen = Some(fewest);
        }
        is_other.then_some(number)
    }

    /// What was learnt, for another run.
    pub fn learnt(&self) -> Vec<Learnt> {
        let seen = self.classes.iter().filter(|c| c.seen > 0);
        let learnt = seen.map(|c| Learnt {
            kind: c.kind,
            output: c.output,
            is_unknown: c.is_unknown,
            seen: c.seen,
            most: c.most,
        });
        learnt.collect()
    }

    /// What an earlier run learnt counts as if it had been seen here. Before anything is measured; afterwards
    /// [`Sizes::apply`].
    pub(crate) fn recall(&mut self, learnt: &[Learnt]) {
        for told in learnt
            .iter()
            .filter(|l| l.most.is_finite() && l.most >= 0.0)
        {
            let key = (told.kind, told.output, told.is_unknown);
            let is_it = |c: &&mut FileClass| (c.kind, c.output, c.is_unknown) == key;
            if let Some(class) = self.classes.iter_mut().find(is_it) {
                class.seen = class.seen.max(told.seen);
                class.most = class.most.max(told.most);
                class.factor = class.wanted(self.safety);
            }
        }
        for (number, kind) in (0..).map(KindId).zip(&mut self.kinds) {
            let of_kind = self
                .classes
                .iter()
                .filter(|c| c.is_unknown && c.kind == number);
            kind.seen = of_kind.map(|c| c.seen).min();
        }
    }

    /// The files of a class that are not measured yet. O(files).
    pub(crate) fn files_of(&self, class: FileClassId) -> impl Iterator<Item = FileId> + '_ {
        let all = self.class.iter().zip(0u32..);
        all.filter(move |(c, _)| **c == Some(class))
            .map(|(_, file)| FileId(file))
    }

    /// Whether a task may start, as far as its kind is known. Always, where none of its kind runs.
    pub(crate) fn may(&self, task: TaskId) -> bool {
        let kind = &self.kinds[self.kind[task.index()].index()];
        kind.seen
            .is_none_or(|seen| seen >= KNOWN || kind.running <= seen)
    }

    /// A task starts.
    pub(crate) fn start(&mut self, task: TaskId) {
        self.kinds[self.kind[task.index()].index()].running += 1;
    }

    /// A task that ran does so no more.
    pub(crate) fn end(&mut self, task: TaskId) {
        let running = &mut self.kinds[self.kind[task.index()].index()].running;
        *running = running.saturating_sub(1);
    }

    /// These tasks run, and no others.
    pub(crate) fn recount(&mut self, running: impl Iterator<Item = TaskId>) {
        self.kinds.iter_mut().for_each(|k| k.running = 0);
        running.for_each(|task| self.start(task));
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        4 * (self.kind.capacity() + self.class.capacity() + self.expected.capacity())
            + size_of::<FileClass>() * self.classes.capacity()
            + size_of::<KindUnderWay>() * self.kinds.capacity()
    }
}

/// The kinds of tasks, numbered from 0, the same for the same word: as [`Sizes::new`] takes them.
///
/// ```
/// assert_eq!(cairn_engine::numbered(["map", "sort", "map"].into_iter()), [0, 1, 0].map(cairn_engine::KindId));
/// ```
pub fn numbered<'a>(kinds: impl Iterator<Item = &'a str>) -> Vec<KindId> {
    let mut seen = hashbrown::HashMap::new();
    let mut number = |kind: &'a str| {
        let next = KindId::new(seen.len());
        *seen.entry(kind).or_insert(next)
    };
    kinds.map(&mut number).collect()
}

/// The nearest number of 32 bits that is not smaller.
fn rounded_up(bytes: u64) -> f32 {
    let near = bytes as f32;
    // Rounded down, too little would be reserved.
    match (f64::from(near)) < bytes as f64 {
        true => near.next_up(),
        false => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;
    use cairn_theory::storage::{MOST_BYTES, Stored};

    /// So many tasks with one file each of so many bytes.
    fn storage(sizes: &[u64]) -> Storage {
        let file = |(i, &bytes): (usize, &u64)| Stored {
            producer: Some(TaskId::new(i)),
            bytes,
            is_kept: true,
            consumers: vec![],
        };
        let files = sizes.iter().enumerate().map(file).collect();
        Storage::new(sizes.len(), files, vec![]).unwrap().0
    }

    #[test]
    fn sizes_from_the_input_count_with_safety_until_some_are_measured() {
        let storage = storage(&[1000, 10, 1000, 7]);
        let mut sizes = Sizes::new(&storage, [0, 0, 0, 1].map(KindId).to_vec(), &[], 1.3);
        assert_eq!(sizes.reserve(FileId(0)), 1300);
        assert_eq!(sizes.reserve(FileId(1)), 13);
        // A tenth of what was said: the ratio holds for all of the kind, with room to spare.
        let class = FileClassId::new(0);
        assert_eq!(sizes.measure(FileId(0), 100), Some(class));
        assert_eq!(
            sizes.files_of(class).collect::<Vec<_>>(),
            [FileId(1), FileId(2)]
        );
        assert_eq!(sizes.reserve(FileId(2)), 130);
        assert_eq!(sizes.reserve(FileId(1)), 2);
        assert_eq!(sizes.reserve(FileId(3)), 10, "another kind");
        // Measured again: not learnt twice.
        assert_eq!(sizes.measure(FileId(0), 9999), None);
        assert_eq!(sizes.reserve(FileId(2)), 130);
        // Larger than reserved: all others are reserved at least as much at once.
        assert_eq!(sizes.measure(FileId(1), 30), Some(class));
        assert!(sizes.reserve(FileId(2)) >= 3000);
        let mut applied = storage.clone();
        sizes.apply(&mut applied).unwrap();
        assert_eq!(applied.bytes(FileId(2)), sizes.reserve(FileId(2)));
        assert_eq!(
            applied.bytes(FileId(0)),
            1000,
            "measured files are not touched"
        );
    }

    #[test]
    fn kinds_of_unknown_size_start_slowly_and_never_stand() {
        let storage = storage(&[0; 64]);
        let unknown: Vec<FileId> = storage.files().collect();
        let mut sizes = Sizes::new(&storage, vec![KindId(0); 64], &unknown, 1.3);
        let mut waiting: Vec<TaskId> = (0..64).map(TaskId).collect();
        let mut waves = Vec::new();
        while !waiting.is_empty() {
            let mut running = Vec::new();
            while let Some(&task) = waiting.last()
                && sizes.may(task)
            {
                sizes.start(task);
                running.extend(waiting.pop());
            }
            assert!(!running.is_empty(), "stuck");
            waves.push(running.len());
            for task in running {
                sizes.measure(FileId(task.0), 500);
                sizes.end(task);
            }
        }
        assert_eq!(waves, [1, 2, 4, 8, 16, 33]);
        // Where the input gives sizes nothing is slow.
        let given = self::storage(&[5; 9]);
        let mut sizes = Sizes::new(&given, vec![KindId(0); 9], &[], 1.3);
        for task in (0..9).map(TaskId) {
            assert!(sizes.may(task));
            sizes.start(task);
        }
    }

    #[test]
    fn few_files_are_larger_than_reserved_once_some_were_seen() {
        // Sizes that spread by a tenth around what the input says times a factor of the kind.
        let mut random = Random::new(3);
        let (mut over, mut all, mut worst) = (0, 0, 1.0f64);
        for _ in 0..200 {
            let given: Vec<u64> = (0..200)
                .map(|_| 1_000 + random.below(9_000) as u64)
                .collect();
            let storage = storage(&given);
            let unknown = match random.below(2) {
                0 => storage.files().collect(),
                _ => Vec::new(),
            };
            let mut sizes = Sizes::new(&storage, vec![KindId(0); 200], &unknown, 1.3);
            let factor = 0.2 + random.below(40) as f64 / 10.0;
            let even = !unknown.is_empty();
            for (file, &given) in storage.files().zip(&given) {
                let spread = 0.9 + random.below(2_000) as f64 / 10_000.0;
                let base = if even { 5_000 } else { given };
                let bytes = (base as f64 * factor * spread) as u64;
                let reserve = sizes.reserve(file);
                if file.0 >= 5 {
                    all += 1;
                    over += usize::from(bytes > reserve);
                    worst = worst.max(bytes as f64 / reserve as f64);
                }
                sizes.measure(file, bytes);
                // Whatever was seen of a class is reserved for the others.
                let next = FileId(file.0 + 1);
                if even && next.index() < 200 {
                    assert!(sizes.reserve(next) >= bytes);
                }
            }
        }
        assert!(over * 100 < all, "{over} of {all}");
        assert!(worst < 1.1, "{worst}");
    }

    #[test]
    fn what_was_learnt_is_known_in_the_next_run() {
        let storage = storage(&[1000, 0, 1000, 0]);
        let kinds = || [0, 1, 0, 1].map(KindId).to_vec();
        let mut first = Sizes::new(&storage, kinds(), &[], 1.3);
        first.measure(FileId(0), 3000);
        first.measure(FileId(1), 77);
        let mut next = Sizes::new(&storage, kinds(), &[], 1.3);
        assert_eq!(next.reserve(FileId(3)), 0);
        next.start(TaskId(1));
        assert!(!next.may(TaskId(3)), "nothing is known of its kind");
        next.recall(&first.learnt());
        assert!(next.may(TaskId(3)));
        for file in [2, 3].map(FileId) {
            assert_eq!(next.reserve(file), first.reserve(file));
        }
        assert_eq!(next.reserve(FileId(0)), next.reserve(FileId(2)));
        // Of other kinds, or nonsense: no harm.
        let told = |kind, most| Learnt {
            kind: KindId(kind),
            output: 0,
            is_unknown: false,
            seen: 9,
            most,
        };
        next.recall(&[told(99, 5.0), told(0, f64::NAN), told(0, -1.0)]);
        assert_eq!(next.reserve(FileId(2)), first.reserve(FileId(2)));
        // Kinds whose sizes are known do not start slowly because of it.
        assert!(next.may(TaskId(0)));
    }

    #[test]
    fn enormous_sizes_never_wrap_and_zero_is_unknown() {
        let storage = storage(&[MOST_BYTES / 4, 0, MOST_BYTES / 4]);
        let mut sizes = Sizes::new(&storage, vec![KindId(0); 3], &[], f64::INFINITY);
        assert_eq!(sizes.reserve(FileId(0)), u64::MAX);
        assert!(sizes.apply(&mut storage.clone()).is_err());
        assert_eq!(sizes.reserve(FileId(1)), 0);
        sizes.measure(FileId(1), u64::MAX);
        sizes.measure(FileId(0), 0);
        let _ = sizes.reserve(FileId(2)); // some number, no panic
        let less = Sizes::new(&storage, vec![KindId(0); 3], &[], f64::NAN);
        assert_eq!(less.reserve(FileId(0)), MOST_BYTES / 4);
    }
}
