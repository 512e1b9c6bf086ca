//! Chooses the order again while a run goes on, by simulating the workers that are seen. Has no clock, and asks nobody: it is
//! told what was seen, and when.

use super::super::contender::name;
use super::super::estimates::less_or_more;
use super::super::orders::{self, Orders, policy_of};
use super::super::world;
use crate::failure::Failure;
use crate::plural::counted;
use cairn_dag::{Flow, TaskId};
use cairn_plan::policy::Rule;
use cairn_serve::http::{Left, Observed};
use cairn_serve::{About, Found};
use cairn_sim::{
    Crew, Lease, Options, Plays, Policy, PoolSettings, Spread, Work, World, joint_ratio,
};

/// The runs of a contest are the same every time.
// The one of `simulate` too, so that people can see by hand what was seen here.
pub(super) const SEED: u64 = 1;

/// So often at the most, in seconds: whoever comes and goes does not keep a processor busy with choosing.
const SELDOM: f64 = 60.0;
/// Not before workers have been seen for so long.
// A judgement, as those below: the first workers of a batch system come over some seconds.
const FIRST: f64 = 5.0;
/// Fewer returns than this, or than two a processor, say little of who works.
const RETURNS: u64 = 32;
/// A crew is another one when it has a fourth more or less processors, or speeds that differ by so much more or less: the
/// standard deviation of their logarithms.
const MORE: f64 = 1.25;
const SPREAD: f64 = 0.15;
/// So often somebody must have come or gone before anything is made of it.
const VISITS: u64 = 3;
/// Where fewer tasks are left than this, or than two a processor, there is nothing to gain.
const FEW: usize = 20;

/// What was seen of the workers so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
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

impl Seen {
    /// This is seen so many seconds after the beginning.
    pub(super) fn hear(&mut self, at: f64, seen: &Observed) {
        if self.at_first == (0, 0) && self.came == 0 && self.here == 0 {
            self.began = at;
            self.at_first = (seen.came, seen.went);
        } else {
            self.presence += self.here as f64 * (at - self.last).max(0.0);
        }
        self.last = at;
        self.came = seen.came.saturating_sub(self.at_first.0);
        self.went = seen.went.saturating_sub(self.at_first.1);
        self.here = seen.came.saturating_sub(seen.went);
        self.speeds.clone_from(&seen.speeds);
        self.executed = seen.executed;
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
    pub(super) fn is_time(&self, before: Option<&Seen>) -> bool {
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

    fn differs(&self, before: &Seen) -> bool {
        let (many, were) = (self.speeds.len() as f64, before.speeds.len() as f64);
        let spread = (self.speed().1 - before.speed().1).abs();
        many > MORE * were || were > MORE * many || spread > SPREAD
    }

    /// A world with workers like those that are seen: a processor is a worker.
    fn world(&self) -> Result<World, Failure> {
        let (median, sigma) = self.speed();
        let passed = (self.last - self.began).max(1e-3);
        let processors = self.speeds.len().clamp(1, 100_000);
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
                speed: match sigma < 0.01 {
                    true => Spread::Constant(median),
                    false => Spread::LogNormal { median, sigma },
                },
                // As the server finds out that somebody is gone.
                lease: goes.then_some(Lease {
                    factor: 3.0,
                    at_least: 15.0,
                }),
                ..Crew::default()
            },
            ..PoolSettings::default()
        };
        // Without newcomers, those who go would leave nobody behind in some runs: then nobody is said to go.
        let stay = settings.stay.filter(|_| settings.joins.is_some());
        World::pool(PoolSettings { stay, ..settings }).map_err(world::refused)
    }
}

