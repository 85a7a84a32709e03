use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, TestDevice, at_once, write_block};

/// A partition table at both ends of a drive of 4 KiB sectors, and at those of one of 512 bytes.
fn partition(device: &TestDevice) {
    let table = AlignedBuf::copy_of(&[0x55; 6 * SECTOR_BYTES]).freeze();
    let end = device.size_bytes() - table.len() as u64;
    for offset in [0, end] {
        at_once(device.write(offset, table.clone(), Durability::Stable)).expect("in memory");
    }
}

fn drives() -> Drives {
    let drives = Drives::new(Level::RAID1, 3);
    let pool = drives.open();
    for lba in 0..40 {
        write_block(&pool, lba);
        if lba % 8 == 7 {
            pool.seal_all();
            at_once(pool.checkpoint(true)).expect("good drives");
        }
    }
    drives
}

#[test]
fn a_partition_table_over_all_members_loses_nothing() {
    let drives = drives();
    let labels: Vec<Superblock> =
        drives.found().into_iter().map(|found| found.superblock).collect();
    drives.devices.iter().for_each(partition);
    for (device, label) in drives.devices.iter().zip(&labels) {
        assert_eq!(at_once(restore_label(device)).expect("the copy is whole"), *label);
    }
    assert_eq!(
        drives.found().into_iter().map(|found| found.superblock).collect::<Vec<_>>(),
        labels
    );
    let pool = drives.open();
    assert_eq!(at_once(pool.audit()).expect("all is there").wrong, Vec::<String>::new());
    assert_eq!(
        pool.counters.get().reads.corrupt_reads_corrected,
        0,
        "nothing of it was overwritten"
    );
}

#[test]
fn a_label_that_is_there_is_not_restored() {
    let drives = drives();
    let refused = at_once(restore_label(&drives.devices[1]));
    assert!(matches!(refused, Err(RestoreError::IsLabelled(DriveId(1), _))), "{refused:?}");
}

#[test]
fn nothing_is_written_to_a_drive_without_the_copy_or_with_that_of_another_size() {
    let drives = drives();
    let (device, mut label) = (&drives.devices[0], drives.found()[0].superblock.clone());
    partition(device);
    let before = at_once(device.read(0, AlignedBuf::zeroed(SECTOR_BYTES))).1;
    label.drive_bytes += 4096;
    let inside = AlignedBuf::copy_of(&label.encode()).freeze();
    at_once(device.write(Superblock::INSIDE_OFFSET, inside, Durability::Stable))
        .expect("in memory");
    assert!(matches!(at_once(restore_label(device)), Err(RestoreError::OtherSize { .. })));
    let nothing = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
    at_once(device.write(Superblock::INSIDE_OFFSET, nothing, Durability::Stable))
        .expect("in memory");
    assert!(matches!(
        at_once(restore_label(device)),
        Err(RestoreError::NoCopy(SuperblockError::Absent))
    ));
    let after = at_once(device.read(0, AlignedBuf::zeroed(SECTOR_BYTES))).1;
    assert_eq!(before[..], after[..]);
}

/// It would have been replaced by an older one.
#[test]
fn a_label_that_this_ashlar_cannot_use_is_not_taken_for_none() {
    let drives = drives();
    let mut sector = drives.found()[0].superblock.encode();
    sector[8] = 4;
    sector[12..16].fill(0);
    let crc = ashlar_format::codec::crc32c(&sector);
    sector[12..16].copy_from_slice(&crc.to_le_bytes());
    let newer = AlignedBuf::copy_of(&sector).freeze();
    at_once(drives.devices[0].write(0, newer, Durability::Stable)).expect("in memory");
    let refused = at_once(restore_label(&drives.devices[0]));
    assert!(matches!(refused, Err(RestoreError::NotUsable(_))), "{refused:?}");
}
