//! Three pools of volatile workers, sized by the width of each dag.

use super::laboratory::{Failed, Laboratory, Subject};
use super::laboratory::{cell_text, durations_words, note, ratio_json, tally};
use crate::commands::world;
use crate::failure::Failure;
use cairn_sim::{Ratio, STUDY_POOLS, StudyPool, median};
use serde_json::{Map, Value, json};

/// Three pools for every subject.
pub(super) fn study(
    laboratory: &Laboratory<'_>,
    subjects: &[Subject],
    failed: &mut Failed,
) -> Result<(Value, String), Failure> {
    let bar = laboratory.out.bar("dags", subjects.len());
    let mut rows = Vec::new();
    for (i, subject) in subjects.iter().enumerate() {
        let width = subject.flow.dag().levels().width() as u32;
        match three_pools(laboratory, subject, width) {
            Ok(ratios) => rows.push(PoolRow {
                subject,
                width,
                ratios,
            }),
            Err(failure) if subjects.len() == 1 => return Err(failure),
            Err(stopped @ Failure::Interrupted(_)) => return Err(stopped),
            Err(failure) => note(failed, &subject.file, &failure, laboratory.out),
        }
        bar.at(i + 1);
    }
    drop(bar);
    let durations = durations_words(subjects);
    Ok((
        pools_json(&rows, laboratory, &durations),
        pools_text(&rows, laboratory, &durations),
    ))
}

/// The ratios of one dag in each pool.
fn three_pools(
    laboratory: &Laboratory<'_>,
    subject: &Subject,
    width: u32,
) -> Result<Vec<Vec<Option<Ratio>>>, Failure> {
    let prepared = laboratory.prepare(subject)?;
    let taken = &subject.taken;
    // Pools are stretched to it: a task that no worker stays for would never end.
    let longest = (taken.seconds.iter().flatten()).fold(0.0, |a: f64, &b| a.max(b));
    let one = |pool: &StudyPool| {
        let world = pool.world(width, taken.mean, longest);
        let played = laboratory.play(&prepared, &world.map_err(world::refused)?)?;
        Ok(laboratory.ratios(&played))
    };
    STUDY_POOLS.iter().map(one).collect()
}

/// One dag in all pools.
struct PoolRow<'a> {
    subject: &'a Subject,
    width: u32,
    /// By pool, the first over each rival.
    ratios: Vec<Vec<Option<Ratio>>>,
}

/// All ratios of one pool and rival.
fn column<'r>(
    rows: &'r [PoolRow<'_>],
    pool: usize,
    rival: usize,
) -> impl Iterator<Item = &'r Ratio> {
    rows.iter()
        .filter_map(move |row| row.ratios[pool][rival].as_ref())
}

/// The middle of the ratios of one pool and rival, if there are any.
fn middle(rows: &[PoolRow<'_>], pool: usize, rival: usize) -> Option<f64> {
    let means: Vec<f64> = column(rows, pool, rival).map(|x| x.mean).collect();
    (!means.is_empty()).then(|| median(means))
}

fn pools_json(rows: &[PoolRow<'_>], laboratory: &Laboratory<'_>, durations: &str) -> Value {
    let (first, options) = (laboratory.first(), &laboratory.options);
    let by_pool = |of: &dyn Fn(usize, usize) -> Value| -> Map<String, Value> {
        let rivals = |p: usize| -> Map<String, Value> {
            (laboratory.rivals().iter().enumerate())
                .map(|(r, rival)| (format!("{first}/{rival}"), of(p, r)))
                .collect()
        };
        (0..STUDY_POOLS.len())
            .map(|p| (STUDY_POOLS[p].name.to_owned(), Value::Object(rivals(p))))
            .collect()
    };
    let dags: Vec<Value> = (rows.iter())
        .map(|row| {
            let dag = row.subject.flow.dag();
            json!({
                "name": row.subject.name, "tasks": dag.len(), "width": row.width,
                "durations": row.subject.taken.words,
                "ratios": by_pool(&|p, r| json!({ "makespan": ratio_json(row.ratios[p][r]) })),
            })
        })
        .collect();
    let summary = by_pool(&|p, r| {
        let [faster, ties, slower] = tally(column(rows, p, r));
        let median = middle(rows, p, r);
        json!({ "median": median, "faster": faster, "ties": ties, "slower": slower })
    });
    json!({
        "runs": options.runs, "seed": options.seed, "durations": durations,
        "pools": STUDY_POOLS.iter().map(|p| json!({ "name": p.name, "about": p.about })).collect::<Vec<_>>(),
        "summary": summary, "dags": dags,
    })
}

fn pools_text(rows: &[PoolRow<'_>], laboratory: &Laboratory<'_>, durations: &str) -> String {
    let (first, options, rivals) = (laboratory.first(), &laboratory.options, laboratory.rivals());
    let mut text = format!(
        "Ratios of mean times in pools of volatile workers. Durations {durations}; {} paired runs, seed {}. \
         Bold: the 95 % interval lies below 1 ({first} is faster); italic: above 1; plain: a tie.\n\n",
        options.runs, options.seed
    );
    for pool in &STUDY_POOLS {
        text += &format!("- {}: {}\n", pool.name, pool.about);
    }
    text += "\nWhere the longest task takes longer than workers are up on the mean, up and down are stretched to its length.\n";
    text += &format!(
        "\n| pool | rival | median ratio | median gain of {first} | faster | tie | slower |\n|---|---|--:|--:|--:|--:|--:|\n"
    );
    for (p, pool) in STUDY_POOLS.iter().enumerate() {
        for (r, rival) in rivals.iter().enumerate() {
            let [faster, ties, slower] = tally(column(rows, p, r));
            let median = middle(rows, p, r).unwrap_or(1.0);
            text += &format!(
                "| {} | {rival} | {median:.4} | {:.2} % | {faster} | {ties} | {slower} |\n",
                pool.name,
                100.0 * (1.0 - median)
            );
        }
    }
    text += "\n| dag | tasks | width |";
    for pool in &STUDY_POOLS {
        for rival in rivals {
            text += &format!(" {}: {first}/{rival} |", pool.name);
        }
    }
    text += "\n|---|--:|--:|";
    text += &"--:|".repeat(STUDY_POOLS.len() * rivals.len());
    for row in rows {
        let dag = row.subject.flow.dag();
        text += &format!("\n| {} | {} | {} |", row.subject.name, dag.len(), row.width);
        for ratio in row.ratios.iter().flatten() {
            text += &format!(" {} |", cell_text(ratio.as_ref()));
        }
    }
    text + "\n"
}
