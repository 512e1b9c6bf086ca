//! Reads lists of TASK and EDGE lines: those of workflow simulators, and the dags of Pegasus' MPI cluster. Knows no
//! other format.
//!
//! One record a line, words between white space, the keyword in any case; `#` begins a comment. Records may come in
//! any order. A task is called by its id.
//!
//! Simulators write `TASK id type seconds`, `EDGE parent child`, `FILE name bytes`, `INPUTS id file …` and
//! `OUTPUTS id file …`; the type, which many tasks share, is the label: `map` of `Genome::map:1.0`.
//!
//! pegasus-mpi-cluster has `EDGE parent child` and `TASK id [options] executable arguments …`, in quotes where they have
//! blanks. Of the options, `-c` (processors), `-m` (memory, in MiB), `-t` (tries) and `-p` (priority, larger first) are kept;
//! `-f` and `-F` are left out.

use crate::draft::{Draft, MEBIBYTE};
use crate::loss::Tally;
use crate::text::shortened;
use crate::{Report, Source, shell, suggest};
use cairn_dag::{Flow, Mark};
use hashbrown::HashMap;

const KEYWORDS: [(&str, &str); 5] = [
    ("TASK", "TASK <id> <type> <seconds>"),
    ("EDGE", "EDGE <parent> <child>"),
    ("FILE", "FILE <name> <bytes>"),
    ("INPUTS", "INPUTS <task> <file> …"),
    ("OUTPUTS", "OUTPUTS <task> <file> …"),
];

/// The form of a task with a command.
const COMMAND_FORM: &str =
    "TASK <id> [-c <cpus>] [-m <megabytes>] [-t <tries>] [-p <priority>] <executable> <argument> …";

/// Reads a flow. `None` when there was an error.
pub(crate) fn read(source: &Source, report: &mut Report) -> Option<Flow> {
    let mut reader = Reader {
        draft: Draft::of_lines(source, report),
        sizes: HashMap::new(),
        has_commands: has_commands(source.text()),
    };
    // Twice, as a file's size may stand behind the tasks that use it, and a use is noted with its size.
    reader.records(Reader::size);
    reader.records(Reader::record);
    reader.draft.finish()
}

/// Whether tasks have commands, rather than a type and a duration.
///
/// Both forms may be three words, `TASK a sleep 5`: so all lines together decide. Files, and types such as `ns::type`,
/// tell a simulator; an option or a path tells a command; and so does what is no duration, unless it is one in many.
fn has_commands(text: &str) -> bool {
    let (mut durations, mut others) = (0, 0);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let keyword = words.next().unwrap_or("").to_ascii_uppercase();
        match &keyword[..] {
            "FILE" | "INPUTS" | "OUTPUTS" => return false,
            "TASK" => {}
            _ => continue,
        }
        // Whether there are more than three is all that is asked.
        let words: Vec<&str> = words.take(5).collect();
        match words[..] {
            [_, kind, ..] if kind.contains("::") => return false,
            [_, option, ..] if option.starts_with('-') && option.len() > 1 => return true,
            [_, program, ..] if program.contains('/') => return true,
            // The number is what the program takes, and no duration.
            [_, "sleep" | "echo", _] => others += 1,
            [_, _, seconds] if seconds.parse::<f64>().is_ok() => durations += 1,
            [_, _, ..] => others += 1,
            _ => {}
        }
    }
    // One in ten: a few mistakes in a simulator's list must not turn all its types into programs.
    others > durations / 10
}

/// The words of a command as pegasus-mpi-cluster cuts them: blanks part them outside of quotes, a closing quote
/// ends one, a backslash takes the next character as it is.
fn command_words(text: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut in_quotes = false;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' => {
                if in_quotes {
                    words.push(std::mem::take(&mut word));
                }
                in_quotes = !in_quotes;
            }
            '\\' => word.push(rest.next().unwrap_or(c)),
            c if c.is_ascii_whitespace() && !in_quotes => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// What an option of a task is for; `None` for one that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskOption {
    Memory,
    Cpus,
    Tries,
    Priority,
    PipeForward,
    FileForward,
}

