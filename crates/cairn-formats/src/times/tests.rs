//! Every kind of log: what its own tool wrote where that could be had, else written by hand after its manual.

use super::*;

fn logged(name: &str, text: &str) -> Log {
    let mut report = Report::default();
    let log = read_source(&Source::from_text(name, text), &mut report);
    log.unwrap_or_else(|| panic!("{name}: {report:?}"))
}

/// Names, kinds and seconds of a log.
fn seen(log: &Log) -> Vec<(&str, &str, f64)> {
    (log.jobs.iter())
        .map(|j| (j.name.as_str(), j.kind.as_str(), j.seconds))
        .collect()
}

/// Refused, at a line, with a cure.
fn refused(text: &str, line: u32, words: &str) {
    let mut report = Report::default();
    let log = read_source(&Source::from_text("log", text), &mut report);
    assert_eq!(log, None, "{text}");
    let problem = &report.problems()[0];
    assert_eq!(problem.place.line, line, "{problem:?}");
    assert!(problem.message.contains(words), "{problem:?}");
    assert!(!problem.help.is_empty(), "{problem:?}");
}

/// Written by ninja 1.13 itself.
const NINJA: &str = "# ninja log v7
56\t130\t1794853539023185688\tout/a2.o\td3464e39ebc381d8
1\t203\t1794853538967185686\tout/a1.o\td2e3ba7f43ee61cb
203\t482\t1794853539171185694\tout/b1.txt\tdb6b3b25dec910a
";

#[test]
fn ninja() {
    let log = logged(".ninja_log", NINJA);
    assert_eq!(log.format, LogFormat::Ninja);
    assert_eq!(
        seen(&log),
        [
            ("out/a2.o", ".o", 0.074),
            ("out/a1.o", ".o", 0.202),
            ("out/b1.txt", ".txt", 0.279)
        ]
    );
    // A later build stands below, and counts.
    let again = format!("{NINJA}5\t1005\t1\tout/a1.o\td2e3ba7f43ee61cb\n");
    let again = logged(".ninja_log", &again);
    assert_eq!((again.jobs.len(), again.jobs[1].seconds), (3, 1.0));
    refused(
        &NINJA.replace("1\t203", "one\t203"),
        3,
        "no line of a ninja log",
    );
    refused(
        &NINJA.replace("\tout/b1.txt", ""),
        4,
        "no line of a ninja log",
    );
    refused("# ninja log v7\n", 0, "no job that ended");
}

#[test]
fn csv() {
    for text in [
        "align-1,40\nalign-2,44.5\n",
        "name,seconds\nalign-1,40\nalign-2,44.5\n",
        "seconds;cores;task\n40;1;align-1\n44.5;2;align-2\n",
        // The first row says what stands between cells: here a comma is a character like others.
        "seconds;task;note\n40;align-1;a,b\n44.5;align-2;\n",
        "# mine\nname\truntime\n\"align-1\"\t40s\nalign-2\t44.5\n",
    ] {
        let log = logged("times.csv", text);
        assert_eq!(log.format, LogFormat::Csv, "{text}");
        assert_eq!(
            seen(&log),
            [("align-1", "align", 40.0), ("align-2", "align", 44.5)]
        );
    }
    let log = logged("t", "name,seconds,kind\nx1,1m30s,mapping\n");
    assert_eq!(seen(&log), [("x1", "mapping", 90.0)]);
    refused("name,seconds\na,1\nb,soon\n", 3, "no name with a number");
    refused("name,seconds\na,1\nb,-3\n", 3, "no name with a number");
    refused("a,1\n,2\n", 2, "no name with a number");
    refused("Dear all,\nhere is the log\n", 0, "no log of times");
    refused("", 0, "no log of times");
}

