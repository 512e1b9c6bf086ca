//! Where the boxes and arcs of a dag drawing lie on the page, and their drawing. Knows not what they stand for.

use crate::budgets::SINGLE_ARCS;
use crate::collapse::Collapsed;
use crate::dag_drawing::Direction;
use crate::dag_nodes::{Colours, Node, tint};
use crate::figure::{Anchor, Canvas, Figure, HALF_CAPITAL, Ink, Path, Place};
use crate::layout::{Gaps, Ordered};
use crate::legend::{self, Sample};
use crate::palette::{INK, PAPER, RULE, Rgb};
use crate::text;
use cairn_dag::{Dag, TaskId, narrow, wide};

/// A drawing that fits this needs no other shape.
// Chosen by eye: about what a browser's window shows on a desktop.
const HANDY: (f64, f64) = (1500.0, 1100.0);
/// However small the dag: title and legend need room.
// Chosen by eye.
const NARROWEST: f64 = 520.0;
// Chosen by eye, in pixels: the smallest text that is read with ease, since a drawing is mostly text.
const MARGIN: f64 = 20.0;
const SIZE: f64 = 11.0;
// Chosen by eye: bends need less room than boxes, and parts that have no arc between them stand visibly apart.
const GAPS: Gaps = Gaps {
    nodes: 12.0,
    bends: 7.0,
    components: 14.0,
};

/// Which way the arcs run, and how large the boxes are.
pub(crate) struct Sheet<'a> {
    ordered: &'a Ordered,
    down: bool,
    /// Width and height of each box.
    size: Vec<(f64, f64)>,
}

impl<'a> Sheet<'a> {
    /// The handier of the directions allowed.
    pub(crate) fn best(direction: Direction, ordered: &'a Ordered, nodes: &[Node]) -> Sheet<'a> {
        let sheet = |down: bool| Sheet {
            ordered,
            down,
            size: nodes.iter().map(box_size).collect(),
        };
        let excess = |sheet: &Sheet<'_>| {
            let (width, height) = sheet.estimate();
            (width / HANDY.0).max(height / HANDY.1).max(1.0)
        };
        // Both are tried: which one is handier depends on names and widths as much as on the dag.
        let (down, right) = (sheet(true), sheet(false));
        match direction {
            Direction::Down => down,
            Direction::Right => right,
            Direction::Auto if excess(&down) <= excess(&right) => down,
            Direction::Auto => right,
        }
    }

    fn breadths(&self) -> Vec<f64> {
        self.size
            .iter()
            .map(|&(w, h)| if self.down { w } else { h })
            .collect()
    }

    /// Along the arcs: the thickest box of each level.
    fn thickness(&self) -> Vec<f64> {
        let mut thick = vec![0.0f64; self.ordered.level_count()];
        for (i, &(w, h)) in self.size.iter().enumerate() {
            let level = self.ordered.level(TaskId(narrow(i)));
            thick[level] = thick[level].max(if self.down { h } else { w });
        }
        thick
    }

    fn estimate(&self) -> (f64, f64) {
        let across = self.ordered.least_extent(&self.breadths(), GAPS);
        // 46 is a gap of middling size: the real ones are known only when all is placed, and this only compares two directions.
        let along: f64 = self.thickness().iter().map(|t| t + 46.0).sum();
        self.point(across, along)
    }

    /// A point from its place across and along the levels.
    fn point(&self, across: f64, along: f64) -> (f64, f64) {
        if self.down {
            (across, along)
        } else {
            (along, across)
        }
    }

