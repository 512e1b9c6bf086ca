//! A dag whose tasks are numbers, from arcs or from a file. Knows no names but those of files.

use crate::work::beside;
use crate::{CycleError, refused};
use cairn_dag::{DagError, Flow, TaskId};
use cairn_formats::{Format, ReadLimits, Report, Severity, Source};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A frozen dag.
#[pyclass(frozen, module = "cairn._cairn")]
pub(crate) struct Dag {
    pub(crate) dag: Arc<cairn_dag::Dag>,
    /// What the file says, where it is from one.
    flow: Option<Arc<Flow>>,
}

/// Where each task is in an order that names every task once, each after its parents.
pub(crate) fn checked_order(dag: &cairn_dag::Dag, order: &[u32]) -> PyResult<Vec<TaskId>> {
    let order = tasks(dag, order)?;
    match cairn_theory::profile::profile(dag, &order) {
        Ok(_) => Ok(order),
        Err(error) => Err(refused(format!("this is no order of the dag: {error}"))),
    }
}

/// Numbers as tasks, if they are.
pub(crate) fn tasks(dag: &cairn_dag::Dag, numbers: &[u32]) -> PyResult<Vec<TaskId>> {
    let unknown = numbers.iter().find(|&&n| TaskId(n).index() >= dag.len());
    match unknown {
        Some(number) => Err(refused(format!("there is no task number {number}"))),
        None => Ok(numbers.iter().map(|&n| TaskId(n)).collect()),
    }
}

/// One time a task.
pub(crate) fn seconds(dag: &cairn_dag::Dag, given: Option<Vec<f64>>) -> PyResult<Option<Vec<f64>>> {
    let Some(given) = given else { return Ok(None) };
    if given.len() != dag.len() {
        return Err(refused(format!(
            "{} durations for {} tasks",
            given.len(),
            dag.len()
        )));
    }
    match given.iter().find(|s| !s.is_finite() || **s < 0.0) {
        Some(bad) => Err(refused(format!(
            "a duration of {bad} seconds; durations are finite numbers from 0 on"
        ))),
        None => Ok(Some(given)),
    }
}

/// Numbers of tasks as little-endian bytes, for numpy.
pub(crate) fn bytes_of(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    numbers.flat_map(u32::to_le_bytes).collect()
}

fn ids(tasks: &[TaskId]) -> Vec<u32> {
    tasks.iter().map(|t| t.0).collect()
}

#[pymethods]
impl Dag {
    /// Tasks 0..tasks and arcs (parent, child).
    #[staticmethod]
    fn from_arcs(py: Python<'_>, tasks: usize, arcs: Vec<(u32, u32)>) -> PyResult<Dag> {
        let dag = beside(py, None, |_| Ok(cairn_dag::Dag::from_arcs(tasks, arcs)))?;
        let dag = dag.map_err(|error| match error {
            DagError::SelfLoop(task) => {
                CycleError::new_err(("a task depends on itself", vec![task.0]))
            }
            DagError::Cycle(cycle) => {
                CycleError::new_err(("tasks wait for each other in a cycle", ids(&cycle)))
            }
            other => refused(other),
        })?;
        Ok(Dag {
            dag: Arc::new(dag),
            flow: None,
        })
    }

    /// The tasks of a file, by number, with their names; and what is odd about the file.
    #[staticmethod]
    fn from_file(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
    ) -> PyResult<(Dag, Vec<String>, Vec<String>)> {
        let of_name = |name: &str| {
            Format::from_name(name).ok_or_else(|| {
                let known: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
                let known = known.join(", ");
                refused(format!("there is no format {name:?}; formats: {known}"))
            })
        };
        let format = format.map(of_name).transpose()?;
        beside(py, None, |_| {
            let mut report = Report::default();
            let read = Source::load(&path, &ReadLimits::default(), &mut report)
                .and_then(|source| cairn_formats::read(&source, format, &mut report));
            let told = |severity| {
                let problems = report.problems().iter();
                problems.filter(move |p| p.severity == severity).map(|p| {
                    let help = match p.help.is_empty() {
                        true => String::new(),
                        false => format!(" ({})", p.help),
                    };
                    format!("{}: {}{help}", p.place, p.message)
                })
            };
            let Some((_, flow)) = read else {
                return Err(refused(
                    told(Severity::Error).collect::<Vec<_>>().join("\n"),
                ));
            };
            let names = (flow.dag().tasks())
                .map(|t| flow.name(t).to_owned())
                .collect();
            let dag = Dag {
                dag: Arc::new(flow.dag().clone()),
                flow: Some(Arc::new(flow)),
            };
            Ok((dag, names, told(Severity::Warning).collect()))
        })
    }

    fn __len__(&self) -> usize {
        self.dag.len()
    }

    fn arc_count(&self) -> usize {
        self.dag.arc_count()
    }

    fn arcs(&self) -> Vec<(u32, u32)> {
        self.dag.arcs().map(|(a, b)| (a.0, b.0)).collect()
    }

    fn parents(&self, task: u32) -> PyResult<Vec<u32>> {
        let task = tasks(&self.dag, &[task])?[0];
        Ok(ids(self.dag.parents(task)))
    }

    fn children(&self, task: u32) -> PyResult<Vec<u32>> {
        let task = tasks(&self.dag, &[task])?[0];
        Ok(ids(self.dag.children(task)))
    }

    /// The durations that the file gives, each `None` where it does not.
    fn seconds(&self) -> Option<Vec<Option<f64>>> {
        let flow = self.flow.as_ref()?;
        Some(flow.dag().tasks().map(|t| flow.seconds(t)).collect())
    }

    /// All durations, those that the file does not give guessed from the others; `None` where it gives none.
    fn imputed_seconds(&self) -> Option<Vec<f64>> {
        self.flow.as_ref()?.imputed_seconds()
    }

    /// Tasks that the file says are done.
    fn done(&self) -> Vec<u32> {
        let Some(flow) = &self.flow else {
            return Vec::new();
        };
        let done = flow.dag().tasks().filter(|&t| flow.is_done(t));
        done.map(|t| t.0).collect()
    }

    /// The outputs of a task as (path, bytes or None, temporary, numbers of the tasks that read it).
    fn files(&self) -> Vec<(String, u32, Option<u64>, bool)> {
        let Some(flow) = &self.flow else {
            return Vec::new();
        };
        let of_task = |t: TaskId| {
            flow.outputs(t)
                .map(move |f| (f.path.to_owned(), t.0, f.bytes, f.temp))
        };
        flow.dag().tasks().flat_map(of_task).collect()
    }

    /// The inputs of all tasks as (path, task).
    fn inputs(&self) -> Vec<(String, u32)> {
        let Some(flow) = &self.flow else {
            return Vec::new();
        };
        let of_task = |t: TaskId| flow.inputs(t).map(move |f| (f.path.to_owned(), t.0));
        flow.dag().tasks().flat_map(of_task).collect()
    }
}
