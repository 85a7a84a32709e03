//! A drive in memory that refuses writes on demand.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{AlignedBuf, Device, DeviceError, DeviceOp, Durability, MemoryDevice};
use bytes::Bytes;

/// Input/output error.
const EIO: i32 = 5;

/// A drive in memory. Clones are the same drive.
#[derive(Clone)]
pub struct TestDevice {
    memory: MemoryDevice,
    /// Writes to this are refused.
    refused: Rc<RefCell<Range<u64>>>,
    written_bytes: Rc<Cell<u64>>,
}

impl TestDevice {
    /// A drive of `size_bytes` zeros.
    pub fn new(size_bytes: u64) -> Self {
        let memory = MemoryDevice::new(size_bytes);
        TestDevice { memory, refused: Rc::default(), written_bytes: Rc::default() }
    }

    /// Bytes that were written so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }

    /// Refuses all writes that touch `bytes` from now on, and no others.
    pub fn refuse_writes(&self, bytes: Range<u64>) {
        self.refused.replace(bytes);
    }

    fn check_taken(&self, offset: u64, bytes: usize) -> Result<(), DeviceError> {
        let refused = self.refused.borrow();
        let is_taken = offset >= refused.end || refused.start >= offset + bytes as u64;
        if is_taken { Ok(()) } else { Err(DeviceError::Os { op: DeviceOp::Write, offset, errno: EIO }) }
    }
}

impl Device for TestDevice {
    fn size_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        self.memory.read(offset, buf).await
    }

    async fn write(&self, offset: u64, data: Bytes, durability: Durability) -> Result<(), DeviceError> {
        self.check_taken(offset, data.len())?;
        self.written_bytes.set(self.written_bytes.get() + data.len() as u64);
        self.memory.write(offset, data, durability).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.memory.flush().await
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        self.memory.discard(offset, bytes).await
    }
}
