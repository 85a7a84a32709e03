//! A drive as a volume, with nothing in between.

use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Cause, Device, DeviceError, Durability, IoError};
use ashlar_drive::Drive;
use ashlar_volume::VolumeIo;
use bytes::Bytes;

/// A volume that is one drive. Not for hosts that compare: what they read then and what they write
/// is not kept apart.
#[derive(Clone)]
pub struct DriveVolume(pub Rc<Drive>);

fn refused(error: DeviceError) -> IoError {
    IoError::new(Cause::Internal, error.to_string())
}

impl VolumeIo for DriveVolume {
    async fn read(&self, offset: u64, bytes: usize) -> Result<AlignedBuf, IoError> {
        let (result, buf) = self.0.read(offset, AlignedBuf::stale(bytes)).await;
        result.map(|()| buf).map_err(refused)
    }

    async fn write(&self, offset: u64, data: Bytes) -> Result<(), IoError> {
        self.0.write(offset, data, Durability::Stable).await.map_err(refused)
    }

    async fn write_zeroes(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        let zeros = AlignedBuf::zeroed(bytes as usize).freeze();
        self.write(offset, zeros).await
    }

    async fn deallocate(&self, range: Range<u64>) -> Result<(), IoError> {
        self.write_zeroes(range.start, range.end - range.start).await
    }

    async fn compare(&self, offset: u64, expected: Bytes) -> Result<(), IoError> {
        let read = self.read(offset, expected.len()).await?;
        if read[..] == expected[..] { Ok(()) } else { Err(Cause::Miscompare.into()) }
    }

    async fn compare_and_write(
        &self,
        offset: u64,
        expected: Bytes,
        data: Bytes,
    ) -> Result<(), IoError> {
        self.compare(offset, expected).await?;
        self.write(offset, data).await
    }

    async fn verify(&self, offset: u64, bytes: u64) -> Result<(), IoError> {
        self.read(offset, bytes as usize).await.map(drop)
    }

    async fn flush(&self) -> Result<(), IoError> {
        self.0.flush().await.map_err(refused)
    }
}
