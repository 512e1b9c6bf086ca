//! What a run has written down: one `SQLite` file of events, orders and snapshots. Decides nothing, and knows no processes.
//!
//! ```text
//! DIR/cairn.db   tables event, flow, plan, snapshot, stamp, meta; the view `history` has readable times
//! DIR/lock       held by whoever has the store open; contains its process id
//! ```
//!
//! Events are appended in groups, each one transaction: what [`Store::append`] returned from is on the disk, and every
//! prefix of the log is closed under parents. There is never a long read transaction: it would make the log beside the
//! file (WAL) grow without bound.

mod error;
mod reader;
mod rows;
mod writer;

pub use error::StoreError;
pub use reader::Reader;
pub use writer::Writer;

use cairn_engine::{Entry, Moment, Snapshot, Task};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file of the store in its folder.
pub const FILE: &str = "cairn.db";
const LOCK: &str = "lock";

/// Marks the file as ours: "Carn".
const APPLICATION: i64 = 0x4361_726e;

/// One step from each version of the schema to the next. Steps are only ever added.
const MIGRATIONS: [&str; 1] = [include_str!("store/schema-1.sql")];

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

/// What a task read and wrote, by size and time, to see later whether it is still so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which task.
    pub task: Task,
    /// A digest of its declared inputs as they were when it started.
    pub inputs: u64,
    /// A digest of the sizes of its declared outputs when it ended.
    pub outputs: u64,
}

/// What is written in one transaction.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// In causal order.
    pub entries: Vec<Entry>,
    /// Of tasks whose end is among the entries.
    pub stamps: Vec<Stamp>,
    /// Orders that the entries speak of: the number, and the tasks from first to last.
    pub orders: Vec<(u32, Vec<u32>)>,
    /// What the log comes to with so many of the entries: all that is older is deleted.
    pub snapshot: Option<(usize, Moment, Snapshot)>,
}

impl Group {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.stamps.is_empty()
            && self.orders.is_empty()
            && self.snapshot.is_none()
    }

    /// Moves all of another group behind this one.
    pub fn take(&mut self, other: &mut Group) {
        if let Some((after, at, snapshot)) = other.snapshot.take() {
            self.snapshot = Some((self.entries.len() + after, at, snapshot));
        }
        self.entries.append(&mut other.entries);
        self.stamps.append(&mut other.stamps);
        self.orders.append(&mut other.orders);
    }
}

/// An open store. Nobody else has it.
#[derive(Debug)]
pub struct Store {
    database: Connection,
    folder: PathBuf,
    /// The number of the next event.
    next: i64,
    /// Held as long as this is; unlocked by the end of the process whatever happens.
    _lock: File,
}

impl Store {
    /// Opens the store in a folder; makes folder and store where there is none.
    ///
    /// # Errors
    /// If another process has it, it is of a newer version, damaged or not ours, or cannot be written.
    pub fn create_or_open(folder: &Path, sync: Sync) -> Result<Store, StoreError> {
        let failed = |e: std::io::Error| StoreError::io(folder, &e);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = lock(folder)?;
        let path = folder.join(FILE);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Result<Connection, StoreError>> {
            let mut database = Connection::open_with_flags(&path, flags)?;
            // Readers of ours are short; those of others must not stop a run at once.
            database.busy_timeout(Duration::from_secs(30))?;
            if let Err(refusal) = migrate(&mut database, &path)? {
                return Ok(Err(refusal));
            }
            database.pragma_update(None, "journal_mode", "WAL")?;
            let sync = match sync {
                Sync::Full => "FULL",
                Sync::Normal => "NORMAL",
            };
            database.pragma_update(None, "synchronous", sync)?;
            database.set_prepared_statement_cache_capacity(32);
            Ok(Ok(database))
        };
        let database = open().map_err(|e| StoreError::sql(&path, &e))??;
        let last = "SELECT coalesce(max(seq), 0) FROM event";
        let last: i64 = (database.query_row(last, [], |row| row.get(0)))
            .map_err(|e| StoreError::sql(&path, &e))?;
        Ok(Store {
            database,
            folder: folder.to_owned(),
            next: last + 1,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sql(&self.path(), error)
    }

    /// Appends events: on the disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written; then none is.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.write(|tx, next| rows::insert(tx, next, entries))
    }

    /// Appends events with what belongs to them: all of it on the disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub fn append_group(&mut self, group: &Group) -> Result<(), StoreError> {
        self.write(|tx, next| insert_group(tx, next, group))
    }

    /// One transaction.
    fn write(
        &mut self,
        work: impl FnOnce(&Connection, &mut i64) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut next = self.next;
        let path = self.folder.join(FILE);
        let attempt = || -> rusqlite::Result<()> {
            let tx = self
                .database
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            work(&tx, &mut next)?;
            tx.commit()
        };
        attempt().map_err(|e| StoreError::sql(&path, &e))?;
        self.next = next;
        Ok(())
    }

