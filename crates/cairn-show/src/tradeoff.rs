//! The trade-off between memory and area: what each more result held open buys. Knows points, not plans.

use crate::axis::{self, Frame, Scale};
use crate::budgets::MOST_NAMES;
use crate::figure::{Anchor, Canvas, Figure, Ink, LabelBox, MARGIN, Path, Place};
use crate::legend::{self, Sample};
use crate::palette::{BLUE, VERMILLION};
use crate::{ShowError, text};

/// One plan: its peak memory and the area it reaches.
#[derive(Clone, Copy, Debug)]
pub struct TradeoffPoint<'a> {
    /// Largest amount held at once, in the figure's unit.
    pub memory: f64,
    /// Area reached.
    pub area: f64,
    /// What the plan is called; may be empty. Written beside the point where there is room.
    pub name: &'a str,
}

/// The figure "area over peak memory".
///
/// ```
/// use cairn_show::{Tradeoff, TradeoffPoint};
/// let point = |memory, area| TradeoffPoint { memory, area, name: "" };
/// let figure = Tradeoff {
///     title: "mesh of 6 levels",
///     subtitle: "",
///     memory_name: "peak memory (results)",
///     area_name: "area (% of the bound)",
///     points: &[point(6.0, 100.0), point(4.0, 71.0), point(5.0, 88.0)],
///     bound: Some(100.0),
/// }
/// .draw()?;
/// assert!(figure.svg().contains("peak memory (results)"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tradeoff<'a> {
    /// Large, at the top.
    pub title: &'a str,
    /// Small, below it; may be empty.
    pub subtitle: &'a str,
    /// Title of the x axis, with its unit.
    pub memory_name: &'a str,
    /// Title of the y axis, with its unit.
    pub area_name: &'a str,
    /// The plans, in any order.
    pub points: &'a [TradeoffPoint<'a>],
    /// A certified upper bound on the area, if there is one.
    pub bound: Option<f64>,
}

// Chosen by eye, in pixels: as wide as the figure of intervals. Names of points are smaller than titles, as many stand together.
const WIDTH: f64 = 760.0;
const PLOT_HEIGHT: f64 = 320.0;
const SIZE: f64 = 11.0;

impl Tradeoff<'_> {
    /// Draws the figure. Time O(points · log points).
    ///
    /// # Errors
    /// [`ShowError::BadValue`] for a number that is not finite.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        let points = self.points.iter();
        let numbers = points.flat_map(|p| [(p.name, p.memory), (p.name, p.area)]);
        let numbers = numbers.chain(self.bound.map(|bound| ("bound", bound)));
        ShowError::unless_finite("trade-off", numbers)?;
        let mut canvas = Canvas::new();
        let entries = self.legend_entries();
        let y = legend::headed(&mut canvas, self.title, self.subtitle, &entries, WIDTH);
        let top = y + axis::OVER;
        let frame = self.frame(top, top + PLOT_HEIGHT);
        frame.draw(&mut canvas);
        if let Some(bound) = self.bound {
            let y = frame.y.at(bound);
            let ends = [frame.x.from, y, frame.x.to, y];
            canvas.line(ends, &legend::reference_attributes());
        }
        self.draw_frontier(&mut canvas, &frame);
        self.draw_points(&mut canvas, &frame);
        let plans = text::counted(self.points.len(), "plan", "plans");
        let description = format!("{} over {}, {plans}.", self.area_name, self.memory_name);
        let height = top + PLOT_HEIGHT + axis::UNDER;
        Ok(canvas.finish(WIDTH, height, self.title, &text::clean(&description)))
    }

    fn legend_entries(&self) -> Vec<(Sample, String)> {
        let (best, other): (Vec<bool>, Vec<bool>) =
            self.on_frontier().into_iter().partition(|&on| on);
        let line = Sample::Line(BLUE, "", 2.4);
        let entries = [
            (!best.is_empty(), line, "best area with at most this memory"),
            (
                !other.is_empty(),
                Sample::Ring(VERMILLION),
                "another plan is no worse in both",
            ),
            (
                self.bound.is_some(),
                Sample::Reference,
                "certified upper bound",
            ),
        ];
        let shown = entries.into_iter().filter(|(is_shown, ..)| *is_shown);
        shown
            .map(|(_, sample, name)| (sample, name.to_owned()))
            .collect()
    }

    fn frame(&self, top: f64, bottom: f64) -> Frame<'_> {
        let areas = || self.points.iter().map(|p| p.area).chain(self.bound);
        let memories = || self.points.iter().map(|p| p.memory);
        let (low, high) = padded(areas());
        let (x_low, x_high) = padded(memories());
        let left = MARGIN + axis::y_label_room(low, high, false) + 8.0;
        Frame {
            x: Scale::new([x_low, x_high], [left, WIDTH - 28.0]),
            y: Scale::new([low, high], [bottom, top]),
            x_title: self.memory_name,
            y_title: self.area_name,
            x_whole: memories().all(|m| m == m.trunc()),
            y_whole: false,
            below: 0.0,
        }
    }

    /// The points by rising memory, more area first among equals.
    fn sorted(&self) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.points.len()).collect();
        let key = |&i: &usize| (self.points[i].memory, -self.points[i].area);
        sorted.sort_by(|a, b| {
            let ((memory, area), (other, others_area)) = (key(a), key(b));
            memory.total_cmp(&other).then(area.total_cmp(&others_area))
        });
        sorted
    }

    /// For each point: does it reach more than every other with no more memory?
    fn on_frontier(&self) -> Vec<bool> {
        let mut on = vec![false; self.points.len()];
        let mut best = f64::NEG_INFINITY;
        for i in self.sorted() {
            on[i] = self.points[i].area > best;
            best = best.max(self.points[i].area);
        }
        on
    }

    fn draw_frontier(&self, canvas: &mut Canvas, frame: &Frame<'_>) {
        let on = self.on_frontier();
        let mut path = Path::default();
        let mut level = 0.0;
        for i in self.sorted().into_iter().filter(|&i| on[i]) {
            let point = &self.points[i];
            let (x, y) = (frame.x.at(point.memory), frame.y.at(point.area));
            if !path.is_empty() {
                path.line_to(x, level);
            }
            path.next(x, y);
            level = y;
        }
        if !path.is_empty() {
            path.line_to(frame.x.to, level);
            canvas.path(&path, &legend::line_attributes(BLUE, "", 2.4));
        }
    }

    fn draw_points(&self, canvas: &mut Canvas, frame: &Frame<'_>) {
        let on = self.on_frontier();
        let mut taken: Vec<LabelBox> = canvas.labels().to_vec();
        let spot = |p: &TradeoffPoint<'_>| (frame.x.at(p.memory), frame.y.at(p.area));
        for p in self.points.iter().take(MOST_NAMES) {
            let (x, y) = spot(p);
            taken.push(LabelBox {
                text: String::new(),
                left: x - 5.0,
                top: y - 5.0,
                right: x + 5.0,
                bottom: y + 5.0,
            });
        }
        for (i, p) in self.points.iter().enumerate() {
            let (x, y) = spot(p);
            canvas.open_group("class=\"point\"", &self.tip(p));
            match on[i] {
                true => canvas.circle(x, y, 4.5, &BLUE.fill()),
                false => canvas.circle(x, y, 4.0, &legend::ring_attributes(VERMILLION)),
            }
            let name = text::shorten(&text::clean(p.name), SIZE, 150.0);
            let place = free_place(&name, x, y, frame, &taken)
                .filter(|_| !name.is_empty() && i < MOST_NAMES);
            if let Some((place, area)) = place {
                taken.push(area);
                canvas.text(place, Ink::Main, &name);
            }
            canvas.close_group();
        }
    }

    fn tip(&self, p: &TradeoffPoint<'_>) -> String {
        let number =
            |value: f64| axis::decimal(value, if value == value.trunc() { 1.0 } else { 0.01 });
        let (memory, area) = (number(p.memory), number(p.area));
        let [memory_name, area_name, name] =
            [self.memory_name, self.area_name, p.name].map(text::clean);
        let line = if name.is_empty() { "" } else { "\n" };
        format!("{name}{line}{memory_name}: {memory}\n{area_name}: {area}")
    }
}

