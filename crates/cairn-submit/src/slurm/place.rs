//! The folder of a run on Slurm: the script that every job is, a script a task, the order that was chosen, and what tasks said
//! at their ends. Knows no queue.

use super::cluster::{Exit, Sbatch};
use super::tools::{after, shared_arguments, unset};
use super::window::nice;
use crate::script::{quoted, text};
use crate::{Handover, Made};
use cairn_dag::plain;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why a folder cannot be used for a run.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The disk.
    #[error("cannot use {}: {error}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file with the order is none.
    #[error("{} is not the order of a submission", .0.display())]
    Damaged(PathBuf),
    /// Another workflow.
    #[error("{} holds the submission of another workflow: {why}", .folder.display())]
    Other {
        /// The folder.
        folder: PathBuf,
        /// How that shows.
        why: String,
    },
    /// A task that was executed has another command now.
    #[error("the command of '{0}' has changed since it was executed")]
    Changed(String),
    /// The path of the folder cannot be written into a script.
    #[error("the path '{0}' is not UTF-8")]
    Path(String),
}

/// The file that holds the order.
const ORDER: &str = "tasks.json";

/// Folders within: tasks' last words, which tasks were begun by which call, what they print, their scripts.
// Folders of their own, since a task writes into two of them by its number alone, from whichever machine.
const FOLDERS: [&str; 4] = ["exit", "begun", "logs", "tasks"];

/// What is written once, when a run begins.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    version: u32,
    run: String,
    tasks: Vec<StoredTask>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredTask {
    name: String,
    after: Vec<u32>,
}

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct Place {
    folder: PathBuf,
    run: String,
}

impl Place {
    /// The order in which an earlier submission took the tasks, by name; `None` where there is none.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn order(folder: &Path) -> Result<Option<Vec<String>>, PlaceError> {
        let stored = stored(folder)?;
        Ok(stored.map(|stored| stored.tasks.into_iter().map(|t| t.name).collect()))
    }

    /// Makes the folder ready for this handover, or finds it so.
    ///
    /// # Errors
    /// [`PlaceError`].
    pub fn open(folder: &Path, handover: &Handover) -> Result<Place, PlaceError> {
        text(folder).map_err(PlaceError::Path)?;
        for name in FOLDERS {
            let path = folder.join(name);
            std::fs::create_dir_all(&path).map_err(|error| PlaceError::Io { path, error })?;
        }
        let now = tasks(handover);
        let (run, is_new) = match stored(folder)? {
            Some(stored) if stored.tasks != now => {
                let differs = stored.tasks.iter().zip(&now).find(|(a, b)| a != b);
                // By the first task that differs: people see at once whether it is another workflow or a changed one.
                let why = match differs {
                    Some((then, _)) => format!("'{}' was otherwise", plain(&then.name)),
                    None => format!("it has {} tasks, not {}", now.len(), stored.tasks.len()),
                };
                let folder = folder.to_owned();
                return Err(PlaceError::Other { folder, why });
            }
            Some(stored) => (stored.run, false),
            None => (name_of_run(), true),
        };
        let place = Place {
            folder: folder.to_owned(),
            run,
        };
        // Also in a folder that was there: a run that was cut off here has some of them.
        for made in scripts(handover, folder) {
            place.write(&made, handover)?;
        }
        // Last, when all scripts are there: a folder without it is begun anew.
        if is_new {
            place.replace(ORDER, &order_text(&place.run, now))?;
        }
        Ok(place)
    }

    /// Writes a script unless it stands there already.
    fn write(&self, made: &Made, handover: &Handover) -> Result<(), PlaceError> {
        let before = std::fs::read(self.folder.join(&made.path)).ok();
        if before.as_deref() == Some(made.text.as_bytes()) {
            return Ok(());
        }
        // Whoever waits for this task was promised what the old command made.
        let number = made
            .path
            .strip_prefix("tasks/")
            .and_then(|p| p.strip_suffix(".sh"));
        if let Some(place) = number.and_then(|n| n.parse::<u32>().ok())
            && before.is_some()
            && self.exit(place).is_some_and(|exit| exit.code == 0)
        {
            let name = &handover.tasks[cairn_dag::wide(place)].name;
            return Err(PlaceError::Changed(name.clone()));
        }
        self.replace(&made.path, &made.text)
    }

    /// Writes a whole file or none.
    fn replace(&self, name: &str, text: &str) -> Result<(), PlaceError> {
        let path = self.folder.join(name);
        // A job may read it at any moment: it must never see half of it.
        let new = path.with_extension("new");
        let written = std::fs::File::create(&new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            if name == ORDER {
                // It has the run's name, by which jobs are found: jobs outlive a power cut of this machine, and under another name
                // they would be submitted again. Scripts are not waited for, one by one: they are written anew by every start, and a job
                // refuses an empty one.
                file.sync_all()?;
            }
            std::fs::rename(&new, &path)?;
            match name == ORDER {
                true => std::fs::File::open(&self.folder)?.sync_all(),
                false => Ok(()),
            }
        });
        written.map_err(|error| PlaceError::Io { path, error })
    }

    /// What a task said at its end.
    pub fn exit(&self, place: u32) -> Option<Exit> {
        let text = std::fs::read_to_string(self.folder.join(format!("exit/{place}"))).ok()?;
        // It is moved into its place whole. What is half there all the same, on a disk of another machine, is no word yet.
        let (serial, code) = text.trim().split_once(' ')?;
        Some(Exit {
            serial: serial.parse().ok()?,
            code: code.parse().ok()?,
        })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What tells the jobs of this run from all others.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The log of a task, by the call that submitted it.
    pub fn log(&self, place: u32, call: (u32, u32)) -> PathBuf {
        let (first, len) = call;
        let name = match len {
            1 => format!("{first}.log"),
            _ => format!("{first}+{}.log", place - first),
        };
        self.folder.join("logs").join(name)
    }
}

