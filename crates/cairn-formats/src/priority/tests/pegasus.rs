//! Priorities in Pegasus' DAX and YAML: their looks, and random files that keep all else.

use super::*;

#[test]
fn pegasus_dax_gets_a_dagman_profile_where_the_schema_wants_it() {
    for (text, expected) in [
        (
            "<adag>\n  <job id=\"a\" name=\"x\"/>\n</adag>",
            "<adag>\n  <job id=\"a\" name=\"x\">\n    <profile namespace=\"dagman\" key=\"PRIORITY\">10</profile>\n  </job>\n</adag>",
        ),
        (
            "<adag><job id=\"a\"/><job id=\"b\"></job></adag>",
            "<adag><job id=\"a\"><profile namespace=\"dagman\" key=\"PRIORITY\">10</profile></job>\
             <job id=\"b\"><profile namespace=\"dagman\" key=\"PRIORITY\">11</profile></job></adag>",
        ),
        (
            "<adag>\r\n\t<job id=\"a\">\r\n\t\t<argument>-i <file name=\"f\"/></argument>\r\n\t\t<uses name=\"f\" link=\"input\"/>\r\n\t</job>\r\n</adag>",
            "<adag>\r\n\t<job id=\"a\">\r\n\t\t<argument>-i <file name=\"f\"/></argument>\r\n\t\t<profile namespace=\"dagman\" key=\"PRIORITY\">10</profile>\r\n\t\t<uses name=\"f\" link=\"input\"/>\r\n\t</job>\r\n</adag>",
        ),
        (
            "<p:adag>\n  <p:job id='a'>\n  </p:job>\n  <p:dax id='b' file='s'><!-- c --></p:dax>\n</p:adag>",
            "<p:adag>\n  <p:job id='a'>\n    <p:profile namespace=\"dagman\" key=\"PRIORITY\">10</p:profile>\n  </p:job>\n  <p:dax id='b' file='s'><p:profile namespace=\"dagman\" key=\"PRIORITY\">11</p:profile><!-- c --></p:dax>\n</p:adag>",
        ),
        (
            "<adag>\n <job id=\"a\">\n  <profile namespace=\"dagman\" key=\"retry\">3</profile>\n  <profile key=\"Priority\" namespace='DAGMan'> -7\n</profile>\n  <uses file=\"x\"/>\n </job>\n <job id=\"b\"><profile namespace=\"dagman\" key=\"PRIORITY\"/></job>\n</adag>",
            "<adag>\n <job id=\"a\">\n  <profile namespace=\"dagman\" key=\"retry\">3</profile>\n  <profile key=\"Priority\" namespace='DAGMan'> 10\n</profile>\n  <uses file=\"x\"/>\n </job>\n <job id=\"b\"><profile namespace=\"dagman\" key=\"PRIORITY\">11</profile></job>\n</adag>",
        ),
        (
            "<adag><job id=\"a\"><profile namespace=\"condor\" key=\"priority\">5</profile></job></adag>",
            "<adag><job id=\"a\"><profile namespace=\"condor\" key=\"priority\">5</profile><profile namespace=\"dagman\" key=\"PRIORITY\">10</profile></job></adag>",
        ),
    ] {
        check(Format::Dax, text, expected);
    }
}

