//! The dag drawn by levels, coloured by block and numbered by order; large dags in super-nodes. Knows blocks only as
//! the caller's groups.

use crate::collapse::{self, Collapsed, Detail, Limits, Whole, common_name};
use crate::figure::{Anchor, Canvas, Figure, Ink, Path, Place, heading};
use crate::layout::{Gaps, Ordered, depths};
use crate::legend::{self, Sample};
use crate::palette::{FILLS, PAPER, RULE, Rgb};
use crate::{ShowError, text};
use cairn_dag::{Dag, TaskId};

/// Which way the arcs run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Whichever gives the handier shape.
    #[default]
    Auto,
    /// From top to bottom.
    Down,
    /// From left to right.
    Right,
}

/// The figure "the dag by levels".
///
/// Up to [`max_nodes`](DagDrawing::max_nodes) tasks each task is a box with its number in the order and, where it
/// fits, its name. Larger dags are collapsed, as little as possible: tasks with the same parents and children, else
/// groups, else groups of one kind with like surroundings, else levels. Nothing is left out: each task is in exactly
/// one node, and the subtitle says what a node stands for.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_show::DagDrawing;
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let order: Vec<TaskId> = diamond.tasks().collect();
/// let figure = DagDrawing {
///     names: &["fetch", "align", "sort", "report"],
///     order: &order,
///     groups: &[0, 1, 1, 1],
///     group_labels: &["W(1,2)", "M(1,2)"],
///     ..DagDrawing::new("diamond", &diamond)
/// }
/// .draw()?;
/// assert!(figure.svg().contains("report"));
/// # Ok::<(), cairn_show::ShowError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DagDrawing<'a> {
    /// Large, at the top.
    pub title: &'a str,
    /// The dag.
    pub dag: &'a Dag,
    /// One name for each task; or empty: tasks are then called by their number in the input.
    pub names: &'a [&'a str],
    /// All tasks in the order of the schedule; or empty: nodes then carry no numbers.
    pub order: &'a [TaskId],
    /// The group (block) of each task; or empty. A block's tasks are best those that are executed *for* it: the tasks
    /// whose children lie in it, and its sinks that are sinks of the dag.
    pub groups: &'a [u32],
    /// The kind of each group, as in "M(3,2)", by group number; may be shorter than the groups are many.
    pub group_labels: &'a [&'a str],
    /// What one group is called.
    pub group_word: &'a str,
    /// The most nodes to draw.
    pub max_nodes: usize,
    /// Which way the arcs run.
    pub direction: Direction,
}

/// Default of [`DagDrawing::max_nodes`].
const MAX_NODES: usize = 200;
/// The most super-nodes on one level.
const MAX_ROW: usize = 36;
/// The most tasks on one level before tasks are merged.
const MAX_TASK_ROW: usize = 60;
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

impl<'a> DagDrawing<'a> {
    /// A drawing without names, numbers and groups, to be filled in.
    pub fn new(title: &'a str, dag: &'a Dag) -> DagDrawing<'a> {
        DagDrawing {
            title,
            dag,
            names: &[],
            order: &[],
            groups: &[],
            group_labels: &[],
            group_word: "block",
            max_nodes: MAX_NODES,
            direction: Direction::Auto,
        }
    }

    /// Draws the figure. Time O(tasks + arcs) to collapse, and O(n·levels·log n) for the n nodes drawn.
    ///
    /// # Errors
    /// [`ShowError::WrongLength`], [`ShowError::NotAnOrder`] if the lists do not fit the dag.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        let facts = Facts::new(self)?;
        let limits = Limits {
            nodes: self.max_nodes.max(1),
            row: MAX_ROW,
            task_row: MAX_TASK_ROW,
        };
        let collapsed = collapse::collapse(&facts.whole, limits);
        let ordered = Ordered::new(&collapsed.dag, &collapsed.level);
        let nodes: Vec<Node> = (0..collapsed.dag.len())
            .map(|i| facts.node(&collapsed, i))
            .collect();
        let sheet = Sheet::best(self, &ordered, &nodes);
        let colours = facts.colours(&collapsed, &nodes);
        Ok(sheet.draw(&facts, &collapsed, &nodes, &colours))
    }

    fn name(&self, task: TaskId) -> String {
        match self.names.get(task.index()) {
            Some(name) => text::clean(name),
            None => format!("task {}", task.0),
        }
    }
}

