//! What goes over the wire. `docs/api.md` has the rule for its names, and a test holds each name to
//! it: a name says its unit, null is what is not known or does not apply, and no name of an answer
//! is ever left out.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

mod accounts;
mod alerts;
mod audit;
mod drives;
mod erase;
mod events;
mod health;
mod hosts;
mod importable;
mod iostat;
mod jobs;
mod moves;
mod plans;
mod pool_parts;
mod pools;
mod process;
mod qos;
mod receivers;
mod scrub;
mod trim;
mod verify;
mod words;

pub use accounts::{AddKey, CreateToken, Key, NewToken, Session, Token};
pub use alerts::Alert;
pub use audit::{AuditEntry, Deed};
pub use drives::{
    DriveLight, FailDrive, LocateDrive, NameDrive, NameSpare, RemoveDrive, ReplaceDrive,
    ReturnDrive, Spare,
};
pub use erase::DriveErase;
pub use events::{Event, Happening, Severity};
pub use health::{DriveHealth, DriveWarning};
pub use hosts::{CommandCounts, HostFigures, NameHosts};
pub use importable::{FindDrives, FindPools, ImportablePool};
pub use iostat::{
    IoCounts, IoScope, IoStat, IoStatDrive, IoStatPool, IoStatVolume, KindLatency, Latency,
    LatencyFigures, SizedLatency,
};
pub use jobs::{Job, JobKind};
pub use moves::DataMove;
pub use plans::{DrivePlan, PlanDrive, PoolPlan};
pub use pool_parts::{
    AfterLoss, Obstacle, PoolCounters, PoolJobs, PoolSettings, PoolSpace, PoolSteps, Progress,
    StepCounts,
};
pub use pools::{ImportPool, RenamePool, SetCapacity};
pub use process::{ProcessFigures, ReactorFigures, ThreadFigures};
pub use qos::{
    ChangePolicy, ChooseDefaultPolicy, CreatePolicy, QosLimits, QosPolicy, SetLimits, VolumeQos,
};
pub use receivers::{Receiver, ReceiverTest};
pub use scrub::{SCRUB_INTERVAL_SECONDS_MAX, Scrub, ScrubbedDrive};
pub use trim::Trim;
pub use verify::{VerifiedFigure, Verify};
pub use words::{DRIVE_STATES, POOL_STATES};

/// The daemon's version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// Of Ashlar.
    pub version: String,
    /// Of this API.
    pub api: String,
}

/// Everything at a glance.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// Of Ashlar.
    pub version: String,
    /// The daemon's process.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_seconds: u64,
    /// Reactors that serve.
    pub reactors: usize,
    /// The NQN that hosts connect to.
    pub subsystem_nqn: String,
    /// The subsystem's serial number.
    pub serial: String,
    /// Where it listens.
    pub portals: Vec<Portal>,
    /// Controllers that hosts have now.
    pub hosts_connected: usize,
    /// Controllers that hosts have made since the daemon started.
    pub host_connects: u64,
    /// Controllers of hosts that have ended since then.
    pub host_disconnects: u64,
    /// What the daemon cannot remember over its next start: each with the reason, what that means,
    /// and the way out.
    pub warnings: Vec<String>,
    /// What is not well now, the worst first. Empty: all is well.
    pub alerts: Vec<Alert>,
    /// All pools, those that could not be opened included.
    pub pools: Vec<Pool>,
    /// All volumes.
    pub volumes: Vec<Volume>,
}

/// An address to connect to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Portal {
    /// `tcp`.
    pub transport: String,
    /// IP address.
    pub address: String,
    /// TCP port.
    pub port: u16,
    /// `io` (volumes and discovery) or `discovery`.
    pub kind: String,
}

/// A pool. What is known of it while it is open is null as a whole while it is `opening` or
/// `unavailable`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// 0, 1, 1x3, 5, 6, 7.3 or N+M.
    pub level: Option<String>,
    /// How it is: `online`, `degraded` (something lacks redundancy that a lost drive held) with
    /// `rebuilding` (that is being restored) or `need-rebuild` (it is not:
    /// `jobs.rebuild.obstacle` or `problem` says why), `rebalancing`, `scrubbing`, `trimming`
    /// (the drives are told which space is free, by request), `evacuating` (what lives on a drive
    /// that is to be removed goes to others), `reduced` (all is safe, on fewer drives than it
    /// had), `read-only`, `taken` (by another machine that reaches its drives), `uncertain` (too
    /// few drives say now whose it is: reads and writes wait), `nearly-full` (what may live is
    /// used to `settings.warn_percent`), `throttled` (to `settings.throttle_percent`: hosts write
    /// slower), `short-for-loss` (if one more drive were lost, new data would be refused for lack
    /// of room: see `space.after_loss`), `full` (writes were refused for lack of room, and would
    /// be still), `out-of-room` (the file system under a file-backed drive is full: writes are
    /// refused), `opening` (its drives are looked for or read), `unavailable`, `volatile`.
    pub states: Vec<String>,
    /// Why it is read-only, taken, uncertain or unavailable, or what its opening waits for.
    pub problem: Option<String>,
    /// Things to know that are not errors.
    pub notes: Vec<String>,
    /// Its room. Null: it is not open.
    pub space: Option<PoolSpace>,
    /// What an operator has chosen for it. Null: it is not open.
    pub settings: Option<PoolSettings>,
    /// What has happened since it was opened. Null: it is not open.
    pub counters: Option<PoolCounters>,
    /// What is done in the background. Null: it is not open.
    pub jobs: Option<PoolJobs>,
    /// Its members.
    pub drives: Vec<PoolDrive>,
    /// Drives that the pool takes for those that it loses, in their order.
    pub spares: Vec<Spare>,
    /// Drives that are no members and that the daemon has open still, as they are named: those that
    /// were removed, for a moment.
    pub parting: Vec<String>,
}

