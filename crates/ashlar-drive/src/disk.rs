//! I/O on an open file or block device.

use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use ashlar_block::{AlignedBuf, DeviceError, DeviceOp, SECTOR_BYTES, copies};
use ashlar_reactor::fs::{File, WriteFlags, discard_blocks};
use ashlar_reactor::mailbox;
use bytes::Bytes;
use rustix::fs::{FileType, SeekFrom, seek};

use crate::counters::DriveCounters;
use crate::info::{DriveInfo, DriveKind};
use crate::sysfs;

/// Smallest alignment of memory that direct I/O is given: every device takes whole sectors.
const MEMORY_ALIGN_BYTES_MIN: usize = 512;

/// A file or block device on one reactor.
pub(crate) struct Disk {
    file: File,
    /// As it was opened.
    size_bytes: u64,
    is_block: bool,
    memory_align_bytes: usize,
}

impl Disk {
    pub(crate) fn new(descriptor: OwnedFd, info: &DriveInfo) -> Self {
        let sector_bytes = (info.logical_sector_bytes as usize).max(MEMORY_ALIGN_BYTES_MIN);
        let memory_align_bytes = if info.direct { sector_bytes } else { 1 };
        let is_block = info.kind == DriveKind::Block;
        let file = File::from_owned_fd(descriptor);
        Disk { file, size_bytes: info.size_bytes, is_block, memory_align_bytes }
    }

    /// Another descriptor of the same open file, lock included.
    pub(crate) fn duplicate(&self) -> io::Result<OwnedFd> {
        self.file.as_fd().try_clone_to_owned()
    }

    pub(crate) async fn read(
        &self,
        offset: u64,
        mut buf: AlignedBuf,
    ) -> (Result<(), DeviceError>, AlignedBuf) {
        let mut progress = Progress::new(DeviceOp::Read, offset, buf.len());
        while !progress.is_complete() {
            let (result, returned) =
                self.file.read_at_into(progress.place(), buf, progress.done).await;
            buf = returned;
            if let Err(error) = progress.take(result) {
                return (Err(error), buf);
            }
        }
        (Ok(()), buf)
    }

    pub(crate) async fn write(
        &self,
        offset: u64,
        data: Bytes,
        dsync: bool,
        counters: &DriveCounters,
    ) -> Result<(), DeviceError> {
        let data = self.aligned(data, counters);
        let mut progress = Progress::new(DeviceOp::Write, offset, data.len());
        while !progress.is_complete() {
            let rest = data.slice(progress.done..);
            let result = self.file.write_at(progress.place(), rest, WriteFlags { dsync }).await;
            progress.take(result).map_err(|error| self.full_or_gone(error))?;
        }
        Ok(())
    }

    /// The kernel calls a device full that has gone, because nothing is left of its size: nobody
    /// could make room there.
    fn full_or_gone(&self, error: DeviceError) -> DeviceError {
        let is_full = matches!(error, DeviceError::NoSpace { .. });
        if is_full && self.present_bytes().is_none_or(|bytes| bytes < self.size_bytes) {
            DeviceError::Gone
        } else {
            error
        }
    }

    /// The data where direct I/O can take it from.
    fn aligned(&self, data: Bytes, counters: &DriveCounters) -> Bytes {
        if data.as_ptr().addr().is_multiple_of(self.memory_align_bytes) {
            return data;
        }
        counters.note_copy();
        copies::note(data.len());
        AlignedBuf::copy_of(&data).freeze()
    }

    pub(crate) async fn flush(&self) -> Result<(), DeviceError> {
        let result = again_if_interrupted(|| self.file.sync_data()).await;
        result.map_err(|error| of_os(DeviceOp::Flush, 0, &error))
    }

    /// Punches a hole into a file; discards the range of a block device.
    pub(crate) async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let result = if self.is_block {
            self.discard_blocks(offset, bytes).await
        } else {
            again_if_interrupted(|| self.file.fallocate(mode, offset, bytes)).await
        };
        result.map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS) => {
                DeviceError::Unsupported(DeviceOp::Discard)
            }
            errno => {
                DeviceError::Os { op: DeviceOp::Discard, offset, errno: errno.unwrap_or(libc::EIO) }
            }
        })
    }

    /// By a thread of its own: older kernels know no way that waits for nobody, and punching a hole
    /// into a device writes zeros where it does not vouch for reading them. The thread keeps the
    /// device open and locked until the kernel is done with it.
    async fn discard_blocks(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let device = self.duplicate()?;
        let (mut sender, mut receiver) = mailbox::channel(1);
        // Whoever has stopped waiting needs no answer.
        let on_thread = move || drop(sender.try_send(discard_blocks(device, offset, bytes)));
        std::thread::Builder::new().name("discard".to_owned()).spawn(on_thread)?;
        receiver.recv().await.expect("the thread answers before it ends")
    }

    /// Whether the file still has its name and its length, or the kernel still has the device,
    /// which has its size. An open file that was removed takes I/O as before, and all of it is lost
    /// with the descriptor; one that was cut off grows again by what is written, with zeros where
    /// data were.
    ///
    /// Returns the size that it has now, if it is there.
    pub(crate) fn present_bytes(&self) -> Option<u64> {
        let stat = rustix::fs::fstat(&self.file).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice if sysfs::is_present(stat.st_rdev) => {
                seek(&self.file, SeekFrom::End(0)).ok()
            }
            FileType::BlockDevice => None,
            _ if stat.st_nlink > 0 => u64::try_from(stat.st_size).ok(),
            _ => None,
        }
    }
}

async fn again_if_interrupted<F: Future<Output = io::Result<()>>>(
    begin: impl Fn() -> F,
) -> io::Result<()> {
    loop {
        match begin().await {
            Err(error) if is_transient(&error) => {}
            result => return result,
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN))
}

/// A transfer that may take several operations.
///
/// A short one goes on from the last whole sector, because direct I/O needs one to start at: of
/// 65,536 bytes asked and 10,000 done, 8,192 count, and the next operation begins there.
struct Progress {
    op: DeviceOp,
    offset: u64,
    asked: usize,
    done: usize,
}

impl Progress {
    fn new(op: DeviceOp, offset: u64, asked: usize) -> Self {
        Progress { op, offset, asked, done: 0 }
    }

    fn is_complete(&self) -> bool {
        self.done == self.asked
    }

    fn place(&self) -> u64 {
        self.offset + self.done as u64
    }

    fn take(&mut self, result: io::Result<usize>) -> Result<(), DeviceError> {
        let count = match result {
            Ok(count) => count,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(error) => return Err(of_os(self.op, self.offset, &error)),
        };
        let reached = self.done + count;
        let counts =
            if reached == self.asked { reached } else { reached / SECTOR_BYTES * SECTOR_BYTES };
        if counts == self.done {
            return Err(DeviceError::Short {
                op: self.op,
                offset: self.offset,
                asked: self.asked,
                done: reached,
            });
        }
        self.done = counts;
        Ok(())
    }
}

/// The error as the store reads it.
pub(crate) fn of_os(op: DeviceOp, offset: u64, error: &io::Error) -> DeviceError {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => DeviceError::NoSpace { offset },
        Some(libc::ENODEV | libc::ENXIO | libc::ENOMEDIUM) => DeviceError::Gone,
        errno => DeviceError::Os { op, offset, errno: errno.unwrap_or(libc::EIO) },
    }
}

#[cfg(test)]
mod tests;
