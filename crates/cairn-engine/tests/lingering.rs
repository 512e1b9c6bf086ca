//! What a worker that was given up for lost goes on with takes its room; what it has returned itself, or was told to stop, does not.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Cause, Copies, Engine, Entry, Event, Frozen, Granted, Moment, Offer, Order, Outbox, Outcome,
    Refusal, Release, Rules, Token, WorkerId,
};

const NOW: Moment = Moment(0);

struct Stage<'d> {
    engine: Engine<Frozen<'d>>,
    out: Outbox,
}

impl<'d> Stage<'d> {
    fn new(dag: &'d Dag) -> Stage<'d> {
        let rules = Rules {
            copies: Copies::All,
            retries: 3,
            ..Rules::default()
        };
        let order: Vec<TaskId> = dag.tasks().collect();
        let mut engine = Engine::new(Frozen::new(dag), rules, Order::of(&order));
        let mut out = Outbox::default();
        engine.open(NOW, &mut out);
        Stage { engine, out }
    }

    fn join(&mut self, name: &str) -> WorkerId {
        (self.engine).join(NOW, name, Offer::cpus(1), &mut self.out)
    }

    fn ask(&mut self, worker: WorkerId) -> Result<Vec<Granted>, Refusal> {
        self.engine.ask(NOW, worker, 1, &mut self.out)
    }
}

fn two() -> Dag {
    Dag::from_arcs(2, Vec::new()).unwrap()
}

#[test]
fn a_copy_that_was_stopped_to_make_room_takes_none() {
    let dag = two();
    let mut stage = Stage::new(&dag);
    let (a, b) = (stage.join("a"), stage.join("b"));
    let first = stage.ask(a).unwrap()[0];
    let task = first.task;
    let token = Token {
        attempt: first.token.attempt + 1,
        ..first.token
    };
    let leased = Event::Leased {
        task,
        token,
        worker: b,
        due: None,
    };
    let released = Event::Released {
        task,
        token,
        why: Release::Redundant,
        for_good: false,
    };
    for event in [leased, released] {
        stage.engine.replay(&Entry { at: NOW, event }).unwrap();
    }
    // It hears of it only with the answer to this.
    let held = [(task, token)];
    (stage.engine.heartbeat(NOW, b, &held, &mut stage.out)).unwrap();
    assert!(stage.ask(b).is_ok());
}

#[test]
fn what_came_back_is_not_gone_on_with_whatever_a_late_heartbeat_names() {
    let failed = Outcome::Failed {
        exit: 1,
        cause: Cause::Exit,
    };
    for outcome in [Outcome::GivenBack, failed] {
        let dag = two();
        let mut stage = Stage::new(&dag);
        let worker = stage.join("w");
        let Granted { task, token, .. } = stage.ask(worker).unwrap()[0];
        let back = [(task, token, outcome)];
        (stage.engine).exchange(NOW, worker, &back, None, 0, &mut stage.out);
        let held = [(task, token)];
        (stage.engine.heartbeat(NOW, worker, &held, &mut stage.out)).unwrap();
        assert!(stage.ask(worker).is_ok(), "{outcome:?}");
    }
}

#[test]
fn what_goes_on_after_a_loss_takes_its_room_and_is_told_when_it_is_free() {
    let dag = two();
    let mut stage = Stage::new(&dag);
    let worker = stage.join("w");
    let Granted { task, token, .. } = stage.ask(worker).unwrap()[0];
    let gone = Moment(1 + Rules::default().silence.0);
    stage.engine.wake(gone, &mut stage.out);
    let again = (stage.engine).join(gone, "w", Offer::cpus(1), &mut stage.out);
    let held = [(task, token)];
    (stage.engine.heartbeat(gone, again, &held, &mut stage.out)).unwrap();
    assert_eq!(
        stage.engine.ask(gone, again, 1, &mut stage.out).map(|_| ()),
        Err(Refusal::Full)
    );
    assert!(!stage.out.has_room);
    (stage.engine.heartbeat(gone, again, &[], &mut stage.out)).unwrap();
    assert!(stage.out.has_room, "whoever waits must be asked again");
    assert!(stage.engine.ask(gone, again, 1, &mut stage.out).is_ok());
}

/// The answer that gave it out was so late that it was taken for lost on the way: begun all the same, it takes its room.
#[test]
fn what_was_never_heard_of_and_is_begun_after_all_takes_its_room() {
    let dag = two();
    let mut stage = Stage::new(&dag);
    let worker = stage.join("w");
    let Granted { task, token, .. } = stage.ask(worker).unwrap()[0];
    for _ in 0..2 {
        (stage.engine.heartbeat(NOW, worker, &[], &mut stage.out)).unwrap();
    }
    let is_unheard = |entry: &Entry| {
        let unheard = Release::Unheard;
        matches!(entry.event, Event::Released { why, .. } if why == unheard)
    };
    assert!(stage.out.entries.iter().any(is_unheard));
    let held = [(task, token)];
    let stale = stage.engine.heartbeat(NOW, worker, &held, &mut stage.out);
    let asked = stage.ask(worker);
    // Either it is to stop, or it is counted.
    assert!(
        stale.unwrap() == held || asked == Err(Refusal::Full),
        "{asked:?}"
    );
}
