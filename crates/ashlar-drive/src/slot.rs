//! The slot that a drive is in, and the light by which people find it.
//!
//! Two drivers of the kernel know slots. `ses` shows those of SAS and SATA enclosures: a disk has a
//! link `enclosure_device:NAME` to its slot, and the slot a file `locate` (SES-3, section 7.2.3).
//! Native PCIe Enclosure Management (PCIe 6.0, section 7.9.19; Linux 6.13) shows lights of NVMe
//! slots as LEDs, of the drive or of the port that it is behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Dev;

use crate::sysfs;

/// A slot whose light can be switched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    /// How people are told of it: `slot 3 of enclosure 500304801ef2a93f`.
    pub name: String,
    /// The file that switches its light.
    pub light: PathBuf,
}

/// What the names of NPEM's lights end with.
const LED_END: &str = ":enclosure:locate";

/// The slot that `device` is in, if the kernel knows one.
pub(crate) fn slot_of(device: Dev) -> Option<Slot> {
    slot_of_disk(&sysfs::disk_dir(&sysfs::device_dir(device))?)
}

/// The slot that the block device at `path` is in, if the kernel knows one.
///
/// # Errors
/// When there is nothing at `path`, or no block device.
pub fn slot_at(path: &Path) -> io::Result<Option<Slot>> {
    let found = rustix::fs::stat(path)?;
    let kind = rustix::fs::FileType::from_raw_mode(found.st_mode);
    if kind != rustix::fs::FileType::BlockDevice {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no block device"));
    }
    Ok(slot_of(found.st_rdev))
}

/// Switches the light of a slot.
///
/// # Errors
/// When the enclosure does not take it, or the file cannot be written.
pub fn switch_light(light: &Path, on: bool) -> io::Result<()> {
    fs::write(light, if on { "1" } else { "0" })
}

fn slot_of_disk(disk: &Path) -> Option<Slot> {
    let device = disk.join("device").canonicalize().ok()?;
    ses_slot(&device).or_else(|| npem_slot(&device))
}

fn ses_slot(device: &Path) -> Option<Slot> {
    let link = names_in(device).find(|name| name.starts_with("enclosure_device:"))?;
    let slot = device.join(&link).canonicalize().ok()?;
    let light = slot.join("locate");
    if !light.exists() {
        return None;
    }
    let number = text(&slot.join("slot")).map(|number| format!("slot {number}"));
    let slot_name = number.or_else(|| Some(slot.file_name()?.to_str()?.to_owned()))?;
    let enclosure = slot.parent()?;
    let id = text(&enclosure.join("id")).map(|id| id.trim_start_matches("0x").to_owned());
    let id = id.or_else(|| Some(enclosure.file_name()?.to_str()?.to_owned()))?;
    Some(Slot { name: format!("{slot_name} of enclosure {id}"), light })
}

fn npem_slot(device: &Path) -> Option<Slot> {
    let functions = controllers(device).into_iter();
    let function = functions.filter_map(|it| it.join("device").canonicalize().ok()).next()?;
    let port = function.parent().map(Path::to_owned);
    std::iter::once(function).chain(port).find_map(|function| {
        let leds = function.join("leds");
        let led = names_in(&leds).find(|name| name.ends_with(LED_END))?;
        let light = leds.join(&led).join("brightness");
        let name = format!("slot of PCI device {}", led.strip_suffix(LED_END)?);
        Some(Slot { name, light })
    })
}

/// The NVMe controllers behind what a namespace's `device` leads to: itself, or those of its
/// subsystem.
fn controllers(device: &Path) -> Vec<PathBuf> {
    if device.join("device").exists() {
        return vec![device.to_owned()];
    }
    let is_controller = |name: &String| {
        let number = name.strip_prefix("nvme").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let linked = names_in(device).filter(is_controller);
    linked.filter_map(|name| device.join(name).canonicalize().ok()).collect()
}

fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The names in a directory, sorted; none if it is not there.
fn names_in(dir: &Path) -> std::vec::IntoIter<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.into_iter()
}

#[cfg(test)]
mod tests;
