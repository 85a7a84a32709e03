use super::*;

/// What a drive does before it does what it is told to.
pub(super) trait Quirk: 'static {
    /// An error is the answer.
    async fn before(&self, op: DeviceOp, bytes: Range<u64>) -> Result<(), DeviceError>;
}

/// A drive in memory with a quirk.
pub(super) struct Quirky<Q> {
    drive: MemoryDevice,
    pub quirk: Q,
}

impl<Q> Quirky<Q> {
    pub fn new(quirk: Q) -> Self {
        Quirky { drive: MemoryDevice::new(4 << 20), quirk }
    }
}

impl<Q: Quirk> Device for Quirky<Q> {
    fn size_bytes(&self) -> u64 {
        self.drive.size_bytes()
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        match self.quirk.before(DeviceOp::Read, offset..offset + buf.len() as u64).await {
            Ok(()) => self.drive.read(offset, buf).await,
            Err(error) => (Err(error), buf),
        }
    }

    async fn write(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        self.quirk.before(DeviceOp::Write, offset..offset + data.len() as u64).await?;
        self.drive.write(offset, data, durability).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.quirk.before(DeviceOp::Flush, 0..0).await?;
        self.drive.flush().await
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        self.quirk.before(DeviceOp::Discard, offset..offset + bytes).await?;
        self.drive.discard(offset, bytes).await
    }
}
