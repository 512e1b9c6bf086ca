//! Everything that is printed or drawn of a simulation. Plays nothing.

use super::tight::Told;
use super::volunteers::{self, Vouched, few};
use crate::commands::disk::DiskUnit;
use crate::commands::estimates::{
    estimate, estimate_json, interval_text, less_or_more, ratio_json,
};
use crate::commands::pictures::{self, Kind};
use crate::commands::world::Scene;
use crate::failure::Failure;
use crate::input::Read;
use crate::layout;
use crate::plural::counted;
use cairn_formats::size;
use cairn_show::{
    Captioned, Estimate, Figure, IntervalRow, Intervals, Line, Lines, Page, ShowError, Table,
};
use cairn_sim::{Interval, Measure, Ratio, Study};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// The first policy on as many workers that stay.
pub(super) struct Steady {
    /// Of a worker's hour.
    pub(super) price: f64,
    pub(super) study: Study,
}

/// Everything that is printed or drawn of a simulation.
pub(super) struct Report<'a> {
    /// A time, where it is asked how likely all is done by then.
    pub(super) deadline: Option<f64>,
    /// Of a worker's hour, where it is asked what all costs.
    pub(super) price: Option<f64>,
    /// Whether it is told what becomes of results.
    pub(super) tells_results: bool,
    /// How the world was found, where it is from a log.
    pub(super) fitted: Option<&'a str>,
    pub(super) steady: Option<Steady>,
    pub(super) read: &'a Read,
    pub(super) scene: &'a Scene,
    pub(super) study: &'a Study,
    /// Runs asked for.
    pub(super) asked: usize,
    pub(super) policies: Vec<String>,
    /// What `auto` stands for, if it is among them.
    pub(super) chosen: Option<String>,
    /// What there is to tell of a cap on the disk.
    pub(super) told: Option<Told>,
    /// What results of volunteers count for.
    pub(super) vouched: Option<&'a Vouched>,
}

