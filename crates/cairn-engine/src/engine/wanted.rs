//! Tasks that some volunteer has had, and of which another copy is needed, kept apart by who may not have them. Decides nothing.

use crate::{ClassId, ClientId, Task};
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a task needs, and the clients that may not have it, sorted.
pub(super) type Group = (ClassId, Vec<ClientId>);

/// Where a task comes: those that are raised first, then by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) is_plain: bool,
    pub(super) rank: u64,
}

/// They are in no queue. However many a client has had already, it passes them over as one.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    place: HashMap<Task, (Place, Group)>,
    /// By place; never empty.
    groups: BTreeMap<Group, BTreeSet<(Place, Task)>>,
}

impl Wanted {
    pub(super) fn is_empty(&self) -> bool {
        self.place.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Wanted::default();
    }

    /// The task is wanted so, or not at all.
    pub(super) fn set(&mut self, place: Place, task: Task, group: Option<Group>) {
        if let Some((place, group)) = self.place.remove(&task)
            && let Some(tasks) = self.groups.get_mut(&group)
        {
            tasks.remove(&(place, task));
            if tasks.is_empty() {
                self.groups.remove(&group);
            }
        }
        if let Some(group) = group {
            let tasks = self.groups.entry(group.clone()).or_default();
            tasks.insert((place, task));
            self.place.insert(task, (place, group));
        }
    }

    /// What this client may have, or, where it is `None`, somebody who is trusted: by group, each by place.
    pub(super) fn open_to(
        &self,
        client: Option<ClientId>,
    ) -> impl Iterator<Item = (ClassId, &BTreeSet<(Place, Task)>)> {
        let is_open = move |barred: &[ClientId]| {
            client.is_none_or(|client| barred.binary_search(&client).is_err())
        };
        let open = (self.groups.iter()).filter(move |((_, barred), _)| is_open(barred));
        open.map(|((class, _), tasks)| (*class, tasks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cairn_oracle::Random;

    /// Against a plain list of all that is wanted.
    #[test]
    fn what_a_client_may_have_is_what_a_plain_list_says() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut wanted = Wanted::default();
            let mut list: BTreeMap<Task, (Place, Group)> = BTreeMap::new();
            for _ in 0..60 {
                let task = Task(random.below(8) as u64);
                let place = Place {
                    is_plain: random.below(2) == 0,
                    rank: random.below(5) as u64,
                };
                let barred = (0..4).filter(|_| random.below(2) == 0).map(ClientId);
                let barred: Vec<ClientId> = barred.collect();
                let group = (ClassId::new(random.below(2)), barred);
                let group = (random.below(3) > 0).then_some(group);
                wanted.set(place, task, group.clone());
                list.remove(&task);
                list.extend(group.map(|group| (task, (place, group))));
                for client in (0..4).map(ClientId).map(Some).chain([None]) {
                    let is_open = |g: &Group| client.is_none_or(|client| !g.1.contains(&client));
                    let open = list.iter().filter(|(_, (_, group))| is_open(group));
                    let expected: BTreeSet<_> = open
                        .map(|(&task, (place, group))| (*place, group.0, task))
                        .collect();
                    let found = wanted.open_to(client);
                    let found: BTreeSet<_> = found
                        .flat_map(|(class, tasks)| tasks.iter().map(move |&(p, t)| (p, class, t)))
                        .collect();
                    assert_eq!(found, expected);
                }
                assert_eq!(wanted.is_empty(), list.is_empty());
                assert!(wanted.groups.values().all(|tasks| !tasks.is_empty()));
            }
        }
    }
}
