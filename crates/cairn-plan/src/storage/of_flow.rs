//! The files of a flow as storage: who writes and reads what, which sizes are known, what stays. Knows no format.
//!
//! A file is known by its path. One that no task writes is an input of the whole flow and stands outside. Who reads a folder
//! reads what tasks write beneath it. A child that names no inputs is taken to read all that its parents write; a parent that
//! names no outputs is taken to write one file for such children. A temporary file that nobody is said to read is taken to be
//! read by the children of its writer: it would be gone before they start.

use super::{FileId, MOST_BYTES, Storage, StorageError, Stored};
use cairn_dag::{File, Flow, TaskId};
use cairn_verify::Keeping;
use hashbrown::HashMap;

/// What is freed where nobody says: whoever marks anything as temporary, here or elsewhere, has thought of all; where nobody
/// does, results in between are taken for scratch, and final results are no part of it.
pub fn usual_keeping(flow: &Flow, is_marked_elsewhere: bool) -> Keeping {
    // Also among what is read: those who wrote it may be executed, and no part of this flow.
    let reads = |t| flow.inputs(t).chain(flow.left_for(t));
    let marks = |t| flow.outputs(t).chain(reads(t)).any(|f| f.temp);
    match is_marked_elsewhere || flow.dag().tasks().any(marks) {
        true => Keeping::Marked,
        false => Keeping::FinalsOutside,
    }
}

/// What is to be assumed where the input does not say.
#[derive(Clone, Copy)]
pub struct Assumed<'a> {
    /// The size of a file by its path, whatever the input says.
    pub size_of: &'a dyn Fn(&str) -> Option<u64>,
    /// The size of all others that the input does not give; else they count as nothing, and are listed.
    pub size: Option<u64>,
    /// Files that are temporary though the input does not say so.
    pub is_temporary: &'a dyn Fn(&str) -> bool,
    /// What is freed.
    pub keeping: Keeping,
    /// Whether tasks were executed before and left out: their temporary files lie there, and count until they are freed.
    pub is_rest: bool,
}

impl Assumed<'_> {
    /// Nothing beyond the input.
    pub fn nothing(keeping: Keeping) -> Assumed<'static> {
        Assumed {
            size_of: &|_| None,
            size: None,
            is_temporary: &|_| false,
            keeping,
            is_rest: false,
        }
    }
}

/// The files of a flow, and what is not known of them.
#[derive(Clone, Debug)]
pub struct Modelled<'f> {
    /// The model.
    pub storage: Storage,
    /// By file, its path; `None` where a task names no outputs and its children no inputs.
    pub paths: Vec<Option<&'f str>>,
    /// Files without a size, which count as nothing.
    pub unknown: Vec<FileId>,
}

/// Why the files of a flow cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// Two tasks write one file.
    #[error("two tasks write '{path}'")]
    TwoProducers {
        /// Which file.
        path: String,
        /// Who.
        tasks: [TaskId; 2],
    },
    /// A file is marked temporary, but it is an input of the whole flow: it must not be deleted.
    #[error(
        "'{path}' is marked temporary, but no task writes it: it is an input of the whole flow"
    )]
    TemporaryInput {
        /// Which file.
        path: String,
        /// A task that reads it.
        reader: TaskId,
    },
    /// A task reads a file that another task writes, but does not come after it.
    #[error("a task reads '{path}' but does not come after the task that writes it")]
    Unordered {
        /// Which file.
        path: String,
        /// Who writes it.
        producer: TaskId,
        /// Who reads it.
        reader: TaskId,
    },
    /// All together is too much.
    #[error("the sizes of all files and scratch space together are more than 2^60 bytes")]
    TooLarge {
        /// The file at which the sum passes the limit; `None` in scratch space.
        path: Option<String>,
    },
}

