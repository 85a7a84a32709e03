//! Where drives are, and what connects them, in directories of sysfs that are made for a test.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::super::{Link, link};
use super::{Look, Silent, Smart};

const FAST: &str = "16.0 GT/s PCIe";
const SLOW: &str = "8.0 GT/s PCIe";

/// A machine of which only `/sys` and `/dev` are there.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Self {
        Root(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(self.path(to), path).unwrap();
    }

    /// A disk of that name whose directory is `dir`.
    fn disk(&self, name: &str, dir: &str) {
        self.write(&format!("{dir}/size"), "8");
        self.link(&format!("sys/class/block/{name}"), dir);
    }

    /// A SCSI disk of this vendor.
    fn scsi(&self, name: &str, vendor: &str) {
        let device = format!("sys/devices/host/{name}");
        self.write(&format!("{device}/vendor"), vendor);
        self.disk(name, &format!("{device}/block/{name}"));
        self.link(&format!("{device}/block/{name}/device"), &device);
    }

    /// A namespace of the controller in `dir`, of which there is one.
    fn nvme(&self, dir: &str) {
        self.disk("nvme0n1", &format!("{dir}/nvme0n1"));
        self.link(&format!("{dir}/nvme0n1/device"), dir);
    }

    fn smart(&self, name: &str) -> Result<Smart, Silent> {
        Smart::below(self.0.path(), name)
    }

    fn node(&self, name: &str) -> PathBuf {
        self.smart(name).unwrap().node.strip_prefix(self.0.path()).unwrap().to_owned()
    }
}

#[test]
fn only_drives_that_say_something_are_asked() {
    let root = Root::new();
    root.nvme("sys/devices/pci/nvme/nvme0");
    for (name, vendor) in [("sda", "ATA     "), ("sdb", "SEAGATE "), ("sdc", "QEMU    ")] {
        root.scsi(name, vendor);
    }
    for name in ["vda", "loop0", "dm-0"] {
        root.disk(name, &format!("sys/devices/virtual/{name}"));
    }
    let why = |name: &str| root.smart(name).err();
    for name in ["nvme0n1", "sda", "sdb"] {
        assert_eq!(why(name), None, "{name}");
    }
    assert_eq!((why("sdc"), why("vda")), (Some(Silent::Virtual), Some(Silent::Virtual)));
    assert_eq!((why("loop0"), why("dm-0")), (Some(Silent::File), Some(Silent::Stacked)));
    assert_eq!(why("sdz"), Some(Silent::Gone));
}

#[test]
fn of_a_partition_the_disk_is_asked() {
    let root = Root::new();
    root.scsi("sda", "ATA");
    root.write("sys/devices/host/sda/block/sda/sda1/partition", "1");
    root.link("sys/class/block/sda1", "sys/devices/host/sda/block/sda/sda1");
    assert_eq!(root.smart("sda1"), root.smart("sda"));
    assert_eq!(root.node("sda1"), Path::new("dev/sda"));
}

#[test]
fn an_nvme_drive_is_asked_by_the_node_of_its_controller_if_there_is_one() {
    let root = Root::new();
    root.nvme("sys/devices/pci/nvme/nvme0");
    assert_eq!(root.node("nvme0n1"), Path::new("dev/nvme0n1"));
    root.write("dev/nvme0", "");
    assert_eq!(root.node("nvme0n1"), Path::new("dev/nvme0"));
}

#[test]
fn of_the_controllers_that_lead_to_a_namespace_one_is_asked_that_works() {
    let root = Root::new();
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    root.disk("nvme0n1", &format!("{subsystem}/nvme0n1"));
    root.link(&format!("{subsystem}/nvme0n1/device"), subsystem);
    for (controller, state) in [("nvme1", "connecting"), ("nvme3", "live")] {
        let dir = format!("sys/devices/pci-{controller}/nvme/{controller}");
        root.write(&format!("{dir}/state"), state);
        root.write(&format!("{dir}/{controller}c0n1/size"), "8");
        root.link(&format!("{subsystem}/{controller}"), &dir);
        root.write(&format!("dev/{controller}"), "");
    }
    assert_eq!(root.node("nvme0n1"), Path::new("dev/nvme3"));
}

#[test]
fn a_drive_that_the_kernel_has_put_to_sleep_is_not_opened() {
    let root = Root::new();
    root.scsi("sda", "ATA");
    root.write("sys/devices/host/sda/power/runtime_status", "suspended");
    assert_eq!(root.smart("sda").unwrap().look().unwrap(), Look::Asleep);
    root.nvme("sys/devices/pci/nvme/nvme0");
    root.write("sys/devices/pci/nvme/nvme0/power/runtime_status", "unsupported");
    root.write("sys/devices/pci/nvme/nvme0/device/power/runtime_status", "suspended");
    assert_eq!(root.smart("nvme0n1").unwrap().look().unwrap(), Look::Asleep);
}

