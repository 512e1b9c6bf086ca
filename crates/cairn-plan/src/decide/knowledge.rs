//! What is known of one component, and how a method adds to it. Knows no method.

use super::component::Component;
use super::ids::NodeId;
use cairn_kernel::Work;
use cairn_theory::profile::area;

/// What one method found out. Empty fields say "nothing new": a method that gave up returns the default.
#[derive(Clone, Debug, Default)]
pub(super) struct Finding {
    /// No set of `t` executed nodes gains more than `upper[t]`.
    pub(super) upper: Option<Vec<u32>>,
    /// For each `t`, some real set of at most `t` nodes that could be executed gains `lower[t]`.
    pub(super) lower: Option<Vec<u32>>,
    /// An order of all nodes that respects the gates.
    pub(super) order: Option<Vec<NodeId>>,
    /// Whether an IC-optimal order exists, where the method proved it either way.
    pub(super) admits: Option<bool>,
    /// How many states it looked at.
    pub(super) states: u64,
}

impl Finding {
    /// The exact profile and the states looked at, from a program that gives no order; nothing where it gave up.
    pub(super) fn exact(found: Option<(Vec<u32>, u64)>) -> Finding {
        let finding = found.map(|(profile, states)| Finding {
            upper: Some(profile.clone()),
            lower: Some(profile),
            states,
            ..Finding::default()
        });
        finding.unwrap_or_default()
    }
}

/// A way to learn about a component. An answer is exact, a bound, or nothing: never a guess called a fact.
pub(super) trait Method {
    /// Short name for reports.
    fn name(&self) -> &'static str;

    /// Examines the component within the budget. `known` may serve as threshold or be ignored.
    fn examine(&self, component: &Component, known: &Knowledge, work: &mut Work<'_>) -> Finding;
}

/// The best bounds and the best order so far.
#[derive(Clone, Debug)]
pub(super) struct Knowledge {
    /// No set of `t` executed nodes gains more.
    pub(super) upper: Vec<u32>,
    /// Real sets gain at least this much.
    pub(super) lower: Vec<u32>,
    /// The order with the largest area so far.
    pub(super) order: Vec<NodeId>,
    /// What that order gains.
    pub(super) profile: Vec<u32>,
    /// Whether an IC-optimal order exists; `None` while undecided.
    pub(super) admits: Option<bool>,
    /// The method that decided, or else the last that added something, and how many states it looked at.
    pub(super) by: (&'static str, u64),
}

impl Knowledge {
    /// Starts from a valid upper bound and any order that respects the gates.
    ///
    /// # Panics
    /// If the order does not.
    pub(super) fn new(component: &Component, upper: Vec<u32>, order: Vec<NodeId>) -> Knowledge {
        let (order, profile) = compacted_with_profile(component, &order);
        let mut known = Knowledge {
            lower: profile.clone(),
            upper,
            order,
            profile,
            admits: None,
            by: ("first order", 0),
        };
        known.settle();
        known
    }

    /// Whether nothing more can be learnt: the answer is known and so is the profile.
    pub(super) fn is_decided(&self) -> bool {
        match self.admits {
            Some(true) => true,
            Some(false) => self.is_exact(),
            None => false,
        }
    }

    /// Whether the best gain is known at every step.
    pub(super) fn is_exact(&self) -> bool {
        self.upper == self.lower
    }

    /// Runs a method and takes over what it found.
    pub(super) fn learn(
        &mut self,
        method: &dyn Method,
        component: &Component,
        work: &mut Work<'_>,
    ) {
        // One place through which all that is claimed goes, so that no method need be trusted to keep the best.
        let finding = method.examine(component, self, work);
        self.absorb(component, finding, method.name());
    }

    fn sums(&self) -> (Option<bool>, [u64; 3]) {
        let of = [&self.upper, &self.lower, &self.profile];
        (self.admits, of.map(|gains| area(gains)))
    }

    fn absorb(&mut self, component: &Component, finding: Finding, name: &'static str) {
        let before = self.sums();
        for (have, new) in self.upper.iter_mut().zip(finding.upper.iter().flatten()) {
            *have = (*have).min(*new);
        }
        self.raise_lower(finding.lower.iter().flatten());
        if let Some(order) = finding.order {
            self.take_order(component, &order);
        }
        if let Some(admits) = finding.admits {
            debug_assert!(
                self.admits.is_none_or(|a| a == admits),
                "{name} contradicts {}",
                self.by.0
            );
            self.admits = Some(admits);
        }
        self.settle();
        // Each bound moves one way only: equal sums mean that nothing changed.
        if self.sums() != before {
            self.by = (name, finding.states);
        }
    }

    fn raise_lower<'g>(&mut self, gains: impl Iterator<Item = &'g u32>) {
        for (have, new) in self.lower.iter_mut().zip(gains) {
            *have = (*have).max(*new);
        }
    }

    /// Keeps the order, compacted, if its area is the largest so far.
    ///
    /// # Panics
    /// If it does not respect the gates.
    pub(super) fn take_order(&mut self, component: &Component, order: &[NodeId]) {
        let (order, profile) = compacted_with_profile(component, order);
        self.raise_lower(profile.iter());
        // Strictly: of equal orders the first stays, so that later methods do not change a plan for nothing.
        if area(&profile) > area(&self.profile) {
            (self.order, self.profile) = (order, profile);
            self.settle();
        }
    }

    fn settle(&mut self) {
        debug_assert!(
            self.lower.iter().zip(&self.upper).all(|(l, u)| l <= u),
            "a real set passes the bound: {:?} {:?}",
            self.lower,
            self.upper
        );
        // An order that meets a bound at every step is IC-optimal, whatever method the bound came from.
        if self.profile == self.upper {
            self.admits = Some(true);
        }
    }
}

/// The order without idle steps, and what it gains.
fn compacted_with_profile(component: &Component, order: &[NodeId]) -> (Vec<NodeId>, Vec<u32>) {
    let order = component.compacted(order);
    let order = order.expect("orders respect the gates");
    let profile = component.profile(&order);
    (order, profile.expect("compacting respects the gates"))
}
