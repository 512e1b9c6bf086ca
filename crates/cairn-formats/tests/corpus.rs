//! Reads real workflows and compares their counts with a manifest that an independent reader made.

use cairn_dag::TaskId;
use cairn_formats::{Format, ReadLimits, Report, Source};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The manifest's names of formats.
const FORMATS: [(&str, Format); 10] = [
    ("WfFormat", Format::WfFormat),
    ("DAX", Format::Dax),
    ("PegasusYAML", Format::PegasusYaml),
    ("DOT", Format::Dot),
    ("GalaxyGA", Format::Galaxy),
    ("TaskclusterJSON", Format::Taskcluster),
    ("DAGMan", Format::Dagman),
    ("Makeflow", Format::Makeflow),
    ("STG", Format::Stg),
    ("TaskEdgeDAG", Format::TaskEdge),
];

/// How many kinds of job there are at the most, and the one with most tasks.
const KINDS: [(&str, usize, &str); 13] = [
    ("dot-snakemake-daylily.dot", 29, "deepvariant"),
    ("dot-nextflow-chipseq.dot", 89, "channel"),
    ("dot-ninja-llvm15.dot.zst", 1302, ".o"),
    ("galaxy-hic-map.ga.zst", 28, "Input parameter"),
    ("dax-montage-8deg.dax.gz", 9, "mDiffFit"),
    ("dax-rseqflow_qc.dax", 33, "gene_pred_to_bed"),
    ("wf16-synth-montage-50000.json.zst", 8, "mDiffFit"),
    ("wf15-montage-chameleon-dss-15d-001.json.zst", 8, "mDiffFit"),
    (
        "wf15-mag-dirt02-001.json.zst",
        36,
        "NFCORE_MAG.MAG.BUSCO_QC.BUSCO",
    ),
    (
        "wf15-epigenomics-chameleon-ilmn-6seq-50k-001.json.zst",
        8,
        "fast2bfq",
    ),
    (
        "taskcluster-translations-full-task-graph.json.zst",
        42,
        "dataset",
    ),
    ("taskedge-GENOME.n.1000.0.dag", 8, "fastq2bfq_chr21"),
    ("dagman-montage.dag", 14, "merge_mAdd"),
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
        let source = Source::load(&path, &ReadLimits::default(), &mut report).unwrap();
        let read = cairn_formats::read(&source, None, &mut report);
        compared += 1;
        if get("cyclic") == "True" {
            assert!(read.is_none());
            let said = &report.problems()[0].message;
            assert!(said.ends_with("in a cycle: B -> C -> B"), "{said}");
            continue;
        }
        let (detected, flow) =
            read.unwrap_or_else(|| panic!("{}: {:?}", path.display(), report.problems()));
        assert_eq!(report.problems(), [], "{}", path.display());
        assert_eq!(detected, *format, "{}", path.display());
        let dag = flow.dag();
        let is_isolated = |&t: &TaskId| dag.is_source(t) && dag.is_sink(t);
        let found = [
            ("isolated", dag.tasks().filter(is_isolated).count()),
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
    }
    assert_eq!(compared, 44);
}

/// The tasks of real workflows fall into kinds that a person can take in: at most so many, the largest first.
#[test]
fn kinds_of_real_workflows_are_few_and_have_names() {
    if !corpus().exists() {
        let mut err = std::io::stderr();
        writeln!(err, "SKIPPED: no corpus at {}", corpus().display()).unwrap();
        return;
    }
    for (file, most, largest) in KINDS {
        let path = corpus().join(file);
        let mut report = Report::default();
        let source = Source::load(&path, &ReadLimits::default(), &mut report).unwrap();
        let (_, flow) = cairn_formats::read(&source, None, &mut report).unwrap();
        let mut count: HashMap<&str, usize> = HashMap::new();
        for task in flow.dag().tasks() {
            *count.entry(flow.kind(task)).or_default() += 1;
        }
        let mut kinds: Vec<(&str, usize)> = count.into_iter().collect();
        kinds.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
        assert!(kinds.len() <= most, "{file}: {} kinds", kinds.len());
        assert_eq!(kinds[0].0, largest, "{file}");
    }
}
