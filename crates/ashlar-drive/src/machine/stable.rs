//! Which of the names that udev gives to a device is remembered.

/// Beginnings of names below `/dev/disk/by-id`, the best first. A name that the drive itself
/// carries lasts longest; one of model and serial number may change with a driver or a firmware.
const BEGINNINGS: [&str; 12] = [
    "nvme-eui.",
    "nvme-uuid.",
    "wwn-",
    "dm-uuid-mpath-",
    "md-uuid-",
    "scsi-",
    "nvme-",
    "dm-name-",
    "md-name-",
    "dm-uuid-",
    "",
    // It names the volume manager's use of the device, not the device.
    "lvm-pv-uuid-",
];

/// A name's place among those of one device: the least is remembered. Of two of a kind the shorter
/// one, then the first in the alphabet.
pub fn preference(name: &str) -> (usize, usize, &str) {
    let begins = |beginning: &&str| !beginning.is_empty() && name.starts_with(*beginning);
    let others =
        BEGINNINGS.iter().position(|beginning| beginning.is_empty()).unwrap_or(BEGINNINGS.len());
    let place = BEGINNINGS.iter().position(begins).unwrap_or(others);
    (place, name.len(), name)
}
