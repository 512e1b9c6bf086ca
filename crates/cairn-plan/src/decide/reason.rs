//! Chooses, of the reasons why no IC-optimal order exists, one that shows two steps. Knows nothing of how they are found.

use super::component::Placed;
use super::ids::ComponentId;
use super::pair;
use super::refusal::{Conflict, Refusal};
use super::solved::Solved;
use super::split_pair::{self, Summand};
use crate::budgets::decide::pair::OWN_QUARTERS;
use cairn_kernel::Work;

impl Solved {
    /// The refusal with two steps that conflict; where none are found, that of another component that refuses and is
    /// no larger; or else the refusal as it is. `start` tells the nonsinks before each interval.
    pub(super) fn with_pair(
        &self,
        mut refusal: Refusal,
        start: &[usize],
        work: &mut Work<'_>,
    ) -> Refusal {
        work.lend(work.left() / 4 * OWN_QUARTERS, |work| {
            self.look_for_pair(&mut refusal, work);
        });
        let own = match &refusal {
            Refusal::Crossing(_) => return refusal,
            _ if refusal.shows_two_sets() => return refusal,
            Refusal::Component { component, .. } => Some(self.class(*component)),
            Refusal::Sum { .. } => None,
        };
        let length = |c: ComponentId| self.placed(c).tasks.len();
        let mut others: Vec<ComponentId> = (self.classes())
            .filter(|(_, known)| known.admits == Some(false))
            .map(|(first, _)| first)
            .filter(|&c| length(c) <= refusal.size() && Some(self.class(c)) != own)
            .collect();
        // The smallest is understood soonest.
        others.sort_by_key(|&c| length(c));
        for component in others {
            let mut other = self.refusal_of(component, start);
            self.look_for_pair(&mut other, work);
            if other.shows_two_sets() {
                return other;
            }
        }
        refusal
    }

    /// Looks for two steps that conflict, in the component or in the interval that refuses.
    fn look_for_pair(&self, refusal: &mut Refusal, work: &mut Work<'_>) {
        match refusal {
            Refusal::Crossing(_) => {}
            Refusal::Component {
                component,
                conflict,
                ..
            } => {
                let (placed, known) = (self.placed(*component), self.known(*component));
                *conflict = pair::look(&placed.component, &placed.tasks, known, work);
            }
            Refusal::Sum {
                interval,
                from,
                step,
                conflict,
                ..
            } => {
                let parts: Vec<Summand<'_>> = (self.components())
                    .filter(|&c| self.placed(c).interval == *interval)
                    .map(|c| Summand {
                        profile: &self.known(c).profile,
                        order: self.order(c),
                    })
                    .collect();
                *conflict = split_pair::look(&parts, *step - *from, work);
            }
        }
    }

    /// That a component admits no IC-optimal order. `start` tells the nonsinks before its interval and at the end of it.
    pub(super) fn refusal_of(&self, component: ComponentId, start: &[usize]) -> Refusal {
        let (method, states) = self.known(component).by;
        let Placed {
            interval, tasks, ..
        } = self.placed(component);
        Refusal::Component {
            from: start[interval.index()],
            to: start[interval.index() + 1],
            interval: *interval,
            component,
            tasks: tasks.clone(),
            method,
            states,
            conflict: Conflict::Unknown,
        }
    }
}
