//! Internet-Computing scheduling theory on a frozen dag. Knows no files, clocks, threads or randomness.

mod bipartite;
mod eager;
pub mod families;
pub mod memory;
pub mod search;
pub mod strand;
pub mod tree;

pub use bipartite::Bipartite;
