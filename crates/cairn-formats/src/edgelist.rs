//! Reads and writes plain edge lists: one arc a line, parent and child, between commas or tabs. Knows no attribute.
//!
//! Fields are quoted as in RFC 4180: a quoted field may hold the separator, quotes (doubled) and line ends. White
//! space around an unquoted field does not count. `#` at the beginning of a line makes it a comment. A line with one
//! field declares a task without an arc. The first line is a header if it names both columns (`parent`/`child`,
//! `source`/`target` or `from`/`to`, in any case and order, perhaps among others); else the first two columns count,
//! and any more are left out with a warning. Tasks are numbered in the order in which they appear.
//!
//! Spreadsheets in much of Europe put semicolons where others put commas. Another separator than the expected one is
//! taken where the header says so, where it stands in every line and the expected one in none, or where the expected
//! one stands in some lines only, and the other equally often in each.

use crate::draft::Draft;
use crate::loss::Tally;
use crate::text::{first_line, line_ends};
use crate::{Format, Report, Source};
use cairn_dag::{Flow, FlowBuilder, Mark, Symbol, TaskId};
use std::borrow::Cow;
use std::io::{self, Write};

/// What really stands between the columns of this text, where another may be `expected`.
fn separator_of(text: &str, expected: char) -> char {
    let is_record = |line: &&str| !line.is_empty() && !line.starts_with('#');
    // Physical lines: a quoted field with a line end in it only blurs the count.
    // The beginning tells; a file of a million lines is not gone through three times before it is read.
    let records = || text.lines().map(str::trim).filter(is_record).take(200);
    let is_header = |separator: &char| {
        let mut first = Records::of(records().next().unwrap_or(""), *separator);
        first.next_record().is_some() && header(&first.fields).is_some()
    };
    let count = |line: &str, separator: char| {
        let mut quoted = false;
        let is_one = |c: &char| {
            // A doubled quote toggles twice: inside stays inside.
            quoted ^= *c == '"';
            !quoted && *c == separator
        };
        line.chars().filter(is_one).count()
    };
    let all = [',', ';', '\t'];
    // Whatever is expected wins where it fits: only then is another one looked for.
    if is_header(&expected) {
        return expected;
    }
    if let Some(other) = all.into_iter().find(is_header) {
        return other;
    }
    if records().all(|line| count(line, expected) > 0) {
        return expected;
    }
    // Some lines lack it: it belongs to names where another makes as many columns in every line.
    let some = records().any(|line| count(line, expected) > 0);
    let makes_columns = |&other: &char| {
        let mut counts = records().map(|line| count(line, other));
        let first = counts.next().unwrap_or(0);
        first > 0 && counts.all(|c| if some { c == first } else { c > 0 })
    };
    all.into_iter().find(makes_columns).unwrap_or(expected)
}

/// Header names of the columns of parents and children.
// What networkx, Gephi and people call them.
const HEADERS: [(&str, &str); 3] = [("parent", "child"), ("source", "target"), ("from", "to")];

/// Reads a flow. `None` when there was an error.
pub(crate) fn read(source: &Source, separator: char, report: &mut Report) -> Option<Flow> {
    // Spreadsheets write what their country uses, whatever the file is called.
    let separator = separator_of(source.text(), separator);
    let mut records = Records::of(source.text(), separator);
    let mut draft = Draft::of_lines(source, report);
    let mut columns = None;
    let mut warned = false;
    // Whether some line has two fields, as a list of arcs must have.
    let (mut any, mut first, mut pairs) = (false, 0, false);
    while let Some((line, record)) = records.next_record() {
        if let Err(quote) = record {
            let help = "put quotes around the whole field, and double those inside it";
            draft.error(line, quote, help);
            continue;
        }
        let fields = &records.fields;
        if !any {
            (any, first) = (true, line);
        }
        pairs |= fields.len() > 1;
        // Only the first record can be one: later a task may be called `parent`.
        let header = columns.is_none().then(|| header(fields)).flatten();
        if columns.is_none() {
            columns = Some(header.unwrap_or((0, 1)));
        }
        let (parent_column, child_column) = columns.unwrap_or((0, 1));
        // Told once, at the first line that has more.
        if (fields.len() > 2 || parent_column.max(child_column) > 1) && !warned {
            let count = fields.len();
            let message = format!("there are {count} columns; only parent and child are used");
            let help = "leave out the others, or name the two in a header such as 'parent,child'";
            draft.warning(line, message, help);
            warned = true;
        }
        if header.is_some() {
            continue;
        }
        let field = |column: usize| fields.get(column).map_or("", |field| &**field);
        let build = &mut draft.build;
        // An empty field beside a name declares that task alone: so lists can have tasks without arcs.
        let mut task = |name: &str| (!name.is_empty()).then(|| declared(build, name, line));
        let (parent, child) = (task(field(parent_column)), task(field(child_column)));
        match (parent, child) {
            (Some(parent), Some(child)) => {
                if let Err(self_loop) = draft.build.arc_at(parent, child, line) {
                    draft.error(line, self_loop.to_string(), "remove the line");
                }
            }
            (None, None) => draft.error(line, "there is no task in this line", "remove the line"),
            _ => {}
        }
    }
    // Nearly always another separator than is thought: as tasks without arcs the file would be planned, and wrongly.
    if any && !pairs && draft.is_sound() {
        let message = "no line has two fields: there is no arc in this list";
        let comma = separator.to_string().replace('\t', "<tab>");
        let help = format!(
            "put '{comma}' between parent and child; if all tasks really stand alone, say so with a first line 'parent{comma}child'"
        );
        draft.error(first, message, help);
    }
    draft.finish()
}

