//! The routes: each reads a request, asks the desk, and words the answer. Decides nothing.

use super::Shared;
use super::desk::{Ask, Handed, Held};
use super::fault::{Fault, Reply};
use super::files::{self, is_digest};
use super::logs;
use super::pieces::{Pieces, far_end_is_slow, whole};
use super::tasks::Job;
use super::types::{
    Attempt, Changed, Exchange, Exchanged, Heard, Heartbeat, Join, Joined, Lease, LeaseRequest,
    Made, Named, Needed, Pause, Problem, Refused, Return, ReturnRequest, Status, Stored,
    TaskStatus, Worth,
};
use crate::store::Reader;
use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cairn_engine::{Granted, Offer, Task, Token, WorkerId};
use serde::de::DeserializeOwned;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// JSON bodies are no longer than this.
const LONGEST_JSON: usize = 8 << 20;
/// A piece of a log is no longer than this.
const LONGEST_PIECE: usize = 1 << 20;
/// Long polls are no longer than this.
const LONGEST_WAIT: f64 = 60.0;
/// What is asked for at once is no more than this.
const MOST: usize = 10_000;
/// Files go out in pieces of this size.
const PIECE: usize = 256 << 10;

type Server = State<Arc<Shared>>;

// ---- Reading requests --------------------------------------------------------------------------------------------------

/// The parts of the path.
pub(crate) struct At<T>(T);

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
pub(crate) struct Query<T>(T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Query<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Reply<Query<T>> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        query
            .map(|axum::extract::Query(query)| Query(query))
            .map_err(|e| {
                let cure = "the document at /api/v1/openapi.json says what each route takes";
                Fault::bad(format!("{}: {}", e, e.body_text()), cure)
            })
    }
}

async fn json<T: DeserializeOwned>(body: Body) -> Reply<T> {
    let bytes = whole(body, LONGEST_JSON).await?;
    serde_json::from_slice(&bytes).map_err(|e| {
        let cure = "the document at /api/v1/openapi.json says what each route takes";
        Fault::bad(format!("the body is not what this route takes: {e}"), cure)
    })
}

fn not_too_many(count: usize, what: &str) -> Reply<()> {
    match count <= MOST {
        true => Ok(()),
        false => Err(Fault::bad(
            format!("{count} {what} at once are too many"),
            format!("give no more than {MOST}"),
        )),
    }
}

fn wait(seconds: f64) -> Reply<Duration> {
    match (0.0..=LONGEST_WAIT).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(Fault::bad(
            format!("wait_seconds is {seconds}"),
            format!("give a number of seconds from 0 to {LONGEST_WAIT}"),
        )),
    }
}

fn held(attempt: Attempt) -> Held {
    let Attempt { id, epoch, attempt } = attempt;
    (Task(id), Token { epoch, attempt })
}

fn attempt((task, token): Held) -> Attempt {
    Attempt {
        id: task.0,
        epoch: token.epoch,
        attempt: token.attempt,
    }
}

fn unknown_worker() -> Fault {
    Fault::missing(
        "this worker is not known here, or was given up for lost",
        "join again: POST /api/v1/workers",
    )
}

impl Shared {
    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<T>) -> Ask) -> Reply<T> {
        let (reply, answer) = oneshot::channel();
        self.desk.send(make(reply)).map_err(|_| Fault::ending())?;
        answer.await.map_err(|_| Fault::ending())
    }

    fn job(&self, id: u64) -> Reply<Job> {
        self.tasks.job(Task(id), 1).ok_or_else(|| {
            Fault::missing(
                format!("there is no task {id}"),
                "take the number from a lease",
            )
        })
    }

    fn task(&self, name: &str) -> Reply<Task> {
        self.tasks.find(name).ok_or_else(|| {
            Fault::missing(
                format!("there is no task '{}'", cairn_dag::plain(name)),
                "names are case-sensitive, and those of the workflow's file",
            )
        })
    }

    fn lease(&self, granted: Granted) -> Lease {
        let Granted {
            task,
            token,
            limit,
            memory,
        } = granted;
        let job = self.tasks.job(task, token.attempt).unwrap_or_default();
        Lease {
            id: task.0,
            task: self.tasks.name(task).unwrap_or_default(),
            epoch: token.epoch,
            attempt: token.attempt,
            command: job.command,
            limit_seconds: limit.map(|limit| limit.0 as f64 / 1e6),
            memory: (memory > 0).then_some(memory),
            inputs: job.inputs,
            outputs: job.outputs,
        }
    }
}

