//! Sets priorities in real workflows: the dag stays, the numbers are read back, and twice is once.

use cairn_dag::Flow;
use cairn_formats::{
    EditedFile, ExistingPriorities, Format, ReadLimits, Report, Source, read, set_priorities,
};
use std::io::Write;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    match std::env::var_os("CAIRN_CORPUS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
    }
}

fn load(path: &Path, report: &mut Report) -> Option<Source> {
    Source::load_named_by_file(path, &ReadLimits::default(), report)
}

/// Later tasks first, so that no two priorities are equal.
fn set(source: &Source, format: Format, flow: &Flow) -> (Vec<EditedFile>, Report) {
    let mut report = Report::default();
    let rank = |name: &str| flow.find(name).map(|task| i64::from(task.0) + 1);
    let replace = ExistingPriorities::Replace;
    let set = set_priorities(source, format, &mut load, &rank, replace, &mut report);
    let set = set.unwrap_or_else(|e| panic!("{}: {e}", source.name()));
    (set.files, report)
}

/// Copies an entry, with all that lies beside and below it if it has a folder of its own.
fn copy(corpus: &Path, file: &str, to: &Path) -> PathBuf {
    let path = corpus.join(file);
    match path.parent().filter(|folder| *folder != corpus) {
        Some(own) => copy_tree(own, to),
        None => drop(std::fs::copy(&path, to.join(file)).unwrap()),
    }
    to.join(path.file_name().unwrap())
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let entry = entry.unwrap().path();
        let target = to.join(entry.file_name().unwrap());
        match entry.is_dir() {
            true => copy_tree(&entry, &target),
            false => drop(std::fs::copy(&entry, &target).unwrap()),
        }
    }
}

fn read_file(path: &Path) -> Option<(Source, Format, Flow)> {
    let mut report = Report::default();
    let source = Source::load(path, &ReadLimits::default(), &mut report)?;
    let (format, flow) = read(&source, None, &mut report)?;
    Some((source, format, flow))
}

#[test]
fn real_workflows_take_priorities_and_keep_their_dag() {
    let corpus = corpus();
    let Ok(manifest) = std::fs::read_to_string(corpus.join("manifest.csv")) else {
        let mut err = std::io::stderr();
        writeln!(err, "SKIPPED: no corpus at {}", corpus.display()).unwrap();
        return;
    };
    let kinds = ["DAGMan", "WfFormat", "DOT", "DAX", "PegasusYAML"];
    let mut edited = [0; 5];
    for row in manifest.lines().skip(1) {
        let mut fields = row.split(',');
        let (file, format) = (fields.next().unwrap(), fields.next().unwrap());
        let Some(kind) = kinds.iter().position(|kind| *kind == format) else {
            continue;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = copy(&corpus, file, folder.path());
        let Some((source, format, flow)) = read_file(&path) else {
            assert!(file.contains("cycle"), "{file}");
            continue;
        };
        let (files, report) = set(&source, format, &flow);
        let only_added = is_subsequence(source.text(), &files[0].text);
        assert!(only_added || has_priorities(&flow), "{file}");
        for file in &files {
            std::fs::write(&file.path, &file.text).unwrap();
        }
        let (new_source, new_format, after) = read_file(&path).unwrap();
        assert_eq!(
            (new_format, after.dag().len()),
            (format, flow.dag().len()),
            "{file}"
        );
        assert!(after.dag().arcs().eq(flow.dag().arcs()), "{file}");
        let mut others = 0;
        for task in flow.dag().tasks() {
            assert_eq!(after.name(task), flow.name(task), "{file}");
            others += usize::from(after.priority(task) != Some(i64::from(task.0) + 1));
        }
        // A file that several splices share can say one number for all its copies, and says so; DAGMan's special
        // nodes have none.
        assert!(
            others == special_nodes(&source) || report.warnings() > 0,
            "{file}: {others}"
        );
        let (again, _) = set(&new_source, format, &flow);
        for file in &again {
            assert_eq!(
                std::fs::read_to_string(&file.path).unwrap(),
                file.text,
                "twice is once"
            );
        }
        edited[kind] += 1;
    }
    assert_eq!(edited, [11, 17, 3, 5, 2], "acyclic entries of each format");
}

fn special_nodes(source: &Source) -> usize {
    let is_special = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or("");
        ["final", "provisioner", "service"].contains(&&word.to_ascii_lowercase()[..])
    };
    source.text().lines().filter(is_special).count()
}

fn has_priorities(flow: &Flow) -> bool {
    flow.dag().tasks().any(|t| flow.priority(t).is_some())
}

fn is_subsequence(old: &str, new: &str) -> bool {
    let mut rest = new.bytes();
    old.bytes().all(|byte| rest.any(|other| other == byte))
}
