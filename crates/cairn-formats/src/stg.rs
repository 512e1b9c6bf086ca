//! Reads the Standard Task Graph Set's plain format. Knows no other format.
//!
//! The first number is how many tasks there are, without the two dummies at entry and exit; then each task has a line
//! `number time predecessors p1 p2 …`. Lines from `#` on say how the graph was made. Times are kept as seconds. Tasks
//! are called by their numbers, the dummies included, since they are tasks like any other in the set's own results.
//!
//! Two variants are understood: with communication costs each predecessor has its cost behind it, in the same line
//! or, one predecessor a line, in the next ones (the costs are left out: a dag of tasks has no place for them); and in
//! the prototype set the first line has the number of processors too.

use crate::draft::Draft;
use crate::loss::Tally;
use crate::text::shortened;
use crate::{Report, Source};
use cairn_dag::{Flow, Mark, NOWHERE, Symbol};

/// Reads a flow. `None` when there was an error.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut lines = (1..).zip(source.text().lines()).filter(|(_, line)| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#')
    });
    let mut draft = Draft::of_lines(source, report);
    let help = "an STG file begins with the number of tasks";
    let Some((first, count)) = lines.next() else {
        draft.error(NOWHERE, "there is no number in this file", help);
        return None;
    };
    // The prototype set has the number of processors behind it.
    let count = count.split_whitespace().next();
    let Some(count) = count.and_then(|word| word.parse::<u64>().ok()) else {
        draft.error(first, "this is not the number of tasks", help);
        return None;
    };
    // By hand, since a task may take the lines that follow it.
    while let Some((number, line)) = lines.next() {
        task(&mut draft, number, line, &mut lines);
    }
    // Some count the two dummies and some do not: up to two more are no mistake.
    let found = draft.build.declared() as u64;
    if found.checked_sub(count).is_none_or(|more| more > 2) && draft.is_sound() {
        let message = format!("the file says {count} tasks, but describes {found}");
        let help = "with the dummies at entry and exit there should be two more than it says: is the file whole?";
        draft.warning(first, message, help);
    }
    draft.finish()
}

/// Counts what a flow does not hold: communication costs, the number of processors, comments.
pub(crate) fn unheld(source: &Source, tally: &mut Tally) {
    let is_text = |line: &str| !line.is_empty() && !line.starts_with('#');
    let lines = (1u32..).zip(source.text().lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| is_text(line));
    if let Some((number, header)) = lines.next()
        && header.split_whitespace().nth(1).is_some()
    {
        let place = || crate::unheld::at(source, number);
        tally.add("number of processors", "line", place);
    }
    for (number, line) in lines {
        let words = line.split_whitespace().count();
        let count = line.split_whitespace().nth(2);
        let count = count.and_then(|word| word.parse::<usize>().ok());
        // A predecessor in a line of its own, or several with their costs in the task's line.
        if words == 2 || count.is_some_and(|n| n > 0 && n.saturating_mul(2) == words - 3) {
            let place = || crate::unheld::at(source, number);
            tally.add("communication costs", "line", place);
        }
    }
    crate::unheld::comments(source, "#", tally);
}

/// One task, whose predecessors may stand in the lines that follow.
fn task<'t>(
    draft: &mut Draft<'_, '_>,
    line: Mark,
    text: &'t str,
    lines: &mut impl Iterator<Item = (Mark, &'t str)>,
) {
    const FORM: &str =
        "a task is 'number time count predecessor …', in whole numbers but for the time";
    let mut words = text.split_whitespace();
    let name = words.next().filter(|word| is_number(word));
    let seconds = words.next().and_then(|word| word.parse::<f64>().ok());
    let count = words.next().and_then(|word| word.parse::<usize>().ok());
    let (Some(name), Some(seconds), Some(count)) = (name, seconds, count) else {
        draft.error(line, "this is no task", FORM);
        return;
    };
    // Without zeros in front: 7 and 07 are one task.
    let Some(task) = draft.declare(canonical(name), line) else {
        return;
    };
    draft.seconds(task, seconds, line);
    let given: Vec<&str> = words.collect();
    // First, since a task without predecessors has none in the next lines either.
    // Checked: the count is whatever the file says.
    let costs = count.checked_mul(2) == Some(given.len());
    if given.len() == count || (costs && !given.is_empty()) {
        let step = if given.len() == count { 1 } else { 2 };
        let predecessors = given.iter().step_by(step);
        predecessors.for_each(|predecessor| arc(draft, predecessor, task, line));
    } else if given.is_empty() {
        // A count that is a lie ends with the file, not with the memory: nothing is set aside for it.
        for _ in 0..count {
            let Some((line, text)) = lines.next() else {
                let message =
                    format!("the file ends before all {count} predecessors of task {name}");
                return draft.error(line, message, "is the file whole?");
            };
            let mut words = text.split_whitespace();
            let predecessor = words.next().unwrap_or("");
            if words.next().is_none_or(|cost| cost.parse::<f64>().is_err())
                || words.next().is_some()
            {
                let message =
                    format!("this is no predecessor of task {name} with its communication cost");
                return draft.error(line, message, FORM);
            }
            arc(draft, predecessor, task, line);
        }
    } else {
        let given = given.len();
        let message =
            format!("task {name} should have {count} predecessors, but {given} are given");
        draft.error(line, message, FORM);
    }
}

