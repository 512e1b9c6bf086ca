//! Why a verdict holds, in the words of the theory and for machines, and how far that is proved. Knows no command.

use crate::called;
use crate::plural::counted;
use cairn_dag::{Flow, TaskId};
use cairn_plan::{Basis, Conflict, Corner, Crossing, Plan, Refusal, SearchRecord, Verdict};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The proof for machines.
pub(crate) fn proof_json(plan: &Plan, flow: &Flow) -> Value {
    let names = |set: &[TaskId]| -> Vec<&str> { set.iter().map(|&t| flow.name(t)).collect() };
    let pair = |conflict: &Conflict| match conflict {
        Conflict::Pair(pair) => json!({
            "steps": pair.steps, "gains": pair.gains,
            "sets": [names(&pair.smaller), pair.larger.as_deref().map(names)],
        }),
        Conflict::NoPair | Conflict::Unknown => Value::Null,
    };
    let mut value = match &plan.basis {
        Basis::Linearization { ranks } => json!({ "by": "linearization", "ranks": ranks }),
        Basis::Merge { ranks } => json!({ "by": "merge", "ranks": ranks }),
        Basis::Bound => json!({ "by": "bound" }),
        // Blocks are named by some of their tasks: they have no names of their own.
        Basis::Blocks => {
            let words = plan.obstacle_words(|tasks| called::few(flow, tasks));
            json!({ "by": "merge", "obstacle": words })
        }
        Basis::Nothing => Value::Null,
        Basis::Refusal(Refusal::Component {
            from,
            to,
            tasks,
            method,
            states,
            conflict,
            ..
        }) => json!({
            "by": "exhaustive", "from": from, "to": to, "tasks": names(tasks), "method": method, "states": states,
            "pair": pair(conflict),
        }),
        Basis::Refusal(Refusal::Sum {
            from,
            to,
            step,
            conflict,
            ..
        }) => {
            json!({ "by": "merge", "from": from, "to": to, "step": step, "pair": pair(conflict) })
        }
        Basis::Refusal(Refusal::Crossing(Crossing {
            before,
            after,
            step,
            gain,
            set,
            inside,
            ..
        })) => {
            let corner = |c: &Corner| json!({ "step": c.step, "set": names(&c.set) });
            let first = before.as_ref().or(after.as_ref());
            // The older fields speak of one corner; where there are two they would say half of it.
            let takes_both = before.is_some() && after.is_some();
            json!({
                "by": "bound", "steps": [first.map(|c| c.step), Some(*step)],
                "sets": [first.map(|c| names(&c.set)), set.as_deref().map(names)],
                "before": before.as_ref().map(corner), "after": after.as_ref().map(corner),
                "gain": gain, "gain_between": inside,
                "gain_through_first": (!takes_both).then_some(inside),
            })
        }
    };
    if !value.is_null() {
        let is_proved = plan.checked.verdict;
        value["checked"] = json!(if is_proved { "proved" } else { "search" });
    }
    value
}

/// How a verdict is known: proved, where `verify` proves it, else by what.
pub(crate) fn how(verdict: Verdict, plan: &Plan) -> String {
    let searched = plan.search.as_ref();
    let searched = searched.map_or("exhausted search".to_owned(), search_words);
    match (plan.is_proved(verdict), &plan.basis) {
        (true, _) => "proved".to_owned(),
        (false, Basis::Linearization { .. } | Basis::Merge { .. }) => {
            "by theory, too large for `cairn verify`".to_owned()
        }
        // It says itself what was searched.
        (false, Basis::Refusal(Refusal::Component { .. })) => "by exhausted search".to_owned(),
        (false, _) => format!("by {searched}"),
    }
}

/// What a search looked at.
fn search_words(search: &SearchRecord) -> String {
    let (parts, different) = search.components;
    let parts = counted(parts, "part");
    format!("exhausted search of {parts}, {different} of them different")
}

