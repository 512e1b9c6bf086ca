//! `cairn study`: the published evaluation on any dags, as JSON, Markdown and heat maps.

use super::contender::simulated;
use super::pictures::{not_drawn, write_bytes};
use super::simulate::{self, estimate};
use super::world::{self, Taken};
use crate::cli::{self, Contender, Policy};
use crate::failure::Failure;
use crate::input;
use crate::limits;
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use cairn_dag::{Family, FamilyOptions, Flow, plain};
use cairn_formats::Severity;
use cairn_show::{Figure, HeatAxis, HeatMap, HeatScale};
use cairn_sim::{Breaks, Crew, Lease, Measure, Options, PoolSettings, Ratio, Spread, Study, World};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The first against each other.
const POLICIES: [Policy; 3] = [Policy::Ic, Policy::Fifo, Policy::CriticalPath];
const RIVALS: [&str; 2] = ["fifo", "critical-path"];

pub(crate) fn run(settings: &cli::Study, out: &Output) -> Result<(), Failure> {
    world::check(&settings.runs)?;
    let (subjects, mut failed) = subjects(settings, out)?;
    std::fs::create_dir_all(&settings.out)
        .map_err(|e| Failure::writing(&settings.out.display().to_string(), &e))?;
    let laboratory = Laboratory {
        settings,
        out,
        options: world::options(&settings.runs),
    };
    let (mut value, mut text) = if settings.pools {
        laboratory.pools(&subjects, &mut failed)?
    } else {
        laboratory.grids(&subjects, &mut failed)?
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
        screen::path(&settings.out)
    ));
    out.done(&value, &text)?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::No),
    }
}

/// A dag to be studied.
struct Subject {
    /// Also the beginning of its pictures' names.
    name: String,
    /// Where it was read.
    file: String,
    flow: Flow,
    taken: Taken,
}

/// What could not be studied, and why.
type Failed = Vec<(String, String)>;

