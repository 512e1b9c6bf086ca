//! Workers among strange servers and strange tasks: what is their owner's stays their owner's, and no result goes astray.

mod common;

use common::served::{Process, binary, serve, until};
use common::stub::{Manner, Stub, lease};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn skip(what: &str, why: &str) {
    let text = format!("SKIPPED: {what}: {why}\n");
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

/// A worker with its place in `w`, for the server of a test.
fn worker(folder: &Path, stub: &Stub, more: &[&str]) -> Command {
    std::fs::write(folder.join("token"), "a".repeat(64)).unwrap();
    let mut command = binary(folder);
    command
        .args(["work", &stub.url, "--token-file", "token", "-j", "1"])
        .args(["--dir", "w"])
        .args(more);
    command
}

/// It works to its end: what it says, and its exit code.
fn worked(mut command: Command) -> (String, i32) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (said, output.status.code().unwrap_or(-1))
}

fn files(folder: &Path, end: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let all = all.map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|e| e == end))
        .collect()
}

/// A library that says, wherever it is loaded, that it was: outside of the task's folder, and inside.
fn library(folder: &Path, outside: &Path) -> bool {
    let text = format!(
        "#include <fcntl.h>\n__attribute__((constructor)) static void load(void) {{\n\
         open(\"{}\", O_CREAT | O_WRONLY, 0644); open(\"loaded\", O_CREAT | O_WRONLY, 0644); }}\n",
        outside.display()
    );
    std::fs::write(folder.join("x.c"), text).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "x.so", "x.c"])
        .current_dir(folder)
        .status();
    built.is_ok_and(|status| status.success())
}

#[test]
fn no_library_of_a_task_is_loaded_before_the_sandbox_holds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let outside = folder.join("outside");
    if !library(folder, &outside) {
        return skip("a library of a task", "there is no C compiler");
    }
    let text =
        "LD_PRELOAD=./x.so\nexport LD_PRELOAD\nloaded: x.so\n\techo hello && test -e loaded\n";
    std::fs::write(folder.join("flow.makeflow"), text).unwrap();
    let (mut server, url, _) = serve(folder, "flow.makeflow", &[]);
    let mut command = binary(folder);
    command
        .args([
            "work",
            &url,
            "--token-file",
            "state/tokens/worker",
            "-j",
            "1",
        ])
        .args(["--dir", "w", "--sandbox"]);
    let (said, _) = worked(command);
    assert_eq!(server.end(60), 0, "{said}");
    // The task had its variable, and its library was loaded: in the sandbox.
    assert!(folder.join("loaded").exists(), "{said}");
    if said.contains("no Landlock") {
        return skip("a library of a task", "this kernel has no Landlock");
    }
    assert!(!outside.exists(), "{said}");
}

#[test]
fn an_allowed_program_is_not_made_another_by_variables() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let with = |id: u64, name: &str, value: &str| {
        let mut lease = lease(id, "");
        lease["command"] = json!({ "words": ["touch", format!("{}/made-{id}", folder.display())], "environment": [[name, value]] });
        lease
    };
    let leases = vec![
        with(0, "OMP_NUM_THREADS", "2"),
        with(1, "LD_PRELOAD", "./x.so"),
        with(2, "PATH", "."),
        with(3, "GLIBC_TUNABLES", "glibc.malloc.check=1"),
        with(4, "LD_PRELOAD=./x.so:", ""),
    ];
    let stub = Stub::start(Manner::new("a", leases));
    let (said, code) = worked(worker(folder, &stub, &["--allow", "touch", "--no-sandbox"]));
    assert_eq!(code, 0, "{said}");
    let returns = stub.manner.lock().unwrap().returns.clone();
    let outcomes: Vec<&str> = returns
        .iter()
        .map(|r| r["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        ["executed", "failed", "failed", "failed", "failed"]
    );
    let made = (0..5).map(|id| folder.join(format!("made-{id}")).exists());
    assert_eq!(made.collect::<Vec<_>>(), [true, false, false, false, false]);
    for name in ["LD_PRELOAD", "PATH", "GLIBC_TUNABLES"] {
        assert!(said.contains(&format!("sets {name}")), "{said}");
    }
}

