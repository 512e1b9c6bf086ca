//! Events as rows of a table, and back. Knows no transaction.

use cairn_engine::{
    Cause, ClientId, Digest, Entry, Event, Gone, Moment, Offer, Record, Release, Task, Token,
    WorkerId,
};
use rusqlite::types::Value;
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};

const INSERT: &str = "INSERT INTO event \
    (seq, at, kind, task, epoch, attempt, worker, exit, cause, for_good, info) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// All rows from a number on.
pub(super) const SELECT: &str = "SELECT \
    seq, at, kind, task, epoch, attempt, worker, exit, cause, for_good, info \
    FROM event WHERE seq >= ?1 ORDER BY seq";

/// The columns of an event beyond its number and time; those that it has no use for are NULL.
#[derive(Clone, Debug, Default)]
struct Columns {
    kind: &'static str,
    task: Option<i64>,
    token: Option<Token>,
    worker: Option<u32>,
    exit: Option<i32>,
    cause: Option<&'static str>,
    for_good: Option<bool>,
    info: Option<Value>,
}

/// What a worker said when it came.
#[derive(Serialize, Deserialize)]
struct Arrival {
    name: String,
    offer: Offer,
}

/// What earlier runs know of a volunteer.
#[derive(Serialize, Deserialize)]
struct Known {
    client: ClientId,
    record: Record,
}

/// What a row says of an event.
// One arm an event, and nothing else in it: in two functions half of the events would be out of sight.
fn columns(event: &Event) -> Columns {
    let bare = |kind| Columns {
        kind,
        ..Columns::default()
    };
    let about = |kind, task: &Task| Columns {
        // SQLite has no unsigned numbers: the bits go there and come back.
        task: Some(task.0 as i64),
        ..bare(kind)
    };
    let attempt = |kind, task, token: &Token, worker: Option<WorkerId>| Columns {
        token: Some(*token),
        worker: worker.map(|w| w.0),
        ..about(kind, task)
    };
    match event {
        Event::Opened { epoch } => Columns {
            token: Some(Token {
                epoch: *epoch,
                attempt: 0,
            }),
            ..bare("opened")
        },
        Event::Ordered { plan } => Columns {
            info: Some(Value::Integer((*plan).into())),
            ..bare("ordered")
        },
        Event::Joined {
            worker,
            name,
            offer,
        } => {
            let (name, offer) = (name.clone(), offer.clone());
            let who = serde_json::to_string(&Arrival { name, offer }).expect("a worker is JSON");
            Columns {
                worker: Some(worker.0),
                info: Some(Value::Text(who)),
                ..bare("joined")
            }
        }
        Event::Remembered { client, record } => {
            let (client, record) = (*client, record.clone());
            let known = serde_json::to_string(&Known { client, record }).expect("a record is JSON");
            Columns {
                info: Some(Value::Text(known)),
                ..bare("remembered")
            }
        }
        Event::Departed { worker, why } => Columns {
            worker: Some(worker.0),
            cause: Some(word(&GONE, *why)),
            ..bare("departed")
        },
        Event::Forgotten { worker } => Columns {
            worker: Some(worker.0),
            ..bare("forgotten")
        },
        Event::Leased {
            task,
            token,
            worker,
            due,
        } => Columns {
            info: due.map(|due| Value::Integer(due.0 as i64)),
            ..attempt("leased", task, token, Some(*worker))
        },
        Event::Returned {
            task,
            token,
            worker,
            digest: Digest([high, low]),
        } => Columns {
            // 128 bits are more than a number has there.
            info: Some(Value::Text(format!("{high:016x}{low:016x}"))),
            ..attempt("returned", task, token, Some(*worker))
        },
        Event::Disputed { task } => about("disputed", task),
        Event::Executed {
            task,
            token,
            worker,
        } => attempt("executed", task, token, Some(*worker)),
        Event::Failed {
            task,
            token,
            exit,
            cause,
            for_good,
        } => Columns {
            exit: Some(*exit),
            cause: Some(cause.name()),
            for_good: Some(*for_good),
            ..attempt("failed", task, token, None)
        },
        Event::Released {
            task,
            token,
            why,
            for_good,
        } => Columns {
            cause: Some(word(&RELEASE, *why)),
            for_good: Some(*for_good),
            ..attempt("released", task, token, None)
        },
        Event::Cancelled { task } => about("cancelled", task),
        Event::Revived { task } => about("revived", task),
        Event::Reopened { task } => about("reopened", task),
        Event::Paused => bare("paused"),
        Event::Unpaused => bare("unpaused"),
        Event::Halted { exit } => Columns {
            exit: Some(*exit),
            ..bare("halted")
        },
    }
}

// Words, not numbers: people read the table, and no order of variants may ever change what is in a file.
const GONE: [(Gone, &str); 2] = [(Gone::Left, "left"), (Gone::Lost, "lost")];

const RELEASE: [(Release, &str); 5] = [
    (Release::GivenBack, "given-back"),
    (Release::Lost, "lost"),
    (Release::Unheard, "unheard"),
    (Release::Overdue, "overdue"),
    (Release::Redundant, "redundant"),
];

const CAUSES: [Cause; 6] = [
    Cause::Exit,
    Cause::Signal,
    Cause::Memory,
    Cause::Time,
    Cause::Output,
    Cause::Start,
];

