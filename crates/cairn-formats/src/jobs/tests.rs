//! Jobs of command lines, beside what a real shell does with them.

use super::*;
use crate::test_support::problems;
use cairn_dag::FlowBuilder;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::process::Command;

/// A folder with a program under many names, all words that a shell knows itself among them: it prints its name and its
/// arguments, each behind a line of its own.
struct Programs {
    folder: tempfile::TempDir,
}

const NAMES: [&str; 24] = [
    "show", "echo", "test", "time", "if", "exit", "exec", "cd", "true", "a.b", "x-y", "x_y", "9",
    "-n", "pwd", "kill", "read", "do", "then", "eval", "set", "print", "x+", "@",
];

impl Programs {
    fn new() -> Programs {
        let folder = tempfile::tempdir().unwrap();
        for name in NAMES {
            let path = folder.path().join(name);
            let script = "#!/bin/sh\nprintf 'program\\n%s\\n' \"${0##*/}\"\nfor a; do printf '%s\\n' \"$a\"; done\n";
            std::fs::write(&path, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
        }
        Programs { folder }
    }

    /// What a command prints when only these programs are to be found.
    fn output(&self, command: &mut Command) -> String {
        let output = command
            .env("PATH", self.folder.path())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Lines of all sorts: mostly harmless characters, some that mean something to a shell.
fn any_line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => "[a-z0-9._/:=+,@%-]{1,5}",
        1 => "[ -~é]{1,4}",
        1 => prop::sample::select(vec!["~", "a=~", "x=1", "#x", "a#b", "{a,b}", "!", "--", "-", "2>f", "*", "show*", "$x",
            "[a]", "\\x", "'a b'", "&", ";", "a\rb", "\n"]).prop_map(str::to_owned),
    ];
    let first = prop_oneof![
        6 => Just("show".to_owned()),
        4 => prop::sample::select(NAMES.to_vec()).prop_map(str::to_owned),
        1 => "[a-z]{1,3}=[a-z]{0,2}",
    ];
    let blanks = prop_oneof![6 => Just(" "), 1 => Just("\t"), 1 => Just("  "), 1 => Just(" \t")];
    let words = prop::collection::vec((blanks, word), 0..6);
    let around = prop::sample::select(vec!["", " ", "\n", "\t \n"]);
    (around.clone(), first, words, around).prop_map(|(before, first, words, behind)| {
        let words: String = words.into_iter().map(|(b, w)| format!("{b}{w}")).collect();
        format!("{before}{first}{words}{behind}")
    })
}

/// Wherever words are chosen, a shell would execute just them: several thousand lines, in a few shells.
#[test]
fn plain_lines_are_what_a_shell_would_execute() {
    let programs = Programs::new();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut script, mut expected, mut plain, mut alone) = (String::new(), String::new(), 0, 0);
    for i in 0..4000 {
        let line = any_line().new_tree(&mut runner).unwrap().current();
        let Some(words) = plain::words(&line) else {
            continue;
        };
        let words: Vec<&str> = words.collect();
        plain += 1;
        // All of them in shells that are given many lines; a plain line is one, so that none can change another.
        script.push_str(&line);
        script.push('\n');
        let said = format!("program\n{}\n", words.join("\n"));
        if i % 30 == 0 && NAMES.contains(&words[0]) {
            // And some alone, with and without the shell.
            alone += 1;
            assert_eq!(
                programs.output(Command::new("/bin/sh").arg("-c").arg(&line)),
                said,
                "{line:?}"
            );
            let direct = programs.folder.path().join(words[0]);
            assert_eq!(
                programs.output(Command::new(direct).args(&words[1..])),
                said,
                "{line:?}"
            );
        }
        if NAMES.contains(&words[0]) {
            expected.push_str(&said);
        }
    }
    assert!(plain > 1000 && alone > 30, "{plain} {alone}");
    let shells: [(&str, &[&str]); 2] = [("/bin/sh", &["-c"]), ("/bin/bash", &["--posix", "-c"])];
    for (shell, options) in shells.into_iter().filter(|(s, _)| Path::new(s).exists()) {
        let said = programs.output(Command::new(shell).args(options).arg(&script));
        assert_eq!(said, expected, "{shell}");
    }
}

