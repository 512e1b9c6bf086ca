//! Volunteers in situations that random play seldom meets: long tasks, restarts with other numbers, few of them, names that
//! others have, tags and disks.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Cause, ClientId, Digest, Dispatch, Distrust, Engine, Event, Expected, Frozen, Granted, KindId,
    Memory, Moment, Needs, Offer, Order, Outbox, Outcome, Placing, Position, Receipt, Refusal,
    Returned, Rules, Span, Task, Token, Why, WorkerId,
};
use cairn_theory::game::Standing;
use std::time::Instant;

const SECOND: u64 = 1_000_000;
const T: Task = Task(0);
const RIGHT: Digest = Digest([1, 1]);

fn second(at: u64) -> Moment {
    Moment(at * SECOND)
}

fn dag(tasks: u32) -> Dag {
    Dag::from_arcs(tasks as usize, Vec::new()).unwrap()
}

fn order(dag: &Dag) -> Order {
    Order::of(&dag.tasks().collect::<Vec<TaskId>>())
}

/// A quorum, and ten seconds for a copy.
fn rules(quorum: u32) -> Rules {
    let mut distrust = Distrust::of_quorum(quorum);
    distrust.deadline = Span::seconds(10);
    distrust.earned = None;
    Rules {
        distrust,
        silence: Span::seconds(1_000_000),
        ..Rules::default()
    }
}

struct Run<'d> {
    engine: Engine<Frozen<'d>>,
    out: Outbox,
}

impl<'d> Run<'d> {
    fn new(dag: &'d Dag, rules: Rules) -> Run<'d> {
        let mut engine = Engine::new(Frozen::new(dag), rules, order(dag));
        let mut out = Outbox::default();
        engine.open(second(0), &mut out);
        Run { engine, out }
    }

    fn join_as(&mut self, name: &str, offer: Offer) -> WorkerId {
        self.engine.join(second(0), name, offer, &mut self.out)
    }

    /// A volunteer with two processors.
    fn volunteer(&mut self, client: u32) -> WorkerId {
        self.join_as(&format!("v{client}"), of(client))
    }

    fn ask(&mut self, at: u64, worker: WorkerId) -> Result<Granted, Refusal> {
        let given = self.engine.ask(second(at), worker, 1, &mut self.out);
        given.map(|mut all| all.remove(0))
    }

    fn give(&mut self, at: u64, worker: WorkerId) -> Token {
        let granted = self.ask(at, worker).unwrap();
        assert_eq!(granted.task, T);
        granted.token
    }

    fn back(&mut self, at: u64, from: WorkerId, token: Token, digest: Digest) -> Receipt {
        let back = Returned {
            task: T,
            token,
            outcome: Outcome::Executed,
            digest: Some(digest),
        };
        (self.engine).take_back(second(at), from, &back, &mut self.out)
    }

    fn fail(&mut self, at: u64, from: WorkerId, token: Token) {
        let (exit, cause) = (1, Cause::Exit);
        let back = Returned {
            task: T,
            token,
            outcome: Outcome::Failed { exit, cause },
            digest: None,
        };
        self.engine
            .take_back(second(at), from, &back, &mut self.out);
    }

    fn beat(&mut self, at: u64, worker: WorkerId, holding: &[(Task, Token)]) -> Vec<(Task, Token)> {
        let stop = (self.engine).heartbeat(second(at), worker, holding, &mut self.out);
        stop.unwrap()
    }

    fn wake(&mut self, at: u64) {
        self.engine.wake(second(at), &mut self.out);
    }

    fn standing(&self) -> Standing {
        self.engine.position().standing(T).unwrap()
    }
}

fn of(client: u32) -> Offer {
    Offer {
        client: Some(ClientId(client)),
        ..Offer::cpus(2)
    }
}

#[test]
fn a_restart_that_needs_fewer_equal_results_settles_what_agrees() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(4));
    for client in 0..2 {
        let worker = run.volunteer(client);
        let token = run.give(0, worker);
        run.back(1, worker, token, RIGHT);
    }
    assert_eq!(run.standing(), Standing::Leased);
    assert!(run.engine.agreed().is_empty());
    let snapshot = run.engine.snapshot();
    let restored = Engine::restore(Frozen::new(&dag), rules(2), order(&dag), snapshot);
    run.engine = restored.unwrap();
    run.engine.open(second(2), &mut run.out);
    let agreed = run.engine.agreed();
    assert_eq!(agreed.len(), 1, "{agreed:?}");
    run.engine.settle(second(2), agreed[0].0, &mut run.out);
    assert_eq!(run.standing(), Standing::Executed);
}

