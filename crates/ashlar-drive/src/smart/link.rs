//! What connects a drive, as the kernel and the drive tell.

use std::path::Path;

/// What connects a drive.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Link {
    /// As the kernel writes it: `16.0 GT/s PCIe`, `6.0 Gbps`.
    pub speed: Option<String>,
    /// What the drive could do.
    pub speed_max: Option<String>,
    /// Lanes of PCI Express, or phys of SAS.
    pub width: Option<u8>,
    /// Lanes that the drive has.
    pub width_max: Option<u8>,
    /// It is slower or narrower than drive and slot could be: a cable, a connector, dust.
    pub is_degraded: bool,
}

/// The link of the drive of which the controller, or the SCSI device, has this directory, and which
/// says this itself. None: nobody says.
pub(super) fn of(device: &Path, said: Option<&Link>) -> Option<Link> {
    pcie(device).or_else(|| sata(device, said)).or_else(|| sas(device, said)).or(said.cloned())
}

/// The PCI function above an NVMe controller.
fn pcie(controller: &Path) -> Option<Link> {
    // Behind SATA and SAS it is the adapter's.
    let is_own = controller.components().any(|part| part.as_os_str() == "nvme");
    let function = controller.ancestors().find(|dir| dir.join("current_link_speed").exists())?;
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
    Some(Link { speed: Some(speed), speed_max, width: Some(width), width_max, is_degraded })
}

/// The ATA link above a SCSI disk: `.../ata3/host2/target2:0:0/2:0:0:0`.
fn sata(disk: &Path, said: Option<&Link>) -> Option<Link> {
    let port = above(disk, "ata")?;
    let number = name(port).strip_prefix("ata")?;
    let link = port.join(format!("link{number}/ata_link/link{number}"));
    let known = |name| text(&link, name).filter(|speed| speed.ends_with("Gbps"));
    let speed = known("sata_spd")?;
    let speed_max =
        said.and_then(|said| said.speed_max.clone()).or_else(|| known("hw_sata_spd_limit"));
    // Both limits begin as the port's own, if it has one. The kernel lowers the first of them when
    // there are errors.
    let could_be = [speed_max.clone(), known("hw_sata_spd_limit")];
    let could_be = could_be.iter().flatten().map(|speed| rate(speed)).min();
    let limit = known("sata_spd_limit").map(|limit| rate(&limit));
    let is_degraded = could_be.zip(limit).is_some_and(|(could_be, limit)| could_be > limit);
    Some(Link { speed: Some(speed), speed_max, is_degraded, ..Link::default() })
}

/// The SAS port above a SCSI disk. How fast the drive could be is not said there: the limits are
/// the adapter's.
fn sas(disk: &Path, said: Option<&Link>) -> Option<Link> {
    let port = above(disk, "port-")?;
    let entries = std::fs::read_dir(port).ok()?.flatten().map(|entry| entry.path());
    let phys: Vec<_> = entries.filter(|path| name(path).starts_with("phy-")).collect();
    let rate = |phy: &std::path::PathBuf| {
        text(&phy.join("sas_phy").join(name(phy)), "negotiated_linkrate")
    };
    let speed = phys.iter().find_map(rate)?;
    let speed_max = said.and_then(|said| said.speed_max.clone());
    let width = u8::try_from(phys.len()).ok();
    Some(Link { speed: Some(speed), speed_max, width, ..Link::default() })
}

/// The nearest directory above `dir` whose name is this and a number.
fn above<'a>(dir: &'a Path, start: &str) -> Option<&'a Path> {
    let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    dir.ancestors().find(|dir| name(dir).strip_prefix(start).is_some_and(is_number))
}

/// The number that a speed begins with, in tenths.
fn rate(speed: &str) -> u32 {
    let number = speed.split_whitespace().next().unwrap_or_default();
    number.parse::<f32>().map_or(0, |number| (number * 10.0).round() as u32)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn text(dir: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(dir.join(name)).ok()?;
    Some(text.trim().to_owned())
        .filter(|text| !text.is_empty() && !text.eq_ignore_ascii_case("unknown"))
}

fn width(dir: &Path, name: &str) -> Option<u8> {
    text(dir, name)?.parse().ok()
}
