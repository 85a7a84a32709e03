use std::path::PathBuf;

use ashlar_block::{DriveId, PoolUuid};
use ashlar_drive::DeviceNumber;

use super::*;

fn device(minor: u32) -> Place {
    Place::Device(DeviceNumber { major: 8, minor })
}

fn file(path: &str) -> Place {
    Place::File(PathBuf::from(path))
}

fn label(drive: u8) -> Label {
    let (pool, uuid) = (PoolUuid([1; 16]), DriveUuid([drive; 16]));
    Label { pool, drive: DriveId(u16::from(drive)), uuid }
}

/// What there is to find: a place, the name that leads to it, and whose label it carries.
type There<'a> = (Place, &'a str, u8);
/// What is remembered: how a drive was named, whose it is, and what the name leads to now.
type Was<'a> = (&'a str, u8, Option<Place>);

fn chosen(
    there: &[There<'_>],
    were: &[Was<'_>],
    are_one: bool,
) -> (Vec<(u8, String)>, Vec<Vec<String>>) {
    let mark = DriveMark::File { device: 1, inode: 1, size_bytes: 1, changed: (0, 0) };
    let labels: Vec<Label> = there.iter().map(|(_, _, drive)| label(*drive)).collect();
    let candidates: Vec<Candidate<'_>> = there
        .iter()
        .zip(&labels)
        .map(|((place, name, _), label)| Candidate {
            place,
            mark: &mark,
            label,
            name: (*name).to_owned(),
        })
        .collect();
    let uuids: Vec<String> =
        were.iter().map(|(_, drive, _)| DriveUuid([*drive; 16]).to_string()).collect();
    let remembered: Vec<Remembered<'_>> = were
        .iter()
        .zip(&uuids)
        .map(|((spec, _, place), uuid)| Remembered { spec, uuid, place: place.clone() })
        .collect();
    let (found, copies) = choose(&candidates, &remembered, |_, _| are_one);
    let found = found.into_iter().map(|found| (found.drive.0 as u8, found.spec));
    (found.collect(), copies.into_iter().map(|copies| copies.specs).collect())
}

fn found(there: &[There<'_>], were: &[Was<'_>]) -> Vec<(u8, String)> {
    chosen(there, were, false).0
}

fn named(drives: &[(u8, &str)]) -> Vec<(u8, String)> {
    drives.iter().map(|(drive, spec)| (*drive, (*spec).to_owned())).collect()
}

#[test]
fn drives_are_found_by_their_labels_whatever_they_are_called() {
    let were = [("/dev/sda", 0, Some(device(0))), ("/dev/sdb", 1, Some(device(16)))];
    // Shifted by one, and the other way around.
    let shifted = [(device(16), "/dev/sdb", 0), (device(32), "/dev/sdc", 1)];
    assert_eq!(found(&shifted, &were), named(&[(0, "/dev/sdb"), (1, "/dev/sdc")]));
    let turned = [(device(0), "/dev/sda", 1), (device(16), "/dev/sdb", 0)];
    assert_eq!(found(&turned, &were), named(&[(0, "/dev/sdb"), (1, "/dev/sda")]));
    // One that nobody remembers: the daemon was killed while it was added.
    assert_eq!(found(&[(device(0), "/dev/sda", 7)], &were), named(&[(7, "/dev/sda")]));
    assert_eq!(found(&[], &were), []);
}

#[test]
fn a_name_that_lasts_takes_the_place_of_one_that_does_not() {
    let stable = "/dev/disk/by-id/nvme-eui.0025385b71b10a3f";
    let was = [("/dev/nvme1n1", 0, Some(device(0)))];
    assert_eq!(found(&[(device(0), stable, 0)], &was), named(&[(0, stable)]));
    // Without one it keeps the name that somebody has given it, as long as that leads to it.
    let by_path = [("/dev/disk/by-path/pci-0", 0, Some(device(0)))];
    assert_eq!(
        found(&[(device(0), "/dev/sda", 0)], &by_path),
        named(&[(0, "/dev/disk/by-path/pci-0")])
    );
    let moved = [("/dev/disk/by-path/pci-0", 0, Some(device(16)))];
    assert_eq!(found(&[(device(0), "/dev/sda", 0)], &moved), named(&[(0, "/dev/sda")]));
}

#[test]
fn a_file_keeps_its_options_wherever_it_is() {
    let was = [("file:/a/0.img,size=4GiB,model=sata-ssd", 0, Some(file("/a/0.img")))];
    let there = [(file("/a/0.img"), "file:/a/0.img", 0)];
    assert_eq!(found(&there, &was), named(&[(0, "file:/a/0.img,size=4GiB,model=sata-ssd")]));
    let moved = [(file("/b/9.img"), "file:/b/9.img", 0)];
    assert_eq!(found(&moved, &was), named(&[(0, "file:/b/9.img,size=4GiB,model=sata-ssd")]));
}

#[test]
fn of_a_drive_and_its_copy_the_one_that_is_where_it_was_counts() {
    let were = [("/dev/sda", 0, Some(device(0)))];
    let both = [(device(0), "/dev/sda", 0), (device(16), "/dev/sdb", 0)];
    assert_eq!(chosen(&both, &were, false), (named(&[(0, "/dev/sda")]), vec![]));
    let neither = [(device(32), "/dev/sdc", 0), (device(16), "/dev/sdb", 0)];
    let (found, copies) = chosen(&neither, &were, false);
    assert_eq!((found, copies), (vec![], vec![vec!["/dev/sdb".to_owned(), "/dev/sdc".to_owned()]]));
}

#[test]
fn a_file_and_a_loop_device_over_it_are_one_drive() {
    let both = [(device(0), "/dev/loop0", 0), (file("/d/0.img"), "file:/d/0.img", 0)];
    assert_eq!(chosen(&both, &[], true), (named(&[(0, "file:/d/0.img")]), vec![]));
    let was = [("/dev/loop0", 0, Some(device(0)))];
    assert_eq!(chosen(&both, &was, true), (named(&[(0, "/dev/loop0")]), vec![]));
}
