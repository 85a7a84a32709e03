//! The door: what a front end may ask of volumes, and nothing else.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use ashlar_block::latency::{Histogram, Meter, OpKind};
use ashlar_block::{AlignedBuf, IoError, Nanos, VolumeUuid};
use bytes::Bytes;

/// A host's NVMe Qualified Name: at most 223 bytes of printable UTF-8 that begin with `nqn.` (NVM
/// Express Base Specification 2.1, section 4.7).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostNqn(String);

/// Why a text is not an NQN.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "'{0}' is not an NVMe qualified name: it must begin with 'nqn.' and have at most 223 characters"
)]
pub struct InvalidNqn(String);

impl HostNqn {
    /// Longest name, in bytes.
    pub const BYTES_MAX: usize = 223;

    /// The name, if it is one.
    pub fn new(name: &str) -> Result<Self, InvalidNqn> {
        let valid = name.starts_with("nqn.")
            && (5..=Self::BYTES_MAX).contains(&name.len())
            && !name.chars().any(|c| c.is_control() || c.is_whitespace());
        if valid {
            Ok(HostNqn(name.to_owned()))
        } else {
            Err(InvalidNqn(name.escape_default().to_string()))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostNqn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Which hosts may see a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccessList {
    /// Every host.
    AllowAny,
    /// These; none if empty.
    Allow(BTreeSet<HostNqn>),
}

impl AccessList {
    /// Whether `host` may see the volume.
    pub fn allows(&self, host: &HostNqn) -> bool {
        match self {
            AccessList::AllowAny => true,
            AccessList::Allow(hosts) => hosts.contains(host),
        }
    }
}

/// A namespace's number within the subsystem: what a host puts into its commands. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Nsid(pub u32);

/// A volume as hosts see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamespaceInfo {
    /// Its number. Stable for the volume's life, also over restarts.
    pub nsid: Nsid,
    /// Its identity for ever.
    pub uuid: VolumeUuid,
    /// Size that hosts see.
    pub size_bytes: u64,
    /// 512 or 4096.
    pub lba_bytes: u32,
    /// Blocks that hold data, in bytes: what NUSE reports.
    pub used_bytes: u64,
    /// Largest write that is atomic, also over a power cut, if it does not cross
    /// `atomic_boundary_bytes`.
    pub atomic_write_bytes_max: u32,
    /// See `atomic_write_bytes_max`.
    pub atomic_boundary_bytes: u32,
    /// What of `atomic_write_bytes_max` hosts are told, by an operator's choice. At least a sector.
    pub atomic_announced_bytes: u32,
    /// Hosts may not write.
    pub write_protected: bool,
    /// Its pool is open. One that is not ready keeps its place among the host's namespaces, and its
    /// volume answers [`ashlar_block::Cause::NotReady`].
    pub is_ready: bool,
    /// How far the last sanitize of it is.
    pub sanitize: SanitizeState,
    /// Changes with every change of this record: lets a front end tell what to report.
    pub generation: u64,
    /// Who may see it. Shared: a host may ask for a thousand namespaces at once.
    pub access: Arc<AccessList>,
}

/// The subsystem that all namespaces of a node belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubsystemInfo {
    /// Its NQN.
    pub nqn: String,
    /// Serial number: at most 20 ASCII characters, the same for the life of the node.
    pub serial: String,
    /// Model: at most 40 ASCII characters.
    pub model: String,
    /// Firmware revision: at most 8 ASCII characters.
    pub firmware: String,
}

/// Figures for SMART logs, over the pools of a host's volumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HealthFigures {
    /// Space that new data may still take, in percent of what there is.
    pub spare_percent: u8,
    /// Below this, `spare_percent` is a warning.
    pub spare_threshold_percent: u8,
    /// A pool runs with fewer drives than it has members.
    pub degraded: bool,
    /// A pool takes no writes, or no new data because it is full.
    pub read_only: bool,
    /// Blocks that could not be read right from any drive, since the daemon started.
    pub media_errors: u64,
    /// Starts that found no clean shutdown before them.
    pub unsafe_shutdowns: u64,
    /// Starts.
    pub power_cycles: u64,
    /// What there is to say of room.
    pub space: SpaceFigures,
    /// How the drives are.
    pub drives: DrivesHealth,
}

/// How the drives of pools are, as they say themselves: the worst of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DrivesHealth {
    /// What it has spent of its life, in percent; 0 if none says so.
    pub used_percent: u8,
    /// Of the hottest, in degrees Celsius.
    pub celsius: Option<i16>,
}

