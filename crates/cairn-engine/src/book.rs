//! What is learnt of workers and of kinds of tasks from what they return: speeds, times, how much to rely on them. Knows no
//! dag, no lease and no order.
//!
//! The model: `ln t = ln e + g − b + ε`. A task for which `e` seconds were expected took `t`; `g` is by how much its kind
//! takes longer than expected, `b` the logarithm of the worker's speed, `ε` noise whose variance is the kind's own. Every
//! return tells something of all three; a *handshake* (one short benchmark when a worker joins) tells of `b` before any.
//! Who has returned nothing is taken to be as the others are: the mean and the spread of the pool are learnt as well.

mod memory;
mod normal;
mod taken;
#[cfg(test)]
mod tests;

pub use memory::Memory;
pub use taken::Taken;

use crate::KindId;
use hashbrown::HashMap;
use memory::Remembered;
use normal::mean_beyond;

/// The variance of logarithms of speeds before anything is known of the pool, and how many workers that counts for.
// A standard deviation of a half: two workers in three are within a factor of 1.65 of the mean. A judgement, so that it counts for no
// more than the least pool that can differ at all, two workers: far more, and a real pool is believed too late.
const SPREAD: f64 = 0.25;
const SPREAD_WEIGHT: f64 = 2.0;
/// No pool is more equal than this variance.
// Two percent. With none at all nobody could ever be seen to be slower.
const LEAST_SPREAD: f64 = 0.0004;
/// How far from the truth a handshake is: the standard deviation of its logarithm.
// A judgement: give or take a third. Its variance, 0.09, is about that of one return where nothing is recorded: one benchmark of a
// tenth of a second says as much of other programs as one task does.
const HANDSHAKE: f64 = 0.3;
/// Variance of noise before anything returned, where durations are recorded and where they are not, and how many returns
/// that counts for.
// Deviations of 22 % and of 32 %: where nothing is recorded, all tasks of a kind are expected to take the same, and that they differ is
// noise, too. Judgements, like the weight: with less, two returns that happen to agree would settle how much a kind varies; with more,
// a kind that truly does not vary is learnt slowly.
const NOISE_RECORDED: f64 = 0.05;
const NOISE_UNRECORDED: f64 = 0.1;
const NOISE_WEIGHT: f64 = 5.0;
/// How many returns of other kinds count for the noise of a kind.
// A kind that came back once or twice says next to nothing of how much it varies: so its own returns count for most from the third on.
// A judgement.
const POOLED_WEIGHT: f64 = 2.0;
// Five percent: however alike all were, one return does not settle what a worker is.
const LEAST_NOISE: f64 = 0.0025;
/// Variance of `g` before anything returned: durations are recorded; known from earlier runs; a guess.
// Deviations of 10 %, of 14 %, and of a factor of seven: after a guess the first return counts for nearly all. What was remembered or
// recorded may be of another machine or of other inputs, but not by much. Judgements.
const DRIFT_RECORDED: f64 = 0.01;
const DRIFT_REMEMBERED: f64 = 0.02;
const DRIFT_GUESSED: f64 = 4.0;
/// What differs from what was expected by more standard deviations than this is believed only so far.
// One that is far off must not undo what many have shown. Of honest ones three in a thousand are as far off.
const CLIP: f64 = 3.0;
/// A deadline is so many standard deviations beyond what is expected.
// 999 of a thousand are back by then, if all is as the model has it.
const LATE: f64 = 3.0;

cairn_kernel::ids! {
    /// A worker as the book knows it, by its name: whoever comes again under that is the same.
    pub KnownId,
}

/// What is expected of tasks before they run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// By task: seconds on a worker of speed 1, where the input says.
    pub seconds: Vec<Option<f64>>,
    /// By task: its kind. Tasks beyond the list are of the first kind.
    pub kind: Vec<KindId>,
    /// By kind: its name, by which it is known again in later runs.
    pub kinds: Vec<String>,
}

/// One worker, as its returns show it.
#[derive(Clone, Debug, PartialEq)]
struct KnownWorker {
    name: String,
    /// How many workers of that name are not forgotten.
    workers: u32,
    /// What its returns say of `b`: precision, and the sum of observations times theirs.
    precision: f64,
    sum: f64,
    /// `b` with what the pool says, and its variance.
    log_speed: f64,
    variance: f64,
    returned: u64,
    failed: u64,
    lost: u64,
    /// Seconds from lease to return, of all its returns.
    seconds: f64,
    /// Whether earlier runs taught something of it.
    is_remembered: bool,
}

