use ashlar_block::{Device, Durability, Rng, SECTOR_BYTES};
use ashlar_raid::Level;

use super::judge::joined;
use super::*;
use crate::format::table::RowExtent;
use crate::testing::{Drives, StillWorld, at_once, write_block};

#[test]
fn extents_that_touch_are_one() {
    let extent = |row, rows| RowExtent { row, rows };
    assert_eq!(joined(&[extent(0, 2), extent(2, 3), extent(7, 1)]), [extent(0, 5), extent(7, 1)]);
}

/// Appends pages as a checkpoint does, until so many segments are left.
fn use_window(pool: &Pool<StillWorld>, left: u64) {
    while pool.segments.borrow().usable_striped() > left {
        let mut page = vec![0; 4096];
        pool.world.fill_random(&mut page);
        at_once(pool.append_pages(Claim::Recovery, vec![page; 4])).expect("there are segments");
    }
}

/// A start that has replayed what it found, and has not yet written a root.
fn replayed(drives: &Drives) -> Rc<Pool<StillWorld>> {
    let chosen = at_once(choose(drives.found(), OpenPolicy::default())).expect("all are there");
    let table = at_once(read_table(&chosen)).expect("it was written");
    let pool = assemble(&drives.world, chosen, table, Options::default());
    let root = pool.root.borrow().clone();
    at_once(pool.replay(&root, &mut Opened::default())).expect("good drives");
    pool
}

/// Segments that a start has for its checkpoint.
fn usable_in_recovery(drives: &Drives) -> u64 {
    let pool = replayed(drives);
    // A start that stops here has written something, too.
    let usable = pool.segments.borrow().usable_striped();
    use_window(&pool, usable - 2);
    usable
}

#[test]
fn segments_of_a_checkpoint_that_did_not_come_to_its_end_are_there_for_the_next() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let usable = pool.segments.borrow().usable_striped();
    use_window(&pool, 0);
    drop(pool);
    for _ in 0..3 {
        assert_eq!(usable_in_recovery(&drives), usable);
    }
    assert_eq!(drives.open().segments.borrow().usable_striped(), usable);
}

/// A root that names them may have come to a drive that is away: it could not be read when the drive was back.
#[test]
fn pages_of_an_unfinished_checkpoint_are_the_last_that_are_written_over() {
    let drives = Drives::new(Level::RAID1, 2);
    let written_by = |pool: &Pool<StillWorld>| {
        let pages = at_once(pool.append_pages(Claim::Checkpoint, vec![vec![7; 64]])).expect("there is room");
        pages[0].location.segment()
    };
    let pool = drives.open();
    let unfinished = written_by(&pool);
    drop(pool);
    assert_ne!(written_by(&replayed(&drives)), unfinished);
}

/// What was on its way when the power failed had used up the window, and there was none for writing it anew.
#[test]
fn recovery_has_room_when_the_window_is_used_up() {
    let drives = Drives::new(Level::RAID1, 2);
    drop(drives.open());
    let pool = replayed(&drives);
    use_window(&pool, 0);
    assert!(pool.extend_window());
    assert_eq!(pool.segments.borrow().usable_striped(), EXTENSION_SEGMENTS as u64);
    use_window(&pool, 0);
    at_once(pool.checkpoint(false)).expect("its root names what it wrote");
    use_window(&pool, 0);
    assert!(!pool.extend_window(), "it has a root, and must wait for the next");
    drop(pool);
    drives.open();
}

/// They were neither counted, nor written anew as what hosts have written is: what lived in them was not copied when a drive
/// was lost.
#[test]
fn pages_that_the_root_names_get_their_redundancy_where_they_are() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    write_block(&pool, 0);
    at_once(pool.checkpoint(false)).expect("good drives");
    let page =
        pool.root.borrow().shards.iter().find_map(|shard| shard.deltas).expect("of the block").location;
    let copy = pool.segments.borrow().get(page.segment()).expect("it lives").geometry.columns[1];
    let layout = pool.array.member(copy.drive).expect("it works").layout;
    let offset = layout.offset(copy.chunk, page.sectors().start * SECTOR_BYTES as u32);
    let device = &drives.devices[usize::from(copy.drive.0)];
    let sector = || at_once(device.read(offset, AlignedBuf::zeroed(SECTOR_BYTES))).1;
    let before = sector();
    drop(pool);
    let mut spoiled = AlignedBuf::copy_of(&before);
    spoiled[9] ^= 1;
    at_once(device.write(offset, spoiled.freeze(), Durability::Stable)).expect("a good drive");
    drives.open();
    assert!(sector()[..] == before[..]);
}
