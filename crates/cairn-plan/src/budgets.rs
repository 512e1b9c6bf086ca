//! Every budget of this crate in one table, each with its reason: steps, tries, widths, and sizes beyond which something is not
//! tried. Those of the theory are in `cairn-theory/src/budgets.rs`.
//!
//! Steps, not seconds, so that answers are the same everywhere. A step is about what a processor does in some nanoseconds: reckon
//! with some 10⁸ a second where it looks about in memory (states, parts, windows), and with several times as many where it goes along
//! a row (entries of a table, arcs of a task).
//!
//! Not here, but with the code they belong to: what is charged for something (the prices), the shape of an algorithm (how many
//! things fit into the bits of a state, how often a loop asks whether to stop, from where on another way is quicker), the
//! weights of a policy, and the limits of number types.

/// Blocks, before the hull is asked.
pub(crate) mod theory {
    use cairn_theory::survey::SurveyEffort;

    /// A fifth of the theory's own: where blocks are hard, the hull answers sooner.
    pub(crate) fn usual() -> SurveyEffort {
        SurveyEffort {
            block_states: 20_000,
            all_states: 400_000,
            give_up_early: true,
            ..SurveyEffort::default()
        }
    }

    /// A twentieth of the states: some milliseconds. Trees and tests of ▷ keep what they have, since a dag of trees is decided by
    /// them alone, and they seldom need it.
    pub(crate) fn quick() -> SurveyEffort {
        SurveyEffort {
            block_states: 1_000,
            all_states: 20_000,
            ..usual()
        }
    }
}

/// The hull.
pub(crate) mod hull {
    use crate::closure::Tuning;

    /// They change the time, never the result. All were chosen by trial when pseudoflow came in, and no table of the trials was kept:
    /// what each trades stands beside it, the number itself is a judgement.
    pub(crate) const TUNING: Tuning = Tuning {
        // A phase is a search over the whole network, and regular dags mostly need one. With fewer, those that need some more are left
        // to pseudoflow, which is slower for them; with more, all others wait for phases that do not finish.
        cold_phases: 4,
        // A phase is to carry nine tenths of what is left. If less were enough, four could go by and leave most; if more were asked
        // for, dags that the next phase solves would be given up.
        cold_leaves: 10.0,
        // A thread has tables of its own to set up. With smaller pieces that costs as much as solving them; with larger ones hulls
        // of some thousand tasks are left to one thread.
        worth_a_thread: 1000,
        // Exact labels cost a pass over all arcs of the live nodes. With fewer looks most of a round would be that pass; with more,
        // trees climb by labels that have long been too low.
        looks_a_node: 30,
        // Whichever side is active pays for each of its nodes. With 1 the fewer would always move; with much more, pulling goes on
        // where hardly any surplus is left to meet it.
        pull_below: 3,
    };

    /// Sweeps over a flow that was not finished, before it is written down: they level most of what sweeps can. Each levels
    /// neighbours; differences over long ways would take as many sweeps as they are long.
    pub(crate) const SWEEPS: usize = 8;

    /// Sweeps before a bound is read off a piece that was not finished: a few cost little beside what came before, and the
    /// first ones level most.
    pub(crate) const BOUND_SWEEPS: usize = 4;
}

/// Where lines of tasks are begun along which a program sweeps: each start costs a whole line, and good ones begin where few prizes
/// are touched. Chosen by eye.
pub(crate) const LINES: usize = 12;

/// Orders by simple rules.
pub(crate) mod policy {
    /// Descendants as bits are n²/8 bytes, 50 MB, and up to n²/2 additions, half a second; beyond, they are estimated.
    pub(crate) const MOST_FOR_EXACT_DESCENDANTS: usize = 20_000;

    /// Variables that are drawn for each task for the estimate: its standard error is one over the root of this less two, 12.7 %. A
    /// judgement: each costs a pass over the arcs, and half the error takes four times as many.
    pub(crate) const DRAWS: usize = 64;
}

/// Deciding along the hull: the steps of the last round. Each round before it has a part of those of the next
/// ([`MORE_A_ROUND`](decide::MORE_A_ROUND)).
pub(crate) mod decide {
    use crate::decide::{ComponentEffort, DecideEffort};