/// One kind of tasks.
#[derive(Clone, Debug, PartialEq)]
struct Kind {
    name: String,
    is_recorded: bool,
    /// `g`: precision, and the sum of observations times theirs.
    precision: f64,
    sum: f64,
    /// Squares of noise, and how many.
    noise: f64,
    returned: f64,
    /// Logarithms of seconds at speed 1, and their squares.
    log_seconds: f64,
    log_squares: f64,
    count: f64,
}

impl Kind {
    fn drift(&self) -> f64 {
        self.sum / self.precision
    }
}

/// What is learnt. O(1) a return, amortized.
///
/// ```
/// use cairn_engine::{Book, Expected, KindId, Memory};
/// let expected = Expected { seconds: vec![Some(10.0); 8], kind: vec![KindId(0); 8], kinds: vec!["align".into()] };
/// let (mut book, seconds) = Book::new(&expected, &Memory::default());
/// let (fast, unknown) = (book.join("fast", Some(4.0)), book.join("unknown", None));
/// // Whoever said nothing is taken to be much as the others are.
/// assert!(book.speed(fast) > book.speed(unknown) && book.speed(unknown) > 1.0);
/// for _ in 0..20 {
///     book.returned(unknown, KindId(0), seconds[1], 5.0);
/// }
/// assert!((book.speed(unknown) - 2.0).abs() < 0.2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Book {
    known: Vec<KnownWorker>,
    /// By name.
    number: HashMap<String, KnownId>,
    /// Numbers that nobody has.
    free: Vec<KnownId>,
    kinds: Vec<Kind>,
    /// Squares of noise of all kinds, and how many returns.
    noise: f64,
    returned: f64,
    /// Mean and variance of `b` in the pool.
    mean: f64,
    spread: f64,
    /// Returns since these were last computed.
    stale: usize,
}

impl Book {
    /// Before anything returned, but with what earlier runs taught. Also, by task, the seconds at speed 1 that all later
    /// expectations are multiples of.
    pub fn new(expected: &Expected, memory: &Memory) -> (Book, Vec<f64>) {
        let Expected {
            seconds,
            kind,
            kinds,
        } = expected;
        let kind_of = |t: usize| kind.get(t).map_or(0, |kind| kind.index());
        let count = (0..seconds.len()).map(kind_of).max().map_or(1, |k| k + 1);
        let count = count.max(kinds.len()).max(1);
        let mut known = vec![(0.0, 0u32); count];
        for (task, seconds) in seconds.iter().enumerate() {
            if let Some(seconds) = usable(*seconds) {
                let (sum, n) = &mut known[kind_of(task)];
                (*sum, *n) = (*sum + seconds, *n + 1);
            }
        }
        let (sum, n) = (known.iter()).fold((0.0, 0), |(s, n), (ks, kn)| (s + ks, n + kn));
        let mean = if n > 0 { sum / f64::from(n) } else { 1.0 };
        let mut guess = Vec::with_capacity(count);
        let mut noise = (0.0, 0.0);
        let kinds: Vec<Kind> = (0..count)
            .map(|k| {
                let name = kinds.get(k).cloned().unwrap_or_default();
                let is_recorded = known[k].1 > 0;
                let before = memory.kind(&name).filter(|_| !is_recorded);
                guess.push(match (known[k], before) {
                    ((sum, n), _) if n > 0 => sum / f64::from(n),
                    (_, Some(before)) => libm::exp(before.log),
                    _ => mean,
                });
                let drift = match (is_recorded, before) {
                    (true, _) => DRIFT_RECORDED,
                    (false, Some(_)) => DRIFT_REMEMBERED,
                    (false, None) => DRIFT_GUESSED,
                };
                let (squares, returned) = before.map_or((0.0, 0.0), Remembered::noise);
                // No more than 20 tasks of each are remembered: as much as one return of every kind.
                noise = (noise.0 + 0.05 * squares, noise.1 + 0.05 * returned);
                Kind {
                    name,
                    is_recorded,
                    precision: 1.0 / drift,
                    sum: 0.0,
                    noise: squares,
                    returned,
                    log_seconds: 0.0,
                    log_squares: 0.0,
                    count: 0.0,
                }
            })
            .collect();
        let all_recorded = kinds.iter().all(|k| k.is_recorded);
        let first = if all_recorded {
            NOISE_RECORDED
        } else {
            NOISE_UNRECORDED
        };
        // Logarithms are taken of it, and zero has none.
        let base = (0..seconds.len())
            .map(|t| usable(seconds[t]).unwrap_or(guess[kind_of(t)]))
            .map(|s: f64| s.max(1e-4 * mean).max(1e-9))
            .collect();
        let book = Book {
            known: Vec::new(),
            number: HashMap::new(),
            free: Vec::new(),
            kinds,
            noise: first * NOISE_WEIGHT + noise.0,
            returned: NOISE_WEIGHT + noise.1,
            mean: 0.0,
            spread: SPREAD,
            stale: 0,
        };
        (book, base)
    }

