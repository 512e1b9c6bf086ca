//! Eligibility curves: how many tasks are eligible after each executed task, under the certified bound. Knows
//! profiles as plain numbers, not how they were computed.

use crate::axis::{self, Frame, Scale};
use crate::figure::{Canvas, Figure, MARGIN, Path};
use crate::legend::{self, Sample};
use crate::palette::{GREEN, line_style};
use crate::{ShowError, text};
use cairn_dag::wide;

/// One policy's profile.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// What the legend calls it.
    pub name: &'a str,
    /// Eligible tasks after `t = 0..=n` executed tasks.
    pub profile: &'a [u32],
}

/// The figure "eligible tasks over tasks executed".
///
/// ```
/// use cairn_show::{EligibilityCurves, Series};
/// let figure = EligibilityCurves {
///     title: "fork and join",
///     subtitle: "",
///     series: &[
///         Series { name: "ic", profile: &[1, 3, 2, 1, 1, 0] },
///         Series { name: "fifo", profile: &[1, 3, 2, 1, 1, 0] },
///     ],
///     bound: Some(&[1, 3, 2, 1, 1, 0]),
///     optimal_steps: &[0, 1, 2, 3, 4, 5],
/// }
/// .draw()?;
/// assert!(figure.svg().contains("tasks executed"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EligibilityCurves<'a> {
    /// Large, at the top.
    pub title: &'a str,
    /// Small, below it; may be empty.
    pub subtitle: &'a str,
    /// The policies, ours first: it is drawn on top and its optimal steps are marked.
    pub series: &'a [Series<'a>],
    /// The certified upper bound at each step, if there is one.
    pub bound: Option<&'a [u32]>,
    /// The steps at which the first series provably attains the optimum, in any order.
    pub optimal_steps: &'a [u32],
}

// Chosen by eye: as wide as a column of text in a browser, and much lower, so that slopes are seen.
const WIDTH: f64 = 880.0;
const PLOT_HEIGHT: f64 = 340.0;
/// Height of the strip under the axis that shows where our order is optimal.
// Chosen by eye: seen at once, and not taken for a second plot.
const STRIP: f64 = 8.0;
/// Up to this many steps each optimal one gets its own ring on the curve.
// 880 pixels leave some 13 a step then: closer, rings of seven pixels and their borders would touch.
const RINGS: usize = 64;
/// The most hover areas.
// Each is an element of its own in the SVG, and nobody points at less than three or four pixels.
const HOVERS: usize = 240;

