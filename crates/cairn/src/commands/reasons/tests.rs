//! The sentences that say why no IC-optimal order exists, read back and held against every set that can be executed.

use super::{proof_json, verdict_words};
use cairn_dag::Flow;
use cairn_oracle::{Among, gain, ideals, is_independent, most_between, only_best, random_tangle};
use cairn_plan::{Plan, PlanEffort, Verdict, plan};
use serde_json::Value;
use std::collections::BTreeMap;

/// The numbers and sets of a sentence, in the order in which it names them.
#[derive(Debug, Default)]
struct Named {
    numbers: Vec<usize>,
    sets: Vec<u32>,
}

/// Reads the beginning of a text by a pattern, `#` for a number and `@` for a set of tasks. Returns the rest too.
fn scan<'a>(text: &'a str, pattern: &str, flow: &Flow) -> Option<(Named, &'a str)> {
    let mut named = Named::default();
    let mut rest = text;
    for c in pattern.chars() {
        let end = match c {
            '#' => rest
                .find(|d: char| !d.is_ascii_digit())
                .unwrap_or(rest.len()),
            '@' => rest.find('}')? + 1,
            _ if rest.starts_with(c) => c.len_utf8(),
            _ => return None,
        };
        let (word, after) = rest.split_at(end);
        match c {
            '#' => named.numbers.push(word.parse().ok()?),
            '@' => {
                let names = word.strip_prefix('{')?.strip_suffix('}')?;
                let mut set = 0;
                for name in names.split(", ") {
                    set |= 1u32 << flow.find(name)?.0;
                }
                named.sets.push(set);
            }
            _ => {}
        }
        rest = after;
    }
    Some((named, rest))
}

fn flow_of(seed: u64) -> Flow {
    Flow::numbered(&random_tangle(7 + (seed % 8) as usize, seed))
}

/// The words of a verdict in one line.
fn sentence(plan: &Plan, flow: &Flow) -> String {
    let words = verdict_words(Verdict::NoneExists, plan, flow);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads what a sentence says of corners and a set that they are in the way of. Whether it is so, and its kind.
fn crossing(text: &str, flow: &Flow) -> Option<(bool, &'static str)> {
    let dag = flow.dag();
    let one = "the only best set of # is @; ";
    let two = "the only best sets of # and # are @ and @; ";
    let (corners, rest) = scan(text, one, flow).or_else(|| scan(text, two, flow))?;
    let shown = scan(rest, "the set of # @ makes # eligible, those ", flow);
    let (set, rest) =
        shown.or_else(|| scan(rest, "some set of # makes # eligible, those ", flow))?;
    let mut is_true = (corners.numbers.iter().zip(&corners.sets))
        .all(|(&size, &set)| only_best(dag, size) == Some(set));
    let [step, goal] = set.numbers[..] else {
        return None;
    };
    is_true &= match set.sets[..] {
        [set] => ideals(dag)[step].contains(&set) && gain(dag, set) as usize == goal,
        _ => most_between(dag, step, 0, u32::MAX) >= Some(goal as u32),
    };
    let (first, all) = (corners.sets[0], u32::MAX);
    let readings = [
        (
            "that contain the first at most #",
            (first, all),
            1,
            "corner before",
        ),
        (
            "that lie in the first at most #",
            (0, first),
            1,
            "corner after",
        ),
        (
            "between the two at most #",
            (first, *corners.sets.last()?),
            2,
            "two corners",
        ),
    ];
    for (pattern, (lower, upper), count, kind) in readings {
        if let Some((most, "")) = scan(rest, pattern, flow) {
            let within = most_between(dag, step, lower, upper);
            is_true &= within.is_none_or(|w| w as usize <= most.numbers[0]);
            is_true &= most.numbers[0] < goal && corners.sets.len() == count;
            return Some((is_true, kind));
        }
    }
    None
}

/// Reads what a sentence says of tasks between two steps. Whether it is so, and its kind.
fn between(text: &str, flow: &Flow) -> Option<(bool, &'static str)> {
    let dag = flow.dag();
    let part = "between steps # and # the tasks @ admit none (search over # states exhausted)";
    let sum = "between steps # and # independent parts pull apart at step #";
    let (named, rest) = scan(text, part, flow).or_else(|| scan(text, sum, flow))?;
    let [from, to, number] = named.numbers[..] else {
        return None;
    };
    let (Some(before), Some(end)) = (only_best(dag, from), only_best(dag, to)) else {
        return Some((false, "no corners"));
    };
    let inside = end & !before;
    let is_part = !named.sets.is_empty();
    let tasks = named.sets.first().copied().unwrap_or(inside);
    let among = Among::new(dag, before, tasks);
    let is_true = before & !end == 0
        && tasks & !inside == 0
        && is_independent(dag, before, tasks, inside & !tasks)
        && match is_part {
            true => among.nest_through() + 1 < among.0.len(),
            false => from + among.nest_through() + 1 == number,
        };
    let these = if is_part {
        "these tasks"
    } else {
        "the tasks in between"
    };
    let (holds, pair) = conflict(rest, these, &among, flow)?;
    Some((
        is_true && holds,
        if is_part {
            ["part", "pair of a part"]
        } else {
            ["sum", "pair of a sum"]
        }[pair],
    ))
}

/// Reads what is said of two steps: whether it is so, and how many pairs are named.
fn conflict(text: &str, these: &str, among: &Among, flow: &Flow) -> Option<(bool, usize)> {
    if text.is_empty() {
        return Some((true, 0));
    }
    if text == format!("; of {these} no two steps alone conflict: it takes more of them") {
        return Some((among.first_conflict().is_none(), 0));
    }
    let first = format!("; of {these} the best sets of #, such as @ (# made eligible), lie in no ");
    let (small, rest) = scan(text, &first, flow)?;
    let (s, own) = (small.numbers[0], small.numbers[1] as u32);
    let mut is_true = own == among.best(s) && among.0[s].contains(&(small.sets[0], own));
    let large = scan(rest, "set of # as good as @ (#)", flow);
    let (large, rest) = large.or_else(|| scan(rest, "best set of # (at least #)", flow))?;
    let (t, more) = (large.numbers[0], large.numbers[1] as u32);
    if let Some(&set) = large.sets.first() {
        is_true &= among.0[t].contains(&(set, more));
    }
    is_true &= more <= among.best(t) && !among.nest([s, t], more);
    rest.is_empty().then_some((is_true, 1))
}

#[test]
fn every_printed_reason_is_literally_true() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut none, mut cut, mut proved) = (0, 0, 0);
    for seed in 0..4000 {
        let flow = flow_of(seed);
        let mut limits = PlanEffort::default();
        // Where small components are not enumerated, sets are met that cross the corners.
        if seed % 2 == 0 {
            let component = &mut limits.decide.component;
            (component.enumerate, component.beam, component.steps) = (false, 1, 2_000);
        }
        let mut plan = plan(flow.dag(), &limits, &mut cairn_plan::Work::unlimited());
        plan.foresee(&flow);
        if plan.verdict != Verdict::NoneExists {
            continue;
        }
        none += 1;
        let text = sentence(&plan, &flow);
        if text.contains(" more}") {
            cut += 1;
            continue;
        }
        let start = "no IC-optimal order exists, ";
        let rest = text.strip_prefix(start).unwrap_or_else(|| panic!("{text}"));
        let (how, reason) = rest.split_once(": ").unwrap_or_else(|| panic!("{text}"));
        assert_eq!(how == "proved", plan.checked.verdict, "{text}");
        assert!(
            how == "proved" || how.starts_with("by exhausted search"),
            "{text}"
        );
        proved += u32::from(how == "proved");
        let read = crossing(reason, &flow).or_else(|| between(reason, &flow));
        let (is_true, kind) = read.unwrap_or_else(|| panic!("cannot be read: {text}"));
        assert!(is_true, "{text}\n{:?}", flow.dag());
        check_json(&proof_json(&plan, &flow), &flow);
        *seen.entry(kind).or_default() += 1;
    }
    assert!(none > 500 && cut * 20 < none, "{none} {cut}");
    assert!(proved * 10 > none * 9, "{proved} of {none}");
    assert!(
        seen.len() == 7 && seen.values().all(|&count| count >= 3),
        "{seen:?}"
    );
}

