//! What tells a drive from others also after a restart, whatever the kernel calls it then.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::{DeviceNumber, Machine};

/// Between a file's inode and when it was made.
const MADE_AT: &str = " made at ";

impl Machine {
    /// What tells the drive at `path` from others, also after a restart. `None`: nothing is there,
    /// or nothing tells.
    pub fn lasting_identity(&self, path: &Path) -> Option<String> {
        let found = fs::metadata(path).ok()?;
        if found.file_type().is_block_device() {
            return self.identity_of_device(DeviceNumber::of(found.rdev()));
        }
        found.is_file().then(|| identity_of_file(&found))
    }

    /// Whether two of these identities are of one drive. When a file was made tells only where both
    /// say it: file systems and kernels begin to know that.
    pub fn is_same_drive(one: &str, other: &str) -> bool {
        let (of_one, of_other) = (one.split_once(MADE_AT), other.split_once(MADE_AT));
        match (of_one, of_other) {
            (Some((inode, _)), None) => inode == other,
            (None, Some((inode, _))) => inode == one,
            _ => one == other,
        }
    }

    fn identity_of_device(&self, number: DeviceNumber) -> Option<String> {
        let dir = self.dir(number).canonicalize().ok()?;
        match self.number_in(&dir.join("partition")) {
            Some(partition) => {
                Some(format!("{} partition {partition}", self.identity_of_disk(dir.parent()?)?))
            }
            None => self.identity_of_disk(&dir),
        }
    }

    /// A name that the disk carries itself, or what it is made of.
    fn identity_of_disk(&self, dir: &Path) -> Option<String> {
        let said = |file: &str| {
            let text = self.text(&dir.join(file))?.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let on_file = || {
            let (file, part) = self.backing(dir)?;
            Some(format!("{} from byte {}", file.display(), part.start))
        };
        let mapped = || said("dm/uuid").or_else(|| said("dm/name"));
        let own = || said("wwid").or_else(|| said("device/wwid"));
        on_file()
            .or_else(mapped)
            .or_else(own)
            .or_else(|| said("serial"))
            .or_else(|| said("device/serial"))
    }
}

/// Inodes are used again: when the file was made tells it from the one before, where the file
/// system knows that.
fn identity_of_file(found: &fs::Metadata) -> String {
    let made = found.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let inode = format!("inode {}", found.ino());
    made.map_or(inode.clone(), |made| {
        format!("{inode}{MADE_AT}{}.{:09}", made.as_secs(), made.subsec_nanos())
    })
}

#[cfg(test)]
mod tests;
