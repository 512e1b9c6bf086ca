//! The files of a flow, counted anew: who writes them, who reads them, how many bytes, which are never freed. Knows no order
//! and no bound.
//!
//! A file is known by its path. One that no task writes stands outside, unless tasks were executed before and it is
//! temporary. Who reads a folder reads what tasks write beneath it. A child that names no inputs reads all that its parents
//! write; a parent that names no outputs writes one file without a name for such children. A temporary file that nobody is
//! said to read is read by the children of its writer.

use crate::format::{Assumed, Keeping};
use crate::rejected::Rejected;
use cairn_dag::{File, Flow, TaskId};
use hashbrown::HashMap;

/// Sums of all bytes must stay below this.
// The planner's own limit: beyond it no certificate speaks of storage.
const MOST: u64 = 1 << 60;

/// One file.
#[derive(Debug)]
pub(crate) struct Counted {
    /// Who writes it; nobody, where it lies there from the beginning.
    pub(crate) writer: Option<usize>,
    pub(crate) bytes: u64,
    pub(crate) is_kept: bool,
    /// Others who read it, each once.
    pub(crate) readers: Vec<usize>,
}

impl Counted {
    /// Whether it stays when its task has ended.
    pub(crate) fn stays(&self) -> bool {
        self.is_kept || !self.readers.is_empty()
    }
}

/// All files that count.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) all: Vec<Counted>,
    /// By task: what it writes.
    pub(crate) written: Vec<Vec<usize>>,
    /// By task: what it reads.
    pub(crate) read: Vec<Vec<usize>>,
    /// By task: space it needs besides.
    pub(crate) scratch: Vec<u64>,
}

/// Whether a path matches a pattern: `*` is any text, `?` any one character.
pub(crate) fn matches(pattern: &[char], path: &[char]) -> bool {
    // reach[i]: whether the pattern so far matches the first i characters.
    let mut reach = vec![false; path.len() + 1];
    reach[0] = true;
    for &sign in pattern {
        let mut next = vec![false; path.len() + 1];
        let mut any = false;
        for i in 0..=path.len() {
            any |= reach[i];
            next[i] = match sign {
                '*' => any,
                '?' => i > 0 && reach[i - 1],
                letter => i > 0 && reach[i - 1] && path[i - 1] == letter,
            };
        }
        reach = next;
    }
    reach[path.len()]
}

fn fits(pattern: &str, path: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<Vec<char>>();
    matches(&letters(pattern), &letters(path))
}

/// What is assumed of one file.
fn size(assumed: &Assumed, file: &File<'_>) -> u64 {
    let given = assumed
        .size_of
        .iter()
        // The last pattern that matches holds.
        .rev()
        .find(|(p, _)| fits(p, file.path));
    let said = given.map(|(_, bytes)| *bytes).or(file.bytes);
    said.or(assumed.default_size).unwrap_or(0)
}

fn is_temporary(assumed: &Assumed, file: &File<'_>) -> bool {
    file.temp || assumed.temp.iter().any(|p| fits(p, file.path))
}

/// By path the number of a file.
type Numbers<'f> = HashMap<&'f str, usize>;

/// The files that tasks write, each by one of them.
fn written<'f>(flow: &'f Flow, assumed: &Assumed) -> Result<(Vec<Counted>, Numbers<'f>), Rejected> {
    let mut all: Vec<Counted> = Vec::new();
    let mut by_path = Numbers::new();
    let marked = assumed.keeping == Keeping::Marked;
    for task in flow.dag().tasks() {
        for file in flow.outputs(task) {
            if let Some(&number) = by_path.get(file.path) {
                if all[number].writer != Some(task.index()) {
                    return Err(Rejected::TwoWriters(file.path.to_owned()));
                }
                continue;
            }
            by_path.insert(file.path, all.len());
            all.push(Counted {
                writer: Some(task.index()),
                bytes: size(assumed, &file),
                is_kept: marked && !is_temporary(assumed, &file),
                readers: Vec::new(),
            });
        }
    }
    Ok((all, by_path))
}

/// Who reads them; and files that nobody writes, where they are temporary.
fn add_readers<'f>(
    flow: &'f Flow,
    assumed: &Assumed,
    all: &mut Vec<Counted>,
    by_path: &mut Numbers<'f>,
) -> Result<(), Rejected> {
    let mut by_name: Vec<(&str, usize)> = by_path.iter().map(|(p, n)| (*p, *n)).collect();
    by_name.sort_unstable();
    for task in flow.dag().tasks() {
        for file in flow.inputs(task) {
            let found = by_path.get(file.path);
            // Only a path that nobody writes can be a folder of what somebody writes.
            let inside = match found {
                Some(_) => &[],
                None => beneath(&by_name, file.path),
            };
            inside
                .iter()
                .for_each(|(_, n)| all[*n].readers.push(task.index()));
            let number = match found {
                Some(&number) => number,
                None if !inside.is_empty() => continue,
                None if !is_temporary(assumed, &file) => continue,
                None if !assumed.rest => {
                    return Err(Rejected::TemporaryInput(file.path.to_owned()));
                }
                None => {
                    by_path.insert(file.path, all.len());
                    all.push(lying(assumed, &file));
                    all.len() - 1
                }
            };
            all[number].readers.push(task.index());
        }
        for file in flow.left_for(task) {
            if assumed.rest && is_temporary(assumed, &file) {
                let number = *by_path.entry(file.path).or_insert(all.len());
                if number == all.len() {
                    all.push(lying(assumed, &file));
                }
                all[number].readers.push(task.index());
            }
        }
        silent(flow, task, assumed, by_path, all);
    }
    Ok(())
}

