//! HyperQueue: a job file, and the same through its Python API. Knows nothing of servers and workers.

use crate::alike::alike;
use crate::levels::levels;
use crate::program::{filled, string};
use crate::{Handover, Made, Swaps};
use cairn_dag::{narrow, plain, wide};

/// `job.toml` for `hq job submit-file`, and `submit.py` for the Python API.
pub(crate) fn files(handover: &Handover) -> Vec<Made> {
    let parents: Vec<&[u32]> = handover.tasks.iter().map(|t| &t.parents[..]).collect();
    let levels = levels(&parents, &kinds(handover));
    vec![
        Made::new("job.toml", job_file(handover, &levels)),
        Made::new("submit.py", program(handover, &levels)),
    ]
}

/// By place a number; only tasks of equal numbers may share a level.
fn kinds(handover: &Handover) -> Vec<u32> {
    let tasks = handover.tasks.len();
    match handover.swaps {
        // All different: every task has a level of its own.
        Swaps::None => (0..narrow(tasks)).collect(),
        Swaps::Alike => alike(&handover.tasks),
        Swaps::SameNumber => vec![0; tasks],
    }
}

fn job_file(handover: &Handover, levels: &[u32]) -> String {
    let name = string(&plain(&handover.name));
    // Without max_fails any number may fail; 0 would end the job at the first.
    let mut text = format!("name = {name}\n");
    for (place, task) in handover.placed() {
        let deps: Vec<String> = task.parents.iter().map(u32::to_string).collect();
        let (deps, level) = (deps.join(", "), levels[wide(place)]);
        text += &format!(
            "\n# {}\n[[task]]\nid = {place}\npriority = {level}\ndeps = [{deps}]\ncommand = [\"/bin/sh\", \"-c\", {}]\n",
            plain(&task.name),
            string(&task.script),
        );
        // Without a request HyperQueue gives one core.
        if let Some(cpus) = task.cpus {
            text += &format!("[[task.request]]\nresources = {{ \"cpus\" = {cpus} }}\n");
        }
    }
    text
}

fn program(handover: &Handover, levels: &[u32]) -> String {
    let mut rows = String::new();
    for (place, task) in handover.placed() {
        rows += &format!(
            "    ({}, {}, {:?}, {}, {}),\n",
            string(&task.name),
            string(&task.script),
            task.parents,
            levels[wide(place)],
            task.cpus.unwrap_or(1),
        );
    }
    // Strings of Python with JSON's escapes: whatever is in a name or a command stays a string.
    let name = string(&plain(&handover.name));
    let home = string(&handover.home.to_string_lossy());
    let parts = [("@NAME@", &*name), ("@HOME@", &home), ("@TASKS@", &rows)];
    filled(PROGRAM, &parts)
}

const PROGRAM: &str = r#"# A workflow for HyperQueue, made by `cairn submit`.
#   python submit.py              to the server of HQ_SERVER_DIR or ~/.hq-server; prints the job's id
#   python submit.py --wait       the same, and waits; exit code 1 when a task failed
#   python submit.py --local N    on N cores here, without a server
# Exit codes 3 and 4: no server was reached, or the package is missing; nothing was submitted.
# What a task prints is in the folder `logs` beside this program: N.out and N.err, by its number in the list below.
import argparse
import os
import sys
import tempfile

try:
    from hyperqueue import Job
    from hyperqueue.client import Client
except ImportError as error:
    print(f"{sys.executable} lacks the package hyperqueue ({error}): pip install hyperqueue", file=sys.stderr)
    sys.exit(4)

# Name, script, tasks that come before (by number), level (larger first; equals may go in any order), cores.
TASKS = [
@TASKS@]


def job(home):
    from hyperqueue.ffi.protocol import ResourceRequest

    made = Job(home, max_fails=None, name=@NAME@)
    logs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "logs")
    os.makedirs(logs, exist_ok=True)
    is_plain = "%{" not in logs  # HyperQueue would read it
    tasks = []
    for name, script, after, level, cores in TASKS:
        log = os.path.join(logs, str(len(tasks)))
        tasks.append(
            made.program(
                ["/bin/sh", "-c", script],
                deps=[tasks[i] for i in after],
                priority=level,
                name=name,
                stdout=log + ".out" if is_plain else None,
                stderr=log + ".err" if is_plain else None,
                resources=ResourceRequest(cpus=cores),
            )
        )
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server-dir", default=os.environ.get("HQ_SERVER_DIR"))
    parser.add_argument("--local", type=int, metavar="CORES")
    parser.add_argument("--wait", action="store_true")
    args = parser.parse_args()
    if args.local is None:
        cluster = None
        try:
            client = Client(args.server_dir)
        except Exception as error:
            why = str(error).split("Stack backtrace")[0].split()
            print("no server is reached:", *why, file=sys.stderr)
            sys.exit(3)
    else:
        from hyperqueue import LocalCluster
        from hyperqueue.cluster import WorkerConfig

        cluster = LocalCluster(tempfile.mkdtemp(prefix="hq-"))
        cluster.start_worker(WorkerConfig(cores=args.local))
        client = cluster.client()
    submitted = client.submit(job(@HOME@))
    print("job", submitted.id, flush=True)
    ended_well = True
    if args.wait or cluster is not None:
        ended_well = client.wait_for_jobs([submitted], raise_on_error=False)
    if cluster is not None:
        cluster.stop()
    sys.exit(0 if ended_well else 1)


if __name__ == "__main__":
    main()
"#;
