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
        let here: Vec<&str> = own.split("::").collect();
        let code = product(path);
        let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let mut named = BTreeSet::new();
        for word in words {
            let mut steps: Vec<&str> = word.split("::").filter(|step| !step.is_empty()).collect();
            let mut from = match steps.first() {
                Some(&"crate") => Vec::new(),
                Some(&"self" | &"super") if steps.len() > 1 => here.clone(),
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
    // Whoever imports nobody that is left goes.
    while let Some(free) = (left.iter())
        .find(|(_, named)| named.iter().all(|other| !left.contains_key(other)))
        .map(|(own, _)| own.clone())
    {
        left.remove(&free);
    }
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

/// A library serves others than the command line: it names no flag of ours. Two files speak of other people's.
#[test]
fn libraries_know_no_flags() {
    let others = ["taskedge.rs", "elsewhere.rs"];
    let mut seen = 0;
    for name in [
        "kernel", "dag", "theory", "plan", "verify", "formats", "sim", "show",
    ] {
        for path in sources(&root().join(format!("crates/cairn-{name}/src"))) {
            let file = path.file_name().unwrap().to_str().unwrap();
            if others.contains(&file) || file.contains("test") {
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
    assert!(seen > 80, "only {seen} files were found");
}
