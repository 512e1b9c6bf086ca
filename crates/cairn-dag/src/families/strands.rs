//! W-, M- and T-strands from a degree sequence (\[CMR07\] §3). Knows no larger dag.

use super::FamilyError;
use super::blocks::Block;

/// T[δ]: a caterpillar whose backbone is a path of sources and sinks in turn. Odd entries of δ are the outdegrees of
/// the backbone's sources, even ones the indegrees of its sinks; what a degree leaves beside the backbone are
/// private children or parents.
pub(super) fn t(degrees: &[u32]) -> Result<Block, FamilyError> {
    check_degrees(degrees, 1)?;
    // Each degree but for its first arc, which it shares with the entry before, adds tasks on the other side.
    let others = |parity: usize| -> u64 {
        let entries = degrees.iter().skip(parity).step_by(2);
        entries.map(|&d| u64::from(d) - 1).sum()
    };
    let (sources, sinks) = (1 + others(1), 1 + others(0));
    // A tree has one arc less than tasks.
    let arcs = sources + sinks - 1;
    let mut block = Block::new(sources, sinks, arcs)?;
    // The rightmost source and sink so far: the ends of the last arc.
    let (mut source, mut sink) = (0, 0);
    block.arcs.push((0, 0));
    for (i, &degree) in degrees.iter().enumerate() {
        for _ in 1..degree {
            if i % 2 == 0 {
                sink += 1;
            } else {
                source += 1;
            }
            block.arcs.push((source, sink));
        }
    }
    Ok(block)
}

/// W[δ]: sources of these outdegrees; neighbours share one child.
pub(super) fn w(degrees: &[u32]) -> Result<Block, FamilyError> {
    check_degrees(degrees, 2)?;
    t(&between(degrees, 2, Vec::new()))
}

/// M[δ]: sinks of these indegrees; neighbours share one parent.
pub(super) fn m(degrees: &[u32]) -> Result<Block, FamilyError> {
    check_degrees(degrees, 2)?;
    t(&between(degrees, 2, vec![1]))
}

/// Appends `degrees` to `start`, with `joint` between each two.
fn between(degrees: &[u32], joint: u32, mut start: Vec<u32>) -> Vec<u32> {
    for (i, &degree) in degrees.iter().enumerate() {
        if i > 0 {
            start.push(joint);
        }
        start.push(degree);
    }
    start
}

/// All degrees at least 2, but the first at least `first`.
fn check_degrees(degrees: &[u32], first: u32) -> Result<(), FamilyError> {
    if degrees.is_empty() {
        return Err(FamilyError::NoDegrees);
    }
    for (i, &degree) in degrees.iter().enumerate() {
        let least = if i == 0 { first } else { 2 };
        if degree < least {
            return Err(FamilyError::BadDegree {
                position: i + 1,
                degree,
                least,
            });
        }
    }
    Ok(())
}
