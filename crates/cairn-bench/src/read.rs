//! How fast files are read, and in how much memory: native JSON lines with a million tasks, and a large WfFormat
//! file of the corpus. Each reading happens in a process of its own, so that its peak memory is the reader's.

use crate::measure::{peak_memory, timed};
use crate::random::Random;
use cairn_formats::{ReadLimits, Report, Source};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Names the file that this process shall read; unset in the process that people start.
const CHILD: &str = "CAIRN_BENCH_READ";

/// The topic's entry point.
pub fn run() {
    if let Some(path) = std::env::var_os(CHILD) {
        read_and_tell(Path::new(&path));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the generated file");
    for (name, reach) in [
        ("parents-near.jsonl", 10_000),
        ("parents-anywhere.jsonl", u64::MAX),
    ] {
        let lines = folder.path().join(name);
        write_lines(&lines, 1_000_000, 3_000_000, reach).expect("room for the generated file");
        measure(&lines);
    }
    let corpus = std::env::var_os("CAIRN_CORPUS").map(PathBuf::from);
    let corpus = corpus
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    let montage = corpus.join("wf16-synth-montage-50000.json.zst");
    if montage.exists() {
        measure(&montage);
    } else {
        println!("SKIPPED: no corpus at {}", corpus.display());
    }
}

/// Reads `path` three times, each in a new process, and prints what they tell.
fn measure(path: &Path) {
    println!("{}", path.file_name().unwrap_or_default().display());
    for _ in 0..3 {
        let program = std::env::current_exe().expect("this program's path");
        let output = std::process::Command::new(program)
            .arg("read")
            .env(CHILD, path)
            .output()
            .expect("this program, again");
        let text = String::from_utf8_lossy(&output.stdout);
        for line in text.lines().filter(|l| l.starts_with("  ")) {
            println!("{line}");
        }
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Loads, parses and freezes the file; prints times, speed, and peak memory against the size of the text.
fn read_and_tell(path: &Path) {
    let mut report = Report::default();
    let start = processor_seconds();
    let (source, loading) = timed(|| Source::load(path, &ReadLimits::default(), &mut report));
    let source = source.unwrap_or_else(|| panic!("{:?}", report.problems()));
    let (flow, reading) = timed(|| cairn_formats::read(&source, None, &mut report));
    let (format, flow) = flow.unwrap_or_else(|| panic!("{:?}", report.problems()));
    let processor = processor_seconds() - start;
    let megabytes = source.text().len() as f64 / 1e6;
    let peak = peak_memory().map_or(f64::NAN, |bytes| bytes as f64 / 1e6);
    println!(
        "  {} {} tasks, {} arcs, {megabytes:.1} MB: load {loading:.2} s + parse and freeze {reading:.2} s = {:.0} MB/s \
         ({processor:.2} s of processor = {:.0} MB/s); peak {peak:.0} MB = {:.2} x the text; flow {:.0} MB",
        format.name(),
        flow.dag().len(),
        flow.dag().arc_count(),
        megabytes / (loading + reading),
        megabytes / processor,
        peak / megabytes,
        flow.heap_bytes() as f64 / 1e6,
    );
}

/// Seconds that this process has had a processor, to 1/100: on a busy machine they tell more than the clock.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Writes a random dag as native JSON lines: parents are drawn evenly from the `reach` tasks before. The farther they
/// are, the less do caches help.
fn write_lines(path: &Path, tasks: u64, arcs: u64, reach: u64) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    let mut random = Random(1);
    let mut written = 0;
    for task in 0..tasks {
        write!(out, "{{\"name\":\"task-{task:06}\"")?;
        // Spread what is left evenly over the tasks that are left.
        let wanted = (arcs - written).div_ceil(tasks - task).min(task);
        let mut parents: Vec<u64> = Vec::new();
        while (parents.len() as u64) < wanted {
            let parent = task - 1 - random.next() % task.min(reach);
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        for (i, parent) in parents.iter().enumerate() {
            let opening = if i == 0 { ",\"after\":[" } else { "," };
            write!(out, "{opening}\"task-{parent:06}\"")?;
        }
        let end = if parents.is_empty() { "}" } else { "]}" };
        writeln!(out, "{end}")?;
        written += wanted;
    }
    out.flush()
}
