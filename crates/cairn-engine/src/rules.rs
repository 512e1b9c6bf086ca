//! What a run promises each task: needs, budgets, limits. Knows no state.

use crate::{ClassId, Distrust, KindId, Needs, Span, Task};
use hashbrown::HashMap;

/// Which tasks may be begun again elsewhere while somebody works on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Copies {
    /// None.
    #[default]
    Never,
    /// All.
    All,
    /// By task of a frozen dag.
    Of(Vec<bool>),
}

impl Copies {
    pub(crate) fn may(&self, task: Task) -> bool {
        match self {
            Copies::Never => false,
            Copies::All => true,
            Copies::Of(may) => column(may, task).unwrap_or(false),
        }
    }
}

/// What holds for a whole run. Where a column is shorter than the tasks are many, the rest has what stands beside it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The different needs. The first are those of tasks that `class_of` does not reach.
    pub classes: Vec<Needs>,
    /// By task of a frozen dag: which needs.
    pub class_of: Vec<ClassId>,
    /// How much there is of each shared resource.
    pub pools: Vec<u32>,
    /// How often to try again after a failure, where `retries_of` does not say.
    pub retries: u32,
    /// By task of a frozen dag: how often to try again after a failure.
    pub retries_of: Vec<u32>,
    /// Exit codes after which a task is not tried again.
    pub never_retry_on: HashMap<Task, i32>,
    /// Exit codes of a task that end the whole run, and what the run returns then.
    pub halt_on: HashMap<Task, (i32, i32)>,
    /// How many workers may be lost over one task before it is given up: a budget apart from that for failures.
    pub losses: u32,
    /// A worker that says nothing for so long is lost.
    pub silence: Span,
    /// So many workers that are gone are remembered at the least, and about twice as many at the most.
    pub gone: usize,
    /// After so many tasks are given up, nothing more is leased; 0: go on to the end.
    pub failures: u64,
    /// By task of a frozen dag: its kind. Tasks beyond are of kind 0.
    pub kind_of: Vec<KindId>,
    /// By kind: its name, by which it is known in other runs.
    pub kinds: Vec<String>,
    /// What results of workers count for that nobody vouches for.
    pub distrust: Distrust,
    /// Which tasks trusted workers may do twice at once, where tasks go by speeds: only such whose attempts are not in each
    /// other's way.
    pub copies: Copies,
}

impl Default for Rules {
    /// One processor a task, no second try, no copies, 5 losses, 15 seconds of silence, and on to the end.
    fn default() -> Rules {
        Rules {
            classes: vec![Needs::default()],
            class_of: Vec::new(),
            pools: Vec::new(),
            retries: 0,
            retries_of: Vec::new(),
            never_retry_on: HashMap::new(),
            halt_on: HashMap::new(),
            // Judgements, all three. A task over which so many workers were lost may well be the reason for it.
            losses: 5,
            silence: Span::seconds(15),
            gone: 1_000,
            failures: 0,
            kind_of: Vec::new(),
            kinds: Vec::new(),
            distrust: Distrust::default(),
            copies: Copies::Never,
        }
    }
}

fn column<T: Copy>(column: &[T], task: Task) -> Option<T> {
    (usize::try_from(task.0).ok()).and_then(|t| column.get(t).copied())
}

impl Rules {
    /// So many [`Rules::losses`] that no task is given up because workers are gone.
    pub const ANY_LOSSES: u32 = u32::MAX;

    /// Which needs a task has, as long as no limit of it grew.
    pub fn class(&self, task: Task) -> ClassId {
        column(&self.class_of, task).unwrap_or_default()
    }

    pub(crate) fn kind(&self, task: Task) -> KindId {
        column(&self.kind_of, task).unwrap_or_default()
    }

    pub(crate) fn retries(&self, task: Task) -> u32 {
        column(&self.retries_of, task).unwrap_or(self.retries)
    }
}
