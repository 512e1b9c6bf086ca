//! Internet-Computing scheduling theory on a frozen dag. Knows no files, clocks, threads or randomness.

mod bipartite;

pub mod batch_game;
pub mod client_game;
pub mod game;
pub mod profile;

pub use bipartite::Bipartite;
