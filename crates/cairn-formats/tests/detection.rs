//! Files of many kinds, workflows and others: what each is taken for, and how much is said about it.

use cairn_formats::{Format, Report, Source, detect, read};

/// Name, text, and the format it is taken for; `None` where it must be refused without a format.
type Sample = (&'static str, &'static str, Option<Format>);

/// Files that are no workflow. Each must be refused, with at most four errors.
const OTHERS: [(&str, &str, &str); 45] = [
    (
        "mermaid",
        "-",
        "graph TD\n    A[Start] --> B{Is it?}\n    B -->|Yes| C[OK]\n    B -->|No| D[End]\n",
    ),
    (
        "mermaid",
        "flow.mmd",
        "flowchart LR\n\tA --> B\n\tB --> C\n\tclassDef x: fill\n\tA:::x --> D\n",
    ),
    (
        "mermaid with a head",
        "-",
        "---\ntitle: Node\n---\nflowchart LR\n    id\n",
    ),
    (
        "mermaid comment",
        "-",
        "%% a comment\nsequenceDiagram\n\tAlice->>Bob: Hello\n\tBob-->>Alice: Hi\n",
    ),
    (
        "python",
        "-",
        "import os\n\ndef main(argv):\n\tfor a in argv:\n\t\tprint(a)\n\nif __name__ == \"__main__\":\n\tmain([])\n",
    ),
    (
        "python with tabs",
        "-",
        "class A:\n\tpass\n\nclass B:\n\tdef f(self):\n\t\treturn 1\n",
    ),
    (
        "python",
        "make.dag",
        "from pathlib import Path\n\nx = {1: 2}\nfor p in Path('.').iterdir():\n    print(p)\n",
    ),
    (
        "python script",
        "-",
        "#!/usr/bin/env python3\nprint('hello')\n",
    ),
    (
        "c",
        "-",
        "#include <stdio.h>\n\nint main(void)\n{\n\tswitch (x) {\n\tcase 1:\n\t\tputs(\"1\");\n\tdefault:\n\t\tbreak;\n\t}\n\treturn 0;\n}\n",
    ),
    (
        "c++",
        "-",
        "class A {\npublic:\n\tint x;\nprivate:\n\tint y;\n};\nint f() {\n\treturn 1;\n}\n",
    ),
    (
        "java",
        "-",
        "public class Hello {\n    public static void main(String[] args) {\n        System.out.println(\"x\");\n    }\n}\n",
    ),
    (
        "javascript",
        "-",
        "const fs = require('fs');\nfunction f(a, b) {\n  return { a: a, b: b };\n}\nmodule.exports = f;\n",
    ),
    (
        "readme",
        "README.md",
        "# Project\n\nA tool that does things for you.\n\nUsage:\n\n\tmake install\n\n## License\n\nMIT.\n",
    ),
    (
        "readme",
        "README",
        "# Project\n\nThis is a tool that does many things.\n\nInstall:\n\tpip install x\n\nSee [docs](http://x).\n",
    ),
    (
        "prose",
        "-",
        "Dear all,\n\nplease find attached the report:\n\tit is long.\n\nBest wishes\n",
    ),
    (
        "prose",
        "notes.txt",
        "Parent company meeting\nDone with the first part\nJob description: see below\nData for it is elsewhere\n",
    ),
    (
        "prose",
        "x.dag",
        "Dear all,\nthis is\nnot a dag\nat all,\nis it?\nno it\nis not\nI say\nnever ever\ngoodbye now\n",
    ),
    (
        "prose",
        "x.mf",
        "Manifest-Version: 1.0\nMain-Class: org.X\nCreated-By: me\nA: b\nC: d\nE: f\nG: h\nI: j\nK: l\nM: n\n",
    ),
    (
        "prose",
        "x.stg",
        "one two\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n",
    ),
    ("prose", "x.csv", "Dear all\nhow are you\nfine I hope\n"),
    (
        "yaml of ci",
        "-",
        "name: ci\non: [push]\njobs:\n  build:\n    runs-on: x\n    steps:\n      - run: make\n",
    ),
    (
        "yaml of ci",
        "ci.yml",
        "name: ci\non: [push]\njobs:\n  build:\n    runs-on: x\n    steps:\n      - run: make\n",
    ),
    (
        "yaml of compose",
        "docker-compose.yml",
        "version: '3'\nservices:\n  web:\n    image: nginx\n    ports: ['80:80']\n",
    ),
    ("yaml", "-", "a: 1\nb:\n  - c\n  - d\n"),
    (
        "json package",
        "package.json",
        "{\n  \"name\": \"x\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\"a\": \"b\"},\n  \"dependencies\": {\"y\": \"^1\"}\n}\n",
    ),
    ("json", "-", "{\"a\": 1, \"b\": [1, 2, 3]}\n"),
    ("json list", "x.json", "[1, 2, 3]\n"),
    (
        "json notebook",
        "x.ipynb",
        "{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4\n}\n",
    ),
    (
        "makeflow json",
        "x.json",
        "{\n  \"define\": {\"n\": 3},\n  \"rules\": [\n    {\"command\": \"echo\", \"inputs\": [\"a\"], \"outputs\": [\"b\"]}\n  ]\n}\n",
    ),
    (
        "makeflow json",
        "x.makeflow",
        "{\"rules\": [{\"command\": \"echo\", \"inputs\": [\"a\"], \"outputs\": [\"b\"]}]}\n",
    ),
    (
        "dockerfile",
        "Dockerfile",
        "FROM debian:stable\nENV A=b\nRUN apt-get update && \\\n    apt-get install -y x\nCMD [\"x\"]\n",
    ),
    (
        "shell",
        "run.sh",
        "#!/bin/sh\nset -e\nfor x in a b; do\n\techo $x\ndone\n",
    ),
    (
        "shell without its line",
        "-",
        "set -e\ncase $1 in\nstart:\n\techo go\n\t;;\nesac\necho done\nexit 0\n",
    ),
    (
        "ini",
        "-",
        "[core]\nkey = value\nother: thing\n[next]\nx = 1\n",
    ),
    (
        "toml",
        "Cargo.toml",
        "[package]\nname = \"x\"\nversion = \"1\"\n\n[dependencies]\ny = \"1\"\n",
    ),
    (
        "log",
        "-",
        "2024-01-01 12:00:00 INFO: started\n2024-01-01 12:00:01 ERROR: failed\n\tat org.X(X.java:3)\n\tat org.Y(Y.java:4)\n",
    ),
    (
        "makefile",
        "Makefile",
        "CC := gcc\n.PHONY: all\nall: a.o b.o\n\t$(CC) -o x $^\n\techo done\n%.o: %.c\n\t$(CC) -c $<\n",
    ),
    (
        "ninja",
        "build.ninja",
        "rule cc\n  command = gcc -c $in -o $out\nbuild a.o: cc a.c\nbuild b.o: cc b.c\n",
    ),
    (
        "snakefile",
        "Snakefile",
        "rule all:\n    input: \"x\"\n\nrule a:\n    output: \"x\"\n    shell: \"touch {output}\"\n",
    ),
    (
        "nextflow",
        "main.nf",
        "process A {\n  input:\n  path x\n  script:\n  \"cat $x\"\n}\nworkflow {\n  A(Channel.of(1))\n}\n",
    ),
    (
        "cwl",
        "x.cwl",
        "cwlVersion: v1.2\nclass: Workflow\ninputs: []\nsteps: []\n",
    ),
    (
        "html",
        "x.html",
        "<!DOCTYPE html>\n<html><head><title>x</title></head><body><p>y</p></body></html>\n",
    ),
    (
        "xml",
        "pom.xml",
        "<?xml version=\"1.0\"?>\n<project><modelVersion>4.0.0</modelVersion></project>\n",
    ),
    (
        "rust",
        "main.rs",
        "//! Adds.\nuse std::io;\n\nfn main() {\n    let a = 1;\n    let b = 2;\n    println!(\"{}\", a + b);\n}\n",
    ),
    ("sql", "-", "SELECT a, b\nFROM t\nWHERE x = 1;\n"),
];

