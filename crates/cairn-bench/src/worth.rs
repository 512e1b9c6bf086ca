//! What `auto` is worth against critical path, ic and fifo, on dags it was not tuned on; and what choosing costs. Reads every
//! workflow of the folder $CAIRN_UNSEEN beside dags that are generated here.

use crate::measure::timed;
use cairn_dag::{Dag, Family, FamilyOptions};
use cairn_formats::{Limits, Report, Source};
use cairn_plan::policy::{Rule, Rules, critical_path, fifo, path_plus};
use cairn_plan::{Plan, Work, plan};
use cairn_sim::{
    Breaks, Crew, Effort, Lease, Measure, Options, Policy, PoolSettings, Spread, Work as Takes,
    World, choose, simulate, usual_worlds,
};
use std::path::PathBuf;

/// Paired runs by which a choice is judged; none of them had a part in it.
const RUNS: usize = 100;

/// Prints the cost of choosing, then wins and losses.
pub fn run() {
    costs();
    wins();
}

/// Seconds of path+ and of the whole choice, by size.
fn costs() {
    println!("| tasks | arcs | plan s | path+ s | auto s | policies × runs × worlds |");
    println!("|--:|--:|--:|--:|--:|---|");
    for (layers, width) in [(10, 100), (50, 200), (100, 1000), (1000, 1000)] {
        let dag = generated("layered", &[layers, width, 3]);
        let (plan, planning) = timed(|| plan(&dag, &cairn_plan::Limits::default(), &|| false));
        let (_, path) = timed(|| path_plus(&dag, None, &plan.order));
        let worlds = usual_worlds(1.0).expect("one is in range");
        let effort = Effort::for_dag(dag.len(), Rule::ALL.len(), worlds.len());
        let (_, auto) = timed(|| pick(&dag, &plan, &worlds, &World::study_work(), None, effort));
        println!(
            "| {} | {} | {planning:.2} | {path:.2} | {auto:.2} | {} × {} × {} |",
            dag.len(),
            dag.arc_count(),
            effort.policies,
            effort.runs,
            worlds.len()
        );
    }
}

fn generated(family: &str, args: &[u32]) -> Dag {
    let words: Vec<String> = args.iter().map(ToString::to_string).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let family = Family::parse(family, &words, &FamilyOptions::default());
    family
        .and_then(|f| f.build(1))
        .expect("the arguments are those of the family")
}

/// The order that `auto` takes, and its name.
fn pick(
    dag: &Dag,
    plan: &Plan<'_>,
    worlds: &[World],
    work: &Takes,
    seconds: Option<&[f64]>,
    effort: Effort,
) -> (&'static str, Policy) {
    let rules = Rules::new(dag, plan.survey().blocks(), &plan.order, seconds);
    let steps = 20_000 * dag.len() as u64;
    let orders: Vec<(Rule, Vec<_>)> = (Rule::ALL.iter().take(effort.policies))
        .map(|&rule| (rule, rules.order(rule, &mut Work::steps(steps))))
        .collect();
    let policies: Vec<Policy> = (orders.iter())
        .map(|(rule, order)| Policy::order(rule.name(), order))
        .collect();
    let options = Options {
        runs: effort.runs,
        seed: 2,
        ..Options::default()
    };
    let chosen = choose(dag, work, worlds, &policies, &options).expect("the worlds are good");
    let (rule, order) = &orders[chosen.policy];
    (rule.name(), Policy::order("auto", order))
}

/// One dag with the durations that its file gives.
struct Subject {
    name: String,
    dag: Dag,
    seconds: Option<Vec<f64>>,
}

fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<Subject> = [
        ("layered", vec![12, 40, 3]),
        ("layered", vec![30, 12, 2]),
        ("random", vec![300, 1]),
        ("composite", vec![40]),
        ("rmesh", vec![24]),
        ("forkjoin", vec![60]),
    ]
    .into_iter()
    .map(|(family, args)| match family {
        "random" => Subject {
            name: "random 300 0.02".to_owned(),
            dag: Family::parse(family, &["300", "0.02"], &FamilyOptions::default())
                .and_then(|f| f.build(7))
                .expect("the arguments are those of the family"),
            seconds: None,
        },
        _ => Subject {
            name: format!("{family} {args:?}"),
            dag: generated(family, &args),
            seconds: None,
        },
    })
    .collect();
    let folder = std::env::var_os("CAIRN_UNSEEN").map(PathBuf::from);
    let files = folder.and_then(|f| std::fs::read_dir(f).ok());
    let mut paths: Vec<PathBuf> = (files.into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        let mut report = Report::default();
        let source = Source::load_named_by_file(&path, &Limits::default(), &mut report);
        let read = source.and_then(|s| cairn_formats::read(&s, None, &mut report));
        let Some((_, flow)) = read else {
            println!("{}: not read", path.display());
            continue;
        };
        subjects.push(Subject {
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            dag: flow.dag().clone(),
            seconds: flow.imputed_seconds(),
        });
    }
    subjects
}

