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
    discards: Rc<Cell<bool>>,
    rotational: Option<bool>,
    /// Its size, and what it was when somebody looked.
    sizes: Rc<Cell<(u64, u64)>>,
}

/// Bytes that a drive may grow by.
const GROWTH_MAX: u64 = 64 << 20;

impl TestDevice {
    /// A drive of `size_bytes` zeros.
    pub fn new(size_bytes: u64) -> Self {
        let memory = MemoryDevice::new(size_bytes + GROWTH_MAX);
        let sizes = Rc::new(Cell::new((size_bytes, size_bytes)));
        let discards = Rc::new(Cell::new(true));
        TestDevice {
            memory,
            refused: Rc::default(),
            written_bytes: Rc::default(),
            discards,
            rotational: None,
            sizes,
        }
    }

    /// The same, of which it is known whether it turns.
    pub fn turning(self, rotational: bool) -> Self {
        TestDevice { rotational: Some(rotational), ..self }
    }

    /// Bytes that were written so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }

    /// Refuses all writes that touch `bytes` from now on, and no others.
    pub fn refuse_writes(&self, bytes: Range<u64>) {
        self.refused.replace(bytes);
    }

    /// Somebody makes it larger.
    pub fn grow(&self, bytes: u64) {
        let (size, looked) = self.sizes.get();
        assert!(size + bytes <= self.memory.size_bytes(), "no more than {GROWTH_MAX}");
        self.sizes.set((size + bytes, looked));
    }

    /// It is opened anew.
    pub fn reopen(&self) {
        self.look_at_size();
    }

    /// It cannot be told what is free from now on.
    pub fn forget_discards(&self) {
        self.discards.set(false);
    }

    fn check_taken(&self, offset: u64, bytes: usize) -> Result<(), DeviceError> {
        let refused = self.refused.borrow();
        let is_taken = offset >= refused.end || refused.start >= offset + bytes as u64;
        if is_taken {
            Ok(())
        } else {
            Err(DeviceError::Os { op: DeviceOp::Write, offset, errno: EIO })
        }
    }
}

impl Device for TestDevice {
    fn size_bytes(&self) -> u64 {
        self.sizes.get().1
    }

    fn look_at_size(&self) {
        let (size, _) = self.sizes.get();
        self.sizes.set((size, size));
    }

    fn seen_bytes(&self) -> u64 {
        self.sizes.get().0
    }

    fn is_rotational(&self) -> Option<bool> {
        self.rotational
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        self.memory.read(offset, buf).await
    }

    async fn write(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        self.check_taken(offset, data.len())?;
        self.written_bytes.set(self.written_bytes.get() + data.len() as u64);
        self.memory.write(offset, data, durability).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.memory.flush().await
    }

    fn discards(&self) -> bool {
        self.discards.get()
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        self.memory.discard(offset, bytes).await
    }
}
