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

impl Kind {
    const fn new(what: &'static str, cure: &'static str) -> Kind {
        Kind { what, cure }
    }
}

const MAKEFLOW_JSON: Kind = Kind::new(
    "a Makeflow file in JSON (JX), which is not supported",
    "write the rules in Makeflow's own language, 'outputs: inputs' and a command behind a tab",
);
const MERMAID: Kind = Kind::new(
    "a Mermaid diagram",
    "write the arrows as DOT, 'digraph { a -> b }', or as CSV, 'a,b'",
);
const SNAKEFILE: Kind = Kind::new(
    "a Snakefile",
    "let Snakemake write its dag: snakemake --dag > dag.dot",
);
const NEXTFLOW: Kind = Kind::new(
    "a Nextflow script",
    "let Nextflow write its dag: nextflow run FILE -with-dag dag.dot",
);
const NINJA: Kind = Kind::new(
    "a Ninja build file",
    "let Ninja write its dag: ninja -t graph > dag.dot",
);
const MAKEFILE: Kind = Kind::new(
    "a Makefile of make, which is not Makeflow's",
    "let make write its dag, for example: make -Bnd | make2graph > dag.dot",
);
const CWL: Kind = Kind::new(
    "a CWL document",
    "let cwltool write its dag: cwltool --print-dot FILE > dag.dot",
);
const PYTHON: Kind = Kind::new("a Python program", "");
const SCRIPT: Kind = Kind::new("a script", "");
const C: Kind = Kind::new("a C or C++ program", "");
const PROGRAM: Kind = Kind::new("a program", "");
const MARKDOWN: Kind = Kind::new("a Markdown document", "");
const DOCKERFILE: Kind = Kind::new("a Dockerfile", "");
const INI: Kind = Kind::new("an INI or TOML file without a [[task]]", "");
const OTHER_JSON: Kind = Kind::new(
    "JSON without a list of tasks",
    "a flow file has a field 'task': {\"task\": [{\"name\": \"a\"}, {\"name\": \"b\", \"after\": [\"a\"]}]}",
);

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
    let look = Look::new(text)?;
    // What tells most comes first: a Snakefile has the looks of Python as well.
    look.interpreter()
        .or_else(|| look.workflow())
        .or_else(|| look.program())
        .or_else(|| look.recipe())
        .or_else(|| look.document())
}

/// The first lines of a text, without blanks around them.
struct Look<'t> {
    lines: Vec<&'t str>,
    /// The first that says something.
    first: &'t str,
}

