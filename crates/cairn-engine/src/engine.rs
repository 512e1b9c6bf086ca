//! Decides: who gets which task, what a return is worth, when a worker is lost. Knows no files, sockets or clocks.

mod apply;
mod aware;
mod by_hand;
mod choose;
mod copies;
mod forget;
mod late;
mod members;
mod returns;
mod room;
mod speculate;
mod storage;
mod timers;
mod together;
mod wanted;
mod why;

pub use why::{Why, WhyNot};

use crate::leases::Leases;
use crate::queue::Queue;
use crate::snapshot::Tries;
use crate::trust::Trust;
use crate::{
    ClassId, Dispatch, Entry, Event, Exchanged, Granted, Illegal, Keeper, Memory, Moment, Needs,
    Order, Outbox, Outcome, Placing, Position, Refusal, Release, Returned, Roll, Rules, Task,
    Token, Worker, WorkerId,
};
use cairn_theory::game::Standing;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use timers::Timer;
use wanted::Wanted;

/// A task that is overtaken no more.
#[derive(Clone, Copy, Debug)]
struct Reservation {
    task: Task,
    /// The worker whose room is kept, where room is what it lacks.
    worker: Option<WorkerId>,
}

/// The state of a run.
///
/// Laws, tested with random play: events alone rebuild the state; every prefix of them is closed under parents; no token
/// is given out twice; a worker has no more than it offers; pools are never exceeded; a task is executed once; among the
/// tasks that fit, that of least rank goes first; a task that fits some worker is not overtaken for ever; no worker and no
/// client has two attempts at one task; what volunteers return counts only when enough of them agree.
///
/// A request costs O(classes of needs + log(eligible)) for each task given, a return O(children + log(eligible)). Where there are
/// volunteers, a request costs O(log) more for each set of clients that some task has to go without; whoever joins is compared with
/// those who are here.
#[derive(Clone, Debug)]
pub struct Engine<P> {
    pub(crate) position: P,
    rules: Rules,
    queue: Queue,
    pub(crate) workers: Roll<Worker>,
    /// Those that are gone and remembered, the longest first; when there are so many, some are forgotten.
    gone: VecDeque<WorkerId>,
    full_at: usize,
    /// Those who are here, and how many of them are volunteers.
    here: BTreeSet<WorkerId>,
    volunteers: usize,
    pub(crate) leases: Leases,
    pub(crate) tries: HashMap<Task, Tries>,
    pools_busy: Vec<u32>,
    timers: BinaryHeap<Reverse<(Moment, Timer)>>,
    pub(crate) epoch: u32,
    pub(crate) plan: u32,
    pub(crate) is_paused: bool,
    pub(crate) halted: Option<i32>,
    pub(crate) failures: u64,
    /// In which epoch tasks were last reopened: what was begun before may have read what is no longer so.
    pub(crate) reopened: u32,
    reservation: Option<Reservation>,
    overtaken: HashMap<Task, u32>,
    opened: Vec<Task>,
    aborted: Vec<Task>,
    keeper: Option<Box<Keeper>>,
    /// By task, where anybody says: bytes in a folder of its own.
    weights: Vec<u64>,
    /// Who learns how fast workers are; whether tasks go by that; whether it has to be told anew where tasks stand.
    dispatch: Option<Box<Dispatch>>,
    placing: Placing,
    is_dispatch_stale: bool,
    /// What was learnt until the snapshot that the state came from.
    pub(crate) remembered: Option<Memory>,
    /// Eligible tasks out of the queue, which the keeper refused when it was at this version.
    withheld: Vec<(ClassId, Task)>,
    withheld_at: u64,
    /// By task, where only some are wanted.
    left_out: Vec<bool>,
    /// What is known of volunteers and of what they returned.
    pub(crate) trust: Trust,
    /// Tasks that some volunteer has had, and of which another copy is needed, by rank. They are in no queue.
    wanted: Wanted,
}

