//! The workers of a run, as they are seen: whether others are there than before, and a world with workers like them. Has no
//! clock, and asks nobody: it is told what was seen, and when.

use crate::budgets::contest::PROCESSORS;
use crate::budgets::sighting::{FIRST, RETURNS, SELDOM, VISITS};
use crate::error::SettingError;
use crate::pool::{Crew, Lease, PoolSettings};
use crate::spread::Spread;
use crate::world::World;
use cairn_engine::Rules;

/// A crew is another one when it has a fourth more or less processors, or speeds that differ by so much more or less: the
/// standard deviation of their logarithms.
// Judgements: with less, orders hardly fare otherwise, and to choose again takes planning anew.
const MORE: f64 = 1.25;
const SPREAD: f64 = 0.15;
/// Speeds closer together than this are one: the standard deviation of their logarithms.
// A judgement: a spread of one percent moves no order, and one speed is drawn faster.
const EQUAL: f64 = 0.01;

/// What is seen of the workers at one time.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse<'a> {
    /// Workers that came since the run began, whether or not they went again.
    pub came: u64,
    /// Workers that went.
    pub went: u64,
    /// The speeds of the processors that are there.
    pub speeds: &'a [f64],
    /// Tasks executed so far.
    pub executed: u64,
}

/// What was seen of the workers so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sighting {
    began: f64,
    last: f64,
    /// Workers that were there at first, and those that came and went since.
    at_first: (u64, u64),
    came: u64,
    went: u64,
    /// Seconds that workers were there, all together.
    presence: f64,
    here: u64,
    speeds: Vec<f64>,
    executed: u64,
}

impl Sighting {
    /// This is seen so many seconds after the beginning.
    pub fn hear(&mut self, at: f64, seen: &Glimpse<'_>) {
        if self.at_first == (0, 0) && self.came == 0 && self.here == 0 {
            self.began = at;
            // Whoever came before nobody looked is no sign of how often workers come: counted from here on.
            self.at_first = (seen.came, seen.went);
        } else {
            // As many as were there when last seen, all the while: those who came and went between are missed.
            self.presence += self.here as f64 * (at - self.last).max(0.0);
        }
        self.last = at;
        self.came = seen.came.saturating_sub(self.at_first.0);
        self.went = seen.went.saturating_sub(self.at_first.1);
        self.here = seen.came.saturating_sub(seen.went);
        self.speeds.clear();
        self.speeds.extend(seen.speeds);
        self.executed = seen.executed;
    }

    /// Processors that are there.
    pub fn processors(&self) -> usize {
        self.speeds.len()
    }

    /// Tasks executed so far.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Median and standard deviation of the logarithms of speeds.
    fn speed(&self) -> (f64, f64) {
        let count = self.speeds.len().max(1) as f64;
        // A speed of nothing would have no logarithm.
        let logs = || self.speeds.iter().map(|s| s.max(1e-9).ln());
        let mean = logs().sum::<f64>() / count;
        let square = logs().map(|log| (log - mean).powi(2)).sum::<f64>() / count;
        // Of logarithms: half and twice as fast are equally far from the mean.
        (mean.exp(), square.sqrt())
    }

    /// Whether it is time to choose again, where the order in force was last looked at when this was seen.
    pub fn is_time(&self, before: Option<&Sighting>) -> bool {
        // As if it had been looked at before: the first time comes when `FIRST` has passed.
        let since = before.map_or(self.began + FIRST - SELDOM, |before| before.last);
        // Never below zero: a task may be reopened.
        let returned = self.executed - before.map_or(0, |b| b.executed).min(self.executed);
        let enough = RETURNS.max(2 * self.speeds.len() as u64);
        !self.speeds.is_empty()
            && self.last >= since + SELDOM
            && returned >= enough
            && before.is_none_or(|before| self.differs(before))
    }

    fn differs(&self, before: &Sighting) -> bool {
        let (many, were) = (self.speeds.len() as f64, before.speeds.len() as f64);
        let spread = (self.speed().1 - before.speed().1).abs();
        many > MORE * were || were > MORE * many || spread > SPREAD
    }

