use super::*;
use std::path::{Path, PathBuf};

fn shell(folder: &Path, line: &str) -> Program {
    Program::new(Line::Shell(line.to_owned()), folder.join("logs/x.log"))
}

fn run(program: &Program) -> Exited {
    let mut all = Processes::new().unwrap();
    all.start(7, program).unwrap();
    wait(&mut all)
}

fn wait(all: &mut Processes) -> Exited {
    let mut ended = Vec::new();
    let begin = Instant::now();
    while ended.is_empty() {
        assert!(begin.elapsed().as_secs() < 60, "it never ended");
        all.wait(Duration::from_millis(100), &mut ended).unwrap();
    }
    ended.pop().unwrap()
}

#[test]
fn exits_and_signals_are_told_apart_and_output_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&shell(folder.path(), "echo out; echo err >&2; exit 3"));
    assert_eq!((ended.key, ended.exit), (7, Exit::Code(3)));
    let path = ended.log.path.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "out\nerr\n");
    assert_eq!(tail(&path, 1).unwrap(), "err");
    assert_eq!(tail(&path, 9).unwrap(), "out\nerr");
    let ended = run(&shell(folder.path(), "kill -9 $$"));
    assert_eq!(ended.exit, Exit::Signal(9));
}

#[test]
fn without_output_there_is_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&shell(folder.path(), "true"));
    assert_eq!(
        (ended.exit, ended.log.path, ended.log.bytes),
        (Exit::Code(0), None, 0)
    );
    assert!(!folder.path().join("logs").exists());
}

#[test]
fn much_output_goes_to_the_file_whole() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&shell(
        folder.path(),
        "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done",
    ));
    let written = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
    assert_eq!(written.len() as u64, ended.log.bytes);
    assert_eq!(written.lines().count(), 20000);
    assert!(written.ends_with("line 19999\n"));
}

#[test]
fn nobody_waits_for_grandchildren_that_hold_the_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    let ended = run(&shell(folder.path(), "sleep 30 & echo $!"));
    assert!(begin.elapsed().as_secs() < 20);
    let pid = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

/// Waits until a process has made the file; none ends meanwhile.
fn wait_for(all: &mut Processes, file: &Path) {
    let (begin, mut none) = (Instant::now(), Vec::new());
    while !file.exists() {
        assert!(begin.elapsed().as_secs() < 60, "{}", file.display());
        all.wait(Duration::from_millis(5), &mut none).unwrap();
    }
    assert!(none.is_empty());
}

#[test]
fn a_group_ends_whole_also_when_it_will_not_listen() {
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let line = format!(
        "sleep 100 & echo $!; trap '' TERM; : > {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let mut all = Processes::new().unwrap();
    all.start(1, &shell(folder.path(), &line)).unwrap();
    let mut none = Vec::new();
    wait_for(&mut all, &ready);
    assert!(all.len() == 1);
    all.end(1);
    all.wait(Duration::from_millis(200), &mut none).unwrap();
    assert!(none.is_empty(), "it does not listen");
    let ended = wait(&mut all);
    assert_eq!(ended.exit, Exit::Signal(9));
    assert!(all.is_empty());
    let pid = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
    let gone = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let begin = Instant::now();
    // A zombie that nobody waited for yet is gone too.
    while gone().is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(begin.elapsed().as_secs() < 10, "the grandchild lives");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn place_variables_and_files_are_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), "from in\n").unwrap();
    let program = Program {
        environment: vec![("ASKED".into(), Some("a b".into())), ("HOME".into(), None)],
        directory: Some(folder.path().to_owned()),
        stdin: Some("in".into()),
        stdout: Some("out".into()),
        stderr: Some("err".into()),
        ..shell(
            folder.path(),
            "cat; pwd; echo \"$ASKED-${HOME-none}\"; echo e >&2",
        )
    };
    let ended = run(&program);
    assert_eq!((ended.exit, ended.log.path), (Exit::Code(0), None));
    let place = folder.path().canonicalize().unwrap();
    let printed = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(printed, format!("from in\n{}\na b-none\n", place.display()));
    let printed = std::fs::read_to_string(folder.path().join("err")).unwrap();
    assert_eq!(printed, "e\n");
    let both = Program {
        stdout: Some("both".into()),
        stderr: Some("both".into()),
        ..program
    };
    run(&both);
    let printed = std::fs::read_to_string(folder.path().join("both")).unwrap();
    assert!(printed.ends_with("a b-none\ne\n"), "{printed}");
}

