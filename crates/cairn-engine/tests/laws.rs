//! Laws of the engine under random play: joins, losses, returns true and false, cancellations, restarts.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Batched, Cause, ClassId, Copies, Engine, Entry, Event, Frozen, Granted, Moment, Needs, Offer,
    Order, Outbox, Outcome, PoolId, Position, Receipt, Refusal, Returned, Rules, Span, Task, Token,
    WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::Standing;
use std::collections::{BTreeMap, BTreeSet};

/// A run with all that was ever told of it.
struct Play<'d> {
    dag: &'d Dag,
    rules: Rules,
    order: Order,
    engine: Engine<Frozen<'d>>,
    log: Vec<Entry>,
    now: Moment,
    /// Every attempt ever granted, to whom.
    granted: BTreeMap<(Task, Token), WorkerId>,
    /// Bytes that each was given: what a task needs may have grown since.
    memory: BTreeMap<(Task, Token), u64>,
    random: Random,
    workers: usize,
    copies: usize,
    /// Results that counted though somebody had begun anew.
    overtook: usize,
}

impl<'d> Play<'d> {
    fn new(dag: &'d Dag, rules: Rules, seed: u64) -> Play<'d> {
        let mut random = Random::new(seed);
        let order = random_order(dag, &mut random);
        let mut engine = Engine::new(Frozen::new(dag), rules.clone(), order.clone());
        let mut out = Outbox::default();
        engine.open(Moment(0), &mut out);
        Play {
            dag,
            rules,
            order,
            engine,
            log: out.entries,
            now: Moment(0),
            granted: BTreeMap::new(),
            memory: BTreeMap::new(),
            random,
            workers: 0,
            copies: 0,
            overtook: 0,
        }
    }

    fn tell<T>(
        &mut self,
        what: impl FnOnce(&mut Engine<Frozen<'d>>, Moment, &mut Outbox) -> T,
    ) -> T {
        let mut out = Outbox::default();
        let answer = what(&mut self.engine, self.now, &mut out);
        for &task in &out.aborted {
            assert_eq!(self.engine.position().standing(task), Ok(Standing::Aborted));
        }
        for &(worker, task, token) in &out.kills {
            assert_eq!(self.granted[&(task, token)], worker);
        }
        self.log.extend(out.entries);
        answer
    }

    fn some_task(&mut self) -> Task {
        Task(self.random.below(self.dag.len()) as u64)
    }

    fn some_worker(&mut self) -> WorkerId {
        WorkerId(self.random.below(self.workers + 1) as u32)
    }

    fn join(&mut self, offer: Offer) -> WorkerId {
        let name = format!("w{}", self.random.below(5));
        self.workers += 1;
        self.tell(|engine, now, out| engine.join(now, &name, offer, out))
    }

    fn ask(&mut self, worker: WorkerId, want: usize) -> Result<Vec<Granted>, Refusal> {
        let eligible: Vec<Task> = eligible(&self.engine);
        let answer = self.tell(|engine, now, out| engine.ask(now, worker, want, out));
        for granted in answer.iter().flatten() {
            let (task, token) = (granted.task, granted.token);
            self.memory.insert((task, token), granted.memory);
            assert!(
                self.granted.insert((task, token), worker).is_none(),
                "an attempt comes once"
            );
            let id = task.frozen().unwrap();
            for &parent in self.dag.parents(id) {
                let standing = self.engine.position().standing(parent.into());
                assert_eq!(standing, Ok(Standing::Executed), "parents first");
            }
        }
        if self.rules.classes.len() == 1 && self.rules.pools.is_empty() {
            // With equal needs the order alone decides.
            let mut wanted = eligible;
            wanted.sort_unstable_by_key(|&task| self.engine.order().rank(task));
            let got: Vec<Task> = answer.iter().flatten().map(|g| g.task).collect();
            assert_eq!(got[..], wanted[..got.len()]);
            if answer == Err(Refusal::NothingEligible) {
                assert!(wanted.is_empty());
            }
        }
        answer
    }

    /// A copy of something that others have, for the first that can have it.
    fn copy(&mut self) {
        let here = self.engine.workers().numbered();
        let here = here.filter(|(_, w)| w.is_here);
        let mut here: Vec<u32> = here.map(|(n, _)| n as u32).collect();
        self.random.shuffle(&mut here);
        let held = self.engine.held().map(|(_, task, _)| task).min();
        let Some(task) = held else { return };
        for worker in here.into_iter().map(WorkerId) {
            let had = self.engine.attempts(task).any(|(w, ..)| w == worker);
            let copy = self.tell(|engine, now, out| engine.copy(now, worker, task, out));
            if let Ok(Granted { token, memory, .. }) = copy {
                self.memory.insert((task, token), memory);
                assert!(!had, "nobody has it twice");
                assert_eq!(self.engine.attempts(task).last().unwrap().1, token);
                let before = self.granted.insert((task, token), worker);
                assert!(before.is_none(), "an attempt comes once");
                self.copies += 1;
                return;
            }
        }
    }

    fn restart(&mut self) {
        let order = self.order.clone();
        let position = Frozen::new(self.dag);
        let snapshot = self.engine.snapshot();
        self.engine = match self.random.below(2) {
            0 => Engine::restore(position, self.rules.clone(), order, snapshot).unwrap(),
            _ => {
                let mut engine = Engine::new(position, self.rules.clone(), order);
                self.log
                    .iter()
                    .for_each(|entry| engine.replay(entry).unwrap());
                engine
            }
        };
        self.tell(|engine, now, out| engine.open(now, out));
    }

    fn step(&mut self) {
        self.now = self.now + Span::seconds(self.random.below(7) as u64);
        let (task, worker) = (self.some_task(), self.some_worker());
        match self.random.below(26) {
            0 | 1 => {
                let mut offer = Offer::cpus(1 + self.random.below(4) as u32);
                offer.memory = [None, Some(8)][self.random.below(2)];
                self.join(offer);
            }
            2 => drop(self.tell(|engine, now, out| engine.leave(now, worker, out))),
            3..9 => {
                let want = 1 + self.random.below(4);
                drop(self.ask(worker, want));
            }
            9..17 => self.some_return(),
            17 => {
                let known = self.engine.workers().get(worker.0 as usize);
                let mut holding = known.map_or(Vec::new(), |w| w.holds.clone());
                if self.random.below(3) == 0 {
                    holding.pop();
                }
                let unheard = self.engine.unheard(worker, &holding);
                assert!(unheard.len() <= 1);
                drop(self.tell(|engine, now, out| engine.heartbeat(now, worker, &holding, out)));
            }
            18 => self.tell(|engine, now, out| engine.wake(now, out)),
            19 => drop(self.tell(|engine, now, out| engine.cancel(now, task, out))),
            20 => drop(self.tell(|engine, now, out| engine.revive(now, task, out))),
            21 => drop(self.tell(|engine, now, out| engine.reopen(now, task, out))),
            22 => match self.random.below(4) {
                0 => self.tell(|engine, now, out| engine.pause(now, out)),
                1 => {
                    self.order = random_order(self.dag, &mut self.random);
                    let order = self.order.clone();
                    self.tell(|engine, now, out| engine.reorder(now, 7, order, out));
                }
                _ => self.tell(|engine, now, out| engine.unpause(now, out)),
            },
            24 | 25 => self.copy(),
            _ => self.restart(),
        }
        self.check();
    }

    /// A return: of what is held, of what is no longer held, or of what never was.
    fn some_return(&mut self) {
        let outcome = match self.random.below(8) {
            0 => Outcome::GivenBack,
            1 => Outcome::Failed {
                exit: 1 + self.random.below(2) as i32,
                cause: [Cause::Exit, Cause::Memory, Cause::Time][self.random.below(3)],
            },
            _ => Outcome::Executed,
        };
        let known: Vec<(Task, Token)> = self.granted.keys().copied().collect();
        if known.is_empty() || self.random.below(10) == 0 {
            let (epoch, attempt) = (self.engine.epoch() + 1, 1);
            let (task, token) = (self.some_task(), Token { epoch, attempt });
            let before = self.log.len();
            let receipt =
                self.tell(|engine, now, out| engine.give_back(now, task, token, outcome, out));
            assert_ne!(receipt, Receipt::Accepted, "nobody was given that");
            assert_ne!(receipt, Receipt::AcceptedLate, "nobody was given that");
            assert_eq!(self.log.len(), before);
            return;
        }
        let mut held: Vec<_> = self
            .engine
            .held()
            .map(|(_, task, token)| (task, token))
            .collect();
        // The engine's table has an order of its own in every process; a play is the same every time.
        held.sort_unstable();
        let (task, token) = match held.is_empty() || self.random.below(3) == 0 {
            true => known[self.random.below(known.len())],
            false => held[self.random.below(held.len())],
        };
        let was_held = held.contains(&(task, token));
        let before = self.engine.position().standing(task).unwrap();
        let others: Vec<Token> = self.engine.attempts(task).map(|(_, t, _)| t).collect();
        let mut told = Vec::new();
        let receipt = self.tell(|engine, now, out| {
            let receipt = engine.give_back(now, task, token, outcome, out);
            told.extend(out.kills.iter().map(|kill| kill.2));
            receipt
        });
        if receipt.counts() && outcome == Outcome::Executed {
            let others: Vec<Token> = others.into_iter().filter(|t| *t != token).collect();
            assert_eq!(told, others, "whoever else is at it hears, once");
        }
        let after = self.engine.position().standing(task).unwrap();
        match receipt {
            Receipt::Accepted => assert!(was_held),
            Receipt::AcceptedLate => {
                let may_be_two = self.rules.copies == Copies::All && before == Standing::Leased;
                assert!(before == Standing::Eligible || may_be_two);
                assert_eq!(after, Standing::Executed);
                self.overtook += usize::from(may_be_two);
            }
            Receipt::Already => {
                assert_eq!((before, after), (Standing::Executed, Standing::Executed))
            }
            Receipt::Superseded => assert!(!was_held && before == after),
            Receipt::Unknown => panic!("it was granted once"),
        }
    }

    fn check(&self) {
        // Events alone rebuild the state, and so does a snapshot.
        let mut again = Engine::new(
            Frozen::new(self.dag),
            self.rules.clone(),
            self.order.clone(),
        );
        let mut executed = BTreeSet::new();
        for entry in &self.log {
            again.replay(entry).unwrap();
            match entry.event {
                Event::Executed { task, .. } => {
                    let parents = self.dag.parents(task.frozen().unwrap()).iter();
                    assert!(parents.copied().all(|p| executed.contains(&Task::from(p))));
                    assert!(executed.insert(task), "executed once");
                }
                Event::Reopened { task } => assert!(executed.remove(&task)),
                _ => (),
            }
        }
        let snapshot = self.engine.snapshot();
        assert_eq!(again.snapshot(), snapshot);
        let restored = Engine::restore(
            Frozen::new(self.dag),
            self.rules.clone(),
            self.order.clone(),
            snapshot.clone(),
        );
        assert_eq!(restored.unwrap().snapshot(), snapshot);
        // Nobody has more than there is.
        let mut pools = vec![0; self.rules.pools.len()];
        for worker in self.engine.workers() {
            let (mut cpus, mut memory) = (0, 0);
            for &(task, token) in &worker.holds {
                assert!(worker.is_here, "who is gone has nothing");
                let standing = self.engine.position().standing(task);
                assert_eq!(standing, Ok(Standing::Leased));
                assert!(self.engine.attempts(task).any(|(_, t, _)| t == token));
                let needs = self.engine.needs(task);
                cpus += worker.offer.cpus_for(&needs);
                memory += self.memory[&(task, token)];
                needs
                    .pools
                    .iter()
                    .for_each(|&(pool, n)| pools[pool.0 as usize] += n);
            }
            assert!(cpus <= worker.offer.cpus);
            assert!(worker.offer.memory.is_none_or(|all| memory <= all));
        }
        assert!(
            pools
                .iter()
                .zip(&self.rules.pools)
                .all(|(busy, all)| busy <= all)
        );
        let leased = self.engine.position().count(Standing::Leased);
        let held: BTreeSet<Task> = self.engine.held().map(|(_, task, _)| task).collect();
        assert_eq!(leased, Some(held.len() as u64));
        let mut each: Vec<_> = self.engine.held().map(|(w, task, _)| (task, w)).collect();
        each.sort_unstable();
        assert!(
            each.is_sorted_by(|a, b| a < b),
            "no worker has a task twice"
        );
    }

    /// A worker that can do everything comes, and nothing goes wrong any more: the run ends.
    fn finish(&mut self) {
        self.tell(|engine, now, out| engine.unpause(now, out));
        let worker = self.join(Offer::cpus(64));
        let mut rounds = 0;
        while !self.engine.is_over() {
            rounds += 1;
            assert!(rounds < 10_000, "a run ends");
            self.now = self.now + Span::seconds(1);
            self.tell(|engine, now, out| engine.wake(now, out));
            drop(self.ask(worker, 3));
            let known = &self.engine.workers()[worker.0 as usize];
            for (task, token) in known.holds.clone() {
                self.tell(|engine, now, out| {
                    engine.give_back(now, task, token, Outcome::Executed, out)
                });
            }
        }
        self.check();
        for task in self.dag.tasks() {
            let standing = self.engine.position().standing(task.into()).unwrap();
            assert!(standing == Standing::Executed || standing.is_given_up());
        }
    }
}

fn eligible<P: Position>(engine: &Engine<P>) -> Vec<Task> {
    let mut eligible = Vec::new();
    engine.position().eligible(&mut |task| eligible.push(task));
    eligible
}

fn random_order(dag: &Dag, random: &mut Random) -> Order {
    let mut order: Vec<TaskId> = dag.tasks().collect();
    random.shuffle(&mut order);
    Order::of(&order)
}

fn needs(cpus: u32, memory: u64, pool: u32, limit: Option<u64>) -> Needs {
    Needs {
        cpus,
        memory,
        pools: match pool {
            0 => Vec::new(),
            n => vec![(PoolId(0), n)],
        },
        limit: limit.map(Span::seconds),
        ..Needs::default()
    }
}

#[test]
fn random_play_keeps_the_laws() {
    let (mut copies, mut overtook) = (0, 0);
    for seed in 0..4_000 {
        let mut random = Random::new(seed);
        let dag = random_dag(2 + random.below(12), random.below(4), seed);
        let mut rules = Rules {
            retries: random.below(3) as u32,
            losses: random.below(3) as u32,
            gone: seed as usize % 4,
            copies: [Copies::Never, Copies::All][seed as usize / 4 % 2].clone(),
            ..Rules::default()
        };
        if random.below(2) == 0 {
            rules.classes = vec![
                needs(1, 0, 0, None),
                needs(3, 2, 0, Some(5)),
                needs(1, 8, 1, None),
                needs(9, 1, 2, Some(20)),
            ];
            rules.pools = vec![2];
            rules.class_of = dag.tasks().map(|_| ClassId::new(random.below(4))).collect();
        }
        let mut play = Play::new(&dag, rules, seed);
        for _ in 0..80 {
            play.step();
        }
        play.finish();
        copies += play.copies;
        overtook += play.overtook;
    }
    assert!(copies > 500, "{copies} copies");
    assert!(overtook > 10, "{overtook} late results before the others'");
}

/// Small tasks keep coming, yet the wide one starts: room is kept for it.
#[test]
fn a_wide_task_is_not_starved() {
    let dag = Dag::from_arcs(200, vec![]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    for (wide, offer) in [
        (needs(4, 0, 0, None), Offer::cpus(4)),
        (needs(1, 0, 3, None), Offer::cpus(4)),
    ] {
        let small = Needs {
            pools: wide.pools.iter().map(|&(pool, _)| (pool, 1)).collect(),
            ..needs(1, 0, 0, None)
        };
        let rules = Rules {
            classes: vec![small, wide],
            class_of: (0..200)
                .map(|t| ClassId::new(usize::from(t == 3)))
                .collect(),
            pools: vec![3],
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules, Order::of(&order));
        let mut out = Outbox::default();
        let now = Moment(0);
        engine.open(now, &mut out);
        let worker = engine.join(now, "w", offer, &mut out);
        drop(engine.ask(now, worker, 3, &mut out));
        // One task ends at a time, so that the wide one never finds enough room by chance.
        for ended in 0.. {
            assert!(ended < 40, "the wide task starts");
            if engine.lease(Task(3)).is_some() {
                break;
            }
            let (task, token) = engine.workers()[0].holds[0];
            engine.give_back(now, task, token, Outcome::Executed, &mut out);
            drop(engine.ask(now, worker, 4, &mut out));
        }
    }
}

#[test]
fn limits_grow_after_a_failure_for_want_of_memory_or_time() {
    let dag = Dag::from_arcs(1, vec![]).unwrap();
    let rules = Rules {
        classes: vec![needs(1, 3, 0, Some(10))],
        retries: 9,
        ..Rules::default()
    };
    let order = Order::of(&[TaskId(0)]);
    let mut engine = Engine::new(Frozen::new(&dag), rules, order);
    let mut out = Outbox::default();
    engine.open(Moment(0), &mut out);
    let mut offer = Offer::cpus(1);
    offer.memory = Some(10);
    let worker = engine.join(Moment(0), "w", offer, &mut out);
    let mut seen = Vec::new();
    for cause in [
        Cause::Memory,
        Cause::Time,
        Cause::Memory,
        Cause::Exit,
        Cause::Memory,
    ] {
        let granted = engine.ask(Moment(0), worker, 1, &mut out).unwrap()[0];
        seen.push((granted.memory, granted.limit.unwrap().0 / 1_000_000));
        let outcome = Outcome::Failed { exit: 1, cause };
        engine.give_back(Moment(0), granted.task, granted.token, outcome, &mut out);
    }
    // No more memory than any worker has.
    assert_eq!(seen, [(3, 10), (6, 10), (6, 20), (10, 20), (10, 20)]);
}

/// Copies of a task that all run out of time tell together what one tells: the task has its larger limit before it is given up.
#[test]
fn copies_that_run_into_one_limit_cost_one_try() {
    for cause in [Cause::Time, Cause::Memory] {
        let dag = Dag::from_arcs(1, vec![]).unwrap();
        let rules = Rules {
            classes: vec![needs(1, 3, 0, Some(10))],
            retries: 1,
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules, Order::AsNumbered);
        let (mut out, now, task) = (Outbox::default(), Moment(0), Task(0));
        engine.open(now, &mut out);
        let workers: Vec<WorkerId> = (0..3)
            .map(|n| engine.join(now, &format!("w{n}"), Offer::cpus(1), &mut out))
            .collect();
        for times in [1, 2] {
            let mut given = engine.ask(now, workers[0], 1, &mut out).unwrap();
            given.extend(
                workers[1..]
                    .iter()
                    .map(|&w| engine.copy(now, w, task, &mut out).unwrap()),
            );
            let outcome = Outcome::Failed { exit: 1, cause };
            for granted in &given {
                let (memory, limit) = match cause {
                    Cause::Time => (3, 10 * times),
                    _ => (3 * times, 10),
                };
                assert_eq!(
                    (granted.memory, granted.limit),
                    (memory, Some(Span::seconds(limit)))
                );
                let standing = engine.position().standing(task);
                assert_eq!(standing, Ok(Standing::Leased));
                engine.give_back(now, task, granted.token, outcome, &mut out);
            }
            let after = engine.position().standing(task);
            let expected = [Standing::Eligible, Standing::Failed][times as usize - 1];
            assert_eq!(after, Ok(expected), "{cause:?}, {times}");
        }
    }
}

/// The same against its definition, which remembers of every attempt what it was given and when: each limit grows once for all who
/// had it, and a failure for want of it costs a try only if its attempt was given out after the last one that cost one.
#[test]
fn limits_and_tries_are_those_of_generations() {
    let mut given_up = 0;
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let dag = Dag::from_arcs(1, vec![]).unwrap();
        let rules = Rules {
            classes: vec![needs(1, 4, 0, Some(4))],
            retries: random.below(5) as u32,
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules.clone(), Order::AsNumbered);
        let (mut out, now, task) = (Outbox::default(), Moment(0), Task(0));
        engine.open(now, &mut out);
        for n in 0..4 {
            engine.join(now, &format!("w{n}"), Offer::cpus(1), &mut out);
        }
        let (mut limit, mut memory) = (Span::seconds(4), 4);
        // Each with the step at which it was given.
        let mut live: Vec<(Granted, u32)> = Vec::new();
        let (mut failures, mut counted) = (0, 0);
        for step in 1.. {
            let worker = WorkerId(random.below(4) as u32);
            if random.below(2) == 0 {
                let granted = match live.is_empty() {
                    true => engine.ask(now, worker, 1, &mut out).map(|all| all[0]),
                    false => engine.copy(now, worker, task, &mut out),
                };
                if let Ok(granted) = granted {
                    assert_eq!(
                        (granted.limit, granted.memory),
                        (Some(limit), memory),
                        "seed {seed}"
                    );
                    live.push((granted, step));
                }
            } else if !live.is_empty() {
                let (granted, since) = live.remove(random.below(live.len()));
                let cause = [Cause::Exit, Cause::Time, Cause::Memory][random.below(3)];
                let costs = match cause {
                    Cause::Exit => true,
                    _ => since > counted,
                };
                if cause == Cause::Time && granted.limit == Some(limit) {
                    limit = Span(2 * limit.0);
                }
                if cause == Cause::Memory && granted.memory == memory {
                    memory *= 2;
                }
                if costs {
                    failures += 1;
                    counted = if cause == Cause::Exit { counted } else { step };
                }
                let outcome = Outcome::Failed { exit: 1, cause };
                engine.give_back(now, task, granted.token, outcome, &mut out);
                let is_over = live.is_empty() && failures > rules.retries;
                assert_eq!(engine.is_over(), is_over, "seed {seed}");
                if is_over {
                    given_up += 1;
                    break;
                }
            }
            if random.below(12) == 0 {
                let snapshot = serde_json::to_string(&engine.snapshot()).unwrap();
                let snapshot = serde_json::from_str(&snapshot).unwrap();
                let position = Frozen::new(&dag);
                engine =
                    Engine::restore(position, rules.clone(), Order::AsNumbered, snapshot).unwrap();
                engine.open(now, &mut out);
            }
        }
    }
    assert_eq!(given_up, 3_000, "tries are used up");
}

/// Failures and losses have budgets of their own, and a task that keeps killing workers is given up.
#[test]
fn a_task_that_kills_workers_is_given_up() {
    let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let order = Order::of(&[TaskId(0), TaskId(1)]);
    let mut engine = Engine::new(Frozen::new(&dag), Rules::default(), order);
    let (mut out, mut now) = (Outbox::default(), Moment(0));
    engine.open(now, &mut out);
    for lost in 0..6 {
        let standing = engine.position().standing(Task(0));
        assert_eq!(standing, Ok(Standing::Eligible), "after {lost} losses");
        let worker = engine.join(now, &format!("w{lost}"), Offer::cpus(1), &mut out);
        engine.ask(now, worker, 1, &mut out).unwrap();
        now = engine.next_wake().unwrap();
        engine.wake(now, &mut out);
        assert!(engine.workers()[lost].was_lost);
    }
    assert_eq!(engine.position().standing(Task(0)), Ok(Standing::Failed));
    assert_eq!(out.aborted, [Task(1)]);
    assert!(engine.is_over());
    engine.revive(now, Task(0), &mut out).unwrap();
    assert!(!engine.is_over());
}

#[test]
fn a_task_can_end_the_whole_run() {
    let dag = Dag::from_arcs(3, vec![]).unwrap();
    let mut rules = Rules {
        retries: 3,
        ..Rules::default()
    };
    rules.halt_on.insert(Task(0), (9, 4));
    rules.never_retry_on.insert(Task(1), 7);
    let order: Vec<TaskId> = dag.tasks().collect();
    let mut engine = Engine::new(Frozen::new(&dag), rules, Order::of(&order));
    let mut out = Outbox::default();
    let now = Moment(0);
    engine.open(now, &mut out);
    let worker = engine.join(now, "w", Offer::cpus(3), &mut out);
    let granted = engine.ask(now, worker, 3, &mut out).unwrap();
    let failed = |exit| Outcome::Failed {
        exit,
        cause: Cause::Exit,
    };
    engine.give_back(now, Task(1), granted[1].token, failed(7), &mut out);
    assert_eq!(engine.position().standing(Task(1)), Ok(Standing::Failed));
    engine.give_back(now, Task(0), granted[0].token, failed(9), &mut out);
    assert_eq!(engine.halted(), Some(4));
    assert_eq!(out.kills, [(worker, Task(2), granted[2].token)]);
    assert_eq!(engine.ask(now, worker, 1, &mut out), Err(Refusal::Halted));
    engine.give_back(now, Task(2), granted[2].token, Outcome::GivenBack, &mut out);
    assert!(engine.is_over());
}

/// Tasks asked for at once, by one worker or by two, are those that make most others eligible together, by brute force.
#[test]
fn requests_for_several_tasks_get_the_best_batch() {
    use cairn_plan::batch::BatchEffort;
    let mut better = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let dag: &'static Dag = Box::leak(Box::new(random_dag(
            4 + random.below(9),
            random.below(4),
            seed,
        )));
        let order = dag.topological_order();
        let position = Batched::new(dag, Some(BatchEffort::default()));
        let mut engine = Engine::new(position, Rules::default(), Order::of(order));
        let (mut out, now) = (Outbox::default(), Moment(0));
        engine.open(now, &mut out);
        let worker = engine.join(now, "w", Offer::cpus(3), &mut out);
        let other = engine.join(now, "v", Offer::cpus(2), &mut out);
        while !engine.is_over() {
            let open = eligible(&engine);
            let settled: u32 = (dag.tasks())
                .filter(|&t| {
                    let standing = engine.position().standing(t.into()).unwrap();
                    matches!(standing, Standing::Leased | Standing::Executed)
                })
                .map(|t| 1 << t.0)
                .sum();
            let wants = [1 + random.below(3), random.below(3)];
            let held = |n: usize| engine.workers()[n].holds.len();
            let room = wants[0].min(3 - held(0)) + wants[1].min(2 - held(1));
            let asked = [(worker, wants[0]), (other, wants[1])];
            let answers = engine.ask_together(now, &asked, &mut out);
            for (answer, want) in answers.iter().zip(wants) {
                assert!(answer.as_ref().is_ok_and(|g| g.len() <= want) || answer.is_err());
            }
            let granted: Vec<Granted> = answers.into_iter().flatten().flatten().collect();
            let gain = |batch: u32| {
                cairn_oracle::eligible(dag, settled | batch).len() + batch.count_ones() as usize
            };
            let bit = |task: &Task| 1u32 << task.0;
            if granted.len() > 1 {
                assert_eq!(granted.len(), room.min(open.len()));
                let got: u32 = granted.iter().map(|g| bit(&g.task)).sum();
                let subsets =
                    (0u32..1 << open.len()).filter(|s| s.count_ones() as usize == granted.len());
                let batch = |s: u32| {
                    (0..open.len())
                        .filter(|i| s >> i & 1 == 1)
                        .map(|i| bit(&open[i]))
                        .sum()
                };
                let best = subsets.map(|s| gain(batch(s))).max().unwrap();
                assert_eq!(gain(got), best);
                let mut by_rank = open.clone();
                by_rank.sort_unstable_by_key(|&task| engine.order().rank(task));
                let ranked: u32 = by_rank[..granted.len()].iter().map(bit).sum();
                better += usize::from(gain(ranked) < best);
            }
            let held: Vec<_> = (engine.workers().iter())
                .flat_map(|w| w.holds.clone())
                .collect();
            let Some(&(task, token)) = held.get(random.below(held.len().max(1))) else {
                continue;
            };
            let outcome = match random.below(5) {
                0 => Outcome::GivenBack,
                _ => Outcome::Executed,
            };
            engine.give_back(now, task, token, outcome, &mut out);
        }
    }
    assert!(better > 20, "the batch beat the order {better} times");
}

