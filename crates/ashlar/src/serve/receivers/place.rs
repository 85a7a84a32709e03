//! Where a receiver has come to in the log of events, over a start of the daemon.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::super::apart::apart;
use super::super::state::replace;

/// How long the file system may take.
const WAIT: Duration = Duration::from_secs(10);

/// The file of a receiver.
pub struct Place {
    directory: PathBuf,
    path: PathBuf,
}

/// What is in it.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// The last event that needs not be sent any more.
    delivered_seq: u64,
}

impl Place {
    /// That of the receiver of that name, which is made once something is written.
    pub fn new(directory: PathBuf, name: &str) -> Self {
        let path = directory.join(format!("{name}.json"));
        Place { directory, path }
    }

    /// Where it has come to; nothing: it is new.
    ///
    /// # Errors
    /// When that cannot be read in time.
    pub async fn load(&self) -> io::Result<Option<u64>> {
        let path = self.path.clone();
        let read = move || match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(text) => Ok(Some(serde_json::from_slice::<Kept>(&text)?.delivered_seq)),
        };
        in_time(read).await
    }

    /// It has come to that.
    ///
    /// # Errors
    /// When that cannot be written in time.
    pub async fn keep(&self, delivered_seq: u64) -> io::Result<()> {
        let (directory, path) = (self.directory.clone(), self.path.clone());
        let text = serde_json::to_vec(&Kept { delivered_seq })?;
        let write = move || {
            match fs::create_dir(&directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            replace(&directory, &path, &text)
        };
        in_time(write).await
    }
}

async fn in_time<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match timeout(WAIT, apart("receiver", work)?).await {
        Ok(Ok(done)) => done,
        _ => Err(io::ErrorKind::TimedOut.into()),
    }
}
