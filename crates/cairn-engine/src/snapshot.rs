//! The whole durable state as one value: what a log of events comes to. Knows no store.

use crate::trust::{Books, Trust};
use crate::{
    Cause, Engine, Illegal, Memory, Moment, Needs, Order, Position, Rules, Span, Task, Token,
    Worker, WorkerId,
};
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

/// What became of earlier attempts at a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tries {
    /// The highest number given to an attempt that ended, or to a copy.
    pub(crate) attempts: u32,
    pub(crate) failures: u32,
    pub(crate) losses: u32,
    /// Bytes of memory, where it needs more than it said.
    pub(crate) memory: Option<u64>,
    /// Its limit, where it needs more than it said.
    pub(crate) limit: Option<Span>,
    /// Who had it last.
    pub(crate) last: WorkerId,
    /// Attempts up to this number were given up by somebody who then wanted the task again: they count no more, however late.
    #[serde(default)]
    pub(crate) fenced: u32,
    #[serde(default)]
    outgrown: Outgrown,
}

/// A *generation* are the attempts that were given out before a limit grew: each number is that of the last of them. Copies of one
/// generation ran into the same limit, and tell together what one tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Outgrown {
    memory: u32,
    time: u32,
    /// Whose try is counted.
    counted: u32,
}

impl Default for Tries {
    fn default() -> Tries {
        Tries {
            attempts: 0,
            failures: 0,
            losses: 0,
            memory: None,
            limit: None,
            last: WorkerId(0),
            fenced: 0,
            outgrown: Outgrown::default(),
        }
    }
}

impl Tries {
    pub(crate) fn ended(&mut self, token: Token, worker: Option<WorkerId>) {
        self.attempts = self.attempts.max(token.attempt);
        self.last = worker.unwrap_or(self.last);
    }

    /// Whether a failure of this attempt costs the task a try: not if a copy of its generation ran into a limit before it, and it
    /// into one as well. The task has not had a larger one since.
    pub(crate) fn costs_a_try(&self, token: Token, cause: Cause, needs: &Needs) -> bool {
        !runs_into_a_limit(cause, needs) || token.attempt > self.outgrown.counted
    }

    /// An attempt failed, which is booked as [ended](Tries::ended): it costs a try, and the next one gets twice as much of what it
    /// wanted for, but no more memory than any worker has, if one is here. Both once for a generation.
    pub(crate) fn failed(&mut self, token: Token, cause: Cause, needs: &Needs, most: Option<u64>) {
        let is_new = self.costs_a_try(token, cause, needs);
        self.failures += u32::from(is_new);
        if !runs_into_a_limit(cause, needs) {
            return;
        }
        // Copies are booked when they are given out: nobody has an attempt of a higher number.
        let newest = self.attempts;
        if is_new {
            self.outgrown.counted = newest;
        }
        match cause {
            Cause::Memory if token.attempt > self.outgrown.memory => {
                let twice = needs.memory.saturating_mul(2);
                let more = most.map_or(twice, |most| twice.min(most));
                // The largest worker may be gone: nobody gets less than before.
                self.memory = Some(more.max(needs.memory));
                self.outgrown.memory = newest;
            }
            Cause::Time if token.attempt > self.outgrown.time => {
                self.limit = needs.limit.map(|limit| Span(limit.0.saturating_mul(2)));
                self.outgrown.time = newest;
            }
            _ => (),
        }
    }
}

fn runs_into_a_limit(cause: Cause, needs: &Needs) -> bool {
    match cause {
        Cause::Memory => needs.memory > 0,
        Cause::Time => needs.limit.is_some(),
        _ => false,
    }
}

/// All that events rebuild.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    epoch: u32,
    plan: u32,
    is_paused: bool,
    halted: Option<i32>,
    failures: u64,
    #[serde(default)]
    reopened: u32,
    workers: Vec<Worker>,
    /// Their numbers, where some before them are forgotten, and how many ever came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    came: Option<u32>,
    /// Task, attempt, worker, since when; by task.
    leases: Vec<(Task, Token, WorkerId, Moment)>,
    /// By when leases of volunteers must be back; by task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    due: Vec<(Task, Token, Moment)>,
    /// By task.
    tries: Vec<(Task, Tries)>,
    #[serde(default, skip_serializing_if = "Books::is_empty")]
    trust: Books,
    position: Vec<u8>,
    /// What was learnt of workers and kinds of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
}

impl Snapshot {
    /// The number of the order that was in force.
    pub fn plan(&self) -> u32 {
        self.plan
    }

