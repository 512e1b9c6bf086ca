//! The state of a run as those see it who look at it. Changes nothing.

use super::{Desk, Tally};
use crate::budgets::desk::PROCESSORS;
use crate::budgets::status::{GONE_SHOWN, PASSED_OVER};
use crate::found::About;
use crate::http::types::Storage;
use crate::http::why::Told;
use cairn_engine::{Moment, Position, Record, Refusal, Task, Token, Why, WhyNot, Worker, WorkerId};
use cairn_theory::game::Standing;
use std::time::Duration;

/// Where the run stands.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) counts: [Option<u64>; 7],
    pub(crate) is_paused: bool,
    pub(crate) is_over: bool,
    pub(crate) halted: Option<i32>,
    pub(crate) epoch: u32,
    pub(crate) plan: u32,
    pub(crate) about: Option<About>,
    pub(crate) uptime: Duration,
    /// Each with what is known of it, where it is a volunteer.
    pub(crate) workers: Vec<(WorkerId, Worker, Option<Record>)>,
    /// By worker of these what was learnt of it.
    pub(crate) learnt: Vec<Option<Learnt>>,
    /// Copies given to volunteers, and tasks with results that wait for validation; `None` where there was no volunteer.
    pub(crate) volunteering: Option<(u64, u64)>,
    /// Attempts that should be back and are not.
    pub(crate) late: u64,
    pub(crate) tally: Tally,
    /// Where storage is kept under a cap.
    pub(crate) storage: Option<Storage>,
}

/// What was learnt of a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learnt {
    pub(crate) speed: f64,
    pub(crate) turnaround: Option<f64>,
    pub(crate) reliability: f64,
}

/// Who is seen to work in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// By processor of those who are here: work a second, as far as it was learnt.
    pub speeds: Vec<f64>,
    /// How many workers ever came, and how many of them are gone.
    pub came: u64,
    /// Those that are gone.
    pub went: u64,
    /// How many tasks are executed.
    pub executed: u64,
    /// Whether tasks go by the order, and not by who is fast.
    pub is_by_order: bool,
}

/// What is left of a dag.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// By task: whether it is executed or given up.
    pub is_over: Vec<bool>,
    /// By task: seconds that it is expected to take at speed 1, by what was learnt.
    pub seconds: Vec<f64>,
    /// By task: its place in the order in force.
    pub rank: Vec<u64>,
}

/// Where a task stands.
#[derive(Debug)]
pub(crate) struct TaskPicture {
    pub(crate) standing: Standing,
    pub(crate) lease: Option<(String, Token, Moment)>,
    pub(crate) copies: u64,
    pub(crate) expected_by: Option<Moment>,
    pub(crate) validation: Option<(u32, u32)>,
}

