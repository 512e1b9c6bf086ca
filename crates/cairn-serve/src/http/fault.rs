//! Answers that say no: a status, what is wrong, and the cure. Never anything secret.

use super::types::Problem;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt::Display;

/// A request that is refused.
#[derive(Debug)]
pub(crate) struct Fault {
    status: StatusCode,
    problem: Problem,
}

/// What a handler returns.
pub(crate) type Reply<T = Response> = Result<T, Fault>;

impl Fault {
    pub(crate) fn new(status: StatusCode, error: impl Display, cure: impl Display) -> Fault {
        Fault {
            status,
            problem: Problem {
                error: error.to_string(),
                cure: cure.to_string(),
            },
        }
    }

    pub(crate) fn bad(error: impl Display, cure: impl Display) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, error, cure)
    }

    pub(crate) fn missing(error: impl Display, cure: impl Display) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, error, cure)
    }

    /// The server is about to end: nobody answers any more.
    pub(crate) fn ending() -> Fault {
        Fault::new(
            // A status that clients take for passing: a worker waits and asks again, with all that it
            // has.
            StatusCode::SERVICE_UNAVAILABLE,
            "the server is ending",
            "ask again in a moment, when it was started again",
        )
    }

    /// A disk that does not do what it should.
    pub(crate) fn disk(error: &std::io::Error) -> Fault {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Fault::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "the server's disk is full",
                "make room on the server's disk, then ask again",
            ),
            // The kind alone: what the system says may name paths of this machine, and whoever asks may
            // be a stranger.
            kind => Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("the server's disk failed: {kind}"),
                "look at the server's disk, then ask again",
            ),
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (
            self.status,
            [(header::CONTENT_TYPE, "application/json")],
            body,
        )
            .into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            // HTTP asks for it with this status.
            let challenge = header::HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
