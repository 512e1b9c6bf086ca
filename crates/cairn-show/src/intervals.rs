//! Means with their intervals, one row a policy. Knows no simulation.

use crate::axis::{self, Frame, Scale};
use crate::figure::{Anchor, Canvas, Figure, HALF_CAPITAL, Ink, MARGIN, Place};
use crate::heat_map::Estimate;
use crate::legend::{self, Sample};
use crate::palette::{BLUE, VERMILLION};
use crate::{ShowError, text};

/// One row of an [`Intervals`] figure.
#[derive(Clone, Copy, Debug)]
pub struct IntervalRow<'a> {
    /// The policy.
    pub name: &'a str,
    /// Its mean and interval.
    pub estimate: Estimate,
}

/// The figure "mean and interval of each policy".
///
/// ```
/// use cairn_show::{Estimate, IntervalRow, Intervals};
/// let row = |name, value| IntervalRow { name, estimate: Estimate { value, low: value - 2.0, high: value + 2.0 } };
/// let figure = Intervals {
///     title: "AIRSN(250)",
///     subtitle: "200 paired runs",
///     value_name: "makespan (task times)",
///     interval_name: "95 % interval",
///     rows: &[row("ic", 118.0), row("fifo", 139.0)],
///     reference: None,
/// }
/// .draw()?;
/// assert!(figure.svg().contains("makespan (task times)"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Intervals<'a> {
    /// Large, at the top.
    pub title: &'a str,
    /// Small, below it; may be empty.
    pub subtitle: &'a str,
    /// What the values are, with their unit.
    pub value_name: &'a str,
    /// What the bars are: "95 % interval".
    pub interval_name: &'a str,
    /// From top to bottom.
    pub rows: &'a [IntervalRow<'a>],
    /// A value to compare with, drawn as a line: 1 for ratios.
    pub reference: Option<f64>,
}

// Chosen by eye, in pixels: names, bars and numbers of a row fit side by side, and rows stand apart by more than a line of text.
const WIDTH: f64 = 760.0;
const ROW: f64 = 28.0;
const SIZE: f64 = 12.0;

impl Intervals<'_> {
    /// Draws the figure.
    ///
    /// # Errors
    /// [`ShowError::BadValue`] for a number that is not finite or an interval whose ends are in the wrong order.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        self.check()?;
        let mut canvas = Canvas::new();
        let entries = self.legend_entries();
        let y = legend::headed(&mut canvas, self.title, self.subtitle, &entries, WIDTH);
        let (low, high) = self.range();
        let name = |row: &IntervalRow<'_>| text::shorten(&text::clean(row.name), SIZE, 200.0);
        let names: Vec<String> = self.rows.iter().map(name).collect();
        let value = |row: &IntervalRow<'_>| written(&row.estimate, high - low);
        let values: Vec<String> = self.rows.iter().map(value).collect();
        let left = MARGIN + text::widest(names.iter(), SIZE) + 16.0;
        let right = WIDTH - MARGIN - text::widest(values.iter(), SIZE) - 16.0;
        let bottom = y + ROW * self.rows.len() as f64 + 6.0;
        let x = Scale::new([low, high], [left, right]);
        let frame = Frame {
            x,
            y: Scale::new([0.0, 1.0], [bottom, y]),
            x_title: self.value_name,
            y_title: "",
            x_whole: false,
            y_whole: true,
            below: 0.0,
        };
        let rule = axis::rule_attributes();
        canvas.line([left, bottom, right, bottom], &rule);
        frame.x_axis(&mut canvas, bottom, &rule);
        if let Some(at) = self.reference.map(|reference| x.at(reference)) {
            canvas.line([at, y, at, bottom], &legend::reference_attributes());
        }
        for (i, row) in self.rows.iter().enumerate() {
            let middle = y + ROW * (i as f64 + 0.5);
            self.draw_row(&mut canvas, &x, middle, row, (&names[i], &values[i]));
        }
        let policies = text::counted(self.rows.len(), "policy", "policies");
        let description = text::clean(&format!("{} of {policies}.", self.value_name));
        Ok(canvas.finish(WIDTH, bottom + axis::UNDER, self.title, &description))
    }

    fn check(&self) -> Result<(), ShowError> {
        const WHAT: &str = "intervals";
        match self.rows.iter().find(|row| !row.estimate.is_drawable()) {
            Some(row) => Err(ShowError::bad_value(WHAT, row.name)),
            None => ShowError::unless_finite(WHAT, self.reference.map(|r| ("reference", r))),
        }
    }

    /// A row at height `middle`: its name, its mark and its value in words.
    fn draw_row(
        &self,
        canvas: &mut Canvas,
        x: &Scale,
        middle: f64,
        row: &IntervalRow<'_>,
        (name, value): (&str, &str),
    ) {
        canvas.line([x.from, middle, x.to, middle], &axis::grid_attributes());
        let (own, what) = (text::clean(row.name), text::clean(self.value_name));
        canvas.open_group("class=\"row\"", &format!("{own}\n{what}: {value}"));
        let place = |x, anchor| Place::new(x, middle + HALF_CAPITAL * SIZE, SIZE, anchor);
        canvas.text(place(MARGIN, Anchor::Start), Ink::Main, name);
        draw_mark(canvas, x, middle, &row.estimate);
        canvas.text(place(WIDTH - MARGIN, Anchor::End), Ink::Main, value);
        canvas.close_group();
    }

    fn legend_entries(&self) -> Vec<(Sample, String)> {
        let mut entries = vec![
            (Sample::Dot(VERMILLION), "mean".to_owned()),
            (Sample::Line(BLUE, "", 3.0), self.interval_name.to_owned()),
        ];
        if let Some(reference) = self.reference {
            entries.push((Sample::Reference, format!("{reference}")));
        }
        entries
    }

    fn range(&self) -> (f64, f64) {
        let estimates = self.rows.iter().map(|r| r.estimate);
        let ends = estimates.flat_map(|e| [e.low, e.high, e.value]);
        axis::range(ends.chain(self.reference)).map_or((0.0, 1.0), |(low, high)| {
            let span = axis::span(low, high);
            (low - 0.06 * span, high + 0.06 * span)
        })
    }
}

fn draw_mark(canvas: &mut Canvas, x: &Scale, y: f64, estimate: &Estimate) {
    let (low, high) = (x.at(estimate.low), x.at(estimate.high));
    let style = format!("stroke=\"{}\" stroke-width=\"3\"", BLUE.hex());
    canvas.line([low, y, high, y], &style);
    let style = format!("stroke=\"{}\" stroke-width=\"2\"", BLUE.hex());
    for end in [low, high] {
        canvas.line([end, y - 5.0, end, y + 5.0], &style);
    }
    canvas.circle(x.at(estimate.value), y, 4.0, &VERMILLION.fill());
}

/// "118.2 (116.0 to 120.4)", with decimals that suit the spread of all values.
fn written(estimate: &Estimate, span: f64) -> String {
    // Two hundred steps over the axis: a step of the last digit is then about two pixels.
    let step = span.max(f64::MIN_POSITIVE) / 200.0;
    let step = (-9..=0)
        .map(|p| 10f64.powi(p))
        .rfind(|unit| *unit <= step)
        .unwrap_or(1e-9);
    let [value, low, high] =
        [estimate.value, estimate.low, estimate.high].map(|v| axis::decimal(v, step));
    format!("{value} ({low} to {high})")
}