impl EligibilityCurves<'_> {
    /// Draws the figure. Time and space O(points); the SVG holds at most four points a pixel column and line.
    ///
    /// # Errors
    /// [`ShowError::StepOutOfRange`] if an optimal step lies behind the end of the first profile.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        let optimal = self.optimal_flags()?;
        let mut canvas = Canvas::new();
        let entries = self.legend_entries();
        let y = legend::headed(&mut canvas, self.title, self.subtitle, &entries, WIDTH);
        let (steps, most) = self.extent();
        let top = y + axis::OVER;
        let high = axis::round_up(0.0, f64::from(most), axis::Y_STEPS, true);
        let left = MARGIN + axis::y_label_room(0.0, high, true) + 8.0;
        let bottom = top + PLOT_HEIGHT;
        let has_strip = !self.optimal_steps.is_empty();
        let strip = if has_strip { STRIP + 3.0 } else { 0.0 };
        let frame = Frame {
            x: Scale::new(
                [0.0, steps.max(1) as f64],
                [
                    left,
                    WIDTH - MARGIN - text::width(&text::grouped(steps as u64), 12.0) / 2.0,
                ],
            ),
            y: Scale::new([0.0, high], [bottom, top]),
            x_title: "tasks executed",
            y_title: "eligible tasks",
            x_whole: true,
            y_whole: true,
            below: strip,
        };
        frame.draw(&mut canvas);
        self.draw_lines(&mut canvas, &frame);
        self.draw_optimal(&mut canvas, &frame, &optimal);
        self.draw_hovers(&mut canvas, &frame, &optimal, steps);
        let height = bottom + strip + axis::UNDER;
        Ok(canvas.finish(WIDTH, height, self.title, &self.description(steps)))
    }

    fn optimal_flags(&self) -> Result<Vec<bool>, ShowError> {
        let ours = self.series.first().map_or(0, |s| s.profile.len());
        let mut flags = vec![false; ours];
        for &step in self.optimal_steps {
            let last = ours.saturating_sub(1);
            let flag = flags.get_mut(wide(step));
            *flag.ok_or(ShowError::StepOutOfRange { step, last })? = true;
        }
        Ok(flags)
    }

    fn profiles(&self) -> impl Iterator<Item = &[u32]> {
        (self.series.iter().map(|s| s.profile)).chain(self.bound)
    }

    /// The last step and the largest value.
    fn extent(&self) -> (usize, u32) {
        let steps = self.profiles().map(|p| p.len().saturating_sub(1)).max();
        let most = self.profiles().flatten().copied().max();
        (steps.unwrap_or(0), most.unwrap_or(0))
    }

    fn legend_entries(&self) -> Vec<(Sample, String)> {
        let mut entries = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let (colour, dash) = line_style(i);
            let sample = Sample::Line(colour, dash, line_width(i));
            entries.push((sample, series.name.to_owned()));
        }
        if self.bound.is_some() {
            entries.push((Sample::Bound, "certified upper bound".to_owned()));
        }
        if let (Some(ours), false) = (self.series.first(), self.optimal_steps.is_empty()) {
            let [best, all] =
                [distinct(self.optimal_steps), ours.profile.len()].map(|n| text::grouped(n as u64));
            let name = format!("{} proved optimal: {best} of {all} steps", ours.name);
            entries.push((Sample::Area(GREEN, GREEN), name));
        }
        entries
    }

    fn draw_lines(&self, canvas: &mut Canvas, frame: &Frame<'_>) {
        let columns = (frame.x.to - frame.x.from) as usize;
        let path = |profile: &[u32]| {
            let mut path = Path::default();
            for (step, value) in thin(profile, columns) {
                let (x, y) = (frame.x.at(step as f64), frame.y.at(f64::from(value)));
                path.next(x, y);
            }
            path
        };
        if let Some(bound) = self.bound {
            canvas.path(&path(bound), &legend::bound_attributes());
        }
        // Ours comes first in the list, and last onto the sheet: on top.
        for (i, series) in self.series.iter().enumerate().rev() {
            let (colour, dash) = line_style(i);
            let style = legend::line_attributes(colour, dash, line_width(i));
            canvas.path(&path(series.profile), &style);
        }
    }

    /// A strip under the axis, and rings on the curve when there is room for them.
    fn draw_optimal(&self, canvas: &mut Canvas, frame: &Frame<'_>, optimal: &[bool]) {
        let Some(ours) = self.series.first().filter(|_| optimal.iter().any(|&o| o)) else {
            return;
        };
        let columns = (frame.x.to - frame.x.from) as usize;
        for (from, to, share) in shares(optimal, columns) {
            let at = |step: usize| {
                frame
                    .x
                    .at(step as f64 - 0.5)
                    .clamp(frame.x.from, frame.x.to)
            };
            let [left, right] = [from, to].map(at);
            let style = format!("fill=\"{}\" fill-opacity=\"{share}\"", GREEN.hex());
            canvas.rect([left, frame.y.from + 2.0, right - left, STRIP], &style);
        }
        if ours.profile.len() <= RINGS {
            for step in (0..optimal.len()).filter(|&step| optimal[step]) {
                let (x, y) = (step as f64, f64::from(ours.profile[step]));
                let ring = legend::ring_attributes(GREEN);
                canvas.circle(frame.x.at(x), frame.y.at(y), 3.5, &ring);
            }
        }
    }

    /// Invisible columns that tell all values at a step when pointed at.
    fn draw_hovers(&self, canvas: &mut Canvas, frame: &Frame<'_>, optimal: &[bool], steps: usize) {
        if self.profiles().next().is_none() {
            return;
        }
        let count = (steps + 1).min(HOVERS);
        let clamp = |x: f64| frame.x.at(x).clamp(frame.x.from, frame.x.to);
        for i in 0..count {
            let (first, end) = (i * (steps + 1) / count, (i + 1) * (steps + 1) / count);
            let step = first + (end - 1 - first) / 2;
            let (from, to) = (clamp(first as f64 - 0.5), clamp(end as f64 - 0.5));
            canvas.open_group("class=\"hover\"", &self.tip(step, steps, optimal));
            let area = [from, frame.y.to, to - from, frame.y.from - frame.y.to];
            canvas.rect(area, "fill=\"#000000\" fill-opacity=\"0\"");
            canvas.close_group();
        }
    }

    fn tip(&self, step: usize, steps: usize, optimal: &[bool]) -> String {
        let [done, all] = [step, steps].map(|n| text::grouped(n as u64));
        let mut tip = format!("after {done} of {all} tasks");
        let mut add = |name: &str, profile: &[u32], note: &str| {
            if let Some(&value) = profile.get(step) {
                let value = text::grouped(value.into());
                tip.push_str(&format!("\n{}: {value}{note}", text::clean(name)));
            }
        };
        if let Some(bound) = self.bound {
            add("upper bound", bound, "");
        }
        for (i, series) in self.series.iter().enumerate() {
            let proved = i == 0 && optimal.get(step) == Some(&true);
            let note = if proved { " (proved optimal)" } else { "" };
            add(series.name, series.profile, note);
        }
        tip
    }

    fn description(&self, steps: usize) -> String {
        let names: Vec<String> = self.series.iter().map(|s| text::clean(s.name)).collect();
        let (steps, names) = (text::grouped(steps as u64), names.join(", "));
        format!("Eligible tasks after each of {steps} executed tasks, for {names}.")
    }
}

