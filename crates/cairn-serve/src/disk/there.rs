//! What lies on the disk: how large it is, and how it goes. Knows no flow, and not why.

use std::io;
use std::path::{Path, PathBuf};

/// A temporary file that nobody wants any more, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Why it is still there, if it is.
    pub(crate) left: Option<String>,
}

/// The bytes of a file, or of all files in a folder; `None` if there is nothing.
pub fn bytes_at(path: &Path) -> Option<u64> {
    let data = std::fs::metadata(path).ok()?;
    if !data.is_dir() {
        return Some(data.len());
    }
    let mut bytes = 0u64;
    let mut todo = vec![path.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            // Of a link itself: what it leads to lies elsewhere. What goes while we look counts as nothing.
            match entry.metadata() {
                Ok(data) if data.is_dir() => todo.push(entry.path()),
                Ok(data) => bytes = bytes.saturating_add(data.len()),
                Err(_) => (),
            }
        }
    }
    Some(bytes)
}

/// Bytes of what failed attempts left beside a file.
pub(super) fn aside(path: &Path) -> u64 {
    let mut all = 0u64;
    // Numbers are given without gaps, so that the first that is missing is the end, unless a person removed one in between.
    for number in 0.. {
        let bytes =
            std::fs::symlink_metadata(crate::run::aside_name(path, number)).map(|d| d.len());
        match bytes {
            Ok(bytes) => all = all.saturating_add(bytes),
            Err(_) => break,
        }
    }
    all
}

/// Deletes a file, if it is there; folders stay, and what a link leads to.
///
/// # Errors
/// Why it is still there.
pub fn delete(path: &Path) -> Result<(), String> {
    if std::fs::symlink_metadata(path).is_ok_and(|d| d.is_dir()) {
        return Err("it is a folder, and folders are not deleted".to_owned());
    }
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e.to_string()),
        _ => Ok(()),
    }
}

/// Deletes a file of so many bytes.
pub(super) fn swept_from(path: PathBuf, bytes: u64) -> Swept {
    let left = delete(&path).err();
    Swept { path, bytes, left }
}
