//! What volunteers made, kept until their results are validated: beside the uploads, and out of sight of the workflow. Knows no
//! quorum.

use super::{Counted, Files, Staged};
use crate::http::types::Made;
use crate::private;
use cairn_engine::{Task, Token};
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The list of what an attempt made; its files are beside it, by their place in the list.
const LIST: &str = "made.json";

impl Files {
    fn held(&self, task: Task) -> PathBuf {
        self.folder.join("held").join(task.0.to_string())
    }

    fn held_of(&self, task: Task, token: Token) -> PathBuf {
        let name = format!("{}-{}", token.epoch, token.attempt);
        self.held(task).join(name)
    }

    /// Keeps the uploads of an attempt where others that are equal, or of other tasks, may come and go. On the disk when it
    /// returns.
    pub(crate) fn hold(&self, task: Task, token: Token, made: &[Made]) -> Result<()> {
        let folder = self.held_of(task, token);
        if folder.join(LIST).exists() {
            return Ok(()); // It was returned before, and the receipt got lost.
        }
        private::folder(&folder)?;
        for (number, made) in made.iter().enumerate() {
            let place = folder.join(number.to_string());
            match std::fs::hard_link(self.whole(&made.digest), &place) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => (),
                linked => linked?,
            }
            File::open(&place)?.sync_all()?;
        }
        let list = serde_json::to_string(made).expect("paths and digests are JSON");
        private::write(&folder, LIST, &list)?;
        sync(&folder)
    }

    /// Copies of what an attempt made beside their places in the folder of the workflow. Nothing, where it made nothing.
    pub(crate) fn release(&self, task: Task, token: Token) -> Result<Vec<Staged>> {
        let folder = self.held_of(task, token);
        let list = std::fs::read(folder.join(LIST))?;
        let made: Vec<Made> = serde_json::from_slice(&list)?;
        let stage = |(number, made): (usize, &Made)| {
            let mut from = File::open(folder.join(number.to_string()))?;
            let (mut file, pending) = self.flow.create(&made.path, made.executable)?;
            std::io::copy(&mut from, &mut file)?;
            // Nobody counts what is held as on its way.
            let (transit, bytes) = (self.transit.clone(), 0);
            let _bytes = Counted { transit, bytes };
            Ok(Staged { pending, _bytes })
        };
        made.iter().enumerate().map(stage).collect()
    }

    /// Nothing of the task waits any more.
    pub(crate) fn forget_held(&self, task: Task) {
        // What stays behind takes room and does no other harm.
        let _ = std::fs::remove_dir_all(self.held(task));
    }

    /// The attempt does not count.
    pub(crate) fn forget_held_of(&self, task: Task, token: Token) {
        let _ = std::fs::remove_dir_all(self.held_of(task, token));
    }
}

fn sync(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::files::digest_of;

    #[test]
    fn what_is_held_outlives_its_upload_and_takes_its_place_when_it_counts() {
        let top = tempfile::tempdir().unwrap();
        let flow = top.path().join("flow");
        std::fs::create_dir(&flow).unwrap();
        let files = Files::open(&top.path().join("files"), &flow).unwrap();
        let text = b"what a volunteer made";
        let digest = digest_of(&mut &text[..]).unwrap();
        let mut upload = files.upload(&digest, 0, text.len() as u64).unwrap();
        upload.write(text).unwrap();
        upload.finish().unwrap();
        let made = [Made {
            path: "a/out".into(),
            digest: digest.clone(),
            executable: true,
        }];
        let (task, token) = (Task(3), |attempt| Token { epoch: 1, attempt });
        files.hold(task, token(1), &made).unwrap();
        files.hold(task, token(2), &made).unwrap();
        files.hold(task, token(2), &made).unwrap();
        files.forget(&digest);
        assert!(files.hold(task, token(3), &made).is_err());
        assert!(!flow.join("a/out").exists());
        files.forget_held_of(task, token(2));
        assert!(files.release(task, token(2)).is_err());
        for staged in files.release(task, token(1)).unwrap() {
            staged.place().unwrap();
        }
        files.forget_held(task);
        assert_eq!(std::fs::read(flow.join("a/out")).unwrap(), text);
        assert!(files.release(task, token(1)).is_err());
    }
}
