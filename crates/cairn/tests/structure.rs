//! The walls of the command line: who imports whom, who ends the program, who knows a flag.

mod common;

use common::root;
use common::source::{Code, product, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The paths of a tree of imports, with its brace groups expanded: `a::{b, c::{self, d}}` is a::b, a::c and a::c::d.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let mut depth = 0;
    let branches = tree.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for branch in branches.map(str::trim).filter(|branch| !branch.is_empty()) {
        match branch.split_once('{') {
            Some((before, group)) => {
                let group = group.strip_suffix('}').expect("a group is closed");
                expand(&format!("{prefix}{}", before.trim()), group, paths);
            }
            None => {
                let path = branch.split(" as ").next().unwrap().trim();
                let path = path.strip_suffix("self").unwrap_or(path);
                paths.push(format!("{prefix}{path}"));
            }
        }
    }
}

/// Every path that a source names: its imports, and what its code says in full.
fn paths(code: &str) -> Vec<String> {
    let (mut paths, mut rest) = (Vec::new(), String::new());
    for statement in code.split_inclusive(';') {
        // A sentence with the word has other signs before its end.
        let is_import = |tree: &str| {
            let is_of_path = |c: char| c.is_alphanumeric() || " \n_:{},*;".contains(c);
            tree.ends_with(';') && tree.chars().all(is_of_path)
        };
        match statement
            .split_once("use ")
            .filter(|(_, tree)| is_import(tree))
        {
            Some((before, tree)) => {
                expand("", tree.trim_end_matches(';'), &mut paths);
                rest.push_str(before);
            }
            None => rest.push_str(statement),
        }
    }
    let words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    paths.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    paths
}

#[test]
fn strings_are_told_from_characters_and_comments() {
    let code = Code::of(
        "f('\"', \"a \\\"b\\\" \\\n    c\", r#\"d\"e\"#, b\"g\", &'h x) // \"no\"\n('\\'', \"i\")",
    );
    let strings: Vec<&str> = code.strings.iter().map(|(_, s)| s.as_str()).collect();
    assert_eq!(strings, ["a \"b\" c", "d\"e", "g", "i"]);
    assert!(!code.bare.contains("no") && code.bare.contains("&'h x)"));
}

#[test]
fn groups_of_imports_are_expanded() {
    let mut found = paths(
        "use super::{a, b::{c, self, d as e}};\npub(crate) use crate::f;\nfn g() { self::h::i() }",
    );
    found.sort();
    let expected = [
        "crate::f",
        "self::h::i",
        "super::a",
        "super::b::",
        "super::b::c",
        "super::b::d",
    ];
    assert_eq!(found, expected);
}

/// By module, the modules whose items it names, of the binary's own.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let folder = root().join("crates/cairn/src");
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(&folder).unwrap().with_extension("");
        path.to_str().unwrap().replace('/', "::")
    };
    let files: BTreeMap<String, PathBuf> = (sources(&folder).into_iter())
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "tests"))
        .map(|path| (name(&path), path))
        .collect();
    // The longest beginning of a path that is a module.
    let module = |path: &[&str]| {
        let beginnings = (1..=path.len()).rev().map(|n| path[..n].join("::"));
        beginnings.into_iter().find(|name| files.contains_key(name))
    };
    let mut imports = BTreeMap::new();
    for (own, path) in &files {
        let here: Vec<&str> = match own.as_str() {
            "main" => Vec::new(),
            own => own.split("::").collect(),
        };
        let mut named = BTreeSet::new();
        for path in paths(&product(path).bare) {
            let mut steps: Vec<&str> = path.split("::").filter(|step| !step.is_empty()).collect();
            let is_child =
                |step: &&str| module(&[&here[..], &[*step]].concat()).as_ref() != Some(own);
            let mut from = match steps.first() {
                Some(&"crate") => Vec::new(),
                Some(&"self" | &"super") => here.clone(),
                Some(step) if is_child(step) => here.clone(),
                _ => continue,
            };
            while let Some(&first) = steps.first() {
                match first {
                    "crate" | "self" => {}
                    "super" => drop(from.pop()),
                    _ => break,
                }
                steps.remove(0);
            }
            from.extend(steps);
            named.extend(module(&from).filter(|other| other != own));
        }
        imports.insert(own.clone(), named);
    }
    imports
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut left = imports();
    let arcs: usize = left.values().map(BTreeSet::len).sum();
    assert!(arcs > 100, "only {arcs} imports were found");
    // Whoever imports nobody that is left goes, and whom nobody imports that is left: circles stay.
    while let Some(free) = (left.iter())
        .find(|(own, named)| {
            named.iter().all(|other| !left.contains_key(other))
                || left.values().all(|named| !named.contains(*own))
        })
        .map(|(own, _)| own.clone())
    {
        left.remove(&free);
    }
    let rest: BTreeSet<String> = left.keys().cloned().collect();
    left.values_mut()
        .for_each(|named| named.retain(|other| rest.contains(other)));
    assert!(left.is_empty(), "they import each other: {left:#?}");
}

