//! Reads events beside the one who writes them, a few at a time: never a long transaction. Knows no run.

use super::db::Db;
use super::schema::{MIGRATIONS, version};
use super::{BUSY, FILE, StoreError};
use cairn_engine::{Entry, Moment, Snapshot};
use rusqlite::{Connection, OpenFlags};
use std::ops::ControlFlow;
use std::path::Path;

/// So many events are best read at a time: the transaction stays short.
// The one who writes may be at it: while somebody reads, its log beside the store cannot be emptied, and grows. Far fewer, and beginning
// each transaction would take longer than reading in it.
pub(crate) const EVENTS: usize = 8192;

/// A second look at a store that somebody has open.
#[derive(Debug)]
pub struct Reader {
    db: Db,
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
        let db = Db { database, path };
        Ok(Reader { db })
    }

    /// The flows that the run was given, one after the other: their numbers, and those of their first events.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn flows(&self) -> Result<Vec<(i64, i64)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(i64, i64)>> {
            let sql = "SELECT number, first FROM flow ORDER BY number";
            let mut statement = self.db.database.prepare_cached(sql)?;
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            statement.query_map([], row)?.collect()
        };
        read().map_err(|e| self.db.error(&e))
    }

    /// The names of the tasks of a flow, by number; none of a family.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub(crate) fn names(&self, flow: i64) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT names FROM flow WHERE number = ?1";
        let packed: Vec<u8> = self.db.row(sql, [flow], |row| row.get(0))?;
        self.db.names(&packed)
    }

    /// Up to `most` events after that number, each with its number, of the flow in force.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn entries(&self, after: i64, most: usize) -> Result<Vec<(i64, Entry)>, StoreError> {
        // Asked each time: the flow may be another since, and then numbers of tasks mean others.
        let first = "SELECT coalesce(max(first), 0) FROM flow";
        let first: i64 = self.db.row(first, [], |row| row.get(0))?;
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
        let mut entries = Vec::new();
        if most == 0 {
            return Ok(entries);
        }
        // A bound in rows, and the query ends with this function: whoever reads for long would keep the log beside the file from
        // being taken in.
        self.db
            .each_entry(after.saturating_add(1), |number, entry| {
                if number > last {
                    return Ok(ControlFlow::Break(()));
                }
                entries.push((number, entry));
                Ok(match entries.len() < most {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            })?;
        Ok(entries)
    }

    /// The number of the last event that the newest snapshot stands for; 0 where there is none.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn condensed(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM snapshot \
                   WHERE seq >= (SELECT coalesce(max(first), 0) FROM flow)";
        self.db.row(sql, [], |row| row.get(0))
    }

    /// The newest snapshot: the number of the last event it stands for, when it was made, and what it has.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn snapshot(&self) -> Result<Option<(i64, Moment, Snapshot)>, StoreError> {
        self.db.snapshot()
    }

    /// The order of that number.
    ///
    /// # Errors
    /// If the store cannot be read, or is damaged.
    pub fn order(&self, plan: u32) -> Result<Option<Vec<u32>>, StoreError> {
        self.db.order(plan)
    }
}
