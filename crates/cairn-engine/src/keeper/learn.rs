//! A keeper that learns: measured sizes, what they say of files to come, and another order when the one in force is not safe
//! any more. Knows not how sizes are learnt ([`Sizes`]) nor how orders are found (`cairn_plan`).
//!
//! What a driver does: makes [`Sizes`] of storage and kinds, lets them [`Sizes::apply`] what to reserve, plans an order for that
//! and makes the keeper, which [`Keeper::learn`]s. When a task has ended well it tells the size of each output by
//! [`Keeper::measured`], before it says that the task has ended; and if [`Keeper::is_safe`] says no, it asks for
//! [`Keeper::replan`]. If that says no as well, nothing new starts but what fits, and [`Keeper::missing`] names the bytes once
//! nothing runs.

use super::Keeper;
use crate::budgets::storage::RESIZED;
use crate::{Learnt, Sizes};
use cairn_dag::TaskId;
use cairn_theory::game::Standing;
use cairn_theory::storage::{FileId, Storage, StorageError, Stored};

impl Keeper {
    /// Sizes are learnt from now on, and kinds of unknown size start slowly. Those of `storage` are to be reserved sizes
    /// already ([`Sizes::apply`]), or the order planned would not be safe.
    pub fn learn(&mut self, mut sizes: Sizes) {
        let tasks = (0..self.standing.len()).map(TaskId::new);
        sizes.recount(tasks.filter(|t| self.standing[t.index()] == Standing::Leased));
        self.sizes = Some(Box::new(sizes));
        self.version += 1;
    }

    /// What was learnt.
    pub fn sizes(&self) -> Option<&Sizes> {
        self.sizes.as_deref()
    }

    /// What an earlier run learnt of sizes: the order in force may be unsafe afterwards. Returns how many of them cannot be true,
    /// since all files together would be too much: they count for nothing.
    pub fn recall(&mut self, learnt: &[Learnt]) -> usize {
        let Some(mut sizes) = self.sizes.take() else {
            return 0;
        };
        let mut refused = 0;
        if !self.believe(&mut sizes, learnt) {
            // Which of them it is shows one by one.
            for told in learnt {
                refused += usize::from(!self.believe(&mut sizes, std::slice::from_ref(told)));
            }
        }
        self.sizes = Some(sizes);
        self.renumber(None);
        refused
    }

    /// Counts what was learnt, unless all files together would be too much: then nothing is changed.
    fn believe(&mut self, sizes: &mut Sizes, learnt: &[Learnt]) -> bool {
        // On copies: half of a book that turns out not to fit must not stay.
        let (mut told, mut storage) = (sizes.clone(), self.storage.clone());
        told.recall(learnt);
        let fits = told.apply(&mut storage).is_ok();
        if fits {
            (*sizes, self.storage) = (told, storage);
        }
        fits
    }

    /// The size of a file was measured, before its task is said to have ended: that is what it takes, and others of its
    /// kind are expected to be like it. The order may be unsafe afterwards: [`Keeper::is_safe`], [`Keeper::replan`].
    ///
    /// # Errors
    /// If all files together would be too much; then some have their old sizes.
    pub fn measured(&mut self, file: FileId, bytes: u64) -> Result<(), StorageError> {
        self.resize(file, bytes)?;
        let Some(mut sizes) = self.sizes.take() else {
            return Ok(());
        };
        let mut done = Ok(());
        if let Some(class) = sizes.measure(file, bytes) {
            let files: Vec<FileId> = sizes.files_of(class).collect();
            let is_many = files.len() > self.storage.files().len() / RESIZED;
            for file in files {
                let bytes = sizes.reserve(file);
                // One by one the peaks follow each change; with many it is cheaper to number all anew, once.
                done = match is_many {
                    true => self.storage.resize(file, bytes),
                    false => self.resize(file, bytes),
                };
                if done.is_err() {
                    break;
                }
            }
            if is_many {
                self.renumber(None);
            }
        }
        self.sizes = Some(sizes);
        done
    }

    /// The waiting tasks by π, and storage of them alone, numbered in that order: when all that runs has ended.
    pub fn rest(&self) -> (Vec<TaskId>, Storage) {
        let tasks = self.waiting();
        let mut local = vec![None; self.standing.len()];
        for (i, task) in tasks.iter().enumerate() {
            local[task.index()] = Some(TaskId::new(i));
        }
        let readers = |file: FileId| -> Vec<TaskId> {
            let readers = self.storage.consumers(file);
            readers.filter_map(|t| local[t.index()]).collect()
        };
        let mut files = Vec::new();
        let mut fixed = 0;
        for file in self.storage.files() {
            let producer = self.storage.producer(file);
            let standing = self.standing_of(producer);
            let bytes = self.storage.bytes(file);
            let is_pinned = self.is_pinned[file.index()];
            match standing {
                gone if gone.is_given_up() => (),
                // Nobody can free them: to the search for an order they are a number.
                begun if is_pinned && !begun.is_unbegun() => fixed += bytes,
                // Only those that wait are numbered: of what is there already, nobody is the producer.
                _ => files.push(Stored {
                    producer: producer.and_then(|t| local[t.index()]),
                    bytes,
                    is_kept: is_pinned,
                    consumers: readers(file),
                }),
            }
        }
        // All that stays whatever happens, as one file: of it only the bytes matter.
        files.push(Stored {
            producer: None,
            bytes: fixed,
            is_kept: true,
            consumers: Vec::new(),
        });
        let scratch = tasks.iter().map(|&t| self.storage.scratch(t)).collect();
        let made = Storage::new(tasks.len(), files, scratch);
        let (storage, _) = made.expect("part of what was counted");
        (tasks, storage)
    }
}
