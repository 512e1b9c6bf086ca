//! The formats there are, by name and by extension. Knows nothing of their syntax.

use crate::packing::Packing;
use std::path::Path;

/// A file format that can be read, and perhaps written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// HTCondor DAGMan.
    Dagman,
    /// WfCommons WfFormat JSON, 1.0 to 1.6.
    WfFormat,
    /// Pegasus DAX (XML).
    Dax,
    /// Pegasus 5 workflow (YAML).
    PegasusYaml,
    /// Graphviz DOT.
    Dot,
    /// CCTools Makeflow.
    Makeflow,
    /// Standard Task Graph Set.
    Stg,
    /// Galaxy workflow.
    Galaxy,
    /// Taskcluster task graph (JSON).
    Taskcluster,
    /// TASK and EDGE lines.
    TaskEdge,
    /// One arc a line, comma-separated.
    Csv,
    /// One arc a line, tab-separated.
    Tsv,
    /// Cairn's own flow file.
    FlowToml,
    /// Cairn's own flow file as one JSON object.
    FlowJson,
    /// Cairn's own flow file, one JSON object a task, one task a line.
    FlowJsonLines,
}

/// What can be done with files of a format, beside reading them, and what holds for what stands in them.
struct Uses {
    /// Flows can be written so.
    write: bool,
    /// They can hold the priorities of tasks.
    priorities: bool,
    /// Files that their tasks name are meant to be where the workflow is run.
    files_here: bool,
    /// They tell of a run that was, not of one that is to be.
    record: bool,
}

impl Uses {
    const READ: Uses = Uses::new(false, false);
    const WRITE: Uses = Uses::new(true, false);
    const PRIORITIES: Uses = Uses::new(false, true);
    const ALL: Uses = Uses::new(true, true);

    const fn new(write: bool, priorities: bool) -> Uses {
        Uses {
            write,
            priorities,
            files_here: false,
            record: false,
        }
    }

    const fn with_files_here(self) -> Uses {
        Uses {
            files_here: true,
            ..self
        }
    }

    const fn of_a_record(self) -> Uses {
        Uses {
            record: true,
            ..self
        }
    }
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 15] = [
        Format::Dagman,
        Format::WfFormat,
        Format::Dax,
        Format::PegasusYaml,
        Format::Dot,
        Format::Makeflow,
        Format::Stg,
        Format::Galaxy,
        Format::Taskcluster,
        Format::TaskEdge,
        Format::Csv,
        Format::Tsv,
        Format::FlowToml,
        Format::FlowJson,
        Format::FlowJsonLines,
    ];

    /// What there is to know of it: the name used by `--format` and in JSON output, the extensions of file names that promise it,
    /// and what can be done with it.
    fn about(self) -> (&'static str, &'static [&'static str], Uses) {
        // One row a format, and a `match`: whoever adds one is asked for all of it at once by the compiler.
        match self {
            Format::Dagman => ("dagman", &["dag", "dagman"], Uses::ALL),
            Format::WfFormat => ("wfformat", &[], Uses::ALL.of_a_record()),
            Format::Dax => ("dax", &["dax", "xml"], Uses::PRIORITIES),
            Format::PegasusYaml => ("pegasus-yaml", &["yml", "yaml"], Uses::PRIORITIES),
            Format::Dot => ("dot", &["dot", "gv"], Uses::ALL),
            Format::Makeflow => (
                "makeflow",
                &["makeflow", "mf"],
                Uses::READ.with_files_here(),
            ),
            Format::Stg => ("stg", &["stg"], Uses::READ),
            Format::Galaxy => ("galaxy", &["ga"], Uses::READ),
            Format::Taskcluster => ("taskcluster", &[], Uses::READ),
            Format::TaskEdge => ("taskedge", &[], Uses::READ),
            Format::Csv => ("csv", &["csv"], Uses::WRITE),
            Format::Tsv => ("tsv", &["tsv"], Uses::WRITE),
            Format::FlowToml => ("toml", &["toml"], Uses::ALL.with_files_here()),
            Format::FlowJson => ("json", &["json"], Uses::ALL.with_files_here()),
            Format::FlowJsonLines => ("jsonl", &["jsonl", "ndjson"], Uses::ALL.with_files_here()),
        }
    }

    /// The name used by `--format` and in JSON output.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// The format called `name`.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The format that a file name promises, looking through `.gz` and `.zst`. A `.json` is taken for the native
    /// flow file and a `.dag` for DAGMan; what such a file really holds, [`crate::detect()`] says.
    ///
    /// ```
    /// use cairn_formats::Format;
    /// assert_eq!(Format::from_extension("a/b.dag".as_ref()), Some(Format::Dagman));
    /// assert_eq!(Format::from_extension("b.dot.zst".as_ref()), Some(Format::Dot));
    /// assert_eq!(Format::from_extension("README".as_ref()), None);
    /// ```
    pub fn from_extension(path: &Path) -> Option<Format> {
        let (_, name) = Packing::of_name(path.file_name()?.to_str()?);
        let extension = Path::new(name).extension()?.to_str()?;
        let is = |known: &&str| known.eq_ignore_ascii_case(extension);
        // No two formats have an extension in common.
        (Format::ALL.into_iter()).find(|format| format.about().1.iter().any(is))
    }

    /// Whether flows can be written in this format, too.
    pub fn can_write(self) -> bool {
        self.about().2.write
    }

    /// Whether files of this format can hold the priorities of tasks.
    pub fn holds_priorities(self) -> bool {
        self.about().2.priorities
    }

    /// Whether files that tasks name are meant to be here. Those of records of runs and of Pegasus are names of things that were,
    /// or are, elsewhere.
    pub fn names_files_here(self) -> bool {
        self.about().2.files_here
    }

    /// Whether a file of this format tells of a run that was: what its tasks took, not what they may take.
    pub fn is_record(self) -> bool {
        self.about().2.record
    }

    /// The names of the formats that pass `test`, for messages.
    pub(crate) fn names(test: impl Fn(Format) -> bool) -> String {
        let formats = Format::ALL.into_iter().filter(|&f| test(f));
        formats.map(Format::name).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
        assert_eq!(Format::from_name("nonsense"), None);
    }

    #[test]
    fn extensions_in_any_case_and_packed() {
        for (name, format) in [
            ("X.JSON", Some(Format::FlowJson)),
            ("x.json.gz", Some(Format::FlowJson)),
            ("x.NDJSON.ZST", Some(Format::FlowJsonLines)),
            ("x.y.gv", Some(Format::Dot)),
            ("x.gz", None),
            (".gz", None),
            ("-", None),
        ] {
            assert_eq!(Format::from_extension(Path::new(name)), format, "{name}");
        }
    }
}
