//! What the page of a run shows beside the run itself: the dag in boxes, and the bound that is proved. Runs nothing.

use crate::limits;
use cairn_dag::Flow;
use cairn_serve::http::Sight;
use cairn_serve::live::{Bound, DagMap};
use cairn_show::{DagDrawing, Nodes};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// So many boxes at the most; or twice as many single tasks.
const BOXES: usize = 250;
/// The longest that a bound is looked for.
const PLANNING: Duration = Duration::from_secs(60);

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

fn bound(plan: &cairn_plan::Plan<'_>) -> Bound {
    Bound {
        eligible: plan.bound.clone(),
        verdict: plan.verdict.name(),
    }
}

/// What no order exceeds, as far as it is found in that time.
pub(crate) fn bound_within(flow: &Flow, time: Duration) -> Bound {
    let begin = Instant::now();
    let stop = || begin.elapsed() > time || limits::is_interrupted();
    let plan = cairn_plan::plan(flow.dag(), &cairn_plan::Limits::default(), &stop);
    bound(&plan)
}

impl Sight for Seen {
    fn flow(&self) -> &Flow {
        &self.flow
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
                let begin = Instant::now();
                let stop = || {
                    let is_late = begin.elapsed() > PLANNING;
                    is_late || is_over.load(Ordering::Relaxed) || limits::is_interrupted()
                };
                let plan = cairn_plan::plan(flow.dag(), &cairn_plan::Limits::default(), &stop);
                let _ = found.set(Some(Arc::new(bound(&plan))));
            });
        }
        self.bound.get().cloned().flatten()
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
    let box_of: Vec<u32> = figure.index().iter().map(|&(node, _)| node).collect();
    let many = box_of.iter().max().map_or(0, |&b| b as usize + 1);
    let mut sizes = vec![0; many];
    box_of.iter().for_each(|&b| sizes[b as usize] += 1);
    let mut first = vec![0; many];
    for (task, &b) in box_of.iter().enumerate().rev() {
        first[b as usize] = task as u32;
    }
    let svg = figure.svg().to_owned();
    Some((DagMap { svg, sizes, first }, box_of))
}
