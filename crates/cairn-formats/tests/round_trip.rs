//! Conversions lose nothing silently: for every pair of formats, what is read back equals what was there, or is named
//! among the losses, or the conversion was refused.

use cairn_dag::{Flow, FlowBuilder, TaskId};
use cairn_formats::{
    Converted, Format, Loss, LossKind, ReadLimits, Report, Source, convert, read, write,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

fn any_name() -> impl Strategy<Value = String> {
    let odd = [
        "\"",
        "\\",
        "\\\\",
        "a\\",
        "a\nb",
        "a\r\nb",
        "a\\\nb",
        "->",
        "node",
        "digraph {",
        "}",
        "<b>",
        "\u{7f}",
        "\u{feff}x",
        "é😀",
        " ",
        "#x",
        "// x",
        "[[task]]",
        "0",
        "null",
        "-1",
        "a:b",
        "x,y",
        "x;y",
        "\t",
        "\u{1}",
        "\u{1b}[31m",
        "\u{2028}",
        "\u{85}",
        "'",
        "${x}",
        "$(x)",
        "%00",
        "%",
        "parent",
        "PARENT",
        "child",
        "ALL_NODES",
        "JOB",
        "DONE",
        "x+y",
        "{",
        "@=x",
        "x.condor",
        "a\0b",
        "\0",
        "\r",
        "TASK",
        "strict",
        "subgraph",
        "\u{fffd}",
    ];
    prop_oneof![
        6 => "[a-z0-9_.-]{1,8}",
        2 => any::<String>().prop_filter("a name is not empty", |n| !n.is_empty()),
        2 => proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
        1 => "[\\x00-\\x20\"'\\\\,;#%]{1,6}",
    ]
}

#[derive(Clone, Debug)]
struct AnyTask {
    label: Option<String>,
    kind: Option<String>,
    command: Option<String>,
    seconds: Option<f64>,
    cpus: Option<u32>,
    retries: Option<u32>,
    priority: Option<i64>,
    done: bool,
    /// Number of a file, and whether it is an output.
    files: Vec<(usize, bool)>,
    memory: Option<u64>,
    scratch: Option<u64>,
    time_limit: Option<f64>,
    pools: Vec<(String, u32)>,
    tags: Vec<&'static str>,
}

fn any_task() -> impl Strategy<Value = AnyTask> {
    let seconds = prop_oneof![
        0.0..1e6,
        Just(0.0),
        Just(1e300),
        Just(5e-324),
        Just(1e21),
        Just(f64::MAX)
    ];
    let priority = prop_oneof![-9i64..9, any::<i64>(), Just(i64::MIN), Just(i64::MAX)];
    let words = || proptest::option::weighted(0.2, any_name());
    let bytes = || {
        let bytes = prop_oneof![0u64..9, (0u64..9).prop_map(|n| n << 20), any::<u64>()];
        proptest::option::weighted(0.2, bytes)
    };
    let limit = prop_oneof![0.001..1e6, (1u32..99).prop_map(f64::from), Just(f64::MAX)];
    let pool = (any_name(), prop_oneof![Just(1u32), 1..u32::MAX]);
    let demands = (
        bytes(),
        bytes(),
        proptest::option::weighted(0.2, limit),
        proptest::collection::vec(pool, 0..3),
        proptest::collection::vec(prop_oneof![Just("gpu"), Just("a \"b\""), Just("Ω")], 0..3),
    );
    (
        demands,
        (words(), words()),
        proptest::option::weighted(0.3, any_name()),
        proptest::option::weighted(0.3, seconds),
        proptest::option::weighted(0.3, prop_oneof![0u32..9, any::<u32>()]),
        proptest::option::weighted(0.2, prop_oneof![0u32..9, any::<u32>()]),
        proptest::option::weighted(0.2, priority),
        proptest::bool::weighted(0.2),
        proptest::collection::vec((0usize..5, any::<bool>()), 0..3),
    )
        .prop_map(
            |(demands, (label, kind), command, seconds, cpus, retries, priority, done, files)| {
                AnyTask {
                    memory: demands.0,
                    scratch: demands.1,
                    time_limit: demands.2,
                    pools: demands.3,
                    tags: demands.4,
                    label,
                    kind,
                    command,
                    seconds,
                    cpus,
                    retries,
                    priority,
                    done,
                    files,
                }
            },
        )
}

fn any_flow() -> impl Strategy<Value = Flow> {
    let named = |names: BTreeSet<String>| {
        let n = names.len();
        let names = Just(names.into_iter().collect::<Vec<_>>()).prop_shuffle();
        let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let arcs = proptest::collection::vec((0..n.max(1), 0..n.max(1)), 0..3 * n + 1);
        let tasks = proptest::collection::vec(any_task(), n);
        let files = proptest::collection::btree_set(any_name(), 5);
        let sizes = proptest::collection::vec(
            proptest::option::of(prop_oneof![0u64..1000, any::<u64>()]),
            5,
        );
        let temporary = proptest::collection::vec(proptest::bool::weighted(0.3), 5);
        let limits = proptest::collection::vec((any_name(), any::<u32>()), 0..3);
        (
            (names, order, arcs, tasks),
            (files, sizes, temporary),
            limits,
        )
    };
    let names = proptest::collection::btree_set(any_name(), 1..10);
    names.prop_flat_map(named).prop_map(
        |((names, order, arcs, tasks), (files, sizes, temporary), limits)| {
            let files: Vec<String> = files.into_iter().collect();
            let mut build = FlowBuilder::new();
            let symbols: Vec<_> = names.iter().map(|n| build.declare(n, 0).unwrap()).collect();
            for (a, b) in arcs {
                if a < b && b < order.len() {
                    build.arc(symbols[order[a]], symbols[order[b]]).unwrap();
                }
            }
            for (&symbol, task) in symbols.iter().zip(&tasks) {
                if let Some(label) = &task.label {
                    build.set_label(symbol, label);
                }
                if let Some(kind) = &task.kind {
                    build.set_kind(symbol, kind);
                }
                if let Some(command) = &task.command {
                    build.set_command(symbol, command);
                }
                if let Some(seconds) = task.seconds {
                    build.set_seconds(symbol, seconds).unwrap();
                }
                if let Some(cpus) = task.cpus {
                    build.set_cpus(symbol, cpus);
                }
                if let Some(retries) = task.retries {
                    build.set_retries(symbol, retries);
                }
                if let Some(priority) = task.priority {
                    build.set_priority(symbol, priority);
                }
                if task.done {
                    build.set_done(symbol);
                }
                if let Some(bytes) = task.memory {
                    build.set_memory(symbol, bytes);
                }
                if let Some(bytes) = task.scratch {
                    build.set_scratch(symbol, bytes);
                }
                if let Some(seconds) = task.time_limit {
                    build.set_time_limit(symbol, seconds).unwrap();
                }
                for (pool, count) in &task.pools {
                    build.add_pool(symbol, pool, *count);
                }
                task.tags.iter().for_each(|tag| build.add_tag(symbol, tag));
                for &(file, is_output) in &task.files {
                    if is_output && temporary[file] {
                        build.set_temp(&files[file]);
                    }
                    match is_output {
                        true => build.add_output(symbol, &files[file], sizes[file]),
                        false => build.add_input(symbol, &files[file], sizes[file]),
                    }
                }
            }
            for (pool, limit) in limits {
                build.set_pool_limit(&pool, limit);
            }
            build.finish().unwrap()
        },
    )
}

/// Everything a task says, as pairs of what and how, slowly and obviously.
fn said(flow: &Flow, task: TaskId) -> Vec<(&'static str, String)> {
    let mut said = Vec::new();
    let mut say = |what, value: Option<String>| said.extend(value.map(|value| (what, value)));
    say("labels", flow.label(task).map(str::to_owned));
    say("kinds of job", flow.given_kind(task).map(str::to_owned));
    say("commands", flow.command(task).map(str::to_owned));
    say("durations", flow.seconds(task).map(|s| format!("{s:?}")));
    say("cpus", flow.cpus(task).map(|n| n.to_string()));
    say("memory", flow.memory(task).map(|n| n.to_string()));
    say("scratch space", flow.scratch(task).map(|n| n.to_string()));
    let limit = flow.time_limit(task);
    say("time limits", limit.map(|s| format!("{s:?}")));
    let pools: BTreeSet<_> = flow.pools(task).collect();
    say("pools", (!pools.is_empty()).then(|| format!("{pools:?}")));
    let tags: BTreeSet<_> = flow.tags(task).collect();
    say("tags", (!tags.is_empty()).then(|| format!("{tags:?}")));
    say("retries", flow.retries(task).map(|n| n.to_string()));
    say("priorities", flow.priority(task).map(|n| n.to_string()));
    say(
        "marks of executed tasks",
        flow.is_done(task).then(|| "yes".to_owned()),
    );
    let (mut paths, mut sizes, mut temporary) = (String::new(), String::new(), String::new());
    for (way, file) in
        (flow.inputs(task).map(|f| ("in", f))).chain(flow.outputs(task).map(|f| ("out", f)))
    {
        paths += &format!("{way} {:?} ", file.path);
        if let Some(bytes) = file.bytes {
            sizes += &format!("{:?} {bytes} ", file.path);
        }
        if file.temp && way == "out" {
            temporary += &format!("{:?} ", file.path);
        }
    }
    say("files", Some(paths).filter(|p| !p.is_empty()));
    say("sizes of files", Some(sizes).filter(|s| !s.is_empty()));
    say(
        "marks of temporary files",
        Some(temporary).filter(|s| !s.is_empty()),
    );
    said
}

/// Compares two flows task by task: every difference must be among the losses, with its number of tasks, and every loss
/// of a task's attribute must be a difference.
fn check_losses(before: &Flow, after: &Flow, losses: &[Loss], context: &str) {
    assert_eq!(before.dag(), after.dag(), "{context}");
    let mut differences: Vec<(LossKind, &str, usize)> = Vec::new();
    for task in before.dag().tasks() {
        assert_eq!(before.name(task), after.name(task), "{context}");
        let (old, new) = (said(before, task), said(after, task));
        let whats: BTreeSet<&str> = old.iter().chain(&new).map(|(what, _)| *what).collect();
        for what in whats {
            let find = |said: &[(&str, String)]| {
                said.iter()
                    .find(|(w, _)| *w == what)
                    .map(|(_, v)| v.clone())
            };
            let kind = match (find(&old), find(&new)) {
                (Some(old), Some(new)) if old == new => continue,
                (Some(_), Some(_)) => LossKind::Changed,
                (Some(_), None) => LossKind::LeftOut,
                (None, _) => LossKind::Added,
            };
            match differences
                .iter_mut()
                .find(|(k, w, _)| (*k, *w) == (kind, what))
            {
                Some((_, _, count)) => *count += 1,
                None => differences.push((kind, what, 1)),
            }
        }
    }
    let limits = |flow: &Flow| -> BTreeSet<(String, u32)> {
        let limits = flow.pool_limits();
        limits.map(|(pool, n)| (pool.to_owned(), n)).collect()
    };
    let lost_limits = losses.iter().any(|l| l.what == "limits of pools");
    assert_eq!(limits(before) != limits(after), lost_limits, "{context}");
    let of_attributes = |loss: &&Loss| loss.of == "task" && !loss.what.contains("submit");
    let mut named: Vec<(LossKind, &str, usize)> = losses
        .iter()
        .filter(of_attributes)
        .map(|loss| (loss.kind, &loss.what[..], loss.count))
        .collect();
    differences.sort();
    named.sort();
    assert_eq!(named, differences, "{context}");
    for loss in losses {
        assert!(loss.count > 0, "{context}: {loss}");
        assert!(
            !loss.to_string().chars().any(char::is_control),
            "{context}: {loss}"
        );
    }
}

/// The formats that can be written.
fn written() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(|f| f.can_write())
}