/// Runs what waits for a disk where it holds up nobody.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Reply<T> {
    (tokio::task::spawn_blocking(work).await).map_err(|_| Fault::ending())
}

// ---- Workers -----------------------------------------------------------------------------------------------------------

/// A worker comes. One of the same name that is still here is lost, and its tasks are eligible again.
#[utoipa::path(post, path = "/api/v1/workers", tag = "worker", request_body = Join,
    responses((status = 200, body = Joined), (status = 400, body = Problem)))]
pub(crate) async fn join(State(server): Server, body: Body) -> Reply<Json<Joined>> {
    let join: Join = json(body).await?;
    let is_fit =
        |text: &str| !text.is_empty() && text.len() <= 200 && !text.contains(char::is_control);
    if !is_fit(&join.name) || !join.tags.iter().all(|tag| is_fit(tag)) || join.tags.len() > 100 {
        return Err(Fault::bad(
            "a name or tag is empty, too long, or has control characters",
            "give names and tags of 1 to 200 plain characters, and no more than 100 tags",
        ));
    }
    if !(1..=100_000).contains(&join.cpus) {
        return Err(Fault::bad(
            format!("{} cpus", join.cpus),
            "give a number from 1 to 100000",
        ));
    }
    let left = join.seconds_left.unwrap_or(0.0);
    if !(0.0..=1e10).contains(&left) {
        return Err(Fault::bad(
            format!("seconds_left is {left}"),
            "give a number of seconds from 0 on",
        ));
    }
    let until = |left: f64| server.clock.now().0.saturating_add((left * 1e6) as u64);
    let offer = Offer {
        cpus: join.cpus,
        memory: join.memory,
        tags: join.tags,
        until: join.seconds_left.map(until),
    };
    let name = join.name;
    let (worker, epoch) = server.ask(|reply| Ask::Join { name, offer, reply }).await?;
    let silence = server.silence.as_secs_f64();
    Ok(Json(Joined {
        worker: worker.0,
        epoch,
        heartbeat_seconds: silence / 3.0,
        silence_seconds: silence,
        programs: server.tasks.programs(),
        folder: server.folder.clone(),
    }))
}

