//! What volunteers made, kept until their results are validated: beside the uploads, and out of sight of the workflow. Knows no
//! quorum.

use super::{Files, Over, Staged};
use crate::http::types::Made;
use crate::mutex::lock;
use crate::private;
use crate::tokens::Who;
use cairn_engine::{Task, Token};
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The list of what an attempt made; its files are beside it, by their place in the list.
const LIST: &str = "made.json";

/// The number of the volunteer whose it is.
const WHOSE: &str = "whose";

/// What volunteers have here of a task that is not settled.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// By attempt: whose files wait for validation, and how many bytes.
    held: HashMap<Token, (u32, u64)>,
    /// By attempt: which volunteer's task printed how many bytes.
    printed: HashMap<Token, (u32, u64)>,
}

impl Files {
    /// What was held before this server began.
    pub(super) fn find_held(&self) {
        let entries = |inside: &Path| std::fs::read_dir(inside).into_iter().flatten().flatten();
        for of_task in entries(&self.folder.join("held")) {
            let name = of_task.file_name();
            let Some(task) = name.to_str().and_then(|n| n.parse().ok()) else {
                continue;
            };
            // What a hold that was cut off left there goes with the task.
            lock(&self.holding).entry(Task(task)).or_default();
            for attempt in entries(&of_task.path()) {
                let name = attempt.file_name();
                let parts = name.to_str().and_then(|n| n.split_once('-'));
                let token = parts.and_then(|(epoch, attempt)| {
                    Some(Token {
                        epoch: epoch.parse().ok()?,
                        attempt: attempt.parse().ok()?,
                    })
                });
                let whose = private::read(&attempt.path(), WHOSE).ok();
                let whose = whose.and_then(|text| text.trim().parse().ok());
                if let (Some(token), Some(number)) = (token, whose) {
                    let sizes = entries(&attempt.path()).filter_map(|e| e.metadata().ok());
                    let bytes = sizes.map(|meta| meta.len()).sum();
                    self.count_held(Task(task), token, number, bytes);
                }
            }
        }
    }

    /// So many bytes of a volunteer wait, instead of what did before.
    fn count_held(&self, task: Task, token: Token, volunteer: u32, bytes: u64) {
        let mut holding = lock(&self.holding);
        let held = &mut holding.entry(task).or_default().held;
        if let Some((who, before)) = held.insert(token, (volunteer, bytes)) {
            self.allowance.give(who, before);
        }
        self.allowance.found(volunteer, bytes);
    }

    /// What a volunteer's task printed before this server began.
    pub(crate) fn found_print(&self, volunteer: u32, (task, token): (Task, Token), bytes: u64) {
        if bytes > 0 {
            self.allowance.found(volunteer, bytes);
            self.count_print(volunteer, (task, token), bytes);
        }
    }

    fn count_print(&self, volunteer: u32, (task, token): (Task, Token), bytes: u64) {
        let mut holding = lock(&self.holding);
        let printed = &mut holding.entry(task).or_default().printed;
        printed.entry(token).or_insert((volunteer, 0)).1 += bytes;
    }

    /// Lets a volunteer's task print so many more bytes.
    pub(crate) fn may_print(
        &self,
        who: Who,
        (task, token): (Task, Token),
        bytes: u64,
    ) -> std::result::Result<(), Over> {
        let Who::Volunteer(number) = who else {
            return Ok(());
        };
        let holding = lock(&self.holding);
        let printed = (holding.get(&task)).and_then(|of| of.printed.get(&token));
        let printed = printed.map_or(0, |&(_, bytes)| bytes);
        drop(holding);
        // No waiting makes room for what an attempt prints beyond that.
        if printed.saturating_add(bytes) > self.allowance.allowed().most() {
            return Err(Over::Ever);
        }
        self.allowance.take(number, bytes)?;
        self.count_print(number, (task, token), bytes);
        Ok(())
    }

    fn held(&self, task: Task) -> PathBuf {
        self.folder.join("held").join(task.0.to_string())
    }

