//! The papers' pebble game with clients, who ask for tasks and bring results back when they please, beside the engine: with
//! workers of one slot the two answer alike. No run plays it, so it stands here and not in the theory.

use cairn_dag::{Dag, TaskId};
use cairn_engine::{
    Engine, Frozen, Moment, Offer, Order, Outbox, Outcome, Receipt, Refusal, Rules, WorkerId,
};
use cairn_oracle::{Random, random_dag};
use cairn_theory::game::{Game, IllegalMove, Standing};
use cairn_theory::profile::profile;
use cairn_theory::task_set::TaskSet;
use std::collections::BTreeMap;

/// A client, by any number the caller likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Client(u32);

/// The server's answer to a request (Rule 2). Only `Allocated` changes the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reply {
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
enum ClientError {
    /// The server's choice holds no EBU pebble.
    #[error("the server chose a task without an EBU pebble: {0}")]
    NotUnallocated(#[from] IllegalMove),
    /// A client brings back a task although it holds none.
    #[error("client {0:?} returns a task but holds none")]
    HoldsNothing(Client),
}

/// A play of the Internet-Computing pebble game with clients (\[RY05\], §2.2.1, Rules 1–4).
///
/// It is [`Game`] with clients: EBU pebbles lie on eligible tasks, EAA pebbles on leased ones, XEQ pebbles on executed
/// ones. Invariants, at every moment: those of the game; a client holds at most one task; the tasks with EAA pebbles are
/// exactly those that clients hold. When tasks come back in the order in which they were allocated and EAA and XEQ
/// pebbles are not told apart, this is the simplified game.
///
/// A request costs O(log(clients)) beside the server's choice, a return O(log(clients) + children).
#[derive(Clone, Debug)]
struct ClientGame<'a> {
    game: Game<'a>,
    /// The tasks with EBU pebbles.
    unallocated: TaskSet,
    holds: BTreeMap<Client, TaskId>,
}

impl<'a> ClientGame<'a> {
    /// Rule 1: an EBU pebble on every source.
    fn new(dag: &'a Dag) -> ClientGame<'a> {
        let mut unallocated = TaskSet::of(dag.len());
        dag.sources().for_each(|source| unallocated.insert(source));
        ClientGame {
            game: Game::new(dag),
            unallocated,
            holds: BTreeMap::new(),
        }
    }

    /// The pebbles as they lie.
    fn position(&self) -> &Game<'a> {
        &self.game
    }

    /// The tasks with EBU pebbles, in no particular order.
    fn unallocated(&self) -> &[TaskId] {
        self.unallocated.as_slice()
    }

    /// Rule 2: `client` asks for a task; if it may have one, the server's `choice` picks from the tasks with EBU
    /// pebbles.
    ///
    /// # Errors
    /// If the server chose a task that has none.
    fn request(
        &mut self,
        client: Client,
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
    fn give_back(&mut self, client: Client) -> Result<TaskId, ClientError> {
        let task = (self.holds.remove(&client)).ok_or(ClientError::HoldsNothing(client))?;
        let ClientGame {
            game, unallocated, ..
        } = self;
        let opened = |child| unallocated.insert(child);
        (game.execute(task, opened)).expect("a task that a client holds is leased");
        Ok(task)
    }
}

/// \[RY05\], Rules 1-4: with workers of one slot the engine answers as the server of the paper does.
#[test]
fn workers_of_one_slot_are_the_clients_of_the_paper() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let dag = random_dag(2 + random.below(14), random.below(4), seed);
        let mut tasks: Vec<TaskId> = dag.tasks().collect();
        random.shuffle(&mut tasks);
        let order = Order::of(&tasks);
        let mut engine = Engine::new(Frozen::new(&dag), Rules::default(), order.clone());
        let mut out = Outbox::default();
        let now = Moment(0);
        engine.open(now, &mut out);
        let mut paper = ClientGame::new(&dag);
        let workers: Vec<WorkerId> = (0..4)
            .map(|i| engine.join(now, &format!("w{i}"), Offer::cpus(1), &mut out))
            .collect();
        while !engine.is_over() {
            let client = random.below(4);
            let (worker, client) = (workers[client], Client(client as u32));
            let held = engine.workers()[worker.0 as usize].holds.clone();
            if random.below(2) == 0 {
                let best = |open: &[TaskId]| {
                    let best = open.iter().min_by_key(|&&t| order.rank(t.into()));
                    *best.unwrap()
                };
                let said = paper.request(client, best).unwrap();
                let answer = engine.ask(now, worker, 1, &mut out);
                match said {
                    Reply::Allocated(task) => assert_eq!(answer.unwrap()[0].task, task.into()),
                    Reply::Ignored { owes } => {
                        assert_eq!(held[0].0, owes.into());
                        assert_eq!(answer, Err(Refusal::Full));
                    }
                    Reply::Withdrawn => assert_eq!(answer, Err(Refusal::NothingEligible)),
                }
            } else if let [(task, token)] = held[..] {
                let returned = paper.give_back(client).unwrap();
                assert_eq!(task, returned.into());
                let receipt = engine.give_back(now, task, token, Outcome::Executed, &mut out);
                assert_eq!(receipt, Receipt::Accepted);
            }
        }
        assert!(paper.position().is_finished());
    }
}

