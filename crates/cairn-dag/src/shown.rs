//! What people call the tasks of a flow: labels, told apart where they are equal, and kinds of job. Knows no format.

use crate::names::Names;
use crate::plain::{first_unplain, plain};
use crate::{Flow, TaskId};
use std::borrow::Cow;
use std::collections::HashMap;

/// The most characters of a label that are shown: some programs put whole scripts there.
// A line of a terminal and a little more; chosen by eye, as the next.
const LONGEST: usize = 100;

/// The longest name that tells equal labels apart; longer ones are no help to the eye.
const SHORT_NAME: usize = 12;

/// The task that somebody means by a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// This one.
    Task(TaskId),
    /// All of these have the word for a label.
    Several(Vec<TaskId>),
    /// No name and no label is like that.
    Nobody,
}

impl Flow {
    /// What people should see: the label where the input gives one, else the name; on one line, without control
    /// characters, and unlike that of every other task. Machines should use [`Flow::name`].
    ///
    /// Equal labels are told apart by the tasks' names, as in `align (17)`. Where those are long, or addresses, they are
    /// numbered in the order of the input: `align #2`.
    ///
    /// The first call looks at all names, and at all labels if there are any.
    pub fn shown(&self, task: TaskId) -> Cow<'_, str> {
        match self.shown_names() {
            Some(names) => Cow::Borrowed(names.get(task.index())),
            // Where a table would be too large for 32-bit numbers, names may be anything.
            None => plain(self.name(task)),
        }
    }

    /// The task that `word` means: by its name, by what [`Flow::shown`] gives, or by a label that no other task has.
    pub fn meant(&self, word: &str) -> Meant {
        if let Some(task) = self.find(word) {
            return Meant::Task(task);
        }
        if let Some(task) = self.shown_names().and_then(|names| names.find(word)) {
            return Meant::Task(TaskId(task));
        }
        let is_label = |l: &str| l == word || one_line(l) == word;
        let labelled = |&t: &TaskId| self.label(t).is_some_and(is_label);
        let mut found: Vec<TaskId> = self.dag().tasks().filter(labelled).collect();
        match found.len() {
            0 => Meant::Nobody,
            1 => Meant::Task(found.remove(0)),
            _ => Meant::Several(found),
        }
    }

    /// The kind of job: what the input calls it ([`Flow::given_kind`]), else what the label has in common with others of
    /// its kind, else the program that the command runs, else the name without the numbers at its end. Never empty.
    pub fn kind(&self, task: TaskId) -> &str {
        if let Some(kind) = self.given_kind(task) {
            return kind;
        }
        let label = self.label(task).and_then(kind_of_label);
        let kind = label.or_else(|| self.command(task).and_then(program));
        kind.unwrap_or_else(|| match numberless(self.name(task), false) {
            "" => "task",
            stem => stem,
        })
    }

    pub(crate) fn shown_names(&self) -> Option<&Names> {
        let table = self.shown.get_or_init(|| {
            let plain = |t: TaskId| first_unplain(self.name(t)).is_none();
            match !self.has_labels() && self.dag().tasks().all(plain) {
                true => None,
                false => told_apart(self),
            }
        });
        table.as_ref()
    }
}

