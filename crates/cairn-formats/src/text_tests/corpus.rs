//! The line-based files of the corpus against the counts that an independent reader found.

use super::support::problems;
use crate::{Report, Source, dagman, makeflow, stg, taskedge};
use cairn_dag::Flow;
use std::path::{Path, PathBuf};

/// The folder of real workflows, unless it is absent.
fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("CAIRN_CORPUS").map_or(beside, PathBuf::from);
    folder.join("manifest.csv").is_file().then_some(folder)
}

/// The rows of the manifest, each as a lookup by column.
fn manifest(folder: &Path) -> Vec<impl Fn(&str) -> String + use<>> {
    let text = std::fs::read_to_string(folder.join("manifest.csv")).unwrap();
    let split = |line: &str| {
        let mut fields = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                c => fields.last_mut().unwrap().push(c),
            }
        }
        fields
    };
    let mut lines = text.lines();
    let columns = split(lines.next().unwrap());
    let row = |line: &str| {
        let (columns, fields) = (columns.clone(), split(line));
        move |column: &str| fields[columns.iter().position(|c| c == column).unwrap()].clone()
    };
    lines.map(row).collect()
}

fn load(path: &Path, report: &mut Report) -> Option<Source> {
    let name = path.display().to_string();
    let Ok(bytes) = std::fs::read(path) else {
        report.error(Source::from_text(name, "").place(), "cannot be read", "");
        return None;
    };
    let bytes = match path.extension().is_some_and(|extension| extension == "zst") {
        true => zstd::decode_all(&bytes[..]).unwrap(),
        false => bytes,
    };
    Some(Source::from_text(name, String::from_utf8(bytes).unwrap()))
}

fn read(format: &str, path: &Path, report: &mut Report) -> Option<Flow> {
    let source = load(path, report)?;
    let folder = path.parent().unwrap();
    let mut beside = |path: &Path, report: &mut Report| load(&folder.join(path), report);
    match format {
        "DAGMan" => dagman::read(&source, &mut beside, report),
        "Makeflow" => makeflow::read(&source, report),
        "STG" => stg::read(&source, report),
        "TaskEdgeDAG" => taskedge::read(&source, report),
        _ => unreachable!(),
    }
}

fn skipped() {
    let mut stderr = std::io::stderr();
    let line = b"SKIPPED: the corpus of real workflows is absent\n";
    std::io::Write::write_all(&mut stderr, line).unwrap();
}

#[test]
fn priorities_go_into_real_dagman_files_and_nothing_else_changes() {
    let Some(folder) = corpus() else {
        return skipped();
    };
    for row in manifest(&folder) {
        if row("format") != "DAGMan" || row("cyclic") == "True" {
            continue;
        }
        let mut report = Report::default();
        let path = folder.join(row("file"));
        let flow = read("DAGMan", &path, &mut report).unwrap();
        let source = load(&path, &mut report).unwrap();
        let mut beside =
            |file: &Path, report: &mut Report| load(&path.with_file_name(file), report);
        let priority = |name: &str| flow.find(name).map(|task| i64::from(task.0));
        let replace = dagman::ExistingPriorities::Replace;
        let edited =
            dagman::set_dagman_priorities(&source, &mut beside, &priority, replace, &mut report)
                .unwrap();
        let other_lines = |text: &str| {
            let is_priority = |line: &&str| line.to_lowercase().starts_with("priority ");
            let kept = text.split_inclusive('\n').filter(|line| !is_priority(line));
            kept.collect::<String>().trim_end().to_owned()
        };
        for edited in &edited {
            let old = load(Path::new(&edited.name), &mut report).unwrap();
            assert_eq!(
                other_lines(old.text()),
                other_lines(&edited.text),
                "{}",
                edited.name
            );
        }
        if edited.len() > 1 {
            continue;
        }
        let top = Source::from_text("edited.dag", &edited[0].text[..]);
        let again = dagman::read(&top, &mut beside, &mut report).unwrap();
        for task in again
            .dag()
            .tasks()
            .filter(|&task| again.priority(task).is_some())
        {
            assert_eq!(
                again.priority(task),
                Some(i64::from(task.0)),
                "{}",
                again.name(task)
            );
        }
    }
}

#[test]
fn counts_equal_the_manifest() {
    let Some(folder) = corpus() else {
        return skipped();
    };
    let mut seen = 0;
    for row in manifest(&folder) {
        let (file, format) = (row("file"), row("format"));
        if !["DAGMan", "Makeflow", "STG", "TaskEdgeDAG"].contains(&&*format) {
            continue;
        }
        seen += 1;
        let mut report = Report::default();
        let flow = read(&format, &folder.join(&file), &mut report);
        if row("cyclic") == "True" {
            assert!(flow.is_none());
            let said = problems(&report);
            assert!(
                said.contains("tasks wait for each other in a cycle: B -> C -> B;"),
                "{said}"
            );
            continue;
        }
        assert_eq!(problems(&report), "", "{file}");
        let flow = flow.unwrap();
        let dag = flow.dag();
        let isolated = dag
            .tasks()
            .filter(|&t| dag.is_source(t) && dag.is_sink(t))
            .count();
        let counts = [
            ("tasks", dag.len()),
            ("edges", dag.arc_count()),
            ("sources", dag.sources().count()),
            ("sinks", dag.sinks().count()),
            ("isolated", isolated),
        ];
        for (column, count) in counts {
            assert_eq!(row(column), count.to_string(), "{column} of {file}");
        }
    }
    assert_eq!(seen, 15);
}
