//! An IC-optimal schedule of a composite dag with its proof, or the first reason why the theory gives none. Knows no
//! other way to schedule.

use crate::merge::largest_merge;
use crate::ranks::{Class, ClassId, NoChain, Rank, SumProof, chain};
use crate::split::BlockId;
use crate::survey::{Solution, Survey, SurveyEffort};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Rows, Work, narrow, places, wide};

/// An IC-optimal schedule and why it is one.
#[derive(Clone, Debug)]
pub struct Linearization<'a> {
    /// Every task once, each after its parents: as many tasks are eligible at every step as can be.
    pub order: Vec<TaskId>,
    /// The evidence.
    pub proof: Proof<'a>,
}

/// Why a linearization is IC-optimal.
///
/// Every block has an IC-optimal order of its own. The ranks form a chain under ▷ in which no arc of the super-dag
/// leads backwards. So to execute rank after rank, and all sinks of the dag last, is possible and renders at every
/// step as many in-copies eligible as any choice of sources could, even one that disregards the super-dag
/// (\[MRY06\], Theorems 4 and 7; the same argument holds with sums of blocks in place of blocks).
#[derive(Clone, Debug)]
pub struct Proof<'a> {
    /// The blocks: kinds, orders, profiles.
    pub survey: Survey<'a>,
    /// The ranks, naming classes of the survey.
    pub ranks: Vec<Rank>,
    /// The blocks of each rank, each after the blocks that feed it. Blocks of one merged rank are interleaved in the
    /// schedule.
    pub blocks: Rows<BlockId>,
}

/// The theorem that carries a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Theorem {
    /// The dag is a ▷-linear composition (\[MRY06\], Theorems 4 and 7).
    Linear,
    /// The dag is a sum of strands and of isolated tasks (\[CMR07\], Theorem 4.1).
    Strands,
    /// Some blocks are incomparable but were merged: a ▷-linear composition of sums, each of which admits an
    /// IC-optimal schedule.
    Merge,
}

impl Proof<'_> {
    /// The theorem that carries this proof.
    pub fn theorem(&self) -> Theorem {
        let merged = |rank: &&Rank| matches!(rank, Rank::Merged { .. });
        match &self.ranks[..] {
            [
                Rank::Merged {
                    because: SumProof::Strands,
                    ..
                },
            ] if is_sum(&self.survey) => Theorem::Strands,
            ranks if ranks.iter().any(|r| merged(&r)) => Theorem::Merge,
            _ => Theorem::Linear,
        }
    }

    /// The blocks of a rank.
    pub fn blocks_of(&self, rank: usize) -> &[BlockId] {
        self.blocks.row(rank)
    }
}

/// The first thing that stands in the way of a linearization. Only sufficient conditions fail here: except where
/// [`Failure::proves_none`] says so, the dag may still have an IC-optimal schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The dag is not composite, even without its shortcut arcs; or, where it was time to stop, with them.
    #[error("not composite: {} blocks feed each other in a cycle, by the tasks {tasks:?}", tasks.len())]
    NotComposite {
        /// A cycle of the super-dag: the tasks that lead from block to block.
        tasks: Vec<TaskId>,
    },
    /// A block admits no IC-optimal order of its own, proved.
    #[error("block {block:?} admits no IC-optimal order")]
    NoOrder {
        /// The block.
        block: BlockId,
    },
    /// A block is too hard for exact methods within the effort.
    #[error("block {block:?} is too hard: {sources} sources, {sinks} sinks")]
    TooHard {
        /// The block.
        block: BlockId,
        /// Its sources.
        sources: usize,
        /// Its sinks.
        sinks: usize,
    },
    /// Two blocks are incomparable under ▷, and even their sum admits no IC-optimal schedule.
    #[error(
        "blocks {first:?} and {second:?} are incomparable, and their sum admits no IC-optimal schedule"
    )]
    Incomparable {
        /// One block.
        first: BlockId,
        /// The other.
        second: BlockId,
    },
    /// A test of ▷ or of a sum would take more work than the effort allows.
    #[error("▷ test too large between blocks {first:?} and {second:?}")]
    TestTooLarge {
        /// One block.
        first: BlockId,
        /// The other.
        second: BlockId,
    },
    /// A block feeds one that must come before it under ▷.
    #[error(
        "block {from:?} feeds block {to:?} by task {by:?}, but {to:?} has priority over {from:?}"
    )]
    AgainstRank {
        /// The block that feeds.
        from: BlockId,
        /// The block fed, of an earlier rank.
        to: BlockId,
        /// A task that is a sink of the one and a source of the other.
        by: TaskId,
    },
    /// Two incomparable blocks must be merged, but one feeds the other and the merge would execute a task too early.
    #[error(
        "incomparable blocks {from:?} and {to:?} must be merged, but task {by:?} leads from one to the other"
    )]
    AgainstMerge {
        /// The block that feeds.
        from: BlockId,
        /// The block fed.
        to: BlockId,
        /// A task that is a sink of the one and a source of the other.
        by: TaskId,
    },
}

