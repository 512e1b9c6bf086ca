//! Mutates small files, a few thousand for each format, and asserts laws of whatever comes out. Runs on stable Rust,
//! the same inputs every time; `CAIRN_FUZZ=50 cargo test --release --test fuzz` runs fifty times as many.

mod seeds;

use cairn_dag::Flow;
use cairn_formats::{
    ExistingPriorities, Format, ReadLimits, Report, Source, detect, read, set_priorities, write,
};
use seeds::{BESIDE, NESTING, OF_LINES, PIECES};
use std::collections::HashMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Inputs for each format.
const INPUTS: usize = 2000;

struct Random(u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(4) == 0 {
            length - start
        } else {
            (length - start).min(12)
        };
        start..start + self.below(most + 1)
    }
}

/// A change or a few to one of the seeds: few, so that many mutants are still flows.
fn mutant(seeds: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    let changes = [1, 1, 1, 1, 2, 3, 4, 6][random.below(8)];
    for _ in 0..changes {
        let range = random.range(bytes.len());
        match random.below(11) {
            0 if !bytes.is_empty() => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            1 if random.below(4) == 0 => bytes.truncate(range.start),
            2 => drop(bytes.drain(range)),
            3 => {
                let copy = bytes[range].to_vec();
                let at = random.below(bytes.len() + 1);
                bytes.splice(at..at, copy);
            }
            4 | 5 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(range, piece.bytes());
            }
            9 if !words.is_empty() => {
                let word = words[random.below(words.len())];
                bytes.splice(range.start..range.start, word.bytes());
            }
            10 => duplicate_line(&mut bytes, range.start, random),
            6 => {
                let other = &seeds[random.below(seeds.len())];
                let piece = other[random.range(other.len())].to_vec();
                bytes.splice(range, piece);
            }
            7 if random.below(8) == 0 => {
                let piece = NESTING[random.below(NESTING.len())];
                let times = 1 << random.below(15);
                bytes.splice(range, piece.repeat(times).into_bytes());
            }
            _ => {
                // Swap two pieces: names, keywords, whole lines.
                let other = random.range(bytes.len());
                let (a, b) = (bytes[range.clone()].to_vec(), bytes[other.clone()].to_vec());
                if range.end <= other.start {
                    bytes.splice(other, a);
                    bytes.splice(range, b);
                }
            }
        }
        bytes.truncate(1 << 20);
    }
    bytes
}

/// Copies the line around `at` to another place.
fn duplicate_line(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let is_end = |b: &u8| *b == b'\n';
    let start = bytes[..at].iter().rposition(is_end).map_or(0, |i| i + 1);
    let end = bytes[at..].iter().position(is_end);
    let line = bytes[start..end.map_or(bytes.len(), |i| at + i + 1)].to_vec();
    let to = random.below(bytes.len() + 1);
    bytes.splice(to..to, line);
}

fn runs() -> usize {
    let scale = std::env::var("CAIRN_FUZZ")
        .ok()
        .and_then(|s| s.parse().ok());
    INPUTS * scale.unwrap_or(1)
}

fn examples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect();
    all.sort();
    all
}

/// The examples of a format; and one flow written in it, where it can be written.
fn seeds(format: Format) -> Vec<Vec<u8>> {
    let is_of = |(name, bytes): &(String, Vec<u8>)| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        detect(&Source::from_text(name.clone(), text)) == Ok(format)
    };
    let mut seeds: Vec<_> = examples()
        .into_iter()
        .filter(is_of)
        .map(|(_, bytes)| bytes)
        .collect();
    if format.can_write() {
        let text =
            "[[task]]\nname='a \"b\"'\n[[task]]\nname='c'\nafter='a \"b\"'\nrun='x'\nseconds=1\n";
        let source = Source::from_text("x.toml", text);
        let (_, flow) = read(&source, None, &mut Report::default()).unwrap();
        let mut bytes = Vec::new();
        if write(&flow, format, &mut bytes).is_ok() {
            seeds.push(bytes);
        }
    }
    seeds.extend(
        of_lines(format)
            .0
            .iter()
            .map(|seed| seed.as_bytes().to_vec()),
    );
    assert!(!seeds.is_empty(), "no seed for {}", format.name());
    seeds
}

