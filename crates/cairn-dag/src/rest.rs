//! What is left of a flow when some of its tasks are executed. Knows neither who said so nor what is planned.

use crate::flow::Attributes;
use crate::names::Names;
use crate::{File, Flow, FlowOperationError, TaskId, narrow, wide};
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

impl Flow {
    /// The tasks that are not executed, in their order, with names, attributes and the arcs among them. The game on
    /// this flow is the game on the whole one from the moment on at which `is_executed`, by task, holds.
    ///
    /// An executed task binds nobody: its children do not wait for it, and a parent of it that is not executed is
    /// still to be executed. [`Flow::shown`] stays what it was: `align #2` does not become `align` when the other one
    /// is executed. A file that an executed task wrote and a task left names is an input of the rest, temporary if it was.
    /// What a task left reads of it without a name is in [`Flow::left_for`]: what lies in a folder that it names; all, if it is
    /// a child and names no inputs; and what nobody reads, if it is a child. O(tasks + arcs + files · log files), where a file
    /// counts once for each folder above it that is named.
    ///
    /// ```
    /// use cairn_dag::FlowBuilder;
    /// let mut build = FlowBuilder::new();
    /// let [a, b, c] = ["a", "b", "c"].map(|name| build.declare(name, 0).unwrap());
    /// build.arc(a, b).unwrap();
    /// build.arc(b, c).unwrap();
    /// let rest = build.finish().unwrap().rest(&[true, false, false]).unwrap();
    /// let names: Vec<&str> = rest.dag().tasks().map(|t| rest.name(t)).collect();
    /// assert_eq!((names, rest.dag().sources().count()), (vec!["b", "c"], 1));
    /// ```
    ///
    /// # Errors
    /// [`FlowOperationError::TooLarge`], which the whole flow was not.
    ///
    /// # Panics
    /// If `is_executed` has another length than the number of tasks.
    pub fn rest(&self, is_executed: &[bool]) -> Result<Flow, FlowOperationError> {
        assert_eq!(is_executed.len(), self.dag().len(), "one entry a task");
        let left = self.dag().tasks().filter(|t| !is_executed[t.index()]);
        let left: Vec<TaskId> = left.collect();
        let mut rest = self.induced(&left)?;
        self.leave_files(is_executed, &left, &mut rest)?;
        if let Some(shown) = self.shown_names() {
            let mut kept = Names::default();
            let mut keep = |t: &TaskId| kept.intern(shown.get(t.index())).is_some();
            // No room for them: then they are told apart anew, which is as good for the eye.
            if left.iter().all(&mut keep) {
                let is_first = rest.shown.set(Some(kept)).is_ok();
                debug_assert!(is_first, "nobody asked a new flow");
            }
        }
        Ok(rest)
    }

    /// How many executed tasks made results that a task which is left waits for.
    pub fn still_needed(&self, is_executed: &[bool]) -> usize {
        let is_left = |t: &TaskId| !is_executed[t.index()];
        let executed = self.dag().tasks().filter(|t| !is_left(t));
        let needed = executed.filter(|&t| self.dag().children(t).iter().any(is_left));
        needed.count()
    }

