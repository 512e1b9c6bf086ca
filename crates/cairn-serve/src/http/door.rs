//! The door: who is let in, how many at once, and how long a connection may keep us waiting. Knows no routes.

use super::impatient::Impatient;
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Files that the server has open for itself.
// Store, its log and its readers are a dozen, and each of the threads that wait for disks may have a file or two. Too few, and
// accepting fails for want of descriptors; far more would be connections that nobody gets.
const OWN_FILES: u64 = 256;
/// What a connection may need: itself, and a file that goes up or down.
const FILES: u64 = 2;

/// However few files the system allows, so many connections there are.
// With none the server would listen and never answer. A judgement: some workers, and somebody who looks.
const FEWEST: u64 = 8;
/// A head has no more fields, and no more bytes, than these.
// A stranger sends a head before any token is looked at, and takes so much memory for it. Requests of ours have a dozen fields and
// less than a kilobyte; proxies add some. A judgement.
const FIELDS: usize = 64;
const HEAD: usize = 64 << 10;
/// When nobody can be let in, it is tried again after so long.
// Without a break the loop would take a whole processor until some other connection ends. Twenty tries a second cost nothing, and
// nobody who connects notices so short a wait. A judgement.
const REFUSED: Duration = Duration::from_millis(50);

/// Answers on their way out have so long when the server ends, and threads at work on a disk so long beyond that.
// Both bound how long Ctrl-C takes, which people feel from a second on: a judgement. What is cut off was committed before it was
// answered: who asks again hears it.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
const LAST_WORK: Duration = Duration::from_millis(500);

/// So many connections there may be at once: what is wanted, or what the system's limit on open files allows, which is raised as far as
/// it can be.
fn connections(wanted: usize) -> usize {
    let needed = (wanted as u64).saturating_mul(FILES) + OWN_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|now| now < needed) {
        let raised = limit.maximum.map_or(needed, |most| most.min(needed));
        let raised = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        // Where it cannot be raised, fewer are let in.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = (files.saturating_sub(OWN_FILES) / FILES).max(FEWEST);
    wanted.clamp(1, usize::try_from(most).unwrap_or(usize::MAX))
}

/// All that a connection needs.
pub(crate) struct Door {
    pub(crate) router: Router,
    pub(crate) acceptor: Option<TlsAcceptor>,
    /// For a head, and for TLS.
    pub(crate) patience: Duration,
    /// For an answer that nobody takes.
    pub(crate) stall: Duration,
}

/// A door while it is open.
pub(crate) struct OpenDoor {
    /// While this is there, others are let in.
    stop: tokio::sync::watch::Sender<()>,
    accepting: JoinHandle<()>,
    /// A place for each connection.
    limit: Arc<Semaphore>,
    places: usize,
}

impl OpenDoor {
    /// Lets in whoever comes, no more than so many at once.
    ///
    /// # Errors
    /// If the runtime cannot listen there.
    pub(crate) fn new(
        runtime: &Runtime,
        listener: std::net::TcpListener,
        door: Door,
        most: usize,
    ) -> std::io::Result<OpenDoor> {
        let places = connections(most);
        let limit = Arc::new(Semaphore::new(places));
        let (stop, stopped) = tokio::sync::watch::channel(());
        let _inside = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        let accepting = runtime.spawn(accept(listener, limit.clone(), Arc::new(door), stopped));
        Ok(OpenDoor {
            stop,
            accepting,
            limit,
            places,
        })
    }

    /// Lets nobody in any more, and all who are there out, with the threads behind them; but does not wait for ever.
    pub(crate) fn close(self, runtime: Runtime) {
        // What was answered is still on its way out.
        drop(self.stop);
        let gone = async {
            let _ = self.accepting.await;
            // All places are free when all connections have ended.
            let all = u32::try_from(self.places).unwrap_or(u32::MAX);
            let _ = self.limit.acquire_many(all).await;
        };
        // Who does not take its answer by then asks another server.
        let _ = runtime.block_on(async { tokio::time::timeout(LAST_ANSWERS, gone).await });
        runtime.shutdown_timeout(LAST_WORK);
    }
}

/// Lets in whoever comes, no more than `limit` at once, until it is stopped.
async fn accept(
    listener: TcpListener,
    limit: Arc<Semaphore>,
    door: Arc<Door>,
    stopped: tokio::sync::watch::Receiver<()>,
) {
    let mut ended = stopped.clone();
    loop {
        // First a place, then whoever wants it: others wait in the system's queue, where they take no descriptor of ours.
        let Ok(permit) = limit.clone().acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ended.changed() => return,
        };
        let Ok((stream, _)) = accepted else {
            // Too many open files, most likely: others must end before it gets better.
            tokio::time::sleep(REFUSED).await;
            continue;
        };
        let (door, stopped) = (door.clone(), stopped.clone());
        tokio::spawn(async move {
            door.connection(stream, stopped).await;
            drop(permit);
        });
    }
}

impl Door {
    async fn connection(&self, stream: TcpStream, stopped: tokio::sync::watch::Receiver<()>) {
        // Small answers go out at once; where the system cannot, they go out later.
        let _ = stream.set_nodelay(true);
        let stream = Impatient::new(stream, self.stall);
        match &self.acceptor {
            None => self.answer(TokioIo::new(stream), stopped).await,
            Some(acceptor) => {
                let made = tokio::time::timeout(self.patience, acceptor.accept(stream)).await;
                if let Ok(Ok(stream)) = made {
                    self.answer(TokioIo::new(stream), stopped).await;
                }
            }
        }
    }

    async fn answer<I>(&self, io: I, mut stopped: tokio::sync::watch::Receiver<()>)
    where
        I: hyper::rt::Read + hyper::rt::Write + Unpin,
    {
        let service = TowerToHyperService::new(self.router.clone());
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.patience)
            .max_headers(FIELDS)
            .max_buf_size(HEAD)
            .serve_connection(io, service);
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            // What a client does wrong ends its connection and nothing else.
            _ = connection.as_mut() => return,
            _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}
