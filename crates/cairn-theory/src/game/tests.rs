//! Laws of the game, by random play.

use super::*;
use cairn_oracle::{any_dag, eligible};
use proptest::prelude::*;

/// What happened so far, and where that puts each task by the definitions alone.
#[derive(Default)]
struct History {
    executed: u32,
    leased: u32,
    failed: u32,
    cancelled: u32,
}

impl History {
    fn standing(&self, dag: &Dag, task: TaskId) -> Standing {
        let has = |set: u32, t: TaskId| set >> t.0 & 1 == 1;
        let mut ancestors = 0u32;
        for &t in dag.topological_order().iter().rev() {
            if t == task || has(ancestors, t) {
                dag.parents(t).iter().for_each(|p| ancestors |= 1 << p.0);
            }
        }
        match () {
            () if has(self.executed, task) => Standing::Executed,
            () if has(self.failed, task) => Standing::Failed,
            () if has(self.cancelled, task) => Standing::Cancelled,
            () if has(self.leased, task) => Standing::Leased,
            () if ancestors & (self.failed | self.cancelled) != 0 => Standing::Aborted,
            () if eligible(dag, self.executed).contains(&task) => Standing::Eligible,
            () => Standing::Waiting,
        }
    }

    fn is_legal(&self, dag: &Dag, task: TaskId, step: Move) -> bool {
        let standing = |t| self.standing(dag, t);
        let stood_on = |&c: &TaskId| {
            let on = [Standing::Leased, Standing::Executed, Standing::Failed];
            on.contains(&standing(c))
        };
        let from: &[Standing] = match step {
            Move::Lease => &[Standing::Eligible],
            Move::Release => &[Standing::Leased],
            Move::Execute | Move::Fail => &[Standing::Eligible, Standing::Leased],
            Move::Cancel => &[Standing::Waiting, Standing::Eligible, Standing::Leased],
            Move::Revive => &[Standing::Failed, Standing::Cancelled],
            Move::Reopen if dag.children(task).iter().any(stood_on) => &[],
            Move::Reopen => &[Standing::Executed],
            Move::Abort => &[],
        };
        from.contains(&standing(task))
    }

    fn make(&mut self, task: TaskId, step: Move) {
        let bit = 1u32 << task.0;
        self.leased &= !bit;
        match step {
            Move::Lease => self.leased |= bit,
            Move::Execute => self.executed |= bit,
            Move::Fail => self.failed |= bit,
            Move::Cancel => self.cancelled |= bit,
            Move::Reopen => self.executed &= !bit,
            Move::Revive => {
                self.failed &= !bit;
                self.cancelled &= !bit;
            }
            Move::Release | Move::Abort => (),
        }
    }
}

proptest! {
    /// Random moves, legal and not: after each, every task stands where the definitions put it, and what was said to
    /// open or close did.
    #[test]
    fn pebbles_are_what_the_rules_say(dag in any_dag(12), moves in prop::collection::vec((0u32..14, 0u8..12), 0..80)) {
        let mut game = Game::new(&dag);
        let mut history = History::default();
        for (task, kind) in moves {
            let task = TaskId(task);
            let before: Vec<Standing> = dag.tasks().map(|t| game.standing(t)).collect();
            let (mut opened, mut closed, mut aborted) = (Vec::new(), Vec::new(), Vec::new());
            let (outcome, step) = match kind {
                0 | 1 => (game.lease(task), Move::Lease),
                2 => (game.release(task), Move::Release),
                3 => (game.fail(task, |t| aborted.push(t)), Move::Fail),
                4 => (game.cancel(task, |t| aborted.push(t)), Move::Cancel),
                5 => (game.revive(task, |t| opened.push(t)), Move::Revive),
                6 => (game.reopen(task, |t| opened.push(t), |t| closed.push(t)), Move::Reopen),
                _ => (game.execute(task, |t| opened.push(t)), Move::Execute),
            };
            if task.index() >= dag.len() {
                let tasks = dag.len();
                prop_assert_eq!(outcome, Err(IllegalMove::NoSuchTask { task, tasks }));
                continue;
            }
            prop_assert_eq!(outcome.is_ok(), history.is_legal(&dag, task, step), "{:?} {:?}", task, step);
            match outcome {
                Ok(()) => history.make(task, step),
                Err(IllegalMove::NotEligible { parent, .. }) => {
                    prop_assert!(dag.has_arc(parent, task) && history.standing(&dag, parent) != Standing::Executed);
                }
                Err(IllegalMove::StoodOn { child, found, .. }) => {
                    prop_assert!(dag.has_arc(task, child) && game.standing(child) == found);
                }
                Err(IllegalMove::Standing { found, wanted, .. }) => {
                    prop_assert_eq!((found, wanted), (game.standing(task), step));
                }
                Err(IllegalMove::NoSuchTask { .. }) => prop_assert!(false),
            }
            if step != Move::Release {
                let fresh = |t: &TaskId| before[t.index()] != Standing::Eligible && game.standing(*t) == Standing::Eligible;
                prop_assert_eq!(opened, dag.tasks().filter(fresh).collect::<Vec<_>>());
            }
            if matches!(step, Move::Fail | Move::Cancel) {
                let lost = |t: &TaskId| before[t.index()] != Standing::Aborted && game.standing(*t) == Standing::Aborted;
                aborted.sort_unstable();
                prop_assert_eq!(aborted, dag.tasks().filter(lost).collect::<Vec<_>>());
            }
            if step == Move::Reopen {
                let shut = dag.tasks().filter(|t| before[t.index()] == Standing::Eligible && game.standing(*t) == Standing::Waiting);
                prop_assert_eq!(closed, shut.collect::<Vec<_>>());
            }
            for t in dag.tasks() {
                prop_assert_eq!(game.standing(t), history.standing(&dag, t), "{:?} after {:?} of {:?}", t, step, task);
            }
            for standing in before.iter().copied() {
                let there = dag.tasks().filter(|&t| game.standing(t) == standing).count();
                prop_assert_eq!(game.count(standing), there);
            }
            prop_assert_eq!(game.eligible().count(), game.eligible_count());
            prop_assert_eq!(game.is_finished(), game.executed_count() == dag.len());
            let open = |t| matches!(game.standing(t), Standing::Waiting | Standing::Eligible | Standing::Leased);
            prop_assert_eq!(game.is_settled(), !dag.tasks().any(open));
        }
    }
}

#[test]
fn errors_speak_in_sentences() {
    let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let mut game = Game::new(&dag);
    let refused = game.release(TaskId(0)).unwrap_err().to_string();
    assert_eq!(refused, "task #0 is eligible, so it cannot be released");
}