/// Worlds in mean task times: two of batches, a queue, and workers that come and go.
fn worlds(mean: f64, longest: f64, width: usize) -> Vec<(&'static str, World)> {
    let some = (width as u32 / 4).clamp(2, 64);
    let up = (20.0 * mean).max(2.0 * longest);
    let pool = PoolSettings {
        workers: some,
        breaks: Some(Breaks {
            up: Spread::Exponential { mean: up },
            down: Spread::Exponential { mean: up / 4.0 },
        }),
        crew: Crew {
            lease: Some(Lease {
                factor: 3.0,
                at_least: mean,
            }),
            ..Crew::default()
        },
        ..PoolSettings::default()
    };
    [
        ("batches 1×8", World::batches(mean, 8.0)),
        ("batches 3×32", World::batches(3.0 * mean, 32.0)),
        ("queue", World::throttled(some, some)),
        ("pool", World::pool(pool)),
    ]
    .map(|(name, world)| (name, world.expect("the settings are in range")))
    .to_vec()
}

/// Wins, losses and the worst, against one rival.
#[derive(Default)]
struct Tally {
    wins: usize,
    losses: usize,
    worst: f64,
    sum: f64,
}

/// Every dag in every world, with the durations known and with them unknown: `auto`, chosen with the world stated, against
/// the others. A win or loss is a difference of more than three standard errors and half a percent.
fn wins() {
    let mut stated: [Tally; 3] = Default::default();
    let mut unstated: [Tally; 3] = Default::default();
    let mut cells = 0;
    println!(
        "| dag | tasks | world | durations | auto | /critical-path | /ic | /fifo | unstated | /critical-path |"
    );
    println!("|---|--:|---|---|---|--:|--:|--:|---|--:|");
    for subject in subjects() {
        let (dag, name) = (&subject.dag, &subject.name);
        let plan = plan(dag, &cairn_plan::Limits::default(), &|| false);
        let width = dag.levels().width();
        let known = subject.seconds.as_deref();
        let mean = known.map_or(1.0, |s| s.iter().sum::<f64>() / s.len() as f64);
        let mean = if mean > 0.0 { mean } else { 1.0 };
        let longest = known.map_or(1.0, |s| s.iter().copied().fold(0.0, f64::max));
        let mut models = vec![("about equal", World::study_work(), None, 1.0, 1.3)];
        if let Some(seconds) = known {
            let some: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
            let work = Takes::known(&some).expect("durations are in range");
            models.push(("known", work, Some(seconds), mean, longest));
        }
        for (durations, work, seconds, mean, longest) in models {
            let effort = Effort::for_dag(dag.len(), Rule::ALL.len(), 2);
            let usual = usual_worlds(mean).expect("above zero");
            let (blind, of_two) = pick(dag, &plan, &usual, &work, seconds, effort);
            for (place, world) in worlds(mean, longest, width) {
                let one = std::slice::from_ref(&world);
                let (chosen, auto) = pick(dag, &plan, one, &work, seconds, effort);
                let policies = [
                    auto,
                    of_two.clone().named("of two"),
                    Policy::order("critical-path", &critical_path(dag, seconds)),
                    Policy::order("ic", &plan.order),
                    Policy::order("fifo", &fifo(dag)),
                ];
                let options = Options {
                    runs: RUNS,
                    seed: 77,
                    ..Options::default()
                };
                let Ok(study) = simulate(dag, &work, &world, &policies, &options) else {
                    println!(
                        "| {name} | {} | {place} | {durations} | not played |",
                        dag.len()
                    );
                    continue;
                };
                cells += 1;
                let column = |p: usize| study.outcomes[p].column(Measure::Makespan);
                let beside = [2, 3, 4].map(|rival| compared(&column(0), &column(rival)));
                let blindly = [2, 3, 4].map(|rival| compared(&column(1), &column(rival)));
                for (tally, cell) in stated.iter_mut().zip(beside) {
                    tally.count(cell);
                }
                for (tally, cell) in unstated.iter_mut().zip(blindly) {
                    tally.count(cell);
                }
                println!(
                    "| {name} | {} | {place} | {durations} | {chosen} | {:.4} | {:.4} | {:.4} | {blind} | {:.4} |",
                    dag.len(),
                    beside[0].0,
                    beside[1].0,
                    beside[2].0,
                    blindly[0].0
                );
            }
        }
    }
    for (what, tallies) in [("stated", &stated), ("not stated", &unstated)] {
        for (rival, t) in ["critical-path", "ic", "fifo"].iter().zip(tallies) {
            println!(
                "world {what}, against {rival}: {} wins, {} losses in {cells} cells; worst {:.4}, mean {:.4}",
                t.wins,
                t.losses,
                t.worst,
                t.sum / f64::from(cells.max(1))
            );
        }
    }
}

impl Tally {
    fn count(&mut self, (ratio, z): (f64, f64)) {
        let differs = z.abs() > 3.0 && (ratio - 1.0).abs() >= 0.005;
        self.wins += usize::from(differs && ratio < 1.0);
        self.losses += usize::from(differs && ratio > 1.0);
        self.worst = self.worst.max(ratio);
        self.sum += ratio;
    }
}

/// The ratio of mean times, and by how many standard errors the paired runs differ.
fn compared(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    let n = ours.len() as f64;
    let (a, b) = (ours.iter().sum::<f64>() / n, theirs.iter().sum::<f64>() / n);
    let apart: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .map(|(x, y)| x / a - y / b)
        .collect();
    let error = (apart.iter().map(|d| d * d).sum::<f64>() / (n - 1.0) / n).sqrt();
    let z = match error > 0.0 {
        true => (a / b - 1.0) / error,
        // Every run alike: any difference is one.
        false => (a / b - 1.0) * 1e12,
    };
    (a / b, z)
}
