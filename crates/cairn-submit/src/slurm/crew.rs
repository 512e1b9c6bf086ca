//! Many short tasks in one job: a server and workers of our own inside of one allocation. Knows what a server says when it
//! listens, and neither command line.

use super::cluster::Submitted;
use super::journal::{Event, Journal, JournalError};
use super::place::name_of_run;
use super::tools::{call, key, marked, queue, srun};
use crate::program::filled;
use crate::script::quoted;
use std::io;
use std::path::{Path, PathBuf};

/// What the job is made of; all of it text for a script.
#[derive(Clone, Debug)]
pub struct Crew<'a> {
    /// The command line of the server, for a shell: it keeps its state in `$state/server`, and listens at any port.
    pub serve: &'a str,
    /// That of a worker: the server is at `$port` of `$(hostname)`, with `$fingerprint`.
    pub work: &'a str,
    /// The folder where tasks run.
    pub home: &'a str,
    /// The folder for the state of the run, beneath which the server keeps its own.
    pub state: &'a str,
    /// How many workers.
    pub workers: u32,
}

/// The batch script. Submitting it again goes on where it stopped.
pub fn crew(crew: &Crew<'_>) -> String {
    let parts = [
        ("@HOME@", &*quoted(crew.home)),
        ("@STATE@", &quoted(crew.state)),
        ("@SRUN@", &srun(crew.workers)),
        ("@SERVE@", crew.serve),
        ("@WORK@", crew.work),
    ];
    filled(SCRIPT, &parts)
}

/// Why a crew is not submitted.
#[derive(Debug, thiserror::Error)]
pub enum CrewError {
    /// The journal cannot be used, or somebody else uses it.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The disk.
    #[error("cannot use {}: {error}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Its job is there already.
    #[error("job {0}, which is the crew of this folder, is in the queue")]
    Queued(String),
    /// The queue cannot be seen.
    #[error("Slurm does not answer: {0}")]
    Silent(String),
    /// `sbatch` refuses.
    #[error("Slurm refuses the job: {0}")]
    Refused(String),
    /// `sbatch` gave no answer, and the job may be there.
    #[error("sbatch gave no answer: {0}")]
    Unknown(String),
}

/// Calls `sbatch` with `arguments` and the script, unless the job of an earlier call is in the queue; that is looked for by the
/// key, which a call that was cut off has left in `folder`. Returns the job's id.
///
/// # Errors
/// [`CrewError`].
pub fn submit_crew(folder: &Path, arguments: &[String], script: &str) -> Result<String, CrewError> {
    let trouble = |path: &Path, error| CrewError::Io {
        path: path.to_owned(),
        error,
    };
    let at = folder.join(CREW_JOURNAL);
    let (mut journal, events) = Journal::open(&at)?;
    let path = folder.join("crew.run");
    let run = match std::fs::read_to_string(&path) {
        Ok(run) if !run.trim().is_empty() => run.trim().to_owned(),
        _ => {
            let run = name_of_run();
            std::fs::write(&path, format!("{run}\n")).map_err(|e| trouble(&path, e))?;
            run
        }
    };
    let known = |job: &str| {
        let is_it = |event: &Event| matches!(event, Event::Job { job: id, .. } if id == job);
        events.iter().any(is_it)
    };
    let listed = queue(&run).map_err(CrewError::Silent)?;
    // By its number where a site has replaced both comment and command.
    let alive = (listed.iter()).find(|j| j.is_active && (j.serial.is_some() || known(&j.job)));
    if let Some(job) = alive {
        return Err(CrewError::Queued(job.job.clone()));
    }
    let calls = events.iter().filter(|e| matches!(e, Event::Call { .. }));
    // Calls that came to nothing count too: a key is never given twice.
    let serial = calls.count() as u64 + 1;
    let mut write = |event: &Event| journal.write(event).map_err(|e| trouble(&at, e));
    let (first, len) = (None, 1);
    // On the disk before the call: whoever is cut off in between finds the key and looks for it.
    write(&Event::Call { serial, first, len })?;
    let key = key(&run, serial);
    let words = marked(arguments, script, key);
    // `sbatch` keeps the journal locked if it outlives us: nobody submits a second crew while it may still make the first.
    let lock = journal.lock().map_err(|e| trouble(&at, e))?;
    let called = call(&words, &lock);
    let mut write = |event: &Event| journal.write(event).map_err(|e| trouble(&at, e));
    match called {
        Submitted::Job(job) => {
            let id = job.clone();
            write(&Event::Job { serial, job })?;
            Ok(id)
        }
        // There is one job and no queue of ours to wait in: whoever submitted it decides.
        Submitted::Quota(printed)
        | Submitted::Dependency(printed)
        | Submitted::Refused(printed) => {
            write(&Event::None { serial })?;
            Err(CrewError::Refused(printed))
        }
        // Nothing is written: the next try looks for the key in the queue.
        Submitted::Unknown(printed) => Err(CrewError::Unknown(printed)),
    }
}

/// What tells a crew's folder from one with a job a task.
pub const CREW_JOURNAL: &str = "crew.journal";

const SCRIPT: &str = r#"#!/bin/sh
# A server and its workers inside of one allocation, made by `cairn submit`. Submitted again it goes on where it stopped.
state=@STATE@
cd @HOME@ || exit 126
mkdir -p "$state/server" || exit 1
log=$state/serve.log
: > "$log"
rm -f "$state/server.ended" "$state/workers.ended"
@SERVE@ 2> "$log" &
server=$!
until grep -q '^fingerprint ' "$log"; do
  if ! kill -0 "$server" 2> /dev/null; then
    cat "$log" >&2
    wait "$server"
    exit $?
  fi
  sleep 0.2
done
port=$(sed -n 's/^listening on [^,]*:\([0-9]*\),.*/\1/p' "$log")
fingerprint=$(sed -n 's/^fingerprint //p' "$log")
{
  @SRUN@ @WORK@
  # A server without workers would wait for them until the job's time is over.
  if [ ! -e "$state/server.ended" ]; then
    echo "cairn: all workers have ended before the server" >&2
    kill "$server" 2> /dev/null
  fi
  : > "$state/workers.ended"
} &
wait "$server"
code=$?
: > "$state/server.ended"
cat "$log" >&2
# Workers end when they hear that all is done. Who came too late to hear it would try on for ever: the job's end is theirs.
waited=0
until [ -e "$state/workers.ended" ] || [ "$waited" -ge 30 ]; do
  sleep 1
  waited=$((waited + 1))
done
exit "$code"
"#;
