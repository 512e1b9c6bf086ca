//! Axes: round tick values, their labels, and the frame of a plot. Knows no data.

use crate::figure::{Anchor, Canvas, HALF_CAPITAL, Ink, Place};
use crate::palette::{GRID, RULE};
use crate::text;

/// Size of tick labels.
// Sizes of text are chosen by eye: both below a figure's title (16) and no larger than its subtitle (12).
const TICK: f64 = 11.0;
/// Size of axis titles.
const TITLE: f64 = 12.0;

/// Maps values to pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Scale {
    /// Values between `low` and `high`, at pixels between `from` and `to`.
    pub(crate) fn new([low, high]: [f64; 2], [from, to]: [f64; 2]) -> Scale {
        Scale {
            low,
            high,
            from,
            to,
        }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let span = self.high - self.low;
        // Where all values are one, it stands in the middle: no end would mean anything.
        let share = if span > 0.0 {
            (value - self.low) / span
        } else {
            0.5
        };
        self.from + (self.to - self.from) * share
    }
}

/// What lies between two ends; where they are one, as much as its own size.
pub(crate) fn span(low: f64, high: f64) -> f64 {
    match high > low {
        true => high - low,
        false => low.abs().max(1.0),
    }
}

/// The least and the greatest of some values, if there are any.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, v| {
        let (low, high) = ends.unwrap_or((v, v));
        Some((low.min(v), high.max(v)))
    })
}

/// Round values on an axis and how they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ticks {
    pub(crate) values: Vec<f64>,
    pub(crate) labels: Vec<String>,
}

/// The least step 1, 2 or 5 times a power of ten that makes at most `most` steps of `span`.
fn round_step(span: f64, most: usize, whole: bool) -> f64 {
    let most = most.max(1) as f64;
    // Up to what 64 bits count, and down to what twelve decimals tell apart.
    for power in (if whole { 0 } else { -12 })..=19 {
        for digit in [1.0, 2.0, 5.0] {
            // To divide by 10³, which a float holds, rounds once; to multiply by 10⁻³, which none holds, rounds twice.
            let ten = 10f64.powi(i32::abs(power));
            let step = if power < 0 { digit / ten } else { digit * ten };
            if span <= step * most {
                return step;
            }
        }
    }
    span / most
}

/// At most `most` + 1 ticks from `low` to `high`, both included only if round. `whole`: counts, no fractions.
pub(crate) fn ticks(low: f64, high: f64, most: usize, whole: bool) -> Ticks {
    let step = round_step(high - low, most, whole);
    // A value that is a tick but for its last bits is one.
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    // Ends that are infinite must not fill the memory with ticks.
    let count = (last - first).clamp(0.0, 1000.0) as usize;
    let values: Vec<f64> = (0..=count).map(|i| (first + i as f64) * step).collect();
    let labels = values.iter().map(|&value| written(value, step)).collect();
    Ticks { values, labels }
}

/// `high` raised to the next tick, so that the highest point lies below a grid line.
pub(crate) fn round_up(low: f64, high: f64, most: usize, whole: bool) -> f64 {
    let step = round_step((high - low).max(f64::MIN_POSITIVE), most, whole);
    low + ((high - low) / step - 1e-9).ceil().max(1.0) * step
}

/// A tick's value with as many decimals as the step needs; from ten million on in M (10⁶), G (10⁹), T (10¹²).
fn written(value: f64, step: f64) -> String {
    let (unit, suffix) = match value.abs() {
        // From ten of a unit on: below, people would need a decimal where seven digits are still read at a glance.
        v if v >= 1e13 => (1e12, "T"),
        v if v >= 1e10 => (1e9, "G"),
        v if v >= 1e7 => (1e6, "M"),
        _ => (1.0, ""),
    };
    format!("{}{suffix}", decimal(value / unit, step / unit))
}

/// A value with the decimals that tell it from its neighbours at distance `step`, thousands grouped.
pub(crate) fn decimal(value: f64, step: f64) -> String {
    let mut decimals = 0;
    let mut unit = 1.0;
    // A step of 0.1 is held as a little less or more: without the margin it would get a second decimal.
    while decimals < 12 && step < unit * 0.999_999 {
        unit /= 10.0;
        decimals += 1;
    }
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let whole = whole.parse().map_or(whole.to_owned(), text::grouped);
    // What is rounded to zero has no sign.
    let is_negative = value < 0.0 && plain.contains(|c: char| ('1'..='9').contains(&c));
    let minus = if is_negative { "−" } else { "" };
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{minus}{whole}{dot}{fraction}")
}

/// A plot's frame: two scales with ticks and titles.
pub(crate) struct Frame<'a> {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    pub(crate) x_title: &'a str,
    pub(crate) y_title: &'a str,
    pub(crate) x_whole: bool,
    pub(crate) y_whole: bool,
    /// Room kept free between the plot and the labels below it.
    pub(crate) below: f64,
}

/// How many steps the y axis is divided into at most.
// Chosen by eye: every line of the grid has its number, and more of them would hide the curves.
pub(crate) const Y_STEPS: usize = 6;

