//! The game on a family that is never written down: what is known of its tasks is where they differ from the rule. Knows
//! no leases and no order.

use crate::{Illegal, Position, Task};
use cairn_theory::families::{ENDLESS, Family};
use cairn_theory::game::{Move, Standing};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// A family whose tasks are numbered by the steps of its order.
pub trait Shape: Send + Sync {
    /// How many tasks; `None` if they never end.
    fn tasks(&self) -> Option<u64>;
    /// How many sources.
    fn sources(&self) -> u64;
    /// The step of the `k`-th source.
    fn source(&self, k: u64) -> u64;
    /// How many parents.
    fn parent_count(&self, step: u64) -> u64;
    /// Appends the steps of the parents.
    fn parents(&self, step: u64, parents: &mut Vec<u64>);
    /// Appends the steps of the children.
    fn children(&self, step: u64, children: &mut Vec<u64>);
    /// Level and place on it.
    fn place(&self, step: u64) -> (u64, u64);
}

impl<F: Family + Send + Sync> Shape for F {
    fn tasks(&self) -> Option<u64> {
        self.task_count()
    }

    fn sources(&self) -> u64 {
        self.source_count()
    }

    fn source(&self, k: u64) -> u64 {
        self.step(Family::source(self, k))
    }

    fn parent_count(&self, step: u64) -> u64 {
        Family::parents(self, self.at(step)).count() as u64
    }

    fn parents(&self, step: u64, parents: &mut Vec<u64>) {
        let tasks = Family::parents(self, self.at(step));
        parents.extend(tasks.map(|task| self.step(task)));
    }

    fn children(&self, step: u64, children: &mut Vec<u64>) {
        let tasks = Family::children(self, self.at(step));
        children.extend(tasks.map(|task| self.step(task)));
    }

    fn place(&self, step: u64) -> (u64, u64) {
        let task = self.at(step);
        (self.level(task), self.index(task))
    }
}

/// A set of numbers that come nearly in order, as runs.
#[derive(Clone, Debug, Default)]
struct Runs {
    /// First number of a run → the one after its last.
    runs: BTreeMap<u64, u64>,
    len: u64,
}

impl Runs {
    fn contains(&self, number: u64) -> bool {
        let run = self.runs.range(..=number).next_back();
        run.is_some_and(|(_, &end)| number < end)
    }

    fn insert(&mut self, number: u64) {
        let before = self.runs.range(..=number).next_back();
        let joined = before.filter(|&(_, &end)| end == number);
        let first = joined.map_or(number, |(&first, _)| first);
        // It may be just what lay between two runs.
        let end = self.runs.remove(&(number + 1)).unwrap_or(number + 1);
        self.runs.insert(first, end);
        self.len += 1;
    }
}

/// The game on a family. Memory is proportional to the tasks that are eligible, leased, given up or half open, and to the
/// runs of steps that are executed: for a play near the order, hardly anything.
///
/// A task below one that is given up waits for ever: nobody can list these. The play is settled when nothing is eligible
/// or leased.
pub struct Implicit {
    shape: Box<dyn Shape>,
    /// Sources that everybody has heard of: the first so many.
    told: u64,
    /// Sources that something happened to before anybody had heard of them.
    ahead: HashSet<u64>,
    executed: Runs,
    eligible: HashSet<u64>,
    /// Tasks from here on are left alone; none, where nobody says.
    until: Option<u64>,
    /// Those of them that would be eligible.
    beyond: HashSet<u64>,
    leased: HashSet<u64>,
    failed: HashSet<u64>,
    cancelled: HashSet<u64>,
    /// Tasks some but not all of whose parents are executed: how many are missing.
    missing: HashMap<u64, u64>,
    children: Vec<u64>,
}

impl Implicit {
    /// The first position.
    pub fn new(shape: Box<dyn Shape>) -> Implicit {
        Implicit {
            shape,
            told: 0,
            ahead: HashSet::new(),
            executed: Runs::default(),
            eligible: HashSet::new(),
            until: None,
            beyond: HashSet::new(),
            leased: HashSet::new(),
            failed: HashSet::new(),
            cancelled: HashSet::new(),
            missing: HashMap::new(),
            children: Vec::new(),
        }
    }

    /// Tasks from this step on are left alone, until somebody says otherwise. All sources come before it.
    pub fn end_at(&mut self, step: u64) {
        self.until = Some(step);
        self.sort_out();
    }

    /// Eligible tasks go where they belong, by which are left alone.
    fn sort_out(&mut self) {
        let all: Vec<u64> = self.eligible.drain().chain(self.beyond.drain()).collect();
        for task in all {
            self.make_eligible(task);
        }
    }

    /// Returns whether it is not left alone.
    fn make_eligible(&mut self, step: u64) -> bool {
        let goes = self.until.is_none_or(|until| step < until);
        match goes {
            true => self.eligible.insert(step),
            false => self.beyond.insert(step),
        };
        goes
    }

