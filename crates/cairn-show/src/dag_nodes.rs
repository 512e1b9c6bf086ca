//! What each box of a dag drawing says and how it is coloured. Knows nothing of places on the page.

use crate::collapse::{Collapsed, Group, Stage};
use crate::dag_drawing::DagDrawing;
use crate::kinds::{KindId, Kinds};
use crate::legend::Sample;
use crate::palette::{FILLS, PAPER, Rgb};
use crate::{ShowError, text};
use cairn_dag::{TaskId, narrow, wide};

/// Into how many stretches of the order the strip of a box is divided.
// Chosen by eye: in a box of usual width a stretch has a few pixels.
pub(crate) const STRETCHES: usize = 40;
/// Colours of kinds are explained while they are no more than this.
// As many as there are colours: with more kinds one colour stands for several, and a legend would lie.
const EXPLAINED: usize = 8;

/// Kinds and tasks of a box that are named when one points at it.
// Chosen by eye: few enough to be read at a glance, and the numbers of all stand beside them.
const KINDS_NAMED: usize = 6;
const TASKS_NAMED: usize = 3;

/// What is known of the tasks, checked.
pub(crate) struct Facts<'a> {
    input: &'a DagDrawing<'a>,
    pub(crate) kinds: Kinds,
    /// Step of each task, from 1; empty without an order.
    step: Vec<u32>,
    /// Longest path from a source.
    depth: Vec<u32>,
}

/// A node as it will be drawn.
pub(crate) struct Node {
    /// Number in the order; empty for none or for groups.
    pub(crate) number: String,
    /// What the box says, line by line.
    pub(crate) lines: Vec<String>,
    /// What hovering tells.
    pub(crate) tip: String,
    /// Drawn as a stack: stands for several tasks.
    pub(crate) stacked: bool,
    /// Its tasks as a share of the largest node's, if the width is to show that.
    pub(crate) bulk: Option<f64>,
    /// For each stretch of the order the share of its steps that belong to this node; empty for single tasks.
    pub(crate) strip: Vec<f64>,
    /// What decides the colour.
    pub(crate) colour_key: u32,
    first_step: u32,
}