#[test]
fn a_restart_gives_up_what_can_come_to_nothing() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    for client in 0..3 {
        let worker = run.volunteer(client);
        let token = run.give(0, worker);
        run.back(1, worker, token, Digest([7, client.into()]));
    }
    assert_eq!(run.standing(), Standing::Leased, "a fourth might come");
    let mut fewer = rules(2);
    fewer.distrust.clients = Some(3);
    let snapshot = run.engine.snapshot();
    let restored = Engine::restore(Frozen::new(&dag), fewer, order(&dag), snapshot);
    run.engine = restored.unwrap();
    run.engine.open(second(2), &mut run.out);
    assert_eq!(run.standing(), Standing::Failed);
}

#[test]
fn whoever_is_late_and_still_at_it_is_waited_for() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let (a, b) = (run.volunteer(1), run.volunteer(2));
    let (first, second) = (run.give(0, a), run.give(0, b));
    run.wake(11);
    assert_eq!(run.engine.trust().record(ClientId(1)).unwrap().late, 1);
    for (worker, token) in [(a, first), (b, second)] {
        assert!(run.ask(11, worker).is_err(), "it is still at it");
        assert_eq!(run.beat(12, worker, &[(T, token)]), []);
        assert!(run.ask(13, worker).is_err(), "it said so");
    }
    assert_eq!(run.back(25, a, first, RIGHT), Receipt::AcceptedLate);
    assert_eq!(run.back(25, b, second, RIGHT), Receipt::AcceptedLate);
    assert_eq!(run.standing(), Standing::Executed);
}

#[test]
fn whoever_is_late_and_no_longer_at_it_gets_it_again_with_all_its_time() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let a = run.volunteer(1);
    let first = run.give(0, a);
    run.wake(11);
    run.beat(12, a, &[]);
    let again = run.give(12, a);
    assert_ne!(again, first);
    run.wake(21);
    assert!(run.engine.lease(T).is_some(), "not half the time");
    run.wake(23);
    assert!(run.engine.lease(T).is_none());
}

#[test]
fn a_task_longer_than_its_time_is_not_given_up_while_somebody_works_on_it() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let workers: Vec<WorkerId> = (0..10).map(|client| run.volunteer(client)).collect();
    let mut held = Vec::new();
    for at in 0..45 {
        run.wake(at);
        for &worker in &workers {
            if let Ok(granted) = run.ask(at, worker) {
                held.push((worker, granted.token));
            }
        }
        for &(worker, token) in &held {
            assert_eq!(run.beat(at, worker, &[(T, token)]), [], "at {at}");
        }
    }
    assert_eq!(held.len(), 8, "no more copies than there may be");
    assert_ne!(run.standing(), Standing::Failed);
    for &(worker, token) in &held[..2] {
        assert_eq!(run.back(46, worker, token, RIGHT), Receipt::AcceptedLate);
    }
    assert_eq!(run.standing(), Standing::Executed);
}

#[test]
fn those_who_live_and_return_nothing_are_not_waited_for_for_ever() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let workers: Vec<WorkerId> = (0..10).map(|client| run.volunteer(client)).collect();
    let mut held = Vec::new();
    for at in 0..300 {
        run.wake(at);
        for &worker in &workers {
            if let Ok(granted) = run.ask(at, worker) {
                held.push((worker, granted.token));
            }
        }
        for &(worker, token) in &held {
            run.beat(at, worker, &[(T, token)]);
        }
        if run.standing() == Standing::Failed {
            assert!(at > 100, "they were waited for: {at}");
            return;
        }
    }
    panic!("{:?}", run.standing());
}

#[test]
fn what_is_recorded_of_a_task_makes_its_time_longer() {
    let dag = dag(1);
    let mut engine = Engine::new(Frozen::new(&dag), rules(2), order(&dag));
    let expected = Expected {
        seconds: vec![Some(60.0)],
        kind: vec![KindId(0)],
        kinds: vec!["long".into()],
    };
    engine.watch(Memory::default(), Placing::ByOrder, |memory| {
        Dispatch::new(&dag, &expected, memory, std::iter::empty())
    });
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    let mut run = Run { engine, out };
    let a = run.volunteer(1);
    run.give(0, a);
    run.wake(590);
    assert!(run.engine.lease(T).is_some(), "ten times a minute");
    run.wake(610);
    assert!(run.engine.lease(T).is_none());
}