    /// Level of a task, and place on it.
    pub fn place(&self, task: Task) -> (u64, u64) {
        self.shape.place(task.0)
    }

    /// The tasks that failed.
    pub fn failed(&self) -> impl Iterator<Item = Task> + '_ {
        self.failed.iter().copied().map(Task)
    }

    /// A source that nobody has heard of is eligible all the same.
    fn is_untold(&self, step: u64) -> bool {
        let next = self.next_source();
        next.is_some_and(|next| step >= next.0)
            && self.shape.parent_count(step) == 0
            && !self.ahead.contains(&step)
    }

    fn untold(&self) -> u64 {
        self.shape.sources() - self.told - self.ahead.len() as u64
    }

    fn check(&self, task: Task, step: Move) -> Result<Standing, Illegal> {
        let found = self.standing(task)?;
        let wrong = || Illegal(format!("task {} is {}", task.0, found.name()));
        found.after(step).ok_or_else(wrong)
    }

    /// Something is about to happen to an eligible task: it is taken from where it was.
    fn take(&mut self, step: u64) {
        if self.is_untold(step) {
            match self.next_source() == Some(Task(step)) {
                true => self.told += 1,
                false => drop(self.ahead.insert(step)),
            }
        }
        self.eligible.remove(&step);
        self.leased.remove(&step);
    }

    fn give_up(&mut self, task: Task, step: Move) -> Result<(), Illegal> {
        self.check(task, step)?;
        self.take(task.0);
        match step {
            Move::Fail => self.failed.insert(task.0),
            _ => self.cancelled.insert(task.0),
        };
        Ok(())
    }
}

impl Position for Implicit {
    fn standing(&self, task: Task) -> Result<Standing, Illegal> {
        let step = task.0;
        if self.shape.tasks().is_some_and(|tasks| step >= tasks) {
            return Err(Illegal(format!("there is no task {step}")));
        }
        Ok(match () {
            () if self.executed.contains(step) => Standing::Executed,
            () if self.leased.contains(&step) => Standing::Leased,
            () if self.failed.contains(&step) => Standing::Failed,
            () if self.cancelled.contains(&step) => Standing::Cancelled,
            () if self.eligible.contains(&step) || self.is_untold(step) => Standing::Eligible,
            () => Standing::Waiting,
        })
    }

    fn count(&self, standing: Standing) -> Option<u64> {
        Some(match standing {
            Standing::Executed => self.executed.len,
            Standing::Eligible => self.eligible.len() as u64 + self.untold(),
            Standing::Leased => self.leased.len() as u64,
            Standing::Failed => self.failed.len() as u64,
            Standing::Cancelled => self.cancelled.len() as u64,
            Standing::Aborted => 0,
            Standing::Waiting => {
                let others = [
                    Standing::Executed,
                    Standing::Eligible,
                    Standing::Leased,
                    Standing::Failed,
                    Standing::Cancelled,
                ];
                let others: u64 = others.into_iter().filter_map(|s| self.count(s)).sum();
                self.shape.tasks()? - others
            }
        })
    }

    fn parents(&self, task: Task) -> Vec<Task> {
        let mut parents = Vec::new();
        if self.standing(task).is_ok() {
            self.shape.parents(task.0, &mut parents);
        }
        parents.into_iter().map(Task).collect()
    }

    fn is_settled(&self) -> bool {
        self.untold() == 0 && self.eligible.is_empty() && self.leased.is_empty()
    }

    fn lease(&mut self, task: Task) -> Result<(), Illegal> {
        self.check(task, Move::Lease)?;
        self.take(task.0);
        self.leased.insert(task.0);
        Ok(())
    }

    fn release(&mut self, task: Task) -> Result<(), Illegal> {
        self.check(task, Move::Release)?;
        self.leased.remove(&task.0);
        self.make_eligible(task.0);
        Ok(())
    }

    fn execute(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        self.check(task, Move::Execute)?;
        self.take(task.0);
        self.executed.insert(task.0);
        let mut children = std::mem::take(&mut self.children);
        self.shape.children(task.0, &mut children);
        for child in children.drain(..) {
            let all = || self.shape.parent_count(child);
            // Counted when the first of them is executed: who waits for all its parents takes no room.
            let missing = self.missing.entry(child).or_insert_with(all);
            *missing -= 1;
            if *missing == 0 {
                self.missing.remove(&child);
                if !self.cancelled.contains(&child) && self.make_eligible(child) {
                    opened.push(Task(child));
                }
            }
        }
        self.children = children;
        Ok(())
    }

    fn fail(&mut self, task: Task, _: &mut Vec<Task>) -> Result<(), Illegal> {
        self.give_up(task, Move::Fail)
    }

