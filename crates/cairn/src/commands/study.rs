//! `cairn simulate --grid` and `--pools`, and `cairn study`, which is the same with the published study's policies: many worlds
//! on any dags, as JSON, Markdown and heat maps. What is played stands in `grid.rs` and `pools.rs`.

mod grid;
mod laboratory;
mod pools;

use self::laboratory::{Failed, Laboratory, Subject, note};
use super::contender::{check_names, name};
use super::world;
use crate::cli::{self, Contender, Policy, Wanted};
use crate::failure::Failure;
use crate::input::{self, Named};
use crate::limits::{Limits, is_interrupted};
use crate::output::Output;
use crate::screen;
use crate::spare;
use crate::spread::Durations;
use cairn_dag::{Family, FamilyOptions, Flow, plain};
use cairn_plan::Work;
use cairn_sim::{Options, World};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The gaps and sizes of the published grid.
const GAPS: [f64; 9] = [0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0];
const SIZES: [f64; 13] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0,
];

/// The policies of the published study, the first against each other.
// ic against the two that DAGMan and most schedulers have.
const PUBLISHED: [Policy; 3] = [Policy::Ic, Policy::Fifo, Policy::CriticalPath];

/// What is studied, where and how often, checked.
pub(crate) struct Settings {
    /// None: AIRSN.
    files: Vec<PathBuf>,
    format: Option<String>,
    /// The folder to write to.
    folder: PathBuf,
    worlds: Worlds,
    /// The first against each other.
    policies: Vec<Contender>,
    durations: Option<Durations>,
    options: Options<'static>,
    pub(crate) limits: Limits,
}

/// Where policies are played.
enum Worlds {
    Grid { gaps: Vec<f64>, sizes: Vec<f64> },
    Pools,
}

impl Worlds {
    fn new(pools: bool, gaps: Vec<f64>, sizes: Vec<f64>) -> Result<Worlds, Failure> {
        if pools {
            return Ok(Worlds::Pools);
        }
        let or = |given: Vec<f64>, usual: &[f64]| match given.is_empty() {
            true => usual.to_vec(),
            false => given,
        };
        let (gaps, sizes) = (or(gaps, &GAPS), or(sizes, &SIZES));
        for &gap in &gaps {
            World::batches(gap, 1.0).map_err(world::refused)?;
        }
        for &size in &sizes {
            World::batches(1.0, size).map_err(world::refused)?;
        }
        Ok(Worlds::Grid { gaps, sizes })
    }
}

/// What is written for all subjects together.
const JSON: &str = "study.json";
const MARKDOWN: &str = "study.md";

/// Every workflow can be read, and none that is read is written over.
fn check_folder(files: &[PathBuf], folder: &Path) -> Result<(), Failure> {
    Named::of("a workflow", files).checked()?;
    let cure = "name another folder with -o";
    spare::can_be_folder(folder)?;
    let mut made = [JSON, MARKDOWN].into_iter();
    made.try_for_each(|name| spare::none_of(files, &folder.join(name), cure))
}

/// Runs until Ctrl-C.
fn options(runs: &cli::Runs) -> Result<Options<'static>, Failure> {
    Ok(Options {
        work: Work::until(&is_interrupted),
        ..world::options(runs)?
    })
}

impl Settings {
    pub(crate) fn new(flags: cli::Study) -> Result<Settings, Failure> {
        world::check_durations(flags.durations)?;
        check_folder(&flags.files, &flags.out)?;
        let listed = |&p: &Policy| Contender::Listed(Wanted::Given(p));
        Ok(Settings {
            files: flags.files,
            format: None,
            folder: flags.out,
            options: options(&flags.runs)?,
            worlds: Worlds::new(flags.pools, flags.gaps, flags.sizes)?,
            policies: PUBLISHED.iter().map(listed).collect(),
            durations: flags.durations,
            limits: Limits::new(&flags.limits)?,
        })
    }

