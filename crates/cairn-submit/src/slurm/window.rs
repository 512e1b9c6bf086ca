//! Which tasks to submit now, and what became of those that were: the one place that decides. Knows neither clocks nor
//! processes: a [`Cluster`] is asked, and every change is an [`Event`] that is written down first.
//!
//! Tasks go in the order of the plan, as long as there is room under the site's limit; a task goes with dependencies on those of its
//! parents that are alive, or not at all when one of them ended badly. Neighbours that wait for the same go as one array.
//!
//! A call that may or may not have reached Slurm leaves its tasks in doubt. Doubt ends when the key is seen in the queue, when
//! a task has left word of its end, or when the queue was seen [`LOOKS`] times without it. Until then nothing else is
//! submitted. A job that has left the queue without a word is lost after as many looks; until then nobody is made to depend on
//! it, since a controller that was killed forgets jobs, takes dependencies on them for fulfilled, and gives their numbers again.

mod cancel;
mod learn;
mod submit;
mod under_cap;

pub(super) use submit::{is_limit_on_number, nice};

use super::cluster::{Cluster, Exit, Listed, Sbatch, Submitted};
use super::journal::Event;
use super::space::{NoRoom, Space};
use crate::Handover;
use cairn_dag::wide;
use cairn_theory::storage::FileId;
use std::collections::{HashMap, HashSet};

/// How often the queue must be seen without a job before it is believed that there is none.
// A judgement: one look may fall between a call and its effect, or upon a controller that has just come back.
pub(super) const LOOKS: u32 = 3;

/// Where a task is, as far as Slurm told. Not the game's `Standing`: Slurm executes, and what we know of it comes late, may be
/// in doubt, and is not ours to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Not submitted.
    Waiting,
    /// By the call of this number, of which it is not known whether Slurm heard it.
    InDoubt(u64),
    /// Submitted by the call of this number.
    Queued(u64),
    /// Ended well.
    Executed,
    /// Ended with this code.
    Failed(i32),
    /// Left the queue without a word.
    Lost,
    /// Never started, because one before it did not end well.
    Aborted,
}

impl Whereabouts {
    /// Whether what waits for it will never start.
    fn is_bad(self) -> bool {
        matches!(
            self,
            Whereabouts::Failed(_) | Whereabouts::Lost | Whereabouts::Aborted
        )
    }
}

/// What is asked of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// Most jobs in the queue at once; `None`: as many as there are.
    pub most_queued: Option<usize>,
    /// Most elements of an array.
    pub most_in_array: usize,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Tasks were submitted, from the first on so many, as this job.
    Submitted(u32, u32, String),
    /// A task has come to its end.
    Ended(u32, Whereabouts),
    /// The job of a task waits until somebody lets it go; why.
    Held(u32, String, String),
    /// A machine could not start the job of a task, so that Slurm held it back: it was let go to be started again.
    StartedAgain(u32, String, String),
    /// A file that nobody wants any more could not be deleted; why.
    NotDeleted(FileId, String),
    /// The site takes no more for now; what Slurm said.
    Quota(String),
    /// Slurm does not take a task because of a job that it is to wait for; what it said.
    Dependency(String),
    /// Slurm does not answer; what it said.
    Silent(String),
}

/// Where the run stands after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to submit, or to find out.
    Unfinished,
    /// All is submitted, and Slurm needs nobody.
    Submitted,
    /// Nothing is left to wait for.
    Over,
}

/// Why the run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Slurm refuses a task.
    #[error("Slurm refuses '{task}': {printed}")]
    Refused {
        /// Its name.
        task: String,
        /// In Slurm's words.
        printed: String,
    },
    /// Nothing may be submitted under the cap, and nothing runs that could make room.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// What happened could not be written down.
    #[error("the journal cannot be written: {0}")]
    Journal(#[from] std::io::Error),
}

/// A call as it is remembered.
#[derive(Clone, Debug)]
struct Call {
    first: Option<u32>,
    len: u32,
    job: Option<String>,
}

/// Keeps all tasks at once from starting until all are submitted.
#[derive(Clone, Debug, Default)]
struct Gate {
    serial: Option<u64>,
    is_open: bool,
}

