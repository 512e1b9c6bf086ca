//! What nodes of DAGMan files run, with real shells and programs; and what is refused before anything runs.

#![cfg(unix)]

use cairn_dag::{Flow, TaskId};
use cairn_formats::{AbortOn, Format, Job, Jobs, ReadLimits, Report, Run, Source, Template, read};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A folder with files in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, a program if it begins as one.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        if text.starts_with("#!") {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| format!("{name}: {e}"))
    }

    fn read(&self, dag: &str) -> (Source, Arc<Flow>) {
        let mut report = Report::default();
        let source = Source::load(&self.path(dag), &ReadLimits::default(), &mut report).unwrap();
        let flow = read(&source, Some(Format::Dagman), &mut report);
        let (_, flow) = flow.unwrap_or_else(|| panic!("{:?}", report.problems()));
        (source, Arc::new(flow))
    }

    fn jobs(&self, dag: &str) -> (Option<Jobs>, Report) {
        let (source, flow) = self.read(dag);
        let mut report = Report::default();
        let jobs = Jobs::of(&source, Format::Dagman, flow, None, &mut report);
        assert_eq!(jobs.is_some(), report.errors() == 0);
        (jobs, report)
    }

    fn clean_jobs(&self, dag: &str) -> Jobs {
        let (jobs, report) = self.jobs(dag);
        assert_eq!(report.problems(), [], "{dag}");
        jobs.unwrap()
    }
}

/// Runs a job as a runner would, and gives its exit code.
fn run(job: &Job<'_>) -> i32 {
    let mut command = match &job.run {
        Run::Nothing => return 0,
        Run::Shell(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(&**line);
            command
        }
        Run::Words(words) => {
            // A path with a slash counts from the job's directory.
            let program = match &job.directory {
                Some(directory) if words[0].contains('/') => directory.join(&*words[0]),
                _ => PathBuf::from(&*words[0]),
            };
            let mut command = Command::new(program);
            command.args(words[1..].iter().map(|w| &**w));
            command
        }
    };
    if !job.inherits_environment {
        command.env_clear();
    }
    command.envs(job.environment.iter().map(|(k, v)| (&**k, &**v)));
    let base = job.directory.as_deref().unwrap_or(Path::new("."));
    command.current_dir(base).stdin(Stdio::null());
    if let Some(path) = &job.stdin {
        command.stdin(File::open(base.join(path)).unwrap());
    }
    if let Some(path) = &job.stdout {
        command.stdout(File::create(base.join(path)).unwrap());
    }
    if let Some(path) = &job.stderr {
        command.stderr(File::create(base.join(path)).unwrap());
    }
    command.status().unwrap().code().unwrap_or(-1)
}

const SHOW: &str = "#!/bin/sh\nfor a; do printf '[%s]' \"$a\"; done\nprintf ' A=%s B=%s H=%s' \"$A\" \"$B\" \"${HOME-none}\"\ncat\n\
    pwd -P >&2\n";