    fn held_of(&self, task: Task, token: Token) -> PathBuf {
        let name = format!("{}-{}", token.epoch, token.attempt);
        self.held(task).join(name)
    }

    /// Keeps the uploads of an attempt where others that are equal, or of other tasks, may come and go. What it made is what this
    /// list says, whatever was held of it before. On the disk when it returns.
    pub(crate) fn hold(&self, who: Who, task: Task, token: Token, made: &[Made]) -> Result<()> {
        lock(&self.holding).entry(task).or_default();
        let folder = self.held_of(task, token);
        if self.holds(&folder, made) {
            return Ok(()); // It was returned before, and did not count.
        }
        let new = folder.with_extension("new");
        // The one in force as well: nothing may be held that is not what was claimed last.
        for old in [&new, &folder] {
            match std::fs::remove_dir_all(old) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => (),
            }
        }
        private::folder(&new)?;
        let list = serde_json::to_string(made).expect("paths and digests are JSON");
        // Files, their list, the folder, and only then its name: what has the name is whole, whenever the power goes.
        let fill = || {
            for (number, made) in made.iter().enumerate() {
                let place = new.join(number.to_string());
                // A link takes no room, and outlives the upload.
                std::fs::hard_link(self.whole(who, &made.digest), &place)?;
                File::open(&place)?.sync_all()?;
            }
            private::write(&new, LIST, &list)?;
            if let Who::Volunteer(number) = who {
                private::write(&new, WHOSE, &number.to_string())?;
            }
            sync(&new)?;
            std::fs::rename(&new, &folder)
        };
        fill().inspect_err(|_| {
            // What stays behind goes with the task.
            let _ = std::fs::remove_dir_all(&new);
        })?;
        if let Who::Volunteer(number) = who {
            let size =
                |made: &Made| std::fs::metadata(self.whole(who, &made.digest)).map(|m| m.len());
            let bytes = made.iter().map(|made| size(made).unwrap_or(0)).sum();
            self.count_held(task, token, number, bytes);
        }
        // Else the name could be lost after the result was acknowledged.
        sync(&self.held(task))
    }

    /// Whether just this is held there.
    fn holds(&self, folder: &Path, made: &[Made]) -> bool {
        let list = std::fs::read(folder.join(LIST)).ok();
        let list = list.and_then(|list| serde_json::from_slice::<Vec<Made>>(&list).ok());
        list.is_some_and(|list| list == made)
            && (0..made.len()).all(|number| folder.join(number.to_string()).exists())
    }

    /// Copies of what an attempt made beside their places in the folder of the workflow, each with the digest that its list has.
    /// Nothing, where it made nothing.
    pub(crate) fn release(&self, task: Task, token: Token) -> Result<Vec<Staged>> {
        let folder = self.held_of(task, token);
        let list = std::fs::read(folder.join(LIST))?;
        let made: Vec<Made> = serde_json::from_slice(&list)?;
        // Nobody counts what is held as on its way.
        let stage = |(number, made): (usize, &Made)| {
            self.copied(&folder.join(number.to_string()), made, false)
        };
        made.iter().enumerate().map(stage).collect()
    }

    /// Nothing of the task waits any more. Attempts of volunteers that printed something.
    pub(crate) fn forget_held(&self, task: Task) -> Vec<Token> {
        let Some(Holding { held, printed }) = lock(&self.holding).remove(&task) else {
            return Vec::new();
        };
        // What stays behind takes room and does no other harm.
        let _ = std::fs::remove_dir_all(self.held(task));
        let tokens = printed.keys().copied().collect();
        let all = held.into_values().chain(printed.into_values());
        all.for_each(|(who, bytes)| self.allowance.give(who, bytes));
        tokens
    }

    /// What an attempt printed does not count any more. Whether it did, as a volunteer's.
    pub(crate) fn forget_print(&self, task: Task, token: Token) -> bool {
        let mut holding = lock(&self.holding);
        let of_task = holding.get_mut(&task);
        let printed = of_task.and_then(|of| of.printed.remove(&token));
        drop(holding);
        if let Some((who, bytes)) = printed {
            self.allowance.give(who, bytes);
        }
        printed.is_some()
    }

    /// The attempt does not count.
    pub(crate) fn forget_held_of(&self, task: Task, token: Token) {
        let _ = std::fs::remove_dir_all(self.held_of(task, token));
        let mut holding = lock(&self.holding);
        let held = holding.get_mut(&task).and_then(|of| of.held.remove(&token));
        drop(holding);
        if let Some((who, bytes)) = held {
            self.allowance.give(who, bytes);
        }
        // The folder of the task goes with the last of its attempts.
        let _ = std::fs::remove_dir(self.held(task));
    }
}

