//! The dag AIRSN by its formula. Knows no simulation.

use cairn_dag::{Dag, TaskId};

/// Jobs of the handle: a chain whose last job, with one private fringe job each, feeds the cover.
const HANDLE: u32 = 21;

/// The double umbrella of 3·width + 23 jobs, and an order: handle, fringe, cover, join, fork, join.
pub(crate) fn airsn(width: u32, fringe_first: bool) -> (Dag, Vec<TaskId>) {
    let (handle, fringe) = if fringe_first {
        (width, 0)
    } else {
        (0, HANDLE)
    };
    let cover = HANDLE + width;
    let (join, fork) = (cover + width, cover + width + 1);
    let end = fork + width;
    let mut arcs: Vec<(u32, u32)> = (1..HANDLE).map(|i| (handle + i - 1, handle + i)).collect();
    for i in 0..width {
        arcs.extend([
            (handle + HANDLE - 1, cover + i),
            (fringe + i, cover + i),
            (cover + i, join),
            (join, fork + i),
            (fork + i, end),
        ]);
    }
    let order = (handle..handle + HANDLE)
        .chain(fringe..fringe + width)
        .chain(cover..=end);
    let dag = Dag::from_arcs(end as usize + 1, arcs).expect("arcs go forward");
    (dag, order.map(TaskId).collect())
}
