//! Mutated inputs for every line-based reader: no panic, an error exactly when there is no flow, and a sound flow.
//! A few thousand inputs a format; `CAIRN_FUZZ=1000000` makes it as many in all.

use super::support::{assert_same_dag, in_memory, problems};
use crate::edgelist::{self, Separator};
use crate::{Report, Source, dagman, makeflow, stg, taskedge};
use cairn_dag::Flow;

/// A small generator whose numbers never change, so that a failure can be found again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }
}

/// How many inputs each format gets.
fn inputs() -> usize {
    let all = std::env::var("CAIRN_FUZZ")
        .ok()
        .and_then(|number| number.parse::<usize>().ok());
    all.map_or(3_000, |all| all / 6)
}

fn fuzz(
    seeds: &[&str],
    dictionary: &[&str],
    read: impl Fn(&str, &mut Report) -> Option<Flow>,
    law: impl Fn(&str, &Flow),
) {
    let mut random = Random(seeds.iter().map(|seed| seed.len() as u64).sum());
    let mut accepted = 0;
    let rounds = inputs();
    for round in 0..rounds {
        let text = match round < seeds.len() {
            true => seeds[round].to_owned(),
            false => mutated(seeds, dictionary, &mut random),
        };
        let mut report = Report::default();
        let flow = read(&text, &mut report);
        assert_eq!(
            flow.is_none(),
            report.errors() > 0,
            "{text:?}\n{}",
            problems(&report)
        );
        for problem in report.problems() {
            assert!(
                !problem.message.is_empty() && !problem.place.file.is_empty(),
                "{text:?}"
            );
            let lines = text.lines().count() as u32 + 1;
            assert!(problem.place.line <= lines.max(20), "{text:?} {problem:?}");
        }
        if let Some(flow) = flow {
            accepted += 1;
            assert_sound(&flow, &text);
            assert_survives_writing(&flow);
            law(&text, &flow);
        }
    }
    assert!(
        accepted > rounds / 50,
        "only {accepted} of {rounds} inputs were accepted: the mutations are too wild"
    );
}

fn assert_sound(flow: &Flow, text: &str) {
    let dag = flow.dag();
    let order = dag.topological_order();
    assert_eq!(order.len(), dag.len(), "{text:?}");
    for (parent, child) in dag.arcs() {
        assert!(
            parent != child && dag.parents(child).contains(&parent),
            "{text:?}"
        );
    }
    for task in dag.tasks() {
        assert_eq!(flow.find(flow.name(task)), Some(task), "{text:?}");
        assert!(
            flow.seconds(task).is_none_or(|s| s.is_finite() && s >= 0.0),
            "{text:?}"
        );
    }
}

/// Whatever was read can be written in every line-based format that is written, and read back.
fn assert_survives_writing(flow: &Flow) {
    let mut report = Report::default();
    let mut out = Vec::new();
    dagman::write(flow, &mut out).unwrap();
    let source = Source::from_text("w.dag", String::from_utf8(out).unwrap());
    let again = dagman::read(&source, &mut in_memory(&[]), &mut report);
    let again = again.unwrap_or_else(|| panic!("{}\n{}", source.text(), problems(&report)));
    assert_same_dag(flow, &again);
    for separator in [Separator::Comma, Separator::Tab] {
        let mut out = Vec::new();
        edgelist::write(flow, separator, &mut out).unwrap();
        let source = Source::from_text("w.csv", String::from_utf8(out).unwrap());
        let again = edgelist::read(&source, separator, &mut report);
        let again = again.unwrap_or_else(|| panic!("{}\n{}", source.text(), problems(&report)));
        assert_same_dag(flow, &again);
    }
}

/// Writing priorities into the files changes nothing else, and doing it again nothing at all.
fn assert_priorities_can_be_set(text: &str, others: &[(&str, &str)], flow: &Flow) {
    let priority = |name: &str| (!name.len().is_multiple_of(3)).then_some(name.len() as i64 - 2);
    let set = |files: &[(String, String)]| {
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (&name[..], &text[..]))
            .collect();
        let top = Source::from_text(files[0].0, files[0].1);
        let mut report = Report::default();
        let replace = dagman::ExistingPriorities::Replace;
        let edited = dagman::set_dagman_priorities(
            &top,
            &mut in_memory(&files),
            &priority,
            replace,
            &mut report,
        );
        let again = dagman::read(&top, &mut in_memory(&files), &mut Report::default());
        (edited, again)
    };
    let owned = |&(name, text): &(&str, &str)| (name.to_owned(), text.to_owned());
    let mut files: Vec<(String, String)> = [("top.dag", text)]
        .iter()
        .chain(others)
        .map(owned)
        .collect();
    let (Some(edited), _) = set(&files) else {
        assert!(
            text.contains('\\'),
            "only a dangling backslash may stop it: {text:?}"
        );
        return;
    };
    for edited in edited {
        let seat = files.iter_mut().find(|(name, _)| *name == edited.name);
        seat.expect("it was read").1 = edited.text;
    }
    let (edited, again) = set(&files);
    for edited in edited.unwrap_or_else(|| panic!("{files:?}")) {
        assert!(files.contains(&(edited.name, edited.text)), "{text:?}");
    }
    let again = again.unwrap_or_else(|| panic!("{files:?}"));
    assert_same_dag(flow, &again);
    for task in flow.dag().tasks() {
        assert_eq!(flow.command(task), again.command(task), "{text:?}");
        assert_eq!(flow.retries(task), again.retries(task), "{text:?}");
    }
}

