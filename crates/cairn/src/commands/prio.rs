//! `cairn prio`: priorities written into the user's own file, everything else byte for byte.

use super::auto::{self, Contest, Wish};
use super::contender::name;
use super::orders;
use super::reasons::how;
use super::worth;
use crate::cli::{self, Policy};
use crate::failure::Failure;
use crate::input::{self, Named, Read};
use crate::layout;
use crate::limits::{Limits, is_interrupted};
use crate::logs;
use crate::output::{Output, replace_files, write_file};
use crate::plural::counted;
use crate::screen;
use crate::spare;
use cairn_dag::{Flow, TaskId};
use cairn_formats::{
    EditedFile, ExistingPriorities, Format, PriorityError, Report, Source, set_priorities,
    write_packed,
};
use cairn_plan::policy::by_priority;
use cairn_plan::policy::priorities;
use cairn_plan::{Plan, Verdict};
use cairn_theory::profile::area;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

// Windows' editors put it before UTF-8, the reader takes it off, and everything else is to stay byte for byte.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Which priorities to write and where, checked.
pub(crate) struct Settings {
    flags: cli::Prio,
    contest: Option<Contest>,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn new(flags: cli::Prio, out: &Output) -> Result<Settings, Failure> {
        let read = Named::new(&flags.input, &flags.executed).logs(&flags.times);
        let read = read.world(&flags.contest.world).checked()?;
        check_places(&flags, &read, out)?;
        Ok(Settings {
            contest: Contest::new(flags.policy, &flags.contest)?,
            limits: Limits::new(&flags.limits)?,
            flags,
        })
    }
}

pub(crate) fn run(settings: &Settings, out: &Output) -> Result<(), Failure> {
    let Settings {
        flags,
        contest,
        limits,
    } = settings;
    let clock = limits.clock();
    let (source, read) = input::open_rest(&flags.input, &flags.executed, out)?;
    let read = logs::apply(read, &flags.times, &flags.input, out)?;
    let (format, flow) = (read.format, &read.flow);
    // Before the plan, which may take a minute.
    if !format.holds_priorities() {
        return Err(refused(&PriorityError::NoPlace(format)));
    }
    if flags.in_place {
        on_disk(&flags.input.file, source.text())?; // before any work: a packed file is refused
    }
    try_out(&source, format, flow, flags)?;
    let arena = contest.as_ref().map(|c| c.arena(flow, out)).transpose()?;
    let progress = out.progress("planning");
    let planning = auto::planning_time(contest.as_ref(), &clock);
    let mut plan = orders::make(flow, flags.choices, limits, &planning);
    drop(progress);
    if is_interrupted() {
        return Err(Failure::Interrupted("nothing was written"));
    }
    let contest = contest.as_ref().zip(arena.as_ref());
    let wish = auto::wanted(flow, &plan, flags.policy, contest, &clock, out)?;
    let edited = edit(&source, format, flow, &wish.order, flags.keep)?;
    out.new_warnings(&edited.report, &read.report);
    plan.foresee(flow);
    let judged = Judged::new(&plan, flow, &wish.order, &edited.after);
    let written = if flags.in_place {
        replace(&edited.pieces, flags.backup.as_deref())?
    } else {
        write(&edited.pieces, flags.out.as_deref())?
    };
    if edited.replaced > 0 {
        let which = if edited.replaced == 1 { "it" } else { "them" };
        let tasks = counted(edited.replaced, "task");
        out.remark(&format!(
            "{tasks} had another priority, which was replaced (--keep leaves {which} alone)"
        ));
    }
    if let Some(choice) = &wish.choice {
        out.remark(&format!("policy {}", choice.text()));
    }
    let tasks = counted(flow.dag().len(), "task");
    let words = judged.words(wish.policy, flags.keep);
    if to_standard_output(flags) {
        out.remark(&format!("priorities of {tasks}; {words}"));
        return Ok(());
    }
    let mut text = String::new();
    for (path, change) in &written {
        text += &layout::heading(&screen::path(path), change.words(), layout::width());
    }
    text += &layout::hanging_at("", 2, &format!("{tasks}; {words}"), layout::width());
    out.done(&json(&read, &wish, &edited, &judged, &written), &text)
}