#[test]
fn submit_files_with_arguments_environment_directories_and_files() {
    let folder = Folder::new(&[
        ("show", SHOW),
        ("in.txt", " in"),
        ("deep/run/in.txt", " deep"),
        (
            "old.sub",
            "# a comment\nexecutable = show\narguments = one \\\"two\\\" $(JOB)-$(RETRY)-$(Process)\n\
             environment = A=1 x; B=2\ninput = in.txt\noutput = $(JOB).out\nerror = $(JOB).err\nlog = x.log\n\
             +Owner = \"me\"\nqueue\n",
        ),
        (
            "deep/new.sub",
            "universe = local\nexecutable = ../show\ninitialdir = run\narguments = \"one 'two three' \"\"q\"\" \\\n 'it''s'\"\n\
             environment = \"A='x y' B=\"\"q\"\"\"\ngetenv = true\ninput = in.txt\noutput = both\nerror = both\nqueue 1\n",
        ),
        (
            "x.dag",
            "JOB a old.sub\nJOB b new.sub DIR deep\nPARENT a CHILD b\nRETRY a 3 UNLESS-EXIT 7\n\
             ABORT-DAG-ON a 4\nABORT-DAG-ON b 5 RETURN 1\n",
        ),
    ]);
    let jobs = folder.clean_jobs("x.dag");
    let [a, b] = [TaskId(0), TaskId(1)];
    let job = jobs.job(a);
    assert_eq!((job.retries, job.never_retry_on), (3, Some(7)));
    let abort = AbortOn {
        exit: 4,
        returned: 4,
    };
    assert_eq!(job.abort_on, Some(abort));
    assert_eq!(jobs.job(b).abort_on.map(|a| a.returned), Some(1));
    assert!(!job.inherits_environment && jobs.job(b).inherits_environment);
    assert_eq!(run(&jobs.attempt(a, 2)), 0);
    assert_eq!(
        folder.text("a.out"),
        "[one][\"two\"][a-2-0] A=1 x B=2 H=none in"
    );
    let home = folder.path("").canonicalize().unwrap();
    assert_eq!(folder.text("a.err"), format!("{}\n", home.display()));
    let job = jobs.job(b);
    assert_eq!(job.stdout, job.stderr);
    assert_eq!(job.directory.as_deref(), Some(&*folder.path("deep/run")));
    let job = Job {
        stderr: Some(PathBuf::from("err").into()),
        ..job
    };
    assert_eq!(run(&job), 0);
    let said = folder.text("deep/run/both");
    assert!(
        said.starts_with("[one][two three][\"q\"][it's] A=x y B=\"q\""),
        "{said}"
    );
    assert!(said.ends_with(" deep"), "{said}");
}

#[test]
fn variables_go_before_the_description_unless_they_are_appended() {
    let folder = Folder::new(&[
        (
            "x.sub",
            "size = 5\nexecutable = /bin/echo\narguments = $(size) $(colour:red) $(extra)\nqueue\n",
        ),
        (
            "x.dag",
            "JOB a x.sub\nJOB b x.sub\nJOB c {\nexecutable = /bin/echo\narguments = $(size)\n}\nJOB d x.sub\n\
             VARS ALL_NODES size=\"1\" extra=\"all\" +Attr=\"x\"\nVARS a colour=\"blue\" extra=\"own\"\n\
             VARS b APPEND size=\"9\"\nVARS d PREPEND size=\"8\" arguments=\"never\"\n",
        ),
    ]);
    let jobs = folder.clean_jobs("x.dag");
    let words = |i: u32| match jobs.job(TaskId(i)).run {
        Run::Words(words) => words.join(" "),
        other => panic!("{other:?}"),
    };
    assert_eq!(words(0), "/bin/echo 5 blue own");
    assert_eq!(words(1), "/bin/echo 9 red all");
    assert_eq!(words(2), "/bin/echo 1");
    assert_eq!(words(3), "/bin/echo 5 red all");
}

#[test]
fn undefined_macros_are_empty_and_said_aloud_once() {
    let folder = Folder::new(&[
        (
            "x.sub",
            "executable = /bin/echo\narguments = a$(nothing)b\nrequirements = x\nqueue\n",
        ),
        ("x.dag", "JOB a x.sub\nJOB b x.sub\n"),
    ]);
    let (jobs, report) = folder.jobs("x.dag");
    let said: Vec<&str> = report.problems().iter().map(|p| &p.message[..]).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].ends_with("no effect: requirements"), "{said:?}");
    assert!(said[1].contains("$(nothing)"), "{said:?}");
    let expected = Run::Words(vec!["/bin/echo".into(), "ab".into()]);
    assert_eq!(jobs.unwrap().job(TaskId(1)).run, expected);
}

