//! What a page shows of a run, folded from its journal alone: counts, the curve, lanes, failures, the path that decides. Reads no
//! store, and knows no page.

mod account;
mod attempts;
mod course;
mod subject;
mod telling;
mod told;

pub use subject::{Subject, profile};
pub use told::{
    AttemptTold, DagMap, FailureTold, Idle, Plan, Running, Sample, Scene, SlowTold, Span, StepTold,
    StorageTold, TrustTold, Update, WorkerTold,
};

use self::account::{Account, Totals};
use self::attempts::{ClosedAttempt, How, Open};
use self::course::Curve;
use cairn_engine::{
    Entry, Event, Gone, Illegal, Moment, Needs, Position, Release, Roll, Rules, Snapshot, Task,
    Token, WorkerId,
};
use cairn_theory::Verdict;
use cairn_theory::game::Standing;
use std::collections::{BTreeMap, HashSet};

/// So many of the slowest tasks are remembered.
// A list at one look of the page. A judgement.
const SLOWEST: usize = 12;

/// What the order in force is worth, and what no order exceeds.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Eligible tasks after so many executed ones, from 0 on: no order has more.
    pub eligible: Vec<u32>,
    /// What is proved of the order that was found with it.
    pub verdict: Verdict,
}

/// The state of a page.
pub(crate) struct Live<'f> {
    subject: &'f dyn Subject,
    rules: &'f Rules,
    position: Box<dyn Position + 'f>,
    /// By task; empty where there is no drawing.
    box_of: &'f [u32],
    boxes: Vec<[u32; 7]>,
    is_changed: Vec<bool>,
    /// By class of needs, tasks that are eligible.
    eligible: Vec<u32>,
    /// By shared resource, how much of it is taken.
    pools: Vec<u32>,
    course: Curve,
    totals: Totals,
    workers: Roll<Account>,
    /// Where the time of those went that are forgotten.
    forgotten: Idle,
    /// Attempts under way, by task; those at one task are copies of each other.
    open: BTreeMap<(u64, Token), Open>,
    /// Attempts that ended while their task went on, and when they began: any of them may be what counts in the end.
    lapsed: BTreeMap<(u64, Token), Moment>,
    /// Tasks with a result that waits for validation.
    in_hand: HashSet<u64>,
    /// Of a family only the latest.
    ended: Vec<ClosedAttempt>,
    /// Ended attempts that were told of.
    told: usize,
    /// Failures and losses; of a family only the latest.
    failures: Vec<ClosedAttempt>,
    failures_in_all: usize,
    failures_changed: bool,
    /// Seconds and tasks, the longest first.
    slowest: Vec<(f64, u64)>,
    /// By task of a dag: when its attempt began, and when it was executed; 0: not yet.
    done: Vec<(Moment, Moment)>,
    last_done: Option<u64>,
    lists_changed: bool,
    began: Option<Moment>,
    /// What happened before is not known any more.
    is_cut: bool,
    last: Moment,
    seq: i64,
    plan: u32,
    is_paused: bool,
    halted: Option<i32>,
}

fn seconds(moment: Moment) -> f64 {
    moment.0 as f64 / 1e6
}

