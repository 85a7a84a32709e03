//! A look at a drive without taking it: read only, without a lock, and without an event for udev.
//!
//! A drive that hangs keeps whoever calls this waiting. So it is for threads that nothing else
//! waits for.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

use ashlar_block::{AlignedBuf, SECTOR_BYTES};
use rustix::fs::{FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;

use crate::foreign::{self, ForeignContent, PROBED_BYTES};
use crate::machine::DeviceNumber;

/// What tells whether a drive is still the same, with the same content, as far as that shows
/// without reading it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DriveMark {
    /// A block device.
    Device {
        /// Its number.
        number: DeviceNumber,
        /// Its size in KiB, rounded down.
        size_kib: u64,
        /// See [`crate::BlockDevice::diskseq`].
        diskseq: Option<u64>,
    },
    /// A file.
    File {
        /// The file system that it is on.
        device: u64,
        /// Its inode there.
        inode: u64,
        /// Its size.
        size_bytes: u64,
        /// When it was written last, in seconds and nanoseconds.
        changed: (i64, i64),
    },
}

impl DriveMark {
    /// The mark of a regular file. `None`: it is something else.
    pub fn of_file(found: &fs::Metadata) -> Option<Self> {
        found.is_file().then(|| DriveMark::File {
            device: found.dev(),
            inode: found.ino(),
            size_bytes: found.size(),
            changed: (found.mtime(), found.mtime_nsec()),
        })
    }

    /// Whether both are of one drive, whatever was written to it in between.
    pub fn is_same_drive(&self, other: &DriveMark) -> bool {
        match (self, other) {
            (
                DriveMark::Device { number, diskseq, .. },
                DriveMark::Device { number: of, diskseq: seq, .. },
            ) => (number, diskseq) == (of, seq),
            (
                DriveMark::File { device, inode, .. },
                DriveMark::File { device: on, inode: of, .. },
            ) => (device, inode) == (on, of),
            _ => false,
        }
    }
}

/// A drive that is open for reading.
pub struct Peek {
    descriptor: OwnedFd,
    size_bytes: u64,
}

impl Peek {
    /// Opens a block device or a regular file for reading, past the page cache where that is
    /// possible: another machine may have written to it.
    ///
    /// # Errors
    /// As the operating system says it; [`io::ErrorKind::InvalidInput`] if it is neither.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Without NONBLOCK an optical drive waits for a medium, and a pipe for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let direct = rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty());
        let descriptor = match direct {
            Ok(descriptor) if reads(&descriptor) => descriptor,
            Ok(_) | Err(Errno::INVAL) => rustix::fs::open(path, flags, Mode::empty())?,
            Err(errno) => return Err(errno.into()),
        };
        let size_bytes = size_of(&descriptor, &rustix::fs::fstat(&descriptor)?)?;
        Ok(Peek { descriptor, size_bytes })
    }

    /// Its size.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// `bytes` at `offset`, both multiples of [`SECTOR_BYTES`]; fewer at the end.
    ///
    /// # Errors
    /// As the operating system says it.
    pub fn read(&self, offset: u64, bytes: usize) -> io::Result<AlignedBuf> {
        let mut buf = AlignedBuf::zeroed(bytes);
        let mut done = 0;
        while done < bytes {
            match rustix::io::pread(&self.descriptor, &mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        buf.truncate(done);
        Ok(buf)
    }

    /// What its ends hold; `None` if they are blank.
    ///
    /// # Errors
    /// As the operating system says it.
    pub fn probe(&self) -> io::Result<Option<ForeignContent>> {
        let size_bytes = self.size_bytes / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let probed = size_bytes.min(PROBED_BYTES as u64);
        let first = self.read(0, probed as usize)?;
        let last = self.read(size_bytes - probed, probed as usize)?;
        Ok(foreign::identify(&first, &last, size_bytes))
    }
}

/// Some file systems refuse direct I/O only when they are to read.
fn reads(descriptor: &OwnedFd) -> bool {
    let mut sector = AlignedBuf::stale(SECTOR_BYTES);
    rustix::io::pread(descriptor, &mut sector[..], 0) != Err(Errno::INVAL)
}

fn size_of(descriptor: &OwnedFd, found: &Stat) -> io::Result<u64> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::BlockDevice => Ok(rustix::fs::seek(descriptor, SeekFrom::End(0))?),
        FileType::RegularFile => Ok(found.st_size as u64),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "neither a block device nor a regular file",
        )),
    }
}

#[cfg(test)]
mod tests;
