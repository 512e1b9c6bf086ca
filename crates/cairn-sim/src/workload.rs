//! What each task takes: time, cores, and bytes that flow along arcs. Knows no workers and no order.

use crate::error::{SettingError, SimulateError, check, not_negative};
use crate::random::{Purpose, Stream};
use crate::spread::{Sampler, Spread};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::Rows;

/// What the tasks of one dag take.
///
/// The duration of a task in one run, on a worker of speed 1, is its expected seconds times a factor drawn for this
/// run and task alone, whichever policy is at work.
///
/// ```
/// use cairn_sim::{Spread, Workload};
/// let unit = Workload::unit();                                                // one second each, exactly
/// let study = Workload::drawn(Spread::Normal { mean: 1.0, deviation: 0.1 })?; // the published study
/// let file = Workload::known(&[Some(2.0), None, Some(4.0)])?                  // the unknown one takes the mean, 3
///     .times(Spread::LogNormal { median: 1.0, sigma: 0.2 })?;                 // give or take some 20 %
/// # Ok::<(), cairn_sim::SettingError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// By task; empty means one second each.
    seconds: Vec<f64>,
    factor: Spread,
    /// By task; empty means one each.
    cores: Vec<u32>,
    /// By arc, in the order of [`Dag::arcs`]; empty means none.
    bytes: Vec<f64>,
}

