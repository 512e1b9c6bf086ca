//! `--disk`: bytes on disk while tasks run, an order under a cap, what no order can do without. Knows no verdict.

use super::caps::{Disk, DiskCap};
use crate::failure::Failure;
use crate::input::Read;
use crate::output::Output;
use crate::plural::{counted, first_few};
use cairn_dag::{Flow, TaskId};
use cairn_engine::{AreaByCap, Keeper, area_by_cap};
use cairn_formats::size;
use cairn_plan::Work;
use cairn_plan::storage::{
    Assumed, FileId, Keeping, Lean, LowerBound, ModelError, Modelled, Reason, Storage, lean_order,
    refusal_of, storage_of, usual_keeping,
};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) fn refused(flow: &Flow, error: &ModelError) -> Failure {
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
pub(crate) struct Model<'f> {
    pub(crate) keeping: Keeping,
    pub(crate) files: Modelled<'f>,
    is_rest: bool,
}

impl<'f> Model<'f> {
    /// The files of a flow that is run: what is marked is temporary, all else is kept.
    pub(crate) fn marked(flow: &'f Flow, caps: Option<&Disk>) -> Result<Model<'f>, ModelError> {
        let keeping = Keeping::Marked;
        let files = match caps {
            Some(caps) => caps.assume(keeping, false, |assumed| storage_of(flow, assumed)),
            None => storage_of(flow, &Assumed::nothing(keeping)),
        };
        Ok(Model {
            keeping,
            files: files?,
            is_rest: false,
        })
    }

    /// The files of a flow, with a word on what is not known of them.
    pub(crate) fn new(caps: &Disk, read: &'f Read, out: &Output) -> Result<Model<'f>, Failure> {
        let flow = &read.flow;
        let keeping = usual_keeping(flow, !caps.temp.is_empty());
        let is_rest = read.done.whole() > flow.dag().len();
        let files = caps.assume(keeping, is_rest, |assumed| storage_of(flow, assumed));
        let files = files.map_err(|error| refused(flow, &error))?;
        // Any cap would do then, and to say so would be taken for a proof.
        if files.storage.total() == 0 {
            return Err(Failure::usage(
                "the input gives no file sizes to hold against a cap in bytes",
                match caps.is_memory_cap {
                    true => {
                        "give a number of results instead, such as --memory-cap 40, or sizes: --disk with --default-size 1GB"
                    }
                    false => "give sizes, such as --size-of '*.bam=2GB' or --default-size 1GB",
                },
            ));
        }
        let model = Model {
            keeping,
            files,
            is_rest,
        };
        if let Some(doubt) = model.doubt(flow) {
            out.remark(&format!("warning: {doubt}"));
        }
        Ok(model)
    }

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
        let named = first_few(unknown.iter().map(|&f| self.shown(flow, f)), unknown.len());
        let files = counted(unknown.len(), "file");
        (!unknown.is_empty()).then(|| {
            format!(
                "the size of {files} is not known ({named}): they count as 0 bytes, so that more may be needed; \
                 --size-of and --default-size give sizes"
            )
        })
    }

    /// The files that are freed, by number.
    fn temporary(&self) -> impl Iterator<Item = FileId> + '_ {
        let storage = &self.files.storage;
        storage.files().filter(|&f| !storage.is_kept(f))
    }

    /// What is freed, and what was assumed to say so.
    fn assumed(&self, flow: &Flow) -> String {
        let count = self.temporary().count();
        let named = match count {
            0 => String::new(),
            _ => {
                let names = self.temporary().map(|f| self.shown(flow, f));
                format!(" ({})", first_few(names, count))
            }
        };
        let files = counted(count, "file");
        match self.keeping {
            Keeping::Marked => format!(
                "only files marked temporary are freed, {files}{named}; all others count for ever"
            ),
            Keeping::FinalsOutside => format!(
                "taken as temporary: {files} that tasks read{named}, freed after their last reader; final results stand \
                 outside the cap"
            ),
            Keeping::FinalsCounted => format!(
                "taken as temporary: {files} that tasks read{named}, freed after their last reader; final results count for \
                 ever"
            ),
        }
    }

    fn temporary_json(&self) -> Value {
        let storage = &self.files.storage;
        let bytes: u64 = self.temporary().map(|f| storage.bytes(f)).sum();
        json!({
            "files": self.temporary().count(), "bytes": bytes, "marked": self.keeping == Keeping::Marked,
        })
    }