/// Who was given up for lost is back before the one who has begun anew: its result counts, and the other hears of it, unless the
/// two may not be at it at once.
#[test]
fn of_two_at_a_task_the_first_counts_though_it_was_lost() {
    let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let (task, now) = (Task(0), Moment(0));
    for (copies, is_shared, counts) in [
        (Copies::All, false, true),
        (Copies::Of(vec![true]), false, true),
        (Copies::All, true, false),
        (Copies::Of(vec![false, true]), false, false),
        (Copies::Never, false, false),
    ] {
        let rules = Rules {
            copies,
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules, Order::of(&order));
        let mut out = Outbox::default();
        engine.open(now, &mut out);
        let lost = engine.join(now, "lost", Offer::cpus(1), &mut out);
        let first = engine.ask(now, lost, 1, &mut out).unwrap()[0].token;
        engine.lose(now, lost, &mut out).unwrap();
        let offer = Offer {
            is_shared,
            ..Offer::cpus(1)
        };
        let other = engine.join(now, "other", offer, &mut out);
        let second = engine.ask(now, other, 1, &mut out).unwrap()[0].token;
        let again = engine.join(now, "lost", Offer::cpus(1), &mut out);
        // While both are at it, whoever would count goes on.
        let stale = engine.heartbeat(now, again, &[(task, first)], &mut out);
        assert_eq!(stale.unwrap().is_empty(), counts);
        let receipt = engine.give_back(now, task, first, Outcome::Executed, &mut out);
        match counts {
            true => {
                assert_eq!(receipt, Receipt::AcceptedLate);
                assert_eq!(out.kills, [(other, task, second)]);
                assert!(engine.workers()[other.index()].holds.is_empty());
                let receipt = engine.give_back(now, task, second, Outcome::Executed, &mut out);
                assert_eq!(receipt, Receipt::Already);
                let next = engine.ask(now, other, 1, &mut out).unwrap();
                assert_eq!(next[0].task, Task(1));
            }
            false => {
                assert_eq!(receipt, Receipt::Superseded);
                assert!(out.kills.is_empty());
                let receipt = engine.give_back(now, task, second, Outcome::Executed, &mut out);
                assert_eq!(receipt, Receipt::Accepted);
            }
        }
    }
}