    /// Draws everything.
    pub(crate) fn draw(
        &self,
        title: &str,
        subtitle: &str,
        entries: &[(Sample, String)],
        collapsed: &Collapsed,
        nodes: &[Node],
        colours: &Colours,
    ) -> Figure {
        let dag = &collapsed.dag;
        let (centre, extent) = self.ordered.place(&self.breadths(), GAPS);
        let thick = self.thickness();
        let gap = self.level_gaps(dag, &centre);
        let mut start = vec![0.0; thick.len()];
        for l in 1..thick.len() {
            start[l] = start[l - 1] + thick[l - 1] + gap[l - 1];
        }
        let along = start.last().map_or(0.0, |s| s + thick[thick.len() - 1]);
        let (broad, high) = self.point(extent, along);
        let width = (broad + 2.0 * MARGIN).max(NARROWEST);
        let mut canvas = Canvas::new();
        let top = legend::headed(&mut canvas, title, subtitle, entries, width) + 6.0;
        let (dx, dy) = ((width - broad) / 2.0, top);
        let (across, ahead) = if self.down { (dx, dy) } else { (dy, dx) };
        let plan = Plan {
            centre: centre.iter().map(|c| c + across).collect(),
            start: start.iter().map(|s| s + ahead).collect(),
            thick,
        };
        self.draw_arcs(&mut canvas, collapsed, &plan);
        for (i, node) in nodes.iter().enumerate() {
            let colour = colours.fill[wide(node.colour_key)];
            self.draw_node(&mut canvas, i, node, &plan, colour);
        }
        let height = top + high + MARGIN;
        canvas.finish(width, height, title, subtitle)
    }

    /// Space after each level: more where arcs run far sideways, so that they do not lie flat.
    fn level_gaps(&self, dag: &Dag, centre: &[f64]) -> Vec<f64> {
        let mut reach = vec![0.0f64; self.ordered.level_count()];
        for (i, (u, v)) in dag.arcs().enumerate() {
            let mut at = u;
            let span = self.ordered.level(v) - self.ordered.level(u);
            for (k, next) in self.ordered.bends(i, span).chain([v]).enumerate() {
                let slot = &mut reach[self.ordered.level(u) + k];
                *slot = slot.max((centre[at.index()] - centre[next.index()]).abs());
                at = next;
            }
        }
        // An arc that runs far sideways needs some way along, or it lies flat; but a wide dag must not become a tower. By eye.
        let gap = |r: &f64| (28.0 + 0.09 * r).clamp(30.0, 170.0);
        reach.iter().map(gap).collect()
    }

    fn draw_arcs(&self, canvas: &mut Canvas, collapsed: &Collapsed, plan: &Plan) {
        let dag = &collapsed.dag;
        let arcs = dag.arc_count();
        // The more arcs cross the paler each must be, or the middle is one grey area. Steps chosen by eye.
        let opacity = [(120, 0.9), (600, 0.65), (3000, 0.45)]
            .iter()
            .find(|(most, _)| arcs <= *most);
        let opacity = opacity.map_or(0.25, |(_, opacity)| *opacity);
        canvas.open_group(
            &format!(
                "class=\"arcs\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.1\" stroke-opacity=\"{opacity}\"",
                RULE.hex()
            ),
            "",
        );
        let single = arcs <= SINGLE_ARCS;
        let mut path = Path::default();
        let mut tail = None;
        for (i, (u, v)) in dag.arcs().enumerate() {
            // Arcs of one tail follow each other, as the rows of the dag do.
            if !single && tail != Some(u) && !path.is_empty() {
                canvas.path(&std::mem::take(&mut path), "");
            }
            tail = Some(u);
            self.arc_path(&mut path, (i, u, v), plan);
            if single {
                let count = collapsed.arcs[i];
                let thick = match count {
                    0 | 1 => String::new(),
                    _ => format!(" stroke-width=\"{:.1}\"", thickness(count)),
                };
                let ends = format!("data-a=\"{}\" data-b=\"{}\"{thick}", u.0, v.0);
                canvas.path(&std::mem::take(&mut path), &ends);
            }
        }
        if !path.is_empty() {
            canvas.path(&path, "");
        }
        canvas.close_group();
        self.draw_heads(canvas, collapsed, plan);
    }

