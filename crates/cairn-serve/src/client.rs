//! Requests to a server: one call, one answer, or why there is none. Knows no tasks and no processes.

use crate::http::Why;
use crate::http::types::{
    Changed, Exchange, Exchanged, Heard, Heartbeat, Join, Joined, LONGEST_WAIT, Named, Needed,
    Pause, Problem, Status, Stored,
};
use crate::tls::{TlsError, Trust};
use crate::tokens::Secret;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Method, Response};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, TcpConnector,
    Transport, TransportAdapter,
};
use ureq::{Agent, Body, SendBody};

/// How long a request may take, beside what it waits for.
// A server answers behind a commit, which takes tenths of a second on a bad disk. Far less, and requests are repeated that were
// heard; far more, and a connection that is dead without a word is waited for that long.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long nobody may take a connection.
// Far machines answer within a second; one that is switched off never says no.
const CONNECT: Duration = Duration::from_secs(10);
/// A connection that was not used for so long is not used again.
// Less than a server waits for a head (10 s): else it would end a connection just when that is used again.
const IDLE: Duration = Duration::from_secs(8);
/// How long a heartbeat may take.
// Less than the silence after which a worker is lost (15 s, unless the server is told otherwise): one that is later helps nobody, and
// keeps the next one from being tried.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// How long a goodbye may take.
// A courtesy: who cannot be told finds out by silence, and people wait for the worker to end.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long the list of a task's inputs may take.
// The server takes the digests of all of them first: an hour is some terabytes on a good disk.
const DIGESTS: Duration = Duration::from_secs(3600);
/// How long a file, or a whole journal, may be on its way.
// A day is no limit for anybody who waits; but a thread that waits for a dead connection must end some day.
const ON_ITS_WAY: Duration = Duration::from_secs(24 * 3600);
/// Answers are no longer than this.
// They are held in memory, and whoever has the address of a server may be lied to. The longest honest ones are status and leases of
// large runs, some megabytes.
const LONGEST_ANSWER: u64 = 256 << 20;
/// Of a refusal no more than this is read.
// It has two sentences; what is longer is the page of some proxy, and is not shown.
const LONGEST_REFUSAL: u64 = 1 << 16;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nobody answers, or only half: ask again later.
    #[error("{0}")]
    Away(String),
    /// The token is missing, wrong, expired, or not enough.
    #[error("{0}")]
    Denied(String),
    /// The server says no.
    #[error("{what} ({cure})")]
    Refused {
        /// The number of the answer.
        status: u16,
        /// What is wrong.
        what: String,
        /// What to do about it.
        cure: String,
    },
    /// The address is none, or the certificate is not the one expected.
    #[error("{0}")]
    Unusable(String),
}

impl CallError {
    /// Whether the server says that there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, CallError::Refused { status: 404, .. })
    }

    /// Whether it may be otherwise later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            CallError::Away(_) => true,
            // Too slow, in the way of another, too much at once, or something between the two broke.
            CallError::Refused { status, .. } => matches!(status, 408 | 409 | 429 | 500..),
            _ => false,
        }
    }
}

impl CallError {
    /// Whether the server has no room for it, now or ever.
    pub(crate) fn is_for_room(&self) -> bool {
        matches!(self, CallError::Refused { status, .. } if matches!(status, 413 | 429))
    }

    /// Whether there will never be room for so much.
    pub(crate) fn is_for_ever(&self) -> bool {
        matches!(self, CallError::Refused { status: 413, .. })
    }
}

impl From<TlsError> for CallError {
    fn from(error: TlsError) -> CallError {
        CallError::Unusable(error.to_string())
    }
}

/// A server, as one of its clients sees it. Cheap to clone.
#[derive(Clone)]
pub struct Caller {
    agent: Agent,
    base: String,
    token: Secret,
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({})", self.base)
    }
}

