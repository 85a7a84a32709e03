//! The lock of the state directory: one daemon at a time.
//!
//! Both the directory itself and the file `lock` in it are locked. The file says which process has
//! the lock, and cannot be made on a file system that is full or read-only; the directory can be
//! locked there, too. Some file systems (NFS) lock files alone. Either is enough, and whoever has
//! the one keeps those out who could have the other.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::file::way_out;

/// How long a directory is waited for that only a daemon that has ended still has, and the pause
/// between two attempts.
const LEFT_LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(10);

/// Why the directory is not this process's.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon has it.
    #[error(
        "the state directory {} is in use by another daemon{}: end it, or choose another one with --state",
        path.display(),
        process.map_or_else(String::new, |process| format!(" (process {process})"))
    )]
    InUse {
        /// The directory.
        path: PathBuf,
        /// That daemon, if it is known.
        process: Option<u32>,
    },
    /// The operating system refuses.
    #[error("cannot lock the state directory {}: {source}; {}", path.display(), way_out(source, &path.join("lock")))]
    Os {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The lock, which lasts as long as this.
pub struct Lock {
    directory: File,
    _file: Option<File>,
}

impl Lock {
    /// Takes the lock. One that a killed daemon has left is waited for: the kernel lets go of it
    /// only when the last of the daemon's threads, its ring's included, has ended. So is one that a
    /// process has inherited which is just being started.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let start = Instant::now();
        loop {
            match Self::try_take(path) {
                Err(LockError::InUse { process: None, .. })
                    if start.elapsed() < LEFT_LOCK_WAIT_MAX =>
                {
                    thread::sleep(ATTEMPT_INTERVAL);
                }
                taken => return taken,
            }
        }
    }

    /// The same without waiting. The error names the process only if that still has the directory.
    ///
    /// # Errors
    /// [`LockError`].
    pub fn try_take(path: &Path) -> Result<Self, LockError> {
        let of_os = |source| LockError::Os { path: path.to_owned(), source };
        let directory = File::open(path).map_err(of_os)?;
        let file = open_file(&path.join("lock"));
        // In one order: of two daemons that start at once one gets both.
        let of_directory = try_flock(&directory);
        let of_file = match of_directory {
            Ok(false) => Ok(false),
            _ => file
                .as_ref()
                .map_err(|error| io::Error::new(error.kind(), error.to_string()))
                .and_then(try_flock),
        };
        match (of_directory, of_file) {
            (Ok(false), _) | (_, Ok(false)) => {
                let process = file.ok().and_then(|file| holder(file, &directory));
                return Err(LockError::InUse { path: path.to_owned(), process });
            }
            (Err(_), Err(source)) => return Err(of_os(source)),
            (Ok(true), _) | (_, Ok(true)) => {}
        }
        let file = file.ok().inspect(name_this_process);
        Ok(Lock { directory, _file: file })
    }

    /// Whether what is at `path` is the directory that is locked.
    pub fn is_at(&self, path: &Path) -> bool {
        let same = |one: fs::Metadata, other: fs::Metadata| {
            (one.dev(), one.ino()) == (other.dev(), other.ino())
        };
        self.directory
            .metadata()
            .is_ok_and(|ours| fs::metadata(path).is_ok_and(|found| same(ours, found)))
    }
}

/// False: another open file has the lock.
fn try_flock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// The file that names the process; for reading alone where no more is allowed.
fn open_file(path: &Path) -> io::Result<File> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    opened.or_else(|error| File::open(path).map_err(|_| error))
}

/// Writes down which process has the lock. Where that cannot be written it names nobody, or one
/// that does not have it, and nobody is named who does not.
fn name_this_process(file: &File) {
    let process = std::process::id().to_string();
    // Over what was there, whose room it may have.
    let written =
        file.write_all_at(process.as_bytes(), 0).and_then(|()| file.set_len(process.len() as u64));
    if written.is_err() {
        let _ = file.set_len(0);
    }
}

/// The process that the file names, if it has the directory or the file open.
fn holder(mut file: File, directory: &File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    let process = text.trim().parse().ok()?;
    let has = |file: &File| ashlar_drive::has_open(process, file);
    (has(&file) || has(directory)).then_some(process)
}

#[cfg(test)]
mod tests;
