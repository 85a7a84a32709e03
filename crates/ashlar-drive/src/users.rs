//! Who uses a drive already, by whatever name: nobody's data is overwritten because it was reached
//! another way.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::lock;
use crate::machine::{DeviceNumber, Machine};

/// A mount, as `/proc/self/mountinfo` tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mount {
    /// The file system's device. Some file systems have one of their own here.
    device: DeviceNumber,
    /// What was mounted.
    source: PathBuf,
    /// Where.
    target: String,
}

/// What is mounted, and what is swap space.
#[derive(Default)]
struct InUse {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
}

/// What uses a block device that cannot be opened exclusively: another daemon, a mount, swap space,
/// or what is stacked on it or on a part of it.
pub(crate) fn user_of_device(node: &Stat) -> String {
    if let Some(holder) = lock::holder(node) {
        return holder;
    }
    let machine = Machine::default();
    let user = use_of_device(&machine, &InUse::now(), DeviceNumber::of(node.st_rdev));
    user.unwrap_or_else(|| "another process has it open exclusively, or a part of it".to_owned())
}

/// What uses a file although no lock says so: swap space, or a loop device that is itself used; or
/// a program that has locked a part of it, as virtual machines do with their disks.
pub(crate) fn user_of_file(file: &Stat) -> Option<String> {
    let (machine, in_use) = (Machine::default(), InUse::now());
    let is_it = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (file.st_dev, file.st_ino))
    };
    if in_use.swaps.iter().any(|path| is_it(path)) {
        return Some("it is used as swap space".to_owned());
    }
    let loops = machine.loops().into_iter().filter(|(_, backing)| is_it(backing));
    let user_of_loop = |(number, _): (DeviceNumber, PathBuf)| {
        let node = machine.describe(number)?.node;
        let used = use_of_device(&machine, &in_use, number);
        let used = used.or_else(|| {
            is_open_exclusively(&node).then(|| "another process has it open".to_owned())
        })?;
        Some(format!("{} is this file, and {used}", node.display()))
    };
    loops.into_iter().find_map(user_of_loop).or_else(|| lock::holder_of_part(file))
}

fn use_of_device(machine: &Machine, in_use: &InUse, number: DeviceNumber) -> Option<String> {
    let is_it = |path: &PathBuf| device_at(path) == Some(number);
    if let Some(mount) =
        in_use.mounts.iter().find(|mount| mount.device == number || is_it(&mount.source))
    {
        return Some(format!("it is mounted on {}", mount.target));
    }
    if in_use.swaps.iter().any(is_it) {
        return Some("it is used as swap space".to_owned());
    }
    let holders = machine.holders(number);
    if !holders.is_empty() {
        return Some(format!("it is part of {}", holders.join(", ")));
    }
    let parts = machine.partitions(number).into_iter();
    let mut used =
        parts.filter_map(|(part, name)| Some((name, use_of_device(machine, in_use, part)?)));
    used.next().map(|(name, used)| format!("its partition {name} is in use: {used}"))
}

fn device_at(path: &Path) -> Option<DeviceNumber> {
    let found = fs::metadata(path).ok()?;
    found.file_type().is_block_device().then(|| DeviceNumber::of(found.rdev()))
}

fn is_open_exclusively(node: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(node, flags, Mode::empty()).err() == Some(Errno::BUSY)
}

impl InUse {
    fn now() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        InUse::of(&text("/proc/self/mountinfo"), &text("/proc/swaps"))
    }

    /// `36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw`, and `/dev/sda2 partition
    /// 1048572 0 -2` below a line of titles.
    fn of(mountinfo: &str, swaps: &str) -> Self {
        let swaps = swaps
            .lines()
            .skip(1)
            .filter_map(|line| Some(unescaped(line.split_whitespace().next()?)));
        InUse {
            mounts: mountinfo.lines().filter_map(mount).collect(),
            swaps: swaps.map(PathBuf::from).collect(),
        }
    }
}

fn mount(line: &str) -> Option<Mount> {
    let (place, what) = line.split_once(" - ")?;
    let [_, _, device, _, target, ..] = place.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let (major, minor) = device.split_once(':')?;
    let device = DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? };
    let source = what.split(' ').nth(1)?;
    Some(Mount { device, source: unescaped(source).into(), target: unescaped(target) })
}

/// The kernel writes blanks in paths as octal numbers.
fn unescaped(text: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests;
