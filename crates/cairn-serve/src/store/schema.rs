//! The versions of the store's tables, and the steps between them. Knows no events.

use super::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// Marks the file as ours: "Carn".
pub(super) const APPLICATION: i64 = 0x4361_726e;

/// One step from each version of the schema to the next. Steps are only ever added.
const MIGRATIONS: [&str; 1] = [include_str!("schema-1.sql")];

/// Brings the schema to this version, or says why not.
pub(super) fn migrate(
    database: &mut Connection,
    path: &Path,
) -> rusqlite::Result<Result<(), StoreError>> {
    let pragma = |d: &Connection, name: &str| -> rusqlite::Result<i64> {
        d.pragma_query_value(None, name, |row| row.get(0))
    };
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = database.query_row(tables, [], |row| row.get(0))?;
    let path = path.to_owned();
    if tables > 0 && pragma(database, "application_id")? != APPLICATION {
        return Ok(Err(StoreError::NotOurs { path }));
    }
    let found = pragma(database, "user_version")?;
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Ok(Err(StoreError::Newer { path, found, known }));
    }
    if found < known {
        let tx = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for step in &MIGRATIONS[found.max(0) as usize..] {
            tx.execute_batch(step)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", known)?;
        tx.commit()?;
    }
    Ok(Ok(()))
}
