//! All blocks of a dag with their kinds, optimal profiles and orders. Knows nothing of ranks or whole schedules.

use crate::ranks::ClassId;
use crate::recognise::{Kind, recognise_block};
use crate::split::{BlockId, Decomposition};
use crate::{Bipartite, BlockAnswer, BlockOrder, budgets, catalogue, normal, search, tree};
use cairn_dag::{Dag, TaskId};
use cairn_kernel::{Id, Rows, Stopped, Work, ids, long, narrow, wide};
use hashbrown::HashMap;
use std::borrow::Cow;
use std::cmp::Reverse;

ids! {
    /// A kind of one survey, in the order in which they were met.
    pub BlockKindId,
}

/// How much work may be spent where no near-linear method is known. Counted in steps, not seconds, so that the same
/// dag gets the same answer everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyEffort {
    /// States of exact search for one block that is no tree. A state of a block of more than 64 arcs counts as several,
    /// as it costs more: one for every 64 arcs.
    pub block_states: u64,
    /// States of exact search for all blocks together, counted alike.
    pub all_states: u64,
    /// Sources of a tree that is no strand: its profile takes time quadratic in them.
    pub tree_sources: usize,
    /// Steps spent on the order of one tree.
    pub tree_steps: u64,
    /// Steps spent on the orders of all trees together.
    pub all_tree_steps: u64,
    /// Profile entries looked at in tests of ▷ and of sums.
    pub work: u64,
    /// Try no further block once linearization cannot succeed any more: the dag is not composite, or a block has no
    /// order or was too hard. The blocks left count as too hard, unless their kind has a closed form.
    pub give_up_early: bool,
}

impl Default for SurveyEffort {
    /// A few seconds in all at the very worst.
    fn default() -> SurveyEffort {
        budgets::survey::DEFAULT
    }
}

/// What is known of the order of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Solution {
    /// It admits an IC-optimal order, and its optimal profile is that of this class.
    Optimal(ClassId),
    /// It admits none, proved; the best at each step alone is the profile of this class.
    NoneExists(ClassId),
    /// Its optimal profile is that of this class; whether an order attains it was not found out within the effort.
    Undecided(ClassId),
    /// It is too large for exact methods within the effort.
    TooHard,
}

impl Solution {
    /// The class whose profile is the block's, if that is known.
    pub(crate) fn class(self) -> Option<ClassId> {
        match self {
            Solution::Optimal(class) | Solution::NoneExists(class) | Solution::Undecided(class) => {
                Some(class)
            }
            Solution::TooHard => None,
        }
    }
}

/// Every block of a dag, or of its skeleton: its kind, whether it admits an IC-optimal order, which, and with what
/// profile. Blocks with equal profiles form a *class*.
///
/// Near-linear: closed forms for the catalogue, the lexicographic greedy for strands, the tree program and exact
/// search within [`SurveyEffort`] for the rest. Blocks that are equal after a cheap renumbering are solved once. Space is
/// some 50 bytes a task, and all is in flat arrays; profiles and kinds are stored once for all blocks that share
/// them.
///
/// ```
/// use cairn_dag::Dag;
/// use cairn_theory::{Work, survey::{SurveyEffort, Survey}};
/// let diamond = Dag::from_arcs(4, vec![(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
/// let survey = Survey::new(&diamond, &SurveyEffort::default(), &mut Work::unlimited());
/// let kinds: Vec<String> = survey.blocks().blocks().map(|b| survey.kind(b).to_string()).collect();
/// assert_eq!(kinds, ["W(1,2)", "M(1,2)"]);
/// ```
#[derive(Clone, Debug)]
pub struct Survey<'a> {
    dag: Cow<'a, Dag>,
    removed: usize,
    blocks: Decomposition,
    kinds: Vec<Kind>,
    kind_of: Vec<BlockKindId>,
    solution: Vec<Solution>,
    /// The sources of all blocks, block after block, those of a solved block in an IC-optimal order.
    order: Rows<TaskId>,
    classes: Vec<ClassOfBlocks>,
}

