//! Routes of workers: they come, take and return tasks, live, and go.

use super::returns::{self, Asked};
use super::{At, Server, attempt, beside, held, json, not_too_many};
use crate::http::Shared;
use crate::http::desk::{Ask, client_of};
use crate::http::fault::{Fault, Reply};
use crate::http::types::{
    Exchange, Exchanged, Heard, Heartbeat, Join, Joined, LONGEST_WAIT, Lease, LeaseRequest,
    Problem, ReturnRequest, SPEEDS,
};
use crate::near;
use crate::tokens::Who;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use cairn_engine::{Granted, Offer, WorkerId};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Names and tags have no more bytes, and a worker no more tags, than these.
// They are in the store, in memory for as long as the worker is remembered, and in every status: a stranger with a volunteer's token
// must not fill those. The document of the interface says the same (`types.rs`), as it does of the processors.
const LONGEST_NAME: usize = 200;
const MOST_TAGS: usize = 100;
/// A worker offers no more processors than these.
// Beyond any machine: more is a mistake.
const MOST_CPUS: u32 = 100_000;
/// A worker stays no longer than so many seconds, if it says how long: three centuries.
// A judgement: beyond any machine, and as microseconds far from the end of 64 bits.
const LONGEST_STAY: f64 = 1e10;
/// So often a worker is to be heard of within the silence after which it is lost.
// One heartbeat may be lost on the way and the next be slow. Far more often would only be more requests.
const BEATS: f64 = 3.0;

fn wait(seconds: f64) -> Reply<Duration> {
    match (0.0..=LONGEST_WAIT).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(Fault::bad(
            format!("wait_seconds is {seconds}"),
            format!("give a number of seconds from 0 to {LONGEST_WAIT}"),
        )),
    }
}

/// The worker of that number. There are never more than the document says.
fn numbered(worker: u32) -> Reply<WorkerId> {
    match i32::try_from(worker) {
        Ok(_) => Ok(WorkerId(worker)),
        Err(_) => Err(unknown_worker()),
    }
}

fn unknown_worker() -> Fault {
    Fault::missing(
        "this worker is not known here, or was given up for lost",
        "join again: POST /api/v1/workers",
    )
}

impl Shared {
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
            disk: self
                .weights
                .get(task.0 as usize)
                .copied()
                .filter(|b| *b > 0),
            inputs: job.inputs,
            outputs: job.outputs,
        }
    }
}

/// A worker comes. One of the same name that is still here is lost, and its tasks are eligible again.
#[utoipa::path(post, path = "/api/v1/workers", tag = "worker", request_body = Join,
    responses((status = 200, body = Joined), (status = 400, body = Problem)))]
pub(crate) async fn join(
    State(server): Server,
    Extension(who): Extension<Who>,
    body: Body,
) -> Reply<Json<Joined>> {
    let join: Join = json(body).await?;
    let is_short = |text: &str| !text.is_empty() && text.len() <= LONGEST_NAME;
    // Names reach terminals, logs and pages of whoever looks.
    let is_fit = |text: &str| is_short(text) && !text.contains(char::is_control);
    let are_few = join.tags.len() <= MOST_TAGS;
    if !is_fit(&join.name) || !join.tags.iter().all(|tag| is_fit(tag)) || !are_few {
        return Err(Fault::bad(
            "a name or tag is empty, too long, or has control characters",
            "give names and tags of 1 to 200 plain characters, and no more than 100 tags",
        ));
    }
    if !(1..=MOST_CPUS).contains(&join.cpus) {
        return Err(Fault::bad(
            format!("{} cpus", join.cpus),
            "give a number from 1 to 100000",
        ));
    }
    let is_too_much = |bytes: u64| i64::try_from(bytes).is_err();
    if join.memory.is_some_and(is_too_much) || join.disk.is_some_and(is_too_much) {
        return Err(Fault::bad(
            "more memory or disk than there is in the world",
            "give it in bytes",
        ));
    }
    let left = join.seconds_left.unwrap_or(0.0);
    if !(0.0..=LONGEST_STAY).contains(&left) {
        return Err(Fault::bad(
            format!("seconds_left is {left}"),
            "give a number of seconds from 0 on",
        ));
    }
    if !join.speed.is_none_or(|speed| SPEEDS.contains(&speed)) {
        return Err(Fault::bad(
            format!("speed is {}", join.speed.unwrap_or_default()),
            "give a number from 0.001 to 1000000, where 1 is a usual machine",
        ));
    }
    let until = |left: f64| server.clock.now().0.saturating_add((left * 1e6) as u64);
    let offer = Offer {
        cpus: join.cpus,
        memory: join.memory,
        tags: join.tags,
        until: join.seconds_left.map(until),
        client: client_of(who),
        // What a volunteer made stays out of the folder until others say the same.
        is_shared: !join.carries && who == Who::Trusted,
        disk: join.disk,
        benchmark: join.speed.map(|speed| (1e3 * speed) as u32),
    };
    let near = match join.near {
        Some(path) => beside(move || near::answer(&path)).await?,
        None => None,
    };
    let name = join.name;
    let (worker, epoch) = server.ask(|reply| Ask::Join { name, offer, reply }).await?;
    let silence = server.silence.as_secs_f64();
    Ok(Json(Joined {
        worker: worker.0,
        epoch,
        heartbeat_seconds: silence / BEATS,
        silence_seconds: silence,
        programs: server.tasks.programs(),
        // Where things are on this machine is told to nobody whom nobody vouches for.
        folder: (server.folder.clone()).filter(|_| who == Who::Trusted),
        sign: (server.sign.clone()).filter(|_| who == Who::Trusted),
        near,
        run: server.run.clone(),
        volunteer: Some(who != Who::Trusted),
    }))
}