impl DrivesHealth {
    /// That of these drives and of others.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        DrivesHealth {
            used_percent: self.used_percent.max(other.used_percent),
            celsius: self.celsius.max(other.celsius),
        }
    }
}

/// Figures of the room of pools, and of what was done there, since they were opened if nothing else
/// is said. In bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpaceFigures {
    /// What holds data: after redundancy, over-provisioning and reserve.
    pub provisioned: u64,
    /// What of it lives.
    pub live: u64,
    /// What can surely be stored now.
    pub safe_to_write: u64,
    /// What volumes may be promised.
    pub formatted: u64,
    /// What hosts have written and is there.
    pub written: u64,
    /// What that takes after compression.
    pub stored: u64,
    /// What hosts have read, since pools were opened.
    pub host_read: u64,
    /// What hosts have written, since pools were made.
    pub host_written: u64,
    /// What drives have been given, since pools were made.
    pub drives_written: u64,
    /// New data is refused.
    pub is_full: bool,
    /// Blocks that were wrong or not readable, and that parity has restored.
    pub blocks_restored: u64,
    /// Blocks that drives gave wrong.
    pub blocks_wrong: u64,
    /// Reads that drives refused.
    pub reads_refused: u64,
    /// Drives that were given up.
    pub drives_failed: u64,
}

impl std::ops::AddAssign for SpaceFigures {
    fn add_assign(&mut self, more: Self) {
        self.provisioned += more.provisioned;
        self.live += more.live;
        self.safe_to_write += more.safe_to_write;
        self.formatted += more.formatted;
        self.written += more.written;
        self.stored += more.stored;
        self.host_read += more.host_read;
        self.host_written += more.host_written;
        self.drives_written += more.drives_written;
        self.is_full |= more.is_full;
        self.blocks_restored += more.blocks_restored;
        self.blocks_wrong += more.blocks_wrong;
        self.reads_refused += more.reads_refused;
        self.drives_failed += more.drives_failed;
    }
}

/// What NVMe's Format asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatRequest {
    /// 512 or 4096.
    pub lba_bytes: u32,
    /// Also over a crash nothing of what it held is ever read again once this has begun, and what
    /// was counted of it begins anew.
    pub is_erase: bool,
}

/// How far NVMe's Sanitize of a volume is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SanitizeState {
    /// There was none.
    #[default]
    Never,
    /// It goes on, and nobody reads or writes.
    UnderWay,
    /// It has failed, and nobody reads or writes.
    Failed,
    /// It is done.
    Done,
}

/// All of what a sanitize has to do, as its progress counts it.
pub const SANITIZE_WHOLE: u16 = u16::MAX;

/// One volume. Offsets and lengths are in bytes and multiples of the namespace's `lba_bytes`; the
/// front end has checked nothing else. A method that has returned `Ok` has done what it says
/// durably.
///
/// What each has in memory is said beside it, for front ends that reckon with it: in buffers,
/// beside the data that it is given and what it returns, and beside what the store itself keeps.
/// *Its blocks* are the blocks of 4 KiB that its range touches.
pub trait VolumeIo: Clone + 'static {
    /// Whom the front end tells what each command of a host took. `None`: nobody counts it.
    fn meter(&self) -> Option<&Rc<Meter>> {
        None
    }

    /// Lets a command of a host begin, if nothing holds it up: whether it may. A front end asks
    /// before the command takes memory or data of its host, and then, where it may not,
    /// [`VolumeIo::admit`].
    fn try_admit(&self, kind: OpKind, bytes: u64) -> bool {
        let _ = (kind, bytes);
        true
    }

    /// The same for a command that its host first sent at `since`, and returns once it may begin:
    /// in the order of these times. Whoever drops this has asked for nothing.
    fn admit(&self, kind: OpKind, bytes: u64, since: Nanos) -> impl Future<Output = ()> {
        let _ = (kind, bytes, since);
        std::future::ready(())
    }

    /// Whether a command has to wait for its turn among those of other volumes before it takes
    /// memory or data of its host. Others wait for it, if at all, once they are called.
    fn needs_turn(&self, kind: OpKind, bytes: u64) -> bool {
        let _ = (kind, bytes);
        false
    }

    /// Returns once the turn of a command has come. It is that of the next command that is called
    /// on this, not on a clone. Whoever drops this has waited for nothing.
    fn take_turn(&self, kind: OpKind, bytes: u64) -> impl Future<Output = ()> {
        let _ = (kind, bytes);
        std::future::ready(())
    }

    /// Hands over the turn that has come, to the same volume as it was looked up anew.
    fn hand_turn_to(&self, now: &Self) {
        let _ = now;
    }

    /// The bytes at `offset`; what was never written or is deallocated reads as zeros. Memory:
    /// none, but what it returns is a buffer of its blocks.
    fn read(&self, offset: u64, bytes: usize) -> impl Future<Output = Result<AlignedBuf, IoError>>;
    /// Stores `data` at `offset`. On stable media, redundancy included, before it returns. Memory:
    /// its blocks and one more, if it touches one in part.
    fn write(&self, offset: u64, data: Bytes) -> impl Future<Output = Result<(), IoError>>;
    /// Makes the range read as zeros. Takes no space for it. Memory: a block, if it touches one in
    /// part.
    fn write_zeroes(&self, offset: u64, bytes: u64) -> impl Future<Output = Result<(), IoError>>;
    /// Gives the space of `range` (bytes) back where whole blocks allow; they then read as zeros.
    fn deallocate(&self, range: Range<u64>) -> impl Future<Output = Result<(), IoError>>;
    /// [`ashlar_block::Cause::Miscompare`] unless the bytes at `offset` are `expected`. Memory: its
    /// blocks.
    fn compare(&self, offset: u64, expected: Bytes) -> impl Future<Output = Result<(), IoError>>;
    /// Writes `data` if the bytes at `offset` are `expected`, with no other write in between.
    /// Memory: its blocks.
    fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        data: Bytes,
    ) -> impl Future<Output = Result<(), IoError>>;
    /// Reads and checks the range without returning it. Memory: its blocks, at most 1 MiB of them
    /// at a time.
    fn verify(&self, offset: u64, bytes: u64) -> impl Future<Output = Result<(), IoError>>;
    /// Everything acknowledged is durable already; returns once what was admitted before it is
    /// answered.
    fn flush(&self) -> impl Future<Output = Result<(), IoError>>;
}

