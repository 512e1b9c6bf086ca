//! Where the time of each worker's processors went. Knows no tasks, only how much of a worker they take.

use super::told::Idle;
use cairn_engine::{Needs, Offer, Worker};

/// How long certain things were so, in seconds of the run: differences of these tell of any stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) now: f64,
    /// Nothing was eligible, and nobody had said pause.
    pub(super) nothing_eligible: f64,
    pub(super) paused: f64,
}

/// A worker.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) offer: Offer,
    pub(super) state: &'static str,
    pub(super) leased: u64,
    pub(super) executed: u64,
    pub(super) failed: u64,
    pub(super) lost: u64,
    busy_cpus: u32,
    busy_memory: u64,
    /// Whether something that was eligible at the last change fits what was free then.
    fits: bool,
    since: Totals,
    idle: Idle,
}

impl Account {
    pub(super) fn new(name: String, offer: Offer, now: Totals) -> Account {
        Account {
            name,
            offer,
            state: "here",
            leased: 0,
            executed: 0,
            failed: 0,
            lost: 0,
            busy_cpus: 0,
            busy_memory: 0,
            fits: false,
            since: now,
            idle: Idle::default(),
        }
    }

    /// One of whom only is known what a snapshot has.
    pub(super) fn of(worker: &Worker, now: Totals) -> Account {
        let mut account = Account::new(worker.name.clone(), worker.offer.clone(), now);
        account.be(worker);
        account
    }

    /// What a snapshot has of it, with nothing to do yet.
    pub(super) fn be(&mut self, worker: &Worker) {
        self.state = match (worker.is_here, worker.was_lost) {
            (true, _) => "here",
            (false, true) => "lost",
            (false, false) => "left",
        };
        (self.executed, self.failed, self.lost) = (worker.executed, worker.failed, worker.lost);
        (self.leased, self.busy_cpus, self.busy_memory) = (0, 0, 0);
    }

    /// Where its time went until now.
    pub(super) fn idle(&self, now: Totals) -> Idle {
        let mut idle = self.idle;
        // Booked when it went: whoever is gone is not idle.
        if self.state != "here" {
            return idle;
        }
        let time = now.now - self.since.now;
        let nothing = now.nothing_eligible - self.since.nothing_eligible;
        let paused = now.paused - self.since.paused;
        let free = f64::from(self.offer.cpus.saturating_sub(self.busy_cpus));
        idle.busy += f64::from(self.busy_cpus.min(self.offer.cpus)) * time;
        idle.nothing_eligible += free * nothing;
        idle.paused += free * paused;
        // Differences of sums may be off by a rounding: never less than nothing.
        let rest = free * (time - nothing - paused).max(0.0);
        // As it was when the stretch began: looking at every change of what is eligible would take all
        // workers for each task.
        match self.fits {
            true => idle.server += rest,
            false => idle.resources += rest,
        }
        idle
    }

    /// Books the time until now; what follows is another stretch.
    pub(super) fn settle(&mut self, now: Totals) {
        self.idle = self.idle(now);
        self.since = now;
    }

    pub(super) fn take(&mut self, needs: &Needs) {
        self.leased += 1;
        self.busy_cpus += self.offer.cpus_for(needs);
        self.busy_memory = self.busy_memory.saturating_add(needs.memory);
    }

    pub(super) fn put_back(&mut self, needs: &Needs) {
        self.leased = self.leased.saturating_sub(1);
        self.busy_cpus = self.busy_cpus.saturating_sub(self.offer.cpus_for(needs));
        self.busy_memory = self.busy_memory.saturating_sub(needs.memory);
    }

    /// Notes whether something of these needs could begin here now.
    pub(super) fn look<'n>(&mut self, mut eligible: impl Iterator<Item = &'n Needs>) {
        let room = |needs: &Needs| {
            let memory = self.busy_memory.saturating_add(needs.memory);
            self.offer.could(needs)
                && self.busy_cpus.saturating_add(self.offer.cpus_for(needs)) <= self.offer.cpus
                && self.offer.memory.is_none_or(|all| memory <= all)
        };
        self.fits = eligible.any(room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_of_every_processor_is_somewhere() {
        let at = |now: f64, nothing_eligible: f64, paused: f64| Totals {
            now,
            nothing_eligible,
            paused,
        };
        let mut account = Account::new("w".into(), Offer::cpus(4), at(0.0, 0.0, 0.0));
        let small = Needs::default();
        let large = Needs {
            cpus: 4,
            ..Needs::default()
        };
        account.take(&small);
        account.look([&large].into_iter());
        // One of four works; two seconds without anything eligible, one paused, the rest without room for the large one.
        account.settle(at(10.0, 2.0, 1.0));
        let idle = account.idle(at(10.0, 2.0, 1.0));
        let expected = Idle {
            busy: 10.0,
            nothing_eligible: 6.0,
            resources: 21.0,
            server: 0.0,
            paused: 3.0,
        };
        assert_eq!(idle, expected);
        account.put_back(&small);
        account.look([&large].into_iter());
        let idle = account.idle(at(11.0, 2.0, 1.0));
        assert_eq!(idle.server, 4.0);
        let all = idle.busy + idle.nothing_eligible + idle.resources + idle.server + idle.paused;
        assert_eq!(all, 44.0);
    }
}
