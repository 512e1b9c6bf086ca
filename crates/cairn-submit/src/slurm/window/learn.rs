//! What a look at the queue tells: which calls came through, what is alive, what ended and how. Submits nothing.

use super::{Call, Cluster, Event, Exit, LOOKS, Listed, News, Trouble, Whereabouts, Window};
use cairn_dag::{narrow, wide};
use std::collections::{HashMap, HashSet};

impl Window<'_> {
    /// The jobs of this run: by their key, or else, where a site has taken it away, by the number that `sbatch` told last.
    pub(super) fn ours(&self, mut listed: Vec<Listed>) -> Vec<Listed> {
        let mut serials: HashMap<&str, u64> = HashMap::new();
        for (&serial, call) in &self.calls {
            let job = call.job.as_deref().filter(|job| !job.is_empty());
            if let Some(known) = job.map(|job| serials.entry(job).or_insert(serial)) {
                *known = serial.max(*known);
            }
        }
        for job in listed.iter_mut().filter(|l| l.serial.is_none()) {
            job.serial = serials.get(job.job.as_str()).copied();
        }
        listed.retain(|l| l.serial.is_some());
        listed
    }

    /// Ends doubts about calls.
    pub(super) fn resolve(
        &mut self,
        listed: &[Listed],
        cluster: &mut dyn Cluster,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Trouble> {
        let doubtful = self.calls.iter().filter(|(_, call)| call.job.is_none());
        let mut doubtful: Vec<(u64, Call)> = doubtful.map(|(s, c)| (*s, c.clone())).collect();
        doubtful.sort_unstable_by_key(|(serial, _)| *serial);
        for (serial, call) in doubtful {
            let seen = listed.iter().find(|l| l.serial == Some(serial));
            // A short job may have come and gone between the call and this look: then its own word is all that is left of it.
            let mut word = call.tasks().filter_map(|t| cluster.exit(t));
            let job = match seen {
                Some(seen) => Some(seen.job.clone()),
                None => word.any(|exit| exit.serial == serial).then(String::new),
            };
            if let Some(job) = job {
                self.change(Event::Job { serial, job }, write)?;
            } else if self.misses(serial, 0) {
                // Seen often enough without it: the call came to nothing, and its tasks are submitted again under another key.
                self.change(Event::None { serial }, write)?;
            }
        }
        Ok(())
    }

    /// Which tasks are alive, and which of them are held. A gate that was opened is opened again where a controller that was
    /// killed does not know of it; if that does not succeed, the next look does it.
    pub(super) fn look(
        &mut self,
        listed: &[Listed],
        cluster: &mut dyn Cluster,
        tell: &mut dyn FnMut(News),
    ) {
        // Of this look alone: what an earlier one showed may have ended since.
        self.alive.clear();
        for listed in listed.iter().filter(|l| l.is_active) {
            let Some(serial) = listed.serial else {
                continue;
            };
            if self.gate.serial == Some(serial) && self.gate.is_open && listed.held.is_some() {
                let _ = cluster.release(&listed.job);
            }
            let call = self.calls.get(&serial);
            let Some(first) = call.and_then(|call| call.first) else {
                continue;
            };
            let place = first + listed.index;
            self.alive.insert(place);
            if let Some(why) = &listed.held {
                let (job, why) = (listed.job.clone(), why.clone());
                // What Slurm calls `launch failed requeued held`. It happens to a job that got the number of one that a killed
                // controller had forgotten, while its node still had that one.
                let starts = self.let_go.entry((serial, listed.index)).or_insert(0);
                let lets_go = why.contains("launch failed") && *starts < LOOKS;
                if lets_go && cluster.release(&job).is_ok() {
                    *starts += 1;
                    tell(News::StartedAgain(place, job, why));
                } else {
                    tell(News::Held(place, job, why));
                }
            }
        }
    }

    /// Another look at the queue without it: whether that is enough.
    fn misses(&mut self, serial: u64, index: u32) -> bool {
        let missed = self.missed.entry((serial, index)).or_insert(0);
        *missed += 1;
        let is_gone = *missed >= LOOKS;
        if is_gone {
            self.missed.remove(&(serial, index));
        }
        is_gone
    }

    /// Learns which tasks ended, and how.
    pub(super) fn learn(
        &mut self,
        listed: &[Listed],
        cluster: &mut dyn Cluster,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
        tell: &mut dyn FnMut(News),
    ) -> Result<(), Trouble> {
        let alive = listed.iter().filter(|l| l.is_active);
        let alive: HashSet<(u64, u32)> = alive.filter_map(|l| Some((l.serial?, l.index))).collect();
        if let Some(serial) = self.gate.serial
            && !self.gate.is_open
            && self.calls.get(&serial).is_some_and(|c| c.job.is_some())
            && !alive.contains(&(serial, 0))
            && self.misses(serial, 0)
        {
            self.change(Event::Open, write)?; // Somebody else let it go, or ended it.
        }
        for place in 0..narrow(self.standing.len()) {
            let Whereabouts::Queued(serial) = self.standing[wide(place)] else {
                continue;
            };
            let first = self.first(serial, place);
            if alive.contains(&(serial, place - first)) {
                // Seen again: looks without it count from the beginning.
                self.missed.remove(&(serial, place - first));
                continue;
            }
            let word = cluster
                .exit(place)
                // The word of an earlier attempt counts only if it ended well: then nothing is to be done again.
                .filter(|e| e.code == 0 || e.serial == serial);
            let code = match word {
                Some(exit) => Some(exit.code),
                // Its word may be on its way from another machine's disk: only after some looks is there none.
                None if !self.misses(serial, place - first) => continue,
                None if self.bad_parent(place) => Some(Exit::NOT_STARTED),
                None => None,
            };
            self.change(Event::End { place, code }, write)?;
            tell(News::Ended(place, self.standing[wide(place)]));
        }
        Ok(())
    }

    /// Whether a parent ended badly.
    pub(super) fn bad_parent(&self, place: u32) -> bool {
        let parents = &self.handover.tasks[wide(place)].parents;
        parents.iter().any(|&p| self.standing[wide(p)].is_bad())
    }
}