/// Tells at once what is wrong with one file; the others are studied all the same.
fn note(failed: &mut Failed, file: &str, failure: &Failure, out: &Output) {
    let why = match failure {
        Failure::Input(report) => (report.problems().iter())
            .find(|p| p.severity == Severity::Error)
            .map_or("the input cannot be used".to_owned(), |p| p.message.clone()),
        Failure::Usage { message, .. } => message.clone(),
        other => format!("{other:?}"),
    };
    if !out.json {
        out.failure(failure);
    }
    failed.push((file.to_owned(), why));
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

/// The durations of all dags in words.
fn durations_words(subjects: &[Subject]) -> String {
    let first = &subjects[0].taken.words;
    match subjects.iter().all(|s| s.taken.words == *first) {
        true => first.clone(),
        false => format!(
            "from the file where it has any, else {}",
            world::STUDY_WORDS
        ),
    }
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

/// What all parts of a study share.
struct Laboratory<'a> {
    settings: &'a cli::Study,
    out: &'a Output,
    options: Options<'static>,
}

impl Laboratory<'_> {
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        write_bytes(&self.settings.out.join(PathBuf::from(name)), bytes)
    }

    /// The policies on one dag; the time limit is for each dag's plan.
    fn policies(&self, subject: &Subject) -> Result<Vec<cairn_sim::Policy>, Failure> {
        let flow = &subject.flow;
        let clock = limits::clock(&self.settings.limits)?;
        let _progress = self.out.progress("planning");
        let ic = cairn_plan::plan(
            flow.dag(),
            &limits::effort(&self.settings.limits),
            &clock.stop_planning(flow.dag()),
        )
        .order;
        world::end_if_interrupted();
        let rule = |&p: &Policy| {
            simulated(
                Contender::Listed(p),
                flow,
                subject.taken.seconds.as_deref(),
                &ic,
            )
        };
        Ok(POLICIES.iter().map(rule).collect())
    }

    /// The grid of every subject: JSON, text, and heat maps into files.
    fn grids(&self, subjects: &[Subject], failed: &mut Failed) -> Result<(Value, String), Failure> {
        let (gaps, sizes) = (&self.settings.gaps, &self.settings.sizes);
        let mut dags = Vec::new();
        let mut text = format!(
            "Ratios of mean times, ic over each rival, in batches of requests. Rows: mean gap between batches, in mean \
             task times. Columns: mean size of a batch.\nDurations {}; {} paired runs a cell, seed {}. \
             Bold: the 95 % interval lies below 1 (ic is faster); italic: above 1; plain: a tie.\n",
            durations_words(subjects),
            self.options.runs,
            self.options.seed
        );
        for subject in subjects {
            let policies = self.policies(subject)?;
            let bar = self.out.bar("cells", gaps.len() * sizes.len());
            let tick = |_| world::end_if_interrupted();
            let options = Options {
                progress: Some(&tick),
                ..self.options
            };
            let unit = subject.taken.mean;
            let scaled: Vec<f64> = gaps.iter().map(|gap| gap * unit).collect();
            let cells = cairn_sim::grid(
                subject.flow.dag(),
                &subject.taken.work,
                &scaled,
                sizes,
                &policies,
                &options,
                |done| bar.at(done),
            )
            .map_err(|e| world::failed(&e, &subject.flow));
            drop(bar);
            let cells = match cells {
                Ok(cells) => cells,
                Err(failure) if subjects.len() == 1 => return Err(failure),
                Err(failure) => {
                    note(failed, &subject.file, &failure, self.out);
                    continue;
                }
            };
            let grid = Grid {
                subject,
                gaps,
                sizes,
                ratios: [1, 2].map(|rival| {
                    cells
                        .iter()
                        .map(|c| c.study.ratio(0, rival, Measure::Makespan))
                        .collect()
                }),
            };
            for rival in 0..RIVALS.len() {
                let figure = grid
                    .heat_map(rival, &self.options)
                    .map_err(|e| not_drawn(&e))?;
                let name = format!("{}-ic-over-{}.svg", subject.name, RIVALS[rival]);
                self.write(&name, figure.svg().as_bytes())?;
            }
            text += &grid.text();
            dags.push(grid.json(&cells));
        }
        let value = json!({
            "runs": self.options.runs, "seed": self.options.seed, "durations": durations_words(subjects),
            "gaps": gaps, "sizes": sizes, "dags": dags,
        });
        Ok((value, text))
    }

    /// Three pools for every subject.
    fn pools(&self, subjects: &[Subject], failed: &mut Failed) -> Result<(Value, String), Failure> {
        let bar = self.out.bar("dags", subjects.len());
        let mut rows = Vec::new();
        for (i, subject) in subjects.iter().enumerate() {
            let width = subject.flow.dag().levels().width() as u32;
            match self.three_pools(subject, width) {
                Ok(ratios) => rows.push(PoolRow {
                    subject,
                    width,
                    ratios,
                }),
                Err(failure) if subjects.len() == 1 => return Err(failure),
                Err(failure) => note(failed, &subject.file, &failure, self.out),
            }
            bar.at(i + 1);
        }
        drop(bar);
        let durations = durations_words(subjects);
        Ok((
            pools_json(&rows, &self.options, &durations),
            pools_text(&rows, &self.options, &durations),
        ))
    }

    /// The ratios of one dag in each pool.
    fn three_pools(
        &self,
        subject: &Subject,
        width: u32,
    ) -> Result<Vec<[Option<Ratio>; 2]>, Failure> {
        let policies = self.policies(subject)?;
        let (dag, taken) = (subject.flow.dag(), &subject.taken);
        let one = |pool: &PoolKind| {
            world::end_if_interrupted();
            let study = (pool.world(width, taken).map_err(Into::into)).and_then(|world| {
                cairn_sim::simulate(dag, &taken.work, &world, &policies, &self.options)
            });
            let study = study.map_err(|e| world::failed(&e, &subject.flow))?;
            Ok(both_ratios(&study))
        };
        POOLS.iter().map(one).collect()
    }
}

