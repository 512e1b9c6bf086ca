//! Decides whether a dag admits an IC-optimal order, and finds a good one. Knows no clock: budgets are steps.
//!
//! Strict vertices of the hull are the only optima of their size, so every IC-optimal order passes through each of
//! them and the question splits into *intervals*; these split into independent *components*, equal ones solved
//! once. Component profiles add up to bounds within an interval and, by the forest of what waits for what, across
//! intervals; real sets found on the way are *witnesses* that no bound can pass.

mod block_bound;
mod compact;
mod component;
mod crossing;
mod forest;
mod frontier;
mod ids;
mod improve;
mod intervals;
mod knowledge;
mod list_orders;
mod macro_states;
mod pair;
mod reason;
mod refusal;
mod rounds;
mod solve;
mod solved;
mod split_pair;
mod states;
#[cfg(test)]
mod tests;
mod tree_program;
mod walk;
mod windows;
mod witness;

pub(crate) use block_bound::shared_tasks;
pub(crate) use component::one_interval;
#[cfg(test)]
pub(crate) use component::{Component, components};
#[cfg(test)]
pub(crate) use frontier::frontier_profile;
pub use ids::{ComponentId, IntervalId};
pub(crate) use intervals::StrictChain;
pub use refusal::{Conflict, Corner, Crossing, Pair, Refusal};
#[cfg(test)]
pub(crate) use rounds::Decision;
pub(crate) use rounds::{DecideEffort, decide};
pub(crate) use solve::ComponentEffort;
