//! What is said and is in no sheet, with the reason.

/// A file, and words of what it says; empty words are all that it says.
pub(crate) type Said = (&'static str, &'static [&'static str]);

/// Why texts cannot be had in a sheet, and which they are.
pub(crate) const UNHEARD: &[(&str, &[Said])] = &[
    (
        "every word of it is tested in cairn-verify/src/words.rs, on certificates that were tampered with",
        &[("cairn-verify/src/rejected.rs", &[""])],
    ),
    (
        "needs a Slurm, or one that fails: cairn-submit/src/slurm/window/tests.rs and cairn/tests/submit.rs play one",
        &[
            ("cairn-submit/src/slurm/crew.rs", &[""]),
            ("cairn-submit/src/slurm/journal.rs", &[""]),
            ("cairn-submit/src/slurm/place.rs", &[""]),
            ("cairn-submit/src/slurm/tools.rs", &[""]),
            ("cairn-submit/src/slurm/window.rs", &[""]),
            ("cairn/src/commands/submit/slurm.rs", &[""]),
        ],
    ),
    (
        "needs another engine than Slurm that is installed, or is not, or fails: cairn/tests/submit.rs",
        &[(
            "cairn/src/commands/submit.rs",
            &[
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
        )],
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
            ("cairn-engine/src/answers.rs", &[""]),
            ("cairn-theory/src/linearize.rs", &[""]),
            ("cairn-dag/src/dag.rs", &[""]),
            ("cairn-dag/src/ops.rs", &[""]),
            (
                "cairn-dag/src/families.rs",
                &["a strand needs at least one degree"],
            ),
            ("cairn-theory/src/game.rs", &[""]),
            ("cairn-theory/src/storage.rs", &[""]),
            ("cairn-theory/src/strand/mod.rs", &[""]),
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
            ("cairn-engine/src/keeper.rs", &[""]),
            ("cairn-show/src/error.rs", &[""]),
            (
                "cairn-formats/src/write.rs",
                &["can be read but not written"],
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
            ("cairn-formats/src/priority/check.rs", &[""]),
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
            ("cairn-formats/src/dagman/rescue.rs", &[""]),
            ("cairn-formats/src/dagman/script.rs", &[""]),
            ("cairn-formats/src/dagman/submit.rs", &["printf"]),
            ("cairn-formats/src/wfformat/write.rs", &[""]),
        ],
    ),
    (
        "needs volunteers, or a server with a certificate: cairn/tests/volunteers.rs, serve.rs, worker.rs",
        &[
            ("cairn/src/commands/serve/policy.rs", &[""]),
            (
                "cairn/src/commands/serve.rs",
                &[
                    "have their tokens elsewhere",
                    "leave --volunteer-tokens out",
                    "delete that file",
                ],
            ),
            (
                "cairn/src/commands/remote.rs",
                &["a certificate made by the server itself"],
            ),
        ],
    ),
    (
        "hangs on the machine: its kernel, its disk, where this program lies",
        &[
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
];
