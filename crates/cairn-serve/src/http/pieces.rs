//! Bodies that come and go in pieces, from and to ends that may be slow. Knows no route.

use super::fault::{Fault, Reply};
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Whoever sends or takes nothing for so long is not waited for.
// A judgement: shorter breaks are those of a line that is bad but not dead, and clients of ours wait as long for an answer. Far
// longer, and ends that are gone hold connections, and uploads their place, for it.
const PATIENCE: Duration = Duration::from_secs(30);

fn slow() -> Fault {
    Fault::new(
        StatusCode::REQUEST_TIMEOUT,
        "the body came too slowly",
        "send it without long breaks",
    )
}

fn broken() -> Fault {
    Fault::bad("the body broke off", "send it again")
}

/// The whole body, which must not be longer than `most`, and must come within the patience.
pub(crate) async fn whole(body: Body, most: usize) -> Reply<Bytes> {
    let read = timeout(PATIENCE, http_body_util::Limited::new(body, most).collect());
    match read.await {
        Err(_) => Err(slow()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(e)) if e.is::<http_body_util::LengthLimitError>() => Err(Fault::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body has more than {most} bytes"),
            "send less at once",
        )),
        Ok(Err(_)) => Err(broken()),
    }
}

/// What comes after a part of a body.
pub(crate) enum Rest {
    More,
    End,
    /// It broke off, or came too slowly.
    Broken(Fault),
}

/// The next part of a body: about so many bytes, or what came before its end.
pub(crate) async fn part(body: &mut Body, most: usize) -> (Vec<Bytes>, Rest) {
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    while bytes < most {
        // For each piece anew: a large file may take hours, a silent end may not.
        match timeout(PATIENCE, body.frame()).await {
            Err(_) => return (pieces, Rest::Broken(slow())),
            Ok(None) => return (pieces, Rest::End),
            Ok(Some(Err(_))) => return (pieces, Rest::Broken(broken())),
            Ok(Some(Ok(frame))) => {
                if let Ok(piece) = frame.into_data() {
                    bytes += piece.len();
                    pieces.push(piece);
                }
            }
        }
    }
    (pieces, Rest::More)
}

pub(crate) type Piece = std::io::Result<Bytes>;

/// A body that is made while it is sent.
pub(crate) struct Pieces(mpsc::Receiver<Piece>);

impl Pieces {
    pub(crate) fn channel() -> (mpsc::Sender<Piece>, Pieces) {
        // Few: whoever makes the pieces waits for who takes them, and memory holds no more of a file.
        let (sender, receiver) = mpsc::channel(2);
        (sender, Pieces(receiver))
    }
}

/// Sends a piece. Says whether to give up: the far end is gone, or takes nothing.
pub(crate) async fn far_end_is_slow(
    to: &mpsc::Sender<Piece>,
    piece: std::io::Result<Vec<u8>>,
) -> bool {
    !matches!(
        timeout(PATIENCE, to.send(piece.map(Bytes::from))).await,
        Ok(Ok(()))
    )
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0
            .poll_recv(context)
            .map(|piece| piece.map(|p| p.map(Frame::data)))
    }
}
