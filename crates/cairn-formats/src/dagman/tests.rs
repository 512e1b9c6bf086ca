//! Whole DAGMan files, read and written.

use super::{read, write};
use crate::test_support::{self as support, any_flow, assert_same_dag, in_memory, problems, shown};
use crate::{Report, Source};
use cairn_dag::Flow;
use proptest::prelude::*;

/// Reads `files`, the first of which is the top one.
fn try_read(files: &[(&str, &str)]) -> (Option<Flow>, Report) {
    let (name, text) = files[0];
    let read = |top: &Source, report: &mut Report| read(top, &mut in_memory(files), report);
    support::try_read(read, name, text)
}

fn read_clean(files: &[(&str, &str)]) -> Flow {
    support::clean(try_read(files))
}

fn read_one(text: &str) -> Flow {
    read_clean(&[("t.dag", text)])
}

/// All that is said about a file that must be refused.
fn refused(files: &[(&str, &str)]) -> String {
    support::refused(try_read(files))
}

#[test]
fn statements_may_come_before_the_nodes_they_name() {
    let flow = read_one(
        "parent A child B C\nretry B 3\npriority C -7\ndone A\njob C c\njob A a\njob B b done\n",
    );
    assert_eq!(shown(&flow), "A -> C\nA\nA -> B\n");
    let [a, b, c] = ["A", "B", "C"].map(|name| flow.find(name).unwrap());
    assert_eq!(
        (
            flow.retries(b),
            flow.priority(c),
            flow.is_done(a),
            flow.is_done(b)
        ),
        (Some(3), Some(-7), true, true)
    );
    assert_eq!(
        (flow.retries(a), flow.priority(a), flow.is_done(c)),
        (None, None, false)
    );
}

#[test]
fn special_nodes_stand_alone_and_a_subdag_is_a_node() {
    let flow = read_one(
        "JOB a x\nSUBDAG EXTERNAL s s.dag DIR d\nFINAL f x\nPROVISIONER p x\nSERVICE v x\nSERVICE w x\n\
         PARENT a CHILD s\nSCRIPT POST f y\nPRIORITY ALL_NODES 3\nRETRY all_nodes 2\n",
    );
    assert_eq!(shown(&flow), "a\na -> s\nf\np\nv\nw\n");
    let priorities: Vec<_> = flow
        .dag()
        .tasks()
        .map(|t| (flow.priority(t), flow.retries(t)))
        .collect();
    assert_eq!(priorities[..2], [(Some(3), Some(2)); 2]);
    assert_eq!(priorities[2..], [(None, None); 4]);
    let apart: Vec<bool> = flow.dag().tasks().map(|t| flow.is_apart(t)).collect();
    assert_eq!(apart, [false, false, true, true, true, true]);
}

#[test]
fn the_later_of_all_nodes_and_a_node_counts() {
    let flow = read_one("JOB a x\nJOB b x\nPRIORITY a 1\nPRIORITY ALL_NODES 2\nPRIORITY b 3\n");
    assert_eq!(flow.priority(flow.find("a").unwrap()), Some(2));
    assert_eq!(flow.priority(flow.find("b").unwrap()), Some(3));
}

#[test]
fn splices_nest_get_prefixes_and_attach_at_their_ends() {
    let diamond =
        "JOB A x\nJOB B x\nJOB C x\nJOB D x\nPARENT A CHILD B C\nPARENT B C CHILD D\nRETRY B 1\n";
    let outer = "SPLICE one d.dag\nJOB mid x\nSPLICE two d.dag\nPARENT one CHILD mid\nPARENT mid CHILD two\nPRIORITY ALL_NODES 9";
    let top = "JOB X x\nJOB Y x\nPARENT X CHILD S\nPARENT S CHILD Y\nSPLICE S o.dag\n";
    let flow = read_clean(&[("t.dag", top), ("o.dag", outer), ("d.dag", diamond)]);
    let expected = "X\nS+two+D -> Y\nX -> S+one+A\nS+one+A -> S+one+B\nS+one+A -> S+one+C\n\
        S+one+B S+one+C -> S+one+D\nS+one+D -> S+mid\nS+mid -> S+two+A\nS+two+A -> S+two+B\nS+two+A -> S+two+C\n\
        S+two+B S+two+C -> S+two+D\n";
    assert_eq!(shown(&flow), expected);
    assert_eq!(flow.retries(flow.find("S+two+B").unwrap()), Some(1));
    assert_eq!(flow.priority(flow.find("S+mid").unwrap()), Some(9));
    assert_eq!(
        flow.priority(flow.find("S+one+A").unwrap()),
        None,
        "ALL_NODES does not reach into splices"
    );
}

