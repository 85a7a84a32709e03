//! Mail that a server has taken for some and not yet for others, as one does that lists unknown
//! senders grey, or whose owner's mailbox is full: it goes to the others later, again and again.
//!
//! What waits is bounded, and is lost with the daemon: it is of recipients beside whom others have
//! got it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lettre::Address;
use lettre::address::Envelope;
use tokio::sync::Notify;
use tokio::time::timeout;
use uuid::Uuid;

use super::super::Failure;
use super::super::backoff::pause;

/// Mails that wait.
const MAILS_MAX: usize = 64;

/// All that wait.
#[derive(Default)]
pub struct Deferred {
    mails: Mutex<VecDeque<Waiting>>,
    come: Notify,
}

/// One that waits.
pub struct Waiting {
    pub envelope: Envelope,
    pub text: Arc<[u8]>,
    since: Instant,
    failed: u32,
    due: Instant,
}

impl Deferred {
    /// It goes to these later.
    pub fn put_off(&self, from: Option<Address>, to: Vec<Address>, text: &Arc<[u8]>, why: &str) {
        // One that nobody is to get is none.
        let Ok(envelope) = Envelope::new(from, to) else { return };
        let now = Instant::now();
        let waiting = Waiting { envelope, text: text.clone(), since: now, failed: 0, due: now };
        // It was tried once by now.
        self.again(waiting, why);
    }

    /// It has not gone. Returns whether it is tried again.
    pub fn again(&self, waiting: Waiting, why: &str) -> bool {
        let failed = waiting.failed + 1;
        let failure = Failure::Later(why.to_owned());
        let random = Uuid::new_v4().as_u64_pair().1;
        let Some(pause) = pause(&failure, failed, waiting.since.elapsed(), random) else {
            return false;
        };
        let mut mails = self.mails();
        if mails.len() == MAILS_MAX {
            mails.pop_front();
            tracing::warn!("more mails wait for their recipients than are kept: the oldest goes");
        }
        mails.push_back(Waiting { failed, due: Instant::now() + pause, ..waiting });
        drop(mails);
        self.come.notify_one();
        true
    }

    /// Waits until one is due.
    pub async fn next(&self) -> Waiting {
        loop {
            let longest = match self.take_due(Instant::now()) {
                Ok(waiting) => return waiting,
                Err(longest) => longest,
            };
            let _ = timeout(longest, self.come.notified()).await;
        }
    }

    /// One that is due.
    ///
    /// # Errors
    /// In how long the next one is.
    fn take_due(&self, now: Instant) -> Result<Waiting, Duration> {
        let mut mails = self.mails();
        let at = mails.iter().position(|waiting| waiting.due <= now);
        at.and_then(|at| mails.remove(at)).ok_or_else(|| {
            let due = mails.iter().map(|waiting| waiting.due).min();
            due.map_or(Duration::MAX, |due| due.saturating_duration_since(now))
        })
    }

    fn mails(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
