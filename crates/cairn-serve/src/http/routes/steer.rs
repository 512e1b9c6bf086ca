//! Routes of those who steer: cancel, try again, pause.

use super::{Server, json, not_too_many};
use crate::http::desk::Ask;
use crate::http::fault::{Fault, Reply};
use crate::http::types::{Changed, Named, Pause, Problem, Refused};
use crate::http::{Shared, UNHEARD_BYTES, pieces};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use cairn_engine::Task;
use tokio::sync::oneshot;

/// These tasks shall not be executed.
#[utoipa::path(post, path = "/api/v1/cancel", tag = "admin", request_body = Named,
    responses((status = 200, body = Changed), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn cancel(State(server): Server, body: Body) -> Reply<Json<Changed>> {
    change(&server, body, Ask::Cancel).await
}

/// These failed or cancelled tasks shall be tried again.
#[utoipa::path(post, path = "/api/v1/retry", tag = "admin", request_body = Named,
    responses((status = 200, body = Changed), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn retry(State(server): Server, body: Body) -> Reply<Json<Changed>> {
    change(&server, body, Ask::Retry).await
}

async fn change(
    server: &Shared,
    body: Body,
    make: impl FnOnce(Vec<Task>, oneshot::Sender<Vec<Result<(), String>>>) -> Ask,
) -> Reply<Json<Changed>> {
    let Named { tasks } = json(body).await?;
    not_too_many(tasks.len(), "tasks")?;
    if tasks.is_empty() {
        return Err(Fault::bad("no task is named", "name one or more"));
    }
    // All names first: where one is wrong nothing changes.
    let found = tasks
        .iter()
        .map(|name| server.task(name))
        .collect::<Reply<Vec<_>>>()?;
    let done = server.ask(|reply| make(found, reply)).await?;
    let mut answer = Changed {
        changed: Vec::new(),
        refused: Vec::new(),
    };
    for (task, done) in tasks.into_iter().zip(done) {
        match done {
            Ok(()) => answer.changed.push(task),
            Err(why) => answer.refused.push(Refused { task, why }),
        }
    }
    Ok(Json(answer))
}

/// Nothing is leased from now on; what is under way goes on.
#[utoipa::path(post, path = "/api/v1/pause", tag = "admin", responses((status = 200, body = Pause)))]
pub(crate) async fn pause(State(server): Server, body: Body) -> Reply<Json<Pause>> {
    set_paused(&server, body, true).await
}

/// Tasks are leased again.
#[utoipa::path(post, path = "/api/v1/resume", tag = "admin", responses((status = 200, body = Pause)))]
pub(crate) async fn resume(State(server): Server, body: Body) -> Reply<Json<Pause>> {
    set_paused(&server, body, false).await
}

async fn set_paused(server: &Shared, body: Body, paused: bool) -> Reply<Json<Pause>> {
    // It says nothing; but whoever is still speaking when the answer goes out is cut off, and does not hear it.
    pieces::whole(body, UNHEARD_BYTES).await?;
    server.ask(|reply| Ask::Pause(paused, reply)).await?;
    Ok(Json(Pause { paused }))
}