/// Return these, lease me so many: the one request that workers live by. Answered when it is on the disk.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/exchange", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = Exchange,
    responses((status = 200, body = Exchanged), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn exchange(
    State(server): Server,
    At(worker): At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>> {
    let request: Exchange = json(body).await?;
    exchanged(&server, WorkerId(worker), request)
        .await
        .map(Json)
}

/// Lease me so many.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/lease", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = LeaseRequest,
    responses((status = 200, body = Exchanged), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn lease(
    State(server): Server,
    At(worker): At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>> {
    let LeaseRequest { want, wait_seconds } = json(body).await?;
    let request = Exchange {
        want,
        wait_seconds,
        ..Exchange::default()
    };
    exchanged(&server, WorkerId(worker), request)
        .await
        .map(Json)
}

/// Return these. The same return may be sent again until it has a receipt.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/return", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = ReturnRequest,
    responses((status = 200, body = Exchanged), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn give_back(
    State(server): Server,
    At(worker): At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>> {
    let ReturnRequest { returns } = json(body).await?;
    let request = Exchange {
        returns,
        ..Exchange::default()
    };
    exchanged(&server, WorkerId(worker), request)
        .await
        .map(Json)
}

async fn exchanged(server: &Arc<Shared>, worker: WorkerId, request: Exchange) -> Reply<Exchanged> {
    not_too_many(request.returns.len(), "returns")?;
    not_too_many(request.want as usize, "tasks wanted")?;
    let wait = wait(request.wait_seconds)?;
    let holding = request.holding;
    not_too_many(holding.as_ref().map_or(0, Vec::len), "attempts held")?;
    let holding = holding.map(|all| all.into_iter().map(held).collect());
    let mut returns = Vec::with_capacity(request.returns.len());
    let mut uploads = Vec::new();
    for back in request.returns {
        uploads.push(
            back.outputs
                .iter()
                .map(|m| m.digest.clone())
                .collect::<Vec<_>>(),
        );
        returns.push(handed(server, back).await?);
    }
    let want = request.want as usize;
    let answer = server.ask(|reply| Ask::Exchange {
        worker,
        returns,
        holding,
        want,
        wait,
        reply,
    });
    let answer = answer.await?;
    for (receipt, digests) in answer.receipts.iter().zip(uploads) {
        if *receipt != Worth::OutputMissing && *receipt != Worth::Unknown {
            digests
                .iter()
                .for_each(|digest| server.files.forget(digest));
        }
    }
    if answer.is_unknown && answer.receipts.is_empty() {
        return Err(unknown_worker());
    }
    Ok(Exchanged {
        receipts: answer.receipts,
        leases: answer
            .granted
            .into_iter()
            .map(|g| server.lease(g))
            .collect(),
        stop: answer.stop.into_iter().map(attempt).collect(),
        reason: answer.reason,
        finished: answer.finished,
        known: !answer.is_unknown,
    })
}

/// A return with its files beside their places, where it may count.
async fn handed(server: &Arc<Shared>, back: Return) -> Reply<Handed> {
    let outcome = back.outcome();
    let (task, token) = held(Attempt {
        id: back.id,
        epoch: back.epoch,
        attempt: back.attempt,
    });
    let mut handed = Handed {
        task,
        token,
        outcome,
        staged: Vec::new(),
        lacks_output: false,
    };
    if back.outputs.is_empty() {
        return Ok(handed);
    }
    let declared = server
        .tasks
        .job(task, back.attempt)
        .unwrap_or_default()
        .outputs;
    for Made { path, digest, .. } in &back.outputs {
        if !declared.contains(path) || !is_digest(digest) {
            return Err(Fault::bad(
                format!(
                    "task {} does not declare the output '{}'",
                    task.0,
                    cairn_dag::plain(path)
                ),
                "return the files that the lease lists under outputs, with BLAKE3 digests of 64 small hexadecimal digits",
            ));
        }
    }
    if server
        .ask(|reply| Ask::Counts((task, token), reply))
        .await?
    {
        let server = server.clone();
        let stage = move || {
            back.outputs
                .iter()
                .map(|made| server.files.stage(made))
                .collect()
        };
        let staged: std::io::Result<Vec<_>> = beside(stage).await?;
        match staged {
            Ok(staged) => handed.staged = staged,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => handed.lacks_output = true,
            Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => {
                return Err(Fault::bad(
                    e,
                    "declare paths below the folder of the workflow",
                ));
            }
            Err(e) => return Err(Fault::disk(&e)),
        }
    }
    Ok(handed)
}

/// A worker lives, and says what it works on. The answer says what to stop.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/heartbeat", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = Heartbeat,
    responses((status = 200, body = Heard), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn heartbeat(
    State(server): Server,
    At(worker): At<u32>,
    body: Body,
) -> Reply<Json<Heard>> {
    let Heartbeat { holding } = json(body).await?;
    not_too_many(holding.len(), "attempts held")?;
    let holding = holding.into_iter().map(held).collect();
    let worker = WorkerId(worker);
    let heard = server.ask(|reply| Ask::Heartbeat {
        worker,
        holding,
        reply,
    });
    let (stop, finished) = heard.await?.map_err(|_| unknown_worker())?;
    let stop = stop.into_iter().map(attempt).collect();
    Ok(Json(Heard { stop, finished }))
}

/// A worker goes; what it has is eligible again.
#[utoipa::path(delete, path = "/api/v1/workers/{worker}", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")),
    responses((status = 204), (status = 404, body = Problem)))]
pub(crate) async fn leave(State(server): Server, At(worker): At<u32>) -> Reply<StatusCode> {
    let worker = WorkerId(worker);
    let left = server.ask(|reply| Ask::Leave { worker, reply }).await?;
    left.map(|()| StatusCode::NO_CONTENT)
        .map_err(|_| unknown_worker())
}

// ---- Files and logs ----------------------------------------------------------------------------------------------------

/// The files that a task reads, with the digests by which they are had.
#[utoipa::path(get, path = "/api/v1/inputs/{id}", tag = "worker",
    params(("id" = u64, Path, description = "the task's number")),
    responses((status = 200, body = Vec<Needed>), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn inputs(State(server): Server, At(id): At<u64>) -> Reply<Json<Vec<Needed>>> {
    let job = server.job(id)?;
    let found = beside(move || {
        let each = |path: &String| server.files.needed(path).map_err(|e| (path.clone(), e));
        job.inputs.iter().map(each).collect::<Result<Vec<_>, _>>()
    });
    found.await?.map(Json).map_err(|(path, error)| {
        Fault::new(
            StatusCode::CONFLICT,
            format!(
                "input '{}' of task {id}: {}",
                cairn_dag::plain(&path),
                error.kind()
            ),
            "put it into the folder of the workflow, or let the worker share the server's disk",
        )
    })
}

#[derive(serde::Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct UploadQuery {
    /// How many bytes of it the server has: they are left out.
    #[serde(default)]
    offset: u64,
    /// How many bytes the whole file has.
    bytes: u64,
}

fn digest_in(path: String) -> Reply<String> {
    match is_digest(&path) {
        true => Ok(path),
        false => Err(Fault::missing(
            "this is no digest",
            "give the BLAKE3 digest of the content: 64 hexadecimal digits in small letters",
        )),
    }
}

/// How much of a file was uploaded.
#[utoipa::path(get, path = "/api/v1/files/{digest}/stored", tag = "worker",
    params(("digest" = String, Path, description = "BLAKE3, 64 hexadecimal digits")),
    responses((status = 200, body = Stored), (status = 404, body = Problem)))]
pub(crate) async fn stored(State(server): Server, At(digest): At<String>) -> Reply<Json<Stored>> {
    let digest = digest_in(digest)?;
    beside(move || server.files.stored(&digest)).await.map(Json)
}

/// Uploads a file, or the rest of one. Go on at what `stored` says after a break.
#[utoipa::path(put, path = "/api/v1/files/{digest}", tag = "worker",
    params(("digest" = String, Path, description = "BLAKE3, 64 hexadecimal digits"), UploadQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Stored), (status = 400, body = Problem), (status = 409, body = Problem),
        (status = 413, body = Problem), (status = 422, body = Problem)))]