/// A member of a pool.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolDrive {
    /// Its name within the pool.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// Its identity as a member.
    pub uuid: String,
    /// Where it is, or was last: by a name that outlives restarts, if udev gives it one.
    pub spec: Option<String>,
    /// That name, below `/dev/disk/by-id`. Null: it has none.
    pub by_id: Option<String>,
    /// What the kernel calls it now, as `nvme1n1`. Null: it is no block device, or not there.
    pub kernel_name: Option<String>,
    /// `file`, `block device`, `memory`.
    pub kind: Option<String>,
    /// How it is: `online`, `failed`, `absent`, `returned` (it came back under the name in
    /// `problem`, and what it missed is being restored), `released` (lost, and all that lived on it
    /// is on others), `evacuating` (what lives on it goes to others, then it leaves the pool),
    /// `slow` (it answers much later than the others of its pool, and most reads are
    /// reconstructed from those), `stale` (it is there, and not believed, because the pool went on
    /// without it), `sparse` (a file without all its room on the file system), `unknown` (its pool
    /// is not open).
    pub states: Vec<String>,
    /// Why it failed (kept until the pool is opened anew), under which name it returned, or what is
    /// in its place.
    pub problem: Option<String>,
    /// Where it is back, and why the pool refuses it. Null: it is not there, or is not to come back
    /// by itself.
    pub return_refused: Option<String>,
    /// Its size. Null: it is not there.
    pub size_bytes: Option<u64>,
    /// Room that the pool does not use, because the drive has become larger: `pool grow` takes it.
    /// Null: its pool is not open.
    pub unused_bytes: Option<u64>,
    /// Reads that it refused. Null: its pool is not open.
    pub read_errors: Option<u64>,
    /// Reads that it answered with wrong bytes. Null: its pool is not open.
    pub wrong_answers: Option<u64>,
    /// The device's model.
    pub model: Option<String>,
    /// The device's serial number.
    pub serial: Option<String>,
    /// The slot that it is in, or was last. Null: the kernel knows none whose light it can switch.
    pub slot: Option<String>,
    /// What it says of its health.
    pub health: DriveHealth,
}

/// What a drive is and holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DriveInfo {
    /// How it was named.
    pub spec: String,
    /// `file`, `block device`, `memory`.
    pub kind: String,
    /// Its size.
    pub size_bytes: u64,
    /// What it holds, in words; `nothing` if it is blank.
    pub content: String,
    /// One of `blank`, `member`, `damaged` and `foreign`.
    pub states: Vec<String>,
    /// The pool that it is a member of.
    pub pool: Option<String>,
    /// That pool's identity.
    pub pool_uuid: Option<String>,
    /// The device's model.
    pub model: Option<String>,
    /// The device's serial number.
    pub serial: Option<String>,
    /// The slot that it is in. Null: the kernel knows none whose light it can switch.
    pub slot: Option<String>,
    /// What it says of its health, where it is asked.
    pub health: DriveHealth,
}

/// A volume and its figures.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// Its identity, which hosts see.
    pub uuid: String,
    /// Its namespace number.
    pub nsid: u32,
    /// The size that hosts see.
    pub size_bytes: u64,
    /// The sectors that hosts see.
    pub lba_bytes: u32,
    /// Blocks that hold data.
    pub logical_used_bytes: u64,
    /// What they take after compression, before redundancy.
    pub physical_used_bytes: u64,
    /// The rest of its size: it was never written, was trimmed or is zeros, and takes no room.
    pub zero_bytes: u64,
    /// The one over the other. Null: nothing is stored.
    pub compression_ratio: Option<f64>,
    /// Who may see it.
    pub access: Access,
    /// How blocks are stored from now on: `none`, `lz4`, `zstd:1` to `zstd:19`, or `auto`.
    pub compression: String,
    /// Hosts may not write.
    pub write_protected: bool,
    /// The largest write that hosts are told is atomic; 0: they are told of none.
    pub atomic_write_bytes: u64,
    /// What it may take of its pool.
    pub qos: VolumeQos,
    /// When it was made: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub created_at: String,
}