/// Somebody between worker and server lets no log through. What tasks print is no result where the worker is trusted: they have
/// been executed, and the worker says once that it was cut. Where it is compared, or the server does not say, they have failed.
#[test]
fn a_log_that_a_proxy_refuses_fails_no_task_of_a_trusted_worker() {
    let joined = [
        json!({ "volunteer": false }),
        json!({ "volunteer": true }),
        json!({}),
    ];
    for (joined, outcome) in joined.into_iter().zip(["executed", "failed", "failed"]) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // One of them is long enough for its log to be sent while it runs.
        let lines = ["echo a", "echo b; sleep 3.2; echo c", "echo d", "true"];
        let leases = (0..).zip(lines).map(|(id, line)| lease(id, line));
        let mut manner = Manner::new("a", leases.collect());
        (manner.joined, manner.log_answer) = (joined, 413);
        let stub = Stub::start(manner);
        let (said, code) = worked(worker(folder, &stub, &[]));
        assert_eq!(code, 0, "{said}");
        let manner = stub.manner.lock().unwrap();
        let mut outcomes: Vec<(u64, &str)> = (manner.returns.iter())
            .map(|r| (r["id"].as_u64().unwrap(), r["outcome"].as_str().unwrap()))
            .collect();
        outcomes.sort_unstable();
        let expected = [(0, outcome), (1, outcome), (2, outcome), (3, "executed")];
        assert_eq!(outcomes, expected, "{said}");
        let is_trusted = outcome == "executed";
        let cut = said.matches("printed was cut").count();
        assert_eq!(cut, usize::from(is_trusted), "{said}");
        // Once while it runs, once with the result, however long it runs; a short one may be seen while it runs, too.
        assert!((3..=6).contains(&manner.pieces), "{}", manner.pieces);
    }
}

/// Links are made in the sandbox, but nobody outside of it follows them.
#[test]
fn outputs_are_opened_inside_of_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("outside"));
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("out")).unwrap();
    let confined = |args: &[&str]| {
        let mut command = binary(&inside);
        command
            .args(["confine", "--sandbox"])
            .arg(&inside)
            .args(args);
        command.output().unwrap()
    };
    let good = confined(&[
        "--stdout",
        "good",
        "--stderr",
        "good",
        "--",
        "sh",
        "-c",
        "echo a; echo b >&2",
    ]);
    assert!(good.status.success(), "{good:?}");
    assert_eq!(
        std::fs::read_to_string(inside.join("good")).unwrap(),
        "a\nb\n"
    );
    let bad = confined(&["--stdout", "out", "--", "echo", "x"]);
    if bad.status.success() {
        return skip("outputs in the sandbox", "this kernel has no Landlock");
    }
    assert!(!outside.exists());
}

#[test]
fn a_sandboxed_task_has_no_terminal_and_signals_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut other = Process(Command::new("sleep").arg("60").spawn().unwrap());
    let line = format!(
        "(: < /dev/tty) 2>/dev/null && echo terminal; kill -9 {} 2>/dev/null && echo signal; \
         test \"$(cut -d' ' -f6 /proc/self/stat)\" = $$ && echo session; true",
        other.0.id()
    );
    let confined = binary(folder)
        .args(["confine", "--sandbox"])
        .arg(folder)
        .args(["--", "sh", "-c", &line])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&confined.stdout).into_owned();
    if printed.contains("signal") {
        return skip("signals of tasks", "this kernel is older than Linux 6.12");
    }
    assert_eq!(printed, "session\n", "{confined:?}");
    assert!(other.0.try_wait().unwrap().is_none());
}

/// A server that listens here, perhaps through a tunnel, names a folder that exists here: it is not believed.
#[test]
fn a_folder_of_the_same_name_is_not_taken_for_the_servers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let theirs = folder.join("theirs");
    std::fs::create_dir(&theirs).unwrap();
    let outside = folder.join("outside");
    let line = format!("touch here; touch {} 2>/dev/null; true", outside.display());
    let mut manner = Manner::new("a", vec![lease(0, &line)]);
    manner.joined = json!({ "folder": theirs, "sign": "0".repeat(64), "near": "0".repeat(64) });
    let stub = Stub::start(manner);
    std::fs::write(folder.join("token"), "a".repeat(64)).unwrap();
    let mut command = binary(folder);
    command
        .args(["work", &stub.url, "--token-file", "token", "-j", "1"])
        .env("XDG_STATE_HOME", folder.join("home"));
    let (said, code) = worked(command);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the server's folder is not here"), "{said}");
    let manner = stub.manner.lock().unwrap();
    assert_eq!(manner.returns[0]["outcome"], "executed");
    assert_eq!(manner.joins.last().unwrap()["carries"], true);
    assert_eq!(std::fs::read_dir(&theirs).unwrap().count(), 0);
    match said.contains("no Landlock") {
        true => skip("a sandbox for a far server", "this kernel has no Landlock"),
        false => assert!(!outside.exists(), "{said}"),
    }
}

