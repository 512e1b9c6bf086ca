//! Plans any dag.

pub mod batch;
pub mod cap;
pub mod decide;
pub mod policy;
mod work;

pub use work::Work;