/// Whether a URL names this machine by a loopback address.
pub fn is_loopback(url: &str) -> bool {
    let Ok(uri) = url.parse::<ureq::http::Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or("");
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

impl Caller {
    /// A server at a URL such as `https://host:port`.
    ///
    /// # Errors
    /// If this is no such URL, a token would go in clear to another machine, or the certificates cannot be read.
    pub fn new(url: &str, token: Secret, trust: &Trust) -> Result<Caller, CallError> {
        let unusable = |why: &str| {
            Err(CallError::Unusable(format!(
                "'{}' {why}",
                cairn_dag::plain(url)
            )))
        };
        let base = url.trim_end_matches('/').to_owned();
        let Ok(uri) = base.parse::<ureq::http::Uri>() else {
            return unusable("is no URL: give one such as http://127.0.0.1:4100");
        };
        match uri.scheme_str() {
            Some("https") => (),
            Some("http") if is_loopback(&base) => (),
            Some("http") => {
                return unusable("would send the token in clear to another machine: use https://");
            }
            _ => return unusable("is no URL of a server: give one such as http://127.0.0.1:4100"),
        }
        if uri.host().is_none_or(str::is_empty) || uri.path() != "/" || uri.query().is_some() {
            return unusable("is more, or less, than scheme, host and port");
        }
        // Whatever a server answers, the token goes nowhere else.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent("cairn")
            .timeout_connect(Some(CONNECT))
            .max_idle_age(IDLE)
            .build();
        let tls = TlsConnector {
            config: trust.config()?,
        };
        let connector = ().chain(TcpConnector::default()).chain(tls);
        Ok(Caller {
            agent: Agent::with_parts(config, connector, DefaultResolver::default()),
            base,
            token,
        })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.base
    }

    fn call(
        &self,
        method: Method,
        path: &str,
        body: SendBody<'_>,
        range: Option<u64>,
        patience: Duration,
    ) -> Result<Response<Body>, CallError> {
        // `base` has scheme, host and port alone, so that no path leads to another host.
        let url = format!("{}{path}", self.base);
        let bearer = format!("Bearer {}", self.token.reveal());
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(url)
            .header("authorization", bearer)
            .header("content-type", "application/json");
        if let Some(begin) = range {
            request = request.header("range", format!("bytes={begin}-"));
        }
        let request = request.body(body).map_err(|_| {
            CallError::Unusable(
                "the token has characters that no token has: look at its file".to_owned(),
            )
        })?;
        let request = (self.agent.configure_request(request))
            .timeout_global(Some(patience))
            .build();
        let response = self.agent.run(request).map_err(|e| self.trouble(&e))?;
        match response.status().as_u16() {
            200..300 => Ok(response),
            status => Err(self.refusal(status, response)),
        }
    }

    fn trouble(&self, error: &ureq::Error) -> CallError {
        let text = format!("{}: {error}", self.base);
        match error {
            ureq::Error::BadUri(_) | ureq::Error::Tls(_) => CallError::Unusable(text),
            // By that the connector tells of a certificate that is not believed: asking again does not help.
            ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::InvalidData => {
                CallError::Unusable(text)
            }
            _ => CallError::Away(text),
        }
    }

    fn refusal(&self, status: u16, mut response: Response<Body>) -> CallError {
        let text = response
            .body_mut()
            .with_config()
            .limit(LONGEST_REFUSAL)
            .read_to_string();
        let problem = text
            .ok()
            .and_then(|text| serde_json::from_str::<Problem>(&text).ok());
        // It speaks to us from outside: plain text only.
        let plain = |text: &str| cairn_dag::plain(text).into_owned();
        let problem = problem.map(|p| (plain(&p.error), plain(&p.cure)));
        let (what, cure) = problem.unwrap_or_else(|| {
            let cure = "is it the address of a Cairn server?".to_owned();
            (format!("{} answers {status}", self.base), cure)
        });
        match status {
            401 | 403 => CallError::Denied(format!("{what}: {cure}")),
            _ => CallError::Refused { status, what, cure },
        }
    }

    fn read<T: DeserializeOwned>(&self, mut response: Response<Body>) -> Result<T, CallError> {
        let body = response
            .body_mut()
            .with_config()
            .limit(LONGEST_ANSWER)
            .read_to_vec();
        let body = body.map_err(|e| self.trouble(&e))?;
        serde_json::from_slice(&body)
            // Half an answer, or somebody else's at the same port for a while: later it may be the server's own.
            .map_err(|e| CallError::Away(format!("{}: a strange answer: {e}", self.base)))
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CallError> {
        self.read(self.call(Method::GET, path, SendBody::none(), None, PATIENCE)?)
    }

    fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, CallError> {
        let body = serde_json::to_vec(body).map_err(|e| CallError::Unusable(e.to_string()))?;
        let body = SendBody::from_owned_reader(std::io::Cursor::new(body));
        self.read(self.call(Method::POST, path, body, None, patience)?)
    }

    /// Joins.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn join(&self, join: &Join) -> Result<Joined, CallError> {
        self.post("/api/v1/workers", join, PATIENCE)
    }

    /// Returns and leases.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn exchange(
        &self,
        worker: u32,
        exchange: &Exchange,
    ) -> Result<Exchanged, CallError> {
        let patience =
            PATIENCE + Duration::from_secs_f64(exchange.wait_seconds.clamp(0.0, LONGEST_WAIT));
        self.post(
            &format!("/api/v1/workers/{worker}/exchange"),
            exchange,
            patience,
        )
    }

    /// Says that it lives.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn heartbeat(&self, worker: u32, heartbeat: &Heartbeat) -> Result<Heard, CallError> {
        let path = format!("/api/v1/workers/{worker}/heartbeat");
        self.post(&path, heartbeat, HEARTBEAT)
    }

    /// Says goodbye.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn leave(&self, worker: u32) -> Result<(), CallError> {
        let path = format!("/api/v1/workers/{worker}");
        self.call(Method::DELETE, &path, SendBody::none(), None, GOODBYE)
            .map(drop)
    }

    /// The files that a task reads.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn inputs(&self, id: u64) -> Result<Vec<Needed>, CallError> {
        let path = format!("/api/v1/inputs/{id}");
        self.read(self.call(Method::GET, &path, SendBody::none(), None, DIGESTS)?)
    }

    /// How much of a file was uploaded.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn stored(&self, digest: &str) -> Result<Stored, CallError> {
        self.get(&format!("/api/v1/files/{digest}/stored"))
    }

    /// Uploads what comes after the first `offset` bytes.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn upload(
        &self,
        digest: &str,
        rest: &mut dyn Read,
        (offset, bytes): (u64, u64),
        result: Option<u64>,
    ) -> Result<Stored, CallError> {
        let result = result.map_or(String::new(), |result| format!("&result={result}"));
        let path = format!("/api/v1/files/{digest}?offset={offset}&bytes={bytes}{result}");
        let mut rest = rest;
        let body = SendBody::from_reader(&mut rest);
        self.read(self.call(Method::PUT, &path, body, None, ON_ITS_WAY)?)
    }

    /// Downloads what comes after the first `offset` bytes.
    ///
    /// # Errors
    /// If there is no answer, or it breaks off.
    pub(crate) fn download(
        &self,
        digest: &str,
        offset: u64,
        into: &mut dyn Write,
    ) -> Result<(), CallError> {
        let path = format!("/api/v1/files/{digest}");
        let range = (offset > 0).then_some(offset);
        let response = self.call(Method::GET, &path, SendBody::none(), range, ON_ITS_WAY)?;
        copy(response, into).map_err(|e| CallError::Away(format!("{}: {e}", self.base)))
    }

    /// A piece of a log.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub(crate) fn log(
        &self,
        (id, epoch, attempt): (u64, u32, u32),
        offset: u64,
        piece: &[u8],
    ) -> Result<Stored, CallError> {
        let path = format!("/api/v1/logs/{id}/{epoch}/{attempt}?offset={offset}");
        let mut piece = piece;
        let body = SendBody::from_reader(&mut piece);
        self.read(self.call(Method::PUT, &path, body, None, PATIENCE)?)
    }

    /// Where the run stands.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub fn status(&self) -> Result<Status, CallError> {
        self.get("/api/v1/status")
    }

    /// Why a task is not running, or why a worker is idle.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub fn why(&self, name: &str) -> Result<Why, CallError> {
        self.get(&format!("/api/v1/why/{}", in_path(name)))
    }

    /// These tasks shall not be executed.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub fn cancel(&self, tasks: Vec<String>) -> Result<Changed, CallError> {
        self.post("/api/v1/cancel", &Named { tasks }, PATIENCE)
    }

    /// These failed or cancelled tasks shall be tried again.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub fn retry(&self, tasks: Vec<String>) -> Result<Changed, CallError> {
        self.post("/api/v1/retry", &Named { tasks }, PATIENCE)
    }

    /// Nothing is leased from now on, or tasks are leased again.
    ///
    /// # Errors
    /// If there is no answer, or the answer is no.
    pub fn pause(&self, pause: bool) -> Result<Pause, CallError> {
        let path = if pause {
            "/api/v1/pause"
        } else {
            "/api/v1/resume"
        };
        self.read(self.call(Method::POST, path, SendBody::none(), None, PATIENCE)?)
    }

    /// The journal, one event a line.
    ///
    /// # Errors
    /// If there is no answer, or it breaks off, or nobody takes it.
    pub fn export(&self, into: &mut dyn Write) -> Result<std::io::Result<()>, CallError> {
        let response = self.call(
            Method::GET,
            "/api/v1/export",
            SendBody::none(),
            None,
            ON_ITS_WAY,
        )?;
        Ok(copy(response, into))
    }
}