pub(crate) async fn upload(
    State(server): Server,
    At(digest): At<String>,
    Query(UploadQuery { offset, bytes }): Query<UploadQuery>,
    body: Body,
) -> Reply<Json<Stored>> {
    let digest = digest_in(digest)?;
    if bytes > server.largest_file || offset > bytes {
        return Err(Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("{bytes} bytes from {offset} on"),
            format!(
                "a file may have up to {} bytes here, and offset none beyond them",
                server.largest_file
            ),
        ));
    }
    let refused = |refusal: files::Refusal| match refusal {
        files::Refusal::Offset(there) => Fault::new(
            StatusCode::CONFLICT,
            format!("{there} bytes of it are here"),
            format!("go on with offset={there}"),
        ),
        files::Refusal::Busy => Fault::new(
            StatusCode::CONFLICT,
            "somebody else uploads the same content",
            "ask in a moment how much of it is stored",
        ),
        files::Refusal::Digest => Fault::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the content does not have this digest",
            "upload it again from the beginning",
        ),
        files::Refusal::Long => Fault::bad(
            "more bytes came than were announced",
            "say how many the whole file has",
        ),
        files::Refusal::Disk(error) => Fault::disk(&error),
    };
    let (pieces, mut taken) = tokio::sync::mpsc::channel::<hyper::body::Bytes>(4);
    let writing = tokio::task::spawn_blocking(move || {
        let mut upload = server.files.upload(&digest, offset, bytes)?;
        while let Some(piece) = taken.blocking_recv() {
            upload.write(&piece)?;
        }
        upload.finish()
    });
    // What arrived before a break is kept: the upload goes on there.
    let fed = super::pieces::feed(body, pieces).await;
    let stored = writing
        .await
        .map_err(|_| Fault::ending())?
        .map_err(refused)?;
    fed.map(|()| Json(stored))
}

