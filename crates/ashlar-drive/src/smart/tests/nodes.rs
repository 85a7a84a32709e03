//! Which drives are asked at all.

use super::*;

/// A directory of sysfs, made for a test.
fn disk(dir: &tempfile::TempDir, name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let disk = dir.path().join(name);
    for (file, text) in files {
        let file = disk.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{text}\n")).unwrap();
    }
    std::fs::create_dir_all(&disk).unwrap();
    disk
}

#[test]
fn only_drives_that_say_something_are_asked() {
    let dir = tempfile::tempdir().unwrap();
    let asked = |name: &str, files: &[(&str, &str)]| {
        Smart::of(&disk(&dir, name, files), "/dev/null".as_ref()).is_some()
    };
    assert!(asked("nvme0n1", &[]));
    assert!(asked("sda", &[("device/vendor", "ATA     ")]));
    assert!(asked("sdb", &[("device/vendor", "SEAGATE ")]));
    assert!(!asked("sdc", &[("device/vendor", "QEMU    ")]));
    assert!(!asked("vda", &[]) && !asked("loop0", &[]) && !asked("dm-0", &[]));
}

#[test]
fn a_drive_that_the_kernel_has_put_to_sleep_is_not_opened() {
    let dir = tempfile::tempdir().unwrap();
    let files = [("device/vendor", "ATA"), ("device/power/runtime_status", "suspended")];
    let smart = Smart::of(&disk(&dir, "sda", &files), "/nowhere".as_ref()).unwrap();
    assert_eq!(smart.look().unwrap(), Look::Asleep);
}

#[test]
fn a_node_that_is_no_drive_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let smart = Smart::of(&disk(&dir, "nvme0n1", &[]), "/dev/null".as_ref()).unwrap();
    assert!(smart.look().is_err());
}

mod links {
    use super::disk;
    use crate::smart::link;

    /// The link of an NVMe drive in a slot.
    fn of(drive: [&str; 4], slot: [&str; 2]) -> Option<link::Link> {
        let dir = tempfile::tempdir().unwrap();
        let function = "pci/0000:00:01.0/0000:01:00.0";
        disk(
            &dir,
            function,
            &[
                ("current_link_speed", drive[0]),
                ("current_link_width", drive[1]),
                ("max_link_speed", drive[2]),
                ("max_link_width", drive[3]),
                ("nvme/nvme0/nvme0n1/queue/rotational", "0"),
                ("../max_link_speed", slot[0]),
                ("../max_link_width", slot[1]),
            ],
        );
        let controller = dir.path().join(function).join("nvme/nvme0");
        std::os::unix::fs::symlink(&controller, controller.join("nvme0n1/device")).unwrap();
        link::of(&controller.join("nvme0n1"))
    }

    const FAST: &str = "16.0 GT/s PCIe";
    const SLOW: &str = "8.0 GT/s PCIe";

    #[test]
    fn a_drive_in_a_slot_as_fast_as_it_is() {
        let link = of([FAST, "4", FAST, "4"], [FAST, "4"]).unwrap();
        assert_eq!((link.speed.as_str(), link.width, link.is_degraded), (FAST, Some(4), false));
    }

    #[test]
    fn a_slower_slot_is_no_fault() {
        assert!(!of([SLOW, "4", FAST, "4"], [SLOW, "16"]).unwrap().is_degraded);
    }

    #[test]
    fn slower_or_narrower_than_both_is_degraded() {
        assert!(of([SLOW, "4", FAST, "4"], [FAST, "4"]).unwrap().is_degraded);
        assert!(of([FAST, "2", FAST, "4"], [FAST, "4"]).unwrap().is_degraded);
    }

    #[test]
    fn an_emulated_drive_without_a_link_has_none() {
        assert_eq!(of(["Unknown", "0", "Unknown", "0"], ["Unknown", "0"]), None);
    }

    #[test]
    fn a_sata_link_that_the_kernel_has_slowed_down_is_degraded() {
        let of = |speed: &str, limit: &str| {
            let dir = tempfile::tempdir().unwrap();
            let host = "pci/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0";
            disk(&dir, host, &[("block/sda/size", "1"), ("vendor", "ATA")]);
            disk(
                &dir,
                "pci/0000:00:1f.2/ata3/link3/ata_link/link3",
                &[
                    ("sata_spd", speed),
                    ("sata_spd_limit", limit),
                    ("hw_sata_spd_limit", "6.0 Gbps"),
                ],
            );
            let device = dir.path().join(host);
            std::os::unix::fs::symlink(&device, device.join("block/sda/device")).unwrap();
            link::of(&device.join("block/sda"))
        };
        let whole = of("6.0 Gbps", "6.0 Gbps").unwrap();
        assert_eq!((whole.speed.as_str(), whole.is_degraded), ("6.0 Gbps", false));
        assert!(of("3.0 Gbps", "3.0 Gbps").unwrap().is_degraded);
        assert_eq!(of("<unknown>", "<unknown>"), None);
    }
}
