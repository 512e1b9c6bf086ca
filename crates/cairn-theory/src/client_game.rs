//! The full IC pebble game: clients that ask for tasks and bring results back when they please. Knows no clock.
//!
//! No run plays it: the engine keeps leases of its own. It is the papers' text as code, against which the engine's laws are tested.

use crate::game::{Game, IllegalMove};
use crate::task_set::TaskSet;
use cairn_dag::{Dag, TaskId};
use std::collections::BTreeMap;

/// A client, by any number the caller likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

/// The server's answer to a request (Rule 2). Only `Allocated` changes the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The client now works on this task.
    Allocated(TaskId),
    /// The client still owes a task: the request is ignored.
    Ignored {
        /// The task it owes.
        owes: TaskId,
    },
    /// Nothing is eligible and unallocated: the client is told to withdraw its request.
    Withdrawn,
}

/// A use of the game that the rules do not provide for. The game is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server's choice holds no EBU pebble.
    #[error("the server chose a task without an EBU pebble: {0}")]
    NotUnallocated(#[from] IllegalMove),
    /// A client brings back a task although it holds none.
    #[error("client {0:?} returns a task but holds none")]
    HoldsNothing(ClientId),
}

/// A play of the Internet-Computing pebble game with clients (\[RY05\], §2.2.1, Rules 1–4).
///
/// It is [`Game`] with clients: EBU pebbles lie on eligible tasks, EAA pebbles on leased ones, XEQ pebbles on executed
/// ones. Invariants, at every moment: those of the game; a client holds at most one task; the tasks with EAA pebbles are
/// exactly those that clients hold. When tasks come back in the order in which they were allocated and EAA and XEQ
/// pebbles are not told apart, this is the simplified game.
///
/// A request costs O(log(clients)) beside the server's choice, a return O(log(clients) + children).
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_theory::client_game::{ClientGame, ClientId, Reply};
/// let chain = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
/// let mut game = ClientGame::new(&chain);
/// let first = |unallocated: &[TaskId]| unallocated[0];
/// assert_eq!(game.request(ClientId(1), first), Ok(Reply::Allocated(TaskId(0))));
/// // Gridlock: all that is eligible has been given away.
/// assert_eq!(game.request(ClientId(2), first), Ok(Reply::Withdrawn));
/// assert_eq!(game.give_back(ClientId(1)).unwrap(), TaskId(0));
/// assert_eq!(game.request(ClientId(2), first), Ok(Reply::Allocated(TaskId(1))));
/// ```
#[derive(Clone, Debug)]
pub struct ClientGame<'a> {
    game: Game<'a>,
    /// The tasks with EBU pebbles.
    unallocated: TaskSet,
    holds: BTreeMap<ClientId, TaskId>,
}

impl<'a> ClientGame<'a> {
    /// Rule 1: an EBU pebble on every source.
    pub fn new(dag: &'a Dag) -> ClientGame<'a> {
        let mut unallocated = TaskSet::of(dag.len());
        dag.sources().for_each(|source| unallocated.insert(source));
        ClientGame {
            game: Game::new(dag),
            unallocated,
            holds: BTreeMap::new(),
        }
    }

    /// The pebbles as they lie.
    pub fn position(&self) -> &Game<'a> {
        &self.game
    }

    /// The tasks with EBU pebbles, in no particular order.
    pub(crate) fn unallocated(&self) -> &[TaskId] {
        self.unallocated.as_slice()
    }

    /// Rule 2: `client` asks for a task; if it may have one, the server's `choice` picks from the tasks with EBU
    /// pebbles.
    ///
    /// # Errors
    /// If the server chose a task that has none.
    pub fn request(
        &mut self,
        client: ClientId,
        choice: impl FnOnce(&[TaskId]) -> TaskId,
    ) -> Result<Reply, ClientError> {
        if let Some(&owes) = self.holds.get(&client) {
            return Ok(Reply::Ignored { owes });
        }
        if self.unallocated().is_empty() {
            return Ok(Reply::Withdrawn);
        }
        let task = choice(self.unallocated());
        // Before the books change: a wrong choice of the server leaves everything as it was.
        self.game.lease(task)?;
        self.unallocated.remove(task);
        self.holds.insert(client, task);
        Ok(Reply::Allocated(task))
    }

