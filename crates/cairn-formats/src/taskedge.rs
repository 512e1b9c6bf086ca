//! Reads the TASK/EDGE lists of workflow simulators. Knows no other format.
//!
//! One record a line, words between white space, the keyword in any case: `TASK id type seconds`,
//! `EDGE parent child`, `FILE name bytes`, `INPUTS id file …`, `OUTPUTS id file …`; `#` begins a comment. Records may
//! come in any order. A task is called by its id; its type, which many tasks share, is its label: `map` of `Genome::map:1.0`.

use crate::lines::{finish, is_full, lines_fit, place_of_mark};
use crate::{Report, Source, suggest};
use cairn_dag::{BuildError, Flow, FlowBuilder, Mark};
use hashbrown::HashMap;

const KEYWORDS: [(&str, &str); 5] = [
    ("TASK", "TASK <id> <type> <seconds>"),
    ("EDGE", "EDGE <parent> <child>"),
    ("FILE", "FILE <name> <bytes>"),
    ("INPUTS", "INPUTS <task> <file> …"),
    ("OUTPUTS", "OUTPUTS <task> <file> …"),
];

/// Reads a flow. `None` when there was an error.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    if !lines_fit(source, report) {
        return None;
    }
    let mut reader = Reader {
        source,
        report,
        build: FlowBuilder::new(),
        sizes: HashMap::new(),
    };
    reader.records(Reader::size);
    reader.records(Reader::record);
    let Reader { build, report, .. } = reader;
    finish(build, source, report)
}

struct Reader<'a> {
    source: &'a Source,
    report: &'a mut Report,
    build: FlowBuilder,
    sizes: HashMap<&'a str, u64>,
}