/// A temporary file that an executed task left.
fn lying(assumed: &Assumed, file: &File<'_>) -> Counted {
    Counted {
        writer: None,
        bytes: size(assumed, file),
        is_kept: false,
        readers: Vec::new(),
    }
}

impl Files {
    pub(crate) fn new(flow: &Flow, assumed: &Assumed) -> Result<Files, Rejected> {
        let tasks = flow.dag().len();
        let (mut all, mut by_path) = written(flow, assumed)?;
        add_readers(flow, assumed, &mut all, &mut by_path)?;
        for task in flow.dag().tasks() {
            for file in flow.outputs(task).filter(|f| is_temporary(assumed, f)) {
                let readers = &mut all[by_path[file.path]].readers;
                if readers.iter().all(|&r| r == task.index()) {
                    readers.extend(flow.dag().children(task).iter().map(|c| c.index()));
                }
            }
        }
        for file in &mut all {
            file.readers.sort_unstable();
            file.readers.dedup();
            // Before finals are told apart: a file that only its writer reads is a final result.
            file.readers.retain(|&r| Some(r) != file.writer);
            file.is_kept |= assumed.keeping == Keeping::FinalsCounted && file.readers.is_empty();
        }
        if assumed.keeping == Keeping::FinalsOutside {
            all.retain(|f| !f.readers.is_empty());
        }
        let scratch: Vec<u64> = (flow.dag().tasks())
            .map(|t| flow.scratch(t).unwrap_or(0))
            .collect();
        let sizes = all.iter().map(|f| f.bytes).chain(scratch.iter().copied());
        // 128 bits hold any sum of 64-bit sizes: whatever a certificate assumes, nothing wraps.
        let total = sizes.map(u128::from).sum::<u128>();
        if total >= u128::from(MOST) {
            return Err(Rejected::SizesTooLarge);
        }
        let (mut written, mut read) = (vec![Vec::new(); tasks], vec![Vec::new(); tasks]);
        for (number, file) in all.iter().enumerate() {
            file.writer
                .into_iter()
                .for_each(|w| written[w].push(number));
            file.readers.iter().for_each(|&r| read[r].push(number));
        }
        Ok(Files {
            all,
            written,
            read,
            scratch,
        })
    }

    /// What a task needs while it runs, besides what lies there.
    pub(crate) fn own(&self, task: usize) -> u64 {
        let written: u64 = self.written[task].iter().map(|&f| self.all[f].bytes).sum();
        written + self.scratch[task]
    }

    /// The most that is in use when tasks go one by one in this order: asked after every step which files are there.
    pub(crate) fn peak(&self, order: &[TaskId]) -> u64 {
        let mut left: Vec<usize> = self.all.iter().map(|f| f.readers.len()).collect();
        let there = self.all.iter().filter(|f| f.writer.is_none() && f.stays());
        let mut live: u64 = there.map(|f| f.bytes).sum();
        let mut peak = 0;
        for task in order {
            let task = task.index();
            peak = peak.max(live + self.own(task));
            let stays = self.written[task].iter().filter(|&&f| self.all[f].stays());
            live += stays.map(|&f| self.all[f].bytes).sum::<u64>();
            for &file in &self.read[task] {
                left[file] -= 1;
                if left[file] == 0 && !self.all[file].is_kept {
                    live -= self.all[file].bytes;
                }
            }
        }
        peak
    }

    /// What is never freed.
    pub(crate) fn kept(&self) -> u64 {
        let kept = self.all.iter().filter(|f| f.is_kept);
        kept.map(|f| f.bytes).sum()
    }
}

/// Those of the paths in order that lie in a folder.
fn beneath<'a, 'f>(by_name: &'a [(&'f str, usize)], folder: &str) -> &'a [(&'f str, usize)] {
    // Other names that begin like the folder may stand before those inside of it.
    let first = format!("{folder}/");
    let start = by_name.partition_point(|(path, _)| *path < &*first);
    let inside = &by_name[start..];
    let count = inside.partition_point(|(path, _)| path.starts_with(&first));
    &inside[..count]
}

/// Children of a task that name no inputs read what it writes.
fn silent<'f>(
    flow: &'f Flow,
    task: TaskId,
    assumed: &Assumed,
    by_path: &HashMap<&'f str, usize>,
    all: &mut Vec<Counted>,
) {
    let names_none = |t: &&TaskId| flow.inputs(**t).next().is_none();
    let children = flow.dag().children(task).iter().filter(names_none);
    let children: Vec<usize> = children.map(|c| c.index()).collect();
    if children.is_empty() {
        return;
    }
    let mut names_any = false;
    for file in flow.outputs(task) {
        names_any = true;
        all[by_path[file.path]].readers.extend(&children);
    }
    if !names_any {
        all.push(Counted {
            writer: Some(task.index()),
            bytes: assumed.default_size.unwrap_or(0),
            is_kept: false,
            readers: children,
        });
    }
}
