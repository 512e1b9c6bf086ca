//! Server and workers in a simulation of time and network that loses, delays and repeats messages, parts workers from the
//! server, and crashes both: nothing executed is lost or counted twice, no attempt begins twice or before its parents are
//! executed, every run ends. In half of the runs idle workers get copies of what others have, in half of these by the rule for
//! unequal workers; in a third all workers are volunteers, one of them a liar, and nothing wrong ever counts. Some tasks have a limit
//! that most attempts exceed: workers end them when they are told to, without a word, and the limit grows until it suffices.
//!
//! `CAIRN_SEEDS=100000 cargo test -p cairn-engine --test faults` tries more.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Cause, ClassId, Client, ClientId, Copies, Digest, Dispatch, Distrust, Engine, Entry, Event,
    Exchanged, Expected, Frozen, Memory, Moment, Needs, Offer, Order, Outbox, Outcome, Placing,
    Receipt, Refusal, Release, Request, Returned, Rules, Snapshot, Span, Task, Token, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

const SECOND: u64 = 1_000_000;
/// From then on nothing goes wrong any more.
const PEACE: Moment = Moment(400 * SECOND);
/// By then the run must have ended.
const END: Moment = Moment(3_000 * SECOND);

#[derive(Clone, Debug)]
enum Ask {
    Request(Request),
    Heartbeat(WorkerId, Vec<(Task, Token)>),
    Leave(WorkerId),
}

#[derive(Clone, Debug)]
enum Answer {
    Joined(WorkerId),
    Exchanged(Exchanged),
    Alive(Result<Vec<(Task, Token)>, Refusal>, WorkerId),
    Left,
}

#[derive(Clone, Debug)]
enum Happening {
    /// A message of a worker reaches the server: who sent it in which life, its number, what it says.
    ToServer(usize, u32, u64, Ask),
    ToWorker(usize, u32, u64, Answer),
    /// An attempt ends.
    Ends(usize, u32, Task, Token),
    /// A worker looks around: sends, gives up waiting.
    Look(usize, u32),
    Beat(usize, u32),
    WorkerDies(usize),
    WorkerStarts(usize),
    ServerDies,
    ServerStarts,
    ServerWakes,
}

struct Host {
    client: Client,
    /// How often it was started.
    life: u32,
    is_up: bool,
    /// The message under way: its number, and until when to wait for an answer.
    waiting: Option<(u64, Moment)>,
    /// Until then no message passes between it and the server.
    parted_until: Moment,
    /// What survives a crash.
    spool: Vec<(Task, Token, Outcome)>,
    has_left: bool,
}

struct World<'d> {
    dag: &'d Dag,
    order: Order,
    rules: Rules,
    random: Random,
    now: Moment,
    agenda: BinaryHeap<Reverse<(Moment, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    next: u64,
    engine: Option<Engine<Frozen<'d>>>,
    /// When the server is woken next.
    alarm: Option<Moment>,
    /// What workers are to end, as long as the server lives.
    kills: BTreeSet<(WorkerId, Task, Token)>,
    /// What the disk has.
    log: Vec<Entry>,
    snapshot: Option<(usize, Snapshot)>,
    hosts: Vec<Host>,
    begun: BTreeSet<(Task, Token)>,
    done: BTreeSet<(Task, Token)>,
    executed: BTreeSet<Task>,
    /// Whether nobody vouches for anybody; the first one lies.
    volunteers: bool,
    /// Whether those without anything to do get copies.
    copies: bool,
    /// Whether tasks go by speeds, and copies as that rule says.
    aware: bool,
    /// What volunteers made.
    made: BTreeMap<(Task, Token), Digest>,
    /// What was taken of them.
    taken: BTreeSet<(Task, Token)>,
    /// Tasks that somebody was given while another had them, and copies that made room for something else.
    copied: usize,
    displaced: usize,
    /// How bad things are, in percent.
    trouble: usize,
}

