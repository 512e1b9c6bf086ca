//! Random bipartite trees, random expansive dags and random composites of blocks. Knows no schedule.

use super::FamilyError;
use super::blocks::{self, Block};
use super::dice::Dice;
use super::draft::{Draft, at_least, check};
use crate::{Dag, narrow, wide};
use cairn_kernel::Rows;

/// A bipartite tree on `tasks` tasks: uniform among the labelled trees, then its two sides named sources and sinks by a
/// coin.
pub(super) fn bipartite_tree(tasks: u32, dice: &mut Dice) -> Result<Dag, FamilyError> {
    at_least("N", 2, tasks)?;
    let mut edges = random_tree(tasks, dice)?;
    let is_source = two_colours(tasks, &edges, dice.coin());
    for (u, v) in &mut edges {
        if !is_source[wide(*u)] {
            std::mem::swap(u, v);
        }
    }
    Draft::of(u128::from(tasks), edges)?.finish()
}

/// The edges of a uniform labelled tree, from a random Prüfer word. Linear.
fn random_tree(tasks: u32, dice: &mut Dice) -> Result<Vec<(u32, u32)>, FamilyError> {
    check("tasks", u128::from(tasks))?;
    // Words of n − 2 labels and labelled trees on n tasks correspond one to one: a uniform word is a uniform tree.
    let word: Vec<u32> = (2..tasks).map(|_| dice.below(tasks)).collect();
    // How often each label still has to appear as an inner end.
    let mut left = vec![0u32; wide(tasks)];
    for &label in &word {
        left[wide(label)] += 1;
    }
    let mut edges = Vec::with_capacity(wide(tasks) - 1);
    // The smallest leaf is either the one that the last step made or the next one behind the cursor.
    let mut cursor = 0;
    let mut leaf = next_leaf(&left, &mut cursor);
    for &inner in &word {
        edges.push((leaf, inner));
        left[wide(inner)] -= 1;
        leaf = if left[wide(inner)] == 0 && inner < cursor {
            inner
        } else {
            next_leaf(&left, &mut cursor)
        };
    }
    // The smallest leaf went each time, so the largest label is one of the two that remain.
    edges.push((leaf, tasks - 1));
    Ok(edges)
}

fn next_leaf(left: &[u32], cursor: &mut u32) -> u32 {
    while left[wide(*cursor)] > 0 {
        *cursor += 1;
    }
    *cursor += 1;
    *cursor - 1
}

/// Colours the ends of each edge of a tree differently; task 0 gets `first`.
fn two_colours(tasks: u32, edges: &[(u32, u32)], first: bool) -> Vec<bool> {
    let both_ways = edges.iter().flat_map(|&(u, v)| [(u, v), (v, u)]);
    let neighbours = Rows::by_row(wide(tasks), both_ways);
    let mut colour = vec![None; wide(tasks)];
    colour[0] = Some(first);
    let mut stack = vec![0u32];
    while let Some(task) = stack.pop() {
        let other = colour[wide(task)].map(|c| !c);
        for &next in neighbours.row(wide(task)) {
            if colour[wide(next)].is_none() {
                colour[wide(next)] = other;
                stack.push(next);
            }
        }
    }
    let coloured = colour.into_iter().map(|c| c.expect("a tree is connected"));
    coloured.collect()
}

