//! What is left of a flow when some of its tasks are executed. Knows neither who said so nor what is planned.

use crate::names::Names;
use crate::{File, Flow, FlowOperationError, TaskId, wide};
use hashbrown::{HashMap, HashSet};

impl Flow {
    /// The tasks that are not executed, in their order, with names, attributes and the arcs among them. The game on
    /// this flow is the game on the whole one from the moment on at which `is_executed`, by task, holds.
    ///
    /// An executed task binds nobody: its children do not wait for it, and a parent of it that is not executed is
    /// still to be executed. [`Flow::shown`] stays what it was: `align #2` does not become `align` when the other one
    /// is executed. A file that an executed task wrote and a task left names is an input of the rest, temporary if it was.
    /// What a task left reads of it without a name is in [`Flow::left_for`]: what lies in a folder that it names; all, if it is
    /// a child and names no inputs; and what nobody reads, if it is a child. O(tasks + arcs + files · log files).
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

    /// What the executed tasks left for the others beyond what these name.
    fn leave_files(
        &self,
        is_executed: &[bool],
        left: &[TaskId],
        rest: &mut Flow,
    ) -> Result<(), FlowOperationError> {
        let written = Written::new(self);
        let unread = written.unread(self, is_executed);
        for (place, &task) in left.iter().enumerate() {
            let mut found: Vec<File<'_>> = self.left_for(task).collect();
            let mut is_silent = true;
            for file in self.inputs(task) {
                is_silent = false;
                let inside = written.beneath(file.path).iter();
                let lies = inside.filter(|(_, writer)| is_executed[writer.index()]);
                found.extend(lies.map(|(file, _)| *file));
            }
            let parents = self.dag().parents(task).iter();
            for &parent in parents.filter(|p| is_executed[p.index()]) {
                let is_meant = |f: &File<'_>| is_silent || unread.contains(f.path);
                found.extend(self.outputs(parent).filter(is_meant));
            }
            found.sort_unstable_by_key(|f| f.path);
            found.dedup_by_key(|f| f.path);
            for file in found {
                rest.leave(place, &file)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, task: usize, file: &File<'_>) -> Result<(), FlowOperationError> {
        let too_large = FlowOperationError::TooLarge("files");
        let attributes = &mut self.attributes;
        let Some(number) = attributes.file_names.intern(file.path) else {
            return Err(too_large);
        };
        if file.bytes.is_some() {
            let bytes = &mut attributes.file_bytes;
            bytes.resize(bytes.len().max(wide(number) + 1), None);
            bytes[wide(number)] = file.bytes;
        }
        if file.temp {
            let temp = &mut attributes.file_temp;
            temp.resize(temp.len().max(wide(number) + 1), false);
            temp[wide(number)] = true;
        }
        match attributes.left_for.push(task, number) {
            true => Ok(()),
            false => Err(too_large),
        }
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

    /// What lies in a folder. A path that somebody writes is none.
    fn beneath(&self, folder: &str) -> &[(File<'f>, TaskId)] {
        if self.paths.contains_key(folder) {
            return &[];
        }
        let first = format!("{folder}/");
        let from = (self.sorted).partition_point(|(file, _)| file.path < &*first);
        let inside = &self.sorted[from..];
        let count = inside.partition_point(|(file, _)| file.path.starts_with(&first));
        &inside[..count]
    }

    /// What executed tasks wrote, and nobody but they is said to read.
    fn unread(&self, flow: &Flow, is_executed: &[bool]) -> HashSet<&'f str> {
        let done = |(_, task): &&(File<'f>, TaskId)| is_executed[task.index()];
        let of_executed = self.sorted.iter().filter(done);
        let mut unread: HashSet<&'f str> = of_executed.map(|(file, _)| file.path).collect();
        for task in flow.dag().tasks().filter(|_| !self.sorted.is_empty()) {
            let mut is_silent = true;
            for file in flow.inputs(task) {
                is_silent = false;
                if self.paths.get(file.path).is_some_and(|w| *w != task) {
                    unread.remove(file.path);
                }
                let inside = self.beneath(file.path).iter();
                for (file, _) in inside.filter(|(_, writer)| *writer != task) {
                    unread.remove(file.path);
                }
            }
            for &parent in flow.dag().parents(task).iter().filter(|_| is_silent) {
                flow.outputs(parent).for_each(|file| {
                    unread.remove(file.path);
                });
            }
        }
        unread
    }
}
