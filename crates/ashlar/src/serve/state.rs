//! The daemon's directory: who this node is, and which pools it opens by itself.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use ashlar_store::Holder;
use ashlar_volume::{KnownPool, PoolRecord, SubsystemInfo};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::finder::WantedPool;
use super::spares::Spares;
pub use machine::Machine;

mod machine;

/// How long a directory is waited for that only a daemon that has ended still has, and the pause between two
/// attempts.
const LEFT_LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(10);

/// The version of the file that this code writes.
const VERSION: u32 = 1;

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
        let drive = |(spec, uuid): &(String, _)| DriveState { spec: spec.clone(), uuid: format!("{uuid}") };
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

    /// How its drives are named, and the spare that was being taken when the daemon ended: it may be one of them.
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

    /// This node, as other machines see it that reach the same drives. A machine to which the directory was copied is another one.
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

/// The directory, locked for this process.
pub struct StateDir {
    path: PathBuf,
    /// What is in the file.
    pub node: NodeState,
    /// The machine that it was used on before, if that was another one.
    pub used_before_on: Option<Machine>,
    _lock: File,
}

impl StateDir {
    /// Opens the directory, made if it is not there, for this process alone, and counts the start.
    ///
    /// # Errors
    /// Another daemon has it, by its process; or the directory or its file is not right.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(path)
            .with_context(|| format!("cannot make the state directory {}", path.display()))?;
        let lock = lock(path)?;
        let node = read(path)?.unwrap_or_else(NodeState::new);
        let here = Machine::here();
        let used_before_on = node.machine.clone().filter(|before| here.is_another_than(before));
        let machine = here.with_what_is_known_of(node.machine.as_ref());
        let mut dir = StateDir { path: path.to_owned(), node, used_before_on, _lock: lock };
        dir.change(|node| {
            node.starts += 1;
            node.machine = Some(machine);
        })?;
        Ok(dir)
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

    /// Changes what is remembered, durably; after an error nothing has changed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn change(&mut self, change: impl FnOnce(&mut NodeState)) -> anyhow::Result<()> {
        let mut node = self.node.clone();
        change(&mut node);
        let text = toml::to_string_pretty(&node).context("writing down the node's state")?;
        replace(&self.path, text.as_bytes())
            .with_context(|| format!("cannot write {}", file_in(&self.path).display()))?;
        self.node = node;
        Ok(())
    }

    /// Notes durably that numbers up to `high` have been given out.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note_nsids(&mut self, high: u32) -> anyhow::Result<()> {
        if self.node.nsid_high >= high {
            return Ok(());
        }
        self.change(|node| node.nsid_high = high)
    }

    /// Notes that numbers above `high` were given out to nobody.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn take_back_nsids(&mut self, high: u32) -> anyhow::Result<()> {
        if self.node.nsid_high <= high {
            return Ok(());
        }
        self.change(|node| node.nsid_high = high)
    }
}

fn file_in(directory: &Path) -> PathBuf {
    directory.join("node.toml")
}

/// The process that the lock's file names.
fn holder_named_in(file: &mut File) -> String {
    let mut holder = String::new();
    // Without it the refusal names nobody.
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut holder));
    holder.trim().to_owned()
}

/// Takes the directory's lock, which names the process that has it. One that a killed daemon has left is waited
/// for: the kernel lets go of it only when the last of the daemon's threads, its ring's included, has ended. So
/// is one that a process has inherited which is just being started.
fn lock(directory: &Path) -> anyhow::Result<File> {
    let path = directory.join("lock");
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = opened.with_context(|| format!("cannot open {}", path.display()))?;
    let start = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let holder = holder_named_in(&mut file);
        let is_left_behind = holder.parse().is_ok_and(|pid| !ashlar_drive::has_open(pid, &file));
        if !is_left_behind || start.elapsed() >= LEFT_LOCK_WAIT_MAX {
            bail!(
                "the state directory {} is in use by another daemon (process {holder}): end it, or choose another \
                 one with --state",
                directory.display(),
            );
        }
        thread::sleep(ATTEMPT_INTERVAL);
    }
    file.rewind()?;
    file.set_len(0)?;
    write!(file, "{}", std::process::id())?;
    Ok(file)
}

fn read(directory: &Path) -> anyhow::Result<Option<NodeState>> {
    let path = file_in(directory);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let node: NodeState = toml::from_str(&text).with_context(|| format!("{} is damaged", path.display()))?;
    ensure!(
        node.version == VERSION,
        "{} has version {}, and this Ashlar knows {VERSION}",
        path.display(),
        node.version
    );
    Ok(Some(node))
}

/// Writes the file anew beside the old one and puts it in its place: a crash leaves the one or the other.
fn replace(directory: &Path, content: &[u8]) -> std::io::Result<()> {
    let beside = directory.join("node.toml.new");
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, file_in(directory))?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests;