    /// Why no order needs less than the lower bound.
    pub(crate) fn proof(&self, flow: &Flow, lean: &Lean) -> String {
        let storage = &self.files.storage;
        let name = |task: TaskId| flow.shown(task).into_owned();
        let cut = |cut: &[FileId]| {
            let counts = |f: &FileId| storage.bytes(*f) > 0;
            let cut: Vec<FileId> = cut.iter().copied().filter(counts).collect();
            let files = cut.iter().map(|&f| {
                let bytes = size::words(storage.bytes(f).into());
                format!("{} ({bytes})", self.shown(flow, f))
            });
            (!cut.is_empty()).then(|| first_few(files, cut.len()))
        };
        reason_words(&lean.bound, storage, &name, &cut)
    }
}

/// Why no order needs less than a lower bound: what tasks are called, and what is said of the files of a cut, if there are any.
pub(crate) fn reason_words(
    bound: &LowerBound,
    storage: &Storage,
    name: &dyn Fn(TaskId) -> String,
    cut: &dyn Fn(&[FileId]) -> Option<String>,
) -> String {
    let bytes = size::exact(bound.bytes.into());
    let before = |task: TaskId, files: &[FileId]| {
        let own = size::words(storage.reserved(task).into());
        match cut(files) {
            None => format!("it needs {own} by itself"),
            Some(files) => {
                format!("before it there are at the least {files}, and it needs {own} by itself")
            }
        }
    };
    let (tasks, task, files, which) = match &bound.reason {
        Reason::Nothing => return "nothing is needed".to_owned(),
        Reason::Kept => return format!("what is kept takes {bytes} in the end"),
        Reason::Task { task, cut } => {
            let (name, before) = (name(*task), before(*task, cut));
            return format!("task '{name}' never starts with less than {bytes}: {before}");
        }
        Reason::First { tasks, task, cut } => (tasks, *task, cut, "first"),
        Reason::Last { tasks, task, cut } => (tasks, *task, cut, "last"),
    };
    format!(
        "one of {} goes {which}, and whichever it is needs {bytes}, even '{}': {}",
        counted(tasks.len(), "independent task"),
        name(task),
        before(task, files)
    )
}

/// A cap that can be kept, with an order that keeps it and what no order can do without.
pub(crate) struct Ground<'f> {
    pub(crate) model: Model<'f>,
    pub(crate) cap: DiskCap,
    pub(crate) lean: Lean,
    pub(crate) proof: String,
    is_memory_cap: bool,
}

/// The files of a flow and the bytes that they must fit into. All that can be refused without an order was.
pub(crate) struct Room<'f> {
    caps: &'f Disk,
    read: &'f Read,
    model: Model<'f>,
    cap: DiskCap,
}

impl<'f> Room<'f> {
    /// Where there is a cap. Asked for before the plan, which may take a minute: files without sizes are no less so after it, and
    /// what every order needs is needed by the plan's.
    pub(crate) fn new(
        caps: Option<&'f Disk>,
        read: &'f Read,
        folder: &Path,
        work: &Work<'_>,
        out: &Output,
    ) -> Result<Option<Room<'f>>, Failure> {
        let Some(caps) = caps else {
            return Ok(None);
        };
        let model = Model::new(caps, read, out)?;
        let cap = caps.cap.in_folder(folder)?;
        if let Some((share, free)) = cap.of_free {
            out.remark(&format!(
                "the cap is {} % of the {} that are free now: {}",
                (share * 1000.0).round() / 10.0,
                size::words(free.into()),
                size::words(cap.bytes.into())
            ));
        }
        let (flow, storage) = (&read.flow, &model.files.storage);
        let refusal = refusal_of(flow.dag(), storage, cap.bytes, &mut work.unmetered());
        if let Some(lean) = refusal {
            return Err(too_small(&lean, cap, caps, &model.proof(flow, &lean)));
        }
        Ok(Some(Room {
            caps,
            read,
            model,
            cap,
        }))
    }
}

/// A cap that no order keeps, or none that was found.
fn too_small(lean: &Lean, cap: DiskCap, caps: &Disk, proof: &str) -> Failure {
    Failure::usage(
        no_room(lean, cap.bytes, "", proof),
        would_do(lean, caps.flag(), lean.is_least()),
    )
}

