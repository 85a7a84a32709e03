//! A queue of messages from one thread to another: bounded, lock-free, one writer and one reader.
//!
//! It wakes the reading task only when that waits, and its reactor only when that sleeps; between
//! two busy reactors a message costs a few cache lines. Either end may also live on another
//! executor.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use rtrb::{PushError, RingBuffer};

#[derive(Default)]
struct Wakers {
    receiver: AtomicWaker,
    sender: AtomicWaker,
}

/// Tells the other side that this one is gone. A field after the queue, so that the queue goes
/// first.
struct Farewell(Arc<Wakers>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.receiver.wake();
        self.0.sender.wake();
    }
}

/// The writing end.
pub struct Sender<T> {
    queue: rtrb::Producer<T>,
    farewell: Farewell,
}

/// The reading end.
pub struct Receiver<T> {
    queue: rtrb::Consumer<T>,
    farewell: Farewell,
}

/// The message comes back: the reading end is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the receiver is gone")]
pub struct Closed<T>(pub T);

/// The message comes back: there is no room now, or ever again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TrySendError<T> {
    /// The reader is behind.
    #[error("the mailbox is full")]
    Full(T),
    /// The reader is gone.
    #[error("the receiver is gone")]
    Closed(T),
}

/// A mailbox for `capacity` messages.
///
/// # Panics
/// If `capacity` is 0.
pub fn channel<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a mailbox holds at least one message");
    let (producer, consumer) = RingBuffer::new(capacity);
    let wakers = Arc::new(Wakers::default());
    (
        Sender { queue: producer, farewell: Farewell(wakers.clone()) },
        Receiver { queue: consumer, farewell: Farewell(wakers) },
    )
}

impl<T: Send> Sender<T> {
    /// Leaves a message if there is room.
    ///
    /// # Errors
    /// [`TrySendError`], with the message.
    pub fn try_send(&mut self, message: T) -> Result<(), TrySendError<T>> {
        if self.queue.is_abandoned() {
            return Err(TrySendError::Closed(message));
        }
        match self.queue.push(message) {
            Ok(()) => {
                self.farewell.0.receiver.wake();
                Ok(())
            }
            Err(PushError::Full(message)) => Err(TrySendError::Full(message)),
        }
    }

    /// Leaves a message, waiting for room.
    ///
    /// # Errors
    /// [`Closed`] when the reader is gone.
    pub async fn send(&mut self, message: T) -> Result<(), Closed<T>> {
        let mut message = Some(message);
        poll_fn(|cx| self.poll_send(&mut message, cx)).await
    }

    fn poll_send(
        &mut self,
        place: &mut Option<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Closed<T>>> {
        for registered in [false, true] {
            let message = place.take().expect("a send is not polled after its end");
            match self.try_send(message) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(TrySendError::Closed(message)) => return Poll::Ready(Err(Closed(message))),
                Err(TrySendError::Full(message)) => *place = Some(message),
            }
            // Room made between the attempt and the registration would wake nobody: look once more.
            if !registered {
                self.farewell.0.sender.register(cx.waker());
            }
        }
        Poll::Pending
    }
}

impl<T: Send> Receiver<T> {
    /// The next message, if one is there.
    pub fn try_recv(&mut self) -> Option<T> {
        let message = self.queue.pop().ok()?;
        self.farewell.0.sender.wake();
        Some(message)
    }

    /// The next message; `None` once the writer is gone and everything has been read.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(message) = self.try_recv() {
            return Poll::Ready(Some(message));
        }
        self.farewell.0.receiver.register(cx.waker());
        // Whether the writer is gone is asked before the last look: it may write and leave in
        // between.
        let gone = self.queue.is_abandoned();
        match self.try_recv() {
            Some(message) => Poll::Ready(Some(message)),
            None if gone => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests;
