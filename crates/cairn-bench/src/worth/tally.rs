//! Wins, losses and means over cells, as tables. Knows not how they were played.

use super::cells::{Cell, RIVALS};
use cairn_plan::policy::Rule;
use std::iter::once;

/// Every rule in the order in which it is printed.
fn rules() -> impl Iterator<Item = &'static str> {
    let of_ours = Rule::ALL.into_iter().map(Rule::name);
    once("fifo")
        .chain(of_ours)
        .chain(["auto, no world", "auto"])
}

/// Wins and losses of one rule against one rival: more than three standard errors and half a percent.
#[derive(Default)]
struct Tally {
    cells: usize,
    wins: usize,
    losses: usize,
    least: f64,
    worst: f64,
    sum: f64,
}

impl Tally {
    fn of<'c>(cells: impl Iterator<Item = &'c &'c Cell>, rule: &str, rival: usize) -> Tally {
        let mut tally = Tally {
            least: f64::INFINITY,
            ..Tally::default()
        };
        for beside in cells.filter_map(|cell| cell.of(rule)) {
            let (ratio, z) = beside[rival];
            let differs = z.abs() > 3.0 && (ratio - 1.0).abs() >= 0.005;
            tally.cells += 1;
            tally.wins += usize::from(differs && ratio < 1.0);
            tally.losses += usize::from(differs && ratio > 1.0);
            tally.least = tally.least.min(ratio);
            tally.worst = tally.worst.max(ratio);
            tally.sum += ratio;
        }
        tally
    }

    fn mean(&self) -> f64 {
        self.sum / self.cells.max(1) as f64
    }
}

/// One row a rule, over all cells.
pub(super) fn print_rules(cells: &[&Cell]) {
    println!(
        "| rule | mean / critical path | win : loss against fifo | against critical path | against ic | worst / critical path |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for rule in rules() {
        let [fifo, path, ic] = [0, 1, 2].map(|rival| Tally::of(cells.iter(), rule, rival));
        let score = |t: &Tally, rival: usize| match rule == RIVALS[rival] {
            true => "–".to_owned(),
            false => format!("{} : {}", t.wins, t.losses),
        };
        println!(
            "| {rule} | {:.4} | {} | {} | {} | {:.3} |",
            path.mean(),
            score(&fifo, 0),
            score(&path, 1),
            score(&ic, 2),
            path.worst
        );
    }
}

/// One row for each value: `auto` with the world stated, and path+, beside the others.
pub(super) fn print_by(cells: &[&Cell], values: &[&str], of: impl Fn(&Cell) -> &str) {
    println!(
        "| | cells | auto / critical path | win : loss | best | worst | auto / fifo | win : loss | auto / ic | win : loss | path+ / critical path | win : loss | ic / critical path | win : loss |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for value in values {
        let some: Vec<&Cell> = (cells.iter().copied())
            .filter(|cell| of(cell) == *value)
            .collect();
        let tally = |rule: &str, rival: usize| Tally::of(some.iter(), rule, rival);
        let pair = |t: &Tally| format!("{:.4} | {} : {}", t.mean(), t.wins, t.losses);
        let auto = tally("auto", 1);
        println!(
            "| {value} | {} | {} | {:.3} | {:.3} | {} | {} | {} | {} |",
            some.len(),
            pair(&auto),
            auto.least.min(9.0),
            auto.worst,
            pair(&tally("auto", 0)),
            pair(&tally("auto", 2)),
            pair(&tally("path+", 1)),
            pair(&tally("ic", 1))
        );
    }
}

/// The largest gains and losses of `auto` against critical path.
pub(super) fn print_worst(cells: &[&Cell]) {
    let mut all: Vec<(&Cell, (f64, f64))> = (cells.iter())
        .filter_map(|cell| Some((*cell, cell.of("auto")?[1])))
        .collect();
    all.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let line = |(cell, (ratio, z)): &(&Cell, (f64, f64))| {
        println!(
            "- {ratio:.4} (z {z:.1}): {}, {}, {}: {}",
            cell.dag, cell.world, cell.model, cell.stated
        );
    };
    println!("Largest gains of auto on critical path:\n");
    all.iter().take(5).for_each(line);
    println!("\nLargest losses:\n");
    all.iter().rev().take(5).for_each(line);
}
