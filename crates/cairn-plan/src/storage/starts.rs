//! Orders of small peak to start from: shrink first, depth first, Liu's keys, valley seeking. Knows no cuts and no bounds.

use super::play::Play;
use super::section::Section;
use crate::budgets::storage::{NEAR, VALLEY_NOISE};
use crate::chance::Chance;
use cairn_dag::TaskId;
use cairn_kernel::{Rows, Stopped, Work, long, narrow, wide};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Always the eligible task after which the fewest bytes are live; ties by what it writes, then by `rank`.
pub(crate) fn lean(
    section: &Section,
    rank: &[u32],
    work: &mut Work<'_>,
) -> Result<Vec<TaskId>, Stopped> {
    let mut play = Play::new(section);
    let mut heap = BinaryHeap::new();
    let entry = |play: &Play<'_>, t: TaskId| {
        Reverse((play.change(t), section.reserved(t), rank[t.index()], t))
    };
    let sources = section.tasks().filter(|&t| section.parents(t).len() == 0);
    heap.extend(sources.map(|t| entry(&play, t)));
    while let Some(Reverse((change, _, _, task))) = heap.pop() {
        work.pay(1)?;
        // Whoever shrinks more by now has a newer entry.
        if play.is_executed(task) || change != play.change(task) {
            continue;
        }
        play.execute(task);
        for file in section.storage.inputs(task) {
            let last = play.last_consumer(file);
            heap.extend(
                last.filter(|&t| play.is_eligible(t))
                    .map(|t| entry(&play, t)),
            );
        }
        let opened = section.children(task).filter(|&c| play.is_eligible(c));
        heap.extend(opened.map(|c| entry(&play, c)));
    }
    work.pay(2 * section.steps())?;
    Ok(play.order)
}

/// Always the task that became eligible last; among those of one moment, by number.
pub(crate) fn depth_first(section: &Section, work: &mut Work<'_>) -> Result<Vec<TaskId>, Stopped> {
    work.pay(section.steps())?;
    let mut play = Play::new(section);
    let mut stack: Vec<TaskId> = section.tasks().filter(|&t| play.is_eligible(t)).collect();
    // The first on top.
    stack.reverse();
    while let Some(task) = stack.pop() {
        play.execute(task);
        let opened = section
            .children(task)
            .rev()
            .filter(|&c| play.is_eligible(c));
        stack.extend(opened);
    }
    Ok(play.order)
}

/// Liu's rule for trees, by task: how much higher than what remains of it the bytes rise while it and its ancestors are
/// executed. Where ancestors are shared this is no more than a guess.
struct Keys {
    key: Vec<f64>,
    /// By task: its parents, largest key first.
    parents: Rows,
}

impl Keys {
    fn new(section: &Section, order: &[TaskId], noise: f64, chance: &mut Chance) -> Keys {
        let count = section.len();
        let mut hill = vec![0f64; count];
        let mut rest = vec![0f64; count];
        let mut key = vec![0f64; count];
        let mut sorted: Vec<u32> = Vec::new();
        for &task in order {
            sorted.clear();
            sorted.extend(section.parents(task).map(|p| p.0));
            // Liu: what rises highest above its rest goes first, while little else lies there.
            by_key(&mut sorted, &key);
            let (mut sum, mut top) = (0f64, 0f64);
            for &parent in &sorted {
                top = top.max(sum + hill[wide(parent)]);
                sum += rest[wide(parent)];
            }
            let at = task.index();
            hill[at] = top.max((section.read(task) + section.reserved(task)) as f64);
            let shares = section.storage.outputs(task).map(|f| {
                let readers = section.storage.consumer_slots(f).len().max(1);
                section.bytes(f) as f64 / readers as f64
            });
            rest[at] = shares.sum();
            key[at] = (hill[at] - rest[at]) * (1.0 + noise * (chance.unit() - 0.5));
        }
        let mut parents = Rows::default();
        for task in section.tasks() {
            by_key(parents.push(section.parents(task).map(|p| p.0)), &key);
        }
        Keys { key, parents }
    }

    /// The tasks that nobody waits for, largest key first.
    fn sinks(&self, section: &Section) -> Vec<TaskId> {
        let sinks = section.tasks().filter(|&t| section.children(t).len() == 0);
        let mut sinks: Vec<u32> = sinks.map(|t| t.0).collect();
        by_key(&mut sinks, &self.key);
        sinks.into_iter().map(TaskId).collect()
    }
}

fn by_key(tasks: &mut [u32], key: &[f64]) {
    tasks.sort_unstable_by(|&a, &b| {
        let by_key = key[wide(b)].total_cmp(&key[wide(a)]);
        by_key.then(a.cmp(&b))
    });
}