/// The outcome of a node for every outcome of its parts: its exit code, and what ran.
#[test]
fn pre_and_post_scripts_decide_as_in_dagman() {
    let part = "#!/bin/sh\nprintf '%s ' \"${0##*/}\" \"$@\" >> log\ncase $1 in kill) kill -9 $$ ;; *) exit $1 ;; esac\n";
    let cases: [(&str, &str, &str, i32, &str); 9] = [
        // PRE, job, POST (empty: none), exit, log
        ("0", "0", "", 0, "pre 0 n job 0 "),
        ("", "3", "", 3, "job 3 "),
        ("4", "0", "0", 4, "pre 4 n "),
        ("5", "0", "0", 0, "pre 5 n "),
        ("0", "3", "0", 0, "pre 0 n job 3 post 0 n 3 0 1 2 False "),
        ("0", "0", "6", 6, "pre 0 n job 0 post 6 n 0 0 1 2 True "),
        ("", "0", "0", 0, "job 0 post 0 n 0 -1 1 2 True "),
        (
            "0",
            "kill",
            "7",
            7,
            "pre 0 n job kill post 7 n -9 0 1 2 False ",
        ),
        ("0", "NOOP", "8", 8, "pre 0 n post 8 n 0 0 1 2 True "),
    ];
    for (pre, job, post, exit, log) in cases {
        let mut dag = match job {
            "NOOP" => "JOB n none.sub NOOP\n".to_owned(),
            _ => format!("JOB n {{\nexecutable = job\narguments = {job}\n}}\n"),
        };
        if !pre.is_empty() {
            dag += &format!("SCRIPT PRE n pre {pre} $Job\nPRE_SKIP n 5\n");
        }
        if !post.is_empty() {
            dag += &format!(
                "SCRIPT POST ALL_NODES post 99\nSCRIPT POST n ./post {post} $JOB $RETURN $PRE_SCRIPT_RETURN \\\n \
                 $RETRY $MAX_RETRIES $SUCCESS\n"
            );
        }
        dag += "RETRY n 2\n";
        let folder = Folder::new(&[
            ("x.dag", &dag),
            ("pre", part),
            ("job", part),
            ("post", part),
        ]);
        let jobs = folder.clean_jobs("x.dag");
        let job = jobs.attempt(TaskId(0), 1);
        assert_eq!(run(&job), exit, "{dag}");
        assert_eq!(folder.text("log"), log, "{dag}");
    }
}

#[test]
fn a_node_with_scripts_keeps_its_directory_files_and_environment() {
    let folder = Folder::new(&[
        ("deep/show", SHOW),
        ("deep/in.txt", " in"),
        ("deep/run/in.txt", " deep"),
        ("deep/after", "#!/bin/sh\necho \"$1 $HOME\" > after.txt\n"),
        (
            "x.dag",
            "JOB a {\nexecutable = show\narguments = \"a 'b c' $(JOB)\"\nenvironment = \"A='$(JOB) x'\"\n\
             initialdir = run\ninput = in.txt\noutput = a b.out\nerror = a.err\n} DIR deep\n\
             SCRIPT POST a after $RETURN\n",
        ),
    ]);
    let jobs = folder.clean_jobs("x.dag");
    assert_eq!(run(&jobs.job(TaskId(0))), 0);
    assert_eq!(
        folder.text("deep/run/a b.out"),
        "[a][b c][a] A=a x B= H=none deep"
    );
    let home = std::env::var("HOME").unwrap_or_default();
    assert_eq!(folder.text("deep/after.txt"), format!("0 {home}\n"));
}

#[test]
fn splices_have_their_own_directories_variables_and_categories() {
    let folder = Folder::new(&[
        (
            "x.dag",
            "JOB a a.sub\nSPLICE s s.dag DIR sub\nCATEGORY a heavy\nMAXJOBS heavy 2\nMAXJOBS all 9\n",
        ),
        ("a.sub", "executable = /bin/true\nqueue\n"),
        (
            "sub/s.dag",
            "JOB in in.sub\nJOB by x\nVARS ALL_NODES v=\"$(JOB)\"\nSUBMIT-DESCRIPTION x {\nexecutable = /bin/echo\narguments = $(v)\n}\n\
             CATEGORY in heavy\nCATEGORY by +all\nMAXJOBS heavy 1\n",
        ),
        ("sub/in.sub", "executable = in\narguments = $(v)\nqueue\n"),
    ]);
    let jobs = folder.clean_jobs("x.dag");
    let flow = jobs.flow();
    let [inner, by] = ["s+in", "s+by"].map(|n| flow.find(n).unwrap());
    let expected = Run::Words(vec!["./in".into(), "s+in".into()]);
    assert_eq!(jobs.job(inner).run, expected);
    assert_eq!(
        jobs.job(inner).directory.as_deref(),
        Some(&*folder.path("sub"))
    );
    let expected = Run::Words(vec!["/bin/echo".into(), "s+by".into()]);
    assert_eq!(jobs.job(by).run, expected);
    let pools: Vec<_> = flow.dag().tasks().flat_map(|t| flow.pools(t)).collect();
    assert_eq!(pools, [("heavy", 1), ("s+heavy", 1), ("all", 1)]);
    let mut limits: Vec<_> = flow.pool_limits().collect();
    limits.sort_unstable();
    assert_eq!(limits, [("all", 9), ("heavy", 2), ("s+heavy", 1)]);
}

