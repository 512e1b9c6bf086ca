//! What people and machines read, word by word: every help; every command that answers at once, on the examples (`run` and
//! `submit` as dry runs); what each says of bad flags and of bad files. A change of any of it shows here and must be accepted by
//! hand: `INSTA_UPDATE=always cargo test -p cairn --test snapshots`.

mod common;

use common::{cairn, cairn_at, root};
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tempfile::TempDir;

const COMMANDS: [&str; 25] = [
    "info",
    "check",
    "explain",
    "show",
    "plan",
    "prio",
    "batch",
    "verify",
    "run",
    "submit",
    "serve",
    "work",
    "status",
    "cancel",
    "retry",
    "pause",
    "resume",
    "export",
    "simulate",
    "times",
    "study",
    "convert",
    "gen",
    "completions",
    "man",
];

/// Each sheet is made for each example, which is called EXAMPLE in its lines.
const ON_EXAMPLES: &[(&str, &[&str])] = &[
    (
        "look",
        &[
            "info EXAMPLE",
            "info --json EXAMPLE",
            "check EXAMPLE",
            "check --json EXAMPLE",
        ],
    ),
    ("explain", &["explain EXAMPLE", "explain --json EXAMPLE"]),
    (
        "plan",
        &["plan EXAMPLE", "plan -v EXAMPLE", "plan --json EXAMPLE"],
    ),
    (
        "batch",
        &["batch EXAMPLE -r 3,2", "batch --json EXAMPLE -r 3"],
    ),
    ("prio", &["prio EXAMPLE", "prio --json EXAMPLE -o out"]),
    (
        "simulate",
        &[
            "simulate EXAMPLE --runs 4",
            "simulate --json EXAMPLE --runs 4 --policies ic,random",
        ],
    ),
    (
        "convert",
        &[
            "convert EXAMPLE - --to dagman",
            "convert EXAMPLE out --to wfformat --json",
            "convert EXAMPLE out --to csv",
        ],
    ),
];