impl<P: Position> Engine<P> {
    /// The beginning of a run. Nothing may be asked before [`Engine::open`].
    pub fn new(position: P, rules: Rules, order: Order) -> Engine<P> {
        let queue = Queue::new(order, rules.classes.clone());
        let pools_busy = vec![0; rules.pools.len()];
        let trust = Trust::new(rules.distrust.clone());
        Engine {
            position,
            rules,
            queue,
            workers: Roll::default(),
            gone: VecDeque::new(),
            full_at: 0,
            here: BTreeSet::new(),
            volunteers: 0,
            leases: Leases::default(),
            tries: HashMap::new(),
            pools_busy,
            timers: BinaryHeap::new(),
            epoch: 0,
            plan: 0,
            is_paused: false,
            halted: None,
            failures: 0,
            reopened: 0,
            reservation: None,
            overtaken: HashMap::new(),
            opened: Vec::new(),
            aborted: Vec::new(),
            keeper: None,
            weights: Vec::new(),
            dispatch: None,
            placing: Placing::ByOrder,
            is_dispatch_stale: false,
            remembered: None,
            withheld: Vec::new(),
            withheld_at: 0,
            left_out: Vec::new(),
            trust,
            wanted: Wanted::default(),
        }
    }

    /// Lets what is written down happen again. Before [`Engine::open`].
    ///
    /// # Errors
    /// If the event could not have happened: the store is damaged, or of another dag.
    pub fn replay(&mut self, entry: &Entry) -> Result<(), Illegal> {
        // What an event opens or aborts is told to nobody: it was told when it happened, and `open` fills the queue
        // from the game.
        self.apply(entry.at, &entry.event)?;
        self.opened.clear();
        self.aborted.clear();
        Ok(())
    }

    /// Tasks go by this order. Before [`Engine::open`], where what was replayed says which order is in force.
    pub fn set_order(&mut self, order: Order) {
        self.queue.reorder(order);
        self.position.reordered();
        self.tell_order();
    }

    /// Begins, or goes on after what was replayed. Leases hold: whoever has one is heard of within the silence, or lost.
    pub fn open(&mut self, now: Moment, out: &mut Outbox) {
        // Every start has an epoch of its own: an attempt that the store lost with its last moments has a token of
        // the old one, and cannot be taken for a new attempt of the same number.
        let epoch = self.epoch + 1;
        self.rebuild();
        // Replay told the keeper nothing, and dispatch not what became eligible: both learn it before anybody asks.
        self.sync_keeper();
        self.is_dispatch_stale = true;
        self.tried_first();
        self.commit(now, Event::Opened { epoch }, out);
        for worker in self.present().collect::<Vec<_>>() {
            // Nobody could be heard while there was no server: all have the whole silence anew.
            self.workers[worker.index()].last_seen = now;
            self.timer(now + self.rules.silence, Timer::Silence(worker));
        }
        let limits: Vec<_> = (self.leases.iter())
            .filter_map(|(task, lease)| {
                let limit = self.queue.needs(lease.class).limit?;
                Some((lease.since + limit, Timer::Limit(task, lease.token)))
            })
            .collect();
        limits.into_iter().for_each(|(at, t)| self.timer(at, t));
        self.expect_volunteers();
        self.suppose_all_late(now);
        // The numbers may be others than before: what waits under them may come to nothing any more.
        self.give_up_all_hopeless(now, out);
    }

