//! The server: HTTP and JSON around the desk that owns engine and store. Decides nothing about tasks.
//!
//! ```text
//! connections ──▶ routes (a small runtime) ──▶ desk (one thread: engine, then store, then answers)
//! ```

mod begin;
mod desk;
mod door;
mod facts;
mod fault;
mod files;
mod impatient;
mod lanes;
mod logs;
mod openapi;
mod page;
mod picture;
mod pieces;
mod routes;
mod stamps;
mod tasks;
mod transit;
pub mod types;
mod volunteers;
mod watch;
mod why;

pub use begin::{Beforehand, BeginError, Begun, Setup, begin, begin_family};
pub use desk::{DiskNews, Left, Observed, ServedDisk, ServerEnd};
pub use facts::{copies, kinds, weights};
pub use files::Allowed;
pub(crate) use files::digest_of;
pub use tasks::{Job, Tasks};
pub use volunteers::trust_seed;
pub use watch::Sight;
pub use why::{ReasonTold, Why};

use self::desk::{Ask, Desk, Manner};
use self::door::{Door, OpenDoor};
use self::fault::Fault;
use self::files::Files;
use self::lanes::Lanes;
use self::logs::Logs;
use self::routes::{carry, look, steer, watched, workers};
use crate::book_file::BookFile;
use crate::clock::Clock;
use crate::found::Found;
use crate::near::Sign;
use crate::store::{Store, StoreError};
use crate::tls::Certificate;
use crate::tokens::{Denied, Scope, Secret, Tokens};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{delete, get, post, put};
use cairn_engine::Position;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Threads that wait for disks, and how many of them at once may do so for long.
// Files go up and down for minutes: whoever asks for little must still find a thread, so most of them are not for long work. Far
// fewer, and logs queue behind digests of large files; far more only stand in each other's way at one disk. Judgements.
const THREADS: usize = 64;
const LONG: usize = 16;
/// Threads that speak HTTP are no more than these, however many processors there are.
// They read JSON and make TLS, while one thread, the desk, decides: it is what more of them would wait for, and workers on the same
// machine want the processors. A judgement.
const SPEAKERS: usize = 4;
/// Workers that are here when all is done have so long to hear it, or the silence, if that is shorter.
// Who does not hear it goes on asking a server that is gone. Far longer, and a worker that hangs keeps the command from ending. A
// judgement: workers of ours have a request open, and hear it at once.
const GRACE: Duration = Duration::from_secs(5);
/// Of a request that says nothing to us so much is listened to; without a good token, for so long.
// A client that still writes when the connection closes is reset and loses the answer that says why. So much holds nearly any
// request but uploads; a stranger gets no more than a second of us for it.
const UNHEARD_BYTES: usize = 64 << 10;
const STRANGERS_TIME: Duration = Duration::from_secs(1);

/// How a server is set up.
#[derive(Clone)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What to show; without one everything goes in clear.
    pub certificate: Option<Certificate>,
    /// Who may do what.
    pub tokens: Tokens,
    /// The folder of the store: uploads and logs go there too.
    pub state: PathBuf,
    /// The folder that paths of the workflow are relative to.
    pub flow: PathBuf,
    /// Whether to go on when all is done.
    pub stays: bool,
    /// So many connections at the same time, or as many as the system lets us have open; more wait.
    pub connections: usize,
    /// An uploaded file may have so many bytes.
    pub largest_file: u64,
    /// So many bytes volunteers may have here that are not validated.
    pub allowed: Allowed,
    /// Whoever has not sent a whole head, or made TLS, within this time is sent away.
    pub patience: Duration,
    /// Whoever takes nothing of an answer for so long is sent away.
    pub stall: Duration,
    /// What the page shows beside the run itself; without it, counts and workers alone.
    pub sight: Option<Arc<dyn Sight>>,
    /// Where what is learnt of workers and tasks is written for later runs.
    pub book: Option<BookFile>,
}