fn stored(folder: &Path) -> Result<Option<Stored>, PlaceError> {
    let path = folder.join(ORDER);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(PlaceError::Io { path, error }),
    };
    let stored: Option<Stored> = serde_json::from_slice(&text).ok();
    match stored.filter(|stored| stored.version == 1) {
        Some(stored) => Ok(Some(stored)),
        None => Err(PlaceError::Damaged(path)),
    }
}

fn tasks(handover: &Handover) -> Vec<StoredTask> {
    let task = |task: &crate::Task| StoredTask {
        name: task.name.clone(),
        after: task.parents.clone(),
    };
    handover.tasks.iter().map(task).collect()
}

fn order_text(run: &str, tasks: Vec<StoredTask>) -> String {
    let stored = Stored {
        version: 1,
        run: run.to_owned(),
        tasks,
    };
    serde_json::to_string(&stored).expect("names and numbers are JSON") + "\n"
}

/// A name that no other run has.
pub(super) fn name_of_run() -> String {
    // Keyed anew in every process, and by the time.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    hasher.write_u128(now.map_or(0, |t| t.as_nanos()));
    format!("{:016x}", hasher.finish())
}

/// The script of every job, and those of the tasks.
fn scripts(handover: &Handover, folder: &Path) -> Vec<Made> {
    let folder = quoted(text(folder).unwrap_or_default()).into_owned();
    // The only mark, in a text of ours: what is put in stands behind it and is not read again.
    let job = JOB.replace("@STATE@", &folder);
    let tasks = handover.placed().map(|(place, task)| {
        let parents: Vec<String> = task.parents.iter().map(u32::to_string).collect();
        let (after, name) = (parents.join(" "), plain(&task.name));
        let text = format!("# after {after}\n# {name}\n{}", task.script);
        Made::new(format!("tasks/{place}.sh"), text)
    });
    std::iter::once(Made::new("job.sh", job))
        .chain(tasks)
        .collect()
}

/// Everything that would be submitted, and a script that does it.
pub(crate) fn files(handover: &Handover, folder: &Path) -> Vec<Made> {
    let mut files = scripts(handover, folder);
    files.push(Made::new(ORDER, order_text("dry-run", tasks(handover))));
    files.push(Made::new("submit.sh", by_hand(handover, folder)));
    files
}

