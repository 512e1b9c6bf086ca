//! Bad input, through the real binary: always a clear error, exit code 2, nothing written, never a panic.

mod common;

use common::{Run, cairn, cairn_with_input};
use std::io::Write;
use std::path::Path;

/// Asserts a clean refusal that mentions `words`, in both output forms, and that `convert` writes nothing.
fn refused(path: &Path, words: &[&str]) {
    let path = path.to_str().unwrap();
    let run = cairn(&["info", path]);
    check(&run, &run.stderr, words);
    let run = cairn(&["info", "--json", path]);
    check(&run, &run.stdout, words);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.dag");
    let run = cairn(&["convert", path, out.to_str().unwrap()]);
    assert_eq!(run.code, 2, "{run:?}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "something was written: {left:?}");
}

fn check(run: &Run, said: &str, words: &[&str]) {
    assert_eq!(run.code, 2, "{run:?}");
    assert!(!run.stderr.contains("panicked"), "{run:?}");
    for word in words {
        let found = said.to_lowercase().contains(&word.to_lowercase());
        assert!(found, "'{word}' is not in: {said}");
    }
}

/// Writes `content` to a file called `name` and expects a clean refusal.
fn refused_content(name: &str, content: &[u8], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    refused(&path, words);
}

#[test]
fn a_missing_file() {
    refused(Path::new("/nowhere/at/all.dag"), &["/nowhere/at/all.dag"]);
}

#[test]
fn a_directory() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), &["directory"]);
}

#[test]
fn a_zip() {
    refused_content(
        "flow.zip",
        b"PK\x03\x04\x14\x00\x00\x00\x08\x00rest of it",
        &["zip"],
    );
}

#[test]
fn invalid_utf8() {
    refused_content(
        "flow.dag",
        b"JOB a a.sub\nJOB \xff\xfe b.sub\n",
        &["utf-8", ":2"],
    );
}

#[test]
fn an_empty_file() {
    refused_content("flow.json", b"", &["empty"]);
}

#[test]
fn a_truncated_gzip() {
    let mut packed = Vec::new();
    let mut gzip = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
    gzip.write_all("JOB a a.sub\n".repeat(1000).as_bytes())
        .unwrap();
    gzip.finish().unwrap();
    packed.truncate(packed.len() / 2);
    refused_content("flow.dag.gz", &packed, &["flow.dag.gz"]);
}

#[test]
fn includes_and_splices_that_name_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    refused(
        &write("self.dag", "JOB a a.sub\nINCLUDE self.dag\n"),
        &["self.dag"],
    );
    write("two.dag", "INCLUDE one.dag\n");
    refused(
        &write("one.dag", "INCLUDE two.dag\n"),
        &["one.dag", "two.dag"],
    );
    refused(
        &write("splice.dag", "SPLICE s splice.dag\n"),
        &["splice.dag"],
    );
    // Each file splices the next one twice: 2^40 nodes, were it expanded.
    for i in 0..40 {
        let next = format!("bomb{}.dag", i + 1);
        write(
            &format!("bomb{i}.dag"),
            &format!("SPLICE x {next}\nSPLICE y {next}\n"),
        );
    }
    write("bomb40.dag", "JOB a a.sub\n");
    refused(&folder.path().join("bomb0.dag"), &["bomb"]);
    refused(
        &write("gone.dag", "JOB a a.sub\nINCLUDE nowhere.dag\n"),
        &["nowhere.dag", "gone.dag"],
    );
}

#[test]
fn billion_laughs_in_xml() {
    let mut text = "<?xml version=\"1.0\"?>\n<!DOCTYPE adag [\n<!ENTITY a0 \"ha\">\n".to_owned();
    for i in 1..12 {
        let before = format!("&a{};", i - 1).repeat(10);
        text += &format!("<!ENTITY a{i} \"{before}\">\n");
    }
    text += "]>\n<adag><job id=\"&a11;\"/></adag>\n";
    refused_content("bomb.dax", text.as_bytes(), &["bomb.dax"]);
}

#[test]
fn billion_laughs_in_yaml() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..12 {
        let before = vec![format!("*a{}", i - 1); 10].join(", ");
        text += &format!("a{i}: &a{i} [{before}]\n");
    }
    text += "pegasus: \"5.0\"\njobs: *a11\n";
    refused_content("bomb.yml", text.as_bytes(), &["bomb.yml"]);
}