/// Refuses what cannot be written, by any order: before the plan, which may take a minute. Only workflows of several files, and
/// texts that may be tangled, can be refused: the others are spared an edit more.
fn try_out(source: &Source, format: Format, flow: &Flow, flags: &cli::Prio) -> Result<(), Failure> {
    if !matches!(format, Format::Dagman | Format::PegasusYaml) {
        // Into a folder it goes by its own name.
        let target = flags.out.as_deref().filter(|out| !out.is_dir());
        return target.map_or(Ok(()), spare::has_folder);
    }
    let order = flow.dag().topological_order();
    let trial = edit(source, format, flow, order, flags.keep)?;
    if flags.in_place {
        return Ok(());
    }
    match &targets(&trial.pieces, flags.out.as_deref())?[..] {
        [target] => spare::has_folder(target),
        // Of several files the folders are made.
        _ => Ok(()),
    }
}

/// What was written, for machines.
fn json(read: &Read, wish: &Wish, edited: &Edited, judged: &Judged, written: &Written) -> Value {
    let files: Vec<Value> = (written.iter())
        .map(|(path, change)| json!({ "path": path.display().to_string(), "changed": change.is_changed() }))
        .collect();
    let mut value = json!({
        "files": files, "tasks": read.flow.dag().len(), "verdict": judged.verdict.name(), "policy": name(&wish.policy),
        "replaced": edited.replaced, "as_planned": judged.is_as_planned(),
        "area": judged.reached, "area_planned": judged.planned, "area_bound": judged.bound,
    });
    if let Some(choice) = &wish.choice {
        value["auto"] = choice.json();
    }
    read.done.tell(&mut value);
    read.tell_times(&mut value);
    value
}

/// The order that an engine makes of the numbers as they are written: it may not be the one that was planned, where
/// priorities are kept, or where one number serves several tasks.
struct Judged {
    verdict: Verdict,
    /// The area that the engine reaches, the one that was planned, and the bound.
    reached: u64,
    planned: u64,
    bound: u64,
    is_same: bool,
    /// How the verdict is known.
    how: String,
}

impl Judged {
    fn new(plan: &Plan, flow: &Flow, order: &[TaskId], after: &Flow) -> Judged {
        let dag = flow.dag();
        let number = |task: TaskId| {
            let written = after.find(flow.name(task)).and_then(|t| after.priority(t));
            written.unwrap_or(0) // what engines take for a task without one
        };
        let numbers: Vec<i64> = dag.tasks().map(number).collect();
        // What an engine makes of numbers, and what was meant: they differ where a number serves several tasks.
        let reached = plan.profile_of(&by_priority(dag, &numbers));
        let planned = plan.profile_of(order);
        let verdict = plan.judge(&reached);
        Judged {
            verdict,
            how: how(verdict, plan),
            is_same: reached == planned,
            reached: area(&reached),
            planned: area(&planned),
            bound: area(&plan.bound),
        }
    }

    /// Whether the engine has as many eligible tasks at every step as was planned.
    fn is_as_planned(&self) -> bool {
        self.is_same
    }

    /// The verdict in a sentence.
    fn words(&self, policy: Policy, keep: bool) -> String {
        let cure = match (self.is_same, keep) {
            (true, _) if policy == Policy::Ic => "",
            (true, _) => " (--policy ic)",
            (false, true) => " (leave out --keep)",
            (false, false) => "",
        };
        let how = &self.how;
        let verdict = match self.verdict {
            Verdict::Optimal => format!("the best there is ({how})"),
            Verdict::NoneExists if self.is_same && policy == Policy::Ic => {
                format!("as good as found ({how}: no order is the best at every step)")
            }
            Verdict::NoneExists => format!("not the best at every step ({how}: none is){cure}"),
            Verdict::Suboptimal => format!("not the best: there is a better one{cure}"),
            Verdict::Open => format!("not proved the best{cure}"),
        };
        if self.is_same {
            return format!("the order is {verdict}");
        }
        let share = |area: u64| 100.0 * worth::share(area, self.bound);
        format!(
            "the order that these numbers give is not the one planned: {verdict};\n  \
             it has {:.2} % of the ready tasks that no order can exceed, {:.2} % were planned",
            share(self.reached),
            share(self.planned)
        )
    }
}

fn to_standard_output(settings: &cli::Prio) -> bool {
    !settings.in_place && settings.out.as_deref().is_none_or(|o| o == Path::new("-"))
}