    /// From box to box, straight through the levels it passes and curved between them.
    fn arc_path(&self, path: &mut Path, (index, u, v): (usize, TaskId, TaskId), plan: &Plan) {
        let (from, to) = (self.ordered.level(u), self.ordered.level(v));
        let mut level = from;
        let mut at = (plan.centre[u.index()], self.end_of(u, plan));
        let (x, y) = self.point(at.0, at.1);
        path.move_to(x, y);
        for next in self.ordered.bends(index, to - from).chain([v]) {
            let is_end = next == v;
            level = if is_end { to } else { level + 1 };
            let goal = plan.start[level] + if is_end { self.inset(v, plan) } else { 0.0 };
            let across = plan.centre[next.index()];
            let middle = (at.1 + goal) / 2.0;
            let (ax, ay) = self.point(at.0, middle);
            let (bx, by) = self.point(across, middle);
            let (cx, cy) = self.point(across, goal);
            if at.0 == across {
                path.line_to(cx, cy)
            } else {
                path.curve_to([ax, ay, bx, by, cx, cy])
            };
            at = (across, goal);
            if !is_end && plan.thick[level] > 0.0 {
                at.1 += plan.thick[level];
                let (x, y) = self.point(at.0, at.1);
                path.line_to(x, y);
            }
        }
    }

    /// Where a box begins behind the start of its level: boxes stand in the middle of their level.
    fn inset(&self, node: TaskId, plan: &Plan) -> f64 {
        let (w, h) = self.size[node.index()];
        (plan.thick[self.ordered.level(node)] - if self.down { h } else { w }) / 2.0
    }

    fn end_of(&self, node: TaskId, plan: &Plan) -> f64 {
        let level = self.ordered.level(node);
        plan.start[level] + plan.thick[level] - self.inset(node, plan)
    }

    /// One arrow head for each box that has arcs coming in: they all end at its middle.
    fn draw_heads(&self, canvas: &mut Canvas, collapsed: &Collapsed, plan: &Plan) {
        let dag = &collapsed.dag;
        let mut most = vec![1usize; dag.len()];
        for ((_, v), &count) in dag.arcs().zip(&collapsed.arcs) {
            most[v.index()] = most[v.index()].max(count);
        }
        let mut path = Path::default();
        for node in dag.tasks().filter(|&node| !dag.is_source(node)) {
            let tip = plan.start[self.ordered.level(node)] + self.inset(node, plan);
            let across = plan.centre[node.index()];
            // Chosen by eye: seen at the thinnest line, and broader than the thickest.
            let half = 2.7 + 0.8 * thickness(most[node.index()]);
            let (x, y) = self.point(across, tip);
            path.move_to(x, y);
            for side in [-half, half] {
                let (x, y) = self.point(across + side, tip - 2.0 * half);
                path.line_to(x, y);
            }
            path.close();
        }
        if !path.is_empty() {
            canvas.path(&path, &format!("class=\"heads\" fill=\"{}\"", RULE.hex()));
        }
    }

    fn draw_node(&self, canvas: &mut Canvas, index: usize, node: &Node, plan: &Plan, colour: Rgb) {
        let id = TaskId(narrow(index));
        let (w, h) = self.size[index];
        let level = self.ordered.level(id);
        let (x, y) = self.point(
            plan.centre[index],
            plan.start[level] + plan.thick[level] / 2.0,
        );
        let (left, top) = (x - w / 2.0, y - h / 2.0);
        canvas.open_group(&format!("class=\"node\" data-n=\"{index}\""), &node.tip);
        let pale = tint(colour);
        let outline = |fill: Rgb| {
            format!(
                "rx=\"4\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"",
                fill.hex(),
                colour.hex()
            )
        };
        if node.stacked {
            canvas.rect([left + 3.0, top + 3.0, w - 3.0, h - 3.0], &outline(pale));
        }
        let behind = if node.stacked { 3.0 } else { 0.0 };
        let inner = [left, top, w - behind, h - behind];
        let text = |x: f64, y: f64, ground: Rgb, content: &str| {
            let place = Place::new(x, y, SIZE, Anchor::Middle);
            (place, Ink::Fixed(ground.ink()), content.to_owned())
        };
        canvas.rect(inner, &outline(pale));
        let badge = badge_width(node);
        if badge > 0.0 {
            let style = format!("rx=\"4\" {}", colour.fill());
            canvas.rect([left, top, badge, h], &style);
        }
        draw_strip(canvas, &node.strip, inner, colour);
        let room = inner[2] - badge - 8.0;
        let middle = inner[0] + badge + (inner[2] - badge) / 2.0;
        let text_height = inner[3] - strip_height(node);
        let first = inner[1] + text_height / 2.0 - LINE * (node.lines.len() as f64 - 1.0) / 2.0
            + HALF_CAPITAL * SIZE;
        for (i, line) in node.lines.iter().enumerate() {
            let line = text::shorten(line, SIZE, room);
            let (place, ink, content) = text(middle, first + LINE * i as f64, pale, &line);
            canvas.text(place, ink, &content);
        }
        if badge > 0.0 {
            let (place, ink, content) = text(
                left + badge / 2.0,
                y + HALF_CAPITAL * SIZE,
                colour,
                &node.number,
            );
            canvas.text(place, ink, &content);
        }
        canvas.close_group();
    }
}