/// All volumes of a node, as one reactor sees them. Cheap to clone; stays on its reactor.
pub trait Door: Clone + 'static {
    /// A volume that has been opened.
    type Volume: VolumeIo;

    /// The subsystem's identity.
    fn subsystem(&self) -> SubsystemInfo;

    /// Counts up with every change that any host could see.
    fn generation(&self) -> u64;

    /// Returns once [`Door::generation`] is no longer `seen`. Any number of tasks may wait.
    fn changed(&self, seen: u64) -> impl Future<Output = ()>;

    /// The namespaces that `host` may see, in order of their numbers.
    fn namespaces(&self, host: &HostNqn) -> Vec<NamespaceInfo>;

    /// Calls `with` for one namespace that `host` may see, without copying it.
    fn with_namespace<T>(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        with: impl FnOnce(&NamespaceInfo, &Self::Volume) -> T,
    ) -> Option<T>;

    /// Figures for the SMART log that `host` sees: those of the pools that it has volumes in.
    fn health(&self, host: &HostNqn) -> HealthFigures;

    /// How long commands of that kind took, over all reactors: those for the namespaces that `host`
    /// may see, or for one of them.
    fn latency(
        &self,
        host: &HostNqn,
        nsid: Option<Nsid>,
        kind: OpKind,
    ) -> impl Future<Output = Histogram> {
        let _ = (host, nsid, kind);
        std::future::ready(Histogram::default())
    }

    /// Formats a namespace: its content is gone and its sector size may change.
    fn format(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        request: FormatRequest,
    ) -> impl Future<Output = Result<(), IoError>>;

    /// Erases all namespaces that `host` sees, which nobody else may see, at once: nobody reads or
    /// writes any of them before all are erased. `progress` is told how far that is, of
    /// [`SANITIZE_WHOLE`]; the first time once it has begun, which a start would go on with.
    ///
    /// # Errors
    /// Before `progress` was told anything: all is as it was. Afterwards: the namespaces concerned
    /// are [`SanitizeState::Failed`].
    fn sanitize(
        &self,
        host: &HostNqn,
        progress: impl FnMut(u16),
    ) -> impl Future<Output = Result<(), IoError>> {
        let _ = (host, progress);
        std::future::ready(Err(ashlar_block::Cause::WriteProtected.into()))
    }

    /// Lets `host` read and write what a sanitize has failed to erase.
    fn exit_sanitize_failure(&self, host: &HostNqn) -> impl Future<Output = Result<(), IoError>> {
        let _ = host;
        std::future::ready(Ok(()))
    }

    /// Sets or clears NVMe write protection of a namespace, durably.
    fn set_write_protected(
        &self,
        host: &HostNqn,
        nsid: Nsid,
        protected: bool,
    ) -> impl Future<Output = Result<(), IoError>>;
}