/// A connected bipartite expansive dag (\[MR05\] §2.1.2): each source v has 2 ≤ φ_v ≤ `phi` children of its own and at most
/// φ_v shared ones. φ_v is uniform. Shared sinks first join each source to a random earlier one; then a random
/// part of what φ_v allows is shared in groups of two to four.
fn expansive_block(sources: u32, phi: u32, dice: &mut Dice) -> Result<Block, FamilyError> {
    let own: Vec<u32> = (0..sources).map(|_| dice.between(2, phi)).collect();
    let private: u64 = own.iter().map(|&own| u64::from(own)).sum();
    check("tasks", u128::from(sources) + u128::from(private))?;
    let mut may_share = own.clone();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    // Never empty: φ_v ≥ 2, and a new source has used one of it when it comes in.
    let mut open = vec![0u32];
    for v in 1..sources {
        let at = wide(dice.below(narrow(open.len())));
        let earlier = open[at];
        groups.push(vec![earlier, v]);
        may_share[wide(v)] -= 1;
        may_share[wide(earlier)] -= 1;
        if may_share[wide(earlier)] == 0 {
            // Their order does not matter, since draws are uniform.
            open.swap_remove(at);
        }
        open.push(v);
    }
    let mut ends: Vec<u32> = Vec::new();
    for v in 0..sources {
        let more = dice.between(0, may_share[wide(v)]);
        ends.extend((0..more).map(|_| v));
    }
    dice.shuffle(&mut ends);
    let mut rest = &ends[..];
    while rest.len() >= 2 {
        // Small joins: chosen by eye.
        let size = (wide(dice.between(2, 4))).min(rest.len());
        let mut group = rest[..size].to_vec();
        rest = &rest[size..];
        group.sort_unstable();
        group.dedup();
        // A group of one would be a child of its own.
        if group.len() >= 2 {
            groups.push(group);
        }
    }
    let shared: u64 = groups.iter().map(|group| group.len() as u64).sum();
    let sinks = private + groups.len() as u64;
    let mut block = Block::new(u64::from(sources), sinks, private + shared)?;
    let mut sink = 0;
    for (v, &own) in own.iter().enumerate() {
        for _ in 0..own {
            block.arcs.push((narrow(v), sink));
            sink += 1;
        }
    }
    for group in groups {
        block.arcs.extend(group.into_iter().map(|v| (v, sink)));
        sink += 1;
    }
    Ok(block)
}

/// A random composite of `blocks` expansive blocks of `sources` sources each.
pub(super) fn expansive(
    sources: u32,
    phi: u32,
    blocks: u32,
    dice: &mut Dice,
) -> Result<Dag, FamilyError> {
    at_least("SOURCES", 1, sources)?;
    at_least("PHI", 2, phi)?;
    at_least("blocks", 1, blocks)?;
    // Each source has two children of its own at least: refuse before drawing.
    check("tasks", 3 * u128::from(sources))?;
    compose(blocks, dice, |dice| expansive_block(sources, phi, dice))
}

/// A random composite of `blocks` blocks of the catalogue, W, M, N, C, Q and K alike, parameters up to `size`.
pub(super) fn composite(blocks: u32, size: u32, dice: &mut Dice) -> Result<Dag, FamilyError> {
    at_least("BLOCKS", 1, blocks)?;
    at_least("size", 2, size)?;
    compose(blocks, dice, |dice| match dice.below(6) {
        0 => blocks::w(dice.between(1, size), dice.between(2, size)),
        1 => blocks::m(dice.between(1, size), dice.between(2, size)),
        2 => blocks::n(dice.between(1, size)),
        3 => blocks::c(dice.between(2, size)),
        4 => blocks::q(dice.between(2, size)),
        _ => blocks::k(dice.between(1, size), dice.between(1, size)),
    })
}

/// Composes random blocks one after another: each but the first has one or more of its sources merged with sinks of
/// what is there, the number and the tasks uniform. Hence connected, and without shortcuts. O(tasks + arcs).
fn compose(
    blocks: u32,
    dice: &mut Dice,
    mut block: impl FnMut(&mut Dice) -> Result<Block, FamilyError>,
) -> Result<Dag, FamilyError> {
    // Each block adds one task at least: refuse before drawing.
    check("tasks", u128::from(blocks))?;
    let mut arcs: Vec<(u32, u32)> = Vec::new();
    let mut tasks = 0u32;
    let mut sinks: Vec<u32> = Vec::new();
    for _ in 0..blocks {
        let block = block(dice)?;
        let most = block.sources.min(narrow(sinks.len()));
        let merged = if most == 0 { 0 } else { dice.between(1, most) } as usize;
        let draw = |_| sinks.swap_remove(wide(dice.below(narrow(sinks.len()))));
        // Taken out of the sinks for good: a merged one has children now.
        let mut source_id: Vec<u32> = (0..merged).map(draw).collect();
        let fresh = u64::from(block.sources) - merged as u64 + u64::from(block.sinks);
        check("tasks", u128::from(tasks) + u128::from(fresh))?;
        check("arcs", arcs.len() as u128 + block.arcs.len() as u128)?;
        while source_id.len() < wide(block.sources) {
            source_id.push(tasks);
            tasks += 1;
        }
        // Else the merged sources would always be the leftmost of their block.
        dice.shuffle(&mut source_id);
        let new_arcs = block.arcs.iter();
        arcs.extend(new_arcs.map(|&(source, sink)| (source_id[wide(source)], tasks + sink)));
        sinks.extend(tasks..tasks + block.sinks);
        tasks += block.sinks;
    }
    Draft::of(u128::from(tasks), arcs)?.finish()
}
