//! A server and its workers as real processes: they compute, come and go.

mod common;

use common::root;
use common::served::{
    Process, ask, binary, gathered, journal, serve, served, status, until, worker,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A flow that computes: numbers are made, sorted in parts, merged, counted.
fn flow(folder: &Path, parts: usize) {
    let mut text = String::new();
    let mut task = |name: &str, run: &str, after: &[String], inputs: &[String], output: &str| {
        let list = |all: &[String]| {
            all.iter()
                .map(|x| format!("{x:?}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        text += &format!(
            "[[task]]\nname = {name:?}\nrun = {run:?}\nafter = [{}]\ninputs = [{}]\noutputs = [{output:?}]\n",
            list(after),
            list(inputs)
        );
    };
    for n in 0..parts {
        let made = format!("made-{n}.txt");
        task(
            &format!("make-{n}"),
            &format!("seq {} 7 {} > {made}", n + 1, 400 + n),
            &[],
            &[],
            &made,
        );
        let sorted = format!("sorted/{n}.txt");
        let run = format!("mkdir -p sorted && sort -r {made} > {sorted}");
        task(
            &format!("sort-{n}"),
            &run,
            &[format!("make-{n}")],
            &[made],
            &sorted,
        );
    }
    let sorted: Vec<String> = (0..parts).map(|n| format!("sorted/{n}.txt")).collect();
    let before: Vec<String> = (0..parts).map(|n| format!("sort-{n}")).collect();
    task(
        "merge",
        &format!("sort -rm {} > merged.txt", sorted.join(" ")),
        &before,
        &sorted,
        "merged.txt",
    );
    task(
        "count",
        "wc -l < merged.txt > count.txt",
        &["merge".into()],
        &["merged.txt".into()],
        "count.txt",
    );
    std::fs::write(folder.join("flow.toml"), text).unwrap();
}

fn made(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for place in [folder.to_owned(), folder.join("sorted")] {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "txt") {
                let text = std::fs::read_to_string(&path).unwrap();
                all.push((path.strip_prefix(folder).unwrap().to_owned(), text));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn two_workers_make_what_run_makes_on_one_disk_and_without() {
    let alone = tempfile::tempdir().unwrap();
    flow(alone.path(), 4);
    let ran = ask(alone.path(), &["run", "flow.toml", "-j", "2"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = made(alone.path());
    assert_eq!(expected.len(), 10);
    for is_shared in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        flow(folder, 4);
        let (mut server, url, _) = serve(folder, "flow.toml", &[]);
        let place: &[&str] = if is_shared {
            &["--dir", "w", "--shared", "."]
        } else {
            &["--dir", "w"]
        };
        let mut workers = gathered(folder, &url, 2, || {
            [0, 1].map(|_| worker(folder, &url, &[&["-j", "2"], place].concat()))
        });
        assert_eq!(server.end(120), 0);
        for worker in &mut workers {
            assert_eq!(worker.end(30), 0);
        }
        assert_eq!(made(folder), expected);
    }
}

/// The example that really computes something: here, and by two workers, the same words are counted.
#[test]
fn the_example_computes_the_same_here_and_by_two_workers() {
    let texts = |folder: &Path| {
        let mut all: Vec<(String, String)> = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_file() && name != "word-count.toml" {
                all.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
        all.sort();
        all
    };
    let example = root().join("examples/word-count.toml");
    let [alone, served] = [0, 1].map(|_| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(&example, folder.path().join("word-count.toml")).unwrap();
        folder
    });
    let ran = ask(alone.path(), &["run", "word-count.toml", "-j", "4"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (mut server, url, _) = serve(served.path(), "word-count.toml", &[]);
    let dirs = ["a", "b"];
    let mut workers = gathered(served.path(), &url, 2, || {
        dirs.map(|dir| worker(served.path(), &url, &["-j", "2", "--dir", dir]))
    });
    assert_eq!(server.end(120), 0);
    for worker in &mut workers {
        assert_eq!(worker.end(30), 0);
    }
    let made = texts(alone.path());
    assert!(made.len() > 8, "{made:?}");
    assert_eq!(texts(served.path()), made);
}

#[test]
fn a_failed_task_is_told_and_the_server_returns_1() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(
        folder.join("flow.toml"),
        "[[task]]\nname = \"bad\"\nrun = \"echo oh no; exit 3\"\nretries = 1\n[[task]]\nname = \"after\"\nrun = \"true\"\nafter = [\"bad\"]\n",
    )
    .unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &["--stay"]);
    let mut worker = worker(folder, &url, &["-j", "1", "--dir", "w"]);
    assert_eq!(worker.end(60), 0);
    let status = status(folder, &url);
    assert_eq!(
        (&status["failed"], &status["aborted"]),
        (&1.into(), &1.into())
    );
    let journal = ask(
        folder,
        &["export", &url, "--token-file", "state/tokens/observer"],
    );
    assert_eq!(
        journal
            .stdout
            .lines()
            .filter(|l| l.contains("\"failed\"") && l.contains("\"exit\":3"))
            .count(),
        2,
        "{}",
        journal.stdout
    );
    let retried = ask(
        folder,
        &["retry", &url, "bad", "--token-file", "state/tokens/admin"],
    );
    assert_eq!(retried.code, 0, "{}", retried.stderr);
    let denied = ask(
        folder,
        &[
            "cancel",
            &url,
            "bad",
            "--token-file",
            "state/tokens/observer",
        ],
    );
    assert_eq!(denied.code, 2);
    assert!(
        denied.stderr.contains("does not allow"),
        "{}",
        denied.stderr
    );
    server.signal("-TERM");
    assert_eq!(server.end(20), 130);
}

#[test]
fn a_worker_that_is_to_end_finishes_or_gives_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("flow.toml"), "[[task]]\nname = \"long\"\nrun = \"sleep 60\"\n[[task]]\nname = \"short\"\nrun = \"until test -e go; do sleep 0.1; done; echo x > short.txt\"\n").unwrap();
    let (_server, url, _) = serve(folder, "flow.toml", &[]);
    let mut worker = worker(
        folder,
        &url,
        &["-j", "2", "--grace", "10s", "--dir", "w", "--shared", "."],
    );
    until("both are begun with", || {
        status(folder, &url)["leased"] == 2
    });
    worker.signal("-TERM");
    std::fs::write(folder.join("go"), "").unwrap();
    assert_eq!(worker.end(40), 130);
    let status = status(folder, &url);
    assert_eq!(
        (&status["executed"], &status["eligible"], &status["leased"]),
        (&1.into(), &1.into(), &0.into()),
        "{status}"
    );
    assert_eq!(status["workers"][0]["state"], "left");
}

#[test]
fn tls_with_a_pinned_fingerprint_and_nothing_in_clear_beyond_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    flow(folder, 1);
    let refused = ask(
        folder,
        &[
            "serve",
            "flow.toml",
            "--state",
            "state",
            "--listen",
            "0.0.0.0:0",
        ],
    );
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--tls"), "{}", refused.stderr);
    let (mut server, url, more) = serve(folder, "flow.toml", &["--tls"]);
    let pin = more[0].strip_prefix("fingerprint ").unwrap();
    let wrong = format!("sha256:{}", "0".repeat(64));
    for more in [&["--fingerprint", wrong.as_str()][..], &[]] {
        let args = [
            &[
                "status",
                &url,
                "--token-file",
                "state/tokens/observer",
                "--json",
            ],
            more,
        ]
        .concat();
        let run = ask(folder, &args);
        assert_eq!(run.code, 2, "{}", run.stdout);
    }
    let args = [
        "status",
        &url,
        "--token-file",
        "state/tokens/observer",
        "--json",
        "--fingerprint",
        pin,
    ];
    assert_eq!(ask(folder, &args).code, 0);
    let mut worker = worker(
        folder,
        &url,
        &["-j", "2", "--dir", "w", "--fingerprint", pin],
    );
    assert_eq!(server.end(60), 0);
    assert_eq!(worker.end(30), 0);
}

#[test]
fn tasks_are_limited_and_kept_to_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let outside = folder.join("outside.txt");
    let secret = folder.join("secret");
    std::fs::write(&secret, "s").unwrap();
    std::fs::write(
        folder.join("flow.toml"),
        format!(
            "[[task]]\nname = \"hog\"\nrun = \"head -c 400000000 /dev/zero | tail -c 390000000 > /dev/null\"\nmemory = \"50MB\"\n\
             [[task]]\nname = \"writer\"\nrun = \"echo x > {}\"\n[[task]]\nname = \"reader\"\nrun = \"cat {}\"\n\
             [[task]]\nname = \"good\"\nrun = \"echo $CAIRN_TASK $SECRET_OF_MINE > good.txt && ls /usr > /dev/null\"\noutputs = [\"good.txt\"]\n",
            outside.display(), secret.display()
        ),
    )
    .unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let mut command = binary(folder);
    command.args([
        "work",
        &url,
        "--token-file",
        "state/tokens/worker",
        "-j",
        "1",
        "--dir",
        "w",
        "--sandbox",
    ]);
    let said = command.env("SECRET_OF_MINE", "mine").output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(server.end(60), 1);
    assert!(said.contains("hog: failed"), "{said}");
    assert_eq!(
        std::fs::read_to_string(folder.join("good.txt")).unwrap(),
        "good\n"
    );
    if said.contains("no Landlock") {
        let why = b"SKIPPED: tasks kept to their folder: this kernel has no Landlock\n";
        std::io::stderr().write_all(why).unwrap();
        return;
    }
    assert!(
        said.contains("writer: failed") && said.contains("reader: failed"),
        "{said}"
    );
    assert!(!outside.exists());
}

#[test]
fn a_worker_runs_no_program_that_its_owner_does_not_allow() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("flow.toml"), "[[task]]\nname = \"a\"\nrun = \"touch a.txt\"\n[[task]]\nname = \"b\"\nrun = \"mkdir b\"\n[[task]]\nname = \"c\"\nrun = \"touch c.txt; true\"\n").unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let mut worker = worker(
        folder,
        &url,
        &["-j", "1", "--dir", "w", "--shared", ".", "--allow", "touch"],
    );
    assert_eq!(server.end(60), 1);
    worker.end(30);
    assert!(
        folder.join("a.txt").exists()
            && !folder.join("b").exists()
            && !folder.join("c.txt").exists()
    );
}