#[test]
fn nextflow() {
    let text = "task_id\thash\tnative_id\tname\tstatus\texit\tsubmit\tduration\trealtime\n\
        1\tab/12\t77\tNFCORE:RNASEQ:FASTQC (S1)\tCOMPLETED\t0\t2024-05-01 10:00:00.000\t12.1s\t3m 4s\n\
        2\tab/13\t78\tNFCORE:RNASEQ:FASTQC (S2)\tCACHED\t0\t2024-05-01 10:00:00.000\t1h\t500ms\n\
        3\tab/14\t79\tMULTIQC\tFAILED\t1\t2024-05-01 10:00:00.000\t2s\t1s\n\
        4\tab/15\t80\tMULTIQC\tABORTED\t-\t-\t-\t-\n";
    let log = logged("trace.txt", text);
    assert_eq!(log.format, LogFormat::Nextflow);
    assert_eq!(
        seen(&log),
        [
            ("NFCORE:RNASEQ:FASTQC (S1)", "FASTQC", 184.0),
            ("NFCORE:RNASEQ:FASTQC (S2)", "FASTQC", 0.5),
            ("MULTIQC", "MULTIQC", 1.0),
        ]
    );
    assert_eq!(log.jobs[2].end, AttemptEnd::Failed);
    // A raw trace counts milliseconds.
    let raw = logged("t", "name\tstatus\trealtime\nA (1)\tCOMPLETED\t1500\n");
    assert_eq!(raw.jobs[0].seconds, 1.5);
    refused(&text.replace("3m 4s", "three"), 2, "no length of time");
    refused(
        "name\tstatus\texit\nA\tCOMPLETED\t0\n",
        1,
        "no column realtime",
    );
}

#[test]
fn snakemake_benchmarks() {
    // The header is that of Snakemake 9.
    let text = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n\
                12.5\t0:00:12\t3.05\t4.26\t0.27\t0.47\t0.00\t0.00\t0.00\t0.00\n\
                14.5\t0:00:14\t4.76\t7.11\t0.41\t0.68\t0.01\t0.00\t0.00\t0.00\n";
    let log = logged("benchmarks/bwa-7.tsv", text);
    assert_eq!(log.format, LogFormat::SnakemakeBenchmark);
    // From memory there is no path: the source's name stands for it.
    assert_eq!((log.jobs.len(), log.jobs[0].seconds), (2, 12.5));
    let extended = "s\th:m:s\tjobid\trule_name\twildcards\n3\t0:00:03\t4\tsort\t{}\n";
    assert_eq!(logged("b.tsv", extended).jobs[0].kind, "sort");
    refused(&text.replace("14.5", "NA"), 3, "no seconds");
}

#[test]
fn snakemake_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let metadata = folder.path().join(".snakemake/metadata");
    std::fs::create_dir_all(&metadata).unwrap();
    // As Snakemake 9 wrote it, but for the times.
    let one = metadata.join("cmVzdWx0cy9hbGwudHh0");
    let text = r#"{"rule": "join", "input": ["results/1.txt", "results/2.txt"], "log": [],
        "shellcmd": "cat results/1.txt results/2.txt > results/all.txt", "params": [],
        "code": "cat {input} > {output}", "record_format_version": 6, "conda_env": null, "container_img_url": null,
        "software_stack_hash": "d41d8cd98f00b204e9800998ecf8427e", "job_hash": 8773042821413, "starttime": 100.5,
        "endtime": 103.0, "incomplete": false, "external_jobid": null}"#;
    std::fs::write(&one, text).unwrap();
    let mut report = Report::default();
    for path in [folder.path(), &metadata] {
        let log = read_log(path, &ReadLimits::default(), &mut report).unwrap();
        assert_eq!(log.format, LogFormat::SnakemakeMetadata);
        assert_eq!(seen(&log), [("results/all.txt", "join", 2.5)]);
    }
    std::fs::write(&one, "{").unwrap();
    assert_eq!(
        read_log(&metadata, &ReadLimits::default(), &mut report),
        None
    );
    assert!(
        report.problems()[0].message.contains("no JSON"),
        "{report:?}"
    );
    std::fs::remove_file(&one).unwrap();
    let mut report = Report::default();
    assert_eq!(
        read_log(&metadata, &ReadLimits::default(), &mut report),
        None
    );
    assert!(
        report.problems()[0].message.contains("no metadata"),
        "{report:?}"
    );
}

