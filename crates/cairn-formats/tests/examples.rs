//! Every example is read, in the format that it is meant to show, without a word of complaint.

use cairn_formats::{Format, ReadLimits, Report, Source, detect, read};
use std::path::Path;

/// File, format, tasks, arcs.
const EXAMPLES: [(&str, Format, usize, usize); 14] = [
    ("word-count.toml", Format::FlowToml, 13, 16),
    ("sweep.jsonl", Format::FlowJsonLines, 17, 27),
    ("release.json", Format::FlowJson, 13, 18),
    ("variant-calling.json", Format::WfFormat, 20, 24),
    ("release.dag", Format::Dagman, 13, 18),
    ("mosaic.yml", Format::PegasusYaml, 14, 22),
    ("mosaic.dax", Format::Dax, 14, 22),
    ("nightly.dot", Format::Dot, 16, 21),
    ("thumbnails.makeflow", Format::Makeflow, 7, 10),
    ("stencil.stg", Format::Stg, 11, 14),
    ("courses.csv", Format::Csv, 11, 17),
    ("survey.taskedge", Format::TaskEdge, 10, 13),
    ("read-mapping.ga", Format::Galaxy, 8, 9),
    ("checks.json", Format::Taskcluster, 8, 11),
];

#[test]
fn examples_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (name, format, tasks, arcs) in EXAMPLES {
        let mut report = Report::default();
        let source = Source::load(&folder.join(name), &ReadLimits::default(), &mut report).unwrap();
        assert_eq!(detect(&source), Ok(format), "{name}");
        let unnamed = Source::from_text("-", source.text());
        assert_eq!(
            detect(&unnamed).ok(),
            Some(format).filter(|_| !name.ends_with("csv")),
            "{name}"
        );
        let flow = read(&source, None, &mut report).map(|(_, flow)| flow);
        assert_eq!(report.problems(), [], "{name}");
        let dag = flow.unwrap().dag().clone();
        assert_eq!((dag.len(), dag.arc_count()), (tasks, arcs), "{name}");
    }
    let shown = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(
        shown,
        EXAMPLES.len() + 1,
        "an example or the README is missing here"
    );
}

/// The commands of one example really run, in any order that respects the arcs.
#[test]
fn word_count_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/word-count.toml");
    let mut report = Report::default();
    let source = Source::load(&path, &ReadLimits::default(), &mut report).unwrap();
    let (_, flow) = read(&source, None, &mut report).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for &task in flow.dag().topological_order() {
        let command = flow.command(task).unwrap().replace("; sleep 1", "");
        let mut shell = std::process::Command::new("sh");
        let status = shell
            .arg("-ec")
            .arg(&command)
            .current_dir(folder.path())
            .status();
        assert!(status.unwrap().success(), "{command}");
        for file in flow.outputs(task) {
            assert!(folder.path().join(file.path).exists(), "{}", file.path);
        }
    }
    let report = std::fs::read_to_string(folder.path().join("report")).unwrap();
    assert!(
        report.contains("5 the") && report.contains("7 watched"),
        "{report}"
    );
}
