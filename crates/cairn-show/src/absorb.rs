//! Takes tasks that only pass things on into the one neighbour they serve. Knows which tasks those are only from the caller.

use crate::partition::Parts;
use cairn_dag::{Dag, TaskId, narrow, wide};

/// Each loose task goes to its only child, or else to its only parent, again and again.
///
/// To contract an arc makes no circle if its tail has no other child or its head no other parent. At most one task of a
/// part is not loose. Time O((tasks + arcs) log) for each of a few rounds.
pub(crate) fn absorb(dag: &Dag, loose: &[bool]) -> Parts {
    let mut all = Parts::singles(dag.len());
    let mut loose = loose.to_vec();
    let mut now = dag.clone();
    // To children and to parents in turn, since one way opens the other: whose neighbours went into one host has but one now.
    // Eight turns are a judgement: each costs the whole dag, and what is left then is drawn as it is.
    for round in 0..8 {
        let parts = one_way(&now, &loose, round % 2 == 0);
        if parts.count < now.len() {
            let mut solid = vec![false; parts.count];
            for (i, part) in parts.of.iter().enumerate() {
                solid[wide(*part)] |= !loose[i];
            }
            loose = solid.into_iter().map(|s| !s).collect();
            now = parts
                .quotient(&now)
                .expect("only arcs that close no circle are contracted");
            all = all.then(&parts);
        // The first turn alone proves nothing: the other way has not been tried yet.
        } else if round > 0 {
            break;
        }
    }
    all
}

fn one_way(dag: &Dag, loose: &[bool], to_child: bool) -> Parts {
    let mut host: Vec<u32> = (0..narrow(dag.len())).collect();
    let order = dag.topological_order().iter();
    let order: Vec<TaskId> = if to_child {
        order.rev().copied().collect()
    } else {
        order.copied().collect()
    };
    for task in order.into_iter().filter(|t| loose[t.index()]) {
        let near = if to_child {
            dag.children(task)
        } else {
            dag.parents(task)
        };
        let mut hosts = near.iter().map(|t| host[t.index()]);
        if let Some(first) = hosts.next().filter(|&first| hosts.all(|h| h == first)) {
            host[task.index()] = first;
        }
    }
    Parts::by_key(host.into_iter())
}