/// What is known of the tasks, checked.
struct Facts<'a> {
    input: &'a DagDrawing<'a>,
    whole: Whole<'a>,
    /// The caller's number of each dense group.
    group_id: Vec<u32>,
    /// Step of each task, from 1; empty without an order.
    step: Vec<u32>,
    /// Longest path from a source.
    depth: Vec<u32>,
}

/// A node as it will be drawn.
struct Node {
    /// Number in the order; empty for none or for several tasks.
    number: String,
    /// First line: name or kind.
    label: String,
    /// Second line, for several tasks.
    detail: String,
    tip: String,
    /// Drawn as a stack: stands for several like things.
    stacked: bool,
    /// What decides the colour.
    colour_key: u32,
    first_step: u32,
}

impl<'a> Facts<'a> {
    fn new(input: &'a DagDrawing<'a>) -> Result<Facts<'a>, ShowError> {
        let tasks = input.dag.len();
        let lists = [
            ("names of tasks", input.names.len()),
            ("tasks in the order", input.order.len()),
            ("groups of tasks", input.groups.len()),
        ];
        for (what, found) in lists {
            if found != 0 && found != tasks {
                return Err(ShowError::WrongLength {
                    what,
                    expected: tasks,
                    found,
                });
            }
        }
        let mut step = vec![0u32; input.order.len()];
        for (i, task) in input.order.iter().enumerate() {
            match step.get_mut(task.index()) {
                Some(slot) if *slot == 0 => *slot = i as u32 + 1,
                _ => return Err(ShowError::NotAnOrder { task: task.0 }),
            }
        }
        let mut group_id = input.groups.to_vec();
        group_id.sort_unstable();
        group_id.dedup();
        let dense = |id: &u32| group_id.binary_search(id).expect("it is in the list") as u32;
        let group = if input.groups.is_empty() {
            vec![0; tasks]
        } else {
            input.groups.iter().map(dense).collect()
        };
        let mut kinds: Vec<&str> = group_id.iter().map(|&id| label_of(input, id)).collect();
        let of_group = kinds.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let kind = of_group
            .iter()
            .map(|k| kinds.binary_search(k).expect("it is in the list") as u32)
            .collect();
        let whole = Whole {
            dag: input.dag,
            group,
            groups: group_id.len(),
            kind,
        };
        Ok(Facts {
            input,
            whole,
            group_id,
            step,
            depth: depths(input.dag),
        })
    }

    /// "M(3,2)", or "block 7" if the caller gave no kind.
    fn group_label(&self, group: u32) -> String {
        let id = self.group_id[group as usize];
        match label_of(self.input, id) {
            "" => format!(
                "{} {}",
                text::clean(self.input.group_word),
                u64::from(id) + 1
            ),
            label => text::clean(label),
        }
    }

    fn kind_label(&self, group: u32) -> String {
        match label_of(self.input, self.group_id[group as usize]) {
            "" => text::clean(self.input.group_word),
            label => text::clean(label),
        }
    }

    fn group_count(&self, members: &[TaskId]) -> usize {
        let mut groups: Vec<u32> = members
            .iter()
            .map(|t| self.whole.group[t.index()])
            .collect();
        groups.sort_unstable();
        groups.dedup();
        groups.len()
    }

    fn node(&self, collapsed: &Collapsed, index: usize) -> Node {
        let members = &collapsed.members[index];
        let steps = || {
            members
                .iter()
                .filter_map(|t| self.step.get(t.index()).copied())
        };
        let (first_step, last_step) = (steps().min().unwrap_or(0), steps().max().unwrap_or(0));
        let group = self.whole.group[members[0].index()];
        let mut node = Node {
            number: String::new(),
            label: String::new(),
            detail: String::new(),
            tip: String::new(),
            stacked: false,
            colour_key: self.colour_key(collapsed.detail, group),
            first_step,
        };
        if let [task] = members[..] {
            node.number = if first_step > 0 {
                text::grouped(first_step.into())
            } else {
                String::new()
            };
            node.label = self.input.name(task);
            node.tip = self.task_tip(task);
            return node;
        }
        let groups = if self.whole.groups > 0 {
            self.group_count(members)
        } else {
            0
        };
        let names = || {
            members
                .iter()
                .map(|t| self.input.names.get(t.index()).copied().unwrap_or("task"))
        };
        let several =
            |count: usize, what: String| format!("{} × {what}", text::grouped(count as u64));
        (node.label, node.stacked) = match collapsed.detail {
            Detail::Tasks | Detail::Twins => (several(members.len(), common_name(names())), true),
            Detail::Alike if groups == 0 => (several(members.len(), common_name(names())), true),
            Detail::Groups | Detail::GroupLevels => (self.group_label(group), false),
            Detail::Alike if groups == 1 => (self.group_label(group), false),
            Detail::Alike => (several(groups, self.kind_label(group)), true),
            Detail::Levels | Detail::Bands => (self.level_label(members), false),
        };
        node.detail = text::counted(members.len(), "task", "tasks");
        if first_step > 0 {
            let closed = (last_step - first_step) as usize + 1 == members.len();
            let dash = if closed { "–" } else { "…" };
            node.detail += &format!(
                ", {}{dash}{}",
                text::grouped(first_step.into()),
                text::grouped(last_step.into())
            );
        }
        node.tip = self.super_tip(&node, members, groups, (first_step, last_step));
        node
    }

    fn level_label(&self, members: &[TaskId]) -> String {
        let depths = || members.iter().map(|t| self.depth[t.index()] + 1);
        let (low, high) = (depths().min().unwrap_or(0), depths().max().unwrap_or(0));
        let [low_text, high_text] = [low, high].map(|l| text::grouped(l.into()));
        if low == high {
            format!("level {low_text}")
        } else {
            format!("levels {low_text}–{high_text}")
        }
    }

    fn task_tip(&self, task: TaskId) -> String {
        let mut lines = vec![self.input.name(task)];
        if let Some(&step) = self.step.get(task.index()) {
            let of = text::grouped(self.step.len() as u64);
            lines.push(format!(
                "executed as number {} of {of}",
                text::grouped(step.into())
            ));
        }
        if self.whole.groups > 0 {
            let group = self.whole.group[task.index()];
            lines.push(self.unique_group_label(group));
        }
        let dag = self.whole.dag;
        lines.push(format!(
            "level {}, {}, {}",
            text::grouped(u64::from(self.depth[task.index()]) + 1),
            text::counted(dag.parents(task).len(), "parent", "parents"),
            text::counted(dag.children(task).len(), "child", "children")
        ));
        lines.join("\n")
    }

    fn super_tip(
        &self,
        node: &Node,
        members: &[TaskId],
        groups: usize,
        steps: (u32, u32),
    ) -> String {
        let mut lines = vec![
            node.label.clone(),
            text::counted(members.len(), "task", "tasks"),
        ];
        if groups > 1 {
            lines.push(format!(
                "{} {}s",
                text::grouped(groups as u64),
                text::clean(self.input.group_word)
            ));
        } else if groups == 1 {
            lines.push(self.unique_group_label(self.whole.group[members[0].index()]));
        }
        if steps.0 > 0 {
            let [first, last] = [steps.0, steps.1].map(|s| text::grouped(s.into()));
            lines.push(format!(
                "the first is executed as number {first}, the last as number {last}"
            ));
        }
        let shown: Vec<String> = members
            .iter()
            .take(4)
            .map(|&t| self.input.name(t))
            .collect();
        let more = if members.len() > shown.len() {
            ", …"
        } else {
            ""
        };
        lines.push(format!("{}{more}", shown.join(", ")));
        lines.join("\n")
    }

    /// "M(3,2), block 7".
    fn unique_group_label(&self, group: u32) -> String {
        let id = self.group_id[group as usize];
        let word = format!(
            "{} {}",
            text::clean(self.input.group_word),
            u64::from(id) + 1
        );
        match label_of(self.input, id) {
            "" => word,
            label => format!("{}, {word}", text::clean(label)),
        }
    }

    /// Groups have colours of their own until groups are merged; then kinds have.
    fn colour_key(&self, detail: Detail, group: u32) -> u32 {
        match detail {
            _ if self.whole.groups == 0 => 0,
            Detail::Tasks | Detail::Twins | Detail::Groups | Detail::GroupLevels => group,
            Detail::Alike => self.whole.kind[group as usize],
            Detail::Levels | Detail::Bands => 0,
        }
    }

    /// A colour for each key: all different if there are enough, else neighbours differ where possible.
    fn colours(&self, collapsed: &Collapsed, nodes: &[Node]) -> Colours {
        let mut keys: Vec<(u32, u32)> =
            nodes.iter().map(|n| (n.first_step, n.colour_key)).collect();
        keys.sort_unstable();
        let keys: Vec<u32> = keys.into_iter().map(|(_, key)| key).collect();
        let count = nodes
            .iter()
            .map(|n| n.colour_key as usize + 1)
            .max()
            .unwrap_or(0);
        let mut near = vec![0u8; count]; // bit c: a neighbour has colour c
        let mut fill = vec![None; count];
        let mut used = [0usize; FILLS.len()];
        let mut neighbours: Vec<(u32, u32)> = (collapsed.dag.arcs())
            .map(|(u, v)| (nodes[u.index()].colour_key, nodes[v.index()].colour_key))
            .flat_map(|(a, b)| [(a, b), (b, a)])
            .filter(|(a, b)| a != b)
            .collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        let mut distinct = 0;
        for key in keys {
            if fill[key as usize].is_some() {
                continue;
            }
            distinct += 1;
            let free = |c: &usize| near[key as usize] >> c & 1 == 0;
            let least = |&c: &usize| (used[c], c);
            let all = || 0..FILLS.len();
            let colour = all()
                .filter(free)
                .min_by_key(least)
                .or(all().min_by_key(least))
                .unwrap_or(0);
            fill[key as usize] = Some(colour);
            used[colour] += 1;
            let from = neighbours.partition_point(|p| p.0 < key);
            for &(_, other) in neighbours[from..].iter().take_while(|p| p.0 == key) {
                near[other as usize] |= 1 << colour;
            }
        }
        Colours {
            fill: fill.into_iter().map(|c| FILLS[c.unwrap_or(0)]).collect(),
            repeated: distinct > FILLS.len(),
            by_kind: collapsed.detail == Detail::Alike,
            shown: self.whole.groups > 0
                && !matches!(collapsed.detail, Detail::Levels | Detail::Bands),
        }
    }

    fn subtitle(&self, collapsed: &Collapsed, colours: &Colours) -> String {
        let dag = self.whole.dag;
        let word = text::clean(self.input.group_word);
        let mut parts = vec![format!(
            "{}, {}",
            text::counted(dag.len(), "task", "tasks"),
            text::counted(dag.arc_count(), "arc", "arcs")
        )];
        if self.whole.groups > 0 {
            parts.push(text::counted(self.whole.groups, &word, &format!("{word}s")));
        }
        let mut notes = vec![parts.join(", ")];
        if let Some(what) = match collapsed.detail {
            Detail::Tasks => None,
            Detail::Twins => {
                Some("tasks with the same parents and children are one box".to_owned())
            }
            Detail::Groups => Some(format!("each box is one {word}")),
            Detail::GroupLevels => Some(format!("each box is one level of a {word}")),
            Detail::Alike if self.whole.groups > 0 => Some(format!(
                "each box is all {word}s of one kind and level with like neighbours"
            )),
            Detail::Alike => {
                Some("each box is all tasks of one level with like neighbours".to_owned())
            }
            Detail::Levels => Some("each box is one level".to_owned()),
            Detail::Bands => Some("each box is a band of successive levels".to_owned()),
        } {
            notes.push(what);
        }
        if !self.step.is_empty() {
            notes.push("numbers: place in the order".to_owned());
        }
        if colours.shown && colours.repeated {
            let what = if colours.by_kind {
                "kinds"
            } else {
                &format!("{word}s")
            };
            notes.push(format!(
                "colours repeat, but differ between neighbouring {what} where possible"
            ));
        }
        notes.join("; ")
    }

    fn legend(&self, nodes: &[Node], colours: &Colours) -> Vec<(Sample, String)> {
        if !colours.shown || colours.repeated {
            return Vec::new();
        }
        let mut first: Vec<(u32, u32)> =
            nodes.iter().map(|n| (n.first_step, n.colour_key)).collect();
        first.sort_unstable();
        let mut seen = vec![false; colours.fill.len()];
        first.retain(|&(_, key)| !std::mem::replace(&mut seen[key as usize], true));
        (first.iter())
            .map(|&(_, key)| {
                let name = if colours.by_kind {
                    let group = self.whole.kind.iter().position(|&k| k == key).unwrap_or(0);
                    self.kind_label(group as u32)
                } else {
                    self.unique_group_label(key)
                };
                let fill = colours.fill[key as usize];
                (Sample::Area(tint(fill), fill), name)
            })
            .collect()
    }
}

