//! What there is to say of pools and volumes.

use std::num::NonZeroU32;
use std::time::Duration;

use ashlar_block::{DriveUuid, PoolUuid, VolumeUuid};
use ashlar_store::{
    Compression, DriveCondition, DriveStatus, Levels, Opened, PoolStatus, Settings, Usage,
};

use crate::door::{AccessList, Nsid};
use crate::drive_provider::DriveFacts;
use crate::error::NodeError;
use crate::qos::{Delays, Resolved, VolumeQos};
use crate::table::ReactorIndex;

/// A drive of an open pool.
#[derive(Clone, Debug)]
pub struct DriveReport {
    /// How the pool sees it.
    pub status: DriveStatus,
    /// What is known of the drive; nothing of one that is not there.
    pub facts: Option<DriveFacts>,
    /// It is there with content that the pool went on without.
    pub is_stale: bool,
}

impl DriveReport {
    /// Its name within the pool: a word.
    pub fn name(&self) -> String {
        format!("drive-{}", self.status.drive.0)
    }

    /// Whether the pool has lost it, and it has not come back.
    pub fn is_lost(&self) -> bool {
        is_lost(&self.status)
    }
}

/// Whether a pool has lost a drive, which has not come back.
pub(crate) fn is_lost(status: &DriveStatus) -> bool {
    matches!(
        status.condition,
        DriveCondition::Failed(_) | DriveCondition::Absent | DriveCondition::Released
    )
}

/// A drive that a pool has open, and that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeldDrive {
    /// How it was named when it was opened.
    pub spec: String,
    /// Its pool.
    pub pool: String,
    /// Its name in the pool.
    pub drive: String,
    /// The pool does without it.
    pub is_lost: bool,
    /// The pool was destroyed, and the drive is being erased.
    pub is_being_erased: bool,
}

impl HeldDrive {
    /// What is said to whoever wants to take the drive, and names it so.
    pub fn refuses(&self, spec: &str) -> NodeError {
        let (spec, pool, drive) = (spec.to_owned(), self.pool.clone(), self.drive.clone());
        if self.is_being_erased {
            NodeError::BeingErased { spec }
        } else if self.is_lost {
            NodeError::LostByPool { spec, drive, pool }
        } else {
            NodeError::DriveOfPool { spec, pool }
        }
    }
}

/// An open pool.
#[derive(Clone, Debug)]
pub struct PoolReport {
    /// Where it lives.
    pub home: ReactorIndex,
    /// How it is.
    pub status: PoolStatus,
    /// What its opening has found.
    pub opened: Opened,
    /// Its drives.
    pub drives: Vec<DriveReport>,
    /// Its volumes, by name.
    pub volumes: Vec<VolumeReport>,
    /// Things to know that are not errors.
    pub notes: Vec<String>,
    /// Drives that are no members and that are open still, as they are named: those that were
    /// removed, until their labels are off.
    pub parting: Vec<String>,
    /// The number of the last occurrence that it knows of.
    pub occurrence: u64,
}

impl PoolReport {
    /// Why the pool takes no new data, if it does not; reads go on.
    pub fn read_only(&self) -> Option<String> {
        read_only(&self.status)
    }

    /// A drive of it is lost with the process, and the pool with that.
    pub fn is_volatile(&self) -> bool {
        self.drives.iter().any(|drive| drive.facts.as_ref().is_some_and(|facts| facts.is_volatile))
    }
}

/// Why a pool takes no new data: it has halted, or fewer drives are left than new data needs for
/// the redundancy of the pool's level.
pub(crate) fn read_only(status: &PoolStatus) -> Option<String> {
    if status.halted.is_some() {
        return status.halted.clone();
    }
    let online =
        status.drives.iter().filter(|drive| drive.condition == DriveCondition::Online).count();
    let needed = status.level.parity() + 1;
    let why = || {
        format!(
            "{online} of {} drives are left, and new data needs {needed} to be safe: reads go on",
            status.drives.len()
        )
    };
    (online < needed).then(why)
}