const SACCT: &str = "JobID|JobName|State|Elapsed|Start|End|NodeList
7|align_1|COMPLETED|00:10:00|2024-01-01T00:00:00|2024-01-01T00:10:00|n1
7.batch|batch|COMPLETED|00:10:00|2024-01-01T00:00:00|2024-01-01T00:10:00|n1
8|align_2|NODE_FAIL|00:05:00|2024-01-01T00:00:00|2024-01-01T00:05:00|n2
9|align_2|COMPLETED|1-00:00:01|2024-01-01T00:06:00|2024-01-02T00:06:01|n2
10|join|CANCELLED by 0|00:00:00|None|2024-01-01T00:00:00|None assigned
11|join|RUNNING|00:00:09|2024-01-01T00:00:00|Unknown|n1
";

#[test]
fn sacct() {
    let log = logged("sacct.txt", SACCT);
    assert_eq!(log.format, LogFormat::Sacct);
    assert_eq!(
        seen(&log),
        [
            ("align_1", "align", 600.0),
            ("align_2", "align", 300.0),
            ("align_2", "align", 86_401.0),
            ("join", "join", 0.0),
        ]
    );
    let ends: Vec<AttemptEnd> = log.jobs.iter().map(|j| j.end).collect();
    assert_eq!(
        ends,
        [
            AttemptEnd::Executed,
            AttemptEnd::Lost,
            AttemptEnd::Executed,
            AttemptEnd::Failed
        ]
    );
    let raw = logged("s", "JobID|JobName|ElapsedRaw|\n1|a|61|\n");
    assert_eq!(raw.jobs[0].seconds, 61.0);
    refused("JobID|State\n1|COMPLETED\n", 1, "no column JobName");
    refused(
        "JobID|JobName|State\n1|a|COMPLETED\n",
        1,
        "no column Elapsed",
    );
    refused(
        &SACCT.replace("00:10:00|2024", "ten|2024"),
        2,
        "no length of time",
    );
    refused("JobID|JobName|Elapsed\n1|a\n", 2, "2 of 3 columns");
    // A bar in a name belongs to the name, and shifts nothing.
    let bars = "JobID|JobName|State|ElapsedRaw|NodeList\n1|a|b|COMPLETED|61|n1\n2||x||FAILED|7|n2\n3|c|COMPLETED|8|n3\n";
    for text in [bars.to_owned(), bars.replace('\n', "|\n")] {
        let log = logged("s", &text);
        let names: Vec<(&str, f64)> = (log.jobs.iter())
            .map(|j| (j.name.as_str(), j.seconds))
            .collect();
        assert_eq!(names, [("a|b", 61.0), ("|x|", 7.0), ("c", 8.0)]);
        assert_eq!(log.jobs[1].end, AttemptEnd::Failed);
        assert_eq!(log.jobs[1].host.as_deref(), Some("n2"));
    }
    refused(
        "JobID|JobName|Elapsed|Comment\n1|a|00:00:01|b\n2|a|b|00:00:01|c\n",
        3,
        "5 columns, not 4: one of them has a bar in it",
    );
}