/// The state of a run.
#[derive(Debug)]
pub struct Window<'a> {
    handover: &'a Handover,
    wishes: Wishes,
    standing: Vec<Whereabouts>,
    calls: HashMap<u64, Call>,
    next: u64,
    gate: Gate,
    /// By call in doubt, or task without a word: how often the queue was seen without it.
    missed: HashMap<(u64, u32), u32>,
    /// By call and element: how often it was let go after a machine could not start it.
    let_go: HashMap<(u64, u32), u32>,
    /// Places of tasks that the queue showed alive at the last look, whoever was told that they ended.
    alive: HashSet<u32>,
    /// Places before this one do not wait.
    cursor: usize,
    /// Refusals for a limit while nothing of ours was alive.
    refusals: u32,
    /// So often in a row a call was refused because of a job that it is to wait for.
    forgotten: u32,
    /// The largest array that was not refused lately.
    largest: usize,
    /// Files under a cap, where there is one.
    space: Option<Space<'a>>,
    /// Tasks that ended badly, of which the space was not told.
    failed: Vec<u32>,
    no_room: Option<NoRoom>,
}

impl<'a> Window<'a> {
    /// What the journal tells; tasks that ended badly are to be tried again.
    pub fn new(handover: &'a Handover, wishes: Wishes, events: &[Event]) -> Window<'a> {
        let mut window = Window {
            handover,
            wishes,
            standing: vec![Whereabouts::Waiting; handover.tasks.len()],
            calls: HashMap::new(),
            next: 1,
            gate: Gate::default(),
            missed: HashMap::new(),
            let_go: HashMap::new(),
            alive: HashSet::new(),
            cursor: 0,
            refusals: 0,
            forgotten: 0,
            largest: wishes.most_in_array.max(1),
            space: None,
            failed: Vec::new(),
            no_room: None,
        };
        events.iter().for_each(|event| window.apply(event));
        // Only what the journal says is known here. What was in the queue, and may have ended since, the first look tells.
        for standing in window.standing.iter_mut().filter(|s| s.is_bad()) {
            *standing = Whereabouts::Waiting;
        }
        window
    }

    /// From now on tasks are submitted only as files under a cap allow it, one by one, when all their parents are executed.
    ///
    /// # Errors
    /// If no order is within the cap.
    pub fn keep(&mut self, mut space: Space<'a>) -> Result<(), Trouble> {
        space.settle(&self.standing)?;
        self.space = Some(space);
        Ok(())
    }

    /// The files under a cap.
    pub fn space(&self) -> Option<&Space<'a>> {
        self.space.as_ref()
    }

    /// By place.
    pub fn standing(&self) -> &[Whereabouts] {
        &self.standing
    }

