//! Volunteers under random play: what they return counts exactly when the rules say so, by a twin that reads nothing but the
//! log; and no liar, alone or with fewer others than must agree, ever makes a wrong result count.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Agreement, Cause, ClientId, Digest, Distrust, Engine, Entry, Event, Frozen, Granted, Memory,
    Moment, Offer, Order, Outbox, Outcome, Position, Receipt, Refusal, Release, Returned, Rules,
    Span, Task, Token, Why, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::Standing;
use std::collections::{BTreeMap, BTreeSet};

const SECOND: u64 = 1_000_000;

/// What a task makes, if it is made well.
fn truth(task: Task) -> Digest {
    Digest([task.0, 1])
}

/// What is known of a copy by the log alone.
#[derive(Clone, Debug, PartialEq)]
enum Ended {
    Live,
    Late,
    Aborted,
    Error,
    Returned(Digest),
}

#[derive(Clone, Debug)]
struct Copy {
    token: Token,
    worker: WorkerId,
    client: Option<ClientId>,
    due: Option<Moment>,
    since: Moment,
    /// When it came back, if it did.
    back: Moment,
    /// Whether a volunteer had the task when it began.
    is_checked: bool,
    ended: Ended,
    /// Whether its client had earned to count alone when it began.
    may_be_alone: bool,
}

fn volunteers(copies: &[Copy]) -> usize {
    copies.iter().filter(|c| c.client.is_some()).count()
}

/// The rules once more, from the log alone and as plainly as they are told.
#[derive(Clone, Default)]
struct Twin {
    clients: Vec<Option<ClientId>>,
    /// Every attempt that was ever given out.
    tokens: BTreeSet<(Task, Token)>,
    copies: BTreeMap<Task, Vec<Copy>>,
    /// By client: confirmed in a row, errors, late, valid, invalid.
    row: BTreeMap<ClientId, u32>,
    counts: BTreeMap<ClientId, [u64; 4]>,
    /// What tasks took whose results counted: how many, and microseconds in all.
    took: (u64, u64),
    /// Who is gone and not forgotten.
    gone: BTreeSet<WorkerId>,
}

