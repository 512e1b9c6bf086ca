//! The desk and its disk: what is leased is reserved, what is returned is measured, temporary files go behind the commit, and what
//! to do when nothing may be leased for want of space. Measures and deletes nothing itself, decides nothing about tasks.
//!
//! *Never over*, whoever works where: the keeper counts what is reserved, and
//!
//! - where a worker shares the folder of the workflow, its attempt writes there while it runs. Its reservation ends when the worker
//!   says that the attempt is over, and not before: a lease that ends otherwise leaves its bytes counted ([`Away`]).
//! - where a worker has folders of its own, nothing of its attempt is on this disk but what it uploads. Uploads are let in only up
//!   to what attempts of such workers reserve, and what nobody needs ([`Transit`]); a file moves from there to its place in
//!   one step. So a lost worker's reservation ends at once: it can write no more than is let in.

use super::{Desk, Held};
use crate::disk::{Away, Ceased, Disk, DiskSetup, Planner, Swept, Tight, Unkept, Usage, tight};
use crate::http::transit::Transit;
use crate::http::types::{self, HeldBack, HeldWhy};
use cairn_dag::TaskId;
use cairn_engine::{Engine, Event, Granted, Position, Refusal, Taken, Task, Token, WorkerId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The free space is looked at so often.
// Others may fill the disk meanwhile: what they write between two looks is not seen. Far more often, and an idle server is not idle.
const LOOK: Duration = Duration::from_millis(500);

/// What there is to say of the disk while tasks are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskNews<'a> {
    /// Nothing more is leased until others leave more room.
    HeldBack {
        /// Bytes that the next task lacks.
        missing: u64,
        /// How the disk stands.
        usage: Usage,
    },
    /// There is room again.
    GoesOn,
    /// A temporary file that nobody wants could not be deleted, and why.
    NotDeleted(&'a Path, &'a str),
}

/// The disk of a flow that is served.
pub struct ServedDisk<'f> {
    /// The files, as something that takes space.
    pub files: DiskSetup<'f>,
    /// Hears what there is to say.
    pub tell: &'f dyn Fn(&DiskNews<'_>),
}

/// The disk of a run that is served.
pub(crate) struct Kept<'f> {
    disk: Disk,
    away: Away,
    planner: &'f Planner<'f>,
    tell: &'f dyn Fn(&DiskNews<'_>),
    transit: Option<Arc<Transit>>,
    /// Uploads beyond what is reserved for them, which are held.
    astray: u64,
    /// The keeper's version when requests were last served, and when one was last refused for want of space.
    served_at: u64,
    refused_at: Option<u64>,
    is_held_back: bool,
    /// Bytes that are missing for good.
    stuck: Option<u64>,
}

impl<'f> Kept<'f> {
    /// Counts what lies on the disk, and keeps it under the cap. Returns also in which order the tasks go, where that is tight.
    ///
    /// # Errors
    /// If no order keeps the cap, or none was found; or if the free space cannot be told.
    pub(crate) fn begin<P: Position>(
        setup: ServedDisk<'f>,
        engine: &mut Engine<P>,
        directory: &dyn Fn(TaskId) -> Option<PathBuf>,
        known: &Taken,
        recalled: &[(WorkerId, Task, Token)],
    ) -> Result<(Kept<'f>, Option<Tight>), Unkept> {
        let ServedDisk { files, tell } = setup;
        let begun = Disk::begin(files.layout, engine, directory, known, true);
        let (disk, swept) = begun.map_err(|error| Unkept {
            message: format!("cannot tell the free space: {error}"),
            cure: "give the cap in bytes, such as 500GB".to_owned(),
        })?;
        let grace = Duration::from_micros(engine.rules().silence.0);
        let mut kept = Kept {
            disk,
            away: Away::new(grace),
            planner: files.planner,
            tell,
            transit: None,
            astray: 0,
            served_at: 0,
            refused_at: None,
            is_held_back: false,
            stuck: None,
        };
        kept.tell_swept(&swept);
        // Before an order is looked for: what lost attempts may still write is not free.
        kept.remember(engine, recalled);
        let order = tight(engine, files.planner, files.priorities)?;
        Ok((kept, order))
    }

