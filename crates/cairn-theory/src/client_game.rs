//! The full IC pebble game: clients that ask for tasks and bring results back when they please. Knows no clock.

use cairn_dag::{Dag, TaskId};
use std::collections::BTreeMap;

/// What lies on a task in the full game.
///
/// ```text
/// Bare ──(Rules 1, 3)──▶ Ebu ──(Rule 2: a client asks)──▶ Eaa ──(Rule 3: the client returns it)──▶ Xeq
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pebble {
    /// Nothing: some parent is not executed yet.
    Bare,
    /// Eligible but unallocated.
    Ebu,
    /// Eligible and allocated: a client works on it.
    Eaa,
    /// Executed.
    Xeq,
}

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
    #[error("the server chose task {task:?}, which holds {pebble:?} instead of an EBU pebble")]
    NotUnallocated {
        /// The task chosen.
        task: TaskId,
        /// What lies on it; `Bare` also for a task that does not exist.
        pebble: Pebble,
    },
    /// A client brings back a task although it holds none.
    #[error("client {0:?} returns a task but holds none")]
    HoldsNothing(ClientId),
}

/// A play of the Internet-Computing pebble game with clients (\[RY05\], §2.2.1, Rules 1–4).
///
/// Invariants, at every moment: a task bears a pebble iff all its parents bear XEQ pebbles; a client holds at most
/// one task; the tasks with EAA pebbles are exactly those that clients hold. When tasks come back in the order in
/// which they were allocated and EAA and XEQ pebbles are not told apart, this is the simplified
/// [`Game`](crate::game::Game).
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
    dag: &'a Dag,
    pebble: Vec<Pebble>,
    /// Parents without an XEQ pebble.
    waiting: Vec<u32>,
    /// The tasks with EBU pebbles, and where in that list each task is.
    unallocated: Vec<TaskId>,
    place: Vec<u32>,
    holds: BTreeMap<ClientId, TaskId>,
    executed: usize,
}

impl<'a> ClientGame<'a> {
    /// Rule 1: an EBU pebble on every source.
    pub fn new(dag: &'a Dag) -> ClientGame<'a> {
        let waiting = (dag.tasks()).map(|t| dag.parents(t).len() as u32).collect();
        let mut game = ClientGame {
            dag,
            pebble: vec![Pebble::Bare; dag.len()],
            waiting,
            unallocated: Vec::new(),
            place: vec![0; dag.len()],
            holds: BTreeMap::new(),
            executed: 0,
        };
        for source in dag.sources() {
            game.make_eligible(source);
        }
        game
    }

    /// What lies on `task`.
    ///
    /// # Panics
    /// If the dag has no such task.
    pub fn pebble(&self, task: TaskId) -> Pebble {
        self.pebble[task.index()]
    }

    /// The tasks with EBU pebbles, in no particular order.
    pub fn unallocated(&self) -> &[TaskId] {
        &self.unallocated
    }

    /// The clients that hold a task, and which.
    pub fn held(&self) -> impl Iterator<Item = (ClientId, TaskId)> + '_ {
        self.holds.iter().map(|(&client, &task)| (client, task))
    }

    /// How many tasks bear XEQ pebbles.
    pub fn executed_count(&self) -> usize {
        self.executed
    }

    /// Rule 4: whether the server's goal is reached, every task being executed.
    pub fn is_finished(&self) -> bool {
        self.executed == self.dag.len()
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
        if self.unallocated.is_empty() {
            return Ok(Reply::Withdrawn);
        }
        let task = choice(&self.unallocated);
        let pebble = self.pebble.get(task.index()).copied();
        if pebble != Some(Pebble::Ebu) {
            let pebble = pebble.unwrap_or(Pebble::Bare);
            return Err(ClientError::NotUnallocated { task, pebble });
        }
        let place = self.place[task.index()] as usize;
        self.unallocated.swap_remove(place);
        if let Some(moved) = self.unallocated.get(place) {
            self.place[moved.index()] = place as u32;
        }
        self.pebble[task.index()] = Pebble::Eaa;
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
        self.pebble[task.index()] = Pebble::Xeq;
        self.executed += 1;
        for &child in self.dag.children(task) {
            self.waiting[child.index()] -= 1;
            if self.waiting[child.index()] == 0 {
                self.make_eligible(child);
            }
        }
        Ok(task)
    }

    fn make_eligible(&mut self, task: TaskId) {
        self.pebble[task.index()] = Pebble::Ebu;
        self.place[task.index()] = self.unallocated.len() as u32;
        self.unallocated.push(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::profile;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    fn check_invariants(game: &ClientGame<'_>) {
        for task in game.dag.tasks() {
            let parents_done =
                (game.dag.parents(task).iter()).all(|&p| game.pebble(p) == Pebble::Xeq);
            assert_eq!(game.pebble(task) != Pebble::Bare, parents_done);
        }
        let count = |pebble| game.pebble.iter().filter(|&&p| p == pebble).count();
        assert_eq!(game.unallocated().len(), count(Pebble::Ebu));
        assert_eq!(game.held().count(), count(Pebble::Eaa));
        assert_eq!(game.executed_count(), count(Pebble::Xeq));
        assert!(
            game.unallocated()
                .iter()
                .all(|&t| game.pebble(t) == Pebble::Ebu)
        );
        assert!(game.held().all(|(_, t)| game.pebble(t) == Pebble::Eaa));
    }

    proptest! {
        /// Random clients coming and going: the rules hold at every step, and the play ends.
        #[test]
        fn rules_one_to_four(dag in any_dag(12), events in prop::collection::vec((0u32..5, any::<bool>(), 0usize..12), 0..80)) {
            let mut game = ClientGame::new(&dag);
            check_invariants(&game);
            for (client, asks, pick) in events {
                let client = ClientId(client);
                let held = game.held().find(|h| h.0 == client).map(|h| h.1);
                let open = game.unallocated().len();
                if asks {
                    match game.request(client, |ebu| ebu[pick % ebu.len()]).unwrap() {
                        Reply::Ignored { owes } => prop_assert_eq!(held, Some(owes)),
                        Reply::Withdrawn => prop_assert!(held.is_none() && open == 0),
                        Reply::Allocated(task) => {
                            prop_assert!(held.is_none() && open > 0);
                            prop_assert_eq!(game.pebble(task), Pebble::Eaa);
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
            let busy: Vec<ClientId> = game.held().map(|h| h.0).collect();
            for client in busy {
                game.give_back(client).unwrap();
            }
            while let Reply::Allocated(_) = game.request(ClientId(9), |ebu| ebu[0]).unwrap() {
                game.give_back(ClientId(9)).unwrap();
            }
            prop_assert!(game.is_finished());
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
            prop_assert!(game.is_finished());
        }
    }

    #[test]
    fn a_bad_choice_is_refused_and_changes_nothing() {
        let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
        let mut game = ClientGame::new(&dag);
        for task in [TaskId(1), TaskId(7)] {
            let pebble = Pebble::Bare;
            let error = ClientError::NotUnallocated { task, pebble };
            assert_eq!(game.request(ClientId(0), |_| task), Err(error));
        }
        check_invariants(&game);
        assert_eq!(game.unallocated(), [TaskId(0)]);
    }
}