/// Plans for a small peak, and refuses a cap that no order keeps, or none that was found.
pub(crate) fn prepare<'f>(
    room: Room<'f>,
    wanted: &[TaskId],
    work: &Work<'_>,
    out: &Output,
) -> Result<Ground<'f>, Failure> {
    let Room {
        caps,
        read,
        model,
        cap,
    } = room;
    let flow = &read.flow;
    let progress = out.progress("planning for the disk");
    let storage = &model.files.storage;
    let lean = lean_order(flow.dag(), storage, wanted, &mut work.unmetered());
    drop(progress);
    // Made whether or not the cap is kept: the answer and its certificate name it as well.
    let proof = model.proof(flow, &lean);
    // After the search, whatever the cap: a refusal is to say what would do.
    if cap.bytes < lean.peak {
        return Err(too_small(&lean, cap, caps, &proof));
    }
    Ok(Ground {
        model,
        cap,
        lean,
        proof,
        is_memory_cap: caps.is_memory_cap,
    })
}

/// Why no order, or none `of` a part, stays within a cap that is below the smallest peak found.
pub(crate) fn no_room(lean: &Lean, cap: u64, of: &str, proof: &str) -> String {
    let (within, least) = (
        size::exact(cap.into()),
        size::exact(lean.bound.bytes.into()),
    );
    match cap < lean.bound.bytes {
        true => format!("no order{of} stays within {within} on the disk: {proof}"),
        false => format!(
            "found no order{of} within {within} on the disk (not a proof that there is none: no order needs less than {least})"
        ),
    }
}

/// The cap that would do, which is the smallest there is or the smallest found.
pub(crate) fn would_do(lean: &Lean, flag: &str, is_least: bool) -> String {
    let peak = size::exact(lean.peak.into());
    match is_least {
        true => format!("give at least {flag} {peak}"),
        false => format!("the smallest found needs {flag} {peak}"),
    }
}

impl Ground<'_> {
    pub(crate) fn storage(&self) -> &Storage {
        &self.model.files.storage
    }

    /// A keeper under a cap no smaller than the smallest peak found.
    pub(crate) fn keeper(&self, cap: u64) -> Keeper {
        let keeper = Keeper::new(self.storage().clone(), &self.lean.order, cap);
        keeper.expect("the cap is no less than the peak")
    }

    /// What every answer tells of the cap.
    pub(crate) fn json(&self, flow: &Flow) -> Value {
        let mut value = json!({
            "peak": self.lean.peak, "lower_bound": self.lean.bound.bytes, "cap": self.cap.bytes,
            "proved_least": self.lean.is_least(), "reason": self.proof,
            "assumed": self.model.assumed(flow), "temporary": self.model.temporary_json(),
            "unknown_sizes": self.model.files.unknown.len(),
        });
        if let Some((share, free)) = self.cap.of_free {
            value["cap_of_free"] = json!({ "share": share, "free": free });
        }
        value
    }

    /// What was assumed of files, in words.
    pub(crate) fn assumed(&self, flow: &Flow) -> String {
        self.model.assumed(flow)
    }

    /// The cap, and what no order can do without, in words.
    pub(crate) fn about(&self) -> String {
        format!(
            "a cap of {}; {}",
            size::words(self.cap.bytes.into()),
            self.least_words()
        )
    }

    /// Peak and lower bound, in words.
    pub(crate) fn least_words(&self) -> String {
        match self.lean.is_least() {
            true => format!(
                "no order needs less than {}, which was proved",
                size::words(self.lean.peak.into())
            ),
            false => format!(
                "the smallest peak found is {}, and no order needs less than {}",
                size::words(self.lean.peak.into()),
                size::words(self.lean.bound.bytes.into())
            ),
        }
    }

    /// The section of a certificate, with the order under the cap.
    fn claim(
        &self,
        caps: &Disk,
        flow: &Flow,
        order: &[TaskId],
        peak: u64,
    ) -> cairn_verify::Storage {
        use cairn_verify as written;
        let names = |tasks: &[TaskId]| -> Vec<String> {
            tasks.iter().map(|&t| flow.name(t).to_owned()).collect()
        };
        written::Storage {
            assumed: written::Assumed {
                keeping: self.model.keeping,
                size_of: caps.size_of.clone(),
                default_size: caps.size,
                temp: caps.temp.clone(),
                rest: self.model.is_rest,
            },
            order: names(&self.lean.order),
            peak: self.lean.peak,
            lower_bound: self.lean.bound.bytes,
            reason: match &self.lean.bound.reason {
                Reason::Nothing => written::Reason::Nothing,
                Reason::Kept => written::Reason::Kept,
                // Without the cut: the checker finds its own, so that a wrong one cannot mislead it.
                Reason::Task { task, .. } => written::Reason::Task {
                    task: flow.name(*task).to_owned(),
                },
                Reason::First { tasks, .. } => written::Reason::First {
                    tasks: names(tasks),
                },
                Reason::Last { tasks, .. } => written::Reason::Last {
                    tasks: names(tasks),
                },
            },
            under_cap: Some(written::UnderCap {
                cap: self.cap.bytes,
                order: names(order),
                peak,
            }),
        }
    }
}