impl Settings {
    /// The usual limits.
    pub fn new(listen: SocketAddr, tokens: Tokens, state: PathBuf, flow: PathBuf) -> Settings {
        Settings {
            listen,
            certificate: None,
            tokens,
            state,
            flow,
            stays: false,
            // Four times the 2,000 long polls that were measured (docs/serving.md), each of which takes a connection.
            connections: 8192,
            // A judgement: whoever has larger outputs may allow them. Without a limit one lie about a size could ask for
            // the whole disk.
            largest_file: 64 << 30,
            allowed: Allowed::default(),
            // A judgement: seconds are long for a head over any line, and a connection that never asks holds its
            // place no longer.
            patience: Duration::from_secs(10),
            // As long as the other way round: `pieces.rs` waits so long for a body.
            stall: Duration::from_secs(30),
            sight: None,
            book: None,
        }
    }
}

/// Why a server cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// Beyond this machine nothing goes in clear.
    #[error("{0} can be reached from other machines, and without TLS tokens would go in clear")]
    Clear(SocketAddr),
    /// A folder cannot be used.
    #[error("{}: {error}", folder.display())]
    Folder {
        /// Which one.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
}

/// What all routes share.
pub(crate) struct Shared {
    desk: mpsc::Sender<Ask>,
    tasks: Arc<dyn Tasks>,
    /// By task: bytes in a folder of its own; empty where nobody says.
    weights: Vec<u64>,
    tokens: Tokens,
    files: Arc<Files>,
    lanes: Lanes,
    /// Who reads or writes whole files at once; the others wait, so that threads are left for what is short.
    long: Arc<Semaphore>,
    logs: Logs,
    state: PathBuf,
    largest_file: u64,
    silence: Duration,
    clock: Clock,
    /// Where the workflow is, for those who can see it: not told beyond this machine.
    folder: Option<String>,
    /// What the sign in that folder says.
    sign: Option<String>,
    /// The random name of the run.
    run: String,
    watch: mpsc::Sender<watch::Look>,
}

/// A hold on a server that runs: from other threads, as often as wanted.
#[derive(Clone, Debug)]
pub struct Handle {
    desk: mpsc::Sender<Ask>,
    url: String,
}

impl Handle {
    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends the server. Leases hold: a server that begins with the same state goes on with them.
    pub fn stop(&self) {
        // A server that has ended need not be ended.
        let _ = self.desk.send(Ask::Stop);
    }

    /// Who is seen to work; `None` where nobody learns, or the server has ended.
    pub fn observe(&self) -> Option<Observed> {
        let (send, receive) = mpsc::channel();
        self.desk.send(Ask::Observe(send)).ok()?;
        receive.recv().ok()?
    }

    /// What is left of a dag, likewise.
    pub fn left(&self) -> Option<Left> {
        let (send, receive) = mpsc::channel();
        self.desk.send(Ask::Left(send)).ok()?;
        receive.recv().ok()?
    }

    /// Tasks go by this order from now on.
    pub fn reorder(&self, found: Found) {
        // For a server that has ended no order is needed.
        let _ = self.desk.send(Ask::Reorder(found));
    }
}

