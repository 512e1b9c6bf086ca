//! What is written in one transaction, and how. Knows no file.

use super::rows;
use cairn_engine::{Entry, Moment, Snapshot, Task};
use rusqlite::types::Value;
use rusqlite::{Connection, params};

/// What a task read and wrote, by size and time, to see later whether it is still so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Which task.
    pub task: Task,
    /// A digest of its declared inputs as they were when it started.
    pub inputs: u64,
    /// A digest of the sizes of its declared outputs when it ended.
    pub outputs: u64,
}

/// What a log comes to, in the middle of a group.
#[derive(Clone, Debug)]
pub(crate) struct Condensed {
    /// With so many of the entries.
    pub after: usize,
    /// When.
    pub at: Moment,
    /// The state.
    pub state: Snapshot,
    /// Whether the events it stands for are deleted.
    pub forgets: bool,
}

/// What is written in one transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// In causal order.
    pub entries: Vec<Entry>,
    /// Of tasks whose end is among the entries.
    pub stamps: Vec<Stamp>,
    /// Orders that the entries speak of: the number, and the tasks from first to last.
    pub orders: Vec<(u32, Vec<u32>)>,
    /// What the log comes to.
    pub snapshot: Option<Condensed>,
    /// Values that belong to the whole store, by name.
    pub meta: Vec<(&'static str, String)>,
}

impl Group {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && self.stamps.is_empty()
            && self.orders.is_empty()
            && self.snapshot.is_none()
            && self.meta.is_empty()
    }

    /// Moves all of another group behind this one.
    pub(crate) fn take(&mut self, other: &mut Group) {
        if let Some(condensed) = other.snapshot.take() {
            // One that waits here is older and stands for less: it is not written at all.
            self.snapshot = Some(Condensed {
                after: self.entries.len() + condensed.after,
                ..condensed
            });
        }
        self.entries.append(&mut other.entries);
        self.stamps.append(&mut other.stamps);
        self.orders.append(&mut other.orders);
        self.meta.append(&mut other.meta);
    }
}

pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    // The fastest level: names and orders become small by any, and a run waits for this before its first task.
    zstd::encode_all(bytes, 1).expect("memory takes it")
}

pub(super) fn insert_order(tx: &Connection, plan: u32, order: &[u32]) -> rusqlite::Result<()> {
    let bytes: Vec<u8> = order.iter().flat_map(|t| t.to_le_bytes()).collect();
    let sql = "INSERT OR REPLACE INTO plan (number, tasks) VALUES (?1, ?2)";
    tx.prepare_cached(sql)?
        .execute(params![plan, packed(&bytes)])?;
    Ok(())
}

pub(super) fn insert_meta(tx: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)";
    tx.execute(sql, [key, value]).map(|_| ())
}

pub(super) fn insert_group(tx: &Connection, next: &mut i64, group: &Group) -> rusqlite::Result<()> {
    for (plan, order) in &group.orders {
        insert_order(tx, *plan, order)?;
    }
    for (key, value) in &group.meta {
        insert_meta(tx, key, value)?;
    }
    let sql = "INSERT OR REPLACE INTO stamp (task, inputs, outputs) VALUES (?1, ?2, ?3)";
    let mut insert = tx.prepare_cached(sql)?;
    for stamp in &group.stamps {
        // Together with the end of the task, never later: a resume takes a missing stamp for "nothing to compare".
        let row = [stamp.task.0, stamp.inputs, stamp.outputs];
        insert.execute(row.map(|v| Value::Integer(v as i64)))?;
    }
    let Some(condensed) = &group.snapshot else {
        return rows::insert(tx, next, &group.entries);
    };
    // More may have happened since, in the same group.
    let (before, behind) = group.entries.split_at(condensed.after);
    rows::insert(tx, next, before)?;
    let Condensed {
        at, state, forgets, ..
    } = condensed;
    insert_snapshot(tx, *next - 1, *at, state, *forgets)?;
    rows::insert(tx, next, behind)
}

/// What the events up to `last` come to; with `forget` instead of them.
pub(super) fn insert_snapshot(
    tx: &Connection,
    last: i64,
    at: Moment,
    snapshot: &Snapshot,
    forget: bool,
) -> rusqlite::Result<()> {
    let state = serde_json::to_vec(snapshot).expect("a snapshot is JSON");
    let sql = "INSERT OR REPLACE INTO snapshot (seq, at, state) VALUES (?1, ?2, ?3)";
    tx.execute(sql, params![last, at.0 as i64, packed(&state)])?;
    tx.execute("DELETE FROM snapshot WHERE seq < ?1", [last])?;
    if forget {
        // The last one stays, so that numbers never come again.
        tx.execute("DELETE FROM event WHERE seq < ?1", [last])?;
    }
    Ok(())
}