/// Writes the bytes to a file and reads that, as another run of the program would.
fn from_disk(converted: &Converted, format: Format, context: &str) -> Flow {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output");
    std::fs::write(&path, &converted.bytes).unwrap();
    let mut report = Report::default();
    let source = Source::load(&path, &ReadLimits::default(), &mut report);
    let flow = source.and_then(|source| read(&source, Some(format), &mut report));
    flow.unwrap_or_else(|| panic!("{context}: {:?}", report.problems()))
        .1
}

/// A source in the native format that holds all of the flow.
fn source_of(flow: &Flow) -> Source {
    let mut out = Vec::new();
    write(flow, Format::FlowJson, &mut out).unwrap();
    Source::from_text("flow.json", String::from_utf8(out).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Random flows with hard names and numbers, through every format that can be written.
    #[test]
    fn losses_of_random_flows_are_named_exactly(flow in any_flow()) {
        let source = source_of(&flow);
        for to in written() {
            let context = format!("to {}", to.name());
            match convert(&source, Format::FlowJson, &flow, to, true, None) {
                Ok(made) => {
                    let after = from_disk(&made, to, &context);
                    check_losses(&flow, &after, &made.losses, &context);
                }
                Err(error) => {
                    // Only a zero character is beyond a format.
                    let zero = |text: &str| text.contains('\0');
                    let hard = flow.dag().tasks().any(|t| {
                        let texts = [flow.label(t), flow.given_kind(t), flow.command(t)];
                        zero(flow.name(t)) || texts.into_iter().flatten().any(zero)
                    });
                    prop_assert!(hard, "{context}: {error}");
                    prop_assert!(matches!(to, Format::Dot | Format::Csv | Format::Tsv), "{context}: {error}");
                }
            }
        }
    }

    /// A chain of conversions keeps the dag, whatever the formats.
    #[test]
    fn conversions_keep_the_dag(flow in any_flow()) {
        let mut back = flow.clone();
        for to in written() {
            if let Ok(made) = convert(&source_of(&back), Format::FlowJson, &back, to, true, None) {
                back = from_disk(&made, to, to.name());
            }
        }
        prop_assert_eq!(back.dag(), flow.dag());
    }
}

fn load(path: &Path) -> (Source, Format, Flow) {
    let mut report = Report::default();
    let source = Source::load(path, &ReadLimits::default(), &mut report).unwrap();
    let (format, flow) = read(&source, None, &mut report).unwrap();
    (source, format, flow)
}

fn examples() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e != "md"));
    paths.sort();
    assert!(paths.len() >= 14);
    paths
}

