//! The batched IC pebble game, as \[MR05\] defines it: many requests answered at once. That to lease a batch and then to execute it,
//! as the planner's [`BatchState`] has it, *is* that game.

use cairn_dag::{Dag, TaskId};
use cairn_oracle::{any_dag, eligible};
use cairn_plan::batch::BatchState;
use cairn_theory::game::{IllegalMove, Move, Standing};
use proptest::prelude::*;

/// A batch that the rules forbid. The game is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum IllegalBatch {
    /// The server must choose as many tasks as there are requests, or all eligible ones if they are fewer.
    #[error(
        "{requests} requests and {eligible} eligible tasks ask for a batch of {expected}, not of {chosen}"
    )]
    WrongSize {
        /// Requests in this step.
        requests: usize,
        /// Eligible tasks before it.
        eligible: usize,
        /// min(requests, eligible).
        expected: usize,
        /// Tasks the server chose.
        chosen: usize,
    },
    /// A task that is not eligible before the batch, or that the batch names twice; tasks that become eligible by the
    /// batch do not count.
    #[error(transparent)]
    Illegal(#[from] IllegalMove),
}

/// A play of the batched Internet-Computing pebble game (\[MR05\], §2.2).
///
/// At each step `r` clients ask at once. The server chooses min(r, eligible) eligible tasks, executes all of them,
/// and only then does the next generation become eligible. With r = 1 at every step it is the simplified game.
#[derive(Clone, Debug)]
struct BatchGame<'a> {
    state: BatchState<'a>,
    steps: usize,
}

impl<'a> BatchGame<'a> {
    /// The first position: every source is eligible.
    fn new(dag: &'a Dag) -> BatchGame<'a> {
        BatchGame {
            state: BatchState::new(dag),
            steps: 0,
        }
    }

    /// The eligible tasks, in id order.
    fn eligible(&self) -> Vec<TaskId> {
        let mut eligible = self.state.eligible().to_vec();
        eligible.sort();
        eligible
    }

    /// Answers `requests` requests with the tasks `chosen`. O(chosen + their children).
    ///
    /// # Errors
    /// If the batch has the wrong size, repeats a task or names one that is not eligible; nothing is executed then.
    fn step(&mut self, requests: usize, chosen: &[TaskId]) -> Result<(), IllegalBatch> {
        let eligible = self.state.eligible().len();
        let expected = requests.min(eligible);
        if chosen.len() != expected {
            return Err(IllegalBatch::WrongSize {
                requests,
                eligible,
                expected,
                chosen: chosen.len(),
            });
        }
        // All are leased before the first is executed: what the batch itself opens is not among them.
        for (i, &task) in chosen.iter().enumerate() {
            if let Err(illegal) = self.state.lease(task) {
                for &leased in &chosen[..i] {
                    // A task named twice fails at its second lease, so the first one is given back here as well.
                    self.state.release(leased)?;
                }
                return Err(illegal.into());
            }
        }
        for &task in chosen {
            self.state.execute(task)?;
        }
        self.steps += 1;
        Ok(())
    }
}

proptest! {
    /// Random batches, legal and not: exactly the legal ones are executed, all at once.
    #[test]
    fn batches_follow_the_rules(dag in any_dag(10), batches in prop::collection::vec((0usize..5, prop::collection::vec(0usize..10, 0..5), any::<bool>()), 0..30)) {
        let mut game = BatchGame::new(&dag);
        let mut ideal = 0u32;
        for (requests, picks, honest) in batches {
            let may = eligible(&dag, ideal);
            let mut chosen: Vec<TaskId> = picks.iter().map(|&p| TaskId(p as u32)).collect();
            if honest {
                chosen = may.iter().copied().take(requests).collect();
            }
            let mut unique = chosen.clone();
            unique.sort();
            unique.dedup();
            let legal = chosen.len() == requests.min(may.len()) && unique.len() == chosen.len()
                && chosen.iter().all(|t| may.contains(t));
            let steps = game.steps;
            prop_assert_eq!(game.step(requests, &chosen).is_ok(), legal);
            if legal {
                ideal |= chosen.iter().map(|t| 1 << t.0).sum::<u32>();
            }
            prop_assert_eq!(game.steps, steps + usize::from(legal));
            prop_assert_eq!(game.eligible(), eligible(&dag, ideal));
        }
    }
}

#[test]
fn a_task_made_eligible_by_the_batch_may_not_be_in_it() {
    let dag = Dag::from_arcs(3, vec![(0, 1)]).unwrap();
    let mut game = BatchGame::new(&dag);
    let error = game.step(2, &[TaskId(0), TaskId(1)]).unwrap_err();
    assert!(matches!(
        error,
        IllegalBatch::Illegal(IllegalMove::NotEligible { .. })
    ));
    assert_eq!(
        game.step(2, &[TaskId(0), TaskId(0)]),
        Err(IllegalBatch::Illegal(IllegalMove::Standing {
            task: TaskId(0),
            found: Standing::Leased,
            wanted: Move::Lease,
        }))
    );
    game.step(2, &[TaskId(2), TaskId(0)]).unwrap();
    assert_eq!(game.eligible().len(), 1);
}
