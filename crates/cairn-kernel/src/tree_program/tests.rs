//! The tree program against all sets of tasks.

use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// The best gain of any set of each size, or of fewer, that can be chosen behind the gates.
fn by_brute_force(puzzle: &Puzzle) -> Vec<u32> {
    let mut best = vec![0; puzzle.len() + 1];
    for set in 0u32..1 << puzzle.len() {
        let has = |v: &u32| set >> v & 1 == 1;
        let members: Vec<u32> = (0..puzzle.len() as u32).filter(has).collect();
        let is_open = |v: &u32| {
            let gate = puzzle.gate(*v);
            gate.is_none_or(|p| puzzle.needs(p).iter().all(has))
        };
        if members.iter().all(is_open) {
            let shared = (0..puzzle.shared() as u32).filter(|&p| puzzle.needs(p).iter().all(has));
            let shared: u32 = shared.map(|p| puzzle.weight[p as usize]).sum();
            let gain = shared + members.iter().map(|&v| puzzle.own[v as usize]).sum::<u32>();
            best[members.len()] = gain.max(best[members.len()]);
        }
    }
    for t in 1..best.len() {
        best[t] = best[t].max(best[t - 1]);
    }
    best
}

/// Each task but the first hangs from an earlier one, or joins the prize by which another one does.
fn any_tree() -> impl Strategy<Value = Puzzle> {
    prop::collection::vec((any::<u32>(), any::<bool>(), 0u32..4), 1..11).prop_map(|tasks| {
        let own = tasks.iter().map(|t| t.2).collect();
        let mut needs: Vec<Vec<u32>> = Vec::new();
        for (&(above, is_joining, _), v) in tasks.iter().zip(0u32..).skip(1) {
            match needs.len() as u32 {
                prizes @ 1.. if is_joining => needs[(above % prizes) as usize].push(v),
                _ => needs.push(vec![above % v, v]),
            }
        }
        let mut shared = Rows::default();
        for mut row in needs {
            row.sort_unstable();
            shared.push(row);
        }
        Puzzle::new(own, &shared)
    })
}

/// Any prizes over a few tasks, each task open from the start or behind a prize that needs only earlier ones.
fn any_gated() -> impl Strategy<Value = Puzzle> {
    let prize = (prop::collection::btree_set(0u32..9, 1..4), 1u32..4);
    let prizes = prop::collection::vec(prize, 1..7);
    (1u32..10, prizes, any::<[u32; 9]>()).prop_map(|(tasks, prizes, draws)| {
        let mut needs = Rows::default();
        let mut weight = Vec::new();
        for (row, w) in prizes {
            let mut row: Vec<u32> = row.into_iter().map(|t| t % tasks).collect();
            row.sort_unstable();
            row.dedup();
            needs.push(row);
            weight.push(w);
        }
        let gate = |t: u32| {
            let draw = draws[t as usize];
            let earlier =
                (0..needs.len() as u32).filter(|&p| needs.row(p as usize).iter().all(|&u| u < t));
            let earlier: Vec<u32> = earlier.collect();
            match earlier.len() as u32 {
                count @ 1.. if draw & 3 > 0 => Some(earlier[(draw / 4 % count) as usize]),
                _ => None,
            }
        };
        let gate = (0..tasks).map(gate).collect();
        Puzzle::gated(needs, weight, gate)
    })
}

/// A long path of tasks, a prize between any two neighbours: told to stop at whatever question, it ends there.
#[test]
fn stops_when_told_to() {
    let tasks = 3000;
    let mut shared = Rows::default();
    (1..tasks).for_each(|v| {
        shared.push([v - 1, v]);
    });
    let puzzle: Puzzle = Puzzle::new(vec![0; tasks as usize], &shared);
    let asked = AtomicU32::new(0);
    let questions = |last: u32| {
        asked.store(0, Ordering::Relaxed);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= last;
        let found = profile(&puzzle, puzzle.len(), &mut Work::until(&stop));
        (found.is_some(), asked.load(Ordering::Relaxed))
    };
    let (is_found, all) = questions(u32::MAX);
    assert!(is_found && all > 100, "{all}");
    for last in [0, 1, all / 2, all - 1] {
        assert_eq!(questions(last), (false, last + 1));
    }
    assert_eq!(choose(&puzzle, 100, &mut Work::until(&|| true)), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Profile and sets of trees without gates.
    #[test]
    fn agrees_with_all_sets(puzzle in any_tree(), most in 0usize..12) {
        prop_assert!(puzzle.is_tree());
        let best = by_brute_force(&puzzle);
        let most = most.min(puzzle.len());
        prop_assert_eq!(profile(&puzzle, most, &mut Work::unlimited()).unwrap(), &best[..=most]);
        let mut set = choose(&puzzle, most, &mut Work::unlimited()).unwrap();
        prop_assert_eq!(*puzzle.gains(&set).unwrap().last().unwrap(), best[most]);
        set.sort_unstable();
        set.dedup();
        prop_assert_eq!(set.len(), most);
    }

    /// Profiles behind gates and across cycles; and the work is charged.
    #[test]
    fn agrees_with_all_sets_behind_gates(puzzle in any_gated(), most_cut in 0usize..9, steps in 0u64..200) {
        let best = by_brute_force(&puzzle);
        let cut = Graph::new(&puzzle).cutset(usize::MAX).expect("everything meets all cycles").len();
        match profile_by_cutset(&puzzle, most_cut, &mut Work::unlimited()) {
            Some((found, tried)) => {
                prop_assert_eq!(&found, &best);
                prop_assert!(cut <= most_cut && tried <= 1 << cut);
            }
            None => prop_assert!(cut > most_cut),
        }
        if cut == 0 {
            let most = most_cut.min(puzzle.len());
            prop_assert_eq!(profile(&puzzle, most, &mut Work::unlimited()).unwrap(), &best[..=most]);
        }
        let mut work = Work::steps(steps);
        match profile_by_cutset(&puzzle, most_cut, &mut work) {
            Some((found, _)) => prop_assert_eq!(found, best),
            None => prop_assert!(work.is_over() || cut > most_cut),
        }
    }
}