/// Every example into every format: what its task attributes lose is named exactly; in its own format it stays as it is.
#[test]
fn examples_lose_nothing_silently_in_any_pair_of_formats() {
    for path in examples() {
        let (source, from, flow) = load(&path);
        for to in Format::ALL {
            let context = format!("{} to {}", path.display(), to.name());
            let made = convert(&source, from, &flow, to, false, None);
            if from == to {
                let made = made.unwrap();
                assert!(made.copied && made.losses.is_empty(), "{context}");
                assert_eq!(made.bytes, std::fs::read(&path).unwrap(), "{context}");
            } else if to.can_write() {
                let made = made.unwrap();
                let after = from_disk(&made, to, &context);
                check_losses(&flow, &after, &made.losses, &context);
            } else {
                assert!(made.is_err(), "{context}");
            }
        }
    }
}

fn losses(name: &str, text: &str, to: Format, anew: bool) -> Vec<String> {
    let source = Source::from_text(name, text);
    let mut report = Report::default();
    let read = read(&source, None, &mut report);
    let (from, flow) = read.unwrap_or_else(|| panic!("{:?}", report.problems()));
    let made = convert(&source, from, &flow, to, anew, None).unwrap();
    let shown = |loss: &Loss| format!("{} {loss}", loss.kind.name());
    made.losses.iter().map(shown).collect()
}