    /// A worker came: its number. Who came before under the same name is the same. `handshake` is how fast it is by a
    /// benchmark, 1 for the machine that expectations are of.
    pub fn join(&mut self, name: &str, handshake: Option<f64>) -> KnownId {
        // By name: speeds belong to machines, which come again under new numbers.
        let same = self.number.get(name).copied();
        let number = (same.or_else(|| self.free.pop())).unwrap_or(KnownId::new(self.known.len()));
        if same.is_none() {
            self.number.insert(name.to_owned(), number);
            let new = KnownWorker {
                name: name.to_owned(),
                workers: 0,
                precision: 0.0,
                sum: 0.0,
                log_speed: self.mean,
                variance: self.spread,
                returned: 0,
                failed: 0,
                lost: 0,
                seconds: 0.0,
                is_remembered: false,
            };
            match self.known.get_mut(number.index()) {
                Some(free) => *free = new,
                None => self.known.push(new),
            }
        }
        let known = &mut self.known[number.index()];
        known.workers += 1;
        // Who came before was measured before, and better by its returns.
        if let Some(speed) = handshake.filter(|s| s.is_finite() && *s > 0.0)
            && known.precision < 1.0 / (HANDSHAKE * HANDSHAKE)
        {
            let precision = 1.0 / (HANDSHAKE * HANDSHAKE);
            // As one observation among others: returns outweigh it as they come.
            known.precision += precision;
            known.sum += precision * libm::log(speed);
        }
        self.refresh_pool();
        number
    }

    /// One worker of that number is not asked for again; with the last of its name goes what is known of it, which comes back.
    pub(crate) fn forget(&mut self, who: KnownId) -> Option<(String, Remembered)> {
        let known = &mut self.known[who.index()];
        known.workers = known.workers.saturating_sub(1);
        if known.workers > 0 {
            return None;
        }
        let learnt = (known.precision > 0.0).then(|| Remembered::of_worker(known));
        let name = std::mem::take(&mut known.name);
        // Its number stays until somebody else has it: meanwhile nothing of it counts for the pool.
        (known.precision, known.sum) = (0.0, 0.0);
        (known.returned, known.failed, known.lost) = (0, 0, 0);
        self.number.remove(&name);
        self.free.push(who);
        learnt.map(|learnt| (name, learnt))
    }

    /// What earlier runs taught of a worker that has just come, if anything.
    pub(crate) fn remember(&mut self, who: KnownId, memory: &Memory) {
        let known = &mut self.known[who.index()];
        // Who has shown anything in this run came before: what was remembered is part of what is known.
        if let Some(before) = memory.worker(&known.name)
            && known.returned == 0
            && known.failed + known.lost == 0
        {
            let precision = before.precision();
            known.precision += precision;
            known.sum += precision * before.log;
            (known.failed, known.lost) = (before.failed, before.lost);
            known.is_remembered = true;
            self.refresh_pool();
        }
    }