fn line_width(i: usize) -> f64 {
    if i == 0 { 2.4 } else { 1.8 }
}

fn distinct(steps: &[u32]) -> usize {
    let mut steps = steps.to_vec();
    steps.sort_unstable();
    steps.dedup();
    steps.len()
}

/// Stretches (from, to, share) of steps `from..to` of which the share `share` is true, in tenths and above zero.
///
/// Steps are taken one by one, or by pixel column when there are more steps than `columns`.
fn shares(flags: &[bool], columns: usize) -> Vec<(usize, usize, f64)> {
    let cells = flags.len().min(columns.max(1));
    let mut stretches: Vec<(usize, usize, f64)> = Vec::new();
    for cell in 0..cells {
        let (from, to) = (cell * flags.len() / cells, (cell + 1) * flags.len() / cells);
        let set = flags[from..to].iter().filter(|&&flag| flag).count();
        // Rounded up, so that a single optimal step among many is seen.
        let share = (set * 10).div_ceil(to - from) as f64 / 10.0;
        match stretches.last_mut() {
            Some(last) if last.1 == from && last.2 == share => last.1 = to,
            _ if set > 0 => stretches.push((from, to, share)),
            _ => {}
        }
    }
    stretches
}

/// Thins a profile to at most four points for each of `columns` pixel columns: first, lowest, highest and last.
///
/// No peak or dip is lost: a line through them fills the same pixels ("M4" aggregation). Short profiles are kept whole. Time O(points).
fn thin(profile: &[u32], columns: usize) -> Vec<(usize, u32)> {
    let columns = columns.max(1);
    if profile.len() <= 4 * columns {
        return profile.iter().copied().enumerate().collect();
    }
    let mut kept = Vec::with_capacity(4 * columns);
    for column in 0..columns {
        let [from, to] = [column, column + 1].map(|c| c * profile.len() / columns);
        let values = &profile[from..to];
        let lowest = (0..values.len()).min_by_key(|&i| values[i]);
        let highest = (0..values.len()).max_by_key(|&i| values[i]);
        let [lowest, highest] = [lowest, highest].map(|i| i.expect("columns are not empty"));
        // In the order of the steps: a line through them must not run backwards.
        let mut picks = [0, lowest, highest, values.len() - 1];
        picks.sort_unstable();
        for (i, &pick) in picks.iter().enumerate() {
            if i == 0 || pick != picks[i - 1] {
                kept.push((from + pick, values[pick]));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every column keeps its ends and extremes, nothing is invented, and the size is bounded.
        #[test]
        fn thinning_keeps_extremes(profile in prop::collection::vec(0u32..1000, 0..700), columns in 1usize..40) {
            let thinned = thin(&profile, columns);
            prop_assert!(thinned.windows(2).all(|w| w[0].0 < w[1].0));
            prop_assert!(thinned.iter().all(|&(step, value)| profile[step] == value));
            prop_assert_eq!(thinned.iter().map(|p| p.1).max(), profile.iter().copied().max());
            if profile.len() > 4 * columns {
                prop_assert!(thinned.len() <= 4 * columns);
                for c in 0..columns {
                    let (from, to) = (c * profile.len() / columns, (c + 1) * profile.len() / columns);
                    let inside: Vec<u32> =
                        thinned.iter().filter(|p| (from..to).contains(&p.0)).map(|p| p.1).collect();
                    let whole = &profile[from..to];
                    prop_assert_eq!(inside.iter().max(), whole.iter().max());
                    prop_assert_eq!(inside.iter().min(), whole.iter().min());
                    prop_assert_eq!((inside.first(), inside.last()), (whole.first(), whole.last()));
                }
            } else {
                prop_assert_eq!(thinned.len(), profile.len());
            }
        }

        /// With a column for each step the stretches are exactly the flags; with fewer, none is forgotten.
        #[test]
        fn stretches_cover_the_flags(flags in prop::collection::vec(any::<bool>(), 0..80), columns in 1usize..100) {
            let stretches = shares(&flags, columns);
            for (i, &flag) in flags.iter().enumerate() {
                let covered = stretches.iter().any(|&(from, to, _)| (from..to).contains(&i));
                prop_assert!(covered || !flag);
                prop_assert!(columns < flags.len() || covered == flag);
            }
            prop_assert!(stretches.windows(2).all(|w| w[0].1 <= w[1].0));
            prop_assert!(stretches.iter().all(|s| s.2 > 0.0 && s.2 <= 1.0));
        }
    }

    #[test]
    fn a_step_behind_the_end_is_refused() {
        let series = [Series {
            name: "ic",
            profile: &[1, 0],
        }];
        let curves = EligibilityCurves {
            title: "",
            subtitle: "",
            series: &series,
            bound: None,
            optimal_steps: &[2],
        };
        assert_eq!(
            curves.draw().unwrap_err(),
            ShowError::StepOutOfRange { step: 2, last: 1 }
        );
    }
}
