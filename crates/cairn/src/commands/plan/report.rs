//! What `cairn plan` prints: words, JSON, the table of orders. Knows not how they were found.

use crate::cli::Policy;
use crate::commands::auto::Choice;
use crate::commands::contender::name;
use crate::commands::disk::Planned;
use crate::commands::durations::OverTime;
use crate::commands::memory;
use crate::commands::reasons::{how, proof_json, verdict_words};
use crate::commands::worth::{self, Beside};
use crate::input::Read;
use crate::layout;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::TaskId;
use cairn_formats::shell_word;
use cairn_plan::cap::Capped;
use cairn_plan::policy::priorities;
use cairn_plan::{Plan, Verdict};
use cairn_theory::profile::area;
use serde_json::{Map, Value, json};

/// An order that a policy gives, and what it reaches.
pub(super) struct Reached {
    pub(super) order: Vec<TaskId>,
    pub(super) profile: Vec<u32>,
}

/// What was found out.
pub(super) struct Found<'a> {
    pub(super) plan: Plan<'a>,
    pub(super) policy: Policy,
    /// Why this policy, where it was chosen.
    pub(super) choice: Option<Choice>,
    pub(super) reached: Reached,
    pub(super) over_time: Option<OverTime>,
    pub(super) peak: u64,
    /// The peak of the same policy's order without a cap.
    pub(super) free: u64,
    pub(super) curve: Vec<Capped>,
    /// What `--disk` found.
    pub(super) disk: Option<Planned<'a>>,
}

/// Everything that is printed about a plan.
pub(super) struct Report<'a> {
    pub(super) read: &'a Read,
    pub(super) found: &'a Found<'a>,
    /// Most results that may be open.
    pub(super) cap: Option<u64>,
    /// What `auto` would choose, where that is known.
    pub(super) would: Option<Choice>,
    /// Other policies; empty when there was no time for them.
    pub(super) baselines: Vec<Beside>,
    /// Whether the input has a name that other commands can read.
    pub(super) is_file: bool,
}