impl<'a> Facts<'a> {
    /// Checks that the lists fit together.
    pub(crate) fn new(input: &'a DagDrawing<'a>) -> Result<Facts<'a>, ShowError> {
        check_lengths(input)?;
        Ok(Facts {
            input,
            kinds: Kinds::new(input.dag.len(), input.kinds),
            step: steps(input.order)?,
            depth: input.dag.levels().as_slice().to_vec(),
        })
    }

    fn name(&self, task: TaskId) -> String {
        match self.input.names.get(task.index()) {
            Some(name) => text::clean(name),
            None => format!("task {}", task.0),
        }
    }

    /// The names of all tasks with the node each is in, in the order of the schedule.
    pub(crate) fn index(&self, collapsed: &Collapsed) -> Vec<(u32, String)> {
        let mut node = vec![0u32; self.input.dag.len()];
        for (group, i) in collapsed.groups.iter().zip(0..) {
            group.members.iter().for_each(|t| node[t.index()] = i);
        }
        let entry = |task: TaskId| (node[task.index()], self.name(task));
        match self.input.order {
            [] => self.input.dag.tasks().map(entry).collect(),
            order => order.iter().map(|&task| entry(task)).collect(),
        }
    }

    /// The boxes of a collapsed dag.
    pub(crate) fn nodes(&self, collapsed: &Collapsed) -> Vec<Node> {
        let most = collapsed
            .groups
            .iter()
            .map(|g| g.members.len())
            .max()
            .unwrap_or(1) as f64;
        let mut nodes: Vec<Node> = (collapsed.groups.iter().enumerate())
            .map(|(i, group)| match collapsed.in_full {
                true => self.task(group.members[0]),
                false => {
                    let mut node = self.group(collapsed, group);
                    // The root: otherwise one kind of 10⁵ tasks would make all others look alike.
                    node.bulk = Some((group.members.len() as f64 / most).sqrt());
                    if self.kinds.names.len() == 1 {
                        node.colour_key = narrow(i);
                    }
                    node
                }
            })
            .collect();
        let first_lines: Vec<String> = nodes.iter().map(|n| n.lines.join(" ")).collect();
        if !collapsed.in_full {
            for (i, node) in nodes.iter_mut().enumerate() {
                node.tip += &neighbours(collapsed, narrow(i), &first_lines);
            }
        }
        nodes
    }

    fn task(&self, task: TaskId) -> Node {
        let step = self.step.get(task.index()).copied().unwrap_or(0);
        let number = if step > 0 {
            text::grouped(step.into())
        } else {
            String::new()
        };
        let colour_key = match self.kinds.names.len() {
            1 => self.depth[task.index()],
            _ => narrow(self.kinds.of[task.index()].index()),
        };
        Node {
            number,
            lines: vec![self.name(task)],
            tip: self.task_tip(task),
            stacked: false,
            bulk: None,
            strip: Vec::new(),
            colour_key,
            first_step: step,
        }
    }

    fn task_tip(&self, task: TaskId) -> String {
        let mut lines = vec![self.name(task)];
        let kind = self.kinds.name(self.kinds.of[task.index()]);
        if self.kinds.names.len() > 1 && kind != lines[0] {
            lines.push(format!("kind: {kind}"));
        }
        if let Some(&step) = self.step.get(task.index()) {
            let of = text::grouped(self.step.len() as u64);
            lines.push(format!(
                "number {} of {of} in the order",
                text::grouped(step.into())
            ));
        }
        let dag = self.input.dag;
        lines.push(format!(
            "level {}, {}, {}",
            text::grouped(u64::from(self.depth[task.index()]) + 1),
            text::counted(dag.parents(task).len(), "parent", "parents"),
            text::counted(dag.children(task).len(), "child", "children")
        ));
        lines.join("\n")
    }

    fn group(&self, collapsed: &Collapsed, group: &Group) -> Node {
        let lines = self.label(collapsed, group);
        let steps = || {
            group
                .members
                .iter()
                .filter_map(|t| self.step.get(t.index()).copied())
        };
        Node {
            number: String::new(),
            tip: self.group_tip(collapsed, group, &lines),
            lines,
            stacked: group.members.len() > 1,
            bulk: None,
            strip: self.strip(group),
            colour_key: narrow(group.stages[0].kinds[0].0.index()),
            first_step: steps().min().unwrap_or(0),
        }
    }

    /// "mDiffFit × 16,058", "align → sort × 500", the name of a single task.
    fn label(&self, collapsed: &Collapsed, group: &Group) -> Vec<String> {
        let one_kind = collapsed.kinds.names.len() == 1;
        if group.members.len() == 1 {
            return vec![self.single(collapsed, group.members[0], &group.stages[0])];
        }
        let first = &group.stages[0];
        let mut lines: Vec<String> = Vec::new();
        for (i, stage) in group.stages.iter().enumerate() {
            if stage.items == 1 && stage.tasks == 1 && one_kind {
                lines.push(self.name(group.members[i.min(group.members.len() - 1)]));
            } else {
                lines.extend(main_kinds(stage).map(|k| collapsed.kinds.name(k).to_owned()));
            }
        }
        for line in lines.iter_mut().skip(1) {
            line.insert_str(0, "→ ");
        }
        // Chosen by eye: taller boxes than this make levels too thick.
        const MOST_LINES: usize = 4;
        if lines.len() > MOST_LINES {
            let left_out = lines.len() - MOST_LINES + 1;
            lines.splice(
                MOST_LINES - 2..lines.len() - 1,
                [format!("→ … {left_out} more")],
            );
        }
        let last = lines.last_mut().expect("there is a stage");
        let times = if group.stages.len() > 1 {
            first.items
        } else {
            first.kinds[0].1
        };
        if times > 1 {
            *last += &format!(" × {}", text::grouped(times as u64));
        }
        if let [stage] = &group.stages[..]
            && stage.kinds.len() == 1
            && stage.items < stage.tasks
        {
            lines.push(match stage.items {
                1 => "in one chain".to_owned(),
                many => format!("in {} chains", text::grouped(many as u64)),
            });
        }
        // Of a mixture the next two telling kinds are named, if they are any considerable part of it.
        let (mut named, mut rest) = (0, 0);
        for stage in &group.stages {
            let main: Vec<KindId> = main_kinds(stage).collect();
            for (i, &(kind, count)) in stage.kinds.iter().enumerate() {
                if main.contains(&kind) {
                    continue;
                }
                // Half as many as the main kind and more than a handful, by eye: less would fill boxes with names that tell nothing.
                if i < stage.telling && named < 2 && 2 * count > times && count > 4 {
                    let name = collapsed.kinds.name(kind);
                    lines.push(format!("{name} × {}", text::grouped(count as u64)));
                    named += 1;
                } else {
                    rest += count;
                }
            }
        }
        if rest > 0 {
            lines.push(format!("+ {}", text::counted(rest, "other", "others")));
        }
        lines
    }

    /// A single task goes by its kind if no other task is of that kind, else by its name.
    fn single(&self, collapsed: &Collapsed, task: TaskId, stage: &Stage) -> String {
        let kind = stage.kinds[0].0;
        let alone = collapsed
            .kinds
            .of
            .iter()
            .filter(|&&k| k == kind)
            .nth(1)
            .is_none();
        if alone && (self.input.names.is_empty() || !self.input.kinds.is_empty()) {
            return collapsed.kinds.name(kind).to_owned();
        }
        // Of NF:ALIGN:BWA the last word tells the most.
        let name = self.name(task);
        match name.rsplit_once(':') {
            Some((_, last)) if !last.is_empty() && !name.contains(' ') => last.to_owned(),
            _ => name,
        }
    }

    /// The share of each stretch of the order that belongs to the group.
    fn strip(&self, group: &Group) -> Vec<f64> {
        if self.step.is_empty() {
            return Vec::new();
        }
        let all = self.step.len();
        let stretch = |step: usize| step * STRETCHES / all;
        let (mut own, mut total) = (vec![0.0; STRETCHES], vec![0.0; STRETCHES]);
        (0..all).for_each(|step| total[stretch(step)] += 1.0);
        for task in &group.members {
            own[stretch(wide(self.step[task.index()]) - 1)] += 1.0;
        }
        own.iter()
            .zip(&total)
            .map(|(own, all): (&f64, &f64)| own / all.max(1.0))
            .collect()
    }

    fn group_tip(&self, collapsed: &Collapsed, group: &Group, label: &[String]) -> String {
        let mut lines = vec![label.join(" ")];
        let members = &group.members;
        let levels = || members.iter().map(|t| u64::from(self.depth[t.index()]) + 1);
        let (low, high) = (levels().min().unwrap_or(0), levels().max().unwrap_or(0));
        let level = match low == high {
            true => format!("level {}", text::grouped(low)),
            false => format!("levels {}–{}", text::grouped(low), text::grouped(high)),
        };
        lines.push(format!(
            "{}, {level}",
            text::counted(members.len(), "task", "tasks")
        ));
        let mut kinds: Vec<(KindId, usize)> =
            group.stages.iter().flat_map(|s| s.kinds.clone()).collect();
        if kinds.len() > 1 {
            kinds.sort_by_key(|&(kind, count)| (std::cmp::Reverse(count), kind));
            let shown = kinds.iter().take(KINDS_NAMED).map(|&(kind, count)| {
                format!(
                    "{} × {}",
                    collapsed.kinds.name(kind),
                    text::grouped(count as u64)
                )
            });
            let shown: Vec<String> = shown.collect();
            let more = if kinds.len() > KINDS_NAMED {
                ", …"
            } else {
                ""
            };
            lines.push(format!("{}{more}", shown.join(", ")));
        }
        let steps = || members.iter().filter_map(|t| self.step.get(t.index()));
        if let (Some(&first), Some(&last)) = (steps().min(), steps().max()) {
            let [first, last, all] =
                [first.into(), last.into(), self.step.len() as u64].map(text::grouped);
            lines.push(match first == last {
                true => format!("number {first} of {all} in the order"),
                false => format!("numbers {first} to {last} of {all} in the order"),
            });
        }
        let shown: Vec<String> = members
            .iter()
            .take(TASKS_NAMED)
            .map(|&t| self.name(t))
            .collect();
        let more = if members.len() > shown.len() {
            ", …"
        } else {
            ""
        };
        lines.push(format!("{}{more}", shown.join(", ")));
        lines.join("\n")
    }

    /// A colour for each key: all different if there are enough, else neighbours differ where possible.
    pub(crate) fn colours(&self, collapsed: &Collapsed, nodes: &[Node]) -> Colours {
        let mut keys: Vec<(u32, u32)> =
            nodes.iter().map(|n| (n.first_step, n.colour_key)).collect();
        keys.sort_unstable();
        let keys: Vec<u32> = keys.into_iter().map(|(_, key)| key).collect();
        let count = nodes
            .iter()
            .map(|n| wide(n.colour_key) + 1)
            .max()
            .unwrap_or(0);
        // A bit a colour, of which there are eight.
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
            if fill[wide(key)].is_some() {
                continue;
            }
            distinct += 1;
            let free = |c: &usize| near[wide(key)] >> c & 1 == 0;
            let least = |&c: &usize| (used[c], c);
            let all = || 0..FILLS.len();
            // A colour that no neighbour has; of those the least used, so that all eight come up before one comes again.
            let colour = all()
                .filter(free)
                .min_by_key(least)
                .or(all().min_by_key(least))
                .unwrap_or(0);
            fill[wide(key)] = Some(colour);
            used[colour] += 1;
            let from = neighbours.partition_point(|p| p.0 < key);
            for &(_, other) in neighbours[from..].iter().take_while(|p| p.0 == key) {
                near[wide(other)] |= 1 << colour;
            }
        }
        Colours {
            fill: fill.into_iter().map(|c| FILLS[c.unwrap_or(0)]).collect(),
            distinct,
        }
    }

    /// Counts, and how to read the boxes.
    pub(crate) fn subtitle(&self, collapsed: &Collapsed) -> String {
        let dag = self.input.dag;
        let mut counts = vec![
            text::counted(dag.len(), "task", "tasks"),
            text::counted(dag.arc_count(), "arc", "arcs"),
        ];
        if self.kinds.names.len() > 1 {
            let (one, many) = self.input.kind_words;
            let (one, many) = (text::clean(one), text::clean(many));
            counts.push(text::counted(self.kinds.names.len(), &one, &many));
        }
        let mut notes = vec![counts.join(", ")];
        if collapsed.in_full {
            if !self.step.is_empty() {
                notes.push("numbers: place in the order".to_owned());
            }
        } else {
            let what = match self.kinds.names.len() {
                1 => "group of tasks in like places".to_owned(),
                _ => text::clean(self.input.kind_words.0),
            };
            notes.push(format!("each box is a {what}, the wider the more tasks"));
            if !self.step.is_empty() {
                notes.push("the bar in a box shows when in the order its tasks are executed, from left to right".to_owned());
            }
        }
        notes.join("; ")
    }

    /// What the colours mean, where the boxes do not say it and there are few.
    pub(crate) fn legend(
        &self,
        collapsed: &Collapsed,
        nodes: &[Node],
        colours: &Colours,
    ) -> Vec<(Sample, String)> {
        let kinds = self.kinds.names.len();
        if !collapsed.in_full || kinds < 2 || kinds == nodes.len() || colours.distinct > EXPLAINED {
            return Vec::new();
        }
        let mut first: Vec<(u32, u32)> =
            nodes.iter().map(|n| (n.first_step, n.colour_key)).collect();
        first.sort_unstable();
        let mut seen = vec![false; colours.fill.len()];
        first.retain(|&(_, key)| !std::mem::replace(&mut seen[wide(key)], true));
        let entry = |&(_, key): &(u32, u32)| {
            let fill = colours.fill[wide(key)];
            (
                Sample::Area(tint(fill), fill),
                self.kinds.names[wide(key)].clone(),
            )
        };
        first.iter().map(entry).collect()
    }
}

