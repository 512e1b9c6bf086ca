//! Proves many shortcuts at once through hubs: tasks that lie on many paths. Never proves that an arc is none.

use super::Tuning;
use super::fates::{Fate, Fates};
use super::ranked::Ranked;
use crate::budgets::skeleton::DRAWS;
use crate::{narrow, wide};
use cairn_kernel::{Stopped, Work, long, mix};

/// Finds shortcuts among the open arcs by rounds of up to 64 hubs, spread over the ranks. An arc u→v is a shortcut
/// when u reaches a hub that reaches v. A round takes O(tasks + arcs); there is another for as long as each
/// decides its share of the arcs.
pub(super) fn mark_through_hubs(
    ranked: &Ranked,
    fates: &mut Fates,
    tuning: &Tuning,
    work: &mut Work<'_>,
) -> Result<(), Stopped> {
    // Any scatter will do, since the skeleton does not depend on which hubs are tried; always the same one takes the same time.
    let mut random = (0..).map(mix);
    while fates.open > 0 {
        work.go_on()?;
        let hubs = choose(ranked, tuning.hubs, &mut random);
        let reaches = masks(ranked, &hubs, Ranked::children, true);
        let reached_from = masks(ranked, &hubs, Ranked::parents, false);
        let before = fates.open;
        for v in 0..narrow(ranked.len()) {
            let from = reached_from[wide(v)];
            for slot in ranked.parent_slots(v) {
                let u = wide(ranked.tail(slot));
                if fates.of[slot] == Fate::Open && reaches[u] & from != 0 {
                    fates.decide(slot, Fate::Shortcut);
                }
            }
        }
        let decided = before - fates.open;
        // A round looks at every arc three times: it must decide its share of them to be worth that.
        if decided == 0 || decided.saturating_mul(tuning.worth) < ranked.arc_count() {
            break;
        }
    }
    Ok(())
}

/// One hub in each of `hubs` equal stretches of ranks.
fn choose(ranked: &Ranked, hubs: usize, random: &mut impl Iterator<Item = u64>) -> Vec<u32> {
    let n = ranked.len();
    let stretches = hubs.min(n);
    (0..stretches)
        .map(|i| {
            let (low, high) = (i * n / stretches, (i + 1) * n / stretches);
            let draw = |bits| narrow(low + (bits % long(high - low)) as usize);
            let best = random.by_ref().take(DRAWS).map(draw).max_by_key(|&at| {
                ranked.children(at).len() as u64 * ranked.parents(at).len() as u64
            });
            best.expect("at least one draw")
        })
        .collect()
}

/// For each rank, the hubs that one or more steps of `next` lead to: to larger ranks if `downwards`.
fn masks(
    ranked: &Ranked,
    hubs: &[u32],
    next: fn(&Ranked, u32) -> &[u32],
    downwards: bool,
) -> Vec<u64> {
    let mut mask = vec![0u64; ranked.len()];
    for (bit, &hub) in hubs.iter().enumerate() {
        mask[wide(hub)] = 1 << bit;
    }
    let ranks = 0..narrow(ranked.len());
    let mut gather = |at: u32| {
        let mut gathered = mask[wide(at)];
        for &other in next(ranked, at) {
            gathered |= mask[wide(other)];
        }
        mask[wide(at)] = gathered;
    };
    // What a step leads to must be gathered before.
    if downwards {
        ranks.rev().for_each(&mut gather);
    } else {
        ranks.for_each(&mut gather);
    }
    // So far a hub reaches itself; on an arc that starts or ends there it would prove nothing.
    for (bit, &hub) in hubs.iter().enumerate() {
        mask[wide(hub)] &= !(1 << bit);
    }
    mask
}
