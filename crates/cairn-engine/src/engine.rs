//! Decides: who gets which task, what a return is worth, when a worker is lost. Knows no files, sockets or clocks.

use crate::queue::{ClassId, Queue};
use crate::snapshot::{Lease, Tries};
use crate::{
    Cause, Entry, Event, Gone, Illegal, Keeper, Moment, Needs, Offer, Order, Outcome, Position,
    Release, Rules, Span, Task, Token, Worker, WorkerId,
};
use cairn_dag::TaskId;
use cairn_theory::game::Standing;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A task that a worker was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Which task.
    pub task: Task,
    /// The attempt: to be shown on return.
    pub token: Token,
    /// An attempt that takes longer is ended.
    pub limit: Option<Span>,
    /// Bytes of memory it may take; 0 where nobody said.
    pub memory: u64,
}

/// Why a request gets no task. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The worker never joined, left, or was lost: it must join anew.
    #[error("this worker is not known here, or was given up for lost: join again")]
    Unknown,
    /// The worker has as much to do as it can (\[RY05\], Rule 2: a client that owes a task is not heard).
    #[error("the worker has all it can do")]
    Full,
    /// All that is eligible has been given away (\[RY05\]: gridlock).
    #[error("nothing is eligible")]
    NothingEligible,
    /// Tasks are eligible, but none that this worker can do.
    #[error("no eligible task fits this worker")]
    NothingFits,
    /// The next task needs more than is free; smaller ones have overtaken it often enough.
    #[error("held for task {}, which needs more room", .0.0)]
    Held(Task),
    /// Tasks are eligible, but none may start without risking that the disk is full before the run is over.
    #[error("held back for storage{}", missing_bytes(*missing))]
    Storage {
        /// Bytes that are missing for anything to go on; 0 where it will go on when something ends.
        missing: u64,
    },
    /// Somebody said pause.
    #[error("paused")]
    Paused,
    /// Too many tasks are given up.
    #[error("too many tasks failed")]
    TooManyFailures,
    /// A task ended the run.
    #[error("the run was halted")]
    Halted,
    /// Every task is executed or given up.
    #[error("all is done")]
    Finished,
}

fn missing_bytes(missing: u64) -> String {
    match missing {
        0 => String::new(),
        _ => format!(": {missing} bytes are missing for the next task"),
    }
}

/// What a return was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It counts.
    Accepted,
    /// It counts: the attempt was given up for lost, but nobody had begun another.
    AcceptedLate,
    /// The task is executed already: nothing is to be done, nothing is wrong.
    Already,
    /// Another attempt has begun, or the task was cancelled: the result does not count.
    Superseded,
    /// There is no such task, or no such attempt was ever begun.
    Unknown,
}

/// What came of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// By return: what it was worth.
    pub receipts: Vec<Receipt>,
    /// What the worker is to begin.
    pub granted: Vec<Granted>,
    /// Why there is not more, where more was wanted.
    pub refused: Option<Refusal>,
}

/// What follows from what happened, for the driver to carry out.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// What to write down, in this order.
    pub entries: Vec<Entry>,
    /// Attempts to be ended by whoever has them.
    pub kills: Vec<(WorkerId, Task, Token)>,
    /// Tasks that can no longer be eligible.
    pub aborted: Vec<Task>,
}

/// A task that is overtaken no more.
#[derive(Clone, Copy, Debug)]
struct Reservation {
    task: Task,
    /// The worker whose room is kept, where room is what it lacks.
    worker: Option<WorkerId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Silence(WorkerId),
    Limit(Task, Token),
}

/// The state of a run.
///
/// Laws, tested with random play: events alone rebuild the state; every prefix of them is closed under parents; no token
/// is given out twice; a worker has no more than it offers; pools are never exceeded; a task is executed once; among the
/// tasks that fit, that of least rank goes first; a task that fits some worker is not overtaken for ever.
///
/// A request costs O(classes of needs + log(eligible)), a return O(children + log(eligible)).
#[derive(Clone, Debug)]
pub struct Engine<P> {
    pub(crate) position: P,
    rules: Rules,
    queue: Queue,
    pub(crate) workers: Vec<Worker>,
    pub(crate) leases: HashMap<Task, Lease>,
    pub(crate) tries: HashMap<Task, Tries>,
    pools_busy: Vec<u32>,
    timers: BinaryHeap<Reverse<(Moment, Timer)>>,
    pub(crate) epoch: u32,
    pub(crate) plan: u32,
    pub(crate) is_paused: bool,
    pub(crate) halted: Option<i32>,
    pub(crate) failures: u64,
    reservation: Option<Reservation>,
    overtaken: HashMap<Task, u32>,
    opened: Vec<Task>,
    aborted: Vec<Task>,
    keeper: Option<Box<Keeper>>,
    /// Eligible tasks out of the queue, which the keeper refused when it was at this version.
    withheld: Vec<(ClassId, Task)>,
    withheld_at: u64,
}

/// How many tasks of a class the keeper is asked about, before those that its own order has next.
const ASKED: usize = 64;