/// The kinds that a stage is called by, in the order in which its tasks follow each other: the most telling, and those
/// of which there are about as many.
fn main_kinds(stage: &Stage) -> impl Iterator<Item = KindId> + '_ {
    // Chosen by eye: three names fit into a box; more would be cut to pieces.
    const MOST: usize = 3;
    let most = stage.kinds[0].1;
    // Within a tenth: 500 aligns and 498 sorts go together under both names, 500 and 20 do not.
    let near = |count: usize| 10 * count >= 9 * most && 9 * count <= 10 * most;
    let mut main: Vec<KindId> = Vec::new();
    for (i, &(kind, count)) in stage.kinds.iter().enumerate() {
        let telling = i == 0 || i < stage.telling;
        if telling && near(count) && main.len() < MOST {
            main.push(kind);
        }
    }
    stage
        .line
        .iter()
        .copied()
        .filter(move |kind| main.contains(kind))
}

/// The groups before and behind a node, with the arcs to them.
fn neighbours(collapsed: &Collapsed, node: u32, names: &[String]) -> String {
    // Chosen by eye: a tip is read at a glance, and the neighbours with the most arcs come first.
    const SHOWN: usize = 5;
    let mut out = String::new();
    for before in [true, false] {
        let arcs = collapsed.dag.arcs().zip(&collapsed.arcs);
        let mut near: Vec<(usize, u32)> = arcs
            .filter(|((u, v), _)| if before { v.0 == node } else { u.0 == node })
            .map(|((u, v), &count)| (count, if before { u.0 } else { v.0 }))
            .collect();
        near.sort_by_key(|&(count, other)| (std::cmp::Reverse(count), other));
        let shown: Vec<String> = (near.iter().take(SHOWN))
            .map(|&(count, other)| {
                format!(
                    "{} ({})",
                    names[wide(other)],
                    text::counted(count, "arc", "arcs")
                )
            })
            .collect();
        if !shown.is_empty() {
            let more = if near.len() > SHOWN { ", …" } else { "" };
            let word = if before { "after" } else { "before" };
            out += &format!("\n{word} {}{more}", shown.join(", "));
        }
    }
    out
}

