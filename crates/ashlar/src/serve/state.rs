//! The daemon's directory: who this node is, and which pools it opens by itself.
//!
//! A directory that cannot be written keeps no node from serving. What changes is then known to
//! this process alone, which says so and writes it as soon as it can. Two things are exceptions. A
//! node without a file does not start where none can be written: it has no pool to serve, and hosts
//! would know it by a name that it had no more after its next start. And what is worse forgotten
//! than not done is refused: a pool that is new here, and the number of a new volume.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ashlar_store::Holder;
use ashlar_volume::{KnownPool, PoolRecord, SubsystemInfo};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::finder::WantedPool;
use super::spares::Spares;
pub use directory::{Directory, ToWrite, Written};
use file::{ReadError, VERSION};
pub use file::{WriteError, replace, replace_if, way_out};
use lock::{Lock, LockError};
pub use machine::Machine;
use unwritten::unwritten;

mod directory;
mod file;
mod lock;
mod machine;
mod unwritten;

/// How often what could not be written in the directory is tried again, beside each change.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// What the daemon remembers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeState {
    version: u32,
    /// The node's identity: its subsystem's NQN and serial number follow from it.
    pub uuid: Uuid,
    /// Starts so far.
    pub starts: u64,
    /// The highest namespace number that was ever given out.
    pub nsid_high: u32,
    /// The machine that the directory was used on last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Pools to open.
    #[serde(default)]
    pub pools: Vec<PoolState>,
}

/// A pool to open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolState {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// It was lost with the process.
    #[serde(default)]
    pub volatile: bool,
    /// Its drives.
    pub drives: Vec<DriveState>,
    /// Drives that are taken for those that it loses.
    #[serde(default, skip_serializing_if = "Spares::is_empty")]
    pub spares: Spares,
}

/// A drive of a pool to open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveState {
    /// How it is named.
    pub spec: String,
    /// Its identity as a member.
    pub uuid: String,
}

impl PoolState {
    /// What is to be remembered of a pool.
    pub fn of(record: &PoolRecord) -> Self {
        let drive =
            |(spec, uuid): &(String, _)| DriveState { spec: spec.clone(), uuid: format!("{uuid}") };
        let drives = record.drives.iter().map(drive).collect();
        let (name, uuid) = (record.name.clone(), record.uuid.to_string());
        PoolState { name, uuid, volatile: record.is_volatile, drives, spares: Spares::default() }
    }

    /// How its drives are named, each with its identity.
    pub fn wanted(&self) -> WantedPool {
        let known = self.drives.iter().map(|drive| (drive.spec.clone(), drive.uuid.clone()));
        WantedPool { uuid: self.uuid.clone(), drives: known.collect() }
    }

    /// As the node opens it.
    pub fn known(&self) -> KnownPool {
        KnownPool { uuid: self.uuid.clone(), name: self.name.clone(), drives: self.specs() }
    }

    /// How its drives are named, and the spare that was being taken when the daemon ended: it may
    /// be one of them.
    pub fn specs(&self) -> Vec<String> {
        let drives = self.drives.iter().map(|drive| &drive.spec);
        let taking = self.spares.taking.iter().map(|taking| &taking.spec);
        let taking = taking.filter(|spec| self.drives.iter().all(|drive| drive.spec != **spec));
        drives.chain(taking).cloned().collect()
    }
}

impl NodeState {
    fn new() -> Self {
        let (uuid, pools) = (Uuid::new_v4(), Vec::new());
        NodeState { version: VERSION, uuid, starts: 0, nsid_high: 0, machine: None, pools }
    }

    /// This node, as other machines see it that reach the same drives. A machine to which the
    /// directory was copied is another one.
    pub fn holder(&self) -> Holder {
        let machine = Machine::here();
        let id = self.uuid.as_u128() ^ machine.id.map_or(0, |id| id.as_u128());
        Holder { id: id.to_be_bytes(), name: machine.name }
    }

    /// The subsystem that hosts see: the same for the life of the node.
    pub fn subsystem(&self) -> SubsystemInfo {
        let serial = format!("ASHL{}", &self.uuid.simple().to_string()[..16]).to_uppercase();
        SubsystemInfo {
            nqn: format!("nqn.2014-08.org.nvmexpress:uuid:{}", self.uuid),
            serial,
            model: "Ashlar".to_owned(),
            firmware: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Why a daemon cannot serve with a directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there, and cannot be made.
    #[error(
        "cannot make the state directory {}: {source}; {}, or choose another one with --state",
        path.display(),
        way_out(source, path)
    )]
    Make {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is another daemon's, or cannot be locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Its file says nothing.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has no file, and none can be written.
    #[error(
        "the state directory {} has no node.toml, which says who this node is to hosts, and none can \
         be written: {source}; {}, or choose another directory with --state",
        path.display(),
        source.way_out()
    )]
    NoIdentity {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: Box<WriteError>,
    },
}

/// The directory, locked for this process.
pub struct StateDir {
    directory: Arc<Directory>,
    /// What is known, and in the file if that could be written.
    pub node: NodeState,
    /// The machine that it was used on before, if that was another one.
    pub used_before_on: Option<Machine>,
    /// What is in the file.
    written: NodeState,
    /// Why the file could not be written when that was tried last.
    failure: Option<WriteError>,
    /// Writes so far.
    writes: u64,
    /// The newest of them of which it is known what came of it.
    noted: u64,
}