#[test]
fn who_failed_gets_it_again_where_the_others_cannot_do_it() {
    let dag = dag(1);
    let gpu = Needs {
        tags: vec!["gpu".into()],
        ..Needs::default()
    };
    let rules = Rules {
        classes: vec![gpu],
        ..rules(2)
    };
    let mut run = Run::new(&dag, rules);
    let tagged = Offer {
        tags: vec!["gpu".into()],
        ..of(1)
    };
    let a = run.join_as("a", tagged);
    run.volunteer(2);
    let token = run.give(0, a);
    run.fail(1, a, token);
    run.give(2, a);
}

#[test]
fn who_failed_gets_it_again_after_a_while_whoever_else_is_there() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let a = run.volunteer(1);
    run.volunteer(2);
    let token = run.give(0, a);
    run.fail(1, a, token);
    assert_eq!(run.ask(2, a), Err(Refusal::Others), "the other comes first");
    // The other never asks.
    run.give(13, a);
}

/// So many tasks in a row by the order, all but the last behind one that opens them; the last waits for nothing.
fn opener(tasks: u32) -> Dag {
    let arcs = (0..tasks - 2).map(|task| (tasks - 2, task)).collect();
    Dag::from_arcs(tasks as usize, arcs).unwrap()
}

/// Opens the first tasks by the order while a volunteer has the last one; that volunteer, its copy and the last task.
fn late_opened(dag: &Dag, quorum: u32) -> (Run<'_>, WorkerId, Granted) {
    let mut run = Run::new(dag, rules(quorum));
    let (trusted, a) = (run.join_as("t", Offer::cpus(1)), run.volunteer(1));
    let opens = run.ask(0, trusted).unwrap();
    let last = run.ask(0, a).unwrap();
    assert_eq!(last.task, Task(dag.len() as u64 - 1));
    let back = Returned {
        task: opens.task,
        token: opens.token,
        outcome: Outcome::Executed,
        digest: None,
    };
    (run.engine).take_back(second(1), trusted, &back, &mut run.out);
    (run, a, last)
}

/// Rule 6: the order has thirty tasks before it, and it goes first.
#[test]
fn what_must_be_tried_again_goes_before_what_nobody_has_begun_with() {
    let dag = opener(40);
    let (mut run, a, last) = late_opened(&dag, 2);
    let b = run.volunteer(2);
    assert_eq!(run.ask(1, b).unwrap().task, T, "a copy that is no retry");
    let failed = Returned {
        task: last.task,
        token: last.token,
        outcome: Outcome::Failed {
            exit: 1,
            cause: Cause::Exit,
        },
        digest: None,
    };
    run.engine.take_back(second(2), a, &failed, &mut run.out);
    let before = match run.engine.why(second(2), last.task) {
        Some(Why::Eligible { before, .. }) => before,
        other => panic!("{other:?}"),
    };
    assert_eq!(before, 0);
    assert_eq!(run.ask(2, b).unwrap().task, last.task);
    assert_eq!(
        run.ask(2, a).unwrap().task,
        T,
        "who failed gets something else"
    );
}

/// Rule 7: with fewer than 20 tasks left, what is begun comes to its end before anything else begins.
#[test]
fn in_the_tail_every_copy_goes_before_what_nobody_has_begun_with() {
    for (tasks, is_tail) in [
        (40, false),
        (22, false),
        (21, false),
        (20, true),
        (12, true),
    ] {
        let dag = opener(tasks);
        let (mut run, _, last) = late_opened(&dag, 2);
        let b = run.volunteer(2);
        let first = run.ask(1, b).unwrap().task;
        // One of them is executed.
        assert_eq!(first == last.task, is_tail, "{tasks} tasks");
        assert!(is_tail || first == T);
    }
}

