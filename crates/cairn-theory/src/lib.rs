//! Internet-Computing scheduling theory on a frozen dag. Knows no files, clocks, threads or randomness.

mod bipartite;
pub mod strand;
pub mod tree;

pub use bipartite::Bipartite;
