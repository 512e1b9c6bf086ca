//! Routes that carry bytes: files that tasks read and make, and what they print.

use super::{At, Query, Server, beside, for_long};
use crate::http::desk::{Ask, client_of};
use crate::http::fault::{Fault, Reply};
use crate::http::files::{self, Allowed, Over, is_digest};
use crate::http::logs;
use crate::http::pieces::{Piece, Pieces, Rest, far_end_is_slow, part, whole};
use crate::http::transit::NoRoom;
use crate::http::types::{Needed, Problem, Stored};
use crate::tokens::Who;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cairn_engine::{Task, Token};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Take};
use tokio::sync::mpsc::Sender;

/// A piece of a log is no longer than this.
// It is in memory before the desk says whether the attempt counts. Workers of ours send a quarter of it, once a second.
const LONGEST_PIECE: usize = 1 << 20;
/// Files go out in pieces of this size, and are written in such.
// Each piece is a hand-over to a thread for disks, which would cost more than the copying if they were far smaller; and a few of them
// are in memory for every connection, which would be much if they were far larger.
const PIECE: usize = 256 << 10;

/// The files that a task reads, with the digests by which they are had. A volunteer asks for tasks that it has.
#[utoipa::path(get, path = "/api/v1/inputs/{id}", tag = "worker",
    params(("id" = u64, Path, description = "the task's number")),
    responses((status = 200, body = Vec<Needed>), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn inputs(
    State(server): Server,
    Extension(who): Extension<Who>,
    At(id): At<u64>,
) -> Reply<Json<Vec<Needed>>> {
    let job = server.job(id)?;
    // Inputs of other tasks are nobody's business whom nobody vouches for.
    if let Some(client) = client_of(who)
        && !server
            .ask(|reply| Ask::WorksOn(client, Task(id), reply))
            .await?
    {
        return Err(Fault::missing(
            format!("task {id} is not yours"),
            "ask for the inputs of tasks that were leased to you",
        ));
    }
    let files = server.files.clone();
    let found = for_long(&server, move || {
        let each = |path: &String| files.needed(path).map_err(|e| (path.clone(), e));
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
    /// How many bytes all outputs of the task have, with what it printed: what a volunteer may never have here together is
    /// refused with the first of them.
    #[serde(default)]
    result: Option<u64>,
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
pub(crate) async fn stored(
    State(server): Server,
    Extension(who): Extension<Who>,
    At(digest): At<String>,
) -> Reply<Json<Stored>> {
    let digest = digest_in(digest)?;
    let stored = beside(move || server.files.stored(who, &digest));
    stored.await.map(Json)
}

/// Why so many bytes of a volunteer are not taken, in words.
fn too_much(over: Over, bytes: u64, allowed: Allowed) -> Fault {
    let Allowed { each, all, .. } = allowed;
    match over {
        Over::Ever => Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "{bytes} bytes are more than a volunteer may have here for one task: {}",
                allowed.most()
            ),
            "whoever runs the server can allow a volunteer more",
        ),
        Over::Each(has) => Fault::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "you have {has} bytes here that wait for validation, and may have {each}: {bytes} more are too many"
            ),
            "ask again when others have confirmed them, or have whoever runs the server allow a volunteer more",
        ),
        Over::All(has) => Fault::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "volunteers may have {all} bytes here together, and you have {has}: with {bytes} more, less than you have would be left for others"
            ),
            "ask again when results are validated, or have whoever runs the server allow them more",
        ),
    }
}

/// Why an upload of so many bytes is not taken, in words.
fn refused(refusal: files::NotTaken, bytes: u64, allowed: Allowed) -> Fault {
    match refusal {
        files::NotTaken::Offset(there) => Fault::new(
            StatusCode::CONFLICT,
            format!("{there} bytes of it are here"),
            format!("go on with offset={there}, or begin anew with offset=0"),
        ),
        files::NotTaken::Busy => Fault::new(
            StatusCode::CONFLICT,
            "somebody else uploads the same content",
            "ask in a moment how much of it is stored",
        ),
        files::NotTaken::Digest => Fault::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "the content does not have this digest",
            "upload it again from the beginning",
        ),
        files::NotTaken::Long => Fault::bad(
            "more bytes came than were announced",
            "say how many the whole file has",
        ),
        files::NotTaken::Room(NoRoom::Now) => Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("there is no room for {bytes} bytes under the cap on the disk"),
            "ask again: tasks that end make room",
        ),
        files::NotTaken::Room(NoRoom::Ever) => Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "{bytes} bytes are more than is free under the cap on the disk, and no other task will make room"
            ),
            "serve it with a larger cap on the disk",
        ),
        files::NotTaken::Over(over) => too_much(over, bytes, allowed),
        files::NotTaken::Disk(error) => Fault::disk(&error),
    }
}

