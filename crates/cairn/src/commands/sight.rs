//! What the page of a run shows beside the run itself: the dag in boxes, and the bound that is proved. Runs nothing.

use super::family::{Wanted, called};
use crate::budgets::PLANNING;
use crate::budgets::sight::{BOXES, STEPS};
use crate::limits::Clock;
use cairn_dag::{Dag, Flow};
use cairn_engine::{Implicit, Position, Task};
use cairn_plan::Work;
use cairn_serve::http::Sight;
use cairn_serve::live::{Bound, DagMap, Subject, few, profile};
use cairn_show::{Boxes, DagDrawing, Nodes};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A flow as a page sees it.
pub(crate) struct Seen {
    flow: Arc<Flow>,
    title: String,
    bound: Arc<OnceLock<Option<Arc<Bound>>>>,
    is_sought: AtomicBool,
    is_over: Arc<AtomicBool>,
}

impl Seen {
    /// Nothing is looked for once `is_over`.
    pub(crate) fn new(flow: Arc<Flow>, title: &str, is_over: Arc<AtomicBool>) -> Seen {
        Seen {
            flow,
            title: title.to_owned(),
            bound: Arc::default(),
            is_sought: AtomicBool::new(false),
            is_over,
        }
    }
}

/// By a plan whose order nobody asks for: so no ties in it are broken.
fn bound(flow: &Flow, work: &mut Work<'_>) -> Bound {
    let effort = cairn_plan::PlanEffort::default();
    let plan = cairn_plan::plan(flow.dag(), &effort, work);
    Bound {
        eligible: plan.bound,
        verdict: plan.verdict,
    }
}

/// What no order exceeds, as far as it is found in that time.
pub(crate) fn bound_within(flow: &Flow, time: Duration) -> Bound {
    bound(flow, &mut Work::until(&Clock::lasting(time).stop()))
}

impl Sight for Seen {
    fn subject(&self) -> &dyn Subject {
        &*self.flow
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn map(&self) -> Option<(DagMap, Vec<u32>)> {
        map(&self.flow)
    }

    /// By a plan, on a thread of its own: a run that nobody watches does without.
    fn bound(&self) -> Option<Arc<Bound>> {
        if !self.is_sought.swap(true, Ordering::Relaxed) {
            let (flow, found) = (Arc::clone(&self.flow), Arc::clone(&self.bound));
            let is_over = Arc::clone(&self.is_over);
            std::thread::spawn(move || {
                let is_late = Clock::lasting(PLANNING).stop();
                let stop = || is_late() || is_over.load(Ordering::Relaxed);
                // Nobody else sets it: the flag above lets one thread begin.
                let _ = found.set(Some(Arc::new(bound(&flow, &mut Work::until(&stop)))));
            });
        }
        self.bound.get().cloned().flatten()
    }
}

/// A family that is never written down, as a page sees it.
pub(crate) struct Cells {
    wanted: Wanted,
    /// Whether the store is of the family without its end.
    is_endless: bool,
}

impl Cells {
    /// As a server has it.
    pub(crate) fn served(wanted: &Wanted) -> Cells {
        let wanted = wanted.clone();
        Cells {
            wanted,
            is_endless: false,
        }
    }

    /// As `cairn run` has it.
    pub(crate) fn of_run(wanted: &Wanted) -> Cells {
        let wanted = wanted.clone();
        Cells {
            wanted,
            is_endless: true,
        }
    }

    /// What its own order gives, and that no order gives more: the orders of families are IC-optimal by theorems.
    pub(crate) fn own_profile(&self) -> Option<(Vec<(u64, u64)>, Bound)> {
        let tasks = self
            .wanted
            .shape()
            .tasks()
            .filter(|&tasks| tasks <= STEPS)?;
        let eligible = profile(self, (0..tasks).map(Task));
        let points = few(&eligible);
        let verdict = cairn_plan::Verdict::Optimal;
        Some((points, Bound { eligible, verdict }))
    }
}

impl Subject for Cells {
    fn name(&self, task: Task) -> String {
        let (level, index) = self.wanted.shape().place(task.0);
        called(level, index)
    }

    fn position(&self) -> Box<dyn Position + '_> {
        let (_, shape, until) = self.wanted.without_end();
        match until.filter(|_| self.is_endless) {
            Some(step) => {
                let mut position = Implicit::new(shape);
                position.end_at(step);
                Box::new(position)
            }
            None => Box::new(Implicit::new(self.wanted.shape())),
        }
    }

    fn dag(&self) -> Option<&Dag> {
        None
    }
}

/// A family that is watched: what no order exceeds is found once.
pub(crate) struct SeenFamily {
    cells: Cells,
    profile: OnceLock<Option<Arc<Bound>>>,
}

impl SeenFamily {
    pub(crate) fn new(wanted: &Wanted) -> SeenFamily {
        SeenFamily {
            cells: Cells::served(wanted),
            profile: OnceLock::new(),
        }
    }
}

impl Sight for SeenFamily {
    fn subject(&self) -> &dyn Subject {
        &self.cells
    }

    fn title(&self) -> String {
        self.cells.wanted.name.clone()
    }

    fn map(&self) -> Option<(DagMap, Vec<u32>)> {
        None
    }

    fn bound(&self) -> Option<Arc<Bound>> {
        let found = || self.cells.own_profile().map(|(_, bound)| Arc::new(bound));
        self.profile.get_or_init(found).clone()
    }
}

/// The dag in boxes, and the box of each task.
pub(crate) fn map(flow: &Flow) -> Option<(DagMap, Vec<u32>)> {
    let dag = flow.dag();
    let kinds: Vec<&str> = dag.tasks().map(|t| flow.kind(t)).collect();
    let names: Vec<_> = dag.tasks().map(|t| flow.shown(t)).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let drawing = DagDrawing {
        names: &names,
        kinds: &kinds,
        nodes: Nodes::AtMost(BOXES),
        ..DagDrawing::new("", dag)
    };
    let figure = drawing.draw().ok()?;
    let Boxes {
        of_task,
        sizes,
        first,
    } = figure.boxes();
    let svg = figure.svg().to_owned();
    Some((DagMap { svg, sizes, first }, of_task))
}