    fn cancel(&mut self, task: Task, _: &mut Vec<Task>) -> Result<(), Illegal> {
        self.give_up(task, Move::Cancel)
    }

    fn revive(&mut self, task: Task, opened: &mut Vec<Task>) -> Result<(), Illegal> {
        self.check(task, Move::Revive)?;
        self.failed.remove(&task.0);
        self.cancelled.remove(&task.0);
        let mut parents = Vec::new();
        self.shape.parents(task.0, &mut parents);
        let is_open = parents.into_iter().all(|p| self.executed.contains(p));
        if is_open && self.make_eligible(task.0) {
            opened.push(task);
        }
        Ok(())
    }

    fn reopen(&mut self, _: Task, _: &mut Vec<Task>) -> Result<(), Illegal> {
        Err(Illegal(
            "tasks of a family that is not written down are executed once".into(),
        ))
    }

    fn eligible(&self, each: &mut dyn FnMut(Task)) {
        self.eligible.iter().for_each(|&step| each(Task(step)));
    }

    fn next_source(&self) -> Option<Task> {
        (self.told < self.shape.sources()).then(|| Task(self.shape.source(self.told)))
    }

    fn take_source(&mut self) {
        let source = self.shape.source(self.told);
        self.told += 1;
        // Something happened to it before its turn: it is where that left it.
        if !self.ahead.remove(&source) {
            self.make_eligible(source);
        }
    }

    /// How many lists, then each as its length and its numbers, all of 64 bits.
    fn packed(&self) -> Vec<u8> {
        // Sorted, so that equal states are equal bytes.
        let sorted = |set: &HashSet<u64>| {
            let mut numbers: Vec<u64> = set.iter().copied().collect();
            numbers.sort_unstable();
            numbers
        };
        let mut missing: Vec<(u64, u64)> = self.missing.iter().map(|(&t, &m)| (t, m)).collect();
        missing.sort_unstable();
        let pairs = |pairs: &mut dyn Iterator<Item = (u64, u64)>| -> Vec<u64> {
            pairs.flat_map(|(a, b)| [a, b]).collect()
        };
        let lists = [
            vec![self.shape.tasks().unwrap_or(ENDLESS), self.told],
            sorted(&self.ahead),
            pairs(&mut self.executed.runs.iter().map(|(&a, &b)| (a, b))),
            sorted(&self.eligible.union(&self.beyond).copied().collect()),
            sorted(&self.leased),
            sorted(&self.failed),
            sorted(&self.cancelled),
            pairs(&mut missing.into_iter()),
        ];
        let mut packed = Vec::new();
        for list in lists {
            packed.extend_from_slice(&(list.len() as u64).to_le_bytes());
            list.iter()
                .for_each(|number| packed.extend_from_slice(&number.to_le_bytes()));
        }
        packed
    }

    fn unpack(&mut self, packed: &[u8]) -> Result<(), Illegal> {
        let damaged = || Illegal("the state of the family is damaged".into());
        let (words, rest) = packed.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut lists: Vec<Vec<u64>> = Vec::new();
        while let Some(length) = words.next() {
            // Before anything is set aside for it: the length may be damaged, too.
            if length > words.len() as u64 {
                return Err(damaged());
            }
            lists.push(words.by_ref().take(length as usize).collect());
        }
        let Ok(
            [
                head,
                ahead,
                runs,
                eligible,
                leased,
                failed,
                cancelled,
                missing,
            ],
        ) = <[Vec<u64>; 8]>::try_from(lists)
        else {
            return Err(damaged());
        };
        let pairs = |list: &[u64]| -> Option<Vec<(u64, u64)>> {
            let (pairs, odd) = list.as_chunks::<2>();
            (odd.is_empty()).then(|| pairs.iter().map(|&[a, b]| (a, b)).collect())
        };
        let (Some(runs), Some(missing), &[tasks, told]) =
            (pairs(&runs), pairs(&missing), &head[..])
        else {
            return Err(damaged());
        };
        if !rest.is_empty() || runs.iter().any(|&(first, end)| first >= end) {
            return Err(damaged());
        }
        if tasks != self.shape.tasks().unwrap_or(ENDLESS) || told > self.shape.sources() {
            return Err(Illegal("the store is of another family".into()));
        }
        self.told = told;
        self.ahead = ahead.into_iter().collect();
        let len = runs.iter().map(|&(first, end)| end - first).sum();
        let runs = runs.into_iter().collect();
        self.executed = Runs { runs, len };
        self.eligible = eligible.into_iter().collect();
        self.beyond = HashSet::new();
        self.sort_out();
        self.leased = leased.into_iter().collect();
        self.failed = failed.into_iter().collect();
        self.cancelled = cancelled.into_iter().collect();
        self.missing = missing.into_iter().collect();
        Ok(())
    }
}
