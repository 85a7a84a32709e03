//! Waiting until something has changed: one waker for each task that waits, gone when that stops
//! waiting.

pub use tokio::sync::Notify;

/// What `ready` gives, once it gives something. It is asked at once, and again each time that
/// `changed` notifies those who wait: so whoever makes it ready notifies afterwards, on whatever
/// thread.
pub async fn wait_for<T>(changed: &Notify, mut ready: impl FnMut() -> Option<T>) -> T {
    // Mostly nobody has to wait.
    if let Some(value) = ready() {
        return value;
    }
    loop {
        // Before the question: what changes after it is not missed.
        let notified = changed.notified();
        if let Some(value) = ready() {
            return value;
        }
        notified.await;
    }
}

#[cfg(test)]
mod tests;
