//! What is looked at regularly while a pool is open: whether its drives are still there, and its
//! figures.

use std::rc::{Rc, Weak};
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Clock, Device, DriveId, Nanos, Spawn};
use ashlar_store::{DriveCondition, DriveStatus, Failure, PoolStatus};

use super::{OpenPool, PoolDrive, ReactorPools};
use crate::door::SpaceFigures;
use crate::drive_provider::DriveProvider;
use crate::occurrences::Occurred;
use crate::report::read_only;
use crate::table::{PoolHealth, Table};

/// How often.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How long after a drive has failed it may vanish and count as pulled: the kernel takes a moment
/// to let go of it.
const PULLED_MAX: Duration = Duration::from_secs(30);

impl<B: DriveProvider> ReactorPools<B> {
    /// Watches `pool` until it is closed.
    pub(super) fn watch(&self, pool: &Rc<OpenPool<B>>) {
        let (provider, table, world) =
            (self.provider.clone(), self.table.clone(), self.world.clone());
        let fuse = pool.fuse().clone();
        self.hear_of_losses(pool);
        let pool: Weak<OpenPool<B>> = Rc::downgrade(pool);
        table_figures(&table, &pool);
        let watching = async move {
            loop {
                world.sleep(WATCH_INTERVAL).await;
                if !table_figures(&table, &pool) {
                    return;
                }
                look_at_drives(&provider, &pool, world.now()).await;
                part_with_drives(&pool);
            }
        };
        let guarded = fuse.guard(watching);
        self.world.spawn(async move { drop(guarded.await) });
    }

    /// Puts down what the pool loses, when it does: it may be there again before anybody looks.
    fn hear_of_losses(&self, pool: &OpenPool<B>) {
        let (table, uuid) = (self.table.clone(), pool.uuid);
        let heard = move |loss| table.occurrences().put(uuid, Occurred::Lost(loss));
        pool.store.hear_of_losses(heard);
    }
}

/// Brings the pool's figures to where other reactors read them. False once the pool is being
/// closed: figures that come after that would stay for ever.
fn table_figures<B: DriveProvider>(table: &Table, pool: &Weak<OpenPool<B>>) -> bool {
    let Some(pool) = pool.upgrade().filter(|pool| !pool.is_leaving.get()) else { return false };
    pool.volumes.borrow().values().for_each(super::OpenVolume::refresh);
    table.set_health(pool.uuid, health(&pool.store.status()));
    true
}

/// Drives that have vanished, or are not believed any more, are given up by the first write that
/// meets them: a checkpoint is one. Of those that have vanished the pool is told that, so that they
/// may come back by themselves.
async fn look_at_drives<B: DriveProvider>(provider: &B, pool: &Weak<OpenPool<B>>, now: Nanos) {
    let Some(pool) = pool.upgrade() else { return };
    // Each is looked at, so that one root is written without all of them.
    let lost = pool.drives_lost(provider, now);
    if lost.is_empty() {
        return;
    }
    let names: Vec<&str> = lost.iter().map(|lost| lost.place.as_str()).collect();
    tracing::error!(pool = pool.name(), drives = names.join(", "), "drives are gone");
    let gone: Vec<DriveId> =
        lost.iter().filter(|lost| lost.has_vanished).map(|lost| lost.drive).collect();
    let written = match gone.as_slice() {
        [] => pool.store.checkpoint().await,
        gone => pool.store.drives_are_gone(gone).await,
    };
    if let Err(error) = written {
        tracing::error!(pool = pool.name(), %error, "writing the pool's root without them");
    }
}

/// A drive that is lost, although its pool does not know that, or does not know why.
struct Lost {
    drive: DriveId,
    place: String,
    /// Nothing is where it was.
    has_vanished: bool,
}

