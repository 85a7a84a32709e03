//! Work that may hang, as file systems do: it has a thread of its own, and holds up nobody else.

use std::io;
use std::thread;

use tokio::sync::oneshot;

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