/// Counts what a flow does not hold: columns beside parent and child, and comments.
pub(crate) fn unheld(source: &Source, format: Format, tally: &mut Tally) {
    let expected = if format == Format::Tsv { '\t' } else { ',' };
    let mut records = Records::of(source.text(), separator_of(source.text(), expected));
    let mut columns: Option<((usize, usize), Vec<String>)> = None;
    while let Some((line, record)) = records.next_record() {
        if record.is_err() {
            continue;
        }
        let fields = &records.fields;
        if columns.is_none()
            && let Some(held) = header(fields)
        {
            columns = Some((held, fields.iter().map(|f| f.to_string()).collect()));
            continue;
        }
        let (held, names) = columns.get_or_insert(((0, 1), Vec::new()));
        for (column, field) in fields.iter().enumerate() {
            if column != held.0 && column != held.1 && !field.is_empty() {
                let what = match names.get(column).filter(|name| !name.is_empty()) {
                    Some(name) => format!("column {name}"),
                    None => format!("column {}", column + 1),
                };
                tally.add(&what, "field", || crate::unheld::at(source, line));
            }
        }
    }
    crate::unheld::comments(source, "#", tally);
}

/// The columns of parents and children, if the fields are a header.
fn header(fields: &[Cow<'_, str>]) -> Option<(usize, usize)> {
    let column = |name: &str| (fields.iter()).position(|field| field.eq_ignore_ascii_case(name));
    (HEADERS.iter()).find_map(|(parent, child)| Some((column(parent)?, column(child)?)))
}

fn declared(build: &mut FlowBuilder, name: &str, line: Mark) -> Symbol {
    let task = build.mention(name, line);
    match build.is_declared(task) {
        true => task,
        false => build.declare(name, line).unwrap_or(task),
    }
}

/// Records, which quotes may stretch over several lines.
struct Records<'t> {
    rest: &'t str,
    line: Mark,
    separator: char,
    /// Those of the last record.
    fields: Vec<Cow<'t, str>>,
}

impl<'t> Records<'t> {
    fn of(text: &'t str, separator: char) -> Records<'t> {
        Records {
            rest: text,
            line: 1,
            separator,
            fields: Vec::new(),
        }
    }

    /// Cuts off the next record that is neither blank nor a comment: its line, and what is wrong with its quotes.
    fn next_record(&mut self) -> Option<(Mark, Result<(), &'static str>)> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let (line, before) = (self.line, self.rest);
            let first = first_line(before);
            let says = first.trim_matches([' ', '\t', '\r', '\n']);
            let is_record = !says.is_empty() && !says.starts_with('#');
            self.fields.clear();
            let record = if is_record { self.record() } else { Ok(()) };
            if !is_record || record.is_err() {
                // A quote that is never closed would swallow the rest: go on with the next line, so that other
                // mistakes are found, too.
                self.rest = &before[first.len()..];
            }
            let taken = &before[..before.len() - self.rest.len()];
            self.line = self.line.saturating_add(line_ends(taken));
            if is_record {
                return Some((line, record));
            }
        }
    }

    /// Cuts off the fields up to the end of the line.
    fn record(&mut self) -> Result<(), &'static str> {
        loop {
            let blank = |c: char| c == ' ' || (c == '\t' && self.separator != '\t');
            let start = self.rest.trim_start_matches(blank);
            if let Some(quoted) = start.strip_prefix('"') {
                let (field, rest) = unquoted(quoted).ok_or("a quote is never closed")?;
                self.fields.push(field);
                self.rest = rest.trim_start_matches(blank);
                self.rest = self.rest.strip_prefix('\r').unwrap_or(self.rest);
            } else {
                let end = start.find([self.separator, '\n']).unwrap_or(start.len());
                let field = start[..end].trim();
                if field.contains('"') {
                    return Err("there is a quote inside a field");
                }
                self.fields.push(Cow::Borrowed(field));
                self.rest = &start[end..];
            }
            let mut next = self.rest.chars();
            match next.next() {
                None => return Ok(()),
                Some('\n') => {
                    self.rest = next.as_str();
                    return Ok(());
                }
                Some(c) if c == self.separator => self.rest = next.as_str(),
                Some(_) => return Err("there is text behind a quoted field"),
            }
        }
    }
}