#[test]
fn plain_commands_need_no_shell_and_are_found_along_their_own_path() {
    let folder = tempfile::tempdir().unwrap();
    let words = |words: &[&str]| {
        let words = words.iter().map(ToString::to_string).collect();
        Program::new(Line::Words(words), folder.path().join("log"))
    };
    let ended = run(&words(&["echo", "$HOME", "a  b"]));
    let printed = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
    assert_eq!(printed, "$HOME a  b\n");
    let tool = folder.path().join("only-here");
    std::fs::write(&tool, "#!/bin/sh\nexit 9\n").unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut all = Processes::new().unwrap();
    let missing = all.start(1, &words(&["only-here"])).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    let path = folder.path().to_str().unwrap().to_owned();
    let found = Program {
        environment: vec![("PATH".into(), Some(path))],
        ..words(&["only-here"])
    };
    assert_eq!(run(&found).exit, Exit::Code(9));
    std::fs::write(&tool, "exit $1\n").unwrap();
    let no_program = tool.to_str().unwrap();
    assert_eq!(
        run(&words(&[no_program, "5"])).exit,
        Exit::Code(5),
        "a script"
    );
    assert!(all.start(1, &words(&[])).is_err());
    assert!(all.is_empty());
}

#[test]
fn survivors_are_found_by_their_mark_and_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("mark-{}", std::process::id());
    let marked = |value: &str, line: &str| Program {
        environment: vec![("CAIRN_TEST_MARK".into(), Some(value.into()))],
        ..shell(folder.path(), line)
    };
    let mut all = Processes::new().unwrap();
    all.start(1, &marked(&mark, "sleep 100 & setsid sleep 100 & wait"))
        .unwrap();
    all.start(
        2,
        &marked(&mark, "trap '' TERM; while :; do sleep 0.02; done"),
    )
    .unwrap();
    all.start(3, &marked("another", "sleep 100; true")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let many = end_survivors("CAIRN_TEST_MARK", &mark, Duration::from_millis(200)).unwrap();
    assert!(many >= 4, "{many}");
    let mut ended = Vec::new();
    while all.len() > 1 {
        all.wait(Duration::from_secs(1), &mut ended).unwrap();
    }
    let mut keys: Vec<u64> = ended.iter().map(|e| e.key).collect();
    keys.sort_unstable();
    assert_eq!(keys, [1, 2]);
    all.kill_all();
    assert_eq!(wait(&mut all).key, 3);
}

#[test]
fn many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Processes::new().unwrap();
    let mut ended = Vec::new();
    for key in 0..200 {
        let program = Program::new(
            Line::Shell(format!("echo {key}; exit {}", key % 7)),
            folder.path().join(format!("{key}.log")),
        );
        all.start(key, &program).unwrap();
        while all.len() > 8 {
            all.wait(Duration::from_secs(1), &mut ended).unwrap();
        }
    }
    while !all.is_empty() {
        all.wait(Duration::from_secs(1), &mut ended).unwrap();
    }
    ended.sort_by_key(|e| e.key);
    assert_eq!(ended.len(), 200);
    for (key, ended) in ended.iter().enumerate() {
        assert_eq!(
            (ended.key, ended.exit),
            (key as u64, Exit::Code(key as i32 % 7))
        );
        let printed = std::fs::read_to_string(ended.log.path.as_ref().unwrap()).unwrap();
        assert_eq!(printed, format!("{key}\n"));
    }
}