/// The real server is believed, on its word in files, and leaves none of them behind.
#[test]
fn a_server_on_this_machine_shares_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(
        folder.join("flow.toml"),
        "[[task]]\nname = \"a\"\nrun = \"touch here; pwd > where\"\n",
    )
    .unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let signs = || {
        let all = std::fs::read_dir(folder).unwrap().flatten();
        all.filter(|e| e.file_name().to_string_lossy().starts_with(".cairn-near-"))
            .count()
    };
    assert_eq!(signs(), 1);
    let mut command = binary(folder);
    command
        .args([
            "work",
            &url,
            "--token-file",
            "state/tokens/worker",
            "-j",
            "1",
        ])
        .env("XDG_STATE_HOME", folder.join("home"));
    let (said, code) = worked(command);
    assert_eq!((server.end(60), code), (0, 0), "{said}");
    let place = std::fs::read_to_string(folder.join("where")).unwrap();
    assert_eq!(Path::new(place.trim()), folder.canonicalize().unwrap());
    assert_eq!(signs(), 0);
}

/// Attempts have the same numbers in every run: what was done for one must not count in another, and must not be lost.
#[test]
fn results_go_to_their_own_run_and_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = |run: &str| format!("echo x >> {}/done-{run}", folder.display());
    let mut manner = Manner::new("a", vec![lease(0, &line("a"))]);
    manner.answer = |_| 503;
    let first = Stub::start(manner);
    let mut command = worker(folder, &first, &["--no-sandbox"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = Process(command.spawn().unwrap());
    until("a return", || first.manner.lock().unwrap().refused > 0);
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    let spool = folder.join("w/1/spool");
    assert_eq!(files(&spool, "json").len(), 1);

    let second = Stub::start(Manner::new("b", vec![lease(0, &line("b"))]));
    let (said, code) = worked(worker(folder, &second, &["--no-sandbox"]));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("results of other runs wait here"), "{said}");
    assert!(
        folder.join("done-b").exists(),
        "the other run's result was taken for this one's"
    );
    assert_eq!(second.manner.lock().unwrap().returns.len(), 1);
    assert_eq!(files(&spool, "json").len(), 1);

    let mut manner = Manner::new("a", Vec::new());
    manner.enough = 1;
    let again = Stub::start(manner);
    let (said, code) = worked(worker(folder, &again, &["--no-sandbox"]));
    assert_eq!(code, 0, "{said}");
    let returns = again.manner.lock().unwrap().returns.clone();
    assert_eq!(returns[0]["outcome"], "executed");
    assert_eq!(files(&spool, "json").len(), 0);
    assert_eq!(
        std::fs::read_to_string(folder.join("done-a")).unwrap(),
        "x\n"
    );
}

/// A worker that waits for more hears of the end of a limit from the server before it sees it itself: that is a failure for want of
/// time all the same, and the next attempt has more.
#[test]
fn the_limit_of_a_served_task_grows_until_it_suffices() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = json!({ "task": [
        { "name": "slow", "run": "case $CAIRN_ATTEMPT in *.1) sleep 600;; esac; sleep 6", "time_limit": "5s", "retries": 3 },
    ] });
    std::fs::write(folder.join("flow.json"), flow.to_string()).unwrap();
    let (server, url, _) = serve(folder, "flow.json", &["--stay"]);
    let worker = common::served::worker(folder, &url, &["-j", "2", "--dir", "w"]);
    until("it is executed", || {
        common::served::status(folder, &url)["executed"] == 1
    });
    let journal = common::served::journal(folder, &url);
    let of = |kind: &str| journal.iter().filter(|e| e["event"] == kind).count();
    let (leased, failed) = (of("leased"), of("failed"));
    assert_eq!((leased, failed), (2, 1), "{journal:?}");
    let causes = journal.iter().filter_map(|e| e["cause"].as_str());
    assert_eq!(causes.collect::<Vec<_>>(), ["time"], "{journal:?}");
    drop((worker, server));
}

/// What its processes have in memory together is what counts, as in `cairn run`, and the next attempt may take more.
#[test]
fn the_memory_of_a_served_task_grows_until_it_suffices() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The second holds 80 MB until the third lets it go on.
    let line = "head -c 90000000 /dev/zero | tail -c 80000000 | (sleep 3; cat > /dev/null)";
    let flow = json!({ "task": [
        { "name": "hog", "run": line, "memory": "50MB", "retries": 2 },
    ] });
    std::fs::write(folder.join("flow.json"), flow.to_string()).unwrap();
    let (server, url, _) = serve(folder, "flow.json", &["--stay"]);
    let worker = common::served::worker(folder, &url, &["-j", "1", "--dir", "w"]);
    until("it is executed", || {
        common::served::status(folder, &url)["executed"] == 1
    });
    let journal = common::served::journal(folder, &url);
    let causes = journal.iter().filter_map(|e| e["cause"].as_str());
    assert_eq!(causes.collect::<Vec<_>>(), ["memory"], "{journal:?}");
    drop((worker, server));
}

