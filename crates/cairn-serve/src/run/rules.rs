//! What a flow says of its tasks' needs, as rules for the engine; what can never be fulfilled is found here. Runs nothing.

use cairn_dag::{Flow, TaskId};
use cairn_engine::{ClassId, Needs, PoolId, Rules, Span};
use std::collections::{HashMap, HashSet};

/// What is asked of a run beyond what the flow says.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// How often to try again after a failure, where the flow does not say.
    pub retries: u32,
    /// How much there is of named resources; more than the flow says, or otherwise.
    pub pools: Vec<(String, u32)>,
    /// Bytes of memory that there are, where that is to be counted.
    pub memory: Option<u64>,
    /// After so many tasks are given up, nothing more is started; 0: go on to the end.
    pub failures: u64,
    /// The labels of this machine, where all tasks run here; `None` where workers come with their own.
    pub labels: Option<Vec<String>>,
}

/// A need that cannot be fulfilled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// Nobody said how much there is.
    #[error("task '{task}' needs {amount} of '{pool}', and nothing says how much of it there is")]
    UnknownPool {
        /// The task.
        task: String,
        /// The resource.
        pool: String,
        /// How much it needs.
        amount: u32,
    },
    /// There is less than a task needs.
    #[error("task '{task}' needs {amount} of '{pool}', and there are {limit}")]
    PoolTooSmall {
        /// The task.
        task: String,
        /// The resource.
        pool: String,
        /// How much it needs.
        amount: u32,
        /// How much there is.
        limit: u32,
    },
    /// Somebody said how much there is of what no task needs.
    #[error("no task needs any '{0}'")]
    UnusedPool(String),
    /// There is less memory than a task needs.
    #[error("task '{task}' needs {needed} bytes of memory, and there are {limit}")]
    Memory {
        /// The task.
        task: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that there are.
        limit: u64,
    },
    /// A task wants a label that this machine does not have.
    #[error("task '{task}' runs only where there is '{tag}'")]
    Tag {
        /// The task.
        task: String,
        /// The label that is missing.
        tag: String,
    },
}

/// How much longer a worker must stay to be given a task that takes so long, in steps of half a power of two, so that tasks
/// fall into few classes. Short ones go to anybody.
fn life(seconds: f64) -> Span {
    // Whoever said that it leaves within a minute would be refused nearly everything; and what is lost with a task that short is
    // little.
    const SHORT: f64 = 60.0;
    match seconds > SHORT {
        true => Span((SHORT * ((2.0 * (seconds / SHORT).log2()).ceil() / 2.0).exp2() * 1e6) as u64),
        false => Span(0),
    }
}

/// The shared resources that tasks need, by number: the first that is needed comes first.
pub fn pool_names(flow: &Flow) -> Vec<&str> {
    let mut names = Vec::new();
    let mut seen = HashSet::new();
    for task in flow.dag().tasks() {
        names.extend(
            flow.pools(task)
                .map(|(name, _)| name)
                .filter(|name| seen.insert(*name)),
        );
    }
    names
}

/// The rules for a run of the flow.
///
/// # Errors
/// If a task could never be started.
pub fn rules(flow: &Flow, wishes: &Wishes) -> Result<Rules, RulesError> {
    let dag = flow.dag();
    let mut limits: HashMap<&str, u32> = flow.pool_limits().collect();
    let names = pool_names(flow);
    let numbered = names.iter().zip(0..).map(|(&name, id)| (name, PoolId(id)));
    let used: HashMap<&str, PoolId> = numbered.collect();
    limits.extend(
        wishes
            .pools
            .iter()
            .map(|(name, many)| (name.as_str(), *many)),
    );
    let mut rules = Rules {
        retries: wishes.retries,
        failures: wishes.failures,
        // Whoever runs here cannot be silent.
        silence: Span::EVER,
        ..Rules::default()
    };
    let mut classes: HashMap<Needs, ClassId> = HashMap::new();
    classes.insert(Needs::default(), ClassId::default());
    for task in dag.tasks() {
        let needs = needs(flow, task, wishes, &limits, &used)?;
        let next = ClassId::new(rules.classes.len());
        let class = *classes.entry(needs).or_insert_with_key(|needs| {
            rules.classes.push(needs.clone());
            next
        });
        rules.class_of.push(class);
        let retries = flow.retries(task).unwrap_or(wishes.retries);
        rules.retries_of.push(retries);
    }
    // Every one of them has a limit: a task that needs another is refused above.
    rules.pools = names.iter().map(|name| limits[name]).collect();
    let unused = wishes
        .pools
        .iter()
        .find(|(name, _)| !used.contains_key(name.as_str()));
    match unused {
        Some((name, _)) => Err(RulesError::UnusedPool(name.clone())),
        None => Ok(rules),
    }
}

/// What a task needs; refused where nobody can ever have it.
fn needs(
    flow: &Flow,
    task: TaskId,
    wishes: &Wishes,
    limits: &HashMap<&str, u32>,
    used: &HashMap<&str, PoolId>,
) -> Result<Needs, RulesError> {
    let name = || flow.shown(task).into_owned();
    let memory = flow.memory(task).unwrap_or(0);
    if let Some(limit) = wishes.memory.filter(|&limit| memory > limit) {
        return Err(RulesError::Memory {
            task: name(),
            needed: memory,
            limit,
        });
    }
    let mut pools = Vec::new();
    for (pool, amount) in flow.pools(task) {
        let Some(&limit) = limits.get(pool) else {
            let (task, pool) = (name(), pool.to_owned());
            return Err(RulesError::UnknownPool { task, pool, amount });
        };
        if amount > limit {
            let (task, pool) = (name(), pool.to_owned());
            return Err(RulesError::PoolTooSmall {
                task,
                pool,
                amount,
                limit,
            });
        }
        pools.push((used[pool], amount));
    }
    // Sorted, as tags below: tasks with the same needs are of one class, however they list them.
    pools.sort_unstable();
    let mut tags: Vec<String> = flow.tags(task).map(str::to_owned).collect();
    tags.sort_unstable();
    if let Some(labels) = &wishes.labels
        && let Some(tag) = tags.iter().find(|tag| !labels.contains(tag))
    {
        let (task, tag) = (name(), tag.clone());
        return Err(RulesError::Tag { task, tag });
    }
    Ok(Needs {
        cpus: flow.cpus(task).unwrap_or(1),
        memory,
        pools,
        tags,
        life: match wishes.labels {
            // This machine stays as long as the run.
            Some(_) => Span(0),
            None => life(flow.seconds(task).unwrap_or(0.0)),
        },
        limit: (flow.time_limit(task)).map(|seconds| Span((seconds * 1e6) as u64)),
    })
}
