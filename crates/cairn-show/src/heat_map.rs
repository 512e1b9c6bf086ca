//! A grid of values, each with its interval, coloured around a centre. Knows no simulation.

use crate::axis::{self, decimal};
use crate::figure::{Anchor, Canvas, Figure, HALF_CAPITAL, Ink, MARGIN, Place, heading};
use crate::legend::{self, Sample};
use crate::palette::{GRID, INK, RULE, Rgb, diverging, sequential};
use crate::{ShowError, text};

/// A value with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value shown.
    pub value: f64,
    /// Low end of the interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
}

impl Estimate {
    /// Whether it can be drawn: all finite, ends in order.
    pub(crate) fn is_drawable(&self) -> bool {
        let numbers = [self.value, self.low, self.high];
        numbers.iter().all(|x| x.is_finite()) && self.low <= self.high
    }
}

/// One axis of a [`HeatMap`].
#[derive(Clone, Copy, Debug)]
pub struct HeatAxis<'a> {
    /// What varies, with its unit: "mean batch size (requests)".
    pub name: &'a str,
    /// One label for each row or column.
    pub labels: &'a [&'a str],
}

/// How values become colours.
#[derive(Clone, Copy, Debug)]
pub enum HeatScale<'a> {
    /// Blue below the centre, vermillion above, by the logarithm of the ratio: 0.5 and 2 are equally strong around 1.
    /// Values must be above zero.
    Around {
        /// The neutral value: 1 for ratios.
        centre: f64,
        /// What values below the centre mean: "ic faster".
        below: &'a str,
        /// What values above the centre mean: "fifo faster".
        above: &'a str,
    },
    /// Pale to dark blue, from the least value to the greatest.
    Rising,
}

/// The figure "values over a grid".
///
/// ```
/// use cairn_show::{Estimate, HeatAxis, HeatMap, HeatScale};
/// let cell = |value| Some(Estimate { value, low: value - 0.02, high: value + 0.02 });
/// let figure = HeatMap {
///     title: "time of ic over time of fifo",
///     subtitle: "200 runs a cell",
///     value_name: "ratio of mean makespans",
///     rows: HeatAxis { name: "mean gap (task times)", labels: &["0.1", "1"] },
///     columns: HeatAxis { name: "mean batch (requests)", labels: &["4", "16"] },
///     cells: &[cell(0.99), cell(0.84), cell(1.01), None],
///     scale: HeatScale::Around { centre: 1.0, below: "ic faster", above: "fifo faster" },
///     decimals: 2,
/// }
/// .draw()?;
/// assert!(figure.svg().contains("0.84"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HeatMap<'a> {
    /// Large, at the top.
    pub title: &'a str,
    /// Small, below it; may be empty.
    pub subtitle: &'a str,
    /// What the values are, with their unit.
    pub value_name: &'a str,
    /// From top to bottom.
    pub rows: HeatAxis<'a>,
    /// From left to right.
    pub columns: HeatAxis<'a>,
    /// Row by row; `None` where there is no value.
    pub cells: &'a [Option<Estimate>],
    /// How values become colours.
    pub scale: HeatScale<'a>,
    /// Decimals of the numbers in the cells.
    pub decimals: u32,
}

// Chosen by eye, in pixels: a cell is three times as high as its number, so that those of neighbours stand apart.
const SIZE: f64 = 12.0;
const CELL_HEIGHT: f64 = 38.0;
/// Steps of the colour bar.
// An odd number, so that the neutral colour has a step of its own in the middle.
const BAR_STEPS: usize = 41;
// Chosen by eye: seven pixels a step, which look like one slope.
const BAR_WIDTH: f64 = 280.0;

