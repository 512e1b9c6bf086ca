//! `cairn simulate`: what the order is worth on workers that come and go.

use super::contender::{name, simulated};
use super::estimates::{estimate, estimate_json, interval_text, ratio_json};
use super::orders;
use super::pictures::{self, Kind};
use super::world::{self, Scene};
use crate::cli::{self, Contender, Policy};
use crate::failure::Failure;
use crate::input::{self, Read};
use crate::layout;
use crate::limits::Limits;
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use cairn_show::{Captioned, Estimate, Figure, IntervalRow, Intervals, Page, ShowError, Table};
use cairn_sim::{Measure, Options, Ratio, Study};
use serde_json::{Map, Value, json};

const KINDS: [Kind; 4] = [Kind::Svg, Kind::Png, Kind::Html, Kind::Json];

/// Who plays where, how often, and what is written, checked.
pub(crate) struct Settings {
    flags: cli::Simulate,
    world: world::Settings,
    options: Options<'static>,
    kinds: Vec<Kind>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Simulate) -> Result<Settings, Failure> {
        let world = cli::World {
            durations: flags.durations,
            ..flags.world.clone()
        };
        Ok(Settings {
            limits: Limits::new(&flags.limits)?,
            options: world::options(&flags.runs)?,
            kinds: pictures::kinds(&flags.out, &KINDS)?,
            world: world::Settings::new(world)?,
            flags,
        })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let Settings { flags, options, .. } = settings;
    let clock = settings.limits.clock();
    let read = input::read_rest(&flags.input, &flags.executed, out)?;
    let scene = settings.world.scene(&read.flow)?;
    if let Some(doubt) = scene.doubt() {
        out.remark(&doubt);
    }
    let mut ic = Vec::new();
    let planned = [Contender::Listed(Policy::Ic), Contender::Batch];
    if planned.iter().any(|p| flags.policies.contains(p)) {
        let _progress = out.progress("planning");
        // Half of the time is for the runs.
        let half = clock.half();
        ic = orders::make(&read.flow, flags.choices, &settings.limits, &half).order;
        world::go_on()?;
    }
    let policies: Vec<_> = (flags.policies.iter())
        .map(|&c| simulated(c, read.flow.dag(), scene.seconds.as_deref(), &ic))
        .collect();
    let study = world::simulate(&scene, &read.flow, &policies, options, &clock, out)?;
    let report = Report {
        read: &read,
        scene: &scene,
        study: &study,
        asked: options.runs,
        policies: flags.policies.iter().map(name).collect(),
    };
    let value = report.json();
    for (path, &kind) in flags.out.iter().zip(&settings.kinds) {
        report.write(path, kind, &value)?;
        out.remark(&format!("wrote {}", screen::path(path)));
    }
    out.answer(&value, &report.text())
}

/// Everything that is printed or drawn of a simulation.
struct Report<'a> {
    read: &'a Read,
    scene: &'a Scene,
    study: &'a Study,
    /// Runs asked for.
    asked: usize,
    policies: Vec<String>,
}