#[test]
fn few_who_cannot_agree_any_more_end_the_task() {
    let dag = dag(1);
    let mut rules = rules(2);
    rules.distrust.clients = Some(3);
    let mut run = Run::new(&dag, rules.clone());
    for client in 0..3 {
        assert_ne!(run.standing(), Standing::Failed);
        let worker = run.volunteer(client);
        let token = run.give(0, worker);
        run.back(1, worker, token, Digest([7, client.into()]));
    }
    assert_eq!(run.standing(), Standing::Failed);
    // Somebody who is trusted could settle it; once that one is gone nobody can.
    let mut run = Run::new(&dag, rules);
    let trusted = run.join_as("trusted", Offer::cpus(1));
    for client in 0..3 {
        let worker = run.volunteer(client);
        let token = run.give(0, worker);
        run.back(1, worker, token, Digest([7, client.into()]));
    }
    assert_eq!(run.standing(), Standing::Leased);
    let left = run.engine.leave(second(2), trusted, &mut run.out);
    assert_eq!(left, Ok(()));
    assert_eq!(run.standing(), Standing::Failed);
}

#[test]
fn a_name_is_taken_from_its_own_client_alone() {
    let dag = dag(1);
    let mut engine = Engine::new(Frozen::new(&dag), rules(2), order(&dag));
    engine.watch(Memory::default(), Placing::ByOrder, |memory| {
        Dispatch::new(&dag, &Expected::default(), memory, std::iter::empty())
    });
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    let mut run = Run { engine, out };
    let trusted = run.join_as("gpu-1", Offer::cpus(1));
    let token = run.give(0, trusted);
    let volunteer = run.join_as("gpu-1", of(7));
    let other = run.join_as("gpu-1", of(8));
    let is_here = |run: &Run<'_>, w: WorkerId| run.engine.workers()[w.index()].is_here;
    assert!(
        [trusted, volunteer, other]
            .into_iter()
            .all(|w| is_here(&run, w))
    );
    assert_eq!(run.engine.lease(T).map(|lease| lease.1), Some(token));
    let dispatch = run.engine.dispatch().unwrap();
    let numbers = [trusted, volunteer, other].map(|w| dispatch.known_as(w));
    assert!(numbers[0] != numbers[1] && numbers[1] != numbers[2]);
    let again = run.join_as("gpu-1", of(7));
    assert!(!is_here(&run, volunteer) && is_here(&run, again) && is_here(&run, trusted));
    let dispatch = run.engine.dispatch().unwrap();
    assert_eq!(dispatch.known_as(again), numbers[1], "the same again");
}

#[test]
fn no_attempt_has_the_number_of_another() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let (v, trusted) = (run.volunteer(1), run.join_as("t", Offer::cpus(1)));
    let first = run.give(0, v);
    let back = Returned {
        task: T,
        token: first,
        outcome: Outcome::GivenBack,
        digest: None,
    };
    run.engine.take_back(second(1), v, &back, &mut run.out);
    let late = run.give(2, trusted);
    // It is thought lost, and somebody else begins.
    run.join_as("t", Offer::cpus(1));
    let third = run.give(3, v);
    let done = Outcome::Executed;
    let receipt = (run.engine).give_back(second(4), T, late, done, &mut run.out);
    assert_eq!(receipt, Receipt::AcceptedLate);
    run.engine.reopen(second(5), T, &mut run.out).unwrap();
    let fourth = run.give(6, v);
    assert!(fourth.attempt > third.attempt, "{third:?} {fourth:?}");
}

#[test]
fn what_is_foreseen_of_a_return_is_what_it_is_worth() {
    let dag = dag(2);
    let mut run = Run::new(&dag, rules(2));
    let trusted = run.join_as("t", Offer::cpus(1));
    let never = Token {
        epoch: 1,
        attempt: 7,
    };
    let done = Outcome::Executed;
    assert!(!run.engine.would_take(trusted, T, never, done));
    let v = run.volunteer(1);
    let token = run.give(0, v);
    run.fail(1, v, token);
    // It is eligible, but what was done of it has to be checked.
    assert_eq!(run.standing(), Standing::Eligible);
    assert!(!run.engine.would_take(trusted, T, token, done));
    let receipt = (run.engine).give_back(second(2), T, token, done, &mut run.out);
    assert_eq!(receipt, Receipt::Superseded);
}

