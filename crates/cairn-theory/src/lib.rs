//! Internet-Computing scheduling theory on a frozen dag. Knows no files, clocks, threads or randomness.
//!
//! A schedule executes one task a step, each after its parents. It is *IC-optimal* if at every step as many tasks are
//! eligible as any schedule could have made eligible by then. Many dags admit no such schedule; for those that are
//! composed of simple blocks in the right order, [`linearize::linearize`] finds one and proves it:
//!
//! ```
//! use cairn_dag::Dag;
//! use cairn_theory::{Work, linearize::linearize, profile::profile, survey::SurveyEffort};
//! let dag = Dag::from_arcs(5, vec![(0, 2), (0, 3), (1, 3), (1, 4)]).unwrap();
//! let found = linearize(&dag, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
//! assert_eq!(profile(&dag, &found.order).unwrap(), [2, 2, 3, 2, 1, 0]);
//! ```
//!
//! The way there: [`split`] (blocks and super-dag), [`recognise`] and [`catalogue`], [`strand`], [`tree`] and
//! [`search`] (orders and profiles of blocks), gathered in a [`survey`]; [`priority`] (▷), [`merge`] (sums) and
//! [`ranks`]; and [`linearize`]. Beside it: the one game ([`game`]), what an order is worth ([`profile`], [`memory`],
//! [`storage`]) and the word for it ([`Verdict`]), and families given by formula ([`families`]).
//!
//! What the papers state and nobody runs is kept as laws that tests check: duality (`dual.rs`), beside the planner's batches
//! the batched game (`cairn-plan/tests/batch_game.rs`), and beside the engine the game with clients
//! (`cairn-engine/tests/client_game.rs`).
//!
//! References, cited by these names:
//! - \[MRY06\] Malewicz, Rosenberg, Yurkewych, "Toward a theory for scheduling dags in Internet-based computing"
//! - \[CMR07\] Cordasco, Malewicz, Rosenberg, "On scheduling expansive and reductive dags for Internet-based computing"
//! - \[MR05\] Malewicz, Rosenberg, "On batch-scheduling dags for Internet-based computing"
//! - \[RY05\] Rosenberg, Yurkewych, "Guidelines for scheduling some common computation-dags for Internet-based
//!   computing"

mod bipartite;
mod budgets;
#[cfg(test)]
mod dual;
mod eager;
mod normal;
#[cfg(test)]
mod testing;
mod undirected;
mod verdict;

pub mod catalogue;
pub mod families;
pub mod game;
pub mod linearize;
pub mod memory;
pub mod merge;
pub mod priority;
pub mod profile;
pub mod ranks;
pub mod recognise;
pub mod search;
pub mod split;
pub mod storage;
pub mod strand;
pub mod survey;
pub mod task_set;
pub mod tree;

pub use bipartite::{Bipartite, BlockAnswer, BlockOrder};
pub use cairn_kernel::Work;
pub use verdict::Verdict;
