//! One dag in one world with one model of durations: every rule, and what `auto` takes. Prints nothing.

use super::subjects::Subject;
use cairn_dag::{Dag, TaskId};
use cairn_plan::policy::{Rule, Rules, fifo};
use cairn_plan::{Plan, Work, plan};
use cairn_sim::{
    Breaks, Contest, Crew, Lease, Measure, Options, Plays, Policy, PoolSettings, STUDY_POOLS,
    Spread, Workload, World, simulate, usual_worlds,
};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Those that every rule is compared with.
pub(super) const RIVALS: [&str; 3] = ["fifo", "critical-path", "ic"];

/// Names of the worlds, in mean task times.
pub(super) const WORLDS: [&str; 8] = [
    "batches 0.1×4",
    "batches 1×16",
    "batches 3×64",
    "pool scarce",
    "pool balanced",
    "pool plentiful",
    "queue width/4",
    "unequal speeds",
];

/// What is known of durations, and what they are.
pub(super) const MODELS: [(&str, Model); 4] = [
    ("about equal", Model::Equal),
    ("recorded, known", Model::Known),
    ("recorded, known with error", Model::Noisy),
    ("recorded, unknown", Model::Unknown),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// Normal(1, 0.1), and nobody knows more.
    Equal,
    /// As recorded, and rules know it.
    Known,
    /// As recorded times a log-normal factor of sigma 0.5 that nobody knows.
    Noisy,
    /// As recorded; rules and contest believe that all are about equal.
    Unknown,
}

/// Against each rival: the ratio of mean times, and by how many standard errors it differs from one.
type Beside = [(f64, f64); 3];

/// What came of one cell.
pub(super) struct Cell {
    pub(super) group: String,
    pub(super) dag: String,
    pub(super) world: String,
    pub(super) model: String,
    /// What `auto` takes with the world stated, and without.
    pub(super) stated: String,
    pub(super) unstated: String,
    /// By rule.
    pub(super) rules: Vec<(String, Beside)>,
}

impl Cell {
    /// A rule's comparison with each rival. `auto` and `auto, no world` are what they took.
    pub(super) fn of(&self, rule: &str) -> Option<&Beside> {
        let rule = match rule {
            "auto" => &self.stated,
            "auto, no world" => &self.unstated,
            rule => rule,
        };
        let found = self.rules.iter().find(|(name, _)| name == rule);
        found.map(|(_, beside)| beside)
    }

    fn json(&self) -> Value {
        let rules: Vec<Value> = (self.rules.iter())
            .map(|(name, beside)| json!([name, beside]))
            .collect();
        json!({
            "group": self.group, "dag": self.dag, "world": self.world, "model": self.model,
            "stated": self.stated, "unstated": self.unstated, "rules": rules,
        })
    }

    fn parse(line: &str) -> Option<Cell> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Cell {
            group: text("group")?,
            dag: text("dag")?,
            world: text("world")?,
            model: text("model")?,
            stated: text("stated")?,
            unstated: text("unstated")?,
            rules: serde_json::from_value(value["rules"].clone()).ok()?,
        })
    }
}

/// All cells, and where they are kept.
pub(super) struct Laboratory {
    pub(super) runs: usize,
    pub(super) file: Option<PathBuf>,
    pub(super) cells: Vec<Cell>,
}

/// How tasks take time in a cell: in truth, and as rules and contest believe.
struct Takes<'s> {
    truth: Workload,
    believed: Workload,
    seconds: Option<&'s [f64]>,
    /// Mean and longest of the truth, and of what is believed.
    true_scale: (f64, f64),
    believed_scale: (f64, f64),
}

impl Laboratory {
    /// What was played before.
    pub(super) fn read(&mut self) {
        let text = self
            .file
            .as_ref()
            .and_then(|f| std::fs::read_to_string(f).ok());
        let text = text.unwrap_or_default();
        // A line that was cut short is played again.
        self.cells = text.lines().filter_map(Cell::parse).collect();
    }

    fn has(&self, group: &str, dag: &str, world: &str, model: &str) -> bool {
        let is =
            |c: &Cell| (&*c.group, &*c.dag, &*c.world, &*c.model) == (group, dag, world, model);
        self.cells.iter().any(is)
    }