impl<'f> Live<'f> {
    /// Before anything has happened. `box_of` says in which box of a drawing each task is; empty without one.
    pub(crate) fn new(subject: &'f dyn Subject, rules: &'f Rules, box_of: &'f [u32]) -> Live<'f> {
        let tasks = subject.dag().map_or(0, cairn_dag::Dag::len);
        let many = box_of.iter().max().map_or(0, |&b| b as usize + 1);
        let mut live = Live {
            subject,
            rules,
            position: subject.position(),
            box_of,
            boxes: vec![[0; 7]; many],
            is_changed: vec![true; many],
            eligible: vec![0; rules.classes.len()],
            pools: vec![0; rules.pools.len()],
            course: Curve::default(),
            totals: Totals::default(),
            workers: Roll::default(),
            forgotten: Idle::default(),
            open: BTreeMap::new(),
            lapsed: BTreeMap::new(),
            in_hand: HashSet::new(),
            ended: Vec::new(),
            told: 0,
            failures: Vec::new(),
            failures_in_all: 0,
            failures_changed: true,
            slowest: Vec::new(),
            done: vec![(Moment(0), Moment(0)); tasks],
            last_done: None,
            lists_changed: true,
            began: None,
            is_cut: false,
            last: Moment(0),
            seq: 0,
            plan: 0,
            is_paused: false,
            halted: None,
        };
        live.recount();
        live
    }

    /// The number of the newest event that it has heard of.
    pub(crate) fn seq(&self) -> i64 {
        self.seq
    }

    /// The number of the order in force.
    pub(crate) fn plan(&self) -> u32 {
        self.plan
    }

    fn class(&self, task: u64) -> usize {
        self.rules.class(Task(task)).index()
    }

    fn needs(&self, task: u64) -> &'f Needs {
        &self.rules.classes[self.class(task)]
    }

    /// Boxes and classes anew from the game, after what moves many tasks at once.
    fn recount(&mut self) {
        self.boxes.iter_mut().for_each(|counts| *counts = [0; 7]);
        self.eligible.fill(0);
        for task in 0..self.done.len() {
            let Ok(standing) = self.position.standing(Task(task as u64)) else {
                continue;
            };
            if let Some(&b) = self.box_of.get(task) {
                self.boxes[b as usize][standing as usize] += 1;
            }
            if standing == Standing::Eligible {
                let class = self.class(task as u64);
                self.eligible[class] += 1;
            }
        }
        self.count_unwritten();
        self.is_changed.fill(true);
    }

    /// The tasks of a family are all of one class, and nobody is told of each that becomes eligible.
    fn count_unwritten(&mut self) {
        if self.subject.dag().is_none() {
            self.eligible[0] = self.position.count(Standing::Eligible).unwrap_or(0) as u32;
        }
    }

    /// A task stands elsewhere.
    fn moved(&mut self, task: u64, from: Standing, to: Standing) {
        if self.subject.dag().is_none() {
            return self.count_unwritten();
        }
        if let Some(&b) = self.box_of.get(task as usize) {
            let counts = &mut self.boxes[b as usize];
            counts[from as usize] = counts[from as usize].saturating_sub(1);
            counts[to as usize] += 1;
            self.is_changed[b as usize] = true;
        }
        let class = self.class(task);
        if from == Standing::Eligible {
            self.eligible[class] = self.eligible[class].saturating_sub(1);
        }
        if to == Standing::Eligible {
            self.eligible[class] += 1;
        }
    }

    /// Time goes on until then, and things were as they are.
    fn advance(&mut self, at: Moment) {
        // The time of day may be set back between two starts; the time of a run is not.
        // Else stretches of time would be negative, and the sum of what processors did less than it was.
        let at = self.last.max(at);
        self.totals = self.totals_at(at);
        self.last = at;
    }

    fn totals_at(&self, at: Moment) -> Totals {
        let mut totals = self.totals;
        // Before the first event no time is the run's, and behind the last end nobody is idle for want of
        // anything.
        if self.last == Moment(0) || self.position.is_settled() {
            return totals;
        }
        let time = at.since(self.last).0 as f64 / 1e6;
        totals.now += time;
        match self.is_paused {
            true => totals.paused += time,
            false if self.position.count(Standing::Eligible) == Some(0) => {
                totals.nothing_eligible += time;
            }
            false => (),
        }
        totals
    }

