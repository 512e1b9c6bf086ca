//! Eligible tasks in the order they go out, by class of needs. Knows no worker.

use crate::{ClassId, Needs, Task};
use cairn_dag::TaskId;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which task goes before which.
#[derive(Clone, Debug, Default)]
pub enum Order {
    /// By number: implicit families are numbered by their order.
    #[default]
    AsNumbered,
    /// By rank; smaller goes first.
    Ranked(Vec<u32>),
}

impl Order {
    /// The order of a frozen dag's tasks: all of them, each once.
    pub fn of(order: &[TaskId]) -> Order {
        Order::Ranked(cairn_kernel::places(order))
    }

    /// The rank of a task: smaller goes first.
    #[inline]
    pub fn rank(&self, task: Task) -> u64 {
        match self {
            Order::AsNumbered => task.0,
            Order::Ranked(rank) => match usize::try_from(task.0).ok().and_then(|t| rank.get(t)) {
                Some(&rank) => rank.into(),
                // The largest rank there is: a task that the order does not know comes last, but is given out all the same.
                None => u64::MAX,
            },
        }
    }
}

/// One heap a class. A task may be in it that is no longer eligible: whoever takes one asks the game.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    order: Order,
    classes: Vec<Needs>,
    number: HashMap<Needs, ClassId>,
    heaps: Vec<BinaryHeap<Reverse<(u64, Task)>>>,
}

impl Queue {
    pub(crate) fn new(order: Order, classes: Vec<Needs>) -> Queue {
        let heaps = classes.iter().map(|_| BinaryHeap::new()).collect();
        let number = (classes.iter().cloned())
            .zip((0..).map(ClassId::new))
            .collect();
        Queue {
            order,
            classes,
            number,
            heaps,
        }
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    pub(crate) fn needs(&self, class: ClassId) -> &Needs {
        &self.classes[class.index()]
    }

    /// The class of these needs, a new one if there was none.
    pub(crate) fn class(&mut self, needs: Needs) -> ClassId {
        if let Some(&class) = self.number.get(&needs) {
            return class;
        }
        let class = ClassId::new(self.classes.len());
        self.classes.push(needs.clone());
        self.number.insert(needs, class);
        self.heaps.push(BinaryHeap::new());
        class
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.classes.len()).map(ClassId::new)
    }

    pub(crate) fn push(&mut self, class: ClassId, task: Task) {
        self.heaps[class.index()].push(Reverse((self.order.rank(task), task)));
    }

    /// The first of a class, with its rank.
    pub(crate) fn first(&self, class: ClassId) -> Option<(u64, Task)> {
        self.heaps[class.index()]
            .peek()
            .map(|&Reverse(first)| first)
    }

    pub(crate) fn pop(&mut self, class: ClassId) {
        self.heaps[class.index()].pop();
    }

    /// Empties it and takes another order.
    pub(crate) fn reorder(&mut self, order: Order) {
        self.order = order;
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
    }

    pub(crate) fn clear(&mut self) {
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
    }
}