/// The storage of a flow. O(files + readers), as long as whoever reads a file is a child of who writes it. A child that names no
/// inputs is a reader of each file of its parents that may be freed.
///
/// # Errors
/// [`ModelError`].
pub fn storage_of<'f>(flow: &'f Flow, assumed: &Assumed<'_>) -> Result<Modelled<'f>, ModelError> {
    let mut files = Gathered::default();
    let dag = flow.dag();
    for task in dag.tasks() {
        for file in flow.outputs(task) {
            files.write(file, task, assumed)?;
        }
    }
    // All writers before the first reader: a file may be declared to be read before the task that writes it.
    files.sort_written();
    let reads_nothing = |t: TaskId| flow.inputs(t).next().is_none();
    for task in dag.tasks() {
        for file in flow.inputs(task) {
            files.read(file, task, assumed)?;
        }
        for file in flow.left_for(task) {
            files.find(file, task, assumed);
        }
        let silent = dag.children(task).iter().filter(|c| reads_nothing(**c));
        let silent: Vec<TaskId> = silent.copied().collect();
        if !silent.is_empty() {
            files.hand_on(flow, task, &silent, assumed);
        }
    }
    files.spare_unread(flow);
    check_order(flow, &files)?;
    files.finish(flow, assumed)
}

/// A file, and what is known of it beside.
struct KnownFile<'f> {
    stored: Stored,
    path: Option<&'f str>,
    is_unknown: bool,
    is_temporary: bool,
}

impl KnownFile<'_> {
    /// Whether somebody but its own task reads it: else it is a final result.
    fn is_read(&self) -> bool {
        let Stored {
            producer,
            consumers,
            ..
        } = &self.stored;
        consumers.iter().any(|c| Some(*c) != *producer)
    }
}

#[derive(Default)]
struct Gathered<'f> {
    by_path: HashMap<&'f str, usize>,
    files: Vec<KnownFile<'f>>,
    /// What tasks write, by path, to be found by the folders above it.
    written: Vec<(&'f str, usize)>,
}

impl<'f> Gathered<'f> {
    /// A file seen for the first time.
    fn begin(&mut self, file: File<'f>, producer: Option<TaskId>, assumed: &Assumed<'_>) -> usize {
        // What the user says of a path wins over the file, and both over what is said of all.
        let known = (assumed.size_of)(file.path).or(file.bytes).or(assumed.size);
        let is_temporary = file.temp || (assumed.is_temporary)(file.path);
        self.by_path.insert(file.path, self.files.len());
        self.files.push(KnownFile {
            stored: Stored {
                producer,
                bytes: known.unwrap_or(0),
                is_kept: assumed.keeping == Keeping::Marked && !is_temporary,
                consumers: Vec::new(),
            },
            path: Some(file.path),
            is_unknown: known.is_none(),
            is_temporary,
        });
        self.files.len() - 1
    }

    fn add_reader(&mut self, number: usize, task: TaskId) {
        self.files[number].stored.consumers.push(task);
    }

    fn sort_written(&mut self) {
        self.written = self.by_path.iter().map(|(p, n)| (*p, *n)).collect();
        self.written.sort_unstable();
    }

    /// What tasks write beneath a folder.
    fn beneath(&self, folder: &str) -> Vec<usize> {
        let first = format!("{folder}/");
        let from = self.written.partition_point(|(path, _)| *path < &*first);
        let inside = self.written[from..].iter();
        let inside = inside.take_while(|(path, _)| path.starts_with(&first));
        inside.map(|&(_, number)| number).collect()
    }

    /// Temporary files that nobody is said to read stay for the children of their writers.
    fn spare_unread(&mut self, flow: &Flow) {
        for file in self.files.iter_mut() {
            let unread = (file.stored.producer).filter(|_| file.is_temporary && !file.is_read());
            if let Some(producer) = unread {
                (file.stored.consumers).extend(flow.dag().children(producer));
            }
        }
    }

    fn write(
        &mut self,
        file: File<'f>,
        task: TaskId,
        assumed: &Assumed<'_>,
    ) -> Result<(), ModelError> {
        let Some(&number) = self.by_path.get(file.path) else {
            self.begin(file, Some(task), assumed);
            return Ok(());
        };
        match self.files[number].stored.producer {
            Some(other) if other != task => Err(ModelError::TwoProducers {
                path: file.path.to_owned(),
                tasks: [other, task],
            }),
            _ => Ok(()),
        }
    }

