//! The legend: samples with names, broken into rows. Knows samples, not what they stand for.

use crate::figure::{Anchor, Canvas, HALF_CAPITAL, Ink, MARGIN, Place, heading};
use crate::palette::{BOUND, MUTED, RULE, Rgb};
use crate::text;

/// What a legend entry looks like in the figure.
#[derive(Clone, Debug)]
pub(crate) enum Sample {
    /// A line: colour, dashes, width.
    Line(Rgb, &'static str, f64),
    /// The bound's broad pale line.
    Bound,
    /// A filled area with its border.
    Area(Rgb, Rgb),
    /// A ring.
    Ring(Rgb),
    /// The ring in the corner of a cell.
    SmallRing,
    /// A dot.
    Dot(Rgb),
    /// A reference line.
    Reference,
}

// Lengths in pixels, chosen by eye: a sample must be long enough to show its dashes.
const SIZE: f64 = 12.0;
const SAMPLE: f64 = 26.0;
const GAP: f64 = 22.0;
const ROW: f64 = 19.0;

/// Draws title, subtitle and entries over a figure of this width. Gives the y below.
pub(crate) fn headed(
    canvas: &mut Canvas,
    title: &str,
    subtitle: &str,
    entries: &[(Sample, String)],
    width: f64,
) -> f64 {
    let top = heading(canvas, title, subtitle, width);
    draw(canvas, entries, MARGIN, top, width - 2.0 * MARGIN)
}

/// Draws the entries in rows from (`left`, `top`), no row wider than `room`. Gives the y below.
pub(crate) fn draw(
    canvas: &mut Canvas,
    entries: &[(Sample, String)],
    left: f64,
    top: f64,
    room: f64,
) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let (mut x, mut y) = (left, top);
    for (sample, name) in entries {
        let name = text::shorten(&text::clean(name), SIZE, room - SAMPLE - 7.0);
        let wide = SAMPLE + 7.0 + text::width(&name, SIZE);
        if x > left && x + wide > left + room {
            (x, y) = (left, y + ROW);
        }
        draw_sample(canvas, sample, x, y + ROW / 2.0);
        let place = Place::new(
            x + SAMPLE + 7.0,
            y + ROW / 2.0 + HALF_CAPITAL * SIZE,
            SIZE,
            Anchor::Start,
        );
        canvas.text(place, Ink::Main, &name);
        x += wide + GAP;
    }
    y + ROW + 8.0
}

fn draw_sample(canvas: &mut Canvas, sample: &Sample, x: f64, y: f64) {
    let (line, middle) = ([x, y, x + SAMPLE, y], x + SAMPLE / 2.0);
    match sample {
        Sample::Line(colour, dash, width) => {
            canvas.line(line, &line_attributes(*colour, dash, *width));
        }
        Sample::Bound => canvas.line(line, &bound_attributes()),
        Sample::Area(fill, border) => {
            let style = format!("rx=\"2\" {} stroke=\"{}\"", fill.fill(), border.hex());
            canvas.rect([x + 4.0, y - 6.0, SAMPLE - 8.0, 12.0], &style);
        }
        Sample::Ring(colour) => canvas.circle(middle, y, 4.0, &ring_attributes(*colour)),
        Sample::SmallRing => {
            let ring = format!(
                "class=\"rule\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.2\"",
                MUTED.hex()
            );
            canvas.circle(middle, y, 2.6, &ring);
        }
        Sample::Dot(colour) => canvas.circle(middle, y, 4.0, &colour.fill()),
        Sample::Reference => canvas.line(line, &reference_attributes()),
    }
}

/// Attributes of a data line.
pub(crate) fn line_attributes(colour: Rgb, dash: &str, width: f64) -> String {
    let dashes = match dash {
        "" => String::new(),
        dash => format!(" stroke-dasharray=\"{dash}\""),
    };
    format!(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}",
        colour.hex()
    )
}

/// Attributes of the bound's line.
pub(crate) fn bound_attributes() -> String {
    format!(
        "class=\"bound\" fill=\"none\" stroke=\"{}\" stroke-width=\"6\" stroke-linejoin=\"round\"",
        BOUND.hex()
    )
}

/// Attributes of a ring marker.
pub(crate) fn ring_attributes(colour: Rgb) -> String {
    format!(
        "class=\"ring\" fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"2\"",
        colour.hex()
    )
}

/// Attributes of a reference line.
pub(crate) fn reference_attributes() -> String {
    format!(
        "class=\"rule\" stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"",
        RULE.hex()
    )
}
