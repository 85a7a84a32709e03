//! What hosts do with volumes, and pools with drives: how much of it there was, and how long it
//! took.

use std::collections::BTreeSet;
use std::time::Duration;

use ashlar_block::latency::{Activity, Latencies};
use ashlar_block::{DriveUuid, PoolUuid, VolumeUuid};
use ashlar_store::Usage;

use crate::qos::Delays;

/// Of what somebody wants to know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scope {
    /// Pools with their volumes (`tank`), single volumes (`tank/v0`) and drives (`tank/drive-2`,
    /// `nvme1n1`), or the UUIDs of any of them. None: all pools.
    pub names: BTreeSet<String>,
    /// Also of the drives of these pools.
    pub drives: bool,
}

impl Scope {
    /// Whether it has one of these names.
    fn has<const N: usize>(&self, names: impl FnOnce() -> [String; N]) -> bool {
        !self.names.is_empty() && names().iter().any(|name| self.names.contains(name))
    }

    /// Whether the pool is wanted as a whole.
    pub(crate) fn wants_pool(&self, pool: &PoolActivity) -> bool {
        self.names.is_empty() || self.has(|| pool.names())
    }

    /// Whether the volume of a pool is wanted.
    pub(crate) fn wants_volume(&self, pool: &PoolActivity, volume: &VolumeActivity) -> bool {
        pool.is_whole || self.has(|| volume.names(&pool.name))
    }

    /// Whether drives of the pool may be wanted: most often none is.
    pub(crate) fn may_want_drives(&self, pool: &PoolActivity) -> bool {
        (self.drives && pool.is_whole) || !self.names.is_empty()
    }

    /// Whether the drive of a pool is wanted.
    pub(crate) fn wants_drive(&self, pool: &PoolActivity, drive: &DriveActivity) -> bool {
        (self.drives && pool.is_whole) || self.has(|| drive.names(&pool.name))
    }

    /// Names that nothing of what was found has.
    pub fn missing(&self, found: &[PoolActivity]) -> Vec<&str> {
        let all = found.iter().flat_map(PoolActivity::all_names).collect::<BTreeSet<String>>();
        self.names.iter().filter(|name| !all.contains(*name)).map(String::as_str).collect()
    }
}

/// What goes on in an open pool, as far as it is wanted.
#[derive(Clone, Debug)]
pub struct PoolActivity {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: PoolUuid,
    /// It is wanted as a whole, and these are all of its volumes.
    pub is_whole: bool,
    /// Its volumes, by name.
    pub volumes: Vec<VolumeActivity>,
    /// Its drives, by number.
    pub drives: Vec<DriveActivity>,
}

impl PoolActivity {
    fn names(&self) -> [String; 2] {
        [self.name.clone(), self.uuid.to_string()]
    }

    fn all_names(&self) -> Vec<String> {
        let pool = self.is_whole.then(|| self.names());
        let volumes = self.volumes.iter().flat_map(|volume| volume.names(&self.name));
        let drives = self.drives.iter().flat_map(|drive| drive.names(&self.name));
        pool.into_iter().flatten().chain(volumes).chain(drives).collect()
    }
}

/// What hosts do with a volume.
#[derive(Clone, Debug)]
pub struct VolumeActivity {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: VolumeUuid,
    /// What it stores.
    pub usage: Usage,
    /// Commands of hosts, over all reactors.
    pub activity: Activity,
    /// What its limits have held up.
    pub delays: Delays,
}

impl VolumeActivity {
    fn names(&self, pool: &str) -> [String; 2] {
        [format!("{pool}/{}", self.name), self.uuid.to_string()]
    }
}

/// What a pool does with a drive.
#[derive(Clone, Debug)]
pub struct DriveActivity {
    /// Its name within the pool.
    pub name: String,
    /// Its identity as a member.
    pub uuid: DriveUuid,
    /// Where it is.
    pub place: String,
    /// What the kernel calls it.
    pub kernel_name: Option<String>,
    /// Operations since it was opened.
    pub activity: Activity,
    /// For how long at least one of them was under way.
    pub busy: Duration,
}

impl DriveActivity {
    fn names(&self, pool: &str) -> [String; 5] {
        let number = self.name.strip_prefix("drive-").unwrap_or(&self.name);
        [
            format!("{pool}/{}", self.name),
            format!("{pool}/{number}"),
            self.uuid.to_string(),
            self.kernel_name.clone().unwrap_or_default(),
            self.place.clone(),
        ]
    }
}

/// How long operations took, by kind and size, and how many are under way.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Operations that have begun and not ended.
    pub in_flight: u64,
    /// Those that have ended.
    pub ended: Latencies,
}

impl Measured {
    /// Adds what was measured elsewhere.
    pub fn add(&mut self, other: &Measured) {
        self.in_flight += other.in_flight;
        self.ended.add(&other.ended);
    }
}

#[cfg(test)]
mod tests;
