use ashlar_block::{Device, Durability, Lba, Rng, SECTOR_BYTES, VolumeId};
use ashlar_format::catalog::{VolumeEntry, VolumeState};
use ashlar_format::compression::Compression;
use ashlar_format::ids::{Family, GIB_BLOCKS, Key, Layer, RANGE_BLOCKS};
use ashlar_format::root::SLOT_BYTES;
use ashlar_format::superblock::Superblock;
use ashlar_format::table::{Occupancy, RowExtent, TableEntry};
use ashlar_raid::Level;

use super::judge::joined;
use super::*;
use crate::testing::{Drives, StillWorld, append_block, append_items, at_once, page, write_block};

#[test]
fn extents_that_touch_are_one() {
    let extent = |row, rows| RowExtent { row, rows };
    assert_eq!(joined(&[extent(0, 2), extent(2, 3), extent(7, 1)]), [extent(0, 5), extent(7, 1)]);
}

/// Appends pages as a checkpoint does, until so many segments are left.
fn use_window(pool: &Pool<StillWorld>, left: u64) {
    while pool.space.segments.borrow().usable_striped() > left {
        let mut bytes = vec![0; 4096];
        pool.world.fill_random(&mut bytes);
        at_once(pool.append_pages(
            Claim::Last,
            vec![page(bytes.clone()), page(bytes.clone()), page(bytes.clone()), page(bytes)],
        ))
        .expect("there are segments");
    }
}

/// A start that has replayed what it found, and has not yet written a root.
fn replayed(drives: &Drives) -> Rc<Pool<StillWorld>> {
    replay(drives).0
}

/// The same, with what it has found.
fn replay(drives: &Drives) -> (Rc<Pool<StillWorld>>, Opened) {
    let chosen = at_once(choose(&drives.world, drives.found(), OpenPolicy::Most));
    let (chosen, mut table) = chosen.expect("all are there");
    let pool =
        assemble(&drives.world, chosen, &mut table, Options::default()).expect("it was written");
    at_once(pool.load_table(table)).expect("good drives");
    let (root, mut opened) = (pool.checkpoint.roots.newest().clone(), Opened::default());
    at_once(pool.replay(&root, &mut opened)).expect("good drives");
    (pool, opened)
}

/// Segments that a start has for its checkpoint.
fn usable_in_recovery(drives: &Drives) -> u64 {
    let pool = replayed(drives);
    // A start that stops here has written something, too.
    let usable = pool.space.segments.borrow().usable_striped();
    use_window(&pool, usable - 2);
    usable
}

#[test]
fn segments_of_a_checkpoint_that_did_not_come_to_its_end_are_there_for_the_next() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let usable = pool.space.segments.borrow().usable_striped();
    use_window(&pool, 0);
    drop(pool);
    for _ in 0..3 {
        assert_eq!(usable_in_recovery(&drives), usable);
    }
    assert_eq!(drives.open().space.segments.borrow().usable_striped(), usable);
}

/// A root that names them may have come to a drive that is away: it could not be read when the
/// drive was back.
#[test]
fn pages_of_an_unfinished_checkpoint_are_the_last_that_are_written_over() {
    let drives = Drives::new(Level::RAID1, 2);
    let written_by = |pool: &Pool<StillWorld>| {
        let pages = at_once(pool.append_pages(Claim::Checkpoint, vec![page(vec![7; 64])]))
            .expect("there is room");
        pages[0].location.segment()
    };
    let pool = drives.open();
    let unfinished = written_by(&pool);
    drop(pool);
    assert_ne!(written_by(&replayed(&drives)), unfinished);
}

/// What was on its way when the power failed had used up the window, and there was none for writing
/// it anew.
#[test]
fn recovery_has_room_when_the_window_is_used_up() {
    let drives = Drives::new(Level::RAID1, 2);
    drop(drives.open());
    let pool = replayed(&drives);
    use_window(&pool, 0);
    assert!(pool.extend_window());
    assert_eq!(pool.space.segments.borrow().usable_striped(), EXTENSION_SEGMENTS as u64);
    use_window(&pool, 0);
    at_once(pool.checkpoint(false)).expect("its root names what it wrote");
    use_window(&pool, 0);
    assert!(!pool.extend_window(), "it has a root, and must wait for the next");
    drop(pool);
    drives.open();
}

/// They were neither counted, nor written anew as what hosts have written is: what lived in them
/// was not copied when a drive was lost.
#[test]
fn pages_that_the_root_names_get_their_redundancy_where_they_are() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    write_block(&pool, 0);
    at_once(pool.checkpoint(false)).expect("good drives");
    let page = pool
        .checkpoint
        .roots
        .newest()
        .shards
        .iter()
        .find_map(|shard| shard.deltas)
        .expect("of the block")
        .location;
    let copy =
        pool.space.segments.borrow().get(page.segment()).expect("it lives").geometry.columns[1];
    let layout = pool.array.member(copy.drive).expect("it works").layout();
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

/// The newest root had come to one drive only. A start that was cut wrote over what the root before
/// it needs, and the next one, without that drive, chose that root.
#[test]
fn a_start_first_gives_its_root_to_all_members() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let offset = Superblock::root_offset(pool.checkpoint.roots.newest().generation.0 + 1);
    let slot = |drive: usize| {
        let (read, buf) =
            at_once(drives.devices[drive].read(offset, AlignedBuf::zeroed(SLOT_BYTES)));
        read.expect("a good drive");
        buf
    };
    let before = slot(1);
    at_once(pool.checkpoint(false)).expect("good drives");
    drop(pool);
    at_once(drives.devices[1].write(offset, before.freeze(), Durability::Stable))
        .expect("a good drive");
    assert_ne!(slot(0)[..], slot(1)[..]);
    drop(drives.open());
    assert_eq!(slot(0)[..], slot(1)[..]);
}

