//! Makeflow files, well written and broken.

use super::*;
use crate::test_support::{self as support, problems, shown};

fn try_read(text: &str) -> (Option<Flow>, Report) {
    support::try_read(read, "t.makeflow", text)
}

fn read_clean(text: &str) -> Flow {
    support::clean(try_read(text))
}

fn refused(text: &str) -> String {
    support::refused(try_read(text))
}

fn command<'f>(flow: &'f Flow, name: &str) -> &'f str {
    flow.command(flow.find(name).unwrap()).unwrap()
}

#[test]
fn rules_are_tied_by_files() {
    let flow = read_clean("c: a b x\n\tmake c\na b2:\n  cmd\r\nb: a  b2 \\\n a\n\tgo\n");
    assert_eq!(shown(&flow), "a b -> c\na\na -> b\n");
    let c = flow.find("c").unwrap();
    assert_eq!(
        flow.inputs(c).map(|file| file.path).collect::<Vec<_>>(),
        ["a", "b", "x"]
    );
    assert_eq!(flow.outputs(flow.find("a").unwrap()).count(), 2);
    assert_eq!(
        flow.inputs(flow.find("b").unwrap()).count(),
        2,
        "a file named twice is one"
    );
    assert_eq!(command(&flow, "a"), "cmd");
}

#[test]
fn variables_are_replaced_in_lists_and_commands() {
    let flow = read_clean(
        "A=one two # comment\nB = \"$A\" \nB += 'x $A'\nexport C=x${A}.d\nexport A C\n\
             $A: \"a b\" 'it is' $(C) esc\\ aped\n\techo $A \"$A\" '$A' \\$A $HOME $(date) $$ a#b\n",
    );
    let one = flow.find("one").unwrap();
    let files = |files: Vec<cairn_dag::File<'_>>| {
        files
            .iter()
            .map(|file| file.path.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(files(flow.outputs(one).collect()), ["one", "two"]);
    assert_eq!(
        files(flow.inputs(one).collect()),
        ["a b", "it is", "xone", "two.d", "esc aped"]
    );
    assert_eq!(
        command(&flow, "one"),
        "echo one two \"one two\" '$A' $A $HOME $(date) $$ a"
    );
    let flow = read_clean("B=\"1\"\nB+='x $A'\no:\n\trun $B\n");
    assert_eq!(command(&flow, "o"), "run \"1\" 'x $A'");
}

#[test]
fn rules_have_variables_and_categories_of_their_own() {
    let flow = read_clean(
        "X=file\nCORES=2\nCATEGORY=big\nX=big\nMEMORY=3\nDISK=\"2\"\n.MAKEFLOW WALL_TIME 90\n.MAKEFLOW CORES 8\na:\n@X=own\n@BATCH_OPTIONS=\"-l x\"\n\trun $X\n\
             b:\n\trun $X\n.MAKEFLOW CATEGORY default\nc:\n\trun $X\nd:\n@CATEGORY=big\n\tLOCAL run\n",
    );
    for (name, expected, cpus) in [
        ("a", "run own", 8),
        ("b", "run big", 8),
        ("c", "run file", 2),
        ("d", "run", 8),
    ] {
        assert_eq!(command(&flow, name), expected);
        let task = flow.find(name).unwrap();
        assert_eq!(flow.cpus(task), Some(cpus), "{name}");
        let demands = (flow.memory(task), flow.scratch(task), flow.time_limit(task));
        let big = (Some(3 << 20), Some(2 << 20), Some(90.0));
        let expected = if cpus == 8 { big } else { (None, None, None) };
        assert_eq!(demands, expected, "{name}");
    }
}

#[test]
fn modifiers_renames_and_sizes() {
    let flow = read_clean(
        ".SIZE in 3K\n.SIZE 'out' 7\nM=LOCAL\nout->o -> x: in->remote.in a-b->c d-e\n\t$M MAKEFLOW sub.makeflow dir\n",
    );
    let out = flow
        .find("out")
        .unwrap_or_else(|| panic!("{}", shown(&flow)));
    assert_eq!(command(&flow, "out"), "makeflow sub.makeflow dir");
    let inputs: Vec<_> = flow
        .inputs(out)
        .map(|file| (file.path, file.bytes))
        .collect();
    assert_eq!(inputs, [("in", Some(3072)), ("a-b", None), ("d-e", None)]);
    assert_eq!(flow.outputs(out).next().unwrap().bytes, Some(7));
}

#[test]
fn commands_may_span_lines() {
    let flow = read_clean("a:\n\tone \\\n\ttwo 'three\nfour' # end\n\nb: # none\n\n# x\n\tgo\n");
    assert_eq!(command(&flow, "a"), "one  \ttwo 'three\nfour'");
    assert_eq!(command(&flow, "b"), "go");
}

#[test]
fn a_rule_without_outputs_is_called_after_its_line() {
    let flow = read_clean("rule-in-line-4:\n\tx\n\n: rule-in-line-4\n\ty\n");
    assert_eq!(
        shown(&flow),
        "rule-in-line-4\nrule-in-line-4 -> rule-in-line-4'\n"
    );
}

#[test]
fn errors_come_together_with_lines_and_cures() {
    let said = refused(
        "a: b\na:\n\tx\n\ty\nnonsense\n.SIZE f big\n.NO x\nb: b\n\tz\na:\n\tw\nx y=1\nq: 'open\n\tv\nlast: a\n",
    );
    let lines: Vec<&str> = said.lines().collect();
    let expected = [
        "t.makeflow:1: this rule has no command",
        "t.makeflow:4: this command belongs to no rule",
        "t.makeflow:5: this is neither a rule nor a variable nor a command",
        "t.makeflow:6: 'big' is no size",
        "t.makeflow:7: '.NO x' is no directive",
        "t.makeflow:12: 'x y' is no name for a variable",
        "t.makeflow:13: the quote ' is never closed",
        "t.makeflow:14: this command belongs to no rule",
        "t.makeflow:15: this rule has no command",
        "t.makeflow:10: two rules write the file 'a'; it is written by the rule in line 2 too",
        "t.makeflow:8: the rule needs the file 'b' that it writes itself",
    ];
    assert_eq!(lines.len(), expected.len(), "{said}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\n{expected}");
    }
    assert!(
        refused("a: b\n\tx\nb: a\n\ty\n")
            .contains("tasks wait for each other in a cycle: a -> b -> a")
    );
}

#[test]
fn a_variable_that_is_not_set_is_a_warning() {
    let (flow, report) = try_read("FILES=x\n$FILE.out: $HOME/in\n\tgo\n");
    assert_eq!(shown(&flow.unwrap()), "$FILE.out\n");
    let said = problems(&report);
    assert!(
        said.contains("the variable 'FILE' is not set in this file; did you mean FILES?"),
        "{said}"
    );
    assert_eq!(report.warnings(), 2);
}

#[test]
fn variables_that_double_are_stopped() {
    let doubling = "X=$X$X\n".repeat(40);
    assert!(refused(&format!("X=ab\n{doubling}")).contains("the variable 'X' has"));
    let uses: String = (0..600).map(|i| format!("f{i}:\n\t$X\n")).collect();
    let long = "x".repeat(LONGEST_VALUE);
    assert!(refused(&format!("X={long}\n{uses}")).contains("come to more than 256 MiB"));
}
