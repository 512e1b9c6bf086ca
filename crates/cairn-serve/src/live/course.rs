//! The curve of eligible tasks, thinned out as it grows, and how fast tasks are executed lately. Knows no tasks.

use super::told::Sample;
use std::collections::VecDeque;

/// More points than these are thinned out.
// At least half as many stay: still more than a wide screen has dots for the curve. All are told to whoever begins to look.
const MOST: usize = 2048;
/// Of what is new between two looks, more points than these are.
// Only where a fourth of a second has hundreds of ends: no eye tells more of them apart.
const FRESH: usize = MOST / 4;
/// How far back a rate looks, in seconds.
// A judgement: shorter, and the time that is left jumps with every task; longer, and it does not notice workers that came or went.
const LATELY: f64 = 60.0;

/// Points over the number of executed tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    points: Vec<Sample>,
    /// Every so many points one is kept.
    stride: u64,
    told: u64,
    latest: Option<Sample>,
    /// Since somebody took them.
    fresh: Vec<Sample>,
    /// Times and numbers executed, a second apart.
    lately: VecDeque<(f64, u64)>,
}

impl Curve {
    pub(super) fn push(&mut self, sample: Sample) {
        self.stride = self.stride.max(1);
        if self.told.is_multiple_of(self.stride) {
            self.points.push(sample);
            self.fresh.push(sample);
        }
        self.told += 1;
        self.latest = Some(sample);
        thin(&mut self.fresh, FRESH);
        if self.points.len() > MOST {
            thin(&mut self.points, MOST);
            self.stride *= 2;
        }
        let (executed, at, ..) = sample;
        if self.lately.back().is_none_or(|&(last, _)| at >= last + 1.0) {
            self.lately.push_back((at, executed));
        }
        // One from before the minute stays, for the minute to begin with.
        while (self.lately.get(1)).is_some_and(|&(second, _)| second < at - LATELY) {
            self.lately.pop_front();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// All points, and the latest.
    pub(super) fn all(&self) -> Vec<Sample> {
        let mut all = self.points.clone();
        all.extend(self.latest.filter(|latest| all.last() != Some(latest)));
        all
    }

    /// What came since this was last asked.
    pub(super) fn take_fresh(&mut self) -> Vec<Sample> {
        let mut fresh = std::mem::take(&mut self.fresh);
        if !fresh.is_empty() {
            fresh.extend(self.latest.filter(|latest| fresh.last() != Some(latest)));
        }
        fresh
    }

    /// Executed tasks a second in the last minute, or in the time there was.
    pub(super) fn rate(&self, now: f64, began: f64) -> Option<f64> {
        let (executed, ..) = self.latest?;
        let from = self.lately.iter().find(|&&(at, _)| at >= now - LATELY);
        let (since, before) = match from {
            Some(&(at, count)) if self.lately.len() > 2 => (at, count),
            Some(_) => (began, self.points.first().map_or(0, |p| p.0)),
            None => return Some(0.0),
        };
        let span = now - since;
        (span > 0.0).then(|| executed.saturating_sub(before) as f64 / span)
    }
}

fn thin(points: &mut Vec<Sample>, most: usize) {
    if points.len() > most {
        let mut place = 0;
        points.retain(|_| {
            place += 1;
            place % 2 == 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_are_kept_and_ends_are_among_them() {
        for many in [1, 2, 2048, 2049, 5000, 100_001] {
            let mut course = Curve::default();
            let sample = |i: u64| (i, i as f64 / 100.0, 7, 1);
            (0..many).for_each(|i| course.push(sample(i)));
            let all = course.all();
            assert!(all.len() <= MOST + 1);
            assert_eq!((all[0], all[all.len() - 1]), (sample(0), sample(many - 1)));
            assert!(all.windows(2).all(|w| w[0].0 < w[1].0));
            assert!(course.take_fresh().len() <= FRESH + 1);
            assert!(course.take_fresh().is_empty());
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_minute() {
        let mut course = Curve::default();
        (0..1000u64).for_each(|i| course.push((i, i as f64, 1, 1)));
        (1000..3000u64).for_each(|i| course.push((i, 1000.0 + (i - 1000) as f64 / 10.0, 1, 1)));
        let rate = course.rate(1200.0, 0.0).unwrap();
        assert!((rate - 10.0).abs() < 0.5, "{rate}");
        assert_eq!(course.rate(9000.0, 0.0), Some(0.0));
    }
}
