//! What an order of a dag's tasks is worth: a discrete-event simulator of workers that come and go, with paired
//! statistics. Knows no files, no sockets, no wall clock, and not how an order was computed.
//!
//! [`simulate`] plays every [`Policy`] in the same runs of one [`World`], on what [`Workload`] says the tasks take, and
//! returns a [`Study`]: all [`Measures`] of all runs, to be asked for means, intervals and paired ratios.
//! [`Contest`] takes the policy that is fastest in some worlds; [`replay`] tells every event of one run.
//!
//! Everything random comes from named streams of PCG XSL 128/64 (MCG), seeded by (seed, run, purpose, index): a task's
//! duration in a run, a worker's speed and up-times, the batches, are the same whatever the policy does. Samples are
//! quantiles computed by portable code, so numbers are the same on every machine and for any number of threads.

mod batched;
mod batches;
mod bit_tree;
mod budgets;
mod bytes;
mod chooser;
mod clock;
mod earliest_finish;
mod eligible;
#[cfg(test)]
mod engine_twin;
mod error;
mod gate;
mod heft;
mod known;
mod leases;
mod longest;
mod measures;
mod nature;
mod play;
mod policy;
mod pool;
mod pool_copies;
mod pool_engine;
mod pool_run;
mod pool_serve;
mod portfolio;
mod random;
mod rematch;
mod running;
mod served;
mod sighting;
mod spread;
mod stage;
mod statistics;
mod study;
mod study_pools;
mod throttled;
mod tight;
mod trace;
#[cfg(test)]
mod twin;
mod worker;
mod workload;
mod world;

pub use batched::BestBatches;
pub use batches::Batches;
pub use bytes::{ArcBytes, arc_bytes};
pub use chooser::{Batching, Chooser};
pub use error::{Halt, SettingError, SimulateError, TooLong};
pub use gate::Admission;
pub use measures::{Event, Measure, Measures, Results, What};
pub use nature::Natures;
pub use policy::Policy;
pub use pool::{Breaks, Crew, Lease, Link, Pool, PoolSettings, Tail};
pub use portfolio::{Chosen, Contest, Picked, Plays, joint_ratio, machine, usual_worlds};
pub use rematch::{Rematch, Rest, Successor};
pub use served::{Knows, Serving, Terms};
pub use sighting::{Glimpse, Sighting};
pub use spread::Spread;
pub use statistics::{Interval, Ratio, Summary, extremes, median};
pub use study::{Endings, Options, Outcome, Replay, Study, check, endings, replay, simulate};
pub use study_pools::{STUDY_POOLS, StudyPool};
pub use throttled::Throttled;
pub use tight::{
    ListKind, ListOrders, TimeByCap, faster_list, fastest_first, play_lists, time_by_cap,
};
pub use trace::{Trace, TraceError};
pub use workload::Workload;
pub use world::{World, mean_time};