fn word<T: PartialEq>(words: &[(T, &'static str)], value: T) -> &'static str {
    // The tables are short: no map is faster.
    let found = words.iter().find(|(known, _)| *known == value);
    found.expect("every value has its word").1
}

/// Appends events, numbered from `next`.
pub(super) fn insert(tx: &Connection, next: &mut i64, entries: &[Entry]) -> rusqlite::Result<()> {
    // Appended, never changed: rows of tasks updated in the order of priorities would make another page dirty for every task.
    let mut insert = tx.prepare_cached(INSERT)?;
    for entry in entries {
        let columns = columns(&entry.event);
        let token = columns.token;
        insert.execute(rusqlite::params![
            *next,
            entry.at.0 as i64,
            columns.kind,
            columns.task,
            token.map(|t| t.epoch),
            token.map(|t| t.attempt),
            columns.worker,
            columns.exit,
            columns.cause,
            columns.for_good,
            columns.info,
        ])?;
        *next += 1;
    }
    Ok(())
}

/// Why a row is no event.
pub(super) enum Unread {
    /// The database says no.
    Sql(rusqlite::Error),
    /// Nobody can have written it.
    Strange(String),
}

impl From<rusqlite::Error> for Unread {
    fn from(error: rusqlite::Error) -> Unread {
        Unread::Sql(error)
    }
}

/// The event of a row of [`SELECT`], with its number.
pub(super) fn read(row: &Row<'_>) -> Result<(i64, Entry), Unread> {
    let seq: i64 = row.get(0)?;
    let at = Moment(row.get::<_, i64>(1)? as u64);
    let kind = row.get_ref(2)?.as_str().map_err(|e| strange(seq, &e))?;
    let task = || row.get::<_, i64>(3).map(|t| Task(t as u64));
    let token = || -> rusqlite::Result<Token> {
        Ok(Token {
            epoch: row.get(4)?,
            attempt: row.get(5)?,
        })
    };
    let worker = || row.get(6).map(WorkerId);
    let cause =
        || -> Result<&str, Unread> { (row.get_ref(8)?.as_str()).map_err(|e| strange(seq, &e)) };
    let event = match kind {
        "opened" => Event::Opened { epoch: row.get(4)? },
        "ordered" => Event::Ordered { plan: row.get(10)? },
        "joined" => {
            let who: String = row.get(10)?;
            let who: Arrival = serde_json::from_str(&who).map_err(|e| strange(seq, &e))?;
            Event::Joined {
                worker: worker()?,
                name: who.name,
                offer: who.offer,
            }
        }
        "remembered" => {
            let known: String = row.get(10)?;
            let known: Known = serde_json::from_str(&known).map_err(|e| strange(seq, &e))?;
            Event::Remembered {
                client: known.client,
                record: known.record,
            }
        }
        "departed" => Event::Departed {
            worker: worker()?,
            why: meaning(seq, &GONE, cause()?)?,
        },
        "forgotten" => Event::Forgotten { worker: worker()? },
        "leased" => Event::Leased {
            task: task()?,
            token: token()?,
            worker: worker()?,
            due: (row.get::<_, Option<i64>>(10)?).map(|due| Moment(due as u64)),
        },
        "returned" => Event::Returned {
            task: task()?,
            token: token()?,
            worker: worker()?,
            digest: digest(
                seq,
                row.get_ref(10)?.as_str().map_err(|e| strange(seq, &e))?,
            )?,
        },
        "disputed" => Event::Disputed { task: task()? },
        "executed" => Event::Executed {
            task: task()?,
            token: token()?,
            worker: worker()?,
        },
        "failed" => Event::Failed {
            task: task()?,
            token: token()?,
            exit: row.get(7)?,
            cause: meaning(seq, &CAUSES.map(|c| (c, c.name())), cause()?)?,
            for_good: row.get(9)?,
        },
        "released" => Event::Released {
            task: task()?,
            token: token()?,
            why: meaning(seq, &RELEASE, cause()?)?,
            for_good: row.get(9)?,
        },
        "cancelled" => Event::Cancelled { task: task()? },
        "revived" => Event::Revived { task: task()? },
        "reopened" => Event::Reopened { task: task()? },
        "paused" => Event::Paused,
        "unpaused" => Event::Unpaused,
        "halted" => Event::Halted { exit: row.get(7)? },
        // Not passed over: a state that leaves out what it does not know would be another one. Newer files are refused by version.
        other => return Err(strange(seq, &format!("there is no kind '{other}'"))),
    };
    Ok((seq, Entry { at, event }))
}

fn strange(seq: i64, what: &dyn std::fmt::Display) -> Unread {
    Unread::Strange(format!("event {seq}: {what}"))
}

/// What stands in 32 hexadecimal digits.
fn digest(seq: i64, text: &str) -> Result<Digest, Unread> {
    let part = |range| u64::from_str_radix(text.get(range).unwrap_or(""), 16);
    match (part(0..16), part(16..32)) {
        (Ok(high), Ok(low)) if text.len() == 32 => Ok(Digest([high, low])),
        _ => Err(strange(seq, &format!("'{text}' is no digest"))),
    }
}

fn meaning<T: Copy>(seq: i64, words: &[(T, &str)], word: &str) -> Result<T, Unread> {
    let found = words.iter().find(|(_, known)| *known == word);
    let missing = || strange(seq, &format!("there is no word '{word}'"));
    found.map(|&(value, _)| value).ok_or_else(missing)
}