    /// The call that submitted a task last, as its first place and its length: by these its log is named.
    pub fn call_of(&self, place: u32) -> Option<(u32, u32)> {
        let calls = self.calls.iter();
        let calls = calls.filter(|(_, call)| call.tasks().any(|t| t == place));
        let (_, last) = calls.max_by_key(|(serial, _)| **serial)?;
        Some((last.first?, last.len))
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Call { serial, first, len } => {
                let call = Call {
                    first: *first,
                    len: *len,
                    job: None,
                };
                self.stand(&call, Whereabouts::InDoubt(*serial));
                if first.is_none() {
                    self.gate = Gate {
                        serial: Some(*serial),
                        is_open: false,
                    };
                }
                self.calls.insert(*serial, call);
                self.next = self.next.max(serial + 1);
            }
            Event::Job { serial, job } => {
                if let Some(call) = self.calls.get_mut(serial) {
                    call.job = Some(job.clone());
                    let call = call.clone();
                    self.stand(&call, Whereabouts::Queued(*serial));
                }
            }
            Event::None { serial } => {
                if let Some(call) = self.calls.remove(serial) {
                    self.stand(&call, Whereabouts::Waiting);
                    // What came back is submitted before what follows it in the plan.
                    self.cursor = self.cursor.min(call.first.map_or(usize::MAX, wide));
                    if call.first.is_none() {
                        self.gate = Gate::default();
                    }
                }
            }
            Event::Open => self.gate.is_open = true,
            Event::End { place, code } => {
                if let Some(standing) = self.standing.get_mut(wide(*place)) {
                    *standing = match *code {
                        Some(0) => Whereabouts::Executed,
                        // Its own word, from another machine: nobody here saw its parent fail.
                        Some(Exit::NOT_STARTED) => Whereabouts::Aborted,
                        Some(code) => Whereabouts::Failed(code),
                        None => Whereabouts::Lost,
                    };
                }
            }
        }
    }

    fn stand(&mut self, call: &Call, standing: Whereabouts) {
        for place in call.tasks() {
            if let Some(is) = self.standing.get_mut(wide(place)) {
                *is = standing;
            }
        }
    }

    fn change(
        &mut self,
        event: Event,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Trouble> {
        // On the disk before anything here knows of it: whoever is killed right now finds no more done than is written.
        write(&event)?;
        let returned: Vec<u32> = match &event {
            Event::None { serial } => {
                let call = self.calls.get(serial);
                call.map_or(Vec::new(), |call| call.tasks().collect())
            }
            _ => Vec::new(),
        };
        self.apply(&event);
        if let Some(space) = &mut self.space {
            returned.iter().for_each(|&place| space.come_back(place));
            match event {
                Event::Call { first, len, .. } => {
                    let tasks = first.into_iter().flat_map(|first| first..first + len);
                    tasks.for_each(|place| space.begin(place));
                }
                Event::End {
                    place,
                    code: Some(0),
                } => space.executed(place),
                Event::End { place, .. } => self.failed.push(place),
                _ => {}
            }
        }
        Ok(())
    }

    /// Looks at the queue, learns what ended, submits what may go.
    ///
    /// # Errors
    /// [`Trouble`]. The state is still good: another step may follow.
    pub fn step(
        &mut self,
        cluster: &mut dyn Cluster,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
        tell: &mut dyn FnMut(News),
    ) -> Result<Step, Trouble> {
        let listed = match cluster.queue() {
            Ok(listed) => self.ours(listed),
            Err(printed) => {
                tell(News::Silent(printed));
                return Ok(Step::Unfinished);
            }
        };
        // Doubts first: a call that came through has jobs whose ends are learnt below. All of it by one look, before anything is
        // submitted that it could not show.
        self.resolve(&listed, cluster, write)?;
        self.look(&listed, cluster, tell);
        self.learn(&listed, cluster, write, tell)?;
        self.submit(cluster, write, tell)?;
        let stuck = self.space.as_mut().map(Space::take_stuck);
        for (file, why) in stuck.into_iter().flatten() {
            tell(News::NotDeleted(file, why));
        }
        match self.no_room.take() {
            Some(no_room) => Err(no_room.into()),
            None => Ok(self.where_it_stands()),
        }
    }

    fn where_it_stands(&self) -> Step {
        let any = |is: fn(&Whereabouts) -> bool| self.standing.iter().any(is);
        let waits = any(|s| matches!(s, Whereabouts::Waiting | Whereabouts::InDoubt(_)));
        let gate_is_closed = self.gate.serial.is_some() && !self.gate.is_open;
        let is_queued = any(|s| matches!(s, Whereabouts::Queued(_)));
        match (waits || gate_is_closed, is_queued) {
            (true, _) => Step::Unfinished,
            (false, true) => Step::Submitted,
            (false, false) => Step::Over,
        }
    }

    /// Tasks in the queue, as far as is known.
    fn queued(&self) -> usize {
        let queued =
            |s: &&Whereabouts| matches!(s, Whereabouts::Queued(_) | Whereabouts::InDoubt(_));
        self.standing.iter().filter(queued).count()
    }

    /// The place of the first task of the call that submitted the one at `place`.
    fn first(&self, serial: u64, place: u32) -> u32 {
        let call = self.calls.get(&serial);
        call.and_then(|call| call.first).unwrap_or(place)
    }
}

impl Call {
    /// Places; none for the gate.
    fn tasks(&self) -> impl Iterator<Item = u32> + use<> {
        let first = self.first.unwrap_or(0);
        first..first + self.first.map_or(0, |_| self.len)
    }
}

#[cfg(test)]
mod tests;
