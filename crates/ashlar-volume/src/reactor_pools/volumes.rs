//! Changes to the volumes of a pool, one at a time.

use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, ByteSize, Cause, Clock, IoError, PoolUuid, VolumeId, VolumeUuid};
use ashlar_store::format::fields::Kept;
use ashlar_store::{Compression, VOLUME_BLOCKS_MAX, random_uuid};

use super::{OpenPool, OpenVolume, PoolVolume, ReactorPools};
use crate::access::AccessChange;
use crate::atomic::AtomicWrites;
use crate::attributes::{Attributes, EraseKind};
use crate::door::{AccessList, FormatRequest, HostNqn, NamespaceInfo, Nsid};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::name::VolumeName;
use crate::occurrences::ErasedBy;
use crate::qos::VolumeQos;
use crate::report::VolumeReport;
use crate::store_volume::StoreVolume;
use crate::table::Place;

/// A volume to be made.
#[derive(Clone, Debug)]
pub struct NewVolume {
    /// Its name.
    pub name: VolumeName,
    /// Its size, a multiple of 4 KiB.
    pub size_bytes: u64,
    /// 512 or 4096.
    pub lba_bytes: u32,
    /// How its blocks are stored.
    pub compression: Compression,
    /// Who may see it.
    pub access: AccessList,
}

/// Refuses a size that no volume can have.
///
/// # Errors
/// [`NodeError::Size`].
pub fn check_volume_size(size_bytes: u64) -> Result<(), NodeError> {
    blocks_of(size_bytes).map(drop)
}

/// The blocks of a volume of `size_bytes`.
pub(super) fn blocks_of(size_bytes: u64) -> Result<u64, NodeError> {
    let block = BLOCK_BYTES as u64;
    if size_bytes == 0 {
        return Err(NodeError::Size("a volume has at least 4KiB, and 0 was asked for".to_owned()));
    }
    if size_bytes > VOLUME_BLOCKS_MAX * block {
        let (size, most) = (ByteSize(size_bytes), ByteSize(VOLUME_BLOCKS_MAX * block));
        return Err(NodeError::Size(format!("{size} is more than a volume can have ({most})")));
    }
    if !size_bytes.is_multiple_of(block) {
        let nearest = size_bytes.next_multiple_of(block);
        let why = format!(
            "{size_bytes} bytes are not a multiple of 4KiB: the next larger size is {nearest}"
        );
        return Err(NodeError::Size(why));
    }
    Ok(size_bytes / block)
}

impl<B: DriveProvider> ReactorPools<B> {
    /// Makes a volume under a number that was claimed for it.
    ///
    /// # Errors
    /// [`NodeError`]; there is no such volume then.
    pub async fn create_volume(
        &self,
        uuid: PoolUuid,
        nsid: Nsid,
        new: NewVolume,
    ) -> Result<VolumeReport, NodeError> {
        let blocks = blocks_of(new.size_bytes)?;
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        pool.check_free(&new.name)?;
        pool.check_promise(new.size_bytes)?;
        pool.check_compression(new.compression)?;
        let attributes = Attributes {
            name: new.name,
            uuid: VolumeUuid(random_uuid(&self.world)),
            nsid,
            lba_bytes: new.lba_bytes,
            access: new.access,
            write_protected: false,
            made_at: self.world.unix_seconds(),
            atomic: AtomicWrites::default(),
            erase: None,
            is_sanitized: false,
            qos: VolumeQos::default(),
            kept: Kept::default(),
            qos_kept: Kept::default(),
        };
        let created =
            pool.store.create_volume(blocks, new.compression, attributes.encode().into()).await;
        let id = created?;
        let volume =
            StoreVolume::taking_turns(pool.store.clone(), &pool.fair, id, blocks, attributes);
        let open = OpenVolume::new(volume, new.compression);
        pool.volumes.borrow_mut().insert(id, open);
        pool.apply_qos(id);
        self.publish(&pool, id);
        pool.report_of(id)
    }