/// The fields of a proof by `bound`, as the guide describes them.
fn check_json(proof: &Value, flow: &Flow) {
    if proof["by"] != "bound" {
        return;
    }
    let dag = flow.dag();
    let set = |value: &Value| {
        let names = value.as_array()?.iter();
        Some(names.fold(0, |set, name| {
            set | 1u32 << flow.find(name.as_str().unwrap()).unwrap().0
        }))
    };
    let step = proof["steps"][1].as_u64().unwrap() as usize;
    let corners = ["before", "after"].map(|side| &proof[side]);
    for corner in corners.into_iter().filter(|c| !c.is_null()) {
        let size = corner["step"].as_u64().unwrap() as usize;
        assert_eq!(only_best(dag, size), set(&corner["set"]), "{proof}");
    }
    let lower = set(&proof["before"]["set"]).unwrap_or(0);
    let upper = set(&proof["after"]["set"]).unwrap_or(u32::MAX);
    let most = proof["gain_between"].as_u64().unwrap();
    assert!(
        most_between(dag, step, lower, upper).is_none_or(|w| u64::from(w) <= most),
        "{proof}"
    );
    assert!(most < proof["gain"].as_u64().unwrap(), "{proof}");
    // The older fields name one corner, and a bound only where that one is enough.
    let first = if lower == 0 { upper } else { lower };
    assert_eq!(set(&proof["sets"][0]), Some(first), "{proof}");
    assert_eq!(
        proof["steps"][0].as_u64(),
        Some(u64::from(first.count_ones())),
        "{proof}"
    );
    let takes_both = lower != 0 && upper != u32::MAX;
    assert_eq!(proof["gain_through_first"].is_null(), takes_both, "{proof}");
    if let Some(witness) = set(&proof["sets"][1]) {
        assert!(ideals(dag)[step].contains(&witness), "{proof}");
        assert_eq!(
            u64::from(gain(dag, witness)),
            proof["gain"].as_u64().unwrap(),
            "{proof}"
        );
    }
}