/// A task that takes its time to end keeps nobody busy meanwhile.
#[test]
fn who_waits_for_a_task_to_end_waits_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = json!({ "task": [
        { "name": "stubborn", "run": "trap '' TERM; touch begun; sleep 30; sleep 30" },
        { "name": "nobody's", "run": "true", "tags": ["elsewhere"] },
    ] });
    std::fs::write(folder.join("flow.json"), flow.to_string()).unwrap();
    let (server, url, _) = serve(folder, "flow.json", &["--stay"]);
    let worker = common::served::worker(folder, &url, &["-j", "4"]);
    until("it begins", || folder.join("begun").exists());
    let args = ["cancel", &url, "stubborn", "--token-file"];
    let cancelled = common::served::ask(folder, &[&args[..], &["state/tokens/admin"]].concat());
    assert_eq!(cancelled.code, 0, "{}", cancelled.stderr);
    // In clock ticks, a hundred a second.
    let spent = |process: &Process| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.0.id())).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        fields
            .skip(11)
            .take(2)
            .map(|n| n.parse::<u64>().unwrap())
            .sum()
    };
    let before = spent(&server) + spent(&worker);
    std::thread::sleep(std::time::Duration::from_secs(2));
    let busy = spent(&server) + spent(&worker) - before;
    assert!(busy < 40, "{busy} ticks in two seconds");
}

#[test]
fn a_worker_ends_when_another_run_is_served_at_the_same_address() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut manner = Manner::new("a", vec![lease(0, "true")]);
    manner.answer = |_| 404;
    let stub = Stub::start(manner);
    let mut command = worker(folder, &stub, &["--no-sandbox"]);
    let working = command.stderr(Stdio::piped()).stdout(Stdio::null());
    let working = working.spawn().unwrap();
    until("a return", || stub.manner.lock().unwrap().refused > 0);
    stub.manner.lock().unwrap().run = "b".to_owned();
    let output = working.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("serves another run now"), "{said}");
    assert_eq!(files(&folder.join("w/1/spool"), "json").len(), 1);
}

#[test]
fn one_refused_result_is_put_aside_and_the_worker_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut bad = lease(5, "echo made > out; echo printed");
    bad["outputs"] = json!([]);
    let mut manner = Manner::new("a", vec![lease(0, "true"), bad, lease(6, "true")]);
    manner.answer = |id| if id == 5 { 400 } else { 200 };
    manner.enough = 2;
    let stub = Stub::start(manner);
    let (said, code) = worked(worker(folder, &stub, &["--no-sandbox"]));
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("the server refuses the result of task 5: not this one"),
        "{said}"
    );
    let ids: Vec<u64> = (stub.manner.lock().unwrap().returns.iter())
        .map(|back| back["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, [0, 6]);
    let aside = folder.join("w/1/refused");
    assert_eq!(files(&aside, "json").len(), 1);
    let made = files(&aside, "files").pop().unwrap().join("out");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "made\n");
    // The next worker has nothing to stumble over.
    let stub = Stub::start(Manner::new("a", vec![lease(7, "true")]));
    let (said, code) = worked(worker(folder, &stub, &["--no-sandbox"]));
    assert_eq!(code, 0, "{said}");
}

/// What cannot be removed is no reason not to work: another user's file, for example, or one that nobody may change.
#[test]
fn what_a_task_left_does_not_keep_a_worker_from_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let stuck = folder.join("w/1/tasks/old/cache");
    std::fs::create_dir_all(&stuck).unwrap();
    std::fs::write(stuck.join("file"), "x").unwrap();
    let mount = |args: &[&str]| {
        let mut command = Command::new(args[0]);
        command.args(&args[1..]).arg(&stuck).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "none"]) {
        return skip("a folder that cannot be removed", "no right to mount one");
    }
    let stub = Stub::start(Manner::new("a", vec![lease(0, "true")]));
    let (said, code) = worked(worker(folder, &stub, &["--no-sandbox"]));
    assert!(mount(&["umount", "-l"]));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("cannot be removed"), "{said}");
}
