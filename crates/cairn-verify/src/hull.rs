//! The hull: checks the flow of each piece. Knows nothing of how flows are found.

use crate::format::Piece;
use crate::rejected::Rejected;
use crate::width::{long, narrow, wide};
use cairn_dag::{Dag, TaskId};

/// The piece of what lies in none: there are never so many pieces, since each has a task.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A hull that was proved.
#[derive(Debug)]
pub(crate) struct Hull {
    /// By task: the interval between strict vertices in which it is executed; undefined for sinks.
    pub(crate) interval: Vec<u32>,
    /// By task: the piece in which it is executed; undefined for sinks. After each piece the executed tasks are an
    /// ideal.
    pub(crate) piece: Vec<u32>,
    /// The corners (executed, gained), from (0, 0) to (all tasks with children, all tasks with parents). The ideal
    /// at each corner is the only best one of its size.
    pub(crate) corners: Vec<(u64, u64)>,
}

impl Hull {
    /// No ideal of `t` tasks gains more: the height of the hull there, rounded down.
    pub(crate) fn at(&self, t: u64) -> u64 {
        let next = self.corners.partition_point(|c| c.0 <= t);
        let (cost, reward) = self.corners[next - 1];
        match self.corners.get(next) {
            Some(&(c, r)) => reward + along(r - reward, t - cost, c - cost),
            None => reward,
        }
    }
}

/// ⌊rise·x / run⌋.
pub(crate) fn along(rise: u64, x: u64, run: u64) -> u64 {
    (u128::from(rise) * u128::from(x) / u128::from(run)) as u64
}

/// Checks the pieces; `order` says which task each number in them means.
///
/// Give every task v with parents a node in(v), "v is eligible or executed", with reward 1, and every task v with
/// children a node out(v), "v is executed", with cost 1. in(v) *needs* out(p) of each parent p, and out(v) needs
/// in(v). An ideal is a set of nodes closed under needs. Each node lies in one piece; let a piece have reward r
/// and cost c. The flow runs inside the piece along needs; each in-node brings in c units, each out-node takes r
/// out, and nothing else enters or leaves:
///
/// - in(v): c + (what out(v) hands on to it) = what it hands to the out-nodes of parents;
/// - out(v): what the in-nodes of children hand to it = r + (what it hands on to in(v)).
///
/// Now let X be an ideal. Flow leaves X ∩ piece only along needs, which lead into X: so none leaves it, and
/// c·reward(X ∩ piece) ≤ r·cost(X ∩ piece). The prices r/c do not rise from piece to piece, so summing over the
/// pieces gives gain(X) ≤ hull(|X|), the concave curve through the sums of (c, r).
///
/// Where the price falls strictly from one piece to the next, take a price between the two: equality is only
/// possible for the ideal that contains all tasks of the pieces before and none of those after. So it is the only
/// best one of its size, and every IC-optimal order passes through it.
pub(crate) fn check(dag: &Dag, order: &[TaskId], pieces: &[Piece]) -> Result<Hull, Rejected> {
    let mut executed_in = vec![NOWHERE; dag.len()];
    let mut eligible_in = vec![NOWHERE; dag.len()];
    for (i, piece) in pieces.iter().enumerate() {
        if piece.cost != long(piece.executed.len()) || piece.reward != long(piece.eligible.len()) {
            return Err(Rejected::PieceMiscounted(i));
        }
        // A piece that executes nothing has no price; what needs nothing is a source, and that is no reward.
        if piece.cost == 0 {
            return Err(Rejected::PieceEmpty(i));
        }
        let i = narrow(i);
        place(order, &piece.executed, i, &mut executed_in, |t| {
            !dag.is_sink(t)
        })?;
        place(order, &piece.eligible, i, &mut eligible_in, |t| {
            !dag.is_source(t)
        })?;
    }
    for task in dag.tasks() {
        if (executed_in[task.index()] == NOWHERE) != dag.is_sink(task)
            || (eligible_in[task.index()] == NOWHERE) != dag.is_source(task)
        {
            return Err(Rejected::TaskInNoPiece);
        }
        // Needs lead to the same piece or an earlier one: with that, all pieces up to any are an ideal.
        let is_late = |&p: &TaskId| executed_in[p.index()] > eligible_in[task.index()];
        let is_early =
            !dag.is_source(task) && executed_in[task.index()] < eligible_in[task.index()];
        if is_early || dag.parents(task).iter().any(is_late) {
            return Err(Rejected::PiecesNotNested);
        }
    }
    check_flows(dag, order, pieces, &executed_in, &eligible_in)?;
    let mut corners = vec![(0, 0)];
    let mut interval_of_piece = Vec::new();
    let (mut cost, mut reward) = (0, 0);
    for (i, piece) in pieces.iter().enumerate() {
        interval_of_piece.push(narrow(corners.len()) - 1);
        cost += piece.cost;
        reward += piece.reward;
        match pieces.get(i + 1).map(|next| falls(piece, next)) {
            Some(false) => return Err(Rejected::PriceRises(i)),
            // Where the price stays the same the ideal is one of many best ones, and no corner.
            Some(true) if !is_equal(piece, &pieces[i + 1]) => corners.push((cost, reward)),
            Some(true) => {}
            None => corners.push((cost, reward)),
        }
    }
    let interval = |&p: &u32| interval_of_piece.get(wide(p)).map_or(NOWHERE, |&j| j);
    Ok(Hull {
        interval: executed_in.iter().map(interval).collect(),
        piece: executed_in,
        corners,
    })
}