/// Bytes that some format treats in its own way, and one that is no text.
const SPECIAL: &[u8] = b" \t\n\r\\\"'#:=,+%$-{}\0x0\xc3";

/// One to six changes to a seed.
fn mutated(seeds: &[&str], dictionary: &[&str], random: &mut Random) -> String {
    let mut bytes = seeds[random.below(seeds.len())].as_bytes().to_vec();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        let word = dictionary[random.below(dictionary.len())].as_bytes();
        match random.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = SPECIAL[random.below(SPECIAL.len())],
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, word.iter().copied())),
            4 => swap_word(&mut bytes, at, word),
            5 => {
                let other = seeds[random.below(seeds.len())].as_bytes();
                let from = random.below(other.len());
                let to = (from + random.below(40)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            6 => {
                let to = (at + random.below(20)).min(bytes.len());
                bytes.drain(at..to);
            }
            7 => duplicate_line(&mut bytes, at, random),
            _ => {
                let to = (at + random.below(20)).min(bytes.len());
                let piece = bytes[at..to].repeat(1 + random.below(4));
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes.truncate(1 << 14);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Replaces the word around `at`.
fn swap_word(bytes: &mut Vec<u8>, at: usize, word: &[u8]) {
    let is_end = |b: &u8| b.is_ascii_whitespace();
    let start = bytes[..at].iter().rposition(is_end).map_or(0, |i| i + 1);
    let end = bytes[at..]
        .iter()
        .position(is_end)
        .map_or(bytes.len(), |i| at + i);
    bytes.splice(start..end, word.iter().copied());
}

/// Copies the line around `at` to another place.
fn duplicate_line(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let start = bytes[..at]
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |i| i + 1);
    let end = bytes[at..]
        .iter()
        .position(|&b| b == b'\n')
        .map_or(bytes.len(), |i| at + i + 1);
    let line = bytes[start..end].to_vec();
    let to = random.below(bytes.len() + 1);
    bytes.splice(to..to, line);
}

#[test]
fn dagman_files() {
    let others = [
        (
            "one.dag",
            "JOB A x\nJOB B y {\nPARENT A CHILD B\nPIN_IN A 1\nPIN_OUT B 1\n",
        ),
        (
            "two.dag",
            "JOB A x\nJOB B y\nPARENT A CHILD B\nPIN_IN A 1\nPIN_OUT B 1\nSPLICE in three.dag\n",
        ),
        (
            "three.dag",
            "SUBMIT-DESCRIPTION d {\nexecutable = e\n}\nJOB A d\nRETRY ALL_NODES 3\n",
        ),
        ("self.dag", "JOB A x\nINCLUDE self.dag\n"),
        ("dir/two.dag", "JOB Z z\nPIN_IN Z 1\nPIN_OUT Z 1\n"),
    ];
    let seeds = [
        "JOB A a.sub\nJOB B b.sub DIR d NOOP\nJOB C c.sub DONE\nPARENT A CHILD B C\nRETRY A 3 UNLESS-EXIT 2\n",
        "SPLICE S two.dag\nSPLICE T two.dag DIR dir\nJOB X x\nPARENT X CHILD S\nCONNECT S T\nPRIORITY S+A 3\n",
        "JOB A {\n  executable = /bin/sh\n  arguments = \"-c 'echo $(JOB) $(x)'\"\n}\nVARS A x=\"1 \\\"2\\\"\" y = z\n",
        "parent A \\\n  child \\\n# c\n B\njob A x\njob B \"y z\"\ninclude three.dag\nabort-dag-on A 1 return 3\n",
        "# cairn: node names are percent-encoded\nJOB a%20b x\nJOB %50arent x\nPARENT a%20b CHILD %50arent\n",
        "FINAL F f\nSERVICE S s\nPROVISIONER P p\nSUBDAG EXTERNAL D d.dag\nJOB J j\nPARENT D CHILD J\nPRIORITY ALL_NODES -1\n\
         SCRIPT DEFER 1 2 DEBUG f ALL PRE J x\nCATEGORY J c\nMAXJOBS c 2\nTOLERANCE J 3% WAIT\nPRE_SKIP J 1\nDONE J\n\
         DOT x UPDATE INCLUDE y\nNODE_STATUS_FILE f 30 ALWAYS-UPDATE\nJOBSTATE_LOG l\nSAVE_POINT_FILE J\n\
         SET_JOB_ATTR a = 1\nENV GET HOME\nCONFIG c\nREJECT\n",
    ];
    let dictionary = [
        "JOB ",
        "PARENT ",
        " CHILD ",
        "SPLICE ",
        "INCLUDE ",
        "self.dag",
        "one.dag",
        "two.dag",
        "DIR ",
        "dir",
        "A",
        "B",
        "S",
        "S+A",
        "S+in+A",
        "+",
        "{",
        "}\n",
        "@=x",
        "@x\n",
        "ALL_NODES",
        "\\\n",
        "\"",
        "$(JOB)",
        "$(x:y)",
        "9999999999",
        "-1",
        "PRIORITY A 1\n",
        "CONNECT S T\n",
        "PIN_IN A 1\n",
        "%2B",
        "# cairn: node names are percent-encoded\n",
        "\r\n",
        "DONE",
    ];
    fuzz(
        &seeds,
        &dictionary,
        |text, report| {
            let top = Source::from_text("top.dag", text);
            dagman::read(&top, &mut in_memory(&others), report)
        },
        |text, flow| assert_priorities_can_be_set(text, &others, flow),
    );
}

#[test]
fn makeflow_files() {
    let seeds = [
        "A=1\nB=\"$A x\"\nB+=y\nout: in $A\n\trun $B > out\nend: out in\n\tLOCAL cat out\n",
        "CATEGORY=big\n.MAKEFLOW CORES 4\n.SIZE in 3K\n'a b'->c: in->d \"e $X\"\n@X=1\n\tMAKEFLOW sub.makeflow\n",
        "a: b \\\n  c\n\techo 'it' \"is\" \\\n  long # comment\nb c:\n  x\nexport PATH\nexport Q=1\n",
    ];
    let dictionary = [
        ":",
        "=",
        "+=",
        "$",
        "$(A)",
        "${B}",
        "$A",
        "\\",
        "\\\n",
        "'",
        "\"",
        "#",
        "\t",
        "->",
        "out",
        "in",
        "a",
        "b",
        "export ",
        ".SIZE ",
        ".MAKEFLOW ",
        "CATEGORY=",
        "@X=",
        "LOCAL ",
        "MAKEFLOW ",
        "\n",
        "\n\t",
        "X=$X$X\n",
        "\r\n",
        "é",
    ];
    fuzz(
        &seeds,
        &dictionary,
        |text, report| makeflow::read(&Source::from_text("m", text), report),
        |_, _| {},
    );
}

#[test]
fn stg_files() {
    let seeds = [
        "2\n0 0 0\n1 5 1 0\n2 6 2 0 1\n3 0 2 1 2\n# Tasks : 2\n",
        "2\n0 0 0\n1 5 1\n 0 7\n2 6 2\n 0 1\n 1 2\n",
        "2 3\n1 14 0\n2 20 1 1\n3 0 1 2\n",
    ];
    let dictionary = [
        " ",
        "\n",
        "0",
        "1",
        "2 ",
        "-1",
        "1e9",
        "nan",
        "inf",
        "00",
        "99999999999999999999",
        "#",
        "x",
        " 0 0 0\n",
    ];
    fuzz(
        &seeds,
        &dictionary,
        |text, report| stg::read(&Source::from_text("s", text), report),
        |_, _| {},
    );
}

#[test]
fn taskedge_files() {
    let seeds = [
        "FILE f 10\nTASK a t::x 1.5\nTASK b t::y 2\nEDGE a b\nINPUTS b f\nOUTPUTS a f g\n",
        "EDGE x y\nTASK y q 0\nTASK x q 1e3\n# end\n",
    ];
    let dictionary = [
        "TASK ", "EDGE ", "FILE ", "INPUTS ", "OUTPUTS ", "a", "b", "x", " ", "\n", "-1", "nan",
        "1e400", "#", "a b\n",
    ];
    fuzz(
        &seeds,
        &dictionary,
        |text, report| taskedge::read(&Source::from_text("t", text), report),
        |_, _| {},
    );
}

#[test]
fn comma_separated_edges() {
    let seeds = [
        "parent,child\na,b\nb,c\nalone\n",
        "\"a,1\",\"b \"\"q\"\"\"\n# no\n x , y \n",
        "id,from,to\n1,a,b\n",
    ];
    let dictionary = [
        ",",
        "\"",
        "\"\"",
        "\n",
        "a",
        "b",
        "parent,child\n",
        "to,from\n",
        "#",
        " ",
        "\r\n",
        "\t",
        "é",
        ",,",
    ];
    fuzz(
        &seeds,
        &dictionary,
        |text, report| edgelist::read(&Source::from_text("e", text), Separator::Comma, report),
        |_, _| {},
    );
}

#[test]
fn tab_separated_edges() {
    let seeds = [
        "parent\tchild\na\tb\nb\tc\nalone\n",
        "\"a\t1\"\tb\n# no\n x \t y \n",
        "a b\tc d\n",
    ];
    let dictionary = [
        ",",
        "\"",
        "\"\"",
        "\n",
        "a",
        "b",
        "source\ttarget\n",
        "#",
        " ",
        "\r\n",
        "\t",
        "é",
        "\t\t",
    ];
    fuzz(
        &seeds,
        &dictionary,
        |text, report| edgelist::read(&Source::from_text("e", text), Separator::Tab, report),
        |_, _| {},
    );
}