impl<P: Position> Engine<P> {
    /// The beginning of a run. Nothing may be asked before [`Engine::open`].
    pub fn new(position: P, rules: Rules, order: Order) -> Engine<P> {
        let queue = Queue::new(order, rules.classes.clone());
        let pools_busy = vec![0; rules.pools.len()];
        Engine {
            position,
            rules,
            queue,
            workers: Vec::new(),
            leases: HashMap::new(),
            tries: HashMap::new(),
            pools_busy,
            timers: BinaryHeap::new(),
            epoch: 0,
            plan: 0,
            is_paused: false,
            halted: None,
            failures: 0,
            reservation: None,
            overtaken: HashMap::new(),
            opened: Vec::new(),
            aborted: Vec::new(),
            keeper: None,
            withheld: Vec::new(),
            withheld_at: 0,
        }
    }

    /// Storage is kept under a cap from now on. Before [`Engine::open`]; the keeper needs not know what was replayed.
    pub fn keep(&mut self, mut keeper: Keeper) {
        keeper.set_stale();
        self.keeper = Some(Box::new(keeper));
    }

    /// Who keeps storage under a cap, if anybody does.
    pub fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_deref()
    }

    /// The same, to be told of sizes, another cap, another order.
    pub fn keeper_mut(&mut self) -> Option<&mut Keeper> {
        self.sync_keeper();
        self.keeper.as_deref_mut()
    }

    /// Lets what is written down happen again. Before [`Engine::open`].
    ///
    /// # Errors
    /// If the event could not have happened: the store is damaged, or of another dag.
    pub fn replay(&mut self, entry: &Entry) -> Result<(), Illegal> {
        self.apply(entry.at, &entry.event)?;
        self.opened.clear();
        self.aborted.clear();
        Ok(())
    }

    /// Begins, or goes on after what was replayed. Leases hold: whoever has one is heard of within the silence, or lost.
    pub fn open(&mut self, now: Moment, out: &mut Outbox) {
        let epoch = self.epoch + 1;
        self.rebuild();
        self.sync_keeper();
        self.tried_first();
        self.commit(now, Event::Opened { epoch }, out);
        for index in 0..self.workers.len() {
            if self.workers[index].is_here {
                self.workers[index].last_seen = now;
                let worker = WorkerId(index as u32);
                self.timer(now + self.rules.silence, Timer::Silence(worker));
            }
        }
        let limits: Vec<_> = (self.leases.iter())
            .filter_map(|(&task, lease)| {
                let limit = self.queue.needs(lease.class).limit?;
                Some((lease.since + limit, Timer::Limit(task, lease.token)))
            })
            .collect();
        limits.into_iter().for_each(|(at, t)| self.timer(at, t));
    }

    /// Tasks go by this order from now on; the store knows it as `plan`.
    pub fn reorder(&mut self, now: Moment, plan: u32, order: Order, out: &mut Outbox) {
        self.queue.reorder(order);
        self.withheld.clear();
        self.refill();
        self.commit(now, Event::Ordered { plan }, out);
    }

    /// A worker comes. One of the same name that is still here is lost.
    pub fn join(&mut self, now: Moment, name: &str, offer: Offer, out: &mut Outbox) -> WorkerId {
        let here = |w: &Worker| w.is_here && w.name == name;
        if let Some(old) = self.workers.iter().position(here) {
            self.depart(now, WorkerId(old as u32), Gone::Lost, out);
        }
        let worker = WorkerId(self.workers.len() as u32);
        let name = name.to_string();
        let event = Event::Joined {
            worker,
            name,
            offer,
        };
        self.commit(now, event, out);
        self.workers[worker.index()].last_seen = now;
        self.timer(now + self.rules.silence, Timer::Silence(worker));
        worker
    }

    /// A worker goes; what it had is eligible again.
    ///
    /// # Errors
    /// If it is not here.
    pub fn leave(
        &mut self,
        now: Moment,
        worker: WorkerId,
        out: &mut Outbox,
    ) -> Result<(), Refusal> {
        self.hear(now, worker)?;
        self.depart(now, worker, Gone::Left, out);
        Ok(())
    }

    fn depart(&mut self, now: Moment, worker: WorkerId, why: Gone, out: &mut Outbox) {
        let release = match why {
            Gone::Left => Release::GivenBack,
            Gone::Lost => Release::Lost,
        };
        for (task, _) in self.workers[worker.index()].holds.clone() {
            self.release(now, task, release, out);
        }
        self.commit(now, Event::Departed { worker, why }, out);
    }

    /// A worker asks for tasks: as many as it wants and has room for, best first.
    ///
    /// # Errors
    /// Why it gets none.
    pub fn ask(
        &mut self,
        now: Moment,
        worker: WorkerId,
        want: usize,
        out: &mut Outbox,
    ) -> Result<Vec<Granted>, Refusal> {
        self.hear(now, worker)?;
        let mut granted = self.batch(now, worker, want, out);
        while granted.len() < want {
            match self.choose(now, worker) {
                Ok((class, task)) => granted.push(self.grant(now, worker, class, task, out)),
                Err(refusal) if granted.is_empty() => return Err(refusal),
                Err(_) => break,
            }
        }
        Ok(granted)
    }

    /// The one request that workers live by: returns come first, then what the worker was given and does not know of
    /// (where it says what it has, since an earlier answer may be lost), then new tasks up to `want` in all.
    /// Returns of a worker that is not here count all the same.
    pub fn exchange(
        &mut self,
        now: Moment,
        worker: WorkerId,
        returns: &[(Task, Token, Outcome)],
        holding: Option<&[(Task, Token)]>,
        want: usize,
        out: &mut Outbox,
    ) -> Exchanged {
        let receipts = (returns.iter())
            .map(|&(task, token, outcome)| self.give_back(now, task, token, outcome, out))
            .collect();
        let mut granted = match (self.hear(now, worker), holding) {
            (Ok(()), Some(holding)) => self.unheard(worker, holding),
            _ => Vec::new(),
        };
        let more = want.saturating_sub(granted.len());
        let refused = match more {
            0 => self.hear(now, worker).err(),
            _ => match self.ask(now, worker, more, out) {
                Ok(more) => {
                    granted.extend(more);
                    None
                }
                Err(refusal) => Some(refusal),
            },
        };
        Exchanged {
            receipts,
            granted,
            refused,
        }
    }

    /// What the worker was given and does not know of, since the answer was lost on the way: to be told again.
    pub fn unheard(&self, worker: WorkerId, holding: &[(Task, Token)]) -> Vec<Granted> {
        let Some(known) = self.workers.get(worker.index()) else {
            return Vec::new();
        };
        let missing = known.holds.iter().filter(|held| !holding.contains(held));
        missing
            .map(|&(task, token)| self.granted(task, token, self.leases[&task].class))
            .collect()
    }

    /// A worker says that it lives, and what it works on. Returns what it should stop working on, since that no longer
    /// counts. What it was given before its last heartbeat and does not name in this one either is released.
    ///
    /// # Errors
    /// If it is not here.
    pub fn heartbeat(
        &mut self,
        now: Moment,
        worker: WorkerId,
        holding: &[(Task, Token)],
        out: &mut Outbox,
    ) -> Result<Vec<(Task, Token)>, Refusal> {
        self.hear(now, worker)?;
        let known = &self.workers[worker.index()];
        let stale = |&&(task, token): &&(Task, Token)| {
            // Work on a task that nobody has may still count, though it was given up for lost.
            !known.holds.contains(&(task, token))
                && self.position.standing(task) != Ok(Standing::Eligible)
        };
        let stale: Vec<_> = holding.iter().filter(stale).copied().collect();
        let missing = |held: &&(Task, Token)| !holding.contains(held);
        let missing: Vec<_> = known.holds.iter().filter(missing).copied().collect();
        let twice = |held: &&(Task, Token)| known.unheard.contains(held);
        let twice: Vec<_> = missing.iter().filter(twice).copied().collect();
        self.workers[worker.index()].unheard = missing;
        for (task, _) in twice {
            self.release(now, task, Release::Unheard, out);
        }
        Ok(stale)
    }

    /// An attempt ended.
    pub fn give_back(
        &mut self,
        now: Moment,
        task: Task,
        token: Token,
        outcome: Outcome,
        out: &mut Outbox,
    ) -> Receipt {
        let Ok(standing) = self.position.standing(task) else {
            return Receipt::Unknown;
        };
        let lease = self.leases.get(&task).copied();
        if let Some(lease) = lease.filter(|lease| lease.token == token) {
            self.workers[lease.worker.index()].last_seen = now;
            self.end(now, task, lease, outcome, out);
            return Receipt::Accepted;
        }
        let tries = self.tries.get(&task).copied().unwrap_or_default();
        let is_known = tries.attempts >= token.attempt.max(1) && token.epoch <= self.epoch;
        match (standing, outcome) {
            (Standing::Executed, _) => Receipt::Already,
            (Standing::Eligible, Outcome::Executed) if is_known => {
                // Who had it was given up for lost, and nobody has begun anew: the work is not thrown away.
                let worker = tries.last;
                let event = Event::Executed {
                    task,
                    token,
                    worker,
                };
                self.commit(now, event, out);
                Receipt::AcceptedLate
            }
            _ if is_known || lease.is_some() => Receipt::Superseded,
            _ => Receipt::Unknown,
        }
    }

    fn end(&mut self, now: Moment, task: Task, lease: Lease, outcome: Outcome, out: &mut Outbox) {
        let Lease { token, worker, .. } = lease;
        match outcome {
            Outcome::Executed => {
                let event = Event::Executed {
                    task,
                    token,
                    worker,
                };
                self.commit(now, event, out);
            }
            Outcome::GivenBack => self.release(now, task, Release::GivenBack, out),
            Outcome::Failed { exit, cause } => {
                let failed = self.tries.get(&task).map_or(0, |t| t.failures);
                let halts = (self.rules.halt_on.get(&task)).filter(|&&(on, _)| on == exit);
                let halts = halts.map(|&(_, returned)| returned);
                let never = self.rules.never_retry_on.get(&task) == Some(&exit);
                let for_good = failed >= self.rules.retries(task) || halts.is_some() || never;
                let event = Event::Failed {
                    task,
                    token,
                    exit,
                    cause,
                    for_good,
                };
                self.commit(now, event, out);
                if let Some(exit) = halts {
                    self.halt(now, exit, out);
                }
            }
        }
    }

    /// Ends the run: nothing more is leased, and what is leased is to be ended.
    pub fn halt(&mut self, now: Moment, exit: i32, out: &mut Outbox) {
        if self.halted.is_none() {
            self.commit(now, Event::Halted { exit }, out);
        }
        let mut kills: Vec<_> = self.held().collect();
        kills.sort_unstable();
        out.kills.extend(kills);
    }

    /// What is leased, to whom.
    pub fn held(&self) -> impl Iterator<Item = (WorkerId, Task, Token)> + '_ {
        (self.leases.iter()).map(|(&task, lease)| (lease.worker, task, lease.token))
    }

    /// A task shall not be executed. Who has it is to end it.
    ///
    /// # Errors
    /// If it is executed or given up already, or there is no such task.
    pub fn cancel(&mut self, now: Moment, task: Task, out: &mut Outbox) -> Result<(), Illegal> {
        let standing = self.position.standing(task)?;
        if standing == Standing::Executed || standing.is_given_up() {
            return Err(Illegal(format!("it is {} already", standing.name())));
        }
        if let Some(lease) = self.leases.get(&task) {
            out.kills.push((lease.worker, task, lease.token));
        }
        self.commit(now, Event::Cancelled { task }, out);
        Ok(())
    }

    /// A failed or cancelled task shall be tried again, with budgets as at the beginning.
    ///
    /// # Errors
    /// If it is neither, or there is no such task.
    pub fn revive(&mut self, now: Moment, task: Task, out: &mut Outbox) -> Result<(), Illegal> {
        match self.position.standing(task)? {
            Standing::Failed | Standing::Cancelled => {
                self.commit(now, Event::Revived { task }, out);
                Ok(())
            }
            Standing::Aborted => Err(Illegal(
                "it was aborted since a task before it failed or was cancelled: retry that one"
                    .into(),
            )),
            standing => Err(Illegal(format!("it is {}", standing.name()))),
        }
    }

    /// An executed task shall be executed again. Reopen its children first.
    ///
    /// # Errors
    /// If it is not executed, or something stands on it.
    pub fn reopen(&mut self, now: Moment, task: Task, out: &mut Outbox) -> Result<(), Illegal> {
        let event = Event::Reopened { task };
        self.apply(now, &event)?;
        self.settle_books(out);
        out.entries.push(Entry { at: now, event });
        Ok(())
    }

    /// Nothing is leased until somebody says otherwise; returns go on.
    pub fn pause(&mut self, now: Moment, out: &mut Outbox) {
        if !self.is_paused {
            self.commit(now, Event::Paused, out);
        }
    }

    /// Tasks are leased again.
    pub fn unpause(&mut self, now: Moment, out: &mut Outbox) {
        if self.is_paused {
            self.commit(now, Event::Unpaused, out);
        }
    }

    /// When to call [`Engine::wake`], if nothing else happens before.
    pub fn next_wake(&self) -> Option<Moment> {
        self.timers.peek().map(|&Reverse((at, _))| at)
    }

    /// Time has passed: silent workers are lost, attempts beyond their limit are ended.
    pub fn wake(&mut self, now: Moment, out: &mut Outbox) {
        while let Some(&Reverse((at, timer))) = self.timers.peek() {
            if at > now {
                return;
            }
            self.timers.pop();
            match timer {
                Timer::Silence(worker) => {
                    let known = &self.workers[worker.index()];
                    let until = known.last_seen + self.rules.silence;
                    match known.is_here {
                        true if until > now => self.timer(until, timer),
                        true => self.depart(now, worker, Gone::Lost, out),
                        false => (),
                    }
                }
                Timer::Limit(task, token) => self.limit(now, task, token, out),
            }
        }
    }

    /// An attempt is beyond its limit: who has it should end it; who does not say so within the silence is not waited for.
    fn limit(&mut self, now: Moment, task: Task, token: Token, out: &mut Outbox) {
        let Some(lease) = (self.leases.get_mut(&task)).filter(|lease| lease.token == token) else {
            return;
        };
        if lease.is_ending {
            let (exit, cause) = (0, Cause::Time);
            let (lease, outcome) = (*lease, Outcome::Failed { exit, cause });
            return self.end(now, task, lease, outcome, out);
        }
        lease.is_ending = true;
        out.kills.push((lease.worker, task, token));
        self.timer(now + self.rules.silence, Timer::Limit(task, token));
    }

    // ---- What is so ------------------------------------------------------------------------------------------------

    /// The game.
    pub fn position(&self) -> &P {
        &self.position
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The order in force.
    pub fn order(&self) -> &Order {
        self.queue.order()
    }

    /// The number of the order in force.
    pub fn plan(&self) -> u32 {
        self.plan
    }

    /// Which start of the server this is.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// All workers that ever were, by number.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// Who has the task, as which attempt, since when.
    pub fn lease(&self, task: Task) -> Option<(WorkerId, Token, Moment)> {
        let lease = self.leases.get(&task)?;
        Some((lease.worker, lease.token, lease.since))
    }

    /// What the task needs now: limits grow when an attempt failed for want of memory or time.
    pub fn needs(&self, task: Task) -> Needs {
        let mut needs = self.rules.classes[self.rules.class(task)].clone();
        if let Some(tries) = self.tries.get(&task) {
            needs.memory = tries.memory.unwrap_or(needs.memory);
            needs.limit = tries.limit.or(needs.limit);
        }
        needs
    }

    /// Whether somebody said pause.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// What the run returns, where a task ended it.
    pub fn halted(&self) -> Option<i32> {
        self.halted
    }

    /// Whether nothing more will happen: all is executed or given up, or the run was ended and nobody works on anything.
    pub fn is_over(&self) -> bool {
        let stops = self.halted.is_some() || self.has_too_many_failures();
        self.position.is_settled() || (stops && self.leases.is_empty())
    }

    fn has_too_many_failures(&self) -> bool {
        self.rules.failures > 0 && self.failures >= self.rules.failures
    }

    // ---- Choosing --------------------------------------------------------------------------------------------------

    /// The worker was heard of.
    fn hear(&mut self, now: Moment, worker: WorkerId) -> Result<(), Refusal> {
        let known = self.workers.get_mut(worker.index());
        let known = known.filter(|w| w.is_here).ok_or(Refusal::Unknown)?;
        known.last_seen = known.last_seen.max(now);
        Ok(())
    }

    /// The best task for the worker.
    fn choose(&mut self, now: Moment, worker: WorkerId) -> Result<(ClassId, Task), Refusal> {
        match () {
            () if self.halted.is_some() => return Err(Refusal::Halted),
            () if self.position.is_settled() => return Err(Refusal::Finished),
            () if self.has_too_many_failures() => return Err(Refusal::TooManyFailures),
            () if self.is_paused => return Err(Refusal::Paused),
            () => (),
        }
        self.tell_sources();
        self.drop_idle_reservation();
        self.requeue_withheld();
        let (mut best, mut blocked, mut unfit) = (None, None, false);
        for class in self.queue.classes() {
            let Some((rank, task)) = self.first_allowed(class) else {
                continue;
            };
            let asking = &self.workers[worker.index()];
            let needs = self.queue.needs(class);
            let candidate = (rank, class, task);
            if !asking.could(now, needs) {
                unfit = true;
            } else if !asking.has_room(needs) || !self.has_pools(needs) {
                blocked = blocked.filter(|&b| b < candidate).or(Some(candidate));
            } else if !self.is_kept_from(worker, task, needs) {
                best = best.filter(|&b| b < candidate).or(Some(candidate));
            }
        }
        if best.is_none() {
            best = self.next_by_storage(now, worker);
        }
        let asking = &self.workers[worker.index()];
        match (best, blocked) {
            (Some((rank, class, task)), Some((first, _, wide))) if first < rank => {
                self.overtake(worker, wide)?;
                Ok((class, task))
            }
            (Some((_, class, task)), _) => Ok((class, task)),
            (None, blocked) => Err(match (self.reservation, blocked) {
                _ if !asking.has_room(&Needs::default()) => Refusal::Full,
                (Some(kept), _) => Refusal::Held(kept.task),
                (None, Some((_, _, task))) => Refusal::Held(task),
                (None, None) if !self.withheld.is_empty() => Refusal::Storage {
                    missing: self.keeper().map_or(0, Keeper::missing),
                },
                (None, None) if unfit => Refusal::NothingFits,
                (None, None) => Refusal::NothingEligible,
            }),
        }
    }

    /// The first eligible task of a class that the keeper, if there is one, lets start.
    fn first_allowed(&mut self, class: ClassId) -> Option<(u64, Task)> {
        loop {
            let (rank, task) = self.queue.first(class)?;
            if self.position.standing(task) == Ok(Standing::Eligible) {
                let Some((keeper, id)) = self.keeper.as_deref_mut().zip(task.frozen()) else {
                    return Some((rank, task));
                };
                let asked = self.withheld.iter().filter(|(of, _)| *of == class);
                if asked.count() >= ASKED {
                    return None;
                }
                if keeper.may(id) {
                    return Some((rank, task));
                }
                self.withheld.push((class, task));
            }
            self.queue.pop(class);
        }
    }

    /// What the keeper refused is asked about again once anything has changed.
    fn requeue_withheld(&mut self) {
        self.sync_keeper();
        let version = self.keeper().map_or(0, Keeper::version);
        if version != self.withheld_at {
            self.withheld_at = version;
            let mut withheld = std::mem::take(&mut self.withheld);
            for (class, task) in withheld.drain(..) {
                self.queue.push(class, task);
            }
            self.withheld = withheld;
        }
    }

    /// A task that comes next in the keeper's own order: when nothing runs, its first one may always start.
    fn next_by_storage(&mut self, now: Moment, worker: WorkerId) -> Option<(u64, ClassId, Task)> {
        let next: Vec<TaskId> = self.keeper.as_deref()?.next_by_order().collect();
        for id in next {
            let task = Task::from(id);
            if self.position.standing(task) != Ok(Standing::Eligible) {
                continue;
            }
            let class = self.class(task);
            let needs = self.queue.needs(class);
            let asking = &self.workers[worker.index()];
            let fits = asking.could(now, needs)
                && asking.has_room(needs)
                && self.has_pools(needs)
                && !self.is_kept_from(worker, task, needs);
            if fits && self.keeper.as_deref_mut()?.may(id) {
                return Some((self.queue.order().rank(task), class, task));
            }
        }
        None
    }

    /// The best tasks for a worker that asks for several, where the position knows batches and all tasks need the same; else
    /// none.
    fn batch(
        &mut self,
        now: Moment,
        worker: WorkerId,
        want: usize,
        out: &mut Outbox,
    ) -> Vec<Granted> {
        let class = 0;
        let asking = &self.workers[worker.index()];
        let room = asking.offer.cpus.saturating_sub(asking.busy_cpus) as usize;
        let count = want.min(room);
        let are_alike =
            self.queue.classes().len() == 1 && *self.queue.needs(class) == Needs::default();
        if count < 2 || !are_alike || self.keeper.is_some() || self.choose(now, worker).is_err() {
            return Vec::new();
        }
        let Some(chosen) = self.position.batch(count) else {
            return Vec::new();
        };
        let eligible = |task: &Task| self.position.standing(*task) == Ok(Standing::Eligible);
        let chosen: Vec<Task> = chosen.into_iter().filter(eligible).collect();
        chosen
            .into_iter()
            .map(|task| self.grant(now, worker, class, task, out))
            .collect()
    }

    /// Smaller tasks may overtake one that lacks room, but not for ever: then its room is kept.
    fn overtake(&mut self, worker: WorkerId, wide: Task) -> Result<(), Refusal> {
        if self.reservation.is_some() {
            return Ok(());
        }
        let asking = &self.workers[worker.index()];
        let times = self.overtaken.entry(wide).or_insert(0);
        *times += 1;
        if *times <= 2 * asking.offer.cpus.max(4) {
            return Ok(());
        }
        let needs = self.needs(wide);
        let lacks_room = !self.workers[worker.index()].has_room(&needs);
        self.overtaken.clear();
        self.reservation = Some(Reservation {
            task: wide,
            worker: lacks_room.then_some(worker),
        });
        // What does not stand in its way may still go.
        match lacks_room {
            true => Err(Refusal::Held(wide)),
            false => Ok(()),
        }
    }

    /// Whether room that this task would take is kept for another.
    fn is_kept_from(&self, worker: WorkerId, task: Task, needs: &Needs) -> bool {
        let Some(kept) = self.reservation.filter(|kept| kept.task != task) else {
            return false;
        };
        let wanted = self.needs(kept.task).pools;
        let shares = |&(pool, _): &_| wanted.iter().any(|&(other, _)| other == pool);
        kept.worker == Some(worker) || needs.pools.iter().any(shares)
    }

    /// Nothing is kept for a task that is no longer eligible, or on a worker that is gone.
    fn drop_idle_reservation(&mut self) {
        let Some(kept) = self.reservation else { return };
        let waits = self.position.standing(kept.task) == Ok(Standing::Eligible);
        let here = |w: WorkerId| self.workers[w.index()].is_here;
        if !waits || !kept.worker.is_none_or(here) {
            self.reservation = None;
        }
    }

    fn has_pools(&self, needs: &Needs) -> bool {
        let free = |&(pool, amount): &(crate::PoolId, u32)| {
            let (busy, all) = (
                self.pools_busy[pool.0 as usize],
                self.rules.pools[pool.0 as usize],
            );
            busy.saturating_add(amount) <= all
        };
        needs.pools.iter().all(free)
    }

    /// Sources that come before all that is known are known from now on.
    fn tell_sources(&mut self) {
        while let Some(source) = self.position.next_source() {
            let class = self.rules.class(source);
            let is_first = (self.queue.first(class))
                .is_none_or(|(rank, _)| self.queue.order().rank(source) < rank);
            if !is_first {
                return;
            }
            self.position.take_source();
            self.queue.push(class, source);
        }
    }

    fn granted(&self, task: Task, token: Token, class: ClassId) -> Granted {
        let needs = self.queue.needs(class);
        let (limit, memory) = (needs.limit, needs.memory);
        Granted {
            task,
            token,
            limit,
            memory,
        }
    }

    fn grant(
        &mut self,
        now: Moment,
        worker: WorkerId,
        class: ClassId,
        task: Task,
        out: &mut Outbox,
    ) -> Granted {
        if self
            .queue
            .first(class)
            .is_some_and(|(_, first)| first == task)
        {
            self.queue.pop(class);
        }
        self.overtaken.remove(&task);
        let attempts = self.tries.get(&task).map_or(0, |tries| tries.attempts);
        let token = Token {
            epoch: self.epoch,
            attempt: attempts + 1,
        };
        let event = Event::Leased {
            task,
            token,
            worker,
        };
        self.commit(now, event, out);
        let granted = self.granted(task, token, class);
        if let Some(limit) = granted.limit {
            self.timer(now + limit, Timer::Limit(task, token));
        }
        granted
    }

    /// Takes a task back that nobody is to blame for, or for whose loss nobody is.
    fn release(&mut self, now: Moment, task: Task, why: Release, out: &mut Outbox) {
        let token = self.leases[&task].token;
        let lost = self.tries.get(&task).map_or(0, |tries| tries.losses);
        let for_good = why == Release::Lost && lost + 1 > self.rules.losses;
        let event = Event::Released {
            task,
            token,
            why,
            for_good,
        };
        self.commit(now, event, out);
    }

    fn timer(&mut self, at: Moment, timer: Timer) {
        self.timers.push(Reverse((at, timer)));
    }

    // ---- Events ----------------------------------------------------------------------------------------------------

    /// Lets an event happen that was checked before, and writes it down.
    fn commit(&mut self, now: Moment, event: Event, out: &mut Outbox) {
        let done = self.apply(now, &event);
        debug_assert_eq!(done, Ok(()), "{event:?}");
        self.settle_books(out);
        out.entries.push(Entry { at: now, event });
    }

    /// Queues what became eligible, tells what was aborted.
    fn settle_books(&mut self, out: &mut Outbox) {
        let mut opened = std::mem::take(&mut self.opened);
        for task in opened.drain(..) {
            let class = self.class(task);
            self.queue.push(class, task);
        }
        self.opened = opened;
        out.aborted.append(&mut self.aborted);
    }

    /// The class of what the task needs now.
    fn class(&mut self, task: Task) -> ClassId {
        match self.tries.get(&task) {
            Some(tries) if tries.memory.is_some() || tries.limit.is_some() => {
                let needs = self.needs(task);
                self.queue.class(needs)
            }
            _ => self.rules.class(task),
        }
    }

    /// The only place where the state changes.
    fn apply(&mut self, at: Moment, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::Opened { epoch } => {
                self.epoch = *epoch;
                // A new start after the user mended something: the run goes on.
                self.halted = None;
            }
            Event::Ordered { plan } => self.plan = *plan,
            Event::Joined {
                worker,
                name,
                offer,
            } => {
                if worker.index() != self.workers.len() {
                    return Err(Illegal("workers join out of order".into()));
                }
                let worker = Worker::new(name.clone(), offer.clone());
                self.workers.push(worker);
            }
            Event::Departed { worker, why } => {
                let known = self.known(*worker)?;
                known.is_here = false;
                known.was_lost = *why == Gone::Lost;
            }
            Event::Leased {
                task,
                token,
                worker,
            } => {
                self.known(*worker)?;
                self.position.lease(*task)?;
                self.take(*task, *token, *worker, at);
                self.tell_keeper(*task, Keeper::start);
            }
            Event::Executed {
                task,
                token,
                worker,
            } => {
                self.known(*worker)?;
                self.position.execute(*task, &mut self.opened)?;
                self.put_back(*task);
                self.tell_keeper(*task, Keeper::execute);
                // First attempts need no book: `Reopened` knows that there was one.
                if let Some(tries) = self.tries.get_mut(task) {
                    tries.ended(*token, Some(*worker));
                }
                self.workers[worker.index()].executed += 1;
            }
            Event::Failed {
                task,
                token,
                cause,
                for_good,
                ..
            } => {
                match for_good {
                    true => self.position.fail(*task, &mut self.aborted)?,
                    false => self.position.release(*task)?,
                }
                let lease = self.put_back(*task);
                let needs = self.needs(*task);
                let tries = self.tries.entry(*task).or_default();
                tries.ended(*token, lease.map(|lease| lease.worker));
                tries.failures += 1;
                let most = self.workers.iter().filter(|w| w.is_here);
                let most = most.map(|w| w.offer.memory.unwrap_or(u64::MAX)).max();
                tries.grow(*cause, &needs, most.unwrap_or(u64::MAX));
                if let Some(lease) = lease {
                    self.workers[lease.worker.index()].failed += 1;
                }
                self.after_release(*task, *for_good);
            }
            Event::Released {
                task,
                token,
                why,
                for_good,
            } => {
                match for_good {
                    true => self.position.fail(*task, &mut self.aborted)?,
                    false => self.position.release(*task)?,
                }
                let lease = self.put_back(*task);
                let tries = self.tries.entry(*task).or_default();
                tries.ended(*token, lease.map(|lease| lease.worker));
                if *why == Release::Lost {
                    tries.losses += 1;
                    if let Some(lease) = lease {
                        self.workers[lease.worker.index()].lost += 1;
                    }
                }
                self.after_release(*task, *for_good);
            }
            Event::Cancelled { task } => {
                self.position.cancel(*task, &mut self.aborted)?;
                if let Some(lease) = self.put_back(*task) {
                    let tries = self.tries.entry(*task).or_default();
                    tries.ended(lease.token, Some(lease.worker));
                }
                self.unsettle_keeper();
            }
            Event::Revived { task } => {
                if self.position.standing(*task) == Ok(Standing::Failed) {
                    self.failures = self.failures.saturating_sub(1);
                }
                self.position.revive(*task, &mut self.opened)?;
                if let Some(tries) = self.tries.get_mut(task) {
                    (tries.failures, tries.losses) = (0, 0);
                }
                self.unsettle_keeper();
            }
            Event::Reopened { task } => {
                self.position.reopen(*task, &mut self.opened)?;
                let tries = self.tries.entry(*task).or_default();
                tries.attempts = tries.attempts.max(1);
                self.unsettle_keeper();
            }
            Event::Paused => self.is_paused = true,
            Event::Unpaused => self.is_paused = false,
            Event::Halted { exit } => self.halted = Some(*exit),
        }
        Ok(())
    }

    fn known(&mut self, worker: WorkerId) -> Result<&mut Worker, Illegal> {
        let missing = || Illegal(format!("there is no worker {}", worker.0));
        self.workers.get_mut(worker.index()).ok_or_else(missing)
    }

    fn after_release(&mut self, task: Task, for_good: bool) {
        match for_good {
            true => {
                self.failures += 1;
                self.unsettle_keeper();
            }
            false => {
                self.opened.push(task);
                self.tell_keeper(task, Keeper::release);
            }
        }
    }

    /// Tells the keeper of a task, unless it has to learn everything anew.
    fn tell_keeper(&mut self, task: Task, what: impl FnOnce(&mut Keeper, TaskId)) {
        let keeper = self.keeper.as_deref_mut().filter(|k| !k.is_stale());
        if let Some((keeper, id)) = keeper.zip(task.frozen()) {
            what(keeper, id);
        }
    }

    /// Tasks stand elsewhere than the keeper knows, and it would be too much to tell one by one.
    fn unsettle_keeper(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.set_stale();
        }
    }

    /// The keeper learns where all tasks stand, if it does not know.
    fn sync_keeper(&mut self) {
        if let Some(keeper) = self.keeper.as_deref_mut().filter(|k| k.is_stale()) {
            let standing = |id: TaskId| self.position.standing(id.into());
            keeper.sync(|id| standing(id).expect("a task of the dag"));
        }
    }

    /// After a restart the keeper has its first order. If that is not safe, what was tried before goes first, as it did.
    fn tried_first(&mut self) {
        let Some(keeper) = self.keeper.as_deref_mut().filter(|k| !k.is_safe()) else {
            return;
        };
        let was_tried = |id: &TaskId| {
            let task = Task::from(*id);
            self.tries.contains_key(&task) && self.position.standing(task) == Ok(Standing::Eligible)
        };
        let (mut order, rest): (Vec<TaskId>, Vec<TaskId>) =
            keeper.waiting().into_iter().partition(was_tried);
        order.extend(rest);
        // Where that does not help, the driver finds another order, or the run stops with the bytes that are missing.
        let _ = keeper.adopt(&order);
    }

    /// Books a task that a worker has since then.
    pub(crate) fn take(&mut self, task: Task, token: Token, worker: WorkerId, since: Moment) {
        let class = self.class(task);
        let needs = self.queue.needs(class);
        for &(pool, amount) in &needs.pools {
            self.pools_busy[pool.0 as usize] += amount;
        }
        self.workers[worker.index()].take(task, token, needs);
        let lease = Lease {
            worker,
            token,
            since,
            class,
            is_ending: false,
        };
        self.leases.insert(task, lease);
    }

    fn put_back(&mut self, task: Task) -> Option<Lease> {
        let lease = self.leases.remove(&task)?;
        let needs = self.queue.needs(lease.class);
        for &(pool, amount) in &needs.pools {
            self.pools_busy[pool.0 as usize] -= amount;
        }
        self.workers[lease.worker.index()].put_back(task, needs);
        Some(lease)
    }

    /// The queue anew from the game.
    fn rebuild(&mut self) {
        self.queue.clear();
        self.withheld.clear();
        self.refill();
    }

    fn refill(&mut self) {
        let mut eligible = Vec::new();
        self.position.eligible(&mut |task| eligible.push(task));
        for task in eligible {
            let class = self.class(task);
            self.queue.push(class, task);
        }
    }
}