    /// Tasks go by this order from now on; the store knows it as `plan`.
    pub fn reorder(&mut self, now: Moment, plan: u32, order: Order, out: &mut Outbox) {
        self.queue.reorder(order);
        self.position.reordered();
        self.tell_order();
        // All that is eligible comes back by `refill`, by the new ranks; kept here it would come twice.
        self.withheld.clear();
        self.refill();
        self.want_anew();
        self.commit(now, Event::Ordered { plan }, out);
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
        let alone = self.ask_together(now, &[(worker, want)], out).pop();
        alone.expect("one answer a request")
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
        let each = |&(task, token, outcome): &(Task, Token, Outcome)| {
            let digest = None;
            let back = Returned {
                task,
                token,
                outcome,
                digest,
            };
            self.take_back(now, worker, &back, out)
        };
        let receipts = returns.iter().map(each).collect();
        // Returns are in by now: what the worker has ended frees its room for what it asks.
        let mut granted = match (self.hear(now, worker), holding) {
            (Ok(()), Some(holding)) => {
                // A worker still names what it returns with this very request: it is at that no more, whatever came of it.
                let mut at = Cow::Borrowed(holding);
                if !returns.is_empty() {
                    let is_back = |h: &(Task, Token)| returns.iter().any(|r| (r.0, r.1) == *h);
                    at.to_mut().retain(|held| !is_back(held));
                }
                self.hear_of_late(now, worker, &at, out);
                self.tell_again(now, worker, holding)
            }
            _ => Vec::new(),
        };
        // What is told again counts as given: the worker has no room for both.
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
        // Who was told to end an attempt may have done so: told of it again, it would begin with it a second time.
        let class = |&(task, token): &(Task, Token)| {
            let lease = self.leases.get(task, token)?;
            (!lease.is_ending && self.halted.is_none()).then_some(lease.class)
        };
        missing
            .filter_map(|held| Some(self.granted(held.0, held.1, class(held)?)))
            .collect()
    }

