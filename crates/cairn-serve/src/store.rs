//! What a run has written down: one `SQLite` file of events, orders and snapshots. Decides nothing, and knows no processes.
//!
//! ```text
//! DIR/cairn.db   tables event, flow, plan, snapshot, stamp, meta; the view `history` has readable times
//! DIR/lock       held by whoever has the store open; contains its process id
//! ```
//!
//! Events are appended in groups, each one transaction: what `Store::append` returned from is on the disk, and every
//! prefix of the log is closed under parents. There is never a long read transaction: it would make the log beside the
//! file (WAL) grow without bound.

mod db;
mod error;
mod group;
mod lock;
mod reader;
mod rows;
mod schema;
mod writer;

pub use error::StoreError;
pub(crate) use group::{Condensed, Group, Stamp};
pub(crate) use reader::EVENTS;
pub use reader::Reader;
pub(crate) use writer::Writer;

use cairn_engine::{Entry, Moment, Snapshot, Task};
use db::Db;
use group::{insert_group, insert_meta, insert_snapshot, packed};
use lock::{Lock, lock};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use schema::{MIGRATIONS, create, migrate};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of the store in its folder.
pub const FILE: &str = "cairn.db";

/// How long to wait for somebody else who has the database at the moment.
// Readers of ours take milliseconds. A person with `sqlite3` may take seconds, and must not stop a run; half a minute without any
// progress is somebody who forgot a transaction, and is said.
const BUSY: Duration = Duration::from_secs(30);

/// Statements that stay prepared.
// More than there are different ones, so that none is prepared twice.
const STATEMENTS: usize = 32;

/// How sure a commit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Sync {
    /// What is committed survives a power cut.
    #[default]
    Full,
    /// What is committed survives the end of the process, and a power cut leaves a consistent, perhaps shorter log.
    Normal,
}

/// What of a flow the store keeps, to know it again and to find its tasks by name in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// A digest of names and arcs: equal only where tasks have the same numbers and parents.
    pub digest: u64,
    /// By task: a fingerprint of what is run. Empty where nobody asks.
    pub fingerprints: Vec<u64>,
}

/// An open store. Nobody else has it.
#[derive(Debug)]
pub struct Store {
    db: Db,
    folder: PathBuf,
    /// The number of the next event.
    next: i64,
    /// Held as long as this is; unlocked by the end of the process whatever happens. The last field: it is dropped after the rest.
    _lock: Lock,
}

impl Store {
    /// Opens the store in a folder; makes folder and store where there is none.
    ///
    /// # Errors
    /// If another process has it, it is of a newer version, damaged or not ours, or cannot be written.
    pub fn create_or_open(folder: &Path, sync: Sync) -> Result<Store, StoreError> {
        let failed = |e: std::io::Error| StoreError::io(folder, &e);
        std::fs::create_dir_all(folder).map_err(failed)?;
        // Before anything is looked at: of two that begin together only one may make it.
        let lock = lock(folder)?;
        let path = folder.join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if !path.exists() {
            create(&path)?;
        }
        let open = || -> rusqlite::Result<Result<Connection, StoreError>> {
            let mut database = Connection::open_with_flags(&path, flags)?;
            database.busy_timeout(BUSY)?;
            if let Err(refusal) = migrate(&mut database, &path, &MIGRATIONS)? {
                return Ok(Err(refusal));
            }
            // Behind the migration, which may refuse: a file that is not ours stays as it is. In this mode readers never wait for
            // the one who writes, nor does it for them.
            database.pragma_update(None, "journal_mode", "WAL")?;
            let sync = match sync {
                Sync::Full => "FULL",
                Sync::Normal => "NORMAL",
            };
            database.pragma_update(None, "synchronous", sync)?;
            database.set_prepared_statement_cache_capacity(STATEMENTS);
            Ok(Ok(database))
        };
        let database = open().map_err(|e| StoreError::sql(&path, &e))??;
        let db = Db { database, path };
        // Events that a snapshot stands for may be deleted, but never the last one: numbers go on from it.
        let last = "SELECT coalesce(max(seq), 0) FROM event";
        let last: i64 = db.row(last, [], |row| row.get(0))?;
        Ok(Store {
            db,
            folder: folder.to_owned(),
            next: last + 1,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends events: on the disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written; then none is.
    pub(crate) fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.write(|tx, next| rows::insert(tx, next, entries))
    }

    /// Appends events with what belongs to them: all of it on the disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub(crate) fn append_group(&mut self, group: &Group) -> Result<(), StoreError> {
        self.write(|tx, next| insert_group(tx, next, group))
    }

    /// One transaction.
    fn write(
        &mut self,
        work: impl FnOnce(&Connection, &mut i64) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut next = self.next;
        let Db { database, path } = &mut self.db;
        let attempt = || -> rusqlite::Result<()> {
            // One that becomes a writer later can be refused at once, whatever the timeout (SQLITE_BUSY_SNAPSHOT).
            let tx = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            work(&tx, &mut next)?;
            tx.commit()
        };
        attempt().map_err(|e| StoreError::sql(path, &e))?;
        // Numbers of what was not written are given again.
        self.next = next;
        Ok(())
    }

    /// Begins with another flow: later events speak of its tasks, and begin with `group`. Earlier ones stay, with the names
    /// they spoke of.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub(crate) fn begin_flow<'n>(
        &mut self,
        flow: &FlowRecord,
        names: impl ExactSizeIterator<Item = &'n str>,
        group: &Group,
    ) -> Result<(), StoreError> {
        let tasks = names.len() as i64;
        let names: Vec<&str> = names.collect();
        let names = serde_json::to_vec(&names).expect("text is JSON");
        let names = packed(&names);
        let prints: Vec<u8> = (flow.fingerprints.iter())
            .flat_map(|print| print.to_le_bytes())
            .collect();
        let digest = flow.digest as i64;
        self.write(|tx, next| {
            let sql = "INSERT INTO flow (first, tasks, digest, names, fingerprints) VALUES (?1, ?2, ?3, ?4, ?5)";
            tx.execute(sql, params![*next, tasks, digest, names, packed(&prints)])?;
            // They are by number of task, which means another one from now on.
            tx.execute("DELETE FROM stamp", [])?;
            insert_group(tx, next, group)
        })
    }

