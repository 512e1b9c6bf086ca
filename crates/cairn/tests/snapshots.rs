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
            "work",
            "work nowhere --token-file missing",
            "work http://127.0.0.1:9",
            "work http://127.0.0.1:9 --token-file missing",
            "work http://127.0.0.1:9 --token-file missing --json",
            "work http://127.0.0.1:9 --token-file empty.dag -j 0",
            "work http://127.0.0.1:9 --token-file empty.dag --memory much",
            "work http://127.0.0.1:9 --token-file empty.dag --disk much",
            "work http://127.0.0.1:9 --token-file empty.dag --lifetime 0",
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
        std::fs::write(folder.path().join(name), bytes).unwrap();
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