impl<'t> Look<'t> {
    fn new(text: &'t str) -> Option<Look<'t>> {
        // Enough to tell, however long the file.
        let lines: Vec<&str> = text.lines().take(300).map(str::trim).collect();
        let says = |line: &&&str| !line.is_empty() && !line.starts_with("%%");
        let first = lines.iter().find(says).copied()?;
        Some(Look { lines, first })
    }

    fn count(&self, test: impl Fn(&str) -> bool) -> usize {
        self.lines.iter().filter(|line| test(line)).count()
    }

    fn has(&self, test: impl Fn(&str) -> bool) -> bool {
        self.lines.iter().any(|line| test(line))
    }

    fn interpreter(&self) -> Option<Kind> {
        let is_python = self.first.contains("python");
        let kind = if is_python { PYTHON } else { SCRIPT };
        self.first.starts_with("#!").then_some(kind)
    }

    fn workflow(&self) -> Option<Kind> {
        // Behind its settings, which stand between two lines of dashes: as many as fit on a screen.
        let mut head = self.lines.iter().take(20);
        if is_mermaid(self.first) || (self.first == "---" && head.any(|line| is_mermaid(line))) {
            return Some(MERMAID);
        }
        let is_rule = |line: &str| {
            let rule = begins(line, &["rule", "checkpoint"]) && line.ends_with(':');
            rule && line.split_whitespace().count() <= 2
        };
        let parts = ["input:", "output:", "shell:", "run:"];
        if self.has(is_rule) && self.has(|line| parts.iter().any(|k| line.starts_with(k))) {
            return Some(SNAKEFILE);
        }
        let is_process = |l: &str| begins(l, &["process", "workflow"]) && l.ends_with('{');
        let is_inside = |line: &str| {
            line.starts_with("script:") || line.starts_with("input:") || line.contains("Channel")
        };
        if self.first.contains("nextflow") || (self.has(is_process) && self.has(is_inside)) {
            return Some(NEXTFLOW);
        }
        self.has(|line| line.starts_with("cwlVersion:"))
            .then_some(CWL)
    }

    fn program(&self) -> Option<Kind> {
        if self.has(|line| line.starts_with("#include ") || line.starts_with("#include<")) {
            return Some(C);
        }
        let ends = self.count(|line| line.ends_with(';') || line.ends_with('{'));
        // More than half of the lines, and at least three: a short DOT or JSON text must not pass for a program.
        if ends * 2 > self.lines.len().max(4) {
            return Some(PROGRAM);
        }
        let is_import = |line: &str| {
            line.starts_with("import ") || (line.starts_with("from ") && line.contains(" import "))
        };
        const BLOCKS: [&str; 10] = [
            "def", "class", "if", "for", "while", "try", "with", "async", "else", "elif",
        ];
        let is_block = |line: &str| line.ends_with(':') && begins(line, &BLOCKS);
        // A single line may end in a colon by chance.
        (self.has(is_import) || self.count(is_block) > 1).then_some(PYTHON)
    }

    /// How something is built.
    fn recipe(&self) -> Option<Kind> {
        let is_build = |line: &str| begins(line, &["build"]) && line.contains(": ");
        if self.has(is_build) && self.has(|line| line.starts_with("rule ")) {
            return Some(NINJA);
        }
        let is_make = |line: &str| {
            let has = |part| line.contains(part);
            line.starts_with(".PHONY") || has(":=") || has("$@") || has("$<") || has("$^")
        };
        if self.has(is_make) {
            return Some(MAKEFILE);
        }
        let is_step = |line: &str| begins(line, &["RUN", "CMD", "COPY", "ENTRYPOINT"]);
        let is_from = self.first.split_whitespace().next() == Some("FROM");
        (is_from && self.has(is_step)).then_some(DOCKERFILE)
    }

    fn document(&self) -> Option<Kind> {
        let is_header = |line: &str| {
            let list = (line.strip_prefix("[[")).and_then(|l| l.strip_suffix("]]"));
            match list {
                // A test of a shell script looks alike, but for its blanks.
                Some(name) => !name.is_empty() && !name.contains(char::is_whitespace),
                None => line.starts_with('[') && line.ends_with(']') && !line.starts_with("[["),
            }
        };
        if self.has(is_header) && self.has(|line| line.contains('=')) {
            return Some(INI);
        }
        let is_markup = |line: &str| {
            line.starts_with("```")
                || line.starts_with("## ")
                || (line.contains("](") && line.contains(')'))
        };
        let is_plain = |line: &str| !line.is_empty() && !line.starts_with('#');
        let has_title = self.first.starts_with("# ") && self.has(is_plain);
        // A first line that begins with '#' may be a comment of any format: there must be markup, or prose.
        let is_prose = |line: &str| line.ends_with('.') && line.split_whitespace().count() > 4;
        let markup = self.count(is_markup);
        if (has_title || markup > 1) && (markup > 0 || self.has(is_prose)) {
            return Some(MARKDOWN);
        }
        const COMMANDS: [&str; 11] = [
            "set", "echo", "cd", "export", "fi", "done", "then", "esac", "source", "mkdir", "exit",
        ];
        // More than two: prose has an "echo" or a "set" at the beginning of a line now and then.
        (self.count(|line| begins(line, &COMMANDS)) > 2).then_some(SCRIPT)
    }
}

/// Whether a line begins with one of these words.
fn begins(line: &str, words: &[&str]) -> bool {
    // What may follow a keyword in one of these languages.
    let word = line.split([' ', '\t', '(', '{', ':']).next();
    word.is_some_and(|word| words.contains(&word))
}

fn is_mermaid(line: &str) -> bool {
    let mut words = line.trim_end_matches(';').split_whitespace();
    match words.next() {
        Some("graph") => {
            let directions = ["TD", "TB", "BT", "LR", "RL"];
            words.next().is_some_and(|d| directions.contains(&d))
        }
        Some("flowchart" | "sequenceDiagram" | "gantt" | "classDiagram" | "erDiagram") => true,
        Some("stateDiagram" | "stateDiagram-v2" | "gitGraph" | "mindmap") => true,
        _ => false,
    }
}
