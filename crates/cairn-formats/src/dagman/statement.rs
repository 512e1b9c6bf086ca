//! The statements of a DAGMan file, one logical line each, with their places. Knows nothing of other files, nor
//! whether the names in a statement exist.

use super::lexer::Lines;
use super::name;
use super::parser::Parser;
use std::borrow::Cow;
use std::ops::Range;

/// Text cut out of the file; owned only where quotes or an encoding had to be undone.
pub(crate) type Text<'t> = Cow<'t, str>;

/// Where a statement lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset of the end of its last physical line, before `\n` or `\r\n`.
    pub(crate) end: usize,
    /// Number of its first line, from 1.
    pub(crate) line: u32,
}

/// Why a statement cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Offset of the trouble.
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// What a node is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Job,
    /// A dag of its own, run as one node.
    Subdag,
    /// Runs last, whatever happened.
    Final,
    /// Runs first.
    Provisioner,
    /// Runs beside all others.
    Service,
}

impl NodeKind {
    /// Whether the node takes part in the dag: the special ones stand outside of it.
    pub(crate) fn is_regular(self) -> bool {
        matches!(self, NodeKind::Job | NodeKind::Subdag)
    }
}

/// What a node runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Description<'t> {
    /// A submit file, the name of a `SUBMIT-DESCRIPTION`, or, for a sub-dag, a DAGMan file.
    Named(Text<'t>),
    /// The lines between the braces.
    Inline(&'t str),
}

/// When a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Pre,
    Post,
    Hold,
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement<'t> {
    /// `JOB`, `SUBDAG EXTERNAL`, `FINAL`, `PROVISIONER`, `SERVICE`.
    Node {
        kind: NodeKind,
        name: Text<'t>,
        name_span: Range<usize>,
        description: Description<'t>,
        /// `DIR`.
        directory: Option<Text<'t>>,
        /// Whether its job is not to be run.
        noop: bool,
        done: bool,
    },
    /// `SPLICE name file [DIR directory]`.
    Splice {
        name: Text<'t>,
        file: Text<'t>,
        directory: Option<Text<'t>>,
    },
    /// `INCLUDE file`.
    Include { file: Text<'t> },
    /// `SUBMIT-DESCRIPTION name { … }`.
    SubmitDescription { name: Text<'t>, body: &'t str },
    /// `[WEAK] PARENT … CHILD …`. A weak dependency orders its nodes like any other.
    Dependency {
        parents: Vec<Text<'t>>,
        children: Vec<Text<'t>>,
    },
    /// `RETRY node times [UNLESS-EXIT code]`.
    Retry {
        node: Text<'t>,
        times: u32,
        unless_exit: Option<i32>,
    },
    /// `VARS node [PREPEND|APPEND] key=value …`.
    Vars {
        node: Text<'t>,
        /// Whether the variables go behind the submit description, so that they outweigh it, rather than before it.
        append: bool,
        pairs: Vec<(Text<'t>, Text<'t>)>,
    },
    /// `PRIORITY node value`.
    Priority {
        node: Text<'t>,
        value: i32,
        value_span: Range<usize>,
    },
    /// `DONE node`.
    Done { node: Text<'t> },
    /// `PIN_IN node number`.
    PinIn { node: Text<'t>, pin: u32 },
    /// `PIN_OUT node number`.
    PinOut { node: Text<'t>, pin: u32 },
    /// `CONNECT splice splice`.
    Connect { parent: Text<'t>, child: Text<'t> },
    /// `SCRIPT [DEFER …] [DEBUG …] PRE|POST|HOLD node command`.
    Script {
        node: Text<'t>,
        when: When,
        /// Whether it is run again later where it asks for that.
        deferred: bool,
        command: Text<'t>,
    },
    /// `ABORT-DAG-ON node exit [RETURN code]`.
    AbortDagOn {
        node: Text<'t>,
        exit: i32,
        returned: Option<i32>,
    },
    /// `PRE_SKIP node exit`.
    PreSkip { node: Text<'t>, exit: i32 },
    /// `CATEGORY node category`.
    Category { node: Text<'t>, category: Text<'t> },
    /// `MAXJOBS category number`.
    MaxJobs { category: Text<'t>, limit: u32 },
    /// `TOLERANCE`, `SAVE_POINT_FILE`: something about a node that changes neither the dag nor the command.
    OfNode { node: Text<'t> },
    /// `REJECT`: DAGMan is not to run this file.
    Reject,
    /// `CONFIG`, `DOT`, `NODE_STATUS_FILE`, `JOBSTATE_LOG`, `SET_JOB_ATTR`, `ENV`: about the run.
    OfRun,
}

/// The statements of a file in order, each with its place, or what is wrong with it.
pub(crate) fn statements(text: &str) -> Statements<'_> {
    Statements {
        text,
        lines: Lines::new(text),
        encoded: name::is_encoded(text),
    }
}

/// Whether the text begins as a DAGMan file does: most of its first statements can be understood, and one of them makes
/// or ties nodes.
pub(crate) fn looks_like(text: &str) -> bool {
    let (mut good, mut bad, mut telling) = (0, 0, false);
    // Enough to tell, and a large file of another kind is not read to its end.
    for (_, statement) in statements(text).take(100) {
        match statement {
            Ok(statement) => {
                good += 1;
                telling |= matches!(
                    statement,
                    Statement::Node { .. }
                        | Statement::Splice { .. }
                        | Statement::Include { .. }
                        | Statement::SubmitDescription { .. }
                        | Statement::Dependency { .. }
                );
            }
            Err(_) => bad += 1,
        }
    }
    // Mistakes are allowed for: a DAGMan file with a few must still be read as one, to name them.
    telling && good > bad
}

/// See [`statements`].
#[derive(Clone, Debug)]
pub(crate) struct Statements<'t> {
    text: &'t str,
    lines: Lines<'t>,
    encoded: bool,
}

impl<'t> Iterator for Statements<'t> {
    type Item = (Span, Result<Statement<'t>, Fault>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut logical = self.lines.next_logical()?;
        // A line of nothing but a backslash says nothing, and is no statement.
        while logical.words.is_empty() {
            logical = self.lines.next_logical()?;
        }
        let mut span = Span {
            start: logical.start,
            end: logical.end,
            line: logical.line,
        };
        let parser = Parser {
            text: self.text,
            words: logical.words,
            lines: &mut self.lines,
            encoded: self.encoded,
            form: "",
            end: &mut span.end,
        };
        let statement = parser.statement();
        Some((span, statement))
    }
}

#[cfg(test)]
mod tests {
    use super::super::keywords::FORMS;
    use super::*;

    fn parse(text: &str) -> Vec<Result<Statement<'_>, Fault>> {
        statements(text).map(|(_, statement)| statement).collect()
    }

    fn one(text: &str) -> Statement<'_> {
        let mut all = parse(text);
        assert_eq!(all.len(), 1, "{all:?}");
        all.pop()
            .unwrap()
            .unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
    }

    fn fault(text: &str) -> Fault {
        parse(text).pop().unwrap().expect_err(text)
    }

    #[test]
    fn every_keyword_in_any_case_with_dash_or_underscore() {
        let of_node = |node: &'static str| Statement::OfNode { node: node.into() };
        for text in [
            "TOLERANCE a 3",
            "TOLERANCE a 3% WAIT",
            "tolerance a 3 % fail-fast",
            "SAVE_POINT_FILE a",
            "save-point-file a ../x.save",
        ] {
            assert_eq!(one(text), of_node("a"), "{text}");
        }
        for text in [
            "CONFIG x.config",
            "config \"x y\"",
            "DOT x.dot",
            "dot x dont-update OVERWRITE include h",
            "NODE_STATUS_FILE f",
            "node-status-file f 60 always-update",
            "JOBSTATE_LOG f",
            "SET_JOB_ATTR a = \"b",
            "set-job-attr x=1",
            "ENV SET a=b;c=d",
            "env get A B",
        ] {
            assert_eq!(one(text), Statement::OfRun, "{text}");
        }
        for text in ["CATEGORY a +cat", "category a +cat"] {
            let (node, category) = ("a".into(), "+cat".into());
            assert_eq!(one(text), Statement::Category { node, category });
        }
        let (category, limit) = ("cat".into(), 3);
        assert_eq!(one("MaxJobs cat 3"), Statement::MaxJobs { category, limit });
        for (text, when, deferred, command) in [
            ("SCRIPT PRE a x.sh $JOB", When::Pre, false, "x.sh $JOB"),
            (
                "script defer 1 60 debug f all post a  x ",
                When::Post,
                true,
                "x",
            ),
            ("Script Hold a \"x y\"", When::Hold, false, "\"x y\""),
        ] {
            let node = "a".into();
            let script = Statement::Script {
                node,
                when,
                deferred,
                command: command.into(),
            };
            assert_eq!(one(text), script);
        }
        for (text, exit, returned) in [
            ("ABORT-DAG-ON a 2", 2, None),
            ("abort_dag_on a -1 return 0", -1, Some(0)),
        ] {
            let node = "a".into();
            let abort = Statement::AbortDagOn {
                node,
                exit,
                returned,
            };
            assert_eq!(one(text), abort);
        }
        for text in ["PRE_SKIP a 1", "pre-skip a 1"] {
            let (node, exit) = ("a".into(), 1);
            assert_eq!(one(text), Statement::PreSkip { node, exit });
        }
        assert_eq!(one("reject"), Statement::Reject);
        assert_eq!(one("Done a"), Statement::Done { node: "a".into() });
        assert_eq!(
            one("pin-in a 2"),
            Statement::PinIn {
                node: "a".into(),
                pin: 2
            }
        );
        assert_eq!(
            one("PIN_OUT a 1"),
            Statement::PinOut {
                node: "a".into(),
                pin: 1
            }
        );
        assert_eq!(
            one("connect A B"),
            Statement::Connect {
                parent: "A".into(),
                child: "B".into()
            }
        );
        assert_eq!(
            one("include \"a b.dag\""),
            Statement::Include {
                file: "a b.dag".into()
            }
        );
        assert_eq!(
            one("RETRY a 3 unless-exit 2"),
            Statement::Retry {
                node: "a".into(),
                times: 3,
                unless_exit: Some(2),
            }
        );
        let all = parse("RETRY x -1\nJOB PARENT x\nPIN_IN a 0\nENV PUT x\nPRIORITY a 3000000000\n");
        assert!(all.iter().all(Result::is_err), "{all:?}");
        assert_eq!(FORMS.len(), 31);
    }

    #[test]
    fn nodes() {
        let node = |kind, name: &'static str, done: bool| Statement::Node {
            kind,
            name: name.into(),
            name_span: 4..5,
            description: Description::Named("a.sub".into()),
            directory: done.then(|| "/tmp".into()),
            noop: done,
            done,
        };
        assert_eq!(one("Job A a.sub"), node(NodeKind::Job, "A", false));
        assert_eq!(
            one("JOB B \"a.sub\" dir /tmp NOOP Done"),
            node(NodeKind::Job, "B", true)
        );
        for (text, expected) in [
            ("SUBDAG EXTERNAL s x.dag", NodeKind::Subdag),
            ("final s x.sub", NodeKind::Final),
            ("PROVISIONER s x.sub", NodeKind::Provisioner),
            ("SERVICE s x.sub", NodeKind::Service),
        ] {
            assert!(
                matches!(one(text), Statement::Node { kind, .. } if kind == expected),
                "{text}"
            );
        }
    }

    #[test]
    fn inline_descriptions_end_at_their_closing_line() {
        let text = "JOB a {\n executable = /bin/x\n\n # }\n}  DONE\nSUBMIT-DESCRIPTION d @=end\nx = }\n}\n@end\nJOB b d";
        let all = parse(text);
        let Ok(Statement::Node {
            description: Description::Inline(body),
            done: true,
            ..
        }) = &all[0]
        else {
            panic!("{:?}", all[0])
        };
        assert_eq!(*body, " executable = /bin/x\n");
        assert_eq!(
            all[1],
            Ok(Statement::SubmitDescription {
                name: "d".into(),
                body: "x = }\n}\n"
            })
        );
        assert!(matches!(all[2], Ok(Statement::Node { .. })));
        let (span, _) = statements(text).next().unwrap();
        assert!(text[..span.end].ends_with("}  DONE"));
        assert!(
            fault("JOB a {\nexecutable = x\n")
                .message
                .contains("never closed")
        );
        assert!(
            fault("JOB a { executable = x }")
                .help
                .contains("lines of its own")
        );
        assert!(
            fault("SUBMIT-DESCRIPTION d x.sub")
                .message
                .contains("begins with '{'")
        );
    }

    #[test]
    fn dependencies_on_continued_lines() {
        let expected = Statement::Dependency {
            parents: vec!["a".into(), "b".into()],
            children: vec!["c".into(), "d".into()],
        };
        assert_eq!(one("PARENT a b CHILD c d"), expected);
        assert_eq!(
            one("weak parent a \\\n b \\\n\n child c\\\n child d"),
            expected
        );
        assert_eq!(
            fault("PARENT CHILD b").message,
            "there is no node after PARENT"
        );
        assert_eq!(fault("PARENT a b").message, "CHILD is missing");
        assert_eq!(
            fault("PARENT a CHILD").message,
            "there is no node after CHILD"
        );
        assert!(
            fault("WEAK CHILD a")
                .message
                .contains("'CHILD' is not PARENT")
        );
    }

    #[test]
    fn variables() {
        let text = r#"VARS a APPEND x = "1 \"2\"" +My='q' z=$(JOB) t = "" "#;
        let Statement::Vars { pairs, append, .. } = one(text) else {
            panic!()
        };
        assert!(append);
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(
            pairs,
            [("x", "1 \"2\""), ("+My", "q"), ("z", "$(JOB)"), ("t", "")]
        );
        for bad in [
            "VARS a",
            "VARS a x",
            "VARS a =1",
            "VARS a x==1",
            "VARS a x=",
            "VARS a +=\"1\"",
            "VARS a Queue1=2",
        ] {
            fault(bad);
        }
        assert!(fault("VARS a x=\"1").message.contains("never closed"));
    }

    #[test]
    fn faults_name_the_word_the_form_and_a_near_keyword() {
        let wrong = fault("PARNET a CHILD b");
        assert_eq!(
            (wrong.message.as_str(), wrong.help.as_str()),
            ("'PARNET' is no DAGMan keyword", "did you mean PARENT?")
        );
        let wrong = fault("PRIORITY node high");
        assert_eq!(wrong.at, 14);
        assert_eq!(wrong.help, "the form is: PRIORITY <node> <integer>");
        assert!(fault("DONE a b").message.contains("'b' is too much"));
        assert!(fault("JOB a").message.contains("missing"));
        assert!(fault("JOB a b EXTRA").message.contains("'EXTRA'"));
        let wrong = fault("VARS a k=\"xy\"zz");
        assert!(
            wrong.message.contains("behind the closing quote"),
            "{wrong:?}"
        );
        assert!(fault("SUBDAG s x.dag").message.contains("EXTERNAL"));
    }

    #[test]
    fn the_span_of_a_priority_value_can_be_replaced() {
        let text = "JOB a a.sub\r\nPriority a \\\r\n  -5 \r\n";
        let (span, statement) = statements(text).nth(1).unwrap();
        let Ok(Statement::Priority {
            value: -5,
            value_span,
            ..
        }) = statement
        else {
            panic!()
        };
        assert_eq!(&text[value_span], "-5");
        assert_eq!(&text[span.end..], "\r\n");
        assert_eq!(span.line, 2);
    }

    #[test]
    fn encoded_names_are_decoded_only_under_the_head() {
        let text = format!(
            "{}\nPARENT a%20b CHILD %50arent\nJOB %50arent x%20y",
            name::ENCODED_NAMES
        );
        let all = parse(&text);
        assert_eq!(
            all[0],
            Ok(Statement::Dependency {
                parents: vec!["a b".into()],
                children: vec!["Parent".into()]
            })
        );
        assert!(matches!(&all[1], Ok(Statement::Node { name, .. }) if name == "Parent"));
        assert_eq!(
            one("DONE a%20b"),
            Statement::Done {
                node: "a%20b".into()
            }
        );
    }
}
