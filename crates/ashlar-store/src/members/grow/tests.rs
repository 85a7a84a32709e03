use ashlar_block::{AlignedBuf, Durability, SECTOR_BYTES};
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, TestDevice, at_once, write_block};

const CHUNK: u64 = 64 << 10;

fn sector_at(device: &TestDevice, offset: u64) -> Vec<u8> {
    at_once(device.read(offset, AlignedBuf::stale(SECTOR_BYTES))).1.to_vec()
}

/// What a start finds on a drive, as those who open drives read it.
fn superblock(device: &TestDevice) -> Superblock {
    let at = |offset| Superblock::decode(&sector_at(device, offset)).ok();
    let (first, inside) = (at(Superblock::FIRST_OFFSET), at(Superblock::INSIDE_OFFSET));
    let places = Superblock::second_offsets(first.as_ref(), inside.as_ref(), device.size_bytes());
    let second = places.into_iter().find_map(at);
    let newest = first.into_iter().chain(second).max_by_key(|superblock| superblock.generation);
    newest.expect("one of its copies is right")
}

#[test]
fn the_room_of_drives_that_have_grown_is_taken_at_once_and_is_there_after_a_start() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let (limit, chunks) = (pool.space().limit, pool.space.segments.borrow().chunks_total());
    assert_eq!(at_once(pool.grow()).unwrap(), [], "no drive has grown");
    drives.devices.iter().for_each(|device| device.grow(100 * CHUNK + 4096));
    let drive = pool.drives()[0];
    assert_eq!(pool.unused_bytes(drive), 100 * CHUNK);
    assert_eq!(at_once(pool.grow()).unwrap().len(), 2);
    assert_eq!(pool.unused_bytes(drive), 0);
    assert_eq!(pool.space.segments.borrow().chunks_total(), chunks + 200);
    assert!(pool.space().limit > limit, "without a start");
    // More than the drives had room for before.
    let uses_new = |pool: &Pool<_>| {
        let segments = pool.space.segments.borrow();
        segments
            .iter()
            .any(|(_, segment)| u64::from(segment.geometry.columns[0].chunk) >= chunks / 2)
    };
    for lba in (0..2000).take_while(|_| !uses_new(&pool)) {
        write_block(&pool, lba);
        if lba % 16 == 15 {
            at_once(pool.checkpoint(false)).unwrap();
        }
    }
    at_once(pool.checkpoint(false)).unwrap();
    assert!(uses_new(&pool));
    drop(pool);
    let pool = drives.open();
    assert_eq!(pool.space.segments.borrow().chunks_total(), chunks + 200);
}

#[test]
fn a_drive_that_has_grown_opens_as_it_was_until_the_pool_takes_its_room() {
    let drives = Drives::new(Level::RAID1, 2);
    let chunks = drives.open().space.segments.borrow().chunks_total();
    drives.devices[1].grow(10 * CHUNK);
    drives.devices[1].reopen();
    let pool = drives.open();
    assert_eq!(pool.space.segments.borrow().chunks_total(), chunks);
    assert_eq!(pool.unused_bytes(pool.drives()[1]), 10 * CHUNK);
}

/// A power cut between any two writes of superblocks, or in one.
#[test]
fn a_cut_leaves_the_old_size_or_the_new_one() {
    let grown = Drives::new(Level::RAID1, 2);
    let before = superblock(&grown.devices[0]);
    grown.devices[0].grow(10 * CHUNK);
    let pool = grown.open();
    at_once(pool.grow()).unwrap();
    let after = superblock(&grown.devices[0]);
    assert!(
        after.generation > before.generation
            && after.drive_bytes == before.drive_bytes + 10 * CHUNK
    );
    let [first, second, inside] = Superblock::offsets(after.drive_bytes);
    let right = AlignedBuf::copy_of(&after.encode()).freeze();
    for offset in [first, second, inside] {
        assert_eq!(sector_at(&grown.devices[0], offset), right[..], "at {offset}");
    }
    for done in 0..=3 {
        for is_torn in [false, true] {
            let cut = Drives::new(Level::RAID1, 2);
            let device = &cut.devices[0];
            let before = superblock(device);
            device.grow(10 * CHUNK);
            device.reopen();
            let after = Superblock {
                generation: before.generation + 1,
                drive_bytes: after.drive_bytes,
                layout: after.layout,
                ..before.clone()
            };
            let encoded = AlignedBuf::copy_of(&after.encode()).freeze();
            let write =
                |offset, bytes| at_once(device.write(offset, bytes, Durability::Stable)).unwrap();
            let order = [second, inside, first];
            order[..done].iter().for_each(|offset| write(*offset, encoded.clone()));
            if let Some(offset) = order.get(done).filter(|_| is_torn) {
                write(*offset, AlignedBuf::zeroed(SECTOR_BYTES).freeze());
            }
            let has_inside = done >= 2;
            assert_eq!(
                superblock(device),
                if has_inside { after } else { before },
                "{done} {is_torn}"
            );
        }
    }
}