/// Blocks with one and the same optimal profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassOfBlocks {
    /// The profile.
    pub profile: Box<[u32]>,
    /// How many blocks have it.
    pub copies: u32,
    /// The first of them.
    pub first: BlockId,
    /// The kind of one of them; one with a closed form, if there is any.
    pub kind: BlockKindId,
    /// Whether all of them are strands.
    pub strands: bool,
    closed_form: bool,
}

impl<'a> Survey<'a> {
    /// Looks at every block of `dag`. If the dag is not composite and has shortcut arcs, at those of its skeleton
    /// instead: both have the same schedules of the same quality (\[MRY06\], Theorem 5). When it is time to stop, there is
    /// no skeleton, and what has no closed form counts as too hard; the rest is linear.
    pub fn new(dag: &'a Dag, effort: &SurveyEffort, work: &mut Work<'_>) -> Survey<'a> {
        let (dag, removed, blocks) = decompose(dag, work);
        let mut surveyor = Surveyor::new(effort, work);
        // Then no solution of blocks makes a linearization; kinds with a closed form are named all the same.
        surveyor.has_failed = !blocks.is_composite();
        let mut kind_of = Vec::with_capacity(blocks.len());
        let mut solution = Vec::with_capacity(blocks.len());
        let mut order = Rows::default();
        for b in blocks.blocks() {
            blocks.cut_into(&dag, b, &mut surveyor.block);
            let (kind, solved) = surveyor.solve(b);
            kind_of.push(kind);
            solution.push(solved);
            let sources = blocks.sources(b);
            order.push(surveyor.order.iter().map(|&u| sources[wide(u)]));
        }
        let (kinds, classes) = surveyor.finish();
        Survey {
            dag,
            removed,
            blocks,
            kinds,
            kind_of,
            solution,
            order,
            classes,
        }
    }

    /// The dag whose blocks these are: the one given or its skeleton. Tasks have the same ids in both.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// How many shortcut arcs were left out.
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// The blocks and the super-dag.
    pub fn blocks(&self) -> &Decomposition {
        &self.blocks
    }

    /// The kind of a block.
    pub fn kind(&self, block: BlockId) -> &Kind {
        &self.kinds[self.kind_id(block).index()]
    }

    /// All kinds met, each once, by [`BlockKindId`].
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Every kind with how many blocks are of it and the first of them; most first, and by name among equals.
    pub fn census(&self) -> Vec<(&Kind, usize, BlockId)> {
        let mut count = vec![(0, None); self.kinds.len()];
        for block in self.blocks().blocks() {
            let (many, first) = &mut count[self.kind_id(block).index()];
            *many += 1;
            first.get_or_insert(block);
        }
        let census = self.kinds.iter().zip(count);
        let census = census.filter_map(|(kind, (many, first))| Some((kind, many, first?)));
        let mut census: Vec<_> = census.collect();
        census.sort_by_cached_key(|&(kind, many, _)| (Reverse(many), kind.to_string()));
        census
    }

    /// The kind of the block that a task is executed for: the one below it, or for a sink the one above; none for a task without
    /// arcs.
    pub fn kind_for(&self, task: TaskId) -> Option<&Kind> {
        let blocks = self.blocks();
        let block = blocks
            .block_below(task)
            .or_else(|| blocks.block_above(task));
        block.map(|block| self.kind(block))
    }

    /// Where the kind of a block is in [`Survey::kinds`].
    pub(crate) fn kind_id(&self, block: BlockId) -> BlockKindId {
        self.kind_of[block.index()]
    }

    /// What is known of the order of a block.
    pub(crate) fn solution(&self, block: BlockId) -> Solution {
        self.solution[block.index()]
    }

    /// The sources of a block in an IC-optimal order; if it has none or none was found, in id order.
    pub fn order(&self, block: BlockId) -> &[TaskId] {
        self.order.row(block.index())
    }

    /// The classes of blocks with equal optimal profiles, by [`ClassId`].
    pub fn classes(&self) -> &[ClassOfBlocks] {
        &self.classes
    }

    /// The optimal profile of a block: the most sinks that any `t` of its sources render eligible, for each `t`.
    /// `None` if it is not known.
    pub fn profile(&self, block: BlockId) -> Option<&[u32]> {
        let class = self.solution(block).class()?;
        Some(&self.classes[class.index()].profile)
    }
}

