//! What each box of a dag drawing says and how it is coloured. Knows nothing of places on the page.

use crate::collapse::{Collapsed, Detail, Whole, common_name};
use crate::dag_drawing::DagDrawing;
use crate::layout::depths;
use crate::legend::Sample;
use crate::palette::{FILLS, PAPER, Rgb};
use crate::{ShowError, text};
use cairn_dag::TaskId;

/// What is known of the tasks, checked.
pub(crate) struct Facts<'a> {
    input: &'a DagDrawing<'a>,
    pub(crate) whole: Whole<'a>,
    /// The caller's number of each dense group.
    group_id: Vec<u32>,
    /// The dense group of tasks without parents and children, which are in no block, if there are several.
    loose: Option<u32>,
    /// Step of each task, from 1; empty without an order.
    step: Vec<u32>,
    /// Longest path from a source.
    depth: Vec<u32>,
}

/// A node as it will be drawn.
pub(crate) struct Node {
    /// Number in the order; empty for none or for several tasks.
    pub(crate) number: String,
    /// First line: name or kind.
    pub(crate) label: String,
    /// Second line, for several tasks.
    pub(crate) detail: String,
    /// What hovering tells.
    pub(crate) tip: String,
    /// Drawn as a stack: stands for several like things.
    pub(crate) stacked: bool,
    /// Its tasks as a share of the largest node's, if the width is to show that.
    pub(crate) bulk: Option<f64>,
    /// What decides the colour.
    pub(crate) colour_key: u32,
    first_step: u32,
}

