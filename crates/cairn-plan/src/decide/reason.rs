//! Chooses, of the reasons why no IC-optimal order exists, one that shows two steps. Knows nothing of how they are found.

use super::pair;
use super::refusal::{Conflict, Refusal};
use super::solved::Solved;
use super::split_pair::{self, Part};
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
        work.lend(work.left() / 4 * 3, |work| {
            self.look_for_pair(&mut refusal, work);
        });
        let (size, own) = match &refusal {
            Refusal::Crossing(_) => return refusal,
            _ if refusal.shows_two_sets() => return refusal,
            Refusal::Component { component, .. } => (
                self.placed[*component].tasks.len(),
                Some(self.class[*component]),
            ),
            Refusal::Sum { from, to, .. } => (to - from, None),
        };
        let mut others: Vec<usize> = (self.first.iter().zip(&self.known))
            .filter(|(_, known)| known.admits == Some(false))
            .map(|(&i, _)| i)
            .filter(|&i| self.placed[i].tasks.len() <= size && Some(self.class[i]) != own)
            .collect();
        others.sort_by_key(|&i| self.placed[i].tasks.len());
        for i in others {
            let j = self.placed[i].interval as usize;
            let mut other = self.refusal_of(i, start[j], start[j + 1]);
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
                let placed = &self.placed[*component];
                let known = &self.known[self.class[*component]];
                *conflict = pair::look(&placed.component, &placed.tasks, known, work);
            }
            Refusal::Sum {
                interval,
                from,
                step,
                conflict,
                ..
            } => {
                let here = self.placed.iter().zip(&self.class);
                let parts: Vec<Part<'_>> = here
                    .filter(|(placed, _)| placed.interval as usize == *interval)
                    .map(|(placed, &class)| {
                        let known = &self.known[class];
                        let order = known.order.iter();
                        Part {
                            profile: &known.profile,
                            order: order.map(|&v| placed.tasks[v as usize]).collect(),
                        }
                    })
                    .collect();
                *conflict = split_pair::look(&parts, *step - *from, work);
            }
        }
    }

    /// That component `i` of the interval between these steps admits no IC-optimal order.
    pub(super) fn refusal_of(&self, i: usize, from: usize, to: usize) -> Refusal {
        let (method, states) = self.known[self.class[i]].by;
        Refusal::Component {
            from,
            to,
            component: i,
            tasks: self.placed[i].tasks.clone(),
            method,
            states,
            conflict: Conflict::Unknown,
        }
    }
}