#[test]
fn pegasus_yaml_gets_a_dagman_profile() {
    for (text, expected) in [
        (
            "jobs:\n- type: job\n  name: x # c\n  id: a\n- id: b\n",
            "jobs:\n- type: job\n  profiles:\n    dagman:\n      PRIORITY: 10\n  name: x # c\n  id: a\n- profiles:\n    dagman:\n      PRIORITY: 11\n  id: b\n",
        ),
        (
            "jobs:\r\n  - id: a\r\n    profiles:\r\n      # mine\r\n      env:\r\n        X: \"1\"\r\n",
            "jobs:\r\n  - id: a\r\n    profiles:\r\n      # mine\r\n      dagman:\r\n        PRIORITY: 10\r\n      env:\r\n        X: \"1\"\r\n",
        ),
        (
            "jobs:\n- id: a\n  profiles:\n    dagman:\n      RETRY: 3\n- id: b\n  profiles: {dagman: {RETRY: 3}}\n- {id: c}\n- {id: d, profiles: {}}\n",
            "jobs:\n- id: a\n  profiles:\n    dagman:\n      PRIORITY: 10\n      RETRY: 3\n- id: b\n  profiles: {dagman: {PRIORITY: 11, RETRY: 3}}\n- {profiles: {dagman: {PRIORITY: 12}}, id: c}\n- {id: d, profiles: {dagman: {PRIORITY: 13}}}\n",
        ),
        (
            "jobs:\n- id: a\n  profiles: {condor: {priority: 5}, dagman: {PRIORITY: '-7'}}\n- id: b\n  profiles:\n    dagman:\n      priority: 4   # by hand\n",
            "jobs:\n- id: a\n  profiles: {condor: {priority: 5}, dagman: {PRIORITY: '10'}}\n- id: b\n  profiles:\n    dagman:\n      priority: 11   # by hand\n",
        ),
        (
            r#"{"jobs": [{"id": "a", "profiles": {"dagman": {}}}, {"id": "b"}], "jobDependencies": []}"#,
            r#"{"jobs": [{"id": "a", "profiles": {"dagman": {"PRIORITY": 10}}}, {"profiles": {"dagman": {"PRIORITY": 11}}, "id": "b"}], "jobDependencies": []}"#,
        ),
        (
            "x-é: 'ü'\njobs:\n- id: a # ü\n  name: é\njobDependencies: []\n",
            "x-é: 'ü'\njobs:\n- id: a # ü\n  profiles:\n    dagman:\n      PRIORITY: 10\n  name: é\njobDependencies: []\n",
        ),
    ] {
        check(Format::PegasusYaml, text, expected);
    }
}

/// What several jobs share must not change for one of them, so nothing is written.
#[test]
fn shared_yaml_profiles_are_refused_with_their_line() {
    for text in [
        "jobs:\n- id: a\n  profiles: &p {dagman: {RETRY: 1}}\n- id: b\n  profiles: *p\n",
        "jobs:\n- id: a\n  profiles:\n    dagman: {PRIORITY: &n 5}\n",
        "jobs:\n- id: a\n  profiles:\n    dagman:\n",
    ] {
        let source = Source::from_text("f.yml", text);
        let (mut load, mut report) = (|_: &Path, _: &mut Report| None, Report::default());
        let (yaml, replace) = (Format::PegasusYaml, ExistingPriorities::Replace);
        let set = set_priorities(&source, yaml, &mut load, &by_letter, replace, &mut report);
        let error = set.map(|set| set.files).unwrap_err();
        assert!(
            matches!(error, PriorityError::Tangled(3 | 4)),
            "{error}: {text}"
        );
        assert!(error.to_string().starts_with("line "), "{error}");
    }
}

