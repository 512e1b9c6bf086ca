//! The walls of the command line: who imports whom, who ends the program, who knows a flag.

mod common;

use common::root;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// The product's lines of a source: no comments, no tests below.
fn product(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code = |line: &str| line.split("//").next().unwrap_or("").to_owned() + "\n";
    text.lines().map(code).collect()
}

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
        for path in paths(&product(path)) {
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
                !product(&path).contains("process::exit"),
                "{}",
                path.display()
            );
        }
    }
}

/// A library serves others than the command line: it names no flag of ours. Some files speak of other programs' options, one of
/// those of the small process that it starts itself, and one writes a script that calls the command line.
#[test]
fn libraries_know_no_flags() {
    let others = [
        "cairn-formats/src/taskedge.rs",
        "cairn-formats/src/elsewhere.rs",
        "cairn-serve/src/work/start.rs",
        "cairn-submit/src/hyperqueue.rs",
        "cairn-submit/src/slurm/crew.rs",
        "cairn-submit/src/slurm/place.rs",
        "cairn-submit/src/slurm/tools.rs",
    ];
    let mut seen = 0;
    for name in [
        "kernel", "dag", "theory", "plan", "verify", "formats", "sim", "show", "engine", "serve",
        "submit",
    ] {
        for path in sources(&root().join(format!("crates/cairn-{name}/src"))) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let is_other = |other: &&str| path.ends_with(other);
            if others.iter().any(is_other) || file.contains("test") {
                continue;
            }
            seen += 1;
            for line in product(&path).lines().filter(|line| line.contains('"')) {
                let is_flag = |after: &str| after.starts_with(|c: char| c.is_ascii_lowercase());
                let flags = line.split("--").skip(1).filter(|after| is_flag(after));
                assert_eq!(flags.count(), 0, "{}: {line}", path.display());
            }
        }
    }
    assert!(seen > 400, "only {seen} files were found");
}

/// The sources that a name of the map may mean: those whose path ends with it, beneath a folder.
fn meant<'a>(files: &'a [String], base: &str, name: &str) -> Vec<&'a str> {
    let ending = format!("/{name}");
    let is_meant = |file: &&String| file.starts_with(base) && file.ends_with(&ending);
    files.iter().filter(is_meant).map(String::as_str).collect()
}

/// Every file that ARCHITECTURE.md names is there, and there is one of that name. A paragraph that begins with a crate speaks of
/// its files.
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
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut seen = 0;
    for paragraph in map.split("\n\n").filter(|p| !p.starts_with("```")) {
        let mut spans = paragraph.split('`').skip(1).step_by(2).peekable();
        let base = match paragraph.starts_with("**") {
            true => format!("/{}", spans.peek().unwrap()),
            false => "/".to_owned(),
        };
        for named in spans.filter(|named| named.ends_with(".rs")) {
            seen += 1;
            let named = named.strip_prefix("crates/").unwrap_or(named);
            let mut found = meant(&of_product, &base, named);
            let at_top = format!("{base}{named}");
            if found.contains(&at_top.as_str()) {
                found = vec![&at_top];
            }
            if found.is_empty() {
                found = meant(&files, "/", named);
            }
            assert_eq!(found.len(), 1, "`{named}` may be any of {found:?}");
        }
    }
    assert!(seen > 300, "only {seen} names were found");
}

/// What decides is the same whenever it is asked, and is told to people by somebody else.
#[test]
fn what_decides_reads_no_clock_and_libraries_print_nothing() {
    let no_clock = [
        "kernel", "dag", "theory", "plan", "verify", "formats", "sim", "show", "engine",
    ];
    for name in no_clock.into_iter().chain(["serve", "submit", "py"]) {
        for path in sources(&root().join(format!("crates/cairn-{name}/src"))) {
            if path.to_str().unwrap().contains("test") {
                continue;
            }
            let code = product(&path);
            for print in ["println!(", "print!("] {
                assert!(!code.contains(print), "{} prints", path.display());
            }
            for clock in ["Instant::now", "SystemTime::now"] {
                let reads = no_clock.contains(&name) && code.contains(clock);
                assert!(!reads, "{} reads a clock", path.display());
            }
        }
    }
}