    fn keep(&mut self, cell: Cell) {
        if let Some(file) = &self.file {
            let open = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(file);
            let written = open.and_then(|mut f| writeln!(f, "{}", cell.json()));
            written.unwrap_or_else(|e| eprintln!("{}: {e}", file.display()));
        }
        self.cells.push(cell);
    }

    /// All cells of one dag that are not there yet.
    pub(super) fn play(&mut self, group: &str, subject: &Subject) {
        let dag = &subject.dag;
        let mut made: Option<Plan<'_>> = None;
        for (model, which) in MODELS {
            let Some(takes) = takes(subject, which) else {
                continue;
            };
            let is_open = |world: &&str| !self.has(group, &subject.name, world, model);
            let open: Vec<&str> = WORLDS.iter().copied().filter(is_open).collect();
            if open.is_empty() {
                continue;
            }
            let plan = made.get_or_insert_with(|| {
                plan(
                    dag,
                    &cairn_plan::PlanEffort::default(),
                    &mut Work::unlimited(),
                )
            });
            let rules = Rules::new(dag, plan.survey().blocks(), &plan.order, takes.seconds);
            let field = rules.candidates(Rule::ALL.len(), &mut Work::unlimited());
            let runs = Plays::for_dag(dag.len(), field.len(), 2)
                .runs
                .min(self.runs);
            let usual = usual_worlds(takes.believed_scale.0).expect("above zero");
            let unstated = contest(dag, &field, &usual, &takes.believed, runs);
            for world in open {
                let believed = [make(world, dag, takes.believed_scale)];
                let stated = contest(dag, &field, &believed, &takes.believed, runs);
                let truth = make(world, dag, takes.true_scale);
                let Some(rules) = self.compare(dag, &rules, &field, &truth, &takes.truth) else {
                    continue;
                };
                self.keep(Cell {
                    group: group.to_owned(),
                    dag: subject.name.clone(),
                    world: world.to_owned(),
                    model: model.to_owned(),
                    stated: field[stated].0.name().to_owned(),
                    unstated: field[unstated].0.name().to_owned(),
                    rules,
                });
            }
        }
    }

    /// Every rule beside the rivals, in runs that had no part in any choice.
    fn compare(
        &self,
        dag: &Dag,
        rules: &Rules<'_>,
        field: &[(Rule, Vec<TaskId>)],
        world: &World,
        work: &Workload,
    ) -> Option<Vec<(String, Beside)>> {
        let mut orders: Vec<(&str, Vec<TaskId>)> = vec![("fifo", fifo(dag))];
        let of_all = Rule::ALL.map(|rule| {
            let found = field.iter().find(|(other, _)| *other == rule);
            // A rule whose order is another's was left out of the contest.
            let order = found.map_or_else(
                || {
                    rules.order(
                        rule,
                        &mut cairn_plan::Work::steps(20_000 * dag.len() as u64),
                    )
                },
                |(_, order)| order.clone(),
            );
            (rule.name(), order)
        });
        orders.extend(of_all);
        let policies: Vec<Policy> = (orders.iter())
            .map(|(name, order)| Policy::order(name, order))
            .collect();
        let options = Options {
            runs: self.runs,
            seed: 77,
            ..Options::default()
        };
        let study = simulate(dag, work, world, &policies, &options).ok()?;
        let column = |name: &str| {
            let place = orders.iter().position(|(n, _)| *n == name)?;
            Some(study.outcomes[place].column(Measure::Makespan))
        };
        let rivals: Vec<Vec<f64>> = RIVALS.iter().filter_map(|r| column(r)).collect();
        let one = |(place, (name, _)): (usize, &(&str, Vec<TaskId>))| {
            let ours = study.outcomes[place].column(Measure::Makespan);
            let beside = std::array::from_fn(|r| compared(&ours, &rivals[r]));
            ((*name).to_owned(), beside)
        };
        Some(orders.iter().enumerate().map(one).collect())
    }
}