/// A play that executes whole ancestries, and pays no regret: after each task, whatever shrinks or keeps the live bytes
/// under the peak already paid goes at once.
struct Climb<'p> {
    play: Play<'p>,
    keys: Keys,
    peak: i64,
    steps: u64,
    eager: Vec<TaskId>,
    stack: Vec<(TaskId, u32)>,
}

impl<'p> Climb<'p> {
    fn new(section: &'p Section, keys: Keys) -> Climb<'p> {
        Climb {
            play: Play::new(section),
            keys,
            peak: 0,
            steps: 0,
            eager: Vec::new(),
            stack: Vec::new(),
        }
    }

    fn step(&mut self, task: TaskId) {
        let section = self.play.section;
        self.eager.push(task);
        // The first one goes at any price: the caller asked for it.
        let mut is_first = true;
        while let Some(task) = self.eager.pop() {
            let goes = is_first
                || self.play.is_eligible(task)
                    && self.play.need(task) <= self.peak
                    && self.play.change(task) <= 0;
            if !goes {
                continue;
            }
            is_first = false;
            self.peak = self.peak.max(self.play.need(task));
            self.play
                .execute_and(task, |stirred| self.eager.push(stirred));
            let (children, inputs) = (section.children(task), section.storage.inputs(task));
            // Four for the books, beside a look at each child and each input.
            self.steps += 4 + long(children.len() + inputs.len());
        }
    }

    /// Executes the missing ancestors of a task, largest key first, then the task; `false` when that takes over `most`, where it is given.
    fn close(&mut self, task: TaskId, most: Option<usize>) -> bool {
        let begun = self.play.order.len();
        self.stack.clear();
        self.stack.push((task, 0));
        // A stack of its own: ancestries may be a million tasks deep.
        while let Some((task, cursor)) = self.stack.last_mut() {
            let task = *task;
            if self.play.is_executed(task) {
                self.stack.pop();
                continue;
            }
            let missing = wide(self.play.waits_for(task));
            let taken = self.play.order.len() - begun + missing;
            if most.is_some_and(|most| taken > most) {
                return false;
            }
            if missing == 0 {
                self.stack.pop();
                self.step(task);
                continue;
            }
            // Parents are only ever executed here: those passed stay so.
            let parents = self.keys.parents.row(task.index());
            while self.play.is_executed(TaskId(parents[wide(*cursor)])) {
                *cursor += 1;
                self.steps += 1;
            }
            let parent = TaskId(parents[wide(*cursor)]);
            self.stack.push((parent, 0));
        }
        true
    }

    /// The candidate whose closing brings the live bytes down over the lowest hill, or does the least harm.
    fn lowest(
        &mut self,
        candidates: &[TaskId],
        longest: Option<usize>,
        uphill: Uphill,
    ) -> Option<TaskId> {
        let (length, peak, live) = (self.play.order.len(), self.peak, self.play.live);
        let mut best = None;
        for &task in candidates {
            // The hill of this try alone; the peak paid before comes back with `roll_back`.
            self.peak = 0;
            let is_closed = self.close(task, longest);
            let (hill, now) = (self.peak, self.play.live);
            self.roll_back(length, peak);
            if !is_closed {
                continue;
            }
            let growth = now - live;
            let score = match uphill {
                // A valley costs no more than its hill: of several the one with the lowest.
                _ if growth <= 0 => (0, hill.max(peak), growth),
                Uphill::LowestPeak => (1, hill.max(peak), growth),
                Uphill::LargestFall => (1, now - hill, hill),
                Uphill::LeastGrowth => (1, growth, hill),
            };
            if best.is_none_or(|(least, _)| score < least) {
                best = Some((score, task));
            }
        }
        best.map(|(_, task)| task)
    }

    fn roll_back(&mut self, length: usize, peak: i64) {
        while self.play.order.len() > length {
            self.play.undo();
        }
        self.peak = peak;
    }

    /// The first task of the missing ancestry of `task`, largest key first.
    fn leaf(&self, mut task: TaskId) -> TaskId {
        while self.play.waits_for(task) > 0 {
            let parents = self.keys.parents.row(task.index()).iter();
            let missing = parents
                .map(|&p| TaskId(p))
                .find(|&p| !self.play.is_executed(p));
            task = missing.expect("it waits for a parent");
        }
        task
    }
}

/// Depth first from the sinks, by Liu's keys.
pub(crate) fn liu(
    section: &Section,
    order: &[TaskId],
    noise: f64,
    seed: u64,
    work: &mut Work<'_>,
) -> Result<Vec<TaskId>, Stopped> {
    // A judgement: keys, their sorts, and the walk.
    work.pay(6 * section.steps())?;
    let keys = Keys::new(section, order, noise, &mut Chance(seed));
    let sinks = keys.sinks(section);
    let mut climb = Climb::new(section, keys);
    for sink in sinks {
        climb.close(sink, None);
    }
    Ok(climb.play.order)
}

/// What to do where nothing shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uphill {
    /// The lowest peak on the way.
    LowestPeak,
    /// The largest fall from the peak on the way.
    LargestFall,
    /// The least growth.
    LeastGrowth,
}

