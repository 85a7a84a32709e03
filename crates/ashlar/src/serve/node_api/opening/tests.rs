use ashlar_block::{DriveId, DriveUuid};
use ashlar_drive::{DeviceNumber, DriveMark};

use super::*;

fn file(drive: u8, spec: &str, inode: u64, changed: i64) -> FoundPlace {
    let mark = DriveMark::File { device: 1, inode, size_bytes: 1 << 30, changed: (changed, 0) };
    place(drive, spec, mark)
}

fn disk(drive: u8, spec: &str, diskseq: u64) -> FoundPlace {
    let number = DeviceNumber { major: 8, minor: 0 };
    place(drive, spec, DriveMark::Device { number, size_kib: 1 << 20, diskseq: Some(diskseq) })
}

fn place(drive: u8, spec: &str, mark: DriveMark) -> FoundPlace {
    let uuid = DriveUuid([drive; 16]);
    FoundPlace {
        uuid,
        drive: DriveId(u16::from(drive)),
        spec: spec.to_owned(),
        mark,
        others: Vec::new(),
    }
}

fn are_same(now: &[FoundPlace], before: &[FoundPlace]) -> bool {
    let places =
        |drives: &[FoundPlace]| PoolPlaces { drives: drives.to_vec(), ..PoolPlaces::default() };
    are_same_drives(&places(now), &places(before))
}

#[test]
fn a_pool_is_not_tried_again_because_its_drives_were_written_to() {
    let before = [file(0, "file:/a/0", 10, 1), disk(1, "/dev/sda", 7)];
    assert!(are_same(&before, &before));
    assert!(are_same(&[file(0, "file:/a/0", 10, 2), before[1].clone()], &before));
}

#[test]
fn a_pool_is_tried_again_when_a_drive_comes_goes_moves_or_is_another() {
    let before = [file(0, "file:/a/0", 10, 1), disk(1, "/dev/sda", 7)];
    let more = [before[0].clone(), before[1].clone(), disk(2, "/dev/sdb", 8)];
    for now in [
        &more[..],
        &before[..1],
        &[],
        &[file(0, "file:/b/0", 10, 1), before[1].clone()],
        &[file(2, "file:/a/0", 10, 1), before[1].clone()],
        &[file(0, "file:/a/0", 11, 1), before[1].clone()],
        &[before[0].clone(), disk(1, "/dev/sda", 9)],
    ] {
        assert!(!are_same(now, &before), "{now:?}");
    }
}