impl TaskOption {
    fn of(word: &str) -> Option<TaskOption> {
        Some(match word {
            "-m" | "--request-memory" => TaskOption::Memory,
            "-c" | "--request-cpus" => TaskOption::Cpus,
            "-t" | "--tries" => TaskOption::Tries,
            "-p" | "--priority" => TaskOption::Priority,
            "-f" | "--pipe-forward" => TaskOption::PipeForward,
            "-F" | "--file-forward" => TaskOption::FileForward,
            _ => return None,
        })
    }
}

/// What follows the keyword and the id in a line.
fn behind_id(line: &str) -> &str {
    let behind = |text: &str| -> usize { text.find(char::is_whitespace).unwrap_or(text.len()) };
    let line = line.trim();
    let rest = line[behind(line)..].trim_start();
    rest[behind(rest)..].trim_start()
}

/// Counts what a flow does not hold: namespaces of types, options of commands, comments.
pub(crate) fn unheld(source: &Source, tally: &mut Tally) {
    let has_commands = has_commands(source.text());
    for (number, line) in (1u32..).zip(source.text().lines()) {
        let keyword = line.split_whitespace().next().unwrap_or("");
        if !keyword.eq_ignore_ascii_case("TASK") {
            continue;
        }
        let mut add = |what: &str| tally.add(what, "line", || crate::unheld::at(source, number));
        if !has_commands {
            let kind = line.split_whitespace().nth(2).unwrap_or("");
            if transformation(kind) != kind {
                add("namespaces and versions of types");
            }
            continue;
        }
        let words = command_words(behind_id(line));
        // Each option has a value behind it, and all stand before the executable.
        for option in words.chunks(2).map_while(|pair| TaskOption::of(&pair[0])) {
            match option {
                TaskOption::PipeForward => add("-f (pipe forwarding)"),
                TaskOption::FileForward => add("-F (file forwarding)"),
                _ => {}
            }
        }
    }
    crate::unheld::comments(source, "#", tally);
}

struct Reader<'a, 'r> {
    draft: Draft<'a, 'r>,
    sizes: HashMap<&'a str, u64>,
    has_commands: bool,
}

type Visit<'a, 'r> = fn(&mut Reader<'a, 'r>, Mark, &'a str, &[&'a str]);

impl<'a, 'r> Reader<'a, 'r> {
    /// Visits every record: its line, whole and in words.
    fn records(&mut self, visit: Visit<'a, 'r>) {
        let mut words = Vec::new();
        for (line, text) in (1..).zip(self.draft.source().text().lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            words.clear();
            words.extend(text.split_whitespace());
            visit(self, line, text, &words);
        }
    }

