//! The formats there are, by name and by extension. Knows nothing of their syntax.

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

    /// The name used by `--format` and in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Format::Dagman => "dagman",
            Format::WfFormat => "wfformat",
            Format::Dax => "dax",
            Format::PegasusYaml => "pegasus-yaml",
            Format::Dot => "dot",
            Format::Makeflow => "makeflow",
            Format::Stg => "stg",
            Format::Galaxy => "galaxy",
            Format::Taskcluster => "taskcluster",
            Format::TaskEdge => "taskedge",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::FlowToml => "toml",
            Format::FlowJson => "json",
            Format::FlowJsonLines => "jsonl",
        }
    }

    /// The format called `name`.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}