#[test]
fn what_a_shell_would_touch_goes_through_the_shell() {
    for plain in [
        "x",
        " bwa mem  ref.fa\ts7.fq\n",
        "./a/b -x=1 --y a:b@c,d+e 50%",
        "/bin/echo -n x",
    ] {
        assert!(
            matches!(run_of_line(plain.into()), Run::Words(_)),
            "{plain:?}"
        );
    }
    for shell in [
        "", " ", "echo x", "true", "a=b c", "x+=1", "~/x", "x ~", "x; y", "x\ny", "x & y", "x | y",
        "x > y", "x < y", "x $y", "x `y`", "x 'y'", "x \"y\"", "x \\y", "x *", "x ?", "x [y]",
        "x {y,z}", "x # y", "! x", "(x)", "{ x; }", "x ^ y", "x\ry", "é", "x é", "%1", "while",
        "[ x ]", ".", "x\0y",
    ] {
        assert_eq!(run_of_line(shell.into()), Run::Shell(shell.into()));
    }
}

fn flow(commands: &[Option<&str>]) -> Arc<Flow> {
    let mut build = FlowBuilder::new();
    for (i, command) in commands.iter().enumerate() {
        let task = build.declare(&format!("t {i}"), 0).unwrap();
        if let Some(command) = command {
            build.set_command(task, command);
        }
        if i == 0 {
            build.set_retries(task, 3);
        }
    }
    Arc::new(build.finish().unwrap())
}

fn jobs(flow: &Arc<Flow>, template: Option<&str>) -> Result<Jobs, String> {
    let source = Source::from_text("f.toml", "");
    let mut report = Report::default();
    let template = template.map(|line| Template::new(line).unwrap());
    let jobs = Jobs::of(
        &source,
        Format::FlowToml,
        flow.clone(),
        template,
        &mut report,
    );
    assert_eq!(jobs.is_some(), report.errors() == 0);
    jobs.ok_or_else(|| problems(&report))
}

#[test]
fn a_task_without_a_command_is_named_unless_a_template_stands_in() {
    let some = flow(&[Some("make a"), None, None]);
    let said = jobs(&some, None).unwrap_err();
    assert!(
        said.starts_with("f.toml: task 't 1' has no command to run, nor have 1 more"),
        "{said}"
    );
    let jobs_of = jobs(&some, Some("run.sh {name} x")).unwrap();
    assert_eq!(
        jobs_of.job(TaskId(0)).run,
        Run::Words(vec!["make".into(), "a".into()])
    );
    assert_eq!(
        (
            jobs_of.job(TaskId(0)).retries,
            jobs_of.job(TaskId(1)).retries
        ),
        (3, 0)
    );
    assert_eq!(
        jobs_of.job(TaskId(2)).run,
        Run::Shell("run.sh 't 2' x".into())
    );
    let said = jobs(&some, Some("run.sh {nome}")).unwrap_err();
    assert!(
        said.contains("nobody knows {nome}") && said.contains("{name}"),
        "{said}"
    );
}

#[test]
fn executed_tasks_need_no_command() {
    let mut build = FlowBuilder::new();
    let task = build.declare("a", 0).unwrap();
    build.set_done(task);
    let flow = Arc::new(build.finish().unwrap());
    assert_eq!(jobs(&flow, None).unwrap().job(TaskId(0)).run, Run::Nothing);
}

/// The numbers are kept in stores: they must never change.
#[test]
fn fingerprints_are_pinned_and_tell_commands_apart() {
    let flow = flow(&[Some("make a"), Some("make  a"), Some("make a"), None]);
    let jobs = jobs(&flow, Some("make {name}")).unwrap();
    let print = |i: u32| {
        let bytes = jobs.fingerprint(TaskId(i));
        bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()
    };
    assert_eq!(print(0), print(2));
    assert_ne!(print(0), print(1));
    assert_eq!(print(0), "fe8619150ddca2ed031e89d7534ef001");
    assert_eq!(print(3), "0d470b7d327f614611d9484cf384ea6e");
}