/// Why there is no linearization, with all that was found on the way.
#[derive(Clone, Debug)]
pub struct Failure<'a> {
    /// The first obstacle.
    pub obstacle: Obstacle,
    /// The blocks.
    pub survey: Survey<'a>,
}

impl Failure<'_> {
    /// Whether the obstacle proves that no IC-optimal schedule exists at all: the dag is a sum of blocks, one of
    /// which, or two of which together, admit none.
    pub fn proves_none(&self) -> bool {
        let fatal = matches!(
            self.obstacle,
            Obstacle::NoOrder { .. } | Obstacle::Incomparable { .. }
        );
        fatal && is_sum(&self.survey)
    }
}

/// Linearizes a dag: steps of \[MRY06\], §5, corrected and made near-linear.
///
/// 1. Blocks and super-dag; if that is cyclic, those of the skeleton.
/// 2. An IC-optimal order and profile of each block.
/// 3. Classes of equal profile, sorted into a chain of ranks under ▷, incomparable ones merged ([`chain`]).
/// 4. No arc of the super-dag may lead from a later rank to an earlier one.
/// 5. Blocks in topological order, stably sorted by rank; then the sinks of the dag, isolated tasks among them.
///
/// Time near-linear in tasks plus arcs beside the skeleton and what [`SurveyEffort`] allows, or until `work` says stop: then
/// shortcut arcs are left in, blocks count as too hard, and tests of ▷ as too large.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_theory::linearize::{linearize, Theorem};
/// use cairn_theory::{Work, survey::SurveyEffort};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let found = linearize(&diamond, &SurveyEffort::default(), &mut Work::unlimited()).unwrap();
/// assert_eq!(found.order.len(), 4);
/// assert_eq!(found.proof.theorem(), Theorem::Linear);
/// ```
///
/// # Errors
/// The first [`Obstacle`], with the blocks.
pub fn linearize<'a>(
    dag: &'a Dag,
    effort: &SurveyEffort,
    work: &mut Work<'_>,
) -> Result<Linearization<'a>, Box<Failure<'a>>> {
    let survey = Survey::new(dag, effort, work);
    match plan(&survey, &mut work.part(effort.work)) {
        Ok((order, ranks, blocks)) => Ok(Linearization {
            order,
            proof: Proof {
                survey,
                ranks,
                blocks,
            },
        }),
        Err(obstacle) => Err(Box::new(Failure { obstacle, survey })),
    }
}

/// The order, with ranks and blocks as in [`Proof`].
type Planned = (Vec<TaskId>, Vec<Rank>, Rows<BlockId>);

fn plan(survey: &Survey<'_>, work: &mut Work<'_>) -> Result<Planned, Obstacle> {
    if let Some(tasks) = survey.blocks().cycle() {
        return Err(Obstacle::NotComposite { tasks });
    }
    let class_of = classes_of_blocks(survey)?;
    let ranks = ranks(survey, &class_of, work)?;
    let rank_of = rank_of_blocks(survey, &class_of, &ranks);
    let inside_merge = arcs_against_rank(survey, &rank_of, &ranks)?;
    let blocks = sort_blocks(survey, &rank_of, ranks.len());
    // Whether arcs inside a merged rank are kept shows only in the order itself: the merge interleaves blocks.
    let order = execute(survey, &class_of, &ranks, &blocks);
    check_inside_merge(survey, &order, &inside_merge)?;
    Ok((order, ranks, blocks))
}

/// The class of each block, if each has an IC-optimal order.
fn classes_of_blocks(survey: &Survey<'_>) -> Result<Vec<ClassId>, Obstacle> {
    let class = |block: BlockId| match survey.solution(block) {
        Solution::Optimal(class) => Ok(class),
        Solution::NoneExists(_) => Err(Obstacle::NoOrder { block }),
        Solution::Undecided(_) | Solution::TooHard => Err(Obstacle::TooHard {
            block,
            sources: survey.blocks().sources(block).len(),
            sinks: survey.blocks().sinks(block).len(),
        }),
    };
    survey.blocks().blocks().map(class).collect()
}

fn ranks(
    survey: &Survey<'_>,
    class_of: &[ClassId],
    work: &mut Work<'_>,
) -> Result<Vec<Rank>, Obstacle> {
    let classes: Vec<Class<'_>> = (survey.classes().iter())
        .map(|class| Class {
            profile: &class.profile,
            copies: class.copies,
            kind: Some(&survey.kinds()[class.kind.index()]),
            strands: class.strands,
        })
        .collect();
    // All sums of strands admit: no test of ▷ is needed, whatever their number. With one class alone a level says
    // more.
    if classes.len() > 1 && classes.iter().all(|c| c.strands) && is_sum(survey) {
        let all = (0..classes.len()).map(ClassId::new).collect();
        return Ok(vec![Rank::Merged {
            classes: all,
            because: SumProof::Strands,
        }]);
    }
    chain(&classes, work).map_err(|none| {
        // An example of each class; of the same class twice, two examples.
        let (a, b) = match none {
            NoChain::NoSum(a, b) | NoChain::TooLarge(a, b) => (a, b),
        };
        let first = survey.classes()[a.index()].first;
        // `first` is the first block of its class, so another one of it comes later.
        let later = survey.blocks().blocks().skip(first.index() + 1);
        let second = match a == b {
            true => later
                .into_iter()
                .find(|c| class_of[c.index()] == b)
                .unwrap_or(first),
            false => survey.classes()[b.index()].first,
        };
        match none {
            NoChain::NoSum(..) => Obstacle::Incomparable { first, second },
            NoChain::TooLarge(..) => Obstacle::TestTooLarge { first, second },
        }
    })
}

