//! A worker's own disk: the folders of its tasks stay under its cap. Knows no server.
//!
//! The server gives it only tasks whose files fit, as far as their sizes are known. Here they are measured: a task that would not fit is
//! given back, and one whose files grow beyond what is left is ended.

use super::{Fate, Note, Worker};
use crate::disk::bytes_at;
use crate::http::types::{Lease, Reason};
use std::time::{Duration, Instant};

/// Folders are measured at least so often.
// However much room is left: what is written faster than is foreseen here must be seen all the same. A judgement: five looks a
// second at folders of some thousand files are little beside their tasks.
const SELDOM: Duration = Duration::from_millis(200);

/// And no more often than this, however little room is left.
// At 1 GB/s that is 5 MB beyond the cap before it is seen. Shorter, and the loop does little else where a worker's disk is nearly
// full, which may be so for hours.
const OFTEN: Duration = Duration::from_millis(5);

/// Bytes that tasks may write in a second: more than most disks can take.
// Too small, and the room is full before the next look; too large costs looks alone.
const FAST: f64 = 2e9;

/// Looking takes no more than one part in so many of the time.
// A judgement: a twentieth of one processor is not felt, and folders of a million files are still looked at now and then.
const SHARE: u32 = 20;

/// When to measure again, with so much room left, where measuring took so long: before the room can be full, as far as looking
/// takes no more than a twentieth of the time.
fn next_look(room: u64, took: Duration) -> Duration {
    let full = Duration::from_secs_f64(room as f64 / FAST);
    full.max(OFTEN).max(SHARE * took).min(SELDOM)
}

impl Worker<'_> {
    /// Why a task has no room in a folder of its own, if it has none.
    pub(super) fn lacks_room(&self, lease: &Lease) -> Option<String> {
        let (cap, need) = (self.settings.disk?, lease.disk.unwrap_or(0));
        let running = self.jobs.values().filter(|job| job.is_own).map(|job| {
            let there = bytes_at(&job.folder).unwrap_or(0);
            // Who has just begun has written little of what it has room for.
            there.max(job.lease.disk.unwrap_or(0))
        });
        let kept = self.results.values().filter_map(|(_, spooled)| {
            let folder = spooled.folder.as_ref()?;
            bytes_at(folder)
        });
        let taken: u64 = running.chain(kept).sum();
        let left = cap.saturating_sub(taken);
        (need > left).then(|| {
            format!("it needs {need} bytes on this worker's disk, and {left} of {cap} are left")
        })
    }

    /// Ends the task that takes most beyond what was said of it, where all together take more than the cap.
    pub(super) fn end_large(&mut self) {
        let Some(cap) = self.settings.disk else {
            return;
        };
        let begin = Instant::now();
        if self.measure_at.is_some_and(|at| begin < at) {
            return;
        }
        let sizes = self
            .jobs
            .iter()
            .filter(|(_, job)| job.is_own)
            .map(|(&key, job)| {
                let bytes = bytes_at(&job.folder).unwrap_or(0);
                let beyond = bytes.saturating_sub(job.lease.disk.unwrap_or(0));
                (beyond, key, bytes)
            });
        let sizes: Vec<(u64, u64, u64)> = sizes.collect();
        let spooled = self.results.values().filter_map(|(_, s)| s.folder.as_ref());
        let kept: u64 = spooled.filter_map(|folder| bytes_at(folder)).sum();
        let all = kept + sizes.iter().map(|(_, _, bytes)| bytes).sum::<u64>();
        let next = next_look(cap.saturating_sub(all), begin.elapsed());
        // Where nothing runs nothing grows.
        self.measure_at = (!sizes.is_empty()).then(|| Instant::now() + next);
        // One at a time: with it gone the others may fit, and the next look is near.
        let Some(&(_, key, bytes)) = sizes.iter().max().filter(|_| all > cap) else {
            return;
        };
        if let Some(job) = self.jobs.get_mut(&key).filter(|job| job.fate == Fate::Own) {
            job.fate = Fate::TooLarge;
            let what =
                format!("ended: its files take {bytes} bytes, and this worker's disk has {cap}");
            (self.tell)(Note::Task(job.lease.task.clone(), what));
            // Not asked first: it would go on writing for the grace.
            self.processes.kill(key);
        }
    }

    /// There is nothing to do: where that is for want of room or of anything else here, it is said once.
    pub(super) fn idle(&mut self, why: Reason) {
        if self.idle_for.replace(why) != Some(why) && why == Reason::NothingFits {
            let what = "nothing that could be done now fits this worker: its disk, its memory, its labels, its lifetime";
            (self.tell)(Note::Remark(what.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_room_is_left_the_sooner_it_is_measured_again() {
        let look = |room, took| next_look(room, Duration::from_micros(took)).as_micros();
        assert_eq!(look(u64::MAX, 100), 200_000);
        assert_eq!(look(100_000_000, 100), 50_000);
        assert_eq!(look(1_000, 100), 5_000);
        assert_eq!(look(0, 0), 5_000);
        // Large folders take long to look at: not more often than before, and no less.
        assert_eq!(look(0, 2_000), 40_000);
        assert_eq!(look(0, 5_000_000), 200_000);
    }
}