/// What can be refused before reading anything.
fn check_places(settings: &cli::Prio, read: &Named, out: &Output) -> Result<(), Failure> {
    if settings.in_place && settings.input.file == Path::new("-") {
        return Err(Failure::usage(
            "standard input cannot be edited in place",
            "leave --in-place out: the text with priorities goes to standard output",
        ));
    }
    if out.json && to_standard_output(settings) {
        return Err(Failure::usage(
            "standard output cannot take both the file and --json",
            "add -o OUT or --in-place",
        ));
    }
    if let Some(path) = &settings.out {
        // But for the workflow itself: what is written there is the same text, with priorities.
        spare::none_of(&read.paths()[1..], path, "name another file with -o")?;
    }
    match settings.backup.as_deref() {
        Some(suffix) if suffix.is_empty() || suffix.contains(['/', '\\']) => Err(Failure::usage(
            format!("'{suffix}' is no suffix for a file name"),
            "give one such as --backup .orig",
        )),
        _ => Ok(()),
    }
}

/// One file of the workflow.
struct Piece {
    /// As it was asked for; empty for standard input.
    path: PathBuf,
    before: String,
    /// The same as `before` where nothing changes.
    after: String,
}

/// The texts of all files, the top one first, and what they say.
struct Edited {
    pieces: Vec<Piece>,
    after: Flow,
    replaced: usize,
    /// Warnings only.
    report: Report,
}

/// Edits the texts of all files that the workflow consists of, the top one first. Nothing is written yet.
fn edit(
    source: &Source,
    format: Format,
    flow: &Flow,
    order: &[TaskId],
    keep: bool,
) -> Result<Edited, Failure> {
    let numbers = priorities(order);
    let priority = |name: &str| flow.find(name).map(|task| i64::from(numbers[task.index()]));
    let mut loaded: BTreeMap<PathBuf, Source> = BTreeMap::new();
    let mut load = |path: &Path, report: &mut Report| {
        if let Some(known) = loaded.get(path) {
            return Some(known.clone());
        }
        let source =
            Source::load_named_by_file(path, &cairn_formats::ReadLimits::default(), report)?;
        // Kept as they were read: what was edited is compared with that, and with what lies there when it is written.
        loaded.insert(path.to_owned(), source.clone());
        Some(source)
    };
    let existing = match keep {
        true => ExistingPriorities::Keep,
        false => ExistingPriorities::Replace,
    };
    let mut report = Report::default();
    let edited = set_priorities(source, format, &mut load, &priority, existing, &mut report);
    let edited = match edited {
        Ok(edited) => edited,
        Err(PriorityError::Input) => return Err(Failure::Input(report)),
        Err(error) => return Err(refused(&error)),
    };
    Ok(Edited {
        report,
        pieces: pieces(source, loaded, edited.files),
        after: edited.flow,
        replaced: edited.replaced,
    })
}

fn pieces(
    source: &Source,
    loaded: BTreeMap<PathBuf, Source>,
    edited: Vec<EditedFile>,
) -> Vec<Piece> {
    let mut edited = edited.into_iter();
    let top = edited
        .next()
        .map_or_else(|| source.text().to_owned(), |file| file.text);
    let mut pieces = vec![Piece {
        path: source.path().map(Path::to_owned).unwrap_or_default(),
        before: source.text().to_owned(),
        after: top,
    }];
    let mut others: BTreeMap<PathBuf, String> = edited.map(|file| (file.path, file.text)).collect();
    for (path, source) in loaded {
        let before = source.text().to_owned();
        let after = others.remove(&path).unwrap_or_else(|| before.clone());
        pieces.push(Piece {
            path,
            before,
            after,
        });
    }
    pieces
}

fn refused(error: &PriorityError) -> Failure {
    let help = match error {
        // Every writer writes the tasks of a sweep out.
        PriorityError::NoPlace(_) | PriorityError::Sweep => {
            "convert it first, for example: cairn convert FILE flow.toml; or take the numbers from cairn plan --json"
        }
        PriorityError::Tangled(_) => {
            "nothing was written; give every job profiles of its own, or take the numbers from cairn plan --json"
        }
        _ => "nothing was written; please report this file as a bug",
    };
    Failure::usage(error.to_string(), help)
}

/// What became of a file.
#[derive(Clone, Copy)]
enum Change {
    Replaced,
    Unchanged,
    Written,
    Copied,
}

impl Change {
    fn is_changed(self) -> bool {
        matches!(self, Change::Replaced | Change::Written)
    }

    fn words(self) -> &'static str {
        match self {
            Change::Replaced => "priorities written in place",
            Change::Unchanged => "has these priorities already",
            Change::Written => "written with priorities",
            Change::Copied => "written, nothing to change in it",
        }
    }
}

type Written = Vec<(PathBuf, Change)>;

