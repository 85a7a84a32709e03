use std::os::unix::fs::symlink;

use super::*;

const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

fn device(minor: u32) -> Ground {
    Ground::Device(DeviceNumber { major: 8, minor })
}

fn footprint(own: Ground, below: &[Ground], takes: &[(Ground, Range<u64>)]) -> Footprint {
    Footprint { own, below: below.iter().cloned().collect(), takes: takes.to_vec() }
}

#[test]
fn drives_that_are_in_each_others_way_are_known_by_what_they_are_made_of() {
    let file = Ground::File { device: 1, inode: 7 };
    let disk = Ground::Disk("naa.5000c500a1b2c3d4".to_owned());
    let whole = 0..u64::MAX;
    let of_file = footprint(file.clone(), &[], &[(file.clone(), whole.clone())]);
    let looped = |minor, part: Range<u64>| {
        let own = Ground::Device(DeviceNumber { major: 7, minor });
        footprint(own, std::slice::from_ref(&file), &[(file.clone(), part)])
    };
    let path = |minor| footprint(device(minor), &[], &[(disk.clone(), whole.clone())]);
    let partition = |minor| footprint(device(minor), &[device(0)], &[]);
    let stacked = |minor, on: &[u32]| {
        let on: Vec<Ground> = on.iter().map(|minor| device(*minor)).collect();
        footprint(Ground::Device(DeviceNumber { major: 253, minor }), &on, &[])
    };
    let cases = [
        ("a file and itself", of_file.clone(), of_file.clone(), Some(Overlap::Same)),
        ("a loop device over a file", looped(0, 0..100), of_file, Some(Overlap::On)),
        ("two loop devices over a file", looped(0, 0..100), looped(1, 0..100), Some(Overlap::Same)),
        ("two over different parts of it", looped(0, 0..100), looped(1, 100..200), None),
        ("two paths to a disk", path(0), path(16), Some(Overlap::Same)),
        ("a partition and its disk", partition(1), path(0), Some(Overlap::On)),
        ("a disk and its partition", path(0), partition(1), Some(Overlap::Below)),
        ("two partitions of a disk", partition(1), partition(2), None),
        ("a multipath device and a path", stacked(0, &[0, 16]), path(16), Some(Overlap::On)),
        ("two logical volumes on a disk", stacked(0, &[0]), stacked(1, &[0]), None),
        ("two disks", path(0), footprint(device(32), &[], &[]), None),
    ];
    for (what, one, other, wanted) in cases {
        assert_eq!(one.overlap(&other), wanted, "{what}");
    }
}

/// A machine of one disk with a partition, a logical volume on that, and a loop device over `file`.
fn machine(file: &Path) -> (tempfile::TempDir, Machine) {
    let root = tempfile::tempdir().unwrap();
    let block = root.path().join("sys/block");
    let numbers = root.path().join("sys/dev/block");
    fs::create_dir_all(&numbers).unwrap();
    let add = |number: &str, place: &str, files: &[(&str, &str)]| {
        let dir = block.join(place);
        for (name, content) in [("dev", number)].iter().chain(files) {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        symlink(&dir, numbers.join(number)).unwrap();
    };
    add("8:0", "sda", &[("device/wwid", "naa.5000c500a1b2c3d4\n"), ("slaves/x", "")]);
    add("8:1", "sda/sda1", &[("partition", "1")]);
    add("253:0", "dm-0", &[]);
    fs::create_dir_all(block.join("dm-0/slaves")).unwrap();
    symlink(block.join("sda/sda1"), block.join("dm-0/slaves/sda1")).unwrap();
    let file = format!("{}\n", file.display());
    add(
        "7:0",
        "loop0",
        &[("loop/backing_file", &file), ("loop/offset", "4096\n"), ("size", "16\n")],
    );
    let machine = Machine::below(root.path());
    (root, machine)
}

#[test]
fn what_a_device_lies_on_is_read_from_the_kernel() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (_root, machine) = machine(file.path());
    let stack = |major, minor| machine.stack(DeviceNumber { major, minor }).unwrap();
    assert_eq!(stack(8, 1).below, [SDA]);
    assert_eq!(stack(8, 1).wwid, None, "a part of a disk is not the disk");
    assert_eq!(stack(8, 0).wwid.as_deref(), Some("naa.5000c500a1b2c3d4"));
    assert_eq!(stack(253, 0).below, [DeviceNumber { major: 8, minor: 1 }]);
    assert_eq!(stack(7, 0).backing, Some((file.path().to_owned(), 4096..4096 + 16 * 512)));
    assert_eq!(machine.loops(), [(DeviceNumber { major: 7, minor: 0 }, file.path().to_owned())]);
    assert_eq!(machine.stack(DeviceNumber { major: 9, minor: 9 }), None);

    let mut found = Footprint { own: device(9), below: BTreeSet::new(), takes: Vec::new() };
    machine.look_below(DeviceNumber { major: 253, minor: 0 }, 0..u64::MAX, DEPTH_MAX, &mut found);
    assert_eq!(found.below, [device(0), device(1)].into());
    let mut found = Footprint { own: device(9), below: BTreeSet::new(), takes: Vec::new() };
    machine.look_below(DeviceNumber { major: 7, minor: 0 }, 0..u64::MAX, DEPTH_MAX, &mut found);
    assert_eq!(Some(found.takes[0].0.clone()), ground_of(file.path()));
}

#[test]
fn a_file_is_one_drive_by_whatever_link_it_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link, hard) =
        (dir.path().join("0.img"), dir.path().join("link"), dir.path().join("hard"));
    fs::write(&file, []).unwrap();
    symlink(&file, &link).unwrap();
    fs::hard_link(&file, &hard).unwrap();
    fs::write(dir.path().join("1.img"), []).unwrap();
    let machine = Machine::default();
    let of = |path: &Path| machine.footprint(path).unwrap();
    for other in [&link, &hard] {
        assert_eq!(of(&file).overlap(&of(other)), Some(Overlap::Same));
    }
    assert_eq!(of(&file).overlap(&of(&dir.path().join("1.img"))), None);
    assert_eq!(machine.footprint(&dir.path().join("none")), None);
    assert_eq!(machine.footprint(dir.path()), None);
}
