//! The files of one DAGMan workflow: the top one, and those it includes and splices, each loaded once.
//! Knows no statement; resolves names, and refuses files that contain themselves.

use crate::text::line_ends;
use crate::{Place, Report, Source};
use cairn_dag::{Mark, NOWHERE};
use hashbrown::HashMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// How deep files may contain each other.
// Reading is recursive: deep enough for any workflow, and far from the end of the stack.
pub(crate) const DEEPEST: usize = 64;
/// How many times a file may be included, all in all.
// Files that include others twice double with every level: the limit on depth alone would let 2⁶⁴ through. A judgement: some seconds of small
// files, and more than there are in any workflow that was seen.
pub(crate) const MOST_INCLUDES: usize = 100_000;
/// How many bytes all includes may come to, a file counting as often as it is included.
// What is included is read again every time: this bounds the time as the limit of a file bounds the memory.
pub(crate) const MOST_INCLUDED_BYTES: usize = 1 << 30;

/// Fetches the file at a path; on failure says why in the report.
pub(crate) type Load<'l> = dyn FnMut(&Path, &mut Report) -> Option<Source> + 'l;

/// A file by number, in the order of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(usize);

impl FileId {
    pub(crate) const TOP: FileId = FileId(0);
}

pub(crate) struct Files<'l> {
    load: &'l mut Load<'l>,
    all: Vec<File>,
    /// By identity; `None` for a file that could not be loaded.
    by_path: HashMap<PathBuf, Option<FileId>>,
    /// The files being read: each contains the next.
    chain: Vec<FileId>,
}

struct File {
    source: Rc<Source>,
    path: PathBuf,
    /// Marks of this file are `first_mark` + line number.
    first_mark: Mark,
    /// Whether its names are percent-encoded.
    encoded: bool,
}