/// Written by sacct of Slurm 22.05 itself, from the database of a cluster of one node with two processors.
const REAL_SACCT: &str = "JobID|JobName|State|Elapsed|Start|End|NodeList
1|align_1|COMPLETED|00:00:02|2026-11-17T01:31:00|2026-11-17T01:31:02|vm
1.batch|batch|COMPLETED|00:00:02|2026-11-17T01:31:00|2026-11-17T01:31:02|vm
2|align_2|COMPLETED|00:00:03|2026-11-17T01:31:00|2026-11-17T01:31:03|vm
2.batch|batch|COMPLETED|00:00:03|2026-11-17T01:31:00|2026-11-17T01:31:03|vm
3|join|FAILED|00:00:00|2026-11-17T01:31:03|2026-11-17T01:31:03|vm
3.batch|batch|FAILED|00:00:00|2026-11-17T01:31:03|2026-11-17T01:31:03|vm
4|stop|CANCELLED by 0|00:00:08|2026-11-17T01:31:04|2026-11-17T01:31:12|vm
4.batch|batch|CANCELLED|00:00:08|2026-11-17T01:31:04|2026-11-17T01:31:12|vm
5_1|sweep|COMPLETED|00:00:01|2026-11-17T01:31:04|2026-11-17T01:31:05|vm
5_1.batch|batch|COMPLETED|00:00:01|2026-11-17T01:31:04|2026-11-17T01:31:05|vm
5_2|sweep|COMPLETED|00:00:01|2026-11-17T01:31:06|2026-11-17T01:31:07|vm
5_2.batch|batch|COMPLETED|00:00:01|2026-11-17T01:31:06|2026-11-17T01:31:07|vm
";

#[test]
fn sacct_of_a_real_cluster() {
    let log = logged("sacct.txt", REAL_SACCT);
    assert_eq!(
        seen(&log),
        [
            ("align_1", "align", 2.0),
            ("align_2", "align", 3.0),
            ("join", "join", 0.0),
            ("stop", "stop", 8.0),
            ("sweep", "sweep", 1.0),
            ("sweep", "sweep", 1.0),
        ]
    );
    let done = log
        .jobs
        .iter()
        .filter(|j| j.end == AttemptEnd::Executed)
        .count();
    assert_eq!(done, 4);
    // It had two processors.
    assert_eq!(fit(&[log]).unwrap().slots, 2);
}

const CONDOR: &str = "000 (12.000.000) 2024-01-01 00:00:00 Job submitted from host: <10.0.0.1:9618>
    DAG Node: align_1
...
001 (12.000.000) 2024-01-01 00:01:00 Job executing on host: <10.0.0.2:9618?addrs=x>
\tSlotName: slot1@n2
...
006 (12.000.000) 2024-01-01 00:02:00 Image size of job updated: 12
...
004 (12.000.000) 2024-01-01 00:11:00 Job was evicted.
\t(0) Job was not checkpointed.
...
001 (12.000.000) 2024-01-01 00:21:00 Job executing on host: <10.0.0.2:9618?addrs=x>
\tSlotName: slot1@n2
...
005 (12.000.000) 2024-01-01 00:41:00 Job terminated.
\t(1) Normal termination (return value 0)
...
000 (13.000.000) 01/01 00:00:00 Job submitted from host: <10.0.0.1:9618>
...
001 (13.000.000) 01/01 00:00:30 Job executing on host: <10.0.0.3:9618>
...
005 (13.000.000) 01/01 00:01:00 Job terminated.
\t(1) Normal termination (return value 1)
...
";

#[test]
fn condor() {
    let log = logged("w.dag.nodes.log", CONDOR);
    assert_eq!(log.format, LogFormat::Condor);
    assert_eq!(
        seen(&log),
        [
            ("align_1", "align", 600.0),
            ("align_1", "align", 1200.0),
            ("13.000.000", "task", 30.0),
        ]
    );
    let ends: Vec<AttemptEnd> = log.jobs.iter().map(|j| j.end).collect();
    assert_eq!(
        ends,
        [AttemptEnd::Lost, AttemptEnd::Executed, AttemptEnd::Failed]
    );
    assert_eq!(log.jobs[0].host.as_deref(), Some("slot1@n2"));
    assert_eq!(log.jobs[2].host.as_deref(), Some("10.0.0.3"));
    refused(&CONDOR.replace("006 (12", "<a> (12"), 7, "no event");
    refused(
        &CONDOR.replace("2024-01-01 00:41", "2023-01-01 00:41"),
        15,
        "before the job began",
    );
    refused(
        "000 (1.0.0) 2024-01-01 00:00:00 Job submitted\n...\n",
        0,
        "no job that ended",
    );
}

