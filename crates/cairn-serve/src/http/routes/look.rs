//! Routes of those who look: where the run and its tasks stand, the journal, the document.

use super::{At, Query, Server, attempt, beside};
use crate::http::desk::Ask;
use crate::http::fault::{Fault, Reply};
use crate::http::pieces::{Pieces, far_end_is_slow};
use crate::http::types::{Problem, Status, TaskStatus};
use crate::http::{openapi, picture};
use crate::store::Reader;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

/// Where the run stands.
#[utoipa::path(get, path = "/api/v1/status", tag = "observer", responses((status = 200, body = Status)))]
pub(crate) async fn status(State(server): Server) -> Reply<Json<Status>> {
    let seen = server.ask(Ask::Status).await?;
    Ok(Json(picture::status(server.tasks.count(), seen)))
}

/// The same for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "observer",
    responses((status = 200, content_type = "text/plain", body = String)))]
pub(crate) async fn metrics(State(server): Server) -> Reply {
    let seen = server.ask(Ask::Status).await?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, picture::metrics(&seen)).into_response())
}

/// Where a task stands.
#[utoipa::path(get, path = "/api/v1/tasks/{name}", tag = "observer",
    params(("name" = String, Path, description = "the task's name")),
    responses((status = 200, body = TaskStatus), (status = 404, body = Problem)))]
pub(crate) async fn task(State(server): Server, At(name): At<String>) -> Reply<Json<TaskStatus>> {
    let task = server.task(&name)?;
    let picture = server.ask(|reply| Ask::Task(task, reply)).await?;
    let picture = picture.ok_or_else(|| Fault::missing("there is no such task", ""))?;
    let lease = picture.lease;
    Ok(Json(TaskStatus {
        id: task.0,
        task: name,
        state: picture.standing.name().to_owned(),
        run: server.tasks.job(task, 1).map(|job| job.command.text()),
        attempt: lease.as_ref().map(|&(_, token, _)| attempt((task, token))),
        since: lease.as_ref().map(|(_, _, since)| since.0 as f64 / 1e6),
        worker: lease.map(|(name, ..)| name),
        expected_by: picture.expected_by.map(|by| by.0 as f64 / 1e6),
        copies: (picture.copies > 1).then_some(picture.copies),
        validation: picture.validation,
    }))
}

#[derive(serde::Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// Only events after the one of this number.
    #[serde(default)]
    after: u64,
}

/// The journal: every event of the run, one JSON object a line, in the order in which they happened.
#[utoipa::path(get, path = "/api/v1/export", tag = "observer", params(ExportQuery),
    responses((status = 200, content_type = "application/jsonl", body = String)))]
pub(crate) async fn export(
    State(server): Server,
    Query(ExportQuery { after }): Query<ExportQuery>,
) -> Reply {
    // A journal of any length: never in memory as a whole.
    // Some hundred kilobytes of text a piece: few transactions, and each is short (see `past.rs`).
    const EVENTS: usize = 4096;
    let Ok(mut after) = i64::try_from(after) else {
        let cure = "give the number of an event, as in the lines of the journal";
        return Err(Fault::bad(format!("after is {after}"), cure));
    };
    let failed = |e: crate::store::StoreError| {
        let cure = "look at the server's state folder";
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, e, cure)
    };
    let state = server.state.clone();
    let reader = beside(move || Reader::open(&state))
        .await?
        .map_err(failed)?;
    let (sender, pieces) = Pieces::channel();
    tokio::spawn(async move {
        let mut reader = reader;
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let entries = reader.entries(after, EVENTS);
                (reader, entries)
            });
            let Ok((back, entries)) = read.await else {
                return;
            };
            reader = back;
            let lines = match entries {
                Ok(entries) => match entries.last() {
                    None => return,
                    Some(&(last, _)) => {
                        after = last;
                        let line = |(seq, entry)| picture::line(seq, &entry, &*server.tasks);
                        Ok(entries
                            .into_iter()
                            .map(line)
                            .collect::<String>()
                            .into_bytes())
                    }
                },
                Err(e) => Err(std::io::Error::other(e)),
            };
            // The error goes out first: the body breaks off instead of ending as if the journal did.
            let is_broken = lines.is_err();
            if far_end_is_slow(&sender, lines).await || is_broken {
                return;
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, "application/jsonl")];
    Ok((kind, Body::new(pieces)).into_response())
}

/// This document.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "observer", responses((status = 200)))]
pub(crate) async fn document() -> Reply {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    Ok((kind, openapi::document()).into_response())
}
