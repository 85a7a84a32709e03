use std::os::unix::fs::symlink;

use super::*;

/// A machine of files, as the kernel and udev show a real one.
pub(super) struct Tree {
    root: tempfile::TempDir,
    partitions: String,
}

impl Tree {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["sys/dev/block", "sys/block", "proc", "dev/disk/by-id"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Tree { root, partitions: "major minor  #blocks  name\n\n".to_owned() }
    }

    pub fn machine(&self) -> Machine {
        fs::write(self.root.path().join("proc/partitions"), &self.partitions).unwrap();
        Machine::below(self.root.path())
    }

    /// A device at `place` below `/sys/block`, with these files in its directory.
    pub fn add(&mut self, number: &str, place: &str, files: &[(&str, &str)]) {
        let dir = self.root.path().join("sys/block").join(place);
        fs::create_dir_all(&dir).unwrap();
        for (name, content) in files {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        symlink(&dir, self.root.path().join("sys/dev/block").join(number)).unwrap();
        let (major, minor) = number.split_once(':').unwrap();
        let name = Path::new(place).file_name().unwrap().to_str().unwrap();
        self.partitions += &format!("{major:>4} {minor:>8} {:>10} {name}\n", 1 << 20);
    }

    fn link(&self, id: &str, kernel: &str) {
        symlink(format!("../../{kernel}"), self.root.path().join("dev/disk/by-id").join(id))
            .unwrap();
    }
}

pub(super) fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

fn listed(number: DeviceNumber, size_kib: u64, name: &str) -> ListedDevice {
    ListedDevice { number, size_kib, name: name.to_owned() }
}

fn device() -> BlockDevice {
    BlockDevice {
        number: number(8, 0),
        name: "sda".to_owned(),
        node: "/dev/sda".into(),
        diskseq: Some(1),
        holders: Vec::new(),
        is_suspended: false,
        subsystem_nqn: None,
    }
}

#[test]
fn a_disk_and_its_partition_are_described_with_the_disks_sequence_number() {
    let mut tree = Tree::new();
    tree.add(
        "259:0",
        "nvme1n1",
        &[
            ("uevent", "MAJOR=259\nMINOR=0\nDEVNAME=nvme1n1\nDEVTYPE=disk\nDISKSEQ=7\n"),
            ("diskseq", "7\n"),
            ("device/subsysnqn", "nqn.2014.08.org.example:drive\n"),
        ],
    );
    tree.add(
        "259:1",
        "nvme1n1/nvme1n1p1",
        &[("uevent", "DEVNAME=nvme1n1p1\nDEVTYPE=partition\nPARTN=1\n")],
    );
    let machine = tree.machine();
    let names: Vec<String> = machine.devices().into_iter().map(|device| device.name).collect();
    assert_eq!(names, ["nvme1n1", "nvme1n1p1"]);
    for (minor, name) in [(0, "nvme1n1"), (1, "nvme1n1p1")] {
        let device = machine.describe(number(259, minor)).unwrap();
        assert_eq!((device.name.as_str(), device.diskseq), (name, Some(7)));
        assert_eq!(device.node, machine.dev().join(name));
        assert_eq!(device.subsystem_nqn.as_deref(), Some("nqn.2014.08.org.example:drive"));
        assert_eq!(machine.diskseq(number(259, minor)), Some(7));
    }
    assert_eq!(machine.describe(number(259, 9)), None);
}

#[test]
fn what_is_stacked_on_a_device_and_whether_it_is_suspended_is_seen() {
    let mut tree = Tree::new();
    tree.add(
        "8:0",
        "sda",
        &[("uevent", "DEVNAME=sda\n"), ("holders/dm-0", ""), ("holders/md127", "")],
    );
    tree.add("253:0", "dm-0", &[("uevent", "DEVNAME=dm-0\n"), ("dm/suspended", "1\n")]);
    tree.add("104:0", "cciss!c0d0", &[]);
    let machine = tree.machine();
    assert_eq!(machine.describe(number(8, 0)).unwrap().holders, ["dm-0", "md127"]);
    assert!(machine.describe(number(253, 0)).unwrap().is_suspended);
    assert_eq!(machine.describe(number(104, 0)).unwrap().node, machine.dev().join("cciss/c0d0"));
}

#[test]
fn of_a_devices_names_the_one_that_it_carries_itself_is_remembered() {
    let cases: [(&[&str], &str); 7] = [
        (&["nvme-Samsung_SSD_S123", "nvme-eui.0025385b71b10a3f"], "nvme-eui.0025385b71b10a3f"),
        (&["ata-WDC_WD40_WX1", "wwn-0x50014ee2b1234567"], "wwn-0x50014ee2b1234567"),
        (
            &["scsi-SSEAGATE_ST4_X", "scsi-35000c500a1b2c3d4", "wwn-0x5000c500a1b2c3d4"],
            "wwn-0x5000c500a1b2c3d4",
        ),
        (&["ata-QEMU_HARDDISK_1", "scsi-0ATA_QEMU_HARDDISK_1"], "scsi-0ATA_QEMU_HARDDISK_1"),
        (&["dm-name-vg-lv", "dm-uuid-LVM-abcdef"], "dm-name-vg-lv"),
        (&["dm-name-mpatha", "dm-uuid-mpath-3600", "scsi-3600"], "dm-uuid-mpath-3600"),
        (&["lvm-pv-uuid-x", "virtio-serial", "nvme-SERIAL_1", "nvme-SERIAL"], "nvme-SERIAL"),
    ];
    for (names, wanted) in cases {
        let tree = Tree::new();
        names.iter().for_each(|name| tree.link(name, "sda"));
        tree.link(&format!("{wanted}-part1"), "sda1");
        let machine = tree.machine();
        let dir = machine.dev().join("disk/by-id");
        let stable = machine.stable_names();
        assert_eq!(stable.get("sda"), Some(&dir.join(wanted)), "{names:?}");
        assert_eq!(stable.get("sda1"), Some(&dir.join(format!("{wanted}-part1"))));
    }
}

#[test]
fn devices_that_are_dangerous_to_read_or_hold_nothing_that_lasts_are_left_alone() {
    let cases = [
        (listed(number(8, 0), 1024, "sda"), None),
        (listed(number(7, 0), 1024, "loop0"), None),
        (listed(number(253, 0), 1024, "dm-0"), None),
        (listed(number(9, 127), 1024, "md127"), None),
        (listed(number(179, 0), 1024, "mmcblk0"), None),
        (listed(number(8, 0), 0, "sda"), Some(Unread::Empty)),
        (listed(number(2, 0), 1440, "fd0"), Some(Unread::Removable)),
        (listed(number(11, 0), 1024, "sr0"), Some(Unread::Removable)),
        (listed(number(252, 0), 1024, "zram0"), Some(Unread::Memory)),
        (listed(number(1, 0), 1024, "ram0"), Some(Unread::Memory)),
        (listed(number(179, 8), 4096, "mmcblk0boot0"), Some(Unread::Protected)),
        (listed(number(179, 24), 4096, "mmcblk0rpmb"), Some(Unread::Protected)),
    ];
    for (device, wanted) in cases {
        assert_eq!(unread_by_name(&device), wanted, "{device:?}");
    }
    let own = "nqn.own";
    let cases = [
        (device(), None),
        (BlockDevice { subsystem_nqn: Some("nqn.other".to_owned()), ..device() }, None),
        (BlockDevice { subsystem_nqn: Some(own.to_owned()), ..device() }, Some(Unread::Own)),
        (BlockDevice { is_suspended: true, ..device() }, Some(Unread::Suspended)),
        (BlockDevice { holders: vec!["dm-0".to_owned()], ..device() }, Some(Unread::Held)),
    ];
    for (device, wanted) in cases {
        assert_eq!(unread_by_state(&device, own), wanted, "{device:?}");
    }
}

#[test]
fn a_look_at_a_thousand_devices_is_one_read_and_a_new_one_costs_a_few() {
    let mut tree = Tree::new();
    for minor in 0..1000 {
        let (number, name) = (format!("7:{minor}"), format!("loop{minor}"));
        tree.add(&number, &name, &[("uevent", &format!("DEVNAME={name}\nDISKSEQ={minor}\n"))]);
    }
    let machine = tree.machine();
    assert_eq!(machine.devices().len(), 1000);
    assert_eq!(machine.operations(), 1);
    machine.describe(number(7, 999)).unwrap();
    assert!(machine.operations() <= 4, "{}", machine.operations());
}

#[test]
fn this_machine_has_what_its_kernel_lists() {
    let machine = Machine::default();
    for device in machine.devices() {
        let described = machine.describe(device.number);
        assert!(described.is_none_or(|it| it.name == device.name.replace('/', "!")), "{device:?}");
    }
}