/// Return these, lease me so many: the one request that workers live by. Answered when it is on the disk.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/exchange", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = Exchange,
    responses((status = 200, body = Exchanged), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn exchange(
    server: Server,
    who: Extension<Who>,
    worker: At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>> {
    exchanged::<Exchange>(server, who, worker, body).await
}

/// Lease me so many.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/lease", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = LeaseRequest,
    responses((status = 200, body = Exchanged), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn lease(
    server: Server,
    who: Extension<Who>,
    worker: At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>> {
    exchanged::<LeaseRequest>(server, who, worker, body).await
}

/// Return these. The same return may be sent again until it has a receipt.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/return", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = ReturnRequest,
    responses((status = 200, body = Exchanged), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn give_back(
    server: Server,
    who: Extension<Who>,
    worker: At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>> {
    exchanged::<ReturnRequest>(server, who, worker, body).await
}

async fn exchanged<R>(
    State(server): Server,
    Extension(who): Extension<Who>,
    At(worker): At<u32>,
    body: Body,
) -> Reply<Json<Exchanged>>
where
    R: DeserializeOwned + TryInto<Exchange>,
    R::Error: std::fmt::Display,
{
    let request = json::<R>(body).await?.try_into();
    let request: Exchange = request.map_err(|e| Fault::bad(e, "ask for 1 or more"))?;
    let worker = numbered(worker)?;
    not_too_many(request.returns.len(), "returns")?;
    not_too_many(request.want as usize, "tasks wanted")?;
    let wait = wait(request.wait_seconds)?;
    let holding = request.holding;
    not_too_many(holding.as_ref().map_or(0, Vec::len), "attempts held")?;
    let holding = holding.map(|all| all.into_iter().map(held).collect());
    let asked = Asked {
        who,
        worker,
        holding,
        want: request.want as usize,
        wait,
    };
    let answer = returns::exchange(&server, asked, request.returns).await?;
    // With receipts it is told in the answer instead: what it returned counts, and it must hear that.
    if answer.is_unknown && answer.receipts.is_empty() {
        return Err(unknown_worker());
    }
    Ok(Json(Exchanged {
        receipts: answer.receipts,
        leases: (answer.granted.into_iter())
            .map(|granted| server.lease(granted))
            .collect(),
        stop: answer.stop.into_iter().map(attempt).collect(),
        reason: answer.reason,
        finished: answer.finished,
        known: !answer.is_unknown,
    }))
}

/// A worker lives, and says what it works on. The answer says what to stop.
#[utoipa::path(post, path = "/api/v1/workers/{worker}/heartbeat", tag = "worker",
    params(("worker" = u32, Path, description = "the worker's number")), request_body = Heartbeat,
    responses((status = 200, body = Heard), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn heartbeat(
    State(server): Server,
    Extension(who): Extension<Who>,
    At(worker): At<u32>,
    body: Body,
) -> Reply<Json<Heard>> {
    let Heartbeat { holding } = json(body).await?;
    not_too_many(holding.len(), "attempts held")?;
    let holding = holding.into_iter().map(held).collect();
    let worker = numbered(worker)?;
    let heard = server.ask(|reply| Ask::Heartbeat {
        who,
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
pub(crate) async fn leave(
    State(server): Server,
    Extension(who): Extension<Who>,
    At(worker): At<u32>,
) -> Reply<StatusCode> {
    let worker = numbered(worker)?;
    let left = server
        .ask(|reply| Ask::Leave { who, worker, reply })
        .await?;
    left.map(|()| StatusCode::NO_CONTENT)
        .map_err(|_| unknown_worker())
}
