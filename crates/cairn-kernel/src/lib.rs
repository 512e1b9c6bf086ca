//! The tools that theory and planner share: counted work that can be stopped. Knows no dag.

mod work;

pub use work::{Stopped, Work};