fn check_invariants(client_game: &ClientGame<'_>) {
    let game = client_game.position();
    let all_are = |tasks: &[TaskId], standing| tasks.iter().all(|&t| game.standing(t) == standing);
    assert_eq!(client_game.unallocated().len(), game.eligible_count());
    assert!(all_are(client_game.unallocated(), Standing::Eligible));
    let held: Vec<TaskId> = client_game.holds.values().copied().collect();
    assert_eq!(held.len(), game.count(Standing::Leased));
    assert!(all_are(&held, Standing::Leased));
}

/// Random clients coming and going: the rules hold at every step, and the play ends.
#[test]
fn rules_one_to_four() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let dag = random_dag(random.below(13), random.below(5), seed);
        let mut game = ClientGame::new(&dag);
        check_invariants(&game);
        for _ in 0..random.below(80) {
            let client = Client(random.below(5) as u32);
            let held = game.holds.get(&client).copied();
            let open = game.unallocated().len();
            if random.below(2) == 0 {
                let any = |ebu: &[TaskId]| ebu[random.below(ebu.len())];
                match game.request(client, any).unwrap() {
                    Reply::Ignored { owes } => assert_eq!(held, Some(owes)),
                    Reply::Withdrawn => assert!(held.is_none() && open == 0),
                    Reply::Allocated(task) => {
                        assert!(held.is_none() && open > 0);
                        assert_eq!(game.position().standing(task), Standing::Leased);
                    }
                }
            } else {
                let returned = game.give_back(client);
                assert_eq!(returned, held.ok_or(ClientError::HoldsNothing(client)));
            }
            check_invariants(&game);
        }
        // Whoever holds a task returns it, then one client does the rest: the goal of Rule 4.
        let busy: Vec<Client> = game.holds.keys().copied().collect();
        for client in busy {
            game.give_back(client).unwrap();
        }
        while let Reply::Allocated(_) = game.request(Client(9), |ebu| ebu[0]).unwrap() {
            game.give_back(Client(9)).unwrap();
        }
        assert!(game.position().is_finished());
    }
}

/// The paper's simplification: executed in the order of allocation, EAA and XEQ lumped together, the EBU pebbles are the
/// eligible pebbles of the simplified game.
#[test]
fn lumping_gives_the_simplified_game() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let dag = random_dag(random.below(15), random.below(5), seed);
        let order = dag.topological_order();
        let expected = profile(&dag, order).unwrap();
        let mut game = ClientGame::new(&dag);
        for (step, &task) in order.iter().enumerate() {
            assert_eq!(game.unallocated().len() as u32, expected[step]);
            let reply = game.request(Client(0), |_| task);
            assert_eq!(reply, Ok(Reply::Allocated(task)));
            assert_eq!(game.give_back(Client(0)), Ok(task));
        }
        assert!(game.position().is_finished());
    }
}

/// Gridlock: all that is eligible has been given away, until somebody comes back.
#[test]
fn who_finds_nothing_withdraws() {
    let chain = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let mut game = ClientGame::new(&chain);
    let first = |unallocated: &[TaskId]| unallocated[0];
    let mut ask = |client| game.request(Client(client), first).unwrap();
    assert_eq!(ask(1), Reply::Allocated(TaskId(0)));
    assert_eq!(ask(2), Reply::Withdrawn);
    assert_eq!(game.give_back(Client(1)), Ok(TaskId(0)));
    let reply = game.request(Client(2), first);
    assert_eq!(reply, Ok(Reply::Allocated(TaskId(1))));
}

#[test]
fn a_bad_choice_is_refused_and_changes_nothing() {
    let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
    let mut game = ClientGame::new(&dag);
    let [waits, missing] = [TaskId(1), TaskId(7)].map(|t| game.request(Client(0), |_| t));
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
