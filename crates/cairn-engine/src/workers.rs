//! The workers of a run: what each offers, has and has done. Knows no task.

use crate::{ClientId, Distrust, Moment, Needs, Offer, Task, Token};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An attempt that was given up for lost and goes on all the same, at a worker that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lingering {
    pub(crate) attempt: (Task, Token),
    pub(crate) cpus: u32,
    pub(crate) memory: u64,
}

/// A worker, present or gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// What it calls itself.
    pub name: String,
    /// What it has.
    pub offer: Offer,
    /// Whether it is still there.
    pub is_here: bool,
    /// Whether it was lost rather than left.
    pub was_lost: bool,
    /// How many tasks it has executed.
    pub executed: u64,
    /// How many of its attempts failed.
    pub failed: u64,
    /// How many of its leases ended because it was silent.
    pub lost: u64,
    /// When it was last heard of. Not part of what events rebuild.
    #[serde(skip)]
    pub last_seen: Moment,
    /// What it has now, by task.
    #[serde(skip)]
    pub holds: Vec<(Task, Token)>,
    /// What was missing in its last heartbeat though it was leased before.
    #[serde(skip)]
    pub(crate) unheard: Vec<(Task, Token)>,
    /// What it has beyond its time, as far as it says.
    #[serde(skip)]
    pub(crate) late: Vec<(Task, Token)>,
    /// What it says it is still at though it was given up for lost, with what that takes; of volunteers `late` has it.
    #[serde(skip)]
    pub(crate) lingers: Vec<Lingering>,
    /// What it failed with, gave back or was told to stop since it last said what it has: a heartbeat on its way may still name it.
    #[serde(skip)]
    pub(crate) let_go: Vec<(Task, Token)>,
    /// Processors and bytes that its tasks take.
    #[serde(skip)]
    pub(crate) busy_cpus: u32,
    #[serde(skip)]
    pub(crate) busy_memory: u64,
}

impl Worker {
    pub(crate) fn new(name: String, offer: Offer) -> Worker {
        Worker {
            name,
            offer,
            is_here: true,
            was_lost: false,
            executed: 0,
            failed: 0,
            lost: 0,
            last_seen: Moment(0),
            holds: Vec::new(),
            unheard: Vec::new(),
            late: Vec::new(),
            lingers: Vec::new(),
            let_go: Vec::new(),
            busy_cpus: 0,
            busy_memory: 0,
        }
    }

    /// What of it outlasts a restart.
    pub(crate) fn durable(&self) -> Worker {
        Worker {
            is_here: self.is_here,
            was_lost: self.was_lost,
            executed: self.executed,
            failed: self.failed,
            lost: self.lost,
            ..Worker::new(self.name.clone(), self.offer.clone())
        }
    }

    /// Who it is, where nobody vouches for it.
    #[inline]
    pub fn client(&self) -> Option<ClientId> {
        self.offer.client
    }

    /// What speeds are known by: a volunteer's name means nothing to others, nor does its number in other runs.
    pub(crate) fn book_name(&self, distrust: &Distrust) -> Cow<'_, str> {
        let Some(client) = self.client() else {
            return Cow::Borrowed(&self.name);
        };
        Cow::Owned(match distrust.identity(client) {
            Some(who) => format!("volunteer {who}/{}", self.name),
            None => format!("volunteer-{}/{}", client.0, self.name),
        })
    }

    /// Whether it could do a task with these needs when it had nothing else, and will live long enough.
    pub(crate) fn could(&self, now: Moment, needs: &Needs) -> bool {
        let lives = |until: u64| Moment(until).since(now) >= needs.life;
        self.offer.could(needs) && self.offer.until.is_none_or(lives)
    }

    /// How many more tasks of one processor it has room for.
    pub(crate) fn free_cpus(&self) -> usize {
        self.offer.cpus.saturating_sub(self.busy().0) as usize
    }

    /// Processors and bytes that its tasks take, with those of attempts that go on after a loss: its processors do not know that
    /// nobody counts on those.
    pub(crate) fn busy(&self) -> (u32, u64) {
        let sum = |(cpus, memory): (u32, u64), l: &Lingering| {
            (cpus.saturating_add(l.cpus), memory.saturating_add(l.memory))
        };
        self.lingers
            .iter()
            .fold((self.busy_cpus, self.busy_memory), sum)
    }

    /// Whether it has room for one now.
    pub(crate) fn has_room(&self, needs: &Needs) -> bool {
        let (cpus, memory) = self.busy();
        self.has_room_beside(cpus, memory, needs)
    }

    /// Whether it would have, if it had not the one with those other needs.
    pub(crate) fn has_room_instead(&self, needs: &Needs, freed: &Needs) -> bool {
        let (cpus, memory) = self.busy();
        let cpus = cpus - self.offer.cpus_for(freed);
        self.has_room_beside(cpus, memory - freed.memory, needs)
    }

    fn has_room_beside(&self, busy_cpus: u32, busy_memory: u64, needs: &Needs) -> bool {
        let cpus = self.offer.cpus_for(needs);
        let memory = busy_memory.saturating_add(needs.memory);
        busy_cpus.saturating_add(cpus) <= self.offer.cpus
            && self.offer.memory.is_none_or(|all| memory <= all)
    }

    pub(crate) fn take(&mut self, task: Task, token: Token, needs: &Needs) {
        self.holds.push((task, token));
        self.busy_cpus += self.offer.cpus_for(needs);
        self.busy_memory = self.busy_memory.saturating_add(needs.memory);
    }

    pub(crate) fn put_back(&mut self, task: Task, needs: &Needs) {
        self.holds.retain(|&(held, _)| held != task);
        self.unheard.retain(|&(held, _)| held != task);
        self.busy_cpus -= self.offer.cpus_for(needs);
        self.busy_memory -= needs.memory;
    }
}
