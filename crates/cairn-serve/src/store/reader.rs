//! Reads events beside the one who writes them, a few at a time: never a long transaction. Knows no run.

use super::schema::{MIGRATIONS, version};
use super::{BUSY, FILE, StoreError, rows};
use cairn_engine::{Entry, Moment, Snapshot};
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
    /// If there is none, it is of a newer version or not ours, or cannot be read.
    pub fn open(folder: &Path) -> Result<Reader, StoreError> {
        let path = folder.join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database =
            Connection::open_with_flags(&path, flags).map_err(|e| StoreError::sql(&path, &e))?;
        (database.busy_timeout(BUSY)).map_err(|e| StoreError::sql(&path, &e))?;
        // Else words of a later version would be taken for damage.
        version(&database, &path, &MIGRATIONS).map_err(|e| StoreError::sql(&path, &e))??;
        Ok(Reader { database, path })
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sql(&self.path, error)
    }

    fn damaged(&self, what: String) -> StoreError {
        let path = self.path.clone();
        StoreError::Damaged { path, what }
    }

    /// The flows that the run was given, one after the other: their numbers, and those of their first events.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn flows(&self) -> Result<Vec<(i64, i64)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(i64, i64)>> {
            let sql = "SELECT number, first FROM flow ORDER BY number";
            let mut statement = self.database.prepare_cached(sql)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            statement.query_map([], row)?.collect()
        };
        read().map_err(|e| self.error(&e))
    }

    /// The names of the tasks of a flow, by number; none of a family.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn names(&self, flow: i64) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT names FROM flow WHERE number = ?1";
        let packed: Vec<u8> = (self.database)
            .query_row(sql, [flow], |row| row.get(0))
            .map_err(|e| self.error(&e))?;
        let strange = |e: &dyn std::fmt::Display| self.damaged(format!("names of tasks: {e}"));
        let names = zstd::decode_all(&packed[..]).map_err(|e| strange(&e))?;
        serde_json::from_slice(&names).map_err(|e| strange(&e))
    }

    /// Up to `most` events after that number, each with its number, of the flow in force.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn entries(&self, after: i64, most: usize) -> Result<Vec<(i64, Entry)>, StoreError> {
        // Asked each time: the flow may be another since, and then numbers of tasks mean others.
        let first = "SELECT coalesce(max(first), 0) FROM flow";
        let first: i64 =
            (self.database.query_row(first, [], |row| row.get(0))).map_err(|e| self.error(&e))?;
        let begin = first.max(after.saturating_add(1));
        self.entries_between(begin - 1, i64::MAX, most)
    }

    /// Up to `most` events after one number, none beyond another, each with its number, of whatever flow.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub(crate) fn entries_between(
        &self,
        after: i64,
        last: i64,
        most: usize,
    ) -> Result<Vec<(i64, Entry)>, StoreError> {
        let mut statement =
            (self.database.prepare_cached(rows::SELECT)).map_err(|e| self.error(&e))?;
        let mut found = statement
            .query([after.saturating_add(1)])
            .map_err(|e| self.error(&e))?;
        // A bound in rows, and the query ends with this function: whoever reads for long would keep the log beside the file from
        // being taken in.
        let mut entries = Vec::new();
        while entries.len() < most {
            let Some(row) = found.next().map_err(|e| self.error(&e))? else {
                break;
            };
            let (number, entry) = rows::read(row).map_err(|e| match e {
                rows::Unread::Sql(e) => self.error(&e),
                rows::Unread::Strange(what) => self.damaged(what),
            })?;
            if number > last {
                break;
            }
            entries.push((number, entry));
        }
        Ok(entries)
    }

    /// The number of the last event that the newest snapshot stands for; 0 where there is none.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn condensed(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM snapshot \
                   WHERE seq >= (SELECT coalesce(max(first), 0) FROM flow)";
        let found = self.database.query_row(sql, [], |row| row.get(0));
        found.map_err(|e| StoreError::sql(&self.path, &e))
    }

    /// The newest snapshot: the number of the last event it stands for, when it was made, and what it has.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn snapshot(&self) -> Result<Option<(i64, Moment, Snapshot)>, StoreError> {
        super::snapshot_in(&self.database, &self.path)
    }

    /// The order of that number.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn order(&self, plan: u32) -> Result<Option<Vec<u32>>, StoreError> {
        super::order_in(&self.database, &self.path, plan)
    }
}