    fn read(
        &mut self,
        file: File<'f>,
        task: TaskId,
        assumed: &Assumed<'_>,
    ) -> Result<(), ModelError> {
        let found = self.by_path.get(file.path).copied();
        // Only a path that nobody writes can be a folder of what somebody writes.
        let inside = match found {
            Some(_) => Vec::new(),
            None => self.beneath(file.path),
        };
        if !inside.is_empty() {
            inside.into_iter().for_each(|n| self.add_reader(n, task));
            return Ok(());
        }
        let number = match found {
            Some(number) => number,
            // An input of the whole flow: it lies there before and after, outside the count.
            None if !file.temp && !(assumed.is_temporary)(file.path) => return Ok(()),
            None if assumed.is_rest => self.begin(file, None, assumed),
            None => {
                return Err(ModelError::TemporaryInput {
                    path: file.path.to_owned(),
                    reader: task,
                });
            }
        };
        self.add_reader(number, task);
        Ok(())
    }

    /// What an executed task left for this one, which does not name it.
    fn find(&mut self, file: File<'f>, task: TaskId, assumed: &Assumed<'_>) {
        if !assumed.is_rest || !(file.temp || (assumed.is_temporary)(file.path)) {
            return;
        }
        let number = match self.by_path.get(file.path) {
            Some(&number) => number,
            None => self.begin(file, None, assumed),
        };
        self.add_reader(number, task);
    }

    /// Children that name no inputs read all that the task writes.
    fn hand_on(&mut self, flow: &'f Flow, task: TaskId, silent: &[TaskId], assumed: &Assumed<'_>) {
        let mut is_said = false;
        for file in flow.outputs(task) {
            is_said = true;
            // There, as all that is written was gathered before anything is read.
            let number = self.by_path[file.path];
            // What is kept is never freed, whoever reads it: no pair of child and file need be gone over.
            let stored = &mut self.files[number].stored;
            if !stored.is_kept {
                stored.consumers.extend(silent);
            }
        }
        if !is_said {
            self.files.push(KnownFile {
                stored: Stored {
                    producer: Some(task),
                    bytes: assumed.size.unwrap_or(0),
                    is_kept: false,
                    consumers: silent.to_vec(),
                },
                path: None,
                is_unknown: assumed.size.is_none(),
                is_temporary: false,
            });
        }
    }

    fn finish(mut self, flow: &Flow, assumed: &Assumed<'_>) -> Result<Modelled<'f>, ModelError> {
        // Last: children that name no inputs may have become readers of what looked final.
        match assumed.keeping {
            Keeping::FinalsCounted => {
                for file in self.files.iter_mut() {
                    file.stored.is_kept |= !file.is_read();
                }
            }
            Keeping::FinalsOutside => self.files.retain(KnownFile::is_read),
            Keeping::Marked => (),
        }
        let tasks = flow.dag().tasks();
        let scratch = tasks.map(|t| flow.scratch(t).unwrap_or(0)).collect();
        let of_file = |f: KnownFile<'f>| (f.stored, (f.path, f.is_unknown));
        let (stored, known): (Vec<Stored>, Vec<_>) = self.files.into_iter().map(of_file).unzip();
        let made = Storage::new(flow.dag().len(), stored, scratch);
        let (storage, numbers) = made.map_err(|error| match error {
            StorageError::TooLarge { file } => ModelError::TooLarge {
                path: file.and_then(|f| known[f].0).map(str::to_owned),
            },
            StorageError::NoTask(task) => unreachable!("{task:?} is a task of the flow"),
        })?;
        debug_assert!(storage.total() < MOST_BYTES);
        let mut paths = vec![None; numbers.len()];
        let mut unknown = Vec::new();
        for ((path, is_unknown), number) in known.into_iter().zip(numbers) {
            paths[number.index()] = path;
            unknown.extend(is_unknown.then_some(number));
        }
        unknown.sort_unstable();
        Ok(Modelled {
            storage,
            paths,
            unknown,
        })
    }
}

/// Whoever reads a file comes after who writes it.
fn check_order(flow: &Flow, files: &Gathered<'_>) -> Result<(), ModelError> {
    let dag = flow.dag();
    for KnownFile { stored, path, .. } in &files.files {
        let Some(producer) = stored.producer else {
            continue;
        };
        let is_far = |t: &&TaskId| **t != producer && !dag.has_arc(producer, **t);
        // Nearly all readers are children: a search through the dag only for those that are not.
        let mut far = stored.consumers.iter().filter(is_far).peekable();
        if far.peek().is_none() {
            continue;
        }
        let after = dag.descendants(&[producer]);
        if let Some(&reader) = far.find(|t| after.binary_search(t).is_err()) {
            return Err(ModelError::Unordered {
                path: path.unwrap_or_default().to_owned(),
                producer,
                reader,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