impl Twin {
    fn happen(&mut self, rules: &Distrust, at: Moment, event: &Event) {
        match *event {
            Event::Joined { ref offer, .. } => self.clients.push(offer.client),
            Event::Remembered { client, ref record } => {
                let of = |known: &&Option<ClientId>| **known == Some(client);
                assert_eq!(self.clients.iter().filter(of).count(), 1, "at its first");
                let before = Before::of(client);
                let counts = before.agree >= rules.agree();
                assert_eq!(record.row, if counts { before.row.min(20) } else { 0 });
                assert_eq!(record.quota, before.quota);
                let [errors, late, valid, invalid] = before.counts;
                assert_eq!((record.errors, record.late), (errors, late));
                assert_eq!((record.valid, record.invalid), (valid, invalid));
                self.row.insert(client, record.row);
                self.counts.insert(client, before.counts);
            }
            Event::Leased {
                task,
                token,
                worker,
                due,
            } => {
                let client = self.clients[worker.0 as usize];
                // Volunteers alone have a deadline.
                assert_eq!(due, client.map(|_| at + self.span(rules, task)));
                assert!(
                    self.tokens.insert((task, token)),
                    "{task:?} {token:?} again"
                );
                let copies = self.copies.entry(task).or_default();
                if let Some(client) = client {
                    let live = |c: &Copy| {
                        let gone = matches!(c.ended, Ended::Late | Ended::Aborted | Ended::Error);
                        c.client == Some(client) && !gone
                    };
                    assert!(!copies.iter().any(live), "one attempt a client");
                    assert!(volunteers(copies) < rules.max_total as usize);
                }
                let row = client.and_then(|c| self.row.get(&c)).copied().unwrap_or(0);
                let may_be_alone = rules.earned.is_some_and(|earned| row >= earned);
                copies.push(Copy {
                    token,
                    worker,
                    client,
                    due,
                    since: at,
                    back: at,
                    is_checked: client.is_some() || copies.iter().any(|c| c.is_checked),
                    ended: Ended::Live,
                    may_be_alone,
                });
            }
            Event::Returned {
                task,
                token,
                digest,
                ..
            } => {
                let copy = self.copy(task, token);
                assert!(matches!(copy.ended, Ended::Live | Ended::Late));
                copy.ended = Ended::Returned(digest);
                copy.back = at;
                let client = copy.client;
                let mut of: Vec<_> = self.copies[&task].iter().collect();
                of.retain(|c| c.client == client && matches!(c.ended, Ended::Returned(_)));
                assert!(client.is_none() || of.len() == 1, "one result a client");
            }
            Event::Failed { task, token, .. } => self.fault(task, token, Ended::Error),
            Event::Released {
                task, token, why, ..
            } => match why {
                Release::Overdue => {
                    let due = self.copy(task, token).due.expect("a volunteer's");
                    assert!(at >= due, "nobody is late before its time");
                    self.fault(task, token, Ended::Late);
                }
                Release::Lost => self.fault(task, token, Ended::Late),
                Release::GivenBack | Release::Unheard | Release::Redundant => {
                    self.copy(task, token).ended = Ended::Aborted;
                }
            },
            Event::Executed { task, token, .. } => self.executed(rules, task, token),
            Event::Disputed { task } => {
                let copies = &self.copies[&task];
                let results = copies.iter();
                let results = results.filter(|c| matches!(c.ended, Ended::Returned(_)));
                let worn = volunteers(copies) >= rules.max_total as usize;
                assert!(worn || results.count() > rules.max_successes as usize);
                assert!(self.largest(task) < rules.agree() as usize);
            }
            Event::Forgotten { worker } => {
                assert!(self.gone.remove(&worker), "it is gone, and was known");
                let of = |c: &&Copy| c.worker == worker;
                let had = self.copies.values().flatten().filter(|c| c.is_checked);
                assert_eq!(had.filter(of).count(), 0, "something depends on it");
            }
            Event::Departed { worker, .. } => drop(self.gone.insert(worker)),
            _ => (),
        }
        let settled = match *event {
            Event::Executed { task, .. } | Event::Disputed { task } => Some(task),
            Event::Failed { task, for_good, .. } | Event::Released { task, for_good, .. } => {
                for_good.then_some(task)
            }
            Event::Cancelled { task } | Event::Reopened { task } => Some(task),
            _ => None,
        };
        if let Some(task) = settled {
            self.copies.remove(&task);
        }
    }

    /// Ten times what tasks took, or the least that a copy has; half of it for a retry, but twice what tasks took, and not
    /// where somebody was late.
    fn span(&self, rules: &Distrust, task: Task) -> Span {
        let takes = self.took.1 / self.took.0.max(1);
        let usual = (10 * takes).max(rules.deadline.0);
        let copies = self.copies.get(&task).map_or(&[][..], Vec::as_slice);
        let mut checked = copies.iter().filter(|c| c.is_checked);
        match self.is_retry(task) && checked.all(|c| c.ended != Ended::Late) {
            true => Span((usual / 2).max(2 * takes)),
            false => Span(usual),
        }
    }

    fn copy(&mut self, task: Task, token: Token) -> &mut Copy {
        let copies = self.copies.get_mut(&task).expect("somebody has it");
        let copy = copies.iter_mut().find(|c| c.token == token);
        copy.expect("somebody had this attempt")
    }

    fn fault(&mut self, task: Task, token: Token, ended: Ended) {
        let copy = self.copy(task, token);
        copy.ended = ended.clone();
        if let Some(client) = copy.client {
            let counts = self.counts.entry(client).or_default();
            counts[usize::from(ended == Ended::Late)] += 1;
            self.row.insert(client, 0);
        }
    }

