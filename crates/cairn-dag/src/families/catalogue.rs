//! Families as words: names, arguments, options, help. Knows no command line.

use super::{Family, FamilyError};

/// Options beside the arguments. What is `None` or `false` was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyOptions {
    /// Children (or parents) of each inner task of a tree; 2 unless given.
    pub arity: Option<u32>,
    /// Dimension of a mesh; 2 unless given.
    pub dim: Option<u32>,
    /// How many levels before a task its parents may lie; 1 unless given.
    pub skip: Option<u32>,
    /// The largest parameter of a random block; 4 unless given.
    pub size: Option<u32>,
    /// How many random blocks to compose; 1 unless given.
    pub blocks: Option<u32>,
    /// Reverse every arc. For every family.
    pub dual: bool,
    /// Shuffle the ids. For every family.
    pub shuffle: bool,
}

impl FamilyOptions {
    /// Those given that not every family has.
    fn special(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("arity", self.arity),
            ("dim", self.dim),
            ("skip", self.skip),
            ("size", self.size),
            ("blocks", self.blocks),
        ];
        let given = all.into_iter().filter(|(_, value)| value.is_some());
        given.map(|(name, _)| name)
    }
}

/// How to ask for a family.
#[derive(Debug)]
pub struct FamilyUsage {
    /// Its name.
    pub name: &'static str,
    /// Its arguments, such as `S D`.
    pub arguments: &'static str,
    /// The options it has beside `dual` and `shuffle`.
    pub options: &'static [&'static str],
    /// What it is, in a line.
    pub about: &'static str,
    parse: fn(&Words) -> Result<Family, FamilyError>,
}

/// The table of families: a name, its arguments, its options, what it is; and the family that words make.
// A table, so that a family is a row and what is alike for all of them stands here once.
macro_rules! catalogue {
    ($($name:literal, $arguments:literal, $options:expr, $about:literal, |$words:ident| $family:expr;)*) => {
        &[$(FamilyUsage {
            name: $name,
            arguments: $arguments,
            options: &$options,
            about: $about,
            parse: |$words| Ok($family),
        }),*]
    };
}

/// All families, in the order of the help text.
const CATALOGUE: &[FamilyUsage] = catalogue! {
    "w", "S D", [], "W-dag: S sources of D children each, neighbours sharing one",
        |words| Family::W { s: words.number(0)?, d: words.number(1)? };
    "m", "S D", [], "M-dag: S sinks of D parents each, neighbours sharing one",
        |words| Family::M { s: words.number(0)?, d: words.number(1)? };
    "n", "S", [], "N-dag: source v has the sinks v and v+1",
        |words| Family::N { s: words.number(0)? };
    "c", "S", [], "cycle-dag: the N-dag closed to a cycle",
        |words| Family::C { s: words.number(0)? };
    "q", "S", [], "clique-dag: S sources, S sinks, all arcs",
        |words| Family::Q { s: words.number(0)? };
    "k", "S T", [], "complete bipartite: S sources, T sinks, all arcs",
        |words| Family::K { s: words.number(0)?, t: words.number(1)? };
    "wstrand", "D,D,...", [], "strand of W-dags: sources of these outdegrees",
        |words| Family::WStrand(words.numbers(0)?);
    "mstrand", "D,D,...", [], "strand of M-dags: sinks of these indegrees",
        |words| Family::MStrand(words.numbers(0)?);
    "tstrand", "D,D,...", [], "strand of T-dags: outdegrees of sources and indegrees of sinks in turn",
        |words| Family::TStrand(words.numbers(0)?);
    "bitree", "N", [], "random bipartite tree of N tasks",
        |words| Family::BipartiteTree { tasks: words.number(0)? };
    "expansive", "SOURCES PHI", ["blocks"],
        "random expansive dag: each source has 2 to PHI children of its own, at most as many shared",
        |words| Family::Expansive {
            sources: words.number(0)?,
            phi: words.number(1)?,
            blocks: words.options.blocks.unwrap_or(1),
        };
    "mesh", "LEVELS", ["dim"], "evolving mesh: from one source outward",
        |words| Family::Mesh { levels: words.number(0)?, dim: words.options.dim.unwrap_or(2) };
    "rmesh", "LEVELS", ["dim"], "reduction-mesh (pyramid): inward to one sink",
        |words| Family::ReductionMesh { levels: words.number(0)?, dim: words.options.dim.unwrap_or(2) };
    "tree", "HEIGHT", ["arity"], "complete reduction-tree: from the leaves to one sink",
        |words| Family::ReductionTree { height: words.number(0)?, arity: words.options.arity.unwrap_or(2) };
    "outtree", "HEIGHT", ["arity"], "complete out-tree: from one source to the leaves",
        |words| Family::OutTree { height: words.number(0)?, arity: words.options.arity.unwrap_or(2) };
    "prefixtree", "WORD,WORD,...", ["arity"], "reduction-tree of these words and all their prefixes, such as 00,01,1",
        |words| Family::PrefixTree {
            words: words.list(0).map(str::to_owned).collect(),
            arity: words.options.arity.unwrap_or(2),
        };
    "fft", "D", [], "FFT dag of 2^D inputs",
        |words| Family::Fft { dimension: words.number(0)? };
    "airsn", "W", [], "the fMRI workflow AIRSN of width W: 3W+23 tasks",
        |words| Family::Airsn { w: words.number(0)? };
    "forkjoin", "W", [], "one task, W tasks, one task",
        |words| Family::ForkJoin { w: words.number(0)? };
    "layered", "LEVELS WIDTH MAXPARENTS", ["skip"],
        "random layers: each task has 1 to MAXPARENTS parents on the level before (or the SKIP levels before)",
        |words| Family::Layered {
            levels: words.number(0)?,
            width: words.number(1)?,
            most_parents: words.number(2)?,
            skip: words.options.skip.unwrap_or(1),
        };
    "composite", "BLOCKS", ["size"], "random composite of W, M, N, C, Q and K blocks",
        // Four: chosen by eye.
        |words| Family::Composite { blocks: words.number(0)?, size: words.options.size.unwrap_or(4) };
    "random", "N P", [], "random dag G(n,p): N tasks, each pair joined with probability P",
        |words| Family::ErdosRenyi { tasks: words.number(0)?, p: words.probability(1)? };
};