    /// What the executed tasks left for the others beyond what these name. Tasks that find the same share one list of it: a
    /// task of many outputs may have many children.
    fn leave_files(
        &self,
        is_executed: &[bool],
        left: &[TaskId],
        rest: &mut Flow,
    ) -> Result<(), FlowOperationError> {
        let written = Written::new(self);
        let unread = written.unread(self, is_executed);
        let files = |source: &Source| -> Vec<File<'_>> {
            match source {
                &Source::Earlier(heap) => {
                    let heaps = &self.attributes.heaps;
                    self.attributes.files_of(heaps, heap).collect()
                }
                Source::Beneath(places) => written.executed(places, is_executed),
                &Source::All(parent) => self.outputs(parent).collect(),
                &Source::Unread(parent) => {
                    let is_unread = |f: &File<'_>| unread.contains(f.path);
                    self.outputs(parent).filter(is_unread).collect()
                }
            }
        };
        let mut known: HashMap<Source, Option<u32>> = HashMap::new();
        for (place, &task) in left.iter().enumerate() {
            for source in self.sources_of(task, is_executed, &written) {
                // Each source is looked through once, however many tasks find it.
                let heap = match known.get(&source) {
                    Some(&heap) => heap,
                    None => {
                        let heap = rest.attributes.heap(files(&source))?;
                        known.insert(source, heap);
                        heap
                    }
                };
                if heap.is_some_and(|heap| !rest.attributes.left_for.push(place, heap)) {
                    return Err(TOO_LARGE);
                }
            }
        }
        Ok(())
    }

    /// Where a task left finds what it reads without a name.
    fn sources_of(&self, task: TaskId, is_executed: &[bool], written: &Written<'_>) -> Vec<Source> {
        let earlier = self.attributes.left_for.items(task.index()).iter();
        let mut sources: Vec<Source> = earlier.map(|&heap| Source::Earlier(wide(heap))).collect();
        let mut is_silent = true;
        let mut folders: Vec<Range<usize>> = Vec::new();
        for file in self.inputs(task) {
            is_silent = false;
            folders.extend(Some(written.beneath(file.path)).filter(|places| !places.is_empty()));
        }
        // Of folders within folders the outermost: two of them have nothing in common, or one has all of the other.
        folders.sort_unstable_by_key(|places| (places.start, usize::MAX - places.end));
        let mut end = 0;
        folders.retain(|places| {
            let is_outermost = places.end > end;
            end = end.max(places.end);
            is_outermost
        });
        sources.extend(folders.into_iter().map(Source::Beneath));
        let parents = self.dag().parents(task).iter();
        let executed = parents.filter(|p| is_executed[p.index()]);
        sources.extend(executed.map(|&parent| match is_silent {
            true => Source::All(parent),
            false => Source::Unread(parent),
        }));
        sources
    }

    /// The first of `tasks` that has a parent which is not executed, with that parent.
    ///
    /// # Panics
    /// If `is_executed` has another length than the number of tasks.
    pub fn open_parent(
        &self,
        tasks: impl IntoIterator<Item = TaskId>,
        is_executed: &[bool],
    ) -> Option<(TaskId, TaskId)> {
        assert_eq!(is_executed.len(), self.dag().len(), "one entry a task");
        tasks.into_iter().find_map(|task| {
            let open = |p: &&TaskId| !is_executed[p.index()];
            let parent = self.dag().parents(task).iter().find(open);
            parent.map(|&parent| (task, parent))
        })
    }
}

const TOO_LARGE: FlowOperationError = FlowOperationError::TooLarge("files");

/// What a task may find without naming it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Source {
    /// What was left before this rest was asked for.
    Earlier(usize),
    /// What executed tasks wrote at these places, which are all of a folder.
    Beneath(Range<usize>),
    /// All that a parent wrote.
    All(TaskId),
    /// What it wrote and nobody reads.
    Unread(TaskId),
}

impl Attributes {
    /// A new heap of files, unless there are none.
    fn heap(&mut self, mut files: Vec<File<'_>>) -> Result<Option<u32>, FlowOperationError> {
        files.sort_unstable_by_key(|f| f.path);
        files.dedup_by_key(|f| f.path);
        let heap = self.heaps.len();
        for file in &files {
            let number = self.file_names.intern(file.path).ok_or(TOO_LARGE)?;
            if file.bytes.is_some() {
                *self.file_bytes.slot(wide(number)) = file.bytes;
            }
            if file.temp {
                *self.file_temp.slot(wide(number)) = true;
            }
            if !self.heaps.push(heap, number) {
                return Err(TOO_LARGE);
            }
        }
        Ok((!files.is_empty()).then(|| narrow(heap)))
    }
}

/// All that tasks write, by path.
struct Written<'f> {
    sorted: Vec<(File<'f>, TaskId)>,
    paths: HashMap<&'f str, TaskId>,
}