#[test]
fn many_to_many_is_a_cross_product() {
    let flow = read_clean(&[
        ("t.dag", "SPLICE a w\nSPLICE b w\nPARENT a CHILD b\n"),
        ("w", "JOB 1 x\nJOB 2 x\n"),
    ]);
    assert_eq!(shown(&flow), "a+1\na+2\na+1 a+2 -> b+1\na+1 a+2 -> b+2\n");
}

#[test]
fn directories_of_splices_add_up_and_includes_follow_them() {
    let files = [
        (
            "t.dag",
            "SPLICE s m.dag DIR in\nINCLUDE more/i.dag\nPARENT I CHILD s",
        ),
        (
            "in/m.dag",
            "SPLICE t \"n.dag\" DIR \"deep er\"\nJOB M x\nINCLUDE j.dag",
        ),
        ("in/deep er/n.dag", "JOB N x\n"),
        ("in/j.dag", "JOB J x\nPARENT t CHILD J M\n"),
        ("more/i.dag", "JOB I x\n"),
    ];
    assert_eq!(
        shown(&read_clean(&files)),
        "I -> s+t+N\ns+t+N -> s+M\ns+t+N -> s+J\nI\n"
    );
}

#[test]
fn a_file_beside_the_one_that_names_it_is_found_as_with_usedagdir() {
    let files = [
        ("t.dag", "SPLICE s sub/m.dag\n"),
        ("sub/m.dag", "SPLICE t n.dag\n"),
        ("sub/n.dag", "JOB N x\n"),
    ];
    assert_eq!(shown(&read_clean(&files)), "s+t+N\n");
}

#[test]
fn pins_connect_splices() {
    let above = "JOB a x\nJOB b x\nJOB c x\nPIN_OUT a 1\nPIN_OUT b 2\nPIN_OUT c 2\n";
    let below = "JOB p x\nJOB q x\nPIN_IN p 2\nPIN_IN q 1\nPIN_IN p 1\n";
    let flow = read_clean(&[
        ("t.dag", "CONNECT A B\nSPLICE A a\nSPLICE B b\n"),
        ("a", above),
        ("b", below),
    ]);
    assert_eq!(
        shown(&flow),
        "A+a\nA+b\nA+c\nA+a A+b A+c -> B+p\nA+a -> B+q\n"
    );
    let cases = [
        (
            "CONNECT B A\nSPLICE A a\nSPLICE B b\n",
            "splice 'B' has no PIN_OUT",
        ),
        (
            "CONNECT A X\nSPLICE A a\nJOB X x\n",
            "'X' is a node, not a splice",
        ),
        (
            "CONNECT A Z\nSPLICE A a\n",
            "no node or splice is called 'Z'",
        ),
        (
            "CONNECT A C\nSPLICE A a\nSPLICE C c\n",
            "'A' has 2 PIN_OUTs, 'C' has 3 PIN_INs",
        ),
        (
            "CONNECT D C\nSPLICE D d\nSPLICE C c\n",
            "'C' has no PIN_IN 2",
        ),
    ];
    for (top, expected) in cases {
        let c = "JOB x x\nPIN_IN x 1\nPIN_IN x 3\n";
        let d = "JOB x x\nPIN_OUT x 1\nPIN_OUT x 2\nPIN_OUT x 3\n";
        let said = refused(&[
            ("t.dag", top),
            ("a", above),
            ("b", below),
            ("c", c),
            ("d", d),
        ]);
        assert!(said.contains(expected), "{said}");
    }
    let orphan = "JOB p x\nJOB q x\nPIN_IN q 1\n";
    let (flow, report) = try_read(&[
        ("t.dag", "SPLICE A a\nSPLICE B b\nCONNECT A B\n"),
        ("a", "JOB a x\nPIN_OUT a 1"),
        ("b", orphan),
    ]);
    assert!(
        flow.is_some() && problems(&report).contains("'B+p' has neither a parent nor a PIN_IN")
    );
}