    /// Deletes a volume: hosts lose it at once, what is under way ends, its space comes back in the
    /// background.
    ///
    /// # Errors
    /// [`NodeError`]; the volume is as it was.
    pub async fn delete_volume(&self, uuid: PoolUuid, name: String) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let volume = pool.volume_to_change(&name)?;
        let nsid = volume.attributes().nsid;
        self.table.remove(nsid);
        // Whoever waits for its limits is told at once that it is not there any more.
        pool.lift_limits_of(volume.id());
        if let Err(error) = volume.delete().await {
            pool.apply_qos(volume.id());
            self.publish(&pool, volume.id());
            return Err(error.into());
        }
        pool.volumes.borrow_mut().remove(&volume.id());
        self.table.release(nsid);
        Ok(())
    }

    /// Changes who may see a volume. A host that may no longer loses it at once, and so it does
    /// while it formats the volume: one that formats again and again keeps nobody from that.
    ///
    /// # Errors
    /// [`NodeError`]; the list is as it was.
    pub async fn change_access(
        &self,
        uuid: PoolUuid,
        name: String,
        change: AccessChange,
    ) -> Result<VolumeReport, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let volume = pool.volume_named(&name)?;
        let called = format!("{}/{name}", pool.name());
        let access = change.apply(&called, &volume.attributes().access)?;
        volume.change_attributes(|attributes| Attributes { access, ..attributes }).await?;
        self.publish(&pool, volume.id());
        pool.report_of(volume.id())
    }

    /// Discards or erases what a volume holds and gives it sectors of another size, if `host` may
    /// still see it when its turn comes. Changes to other volumes do not wait for it.
    pub(crate) async fn format_volume(
        self: Rc<Self>,
        place: Place,
        host: HostNqn,
        request: FormatRequest,
    ) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NoSuchVolume)?;
        let changing = pool.changing.lock().await;
        let volume = self.volume_for(place, &host)?;
        if request.is_erase {
            let erasing = volume.prepare_erase(EraseKind::Wipe)?;
            drop(changing);
            let erased = self.erase(&pool, &erasing, Some(request.lba_bytes)).await;
            pool.tell_erase(&self.table, place.volume, ErasedBy::Format(host), &erased);
            return erased;
        }
        let formatting = volume.begin_format()?;
        drop(changing);
        let formatted = formatting.run(request.lba_bytes).await;
        pool.tell_erase(&self.table, place.volume, ErasedBy::Format(host), &formatted);
        formatted?;
        self.publish(&pool, place.volume);
        Ok(())
    }

    /// Sets or clears NVMe write protection, if `host` may still see the volume when its turn
    /// comes.
    pub(crate) async fn set_write_protected(
        self: Rc<Self>,
        place: Place,
        host: HostNqn,
        set: bool,
    ) -> Result<(), IoError> {
        let pool = self.pool(place.pool).map_err(|_| Cause::NoSuchVolume)?;
        let _changing = pool.changing.lock().await;
        let volume = self.volume_for(place, &host)?;
        volume.check_changeable()?;
        volume
            .change_attributes(|attributes| Attributes { write_protected: set, ..attributes })
            .await?;
        self.publish(&pool, place.volume);
        Ok(())
    }

    pub(super) fn volume_for(
        &self,
        place: Place,
        host: &HostNqn,
    ) -> Result<PoolVolume<B>, IoError> {
        let volume = self.volume(place).filter(|volume| volume.attributes().access.allows(host));
        volume.ok_or(Cause::NoSuchVolume.into())
    }

    /// Tells everybody how a volume is now.
    pub(super) fn publish(&self, pool: &OpenPool<B>, id: VolumeId) {
        // One that leaves has been taken out of the table, and stays out.
        if pool.is_leaving.get() {
            return;
        }
        if let Some(open) = pool.volumes.borrow().get(&id) {
            self.table.put([pool.row(self.index, open)]);
        }
    }
}

impl<B: DriveProvider> OpenPool<B> {
    pub(super) fn volume_named(&self, name: &str) -> Result<PoolVolume<B>, NodeError> {
        let volume =
            self.all_volumes().into_iter().find(|volume| volume.attributes().name.as_str() == name);
        let missing = || NodeError::NoSuchVolume { pool: self.name(), volume: name.to_owned() };
        volume.ok_or_else(missing)
    }

    pub(super) fn volume_to_change(&self, name: &str) -> Result<PoolVolume<B>, NodeError> {
        let volume = self.volume_named(name)?;
        volume.check_changeable()?;
        Ok(volume)
    }

    pub(super) fn check_free(&self, name: &VolumeName) -> Result<(), NodeError> {
        match self.volume_named(name.as_str()) {
            Err(_) => Ok(()),
            Ok(_) => Err(NodeError::VolumeExists { pool: self.name(), volume: name.to_string() }),
        }
    }

    /// Refuses to promise volumes `more` bytes than is formatted.
    pub(super) fn check_promise(&self, more: u64) -> Result<(), NodeError> {
        let refused = |error| NodeError::OverPromised { pool: self.name(), error };
        self.store.check_promise(more).map_err(refused)
    }

    /// Refuses zstd where an older Ashlar that may open the pool could not read it.
    pub(super) fn check_compression(&self, compression: Compression) -> Result<(), NodeError> {
        let is_possible = self.store.can_store(compression);
        let refused = || NodeError::NoZstd { pool: self.name(), compression };
        is_possible.then_some(()).ok_or_else(refused)
    }

    pub(super) fn report_of(&self, id: VolumeId) -> Result<VolumeReport, NodeError> {
        let volumes = self.volumes.borrow();
        let missing = || NodeError::NoSuchVolume { pool: self.name(), volume: format!("{id:?}") };
        let open = volumes.get(&id).ok_or_else(missing)?;
        Ok(self.volume_report(open, &self.store.volumes()))
    }
}

/// What hosts see of a volume of this pool.
pub(super) fn namespace_info<W: ashlar_block::World>(volume: &StoreVolume<W>) -> NamespaceInfo {
    let attributes = volume.attributes();
    NamespaceInfo {
        nsid: attributes.nsid,
        uuid: attributes.uuid,
        size_bytes: volume.size_bytes(),
        lba_bytes: attributes.lba_bytes,
        used_bytes: 0,
        atomic_write_bytes_max: volume.atomic_write_bytes(),
        atomic_boundary_bytes: ashlar_store::ATOMIC_BOUNDARY_BYTES,
        atomic_announced_bytes: attributes
            .atomic
            .announced(attributes.lba_bytes, volume.atomic_write_bytes()),
        sanitize: volume.sanitize_state(),
        write_protected: attributes.write_protected,
        is_ready: true,
        generation: 0,
        access: attributes.access.into(),
    }
}