/// Seeds and words of a format of lines; empty for others.
fn of_lines(format: Format) -> (&'static [&'static str], &'static [&'static str]) {
    let found = OF_LINES.iter().find(|(of, ..)| *of == format);
    found.map_or((&[], &[]), |(_, seeds, words)| (seeds, words))
}

/// Names and arcs, which every writer keeps.
fn shape(flow: &Flow) -> (Vec<String>, Vec<(u32, u32)>) {
    let names = flow.dag().tasks().map(|t| flow.name(t).to_owned());
    (
        names.collect(),
        flow.dag().arcs().map(|(p, c)| (p.0, c.0)).collect(),
    )
}

/// Reads, asserts what always holds, and tells whether there was a flow.
fn check(source: &Source, format: Option<Format>) -> bool {
    let mut report = Report::default();
    let result = read(source, format, &mut report);
    assert_eq!(
        result.is_none(),
        report.errors() > 0,
        "nothing without an error"
    );
    for problem in report.problems() {
        assert!(!problem.message.is_empty());
        assert!(!problem.place.file.is_empty());
        assert!(problem.place.text.chars().count() <= 122);
    }
    let Some((found, flow)) = result else {
        return false;
    };
    // What splices multiply is limited by the reader.
    assert!(found == Format::Dagman || flow.dag().len() <= source.text().len());
    assert_sound(&flow);
    assert_survives(&flow, Format::FlowJsonLines);
    if !of_lines(found).0.is_empty() {
        for to in [Format::Dagman, Format::Csv, Format::Tsv] {
            assert_survives(&flow, to);
        }
    }
    if found == Format::Dagman && source.path().is_some() {
        assert_priorities_can_be_set(source, &flow);
    }
    true
}

fn assert_sound(flow: &Flow) {
    let dag = flow.dag();
    assert_eq!(dag.topological_order().len(), dag.len());
    for (parent, child) in dag.arcs() {
        assert!(parent != child && dag.parents(child).contains(&parent));
    }
    for task in dag.tasks() {
        assert_eq!(flow.find(flow.name(task)), Some(task));
        assert!(flow.seconds(task).is_none_or(|s| s.is_finite() && s >= 0.0));
    }
}

/// Whatever was read can be written, and is the same dag when it is read back.
fn assert_survives(flow: &Flow, format: Format) {
    let mut out = Vec::new();
    write(flow, format, &mut out).unwrap();
    let written = Source::from_text("x", String::from_utf8(out).unwrap());
    let mut report = Report::default();
    let again = read(&written, Some(format), &mut report);
    let (_, again) = again.unwrap_or_else(|| panic!("{}: {report:?}", written.text()));
    assert_eq!(shape(&again), shape(flow));
}

/// Writing priorities into DAGMan files changes nothing else, and doing it again nothing at all.
fn assert_priorities_can_be_set(source: &Source, flow: &Flow) {
    let priority = |name: &str| (!name.len().is_multiple_of(3)).then_some(name.len() as i64 - 2);
    // What was written so far, by path.
    let mut written: HashMap<PathBuf, String> = HashMap::new();
    let path = source.path().expect("it was read from a file");
    for round in 0..2 {
        let load = |path: &Path, report: &mut Report| match written.get(path) {
            Some(text) => Some(Source::from_text(path.display().to_string(), &text[..])),
            None => Source::load_named_by_file(path, &ReadLimits::default(), report),
        };
        let replace = ExistingPriorities::Replace;
        let mut report = Report::default();
        let top = match written.get(path) {
            Some(text) => {
                std::fs::write(path, text).unwrap();
                Source::load(path, &ReadLimits::default(), &mut report).unwrap()
            }
            None => source.clone(),
        };
        let edited = set_priorities(
            &top,
            Format::Dagman,
            &mut { load },
            &priority,
            replace,
            &mut report,
        );
        let Ok(edited) = edited else {
            let text = source.text();
            assert!(
                round == 0 && text.contains('\\'),
                "only a dangling backslash may stop it: {text:?}"
            );
            return;
        };
        assert_eq!(shape(&edited.flow), shape(flow));
        for task in flow.dag().tasks() {
            assert_eq!(flow.command(task), edited.flow.command(task));
            assert_eq!(flow.retries(task), edited.flow.retries(task));
        }
        for file in edited.files {
            if round == 1 {
                let before = written.get(&file.path);
                let before = before
                    .cloned()
                    .unwrap_or_else(|| std::fs::read_to_string(&file.path).unwrap());
                assert_eq!(before, file.text, "twice is once");
            }
            written.insert(file.path, file.text);
        }
    }
}

