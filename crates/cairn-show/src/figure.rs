//! The sheet that figures are drawn on, and the finished figure. Knows SVG, not what is drawn.

use crate::palette::{INK, MUTED, PAPER, Rgb};
use crate::text;
use crate::{ShowError, png};
use std::fmt::Write;

/// A finished picture: SVG text, and where its labels lie.
///
/// The same input gives the same bytes. The SVG stands alone: no script, no font, no link, no id.
#[derive(Clone, Debug)]
pub struct Figure {
    width: f64,
    height: f64,
    svg: String,
    labels: Vec<LabelBox>,
    index: Vec<(u32, String)>,
    index_is_order: bool,
}

/// Which tasks are in which box of a drawn dag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// The box of each task.
    pub of_task: Vec<u32>,
    /// By box: how many tasks are in it.
    pub sizes: Vec<u32>,
    /// By box: the first of them.
    pub first: Vec<u32>,
}

impl Figure {
    /// The same figure, where names can be looked for: each with the node it is in, in an order that means something.
    pub(crate) fn with_index(self, index: Vec<(u32, String)>, index_is_order: bool) -> Figure {
        Figure {
            index,
            index_is_order,
            ..self
        }
    }

    /// The names that can be looked for, each with the number of its node (`data-n` in the picture); empty for figures
    /// other than dags.
    pub fn index(&self) -> &[(u32, String)] {
        &self.index
    }

    /// Of a dag drawn in the order of its tasks: the box of each task, how many tasks each box has, and the first of them.
    pub fn boxes(&self) -> Boxes {
        let of_task: Vec<u32> = self.index.iter().map(|&(node, _)| node).collect();
        let many = of_task.iter().max().map_or(0, |&b| b as usize + 1);
        let (mut sizes, mut first) = (vec![0; many], vec![0; many]);
        // Backwards, so that the first task of a box is the last to be written.
        for (task, &b) in of_task.iter().enumerate().rev() {
            sizes[b as usize] += 1;
            first[b as usize] = task as u32;
        }
        Boxes {
            of_task,
            sizes,
            first,
        }
    }

    /// Whether the index is in the order of a schedule.
    pub(crate) fn index_is_order(&self) -> bool {
        self.index_is_order
    }

    /// Width in pixels at scale 1.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Height in pixels at scale 1.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The picture as SVG text.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The picture as the bytes of a PNG file, `scale` pixels for each pixel of the SVG (2 suits most screens).
    ///
    /// # Errors
    /// [`ShowError::TooLarge`] if it would have more than 2²⁷ pixels.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, ShowError> {
        png::from_svg(&self.svg, scale)
    }

    /// The boxes around all texts: none leaves the picture, no two overlap.
    pub fn labels(&self) -> &[LabelBox] {
        &self.labels
    }
}

/// The box around one text in a figure, in pixels from the upper left.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelBox {
    /// The text.
    pub text: String,
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
}

impl LabelBox {
    /// Whether the two boxes share more than a hair.
    pub fn overlaps(&self, other: &LabelBox) -> bool {
        // Boxes that only touch, but for rounding, do not overlap.
        let apart = 0.05;
        self.left + apart < other.right
            && other.left + apart < self.right
            && self.top + apart < other.bottom
            && other.top + apart < self.bottom
    }
}

/// Which end of the text lies at the given x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The colour of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// The page's main colour, light on a dark page.
    Main,
    /// The page's lesser colour.
    Muted,
    /// The same on every page: for text on a filled area.
    Fixed(Rgb),
}

/// Where a text goes: x of the anchor, y of the baseline, size in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
}

impl Place {
    pub(crate) fn new(x: f64, y: f64, size: f64, anchor: Anchor) -> Place {
        Place { x, y, size, anchor }
    }

