//! What a drive has outside of its chunks.

use super::*;

impl<D: Device> Array<D> {
    /// Reads a sector outside of the chunks.
    ///
    /// # Errors
    /// What the drive says, or [`DeviceError::Gone`] if it is lost.
    pub async fn read_raw(&self, drive: DriveId, offset: u64) -> Result<AlignedBuf, DeviceError> {
        let member = self.working(drive).ok_or(DeviceError::Gone)?;
        let read = member.device.read(offset, AlignedBuf::stale(SECTOR_BYTES));
        let (result, buf) =
            self.answer(&member, &member.silence.reads, Patience::Patient, read).await?;
        result.map(|()| buf)
    }

    /// Whether the drive works and has to seek, as far as it is known.
    pub fn is_rotational(&self, drive: DriveId) -> bool {
        self.working(drive).is_some_and(|member| member.device.is_rotational() == Some(true))
    }

    /// Whether the drive works and may be told of chunks that nobody needs.
    pub fn discards(&self, drive: DriveId) -> bool {
        let may =
            |member: Rc<Member<D>>| member.device.discards() && !member.refuses_discards.get();
        self.working(drive).is_some_and(may)
    }

    /// Tells the drive that nobody needs these chunks. Until this has ended, nothing may be written
    /// there. However long it takes, and whatever the drive says, it is not given up; one that does
    /// not know how is not asked again.
    ///
    /// # Errors
    /// What the drive says, or [`DeviceError::Gone`] if it is lost.
    pub async fn discard(&self, drive: DriveId, chunks: Range<u32>) -> Result<(), DeviceError> {
        self.permitted().await;
        let member = self.working(drive).ok_or(DeviceError::Gone)?;
        let from = member.layout().offset(chunks.start, 0);
        let bytes = u64::from(member.layout().chunk_bytes) * chunks.len() as u64;
        let discarded = member.device.discard(from, bytes).await;
        if matches!(discarded, Err(DeviceError::Unsupported(_))) {
            member.refuses_discards.set(true);
        }
        discarded
    }

    /// Writes a sector outside of the chunks anew, and reads it back. True: it is what was written.
    /// A drive that refuses is not given up.
    pub async fn rewrite_raw(&self, drive: DriveId, offset: u64, sector: Bytes) -> bool {
        for _ in 0..WRITE_TRIES {
            let Some(member) = self.working(drive) else { return false };
            let written = self.write(&member, offset, sector.clone(), Durability::Stable).await;
            let read = self.read_raw(drive, offset).await;
            if written.is_ok() && read.is_ok_and(|read| read[..] == sector[..]) {
                return true;
            }
        }
        false
    }
}
