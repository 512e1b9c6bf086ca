//! What orders are worth: every rule and `auto` on real and on unseen dags, in many worlds, with four models of durations; wins
//! and losses against critical path, ic and fifo.
//!
//! `$CAIRN_WORTH` names a file that keeps every cell as a line of JSON: what is there already is not played again, so that a run
//! that was ended goes on. `$CAIRN_UNSEEN` is a folder with more dags that nothing was tuned on; `$CAIRN_RUNS` the runs a cell,
//! 100 unless given; `$CAIRN_MOST` the largest dag, 2,200 tasks unless given.

mod cells;
mod subjects;
mod tally;

pub(crate) use self::cells::contest;
pub(crate) use self::subjects::layered;

use self::cells::{Cell, Laboratory, MODELS, WORLDS};
use self::subjects::{Subject, corpus, unseen};
use self::tally::{print_by, print_rules, print_worst};
use std::io::Write;
use std::path::PathBuf;

fn number(variable: &str, usual: usize) -> usize {
    let given = std::env::var(variable).ok().and_then(|n| n.parse().ok());
    given.unwrap_or(usual)
}

/// Plays what has not been played yet, then prints the tables.
pub fn run() {
    let most = number("CAIRN_MOST", 2_200);
    let mut laboratory = Laboratory {
        runs: number("CAIRN_RUNS", 100),
        file: std::env::var_os("CAIRN_WORTH").map(PathBuf::from),
        cells: Vec::new(),
    };
    laboratory.read();
    let groups = [("corpus", corpus(most)), ("unseen", unseen(most))];
    for (group, subjects) in &groups {
        for (i, subject) in subjects.iter().enumerate() {
            eprint!(
                "\r{group} {} of {}: {:60}",
                i + 1,
                subjects.len(),
                subject.name
            );
            let _ = std::io::stderr().flush();
            laboratory.play(group, subject);
        }
    }
    eprintln!();
    for (group, subjects) in &groups {
        print_group(group, subjects, &laboratory);
    }
}

fn print_group(group: &str, subjects: &[Subject], laboratory: &Laboratory) {
    let cells: Vec<&Cell> = (laboratory.cells.iter())
        .filter(|c| c.group == group)
        .collect();
    println!(
        "\n### {group}: {} dags, {} cells, {} paired runs a cell\n",
        subjects.len(),
        cells.len(),
        laboratory.runs
    );
    print_rules(&cells);
    println!("\nBy world:\n");
    print_by(&cells, &WORLDS, |cell| &cell.world);
    println!("\nBy what is known of durations:\n");
    print_by(&cells, &MODELS.map(|m| m.0), |cell| &cell.model);
    println!();
    print_worst(&cells);
}