    /// The box that `text` fills here.
    pub(crate) fn label_box(&self, content: &str) -> LabelBox {
        let wide = text::width(content, self.size);
        let left = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - wide / 2.0,
            Anchor::End => self.x - wide,
        };
        // Capitals of the bundled font reach 0.73 of its size up, tails 0.24 down; a hair is left above.
        LabelBox {
            text: content.to_owned(),
            left,
            top: self.y - 0.76 * self.size,
            right: left + wide,
            bottom: self.y + 0.24 * self.size,
        }
    }
}

/// A sheet being drawn on.
pub(crate) struct Canvas {
    body: String,
    labels: Vec<LabelBox>,
}

impl Canvas {
    pub(crate) fn new() -> Canvas {
        Canvas {
            body: String::new(),
            labels: Vec::new(),
        }
    }

    /// A rectangle. `style` is raw attributes, ours and never the caller's.
    pub(crate) fn rect(&mut self, [x, y, w, h]: [f64; 4], style: &str) {
        self.body.push_str("<rect");
        for (name, value) in [("x", x), ("y", y), ("width", w), ("height", h)] {
            self.attribute(name, value);
        }
        self.close(style);
    }

    /// A straight line.
    pub(crate) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], style: &str) {
        self.body.push_str("<line");
        for (name, value) in [("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)] {
            self.attribute(name, value);
        }
        self.close(style);
    }

    /// A circle.
    pub(crate) fn circle(&mut self, x: f64, y: f64, radius: f64, style: &str) {
        self.body.push_str("<circle");
        for (name, value) in [("cx", x), ("cy", y), ("r", radius)] {
            self.attribute(name, value);
        }
        self.close(style);
    }

    /// A path made with [`Path`].
    pub(crate) fn path(&mut self, path: &Path, style: &str) {
        let _ = write!(self.body, "<path d=\"{}\"", path.0);
        self.close(style);
    }

    /// A text, on record so that overlaps can be found. The content may be the caller's.
    pub(crate) fn text(&mut self, place: Place, ink: Ink, content: &str) {
        let content = text::clean(content);
        if content.trim().is_empty() {
            return;
        }
        self.labels.push(place.label_box(&content));
        self.body.push_str("<text");
        for (name, value) in [("x", place.x), ("y", place.y), ("font-size", place.size)] {
            self.attribute(name, value);
        }
        match place.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.body.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.body.push_str(" text-anchor=\"end\""),
        }
        let (class, colour) = match ink {
            Ink::Main => (" class=\"ink\"", INK),
            Ink::Muted => (" class=\"muted\"", MUTED),
            Ink::Fixed(colour) => ("", colour),
        };
        let _ = write!(self.body, "{class} fill=\"{}\">", colour.hex());
        text::escape_into(&mut self.body, &content);
        self.body.push_str("</text>\n");
    }

    /// Opens a group that shows `tip` on hover. `style` is raw attributes.
    pub(crate) fn open_group(&mut self, style: &str, tip: &str) {
        let blank = if style.is_empty() { "" } else { " " };
        let _ = write!(self.body, "<g{blank}{style}>");
        if !tip.is_empty() {
            self.body.push_str("<title>");
            text::escape_into(&mut self.body, tip);
            self.body.push_str("</title>");
        }
        self.body.push('\n');
    }

    /// Closes the last group opened.
    pub(crate) fn close_group(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// The boxes of the texts so far.
    pub(crate) fn labels(&self) -> &[LabelBox] {
        &self.labels
    }

    /// The finished picture; `description` is for readers who cannot see it.
    pub(crate) fn finish(self, width: f64, height: f64, title: &str, description: &str) -> Figure {
        let (width, height) = (width.ceil(), height.ceil());
        let title = text::clean(title);
        let mut svg = String::with_capacity(self.body.len() + 600);
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cairn\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" role=\"img\" aria-label=\"",
        );
        text::escape_into(&mut svg, &title);
        svg.push_str("\">\n<desc>");
        text::escape_into(&mut svg, description);
        let _ = write!(
            svg,
            "</desc>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
            PAPER.hex()
        );
        svg.push_str(&self.body);
        svg.push_str("</svg>\n");
        Figure {
            width,
            height,
            svg,
            labels: self.labels,
            index: Vec::new(),
            index_is_order: false,
        }
    }

    fn attribute(&mut self, name: &str, value: f64) {
        let _ = write!(self.body, " {name}=\"");
        push_number(&mut self.body, value);
        self.body.push('"');
    }

    fn close(&mut self, style: &str) {
        let blank = if style.is_empty() { "" } else { " " };
        let _ = writeln!(self.body, "{blank}{style}/>");
    }
}