impl<'a> Facts<'a> {
    /// Checks that the lists fit together.
    pub(crate) fn new(input: &'a DagDrawing<'a>) -> Result<Facts<'a>, ShowError> {
        check_lengths(input)?;
        let step = steps(input.order)?;
        let mut group_id = input.groups.to_vec();
        group_id.sort_unstable();
        group_id.dedup();
        let (whole, loose) = grouped(input, &group_id);
        Ok(Facts {
            input,
            whole,
            group_id,
            loose,
            step,
            depth: depths(input.dag),
        })
    }

    fn name(&self, task: TaskId) -> String {
        match self.input.names.get(task.index()) {
            Some(name) => text::clean(name),
            None => format!("task {}", task.0),
        }
    }

    /// The kind the caller gave a group; empty if none.
    fn kind_of(&self, group: u32) -> String {
        match self.group_id.get(group as usize) {
            Some(&id) => text::clean(label_of(self.input, id)),
            None => "isolated tasks".to_owned(),
        }
    }

    /// "block 7"; empty for the isolated tasks.
    fn number_of(&self, group: u32) -> String {
        let word = text::clean(self.input.group_word);
        let id = self.group_id.get(group as usize);
        id.map_or(String::new(), |&id| format!("{word} {}", u64::from(id) + 1))
    }

    /// "M(3,2)", or "block 7" if the caller gave no kind.
    fn group_label(&self, group: u32) -> String {
        let kind = self.kind_of(group);
        if kind.is_empty() {
            self.number_of(group)
        } else {
            kind
        }
    }

    /// "M(3,2)", or "block" if the caller gave no kind.
    fn kind_label(&self, group: u32) -> String {
        let kind = self.kind_of(group);
        if kind.is_empty() {
            text::clean(self.input.group_word)
        } else {
            kind
        }
    }

    /// "M(3,2), block 7".
    fn unique_group_label(&self, group: u32) -> String {
        let parts = [self.kind_of(group), self.number_of(group)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(", ")
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

    /// The boxes of a collapsed dag.
    pub(crate) fn nodes(&self, collapsed: &Collapsed) -> Vec<Node> {
        let mut nodes: Vec<Node> = (0..collapsed.dag.len())
            .map(|i| self.node(collapsed, i))
            .collect();
        if matches!(collapsed.detail, Detail::Levels | Detail::Bands) {
            let most = collapsed.members.iter().map(Vec::len).max().unwrap_or(1) as f64;
            for (node, members) in nodes.iter_mut().zip(&collapsed.members) {
                node.bulk = Some(members.len() as f64 / most);
            }
        }
        nodes
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
            bulk: None,
            colour_key: self.colour_key(collapsed.detail, group),
            first_step,
        };
        if let [task] = members[..] {
            node.number = if first_step > 0 {
                text::grouped(first_step.into())
            } else {
                String::new()
            };
            node.label = self.name(task);
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
            Detail::Groups | Detail::GroupLevels => {
                (self.group_label(group), self.loose == Some(group))
            }
            Detail::Alike if groups == 1 => (self.group_label(group), self.loose == Some(group)),
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
        let mut lines = vec![self.name(task)];
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
        let shown: Vec<String> = members.iter().take(4).map(|&t| self.name(t)).collect();
        let more = if members.len() > shown.len() {
            ", …"
        } else {
            ""
        };
        lines.push(format!("{}{more}", shown.join(", ")));
        lines.join("\n")
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
    pub(crate) fn colours(&self, collapsed: &Collapsed, nodes: &[Node]) -> Colours {
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

    /// Counts, and what a box stands for.
    pub(crate) fn subtitle(&self, collapsed: &Collapsed, colours: &Colours) -> String {
        let dag = self.whole.dag;
        let word = text::clean(self.input.group_word);
        let mut counts = vec![
            text::counted(dag.len(), "task", "tasks"),
            text::counted(dag.arc_count(), "arc", "arcs"),
        ];
        if self.whole.groups > 0 {
            let in_groups: Vec<TaskId> = dag
                .tasks()
                .filter(|t| Some(self.whole.group[t.index()]) != self.loose)
                .collect();
            counts.push(text::counted(
                self.group_count(&in_groups),
                &word,
                &format!("{word}s"),
            ));
        }
        let mut notes = vec![counts.join(", ")];
        notes.extend(self.box_note(collapsed, &word));
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

    /// What a box stands for, unless it is a task.
    fn box_note(&self, collapsed: &Collapsed, word: &str) -> Option<String> {
        let all: Vec<TaskId> = self.whole.dag.tasks().collect();
        let note = match collapsed.detail {
            Detail::Tasks => return None,
            Detail::Twins => "tasks with the same parents and children are one box".to_owned(),
            Detail::Groups if collapsed.dag.len() > self.group_count(&all) => {
                format!(
                    "each box is one {word}, or one level of it where {word}s wait for each other"
                )
            }
            Detail::Groups => format!("each box is one {word}"),
            Detail::GroupLevels => format!("each box is one level of a {word}"),
            Detail::Alike if self.whole.groups > 0 => {
                format!("each box is all {word}s of one kind and level with like neighbours")
            }
            Detail::Alike => "each box is all tasks of one level with like neighbours".to_owned(),
            Detail::Levels => "each box is one level, the wider the more tasks".to_owned(),
            Detail::Bands => {
                "each box is a band of successive levels, the wider the more tasks".to_owned()
            }
        };
        Some(note)
    }

    /// What the colours mean, unless they repeat.
    pub(crate) fn legend(&self, nodes: &[Node], colours: &Colours) -> Vec<(Sample, String)> {
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

/// Whether every list is empty or has one entry a task.
fn check_lengths(input: &DagDrawing<'_>) -> Result<(), ShowError> {
    let expected = input.dag.len();
    let lists = [
        ("names of tasks", input.names.len()),
        ("tasks in the order", input.order.len()),
        ("groups of tasks", input.groups.len()),
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
            Some(slot) if *slot == 0 => *slot = i as u32 + 1,
            _ => return Err(ShowError::NotAnOrder { task: task.0 }),
        }
    }
    Ok(step)
}

/// Numbers groups and kinds densely; `group_id` are the caller's groups, sorted. Isolated tasks, if there are several,
/// become one group of their own, whose number comes second.
fn grouped<'a>(input: &DagDrawing<'a>, group_id: &[u32]) -> (Whole<'a>, Option<u32>) {
    let dense = |id: &u32| group_id.binary_search(id).expect("it is in the list") as u32;
    let mut group: Vec<u32> = input.groups.iter().map(dense).collect();
    group.resize(input.dag.len(), 0);
    let labels = || group_id.iter().map(|&id| label_of(input, id));
    let mut kinds: Vec<&str> = labels().collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut kind: Vec<u32> = labels()
        .map(|label| kinds.binary_search(&label).expect("it is in the list") as u32)
        .collect();
    let is_loose = |t: &TaskId| input.dag.is_source(*t) && input.dag.is_sink(*t);
    let several = input.dag.tasks().filter(is_loose).nth(1).is_some();
    let loose = (several && !input.groups.is_empty()).then_some(group_id.len() as u32);
    if let Some(loose) = loose {
        kind.push(kinds.len() as u32);
        for task in input.dag.tasks().filter(is_loose) {
            group[task.index()] = loose;
        }
    }
    let whole = Whole {
        dag: input.dag,
        group,
        groups: kind.len(),
        kind,
    };
    (whole, loose)
}

/// The kind the caller gave a group, or nothing.
fn label_of<'a>(input: &DagDrawing<'a>, id: u32) -> &'a str {
    input.group_labels.get(id as usize).copied().unwrap_or("")
}

/// The colours of the boxes.
pub(crate) struct Colours {
    /// By colour key.
    pub(crate) fill: Vec<Rgb>,
    repeated: bool,
    by_kind: bool,
    shown: bool,
}

/// A pale ground for text, with the colour itself as border.
pub(crate) fn tint(colour: Rgb) -> Rgb {
    colour.towards(PAPER, 0.62)
}