/// The dag itself if it is composite, else its skeleton; with the number of arcs left out and the blocks.
fn decompose<'a>(dag: &'a Dag, work: &Work<'_>) -> (Cow<'a, Dag>, usize, Decomposition) {
    // Not asked whether to stop: linear, a part of what it took to read the dag, and every answer names the blocks.
    let blocks = Decomposition::new(dag);
    if blocks.is_composite() {
        return (Cow::Borrowed(dag), 0, blocks);
    }
    // Only now: the skeleton takes longer than the blocks of most dags. Under the same question alone, as it is no part of
    // what the effort bounds.
    match dag.skeleton_within(&mut work.unmetered()) {
        Ok(skeleton) if skeleton.removed > 0 => {
            let blocks = Decomposition::new(&skeleton.dag);
            (Cow::Owned(skeleton.dag), skeleton.removed, blocks)
        }
        // The dag as it is has the same schedules; that it is not composite is all that is known of it then.
        Ok(_) | Err(Stopped) => (Cow::Borrowed(dag), 0, blocks),
    }
}

/// Solves one block after the other, remembering what can be shared.
struct Surveyor<'a, 'w> {
    effort: &'a SurveyEffort,
    work: &'a mut Work<'w>,
    /// For all blocks together: states of search, and steps on trees.
    states: Work<'w>,
    tree_steps: Work<'w>,
    /// Whether linearization cannot succeed any more.
    has_failed: bool,
    /// The block at hand, and the order of its sources that was found.
    block: Bipartite,
    order: Vec<u32>,
    kinds: HashMap<Kind, BlockKindId>,
    /// By kind: the class of its blocks, for kinds that determine the profile.
    class_of_kind: Vec<Option<ClassId>>,
    class_of_profile: HashMap<Box<[u32]>, ClassId>,
    /// Without their profiles, which are the keys of that map until all blocks have been seen.
    classes: Vec<ClassOfBlocks>,
    /// Trees and other blocks met before, in a normal numbering.
    known: HashMap<Bipartite, (Solution, Option<Vec<u32>>)>,
}

