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

/// All families, in the order of the help text.
const CATALOGUE: &[FamilyUsage] = &[
    FamilyUsage {
        name: "w",
        arguments: "S D",
        options: &[],
        about: "W-dag: S sources of D children each, neighbours sharing one",
        parse: |words| {
            Ok(Family::W {
                s: words.number(0)?,
                d: words.number(1)?,
            })
        },
    },
    FamilyUsage {
        name: "m",
        arguments: "S D",
        options: &[],
        about: "M-dag: S sinks of D parents each, neighbours sharing one",
        parse: |words| {
            Ok(Family::M {
                s: words.number(0)?,
                d: words.number(1)?,
            })
        },
    },
    FamilyUsage {
        name: "n",
        arguments: "S",
        options: &[],
        about: "N-dag: source v has the sinks v and v+1",
        parse: |words| {
            Ok(Family::N {
                s: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "c",
        arguments: "S",
        options: &[],
        about: "cycle-dag: the N-dag closed to a cycle",
        parse: |words| {
            Ok(Family::C {
                s: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "q",
        arguments: "S",
        options: &[],
        about: "clique-dag: S sources, S sinks, all arcs",
        parse: |words| {
            Ok(Family::Q {
                s: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "k",
        arguments: "S T",
        options: &[],
        about: "complete bipartite: S sources, T sinks, all arcs",
        parse: |words| {
            Ok(Family::K {
                s: words.number(0)?,
                t: words.number(1)?,
            })
        },
    },
    FamilyUsage {
        name: "wstrand",
        arguments: "D,D,...",
        options: &[],
        about: "strand of W-dags: sources of these outdegrees",
        parse: |words| Ok(Family::WStrand(words.numbers(0)?)),
    },
    FamilyUsage {
        name: "mstrand",
        arguments: "D,D,...",
        options: &[],
        about: "strand of M-dags: sinks of these indegrees",
        parse: |words| Ok(Family::MStrand(words.numbers(0)?)),
    },
    FamilyUsage {
        name: "tstrand",
        arguments: "D,D,...",
        options: &[],
        about: "strand of T-dags: outdegrees of sources and indegrees of sinks in turn",
        parse: |words| Ok(Family::TStrand(words.numbers(0)?)),
    },
    FamilyUsage {
        name: "bitree",
        arguments: "N",
        options: &[],
        about: "random bipartite tree of N tasks",
        parse: |words| {
            Ok(Family::BipartiteTree {
                tasks: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "expansive",
        arguments: "SOURCES PHI",
        options: &["blocks"],
        about: "random expansive dag: each source has 2 to PHI children of its own, at most as many shared",
        parse: |words| {
            Ok(Family::Expansive {
                sources: words.number(0)?,
                phi: words.number(1)?,
                blocks: words.options.blocks.unwrap_or(1),
            })
        },
    },
    FamilyUsage {
        name: "mesh",
        arguments: "LEVELS",
        options: &["dim"],
        about: "evolving mesh: from one source outward",
        parse: |words| {
            Ok(Family::Mesh {
                levels: words.number(0)?,
                dim: words.options.dim.unwrap_or(2),
            })
        },
    },
    FamilyUsage {
        name: "rmesh",
        arguments: "LEVELS",
        options: &["dim"],
        about: "reduction-mesh (pyramid): inward to one sink",
        parse: |words| {
            Ok(Family::ReductionMesh {
                levels: words.number(0)?,
                dim: words.options.dim.unwrap_or(2),
            })
        },
    },
    FamilyUsage {
        name: "tree",
        arguments: "HEIGHT",
        options: &["arity"],
        about: "complete reduction-tree: from the leaves to one sink",
        parse: |words| {
            Ok(Family::ReductionTree {
                height: words.number(0)?,
                arity: words.options.arity.unwrap_or(2),
            })
        },
    },
    FamilyUsage {
        name: "outtree",
        arguments: "HEIGHT",
        options: &["arity"],
        about: "complete out-tree: from one source to the leaves",
        parse: |words| {
            Ok(Family::OutTree {
                height: words.number(0)?,
                arity: words.options.arity.unwrap_or(2),
            })
        },
    },
    FamilyUsage {
        name: "prefixtree",
        arguments: "WORD,WORD,...",
        options: &["arity"],
        about: "reduction-tree of these words and all their prefixes, such as 00,01,1",
        parse: |words| {
            Ok(Family::PrefixTree {
                words: words.list(0).map(str::to_owned).collect(),
                arity: words.options.arity.unwrap_or(2),
            })
        },
    },
    FamilyUsage {
        name: "fft",
        arguments: "D",
        options: &[],
        about: "FFT dag of 2^D inputs",
        parse: |words| {
            Ok(Family::Fft {
                dimension: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "airsn",
        arguments: "W",
        options: &[],
        about: "the fMRI workflow AIRSN of width W: 3W+23 tasks",
        parse: |words| {
            Ok(Family::Airsn {
                w: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "forkjoin",
        arguments: "W",
        options: &[],
        about: "one task, W tasks, one task",
        parse: |words| {
            Ok(Family::ForkJoin {
                w: words.number(0)?,
            })
        },
    },
    FamilyUsage {
        name: "layered",
        arguments: "LEVELS WIDTH MAXPARENTS",
        options: &["skip"],
        about: "random layers: each task has 1 to MAXPARENTS parents on the level before (or the SKIP levels before)",
        parse: |words| {
            Ok(Family::Layered {
                levels: words.number(0)?,
                width: words.number(1)?,
                most_parents: words.number(2)?,
                skip: words.options.skip.unwrap_or(1),
            })
        },
    },
    FamilyUsage {
        name: "composite",
        arguments: "BLOCKS",
        options: &["size"],
        about: "random composite of W, M, N, C, Q and K blocks",
        parse: |words| {
            Ok(Family::Composite {
                blocks: words.number(0)?,
                size: words.options.size.unwrap_or(4),
            })
        },
    },
    FamilyUsage {
        name: "random",
        arguments: "N P",
        options: &[],
        about: "random dag G(n,p): N tasks, each pair joined with probability P",
        parse: |words| {
            Ok(Family::ErdosRenyi {
                tasks: words.number(0)?,
                p: words.probability(1)?,
            })
        },
    },
];

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