#[test]
fn what_volunteers_return_is_learnt_from() {
    let dag = dag(1);
    let mut engine = Engine::new(Frozen::new(&dag), rules(2), order(&dag));
    engine.watch(Memory::default(), Placing::ByOrder, |memory| {
        Dispatch::new(&dag, &Expected::default(), memory, std::iter::empty())
    });
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    let mut run = Run { engine, out };
    let workers = [run.volunteer(1), run.volunteer(2)];
    for worker in workers {
        let token = run.give(0, worker);
        run.back(4, worker, token, RIGHT);
    }
    assert_eq!(run.standing(), Standing::Executed);
    let dispatch = run.engine.dispatch().unwrap();
    for worker in workers {
        let who = dispatch.known_as(worker);
        assert_eq!(dispatch.book().returns(who), 1);
        assert_eq!(dispatch.book().turnaround(who), Some(4.0));
    }
}

/// A run of so many tasks of a kind that is recorded as ten seconds, with deadlines of one second at least.
fn watched<'d>(dag: &'d Dag, memory: Memory) -> Run<'d> {
    let mut rules = rules(2);
    rules.distrust.deadline = Span::seconds(1);
    let mut engine = Engine::new(Frozen::new(dag), rules, order(dag));
    watch(&mut engine, dag, memory);
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    Run { engine, out }
}

fn watch(engine: &mut Engine<Frozen<'_>>, dag: &Dag, memory: Memory) {
    let expected = Expected {
        seconds: vec![Some(10.0); dag.len()],
        kind: vec![KindId(0); dag.len()],
        kinds: vec!["step".into()],
    };
    engine.watch(memory, Placing::ByOrder, |memory| {
        Dispatch::new(dag, &expected, memory, std::iter::empty())
    });
}

/// Seconds that the worker has for its next task, and which that is.
fn given(run: &mut Run<'_>, at: u64, worker: WorkerId) -> (f64, Task, Token) {
    let Granted { task, token, .. } = run.ask(at, worker).unwrap();
    let due = run.engine.expected_by(task, token).unwrap();
    (due.since(second(at)).0 as f64 / 1e6, task, token)
}

#[test]
fn deadlines_go_by_what_is_seen_of_a_volunteer_and_not_by_what_it_says() {
    let dag = dag(60);
    let mut run = watched(&dag, Memory::default());
    let claims = Offer {
        benchmark: Some(10),
        ..of(3)
    };
    let (slow, fast) = (run.volunteer(1), run.volunteer(2));
    let boaster = run.join_as("boaster", claims);
    // Nobody is known: ten times what is recorded, also for one that says it is a hundred times as slow.
    let (span, ..) = given(&mut run, 0, boaster);
    assert!((90.0..130.0).contains(&span), "{span}");
    let mut at = 0;
    for _ in 0..20 {
        for (worker, takes) in [(slow, 20), (fast, 5)] {
            let (_, task, token) = given(&mut run, at, worker);
            let back = Returned {
                task,
                token,
                outcome: Outcome::Executed,
                digest: Some(RIGHT),
            };
            run.engine
                .take_back(second(at + takes), worker, &back, &mut run.out);
        }
        at += 2;
    }
    let (of_slow, task, token) = given(&mut run, at, slow);
    let (of_fast, ..) = given(&mut run, at, fast);
    let (of_new, ..) = given(&mut run, at, boaster);
    assert!(of_slow > 2.5 * of_fast, "{of_slow} {of_fast}");
    assert!((150.0..260.0).contains(&of_slow), "{of_slow}");
    assert!((35.0..75.0).contains(&of_fast), "{of_fast}");
    assert!(of_new < of_slow && of_new > of_fast, "{of_new}");

    // A restart gives everybody the time that it had, whatever a book says by then.
    let due = run.engine.expected_by(task, token);
    let entries = run.out.entries.clone();
    let snapshot = run.engine.snapshot();
    let text = "{\"version\":1,\"workers\":{},\"kinds\":{\"step\":{\"log\":9,\"variance\":0.1,\"returned\":99}}}";
    let other: Memory = serde_json::from_str(text).unwrap();
    let position = || (Frozen::new(&dag), run.engine.rules().clone(), order(&dag));
    let (frozen, rules, by) = position();
    let mut again = Engine::new(frozen, rules, by);
    watch(&mut again, &dag, other.clone());
    entries
        .iter()
        .for_each(|entry| again.replay(entry).unwrap());
    let (frozen, rules, by) = position();
    let mut restored = Engine::restore(frozen, rules, by, snapshot.clone()).unwrap();
    watch(&mut restored, &dag, other);
    for mut engine in [again, restored] {
        engine.open(second(at), &mut Outbox::default());
        assert_eq!(engine.expected_by(task, token), due);
    }
}