    /// A task of that kind, of which so many seconds were expected, came back after so many. Whether the pool as a whole,
    /// and so everybody's speed, was looked at again.
    pub fn returned(&mut self, who: KnownId, kind: KindId, expected: f64, seconds: f64) -> bool {
        let tau = self.noise(kind);
        let of_kind = &mut self.kinds[kind.index()];
        let drift = of_kind.drift();
        let drift_variance = 1.0 / of_kind.precision;
        let known = &mut self.known[who.index()];
        known.returned += 1;
        known.seconds += seconds;
        // Less than any clock tells: the logarithm of 0 is no number.
        let log = libm::log(seconds.max(1e-9));
        let all = tau + drift_variance + known.variance;
        let most = CLIP * all.sqrt();
        let surprise = log - libm::log(expected) - drift + known.log_speed;
        // One return that hung for hours must not make a worker slow for good.
        let surprise = surprise.clamp(-most, most);
        // The part of its square that is not our ignorance of worker and kind.
        let own = surprise * tau / all;
        let square = own * own + tau * (1.0 - tau / all);
        of_kind.noise += square;
        of_kind.returned += 1.0;
        self.noise += square;
        self.returned += 1.0;
        let at_one = log + known.log_speed;
        of_kind.log_seconds += at_one;
        of_kind.log_squares += at_one * at_one;
        of_kind.count += 1.0;
        let precision = 1.0 / (tau + known.variance);
        of_kind.sum += precision * (drift + surprise);
        of_kind.precision += precision;
        let precision = 1.0 / (tau + drift_variance);
        known.sum += precision * (known.log_speed - surprise);
        known.precision += precision;
        self.stale += 1;
        // The pool is looked at as a whole only so often that a return costs the same in a large one.
        let is_due = self.stale * 8 >= self.known.len();
        match is_due {
            true => self.refresh_pool(),
            false => self.refresh(who),
        }
        is_due
    }

    /// An attempt of the worker's failed.
    pub fn failed(&mut self, who: KnownId) {
        self.known[who.index()].failed += 1;
    }

    /// A task was lost with the worker, or came too late.
    pub fn lost(&mut self, who: KnownId) {
        self.known[who.index()].lost += 1;
    }

    /// Mean and spread of the pool, and everybody's speed with them.
    fn refresh_pool(&mut self) {
        self.stale = 0;
        let seen = |c: &&KnownWorker| c.precision > 0.0;
        // Expectations are of speed 1: the mean of the pool begins there.
        let (mut sum, mut weights) = (0.0, 1.0);
        for c in self.known.iter().filter(seen) {
            // Who is known badly pulls the mean little: its own doubt and the spread of the pool stand against it.
            let weight = 1.0 / (self.spread + 1.0 / c.precision);
            sum += weight * c.sum / c.precision;
            weights += weight;
        }
        self.mean = sum / weights;
        let (mut squares, mut count) = (SPREAD * SPREAD_WEIGHT, SPREAD_WEIGHT);
        for c in self.known.iter().filter(seen) {
            let off = c.sum / c.precision - self.mean;
            // What is our ignorance of each is no spread.
            squares += off * off - 1.0 / c.precision;
            count += 1.0;
        }
        self.spread = (squares / count).max(LEAST_SPREAD);
        (0..self.known.len()).for_each(|number| self.refresh(KnownId::new(number)));
    }

    fn refresh(&mut self, who: KnownId) {
        let known = &mut self.known[who.index()];
        let precision = 1.0 / self.spread + known.precision;
        known.log_speed = (self.mean / self.spread + known.sum) / precision;
        known.variance = 1.0 / precision;
    }

    /// Variance of the noise of a kind.
    fn noise(&self, kind: KindId) -> f64 {
        let own = &self.kinds[kind.index()];
        let pooled = self.noise / self.returned;
        let noise = (POOLED_WEIGHT * pooled + own.noise) / (POOLED_WEIGHT + own.returned);
        noise.max(LEAST_NOISE)
    }

    /// Whether worker and kind were seen, in this run or in others, or the kind's times are recorded: what a worker says of
    /// itself, and a guess, are no knowledge.
    pub(crate) fn knows(&self, who: KnownId, kind: KindId) -> bool {
        let (known, kind) = (&self.known[who.index()], &self.kinds[kind.index()]);
        (known.returned > 0 || known.is_remembered) && kind.precision > 1.0 / DRIFT_GUESSED
    }

    /// How many workers, told apart by name, are known.
    pub fn workers(&self) -> usize {
        self.known.len() - self.free.len()
    }

    /// How fast a worker is believed to be: work a second.
    pub fn speed(&self, who: KnownId) -> f64 {
        libm::exp(self.known[who.index()].log_speed)
    }

