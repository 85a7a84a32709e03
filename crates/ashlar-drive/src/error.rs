//! Why a drive could not be opened.

use std::io;
use std::path::{Path, PathBuf};

use ashlar_block::{ByteSize, SECTOR_BYTES, printable};

use crate::model::ProfileError;
use crate::spec::DRIVE_BYTES_MIN;

/// Why a drive could not be opened or made, and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Nothing there.
    #[error("{}: there is no such {what}", shown(path))]
    NotFound {
        /// The drive.
        path: PathBuf,
        /// A file or a device.
        what: &'static str,
    },
    /// A file was to be made, and nobody has said how large.
    #[error("{}: there is no such file: size= makes it, as in file:PATH,size=4GiB", shown(path))]
    NoSize {
        /// The file.
        path: PathBuf,
    },
    /// A file was to be made in a directory that does not exist.
    #[error("{}: its directory {} does not exist: make it first", shown(path), shown(parent))]
    NoParent {
        /// The file.
        path: PathBuf,
        /// What is missing.
        parent: PathBuf,
    },
    /// Not permitted.
    #[error(
        "{}: permission denied: run the daemon as a user that may read and write it (block devices: the \
         group disk, or root)",
        shown(path)
    )]
    Denied {
        /// The drive.
        path: PathBuf,
        /// As the operating system says it.
        source: io::Error,
    },
    /// In use.
    #[error("{}: in use: {holder}", shown(path))]
    InUse {
        /// The drive.
        path: PathBuf,
        /// By whom, as far as can be found out.
        holder: String,
    },
    /// A file where a block device was named.
    #[error("{0} is a file: to use it as a drive, write file:{0}", shown(path))]
    IsFile {
        /// The file.
        path: PathBuf,
    },
    /// A block device where a file was named.
    #[error("{0} is a block device: write {0}, without file:", shown(path))]
    IsBlockDevice {
        /// The device.
        path: PathBuf,
    },
    /// Neither file nor block device.
    #[error("{}: neither a block device nor a regular file", shown(path))]
    NotADrive {
        /// What was named.
        path: PathBuf,
    },
    /// A file that was to be there has another size than is said of it.
    #[error(
        "{}: the file has {found} and should have {said}: it was cut off or replaced",
        shown(path)
    )]
    SizeChanged {
        /// The file.
        path: PathBuf,
        /// Its size.
        found: ByteSize,
        /// What is said.
        said: ByteSize,
    },
    /// A file that was to be made exists with another size than was asked for.
    #[error(
        "{}: the file exists with {found}, and size={asked} was asked for: leave size= out to use it as it \
         is, or name another file",
        shown(path)
    )]
    SizeDiffers {
        /// The file.
        path: PathBuf,
        /// Its size.
        found: ByteSize,
        /// What was asked.
        asked: ByteSize,
    },
    /// Not a whole number of sectors.
    #[error(
        "{}: {bytes} bytes are not a multiple of {SECTOR_BYTES}: the file was cut off, or is no \
         drive",
        shown(path)
    )]
    Unaligned {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Too small.
    #[error(
        "{}: {size} is too small for a drive: it needs at least {}",
        shown(path),
        ByteSize(DRIVE_BYTES_MIN)
    )]
    TooSmall {
        /// The drive.
        path: PathBuf,
        /// Its size.
        size: ByteSize,
    },
    /// No room for the file.
    #[error(
        "{}: no room for {asked}: its file system has {free} free. Make room, choose a smaller size=, or, \
         for a demonstration, sparse=on, which takes space as it is written",
        shown(path)
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// What was asked.
        asked: ByteSize,
        /// What there is.
        free: ByteSize,
    },
    /// The file system cannot set space aside.
    #[error(
        "{}: its file system cannot reserve space (no fallocate): choose another one, or add \
         sparse=on, which reserves nothing",
        shown(path)
    )]
    NoReservation {
        /// The file.
        path: PathBuf,
    },
    /// Sectors larger than the store's.
    #[error(
        "{}: its sectors of {sector_bytes} bytes are larger than the {SECTOR_BYTES} that Ashlar writes",
        shown(path)
    )]
    SectorsTooLarge {
        /// The drive.
        path: PathBuf,
        /// Bytes of its logical sector.
        sector_bytes: u32,
    },
    /// It was to be modelled by a profile that is none.
    #[error("{drive}: it cannot be modelled")]
    Model {
        /// The drive.
        drive: String,
        /// Why not.
        source: ProfileError,
    },
    /// There is no thread to open it with.
    #[error(
        "{drive}: no thread can be started to open it: the process is at a limit (ulimit -u, or its cgroup)"
    )]
    Thread {
        /// The drive.
        drive: String,
        /// As the operating system says it.
        source: io::Error,
    },
    /// Anything else that the operating system reported.
    #[error("{}: {step} failed", shown(path))]
    Os {
        /// The drive.
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}