    /// Something happened.
    ///
    /// # Errors
    /// If it could not have happened: the journal is of another dag.
    pub(crate) fn hear(&mut self, seq: i64, entry: &Entry) -> Result<(), Illegal> {
        // First the time until it, with things as they were; then the change.
        self.advance(entry.at);
        self.seq = seq;
        let at = entry.at;
        match &entry.event {
            Event::Opened { .. } => {
                self.halted = None;
                if self.course.is_empty() {
                    self.sample(at);
                }
            }
            Event::Ordered { plan } => self.plan = *plan,
            Event::Joined { name, offer, .. } => {
                let account = Account::new(name.clone(), offer.clone(), self.totals);
                self.workers.push(account);
                self.look(self.workers.len() - 1);
            }
            Event::Remembered { .. } => (),
            Event::Forgotten { worker } => self.forget_worker(worker.0 as usize),
            Event::Departed { worker, why } => self.with(*worker, |account| {
                account.state = match why {
                    Gone::Left => "left",
                    Gone::Lost => "lost",
                };
            }),
            Event::Leased {
                task,
                token,
                worker,
                ..
            } => self.leased(at, *task, *token, *worker)?,
            Event::Returned { task, token, .. } => self.returned(at, *task, *token)?,
            Event::Disputed { task } => self.disputed(at, *task)?,
            Event::Executed {
                task,
                token,
                worker,
            } => self.executed(at, *task, *token, *worker)?,
            Event::Failed {
                task,
                token,
                exit,
                cause,
                for_good,
            } => {
                let how = How::Failed {
                    exit: *exit,
                    cause: *cause,
                    for_good: *for_good,
                };
                self.came_back(at, *task, *token, how, *for_good)?;
            }
            Event::Released {
                task,
                token,
                why,
                for_good,
            } => {
                let how = match why {
                    Release::Lost | Release::Overdue => How::Lost {
                        for_good: *for_good,
                    },
                    Release::GivenBack | Release::Unheard | Release::Redundant => How::GivenBack,
                };
                self.came_back(at, *task, *token, how, *for_good)?;
            }
            Event::Cancelled { task } => self.cancelled(at, *task)?,
            Event::Revived { task } => {
                self.position.revive(*task, &mut Vec::new())?;
                self.recount();
                self.failures_changed = true;
            }
            Event::Reopened { task } => self.reopened(*task)?,
            Event::Paused => self.is_paused = true,
            Event::Unpaused => self.is_paused = false,
            Event::Halted { exit } => self.halted = Some(*exit),
        }
        Ok(())
    }

    fn leased(
        &mut self,
        at: Moment,
        task: Task,
        token: Token,
        worker: WorkerId,
    ) -> Result<(), Illegal> {
        let id = self.known(task)?;
        self.lease(task, id)?;
        self.began.get_or_insert(at);
        let open = Open {
            worker,
            token,
            begin: at,
        };
        self.take(id, open);
        Ok(())
    }

    fn returned(&mut self, at: Moment, task: Task, token: Token) -> Result<(), Illegal> {
        let id = self.known(task)?;
        self.lease(task, id)?;
        self.close(at, id, token, How::Returned);
        self.in_hand.insert(id);
        Ok(())
    }

    fn disputed(&mut self, at: Moment, task: Task) -> Result<(), Illegal> {
        let id = self.known(task)?;
        self.fail(task, id)?;
        self.close_all(at, id, How::Cancelled);
        Ok(())
    }

    fn cancelled(&mut self, at: Moment, task: Task) -> Result<(), Illegal> {
        let id = self.known(task)?;
        self.position.cancel(task, &mut Vec::new())?;
        self.close_all(at, id, How::Cancelled);
        self.recount();
        Ok(())
    }

    fn reopened(&mut self, task: Task) -> Result<(), Illegal> {
        self.position.reopen(task, &mut Vec::new())?;
        let id = self.known(task)?;
        if let Some(done) = self.done.get_mut(id as usize) {
            *done = (Moment(0), Moment(0));
        }
        self.recount();
        Ok(())
    }

    fn known(&self, task: Task) -> Result<u64, Illegal> {
        self.position.standing(task).map(|_| task.0)
    }

