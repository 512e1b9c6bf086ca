//! The versions of the store's tables, and the steps between them. Knows no events.

use super::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::fs::File;
use std::path::Path;

/// Marks the file as ours: "Carn".
pub(super) const APPLICATION: i64 = 0x4361_726e;

/// One step from each version of the schema to the next. Steps are only ever added: also where tables stay and only the words in
/// them become more, since earlier programs must know that they do not know them.
pub(super) const MIGRATIONS: [&str; 2] =
    [include_str!("schema-1.sql"), include_str!("schema-2.sql")];

/// Makes an empty store. It is made beside and moved into its place whole: nobody sees half of it, and the disk is waited for
/// twice instead of a dozen times, which a short run would feel.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let failed = |e: std::io::Error| StoreError::io(path, &e);
    let beside = path.with_extension("new");
    // What an earlier start left half done, and the logs of a file that is gone: `SQLite` would play them back into the new one.
    for left in [
        "cairn.new",
        "cairn.new-wal",
        "cairn.new-shm",
        "cairn.db-wal",
        "cairn.db-shm",
    ] {
        match std::fs::remove_file(path.with_file_name(left)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
            _ => (),
        }
    }
    let make = || -> rusqlite::Result<Result<(), StoreError>> {
        let mut database = Connection::open(&beside)?;
        // Nobody has this file yet: it is synced once, below, when it is whole.
        database.pragma_update(None, "synchronous", "OFF")?;
        database.pragma_update(None, "journal_mode", "MEMORY")?;
        migrate(&mut database, path, &MIGRATIONS)?.map_or_else(
            |refusal| Ok(Err(refusal)),
            |()| database.pragma_update(None, "journal_mode", "WAL").map(Ok),
        )
    };
    make().map_err(|e| StoreError::sql(path, &e))??;
    // First the content, then the name, then the folder that has the name: a power cut leaves all of it or nothing.
    (File::open(&beside).and_then(|file| file.sync_all()))
        .and_then(|()| std::fs::rename(&beside, path))
        .and_then(|()| match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        })
        .map_err(failed)
}

fn pragma(database: &Connection, name: &str) -> rusqlite::Result<i64> {
    database.pragma_query_value(None, name, |row| row.get(0))
}

/// The version of a store that a program with these steps can read, or why it cannot.
pub(super) fn version(
    database: &Connection,
    path: &Path,
    steps: &[&str],
) -> rusqlite::Result<Result<usize, StoreError>> {
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = database.query_row(tables, [], |row| row.get(0))?;
    let path = path.to_owned();
    // A file without tables has no mark yet.
    if tables > 0 && pragma(database, "application_id")? != APPLICATION {
        return Ok(Err(StoreError::NotOurs { path }));
    }
    let found = pragma(database, "user_version")?;
    let known = steps.len() as i64;
    Ok(match found > known {
        true => Err(StoreError::Newer { path, found, known }),
        false => Ok(found.max(0) as usize),
    })
}

/// Brings the schema to the version that these steps lead to, or says why not.
pub(super) fn migrate(
    database: &mut Connection,
    path: &Path,
    steps: &[&str],
) -> rusqlite::Result<Result<(), StoreError>> {
    let found = match version(database, path, steps)? {
        Ok(found) => found,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if found < steps.len() {
        // All steps and the number in one: whoever is killed in between leaves the old version.
        let tx = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for step in &steps[found..] {
            tx.execute_batch(step)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", steps.len() as i64)?;
        tx.commit()?;
    }
    Ok(Ok(()))
}