impl<P: Position> Desk<'_, P> {
    pub(super) fn picture(&self) -> Picture {
        let engine = &self.engine;
        let all = || (engine.workers().numbered()).map(|(id, w)| (WorkerId::new(id), w));
        let here = all().filter(|(_, w)| w.is_here);
        // By number, which is the order in which they came: the end of the list is the newest.
        let gone: Vec<_> = all().filter(|(_, w)| !w.is_here).collect();
        let gone = gone[gone.len().saturating_sub(GONE_SHOWN)..]
            .iter()
            .copied();
        let known = |(id, worker): (WorkerId, &Worker)| {
            let record = worker.client().and_then(|c| engine.trust().record(c));
            (id, worker.clone(), record.cloned())
        };
        let workers: Vec<_> = here.chain(gone).map(known).collect();
        let learnt = |(id, ..): &(WorkerId, Worker, Option<Record>)| {
            let dispatch = engine.dispatch()?;
            let (book, who) = (dispatch.book(), dispatch.known_as(*id));
            Some(Learnt {
                speed: book.speed(who),
                turnaround: book.turnaround(who),
                reliability: book.reliability(who),
            })
        };
        Picture {
            learnt: workers.iter().map(learnt).collect(),
            counts: Standing::ALL.map(|standing| engine.position().count(standing)),
            is_paused: engine.is_paused(),
            is_over: engine.is_over(),
            halted: engine.halted(),
            epoch: engine.epoch(),
            plan: engine.plan(),
            about: self.about.clone(),
            uptime: self.clock.elapsed(),
            workers,
            volunteering: engine.trust().counts(),
            late: engine.late(self.clock.now()),
            tally: Tally {
                polls: self.waiters.len() as u64,
                ..self.tally.clone()
            },
            storage: self.storage(),
        }
    }

    /// Who is seen to work; `None` where nobody learns.
    pub(super) fn observed(&self) -> Option<Observed> {
        let engine = &self.engine;
        let dispatch = engine.dispatch()?;
        let here = engine.workers().numbered().filter(|(_, w)| w.is_here);
        let here: Vec<(usize, &Worker)> = here.collect();
        let speeds = here.iter().flat_map(|(number, worker)| {
            let who = dispatch.known_as(WorkerId::new(*number));
            let speed = dispatch.book().speed(who);
            std::iter::repeat_n(speed, worker.offer.cpus.min(PROCESSORS) as usize)
        });
        let came = engine.workers().len() as u64;
        Some(Observed {
            speeds: speeds.collect(),
            came,
            went: came - here.len() as u64,
            executed: engine.position().count(Standing::Executed).unwrap_or(0),
            is_by_order: !engine.is_aware(),
        })
    }

    /// What is left; `None` where nobody learns.
    pub(super) fn left(&self) -> Option<Left> {
        let engine = &self.engine;
        let dispatch = engine.dispatch()?;
        let tasks = || dispatch.tasks().map(Task::from);
        let is_over = |task: Task| {
            let standing = engine.position().standing(task);
            standing.is_ok_and(Standing::is_settled)
        };
        Some(Left {
            is_over: tasks().map(is_over).collect(),
            seconds: dispatch.tasks().map(|t| dispatch.expects(t)).collect(),
            rank: tasks().map(|task| engine.order().rank(task)).collect(),
        })
    }

    pub(super) fn task_picture(&self, task: Task) -> Option<TaskPicture> {
        let standing = self.engine.position().standing(task).ok()?;
        let lease = self.engine.lease(task).map(|(worker, token, since)| {
            let name = &self.engine.workers()[worker.0 as usize].name;
            (name.clone(), token, since)
        });
        let first = self.engine.lease(task);
        let expected_by = first.and_then(|(_, token, _)| self.engine.expected_by(task, token));
        let copies = self.engine.attempts(task).count() as u64;
        let validation = self.engine.trust().progress(task);
        Some(TaskPicture {
            standing,
            lease,
            copies,
            expected_by,
            validation,
        })
    }

    pub(super) fn why_task(&mut self, now: Moment, task: Task) -> Option<Told> {
        let why = self.engine.why(now, task)?;
        let worker = |id: WorkerId| self.engine.workers()[id.0 as usize].name.clone();
        let named = match &why {
            Why::Runs { worker: id, .. } => vec![worker(*id)],
            Why::Eligible { workers, .. } | Why::Validates { workers, .. } => {
                workers.iter().map(|(id, _)| worker(*id)).collect()
            }
            _ => Vec::new(),
        };
        Some(Told::Task { now, why, named })
    }

    pub(super) fn why_worker(&mut self, now: Moment, name: &str) -> Option<Told> {
        let workers = self.engine.workers().numbered();
        // The newest of that name.
        let same = workers.filter(|(_, w)| w.name == name);
        let place = same.map(|(place, _)| place).next_back()?;
        let id = WorkerId(place as u32);
        let refusal = self.engine.why_idle(now, id);
        // Only these say that something is eligible which others may have: else there is nothing to name.
        let is_passed_over = matches!(
            refusal,
            Some(
                Refusal::NothingFits
                    | Refusal::Held(_)
                    | Refusal::KeptFor { .. }
                    | Refusal::Storage { .. }
            )
        );
        let passed_over = match is_passed_over {
            true => self.engine.passed_over(now, id, PASSED_OVER),
            false => Vec::new(),
        };
        let faster = match refusal {
            Some(Refusal::KeptFor { worker, .. }) => Some(worker),
            _ => None,
        };
        let over = passed_over.iter().filter_map(|(_, why)| match why {
            WhyNot::Faster(worker) => Some(*worker),
            _ => None,
        });
        let others = faster.into_iter().chain(over).filter_map(|id| {
            let known = self.engine.workers().get(id.index())?;
            Some((id, known.name.clone()))
        });
        let others = others.collect();
        let worker = &self.engine.workers()[place];
        Some(Told::Worker {
            is_here: worker.is_here,
            was_lost: worker.was_lost,
            leased: worker.holds.len(),
            cpus: worker.offer.cpus,
            refusal,
            passed_over,
            others,
        })
    }
}