    /// Changes a worker, after its time was booked.
    fn with(&mut self, worker: WorkerId, change: impl FnOnce(&mut Account)) {
        let index = worker.0 as usize;
        if let Some(account) = self.workers.get_mut(index) {
            // What a worker did until now is booked with what it had until now.
            account.settle(self.totals);
            change(account);
            self.look(index);
        }
    }

    fn forget_worker(&mut self, worker: usize) {
        if let Some(account) = self.workers.let_go(worker) {
            // Its time stays in the sums of the page, though its name goes.
            self.forgotten += account.idle(self.totals);
        }
    }

    fn look(&mut self, worker: usize) {
        let classes = self.rules.classes.iter().zip(&self.eligible);
        let free = |pool: usize| self.rules.pools[pool].saturating_sub(self.pools[pool]);
        let has_pools = |needs: &&Needs| {
            let mut pools = needs.pools.iter();
            pools.all(|&(pool, many)| many <= free(pool.0 as usize))
        };
        let eligible = classes.filter(|(_, many)| **many > 0);
        let eligible = eligible.map(|(needs, _)| needs).filter(has_pools);
        self.workers[worker].look(eligible);
    }

    fn sample(&mut self, at: Moment) {
        let count = |standing| self.position.count(standing).unwrap_or(0);
        let leased = count(Standing::Leased);
        self.course.push((
            count(Standing::Executed),
            seconds(at),
            count(Standing::Eligible) + leased,
            leased,
        ));
    }

    /// Goes on from what the events up to that one came to: of what happened between only where it led is known.
    ///
    /// # Errors
    /// If it is of something else.
    pub(crate) fn restore(
        &mut self,
        seq: i64,
        at: Moment,
        snapshot: &Snapshot,
    ) -> Result<(), Illegal> {
        self.position.unpack(snapshot.position())?;
        self.advance(at);
        // Whoever has heard the beginning knows when it was, whatever it missed since.
        self.is_cut |= self.seq == 0;
        self.seq = seq;
        (self.plan, self.is_paused, self.halted) =
            (snapshot.plan(), snapshot.is_paused(), snapshot.halted());
        let totals = self.totals;
        for (number, worker) in snapshot.workers().enumerate() {
            let is_new = number >= self.workers.len();
            match worker {
                Some(worker) if is_new => self.workers.push(Account::of(worker, totals)),
                None if is_new => self.workers.skip(),
                None => self.forget_worker(number),
                Some(worker) => {
                    if let Some(account) = self.workers.get_mut(number) {
                        account.settle(totals);
                        account.be(worker);
                    }
                }
            }
        }
        self.open.clear();
        let position = &self.position;
        self.lapsed.retain(|&(task, _), _| {
            let standing = position.standing(Task(task));
            matches!(standing, Ok(Standing::Eligible | Standing::Leased))
        });
        self.in_hand = snapshot.in_hand().map(|task| task.0).collect();
        // Anew from the leases below, each of which takes its part.
        self.pools.fill(0);
        self.recount();
        for &(task, token, worker, begin) in snapshot.leases() {
            let id = self.known(task)?;
            let open = Open {
                worker,
                token,
                begin,
            };
            self.take(id, open);
        }
        self.sample(at);
        Ok(())
    }
}

/// Of a long line the points that matter to the eye: the highest of each stretch, the first and the last.
pub fn few(line: &[u32]) -> Vec<(u64, u64)> {
    // About as many as a screen has dots across.
    const MOST: usize = 1000;
    let point = |at: usize| (at as u64, u64::from(line[at]));
    if line.len() <= MOST {
        return (0..line.len()).map(point).collect();
    }
    let step = line.len().div_ceil(MOST);
    let mut points = vec![point(0)];
    for begin in (1..line.len() - 1).step_by(step) {
        let end = (begin + step).min(line.len() - 1);
        // The highest, not the mean: peaks are what a bound is held against.
        let highest = (begin..end).max_by_key(|&at| (line[at], std::cmp::Reverse(at)));
        points.extend(highest.map(point));
    }
    points.push(point(line.len() - 1));
    points
}

#[cfg(test)]
mod tests;
