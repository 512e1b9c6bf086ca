//! Slurm as the window sees it: what it is asked, and what it may answer. Decides nothing.

/// One call of `sbatch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sbatch {
    /// Its number, which is the job's key.
    pub serial: u64,
    /// The place of the first task; none for the gate.
    pub first: Option<u32>,
    /// How many tasks, from there on.
    pub len: u32,
    /// Jobs that must end well before.
    pub after: Vec<String>,
    /// Slurm's `nice`.
    pub nice: Option<u32>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The job's id.
    Job(String),
    /// Certainly refused, because there are too many jobs.
    Quota(String),
    /// Certainly refused, because of a job that it is to wait for: a controller that was killed may have forgotten that one.
    Dependency(String),
    /// Refused for another reason.
    Refused(String),
    /// Nobody knows.
    Unknown(String),
}

/// A job, or an element of an array, in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Of the call; nothing where the job carries no key of this run.
    pub serial: Option<u64>,
    /// Within the array.
    pub index: u32,
    /// As Slurm calls the job, without the element.
    pub job: String,
    /// Whether it has not ended.
    pub is_active: bool,
    /// Why Slurm or somebody holds it back, where that is so.
    pub held: Option<String>,
}

/// What a task said at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Of the call that submitted it.
    pub serial: u64,
    /// Its exit code; -1 where one of its parents had not ended well.
    pub code: i32,
}

impl Exit {
    /// The task did not run.
    // No program ends so: exit codes are 0 to 255.
    pub(crate) const NOT_STARTED: i32 = -1;
}

/// Slurm, or what stands for it.
pub trait Cluster {
    /// Calls `sbatch`.
    fn submit(&mut self, sbatch: &Sbatch) -> Submitted;
    /// All jobs of the user that Slurm remembers.
    ///
    /// # Errors
    /// What Slurm said instead.
    fn queue(&mut self) -> Result<Vec<Listed>, String>;
    /// What a task left as its last word.
    fn exit(&mut self, place: u32) -> Option<Exit>;
    /// Lets a held job go.
    ///
    /// # Errors
    /// What Slurm said instead.
    fn release(&mut self, job: &str) -> Result<(), String>;
    /// Ends jobs.
    ///
    /// # Errors
    /// What Slurm said instead.
    fn cancel(&mut self, jobs: &[String]) -> Result<(), String>;
}
