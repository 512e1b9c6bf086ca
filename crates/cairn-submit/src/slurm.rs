//! Slurm: a job a task, submitted in the order of the plan. Knows no plan and no server.
//!
//! What may go wrong between us and a controller, and what keeps it from doing harm:
//!
//! - Slurm forgets jobs after a while, and takes a dependency on a forgotten one for fulfilled, even if that job failed. So
//!   every job, before it does anything, reads what its parents wrote about their ends (`place`), and only tasks whose
//!   parents are alive or executed are submitted.
//! - A call of `sbatch` can be cut off at any moment. A key is written down before it, and is the job's comment and the last
//!   word of its command; the id is written down after. A key without an id is looked for in the queue before its tasks are
//!   submitted again (`window`). What would hide a job from us is not handed to `sbatch` (`options`).
//! - Sites limit how many jobs a user may have. A refusal for that reason is waited out, in order.
//! - Disks fill. Under a cap, tasks are submitted only as the rule of a run allows (`space`).
//! - The controller may be away. Nothing is concluded from a queue that was not seen.

mod cluster;
mod crew;
mod journal;
mod options;
mod place;
mod space;
mod tools;
mod window;

pub use cluster::{Cluster, Exit, Listed, Sbatch, Submitted};
pub use crew::{CREW_JOURNAL, Crew, CrewError, crew, submit_crew};
pub use journal::{Event, Journal, JournalError};
pub use options::{Instead, OptionError, check};
pub(crate) use place::files;
pub use place::{Place, PlaceError};
pub use space::{Files, NoRoom, Planner, Space};
pub(crate) use tools::constraint;
pub use tools::{Tools, ToolsError};
pub use window::{News, Step, Trouble, Whereabouts, Window, Wishes};