    /// A second or two at the worst for a few thousand tasks.
    pub(crate) const USUAL: DecideEffort = DecideEffort {
        component: component::USUAL,
        // About six components' worth: with many different ones each gets less.
        components: 150_000_000,
        // The bound across intervals that helps most for its price.
        forest: 200_000_000,
        // A third of what all components have, half a second. A judgement: with less, gaps stay open between bound and real sets
        // that a window would close; with more, people wait for windows, which cost more than all else and give less.
        across: 50_000_000,
        // Once, for the last order. A window of 13 items is some 10⁵ steps, and windows overlap by half: three passes over a
        // thousand items. A judgement: with less the last ones are cut short, with more people wait for a larger area alone.
        improve: 60_000_000,
        // For words alone: the verdict stands without.
        pair: 20_000_000,
        // Ancestors as bits are n²/8 bytes: 18 MB.
        most_for_across: 12_000,
        // 1, 8 and 64 times the steps: a fourth round would take minutes.
        rounds: 3,
        // Up to about so many tasks all rounds take a second or two; beyond, nobody should wait longer for a better order where
        // the verdict is known. A judgement.
        most_to_polish: 2_500,
    };

    /// Some ten seconds.
    pub(crate) const THOROUGH: DecideEffort = DecideEffort {
        component: component::THOROUGH,
        components: 1_000_000_000,
        across: 200_000_000,
        improve: 240_000_000,
        ..USUAL
    };

    /// Nothing beside the hull.
    pub(crate) const QUICK: DecideEffort = DecideEffort {
        components: 0,
        forest: 0,
        across: 0,
        improve: 0,
        pair: 0,
        rounds: 1,
        ..USUAL
    };

    mod component {
        use super::ComponentEffort;

        pub(super) const USUAL: ComponentEffort = ComponentEffort {
            // Wider beams seldom find more at first, and cost in proportion.
            beam: 30,
            // A quarter of a second, and a 64th of it in the first round, which decides most. A judgement: with less, components
            // of some hundred nodes keep the chord; with more, one that is hopeless holds up the whole plan.
            steps: 24_000_000,
            enumerate: true,
        };

        /// Eleven times as many steps.
        pub(super) const THOROUGH: ComponentEffort = ComponentEffort {
            steps: 260_000_000,
            ..USUAL
        };
    }

    /// What each method for one component may spend, in percent of the component's steps. More than 100 in all: a method that
    /// is not reached, or needs less, leaves its share to nobody. All are judgements: most for what is exact.
    pub(crate) mod share {
        /// Orders by simple rules, 24 steps for each node and arc: in the first round that is enough for three thousand of them, and larger
        /// components come to it in a later one.
        pub(crate) const LIST_ORDERS: u64 = 20;

        /// The first, narrow beam: for an order, where the bound is tight already. With more, components that no beam solves would pay for
        /// it before the exact methods come.
        pub(crate) const FIRST_BEAM: u64 = 12;

        /// The tree program with some vertices set by hand: each vertex doubles its steps, so that twice the share is worth one more.
        pub(crate) const TREES: u64 = 15;

        /// The frontier program: exact where few rewards are open at a time, tree or not. The most of all, since it is the last that
        /// may give the exact profile of what is no tree.
        pub(crate) const FRONTIER: u64 = 46;

        /// A chain through the exact profile, where that is known by then: every state off the profile is cut, so that it needs less than
        /// all states do.
        pub(crate) const CHAIN: u64 = 8;

        /// All macro states: they double with every reward that is apart from the others, so that twice the share is worth one more.
        pub(crate) const ALL_STATES: u64 = 15;

        /// The bound from blocks: a bound and nothing more, of which the tree program needs little.
        pub(crate) const BLOCKS: u64 = 4;

        /// The wide beam, begun only where it fits: so this says for which components it is tried at all.
        pub(crate) const WIDE_BEAM: u64 = 15;

        /// A chain against whatever bound there is: the last try, which cuts less than one through the profile and so has more.
        pub(crate) const LAST_CHAIN: u64 = 23;
    }

    /// Numbering components, so that equal ones are solved once.
    pub(crate) mod colours {
        /// What differs does so nearby in nearly all workflows; where six steps see no difference, equal components may be
        /// solved twice.
        pub(crate) const ROUNDS: usize = 6;

        /// Colouring is a few passes over the arcs; for a component of so many tasks that no other can equal they would be
        /// wasted.
        pub(crate) const LARGE: u32 = 4096;
    }

    /// A state of a beam looks at all rewards, and there is a beam a size: where nodes times rewards are more, some 200 of
    /// each, the first beam is narrowed.
    pub(crate) const LARGE_COMPONENT: usize = 40_000;

    /// By so much: four states of thirty, hardly more than a greedy walk. Chosen by eye, as the next.
    pub(crate) const NARROWED: usize = 7;

    /// The wide beam is so many times the first: enough to find what that missed, where it fits into its share at all.
    pub(crate) const WIDER: usize = 5;

    /// Steps of a round for each of the round before: so little that a round which decides is cheap, and so much that all rounds
    /// before the last are a seventh of it.
    pub(crate) const MORE_A_ROUND: u64 = 8;

