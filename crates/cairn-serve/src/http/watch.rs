//! A thread beside the desk that follows the journal for those who watch, and tells them what changed a few times a second. Where
//! nobody watches it sleeps: a run costs nothing more. Decides nothing.

use super::Shared;
use super::desk::{Ask, Picture};
use super::logs::Logs;
use super::picture;
use super::types::{Presence, Status, TrustStatus};
use crate::budgets::report::{LOG_BYTES, LOGS, NAMED};
use crate::clock::Clock;
use crate::live::{
    AttemptTold, Bound, DagMap, Live, Plan, Scene, StorageTold, Subject, TrustTold, Update, few,
    profile,
};
use crate::report::Saved;
use crate::store::{EVENTS, Reader, StoreError};
use cairn_engine::{Rules, Task, Token};
use hyper::body::Bytes;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc as pipe, oneshot};

/// Changes are told no more often than this.
// A fourth of a second looks like at once; each time costs a look at the journal and words for everybody who watches.
const TICK: Duration = Duration::from_millis(250);
/// Where nothing changes, that is told so often.
// By that a page knows that what it shows is fresh.
const PULSE: Duration = Duration::from_secs(2);
/// Whoever takes nothing for so long watches no more.
// As long as other answers wait for their far end; a page that was only asleep comes back by itself.
const STALLED: Duration = Duration::from_secs(30);
/// Where nobody watches, so long nothing has to be done.
// Whoever asks ends the wait: any time would do that can be added to a clock.
const ASLEEP: Duration = Duration::from_secs(3600);

/// What is shown beside the run itself.
pub trait Sight: Send + Sync {
    /// The tasks.
    fn subject(&self) -> &dyn Subject;

    /// What the run is called.
    fn title(&self) -> String;

    /// The dag as boxes, and the box of each task. It may take a while.
    fn map(&self) -> Option<(DagMap, Vec<u32>)>;

    /// What no order exceeds, as soon as it is known. Whoever asks wants it to be looked for. Of a family, whose own order is the best
    /// there is, that is what its order gives.
    fn bound(&self) -> Option<Arc<Bound>>;
}

/// What the thread is asked.
pub(crate) enum Look {
    /// Somebody watches from now on.
    Watch(pipe::Sender<std::io::Result<Bytes>>),
    /// What became of a task's attempts.
    Attempts(Task, oneshot::Sender<Vec<AttemptTold>>),
    /// The run as one file.
    Report(oneshot::Sender<String>),
    /// The run is over, or the server ends: a last word to everybody.
    End,
}

struct Watcher {
    to: pipe::Sender<std::io::Result<Bytes>>,
    /// Since when: it was too slow for a change, and must be told everything.
    behind: Option<Instant>,
}

impl Watcher {
    /// Tells it something. If it has not taken what it was told before, it is behind.
    fn tell(&mut self, text: &Bytes) {
        // Never waits: one page on a bad line must not hold up the others. A change that is left out
        // makes all later ones useless to it, so it hears nothing more until it can take the whole.
        self.behind = match self.to.try_send(Ok(text.clone())) {
            Err(TrySendError::Full(_)) => self.behind.or_else(|| Some(Instant::now())),
            _ => None,
        };
    }

    /// Whether it is worth telling it anything more.
    fn is_there(&self) -> bool {
        !self.to.is_closed() && self.behind.is_none_or(|since| since.elapsed() < STALLED)
    }
}

/// What the thread needs.
pub(crate) struct Follower {
    pub(crate) sight: Option<Arc<dyn Sight>>,
    pub(crate) rules: Rules,
    pub(crate) state: PathBuf,
    pub(crate) tasks: Option<u64>,
    pub(crate) desk: mpsc::Sender<Ask>,
}

/// Follows a run until nobody can ask any more.
fn follow(setup: &Follower, inbox: &mpsc::Receiver<Look>) {
    // Nothing is made before somebody looks.
    let Ok(first) = inbox.recv() else { return };
    if matches!(first, Look::End) {
        return;
    }
    let map = setup.sight.as_ref().and_then(|sight| sight.map());
    let (map, box_of) = map.map_or((None, Vec::new()), |(map, of)| (Some(map), of));
    let sight = setup.sight.as_deref();
    let scene = Scene {
        title: sight.map_or_else(|| "Cairn".to_owned(), Sight::title),
        tasks: setup.tasks,
        map,
    };
    let live = sight.map(|sight| Live::new(sight.subject(), &setup.rules, &box_of));
    let mut thread = Thread::new(setup, live, scene);
    thread.handle(first);
    loop {
        // Ticks go on only while somebody watches: else nothing wakes this thread.
        let wait = match thread.watchers.is_empty() {
            true => ASLEEP,
            false => (thread.looked + TICK).saturating_duration_since(Instant::now()),
        };
        match inbox.recv_timeout(wait) {
            Ok(Look::End) => {
                thread.tell_changes(true);
                return;
            }
            Ok(look) => thread.handle(look),
            Err(mpsc::RecvTimeoutError::Timeout) => (),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        // However much is asked meanwhile, those who watch are told in time.
        if !thread.watchers.is_empty() && thread.looked.elapsed() >= TICK {
            thread.tell_changes(false);
        }
    }
}

struct Thread<'a> {
    setup: &'a Follower,
    /// `None`: nobody said what the tasks are, and only counts are told.
    live: Option<Live<'a>>,
    scene: Scene,
    plan: Option<Plan>,
    reader: Option<Reader>,
    clock: Clock,
    watchers: Vec<Watcher>,
    status: Option<(Status, Option<StorageTold>)>,
    /// When the journal was last looked at, and when somebody was last told.
    looked: Instant,
    told: Instant,
}

