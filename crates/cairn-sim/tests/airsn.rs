//! The published study's headline: AIRSN(250) was executed at least 13 % faster than first come, first served, with 95 %
//! confidence, at some mean gap and mean size.

#[path = "../examples/airsn/dag.rs"]
mod dag;

use cairn_sim::{Measure, Options, Policy, World, simulate};

/// Whether the file lists the fringe or the handle first changes what FIFO does, but not the headline.
#[test]
fn handle_first_beats_fifo_by_more_than_thirteen_percent() {
    for fringe_first in [true, false] {
        let (dag, order) = dag::airsn(250, fringe_first);
        assert_eq!((dag.len(), dag.arc_count()), (773, 20 + 5 * 250));
        let policies = [Policy::order("handle first", &order), Policy::fifo()];
        // These cells were the best of a grid with seed 1; another seed makes the test independent of that choice.
        for (gap, size) in [(0.1, 1.0), (0.3, 4.0), (10.0, 16.0)] {
            let world = World::batches(gap, size).unwrap();
            let options = Options {
                runs: 200,
                seed: 2006,
                ..Options::default()
            };
            let study = simulate(&dag, &World::study_work(), &world, &policies, &options).unwrap();
            let ratio = study.ratio(0, 1, Measure::Makespan).unwrap();
            assert!(
                ratio.interval.unwrap().high <= 0.87,
                "{gap} {size}: {ratio:?}"
            );
            let stall = study.ratio(0, 1, Measure::Stall).unwrap();
            assert!(stall.mean < 1.0, "{stall:?}");
        }
    }
}

/// Where every batch takes all that is eligible, no order is better than another.
#[test]
fn no_order_matters_at_the_corners_of_the_grid() {
    let (dag, order) = dag::airsn(250, false);
    let policies = [Policy::order("handle first", &order), Policy::fifo()];
    for (gap, size) in [(0.001, 1024.0), (1000.0, 8192.0)] {
        let world = World::batches(gap, size).unwrap();
        let options = Options {
            runs: 30,
            ..Options::default()
        };
        let study = simulate(&dag, &World::study_work(), &world, &policies, &options).unwrap();
        let ratio = study.ratio(0, 1, Measure::Makespan).unwrap();
        assert!((ratio.mean - 1.0).abs() < 0.005, "{gap} {size}: {ratio:?}");
    }
}
