//! The published grid: batches of requests with mean gaps and sizes, one table and one heat map a rival.

use super::laboratory::{Failed, Laboratory, RIVALS, Subject};
use super::laboratory::{cell_text, durations_words, note, ratio_json, tally};
use crate::commands::estimates::{estimate, interval_text};
use crate::commands::pictures::not_drawn;
use crate::commands::world;
use crate::failure::Failure;
use crate::plural::counted;
use cairn_show::{Figure, HeatAxis, HeatMap, HeatScale};
use cairn_sim::{Measure, Options, Ratio};
use serde_json::{Map, Value, json};

/// The grid of every subject: JSON, text, and heat maps into files.
pub(super) fn study(
    laboratory: &Laboratory<'_>,
    subjects: &[Subject],
    failed: &mut Failed,
) -> Result<(Value, String), Failure> {
    let Laboratory { flags, options, .. } = laboratory;
    let (gaps, sizes) = (&flags.gaps, &flags.sizes);
    let mut dags = Vec::new();
    let mut text = format!(
        "Ratios of mean times, ic over each rival, in batches of requests. Rows: mean gap between batches, in mean \
         task times. Columns: mean size of a batch.\nDurations {}; {} paired runs a cell, seed {}. \
         Bold: the 95 % interval lies below 1 (ic is faster); italic: above 1; plain: a tie.\n",
        durations_words(subjects),
        options.runs,
        options.seed
    );
    for subject in subjects {
        let policies = laboratory.policies(subject)?;
        let bar = laboratory.out.bar("cells", gaps.len() * sizes.len());
        let unit = subject.taken.mean;
        let scaled: Vec<f64> = gaps.iter().map(|gap| gap * unit).collect();
        let cells = cairn_sim::grid(
            subject.flow.dag(),
            &subject.taken.work,
            &scaled,
            sizes,
            &policies,
            options,
            |done| bar.at(done),
        )
        .map_err(|e| world::failed(&e, &subject.flow));
        drop(bar);
        world::go_on()?;
        let cells = match cells {
            Ok(cells) => cells,
            Err(failure) if subjects.len() == 1 => return Err(failure),
            Err(failure) => {
                note(failed, &subject.file, &failure, laboratory.out);
                continue;
            }
        };
        let grid = Grid {
            subject,
            gaps,
            sizes,
            ratios: [1, 2].map(|rival| {
                cells
                    .iter()
                    .map(|c| c.study.ratio(0, rival, Measure::Makespan))
                    .collect()
            }),
        };
        for rival in 0..RIVALS.len() {
            let figure = grid.heat_map(rival, options).map_err(|e| not_drawn(&e))?;
            let name = format!("{}-ic-over-{}.svg", subject.name, RIVALS[rival]);
            laboratory.write(&name, figure.svg().as_bytes())?;
        }
        text += &grid.text();
        dags.push(grid.json(&cells));
    }
    let value = json!({
        "runs": options.runs, "seed": options.seed, "durations": durations_words(subjects),
        "gaps": gaps, "sizes": sizes, "dags": dags,
    });
    Ok((value, text))
}

/// One dag's grid: by rival, the ratios, gap by gap.
struct Grid<'a> {
    subject: &'a Subject,
    gaps: &'a [f64],
    sizes: &'a [f64],
    ratios: [Vec<Option<Ratio>>; 2],
}

impl Grid<'_> {
    fn json(&self, cells: &[cairn_sim::Cell]) -> Value {
        let dag = self.subject.flow.dag();
        let cell = |(i, cell): (usize, &cairn_sim::Cell)| {
            let ratios: Map<String, Value> = (0..RIVALS.len())
                .map(|r| {
                    let value = json!({ "makespan": ratio_json(self.ratios[r][i]) });
                    (format!("ic/{}", RIVALS[r]), value)
                })
                .collect();
            let gap = self.gaps[i / self.sizes.len()];
            json!({ "gap": gap, "size": cell.size, "runs": cell.study.runs(), "ratios": ratios })
        };
        let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
        json!({
            "name": self.subject.name, "tasks": dag.len(), "arcs": dag.arc_count(),
            "durations": self.subject.taken.words, "cells": cells,
        })
    }

    fn text(&self) -> String {
        let dag = self.subject.flow.dag();
        let mut text = format!(
            "\n## {}: {}, {}, durations {}\n",
            self.subject.name,
            counted(dag.len(), "task"),
            counted(dag.arc_count(), "arc"),
            self.subject.taken.words
        );
        for (rival, ratios) in RIVALS.iter().zip(&self.ratios) {
            let [faster, ties, slower] = tally(ratios.iter().flatten());
            text += &format!(
                "\n### ic over {rival}\n\nic is faster in {}, slower in {slower}, tied in {ties}.",
                counted(faster, "cell")
            );
            text += &self.extremes(ratios);
            text += "\n\n| gap \\ size |";
            self.sizes.iter().for_each(|s| text += &format!(" {s} |"));
            text += "\n|--:|";
            self.sizes.iter().for_each(|_| text += "--:|");
            for (gap, row) in self.gaps.iter().zip(ratios.chunks(self.sizes.len())) {
                text += &format!("\n| {gap} |");
                for ratio in row {
                    text += &format!(" {} |", cell_text(ratio.as_ref()));
                }
            }
            text += "\n";
        }
        text
    }

    /// The best and the worst cell in words.
    fn extremes(&self, ratios: &[Option<Ratio>]) -> String {
        let ends = ratios.iter().enumerate().filter_map(|(i, ratio)| {
            let ratio = (*ratio)?;
            Some((i, ratio, ratio.ends()?))
        });
        let best = ends.clone().min_by(|a, b| a.2.high.total_cmp(&b.2.high));
        let worst = ends.max_by(|a, b| a.2.low.total_cmp(&b.2.low));
        let words = |(i, ratio, _): (usize, Ratio, cairn_sim::Interval)| {
            let (gap, size) = (
                self.gaps[i / self.sizes.len()],
                self.sizes[i % self.sizes.len()],
            );
            let words = interval_text(ratio.mean, ratio.interval, ratio.all_equal, 3);
            format!("{words} at gap {gap}, size {size}")
        };
        match (best, worst) {
            (Some(best), Some(worst)) => {
                format!(" Best {}; worst {}.", words(best), words(worst))
            }
            _ => String::new(),
        }
    }

    fn heat_map(
        &self,
        rival: usize,
        options: &Options<'_>,
    ) -> Result<Figure, cairn_show::ShowError> {
        let labels = |values: &[f64]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (gaps, sizes) = (labels(self.gaps), labels(self.sizes));
        let gap_labels: Vec<&str> = gaps.iter().map(String::as_str).collect();
        let size_labels: Vec<&str> = sizes.iter().map(String::as_str).collect();
        let cells: Vec<_> = (self.ratios[rival].iter())
            .map(|ratio| ratio.map(|r| estimate(r.mean, r.interval)))
            .collect();
        HeatMap {
            title: &format!(
                "{}: time of ic over time of {}",
                self.subject.name, RIVALS[rival]
            ),
            subtitle: &format!("{} paired runs a cell", options.runs),
            value_name: "ratio of mean times",
            rows: HeatAxis {
                name: "mean gap (task times)",
                labels: &gap_labels,
            },
            columns: HeatAxis {
                name: "mean size of a batch (requests)",
                labels: &size_labels,
            },
            cells: &cells,
            scale: HeatScale::Around {
                centre: 1.0,
                below: "ic faster",
                above: &format!("{} faster", RIVALS[rival]),
            },
            decimals: 2,
        }
        .draw()
    }
}