    /// A worker says that it lives, and what it works on. Returns what it should stop working on, since that no longer
    /// counts. What it was given before its last heartbeat and does not name in this one either is released, or has failed if it was
    /// beyond its limit.
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
        self.hear_of_late(now, worker, holding, out);
        let known = &self.workers[worker.index()];
        let stale = |&&(task, token): &&(Task, Token)| {
            // Work on a task that was given up for lost may still count, while nobody else is at it, or beside that one.
            !known.holds.contains(&(task, token))
                && !self.would_take(worker, task, token, Outcome::Executed)
        };
        let stale: Vec<_> = holding.iter().filter(stale).copied().collect();
        let missing = |held: &&(Task, Token)| !holding.contains(held);
        // Kept for the next heartbeat, whatever becomes of these: only what is missing twice in a row is gone.
        let missing: Vec<_> = known.holds.iter().filter(missing).copied().collect();
        // Once is no sign: the answer that gave it out may have crossed the heartbeat.
        let twice = |held: &&(Task, Token)| known.unheard.contains(held);
        let twice: Vec<_> = missing.iter().filter(twice).copied().collect();
        self.workers[worker.index()].unheard = missing;
        for (task, token) in twice {
            // Who was told to end it has done so without a word: a release would cost no try, and so have no end.
            match self.leases.get(task, token).is_some_and(|l| l.is_ending) {
                true => self.run_out(now, task, token, out),
                false => self.release(now, task, token, Release::Unheard, out),
            }
        }
        Ok(stale)
    }

    /// What of this the worker should stop, since it was given the task anew: the first attempt may still count, but two at once
    /// take twice the memory that the worker was asked for.
    pub fn doubled(&self, worker: WorkerId, holding: &[(Task, Token)]) -> Vec<(Task, Token)> {
        let Some(known) = self.workers.get(worker.index()) else {
            return Vec::new();
        };
        let is_anew = |held: &&(Task, Token)| {
            let mut own = known.holds.iter();
            own.any(|now| now.0 == held.0) && !known.holds.contains(held)
        };
        holding.iter().filter(is_anew).copied().collect()
    }

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

    /// All workers that ever were, by number, but for those that are long gone.
    pub fn workers(&self) -> &Roll<Worker> {
        &self.workers
    }

    /// What is leased, to whom.
    pub fn held(&self) -> impl Iterator<Item = (WorkerId, Task, Token)> + '_ {
        (self.leases.iter()).map(|(task, lease)| (lease.worker, task, lease.token))
    }

    /// Who has the task, as which attempt, since when: the first of them, where there are several.
    pub fn lease(&self, task: Task) -> Option<(WorkerId, Token, Moment)> {
        self.attempts(task).next()
    }

    /// Everybody who has the task, each with the attempt and since when, from old to new.
    pub fn attempts(&self, task: Task) -> impl Iterator<Item = (WorkerId, Token, Moment)> + '_ {
        (self.leases.of(task)).map(|lease| (lease.worker, lease.token, lease.since))
    }

    /// What is known of volunteers, and of results that wait for validation.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// What the task needs now: limits grow when an attempt failed for want of memory or time.
    pub fn needs(&self, task: Task) -> Needs {
        let mut needs = self.rules.classes[self.rules.class(task).index()].clone();
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
        // What runs may end well all the same: a run that was ended waits for those who have something.
        let stops = self.halted.is_some() || self.has_too_many_failures();
        self.position.is_settled() || (stops && self.leases.is_empty())
    }

    fn has_too_many_failures(&self) -> bool {
        self.rules.failures > 0 && self.failures >= self.rules.failures
    }

    /// The worker was heard of.
    fn hear(&mut self, now: Moment, worker: WorkerId) -> Result<(), Refusal> {
        let known = self.workers.get_mut(worker.index());
        let known = known.filter(|w| w.is_here).ok_or(Refusal::Unknown)?;
        // Clocks of drivers may step back; a worker must not seem silent for that.
        known.last_seen = known.last_seen.max(now);
        Ok(())
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
        // One that is not the first came by another way. It stays there until it is: whoever takes one asks the game.
        if self
            .queue
            .first(class)
            .is_some_and(|(_, first)| first == task)
        {
            self.queue.pop(class);
        }
        self.overtaken.remove(&task);
        // First attempts are in no book while they live.
        let mut attempts = self.tries.get(&task).map_or(0, |tries| tries.attempts);
        if self.position.standing(task) == Ok(Standing::Leased) {
            let live = self.leases.of(task).map(|lease| lease.token.attempt);
            attempts = live.fold(attempts, u32::max);
        }
        let token = Token {
            epoch: self.epoch,
            attempt: attempts + 1,
        };
        let due = self
            .client(worker)
            .map(|_| now + self.span_at(task, worker));
        let event = Event::Leased {
            task,
            token,
            worker,
            due,
        };
        self.commit(now, event, out);
        let granted = self.granted(task, token, class);
        if let Some(limit) = granted.limit {
            self.timer(now + limit, Timer::Limit(task, token));
        }
        if let Some(due) = due {
            self.timer(due, Timer::Due(task, token));
        }
        granted
    }

    /// Takes a task back that nobody is to blame for, or for whose loss nobody is.
    fn release(&mut self, now: Moment, task: Task, token: Token, why: Release, out: &mut Outbox) {
        let is_volunteers = self.is_volunteers(task, token);
        let for_good = match is_volunteers {
            // Whose time is up may still be at it: `due` sees to that.
            true => why != Release::Overdue && self.is_hopeless(task, token, why.into()),
            false => {
                let lost = self.tries.get(&task).map_or(0, |tries| tries.losses);
                let is_worn = why == Release::Lost && lost + 1 > self.rules.losses;
                is_worn && !self.leases.has_other(task, token)
            }
        };
        let event = Event::Released {
            task,
            token,
            why,
            for_good,
        };
        self.commit(now, event, out);
        if !is_volunteers {
            self.give_up_hopeless(now, task, out);
        }
    }
}

impl Engine<crate::Implicit> {
    /// Tasks from this step of the family on are left alone. Before [`Engine::open`]; all sources come before it.
    pub fn until(&mut self, step: u64) {
        self.position.end_at(step);
    }
}
