//! What connects a drive, as the kernel tells.

use std::path::{Path, PathBuf};

/// What connects a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// As the kernel writes it: `16.0 GT/s PCIe`, `6.0 Gbps`.
    pub speed: String,
    /// What the drive could do.
    pub speed_max: Option<String>,
    /// Lanes of PCI Express.
    pub width: Option<u8>,
    /// Lanes that the drive has.
    pub width_max: Option<u8>,
    /// It is slower or narrower than drive and slot could be: a cable, a connector, dust.
    pub is_degraded: bool,
}

/// The link of the drive whose directory is `disk`. None: the kernel does not say.
pub(super) fn of(disk: &Path) -> Option<Link> {
    let device = disk.join("device").canonicalize().ok()?;
    pcie(&device).or_else(|| sata(&device))
}

/// The PCI function above an NVMe controller.
fn pcie(controller: &Path) -> Option<Link> {
    let function = controller.ancestors().find(|dir| dir.join("current_link_speed").exists())?;
    // Behind SATA and SAS it is the adapter's.
    let is_own = controller.components().any(|part| part.as_os_str() == "nvme");
    let width = width(function, "current_link_width").filter(|width| is_own && *width > 0)?;
    let speed = text(function, "current_link_speed")?;
    let (speed_max, width_max) =
        (text(function, "max_link_speed"), self::width(function, "max_link_width"));
    let slot = function.parent();
    let slot_speed = slot.and_then(|slot| text(slot, "max_link_speed"));
    let slot_width = slot.and_then(|slot| self::width(slot, "max_link_width"));
    let could_be = [speed_max.as_deref(), slot_speed.as_deref()];
    let is_slow = could_be.iter().all(|it| it.is_some_and(|it| rate(it) > rate(&speed)));
    let is_narrow = [width_max, slot_width].iter().all(|it| it.is_some_and(|it| it > width));
    let is_degraded = is_slow || is_narrow;
    Some(Link { speed, speed_max, width: Some(width), width_max, is_degraded })
}

/// The ATA link above a SCSI disk: `.../ata3/host2/target2:0:0/2:0:0:0`.
fn sata(disk: &Path) -> Option<Link> {
    let port = disk.ancestors().find(|dir| {
        let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix("ata").is_some_and(|number| number.parse::<u32>().is_ok())
    })?;
    let number = port.file_name()?.to_str()?.strip_prefix("ata")?.to_owned();
    let link: PathBuf = port.join(format!("link{number}/ata_link/link{number}"));
    let known = |name| text(&link, name).filter(|speed| speed.ends_with("Gbps"));
    let speed = known("sata_spd")?;
    let speed_max = known("hw_sata_spd_limit");
    let limit = known("sata_spd_limit");
    // The kernel lowers its own limit when there are errors.
    let is_degraded = match (&speed_max, &limit) {
        (Some(max), Some(limit)) => rate(max) > rate(limit),
        _ => false,
    };
    Some(Link { speed, speed_max, width: None, width_max: None, is_degraded })
}

/// The number that a speed begins with, in tenths.
fn rate(speed: &str) -> u32 {
    let number = speed.split_whitespace().next().unwrap_or_default();
    number.parse::<f32>().map_or(0, |number| (number * 10.0).round() as u32)
}

fn text(dir: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(dir.join(name)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty() && text != "Unknown")
}

fn width(dir: &Path, name: &str) -> Option<u8> {
    text(dir, name)?.parse().ok()
}