/// Each thing that is not run here is refused by name, at its line, with a cure.
#[test]
fn what_is_not_run_here_is_refused_by_name_and_line() {
    let good = "executable = /bin/true\nqueue\n";
    let sub = |lines: &str| format!("JOB a {{\nexecutable = /bin/true\n{lines}\n}}\n");
    let cases = [
        ("SUBDAG EXTERNAL s y.dag\n".to_owned(), 1, "'s' is a SUBDAG"),
        (
            "JOB a a.sub\nFINAL f a.sub\n".to_owned(),
            2,
            "'f' is a FINAL node",
        ),
        (
            "JOB a a.sub\nSERVICE f a.sub\n".to_owned(),
            2,
            "'f' is a SERVICE",
        ),
        (
            "JOB a a.sub\nPROVISIONER f a.sub\n".to_owned(),
            2,
            "'f' is a PROVISIONER",
        ),
        (
            "JOB a a.sub\nSCRIPT HOLD a x\n".to_owned(),
            2,
            "SCRIPT HOLD",
        ),
        (
            "JOB a a.sub\nSCRIPT DEFER 1 2 PRE a x\n".to_owned(),
            2,
            "SCRIPT DEFER",
        ),
        ("JOB a a.sub\nTOLERANCE a 3\n".to_owned(), 2, "TOLERANCE"),
        ("REJECT\nJOB a a.sub\n".to_owned(), 1, "REJECT"),
        (
            "\nJOB a none.sub\n".to_owned(),
            2,
            "none.sub': there is no such file",
        ),
        ("JOB a y.condor.sub\n".to_owned(), 1, "nested dag"),
        (sub("universe = docker"), 1, "universe 'docker'"),
        (sub("universe = $(u:grid)"), 1, "universe 'grid'"),
        (sub("container_image = x.sif"), 1, "container_image"),
        (sub("queue 2"), 1, "queues several jobs"),
        (sub("queue\nqueue"), 1, "queues several jobs"),
        (sub("queue x in (1, 2)"), 1, "queues several jobs"),
        (sub("hold = True"), 1, "on hold"),
        (sub("success_exit_code = 3"), 1, "success_exit_code"),
        (
            sub("transfer_input_files = https://x.org/y"),
            1,
            "names a URL",
        ),
        (sub("transfer_output_remaps = \"a=b\""), 1, "stay where"),
        (
            sub("if defined x\ny = 1\nendif"),
            1,
            "'if defined x' is not understood",
        ),
        (
            sub("arguments = $ENV(HOME)"),
            1,
            "$ENV(HOME) is not replaced",
        ),
        (sub("arguments = $$(OpSys)"), 1, "$$(OpSys) is not replaced"),
        (sub("arguments = \"a 'b\""), 1, "quotes in 'arguments'"),
        (sub("environment = \"A\""), 1, "'A' in 'environment'"),
        (
            sub("x = $(y)\ny = $(x)\narguments = $(x)"),
            1,
            "contain each other",
        ),
        (
            "JOB a {\narguments = x\n}\n".to_owned(),
            1,
            "no 'executable'",
        ),
    ];
    for (dag, line, message) in cases {
        let folder = Folder::new(&[
            ("x.dag", &dag),
            ("a.sub", good),
            ("y.dag", ""),
            ("y.condor.sub", good),
        ]);
        let (_, report) = folder.jobs("x.dag");
        let mut problems = report.problems().iter();
        let found = problems.find(|p| p.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{dag}: {:?}", report.problems()));
        assert_eq!(found.place.line, line, "{dag}");
        assert!(
            !found.help.is_empty() && found.place.file.ends_with("x.dag"),
            "{dag}"
        );
        assert!(report.errors() > 0, "{dag}");
    }
    // In a submit file the line of that file is named.
    for (text, line, message) in [
        ("executable = x\n", 0, "no 'queue'"),
        ("executable = x\n\nqueue 3\n", 3, "queues several jobs"),
        (
            "executable = x\nuniverse = grid\nqueue\n",
            2,
            "universe 'grid'",
        ),
        (
            "include : other\nexecutable = x\nqueue\n",
            1,
            "'include : other' is not understood",
        ),
    ] {
        let folder = Folder::new(&[("x.dag", "JOB a a.sub\n"), ("a.sub", text)]);
        let (_, report) = folder.jobs("x.dag");
        let problem = &report.problems()[0];
        assert!(problem.message.contains(message), "{problem:?}");
        assert!(problem.place.file.ends_with("a.sub"), "{problem:?}");
        assert_eq!(problem.place.line, line, "{problem:?}");
    }
}

#[test]
fn executed_nodes_need_no_submit_file_and_a_template_stands_for_all() {
    let folder = Folder::new(&[
        (
            "x.dag",
            "JOB a none.sub DONE\nJOB b b.sub\nPARENT a CHILD b\n",
        ),
        ("b.sub", "executable = /bin/true\nqueue\n"),
    ]);
    let jobs = folder.clean_jobs("x.dag");
    assert_eq!(jobs.job(TaskId(0)).run, Run::Nothing);
    let (source, flow) = folder.read("x.dag");
    let template = Template::new("prog {name}").unwrap();
    let mut report = Report::default();
    let jobs = Jobs::of(&source, Format::Dagman, flow, Some(template), &mut report).unwrap();
    let expected = Run::Words(vec!["prog".into(), "b".into()]);
    assert_eq!(jobs.job(TaskId(1)).run, expected);
}

/// The number changes with everything that is run, with nothing else, and not from version to version.
#[test]
fn fingerprints_of_nodes_follow_what_they_run() {
    let print = |dag: &str, sub: &str| {
        let folder = Folder::new(&[("x.dag", dag), ("a.sub", sub)]);
        let bytes = folder.clean_jobs("x.dag").fingerprint(TaskId(0));
        bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()
    };
    let (dag, sub) = (
        "JOB a a.sub\n",
        "executable = x\narguments = 1 $(v:2)\nqueue\n",
    );
    let first = print(dag, sub);
    assert_eq!(first, "79304c99a9df3deb91540a8ea720237b");
    for (dag, sub) in [
        ("JOB a a.sub\nRETRY a 3\nPRIORITY a 4\n", sub),
        (
            dag,
            "# c\narguments = 1 2\nexecutable = x\nlog = l\nrequest_cpus = 2\nqueue 1\n",
        ),
    ] {
        assert_eq!(print(dag, sub), first, "{dag}{sub}");
    }
    let mut seen = vec![first];
    for (dag, sub) in [
        ("JOB a a.sub\nVARS a v=\"3\"\n", sub),
        ("JOB a a.sub\nSCRIPT PRE a x\n", sub),
        ("JOB a a.sub\nSCRIPT POST a x\n", sub),
        ("JOB a a.sub DIR .\n", sub),
        ("JOB a a.sub NOOP\n", sub),
        (dag, "executable = x\narguments = 12\nqueue\n"),
        (
            dag,
            "executable = x\narguments = 1 2\ngetenv = true\nqueue\n",
        ),
        (
            dag,
            "executable = x\narguments = 1 2\nenvironment = A=1\nqueue\n",
        ),
        (dag, "executable = x\narguments = 1 2\noutput = A\nqueue\n"),
        (dag, "executable = x\narguments = 1 2\nerror = A\nqueue\n"),
        (
            dag,
            "executable = x\narguments = 1 2\ninitialdir = A\nqueue\n",
        ),
    ] {
        let print = print(dag, sub);
        assert!(!seen.contains(&print), "{dag}{sub}");
        seen.push(print);
    }
}