#[test]
fn commands_come_from_inline_and_named_descriptions() {
    let top = "JOB a {\n  executable = run.sh\n  arguments = $(JOB) $(x)\n  request_cpus = 8\n} DONE\n\
        VARS a x=\"1 2\"\nVARS ALL_NODES y=\"all\"\nVARS b y = \"own\"\n\
        JOB b d\nJOB c d\nSUBMIT-DESCRIPTION d {\nexecutable = e\narguments = $(y)\n}\n\
        JOB f file.sub\nJOB g {\nexecutable = $(unknown)\n}\nSPLICE s s.dag\n";
    let flow = read_clean(&[
        ("t.dag", top),
        (
            "s.dag",
            "JOB i d\nVARS i y=in\nSUBMIT_DESCRIPTION d {\nexecutable = other\n}\n",
        ),
    ]);
    let command = |name: &str| flow.command(flow.find(name).unwrap());
    assert_eq!(command("a"), Some("run.sh a 1 2"));
    assert_eq!(command("b"), Some("e own"));
    assert_eq!(command("c"), Some("e all"));
    assert_eq!(command("f"), None);
    assert_eq!(command("g"), None);
    assert_eq!(
        command("s+i"),
        Some("e in"),
        "the outermost description counts"
    );
    let a = flow.find("a").unwrap();
    assert_eq!((flow.cpus(a), flow.is_done(a)), (Some(8), true));
}