/// A mesh that is never written down, handed out to two workers; the server is killed and begins again in between.
#[test]
fn a_family_is_served_without_being_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = [
        "--family",
        "mesh",
        "--until-level",
        "14",
        "--run",
        "echo {level}-{index} >> done-{level}; [ {name} != 5-2 ] || [ -e mended ]",
        "--retries",
        "0",
        "--stay",
    ];
    let first = served(folder, &args);
    let listen = first.url.strip_prefix("http://").unwrap().to_owned();
    let mut workers = ["a", "b"].map(|dir| {
        let place = ["-j", "2", "--dir", dir, "--shared", "."];
        worker(folder, &first.url, &place)
    });
    let done = |url: &str| status(folder, url)["executed"].as_u64().unwrap();
    until("some are done", || done(&first.url) > 10);
    drop(first);
    let again = served(folder, &[&args[..], &["--listen", &listen]].concat());
    let url = &again.url;
    // What waits for the one that fails is not executed, 44 tasks; all else is.
    for worker in &mut workers {
        assert_eq!(worker.end(60), 0);
    }
    assert_eq!(done(url), 105 - 45);
    let now = status(folder, url);
    assert_eq!(
        (&now["tasks"], &now["failed"]),
        (&105.into(), &1.into()),
        "{now}"
    );
    std::fs::write(folder.join("mended"), "").unwrap();
    let admin = ["--token-file", "state/tokens/admin"];
    let retried = ask(folder, &[&["retry", url, "5-2"], &admin[..]].concat());
    assert_eq!(retried.code, 0, "{}", retried.stderr);
    for wrong in ["5-02", "14-0", "x", "5-6"] {
        let no = ask(folder, &[&["retry", url, wrong], &admin[..]].concat());
        assert_eq!(no.code, 2, "{wrong}: {}", no.stdout);
    }
    let mut more = worker(folder, url, &["-j", "2", "--dir", "a", "--shared", "."]);
    assert_eq!(more.end(60), 0);
    assert_eq!(done(url), 105);
    let mut executed = std::collections::HashSet::new();
    for event in journal(folder, url) {
        if event["event"] == "executed" {
            let task = event["task"].as_str().unwrap().to_owned();
            let (level, index) = task.split_once('-').unwrap();
            let (level, index): (u64, u64) = (level.parse().unwrap(), index.parse().unwrap());
            for parent in [index.checked_sub(1), Some(index).filter(|&i| i < level)] {
                let parent = parent.map(|p| format!("{}-{p}", level.wrapping_sub(1)));
                assert!(
                    parent.is_none_or(|p| executed.contains(&p)),
                    "{task} before its parents"
                );
            }
            assert!(executed.insert(task), "twice");
        }
    }
    assert_eq!(executed.len(), 105);
}

