//! The rule once more, by its definition: every lane, every running task and every level looked at anew at every request.

use super::dice::Dice;
use super::lanes::{Busy, Free, LaneId};
use super::{Dispatch, Fit, Move};
use crate::book::{Expected, Memory};
use crate::{KindId, WorkerId};
use cairn_dag::{Dag, TaskId};
use cairn_theory::game::Standing;

type Asking = [(WorkerId, usize)];

fn idle(d: &Dispatch, asking: &Asking) -> Vec<LaneId> {
    let mut idle = Vec::new();
    for &(worker, want) in asking {
        idle.extend(d.lanes.idle_of(worker).take(want));
    }
    idle.sort_by(|&a, &b| speed(d, b).total_cmp(&speed(d, a)));
    idle
}

fn speed(d: &Dispatch, lane: LaneId) -> f64 {
    d.book.speed(d.lanes.known_as(d.lanes.worker(lane)))
}

/// All busy lanes with what they run.
fn busy(d: &Dispatch) -> Vec<(LaneId, Busy)> {
    let lanes = d.lanes.all_busy().map(|f| f.lane);
    let mut busy: Vec<_> = lanes.map(|l| (l, d.lanes.busy(l).unwrap())).collect();
    busy.sort_by_key(|b| b.0);
    busy
}

fn left(d: &Dispatch, lane: LaneId, now: f64) -> f64 {
    let Busy {
        kind, base, since, ..
    } = d.lanes.busy(lane).unwrap();
    let who = d.lanes.known_as(d.lanes.worker(lane));
    (since + d.book.duration(who, kind, base, now - since)).max(now) - now
}

/// Copies of a task, the oldest first.
fn copies(d: &Dispatch, task: TaskId) -> Vec<LaneId> {
    let mut lanes: Vec<LaneId> = d.lanes.running(task).collect();
    lanes.reverse();
    let since = |l: LaneId| d.lanes.busy(l).unwrap().since;
    assert!(lanes.is_sorted_by(|&a, &b| since(a) <= since(b)));
    lanes
}

fn total_and_fast(d: &Dispatch, present: &[(WorkerId, u32)]) -> (f64, f64) {
    let each = |&(w, cpus): &(WorkerId, u32)| (d.book.speed(d.lanes.known_as(w)), f64::from(cpus));
    let sum: f64 = present.iter().map(each).map(|(s, c)| s * c).sum();
    let squares: f64 = present.iter().map(each).map(|(s, c)| s * s * c).sum();
    (sum, squares / sum)
}

fn horizon(d: &Dispatch, now: f64, (sum, fast): (f64, f64)) -> f64 {
    let mut running = Vec::new();
    for (lane, Busy { task, .. }) in busy(d) {
        if copies(d, task).last() == Some(&lane) {
            let work = d.outlook.work(task);
            running.push((task, (left(d, lane, now) * speed(d, lane)).min(work)));
        }
    }
    // Compared with its own definition elsewhere.
    d.outlook.horizon(sum, fast, running.into_iter())
}

struct Late {
    task: TaskId,
    left: f64,
    tail: f64,
    doubt: f64,
    copies: usize,
}

