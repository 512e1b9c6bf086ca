//! The file in which what was learnt is kept for later runs. Several runs may share it: what others wrote meanwhile stays. Knows
//! no engine.

use cairn_engine::Memory;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where it is.
#[derive(Clone, Debug)]
pub struct BookFile(PathBuf);

/// Why it tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// It is there and cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is something else, or of a later version.
    #[error("{} is no book of times and speeds, or of a later cairn", .0.display())]
    Strange(PathBuf),
}

impl BookFile {
    /// At this place; it need not be there.
    pub fn new(path: PathBuf) -> BookFile {
        BookFile(path)
    }

    /// What earlier runs taught; nothing, where there is no such file yet.
    ///
    /// # Errors
    /// If it cannot be read, or is no book that this version knows.
    pub fn read(&self) -> Result<Memory, BookError> {
        let path = &self.0;
        match std::fs::read_to_string(path) {
            Ok(text) => (serde_json::from_str(&text).ok())
                .filter(Memory::is_readable)
                .ok_or_else(|| BookError::Strange(path.clone())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Memory::default()),
            Err(error) => Err(BookError::Unread {
                path: path.clone(),
                error,
            }),
        }
    }

    /// Adds what was learnt to what is there. It can be learnt again, so what goes wrong here ends nothing.
    pub(crate) fn add(&self, learnt: Memory) {
        if learnt.is_empty() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let learnt = learnt.seen(now.map_or(0, |since| since.as_secs()));
        // Other runs may have the same book: one reads and writes at a time.
        // Where that cannot be, as on some disks of networks, it is written all the same: at worst what
        // another run learnt in this moment is lost.
        let lock = File::create(self.0.with_extension("lock"));
        let _held = lock.and_then(|file| file.lock().map(|()| file));
        // A book of a later version, put there meanwhile, is not written over.
        let Ok(before) = self.read() else {
            return;
        };
        if let Ok(text) = serde_json::to_string_pretty(&before.then(&learnt).bounded()) {
            let _ = replace(&self.0, &(text + "\n"));
        }
    }
}

/// Whole or not at all.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // By process: two that could not lock must not write into one file.
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    // Before it takes its name: an empty book after a power cut would be no book, and refused by the next start.
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(text: &str) -> Memory {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_others_wrote_meanwhile_stays_and_earlier_forms_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.json");
        let file = BookFile::new(path.clone());
        assert!(file.read().unwrap().is_empty());
        let of = |name: &str| {
            format!(
                "{{\"version\":1,\"kinds\":{{}},\"workers\":{{\"{name}\":{{\"log\":0.5,\"variance\":0.1,\"returned\":3}}}}}}"
            )
        };
        std::fs::write(&path, of("first")).unwrap();
        file.add(book(&of("second")));
        let both = file.read().unwrap();
        assert_eq!(both.counts(), (0, 2));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"version\": 3"), "{text}");
        // A later form is neither read nor written over.
        let later = of("x").replace("\"version\":1", "\"version\":9");
        std::fs::write(&path, &later).unwrap();
        assert!(matches!(file.read(), Err(BookError::Strange(_))));
        file.add(book(&of("third")));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), later);
    }

    /// Files are kept by kind: those of earlier forms have none, and of two runs the larger counts.
    #[test]
    fn sizes_of_several_runs_are_added_to_books_of_earlier_forms() {
        let folder = tempfile::tempdir().unwrap();
        let file = BookFile::new(folder.path().join("book.json"));
        let of = |version: u32, files: &str| {
            book(&format!(
                "{{\"version\":{version},\"kinds\":{{}},\"workers\":{{}}{files}}}"
            ))
        };
        let old = "{\"version\":2,\"kinds\":{},\"workers\":{\"w\":{\"log\":0.5,\"variance\":0.1,\"returned\":3}}}";
        std::fs::write(&file.0, old).unwrap();
        assert!(file.read().unwrap().files().is_empty());
        let most = |most: f64| {
            let line = "{\"kind\":\"k\",\"output\":0,\"unknown\":true,\"seen\":4,\"most\":";
            of(3, &format!(",\"files\":[{line}{most}}}]"))
        };
        for seen in [700.0, 900.0, 800.0] {
            file.add(most(seen));
        }
        let read = file.read().unwrap();
        assert_eq!(read.counts(), (0, 1), "what was there stays");
        let kinds = ["other", "k"].map(String::from);
        let learnt = read.files().learnt(&kinds);
        assert_eq!(learnt.len(), 1);
        assert_eq!(
            (learnt[0].kind, learnt[0].seen, learnt[0].most),
            (cairn_engine::KindId(1), 4, 900.0)
        );
        // Less than nothing is no size: the rest of the book is read all the same, and written without that.
        let text = std::fs::read_to_string(&file.0).unwrap();
        std::fs::write(&file.0, text.replace("900.0", "-900.0")).unwrap();
        let read = file.read().unwrap();
        assert_eq!((read.counts(), read.spoilt()), ((0, 1), 1));
        assert!(read.files().is_empty());
        file.add(most(700.0));
        assert_eq!(file.read().unwrap().spoilt(), 0);
    }

    #[test]
    fn a_book_stays_bounded_and_keeps_who_was_seen_last() {
        let folder = tempfile::tempdir().unwrap();
        let file = BookFile::new(folder.path().join("book.json"));
        let of = |range: std::ops::Range<u32>| {
            let each =
                range.map(|n| format!("\"w{n:06}\":{{\"log\":0,\"variance\":0.1,\"returned\":1}}"));
            let all: Vec<String> = each.collect();
            book(&format!(
                "{{\"version\":2,\"kinds\":{{}},\"workers\":{{{}}}}}",
                all.join(",")
            ))
        };
        let old = of(0..9_000).seen(1);
        std::fs::write(&file.0, serde_json::to_string(&old).unwrap()).unwrap();
        file.add(of(50_000..52_000));
        assert_eq!(file.read().unwrap().counts(), (0, 10_000));
        let text = std::fs::read_to_string(&file.0).unwrap();
        assert!(
            text.contains("w051999") && text.contains("w007999"),
            "the newest stay"
        );
        assert!(!text.contains("w008000"));
    }
}