impl Report<'_> {
    fn json(&self) -> Value {
        let study = self.study;
        let policies: Map<String, Value> = (self.policies.iter().enumerate())
            .map(|(p, name)| {
                let measures = Measure::ALL.into_iter().map(|m| {
                    let summary = study.summary(p, m);
                    let mut value = estimate_json(summary.mean, summary.ends(), summary.all_equal);
                    value["median"] = json!(summary.median);
                    (m.name().to_owned(), value)
                });
                (name.clone(), Value::Object(measures.collect()))
            })
            .collect();
        let ratios: Map<String, Value> = (1..self.policies.len())
            .map(|p| {
                let measures = Measure::ALL.into_iter().filter_map(|m| {
                    let ratio = study.ratio(0, p, m)?;
                    let mut value = ratio_json(&ratio);
                    value["median"] = json!(ratio.median);
                    Some((m.name().to_owned(), value))
                });
                (self.pair(p), Value::Object(measures.collect()))
            })
            .collect();
        let mut value = json!({
            "file": self.read.name, "format": self.read.format.name(), "tasks": self.read.flow.dag().len(),
            "world": self.scene.words, "durations": self.scene.durations,
            "runs": study.runs(), "seed": study.seed, "stopped_early": study.stopped_early,
            "runs_asked": self.asked, "out_of_time": study.out_of_time,
            "policies": policies, "ratios": ratios,
        });
        if let Some(unknown) = self.scene.unknown_sizes {
            value["unknown_sizes"] = json!(unknown);
        }
        self.read.done.tell(&mut value);
        value
    }

    /// The first policy over another.
    fn pair(&self, other: usize) -> String {
        format!("{}/{}", self.policies[0], self.policies[other])
    }

    fn setting(&self) -> String {
        let early = match self.study {
            study if study.stopped_early => " (precise enough)".to_owned(),
            study if study.out_of_time => format!(" of {} (time limit)", self.asked),
            _ => String::new(),
        };
        format!(
            "{}; durations {}; {}{early}, seed {}",
            self.scene.words,
            self.scene.durations,
            counted(self.study.runs(), "paired run"),
            self.study.seed
        )
    }

    /// One row a policy: mean time with its interval, then the means of the other measures.
    fn rows(&self) -> Vec<Vec<String>> {
        let mean = |p: usize, m: Measure| self.study.summary(p, m).mean;
        (self.policies.iter().enumerate())
            .map(|(p, name)| {
                let time = self.study.summary(p, Measure::Makespan);
                vec![
                    name.clone(),
                    interval_text(time.mean, time.interval, false, digits(time.mean)),
                    format!("{:.1} %", 100.0 * mean(p, Measure::Stall)),
                    format!("{:.1} %", 100.0 * mean(p, Measure::Utilisation)),
                    decimal(mean(p, Measure::Idle)),
                    decimal(mean(p, Measure::PeakOpen)),
                    decimal(mean(p, Measure::Wasted)),
                ]
            })
            .collect()
    }

    fn text(&self) -> String {
        let width = layout::width();
        let mut text = format!(
            "{}: {}\n{}{}\n",
            self.read.name,
            counted(self.read.flow.dag().len(), "task"),
            self.read.done.row(),
            layout::hanging("", &self.setting(), width)
        );
        // The answer first, then what it rests on.
        if self.policies.len() > 1 {
            let about = "Time of the first policy over that of each other, with 95 % intervals:";
            text += &layout::hanging("", about, width);
        }
        for p in 1..self.policies.len() {
            let words = match self.study.ratio(0, p, Measure::Makespan) {
                Some(ratio) => format!(
                    "{}: {}",
                    interval_text(ratio.mean, ratio.interval, ratio.all_equal, 4),
                    self.verdict(p, &ratio)
                ),
                None => "undefined: nothing takes time".to_owned(),
            };
            text += &layout::hanging(&format!("  {:18} ", self.pair(p)), &words, width);
        }
        let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
        rows.extend(self.rows());
        if self.policies.len() > 1 {
            text.push('\n');
        }
        text + &layout::columns(&rows, width)
    }

    fn verdict(&self, other: usize, ratio: &Ratio) -> String {
        let (first, other) = (&self.policies[0], &self.policies[other]);
        let more = 100.0 * (ratio.mean - 1.0).abs();
        match ratio.ends() {
            None => "one run tells nothing of chance".to_owned(),
            Some(i) if i.high < 1.0 => format!("{first} is {more:.1} % faster"),
            Some(i) if i.low > 1.0 => format!("{first} is {more:.1} % slower"),
            Some(_) if ratio.all_equal => format!("{first} and {other} took the same time"),
            Some(_) => format!("a tie: {first} and {other} cannot be told apart"),
        }
    }

    fn write(&self, path: &std::path::Path, kind: Kind, value: &Value) -> Result<(), Failure> {
        let times = self.times().map_err(|e| pictures::not_drawn(&e))?;
        let ratios = self.ratios().map_err(|e| pictures::not_drawn(&e))?;
        let rows = self.rows();
        let table = Table {
            caption: "Means over all runs; times with 95 % intervals",
            header: &HEADER,
            rows: &rows,
        };
        let captioned = |figure, caption| Captioned { figure, caption };
        let mut figures = vec![captioned(
            &times,
            "Time from the start to the last completion; left is better.",
        )];
        if let Some(ratios) = &ratios {
            figures.push(captioned(
                ratios,
                "All policies met the same workers and durations in each run. Left of 1 the first policy is faster.",
            ));
        }
        let page = Page {
            title: &format!(
                "{}: policies compared",
                pictures::short_name(&self.read.name)
            ),
            lead: &self.setting(),
            tables: &[table],
            figures: &figures,
            footer: "Made by cairn simulate.",
        };
        pictures::write(path, kind, &times, &page, value)
    }

    /// Mean times of all policies.
    fn times(&self) -> Result<Figure, ShowError> {
        let summaries = (0..self.policies.len()).map(|p| {
            let s = self.study.summary(p, Measure::Makespan);
            estimate(s.mean, s.interval)
        });
        let rows: Vec<IntervalRow<'_>> = (self.policies.iter().zip(summaries))
            .map(|(name, estimate)| IntervalRow { name, estimate })
            .collect();
        let unit = match self.scene.seconds {
            Some(_) => "mean time (seconds)",
            None => "mean time (task times)",
        };
        self.intervals("Time of each policy", unit, &rows, None)
    }

    /// Ratios of the first policy over each other; none where there is only one.
    fn ratios(&self) -> Result<Option<Figure>, ShowError> {
        let named: Vec<(String, Estimate)> = (1..self.policies.len())
            .filter_map(|p| {
                let r = self.study.ratio(0, p, Measure::Makespan)?;
                Some((self.pair(p), estimate(r.mean, r.interval)))
            })
            .collect();
        if named.is_empty() {
            return Ok(None);
        }
        let rows: Vec<IntervalRow<'_>> = (named.iter())
            .map(|(name, estimate)| IntervalRow {
                name,
                estimate: *estimate,
            })
            .collect();
        let title = format!("{} against the others", self.policies[0]);
        self.intervals(&title, "ratio of mean times", &rows, Some(1.0))
            .map(Some)
    }

    fn intervals(
        &self,
        title: &str,
        value_name: &str,
        rows: &[IntervalRow<'_>],
        reference: Option<f64>,
    ) -> Result<Figure, ShowError> {
        Intervals {
            title: &format!("{title}: {}", pictures::short_name(&self.read.name)),
            subtitle: &self.setting(),
            value_name,
            interval_name: "95 % interval",
            rows,
            reference,
        }
        .draw()
    }
}

const HEADER: [&str; 7] = [
    "policy",
    "time [95 %]",
    "stalls",
    "utilisation",
    "idle",
    "open results",
    "wasted",
];

/// Decimals so that some four digits are shown.
fn digits(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    }
}

fn decimal(value: f64) -> String {
    format!("{value:.*}", digits(value).min(2))
}