/// Serves what has begun until all is done, or until it is stopped. `listening` is called once it listens.
///
/// # Errors
/// If it cannot begin, or the store can no longer be written. Nothing that was answered is lost.
pub fn serve<P: Position + Send>(
    begun: Begun<'_, P>,
    store: Store,
    tasks: Arc<dyn Tasks>,
    settings: Settings,
    listening: impl FnOnce(&Handle),
) -> Result<ServerEnd, ServeError> {
    let (listener, bound) = bound(&settings)?;
    let state = settings.state.clone();
    let (files, logs) = kept(&begun, &settings)?;
    let silence = Duration::from_micros(begun.engine.rules().silence.0);
    let grace = GRACE.min(silence);
    let (sender, inbox) = mpsc::channel();
    let watch = watch::start(watch::Follower {
        sight: settings.sight,
        rules: begun.engine.rules().clone(),
        state: state.clone(),
        tasks: tasks.count(),
        desk: sender.clone(),
    });
    let watch = watch.map_err(ServeError::Threads)?;
    // Without a sign in the folder no worker takes a folder for it: all is carried.
    let sign = (settings.listen.ip().is_loopback())
        .then(|| Sign::put(&settings.flow, &begun.run).ok())
        .flatten();
    let folder = || Some(settings.flow.canonicalize().ok()?.to_str()?.to_owned());
    let shared = Arc::new(Shared {
        desk: sender.clone(),
        tasks,
        weights: begun.weights.clone(),
        tokens: settings.tokens,
        files: Arc::clone(&files),
        lanes: Lanes::default(),
        long: Arc::new(Semaphore::new(LONG)),
        logs,
        state,
        largest_file: settings.largest_file,
        silence,
        clock: Clock::new(),
        folder: sign.as_ref().and_then(|_| folder()),
        sign: sign.as_ref().map(|sign| sign.text().to_owned()),
        run: begun.run.clone(),
        watch: watch.clone(),
    });
    let runtime = runtime().map_err(ServeError::Threads)?;
    let manner = Manner {
        stays: settings.stays,
        grace,
        book: settings.book.clone(),
        logs: shared.logs.clone(),
        tasks: shared.tasks.clone(),
    };
    let mut desk = Desk::new(begun, store, manner, files);
    desk.watch_uploads(shared.files.transit());
    let scheme = settings.certificate.as_ref().map_or("http", |_| "https");
    let handle = Handle {
        desk: sender,
        url: format!("{scheme}://{bound}"),
    };
    let acceptor = settings.certificate.as_ref().map(Certificate::config);
    let door = Door {
        router: router(shared),
        acceptor: acceptor.map(TlsAcceptor::from),
        patience: settings.patience,
        stall: settings.stall,
    };
    let open = OpenDoor::new(&runtime, listener, door, settings.connections);
    let open = open.map_err(|error| ServeError::Listen {
        address: bound,
        error,
    })?;
    listening(&handle);
    let end = desk.run(&inbox);
    // Those who watch are told how it ended, and their streams end.
    let _ = watch.send(watch::Look::End);
    // Whoever asks from here on is told that the server ends.
    drop(inbox);
    open.close(runtime);
    drop(sign);
    Ok(end?)
}

/// A socket that listens, and where.
fn bound(settings: &Settings) -> Result<(std::net::TcpListener, SocketAddr), ServeError> {
    let address = settings.listen;
    if !address.ip().is_loopback() && settings.certificate.is_none() {
        return Err(ServeError::Clear(address));
    }
    let open = || {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    open().map_err(|error| ServeError::Listen { address, error })
}

/// The files and logs of the run, beneath its state.
fn kept<P: Position>(
    begun: &Begun<'_, P>,
    settings: &Settings,
) -> Result<(Arc<Files>, Logs), ServeError> {
    let (state, flow) = (&settings.state, &settings.flow);
    let unusable = |folder: &Path| {
        let folder = folder.to_owned();
        |error| ServeError::Folder { folder, error }
    };
    let files = Files::open(&state.join("files"), flow, settings.allowed);
    let files = files.map_err(unusable(flow))?;
    let logs = Logs::open(&state.join("logs")).map_err(unusable(state))?;
    // What volunteers printed before a restart takes its room all the same.
    for (task, token, client) in begun.engine.trust().unsettled() {
        files.found_print(client.0, (task, token), logs.bytes(task, token));
    }
    Ok((Arc::new(files), logs))
}

/// The threads that speak with workers, and those that wait for disks.
fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(1, |n| n.get().min(SPEAKERS)))
        .max_blocking_threads(THREADS)
        .thread_name("cairn-http")
        .enable_all()
        .build()
}