#[test]
fn a_scrub_leaves_the_superblocks_of_a_drive_that_has_grown_alone() {
    let drives = Drives::new(Level::RAID1, 2);
    drives.devices[0].grow(10 * CHUNK);
    drives.devices[0].reopen();
    let pool = drives.open();
    let findings = || at_once(pool.check_superblocks()).drives;
    assert!(findings().is_empty(), "its room is not taken");
    at_once(pool.grow()).unwrap();
    assert!(findings().is_empty(), "it is");
}

#[test]
fn a_drive_whose_creation_was_cut_before_its_first_superblock_is_found_after_it_has_grown() {
    let drives = Drives::new(Level::RAID1, 2);
    let device = &drives.devices[0];
    let made = superblock(device);
    let zeros = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
    at_once(device.write(Superblock::FIRST_OFFSET, zeros, Durability::Stable)).unwrap();
    device.grow(10 * CHUNK);
    device.reopen();
    assert_eq!(superblock(device), made);
}

#[test]
fn more_than_a_pool_can_have_is_refused() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    pool.space.segments.borrow_mut().grow_drive(DriveId(0), 500_000);
    assert!(pool.check_room(DriveId(1), 1000).is_ok());
    let refused = pool.check_room(DriveId(1), 500_000).unwrap_err();
    assert!(refused.to_string().contains("at most"), "{refused}");
}

#[test]
fn a_drive_that_has_lost_the_write_of_its_first_copy_is_as_large_as_it_has_become() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let device = &drives.devices[0];
    let before = sector_at(device, Superblock::FIRST_OFFSET);
    device.grow(10 * CHUNK);
    at_once(pool.grow()).unwrap();
    let grown = superblock(device);
    let lost = AlignedBuf::copy_of(&before).freeze();
    at_once(device.write(Superblock::FIRST_OFFSET, lost, Durability::Stable)).unwrap();
    // A start finds the newer copy, and the scrub does not take the older one for right.
    assert_eq!(superblock(device), grown);
    let check = at_once(pool.check_superblocks());
    assert_eq!(check.sum().repaired, 1);
    for offset in Superblock::offsets(grown.drive_bytes) {
        assert_eq!(sector_at(device, offset), grown.encode(), "the copy at {offset}");
    }
}

// The scrub looked for the second copy where it was before, and wrote it there.
#[test]
fn a_scrub_of_a_drive_that_has_lost_two_copies_leaves_the_chunk_at_its_old_end_alone() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let device = &drives.devices[0];
    let before = sector_at(device, Superblock::FIRST_OFFSET);
    let old_end = Superblock::second_offset(superblock(device).drive_bytes);
    device.grow(10 * CHUNK);
    at_once(pool.grow()).unwrap();
    let grown = superblock(device);
    let write = |offset: u64, bytes: &[u8]| {
        let bytes = AlignedBuf::copy_of(bytes).freeze();
        at_once(device.write(offset, bytes, Durability::Stable)).unwrap();
    };
    let data = [7; SECTOR_BYTES];
    write(old_end, &data);
    write(Superblock::FIRST_OFFSET, &before);
    write(Superblock::second_offset(grown.drive_bytes), &[0; SECTOR_BYTES]);
    assert_eq!(at_once(pool.check_superblocks()).sum().repaired, 2);
    assert_eq!(sector_at(device, old_end), data);
    for offset in Superblock::offsets(grown.drive_bytes) {
        assert_eq!(sector_at(device, offset), grown.encode(), "the copy at {offset}");
    }
}
