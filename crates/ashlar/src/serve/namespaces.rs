//! The namespaces of the node's pools, as they were when each pool was open last. A start shows
//! them to hosts before the pools are open: a host that found them missing would give up its disks.
//!
//! They are a help and not a truth, which is on the drives: nobody fails for a file that cannot be
//! read or written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use ashlar_block::{PoolUuid, VolumeId, VolumeUuid};
use ashlar_volume::{
    AccessList, HOSTS_MAX, HostNqn, NamespaceInfo, Nsid, PoolNamespace, SanitizeState,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::state::replace;

/// The version of the file that this code writes.
const VERSION: u32 = 1;
/// Larger files are not read, nor written.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Namespaces of a file, at most.
const NAMESPACES_MAX: usize = 65_536;

/// What is remembered, by pool.
pub type Namespaces = BTreeMap<Uuid, Vec<NamespaceState>>;

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<N> {
    version: u32,
    /// The node whose pools they are of.
    node: Uuid,
    pools: N,
}

/// A namespace as it is remembered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespaceState {
    nsid: u32,
    /// The number of its volume in the pool.
    volume: u32,
    uuid: Uuid,
    size_bytes: u64,
    lba_bytes: u32,
    atomic_write_bytes: u32,
    atomic_boundary_bytes: u32,
    /// Where hosts are told less than `atomic_write_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    atomic_announced_bytes: Option<u32>,
    write_protected: bool,
    /// Its last sanitize is done (true), or is to go on (false).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sanitized: Option<bool>,
    /// Those that may see it; null: every host.
    hosts: Option<Vec<String>>,
}

/// Why nothing is remembered.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refuses.
    #[error("cannot read {}: {source}", path.display())]
    Os {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, and how.
        why: String,
    },
    /// Another Ashlar has written it.
    #[error("{} has version {version}, and this Ashlar knows {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// It says what another node has.
    #[error("{} is another node's", path.display())]
    OtherNode {
        /// The file.
        path: PathBuf,
    },
}

impl NamespaceState {
    /// What is to be remembered of a namespace.
    pub fn of(PoolNamespace { volume, info }: &PoolNamespace) -> Self {
        let hosts = match &*info.access {
            AccessList::AllowAny => None,
            AccessList::Allow(hosts) => Some(hosts.iter().map(ToString::to_string).collect()),
        };
        NamespaceState {
            nsid: info.nsid.0,
            volume: volume.0,
            uuid: Uuid::from_bytes(info.uuid.0),
            size_bytes: info.size_bytes,
            lba_bytes: info.lba_bytes,
            atomic_write_bytes: info.atomic_write_bytes_max,
            atomic_boundary_bytes: info.atomic_boundary_bytes,
            atomic_announced_bytes: (info.atomic_announced_bytes != info.atomic_write_bytes_max)
                .then_some(info.atomic_announced_bytes),
            write_protected: info.write_protected,
            sanitized: match info.sanitize {
                SanitizeState::Never => None,
                SanitizeState::UnderWay | SanitizeState::Failed => Some(false),
                SanitizeState::Done => Some(true),
            },
            hosts,
        }
    }

    /// As hosts see it until its pool is open; none if no namespace can be so.
    pub fn namespace(&self) -> Option<PoolNamespace> {
        let announced = self.atomic_announced_bytes.unwrap_or(self.atomic_write_bytes);
        let can_be = matches!(self.lba_bytes, 512 | 4096)
            && self.size_bytes >= u64::from(self.lba_bytes)
            && self.size_bytes.is_multiple_of(self.lba_bytes.into())
            && [self.atomic_write_bytes, self.atomic_boundary_bytes]
                .iter()
                .all(|bytes| *bytes >= self.lba_bytes)
            && (self.lba_bytes..=self.atomic_write_bytes).contains(&announced);
        if !can_be {
            return None;
        }
        let info = NamespaceInfo {
            nsid: Nsid(self.nsid),
            uuid: VolumeUuid(self.uuid.into_bytes()),
            size_bytes: self.size_bytes,
            lba_bytes: self.lba_bytes,
            used_bytes: 0,
            atomic_write_bytes_max: self.atomic_write_bytes,
            atomic_boundary_bytes: self.atomic_boundary_bytes,
            atomic_announced_bytes: announced,
            write_protected: self.write_protected,
            is_ready: false,
            sanitize: match self.sanitized {
                None => SanitizeState::Never,
                Some(false) => SanitizeState::UnderWay,
                Some(true) => SanitizeState::Done,
            },
            generation: 0,
            access: self.access()?.into(),
        };
        Some(PoolNamespace { volume: VolumeId(self.volume), info })
    }

    fn access(&self) -> Option<AccessList> {
        let Some(hosts) = &self.hosts else { return Some(AccessList::AllowAny) };
        let hosts = hosts.iter().map(|host| HostNqn::new(host)).collect::<Result<_, _>>().ok();
        hosts
            .filter(|hosts: &std::collections::BTreeSet<_>| hosts.len() <= HOSTS_MAX)
            .map(AccessList::Allow)
    }
}

/// As the node knows the pool.
pub fn pool_uuid(uuid: Uuid) -> PoolUuid {
    PoolUuid(uuid.into_bytes())
}

/// Where the file is.
pub fn file_in(directory: &Path) -> PathBuf {
    directory.join("namespaces.json")
}

/// What is remembered by `node`; nothing, where there is no file.
///
/// # Errors
/// [`ReadError`].
pub fn read(directory: &Path, node: Uuid) -> Result<Namespaces, ReadError> {
    let path = file_in(directory);
    let mut text = Vec::new();
    match File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Namespaces::new()),
        Err(source) => return Err(ReadError::Os { path, source }),
        Ok(_) => {}
    }
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(ReadError::Damaged {
            path,
            why: format!("it has more than {FILE_BYTES_MAX} bytes"),
        });
    }
    let content: Content<Namespaces> = match serde_json::from_slice(&text) {
        Ok(content) => content,
        Err(error) => return Err(ReadError::Damaged { path, why: error.to_string() }),
    };
    check(content, node, path)
}

fn check(content: Content<Namespaces>, node: Uuid, path: PathBuf) -> Result<Namespaces, ReadError> {
    let Content { version, node: of, pools } = content;
    if version != VERSION {
        return Err(ReadError::Version { path, version });
    }
    if of != node {
        return Err(ReadError::OtherNode { path });
    }
    if pools.values().map(Vec::len).sum::<usize>() > NAMESPACES_MAX {
        return Err(ReadError::Damaged {
            path,
            why: format!("it has more than {NAMESPACES_MAX} namespaces"),
        });
    }
    Ok(pools)
}

/// Writes what `node` is to remember.
///
/// # Errors
/// Why the file is as it was.
pub fn write(directory: &Path, node: Uuid, pools: &Namespaces) -> io::Result<()> {
    let content = Content { version: VERSION, node, pools };
    let mut text = serde_json::to_vec_pretty(&content)?;
    text.push(b'\n');
    let namespaces = pools.values().map(Vec::len).sum::<usize>();
    if namespaces > NAMESPACES_MAX || text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("{namespaces} namespaces are too many"),
        ));
    }
    replace(directory, &file_in(directory), &text)
}

#[cfg(test)]
mod tests;
