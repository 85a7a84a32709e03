//! Erasing volumes: one by Format or an operator, all that a host sees by Sanitize.

use std::rc::Rc;

use ashlar_block::{Cause, IoError, PoolUuid, Spawn, VolumeId};

use super::{OpenPool, PoolErasing, PoolVolume, ReactorPools};
use crate::attributes::EraseKind;
use crate::door::{AccessList, HostNqn};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::occurrences::{ErasedBy, Occurred, VolumeErase};
use crate::report::{VolumeReport, read_only};
use crate::table::{Place, Table};

impl<B: DriveProvider> ReactorPools<B> {
    /// Erases a volume for an operator: see `store_volume/erasing.rs`.
    ///
    /// # Errors
    /// [`NodeError`]; once it has begun, hosts stay refused until it is done, now or after a start.
    pub async fn wipe_volume(
        &self,
        uuid: PoolUuid,
        name: String,
    ) -> Result<VolumeReport, NodeError> {
        let pool = self.pool(uuid)?;
        let erasing = {
            let _changing = pool.changing.lock().await;
            let volume = pool.volume_to_change(&name)?;
            pool.check_wipe(&volume)?;
            volume.prepare_erase(EraseKind::Wipe)?
        };
        self.erase(&pool, &erasing, None).await?;
        pool.report_of(erasing.volume_id())
    }

    /// From the beginning to the end.
    pub(super) async fn erase(
        &self,
        pool: &OpenPool<B>,
        erasing: &PoolErasing<B>,
        lba_bytes: Option<u32>,
    ) -> Result<(), IoError> {
        erasing.begin().await?;
        erasing.run().await?;
        erasing.end(lba_bytes).await?;
        self.publish(pool, erasing.volume_id());
        Ok(())
    }

    /// Refuses a volume to its host until `end_sanitize`, and notes that it is being
    /// sanitized, if nobody but the host sees it when its turn comes.
    ///
    /// # Errors
    /// Why it cannot be; it is as it was.
    pub async fn begin_sanitize(
        self: Rc<Self>,
        place: Place,
        host: HostNqn,
    ) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NoSuchVolume)?;
        let erasing = {
            let _changing = pool.changing.lock().await;
            let volume = self.volume_for(place, &host)?;
            if volume.attributes().access != AccessList::Allow([host].into()) {
                // It was just shared: whoever asks again is told so.
                return Err(Cause::NotReady.into());
            }
            volume.prepare_erase(EraseKind::Sanitize)?
        };
        let begun = erasing.begin().await;
        if begun.is_ok() {
            pool.erasing.borrow_mut().insert(place.volume, Rc::new(erasing));
        }
        self.publish(&pool, place.volume);
        begun
    }

    /// Erases a volume that [`Self::begin_sanitize`] has taken for `host`.
    pub(crate) async fn run_sanitize(
        self: Rc<Self>,
        place: Place,
        host: HostNqn,
    ) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NotReady)?;
        let erasing = pool.erasing.borrow().get(&place.volume).cloned().ok_or(Cause::NotReady)?;
        let erased = erasing.run().await;
        if erased.is_err() {
            pool.erasing.borrow_mut().remove(&place.volume);
            self.publish(&pool, place.volume);
            pool.tell_erase(&self.table, place.volume, ErasedBy::Sanitize(host), &erased);
        }
        erased
    }

    /// Gives a volume that was sanitized back to its `host`.
    pub(crate) async fn end_sanitize(
        self: Rc<Self>,
        place: Place,
        host: HostNqn,
    ) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NotReady)?;
        let erasing = pool.erasing.borrow_mut().remove(&place.volume).ok_or(Cause::NotReady)?;
        let ended = erasing.end(None).await;
        drop(erasing);
        self.publish(&pool, place.volume);
        pool.tell_erase(&self.table, place.volume, ErasedBy::Sanitize(host), &ended);
        ended
    }

    /// Gives a volume back as it was: another one cannot be sanitized.
    pub(crate) async fn cancel_sanitize(self: Rc<Self>, place: Place) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NotReady)?;
        let erasing = pool.erasing.borrow_mut().remove(&place.volume).ok_or(Cause::NotReady)?;
        let cancelled = erasing.cancel().await;
        drop(erasing);
        self.publish(&pool, place.volume);
        cancelled
    }

    /// Lets a host read and write what a sanitize has failed to erase.
    pub(crate) async fn forgo_sanitize(
        self: Rc<Self>,
        place: Place,
        host: HostNqn,
    ) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NoSuchVolume)?;
        let _changing = pool.changing.lock().await;
        let forgone = self.volume_for(place, &host)?.forgo_failed_sanitize().await;
        self.publish(&pool, place.volume);
        forgone
    }

    /// Goes on with what a crash, or the end of the daemon, has come between: hosts are refused
    /// until that is done.
    pub(super) fn go_on_erasing(&self, pool: &Rc<OpenPool<B>>) {
        let left: Vec<_> =
            pool.all_volumes().iter().filter_map(PoolVolume::<B>::erase_left).collect();
        if left.is_empty() {
            return;
        }
        let (table, index, fuse) = (self.table.clone(), self.index, pool.fuse().clone());
        let pool = Rc::downgrade(pool);
        let going_on = async move {
            for erasing in left {
                let id = erasing.volume_id();
                let erased = match erasing.run().await {
                    Ok(()) => erasing.end(None).await,
                    failed => failed,
                };
                drop(erasing);
                let Some(pool) = pool.upgrade().filter(|pool| !pool.is_leaving.get()) else {
                    return;
                };
                if let Err(error) = &erased {
                    let pool = pool.name();
                    tracing::error!(pool, volume = id.0, %error, "the erase of a volume has failed: hosts are refused");
                }
                pool.tell_erase(&table, id, ErasedBy::Start, &erased);
                if let Some(open) = pool.volumes.borrow().get(&id) {
                    table.put([pool.row(index, open)]);
                }
            }
        };
        let guarded = fuse.guard(going_on);
        self.world.spawn(async move { drop(guarded.await) });
    }
}

impl<B: DriveProvider> OpenPool<B> {
    /// Puts down that a volume was erased, or was to be.
    pub(super) fn tell_erase(
        &self,
        table: &Table,
        volume: VolumeId,
        by: ErasedBy,
        erased: &Result<(), IoError>,
    ) {
        let volumes = self.volumes.borrow();
        let Some(open) = volumes.get(&volume) else { return };
        let (pool, volume) = (self.name(), open.volume.attributes().name);
        let failed = erased.as_ref().err().map(ToString::to_string);
        let erase = VolumeErase { pool, volume, by, failed };
        table.occurrences().put(self.uuid, Occurred::Erased(erase));
    }

    /// Refuses to wipe what may not be written to.
    fn check_wipe(&self, volume: &PoolVolume<B>) -> Result<(), NodeError> {
        self.check_takes_writes()?;
        let attributes = volume.attributes();
        if attributes.write_protected {
            let volume = format!("{}/{}", self.name(), attributes.name);
            return Err(NodeError::WipesProtected { volume });
        }
        Ok(())
    }

    /// Refuses changes while the pool is read-only.
    pub(super) fn check_takes_writes(&self) -> Result<(), NodeError> {
        let refused = |why| NodeError::ReadOnly { pool: self.name(), why };
        read_only(&self.store.status()).map_or(Ok(()), |why| Err(refused(why)))
    }
}
