//! Long work beside the interpreter: without its lock, stopped by Ctrl-C or by the clock, and with panics caught. Knows not what
//! the work is.

use cairn_plan::Work;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How often Ctrl-C is asked for: soon enough for whoever pressed it, seldom enough not to be felt by the work.
const ASK: Duration = Duration::from_millis(50);

/// Does something in another thread, which is to stop once the time is up or Ctrl-C was pressed; in the second case the
/// answer is dropped and `KeyboardInterrupt` raised.
pub(crate) fn beside<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    act: impl FnOnce(&Work<'_>) -> PyResult<T> + Send,
) -> PyResult<T> {
    beside_in_two(py, limit, |work, _| act(work))
}

/// [`beside`] for work of two parts: the second is for the first of them, and is to stop when half of the time is over.
pub(crate) fn beside_in_two<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    act: impl FnOnce(&Work<'_>, &Work<'_>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let start = Instant::now();
    let is_interrupted = AtomicBool::new(false);
    let is_over = |limit: Option<Duration>| {
        is_interrupted.load(Ordering::Relaxed) || limit.is_some_and(|l| start.elapsed() >= l)
    };
    let (stop, half_over) = (|| is_over(limit), || is_over(limit.map(|l| l / 2)));
    let (done, mut answer) = channel();
    std::thread::scope(|scope| {
        let (work, half) = (Work::until(&stop), Work::until(&half_over));
        scope.spawn(move || {
            let made = catch_unwind(AssertUnwindSafe(|| act(&work, &half)));
            // Whoever asked waits for it.
            let _ = done.send(made);
        });
        // Kept until the work has ended: the thread borrows what the caller holds.
        let mut interrupt = None;
        loop {
            let answer = &mut answer;
            // Without the lock while it waits: else every other thread of Python would stand still.
            match py.detach(move || answer.recv_timeout(ASK)) {
                Ok(Ok(made)) => return interrupt.map_or(made, Err),
                Ok(Err(panic)) => return Err(internal(panic.as_ref())),
                Err(RecvTimeoutError::Disconnected) => return Err(internal(&"the work was lost")),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = py.check_signals() {
                        is_interrupted.store(true, Ordering::Relaxed);
                        interrupt.get_or_insert(error);
                    }
                }
            }
        }
    })
}

/// Short work, with the lock: a panic becomes an exception.
pub(crate) fn here<T>(act: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| Err(internal(panic.as_ref())))
}

/// A fault of ours.
fn internal(panic: &(dyn std::any::Any + Send)) -> PyErr {
    let words = (panic.downcast_ref::<&str>().copied())
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no words");
    PyRuntimeError::new_err(format!(
        "internal error of cairn: {words}; please report it with the workflow that shows it"
    ))
}

/// A time limit in seconds, checked.
pub(crate) fn limit(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    match seconds {
        None => Ok(None),
        Some(seconds) if seconds.is_finite() && seconds >= 0.0 => {
            // Thirty years are for ever, and fit; not every float does.
            Ok(Some(Duration::from_secs_f64(seconds.min(1e9))))
        }
        Some(seconds) => Err(crate::refused(format!(
            "time_limit={seconds} is no number of seconds; give a number from 0 on"
        ))),
    }
}
