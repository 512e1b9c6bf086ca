//! Whether server and worker see the same disk: shown by files, never believed because of an address, which a tunnel may carry
//! to another machine. Knows no tasks.
//!
//! ```text
//! worker: PLACE/near             64 random digits that no sandboxed task can read; the server tells their digest
//! server: FLOW/.cairn-near-RUN-DIGITS   64 random digits; the worker finds those that it was told in the folder that it was told
//! ```
//!
//! The server's file is empty and its name says all: a disk under a cap has no byte of it.
//!
//! The first shows that the server is where the worker's files are: then a sandbox would keep nothing from it. The second
//! shows that a folder of that name is the folder of the workflow.

use crate::private;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The worker's file is called so: the server opens no other.
const SECRET: &str = "near";
/// Random digits.
// 256 bits, as their digest has: nobody guesses them. With another number, servers and workers of two versions would not see that
// they are on one machine.
const DIGITS: usize = 64;

fn digest(secret: &str) -> String {
    blake3::hash(secret.as_bytes()).to_hex().to_string()
}

/// Reads a file of random digits, and nothing else: no link, no pipe, no other text.
fn digits(path: &Path) -> Option<String> {
    // Whoever has a worker's token says which path: a link could lead to anything, and a pipe would be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.len() != DIGITS as u64 {
        return None;
    }
    let mut text = String::new();
    file.take(DIGITS as u64).read_to_string(&mut text).ok()?;
    are_digits(&text).then_some(text)
}

fn are_digits(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// What a worker shows: a secret in its own place.
#[derive(Debug)]
pub(crate) struct Proof {
    file: PathBuf,
    text: String,
}

impl Proof {
    pub(crate) fn put(place: &Path) -> std::io::Result<Proof> {
        let text = private::random(DIGITS / 2)?;
        private::write(place, SECRET, &text)?;
        let file = place.join(SECRET);
        Ok(Proof { file, text })
    }

    /// Where it is, as the server is asked.
    pub(crate) fn path(&self) -> Option<String> {
        self.file.to_str().map(str::to_owned)
    }

    /// Whether the server has seen it.
    pub(crate) fn was_seen(&self, answer: Option<&str>) -> bool {
        answer.is_some_and(|answer| answer == digest(&self.text))
    }
}

/// What the server answers to a worker that says where its secret is: its digest, if the server sees it.
pub(crate) fn answer(path: &str) -> Option<String> {
    let path = Path::new(path);
    let is_one = path.is_absolute() && path.file_name().is_some_and(|name| name == SECRET);
    // The digest alone, of a file of that name and kind alone: whoever has a token must not read files through the server.
    Some(digest(&digits(path).filter(|_| is_one)?))
}

/// What a server shows: digits in the folder of the workflow, for as long as it serves.
#[derive(Debug)]
pub(crate) struct Sign {
    file: PathBuf,
    text: String,
}

/// How the names of all signs of a run begin.
fn beginning(run: &str) -> String {
    let run = blake3::hash(run.as_bytes()).to_hex();
    format!(".cairn-near-{}-", &run[..12])
}

impl Sign {
    pub(crate) fn put(folder: &Path, run: &str) -> std::io::Result<Sign> {
        let (beginning, text) = (beginning(run), private::random(DIGITS / 2)?);
        // Only of this run, whose store nobody else has open: signs of other servers in the same folder stay.
        remove_signs(folder, &beginning);
        let file = folder.join(beginning + &text);
        File::create_new(&file)?;
        Ok(Sign { file, text })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// A server that was killed left its own.
fn remove_signs(folder: &Path, beginning: &str) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(beginning));
        if digits.is_some_and(are_digits) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl Drop for Sign {
    fn drop(&mut self) {
        // Nobody takes it for anything once the server has ended.
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Whether this folder is the one in which the server of that run put its sign.
pub(crate) fn is_signed(folder: &Path, run: &str, text: &str) -> bool {
    // What a server says becomes no path before it is known to be one name.
    are_digits(text)
        && std::fs::symlink_metadata(folder.join(beginning(run) + text)).is_ok_and(|m| m.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_sees_the_disk_answers() {
        let place = tempfile::tempdir().unwrap();
        let secret = Proof::put(place.path()).unwrap();
        let path = secret.path().unwrap();
        assert!(secret.was_seen(answer(&path).as_deref()));
        assert!(!secret.was_seen(None) && !secret.was_seen(Some(&secret.text)));
        // Another machine has nothing there, or another text.
        let elsewhere = Proof::put(tempfile::tempdir().unwrap().path());
        assert!(!secret.was_seen(answer(&elsewhere.unwrap().path().unwrap()).as_deref()));
        std::fs::write(place.path().join("other"), &secret.text).unwrap();
        assert_eq!(answer(place.path().join("other").to_str().unwrap()), None);
        std::fs::write(&path, "root:x:0:0").unwrap();
        assert_eq!(answer(&path), None);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("other", &path).unwrap();
        assert_eq!(answer(&path), None);
    }

    #[test]
    fn a_folder_of_the_same_name_is_not_the_same_folder() {
        let [here, there] = [0, 1].map(|_| tempfile::tempdir().unwrap());
        let sign = Sign::put(here.path(), "a").unwrap();
        assert!(is_signed(here.path(), "a", sign.text()));
        assert!(!is_signed(there.path(), "a", sign.text()));
        assert!(!is_signed(here.path(), "b", sign.text()));
        let text = format!("../{}", &sign.text()[3..]);
        assert!(!is_signed(here.path(), "a", &text));
        let only = std::fs::read_dir(here.path()).unwrap().next().unwrap();
        assert_eq!(only.unwrap().metadata().unwrap().len(), 0);
        // One that was killed left its own: the next one removes it, and nothing else.
        let mine = format!("{}mine", beginning("a"));
        std::fs::write(here.path().join(&mine), "").unwrap();
        std::mem::forget(sign);
        let sign = Sign::put(here.path(), "a").unwrap();
        assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 2);
        std::fs::remove_file(here.path().join(mine)).unwrap();
        drop(sign);
        assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
    }
}
