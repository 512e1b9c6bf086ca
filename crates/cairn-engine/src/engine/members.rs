//! Who comes, who goes, and who is here. Knows nothing of what they are given.

use super::Engine;
use super::timers::Timer;
use crate::{
    ClientId, Event, Gone, Memory, Moment, Offer, Outbox, Position, Refusal, Release, WorkerId,
};

impl<P: Position> Engine<P> {
    /// A worker comes. One of the same name and the same client that is still here is lost. A client has no more workers, and
    /// none of them more processors, than it may have tasks: beyond that the one that was silent for longest is lost.
    pub fn join(
        &mut self,
        now: Moment,
        name: &str,
        mut offer: Offer,
        out: &mut Outbox,
    ) -> WorkerId {
        // A volunteer can say any number of processors and come under any number of names: what it may have is
        // bounded by its token.
        let most = self.trust.distrust().most.max(1);
        if offer.client.is_some() {
            offer.cpus = offer.cpus.min(most);
        }
        if let Some(old) = self.displaced(name, offer.client, most as usize) {
            // Lost, not left: it said no word. What it still runs may count when it comes, as after any silence.
            self.depart(now, old, Gone::Lost, out);
        }
        // Numbers are never given twice: what an earlier life of the worker had is not its own any more.
        let worker = WorkerId::new(self.workers.len());
        // Asked before it joins: from then on the run has a record of its own.
        let known = offer.client.and_then(|client| {
            let record = self.trust.remembered(client)?;
            Some(Event::Remembered { client, record })
        });
        let name = name.to_string();
        let event = Event::Joined {
            worker,
            name,
            offer,
        };
        self.commit(now, event, out);
        if let Some(known) = known {
            self.commit(now, known, out);
        }
        self.workers[worker.index()].last_seen = now;
        self.timer(now + self.rules.silence, Timer::Silence(worker));
        worker
    }

    /// What earlier runs know of volunteers, by [`Distrust::identities`](crate::Distrust): it counts for whoever comes for
    /// the first time in this run. What the run itself knows stands.
    pub fn remember(&mut self, memory: &Memory) {
        self.trust.remember(memory.volunteers(), &self.rules.kinds);
    }

    /// What later runs may know of this one, beyond what is remembered already.
    pub fn learnt(&self) -> Memory {
        let learnt = self.dispatch().map(|dispatch| dispatch.book().memory());
        let volunteers = self.trust.reputations(&self.rules.kinds);
        learnt.unwrap_or_default().with_volunteers(volunteers)
    }

    /// Who has to go when such a worker comes.
    fn displaced(&self, name: &str, client: Option<ClientId>, most: usize) -> Option<WorkerId> {
        let own = |w: &WorkerId| self.workers[w.index()].client() == client;
        let own = || self.present().filter(own);
        // Only of the same client: else a volunteer could throw out another, or a trusted worker, by taking its name.
        let same = own().find(|w| self.workers[w.index()].name == name);
        let longest = || own().min_by_key(|w| self.workers[w.index()].last_seen);
        let is_full = || client.is_some() && own().count() >= most;
        same.or_else(|| is_full().then(longest).flatten())
    }

    /// Who is here.
    pub(crate) fn present(&self) -> impl Iterator<Item = WorkerId> + '_ {
        self.here.iter().copied()
    }

    /// Whether any worker is here.
    pub fn is_anybody_here(&self) -> bool {
        !self.here.is_empty()
    }

    /// Counts who is here.
    pub(crate) fn count_present(&mut self) {
        let all = || (self.workers.numbered()).map(|(number, w)| (WorkerId::new(number), w));
        self.here = all().filter(|(_, w)| w.is_here).map(|(id, _)| id).collect();
        self.gone = (all().filter(|(_, w)| !w.is_here).map(|(id, _)| id)).collect();
        let volunteers = self.present().filter(|&w| self.client(w).is_some());
        self.volunteers = volunteers.count();
    }

    /// Whether volunteers are here, or something of theirs waits for another copy: then tasks go by the rules for them.
    pub(super) fn minds_volunteers(&self) -> bool {
        self.volunteers > 0 || !self.wanted.is_empty()
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

    /// A worker is known to be gone without a word; what it had is eligible again. Who only listens finds out by silence.
    ///
    /// # Errors
    /// If it is not here.
    pub fn lose(&mut self, now: Moment, worker: WorkerId, out: &mut Outbox) -> Result<(), Refusal> {
        self.hear(now, worker)?;
        self.depart(now, worker, Gone::Lost, out);
        Ok(())
    }

    pub(super) fn depart(&mut self, now: Moment, worker: WorkerId, why: Gone, out: &mut Outbox) {
        let release = match why {
            Gone::Left => Release::GivenBack,
            Gone::Lost => Release::Lost,
        };
        // Ends first: whoever reads the log finds no lease of a worker that is gone.
        for (task, token) in self.workers[worker.index()].holds.clone() {
            self.release(now, task, token, release, out);
        }
        // Asked before the event, by which the last of them may go.
        let could_settle = self.trust.has_trusted();
        self.commit(now, Event::Departed { worker, why }, out);
        for (task, token) in std::mem::take(&mut self.workers[worker.index()].late) {
            self.wait_no_more(now, worker, task, token, out);
        }
        // Tasks that too few volunteers are left for were kept open by the hope that somebody trusted would do them.
        if could_settle && !self.trust.has_trusted() {
            self.give_up_all_hopeless(now, out);
        }
        // Last, when nothing above speaks of a worker by number any more.
        self.forget_gone(now, out);
    }
}
