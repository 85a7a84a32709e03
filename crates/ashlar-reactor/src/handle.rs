//! A reactor as seen from other threads.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::inbox::{Inbox, Letter, ReactorGone};
use crate::reactor;
use crate::reply::{Reply, reply};

/// Brings work to a reactor from any thread. Obtained on the reactor itself, by
/// [`handle`](crate::handle).
#[derive(Clone)]
pub struct Handle {
    inbox: Arc<Inbox>,
}

impl Handle {
    pub(crate) fn new(inbox: Arc<Inbox>) -> Self {
        Handle { inbox }
    }

    /// Calls `make` on the reactor's thread and spawns the future that it returns.
    ///
    /// # Errors
    /// [`ReactorGone`] when the reactor has ended. One that ends later drops the task, or never
    /// makes it.
    pub fn spawn<M, F>(&self, make: M) -> Result<(), ReactorGone>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + 'static,
    {
        let start = move || {
            reactor::current().spawn(Box::pin(make()));
        };
        self.inbox.post(Letter::Run(Box::new(start)))
    }

    /// As [`Self::spawn`], and the future's output comes back. The reply can be awaited on any
    /// executor.
    pub fn call<M, F>(&self, make: M) -> Reply<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let (promise, reply) = reply();
        // On failure the promise is dropped with the closure, which the reply reports.
        let _ = self.spawn(move || {
            let future = make();
            async move { promise.keep(future.await) }
        });
        reply
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

#[cfg(test)]
mod tests;
