//! Reachability and shortcuts by boolean matrix. Knows no search and no order.

use cairn_dag::{Dag, TaskId};

/// `reach(dag)[u][v]`: whether a path of one or more arcs leads from `u` to `v`. Warshall's algorithm, O(n³).
pub fn reach(dag: &Dag) -> Vec<Vec<bool>> {
    let n = dag.len();
    let mut reach = vec![vec![false; n]; n];
    for (parent, child) in dag.arcs() {
        reach[parent.index()][child.index()] = true;
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                reach[i][j] |= reach[i][k] && reach[k][j];
            }
        }
    }
    reach
}

/// The arcs whose two ends are also joined by a longer path, sorted. O(n³ + arcs·n).
pub fn shortcuts(dag: &Dag) -> Vec<(TaskId, TaskId)> {
    let reach = reach(dag);
    let between = |u: TaskId, v: TaskId| {
        let mut tasks = 0..dag.len();
        tasks.any(|w| reach[u.index()][w] && reach[w][v.index()])
    };
    dag.arcs().filter(|&(u, v)| between(u, v)).collect()
}