fn fuzz(format: Format) {
    let seeds = seeds(format);
    let words = of_lines(format).1;
    let mut random = Random(format as u64 + 1);
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in BESIDE {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (mut slowest, mut flows) = (Duration::ZERO, 0);
    for i in 0..runs() {
        let bytes = mutant(&seeds, words, &mut random);
        let text = String::from_utf8_lossy(&bytes);
        let mut source = Source::from_text("fuzz", &*text);
        // A DAGMan file lies beside those that it names.
        let path = folder.path().join("top.dag");
        if format == Format::Dagman {
            std::fs::write(&path, &*text).unwrap();
            let loaded = Source::load(&path, &ReadLimits::default(), &mut Report::default());
            source = loaded.unwrap_or(source);
        }
        let start = Instant::now();
        // Every tenth is read in the format that it looks like now.
        let wanted = Some(format).filter(|_| i % 10 != 0);
        let result = catch_unwind(AssertUnwindSafe(|| check(&source, wanted)));
        flows += usize::from(matches!(result, Ok(true)));
        if let Err(panic) = result {
            let kept = std::env::temp_dir().join(format!("cairn-fuzz-{}-{i}", format.name()));
            std::fs::write(&kept, source.text()).unwrap();
            let mut err = std::io::stderr();
            writeln!(
                err,
                "input {i} for {} is kept in {}",
                format.name(),
                kept.display()
            )
            .unwrap();
            std::panic::resume_unwind(panic);
        }
        slowest = slowest.max(start.elapsed());
    }
    let mut err = std::io::stderr();
    writeln!(
        err,
        "fuzz {}: {} inputs, {flows} of them flows, slowest {slowest:.1?}",
        format.name(),
        runs()
    )
    .unwrap();
    assert!(slowest < Duration::from_secs(30), "{slowest:?}");
    assert!(flows > runs() / 100, "mutants should not all be broken");
    assert!(peak_memory() < 1 << 30, "{} bytes", peak_memory());
}

/// The most memory this process has held, in bytes; 0 where /proc does not tell.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

macro_rules! fuzz_tests {
    ($($name:ident $format:ident)*) => { $(
        #[test]
        fn $name() {
            fuzz(Format::$format);
        }
    )* };
}

fuzz_tests! {
    dagman Dagman
    wfformat WfFormat
    dax Dax
    pegasus_yaml PegasusYaml
    dot Dot
    makeflow Makeflow
    stg Stg
    galaxy Galaxy
    taskcluster Taskcluster
    taskedge TaskEdge
    csv Csv
    tsv Tsv
    flow_toml FlowToml
    flow_json FlowJson
    flow_json_lines FlowJsonLines
}

/// Whole files, packed and not, whose bytes are changed: what is no text any more, and what does not unpack.
#[test]
fn loading() {
    let mut seeds: Vec<Vec<u8>> = examples()
        .into_iter()
        .map(|(_, bytes)| bytes)
        .take(4)
        .collect();
    let packed: Vec<Vec<u8>> = seeds
        .iter()
        .map(|s| zstd::stream::encode_all(&s[..], 3).unwrap())
        .collect();
    for seed in seeds.clone() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&seed).unwrap();
        seeds.push(gzip.finish().unwrap());
    }
    seeds.extend(packed);
    let mut random = Random(99);
    let file = tempfile::NamedTempFile::new().unwrap();
    for _ in 0..runs() / 4 {
        let bytes = mutant(&seeds, &[], &mut random);
        std::fs::write(file.path(), &bytes).unwrap();
        let mut report = Report::default();
        match Source::load(file.path(), &ReadLimits::default(), &mut report) {
            Some(source) => {
                assert_eq!(report.errors(), 0);
                let _ = check(&source, None);
            }
            None => assert_eq!(report.errors(), 1),
        }
    }
}
