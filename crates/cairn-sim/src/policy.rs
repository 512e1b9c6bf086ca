//! Policies: how the next task is chosen among the eligible ones. Knows no worker, and not how an order was computed.

use crate::chooser::Batching;
use crate::error::SimulateError;
use crate::gate::Admission;
use crate::served::{Knows, Serving};
use cairn_dag::{Dag, TaskId, narrow};
use cairn_kernel::places;
use std::sync::Arc;

/// A named way to choose among eligible tasks.
///
/// ```
/// use cairn_sim::Policy;
/// use cairn_dag::TaskId;
/// let order = [TaskId(2), TaskId(0), TaskId(1)];
/// let policies = [Policy::order("ic", &order), Policy::fifo()];
/// assert_eq!(policies[1].name(), "fifo");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    name: String,
    pub(crate) rule: Rule,
    pub(crate) admission: Option<SharedAdmission>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The tasks, first to last; any permutation.
    Order(Vec<TaskId>),
    /// Whole batches at once, and an order for where there are none.
    Batched(Vec<TaskId>, SharedBatching),
    Fifo,
    Lifo,
    Random,
    Heft,
    Peft,
    /// An order for equals, and what the server knows.
    Aware(Vec<TaskId>, Knows),
    /// An order, and how the server deals with its workers.
    Served(Vec<TaskId>, Serving),
}

/// Equal only to itself.
#[derive(Clone, Debug)]
pub(crate) struct SharedBatching(pub(crate) Arc<dyn Batching>);

/// Equal only to itself.
#[derive(Clone, Debug)]
pub(crate) struct SharedAdmission(pub(crate) Arc<Admission>);