#[test]
fn a_template_keeps_every_value_in_one_word() {
    let forms = [
        "{v}",
        "'{v}'",
        "\"{v}\"",
        "'a'{v}\"b\"",
        "-x={v}",
        "\"a 'b' {v}\"",
        "$(printf %s x){v}",
        "'#' \"#\"{v}",
    ];
    let values = [
        "x",
        "",
        "a b",
        "it's",
        "\"",
        "$(touch bad)",
        "`touch bad`",
        "\\",
        "\\\\'",
        "*",
        "a\nb",
        "~",
        "#",
        "{v}",
        "!",
    ];
    let folder = tempfile::tempdir().unwrap();
    for form in forms {
        let template = Template::new(&format!("printf '%s|' {form}")).unwrap();
        assert_eq!(template.to_string(), format!("printf '%s|' {form}"));
        for value in values {
            let line = template.filled(|_| Some(value));
            let output = Command::new("/bin/sh")
                .arg("-c")
                .arg(&line)
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let expected = match form {
                "'a'{v}\"b\"" => format!("a{value}b|"),
                "-x={v}" => format!("-x={value}|"),
                "\"a 'b' {v}\"" => format!("a 'b' {value}|"),
                "$(printf %s x){v}" => format!("x{value}|"),
                "'#' \"#\"{v}" => format!("#|#{value}|"),
                _ => format!("{value}|"),
            };
            assert_eq!(said, expected, "{line}");
        }
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "no value was executed"
    );
    for bad in [
        "x `echo {v}`",
        "x \"$(echo {v})\"",
        "x \"${{y:-{v}}}\"",
        "cat <<E\n{v}\nE",
        "x # {v}",
        "x \\{v}",
    ] {
        assert!(
            matches!(Template::new(bad), Err(TemplateError::Unsafe { .. })),
            "{bad}"
        );
    }
    for bad in ["x {", "x }", "x {a b}", "x {}", "x {a"] {
        assert_eq!(
            Template::new(bad),
            Err(TemplateError::Brace(bad.to_owned()))
        );
    }
    assert_eq!(Template::new(" "), Err(TemplateError::Blank));
    let braces = Template::new("awk '{{print}}' {x}").unwrap();
    assert_eq!(braces.filled(|_| Some("1")), "awk '{print}' 1");
    assert_eq!(braces.filled(|_| None::<&str>), "awk '{print}' {x}");
}

const YAML: &str = r#"pegasus: "5.0"
transformationCatalog:
  transformations:
  - {namespace: n, name: show, sites: [{name: far, pfn: "/far/show"}, {name: local, pfn: "file:///bin/show", type: installed}],
     profiles: {env: {A: 1, B: x y}}}
  - {name: away, sites: [{name: grid, pfn: "http://x/y"}]}
  - {name: boxed, sites: [{name: local, pfn: /bin/x, container: c}]}
jobs:
- {type: job, namespace: n, name: show, id: a, arguments: [-x, "'a b' c", 3], stdin: in, stdout: out, stderr: err,
   profiles: {env: {B: own}, dagman: {RETRY: 2}}}
- {type: job, name: /usr/bin/env, id: b}
"#;

const DAX: &str = r#"<adag>
<executable namespace="n" name="show"><profile namespace="env" key="A">1</profile><profile namespace="env" key="B">x y</profile>
<pfn url="http://x/y" site="far"/><pfn url="file:///bin/show" site="local"/></executable>
<executable name="away"><pfn url="gsiftp://x/y" site="grid"/></executable>
<job id="a" namespace="n" name="show"><argument>-x 'a b' c <file name="3"/></argument><stdin name="in"/><stdout name="out"/>
<stderr name="err"/><profile namespace="env" key="B">o&#119;n</profile><profile namespace="dagman" key="retry">2</profile></job>
<job id="b" name="/usr/bin/env"/></adag>"#;

fn pegasus(name: &str, text: &str) -> Result<Jobs, String> {
    let source = Source::from_text(name, text);
    let mut report = Report::default();
    let (format, flow) = crate::read(&source, None, &mut report).unwrap();
    let jobs = Jobs::of(&source, format, Arc::new(flow), None, &mut report);
    assert_eq!(jobs.is_some(), report.errors() == 0);
    jobs.ok_or_else(|| problems(&report))
}

#[test]
fn pegasus_runs_where_the_transformation_is_a_local_executable() {
    let mut prints = Vec::new();
    for (name, text) in [("f.yml", YAML), ("f.dax", DAX)] {
        let jobs = pegasus(name, text).unwrap();
        let job = jobs.job(TaskId(0));
        let words = ["/bin/show", "-x", "a b", "c", "3"].map(Cow::Borrowed);
        assert_eq!(job.run, Run::Words(words.to_vec()), "{name}");
        let environment = [("A", "1"), ("B", "own")].map(|(k, v)| (k.into(), v.into()));
        assert_eq!(job.environment, environment, "{name}");
        assert_eq!((job.retries, job.inherits_environment), (2, true));
        let path = |name| Some(Cow::Borrowed(Path::new(name)));
        assert_eq!((job.stdin, job.stdout), (path("in"), path("out")));
        assert_eq!(job.stderr, path("err"));
        let words = Run::Words(vec!["/usr/bin/env".into()]);
        assert_eq!(jobs.job(TaskId(1)).run, words);
        prints.push(jobs.fingerprint(TaskId(0)));
    }
    assert_eq!(prints[0], prints[1], "both say the same");
}