impl Workload {
    /// One second for every task.
    pub fn unit() -> Workload {
        Workload {
            seconds: Vec::new(),
            factor: Spread::Constant(1.0),
            cores: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Every task's duration drawn from one distribution.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] for parameters out of range.
    pub fn drawn(spread: Spread) -> Result<Workload, SettingError> {
        Workload::unit().times(spread)
    }

    /// Expected durations by task, as an input file gives them. Unknown ones take the mean of the known, or one
    /// second if none is known.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] for a duration that is negative, above 10¹⁵ seconds or not a number.
    pub fn known(seconds: &[Option<f64>]) -> Result<Workload, SettingError> {
        let mut sum = 0.0;
        let mut count = 0u32;
        for &s in seconds.iter().flatten() {
            // Thirty million years, and the last power of ten in whose sums a second still counts.
            let good = (0.0..=1e15).contains(&s);
            check(good, "a task's duration", s, "from 0 to 10^15 seconds")?;
            sum += s;
            count += 1;
        }
        let mean = if count == 0 {
            1.0
        } else {
            sum / f64::from(count)
        };
        Ok(Workload {
            seconds: seconds.iter().map(|s| s.unwrap_or(mean)).collect(),
            ..Workload::unit()
        })
    }

    /// Multiplies every duration by a factor, drawn anew for each task and run.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] for parameters out of range.
    pub fn times(self, factor: Spread) -> Result<Workload, SettingError> {
        factor.check("the spread of durations")?;
        Ok(Workload { factor, ..self })
    }

    /// Cores each task occupies while it runs, by task. Only pools look at them.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] for a task of no cores.
    pub fn with_cores(self, cores: Vec<u32>) -> Result<Workload, SettingError> {
        let bad = cores.contains(&0);
        check(!bad, "a task's cores", 0.0, "at least 1")?;
        Ok(Workload { cores, ..self })
    }

    /// Bytes that flow along each arc, in the order of [`Dag::arcs`]. Only pools whose workers have links look at
    /// them.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] for a number that is negative, infinite or not a number.
    pub fn with_bytes(self, bytes: Vec<f64>) -> Result<Workload, SettingError> {
        for &b in &bytes {
            not_negative("the bytes along an arc", b)?;
        }
        Ok(Workload { bytes, ..self })
    }

    /// Whether all lists fit the dag.
    pub(crate) fn check_lengths(&self, dag: &Dag) -> Result<(), SimulateError> {
        for (what, got, wanted) in [
            ("the list of durations", self.seconds.len(), dag.len()),
            ("the list of cores", self.cores.len(), dag.len()),
            ("the list of bytes", self.bytes.len(), dag.arc_count()),
        ] {
            if got != wanted && got != 0 {
                return Err(SimulateError::WrongLength {
                    what: what.to_owned(),
                    got,
                    wanted,
                });
            }
        }
        Ok(())
    }

    /// What a scheduler expects of each task: seconds times the mean factor.
    pub(crate) fn estimates(&self, tasks: usize) -> Vec<f64> {
        let mean = self.factor.mean();
        if self.seconds.is_empty() {
            vec![mean; tasks]
        } else {
            self.seconds.iter().map(|s| s * mean).collect()
        }
    }

    /// The true durations of one run, into `out`.
    pub(crate) fn draw(&self, seed: u64, run: u64, tasks: usize, out: &mut Vec<f64>) {
        let sampler = Sampler::new(self.factor);
        let mut stream = Stream::new(seed, run, Purpose::Durations, 0);
        out.clear();
        // All before anything is played, by id: what a policy does later cannot shift anybody's luck.
        out.extend((0..tasks).map(|_| sampler.sample(&mut stream)));
        for (duration, seconds) in out.iter_mut().zip(&self.seconds) {
            *duration *= seconds;
        }
    }

    pub(crate) fn cores(&self, task: usize) -> u32 {
        self.cores.get(task).copied().unwrap_or(1)
    }

    /// Whether every task takes one core.
    pub(crate) fn is_light(&self) -> bool {
        self.cores.iter().all(|&c| c == 1)
    }

    /// Bytes by arc, regrouped by child: entry k of a child's run belongs to its k-th parent. Empty if none flow.
    pub(crate) fn bytes_by_child(&self, dag: &Dag) -> BytesByChild {
        if self.bytes.iter().all(|&b| b == 0.0) {
            return BytesByChild::default();
        }
        // Arcs come sorted by parent, and so do the parents of each child.
        let children = (0..dag.len()).flat_map(|t| dag.children(TaskId::new(t)));
        let bytes = children.copied().zip(self.bytes.iter().copied());
        BytesByChild(Rows::by_row(dag.len(), bytes))
    }
}

/// Bytes along arcs, grouped by child and in the order of the child's parents.
#[derive(Clone, Debug, Default)]
pub(crate) struct BytesByChild(Rows<f64>);

impl BytesByChild {
    /// Bytes from the k-th parent of `child`.
    #[inline]
    pub(crate) fn get(&self, child: usize, k: usize) -> f64 {
        if self.is_empty() {
            0.0
        } else {
            self.0.row(child)[k]
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_durations_take_the_mean() {
        let work = Workload::known(&[Some(2.0), None, Some(4.0)]).unwrap();
        assert_eq!(work.estimates(3), [2.0, 3.0, 4.0]);
        let mut out = Vec::new();
        work.draw(1, 1, 3, &mut out);
        assert_eq!(out, [2.0, 3.0, 4.0]);
        assert_eq!(
            Workload::known(&[None, None]).unwrap().estimates(2),
            [1.0, 1.0]
        );
    }

    #[test]
    fn bytes_find_their_arcs() {
        let dag = Dag::from_arcs(4, vec![(2, 0), (3, 0), (2, 1), (3, 1), (0, 1)]).unwrap();
        let label = |p: TaskId, c: TaskId| f64::from(p.0 * 10 + c.0);
        let bytes = dag.arcs().map(|(p, c)| label(p, c)).collect();
        let by_child = Workload::unit()
            .with_bytes(bytes)
            .unwrap()
            .bytes_by_child(&dag);
        for child in dag.tasks() {
            for (k, &parent) in dag.parents(child).iter().enumerate() {
                assert_eq!(by_child.get(child.index(), k), label(parent, child));
            }
        }
        assert!(Workload::unit().bytes_by_child(&dag).is_empty());
    }

    #[test]
    fn bad_numbers_are_refused() {
        assert!(Workload::known(&[Some(-1.0)]).is_err());
        assert!(Workload::known(&[Some(f64::NAN)]).is_err());
        assert!(Workload::drawn(Spread::Exponential { mean: 0.0 }).is_err());
        assert!(Workload::unit().with_cores(vec![1, 0]).is_err());
        assert!(Workload::unit().with_bytes(vec![f64::INFINITY]).is_err());
        let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
        let error = Workload::known(&[None])
            .unwrap()
            .check_lengths(&dag)
            .unwrap_err();
        assert!(matches!(
            error,
            SimulateError::WrongLength {
                got: 1,
                wanted: 2,
                ..
            }
        ));
        assert!(
            Workload::unit()
                .with_bytes(vec![1.0])
                .unwrap()
                .check_lengths(&dag)
                .is_ok()
        );
    }
}
