//! Counts everything anew for an order of the waiting tasks: their places, what is in use, and what each will need. Knows not
//! where the order is from.

use super::peaks::{self, Peaks};
use super::{BadOrder, Keeper, Leftovers, signed};
use crate::budgets::storage::NEXT;
use cairn_dag::{TaskId, narrow, wide};
use cairn_kernel::NONE;
use cairn_theory::game::Standing;
use cairn_theory::storage::FileId;

impl Keeper {
    /// Numbers the waiting tasks anew, in the order they have; one of them first.
    pub(super) fn renumber(&mut self, first: Option<TaskId>) {
        let mut order = self.waiting();
        if let Some(first) = first {
            order.retain(|&t| t != first);
            order.insert(0, first);
        }
        self.number(&order);
    }

    /// Whether an order names each waiting task once.
    pub(super) fn check(&self, order: &[TaskId]) -> Result<(), BadOrder> {
        let mut is_named = vec![false; self.standing.len()];
        for &task in order {
            let waits = (self.standing.get(task.index())).is_some_and(|s| s.is_unbegun());
            if !waits || std::mem::replace(&mut is_named[task.index()], true) {
                return Err(BadOrder::Incomplete);
            }
        }
        let waiting = self.standing.iter().filter(|s| s.is_unbegun()).count();
        match waiting == order.len() {
            true => Ok(()),
            false => Err(BadOrder::Incomplete),
        }
    }

    /// Everything anew from where the tasks are, with this order of those that wait.
    pub(super) fn number(&mut self, order: &[TaskId]) {
        // Places before the first, for tasks that come back: only when none is left is everything numbered anew.
        let slack = order.len() / 8 + NEXT;
        self.front = narrow(slack);
        self.version += 1;
        self.drift = 0;
        self.running = (self.standing.iter())
            .filter(|&&s| s == Standing::Leased)
            .count();
        self.place.fill(NONE);
        self.at = Vec::with_capacity(slack + order.len());
        self.at.resize(slack, NONE);
        for (place, task) in (self.front..).zip(order) {
            self.place[task.index()] = place;
            self.at.push(task.0);
        }
        (self.used, self.live) = (0, 0);
        for file in self.storage.files() {
            self.number_file(file);
        }
        let producers = (0..self.standing.len()).map(TaskId::new);
        for task in producers.filter(|t| self.standing[t.index()] == Standing::Leased) {
            self.used += self.storage.scratch(task);
        }
        // Along the order: what is live, and which files have how many readers left.
        let mut left: Vec<u32> = self.upto.clone();
        let mut live = self.live;
        let mut needs = Vec::with_capacity(slack + order.len());
        needs.resize(slack, peaks::GONE);
        for &task in order {
            // Before its inputs go: while it runs they are there beside what it writes.
            needs.push(signed(live + self.storage.reserved(task)));
            for file in self.storage.outputs(task) {
                if self.is_pinned[file.index()] || left[file.index()] > 0 {
                    live += self.storage.bytes(file);
                }
            }
            for file in self.storage.inputs(task) {
                left[file.index()] -= 1;
                if left[file.index()] == 0 && !self.is_pinned[file.index()] {
                    live -= self.storage.bytes(file);
                }
            }
        }
        self.peaks = Peaks::new(needs);
    }

    /// What is to be known of a file, from where its tasks are.
    pub(super) fn number_file(&mut self, file: FileId) {
        let slots = self.storage.consumer_slots(file);
        let readers = &mut self.readers[slots];
        let standing = |t: u32| self.standing[wide(t)];
        // Those that wait first, by place; the others have none.
        readers.sort_unstable_by_key(|&t| self.place[wide(t)]);
        let waiting = (readers.iter()).filter(|&&t| standing(t).is_unbegun());
        let waiting = narrow(waiting.count());
        let running = (readers.iter()).filter(|&&t| standing(t) == Standing::Leased);
        let open = waiting + narrow(running.count());
        let stays =
            self.leftovers == Leftovers::Stay && readers.iter().any(|&t| standing(t).is_given_up());
        let is_pinned = self.storage.is_kept(file) || stays;
        let bytes = self.storage.bytes(file);
        let producer = self.standing_of(self.storage.producer(file));
        if producer == Standing::Leased || producer == Standing::Executed {
            if producer == Standing::Leased || is_pinned || open > 0 {
                self.used += bytes;
            }
            if is_pinned || waiting > 0 {
                self.live += bytes;
            }
        }
        self.upto[file.index()] = waiting;
        self.open[file.index()] = open;
        self.is_pinned[file.index()] = is_pinned;
    }
}
