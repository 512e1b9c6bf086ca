//! Families of dags to try things on: blocks, strands, meshes, trees, networks, random dags. Knows no files.

mod blocks;
mod catalogue;
mod composites;
mod dice;
mod draft;
mod meshes;
mod networks;
mod random;
mod strands;
mod trees;

pub use catalogue::{FamilyOptions, FamilyUsage};

use crate::{Dag, TaskId};
use dice::Dice;

/// One dag of a family, or one distribution over such dags.
///
/// Ids are readable: sources before sinks and left to right in blocks, level by level elsewhere.
///
/// ```
/// use cairn_dag::{Family, FamilyOptions};
/// let family = Family::parse("airsn", &["250"], &FamilyOptions::default())?;
/// let dag = family.build(1)?;
/// assert_eq!((dag.len(), dag.sources().count()), (773, 251));
/// # Ok::<(), cairn_dag::FamilyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Family {
    /// W_{s,d}: s sources of d children each; neighbours share one.
    W {
        /// Sources.
        s: u32,
        /// Children of each.
        d: u32,
    },
    /// M_{s,d}: s sinks of d parents each; neighbours share one.
    M {
        /// Sinks.
        s: u32,
        /// Parents of each.
        d: u32,
    },
    /// N_s: source v has the sinks v and v + 1.
    N {
        /// Sources.
        s: u32,
    },
    /// C_s: N_s closed to a cycle.
    C {
        /// Sources.
        s: u32,
    },
    /// Q_s: s sources, s sinks, all arcs.
    Q {
        /// Sources.
        s: u32,
    },
    /// K_{s,t}: s sources, t sinks, all arcs.
    K {
        /// Sources.
        s: u32,
        /// Sinks.
        t: u32,
    },
    /// A strand of W-dags: sources of these outdegrees (each at least 2), neighbours sharing one child.
    WStrand(Vec<u32>),
    /// A strand of M-dags: sinks of these indegrees (each at least 2), neighbours sharing one parent.
    MStrand(Vec<u32>),
    /// A strand of T-dags: outdegrees of sources and indegrees of sinks in turn (all but the first at least 2).
    TStrand(Vec<u32>),
    /// A uniform random tree, oriented as a bipartite dag.
    BipartiteTree {
        /// Tasks.
        tasks: u32,
    },
    /// A random composite of expansive blocks.
    Expansive {
        /// Sources of each block.
        sources: u32,
        /// A source has from 2 to this many children of its own.
        phi: u32,
        /// Blocks.
        blocks: u32,
    },
    /// The evolving mesh.
    Mesh {
        /// Levels.
        levels: u32,
        /// Dimension.
        dim: u32,
    },
    /// The reduction-mesh (pyramid).
    ReductionMesh {
        /// Levels.
        levels: u32,
        /// Dimension.
        dim: u32,
    },
    /// The complete reduction-tree.
    ReductionTree {
        /// Arcs from a leaf to the root.
        height: u32,
        /// Parents of each inner task.
        arity: u32,
    },
    /// The complete out-tree.
    OutTree {
        /// Arcs from the root to a leaf.
        height: u32,
        /// Children of each inner task.
        arity: u32,
    },
    /// The reduction-tree of a full prefix-closed set of words.
    PrefixTree {
        /// Words; all their prefixes belong to the set as well.
        words: Vec<String>,
        /// Letters: the first so many of 0–9, a–z.
        arity: u32,
    },
    /// The FFT dag.
    Fft {
        /// Dimension.
        dimension: u32,
    },
    /// One task, w tasks, one task.
    ForkJoin {
        /// Tasks side by side.
        w: u32,
    },
    /// The fMRI workflow AIRSN.
    Airsn {
        /// Width.
        w: u32,
    },
    /// Random parents on the levels just before.
    Layered {
        /// Levels.
        levels: u32,
        /// Tasks on each.
        width: u32,
        /// Most parents of a task.
        most_parents: u32,
        /// Parents are drawn from so many levels before.
        skip: u32,
    },
    /// A random composite of W, M, N, C, Q and K blocks.
    Composite {
        /// Blocks.
        blocks: u32,
        /// The largest parameter of a block.
        size: u32,
    },
    /// The Erdős–Rényi dag G(n, p).
    ErdosRenyi {
        /// Tasks.
        tasks: u32,
        /// Probability of each arc.
        p: f64,
    },
    /// The dual of another family: every arc reversed.
    Dual(Box<Family>),
    /// Another family with its ids shuffled, so that they tell nothing about the order.
    Shuffled(Box<Family>),
}