/// The kind the caller gave a group, or nothing.
fn label_of<'a>(input: &DagDrawing<'a>, id: u32) -> &'a str {
    input.group_labels.get(id as usize).copied().unwrap_or("")
}

struct Colours {
    /// By colour key.
    fill: Vec<Rgb>,
    repeated: bool,
    by_kind: bool,
    shown: bool,
}

fn tint(colour: Rgb) -> Rgb {
    colour.towards(PAPER, 0.62)
}

/// How the boxes look: which way the arcs run and whether names are shown.
struct Sheet<'a> {
    ordered: &'a Ordered,
    down: bool,
    named: bool,
    /// Width and height of each box.
    size: Vec<(f64, f64)>,
}

impl<'a> Sheet<'a> {
    /// The first shape that is handy, or else the handiest.
    fn best(input: &DagDrawing<'_>, ordered: &'a Ordered, nodes: &[Node]) -> Sheet<'a> {
        let mut best: Option<(f64, Sheet<'a>)> = None;
        let numbered = !input.order.is_empty() && nodes.iter().all(|n| n.detail.is_empty());
        for named in [true, false] {
            for down in [true, false] {
                let turned = (input.direction == Direction::Down && !down)
                    || (input.direction == Direction::Right && down);
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

    fn draw(
        &self,
        facts: &Facts<'_>,
        collapsed: &Collapsed,
        nodes: &[Node],
        colours: &Colours,
    ) -> Figure {
        let (centre, extent) = self.ordered.place(&self.breadths(), GAPS);
        let thick = self.thickness();
        let gap = self.level_gaps(&collapsed.dag, &centre);
        let mut start = vec![0.0; thick.len()];
        for l in 1..thick.len() {
            start[l] = start[l - 1] + thick[l - 1] + gap[l - 1];
        }
        let along = start.last().map_or(0.0, |s| s + thick[thick.len() - 1]);
        let (wide, high) = self.point(extent, along);
        let width = (wide + 2.0 * MARGIN).max(520.0);
        let mut canvas = Canvas::new();
        let subtitle = facts.subtitle(collapsed, colours);
        let top = heading(&mut canvas, facts.input.title, &subtitle, width);
        let entries = facts.legend(nodes, colours);
        let top = legend::draw(&mut canvas, &entries, 16.0, top, width - 32.0) + 6.0;
        let (dx, dy) = ((width - wide) / 2.0, top);
        let (across, ahead) = if self.down { (dx, dy) } else { (dy, dx) };
        let plan = Plan {
            centre: centre.iter().map(|c| c + across).collect(),
            start: start.iter().map(|s| s + ahead).collect(),
            thick,
        };
        self.draw_arcs(&mut canvas, &collapsed.dag, &plan);
        for (i, node) in nodes.iter().enumerate() {
            let colour = colours.fill[node.colour_key as usize];
            self.draw_node(&mut canvas, i, node, &plan, colour);
        }
        let height = top + high + MARGIN;
        canvas.finish(width, height, facts.input.title, &subtitle)
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
            .map(|r| (32.0 + 0.09 * r).clamp(36.0, 170.0))
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
        (label.min(LONGEST_LABEL) + 16.0 + stack, 36.0 + stack)
    } else if named {
        let name = text::width(&node.label, SIZE).min(LONGEST_NAME);
        (badge_width(node) + name.max(10.0) + 12.0, 22.0)
    } else {
        (text::width(&node.number, SIZE).max(10.0) + 10.0, 20.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        let dag = Dag::from_arcs(2, vec![(0, 1)]).unwrap();
        let base = DagDrawing::new("", &dag);
        let names = DagDrawing {
            names: &["a"],
            ..base
        }
        .draw()
        .unwrap_err();
        assert_eq!(
            names,
            ShowError::WrongLength {
                what: "names of tasks",
                expected: 2,
                found: 1
            }
        );
        for order in [[TaskId(0), TaskId(0)], [TaskId(0), TaskId(2)]] {
            let error = DagDrawing {
                order: &order,
                ..base
            }
            .draw()
            .unwrap_err();
            assert_eq!(error, ShowError::NotAnOrder { task: order[1].0 });
        }
    }
}