impl<'f> Written<'f> {
    fn new(flow: &'f Flow) -> Written<'f> {
        let of = |task: TaskId| flow.outputs(task).map(move |file| (file, task));
        let mut sorted: Vec<(File<'f>, TaskId)> = flow.dag().tasks().flat_map(of).collect();
        sorted.sort_unstable_by_key(|(file, task)| (file.path, task.0));
        let paths = sorted.iter().map(|(file, task)| (file.path, *task));
        Written {
            paths: paths.collect(),
            sorted,
        }
    }

    /// The places of what lies in a folder. A path that somebody writes is none.
    fn beneath(&self, folder: &str) -> Range<usize> {
        if self.paths.contains_key(folder) {
            return 0..0;
        }
        let first = format!("{folder}/");
        let from = (self.sorted).partition_point(|(file, _)| file.path < &*first);
        let inside = &self.sorted[from..];
        let count = inside.partition_point(|(file, _)| file.path.starts_with(&first));
        from..from + count
    }

    /// What executed tasks wrote, of what is at these places.
    fn executed(&self, places: &Range<usize>, is_executed: &[bool]) -> Vec<File<'f>> {
        let inside = self.sorted[places.clone()].iter();
        let lies = inside.filter(|(_, writer)| is_executed[writer.index()]);
        lies.map(|(file, _)| *file).collect()
    }

    /// What executed tasks wrote, and nobody but they is said to read.
    fn unread(&self, flow: &Flow, is_executed: &[bool]) -> HashSet<&'f str> {
        let done = |(_, task): &&(File<'f>, TaskId)| is_executed[task.index()];
        let of_executed = self.sorted.iter().filter(done);
        let mut unread: HashSet<&'f str> = of_executed.map(|(file, _)| file.path).collect();
        let mut folders: HashMap<Range<usize>, Readers> = HashMap::new();
        let mut has_silent_child = vec![false; flow.dag().len()];
        for task in flow.dag().tasks().filter(|_| !self.sorted.is_empty()) {
            let mut is_silent = true;
            for file in flow.inputs(task) {
                is_silent = false;
                if self.paths.get(file.path).is_some_and(|w| *w != task) {
                    unread.remove(file.path);
                }
                let readers = folders.entry(self.beneath(file.path));
                readers.or_insert(Readers::One(task)).add(task);
            }
            for parent in flow.dag().parents(task).iter().filter(|_| is_silent) {
                has_silent_child[parent.index()] = true;
            }
        }
        for (places, readers) in folders {
            for (file, writer) in &self.sorted[places] {
                if readers != Readers::One(*writer) {
                    unread.remove(file.path);
                }
            }
        }
        for task in flow.dag().tasks().filter(|t| has_silent_child[t.index()]) {
            flow.outputs(task).for_each(|file| {
                unread.remove(file.path);
            });
        }
        unread
    }
}

/// Who reads a folder: a task does not read its own files for others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    One(TaskId),
    Several,
}

