//! Dask: a program that submits every task with its priority. Knows no cluster.

use crate::program::{SCHEDULER_LOST, filled, string};
use crate::{Handover, Made};
use cairn_dag::plain;

/// `workflow.py`.
pub(crate) fn files(handover: &Handover) -> Vec<Made> {
    let mut rows = String::new();
    for (_, task) in handover.placed() {
        // Retries are the script's own: it knows after which exit code there is no other try.
        let (name, script) = (string(&task.name), string(&task.script));
        rows += &format!("    ({name}, {script}, {:?}),\n", task.parents);
    }
    // The name stands in a comment: without control characters it cannot end the line.
    let (name, lost) = (plain(&handover.name), SCHEDULER_LOST.to_string());
    let parts = [("@NAME@", &*name), ("@TASKS@", &rows), ("@LOST@", &lost)];
    let text = filled(PROGRAM, &parts);
    vec![Made::new("workflow.py", text)]
}

const PROGRAM: &str = r#"# @NAME@ for Dask, made by `cairn submit`.
#   python workflow.py                     on all cores here
#   python workflow.py tcp://host:8786     on a cluster that sees the same folders
# Of tasks that are ready Dask starts those of higher priority first; one that it has sent to a worker already may go before
# a better one that comes late.
# Exit codes: 1 when a task failed; 4 when the package is missing, and nothing was run; @LOST@ when the scheduler was lost on the way.
# When a worker dies, Dask makes its results again: a command that has ended is not run again for that (it left a mark in
# the folder `done`), one that was under way is begun again.
import os
import shutil
import subprocess
import sys
import uuid

# Name, script, tasks that come before (by number); in the order of the plan.
TASKS = [
@TASKS@]


def run(name, script, mark, *before):
    folder = os.path.dirname(mark)
    if not os.path.isdir(folder):
        raise RuntimeError(f"this worker does not see the folder {folder}")
    if not os.path.exists(mark):
        subprocess.run(["/bin/sh", "-c", script], check=True)
        with open(mark, "w") as file:
            os.fsync(file.fileno())
    return name


def main():
    try:
        from dask.distributed import Client
    except ImportError as error:
        print(f"{sys.executable} lacks the package dask.distributed ({error}): pip install 'dask[distributed]'", file=sys.stderr)
        sys.exit(4)

    here = os.path.dirname(os.path.abspath(__file__))
    done = os.path.join(here, "done", uuid.uuid4().hex)
    os.makedirs(done)
    with Client(*sys.argv[1:2]) as client:
        futures = []
        for place, (name, script, after) in enumerate(TASKS):
            futures.append(
                client.submit(
                    run,
                    name,
                    script,
                    os.path.join(done, str(place)),
                    *[futures[i] for i in after],
                    key=f"{place}-{name}",
                    priority=len(TASKS) - place,
                    pure=False,
                )
            )
        # An exception is waited for, and a future without one may be cancelled.
        ended = [(future.key, future.exception(), future.status) for future in futures]
    shutil.rmtree(done, ignore_errors=True)
    failed = [(key, error) for key, error, _ in ended if error is not None]
    for key, error in failed:
        print(f"{key}: {error}", file=sys.stderr)
    unknown = sum(status not in ("finished", "error") for _, _, status in ended)
    if unknown:
        print(f"the scheduler was lost: how {unknown} of {len(ended)} commands ended is not known", file=sys.stderr)
        sys.exit(@LOST@)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
"#;