type Visit<'a> = fn(&mut Reader<'a>, Mark, &str, &[&'a str]);

impl<'a> Reader<'a> {
    fn error(&mut self, line: Mark, message: impl Into<String>, help: impl Into<String>) {
        let place = place_of_mark(self.source, line, is_full(self.report));
        self.report.error(place, message, help);
    }

    fn build_error(&mut self, error: &BuildError, line: Mark) {
        let full = is_full(self.report);
        self.report.build_error(error, |mark| {
            let mark = if mark == Mark::MAX { line } else { mark };
            place_of_mark(self.source, mark, full)
        });
    }

    /// Visits every record, with its keyword and the words behind it.
    fn records(&mut self, visit: Visit<'a>) {
        let mut words = Vec::new();
        for (line, text) in (1..).zip(self.source.text().lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            words.clear();
            words.extend(text.split_whitespace());
            visit(self, line, words[0], &words[1..]);
        }
    }

    /// First pass: the sizes of files.
    fn size(&mut self, line: Mark, keyword: &str, words: &[&'a str]) {
        if !keyword.eq_ignore_ascii_case("FILE") {
            return;
        }
        match words {
            [name, bytes] => match bytes.parse() {
                Ok(bytes) => drop(self.sizes.insert(name, bytes)),
                Err(_) => {
                    let message = format!("'{}' is no size", shortened(bytes));
                    self.error(line, message, "write a whole number of bytes");
                }
            },
            _ => self.malformed(line, keyword),
        }
    }

    /// Second pass: all else.
    fn record(&mut self, line: Mark, keyword: &str, words: &[&'a str]) {
        let is = |name: &str| keyword.eq_ignore_ascii_case(name);
        match words {
            [id, kind, seconds] if is("TASK") => self.task(line, id, kind, seconds),
            [parent, child] if is("EDGE") => {
                let (parent, child) = (
                    self.build.mention(parent, line),
                    self.build.mention(child, line),
                );
                if let Err(error) = self.build.arc(parent, child) {
                    self.build_error(&error, line);
                }
            }
            [task, files @ ..] if is("INPUTS") && !files.is_empty() => {
                let task = self.build.mention(task, line);
                files.iter().for_each(|file| {
                    self.build
                        .add_input(task, file, self.sizes.get(file).copied())
                });
            }
            [task, files @ ..] if is("OUTPUTS") && !files.is_empty() => {
                let task = self.build.mention(task, line);
                files.iter().for_each(|file| {
                    self.build
                        .add_output(task, file, self.sizes.get(file).copied())
                });
            }
            _ if is("FILE") => {}
            _ => self.malformed(line, keyword),
        }
    }

    fn task(&mut self, line: Mark, id: &str, kind: &str, seconds: &str) {
        let task = match self.build.declare(id, line) {
            Ok(task) => task,
            Err(error) => return self.build_error(&error, line),
        };
        self.build.set_label(task, transformation(kind));
        match seconds.parse() {
            Ok(seconds) => {
                if let Err(error) = self.build.set_seconds(task, seconds) {
                    self.build_error(&error, line);
                }
            }
            Err(_) => {
                let message = format!("'{}' is no duration", shortened(seconds));
                self.error(line, message, "write a number of seconds");
            }
        }
    }

    fn malformed(&mut self, line: Mark, keyword: &str) {
        if let Some((_, form)) = KEYWORDS
            .iter()
            .find(|(name, _)| keyword.eq_ignore_ascii_case(name))
        {
            return self.error(
                line,
                format!("this {} record is malformed", shortened(keyword)),
                format!("the form is: {form}"),
            );
        }
        let help = match suggest::closest(keyword, KEYWORDS.map(|(name, _)| name)) {
            Some(near) => format!("did you mean {near}?"),
            None => "a line begins with TASK, EDGE, FILE, INPUTS or OUTPUTS".to_owned(),
        };
        self.error(
            line,
            format!("'{}' is no record of a TASK/EDGE list", shortened(keyword)),
            help,
        );
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The name in `namespace::name:version`.
fn transformation(kind: &str) -> &str {
    let name = kind.split_once("::").map_or(kind, |(_, name)| name);
    match name.split_once(':') {
        Some((name, _)) if !name.is_empty() => name,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_tests::support::{self, problems, shown};

    fn try_read(text: &str) -> (Option<Flow>, Report) {
        support::try_read(read, "t.dag", text)
    }

    #[test]
    fn records_in_any_order() {
        let text = "# x\nEDGE a b\nINPUTS b f g\n\ntask b t::x 2.5\nTASK a t::y 0\r\nOUTPUTS a f\nFILE f 77\n";
        let (flow, report) = try_read(text);
        let flow = flow.unwrap_or_else(|| panic!("{}", problems(&report)));
        assert_eq!(shown(&flow), "a -> b\na\n");
        let b = flow.find("b").unwrap();
        assert_eq!(flow.seconds(b), Some(2.5));
        let files: Vec<_> = flow.inputs(b).map(|file| (file.path, file.bytes)).collect();
        assert_eq!(files, [("f", Some(77)), ("g", None)]);
    }

    #[test]
    fn errors_come_together() {
        let (flow, report) = try_read(
            "TASK a t\nTSAK b t 1\nTASK c t one\nTASK c t 1\nEDGE c c\nEDGE c d\nFILE f x\nTASK e t -1\nINPUTS c\nrubbish\n",
        );
        assert!(flow.is_none());
        let said = problems(&report);
        let expected = [
            "t.dag:7: 'x' is no size; write a whole number of bytes",
            "t.dag:1: this TASK record is malformed; the form is: TASK <id> <type> <seconds>",
            "t.dag:2: 'TSAK' is no record of a TASK/EDGE list; did you mean TASK?",
            "t.dag:3: 'one' is no duration; write a number of seconds",
            "t.dag:4: task 'c' is declared twice; it was declared first at t.dag:3; rename or remove one of them",
            "t.dag:5: task 'c' depends on itself; remove the dependency",
            "t.dag:8: task 'e' has the duration -1; it must be a finite number of seconds, not below zero; ",
            "t.dag:9: this INPUTS record is malformed; the form is: INPUTS <task> <file> …",
            "t.dag:10: 'rubbish' is no record of a TASK/EDGE list; a line begins with TASK, EDGE, FILE, INPUTS or OUTPUTS",
            "t.dag:6: task 'd' is mentioned but never declared; declare the task, or correct the spelling (names are case-sensitive)",
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    }
}