/// ic over each rival.
fn both_ratios(study: &Study) -> [Option<Ratio>; 2] {
    [1, 2].map(|rival| study.ratio(0, rival, Measure::Makespan))
}

fn ratio_json(ratio: Option<Ratio>) -> Value {
    ratio.as_ref().map_or(Value::Null, simulate::ratio_json)
}

/// Whether the interval leaves no doubt: below 1, above 1, or neither.
fn side(ratio: &Ratio) -> std::cmp::Ordering {
    match ratio.ends() {
        Some(i) if i.high < 1.0 => std::cmp::Ordering::Less,
        Some(i) if i.low > 1.0 => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    }
}

/// Two or three decimals, bold where ic is surely faster, italic where surely slower.
fn cell_text(ratio: Option<&Ratio>) -> String {
    let Some(ratio) = ratio else {
        return "–".to_owned();
    };
    let number = format!("{:.3}", ratio.mean);
    match side(ratio) {
        std::cmp::Ordering::Less => format!("**{number}**"),
        std::cmp::Ordering::Greater => format!("*{number}*"),
        std::cmp::Ordering::Equal => number,
    }
}

/// How many ratios lie surely below 1, are ties, lie surely above.
fn tally<'r>(ratios: impl Iterator<Item = &'r Ratio>) -> [usize; 3] {
    let mut count = [0; 3];
    for ratio in ratios {
        count[(side(ratio) as i8 + 1) as usize] += 1;
    }
    count
}

/// One dag's grid: by rival, the ratios, gap by gap.
struct Grid<'a> {
    subject: &'a Subject,
    gaps: &'a [f64],
    sizes: &'a [f64],
    ratios: [Vec<Option<Ratio>>; 2],
}

impl Grid<'_> {
    fn json(&self, cells: &[cairn_sim::Cell]) -> Value {
        let dag = self.subject.flow.dag();
        let cell = |(i, cell): (usize, &cairn_sim::Cell)| {
            let ratios: Map<String, Value> = (0..RIVALS.len())
                .map(|r| {
                    let value = json!({ "makespan": ratio_json(self.ratios[r][i]) });
                    (format!("ic/{}", RIVALS[r]), value)
                })
                .collect();
            let gap = self.gaps[i / self.sizes.len()];
            json!({ "gap": gap, "size": cell.size, "runs": cell.study.runs(), "ratios": ratios })
        };
        let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
        json!({
            "name": self.subject.name, "tasks": dag.len(), "arcs": dag.arc_count(),
            "durations": self.subject.taken.words, "cells": cells,
        })
    }

    fn text(&self) -> String {
        let dag = self.subject.flow.dag();
        let mut text = format!(
            "\n## {}: {}, {}, durations {}\n",
            self.subject.name,
            counted(dag.len(), "task"),
            counted(dag.arc_count(), "arc"),
            self.subject.taken.words
        );
        for (rival, ratios) in RIVALS.iter().zip(&self.ratios) {
            let [faster, ties, slower] = tally(ratios.iter().flatten());
            text += &format!(
                "\n### ic over {rival}\n\nic is faster in {}, slower in {slower}, tied in {ties}.",
                counted(faster, "cell")
            );
            text += &self.extremes(ratios);
            text += "\n\n| gap \\ size |";
            self.sizes.iter().for_each(|s| text += &format!(" {s} |"));
            text += "\n|--:|";
            self.sizes.iter().for_each(|_| text += "--:|");
            for (gap, row) in self.gaps.iter().zip(ratios.chunks(self.sizes.len())) {
                text += &format!("\n| {gap} |");
                for ratio in row {
                    text += &format!(" {} |", cell_text(ratio.as_ref()));
                }
            }
            text += "\n";
        }
        text
    }

    /// The best and the worst cell in words.
    fn extremes(&self, ratios: &[Option<Ratio>]) -> String {
        let ends = ratios.iter().enumerate().filter_map(|(i, ratio)| {
            let ratio = (*ratio)?;
            Some((i, ratio, ratio.ends()?))
        });
        let best = ends.clone().min_by(|a, b| a.2.high.total_cmp(&b.2.high));
        let worst = ends.max_by(|a, b| a.2.low.total_cmp(&b.2.low));
        let words = |(i, ratio, _): (usize, Ratio, cairn_sim::Interval)| {
            let (gap, size) = (
                self.gaps[i / self.sizes.len()],
                self.sizes[i % self.sizes.len()],
            );
            let words = simulate::interval_text(ratio.mean, ratio.interval, ratio.all_equal, 3);
            format!("{words} at gap {gap}, size {size}")
        };
        match (best, worst) {
            (Some(best), Some(worst)) => {
                format!(" Best {}; worst {}.", words(best), words(worst))
            }
            _ => String::new(),
        }
    }

    fn heat_map(
        &self,
        rival: usize,
        options: &Options<'_>,
    ) -> Result<Figure, cairn_show::ShowError> {
        let labels = |values: &[f64]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (gaps, sizes) = (labels(self.gaps), labels(self.sizes));
        let gap_labels: Vec<&str> = gaps.iter().map(String::as_str).collect();
        let size_labels: Vec<&str> = sizes.iter().map(String::as_str).collect();
        let cells: Vec<_> = (self.ratios[rival].iter())
            .map(|ratio| ratio.map(|r| estimate(r.mean, r.interval)))
            .collect();
        HeatMap {
            title: &format!(
                "{}: time of ic over time of {}",
                self.subject.name, RIVALS[rival]
            ),
            subtitle: &format!("{} paired runs a cell", options.runs),
            value_name: "ratio of mean times",
            rows: HeatAxis {
                name: "mean gap (task times)",
                labels: &gap_labels,
            },
            columns: HeatAxis {
                name: "mean size of a batch (requests)",
                labels: &size_labels,
            },
            cells: &cells,
            scale: HeatScale::Around {
                centre: 1.0,
                below: "ic faster",
                above: &format!("{} faster", RIVALS[rival]),
            },
            decimals: 2,
        }
        .draw()
    }
}