    /// First pass: the sizes of files.
    fn size(&mut self, line: Mark, _: &'a str, words: &[&'a str]) {
        let (keyword, words) = (words[0], &words[1..]);
        if !keyword.eq_ignore_ascii_case("FILE") {
            return;
        }
        match words {
            [name, bytes] => match bytes.parse() {
                Ok(bytes) => drop(self.sizes.insert(name, bytes)),
                Err(_) => {
                    let message = format!("'{}' is no size", shortened(bytes));
                    let help = "write a whole number of bytes";
                    self.draft.error(line, message, help);
                }
            },
            _ => self.malformed(line, keyword),
        }
    }

    /// Second pass: all else.
    fn record(&mut self, line: Mark, text: &'a str, words: &[&'a str]) {
        let (keyword, words) = (words[0], &words[1..]);
        let is = |name: &str| keyword.eq_ignore_ascii_case(name);
        match words {
            [id, _, ..] if is("TASK") && self.has_commands => self.command(line, id, text),
            [id, kind, seconds] if is("TASK") => self.task(line, id, kind, seconds),
            [parent, child] if is("EDGE") => {
                // Records come in any order: a task may be tied before its own line.
                let parent = self.draft.build.mention(parent, line);
                let child = self.draft.build.mention(child, line);
                self.draft.arc(parent, child, line);
            }
            [task, files @ ..] if (is("INPUTS") || is("OUTPUTS")) && !files.is_empty() => {
                let build = &mut self.draft.build;
                let task = build.mention(task, line);
                for file in files {
                    let bytes = self.sizes.get(file).copied();
                    match is("INPUTS") {
                        true => build.add_input(task, file, bytes),
                        false => build.add_output(task, file, bytes),
                    }
                }
            }
            // Read in the first pass.
            _ if is("FILE") => {}
            _ => self.malformed(line, keyword),
        }
    }

    fn task(&mut self, line: Mark, id: &str, kind: &str, seconds: &str) {
        let Some(task) = self.draft.declare(id, line) else {
            return;
        };
        self.draft.build.set_label(task, transformation(kind));
        match seconds.parse() {
            Ok(seconds) => self.draft.seconds(task, seconds, line),
            Err(_) => {
                let message = format!("'{}' is no duration", shortened(seconds));
                self.draft.error(line, message, "write a number of seconds");
            }
        }
    }

    /// A task with a command, whose line must be cut anew for the quotes in it.
    fn command(&mut self, line: Mark, id: &str, text: &str) {
        let Some(task) = self.draft.declare(id, line) else {
            return;
        };
        // The words by blanks, which the other records have, would cut quoted arguments.
        let words = command_words(behind_id(text));
        let mut words = words.iter().map(String::as_str);
        let mut command = String::new();
        while let Some(word) = words.next() {
            // Options stand before the executable; from there on a dash is the program's own.
            if !word.starts_with('-') {
                shell::push_word(&mut command, word);
                words.for_each(|word| shell::push_word(&mut command, word));
                break;
            }
            let (Some(option), Some(value)) = (TaskOption::of(word), words.next()) else {
                let message = format!("'{}' is no option of a task with a value", shortened(word));
                return self.of_form(line, message, COMMAND_FORM);
            };
            // As pegasus-mpi-cluster does it: processors are rounded up.
            let number = value.parse::<f64>().ok().filter(|n| n.is_finite());
            let counted = number.filter(|n| *n >= 0.0);
            let understood = match option {
                // It counts in units of 2²⁰ bytes; none at all is its way to say nothing.
                TaskOption::Memory => counted
                    .map(|n| (n * MEBIBYTE as f64).ceil() as u64)
                    .map(|bytes| (bytes > 0).then(|| self.draft.build.set_memory(task, bytes)))
                    .is_some(),
                TaskOption::Cpus => counted
                    .map(|n| self.draft.build.set_cpus(task, n.ceil() as u32))
                    .is_some(),
                TaskOption::Tries => (value.parse::<u32>())
                    // The first try is no retry.
                    .map(|tries| self.draft.build.set_retries(task, tries.saturating_sub(1)))
                    .is_ok(),
                TaskOption::Priority => (value.parse())
                    .map(|priority| self.draft.build.set_priority(task, priority))
                    .is_ok(),
                TaskOption::PipeForward | TaskOption::FileForward => value.contains('='),
            };
            if !understood {
                let message = format!("'{}' is no value for {word}", shortened(value));
                self.of_form(line, message, COMMAND_FORM);
            }
        }
        match command.is_empty() {
            true => self.of_form(line, "this task has no executable", COMMAND_FORM),
            false => self.draft.build.set_command(task, &command),
        }
    }

    /// An error whose cure is the form of the line.
    fn of_form(&mut self, line: Mark, message: impl Into<String>, form: &str) {
        self.draft
            .error(line, message, format!("the form is: {form}"));
    }

    fn malformed(&mut self, line: Mark, keyword: &str) {
        let mut known = KEYWORDS.into_iter();
        if let Some((name, form)) = known.find(|(name, _)| keyword.eq_ignore_ascii_case(name)) {
            let form = match self.has_commands && name == "TASK" {
                true => COMMAND_FORM,
                false => form,
            };
            let message = format!("this {} record is malformed", shortened(keyword));
            return self.of_form(line, message, form);
        }
        let help = match suggest::closest(keyword, KEYWORDS.map(|(name, _)| name)) {
            Some(near) => format!("did you mean {near}?"),
            None => "a line begins with TASK, EDGE, FILE, INPUTS or OUTPUTS".to_owned(),
        };
        let keyword = shortened(keyword);
        let message = format!("'{keyword}' is no record of a TASK/EDGE list");
        self.draft.error(line, message, help);
    }
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
    use crate::test_support::{self as support, problems, shown};

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
    fn commands_as_pegasus_mpi_cluster_writes_them() {
        let text = "# x\n#@ 1 t ID1\nTASK A echo A\nTASK  B -c 2 --tries 3 -p -7 /bin/echo 'b \"c' d\\ e \"\"\n\
            TASK C --request-cpus 1.1 -m 100 -f V=/p -F a=b x $HOME\nTASK D sleep 5\nEDGE A B\nEDGE A C\n";
        let flow = support::clean(try_read(text));
        assert_eq!(shown(&flow), "A\nA -> B\nA -> C\nD\n");
        let [a, b, c, d] = ["A", "B", "C", "D"].map(|name| flow.find(name).unwrap());
        assert_eq!(flow.command(a), Some("echo A"));
        // Any quote closes any other: that is how pegasus-mpi-cluster cuts words.
        assert_eq!(flow.command(b), Some("/bin/echo 'b ' 'c d e '"));
        assert_eq!(flow.command(c), Some("x '$HOME'"));
        assert_eq!(flow.command(d), Some("sleep 5"));
        assert_eq!(
            (flow.cpus(b), flow.cpus(c), flow.cpus(a)),
            (Some(2), Some(2), None)
        );
        assert_eq!((flow.retries(b), flow.priority(b)), (Some(2), Some(-7)));
        assert_eq!((flow.memory(b), flow.memory(c)), (None, Some(100 << 20)));
        assert_eq!(flow.seconds(d), None);
        let mut tally = Tally::default();
        unheld(&Source::from_text("t.dag", text), &mut tally);
        let said: Vec<String> = tally.done().iter().map(|l| l.to_string()).collect();
        assert_eq!(
            said,
            [
                "-f (pipe forwarding) (1 line), t.dag:5",
                "-F (file forwarding) (1 line), t.dag:5",
                "comments (2 lines), first: t.dag:1",
            ]
        );
    }

    #[test]
    fn words_of_commands() {
        for (text, words) in [
            ("a 'b c' d", vec!["a", "b c", "d"]),
            ("a\\ b \"x'", vec!["a b", "x"]),
            ("  ''  x\\", vec!["", "x\\"]),
            ("p'q r's", vec!["pq r", "s"]),
        ] {
            assert_eq!(command_words(text), words, "{text}");
        }
    }

    #[test]
    fn durations_and_commands_are_told_apart_by_the_whole_file() {
        for (text, commands) in [
            ("TASK a sleep 5\nTASK b t 6\n", true),
            ("TASK a t 5\nTASK b t 6\n", false),
            ("TASK a /bin/sleep 5\n", true),
            ("TASK a t 5\nFILE x 1\nTASK b t one\n", false),
            ("TASK a n::t 5 6\n", false),
            ("TASK a -c 2 t 5\n", true),
            ("TASK a t\n", true),
        ] {
            assert_eq!(has_commands(text), commands, "{text}");
        }
        let many: String = (0..20).map(|i| format!("TASK {i} t 1\n")).collect();
        assert!(!has_commands(&(many + "TASK x t one\n")));
    }

    #[test]
    fn what_is_wrong_with_commands() {
        let said = support::refused(try_read(
            "TASK a -c\nTASK b -z 3 x\nTASK c -p high x\nTASK d -c 1\nTASK e\nTASK f /x\n",
        ));
        let expected = [
            "t.dag:1: '-c' is no option of a task with a value",
            "t.dag:2: '-z' is no option of a task with a value",
            "t.dag:3: 'high' is no value for -p",
            "t.dag:4: this task has no executable",
            "t.dag:5: this TASK record is malformed",
        ];
        for (line, expected) in said.lines().zip(expected) {
            assert!(line.starts_with(expected), "{line}\n{expected}");
            assert!(line.contains("the form is: TASK <id> [-c"), "{line}");
        }
        assert_eq!(said.lines().count(), expected.len(), "{said}");
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
            "t.dag:8: task 'e' has the duration -1; it must be a finite number of seconds, not below zero; correct or remove the duration",
            "t.dag:9: this INPUTS record is malformed; the form is: INPUTS <task> <file> …",
            "t.dag:10: 'rubbish' is no record of a TASK/EDGE list; a line begins with TASK, EDGE, FILE, INPUTS or OUTPUTS",
            "t.dag:6: task 'd' is mentioned but never declared; declare the task, or correct the spelling (names are case-sensitive)",
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    }
}
