//! Attempts at tasks: they begin, end, and count or not, and where their tasks stand then. Tells nobody, and knows no journal.

use super::{Live, SLOWEST};
use cairn_engine::{Cause, Illegal, Moment, Task, Token, WorkerId, standing_after};
use cairn_theory::game::Standing;

/// Of the attempts at the tasks of a family, at least so many.
// More than twice what whoever begins to look is told (`SPANS` in `telling.rs`), in a few megabytes. A family may run for ever.
const REMEMBERED: usize = 50_000;

/// An attempt that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedAttempt {
    pub(super) task: u64,
    pub(super) worker: WorkerId,
    pub(super) token: Token,
    pub(super) begin: Moment,
    pub(super) end: Moment,
    pub(super) how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Executed,
    Failed {
        exit: i32,
        cause: Cause,
        for_good: bool,
    },
    Lost {
        for_good: bool,
    },
    GivenBack,
    Cancelled,
    /// It came back, and waits for validation.
    Returned,
}

impl How {
    pub(super) fn number(self) -> u8 {
        match self {
            How::Executed | How::Returned => 0,
            How::Failed { .. } => 1,
            How::Lost { .. } => 2,
            How::GivenBack | How::Cancelled => 3,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            How::Executed => "executed",
            How::Failed { .. } => "failed",
            How::Lost { .. } => "lost",
            How::GivenBack => "given back",
            How::Cancelled => "cancelled",
            How::Returned => "returned",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) worker: WorkerId,
    pub(super) token: Token,
    pub(super) begin: Moment,
}

impl Live<'_> {
    /// An attempt begins.
    pub(super) fn take(&mut self, task: u64, open: Open) {
        let needs = self.needs(task);
        for &(pool, many) in &needs.pools {
            self.pools[pool.0 as usize] += many;
        }
        self.with(open.worker, |account| account.take(needs));
        self.open.insert((task, open.token), open);
    }

    pub(super) fn executed(
        &mut self,
        at: Moment,
        task: Task,
        token: Token,
        worker: WorkerId,
    ) -> Result<(), Illegal> {
        let id = self.known(task)?;
        let from = self.position.standing(task)?;
        let mut opened = Vec::new();
        self.position.execute(task, &mut opened)?;
        self.moved(id, from, Standing::Executed);
        for child in opened {
            let child = self.known(child)?;
            self.moved(child, Standing::Waiting, Standing::Eligible);
        }
        // It may have come back before and waited for validation, or be late: given up for lost, and the first all the same.
        let lapsed = self.lapsed.get(&(id, token)).copied();
        let begin = self.close(at, id, token, How::Executed).or(lapsed);
        self.close_all(at, id, How::Cancelled);
        self.with(worker, |account| account.executed += 1);
        // What was executed before the run took no time in it.
        if let Some(begin) = begin {
            if let Some(done) = self.done.get_mut(id as usize) {
                *done = (begin, at);
            }
            self.last_done = Some(id);
            let took = at.since(begin).0 as f64 / 1e6;
            let place = self.slowest.partition_point(|&(longer, _)| longer >= took);
            if place < SLOWEST {
                self.slowest.insert(place, (took, id));
                self.slowest.truncate(SLOWEST);
            }
            self.lists_changed = true;
        }
        self.sample(at);
        Ok(())
    }

    /// An attempt ended without the task being executed.
    pub(super) fn came_back(
        &mut self,
        at: Moment,
        task: Task,
        token: Token,
        how: How,
        for_good: bool,
    ) -> Result<(), Illegal> {
        let id = self.known(task)?;
        let from = self.position.standing(task)?;
        let has_other = self.others(id).any(|other| other != token);
        match standing_after(for_good, has_other, self.in_hand.contains(&id)) {
            Standing::Failed => self.fail(task, id)?,
            Standing::Eligible => {
                self.position.release(task)?;
                self.moved(id, from, Standing::Eligible);
            }
            _ => (),
        }
        // Before it is closed: then nobody knows any more who had it.
        let worker = self.open.get(&(id, token)).map(|open| open.worker);
        self.close(at, id, token, how);
        if for_good {
            self.close_all(at, id, How::Cancelled);
        }
        if let (Some(worker), How::Failed { .. } | How::Lost { .. }) = (worker, how) {
            self.with(worker, |account| match how {
                How::Lost { .. } => account.lost += 1,
                _ => account.failed += 1,
            });
        }
        Ok(())
    }

