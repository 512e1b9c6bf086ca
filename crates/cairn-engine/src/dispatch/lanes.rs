//! Places where tasks run: a worker has as many lanes as processors. When each will be free, by class of speed. Knows no
//! dag.

use crate::book::{Book, KnownId};
use crate::budgets::dispatch::LANES_A_WORKER;
use crate::{KindId, WorkerId};
use cairn_dag::TaskId;
use std::collections::BTreeSet;

/// Speeds are told apart by factors of e^(1/4); beyond e^8 not at all.
// A task is compared with the first lane of each class, not with every worker.
const STEPS: f64 = 4.0;
// Placing has a bit for each, in a number of 128 bits.
const CLASSES: usize = 65;

cairn_kernel::ids! {
    /// A lane, by number.
    pub(super) LaneId,
}

/// A lane that is free at a time, and how fast it is then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Free {
    pub(super) at: f64,
    pub(super) lane: LaneId,
    pub(super) speed: f64,
}

/// What a lane runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Busy {
    pub(super) task: TaskId,
    pub(super) kind: KindId,
    pub(super) base: f64,
    pub(super) since: f64,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    worker: WorkerId,
    who: KnownId,
    busy: Option<Busy>,
    /// Where it is in its class.
    class: usize,
    free: Free,
    /// The next lane that runs the same task: it began earlier.
    next: Option<LaneId>,
}

/// The lanes of all workers. Busy ones are sorted by class and by when they will be free, as far as is known: a lane is
/// looked at again when it comes first.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    unused: Vec<LaneId>,
    /// By worker: its lanes, and whom the book knows it as.
    of: Vec<Vec<LaneId>>,
    /// Workers that have lanes.
    here: BTreeSet<WorkerId>,
    /// None of those that nobody remembers.
    who: Vec<Option<KnownId>>,
    classes: Vec<Vec<Free>>,
    /// By task: the lane that began with it last.
    newest: Vec<Option<LaneId>>,
    busy: usize,
    /// By worker: the speed that is believed in; of all present lanes their sum, and that of squares.
    speed: Vec<f64>,
    pub(super) sum: f64,
    pub(super) squares: f64,
}

fn class_of(speed: f64) -> usize {
    let middle = (CLASSES / 2) as f64;
    (middle + STEPS * libm::log(speed))
        .round()
        .clamp(0.0, CLASSES as f64 - 1.0) as usize
}

impl Lanes {
    pub(super) fn new(tasks: usize) -> Lanes {
        Lanes {
            newest: vec![None; tasks],
            classes: vec![Vec::new(); CLASSES],
            ..Lanes::default()
        }
    }

    /// A worker came: the next number is its own.
    pub(super) fn join(&mut self, who: KnownId, cpus: u32, book: &Book) {
        let worker = WorkerId::new(self.of.len());
        let speed = book.speed(who);
        self.who.push(Some(who));
        self.speed.push(speed);
        let mut own = Vec::new();
        // Used again first: a worker that comes and goes all day takes the room of one.
        for _ in 0..cpus.min(LANES_A_WORKER) {
            let lane = Lane {
                worker,
                who,
                busy: None,
                class: 0,
                free: Free {
                    at: 0.0,
                    lane: LaneId::default(),
                    speed,
                },
                next: None,
            };
            own.push(match self.unused.pop() {
                Some(number) => {
                    self.lanes[number.index()] = lane;
                    number
                }
                None => {
                    self.lanes.push(lane);
                    LaneId::new(self.lanes.len() - 1)
                }
            });
        }
        if !own.is_empty() {
            self.here.insert(worker);
        }
        self.of.push(own);
        self.believe(book);
    }

    /// A number that nobody has any more.
    pub(super) fn skip(&mut self) {
        self.of.push(Vec::new());
        self.who.push(None);
        self.speed.push(1.0);
    }

    /// A worker went; it has nothing any more.
    pub(super) fn depart(&mut self, worker: WorkerId, book: &Book) {
        let own = std::mem::take(&mut self.of[worker.index()]);
        // Idle by now: whoever goes was told to have ended all it had.
        self.unused.extend(own);
        self.here.remove(&worker);
        self.believe(book);
    }

