//! What is said and is in no sheet, but is heard by a test, which has the very words.

use super::Said;

/// By the file of the test, from the root.
pub(crate) const IN_TESTS: &[(&str, &[Said])] = &[
    (
        "crates/cairn-dag/src/builder/tests.rs",
        &[("cairn-dag/src/dag.rs", &["wait for each other in a cycle"])],
    ),
    (
        "crates/cairn-engine/tests/faults.rs",
        &[("cairn-engine/src/implicit.rs", &["executed once"])],
    ),
    (
        "crates/cairn-serve/src/http/why/tests.rs",
        &[
            (
                "cairn-serve/src/http/why/reasons.rs",
                &[
                    "It was silent for too long and was given up for",
                    "Nothing is eligible: every task that could",
                    "Tasks are eligible, but none that this worker",
                    ", which needs more than is free.",
                    ", which is busy and will end it sooner all the",
                    "Eligible tasks are held back: the disk might be",
                    "of storage are missing for the next.",
                    "What is left waits for results of other",
                    "It has as many tasks as its results so far",
                    "Too many tasks failed: nothing more is begun.",
                    "A task ended the run: nothing more is begun.",
                    "offers no processor",
                    "lacks the label '",
                    "leaves before it could be done",
                    "has had it: others must say the same",
                    "has as many tasks as its results deserve",
                    "takes longer than the task's time",
                    "volunteers were given as many copies of it as",
                    "it must be tried again, and is kept for a more",
                    "has failed with it, or was late: others come",
                    "room is kept for",
                    ", which will end it sooner",
                    "storage: it may begin when something ends",
                ],
            ),
            (
                "cairn-serve/src/http/why.rs",
                &[
                    "it was expected within",
                    "it is expected within",
                    "A task ended the run with",
                    "Too many tasks failed: nothing more is begun.",
                    "eligible tasks come before it in the order",
                    "none of the workers",
                    "It is held back for storage: the disk might be",
                    "It is eligible, but too little of a shared",
                    "It is eligible, but the room is kept for a task",
                    "It is eligible, and kept for a worker that is",
                    "It is eligible, but for none of the volunteers",
                    "It is eligible, and every worker that could do",
                ],
            ),
            ("cairn-engine/src/answers.rs", &["held back for storage"]),
        ],
    ),
    (
        "crates/cairn-serve/tests/files.rs",
        &[(
            "cairn-serve/src/http/routes/carry.rs",
            &["allow a volunteer more"],
        )],
    ),
    (
        "crates/cairn-theory/src/game/tests.rs",
        &[("cairn-theory/src/game.rs", &[", so it cannot be"])],
    ),
    (
        "crates/cairn-theory/tests/linearization.rs",
        &[("cairn-theory/src/linearize.rs", &["not composite"])],
    ),
    (
        "crates/cairn-verify/src/words.rs",
        &[(
            "cairn-verify/src/rejected.rs",
            &[
                "', which is no task",
                ", the only one known here",
                "the order names '",
                "the order leaves out '",
                "the order executes a task before one of its",
                "the profile is not that of the order",
                ": cost and reward are not the numbers of its",
                "executes nothing",
                ": no such task, or in another piece, or it",
                "a task is in no piece of the hull",
                "the pieces of the hull are no nested ideals",
                ": a flow names no task",
                ") is not along an arc of the piece",
                ": a task receives too little flow",
                ": flow leaves the piece",
                ": flow is lost or made at a task",
                "the price rises after hull piece",
                "is out of place or no lower",
                "is not what the evidence gives",
                "contradicts the order or the hull",
                ", and some order has",
                "is too low: some order has more",
                ") is left out and is no arc",
                "an arc is left out twice",
                "with the arcs left out, a task loses all its",
                "tasks is not executed optimally",
                "the order falls short of its blocks at step",
                "' does not fit bound, profile and refusal",
                "the dag does admit an IC-optimal order",
                "' is named twice in a set",
                "the witness is no set that can be executed",
                "the witness has another size or gain than",
                "the hull has no corner at step",
                "the set given is not the one at the hull's",
                "is not in the way of step",
                "the witness is itself a set",
                "gains as much as the witness:",
                "are no neighbouring corners of the hull",
                "the tasks of the component are no independent",
                "the component does admit an IC-optimal order",
                "independent parts between steps",
            ],
        )],
    ),
    (
        "crates/cairn/src/commands/reasons/tests.rs",
        &[(
            "cairn/src/commands/reasons.rs",
            &[
                "exhausted search",
                "by exhausted search",
                "no IC-optimal order exists,",
                "independent parts pull apart at step",
                "the tasks in between",
                "the only best sets of",
                "the only best set of",
                "that contain the first",
                "that lie in the first",
                "no two steps alone conflict: it takes more of",
            ],
        )],
    ),
    (
        "crates/cairn/tests/disk.rs",
        &[
            (
                "cairn-verify/src/rejected.rs",
                &["bytes at the most, not", "more than the cap of"],
            ),
            (
                "cairn/src/commands/disk.rs",
                &["taken as temporary:", "smallest peak found"],
            ),
            (
                "cairn/src/commands/show.rs",
                &["smallest peak found", "Disk against area"],
            ),
        ],
    ),
    (
        "crates/cairn/tests/engines/run",
        &[
            (
                "cairn/src/commands/submit/slurm.rs",
                &[
                    "nothing was submitted",
                    "holds the submission of",
                    "' failed with exit code",
                    "without a word",
                    "takes no more jobs",
                    "Slurm does not answer",
                ],
            ),
            (
                "cairn/src/commands/submit.rs",
                &[
                    "nothing was submitted",
                    "hq server start",
                    "not all of them were executed",
                    "nothing was submitted:",
                ],
            ),
            (
                "cairn-submit/src/slurm/crew.rs",
                &[
                    ", which is the crew of this folder, is in the",
                    "Slurm does not answer",
                ],
            ),
            (
                "cairn-submit/src/slurm/tools.rs",
                &["' is not found", "Slurm does not answer"],
            ),
        ],
    ),
    (
        "crates/cairn/tests/family.rs",
        &[("cairn/src/commands/serve.rs", &["the same command goes on"])],
    ),
    (
        "crates/cairn/tests/half_run.rs",
        &[("cairn-formats/src/dagman/rescue.rs", &["# Rescue DAG file"])],
    ),
    (
        "crates/cairn/tests/interrupt.rs",
        &[
            ("cairn/src/commands/prio.rs", &["not proved the best"]),
            ("cairn/src/commands/worth.rs", &["not proved the best"]),
        ],
    ),
    (
        "crates/cairn/tests/learning.rs",
        &[
            (
                "cairn/src/commands/lookout.rs",
                &["on one slot every order takes as long"],
            ),
            (
                "cairn/src/logs.rs",
                &["with times learnt from earlier runs ("],
            ),
        ],
    ),
    (
        "crates/cairn/tests/options.rs",
        &[("cairn/src/input.rs", &["the record of workers"])],
    ),
    (
        "crates/cairn/tests/page.rs",
        &[("cairn/src/commands/remote.rs", &["the most so far"])],
    ),
    (
        "crates/cairn/tests/prio.rs",
        &[(
            "cairn/src/commands/prio.rs",
            &["has these priorities already"],
        )],
    ),
    (
        "crates/cairn/tests/run_disk.rs",
        &[(
            "cairn/src/commands/run/disk.rs",
            &["others fill the disk", "there is room again"],
        )],
    ),
    (
        "crates/cairn/tests/serve_disk.rs",
        &[("cairn-serve/src/work/disk.rs", &["fits this worker"])],
    ),
    (
        "crates/cairn/tests/serve_faults.rs",
        &[
            ("cairn/src/commands/serve.rs", &["is executed again:"]),
            (
                "cairn-serve/src/run/again.rs",
                &["its command changed", "gone or was cut short"],
            ),
        ],
    ),
    (
        "crates/cairn/tests/show.rs",
        &[(
            "cairn/src/commands/show.rs",
            &["peak memory (open results)"],
        )],
    ),
    (
        "crates/cairn/tests/simulate.rs",
        &[
            (
                "cairn/src/commands/simulate/report.rs",
                &["ratio of mean times"],
            ),
            ("cairn/src/commands/study/grid.rs", &["ratio of mean times"]),
        ],
    ),
    (
        "crates/cairn/tests/volunteers.rs",
        &[
            (
                "cairn/src/commands/serve/policy.rs",
                &[
                    "this state has tokens of",
                    "go on without the cap, or give",
                    "would let results count that were promised more",
                    "leave --quorum out to go on",
                ],
            ),
            (
                "cairn-serve/src/http/routes/carry.rs",
                &["more than a volunteer may have here"],
            ),
        ],
    ),
    (
        "crates/cairn/tests/worker.rs",
        &[
            (
                "cairn-serve/src/work/talk/returns.rs",
                &["the server refuses the result of task"],
            ),
            (
                "cairn-serve/src/work/talk.rs",
                &[
                    "printed was cut",
                    "serves another run now",
                    "results of other runs wait here",
                ],
            ),
            (
                "cairn-serve/src/work.rs",
                &["cannot be removed", "the server's folder is not here"],
            ),
        ],
    ),
    (
        "python/tests/test_package.py",
        &[
            (
                "cairn-py/src/dag.rs",
                &[
                    "depends on itself",
                    "this is no order of the dag",
                    "durations are finite numbers from 0 on",
                    "there is no format",
                ],
            ),
            (
                "cairn-py/src/plan.rs",
                &[
                    "; give quick, usual or thorough",
                    "there is no policy",
                    "these tasks cannot be executed alone",
                ],
            ),
            (
                "cairn-py/src/simulate.rs",
                &["give 1 to 1000000", "there is no world"],
            ),
            (
                "cairn-py/src/storage.rs",
                &[
                    "writes, but does not come after it",
                    "it must be one that",
                    "there is no file number",
                ],
            ),
            (
                "cairn-py/src/work.rs",
                &["is no number of seconds; give a number from 0 on"],
            ),
            (
                "cairn-theory/src/storage.rs",
                &["all sizes together are more than"],
            ),
        ],
    ),
];