/// Whoever had long tasks so far is no worse for short ones.
#[test]
fn whether_somebody_is_back_in_time_goes_by_the_kind_of_the_task() {
    let dag = dag(8);
    let mut rules = rules(2);
    rules.distrust.deadline = Span::seconds(1);
    rules.kind_of = [0, 0, 0, 0, 1, 1, 1, 1].map(KindId).to_vec();
    let kind = rules.kind_of.clone();
    let mut engine = Engine::new(Frozen::new(&dag), rules, order(&dag));
    let expected = Expected {
        seconds: (0..8)
            .map(|t| Some(if t < 4 { 1000.0 } else { 10.0 }))
            .collect(),
        kind,
        kinds: vec!["long".into(), "short".into()],
    };
    engine.watch(Memory::default(), Placing::ByOrder, |memory| {
        Dispatch::new(&dag, &expected, memory, std::iter::empty())
    });
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    let mut run = Run { engine, out };
    let (anna, berta) = (run.volunteer(1), run.volunteer(2));
    let back = |run: &mut Run<'_>, at, worker, Granted { task, token, .. }| {
        let back = Returned {
            task,
            token,
            outcome: Outcome::Executed,
            digest: Some(RIGHT),
        };
        let receipt = (run.engine).take_back(second(at), worker, &back, &mut run.out);
        assert_eq!(receipt, Receipt::Accepted);
    };
    for round in 0..3 {
        for worker in [anna, berta] {
            let granted = run.ask(1000 * round, worker).unwrap();
            assert_eq!(granted.task, Task(round));
            back(&mut run, 1000 * round + 1000, worker, granted);
        }
    }
    for worker in [anna, berta] {
        assert_eq!(run.ask(3000, worker).unwrap().task, Task(3));
    }
    let clara = run.volunteer(3);
    let short = run.ask(3000, clara).unwrap();
    assert_eq!(short.task, Task(4));
    back(&mut run, 3010, clara, short);
    // A hundred seconds are a tenth of what her tasks took so far, and ten times what this one takes.
    assert_eq!(run.ask(3010, anna).map(|given| given.task), Ok(Task(4)));
}

#[test]
fn one_that_dawdles_has_no_more_than_four_times_as_long_as_others() {
    let dag = dag(200);
    let mut run = watched(&dag, Memory::default());
    let (dawdler, other) = (run.volunteer(1), run.volunteer(2));
    let (mut at, mut longest) = (0, 0.0_f64);
    for round in 0..12 {
        let takes = 40 << round.min(6);
        let (span, task, token) = given(&mut run, at, dawdler);
        longest = longest.max(span);
        let (_, second_task, second_token) = given(&mut run, at, other);
        for (worker, task, token, takes) in [
            (other, second_task, second_token, 10),
            (dawdler, task, token, takes),
        ] {
            let back = Returned {
                task,
                token,
                outcome: Outcome::Executed,
                digest: Some(RIGHT),
            };
            run.engine
                .take_back(second(at + takes), worker, &back, &mut run.out);
        }
        at += takes;
    }
    let usual = {
        let stranger = run.volunteer(3);
        given(&mut run, at, stranger).0
    };
    assert!(longest <= 4.05 * usual, "{longest} {usual}");
}

#[test]
fn of_trusted_workers_it_is_told_who_is_late() {
    let dag = dag(40);
    let mut run = watched(&dag, Memory::default());
    let worker = run.join_as("w", Offer::cpus(1));
    let Granted { task, token, .. } = run.ask(0, worker).unwrap();
    assert_eq!(run.engine.expected_by(task, token), None, "never seen");
    assert_eq!(run.engine.late(second(1_000_000)), 0);
    run.engine
        .give_back(second(10), task, token, Outcome::Executed, &mut run.out);
    let Granted { task, token, .. } = run.ask(10, worker).unwrap();
    let by = run.engine.expected_by(task, token).unwrap();
    let seconds = by.since(second(10)).0 as f64 / 1e6;
    assert!((12.0..60.0).contains(&seconds), "{seconds}");
    assert_eq!(run.engine.late(by), 0);
    assert_eq!(run.engine.late(by + Span(1)), 1);
    // It is told, and nothing else: it may well come back.
    run.wake(500);
    assert_eq!(run.engine.lease(task).map(|l| l.0), Some(worker));
}

