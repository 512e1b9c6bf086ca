//! What is said and is in no sheet, and in no words of a test, with the reason.

use super::Said;

/// Why texts can be had neither in a sheet nor in the words of a test, and which they are.
pub(crate) const UNHEARD: &[(&str, &[Said])] = &[
    (
        "of a certificate about bytes that was tampered with: cairn/tests/disk.rs rejects some",
        &[(
            "cairn-verify/src/rejected.rs",
            &[
                "' is temporary and no task writes it",
                "' reads a file and does not come after the task",
                "all sizes together are 2^60 bytes or more",
                "no order is said to need less than",
                "bytes does not follow from the reason",
                "' comes before or after another task of the reason,",
            ],
        )],
    ),
    (
        "needs a Slurm, or one that fails: cairn-submit/src/slurm/window/tests.rs and cairn/tests/submit.rs play one",
        &[
            (
                "cairn-submit/src/slurm/window.rs",
                &["the journal cannot be written:"],
            ),
            (
                "cairn-submit/src/slurm/window/under_cap.rs",
                &[
                    "what is left does not fit beside what lies there",
                    "make room, or give a larger cap on the disk",
                ],
            ),
            (
                "cairn-submit/src/slurm/window/submit.rs",
                &["temporarily unable", "temporarily unavailable"],
            ),
            (
                "cairn-submit/src/slurm/tools.rs",
                &[
                    "sbatch cannot be started:",
                    "squeue cannot be started:",
                    "sbatch ended with",
                    "Unable to contact",
                    "Transport endpoint",
                    "Unexpected message",
                    "Protocol authentication",
                    "Message send failure",
                    "Message receive failure",
                ],
            ),
            (
                "cairn-submit/src/slurm/place.rs",
                &[
                    "is not the order of a submission",
                    "holds the submission of another workflow:",
                    "' has changed since it was executed",
                ],
            ),
            (
                "cairn-submit/src/slurm/journal.rs",
                &[
                    "is in use: another submission, or a call of sbatch",
                    ": this is no journal of a submission",
                ],
            ),
            (
                "cairn-submit/src/slurm/crew.rs",
                &["Slurm refuses the job:", "sbatch gave no answer:"],
            ),
            (
                "cairn/src/commands/submit/slurm.rs",
                &[
                    "put the old command back, or submit all of it again",
                    "run this where Slurm's programs are, or write what",
                    "mend that, for instance with --sbatch; the same",
                    "mend that; the same command goes on from there",
                    "go on in the same way, or submit all of it again",
                    "wait for it, or end it: scancel",
                    "check that you may write there, and that the disk",
                    "mend that, for instance with --sbatch",
                    "the same command looks for the job before it",
                    "wait for it to end, or give another folder with",
                    "ended; the same command without --cancel goes on",
                    "): `scontrol release",
                    "' could not be started by its machine (",
                    "Slurm does not know a job that the next one is to",
                    "to be submitted,",
                    "; Slurm does the rest (--watch follows it)",
                    "; what is in the queue goes on, the same command",
                ],
            ),
        ],
    ),
    (
        "needs another engine than Slurm that is installed, or is not, or fails: cairn/tests/submit.rs",
        &[
            (
                "cairn-submit/src/handover.rs",
                &["this one has no task '", "it has no task '"],
            ),
            (
                "cairn/src/commands/submit.rs",
                &[
                    "pegasus-plan …",
                    "holds the submission of another workflow",
                    "give this one a folder of its own",
                    "is not found: is",
                    "install it, or write the files",
                    "no server is reached by hq",
                    "to submit it once more",
                    "cannot be started",
                    "in the environment whose python3 comes first",
                    "has the job; if not, remove",
                ],
            ),
        ],
    ),
    (
        "a variable of the environment: cairn/tests/submit.rs",
        &[(
            "cairn/src/commands/submit/settings.rs",
            &["SBATCH_CLUSTERS", "SLURM_CLUSTERS"],
        )],
    ),
    (
        "for whoever calls the library: the command line hands over what fits, and says in words of its own what it finds there",
        &[
            (
                "cairn-show/src/error.rs",
                &[
                    "the order is no order of the dag's tasks: task",
                    "is marked optimal, but the first profile ends at",
                    "' has a value that cannot be drawn (not finite, or",
                    "pixels is too large: draw at a smaller scale, or",
                    "cannot make a PNG:",
                ],
            ),
            (
                "cairn-plan/src/weights.rs",
                &["; it must be a finite number of seconds, not below"],
            ),
            (
                "cairn-theory/src/strand/mod.rs",
                &[
                    "a strand has at least one degree",
                    "(from 0) is too small: the first is ≥ 1, the others",
                    "the strand has more sources or sinks than 32-bit",
                ],
            ),
            ("cairn-theory/src/storage.rs", &["there is no task number"]),
            (
                "cairn-theory/src/linearize.rs",
                &[
                    "are incomparable, and their sum admits no",
                    "▷ test too large between blocks",
                    "has priority over",
                    "leads from one to the other",
                ],
            ),
            (
                "cairn-theory/src/game.rs",
                &[
                    "there is no task",
                    "is not eligible: its parent",
                    "cannot be reopened: its child",
                ],
            ),
            (
                "cairn-dag/src/ops.rs",
                &["there is no task", "is more than 32-bit ids can count"],
            ),
            (
                "cairn-dag/src/dag.rs",
                &[
                    "names a task outside 0..",
                    "is more than 32-bit ids can count",
                ],
            ),
            (
                "cairn-engine/src/keeper.rs",
                &[
                    "the order does not name every waiting task once",
                    "bytes more than the cap",
                ],
            ),
            (
                "cairn-engine/src/answers.rs",
                &[
                    "this worker is not known here, or was given up for",
                    "the worker has all it can do",
                    "nothing is eligible",
                    "no eligible task fits this worker",
                    ", which needs more room",
                    ", which will end the next task sooner",
                    "what is left waits for results of others",
                    "the worker has as many tasks as it may have at once",
                    "too many tasks failed",
                    "the run was halted",
                    "bytes are missing for the next task",
                ],
            ),
            (
                "cairn-dag/src/families.rs",
                &["a strand needs at least one degree"],
            ),
            (
                "cairn-plan/src/error.rs",
                &["tasks, but the dag has", "the hull is that of"],
            ),
            ("cairn-plan/src/weights.rs", &["give one for each"]),
            (
                "cairn-sim/src/error.rs",
                &[
                    "set a lease",
                    "no policy to simulate",
                    "entries, but the dag has",
                    "does not name every task once",
                ],
            ),
        ],
    ),
    (
        "needs an input of gigabytes, or one that takes minutes",
        &[
            ("cairn-dag/src/builder.rs", &["32-bit numbers cannot count"]),
            (
                "cairn-dag/src/flow_ops.rs",
                &["32-bit numbers cannot count"],
            ),
            ("cairn-dag/src/families.rs", &["there is no memory for"]),
            ("cairn-plan/src/error.rs", &["more than 2^31 tasks"]),
            ("cairn-plan/src/weights.rs", &["add up to more than 2^59"]),
            (
                "cairn-formats/src/load.rs",
                &[
                    "this line is longer than",
                    "a workflow has shorter lines",
                    "this input holds more than",
                    "or split the workflow",
                    "decompression bomb",
                    "if you trust the file",
                ],
            ),
            (
                "cairn-formats/src/dagman/ties.rs",
                &["dependencies; the most is", "put a NOOP node"],
            ),
            (
                "cairn-formats/src/dagman/workflow.rs",
                &[
                    "INCLUDEs, or",
                    "include each other over and over",
                    "bytes of task names",
                    "the workflow has {size}",
                    "do splices multiply",
                ],
            ),
            (
                "cairn-formats/src/dagman/files.rs",
                &["are nested more than", "contain itself by another name"],
            ),
            (
                "cairn-formats/src/dot/read.rs",
                &["edges between subgraphs", "one joining node"],
            ),
            (
                "cairn-formats/src/makeflow/read.rs",
                &[
                    "bytes; the most is",
                    "does it contain itself",
                    "the variables come to more",
                    "is a long variable used",
                ],
            ),
        ],
    ),
    (
        "needs time that runs out, or Ctrl-C: cairn/tests/interrupt.rs",
        &[
            (
                "cairn/src/commands/plan.rs",
                &["interrupted: this is the best so far"],
            ),
            (
                "cairn/src/commands/plan/report.rs",
                &["No other order beside it: the time is up."],
            ),
            (
                "cairn/src/commands/explain.rs",
                &[
                    "interrupted: this is what was found so far",
                    "(incomplete: time ran out)",
                ],
            ),
            ("cairn/src/commands/auto.rs", &["no time to compare"]),
            ("cairn-plan/src/error.rs", &["it was stopped before"]),
            (
                "cairn-sim/src/error.rs",
                &[
                    "up-times or gaps are too short",
                    "were executed in the first",
                ],
            ),
            (
                "cairn/src/commands/plan.rs",
                &["no certificate: time ran out"],
            ),
            ("cairn/src/commands/show.rs", &["nothing was drawn"]),
            (
                "cairn/src/commands/world.rs",
                &["the simulation is not done", "give a longer --time-limit"],
            ),
        ],
    ),
    (
        "a mistake of ours, or of the disk: nothing is written then",
        &[
            (
                "cairn-formats/src/priority/check.rs",
                &[
                    "the text with priorities cannot be read:",
                    "' is not read back as it was meant",
                    "the names of tasks",
                    "the dependencies",
                    "the attributes of tasks",
                    "the files of tasks",
                    "the limits of pools",
                ],
            ),
            (
                "cairn/src/commands/prio.rs",
                &["please report this file as a bug"],
            ),
            (
                "cairn-formats/src/priority/mod.rs",
                &[
                    "internal check failed",
                    "were not all found",
                    "two places in the text overlap",
                ],
            ),
            (
                "cairn-formats/src/convert.rs",
                &["could not be read back", "would be read back"],
            ),
            (
                "cairn-formats/src/dagman/edit.rs",
                &["32 bits", "use numbers between"],
            ),
            ("cairn-formats/src/dagman/files.rs", &["it cannot be read"]),
            (
                "cairn-formats/src/times/snakemake.rs",
                &["cannot list this folder"],
            ),
            (
                "cairn-formats/src/load.rs",
                &[
                    "name a regular file",
                    "permission to read",
                    "check its permissions",
                    "cannot open this file",
                    "cannot read this input",
                ],
            ),
            ("cairn-serve/src/http.rs", &["cannot start threads"]),
            ("cairn-serve/src/http/begin.rs", &["no random numbers"]),
            (
                "cairn-serve/src/run.rs",
                &["Nothing more was started", "processes cannot be watched"],
            ),
            ("cairn-serve/src/work.rs", &["cannot watch processes"]),
            (
                "cairn-serve/src/store/error.rs",
                &["the disk is full", "cannot be written (read-only)"],
            ),
        ],
    ),
    (
        "what files hold that are written, which are tested for themselves",
        &[
            ("cairn-submit/src/script.rs", &["|| exit 126"]),
            ("cairn-submit/src/pegasus.rs", &["jobDependencies: []"]),
            ("cairn-submit/src/hyperqueue.rs", &["[[task.request]]"]),
            (
                "cairn-submit/src/htcondor.rs",
                &["What tasks print.", ", made by `cairn submit`"],
            ),
            (
                "cairn-formats/src/wfformat/write.rs",
                &[", \"memoryInBytes\":"],
            ),
            ("cairn-formats/src/dagman/script.rs", &["s=False"]),
            (
                "cairn-formats/src/dagman/rescue.rs",
                &[
                    ", created after running",
                    "# Rescue DAG version: 2.0.1 (partial)",
                    "Total number of Nodes",
                    "Nodes premarked DONE",
                    "Nodes that failed",
                    "rescue files already",
                ],
            ),
        ],
    ),
    (
        "needs volunteers, or a server with a certificate: cairn/tests/volunteers.rs, serve.rs, worker.rs",
        &[
            (
                "cairn-serve/src/tokens.rs",
                &["is the token of another volunteer, who has one voice"],
            ),
            (
                "cairn-serve/src/tls.rs",
                &[
                    "cannot make a certificate",
                    "there is no certificate in it",
                    "the server's certificate has the fingerprint",
                ],
            ),
            (
                "cairn/src/commands/serve.rs",
                &[
                    "have their tokens elsewhere",
                    "leave --volunteer-tokens out",
                    "delete that file",
                ],
            ),
        ],
    ),
    (
        "hangs on the machine: its kernel, its disk, where this program lies",
        &[
            ("cairn/src/commands/work.rs", &["this program's path"]),
            (
                "cairn/src/commands/run/settings.rs",
                &["a temporary folder"],
            ),
            ("cairn/src/commands/disk.rs", &["that are free now:"]),
            (
                "cairn/src/commands/caps.rs",
                &["cannot tell the free space", "give the cap in bytes"],
            ),
            (
                "cairn/src/commands/work.rs",
                &[
                    "there is no home folder",
                    "name a folder for the worker",
                    "the path of this program is no text",
                    "move it elsewhere",
                    "older than Linux 6.12",
                    "this kernel has no Landlock",
                    "name another folder for the worker",
                ],
            ),
        ],
    ),
    (
        "needs a file that goes away, changes or cannot be written meanwhile",
        &[
            (
                "cairn/src/commands/prio.rs",
                &["has changed since it was read", "run the command again"],
            ),
            (
                "cairn/src/commands/run/disk.rs",
                &["could not be deleted", "are not deleted"],
            ),
            (
                "cairn/src/commands/run/report.rs",
                &["could not be removed"],
            ),
            (
                "cairn/src/commands/run/saved.rs",
                &["no report was written"],
            ),
            ("cairn/src/commands/run.rs", &["no rescue file was written"]),
            (
                "cairn/src/commands/run/ended.rs",
                &["mend that; the same command"],
            ),
        ],
    ),
    (
        "needs a dag that is hard, or a picture beyond what a PNG holds",
        &[
            (
                "cairn/src/commands/memory.rs",
                &["found no order under a cap", "the leanest order found"],
            ),
            (
                "cairn/src/commands/pictures.rs",
                &["which have no limit of size"],
            ),
        ],
    ),
    (
        "never said: what would lead to it is refused before, or is always right",
        &[
            (
                "cairn/src/commands/durations.rs",
                &["give a finite number of seconds"],
            ),
            ("cairn/src/commands/study.rs", &["give a file instead"]),
            ("cairn/src/output.rs", &["no command is given"]),
            (
                "cairn-sim/src/error.rs",
                &["the disk is full and nothing can go on"],
            ),
            (
                "cairn-formats/src/dot/attributes.rs",
                &["a command line", "a word for tasks alike"],
            ),
            (
                "cairn-formats/src/stg.rs",
                &["there is no number in this file"],
            ),
            (
                "cairn-formats/src/dagman/parser.rs",
                &["a line without a word"],
            ),
            (
                "cairn-formats/src/dagman/read.rs",
                &["self-loops were refused before"],
            ),
            ("cairn-formats/src/unheld.rs", &["fields behind the first"]),
        ],
    ),
    (
        "a blank word, which no line of a sheet can hold",
        &[(
            "cairn-formats/src/jobs/template.rs",
            &["the command is blank"],
        )],
    ),
    (
        "needs a file of SQLite: cairn-serve/src/store/tests.rs",
        &[(
            "cairn-serve/src/store/error.rs",
            &[
                "was written by a newer version",
                "is a database, but not the state",
            ],
        )],
    ),
    (
        "hangs on what a dag or its times are like, beyond the examples: cairn/tests/disk.rs, learning.rs, prio.rs and simulate.rs have some",
        &[
            (
                "cairn/src/commands/auto.rs",
                &["would take this order too; its time is"],
            ),
            (
                "cairn/src/commands/batch.rs",
                &["no choice leaves more than"],
            ),
            (
                "cairn/src/commands/check.rs",
                &["every task can be run here"],
            ),
            (
                "cairn/src/commands/convert.rs",
                &["cannot hold it as it was:"],
            ),
            (
                "cairn/src/commands/disk.rs",
                &[
                    "nothing is needed",
                    "on the disk (not a proof that there is none: no",
                    "the smallest found needs",
                ],
            ),
            (
                "cairn/src/commands/durations.rs",
                &["optimal, by the hull over seconds: no order has"],
            ),
            (
                "cairn/src/commands/explain.rs",
                &["(--json lists all)", ", merged by largest increments"],
            ),
            (
                "cairn/src/commands/plan/report.rs",
                &["steps the bound rests on a search that `verify`"],
            ),
            (
                "cairn/src/commands/prio.rs",
                &[
                    ": no order is the best at every step)",
                    "not the best at every step (",
                ],
            ),
            (
                "cairn/src/commands/reasons.rs",
                &[
                    "by theory, too large for `cairn verify`",
                    "exhausted search of",
                    "open: neither proved optimal nor proved that no",
                ],
            ),
            (
                "cairn/src/commands/simulate/report.rs",
                &[
                    "(precise enough)",
                    "undefined: nothing takes time",
                    "one run tells nothing of chance",
                ],
            ),
            (
                "cairn/src/commands/study/laboratory.rs",
                &["from the file where it has any, else"],
            ),
            (
                "cairn/src/commands/world/kinds.rs",
                &[", others join every"],
            ),
            ("cairn/src/commands/world.rs", &["1 file that passes"]),
            (
                "cairn/src/commands/worth.rs",
                &["of the ready tasks that no order can exceed"],
            ),
            ("cairn/src/input.rs", &["standard input cannot be"]),
            (
                "cairn/src/logs.rs",
                &[
                    "as the workflow says",
                    "(--no-learnt-times leaves them out)",
                ],
            ),
        ],
    ),
    (
        "the tests below it hear it, in the same file",
        &[(
            "cairn/src/commands/lookout/again.rs",
            &["chosen again after", "the order before"],
        )],
    ),
    (
        "needs a server that has worked for a while, or is started again: cairn/tests/serve.rs, serve_disk.rs and serve_faults.rs",
        &[
            (
                "cairn/src/commands/lookout.rs",
                &["until policies are compared"],
            ),
            (
                "cairn/src/commands/remote.rs",
                &["left at this pace", "nothing more will happen"],
            ),
            (
                "cairn/src/commands/serve.rs",
                &[
                    "left out of the book of times and speeds:",
                    "all tasks are executed",
                    "some tasks failed or were given up: `cairn export`",
                ],
            ),
            ("cairn/src/commands/work.rs", &["no answer, trying on:"]),
        ],
    ),
    (
        "needs a run in which something goes wrong, or which is started again: cairn/tests/run.rs, run_disk.rs and cairn-serve/tests/run.rs",
        &[
            (
                "cairn/src/commands/run/disk.rs",
                &[
                    "are missing under the cap, give --disk more",
                    "that are not measured",
                ],
            ),
            (
                "cairn/src/commands/run/report.rs",
                &[
                    "that an earlier run had left",
                    ", which was half-made",
                    ": an attempt that failed had changed it",
                    ": all that read it are executed",
                    "it wanted more memory than it may take",
                    "(--ignore-files: do not look)",
                    "it could not be started:",
                ],
            ),
            (
                "cairn/src/commands/run/tight.rs",
                &["the fastest of several within the cap"],
            ),
            (
                "cairn/src/commands/simulate/tight.rs",
                &[
                    "starting whatever fits would have come to an end in",
                    "no cap looked at comes within 5 % of the time",
                ],
            ),
            (
                "cairn-serve/src/disk/there.rs",
                &["it is a folder, and folders are not deleted"],
            ),
            (
                "cairn-serve/src/http/desk/storage.rs",
                &[
                    "cannot tell the free space:",
                    "give the cap in bytes, such as 500GB",
                ],
            ),
            (
                "cairn-serve/src/http/types/status.rs",
                &[
                    "tasks wait until others end: the cap on the disk",
                    "others fill the disk: it goes on by itself when",
                    "' was lost and may still write: its space is kept",
                    "no task fits under the cap any more",
                ],
            ),
            (
                "cairn-serve/src/run/again.rs",
                &[
                    "a file that it reads changed",
                    "a task before it is executed again",
                ],
            ),
            (
                "cairn-serve/src/run/drive/ends.rs",
                &["its output could not be kept:", ", which it declares"],
            ),
        ],
    ),
    (
        "in a picture or a page, which no sheet shows: cairn/tests/show.rs, disk.rs and simulate.rs make them",
        &[
            (
                "cairn/src/commands/show.rs",
                &[
                    "Orders beside each other. Tasks ready: on average",
                    "steps at the limit",
                    "Made by cairn show.",
                    "The dag by levels. Large ones are drawn by kinds of",
                    "The dag by levels, each task under the kind of the",
                    "Eligible tasks after each executed task. No order",
                    "What holding more results open buys: the plan under",
                    "Bytes in use while each task runs, one after the",
                    "Ready tasks under ever tighter caps on the disk;",
                    "cap on the disk (",
                    "best order found under the cap",
                    ". Cairn's order:",
                    "Memory against area:",
                    "Each point is an order; unnamed ones follow the",
                    "area (% of the bound)",
                ],
            ),
            (
                "cairn/src/commands/simulate/report.rs",
                &[
                    "Means over all runs; times with 95 % intervals",
                    "Time from the start to the last completion; left is",
                    "All policies met the same workers and durations in",
                    "Time under ever tighter caps on the disk; the knee",
                    ": policies compared",
                    "Made by cairn simulate.",
                    "mean time (seconds)",
                    "mean time (task times)",
                    "Time against disk:",
                    "cap on the disk (",
                    "best of the priorities tried",
                    "Time of each policy",
                    "against the others",
                ],
            ),
            (
                "cairn/src/commands/study/grid.rs",
                &["mean gap (task times)", "mean size of a batch (requests)"],
            ),
        ],
    ),
    (
        "needs a client that is slow, breaks off or is strange, or a server's disk that fails: cairn-serve/tests/files.rs, hostile.rs and protocol.rs",
        &[
            (
                "cairn-serve/src/beneath.rs",
                &[
                    "' leads out of the folder of the workflow",
                    "' is no regular file",
                ],
            ),
            (
                "cairn-serve/src/http/fault.rs",
                &[
                    "the server is ending",
                    "ask again in a moment, when it was started again",
                    "the server's disk is full",
                    "make room on the server's disk, then ask again",
                    "the server's disk failed:",
                    "look at the server's disk, then ask again",
                ],
            ),
            (
                "cairn-serve/src/http/files/staged.rs",
                &["what is kept no longer has its digest"],
            ),
            (
                "cairn-serve/src/http/impatient.rs",
                &["the far end does not take what is sent"],
            ),
            (
                "cairn-serve/src/http/pieces.rs",
                &[
                    "the body came too slowly",
                    "send it without long breaks",
                    "the body broke off",
                    "the body has more than",
                    "send less at once",
                ],
            ),
            (
                "cairn-serve/src/http/routes/carry.rs",
                &[
                    "ask for the inputs of tasks that were leased to you",
                    "bytes here that wait for validation, and may have",
                    "more, less than you have would be left for others",
                    "ask again when results are validated, or have",
                    "somebody else uploads the same content",
                    "ask in a moment how much of it is stored",
                    "bytes under the cap on the disk",
                    "ask again: tasks that end make room",
                    "bytes are more than is free under the cap on the",
                    "serve it with a larger cap on the disk",
                ],
            ),
            (
                "cairn-serve/src/http/routes/look.rs",
                &["there is no such task", "look at the server's state folder"],
            ),
            (
                "cairn-serve/src/http/routes/returns.rs",
                &[": declare outputs below the folder of the workflow,"],
            ),
            (
                "cairn-serve/src/http/routes/watched.rs",
                &[
                    "ask for tasks by name: GET /api/v1/tasks/",
                    "there are too many tasks to name them all",
                ],
            ),
            (
                "cairn-serve/src/http/why.rs",
                &[
                    "eligible, but not for it (",
                    "It waits for validation:",
                    "1 eligible task comes before it in the order",
                ],
            ),
            (
                "cairn-serve/src/http.rs",
                &[
                    "this path takes JSON, and the request says that it",
                    "send 'Content-Type: application/json', or no such",
                    "the time of this token is up",
                ],
            ),
        ],
    ),
    (
        "a worker or its task says it of a task, or of what comes from a server: cairn/tests/worker.rs, serve_disk.rs and serve_faults.rs",
        &[
            (
                "cairn-serve/src/client.rs",
                &[
                    "the token has characters that no token has: look at",
                    "is it the address of a Cairn server?",
                    ": a strange answer:",
                    "the host's name cannot be used",
                ],
            ),
            (
                "cairn-serve/src/spawn/orphans.rs",
                &["processes of an earlier run cannot be ended:"],
            ),
            (
                "cairn-serve/src/spawn.rs",
                &["): end something else here, or raise the limit on"],
            ),
            (
                "cairn-serve/src/work/carry.rs",
                &[
                    "the file broke off",
                    "came with another content than announced",
                    "the upload broke off",
                    "the upload was spoilt",
                    "the upload was not understood",
                ],
            ),
            (
                "cairn-serve/src/work/disk.rs",
                &[
                    "bytes on this worker's disk, and",
                    "bytes, and this worker's disk has",
                ],
            ),
            (
                "cairn-serve/src/work/environment.rs",
                &[
                    "has a variable with a name that is none",
                    "has a variable with a value that is none",
                    "a variable without a value",
                ],
            ),
            (
                "cairn-serve/src/work/finish.rs",
                &[
                    "it ended well, but did not make '",
                    "it made files that it does not declare as outputs:",
                    "cannot keep results in the worker's folder:",
                    "a log was not sent:",
                    "outputs were not taken:",
                ],
            ),
            (
                "cairn-serve/src/work/memory.rs",
                &["MiB of memory instead of"],
            ),
            (
                "cairn-serve/src/work/place.rs",
                &["too many workers have their folders here"],
            ),
            (
                "cairn-serve/src/work/start.rs",
                &[
                    "' is not among the programs that this worker runs",
                    "this worker's disk:",
                    "its inputs are too large for this worker's disk",
                    "its inputs did not come:",
                    "no folder for it:",
                    "it cannot be started:",
                    "it names a path outside of its folder",
                    "its folder has a name that is no text",
                    ", which can have an allowed program run code that",
                    "its environment cannot be written:",
                    "a path of this worker is no text",
                ],
            ),
            (
                "cairn-serve/src/work/talk/returns.rs",
                &[
                    "and cannot be put aside:",
                    "the server does not keep the outputs that it is",
                ],
            ),
            (
                "cairn-serve/src/work/talk.rs",
                &["cairn: outputs were not taken:"],
            ),
        ],
    ),
    (
        "part of what browsers and other programs are told beside the answer: cairn-serve/tests/protocol.rs",
        &[
            ("cairn-serve/src/http/openapi.rs", &["MIT OR Apache-2.0"]),
            (
                "cairn-serve/src/http/page.rs",
                &["default-src 'none'; script-src 'self'; style-src"],
            ),
            (
                "cairn-serve/src/http/picture.rs",
                &["The disk under its cap."],
            ),
        ],
    ),
    (
        "needs a store that is damaged or of another workflow, of which cairn-serve/src/store/tests.rs and cairn-engine/tests/faults.rs have some",
        &[
            (
                "cairn-serve/src/replay.rs",
                &["an order does not name every task once"],
            ),
            (
                "cairn-serve/src/store/db.rs",
                &["an order of a strange length"],
            ),
            (
                "cairn-serve/src/store/rows.rs",
                &["there is no kind '", "there is no word '"],
            ),
            (
                "cairn-serve/src/store.rs",
                &["fingerprints of a strange length"],
            ),
            (
                "cairn-engine/src/engine/apply.rs",
                &["workers join out of order", "there is no worker"],
            ),
            (
                "cairn-engine/src/implicit.rs",
                &[
                    "the state of the family is damaged",
                    "the store is of another family",
                ],
            ),
            (
                "cairn-engine/src/position.rs",
                &[
                    "the store is of a dag with",
                    "the standings of the store contradict each other",
                ],
            ),
            ("cairn-engine/src/snapshot.rs", &["there is no worker"]),
        ],
    ),
    (
        "of the native half of Python, whose own half asks for nothing that leads to it; or a mistake of ours",
        &[
            ("cairn-py/src/dag.rs", &["there is no task number"]),
            (
                "cairn-py/src/storage.rs",
                &[
                    "scratch needs one number a task",
                    "there is no task number",
                    "the order needs more than the cap",
                ],
            ),
            (
                "cairn-py/src/work.rs",
                &[
                    "the work was lost",
                    "; please report it with the workflow that shows it",
                ],
            ),
        ],
    ),
    (
        "the document of a class, or of the interface",
        &[(
            "cairn-py/src/lib.rs",
            &[
                "What was given cannot be used; the message says",
                "Tasks wait for each other. `args` has the message",
                "No order within the cap is known. `args` has the",
            ],
        )],
    ),
];
