//! Files with sizes, orders of small peak, and the keeper of a cap, as numbers. Knows no paths.

use crate::dag::{Dag, checked_order, tasks};
use crate::work::{beside, here, limit};
use crate::{DoesNotFit, refused};
use cairn_dag::TaskId;
use cairn_engine::{BadOrder, Leftovers};
use cairn_formats::size;
use cairn_plan::storage::{FileId, Reason, Stored, lean_order};
use cairn_theory::game::Standing;
use pyo3::prelude::*;
use std::sync::Arc;

/// What files take: (producer or None, bytes, kept, consumers) each, and scratch by task.
#[pyclass(frozen, module = "cairn._cairn")]
pub(crate) struct Storage {
    dag: Arc<cairn_dag::Dag>,
    storage: cairn_plan::storage::Storage,
    /// By file as it was given: its number in the model.
    numbers: Vec<FileId>,
}

type Given = (Option<u32>, u64, bool, Vec<u32>);

/// Order, its peak, what no order can do without, and the task and its fellows that show it.
type Lean = (Vec<u32>, u64, u64, String, Vec<u32>);

#[pymethods]
impl Storage {
    #[new]
    fn new(dag: &Dag, files: Vec<Given>, scratch: Vec<u64>) -> PyResult<Storage> {
        let dag = dag.dag.clone();
        if !scratch.is_empty() && scratch.len() != dag.len() {
            return Err(refused("scratch needs one number a task"));
        }
        let mut stored = Vec::with_capacity(files.len());
        for (producer, bytes, is_kept, consumers) in files {
            let producer = producer.map(|number| tasks(&dag, &[number]));
            stored.push(Stored {
                producer: producer.transpose()?.map(|task| task[0]),
                bytes,
                is_kept,
                consumers: tasks(&dag, &consumers)?,
            });
        }
        check_reach(&dag, &stored)?;
        let made = cairn_plan::storage::Storage::new(dag.len(), stored, scratch);
        let (storage, numbers) = made.map_err(refused)?;
        Ok(Storage {
            dag,
            storage,
            numbers,
        })
    }

    /// All bytes together.
    fn total(&self) -> u64 {
        self.storage.total()
    }

    /// The largest need along an order.
    fn peak(&self, order: Vec<u32>) -> PyResult<u64> {
        let order = checked_order(&self.dag, &order)?;
        here(|| Ok(self.storage.peak(&order)))
    }

    /// An order of small peak, and what no order can do without.
    fn lean(
        &self,
        py: Python<'_>,
        order: Option<Vec<u32>>,
        time_limit: Option<f64>,
    ) -> PyResult<Lean> {
        let time = limit(time_limit)?;
        let order = match order {
            Some(order) => checked_order(&self.dag, &order)?,
            None => self.dag.topological_order().to_vec(),
        };
        beside(py, time, |work| {
            let lean = lean_order(&self.dag, &self.storage, &order, &mut work.unmetered());
            let (why, shown) = match &lean.bound.reason {
                Reason::Nothing => ("nothing", vec![]),
                Reason::Kept => ("kept", vec![]),
                Reason::Task { task, .. } => ("task", vec![task.0]),
                Reason::First { task, .. } => ("first", vec![task.0]),
                Reason::Last { task, .. } => ("last", vec![task.0]),
            };
            let order = lean.order.iter().map(|t| t.0).collect();
            Ok((order, lean.peak, lean.bound.bytes, why.to_owned(), shown))
        })
    }
}

/// Whoever reads a file comes after who writes it; children at once, others by a search.
fn check_reach(dag: &cairn_dag::Dag, files: &[Stored]) -> PyResult<()> {
    for file in files {
        let Some(producer) = file.producer else {
            continue;
        };
        let is_far = |t: &&TaskId| **t != producer && !dag.has_arc(producer, **t);
        let far: Vec<TaskId> = file.consumers.iter().filter(is_far).copied().collect();
        if far.is_empty() {
            continue;
        }
        // Only where a reader is no child, which is rare: it may look at the whole dag.
        let after = dag.descendants(&[producer]);
        if let Some(task) = far.iter().find(|t| !after.contains(t)) {
            return Err(refused(format!(
                "task number {} reads what task number {} writes, but does not come after it",
                task.0, producer.0
            )));
        }
    }
    Ok(())
}

/// Where a task is, in words; the only moves are those that a run makes.
fn words(standing: Standing) -> &'static str {
    match standing {
        Standing::Leased => "runs",
        Standing::Executed => "is done",
        Standing::Failed => "was given up",
        _ => "waits",
    }
}

/// Keeps storage under a cap: `may`, `start`, `finish`.
#[pyclass(module = "cairn._cairn")]
pub(crate) struct Keeper {
    keeper: cairn_engine::Keeper,
    numbers: Vec<FileId>,
}

impl Keeper {
    /// The task, and where it is in words.
    fn find(&self, task: u32) -> PyResult<(TaskId, &'static str)> {
        let tasks = self.keeper.storage().tasks();
        let found = Some(TaskId(task)).filter(|task| task.index() < tasks);
        let found = found.ok_or_else(|| refused(format!("there is no task number {task}")))?;
        Ok((found, words(self.keeper.standing(found))))
    }