/// The place of the order that `auto` takes.
pub(crate) fn contest(
    dag: &Dag,
    field: &[(Rule, Vec<TaskId>)],
    worlds: &[World],
    work: &Workload,
    runs: usize,
) -> usize {
    let options = Options {
        runs,
        seed: 2,
        ..Options::default()
    };
    let contest = Contest {
        dag,
        work,
        worlds,
        options: &options,
    };
    let picked = contest.choose_rule(field).ok();
    let place = |rule: Rule| field.iter().position(|(r, _)| *r == rule);
    picked.and_then(|picked| place(picked.rule)).unwrap_or(0)
}

/// Durations of a model; none where the dag has none recorded.
fn takes(subject: &Subject, model: Model) -> Option<Takes<'_>> {
    // Mean and longest of `World::study_work`: about one, and hardly ever three standard deviations of a tenth more.
    const EQUAL: (f64, f64) = (1.0, 1.3);
    let equal = World::study_work;
    if model == Model::Equal {
        return Some(Takes {
            truth: equal(),
            believed: equal(),
            seconds: None,
            true_scale: EQUAL,
            believed_scale: EQUAL,
        });
    }
    let seconds = subject.seconds.as_deref()?;
    let some: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
    let known = Workload::known(&some).ok()?;
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let scale = (mean, seconds.iter().copied().fold(0.0, f64::max));
    let noisy = |work: Workload| {
        let factor = Spread::LogNormal {
            median: 1.0,
            sigma: 0.5,
        };
        work.times(factor).expect("the factor is in range")
    };
    Some(match model {
        Model::Noisy => Takes {
            truth: noisy(known.clone()),
            believed: noisy(known),
            seconds: Some(seconds),
            // A long task may be longer still.
            true_scale: (1.13 * scale.0, 4.0 * scale.1),
            believed_scale: (1.13 * scale.0, 4.0 * scale.1),
        },
        Model::Unknown => Takes {
            truth: known,
            believed: equal(),
            seconds: None,
            true_scale: scale,
            believed_scale: EQUAL,
        },
        _ => Takes {
            truth: known.clone(),
            believed: known,
            seconds: Some(seconds),
            true_scale: scale,
            believed_scale: scale,
        },
    })
}

/// A world for tasks of that mean and longest.
fn make(name: &str, dag: &Dag, (mean, longest): (f64, f64)) -> World {
    let width = dag.levels().width() as u32;
    let pool = |place: usize| STUDY_POOLS[place].world(width, mean, longest);
    let some = (width / 4).clamp(2, 64);
    let up = (20.0 * mean).max(2.0 * longest);
    let exponential = |mean: f64| Spread::Exponential { mean };
    let world = match WORLDS.iter().position(|w| *w == name) {
        Some(0) => World::batches(0.1 * mean, 4.0),
        Some(1) => World::batches(mean, 16.0),
        Some(2) => World::batches(3.0 * mean, 64.0),
        Some(place @ 3..6) => pool(place - 3),
        Some(6) => World::throttled(some, some),
        _ => World::pool(PoolSettings {
            workers: some,
            breaks: Some(Breaks {
                up: exponential(4.0 * up),
                down: exponential(up / 4.0),
            }),
            crew: Crew {
                speed: Spread::LogNormal {
                    median: 1.0,
                    sigma: 0.5,
                },
                lease: Some(Lease {
                    factor: 3.0,
                    at_least: mean,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        }),
    };
    world.expect("the settings are in range")
}

/// The ratio of mean times, and by how many standard errors the paired runs differ.
fn compared(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    let n = ours.len() as f64;
    let (a, b) = (ours.iter().sum::<f64>() / n, theirs.iter().sum::<f64>() / n);
    let apart: Vec<f64> = (ours.iter().zip(theirs))
        .map(|(x, y)| x / a - y / b)
        .collect();
    let error = (apart.iter().map(|d| d * d).sum::<f64>() / (n - 1.0) / n).sqrt();
    let ratio = a / b;
    let z = match error > 0.0 {
        true => (ratio - 1.0) / error,
        // Every run alike: any difference is one.
        false => (ratio - 1.0) * 1e12,
    };
    (ratio, z)
}
