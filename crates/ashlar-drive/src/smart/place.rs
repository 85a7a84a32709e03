//! Where a drive is that can be asked: which disk, which device node, and what it speaks.

use std::fmt;
use std::path::{Path, PathBuf};

use super::Smart;

/// What is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Nvme,
    Ata,
    Scsi,
}

/// Why a device says nothing of its health.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Silent {
    /// The kernel has no such device.
    Gone,
    /// It is a file.
    File,
    /// It stands on other devices.
    Stacked,
    /// No drive is behind it alone.
    Virtual,
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Silent::Gone => "the kernel has no such device",
            Silent::File => "a file says nothing of its health",
            Silent::Stacked => "it stands on other devices, which are to be asked instead",
            Silent::Virtual => "a virtual drive says nothing of its health",
        })
    }
}

impl Smart {
    /// The drive that the kernel calls so; of a partition the disk.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn of(kernel_name: &str) -> Result<Self, Silent> {
        Self::below(Path::new("/"), kernel_name)
    }

    /// The same on a machine whose `/sys` and `/dev` lie below `root`.
    pub(super) fn below(root: &Path, kernel_name: &str) -> Result<Self, Silent> {
        let link = root.join("sys/class/block").join(kernel_name);
        let dir = link.canonicalize().map_err(|_| Silent::Gone)?;
        let disk = match dir.parent() {
            Some(disk) if dir.join("partition").exists() => disk.to_owned(),
            _ => dir,
        };
        let name = name_of(&disk).to_owned();
        let dev = root.join("dev");
        if name.starts_with("nvme") {
            let device = controller(&disk).ok_or(Silent::Gone)?;
            // The namespace's node leads to its controller, too, where there is no other.
            let own = dev.join(name_of(&device));
            let node = if own.exists() { own } else { dev.join(&name) };
            return Ok(Smart { kind: Kind::Nvme, node, disk, device });
        }
        let kind = kind_of_disk(&name, &disk)?;
        let device = disk.join("device").canonicalize().map_err(|_| Silent::Gone)?;
        Ok(Smart { kind, node: dev.join(&name), disk, device })
    }
}

fn kind_of_disk(name: &str, disk: &Path) -> Result<Kind, Silent> {
    if name.starts_with("loop") {
        return Err(Silent::File);
    }
    if ["dm-", "md", "bcache"].iter().any(|start| name.starts_with(start)) {
        return Err(Silent::Stacked);
    }
    let vendor = text(&disk.join("device/vendor")).filter(|_| name.starts_with("sd"));
    match vendor.as_deref() {
        // What hypervisors make up knows no page that would say anything of a drive.
        None | Some("QEMU" | "VMware" | "Msft" | "VBOX" | "Google") => Err(Silent::Virtual),
        Some("ATA") => Ok(Kind::Ata),
        Some(_) => Ok(Kind::Scsi),
    }
}

/// The directory of the controller of a namespace. Where several lead to it, a subsystem stands
/// between, and one is taken that works.
fn controller(disk: &Path) -> Option<PathBuf> {
    let device = disk.join("device").canonicalize().ok()?;
    if !name_of(&device).starts_with("nvme-subsys") {
        return Some(device);
    }
    let names = std::fs::read_dir(&device).ok()?.flatten().map(|entry| entry.path());
    let mut controllers: Vec<PathBuf> = names.filter(|path| is_controller(path)).collect();
    controllers.sort();
    let is_live = |path: &&PathBuf| text(&path.join("state")).as_deref() == Some("live");
    let found = controllers.iter().find(is_live).or(controllers.first())?;
    found.canonicalize().ok()
}

/// `nvme0`, and not `nvme0n1`.
fn is_controller(path: &Path) -> bool {
    name_of(path).strip_prefix("nvme").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Whether the kernel has put the drive to sleep: any command would wake it. Of an NVMe controller
/// it is the PCI function below it that may sleep.
pub(super) fn sleeps(device: &Path) -> bool {
    let is_asleep = |file: &str| {
        let status = text(&device.join(file));
        status.is_some_and(|status| matches!(status.as_str(), "suspended" | "suspending"))
    };
    ["power/runtime_status", "device/power/runtime_status"].into_iter().any(is_asleep)
}

/// Whether it has platters; none: the kernel does not say.
pub(super) fn is_rotational(disk: &Path) -> Option<bool> {
    text(&disk.join("queue/rotational")).map(|rotational| rotational != "0")
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn text(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}
