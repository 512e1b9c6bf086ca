//! `cairn show`: a plan as pictures.

use super::caps;
use super::contender::name;
use super::disk::{self, DiskUnit, Planned, Room};
use super::orders;
use super::pictures::{self, Kind};
use super::reasons::how;
use super::worth;
use crate::cli::{self, Drawing, Policy};
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::limits::{Limits, is_interrupted};
use crate::output::Output;
use crate::plural::counted;
use crate::screen;
use crate::spare;
use cairn_dag::TaskId;
use cairn_plan::{Plan, Work, cap};
use cairn_show::{
    Captioned, DagDrawing, EligibilityCurves, Figure, Line, Lines, Page, Series, ShowError, Table,
    Tradeoff, TradeoffPoint,
};
use cairn_theory::memory::memory_cost;
use cairn_theory::profile::area;
use serde_json::json;

const KINDS: [Kind; 3] = [Kind::Svg, Kind::Png, Kind::Html];

/// What to draw and where, checked.
pub(crate) struct Settings {
    flags: cli::Show,
    kinds: Vec<Kind>,
    disk: Option<caps::Disk>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Show) -> Result<Settings, Failure> {
        let kinds = pictures::kinds(&flags.out, &KINDS)?;
        let one_figure = kinds.iter().any(|&k| k != Kind::Html);
        if one_figure && flags.what == Some(Drawing::All) {
            return Err(Failure::usage(
                "SVG and PNG hold one figure, not all",
                "write .html, or choose --what dag, blocks, curves or tradeoff",
            ));
        }
        let read = Named::new(&flags.input, &flags.executed).checked()?;
        for path in &flags.out {
            spare::none_of(&read.paths(), path, "name another file for the picture")?;
            spare::has_folder(path)?;
        }
        let disk = caps::Disk::new(&flags.disk)?;
        if disk.is_none() && matches!(flags.what, Some(Drawing::Disk | Drawing::DiskCurve)) {
            return Err(Failure::usage(
                "bytes in use are drawn against a cap, and none is given",
                "give one, such as --disk 500GB",
            ));
        }
        Ok(Settings {
            limits: Limits::new(&flags.limits)?,
            disk,
            kinds,
            flags,
        })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let Settings {
        flags,
        kinds,
        limits,
        disk,
    } = settings;
    let clock = limits.clock();
    let read = input::read_rest(&flags.input, &flags.executed, out)?;
    let folder = input::folder(&flags.input);
    let room = Room::new(
        disk.as_ref(),
        &read,
        folder,
        &Work::until(&clock.stop()),
        out,
    )?;
    let progress = out.progress("planning");
    let mut plan = orders::make(&read.flow, flags.choices, limits, &clock);
    // Steps are marked as optimal only where the checker proves it.
    plan.foresee(&read.flow);
    let mut gallery = Gallery::new(&read, &plan, &flags.policies);
    drop(progress);
    if let Some(room) = room {
        let wanted = gallery.shown.first().map_or(&plan.order, |s| &s.order);
        let found = disk::plan(room, wanted, &Work::until(&clock.stop()), out)?;
        gallery.disk = Some(found);
    }
    if is_interrupted() {
        return Err(Failure::Interrupted("nothing was drawn"));
    }
    for (path, &kind) in flags.out.iter().zip(kinds) {
        let what = flags.what.unwrap_or(match kind {
            Kind::Html => Drawing::All,
            _ => Drawing::Curves,
        });
        gallery.write(path, kind, what)?;
        out.remark(&format!("wrote {}", screen::path(path)));
    }
    let paths: Vec<String> = flags.out.iter().map(|p| p.display().to_string()).collect();
    let mut value = json!({ "file": read.name, "tasks": read.flow.dag().len(), "wrote": paths });
    read.done.tell(&mut value);
    out.answer(&value, "")
}

/// One policy's order and what it reaches.
struct Shown {
    name: String,
    order: Vec<TaskId>,
    profile: Vec<u32>,
    peak: u64,
}