impl PartialEq for SharedAdmission {
    fn eq(&self, other: &SharedAdmission) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl PartialEq for SharedBatching {
    fn eq(&self, other: &SharedBatching) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Policy {
    fn new(name: &str, rule: Rule) -> Policy {
        Policy {
            name: name.to_owned(),
            rule,
            admission: None,
        }
    }

    /// A priority list: of the eligible tasks, the one that comes first in `order`. The order need not be
    /// topological, but must name every task once; [`crate::simulate`] checks that.
    pub fn order(name: &str, order: &[TaskId]) -> Policy {
        Policy::new(name, Rule::Order(order.to_vec()))
    }

    /// Asks `server` for the tasks of a whole batch at once where requests come in batches. In other worlds, where one
    /// worker asks at a time, only `order` remains: as [`Policy::order`].
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// use cairn_sim::{Chooser, Options, Policy, Batching, World, simulate};
    /// use std::sync::Arc;
    ///
    /// /// The last task first; batches are filled up from the order.
    /// #[derive(Debug)]
    /// struct Last;
    /// struct Left(u32);
    /// impl Batching for Last {
    ///     fn start<'d>(&self, dag: &'d Dag) -> Box<dyn Chooser + 'd> {
    ///         Box::new(Left(dag.len() as u32))
    ///     }
    /// }
    /// impl Chooser for Left {
    ///     fn choose(&mut self, _: usize) -> Vec<TaskId> {
    ///         self.0 -= 1;
    ///         vec![TaskId(self.0)]
    ///     }
    ///     fn handed_out(&mut self, _: TaskId) {}
    ///     fn executed(&mut self, _: TaskId) {}
    /// }
    /// let dag = Dag::from_arcs(40, vec![])?;
    /// let order: Vec<TaskId> = dag.tasks().collect();
    /// let policies = [Policy::batched("last", &order, Arc::new(Last)), Policy::fifo()];
    /// let study = simulate(&dag, &World::study_work(), &World::batches(1.0, 4.0)?, &policies, &Options::default())?;
    /// assert_eq!(study.runs(), 200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batched(name: &str, order: &[TaskId], server: Arc<dyn Batching>) -> Policy {
        Policy::new(name, Rule::Batched(order.to_vec(), SharedBatching(server)))
    }

    /// First come, first served: the task that became eligible first. Tasks that became eligible at the same instant
    /// go by id, so the sources go in the order of the file. A task that was lost returns to its old place.
    pub fn fifo() -> Policy {
        Policy::new("fifo", Rule::Fifo)
    }

    /// The task that became eligible last; at the same instant, the highest id.
    pub fn lifo() -> Policy {
        Policy::new("lifo", Rule::Lifo)
    }

    /// A random order, drawn anew for each run.
    pub fn random() -> Policy {
        Policy::new("random", Rule::Random)
    }

    /// Heterogeneous Earliest Finish Time (Topcuoglu, Hariri, Wu 2002), which knows the workers' speeds and links
    /// and every task's expected duration.
    ///
    /// Tasks go by *upward rank*: the longest path to a sink, over mean durations and mean transfers. In a pool that
    /// never changes (one task at a time a worker, no lease, no tail) the published static schedule is computed, with
    /// insertion into gaps, and every worker runs its own list in order. In any other pool the same rule is applied
    /// afresh whenever a worker is free: eligible tasks, by rank, each choose the present worker with the earliest
    /// expected finish; a task that would rather wait for a busy worker reserves it and is passed over. Where workers
    /// have no identity (batches, throttled) only the ranks remain.
    pub fn heft() -> Policy {
        Policy::new("heft", Rule::Heft)
    }

    /// Predict Earliest Finish Time (Arabnejad, Barbosa 2014): as [`Policy::heft`], but tasks go by the mean of their
    /// *optimistic costs* (the least that must follow after a task on a given worker), and workers are chosen by
    /// finish time plus that cost. Takes memory tasks × workers.
    pub fn peft() -> Policy {
        Policy::new("peft", Rule::Peft)
    }

    /// The server of `cairn serve --dispatch aware`, by the engine's own code: it learns how fast workers are from what they
    /// return, gives each task to the worker that will end it first, keeps tasks for faster workers that are busy, and gives
    /// copies of late tasks to idle ones. Tasks go by the work on the longest path after them, equals by `order`. Where
    /// workers have no identity (batches, throttled), and under a cap on storage, only the order remains.
    pub fn aware(name: &str, order: &[TaskId], knows: Knows) -> Policy {
        Policy::new(name, Rule::Aware(order.to_vec(), knows))
    }

    /// The server of `cairn serve`, by the engine's own code, with a priority list: for trusted workers, or for volunteers, of
    /// whom enough must return the same before a result counts. Tasks may be given up, and a run may have no end
    /// ([`crate::Results`]). Where workers have no identity (batches, throttled), and under a cap on storage, only the order
    /// remains. Who is gone is missed after the silence, whatever the pool's lease is.
    ///
    /// ```
    /// use cairn_dag::{Dag, TaskId};
    /// use cairn_sim::{Crew, Measure, Natures, Options, Policy, PoolSettings, Serving, Terms, Workload, World, simulate};
    /// let dag = Dag::from_arcs(40, vec![])?;
    /// let order: Vec<TaskId> = dag.tasks().collect();
    /// let natures = Natures { liars: 0.2, ..Natures::default() };
    /// let crew = Crew { natures, ..Crew::default() };
    /// let world = World::pool(PoolSettings { workers: 10, crew, ..PoolSettings::default() })?;
    /// let terms = Terms { quorum: 2, replicate_all: true, deadline: 10.0, kinds: Vec::new() };
    /// let serving = |volunteers| Serving { silence: 0.25, volunteers };
    /// let policies = [
    ///     Policy::served("volunteers", &order, serving(Some(terms))),
    ///     Policy::served("trusted", &order, serving(None)),
    /// ];
    /// let options = Options { runs: 10, ..Options::default() };
    /// let study = simulate(&dag, &Workload::unit(), &world, &policies, &options)?;
    /// assert_eq!(study.summary(0, Measure::Wrong).mean, 0.0);
    /// assert!(study.summary(0, Measure::Executions).mean > 2.0);
    /// assert!(study.summary(1, Measure::Wrong).mean > 5.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn served(name: &str, order: &[TaskId], serving: Serving) -> Policy {
        Policy::new(name, Rule::Served(order.to_vec(), serving))
    }

