//! Decides whether a dag admits an IC-optimal order, and finds a good one. Knows no clock: budgets are steps.
//!
//! Strict vertices of the hull are the only optima of their size, so every IC-optimal order passes through each of
//! them and the question splits into *intervals*; these split into independent *components*, equal ones solved
//! once. Component profiles add up to bounds within an interval and, by the forest of what waits for what, across
//! intervals; real sets found on the way are *witnesses* that no bound can pass.

mod block_bound;
mod chain;
mod compact;
mod component;
mod convolution;
mod crossing;
mod cutset;
mod forest;
mod frontier;
mod improve;
mod knowledge;
mod list_orders;
mod macro_states;
mod pair;
mod reason;
mod solve;
mod split_pair;
mod verdict;
mod windows;
mod witness;

pub use block_bound::BlockBound;
pub(crate) use block_bound::shared_tasks;
pub(crate) use chain::rank_of;
pub use chain::{Chain, Decision, Limits, decide};
pub use component::{Component, NONE, Placed, components};
pub use convolution::{NEVER, convolve, convolve_all, signed};
pub use cutset::Cutset;
pub use frontier::Frontier;
pub use improve::improve;
pub use knowledge::{Finding, Knowledge, Method};
pub use list_orders::ListOrders;
pub use macro_states::{ChainSearch, MacroStates};
pub use solve::{Effort, solve};
pub use verdict::{Conflict, Corner, Pair, Refusal, Verdict};
