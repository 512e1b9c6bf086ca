//! `--disk`: bytes on disk while tasks run, an order under a cap, what no order can do without. Knows no verdict.

use crate::cli;
use crate::failure::Failure;
use crate::input::Read;
use crate::output::Output;
use crate::plural::counted;
use cairn_dag::{Dag, Flow, TaskId};
use cairn_engine::Keeper;
use cairn_formats::size;
use cairn_plan::Work;
use cairn_plan::storage::{
    Assumed, FileId, Keeping, Lean, ModelError, Modelled, Reason, lean_order, storage_of,
};
use cairn_theory::profile::{area, profile};
use serde_json::{Value, json};

/// How many caps the curve has, from the smallest peak to that of the order without a cap.
const POINTS: u32 = 12;

/// The knee is the smallest cap at which so much of the area is left.
const KNEE: f64 = 0.95;

/// A cap, and what is to be assumed of files, checked.
pub(crate) struct Settings {
    cap: u64,
    /// Size of files whose paths match, the last that matches first.
    size_of: Vec<(String, u64)>,
    size: Option<u64>,
    temp: Vec<String>,
}

impl Settings {
    /// Nothing without a cap.
    pub(crate) fn new(flags: &cli::Disk) -> Result<Option<Settings>, Failure> {
        let Some(cap) = &flags.disk else {
            return Ok(None);
        };
        let bad = |flag: &str, text: &str| {
            Failure::usage(
                format!("{flag} {text} is no size"),
                format!("give a size with its unit, such as {flag} 500GB or 20GiB"),
            )
        };
        let mut size_of = Vec::new();
        for text in &flags.size_of {
            let pair = text.rsplit_once('=');
            let pair = pair.and_then(|(pattern, s)| Some((pattern.to_owned(), size::parse(s)?)));
            size_of.push(pair.ok_or_else(|| {
                Failure::usage(
                    format!("--size-of {text} is no pattern with a size"),
                    "give a pattern and a size, such as --size-of '*.bam=2GB'",
                )
            })?);
        }
        let size = flags.default_size.as_deref();
        let size = size.map(|text| size::parse(text).ok_or_else(|| bad("--default-size", text)));
        Ok(Some(Settings {
            cap: size::parse(cap).ok_or_else(|| bad("--disk", cap))?,
            size_of,
            size: size.transpose()?,
            temp: flags.temp.clone(),
        }))
    }

    /// The files of a flow, with a word on what is not known of them.
    fn model<'f>(&self, read: &'f Read, out: &Output) -> Result<Model<'f>, Failure> {
        let flow = &read.flow;
        let is_marked =
            !self.temp.is_empty() || (flow.dag().tasks()).any(|t| flow.outputs(t).any(|f| f.temp));
        let keeping = match is_marked {
            true => Keeping::Marked,
            false => Keeping::FinalsOutside,
        };
        let assumed = Assumed {
            size_of: &|path| {
                let hit = self.size_of.iter().rev().find(|(p, _)| matches(p, path));
                hit.map(|&(_, bytes)| bytes)
            },
            size: self.size,
            is_temporary: &|path| self.temp.iter().any(|p| matches(p, path)),
            keeping,
            is_rest: read.done.whole() > flow.dag().len(),
        };
        let files = storage_of(flow, &assumed).map_err(|error| refused(flow, &error))?;
        if files.storage.total() == 0 {
            return Err(Failure::usage(
                "the input gives no file sizes to hold against a cap on the disk",
                "give sizes, such as --size-of '*.bam=2GB' or --default-size 1GB",
            ));
        }
        let model = Model { keeping, files };
        if let Some(doubt) = model.doubt(flow) {
            out.remark(&format!("warning: {doubt}"));
        }
        Ok(model)
    }
}

/// Whether a path matches a pattern: `*` stands for any text, `?` for one character.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), path.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < path.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == path[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

fn refused(flow: &Flow, error: &ModelError) -> Failure {
    let shown = |task: TaskId| format!("'{}'", flow.shown(task));
    let (message, cure) = match error {
        ModelError::TwoProducers { tasks, .. } => (
            format!("{error}: {} and {}", shown(tasks[0]), shown(tasks[1])),
            "let each task write a file of its own",
        ),
        ModelError::TemporaryInput { reader, .. } => (
            format!("{error}; {} reads it", shown(*reader)),
            "do not mark it as temporary: it would be deleted",
        ),
        ModelError::Unordered {
            producer, reader, ..
        } => (
            format!("{error}: {} and {}", shown(*reader), shown(*producer)),
            "add the missing dependency",
        ),
        ModelError::TooLarge { path } => (
            match path {
                Some(path) => format!("{error}, at the latest with '{}'", cairn_dag::plain(path)),
                None => error.to_string(),
            },
            "mend the sizes",
        ),
    };
    Failure::usage(message, cure)
}

