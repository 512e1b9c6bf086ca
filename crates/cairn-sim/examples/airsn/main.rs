//! `cargo run --release -p cairn-sim --example airsn [RUNS]`: the published study's dag AIRSN(250) on a grid of mean
//! gaps and mean sizes, for the handle-first order against first come, first served, with two orders of the file.
#![allow(clippy::print_stdout, reason = "an example prints")]

mod dag;

use cairn_sim::{Measure, Options, Policy, Study, World, simulate};
use dag::airsn;

/// One point of the grid.
struct Cell {
    gap: f64,
    size: f64,
    study: Study,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 200,
    };
    let gaps = [0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0];
    let sizes: Vec<f64> = (0..=13).map(|k| f64::from(1 << k)).collect();
    for fringe_first in [true, false] {
        let (dag, order) = airsn(250, fringe_first);
        assert_eq!(dag.len(), 773);
        let first = if fringe_first { "fringe" } else { "handle" };
        println!("AIRSN(250), {first} first in the file: mean makespan, handle first / fifo");
        let policies = [Policy::order("handle first", &order), Policy::fifo()];
        let options = Options {
            runs,
            ..Options::default()
        };
        let mut cells = Vec::new();
        for &gap in &gaps {
            for &size in &sizes {
                let world = World::batches(gap, size)?;
                // All cells share the seed, so that neighbours differ by their settings and not by luck.
                let study = simulate(&dag, &World::study_work(), &world, &policies, &options)?;
                cells.push(Cell { gap, size, study });
            }
        }
        print!("{:>8}", "gap\\size");
        sizes.iter().for_each(|s| print!("{s:>7}"));
        let ratio = |cell: &Cell| cell.study.ratio(0, 1, Measure::Makespan);
        for row in cells.chunks(sizes.len()) {
            print!("\n{:>8}", row[0].gap);
            for cell in row {
                print!(
                    "{:>7.3}",
                    ratio(cell).expect("durations are above zero").mean
                );
            }
        }
        println!();
        let mut by_upper_end: Vec<_> = (cells.iter())
            .filter_map(|c| Some((ratio(c)?.ends()?.high, c)))
            .collect();
        by_upper_end.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, cell) in by_upper_end.iter().take(5) {
            let (Some(r), policies) = (ratio(cell), [0, 1]) else {
                continue;
            };
            let Some(i) = r.ends() else { continue };
            let stall = policies.map(|p| cell.study.summary(p, Measure::Stall).mean);
            println!(
                "gap {}, size {}: {:.4} [{:.4}, {:.4}]; stall {:.3} against {:.3}",
                cell.gap, cell.size, r.mean, i.low, i.high, stall[0], stall[1]
            );
        }
        let better = by_upper_end
            .iter()
            .filter(|(high, _)| *high <= 0.87)
            .count();
        println!(
            "cells with upper end <= 0.87: {better} of {}\n",
            cells.len()
        );
    }
    Ok(())
}
