//! What workers were like whose coming and going a log tells: how many at first, how often others came, how long they stayed.
//! Knows no simulator.

use super::{Job, Stay};

/// Workers that come and go, as a log shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct Crew {
    /// Those who were there when work began.
    pub workers: u32,
    /// Processors of the one in the middle.
    pub cpus: u32,
    /// The mean time between others that came later; `None` where nobody did.
    pub joins: Option<f64>,
    /// The mean time that a worker stays; `None` where nobody went before the end.
    pub stay: Option<f64>,
}

impl Crew {
    /// Whether it is one worker that is always there.
    pub fn is_one_machine(&self) -> bool {
        self.workers == 1 && self.joins.is_none() && self.stay.is_none()
    }
}

/// This share of the time of work counts as its beginning: whoever comes then was there at first.
// A judgement: workers that are started together come within moments of each other, not at once.
const BEGINNING: f64 = 0.02;

/// What stays come to, beside the jobs of the same log. `None` where nobody came, or nothing was done.
pub(super) fn crew(stays: &[Stay], jobs: &[&Job]) -> Option<Crew> {
    let starts = jobs.iter().filter_map(|j| j.start);
    let begin = starts.fold(f64::INFINITY, f64::min);
    let ends = jobs.iter().filter_map(|j| Some(j.start? + j.seconds));
    let end = ends.fold(f64::NEG_INFINITY, f64::max);
    if stays.is_empty() || begin > end {
        return None;
    }
    // A machine that is started again and again is no crew that comes and goes.
    if let Some(cpus) = one_after_the_other(stays) {
        return Some(Crew {
            workers: 1,
            cpus,
            joins: None,
            stay: None,
        });
    }
    // From the first beginning to the last end: who came earlier only waited.
    let length = end - begin;
    let first = stays
        .iter()
        .filter(|s| s.from <= begin + BEGINNING * length)
        .count();
    // Who came when all was done had no part in it.
    let later = stays.iter().filter(|s| s.from <= end).count() - first;
    let mut cpus: Vec<u32> = stays.iter().map(|s| s.cpus).collect();
    cpus.sort_unstable();
    // Who was there to the end may have stayed for ever: only the time that was seen counts (the most likely mean).
    let seen = |s: &Stay| (s.until.unwrap_or(end).min(end) - s.from.max(begin)).max(0.0);
    let went = stays
        .iter()
        .filter(|s| s.until.is_some_and(|until| until < end));
    let went = went.count() as f64;
    let there: f64 = stays.iter().map(seen).sum();
    Some(Crew {
        workers: u32::try_from(first.max(1)).unwrap_or(u32::MAX),
        // The median: one large machine must not stand for all. There is one, as stays are not empty.
        cpus: cpus[cpus.len() / 2].max(1),
        joins: (later > 0 && length > 0.0).then(|| length / later as f64),
        stay: (went > 0.0 && there > 0.0).then(|| there / went),
    })
}

/// The processors of the newest, where there was one worker at a time, under one name, and never a loss: one machine that ran
/// something several times.
fn one_after_the_other(stays: &[Stay]) -> Option<u32> {
    let is_next = |pair: &[Stay]| {
        let until = pair[0].until;
        pair[0].name == pair[1].name && until.is_some_and(|until| until <= pair[1].from)
    };
    let is_one = stays.windows(2).all(is_next) && !stays.iter().any(|s| s.was_lost);
    stays.last().filter(|_| is_one).map(|s| s.cpus.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::AttemptEnd;

    fn job(start: f64, seconds: f64) -> Job {
        Job {
            name: "a".to_owned(),
            kind: "a".to_owned(),
            seconds,
            start: Some(start),
            host: None,
            end: AttemptEnd::Executed,
        }
    }

    fn stay(name: &str, from: f64, until: Option<f64>) -> Stay {
        Stay {
            name: name.to_owned(),
            cpus: 4,
            from,
            until,
            was_lost: false,
        }
    }

    #[test]
    fn one_machine_that_ran_thrice_is_one_machine() {
        let stays = [
            stay("here", 0.0, Some(10.0)),
            stay("here", 100.0, Some(110.0)),
            stay("here", 200.0, None),
        ];
        let job = job(1.0, 204.0);
        let found = crew(&stays, &[&job]).unwrap();
        assert!(found.is_one_machine());
        assert_eq!(found.cpus, 4);
        // Two at once are two.
        let two = [stay("a", 0.0, None), stay("b", 0.0, None)];
        let found = crew(&two, &[&job]).unwrap();
        assert_eq!((found.workers, found.joins, found.stay), (2, None, None));
        assert_eq!(crew(&[], &[&job]), None);
        assert_eq!(crew(&two, &[]), None);
    }

    /// Workers drawn at random: what they were drawn from is found again.
    #[test]
    fn arrivals_and_lives_are_found_again() {
        let mut state = 5u64;
        let mut exponential = |mean: f64| {
            // Knuth's generator: its high bits are good enough here.
            state = state.wrapping_mul(6_364_136_223_846_793_005);
            state = state.wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            -mean * uniform.ln()
        };
        let end = 20_000.0;
        let (gap, life) = (40.0, 300.0);
        let mut stays = Vec::new();
        let mut came = 0.0;
        for worker in 0.. {
            if worker >= 10 {
                came += exponential(gap);
            }
            if came > end {
                break;
            }
            let until = came + exponential(life);
            let until = (until < end).then_some(until);
            stays.push(stay(&format!("w{worker}"), came, until));
        }
        let job = job(0.0, end);
        let found = crew(&stays, &[&job]).unwrap();
        // Some of the later ones come while it begins.
        assert!((10..=25).contains(&found.workers), "{found:?}");
        let near = |found: Option<f64>, true_one: f64| {
            found.is_some_and(|f| (f / true_one - 1.0).abs() < 0.12)
        };
        assert!(near(found.joins, gap), "{found:?}");
        assert!(near(found.stay, life), "{found:?}");
    }
}