    /// Whether some copy came to nothing, or results do not agree.
    fn is_retry(&self, task: Task) -> bool {
        let copies = self.copies.get(&task).map_or(&[][..], Vec::as_slice);
        let checked = copies.iter().filter(|c| c.is_checked);
        let ended = checked.filter(|c| c.ended != Ended::Live).count();
        !copies.is_empty() && ended > self.largest(task)
    }

    fn largest(&self, task: Task) -> usize {
        let copies = &self.copies[&task];
        let equal = |c: &Copy| match c.ended {
            Ended::Returned(_) => copies.iter().filter(|o| o.ended == c.ended).count(),
            _ => 0,
        };
        copies.iter().map(equal).max().unwrap_or(0)
    }

    fn executed(&mut self, rules: &Distrust, task: Task, token: Token) {
        let Some(copies) = self.copies.get(&task).cloned() else {
            return;
        };
        let Some(winner) = copies.iter().find(|c| c.token == token) else {
            return;
        };
        let results: Vec<&Copy> = copies
            .iter()
            .filter(|c| matches!(c.ended, Ended::Returned(_)))
            .collect();
        if winner.client.is_some() {
            let agree: BTreeSet<_> = results
                .iter()
                .filter(|c| c.ended == winner.ended)
                .map(|c| c.client)
                .collect();
            let alone = results.len() == 1 && winner.may_be_alone;
            let trusted = results.iter().any(|c| c.client.is_none());
            assert!(
                agree.len() >= rules.agree() as usize || alone || trusted,
                "{copies:?}"
            );
        }
        if !matches!(winner.ended, Ended::Returned(_)) {
            return;
        }
        self.took.0 += 1;
        self.took.1 += winner.back.since(winner.since).0;
        for copy in &results {
            let Some(client) = copy.client else { continue };
            let counts = self.counts.entry(client).or_default();
            match copy.ended == winner.ended {
                true => {
                    counts[2] += 1;
                    if results.len() > 1 {
                        *self.row.entry(client).or_default() += 1;
                    }
                }
                false => {
                    counts[3] += 1;
                    self.row.insert(client, 0);
                }
            }
        }
    }
}

/// What earlier runs know of a client in these tests; of number 0 and of those beyond the list nothing.
struct Before {
    agree: u32,
    row: u32,
    quota: u32,
    counts: [u64; 4],
}

impl Before {
    fn of(ClientId(n): ClientId) -> Before {
        Before {
            agree: 1 + n % 4,
            row: 7 * n,
            quota: 10 * n,
            counts: [n, 2 * n, 3 * n, n % 2].map(u64::from),
        }
    }

    fn text(client: u32) -> String {
        let before = Before::of(ClientId(client));
        let [errors, late, valid, invalid] = before.counts;
        format!(
            "\"id-{client}\":{{\"agree\":{},\"row\":{},\"rows\":{{\"k\":{}}},\"quota\":{},\"errors\":{errors},\
             \"late\":{late},\"valid\":{valid},\"invalid\":{invalid}}}",
            before.agree, before.row, before.row, before.quota,
        )
    }

    /// A book of earlier runs with clients 1 to 6.
    fn memory() -> Memory {
        let known: Vec<String> = (1..=6).map(Before::text).collect();
        let text = format!(
            "{{\"version\":2,\"kinds\":{{}},\"workers\":{{}},\"volunteers\":{{{}}}}}",
            known.join(",")
        );
        serde_json::from_str(&text).unwrap()
    }
}

struct Play<'d> {
    dag: &'d Dag,
    rules: Rules,
    engine: Engine<Frozen<'d>>,
    twin: Twin,
    log: Vec<Entry>,
    now: Moment,
    granted: Vec<(WorkerId, Task, Token)>,
    workers: Vec<Option<ClientId>>,
    random: Random,
    /// What counted, by task.
    made: BTreeMap<Task, Digest>,
    digests: BTreeMap<(Task, Token), Digest>,
    /// A task that makes something else each time.
    whim: Option<Task>,
    /// How often a retry went before a task that nobody had begun with and that the order has first.
    raised: usize,
}