/// What stands against two at a task at once stands against a late one, too: a folder that the late one may share, a pool, a
/// restart in between, somebody who gave the attempt up, and its own second attempt.
#[test]
fn a_late_one_counts_only_where_it_is_in_nobodys_way() {
    let dag = Dag::from_arcs(1, vec![]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let (task, now) = (Task(0), Moment(0));
    for (shares, pool, restarts, is_revived, is_its_own) in [
        (false, 0, false, false, false),
        (true, 0, false, false, false),
        (false, 1, false, false, false),
        (false, 0, true, false, false),
        (false, 0, false, true, false),
        (false, 0, false, false, true),
    ] {
        let is_free = !shares && pool == 0 && !restarts && !is_revived;
        let rules = Rules {
            copies: Copies::All,
            classes: vec![needs(1, 0, pool, None)],
            pools: vec![2],
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules.clone(), Order::of(&order));
        let mut out = Outbox::default();
        engine.open(now, &mut out);
        let offer = Offer {
            is_shared: shares,
            ..Offer::cpus(1)
        };
        let lost = engine.join(now, "lost", offer.clone(), &mut out);
        let first = engine.ask(now, lost, 1, &mut out).unwrap()[0].token;
        if is_revived {
            engine.cancel(now, task, &mut out).unwrap();
            engine.revive(now, task, &mut out).unwrap();
        }
        if restarts {
            let snapshot = engine.snapshot();
            let order = Order::of(&order);
            engine = Engine::restore(Frozen::new(&dag), rules, order, snapshot).unwrap();
            engine.open(now, &mut out);
        }
        engine.lose(now, lost, &mut out).unwrap();
        let again = match is_its_own {
            true => None,
            false => Some(engine.join(now, "lost", offer.clone(), &mut out)),
        };
        let other = engine.join(now, "other", Offer::cpus(1), &mut out);
        let second = engine.ask(now, other, 1, &mut out).unwrap()[0].token;
        let late = again.unwrap_or(other);
        let holding: Vec<_> = match is_its_own {
            true => vec![(task, first), (task, second)],
            false => vec![(task, first)],
        };
        let mut stale = engine.heartbeat(now, late, &holding, &mut out).unwrap();
        stale.extend(engine.doubled(late, &holding));
        let goes_on = is_free && !is_its_own;
        assert_eq!(
            stale.is_empty(),
            goes_on,
            "{shares} {pool} {restarts} {is_revived}"
        );
        let receipt = engine.give_back(now, task, first, Outcome::Executed, &mut out);
        assert_eq!(
            receipt.counts(),
            is_free,
            "{shares} {pool} {restarts} {is_revived}"
        );
    }
}

/// Who was given up for lost, came back and still works has no more room than the rest of what it offers: neither for a task of
/// many processors nor for one of much memory. When it is back with the attempt, all room is free again.
#[test]
fn room_is_counted_of_what_goes_on_after_a_loss() {
    let dag = Dag::from_arcs(3, vec![]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let now = Moment(0);
    for first in [needs(3, 0, 0, None), needs(1, 6, 0, None)] {
        let rules = Rules {
            classes: vec![first.clone(), needs(1, 0, 0, None)],
            class_of: [0, 0, 1].map(ClassId::new).to_vec(),
            ..Rules::default()
        };
        let mut engine = Engine::new(Frozen::new(&dag), rules, Order::of(&order));
        let mut out = Outbox::default();
        engine.open(now, &mut out);
        let offer = Offer {
            memory: Some(8),
            ..Offer::cpus(4)
        };
        let lost = engine.join(now, "worker", offer.clone(), &mut out);
        let had = engine.ask(now, lost, 1, &mut out).unwrap()[0];
        engine.lose(now, lost, &mut out).unwrap();
        let again = engine.join(now, "worker", offer, &mut out);
        let holding = [(had.task, had.token)];
        let heard = engine.exchange(now, again, &[], Some(&holding), 4, &mut out);
        let given: Vec<Task> = heard.granted.iter().map(|g| g.task).collect();
        assert_eq!(given, [Task(2)], "only the small one fits beside {first:?}");
        let back = Returned {
            task: had.task,
            token: had.token,
            outcome: Outcome::Executed,
            digest: None,
        };
        let receipt = engine.take_back(now, again, &back, &mut out);
        assert_eq!(receipt, Receipt::AcceptedLate);
        let given = engine.ask(now, again, 4, &mut out).unwrap();
        assert_eq!(given.len(), 1);
        assert_eq!(given[0].task, Task(1));
    }
}

/// A worker names what it returns with the same request among what it has. It is at that no more, and has that room again at once,
/// also where the return counts for nothing and the task could still be had from it.
#[test]
fn what_is_returned_takes_no_room_though_it_is_named() {
    let dag = Dag::from_arcs(2, vec![]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let now = Moment(0);
    let mut engine = Engine::new(Frozen::new(&dag), Rules::default(), Order::of(&order));
    let mut out = Outbox::default();
    engine.open(now, &mut out);
    let lost = engine.join(now, "worker", Offer::cpus(2), &mut out);
    let had = engine.ask(now, lost, 2, &mut out).unwrap();
    engine.lose(now, lost, &mut out).unwrap();
    let again = engine.join(now, "worker", Offer::cpus(2), &mut out);
    let holding = [(had[0].task, had[0].token), (had[1].task, had[1].token)];
    let failed = Outcome::Failed {
        exit: 1,
        cause: cairn_engine::Cause::Exit,
    };
    let returns = [(had[0].task, had[0].token, failed)];
    let heard = engine.exchange(now, again, &returns, Some(&holding), 1, &mut out);
    let given: Vec<Task> = heard.granted.iter().map(|g| g.task).collect();
    assert_eq!(given, [had[0].task], "{heard:?}");
}

/// The folder of what goes on after a loss takes its room on the worker's disk.
#[test]
fn disk_is_counted_of_what_goes_on_after_a_loss() {
    let dag = Dag::from_arcs(3, vec![]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let now = Moment(0);
    let mut engine = Engine::new(Frozen::new(&dag), Rules::default(), Order::of(&order));
    engine.set_weights(vec![60, 50, 40]);
    let mut out = Outbox::default();
    engine.open(now, &mut out);
    let offer = Offer {
        disk: Some(100),
        ..Offer::cpus(4)
    };
    let lost = engine.join(now, "worker", offer.clone(), &mut out);
    let had = engine.ask(now, lost, 1, &mut out).unwrap()[0];
    assert_eq!(had.task, Task(0));
    engine.lose(now, lost, &mut out).unwrap();
    let again = engine.join(now, "worker", offer, &mut out);
    let holding = [(had.task, had.token)];
    let heard = engine.exchange(now, again, &[], Some(&holding), 4, &mut out);
    let bytes: u64 = heard.granted.iter().map(|g| engine.weight(g.task)).sum();
    assert!(60 + bytes <= 100, "{heard:?}");
}

/// What comes late is booked to whoever brings it, not to whoever had the task since and gave it back.
#[test]
fn a_late_result_is_its_makers() {
    let dag = Dag::from_arcs(1, vec![]).unwrap();
    let order: Vec<TaskId> = dag.tasks().collect();
    let now = Moment(0);
    let mut engine = Engine::new(Frozen::new(&dag), Rules::default(), Order::of(&order));
    let mut out = Outbox::default();
    engine.open(now, &mut out);
    let maker = engine.join(now, "maker", Offer::cpus(1), &mut out);
    let first = engine.ask(now, maker, 1, &mut out).unwrap()[0];
    engine.lose(now, maker, &mut out).unwrap();
    let other = engine.join(now, "other", Offer::cpus(1), &mut out);
    let second = engine.ask(now, other, 1, &mut out).unwrap()[0];
    engine.give_back(now, second.task, second.token, Outcome::GivenBack, &mut out);
    let again = engine.join(now, "maker", Offer::cpus(1), &mut out);
    let back = Returned {
        task: first.task,
        token: first.token,
        outcome: Outcome::Executed,
        digest: None,
    };
    assert_eq!(
        engine.take_back(now, again, &back, &mut out),
        Receipt::AcceptedLate
    );
    let executed = |worker: WorkerId| engine.workers()[worker.index()].executed;
    assert_eq!([maker, other, again].map(executed), [0, 0, 1]);
}
