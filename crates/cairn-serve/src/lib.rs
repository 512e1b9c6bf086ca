//! Runs dags: the store of a run, processes on this machine, the server and its workers. Decides nothing about tasks:
//! who gets which is the engine's ([`cairn_engine`]). Knows no priorities, and of the theory only where a task stands, what
//! files take, and the words for verdicts.

mod assets;
mod beneath;
mod book_file;
pub mod client;
mod clock;
mod digest;
mod disk;
mod found;
mod free;
pub mod http;
pub mod live;
mod mutex;
mod near;
mod past;
mod private;
mod replay;
pub mod report;
pub mod run;
pub mod spawn;
pub mod store;
pub mod tls;
pub mod tokens;
pub mod work;

pub use book_file::{BookError, BookFile};
pub use digest::digest;
pub use disk::{
    Cap, DiskSetup, Layout, Most, PLANNING_WITHIN_CAP, Planner, Priorities, Unkept, Usage,
    bytes_at, delete,
};
pub use found::{About, Found};
pub use free::{NO_LIMIT, free_bytes};
pub use past::{AttemptEnd, Past, PastAttempt, Stay, past};