impl<'d> World<'d> {
    fn new(dag: &'d Dag, seed: u64) -> World<'d> {
        let mut random = Random::new(seed);
        let mut order: Vec<TaskId> = dag.tasks().collect();
        random.shuffle(&mut order);
        let (volunteers, copies) = (seed.is_multiple_of(3), random.below(2) == 0);
        let aware = !volunteers && copies && random.below(2) == 0;
        let distrust = Distrust {
            max_errors: 10_000,
            max_successes: 10_000,
            max_total: 100_000,
            earned: None,
            deadline: Span::seconds(60),
            ..Distrust::of_quorum(2)
        };
        let rules = Rules {
            retries: 10_000,
            losses: 10_000,
            distrust,
            classes: [None, Some(Span::seconds(2))]
                .map(|limit| Needs {
                    limit,
                    ..Needs::default()
                })
                .to_vec(),
            class_of: dag.tasks().map(|_| ClassId::new(random.below(2))).collect(),
            copies: if aware { Copies::All } else { Copies::Never },
            ..Rules::default()
        };
        let least = if volunteers { 3 } else { 1 };
        let hosts = (0..least + random.below(4))
            .map(|_| Host {
                client: Client::new(1 + random.below(3)),
                life: 0,
                is_up: false,
                waiting: None,
                parted_until: Moment(0),
                spool: Vec::new(),
                has_left: false,
            })
            .collect();
        let trouble = [1, 5, 15, 30][random.below(4)];
        let mut world = World {
            dag,
            order: Order::of(&order),
            rules,
            random,
            now: Moment(0),
            agenda: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            next: 0,
            engine: None,
            alarm: None,
            kills: BTreeSet::new(),
            log: Vec::new(),
            snapshot: None,
            hosts,
            begun: BTreeSet::new(),
            done: BTreeSet::new(),
            executed: BTreeSet::new(),
            volunteers,
            copies,
            aware,
            made: BTreeMap::new(),
            taken: BTreeSet::new(),
            copied: 0,
            displaced: 0,
            trouble,
        };
        world.after(0, Happening::ServerStarts);
        for host in 0..world.hosts.len() {
            world.after(SECOND, Happening::WorkerStarts(host));
        }
        world
    }

    fn after(&mut self, micros: u64, what: Happening) {
        self.next += 1;
        self.happenings.insert(self.next, what);
        self.agenda
            .push(Reverse((self.now + Span(micros), self.next)));
    }

    fn bad(&mut self) -> bool {
        let trouble = self.trouble;
        self.now < PEACE && self.random.below(100) < trouble
    }

    /// A message goes on its way, or not, or twice.
    fn send(&mut self, host: usize, what: Happening) {
        let copies = match () {
            () if self.hosts[host].parted_until > self.now => 0,
            () if self.bad() => [0, 0, 2, 3][self.random.below(4)],
            () => 1,
        };
        for _ in 0..copies {
            let slow = match self.bad() {
                true => self.random.below(40) as u64 * SECOND,
                false => 0,
            };
            let delay = slow + 1 + self.random.below(200_000) as u64;
            self.after(delay, what.clone());
        }
    }

    fn run(&mut self) {
        while let Some(Reverse((at, number))) = self.agenda.pop() {
            assert!(at < END, "the run never ends");
            self.now = at;
            let what = self.happenings.remove(&number).unwrap();
            self.happen(what);
            let over = self.engine.as_ref().is_some_and(Engine::is_over);
            if over && self.hosts.iter().all(|h| !h.is_up || h.client.is_idle()) {
                break;
            }
        }
        assert_eq!(self.executed.len(), self.dag.len());
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::ServerStarts => self.start_server(),
            Happening::ServerDies => {
                self.engine = None;
                let down = (1 + self.random.below(60)) as u64 * SECOND;
                self.after(down, Happening::ServerStarts);
            }
            Happening::ServerWakes => {
                let now = self.now;
                self.alarm = None;
                self.serve(|engine, out| engine.wake(now, out));
            }
            Happening::ToServer(host, life, number, ask) => {
                if let Some(answer) = self.answer(host, ask) {
                    self.send(host, Happening::ToWorker(host, life, number, answer));
                }
            }
            Happening::WorkerStarts(host) => {
                let known = &mut self.hosts[host];
                known.life += 1;
                known.is_up = true;
                known.waiting = None;
                let slots = 1 + self.random.below(3);
                known.client = Client::new(slots);
                known.client.resume(known.spool.clone());
                let life = known.life;
                self.after(0, Happening::Look(host, life));
                self.after(5 * SECOND, Happening::Beat(host, life));
                if self.now < PEACE && self.random.below(3) == 0 {
                    let lives = (5 + self.random.below(200)) as u64 * SECOND;
                    self.after(lives, Happening::WorkerDies(host));
                }
            }
            Happening::WorkerDies(host) => {
                self.hosts[host].is_up = false;
                let down = (1 + self.random.below(60)) as u64 * SECOND;
                self.after(down, Happening::WorkerStarts(host));
            }
            Happening::Look(host, life) if self.lives(host, life) => self.look(host),
            Happening::Beat(host, life) if self.lives(host, life) => {
                if let Some((worker, holding)) = self.hosts[host].client.heartbeat() {
                    let ask = Ask::Heartbeat(worker, holding);
                    self.send(host, Happening::ToServer(host, life, 0, ask));
                }
                self.after(5 * SECOND, Happening::Beat(host, life));
            }
            Happening::Ends(host, life, task, token) if self.lives(host, life) => {
                let known = &mut self.hosts[host];
                if !known.client.running().contains(&(task, token)) {
                    return;
                }
                let outcome = match self.bad() {
                    true if self.random.below(2) == 0 => Outcome::GivenBack,
                    true => Outcome::Failed {
                        exit: 1,
                        cause: Cause::Exit,
                    },
                    false => Outcome::Executed,
                };
                if outcome == Outcome::Executed {
                    self.done.insert((task, token));
                    let lie = u64::from(self.volunteers && host == 0);
                    self.made.insert((task, token), Digest([task.0, lie]));
                }
                let known = &mut self.hosts[host];
                known.client.finished(task, token, outcome);
                known.spool = known.client.unacknowledged().to_vec();
            }
            Happening::ToWorker(host, life, number, answer) if self.lives(host, life) => {
                self.hear(host, number, answer);
            }
            _ => (),
        }
    }