/// A place beside a point where its name touches nothing.
fn free_place(
    name: &str,
    x: f64,
    y: f64,
    frame: &Frame<'_>,
    taken: &[LabelBox],
) -> Option<(Place, LabelBox)> {
    // To the right and below first: the front rises to the right, and leaves room there.
    let spots = [
        (8.0, 16.0, Anchor::Start),
        (8.0, -8.0, Anchor::Start),
        (-8.0, -8.0, Anchor::End),
        (-8.0, 16.0, Anchor::End),
        (0.0, -10.0, Anchor::Middle),
        (0.0, 20.0, Anchor::Middle),
    ];
    (spots.iter())
        .map(|&(dx, dy, anchor)| Place::new(x + dx, y + dy, SIZE, anchor))
        .map(|place| (place, place.label_box(name)))
        .find(|(_, area)| {
            let inside = area.left >= frame.x.from + 2.0
                && area.right <= frame.x.to + 24.0
                && area.top >= frame.y.to - 4.0
                && area.bottom <= frame.y.from - 2.0;
            inside && !taken.iter().any(|other| other.overlaps(area))
        })
}

/// The range of the values, widened to round numbers a little beyond.
fn padded(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let Some((low, high)) = axis::range(values) else {
        return (0.0, 1.0);
    };
    let span = axis::span(low, high);
    // An axis that starts just above zero had better start at zero.
    let is_near_zero = low >= 0.0 && low < 0.35 * span;
    let bottom = if is_near_zero { 0.0 } else { low - 0.08 * span };
    (bottom, high + 0.08 * span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_frontier_is_what_no_other_point_beats(raw in prop::collection::vec((0u8..9, 0u8..9), 0..20)) {
            let points: Vec<TradeoffPoint<'_>> = raw.iter()
                .map(|&(m, a)| TradeoffPoint { memory: m.into(), area: a.into(), name: "" }).collect();
            let figure = Tradeoff { title: "", subtitle: "", memory_name: "", area_name: "", points: &points, bound: None };
            let on = figure.on_frontier();
            for (i, p) in points.iter().enumerate() {
                let beaten = points.iter().any(|q| q.memory <= p.memory && q.area >= p.area
                    && (q.memory < p.memory || q.area > p.area));
                // Of equal points one is on the frontier.
                let first_of_equals = points[..i].iter().all(|q| (q.memory, q.area) != (p.memory, p.area));
                prop_assert_eq!(on[i], !beaten && first_of_equals);
            }
            prop_assert!(figure.draw().is_ok());
        }
    }
}