    /// Somebody has the task, or its result waits for validation.
    pub(super) fn lease(&mut self, task: Task, id: u64) -> Result<(), Illegal> {
        // A copy changes nothing for the task: it is leased from its first attempt on.
        if self.position.standing(task)? != Standing::Leased {
            self.position.lease(task)?;
            self.moved(id, Standing::Eligible, Standing::Leased);
        }
        Ok(())
    }

    /// The task is given up.
    pub(super) fn fail(&mut self, task: Task, id: u64) -> Result<(), Illegal> {
        let from = self.position.standing(task)?;
        let mut aborted = Vec::new();
        self.position.fail(task, &mut aborted)?;
        self.moved(id, from, Standing::Failed);
        for task in aborted {
            let task = self.known(task)?;
            self.moved(task, Standing::Waiting, Standing::Aborted);
        }
        Ok(())
    }

    /// The attempts at a task that are under way.
    pub(super) fn others(&self, task: u64) -> impl Iterator<Item = Token> + '_ {
        let all = (task, Token::default())..;
        let of = self
            .open
            .range(all)
            .take_while(move |&(&(t, _), _)| t == task);
        of.map(|(&(_, token), _)| token)
    }

    /// Nothing of the task goes on.
    pub(super) fn close_all(&mut self, at: Moment, task: u64, how: How) {
        self.in_hand.remove(&task);
        let tokens: Vec<Token> = self.others(task).collect();
        for token in tokens {
            self.close(at, task, token, how);
        }
        // Behind the loop, which adds to them. Once a task is settled the engine takes nothing late.
        let lapsed = self.lapsed.range((task, Token::default())..);
        let lapsed = lapsed.map(|(&of, _)| of).take_while(|of| of.0 == task);
        for of in lapsed.collect::<Vec<_>>() {
            self.lapsed.remove(&of);
        }
    }

    /// Notes how an attempt ended; when it began, if that is known.
    pub(super) fn close(
        &mut self,
        at: Moment,
        task: u64,
        token: Token,
        how: How,
    ) -> Option<Moment> {
        let open = self.open.remove(&(task, token))?;
        self.lists_changed = true;
        let needs = self.needs(task);
        for &(pool, many) in &needs.pools {
            let taken = &mut self.pools[pool.0 as usize];
            *taken = taken.saturating_sub(many);
        }
        self.with(open.worker, |account| account.put_back(needs));
        let ended = ClosedAttempt {
            task,
            worker: open.worker,
            token,
            begin: open.begin,
            end: at,
            how,
        };
        if matches!(how, How::Failed { .. } | How::Lost { .. }) {
            self.failures.push(ended);
            self.failures_in_all += 1;
            self.failures_changed = true;
        }
        self.ended.push(ended);
        self.lapsed.insert((task, token), open.begin);
        self.forget();
        Some(open.begin)
    }

    /// A family may have tasks without number: of what is over only the latest is remembered.
    fn forget(&mut self) {
        if self.subject.dag().is_some() {
            return;
        }
        // Half of them at a time: what stays is moved each time.
        if self.ended.len() > 2 * REMEMBERED {
            self.ended.drain(..REMEMBERED);
            self.told = self.told.saturating_sub(REMEMBERED);
        }
        if self.failures.len() > 2 * REMEMBERED {
            self.failures.drain(..REMEMBERED);
        }
        // Of tasks that are not settled. The least numbers are the oldest, as far as a family's are.
        while self.lapsed.len() > 2 * REMEMBERED {
            self.lapsed.pop_first();
        }
    }
}