impl<'a, 'w> Surveyor<'a, 'w> {
    fn new(effort: &'a SurveyEffort, work: &'a mut Work<'w>) -> Surveyor<'a, 'w> {
        Surveyor {
            effort,
            states: work.part(effort.all_states),
            tree_steps: work.part(effort.all_tree_steps),
            work,
            has_failed: false,
            block: Bipartite::empty(),
            order: Vec::new(),
            kinds: HashMap::new(),
            class_of_kind: Vec::new(),
            class_of_profile: HashMap::new(),
            classes: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Names and solves the block at hand, which is number `id`.
    fn solve(&mut self, id: BlockId) -> (BlockKindId, Solution) {
        let (kind, strand) = recognise_block(&self.block);
        let closed_form = catalogue::order(&kind, &self.block, &mut self.order);
        let strands = kind.is_strand();
        let number = self.id_of(&kind);
        if let Some(strand) = strand {
            self.order = strand.schedule();
        } else if !closed_form {
            return (number, self.solve_any(id, &kind, number));
        }
        // A strand's kind holds its degrees, so it tells the profile as closed forms do.
        let class = match self.class_of_kind[number.index()] {
            Some(class) => class,
            None => {
                let profile = catalogue::profile(&kind);
                let profile = profile.unwrap_or_else(|| self.block.profile(&self.order));
                let class = self.class(profile, id, number);
                self.class_of_kind[number.index()] = Some(class);
                class
            }
        };
        self.count(class, number, closed_form, strands);
        (number, Solution::Optimal(class))
    }

    /// The number of a kind, new if it was not met before.
    fn id_of(&mut self, kind: &Kind) -> BlockKindId {
        if let Some(&known) = self.kinds.get(kind) {
            return known;
        }
        let fresh = BlockKindId::new(self.class_of_kind.len());
        // Not by `entry`, which would clone the kind, degrees and all, at every lookup.
        self.class_of_kind.push(None);
        self.kinds.insert(kind.clone(), fresh);
        fresh
    }

    /// Solves a block whose kind does not tell its profile: looked up, or else by the tree program or by search.
    fn solve_any(&mut self, id: BlockId, kind: &Kind, number: BlockKindId) -> Solution {
        if self.has_failed && self.effort.give_up_early {
            self.order.clear();
            self.order.extend(0..narrow(self.block.sources()));
            return Solution::TooHard;
        }
        // Numbered first: blocks of one shape come with other numbers each time.
        let (normal, numbering) = normal::numbered(&self.block);
        if !self.known.contains_key(&normal) {
            let found = self.find(&normal, kind);
            let found = found.map(|it| (self.class(it.profile, id, number), it.order));
            let (solution, order) = match found {
                Some((class, BlockOrder::Optimal(order))) => {
                    (Solution::Optimal(class), Some(order))
                }
                Some((class, BlockOrder::NoneExists)) => (Solution::NoneExists(class), None),
                Some((class, BlockOrder::Unknown)) => (Solution::Undecided(class), None),
                None => (Solution::TooHard, None),
            };
            self.has_failed |= !matches!(solution, Solution::Optimal(_));
            self.known.insert(normal.clone(), (solution, order));
        }
        let (solution, order) = &self.known[&normal];
        self.order.clear();
        match order {
            Some(order) => self.order.extend(order.iter().map(|&u| numbering[wide(u)])),
            None => self.order.extend(0..narrow(normal.sources())),
        }
        let solution = *solution;
        if let Some(class) = solution.class() {
            self.count(class, number, false, false);
        }
        solution
    }

    /// What is found of a block; nothing where it is too hard.
    fn find(&mut self, block: &Bipartite, kind: &Kind) -> Option<BlockAnswer> {
        match kind {
            // Asked for every block: the parts of the budget notice only while they are spent.
            _ if self.work.is_stopped() => None,
            Kind::Tree => self.find_tree(block),
            _ => self.find_any(block),
        }
    }

    fn find_tree(&mut self, block: &Bipartite) -> Option<BlockAnswer> {
        if block.sources() > self.effort.tree_sources {
            return None;
        }
        let most = self.effort.tree_steps.min(self.tree_steps.left());
        let answer = tree::solve_within(block, &mut self.tree_steps.part(most))?;
        // What was spent is not told; a decided tree seldom takes more than its profile.
        let spent = match answer.order {
            BlockOrder::Unknown => most,
            _ => long(block.sources()).pow(2),
        };
        let _ = self.tree_steps.spend(spent);
        Some(answer)
    }

    fn find_any(&mut self, block: &Bipartite) -> Option<BlockAnswer> {
        // Not zero, as a block has an arc.
        let price = long(block.arc_count().div_ceil(64));
        let most = self.effort.block_states.min(self.states.left()) / price;
        // No search of a block visits more states than it has sets of sources.
        let sets = 1u64
            .checked_shl(narrow(block.sources()))
            .unwrap_or(u64::MAX);
        // No overflow: `most` was divided by the price.
        let _ = self.states.spend(sets.min(most) * price);
        search::solve(block, &mut self.states.part(most))
    }

    /// The class of a profile, new if there is none yet.
    fn class(&mut self, profile: Vec<u32>, first: BlockId, kind: BlockKindId) -> ClassId {
        let profile = profile.into_boxed_slice();
        let next = ClassId::new(self.classes.len());
        // Equal profiles are one class whatever the shape: ▷ sees nothing else.
        let class = *self.class_of_profile.entry(profile).or_insert(next);
        if class == next {
            self.classes.push(ClassOfBlocks {
                profile: Box::default(),
                copies: 0,
                first,
                kind,
                strands: true,
                closed_form: false,
            });
        }
        class
    }

    fn count(&mut self, class: ClassId, kind: BlockKindId, closed_form: bool, strands: bool) {
        let class = &mut self.classes[class.index()];
        class.copies += 1;
        class.strands &= strands;
        if closed_form && !class.closed_form {
            class.kind = kind;
            class.closed_form = true;
        }
    }

    fn finish(mut self) -> (Vec<Kind>, Vec<ClassOfBlocks>) {
        let profiles = in_order(self.class_of_profile);
        for (class, profile) in self.classes.iter_mut().zip(profiles) {
            class.profile = profile;
        }
        (in_order(self.kinds), self.classes)
    }
}

/// What was numbered as it was met, in that order: out of a map it would come in another one every time.
fn in_order<T, I: Id>(numbers: HashMap<T, I>) -> Vec<T> {
    let mut numbered: Vec<(I, T)> = numbers.into_iter().map(|(it, i)| (i, it)).collect();
    numbered.sort_unstable_by_key(|&(i, _)| i);
    numbered.into_iter().map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::brute_force;
    use cairn_oracle::any_dag;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        /// Every block of every dag: the order attains the optimum at every step, or there is none.
        #[test]
        fn every_block_is_solved_right(dag in any_dag(14)) {
            let survey = Survey::new(&dag, &SurveyEffort::default(), &mut Work::unlimited());
            let mut copies = vec![0; survey.classes().len()];
            for b in survey.blocks().blocks() {
                let block = survey.blocks().cut(survey.dag(), b);
                let place = |task| survey.blocks().sources(b).iter().position(|t| t == task).unwrap() as u32;
                let order: Vec<u32> = survey.order(b).iter().map(place).collect();
                let (best, exists) = brute_force(&block);
                prop_assert_eq!(survey.profile(b), Some(&best[..]));
                match survey.solution(b) {
                    Solution::Optimal(class) => {
                        prop_assert_eq!(block.profile(&order), best);
                        copies[class.index()] += 1;
                        let class = &survey.classes()[class.index()];
                        prop_assert!(!class.strands || survey.kind(b).is_strand());
                    }
                    Solution::NoneExists(class) => {
                        prop_assert!(exists.is_none());
                        copies[class.index()] += 1;
                    }
                    Solution::Undecided(_) | Solution::TooHard => prop_assert!(false, "too small to be too hard"),
                }
            }
            for (class, &counted) in survey.classes().iter().zip(&copies) {
                prop_assert_eq!(class.copies, counted);
                prop_assert_eq!(survey.profile(class.first), Some(&class.profile[..]));
            }
        }

        /// A shortcut arc changes no block: the skeleton is looked at.
        #[test]
        fn shortcuts_change_nothing(dag in any_dag(14)) {
            let skeleton = dag.skeleton();
            let survey = Survey::new(&dag, &SurveyEffort::default(), &mut Work::unlimited());
            let plain = Survey::new(&skeleton.dag, &SurveyEffort::default(), &mut Work::unlimited());
            prop_assert_eq!(survey.removed(), skeleton.removed);
            prop_assert_eq!(survey.blocks().len(), plain.blocks().len());
            prop_assert_eq!(survey.order, plain.order);
            prop_assert_eq!(survey.solution, plain.solution);
        }
    }

    #[test]
    fn limits_are_kept() {
        // K(3,3) without one arc is no tree and not in the catalogue.
        let arcs = (0..9)
            .filter(|i| i % 4 > 0 || *i > 0)
            .map(|i| (i / 3, 3 + i % 3))
            .collect();
        let dag = Dag::from_arcs(6, arcs).unwrap();
        let solution = |effort: &SurveyEffort| {
            Survey::new(&dag, effort, &mut Work::unlimited()).solution(BlockId::new(0))
        };
        assert_eq!(
            solution(&SurveyEffort::default()),
            Solution::Optimal(ClassId::new(0))
        );
        let stingy = SurveyEffort {
            block_states: 1,
            ..SurveyEffort::default()
        };
        assert_eq!(solution(&stingy), Solution::TooHard);
        assert_eq!(
            solution(&SurveyEffort {
                all_states: 1,
                ..stingy
            }),
            Solution::TooHard
        );
    }
}