/// A file, or what a `Range: bytes=K-` header asks for.
#[utoipa::path(get, path = "/api/v1/files/{digest}", tag = "worker",
    params(("digest" = String, Path, description = "BLAKE3, 64 hexadecimal digits")),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, content_type = "application/octet-stream", body = Vec<u8>),
        (status = 404, body = Problem), (status = 416, body = Problem)))]
pub(crate) async fn download(
    State(server): Server,
    At(digest): At<String>,
    headers: HeaderMap,
) -> Reply {
    let digest = digest_in(digest)?;
    let range = headers.get(header::RANGE).and_then(|v| v.to_str().ok());
    let offset = range.and_then(|r| {
        r.strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse::<u64>()
            .ok()
    });
    let opened = beside(move || {
        let (mut file, bytes) = server.files.read(&digest)?;
        file.seek(SeekFrom::Start(offset.unwrap_or(0)))?;
        std::io::Result::Ok((file, bytes))
    });
    let (file, bytes) = opened.await?.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Fault::missing(
            "there is no file of this digest",
            "ask GET /api/v1/inputs/{id} anew: the file may have changed",
        ),
        _ => Fault::disk(&e),
    })?;
    let begin = offset.unwrap_or(0);
    if begin > bytes {
        return Err(Fault::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            format!("the file has {bytes} bytes"),
            "ask for fewer",
        ));
    }
    let (sender, pieces) = Pieces::channel();
    tokio::spawn(async move {
        let mut file = file.take(bytes - begin);
        loop {
            let read = tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; PIECE];
                let read = file.read(&mut piece);
                (
                    file,
                    read.map(|n| {
                        piece.truncate(n);
                        piece
                    }),
                )
            });
            let Ok((back, piece)) = read.await else {
                return;
            };
            file = back;
            let is_last = !matches!(&piece, Ok(piece) if !piece.is_empty());
            if is_last && piece.is_ok() {
                return;
            }
            if far_end_is_slow(&sender, piece).await || is_last {
                return;
            }
        }
    });
    let mut response = Response::new(Body::new(pieces));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/octet-stream"),
    );
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes - begin));
    if offset.is_some() && bytes > 0 {
        let range = format!("bytes {begin}-{}/{bytes}", bytes - 1);
        if let Ok(range) = HeaderValue::from_str(&range) {
            headers.insert(header::CONTENT_RANGE, range);
        }
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

#[derive(serde::Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// How many bytes of the log came before this piece.
    #[serde(default)]
    offset: u64,
}

/// A piece of what an attempt printed, up to 1 MiB. Pieces may come twice.
#[utoipa::path(put, path = "/api/v1/logs/{id}/{epoch}/{attempt}", tag = "worker",
    params(("id" = u64, Path, description = "the task's number"), ("epoch" = u32, Path, description = "of the lease"),
        ("attempt" = u32, Path, description = "of the lease"), LogQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Stored), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 413, body = Problem)))]
pub(crate) async fn write_log(
    State(server): Server,
    At((id, epoch, attempt)): At<(u64, u32, u32)>,
    Query(LogQuery { offset }): Query<LogQuery>,
    body: Body,
) -> Reply<Json<Stored>> {
    server.job(id)?;
    let (task, token) = (Task(id), Token { epoch, attempt });
    let piece = whole(body, LONGEST_PIECE).await?;
    if !server
        .ask(|reply| Ask::Counts((task, token), reply))
        .await?
    {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "this attempt is not under way",
            "stop it: what it makes does not count",
        ));
    }
    let written = beside(move || server.logs.write(task, token, offset, &piece)).await?;
    let bytes = written.map_err(|e| match e.kind() {
        std::io::ErrorKind::InvalidInput => {
            Fault::new(StatusCode::CONFLICT, e, "send what comes before it first")
        }
        _ => Fault::disk(&e),
    })?;
    let complete = bytes < logs::LONGEST;
    Ok(Json(Stored { bytes, complete }))
}

