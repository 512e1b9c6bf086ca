//! Eligible tasks to lanes, by earliest expected end. Gives no copies.

use super::lanes::{Free, LaneId};
use super::{Dispatch, Fit, Move};
use crate::WorkerId;
use crate::budgets::dispatch::ELIGIBLE;
use cairn_dag::TaskId;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A lane as a task finds it: free at a time, after what was kept for it before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    free: Free,
    /// Whether a task can start there now,
    is_open: bool,
    /// in place of a copy that others will end sooner.
    stops: bool,
}

impl Eq for Slot {}

impl Ord for Slot {
    fn cmp(&self, other: &Slot) -> Ordering {
        // Of two that are free at once, first the one that has nothing to stop.
        let place = |slot: &Slot| (slot.stops, slot.free.lane);
        (self.free.at.total_cmp(&other.free.at)).then(place(self).cmp(&place(other)))
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Slot) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A class of speed: busy lanes by when they are free, and beside them those that are open, and kept ones.
struct SpeedClass<'l> {
    number: usize,
    busy: &'l [Free],
    beside: BinaryHeap<Reverse<Slot>>,
}

impl SpeedClass<'_> {
    /// The lane that is free first; where there is none, one that never is.
    fn head(&self, now: f64) -> Slot {
        let busy = self.busy.first().map(|&free| Slot {
            free: Free {
                at: free.at.max(now),
                ..free
            },
            is_open: false,
            stops: false,
        });
        let beside = self.beside.peek().map(|b| b.0);
        let first = match (busy, beside) {
            (Some(busy), Some(beside)) => Some(busy.min(beside)),
            (busy, beside) => busy.or(beside),
        };
        first.unwrap_or(Slot {
            free: Free {
                at: f64::INFINITY,
                // Whichever: nobody looks at one that is never free.
                lane: LaneId::default(),
                speed: 1.0,
            },
            is_open: false,
            stops: false,
        })
    }

    /// What was the head is free later.
    fn keep(&mut self, head: Slot, until: f64) {
        match self.beside.peek() {
            Some(&Reverse(beside)) if beside == head => {
                self.beside.pop();
            }
            // The row itself stays as it is: what is kept for a lane is a matter of this request alone.
            _ => self.busy = &self.busy[1..],
        }
        let free = Free {
            at: until,
            ..head.free
        };
        self.beside.push(Reverse(Slot {
            free,
            is_open: false,
            stops: false,
        }));
    }
}

impl Dispatch {
    /// What eligible tasks start at whom. `fit` says whether a worker can do a task, once it has stopped another where one is
    /// named. The moves hold together, and for the moment at which they were asked for.
    pub(crate) fn place(
        &mut self,
        now: f64,
        asking: &[(WorkerId, usize)],
        fit: &mut dyn FnMut(TaskId, WorkerId, Option<TaskId>) -> Fit,
    ) -> Vec<Move> {
        self.kept.clear();
        if !self.outlook.has_eligible() {
            return Vec::new();
        }
        self.look(now);
        let idle = self.idle(asking);
        let redundant = self.redundant(now);
        // Lanes that can take something now; once they are gone, whatever follows could only be kept.
        let mut left = idle.len() + redundant.len();
        if left == 0 {
            return Vec::new();
        }
        let mut classes = self.classes(now, &idle, &redundant);
        let mut heads: Vec<Slot> = classes.iter().map(|class| class.head(now)).collect();
        let mut moves = Vec::new();
        let mut kept = Vec::new();
        let mut looked = 0;
        for task in self.outlook.eligible().take(ELIGIBLE) {
            if left == 0 {
                break;
            }
            looked += 1;
            let mut barred = 0;
            // One comparison a class of speed, not a worker.
            let Some((end, i, head)) = self.soonest(task, &heads, &mut barred, fit) else {
                // Those who come first in their classes cannot do it; perhaps somebody else who is idle can.
                let able = (barred != 0)
                    .then(|| self.able(task, &idle, &moves, fit))
                    .flatten();
                if let Some(lane) = able {
                    moves.push((task, lane));
                    left -= 1;
                    for (class, head) in classes.iter_mut().zip(&mut heads) {
                        class.beside.retain(|s| s.0.free.lane != lane);
                        *head = class.head(now);
                    }
                }
                continue;
            };
            let lane = head.free.lane;
            match head.is_open {
                true => {
                    moves.push((task, lane));
                    left -= 1;
                    // Who has to stop something first asks again once it has.
                    if head.stops {
                        kept.push((task, self.lanes.worker(lane)));
                    }
                }
                false => kept.push((task, self.lanes.worker(lane))),
            }
            // Also for a task that starts: the next one finds this lane free only after it.
            classes[i].keep(head, end);
            heads[i] = classes[i].head(now);
        }
        if left > 0 && looked == ELIGIBLE {
            self.fill(&idle, &mut moves, fit);
        }
        if moves.is_empty() && self.lanes.busy_count() == 0 {
            // Whoever waits for somebody that is not at work waits for ever.
            let mut tasks = self.outlook.eligible().take(ELIGIBLE);
            let first = tasks.find_map(|task| Some((task, self.able(task, &idle, &[], fit)?)));
            moves.extend(first);
        }
        drop(classes);
        self.kept = kept;
        let finished = |(task, lane): (TaskId, LaneId)| Move {
            task,
            worker: self.lanes.worker(lane),
            instead_of: self.lanes.busy(lane).map(|busy| busy.task),
        };
        moves.into_iter().map(finished).collect()
    }

