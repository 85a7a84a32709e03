//! How far something is that moves what lives.

use std::cell::Cell;
use std::time::Duration;

use ashlar_block::Nanos;

/// Why nothing is moved, though there is something to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// There is no room where it could go.
    NoRoom,
    /// It cannot be read from the drives that are left.
    Unreadable,
}

/// How far a rebuild or a rebalance is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Bytes of columns that have been written.
    pub bytes_done: u64,
    /// Bytes of columns that are to be.
    pub bytes_left: u64,
    /// When it will be done if it goes on like this. None: it has only begun.
    pub remaining: Option<Duration>,
    /// Met since the last bytes were written.
    pub obstacle: Option<Obstacle>,
}

/// What has been done since it began, or since the pool was opened.
#[derive(Default)]
pub(crate) struct Done {
    bytes: Cell<u64>,
    since: Cell<Option<Nanos>>,
    obstacle: Cell<Option<Obstacle>>,
}

impl Done {
    /// Bytes have been written.
    pub fn add(&self, bytes: u64, now: Nanos) {
        self.bytes.set(self.bytes.get() + bytes);
        self.obstacle.set(None);
        if self.since.get().is_none() {
            self.since.set(Some(now));
        }
    }

    /// It does not go on by itself at once.
    pub fn meets(&self, obstacle: Obstacle) {
        self.obstacle.set(Some(obstacle));
    }

    /// Whether any have been.
    pub fn has_begun(&self) -> bool {
        self.since.get().is_some()
    }

    /// It is over: the next one is counted anew.
    pub fn forget(&self) {
        self.bytes.set(0);
        self.since.set(None);
        self.obstacle.set(None);
    }

    /// How far it is with so many bytes left.
    pub fn progress(&self, bytes_left: u64, now: Nanos) -> Progress {
        let bytes_done = self.bytes.get();
        let time = self.since.get().map_or(Duration::ZERO, |since| now.since(since));
        let remaining = (bytes_done > 0).then(|| time.mul_f64(bytes_left as f64 / bytes_done as f64));
        Progress { bytes_done, bytes_left, remaining, obstacle: self.obstacle.get() }
    }
}