    /// Takes other fingerprints for the flow in force, together with what follows from them.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub(crate) fn set_fingerprints(
        &mut self,
        prints: &[u64],
        group: &Group,
    ) -> Result<(), StoreError> {
        let prints: Vec<u8> = prints.iter().flat_map(|p| p.to_le_bytes()).collect();
        self.write(|tx, next| {
            let sql =
                "UPDATE flow SET fingerprints = ?1 WHERE number = (SELECT max(number) FROM flow)";
            tx.execute(sql, params![packed(&prints)])?;
            insert_group(tx, next, group)
        })
    }

    /// The flow in force; `None` where nothing was begun.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn flow(&self) -> Result<Option<FlowRecord>, StoreError> {
        let sql = "SELECT digest, fingerprints FROM flow ORDER BY number DESC LIMIT 1";
        let row: Option<(i64, Vec<u8>)> =
            (self.db).maybe(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((digest, prints)) = row else {
            return Ok(None);
        };
        let prints = self.db.unpacked(&prints)?;
        let (prints, rest) = prints.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(self.damaged("fingerprints of a strange length"));
        }
        Ok(Some(FlowRecord {
            digest: digest as u64,
            fingerprints: prints.iter().map(|p| u64::from_le_bytes(*p)).collect(),
        }))
    }

    /// The names of the tasks of the flow in force, by number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT names FROM flow ORDER BY number DESC LIMIT 1";
        let packed: Option<Vec<u8>> = self.db.maybe(sql, [], |row| row.get(0))?;
        packed.map_or(Ok(Vec::new()), |packed| self.db.names(&packed))
    }

    /// The newest snapshot of the flow in force.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.db.snapshot()?.map(|(_, _, snapshot)| snapshot))
    }

    /// Keeps what the log comes to so far: everything appended until now. Older snapshots are
    /// deleted, with `forget` also the events it stands for.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub(crate) fn save_snapshot(
        &mut self,
        at: Moment,
        snapshot: &Snapshot,
        forget: bool,
    ) -> Result<(), StoreError> {
        self.write(|tx, next| insert_snapshot(tx, *next - 1, at, snapshot, forget))
    }

    /// Calls `each` with every event of the flow in force since its newest snapshot, in order, until one refuses.
    ///
    /// # Errors
    /// If the store cannot be read, or with the first refusal: an event that cannot have happened means damage.
    pub fn each_entry<E: std::fmt::Display>(
        &self,
        mut each: impl FnMut(Entry) -> Result<(), E>,
    ) -> Result<(), StoreError> {
        // Numbers of tasks mean those of the newest flow: events before it speak of others.
        let begin = "SELECT max((SELECT coalesce(max(first), 0) FROM flow), \
                     (SELECT coalesce(max(seq) + 1, 0) FROM snapshot))";
        let begin: i64 = self.db.row(begin, [], |row| row.get(0))?;
        self.db.each_entry(begin, |seq, entry| {
            each(entry).map_err(|e| self.damaged(&format!("event {seq}: {e}")))?;
            Ok(ControlFlow::Continue(()))
        })
    }

    /// The order with the highest number, with that number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_order(&self) -> Result<Option<(u32, Vec<u32>)>, StoreError> {
        let sql = "SELECT max(number) FROM plan";
        let newest: Option<u32> = self.db.row(sql, [], |row| row.get(0))?;
        let Some(newest) = newest else {
            return Ok(None);
        };
        Ok(self.order(newest)?.map(|order| (newest, order)))
    }

    /// The order of that number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn order(&self, plan: u32) -> Result<Option<Vec<u32>>, StoreError> {
        self.db.order(plan)
    }

    /// Of every task that has one, by number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub(crate) fn stamps(&self) -> Result<Vec<Stamp>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Stamp>> {
            let sql = "SELECT task, inputs, outputs FROM stamp ORDER BY task";
            let mut statement = self.db.database.prepare(sql)?;
            let stamp = |row: &rusqlite::Row<'_>| {
                Ok(Stamp {
                    task: Task(row.get::<_, i64>(0)? as u64),
                    inputs: row.get::<_, i64>(1)? as u64,
                    outputs: row.get::<_, i64>(2)? as u64,
                })
            };
            statement.query_map([], stamp)?.collect()
        };
        read().map_err(|e| self.db.error(&e))
    }

    /// A value that belongs to the whole store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        self.db.maybe(sql, [key], |row| row.get(0))
    }

    /// Sets a value that belongs to the whole store.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_meta(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.write(|tx, _| insert_meta(tx, key, value))
    }

    /// Looks through the whole file for damage.
    ///
    /// # Errors
    /// If there is some.
    pub fn check(&self) -> Result<(), StoreError> {
        let found: String = (self.db).row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        match found.as_str() {
            "ok" => Ok(()),
            what => Err(self.damaged(what)),
        }
    }

    /// The error for content that nobody can have written.
    pub(crate) fn damaged(&self, what: &str) -> StoreError {
        self.db.damaged(what)
    }
}

#[cfg(test)]
mod tests;
