//! A family that is never written down, on this machine: what is kept, here and in the store, is its frontier. A run without
//! files and without an order of its own.

use super::drive::Drive;
use super::{BOOT, ID, RunError, Summary, TaskPrograms, Watch, boot, end_what_is_left, identity};
use crate::budgets::log;
use crate::clock::Clock;
use crate::digest::Digest;
use crate::replay::replayed;
use crate::store::{FlowRecord, Store, StoreError};
use cairn_engine::{Engine, Implicit, Offer, Outbox, Position, Rules, Shape, Task, WorkerId};
use cairn_theory::game::Standing;

/// What to run, and how.
pub struct FamilySetup<'a> {
    /// What the family is called: a state is of one family.
    pub name: String,
    /// The command of its tasks, as it was written: a state is of one command.
    pub command: String,
    /// The family.
    pub shape: Box<dyn Shape>,
    /// Where it has no end, or not yet: so many steps of it, this time.
    pub until: Option<u64>,
    /// What its tasks run.
    pub programs: &'a dyn TaskPrograms,
    /// Budgets.
    pub rules: Rules,
    /// How many tasks at once.
    pub slots: u32,
}

/// The command by which tasks of this store's family were executed, if it is not this one; else this one is noted. Executed
/// tasks of a family are not known one by one, so that none of them could be executed again because it changed.
pub(crate) fn another_command(
    store: &mut Store,
    engine: &Engine<Implicit>,
    command: &str,
) -> Result<Option<String>, StoreError> {
    const COMMAND: &str = "command";
    let before = store.meta(COMMAND)?;
    let is_begun = engine.position().count(Standing::Executed) != Some(0);
    match before {
        Some(before) if before == command => Ok(None),
        Some(before) if is_begun => Ok(Some(before)),
        _ => store.set_meta(COMMAND, command).map(|()| None),
    }
}

/// Runs a family, or goes on with it; what failed before is tried again. `asked` as for [`run`](super::run()). Tasks behind
/// one that failed count as left.
///
/// # Errors
/// If it cannot begin, or if the store cannot be written: then nothing more was started, and what ran was waited for.
pub fn run_family(
    mut store: Store,
    setup: FamilySetup<'_>,
    asked: &(dyn Fn() -> u32 + Sync),
    watch: Watch<'_>,
) -> Result<Summary, RunError> {
    let clock = Clock::new();
    let (id, is_new) = identity(&store)?;
    // Before the log is read: what a killed runner left must not run beside the same task, begun again.
    if !is_new {
        end_what_is_left(&id, clock.now(), watch)?;
    }
    let total = setup.until.or(setup.shape.tasks());
    let mut digest = Digest::new();
    digest.text(&setup.name);
    let record = FlowRecord {
        digest: digest.done(),
        fingerprints: Vec::new(),
    };
    let known = store.flow()?;
    let is_other = |known: &FlowRecord| known.digest != record.digest;
    if known.as_ref().is_some_and(is_other) {
        let (folder, what) = (store.folder().to_owned(), setup.name);
        return Err(RunError::Other { folder, what });
    }
    let mut engine = replayed(&store, Implicit::new(setup.shape), setup.rules, |_| ())?;
    if let Some(before) = another_command(&mut store, &engine, &setup.command)? {
        let folder = store.folder().to_owned();
        return Err(RunError::OtherCommand { folder, before });
    }
    if let Some(steps) = setup.until {
        engine.until(steps);
    }
    let mut out = Outbox::default();
    engine.open(clock.now(), &mut out);
    for worker in 0..engine.workers().len() {
        // Whoever had tasks before is gone, and so are its processes. Those that left before are refused, as they should be.
        let _ = engine.leave(clock.now(), WorkerId(worker as u32), &mut out);
    }
    let failed: Vec<Task> = engine.position().failed().collect();
    for task in failed {
        // It is failed, as was just seen.
        let _ = engine.revive(clock.now(), task, &mut out);
    }
    let mut drive = Drive::new(engine, setup.programs, clock, id.clone(), &store, watch);
    drive.total = total.map_or(0, |total| total as usize);
    drive.condensed_after = Some(log::RUN_OF_FAMILY);
    drive.forgets = true;
    drive.group.entries = out.entries;
    drive.join(Offer::cpus(setup.slots));
    drive.group.meta = vec![(ID, id), (BOOT, boot())];
    // The id is on the disk before the first process has it as its mark: else nobody would find those after a crash.
    let group = std::mem::take(&mut drive.group);
    match known {
        Some(_) => store.append_group(&group)?,
        None => store.begin_flow(&record, std::iter::empty(), &group)?,
    }
    let was_stopped = drive.go(store, asked)?;
    let position = drive.engine.position();
    let is_complete = position.is_settled() && position.count(Standing::Failed) == Some(0);
    Ok(drive.summary(was_stopped, is_complete))
}
