//! The state of a run as those see it who look at it. Changes nothing.

use super::{Desk, Tally};
use crate::found::About;
use crate::http::types::Storage;
use crate::http::why::Told;
use cairn_engine::{Moment, Position, Record, Refusal, Task, Token, Why, Worker, WorkerId};
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

/// How many gone workers a picture shows.
const GONE_SHOWN: usize = 100;

/// Of the eligible tasks that an idle worker does not get, so many are named.
const PASSED_OVER: usize = 5;

/// Where a task stands.
#[derive(Debug)]
pub(crate) struct TaskPicture {
    pub(crate) standing: Standing,
    pub(crate) lease: Option<(String, Token, Moment)>,
    pub(crate) copies: u64,
    pub(crate) validation: Option<(u32, u32)>,
}

impl<P: Position> Desk<'_, P> {
    pub(super) fn picture(&self) -> Picture {
        let engine = &self.engine;
        let all = || (engine.workers().numbered()).map(|(id, w)| (WorkerId(id as u32), w));
        let here = all().filter(|(_, w)| w.is_here);
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
            let (book, client) = (dispatch.book(), dispatch.client(id.0));
            Some(Learnt {
                speed: book.speed(client),
                turnaround: book.turnaround(client),
                reliability: book.reliability(client),
            })
        };
    pub(crate) expected_by: Option<Moment>,
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
            tally: Tally {
                polls: self.waiters.len() as u64,
                ..self.tally.clone()
            },
            storage: self.storage(),
        }
    }

    pub(super) fn task_picture(&self, task: Task) -> Option<TaskPicture> {
        let standing = self.engine.position().standing(task).ok()?;
        let lease = self.engine.lease(task).map(|(worker, token, since)| {
            let name = &self.engine.workers()[worker.0 as usize].name;
            (name.clone(), token, since)
        });
        let copies = self.engine.attempts(task).count() as u64;
        let validation = self.engine.trust().progress(task);
        Some(TaskPicture {
            standing,
            lease,
            copies,
            validation,
        })
    }

    pub(super) fn why_task(&mut self, now: Moment, task: Task) -> Option<Told> {
        let why = self.engine.why(now, task)?;
            late: engine.late(self.clock.now()),
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
        let worker = &self.engine.workers()[place];
        Some(Told::Worker {
            is_here: worker.is_here,
            was_lost: worker.was_lost,
            leased: worker.holds.len(),
            cpus: worker.offer.cpus,
            refusal,
            passed_over,
        })
    }
}
        let first = self.engine.lease(task);
        let expected_by = first.and_then(|(_, token, _)| self.engine.expected_by(task, token));
            expected_by,