/// Which tasks a valley is sought behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goals {
    /// Those that are begun: of which a parent or an input is there.
    Begun,
    /// Those that nobody waits for, however far away they are.
    Sinks,
}

/// Valley seeking: tries to close each of up to `width` goals, and takes the one that brings the live bytes down over the
/// lowest hill.
pub(crate) fn valley(
    section: &Section,
    order: &[TaskId],
    goals: Goals,
    width: usize,
    uphill: Uphill,
    seed: Option<u64>,
    work: &mut Work<'_>,
) -> Result<Vec<TaskId>, Stopped> {
    let longest = match goals {
        Goals::Begun => Some(NEAR),
        // These are meant however far they are.
        Goals::Sinks => None,
    };
    work.pay(6 * section.steps())?;
    let mut chance = Chance(seed.unwrap_or(1));
    let noise = seed.map_or(0.0, |_| VALLEY_NOISE);
    let keys = Keys::new(section, order, noise, &mut chance);
    let mut sinks = keys.sinks(section);
    // Taken from the end: the largest key first.
    sinks.reverse();
    let mut climb = Climb::new(section, keys);
    let mut sought = Sought::new(section, goals, &sinks);
    let mut candidates = Vec::new();
    while climb.play.order.len() < section.len() {
        sought.look(&climb.play);
        sought.some(width, &climb.play, &mut chance, &mut candidates);
        if let Some(task) = climb.lowest(&candidates, longest, uphill) {
            climb.close(task, None);
        } else {
            while sinks.last().is_some_and(|&t| climb.play.is_executed(t)) {
                sinks.pop();
            }
            let leaf = climb.leaf(*sinks.last().expect("a task is left"));
            climb.step(leaf);
        }
        // Twice, since nearly all of it is tried and taken back.
        work.pay(std::mem::take(&mut climb.steps) * 2 + long(candidates.len()))?;
    }
    Ok(climb.play.order)
}

/// The goals of a search for valleys.
struct Sought<'p> {
    section: &'p Section,
    goals: Goals,
    /// Executed ones are thrown out now and then.
    tasks: Vec<TaskId>,
    is_begun: Vec<bool>,
    /// How much of the order was looked at.
    looked_at: usize,
    /// At most so many of `tasks` are executed.
    dead: usize,
}

impl<'p> Sought<'p> {
    fn new(section: &'p Section, goals: Goals, sinks: &[TaskId]) -> Sought<'p> {
        let mut sought = Sought {
            section,
            goals,
            tasks: Vec::new(),
            is_begun: vec![false; section.len()],
            looked_at: 0,
            dead: 0,
        };
        let storage = &section.storage;
        match goals {
            Goals::Sinks => sought.tasks.extend(sinks),
            Goals::Begun => sought.begin(storage.initial().flat_map(|f| storage.consumers(f))),
        }
        sought
    }

    fn begin(&mut self, tasks: impl Iterator<Item = TaskId>) {
        let is_begun = &mut self.is_begun;
        let new = tasks.filter(|t| !std::mem::replace(&mut is_begun[t.index()], true));
        self.tasks.extend(new);
    }

    /// Follows what was executed since it last looked.
    fn look(&mut self, play: &Play<'_>) {
        for &task in &play.order[self.looked_at..] {
            self.dead += usize::from(self.section.parents(task).len() > 0);
            if self.goals == Goals::Begun {
                self.begin(self.section.children(task));
            }
        }
        self.looked_at = play.order.len();
        // Thrown out only when they are half of all: O(1) a task in all.
        if 2 * self.dead > self.tasks.len() {
            self.tasks.retain(|&t| !play.is_executed(t));
            self.dead = 0;
        }
    }

    /// Up to `width` of those that are not executed.
    fn some(&self, width: usize, play: &Play<'_>, chance: &mut Chance, into: &mut Vec<TaskId>) {
        into.clear();
        let open = |t: &&TaskId| !play.is_executed(**t);
        if self.tasks.len() <= width {
            into.extend(self.tasks.iter().filter(open));
        } else {
            // Half of those begun last, half by chance.
            into.extend(self.tasks.iter().rev().filter(open).take(width / 2));
            for _ in 0..width / 2 {
                let one = &self.tasks[chance.below(self.tasks.len())];
                into.extend(Some(one).filter(open));
            }
        }
        into.sort_unstable();
        into.dedup();
    }
}

/// Ranks by chance.
pub(crate) fn shuffled(count: usize, seed: u64) -> Vec<u32> {
    let mut chance = Chance(seed);
    let mut ranks: Vec<u32> = (0..narrow(count)).collect();
    for i in (1..count).rev() {
        ranks.swap(i, chance.below(i + 1));
    }
    ranks
}
