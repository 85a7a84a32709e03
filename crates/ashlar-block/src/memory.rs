//! Devices without a drive: memory for tests and benchmarks, and nothing at all.

use std::cell::RefCell;
use std::future::ready;
use std::hint::black_box;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;

use crate::{AlignedBuf, Device, DeviceError, Durability};

/// A drive in memory, lost with the process. Clones are the same drive.
#[derive(Clone)]
pub struct MemoryDevice {
    extents: Rc<RefCell<Vec<Extent>>>,
    size_bytes: u64,
}

/// A piece of the drive; none where nothing was written.
type Extent = Option<Box<[u8]>>;

/// Memory is taken in pieces of this size when they are first written.
const EXTENT_BYTES: usize = 1 << 20;

impl MemoryDevice {
    /// A drive of `size_bytes` zeros. Takes memory only as it is written.
    pub fn new(size_bytes: u64) -> Self {
        let count = size_bytes.div_ceil(EXTENT_BYTES as u64) as usize;
        MemoryDevice { extents: Rc::new(RefCell::new(vec![None; count])), size_bytes }
    }

    /// The same, with all of its memory taken at once.
    pub fn touched(size_bytes: u64) -> Self {
        let device = Self::new(size_bytes);
        for extent in device.extents.borrow_mut().iter_mut() {
            // Zeros that were never written are pages that do not exist yet. The compiler must not
            // see that the ones are overwritten: it would ask for zeros at once.
            let mut touched: Box<[u8]> = vec![1; EXTENT_BYTES].into();
            black_box(&mut touched).fill(0);
            *extent = Some(touched);
        }
        device
    }

    fn range(&self, offset: u64, bytes: usize) -> Result<Range<u64>, DeviceError> {
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= self.size_bytes);
        let error = DeviceError::OutOfRange { offset, bytes, size_bytes: self.size_bytes };
        end.map(|end| offset..end).ok_or(error)
    }

    fn read_now(&self, offset: u64, buf: &mut [u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, buf.len())?;
        let extents = self.extents.borrow();
        for (index, within, part) in pieces(range) {
            match &extents[index] {
                Some(extent) => buf[part].copy_from_slice(&extent[within]),
                None => buf[part].fill(0),
            }
        }
        Ok(())
    }

    fn write_now(&self, offset: u64, data: &[u8]) -> Result<(), DeviceError> {
        let range = self.range(offset, data.len())?;
        let mut extents = self.extents.borrow_mut();
        for (index, within, part) in pieces(range) {
            let extent = extents[index].get_or_insert_with(|| vec![0; EXTENT_BYTES].into());
            extent[within].copy_from_slice(&data[part]);
        }
        Ok(())
    }
}

/// The extents that `range` touches: which, where in it, and which part of the caller's buffer.
fn pieces(range: Range<u64>) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        (at < range.end).then(|| {
            let index = (at / EXTENT_BYTES as u64) as usize;
            let within = (at % EXTENT_BYTES as u64) as usize;
            let bytes = (EXTENT_BYTES - within).min((range.end - at) as usize);
            let part = (at - range.start) as usize;
            at += bytes as u64;
            (index, within..within + bytes, part..part + bytes)
        })
    })
}

impl Device for MemoryDevice {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    async fn read(
        &self,
        offset: u64,
        mut buf: AlignedBuf,
    ) -> (Result<(), DeviceError>, AlignedBuf) {
        (self.read_now(offset, &mut buf), buf)
    }

    async fn write(&self, offset: u64, data: Bytes, _: Durability) -> Result<(), DeviceError> {
        self.write_now(offset, &data)
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn discards(&self) -> bool {
        true
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        let whole_start = offset.div_ceil(EXTENT_BYTES as u64);
        let whole_end = offset.saturating_add(bytes).min(self.size_bytes) / EXTENT_BYTES as u64;
        let mut extents = self.extents.borrow_mut();
        (whole_start..whole_end).for_each(|index| extents[index as usize] = None);
        Ok(())
    }
}

/// A drive that takes every write and reads as zeros: for measuring what is above it.
#[derive(Clone)]
pub struct NullDevice {
    /// The size it claims.
    pub size_bytes: u64,
}

impl Device for NullDevice {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    async fn read(&self, _: u64, mut buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        buf.fill(0);
        (Ok(()), buf)
    }

    fn write(
        &self,
        _: u64,
        _: Bytes,
        _: Durability,
    ) -> impl Future<Output = Result<(), DeviceError>> {
        ready(Ok(()))
    }

    fn flush(&self) -> impl Future<Output = Result<(), DeviceError>> {
        ready(Ok(()))
    }

    fn discard(&self, _: u64, _: u64) -> impl Future<Output = Result<(), DeviceError>> {
        ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