#[test]
fn jobstate() {
    let text = "1190842380 INTERNAL *** DAGMAN_STARTED 1.0 ***
1190842385 merge_ID000001 SUBMIT 2.0 local - 1
1190842390 merge_ID000001 EXECUTE 2.0 local - 1
1190842450 merge_ID000001 JOB_TERMINATED 2.0 local - 1
1190842455 merge_ID000001 JOB_SUCCESS 0 local - 1
1190842456 split EXECUTE 3.0 local - 2
1190842466 split JOB_EVICTED 3.0 local - 2
";
    let log = logged("jobstate.log", text);
    assert_eq!(log.format, LogFormat::Jobstate);
    assert_eq!(
        seen(&log),
        [("merge_ID000001", "merge", 60.0), ("split", "split", 10.0)]
    );
    assert_eq!(log.jobs[1].end, AttemptEnd::Lost);
    // What reconnects was not lost.
    let away = "1190842460 split JOB_DISCONNECTED 3.0 local - 2\n1190842466 split JOB_SUCCESS 0 local - 2\n";
    let back = text.replace("1190842466 split JOB_EVICTED 3.0 local - 2\n", away);
    let back = logged("jobstate.log", &back);
    assert_eq!(
        (back.jobs[1].end, back.jobs[1].seconds),
        (AttemptEnd::Executed, 10.0)
    );
    refused(
        &format!("{text}and so on\n"),
        8,
        "no line of a jobstate log",
    );
}

#[test]
fn workflows_with_durations() {
    let text = "{\"name\":\"a-1\",\"seconds\":3}\n{\"name\":\"b\",\"after\":[\"a-1\"]}\n";
    let log = logged("flow.jsonl", text);
    assert_eq!(
        (log.format, seen(&log)),
        (LogFormat::Workflow, vec![("a-1", "a", 3.0)])
    );
    refused("digraph { a -> b }", 0, "gives no durations");
}

#[test]
fn times_are_summed_up_by_kind() {
    let rows = by_kind(&[logged("s", SACCT)]);
    let row = |k: &KindTimes| (k.kind.clone(), k.done, k.failed);
    assert_eq!(
        rows.iter().map(row).collect::<Vec<_>>(),
        [("align".to_owned(), 2, 1)]
    );
    assert_eq!((rows[0].median, rows[0].longest), (43_500.5, 86_401.0));
    let deviation = (86_401f64 / 600.0).ln() / 2f64.sqrt();
    assert!((rows[0].spread - deviation).abs() < 1e-12);
}

#[test]
fn workers_are_fitted() {
    let fitted = fit(&[logged("s", SACCT)]).unwrap();
    assert_eq!((fitted.attempts, fitted.lost), (3, 1));
    assert_eq!(fitted.up, Some(87_301.0));
    assert_eq!(fitted.down, Some(60.0));
    // Two ran at once for ten minutes of a day: too short to count.
    assert_eq!(fitted.slots, 1);
    assert_eq!(fitted.speed, None);
    assert_eq!(fit(&[logged("c", "a,1\n")]), None);
    // Two hosts, one of them twice as fast at the same kind of job.
    let mut text = "JobID|JobName|Elapsed|Start|NodeList\n".to_owned();
    for i in 0..8 {
        let (host, minutes) = [("fast", 1), ("slow", 2)][i % 2];
        text += &format!("{i}|w{i}|00:0{minutes}:00|2024-01-01T00:00:00|{host}\n");
    }
    let fitted = fit(&[logged("s", &text)]).unwrap();
    let deviation = 2f64.ln() / 2f64.sqrt();
    assert!(
        (fitted.speed.unwrap() - deviation).abs() < 1e-9,
        "{fitted:?}"
    );
    assert_eq!(fitted.slots, 8);
}