impl StateDir {
    /// Opens the directory, made if it is not there, for this process alone, and counts the start.
    ///
    /// # Errors
    /// [`OpenError`]. Where a file is there and none can be written, the node serves by that one.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        fs::create_dir_all(path)
            .map_err(|source| OpenError::Make { path: path.to_owned(), source })?;
        let lock = Lock::take(path)?;
        let found = file::read(path)?;
        let is_new = found.is_none();
        let node = found.unwrap_or_else(NodeState::new);
        let here = Machine::here();
        let used_before_on = node.machine.clone().filter(|before| here.is_another_than(before));
        let machine = here.with_what_is_known_of(node.machine.as_ref());
        let written = node.clone();
        let directory = Arc::new(Directory::new(path.to_owned(), lock));
        let mut dir = StateDir {
            directory,
            node,
            used_before_on,
            written,
            failure: None,
            writes: 0,
            noted: 0,
        };
        dir.change(|node| {
            node.starts += 1;
            node.machine = Some(machine);
        });
        match dir.failure.take_if(|_| is_new) {
            Some(failure) => {
                Err(OpenError::NoIdentity { path: path.to_owned(), source: Box::new(failure) })
            }
            None => Ok(dir),
        }
    }

    /// What is to be said of a directory that another machine has used before, as one does that it
    /// was copied from.
    pub fn moved(&self) -> Option<String> {
        let (before, here) = (self.used_before_on.as_ref()?, self.node.machine.as_ref()?);
        let SubsystemInfo { nqn, serial, .. } = self.node.subsystem();
        Some(format!(
            "the state directory was used on {before} before, and is used on {here} now. If it was copied, and a daemon serves \
             there as well, hosts take the two for one node, for both have subsystem {nqn} and serial number {serial}: end one \
             of them, and start it with a new state directory (--state), into which its pools are imported"
        ))
    }

    /// Changes what is known, and durably what is remembered if that can be: else [`Self::warning`]
    /// says so.
    pub fn change(&mut self, change: impl FnOnce(&mut NodeState)) {
        change(&mut self.node);
        // It is kept for whoever asks.
        let _ = self.write();
    }

    /// Changes durably what is remembered; after an error nothing has changed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn change_durably(
        &mut self,
        change: impl FnOnce(&mut NodeState),
    ) -> Result<(), &WriteError> {
        let before = self.node.clone();
        change(&mut self.node);
        if self.write().is_err() {
            self.node = before;
        }
        self.failure.as_ref().map_or(Ok(()), Err)
    }

    /// Writes what is known, whether it has changed or not.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self) -> Result<(), &WriteError> {
        if let Some(written) = self.begin_write().write() {
            self.note(written);
        }
        self.failure.as_ref().map_or(Ok(()), Err)
    }

    /// What is to be in the file now. [`Self::note`] has to hear what comes of writing that.
    pub fn begin_write(&mut self) -> ToWrite {
        self.writes += 1;
        let (directory, node) = (self.directory.clone(), self.node.clone());
        ToWrite { directory, node, number: self.writes, has_failed: self.failure.is_some() }
    }

    /// Takes note of what came of a write, unless that of a newer one is known.
    pub fn note(&mut self, Written { node, number, result }: Written) {
        if number < self.noted {
            return;
        }
        self.noted = number;
        let was_written = self.failure.is_none();
        match result {
            Ok(()) => {
                self.written = node;
                self.failure = None;
                if !was_written {
                    tracing::info!("{} is written again", self.file().display());
                }
            }
            Err(error) => {
                if was_written {
                    tracing::warn!("{error}; the node serves nevertheless: {}", error.way_out());
                }
                self.failure = Some(error);
            }
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        file::file_in(self.directory.path())
    }

    /// What is to be known of a file that cannot be written: why, what it does not say, what is
    /// refused, and the way out.
    pub fn warning(&self) -> Option<String> {
        let failure = self.failure.as_ref()?;
        let unwritten: Vec<String> = unwritten(&self.written, &self.node)
            .into_iter()
            .map(|unwritten| unwritten.what)
            .collect();
        let missing = match unwritten.as_slice() {
            [] => "the file still describes the node completely".to_owned(),
            all => {
                format!("if the daemon ended now, its next start would not know {}", all.join(", "))
            }
        };
        Some(format!(
            "{failure}: the node serves, and {missing}. Ashlar tries again by itself. Until it has \
             written the file, it refuses new volumes and pools, and no start would leave a pool \
             closed whose work ended the daemon: {}",
            failure.way_out()
        ))
    }

    /// What the file does not say of the pool.
    pub fn unwritten_of(&self, pool: &str) -> Vec<String> {
        if self.failure.is_none() {
            return Vec::new();
        }
        let all = unwritten(&self.written, &self.node).into_iter();
        all.filter(|unwritten| unwritten.pool.as_deref() == Some(pool))
            .map(|unwritten| unwritten.what)
            .collect()
    }

    /// Notes durably that numbers up to `high` have been given out; after an error that is not
    /// noted.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note_nsids_durably(&mut self, high: u32) -> Result<(), &WriteError> {
        if self.written.nsid_high >= high {
            // A number that was taken back, which could not be written, is given out again.
            self.node.nsid_high = self.node.nsid_high.max(high);
            return Ok(());
        }
        self.change_durably(|node| node.nsid_high = node.nsid_high.max(high))
    }

    /// The same, durably if that can be.
    pub fn note_nsids(&mut self, high: u32) {
        if self.node.nsid_high < high {
            self.change(|node| node.nsid_high = high);
        }
    }

    /// Notes that numbers above `high` were given out to nobody. If that cannot be written, a start
    /// passes them over.
    pub fn take_back_nsids(&mut self, high: u32) {
        if self.node.nsid_high > high {
            self.change(|node| node.nsid_high = high);
        }
    }
}

#[cfg(test)]
mod tests;