/// When in the order the tasks of a box are executed: bars at its foot, the higher the more of the steps are its own.
fn draw_strip(
    canvas: &mut Canvas,
    strip: &[f64],
    [left, top, width, height]: [f64; 4],
    colour: Rgb,
) {
    if strip.is_empty() {
        return;
    }
    let (x, y, long) = (left + 5.0, top + height - STRIP - 3.0, width - 10.0);
    let ground = format!("{} fill-opacity=\"0.7\"", PAPER.fill());
    canvas.rect([x, y, long, STRIP], &ground);
    let dark = colour.towards(INK, 0.35);
    let step = long / strip.len() as f64;
    // Neighbouring bars of the same height, in eighths, are one.
    // At least two pixels: less is not seen.
    let high = |share: f64| {
        if share > 0.0 {
            ((share * 8.0).round() / 8.0 * STRIP).max(2.0)
        } else {
            0.0
        }
    };
    let mut from = 0;
    for to in 1..=strip.len() {
        if to == strip.len() || high(strip[to]) != high(strip[from]) {
            let h = high(strip[from]);
            if h > 0.0 {
                let bar = [
                    x + step * from as f64,
                    y + STRIP - h,
                    step * (to - from) as f64,
                    h,
                ];
                canvas.rect(bar, &dark.fill());
            }
            from = to;
        }
    }
}

/// Where everything lies on the page.
struct Plan {
    /// Across, of nodes and bends.
    centre: Vec<f64>,
    /// Along, of levels.
    start: Vec<f64>,
    thick: Vec<f64>,
}

/// How thick a line is that stands for so many arcs.
// By the logarithm: a million arcs are a line of six pixels, and two still differ from one.
fn thickness(arcs: usize) -> f64 {
    1.1 + 0.8 * (arcs.max(1) as f64).log10()
}

/// How much wider the box with the most tasks is than its text needs.
// Widths in pixels, chosen by eye: names are cut in the middle beyond these, and the largest kind is plainly the widest.
const BULK: f64 = 260.0;
const LONGEST_NAME: f64 = 150.0;
const LONGEST_LABEL: f64 = 210.0;
// By eye as well: lines of text of size 11 stand apart, and the strip of kinds is seen without being a box of its own.
const LINE: f64 = 15.0;
const STRIP: f64 = 8.0;

fn badge_width(node: &Node) -> f64 {
    if node.number.is_empty() {
        0.0
    } else {
        text::width(&node.number, SIZE) + 9.0
    }
}

fn strip_height(node: &Node) -> f64 {
    if node.strip.is_empty() {
        0.0
    } else {
        STRIP + 3.0
    }
}

fn box_size(node: &Node) -> (f64, f64) {
    let longest = if node.bulk.is_some() {
        LONGEST_LABEL
    } else {
        LONGEST_NAME
    };
    let text = (node.lines.iter())
        .map(|line| text::width(line, SIZE).min(longest))
        .fold(10.0, f64::max);
    let stack = if node.stacked { 3.0 } else { 0.0 };
    let bulk = node.bulk.map_or(0.0, |share| share * BULK);
    (
        (badge_width(node) + text + 12.0 + stack).max(bulk + stack),
        LINE * node.lines.len() as f64 + 7.0 + strip_height(node) + stack,
    )
}
