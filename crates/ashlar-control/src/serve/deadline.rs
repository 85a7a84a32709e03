//! A time in which a client has to take its answer: one that reads slowly, or not at all, keeps
//! neither the answer in memory nor its place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// So much has to be taken in so long, while there is so much.
const WAIT: Duration = Duration::from_secs(30);
const BYTES_MIN: usize = 64 << 10;

/// A stream that fails where the other side does not take what is written.
pub struct Deadline<S> {
    stream: S,
    wait: Duration,
    /// Set while something waits to be taken.
    waiting: Option<Waiting>,
}

struct Waiting {
    late: Pin<Box<Sleep>>,
    /// Bytes that were taken since it was set.
    taken: usize,
}

impl<S> Deadline<S> {
    pub fn new(stream: S) -> Self {
        Deadline { stream, wait: WAIT, waiting: None }
    }

    #[cfg(test)]
    fn of(stream: S, wait: Duration) -> Self {
        Deadline { wait, ..Self::new(stream) }
    }

    /// What a write has come to, unless it is late.
    fn judge(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let deadline = Instant::now() + self.wait;
        match written {
            Poll::Ready(Ok(bytes)) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.taken += bytes;
                    if waiting.taken >= BYTES_MIN {
                        self.waiting = None;
                    }
                }
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                let start = || Waiting { late: Box::pin(sleep_until(deadline)), taken: 0 };
                ready!(self.waiting.get_or_insert_with(start).late.as_mut().poll(cx));
                let why = "the client does not take its answer";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Deadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Deadline<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Asked for once all is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx).map_ok(|()| 0);
        let flushed = ready!(self.judge(cx, flushed));
        self.waiting = None;
        Poll::Ready(flushed.map(drop))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(cx).map_ok(|()| 0);
        self.judge(cx, ended).map_ok(drop)
    }
}

#[cfg(test)]
mod tests;