/// Uploads a file, or the rest of one. Go on at what `stored` says after a break; from 0 on it begins anew.
#[utoipa::path(put, path = "/api/v1/files/{digest}", tag = "worker",
    params(("digest" = String, Path, description = "BLAKE3, 64 hexadecimal digits"), UploadQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = Stored), (status = 400, body = Problem), (status = 409, body = Problem),
        (status = 413, body = Problem), (status = 422, body = Problem), (status = 429, body = Problem)))]
pub(crate) async fn upload(
    State(server): Server,
    Extension(who): Extension<Who>,
    At(digest): At<String>,
    Query(UploadQuery {
        offset,
        bytes,
        result,
    }): Query<UploadQuery>,
    mut body: Body,
) -> Reply<Json<Stored>> {
    let digest = digest_in(digest)?;
    // By what is announced, before a byte is taken; whoever sends more than that is stopped by the upload
    // itself.
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
    let files = server.files.clone();
    let allowed = files.allowed();
    if let (Who::Volunteer(_), Some(all)) = (who, result)
        && all > allowed.most()
    {
        return Err(too_much(Over::Ever, all, allowed));
    }
    let refused = |refusal| refused(refusal, bytes - offset, allowed);
    let begun = beside(move || files.upload(who, &digest, offset, bytes)).await?;
    let mut upload = begun.map_err(refused)?;
    loop {
        // No thread waits for who is slow: there is one for each part when it has come, and what has come is kept.
        let (pieces, rest) = part(&mut body, PIECE).await;
        let write = move || {
            let written = pieces.iter().try_for_each(|piece| upload.write(piece));
            (upload, written)
        };
        let (back, written) = beside(write).await?;
        upload = back;
        written.map_err(refused)?;
        match rest {
            Rest::More => (),
            Rest::End => break,
            Rest::Broken(fault) => return Err(fault),
        }
    }
    let stored = for_long(&server, move || upload.finish()).await?;
    stored.map(Json).map_err(refused)
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
        // Beyond its end nobody looks for anything: some systems do not even know such places.
        file.seek(SeekFrom::Start(offset.unwrap_or(0).min(bytes)))?;
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
    // No more than the head promised, should it grow meanwhile. If it shrinks the body breaks off, and the client asks again.
    tokio::spawn(send_pieces(file.take(bytes - begin), sender));
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

/// Sends what is left of a file, a piece at a time, each read beside the threads that answer.
async fn send_pieces(mut file: Take<File>, sender: Sender<Piece>) {
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
        // An error goes the same way: the body breaks off, so that nobody takes what came for the whole.
        if far_end_is_slow(&sender, piece).await || is_last {
            return;
        }
    }
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
        (status = 413, body = Problem), (status = 429, body = Problem)))]
pub(crate) async fn write_log(
    State(server): Server,
    Extension(who): Extension<Who>,
    At((id, epoch, attempt)): At<(u64, u32, u32)>,
    Query(LogQuery { offset }): Query<LogQuery>,
    body: Body,
) -> Reply<Json<Stored>> {
    server.job(id)?;
    let (task, token) = (Task(id), Token { epoch, attempt });
    let piece = whole(body, LONGEST_PIECE).await?;
    if !server
        // Behind the body, which may have taken its time: a token of an attempt that is over must not
        // write any more.
        .ask(|reply| Ask::Counts(who, None, (task, token), reply))
        .await?
    {
        return Err(Fault::new(
            StatusCode::CONFLICT,
            "this attempt is not under way",
            "stop it: what it makes does not count",
        ));
    }
    let allowed = server.files.allowed();
    let long = piece.len() as u64;
    let written = beside(move || {
        let more = server.logs.would_add(task, token, offset, long);
        // Counted before it is written: however many pieces come at once, no more is written than was
        // allowed.
        let may = server.files.may_print(who, (task, token), more);
        if may == Err(Over::Ever) {
            let line = format!(
                "it prints more than a volunteer may have here: {} bytes",
                allowed.most()
            );
            // Without the line it is refused all the same.
            let _ = server.logs.note(task, token, &line);
        }
        may.map(|()| server.logs.write(task, token, offset, &piece))
    });
    let all = offset.saturating_add(long);
    let written = written.await?.map_err(|over| match over {
        Over::Ever => too_much(over, all, allowed),
        _ => too_much(over, long, allowed),
    })?;
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