#[test]
fn nesting_deep_enough_to_overflow_a_stack() {
    let deep = 200_000;
    refused_content("deep.json", "[".repeat(deep).as_bytes(), &["deep.json"]);
    refused_content(
        "deep.toml",
        format!("x = {}", "[".repeat(deep)).as_bytes(),
        &["deep.toml"],
    );
    refused_content(
        "deep.yml",
        format!("pegasus: {}", "[".repeat(deep)).as_bytes(),
        &["deep.yml"],
    );
    refused_content(
        "deep.dot",
        format!("digraph {}", "{".repeat(deep)).as_bytes(),
        &["deep.dot"],
    );
    refused_content(
        "deep.dax",
        format!("<adag>{}", "<a>".repeat(deep)).as_bytes(),
        &["deep.dax"],
    );
}

/// Two billion bytes without a line end: refused as soon as the line is too long, without holding them.
#[test]
#[cfg(target_os = "linux")]
fn a_line_of_two_gigabytes() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["info", "--format", "dagman", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let chunk = vec![b'a'; 1 << 20];
    let mut sent = 0u64;
    while sent < 2_000_000_000 && stdin.write_all(&chunk).is_ok() {
        sent += chunk.len() as u64;
    }
    drop(stdin);
    let run = Run::from(child.wait_with_output().unwrap());
    check(&run, &run.stderr, &["line", "long"]);
    assert!(sent < 300_000_000, "it read {sent} bytes before it gave up");
}

#[test]
fn a_cross_product_too_large_to_hold() {
    let mut text = String::new();
    for i in 0..50_000 {
        text += &format!("JOB p{i} x.sub\nJOB c{i} x.sub\n");
    }
    let list = |letter: char| {
        (0..50_000)
            .map(|i| format!(" {letter}{i}"))
            .collect::<String>()
    };
    text += &format!("PARENT{} CHILD{}\n", list('p'), list('c'));
    refused_content("cross.dag", text.as_bytes(), &["cross.dag"]);
}

#[test]
fn several_errors_at_once_with_their_lines() {
    let text = b"JOB a a.sub\nJOBB b b.sub\nPARENT a CHILD nobody\nJOB a again.sub\n";
    let run = cairn_with_input(&["check", "--format", "dagman", "-"], text);
    assert_eq!(run.code, 1, "{run:?}");
    for word in ["-:2", "-:3", "-:4", "JOBB", "nobody", "twice"] {
        assert!(
            run.stdout.contains(word),
            "'{word}' is not in: {}",
            run.stdout
        );
    }
}

#[test]
fn garbage_of_no_known_format() {
    refused_content("what.xyz", b"?? no format at all ??\n", &["--format"]);
}

/// What is open already is written to, not replaced.
#[test]
#[cfg(target_os = "linux")]
fn what_stands_behind_standard_output_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for (name, to) in [("stdout", 1), ("fd/1", 1), ("stderr", 2), ("fd/2", 2)] {
        let line = format!(
            "(echo first >&{to}; '{}' gen mesh 2 -o /dev/{name} --to csv -q; echo last >&{to}) {to}> out",
            env!("CARGO_BIN_EXE_cairn")
        );
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(line).current_dir(folder.path());
        assert!(shell.status().unwrap().success());
        let text = std::fs::read_to_string(folder.path().join("out")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() > 2, "{name}: {text}");
        assert_eq!(
            (lines[0], lines[lines.len() - 1]),
            ("first", "last"),
            "{name}: {text}"
        );
    }
}

#[test]
fn usage_errors() {
    let no_family = cairn(&["gen", "sphere", "3"]);
    check(&no_family, &no_family.stderr, &["sphere"]);
    let zero = cairn(&["gen", "mesh", "0"]);
    check(&zero, &zero.stderr, &["error"]);
    let huge = cairn(&["gen", "fft", "60"]);
    check(&huge, &huge.stderr, &["error"]);
    let no_extension = cairn(&["gen", "mesh", "3", "-o", "/tmp/cairn-no-such.unknown"]);
    check(&no_extension, &no_extension.stderr, &["--to"]);
    let no_folder = cairn(&["gen", "mesh", "3", "-o", "/nowhere/x.dag"]);
    check(&no_folder, &no_folder.stderr, &["/nowhere/x.dag"]);
    let no_command = cairn(&["frobnicate"]);
    assert_eq!(no_command.code, 2);
}