/// What `plan` found out about storage.
pub(crate) struct Planned<'f> {
    pub(crate) ground: Ground<'f>,
    /// The order under the cap, and the largest need along it.
    pub(crate) order: Vec<TaskId>,
    pub(crate) peak: u64,
    /// Caps with the area of the order found under each.
    pub(crate) curve: Vec<(u64, u64)>,
    pub(crate) knee: u64,
    /// What was assumed of files.
    pub(crate) assumed: String,
    value: Value,
}

/// The order under the cap that follows `wanted` as far as it can; or why there is none.
pub(crate) fn plan<'f>(
    room: Room<'f>,
    wanted: &[TaskId],
    work: &Work<'_>,
    out: &Output,
) -> Result<Planned<'f>, Failure> {
    let flow = &room.read.flow;
    let dag = flow.dag();
    let ground = prepare(room, wanted, work, out)?;
    let order = ground.keeper(ground.cap.bytes).follow(dag, wanted);
    let peak = ground.storage().peak(&order);
    // From the least that can be kept to what the order would take freely: beyond, no cap changes anything.
    let free = ground.storage().peak(wanted).max(ground.lean.peak);
    let keeper = |cap: u64| ground.keeper(cap);
    let AreaByCap { points, knee } = area_by_cap(
        dag,
        wanted,
        keeper,
        ground.lean.peak..=free,
        &mut work.unmetered(),
    );
    Ok(Planned {
        assumed: ground.model.assumed(flow),
        value: ground.json(flow),
        knee,
        peak,
        order,
        curve: points,
        ground,
    })
}

/// A unit in which the largest of some sizes is a handy number.
pub(crate) struct DiskUnit {
    pub(crate) name: &'static str,
    pub(crate) bytes: f64,
}

impl DiskUnit {
    pub(crate) fn of(sizes: impl Iterator<Item = f64>) -> DiskUnit {
        let most = sizes.fold(0.0, f64::max);
        // Powers of 1000, as sizes are shown everywhere here.
        let units = [
            ("TB", 1e12),
            ("GB", 1e9),
            ("MB", 1e6),
            ("kB", 1e3),
            ("B", 1.0),
        ];
        let fits = |u: &(&'static str, f64)| most >= u.1;
        let (name, bytes) = units.into_iter().find(fits).unwrap_or(("B", 1.0));
        DiskUnit { name, bytes }
    }
}

impl Planned<'_> {
    pub(crate) fn json(&self) -> Value {
        let mut value = self.value.clone();
        let curve = self.curve.iter().map(|&(cap, area)| json!([cap, area]));
        value["knee"] = json!(self.knee);
        value["curve"] = curve.collect();
        value["order_peak"] = json!(self.peak);
        value
    }

    /// What `memory` is in the JSON where the cap was given as `--memory-cap`: the same numbers under its names.
    pub(crate) fn as_memory(&self) -> Option<Value> {
        let point = |&(peak, area): &(u64, u64)| json!({ "peak": peak, "area": area });
        let curve: Vec<Value> = self.curve.iter().map(point).collect();
        self.ground.is_memory_cap.then(|| {
            json!({
                "peak": self.peak, "unit": "bytes", "cap": self.ground.cap.bytes, "trade_off": curve,
                "unknown_sizes": self.ground.model.files.unknown.len(),
            })
        })
    }

    /// The most bytes in use along another order.
    pub(crate) fn peak_of(&self, order: &[TaskId]) -> u64 {
        self.ground.storage().peak(order)
    }

    /// The section of a certificate.
    pub(crate) fn claim(&self, caps: &Disk, flow: &Flow) -> cairn_verify::Storage {
        self.ground.claim(caps, flow, &self.order, self.peak)
    }

    pub(crate) fn text(&self) -> String {
        let words = |bytes: u64| size::words(bytes.into());
        format!(
            "{} at the most, under a cap of {}; {}; from {} on a cap costs hardly anything",
            words(self.peak),
            words(self.ground.cap.bytes),
            self.ground.least_words(),
            words(self.knee)
        )
    }
}