/// By trying all: the obvious twin of the sweep over time.
#[test]
fn slots_are_those_busy_for_a_twentieth_of_the_time() {
    let mut state = 7u64;
    let mut next = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..500 {
        let mut text = "JobID|JobName|ElapsedRaw|Start\n".to_owned();
        let jobs: Vec<(u64, u64)> = (0..1 + next(9)).map(|_| (next(40), 1 + next(20))).collect();
        for (i, (start, length)) in jobs.iter().enumerate() {
            text += &format!("{i}|j|{length}|2024-01-01T00:00:{start:02}\n");
        }
        let at = |t: u64| jobs.iter().filter(|(s, l)| *s <= t && t < s + l).count() as u32;
        let busy: Vec<u32> = (0..100).map(at).filter(|n| *n > 0).collect();
        let enough = |n: u32| busy.iter().filter(|b| **b >= n).count() * 20 >= busy.len();
        let slots = (1..20).rev().find(|&n| enough(n)).unwrap();
        assert_eq!(fit(&[logged("s", &text)]).unwrap().slots, slots, "{text}");
    }
}

#[test]
fn tasks_get_times_by_name_then_their_own_then_by_kind_then_by_the_mean() {
    let flow = "{\"name\":\"align-1\"}\n{\"name\":\"align-2\",\"seconds\":7}\n{\"name\":\"align-3\"}\n\
                {\"name\":\"make\",\"outputs\":[\"out/x.o\"]}\n{\"name\":\"other\",\"after\":[\"make\"]}\n";
    let mut report = Report::default();
    let (_, flow) = read(&Source::from_text("f.jsonl", flow), None, &mut report).unwrap();
    let logs = [
        logged("a", "align-1,10\nalign-9,20\nalign-9,40\n"),
        logged("b", "# ninja log v5\n0\t5000\t1\tout/x.o\tab\n"),
    ];
    let found = assign(&flow, &logs);
    let known = [Some(10.0), Some(7.0), Some(20.0), Some(5.0)];
    assert_eq!(found.seconds[..4], known);
    assert_eq!(found.seconds[4], Some((10.0 + 7.0 + 20.0 + 5.0) / 4.0));
    let counts = (found.by_name, found.own, found.by_kind, found.by_mean);
    assert_eq!(counts, (2, 1, 1, 1));
    // A job that failed tells nothing.
    let failed = [logged(
        "s",
        "JobID|JobName|State|Elapsed\n1|align-1|FAILED|00:01:00\n",
    )];
    assert_eq!(assign(&flow, &failed).by_name, 0);
}

/// Logs with bytes changed at random: an answer or an error, never a panic, and an error exactly where there is no answer.
#[test]
fn no_log_makes_it_panic() {
    let mut state = 1u64;
    let mut next = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for text in [
        NINJA,
        SACCT,
        CONDOR,
        "name,seconds\na,1\n",
        "s\th:m:s\n1\t0:00:01\n",
    ] {
        for _ in 0..2000 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..1 + next(4) {
                let at = next(bytes.len());
                match next(3) {
                    0 => bytes[at] = b"0\t\n|-:. (e"[next(10)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(1)),
                }
                if bytes.is_empty() {
                    bytes.push(b'x');
                }
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let mut report = Report::default();
            let log = read_source(&Source::from_text("log", text.clone()), &mut report);
            assert_eq!(log.is_none(), report.errors() > 0, "{text}");
            if let Some(log) = log {
                let logs = [log];
                by_kind(&logs);
                fit(&logs);
            }
        }
    }
}