/// The `d` attribute of an SVG path.
#[derive(Default)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn move_to(&mut self, x: f64, y: f64) -> &mut Path {
        self.push('M', &[x, y])
    }

    /// To the next point of a line: the first is where it begins.
    pub(crate) fn next(&mut self, x: f64, y: f64) -> &mut Path {
        match self.is_empty() {
            true => self.move_to(x, y),
            false => self.line_to(x, y),
        }
    }

    pub(crate) fn line_to(&mut self, x: f64, y: f64) -> &mut Path {
        self.push('L', &[x, y])
    }

    pub(crate) fn curve_to(&mut self, points: [f64; 6]) -> &mut Path {
        self.push('C', &points)
    }

    pub(crate) fn close(&mut self) -> &mut Path {
        self.push('Z', &[])
    }

    fn push(&mut self, command: char, numbers: &[f64]) -> &mut Path {
        self.0.push(command);
        for (i, &number) in numbers.iter().enumerate() {
            if i > 0 {
                self.0.push(' ');
            }
            push_number(&mut self.0, number);
        }
        self
    }
}

/// Appends the number with at most two decimals. Never writes `NaN` or `inf`, which would spoil the file.
fn push_number(out: &mut String, value: f64) {
    // A hundredth of a pixel is nothing to see; and the same bytes come out on every machine.
    let value = if value.is_finite() { value } else { 0.0 };
    let hundredths = (value * 100.0).round() as i64;
    if hundredths < 0 {
        out.push('-');
    }
    let hundredths = hundredths.unsigned_abs();
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    let _ = match (rest / 10, rest % 10) {
        (0, 0) => write!(out, "{whole}"),
        (tenth, 0) => write!(out, "{whole}.{tenth}"),
        _ => write!(out, "{whole}.{rest:02}"),
    };
}

/// Room at the left and the right of a figure.
// Chosen by eye, as wide as the letters of a title are high.
pub(crate) const MARGIN: f64 = 16.0;

/// Half the height of a capital, which reaches 0.73 of a text's size up: so far below a middle stands the line of a text that is
/// to lie on it.
pub(crate) const HALF_CAPITAL: f64 = 0.36;

/// Draws title and subtitle at the upper left and gives the y below them.
pub(crate) fn heading(canvas: &mut Canvas, title: &str, subtitle: &str, width: f64) -> f64 {
    let room = width - 2.0 * MARGIN;
    let mut y = 10.0;
    // Two lines of title and four of subtitle, by eye: a caller's long text must not push the picture off the page.
    for (content, size, ink, most) in [(title, 16.0, Ink::Main, 2), (subtitle, 12.0, Ink::Muted, 4)]
    {
        for line in text::wrap(&text::clean(content), size, room, most) {
            y += size * 1.35;
            let place = Place::new(MARGIN, y - 0.24 * size, size, Anchor::Start);
            canvas.text(place, ink, &line);
        }
    }
    y + 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_spoil_the_file() {
        let shown = |value| {
            let mut out = String::new();
            push_number(&mut out, value);
            out
        };
        assert_eq!(shown(3.0), "3");
        assert_eq!(shown(-0.254), "-0.25");
        assert_eq!(shown(10.05), "10.05");
        assert_eq!(shown(-1.5), "-1.5");
        assert_eq!(shown(-0.001), "0");
        assert_eq!(shown(f64::NAN), "0");
        assert_eq!(shown(f64::INFINITY), "0");
    }
}
