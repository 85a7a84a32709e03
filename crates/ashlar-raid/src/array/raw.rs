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
        let (result, buf) = self.answer(&member, &member.silence.reads, Patience::Patient, read).await?;
        result.map(|()| buf)
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