    /// The same from the flags of `simulate`.
    pub(crate) fn of_simulate(flags: cli::Simulate) -> Result<Settings, Failure> {
        let [folder] = &flags.out[..] else {
            return Err(Failure::usage(
                "--grid and --pools write several files into one folder",
                "name it once, as in -o study",
            ));
        };
        world::check_durations(flags.durations)?;
        let files: Vec<PathBuf> = std::iter::once(flags.input.file)
            .chain(flags.more)
            .collect();
        check_folder(&files, folder)?;
        check_names(&flags.policies)?;
        if flags.policies.len() < 2 {
            return Err(Failure::usage(
                "--grid and --pools show ratios, and one policy has none",
                "name at least two, such as --policies auto,critical-path,fifo",
            ));
        }
        Ok(Settings {
            folder: folder.clone(),
            files,
            format: flags.input.format,
            options: options(&flags.runs)?,
            worlds: Worlds::new(flags.pools, flags.gaps, flags.sizes)?,
            policies: flags.policies,
            durations: flags.durations,
            limits: Limits::new(&flags.limits)?,
        })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let (subjects, mut failed) = subjects(settings, out)?;
    // After reading and before the first simulation: hours of work must not end at a folder.
    std::fs::create_dir_all(&settings.folder)
        .map_err(|e| Failure::writing(&settings.folder.display().to_string(), &e))?;
    let laboratory = Laboratory {
        folder: &settings.folder,
        policies: &settings.policies,
        names: settings.policies.iter().map(name).collect(),
        options: settings.options.clone(),
        limits: settings.limits,
        out,
    };
    let (mut value, mut text) = match &settings.worlds {
        Worlds::Pools => pools::study(&laboratory, &subjects, &mut failed)?,
        Worlds::Grid { gaps, sizes } => {
            grid::study(&laboratory, (gaps, sizes), &subjects, &mut failed)?
        }
    };
    if !failed.is_empty() {
        text += "\nNot studied:\n\n";
    }
    for (file, why) in &failed {
        text += &format!("- {}: {}\n", plain(file), plain(why));
    }
    let failed: Vec<Value> = (failed.iter())
        .map(|(file, why)| json!({ "file": file, "error": why }))
        .collect();
    value["failed"] = json!(failed);
    laboratory.write(JSON, format!("{value:#}\n").as_bytes())?;
    laboratory.write(MARKDOWN, text.as_bytes())?;
    out.remark(&format!(
        "wrote study.json and study.md into {}",
        screen::path(&settings.folder)
    ));
    out.done(&value, &text)?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::No),
    }
}

/// All are read before the first is simulated, so that a bad one is told at once. With none good, the command fails.
fn subjects(settings: &Settings, out: &Output) -> Result<(Vec<Subject>, Failed), Failure> {
    if settings.files.is_empty() {
        let family = Family::parse("airsn", &["250"], &FamilyOptions::default());
        let dag = family.and_then(|f| f.build(1));
        let dag = dag.map_err(|e| Failure::usage(e.to_string(), "give a file instead"))?;
        let flow = Flow::numbered(&dag);
        let name = "airsn-250".to_owned();
        let subject = Subject {
            taken: world::durations(settings.durations, &flow)?,
            file: name.clone(),
            name,
            flow,
        };
        return Ok((vec![subject], Vec::new()));
    }
    let mut subjects: Vec<Subject> = Vec::new();
    let mut failed = Vec::new();
    for file in &settings.files {
        let shown = file.display().to_string();
        let read = input::read(&cli::Input {
            file: file.clone(),
            format: settings.format.clone(),
        });
        let read = read.and_then(|read| {
            out.warnings(&read.report);
            let taken = world::durations(settings.durations, &read.flow)?;
            Ok((read.flow, taken))
        });
        let (flow, taken) = match read {
            Ok(read) => read,
            // One file alone is what was asked for: its failure is the answer.
            Err(failure) if settings.files.len() == 1 => return Err(failure),
            Err(failure) => {
                note(&mut failed, &shown, &failure, out);
                continue;
            }
        };
        let plain = plain_name(file);
        let mut name = plain.clone();
        // Files of one name from different folders: heat maps are named by it.
        for again in 2.. {
            if subjects.iter().all(|s| s.name != name) {
                break;
            }
            name = format!("{plain}-{again}");
        }
        subjects.push(Subject {
            name,
            file: shown,
            flow,
            taken,
        });
    }
    if subjects.is_empty() {
        return Err(Failure::usage(
            format!("none of the {} files can be studied", failed.len()),
            "see what is said of each",
        ));
    }
    Ok((subjects, failed))
}

/// The file's name without folder and extensions, in letters that every file system takes.
fn plain_name(file: &Path) -> String {
    let name = file.file_name().and_then(|n| n.to_str()).unwrap_or("dag");
    let mut name = name;
    for extension in [
        ".gz", ".zst", ".json", ".jsonl", ".dag", ".dax", ".xml", ".dot", ".toml", ".yml", ".yaml",
    ] {
        name = name.strip_suffix(extension).unwrap_or(name);
    }
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c,
        _ => '-',
    };
    match name.chars().map(plain).collect::<String>() {
        name if name.trim_matches(['.', '-']).is_empty() => "dag".to_owned(),
        name => name,
    }
}