impl Readers {
    fn add(&mut self, task: TaskId) {
        if *self != Readers::One(task) {
            *self = Readers::Several;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowBuilder;
    use cairn_oracle::{Random, random_dag};
    use std::collections::BTreeSet;

    /// By task left, by name: what it finds without naming it, as that is defined; every pair of task and file by itself.
    fn by_definition(flow: &Flow, is_executed: &[bool]) -> Vec<(String, BTreeSet<String>)> {
        let is_done = |t: TaskId| is_executed[t.index()];
        let is_silent = |t: TaskId| flow.inputs(t).next().is_none();
        let writes = |t: TaskId, path: &str| flow.outputs(t).any(|f| f.path == path);
        let is_written = |path: &str| flow.dag().tasks().any(|t| writes(t, path));
        let lies_in = |path: &str, folder: &str| {
            !is_written(folder) && path.starts_with(&format!("{folder}/"))
        };
        let names = |t: TaskId, path: &str| {
            (flow.inputs(t)).any(|input| input.path == path || lies_in(path, input.path))
        };
        // Whether a task is said to read what this one wrote.
        let reads = |t: TaskId, path: &str, writer: TaskId| {
            let is_child = flow.dag().has_arc(writer, t);
            (t != writer && names(t, path)) || (is_child && is_silent(t))
        };
        let mut all = Vec::new();
        for task in flow.dag().tasks().filter(|&t| !is_done(t)) {
            let earlier = flow.left_for(task).map(|f| f.path.to_owned());
            let mut found: BTreeSet<String> = earlier.collect();
            for writer in flow.dag().tasks().filter(|&t| is_done(t)) {
                let is_child = flow.dag().has_arc(writer, task);
                for file in flow.outputs(writer) {
                    let is_read = flow.dag().tasks().any(|t| reads(t, file.path, writer));
                    let is_in = (flow.inputs(task)).any(|i| lies_in(file.path, i.path));
                    if is_in || (is_child && (is_silent(task) || !is_read)) {
                        found.insert(file.path.to_owned());
                    }
                }
            }
            all.push((flow.name(task).to_owned(), found));
        }
        all
    }

    fn found(rest: &Flow) -> Vec<(String, BTreeSet<String>)> {
        let paths = |t| rest.left_for(t).map(|f| f.path.to_owned()).collect();
        let each = |t| (rest.name(t).to_owned(), paths(t));
        rest.dag().tasks().map(each).collect()
    }

    /// Tasks write into folders within folders; they name files, folders, something else, or nothing.
    fn random_flow(random: &mut Random, seed: u64) -> Flow {
        let dag = random_dag(1 + random.below(8), random.below(4), seed);
        let mut build = FlowBuilder::new();
        let tasks: Vec<_> = (dag.tasks())
            .map(|t| build.declare(&format!("t{}", t.0), 0).unwrap())
            .collect();
        for (parent, child) in dag.arcs() {
            build
                .arc(tasks[parent.index()], tasks[child.index()])
                .unwrap();
        }
        let folders = ["a", "a/b", "a/b/c", "d"];
        for task in dag.tasks() {
            for number in 0..random.below(3) {
                let folder = folders[random.below(4)];
                let path = format!("{folder}/f{}-{number}", task.0);
                build.add_output(tasks[task.index()], &path, Some(1));
                if random.below(2) == 0 {
                    build.set_temp(&path);
                }
                let reader = tasks[random.below(tasks.len())];
                if random.below(3) == 0 {
                    build.add_input(reader, &path, None);
                }
            }
            for _ in 0..random.below(3) {
                let named = ["a", "a/b", "a/b/c", "d", "raw"][random.below(5)];
                build.add_input(tasks[task.index()], named, None);
            }
        }
        build.finish().unwrap()
    }

    #[test]
    fn what_is_found_unnamed_is_what_it_is_defined_to_be() {
        let mut shared = 0;
        for seed in 0..3000 {
            let mut random = Random::new(seed);
            let flow = random_flow(&mut random, seed);
            let is_executed: Vec<bool> = flow.dag().tasks().map(|_| random.below(2) == 0).collect();
            let rest = flow.rest(&is_executed).unwrap();
            assert_eq!(found(&rest), by_definition(&flow, &is_executed), "{seed}");
            // And of that the rest again.
            let further: Vec<bool> = rest.dag().tasks().map(|_| random.below(2) == 0).collect();
            let last = rest.rest(&further).unwrap();
            assert_eq!(found(&last), by_definition(&rest, &further), "{seed}");
            let heaps = last.dag().tasks();
            let heaps = heaps.flat_map(|t| last.attributes.left_for.items(t.index()));
            let mut heaps: Vec<u32> = heaps.copied().collect();
            let all = heaps.len();
            heaps.sort_unstable();
            heaps.dedup();
            shared += all - heaps.len();
        }
        assert!(shared > 100, "hardly anything was found by two: {shared}");
    }

    /// A star of so many children around a task of as many outputs. By pairs of the two it would take minutes, and forty
    /// gigabytes.
    #[test]
    fn a_star_of_many_children_and_outputs_is_no_square() {
        const MANY: usize = 100_000;
        for (input, count) in [(None, MANY), (Some("out"), MANY), (Some("raw"), MANY)] {
            let mut build = FlowBuilder::new();
            let root = build.declare("root", 0).unwrap();
            for file in 0..MANY {
                build.add_output(root, &format!("out/{file}"), Some(1));
            }
            for child in 0..MANY {
                let child = build.declare(&format!("c{child}"), 0).unwrap();
                build.arc(root, child).unwrap();
                if let Some(input) = input {
                    build.add_input(child, input, None);
                }
            }
            let mut is_executed = vec![false; MANY + 1];
            is_executed[0] = true;
            let rest = build.finish().unwrap().rest(&is_executed).unwrap();
            for child in [0, MANY / 2, MANY - 1].map(TaskId::new) {
                assert_eq!(rest.left_for(child).count(), count, "{input:?}");
            }
            // What was left is left again, as often.
            let mut half = vec![true; MANY];
            half[MANY / 2..].fill(false);
            let last = rest.rest(&half).unwrap();
            assert_eq!(last.left_for(TaskId::new(MANY / 2 - 1)).count(), count);
        }
    }
}