#[test]
fn errors_come_together_with_places_and_cures() {
    let said = refused(&[(
        "t.dag",
        "JOB alpha x\nJOB alpha y\nPARNET alpha CHILD beta\n\nPARENT alpha CHILD alhpa\nRETRY alpha many\n\
         PARENT alpha CHILD alpha\nFINAL f x\nPARENT alpha CHILD f\nFINAL g x\nSPLICE s none.dag\nPARENT s CHILD alpha\n",
    )]);
    let expected = [
        "t.dag:2:1: 'alpha' is declared twice; it was declared first at t.dag:1; rename or remove one of them",
        "t.dag:3:1: 'PARNET' is no DAGMan keyword; did you mean PARENT?",
        "t.dag:6:13: 'many' is no number of retries: it must be an integer from 0 to 2147483647; \
         the form is: RETRY <node> <times> [UNLESS-EXIT <code>]",
        "t.dag:10:7: there is a second FINAL node, 'g'; a workflow has one at most: remove one of them",
        "t.dag:11:1: cannot use 'none.dag': no such file; the name is relative to the directory of the top DAGMan \
         file, or to DIR of the splice around it",
        "t.dag:5:1: no node or splice is called 'alhpa'; did you mean 'alpha'? names are case-sensitive",
        "t.dag:7:1: 'alpha' depends on itself; remove the dependency",
        "t.dag:9:1: 'f' is a FINAL, PROVISIONER or SERVICE node, which can have no dependency; declare it with JOB, \
         or take it out of this line",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn errors_in_other_files_say_so() {
    let said = refused(&[
        ("t.dag", "JOB a x\nSPLICE s s.dag\nINCLUDE i.dag"),
        ("s.dag", "\nJOB\n"),
        ("i.dag", "\n\nJOB a x\n"),
    ]);
    assert!(
        said.contains("s.dag:2:4: the node name is missing"),
        "{said}"
    );
    assert!(
        said.contains("i.dag:3:1: 'a' is declared twice; it was declared first at t.dag:1"),
        "{said}"
    );
    let said = refused(&[("t.dag", "SPLICE s s.dag"), ("s.dag", "FINAL f x\n")]);
    assert!(
        said.contains("the FINAL node 'f' is in a spliced file"),
        "{said}"
    );
}

#[test]
fn a_cycle_is_shown() {
    let said = refused(&[(
        "t.dag",
        "JOB a x\nJOB b x\nJOB c x\nPARENT a CHILD b\nPARENT b CHILD c\nPARENT c CHILD b\n",
    )]);
    assert_eq!(
        said,
        "t.dag:5: tasks wait for each other in a cycle: b -> c -> b; a task cannot start before itself: remove one of these \
         dependencies: b -> c (t.dag:5), c -> b (t.dag:6)\n"
    );
}

#[test]
fn a_cycle_between_splices_names_their_files() {
    let said = refused(&[
        (
            "t.dag",
            "SPLICE a s\nSPLICE b s\nPARENT a CHILD b\nPARENT b CHILD a\n",
        ),
        ("s", "\nJOB x x\n"),
    ]);
    assert!(
        said.starts_with("t.dag:3: tasks wait for each other in a cycle: a+x -> b+x -> a+x;")
            && said.contains("a+x -> b+x (t.dag:3), b+x -> a+x (t.dag:4)"),
        "{said}"
    );
}

#[test]
fn files_that_contain_themselves_are_refused_with_the_chain() {
    let said = refused(&[
        ("t.dag", "INCLUDE a"),
        ("a", "SPLICE s b"),
        ("b", "INCLUDE ./a"),
    ]);
    assert_eq!(
        said,
        "b:1:1: files contain each other without end: a -> b -> a; remove one of these INCLUDE or SPLICE lines\n"
    );
    let said = refused(&[
        ("t.dag", "JOB x x\nSPLICE s a\n"),
        ("a", "JOB y x\nSPLICE s a\n"),
    ]);
    assert!(
        said.contains("a:2:1: files contain each other without end: a -> a"),
        "{said}"
    );
}

#[test]
fn a_deep_nest_is_refused() {
    let names: Vec<String> = (0..=70).map(|i| format!("f{i}")).collect();
    let texts: Vec<String> = (1..=71)
        .map(|i| format!("JOB x x\nSPLICE s f{i}\n"))
        .collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(texts.iter().map(String::as_str))
        .collect();
    assert!(refused(&files).contains("nested more than 64 deep"));
}

/// Forty files, each with the next one twice.
fn doubling(statement: impl Fn(usize, usize) -> String, last: &str) -> String {
    let names: Vec<String> = (0..=40).map(|i| format!("f{i}")).collect();
    let mut texts: Vec<String> = (1..=40)
        .map(|i| statement(i, 0) + &statement(i, 1))
        .collect();
    texts.push(last.to_owned());
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(String::as_str)
        .zip(texts.iter().map(String::as_str))
        .collect();
    refused(&files)
}

#[test]
fn bombs_are_defused() {
    let jobs: String = (0..4000).map(|i| format!("JOB {i} x\n")).collect();
    let said = doubling(|i, j| format!("SPLICE s{j} f{i}\n"), &jobs);
    assert!(
        said.contains("tasks; the most is 20000000") && said.lines().count() == 1,
        "{said}"
    );
    let said = doubling(
        |i, j| format!("SPLICE {}{j} f{i}\n", "s".repeat(1000)),
        "JOB x x\n",
    );
    assert!(said.contains("bytes of task names"), "{said}");
    let said = doubling(|i, _| format!("INCLUDE f{i}\n"), "# nothing\n");
    assert!(
        said.contains("more than 100000 INCLUDEs") && said.lines().count() == 1,
        "{said}"
    );
    let comment = format!("#{}\n", "x".repeat(1 << 24));
    let said = doubling(|i, _| format!("INCLUDE f{i}\n"), &comment);
    assert!(said.contains("or 1 GiB of them"), "{said}");
    let said = doubling(
        |i, j| format!("SPLICE s{j} f{i}\nPARENT x{j} CHILD s{j}\nJOB x{j} x\n"),
        "JOB x x\n",
    );
    assert!(said.contains("the most is"), "{said}");
}

#[test]
fn a_huge_cross_product_is_refused_before_it_is_made() {
    let side = |c: char| (0..100_000).map(|i| format!(" {c}{i}")).collect::<String>();
    let jobs: String = (0..100_000)
        .map(|i| format!("JOB a{i} x\nJOB b{i} x\n"))
        .collect();
    let said = refused(&[(
        "t.dag",
        &format!("{jobs}PARENT{} CHILD{}\n", side('a'), side('b')),
    )]);
    assert!(
        said.contains("there are 10000000000 dependencies; the most is 100000000"),
        "{said}"
    );
    assert!(said.contains("put a NOOP node between"), "{said}");
}

#[test]
fn all_nodes_over_and_over_is_cheap() {
    let jobs: String = (0..20_000)
        .map(|i| format!("JOB j{i} {{\nexecutable = $(k)\n}}\n"))
        .collect();
    let all: String = (0..20_000)
        .map(|i| format!("PRIORITY ALL_NODES {i}\nVARS ALL_NODES k=\"{i}\"\n"))
        .collect();
    let flow = read_one(&(jobs + &all));
    let last = flow.find("j19999").unwrap();
    assert_eq!(
        (flow.priority(last), flow.command(last)),
        (Some(19_999), Some("19999"))
    );
}

#[test]
fn what_dagman_would_refuse_though_its_meaning_is_clear_is_a_warning() {
    let (flow, report) = try_read(&[
        (
            "t.dag",
            "REJECT\nJOB a+b x\nSPLICE s s\nPRIORITY s+n 4\nFINAL f x\nPRIORITY f 1\n",
        ),
        ("s", "JOB n x\nPRIORITY n 2\n"),
    ]);
    let flow = flow.unwrap();
    assert_eq!(
        (report.warnings(), report.errors()),
        (4, 0),
        "{}",
        problems(&report)
    );
    assert_eq!(flow.priority(flow.find("s+n").unwrap()), Some(4));
    assert_eq!(flow.priority(flow.find("f").unwrap()), None);
}

#[test]
fn a_name_that_collides_with_one_in_a_splice_is_refused() {
    let said = refused(&[("t.dag", "JOB s+n x\nSPLICE s s\n"), ("s", "JOB n x\n")]);
    assert!(said.contains("task 's+n' is declared twice"), "{said}");
}

#[test]
fn an_empty_splice_cannot_be_depended_on() {
    let said = refused(&[
        ("t.dag", "JOB a x\nSPLICE s s\nPARENT s CHILD a\n"),
        ("s", "# empty\n"),
    ]);
    assert!(said.contains("'s' has no node to depend on"), "{said}");
}

#[test]
fn an_empty_file_is_an_empty_flow() {
    assert_eq!(read_one("").dag().len(), 0);
    assert_eq!(
        read_one("# nothing here\n\n// nor here\n\\\n").dag().len(),
        0
    );
}

fn written(flow: &Flow) -> String {
    let mut out = Vec::new();
    write(flow, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn what_is_written() {
    let flow = read_one(
        "JOB a x DONE\nJOB b.condor x\nJOB c {\nexecutable = /bin/sh\narguments = \"-c 'echo \"\"$(DOLLAR)HOME\"\"'\"\n}\n\
         PARENT a CHILD b.condor c\nRETRY a 2\nPRIORITY c -3\n",
    );
    assert_eq!(
        written(&flow),
        "JOB a a.sub DONE\nRETRY a 2\nJOB b.condor b.condor.submit\nJOB c {\n    executable = /bin/sh\n    \
         arguments = \"-c 'echo \"\"$(DOLLAR)HOME\"\"'\"\n}\nPRIORITY c -3\nPARENT a CHILD b.condor c\n"
    );
    let spliced = read_clean(&[("t.dag", "SPLICE s s\nJOB 5% x\n"), ("s", "JOB n x\n")]);
    assert_eq!(
        written(&spliced),
        "# cairn: node names are percent-encoded\nJOB s%2Bn s%2Bn.sub\nJOB 5%25 5%25.sub\n"
    );
}

#[test]
fn a_wide_fork_is_written_in_lines_of_bounded_length() {
    let jobs: String = (0..2500)
        .map(|i| format!("JOB j{i} x\nPARENT r CHILD j{i}\n"))
        .collect();
    let flow = read_one(&format!("JOB r x\n{jobs}"));
    let text = written(&flow);
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("PARENT"))
            .count(),
        3
    );
    assert_same_dag(&flow, &read_one(&text));
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(flow in any_flow()) {
        let text = written(&flow);
        let again = read_one(&text);
        assert_same_dag(&flow, &again);
        for (a, b) in flow.dag().tasks().zip(again.dag().tasks()) {
            prop_assert_eq!(flow.command(a), again.command(b), "{}", text);
            prop_assert_eq!(flow.retries(a), again.retries(b));
            prop_assert_eq!(flow.priority(a), again.priority(b));
            prop_assert_eq!(flow.is_done(a), again.is_done(b));
        }
    }
}