fn arc(draft: &mut Draft<'_, '_>, predecessor: &str, task: Symbol, line: Mark) {
    // Before it is mentioned: a word would become a task that nobody declares.
    if !is_number(predecessor) {
        let message = format!("'{}' is no task number", shortened(predecessor));
        return draft.error(line, message, "predecessors are the numbers of other tasks");
    }
    let parent = draft.build.mention(canonical(predecessor), line);
    draft.arc(parent, task, line);
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

/// The number without leading zeros.
fn canonical(number: &str) -> &str {
    match number.trim_start_matches('0') {
        "" => &number[..1],
        significant => significant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self as support, problems, shown};

    fn try_read(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "t.stg", text)
    }

    fn read_clean(text: &str) -> Flow {
        support::clean(try_read(text))
    }

    fn refused(text: &str) -> String {
        support::refused(try_read(text))
    }

    #[test]
    fn plain() {
        let flow = read_clean(
            "  2\r\n 0 0 0\r\n 1 5 1 0\n 2 6.5 2 0 01\n 3 0 2 1 2\n# Standard Task Graph\n# 1 2 3\n",
        );
        assert_eq!(shown(&flow), "0\n0 -> 1\n0 1 -> 2\n1 2 -> 3\n");
        assert_eq!(flow.seconds(flow.find("2").unwrap()), Some(6.5));
    }

    #[test]
    fn with_communication_costs_and_the_prototype() {
        let expected = "0\n0 -> 1\n0 1 -> 2\n";
        assert_eq!(
            shown(&read_clean("2\n0 0 0\n1 5 1\n 0 7\n2 6 2\n 0 1\n 1 2.5\n")),
            expected
        );
        assert_eq!(
            shown(&read_clean("1\n0 0 0\n1 5 1 0\n2 6 2 0 1 1 2\n")),
            expected
        );
        assert_eq!(
            shown(&read_clean("2 3\n1 14 0\n2 20 1 1\n3 0 1 2\n")),
            "1\n1 -> 2\n2 -> 3\n"
        );
    }

    #[test]
    fn errors_come_together() {
        let said =
            refused("3\n0 0 0\n0 1 0\n1 x 0\n2 1 2 0\n3 1 1 9\n4 -1 1 0\n5 1 1 5\n6 1 1 z\n");
        let expected = [
            "t.stg:3: task '0' is declared twice; it was declared first at t.stg:2",
            "t.stg:4: this is no task",
            "t.stg:5: task 2 should have 2 predecessors, but 1 are given",
            "t.stg:7: task '4' has the duration -1",
            "t.stg:8: task '5' depends on itself",
            "t.stg:9: 'z' is no task number",
            "t.stg:6: task '9' is mentioned but never declared",
        ];
        assert_eq!(said.lines().count(), expected.len(), "{said}");
        for (line, expected) in said.lines().zip(expected) {
            assert!(line.starts_with(expected), "{line}\n{expected}");
        }
        assert!(refused("# nothing").contains("no number in this file"));
        assert!(refused("many\n").contains("t.stg:1: this is not the number of tasks"));
        assert!(refused("1\n0 0 0\n1 1 2\n0 0\n").contains("ends before all 2 predecessors"));
        assert!(refused("1\n1 1 1 2\n2 1 1 1\n").contains("cycle: 1 -> 2 -> 1"));
    }

    #[test]
    fn a_wrong_count_is_a_warning() {
        for text in ["9\n0 0 0\n", "1\n0 0 0\n1 1 0\n2 1 0\n3 1 0\n"] {
            let (flow, report) = try_read(text);
            assert!(flow.is_some() && problems(&report).contains("t.stg:1: the file says"));
        }
    }
}
