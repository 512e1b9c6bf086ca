//! The native flow file: tasks with names, commands, dependencies, durations and files, as TOML, as one JSON
//! document, or as JSON lines. Knows nothing of scheduling.
//!
//! ```toml
//! [[task]]
//! name = "align-7"                          # required, unique
//! run = "bwa mem ref.fa s7.fq > s7.sam"     # a POSIX shell command line
//! after = ["index", "trim-7"]               # the only dependencies there are
//! seconds = 41.5                            # expected duration
//! inputs = ["ref.fa", "s7.fq"]
//! outputs = [{ path = "s7.sam", bytes = 73400320, temp = true }]
//! cpus = 1
//! memory = "4GB"                            # bytes, or a size: kB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024
//! scratch = "2GB"                           # disk while it runs, beside its outputs
//! pools = { licence = 1 }                   # named resources it holds while it runs
//! tags = ["gpu"]                            # words that the labels of whoever does it must contain
//! time_limit = "5m"                         # seconds, or a time; an attempt that takes longer has failed
//! retries = 2
//! priority = 10                             # larger goes first
//! done = false                              # true: executed before
//! kind = "align"                            # tasks alike; else the command's first word
//! label = "align sample 7"                  # what people see instead of the name
//! ```
//!
//! `bytes` of a file may be a size, too. A file with `temp = true` may be deleted once the last task that reads it is
//! executed; the mark belongs to the task that writes it. A table `[pools]` says how much there is of each pool:
//!
//! ```toml
//! [pools]
//! licence = 4
//! ```
//!
//! A `[[sweep]]` makes one task for each combination of values:
//!
//! ```toml
//! [[sweep]]
//! over = { seed = [1, 2, 3], sample = "samples.txt" }    # a text names a file of lines, relative to the flow file
//! task = { name = "sim-{sample}-{seed}", run = "sim --seed {seed} {sample}" }
//! ```
//!
//! `{seed}` stands for the value in every text of the task, `{{` for a brace. Where a number is wanted, such as in
//! `seconds = "{s}"`, the text may become one.
//!
//! As JSON: `{"task": [{"name": "align-7", …}, …]}`, or the bare list; as JSON lines: one task object a line, and
//! `{"pools": {"licence": 4}}` in a line of its own. A list
//! of one entry may be written without brackets, and `null` is the same as leaving a field out.
//!
//! TOML is for flows that people write: reading it takes some 35 times its size in memory. JSON lines take less than
//! three times theirs.
//!
//! Files make no dependencies: a task that reads what another writes without waiting for it gets a warning.

mod batch;
mod files;
mod read;
mod sweep;
mod task;
mod write;

pub(crate) use read::{read_json, read_json_lines, read_toml};
pub(crate) use sweep::files_of_sweeps;
pub(crate) use task::{FIELDS, HELD, HELD_OF_TASK};
pub(crate) use write::{write_json, write_json_lines, write_toml};