    /// A world with workers like those that are seen: a processor is a worker.
    ///
    /// # Errors
    /// [`SettingError`] where no such world can be: speeds beyond all numbers.
    pub fn world(&self) -> Result<World, SettingError> {
        let (median, sigma) = self.speed();
        // At least a moment: whoever is seen once has been here for no time, and no rate can be made of that.
        let passed = (self.last - self.began).max(1e-3);
        let processors = self.speeds.len().clamp(1, PROCESSORS);
        // Whoever comes brings several processors at once.
        let each = processors as f64 / self.here.max(1) as f64;
        let goes = self.went >= VISITS && self.presence > 0.0;
        let settings = PoolSettings {
            workers: processors as u32,
            joins: (self.came >= VISITS).then(|| passed / (self.came as f64 * each)),
            stay: goes.then(|| Spread::Exponential {
                mean: self.presence / self.went as f64,
            }),
            crew: Crew {
                speed: match sigma < EQUAL {
                    true => Spread::Constant(median),
                    false => Spread::LogNormal { median, sigma },
                },
                // As the server finds out that somebody is gone.
                lease: goes.then_some(Lease {
                    factor: 3.0,
                    at_least: Rules::default().silence.0 as f64 / 1e6,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        };
        // Without newcomers, those who go would leave nobody behind in some runs: then nobody is said to go.
        let stay = settings.stay.filter(|_| settings.joins.is_some());
        World::pool(PoolSettings { stay, ..settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glimpse(speeds: &[f64], came: u64, went: u64, executed: u64) -> Glimpse<'_> {
        Glimpse {
            speeds,
            came,
            went,
            executed,
        }
    }

    fn seen(speeds: &[f64], executed: u64) -> Sighting {
        let mut seen = Sighting::default();
        let here = speeds.len() as u64;
        for second in 0..10 {
            seen.hear(f64::from(second), &glimpse(speeds, here, 0, executed));
        }
        seen
    }

    #[test]
    fn it_is_time_when_enough_came_back_and_the_crew_is_another() {
        let mut now = seen(&[1.0; 4], 31);
        assert!(!now.is_time(None), "too few came back");
        now.hear(11.0, &glimpse(&[1.0; 4], 4, 0, 40));
        assert!(now.is_time(None));
        let mut early = Sighting::default();
        early.hear(0.0, &glimpse(&[1.0; 4], 4, 0, 99));
        assert!(!early.is_time(None), "seen for too short a time");
        let before = now.clone();
        now.hear(50.0, &glimpse(&[1.0; 40], 40, 0, 400));
        assert!(!now.is_time(Some(&before)), "too soon");
        now.hear(80.0, &glimpse(&[1.0; 40], 40, 0, 400));
        assert!(now.is_time(Some(&before)));
        now.hear(81.0, &glimpse(&[1.0; 40], 40, 0, 100));
        assert!(!now.is_time(Some(&before)), "two returns a processor");
        now.hear(82.0, &glimpse(&[1.0; 5], 5, 0, 400));
        assert!(!now.is_time(Some(&before)), "much the same crew");
        now.hear(83.0, &glimpse(&[0.5, 1.0, 2.0, 1.0], 5, 1, 400));
        assert!(now.is_time(Some(&before)), "speeds differ now");
        now.hear(84.0, &glimpse(&[], 5, 5, 400));
        assert!(!now.is_time(Some(&before)), "nobody is here");
    }

    #[test]
    fn those_who_come_and_go_do_so_in_its_world() {
        let mut now = Sighting::default();
        for second in 0..100u64 {
            // One comes and one goes every ten seconds, of four.
            let visits = second / 10;
            let speeds = [1.0; 4];
            now.hear(second as f64, &glimpse(&speeds, 4 + visits, visits, second));
        }
        assert_eq!((now.came, now.went, now.here), (9, 9, 4));
        assert!((now.presence - 4.0 * 99.0).abs() < 1e-9);
        let World::Pool(pool) = now.world().unwrap() else {
            panic!("it is a pool");
        };
        let settings = format!("{:?}", pool);
        assert!(settings.contains("Exponential"), "{settings}");
        // A speed that is nothing, or no number, is slow: it spoils no world.
        let mut odd = Sighting::default();
        odd.hear(0.0, &glimpse(&[f64::NAN, 0.0, 1.0], 2, 0, 9));
        assert!(odd.world().is_ok());
    }
}