    /// Attempts that were under way when the last server ended, those that are taken back now, and those that were lost by then:
    /// nobody knows how long ago.
    fn remember<P: Position>(
        &mut self,
        engine: &mut Engine<P>,
        recalled: &[(WorkerId, Task, Token)],
    ) {
        let held: Vec<(WorkerId, Task, Token)> = engine.held().collect();
        for (worker, task, token) in held {
            self.begun(engine, worker, task, token);
        }
        let recalled = recalled
            .iter()
            .map(|&(worker, task, token)| (worker, task, Some(token)));
        let lost = engine.lost().map(|(worker, task)| (worker, task, None));
        let lost: Vec<(WorkerId, Task, Option<Token>)> = recalled.chain(lost).collect();
        for (worker, task, token) in lost {
            if let Some(bytes) = self.counts(engine, worker, task) {
                let name = engine.workers()[worker.index()].name.clone();
                // The grace begins anew: nobody could be heard of while there was no server.
                self.away.lose(task, token, name, bytes, Instant::now());
                hold(engine, bytes);
            }
        }
    }

    /// What an attempt of this worker reserves, where it writes to this disk.
    fn counts<P: Position>(&self, engine: &Engine<P>, worker: WorkerId, task: Task) -> Option<u64> {
        // Whoever carries writes on a disk of its own, and here only what uploads let in.
        let is_here = engine.workers()[worker.index()].offer.is_shared;
        let (keeper, task) = engine.keeper().zip(task.frozen())?;
        is_here.then(|| keeper.storage().reserved(task))
    }

    /// A worker was given a task.
    fn begun<P: Position>(
        &mut self,
        engine: &Engine<P>,
        worker: WorkerId,
        task: Task,
        token: Token,
    ) {
        if self.counts(engine, worker, task).is_some() {
            let name = &engine.workers()[worker.index()].name;
            self.away.begun(task, token, name);
        }
        self.disk.note(engine);
    }

    /// A lost attempt is over: what it left counts on, what it might have written does not.
    fn is_over<P: Position>(&self, engine: &mut Engine<P>, over: Ceased) {
        let Ceased { task, bytes } = over;
        if let Some(keeper) = engine.keeper_mut() {
            keeper.let_go(bytes);
        }
        if let Some(task) = task.frozen() {
            self.disk.left_behind(engine, task);
        }
    }

    /// A worker says all that it works on.
    fn heard<P: Position>(&mut self, engine: &mut Engine<P>, worker: WorkerId, holding: &[Held]) {
        if self.away.waits_for().is_none() {
            return;
        }
        let Some(known) = engine.workers().get(worker.index()) else {
            return;
        };
        let over = self.away.heard(&known.name, holding, Instant::now());
        over.into_iter().for_each(|o| self.is_over(engine, o));
    }

    fn tell_swept(&self, swept: &[Swept]) {
        for swept in swept {
            if let Some(why) = &swept.left {
                (self.tell)(&DiskNews::NotDeleted(&swept.path, why));
            }
        }
    }

    /// Uploads beyond what is reserved for them count as well. While requests are served no more come in.
    fn weigh_uploads<P: Position>(&mut self, engine: &mut Engine<P>) {
        let Some(transit) = self.transit.clone() else {
            return;
        };
        let reserved = reserved_for_uploads(engine);
        // Closed first, then counted: what came in between would be counted by nobody.
        transit.allow(reserved, false);
        let astray = transit.bytes().saturating_sub(reserved);
        let before = std::mem::replace(&mut self.astray, astray);
        if let Some(keeper) = engine.keeper_mut().filter(|_| astray != before) {
            keeper.hold(astray);
            keeper.let_go(before);
        }
    }

    /// Uploads are let in up to what is reserved for them and what nobody needs now.
    fn let_uploads_in<P: Position>(&self, engine: &Engine<P>) {
        if let Some((transit, keeper)) = self.transit.as_ref().zip(engine.keeper()) {
            let reserved = reserved_for_uploads(engine) + self.astray;
            let spare = keeper.cap().saturating_sub(keeper.there());
            // Where at most one attempt is under way, no other end makes room: an upload that does not
            // fit now never will.
            let is_alone = engine.held().take(2).count() < 2;
            transit.allow(reserved.saturating_add(spare), is_alone);
        }
    }

