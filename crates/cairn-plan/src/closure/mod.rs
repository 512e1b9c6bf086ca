//! Parametric maximum closure: the chain of best ideals of a dag for all prices. Knows no schedules or clocks.
//!
//! Data flows from [`graph`] (the dag as needs, rewards and costs) through [`chain`] (which cuts pieces in two)
//! to links; a piece is solved by [`cold`] starts, or else by [`route`], whose rounds are [`trees`] of pseudoflow.
//! [`level`]ling gives bounds where there was no time to solve.

mod amount;
mod bound;
mod cold;
mod components;
mod contract;
mod edges;
mod gain;
mod graph;
mod ids;
mod level;
mod network;
mod piece;
mod proof;
mod route;
mod scratch;
mod sides;
mod solve;
#[cfg(test)]
mod tests;
mod trees;
#[cfg(test)]
mod twin;

pub(crate) use edges::chain;
pub(crate) use gain::Gain;
pub(crate) use graph::ClosureGraph;
pub(crate) use ids::{GraphNodeId, LinkId, PieceNodeId};
pub(crate) use proof::{LinkFlow, LinkGraph, link_flow};
pub(crate) use scratch::Scratch;
pub(crate) use solve::Tuning;