#[test]
fn pegasus_transformations_that_are_not_here_are_named() {
    for (name, text, from, to, expected) in [
        (
            "f.yml",
            YAML,
            "name: /usr/bin/env",
            "name: away",
            "'away' of job 'b' is installed elsewhere only",
        ),
        (
            "f.yml",
            YAML,
            "name: /usr/bin/env",
            "name: boxed",
            "'boxed' of job 'b' runs in a container",
        ),
        (
            "f.yml",
            YAML,
            "name: /usr/bin/env",
            "name: none",
            "'none' of job 'b' is in no catalog",
        ),
        (
            "f.yml",
            YAML,
            "name: /usr/bin/env",
            "file: sub.yml",
            "job 'b' is a workflow of its own",
        ),
        (
            "f.yml",
            YAML,
            "namespace: n, name: show, id",
            "namespace: m, name: show, id",
            "'m::show' of job 'a'",
        ),
        (
            "f.dax",
            DAX,
            "name=\"/usr/bin/env\"",
            "name=\"away\"",
            "'away' of job 'b' is installed elsewhere only",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let said = pegasus(name, &text.replace(from, to)).unwrap_err();
        assert!(said.contains(expected), "{said}");
        let line = said.split(':').nth(1).unwrap();
        assert!(line.parse::<u32>().is_ok_and(|line| line > 1), "{said}");
    }
}

#[test]
fn a_catalog_beside_a_pegasus_workflow_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.yml");
    std::fs::write(
        &path,
        "pegasus: '5.0'\njobs:\n- {type: job, name: x, id: a}\n",
    )
    .unwrap();
    let catalog =
        "pegasus: '5.0'\ntransformations:\n- name: x\n  sites:\n  - {name: local, pfn: /opt/x}\n";
    std::fs::write(folder.path().join("transformations.yml"), catalog).unwrap();
    let mut report = Report::default();
    let source = Source::load(&path, &crate::ReadLimits::default(), &mut report).unwrap();
    let (format, flow) = crate::read(&source, None, &mut report).unwrap();
    let jobs = Jobs::of(&source, format, Arc::new(flow), None, &mut report).unwrap();
    assert_eq!(jobs.job(TaskId(0)).run, Run::Words(vec!["/opt/x".into()]));
}

/// A rule that names its category takes what it exports from there, as what it asks for; its text is of the category
/// around it.
#[test]
fn makeflow_exports_are_of_the_category_of_the_rule() {
    let text = "export A\nA=file\nCATEGORY=big\nA=big\nCATEGORY=default\na:\n\trun $A\nb:\n@CATEGORY=big\n\trun $A\n\
                c:\n@SYMBOL=\"big\"\n\trun\nd:\n@CATEGORY=big\n@A=own\n\trun\n";
    let source = Source::from_text("f.makeflow", text);
    let mut report = Report::default();
    let flow = crate::read(&source, Some(Format::Makeflow), &mut report);
    let (format, flow) = flow.unwrap();
    let jobs = Jobs::of(&source, format, Arc::new(flow), None, &mut report).unwrap();
    let found = ["a", "b", "c", "d"].map(|name| {
        let task = jobs.flow().find(name).unwrap();
        assert!(!jobs.flow().command(task).unwrap().contains("big"));
        jobs.job(task).environment[0].1.clone().into_owned()
    });
    assert_eq!(found, ["file", "big", "big", "own"]);
}

#[test]
fn variables_that_makeflow_exports_are_in_the_environment() {
    let text = "A=\"1 2\"\nexport A B\no: \n\trun $A\nexport C=3\np: o\n@A=own\n\trun x\nB=4\nq: p\n\trun\n";
    let source = Source::from_text("f.makeflow", text);
    let mut report = Report::default();
    let flow = crate::read(&source, Some(Format::Makeflow), &mut report);
    let (format, flow) = flow.unwrap();
    let jobs = Jobs::of(&source, format, Arc::new(flow), None, &mut report).unwrap();
    let environment = |name: &str| {
        let job = jobs.job(jobs.flow().find(name).unwrap());
        let pairs = job.environment.iter().map(|(k, v)| format!("{k}={v}"));
        assert!(job.inherits_environment);
        pairs.collect::<Vec<_>>()
    };
    assert_eq!(environment("o"), ["A=1 2"]);
    assert_eq!(environment("p"), ["A=own", "C=3"]);
    assert_eq!(environment("q"), ["A=1 2", "B=4", "C=3"]);
    let [p, q] = ["p", "q"].map(|n| jobs.fingerprint(jobs.flow().find(n).unwrap()));
    assert_ne!(p, q);
}

/// A server hands jobs out from several threads.
#[test]
fn jobs_can_be_shared_among_threads() {
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_shared(&jobs(&flow(&[Some("x")]), None).unwrap());
}