    /// The task, if it is one and is where it must be.
    fn at(&self, task: u32, standing: Standing) -> PyResult<TaskId> {
        let (found, now) = self.find(task)?;
        match words(standing) {
            wanted if wanted == now => Ok(found),
            wanted => Err(refused(format!(
                "task number {task} {now}; it must be one that {wanted}"
            ))),
        }
    }

    /// Tells the keeper of a move of a task that must stand there.
    fn shift(
        &mut self,
        task: u32,
        from: Standing,
        tell: fn(&mut cairn_engine::Keeper, TaskId),
    ) -> PyResult<()> {
        let task = self.at(task, from)?;
        here(|| {
            tell(&mut self.keeper, task);
            Ok(())
        })
    }

    fn file(&self, file: usize) -> PyResult<FileId> {
        let number = self.numbers.get(file).copied();
        number.ok_or_else(|| refused(format!("there is no file number {file}")))
    }
}

#[pymethods]
impl Keeper {
    /// `order` is to have a peak within `cap`.
    #[new]
    fn new(storage: &Storage, order: Vec<u32>, cap: u64) -> PyResult<Keeper> {
        let order = checked_order(&storage.dag, &order)?;
        let model = storage.storage.clone();
        let keeper = here(|| Ok(cairn_engine::Keeper::new(model, &order, cap)))?;
        let keeper = keeper.map_err(|error| match error {
            BadOrder::Over { missing } => {
                DoesNotFit::new_err(("the order needs more than the cap", missing))
            }
            BadOrder::Incomplete => refused(error),
        })?;
        Ok(Keeper {
            numbers: storage.numbers.clone(),
            keeper,
        })
    }

    /// Whether a waiting task may start now.
    fn may(&mut self, task: u32) -> PyResult<bool> {
        let task = self.at(task, Standing::Waiting)?;
        here(|| Ok(self.keeper.may(task)))
    }

    /// A waiting task starts, whether it may or not.
    fn start(&mut self, task: u32) -> PyResult<()> {
        let start = cairn_engine::Keeper::start;
        self.shift(task, Standing::Waiting, start)
    }

    /// A running task has ended well, and what nobody wants any more is deleted.
    fn finish(&mut self, task: u32) -> PyResult<()> {
        let finish = cairn_engine::Keeper::finish;
        self.shift(task, Standing::Leased, finish)
    }

    /// A running task comes back undone, and what it wrote is deleted: it goes first.
    fn release(&mut self, task: u32) -> PyResult<()> {
        let release = cairn_engine::Keeper::release;
        self.shift(task, Standing::Leased, release)
    }

    /// Tasks that will not be executed, and whose outputs are not there. Their inputs stay, unless `frees`.
    fn give_up(&mut self, given_up: Vec<u32>, frees: bool) -> PyResult<()> {
        let tasks = (0..self.keeper.storage().tasks()).map(TaskId::new);
        let mut standing: Vec<Standing> = tasks.map(|t| self.keeper.standing(t)).collect();
        for task in given_up {
            let (found, now) = self.find(task)?;
            if now == words(Standing::Executed) {
                return Err(refused(format!("task number {task} {now}")));
            }
            standing[found.index()] = Standing::Failed;
        }
        let leftovers = if frees {
            Leftovers::Go
        } else {
            Leftovers::Stay
        };
        here(|| {
            self.keeper.set_leftovers(leftovers);
            self.keeper.sync(|t| standing[t.index()]);
            Ok(())
        })
    }

    /// A file, by its place among those given, has another size.
    fn resize(&mut self, file: usize, bytes: u64) -> PyResult<()> {
        let file = self.file(file)?;
        here(|| self.keeper.resize(file, bytes).map_err(refused))
    }

    fn set_cap(&mut self, cap: u64) {
        self.keeper.set_cap(cap);
    }

    #[getter]
    fn cap(&self) -> u64 {
        self.keeper.cap()
    }

    #[getter]
    fn used(&self) -> u64 {
        self.keeper.used()
    }

    /// Bytes missing when nothing runs and the next task does not fit; else 0.
    #[getter]
    fn missing(&self) -> u64 {
        self.keeper.missing()
    }

    #[getter]
    fn is_safe(&self) -> bool {
        self.keeper.is_safe()
    }

    /// The waiting tasks by the safe order.
    fn waiting(&self) -> Vec<u32> {
        self.keeper.waiting().iter().map(|t| t.0).collect()
    }

    /// The first few of them.
    fn next_by_order(&self) -> Vec<u32> {
        self.keeper.next_by_order().map(|t| t.0).collect()
    }

    /// Whether a file is wanted no more.
    fn is_free(&self, file: usize) -> PyResult<bool> {
        Ok(self.keeper.is_free(self.file(file)?))
    }

    /// Takes another order of the waiting tasks; says whether it is within the cap.
    fn adopt(&mut self, order: Vec<u32>) -> PyResult<bool> {
        let order: Vec<TaskId> = order.into_iter().map(TaskId).collect();
        here(|| match self.keeper.adopt(&order) {
            Ok(()) => Ok(true),
            Err(BadOrder::Over { .. }) => Ok(false),
            Err(error) => Err(refused(error)),
        })
    }
}

/// Bytes of a size such as `500GB` or `20GiB`; None where it is none.
#[pyfunction]
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    size::parse(text)
}

/// A number of bytes for people.
#[pyfunction]
pub(crate) fn size_words(bytes: u64) -> String {
    size::words(u128::from(bytes))
}