fn copy(response: Response<Body>, into: &mut dyn Write) -> std::io::Result<()> {
    let (_, body) = response.into_parts();
    std::io::copy(&mut body.into_with_config().limit(u64::MAX).reader(), into).map(drop)
}

/// TLS that believes whom we say.
struct TlsConnector {
    config: Arc<ClientConfig>,
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or("");
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let name = host
            .try_into()
            .map_err(|_| ureq::Error::Tls("the host's name cannot be used"))?;
        let refused = |e: rustls::Error| {
            ureq::Error::Io(std::io::Error::new(std::io::ErrorKind::InvalidData, e))
        };
        let mut conn = ClientConnection::new(self.config.clone(), name).map_err(refused)?;
        let mut sock = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        // The whole handshake now: a certificate that is not believed is told before a byte of the request, and its token, is sent.
        sock.set_timeout(details.timeout);
        conn.complete_io(&mut sock)?;
        let size = (
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(TlsTransport {
            buffers: LazyBuffers::new(size.0, size.1),
            stream: StreamOwned { conn, sock },
        })))
    }
}

struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.get_mut().set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

/// A name as a part of a path.
fn in_path(name: &str) -> String {
    use std::fmt::Write as _;
    let mut path = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                path.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(path, "%{byte:02X}")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_never_go_in_clear_to_another_machine() {
        let new = |url: &str| Caller::new(url, Secret::new("t"), &Trust::Public).map(|c| c.base);
        assert_eq!(new("http://127.0.0.1:1/").unwrap(), "http://127.0.0.1:1");
        assert!(new("http://[::1]:1").is_ok() && new("http://localhost:1").is_ok());
        assert!(new("https://example.org").is_ok());
        for url in [
            "http://example.org",
            "http://127.0.0.1.example.org:1",
            "ftp://127.0.0.1",
            "127.0.0.1:80",
            "",
            "http://",
            "http://127.0.0.1:1/path",
            "http://user@example.org",
        ] {
            assert!(matches!(new(url), Err(CallError::Unusable(_))), "{url}");
        }
    }
}
