//! The dags that are played: those of the corpus, and unseen ones, generated or of a folder. Knows no world.

use crate::random::Random;
use cairn_dag::{Dag, Family, FamilyOptions};
use cairn_formats::{ReadLimits, Report, Source};
use cairn_kernel::GOLDEN;
use std::path::PathBuf;

/// Smaller dags say little: any order is about as good as another.
// A judgement.
const LEAST: usize = 100;

/// One dag with the durations that its file gives.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) dag: Dag,
    pub(super) seconds: Option<Vec<f64>>,
}

/// The dags of the corpus from 100 tasks on.
pub(super) fn corpus(most: usize) -> Vec<Subject> {
    let Some(flows) = crate::storage::corpus() else {
        println!("SKIPPED: no corpus of dags (set CAIRN_CORPUS)");
        return Vec::new();
    };
    (flows.into_iter())
        .filter(|(_, flow)| (LEAST..=most).contains(&flow.dag().len()))
        .map(|(name, flow)| Subject {
            dag: flow.dag().clone(),
            seconds: usable(flow.imputed_seconds()),
            name,
        })
        .collect()
}

/// Durations that take time at all.
fn usable(seconds: Option<Vec<f64>>) -> Option<Vec<f64>> {
    seconds.filter(|s| s.iter().sum::<f64>() > 0.0)
}

pub(crate) fn layered(layers: u32, width: u32) -> Dag {
    generated("layered", &format!("{layers} {width} 3"), false, 1)
}

fn generated(family: &str, args: &str, dual: bool, seed: u64) -> Dag {
    let words: Vec<&str> = args.split(' ').collect();
    let options = FamilyOptions {
        dual,
        ..FamilyOptions::default()
    };
    let family = Family::parse(family, &words, &options);
    let dag = family.and_then(|f| f.build(seed));
    dag.expect("the arguments are those of the family")
}

/// Families, with durations as logs have them, and every workflow of `$CAIRN_UNSEEN`.
pub(super) fn unseen(most: usize) -> Vec<Subject> {
    const FAMILIES: [(&str, &str); 15] = [
        ("layered", "12 40 3"),
        ("layered", "30 12 2"),
        ("layered", "6 150 4"),
        ("layered", "80 8 3"),
        ("random", "300 0.02"),
        ("random", "600 0.006"),
        ("composite", "40"),
        ("composite", "90"),
        ("rmesh", "24"),
        ("mesh", "22"),
        ("forkjoin", "120"),
        ("airsn", "60"),
        ("tree", "8"),
        ("fft", "6"),
        ("outtree", "8"),
    ];
    let mut subjects = Vec::new();
    for (i, (family, args)) in FAMILIES.into_iter().enumerate() {
        for dual in [false, true] {
            // These are each other's duals, or their own.
            if dual && ["rmesh", "mesh", "forkjoin", "tree", "fft", "outtree"].contains(&family) {
                continue;
            }
            let seed = 100 + i as u64;
            let dag = generated(family, args, dual, seed);
            subjects.push(Subject {
                name: format!("{family} {args}{}", if dual { " dual" } else { "" }),
                seconds: Some(as_in_logs(&dag, seed)),
                dag,
            });
        }
    }
    subjects.extend(of_folder());
    subjects.retain(|s| (LEAST..=most).contains(&s.dag.len()));
    subjects
}

/// Durations like recorded ones: each level is a kind of job with its own median, over two orders of magnitude, and jobs of a
/// kind differ by some 30 %.
fn as_in_logs(dag: &Dag, seed: u64) -> Vec<f64> {
    let mut random = Random(seed.wrapping_mul(GOLDEN));
    let mut normal = || {
        let (a, b) = (1.0 - random.uniform(), random.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    };
    let mut level = vec![0usize; dag.len()];
    for &task in dag.topological_order() {
        let parents = dag.parents(task).iter();
        level[task.index()] = parents.map(|p| level[p.index()] + 1).max().unwrap_or(0);
    }
    let kinds = level.iter().max().map_or(1, |most| most + 1);
    let medians: Vec<f64> = (0..kinds).map(|_| 30.0 * (1.2 * normal()).exp()).collect();
    let one = |level: &usize| medians[*level] * (0.3 * normal()).exp();
    level.iter().map(one).collect()
}

/// Every workflow of a folder that can be read.
fn of_folder() -> Vec<Subject> {
    let folder = std::env::var_os("CAIRN_UNSEEN").map(PathBuf::from);
    let files = folder.and_then(|f| std::fs::read_dir(f).ok());
    let mut paths: Vec<PathBuf> = (files.into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let mut subjects = Vec::new();
    for path in paths {
        let mut report = Report::default();
        let source = Source::load_named_by_file(&path, &ReadLimits::default(), &mut report);
        let read = source.and_then(|s| cairn_formats::read(&s, None, &mut report));
        let Some((_, flow)) = read else {
            println!("{}: not read", path.display());
            continue;
        };
        let name = path.file_stem().unwrap_or_default();
        subjects.push(Subject {
            name: name.to_string_lossy().into_owned(),
            dag: flow.dag().clone(),
            seconds: usable(flow.imputed_seconds()),
        });
    }
    subjects
}