/// Who may see a volume.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Access {
    /// Every host.
    pub allow_any: bool,
    /// These hosts.
    pub hosts: Vec<String>,
}

/// A host's controller.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// The host's name.
    pub nqn: String,
    /// The host's identifier, as a UUID.
    pub host_id: String,
    /// Where it comes from.
    pub address: String,
    /// I/O queues that are connected.
    pub io_queues: u16,
    /// I/O queues that it may connect: what it has asked for, as far as it was granted.
    pub io_queues_max: u16,
    /// Reads that this controller was answered.
    pub reads: CommandCounts,
    /// Writes.
    pub writes: CommandCounts,
    /// Dataset Management that deallocates, and Write Zeroes.
    pub trims: CommandCounts,
    /// When it connected: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub connected_at: String,
    /// The controller's number.
    pub controller_id: u16,
    /// `io` or `discovery`.
    pub kind: String,
}

/// A pool to be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePool {
    /// Its name.
    pub name: String,
    /// 0, 1, 1x3, 5, 6, 7.3 or N+M. Of groups, 10, 50, 60 and 70, it becomes 1, 5, 6 and 7.3, and
    /// `notes` of the answer say why.
    pub level: String,
    /// Its drives.
    pub drives: Vec<String>,
    /// Take drives that hold something: it is lost.
    #[serde(default)]
    pub force: bool,
    /// A power of two; chosen by the drives' size if not given.
    #[serde(default)]
    pub chunk_bytes: Option<u32>,
    /// Volumes may be promised more than is formatted.
    #[serde(default)]
    pub overcommit: bool,
}

/// A volume to be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateVolume {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub name: String,
    /// Its size, a multiple of 4096.
    pub size_bytes: u64,
    /// 512 or 4096.
    #[serde(default = "four_kib")]
    pub lba_bytes: u32,
    /// `none`, `lz4`, `zstd`, `zstd:1` to `zstd:19`, or `auto`.
    #[serde(default = "auto")]
    pub compression: String,
    /// `any`, `none`, or host NQNs.
    #[serde(default)]
    pub allow: Vec<String>,
}

fn four_kib() -> u32 {
    4096
}

fn auto() -> String {
    "auto".to_owned()
}

/// What is to change of an operator's choices for a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePool {
    /// Part of the time that the rebuild of lost drives may have, in percent: 1 to 100. Without
    /// `recon_p99_us` it takes the place of one that was set before.
    #[serde(default)]
    pub recon_prio_percent: Option<u8>,
    /// Instead of that, the time within which 99 of 100 answers to hosts are to come while there is
    /// a rebuild, in microseconds, up to a minute; 0: `recon_prio_percent` counts.
    #[serde(default)]
    pub recon_p99_us: Option<u64>,
    /// Part of the time that scrubs may have, in percent: 1 to 100.
    #[serde(default)]
    pub scrub_prio_percent: Option<u8>,
    /// Seconds from the end of one scrub to the next, up to 3650 days; 0: only on demand.
    #[serde(default)]
    pub scrub_interval_seconds: Option<u64>,
    /// Refused reads and wrong answers of a drive within ten minutes for which it is given up,
    /// where redundancy allows; 0: never.
    #[serde(default)]
    pub fault_threshold: Option<u32>,
    /// Seconds for which a drive may give no answer at all before it is given up, where redundancy
    /// allows, from two seconds to an hour; 0: for ever.
    #[serde(default)]
    pub io_timeout_seconds: Option<u64>,
    /// Whether drives are told of space as it becomes free.
    #[serde(default)]
    pub autotrim: Option<bool>,
    /// Whether volumes may be promised more than is formatted.
    #[serde(default)]
    pub overcommit: Option<bool>,
    /// How far what may live is used, in percent, when the pool is `nearly-full`: 1 to 100, and not
    /// above `stop_percent`.
    #[serde(default)]
    pub warn_percent: Option<u8>,
    /// The same when hosts begin to write slower.
    #[serde(default)]
    pub throttle_percent: Option<u8>,
    /// The same when new data is refused.
    #[serde(default)]
    pub stop_percent: Option<u8>,
}

/// What is to change of a volume.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeVolume {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new size.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Whether hosts may not write; what a host has set by Namespace Write Protection, too.
    #[serde(default)]
    pub write_protected: Option<bool>,
    /// How its blocks are stored from now on: `none`, `lz4`, `zstd`, `zstd:1` to `zstd:19`, or
    /// `auto`.
    #[serde(default)]
    pub compression: Option<String>,
    /// The largest write that hosts are told is atomic: a power of two from 4096 to 262144, and not
    /// more than the pool writes as one; 0: they are told of none.
    #[serde(default)]
    pub atomic_write_bytes: Option<u64>,
    /// The policy of its pool that counts for it; `none`: it is not limited; `default`: what counts
    /// for volumes of which nothing is said.
    #[serde(default)]
    pub qos: Option<String>,
}

#[cfg(test)]
mod tests;
