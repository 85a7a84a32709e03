//! The directory of the file, which one writer at a time has: a file system that hangs while the
//! file is written again holds up writers alone, and nobody who asks what is known. A change writes
//! it itself, and what comes behind that change waits.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::NodeState;
use super::file::{self, WriteError};
use super::lock::Lock;

/// The directory, locked for this process.
pub struct Directory {
    path: PathBuf,
    held: Mutex<Held>,
}

struct Held {
    lock: Lock,
    /// The number of the newest write that was begun.
    newest: u64,
}

/// What is to be in the file, and which of all writes that is: an older one does not come after a
/// newer one.
pub struct ToWrite {
    pub directory: Arc<Directory>,
    pub node: NodeState,
    pub number: u64,
    /// The write before has failed.
    pub has_failed: bool,
}

/// What came of a write.
pub struct Written {
    pub node: NodeState,
    pub number: u64,
    pub result: Result<(), WriteError>,
}

impl Directory {
    /// The directory at `path`, which is locked.
    pub fn new(path: PathBuf, lock: Lock) -> Self {
        Directory { path, held: Mutex::new(Held { lock, newest: 0 }) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder of the lock panics")
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same, if it is still the one that is locked for this process.
    pub fn path_if_there(&self) -> Option<&Path> {
        self.held().lock.is_at(&self.path).then_some(&*self.path)
    }
}

impl ToWrite {
    /// Writes the file, whatever it says; `None`: a newer write has begun.
    pub fn write(self) -> Option<Written> {
        let directory = self.directory.clone();
        let mut held = directory.held();
        self.write_in(&mut held)
    }

    /// The same only if the file could not be written before, or has gone since.
    pub fn write_if_missing(self) -> Option<Written> {
        let directory = self.directory.clone();
        let mut held = directory.held();
        let is_there =
            || held.lock.is_at(&directory.path) && file::file_in(&directory.path).exists();
        if !self.has_failed && is_there() { None } else { self.write_in(&mut held) }
    }

    fn write_in(self, held: &mut Held) -> Option<Written> {
        let ToWrite { directory, node, number, .. } = self;
        if number < held.newest {
            return None;
        }
        held.newest = number;
        let path = &directory.path;
        let result = held.have(path, &node).and_then(|()| file::write(path, &node));
        Some(Written { node, number, result })
    }
}

impl Held {
    /// One that is gone is made again: what it said is known. One that is in its place is taken if
    /// it is nobody else's.
    fn have(&mut self, path: &Path, node: &NodeState) -> Result<(), WriteError> {
        if self.lock.is_at(path) {
            return Ok(());
        }
        let made = fs::create_dir_all(path);
        made.map_err(|source| WriteError::Os { path: file::file_in(path), source })?;
        let lock = Lock::try_take(path).map_err(WriteError::Lock)?;
        let found = file::read(path).map_err(WriteError::Read)?;
        if found.is_some_and(|found| found.uuid != node.uuid) {
            return Err(WriteError::OtherNode { path: file::file_in(path) });
        }
        self.lock = lock;
        Ok(())
    }
}
