//! The namespaces of a node: which there are, who may see them, on which reactor they live. Shared
//! by all reactors, and locked only where something changes.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ashlar_block::{Notify, PoolUuid, VolumeId, wait_for};

use crate::door::{
    DrivesHealth, HealthFigures, HostNqn, NamespaceInfo, Nsid, SpaceFigures, SubsystemInfo,
};
use crate::error::NodeError;
use crate::occurrences::Occurrences;
use crate::qos::throttle::Throttle;

mod not_open;

pub use not_open::PoolNamespace;

/// A reactor's number within its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReactorIndex(pub usize);

/// Where a volume lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The reactor of its pool.
    pub home: ReactorIndex,
    /// Its pool.
    pub pool: PoolUuid,
    /// Its number in the pool.
    pub volume: VolumeId,
}

/// A namespace and the volume behind it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub info: NamespaceInfo,
    pub place: Place,
    /// Bytes that hold data, as the volume's reactor last said.
    pub used_bytes: Arc<AtomicU64>,
    /// What it is limited to.
    pub throttle: Arc<Throttle>,
    /// Whether its pool has several volumes in use, so that commands wait for their turn.
    pub is_shared: Arc<AtomicBool>,
}

pub(crate) type Rows = BTreeMap<Nsid, Row>;

/// What of [`HealthFigures`] a pool has a part in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PoolHealth {
    /// What may be written still, in percent of what may live.
    pub spare_percent: u8,
    /// Below that the pool warns.
    pub spare_threshold_percent: u8,
    pub degraded: bool,
    /// It takes no writes, or no new data because it is full.
    pub read_only: bool,
    pub media_errors: u64,
    pub unsafe_shutdowns: u64,
    pub space: SpaceFigures,
}

/// The namespace table of a node. One per node, shared by its reactors.
pub struct Table {
    subsystem: SubsystemInfo,
    generation: AtomicU64,
    changed: Notify,
    /// What happens in the pools.
    occurrences: Occurrences,
    inner: Mutex<Inner>,
}

struct Inner {
    rows: Arc<Rows>,
    /// Pools that are open: those of rows that are ready, and those that have none.
    open: BTreeSet<PoolUuid>,
    /// Numbers that volumes of open pools have, those that are still being made included.
    claimed: BTreeSet<Nsid>,
    /// The highest number that was ever given out.
    nsid_high: u32,
    /// Numbers below that which no host has ever seen.
    unseen: BTreeSet<Nsid>,
    health: BTreeMap<PoolUuid, PoolHealth>,
    /// What the drives of pools have said.
    drives: BTreeMap<PoolUuid, DrivesHealth>,
    power_cycles: u64,
}

/// The highest number that a namespace can have: the next one means all of them.
const NSID_MAX: u32 = u32::MAX - 1;