impl<'l> Files<'l> {
    pub(crate) fn new(top: &Source, load: &'l mut Load<'l>) -> Files<'l> {
        let path = top.path().unwrap_or(Path::new("")).to_owned();
        let mut files = Files {
            load,
            all: Vec::new(),
            by_path: HashMap::new(),
            chain: Vec::new(),
        };
        // A text from standard input has no path that others could name.
        if !path.as_os_str().is_empty() {
            files.by_path.insert(identity(&path), Some(FileId::TOP));
        }
        files.add(top.clone(), path);
        files
    }

    fn add(&mut self, source: Source, path: PathBuf) -> FileId {
        let first_mark = self.all.last().map_or(0, |last| {
            // One more for a last line without its end, and one so that no two files share a mark.
            let lines = line_ends(last.source.text()).saturating_add(2);
            last.first_mark.saturating_add(lines)
        });
        let encoded = super::name::is_encoded(source.text());
        self.all.push(File {
            source: Rc::new(source),
            path,
            first_mark,
            encoded,
        });
        FileId(self.all.len() - 1)
    }

    /// The directory that DAGMan runs in: that of the top file.
    pub(crate) fn top_directory(&self) -> PathBuf {
        self.directory(FileId::TOP).to_owned()
    }

    /// The directory of a file.
    fn directory(&self, file: FileId) -> &Path {
        self.path(file).parent().unwrap_or(Path::new(""))
    }

    /// The files so far, the top one first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.all.len()).map(FileId)
    }

    pub(crate) fn source(&self, file: FileId) -> Rc<Source> {
        Rc::clone(&self.all[file.0].source)
    }

    /// The path a file was asked for by.
    pub(crate) fn path(&self, file: FileId) -> &Path {
        &self.all[file.0].path
    }

    /// Whether the names in the file are percent-encoded.
    pub(crate) fn is_encoded(&self, file: FileId) -> bool {
        self.all[file.0].encoded
    }

    pub(crate) fn mark(&self, file: FileId, line: u32) -> Mark {
        self.all[file.0].first_mark.saturating_add(line)
    }

    /// The file of a mark.
    pub(crate) fn file_of(&self, mark: Mark) -> FileId {
        let behind = self.all.partition_point(|file| file.first_mark < mark);
        FileId(behind.saturating_sub(1))
    }

    pub(crate) fn place_of_mark(&self, mark: Mark, full: bool) -> Place {
        let file = &self.all[self.file_of(mark).0];
        match mark {
            NOWHERE => self.all[0].source.place(),
            _ if full => file.source.place(),
            _ => file.source.place_of_line(mark - file.first_mark),
        }
    }

    /// Finds the file that a statement in `from` names, relative to `directory`, and loads it unless it was loaded
    /// before. Where it is not there, looks beside `from`, as DAGMan does with `-usedagdir`. Reports what goes wrong
    /// at byte `at` of `from`, once for every file.
    pub(crate) fn find(
        &mut self,
        name: &str,
        directory: &Path,
        from: FileId,
        at: usize,
        report: &mut Report,
    ) -> Option<FileId> {
        let wanted = directory.join(name);
        // Also one that could not be loaded: it is reported once.
        if let Some(&known) = self.by_path.get(&identity(&wanted)) {
            return known;
        }
        let beside = self.directory(from).join(name);
        let mut first_failure = None;
        // As DAGMan does without and with `-usedagdir`: which of them is meant no file says.
        for path in [&wanted, &beside] {
            let mut trial = Report::default();
            if let Some(source) = (self.load)(path, &mut trial) {
                let known = self.by_path.get(&identity(path)).copied().flatten();
                let file = known.unwrap_or_else(|| self.add(source, path.clone()));
                self.by_path.insert(identity(path), Some(file));
                self.by_path.insert(identity(&wanted), Some(file));
                return Some(file);
            }
            let why = match trial.first_message() {
                "" => "it cannot be read",
                why => why,
            };
            first_failure.get_or_insert_with(|| why.to_owned());
            // The same file twice would be the same failure twice.
            if beside == wanted {
                break;
            }
        }
        // Remembered, so that a file that is missing is told once, however often it is named.
        self.by_path.insert(identity(&wanted), None);
        let why = first_failure.unwrap_or_default();
        let message = format!("cannot use '{}': {why}", wanted.display());
        let help = "the name is relative to the directory of the top DAGMan file, or to DIR of the splice around it";
        self.error(from, at, message, help, report);
        None
    }

    /// Begins reading a file that a statement in `from` names. Refuses one that is being read already, or that lies
    /// too deep.
    pub(crate) fn enter(
        &mut self,
        file: FileId,
        from: FileId,
        at: usize,
        report: &mut Report,
    ) -> bool {
        if let Some(again) = self.chain.iter().position(|&f| f == file) {
            let chain = self.chain[again..].iter().chain([&file]);
            let names: Vec<&str> = chain.map(|&f| self.all[f.0].source.name()).collect();
            let names = names.join(" -> ");
            let message = format!("files contain each other without end: {names}");
            let help = "remove one of these INCLUDE or SPLICE lines";
            self.error(from, at, message, help, report);
            return false;
        }
        if self.chain.len() >= DEEPEST {
            let message = format!("INCLUDE and SPLICE are nested more than {DEEPEST} deep");
            let help = "does a file contain itself by another name? flatten the nest if not";
            self.error(from, at, message, help, report);
            return false;
        }
        self.chain.push(file);
        true
    }

    /// Ends reading the file entered last.
    pub(crate) fn leave(&mut self) {
        self.chain.pop();
    }

    /// An error at a byte of a file.
    pub(crate) fn error(
        &self,
        file: FileId,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
        report: &mut Report,
    ) {
        let place = self.place_at(file, at, report.errors() >= Report::LIMIT);
        report.error(place, message, help);
    }

    /// A warning at a byte of a file.
    pub(crate) fn warning(
        &self,
        file: FileId,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
        report: &mut Report,
    ) {
        let place = self.place_at(file, at, report.warnings() >= Report::LIMIT);
        report.warning(place, message, help);
    }

    fn place_at(&self, file: FileId, at: usize, full: bool) -> Place {
        match full {
            true => self.all[file.0].source.place(),
            false => self.all[file.0].source.place_at(at),
        }
    }
}

/// The same for all names of one file: resolved on disk where possible, else without `.` and `x/..`.
pub(crate) fn identity(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    // A file that does not exist, or a text that was never on disk: then names are compared as text.
    path.canonicalize().unwrap_or_else(|_| {
        let mut clean = PathBuf::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir
                    if matches!(clean.components().next_back(), Some(Component::Normal(_))) =>
                {
                    clean.pop();
                }
                part => clean.push(part),
            }
        }
        clean
    })
}