fn late(d: &Dispatch, now: f64, fast: f64) -> Vec<Late> {
    let mut tasks: Vec<TaskId> = busy(d).iter().map(|b| b.1.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let each = |task| {
        let lanes = d.lanes.running(task).map(|l| (left(d, l, now), l));
        let (left, lane) = lanes.reduce(|a, b| if b.0 < a.0 { b } else { a }).unwrap();
        Late {
            task,
            left,
            tail: d.outlook.tail(task) / fast,
            doubt: d.book.doubt(d.lanes.known_as(d.lanes.worker(lane))),
            copies: copies(d, task).len(),
        }
    };
    let mut late: Vec<Late> = tasks.into_iter().map(each).collect();
    late.sort_by(|a, b| {
        (b.left + b.tail)
            .total_cmp(&(a.left + a.tail))
            .then(b.task.cmp(&a.task))
    });
    late
}

/// How many tasks wait for a running one, and for nothing that nobody has begun with.
fn unlocks(d: &Dispatch, dag: &Dag, task: TaskId) -> usize {
    let is_begun = |p: &TaskId| !d.outlook.standing(*p).is_unbegun();
    let counts = |child: &&TaskId| {
        d.outlook.standing(**child) == Standing::Waiting
            && dag.parents(**child).iter().all(is_begun)
    };
    dag.children(task).iter().filter(counts).count()
}

fn has(d: &Dispatch, worker: WorkerId, task: TaskId, moves: &[Move]) -> bool {
    copies(d, task).iter().any(|&l| d.lanes.worker(l) == worker)
        || moves.iter().any(|m| m.worker == worker && m.task == task)
}

fn restart(
    d: &Dispatch,
    now: f64,
    asking: &Asking,
    present: &[(WorkerId, u32)],
    may: &dyn Fn(TaskId, WorkerId) -> bool,
) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    if !d.may_copy || !d.outlook.has_eligible() || d.lanes.busy_count() == 0 {
        return moves;
    }
    let (sum, fast) = total_and_fast(d, present);
    let horizon = horizon(d, now, (sum, fast));
    let mut late = late(d, now, fast);
    for lane in idle(d, asking) {
        let worker = d.lanes.worker(lane);
        let mut best: Option<(f64, usize)> = None;
        for (i, l) in late.iter().enumerate() {
            let work = d.outlook.work(l.task);
            let time = work / speed(d, lane);
            let gain = l.left + l.tail - horizon.max(time + l.tail);
            let (kind, base) = (d.outlook.kind(l.task), d.outlook.base(l.task));
            let mean = d.book.duration(d.lanes.known_as(worker), kind, base, 0.0);
            let pays = time < 0.9 * l.left && gain > work / sum && mean <= l.left;
            if pays
                && l.copies < 3
                && !has(d, worker, l.task, &moves)
                && may(l.task, worker)
                && best.is_none_or(|b| gain > b.0)
            {
                best = Some((gain, i));
            }
        }
        let Some((_, i)) = best else { continue };
        late[i].copies += 1;
        late[i].left = late[i]
            .left
            .min(d.outlook.work(late[i].task) / speed(d, lane));
        let task = late[i].task;
        moves.push(Move {
            task,
            worker,
            instead_of: None,
        });
    }
    moves
}

fn copy(
    (d, dag): (&Dispatch, &Dag),
    now: f64,
    asking: &Asking,
    present: &[(WorkerId, u32)],
    may: &dyn Fn(TaskId, WorkerId) -> bool,
) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    if !d.may_copy || d.lanes.busy_count() == 0 {
        return moves;
    }
    let (sum, fast) = total_and_fast(d, present);
    let mut late = late(d, now, fast);
    let longest = late.iter().map(|l| l.left + l.tail).fold(0.0, f64::max);
    let horizon = horizon(d, now, (sum, fast)).max(longest);
    for lane in idle(d, asking) {
        let worker = d.lanes.worker(lane);
        let doubt = d.book.doubt(d.lanes.known_as(worker));
        let mut best: Option<((bool, usize, f64), usize)> = None;
        for (i, l) in late.iter().enumerate() {
            let time =
                d.outlook.work(l.task) / speed(d, lane) * libm::exp(-(l.doubt + doubt).sqrt());
            let score = (l.copies == 1, unlocks(d, dag, l.task), l.left + l.tail);
            let pays = time < 0.9 * l.left && l.left + l.tail >= 0.6 * horizon;
            if pays
                && l.copies < 3
                && !has(d, worker, l.task, &moves)
                && may(l.task, worker)
                && best.is_none_or(|b| score > b.0)
            {
                best = Some((score, i));
            }
        }
        let Some((_, i)) = best else { continue };
        let l = &mut late[i];
        l.copies += 1;
        let time = d.outlook.work(l.task) / speed(d, lane);
        if time < l.left {
            (l.left, l.doubt) = (time, doubt);
        }
        moves.push(Move {
            task: l.task,
            worker,
            instead_of: None,
        });
    }
    moves
}

