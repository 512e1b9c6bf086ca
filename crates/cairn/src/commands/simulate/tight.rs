//! `simulate --disk`: policies under a cap on the disk, what starting "whatever fits" would do instead, and time against
//! the cap. Knows no words of the other answers.

use super::super::disk::{self, Ground, Room};
use super::super::orders::Orders;
use super::super::world::{self, Scene};
use crate::budgets::simulate::{CONTEST, NAIVE};
use crate::cli::Policy;
use crate::failure::Failure;
use crate::input::Read;
use crate::layout;
use crate::limits::Clock;
use crate::output::Output;
use cairn_dag::TaskId;
use cairn_formats::size;
use cairn_plan::Work;
use cairn_sim::{
    Admission, ListKind, ListOrders, Options, SimulateError, Study, TimeByCap, endings,
    fastest_first, play_lists, time_by_cap,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The lists, in the order in which equally fast ones are taken.
const LISTS: [ListKind; 7] = [
    ListKind::ShrinkFirst,
    ListKind::Lean,
    ListKind::CriticalPath,
    ListKind::ShrinkFirstCriticalPath,
    ListKind::Ic,
    ListKind::PathPlus,
    ListKind::ShrinkFirstIc,
];

/// A cap on the disk in a simulation.
pub(super) struct Tight<'f> {
    ground: Ground<'f>,
    /// Lists of priorities, the fastest under the cap first.
    priorities: Vec<(ListKind, Vec<TaskId>)>,
    admission: Arc<Admission>,
}

/// How policies fare that start whatever fits.
struct FitsNow {
    policy: String,
    runs: usize,
    stuck: usize,
    /// Mean time of those that ended.
    time: Option<f64>,
}

/// What is to be told of the cap beside the policies.
pub(super) struct Told {
    naive: Vec<FitsNow>,
    /// Mean time and most bytes in use without a cap.
    free: (f64, f64),
    curve: TimeByCap,
    knee: Option<u64>,
    about: String,
    assumed: String,
    value: Value,
}

impl<'f> Tight<'f> {
    /// A cap that can be kept, and the priorities that are fastest within it.
    pub(super) fn new(
        (read, room): (&'f Read, Room<'f>),
        orders: &Orders<'_>,
        has_plan: bool,
        scene: &Scene,
        (options, clock): (&Options<'_>, &Clock),
        out: &Output,
    ) -> Result<Tight<'f>, Failure> {
        // Any order serves to look for a small peak from; the plan's is the better one where there is one.
        let wanted = match has_plan {
            true => orders.of(Policy::Ic),
            false => read.flow.dag().topological_order().to_vec(),
        };
        let ground = disk::prepare(room, &wanted, &Work::until(&clock.half().stop()), out)?;
        let lean = &ground.lean.order;
        let known = ListOrders {
            storage: ground.storage(),
            lean,
            critical_path: orders.of(Policy::CriticalPath),
            planned: has_plan.then(|| (orders.of(Policy::Ic), orders.of(Policy::PathPlus))),
        };
        let priorities = known.lists(&LISTS);
        let admission = Arc::new(Admission::Kept(Box::new(ground.keeper(ground.cap.bytes))));
        let mut tight = Tight {
            ground,
            priorities,
            admission,
        };
        let _progress = out.progress("choosing priorities under the cap");
        let stop = clock.half().stop();
        let options = Options {
            runs: CONTEST.min(options.runs),
            // Not the runs that are shown: they would flatter the choice.
            seed: options.seed.wrapping_add(1),
            work: Work::until(&stop),
            ..Options::default()
        };
        let all = tight.priorities.len();
        let played = tight.played(&tight.admission, all, read, scene, &options)?;
        if let Some(study) = played {
            let places = fastest_first(&study).into_iter();
            let sorted = places.map(|p| tight.priorities[p].clone());
            tight.priorities = sorted.collect();
        }
        Ok(tight)
    }

    /// The first few priorities under an admission; nothing if there was no time.
    fn played(
        &self,
        admission: &Arc<Admission>,
        count: usize,
        read: &Read,
        scene: &Scene,
        options: &Options<'_>,
    ) -> Result<Option<Study>, Failure> {
        let lists = &self.priorities[..count.min(self.priorities.len())];
        let dag = read.flow.dag();
        match play_lists(dag, (&scene.work, &scene.world), lists, admission, options) {
            Ok(study) => Ok(Some(study)),
            // The curve is beside the point: what was asked for is answered without it.
            Err(SimulateError::OutOfTime { .. }) => Ok(None),
            Err(error) => Err(world::failed(&error, &read.flow)),
        }
    }

    /// The priorities that were fastest: what `auto` stands for under the cap.
    pub(super) fn chosen(&self) -> (&str, &[TaskId]) {
        let (kind, order) = &self.priorities[0];
        (kind.name(), order)
    }

    /// A policy under the cap.
    pub(super) fn within(&self, policy: cairn_sim::Policy) -> cairn_sim::Policy {
        policy.within(self.admission.clone())
    }

