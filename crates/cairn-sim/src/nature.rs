//! Workers that lie, vanish or dawdle: how many there are, who is what in a run, and what each says. Knows no server.

use crate::error::{SettingError, check, positive};
use crate::random::{Purpose, Stream};
use crate::worker::WorkerId;
use cairn_dag::{TaskId, wide};
use cairn_kernel::long;

/// How many of a pool's workers are not as they should be; by default none.
///
/// Of those who are there from the start there are as many as the shares say, to the nearest; whoever joins later is one by
/// chance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Natures {
    /// The share that lies: four of five results are wrong, each in its own way. Who lies has no work with it, and is back in a
    /// fourth of the time.
    pub liars: f64,
    /// So many of the liars that are there from the start agree: they always lie, and say the same. Of those who join later it is
    /// as large a part.
    pub colluding: u32,
    /// The share that vanishes for good: half of them fall silent, the others say that they live and return nothing.
    pub vanishing: f64,
    /// Within this time after they come, at a moment drawn for each.
    pub vanish_within: f64,
    /// The share that is four times as slow.
    pub slow: f64,
}

/// What a worker is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    Honest,
    Slow,
    Liar,
    Colluder,
    /// Not heard of any more from some moment on.
    Silent,
    /// Says that it lives, and returns nothing any more from some moment on.
    Stuck,
}

/// What a worker says that a task made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// What comes of the task's inputs: as right as they are.
    Honest,
    /// Something else, by whose lie it is.
    Lie(WorkerId),
    /// The lie that several tell.
    CommonLie,
}

/// How many of a liar's results are wrong.
// A judgement: one that always lied would never earn any trust.
const LIES: f64 = 0.8;
/// Workers that join later are told apart as finely as this.
// Shares are exact to a millionth.
const MANY: usize = 1 << 20;

impl Natures {
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        let must = "a share from 0 to 1";
        for (what, share) in [
            ("the share of workers that lie", self.liars),
            ("the share of workers that vanish", self.vanishing),
            ("the share of workers that are slow", self.slow),
        ] {
            check((0.0..=1.0).contains(&share), what, share, must)?;
        }
        let all = self.liars + self.vanishing + self.slow;
        let what = "the share of workers that lie, vanish or are slow";
        // Shares are given in decimals, whose sum may miss 1 by a rounding error.
        check(all <= 1.0 + 1e-9, what, all, must)?;
        match self.vanishing > 0.0 {
            true => positive("the time within which workers vanish", self.vanish_within),
            false => Ok(()),
        }
    }

    /// Whether all are as they should be.
    pub(crate) fn is_honest(&self) -> bool {
        self.liars + self.vanishing + self.slow == 0.0
    }

    /// What the worker of this number is like, of a pool that begins with so many, and after how long it vanishes.
    pub(crate) fn of(
        &self,
        number: usize,
        workers: usize,
        (seed, run): (u64, u64),
    ) -> (Nature, f64) {
        if self.is_honest() {
            return (Nature::Honest, f64::INFINITY);
        }
        // By number, not by when it came: a worker is of one nature whatever the policy is. Index 0 is the pool's own
        // stream.
        let mut own = Stream::new(seed, run, Purpose::Nature, 1 + number as u64);
        let nature = match number < workers {
            // All places are taken, in an order that has nothing to do with who comes first.
            true => {
                // Drawn by every worker afresh, and the same for all: a turn of one and the same arrangement.
                let first = Stream::new(seed, run, Purpose::Nature, 0).below(workers);
                let liars = part(self.liars, workers);
                let colluding = liars.min(wide(self.colluding));
                self.at(
                    (first + number * stride(workers)) % workers,
                    workers,
                    colluding,
                )
            }
            false => {
                // The number of colluders is of the first liars; of those who join later it is the same part. Without
                // liars the quotient means nothing, and any part of none is nobody.
                let of_liars = f64::from(self.colluding) / (self.liars * workers as f64);
                let colluding = part(self.liars * of_liars.min(1.0), MANY);
                self.at(own.below(MANY), MANY, colluding)
            }
        };
        let vanishes = match nature {
            Nature::Silent | Nature::Stuck => own.uniform() * self.vanish_within,
            _ => f64::INFINITY,
        };
        (nature, vanishes)
    }

    /// What the worker at this of so many places is like, where so many collude.
    fn at(&self, place: usize, places: usize, colluding: usize) -> Nature {
        let (liars, vanishing) = (part(self.liars, places), part(self.vanishing, places));
        let silent = vanishing.div_ceil(2);
        let ends = [
            (colluding, Nature::Colluder),
            // No less than zero: colluders were cut to the liars by whoever calls.
            (liars - colluding, Nature::Liar),
            (silent, Nature::Silent),
            (vanishing - silent, Nature::Stuck),
            (part(self.slow, places), Nature::Slow),
        ];
        let mut before = 0;
        for (count, nature) in ends {
            before += count;
            if place < before {
                return nature;
            }
        }
        Nature::Honest
    }
}

/// A share of so many, to the nearest.
fn part(share: f64, of: usize) -> usize {
    (share * of as f64).round() as usize
}