#[test]
fn only_main_ends_the_program() {
    for path in sources(&root().join("crates")) {
        let is_main = path.ends_with("src/main.rs");
        let is_product = path.components().any(|part| part.as_os_str() == "src");
        if is_product && !is_main {
            assert!(
                !product(&path).bare.contains("process::exit"),
                "{}",
                path.display()
            );
        }
    }
}

/// Options that libraries name, of other programs: those that they start, that people are told to call, or whose files are read.
const OTHERS: &[(&str, &[&str])] = &[
    ("cairn-formats/src/dagman/script.rs", &["-c", "-i"]),
    ("cairn-formats/src/dagman/submit.rs", &["-c"]),
    (
        "cairn-formats/src/elsewhere.rs",
        &["--dag", "--print-dot", "-t"],
    ),
    ("cairn-formats/src/load.rs", &["-f", "-l", "-t"]),
    ("cairn-formats/src/packing.rs", &["-d"]),
    (
        "cairn-formats/src/taskedge.rs",
        &[
            "--file-forward",
            "--pipe-forward",
            "--priority",
            "--request-cpus",
            "--request-memory",
            "--tries",
            "-F",
            "-c",
            "-f",
            "-m",
            "-p",
            "-t",
        ],
    ),
    ("cairn-formats/src/times.rs", &["-P"]),
    ("cairn-formats/src/times/ninja.rs", &["-t"]),
    ("cairn-formats/src/times/sacct.rs", &["-P", "-X", "-o"]),
    ("cairn-serve/src/spawn.rs", &["-u"]),
    ("cairn-serve/src/spawn/start.rs", &["-c"]),
    ("cairn-serve/src/work/start.rs", &["-c"]),
    ("cairn-submit/src/airflow.rs", &["-c"]),
    ("cairn-submit/src/dask.rs", &["-c"]),
    (
        "cairn-submit/src/hyperqueue.rs",
        &["--local", "--server-dir", "--wait", "-c"],
    ),
    ("cairn-submit/src/script.rs", &["-c", "-i", "-k", "-v"]),
    (
        "cairn-submit/src/slurm/crew.rs",
        &["-e", "-f", "-n", "-p", "-q"],
    ),
    (
        "cairn-submit/src/slurm/place.rs",
        &[
            "--hold",
            "--job-name",
            "--nice",
            "--open-mode",
            "--output",
            "--parsable",
            "--wrap",
            "-C",
            "-e",
            "-p",
            "-r",
        ],
    ),
    (
        "cairn-submit/src/slurm/tools.rs",
        &[
            "--array",
            "--chdir",
            "--comment",
            "--constraint",
            "--cpus-per-task",
            "--dependency",
            "--hold",
            "--job-name",
            "--kill-on-invalid-dep",
            "--me",
            "--mem",
            "--nice",
            "--ntasks",
            "--open-mode",
            "--output",
            "--parsable",
            "--time",
            "--version",
            "-h",
            "-n",
            "-o",
            "-r",
            "-t",
        ],
    ),
];

/// What looks like an option in a text: `--word`, or a dash and one letter.
fn flags(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    for word in text.split(|c: char| !is_part(c)) {
        let name = word.trim_start_matches('-');
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_flag = match word.len() - name.len() {
            1 => name.len() == 1,
            2 => name.starts_with(|c: char| c.is_ascii_lowercase()),
            _ => false,
        };
        if is_name && is_flag {
            found.insert(word.to_owned());
        }
    }
    found
}