/// Why there is no such dag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FamilyError {
    /// No family has this name.
    #[error("there is no family '{0}'")]
    UnknownFamily(String),
    /// Too few or too many arguments.
    #[error("the family '{family}' takes the arguments {usage}, not {given} of them")]
    WrongArguments {
        /// The family.
        family: &'static str,
        /// What it takes.
        usage: &'static str,
        /// How many there were.
        given: usize,
    },
    /// An option that this family does not have.
    #[error("the family '{family}' has no option {option}")]
    ForeignOption {
        /// The family.
        family: &'static str,
        /// The option.
        option: &'static str,
    },
    /// An argument that is no number.
    #[error("'{0}' is no whole number from 0 to 4294967295")]
    BadNumber(String),
    /// A parameter that is too small.
    #[error("{what} must be at least {least}, not {given}")]
    TooSmall {
        /// The parameter.
        what: &'static str,
        /// The least it may be.
        least: u32,
        /// What it is.
        given: u32,
    },
    /// A degree sequence of no degrees.
    #[error("a strand needs at least one degree")]
    NoDegrees,
    /// A degree that is too small.
    #[error("degree {position} of the strand must be at least {least}, not {degree}")]
    BadDegree {
        /// Its place, from 1.
        position: usize,
        /// The degree.
        degree: u32,
        /// The least it may be.
        least: u32,
    },
    /// No probability.
    #[error("'{0}' is no probability: a number from 0 to 1")]
    BadProbability(String),
    /// More parents asked for than there are tasks to draw them from.
    #[error("a task cannot have {most} distinct parents among {width}")]
    TooManyParents {
        /// The most parents asked for.
        most: u32,
        /// Tasks on a level.
        width: u32,
    },
    /// More letters than 0–9 and a–z.
    #[error("there are 36 letters, 0-9 and a-z, not {0}")]
    TooManyLetters(u32),
    /// A letter outside the alphabet.
    #[error(
        "the word '{word}' has the letter '{letter}'; with arity {arity} letters are the first {arity} of 0-9, a-z"
    )]
    BadLetter {
        /// The word.
        word: String,
        /// The letter.
        letter: char,
        /// Letters there are.
        arity: u32,
    },
    /// A word with some continuations, but not all.
    #[error("the words are not full: some continue '{word}', but '{missing}' is missing")]
    NotFull {
        /// The word that is continued.
        word: String,
        /// The continuation that is missing.
        missing: String,
    },
    /// More than 32-bit ids can count.
    #[error("{count} {what} are more than 32-bit ids can count")]
    TooLarge {
        /// Tasks or arcs.
        what: &'static str,
        /// How many.
        count: u128,
    },
    /// More than fits in memory.
    #[error("there is no memory for {tasks} tasks and {arcs} arcs")]
    OutOfMemory {
        /// Tasks.
        tasks: u128,
        /// Arcs.
        arcs: u128,
    },
}

impl Family {
    /// Builds the dag. For a random family the seed chooses it: the same seed gives the same dag on every machine.
    /// Time and space O(tasks + arcs).
    ///
    /// # Errors
    /// Parameters that make no sense or ask for too much: [`FamilyError`] says which.
    pub fn build(&self, seed: u64) -> Result<Dag, FamilyError> {
        self.draw(&mut Dice::new(seed))
    }

    fn draw(&self, dice: &mut Dice) -> Result<Dag, FamilyError> {
        match *self {
            Family::W { s, d } => blocks::w(s, d)?.into_dag(),
            Family::M { s, d } => blocks::m(s, d)?.into_dag(),
            Family::N { s } => blocks::n(s)?.into_dag(),
            Family::C { s } => blocks::c(s)?.into_dag(),
            Family::Q { s } => blocks::q(s)?.into_dag(),
            Family::K { s, t } => blocks::k(s, t)?.into_dag(),
            Family::WStrand(ref degrees) => strands::w(degrees)?.into_dag(),
            Family::MStrand(ref degrees) => strands::m(degrees)?.into_dag(),
            Family::TStrand(ref degrees) => strands::t(degrees)?.into_dag(),
            Family::BipartiteTree { tasks } => composites::bipartite_tree(tasks, dice),
            Family::Expansive {
                sources,
                phi,
                blocks,
            } => composites::expansive(sources, phi, blocks, dice),
            Family::Mesh { levels, dim } => meshes::mesh(levels, dim),
            Family::ReductionMesh { levels, dim } => meshes::reduction_mesh(levels, dim),
            Family::ReductionTree { height, arity } => trees::reduction_tree(height, arity),
            Family::OutTree { height, arity } => trees::out_tree(height, arity),
            Family::PrefixTree { ref words, arity } => trees::prefix_tree(words, arity),
            Family::Fft { dimension } => networks::fft(dimension),
            Family::ForkJoin { w } => networks::fork_join(w),
            Family::Airsn { w } => networks::airsn(w),
            Family::Layered {
                levels,
                width,
                most_parents,
                skip,
            } => random::layered(levels, width, most_parents, skip, dice),
            Family::Composite { blocks, size } => composites::composite(blocks, size, dice),
            Family::ErdosRenyi { tasks, p } => random::erdos_renyi(tasks, p, dice),
            Family::Dual(ref family) => Ok(family.draw(dice)?.dual()),
            Family::Shuffled(ref family) => {
                let dag = family.draw(dice)?;
                let mut tasks: Vec<TaskId> = dag.tasks().collect();
                dice.shuffle(&mut tasks);
                // All tasks in another order: the whole dag, renumbered.
                Ok(dag.induced(&tasks).expect("each task once"))
            }
        }
    }
}
