//! The routes: each reads a request, asks the desk, and words the answer. Decides nothing. What they share is here.

pub(super) mod carry;
pub(super) mod look;
mod returns;
pub(super) mod steer;
pub(super) mod watched;
pub(super) mod workers;

use super::Shared;
use super::desk::{Ask, Held};
use super::fault::{Fault, Reply};
use super::pieces::whole;
use super::tasks::Job;
use super::types::{Attempt, MOST_AT_ONCE};
use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use cairn_engine::{Task, Token};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::oneshot;

/// JSON bodies are no longer than this.
// As many returns as are allowed at once have 800 bytes each: a few files with their digests. A body is in memory as a whole, so this
// times its connections is what somebody with a token can take.
const LONGEST_JSON: usize = 8 << 20;

type Server = State<Arc<Shared>>;

/// The parts of the path.
pub(super) struct At<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Reply<At<T>> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(path)| At(path)).map_err(|_| {
            let cure = "numbers of tasks, workers and attempts are those that the server gave";
            Fault::missing("there is nothing at this path", cure)
        })
    }
}

/// What comes after the question mark.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Reply<Query<T>> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        query
            .map(|axum::extract::Query(query)| Query(query))
            .map_err(|e| {
                let cure = "the document at /api/v1/openapi.json says what each route takes";
                Fault::bad(e.body_text(), cure)
            })
    }
}

pub(super) async fn json<T: DeserializeOwned>(body: Body) -> Reply<T> {
    let bytes = whole(body, LONGEST_JSON).await?;
    serde_json::from_slice(&bytes).map_err(|e| {
        let cure = "the document at /api/v1/openapi.json says what each route takes";
        Fault::bad(format!("the body is not what this route takes: {e}"), cure)
    })
}

pub(super) fn not_too_many(count: usize, what: &str) -> Reply<()> {
    match count <= MOST_AT_ONCE {
        true => Ok(()),
        false => Err(Fault::bad(
            format!("{count} {what} at once are too many"),
            format!("give no more than {MOST_AT_ONCE}"),
        )),
    }
}

pub(super) fn held(attempt: Attempt) -> Held {
    let Attempt { id, epoch, attempt } = attempt;
    (Task(id), Token { epoch, attempt })
}

pub(super) fn attempt((task, token): Held) -> Attempt {
    Attempt {
        id: task.0,
        epoch: token.epoch,
        attempt: token.attempt,
    }
}

impl Shared {
    pub(super) async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Reply<T> {
        let (reply, answer) = oneshot::channel();
        // The inbox has no end, but whoever asks waits for its answer: there are hardly more asks than
        // connections.
        self.desk.send(make(reply)).map_err(|_| Fault::ending())?;
        answer.await.map_err(|_| Fault::ending())
    }

    pub(super) fn job(&self, id: u64) -> Reply<Job> {
        self.tasks.job(Task(id), 1).ok_or_else(|| {
            Fault::missing(
                format!("there is no task {id}"),
                "take the number from a lease",
            )
        })
    }

    pub(super) fn task(&self, name: &str) -> Reply<Task> {
        self.tasks.find(name).ok_or_else(|| {
            Fault::missing(
                format!("there is no task '{}'", cairn_dag::plain(name)),
                "names are case-sensitive, and those of the workflow's file",
            )
        })
    }
}

/// Runs what waits for a disk where it holds up nobody.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Reply<T> {
    (tokio::task::spawn_blocking(work).await).map_err(|_| Fault::ending())
}

/// The same for what reads or writes whole files: few at once, so that others find a thread.
pub(super) async fn for_long<T: Send + 'static>(
    server: &Shared,
    work: impl FnOnce() -> T + Send + 'static,
) -> Reply<T> {
    // The turn goes along to the thread. A client that hangs up ends this future, but not the work: its
    // turn must not be another's while the disk is still busy with it.
    let turn = server.long.clone().acquire_owned().await;
    let turn = turn.map_err(|_| Fault::ending())?;
    beside(move || {
        let done = work();
        drop(turn);
        done
    })
    .await
}