    /// How far the logarithm of that may be off: its variance.
    pub(crate) fn doubt(&self, who: KnownId) -> f64 {
        self.known[who.index()].variance
    }

    /// How many tasks the worker returned.
    pub fn returns(&self, who: KnownId) -> u64 {
        self.known[who.index()].returned
    }

    /// Mean seconds from lease to return; `None` before the first return.
    pub fn turnaround(&self, who: KnownId) -> Option<f64> {
        let known = &self.known[who.index()];
        (known.returned > 0).then(|| known.seconds / known.returned as f64)
    }

    /// The share of its leases that a worker will return well. Who is new is taken to be as the others are.
    pub fn reliability(&self, who: KnownId) -> f64 {
        let count = |c: &KnownWorker| (c.returned as f64, (c.returned + c.failed + c.lost) as f64);
        let all = self.known.iter().map(count);
        let (good, of) = all.fold((0.0, 0.0), |(g, n), (good, of)| (g + good, n + of));
        let pool = (good + 1.0) / (of + 1.0);
        let (good, of) = count(&self.known[who.index()]);
        // As if two more had gone as the pool's do: one loss alone says little.
        (good + 2.0 * pool) / (of + 2.0)
    }

    /// By how much tasks of a kind take longer than expected: the logarithm.
    pub(crate) fn drift(&self, kind: KindId) -> f64 {
        self.kinds[kind.index()].drift()
    }

    /// What expected seconds of a kind are multiplied by to have its work: mean seconds at speed 1.
    pub(crate) fn factor(&self, kind: KindId) -> f64 {
        let own = &self.kinds[kind.index()];
        // The mean of a log-normal time lies half a variance above its median.
        let skew = match own.is_recorded {
            true => 0.0,
            false => self.noise(kind).min(1.0) / 2.0,
        };
        libm::exp(own.drift() + skew)
    }

    /// When a task that has run for so many seconds will have taken in all, if it has not ended yet: the mean of what is
    /// left of a log-normal distribution.
    pub(crate) fn duration(&self, who: KnownId, kind: KindId, expected: f64, elapsed: f64) -> f64 {
        let (median, variance) = self.foreseen(who, kind, expected);
        mean_beyond(median, variance, elapsed)
    }

    /// After so many seconds the task is late: nearly all such tasks of such workers are back by then.
    pub(crate) fn deadline(&self, who: KnownId, kind: KindId, expected: f64) -> f64 {
        let (median, variance) = self.foreseen(who, kind, expected);
        median * libm::exp(LATE * variance.sqrt())
    }

    /// Median and variance of the logarithm of the seconds that the worker takes.
    fn foreseen(&self, who: KnownId, kind: KindId, expected: f64) -> (f64, f64) {
        let known = &self.known[who.index()];
        let log = libm::log(expected) + self.drift(kind) - known.log_speed;
        (libm::exp(log), self.noise(kind).min(1.0) + known.variance)
    }

    /// How fast a worker seems that has been at a task for so many seconds: one that should have been back is slower than
    /// was believed.
    pub(crate) fn speed_at(&self, who: KnownId, kind: KindId, expected: f64, elapsed: f64) -> f64 {
        let known = &self.known[who.index()];
        let (median, variance) = self.foreseen(who, kind, expected);
        // Before it is nearly due, that it is not back says nothing.
        if elapsed <= 0.8 * median {
            return self.speed(who);
        }
        let later = mean_beyond(median, variance, elapsed) / mean_beyond(median, variance, 0.0);
        // The part of it that is the worker's doing, not noise.
        let shift = libm::log(later).max(0.0) * known.variance / variance;
        libm::exp(known.log_speed - shift)
    }

    /// What is worth knowing in later runs.
    pub fn memory(&self) -> Memory {
        let kinds = (self.kinds.iter()).filter(|k| k.count > 0.0 && !k.name.is_empty());
        let kinds = kinds.map(|k| (k.name.clone(), Remembered::of_kind(k)));
        let workers = (self.known.iter()).filter(|c| c.precision > 0.0);
        let workers = workers.map(|c| (c.name.clone(), Remembered::of_worker(c)));
        Memory::new(kinds.collect(), workers.collect())
    }
}

fn usable(seconds: Option<f64>) -> Option<f64> {
    seconds.filter(|s| s.is_finite() && *s >= 0.0)
}
