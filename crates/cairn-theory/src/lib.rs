//! Internet-Computing scheduling theory on a frozen dag. Knows no files, clocks, threads or randomness.

mod bipartite;
mod normal;
#[cfg(test)]
mod testing;

pub mod batch_game;
pub mod catalogue;
pub mod chain;
pub mod client_game;
pub mod dual;
pub mod game;
pub mod linearize;
pub mod merge;
pub mod priority;
pub mod profile;
pub mod recognise;
pub mod search;
pub mod split;
pub mod strand;
pub mod survey;
pub mod tree;

pub use bipartite::Bipartite;
