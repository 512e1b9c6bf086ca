//! A frozen dag of tasks, and what can be said of it without knowing any file format or schedule.
//!
//! [`Dag`] is the structure alone; [`Flow`] adds names and what the input says of each task, and is made by a
//! [`FlowBuilder`]. Everything here is pure: values in, values out. [`Family`] makes dags to try things on.
//!
//! Papers cited:
//! - \[MRY06\] Malewicz, Rosenberg, Yurkewych, "Toward a theory for scheduling dags in Internet-based computing";
//! - \[CMR07\] Cordasco, Malewicz, Rosenberg, "On scheduling expansive and reductive dags for Internet-based
//!   computing";
//! - \[MR05\] Malewicz, Rosenberg, "On batch-scheduling dags for Internet-based computing";
//! - \[RY05\] Rosenberg, Yurkewych, "Guidelines for scheduling some common computation-dags for Internet-based
//!   computing".

mod budgets;
mod builder;
mod columns;
mod components;
mod cycle;
mod dag;
mod families;
mod flow;
mod flow_ops;
mod id;
mod levels;
mod names;
mod ops;
mod plain;
mod pools;
mod reach;
mod rest;
mod shown;
mod skeleton;

pub use builder::{BuildError, FlowBuilder, Mark, NOWHERE, Symbol};
pub use cairn_kernel::{narrow, wide};
pub use components::Components;
pub use dag::{Dag, DagError};
pub use families::{Family, FamilyError, FamilyOptions, FamilyUsage};
pub use flow::{File, Flow};
pub use flow_ops::FlowOperationError;
pub use id::TaskId;
pub use levels::Levels;
pub use ops::OperationError;
pub use plain::{is_plain, plain};
pub use shown::{Meant, kind_of_word};
pub use skeleton::Skeleton;