fn rank_of_blocks(survey: &Survey<'_>, class_of: &[ClassId], ranks: &[Rank]) -> Vec<u32> {
    let mut rank_of_class = vec![0; survey.classes().len()];
    for (r, rank) in ranks.iter().enumerate() {
        let (Rank::Level(classes) | Rank::Merged { classes, .. }) = rank;
        for &class in classes {
            rank_of_class[class.index()] = narrow(r);
        }
    }
    class_of.iter().map(|c| rank_of_class[c.index()]).collect()
}

/// An arc of the super-dag between two blocks of one merged rank: from where, to where, by which task.
type InsideMerge = (BlockId, BlockId, TaskId);

/// Refuses arcs that lead to an earlier rank, and lists those inside a merged rank: they need a closer look.
fn arcs_against_rank(
    survey: &Survey<'_>,
    rank_of: &[u32],
    ranks: &[Rank],
) -> Result<Vec<InsideMerge>, Obstacle> {
    let mut inside = Vec::new();
    for from in survey.blocks().blocks() {
        let rank = rank_of[from.index()];
        for (to, by) in survey.blocks().super_arcs(from) {
            if rank_of[to.index()] < rank {
                return Err(Obstacle::AgainstRank { from, to, by });
            }
            // Inside a level any order will do, hence the topological one; inside a merge the order is fixed.
            if rank_of[to.index()] == rank && matches!(ranks[wide(rank)], Rank::Merged { .. }) {
                inside.push((from, to, by));
            }
        }
    }
    Ok(inside)
}

/// The blocks in topological order, stably sorted by rank.
fn sort_blocks(survey: &Survey<'_>, rank_of: &[u32], ranks: usize) -> Rows<BlockId> {
    let in_order = survey.blocks().topological_order().iter();
    Rows::by_row(
        ranks,
        in_order.map(|&block| (rank_of[block.index()], block)),
    )
}

/// The schedule: rank after rank, then the sinks of the dag.
fn execute(
    survey: &Survey<'_>,
    class_of: &[ClassId],
    ranks: &[Rank],
    blocks: &Rows<BlockId>,
) -> Vec<TaskId> {
    let mut order = Vec::with_capacity(survey.dag().len());
    for (rank, members) in ranks.iter().zip(blocks.iter()) {
        match rank {
            Rank::Level(_) => members
                .iter()
                .for_each(|&block| order.extend(survey.order(block))),
            Rank::Merged { classes, .. } => {
                merge_blocks(survey, class_of, classes, members, &mut order)
            }
        }
    }
    // Last: to execute a sink renders nothing eligible.
    order.extend(survey.dag().sinks());
    order
}

fn merge_blocks(
    survey: &Survey<'_>,
    class_of: &[ClassId],
    classes: &[ClassId],
    members: &[BlockId],
    order: &mut Vec<TaskId>,
) {
    let profiles: Vec<&[u32]> = classes
        .iter()
        .map(|c| &*survey.classes()[c.index()].profile)
        .collect();
    let mut place = vec![0; survey.classes().len()];
    for (class, i) in classes.iter().zip(0..) {
        place[class.index()] = i;
    }
    let units: Vec<u32> = members
        .iter()
        .map(|b| place[class_of[b.index()].index()])
        .collect();
    let mut taken = vec![0usize; members.len()];
    // Members are in topological order, and of equally good ones the merge takes the first: so one that feeds an equal one
    // stays ahead of it.
    for unit in largest_merge(&profiles, &units) {
        let unit = wide(unit);
        order.push(survey.order(members[unit])[taken[unit]]);
        taken[unit] += 1;
    }
}

/// Whether the merges execute every task that leads from one of their blocks to another after its parents.
fn check_inside_merge(
    survey: &Survey<'_>,
    order: &[TaskId],
    inside: &[InsideMerge],
) -> Result<(), Obstacle> {
    // By far the most dags merge nothing, or only blocks that do not feed each other.
    if inside.is_empty() {
        return Ok(());
    }
    let position = places(order);
    for &(from, to, by) in inside {
        // The parents of `by` are sources of `from`; all arcs that lead to other ranks were settled before.
        let early = |p: &TaskId| position[p.index()] > position[by.index()];
        if survey.dag().parents(by).iter().any(early) {
            return Err(Obstacle::AgainstMerge { from, to, by });
        }
    }
    Ok(())
}

/// Whether no block feeds another: the dag is a sum of blocks and isolated tasks.
fn is_sum(survey: &Survey<'_>) -> bool {
    let dag = survey.dag();
    // A task that is neither has an in-copy and an out-copy, so it leads from block to block.
    dag.tasks().all(|t| dag.is_source(t) || dag.is_sink(t))
}