    /// How often a server or runner had begun with the log.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether somebody had said pause.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// What the run was to return, where a task had ended it.
    pub fn halted(&self) -> Option<i32> {
        self.halted
    }

    /// Everybody who ever was there, by number; `None` for those that are forgotten.
    pub fn workers(&self) -> impl Iterator<Item = Option<&Worker>> + '_ {
        let mut known = self.workers.iter().enumerate().peekable();
        let came = self.came.map_or(self.workers.len(), |came| came as usize);
        (0..came).map(move |number| {
            let is_it = |&(at, _): &(usize, _)| {
                let own = self.numbers.get(at).map_or(at, |&own| own as usize);
                own == number
            };
            known.next_if(is_it).map(|(_, worker)| worker)
        })
    }

    /// Tasks with a result that waited for validation.
    pub fn in_hand(&self) -> impl Iterator<Item = Task> + '_ {
        self.trust.in_hand()
    }

    /// Who had what, and since when.
    pub fn leases(&self) -> &[(Task, Token, WorkerId, Moment)] {
        &self.leases
    }

    /// Where every task stood, as [`Position::packed`] has it.
    pub fn position(&self) -> &[u8] {
        &self.position
    }
}

impl<P: Position> Engine<P> {
    /// The whole durable state.
    pub fn snapshot(&self) -> Snapshot {
        let leases = self.leases.iter();
        let mut leases: Vec<_> = leases
            .map(|(task, l)| (task, l.token, l.worker, l.since))
            .collect();
        // Sorted, as all that follows, so that equal states are equal values.
        leases.sort_unstable();
        let due = self.leases.iter();
        let due = due.filter_map(|(task, l)| Some((task, l.token, l.due?)));
        let mut due: Vec<_> = due.collect();
        due.sort_unstable();
        let mut tries: Vec<_> = self.tries.iter().map(|(&task, &t)| (task, t)).collect();
        tries.sort_unstable_by_key(|&(task, _)| task);
        let is_whole = self.workers.kept() == self.workers.len();
        let numbers = (self.workers.numbered()).map(|(number, _)| number as u32);
        let numbers = numbers.filter(|_| !is_whole);
        Snapshot {
            numbers: numbers.collect(),
            came: (!is_whole).then_some(self.workers.len() as u32),
            epoch: self.epoch,
            plan: self.plan,
            is_paused: self.is_paused,
            halted: self.halted,
            failures: self.failures,
            reopened: self.reopened,
            workers: self.workers.iter().map(Worker::durable).collect(),
            leases,
            due,
            tries,
            trust: self.trust.books(),
            position: self.position.packed(),
            memory: self.dispatch().map(crate::Dispatch::memory),
        }
    }

    /// The state that a snapshot tells of, on the same dag. Later events can be replayed on it; [`Engine::open`] ends that.
    ///
    /// # Errors
    /// If it is of another dag, or damaged.
    pub fn restore(
        mut position: P,
        rules: Rules,
        order: Order,
        snapshot: Snapshot,
    ) -> Result<Engine<P>, Illegal> {
        position.unpack(&snapshot.position)?;
        let mut engine = Engine::new(position, rules, order);
        engine.epoch = snapshot.epoch;
        engine.plan = snapshot.plan;
        engine.is_paused = snapshot.is_paused;
        engine.halted = snapshot.halted;
        engine.failures = snapshot.failures;
        engine.reopened = snapshot.reopened;
        for worker in snapshot.workers() {
            match worker {
                Some(worker) => engine.workers.push(worker.clone()),
                None => engine.workers.skip(),
            }
        }
        engine.remembered = snapshot.memory;
        // Before leases are taken: what a task needs may have grown with its tries.
        engine.tries = snapshot.tries.into_iter().collect();
        // Before leases are taken and trust is made: both ask who is here.
        engine.count_present();
        let trusted = engine
            .present()
            .filter(|&w| engine.workers[w.index()].client().is_none());
        let trusted = trusted.count() as u32;
        engine.trust = Trust::restored(engine.rules().distrust.clone(), snapshot.trust, trusted);
        let due: HashMap<(Task, Token), Moment> = (snapshot.due.into_iter())
            .map(|(task, token, due)| ((task, token), due))
            .collect();
        for (task, token, worker, since) in snapshot.leases {
            // A damaged snapshot must not panic where the lease is booked.
            if engine.workers.get(worker.index()).is_none() {
                return Err(Illegal(format!("there is no worker {}", worker.0)));
            }
            let due = due.get(&(task, token)).copied();
            engine.take(task, token, worker, (since, due));
        }
        Ok(engine)
    }
}
