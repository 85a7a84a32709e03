//! What the store needs of a drive.

use std::future::Future;
use std::rc::Rc;

use bytes::Bytes;

use crate::AlignedBuf;
use crate::latency::Meter;

/// When a write may be reported as done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// When the drive has taken it; a [`Device::flush`] makes it durable.
    Cached,
    /// When the drive has taken it. Nobody misses it if it is lost with the power, so that no flush
    /// is owed for it.
    Fleeting,
    /// When it is on stable media.
    Stable,
}

/// Which operation a [`DeviceError`] speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceOp {
    /// Reading sectors.
    Read,
    /// Writing sectors.
    Write,
    /// Making earlier writes durable.
    Flush,
    /// Telling the drive that sectors are no longer needed.
    Discard,
}

/// Why a drive did not do what it was asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeviceError {
    /// The operating system reported an error.
    #[error("{op:?} at byte {offset} failed: {}", std::io::Error::from_raw_os_error(*errno))]
    Os {
        /// What was asked.
        op: DeviceOp,
        /// Where, in bytes from the start of the drive.
        offset: u64,
        /// The errno.
        errno: i32,
    },
    /// Fewer bytes were transferred than asked, and asking again moved none.
    #[error("{op:?} at byte {offset} stopped after {done} of {asked} bytes")]
    Short {
        /// What was asked.
        op: DeviceOp,
        /// Where, in bytes from the start of the drive.
        offset: u64,
        /// Bytes asked for.
        asked: usize,
        /// Bytes transferred.
        done: usize,
    },
    /// The file system under a file-backed drive is full. Says nothing against the drive.
    #[error("write at byte {offset} failed: no space left under the drive's file")]
    NoSpace {
        /// Where, in bytes from the start of the drive.
        offset: u64,
    },
    /// The range is not within the drive. A fault of the caller.
    #[error("{bytes} bytes at {offset} are beyond the drive's {size_bytes}")]
    OutOfRange {
        /// Where, in bytes from the start of the drive.
        offset: u64,
        /// How many.
        bytes: usize,
        /// The drive's size.
        size_bytes: u64,
    },
    /// It has answered nothing for a while, and is not waited for any longer. It may answer yet.
    #[error("the drive does not answer")]
    TimedOut,
    /// It does not know this operation, now or later.
    #[error("the drive does not support {0:?}")]
    Unsupported(DeviceOp),
    /// The drive is no longer there, or is not believed any more (a flush failed).
    #[error("the drive is gone")]
    Gone,
}

/// A drive: sectors that can be read, written and made durable.
///
/// Offsets and lengths are in bytes and multiples of [`crate::SECTOR_BYTES`]. Operations may be
/// outstanding in any number and end in any order; the store never has two writes to one sector
/// outstanding. Dropping a future does not end its operation: the drive keeps the buffer until it
/// does.
pub trait Device: 'static {
    /// The drive's size. While it is open it only grows, by [`Self::look_at_size`].
    fn size_bytes(&self) -> u64;

    /// Looks whether the drive has become larger, which [`Self::size_bytes`] says from then on. A
    /// few system calls at most.
    fn look_at_size(&self) {}

    /// The size that was seen last, by whoever looks whether the drive is there: it may be more.
    fn seen_bytes(&self) -> u64 {
        self.size_bytes()
    }

    /// Whether it spins. `None` if that is not known.
    fn is_rotational(&self) -> Option<bool> {
        None
    }

    /// Who counts what its operations take. `None`: nobody does.
    fn meter(&self) -> Option<&Rc<Meter>> {
        None
    }

    /// Fills `buf` from `offset`. The buffer comes back in either case; after an error its content
    /// means nothing.
    fn read(
        &self,
        offset: u64,
        buf: AlignedBuf,
    ) -> impl Future<Output = (Result<(), DeviceError>, AlignedBuf)>;

    /// Writes `data` at `offset`. `data` should come from an [`AlignedBuf`], so that it need not be
    /// copied.
    fn write(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> impl Future<Output = Result<(), DeviceError>>;

    /// Makes every write that ended before this call durable. After an error the drive is not to be
    /// believed again: what it still holds in its cache may be lost while later flushes succeed.
    fn flush(&self) -> impl Future<Output = Result<(), DeviceError>>;

    /// Whether [`Self::discard`] may be of use. One that says so may refuse it all the same.
    fn discards(&self) -> bool {
        false
    }

    /// Tells the drive that the range is no longer needed. From when it begins, what the range
    /// holds is undefined, until it is written again; that is not to begin before this has ended.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] where it never can; else what the drive reports, which says
    /// nothing against it. The content is undefined then, too.
    fn discard(&self, offset: u64, bytes: u64) -> impl Future<Output = Result<(), DeviceError>>;
}
