//! One request at a time for each attempt: a return that comes again while the first is still taken waits for it, instead of doing
//! the same beside it. Knows no files and no engine.

use crate::mutex::lock;
use crate::tokens::Who;
use cairn_engine::{Task, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::OwnedMutexGuard;

/// Whose attempt. Nobody gets into the lane of another.
pub(crate) type Lane = (Who, Task, Token);

/// Who is in which lane.
#[derive(Debug, Default)]
pub(crate) struct Lanes(Mutex<BTreeMap<Lane, Weak<tokio::sync::Mutex<()>>>>);

impl Lanes {
    /// Waits until nobody is in any of these lanes, and keeps others out until what it returns is dropped.
    pub(crate) async fn enter(&self, lanes: BTreeSet<Lane>) -> Vec<OwnedMutexGuard<()>> {
        let mut inside = Vec::with_capacity(lanes.len());
        // All go in the same order: nobody waits in a circle.
        for lane in self.of(lanes) {
            inside.push(lane.lock_owned().await);
        }
        inside
    }

    fn of(&self, lanes: BTreeSet<Lane>) -> Vec<Arc<tokio::sync::Mutex<()>>> {
        if lanes.is_empty() {
            return Vec::new();
        }
        let mut all = lock(&self.0);
        // Who leaves a lane does not come here: those that are empty go now.
        all.retain(|_, lane| lane.strong_count() > 0);
        let of = |lane| {
            let known = all.get(&lane).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let new = Arc::new(tokio::sync::Mutex::new(()));
                all.insert(lane, Arc::downgrade(&new));
                new
            })
        };
        lanes.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[test]
    fn one_at_a_time_is_in_a_lane() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let lanes = Lanes::default();
            let lane = |who, n| {
                (
                    who,
                    Task(n),
                    Token {
                        epoch: 1,
                        attempt: 1,
                    },
                )
            };
            let mine = |n| lane(Who::Volunteer(1), n);
            let soon = Duration::from_millis(20);
            let first = lanes.enter([mine(1), mine(2)].into()).await;
            assert!(timeout(soon, lanes.enter([mine(2)].into())).await.is_err());
            let other = lanes.enter([lane(Who::Trusted, 2), mine(3)].into());
            assert!(timeout(soon, other).await.is_ok());
            drop(first);
            assert!(timeout(soon, lanes.enter([mine(2)].into())).await.is_ok());
            assert!(lanes.0.lock().unwrap().len() <= 4);
        });
    }
}