fn sync(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{opened, put};
    use super::*;

    const WHO: Who = Who::Volunteer(1);
    const TASK: Task = Task(3);

    fn token(attempt: u32) -> Token {
        Token { epoch: 1, attempt }
    }

    fn made(path: &str, digest: &str) -> Made {
        Made {
            path: path.into(),
            digest: digest.into(),
            executable: true,
        }
    }

    #[test]
    fn what_is_held_outlives_its_upload_and_takes_its_place_when_it_counts() {
        let (top, files) = opened();
        let flow = top.path().join("flow");
        let text = b"what a volunteer made";
        let digest = put(&files, WHO, text);
        let made = [made("a/out", &digest), made("b/out", &digest)];
        files.hold(WHO, TASK, token(1), &made).unwrap();
        files.hold(WHO, TASK, token(2), &made).unwrap();
        files.hold(WHO, TASK, token(2), &made).unwrap();
        files.forget(WHO, &digest);
        files.hold(WHO, TASK, token(2), &made).unwrap();
        assert!(files.hold(WHO, TASK, token(3), &made).is_err());
        assert!(!flow.join("a").exists());
        files.forget_held_of(TASK, token(2));
        assert!(files.release(TASK, token(2)).is_err());
        for staged in files.release(TASK, token(1)).unwrap() {
            staged.place().unwrap();
        }
        files.forget_held(TASK);
        assert_eq!(std::fs::read(flow.join("a/out")).unwrap(), text);
        // Two files: who writes into one does not change the other.
        std::fs::write(flow.join("a/out"), "changed").unwrap();
        assert_eq!(std::fs::read(flow.join("b/out")).unwrap(), text);
        assert!(files.release(TASK, token(1)).is_err());
    }

    /// What is released is what was claimed last: nobody holds one thing and claims another.
    #[test]
    fn another_claim_replaces_what_is_held() {
        let (top, files) = opened();
        let (wrong, right) = (put(&files, WHO, b"wrong"), put(&files, WHO, b"right"));
        let missing = "0".repeat(64);
        files
            .hold(WHO, TASK, token(1), &[made("out", &wrong)])
            .unwrap();
        files
            .hold(WHO, TASK, token(1), &[made("out", &right)])
            .unwrap();
        let half = [made("out", &wrong), made("other", &missing)];
        let error = files.hold(WHO, TASK, token(1), &half).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(files.release(TASK, token(1)).is_err(), "nothing is held");
        files
            .hold(WHO, TASK, token(1), &[made("out", &right)])
            .unwrap();
        let staged = files.release(TASK, token(1)).unwrap();
        staged.into_iter().for_each(|file| file.place().unwrap());
        let placed = std::fs::read(top.path().join("flow/out")).unwrap();
        assert_eq!(placed, b"right");
    }

    /// However it came about: what is held under a digest that it does not have takes no place.
    #[test]
    fn what_does_not_have_its_digest_is_not_released() {
        let (top, files) = opened();
        let digest = put(&files, WHO, b"right");
        files
            .hold(WHO, TASK, token(1), &[made("out", &digest)])
            .unwrap();
        std::fs::write(files.held_of(TASK, token(1)).join("0"), "wrong").unwrap();
        let error = files.release(TASK, token(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let left = std::fs::read_dir(top.path().join("flow")).unwrap();
        assert_eq!(left.count(), 0);
    }
}