    /// What is to be told beside the policies: without a cap, without the rule, and under other caps.
    pub(super) fn tell(
        &self,
        policies: &[cairn_sim::Policy],
        read: &Read,
        scene: &Scene,
        (options, clock): (&Options<'_>, &Clock),
        out: &Output,
    ) -> Result<Told, Failure> {
        let _progress = out.progress("looking at other caps");
        let stop = clock.stop();
        let options = |runs: usize| Options {
            runs: runs.min(options.runs),
            seed: options.seed,
            work: Work::until(&stop),
            ..Options::default()
        };
        let naive = self.naive(policies, read, scene, &options(NAIVE))?;
        let curve = time_by_cap(
            read.flow.dag(),
            (&scene.work, &scene.world),
            &self.priorities,
            |cap| self.ground.keeper(cap),
            self.ground.lean.peak,
            &options(usize::MAX),
        );
        let curve = world::done(curve, &read.flow)?;
        Ok(Told {
            knee: curve.knee,
            free: curve.free,
            about: self.ground.about(),
            assumed: self.ground.assumed(&read.flow),
            value: self.ground.json(&read.flow),
            naive,
            curve,
        })
    }

    fn naive(
        &self,
        policies: &[cairn_sim::Policy],
        read: &Read,
        scene: &Scene,
        options: &Options<'_>,
    ) -> Result<Vec<FitsNow>, Failure> {
        let fits = Arc::new(Admission::FitsNow {
            storage: self.ground.storage().clone(),
            cap: self.ground.cap.bytes,
        });
        let mut told = Vec::new();
        for policy in policies {
            let name = policy.name().to_owned();
            let policy = policy.clone().within(fits.clone());
            let dag = read.flow.dag();
            let ends = endings(dag, &scene.work, &scene.world, &policy, options)
                .map_err(|error| world::failed(&error, &read.flow))?;
            told.push(FitsNow {
                policy: name,
                runs: ends.ended.len() + ends.stuck,
                stuck: ends.stuck,
                time: ends.mean_time(),
            });
        }
        Ok(told)
    }
}

impl Told {
    pub(super) fn json(&self) -> Value {
        let mut value = self.value.clone();
        let naive = |n: &FitsNow| {
            let told = json!({ "runs": n.runs, "stuck": n.stuck, "makespan": n.time });
            (n.policy.clone(), told)
        };
        let naive: Map<String, Value> = self.naive.iter().map(naive).collect();
        let curve = self
            .curve
            .points
            .iter()
            .map(|(cap, time, _)| json!([cap, time]));
        value["curve"] = curve.collect();
        value["knee"] = json!(self.knee);
        value["fits_now"] = json!(naive);
        value["no_cap"] = json!({ "makespan": finite(self.free.0), "peak": self.free.1 });
        value
    }

    /// The cap, the rule's worth and the curve, as lines below the table.
    pub(super) fn text(&self, time: &dyn Fn(f64) -> String, width: usize) -> String {
        let mut text = layout::hanging("  disk      ", &self.about, width);
        text += &layout::hanging("  files     ", &self.assumed, width);
        let stuck = self.naive.iter().filter(|n| n.stuck > 0);
        let stuck: Vec<String> = stuck
            .map(|n| format!("{} of {} runs ({})", n.stuck, n.runs, n.policy))
            .collect();
        let naive = match stuck.is_empty() {
            true => "starting whatever fits would have come to an end in all runs here, without a promise".to_owned(),
            false => format!(
                "starting whatever fits, without the rule, would have stopped for good in {}",
                stuck.join(", ")
            ),
        };
        text += &layout::hanging("  fits now  ", &naive, width);
        let knee = match self.knee {
            Some(knee) => format!(
                "from {} on a cap costs at the most 5 % of the time",
                size::words(knee.into())
            ),
            None => "no cap looked at comes within 5 % of the time without one".to_owned(),
        };
        let without = format!(
            "{knee}; without a cap {} and {} in use",
            time(self.free.0),
            size::words(self.free.1 as u128)
        );
        text += &layout::hanging("  knee      ", &without, width);
        let mut rows = vec![vec![
            "cap".to_owned(),
            "time".to_owned(),
            "of no cap".to_owned(),
            "priorities".to_owned(),
        ]];
        for (cap, mean, by) in &self.curve.points {
            rows.push(vec![
                size::words((*cap).into()),
                time(*mean),
                format!("× {:.2}", mean / self.free.0),
                by.name().to_owned(),
            ]);
        }
        text + "\n" + &layout::columns(&rows, width)
    }

    /// The curve as points: cap in bytes, time, name at the knee.
    pub(super) fn points(&self) -> Vec<(f64, f64, String)> {
        let point = |(cap, time, _): &(u64, f64, ListKind)| {
            let name = match self.knee == Some(*cap) {
                true => "knee".to_owned(),
                false => String::new(),
            };
            (*cap as f64, *time, name)
        };
        self.curve.points.iter().map(point).collect()
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
