//! A worker's tasks that take more memory than they may: ended, with the reason. Starts nothing.

use super::{Fate, Note, PULSE, Worker};
use crate::spawn::group_memory;
use std::time::{Duration, Instant};

/// How often memory is looked at, where some task has a limit.
// As often as the loop turns by itself, and as `run` does it. A look reads a file of every process of this machine: many
// ends of short tasks, which turn the loop too, must not make more of them.
const LOOK: Duration = PULSE;

/// The kernel refuses a process so many times its task's limit: more than can be taken between two looks does no harm then, and a
/// program that is refused memory, and ends with a code of its own, is rare. What a task may really take is what is looked at.
// A judgement: what the kernel counts (data of one process, touched or not) is no measure of what is in memory, and many programs
// map several times what they use. Once or twice the limit would refuse those; without any a runaway could fill the machine
// between two looks.
pub(super) const BEYOND: u64 = 4;

impl Worker<'_> {
    pub(super) fn end_greedy(&mut self) {
        let is_due = (self.weighed).is_none_or(|at| at.elapsed() >= LOOK);
        let is_limited = |fate, memory: Option<u64>| fate == Fate::Own && memory.is_some();
        let mut jobs = self.jobs.values();
        if !is_due || !jobs.any(|job| is_limited(job.fate, job.lease.memory)) {
            return;
        }
        self.weighed = Some(Instant::now());
        let taken = group_memory();
        for (&key, job) in &mut self.jobs {
            let Some(most) = job.lease.memory.filter(|_| job.fate == Fate::Own) else {
                continue;
            };
            let group = self.processes.group(key);
            let taken = group.and_then(|group| taken.get(&group)).copied();
            if let Some(taken) = taken.filter(|&taken| taken > most) {
                job.fate = Fate::Greedy;
                job.deadline = None;
                let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
                let (took, may) = (megabytes(taken), megabytes(most));
                let what = format!("ended: it takes {took} MiB of memory instead of {may}");
                (self.tell)(Note::Task(job.lease.task.clone(), what));
                // Not asked first: meanwhile it could take all that there is.
                self.processes.kill(key);
            }
        }
    }
}
