//! Files that people try and that are no workflow we read: what they plainly are, and what to do instead. Knows the
//! looks of other languages, and no format of ours.

/// What a text plainly is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    /// As in "this is …".
    pub(crate) what: &'static str,
    /// What to do; empty when there is nothing to say.
    pub(crate) cure: &'static str,
}

const MAKEFLOW_JSON: Kind = Kind {
    what: "a Makeflow file in JSON (JX), which is not supported",
    cure: "write the rules in Makeflow's own language, 'outputs: inputs' and a command behind a tab",
};
const MERMAID: Kind = Kind {
    what: "a Mermaid diagram",
    cure: "write the arrows as DOT, 'digraph { a -> b }', or as CSV, 'a,b'",
};
const SNAKEFILE: Kind = Kind {
    what: "a Snakefile",
    cure: "let Snakemake write its dag: snakemake --dag > dag.dot",
};
const NEXTFLOW: Kind = Kind {
    what: "a Nextflow script",
    cure: "let Nextflow write its dag: nextflow run FILE -with-dag dag.dot",
};
const NINJA: Kind = Kind {
    what: "a Ninja build file",
    cure: "let Ninja write its dag: ninja -t graph > dag.dot",
};
const MAKEFILE: Kind = Kind {
    what: "a Makefile of make, which is not Makeflow's",
    cure: "let make write its dag, for example: make -Bnd | make2graph > dag.dot",
};
const CWL: Kind = Kind {
    what: "a CWL document",
    cure: "let cwltool write its dag: cwltool --print-dot FILE > dag.dot",
};
const PYTHON: Kind = Kind {
    what: "a Python program",
    cure: "",
};
const SCRIPT: Kind = Kind {
    what: "a script",
    cure: "",
};
const C: Kind = Kind {
    what: "a C or C++ program",
    cure: "",
};
const PROGRAM: Kind = Kind {
    what: "a program",
    cure: "",
};
const MARKDOWN: Kind = Kind {
    what: "a Markdown document",
    cure: "",
};
const DOCKERFILE: Kind = Kind {
    what: "a Dockerfile",
    cure: "",
};
const INI: Kind = Kind {
    what: "an INI or TOML file without a [[task]]",
    cure: "",
};
const OTHER_JSON: Kind = Kind {
    what: "JSON without a list of tasks",
    cure: "a flow file has a field 'task': {\"task\": [{\"name\": \"a\"}, {\"name\": \"b\", \"after\": [\"a\"]}]}",
};

/// What a JSON object with these keys is, when it is no workflow that we know.
pub(crate) fn of_json_keys(keys: &[String]) -> Kind {
    let has = |key: &str| keys.iter().any(|k| k == key);
    if has("rules") {
        return MAKEFLOW_JSON;
    }
    if has("cwlVersion") {
        return CWL;
    }
    OTHER_JSON
}