/// Whether every list is empty or has one entry a task.
fn check_lengths(input: &DagDrawing<'_>) -> Result<(), ShowError> {
    let expected = input.dag.len();
    let lists = [
        ("names of tasks", input.names.len()),
        ("tasks in the order", input.order.len()),
        ("kinds of tasks", input.kinds.len()),
    ];
    match lists
        .into_iter()
        .find(|&(_, found)| found != 0 && found != expected)
    {
        Some((what, found)) => Err(ShowError::WrongLength {
            what,
            expected,
            found,
        }),
        None => Ok(()),
    }
}

/// The step of each task, from 1, if the order names each exactly once.
fn steps(order: &[TaskId]) -> Result<Vec<u32>, ShowError> {
    let mut step = vec![0u32; order.len()];
    for (i, task) in order.iter().enumerate() {
        match step.get_mut(task.index()) {
            Some(slot) if *slot == 0 => *slot = narrow(i) + 1,
            _ => return Err(ShowError::NotAnOrder { task: *task }),
        }
    }
    Ok(step)
}

/// The colours of the boxes.
pub(crate) struct Colours {
    /// By colour key.
    pub(crate) fill: Vec<Rgb>,
    distinct: usize,
}

/// A pale ground for text, with the colour itself as border.
pub(crate) fn tint(colour: Rgb) -> Rgb {
    // So pale that black text has a contrast of nearly 12 even on the darkest of the eight, blue; and they still differ.
    colour.towards(PAPER, 0.62)
}