#[test]
fn other_files_are_refused_with_a_few_errors() {
    for (kind, name, text) in OTHERS {
        let source = Source::from_text(name, text);
        let mut report = Report::default();
        let flow = read(&source, None, &mut report);
        let said: Vec<_> = report.problems().iter().map(|p| &p.message[..]).collect();
        assert!(
            flow.is_none(),
            "{kind} {name} was read as {:?}",
            flow.map(|f| f.0)
        );
        assert!(
            (1..=4).contains(&report.errors()),
            "{kind} {name}: {said:#?}"
        );
        assert!(report.warnings() <= 4, "{kind} {name}: {said:#?}");
        for problem in report.problems() {
            assert!(
                !problem.help.is_empty(),
                "{kind} {name}: {}",
                problem.message
            );
        }
    }
}

/// What is plainly something else is called by its name, and the tool that could write a dag of it is named.
#[test]
fn what_it_looks_like_is_said_with_the_cure() {
    for (kind, said, cure) in [
        ("mermaid", "a Mermaid diagram", "digraph"),
        ("python", "a Python program", "--format"),
        ("c", "a C or C++ program", "--format"),
        ("rust", "looks like a program", "--format"),
        ("readme", "a Markdown document", "--format"),
        ("makeflow json", "not supported", "behind a tab"),
        ("makefile", "a Makefile of make", "make2graph"),
        ("snakefile", "a Snakefile", "snakemake --dag"),
        ("nextflow", "a Nextflow script", "-with-dag"),
        ("ninja", "a Ninja build file", "ninja -t graph"),
        ("cwl", "a CWL document", "--print-dot"),
        ("dockerfile", "a Dockerfile", "--format"),
        ("shell", "a script", "--format"),
        ("ini", "an INI or TOML file", "--format"),
        (
            "json package",
            "JSON without a list of tasks",
            "a field 'task'",
        ),
    ] {
        let mut found = 0;
        for (_, name, text) in OTHERS.iter().filter(|(k, ..)| *k == kind) {
            let error = detect(&Source::from_text(*name, *text)).expect_err(kind);
            assert!(error.to_string().contains(said), "{kind} {name}: {error}");
            assert!(error.help().contains(cure), "{kind}: {}", error.help());
            found += 1;
        }
        assert!(found > 0, "{kind}");
    }
}

