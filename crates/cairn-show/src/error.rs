//! Why a figure could not be drawn.

use crate::text;
use cairn_dag::TaskId;

/// The data handed over do not fit together, or the picture cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShowError {
    /// A list has the wrong length.
    #[error("{what}: {found} given, but {expected} are needed")]
    WrongLength {
        /// The list.
        what: &'static str,
        /// Its length should be.
        expected: usize,
        /// Its length is.
        found: usize,
    },
    /// The order names a task twice or names one that does not exist.
    #[error("the order is no order of the dag's tasks: task {} is repeated or unknown", task.0)]
    NotAnOrder {
        /// The task's number.
        task: TaskId,
    },
    /// An optimal step lies behind the last step.
    #[error("step {step} is marked optimal, but the first profile ends at step {last}")]
    StepOutOfRange {
        /// The step.
        step: u32,
        /// The last step of the first profile.
        last: usize,
    },
    /// A number is infinite or not a number, or an interval's ends are in the wrong order.
    #[error(
        "{what}: '{name}' has a value that cannot be drawn (not finite, or low end above high end)"
    )]
    BadValue {
        /// Which figure.
        what: &'static str,
        /// The row, point or cell.
        name: String,
    },
    /// The picture is larger than a PNG may be here.
    #[error(
        "a PNG of {width} x {height} pixels is too large: draw at a smaller scale, or write SVG"
    )]
    TooLarge {
        /// In pixels.
        width: u64,
        /// In pixels.
        height: u64,
    },
    /// The SVG text could not be read back or encoded.
    #[error("cannot make a PNG: {0}")]
    Png(String),
}

impl ShowError {
    /// Something called so has a value that cannot be drawn.
    pub(crate) fn bad_value(what: &'static str, name: &str) -> ShowError {
        let name = text::clean(name);
        ShowError::BadValue { what, name }
    }

    /// Refuses the first of some numbers, each with its name, that is not finite.
    pub(crate) fn unless_finite<'a>(
        what: &'static str,
        numbers: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), ShowError> {
        let mut numbers = numbers.into_iter();
        match numbers.find(|(_, value)| !value.is_finite()) {
            Some((name, _)) => Err(ShowError::bad_value(what, name)),
            None => Ok(()),
        }
    }
}