/// Random DAX and YAML as people and programs write them.
fn pegasus_text(format: Format, jobs: usize, seed: u64) -> String {
    let mut state = seed;
    let mut dice = move |k: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % k
    };
    let eol = ["\n", "\r\n"][dice(2) as usize];
    let indent = ["", " ", "  ", "\t"][dice(4) as usize];
    let mut out = String::new();
    if format == Format::Dax {
        out += &format!("<?xml version=\"1.0\"?>{eol}<!-- <job id=\"no\"/> -->{eol}<adag>{eol}");
        for j in 0..jobs {
            let parts = [
                "<argument>-n &lt;1&gt; <file name=\"f\"/></argument>",
                "<profile namespace=\"dagman\" key=\"PRIORITY\">5</profile>",
                "<profile namespace=\"env\" key=\"PRIORITY\">no</profile>",
                "<profile namespace=\"condor\" key=\"priority\">9</profile>",
                "<!-- PRIORITY -->",
                "<uses name=\"f\" link=\"input\"/>",
            ];
            let parts: Vec<&str> = parts.into_iter().filter(|_| dice(3) == 0).collect();
            let (open, close) = (format!("<job id=\"t{j}\" name=\"x>y\""), "</job>");
            out += indent;
            if parts.is_empty() && dice(2) == 0 {
                out += &format!("{open}/>{eol}");
                continue;
            }
            let glue = match dice(2) {
                0 => String::new(),
                _ => format!("{eol}{indent}{indent}"),
            };
            out += &format!("{open} >{glue}{}{eol}{close}{eol}", parts.join(&glue));
        }
        return out + "</adag>" + eol;
    }
    let dash = ["- ", "  - ", "-   "][dice(3) as usize];
    let column = " ".repeat(dash.len());
    out += &format!("# PRIORITY: 1{eol}pegasus: '5.0'{eol}jobs:{eol}");
    for j in 0..jobs {
        let keys = [
            "type: job".to_owned(),
            format!("id: t{j}"),
            "name: 'it''s: \"x\"'".to_owned(),
            format!("arguments:{eol}{column}- 'a: b'"),
            "# profiles: none".to_owned(),
            [
                "profiles: {}".to_owned(),
                "profiles: {dagman: {RETRY: 2}}".to_owned(),
                "profiles: {condor: {priority: 3}, dagman: {}}".to_owned(),
                format!("profiles:{eol}{column}  env: {{PRIORITY: x}}{eol}{column}  dagman:{eol}{column}    PRIORITY: \"4\" # c"),
                format!("profiles:{eol}{column}  pegasus:{eol}{column}    runtime: 2"),
            ][dice(5) as usize]
                .clone(),
            "uses: [{lfn: f, type: input}]".to_owned(),
        ];
        let has_id = |k: &String| k.starts_with("id:");
        let mut keys: Vec<String> = keys
            .into_iter()
            .filter(|k| has_id(k) || dice(2) == 0)
            .collect();
        if keys[0].starts_with('#') {
            keys.remove(0);
        }
        let keys = keys.join(&format!("{eol}{column}"));
        out += &format!("{dash}{keys}{eol}");
    }
    out
}

#[test]
fn random_pegasus_files_keep_all_else() {
    for format in [Format::Dax, Format::PegasusYaml] {
        let mut replaced = 0;
        for seed in 0..2000u64 {
            let jobs = 1 + (seed % 5) as usize;
            let text = pegasus_text(format, jobs, seed);
            let before = read_back(&text, format);
            let rank = |name: &str| before.find(name).map(|t| 100 + i64::from(t.0));
            let new = set(&text, format, &rank, ExistingPriorities::Replace);
            let after = read_back(&new, format);
            assert_same_dag(&before, &after);
            for task in after.dag().tasks() {
                assert_eq!(
                    after.priority(task),
                    rank(after.name(task)),
                    "{text}\n{new}"
                );
            }
            assert_eq!(set(&new, format, &rank, ExistingPriorities::Replace), new);
            // Byte for byte: what was there is there, in its order; only numbers behind the word may differ.
            let mut rest = new.bytes();
            let digits = |text: &str| text.replace(">5<", "><").replace("\"4\"", "\"\"");
            let kept = digits(&text)
                .bytes()
                .all(|byte| rest.any(|other| other == byte));
            assert!(kept, "{text}\n{new}");
            let only = |text: &str| text.matches("PRIORITY").count();
            let had = (before.dag().tasks())
                .filter(|&t| before.priority(t) == Some(5) || before.priority(t) == Some(4));
            let had = had.count();
            assert_eq!(only(&new), only(&text) + jobs - had, "{text}\n{new}");
            let kept = set(&text, format, &rank, ExistingPriorities::Keep);
            let kept = read_back(&kept, format);
            for task in kept.dag().tasks() {
                let meant = before.priority(task).or(rank(before.name(task)));
                assert_eq!(kept.priority(task), meant, "{text}");
            }
            replaced += had;
        }
        assert!(replaced > 300, "{replaced}");
    }
}