/// Sheets of their own, each in a folder of its own with the examples in it.
const SHEETS: &[(&str, &[&str])] = &[
    (
        "certificates",
        &[
            "plan examples/courses.csv --certificate proof.json --order",
            "verify examples/courses.csv proof.json",
            "verify examples/courses.csv proof.json --json",
            "verify examples/mosaic.dax proof.json",
            "verify examples/mosaic.dax proof.json --json",
            "verify examples/courses.csv examples/courses.csv",
            "verify examples/courses.csv missing.json",
            "plan examples/mosaic.dax --certificate proof.json -q",
            "verify examples/mosaic.dax proof.json",
            "verify examples/mosaic.dax proof.json --allow-asserted",
        ],
    ),
    (
        "half-run",
        &[
            "plan examples/release.dag --executed fetch,docs",
            "plan examples/release.dag --executed fetch,docs --json",
            "explain examples/release.dag --executed fetch,docs",
            "batch examples/release.dag --executed fetch,docs -r 4",
            "simulate examples/release.dag --executed fetch,docs --runs 3",
            "prio examples/release.dag --executed fetch,docs -o out.dag",
            "plan examples/release.dag --executed docs",
            "plan examples/release.dag --executed Fetch",
            "plan examples/release.dag --executed nobody,fetch",
            "plan examples/release.dag --executed @missing.txt",
            "plan examples/release.dag --executed @examples/release.dag",
        ],
    ),
    (
        "orders",
        &[
            "plan examples/word-count.toml --order",
            "plan examples/variant-calling.json --policy fifo",
            "plan examples/variant-calling.json --policy memory --json --no-arrays",
            "plan examples/variant-calling.json --policy auto --runs 4",
            "plan examples/variant-calling.json --policy auto --runs 4 --json --no-arrays",
            "plan examples/variant-calling.json --durations",
            "plan examples/variant-calling.json --durations --json",
            "plan examples/variant-calling.json --ties memory",
            "plan examples/variant-calling.json --ties critical-path --json --no-arrays",
            "plan examples/variant-calling.json --memory-cap 6",
            "plan examples/variant-calling.json --memory-cap 6 --json",
            "plan examples/variant-calling.json --memory-cap 100GB",
            "plan examples/release.dag --quick",
            "plan examples/release.dag --quick --json --no-arrays",
            "plan examples/release.dag --thorough -q",
        ],
    ),
    (
        "worlds",
        &[
            "simulate examples/variant-calling.json --world pool --workers 3 --runs 3",
            "simulate examples/variant-calling.json --world pool --up 9000 --down 60 --runs 3 --json",
            "simulate examples/variant-calling.json --world pool --bandwidth 1e7 --policies ic,heft --runs 3",
            "simulate examples/variant-calling.json --world throttled --submitted 4 --runs 3 -o x.svg -o x.json",
            "simulate examples/release.dag --world batches --gap 2 --size 4 --durations unit --policies ic,batch --runs 3 -q",
            "simulate examples/variant-calling.json --workers 20 --volunteers --quorum 4 --liars 0.3 --vanishing 0.2 --slow 0.1 --policies ic --runs 3",
            "simulate examples/variant-calling.json --workers 20 --volunteers --liars 0.2 --policies ic --runs 3 --json",
        ],
    ),
    (
        "study",
        &[
            "study examples/release.dag --gaps 0.1,1 --sizes 2,8 --runs 3 -o study",
            "study examples/release.dag examples/README.md --pools --runs 3 -o pools",
            "study examples/release.dag --gaps 1 --sizes 4 --runs 3 -o machines --json",
        ],
    ),
    (
        "show",
        &[
            "show examples/release.dag -o x.svg",
            "show examples/release.dag -o x.html -o y.html --json",
            "show examples/release.dag --what dag -o x.png -q",
        ],
    ),
    (
        "files",
        &[
            "gen mesh 3",
            "gen mesh 3 -o mesh.dag --json",
            "gen forkjoin 3 --to dot",
            "convert examples/release.dag same.dag",
            "convert examples/release.dag same.dag --json",
            "convert examples/release.dag flat.dag --rewrite",
            "prio examples/release.dag --in-place --backup .orig",
            "prio examples/release.dag --in-place --json",
            "prio examples/release.dag --keep -o out.dag",
            "prio examples/release.dag --policy auto --runs 3 -o out.dag",
            "man . --json",
        ],
    ),
    (
        "times",
        &[
            "times examples/variant-calling.json",
            "times examples/variant-calling.json --json",
            "times seconds.csv",
            "times seconds.csv --json",
            "times ninja_log",
            "times seconds.csv ninja_log -q",
            "times",
            "times missing.csv",
            "times empty.dag",
            "times prose.md",
            "times examples/release.dag",
            "times negative.csv",
            "times missing.csv --json",
        ],
    ),
    (
        "dry-runs",
        &[
            "run examples/word-count.toml --dry-run -j 2 --policy ic",
            "run examples/word-count.toml --dry-run -j 2 --policy ic --json",
            "run examples/word-count.toml --dry-run -j 2 --policy ic --until words-1",
            "run examples/thumbnails.makeflow --dry-run -j 2 --policy ic --ignore-files",
            "run examples/courses.csv --dry-run -j 2 --policy ic --run 'echo:{name}'",
            "submit examples/word-count.toml --engine slurm --dry-run -o slurm --policy ic",
            "submit examples/word-count.toml --engine slurm --dry-run -o slurm --policy ic --json",
            "submit examples/word-count.toml --engine slurm --dry-run -o crew --crew 3",
            "submit examples/word-count.toml --engine hyperqueue --dry-run -o hq --policy ic",
            "submit examples/word-count.toml --engine htcondor --dry-run -o condor --policy ic",
            "submit examples/word-count.toml --engine pegasus --dry-run -o pegasus --policy ic --json",
            "submit examples/word-count.toml --engine dask --dry-run -o dask --policy ic",
            "submit examples/word-count.toml --engine airflow --dry-run -o airflow --policy ic",
        ],
    ),
    (
        "errors-logs",
        &[
            "times logs/condor",
            "times logs/condor-mixed",
            "times logs/jobstate",
            "times logs/ninja",
            "times logs/ninja-empty",
            "times logs/sacct-nameless",
            "times logs/sacct-timeless",
            "times logs/sacct-long",
            "times logs/sacct-short",
            "times logs/sacct-never",
            "times logs/sacct-backwards",
            "times logs/benchmark",
            "times logs/nextflow",
            "times logs/nextflow-nameless",
            "times logs",
            "times inner",
            "times examples/variant-calling.json logs/ninja --json",
        ],
    ),
    (
        "errors-runs",
        &[
            "run",
            "run missing.toml",
            "run missing.toml --json",
            "run cycle.dag",
            "run examples/courses.csv --dry-run",
            "run examples/word-count.toml -j 0",
            "run examples/word-count.toml --memory much",
            "run examples/word-count.toml --pool licence",
            "run examples/word-count.toml --pool licence=2 --dry-run",
            "run examples/word-count.toml --disk much",
            "run examples/word-count.toml --disk 5GB --safety 0.5",
            "run examples/word-count.toml --disk 1B --dry-run",
            "run examples/word-count.toml --size-of x --disk 5GB",
            "run examples/word-count.toml --until nobody --dry-run",
            "run examples/word-count.toml --until word-1 --dry-run",
            "run examples/word-count.toml --run {nobody}",
            "run examples/word-count.toml --report examples/word-count.toml",
            "run --family nonsense --run true",
            "run --family mesh --run true",
            "run --family mesh:0 --run true",
            "run --family mesh:3 --run {nobody}",
            "run -",
            "run examples/word-count.toml --run {",
            "run examples/word-count.toml --disk 5GB --ignore-files",
            "run examples/variant-calling.json --run true --disk 5GB --dry-run",
            "run huge.toml --disk 5GB --dry-run",
            "serve",
            "serve missing.toml --state s",
            "serve cycle.dag --state s",
            "serve examples/word-count.toml --listen nowhere --state s",
            "serve examples/word-count.toml --listen 0.0.0.0:0 --state s",
            "serve examples/word-count.toml --silence 0 --state s",
            "serve examples/word-count.toml --largest-file big --state s",
            "serve examples/word-count.toml --token-lifetime never --state s",
            "serve examples/word-count.toml --volunteers 1 --quorum 3 --state s",
            "serve examples/word-count.toml --cert missing.pem --key missing.key --state s",
            "serve examples/word-count.toml --book examples --state s",
            "serve examples/word-count.toml --policy ic --slots 4 --state s",
            "submit",
            "submit examples/word-count.toml",
            "submit examples/word-count.toml --engine nonsense",
            "submit missing.toml --engine dask",
            "submit cycle.dag --engine dask --dry-run -o out",
            "submit examples/word-count.toml --engine dask --nice",
            "submit examples/word-count.toml --engine dask --sbatch=--partition=short",
            "submit examples/word-count.toml --engine pegasus --policy ic",
            "submit examples/word-count.toml --engine slurm --sbatch=--comment=mine",
            "submit examples/word-count.toml --engine slurm --sbatch=--wait",
            "submit examples/word-count.toml --engine slurm --sbatch=--test-only",
            "submit examples/word-count.toml --engine slurm --sbatch=-ox",
            "submit examples/word-count.toml --engine slurm --sbatch=short",
            "submit examples/word-count.toml --engine slurm --disk 5GB --dry-run -o out",
            "submit examples/word-count.toml --engine slurm --poll NaN",
            "submit - --engine slurm --crew 3 --state s",
            "submit examples/word-count.toml --engine slurm --disk 5GB --crew 3",
            "work",
            "work nowhere --token-file missing",
            "work http://127.0.0.1:9",
            "work http://127.0.0.1:9 --token-file missing",
            "work http://127.0.0.1:9 --token-file missing --json",
            "work http://127.0.0.1:9 --token-file empty.dag -j 0",
            "work http://127.0.0.1:9 --token-file empty.dag --memory much",
            "work http://127.0.0.1:9 --token-file empty.dag --disk much",
            "work http://127.0.0.1:9 --token-file empty.dag --lifetime 0",
            "work http://127.0.0.1:9 --token-file prose.md --shared . --disk 5GB",
            "status",
            "status nowhere --token-file missing",
            "status http://127.0.0.1:9",
            "status http://127.0.0.1:9 --token-file missing",
            "status http://127.0.0.1:9 --token-file missing --json",
            "cancel http://127.0.0.1:9 a --token-file missing",
            "retry http://127.0.0.1:9 a --token-file missing",
            "pause http://127.0.0.1:9 --token-file missing",
            "resume http://127.0.0.1:9 --token-file missing",
            "export http://127.0.0.1:9",
            "export http://127.0.0.1:9 --token-file missing",
        ],
    ),
    (
        "errors-files",
        &[
            "plan missing.dag",
            "plan missing.dag --json",
            "plan examples",
            "plan empty.dag",
            "plan comments.dag",
            "plan zeros.dag",
            "plan latin.dag",
            "plan broken.dag.gz",
            "plan picture.png",
            "plan prose.md",
            "plan makeflow.json",
            "plan cycle.dag",
            "plan cycle.dag --json",
            "check cycle.dag",
            "check cycle.dag --json",
            "plan self.dag",
            "plan warned.dag -q --order",
            "plan examples/release.dag --format json",
            "convert examples/release.dag out.xyz",
            "convert examples/release.dag -",
            "convert examples/release.dag examples/release.dag --rewrite",
            "convert examples/release.dag nowhere/out.dot",
            "prio examples/courses.csv",
            "prio examples/thumbnails.makeflow",
            "prio - --in-place",
            "prio packed.dag.gz --in-place",
            "prio top.dag",
            "prio inner/outside.dag -o out",
            "prio again.dag --in-place --backup .kept",
            "plan twins.dot --executed same",
            "plan - --executed @-",
            "plan odd.jsonl --order",
            "simulate examples/release.json -o examples/release.json",
            "study examples/README.md prose.md -o study",
            "man nowhere",
        ],
    ),
    (
        "errors-flags",
        &[
            "",
            "nonsense",
            "nonsense --json",
            "plan",
            "plan --json",
            "plan examples/release.dag --nonsense",
            "plan examples/release.dag --policy nonsense",
            "plan examples/release.dag --policy nonsense --json",
            "plan examples/release.dag --format nonsense",
            "plan examples/release.dag --time-limit nonsense",
            "plan examples/release.dag --time-limit -1",
            "plan examples/release.dag --threads 0",
            "plan examples/release.dag --threads x",
            "plan examples/release.dag --quick --thorough",
            "plan examples/release.dag --certificate -",
            "plan examples/release.dag --certificate x.json --policy fifo",
            "plan examples/release.dag --certificate x.json --memory-cap 4",
            "plan examples/release.dag --durations",
            "plan examples/release.dag --durations --policy fifo",
            "plan examples/release.dag --workers 4",
            "plan examples/release.dag --runs 4",
            "prio examples/release.dag --json",
            "prio examples/release.dag --backup .orig",
            "prio examples/release.dag --in-place --backup a/b",
            "prio examples/release.dag --up 5",
            "batch examples/release.dag",
            "batch examples/release.dag -r x",
            "show examples/release.dag",
            "show examples/release.dag -o x.gif",
            "show examples/release.dag -o x.svg --what all",
            "show examples/release.dag -o x.svg --what disk",
            "gen nonsense",
            "gen mesh",
            "gen mesh x",
            "gen mesh 3 --to nonsense",
            "gen mesh 3 -o x.xyz",
            "completions nonsense",
        ],
    ),
    (
        "errors-caps",
        &[
            "plan examples/release.dag --memory-cap nonsense",
            "plan examples/release.dag --memory-cap nonsense --json",
            "plan examples/release.dag --memory-cap -4",
            "plan examples/release.dag --memory-cap 1",
            "plan examples/release.dag --memory-cap 1 --json",
            "plan examples/release.dag --memory-cap 1GB",
            "plan examples/variant-calling.json --memory-cap 1kB",
            "plan examples/release.dag --memory-cap 4 --policy fifo",
            "plan examples/variant-calling.json --memory-cap 1GB --disk 1GB",
            "plan examples/variant-calling.json --disk 5GB --default-size big",
        ],
    ),
    (
        "errors-worlds",
        &[
            "simulate examples/release.dag --runs 0",
            "simulate examples/release.dag --precision 0",
            "simulate examples/release.dag --seed x",
            "simulate examples/release.dag --policies ic,nonsense",
            "simulate examples/release.dag --world nonsense",
            "simulate examples/release.dag --world pool --gap 3",
            "simulate examples/release.dag --gap -1",
            "simulate examples/release.dag --size 0",
            "simulate examples/release.dag --world pool --workers 0",
            "simulate examples/release.dag --world pool --up 600",
            "simulate examples/release.dag --world pool --up nonsense:1 --down 1",
            "simulate examples/release.dag --world pool --up weibull:1 --down 1",
            "simulate examples/release.dag --world pool --speed 0",
            "simulate examples/release.dag --world pool --lease -1",
            "simulate examples/release.dag --world pool --bandwidth 1e6",
            "simulate examples/release.dag --world throttled --submitted 0",
            "simulate examples/release.dag --world trace",
            "simulate examples/release.dag --world trace --trace missing.csv",
            "simulate examples/release.dag --world trace --trace examples/courses.csv",
            "simulate examples/release.dag --durations file",
            "simulate examples/release.dag --durations nonsense",
            "simulate examples/variant-calling.json --world pool --up 1 --down 1",
            "simulate examples/release.dag -o x.gif",
            "simulate examples/release.dag --slots 4 --price 1 --steady-price 2",
            "simulate examples/release.dag --price -1",
            "simulate examples/release.dag --deadline 0",
            "simulate examples/release.dag --workers 9 --volunteers --policies heft",
            "simulate examples/release.dag --workers 9 --volunteers --volunteer-deadline 0",
            "simulate examples/release.dag --noise 11",
            "simulate examples/release.dag --noise 0.3 --durations study",
            "simulate examples/release.dag --world batches --world-from ninja_log",
            "simulate examples/release.dag --world-from seconds.csv",
            "simulate examples/release.dag --world pool --speeds 9",
            "simulate examples/release.dag --world batches --slots 3",
            "simulate examples/release.dag --grid -o a -o b",
            "simulate examples/release.dag --grid -o a --policies ic",
            "study -o study --gaps 0 --runs 1",
            "study -o study --gaps x",
            "study -o study --sizes 0 --runs 1",
            "study examples/README.md -o study",
            "study -o examples/release.dag --gaps 1 --sizes 1 --runs 1",
        ],
    ),
];

