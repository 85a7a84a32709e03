//! Files and block devices over the ring.
//!
//! Descriptors and buffers are not registered with the ring: at 4 KiB and 32 operations in flight a
//! read or write past the page cache costs its submitter 3.2 to 4.0 µs of processor time,
//! registered or not.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use ashlar_block::AlignedBuf;
use bytes::Bytes;
use io_uring::{opcode, types};
use rustix::fs::{Mode, OFlags};

use crate::op::{OnDrop, Op};
use crate::ops::Owned;
use crate::reactor::{self, Reactor};

/// Bytes of one read or write that the kernel accepts (MAX_RW_COUNT): longer ones are cut, which
/// the count returned says.
const TRANSFER_BYTES_MAX: usize = 0x7fff_f000;

/// How to open a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenOptions {
    /// For reading and writing, not for reading alone.
    pub write: bool,
    /// Past the page cache (O_DIRECT): memory, offsets and lengths must suit the device's sectors.
    pub direct: bool,
    /// Makes the file, with mode 0600, if it does not exist; with `exclusive`, it must not.
    pub create: bool,
    /// O_EXCL. Without `create` it has a meaning for block devices only: fails with EBUSY if the
    /// device is mounted or otherwise claimed.
    pub exclusive: bool,
}

impl OpenOptions {
    fn flags(self) -> OFlags {
        let mut flags = OFlags::CLOEXEC;
        flags |= if self.write { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::DIRECT, self.direct);
        flags.set(OFlags::CREATE, self.create);
        flags.set(OFlags::EXCL, self.exclusive);
        flags
    }
}

/// How a write is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteFlags {
    /// Ends only when the data is on stable media (RWF_DSYNC).
    pub dsync: bool,
}

/// Discards a range of a block device (BLKDISCARD): what it holds is undefined then. Blocks its
/// thread until the device has done it, which may take seconds: not for a reactor's.
///
/// # Errors
/// What the operating system reports: EOPNOTSUPP, ENOTTY of what is no block device.
pub fn discard_blocks(device: impl AsFd, offset: u64, len: u64) -> io::Result<()> {
    /// `_IO(0x12, 119)` of linux/fs.h.
    const BLKDISCARD: libc::Ioctl = 0x1277;
    let range = [offset, len];
    // SAFETY: the request takes the address of two u64, which live until it returns, and writes
    // nothing there.
    let result = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A file or block device. Its operations may be under way in any number and end in any order.
/// Dropping their futures does not end them, and dropping the file closes it after what was begun.
pub struct File {
    reactor: Rc<Reactor>,
    descriptor: Option<OwnedFd>,
}

impl File {
    /// Opens `path`. Blocks its thread: for the start, not for the data path.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> io::Result<Self> {
        let descriptor = rustix::fs::open(path.as_ref(), options.flags(), Mode::RUSR | Mode::WUSR)?;
        Ok(Self::from_owned_fd(descriptor))
    }

    /// A file that was opened elsewhere, for the reactor of this thread.
    pub fn from_owned_fd(descriptor: OwnedFd) -> Self {
        File { reactor: reactor::current(), descriptor: Some(descriptor) }
    }

    fn fd(&self) -> types::Fd {
        types::Fd(self.as_fd().as_raw_fd())
    }

    /// Reads from `offset` to the front of `buf`; the count is smaller than its length at the end
    /// of the file, and may be elsewhere.
    ///
    /// # Errors
    /// What the operating system reports. The buffer comes back in either case.
    pub async fn read_at(&self, offset: u64, buf: AlignedBuf) -> (io::Result<usize>, AlignedBuf) {
        self.read_at_into(offset, buf, 0).await
    }

    /// As [`Self::read_at`], to the bytes of `buf` from `filled` on: to go on after a short read.
    ///
    /// # Errors
    /// As [`Self::read_at`].
    pub async fn read_at_into(
        &self,
        offset: u64,
        mut buf: AlignedBuf,
        filled: usize,
    ) -> (io::Result<usize>, AlignedBuf) {
        let rest = &mut buf[filled..];
        let len = rest.len().min(TRANSFER_BYTES_MAX) as u32;
        let entry = opcode::Read::new(self.fd(), rest.as_mut_ptr(), len).offset(offset).build();
        // SAFETY: the address points into the buffer, which is handed over; `drop` closes the file
        // through the reactor.
        let op = unsafe { self.reactor.begin(entry, Owned::Buf(buf), OnDrop::Finish) };
        let (result, owned) = op.await;
        (result.map(|count| count as usize), owned.into_buf())
    }

    /// Writes the front of `data` at `offset`; the count may be smaller than its length.
    ///
    /// # Errors
    /// What the operating system reports.
    pub async fn write_at(&self, offset: u64, data: Bytes, flags: WriteFlags) -> io::Result<usize> {
        let len = data.len().min(TRANSFER_BYTES_MAX) as u32;
        let entry = opcode::Write::new(self.fd(), data.as_ptr(), len)
            .offset(offset)
            .rw_flags(if flags.dsync { libc::RWF_DSYNC } else { 0 })
            .build();
        // SAFETY: the address points into the bytes, which are handed over; moving them moves no
        // data.
        let op = unsafe { self.reactor.begin(entry, Owned::Bytes(data), OnDrop::Finish) };
        op.await.0.map(|count| count as usize)
    }

    /// Makes the data of all writes that have ended durable, and the metadata needed to read it
    /// back (fdatasync).
    ///
    /// # Errors
    /// What the operating system reports. Writes since the last success may then be lost, whatever
    /// later calls say.
    pub async fn sync_data(&self) -> io::Result<()> {
        let entry = opcode::Fsync::new(self.fd()).flags(types::FsyncFlags::DATASYNC).build();
        self.begin_without_memory(entry).await.0.map(drop)
    }

    /// Changes the space behind a range (fallocate; `mode` in its terms, `libc::FALLOC_FL_*`). Also
    /// discards ranges of block devices.
    ///
    /// # Errors
    /// What the operating system reports: EOPNOTSUPP, ENOSPC.
    pub async fn fallocate(&self, mode: i32, offset: u64, len: u64) -> io::Result<()> {
        let entry = opcode::Fallocate::new(self.fd(), len).offset(offset).mode(mode).build();
        self.begin_without_memory(entry).await.0.map(drop)
    }

    fn begin_without_memory(&self, entry: io_uring::squeue::Entry) -> Op {
        // SAFETY: the operation names no memory, and `drop` closes the file through the reactor.
        unsafe { self.reactor.begin(entry, Owned::Nothing, OnDrop::Finish) }
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_ref().expect("open until dropped").as_fd()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if let Some(descriptor) = self.descriptor.take() {
            self.reactor.close(descriptor);
        }
    }
}

#[cfg(test)]
mod tests;