/// Lanes at copies that others end sooner, but for the oldest.
fn redundant(d: &Dispatch, now: f64) -> Vec<LaneId> {
    let mut redundant = Vec::new();
    for (lane, Busy { task, since, .. }) in busy(d) {
        let all = copies(d, task);
        let end = |l: LaneId| (left(d, l, now), d.lanes.busy(l).unwrap().since, l);
        let own = (left(d, lane, now), since, lane);
        if all[0] != lane && all.iter().any(|&o| o != lane && end(o) < own) {
            redundant.push(lane);
        }
    }
    redundant
}

/// Every lane: free when, how fast, in which class, and whether a task may start there.
fn all_lanes(d: &Dispatch, now: f64, idle: &[LaneId], redundant: &[LaneId]) -> Vec<(Free, bool)> {
    let mut lanes: Vec<(Free, bool)> = Vec::new();
    for (lane, own) in busy(d) {
        if !redundant.contains(&lane) {
            let who = d.lanes.known_as(d.lanes.worker(lane));
            let speed = (d.book).speed_at(who, own.kind, own.base, now - own.since);
            let at = now + left(d, lane, now);
            lanes.push((Free { at, lane, speed }, false));
        }
    }
    for &lane in idle.iter().chain(redundant) {
        let (at, speed) = (now, speed(d, lane));
        lanes.push((Free { at, lane, speed }, true));
    }
    lanes
}