impl<B: DriveProvider> OpenPool<B> {
    fn drives_lost(&self, provider: &B, now: Nanos) -> Vec<Lost> {
        let status = self.store.status();
        let lost = |given: &PoolDrive<B::Device>| {
            // One that came back has several records, of which the newest comes last.
            let record = status.drives.iter().rfind(|drive| drive.uuid == given.uuid)?;
            let device = &given.drive.device;
            let is_lost = match record.condition {
                DriveCondition::Online | DriveCondition::Leaving => !provider.is_present(device),
                _ => self.was_pulled(record, now) && !provider.is_there(device),
            };
            let place = || given.facts(provider).place().to_owned();
            is_lost.then(|| Lost {
                drive: given.id,
                place: place(),
                has_vanished: !provider.is_there(device),
            })
        };
        self.drives.borrow().iter().filter_map(lost).collect()
    }

    /// Whether a drive that has failed may have been pulled then, if it turns out to have vanished:
    /// one that is pulled may refuse a few writes first.
    fn was_pulled(&self, record: &DriveStatus, now: Nanos) -> bool {
        let refused = matches!(record.condition, DriveCondition::Failed(Failure::Device(_)));
        if !refused || !record.is_given_up {
            return false;
        }
        let since = *self.failed_at.borrow_mut().entry(record.drive).or_insert(now);
        now.since(since) < PULLED_MAX
    }
}

/// Takes the label off drives that the pool has let go of, and lets go of them: in a task of its
/// own, because one that was given up for its silence may never answer.
fn part_with_drives<B: DriveProvider>(pool: &Weak<OpenPool<B>>) {
    let Some(pool) = pool.upgrade() else { return };
    for uuid in pool.store.take_departed() {
        let place = pool.drives.borrow().iter().position(|drive| drive.uuid == uuid);
        let Some(place) = place else { continue };
        let departed = pool.drives.borrow_mut().remove(place);
        let (name, store) = (pool.name(), pool.store.clone());
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
    // A copy of its label may be at the end of a drive that has become larger.
    let whole = ashlar_store::wipe(&drive.device, drive.device.size_bytes()).await;
    match whole.and(ashlar_store::wipe(&drive.device, pool_bytes).await) {
        Ok(()) => tracing::info!(pool, drive = spec, "the drive has been removed and is empty"),
        // It may have been lost long ago.
        Err(error) => {
            tracing::warn!(pool, drive = spec, %error, "the drive has been removed, and carries its label still");
        }
    }
}

fn health(status: &PoolStatus) -> PoolHealth {
    let (space, levels) = (&status.space, status.settings.levels);
    let spare = (space.safe_to_write * 100).checked_div(space.limit).unwrap_or(0);
    PoolHealth {
        spare_percent: spare.min(100) as u8,
        spare_threshold_percent: levels.stop.saturating_sub(levels.warn),
        degraded: status.is_degraded(),
        read_only: read_only(status).is_some() || space.full,
        media_errors: status.counters.reads.blocks_unrecovered,
        unsafe_shutdowns: status.unclean_starts,
        space: space_figures(status),
    }
}

fn space_figures(status: &PoolStatus) -> SpaceFigures {
    let PoolStatus { space, capacity, counters, lifetime, drives, .. } = status;
    let has_failed = |drive: &&DriveStatus| matches!(drive.condition, DriveCondition::Failed(_));
    SpaceFigures {
        provisioned: capacity.provisioned,
        live: space.live,
        safe_to_write: space.safe_to_write,
        formatted: capacity.formatted(),
        written: space.uses.written,
        stored: space.uses.stored,
        host_read: counters.hosts.blocks_read * BLOCK_BYTES as u64,
        host_written: lifetime.blocks_written * BLOCK_BYTES as u64,
        drives_written: lifetime.bytes_to_drives,
        is_full: space.full,
        blocks_restored: counters.reads.blocks_reconstructed
            + counters.reads.corrupt_reads_corrected,
        blocks_wrong: counters.reads.corrupt_reads_corrected,
        reads_refused: drives.iter().map(|drive| drive.read_errors).sum(),
        drives_failed: drives.iter().filter(has_failed).count() as u64,
    }
}
