//! How much work a plan costs: counted in questions whether to stop, of which there is at least one every few thousand
//! steps or for a longer step, so that the count is the same on every machine.

use cairn_dag::Family;
use cairn_plan::{PlanEffort, Work, plan};
use std::sync::atomic::{AtomicU64, Ordering};

/// Layered dags of about 2,000 tasks that once took up to eleven seconds to plan: levels, width, most parents.
const SLOW: [[u32; 3]; 3] = [[40, 50, 2], [32, 32, 5], [45, 48, 2]];

/// So many questions are asked in about a second of an optimised build, on a slow machine in two.
const TWO_SECONDS: u64 = 46_000;

/// What a plan reaches and costs.
struct Found {
    area: u64,
    area_of_bound: u64,
    asked: u64,
}

fn planned([levels, width, most_parents]: [u32; 3], limits: PlanEffort) -> Found {
    let family = Family::Layered {
        levels,
        width,
        most_parents,
        skip: 1,
    };
    let dag = family.build(1).expect("a valid family");
    let asked = AtomicU64::new(0);
    let question = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    let plan = plan(&dag, &limits, &mut Work::until(&question));
    let area = |profile: &[u32]| profile.iter().map(|&e| u64::from(e)).sum();
    Found {
        area: area(&plan.profile),
        area_of_bound: area(&plan.bound),
        asked: asked.load(Ordering::Relaxed),
    }
}

#[test]
fn a_default_plan_of_two_thousand_tasks_costs_no_more_than_two_seconds() {
    for shape in SLOW {
        let found = planned(shape, PlanEffort::default());
        assert!(
            found.asked < TWO_SECONDS,
            "{shape:?}: {} questions",
            found.asked
        );
        // Not by giving up: within five per cent of the bound on each of them.
        let (area, bound) = (found.area, found.area_of_bound);
        assert!(area * 20 >= bound * 19, "{shape:?}: {area} of {bound}");
    }
}

#[test]
fn a_thorough_plan_works_more_and_is_better() {
    let shape = [20, 100, 3];
    let [quick, default, thorough] = [
        PlanEffort::quick(),
        PlanEffort::default(),
        PlanEffort::thorough(),
    ]
    .map(|limits| planned(shape, limits));
    let asked = [quick.asked, default.asked, thorough.asked];
    assert!(
        asked[0] * 20 < asked[1] && asked[1] * 2 < asked[2],
        "{asked:?} questions"
    );
    assert!(quick.area <= default.area && default.area < thorough.area);
}
