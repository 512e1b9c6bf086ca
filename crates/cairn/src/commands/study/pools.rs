//! Three pools of volatile workers, sized by the width of each dag.

use super::laboratory::{Failed, Laboratory, RIVALS, Subject};
use super::laboratory::{cell_text, durations_words, note, ratio_json, tally};
use crate::commands::world;
use crate::failure::Failure;
use cairn_sim::{Measure, Options, Ratio, STUDY_POOLS, Study, StudyPool};
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
        pools_json(&rows, &laboratory.options, &durations),
        pools_text(&rows, &laboratory.options, &durations),
    ))
}

/// The ratios of one dag in each pool.
fn three_pools(
    laboratory: &Laboratory<'_>,
    subject: &Subject,
    width: u32,
) -> Result<Vec<[Option<Ratio>; 2]>, Failure> {
    let policies = laboratory.policies(subject)?;
    let (dag, taken) = (subject.flow.dag(), &subject.taken);
    let longest = (taken.seconds.iter().flatten()).fold(0.0, |a: f64, &b| a.max(b));
    let one = |pool: &StudyPool| {
        let world = pool.world(width, taken.mean, longest);
        let study = (world.map_err(Into::into)).and_then(|world| {
            cairn_sim::simulate(dag, &taken.work, &world, &policies, &laboratory.options)
        });
        world::go_on()?;
        let study = study.map_err(|e| world::failed(&e, &subject.flow))?;
        Ok(both_ratios(&study))
    };
    STUDY_POOLS.iter().map(one).collect()
}

/// ic over each rival.
fn both_ratios(study: &Study) -> [Option<Ratio>; 2] {
    [1, 2].map(|rival| study.ratio(0, rival, Measure::Makespan))
}

/// One dag in all pools.
struct PoolRow<'a> {
    subject: &'a Subject,
    width: u32,
    /// By pool, ic over each rival.
    ratios: Vec<[Option<Ratio>; 2]>,
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

fn median(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = ratios.collect();
    all.sort_by(f64::total_cmp);
    let half = all.len().checked_sub(1)? / 2;
    Some((all[half] + all[all.len() / 2]) / 2.0)
}

fn pools_json(rows: &[PoolRow<'_>], options: &Options<'_>, durations: &str) -> Value {
    let by_pool = |of: &dyn Fn(usize, usize) -> Value| -> Map<String, Value> {
        let rivals = |p: usize| -> Map<String, Value> {
            (0..RIVALS.len())
                .map(|r| (format!("ic/{}", RIVALS[r]), of(p, r)))
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
        let median = median(column(rows, p, r).map(|x| x.mean));
        json!({ "median": median, "faster": faster, "ties": ties, "slower": slower })
    });
    json!({
        "runs": options.runs, "seed": options.seed, "durations": durations,
        "pools": STUDY_POOLS.iter().map(|p| json!({ "name": p.name, "about": p.about })).collect::<Vec<_>>(),
        "summary": summary, "dags": dags,
    })
}

fn pools_text(rows: &[PoolRow<'_>], options: &Options<'_>, durations: &str) -> String {
    let mut text = format!(
        "Ratios of mean times in pools of volatile workers. Durations {durations}; {} paired runs, seed {}. \
         Bold: the 95 % interval lies below 1 (ic is faster); italic: above 1; plain: a tie.\n\n",
        options.runs, options.seed
    );
    for pool in &STUDY_POOLS {
        text += &format!("- {}: {}\n", pool.name, pool.about);
    }
    text += "\nWhere the longest task takes longer than workers are up on the mean, up and down are stretched to its length.\n";
    text += "\n| pool | rival | median ratio | median gain of ic | faster | tie | slower |\n|---|---|--:|--:|--:|--:|--:|\n";
    for (p, pool) in STUDY_POOLS.iter().enumerate() {
        for (r, rival) in RIVALS.iter().enumerate() {
            let [faster, ties, slower] = tally(column(rows, p, r));
            let median = median(column(rows, p, r).map(|x| x.mean)).unwrap_or(1.0);
            text += &format!(
                "| {} | {rival} | {median:.4} | {:.2} % | {faster} | {ties} | {slower} |\n",
                pool.name,
                100.0 * (1.0 - median)
            );
        }
    }
    text += "\n| dag | tasks | width |";
    for pool in &STUDY_POOLS {
        for rival in RIVALS {
            text += &format!(" {}: ic/{rival} |", pool.name);
        }
    }
    text += "\n|---|--:|--:|";
    text += &"--:|".repeat(STUDY_POOLS.len() * RIVALS.len());
    for row in rows {
        let dag = row.subject.flow.dag();
        text += &format!("\n| {} | {} | {} |", row.subject.name, dag.len(), row.width);
        for ratio in row.ratios.iter().flatten() {
            text += &format!(" {} |", cell_text(ratio.as_ref()));
        }
    }
    text + "\n"
}
