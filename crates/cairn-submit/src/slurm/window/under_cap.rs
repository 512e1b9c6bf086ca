//! The next task where files are kept under a cap. Knows no rule: that is the space's.

use super::{News, NoRoom, Sbatch, Window, nice};
use cairn_dag::narrow;

impl Window<'_> {
    /// The next call under a cap: a task at a time.
    pub(super) fn next_under_cap(
        &mut self,
        queued: usize,
        tell: &mut dyn FnMut(News),
    ) -> Option<Sbatch> {
        if !self.failed.is_empty() {
            for place in 0..narrow(self.standing.len()) {
                self.abort_below(place, tell);
            }
        }
        let failed = std::mem::take(&mut self.failed);
        let (space, alive) = (self.space.as_mut()?, &self.alive);
        if !failed.is_empty() {
            space.given_up(&self.standing, &failed);
        }
        // After failures were told to the space, which must know of them whether or not there is room in the queue.
        if (self.wishes.most_queued).is_some_and(|most| queued >= most) {
            return None;
        }
        let is_gone = |place: u32| !alive.contains(&place);
        let mut chosen = space.choose(&is_gone);
        // Nothing is under way that could make room, and nobody's earlier job is.
        if chosen.is_none() && queued == 0 && alive.is_empty() && space.has_ready() {
            match space.replan() {
                Ok(()) => chosen = space.choose(&is_gone),
                Err(no_room) => self.no_room = Some(no_room),
            }
            if chosen.is_none() && self.no_room.is_none() {
                self.no_room = Some(NoRoom {
                    message: "what is left does not fit beside what lies there".to_owned(),
                    cure: "make room, or give a larger cap on the disk".to_owned(),
                });
            }
        }
        let first = chosen?;
        Some(Sbatch {
            serial: self.next,
            first: Some(first),
            len: 1,
            after: Vec::new(),
            nice: (self.handover.is_nice).then(|| nice(first, self.handover.tasks.len())),
        })
    }
}
