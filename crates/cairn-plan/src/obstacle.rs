//! Why the theory of blocks does not decide a dag, in words. Knows not how tasks are called.

use crate::Plan;
use cairn_dag::TaskId;
use cairn_theory::linearize::Obstacle;
use cairn_theory::split::BlockId;

impl Plan<'_> {
    /// Why the theory of blocks alone does not decide, where it does not, with blocks by their kinds and their tasks.
    pub fn obstacle_words(&self, names: impl Fn(&[TaskId]) -> String) -> Option<String> {
        let survey = self.survey();
        let block = |b: BlockId| {
            let (sources, sinks) = (survey.order(b), survey.blocks().sinks(b));
            format!("{} ({} → {})", survey.kind(b), names(sources), names(sinks))
        };
        let counted = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
        // Here and not in the theory, which has numbers for blocks and tasks and no names.
        Some(match *self.obstacle()? {
            Obstacle::NotComposite { ref tasks } => {
                let tasks = names(tasks);
                format!("blocks feed each other in a cycle, by the tasks {tasks}")
            }
            Obstacle::NoOrder { block: b } => {
                let block = block(b);
                format!("the block {block} admits no IC-optimal order of its own")
            }
            Obstacle::TooHard {
                block: b,
                sources,
                sinks,
            } => format!(
                "the block {} of {} and {} is too hard for exact search",
                block(b),
                counted(sources, "source"),
                counted(sinks, "sink")
            ),
            Obstacle::Incomparable { first, second } => format!(
                "neither ▷ the other, and their sum admits no IC-optimal order: {} and {}",
                block(first),
                block(second)
            ),
            Obstacle::TestTooLarge { first, second } => {
                let (first, second) = (block(first), block(second));
                format!("the ▷ test between {first} and {second} is too large")
            }
            Obstacle::AgainstRank { from, to, by } => format!(
                "{} must come before {} but has lower priority, by task {}",
                block(from),
                block(to),
                names(&[by])
            ),
            Obstacle::AgainstMerge { from, to, by } => format!(
                "{} and {} would have to be merged, but task {} leads from one to the other",
                block(from),
                block(to),
                names(&[by])
            ),
        })
    }
}
