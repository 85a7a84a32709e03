//! Changes to what a volume is: all that a client asks for as one, or nothing of it.

use ashlar_block::{ByteSize, PoolUuid};
use ashlar_store::{Compression, VolumeUpdate};

use super::qos::QosChoice;
use super::volumes::blocks_of;
use super::{OpenPool, PoolVolume, ReactorPools};
use crate::atomic::AtomicWrites;
use crate::attributes::Attributes;
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::name::VolumeName;
use crate::report::VolumeReport;

/// What is to change of a volume; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct VolumeChange {
    /// Its name. Hosts do not notice.
    pub name: Option<VolumeName>,
    /// Its size.
    pub size: Option<Resize>,
    /// How its blocks are stored from now on.
    pub compression: Option<Compression>,
    /// Write protection, as hosts set it by the feature Namespace Write Protection.
    pub write_protected: Option<bool>,
    /// What hosts are told of the atomicity of writes. Connected hosts hear of it.
    pub atomic: Option<AtomicWrites>,
    /// Which policy counts for it, or one of its own, changed from the one that counts now.
    pub qos: Option<QosChoice>,
}

/// A size, and whether what lies beyond it may be lost.
#[derive(Clone, Copy, Debug)]
pub struct Resize {
    /// A multiple of 4 KiB.
    pub size_bytes: u64,
    /// It may be smaller than now.
    pub may_shrink: bool,
}

impl<B: DriveProvider> ReactorPools<B> {
    /// Changes a volume.
    ///
    /// # Errors
    /// [`NodeError`]; nothing of it is done.
    pub async fn change_volume(
        &self,
        uuid: PoolUuid,
        name: String,
        change: VolumeChange,
    ) -> Result<VolumeReport, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let volume = pool.volume_to_change(&name)?;
        let update = VolumeUpdate {
            blocks: pool.check_resize(&volume, &change)?,
            compression: change.compression,
            attributes: None,
        };
        pool.check_change(&volume, &change)?;
        let VolumeChange { name, write_protected, atomic, qos, .. } = change;
        let chosen = |choice| pool.chosen(choice, &volume.with_attributes(|it| it.qos.clone()));
        let qos = qos.map(chosen).transpose()?;
        let changed = |now: Attributes| {
            let now = match qos {
                Some(qos) => now.with_qos(qos),
                None => now,
            };
            Attributes {
                name: name.unwrap_or(now.name),
                write_protected: write_protected.unwrap_or(now.write_protected),
                atomic: atomic.unwrap_or(now.atomic),
                ..now
            }
        };
        volume.update(update, changed).await?;
        pool.apply_qos(volume.id());
        self.publish(&pool, volume.id());
        pool.report_of(volume.id())
    }
}

impl<B: DriveProvider> OpenPool<B> {
    /// The blocks that a volume is to have, if it is to have more or less than now.
    fn check_resize(
        &self,
        volume: &PoolVolume<B>,
        change: &VolumeChange,
    ) -> Result<Option<u64>, NodeError> {
        let Some(Resize { size_bytes, may_shrink }) = change.size else { return Ok(None) };
        let blocks = blocks_of(size_bytes)?;
        let (from, attributes) = (volume.size_bytes(), volume.attributes());
        if size_bytes == from {
            // Hosts would wait for nothing.
            return Ok(None);
        }
        let is_protected = change.write_protected.unwrap_or(attributes.write_protected);
        if size_bytes < from && is_protected {
            let volume = format!("{}/{}", self.name(), attributes.name);
            return Err(NodeError::ShrinksProtected { volume });
        }
        if size_bytes < from && !may_shrink {
            return Err(NodeError::Shrinks { from: ByteSize(from), to: ByteSize(size_bytes) });
        }
        self.check_promise(size_bytes.saturating_sub(from))?;
        Ok(Some(blocks))
    }

    /// Refuses what else of a change cannot be.
    fn check_change(&self, volume: &PoolVolume<B>, change: &VolumeChange) -> Result<(), NodeError> {
        if let Some(name) = &change.name
            && !volume.with_attributes(|it| it.name == *name)
        {
            self.check_free(name)?;
        }
        change.compression.map_or(Ok(()), |compression| self.check_compression(compression))?;
        change.atomic.map_or(Ok(()), |atomic| self.check_atomic(volume, atomic))
    }

    fn check_atomic(&self, volume: &PoolVolume<B>, atomic: AtomicWrites) -> Result<(), NodeError> {
        self.check_takes_writes()?;
        let most = volume.atomic_write_bytes();
        match atomic {
            AtomicWrites::UpTo(bytes) if bytes > most => {
                let (bytes, most) = (ByteSize(bytes.into()), ByteSize(most.into()));
                Err(NodeError::AtomicAbove { pool: self.name(), bytes, most })
            }
            _ => Ok(()),
        }
    }
}