    fn lives(&self, host: usize, life: u32) -> bool {
        self.hosts[host].is_up && self.hosts[host].life == life
    }

    // ---- The server --------------------------------------------------------------------------------------------------

    fn start_server(&mut self) {
        let position = Frozen::new(self.dag);
        let (rules, order) = (self.rules.clone(), self.order.clone());
        let (mut engine, from) = match self.snapshot.clone() {
            Some((from, snapshot)) if self.random.below(2) == 0 => {
                let engine = Engine::restore(position, rules, order, snapshot);
                (engine.unwrap(), from)
            }
            _ => (Engine::new(position, rules, order), 0),
        };
        if self.aware {
            engine.watch(Memory::default(), Placing::BySpeed, |memory| {
                let expected = Expected {
                    seconds: vec![Some(10.0); self.dag.len()],
                    ..Expected::default()
                };
                Dispatch::new(self.dag, &expected, memory, self.dag.tasks())
            });
        }
        (self.log[from..].iter()).for_each(|entry| engine.replay(entry).unwrap());
        self.engine = Some(engine);
        self.kills.clear();
        let now = self.now;
        self.serve(|engine, out| engine.open(now, out));
        if self.now < PEACE && self.random.below(2) == 0 {
            let lives = (5 + self.random.below(150)) as u64 * SECOND;
            self.after(lives, Happening::ServerDies);
        }
    }

