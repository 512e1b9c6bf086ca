//! Reads real workflows and compares their counts with a manifest that an independent reader made.

use cairn_formats::{Format, Limits, Report, Source};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The manifest's names of formats.
const FORMATS: [(&str, Format); 6] = [
    ("WfFormat", Format::WfFormat),
    ("DAX", Format::Dax),
    ("PegasusYAML", Format::PegasusYaml),
    ("DOT", Format::Dot),
    ("GalaxyGA", Format::Galaxy),
    ("TaskclusterJSON", Format::Taskcluster),
];

fn corpus() -> PathBuf {
    match std::env::var_os("CAIRN_CORPUS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
    }
}

/// The fields of one line of CSV, where a quoted field may hold commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

#[test]
fn counts_equal_the_manifest() {
    let corpus = corpus();
    let Ok(manifest) = std::fs::read_to_string(corpus.join("manifest.csv")) else {
        let mut err = std::io::stderr();
        writeln!(err, "SKIPPED: no corpus at {}", corpus.display()).unwrap();
        return;
    };
    let mut lines = manifest.lines().map(fields);
    let header = lines.next().unwrap();
    let mut compared = 0;
    for row in lines {
        let get = |column: &str| &row[header.iter().position(|h| h == column).unwrap()][..];
        let Some((_, format)) = FORMATS.iter().find(|(name, _)| *name == get("format")) else {
            continue;
        };
        let mut report = Report::default();
        let path = corpus.join(get("file"));
        let source = Source::load(&path, &Limits::default(), &mut report).unwrap();
        let (detected, flow) = cairn_formats::read(&source, None, &mut report)
            .unwrap_or_else(|| panic!("{}: {:?}", path.display(), report.problems()));
        assert_eq!(report.problems(), [], "{}", path.display());
        assert_eq!(detected, *format, "{}", path.display());
        let dag = flow.dag();
        let found = [
            ("tasks", dag.len()),
            ("edges", dag.arc_count()),
            ("sources", dag.sources().count()),
            ("sinks", dag.sinks().count()),
        ];
        for (column, count) in found {
            assert_eq!(
                count.to_string(),
                get(column),
                "{}: {column}",
                path.display()
            );
        }
        // The manifest counts durations in WfFormat only.
        let timed = dag.tasks().filter(|&t| flow.seconds(t).is_some()).count();
        let expected = get("runtimes");
        assert!(
            expected.is_empty() || timed.to_string() == expected,
            "{}: {timed} durations",
            path.display()
        );
        compared += 1;
    }
    assert_eq!(compared, 29);
}