/// Files that are wrong, one sheet for each format.
const BAD: &[(&str, &[&str])] = &[
    (
        "dagman",
        &[
            "JOB a\n",
            "JOBS a a.sub\n",
            "JOB a a.sub\nJOB a b.sub\n",
            "JOB a a.sub\nPARENT a CHILD b\n",
            "JOB a a.sub\nPARENT a\n",
            "JOB a a.sub\nJOB b b.sub\nPARENT a CHILD b\nPARENT b CHILD a\n",
            "JOB a a.sub\nFINAL f f.sub\nPARENT a CHILD f\n",
            "JOB a a.sub\nFINAL f f.sub\nFINAL g f.sub\n",
            "SPLICE s missing.dag\n",
            "INCLUDE missing.dag\nJOB a a.sub\n",
            "JOB a a.sub\nPRIORITY a high\n",
            "JOB a a.sub\nRETRY a many\n",
            "JOB a a.sub\nCONNECT a b\n",
            "JOB a a.sub\nVARS a x=1\n",
            "JOB parent a.sub\n",
            "JOB a a.sub FAST\n",
            "JOB a {\n",
            "JOB a { executable = x\n",
            "SUBMIT-DESCRIPTION a\n",
            "SUBMIT-DESCRIPTION a b\n",
            "PARENT CHILD a\n",
            "JOB a a.sub\nPARENT a CHILD\n",
            "JOB a a.sub\nSCRIPT\n",
            "JOB a a.sub\nSCRIPT MID a x\n",
            "JOB a a.sub\nSCRIPT PRE a\n",
            "JOB a a.sub\nTOLERANCE a\n",
            "JOB a a.sub\nTOLERANCE a few\n",
            "JOB a a.sub\nTOLERANCE a 3 SOON\n",
            "JOB a a.sub\nVARS a\n",
            "JOB a a.sub\nVARS a =\"1\"\n",
            "JOB a a.sub\nVARS a x\n",
            "JOB a a.sub\nVARS a x==\"1\"\n",
            "JOB a a.sub\nVARS a x=\n",
            "JOB a a.sub\nVARS a queue=\"1\"\n",
            "JOB a a.sub\nVARS a +=\"1\"\n",
            "JOB a \"a.sub\n",
            "JOB a a.sub\nDOT\n",
            "JOB a a.sub\nRETRY a 1 2\n",
            "JOB a a.sub\nMAXJOBS c many\n",
            "JOB a a.sub\nABORT-DAG-ON a 1 RETURN 300\n",
            "JOB a a.sub\nPRE_SKIP a x\n",
            "CATEGORY\n",
            "PIN_IN a 0\n",
            "ENV PUT x=1\n",
        ],
    ),
    (
        "wfformat",
        &[
            "{\"workflow\": {",
            "{\"workflow\": {}}",
            "{\"workflow\": {\"tasks\": [{}]}}",
            "{\"workflow\": {\"tasks\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}}",
            "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"parents\": [\"x\"]}]}}",
            "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"parents\": [\"b\"]}, {\"name\": \"b\", \"parents\": [\"a\"]}]}}",
            "{\"workflow\": {\"tasks\": [{\"name\": \"a\", \"runtimeInSeconds\": -1}]}}",
        ],
    ),
    (
        "dax",
        &[
            "<adag>",
            "<adag><job/></adag>",
            "<adag><job id='a' name='x'/><child ref='b'><parent ref='a'/></child></adag>",
            "<adag><job id='a' name='x'/><job id='a' name='x'/></adag>",
            "<other/>",
        ],
    ),
    (
        "pegasus-yaml",
        &[
            "pegasus: '5.0'\njobs: [\n",
            "pegasus: '5.0'\njobs: 4\n",
            "pegasus: '5.0'\njobs:\n- name: x\n",
            "pegasus: '5.0'\njobs:\n- {id: a, name: x, type: job}\njobDependencies:\n- {id: b, children: [a]}\n",
            "pegasus: '5.0'\njobs:\n- {id: a, name: x, type: job, profiles: {pegasus: {cores: many}}}\n",
            "pegasus: '5.0'\njobs:\n- {id: a, name: x, type: job, profiles: {pegasus: {runtime: -1}}}\n",
        ],
    ),
    (
        "dot",
        &[
            "digraph {",
            "digraph { a -> ",
            "graph { a -- b }",
            "digraph { a -> b; b -> a }",
            "digraph { a [label=\"x }",
            "strict nonsense",
        ],
    ),
    (
        "makeflow",
        &[
            "a: b\n",
            "\tmake a\n",
            ".SIZE x big\na:\n\tmake a\n",
            ".NO x\na:\n\tmake a\n",
            "a:\n\tmake 'a\n",
            "a: b\n\tmake\nb: a\n\tmake\n",
            "a:\n\tmake\na:\n\tmake\n",
            "a: $(FILE)\n\tmake\n",
        ],
    ),
    (
        "stg",
        &[
            "",
            "many\n",
            "2\n0 1 0\n1 1 2 0\n",
            "1\n0 -1 0\n",
            "2\n0 1 0\n1 x 0\n",
            "x y\n",
            "3\n0 1 0\n1 1 1 0\n",
            "1\n0 1 2 0\n",
            "1\n0 0 0\n1 1 1 x\n2 0 1 1\n",
            " \n",
        ],
    ),
    (
        "galaxy",
        &[
            "{\"steps\": {\"x\": {}}}",
            "{\"steps\": {\"0\": {\"id\": 0, \"input_connections\": {\"i\": {\"id\": 7}}}}}",
            "{\"steps\": 3}",
        ],
    ),
    (
        "taskcluster",
        &[
            "[]",
            "{\"a\": {\"dependencies\": {\"x\": \"nobody\"}}}",
            "{\"a\": 3}",
        ],
    ),
    (
        "taskedge",
        &[
            "TSAK a\n",
            "TASK a t one\n",
            "TASK a t 1\nTASK a t 1\n",
            "TASK a t 1\nEDGE a b\n",
            "TASK a t 1\nFILE f x\n",
            "TASK a\n",
            "EDGE a\n",
            "TASK a -x 1 prog\n",
            "TASK a -m lots prog\n",
            "TASK a -m 5\n",
            "TASK a t -1\n",
        ],
    ),
    ("csv", &["a\nb\n", "a,b\n\"c,d\n", "a,b\n,\n", "a,b\nb,a\n"]),
    (
        "toml",
        &[
            "[[task]]\nname = \n",
            "[[task]]\nafter = []\n",
            "[[task]]\nname = 'a'\nafter = ['b']\n",
            "[[task]]\nname = 'a'\n[[task]]\nname = 'a'\n",
            "[[task]]\nname = 'a'\nseconds = -1\n",
            "[[task]]\nname = 'a'\nafer = []\n",
            "title = 'x'\n",
        ],
    ),
    (
        "json",
        &[
            "{\"task\": [",
            "{\"task\": [{\"name\": 3}]}",
            "{\"task\": [{\"name\": \"a\", \"cpus\": -1}]}",
            "{\"task\": [{\"name\": \"a\", \"inputs\": [{\"bytes\": 7}]}]}",
            "{\"x\": 1}",
            "{\"task\": 3}",
            "{\"task\": [3]}",
            "{\"task\": [{\"name\": \"a\", \"name\": \"b\"}]}",
            "{\"task\": [{\"name\": \"a\", \"after\": 3}]}",
            "{\"task\": [{\"name\": \"a\", \"tags\": 3}]}",
            "{\"task\": [{\"name\": \"a\", \"tags\": [\"\"]}]}",
            "{\"task\": [{\"name\": \"a\", \"outputs\": 3}]}",
            "{\"task\": [{\"name\": \"a\", \"outputs\": [3]}]}",
            "{\"task\": [{\"name\": \"a\", \"outputs\": [{\"path\": \"x\", \"path\": \"y\"}]}]}",
            "{\"task\": [{\"name\": \"a\", \"outputs\": [{\"path\": \"x\", \"size\": 3}]}]}",
            "{\"task\": [{\"name\": \"a\", \"inputs\": [{\"path\": \"x\", \"temp\": true}]}]}",
            "{\"task\": [{\"name\": \"a\", \"pools\": 3}]}",
            "{\"task\": [{\"name\": \"a\", \"pools\": {\"\": 1}}]}",
            "{\"task\": [{\"name\": \"a\", \"memory\": \"much\"}]}",
            "{\"task\": [{\"name\": \"a\", \"seconds\": \"long\"}]}",
            "{\"task\": [{\"name\": \"\"}]}",
            "{\"task\": []}",
            "{\"sweep\": [{\"over\": {\"x\": []}, \"task\": {\"name\": \"a-{x}\"}}]}",
            "{\"sweep\": [{\"over\": {\"x\": [1, 2]}, \"task\": {\"name\": \"a\"}}]}",
            "{\"sweep\": [{\"over\": {\"x\": [1, 2]}, \"task\": {\"name\": \"a-{y}\"}}]}",
            "{\"sweep\": [{\"over\": {\"x\": {\"file\": \"missing.txt\"}}, \"task\": {\"name\": \"a-{x}\"}}]}",
        ],
    ),
    (
        "jsonl",
        &[
            "{\"name\":\"a\",}\n",
            "{\"name\":\"a\"}\n{\"name\":\"a\"}\n",
            "{\"name\":\"a\",\"after\":[\"a\"]}\n",
            "{\"name\":\"a\",\"after\":[\"b\"]}\n{\"name\":\"bb\"}\n",
            "{\"seconds\":1}\n",
        ],
    ),
];

