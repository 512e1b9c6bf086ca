//! The dag drawn by levels: small ones task by task, large ones by kinds of job. Knows kinds only as the caller's words.

use crate::ShowError;
use crate::collapse::{self, Room};
use crate::dag_nodes::Facts;
use crate::dag_sheet::Sheet;
use crate::figure::Figure;
use crate::layout::Ordered;
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

/// How much a drawing may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// So many groups, or twice as many single tasks where groups would be hardly fewer.
    AtMost(usize),
    /// Each task by itself, however many there are. The picture may be huge.
    EveryTask,
}

impl Default for Nodes {
    fn default() -> Nodes {
        // Chosen by eye: with so many boxes a page still shows what is written in them.
        Nodes::AtMost(48)
    }
}

impl Nodes {
    fn room(self) -> Option<Room> {
        match self {
            Nodes::AtMost(groups) => Some(Room {
                groups: groups.max(1),
                tasks: 2 * groups.max(1),
            }),
            Nodes::EveryTask => None,
        }
    }
}

/// The figure "the dag by levels".
///
/// A small dag is drawn task by task: each a box with its number in the order and its name. Of a larger one the tasks of
/// one kind become a box, "align × 500", with a bar that shows when in the order they are executed. A kind is cut where
/// kinds would wait for each other in a circle, and where it hides most of the dag; kinds that follow each other one to
/// one share a box. Nothing is left out: each task is in exactly one box, the wider the more tasks, and each arc lies
/// inside a box or is counted in the thickness of a line.
///
/// ```
/// use cairn_dag::{Dag, TaskId};
/// use cairn_show::DagDrawing;
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let order: Vec<TaskId> = diamond.tasks().collect();
/// let figure = DagDrawing {
///     names: &["fetch", "align", "sort", "report"],
///     order: &order,
///     kinds: &["curl", "bwa", "samtools", "multiqc"],
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
    /// The kind of job of each task, in words; or empty.
    pub kinds: &'a [&'a str],
    /// What one kind is called, and what several are.
    pub kind_words: (&'a str, &'a str),
    /// How much the drawing may hold.
    pub nodes: Nodes,
    /// Which way the arcs run.
    pub direction: Direction,
}

impl<'a> DagDrawing<'a> {
    /// A drawing without names, numbers and kinds, to be filled in.
    pub fn new(title: &'a str, dag: &'a Dag) -> DagDrawing<'a> {
        DagDrawing {
            title,
            dag,
            names: &[],
            order: &[],
            kinds: &[],
            kind_words: ("kind of job", "kinds of job"),
            nodes: Nodes::default(),
            direction: Direction::Auto,
        }
    }

    /// Draws the figure. Time O(tasks + arcs) to collapse, and O(n·levels·log n) for the n nodes drawn.
    ///
    /// # Errors
    /// [`ShowError::WrongLength`], [`ShowError::NotAnOrder`] if the lists do not fit the dag.
    pub fn draw(&self) -> Result<Figure, ShowError> {
        let facts = Facts::new(self)?;
        let collapsed = match self.nodes.room() {
            Some(room) => collapse::collapse(self.dag, &facts.kinds, room),
            None => collapse::in_full(self.dag, &facts.kinds),
        };
        let ordered = Ordered::new(&collapsed.dag, &collapsed.level);
        let nodes = facts.nodes(&collapsed);
        let colours = facts.colours(&collapsed, &nodes);
        let sheet = Sheet::best(self.direction, &ordered, &nodes);
        let subtitle = facts.subtitle(&collapsed);
        let legend = facts.legend(&collapsed, &nodes, &colours);
        let figure = sheet.draw(self.title, &subtitle, &legend, &collapsed, &nodes, &colours);
        Ok(figure.with_index(facts.index(&collapsed), !self.order.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_counted_in_its_box_and_the_first_is_known() {
        // A source, and thirty tasks of one kind below it that share a box.
        let dag = Dag::from_arcs(31, (1..31).map(|t| (0, t)).collect()).unwrap();
        let kinds: Vec<&str> = (0..31).map(|t| if t == 0 { "a" } else { "b" }).collect();
        let drawing = DagDrawing {
            kinds: &kinds,
            nodes: Nodes::AtMost(5),
            ..DagDrawing::new("", &dag)
        };
        let boxes = drawing.draw().unwrap().boxes();
        assert_eq!(boxes.of_task.len(), 31);
        assert!(boxes.sizes.len() < 31);
        for (b, (&size, &first)) in (0..).zip(boxes.sizes.iter().zip(&boxes.first)) {
            let inside: Vec<u32> = (0..31)
                .filter(|&t| boxes.of_task[t as usize] == b)
                .collect();
            assert_eq!(inside.len(), size as usize);
            assert_eq!(inside.first(), Some(&first));
        }
    }

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
            assert_eq!(error, ShowError::NotAnOrder { task: order[1] });
        }
    }
}