/// Every route, behind the token that it needs. Only the page and its files need none.
fn router(shared: Arc<Shared>) -> Router {
    let guarded = |routes: Router<Arc<Shared>>, scope| {
        let guard = from_fn_with_state((shared.clone(), scope), guard);
        routes
            .method_not_allowed_fallback(wrong_method)
            .route_layer(guard)
    };
    let worker = Router::new()
        .route("/api/v1/workers", post(workers::join))
        .route("/api/v1/workers/{worker}/exchange", post(workers::exchange))
        .route("/api/v1/workers/{worker}/lease", post(workers::lease))
        .route("/api/v1/workers/{worker}/return", post(workers::give_back))
        .route(
            "/api/v1/workers/{worker}/heartbeat",
            post(workers::heartbeat),
        )
        .route("/api/v1/workers/{worker}", delete(workers::leave))
        .route("/api/v1/inputs/{id}", get(carry::inputs))
        .route(
            "/api/v1/files/{digest}",
            get(carry::download).put(carry::upload),
        )
        .route("/api/v1/files/{digest}/stored", get(carry::stored))
        .route("/api/v1/logs/{id}/{epoch}/{attempt}", put(carry::write_log));
    let observer = Router::new()
        .route("/api/v1/status", get(look::status))
        .route("/api/v1/tasks/{name}", get(look::task))
        .route("/api/v1/tasks/{name}/log", get(carry::read_log))
        .route("/api/v1/export", get(look::export))
        .route("/api/v1/tasks/{name}/attempts", get(watched::attempts))
        .route("/api/v1/names", get(watched::names))
        .route("/api/v1/why/{name}", get(watched::why))
        .route("/api/v1/events", get(watched::events))
        .route("/api/v1/report", get(watched::report))
        .route("/api/v1/openapi.json", get(look::document))
        .route("/metrics", get(look::metrics));
    let admin = Router::new()
        .route("/api/v1/cancel", post(steer::cancel))
        .route("/api/v1/retry", post(steer::retry))
        .route("/api/v1/pause", post(steer::pause))
        .route("/api/v1/resume", post(steer::resume));
    guarded(worker, Scope::Worker)
        .merge(guarded(observer, Scope::Observer))
        .merge(guarded(admin, Scope::Admin))
        .route("/", get(page::page).fallback(wrong_method))
        .route("/page.js", get(page::script).fallback(wrong_method))
        .route("/page.css", get(page::style).fallback(wrong_method))
        .fallback(nothing_here)
        .with_state(shared)
}

async fn guard(
    State((shared, scope)): State<(Arc<Shared>, Scope)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Fault> {
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let now = shared.clock.now().0 / 1_000_000;
    let checked = match shown {
        None => Err(Denied::Missing),
        Some((_, token)) => shared.tokens.check(&Secret::new(token), scope, now),
    };
    let who = match checked {
        Ok(who) => who,
        Err(why) => {
            // Who is still speaking would not hear the answer: a little is listened to, and not kept.
            let rest = pieces::whole(request.into_body(), UNHEARD_BYTES);
            let _ = tokio::time::timeout(STRANGERS_TIME, rest).await;
            return Err(denied(why, scope));
        }
    };
    request.extensions_mut().insert(who);
    if request.method() == Method::POST && !may_be_json(request.headers()) {
        return Err(Fault::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "this path takes JSON, and the request says that it is something else",
            "send 'Content-Type: application/json', or no such header",
        ));
    }
    Ok(next.run(request).await)
}

/// Whether the body may be JSON: nothing is said of it, or just that.
fn may_be_json(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE);
    given.is_none_or(|given| {
        let kind = given.to_str().unwrap_or("").split(';').next();
        kind.unwrap_or("")
            .trim()
            .eq_ignore_ascii_case("application/json")
    })
}

/// What to say to whoever has no right to ask.
fn denied(why: Denied, scope: Scope) -> Fault {
    let unauthorized = |error| {
        let cure = "send the header 'Authorization: Bearer TOKEN' with the content of a file in the tokens folder of the \
            server's state";
        Fault::new(StatusCode::UNAUTHORIZED, error, cure)
    };
    match why {
        Denied::Missing => unauthorized("no token was shown"),
        Denied::Wrong => unauthorized("this token is not known here"),
        Denied::Expired => unauthorized("the time of this token is up"),
        Denied::Scope => {
            let file = format!("show the token of the file '{}'", scope.name());
            let cure = match scope {
                Scope::Admin => file,
                _ => file + ", or that of 'admin'",
            };
            let why = "this token does not allow that";
            Fault::new(StatusCode::FORBIDDEN, why, cure)
        }
    }
}

async fn nothing_here() -> Fault {
    Fault::missing(
        "there is nothing at this path",
        "the routes are listed in /api/v1/openapi.json",
    )
}

async fn wrong_method() -> Fault {
    Fault::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not take that method",
        "the routes are listed in /api/v1/openapi.json",
    )
}