/// A task goes only to workers that have all labels that it asks for.
#[test]
fn tags_are_matched_to_labels() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = "[[task]]\nname = \"plain\"\nrun = \"touch plain\"\n[[task]]\nname = \"special\"\nrun = \"touch special\"\ntags = [\"gpu\", \"site=home\"]\n";
    std::fs::write(folder.join("flow.toml"), flow).unwrap();
    let refused = ask(folder, &["run", "flow.toml", "--label", "gpu"]);
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(
        refused.stderr.contains("'special'") && refused.stderr.contains("'site=home'"),
        "{}",
        refused.stderr
    );
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let place = ["--dir", "w", "--shared", ".", "--label", "gpu"];
    let short = worker(folder, &url, &place);
    until("the plain one is done", || {
        status(folder, &url)["executed"] == 1
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status(folder, &url)["eligible"], 1);
    let place = [
        "--dir",
        "v",
        "--shared",
        ".",
        "--label",
        "site=home",
        "--label",
        "gpu",
    ];
    let mut whole = worker(folder, &url, &place);
    assert_eq!(server.end(60), 0);
    assert_eq!(whole.end(30), 0);
    drop(short);
    assert!(folder.join("special").exists());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flow.toml"), flow).unwrap();
    let labels = ["run", "flow.toml", "--label", "gpu", "--label", "site=home"];
    let ran = ask(folder.path(), &labels);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// A task that takes long goes only to a worker that stays that long.
#[test]
fn long_tasks_go_to_workers_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flow = "[[task]]\nname = \"long\"\nrun = \"true\"\nseconds = 3000\n[[task]]\nname = \"short\"\nrun = \"true\"\nseconds = 30\n";
    std::fs::write(folder.join("flow.toml"), flow).unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let leaves = worker(folder, &url, &["--dir", "w", "--lifetime", "20m"]);
    until("the short one is done", || {
        status(folder, &url)["executed"] == 1
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status(folder, &url)["eligible"], 1);
    let mut stays = worker(folder, &url, &["--dir", "v", "--lifetime", "2h"]);
    assert_eq!(server.end(60), 0);
    assert_eq!(stays.end(30), 0);
    drop(leaves);
}

/// Pause, cancel, resume, and what a live status is made of.
#[test]
fn a_run_is_steered() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut flow = String::new();
    for name in ["a", "b", "c"] {
        flow += &format!("[[task]]\nname = \"{name}\"\nrun = \"true\"\n");
    }
    flow += "[[task]]\nname = \"after\"\nrun = \"true\"\nafter = [\"a\"]\n";
    std::fs::write(folder.join("flow.toml"), flow).unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &[]);
    let admin = |verb: &str, tasks: &[&str]| {
        let token = ["--token-file", "state/tokens/admin"];
        ask(folder, &[&[verb, &url], tasks, &token[..]].concat())
    };
    assert_eq!(admin("pause", &[]).code, 0);
    let mut worker = worker(folder, &url, &["--dir", "w", "--shared", "."]);
    until("it is there", || {
        status(folder, &url)["workers"][0]["state"] == "here"
    });
    std::thread::sleep(Duration::from_millis(300));
    let now = status(folder, &url);
    assert_eq!(
        (&now["paused"], &now["leased"]),
        (&true.into(), &0.into()),
        "{now}"
    );
    assert_eq!(admin("cancel", &["a"]).code, 0);
    let twice = admin("cancel", &["a"]);
    assert_eq!(twice.code, 1, "{}", twice.stderr);
    assert!(
        twice.stdout.contains("cancelled already"),
        "{}",
        twice.stdout
    );
    let now = status(folder, &url);
    assert_eq!(
        (&now["cancelled"], &now["aborted"]),
        (&1.into(), &1.into()),
        "{now}"
    );
    let seen = ask(
        folder,
        &[
            "status",
            &url,
            "--token-file",
            "state/tokens/observer",
            "--once",
        ],
    );
    assert!(
        seen.stdout.contains("paused: nothing is handed out"),
        "{}",
        seen.stdout
    );
    // In a terminal it is drawn anew every second, in the same place.
    let live = folder.join("live.txt");
    let line = format!(
        "{} status {url} --token-file state/tokens/observer",
        env!("CARGO_BIN_EXE_cairn")
    );
    let mut script = std::process::Command::new("script");
    script.args(["-qefc", &line]).arg(&live).current_dir(folder);
    script.stdin(std::process::Stdio::null());
    let looks = Process(script.stdout(std::process::Stdio::null()).spawn().unwrap());
    until("it is drawn twice", || {
        let text = std::fs::read_to_string(&live).unwrap_or_default();
        text.matches("executed").count() > 2 && text.contains("\u{1b}[J")
    });
    drop(looks);
    assert_eq!(admin("resume", &[]).code, 0);
    assert_eq!(server.end(60), 1, "one was cancelled");
    assert_eq!(worker.end(30), 0);
}

