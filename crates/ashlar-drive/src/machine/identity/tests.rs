use super::super::tests::{Tree, number};
use super::*;

#[test]
fn a_device_is_told_by_what_it_carries_itself_or_lies_on() {
    let mut tree = Tree::new();
    tree.add("8:0", "sda", &[("device/wwid", "naa.5000c500a1b2c3d4\n")]);
    tree.add("8:1", "sda/sda1", &[("partition", "1\n")]);
    tree.add("259:0", "nvme0n1", &[("wwid", "eui.0025385b01\n")]);
    tree.add("253:0", "dm-0", &[("dm/uuid", "LVM-abc\n"), ("dm/name", "vg-spare\n")]);
    tree.add("253:1", "dm-1", &[("dm/uuid", "\n"), ("dm/name", "spare\n")]);
    tree.add(
        "7:3",
        "loop3",
        &[("loop/backing_file", "/d/3.img\n"), ("loop/offset", "512\n"), ("size", "8\n")],
    );
    tree.add("252:0", "vda", &[("serial", "disk-1\n")]);
    tree.add("252:16", "vdb", &[("serial", "\n")]);
    let machine = tree.machine();
    let identity = |major, minor| machine.identity_of_device(number(major, minor));
    for (major, minor, expected) in [
        (8, 0, "naa.5000c500a1b2c3d4"),
        (8, 1, "naa.5000c500a1b2c3d4 partition 1"),
        (259, 0, "eui.0025385b01"),
        (253, 0, "LVM-abc"),
        (253, 1, "spare"),
        (7, 3, "/d/3.img from byte 512"),
        (252, 0, "disk-1"),
    ] {
        assert_eq!(identity(major, minor).as_deref(), Some(expected));
    }
    assert_eq!((identity(252, 16), identity(9, 9)), (None, None));
}

#[test]
fn a_file_is_told_from_another_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("0.img"), dir.path().join("1.img"));
    let machine = Machine::below(dir.path());
    fs::write(&path, "one").unwrap();
    fs::write(&other, "two").unwrap();
    let before = machine.lasting_identity(&path);
    assert!(before.is_some());
    fs::write(&path, "one more").unwrap();
    assert_eq!(machine.lasting_identity(&path), before);
    fs::rename(&other, &path).unwrap();
    assert_ne!(machine.lasting_identity(&path), before);
    assert_eq!(machine.lasting_identity(&other), None);
}

#[test]
fn a_file_is_told_by_when_it_was_made_where_the_file_system_knows_that() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("0.img");
    fs::write(&path, "one").unwrap();
    let found = fs::metadata(&path).unwrap();
    let said = Machine::below(dir.path()).lasting_identity(&path).unwrap();
    assert_eq!(said.contains("made at"), found.created().is_ok(), "{said}");
    assert!(said.starts_with(&format!("inode {}", found.ino())), "{said}");
}

/// Spares were remembered by their inodes alone.
#[test]
fn when_a_file_was_made_tells_only_where_both_sides_say_it() {
    let (inode, early, late) = ("inode 7", "inode 7 made at 1.5", "inode 7 made at 2.5");
    assert!(Machine::is_same_drive(inode, early) && Machine::is_same_drive(early, inode));
    assert!(Machine::is_same_drive(early, early) && !Machine::is_same_drive(early, late));
    assert!(!Machine::is_same_drive("inode 8", early) && !Machine::is_same_drive("eui.1", "eui.2"));
}