    /// Nothing is leased: is it for want of space, and what is to be done about it?
    fn look_for_room<P: Position>(&mut self, engine: &mut Engine<P>) {
        self.stuck = None;
        let is_idle = engine.held().next().is_none() && !engine.is_over() && !engine.is_paused();
        let missing = engine.keeper().map_or(0, cairn_engine::Keeper::missing);
        // Refused at just this version: if anything changed since, whoever asks next may get something.
        let is_refused = self.refused_at == engine.keeper().map(cairn_engine::Keeper::version);
        if !is_idle || missing == 0 || !is_refused || self.disk.has_due() {
            if std::mem::take(&mut self.is_held_back) && missing == 0 {
                (self.tell)(&DiskNews::GoesOn);
            }
            return;
        }
        // Bytes of lost workers come back when their grace is over: nothing is stuck before.
        if self.away.waits_for().is_some() {
            return;
        }
        // Others fill the disk, and may leave it again: whoever runs the server is told, once, and it
        // goes on by itself.
        if self.disk.is_squeezed(engine) {
            if !std::mem::replace(&mut self.is_held_back, true)
                && let Some(usage) = self.disk.usage(engine)
            {
                (self.tell)(&DiskNews::HeldBack { missing, usage });
            }
            return;
        }
        self.stuck = Some(missing);
    }
}

fn hold<P: Position>(engine: &mut Engine<P>, bytes: u64) {
    if let Some(keeper) = engine.keeper_mut() {
        keeper.hold(bytes);
    }
}