    /// Begins with another flow: later events speak of its tasks, and begin with `group`. Earlier ones stay, with the names
    /// they spoke of.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub fn begin_flow<'n>(
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
            tx.execute("DELETE FROM stamp", [])?;
            insert_group(tx, next, group)
        })
    }

    /// Takes other fingerprints for the flow in force, together with what follows from them.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub fn set_fingerprints(&mut self, prints: &[u64], group: &Group) -> Result<(), StoreError> {
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
        let row = (self.database)
            .query_row(sql, [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
            .optional()
            .map_err(|e| self.error(&e))?;
        let Some((digest, prints)) = row else {
            return Ok(None);
        };
        let prints = self.unpacked(&prints)?;
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
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT names FROM flow ORDER BY number DESC LIMIT 1";
        let packed: Option<Vec<u8>> = (self.database)
            .query_row(sql, [], |row| row.get(0))
            .optional()
            .map_err(|e| self.error(&e))?;
        match packed {
            None => Ok(Vec::new()),
            Some(packed) => (serde_json::from_slice(&self.unpacked(&packed)?))
                .map_err(|e| self.damaged(&format!("names of tasks: {e}"))),
        }
    }

    /// The newest snapshot of the flow in force.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        let sql = "SELECT state FROM snapshot WHERE seq >= (SELECT coalesce(max(first), 0) FROM flow) \
                   ORDER BY seq DESC LIMIT 1";
        let packed: Option<Vec<u8>> = (self.database)
            .query_row(sql, [], |row| row.get(0))
            .optional()
            .map_err(|e| self.error(&e))?;
        let Some(packed) = packed else {
            return Ok(None);
        };
        let snapshot = serde_json::from_slice(&self.unpacked(&packed)?);
        snapshot
            .map(Some)
            .map_err(|e| self.damaged(&format!("snapshot: {e}")))
    }

    /// Keeps what the log comes to so far: everything appended until now. With `forget` the events it stands for, and
    /// older snapshots, are deleted.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is.
    pub fn save_snapshot(
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
        let begin = "SELECT max((SELECT coalesce(max(first), 0) FROM flow), \
                     (SELECT coalesce(max(seq) + 1, 0) FROM snapshot))";
        let begin: i64 = (self.database)
            .query_row(begin, [], |row| row.get(0))
            .map_err(|e| self.error(&e))?;
        let mut statement = (self.database)
            .prepare_cached(rows::SELECT)
            .map_err(|e| self.error(&e))?;
        let mut found = statement.query([begin]).map_err(|e| self.error(&e))?;
        while let Some(row) = found.next().map_err(|e| self.error(&e))? {
            let (seq, entry) = rows::read(row).map_err(|e| match e {
                rows::Unread::Sql(e) => self.error(&e),
                rows::Unread::Strange(what) => self.damaged(&what),
            })?;
            each(entry).map_err(|e| self.damaged(&format!("event {seq}: {e}")))?;
        }
        Ok(())
    }

    /// Keeps an order under a number: the tasks from first to last.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save_order(&mut self, plan: u32, order: &[u32]) -> Result<(), StoreError> {
        self.write(|tx, _| insert_order(tx, plan, order))
    }

    /// The order with the highest number, with that number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn newest_order(&self) -> Result<Option<(u32, Vec<u32>)>, StoreError> {
        let newest: Option<u32> = (self.database)
            .query_row("SELECT max(number) FROM plan", [], |row| row.get(0))
            .map_err(|e| self.error(&e))?;
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
        let sql = "SELECT tasks FROM plan WHERE number = ?1";
        let packed: Option<Vec<u8>> = (self.database)
            .query_row(sql, [plan], |row| row.get(0))
            .optional()
            .map_err(|e| self.error(&e))?;
        let Some(packed) = packed else {
            return Ok(None);
        };
        let bytes = self.unpacked(&packed)?;
        match bytes.as_chunks::<4>() {
            (tasks, []) => Ok(Some(tasks.iter().map(|t| u32::from_le_bytes(*t)).collect())),
            _ => Err(self.damaged("an order of a strange length")),
        }
    }

    /// Of every task that has one, by number.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn stamps(&self) -> Result<Vec<Stamp>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Stamp>> {
            let sql = "SELECT task, inputs, outputs FROM stamp ORDER BY task";
            let mut statement = self.database.prepare(sql)?;
            let stamp = |row: &rusqlite::Row<'_>| {
                Ok(Stamp {
                    task: Task(row.get::<_, i64>(0)? as u64),
                    inputs: row.get::<_, i64>(1)? as u64,
                    outputs: row.get::<_, i64>(2)? as u64,
                })
            };
            statement.query_map([], stamp)?.collect()
        };
        read().map_err(|e| self.error(&e))
    }

    /// A value that belongs to the whole store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        (self.database)
            .query_row(sql, [key], |row| row.get(0))
            .optional()
            .map_err(|e| self.error(&e))
    }

    /// Sets a value that belongs to the whole store.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_meta(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.write(|tx, _| {
            let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
            tx.execute(sql, [key, value]).map(|_| ())
        })
    }

    /// Removes a value.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn delete_meta(&mut self, key: &str) -> Result<(), StoreError> {
        self.write(|tx, _| {
            tx.execute("DELETE FROM meta WHERE key = ?1", [key])
                .map(|_| ())
        })
    }

    /// Looks through the whole file for damage.
    ///
    /// # Errors
    /// If there is some.
    pub fn check(&self) -> Result<(), StoreError> {
        let found: String = (self.database)
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|e| self.error(&e))?;
        match found.as_str() {
            "ok" => Ok(()),
            what => Err(self.damaged(what)),
        }
    }

    fn unpacked(&self, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
        zstd::decode_all(bytes).map_err(|e| self.damaged(&e.to_string()))
    }

    /// The error for content that nobody can have written.
    pub fn damaged(&self, what: &str) -> StoreError {
        StoreError::Damaged {
            path: self.path(),
            what: what.to_owned(),
        }
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

fn insert_order(tx: &Connection, plan: u32, order: &[u32]) -> rusqlite::Result<()> {
    let bytes: Vec<u8> = order.iter().flat_map(|t| t.to_le_bytes()).collect();
    let sql = "INSERT OR REPLACE INTO plan (number, tasks) VALUES (?1, ?2)";
    tx.prepare_cached(sql)?
        .execute(params![plan, packed(&bytes)])?;
    Ok(())
}

fn insert_group(tx: &Connection, next: &mut i64, group: &Group) -> rusqlite::Result<()> {
    for (plan, order) in &group.orders {
        insert_order(tx, *plan, order)?;
    }
    let sql = "INSERT OR REPLACE INTO stamp (task, inputs, outputs) VALUES (?1, ?2, ?3)";
    let mut insert = tx.prepare_cached(sql)?;
    for stamp in &group.stamps {
        let row = [stamp.task.0, stamp.inputs, stamp.outputs];
        insert.execute(row.map(|v| Value::Integer(v as i64)))?;
    }
    let Some((after, at, snapshot)) = &group.snapshot else {
        return rows::insert(tx, next, &group.entries);
    };
    let (before, behind) = group.entries.split_at(*after);
    rows::insert(tx, next, before)?;
    insert_snapshot(tx, *next - 1, *at, snapshot, true)?;
    rows::insert(tx, next, behind)
}

/// What the events up to `last` come to; with `forget` instead of them.
fn insert_snapshot(
    tx: &Connection,
    last: i64,
    at: Moment,
    snapshot: &Snapshot,
    forget: bool,
) -> rusqlite::Result<()> {
    let state = serde_json::to_vec(snapshot).expect("a snapshot is JSON");
    let sql = "INSERT OR REPLACE INTO snapshot (seq, at, state) VALUES (?1, ?2, ?3)";
    tx.execute(sql, params![last, at.0 as i64, packed(&state)])?;
    if forget {
        tx.execute("DELETE FROM snapshot WHERE seq < ?1", [last])?;
        // The last one stays, so that numbers never come again.
        tx.execute("DELETE FROM event WHERE seq < ?1", [last])?;
    }
    Ok(())
}

/// Brings the schema to this version, or says why not.
fn migrate(database: &mut Connection, path: &Path) -> rusqlite::Result<Result<(), StoreError>> {
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

/// Takes the folder for this process alone.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let failed = |e: std::io::Error| StoreError::io(&path, &e);
    let mut options = File::options();
    // Not truncated: until the lock is ours, another process stands in it.
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed)?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(std::fs::TryLockError::Error(e)) => return Err(failed(e)),
            Err(std::fs::TryLockError::WouldBlock) => (),
        }
        let mut who = String::new();
        // A holder that has not yet written its number is still a holder.
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut who));
        let pid: Option<u32> = who.trim().parse().ok();
        // A process that its holder was just starting has the lock until it becomes another program.
        let is_dead = pid.is_some_and(|pid| !is_alive(pid));
        if !is_dead || begin.elapsed() > Duration::from_secs(5) {
            return Err(StoreError::InUse {
                folder: folder.to_owned(),
                pid,
            });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    (file.set_len(0))
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(failed)?;
    Ok(file)
}

/// Whether the process is there and not merely waiting to be buried.
fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| {
        let state = status.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_some_and(|state| !state.starts_with(['Z', 'X']))
    })
}

#[cfg(test)]
mod tests;
