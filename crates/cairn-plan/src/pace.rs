//! How fast a plan is finished once it is told to stop. Knows no clock: whoever has one asks.

use cairn_dag::Dag;
use cairn_kernel::long;

/// What it takes, for each task and arc, to make a whole order of what was found by then; measured on dags of 10⁴ to 10⁶
/// tasks, with room for slower machines.
const NANOSECONDS: u64 = 200;

/// How long before the end of its time [`plan()`](crate::plan()) has to be told to stop, in nanoseconds: it still makes an
/// order of what it has, looks at every task and arc a few times, and judges the order.
///
/// ```
/// let dag = cairn_dag::Dag::from_arcs(3, vec![(0, 1), (1, 2)]).unwrap();
/// assert_eq!(cairn_plan::nanoseconds_to_finish(&dag), 1000);
/// ```
pub fn nanoseconds_to_finish(dag: &Dag) -> u64 {
    NANOSECONDS * long(dag.len() + dag.arc_count())
}
