use std::os::unix::fs::symlink;

use super::*;

const MOUNTS: &str = "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n\
     36 35 8:1 / /mnt/my\\040data rw,noatime master:1 - xfs /dev/sda1 rw\n\
     40 22 0:35 / /mnt/btrfs rw - btrfs /dev/null rw\n\
     nonsense\n";
const SWAPS: &str = "Filename Type Size Used Priority\n/dev/null partition 1048572 0 -2\n/swap\\040file file 1 0 -3\n";

fn number(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber { major, minor }
}

/// A machine with a disk of two partitions, the second of which is part of a volume group.
fn machine() -> (tempfile::TempDir, Machine) {
    let root = tempfile::tempdir().unwrap();
    let (block, numbers) = (root.path().join("sys/block"), root.path().join("sys/dev/block"));
    fs::create_dir_all(&numbers).unwrap();
    for (number, place) in
        [("8:0", "sda"), ("8:1", "sda/sda1"), ("8:2", "sda/sda2"), ("8:16", "sdb")]
    {
        let dir = block.join(place);
        fs::create_dir_all(dir.join("holders")).unwrap();
        fs::write(dir.join("dev"), format!("{number}\n")).unwrap();
        if place.contains('/') {
            fs::write(dir.join("partition"), "1\n").unwrap();
        }
        symlink(&dir, numbers.join(number)).unwrap();
    }
    fs::create_dir_all(block.join("sda/sda2/holders/dm-0/dm")).unwrap();
    fs::write(block.join("sda/sda2/holders/dm-0/dm/name"), "vg-data\n").unwrap();
    let machine = Machine::below(root.path());
    (root, machine)
}

#[test]
fn mounts_and_swap_space_are_read_as_the_kernel_writes_them() {
    let in_use = InUse::of(MOUNTS, SWAPS);
    let mounts: Vec<(DeviceNumber, &str)> =
        in_use.mounts.iter().map(|mount| (mount.device, mount.target.as_str())).collect();
    assert_eq!(
        mounts,
        [(number(254, 0), "/"), (number(8, 1), "/mnt/my data"), (number(0, 35), "/mnt/btrfs")]
    );
    assert_eq!(in_use.swaps, [PathBuf::from("/dev/null"), PathBuf::from("/swap file")]);
}

#[test]
fn a_disk_is_in_use_by_what_its_partitions_are_used_for() {
    let (_root, machine) = machine();
    let mounted = InUse::of(MOUNTS, "");
    let used = |in_use: &InUse, minor| use_of_device(&machine, in_use, number(8, minor));
    assert_eq!(used(&mounted, 1).as_deref(), Some("it is mounted on /mnt/my data"));
    assert_eq!(
        used(&mounted, 0).unwrap(),
        "its partition sda1 is in use: it is mounted on /mnt/my data"
    );
    assert_eq!(used(&InUse::default(), 2).as_deref(), Some("it is part of dm-0 (vg-data)"));
    assert_eq!(
        used(&InUse::default(), 0).unwrap(),
        "its partition sda2 is in use: it is part of dm-0 (vg-data)"
    );
    assert_eq!(used(&mounted, 16), None);
}

#[test]
fn a_file_that_nobody_uses_has_no_user() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(user_of_file(&rustix::fs::stat(file.path()).unwrap()), None);
}