impl Report<'_> {
    pub(super) fn json(&self) -> Value {
        let study = self.study;
        let policies = self.by_policy(|p| {
            let measures = self.measures().map(|m| {
                let summary = study.summary(p, m);
                let mut value = estimate_json(summary.mean, summary.ends(), summary.all_equal);
                value["median"] = json!(summary.median);
                (m.name().to_owned(), value)
            });
            Value::Object(measures.collect())
        });
        let ratios: Map<String, Value> = (1..self.policies.len())
            .map(|p| {
                let measures = self.measures().filter_map(|m| {
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
        // The sentence too: programs that only pass it on need not make one.
        value["answer"] = json!(self.answer());
        if let Some(deadline) = self.deadline {
            let by_policy = self.by_policy(|p| {
                let (share, ends) = self.study.within(p, deadline);
                estimate_json(share, Some(ends), false)
            });
            value["deadline"] = json!({ "seconds": deadline, "probability": by_policy });
        }
        if let Some(price) = self.price {
            let by_policy = self.by_policy(|p| cost_json(study, p, price));
            value["cost"] = json!({ "price": price, "policies": by_policy });
            if let Some(steady) = &self.steady {
                let time = steady.study.summary(0, Measure::Makespan);
                value["cost"]["steady"] = json!({
                    "price": steady.price, "cost": cost_json(&steady.study, 0, steady.price),
                    "makespan": estimate_json(time.mean, time.ends(), time.all_equal),
                });
            }
        }
        if let Some(chosen) = &self.chosen {
            value["chosen"] = json!(chosen);
        }
        if let Some(told) = &self.told {
            value["storage"] = told.json();
        }
        if let Some(vouched) = self.vouched {
            value["volunteers"] = vouched.json();
        }
        if let Some(unknown) = self.scene.unknown_sizes {
            value["unknown_sizes"] = json!(unknown);
        }
        self.read.done.tell(&mut value);
        self.read.tell_times(&mut value);
        if let Some(flags) = self.fitted {
            value["world_from"] = json!(flags);
        }
        value
    }

    /// Something of every policy, by its name.
    fn by_policy(&self, of: impl Fn(usize) -> Value) -> Map<String, Value> {
        let policies = self.policies.iter().enumerate();
        policies.map(|(p, name)| (name.clone(), of(p))).collect()
    }

    /// What is measured: bytes only where they are counted, and what becomes of results where that may differ.
    fn measures(&self) -> impl Iterator<Item = Measure> + '_ {
        let counts = |m: &Measure| match m {
            Measure::PeakDisk => self.told.is_some(),
            Measure::Executions | Measure::Wrong | Measure::Undone | Measure::Endless => {
                self.tells_results
            }
            _ => true,
        };
        Measure::ALL.into_iter().filter(counts)
    }

    /// A time in a unit that people use, with its interval.
    fn time(&self, mean: f64, interval: Option<Interval>) -> String {
        let (unit, words) = match self.scene.seconds {
            None => (1.0, "task times"),
            // Each unit from two of the next on: "90 min" is said, not "1.5 h".
            Some(_) if mean < 120.0 => (1.0, "s"),
            Some(_) if mean < 7200.0 => (60.0, "min"),
            Some(_) if mean < 3.0 * 86400.0 => (3600.0, "h"),
            Some(_) => (86400.0, "days"),
        };
        let digits = match mean / unit {
            // Three digits: more would be noise.
            v if v >= 100.0 => 0,
            v if v >= 10.0 => 1,
            _ => 2,
        };
        let ends = interval.map_or(String::new(), |i| {
            format!(" [{:.digits$}, {:.digits$}]", i.low / unit, i.high / unit)
        });
        format!("{:.digits$} {words}{ends}", mean / unit)
    }

    /// What was asked, in a sentence or two.
    fn answer(&self) -> String {
        let first = match &self.chosen {
            Some(chosen) if self.policies[0] == "auto" => format!("auto ({chosen})"),
            _ => self.policies[0].clone(),
        };
        let time = self.study.summary(0, Measure::Makespan);
        let time = self.time(time.mean, time.interval);
        let mut words = format!("On {}, {first} takes {time}", self.scene.place);
        let others: Vec<(String, Ratio)> = (1..self.policies.len())
            .filter_map(|p| {
                let ratio = self.study.ratio(0, p, Measure::Makespan)?;
                Some((self.policies[p].clone(), ratio))
            })
            .collect();
        if !others.is_empty() {
            words += &format!(": {}", less_or_more(&others));
        }
        words += ".";
        if self.tells_results {
            words += &format!(" It comes to {}.", volunteers::outcome(self.study, 0));
        }
        let trusted = self.vouched.map(Vouched::trusted);
        let mut policies = self.policies.iter();
        if let Some(place) = policies.position(|p| Some(p.as_str()) == trusted) {
            let outcome = volunteers::outcome(self.study, place);
            words += &format!(" With all of them trusted: {outcome}.");
        }
        if let Some(deadline) = self.deadline {
            let (share, ends) = self.study.within(0, deadline);
            let (time, low, high) = (self.time(deadline, None), ends.low, ends.high);
            words += &format!(
                " It ends within {time} with a probability of {share:.2} [{low:.2}, {high:.2}]."
            );
        }
        if let Some(price) = self.price {
            words += &format!(" It costs {}", money(self.study.cost(0, price).mean));
            if let Some(steady) = &self.steady {
                words += &format!(
                    "; on workers that stay, {} and {}",
                    money(steady.study.cost(0, steady.price).mean),
                    self.time(steady.study.summary(0, Measure::Makespan).mean, None)
                );
            }
            words += ".";
        }
        words
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
        let terms = match self.vouched {
            Some(vouched) => format!(", {}", vouched.words()),
            None => String::new(),
        };
        format!(
            "{}{terms}; durations {}; {}{early}, seed {}",
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
                let mut row = vec![
                    name.clone(),
                    interval_text(time.mean, time.interval, false, digits(time.mean)),
                    format!("{:.1} %", 100.0 * mean(p, Measure::Stall)),
                    format!("{:.1} %", 100.0 * mean(p, Measure::Utilisation)),
                    decimal(mean(p, Measure::Idle)),
                    decimal(mean(p, Measure::PeakOpen)),
                    decimal(mean(p, Measure::Wasted)),
                ];
                if self.tells_results {
                    row.push(format!("{:.2}", mean(p, Measure::Executions)));
                    let counts = [Measure::Wrong, Measure::Undone];
                    row.extend(counts.map(|m| few(mean(p, m))));
                    row.push(format!("{:.0} %", 100.0 * mean(p, Measure::Endless)));
                }
                if self.told.is_some() {
                    row.push(size::words(mean(p, Measure::PeakDisk) as u128));
                }
                if let Some(deadline) = self.deadline {
                    row.push(format!("{:.2}", self.study.within(p, deadline).0));
                }
                if let Some(price) = self.price {
                    row.push(money(self.study.cost(p, price).mean));
                }
                row
            })
            .collect()
    }

    /// What the columns are called.
    fn header(&self) -> Vec<&'static str> {
        let tells = self.tells_results;
        let asked = [
            (tells, "executions"),
            (tells, "wrong"),
            (tells, "undone"),
            (tells, "endless"),
            (self.told.is_some(), "disk"),
            (self.deadline.is_some(), "in time"),
            (self.price.is_some(), "cost"),
        ];
        let asked = asked.into_iter().filter(|a| a.0).map(|a| a.1);
        HEADER.into_iter().chain(asked).collect()
    }

    pub(super) fn text(&self) -> String {
        let width = layout::width();
        // The answer first, then what it rests on.
        let mut text = format!(
            "{}\n{}: {}\n{}{}\n",
            layout::hanging("", &self.answer(), width),
            self.read.name,
            counted(self.read.flow.dag().len(), "task"),
            self.read.done.row(),
            layout::hanging("", &self.setting(), width)
        );
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
        let mut rows = vec![self.header().into_iter().map(str::to_owned).collect()];
        rows.extend(self.rows());
        if self.policies.len() > 1 {
            text.push('\n');
        }
        text += &layout::columns(&rows, width);
        if let Some(told) = &self.told {
            text.push('\n');
            text += &told.text(&|mean| self.time(mean, None), width);
        }
        text
    }

    fn verdict(&self, other: usize, ratio: &Ratio) -> String {
        let (first, other) = (&self.policies[0], &self.policies[other]);
        let more = 100.0 * (ratio.mean - 1.0).abs();
        match ratio.side() {
            _ if ratio.ends().is_none() => "one run tells nothing of chance".to_owned(),
            Ordering::Less => format!("{first} is {more:.1} % faster"),
            Ordering::Greater => format!("{first} is {more:.1} % slower"),
            Ordering::Equal if ratio.all_equal => {
                format!("{first} and {other} took the same time")
            }
            Ordering::Equal => format!("a tie: {first} and {other} cannot be told apart"),
        }
    }

    pub(super) fn write(
        &self,
        path: &std::path::Path,
        kind: Kind,
        value: &Value,
    ) -> Result<(), Failure> {
        let times = self.times().map_err(|e| pictures::not_drawn(&e))?;
        let ratios = self.ratios().map_err(|e| pictures::not_drawn(&e))?;
        let (header, rows) = (self.header(), self.rows());
        let table = Table {
            caption: "Means over all runs; times with 95 % intervals",
            header: &header,
            rows: &rows,
        };
        let curve = self.curve().map_err(|e| pictures::not_drawn(&e))?;
        let figures = [
            (
                Some(&times),
                "Time from the start to the last completion; left is better.",
            ),
            (
                ratios.as_ref(),
                "All policies met the same workers and durations in each run. Left of 1 the first policy is faster.",
            ),
            (
                curve.as_ref(),
                "Time under ever tighter caps on the disk; the knee is where a cap begins to cost.",
            ),
        ];
        let captioned =
            |(figure, caption): (Option<_>, _)| figure.map(|figure| Captioned { figure, caption });
        let figures: Vec<Captioned<'_>> = figures.into_iter().filter_map(captioned).collect();
        let page = Page {
            title: &format!("{}: policies compared", self.title()),
            lead: &self.setting(),
            tables: &[table],
            figures: &figures,
            footer: "Made by cairn simulate.",
        };
        pictures::write(path, kind, &times, &page, value)
    }

    /// The file's own name, as titles have no room for folders.
    fn title(&self) -> &str {
        pictures::short_name(&self.read.name)
    }

    /// What a mean time is called beside an axis.
    fn time_name(&self) -> &'static str {
        match self.scene.seconds {
            Some(_) => "mean time (seconds)",
            None => "mean time (task times)",
        }
    }

    /// Time against the cap on the disk; none without one.
    fn curve(&self) -> Result<Option<Figure>, ShowError> {
        let points = self.told.as_ref().map(Told::points);
        let Some(points) = points.filter(|points| !points.is_empty()) else {
            return Ok(None);
        };
        let unit = DiskUnit::of(points.iter().map(|p| p.0));
        let line: Vec<(f64, f64)> = points.iter().map(|p| (p.0 / unit.bytes, p.1)).collect();
        let knee = points.iter().filter(|p| !p.2.is_empty());
        let knee = knee.map(|p| (p.2.as_str(), p.0 / unit.bytes, p.1));
        let knee: Vec<(&str, f64, f64)> = knee.collect();
        let figure = Lines {
            title: &format!("Time against disk: {}", self.title()),
            subtitle: &self.setting(),
            x_name: &format!("cap on the disk ({})", unit.name),
            y_name: self.time_name(),
            lines: &[Line {
                name: "best of the priorities tried",
                points: &line,
            }],
            levels: &[],
            marks: &knee,
        };
        figure.draw().map(Some)
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
        self.intervals("Time of each policy", self.time_name(), &rows, None)
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
            .map(|&(ref name, estimate)| IntervalRow { name, estimate })
            .collect();
        let title = format!("{} against the others", self.policies[0]);
        let figure = self.intervals(&title, "ratio of mean times", &rows, Some(1.0));
        figure.map(Some)
    }

    fn intervals(
        &self,
        title: &str,
        value_name: &str,
        rows: &[IntervalRow<'_>],
        reference: Option<f64>,
    ) -> Result<Figure, ShowError> {
        Intervals {
            title: &format!("{title}: {}", self.title()),
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

/// What a policy costs at a price of a worker's hour.
fn cost_json(study: &Study, policy: usize, price: f64) -> Value {
    let cost = study.cost(policy, price);
    estimate_json(cost.mean, cost.ends(), cost.all_equal)
}

/// A sum of money; the currency is that of the price.
fn money(value: f64) -> String {
    match value.abs() {
        v if v == 0.0 || v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

fn decimal(value: f64) -> String {
    format!("{value:.*}", digits(value).min(2))
}