/// The files of a flow and what is assumed of them.
struct Model<'f> {
    keeping: Keeping,
    files: Modelled<'f>,
}

impl Model<'_> {
    fn shown(&self, flow: &Flow, file: FileId) -> String {
        match self.files.paths[file.index()] {
            Some(path) => format!("'{}'", cairn_dag::plain(path)),
            None => match self.files.storage.producer(file) {
                Some(task) => format!("what '{}' hands on", flow.shown(task)),
                None => "a file".to_owned(),
            },
        }
    }

    fn doubt(&self, flow: &Flow) -> Option<String> {
        let unknown = &self.files.unknown;
        let named = list(unknown.iter().map(|&f| self.shown(flow, f)), unknown.len());
        let files = counted(unknown.len(), "file");
        (!unknown.is_empty()).then(|| {
            format!(
                "the size of {files} is not known ({named}): they count as 0 bytes, so that more may be needed; \
                 --size-of and --default-size give sizes"
            )
        })
    }

    fn assumed(&self) -> &'static str {
        match self.keeping {
            Keeping::Marked => "only files marked temporary are freed",
            Keeping::FinalsOutside => {
                "files are freed after their last reader; final results stand outside the cap"
            }
            Keeping::FinalsCounted => {
                "files are freed after their last reader; final results count for ever"
            }
        }
    }

    /// Why no order needs less than the lower bound.
    fn proof(&self, flow: &Flow, lean: &Lean) -> String {
        let bytes = size::exact(lean.bound.bytes.into());
        let cut = |task: TaskId, cut: &[FileId]| {
            let files = cut.iter().map(|&f| {
                let bytes = size::words(self.files.storage.bytes(f).into());
                format!("{} ({bytes})", self.shown(flow, f))
            });
            let own = size::words(self.files.storage.reserved(task).into());
            match cut.len() {
                0 => format!("it needs {own} by itself"),
                count => {
                    let files = list(files, count);
                    format!(
                        "before it there are at the least {files}, and it needs {own} by itself"
                    )
                }
            }
        };
        match &lean.bound.reason {
            Reason::Nothing => "nothing is needed".to_owned(),
            Reason::Kept => format!("what is kept takes {bytes} in the end"),
            Reason::Task { task, cut: files } => format!(
                "task '{}' never starts with less than {bytes}: {}",
                flow.shown(*task),
                cut(*task, files)
            ),
            Reason::First {
                tasks,
                task,
                cut: files,
            } => format!(
                "one of {} goes first, and whichever it is needs {bytes}, even '{}': {}",
                counted(tasks.len(), "independent task"),
                flow.shown(*task),
                cut(*task, files)
            ),
            Reason::Last {
                tasks,
                task,
                cut: files,
            } => format!(
                "one of {} goes last, and whichever it is needs {bytes}, even '{}': {}",
                counted(tasks.len(), "independent task"),
                flow.shown(*task),
                cut(*task, files)
            ),
        }
    }
}

/// The first few of many.
fn list(items: impl Iterator<Item = String>, count: usize) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> = items.take(NAMED).collect();
    match count.saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// What was found out about storage.
pub(crate) struct Disk {
    cap: u64,
    assumed: &'static str,
    unknown: usize,
    lean: Lean,
    /// The order under the cap, and the largest need along it.
    pub(crate) order: Vec<TaskId>,
    peak: u64,
    /// Caps with the area of the order found under each.
    curve: Vec<(u64, u64)>,
    knee: u64,
    proof: String,
}

