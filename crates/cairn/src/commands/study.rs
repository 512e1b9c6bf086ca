//! `cairn study`: the published evaluation on any dags, as JSON, Markdown and heat maps. What is played stands in `grid.rs`
//! and `pools.rs`.

mod grid;
mod laboratory;
mod pools;

use self::laboratory::{Failed, Laboratory, Subject, note};
use super::world;
use crate::cli;
use crate::failure::Failure;
use crate::input;
use crate::limits::{Limits, is_interrupted};
use crate::output::Output;
use crate::screen;
use cairn_dag::{Family, FamilyOptions, Flow, plain};
use cairn_sim::{Options, World};
use serde_json::{Value, json};
use std::path::Path;

/// What is studied, where and how often, checked.
pub(crate) struct Settings {
    flags: cli::Study,
    options: Options<'static>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Study) -> Result<Settings, Failure> {
        let options = Options {
            stop: Some(&is_interrupted),
            ..world::options(&flags.runs)?
        };
        for &gap in &flags.gaps {
            World::batches(gap, 1.0).map_err(world::refused)?;
        }
        for &size in &flags.sizes {
            World::batches(1.0, size).map_err(world::refused)?;
        }
        world::check_durations(flags.durations)?;
        Ok(Settings {
            limits: Limits::new(&flags.limits)?,
            options,
            flags,
        })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let flags = &settings.flags;
    let (subjects, mut failed) = subjects(flags, out)?;
    std::fs::create_dir_all(&flags.out)
        .map_err(|e| Failure::writing(&flags.out.display().to_string(), &e))?;
    let laboratory = Laboratory {
        flags,
        options: settings.options,
        limits: settings.limits,
        out,
    };
    let (mut value, mut text) = if flags.pools {
        pools::study(&laboratory, &subjects, &mut failed)?
    } else {
        grid::study(&laboratory, &subjects, &mut failed)?
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
    laboratory.write("study.json", format!("{value:#}\n").as_bytes())?;
    laboratory.write("study.md", text.as_bytes())?;
    out.remark(&format!(
        "wrote study.json and study.md into {}",
        screen::path(&flags.out)
    ));
    out.done(&value, &text)?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::No),
    }
}

/// All are read before the first is simulated, so that a bad one is told at once. With none good, the command fails.
fn subjects(settings: &cli::Study, out: &Output) -> Result<(Vec<Subject>, Failed), Failure> {
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
            format: None,
        });
        let read = read.and_then(|read| {
            out.warnings(&read.report);
            let taken = world::durations(settings.durations, &read.flow)?;
            Ok((read.flow, taken))
        });
        let (flow, taken) = match read {
            Ok(read) => read,
            Err(failure) if settings.files.len() == 1 => return Err(failure),
            Err(failure) => {
                note(&mut failed, &shown, &failure, out);
                continue;
            }
        };
        let plain = plain_name(file);
        let mut name = plain.clone();
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
