//! A journal: entries of a log, line by line, in files that outlive the daemon and are bounded.
//!
//! Each file has entries in the order of their numbers, each as a line of JSON, and is called by
//! the number of its first one. A daemon that starts goes on in the newest one that has room,
//! unless a crash has cut its last line off: that one stays the last of its file. The oldest files
//! go once all together have more than the journal may have, or are too many.
//!
//! One thread writes. It may hang where the file system does: what comes meanwhile waits in a queue
//! that has a bound, and beyond that is counted and not kept. What could not be written is written
//! again, before all that came later. Whoever wants to know that an entry is durable waits for it;
//! nobody else waits for the thread but the end of the daemon.
//!
//! Few threads read at a time (`readers`).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ashlar_control::{Archive, Entry, Keeping, RECENT_MAX, Reader, Wanted};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::apart::apart;
use files::Files;
use readers::Readers;

mod files;
mod readers;

/// Entries that wait for the thread, and those that it writes at a time: all that wait are in the
/// log's memory all the while.
const QUEUE_MAX: usize = RECENT_MAX / 2;
const BATCH_MAX: usize = RECENT_MAX / 2;
/// When what could not be written is tried again, where nothing else comes.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

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
    written: Mutex<Option<oneshot::Receiver<()>>>,
    state: Arc<Mutex<State>>,
    readers: Readers,
    /// Files that could not be read, which was said.
    bad: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// An entry, as it is written.
struct Line {
    seq: u64,
    text: String,
    /// Dropped once it is durable, or cannot be now.
    written: Option<oneshot::Sender<()>>,
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
    /// So many were lost before it was written again, which is to be told.
    regained: Option<u64>,
    /// The daemon waits for the last ones.
    is_ending: bool,
}

impl Journal {
    /// The journal in `directory`, which is made once something is written.
    ///
    /// # Errors
    /// When no thread can be started for it.
    pub fn start(directory: PathBuf, bounds: Bounds) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE_MAX);
        let (ended, written) = oneshot::channel();
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
        let (readers, bad) = Default::default();
        Ok(Journal { directory, queue, written, state, readers, bad })
    }

    /// Takes no more, and waits so long for what is on its way to the file.
    pub async fn end(&self, longest: Duration) {
        locked(&self.state).is_ending = true;
        drop(locked(&self.queue).take());
        let written = locked(&self.written).take();
        if let Some(written) = written
            && timeout(longest, written).await.is_err()
        {
            let directory = self.directory.display();
            tracing::warn!(
                "the file system of {directory} hangs: its last entries are not written"
            );
        }
    }

    /// The newest entries, for a daemon that starts: nothing if they cannot be read in time.
    pub async fn newest<E: Entry + DeserializeOwned>(&self) -> Vec<E> {
        match self.read(Wanted::<E>::last(RECENT_MAX), Reader::Question).await {
            Ok(entries) => entries,
            Err(error) => {
                let directory = self.directory.display();
                tracing::warn!(%error, "{directory} cannot be read: what it has is not shown");
                Vec::new()
            }
        }
    }

    /// The entries that are wanted, if the file system gives them in time.
    fn read<E: Entry + DeserializeOwned>(
        &self,
        wanted: Wanted<E>,
        reader: Reader,
    ) -> impl Future<Output = io::Result<Vec<E>>> + Send + use<E> {
        let (directory, bad) = (self.directory.clone(), self.bad.clone());
        self.readers.read(reader, move || {
            files::read(&directory, &wanted, &|file, error| said(&bad, file, error))
        })
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
    fn keep(&self, entry: &E, written: Option<oneshot::Sender<()>>) {
        let text = serde_json::to_string(entry).expect("an entry is plain data");
        self.keep(Line { seq: entry.seq(), text, written });
    }

    fn read(&self, wanted: Wanted<E>, reader: Reader) -> BoxFuture<'static, io::Result<Vec<E>>> {
        Box::pin(Journal::read(self, wanted, reader))
    }

    fn take_change(&self) -> Option<Keeping> {
        locked(&self.state).take_change()
    }

    fn failure(&self) -> Option<(String, u64)> {
        let state = locked(&self.state);
        state.failure.clone().map(|why| (why, state.lost))
    }
}

impl State {
    fn has_failed(&mut self, why: String, lost: u64) {
        self.lost += lost;
        self.failure = Some(why);
    }

    fn is_well(&mut self) {
        if self.failure.take().is_some() && self.is_told {
            self.regained = Some(self.lost);
        }
        (self.is_told, self.lost) = (false, 0);
    }

    /// That it fails is told once, until it is well in between; and then that it is.
    fn take_change(&mut self) -> Option<Keeping> {
        if let Some(lost) = self.regained.take() {
            return Some(Keeping::Again { lost });
        }
        let is_new = self.failure.is_some() && !std::mem::replace(&mut self.is_told, true);
        self.failure.clone().filter(|_| is_new).map(Keeping::Not)
    }
}

/// What a panic has left is whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says once of each file that it cannot be read. A journal has few files at a time.
fn said(bad: &Mutex<BTreeSet<PathBuf>>, file: &Path, error: &io::Error) {
    let mut bad = locked(bad);
    bad.retain(|known| known.exists());
    if bad.insert(file.to_owned()) {
        tracing::warn!(%error, "{} cannot be read: what it has is not shown", file.display());
    }
}

/// Writes what comes, as much at a time as has come, until no more can. What cannot be written now
/// stays before all that comes later.
fn write_all(lines: &Receiver<Line>, mut files: Files, state: &Mutex<State>) {
    let mut batch = Vec::new();
    loop {
        let has_ended = gather(lines, &mut batch);
        if let Err(error) = files.append(&batch) {
            let why = format!("{}: {error}", files.directory().display());
            let mut state = locked(state);
            if has_ended || state.is_ending {
                let lost = batch.len() + lines.try_iter().count();
                return state.has_failed(why, lost as u64);
            }
            state.has_failed(why, 0);
            // Nobody waits until it can be.
            batch.iter_mut().for_each(|line: &mut Line| line.written = None);
        } else {
            batch.clear();
            locked(state).is_well();
        }
        if has_ended {
            return;
        }
    }
}

/// Waits for what is to be written now, and puts it behind what is to be written still. Returns
/// whether no more can come.
fn gather(lines: &Receiver<Line>, batch: &mut Vec<Line>) -> bool {
    let come = match batch.len() {
        0 => lines.recv().map_err(RecvTimeoutError::from),
        few if few < BATCH_MAX => lines.recv_timeout(RETRY_INTERVAL),
        // The queue has a bound, and so has this.
        _ => {
            thread::sleep(RETRY_INTERVAL);
            return false;
        }
    };
    let has_ended = matches!(come, Err(RecvTimeoutError::Disconnected));
    batch.extend(come);
    let room = BATCH_MAX - batch.len();
    batch.extend(lines.try_iter().take(room));
    has_ended
}

#[cfg(test)]
mod tests;
