//! The published study's grid: one simulation for every mean gap and mean size. Knows no picture.

use crate::error::SimulateError;
use crate::policy::Policy;
use crate::study::{Options, Study, simulate};
use crate::work::Work;
use crate::world::World;
use cairn_dag::Dag;

/// One point of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Mean time between batches.
    pub gap: f64,
    /// Mean size of a batch.
    pub size: f64,
    /// What came of it: ask it for ratios.
    pub study: Study,
}

/// Simulates the policies in [`World::batches`] for every pair of a mean gap and a mean size, gap by gap.
///
/// All cells share the seed, so that neighbours differ by their settings and not by luck. `cell_done` is called after
/// each cell with the number of cells done.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_sim::{Measure, Options, Policy, World, grid};
/// let dag = Dag::from_arcs(3, vec![(0, 2), (1, 2)])?;
/// let policies = [Policy::fifo(), Policy::lifo()];
/// let options = Options { runs: 10, ..Options::default() };
/// let cells = grid(&dag, &World::study_work(), &[0.1, 1.0], &[1.0, 4.0, 16.0], &policies, &options, |_| ())?;
/// assert_eq!(cells.len(), 6);
/// let ratio = cells[0].study.ratio(0, 1, Measure::Makespan).unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`simulate`], and for gaps or sizes out of range, before any cell is simulated.
pub fn grid(
    dag: &Dag,
    work: &Work,
    gaps: &[f64],
    sizes: &[f64],
    policies: &[Policy],
    options: &Options<'_>,
    mut cell_done: impl FnMut(usize),
) -> Result<Vec<Cell>, SimulateError> {
    let mut worlds = Vec::with_capacity(gaps.len() * sizes.len());
    for &gap in gaps {
        for &size in sizes {
            worlds.push((gap, size, World::batches(gap, size)?));
        }
    }
    let mut cells = Vec::with_capacity(worlds.len());
    for (gap, size, world) in worlds {
        let study = simulate(dag, work, &world, policies, options)?;
        cells.push(Cell { gap, size, study });
        cell_done(cells.len());
    }
    Ok(cells)
}
