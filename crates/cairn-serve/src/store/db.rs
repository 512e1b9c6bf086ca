//! The file of a store, as whoever has it open reads it: what its tables have, or what is wrong with them. Knows not who writes.

use super::{StoreError, rows};
use cairn_engine::{Entry, Moment, Snapshot};
use rusqlite::{Connection, OptionalExtension, Params, Row};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// An open file.
#[derive(Debug)]
pub(super) struct Db {
    pub(super) database: Connection,
    pub(super) path: PathBuf,
}

impl Db {
    pub(super) fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sql(&self.path, error)
    }

    /// The error for content that nobody can have written.
    pub(super) fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// The one row that there always is.
    pub(super) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        (self.database.query_row(sql, params, read)).map_err(|e| self.error(&e))
    }

    /// A row, if there is one.
    pub(super) fn maybe<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let found = self.database.query_row(sql, params, read).optional();
        found.map_err(|e| self.error(&e))
    }

    pub(super) fn unpacked(&self, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
        zstd::decode_all(bytes).map_err(|e| self.damaged(e.to_string()))
    }

    /// Names of tasks, as they are packed.
    pub(super) fn names(&self, packed: &[u8]) -> Result<Vec<String>, StoreError> {
        serde_json::from_slice(&self.unpacked(packed)?)
            .map_err(|e| self.damaged(format!("names of tasks: {e}")))
    }

    /// The order of that number.
    pub(super) fn order(&self, plan: u32) -> Result<Option<Vec<u32>>, StoreError> {
        let sql = "SELECT tasks FROM plan WHERE number = ?1";
        let packed: Option<Vec<u8>> = self.maybe(sql, [plan], |row| row.get(0))?;
        let Some(packed) = packed else {
            return Ok(None);
        };
        match self.unpacked(&packed)?.as_chunks::<4>() {
            (tasks, []) => Ok(Some(tasks.iter().map(|t| u32::from_le_bytes(*t)).collect())),
            _ => Err(self.damaged("an order of a strange length")),
        }
    }

    /// The newest snapshot of the flow in force: the number of the last event it stands for, when it was made, and what it has.
    pub(super) fn snapshot(&self) -> Result<Option<(i64, Moment, Snapshot)>, StoreError> {
        let sql = "SELECT seq, at, state FROM snapshot WHERE seq >= (SELECT coalesce(max(first), 0) FROM flow) \
                   ORDER BY seq DESC LIMIT 1";
        let found: Option<(i64, i64, Vec<u8>)> =
            self.maybe(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let Some((seq, at, packed)) = found else {
            return Ok(None);
        };
        let strange = |e: &dyn std::fmt::Display| self.damaged(format!("snapshot: {e}"));
        let bytes = zstd::decode_all(&packed[..]).map_err(|e| strange(&e))?;
        let snapshot = serde_json::from_slice(&bytes).map_err(|e| strange(&e))?;
        Ok(Some((seq, Moment(at as u64), snapshot)))
    }

    /// Calls `each` with every event from that number on, with its number, until it breaks off.
    pub(super) fn each_entry(
        &self,
        begin: i64,
        mut each: impl FnMut(i64, Entry) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement =
            (self.database.prepare_cached(rows::SELECT)).map_err(|e| self.error(&e))?;
        let mut found = statement.query([begin]).map_err(|e| self.error(&e))?;
        while let Some(row) = found.next().map_err(|e| self.error(&e))? {
            let (number, entry) = rows::read(row).map_err(|e| match e {
                rows::Unread::Sql(e) => self.error(&e),
                rows::Unread::Strange(what) => self.damaged(what),
            })?;
            if each(number, entry)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
