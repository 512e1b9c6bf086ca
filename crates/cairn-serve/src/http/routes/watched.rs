//! Routes of the page: the stream of what happens, attempts, names, why, the report. Decides nothing.

use super::{At, Server};
use crate::http::desk::Ask;
use crate::http::fault::{Fault, Reply};
use crate::http::pieces::Pieces;
use crate::http::types::Problem;
use crate::http::watch::Look;
use crate::http::why::{self, Why};
use crate::live::AttemptTold;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use cairn_engine::Task;

/// The names of more tasks are not told at once.
// They are one answer, made in memory for each page that is opened. The page asks for no more (`MOST_NAMES` in `page/src/main.ts`).
const NAMES: u64 = 200_000;

/// What happens, as it happens: server-sent events. `scene` comes first, then `plan` whenever it changes, `full` with all that is so, and
/// `delta` with what changed since, four times a second at the most.
#[utoipa::path(get, path = "/api/v1/events", tag = "observer",
    responses((status = 200, content_type = "text/event-stream", body = crate::live::Update)))]
pub(crate) async fn events(State(server): Server) -> Reply {
    let (sender, pieces) = Pieces::channel();
    (server.watch.send(Look::Watch(sender))).map_err(|_| Fault::ending())?;
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((kind, Body::new(pieces)).into_response())
}

/// Every attempt at a task, the first one first.
#[utoipa::path(get, path = "/api/v1/tasks/{name}/attempts", tag = "observer",
    params(("name" = String, Path, description = "the task's name")),
    responses((status = 200, body = Vec<AttemptTold>), (status = 404, body = Problem)))]
pub(crate) async fn attempts(
    State(server): Server,
    At(name): At<String>,
) -> Reply<Json<Vec<AttemptTold>>> {
    let task = server.task(&name)?;
    let told = server.look(|reply| Look::Attempts(task, reply)).await?;
    Ok(Json(told))
}

/// The names of all tasks, by number.
#[utoipa::path(get, path = "/api/v1/names", tag = "observer",
    responses((status = 200, body = Vec<String>), (status = 404, body = Problem)))]
pub(crate) async fn names(State(server): Server) -> Reply<Json<Vec<String>>> {
    let many = server.tasks.count().filter(|&many| many <= NAMES);
    let many = many.ok_or_else(|| {
        let cure = "ask for tasks by name: GET /api/v1/tasks/{name}";
        Fault::missing("there are too many tasks to name them all", cure)
    })?;
    let name = |id| server.tasks.name(Task(id)).unwrap_or_default();
    Ok(Json((0..many).map(name).collect()))
}

/// Why a task is not running, or why a worker is idle. A task goes before a worker of the same name.
#[utoipa::path(get, path = "/api/v1/why/{name}", tag = "observer",
    params(("name" = String, Path, description = "the name of a task or of a worker")),
    responses((status = 200, body = Why), (status = 404, body = Problem)))]
pub(crate) async fn why(State(server): Server, At(name): At<String>) -> Reply<Json<Why>> {
    let task = server.tasks.find(&name);
    // A worker may call itself like a task: it cannot hide the task by that.
    let told = match task {
        Some(task) => server.ask(|reply| Ask::WhyTask(task, reply)).await?,
        None => {
            let name = name.clone();
            server.ask(|reply| Ask::WhyWorker(name, reply)).await?
        }
    };
    let told = told.ok_or_else(|| {
        let cure = "names are case-sensitive; GET /api/v1/status lists the workers";
        Fault::missing(format!("there is no task and no worker '{name}'"), cure)
    })?;
    Ok(Json(why::words(&name, &told, &*server.tasks)))
}

/// The run so far as one HTML file that stands alone.
#[utoipa::path(get, path = "/api/v1/report", tag = "observer",
    responses((status = 200, content_type = "text/html", body = String)))]
pub(crate) async fn report(State(server): Server) -> Reply {
    let html = server.look(Look::Report).await?;
    let kind = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            // Saved, not shown: shown, its script would run at the address of the server, beside the page
            // that has a token.
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"cairn-report.html\"",
        ),
    ];
    Ok((kind, html).into_response())
}
