//! The native half of the Python package `cairn`: tasks are numbers here, names and arrays are made in Python. Knows no
//! algorithm.
//!
//! Long work goes on in a thread of its own, without the interpreter's lock, and Ctrl-C stops it (`work.rs`). Whatever is wrong
//! is an exception; a panic of ours is one too.

mod dag;
mod plan;
mod simulate;
mod storage;
mod work;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    _cairn,
    CairnError,
    PyValueError,
    "What was given cannot be used; the message says what and why."
);
pyo3::create_exception!(
    _cairn,
    CycleError,
    CairnError,
    "Tasks wait for each other. `args` has the message and the tasks."
);
pyo3::create_exception!(
    _cairn,
    DoesNotFit,
    CairnError,
    "No order within the cap is known. `args` has the message, the bytes missing and whether it is proved."
);

/// An error that names what is wrong.
fn refused(message: impl ToString) -> PyErr {
    CairnError::new_err(message.to_string())
}

#[pymodule]
mod _cairn {
    #[pymodule_export]
    use super::dag::Dag;
    #[pymodule_export]
    use super::plan::{batch, orders, plan};
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::storage::{Keeper, Storage, parse_size, size_words};
    #[pymodule_export]
    use super::{CairnError, CycleError, DoesNotFit};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