/// The field up to the closing quote, and what follows that.
fn unquoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut at = text.find('"')?;
    if !text[at + 1..].starts_with('"') {
        return Some((Cow::Borrowed(&text[..at]), &text[at + 1..]));
    }
    let mut field = String::new();
    let mut rest = text;
    while rest[at + 1..].starts_with('"') {
        field.push_str(&rest[..at + 1]);
        rest = &rest[at + 2..];
        at = rest.find('"')?;
    }
    field.push_str(&rest[..at]);
    Some((Cow::Owned(field), &rest[at + 1..]))
}

/// Writes a header and one arc a line. Reading it back gives the same tasks in the same order, and the same arcs:
/// a task that its arcs would not put in its place, such as one without arcs, first gets a line of its own.
pub(crate) fn write(flow: &Flow, comma: char, out: &mut dyn Write) -> io::Result<()> {
    let dag = flow.dag();
    let name = |task: TaskId| quoted(flow.name(task), comma);
    writeln!(out, "parent{comma}child")?;
    for task in dag.tasks() {
        let earlier = |other: &&TaskId| **other < task;
        // Reading numbers tasks as they appear: what follows makes each appear at its turn.
        let previous = task.0.checked_sub(1).map(TaskId);
        // the line "previous,task" names both in order: write it first, and `previous` needs no line of its own
        let first = previous.filter(|&previous| dag.has_arc(previous, task));
        if let Some(parent) = first {
            writeln!(out, "{}{comma}{}", name(parent), name(task))?;
        }
        let others = dag.parents(task).iter().filter(earlier);
        for &parent in others.filter(|&&parent| Some(parent) != first) {
            writeln!(out, "{}{comma}{}", name(parent), name(task))?;
        }
        for child in dag.children(task).iter().filter(earlier) {
            writeln!(out, "{}{comma}{}", name(task), name(*child))?;
        }
        let mut ends = dag.parents(task).iter().chain(dag.children(task));
        let named = ends.any(|&other| other < task);
        let named_next =
            dag.tasks().len() > task.index() + 1 && dag.has_arc(task, TaskId(task.0 + 1));
        if !named && !named_next {
            writeln!(out, "{}", name(task))?;
        }
    }
    Ok(())
}

