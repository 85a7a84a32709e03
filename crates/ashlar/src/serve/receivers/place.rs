//! Where a receiver has come to in the log of events, over a start of the daemon.
//!
//! One thread at a time writes it, and nobody waits for that: a file system that hangs holds up no
//! event. Of what has come meanwhile only the last is written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::apart::OneByOne;
use super::super::state::replace;

/// How long the file system may take.
const WAIT: Duration = Duration::from_secs(10);
/// What the files' names end in.
const ENDING: &str = "json";

/// The file of a receiver.
pub struct Place {
    file: Arc<File>,
    reading: OneByOne,
}

struct File {
    directory: PathBuf,
    path: PathBuf,
    state: Mutex<State>,
    /// All is written, as far as it could be.
    is_idle: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    /// What is to be written.
    wanted: Option<Kept>,
    /// A thread writes.
    is_writing: bool,
}

/// What is kept of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// The last event that needs not be sent any more.
    pub delivered_seq: u64,
    /// That it does not work was told, and not yet that it works again.
    #[serde(default)]
    pub is_told: bool,
}

impl Place {
    /// That of the receiver of that name, which is made once something is written.
    pub fn new(directory: PathBuf, name: &str) -> Self {
        let path = directory.join(format!("{name}.{ENDING}"));
        let (state, is_idle) = (Mutex::default(), watch::Sender::new(true));
        let file = Arc::new(File { directory, path, state, is_idle });
        Place { file, reading: OneByOne::new() }
    }

    /// Where it has come to; nothing: it is new.
    ///
    /// # Errors
    /// When that cannot be read in time.
    pub async fn load(&self) -> io::Result<Option<Kept>> {
        let path = self.file.path.clone();
        let read = move || match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        };
        self.reading.run("receiver", WAIT, read).await?
    }

    /// It has come to that, which is written by and by.
    pub fn keep(&self, kept: Kept) {
        let file = self.file.clone();
        let mut state = file.state();
        state.wanted = Some(kept);
        if std::mem::replace(&mut state.is_writing, true) {
            return;
        }
        drop(state);
        file.is_idle.send_replace(false);
        let work = {
            let file = file.clone();
            move || file.write_all()
        };
        let started = thread::Builder::new().name("receiver".to_owned()).spawn(work);
        if let Err(error) = started {
            file.not_written(&error);
            file.state().is_writing = false;
            file.is_idle.send_replace(true);
        }
    }

    /// Waits until all is written, but no longer than that.
    pub async fn settled(&self, longest: Duration) {
        let mut is_idle = self.file.is_idle.subscribe();
        let _ = timeout(longest, is_idle.wait_for(|is_idle| *is_idle)).await;
    }
}

impl File {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self) {
        loop {
            let mut state = self.state();
            let Some(kept) = state.wanted.take() else {
                state.is_writing = false;
                // Before another one begins to write.
                self.is_idle.send_replace(true);
                return;
            };
            drop(state);
            if let Err(error) = self.write(kept) {
                self.not_written(&error);
            }
        }
    }

    fn write(&self, kept: Kept) -> io::Result<()> {
        match fs::create_dir(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        replace(&self.directory, &self.path, &serde_json::to_vec(&kept)?)
    }

    fn not_written(&self, error: &io::Error) {
        let path = self.path.display();
        tracing::warn!(%error, "{path} is not written: its receiver may be told again");
    }
}

/// Forgets the receivers that have none of these names: who comes later under one of their names is
/// new.
pub fn forget_all_but(directory: &Path, names: &[String]) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if is_ours && !names.iter().any(|known| known == name) {
            let removed = fs::remove_file(&path);
            removed.unwrap_or_else(|error| {
                tracing::warn!(%error, "{} of a receiver that is no more stays", path.display());
            });
        }
    }
}

#[cfg(test)]
mod tests;
