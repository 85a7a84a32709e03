//! What is looked at regularly while a pool is open: whether its drives are still there, and its figures.

use std::rc::{Rc, Weak};
use std::time::Duration;

use ashlar_block::{Clock, Device, Spawn};
use ashlar_store::{DriveCondition, PoolStatus};

use super::{Home, OpenPool, PoolDrive};
use crate::bay::DriveBay;
use crate::report::read_only;
use crate::table::{PoolHealth, Table};

/// How often.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

impl<B: DriveBay> Home<B> {
    /// Watches `pool` until it is closed.
    pub(super) fn watch(&self, pool: &Rc<OpenPool<B>>) {
        let (bay, table, world) = (self.bay.clone(), self.table.clone(), self.world.clone());
        let fuse = pool.fuse().clone();
        let pool: Weak<OpenPool<B>> = Rc::downgrade(pool);
        table_figures(&table, &pool);
        let watching = async move {
            loop {
                world.sleep(WATCH_INTERVAL).await;
                if !table_figures(&table, &pool) {
                    return;
                }
                look_at_drives(&bay, &pool).await;
                part_with_drives(&pool);
            }
        };
        let guarded = fuse.guard(watching);
        self.world.spawn(async move { drop(guarded.await) });
    }
}

/// Brings the pool's figures to where other reactors read them. False once the pool is being closed: figures
/// that come after that would stay for ever.
fn table_figures<B: DriveBay>(table: &Table, pool: &Weak<OpenPool<B>>) -> bool {
    let Some(pool) = pool.upgrade().filter(|pool| !pool.is_leaving.get()) else { return false };
    pool.volumes.borrow().values().for_each(super::OpenVolume::refresh);
    table.set_health(pool.uuid, health(&pool.store.status()));
    true
}

/// Drives that have vanished are given up by the first write that meets them: a checkpoint is one.
async fn look_at_drives<B: DriveBay>(bay: &B, pool: &Weak<OpenPool<B>>) {
    let Some(pool) = pool.upgrade() else { return };
    let status = pool.store.status();
    let online = |uuid| {
        // One that came back has two records: that of its old number says that it is lost.
        let mut records = status.drives.iter().filter(|drive| drive.uuid == uuid);
        records.any(|drive| matches!(drive.condition, DriveCondition::Online | DriveCondition::Leaving))
    };
    // Each is looked at, so that one root is written without all that are gone.
    let is_lost = |drive: &&PoolDrive<B::Device>| online(drive.uuid) && !bay.is_present(&drive.drive.device);
    let specs = |drive: &PoolDrive<B::Device>| drive.drive.facts.spec.clone();
    let lost: Vec<String> = pool.drives.borrow().iter().filter(is_lost).map(specs).collect();
    if lost.is_empty() {
        return;
    }
    tracing::error!(pool = pool.name, drives = lost.join(", "), "drives are gone");
    if let Err(error) = pool.store.checkpoint().await {
        tracing::error!(pool = pool.name, %error, "writing the pool's root without them");
    }
}

/// Takes the label off drives that the pool has let go of, and lets go of them: in a task of its own, because one that was given
/// up for its silence may never answer.
fn part_with_drives<B: DriveBay>(pool: &Weak<OpenPool<B>>) {
    let Some(pool) = pool.upgrade() else { return };
    for uuid in pool.store.take_departed() {
        let place = pool.drives.borrow().iter().position(|drive| drive.uuid == uuid);
        let Some(place) = place else { continue };
        let departed = pool.drives.borrow_mut().remove(place);
        let (name, store) = (pool.name.clone(), pool.store.clone());
        let (of, spec) = (Rc::downgrade(&pool), departed.drive.facts.spec.clone());
        pool.parting.borrow_mut().push(spec.clone());
        pool.store.world().clone().spawn(async move {
            // Another machine that has the pool by now may have taken the drive anew.
            match store.holds().await {
                Ok(()) => part_with(departed, &name).await,
                Err(error) => {
                    let drive = &departed.drive.facts.spec;
                    tracing::warn!(pool = name, drive, %error, "the drive has been removed, and carries its label still");
                    drop(departed);
                }
            }
            if let Some(pool) = of.upgrade() {
                pool.parting.borrow_mut().retain(|parting| *parting != spec);
            }
        });
    }
}

async fn part_with<D: Device>(PoolDrive { drive, pool_bytes, .. }: PoolDrive<D>, pool: &str) {
    let spec = &drive.facts.spec;
    match ashlar_store::wipe(&drive.device, pool_bytes).await {
        Ok(()) => tracing::info!(pool, drive = spec, "the drive has been removed and is empty"),
        // It may have been lost long ago.
        Err(error) => {
            tracing::warn!(pool, drive = spec, %error, "the drive has been removed, and carries its label still");
        }
    }
}

fn health(status: &PoolStatus) -> PoolHealth {
    let space = &status.space;
    let spare = (space.safe_to_write * 100).checked_div(space.limit).unwrap_or(0);
    PoolHealth {
        spare_percent: spare.min(100) as u8,
        degraded: status.is_degraded(),
        read_only: read_only(status).is_some(),
        media_errors: status.counters.blocks_unrecovered,
        unsafe_shutdowns: status.unclean_starts,
    }
}
