//! Exact and beam search over unions of reward closures: what a walk through them tells. Knows nothing of hulls.
//!
//! The *closure* of a reward is every node that must be executed to gain it. The best gain at `t` steps is reached
//! by a union of closures of at most `t` nodes; whatever else is executed is filler. So it is enough to walk
//! through unions of closures (macro states), of which there are far fewer than ideals: Epigenomics workflows have
//! dozens instead of more than 10⁵.

use super::component::Component;
use super::knowledge::{Finding, Knowledge, Method};
use super::walk::{Space, growing};
use cairn_kernel::Work;

/// Looks at all macro states, or at a beam of the best of each size.
///
/// Complete enumeration gives the exact profile, the order of largest area and so the answer whether an IC-optimal
/// order exists: an IC-optimal one would have the largest area, and if the largest area misses the profile
/// somewhere, no order attains it everywhere. A truncated beam gives an order and a lower bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct MacroStates {
    /// Keep about this many states of each size; `None` keeps all.
    pub(super) beam: Option<usize>,
}

impl MacroStates {
    /// Whether a beam of this width comes through the component with so many steps, without being narrowed at once.
    pub(super) fn fits(&self, component: &Component, steps: u64) -> bool {
        // Sizes that a walk really visits: closures mostly bring several nodes at once.
        let states = (component.nodes() / 4).saturating_mul(self.beam.unwrap_or(usize::MAX));
        growing(component, states) <= steps
    }
}

impl Method for MacroStates {
    fn name(&self) -> &'static str {
        match self.beam {
            Some(_) => "beam",
            None => "macro states",
        }
    }

    fn examine(&self, component: &Component, _: &Knowledge, work: &mut Work<'_>) -> Finding {
        let walk = Space::new(component, work).and_then(|space| space.walk(None, self.beam, work));
        let Some(walk) = walk else {
            return Finding::default();
        };
        let order = walk
            .order
            .expect("without a threshold the full set is reached");
        let profile = component
            .profile(&order)
            .expect("closures respect the gates");
        let complete = walk.complete;
        Finding {
            admits: complete.then(|| profile == walk.best),
            upper: complete.then(|| walk.best.clone()),
            lower: Some(walk.best),
            order: Some(order),
            states: walk.states,
        }
    }
}

/// Searches all chains of macro states that gain at least the known lower bound at every step.
///
/// An IC-optimal order, if there is one, is such a chain. So an exhausted search without a chain proves that there
/// is none, and a chain that is found and meets the upper bound proves that there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChainSearch;

impl Method for ChainSearch {
    fn name(&self) -> &'static str {
        "chain search"
    }

    fn examine(&self, component: &Component, known: &Knowledge, work: &mut Work<'_>) -> Finding {
        let least = Some(&known.lower[..]);
        let walk = Space::new(component, work).and_then(|space| space.walk(least, None, work));
        let finding = walk.map(|walk| Finding {
            // An order that was found proves nothing by itself: `Knowledge` compares it with the bound.
            admits: walk.order.is_none().then_some(false),
            order: walk.order,
            states: walk.states,
            ..Finding::default()
        });
        finding.unwrap_or_default()
    }
}