/// What a file says beyond its dag is listed when it leaves its format.
#[test]
fn what_the_file_says_beyond_its_flow_is_listed() {
    let cases = [
        (
            "a.dag",
            "# why\nJOB a a.sub DIR x NOOP\nJOB b { \n executable = /bin/x\n request_memory = 1\n arguments = $(n)\n}\n\
             VARS a n=\"1\"\nVARS b n=\"1\"\nRETRY a 2 UNLESS-EXIT 3\nSCRIPT POST a x.sh\nMAXJOBS c 2\nCATEGORY a c\n\
             FINAL z z.sub\nWEAK PARENT a CHILD b\nABORT-DAG-ON a 3\n",
            vec![
                "left-out submit files of 2 tasks, first: a",
                "left-out DIR of a node (1 line), a.dag:2",
                "left-out NOOP of a node (1 line), a.dag:2",
                "left-out VARS (1 line), a.dag:8",
                "left-out UNLESS-EXIT (1 line), a.dag:10",
                "left-out SCRIPT (1 line), a.dag:11",
                "left-out FINAL (1 line), a.dag:14",
                "left-out WEAK (1 line), a.dag:15",
                "left-out ABORT_DAG_ON (1 line), a.dag:16",
                "left-out comments (1 line), a.dag:1",
            ],
        ),
        (
            "w.json",
            "{\"name\": \"x\", \"schemaVersion\": \"1.5\", \"author\": {\"name\": \"me\"}, \"workflow\": {\"specification\":\n\
             {\"tasks\": [{\"name\": \"n\", \"id\": \"a\", \"parents\": [], \"children\": []}]}, \"execution\": {\n\
             \"makespanInSeconds\": 3, \"tasks\": [{\"id\": \"a\", \"runtimeInSeconds\": 3, \"avgCPU\": 7}]}}}",
            vec![
                "left-out name (1 field), w.json:1",
                "left-out author (1 field), w.json:1",
                "left-out workflow.execution.makespanInSeconds (1 field), w.json:3",
                "left-out workflow.execution.tasks.avgCPU (1 field), w.json:3",
            ],
        ),
        (
            "x.dax",
            "<adag name=\"n\" version=\"2\" xmlns=\"u\">\n<!-- c --><file name=\"f\"><pfn url=\"u\"/></file>\n\
             <job id=\"a\" name=\"p\" namespace=\"ns\">\n<argument>-x <filename file=\"g\"/></argument>\n\
             <uses file=\"g\" link=\"input\" size=\"3\" transfer=\"true\"/><profile namespace=\"env\" key=\"K\">v</profile>\n\
             <profile namespace=\"pegasus\" key=\"runtime\">3</profile><stdout name=\"o\"/></job></adag>",
            vec![
                "left-out <adag name=…> (1 field), x.dax:1",
                "left-out comments (1 line), x.dax:2",
                "left-out <file> (1 field), x.dax:2",
                "left-out <job namespace=…> (1 field), x.dax:3",
                "left-out <uses transfer=…> (1 field), x.dax:5",
                "left-out <profile> env.K (1 field), x.dax:5",
                "left-out <stdout> in a job (1 field), x.dax:6",
            ],
        ),
        (
            "p.yml",
            "# c\npegasus: '5.0'\nname: n\njobs:\n- id: a\n  type: job\n  name: x\n  profiles:\n    env: {A: b}\n\
             \x20   pegasus: {runtime: 3, memory: 4}\n  uses:\n  - {lfn: f, type: output, stageOut: true}\n",
            vec![
                "left-out name (1 field), p.yml:3",
                "left-out jobs.type (1 field), p.yml:6",
                "left-out jobs.profiles.env (1 field), p.yml:9",
                "left-out comments (1 line), p.yml:1",
            ],
        ),
        (
            "x.makeflow",
            "# c\nA=1\nMEMORY=3\nexport A\n.MAKEFLOW CATEGORY x\no->p: i\n\tLOCAL run $A\n",
            vec![
                "left-out export (1 line), x.makeflow:4",
                "left-out .MAKEFLOW CATEGORY (1 line), x.makeflow:5",
                "left-out names of files elsewhere (->) (1 line), x.makeflow:6",
                "left-out LOCAL before a command (1 line), x.makeflow:7",
                "left-out comments (1 line), x.makeflow:1",
            ],
        ),
        (
            "x.csv",
            "# c\nid,source,target\n1,a,b\n2,b,c\n",
            vec![
                "left-out column id (2 fields), first: x.csv:3",
                "left-out comments (1 line), x.csv:1",
            ],
        ),
        (
            "x.toml",
            "# c\ntitle = 'x'\n[[task]]\nname = 'a'\ncolour = 'red'\n",
            vec![
                "left-out task.colour (1 field), x.toml:5",
                "left-out title (1 field), x.toml:2",
                "left-out comments (1 line), x.toml:1",
            ],
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(
            losses(name, text, Format::FlowJsonLines, false),
            expected,
            "{name}"
        );
    }
}

#[test]
fn no_duration_is_made_up_for_wfformat() {
    let text = "{\"name\":\"a\",\"run\":\"x\",\"cpus\":2}\n{\"name\":\"b\",\"after\":[\"a\"],\"seconds\":3.5,\"priority\":4}\n";
    assert_eq!(
        losses("f.jsonl", text, Format::WfFormat, false),
        Vec::<String>::new()
    );
}

#[test]
fn cpus_without_a_command_have_no_place_in_dagman_and_are_listed() {
    let text = "{\"name\":\"a\",\"cpus\":2}\n{\"name\":\"b\",\"run\":\"x\",\"cpus\":3}\n";
    assert_eq!(
        losses("f.jsonl", text, Format::Dagman, false),
        [
            "left-out cpus of 1 task, a",
            "added names of submit files that are yours to write (<task>.sub) of 1 task, a",
        ]
    );
}

#[test]
fn a_dagman_file_stays_as_it_is_and_written_anew_tells_what_it_lost() {
    let text = "JOB a my.sub\nVARS a x=\"1\"\nSCRIPT POST a x.sh\n";
    assert_eq!(
        losses("f.dag", text, Format::Dagman, false),
        Vec::<String>::new()
    );
    assert_eq!(
        losses("f.dag", text, Format::Dagman, true),
        [
            "left-out submit files of 1 task, a",
            "left-out VARS (1 line), f.dag:2",
            "left-out SCRIPT (1 line), f.dag:3",
            "added names of submit files that are yours to write (<task>.sub) of 1 task, a",
        ]
    );
}

/// Formats without an escape refuse a zero character; the others keep it.
#[test]
fn a_zero_character_is_kept_or_refused() {
    let mut build = FlowBuilder::new();
    build.declare("a\0b", 0).unwrap();
    let flow = build.finish().unwrap();
    let source = source_of(&flow);
    for to in written() {
        let made = convert(&source, Format::FlowJson, &flow, to, true, None);
        match to {
            Format::Dot | Format::Csv | Format::Tsv => {
                let said = made.unwrap_err().to_string();
                assert!(said.contains("zero character (task 'a\\0b')"), "{said}");
            }
            _ => assert_eq!(
                from_disk(&made.unwrap(), to, to.name()).name(TaskId(0)),
                "a\0b"
            ),
        }
    }
}

#[test]
fn very_long_names_are_kept_or_refused() {
    let mut build = FlowBuilder::new();
    let long = build.declare(&"é".repeat(1 << 20), 0).unwrap();
    let short = build.declare("b", 0).unwrap();
    build.arc(long, short).unwrap();
    let flow = build.finish().unwrap();
    let source = source_of(&flow);
    for to in written() {
        let made = convert(&source, Format::FlowJson, &flow, to, true, None).unwrap();
        let after = from_disk(&made, to, to.name());
        check_losses(&flow, &after, &made.losses, to.name());
    }
}

/// A copy elsewhere must find what it includes, or it is no copy of the workflow.
#[test]
fn a_copy_that_would_not_find_its_splices_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("sub")).unwrap();
    std::fs::write(path("top.dag"), "SPLICE s part.dag\nJOB z z.sub\n").unwrap();
    std::fs::write(path("part.dag"), "JOB a a.sub\n").unwrap();
    let (source, from, flow) = load(&path("top.dag"));
    let to = |out: &Path| convert(&source, from, &flow, from, false, Some(out));
    assert!(to(&path("copy.dag")).unwrap().copied);
    let error = to(&path("sub/copy.dag")).unwrap_err().to_string();
    assert!(error.contains("part.dag"), "{error}");
    // One file that holds all is no copy, and can lie anywhere.
    let flat = convert(
        &source,
        from,
        &flow,
        from,
        true,
        Some(&path("sub/flat.dag")),
    )
    .unwrap();
    assert_eq!(from_disk(&flat, from, "flat").dag(), flow.dag());
}