    /// Speeds anew.
    pub(super) fn believe(&mut self, book: &Book) {
        (self.sum, self.squares) = (0.0, 0.0);
        for &worker in &self.here {
            let own = &self.of[worker.index()];
            let speed = book.speed(self.known_as(worker));
            self.speed[worker.index()] = speed;
            self.sum += speed * own.len() as f64;
            self.squares += speed * speed * own.len() as f64;
        }
    }

    /// The speed of one worker anew.
    pub(super) fn believe_one(&mut self, worker: WorkerId, book: &Book) {
        // By the difference, since every return comes here. What is rounded off goes when somebody comes or goes: `believe`.
        let own = self.of[worker.index()].len() as f64;
        let is = book.speed(self.known_as(worker));
        let was = std::mem::replace(&mut self.speed[worker.index()], is);
        self.sum += own * (is - was);
        self.squares += own * (is * is - was * was);
    }

    pub(super) fn speed(&self, worker: WorkerId) -> f64 {
        self.speed[worker.index()]
    }

    /// Work a second of a typical unit of work: where tasks go by themselves.
    pub(super) fn fast(&self) -> f64 {
        self.squares / self.sum
    }

    /// The mean square of speeds over the square of the mean; 1 where all are equal.
    pub(super) fn unevenness(&self) -> f64 {
        let count = (self.lanes.len() - self.unused.len()) as f64;
        match count > 0.0 {
            true => self.squares * count / (self.sum * self.sum),
            false => 1.0,
        }
    }

    pub(super) fn worker(&self, lane: LaneId) -> WorkerId {
        self.lanes[lane.index()].worker
    }

    /// Whom the book knows a worker as.
    pub(super) fn known_as(&self, worker: WorkerId) -> KnownId {
        self.who[worker.index()].expect("somebody remembers it")
    }

    pub(super) fn busy(&self, lane: LaneId) -> Option<Busy> {
        self.lanes[lane.index()].busy
    }

    /// How many lanes are busy.
    pub(super) fn busy_count(&self) -> usize {
        self.busy
    }

