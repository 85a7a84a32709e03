//! Work that may hang, as file systems do: it has a thread of its own, and holds up nobody else.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

/// Does `work` by a thread of that name, which is left behind if it never ends. What it comes to is
/// for whoever waits.
///
/// # Errors
/// When no thread can be started.
pub fn apart<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<oneshot::Receiver<T>> {
    let (sender, done) = oneshot::channel();
    let work = move || drop(sender.send(work()));
    thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| done)
}

/// Work of which one is under way at a time, however long that hangs: who comes meanwhile waits for
/// a turn, and leaves no thread behind. So what was begun earlier does not end after what was begun
/// later. Clones are the same.
#[derive(Clone)]
pub struct OneByOne(Arc<Semaphore>);

impl OneByOne {
    pub fn new() -> Self {
        OneByOne(Arc::new(Semaphore::new(1)))
    }

    /// What `work` comes to, by a thread of that name.
    ///
    /// # Errors
    /// When it has no turn or no end in time, or no thread can be started. Work that has begun goes
    /// on.
    pub async fn run<T: Send + 'static>(
        &self,
        name: &str,
        longest: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let done = async {
            let turn = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
            let work = move || {
                let done = work();
                drop(turn);
                done
            };
            apart(name, work)?.await.map_err(io::Error::other)
        };
        timeout(longest, done).await.unwrap_or_else(|late| Err(late.into()))
    }
}

#[cfg(test)]
mod tests;
