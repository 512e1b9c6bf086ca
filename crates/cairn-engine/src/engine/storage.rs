//! What the keeper of storage lets start, and what it is told. Knows no order of its own.

use super::Engine;
use crate::budgets::storage::ASKED;
use crate::{ClassId, Keeper, Moment, Position, Task, WorkerId};
use cairn_dag::TaskId;
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// Storage is kept under a cap from now on. Before [`Engine::open`]; the keeper needs not know what was replayed.
    pub fn keep(&mut self, mut keeper: Keeper) {
        keeper.set_stale();
        self.keeper = Some(Box::new(keeper));
    }

    /// Only these tasks are wanted for now: nobody gets the others, and the keeper counts on none of them. No event tells of
    /// it, as it is a wish of this start alone.
    pub fn leave_out_all_but(&mut self, wanted: &[bool]) {
        self.left_out = wanted.iter().map(|wanted| !wanted).collect();
        if let Some(keeper) = self.keeper.as_deref_mut() {
            keeper.set_stale();
        }
    }

    fn is_left_out(&self, task: Task) -> bool {
        let id = task.frozen().and_then(|id| self.left_out.get(id.index()));
        id.copied().unwrap_or(false)
    }

    /// Who keeps storage under a cap, if anybody does.
    pub fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_deref()
    }

    /// The same, to be told of sizes, another cap, another order.
    pub fn keeper_mut(&mut self) -> Option<&mut Keeper> {
        self.sync_keeper();
        self.keeper.as_deref_mut()
    }

    /// Whether eligible tasks wait for space.
    pub fn is_withholding(&self) -> bool {
        !self.withheld.is_empty()
    }

    /// Tasks that nobody has, and whose last attempt was that of a worker that was lost: it may still be at it.
    pub fn lost(&self) -> impl Iterator<Item = (WorkerId, Task)> + '_ {
        let tries = self.tries.iter().filter(|(_, tries)| tries.losses > 0);
        let lost = tries.map(|(&task, tries)| (tries.last, task));
        lost.filter(|&(worker, task)| {
            let known = self.workers.get(worker.index());
            let is_open = self.position.standing(task) != Ok(Standing::Executed);
            is_open && self.leases.oldest(task).is_none() && known.is_some_and(|w| w.was_lost)
        })
    }

    /// The first eligible task of a class that the keeper, if there is one, lets start.
    pub(super) fn first_allowed(&mut self, class: ClassId) -> Option<(u64, Task)> {
        loop {
            let (rank, task) = self.queue.first(class)?;
            if self.position.standing(task) == Ok(Standing::Eligible) && !self.is_left_out(task) {
                let Some((keeper, id)) = self.keeper.as_deref_mut().zip(task.frozen()) else {
                    return Some((rank, task));
                };
                let asked = self.withheld.iter().filter(|(of, _)| *of == class);
                // Those that were refused since anything changed: they would be refused again.
                if asked.count() >= ASKED {
                    return None;
                }
                if keeper.may(id) {
                    return Some((rank, task));
                }
                self.withheld.push((class, task));
            }
            // Withheld, or an entry of a task that is no longer eligible: such stay in the heap until they come
            // first.
            self.queue.pop(class);
        }
    }

    /// What the keeper refused is asked about again once anything has changed.
    pub(super) fn requeue_withheld(&mut self) {
        self.sync_keeper();
        let version = self.keeper().map_or(0, Keeper::version);
        if version != self.withheld_at {
            self.withheld_at = version;
            let mut withheld = std::mem::take(&mut self.withheld);
            for (class, task) in withheld.drain(..) {
                self.queue.push(class, task);
            }
            // Empty, with its room for the next.
            self.withheld = withheld;
        }
    }

    /// A task that comes next in the keeper's own order: when nothing runs, its first one may always start.
    pub(super) fn next_by_storage(
        &mut self,
        now: Moment,
        worker: WorkerId,
    ) -> Option<(u64, ClassId, Task)> {
        let next: Vec<TaskId> = self.keeper.as_deref()?.next_by_order().collect();
        for id in next {
            let task = Task::from(id);
            if self.position.standing(task) != Ok(Standing::Eligible) {
                continue;
            }
            let class = self.class(task);
            let needs = self.queue.needs(class);
            let asking = &self.workers[worker.index()];
            let fits = asking.could(now, needs)
                && asking.has_room(needs)
                && self.has_pools(needs)
                && self.has_space(worker, task)
                && !self.is_kept_from(worker, task, needs);
            if fits && self.keeper.as_deref_mut()?.may(id) {
                return Some((self.queue.order().rank(task), class, task));
            }
        }
        None
    }

    /// Tells the keeper of a task, unless it has to learn everything anew.
    pub(super) fn tell_keeper(&mut self, task: Task, what: impl FnOnce(&mut Keeper, TaskId)) {
        let keeper = self.keeper.as_deref_mut().filter(|k| !k.is_stale());
        if let Some((keeper, id)) = keeper.zip(task.frozen()) {
            what(keeper, id);
        }
    }

    /// Tasks stand elsewhere than the keeper (and who dispatches) knows, and it would be too much to tell one by one.
    pub(super) fn unsettle_keeper(&mut self) {
        self.is_dispatch_stale = true;
        if let Some(keeper) = &mut self.keeper {
            keeper.set_stale();
        }
    }

    /// The keeper learns where all tasks stand, if it does not know.
    pub(super) fn sync_keeper(&mut self) {
        if let Some(keeper) = self.keeper.as_deref_mut().filter(|k| k.is_stale()) {
            let left_out = &self.left_out;
            let standing = |id: TaskId| {
                let standing = self.position.standing(id.into());
                let standing = standing.expect("a task of the dag");
                let is_left_out = left_out.get(id.index()).is_some_and(|out| *out);
                match standing.is_unbegun() && is_left_out {
                    // As far as the keeper goes it will not be executed in this start: nothing is reserved for it.
                    true => Standing::Cancelled,
                    false => standing,
                }
            };
            keeper.sync(standing);
        }
    }

    /// After a restart the keeper has its first order. If that is not safe, what was tried before goes first, as it did.
    pub(super) fn tried_first(&mut self) {
        let Some(keeper) = self.keeper.as_deref_mut().filter(|k| !k.is_safe()) else {
            return;
        };
        let was_tried = |id: &TaskId| {
            let task = Task::from(*id);
            self.tries.contains_key(&task) && self.position.standing(task) == Ok(Standing::Eligible)
        };
        let (mut order, rest): (Vec<TaskId>, Vec<TaskId>) =
            keeper.waiting().into_iter().partition(was_tried);
        // What they need was in use before: first they are as safe as they were, in their old places they may not be.
        order.extend(rest);
        // Where that does not help, the driver finds another order, or the run stops with the bytes that are missing.
        let _ = keeper.adopt(&order);
    }
}