    /// The first idle lane that no move takes, and whose worker can do the task.
    fn able(
        &self,
        task: TaskId,
        idle: &[LaneId],
        moves: &[(TaskId, LaneId)],
        fit: &mut dyn FnMut(TaskId, WorkerId, Option<TaskId>) -> Fit,
    ) -> Option<LaneId> {
        let is_open = |lane: &LaneId| !moves.iter().any(|&(_, taken)| taken == *lane);
        let mut open = idle.iter().copied().filter(is_open);
        open.find(|&lane| fit(task, self.lanes.worker(lane), None) == Fit::Now)
    }

    /// The class whose next lane ends the task first, of those that can do it: with that end, its number and that lane. `barred`
    /// gets those that cannot, a bit each.
    fn soonest(
        &self,
        task: TaskId,
        heads: &[Slot],
        barred: &mut u128,
        fit: &mut dyn FnMut(TaskId, WorkerId, Option<TaskId>) -> Fit,
    ) -> Option<(f64, usize, Slot)> {
        let work = self.outlook.work(task);
        loop {
            let (mut least, mut best) = (f64::INFINITY, None);
            for (i, head) in heads.iter().enumerate() {
                let end = head.free.at + work / head.free.speed;
                if end < least && *barred >> i & 1 == 0 {
                    (least, best) = (end, Some(i));
                }
            }
            let i = best?;
            let head = heads[i];
            let stopped = self.to_stop(head);
            match fit(task, self.lanes.worker(head.free.lane), stopped) {
                Fit::Never => *barred |= 1 << i,
                // It lacks something that others have: the next task may not.
                Fit::Later if head.is_open => return None,
                _ => return Some((least, i, head)),
            }
        }
    }

    /// There is more to do than was looked at: nobody stays idle.
    fn fill(
        &self,
        idle: &[LaneId],
        moves: &mut Vec<(TaskId, LaneId)>,
        fit: &mut dyn FnMut(TaskId, WorkerId, Option<TaskId>) -> Fit,
    ) {
        let taken: Vec<LaneId> = moves.iter().map(|&(_, lane)| lane).collect();
        let mut rest = self.outlook.eligible().skip(ELIGIBLE);
        for &lane in idle.iter().filter(|lane| !taken.contains(lane)) {
            let worker = self.lanes.worker(lane);
            // What one was shown and cannot do is not shown to the next: else each would go over all that is eligible.
            let mut some = rest.by_ref().take(ELIGIBLE);
            match some.find(|&t| fit(t, worker, None) == Fit::Now) {
                Some(task) => moves.push((task, lane)),
                None => break,
            }
        }
    }

    /// What a lane that is open has to stop first: a copy that others will end sooner.
    fn to_stop(&self, head: Slot) -> Option<TaskId> {
        let busy = self.lanes.busy(head.free.lane).filter(|_| head.stops);
        busy.map(|busy| busy.task)
    }

    fn classes(&self, now: f64, idle: &[LaneId], redundant: &[LaneId]) -> Vec<SpeedClass<'_>> {
        let mut classes: Vec<SpeedClass<'_>> = (self.lanes.classes())
            .map(|(number, busy)| SpeedClass {
                number,
                busy,
                beside: BinaryHeap::new(),
            })
            .collect();
        for class in classes.iter_mut().filter(|_| !redundant.is_empty()) {
            // A lane that is open is not also one that will be free later.
            if class.busy.iter().any(|f| redundant.contains(&f.lane)) {
                let busy = class.busy.iter().filter(|f| !redundant.contains(&f.lane));
                class.beside = busy
                    .map(|&free| Free {
                        at: free.at.max(now),
                        ..free
                    })
                    .map(|free| {
                        Reverse(Slot {
                            free,
                            is_open: false,
                            stops: false,
                        })
                    })
                    .collect();
                class.busy = &[];
            }
        }
        for &lane in idle.iter().chain(redundant) {
            let worker = self.lanes.worker(lane);
            let number = self.lanes.class(worker);
            let stops = self.lanes.busy(lane).is_some();
            let slot = Slot {
                free: Free {
                    at: now,
                    lane,
                    speed: self.lanes.speed(worker),
                },
                is_open: true,
                stops,
            };
            // They are by falling number: the fastest first.
            let at = match classes.binary_search_by(|c| number.cmp(&c.number)) {
                Ok(at) => at,
                Err(at) => {
                    let beside = BinaryHeap::new();
                    let busy = &[][..];
                    classes.insert(
                        at,
                        SpeedClass {
                            number,
                            busy,
                            beside,
                        },
                    );
                    at
                }
            };
            classes[at].beside.push(Reverse(slot));
        }
        classes
    }
}
