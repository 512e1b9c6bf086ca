//! A stream that ends when its far end does not take what is written to it. Knows no requests.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Whoever takes so much is not slow, but has a slow line.
// Else a byte now and then would hold a connection for ever.
const ENOUGH: usize = 16 << 10;

/// Writes to the stream inside, unless the far end takes nothing, or next to nothing, for too long.
pub(crate) struct Impatient<S> {
    inner: S,
    limit: Duration,
    /// Runs while something waits to be taken.
    clock: Option<Pin<Box<Sleep>>>,
    /// What was taken since it runs.
    taken: usize,
}

impl<S> Impatient<S> {
    pub(crate) fn new(inner: S, limit: Duration) -> Impatient<S> {
        Impatient {
            inner,
            limit,
            clock: None,
            taken: 0,
        }
    }

    fn relax(&mut self) {
        (self.clock, self.taken) = (None, 0);
    }

    /// What was tried went on, or has to wait: for how long?
    fn minded<T>(&mut self, context: &mut Context<'_>, tried: Poll<Result<T>>) -> Poll<Result<T>> {
        if tried.is_ready() {
            return tried;
        }
        let limit = self.limit;
        // It goes on from the first wait, however often it is asked meanwhile; enough that was taken, or
        // all of it, ends it.
        let clock = self.clock.get_or_insert_with(|| Box::pin(sleep(limit)));
        match clock.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(Error::new(
                ErrorKind::TimedOut,
                "the far end does not take what is sent",
            ))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        tried: Poll<Result<usize>>,
    ) -> Poll<Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = tried {
            self.taken = self.taken.saturating_add(bytes);
            if self.taken >= ENOUGH {
                self.relax();
            }
        }
        self.minded(context, tried)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        // Whoever sends too slowly is somebody else's business: heads have a time of their own, and so
        // has each piece of a body.
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        piece: &[u8],
    ) -> Poll<Result<usize>> {
        let tried = Pin::new(&mut self.inner).poll_write(context, piece);
        self.written(context, tried)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let tried = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.written(context, tried)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let tried = Pin::new(&mut self.inner).poll_flush(context);
        if tried.is_ready() {
            self.relax(); // all that there was is taken
        }
        self.minded(context, tried)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let tried = Pin::new(&mut self.inner).poll_shutdown(context);
        self.minded(context, tried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn who_takes_nothing_or_next_to_nothing_is_left() {
        for step in [0, 10] {
            block_on(async {
                let (near, mut far) = duplex(1000);
                let mut near = Impatient::new(near, Duration::from_millis(300));
                let drips = tokio::spawn(async move {
                    let mut piece = vec![0; step];
                    loop {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        far.read_exact(&mut piece).await.unwrap();
                    }
                });
                let begin = Instant::now();
                let error = near.write_all(&[0; 100_000]).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                assert!(begin.elapsed() < Duration::from_secs(20));
                drips.abort();
            });
        }
    }

    #[test]
    fn who_takes_slowly_but_goes_on_gets_all() {
        block_on(async {
            let (near, mut far) = duplex(64 << 10);
            let mut near = Impatient::new(near, Duration::from_millis(300));
            let reads = tokio::spawn(async move {
                let (mut all, mut piece) = (0, vec![0; 40 << 10]);
                loop {
                    tokio::time::sleep(Duration::from_millis(60)).await;
                    match far.read(&mut piece).await.unwrap() {
                        0 => return all,
                        n => all += n,
                    }
                }
            });
            near.write_all(&[0; 600_000]).await.unwrap();
            near.flush().await.unwrap();
            // What was slow once and is done does not count later.
            tokio::time::sleep(Duration::from_millis(400)).await;
            near.write_all(&[0; 100_000]).await.unwrap();
            drop(near);
            assert_eq!(reads.await.unwrap(), 700_000);
        });
    }
}