impl Family {
    /// All families, with what they take: for parsing, for help texts.
    pub fn catalogue() -> &'static [FamilyUsage] {
        CATALOGUE
    }

    /// The family called `name` with these arguments and options.
    ///
    /// ```
    /// use cairn_dag::{Family, FamilyError, FamilyOptions};
    /// let options = FamilyOptions { dim: Some(3), ..Default::default() };
    /// assert_eq!(Family::parse("mesh", &["5"], &options), Ok(Family::Mesh { levels: 5, dim: 3 }));
    /// let wrong = Family::parse("fft", &["5"], &options);
    /// assert_eq!(wrong, Err(FamilyError::ForeignOption { family: "fft", option: "dim" }));
    /// ```
    ///
    /// # Errors
    /// An unknown name, a wrong number of arguments, an argument that is no number, an option of another family.
    /// Whether the numbers make sense together, [`Family::build`] tells.
    pub fn parse(
        name: &str,
        arguments: &[&str],
        options: &FamilyOptions,
    ) -> Result<Family, FamilyError> {
        let usage = (CATALOGUE.iter())
            .find(|usage| usage.name == name)
            .ok_or_else(|| FamilyError::UnknownFamily(name.to_owned()))?;
        let family = usage.name;
        if arguments.len() != usage.arguments.split(' ').count() {
            return Err(FamilyError::WrongArguments {
                family,
                usage: usage.arguments,
                given: arguments.len(),
            });
        }
        let mut special = options.special();
        if let Some(option) = special.find(|option| !usage.options.contains(option)) {
            return Err(FamilyError::ForeignOption { family, option });
        }
        let mut family = (usage.parse)(&Words { arguments, options })?;
        if options.dual {
            family = Family::Dual(Box::new(family));
        }
        if options.shuffle {
            family = Family::Shuffled(Box::new(family));
        }
        Ok(family)
    }
}

/// What was given. There are as many arguments as the usage says.
struct Words<'a> {
    arguments: &'a [&'a str],
    options: &'a FamilyOptions,
}

impl Words<'_> {
    fn number(&self, at: usize) -> Result<u32, FamilyError> {
        number(self.arguments[at])
    }

    /// The items of a list with commas.
    fn list(&self, at: usize) -> impl Iterator<Item = &str> {
        self.arguments[at].split(',').map(str::trim)
    }

    fn numbers(&self, at: usize) -> Result<Vec<u32>, FamilyError> {
        self.list(at).map(number).collect()
    }

    fn probability(&self, at: usize) -> Result<f64, FamilyError> {
        let text = self.arguments[at];
        let p = text.trim().parse::<f64>().ok();
        p.filter(|p| (0.0..=1.0).contains(p))
            .ok_or_else(|| FamilyError::BadProbability(text.to_owned()))
    }
}

fn number(text: &str) -> Result<u32, FamilyError> {
    let number = text.trim().parse();
    number.map_err(|_| FamilyError::BadNumber(text.to_owned()))
}