/// The lane of each class that is free first, fastest class first.
fn heads(lanes: &[(Free, bool)], redundant: &[LaneId], barred: &[i32]) -> Vec<(i32, usize)> {
    let class = |s: f64| (4.0 * s.ln()).round().clamp(-32.0, 32.0) as i32;
    let mut numbers: Vec<i32> = lanes.iter().map(|l| class(l.0.speed)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.retain(|n| !barred.contains(n));
    let head = |n: i32| {
        let own = (0..lanes.len()).filter(|&i| class(lanes[i].0.speed) == n);
        own.min_by(|&a, &b| {
            let stops = |i: usize| lanes[i].1 && redundant.contains(&lanes[i].0.lane);
            (lanes[a].0.at.total_cmp(&lanes[b].0.at))
                .then(stops(a).cmp(&stops(b)))
                .then(lanes[a].0.lane.cmp(&lanes[b].0.lane))
        })
    };
    let fastest = numbers.into_iter().rev();
    fastest.map(|n| (n, head(n).unwrap())).collect()
}

fn place(
    d: &Dispatch,
    now: f64,
    asking: &Asking,
    fit: &dyn Fn(TaskId, WorkerId) -> Fit,
) -> Vec<Move> {
    let (idle, redundant) = (idle(d, asking), redundant(d, now));
    let mut lanes = all_lanes(d, now, &idle, &redundant);
    let mut tasks: Vec<TaskId> = (0..d.outlook.len())
        .map(TaskId::new)
        .filter(|&t| d.outlook.standing(t) == Standing::Eligible)
        .collect();
    let level = |t: TaskId| d.outlook.tail(t) + d.outlook.work(t);
    tasks.sort_by(|&a, &b| level(b).total_cmp(&level(a)).then(a.cmp(&b)));
    let mut moves: Vec<Move> = Vec::new();
    let mut open = idle.len() + redundant.len();
    let mut taken: Vec<LaneId> = Vec::new();
    for &task in tasks.iter().take(64) {
        if open == 0 {
            break;
        }
        let mut barred = Vec::new();
        let chosen = loop {
            let end = |i: usize| lanes[i].0.at + d.outlook.work(task) / lanes[i].0.speed;
            let heads = heads(&lanes, &redundant, &barred);
            let best = heads
                .into_iter()
                .reduce(|a, b| if end(b.1) < end(a.1) { b } else { a });
            let Some((number, i)) = best else { break None };
            match fit(task, d.lanes.worker(lanes[i].0.lane)) {
                Fit::Never => barred.push(number),
                Fit::Later if lanes[i].1 => break None,
                _ => break Some((i, end(i))),
            }
        };
        let start = |lane: LaneId| Move {
            task,
            worker: d.lanes.worker(lane),
            instead_of: d.lanes.busy(lane).map(|b| b.task),
        };
        match chosen {
            Some((i, end)) => {
                if lanes[i].1 {
                    moves.push(start(lanes[i].0.lane));
                    taken.push(lanes[i].0.lane);
                    open -= 1;
                }
                lanes[i] = (
                    Free {
                        at: end,
                        ..lanes[i].0
                    },
                    false,
                );
            }
            None if barred.is_empty() => (),
            None => {
                let able = idle
                    .iter()
                    .find(|&&l| !taken.contains(&l) && fit(task, d.lanes.worker(l)) == Fit::Now);
                if let Some(&lane) = able {
                    moves.push(start(lane));
                    taken.push(lane);
                    open -= 1;
                    lanes.retain(|l| l.0.lane != lane);
                }
            }
        }
    }
    if moves.is_empty() && busy(d).is_empty() {
        for &task in &tasks {
            if let Some(&lane) = idle
                .iter()
                .find(|&&l| fit(task, d.lanes.worker(l)) == Fit::Now)
            {
                moves.push(Move {
                    task,
                    worker: d.lanes.worker(lane),
                    instead_of: None,
                });
                break;
            }
        }
    }
    moves
}

/// A run with everything random: who comes and goes, how long tasks take, who asks when.
struct Random {
    dice: Dice,
    dag: Dag,
    d: Dispatch,
    /// By worker: its processors, 0 once it is gone; and its true speed.
    workers: Vec<(u32, f64)>,
    missing: Vec<usize>,
    executed: Vec<bool>,
    now: f64,
    needs: Vec<u32>,
}

impl Random {
    fn new(seed: u64) -> Random {
        let mut dice = Dice(seed);
        let dag = dice.dag(14);
        let tasks = dag.len();
        let kinds = 1 + dice.below(3);
        let knows = dice.below(3) > 0;
        let expected = Expected {
            seconds: (0..tasks)
                .map(|_| knows.then(|| 5.0 * dice.normal().exp()))
                .collect(),
            kind: (0..tasks).map(|_| KindId::new(dice.below(kinds))).collect(),
            kinds: (0..kinds).map(|k| k.to_string()).collect(),
        };
        let mut d = Dispatch::new(&dag, &expected, Memory::default(), std::iter::empty());
        d.allow_copies(dice.below(4) > 0);
        let missing = dag.tasks().map(|t| dag.parents(t).len()).collect();
        dag.sources().for_each(|t| d.stands(t, Standing::Eligible));
        let needs = (0..tasks).map(|_| u32::from(dice.below(6) == 0)).collect();
        Random {
            d,
            workers: Vec::new(),
            missing,
            executed: vec![false; tasks],
            now: 0.0,
            dag,
            needs,
            dice,
        }
    }

    fn join(&mut self) {
        let (cpus, speed) = (1 + self.dice.below(2) as u32, self.dice.normal().exp());
        let told = (self.dice.below(2) == 0).then(|| speed * (0.3 * self.dice.normal()).exp());
        let name = format!("w{}", self.dice.below(8));
        self.d.joined(&name, cpus, told);
        self.workers.push((cpus, speed));
    }

    fn running(&self) -> Vec<(TaskId, WorkerId)> {
        busy(&self.d)
            .iter()
            .map(|(l, b)| (b.task, self.d.lanes.worker(*l)))
            .collect()
    }

    fn finish(&mut self) {
        let running = self.running();
        if running.is_empty() {
            return;
        }
        let (task, worker) = running[self.dice.below(running.len())];
        // Since when, the lane knows better.
        self.d.returned(self.now, self.now, task, worker);
        for (other, at) in running {
            if other == task && at != worker {
                self.d.stopped(task, at);
            }
        }
        self.d.stands(task, Standing::Executed);
        self.executed[task.index()] = true;
        for &child in self.dag.children(task) {
            self.missing[child.index()] -= 1;
            if self.missing[child.index()] == 0 {
                self.d.stands(child, Standing::Eligible);
            }
        }
    }

    fn lose(&mut self, worker: WorkerId) {
        for (task, at) in self.running() {
            if at == worker {
                self.d.stopped(task, worker);
                self.d.lost(worker);
                if self.d.lanes.running(task).next().is_none() {
                    self.d.stands(task, Standing::Eligible);
                }
            }
        }
        self.d.departed(worker);
        self.workers[worker.index()].0 = 0;
    }

    fn carry_out(&mut self, moves: &[Move]) {
        for m in moves {
            if let Some(stopped) = m.instead_of {
                self.d.stopped(stopped, m.worker);
                assert!(
                    self.d.lanes.running(stopped).next().is_some(),
                    "an only copy was displaced"
                );
            }
            self.d.started(self.now, m.task, m.worker);
        }
    }

    fn ask(&mut self) -> usize {
        let present: Vec<(WorkerId, u32)> = (self.workers.iter().enumerate())
            .filter(|(_, w)| w.0 > 0)
            .map(|(i, w)| (WorkerId::new(i), w.0))
            .collect();
        let asking: Vec<(WorkerId, usize)> = (present.iter())
            .map(|&(w, c)| (w, c as usize))
            .filter(|_| self.dice.below(4) > 0)
            .collect();
        let needs = self.needs.clone();
        // Some tasks go only to workers of even number.
        let fit = move |task: TaskId, worker: WorkerId| match needs[task.index()] {
            1 if worker.0 % 2 == 1 => Fit::Never,
            _ => Fit::Now,
        };
        let d = &self.d;
        let mut may = |task: TaskId, worker: WorkerId| fit(task, worker) == Fit::Now;
        let slow = restart(d, self.now, &asking, &present, &may);
        let moves = self.d.restart(self.now, &asking, &mut may);
        assert_eq!(moves, slow, "restart");
        self.carry_out(&moves);
        let slow = place(&self.d, self.now, &asking, &fit);
        let placed = (self.d).place(self.now, &asking, &mut |t, w, _| fit(t, w));
        assert_eq!(placed, slow, "place");
        self.carry_out(&placed);
        let slow = copy((&self.d, &self.dag), self.now, &asking, &present, &may);
        let copied = self.d.copy(self.now, &asking, &mut may);
        assert_eq!(copied, slow, "copy");
        self.carry_out(&copied);
        moves.len() + copied.len()
    }
}

#[test]
fn the_rule_is_its_definition() {
    let mut copies = 0;
    for seed in 0..3000 {
        let mut run = Random::new(seed);
        run.join();
        for _ in 0..60 {
            run.now += run.dice.uniform() * 4.0;
            match run.dice.below(12) {
                0..=1 if run.workers.len() < 6 => run.join(),
                2 => {
                    let worker = WorkerId::new(run.dice.below(run.workers.len()));
                    if run.workers[worker.index()].0 > 0 {
                        run.lose(worker);
                    }
                }
                3..=7 => run.finish(),
                _ => copies += run.ask(),
            }
        }
    }
    assert!(copies > 1000, "copies were hardly tried: {copies}");
}

/// Whoever asks again and again comes to an end, whatever happens: nothing is held for ever.
#[test]
fn every_run_ends() {
    for seed in 0..1000 {
        let mut run = Random::new(seed);
        run.needs.fill(0);
        (0..3).for_each(|_| run.join());
        let mut rounds = 0;
        while run.executed.contains(&false) {
            run.now += run.dice.uniform() * 4.0;
            run.ask();
            if run.dice.below(3) == 0 {
                run.finish();
            }
            rounds += 1;
            assert!(rounds < 2000, "seed {seed} does not end");
        }
    }
}