/// `JOB a a.sub` and the end of the line, as gzip packs it.
const PACKED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xf3\xf2\x77\x52\x48\x54\x48\xd4\x2b\x2e\x4d\xe2\x02\x00\x38\xb0\x84\x0e\x0c\x00\x00\x00";

/// Files that the sheets of errors speak of.
const FILES: &[(&str, &[u8])] = &[
    ("empty.dag", b""),
    ("comments.dag", b"# nothing\n# here\n"),
    ("zeros.dag", b"JOB a\0 a.sub\n"),
    ("latin.dag", b"JOB a a.sub\nJOB caf\xe9 b.sub\n"),
    ("broken.dag.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03broken"),
    ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"),
    ("prose.md", b"# A title\n\nSome words, and more.\n\n- a list\n- of things\n"),
    (
        "makeflow.json",
        b"{\"rules\": [{\"command\": \"x\", \"inputs\": [], \"outputs\": [\"a\"]}]}",
    ),
    (
        "cycle.dag",
        b"JOB a a.sub\nJOB b b.sub\nJOB c c.sub\nJOB d d.sub\nPARENT a CHILD b\nPARENT b CHILD c d\nPARENT c CHILD a\n",
    ),
    ("self.dag", b"JOB a a.sub\nPARENT a CHILD a\n"),
    (
        "seconds.csv",
        b"name,seconds,kind\nsort-1,2.5,sort\nsort-2,3.5,sort\nsort-3,3,sort\nmerge,10,merge\n",
    ),
    ("negative.csv", b"name,seconds\na,-1\n"),
    (
        "ninja_log",
        b"# ninja log v5\n0\t1200\t0\ta.o\t1f\n10\t900\t0\tb.o\t2f\n1200\t1500\t0\tapp\t3f\n",
    ),
    ("warned.dag", b"JOB a a.sub\nNODE_STATUS_FIL x\n"),
    ("again.dag", b"JOB a a.sub\nJOB b b.sub\nPARENT a CHILD b\n"),
    ("again.dag.kept", b"JOB a a.sub\n"),
    ("part.dag", b"JOB p p.sub\n"),
    ("top.dag", b"SPLICE s part.dag\nJOB a a.sub\nPARENT a CHILD s\n"),
    ("inner/outside.dag", b"SPLICE s ../part.dag\nJOB a a.sub\nPARENT a CHILD s\n"),
    ("odd.jsonl", b"{\"name\":\"a\\nb\"}\n"),
    ("twins.dot", b"digraph { a [label=same]; b [label=same]; a -> b }"),
    ("huge.toml", b"[[task]]\nname = 'a'\nrun = 'true'\noutputs = [{ path = 'x', bytes = 1000000000000000000 }]\n"),
    ("packed.dag.gz", PACKED),
    ("logs/condor", b"000 (001.000.000) 2024-01-01 10:00:00 Job submitted\n...\nnonsense\n"),
    ("logs/condor-mixed", b"005 (001.000.000) 2024-01-01 10:00:00 Job terminated.\n\t(1) Normal termination (return value 0)\n...\n"),
    ("logs/jobstate", b"1700000000 INTERNAL *** DAGMAN_STARTED 1 ***\nnonsense\n"),
    ("logs/ninja", b"# ninja log v5\n0\tx\t0\ta.o\t1f\n"),
    ("logs/ninja-empty", b"# ninja log v5\n"),
    ("logs/sacct-nameless", b"JobID|State|Elapsed\n1|COMPLETED|00:00:01\n"),
    ("logs/sacct-timeless", b"JobID|JobName|State\n1|a|COMPLETED\n"),
    ("logs/sacct-long", b"JobID|JobName|State|Elapsed\n1|a|b|COMPLETED|00:00:01\n"),
    ("logs/sacct-short", b"JobID|JobName|State|Elapsed\n1|a\n"),
    ("logs/sacct-never", b"JobID|JobName|State|Elapsed\n1|a|COMPLETED|soon\n"),
    ("logs/sacct-backwards", b"JobID|JobName|State|Start|End\n1|a|COMPLETED|2024-01-02T00:00:00|2024-01-01T00:00:00\n"),
    ("logs/benchmark", b"s\th:m:s\tmax_rss\nx\t0:00:01\t5\n"),
    ("logs/nextflow", b"task_id\tname\tstatus\trealtime\n1\ta\tCOMPLETED\tsoon\n"),
    ("logs/nextflow-nameless", b"task_id\thash\tstatus\trealtime\n1\ta\tCOMPLETED\t3s\n"),
];