/// Another order than the one in force, where it gains enough with such workers. The same for the same that was seen.
pub(super) fn again(
    flow: &Flow,
    seen: &Seen,
    left: &Left,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Found>, Failure> {
    let open: Vec<TaskId> = (flow.dag().tasks())
        .filter(|t| left.is_over.get(t.index()) == Some(&false))
        .collect();
    // Less than two tasks a processor: nearly all of them are handed out already.
    if open.len() < FEW.max(2 * seen.speeds.len()) {
        return Ok(None);
    }
    let Ok(rest) = flow.induced(&open) else {
        return Ok(None);
    };
    let rank = |t: TaskId| left.rank.get(open[t.index()].index()).copied();
    let mut in_force: Vec<TaskId> = rest.dag().tasks().collect();
    in_force.sort_by_key(|&t| rank(t));
    let seconds: Vec<f64> = (open.iter())
        .map(|t| left.seconds.get(t.index()).copied().unwrap_or(1.0))
        .collect();
    let known: Vec<Option<f64>> = seconds.iter().map(|&s| Some(s)).collect();
    let work = Work::known(&known).map_err(world::refused)?;
    let worlds = [seen.world()?];
    let plan = orders::usual(&rest, stop);
    let orders = Orders::new(rest.dag(), Some(&seconds), Some(&plan));
    let effort = Plays::for_dag(open.len(), Rule::ALL.len() + 1, worlds.len());
    // One fewer than is paid for: the order in force plays, too, and first, so that it is kept unless one gains.
    let candidates = orders.candidates(effort.policies.saturating_sub(1).max(1), stop);
    let mut policies = vec![Policy::order("in force", &in_force)];
    policies.extend((candidates.iter()).map(|(rule, order)| Policy::order(rule.name(), order)));
    let options = Options {
        runs: effort.runs,
        seed: SEED,
        // The others are for whatever this machine does beside.
        threads: Some(1),
        stop: Some(stop),
        ..Options::default()
    };
    let failed = |e: cairn_sim::SimulateError| world::failed(&e, &rest);
    let chosen = cairn_sim::choose(rest.dag(), &work, &worlds, &policies, &options);
    let chosen = chosen.map_err(failed)?;
    let Some((rule, order)) = chosen.policy.checked_sub(1).map(|p| &candidates[p]) else {
        return Ok(None);
    };
    // What chose it would flatter it: it must gain in other runs, too.
    let both = [policies[chosen.policy].clone(), policies[0].clone()];
    let studies = cairn_sim::play_afresh(rest.dag(), &work, &worlds, &both, &options);
    let studies = studies.map_err(failed)?;
    let gain = joint_ratio(&studies, 0, 1);
    let Some(gain) = gain.filter(|gain| gain.ends().is_some_and(|i| i.high < 1.0)) else {
        return Ok(None);
    };
    let runs = studies.iter().map(|s| s.runs()).min().unwrap_or(0);
    let why = format!(
        "chosen again after {}, for the {} seen: its time is {} ({})",
        counted(seen.executed as usize, "task"),
        counted(seen.speeds.len(), "processor"),
        less_or_more(&[("the order before".to_owned(), gain)]),
        counted(runs, "run"),
    );
    Ok(Some(Found {
        order: Some(whole(flow, left, order.iter().map(|t| open[t.index()]))),
        about: About {
            policy: "auto".to_owned(),
            chosen: name(&policy_of(*rule)),
            settled: true,
            why,
            ..About::default()
        },
    }))
}

/// An order for all tasks: those that are over as they went, then the rest.
fn whole(flow: &Flow, left: &Left, rest: impl Iterator<Item = TaskId>) -> Vec<TaskId> {
    let is_over = |t: &TaskId| left.is_over.get(t.index()) != Some(&false);
    let mut order: Vec<TaskId> = flow.dag().tasks().filter(is_over).collect();
    order.sort_by_key(|t| left.rank.get(t.index()).copied());
    order.extend(rest);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_dag::Dag;

    /// Chains that are listed last and take long, behind many short tasks that open nothing.
    fn flow() -> Flow {
        let (short, long) = (120u32, 12u32);
        let arcs = (short..short + long - 1).map(|t| (t, t + 1)).collect();
        Flow::numbered(&Dag::from_arcs((short + long) as usize, arcs).unwrap())
    }

    fn left(flow: &Flow, executed: usize) -> Left {
        let tasks = flow.dag().len();
        Left {
            is_over: (0..tasks).map(|t| t < executed).collect(),
            seconds: (0..tasks)
                .map(|t| if t < 120 { 1.0 } else { 10.0 })
                .collect(),
            rank: (0..tasks as u64).collect(),
        }
    }

    fn observed(speeds: &[f64], came: u64, went: u64, executed: u64) -> Observed {
        Observed {
            speeds: speeds.to_vec(),
            came,
            went,
            executed,
            is_by_order: true,
        }
    }

    fn seen(speeds: &[f64], executed: u64) -> Seen {
        let mut seen = Seen::default();
        let here = speeds.len() as u64;
        for second in 0..10 {
            seen.hear(f64::from(second), &observed(speeds, here, 0, executed));
        }
        seen
    }

    #[test]
    fn the_order_changes_where_that_gains_and_stays_where_it_does_not() {
        let flow = flow();
        let eight = seen(&[1.0; 8], 40);
        let state = left(&flow, 40);
        let found = again(&flow, &eight, &state, &|| false).unwrap();
        let found = found.expect("the long chain goes first");
        let order = found.order.unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, flow.dag().tasks().collect::<Vec<_>>());
        let place = |t: u32| order.iter().position(|o| o.0 == t).unwrap();
        assert!((0..40).all(|t| place(t) < 40), "what is over comes first");
        assert!(place(120) < 60, "{}", place(120));
        assert!(found.about.settled && found.about.policy == "auto");
        assert!(found.about.why.contains("chosen again after 40 tasks"));
        assert!(
            found.about.why.contains("8 processors"),
            "{}",
            found.about.why
        );
        // The same again for the same that was seen.
        let twice = again(&flow, &eight, &state, &|| false).unwrap().unwrap();
        assert_eq!(twice.order.as_ref(), Some(&order));
        assert_eq!(twice.about, found.about);
        // With that order in force there is nothing to gain, nor with one worker, nor at the end.
        let mut after = state.clone();
        for (place, task) in order.iter().enumerate() {
            after.rank[task.index()] = place as u64;
        }
        assert!(again(&flow, &eight, &after, &|| false).unwrap().is_none());
        let alone = seen(&[1.0], 40);
        assert!(again(&flow, &alone, &state, &|| false).unwrap().is_none());
        let end = left(&flow, 118);
        assert!(again(&flow, &eight, &end, &|| false).unwrap().is_none());
        // Who is stopped changes nothing.
        assert!(again(&flow, &eight, &state, &|| true).unwrap().is_none());
    }

    #[test]
    fn it_is_time_when_enough_came_back_and_the_crew_is_another() {
        let mut now = seen(&[1.0; 4], 31);
        assert!(!now.is_time(None), "too few came back");
        now.hear(11.0, &observed(&[1.0; 4], 4, 0, 40));
        assert!(now.is_time(None));
        let mut early = Seen::default();
        early.hear(0.0, &observed(&[1.0; 4], 4, 0, 99));
        assert!(!early.is_time(None), "seen for too short a time");
        let before = now.clone();
        now.hear(50.0, &observed(&[1.0; 40], 40, 0, 400));
        assert!(!now.is_time(Some(&before)), "too soon");
        now.hear(80.0, &observed(&[1.0; 40], 40, 0, 400));
        assert!(now.is_time(Some(&before)));
        now.hear(81.0, &observed(&[1.0; 40], 40, 0, 100));
        assert!(!now.is_time(Some(&before)), "two returns a processor");
        now.hear(82.0, &observed(&[1.0; 5], 5, 0, 400));
        assert!(!now.is_time(Some(&before)), "much the same crew");
        now.hear(83.0, &observed(&[0.5, 1.0, 2.0, 1.0], 5, 1, 400));
        assert!(now.is_time(Some(&before)), "speeds differ now");
        now.hear(84.0, &observed(&[], 5, 5, 400));
        assert!(!now.is_time(Some(&before)), "nobody is here");
    }

    #[test]
    fn those_who_come_and_go_do_so_in_the_simulation() {
        let mut now = Seen::default();
        for second in 0..100u64 {
            // One comes and one goes every ten seconds, of four.
            let visits = second / 10;
            now.hear(
                second as f64,
                &observed(&[1.0; 4], 4 + visits, visits, second),
            );
        }
        assert_eq!((now.came, now.went, now.here), (9, 9, 4));
        assert!((now.presence - 4.0 * 99.0).abs() < 1e-9);
        now.world().unwrap();
        let flow = flow();
        let found = again(&flow, &now, &left(&flow, 20), &|| false).unwrap();
        assert!(found.is_some());
    }
}