/// Processes in the folder of this one are started otherwise than those elsewhere: they must not see a difference.
#[test]
fn here_and_elsewhere_are_started_alike() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    for (name, text) in [
        ("say", "#!/bin/sh\necho \"$0 $*\"; env"),
        ("plain", "echo \"$0 $*\"; env"),
    ] {
        std::fs::write(own.join(name), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(own.join(name), mode).unwrap();
    }
    let here = std::env::current_dir().unwrap();
    let path = |p: &Path| p.to_str().unwrap().to_owned();
    let lines = [
        Line::Shell("echo a  'b c'; env; exit 3".to_owned()),
        Line::Words(["env".to_owned()].into()),
        Line::Words(["say".to_owned(), "x y".to_owned(), String::new()].into()),
        Line::Words(["plain".to_owned(), "x y".to_owned()].into()),
        Line::Words([path(&own.join("plain")), "z".to_owned()].into()),
        Line::Words(["nowhere-to-be-found".to_owned()].into()),
        Line::Words(["no\0such".to_owned()].into()),
        Line::Words(Vec::new()),
    ];
    let variable = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
    let environments = [
        vec![],
        vec![
            variable("A", Some("1")),
            variable("A", None),
            variable("A", Some("2=3")),
        ],
        vec![
            variable("A", Some("1")),
            variable("HOME", None),
            variable("A", None),
        ],
        vec![variable(
            "PATH",
            Some(&format!("/nowhere:{}:/usr/bin:/bin", path(&own))),
        )],
        vec![variable("PATH", Some("/nowhere"))],
        vec![variable("PATH", Some(":/usr/bin:/bin"))],
        vec![variable("PATH", None), variable("EMPTY", Some(""))],
        vec![variable("ZERO", Some("a\0b"))],
    ];
    let mut ran = 0;
    for line in lines {
        for environment in &environments {
            for is_bare in [false, true] {
                let all = |directory: Option<PathBuf>| {
                    let mut program = Program::new(line.clone(), folder.path().join("x.log"));
                    program.environment = environment.clone();
                    program.is_bare = is_bare;
                    program.directory = directory;
                    let mut all = Processes::new().unwrap();
                    all.start(1, &program).map_err(|e| e.kind()).map(|()| {
                        let ended = wait(&mut all);
                        let printed = ended
                            .log
                            .path
                            .map(|log| std::fs::read_to_string(log).unwrap());
                        let mut printed: Vec<String> = printed
                            .unwrap_or_default()
                            .lines()
                            .map(str::to_owned)
                            .collect();
                        // The shell adds where it is; the order of variables is nobody's promise.
                        printed.retain(|l| {
                            !["PWD=", "OLDPWD=", "_="]
                                .iter()
                                .any(|own| l.starts_with(own))
                        });
                        printed.sort();
                        (ended.exit, printed)
                    })
                };
                let (near, far) = (all(None), all(Some(here.clone())));
                assert_eq!(near, far, "{line:?} {environment:?} {is_bare}");
                ran += usize::from(near.is_ok());
            }
        }
    }
    assert!((30..100).contains(&ran), "{ran} ran");
}

/// The end of a pipe is no end of a process: it may go on in silence, be asked to end then, and has its time for it.
#[test]
fn whoever_closes_its_output_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let closing = "echo said; exec >&- 2>&-;";
    for wait_first in ["", "sleep 0.02;"] {
        let begin = Instant::now();
        let line = format!("{wait_first} {closing} sleep 0.3; exit 5");
        let ended = run(&shell(folder.path(), &line));
        assert_eq!(ended.exit, Exit::Code(5), "{line}");
        assert!(begin.elapsed() >= Duration::from_millis(300), "{line}");
        let printed = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
        assert_eq!(printed, "said\n");
        let ready = folder.path().join(format!("ready{}", wait_first.len()));
        let line = format!(
            "trap 'sleep 0.2; exit 6' TERM; {wait_first} {closing} : > {}; sleep 30 & wait",
            ready.display()
        );
        let mut all = Processes::new().unwrap();
        all.start(1, &shell(folder.path(), &line)).unwrap();
        wait_for(&mut all, &ready);
        // The end of its output is seen, and time passes.
        let mut none = Vec::new();
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until {
            all.wait(Duration::from_millis(10), &mut none).unwrap();
        }
        assert!(none.is_empty());
        all.end(1);
        let ended = wait(&mut all);
        assert_eq!(ended.exit, Exit::Code(6), "{line}");
    }
}