/// A folder with the examples and the bad files.
fn workshop() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let examples = folder.path().join("examples");
    std::fs::create_dir(&examples).unwrap();
    for name in example_files()
        .iter()
        .map(String::as_str)
        .chain(["README.md"])
    {
        std::fs::copy(root().join("examples").join(name), examples.join(name)).unwrap();
    }
    for (name, bytes) in FILES {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// The names of the examples, in order.
fn example_files() -> Vec<String> {
    let files = std::fs::read_dir(root().join("examples")).unwrap();
    let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = names.filter(|n| n != "README.md").collect();
    names.into_iter().collect()
}

/// Runs a command and tells everything it said.
fn told(folder: &Path, line: &str, input: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    let run = cairn_at(folder, 80, &args, input.as_bytes());
    let mut text = format!("$ cairn {line}").trim_end().to_owned() + "\n";
    text += &input
        .lines()
        .map(|l| format!("< {l}\n"))
        .collect::<String>();
    let is_json = args.contains(&"--json");
    let stdout = match serde_json::from_str::<Value>(&run.stdout) {
        Ok(value) if is_json => laid_out(&without_times(value), 0) + "\n",
        _ if is_json => run.stdout.lines().map(without_moment).collect(),
        _ => run.stdout,
    };
    text += &without_time_row(&stdout);
    let stderr = run
        .stderr
        .lines()
        .map(|l| format!("! {l}").trim_end().to_owned() + "\n");
    text += &stderr.collect::<String>();
    if run.code != 0 {
        text += &format!("exit code {}\n", run.code);
    }
    // Some answers name the folder in full: another one each time.
    text.replace(folder.to_str().unwrap(), "FOLDER") + "\n"
}

/// What was measured by a clock is another number each time.
fn without_times(mut value: Value) -> Value {
    if let Some(times) = value.get_mut("elapsed_ms").and_then(Value::as_object_mut) {
        times.values_mut().for_each(|time| *time = "…".into());
    }
    value
}

/// A line of JSON of many, without when it was written and how long all took.
fn without_moment(line: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(line) else {
        return format!("{line}\n");
    };
    for key in ["t", "seconds"] {
        if let Some(time) = value.get_mut(key) {
            *time = "…".into();
        }
    }
    format!("{value}\n")
}

fn without_time_row(text: &str) -> String {
    let row = |line: &str| match line.starts_with("  time      ") {
        true => "  time      …\n".to_owned(),
        false => format!("{line}\n"),
    };
    text.lines().map(row).collect()
}

/// JSON in lines of readable length, so that a change shows as a small difference.
fn laid_out(value: &Value, depth: usize) -> String {
    let short = value.to_string();
    if depth > 0 && short.len() <= 100 {
        return short;
    }
    let pad = "  ".repeat(depth + 1);
    let (open, close, rows): (_, _, Vec<String>) = match value {
        Value::Object(fields) => {
            let row = |(key, v): (&String, &Value)| {
                format!(
                    "{pad}{}: {}",
                    Value::from(key.as_str()),
                    laid_out(v, depth + 1)
                )
            };
            ("{", "}", fields.iter().map(row).collect())
        }
        Value::Array(items) if items.iter().all(|v| !v.is_object() && !v.is_array()) => {
            return short;
        }
        Value::Array(items) => {
            let row = |v| format!("{pad}{}", laid_out(v, depth + 1));
            ("[", "]", items.iter().map(row).collect())
        }
        _ => return short,
    };
    format!(
        "{open}\n{}\n{}{close}",
        rows.join(",\n"),
        "  ".repeat(depth)
    )
}

/// Compares with the stored text; all that differ are told before the test fails.
fn compare(sheets: impl IntoIterator<Item = (String, String)>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let differs = |name: &str, text: &str| {
        assert!(!text.contains("/tmp/"), "{name} names a folder:\n{text}");
        settings.bind(|| {
            catch_unwind(AssertUnwindSafe(|| insta::assert_snapshot!(name, text))).is_err()
        })
    };
    let sheets = sheets.into_iter();
    let other: Vec<String> = sheets
        .filter(|(name, text)| differs(name, text))
        .map(|(name, _)| name)
        .collect();
    assert!(other.is_empty(), "changed: {}", other.join(", "));
}

fn compare_on_examples(kind: &str) {
    let (_, lines) = ON_EXAMPLES.iter().find(|(name, _)| *name == kind).unwrap();
    compare(example_files().into_iter().map(|example| {
        let folder = workshop();
        let told = (lines.iter()).map(|l| {
            told(
                folder.path(),
                &l.replace("EXAMPLE", &format!("examples/{example}")),
                "",
            )
        });
        (format!("{kind}-{example}"), told.collect())
    }));
}

fn compare_sheet(name: &str) {
    let (_, lines) = SHEETS.iter().find(|(sheet, _)| *sheet == name).unwrap();
    let folder = workshop();
    let told = lines.iter().map(|line| told(folder.path(), line, ""));
    compare([(name.to_owned(), told.collect())]);
}

#[test]
fn help_reads_as_before() {
    let helps = COMMANDS
        .iter()
        .map(|c| (format!("help-{c}"), format!("{c} --help")));
    let top = ("help".to_owned(), "--help".to_owned());
    let folder = workshop();
    compare(
        helps
            .chain([top])
            .map(|(name, line)| (name, told(folder.path(), &line, ""))),
    );
}

#[test]
fn looking_at_the_examples_reads_as_before() {
    compare_on_examples("look");
    compare_on_examples("batch");
}

#[test]
fn explaining_the_examples_reads_as_before() {
    compare_on_examples("explain");
}

#[test]
fn planning_the_examples_reads_as_before() {
    compare_on_examples("plan");
}

#[test]
fn priorities_of_the_examples_read_as_before() {
    compare_on_examples("prio");
}

#[test]
fn simulating_the_examples_reads_as_before() {
    compare_on_examples("simulate");
}

#[test]
fn converting_the_examples_reads_as_before() {
    compare_on_examples("convert");
}

#[test]
fn certificates_and_half_run_workflows_read_as_before() {
    compare_sheet("certificates");
    compare_sheet("half-run");
}

#[test]
fn other_orders_read_as_before() {
    compare_sheet("orders");
}

#[test]
fn worlds_read_as_before() {
    compare_sheet("worlds");
}

#[test]
fn studies_and_pictures_read_as_before() {
    compare_sheet("study");
    compare_sheet("show");
}

#[test]
fn written_files_read_as_before() {
    compare_sheet("files");
}

#[test]
fn times_and_dry_runs_read_as_before() {
    compare_sheet("times");
    compare_sheet("dry-runs");
}

#[test]
fn errors_read_as_before() {
    for (name, _) in SHEETS
        .iter()
        .filter(|(name, _)| name.starts_with("errors-"))
    {
        compare_sheet(name);
    }
}

#[test]
fn bad_files_of_each_format_are_refused_as_before() {
    let folder = workshop();
    compare(BAD.iter().map(|(format, texts)| {
        let line = format!("check - --format {format}");
        let told = texts.iter().map(|text| told(folder.path(), &line, text));
        (format!("bad-{format}"), told.collect())
    }));
}

#[test]
fn every_snapshot_is_still_compared() {
    let helps = COMMANDS.iter().map(|c| format!("help-{c}"));
    let examples = example_files();
    let kinds = ON_EXAMPLES.iter().flat_map(|(kind, _)| {
        let name = move |example: &String| format!("{kind}-{example}");
        examples.iter().map(name)
    });
    let bad = BAD.iter().map(|(format, _)| format!("bad-{format}"));
    let expected: BTreeSet<String> = (helps.chain(kinds).chain(bad))
        .chain(SHEETS.iter().map(|(name, _)| (*name).to_owned()))
        .chain(["help".to_owned()])
        .map(|name| name + ".snap")
        .collect();
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots")).unwrap();
    let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
    let found: BTreeSet<String> = names.filter(|n| n.ends_with(".snap")).collect();
    assert_eq!(found, expected);
}

#[test]
fn every_command_and_every_format_has_its_sheet() {
    let help = cairn(&["--help"]).stdout;
    let is_row = |l: &&str| l.starts_with("  ") && !l.trim_start().starts_with('-');
    let listed = |command: &&str| {
        let first = |l: &str| l.split_whitespace().next() == Some(command);
        help.lines().filter(is_row).any(first)
    };
    assert!(COMMANDS.iter().all(listed), "{help}");
    let groups = help
        .lines()
        .skip_while(|l| !l.starts_with("Look at"))
        .take_while(|l| !l.starts_with("Options"));
    let all = groups.filter(is_row).filter(|l| !l.starts_with("   "));
    assert_eq!(all.count(), COMMANDS.len(), "{help}");
    for format in cairn_formats::Format::ALL.map(cairn_formats::Format::name) {
        assert!(
            BAD.iter().any(|(name, _)| *name == format) || format == "tsv",
            "{format}"
        );
    }
}

/// What the command line says of bad flags and cannot be had here: where it is said, and why not.
const UNHEARD: &[(&str, &str)] = &[
    (
        "found no order under a cap",
        "a search that fails: needs a dag that is hard",
    ),
    ("cannot draw:", "a picture beyond what a PNG holds"),
    ("cannot read {shown} again", "the file goes away meanwhile"),
    (
        "has changed since it was read",
        "the file changes meanwhile",
    ),
    (
        "the volunteers of this state",
        "needs a state with volunteers: tests/volunteers.rs",
    ),
    (
        "this state has tokens of",
        "needs a state with volunteers: tests/volunteers.rs",
    ),
    (
        "this state was begun with --quorum",
        "needs a state with volunteers: tests/volunteers.rs",
    ),
    ("holds the submission of", "needs a Slurm: tests/submit.rs"),
    (
        "is not found: is {engine} installed",
        "hangs on what is installed",
    ),
    ("no server is reached by hq", "needs HyperQueue"),
    (
        "was handed to {engine} before",
        "needs an engine that takes files",
    ),
    (
        "cannot be started: {e}",
        "needs a program that cannot be started",
    ),
    ("ended with {}: {}", "needs an engine that fails"),
    (
        "SBATCH_CLUSTERS",
        "a variable of the environment: tests/submit.rs",
    ),
    ("is not UTF-8", "a path that is no text"),
    (
        "there is no home folder",
        "needs an environment without one",
    ),
    (
        "the path of this program is no text",
        "needs another path of this program",
    ),
];

#[test]
fn whatever_is_said_of_flags_is_in_a_sheet() {
    let mut said = String::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots")).unwrap()
    {
        said += &std::fs::read_to_string(file.unwrap().path()).unwrap();
    }
    let said = on_one_line(&said);
    let mut left: BTreeSet<&str> = UNHEARD.iter().map(|(words, _)| *words).collect();
    let mut unheard = Vec::new();
    for (place, literal) in sources().iter().flat_map(refusals) {
        if let Some((known, _)) = UNHEARD.iter().find(|(words, _)| literal.contains(words)) {
            left.remove(known);
            continue;
        }
        // Between braces stands what is filled in.
        let parts = literal
            .split('{')
            .map(|p| p.split_once('}').map_or(p, |(_, rest)| rest));
        let longest = parts
            .map(on_one_line)
            .max_by_key(String::len)
            .unwrap_or_default();
        if !said.contains(longest.trim()) {
            unheard.push(format!("{place}: {literal}"));
        }
    }
    assert!(unheard.is_empty(), "in no sheet:\n{}", unheard.join("\n"));
    assert!(left.is_empty(), "nobody says this any more: {left:?}");
}

/// Every source of the command line, with its path.
fn sources() -> Vec<(String, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((
                    path.display().to_string(),
                    std::fs::read_to_string(&path).unwrap(),
                )),
            }
        }
    }
    found
}

/// The first words of every refusal of a source, where they stand there as text.
fn refusals((place, code): &(String, String)) -> Vec<(String, String)> {
    let texts = code.split("Failure::usage(").skip(1).filter_map(|behind| {
        let behind = behind.trim_start();
        let behind = behind
            .strip_prefix("format!(")
            .unwrap_or(behind)
            .trim_start();
        let text = behind.strip_prefix('"')?.split('"').next()?;
        Some((place.clone(), text.replace("\\\n", " ")))
    });
    texts.collect()
}

/// As in a sheet, without the lines and marks that a terminal's width makes.
fn on_one_line(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| *word != "!");
    words.collect::<Vec<_>>().join(" ")
}