#[test]
fn a_client_has_no_more_processors_and_workers_than_tasks() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    for n in 0..100 {
        let offer = Offer {
            cpus: 100_000,
            ..of(1)
        };
        run.join_as(&format!("w{n}"), offer);
    }
    let here: Vec<_> = run.engine.workers().iter().filter(|w| w.is_here).collect();
    assert_eq!(here.len(), 64);
    assert!(here.iter().all(|w| w.offer.cpus == 64));
}

#[test]
fn a_copy_needs_room_on_the_disk() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    run.engine.set_weights(vec![20]);
    let first = run.volunteer(1);
    run.give(0, first);
    let small = Offer {
        disk: Some(10),
        ..of(2)
    };
    let small = run.join_as("small", small);
    assert!(run.ask(1, small).is_err());
    let copied = run.engine.copy(second(1), small, T, &mut run.out);
    assert_eq!(copied, Err(Refusal::NothingFits));
    let large = Offer {
        disk: Some(30),
        ..of(3)
    };
    let large = run.join_as("large", large);
    run.give(1, large);
}

#[test]
fn tasks_go_by_speed_again_when_the_volunteers_are_gone() {
    let dag = dag(4);
    let mut engine = Engine::new(Frozen::new(&dag), rules(2), order(&dag));
    engine.watch(Memory::default(), Placing::BySpeed, |memory| {
        Dispatch::new(&dag, &Expected::default(), memory, std::iter::empty())
    });
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    let mut run = Run { engine, out };
    assert!(run.engine.is_aware());
    let v = run.volunteer(1);
    assert!(!run.engine.is_aware() && !run.engine.is_holding());
    let token = run.give(0, v);
    run.engine.leave(second(1), v, &mut run.out).unwrap();
    assert!(!run.engine.is_aware(), "what it had waits for others");
    let trusted = run.join_as("t", Offer::cpus(1));
    assert_ne!(run.give(2, trusted), token);
    assert!(run.engine.is_aware());
}

/// Whoever has had all of them passes over all of them at once.
#[test]
fn one_volunteer_alone_takes_no_longer_the_more_it_has_had() {
    const TASKS: u32 = 20_000;
    let dag = dag(TASKS);
    let mut run = Run::new(&dag, rules(2));
    let v = run.volunteer(1);
    let begin = Instant::now();
    for n in 0..u64::from(TASKS) {
        let granted = run.ask(n, v).unwrap();
        let back = Returned {
            task: granted.task,
            token: granted.token,
            outcome: Outcome::Executed,
            digest: Some(RIGHT),
        };
        run.engine.take_back(second(n), v, &back, &mut run.out);
    }
    let took = begin.elapsed();
    assert_eq!(run.ask(u64::from(TASKS), v), Err(Refusal::Others));
    let executed = |e: &&cairn_engine::Entry| matches!(e.event, Event::Executed { .. });
    assert_eq!(run.out.entries.iter().filter(executed).count(), 0);
    // One by one they were half a minute.
    assert!(took.as_secs() < 8, "{took:?}");
}

/// Two runs one after the other, of which the second begins with what the first knows of clients with these tokens.
fn next_run<'d>(first: &Run<'_>, dag: &'d Dag, identities: &[&str], quorum: u32) -> Run<'d> {
    let mut rules = rules(quorum);
    rules.distrust.earned = Some(10);
    rules.distrust.identities = identities.iter().map(ToString::to_string).collect();
    rules.kinds = vec!["step".into()];
    let mut engine = Engine::new(Frozen::new(dag), rules, order(dag));
    let text = serde_json::to_string(&first.engine.learnt()).unwrap();
    let memory: Memory = serde_json::from_str(&text).unwrap();
    assert!(memory.is_readable());
    engine.remember(&memory);
    let mut out = Outbox::default();
    engine.open(second(0), &mut out);
    Run { engine, out }
}

