//! Which block devices the machine has, as the kernel and udev show them.
//!
//! A look at the whole machine costs one read of `/proc/partitions`. Further reads are made only
//! for a device that is new or has changed, so that a machine with a thousand devices costs next to
//! nothing while nothing happens. [`Machine::operations`] counts them, and tests hold the scan to
//! that number.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Dev, major, minor};

use crate::footprint::Stack;

pub use stable::preference;

mod identity;
mod stable;

/// The unit in which the kernel tells sizes.
const SECTOR_BYTES_OF_KERNEL: u64 = 512;

/// A block device's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DeviceNumber {
    /// Which driver it belongs to.
    pub major: u32,
    /// Which of the driver's devices it is.
    pub minor: u32,
}

impl DeviceNumber {
    /// The number that `stat` reports.
    pub fn of(device: Dev) -> Self {
        DeviceNumber { major: major(device), minor: minor(device) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A block device of which the kernel knows a size. Devices without one (no medium, an unused loop
/// device) are not listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// Its size in KiB, rounded down.
    pub size_kib: u64,
    /// The kernel's name: `nvme1n1`, `sda3`.
    pub name: String,
}

/// What the kernel says of one block device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockDevice {
    /// Its number.
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: String,
    /// Its node below `/dev`.
    pub node: PathBuf,
    /// Grows whenever another disk or medium is behind the number. A partition has its disk's.
    /// `None`: the kernel is older than 5.15.
    pub diskseq: Option<u64>,
    /// What is stacked on it: `dm-0`, `md127`.
    pub holders: Vec<String>,
    /// A device-mapper device whose I/O waits until somebody resumes it.
    pub is_suspended: bool,
    /// The NVMe subsystem that it is a namespace of.
    pub subsystem_nqn: Option<String>,
}

/// The machine's block devices. Clones count their operations together.
#[derive(Clone, Debug)]
pub struct Machine {
    sys: PathBuf,
    proc: PathBuf,
    dev: PathBuf,
    operations: Arc<AtomicU64>,
}

impl Default for Machine {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl Machine {
    /// A machine whose `/sys`, `/proc` and `/dev` lie below `root`: for tests.
    pub fn below(root: &Path) -> Self {
        let (sys, proc, dev) = (root.join("sys"), root.join("proc"), root.join("dev"));
        Machine { sys, proc, dev, operations: Arc::default() }
    }

    /// Files and directories that were read so far.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Its directory of device nodes.
    pub fn dev(&self) -> &Path {
        &self.dev
    }

    /// All devices that have a size. One read.
    pub fn devices(&self) -> Vec<ListedDevice> {
        let text = self.text(&self.proc.join("partitions")).unwrap_or_default();
        text.lines().filter_map(listed_device).collect()
    }

    /// Which disk or medium is behind the number now; changes with it. One or two reads.
    pub fn diskseq(&self, number: DeviceNumber) -> Option<u64> {
        let dir = self.dir(number);
        let own = || self.number_in(&dir.join("diskseq"));
        let of_disk = || self.number_in(&dir.canonicalize().ok()?.parent()?.join("diskseq"));
        own().or_else(of_disk)
    }

    /// What the kernel says of a device; `None` if it has gone.
    pub fn describe(&self, number: DeviceNumber) -> Option<BlockDevice> {
        let dir = self.dir(number).canonicalize().ok()?;
        let name = dir.file_name()?.to_str()?.to_owned();
        let said = self.text(&dir.join("uevent")).unwrap_or_default();
        let said: BTreeMap<&str, &str> =
            said.lines().filter_map(|line| line.split_once('=')).collect();
        let diskseq = said.get("DISKSEQ").and_then(|text| text.parse().ok());
        let node =
            said.get("DEVNAME").map_or_else(|| name.replace('!', "/"), |node| (*node).to_owned());
        Some(BlockDevice {
            number,
            node: self.dev.join(node),
            diskseq: diskseq.or_else(|| self.diskseq(number)),
            holders: self.names_in(&dir.join("holders")),
            is_suspended: name.starts_with("dm-")
                && self.number_in(&dir.join("dm/suspended")) == Some(1),
            subsystem_nqn: name.starts_with("nvme").then(|| self.subsystem_nqn(&dir)).flatten(),
            name,
        })
    }

    /// Of a partition its disk's.
    fn subsystem_nqn(&self, dir: &Path) -> Option<String> {
        let read = |dir: &Path| self.text(&dir.join("device/subsysnqn"));
        let nqn = read(dir).or_else(|| read(dir.parent()?))?;
        Some(nqn.trim().to_owned())
    }

    /// When the names that udev gives to devices changed last; a token to compare. One look.
    pub fn stable_names_mark(&self) -> Option<(i64, i64)> {
        self.count();
        let found = fs::metadata(self.by_id()).ok()?;
        Some((found.mtime(), found.mtime_nsec()))
    }

    /// For each kernel name the name below `/dev/disk/by-id` that is to be remembered, if udev
    /// gives one.
    pub fn stable_names(&self) -> BTreeMap<String, PathBuf> {
        let dir = self.by_id();
        let mut best: BTreeMap<String, String> = BTreeMap::new();
        for id in self.names_in(&dir) {
            let Some(kernel) = self.link_target(&dir.join(&id)) else { continue };
            let known = best.entry(kernel).or_insert_with(|| id.clone());
            if preference(&id) < preference(known) {
                *known = id;
            }
        }
        best.into_iter().map(|(kernel, id)| (kernel, dir.join(id))).collect()
    }

    /// What a device lies on; `None` if it has gone.
    pub(crate) fn stack(&self, number: DeviceNumber) -> Option<Stack> {
        let dir = self.dir(number).canonicalize().ok()?;
        let disk = dir.parent().filter(|_| dir.join("partition").exists());
        let slaves = self
            .names_in(&dir.join("slaves"))
            .into_iter()
            .map(|name| dir.join("slaves").join(name));
        let below = disk.map(Path::to_owned).into_iter().chain(slaves);
        let wwid = || self.text(&dir.join("wwid")).or_else(|| self.text(&dir.join("device/wwid")));
        Some(Stack {
            below: below.filter_map(|dir| self.device_number(&dir)).collect(),
            backing: self.backing(&dir),
            wwid: if disk.is_none() { wwid().map(|wwid| wwid.trim().to_owned()) } else { None }
                .filter(|wwid| !wwid.is_empty()),
        })
    }

    fn device_number(&self, dir: &Path) -> Option<DeviceNumber> {
        let text = self.text(&dir.join("dev"))?;
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// The file of a loop device, and what of it the device takes.
    fn backing(&self, dir: &Path) -> Option<(PathBuf, Range<u64>)> {
        let file = self.text(&dir.join("loop/backing_file"))?;
        let start = self.number_in(&dir.join("loop/offset")).unwrap_or(0);
        let bytes = self.number_in(&dir.join("size"))? * SECTOR_BYTES_OF_KERNEL;
        Some((PathBuf::from(file.trim_end_matches('\n')), start..start + bytes))
    }

    /// What is stacked on a device: `md127`, `dm-0 (vg-data)`.
    pub(crate) fn holders(&self, number: DeviceNumber) -> Vec<String> {
        let dir = self.dir(number).join("holders");
        let named = |holder: String| match self.text(&dir.join(&holder).join("dm/name")) {
            Some(name) => format!("{holder} ({})", name.trim()),
            None => holder,
        };
        self.names_in(&dir).into_iter().map(named).collect()
    }

    /// The partitions of a disk, each with the kernel's name.
    pub(crate) fn partitions(&self, number: DeviceNumber) -> Vec<(DeviceNumber, String)> {
        let dir = self.dir(number);
        let is_partition = |name: &String| dir.join(name).join("partition").exists();
        let partitions = self.names_in(&dir).into_iter().filter(is_partition);
        partitions.filter_map(|name| Some((self.device_number(&dir.join(&name))?, name))).collect()
    }

    /// The loop devices of the machine, each with its file.
    pub(crate) fn loops(&self) -> Vec<(DeviceNumber, PathBuf)> {
        let dir = self.sys.join("block");
        let loops = self.names_in(&dir).into_iter().filter(|name| name.starts_with("loop"));
        let with_file = |name: String| {
            let dir = dir.join(name);
            let (file, _) = self.backing(&dir)?;
            Some((self.device_number(&dir)?, file))
        };
        loops.filter_map(with_file).collect()
    }

    fn by_id(&self) -> PathBuf {
        self.dev.join("disk/by-id")
    }

    /// The last part of where a link of udev leads, which is the kernel's name.
    fn link_target(&self, link: &Path) -> Option<String> {
        self.count();
        let target = fs::read_link(link).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    fn dir(&self, number: DeviceNumber) -> PathBuf {
        self.sys.join(format!("dev/block/{number}"))
    }

    fn count(&self) {
        self.operations.fetch_add(1, Ordering::Relaxed);
    }

    fn text(&self, path: &Path) -> Option<String> {
        self.count();
        fs::read_to_string(path).ok()
    }

    fn number_in(&self, path: &Path) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    /// The names in a directory, sorted; none if it is not there.
    fn names_in(&self, dir: &Path) -> Vec<String> {
        self.count();
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// A line of `/proc/partitions`: major, minor, KiB, name.
fn listed_device(line: &str) -> Option<ListedDevice> {
    let mut fields = line.split_whitespace();
    let mut number = || fields.next()?.parse::<u64>().ok();
    let (major, minor, size_kib) = (number()? as u32, number()? as u32, number()?);
    let name = fields.next()?.to_owned();
    Some(ListedDevice { number: DeviceNumber { major, minor }, size_kib, name })
}

/// Why the label of a device is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unread {
    /// It has no size: no medium.
    Empty,
    /// A floppy or an optical drive: a read may spin up a motor or wait for a medium.
    Removable,
    /// A protected area of a memory card: a read fails and resets the card.
    Protected,
    /// Compressed memory, or a disk in memory: it holds nothing that lasts.
    Memory,
    /// Its I/O waits until somebody resumes it.
    Suspended,
    /// Something else is stacked on it and holds it: that device is looked at instead.
    Held,
    /// A volume that this node serves: what a host has written is not believed.
    Own,
}

const FLOPPY_MAJOR: u32 = 2;
const OPTICAL_MAJORS: [u32; 2] = [11, 22];
const MEMORY_NAMES: [&str; 2] = ["ram", "zram"];
const PROTECTED_NAMES: [&str; 3] = ["rpmb", "boot0", "boot1"];

/// Whether the label of a device may be read, by its number, name and size alone: nothing of it is
/// touched.
pub fn unread_by_name(device: &ListedDevice) -> Option<Unread> {
    let major = device.number.major;
    let is_protected = |end: &str| device.name.starts_with("mmcblk") && device.name.ends_with(end);
    match device.name.as_str() {
        _ if device.size_kib == 0 => Some(Unread::Empty),
        _ if major == FLOPPY_MAJOR || OPTICAL_MAJORS.contains(&major) => Some(Unread::Removable),
        name if MEMORY_NAMES.iter().any(|start| name.starts_with(start)) => Some(Unread::Memory),
        _ if PROTECTED_NAMES.iter().any(|end| is_protected(end)) => Some(Unread::Protected),
        _ => None,
    }
}

/// The same by what the kernel says of it. `own_nqn`: the subsystem that this node serves.
pub fn unread_by_state(device: &BlockDevice, own_nqn: &str) -> Option<Unread> {
    match device {
        _ if device.subsystem_nqn.as_deref() == Some(own_nqn) => Some(Unread::Own),
        _ if device.is_suspended => Some(Unread::Suspended),
        _ if !device.holders.is_empty() => Some(Unread::Held),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
