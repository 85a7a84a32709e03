//! Changes to the pools follow one another, until there are to be no more.

use std::sync::atomic::{AtomicBool, Ordering};

use ashlar_control::{ApiError, ErrorCode};
use tokio::sync::{Mutex, MutexGuard};

/// Whose turn it is to change the pools. Whoever only looks does not wait.
#[derive(Default)]
pub struct Turns {
    turn: Mutex<()>,
    are_over: AtomicBool,
}

/// There are no more turns: the daemon is stopping.
#[derive(Debug, PartialEq, Eq)]
pub struct Over;

impl Turns {
    /// Waits for a turn, which lasts for as long as it is kept.
    ///
    /// # Errors
    /// [`Over`], also for those who have waited when it came to that: the pools may be closed by
    /// then.
    pub async fn next(&self) -> Result<MutexGuard<'_, ()>, Over> {
        let turn = self.turn.lock().await;
        if self.are_over.load(Ordering::SeqCst) { Err(Over) } else { Ok(turn) }
    }

    /// Lets no more begin, and waits for the one that is under way.
    pub async fn end(&self) {
        self.are_over.store(true, Ordering::SeqCst);
        drop(self.turn.lock().await);
    }
}

impl From<Over> for ApiError {
    fn from(_: Over) -> Self {
        ApiError::new(ErrorCode::Stopping, "the daemon is stopping")
    }
}

#[cfg(test)]
mod tests;
