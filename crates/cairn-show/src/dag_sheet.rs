//! Where the boxes and arcs of a dag drawing lie on the page, and their drawing. Knows not what they stand for.

use crate::dag_drawing::Direction;
use crate::dag_nodes::{Colours, Node, tint};
use crate::figure::{Anchor, Canvas, Figure, Ink, Path, Place, heading};
use crate::layout::{Gaps, Ordered};
use crate::legend::{self, Sample};
use crate::palette::{RULE, Rgb};
use crate::text;
use cairn_dag::{Dag, TaskId};

/// A drawing that fits this needs no other shape.
const HANDY: (f64, f64) = (1500.0, 1100.0);
const MARGIN: f64 = 20.0;
const SIZE: f64 = 11.0;
const GAPS: Gaps = Gaps {
    nodes: 12.0,
    bends: 7.0,
    components: 14.0,
};
/// Up to this many arcs each is its own path, so that hovering can light it up.
const SINGLE_ARCS: usize = 3000;

/// How the boxes look: which way the arcs run and whether names are shown.
pub(crate) struct Sheet<'a> {
    ordered: &'a Ordered,
    down: bool,
    named: bool,
    /// Width and height of each box.
    size: Vec<(f64, f64)>,
}

impl<'a> Sheet<'a> {
    /// The first shape that is handy, or else the handiest.
    pub(crate) fn best(direction: Direction, ordered: &'a Ordered, nodes: &[Node]) -> Sheet<'a> {
        let mut best: Option<(f64, Sheet<'a>)> = None;
        let numbered = nodes.iter().all(|n| !n.number.is_empty());
        for named in [true, false] {
            for down in [true, false] {
                let turned = (direction == Direction::Down && !down)
                    || (direction == Direction::Right && down);
                if turned || (!named && !numbered) {
                    continue;
                }
                let size = nodes.iter().map(|node| box_size(node, named)).collect();
                let sheet = Sheet {
                    ordered,
                    down,
                    named,
                    size,
                };
                let (width, height) = sheet.estimate();
                let excess = (width / HANDY.0).max(height / HANDY.1);
                let cost = if excess <= 1.0 {
                    1.0
                } else {
                    excess * if named { 1.0 } else { 1.4 }
                };
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, sheet));
                }
            }
        }
        best.expect("names are always tried").1
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
            let level = self.ordered.level(TaskId(i as u32));
            thick[level] = thick[level].max(if self.down { h } else { w });
        }
        thick
    }

    fn estimate(&self) -> (f64, f64) {
        let across = self.ordered.least_extent(&self.breadths(), GAPS);
        let along: f64 = self.thickness().iter().map(|t| t + 46.0).sum();
        if self.down {
            (across, along)
        } else {
            (along, across)
        }
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
        dag: &Dag,
        nodes: &[Node],
        colours: &Colours,
    ) -> Figure {
        let (centre, extent) = self.ordered.place(&self.breadths(), GAPS);
        let thick = self.thickness();
        let gap = self.level_gaps(dag, &centre);
        let mut start = vec![0.0; thick.len()];
        for l in 1..thick.len() {
            start[l] = start[l - 1] + thick[l - 1] + gap[l - 1];
        }
        let along = start.last().map_or(0.0, |s| s + thick[thick.len() - 1]);
        let (wide, high) = self.point(extent, along);
        let width = (wide + 2.0 * MARGIN).max(520.0);
        let mut canvas = Canvas::new();
        let top = heading(&mut canvas, title, subtitle, width);
        let top = legend::draw(&mut canvas, entries, 16.0, top, width - 32.0) + 6.0;
        let (dx, dy) = ((width - wide) / 2.0, top);
        let (across, ahead) = if self.down { (dx, dy) } else { (dy, dx) };
        let plan = Plan {
            centre: centre.iter().map(|c| c + across).collect(),
            start: start.iter().map(|s| s + ahead).collect(),
            thick,
        };
        self.draw_arcs(&mut canvas, dag, &plan);
        for (i, node) in nodes.iter().enumerate() {
            let colour = colours.fill[node.colour_key as usize];
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
        reach
            .iter()
            .map(|r| (28.0 + 0.09 * r).clamp(30.0, 170.0))
            .collect()
    }

    fn draw_arcs(&self, canvas: &mut Canvas, dag: &Dag, plan: &Plan) {
        let arcs = dag.arc_count();
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
            if !single && tail != Some(u) && !path.is_empty() {
                canvas.path(&std::mem::take(&mut path), "");
            }
            tail = Some(u);
            self.arc_path(&mut path, (i, u, v), plan);
            if single {
                canvas.path(
                    &std::mem::take(&mut path),
                    &format!("data-a=\"{}\" data-b=\"{}\"", u.0, v.0),
                );
            }
        }
        if !path.is_empty() {
            canvas.path(&path, "");
        }
        canvas.close_group();
        self.draw_heads(canvas, dag, plan);
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
    fn draw_heads(&self, canvas: &mut Canvas, dag: &Dag, plan: &Plan) {
        let mut path = Path::default();
        for node in dag.tasks().filter(|&node| !dag.is_source(node)) {
            let tip = plan.start[self.ordered.level(node)] + self.inset(node, plan);
            let across = plan.centre[node.index()];
            for (i, (side, back)) in [(0.0, 0.0), (-3.5, -7.0), (3.5, -7.0)]
                .into_iter()
                .enumerate()
            {
                let (x, y) = self.point(across + side, tip + back);
                if i == 0 {
                    path.move_to(x, y)
                } else {
                    path.line_to(x, y)
                };
            }
            path.close();
        }
        if !path.is_empty() {
            canvas.path(&path, &format!("class=\"heads\" fill=\"{}\"", RULE.hex()));
        }
    }

    fn draw_node(&self, canvas: &mut Canvas, index: usize, node: &Node, plan: &Plan, colour: Rgb) {
        let id = TaskId(index as u32);
        let (w, h) = self.size[index];
        let level = self.ordered.level(id);
        let (x, y) = self.point(
            plan.centre[index],
            plan.start[level] + plan.thick[level] / 2.0,
        );
        let (left, top) = (x - w / 2.0, y - h / 2.0);
        let baseline = y + 0.36 * SIZE;
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
        let inner = if node.stacked {
            [left, top, w - 3.0, h - 3.0]
        } else {
            [left, top, w, h]
        };
        let text = |x: f64, y: f64, ground: Rgb, content: &str| {
            let place = Place {
                x,
                y,
                size: SIZE,
                anchor: Anchor::Middle,
            };
            (place, Ink::Fixed(ground.ink()), content.to_owned())
        };
        let mut texts = Vec::new();
        if !node.detail.is_empty() {
            canvas.rect(inner, &outline(pale));
            let middle = inner[0] + inner[2] / 2.0;
            let room = inner[2] - 8.0;
            let rise = inner[1] + inner[3] / 2.0;
            texts.push(text(
                middle,
                rise - 4.0,
                pale,
                &text::shorten(&node.label, SIZE, room),
            ));
            texts.push(text(
                middle,
                rise + 11.0,
                pale,
                &text::shorten(&node.detail, SIZE, room),
            ));
        } else if !self.named {
            canvas.rect(inner, &outline(colour));
            texts.push(text(x, baseline, colour, &node.number));
        } else {
            canvas.rect(inner, &outline(pale));
            let badge = badge_width(node);
            if badge > 0.0 {
                canvas.rect(
                    [left, top, badge, h],
                    &format!("rx=\"4\" fill=\"{}\"", colour.hex()),
                );
                texts.push(text(left + badge / 2.0, baseline, colour, &node.number));
            }
            let room = w - badge - 8.0;
            texts.push(text(
                left + badge + (w - badge) / 2.0,
                baseline,
                pale,
                &text::shorten(&node.label, SIZE, room),
            ));
        }
        for (place, ink, content) in texts {
            canvas.text(place, ink, &content);
        }
        canvas.close_group();
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

/// Width of the box with the most tasks, where width shows that.
const BULK: f64 = 600.0;
const LONGEST_NAME: f64 = 128.0;
const LONGEST_LABEL: f64 = 190.0;

fn badge_width(node: &Node) -> f64 {
    if node.number.is_empty() {
        0.0
    } else {
        text::width(&node.number, SIZE) + 9.0
    }
}

fn box_size(node: &Node, named: bool) -> (f64, f64) {
    if !node.detail.is_empty() {
        let label = text::width(&node.label, SIZE).max(text::width(&node.detail, SIZE));
        let stack = if node.stacked { 3.0 } else { 0.0 };
        let bulk = node.bulk.map_or(0.0, |share| share * BULK);
        (
            (label.min(LONGEST_LABEL) + 16.0 + stack).max(bulk),
            36.0 + stack,
        )
    } else if named {
        let name = text::width(&node.label, SIZE).min(LONGEST_NAME);
        (badge_width(node) + name.max(10.0) + 12.0, 22.0)
    } else {
        (text::width(&node.number, SIZE).max(10.0) + 10.0, 20.0)
    }
}