/// The order under the cap that follows `wanted` as far as it can; or why there is none.
pub(crate) fn plan(
    settings: &Settings,
    read: &Read,
    wanted: &[TaskId],
    stop: &(dyn Fn() -> bool + Sync),
    out: &Output,
) -> Result<Disk, Failure> {
    let flow = &read.flow;
    let dag = flow.dag();
    let model = settings.model(read, out)?;
    let storage = &model.files.storage;
    let progress = out.progress("planning for the disk");
    let lean = lean_order(dag, storage, wanted, &mut Work::until(stop));
    drop(progress);
    let cap = settings.cap;
    let exact = |bytes: u64| size::exact(bytes.into());
    let proof = model.proof(flow, &lean);
    if cap < lean.bound.bytes {
        return Err(Failure::usage(
            format!("no order stays within {} on the disk: {proof}", exact(cap)),
            match lean.is_least() {
                true => format!("give at least --disk {}", exact(lean.peak)),
                false => format!("the smallest found needs --disk {}", exact(lean.peak)),
            },
        ));
    }
    if cap < lean.peak {
        return Err(Failure::usage(
            format!(
                "found no order within {} on the disk (not a proof that there is none: no order needs less than {})",
                exact(cap),
                exact(lean.bound.bytes)
            ),
            format!("the smallest found needs --disk {}", exact(lean.peak)),
        ));
    }
    let follow = |cap: u64| -> Vec<TaskId> {
        let keeper = Keeper::new(storage.clone(), &lean.order, cap);
        keeper
            .expect("the cap is no less than the peak")
            .follow(dag, wanted)
    };
    let order = follow(cap);
    let free = storage.peak(wanted).max(lean.peak);
    let mut curve: Vec<(u64, u64)> = Vec::new();
    for cap in caps(lean.peak, free) {
        if stop() && !curve.is_empty() {
            break;
        }
        let area = area_of(dag, &follow(cap));
        // A larger cap allows whatever a smaller one does.
        let least = curve.last().map_or(0, |&(_, area)| area);
        curve.push((cap, area.max(least)));
    }
    let most = curve.last().map_or(0, |&(_, area)| area) as f64;
    let knee = curve.iter().find(|&&(_, area)| area as f64 >= KNEE * most);
    Ok(Disk {
        cap,
        assumed: model.assumed(),
        unknown: model.files.unknown.len(),
        peak: storage.peak(&order),
        order,
        knee: knee.map_or(free, |&(cap, _)| cap),
        curve,
        lean,
        proof,
    })
}

/// Some caps between two, each larger than the one before by the same factor.
fn caps(from: u64, to: u64) -> Vec<u64> {
    let factor = to.max(1) as f64 / from.max(1) as f64;
    let step = |i: u32| from as f64 * factor.powf(f64::from(i) / f64::from(POINTS - 1));
    let mut caps: Vec<u64> = (1..POINTS - 1).map(|i| step(i) as u64).collect();
    caps.retain(|cap| (from..to).contains(cap));
    caps.extend([from, to]);
    caps.sort_unstable();
    caps.dedup();
    caps
}

fn area_of(dag: &Dag, order: &[TaskId]) -> u64 {
    area(&profile(dag, order).expect("a topological order"))
}

impl Disk {
    pub(crate) fn json(&self) -> Value {
        let curve: Vec<Value> = self
            .curve
            .iter()
            .map(|&(cap, area)| json!([cap, area]))
            .collect();
        json!({
            "peak": self.lean.peak, "lower_bound": self.lean.bound.bytes, "cap": self.cap,
            "proved_least": self.lean.is_least(), "knee": self.knee, "curve": curve,
            "order_peak": self.peak, "reason": self.proof, "assumed": self.assumed,
            "unknown_sizes": self.unknown,
        })
    }

    pub(crate) fn text(&self) -> String {
        let words = |bytes: u64| size::words(bytes.into());
        let least = match self.lean.is_least() {
            true => format!(
                "no order needs less than {}, which was proved",
                words(self.lean.peak)
            ),
            false => format!(
                "the smallest peak found is {}, and no order needs less than {}",
                words(self.lean.peak),
                words(self.lean.bound.bytes)
            ),
        };
        format!(
            "{} at the most, under a cap of {}; {least}; from {} on a cap costs hardly anything ({})",
            words(self.peak),
            words(self.cap),
            words(self.knee),
            self.assumed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_of_any_text_or_one_character() {
        for (pattern, path, hit) in [
            ("*.bam", "out/a.bam", true),
            ("*.bam", "a.bam.bai", false),
            ("a?c*", "abcd", true),
            ("a?c", "ac", false),
            ("**x*", "x", true),
            ("", "", true),
            ("", "a", false),
            ("a*b*c", "a-b-b-c", true),
        ] {
            assert_eq!(matches(pattern, path), hit, "{pattern} {path}");
        }
    }

    #[test]
    fn caps_rise_from_the_peak_to_where_there_is_no_cap() {
        let all = caps(100, 1_000);
        assert_eq!((all[0], all[all.len() - 1], all.len()), (100, 1_000, 12));
        assert!(all.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(caps(7, 7), [7]);
        assert_eq!(caps(0, 0), [0]);
    }
}