/// The verdict in words, with the proof, for [`crate::layout::hanging`]: names are not to be broken.
pub(crate) fn verdict_words(verdict: Verdict, plan: &Plan, flow: &Flow) -> String {
    let list = |set: &[TaskId]| {
        // Chosen by eye: two sets of names in one sentence.
        const SHOWN: usize = 8;
        let names = called::unbroken(flow, set, SHOWN);
        let more = set.len().saturating_sub(SHOWN);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{{{names}{more}}}")
    };
    let how = how(verdict, plan);
    match (verdict, &plan.basis) {
        (Verdict::Optimal, Basis::Linearization { ranks }) => {
            format!(
                "IC-optimal, {how}: {} in {} under ▷ (Theorem 7)",
                counted(plan.survey().blocks().len(), "block"),
                counted(*ranks, "rank")
            )
        }
        (Verdict::Optimal, Basis::Merge { ranks }) => {
            format!(
                "IC-optimal, {how}: {} merged into {}",
                counted(plan.survey().blocks().len(), "block"),
                counted(*ranks, "rank")
            )
        }
        (Verdict::Optimal, _) => {
            format!("IC-optimal, {how}: the order meets the certified bound at every step")
        }
        (Verdict::Suboptimal, _) => {
            "an IC-optimal order exists, and this is not one (--policy ic)".to_owned()
        }
        (Verdict::Open, _) => {
            "open: neither proved optimal nor proved that no IC-optimal order exists".to_owned()
        }
        (_, Basis::Refusal(Refusal::Crossing(crossing))) => format!(
            "no IC-optimal order exists, {how}:\n{}",
            crossing_words(crossing, list)
        ),
        (
            _,
            Basis::Refusal(Refusal::Component {
                from,
                to,
                tasks,
                states,
                conflict,
                ..
            }),
        ) => format!(
            "no IC-optimal order exists, {how}: between steps {from} and {to} the tasks {} admit none\n\
             (search over {states} states exhausted){}",
            list(tasks),
            conflict_words(conflict, "these tasks", list)
        ),
        (
            _,
            Basis::Refusal(Refusal::Sum {
                from,
                to,
                step,
                conflict,
                ..
            }),
        ) => format!(
            "no IC-optimal order exists, {how}: between steps {from} and {to} independent parts pull apart at step {step}{}",
            conflict_words(conflict, "the tasks in between", list)
        ),
        (_, Basis::Blocks) => {
            let why = plan.obstacle_words(|tasks| called::few_unbroken(flow, tasks));
            let why = why.unwrap_or_default();
            format!("no IC-optimal order exists, {how}: {why}")
        }
        (_, _) => format!("no IC-optimal order exists, {how}"),
    }
}

/// One or two sets that are in the way of another.
fn crossing_words(crossing: &Crossing, list: impl Fn(&[TaskId]) -> String) -> String {
    let Crossing {
        before,
        after,
        step,
        gain,
        set,
        inside,
        ..
    } = crossing;
    let witness = set.as_deref().unwrap_or_default();
    let corner = |c: &Corner| list(&apart(&c.set, witness));
    let (corners, which, seen) = match (before, after) {
        (Some(a), Some(b)) => (
            format!(
                "the only best sets of {} and {} are {} and {}",
                a.step,
                b.step,
                corner(a),
                corner(b)
            ),
            "between the two",
            &b.set,
        ),
        (Some(c), None) => (
            format!("the only best set of {} is {}", c.step, corner(c)),
            "that contain the first",
            &c.set,
        ),
        (None, Some(c)) => (
            format!("the only best set of {} is {}", c.step, corner(c)),
            "that lie in the first",
            &c.set,
        ),
        (None, None) => return String::new(),
    };
    let other = match set {
        Some(set) => format!("the set of {step} {}", list(&apart(set, seen))),
        None => format!("some set of {step}"),
    };
    format!("{corners};\n{other} makes {gain} eligible, those {which} at most {inside}")
}

/// Long lists are cut short: what the other set does not have comes first.
fn apart(set: &[TaskId], other: &[TaskId]) -> Vec<TaskId> {
    let other: HashSet<TaskId> = other.iter().copied().collect();
    let mut set = set.to_vec();
    set.sort_by_key(|task| other.contains(task));
    set
}

/// The two steps that conflict among `these` tasks; empty where it is not known whether two do.
fn conflict_words(conflict: &Conflict, these: &str, list: impl Fn(&[TaskId]) -> String) -> String {
    let apart = |set: &[TaskId], other: &[TaskId]| list(&apart(set, other));
    match conflict {
        Conflict::Pair(pair) => {
            let [s, t] = pair.steps;
            let [gain, more] = pair.gains;
            let other = pair.larger.as_deref().unwrap_or_default();
            let larger = match &pair.larger {
                Some(set) => format!(
                    "set of {t} as good as {} ({more})",
                    apart(set, &pair.smaller)
                ),
                None => format!("best set of {t} (at least {more})"),
            };
            format!(
                ";\nof {these} the best sets of {s}, such as {} ({gain} made eligible),\n\
                 lie in no {larger}",
                apart(&pair.smaller, other)
            )
        }
        Conflict::NoPair => {
            format!(";\nof {these} no two steps alone conflict: it takes more of them")
        }
        Conflict::Unknown => String::new(),
    }
}

#[cfg(test)]
mod tests;