    pub(super) fn idle_of(&self, worker: WorkerId) -> impl Iterator<Item = LaneId> + '_ {
        let own = self.of.get(worker.index()).into_iter().flatten().copied();
        own.filter(|&lane| self.lanes[lane.index()].busy.is_none())
    }

    /// Lanes that run a task, the newest first.
    pub(super) fn running(&self, task: TaskId) -> impl Iterator<Item = LaneId> + '_ {
        std::iter::successors(self.newest[task.index()], |lane| {
            self.lanes[lane.index()].next
        })
    }

    /// Busy lanes, with when they were last expected to be free.
    pub(super) fn all_busy(&self) -> impl Iterator<Item = Free> + '_ {
        self.classes.iter().flatten().copied()
    }

    /// A worker begins with a task. `None` where it has no lane left: nobody counts on when that will end.
    pub(super) fn start(
        &mut self,
        worker: WorkerId,
        busy: Busy,
        now: f64,
        book: &Book,
    ) -> Option<LaneId> {
        let lane = self.idle_of(worker).next()?;
        let task = busy.task.index();
        self.lanes[lane.index()].busy = Some(busy);
        // A chain from the newest to the oldest: `redundant` spares the last of it.
        self.lanes[lane.index()].next = self.newest[task];
        self.newest[task] = Some(lane);
        self.busy += 1;
        let free = self.expected(lane, now, book);
        self.insert(free);
        Some(lane)
    }

    /// A worker is done with a task, or no longer at it. Since when it had it.
    pub(super) fn end(&mut self, worker: WorkerId, task: TaskId) -> Option<Busy> {
        let mut before = None;
        let found = self.running(task).find(|&lane| {
            let is_it = self.lanes[lane.index()].worker == worker;
            if !is_it {
                before = Some(lane);
            }
            is_it
        })?;
        let next = self.lanes[found.index()].next;
        match before {
            None => self.newest[task.index()] = next,
            Some(before) => self.lanes[before.index()].next = next,
        }
        self.remove(found);
        self.busy -= 1;
        self.lanes[found.index()].next = None;
        self.lanes[found.index()].busy.take()
    }

    /// When a busy lane is expected to be free, and how fast it seems by now.
    pub(super) fn expected(&self, lane: LaneId, now: f64, book: &Book) -> Free {
        let known = &self.lanes[lane.index()];
        match known.busy {
            None => Free {
                at: now,
                lane,
                speed: self.speed[known.worker.index()],
            },
            Some(Busy {
                kind, base, since, ..
            }) => {
                let elapsed = (now - since).max(0.0);
                Free {
                    // What is overdue may end at any moment, but not in the past.
                    at: (since + book.duration(known.who, kind, base, elapsed)).max(now),
                    lane,
                    speed: book.speed_at(known.who, kind, base, elapsed),
                }
            }
        }
    }

    fn insert(&mut self, free: Free) {
        let class = class_of(free.speed);
        let lane = &mut self.lanes[free.lane.index()];
        // Kept with the lane: only with just these is it found again in its row.
        (lane.class, lane.free) = (class, free);
        let row = &mut self.classes[class];
        let at = row.partition_point(|f| (f.at, f.lane) < (free.at, free.lane));
        row.insert(at, free);
    }

    fn remove(&mut self, lane: LaneId) {
        let Lane { class, free, .. } = self.lanes[lane.index()];
        let row = &mut self.classes[class];
        let at = row.partition_point(|f| (f.at, f.lane) < (free.at, free.lane));
        debug_assert_eq!(row[at].lane, lane);
        row.remove(at);
    }

    /// Looks at a lane again. Whether it is where it was.
    fn look_again(&mut self, lane: LaneId, now: f64, book: &Book) -> bool {
        let fresh = self.expected(lane, now, book);
        let was = self.lanes[lane.index()].free;
        // An expectation drifts a little with every look: a thousandth of what is left is no reason to move it.
        let is_same = (fresh.at - was.at).abs() <= 1e-3 * (fresh.at - now).max(1e-9)
            && class_of(fresh.speed) == self.lanes[lane.index()].class;
        if !is_same {
            self.remove(lane);
            self.insert(fresh);
        }
        is_same
    }

    /// Looks at all lanes again.
    pub(super) fn look_at_all(&mut self, now: f64, book: &Book) {
        let busy: Vec<LaneId> = self.all_busy().map(|f| f.lane).collect();
        for row in &mut self.classes {
            row.clear();
        }
        for lane in busy {
            let fresh = self.expected(lane, now, book);
            self.insert(fresh);
        }
    }

    /// Looks at lanes that should be free by now, some of every class. Those that will be free later.
    pub(super) fn look_at_first(&mut self, now: f64, book: &Book, most: usize) -> Vec<LaneId> {
        let mut moved = Vec::new();
        for class in 0..self.classes.len() {
            let mut looks = most;
            while let Some(first) = self.classes[class].first().copied() {
                let is_due = first.at <= now;
                if looks == 0 || !is_due || self.look_again(first.lane, now, book) {
                    break;
                }
                moved.push(first.lane);
                looks -= 1;
            }
        }
        moved
    }

    /// When a busy lane was last expected to be free.
    pub(super) fn known(&self, lane: LaneId) -> Free {
        self.lanes[lane.index()].free
    }

    /// Classes that have busy lanes, fastest first, each sorted by when they will be free.
    pub(super) fn classes(&self) -> impl Iterator<Item = (usize, &[Free])> {
        let rows = self.classes.iter().enumerate().rev();
        rows.filter(|(_, row)| !row.is_empty())
            .map(|(class, row)| (class, row.as_slice()))
    }

    /// The class of an idle lane.
    pub(super) fn class(&self, worker: WorkerId) -> usize {
        class_of(self.speed[worker.index()])
    }
}
