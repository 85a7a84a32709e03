//! Whose turn it is to read a journal.
//!
//! Of each kind of reader one reads at a time, by a thread of its own, and none waits for those of
//! another kind: whoever asks for much keeps neither receivers nor followers from what they are to
//! be told. The time that a read may take begins with its turn. Whoever waits while another read
//! hangs in the file system is told so, and leaves no thread behind.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ashlar_control::Reader;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{apart, locked};

/// How long a read may take, and one of a receiver, which begins again where it takes longer.
const WAIT: Duration = Duration::from_secs(10);
const RECEIVER_WAIT: Duration = Duration::from_secs(30);
/// How often those who wait look whether the one before them hangs.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Clients with a question that may wait.
const QUESTIONS_MAX: usize = 4;

/// Those who read one journal.
#[derive(Default)]
pub struct Readers {
    questions: Arc<Turns>,
    followers: Arc<Turns>,
    receivers: Arc<Turns>,
}

/// The turns of one kind of reader.
struct Turns {
    /// Who reads has the only one, and a thread that hangs keeps it.
    places: Arc<Semaphore>,
    /// Since when the one that reads does.
    begun: Mutex<Option<Instant>>,
    waiting: AtomicUsize,
}

impl Default for Turns {
    fn default() -> Self {
        let (begun, waiting) = Default::default();
        Turns { places: Arc::new(Semaphore::new(1)), begun, waiting }
    }
}

/// One that reads.
struct Turn {
    turns: Arc<Turns>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Turn {
    fn drop(&mut self) {
        *locked(&self.turns.begun) = None;
    }
}

/// One that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Readers {
    /// What `work` comes to, once it is that reader's turn.
    ///
    /// # Errors
    /// When there is no turn, or it does not end in time.
    pub fn read<T: Send + 'static, W: FnOnce() -> io::Result<T> + Send + 'static>(
        &self,
        reader: Reader,
        work: W,
    ) -> impl Future<Output = io::Result<T>> + Send + use<T, W> {
        let (turns, longest, waiting_max) = match reader {
            Reader::Question => (&self.questions, WAIT, QUESTIONS_MAX),
            Reader::Follower => (&self.followers, WAIT, usize::MAX),
            Reader::Receiver => (&self.receivers, RECEIVER_WAIT, usize::MAX),
        };
        let turns = turns.clone();
        async move {
            let turn = turns.turn(longest, waiting_max).await?;
            let work = move || {
                let read = work();
                drop(turn);
                read
            };
            let read = apart("journal-read", work)?;
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it takes too long");
            timeout(longest, read).await.map_err(late)?.map_err(io::Error::other)?
        }
    }
}

impl Turns {
    async fn turn(self: &Arc<Self>, longest: Duration, waiting_max: usize) -> io::Result<Turn> {
        let place = self.place(longest, waiting_max).await?;
        *locked(&self.begun) = Some(Instant::now());
        Ok(Turn { turns: self.clone(), _place: place })
    }

    async fn place(
        &self,
        longest: Duration,
        waiting_max: usize,
    ) -> io::Result<OwnedSemaphorePermit> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let is_one_too_many = self.waiting.fetch_add(1, Ordering::Relaxed) >= waiting_max;
        let _waiting = Waiting(&self.waiting);
        if is_one_too_many {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "others read it: ask again"));
        }
        let mut turn = pin!(self.places.clone().acquire_owned());
        loop {
            if let Ok(place) = timeout(LOOK_INTERVAL, &mut turn).await {
                return place.map_err(io::Error::other);
            }
            if locked(&self.begun).is_some_and(|begun| begun.elapsed() > longest) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the file system hangs"));
            }
        }
    }
}

#[cfg(test)]
mod tests;