/// Clients below this number lie, all the same lie.
const LIARS: u32 = 2;
const CLIENTS: u32 = 9;

impl<'d> Play<'d> {
    fn new(dag: &'d Dag, rules: Rules, seed: u64) -> Play<'d> {
        let order: Vec<TaskId> = dag.tasks().collect();
        let mut engine = Engine::new(Frozen::new(dag), rules.clone(), Order::of(&order));
        engine.remember(&Before::memory());
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        Play {
            dag,
            rules,
            engine,
            twin: Twin::default(),
            log: out.entries,
            now: Moment(0),
            granted: Vec::new(),
            workers: Vec::new(),
            random: Random::new(seed),
            made: BTreeMap::new(),
            digests: BTreeMap::new(),
            whim: seed.is_multiple_of(3).then_some(Task(0)),
            raised: 0,
        }
    }

    fn tell<T>(
        &mut self,
        what: impl FnOnce(&mut Engine<Frozen<'d>>, Moment, &mut Outbox) -> T,
    ) -> T {
        let mut out = Outbox::default();
        let answer = what(&mut self.engine, self.now, &mut out);
        for entry in &out.entries {
            (self.twin).happen(&self.rules.distrust, entry.at, &entry.event);
            match entry.event {
                Event::Executed { task, token, .. } => {
                    let made = self.digests.get(&(task, token)).copied();
                    self.made.insert(task, made.unwrap_or(truth(task)));
                }
                Event::Reopened { task } => drop(self.made.remove(&task)),
                _ => (),
            }
        }
        self.log.extend(out.entries);
        answer
    }

    fn join(&mut self, client: Option<u32>, cpus: u32) -> WorkerId {
        let client = client.map(ClientId);
        let offer = Offer {
            client,
            ..Offer::cpus(cpus)
        };
        self.workers.push(client);
        let name = format!("w{}", self.workers.len());
        self.tell(|engine, now, out| engine.join(now, &name, offer, out))
    }

    fn ask(&mut self, worker: WorkerId, want: usize) -> Result<Vec<Granted>, Refusal> {
        let retries = self.retries_for(worker);
        let fresh = self.first_fresh();
        let twin = self.twin.clone();
        let answer = self.tell(|engine, now, out| engine.ask(now, worker, want, out));
        for granted in answer.iter().flatten() {
            let id = granted.task.frozen().unwrap();
            for &parent in self.dag.parents(id) {
                let standing = self.engine.position().standing(parent.into());
                assert_eq!(standing, Ok(Standing::Executed), "dependents wait");
            }
            self.granted.push((worker, granted.task, granted.token));
        }
        if let (Ok(granted), Some(first)) = (&answer, retries.first()) {
            let task = granted[0].task;
            assert!(
                task <= *first && twin.is_retry(task),
                "{task:?}, where {retries:?} must be tried again"
            );
            self.raised += usize::from(fresh.is_some_and(|fresh| fresh < task));
        }
        answer
    }

    /// What must be tried again and nothing keeps from this worker, by the order.
    fn retries_for(&mut self, worker: WorkerId) -> Vec<Task> {
        let mut retries: Vec<Task> = self.twin.copies.keys().copied().collect();
        retries.retain(|&task| {
            let workers = match self.engine.why(self.now, task) {
                Some(Why::Eligible { workers, .. } | Why::Validates { workers, .. }) => workers,
                _ => Vec::new(),
            };
            workers.contains(&(worker, None)) && self.twin.is_retry(task)
        });
        retries
    }

    /// The first eligible task by the order that no volunteer has had.
    fn first_fresh(&self) -> Option<Task> {
        let mut tasks = self.dag.tasks().map(Task::from);
        tasks.find(|task| {
            let standing = self.engine.position().standing(*task);
            let copies = self.twin.copies.get(task).map_or(&[][..], Vec::as_slice);
            standing == Ok(Standing::Eligible) && volunteers(copies) == 0
        })
    }

    fn some_return(&mut self) {
        if self.granted.is_empty() {
            return;
        }
        let (mut from, task, token) = self.granted[self.random.below(self.granted.len())];
        let owner = self.workers[from.0 as usize];
        if self.engine.workers().is_gone(from.0 as usize) {
            // Nobody knows any more who that was: not to be taken for somebody who is trusted.
            let (outcome, digest) = (Outcome::Executed, Some(truth(task)));
            let back = Returned {
                task,
                token,
                outcome,
                digest,
            };
            let was = self.log.len();
            let receipt = self.tell(|engine, now, out| engine.take_back(now, from, &back, out));
            assert_eq!((receipt, self.log.len()), (Receipt::Unknown, was));
            assert!(!self.engine.would_take(from, task, token, outcome));
            return;
        }
        if self.random.below(20) == 0 {
            // A volunteer returns what was given to somebody else. Whoever is trusted is believed in this, too.
            let other = self.random.below(self.workers.len());
            if self.workers[other].is_some() && !self.engine.workers().is_gone(other) {
                from = WorkerId(other as u32);
            }
        }
        let outcome = match self.random.below(10) {
            0 => Outcome::GivenBack,
            1 => Outcome::Failed {
                exit: 1,
                cause: Cause::Exit,
            },
            _ => Outcome::Executed,
        };
        let lies = owner.is_some_and(|c| c.0 < LIARS);
        let digest = match lies {
            _ if self.whim == Some(task) => Digest([token.attempt.into(), token.epoch.into()]),
            true => Digest([task.0, 666]),
            false => truth(task),
        };
        let digest = (owner.is_some() || self.random.below(2) == 0).then_some(digest);
        if let Some(digest) = digest {
            self.digests.insert((task, token), digest);
        }
        let back = Returned {
            task,
            token,
            outcome,
            digest,
        };
        let foreseen = digest.and_then(|digest| self.engine.foresee(task, token, digest));
        let would = self.engine.would_take(from, task, token, outcome);
        let before = self.engine.position().standing(task).unwrap();
        let was = self.log.len();
        let copies = self.twin.copies.get(&task).into_iter().flatten();
        let is_back = |c: &Copy| c.token == token && matches!(c.ended, Ended::Returned(_));
        let was_back = copies.into_iter().any(is_back);
        let receipt = self.tell(|engine, now, out| engine.take_back(now, from, &back, out));
        let after = self.engine.position().standing(task).unwrap();
        if self.workers[from.0 as usize] != owner {
            assert!(
                !receipt.counts() && self.log.len() == was,
                "{receipt:?}: not its own"
            );
            return;
        }
        assert_ne!(receipt, Receipt::Unknown);
        if owner.is_some() && was_back {
            // Its receipt got lost: what it returned first waits on.
            assert_eq!(receipt, Receipt::Already);
        }
        if owner.is_none() || digest.is_some() {
            assert_eq!(receipt.counts(), would, "what was foreseen: {receipt:?}");
        }
        if outcome == Outcome::Executed && owner.is_some() && receipt.counts() {
            assert_eq!(after == Standing::Executed, foreseen.is_some());
        }
        if !receipt.counts() {
            assert_eq!(self.log.len(), was);
            assert_eq!(before, after);
        }
    }

    fn restart(&mut self) {
        let order: Vec<TaskId> = self.dag.tasks().collect();
        let (position, rules) = (Frozen::new(self.dag), self.rules.clone());
        self.engine = match self.random.below(2) {
            0 => {
                let snapshot = self.engine.snapshot();
                Engine::restore(position, rules, Order::of(&order), snapshot).unwrap()
            }
            _ => {
                let mut engine = Engine::new(position, rules, Order::of(&order));
                let entries = self.log.iter();
                entries.for_each(|entry| engine.replay(entry).unwrap());
                engine
            }
        };
        // By then the book has what this run taught as well: nothing of that counts twice.
        let learnt = self.engine.learnt();
        self.engine.remember(&Before::memory().then(&learnt));
        self.tell(|engine, now, out| engine.open(now, out));
    }

    fn step(&mut self) {
        self.now = self.now + Span(self.random.below(6) as u64 * SECOND);
        let known = self.workers.len().max(1);
        let worker = WorkerId(self.random.below(known) as u32);
        let task = Task(self.random.below(self.dag.len()) as u64);
        match self.random.below(40) {
            0..5 => {
                let client = self.random.below(CLIENTS as usize + 1) as u32;
                let client = (client < CLIENTS).then_some(client);
                let cpus = 1 + self.random.below(4) as u32;
                self.join(client, cpus);
            }
            5..15 => {
                let want = 1 + self.random.below(3);
                drop(self.ask(worker, want));
            }
            15..32 => self.some_return(),
            32 => self.tell(|engine, now, out| engine.wake(now, out)),
            33 => drop(self.tell(|engine, now, out| engine.leave(now, worker, out))),
            34 => drop(self.tell(|engine, now, out| engine.cancel(now, task, out))),
            35 => drop(self.tell(|engine, now, out| engine.revive(now, task, out))),
            36 => drop(self.tell(|engine, now, out| engine.reopen(now, task, out))),
            37 => {
                let held = self.engine.workers().get(worker.0 as usize);
                let mut holding = held.map_or(Vec::new(), |w| w.holds.clone());
                if self.random.below(3) == 0 {
                    holding.pop();
                }
                drop(self.tell(|engine, now, out| engine.heartbeat(now, worker, &holding, out)));
            }
            38 => {
                let copy = self.tell(|engine, now, out| engine.copy(now, worker, task, out));
                if let Ok(granted) = copy {
                    self.granted.push((worker, task, granted.token));
                }
            }
            _ => self.restart(),
        }
        self.check();
        let gone = self.twin.gone.len();
        let depended_on = self.twin.copies.values().flatten().count();
        let most = 2 * self.rules.gone + depended_on + self.dag.len() + 1;
        assert!(gone <= most, "{gone} are gone");
    }

    fn check(&self) {
        let order: Vec<TaskId> = self.dag.tasks().collect();
        let order = Order::of(&order);
        let (position, rules) = (Frozen::new(self.dag), self.rules.clone());
        let mut again = Engine::new(position, rules.clone(), order.clone());
        let entries = self.log.iter();
        entries.for_each(|entry| again.replay(entry).unwrap());
        let snapshot = self.engine.snapshot();
        assert_eq!(again.snapshot(), snapshot);
        let restored = Engine::restore(Frozen::new(self.dag), rules, order, snapshot.clone());
        let restored = restored.unwrap();
        assert_eq!(restored.snapshot(), snapshot);
        let trust = self.engine.trust();
        for (&client, counts) in &self.twin.counts {
            let record = trust.record(client).unwrap();
            let [errors, late, valid, invalid] = *counts;
            assert_eq!(
                [record.errors, record.late, record.valid, record.invalid],
                [errors, late, valid, invalid]
            );
            assert_eq!(record.row, self.twin.row.get(&client).copied().unwrap_or(0));
            assert!(record.quota >= 1 && record.quota <= record.cap);
            let restored = restored.trust().record(client).unwrap();
            assert_eq!(restored.live, record.live, "what it has is counted alike");
        }
        for client in (0..CLIENTS).map(ClientId) {
            let of = |w: &&cairn_engine::Worker| w.client() == Some(client);
            let holds = self
                .engine
                .workers()
                .iter()
                .filter(of)
                .map(|w| w.holds.len());
            let holds: usize = holds.sum();
            let live = trust.record(client).map_or(0, |r| r.live);
            assert_eq!(holds, live as usize);
        }
        for task in self.dag.tasks().map(Task::from) {
            let standing = self.engine.position().standing(task).unwrap();
            let copies = self.twin.copies.get(&task).map_or(&[][..], Vec::as_slice);
            let is_volunteers = copies.iter().any(|c| c.client.is_some());
            let has_result = copies.iter().any(|c| matches!(c.ended, Ended::Returned(_)));
            let has_live = copies.iter().any(|c| c.ended == Ended::Live);
            assert_eq!(self.engine.attempts(task).count() > 0, has_live);
            if standing == Standing::Leased {
                assert!(has_live || has_result);
            }
            if is_volunteers && has_result {
                let equal = self.twin.largest(task) as u32;
                match trust.agreement(task) {
                    Agreement::Waits { has, .. } => assert_eq!(has, equal),
                    // It is settled with the event that makes it so.
                    other => panic!("{other:?} of a task that is not settled"),
                }
            }
        }
        if self.rules.distrust.earned.is_none() && self.rules.distrust.agree() > LIARS {
            let is_right =
                |(&task, &made): (&Task, &Digest)| made == truth(task) || self.whim == Some(task);
            assert!(self.made.iter().all(is_right));
        }
    }

    /// Enough honest clients come, and nothing goes wrong any more: the run ends.
    fn finish(&mut self) {
        for client in LIARS..CLIENTS {
            self.join(Some(client + CLIENTS), 8);
        }
        let first = self.workers.len() - (CLIENTS - LIARS) as usize;
        for round in 0.. {
            if round == 2_000 {
                let last = WorkerId(self.workers.len() as u32 - 1);
                let refusal = self.ask(last, 1);
                let held: Vec<_> = self.engine.held().collect();
                panic!(
                    "{refusal:?} {held:?} {:#?} {:?}",
                    self.twin.copies, self.rules.distrust
                );
            }
            if self.engine.is_over() {
                break;
            }
            self.now = self.now + Span(SECOND);
            self.tell(|engine, now, out| engine.wake(now, out));
            for worker in (first..self.workers.len()).map(|w| WorkerId(w as u32)) {
                drop(self.ask(worker, 8));
                let holds = self.engine.workers()[worker.0 as usize].holds.clone();
                for (task, token) in holds {
                    self.digests.insert((task, token), truth(task));
                    let back = Returned {
                        task,
                        token,
                        outcome: Outcome::Executed,
                        digest: Some(truth(task)),
                    };
                    self.tell(|engine, now, out| engine.take_back(now, worker, &back, out));
                }
            }
        }
        self.check();
    }
}

#[test]
fn what_volunteers_return_counts_exactly_when_the_rules_say_so() {
    let (mut executed, mut disputed, mut forgotten, mut raised) = (0, 0, 0, 0);
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let dag = random_dag(2 + random.below(10), random.below(4), seed);
        let mut distrust = Distrust::of_quorum([2, 2, 3, 4][random.below(4)]);
        distrust.earned = [None, Some(1), Some(3)][random.below(3)];
        distrust.seed = seed;
        distrust.deadline = Span::seconds(20);
        distrust.identities = (1..=CLIENTS).map(|n| format!("id-{n}")).collect();
        let rules = Rules {
            kinds: vec!["k".into()],
            gone: 1 + random.below(4),
            retries: 1,
            losses: 2,
            distrust,
            ..Rules::default()
        };
        let mut play = Play::new(&dag, rules, seed);
        for _ in 0..100 {
            play.step();
        }
        play.finish();
        executed += play.made.len();
        raised += play.raised;
        let of = |entry: &&Entry| matches!(entry.event, Event::Disputed { .. });
        disputed += play.log.iter().filter(of).count();
        let of = |entry: &&Entry| matches!(entry.event, Event::Forgotten { .. });
        forgotten += play.log.iter().filter(of).count();
    }
    assert!(forgotten > 500, "{forgotten}");
    assert!(raised > 50, "hardly ever did the raise matter: {raised}");
    assert!(executed > 3_000 && disputed > 3, "{executed} {disputed}");
}