impl Table {
    /// A table without namespaces. Numbers up to `nsid_high` are not given to new volumes; the
    /// daemon has been started `power_cycles` times.
    pub fn new(subsystem: SubsystemInfo, nsid_high: u32, power_cycles: u64) -> Arc<Self> {
        let inner = Inner {
            rows: Arc::default(),
            open: BTreeSet::new(),
            claimed: BTreeSet::new(),
            nsid_high,
            unseen: BTreeSet::new(),
            health: BTreeMap::new(),
            drives: BTreeMap::new(),
            power_cycles,
        };
        let generation = AtomicU64::new(1);
        Arc::new(Table {
            subsystem,
            generation,
            changed: Notify::new(),
            occurrences: Occurrences::default(),
            inner: Mutex::new(inner),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder of the lock panics")
    }

    pub(crate) fn subsystem(&self) -> &SubsystemInfo {
        &self.subsystem
    }

    /// What happens in the pools of the node.
    pub fn occurrences(&self) -> &Occurrences {
        &self.occurrences
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The rows, and the generation that they are of.
    pub(crate) fn rows(&self) -> (u64, Arc<Rows>) {
        let inner = self.inner();
        (self.generation(), inner.rows.clone())
    }

    /// Returns once there have been more changes than those that `seen` counts.
    pub fn changed(&self, seen: u64) -> impl Future<Output = ()> {
        wait_for(&self.changed, move || (self.generation() != seen).then_some(()))
    }

    /// Changes the rows and tells everybody.
    fn change(&self, change: impl FnOnce(&mut Inner, u64)) {
        let mut inner = self.inner();
        let generation = self.generation() + 1;
        change(&mut inner, generation);
        self.generation.store(generation, Ordering::Release);
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Adds rows or replaces those of their numbers.
    pub(crate) fn put(&self, rows: impl IntoIterator<Item = Row>) {
        // Outside of the lock: what makes them is the work of a pool.
        let rows: Vec<Row> = rows.into_iter().collect();
        self.change(|inner, generation| insert(inner.rows_mut(), rows, generation));
    }

    /// A pool is open: puts its namespaces in the place of those that it had.
    pub(crate) fn put_pool(&self, pool: PoolUuid, rows: impl IntoIterator<Item = Row>) {
        let rows: Vec<Row> = rows.into_iter().collect();
        self.change(|inner, generation| {
            inner.open.insert(pool);
            inner.remove_pool(pool);
            insert(inner.rows_mut(), rows, generation);
        });
    }

    /// Takes a namespace away. Its number stays claimed.
    pub(crate) fn remove(&self, nsid: Nsid) {
        self.change(|inner, _| drop(inner.rows_mut().remove(&nsid)));
    }

    /// Takes a pool's namespaces and its health away. The numbers stay claimed.
    pub fn remove_pool(&self, pool: PoolUuid) {
        self.change(|inner, _| {
            inner.open.remove(&pool);
            inner.remove_pool(pool);
            inner.health.remove(&pool);
        });
    }

    /// A number that no host has ever seen, for a volume that is to be made.
    ///
    /// # Errors
    /// [`NodeError::NoNumber`].
    pub fn claim_new(&self) -> Result<Nsid, NodeError> {
        self.inner().claim(None)
    }

    /// A number for a volume of `pool` that no other volume has, nor one of a pool that is not
    /// open: `wanted` if it is free, else one that no host has ever seen.
    ///
    /// # Errors
    /// [`NodeError::NoNumber`].
    pub(crate) fn claim_for(&self, pool: PoolUuid, wanted: Nsid) -> Result<Nsid, NodeError> {
        let mut inner = self.inner();
        let is_of_another = inner.rows.get(&wanted).is_some_and(|row| row.place.pool != pool);
        let is_free = !is_of_another && !inner.claimed.contains(&wanted);
        inner.claim(is_free.then_some(wanted))
    }

    /// Lets go of a number whose volume is gone, or was not made.
    pub fn release(&self, nsid: Nsid) {
        self.inner().claimed.remove(&nsid);
    }

    /// Takes a number back whose volume was not made: no host has seen it, and the next volume gets
    /// it.
    pub fn take_back(&self, nsid: Nsid) {
        let mut inner = self.inner();
        inner.claimed.remove(&nsid);
        inner.unseen.insert(nsid);
        let mut high = inner.nsid_high;
        while inner.unseen.remove(&Nsid(high)) {
            high -= 1;
        }
        inner.nsid_high = high;
    }

    /// The highest number that was ever given out.
    pub fn nsid_high(&self) -> u32 {
        self.inner().nsid_high
    }

    pub(crate) fn set_health(&self, pool: PoolUuid, figures: PoolHealth) {
        self.inner().health.insert(pool, figures);
    }

    /// A pool that is not open has no part in the figures.
    pub(crate) fn remove_health(&self, pool: PoolUuid) {
        let mut inner = self.inner();
        inner.health.remove(&pool);
        inner.drives.remove(&pool);
    }

    /// What the drives of a pool say of themselves.
    pub fn set_drives_health(&self, pool: PoolUuid, drives: DrivesHealth) {
        self.inner().drives.insert(pool, drives);
    }

    /// Figures over the pools that `host` has volumes in: the spare that is closest to its
    /// threshold, or furthest below it; the sum of what is counted.
    pub(crate) fn health(&self, host: &HostNqn) -> HealthFigures {
        let (_, rows) = self.rows();
        let visible = rows.values().filter(|row| row.info.access.allows(host));
        let pools: BTreeSet<PoolUuid> = visible.map(|row| row.place.pool).collect();
        let inner = self.inner();
        let none = HealthFigures {
            spare_percent: 100,
            power_cycles: inner.power_cycles,
            spare_threshold_percent: SPARE_THRESHOLD_PERCENT,
            ..HealthFigures::default()
        };
        let open = || pools.iter().filter(|pool| inner.health.contains_key(pool));
        let figures = open().filter_map(|pool| inner.health.get(pool)).fold(none, with_pool);
        let drives = open().filter_map(|pool| inner.drives.get(pool)).copied();
        HealthFigures { drives: drives.fold(figures.drives, DrivesHealth::worst), ..figures }
    }
}

impl Inner {
    fn rows_mut(&mut self) -> &mut Rows {
        Arc::make_mut(&mut self.rows)
    }

    fn remove_pool(&mut self, pool: PoolUuid) {
        self.rows_mut().retain(|_, row| row.place.pool != pool);
    }

    /// That number, which is free, or one that no host has ever seen.
    fn claim(&mut self, free: Option<Nsid>) -> Result<Nsid, NodeError> {
        let unseen = self.unseen.first().copied();
        let next = (self.nsid_high < NSID_MAX).then(|| Nsid(self.nsid_high + 1));
        let nsid = free.or(unseen).or(next).ok_or(NodeError::NoNumber)?;
        self.unseen.remove(&nsid);
        self.nsid_high = self.nsid_high.max(nsid.0);
        self.claimed.insert(nsid);
        Ok(nsid)
    }
}

/// The figures with those of one more pool.
fn with_pool(sum: HealthFigures, pool: &PoolHealth) -> HealthFigures {
    let margin = |spare: u8, threshold: u8| i16::from(spare) - i16::from(threshold);
    let is_closer = margin(pool.spare_percent, pool.spare_threshold_percent)
        < margin(sum.spare_percent, sum.spare_threshold_percent);
    let (spare_percent, spare_threshold_percent) = match is_closer {
        true => (pool.spare_percent, pool.spare_threshold_percent),
        false => (sum.spare_percent, sum.spare_threshold_percent),
    };
    let mut space = sum.space;
    space += pool.space;
    HealthFigures {
        space,
        spare_percent,
        spare_threshold_percent,
        degraded: sum.degraded || pool.degraded,
        read_only: sum.read_only || pool.read_only,
        media_errors: sum.media_errors + pool.media_errors,
        unsafe_shutdowns: sum.unsafe_shutdowns + pool.unsafe_shutdowns,
        ..sum
    }
}

fn insert(all: &mut Rows, rows: impl IntoIterator<Item = Row>, generation: u64) {
    for mut row in rows {
        row.info.generation = generation;
        all.insert(row.info.nsid, row);
    }
}

/// What a host sees as the threshold that has no volumes: any pool would do.
const SPARE_THRESHOLD_PERCENT: u8 = 10;

#[cfg(test)]
mod tests;
