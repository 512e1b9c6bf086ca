//! Lines over an axis, with levels to hold them against and points that have names. Knows numbers, not what they mean.

use crate::axis::{self, Frame, Scale};
use crate::figure::{Anchor, Canvas, Figure, Ink, MARGIN, Path, Place};
use crate::legend::{self, Sample};
use crate::palette::{VERMILLION, line_style};
use crate::{ShowError, text};

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// What the legend calls it.
    pub name: &'a str,
    /// Its points (x, y), by rising x.
    pub points: &'a [(f64, f64)],
}

/// Lines with levels and marks.
///
/// ```
/// use cairn_show::{Line, Lines};
/// let figure = Lines {
///     title: "bytes in use",
///     subtitle: "",
///     x_name: "tasks executed",
///     y_name: "GB in use",
///     lines: &[Line { name: "lean", points: &[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)] }],
///     levels: &[("cap", 4.0)],
///     marks: &[("peak", 1.0, 3.0)],
/// }
/// .draw()?;
/// assert!(figure.svg().contains("GB in use"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Large, at the top.
    pub title: &'a str,
    /// Small, below it; may be empty.
    pub subtitle: &'a str,
    /// Title of the x axis, with its unit.
    pub x_name: &'a str,
    /// Title of the y axis, with its unit.
    pub y_name: &'a str,
    /// The lines; the first is drawn on top.
    pub lines: &'a [Line<'a>],
    /// Names and heights of lines across the whole figure.
    pub levels: &'a [(&'a str, f64)],
    /// Names and places of single points.
    pub marks: &'a [(&'a str, f64, f64)],
}

// As wide and high as eligibility curves: both stand on one page.
const WIDTH: f64 = 880.0;
const PLOT_HEIGHT: f64 = 340.0;
// Names at levels and marks: as small as tick labels, so that lines stay in front.
const SIZE: f64 = 11.0;
/// Points of a line that are kept for each pixel.
// As many as `curves` keeps: no peak is lost between two pixels.
const A_PIXEL: usize = 4;

impl Lines<'_> {
    /// Draws the figure. Time O(points).
    ///
    /// # Errors
    /// [`ShowError::BadValue`] for a number that is not finite.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        let of_lines = (self.lines.iter())
            .flat_map(|l| (l.points.iter()).flat_map(|&(x, y)| [(l.name, x), (l.name, y)]));
        let others = self.levels.iter().copied();
        let marks = self.marks.iter().flat_map(|&(n, x, y)| [(n, x), (n, y)]);
        ShowError::unless_finite("lines", of_lines.chain(others).chain(marks))?;
        let mut canvas = Canvas::new();
        let entries = self.legend_entries();
        let y = legend::headed(&mut canvas, self.title, self.subtitle, &entries, WIDTH);
        let top = y + axis::OVER;
        let frame = self.frame(top, top + PLOT_HEIGHT);
        frame.draw(&mut canvas);
        for &(name, level) in self.levels {
            let y = frame.y.at(level);
            let ends = [frame.x.from, y, frame.x.to, y];
            canvas.line(ends, &legend::reference_attributes());
            let place = Place::new(frame.x.to - 4.0, y - 5.0, SIZE, Anchor::End);
            canvas.text(place, Ink::Muted, &text::clean(name));
        }
        self.draw_lines(&mut canvas, &frame);
        for &(name, x, y) in self.marks {
            let (x, y) = (frame.x.at(x), frame.y.at(y));
            canvas.circle(x, y, 4.5, &legend::ring_attributes(VERMILLION));
            let place = Place::new(x + 8.0, y - 8.0, SIZE, Anchor::Start);
            canvas.text(place, Ink::Main, &text::clean(name));
        }
        let names: Vec<String> = self.lines.iter().map(|l| text::clean(l.name)).collect();
        let (x, y, names) = (self.x_name, self.y_name, names.join(", "));
        let description = format!("{y} over {x}: {names}.");
        let height = top + PLOT_HEIGHT + axis::UNDER;
        Ok(canvas.finish(WIDTH, height, self.title, &text::clean(&description)))
    }

    fn legend_entries(&self) -> Vec<(Sample, String)> {
        let entry = |(i, line): (usize, &Line<'_>)| {
            let (colour, dash) = line_style(i);
            (Sample::Line(colour, dash, width(i)), line.name.to_owned())
        };
        self.lines.iter().enumerate().map(entry).collect()
    }

    fn frame(&self, top: f64, bottom: f64) -> Frame<'_> {
        let points = || self.lines.iter().flat_map(|l| l.points.iter().copied());
        let marks = || self.marks.iter().map(|&(_, x, y)| (x, y));
        let xs = points().chain(marks()).map(|p| p.0);
        let ys = points().chain(marks()).map(|p| p.1);
        let most = (ys.chain(self.levels.iter().map(|l| l.1))).fold(0.0, f64::max);
        let (low, high) = axis::range(xs).unwrap_or((0.0, 1.0));
        let most = axis::round_up(0.0, most.max(f64::MIN_POSITIVE), axis::Y_STEPS, false);
        let whole = points().all(|p| p.0 == p.0.trunc());
        Frame {
            x: Scale::new(
                [low, if high > low { high } else { low + 1.0 }],
                [
                    MARGIN + axis::y_label_room(0.0, most, false) + 8.0,
                    WIDTH - 36.0,
                ],
            ),
            y: Scale::new([0.0, most], [bottom, top]),
            x_title: self.x_name,
            y_title: self.y_name,
            x_whole: whole,
            y_whole: false,
            below: 0.0,
        }
    }

    fn draw_lines(&self, canvas: &mut Canvas, frame: &Frame<'_>) {
        let columns = A_PIXEL * (frame.x.to - frame.x.from) as usize;
        for (i, line) in self.lines.iter().enumerate().rev() {
            let mut path = Path::default();
            for &(x, y) in thin(line.points, columns).iter() {
                path.next(frame.x.at(x), frame.y.at(y));
            }
            let (colour, dash) = line_style(i);
            canvas.path(&path, &legend::line_attributes(colour, dash, width(i)));
        }
    }
}

fn width(i: usize) -> f64 {
    if i == 0 { 2.4 } else { 1.6 }
}

/// Few enough points: of each stretch its lowest and its highest, as they come.
fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    if points.len() <= most.max(4) {
        return points.to_vec();
    }
    let mut kept = vec![points[0]];
    for stretch in points.chunks(2 * points.len().div_ceil(most)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let lowest = stretch.iter().min_by(by_height).copied();
        let highest = stretch.iter().max_by(by_height).copied();
        let mut ends: Vec<(f64, f64)> = lowest.into_iter().chain(highest).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.extend(ends);
    }
    kept.extend(points.last());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_thinning_and_odd_numbers_are_refused() {
        let points: Vec<(f64, f64)> = (0..100_000)
            .map(|i| (f64::from(i), if i == 77_777 { 9.0 } else { 1.0 }))
            .collect();
        let kept = thin(&points, 500);
        assert!(kept.len() < 1_100 && kept.contains(&(77_777.0, 9.0)));
        let line = |points| [Line { name: "l", points }];
        let figure = |lines: &[Line<'_>]| {
            Lines {
                title: "t",
                subtitle: "",
                x_name: "x",
                y_name: "y",
                lines,
                levels: &[("cap", 3.0)],
                marks: &[],
            }
            .draw()
        };
        assert!(figure(&line(&[(0.0, f64::NAN)])).is_err());
        assert!(figure(&line(&[])).is_ok());
        assert!(figure(&line(&[(5.0, 2.0)])).unwrap().svg().contains("cap"));
    }
}