/// A script that submits all tasks at once, behind a gate.
fn by_hand(handover: &Handover, folder: &Path) -> String {
    let mut text = format!(
        "#!/bin/sh\n# Submits {} to Slurm: a job a task, in the order of the plan, behind a gate that opens when all \
         are there.\n# `cairn submit` does the same, and knows how to go on after any failure; this does not.\nset -eu\n{}# What is given to this \
         script goes to sbatch.\nset --{} \"$@\"\nmkdir -p {}\n\
         gate=$(sbatch --parsable \"$@\" --hold --job-name=gate --output=/dev/null --wrap true)\ngate=${{gate%%;*}}\n",
        plain(&handover.name),
        unset(),
        handover
            .options
            .iter()
            .map(|option| format!(" {}", quoted(option)))
            .collect::<String>(),
        FOLDERS
            .map(|name| quoted(&format!("{}/{name}", folder.display())).into_owned())
            .join(" "),
    );
    for (place, task) in handover.placed() {
        let sbatch = Sbatch {
            serial: 1,
            first: Some(place),
            len: 1,
            after: Vec::new(),
            nice: (handover.is_nice).then(|| nice(place, handover.tasks.len())),
        };
        text += &format!("j{place}=$(sbatch --parsable \"$@\" --open-mode=append");
        for argument in shared_arguments(&sbatch, task, handover, folder, "dry-run") {
            text += &format!(" {}", quoted(&argument));
        }
        if let Some(nice) = sbatch.nice {
            text += &format!(" --nice={nice}");
        }
        let parents: Vec<String> = task.parents.iter().map(|p| format!("$j{p}")).collect();
        let parents = if parents.is_empty() {
            vec!["$gate".to_owned()]
        } else {
            parents
        };
        text += &format!(" \"{}\"", after(&parents));
        let script = format!("{}/job.sh", folder.display());
        text += &format!(
            " {} 1 {place}); j{place}=${{j{place}%%;*}}\n",
            quoted(&script)
        );
    }
    text + "scontrol release \"$gate\"\n"
}

/// What every job runs.
const JOB: &str = r#"#!/bin/sh
# One task of a workflow on Slurm, made by `cairn submit`.
# Arguments: the number of the call of sbatch; the place of its first task, or `gate`; and the key by which `squeue` shows it.
[ "$2" != gate ] || exit 0
state=@STATE@
serial=$1
task=$(($2 + ${SLURM_ARRAY_TASK_ID:-0}))
say() {
  printf '%s %s\n' "$serial" "$1" > "$state/exit/.$task.$serial" &&
    mv "$state/exit/.$task.$serial" "$state/exit/$task"
}
# What has ended well is not run again, whoever asks.
if { read -r _ code < "$state/exit/$task"; } 2> /dev/null && [ "$code" = 0 ]; then
  exit 0
fi
# After a power cut a script may be empty, and would end well.
if ! { read -r _ _ parents < "$state/tasks/$task.sh"; } 2> /dev/null; then
  echo "cairn: the script of this task is gone or empty; \`cairn submit\` writes it anew" >&2
  say 127
  exit 127
fi
# Slurm takes a parent that it has forgotten for one that ended well: the parents' own words count.
for parent in $parents; do
  waited=0
  until { read -r _ code < "$state/exit/$parent"; } 2> /dev/null; do
    if [ "$waited" -ge 60 ]; then
      echo "cairn: task $parent, which comes before this one, left no word of its end" >&2
      say -1
      exit 1
    fi
    ls "$state/exit" > /dev/null # The file may be on its way from another machine.
    sleep 1
    waited=$((waited + 1))
  done
  if [ "$code" != 0 ]; then
    echo "cairn: task $parent, which comes before this one, did not end well" >&2
    say -1
    exit 1
  fi
done
# A controller that was killed may start a job again that it does not know to have been started. Slurm counts restarts that
# are meant.
if ! (set -C && : > "$state/begun/$task.$serial") 2> /dev/null && [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
  if [ -e "$state/begun/$task.$serial" ]; then
    echo "cairn: this job was started before, and is not started twice" >&2
  else
    echo "cairn: cannot write into $state" >&2
  fi
  exit 1
fi
/bin/sh "$state/tasks/$task.sh"
code=$?
say "$code"
exit "$code"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// A script that a power cut has emptied would end well without having done anything: what comes after it would start.
    #[test]
    fn a_job_refuses_a_script_that_is_gone_or_empty() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in FOLDERS {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let state = quoted(folder.path().to_str().unwrap()).into_owned();
        std::fs::write(at("job.sh"), JOB.replace("@STATE@", &state)).unwrap();
        let ends = || {
            let mut job = Command::new("/bin/sh");
            job.arg(at("job.sh")).args(["1", "0", "key"]);
            let ended = job.stderr(Stdio::null()).status().unwrap();
            let printed = std::fs::read_to_string(at("exit/0")).unwrap();
            (ended.code(), printed.trim().to_owned())
        };
        assert_eq!(ends(), (Some(127), "1 127".to_owned()), "it is gone");
        std::fs::write(at("tasks/0.sh"), "").unwrap();
        assert_eq!(ends(), (Some(127), "1 127".to_owned()), "it is empty");
        std::fs::write(at("tasks/0.sh"), "# after \n# a task\nexit 3\n").unwrap();
        assert_eq!(ends(), (Some(3), "1 3".to_owned()));
    }
}