/// Two volunteers agree on so many tasks.
fn trusted_run(dag: &Dag) -> Run<'_> {
    let mut rules = rules(2);
    rules.distrust.identities = vec!["anna".into(), "berta".into()];
    rules.kinds = vec!["step".into()];
    let mut run = Run::new(dag, rules);
    let both = [run.volunteer(1), run.volunteer(2)];
    for at in 0..dag.len() as u64 {
        for worker in both {
            let Granted { task, token, .. } = run.ask(at, worker).unwrap();
            let back = Returned {
                task,
                token,
                outcome: Outcome::Executed,
                digest: Some(RIGHT),
            };
            (run.engine).take_back(second(at), worker, &back, &mut run.out);
        }
    }
    assert!(run.engine.is_over());
    run
}

#[test]
fn trust_goes_with_the_token_into_the_next_run_and_not_with_number_or_name() {
    let (twelve, hundred) = (dag(12), dag(100));
    let first = trusted_run(&twelve);
    let alone = |run: &mut Run<'_>, client: u32| {
        let worker = run.join_as("v1", of(client));
        let (mut alone, mut at) = (0, 0);
        while let Ok(Granted { task, token, .. }) = run.ask(at, worker) {
            at += 1;
            let back = Returned {
                task,
                token,
                outcome: Outcome::Executed,
                digest: Some(RIGHT),
            };
            (run.engine).take_back(second(at), worker, &back, &mut run.out);
            let standing = run.engine.position().standing(task);
            alone += usize::from(standing == Ok(Standing::Executed));
        }
        alone
    };
    // Anna is number 2 here, and calls herself as before.
    let mut run = next_run(&first, &hundred, &["clara", "anna"], 2);
    let counted = alone(&mut run, 2);
    assert!(
        (70..100).contains(&counted),
        "most of it, not all: {counted}"
    );
    let remembered = |run: &Run<'_>| {
        let of = |e: &&cairn_engine::Entry| matches!(e.event, Event::Remembered { .. });
        run.out.entries.iter().filter(of).count()
    };
    assert_eq!(remembered(&run), 1);
    // A stranger who has Anna's number and name of before gets nothing of hers.
    let mut run = next_run(&first, &hundred, &["clara", "anna"], 2);
    assert_eq!(alone(&mut run, 1), 0);
    assert_eq!(remembered(&run), 0);
    // Nobody counts alone where more must agree than those who confirmed it, or where all is replicated.
    let mut run = next_run(&first, &hundred, &["clara", "anna"], 4);
    assert_eq!(alone(&mut run, 2), 0);
    let record = run.engine.trust().record(ClientId(2)).unwrap();
    assert_eq!((record.valid, record.row), (12, 0));
}

#[test]
fn a_liar_begins_the_next_run_as_one() {
    let dag = dag(1);
    let mut rules = rules(2);
    rules.distrust.identities = ["anna", "berta", "clara"].map(String::from).to_vec();
    let mut run = Run::new(&dag, rules);
    let all = [1, 2, 3].map(|client| run.volunteer(client));
    for (worker, digest) in [(all[0], Digest([6, 6])), (all[1], RIGHT), (all[2], RIGHT)] {
        let token = run.give(1, worker);
        run.back(2, worker, token, digest);
    }
    assert_eq!(run.standing(), Standing::Executed);
    let mut next = next_run(&run, &dag, &["berta", "anna"], 2);
    for client in 1..=2 {
        next.volunteer(client);
    }
    let record = |client| next.engine.trust().record(ClientId(client)).unwrap();
    let anna = record(2);
    assert_eq!((anna.invalid, anna.row, anna.quota), (1, 0, 1));
    assert_eq!((record(1).invalid, record(1).row), (0, 1));
}

/// Whoever says each time that the answer got lost has half its time anew each time, but not for ever: it never admits to have the
/// task, and would keep it from all others.
#[test]
fn who_never_hears_of_its_task_does_not_keep_it() {
    let dag = dag(1);
    let mut run = Run::new(&dag, rules(2));
    let deaf = run.volunteer(0);
    run.give(0, deaf);
    let mut at = 0;
    while run.engine.attempts(T).next().is_some() {
        at += 2;
        assert!(at < 1000, "it keeps the task");
        let now = second(at);
        (run.engine).exchange(now, deaf, &[], Some(&[]), 0, &mut run.out);
        run.wake(at);
    }
    assert!(at > 20, "it had more than its time");
}
