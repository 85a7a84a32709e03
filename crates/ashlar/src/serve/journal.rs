//! A journal: entries of a log, line by line, in files that outlive the daemon and are bounded.
//!
//! Each file has entries in the order of their numbers, each as a line of JSON, and is called by
//! the number of its first one. A daemon begins a file of its own, so that a line that was cut off
//! by a crash stays the last of its file. The oldest files go once all together have more than the
//! journal may have.
//!
//! One thread writes. It may hang where the file system does: what comes meanwhile waits in a queue
//! that has a bound, and beyond that is counted and not kept. Nobody waits for it but the end of
//! the daemon.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ashlar_control::{Archive, Entry, RECENT_MAX, Wanted};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::apart::apart;
use files::Files;

mod files;

/// Entries that wait to be written: those that wait are in the log's memory all the while.
const QUEUE_MAX: usize = RECENT_MAX;
/// How long the entries that are read are waited for.
const READ_WAIT: Duration = Duration::from_secs(10);

/// How much a journal keeps.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Of one file; a file ends with the entry that reaches it.
    pub file_bytes: u64,
    /// Of all files, as far as whole files can keep to it.
    pub total_bytes: u64,
}

/// A journal of entries of one log.
pub struct Journal {
    directory: PathBuf,
    queue: Mutex<Option<SyncSender<Line>>>,
    written: Mutex<Option<Receiver<()>>>,
    state: Arc<Mutex<State>>,
}

/// An entry, as it is written.
struct Line {
    seq: u64,
    text: String,
}

/// What has become of entries.
#[derive(Default)]
struct State {
    /// Why the last write has failed.
    failure: Option<String>,
    /// That was told.
    is_told: bool,
    /// Entries that were not kept since the journal was written last.
    lost: u64,
}

impl Journal {
    /// The journal in `directory`, which is made once something is written.
    ///
    /// # Errors
    /// When no thread can be started for it.
    pub fn start(directory: PathBuf, bounds: Bounds) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE_MAX);
        let (ended, written) = sync_channel(0);
        let state = Arc::<Mutex<State>>::default();
        let files = Files::new(directory.clone(), bounds);
        let work = {
            let state = state.clone();
            move || {
                write_all(&lines, files, &state);
                drop(ended);
            }
        };
        thread::Builder::new().name("journal".to_owned()).spawn(work)?;
        let (queue, written) = (Mutex::new(Some(queue)), Mutex::new(Some(written)));
        Ok(Journal { directory, queue, written, state })
    }

    /// Takes no more, and waits so long for what is on its way to the file.
    pub fn end(&self, longest: Duration) {
        drop(locked(&self.queue).take());
        if let Some(written) = locked(&self.written).take()
            && written.recv_timeout(longest) == Err(RecvTimeoutError::Timeout)
        {
            let directory = self.directory.display();
            tracing::warn!(
                "the file system of {directory} hangs: its last entries are not written"
            );
        }
    }

    /// The newest entries, for a daemon that starts: nothing if they cannot be read in time.
    pub fn newest<E: Entry + DeserializeOwned>(&self) -> Vec<E> {
        let wanted = Wanted::<E>::last(RECENT_MAX);
        let directory = self.directory.clone();
        let (sender, read) = std::sync::mpsc::channel();
        let work = move || drop(sender.send(files::read(&directory, &wanted)));
        let started = thread::Builder::new().name("journal-read".to_owned()).spawn(work);
        let found = started.ok().and_then(|_| read.recv_timeout(READ_WAIT).ok());
        match found.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into())) {
            Ok(entries) => entries,
            Err(error) => {
                let directory = self.directory.display();
                tracing::warn!(%error, "{directory} cannot be read: what it has is not shown");
                Vec::new()
            }
        }
    }

    fn keep(&self, line: Line) {
        let sent = match &*locked(&self.queue) {
            Some(queue) => queue.try_send(line),
            None => return,
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                let directory = self.directory.display();
                let why = format!("the file system of {directory} hangs, or is too slow");
                locked(&self.state).has_failed(why, 1);
            }
            Err(TrySendError::Disconnected(_)) => {
                locked(&self.state).has_failed("its thread has ended".to_owned(), 1);
            }
        }
    }
}

impl<E: Entry + Serialize + DeserializeOwned> Archive<E> for Journal {
    fn keep(&self, entry: &E) {
        let text = serde_json::to_string(entry).expect("an entry is plain data");
        self.keep(Line { seq: entry.seq(), text });
    }

    fn read(&self, wanted: Wanted<E>) -> BoxFuture<'static, io::Result<Vec<E>>> {
        let directory = self.directory.clone();
        Box::pin(async move {
            let reading = apart("journal-read", move || files::read(&directory, &wanted))?;
            let read = tokio::time::timeout(READ_WAIT, reading).await;
            read.ok().and_then(Result::ok).unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
        })
    }

    fn take_failure(&self) -> Option<String> {
        locked(&self.state).take_failure()
    }
}

impl State {
    fn has_failed(&mut self, why: String, lost: u64) {
        self.lost += lost;
        self.failure = Some(why);
    }

    fn is_well(&mut self) {
        *self = State::default();
    }

    /// Told once, until it is well in between.
    fn take_failure(&mut self) -> Option<String> {
        let is_new = self.failure.is_some() && !std::mem::replace(&mut self.is_told, true);
        self.failure.clone().filter(|_| is_new)
    }
}

/// What a panic has left is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what comes, as much at a time as has come, until no more can.
fn write_all(lines: &Receiver<Line>, mut files: Files, state: &Mutex<State>) {
    while let Ok(first) = lines.recv() {
        let batch: Vec<Line> = std::iter::once(first).chain(lines.try_iter()).collect();
        match files.append(&batch) {
            Ok(()) => locked(state).is_well(),
            Err(error) => {
                let directory = files.directory().display();
                let why = format!("{directory}: {error}");
                locked(state).has_failed(why, batch.len() as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests;
