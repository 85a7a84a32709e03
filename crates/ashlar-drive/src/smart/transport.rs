//! Commands to a drive, and the recorded answers that stand for one in tests.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ashlar_reactor::passthrough::{self, NvmeAdmin, NvmeAnswer, ScsiAnswer};

/// What takes commands.
pub(super) trait Commands {
    /// See [`passthrough::nvme_admin`].
    fn nvme_admin(&self, command: &NvmeAdmin, data: &mut [u8]) -> io::Result<NvmeAnswer>;
    /// See [`passthrough::scsi`].
    fn scsi(&self, command: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer>;
}

/// A device node.
pub(super) struct Node(File);

impl Node {
    /// Opens it. Not for writing: a disk that has been open for writing may spin up when it is
    /// closed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Node(file))
    }
}

impl Commands for Node {
    fn nvme_admin(&self, command: &NvmeAdmin, data: &mut [u8]) -> io::Result<NvmeAnswer> {
        passthrough::nvme_admin(&self.0, command, data)
    }

    fn scsi(&self, command: &[u8], data: &mut [u8]) -> io::Result<ScsiAnswer> {
        passthrough::scsi(&self.0, command, data)
    }
}