/// Small workflows as people have them: never taken for something else.
const WORKFLOWS: [Sample; 26] = [
    (
        "-",
        "# x\n\n  job a a.sub\njob b { \n executable = x\n}\nPARENT a CHILD b\n",
        Some(Format::Dagman),
    ),
    (
        "-",
        "CONFIG x.cfg\nJOB a a.sub\nVARS a x=\"1\"\n",
        Some(Format::Dagman),
    ),
    ("-", "SPLICE x y.dag\nJOB a a.sub\n", Some(Format::Dagman)),
    (
        "x.dag",
        "JOB a a.sub\nJBO b b.sub\nPARENT a CHILD b\n",
        Some(Format::Dagman),
    ),
    (
        "-",
        "TASK A echo A\nTASK B /bin/cat x y\nEDGE A B\n",
        Some(Format::TaskEdge),
    ),
    (
        "x.dag",
        "# PMC\nTASK A -m 10 echo A\n",
        Some(Format::TaskEdge),
    ),
    (
        "-",
        "a.out: a.in\n\tcat a.in > a.out\n",
        Some(Format::Makeflow),
    ),
    (
        "Makeflow",
        "CATEGORY=x\nN=3\nexport N\n# c\nout.$N out.2: $(IN) in.2->in\n\tLOCAL ./run in.2 > out.2\n\nb: out.2\n\t./go \\\n\tfast\n",
        Some(Format::Makeflow),
    ),
    (
        "-",
        ".MAKEFLOW CORES 2\n.SIZE in 3M\nout: in\n@MEMORY=3\n\tcp in out\n",
        Some(Format::Makeflow),
    ),
    ("x.mf", "a: b\n\tx\n", Some(Format::Makeflow)),
    ("-", "digraph{a->b}", Some(Format::Dot)),
    (
        "-",
        "strict digraph snakemake_dag {\n graph[x=y];\n 0 -> 1\n}",
        Some(Format::Dot),
    ),
    ("-", "digraph \"x y\" {\n}\n", Some(Format::Dot)),
    ("-", "/* c */ Digraph 1.5 { a }", Some(Format::Dot)),
    ("-", "graph G {\n a -- b\n}", Some(Format::Dot)),
    ("-", "a,b\nb,c\n", Some(Format::Csv)),
    ("-", "a;b\nb;c\n", Some(Format::Csv)),
    ("-", "a\tb c\nb c\td\n", Some(Format::Tsv)),
    ("x.csv", "parent;child\nx y;z\n", Some(Format::Csv)),
    (
        "-",
        "{\"name\":\"a\"}\n{\"name\":\"b\",\"after\":[\"a\"]}\n",
        Some(Format::FlowJsonLines),
    ),
    (
        "-",
        "{\n\"task\": [\n{\"name\":\"a\"}]}\n",
        Some(Format::FlowJson),
    ),
    ("-", "[ {\"name\":\"a\"} ]", Some(Format::FlowJson)),
    ("-", "[[task]]\nname = 'a'\n", Some(Format::FlowToml)),
    (
        "-",
        "pegasus: '5.0'\njobs:\n- id: a\n",
        Some(Format::PegasusYaml),
    ),
    (
        "-",
        "jobs:\n  - id: a\n    type: job\n",
        Some(Format::PegasusYaml),
    ),
    ("-", "2\n0 0 0\n1 5 1 0\n2 3 1 1\n", Some(Format::Stg)),
];