/// A step that comes to every one of so many places.
fn stride(places: usize) -> usize {
    let is_coprime = |&step: &usize| {
        let (mut a, mut b) = (places, step);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a == 1
    };
    // About the golden section: neighbours by number land far apart, so that no kind is all at the front of the pool.
    let golden = (places * 5 / 8).max(1);
    (golden..=places.max(1)).find(is_coprime).unwrap_or(1)
}

impl Nature {
    /// How much faster it is for being so: judgements, so that nobody can miss it.
    pub(crate) fn speed(self) -> f64 {
        match self {
            Nature::Liar | Nature::Colluder => 4.0,
            Nature::Slow => 0.25,
            Nature::Honest | Nature::Silent | Nature::Stuck => 1.0,
        }
    }

    /// What a worker says that a task made: the same whenever it is asked in this run.
    pub(crate) fn says(self, worker: WorkerId, task: TaskId, (seed, run): (u64, u64)) -> Claim {
        match self {
            Nature::Colluder => Claim::CommonLie,
            Nature::Liar => {
                // By worker and task, not by attempt: who is asked twice says the same twice.
                let index = long(worker.index()) << 32 | u64::from(task.0);
                let mut stream = Stream::new(seed, run, Purpose::Lies, index);
                match stream.uniform() < LIES {
                    true => Claim::Lie(worker),
                    false => Claim::Honest,
                }
            }
            _ => Claim::Honest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: Natures = Natures {
        liars: 0.3,
        colluding: 2,
        vanishing: 0.2,
        vanish_within: 5.0,
        slow: 0.1,
    };

    #[test]
    fn there_are_as_many_of_each_as_the_shares_say() {
        for workers in 1..60 {
            for run in 0..5 {
                let all: Vec<_> = (0..workers)
                    .map(|number| MIXED.of(number, workers, (7, run)).0)
                    .collect();
                let count = |nature| all.iter().filter(|&&n| n == nature).count();
                let part = |share: f64| (share * workers as f64).round() as usize;
                let liars = count(Nature::Liar) + count(Nature::Colluder);
                assert_eq!(liars, part(0.3), "{workers}");
                assert_eq!(count(Nature::Colluder), liars.min(2));
                let vanishing = count(Nature::Silent) + count(Nature::Stuck);
                assert_eq!(vanishing, part(0.2), "{workers}");
                assert!(count(Nature::Silent) - count(Nature::Stuck) <= 1);
                assert_eq!(count(Nature::Slow), part(0.1), "{workers}");
            }
        }
    }

    #[test]
    fn who_joins_later_is_one_by_chance() {
        let count = |wanted: Nature| {
            let later = 20..10_020;
            later
                .filter(|&n| MIXED.of(n, 20, (1, 1)).0 == wanted)
                .count()
        };
        // Two of the first six liars collude, and so does a third of those who join later.
        assert!((1_850..2_150).contains(&count(Nature::Liar)));
        assert!((900..1_100).contains(&count(Nature::Colluder)));
        let alone = Natures {
            colluding: 0,
            ..MIXED
        };
        let colludes = |n: usize| alone.of(n, 20, (1, 1)).0 == Nature::Colluder;
        assert!(!(0..2_000).any(colludes));
        // Of hardly any liars all collude, and none where nobody lies.
        let few = |n: usize| MIXED.of(n, 1, (1, 1)).0;
        assert!((1..2_000).any(|n| few(n) == Nature::Colluder));
        assert!(!(1..2_000).any(|n| few(n) == Nature::Liar));
        let honest = Natures {
            liars: 0.0,
            ..MIXED
        };
        assert!(!(0..2_000).any(|n| honest.of(n, 20, (1, 1)).0 == Nature::Colluder));
        let (nature, at) = Natures::default().of(3, 20, (1, 1));
        assert_eq!((nature, at), (Nature::Honest, f64::INFINITY));
    }

    #[test]
    fn a_liar_lies_mostly_and_those_who_collude_always_the_same() {
        let of = |nature: Nature, number| {
            (0..1000).map(move |t| nature.says(WorkerId::new(number), TaskId(t), (1, 2)))
        };
        let lies = of(Nature::Liar, 3).filter(|&claim| claim == Claim::Lie(WorkerId::new(3)));
        assert!((750..850).contains(&lies.count()));
        assert!(of(Nature::Colluder, 3).eq(of(Nature::Colluder, 4)));
        assert!(of(Nature::Colluder, 3).all(|claim| claim != Claim::Honest));
        assert!(of(Nature::Stuck, 3).all(|claim| claim == Claim::Honest));
    }

    #[test]
    fn shares_are_checked() {
        assert_eq!(MIXED.check(), Ok(()));
        let refused = |natures: Natures| natures.check().unwrap_err();
        refused(Natures {
            liars: -0.1,
            ..MIXED
        });
        refused(Natures {
            slow: f64::NAN,
            ..MIXED
        });
        refused(Natures {
            liars: 0.8,
            ..MIXED
        });
        refused(Natures {
            vanish_within: 0.0,
            ..MIXED
        });
    }
}