/// Notes the piece of each listed task: one that belongs, and only once.
fn place(
    order: &[TaskId],
    listed: &[u32],
    piece: u32,
    place_of: &mut [u32],
    belongs: impl Fn(TaskId) -> bool,
) -> Result<(), Rejected> {
    for &number in listed {
        let task = order.get(wide(number)).copied();
        match task.filter(|&t| belongs(t) && place_of[t.index()] == NOWHERE) {
            Some(task) => place_of[task.index()] = piece,
            None => return Err(Rejected::PieceMislists(piece, number)),
        }
    }
    Ok(())
}

fn check_flows(
    dag: &Dag,
    order: &[TaskId],
    pieces: &[Piece],
    executed_in: &[u32],
    eligible_in: &[u32],
) -> Result<(), Rejected> {
    // u128: a sum of fewer than 2^64 amounts below 2^64 cannot overflow.
    let mut handed = vec![0u128; dag.len()]; // by in(v), to its parents
    let mut received = vec![0u128; dag.len()]; // by out(v), from its children
    for (i, piece) in pieces.iter().enumerate() {
        for &(parent, child, amount) in &piece.flows {
            let task = |number: u32| order.get(wide(number)).copied();
            let (Some(p), Some(c)) = (task(parent), task(child)) else {
                return Err(Rejected::FlowNamesNoTask(i));
            };
            let is_inside =
                executed_in[p.index()] == narrow(i) && eligible_in[c.index()] == narrow(i);
            if amount == 0 || !is_inside || !dag.has_arc(p, c) {
                return Err(Rejected::FlowOffArc(i, parent, child, amount));
            }
            handed[c.index()] += u128::from(amount);
            received[p.index()] += u128::from(amount);
        }
    }
    for v in dag.tasks().map(TaskId::index) {
        let (executed, eligible) = (executed_in[v], eligible_in[v]);
        // A sink is executed in no piece and a source eligible in none: they take and bring nothing.
        let price = |i: u32| pieces.get(wide(i)).map_or(0, |p| u128::from(p.reward));
        // What out(v) hands on to in(v); nothing leaves the piece.
        let Some(on) = received[v].checked_sub(price(executed)) else {
            return Err(Rejected::FlowTooSmall(executed));
        };
        if on > 0 && executed != eligible {
            return Err(Rejected::FlowLeaves(executed));
        }
        let brought = pieces.get(wide(eligible)).map_or(0, |p| u128::from(p.cost));
        if handed[v] != brought + on {
            return Err(Rejected::FlowUneven(eligible));
        }
    }
    Ok(())
}

/// Whether the price of the first is at least that of the second.
fn falls(a: &Piece, b: &Piece) -> bool {
    u128::from(a.reward) * u128::from(b.cost) >= u128::from(b.reward) * u128::from(a.cost)
}

fn is_equal(a: &Piece, b: &Piece) -> bool {
    falls(a, b) && falls(b, a)
}