#[test]
fn workflows_are_known() {
    for (name, text, format) in WORKFLOWS {
        let found = detect(&Source::from_text(name, text)).ok();
        assert_eq!(found, format, "{name}: {text}");
    }
}

#[test]
fn a_semicolon_list_has_its_arcs() {
    for text in [
        "a;b\nb;c\n",
        "parent;child\na;b\nb;c\n",
        "\u{feff}source;target;weight\na;b;1\nb;c;2\n",
    ] {
        let text = text.trim_start_matches('\u{feff}');
        let (format, flow) = read(
            &Source::from_text("x.csv", text),
            None,
            &mut Report::default(),
        )
        .unwrap();
        assert_eq!(format, Format::Csv);
        assert_eq!((flow.dag().len(), flow.dag().arc_count()), (3, 2), "{text}");
    }
}

/// Nothing can be claimed of a file without a task, whatever it is called.
#[test]
fn a_file_without_a_task_is_an_error_in_every_format() {
    let empty = [
        (Format::Dagman, "CONFIG x\n"),
        (Format::WfFormat, "{\"workflow\": {\"tasks\": []}}"),
        (Format::Dax, "<adag></adag>"),
        (Format::PegasusYaml, "jobs: []\n"),
        (Format::Dot, "digraph {}"),
        (Format::Makeflow, "A=1\n"),
        (Format::Galaxy, "{\"steps\": {}}"),
        (Format::Taskcluster, "{}"),
        (Format::TaskEdge, "FILE x 1\n"),
        (Format::Csv, "parent,child\n"),
        (Format::Tsv, "parent\tchild\n"),
        (Format::FlowToml, "task = []\n"),
        (Format::FlowJson, "{\"task\": []}"),
        (Format::FlowJson, "[]"),
    ];
    let blank = [
        "\n",
        " \t\r\n\n",
        "# only\n# comments\n",
        "// x\n",
        "\u{a0}\n",
    ];
    let every = Format::ALL.map(|format| blank.map(|text| (format, text)));
    for (format, text) in empty.into_iter().chain(every.into_iter().flatten()) {
        let mut report = Report::default();
        let flow = read(&Source::from_text("x", text), Some(format), &mut report);
        assert!(flow.is_none(), "{format:?} {text:?}");
        assert_eq!(
            report.errors(),
            1,
            "{format:?} {text:?} {:?}",
            report.problems()
        );
        assert!(!report.problems().last().unwrap().help.is_empty());
    }
    for text in blank {
        assert!(read(&Source::from_text("-", text), None, &mut Report::default()).is_none());
    }
}
