//! Reads events beside the one who writes them, a few at a time: never a long transaction. Knows no run.

use super::{FILE, StoreError, rows};
use cairn_engine::Entry;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// A second look at a store that somebody has open.
#[derive(Debug)]
pub struct Reader {
    database: Connection,
    path: PathBuf,
}

impl Reader {
    /// Opens the store of a folder for reading alone.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Reader, StoreError> {
        let path = folder.join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database =
            Connection::open_with_flags(&path, flags).map_err(|e| StoreError::sql(&path, &e))?;
        (database.busy_timeout(std::time::Duration::from_secs(30)))
            .map_err(|e| StoreError::sql(&path, &e))?;
        Ok(Reader { database, path })
    }

    /// Up to `most` events after that number, each with its number, of the flow in force.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn entries(&self, after: i64, most: usize) -> Result<Vec<(i64, Entry)>, StoreError> {
        let error = |e: &rusqlite::Error| StoreError::sql(&self.path, e);
        let first = "SELECT coalesce(max(first), 0) FROM flow";
        let first: i64 =
            (self.database.query_row(first, [], |row| row.get(0))).map_err(|e| error(&e))?;
        let begin = first.max(after.saturating_add(1));
        let mut statement = (self.database.prepare_cached(rows::SELECT)).map_err(|e| error(&e))?;
        let mut found = statement.query([begin]).map_err(|e| error(&e))?;
        let mut entries = Vec::new();
        while entries.len() < most {
            let Some(row) = found.next().map_err(|e| error(&e))? else {
                break;
            };
            entries.push(rows::read(row).map_err(|e| match e {
                rows::Unread::Sql(e) => error(&e),
                rows::Unread::Strange(what) => StoreError::Damaged {
                    path: self.path.clone(),
                    what,
                },
            })?);
        }
        Ok(entries)
    }

    /// The order of that number.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn order(&self, plan: u32) -> Result<Option<Vec<u32>>, StoreError> {
        super::order_in(&self.database, &self.path, plan)
    }
}
