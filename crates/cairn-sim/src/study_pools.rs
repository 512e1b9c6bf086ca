//! The pools of the published study: volatile workers, sized by the width of a dag. Knows no dag.

use crate::budgets::MOST_WORKERS;
use crate::{Breaks, Crew, Lease, PoolSettings, SettingError, Spread, World};

/// A pool of volatile workers, sized by the width of the dag.
#[derive(Clone, Copy, Debug)]
pub struct StudyPool {
    /// What it is called.
    pub name: &'static str,
    /// How many workers of what kind.
    pub about: &'static str,
    /// Workers are the width times the first over the second.
    share: (u32, u32),
    /// Mean times up and down, exponential, in mean task times.
    up: f64,
    down: f64,
}

/// Few workers that are gone half of the time, as many as keep half of the dag busy, and more than it can ever use.
pub const STUDY_POOLS: [StudyPool; 3] = [
    StudyPool {
        name: "scarce",
        about: "width/8 workers, up 5 and down 5 task times on the mean",
        share: (1, 8),
        up: 5.0,
        down: 5.0,
    },
    StudyPool {
        name: "balanced",
        about: "width/2 workers, up 20 and down 5",
        share: (1, 2),
        up: 20.0,
        down: 5.0,
    },
    StudyPool {
        name: "plentiful",
        about: "2·width workers, up 50 and down 5",
        share: (2, 1),
        up: 50.0,
        down: 5.0,
    },
];

impl StudyPool {
    /// The pool for a dag of this width, whose tasks take `mean` on the mean and `longest` at the most, where that is known.
    /// Where the longest takes longer than a worker is up on the mean, all spells are stretched until it does not:
    /// nobody gives such a task to such a worker.
    ///
    /// # Errors
    /// [`SettingError::BadValue`] unless the mean is finite and above zero.
    pub fn world(&self, width: u32, mean: f64, longest: f64) -> Result<World, SettingError> {
        let (times, over) = self.share;
        // Spells of being up and down grow together: the share of time that workers are there stays that of the
        // study.
        let unit = mean.max(longest / self.up);
        let spell = |times: f64| Spread::Exponential { mean: times * unit };
        World::pool(PoolSettings {
            // One worker alone takes as long in any order.
            workers: (width.saturating_mul(times) / over).clamp(2, MOST_WORKERS),
            breaks: Some(Breaks {
                up: spell(self.up),
                down: spell(self.down),
            }),
            crew: Crew {
                // A judgement: who is gone is missed after three times what its task should have taken.
                lease: Some(Lease {
                    factor: 3.0,
                    at_least: mean,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_grow_with_the_width_and_spells_with_the_longest_task() {
        let settings = |pool: usize, width, longest| {
            let world = STUDY_POOLS[pool].world(width, 2.0, longest).unwrap();
            format!("{world:?}")
        };
        for (pool, workers) in [(0, 10), (1, 40), (2, 160)] {
            let words = settings(pool, 80, 0.0);
            assert!(words.contains(&format!("workers: {workers},")), "{words}");
        }
        assert!(settings(0, 1, 0.0).contains("workers: 2,"));
        assert!(settings(0, 80, 3.0).contains("up: Exponential { mean: 10.0 }"));
        assert!(settings(0, 80, 30.0).contains("up: Exponential { mean: 30.0 }"));
        assert!(STUDY_POOLS[0].world(80, 0.0, 0.0).is_err());
    }
}