/// What a text is, by the looks of its first lines; `None` when that is not plain.
pub(crate) fn of_text(text: &str) -> Option<Kind> {
    let lines: Vec<&str> = text.lines().take(300).collect();
    let trimmed = || lines.iter().map(|line| line.trim());
    let count = |test: &dyn Fn(&str) -> bool| trimmed().filter(|line| test(line)).count();
    let first = trimmed().find(|line| !line.is_empty() && !line.starts_with("%%"))?;
    let first_word = first.split_whitespace().next().unwrap_or("");
    let begins = |line: &str, words: &[&str]| {
        let word = line.split([' ', '\t', '(', '{', ':']).next();
        word.is_some_and(|word| words.contains(&word))
    };
    if first.starts_with("#!") {
        return Some(match first.contains("python") {
            true => PYTHON,
            false => SCRIPT,
        });
    }
    let directions = ["TD", "TB", "BT", "LR", "RL"];
    let is_mermaid = |line: &str| {
        let mut words = line.trim_end_matches(';').split_whitespace();
        match words.next() {
            Some("graph") => words.next().is_some_and(|d| directions.contains(&d)),
            Some("flowchart" | "sequenceDiagram" | "gantt" | "classDiagram" | "erDiagram") => true,
            Some("stateDiagram" | "stateDiagram-v2" | "gitGraph" | "mindmap") => true,
            _ => false,
        }
    };
    if is_mermaid(first) || (first == "---" && trimmed().take(20).any(is_mermaid)) {
        return Some(MERMAID);
    }
    let of_snakemake = |line: &str| {
        let rule = begins(line, &["rule", "checkpoint"]) && line.ends_with(':');
        rule && line.split_whitespace().count() <= 2
    };
    if count(&of_snakemake) > 0
        && count(&|line| {
            ["input:", "output:", "shell:", "run:"]
                .iter()
                .any(|k| line.starts_with(k))
        }) > 0
    {
        return Some(SNAKEFILE);
    }
    if first.contains("nextflow")
        || (count(&|line| begins(line, &["process", "workflow"]) && line.ends_with('{')) > 0
            && count(&|line| {
                line.starts_with("script:")
                    || line.starts_with("input:")
                    || line.contains("Channel")
            }) > 0)
    {
        return Some(NEXTFLOW);
    }
    if count(&|line| line.starts_with("cwlVersion:")) > 0 {
        return Some(CWL);
    }
    if count(&|line| line.starts_with("#include ") || line.starts_with("#include<")) > 0 {
        return Some(C);
    }
    if count(&|line| line.ends_with(';') || line.ends_with('{')) * 2 > lines.len().max(4) {
        return Some(PROGRAM);
    }
    let is_import = |line: &str| {
        line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import "))
    };
    let is_block = |line: &str| {
        line.ends_with(':')
            && begins(
                line,
                &[
                    "def", "class", "if", "for", "while", "try", "with", "async", "else", "elif",
                ],
            )
    };
    if count(&is_import) > 0 || count(&is_block) > 1 {
        return Some(PYTHON);
    }
    if count(&|line| begins(line, &["build"]) && line.contains(": ")) > 0
        && count(&|line| line.starts_with("rule ")) > 0
    {
        return Some(NINJA);
    }
    if count(&|line| line.starts_with(".PHONY") || line.contains(":=")) > 0
        || count(&|line| line.contains("$@") || line.contains("$<") || line.contains("$^")) > 0
    {
        return Some(MAKEFILE);
    }
    if first_word == "FROM"
        && count(&|line| begins(line, &["RUN", "CMD", "COPY", "ENTRYPOINT"])) > 0
    {
        return Some(DOCKERFILE);
    }
    let is_header = |line: &str| {
        let list = (line.strip_prefix("[[")).and_then(|l| l.strip_suffix("]]"));
        match list {
            // A test of a shell script looks alike, but for its blanks.
            Some(name) => !name.is_empty() && !name.contains(char::is_whitespace),
            None => line.starts_with('[') && line.ends_with(']') && !line.starts_with("[["),
        }
    };
    if count(&is_header) > 0 && count(&|line| line.contains('=')) > 0 {
        return Some(INI);
    }
    let is_markup = |line: &str| {
        line.starts_with("```")
            || line.starts_with("## ")
            || (line.contains("](") && line.contains(')'))
    };
    if first.starts_with("# ") && count(&|line| !line.is_empty() && !line.starts_with('#')) > 0
        || count(&is_markup) > 1
    {
        // A first line that begins with '#' may be a comment of any format: there must be markup, or prose.
        let is_prose = |line: &str| line.ends_with('.') && line.split_whitespace().count() > 4;
        if count(&is_markup) > 0 || count(&is_prose) > 0 {
            return Some(MARKDOWN);
        }
    }
    let is_command = |line: &str| {
        begins(
            line,
            &[
                "set", "echo", "cd", "export", "fi", "done", "then", "esac", "source", "mkdir",
                "exit",
            ],
        )
    };
    if count(&is_command) > 2 {
        return Some(SCRIPT);
    }
    None
}
