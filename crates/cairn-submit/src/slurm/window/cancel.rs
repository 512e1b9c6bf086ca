//! The end of all that is in the queue, when somebody wants it. Submits nothing.

use super::{Cluster, Event, Listed, Whereabouts, Window};
use cairn_dag::{narrow, wide};
use std::collections::HashSet;

impl Window<'_> {
    /// Ends all that is in the queue. The same run can be taken up again.
    ///
    /// # Errors
    /// What Slurm said instead.
    pub fn cancel(
        &mut self,
        cluster: &mut dyn Cluster,
        write: &mut dyn FnMut(&Event) -> std::io::Result<()>,
    ) -> Result<usize, String> {
        let (mut listed, others): (Vec<Listed>, Vec<Listed>) = cluster
            .queue()?
            .into_iter()
            .partition(|l| l.serial.is_some());
        listed.retain(|l| l.is_active);
        // What is ours by its number alone may be somebody else's: it is left to go on, and is still in the queue.
        let others: HashSet<(Option<u64>, u32)> = self
            .ours(others)
            .iter()
            .filter(|l| l.is_active)
            .map(|l| (l.serial, l.index))
            .collect();
        let mut jobs: Vec<String> = listed.iter().map(|l| l.job.clone()).collect();
        // Dependants first, which have the larger numbers: nothing may start because something else was ended.
        jobs.sort_unstable_by_key(|job| std::cmp::Reverse(job.parse::<u64>().unwrap_or(u64::MAX)));
        jobs.dedup();
        if !jobs.is_empty() {
            // Before it is written down: an error here leaves all as it was, and the same again cancels what is left.
            cluster.cancel(&jobs)?;
        }
        if self.gate.serial.is_some() && !self.gate.is_open {
            self.change(Event::Open, write).map_err(|e| e.to_string())?;
        }
        // What ended well meanwhile has said so, and is not run again.
        for place in 0..narrow(self.standing.len()) {
            if let Whereabouts::Queued(serial) = self.standing[wide(place)]
                && !others.contains(&(Some(serial), place - self.first(serial, place)))
            {
                let end = Event::End { place, code: None };
                self.change(end, write).map_err(|e| e.to_string())?;
            }
        }
        Ok(listed.len())
    }
}