impl Report<'_> {
    /// The verdict on the order printed, which may not be the plan's own.
    fn verdict(&self) -> Verdict {
        self.found.plan.judge(&self.found.reached.profile)
    }

    /// Whether the cap changed the order.
    fn is_narrowed(&self) -> bool {
        self.cap.is_some_and(|cap| cap < self.found.free) || self.found.disk.is_some()
    }

    fn ratio(&self, reached: u64) -> f64 {
        worth::share(reached, area(&self.found.plan.bound))
    }

    /// The most bytes in use along an order, where they are counted.
    fn disk_peak(&self, order: &[TaskId]) -> Option<u64> {
        self.found.disk.as_ref().map(|disk| disk.peak_of(order))
    }

    fn largest_gap(&self) -> (usize, u32) {
        self.found.plan.largest_gap(&self.found.reached.profile)
    }

    pub(super) fn json(&self, arrays: bool) -> Value {
        let (flow, plan) = (&self.read.flow, &self.found.plan);
        let dag = flow.dag();
        let reached = area(&self.found.reached.profile);
        let (step, gap) = self.largest_gap();
        let memory = self.found.disk.as_ref().and_then(Planned::as_memory);
        let baselines: Map<String, Value> = (self.baselines.iter())
            .map(|b| {
                let peak = b.disk.filter(|_| memory.is_some()).unwrap_or(b.peak);
                let mut value = json!({
                    "area": b.area, "area_ratio": self.ratio(b.area), "memory_peak": peak,
                });
                if let Some(disk) = b.disk {
                    value["disk_peak"] = json!(disk);
                }
                (b.name.clone(), value)
            })
            .collect();
        let mut value = json!({
            "file": self.read.name, "format": self.read.format.name(),
            "tasks": dag.len(), "arcs": dag.arc_count(),
            "sources": dag.sources().count(), "sinks": dag.sinks().count(),
            "area": reached, "area_bound": area(&plan.bound), "area_ratio": self.ratio(reached),
            "verdict": self.verdict().name(), "proof": proof_json(plan, flow),
            "bound_checked": { "proved": plan.steps_proved(), "steps": plan.bound.len() },
            "largest_gap": { "step": step, "gap": gap },
            "memory": { "peak": self.found.peak, "unit": "results" },
            "composite": plan.survey().blocks().is_composite(), "blocks": plan.survey().blocks().len(),
            "skeleton_removed": plan.survey().removed(),
            "baselines": baselines, "policy": name(&self.found.policy),
        });
        if let Some(memory) = memory {
            value["memory"] = memory;
        }
        self.read.done.tell(&mut value);
        self.read.tell_times(&mut value);
        // After `memory` may have been replaced by what the disk found.
        value["memory"]["executed_needed"] = json!(self.read.done.needed());
        if let Some(choice) = &self.found.choice {
            value["auto"] = choice.json();
        }
        if let Some(would) = &self.would {
            value["auto_would"] = would.json();
        }
        if let Some(over_time) = &self.found.over_time {
            value["durations"] = over_time.json(arrays);
        }
        if let Some(most) = self.cap {
            let point = |c: &Capped| json!({ "peak": c.peak, "area": c.area });
            value["memory"]["cap"] = json!(most);
            value["memory"]["unknown_sizes"] = json!(0);
            value["memory"]["trade_off"] = self.found.curve.iter().map(point).collect();
        }
        if let Some(disk) = &self.found.disk {
            value["storage"] = disk.json();
        }
        if arrays {
            let order = &self.found.reached.order;
            let numbers = priorities(order);
            let priority: Map<String, Value> = (order.iter())
                .map(|&t| (flow.name(t).to_owned(), json!(numbers[t.index()])))
                .collect();
            value["order"] = order.iter().map(|&t| flow.name(t)).collect();
            value["priority"] = Value::Object(priority);
            value["profile"] = json!(self.found.reached.profile);
            value["bound"] = json!(plan.bound);
        }
        value
    }

    /// The verdict in plain words, with the reason where it is one of the flags.
    fn plain(&self) -> String {
        let share = self.ratio(area(&self.found.reached.profile));
        let how = how(self.verdict(), &self.found.plan);
        let words = worth::verdict(self.verdict(), &how, share);
        match self.verdict() {
            Verdict::Suboptimal if self.is_narrowed() => format!(
                "as good as found under the cap: it has {} of the ready tasks of an order without {}",
                worth::percent(share),
                match &self.found.disk {
                    Some(disk) if disk.as_memory().is_none() => "--disk",
                    _ => "--memory-cap",
                }
            ),
            Verdict::Suboptimal if self.found.over_time.is_some() => {
                format!("counting steps, {words} (leave out --durations)")
            }
            Verdict::Suboptimal => format!("{words} (--policy ic)"),
            _ => words,
        }
    }

    pub(super) fn text(&self, out: &Output) -> String {
        let (flow, plan) = (&self.read.flow, &self.found.plan);
        let dag = flow.dag();
        let width = layout::width();
        let line = |name: &str, words: &str| layout::hanging(&format!("  {name:10}"), words, width);
        let counts = [
            counted(dag.len(), "task"),
            counted(dag.arc_count(), "arc"),
            counted(dag.sources().count(), "source"),
            counted(dag.sinks().count(), "sink"),
        ];
        let mut text = layout::heading(&self.read.name, &counts.join(", "), width);
        text += &self.read.done.row();
        text += &line("quality", &self.plain());
        if let Some(over_time) = &self.found.over_time {
            text += &line("seconds", &over_time.text());
        }
        let besides = match self.read.done.needed() {
            0 => String::new(),
            needed => format!(", besides those of {}", counted(needed, "executed task")),
        };
        let peak = memory::words(self.found.peak);
        text += &line("memory", &format!("{peak} at the most{besides}"));
        if let Some(disk) = &self.found.disk {
            text += &line("disk", &disk.text());
            text += &line("files", &disk.assumed);
        }
        if let Some(choice) = &self.found.choice {
            text += &line("policy", &choice.text());
        }
        if let Some(would) = &self.would {
            text += &line("auto", &would.would());
        }
        if out.verbose {
            text += &line("verdict", &verdict_words(self.verdict(), plan, flow));
            text += &line("area", &self.area_words());
        }
        text += &format!("\n{}\n", self.table(out, width));
        // Chosen by eye: two lines of names on most terminals.
        const SHOWN: usize = 12;
        let first: Vec<String> = (self.found.reached.order.iter().take(SHOWN))
            // One name a line at the worst: beside the twelve columns of the row's own name, and with its comma.
            .map(|&task| layout::whole(&layout::short(&flow.shown(task), width - 13)))
            .collect();
        let more = match dag.len() > SHOWN {
            true => format!(", … (--order prints all {})", dag.len()),
            false => String::new(),
        };
        text += &line("order", &format!("{}{more}", first.join(", ")));
        if !out.quiet {
            // As far in as the rows above have their words: the name of this row takes the place of twelve blanks.
            let next = layout::pairs(&self.next(), 12, width);
            text += &next.replacen("            ", "  next      ", 1);
        }
        text
    }

    /// The area of the order and its largest distance from the bound.
    fn area_words(&self) -> String {
        let reached = area(&self.found.reached.profile);
        let (step, gap) = self.largest_gap();
        let gap = match gap {
            0 => "the bound is met at every step".to_owned(),
            _ => format!("largest gap {gap} at step {step}"),
        };
        let mut words = format!(
            "{reached} of at most {} ({:.2} %), {gap}",
            area(&self.found.plan.bound),
            100.0 * self.ratio(reached)
        );
        let searched = self.found.plan.checked.steps.len() - self.found.plan.steps_proved();
        if searched > 0 && self.verdict() != Verdict::Optimal {
            let steps = self.found.plan.bound.len();
            words += &format!(
                "; at {searched} of {steps} steps the bound rests on a search that `verify` does not repeat"
            );
        }
        words
    }

    /// This order beside the usual ones: what DAGMan does and the longest path first, with `-v` all of them.
    fn table(&self, out: &Output, width: usize) -> String {
        let dag = self.read.flow.dag();
        let mut rows = vec![Beside {
            name: match self.found.policy {
                Policy::Ic => "this order".to_owned(),
                other => format!("this order ({})", name(&other)),
            },
            area: area(&self.found.reached.profile),
            peak: self.found.peak,
            disk: self.disk_peak(&self.found.reached.order),
        }];
        if self.found.reached.order != self.found.plan.order {
            rows.push(Beside {
                name: "ic".to_owned(),
                area: area(&self.found.plan.profile),
                peak: memory::peak(dag, &self.found.plan.order),
                disk: self.disk_peak(&self.found.plan.order),
            });
        }
        // DAGMan's and critical path, which stand first in the list: what people would do otherwise.
        let shown = if out.verbose { usize::MAX } else { 2 };
        let own = name(&self.found.policy);
        let others = self.baselines.iter().take(shown);
        let others = others.filter(|b| b.name != own).map(|b| Beside {
            name: b.name.clone(),
            ..*b
        });
        rows.extend(others);
        let mut text = worth::table(&rows, (dag.len(), area(&self.found.plan.bound)), width);
        if self.baselines.is_empty() {
            text += "  No other order beside it: the time is up.\n";
        }
        text
    }

    /// What to do with the plan, as commands.
    fn next(&self) -> Vec<(String, String)> {
        let file = match self.read.name.as_str() {
            name if self.is_file => shell_word(name).into_owned(),
            _ => "FILE".to_owned(),
        };
        let mut next = Vec::new();
        let mut add = |command: String, about: &str| next.push((command, about.to_owned()));
        let is_free =
            self.cap.is_none() && self.found.disk.is_none() && self.found.over_time.is_none();
        if is_free && self.read.format.holds_priorities() {
            let policy = match self.found.policy {
                Policy::Ic => String::new(),
                other => format!(" --policy {}", name(&other)),
            };
            let command = format!("cairn prio {file} --in-place{policy}");
            add(command, "write the order into the file");
        }
        let about = "what it saves on workers that come and go";
        add(format!("cairn simulate {file}"), about);
        add(format!("cairn show {file} -o plan.html"), "see it");
        add(
            format!("cairn explain {file}"),
            "why, in the words of the theory",
        );
        next
    }
}