fn event(name: &str, data: &impl Serialize) -> Bytes {
    let json = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("event: {name}\ndata: {json}\n\n"))
}

impl<'a> Thread<'a> {
    fn new(setup: &'a Follower, live: Option<Live<'a>>, scene: Scene) -> Thread<'a> {
        Thread {
            setup,
            live,
            scene,
            plan: None,
            reader: None,
            clock: Clock::new(),
            watchers: Vec::new(),
            status: None,
            looked: Instant::now(),
            told: Instant::now(),
        }
    }

    fn handle(&mut self, look: Look) {
        // Where the journal cannot be read there is nothing new to tell: the desk will say why, or already has.
        let _ = self.read();
        match look {
            Look::Watch(to) => {
                self.ask_status();
                // The others hear what is new first: what this one is told now comes to nobody as a change again.
                let changes = self.changes();
                self.send(&changes);
                if self.find_plan() {
                    let plan = self.plan.as_ref().map(|plan| event("plan", plan));
                    plan.into_iter().for_each(|text| self.send(&text));
                }
                let mut text = event("scene", &self.scene).to_vec();
                text.extend(self.plan.iter().flat_map(|plan| event("plan", plan)));
                text.extend(event("full", &self.whole()));
                let mut watcher = Watcher { to, behind: None };
                watcher.tell(&Bytes::from(text));
                self.watchers.push(watcher);
            }
            Look::Attempts(task, reply) => {
                let live = self.live.as_ref();
                // Who no longer listens asks again.
                let _ = reply.send(live.map_or_else(Vec::new, |live| live.attempts(task)));
            }
            Look::Report(reply) => {
                self.ask_status();
                self.find_plan();
                let _ = reply.send(self.report());
            }
            Look::End => (),
        }
    }

    /// Hears what happened since.
    fn read(&mut self) -> Result<bool, StoreError> {
        let Some(live) = &mut self.live else {
            return Ok(true);
        };
        let reader = match &self.reader {
            Some(reader) => reader,
            None => self.reader.insert(Reader::open(&self.setup.state)?),
        };
        let before = live.seq();
        // Of a family the events go once a snapshot has them: whoever did not hear them goes on from there.
        let forgets = self
            .setup
            .sight
            .as_ref()
            .is_some_and(|sight| sight.subject().dag().is_none());
        if forgets
            && reader.condensed()? > before
            && let Some((seq, at, snapshot)) = reader.snapshot()?
            && live.restore(seq, at, &snapshot).is_ok()
        {
            for watcher in &mut self.watchers {
                // They lack what was between: they are told everything.
                watcher.behind.get_or_insert_with(Instant::now);
            }
        }
        loop {
            let entries = reader.entries(live.seq(), EVENTS)?;
            for (seq, entry) in &entries {
                // A journal of another dag is refused when the server begins.
                let _ = live.hear(*seq, entry);
            }
            if entries.len() < EVENTS {
                return Ok(live.seq() != before);
            }
        }
    }

    /// The plan's profile and bound, where they changed.
    fn find_plan(&mut self) -> bool {
        let (Some(sight), Some(live)) = (&self.setup.sight, &self.live) else {
            return false;
        };
        let number = live.plan();
        let has = |plan: &Plan| plan.order == number;
        let mut is_new = false;
        if !self.plan.as_ref().is_some_and(has) {
            // Another order has another profile, but the bound is of the dag: it need not be looked for
            // again.
            let bound = self.plan.take();
            let order = || self.reader.as_ref().and_then(|r| r.order(number).ok()?);
            let order = || order().map(|order| order.into_iter().map(|task| Task(task.into())));
            let found = match sight.subject().dag() {
                Some(_) => order().map(|order| few(&profile(sight.subject(), order))),
                None => sight.bound().map(|bound| few(&bound.eligible)),
            };
            self.plan = found.map(|profile| Plan {
                order: number,
                profile,
                bound: bound.as_ref().and_then(|plan| plan.bound.clone()),
                verdict: bound.and_then(|plan| plan.verdict),
            });
            is_new = self.plan.is_some();
        }
        if let Some(plan) = self.plan.as_mut().filter(|plan| plan.bound.is_none())
            && let Some(bound) = sight.bound()
        {
            plan.bound = Some(few(&bound.eligible));
            plan.verdict = Some(bound.verdict);
            is_new = true;
        }
        is_new
    }

    /// What only the desk knows: who was heard of when, and storage.
    fn ask_status(&mut self) {
        let (reply, answer) = oneshot::channel();
        // The desk may have ended: then what it said last stands.
        if self.setup.desk.send(Ask::Status(reply)).is_err() {
            return;
        }
        if let Ok(seen) = answer.blocking_recv() {
            let seen: Picture = seen;
            let storage = seen.storage.as_ref().map(StorageTold::of);
            self.status = Some((picture::status(self.setup.tasks, seen), storage));
        }
    }

    fn whole(&self) -> Update {
        let now = self.clock.now();
        let update = match &self.live {
            Some(live) => live.whole(now),
            None => self.bare(),
        };
        self.completed(update)
    }

    /// Adds what only the desk knows.
    fn completed(&self, mut update: Update) -> Update {
        let Some((status, storage)) = &self.status else {
            return update;
        };
        update.storage = *storage;
        update.finished |= status.finished;
        for worker in update.workers.iter_mut().flatten() {
            let seen = status.workers.iter().find(|w| w.worker == worker.worker);
            if let Some(seen) = seen {
                worker.last_seen = Some(seen.last_seen).filter(|&at| at > 0.0);
                worker.speed = seen.speed;
                worker.turnaround = seen.turnaround;
                worker.reliability = seen.reliability;
                worker.trust = seen.trust.as_ref().map(trust_told);
            }
        }
        update
    }

    /// Where nothing but the desk is known: counts and workers.
    fn bare(&self) -> Update {
        let status = self.status.as_ref().map(|(status, _)| status);
        let workers = status.map_or(&[][..], |s| &s.workers);
        let told = workers.iter().map(|w| crate::live::WorkerTold {
            worker: w.worker,
            name: w.name.clone(),
            state: match w.state {
                Presence::Here => "here",
                Presence::Left => "left",
                Presence::Lost => "lost",
            },
            cpus: w.cpus,
            leased: w.leased,
            executed: w.executed,
            failed: w.failed,
            lost: w.lost,
            last_seen: Some(w.last_seen),
            tags: w.tags.clone(),
            speed: w.speed,
            turnaround: w.turnaround,
            reliability: w.reliability,
            volunteer: w.trust.as_ref().map(|trust| trust.volunteer),
            trust: w.trust.as_ref().map(trust_told),
            idle: crate::live::Idle::default(),
        });
        let of = |count: fn(&Status) -> Option<u64>| status.and_then(count);
        Update {
            now: self.clock.now().0 as f64 / 1e6,
            seq: 0,
            began: None,
            counts: [
                of(|s| s.waiting),
                of(|s| s.eligible),
                of(|s| s.leased),
                of(|s| s.executed),
                of(|s| s.failed),
                of(|s| s.aborted),
                of(|s| s.cancelled),
            ],
            paused: status.is_some_and(|s| s.paused),
            finished: status.is_some_and(|s| s.finished),
            halted: status.and_then(|s| s.halted),
            rate: None,
            eta_seconds: None,
            idle: crate::live::Idle::default(),
            running: Vec::new(),
            curve: Vec::new(),
            spans: Vec::new(),
            boxes: Vec::new(),
            workers_in_all: workers.len(),
            workers: Some(told.collect()),
            failures: None,
            failures_in_all: 0,
            slowest: None,
            path: None,
            storage: None,
        }
    }

    fn tell_changes(&mut self, is_last: bool) {
        self.watchers.retain(Watcher::is_there);
        if self.watchers.is_empty() {
            return;
        }
        self.looked = Instant::now();
        let mut news = self.read().unwrap_or(false);
        if self.find_plan() {
            let text = self.plan.as_ref().map(|plan| event("plan", plan));
            text.into_iter().for_each(|text| self.send(&text));
            news = true;
        }
        if !news && !is_last && self.told.elapsed() < PULSE {
            return;
        }
        self.told = Instant::now();
        self.ask_status();
        let text = self.changes();
        self.send(&text);
        // All that is so is put into words only for somebody who can take it.
        let catches_up = |w: &Watcher| w.behind.is_some() && w.to.capacity() > 0;
        if self.watchers.iter().any(catches_up) {
            let whole = event("full", &self.whole());
            let all = self.watchers.iter_mut().filter(|w| catches_up(w));
            all.for_each(|watcher| watcher.tell(&whole));
        }
    }

    /// What is new since this was last asked, as an event.
    fn changes(&mut self) -> Bytes {
        let now = self.clock.now();
        let update = match &mut self.live {
            Some(live) => live.changes(now),
            None => self.bare(),
        };
        event("delta", &self.completed(update))
    }

    /// To everybody who has heard all that came before.
    fn send(&mut self, text: &Bytes) {
        let hear = self.watchers.iter_mut().filter(|w| w.behind.is_none());
        hear.for_each(|watcher| watcher.tell(text));
    }

    fn report(&self) -> String {
        let mut update = self.whole();
        let logs = Logs::open(&self.setup.state.join("logs")).ok();
        for failure in update.failures.iter_mut().flatten().take(LOGS) {
            let attempts = (self.live.as_ref()).map(|live| live.attempts(Task(failure.id)));
            let attempts = attempts.unwrap_or_default();
            let attempt = attempts.iter().find(|a| a.attempt == failure.attempt);
            let token = attempt.map(|a| Token {
                epoch: a.epoch,
                attempt: a.attempt,
            });
            let text = logs
                .as_ref()
                .zip(token)
                .and_then(|(logs, token)| logs.read(Task(failure.id), Some(token), LOG_BYTES).ok());
            failure.log = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        }
        let sight = self.setup.sight.as_deref();
        let few = self.setup.tasks.filter(|&many| many <= NAMED);
        let saved = Saved {
            made: self.clock.now().0 as f64 / 1e6,
            scene: self.scene.clone(),
            plan: self.plan.clone(),
            update,
            names: sight.zip(few).map(|(sight, many)| {
                let tasks = (0..many).map(Task);
                tasks.map(|task| sight.subject().name(task)).collect()
            }),
        };
        saved.html()
    }
}

