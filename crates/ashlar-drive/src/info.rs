//! What is known of a drive.

use std::fmt;
use std::path::PathBuf;

use crate::slot::Slot;

/// What a drive is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DriveKind {
    /// A block device, or a partition of one.
    Block,
    /// A file.
    File,
    /// Memory.
    Memory,
    /// Nothing.
    Null,
}

impl fmt::Display for DriveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DriveKind::Block => "block device",
            DriveKind::File => "file",
            DriveKind::Memory => "memory",
            DriveKind::Null => "null",
        })
    }
}

/// What is known of an open drive. Does not change while it is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriveInfo {
    /// Where it was found; `None` for memory.
    pub path: Option<PathBuf>,
    /// What it is made of.
    pub kind: DriveKind,
    /// Its size, a multiple of 4 KiB.
    pub size_bytes: u64,
    /// Whether I/O goes past the page cache. If not, every byte is copied and cached once more, and
    /// latency depends on the host's memory pressure.
    pub direct: bool,
    /// Whether a write that has ended may still be lost with the power, unless it was written
    /// through. A file always counts as volatile.
    pub volatile_cache: bool,
    /// Whether space is taken from the file system only as it is written.
    pub sparse: bool,
    /// What the kernel calls the block device: `nvme1n1`. `None`: it is none, or the kernel does
    /// not say.
    pub kernel_name: Option<String>,
    /// The device's model; of a file, nothing. Of a modelled drive, that it is one.
    pub model: Option<String>,
    /// The device's serial number.
    pub serial: Option<String>,
    /// The slot that it is in, if the kernel knows it and can switch its light.
    pub slot: Option<Slot>,
    /// Whether it spins; of a file, the device under its file system. `None` if that is not known.
    pub rotational: Option<bool>,
    /// Whether it may be told what is no longer needed.
    pub discards: bool,
    /// Smallest unit of I/O, in bytes.
    pub logical_sector_bytes: u32,
    /// Smallest unit that the device writes without reading first, in bytes.
    pub physical_sector_bytes: u32,
}