/// Replaces the files that change, all or none.
fn replace(files: &[Piece], backup: Option<&str>) -> Result<Written, Failure> {
    let mut written = Vec::new();
    let mut changed = Vec::new();
    for file in files {
        let mut change = Change::Unchanged;
        if file.before != file.after {
            let mut bytes = on_disk(&file.path, &file.before)?;
            bytes.extend_from_slice(file.after.as_bytes());
            changed.push((file.path.clone(), bytes));
            change = Change::Replaced;
        }
        written.push((file.path.clone(), change));
    }
    replace_files(&changed, backup)?;
    Ok(written)
}

/// Makes sure that the file holds this very text, so that replacing it loses nothing. Gives its byte order mark.
fn on_disk(path: &Path, text: &str) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|e| Failure::usage(format!("cannot read {shown} again: {e}"), ""))?;
    if bytes == text.as_bytes() {
        return Ok(Vec::new());
    }
    if bytes.strip_prefix(BYTE_ORDER_MARK) == Some(text.as_bytes()) {
        return Ok(BYTE_ORDER_MARK.to_owned());
    }
    Err(match bytes[..] {
        // How gzip and Zstandard begin.
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] => Failure::usage(
            format!("{shown} is compressed and cannot be edited in place"),
            "unpack it first, or write another file with -o OUT",
        ),
        _ => Failure::usage(
            format!("{shown} has changed since it was read; nothing was written"),
            "run the command again",
        ),
    })
}

/// The text to write elsewhere: with the byte order mark, if the file has one.
fn whole(file: &Piece) -> Vec<u8> {
    // Elsewhere a packed or piped input has no mark to keep.
    let mut bytes = on_disk(&file.path, &file.before).unwrap_or_default();
    bytes.extend_from_slice(file.after.as_bytes());
    bytes
}

/// Where each file of the workflow goes: one to a file or standard output, several into a folder.
fn targets(files: &[Piece], out: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let out = out.unwrap_or(Path::new("-"));
    if let [file] = files {
        let name = file.path.file_name().filter(|_| out.is_dir());
        return Ok(vec![
            name.map_or_else(|| out.to_owned(), |name| out.join(name)),
        ]);
    }
    if out == Path::new("-") || out.is_file() {
        let shown: Vec<_> = files.iter().map(|f| f.path.display().to_string()).collect();
        let (many, shown) = (files.len(), shown.join(", "));
        return Err(Failure::usage(
            format!("this workflow consists of {many} files: {shown}"),
            "name a folder to write them into with -o FOLDER, or use --in-place",
        ));
    }
    // Where the others lie beside it, they must lie beside it in the new folder too.
    let top = files[0].path.parent().unwrap_or(Path::new(""));
    let target = |file: &Piece| Ok(out.join(inside(&file.path, top)?));
    files.iter().map(target).collect()
}

/// Writes all files of the workflow.
fn write(files: &[Piece], out: Option<&Path>) -> Result<Written, Failure> {
    let targets = targets(files, out)?;
    let change = |file: &Piece| match file.before == file.after {
        true => Change::Copied,
        false => Change::Written,
    };
    if let ([file], [target]) = (files, &targets[..]) {
        write_file(target, |to| to.write_all(&whole(file)))?;
        return Ok(vec![(target.clone(), change(file))]);
    }
    let mut packed = Vec::new();
    for (file, target) in files.iter().zip(targets) {
        let folder = target.parent().unwrap_or(Path::new("."));
        let made = std::fs::create_dir_all(folder);
        made.map_err(|e| Failure::writing(&folder.display().to_string(), &e))?;
        let mut bytes = Vec::new();
        write_packed(&target, &mut bytes, |out| out.write_all(&whole(file)))
            .map_err(|e| Failure::writing(&target.display().to_string(), &e))?;
        packed.push((target, bytes));
    }
    replace_files(&packed, None)?;
    let paths = packed.into_iter().map(|(path, _)| path);
    Ok(paths.zip(files.iter().map(change)).collect())
}

/// The path relative to the folder of the top file, if it lies inside.
fn inside(path: &Path, top: &Path) -> Result<PathBuf, Failure> {
    let outside = || {
        Failure::usage(
            format!("{} lies outside the folder of the top file", path.display()),
            "use --in-place, or work on a copy of the whole tree",
        )
    };
    let mut clean = PathBuf::new();
    for part in path.strip_prefix(top).map_err(|_| outside())?.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir if clean.pop() => {}
            _ => return Err(outside()),
        }
    }
    Ok(clean)
}