/// A plan with the orders shown beside it.
struct Gallery<'a> {
    read: &'a Read,
    plan: &'a Plan<'a>,
    shown: Vec<Shown>,
    /// What a cap on the disk comes to, where there is one.
    disk: Option<Planned<'a>>,
}

impl<'a> Gallery<'a> {
    fn new(read: &'a Read, plan: &'a Plan<'a>, policies: &[Policy]) -> Gallery<'a> {
        let dag = read.flow.dag();
        let mut wanted: Vec<Policy> = Vec::new();
        for &policy in policies {
            // In the order given, each once: the first is in front.
            if !wanted.contains(&policy) {
                wanted.push(policy);
            }
        }
        let seconds = read.flow.imputed_seconds();
        let orders = orders::Orders::new(dag, seconds.as_deref(), Some(plan));
        let shown = wanted.into_iter().map(|policy| {
            let order = orders.of(policy);
            Shown {
                name: name(&policy),
                profile: plan.profile_of(&order),
                peak: memory_cost(dag, &order) as u64,
                order,
            }
        });
        Gallery {
            read,
            plan,
            shown: shown.collect(),
            disk: None,
        }
    }

    fn write(&self, path: &std::path::Path, kind: Kind, what: Drawing) -> Result<(), Failure> {
        let figures = self.figures(what).map_err(|e| pictures::not_drawn(&e))?;
        let captioned: Vec<Captioned<'_>> = (figures.iter())
            .map(|(figure, caption)| Captioned { figure, caption })
            .collect();
        let rows = self.rows();
        let table = Table {
            caption: "Orders beside each other. Tasks ready: on average over all steps. Limit: what no order can exceed. Results \
                      open: made and still needed, at the most.",
            header: &[
                "policy",
                "tasks ready",
                "of the limit",
                "steps at the limit",
                "largest gap",
                "results open",
            ],
            rows: &rows,
        };
        let page = Page {
            title: self.title(),
            lead: &self.lead(),
            tables: &[table],
            figures: &captioned,
            footer: "Made by cairn show.",
        };
        pictures::write(path, kind, &figures[0].0, &page, &json!(null))
    }

    /// The figures asked for, with what to see in each.
    fn figures(&self, what: Drawing) -> Result<Vec<(Figure, &'static str)>, ShowError> {
        let mut figures = Vec::new();
        if matches!(what, Drawing::Dag | Drawing::All) {
            let caption = "The dag by levels. Large ones are drawn by kinds of job: a box stands for all its tasks, and a line \
                           is the thicker the more arcs it stands for.";
            figures.push((self.dag(false)?, caption));
        }
        if what == Drawing::Blocks {
            let caption =
                "The dag by levels, each task under the kind of the block that it is executed for.";
            figures.push((self.dag(true)?, caption));
        }
        if matches!(what, Drawing::Curves | Drawing::All) {
            let caption = "Eligible tasks after each executed task. No order reaches above the bound; where the \
                           first order meets it, no order has more eligible tasks at that step.";
            figures.push((self.curves()?, caption));
        }
        if matches!(what, Drawing::Tradeoff | Drawing::All) {
            let caption = "What holding more results open buys: the plan under ever tighter caps, and the other orders.";
            figures.push((self.tradeoff()?, caption));
        }
        if let Some(disk) = &self.disk {
            if matches!(what, Drawing::Disk | Drawing::All) {
                let caption = "Bytes in use while each task runs, one after the other: the order under the cap, that of the smallest \
                               peak found, and others without a cap.";
                figures.push((self.disk_use(disk)?, caption));
            }
            if matches!(what, Drawing::DiskCurve | Drawing::All) {
                let caption = "Ready tasks under ever tighter caps on the disk; from the knee on a cap costs hardly anything.";
                figures.push((self.disk_curve(disk)?, caption));
            }
        }
        Ok(figures)
    }

    /// Bytes in use along orders, against the cap.
    fn disk_use(&self, disk: &Planned<'_>) -> Result<Figure, ShowError> {
        let storage = disk.ground.storage();
        let (cap, bound) = (disk.ground.cap.bytes, disk.ground.lean.bound.bytes);
        let lean = storage.needs(&disk.ground.lean.order);
        let mut orders = vec![
            ("under the cap", storage.needs(&disk.order)),
            ("smallest peak found", lean),
        ];
        // Five lines in all: as many as are told apart at a glance.
        let others = self.shown.iter().take(3);
        orders.extend(others.map(|s| (s.name.as_str(), storage.needs(&s.order))));
        let most = orders.iter().flat_map(|(_, needs)| needs).max();
        let most = most.copied().unwrap_or(0);
        let unit = DiskUnit::of([most as f64].into_iter());
        let scaled = |bytes: u64| bytes as f64 / unit.bytes;
        let lines: Vec<Vec<(f64, f64)>> = (orders.iter())
            .map(|(_, needs)| {
                let points = needs.iter().enumerate();
                points.map(|(i, &need)| (i as f64, scaled(need))).collect()
            })
            .collect();
        let lines: Vec<Line<'_>> = (orders.iter().zip(&lines))
            .map(|(&(name, _), points)| Line { name, points })
            .collect();
        let mut levels = vec![("lower bound", scaled(bound))];
        // A cap far above everything would make the lines flat.
        if cap <= 2 * most {
            levels.push(("cap", scaled(cap)));
        }
        Lines {
            title: &format!("Disk in use: {}", self.title()),
            subtitle: &disk.ground.least_words(),
            x_name: "tasks executed before",
            y_name: &format!("in use ({})", unit.name),
            lines: &lines,
            levels: &levels,
            marks: &[],
        }
        .draw()
    }

    /// Ready tasks against the cap.
    fn disk_curve(&self, disk: &Planned<'_>) -> Result<Figure, ShowError> {
        let unit = DiskUnit::of(disk.curve.iter().map(|p| p.0 as f64));
        let points: Vec<(f64, f64)> = (disk.curve.iter())
            .map(|&(cap, area)| (cap as f64 / unit.bytes, self.share(area)))
            .collect();
        let knee = disk.curve.iter().position(|p| p.0 == disk.knee);
        let knee: Vec<(&str, f64, f64)> = (knee.iter())
            .map(|&at| ("knee", points[at].0, points[at].1))
            .collect();
        Lines {
            title: &format!("Disk against area: {}", self.title()),
            subtitle: &disk.ground.least_words(),
            x_name: &format!("cap on the disk ({})", unit.name),
            y_name: "area (% of the bound)",
            lines: &[Line {
                name: "best order found under the cap",
                points: &points,
            }],
            levels: &[],
            marks: &knee,
        }
        .draw()
    }

    fn lead(&self) -> String {
        let dag = self.read.flow.dag();
        let verdict = self.plan.verdict;
        let share = self.share(area(&self.plan.profile)) / 100.0;
        format!(
            "{}{}, {}. Cairn's order: {}.",
            counted(dag.len(), "task"),
            self.read.done.aside(),
            counted(dag.arc_count(), "arc"),
            worth::verdict(verdict, &how(verdict, self.plan), share)
        )
    }

    /// The part of what no order can exceed, in percent.
    fn share(&self, reached: u64) -> f64 {
        100.0 * worth::share(reached, area(&self.plan.bound))
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |shown: &Shown| {
            let reached = area(&shown.profile);
            let (_, gap) = self.plan.largest_gap(&shown.profile);
            let best = self.plan.optimal_steps(&shown.profile).len();
            vec![
                shown.name.clone(),
                worth::mean_ready(reached, self.read.flow.dag().len()),
                format!("{:.2} %", self.share(reached)),
                format!("{best} of {}", shown.profile.len()),
                gap.to_string(),
                shown.peak.to_string(),
            ]
        };
        self.shown.iter().map(row).collect()
    }

    /// The file's own name, as titles have no room for folders.
    fn title(&self) -> &str {
        pictures::short_name(&self.read.name)
    }

    fn curves(&self) -> Result<Figure, ShowError> {
        let Some((first, others)) = self.shown.split_first() else {
            unreachable!("the command line asks for at least one policy");
        };
        // Equal curves hide each other: they share a line, and their names in the legend.
        let mut lines: Vec<(String, &[u32])> = vec![(first.name.clone(), &first.profile)];
        for other in others {
            match lines.iter_mut().find(|(_, p)| *p == other.profile) {
                Some((name, _)) => *name += &format!(" = {}", other.name),
                None => lines.push((other.name.clone(), &other.profile)),
            }
        }
        let series: Vec<Series<'_>> = (lines.iter())
            .map(|(name, profile)| Series { name, profile })
            .collect();
        let subtitle = format!(
            "{}; area of {} {:.1} % of the bound",
            counted(self.read.flow.dag().len(), "task"),
            first.name,
            self.share(area(&first.profile))
        );
        EligibilityCurves {
            title: &format!("Eligible tasks: {}", self.title()),
            subtitle: &subtitle,
            series: &series,
            bound: Some(&self.plan.bound),
            optimal_steps: &self.plan.optimal_steps(&first.profile),
        }
        .draw()
    }

    /// The dag by the kinds of its jobs, or of the blocks that its tasks are executed for.
    fn dag(&self, by_block: bool) -> Result<Figure, ShowError> {
        let flow = &self.read.flow;
        let dag = flow.dag();
        let kind = |task| {
            let kind = self.plan.survey().kind_for(task);
            kind.map_or("isolated".to_owned(), ToString::to_string)
        };
        let blocks = by_block.then(|| dag.tasks().map(kind).collect::<Vec<_>>());
        let kinds: Vec<&str> = match &blocks {
            Some(blocks) => blocks.iter().map(String::as_str).collect(),
            None => dag.tasks().map(|t| flow.kind(t)).collect(),
        };
        let names: Vec<_> = dag.tasks().map(|t| flow.shown(t)).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let order = self.shown.first().map_or(&[][..], |s| &s.order);
        DagDrawing {
            names: &names,
            order,
            kinds: &kinds,
            kind_words: match by_block {
                true => ("kind of block", "kinds of block"),
                false => ("kind of job", "kinds of job"),
            },
            ..DagDrawing::new(self.title(), dag)
        }
        .draw()
    }

    fn tradeoff(&self) -> Result<Figure, ShowError> {
        let dag = self.read.flow.dag();
        let curve = cap::trade_off(dag, &self.plan.order);
        let mut plans: Vec<(u64, u64, String)> = Vec::new();
        let named = self.shown.iter();
        let named = named.map(|s| (s.peak, area(&s.profile), s.name.as_str()));
        for (memory, area, name) in named.chain(curve.iter().map(|c| (c.peak, c.area, ""))) {
            match plans.iter_mut().find(|p| (p.0, p.1) == (memory, area)) {
                Some(plan) if !name.is_empty() => plan.2 += &format!(" = {name}"),
                Some(_) => {}
                None => plans.push((memory, area, name.to_owned())),
            }
        }
        let points: Vec<TradeoffPoint<'_>> = (plans.iter())
            .map(|(memory, area, name)| TradeoffPoint {
                memory: *memory as f64,
                area: self.share(*area),
                name,
            })
            .collect();
        Tradeoff {
            title: &format!("Memory against area: {}", self.title()),
            subtitle: "Each point is an order; unnamed ones follow the plan under a cap on open results",
            memory_name: "peak memory (open results)",
            area_name: "area (% of the bound)",
            points: &points,
            bound: Some(100.0),
        }
        .draw()
    }
}
