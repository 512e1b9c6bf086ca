//! DAX files, well written and broken.

use super::*;
use crate::test_support::{self as support, first_problem};
use cairn_dag::{File, TaskId};

fn read_text(text: &str) -> (Option<Flow>, Report) {
    support::try_read(read, "f.dax", text)
}

const DAX: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment with <job id="no"/> -->
<!DOCTYPE adag SYSTEM "adag.dtd">
<p:adag xmlns:p="http://pegasus.isi.edu/schema/DAX" version="2.1">
  <filename file="f.a" link="input"/>
  <executable name="keg"><uses name="lib"/><pfn url="x"/></executable>
  <job id="ID1" namespace="n" name="pre process" version="1.0" runtime="18.5">
    <argument>-a &lt;top&gt;
      -i <filename file="f.a"/> <![CDATA[&x]]></argument>
    <uses file="f.a" link="input" size="100"/>
    <uses name="f.b" link="output" size="2.0e3" transfer="false"/>
    <uses name="f.c" link="inout"/>
    <profile namespace="pegasus" key="cores">2</profile>
    <profile namespace="condor" key="priority"> 5 </profile>
    <profile namespace="dagman" key="retry">3</profile>
    <profile namespace="pegasus" key="memory">512</profile>
    <profile namespace="condor" key="request_disk">10</profile>
    <profile namespace="globus" key="maxwalltime">2</profile>
  </job>
  <job id="ID2" name="find"/>
  <dax id="ID3" file="sub.dax"></dax>
  <child ref="ID2"><parent ref="ID1" edge-label="x"/></child>
  <child ref="ID3"><parent ref="ID1"/><parent ref="ID2"/></child>
</p:adag>
"#;

#[test]
fn jobs_files_profiles_and_dependencies() {
    for text in [DAX.to_owned(), DAX.replace('\n', "\r\n")] {
        let (flow, report) = read_text(&text);
        assert_eq!(report.problems(), []);
        let flow = flow.unwrap();
        let [one, two, three] = ["ID1", "ID2", "ID3"].map(|n| flow.find(n).unwrap());
        let arcs: Vec<_> = flow.dag().arcs().collect();
        assert_eq!(arcs, [(one, two), (one, three), (two, three)]);
        assert_eq!(flow.command(one), Some("'pre process' -a <top> -i f.a &x"));
        assert_eq!(
            (flow.command(two), flow.command(three)),
            (Some("find"), Some("sub.dax"))
        );
        assert_eq!((flow.seconds(one), flow.seconds(two)), (Some(18.5), None));
        assert_eq!((flow.cpus(one), flow.priority(one)), (Some(2), Some(5)));
        assert_eq!(flow.retries(one), Some(3));
        assert_eq!(flow.memory(one), Some(512 << 20));
        assert_eq!(flow.scratch(one), Some(10 << 10));
        assert_eq!(flow.time_limit(one), Some(120.0));
        let file = |path, bytes| File {
            path,
            bytes,
            temp: path == "f.b",
        };
        let inputs: Vec<_> = flow.inputs(one).collect();
        assert_eq!(inputs, [file("f.a", Some(100)), file("f.c", None)]);
        let outputs: Vec<_> = flow.outputs(one).collect();
        assert_eq!(outputs, [file("f.b", Some(2000)), file("f.c", None)]);
    }
}

#[test]
fn errors_have_places_and_entities_do_not_expand() {
    let laughs = "<!DOCTYPE adag [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]>\n<adag><job id=\"&b;\"/></adag>";
    for (text, line, message) in [
        (laughs, 1, "defines entities"),
        ("<adag>\n<job id=\"&b;\" name=\"x\"/></adag>", 2, "b"),
        (
            "<adag><job id=\"a\"><argument>&b;</argument></job></adag>",
            1,
            "unknown entity '&b;'",
        ),
        ("<html></html>", 1, "the root element is <html>"),
        ("<adag>\n<job name=\"x\"/></adag>", 2, "this job has no id"),
        ("<adag><child/></adag>", 1, "has no 'ref'"),
        ("<adag>\n<job id=\"a\"></adag>", 2, "adag"),
        ("<adag><job id=\"a\"/>", 0, "ends before </adag>"),
        ("<!-- nothing -->", 0, "no <adag>"),
        (
            "<adag><job id=\"a\"/>\n<job id=\"a\"/></adag>",
            2,
            "declared twice",
        ),
        (
            "<adag>\n<child ref=\"a\"><parent ref=\"a\"/></child></adag>",
            2,
            "depends on itself",
        ),
        (
            "<adag><job id=\"a\"/>\n<child ref=\"b\"/></adag>",
            2,
            "never declared",
        ),
    ] {
        let (_, report) = read_text(text);
        let problem = first_problem(&report, text, message);
        assert_eq!(problem.place.line, line, "{text}: {}", problem.message);
    }
    let (flow, report) = read_text("<adag><job id=\"a\" runtime=\"-1\"/></adag>");
    assert_eq!(flow.unwrap().dag().len(), 1);
    assert!(report.problems()[0].message.contains("'-1' is no runtime"));
    let sized = |size: &str| {
        format!(
            "<adag><job id=\"a\"><uses name=\"f\" link=\"output\" size=\"{size}\"/></job></adag>"
        )
    };
    for (size, bytes) in [
        ("9007199254740993", Some((1 << 53) + 1)),
        ("2.0e3", Some(2000)),
        ("", None),
        ("1kB", None),
        ("-1", None),
    ] {
        let (flow, report) = read_text(&sized(size));
        let found = flow.unwrap().outputs(TaskId(0)).next().unwrap().bytes;
        assert_eq!(found, bytes, "{size}");
        let is_told = report
            .problems()
            .iter()
            .any(|p| p.message.contains("is no size"));
        assert_eq!(is_told, bytes.is_none() && !size.is_empty(), "{size}");
    }
    let deep = "<adag>".repeat(100_000);
    assert!(read_text(&deep).0.is_none());
}