/// A pool of volatile workers, sized by the width of the dag.
struct PoolKind {
    name: &'static str,
    about: &'static str,
    /// Workers are the width times the first over the second.
    share: (u32, u32),
    /// Mean times up and down, exponential, in mean task times.
    up: f64,
    down: f64,
}

const POOLS: [PoolKind; 3] = [
    PoolKind {
        name: "scarce",
        about: "width/8 workers, up 5 and down 5 task times on the mean",
        share: (1, 8),
        up: 5.0,
        down: 5.0,
    },
    PoolKind {
        name: "balanced",
        about: "width/2 workers, up 20 and down 5",
        share: (1, 2),
        up: 20.0,
        down: 5.0,
    },
    PoolKind {
        name: "plentiful",
        about: "2·width workers, up 50 and down 5",
        share: (2, 1),
        up: 50.0,
        down: 5.0,
    },
];

impl PoolKind {
    /// Where the longest task takes longer than a worker is up on the mean, all spells are stretched until it does
    /// not: nobody gives such a task to such a worker.
    fn world(&self, width: u32, taken: &Taken) -> Result<World, cairn_sim::SettingError> {
        let (times, over) = self.share;
        let longest = (taken.seconds.iter().flatten()).fold(0.0, |a: f64, &b| a.max(b));
        let unit = taken.mean.max(longest / self.up);
        let mean = |times: f64| Spread::Exponential { mean: times * unit };
        World::pool(PoolSettings {
            workers: (width.saturating_mul(times) / over).clamp(2, 1_000_000),
            breaks: Some(Breaks {
                up: mean(self.up),
                down: mean(self.down),
            }),
            crew: Crew {
                lease: Some(Lease {
                    factor: 3.0,
                    at_least: taken.mean,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        })
    }
}

/// One dag in all pools.
struct PoolRow<'a> {
    subject: &'a Subject,
    width: u32,
    /// By pool, ic over each rival.
    ratios: Vec<[Option<Ratio>; 2]>,
}

/// All ratios of one pool and rival.
fn column<'r>(
    rows: &'r [PoolRow<'_>],
    pool: usize,
    rival: usize,
) -> impl Iterator<Item = &'r Ratio> {
    rows.iter()
        .filter_map(move |row| row.ratios[pool][rival].as_ref())
}

