//! The published grid: batches of requests with mean gaps and sizes, one table and one heat map a rival.

use super::laboratory::{Failed, Laboratory, Played, Subject};
use super::laboratory::{cell_text, durations_words, note, ratio_json, tally};
use crate::commands::estimates::{estimate, interval_text};
use crate::commands::pictures::not_drawn;
use crate::commands::world;
use crate::failure::Failure;
use crate::plural::counted;
use cairn_show::{Figure, HeatAxis, HeatMap, HeatScale};
use cairn_sim::{Ratio, World, extremes};
use serde_json::{Map, Value, json};

/// The grid of every subject: JSON, text, and heat maps into files.
pub(super) fn study(
    laboratory: &Laboratory<'_>,
    (gaps, sizes): (&[f64], &[f64]),
    subjects: &[Subject],
    failed: &mut Failed,
) -> Result<(Value, String), Failure> {
    let Laboratory { options, .. } = laboratory;
    let first = laboratory.first();
    let mut dags = Vec::new();
    let mut text = format!(
        "Ratios of mean times, {first} over each rival, in batches of requests. Rows: mean gap between batches, in mean \
         task times. Columns: mean size of a batch.\nDurations {}; {} paired runs a cell, seed {}. \
         Bold: the 95 % interval lies below 1 ({first} is faster); italic: above 1; plain: a tie.\n",
        durations_words(subjects),
        options.runs,
        options.seed
    );
    for subject in subjects {
        let cells = match cells(laboratory, subject, gaps, sizes) {
            Ok(cells) => cells,
            Err(failure) if subjects.len() == 1 => return Err(failure),
            // Ctrl-C ends all of it, not this dag alone.
            Err(stopped @ Failure::Interrupted(_)) => return Err(stopped),
            Err(failure) => {
                note(failed, &subject.file, &failure, laboratory.out);
                continue;
            }
        };
        let grid = Grid {
            laboratory,
            subject,
            gaps,
            sizes,
            ratios: cells.iter().map(|c| laboratory.ratios(c)).collect(),
        };
        for (r, rival) in laboratory.rivals().iter().enumerate() {
            let figure = grid.heat_map(r).map_err(|e| not_drawn(&e))?;
            let name = format!("{}-{first}-over-{rival}.svg", subject.name);
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

/// Every cell of one dag, gap by gap. All share the seed, so that neighbours differ by their settings and not by luck.
fn cells(
    laboratory: &Laboratory<'_>,
    subject: &Subject,
    gaps: &[f64],
    sizes: &[f64],
) -> Result<Vec<Played>, Failure> {
    let prepared = laboratory.prepare(subject)?;
    let bar = laboratory.out.bar("cells", gaps.len() * sizes.len());
    let mut cells = Vec::with_capacity(gaps.len() * sizes.len());
    for gap in gaps {
        for &size in sizes {
            let world = World::batches(gap * subject.taken.mean, size).map_err(world::refused)?;
            cells.push(laboratory.play(&prepared, &world)?);
            bar.at(cells.len());
        }
    }
    Ok(cells)
}

/// One dag's grid.
struct Grid<'a> {
    laboratory: &'a Laboratory<'a>,
    subject: &'a Subject,
    gaps: &'a [f64],
    sizes: &'a [f64],
    /// By cell, gap by gap, and by rival.
    ratios: Vec<Vec<Option<Ratio>>>,
}

impl Grid<'_> {
    /// The gap and the size of a cell.
    fn place(&self, cell: usize) -> (f64, f64) {
        let columns = self.sizes.len();
        (self.gaps[cell / columns], self.sizes[cell % columns])
    }

    /// The ratios to one rival, by cell.
    fn against(&self, rival: usize) -> Vec<Option<Ratio>> {
        self.ratios.iter().map(|cell| cell[rival]).collect()
    }

    fn json(&self, cells: &[Played]) -> Value {
        let dag = self.subject.flow.dag();
        let first = self.laboratory.first();
        let cell = |(i, cell): (usize, &Played)| {
            let rivals = self.laboratory.rivals().iter().zip(&self.ratios[i]);
            let ratios: Map<String, Value> = rivals
                .map(|(rival, ratio)| {
                    let value = json!({ "makespan": ratio_json(*ratio) });
                    (format!("{first}/{rival}"), value)
                })
                .collect();
            let ((gap, size), runs) = (self.place(i), cell.study.runs());
            let mut value = json!({ "gap": gap, "size": size, "runs": runs, "ratios": ratios });
            if let Some(chosen) = &cell.chosen {
                value["chosen"] = json!(chosen);
            }
            value
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
        let first = self.laboratory.first();
        for (r, rival) in self.laboratory.rivals().iter().enumerate() {
            let ratios = self.against(r);
            let [faster, ties, slower] = tally(ratios.iter().flatten());
            text += &format!(
                "\n### {first} over {rival}\n\n{first} is faster in {}, slower in {slower}, tied in {ties}.",
                counted(faster, "cell")
            );
            text += &self.extremes(&ratios);
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
        let Some((best, worst)) = extremes(ratios) else {
            return String::new();
        };
        let words = |(cell, ratio): (usize, Ratio)| {
            let (gap, size) = self.place(cell);
            let words = interval_text(ratio.mean, ratio.interval, ratio.all_equal, 3);
            format!("{words} at gap {gap}, size {size}")
        };
        format!(" Best {}; worst {}.", words(best), words(worst))
    }

    fn heat_map(&self, rival: usize) -> Result<Figure, cairn_show::ShowError> {
        let first = self.laboratory.first();
        let other = &self.laboratory.rivals()[rival];
        let labels = |values: &[f64]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (gaps, sizes) = (labels(self.gaps), labels(self.sizes));
        let gap_labels: Vec<&str> = gaps.iter().map(String::as_str).collect();
        let size_labels: Vec<&str> = sizes.iter().map(String::as_str).collect();
        let cells: Vec<_> = (self.against(rival).iter())
            .map(|ratio| ratio.map(|r| estimate(r.mean, r.interval)))
            .collect();
        HeatMap {
            title: &format!(
                "{}: time of {first} over time of {other}",
                self.subject.name
            ),
            subtitle: &format!("{} paired runs a cell", self.laboratory.options.runs),
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
                below: &format!("{first} faster"),
                above: &format!("{other} faster"),
            },
            decimals: 2,
        }
        .draw()
    }
}
