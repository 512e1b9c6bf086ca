//! What is submitted next: tasks in the order of the plan, as arrays where neighbours wait for the same, behind a gate until all are
//! there. Learns nothing of what became of them.

use super::{Cluster, Event, LOOKS, News, Sbatch, Submitted, Trouble, Whereabouts, Window};
use crate::slurm::tools::asks;
use cairn_dag::{narrow, wide};

/// More dependencies than this in one call wait until some are fulfilled.
// A dependency is `afterok:` and a number: far below the 128 KiB that one argument of a program may have.
const MOST_PARENTS: usize = 500;

impl Window<'_> {
    /// Submits as long as there is something to submit and room for it.
    pub(super) fn submit(
        &mut self,
        cluster: &mut dyn Cluster,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
        tell: &mut dyn FnMut(News),
    ) -> Result<(), Trouble> {
        let mut queued = self.queued();
        while !self.is_in_doubt() {
            let Some(sbatch) = self.next_sbatch(queued, tell) else {
                break;
            };
            let (serial, first, len) = (sbatch.serial, sbatch.first, sbatch.len);
            // The key is written down before the call: cut off in between, a later run looks for a job that carries it.
            self.change(Event::Call { serial, first, len }, write)?;
            match cluster.submit(&sbatch) {
                Submitted::Job(job) => {
                    (self.refusals, self.forgotten) = (0, 0);
                    queued += wide(len);
                    let id = job.clone();
                    self.change(Event::Job { serial, job: id }, write)?;
                    if let Some(first) = first {
                        tell(News::Submitted(first, len, job));
                    }
                }
                Submitted::Quota(printed) => {
                    self.change(Event::None { serial }, write)?;
                    if len > 1 {
                        // Halved until it fits: how many there is room for Slurm does not tell.
                        self.largest = wide(len / 2);
                        continue;
                    }
                    // What is there must start to make room for the rest.
                    self.open_gate(cluster, write)?;
                    // Where none of ours is there, none of ours will make room: others may, for a while.
                    self.refusals += u32::from(queued == 0);
                    if self.refusals > LOOKS && !is_limit_on_number(&printed) {
                        return Err(self.refused(first, printed));
                    }
                    tell(News::Quota(printed));
                    return Ok(());
                }
                Submitted::Dependency(printed) => {
                    self.change(Event::None { serial }, write)?;
                    // The next looks tell what became of what it waits for. Where it is there all the same, this is no
                    // forgotten job, and will not pass.
                    self.forgotten += 1;
                    if self.forgotten > 2 * LOOKS {
                        return Err(self.refused(first, printed));
                    }
                    tell(News::Dependency(printed));
                    return Ok(());
                }
                // The call stays in doubt, so that a later run looks for it.
                Submitted::Refused(printed) => return Err(self.refused(first, printed)),
                Submitted::Unknown(printed) => {
                    tell(News::Silent(printed));
                    return Ok(());
                }
            }
        }
        self.largest = self.wishes.most_in_array.max(1);
        if !self.is_in_doubt() {
            // All is submitted, or there is no room until something ends: nothing may stay behind the gate.
            self.open_gate(cluster, write)?;
        }
        Ok(())
    }

    fn refused(&self, first: Option<u32>, printed: String) -> Trouble {
        let task = first.map_or("the gate", |first| &self.handover.tasks[wide(first)].name);
        Trouble::Refused {
            task: task.to_owned(),
            printed,
        }
    }

    /// Whether it is not known of some call, for tasks or for the gate, that it came through.
    fn is_in_doubt(&self) -> bool {
        let gate = self.gate.serial.and_then(|serial| self.calls.get(&serial));
        gate.is_some_and(|call| call.job.is_none())
            || (self.standing.iter()).any(|s| matches!(s, Whereabouts::InDoubt(_)))
    }

    /// Lets the roots go. Where Slurm does not answer, a later step does it.
    fn open_gate(
        &mut self,
        cluster: &mut dyn Cluster,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<(), Trouble> {
        let call = self.gate.serial.and_then(|serial| self.calls.get(&serial));
        let job = call.and_then(|call| call.job.clone());
        // Written down afterwards: to let a job go twice does no harm, to take it for let go while it is held would.
        match job {
            Some(job) if !self.gate.is_open && cluster.release(&job).is_ok() => {
                self.change(Event::Open, write)
            }
            _ => Ok(()),
        }
    }

    /// The next call, if there is room for one.
    fn next_sbatch(&mut self, queued: usize, tell: &mut dyn FnMut(News)) -> Option<Sbatch> {
        if self.space.is_some() {
            return self.next_under_cap(queued, tell);
        }
        let tasks = &self.handover.tasks;
        // Past those that do not wait, or never will again.
        while *self.standing.get(self.cursor)? != Whereabouts::Waiting
            || self.abort_below(narrow(self.cursor), tell)
        {
            self.cursor += 1;
        }
        if self.alive.contains(&narrow(self.cursor)) {
            return None; // An earlier job of this task was cancelled, and is not gone yet.
        }
        let waiting = self.standing[self.cursor..].iter();
        let waiting = waiting
            .filter(|s| matches!(s, Whereabouts::Waiting))
            .count();
        let serial = self.next;
        let is_new = self.gate.serial.is_none() && queued == 0;
        // With more tasks than may be queued the first must start to make room, so that a gate would hold all for ever.
        let most = self.wishes.most_queued;
        if is_new && waiting > 1 && most.is_none_or(|most| waiting < most) {
            return Some(Sbatch {
                serial,
                first: None,
                len: 1,
                after: Vec::new(),
                nice: None,
            });
        }
        let room = most.map_or(self.largest, |most| most.saturating_sub(queued));
        let room = room.min(self.largest);
        let first = self.cursor;
        let after = self.after(first)?;
        let asked = asks(&tasks[first]);
        // One array has one set of dependencies and one of options.
        let is_alike =
            |task: &crate::Task| task.parents == tasks[first].parents && asks(task) == asked;
        let is_nice = self.handover.is_nice;
        // All elements of an array have one `nice`.
        let most = if is_nice { room.min(1) } else { room };
        let len = (first..tasks.len())
            .take(most)
            .take_while(|&place| {
                self.standing[place] == Whereabouts::Waiting
                    && !self.alive.contains(&narrow(place))
                    && is_alike(&tasks[place])
            })
            .count();
        let nice = is_nice.then(|| nice(narrow(first), tasks.len()));
        let (first, len) = (Some(narrow(first)), narrow(len));
        (len > 0).then_some(Sbatch {
            serial,
            first,
            len,
            after,
            nice,
        })
    }

    /// A task that waits below one that ended badly will never start. Whether it is so.
    pub(super) fn abort_below(&mut self, place: u32, tell: &mut dyn FnMut(News)) -> bool {
        let standing = self.standing[wide(place)];
        let is_aborted = standing == Whereabouts::Waiting && self.bad_parent(place);
        if is_aborted {
            self.standing[wide(place)] = Whereabouts::Aborted;
            tell(News::Ended(place, Whereabouts::Aborted));
        }
        is_aborted
    }

    /// The jobs that a task must wait for; nothing at all where they are too many to name, or one is not to be seen.
    fn after(&self, place: usize) -> Option<Vec<String>> {
        let mut after = Vec::new();
        for &parent in &self.handover.tasks[place].parents {
            let Whereabouts::Queued(serial) = self.standing[wide(parent)] else {
                continue;
            };
            let call = &self.calls[&serial];
            let (first, job) = (call.first?, call.job.as_ref()?);
            // Slurm takes a dependency on a job that it has forgotten for fulfilled.
            if self.missed.contains_key(&(serial, parent - first)) {
                return None;
            }
            // A job whose id nobody learnt has ended: the next look tells how.
            let job = Some(job).filter(|job| !job.is_empty())?;
            after.push(match call.len {
                1 => job.clone(),
                _ => format!("{job}_{}", parent - first),
            });
        }
        if let Some(serial) = self.gate.serial
            && after.is_empty()
            && !self.gate.is_open
        {
            if self.missed.contains_key(&(serial, 0)) {
                return None;
            }
            after.extend(self.calls[&serial].job.clone());
        }
        (after.len() <= MOST_PARENTS).then_some(after)
    }
}

/// Slurm counts submissions down by one, so that a step of `nice` must be larger than the number of jobs, as long as
/// that can be had.
pub(in crate::slurm) fn nice(place: u32, tasks: usize) -> u32 {
    // Slurm's largest `nice`: 2³¹ − 3.
    const MOST: u64 = (1 << 31) - 3;
    let tasks = tasks as u64;
    let step = (tasks + 1).min(MOST / tasks.max(1)).max(1);
    u32::try_from((u64::from(place) * step).min(MOST)).unwrap_or(u32::MAX)
}

/// Whether a refusal is surely about how many jobs there are: others of ours, or of others, will end.
pub(in crate::slurm) fn is_limit_on_number(printed: &str) -> bool {
    [
        "SubmitJob",
        "MaxJobCount",
        "temporarily unable",
        "temporarily unavailable",
    ]
    .iter()
    .any(|word| printed.contains(word))
}