/// What attempts reserve whose workers upload what they make.
fn reserved_for_uploads<P: Position>(engine: &Engine<P>) -> u64 {
    let Some(keeper) = engine.keeper() else {
        return 0;
    };
    let carries = |w: WorkerId| !engine.workers()[w.index()].offer.is_shared;
    let held = engine.held().filter(|(worker, ..)| carries(*worker));
    // Copies of a task are reserved once.
    let mut tasks: Vec<TaskId> = held.filter_map(|(_, task, _)| task.frozen()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let reserved = tasks.iter().map(|&task| keeper.storage().reserved(task));
    reserved.sum()
}

impl<P: Position> Desk<'_, P> {
    /// Where uploads come in.
    pub(crate) fn watch_uploads(&mut self, transit: &Arc<Transit>) {
        if let Some(kept) = self.kept.as_mut().filter(|k| k.disk.is_capped()) {
            kept.transit = Some(transit.clone());
            kept.weigh_uploads(&mut self.engine);
            kept.let_uploads_in(&self.engine);
        }
    }

    /// A worker says that an attempt is over; if what it made will count, its files are in their places, and are measured first. Of
    /// an attempt that does not count they are not: another one may be writing them.
    pub(super) fn before_return(&mut self, (task, token): Held, is_made: bool) {
        let Some(kept) = &mut self.kept else { return };
        let bytes = kept.away.over(task, token);
        if let Some(keeper) = self.engine.keeper_mut().filter(|_| bytes > 0) {
            keeper.let_go(bytes);
        }
        if let Some(task) = task.frozen().filter(|_| is_made) {
            kept.disk.measure(&mut self.engine, task);
        }
    }

    /// The return counts, or not: some files may go when that is committed, or something was left behind.
    pub(super) fn after_return(&mut self, task: Task, is_executed: bool) {
        if let Some((kept, task)) = self.kept.as_mut().zip(task.frozen()) {
            match is_executed {
                true => kept.disk.executed(&mut self.engine, task),
                false => kept.disk.left_behind(&mut self.engine, task),
            }
            kept.disk.note(&self.engine);
        }
    }

    /// A worker says all that it works on.
    pub(super) fn heard(&mut self, worker: WorkerId, holding: &[Held]) {
        if let Some(kept) = &mut self.kept {
            kept.heard(&mut self.engine, worker, holding);
        }
    }

    /// A worker says goodbye: all that it had is over.
    pub(super) fn before_leave(&mut self, worker: WorkerId) {
        let Some(kept) = &mut self.kept else { return };
        let known = self.engine.workers().get(worker.index());
        let held = known.map(|w| w.holds.clone()).unwrap_or_default();
        for (task, token) in held {
            kept.away.over(task, token);
        }
    }

    /// Leases that ended without a word of who had them, and lost attempts of which nobody heard for too long.
    pub(super) fn mind_the_lost(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        let now = Instant::now();
        for entry in &self.out.entries {
            let (task, token) = match entry.event {
                Event::Released { task, token, .. } | Event::Failed { task, token, .. } => {
                    (task, Some(token))
                }
                Event::Cancelled { task } => (task, None),
                _ => continue,
            };
            let Some(id) = task.frozen() else { continue };
            let reserved = self.engine.keeper().map(|k| k.storage().reserved(id));
            match reserved {
                Some(bytes) if kept.away.ended(task, token, bytes, now) => {
                    hold(&mut self.engine, bytes);
                }
                _ => kept.disk.left_behind(&mut self.engine, id),
            }
        }
        let over = kept.away.expired(now);
        over.into_iter()
            .for_each(|o| kept.is_over(&mut self.engine, o));
        kept.weigh_uploads(&mut self.engine);
        // Before requests are served, which go by what it finds.
        kept.disk.replan(&mut self.engine, kept.planner);
    }

    /// What was given to whom, or refused.
    pub(super) fn after_serving(
        &mut self,
        asked: &[(WorkerId, usize)],
        given: &[Result<Vec<Granted>, Refusal>],
    ) {
        let Some(kept) = &mut self.kept else { return };
        for (&(worker, _), given) in asked.iter().zip(given) {
            for granted in given.iter().flatten() {
                kept.begun(&self.engine, worker, granted.task, granted.token);
            }
        }
        kept.let_uploads_in(&self.engine);
        let version = self
            .engine
            .keeper()
            .map_or(0, cairn_engine::Keeper::version);
        // The version behind the leases: what they took themselves is no change that polls should be
        // asked for again.
        kept.served_at = version;
        let lacks = |g: &Result<Vec<Granted>, Refusal>| matches!(g, Err(Refusal::Storage { .. }));
        if given.iter().any(lacks) {
            kept.refused_at = Some(version);
        }
    }

    /// Whether there may be room for those who wait, though nothing became eligible.
    pub(super) fn has_room_again(&self) -> bool {
        let version = self.engine.keeper().map(cairn_engine::Keeper::version);
        (self.kept.as_ref().zip(version)).is_some_and(|(kept, version)| version != kept.served_at)
    }

    /// All that happened is committed: deletes what may be deleted, looks at the free space.
    pub(super) fn tend_disk(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        // All is committed by now: one number does for every group.
        kept.disk.handed_over(0);
        if kept.disk.has_due() {
            let swept = kept.disk.sweep(&mut self.engine, 0);
            kept.tell_swept(&swept);
        }
        kept.disk.watch(&mut self.engine, kept.away.bytes());
        // Behind the deletions and the look at the disk: only now is known that nothing makes room.
        kept.look_for_room(&mut self.engine);
        kept.let_uploads_in(&self.engine);
    }

    /// When the disk is to be looked at, if nothing else happens before.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let kept = self.kept.as_ref().filter(|k| k.disk.is_capped())?;
        if self.engine.is_over() {
            return None;
        }
        let now = Instant::now();
        // What was deleted behind the last commit made room, and polls were served before it.
        if self.has_room_again() && self.waiters.len() > 0 {
            return Some(now);
        }
        let look = now + LOOK;
        Some(kept.away.next().map_or(look, |at| at.min(look)))
    }

    /// Bytes that are missing for good: nothing more will be leased.
    pub(super) fn stuck(&self) -> Option<u64> {
        self.kept.as_ref()?.stuck
    }

    /// What was learnt of sizes since it was last written down, now and then, or at the end.
    pub(super) fn learnt(&mut self) -> Option<String> {
        let at_once = self.is_stopping || self.engine.is_over();
        let kept = self.kept.as_mut()?;
        kept.disk.learnt(&self.engine, at_once)
    }

    /// All that was learnt of sizes.
    pub(super) fn taken(&self) -> Taken {
        let kept = self.kept.as_ref();
        kept.map_or_else(Taken::default, |kept| kept.disk.taken(&self.engine))
    }

    /// How the disk stands, and why tasks wait, where there is a cap.
    pub(super) fn storage(&self) -> Option<types::Storage> {
        let kept = self.kept.as_ref()?;
        let usage = kept.disk.usage(&self.engine)?;
        let missing = self
            .engine
            .keeper()
            .map_or(0, cairn_engine::Keeper::missing);
        let is_withheld = self.engine.is_withholding();
        let why = match () {
            // Of several reasons the one that somebody can do something about, or that has a name, goes
            // before the cap itself.
            () if kept.stuck.is_some() => Some(HeldWhy::Stuck),
            () if !is_withheld || self.engine.is_over() => None,
            () if kept.away.waits_for().is_some() => Some(HeldWhy::LostWorkers),
            () if kept.disk.is_squeezed(&self.engine) => Some(HeldWhy::OthersFillTheDisk),
            () => Some(HeldWhy::Cap),
        };
        Some(types::Storage {
            cap: usage.asked,
            cap_now: usage.cap,
            used: usage.used,
            reserved: usage.reserved,
            peak: usage.peak,
            free: usage.free,
            safe: usage.is_safe,
            held_back: why.map(|why| HeldBack {
                words: why.words(kept.away.waits_for()),
                why,
                missing,
            }),
        })
    }
}
