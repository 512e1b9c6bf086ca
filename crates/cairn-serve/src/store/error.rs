//! What can be wrong with a store, and what to do about it. Knows no tables.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// Why a store cannot be opened, read or written. Says where, why, and the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error("{} is in use by {}: wait for it to end, or take another folder for the state", folder.display(), holder(*pid))]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Who has it, where it said so.
        pid: Option<u32>,
    },
    /// A newer program wrote it.
    #[error("{} was written by a newer version (its schema is {found}, this program knows up to {known}): update the program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// It is a database of something else.
    #[error("{} is a database, but not the state of a run: take another folder for the state", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// It contains what nobody can have written.
    #[error("{} is damaged ({what}): it was left as it is; move the folder away to begin anew, or mend it with `sqlite3 cairn.db .recover`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is strange.
        what: String,
    },
    /// There is no room.
    #[error("{}: the disk is full: make room, then start again; nothing that was written is lost", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// It may not be written.
    #[error("{} cannot be written (read-only): give yourself the right to write it, or take another folder for the state", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{}: {what}", path.display())]
    Other {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        what: String,
    },
}

fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

impl StoreError {
    pub(super) fn io(path: &Path, error: &std::io::Error) -> StoreError {
        let path = path.to_owned();
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                StoreError::Full { path }
            }
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
                StoreError::ReadOnly { path }
            }
            _ => StoreError::Other {
                path,
                what: error.to_string(),
            },
        }
    }

    pub(super) fn sql(path: &Path, error: &rusqlite::Error) -> StoreError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            // `CannotOpen`: the file may be readable and its folder not writable, where the log beside it has to be made.
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                StoreError::ReadOnly { path }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged {
                path,
                what: error.to_string(),
            },
            Some(_) => StoreError::Other {
                path,
                what: error.to_string(),
            },
            // A column of the wrong type, a row that is missing.
            None => StoreError::Damaged {
                path,
                what: error.to_string(),
            },
        }
    }
}
