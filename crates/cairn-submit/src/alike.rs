//! Which tasks could stand for one another in everything that is still to come. Knows no order and no engine.

use crate::Task;
use crate::handover::children;
use cairn_dag::{narrow, wide};
use std::collections::HashMap;

/// What comes right behind a task: a child that waits for nothing else, by its kind, or one that others share, by its place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Child {
    Own(u32),
    Shared(u32),
}

/// By place a number, equal for tasks that are alike: they take and ask for the same, whatever waits for one of them and others
/// waits for the other too, and what waits for one alone is alike in turn. Once their parents are executed, exchanging two
/// of them changes nothing but names.
pub(crate) fn alike(tasks: &[Task]) -> Vec<u32> {
    let children = children(tasks);
    // From the last task on: what comes behind a task is known before the task itself.
    let mut kinds = vec![0; tasks.len()];
    let mut known = HashMap::new();
    for (place, task) in tasks.iter().enumerate().rev() {
        let child = |&c: &u32| match tasks[wide(c)].parents.len() {
            1 => Child::Own(kinds[wide(c)]),
            // By its place: only the very same child counts, since it waits for both.
            _ => Child::Shared(c),
        };
        let mut behind: Vec<Child> = children.row(place).iter().map(child).collect();
        behind.sort_unstable();
        let asks = (task.cpus, task.memory, task.seconds.map(f64::to_bits));
        let tries = (task.retries, task.time_limit.map(f64::to_bits));
        let next = narrow(known.len());
        kinds[place] = *known.entry((asks, tries, behind)).or_insert(next);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(parents: &[&[u32]]) -> Vec<Task> {
        let task = |parents: &&[u32]| Task {
            parents: parents.to_vec(),
            ..Task::default()
        };
        parents.iter().map(task).collect()
    }

    #[test]
    fn chains_and_those_that_one_task_waits_for_are_alike() {
        // Two chains and a shorter one, then two that share a child, and one that has a like child to itself.
        let parents: [&[u32]; 10] = [&[], &[], &[], &[0], &[1], &[], &[], &[], &[5, 6], &[7]];
        let mut tasks = tasks(&parents);
        let kinds = alike(&tasks);
        assert!(kinds[0] == kinds[1] && kinds[3] == kinds[4] && kinds[2] == kinds[3]);
        assert!(kinds[5] == kinds[6] && kinds[5] != kinds[7] && kinds[7] == kinds[0]);
        assert_ne!(kinds[0], kinds[2]);
        // What takes longer far behind counts.
        tasks[4].seconds = Some(3.0);
        let kinds = alike(&tasks);
        assert!(kinds[0] != kinds[1] && kinds[7] == kinds[0]);
    }
}