/// A name for each task that no other has. `None` when there is no room for them.
fn told_apart(flow: &Flow) -> Option<Names> {
    let base = |task: TaskId| match flow.label(task) {
        Some(label) => Cow::Owned(one_line(label)),
        None => plain(flow.name(task)),
    };
    // Counted before the first name is given: whether a label is alone shows only at the end.
    let mut count: HashMap<Cow<'_, str>, u32> = HashMap::new();
    for task in flow.dag().tasks() {
        *count.entry(base(task)).or_default() += 1;
    }
    // A name belongs to its task, whatever labels others have.
    let is_own = |task: TaskId, word: &str| match flow.find(word) {
        Some(found) => found == task,
        None => count[word] == 1,
    };
    let is_taken = |word: &str| count.contains_key(word) || flow.find(word).is_some();
    let mut given = Names::default();
    given.reserve(flow.dag().len());
    let mut taken: HashMap<String, u32> = HashMap::new();
    // In the order of the input, so that what a task is called does not depend on hashing.
    for task in flow.dag().tasks() {
        let base = base(task);
        if is_own(task, &base) {
            given.intern(&base)?;
            continue;
        }
        let name = flow.name(task);
        // A name that tells what the label tells, and more: `FASTQC_2`, labelled `FASTQC`.
        if name.starts_with(&*base) && first_unplain(name).is_none() {
            given.intern(name)?;
            continue;
        }
        let with_name = format!("{base} ({})", plain(name));
        let is_short =
            name.len() <= SHORT_NAME && !name.starts_with("0x") && flow.label(task).is_some();
        if is_short && !is_taken(&with_name) && given.find(&with_name).is_none() {
            given.intern(&with_name)?;
            continue;
        }
        // Counted on from the last of this label: a million equal ones are not tried from 1 each time.
        let number = taken.entry(base.clone().into_owned()).or_default();
        let numbered = loop {
            *number += 1;
            let word = format!("{base} #{number}");
            if !is_taken(&word) && given.find(&word).is_none() {
                break word;
            }
        };
        given.intern(&numbered)?;
    }
    Some(given)
}

/// A label on one line: blanks between its lines, nothing unplain, not too long.
fn one_line(label: &str) -> String {
    let words: Vec<&str> = label.split_whitespace().collect();
    let line = words.join(" ");
    let line = match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    plain(&line).into_owned()
}

/// What a label says of the kind of job: its first line, without the numbers at its end; of a file in a folder its
/// extension, or else the first folder.
fn kind_of_label(label: &str) -> Option<&str> {
    let line = label.lines().map(str::trim).find(|line| !line.is_empty())?;
    if let Some((_, file)) = line.rsplit_once('/').filter(|_| !line.contains(' ')) {
        // A dot in front makes a hidden file, no extension; `.1` behind is a version.
        let dot = file.rfind('.').filter(|&dot| dot > 0);
        let dot = dot.filter(|&dot| file[dot + 1..].starts_with(|c: char| c.is_alphabetic()));
        let mut slashes = line.match_indices('/').filter(|&(at, _)| at > 0);
        let folder = slashes.next().map_or(line.len(), |(at, _)| at + 1);
        return Some(dot.map_or(&line[..folder], |dot| &file[dot..]));
    }
    // As CMake names the rules and targets it gives to ninja.
    let is_rule =
        |rule: &str| !rule.is_empty() && rule.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    if let Some((rule, _)) = line.split_once("__").filter(|(rule, _)| is_rule(rule)) {
        return Some(rule);
    }
    const ORDER: &str = "cmake_object_order_depends_target";
    if line.starts_with(ORDER) {
        return Some(&line[..ORDER.len()]);
    }
    Some(numberless(line, true)).filter(|stem| !stem.is_empty())
}

/// The file name of the program that a command line runs: of a script its interpreter is handed, the script's.
fn program(command: &str) -> Option<&str> {
    // `LANG=C sort …` runs sort.
    let is_setting = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|n| n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    let mut words = command.split_whitespace().skip_while(|w| is_setting(w));
    let first = file_name(words.next()?)?;
    // As `python3.11`.
    let family = first.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_interpreter = matches!(
        family,
        "python" | "bash" | "sh" | "perl" | "Rscript" | "ruby" | "node"
    );
    match words.next() {
        Some(script) if is_interpreter && !script.starts_with('-') => file_name(script),
        _ => None,
    }
    .or(Some(first))
}

/// What stands behind the last slash, unless there is nothing to read in it.
fn file_name(word: &str) -> Option<&str> {
    let word = word.trim_matches(['\'', '"', '(', ')', ';', '{', '}']);
    let name = word.rsplit(['/', '\\']).next()?;
    name.contains(|c: char| c.is_alphanumeric()).then_some(name)
}