/// Without descriptors for it a process is asked again and again: nobody is forgotten.
#[test]
fn processes_end_also_where_descriptors_run_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Processes::new().unwrap();
    for key in 0..3 {
        let line = format!("sleep 0.{key}5; echo {key}; exit {key}");
        let mut program = shell(folder.path(), &line);
        program.log = folder.path().join(format!("{key}.log"));
        all.start(key, &program).unwrap();
        // As if there had been none when it was to be watched.
        let sign = all.unheard.pop_back().unwrap();
        all.unseen.push(sign);
    }
    let mut ended = Vec::new();
    let begin = Instant::now();
    while ended.len() < 3 {
        assert!(begin.elapsed().as_secs() < 30, "they never ended");
        all.wait(Duration::from_secs(1), &mut ended).unwrap();
    }
    ended.sort_by_key(|e| e.key);
    let exits: Vec<_> = ended.iter().map(|e| (e.key, e.exit)).collect();
    assert_eq!(exits, [0, 1, 2].map(|k| (k, Exit::Code(k as i32))));
    assert!(ended.iter().all(|e| e.log.bytes == 2) && all.is_empty());
}

/// Whoever the group's first left behind is killed with it, however closely its end follows that of its output.
#[test]
fn of_a_group_that_was_asked_to_end_nobody_stays() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let ready = folder.path().join(format!("{round}.ready"));
        let line = format!(
            "(trap '' TERM; while :; do sleep 0.05; done) >/dev/null 2>&1 & echo $!; : > {}; exec sleep 30",
            ready.display()
        );
        let mut program = shell(folder.path(), &line);
        program.log = folder.path().join(format!("{round}.log"));
        let mut all = Processes::new().unwrap();
        all.start(1, &program).unwrap();
        wait_for(&mut all, &ready);
        all.end(1);
        let ended = wait(&mut all);
        let pid = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        let begin = Instant::now();
        while stat().is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(begin.elapsed().as_secs() < 20, "round {round}: it lives");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whoever hears of no ends takes leave of processes all the same, and no process inherits that it does not.
#[test]
fn a_thread_that_hears_no_ends_leaves_processes_their_signals() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = "grep SigBlk /proc/self/status";
    for directory in [None, Some(folder.path().to_owned())] {
        let mut program = shell(folder.path(), blocked);
        program.directory = directory;
        let deaf = std::thread::spawn(move || {
            hear_no_ends();
            let own = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let ended = run(&program);
            let after = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let mask = |text: &str| {
                text.lines()
                    .find(|l| l.starts_with("SigBlk"))
                    .map(str::to_owned)
            };
            assert_eq!(mask(&own).as_deref(), Some("SigBlk:\t0000000000010000"));
            assert_eq!(mask(&own), mask(&after));
            ended
        });
        let ended = deaf.join().unwrap();
        let printed = std::fs::read_to_string(ended.log.path.unwrap()).unwrap();
        assert_eq!(printed, "SigBlk:\t0000000000000000\n");
    }
}

/// So large a stack is nowhere to be had, and with it no thread.
fn no_thread() -> Builder {
    Builder::new().stack_size(1 << 60)
}

#[test]
fn where_there_is_no_thread_work_is_done_here() {
    let here = std::thread::current().id();
    let mut times = 0;
    let done_by = apart_by(no_thread(), || {
        times += 1;
        std::thread::current().id()
    });
    assert_eq!((done_by, times), (here, 1));
    assert_ne!(apart(|| std::thread::current().id()), here);
}

#[test]
fn where_there_is_no_thread_the_cure_is_told() {
    let error = beside_by(no_thread(), || ()).unwrap_err();
    assert!(error.to_string().contains("ulimit -u"), "{error}");
    assert_eq!(beside(|| 7).unwrap().join().unwrap(), 7);
}

#[test]
fn a_panic_apart_is_one_here() {
    let panicked = std::panic::catch_unwind(|| apart(|| panic!("as it was")));
    let told = panicked.unwrap_err();
    assert_eq!(told.downcast_ref::<&str>(), Some(&"as it was"));
}
