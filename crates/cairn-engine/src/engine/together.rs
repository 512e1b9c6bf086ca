//! Several requests at once: one batch for all of them, or each in its turn. Knows nothing of what came before.

use super::Engine;
use crate::{Granted, Moment, Needs, Outbox, Position, Refusal, Task, Worker, WorkerId};
use cairn_theory::game::Standing;

impl<P: Position> Engine<P> {
    /// Requests that came together, each for as many tasks as it says: by request what it gets, or why nothing.
    ///
    /// Where the position knows batches, and every task goes to every worker, tasks for all of them are chosen as one batch
    /// (\[MR05\]) and handed out in the order of the requests, best first. Else they are served one after the other. Once
    /// nothing is left for anybody, the others are refused without being heard of. Where tasks go by what is learnt of
    /// workers ([`Engine::watch`]), that decides.
    pub fn ask_together(
        &mut self,
        now: Moment,
        asked: &[(WorkerId, usize)],
        out: &mut Outbox,
    ) -> Vec<Result<Vec<Granted>, Refusal>> {
        if let Some(answers) = self.ask_aware(now, asked, out) {
            return answers;
        }
        let mut chosen = self.batch(now, asked).into_iter();
        // What is refused to all need not be found out for each.
        let mut over = None;
        let each = |&(worker, want): &(WorkerId, usize)| {
            if let (Some(refusal), true) = (over, want > 0) {
                return Err(refusal);
            }
            self.hear(now, worker)?;
            let room = want.min(self.workers[worker.index()].free_cpus());
            let mut granted = Vec::new();
            while granted.len() < want {
                // Chosen tasks are of one processor: beyond the free ones the chooser says why there is no more.
                let next = match granted.len() < room {
                    // Who asked before in this round may have been given one of them by the order.
                    true => chosen.by_ref().find(|&task| self.is_eligible(task)),
                    false => None,
                };
                let next = match next {
                    Some(task) => Ok((self.class(task), task)),
                    None => self.choose(now, worker),
                };
                match next {
                    Ok((class, task)) => granted.push(self.grant(now, worker, class, task, out)),
                    Err(refusal) if granted.is_empty() => {
                        over = Some(refusal).filter(|r| is_for_all(*r));
                        return Err(refusal);
                    }
                    Err(_) => break,
                }
            }
            Ok(granted)
        };
        asked.iter().map(each).collect()
    }

    fn is_eligible(&self, task: Task) -> bool {
        self.position.standing(task) == Ok(Standing::Eligible)
    }

    /// The best tasks for all requests together; none where they are to be chosen one by one.
    fn batch(&mut self, now: Moment, asked: &[(WorkerId, usize)]) -> Vec<Task> {
        let workers = &self.workers;
        let here = |id: WorkerId| workers.get(id.index()).filter(|w| w.is_here);
        let room = |&(id, want): &(WorkerId, usize)| Some(want.min(here(id)?.free_cpus()));
        let count: usize = asked.iter().filter_map(room).sum();
        let has_disk =
            |&(id, _): &(WorkerId, usize)| here(id).is_some_and(|w| w.offer.disk.is_some());
        // The batcher knows nothing of bytes.
        let is_counted = self.keeper.is_some() || asked.iter().any(has_disk);
        // One task goes by the order. Volunteers have to go by who had what, which the batcher knows nothing of.
        if count < 2 || is_counted || self.minds_volunteers() || self.refuses_all().is_some() {
            return Vec::new();
        }
        let fits = |worker: &Worker, needs: &Needs| is_light(needs) && worker.could(now, needs);
        let goes_anywhere = |needs: &Needs| {
            let mut asking = asked.iter().filter_map(|&(id, _)| here(id));
            asking.all(|worker| fits(worker, needs))
        };
        let classes = self.queue.classes();
        if !classes
            .into_iter()
            .all(|class| goes_anywhere(self.queue.needs(class)))
        {
            return Vec::new();
        }
        let batch = self.position.batch(count, self.queue.order());
        batch.unwrap_or_default()
    }
}

/// Whether the task takes nothing but one processor.
fn is_light(needs: &Needs) -> bool {
    needs.cpus <= 1 && needs.memory == 0 && needs.pools.is_empty()
}

/// Whether whoever asks next is refused as well.
pub(super) fn is_for_all(refusal: Refusal) -> bool {
    matches!(
        refusal,
        Refusal::NothingEligible
            | Refusal::Paused
            | Refusal::TooManyFailures
            | Refusal::Halted
            | Refusal::Finished
    )
}