#[test]
fn a_node_that_is_no_drive_is_an_error() {
    let root = Root::new();
    root.nvme("sys/devices/pci/nvme/nvme0");
    root.link("dev/nvme0n1", "../../dev/null");
    assert!(root.smart("nvme0n1").unwrap().look().is_err());
}

/// The link of an NVMe drive in a slot: speeds and widths, now and at most.
fn of_nvme(drive: [&str; 4], slot: [&str; 2]) -> Option<Link> {
    let root = Root::new();
    let (port, function) = ("sys/devices/0000:00:01.0", "sys/devices/0000:00:01.0/0000:01:00.0");
    let files = ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"];
    for (file, text) in files.iter().zip(drive) {
        root.write(&format!("{function}/{file}"), text);
    }
    for (file, text) in files[2..].iter().zip(slot) {
        root.write(&format!("{port}/{file}"), text);
    }
    root.nvme(&format!("{function}/nvme/nvme0"));
    link::of(&root.smart("nvme0n1").unwrap().device, None)
}

#[test]
fn a_drive_in_a_slot_as_fast_as_it_is() {
    let link = of_nvme([FAST, "4", FAST, "4"], [FAST, "4"]).unwrap();
    assert_eq!((link.speed.as_deref(), link.width, link.is_degraded), (Some(FAST), Some(4), false));
}

#[test]
fn a_slower_slot_is_no_fault() {
    assert!(!of_nvme([SLOW, "4", FAST, "4"], [SLOW, "16"]).unwrap().is_degraded);
}

#[test]
fn slower_or_narrower_than_both_is_degraded() {
    assert!(of_nvme([SLOW, "4", FAST, "4"], [FAST, "4"]).unwrap().is_degraded);
    assert!(of_nvme([FAST, "2", FAST, "4"], [FAST, "4"]).unwrap().is_degraded);
}

#[test]
fn an_emulated_drive_without_a_link_has_none() {
    assert_eq!(of_nvme(["Unknown", "0", "Unknown", "0"], ["Unknown", "0"]), None);
}

/// The link of a SATA drive which says that it can do 6.0 Gbps: its speed, the limit that counts,
/// and the port's own.
fn of_sata(speed: &str, limit: &str, limit_of_port: &str) -> Option<Link> {
    let root = Root::new();
    let link = "sys/devices/ata3/link3/ata_link/link3";
    root.write(&format!("{link}/sata_spd"), speed);
    root.write(&format!("{link}/sata_spd_limit"), limit);
    root.write(&format!("{link}/hw_sata_spd_limit"), limit_of_port);
    root.write("sys/devices/ata3/host2/target2:0:0/2:0:0:0/vendor", "ATA");
    let said = Link { speed_max: Some("6.0 Gbps".to_owned()), ..Link::default() };
    let device = root.path("sys/devices/ata3/host2/target2:0:0/2:0:0:0");
    link::of(&device, Some(&said)).filter(|link| link.speed.is_some())
}

#[test]
fn a_sata_link_that_the_kernel_has_slowed_down_is_degraded() {
    let unlimited = of_sata("6.0 Gbps", "<unknown>", "<unknown>").unwrap();
    assert_eq!((unlimited.speed.as_deref(), unlimited.is_degraded), (Some("6.0 Gbps"), false));
    assert!(!of_sata("3.0 Gbps", "<unknown>", "<unknown>").unwrap().is_degraded, "the port's");
    assert!(!of_sata("3.0 Gbps", "3.0 Gbps", "3.0 Gbps").unwrap().is_degraded, "the port's");
    assert!(of_sata("3.0 Gbps", "3.0 Gbps", "<unknown>").unwrap().is_degraded);
    assert!(of_sata("1.5 Gbps", "1.5 Gbps", "3.0 Gbps").unwrap().is_degraded);
    assert_eq!(of_sata("<unknown>", "<unknown>", "<unknown>"), None);
}

#[test]
fn a_sas_drive_has_the_rate_of_its_phys_and_their_number() {
    let root = Root::new();
    let port = "sys/devices/host0/port-0:1";
    for phy in ["phy-0:4", "phy-0:5"] {
        root.write(&format!("{port}/{phy}/sas_phy/{phy}/negotiated_linkrate"), "12.0 Gbit");
    }
    root.write(&format!("{port}/end_device-0:1/target0:0:1/0:0:1:0/vendor"), "SEAGATE");
    let device = root.path(&format!("{port}/end_device-0:1/target0:0:1/0:0:1:0"));
    let link = link::of(&device, None).unwrap();
    assert_eq!((link.speed.as_deref(), link.width), (Some("12.0 Gbit"), Some(2)));
}