/// A library serves others than the command line: it names no flag of ours, in no line of no string.
#[test]
fn libraries_know_no_flags() {
    let mut seen = 0;
    let mut named = BTreeSet::new();
    for name in [
        "kernel", "dag", "theory", "plan", "verify", "formats", "sim", "show", "engine", "serve",
        "submit", "py",
    ] {
        for path in sources(&root().join(format!("crates/cairn-{name}/src"))) {
            if path.to_str().unwrap().contains("test") {
                continue;
            }
            seen += 1;
            let place = path.to_str().unwrap().split("crates/").last().unwrap();
            let strings = product(&path).strings.into_iter();
            named.extend(
                strings
                    .flat_map(|(_, text)| flags(&text))
                    .map(|flag| (place.to_owned(), flag)),
            );
        }
    }
    assert!(seen > 400, "only {seen} files were found");
    let others = OTHERS.iter().flat_map(|(place, flags)| {
        flags
            .iter()
            .map(|flag| ((*place).to_owned(), (*flag).to_owned()))
    });
    let others: BTreeSet<(String, String)> = others.collect();
    let ours: Vec<_> = named.difference(&others).collect();
    assert!(ours.is_empty(), "libraries name flags: {ours:#?}");
    let gone: Vec<_> = others.difference(&named).collect();
    assert!(gone.is_empty(), "nobody names these any more: {gone:#?}");
}

/// The sources that a name of the map may mean: those whose path ends with it, beneath a folder.
fn meant<'a>(files: &'a [String], base: &str, name: &str) -> Vec<&'a str> {
    let ending = format!("/{name}");
    let is_meant = |file: &&String| file.starts_with(base) && file.ends_with(&ending);
    files.iter().filter(is_meant).map(String::as_str).collect()
}

/// Every file that ARCHITECTURE.md and docs/deciding.md name is there, and there is one of that name. A paragraph of the first that
/// begins with a crate speaks of its files, the second of the planner's.
#[test]
fn the_map_names_files_that_are_there() {
    let folder = root().join("crates");
    let name = |path: PathBuf| {
        let path = path.strip_prefix(&folder).unwrap().to_str().unwrap();
        format!("/{path}")
    };
    let is_product = |file: &String| !file.starts_with("/cairn-bench/") && file.contains("/src/");
    let files: Vec<String> = sources(&folder).into_iter().map(name).collect();
    let of_product: Vec<String> = files.iter().filter(|f| is_product(f)).cloned().collect();
    let mut seen = 0;
    let mut check = |paragraph: &str, base: &str| {
        let spans = paragraph.split('`').skip(1).step_by(2);
        for named in spans.filter(|named| named.ends_with(".rs")) {
            seen += 1;
            let named = named.strip_prefix("crates/").unwrap_or(named);
            let mut found = meant(&of_product, base, named);
            let at_top = format!("{base}{named}");
            if found.contains(&at_top.as_str()) {
                found = vec![&at_top];
            }
            if found.is_empty() {
                found = meant(&files, "/", named);
            }
            assert_eq!(found.len(), 1, "`{named}` may be any of {found:?}");
        }
    };
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let is_text = |paragraph: &&str| !paragraph.starts_with("```");
    for paragraph in read("ARCHITECTURE.md").split("\n\n").filter(is_text) {
        let base = match paragraph.starts_with("**") {
            true => format!("/{}", paragraph.split('`').nth(1).unwrap()),
            false => "/".to_owned(),
        };
        check(paragraph, &base);
    }
    for paragraph in read("docs/deciding.md").split("\n\n").filter(is_text) {
        check(paragraph, "/cairn-plan/src/");
    }
    assert!(seen > 300, "only {seen} names were found");
}

/// Whoever reads a clock, of the libraries that must not: each with its reason.
const CLOCKS: &[(&str, &str)] = &[
    (
        "cairn-py/src/work.rs",
        "drives: time limits and Ctrl-C, as `limits.rs` for the command line",
    ),
    (
        "cairn-submit/src/slurm/place.rs",
        "names a submission by when it was begun",
    ),
];

/// What decides is the same whenever it is asked, and is told to people by somebody else.
#[test]
fn what_decides_reads_no_clock_and_libraries_print_nothing() {
    let no_clock = [
        "kernel", "dag", "theory", "plan", "verify", "formats", "sim", "show", "engine", "submit",
        "py",
    ];
    for name in no_clock.into_iter().chain(["serve"]) {
        for path in sources(&root().join(format!("crates/cairn-{name}/src"))) {
            if path.to_str().unwrap().contains("test") {
                continue;
            }
            let code = product(&path).bare;
            for print in ["println!(", "print!("] {
                assert!(!code.contains(print), "{} prints", path.display());
            }
            let may = CLOCKS.iter().any(|(place, _)| path.ends_with(place));
            for clock in ["Instant::now", "SystemTime::now"] {
                let reads = no_clock.contains(&name) && !may && code.contains(clock);
                assert!(!reads, "{} reads a clock", path.display());
            }
        }
    }
}