impl HeatMap<'_> {
    /// Draws the figure.
    ///
    /// # Errors
    /// [`ShowError::WrongLength`] unless there is one cell for each row and column; [`ShowError::BadValue`] for a cell
    /// that is not finite, or not above zero where the scale needs that.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        self.check()?;
        let reach = self.reach();
        let (rows, columns) = (self.rows.labels, self.columns.labels);
        let widest = |labels: &[&str]| text::widest(labels.iter().map(|l| text::clean(l)), SIZE);
        let numbers = self.cells.iter().flatten().map(|c| self.number(c.value));
        let numbers = text::widest(numbers, SIZE);
        // At most, by eye: a long label is cut, not the grid.
        let label_room = widest(rows).max(widest(&[self.rows.name])).min(180.0);
        // Between 44 and 120 pixels, by eye: "0.84" must not look lost, and a long label must not spread the grid.
        let cell_width = numbers.max(widest(columns)).clamp(44.0, 120.0) + 16.0;
        let left = MARGIN + label_room + 10.0;
        let right = left + cell_width * columns.len() as f64;
        // The bar of colours with its last number, and a title of some sixty letters, have room beside the smallest grid.
        let width = (right + MARGIN)
            .max(left + BAR_WIDTH + MARGIN + 40.0)
            .max(480.0);
        let mut canvas = Canvas::new();
        let y = heading(&mut canvas, self.title, self.subtitle, width);
        let top = self.draw_column_labels(&mut canvas, left, y, cell_width, width);
        for (r, label) in rows.iter().enumerate() {
            let y = top + CELL_HEIGHT * r as f64;
            let place = Place::new(
                left - 10.0,
                y + CELL_HEIGHT / 2.0 + HALF_CAPITAL * SIZE,
                SIZE,
                Anchor::End,
            );
            let label = text::shorten(&text::clean(label), SIZE, label_room);
            canvas.text(place, Ink::Main, &label);
            for c in 0..columns.len() {
                let area = [left + cell_width * c as f64, y, cell_width, CELL_HEIGHT];
                self.draw_cell(&mut canvas, area, r, c, reach);
            }
        }
        let bottom = top + CELL_HEIGHT * rows.len() as f64;
        let y = self.draw_bar(&mut canvas, left, bottom + 18.0, width, reach);
        let note = self.straddlers();
        let y = legend::draw(&mut canvas, &note, left - 8.0, y, width - left);
        let (rows, columns) = (self.rows.name, self.columns.name);
        let description = format!("{} by {rows} and {columns}.", self.value_name);
        Ok(canvas.finish(width, y + 8.0, self.title, &text::clean(&description)))
    }

    fn check(&self) -> Result<(), ShowError> {
        let expected = self.rows.labels.len() * self.columns.labels.len();
        if self.cells.len() != expected {
            return Err(ShowError::WrongLength {
                what: "cells of the heat map",
                expected,
                found: self.cells.len(),
            });
        }
        for (i, cell) in self.cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let positive = match self.scale {
                HeatScale::Around { centre, .. } => cell.value > 0.0 && centre > 0.0,
                HeatScale::Rising => true,
            };
            if !cell.is_drawable() || !positive {
                let (r, c) = (i / self.columns.labels.len(), i % self.columns.labels.len());
                let name = format!("{}, {}", self.rows.labels[r], self.columns.labels[c]);
                return Err(ShowError::bad_value("heat map", &name));
            }
        }
        Ok(())
    }

    /// Least and greatest value; around a centre, both equally far from it in ratio.
    fn reach(&self) -> (f64, f64) {
        let values = || self.cells.iter().flatten().map(|c| c.value);
        match self.scale {
            HeatScale::Around { centre, .. } => {
                let far = values().map(|v| (v / centre).max(centre / v));
                let far = far.fold(1.0, f64::max);
                // At least 5 % either way: noise must not look like a landslide.
                let far = far.max(1.05);
                (centre / far, centre * far)
            }
            HeatScale::Rising => axis::range(values()).unwrap_or((0.0, 1.0)),
        }
    }

    fn colour(&self, value: f64, (low, high): (f64, f64)) -> Rgb {
        match self.scale {
            HeatScale::Around { centre, .. } => {
                diverging((value / centre).ln() / (high / centre).ln())
            }
            HeatScale::Rising if high > low => sequential((value - low) / (high - low)),
            HeatScale::Rising => sequential(0.5),
        }
    }

    fn number(&self, value: f64) -> String {
        decimal(value, 10f64.powi(-(self.decimals.min(9) as i32)))
    }

    fn draw_column_labels(
        &self,
        canvas: &mut Canvas,
        left: f64,
        y: f64,
        cell: f64,
        width: f64,
    ) -> f64 {
        let line = |x: f64, y: f64, anchor| Place::new(x, y, SIZE, anchor);
        let name = text::shorten(&text::clean(self.columns.name), SIZE, width - left - MARGIN);
        canvas.text(line(left, y + SIZE, Anchor::Start), Ink::Muted, &name);
        let y = y + 2.0 * SIZE + 10.0;
        for (c, label) in self.columns.labels.iter().enumerate() {
            let x = left + cell * (c as f64 + 0.5);
            let label = text::shorten(&text::clean(label), SIZE, cell - 6.0);
            canvas.text(line(x, y, Anchor::Middle), Ink::Main, &label);
        }
        let name = text::shorten(&text::clean(self.rows.name), SIZE, left - MARGIN - 10.0);
        canvas.text(line(left - 10.0, y, Anchor::End), Ink::Muted, &name);
        y + 8.0
    }

    fn draw_cell(
        &self,
        canvas: &mut Canvas,
        [x, y, w, h]: [f64; 4],
        r: usize,
        c: usize,
        reach: (f64, f64),
    ) {
        let cell = self.cells[r * self.columns.labels.len() + c];
        let place = Place::new(
            x + w / 2.0,
            y + h / 2.0 + HALF_CAPITAL * SIZE,
            SIZE,
            Anchor::Middle,
        );
        let inner = [x + 1.0, y + 1.0, w - 2.0, h - 2.0];
        canvas.open_group("class=\"cell\"", &self.tip(cell, r, c));
        match cell {
            Some(estimate) => {
                let ground = self.colour(estimate.value, reach);
                let (ink, number) = (ground.ink(), self.number(estimate.value));
                canvas.rect(inner, &ground.fill());
                canvas.text(place, Ink::Fixed(ink), &number);
                if self.straddles(&estimate) {
                    let ring = format!(
                        "fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\"",
                        ink.hex()
                    );
                    canvas.circle(x + w - 8.0, y + 8.0, 2.6, &ring);
                }
            }
            None => {
                let dashes = format!(
                    "class=\"void\" fill=\"none\" stroke=\"{}\" stroke-dasharray=\"2 3\"",
                    GRID.hex()
                );
                canvas.rect(inner, &dashes);
                canvas.text(place, Ink::Muted, "–");
            }
        }
        canvas.close_group();
    }

    /// Whether the interval holds the centre: then the value shows no difference.
    fn straddles(&self, estimate: &Estimate) -> bool {
        match self.scale {
            HeatScale::Around { centre, .. } => estimate.low <= centre && centre <= estimate.high,
            HeatScale::Rising => false,
        }
    }

    fn straddlers(&self) -> Vec<(Sample, String)> {
        match self.scale {
            HeatScale::Around { centre, .. }
                if self.cells.iter().flatten().any(|c| self.straddles(c)) =>
            {
                let name = format!("the interval holds {centre}: no difference shown");
                vec![(Sample::SmallRing, name)]
            }
            _ => Vec::new(),
        }
    }

    fn tip(&self, cell: Option<Estimate>, r: usize, c: usize) -> String {
        let at = |axis: &HeatAxis<'_>, i: usize| {
            let (name, label) = (text::clean(axis.name), text::clean(axis.labels[i]));
            format!("{name}: {label}")
        };
        let value = match cell {
            Some(cell) => {
                let step = 10f64.powi(-(self.decimals.min(8) as i32) - 1);
                let [value, low, high] =
                    [cell.value, cell.low, cell.high].map(|x| decimal(x, step));
                format!("{value} (interval {low} to {high})")
            }
            None => "no value".to_owned(),
        };
        let (row, column) = (at(&self.rows, r), at(&self.columns, c));
        format!("{}: {value}\n{row}\n{column}", text::clean(self.value_name))
    }

    /// The colour bar with its ends, its centre and what they mean. Gives the y below.
    fn draw_bar(
        &self,
        canvas: &mut Canvas,
        left: f64,
        y: f64,
        width: f64,
        (low, high): (f64, f64),
    ) -> f64 {
        let line = |x: f64, y: f64, anchor| Place::new(x, y, 11.0, anchor);
        let name = text::shorten(&text::clean(self.value_name), 11.0, width - left - MARGIN);
        canvas.text(line(left, y + 9.0, Anchor::Start), Ink::Main, &name);
        let top = y + 16.0;
        let step = BAR_WIDTH / BAR_STEPS as f64;
        for i in 0..BAR_STEPS {
            let share = i as f64 / (BAR_STEPS - 1) as f64;
            let value = match self.scale {
                HeatScale::Around { .. } => low * (high / low).powf(share),
                HeatScale::Rising => low + (high - low) * share,
            };
            let style = self.colour(value, (low, high)).fill();
            // Half a pixel wider than its share: otherwise the ground shines through between two steps.
            canvas.rect([left + step * i as f64, top, step + 0.5, 12.0], &style);
        }
        let border = format!(
            "class=\"rule\" fill=\"none\" stroke=\"{}\" stroke-width=\"0.8\"",
            RULE.hex()
        );
        canvas.rect([left, top, BAR_WIDTH, 12.0], &border);
        let under = top + 12.0 + 14.0;
        let ends = [self.number(low), self.number(high)];
        canvas.text(line(left, under, Anchor::Start), Ink::Main, &ends[0]);
        if high > low {
            let place = line(left + BAR_WIDTH, under, Anchor::End);
            canvas.text(place, Ink::Main, &ends[1]);
        }
        let HeatScale::Around {
            centre,
            below,
            above,
        } = self.scale
        else {
            return under + 12.0;
        };
        let middle = left + BAR_WIDTH / 2.0;
        let style = format!("stroke=\"{}\"", INK.hex());
        canvas.line([middle, top, middle, top + 15.0], &style);
        let place = line(middle, under, Anchor::Middle);
        canvas.text(place, Ink::Main, &centre.to_string());
        let half = BAR_WIDTH / 2.0 - 8.0;
        let below = text::shorten(&text::clean(below), 11.0, half);
        let above = text::shorten(&text::clean(above), 11.0, half);
        canvas.text(line(left, under + 15.0, Anchor::Start), Ink::Muted, &below);
        let place = line(left + BAR_WIDTH, under + 15.0, Anchor::End);
        canvas.text(place, Ink::Muted, &above);
        under + 27.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map<'a>(cells: &'a [Option<Estimate>], scale: HeatScale<'a>) -> HeatMap<'a> {
        HeatMap {
            title: "t",
            subtitle: "",
            value_name: "v",
            rows: HeatAxis {
                name: "r",
                labels: &["1"],
            },
            columns: HeatAxis {
                name: "c",
                labels: &["a", "b"],
            },
            cells,
            scale,
            decimals: 2,
        }
    }

    const AROUND: HeatScale<'_> = HeatScale::Around {
        centre: 1.0,
        below: "",
        above: "",
    };

    fn cell(value: f64) -> Option<Estimate> {
        Some(Estimate {
            value,
            low: value,
            high: value,
        })
    }

    #[test]
    fn equal_ratios_are_equally_strong() {
        let cells = [cell(0.5), cell(2.0)];
        let map = map(&cells, AROUND);
        let reach = map.reach();
        assert_eq!(map.colour(0.5, reach), diverging(-1.0));
        assert_eq!(map.colour(2.0, reach), diverging(1.0));
        assert_eq!(map.colour(1.0, reach), diverging(0.0));
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let bad = [cell(f64::NAN), None];
        assert!(matches!(
            map(&bad, AROUND).draw(),
            Err(ShowError::BadValue { .. })
        ));
        let zero = [cell(0.0), None];
        assert!(matches!(
            map(&zero, AROUND).draw(),
            Err(ShowError::BadValue { .. })
        ));
        assert!(map(&zero, HeatScale::Rising).draw().is_ok());
        assert!(map(&[None, None], HeatScale::Rising).draw().is_ok());
        assert!(matches!(
            map(&[None], AROUND).draw(),
            Err(ShowError::WrongLength { .. })
        ));
    }
}