    /// Vertices that a tree program may set by hand: 2¹⁴ settings; more would not finish within its share.
    pub(crate) const MOST_SET: usize = 14;

    /// Walks through the states of a component.
    pub(crate) mod walk {
        /// A beam that costs no more than this at the least is carried to its end, whatever it costs: some 10⁷ steps.
        pub(crate) const SMALL: u64 = 500_000;

        /// How many nodes a beam looks ahead: with all closures it costs twice as much and finds no better orders.
        pub(crate) const FAR: usize = 64;

        /// Where a beam has more states than so many times its width, only those are looked at closely that are good by a cheap
        /// measure: from there on that is worth two sorts. Chosen by eye, as the next.
        pub(crate) const MANY: usize = 12;

        /// So many times the width by each of the two cheap measures.
        pub(crate) const SHORTLIST: usize = 5;

        /// Words of all bit sets: 256 MB, whatever the steps.
        pub(crate) const MOST_WORDS: usize = 1 << 25;
    }

    /// Two steps that show why there is no order.
    pub(crate) mod pair {
        /// No walk may cost more than this part of the budget: one that is hard at one step must not eat what others
        /// could do with.
        pub(crate) const SHARES: u64 = 8;

        /// Quarters of the budget for the component or the sum that refuses; the rest is for the other components that do. A
        /// judgement.
        pub(crate) const OWN_QUARTERS: u64 = 3;

        /// Width of the beam that looks for one best set: as wide as the wide one of a component. Chosen
        /// by eye.
        pub(crate) const BEAM: usize = 150;
    }

    /// Making an order better in windows.
    pub(crate) mod improve {
        /// Items in a window and how coarse they are, from quick to thorough: 2^items sets are looked at. A window of 13
        /// takes some 50 times as long as one of 8: only when the small ones help no more.
        pub(crate) const STAGES: [(usize, u32); 6] =
            [(8, 0), (8, 1), (8, 2), (13, 0), (13, 1), (13, 2)];

        /// Tasks of an item: each that is joined to another is looked through, and longer ones would make that quadratic.
        pub(crate) const LONGEST_ITEM: usize = 400;
    }

    /// An order whose area falls short of the bound by less than this is good enough: no later round is spent on it. A
    /// judgement: nobody sees half a percent of eligible tasks, and another round takes eight times as long.
    pub(crate) const ENOUGH: f64 = 0.005;

    /// Adding up the components of all intervals: so much that only sums of very many large ones keep the chord.
    pub(crate) const SUMS: u64 = 400_000_000;

    /// Real sets near the forest's optimum, before windows are looked into: most of what is spent across intervals, for
    /// windows cost more and give less.
    pub(crate) const ALLOCATIONS: u64 = 40_000_000;

    /// One block of a component whose bound is added up: the chord does for what is harder.
    pub(crate) const BLOCK: u64 = 200_000;

    /// Vertices that its tree program may set by hand: 2⁶ settings, for there may be many blocks, and a bound is all that is wanted.
    pub(crate) const MOST_SET_IN_BLOCK: usize = 6;

    /// Methods for a component of a window, by name: there may be hundreds of windows.
    pub(crate) mod window {
        /// All states: a tenth of a second, about half of what a component of an interval may cost.
        pub(crate) const STATES: u64 = 10_000_000;

        /// Twice the others': of the three it is the one whose time is known before, so that it mostly ends. A judgement.
        pub(crate) const TREES: u64 = 20_000_000;

        /// As much as the states: the last try.
        pub(crate) const FRONTIER: u64 = 10_000_000;

        /// Vertices set by hand, two fewer than in a component: a quarter of the settings, for many windows.
        pub(crate) const MOST_SET: usize = 12;
    }
}

/// Batches: a call of a server.
pub(crate) mod batch {
    use crate::batch::BatchEffort;

    /// Some tenths of a second at the worst.
    pub(crate) const USUAL: BatchEffort = BatchEffort {
        steps: 40_000_000,
        table: 20_000_000,
    };

    /// A hundred times the steps: for somebody who waits for one batch, not for a server.
    pub(crate) const THOROUGH: BatchEffort = BatchEffort {
        steps: 4_000_000_000,
        table: 100_000_000,
    };

    /// Strides of the minimum cuts of one piece that is settled apart, each linear in it at the most: far more than any piece seen
    /// needed, so that a degenerate one cannot stall a call.
    pub(crate) const STRIDES: u64 = 1_000_000;

    /// States of one layer of the search, so that memory stays within some 300 MB.
    pub(crate) const MOST_STATES: usize = 2_000_000;

    /// Widths of the beams before the proof: each so much wider that what the one before cost does not matter.
    pub(crate) const BEAMS: [usize; 3] = [30, 1000, MOST_STATES];