    /// The name, as it appears in the results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same policy under another name.
    pub fn named(self, name: &str) -> Policy {
        Policy {
            name: name.to_owned(),
            ..self
        }
    }

    /// The same policy where only those may start whom the admission lets: storage under a cap. The first eligible task in
    /// the policy's order that may. Workers get no second copies of tasks, and whole batches are taken one by one.
    pub fn within(self, admission: Arc<Admission>) -> Policy {
        Policy {
            admission: Some(SharedAdmission(admission)),
            ..self
        }
    }

    /// The position of every task, if this policy is a fixed list.
    pub(crate) fn ranking(&self, dag: &Dag) -> Result<Option<Ranking>, SimulateError> {
        match &self.rule {
            Rule::Order(order)
            | Rule::Batched(order, _)
            | Rule::Aware(order, _)
            | Rule::Served(order, _) => {
                let mut seen = vec![false; dag.len()];
                for &task in order {
                    if task.index() >= dag.len() || std::mem::replace(&mut seen[task.index()], true)
                    {
                        return Err(SimulateError::NotAnOrder {
                            name: self.name.clone(),
                            task,
                        });
                    }
                }
                match seen.iter().position(|s| !s) {
                    Some(missing) => Err(SimulateError::NotAnOrder {
                        name: self.name.clone(),
                        task: TaskId::new(missing),
                    }),
                    None => Ok(Some(Ranking::from_order(order))),
                }
            }
            Rule::Fifo | Rule::Lifo | Rule::Random | Rule::Heft | Rule::Peft => Ok(None),
        }
    }
}

/// A permutation of the tasks: who is at each position, and at which position each task is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ranking {
    pub(crate) task_at: Vec<TaskId>,
    pub(crate) position: Vec<u32>,
}

impl Ranking {
    pub(crate) fn from_order(order: &[TaskId]) -> Ranking {
        Ranking {
            task_at: order.to_vec(),
            position: places(order),
        }
    }

    /// Higher values first, ties by id.
    pub(crate) fn by_falling(values: &[f64]) -> Ranking {
        let mut order: Vec<TaskId> = (0..narrow(values.len())).map(TaskId).collect();
        order.sort_by(|a, b| {
            values[b.index()]
                .total_cmp(&values[a.index()])
                .then(a.cmp(b))
        });
        Ranking::from_order(&order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_checked() {
        let dag = Dag::from_arcs(3, vec![]).unwrap();
        let ids = |order: &[u32]| order.iter().map(|&i| TaskId(i)).collect::<Vec<_>>();
        let list = Policy::order("l", &ids(&[1, 0, 2]));
        let ranking = list.ranking(&dag).unwrap().unwrap();
        assert_eq!(ranking.task_at, ids(&[1, 0, 2]));
        assert_eq!(ranking.position, [1, 0, 2]);
        for (order, bad) in [(vec![0, 1], 2), (vec![0, 1, 1, 2], 1), (vec![0, 1, 7], 7)] {
            let error = Policy::order("o", &ids(&order)).ranking(&dag).unwrap_err();
            assert_eq!(
                error,
                SimulateError::NotAnOrder {
                    name: "o".into(),
                    task: TaskId(bad)
                }
            );
        }
        assert_eq!(Policy::fifo().ranking(&dag), Ok(None));
    }

    #[test]
    fn higher_values_go_first_and_ties_by_id() {
        assert_eq!(
            Ranking::by_falling(&[1.0, 3.0, 1.0, 2.0]).position,
            [2, 0, 3, 1]
        );
    }
}