/// One start had come round to a segment's number, and its chunk was the same. Behind what was new
/// lay what the start had written there before: recovery took it for durable, and all between the
/// two with it, which a scrub called lost. (`sim --seed 2108`)
#[test]
fn what_the_same_start_wrote_when_a_number_was_last_in_use_is_not_taken_for_new() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    for lba in 0..9 {
        write_block(&pool, lba);
    }
    let id = pool
        .space
        .segments
        .borrow()
        .iter()
        .find(|(_, segment)| segment.rows > 0)
        .expect("it was written to")
        .0;
    pool.seal_all();
    use_window(&pool, 0);
    pool.seal_all();
    let since = pool.writer.lsns.next();
    reserve_again(&mut pool.space.segments.borrow_mut(), id, since);
    at_once(pool.append_pages(Claim::Last, vec![page(vec![7; 64])])).expect("there is one segment");
    let root = pool.checkpoint.roots.newest().clone();
    let found = at_once(pool.scan(&root)).remove(&id).expect("it is open");
    assert_eq!(found.iter().map(|found| found.header.lsn).collect::<Vec<_>>(), [since]);
}

/// A segment becomes free, and is part of the window again, where it was.
fn reserve_again(segments: &mut Segments, id: SegmentId, since: Lsn) {
    let freed = segments.get(id).expect("it exists").table_entry(id);
    segments.free(id);
    let state = SegmentState::Window;
    segments
        .load(vec![TableEntry { state, first_lsn: since, live: Occupancy::default(), ..freed }])
        .expect("it is free");
    segments.reuse_window(id);
}

/// A start that was cut before it came to a root, and the next, which begins where it began, wrote
/// under the same numbers, in the same places.
#[test]
fn starts_from_the_same_root_do_not_share_numbers() {
    let drives = Drives::new(Level::RAID1, 2);
    drop(drives.open());
    let first = replayed(&drives).writer.lsns.next();
    assert_ne!(first, replayed(&drives).writer.lsns.next());
}

/// The power may end a batch before the one behind it, which hosts may have been told of.
#[test]
fn what_lies_behind_a_batch_that_is_not_there_is_found() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let unwritten = append_block(&pool, 0);
    let mut written = append_block(&pool, 1);
    at_once(pool.write_durably(&mut written)).expect("good drives");
    assert!(unwritten.lsn < written.lsn);
    drop(pool);
    assert_eq!(replay(&drives).1.replayed, 1);
}

#[test]
fn what_is_left_of_a_torn_batch_has_a_number_that_is_not_used_again() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let torn = pool.writer.lsns.next();
    write_block(&pool, 0);
    let written =
        |(_, segment): &(SegmentId, &Segment)| segment.rows > 0 && segment.last_lsn == torn;
    let (columns, row) = {
        let segments = pool.space.segments.borrow();
        let (_, segment) = segments.iter().find(written).expect("it was written to");
        (segment.geometry.columns.clone(), segment.rows - 1)
    };
    for column in columns {
        let layout = pool.array.member(column.drive).expect("it works").layout();
        let offset = layout.offset(column.chunk, row * SECTOR_BYTES as u32);
        let device = &drives.devices[usize::from(column.drive.0)];
        let spoiled = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
        at_once(device.write(offset, spoiled, Durability::Stable)).expect("a good drive");
    }
    drop(pool);
    let (pool, opened) = replay(&drives);
    assert_eq!((opened.torn, opened.replayed), (1, 0));
    assert!(pool.writer.lsns.next() > torn);
}

/// A start had read no leaf of the index yet: each block of a range of zeros was an update, and the
/// pool had no segment for what its first checkpoint had to write.
#[test]
fn zeros_that_are_replayed_make_no_more_updates_than_they_did_before_the_crash() {
    let drives = Drives::new(Level::RAID1, 2);
    let pool = drives.open();
    let volume = VolumeEntry {
        family: Family(1),
        layer: Layer(0),
        state: VolumeState::Live,
        blocks: GIB_BLOCKS,
        compression: Compression::Lz4,
        attributes: bytes::Bytes::new(),
    };
    pool.catalog.borrow_mut().volumes.insert(VolumeId(1), volume);
    (0..8).for_each(|range| write_block(&pool, range * RANGE_BLOCKS));
    at_once(pool.checkpoint(false)).expect("good drives");
    for shard in (0..SHARD_COUNT as u8).map(ShardId) {
        at_once(pool.distribute(shard)).expect("there is room");
    }
    at_once(pool.checkpoint(false)).expect("good drives");
    let zeros = Item {
        kind: RecordKind::ZeroRange { blocks: GIB_BLOCKS },
        key: Key { family: Family(1), lba: Lba(0), layer: Layer(0) },
        fragment: None,
    };
    let held =
        at_once(pool.hold_to_hide(Family(1), &(Lba(0)..Lba(GIB_BLOCKS)))).expect("good drives");
    append_items(&pool, vec![zeros]);
    let updates = |pool: &Pool<StillWorld>| -> usize {
        pool.map.shards.borrow().iter().map(|shard| shard.buffer.len()).sum()
    };
    assert_eq!(updates(&pool), 0, "the runs are cut");
    drop(held);
    drop(pool);
    let pool = drives.open();
    assert_eq!(updates(&pool), 0);
    let block = Key { family: Family(1), lba: Lba(RANGE_BLOCKS), layer: Layer(0) };
    assert_eq!(at_once(pool.lookup(&block, |value| value)).expect("good drives"), None);
}