    /// Rule 3: `client` returns the result of its task, which is executed thereby; its children whose parents are
    /// all executed get EBU pebbles. Returns the task.
    ///
    /// # Errors
    /// If the client holds none.
    pub fn give_back(&mut self, client: ClientId) -> Result<TaskId, ClientError> {
        let task = (self.holds.remove(&client)).ok_or(ClientError::HoldsNothing(client))?;
        let ClientGame {
            game, unallocated, ..
        } = self;
        let opened = |child| unallocated.insert(child);
        (game.execute(task, opened)).expect("a task that a client holds is leased");
        Ok(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Standing;
    use crate::profile::profile;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    fn check_invariants(client_game: &ClientGame<'_>) {
        let game = client_game.position();
        let all_are =
            |tasks: &[TaskId], standing| tasks.iter().all(|&t| game.standing(t) == standing);
        assert_eq!(client_game.unallocated().len(), game.eligible_count());
        assert!(all_are(client_game.unallocated(), Standing::Eligible));
        let held: Vec<TaskId> = client_game.holds.values().copied().collect();
        assert_eq!(held.len(), game.leased_count());
        assert!(all_are(&held, Standing::Leased));
    }

    proptest! {
        /// Random clients coming and going: the rules hold at every step, and the play ends.
        #[test]
        fn rules_one_to_four(dag in any_dag(12), events in prop::collection::vec((0u32..5, any::<bool>(), 0usize..12), 0..80)) {
            let mut game = ClientGame::new(&dag);
            check_invariants(&game);
            for (client, asks, pick) in events {
                let client = ClientId(client);
                let held = game.holds.get(&client).copied();
                let open = game.unallocated().len();
                if asks {
                    match game.request(client, |ebu| ebu[pick % ebu.len()]).unwrap() {
                        Reply::Ignored { owes } => prop_assert_eq!(held, Some(owes)),
                        Reply::Withdrawn => prop_assert!(held.is_none() && open == 0),
                        Reply::Allocated(task) => {
                            prop_assert!(held.is_none() && open > 0);
                            prop_assert_eq!(game.position().standing(task), Standing::Leased);
                        }
                    }
                } else {
                    match game.give_back(client) {
                        Ok(task) => prop_assert_eq!(held, Some(task)),
                        Err(error) => prop_assert!(held.is_none() && error == ClientError::HoldsNothing(client)),
                    }
                }
                check_invariants(&game);
            }
            // Whoever holds a task returns it, then one client does the rest: the goal of Rule 4.
            let busy: Vec<ClientId> = game.holds.keys().copied().collect();
            for client in busy {
                game.give_back(client).unwrap();
            }
            while let Reply::Allocated(_) = game.request(ClientId(9), |ebu| ebu[0]).unwrap() {
                game.give_back(ClientId(9)).unwrap();
            }
            prop_assert!(game.position().is_finished());
        }

        /// The paper's simplification: executed in the order of allocation, EAA and XEQ lumped together, the EBU
        /// pebbles are the eligible pebbles of the simplified game.
        #[test]
        fn lumping_gives_the_simplified_game(dag in any_dag(14)) {
            let order = dag.topological_order();
            let expected = profile(&dag, order).unwrap();
            let mut game = ClientGame::new(&dag);
            for (step, &task) in order.iter().enumerate() {
                prop_assert_eq!(game.unallocated().len() as u32, expected[step]);
                prop_assert_eq!(game.request(ClientId(0), |_| task), Ok(Reply::Allocated(task)));
                prop_assert_eq!(game.give_back(ClientId(0)), Ok(task));
            }
            prop_assert!(game.position().is_finished());
        }
    }

    #[test]
    fn a_bad_choice_is_refused_and_changes_nothing() {
        let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
        let mut game = ClientGame::new(&dag);
        let [waits, missing] = [TaskId(1), TaskId(7)].map(|t| game.request(ClientId(0), |_| t));
        let parent = TaskId(0);
        let illegal = IllegalMove::NotEligible {
            task: TaskId(1),
            parent,
        };
        assert_eq!(waits, Err(ClientError::NotUnallocated(illegal)));
        let illegal = IllegalMove::NoSuchTask {
            task: TaskId(7),
            tasks: 2,
        };
        assert_eq!(missing, Err(ClientError::NotUnallocated(illegal)));
        check_invariants(&game);
        assert_eq!(game.unallocated(), [TaskId(0)]);
    }
}
