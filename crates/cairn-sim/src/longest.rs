//! Whether a worker of a pool is ever there long enough for a task. Knows no run and no policy.

use crate::error::TooLong;
use crate::pool::{Attendance, Pool};
use cairn_dag::TaskId;

/// A spell of being up that is longer than all but one in 10⁸ is not waited for.
// A run that needs such luck would be played for ever.
const HARDLY_EVER: f64 = 1e-8;

impl Pool {
    /// How long a worker is up at a time, at the most or but for one time in 10⁸; infinite if workers may stay for ever.
    fn longest_spell(&self) -> f64 {
        match &self.attendance {
            Attendance::Chance { stay, breaks, .. } => {
                let up = breaks.map(|b| b.up);
                // Whichever ends first ends the spell.
                let longest = up.iter().chain(stay).map(|s| s.quantile(1.0 - HARDLY_EVER));
                longest.fold(f64::INFINITY, f64::min)
            }
            Attendance::Trace { trace, repeat } => trace.longest_spell(*repeat),
        }
    }

    /// Refuses the durations of a run, by task on a worker of speed 1, if one is too long for every worker.
    pub(crate) fn check_durations(&self, durations: &[f64]) -> Result<(), TooLong> {
        let has = self.longest_spell();
        let fastest = self.crew.speed.quantile(1.0 - HARDLY_EVER);
        // Rounding is no reason to refuse what just fits.
        let most = has * fastest * (1.0 + 1e-9);
        let longest = durations.iter().enumerate().filter(|d| *d.1 > most);
        let tasks = longest.clone().count();
        // Of equally long ones the first is named, so that the message is the same each time.
        match longest.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))) {
            None => Ok(()),
            Some((task, duration)) => Err(TooLong {
                task: TaskId::new(task),
                needs: duration / fastest,
                has,
                tasks,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Breaks, Crew, Lease, PoolSettings, Spread, Trace, World};

    fn crew(speed: Spread) -> Crew {
        Crew {
            speed,
            lease: Some(Lease {
                factor: 3.0,
                at_least: 1.0,
            }),
            ..Crew::default()
        }
    }

    fn too_long(world: &World, durations: &[f64]) -> Option<(u32, usize)> {
        let World::Pool(pool) = world else {
            unreachable!("a pool")
        };
        let refused = pool.check_durations(durations).err();
        refused.map(|r| (r.task.0, r.tasks))
    }

    #[test]
    fn what_no_spell_is_long_enough_for() {
        let pool = |up, stay: Option<Spread>, speed| {
            World::pool(PoolSettings {
                breaks: Some(Breaks { up, down: up }),
                joins: stay.map(|_| 1.0),
                stay,
                crew: crew(speed),
                ..PoolSettings::default()
            })
            .unwrap()
        };
        let (one, five) = (Spread::Constant(1.0), Spread::Constant(5.0));
        let fixed = pool(five, None, one);
        assert_eq!(too_long(&fixed, &[1.0, 5.0]), None);
        assert_eq!(too_long(&fixed, &[1.0, 5.1, 7.0, 7.0]), Some((2, 3)));
        let fast = pool(
            five,
            None,
            Spread::Uniform {
                low: 1.0,
                high: 2.0,
            },
        );
        assert_eq!(too_long(&fast, &[9.9]), None);
        assert_eq!(too_long(&fast, &[10.1]), Some((0, 1)));
        let leaving = pool(five, Some(Spread::Constant(3.0)), one);
        assert_eq!(too_long(&leaving, &[2.0, 4.0]), Some((1, 1)));
        // Once in e^18.4 spells, which is 10^8.
        let chance = pool(Spread::Exponential { mean: 5.0 }, None, one);
        assert_eq!(too_long(&chance, &[92.0]), None);
        assert_eq!(too_long(&chance, &[93.0]), Some((0, 1)));
        let steady = World::pool(PoolSettings::default()).unwrap();
        assert_eq!(too_long(&steady, &[1e15]), None);
    }

    #[test]
    fn spells_of_a_trace_join_across_its_seam() {
        let world = |text: &str, repeat| {
            let trace = Trace::parse(text).unwrap();
            World::trace(trace, repeat, crew(Spread::Constant(1.0))).unwrap()
        };
        let text = "a,0,4\na,6,10\nb,0,3\n";
        assert_eq!(too_long(&world(text, false), &[4.0]), None);
        assert_eq!(too_long(&world(text, false), &[4.1]), Some((0, 1)));
        assert_eq!(too_long(&world(text, true), &[8.0]), None);
        assert_eq!(too_long(&world(text, true), &[8.1]), Some((0, 1)));
        assert_eq!(too_long(&world("a,0,4\n", true), &[1e9]), None);
    }
}