#[derive(serde::Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TailQuery {
    /// No more than so many bytes from its end.
    #[serde(default)]
    tail: Option<u64>,
}

/// What the latest attempt at a task printed.
#[utoipa::path(get, path = "/api/v1/tasks/{name}/log", tag = "observer",
    params(("name" = String, Path, description = "the task's name"), TailQuery),
    responses((status = 200, content_type = "text/plain", body = String), (status = 404, body = Problem)))]
pub(crate) async fn read_log(
    State(server): Server,
    At(name): At<String>,
    Query(TailQuery { tail }): Query<TailQuery>,
) -> Reply {
    let task = server.task(&name)?;
    let most = tail.unwrap_or(logs::LONGEST).min(logs::LONGEST);
    let text = beside(move || server.logs.read(task, None, most)).await?;
    let text = text.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Fault::missing(e, "ask again when it has begun"),
        _ => Fault::disk(&e),
    })?;
    // Raw bytes of somebody's program: no page may take them for anything but text.
    let kind = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((kind, text).into_response())
}

// ---- Looking -----------------------------------------------------------------------------------------------------------

/// Where the run stands.
#[utoipa::path(get, path = "/api/v1/status", tag = "observer", responses((status = 200, body = Status)))]
pub(crate) async fn status(State(server): Server) -> Reply<Json<Status>> {
    let picture = server.ask(Ask::Status).await?;
    Ok(Json(super::picture::status(server.tasks.count(), picture)))
}

/// The same for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "observer",
    responses((status = 200, content_type = "text/plain", body = String)))]
pub(crate) async fn metrics(State(server): Server) -> Reply {
    let picture = server.ask(Ask::Status).await?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, super::picture::metrics(&picture)).into_response())
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
    const EVENTS: usize = 4096;
    let failed = |e: crate::store::StoreError| {
        let cure = "look at the server's state folder";
        Fault::new(StatusCode::SERVICE_UNAVAILABLE, e, cure)
    };
    let state = server.state.clone();
    let reader = beside(move || Reader::open(&state))
        .await?
        .map_err(failed)?;
    let (sender, pieces) = Pieces::channel();
    let mut after = i64::try_from(after).unwrap_or(i64::MAX);
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
                        let line = |(seq, entry)| super::picture::line(seq, &entry, &*server.tasks);
                        Ok(entries
                            .into_iter()
                            .map(line)
                            .collect::<String>()
                            .into_bytes())
                    }
                },
                Err(e) => Err(std::io::Error::other(e)),
            };
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
    Ok((kind, super::openapi::document()).into_response())
}

/// A page for people who come by.
pub(crate) async fn page() -> Response {
    const PAGE: &str = "\
This is a Cairn server: it hands out the tasks of a workflow to workers that come and go.

  cairn work URL --token-file FILE      work for it
  cairn status URL --token-file FILE    see where it stands

The interface is described at /api/v1/openapi.json (with a token).
";
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], PAGE).into_response()
}

// ---- Steering ----------------------------------------------------------------------------------------------------------

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
pub(crate) async fn pause(State(server): Server) -> Reply<Json<Pause>> {
    let paused = true;
    server.ask(|reply| Ask::Pause(paused, reply)).await?;
    Ok(Json(Pause { paused }))
}

/// Tasks are leased again.
#[utoipa::path(post, path = "/api/v1/resume", tag = "admin", responses((status = 200, body = Pause)))]
pub(crate) async fn resume(State(server): Server) -> Reply<Json<Pause>> {
    let paused = false;
    server.ask(|reply| Ask::Pause(paused, reply)).await?;
    Ok(Json(Pause { paused }))
}
