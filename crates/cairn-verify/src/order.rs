//! The order of a certificate: whose it is, whether it is one, what is eligible along it. Knows no bound.

use crate::fingerprint::fingerprint;
use crate::format::{Certificate, VERSION};
use crate::rejected::Rejected;
use crate::width::long;
use cairn_dag::{Dag, Flow, TaskId};

/// Checks version, dag, order and profile. Returns the order as tasks.
pub(crate) fn check(flow: &Flow, certificate: &Certificate) -> Result<Vec<TaskId>, Rejected> {
    if certificate.version != VERSION {
        return Err(Rejected::Version(certificate.version));
    }
    if certificate.dag != fingerprint(flow) {
        return Err(Rejected::OtherDag);
    }
    let order = tasks_of(flow, &certificate.order)?;
    if certificate.profile != profile_of(flow.dag(), &order)? {
        return Err(Rejected::OtherProfile);
    }
    Ok(order)
}

/// The order as tasks: each name known and named once, none left out.
pub(crate) fn tasks_of(flow: &Flow, names: &[String]) -> Result<Vec<TaskId>, Rejected> {
    let mut is_named = vec![false; flow.dag().len()];
    let mut order = Vec::new();
    for name in names {
        let task = flow
            .find(name)
            .ok_or_else(|| Rejected::OrderNamesNoTask(name.clone()))?;
        if std::mem::replace(&mut is_named[task.index()], true) {
            return Err(Rejected::OrderNamesTwice(name.clone()));
        }
        order.push(task);
    }
    match is_named.iter().position(|&is| !is) {
        Some(missing) => {
            let name = flow.name(TaskId::new(missing));
            Err(Rejected::OrderLeavesOut(name.to_owned()))
        }
        None => Ok(order),
    }
}

/// Eligible tasks after each step, counted one by one.
pub(crate) fn profile_of(dag: &Dag, order: &[TaskId]) -> Result<Vec<u64>, Rejected> {
    let mut waits_for: Vec<usize> = dag.tasks().map(|t| dag.parents(t).len()).collect();
    let mut eligible = long(dag.sources().count());
    let mut profile = vec![eligible];
    for (t, &task) in order.iter().enumerate() {
        if waits_for[task.index()] > 0 {
            return Err(Rejected::OrderBreaksArc(t + 1));
        }
        for child in dag.children(task) {
            waits_for[child.index()] -= 1;
            eligible += u64::from(waits_for[child.index()] == 0);
        }
        // No underflow: the task was eligible, so it is counted.
        eligible -= 1;
        profile.push(eligible);
    }
    Ok(profile)
}