/// The name as a field: in quotes where it would be misread without.
fn quoted(name: &str, separator: char) -> Cow<'_, str> {
    let hard = |c: char| c == '"' || c == '\n' || c == '\r' || c == separator;
    match name.contains(hard) || name.trim() != name || name.starts_with('#') {
        true => Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))),
        false => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{self as support, any_flow, assert_same_dag, problems, shown};
    use proptest::prelude::*;

    fn try_read(text: &str, separator: char) -> (Option<Flow>, Report) {
        support::try_read(
            |source, report| read(source, separator, report),
            "t.csv",
            text,
        )
    }

    fn read_clean(text: &str) -> Flow {
        support::clean(try_read(text, ','))
    }

    fn refused(text: &str) -> String {
        support::refused(try_read(text, ','))
    }

    #[test]
    fn arcs_single_tasks_and_comments() {
        let flow = read_clean("# edges\na,b\r\n\n  c , b\nalone\nd,\n,e\na,b\n");
        assert_eq!(shown(&flow), "a\na c -> b\nc\nalone\nd\ne\n");
        assert_eq!(flow.dag().arc_count(), 2);
        assert_eq!(read_clean("").dag().len(), 0);
    }

    #[test]
    fn headers_name_the_columns() {
        for header in ["parent,child", "Source,TARGET", "from, to"] {
            assert_eq!(
                shown(&read_clean(&format!("#\n{header}\na,b\n"))),
                "a\na -> b\n"
            );
        }
        assert_eq!(shown(&read_clean("child,parent\na,b\n")), "b\nb -> a\n");
        assert_eq!(
            shown(&read_clean("a,b\nfrom,to\n")),
            "a\na -> b\nfrom\nfrom -> to\n"
        );
        let (flow, report) = try_read("id,source,weight,target\n1,a,3,b\n2,b,3,c\n", ',');
        assert_eq!(shown(&flow.unwrap()), "a\na -> b\nb -> c\n");
        assert_eq!(report.warnings(), 1);
    }

    #[test]
    fn semicolons_and_tabs_where_commas_are_expected() {
        for text in [
            "a;b\nb;c\n",
            "parent;child\na;b\nb;c\n",
            "a\tb\nb\tc\n",
            "\"a\";b\n# x,y\n\nb;c\n",
        ] {
            assert_eq!(shown(&read_clean(text)), "a\na -> b\nb -> c\n", "{text}");
        }
        let (flow, _) = try_read("a,b\nb,c\n", '\t');
        assert_eq!(shown(&flow.unwrap()), "a\na -> b\nb -> c\n");
        // Commas inside of names do not turn the other lines into tasks of their own.
        for text in ["parent;child\nx, y;z\n", "from;to\nx, y;z\n"] {
            assert_eq!(shown(&read_clean(text)), "x, y\nx, y -> z\n", "{text}");
        }
        assert_eq!(
            shown(&read_clean("a;b\nb;c, d\n")),
            "a\na -> b\nb -> c, d\n"
        );
        // Else one comma outside of quotes is enough: semicolons then belong to names.
        assert_eq!(
            shown(&read_clean("a;b,c;d\nx;y\n")),
            "a;b\na;b -> c;d\nx;y\n"
        );
    }

    #[test]
    fn a_list_without_a_single_arc_says_so_in_its_header_or_is_refused() {
        assert_eq!(shown(&read_clean("parent,child\na\nb\n")), "a\nb\n");
        let said = refused("# x\nDear all\nhow are you\n");
        assert!(
            said.starts_with("t.csv:2: no line has two fields"),
            "{said}"
        );
    }

    #[test]
    fn more_columns_are_a_single_warning() {
        let (flow, report) = try_read("a,b,1\nb,c,2\n", ',');
        assert_eq!(shown(&flow.unwrap()), "a\na -> b\nb -> c\n");
        assert_eq!(
            problems(&report),
            "t.csv:1: there are 3 columns; only parent and child are used; \
             leave out the others, or name the two in a header such as 'parent,child'\n"
        );
    }

    #[test]
    fn quotes() {
        let flow = read_clean(
            "\"a,1\",\"say \"\"hi\"\"\"\n \"two\nlines\" ,\"\"\"\"\r\n\"#\"\n\" x \"\nlast,\"a,1\"",
        );
        let names: Vec<&str> = flow.dag().tasks().map(|task| flow.name(task)).collect();
        assert_eq!(
            names,
            ["a,1", "say \"hi\"", "two\nlines", "\"", "#", " x ", "last"]
        );
        let (flow, _) = try_read("a b\t\"c\td\"\n", '\t');
        assert_eq!(shown(&flow.unwrap()), "a b\na b -> c\td\n");
    }

    #[test]
    fn errors_come_together() {
        let said =
            refused("a,a\n\"x\" y,z\nq\"r,s\n,\n\"open,b\n\"two\n\",t,\"u\" v\nlast,\"open\n");
        let expected = [
            "t.csv:1: task 'a' depends on itself",
            "t.csv:2: there is text behind a quoted field",
            "t.csv:3: there is a quote inside a field",
            "t.csv:4: there is no task in this line",
            "t.csv:5: there is text behind a quoted field",
            "t.csv:6: there is text behind a quoted field",
            "t.csv:7: there is text behind a quoted field",
            "t.csv:8: a quote is never closed",
        ];
        for (line, expected) in said.lines().zip(expected) {
            assert!(line.starts_with(expected), "{line}\n{expected}");
        }
        assert!(
            refused("a,b\nb,c\nc,a\n")
                .contains("t.csv:1: tasks wait for each other in a cycle: a -> b -> c -> a")
        );
    }

    fn written(flow: &Flow, separator: char) -> String {
        let mut out = Vec::new();
        write(flow, separator, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_written() {
        let flow = read_clean("a,b\nc\nb,d\na,d\n\"#e\",\"f,g\"\nh,c\n");
        assert_eq!(
            written(&flow, ','),
            "parent,child\na,b\nc\nb,d\na,d\n\"#e\",\"f,g\"\nh,c\n".replace("b,d\na,d", "a,d\nb,d")
        );
        assert_eq!(
            written(&read_clean("parent,child\nchild,x\n"), '\t'),
            "parent\tchild\nchild\tx\n"
        );
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(flow in any_flow()) {
            for separator in [',', '\t'] {
                let text = written(&flow, separator);
                let (again, report) = try_read(&text, separator);
                prop_assert_eq!(problems(&report), "");
                assert_same_dag(&flow, &again.unwrap());
            }
        }
    }
}