/// What is wanted of a pool's scrubs, rebalances, trims or proofs of the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// One that begins now, unless one is under way.
    Start,
    /// None that is under way.
    Stop,
}

/// What is to change of an operator's choices for a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SettingsChange {
    /// See [`Settings::recon_prio`].
    pub recon_prio: Option<u8>,
    /// See [`Settings::recon_p99`]. A priority that comes without it takes its place.
    pub recon_p99: Option<Option<Duration>>,
    /// See [`Settings::scrub_prio`].
    pub scrub_prio: Option<u8>,
    /// See [`Settings::scrub_interval`].
    pub scrub_interval: Option<Option<Duration>>,
    /// See [`Settings::fault_threshold`].
    pub fault_threshold: Option<Option<NonZeroU32>>,
    /// See [`Settings::io_timeout`].
    pub io_timeout: Option<Option<Duration>>,
    /// See [`Settings::autotrim`].
    pub autotrim: Option<bool>,
    /// See [`Settings::overcommit`].
    pub overcommit: Option<bool>,
    /// See [`Levels::warn`].
    pub warn: Option<u8>,
    /// See [`Levels::throttle`].
    pub throttle: Option<u8>,
    /// See [`Levels::stop`].
    pub stop: Option<u8>,
}

impl SettingsChange {
    /// The settings after it.
    pub fn of(self, before: Settings) -> Settings {
        // A latency that rebuilds are held to leaves a priority no effect.
        let kept_p99 = if self.recon_prio.is_some() { None } else { before.recon_p99 };
        Settings {
            recon_prio: self.recon_prio.unwrap_or(before.recon_prio),
            recon_p99: self.recon_p99.unwrap_or(kept_p99),
            scrub_prio: self.scrub_prio.unwrap_or(before.scrub_prio),
            scrub_interval: self.scrub_interval.unwrap_or(before.scrub_interval),
            fault_threshold: self.fault_threshold.unwrap_or(before.fault_threshold),
            io_timeout: self.io_timeout.unwrap_or(before.io_timeout),
            autotrim: self.autotrim.unwrap_or(before.autotrim),
            overcommit: self.overcommit.unwrap_or(before.overcommit),
            levels: Levels {
                warn: self.warn.unwrap_or(before.levels.warn),
                throttle: self.throttle.unwrap_or(before.levels.throttle),
                stop: self.stop.unwrap_or(before.levels.stop),
            },
        }
    }
}

/// A volume.
#[derive(Clone, Debug)]
pub struct VolumeReport {
    /// Its pool.
    pub pool: String,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: VolumeUuid,
    /// Its namespace number.
    pub nsid: Nsid,
    /// Its size.
    pub size_bytes: u64,
    /// 512 or 4096.
    pub lba_bytes: u32,
    /// Who may see it.
    pub access: AccessList,
    /// Hosts may not write.
    pub write_protected: bool,
    /// Bytes of the largest write that hosts are told is atomic; 0: they are told of none.
    pub atomic_write_bytes: u32,
    /// Unix seconds.
    pub made_at: u64,
    /// How its blocks are stored from now on.
    pub compression: Compression,
    /// What it stores.
    pub usage: Usage,
    /// Hosts have read or written within the last two seconds.
    pub is_busy: bool,
    /// What an operator has said of what it may take.
    pub qos: VolumeQos,
    /// What counts of that.
    pub policy: Resolved,
    /// What its limits have held up.
    pub delays: Delays,
}

/// What has to be remembered of a pool so that it can be opened again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolRecord {
    /// Its identity.
    pub uuid: PoolUuid,
    /// Its name.
    pub name: String,
    /// How the drives are named that are there, each with its identity.
    pub drives: Vec<(String, DriveUuid)>,
    /// Its members, those that are not there as well.
    pub members: Vec<DriveUuid>,
    /// A drive of it is lost with the process.
    pub is_volatile: bool,
}

#[cfg(test)]
mod tests;