    /// How often a state's prizes are shared otherwise before it is kept: a round costs about as much as the first look, and the
    /// first ones bring most. A judgement.
    pub(crate) const ROUNDS: usize = 3;

    /// Best sets remembered a piece: a server asks for a few sizes in turn, and each set is as long as its size.
    pub(crate) const MOST_PICKED: usize = 4;

    /// One part in so many of the work left is what a piece may have that is not alone: others have to be solved as well. A
    /// judgement, as the next two.
    pub(crate) const PIECE_SHARE: u64 = 4;

    /// What a beam may have of it before the last: else nothing would be left for the proof.
    pub(crate) const BEAM_SHARE: u64 = 4;

    /// What lining tasks up may have of it: a means, not the search.
    pub(crate) const LINE_SHARE: u64 = 8;

    /// For one move there are to be so many states on the line: a line that is good enough is left alone. Chosen by eye.
    pub(crate) const STATES_A_MOVE: u64 = 4;

    /// Moves when lining tasks up: more do not make better lines.
    pub(crate) const MOST_MOVES: u64 = 40_000;

    /// By which part a worse line may be worse at first: near twice as dear, which one more task that matters everywhere makes
    /// it. Chosen by eye.
    pub(crate) const HEAT: f64 = 0.7;
}

/// Orders under a cap on open results.
pub(crate) mod cap {
    /// Thresholds between nothing and the cap at which a list turns to closing results, each a whole order. Chosen by eye, as
    /// the next: all of them cost some forty orders.
    pub(crate) const THRESHOLDS: u64 = 32;

    /// And so many just below it: the list may pass its threshold by a few results before it closes some.
    pub(crate) const JUST_BELOW: u64 = 12;
}

/// Orders of small peak, and lower bounds on it.
pub(crate) mod storage {
    /// Steps of one kind of work for a dag of so many tasks, whose tasks, arcs and readers together are `size`. Nearly all go along
    /// rows, so it is reckoned as a second up to 2,000 tasks and some ten at 50,000. The first plan, the polishing of other starts,
    /// the cuts before single tasks and those before antichains have as much each.
    pub(crate) fn share(tasks: u64, size: u64) -> u64 {
        // In dense dags, where a task has a hundred parents, all orders are about equal: they are not worth more than others.
        400_000_000 + 5_000 * size.min(32 * tasks)
    }

    /// From so many tasks on a cut takes so long that there are few: other starts are not polished, and of the noisy ones
    /// only [`LARGE_RESTARTS`] of a kind are tried. A judgement.
    pub(crate) const LARGE: usize = 5_000;

    /// So many noisy starts of every kind then.
    pub(crate) const LARGE_RESTARTS: u64 = 2;

    /// From so many tasks on valleys are not sought: a goal may have all tasks for ancestors, so that they are the one start
    /// that is not near-linear. A judgement.
    pub(crate) const LARGE_VALLEY: usize = 100_000;

    /// How many begun tasks a valley is sought from: each is closed on trial and taken back. Chosen by eye.
    pub(crate) const VALLEY: usize = 32;

    /// And where starts are changed by noise: half as many, since there are many such starts. Chosen by eye.
    pub(crate) const NOISY_VALLEY: usize = VALLEY / 2;

    /// A goal of a valley with more missing ancestors than this is not near: what a trial costs at the most. Chosen by eye.
    pub(crate) const NEAR: usize = 200;

    /// Joins that are looked at two and two: at most 276 pairs, two cuts each for first and for last.
    pub(crate) const JOINS: usize = 24;

    /// Tasks whose neighbourhoods give antichains: each costs two passes over the piece, and gives some at every depth. Chosen
    /// by eye.
    pub(crate) const NEIGHBOURS: usize = 60;

    /// Tasks with fewer neighbours than this on either side give antichains that leave little to choose between. Chosen by eye.
    pub(crate) const NEIGHBOURHOOD: usize = 4;

    /// By which part the keys of noisy starts may change, of those by Liu's keys alone. Chosen by eye, as the next.
    pub(crate) const LIU_NOISE: f64 = 0.5;

    /// And of those that seek valleys, where keys only break ties.
    pub(crate) const VALLEY_NOISE: f64 = 0.2;

    /// Starts that are polished; more did not help.
    pub(crate) const STARTS: u64 = 40;

    /// Noisy starts of every kind for one piece: more of them without polishing did not help.
    pub(crate) const RESTARTS: u64 = 10;

    /// Cuts at the peak of one piece: each must have made it better, so that this only ends long runs of small steps. Chosen by
    /// eye.
    pub(crate) const ROUNDS: usize = 40;

    /// How often a piece is divided: into sixteen parts at the most, each with all starts of its own. Chosen by eye.
    pub(crate) const DEPTH: u32 = 4;
}