/// Two files of the same content, and of no content at all, are two files; and one that cannot take its place fails its task, which says
/// why, and not its worker.
#[test]
fn equal_outputs_arrive_and_one_below_a_link_fails_its_task_alone() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path();
    let text = r#"
        [[task]]
        name = "twins"
        run = "true > a.txt; true > b.txt; echo same > c.txt; echo same > d.txt"
        outputs = ["a.txt", "b.txt", "c.txt", "d.txt"]

        [[task]]
        name = "astray"
        run = "mkdir -p results; echo x > results/x.txt"
        outputs = ["results/x.txt"]
    "#;
    std::fs::write(folder.join("flow.toml"), text).unwrap();
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", folder.join("results")).unwrap();
    let (mut server, url, _) = serve(folder, "flow.toml", &["--stay"]);
    let mut worker = worker(folder, &url, &["--dir", "w", "-j", "2"]);
    until("both are done", || {
        common::served::status(folder, &url)["finished"] == true
    });
    let status = common::served::status(folder, &url);
    assert_eq!(
        (&status["executed"], &status["failed"]),
        (&1.into(), &1.into()),
        "{status}"
    );
    for (path, content) in [
        ("a.txt", ""),
        ("b.txt", ""),
        ("c.txt", "same\n"),
        ("d.txt", "same\n"),
    ] {
        assert_eq!(std::fs::read_to_string(folder.join(path)).unwrap(), content);
    }
    let logs = folder.join("state/logs/1");
    let log = std::fs::read_dir(logs).unwrap().next().unwrap().unwrap();
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(
        log.contains("'results/x.txt' leads out of the folder"),
        "{log}"
    );
    assert_eq!(worker.end(30), 0, "the worker is not to blame");
    server.signal("-TERM");
    assert_eq!(server.end(30), 130);
}
