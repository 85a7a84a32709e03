//! Which storage a drive is made of: two names may lead to one drive, and a drive may lie on
//! another one.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::machine::{DeviceNumber, Machine};

/// Something that storage lies on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ground {
    /// A block device.
    Device(DeviceNumber),
    /// A file.
    File {
        /// The file system that it is on.
        device: u64,
        /// Its inode there.
        inode: u64,
    },
    /// A disk by the name that it carries itself: several paths may lead to it.
    Disk(String),
}

/// What a drive is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// The drive itself.
    own: Ground,
    /// All that it lies on, whichever part of it.
    below: BTreeSet<Ground>,
    /// Parts of files and disks that it takes whole.
    takes: Vec<(Ground, Range<u64>)>,
}

/// How two drives are in each other's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// They are one drive.
    Same,
    /// The first lies on the second: it is a partition of it, or is stacked on it.
    On,
    /// The second lies on the first.
    Below,
}

impl Footprint {
    /// How the two are in each other's way; `None`: they are not.
    pub fn overlap(&self, other: &Footprint) -> Option<Overlap> {
        let parts = |one: &Footprint| one.takes.clone();
        let meets = |(ground, part): &(Ground, Range<u64>)| {
            parts(other)
                .iter()
                .any(|(on, other)| on == ground && part.start < other.end && other.start < part.end)
        };
        match () {
            () if self.own == other.own => Some(Overlap::Same),
            () if self.below.contains(&other.own) => Some(Overlap::On),
            () if other.below.contains(&self.own) => Some(Overlap::Below),
            () => parts(self).iter().any(meets).then_some(Overlap::Same),
        }
    }
}

/// Deepest stack of devices that is looked through.
const DEPTH_MAX: usize = 16;

impl Machine {
    /// What the drive at `path` is made of; `None` if nothing is there, or neither a block device
    /// nor a file.
    pub fn footprint(&self, path: &Path) -> Option<Footprint> {
        let own = ground_of(path)?;
        let mut footprint =
            Footprint { own: own.clone(), below: BTreeSet::new(), takes: Vec::new() };
        match own {
            Ground::Device(number) => {
                self.look_below(number, 0..u64::MAX, DEPTH_MAX, &mut footprint)
            }
            ground => footprint.takes.push((ground, 0..u64::MAX)),
        }
        Some(footprint)
    }

    /// Adds what the device lies on. `part`: of the device, what the drive in question takes of it.
    fn look_below(
        &self,
        number: DeviceNumber,
        part: Range<u64>,
        depth: usize,
        found: &mut Footprint,
    ) {
        let Some(stack) = self.stack(number).filter(|_| depth > 0) else { return };
        for below in stack.below {
            found.below.insert(Ground::Device(below));
            self.look_below(below, 0..0, depth - 1, found);
        }
        if let Some(wwid) = stack.wwid {
            found.takes.push((Ground::Disk(wwid), part.clone()));
        }
        let Some((file, bytes)) = stack.backing else { return };
        match ground_of(&file) {
            Some(Ground::Device(below)) => {
                found.below.insert(Ground::Device(below));
                self.look_below(below, bytes, depth - 1, found);
            }
            Some(ground) => {
                found.below.insert(ground.clone());
                found.takes.push((ground, bytes));
            }
            None => {}
        }
    }
}

fn ground_of(path: &Path) -> Option<Ground> {
    let found = fs::metadata(path).ok()?;
    if found.file_type().is_block_device() {
        return Some(Ground::Device(DeviceNumber::of(found.rdev())));
    }
    found.is_file().then(|| Ground::File { device: found.dev(), inode: found.ino() })
}

/// What the kernel says that a device lies on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stack {
    /// The disk of a partition, or the devices that it is stacked on.
    pub(crate) below: Vec<DeviceNumber>,
    /// The file of a loop device, and what of it the device takes.
    pub(crate) backing: Option<(PathBuf, Range<u64>)>,
    /// The name that a whole disk carries itself.
    pub(crate) wwid: Option<String>,
}

#[cfg(test)]
mod tests;