/// The kind of job that a name or label alone tells: what it has in common with others of its kind. Never empty.
///
/// ```
/// assert_eq!(cairn_dag::kind_of_word("align-7"), "align");
/// assert_eq!(cairn_dag::kind_of_word("12"), "task");
/// ```
pub fn kind_of_word(word: &str) -> &str {
    let stem = numberless(word, false);
    let kind = kind_of_label(word).filter(|_| word.contains(['/', ' ']));
    kind.or((!stem.is_empty()).then_some(stem))
        .unwrap_or("task")
}

/// `word` without the numbers at its end, and what joins them to it: `align` of `align-7`, `mAdd` of `mAdd_ID000012`.
/// Where numbers must be `joined`, `BOWTIE2` keeps its own.
fn numberless(word: &str, joined: bool) -> &str {
    let without_joint = |w: &str| w.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let mut stem = &word[..without_joint(word)];
    loop {
        let mut shorter = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let ids = ["PID", "ID", "id"]; // as Pegasus and others join numbers to names
        let before_id = ids.iter().find_map(|id| shorter.strip_suffix(id));
        let before_id = before_id.filter(|b| b.ends_with(['_', '-', '.', ':']));
        if shorter.len() == stem.len() {
            return stem;
        }
        shorter = before_id.unwrap_or(shorter);
        let end = without_joint(shorter);
        // Nothing joins the number to the word: it belongs to it.
        if joined && end == shorter.len() {
            return stem;
        }
        stem = &shorter[..end];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowBuilder;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Tasks with these names and labels; an empty label is none.
    fn labelled(tasks: &[(&str, &str)]) -> Flow {
        let mut build = FlowBuilder::new();
        for (name, label) in tasks {
            if let Ok(task) = build.declare(name, 0) {
                build.set_label(task, label);
            }
        }
        build.finish().unwrap()
    }

    fn all_shown(flow: &Flow) -> Vec<String> {
        let shown = |t| flow.shown(t).into_owned();
        flow.dag().tasks().map(shown).collect()
    }

    #[test]
    fn labels_are_shown_and_equal_ones_told_apart() {
        let flow = labelled(&[
            ("0", "all"),
            ("1", "align\nsample: A"),
            ("2", "align\nsample: B"),
            ("3", "index"),
            ("4", "index"),
            ("0x55cb5c1e0390", "phony"),
            ("0x55cb5c1e0391", "phony"),
            ("p7", ""),
            ("8", "p7"),
            ("9", "9"),
            ("FASTQC_1", "FASTQC"),
            ("FASTQC_2", "FASTQC"),
        ]);
        let expected = [
            "all",
            "align sample: A",
            "align sample: B",
            "index (3)",
            "index (4)",
            "phony #1",
            "phony #2",
            "p7",
            "p7 (8)",
            "9",
            "FASTQC_1",
            "FASTQC_2",
        ];
        assert_eq!(all_shown(&flow), expected);
        assert_eq!(flow.meant("4"), Meant::Task(TaskId(4)));
        assert_eq!(flow.meant("index (4)"), Meant::Task(TaskId(4)));
        assert_eq!(flow.meant("phony #2"), Meant::Task(TaskId(6)));
        assert_eq!(flow.meant("align sample: A"), Meant::Task(TaskId(1)));
        assert_eq!(flow.meant("align\nsample: A"), Meant::Task(TaskId(1)));
        let both = Meant::Several(vec![TaskId(3), TaskId(4)]);
        assert_eq!(flow.meant("index"), both);
        assert_eq!(flow.meant("nobody"), Meant::Nobody);
    }

    #[test]
    fn names_alone_cost_nothing_and_hostile_ones_are_spelled_out() {
        let flow = labelled(&[("a", ""), ("b", "b")]);
        assert!(flow.shown_names().is_none() && !flow.has_labels());
        assert_eq!(all_shown(&flow), ["a", "b"]);
        let flow = labelled(&[("a\n", ""), ("a\\n", ""), ("\u{1b}[2J", "x\u{202e}")]);
        assert_eq!(all_shown(&flow), ["a\\n #1", "a\\n", "x\\u{202e}"]);
        let long = "x".repeat(1000);
        let flow = labelled(&[("a", &long), ("b", &long)]);
        assert!(all_shown(&flow).iter().all(|s| s.chars().count() < 110));
    }

    proptest! {
        #[test]
        fn no_two_tasks_are_shown_alike(
            tasks in proptest::collection::vec(("[ab#1 ()]{1,4}|a\n?", "[ab]?|[ab] #1|[ab] \\([ab]\\)|a\n?"), 0..40)
        ) {
            let tasks: Vec<(&str, &str)> = tasks.iter().map(|(n, l)| (&**n, &**l)).collect();
            let flow = labelled(&tasks);
            let shown = all_shown(&flow);
            let distinct: HashSet<&String> = shown.iter().collect();
            prop_assert_eq!(distinct.len(), shown.len(), "{:?}", shown);
            for (task, shown) in flow.dag().tasks().zip(&shown) {
                prop_assert_eq!(plain(shown), &**shown);
                // What is shown means the task, unless it is another's name.
                let meant = flow.find(shown).unwrap_or(task);
                prop_assert_eq!(flow.meant(shown), Meant::Task(meant));
                prop_assert_eq!(meant, task, "no label is shown that is another task's name");
                prop_assert_eq!(flow.meant(flow.name(task)), Meant::Task(task));
            }
        }
    }

    #[test]
    fn kinds_come_from_the_input_the_label_the_command_or_the_name() {
        let mut build = FlowBuilder::new();
        let mut expected = Vec::new();
        for (name, kind, label, command, is) in [
            ("a1", "sort", "x", "y", "sort"),
            ("0", "", "deepvariant\ndvchrm: 1", "bwa", "deepvariant"),
            ("1", "", "lib/IR/Core.cpp.o", "", ".o"),
            ("2", "", "bin/clang-15", "", "bin/"),
            ("q", "", "/build/lib.so.15", "", "/build/"),
            ("o", "", "/", "", "/"),
            ("e", "", "/é", "", "/é"),
            ("u", "", "é/x", "", "é/"),
            ("3", "", "NF:ALIGN:BWA (17)", "", "NF:ALIGN:BWA"),
            ("n", "", "NF.BOWTIE2", "", "NF.BOWTIE2"),
            ("m", "", "42", "x", "42"),
            (
                "r",
                "",
                "CXX_COMPILER__LLVMMC_unscanned_Release",
                "",
                "CXX_COMPILER",
            ),
            ("w", "", "FASTQC_2", "", "FASTQC"),
            ("4", "", "", "OMP=2 /opt/bin/bwa mem ref.fa", "bwa"),
            ("5", "", "", "python3.11 ./scripts/plot.py --all", "plot.py"),
            ("6", "", "", "bash -c 'x'", "bash"),
            ("7", "", "", "'my tool' x", "my"),
            ("mDiffFit_ID0000012", "", "", "", "mDiffFit"),
            ("align-7_3", "", "", "", "align"),
            ("merge_mAdd-3.0_PID1_ID2", "", "", "", "merge_mAdd"),
            ("fastqc", "", "", "", "fastqc"),
            ("17", "", "", "", "task"),
            ("--", "", "", "&&", "task"),
            ("GRID3", "", "", "", "GRID"),
        ] {
            let task = build.declare(name, 0).unwrap();
            build.set_kind(task, kind);
            build.set_label(task, label);
            build.set_command(task, command);
            expected.push(is);
        }
        let flow = build.finish().unwrap();
        let kinds: Vec<&str> = flow.dag().tasks().map(|t| flow.kind(t)).collect();
        assert_eq!(kinds, expected);
    }
}
