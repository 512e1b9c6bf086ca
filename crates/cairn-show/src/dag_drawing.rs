//! The dag drawn by levels, coloured by block and numbered by order; large dags in super-nodes. Knows blocks only as
//! the caller's groups.

use crate::ShowError;
use crate::collapse::{self, Limits};
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
    /// So many nodes, and on each level no more than can be taken in: larger dags are collapsed.
    AtMost(usize),
    /// Each task by itself, however many there are. The picture may be huge.
    EveryTask,
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes::AtMost(200)
    }
}

impl Nodes {
    fn limits(self) -> Limits {
        match self {
            Nodes::AtMost(nodes) => Limits {
                nodes: nodes.max(1),
                row: 36,
                task_row: 60,
                column: 40,
            },
            Nodes::EveryTask => Limits {
                nodes: usize::MAX,
                row: usize::MAX,
                task_row: usize::MAX,
                column: usize::MAX,
            },
        }
    }
}

/// The figure "the dag by levels".
///
/// While there are few enough tasks for [`nodes`](DagDrawing::nodes), each task is a box with its number in the order and, where it
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
    /// How much the drawing may hold.
    pub nodes: Nodes,
    /// Which way the arcs run.
    pub direction: Direction,
}

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
        let collapsed = collapse::collapse(&facts.whole, self.nodes.limits());
        let ordered = Ordered::new(&collapsed.dag, &collapsed.level);
        let nodes = facts.nodes(&collapsed);
        let colours = facts.colours(&collapsed, &nodes);
        let sheet = Sheet::best(self.direction, &ordered, &nodes);
        let subtitle = facts.subtitle(&collapsed, &colours);
        let legend = facts.legend(&nodes, &colours);
        Ok(sheet.draw(
            self.title,
            &subtitle,
            &legend,
            &collapsed.dag,
            &nodes,
            &colours,
        ))
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
