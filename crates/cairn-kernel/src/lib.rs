//! The tools that theory and planner share. Knows no dag, no task and no schedule.
//!
//! [`Work`] counts what an answer costs and can be stopped; [`Rows`] and [`DisjointSets`] hold graphs; [`completed`]
//! counts down who waits, [`Growing`] gives out the largest first; [`convolve`] adds
//! profiles up and [`corners`] finds their envelope; a [`Puzzle`] asks for the best so many tasks, [`colours`] number it,
//! [`greedy()`] orders it, and where it is nearly a tree [`tree_program`] answers.

mod colours;
mod convolution;
mod countdown;
mod disjoint_sets;
mod envelope;
mod greedy;
mod growing;
mod id;
mod mix;
mod puzzle;
mod rows;
pub mod tree_program;
mod work;

pub use colours::colours;
pub use convolution::{NEVER, Price, Value, convolve, signed};
pub use countdown::completed;
pub use disjoint_sets::DisjointSets;
pub use envelope::corners;
pub use greedy::{NEAR, greedy, nearness, nearness_of};
pub use growing::Growing;
pub use id::{Id, NONE, long, narrow, places, wide};
pub use mix::{GOLDEN, mix};
pub use puzzle::{Joins, Puzzle, SCALE, largest_shares, part};
pub use rows::Rows;
pub use work::{Stopped, Work};