fn median(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = ratios.collect();
    all.sort_by(f64::total_cmp);
    let half = all.len().checked_sub(1)? / 2;
    Some((all[half] + all[all.len() / 2]) / 2.0)
}

fn pools_json(rows: &[PoolRow<'_>], options: &Options<'_>, durations: &str) -> Value {
    let by_pool = |of: &dyn Fn(usize, usize) -> Value| -> Map<String, Value> {
        let rivals = |p: usize| -> Map<String, Value> {
            (0..RIVALS.len())
                .map(|r| (format!("ic/{}", RIVALS[r]), of(p, r)))
                .collect()
        };
        (0..POOLS.len())
            .map(|p| (POOLS[p].name.to_owned(), Value::Object(rivals(p))))
            .collect()
    };
    let dags: Vec<Value> = (rows.iter())
        .map(|row| {
            let dag = row.subject.flow.dag();
            json!({
                "name": row.subject.name, "tasks": dag.len(), "width": row.width,
                "durations": row.subject.taken.words,
                "ratios": by_pool(&|p, r| json!({ "makespan": ratio_json(row.ratios[p][r]) })),
            })
        })
        .collect();
    let summary = by_pool(&|p, r| {
        let [faster, ties, slower] = tally(column(rows, p, r));
        let median = median(column(rows, p, r).map(|x| x.mean));
        json!({ "median": median, "faster": faster, "ties": ties, "slower": slower })
    });
    json!({
        "runs": options.runs, "seed": options.seed, "durations": durations,
        "pools": POOLS.iter().map(|p| json!({ "name": p.name, "about": p.about })).collect::<Vec<_>>(),
        "summary": summary, "dags": dags,
    })
}

fn pools_text(rows: &[PoolRow<'_>], options: &Options<'_>, durations: &str) -> String {
    let mut text = format!(
        "Ratios of mean times in pools of volatile workers. Durations {durations}; {} paired runs, seed {}. \
         Bold: the 95 % interval lies below 1 (ic is faster); italic: above 1; plain: a tie.\n\n",
        options.runs, options.seed
    );
    for pool in &POOLS {
        text += &format!("- {}: {}\n", pool.name, pool.about);
    }
    text += "\nWhere the longest task takes longer than workers are up on the mean, up and down are stretched to its length.\n";
    text += "\n| pool | rival | median ratio | median gain of ic | faster | tie | slower |\n|---|---|--:|--:|--:|--:|--:|\n";
    for (p, pool) in POOLS.iter().enumerate() {
        for (r, rival) in RIVALS.iter().enumerate() {
            let [faster, ties, slower] = tally(column(rows, p, r));
            let median = median(column(rows, p, r).map(|x| x.mean)).unwrap_or(1.0);
            text += &format!(
                "| {} | {rival} | {median:.4} | {:.2} % | {faster} | {ties} | {slower} |\n",
                pool.name,
                100.0 * (1.0 - median)
            );
        }
    }
    text += "\n| dag | tasks | width |";
    for pool in &POOLS {
        for rival in RIVALS {
            text += &format!(" {}: ic/{rival} |", pool.name);
        }
    }
    text += "\n|---|--:|--:|";
    text += &"--:|".repeat(POOLS.len() * RIVALS.len());
    for row in rows {
        let dag = row.subject.flow.dag();
        text += &format!("\n| {} | {} | {} |", row.subject.name, dag.len(), row.width);
        for ratio in row.ratios.iter().flatten() {
            text += &format!(" {} |", cell_text(ratio.as_ref()));
        }
    }
    text + "\n"
}