    /// The server handles something and writes it down; `None` if it crashes before or after writing.
    fn serve<T>(
        &mut self,
        what: impl FnOnce(&mut Engine<Frozen<'d>>, &mut Outbox) -> T,
    ) -> Option<T> {
        let engine = self.engine.as_mut()?;
        let mut out = Outbox::default();
        let answer = what(engine, &mut out);
        self.kills.append(&mut out.kills.drain(..).collect());
        let is_start = matches!(out.entries.first(), Some(first) if matches!(first.event, Event::Opened { .. }));
        let crashes = !is_start && self.bad() && self.random.below(10) == 0;
        if crashes && self.random.below(2) == 0 {
            self.happen(Happening::ServerDies);
            return None;
        }
        for entry in out.entries {
            if let Event::Executed { task, token, .. } = entry.event {
                assert!(self.done.contains(&(task, token)), "somebody did it");
                let made = self.made[&(task, token)];
                assert_eq!(made, Digest([task.0, 0]), "no lie counts");
                assert!(self.executed.insert(task), "executed once");
                let parents = self.dag.parents(task.frozen().unwrap()).iter();
                assert!(parents.copied().all(|p| self.executed.contains(&p.into())));
            }
            if let Event::Leased { task, .. } = entry.event {
                let engine = self.engine.as_ref().unwrap();
                let live = engine.attempts(task).count();
                assert!(!self.aware || live <= 3, "{live} at one task");
                self.copied += usize::from(self.aware && live > 1);
            }
            if let Event::Released {
                task,
                why: Release::Redundant,
                ..
            } = entry.event
            {
                let engine = self.engine.as_ref().unwrap();
                let is_done = self.executed.contains(&task);
                assert!(is_done || engine.lease(task).is_some(), "somebody has it");
                self.displaced += 1;
            }
            if let Event::Returned { task, token, .. } = entry.event {
                self.taken.insert((task, token));
            }
            self.log.push(entry);
        }
        if crashes {
            self.happen(Happening::ServerDies);
            return None;
        }
        if self.random.below(50) == 0 {
            let engine = self.engine.as_ref().unwrap();
            self.snapshot = Some((self.log.len(), engine.snapshot()));
        }
        if let Some(wake) = self.engine.as_ref().unwrap().next_wake() {
            let wait = Span(wake.since(self.now).0.max(SECOND));
            // Old alarms ring in vain: that does no harm, as long as they are few.
            if self.alarm.is_none_or(|at| self.now + wait < at) {
                self.alarm = Some(self.now + wait);
                self.after(wait.0, Happening::ServerWakes);
            }
        }
        Some(answer)
    }

    fn answer(&mut self, host: usize, ask: Ask) -> Option<Answer> {
        let now = self.now;
        match ask {
            Ask::Request(Request::Join) => {
                let name = format!("host{host}");
                let offer = Offer {
                    client: self.volunteers.then_some(ClientId(host as u32)),
                    ..Offer::cpus(3)
                };
                self.serve(|engine, out| Answer::Joined(engine.join(now, &name, offer, out)))
            }
            Ask::Request(Request::Exchange {
                worker,
                returns,
                holding,
                want,
            }) => {
                let digest = |task, token| self.made.get(&(task, token)).copied();
                let back = |&(task, token, outcome): &(Task, Token, Outcome)| Returned {
                    task,
                    token,
                    outcome,
                    digest: digest(task, token),
                };
                let returns: Vec<Returned> = returns.iter().map(back).collect();
                let copies = self.copies && !self.aware;
                self.serve(|engine, out| {
                    let each = |back: &Returned| engine.take_back(now, worker, back, out);
                    let receipts: Vec<Receipt> = returns.iter().map(each).collect();
                    let holding = holding.as_deref();
                    let mut answer = engine.exchange(now, worker, &[], holding, want, out);
                    answer.receipts = receipts;
                    if copies && want > 0 && answer.granted.is_empty() {
                        let held = engine.held().map(|(_, task, _)| task).min();
                        let copy = held.and_then(|task| engine.copy(now, worker, task, out).ok());
                        answer.granted.extend(copy);
                    }
                    Answer::Exchanged(answer)
                })
            }
            Ask::Heartbeat(worker, holding) => {
                let alive =
                    self.serve(|engine, out| engine.heartbeat(now, worker, &holding, out))?;
                let is_killed = |&&(task, token): &&(Task, Token)| {
                    let mine = (worker, task, token);
                    self.kills.contains(&mine)
                };
                let killed = holding.iter().filter(is_killed).copied();
                let alive = alive.map(|stale| stale.into_iter().chain(killed).collect());
                Some(Answer::Alive(alive, worker))
            }
            Ask::Leave(worker) => self.serve(|engine, out| {
                engine.leave(now, worker, out).ok();
                Answer::Left
            }),
        }
    }

    // ---- A worker ----------------------------------------------------------------------------------------------------

    fn look(&mut self, host: usize) {
        let now = self.now;
        if self.bad() && self.random.below(20) == 0 {
            let parted = now + Span::seconds(self.random.below(60) as u64);
            self.hosts[host].parted_until = parted;
        }
        if self.now < PEACE && self.random.below(400) == 0 {
            // It leaves politely and comes back as another.
            self.hosts[host].client.drain();
            self.hosts[host].has_left = true;
        }
        let known = &mut self.hosts[host];
        if known.waiting.is_some_and(|(_, until)| until <= now) {
            known.waiting = None;
            known.client.unanswered();
        }
        let life = known.life;
        if known.has_left && known.client.is_idle() && known.waiting.is_none() {
            known.has_left = false;
            if let Some(worker) = known.client.worker() {
                self.send(host, Happening::ToServer(host, life, 0, Ask::Leave(worker)));
            }
            return self.happen(Happening::WorkerDies(host));
        }
        if known.waiting.is_none()
            && let Some(request) = known.client.request()
        {
            self.next += 1;
            let number = self.next;
            known.waiting = Some((number, now + Span::seconds(10)));
            let ask = Ask::Request(request);
            self.send(host, Happening::ToServer(host, life, number, ask));
        }
        self.after(SECOND / 2, Happening::Look(host, life));
    }

    fn hear(&mut self, host: usize, number: u64, answer: Answer) {
        let known = &mut self.hosts[host];
        let is_awaited = known.waiting.is_some_and(|(awaited, _)| awaited == number);
        match answer {
            Answer::Left => (),
            Answer::Alive(Ok(stale), _) => drop(known.client.stop(&stale)),
            Answer::Alive(Err(_), worker) => known.client.forgotten(worker),
            _ if !is_awaited => (),
            Answer::Joined(worker) => {
                known.waiting = None;
                known.client.joined(worker);
            }
            Answer::Exchanged(exchanged) => {
                known.waiting = None;
                let sent = known.client.unacknowledged().to_vec();
                for (&(task, token, outcome), receipt) in sent.iter().zip(&exchanged.receipts) {
                    assert_ne!(*receipt, Receipt::Unknown, "it was given once");
                    if outcome == Outcome::Executed && receipt.counts() {
                        let is_taken = self.taken.contains(&(task, token));
                        assert!(
                            self.executed.contains(&task) || (self.volunteers && is_taken),
                            "a receipt is kept: {token:?}"
                        );
                    }
                }
                let begin = known.client.answered(&exchanged);
                known.spool = known.client.unacknowledged().to_vec();
                let life = known.life;
                for granted in begin {
                    let (task, token) = (granted.task, granted.token);
                    assert!(self.begun.insert((task, token)), "an attempt begins once");
                    let parents = self.dag.parents(task.frozen().unwrap()).iter();
                    assert!(parents.copied().all(|p| self.executed.contains(&p.into())));
                    let takes = (1 + self.random.below(30)) as u64 * SECOND;
                    self.after(takes, Happening::Ends(host, life, task, token));
                }
            }
        }
    }
}

#[test]
fn whatever_is_lost_on_the_way_every_run_ends_well() {
    let seeds = std::env::var("CAIRN_SEEDS")
        .ok()
        .and_then(|n| n.parse().ok());
    let (mut copied, mut displaced) = (0, 0);
    for seed in 0..seeds.unwrap_or(3_000) {
        let mut random = Random::new(seed);
        let dag = random_dag(2 + random.below(18), random.below(4), seed);
        let ran = std::panic::catch_unwind(|| {
            let mut world = World::new(&dag, seed);
            world.run();
            (world.copied, world.displaced)
        });
        let Ok(ran) = ran else {
            panic!("seed {seed}");
        };
        (copied, displaced) = (copied + ran.0, displaced + ran.1);
    }
    assert!(copied > 100 && displaced > 10, "{copied} {displaced}");
}