/// Height that a [`Frame`] needs under the plot, without [`Frame::below`].
// A row of numbers and one of the title, each with its gap.
pub(crate) const UNDER: f64 = 46.0;
/// Height that a [`Frame`] needs over the plot, for the y axis' title.
// One row with its gap.
pub(crate) const OVER: f64 = 24.0;

/// Attributes of a grid line.
pub(crate) fn grid_attributes() -> String {
    format!(
        "class=\"grid\" stroke=\"{}\" stroke-width=\"1\"",
        GRID.hex()
    )
}

/// Attributes of the line of an axis.
pub(crate) fn rule_attributes() -> String {
    format!(
        "class=\"rule\" stroke=\"{}\" stroke-width=\"1\"",
        RULE.hex()
    )
}

/// Width that the labels of the y axis need.
pub(crate) fn y_label_room(low: f64, high: f64, whole: bool) -> f64 {
    text::widest(ticks(low, high, Y_STEPS, whole).labels.iter(), TICK)
}

impl Frame<'_> {
    /// Draws grid, axes, labels and titles.
    pub(crate) fn draw(&self, canvas: &mut Canvas) {
        let (left, right) = (self.x.from, self.x.to);
        let (bottom, top) = (self.y.from, self.y.to);
        let (grid, rule) = (grid_attributes(), rule_attributes());
        let y_ticks = ticks(self.y.low, self.y.high, Y_STEPS, self.y_whole);
        for (&value, label) in y_ticks.values.iter().zip(&y_ticks.labels) {
            let y = self.y.at(value);
            canvas.line([left, y, right, y], &grid);
            let place = Place::new(left - 7.0, y + HALF_CAPITAL * TICK, TICK, Anchor::End);
            canvas.text(place, Ink::Main, label);
        }
        let place = Place::new(16.0, top - 12.0, TITLE, Anchor::Start);
        let title = text::shorten(self.y_title, TITLE, right - 16.0);
        canvas.text(place, Ink::Main, &title);
        canvas.line([left, bottom, right, bottom], &rule);
        self.x_axis(canvas, bottom, &rule);
    }

    /// Draws ticks, labels and title of the x axis alone, hanging from `y`.
    pub(crate) fn x_axis(&self, canvas: &mut Canvas, y: f64, rule: &str) {
        let (left, right) = (self.x.from, self.x.to);
        let x_ticks = fitting_ticks(&self.x, self.x_whole);
        for (&value, label) in x_ticks.values.iter().zip(&x_ticks.labels) {
            let x = self.x.at(value);
            let below = y + self.below;
            canvas.line([x, below, x, below + 4.0], rule);
            let place = Place::new(x, below + 6.0 + TICK, TICK, Anchor::Middle);
            canvas.text(place, Ink::Main, label);
        }
        let place = Place::new(
            (left + right) / 2.0,
            y + self.below + 38.0,
            TITLE,
            Anchor::Middle,
        );
        let title = text::shorten(self.x_title, TITLE, right - left);
        canvas.text(place, Ink::Main, &title);
    }
}

/// As many ticks as fit along the scale without their labels touching.
fn fitting_ticks(scale: &Scale, whole: bool) -> Ticks {
    let fits = |ticks: &Ticks| {
        let edges: Vec<(f64, f64)> = (ticks.values.iter().zip(&ticks.labels))
            .map(|(&value, label)| (scale.at(value), text::width(label, TICK) / 2.0))
            .map(|(x, half)| (x - half, x + half))
            .collect();
        // Ten pixels apart, chosen by eye: closer, two numbers are read as one.
        edges.windows(2).all(|pair| pair[0].1 + 10.0 <= pair[1].0)
    };
    let all = (1..=10usize)
        .rev()
        .map(|most| ticks(scale.low, scale.high, most, whole));
    all.into_iter().find(fits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_inside() {
        for (low, high, whole) in [
            (0.0, 7.0, true),
            (0.0, 1e6, true),
            (0.83, 1.07, false),
            (0.0, 3e11, true),
        ] {
            let t = ticks(low, high, 6, whole);
            assert!(
                t.values.len() >= 2 && t.values.len() <= 7,
                "{low} {high}: {t:?}"
            );
            assert!(
                t.values
                    .iter()
                    .all(|&v| v >= low - 1e-9 && v <= high * (1.0 + 1e-9))
            );
            let mut labels = t.labels.clone();
            labels.dedup();
            assert_eq!(
                labels.len(),
                t.labels.len(),
                "two ticks read the same: {t:?}"
            );
        }
        assert_eq!(ticks(0.0, 1.0, 6, true).labels, ["0", "1"]);
        assert_eq!(
            ticks(0.8, 1.2, 4, false).labels,
            ["0.8", "0.9", "1.0", "1.1", "1.2"]
        );
        assert_eq!(ticks(0.0, 0.0, 6, true).labels, ["0"]);
        assert_eq!(round_up(0.0, 251.0, 6, true), 300.0);
        assert_eq!(round_up(0.0, 0.0, 6, true), 1.0);
    }

    #[test]
    fn values_are_written_for_people() {
        assert_eq!(decimal(-1234.5, 0.5), "−1,234.5");
        assert_eq!(decimal(-0.0001, 0.1), "0.0");
        assert_eq!(written(1.5e7, 5e6), "15M");
    }
}