/// Starts the thread. It ends when it is told so, or when nobody can ask any more.
pub(crate) fn start(setup: Follower) -> std::io::Result<mpsc::Sender<Look>> {
    let (sender, inbox) = mpsc::channel();
    let thread = std::thread::Builder::new().name("cairn-watch".into());
    thread.spawn(move || follow(&setup, &inbox))?;
    Ok(sender)
}

impl Shared {
    /// Asks the thread.
    pub(crate) async fn look<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<T>) -> Look,
    ) -> super::fault::Reply<T> {
        let (reply, answer) = oneshot::channel();
        let ending = super::fault::Fault::ending;
        self.watch.send(make(reply)).map_err(|_| ending())?;
        answer.await.map_err(|_| ending())
    }
}

fn trust_told(trust: &TrustStatus) -> TrustTold {
    let &TrustStatus {
        valid,
        invalid,
        errors,
        late,
        ..
    } = trust;
    TrustTold {
        valid,
        invalid,
        errors,
        late,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_does_not_take_what_it_is_told_is_dropped_in_time_and_others_catch_up() {
        let (desk, _) = mpsc::channel();
        let setup = Follower {
            sight: None,
            rules: Rules::default(),
            state: PathBuf::new(),
            tasks: None,
            desk,
        };
        let scene = Scene {
            title: "test".to_owned(),
            tasks: None,
            map: None,
        };
        let mut thread = Thread::new(&setup, None, scene);
        let (stuck, _stuck) = pipe::channel(1);
        let (slow, mut hears) = pipe::channel(4);
        thread.handle(Look::Watch(stuck));
        thread.handle(Look::Watch(slow));
        // The first one has not taken its first word: there is nothing that it could be told.
        thread.tell_changes(true);
        let behind = |thread: &Thread<'_>| {
            let all = thread.watchers.iter().map(|w| w.behind.is_some());
            all.collect::<Vec<_>>()
        };
        assert_eq!(behind(&thread), [true, false]);
        let since = thread.watchers[0].behind;
        thread.tell_changes(true);
        assert_eq!(thread.watchers[0].behind, since, "behind since then");
        while thread.watchers[1].behind.is_none() {
            thread.tell_changes(true);
        }
        let mut told = || {
            let next = hears.try_recv().ok()?.ok()?;
            Some(String::from_utf8_lossy(&next).into_owned())
        };
        while told().is_some() {}
        let long_ago = Instant::now().checked_sub(STALLED);
        thread.watchers[0].behind = long_ago;
        thread.tell_changes(true);
        assert_eq!(
            behind(&thread),
            [false],
            "the first is gone, the other knows all"
        );
        assert!(told().is_some_and(|text| text.starts_with("event: full")));
    }
}
